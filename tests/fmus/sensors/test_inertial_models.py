"""Inertial FMUs equal the models of the library called directly, bit for bit, with all errors."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sensor_models.core.codes import RoundingMode
from sensor_models.core.faults import NO_FAULT, Fault, FaultMode, FaultWave
from sensor_models.core.frames import MountParameters, normalised_orientation
from sensor_models.inertial.accelerometer import Accelerometer, AccelerometerParameters
from sensor_models.inertial.corruption import BoundMode, DriftType
from sensor_models.inertial.gyroscope import Gyroscope, GyroscopeParameters
from sensor_models.inertial.imu import AngleMode, Imu, ImuParameters, SubsensorPose, Subsensors
from sensor_models.inertial.magnetometer import Magnetometer, MagnetometerParameters
from sensor_models.inertial.unit import AccelerationInputs, Differentiation, GravityParameters
from tests.fmus.host import open_fmu
from tests.fmus.inertial import body_inputs, fault_inputs, parameters_of

RATE, STEP, STEPS, SEED = 100.0, 0.01, 150, -11

#: Every stage does something; the last are the limits, which many readings reach.
ERRORS: dict[str, Any] = {
    "misalignment": (0.01, -0.02, 0.03, 0.0, -0.01, 0.02),
    # slow enough to take its input with the samples alone
    "filter_cutoff": 8.0,
    "filter_order": 2,
    "delay": 0.013,
    "jitter": 0.001,
    "range_lower": (-30.0, -20.0, -10.0),
    "range_upper": (30.0, 20.0, 10.0),
    "bias": (0.1, -0.2, 0.3),
    "bias_temperature": (0.01, 0.0, -0.01),
    "reference_temperature": 290.0,
    "cross_axis": (1.0, 0.01, 0.02, 0.0, 1.0, -0.03, 0.04, 0.0, 1.0),
    "noise_rms": (0.5, 0.25, 0.125),
    "noise_density": (0.01, 0.02, 0.03),
    "drift_walk": (0.1, 0.2, 0.3),
    "drift_std": (0.3, 0.2, 0.1),
    "drift_time_constant": 0.5,
    "drift_bound": (0.4, 0.3, 0.2),
    "instability": (0.1, 0.2, 0.3),
    "scale": (1.0, -1.0, 2.0),
    "scale_error": (0.01, 0.0, -0.02),
    "scale_temperature": (1e-4, 2e-4, -3e-4),
    "discretization_on": True,
    "discretization_mode": RoundingMode.round,
    "saturation_on": True,
    "saturation_min": (-12.0, -9.0, -6.0),
    "saturation_max": (11.0, 8.0, 5.0),
}
#: What excludes each other.
VARIANTS: dict[str, dict[str, Any]] = {
    "steps": {
        "discretization_lsb": (0.01, 0.02, 0.03),
        "drift_type": DriftType.random_walk,
        "drift_bound_mode": BoundMode.reflect,
    },
    "bits": {
        "discretization_bits": 10,
        "drift_type": DriftType.gauss_markov,
        "drift_stationary": True,
        "saturation_average": True,
        "axes": "zx",
    },
    "bandwidth": {
        "noise_bandwidth": 40.0,
        "drift_type": DriftType.flicker,
        "discretization_on": False,
        "filter_order": 1,
    },
}
#: Orientations are brought to unit length by whoever takes them, which a second time may change
#: the last bit: the FMU must get them as they are here.
TURN = (0.9, 0.1, -0.3, 0.2)
MOUNT = MountParameters((0.3, -0.1, 0.2), TURN)
GRAVITY = GravityParameters((0.1, -0.2, -9.7))
EFFECT = (0.01, 0.0, 0.02, 0.0, 0.03, 0.0, -0.01, 0.0, 0.02)
FIELD = (2.0, -1.0, -4.0)


def bodies() -> np.ndarray[Any, Any]:
    """Motions that no body makes, with accelerations and orientations of any length."""
    return np.random.default_rng(7).normal(0.0, 1.0, (STEPS, 19))


def prepared(body: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """As the models take it: the orientation at unit length."""
    orientation, _ = normalised_orientation(*body[3:7].tolist())
    return np.concatenate([body[:3], orientation, body[7:]])


def faults_at(step: int, count: int) -> tuple[Fault, ...]:
    """Each axis has each of these for some time."""
    kinds = (
        NO_FAULT,
        Fault(FaultMode.present),
        Fault(wave=FaultWave.triangle, amplitude=0.5, period=0.3, offset=0.1),
        NO_FAULT,
        Fault(FaultMode.set, value=1.5),
        Fault(FaultMode.max),
        Fault(FaultMode.off),
    )
    return tuple(kinds[(step // 11 + axis) % len(kinds)] for axis in range(count))


def check(
    fmu: Path,
    model: Any,
    parameters: dict[str, Any],
    prefixes: tuple[str, ...] = ("",),
) -> None:
    """Step both through the same motions, temperatures and faults."""
    changing = 0
    with open_fmu(fmu, "left wing") as sensor:
        sensor.initialize({**parameters, "seed": SEED})
        known = set(sensor.names("input"))
        for k, body in enumerate(bodies()):
            temperature = 280.0 + 0.2 * k
            faults = faults_at(k, 3 * len(prefixes))
            inputs = {n: v for n, v in body_inputs(body).items() if n in known}
            sensor.set({**inputs, "temperature": temperature, **fault_inputs(faults, prefixes)})
            sensor.step(k * STEP, STEP)
            stamp = k / RATE if parameters["sample_rate"] else k * STEP
            reading = model.sample(k, stamp, prepared(body), temperature, faults)
            outputs = {
                f"{name}.{axis}": value
                for name, values in dataclasses.asdict(reading).items()
                for axis, value in zip("xyz", values, strict=True)
            }
            assert sensor.outputs() == {**outputs, "sample.count": k + 1, "sample.time": stamp}
            changing += any(abs(v) > 1e-3 for v in outputs.values())
    assert changing == STEPS, "there is something to compare"


Makers = dict[str, Callable[[dict[str, Any], float], tuple[Any, dict[str, Any]]]]


def accelerometer(errors: dict[str, Any], rate: float) -> tuple[Any, dict[str, Any]]:
    """A model and its parameters at the FMU."""
    own = AccelerometerParameters(**errors, differentiation=Differentiation.backward)
    parts = (own, MOUNT, GRAVITY)
    model = Accelerometer(own, MOUNT, SEED, "Accelerometer/left wing", rate, GRAVITY)
    return model, merged(*parts)


def gyroscope(errors: dict[str, Any], rate: float) -> tuple[Any, dict[str, Any]]:
    """A model and its parameters at the FMU, with known accelerations."""
    own, known = (
        GyroscopeParameters(**errors, linear_acceleration_effect=EFFECT),
        AccelerationInputs(True),
    )
    model = Gyroscope(own, MOUNT, SEED, "Gyroscope/left wing", rate, GRAVITY, known)
    return model, merged(own, MOUNT, GRAVITY, known)


def magnetometer(errors: dict[str, Any], rate: float) -> tuple[Any, dict[str, Any]]:
    """A model and its parameters at the FMU."""
    own = MagnetometerParameters(**errors, field=FIELD)
    model = Magnetometer(own, MOUNT, SEED, "Magnetometer/left wing", rate)
    return model, merged(own, MOUNT)


def merged(*parts: Any) -> dict[str, Any]:
    """The parameters of several dataclasses."""
    values = {name: value for part in parts for name, value in parameters_of(part).items()}
    return {**values, **turned("mount", TURN)}


def turned(name: str, orientation: tuple[float, ...]) -> dict[str, float]:
    """An orientation by the names of its parts."""
    parts = zip("wxyz", orientation, strict=True)
    return {f"{name}.orientation.{part}": value for part, value in parts}


MAKERS: Makers = {
    "Accelerometer": accelerometer,
    "Gyroscope": gyroscope,
    "Magnetometer": magnetometer,
}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("model", MAKERS)
def test_the_fmu_equals_the_model_called_directly(
    fmu_directory: Path, model: str, variant: str
) -> None:
    twin, parameters = MAKERS[model]({**ERRORS, **VARIANTS[variant]}, RATE)
    check(fmu_directory / f"{model}.fmu", twin, {**parameters, "sample_rate": RATE})


@pytest.mark.parametrize("model", MAKERS)
def test_it_does_so_with_one_sample_a_step_as_well(fmu_directory: Path, model: str) -> None:
    at_any_rate = {**ERRORS, **VARIANTS["steps"], "delay": 0.0, "jitter": 0.0}
    twin, parameters = MAKERS[model](at_any_rate, 0.0)
    check(fmu_directory / f"{model}.fmu", twin, {**parameters, "sample_rate": 0.0})


@pytest.mark.parametrize("angle_mode", AngleMode)
@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("order", [list(VARIANTS), list(VARIANTS)[::-1]])
def test_the_imu_equals_the_model_called_directly(
    imu_fmu: Path, order: list[str], known: bool, angle_mode: AngleMode
) -> None:
    errors = [{**ERRORS, **VARIANTS[variant]} for variant in order]
    own = ImuParameters(True, 1e-4, 1e-5, angle_mode)
    given = AccelerationInputs(known)
    sensors = {
        "accelerometer": AccelerometerParameters(**errors[0]),
        "gyroscope": GyroscopeParameters(**errors[1], linear_acceleration_effect=EFFECT),
        "magnetometer": MagnetometerParameters(**errors[2], field=FIELD),
    }
    turns = {name: (1.0, 0.1 * k, -0.2, 0.3) for k, name in enumerate(sensors)}
    poses = {
        f"{name}_pose": SubsensorPose((0.1 * turn[1], 0.05, -0.02), turn)
        for name, turn in turns.items()
    }
    identity = "Imu/left wing"
    model = Imu(own, Subsensors(**sensors, **poses), MOUNT, SEED, identity, RATE, GRAVITY, given)
    parameters = merged(own, MOUNT, GRAVITY, given)
    for name, sensor in sensors.items():
        parameters.update(parameters_of(sensor, name))
        parameters.update(parameters_of(poses[f"{name}_pose"], name) | turned(name, turns[name]))
    prefixes = tuple(f"{name}." for name in sensors)
    check(imu_fmu, model, {**parameters, "sample_rate": RATE}, prefixes)
