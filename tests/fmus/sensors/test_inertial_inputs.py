"""Inputs of the inertial FMUs: orientations, accelerations, temperature."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import oracles
from tests.fmus.driving import drive
from tests.fmus.host import Instance, open_fmu
from tests.fmus.inertial import (
    MOVED,
    SIGNALS,
    STANDARD_GRAVITY,
    Signal,
    body_inputs,
    name_of,
    ride,
    spread,
    vector,
)
from tests.trajectories import Swing

G = STANDARD_GRAVITY
MODELS = ("Accelerometer", "Gyroscope", "Magnetometer", "Imu")
EVERY_MODEL = pytest.mark.parametrize("model", MODELS)
EVERY_SIGNAL = pytest.mark.parametrize("signal", SIGNALS, ids=name_of)

NOTHING = dict.fromkeys((f"body.orientation.{part}" for part in "wxyz"), 0.0)


def orientation(values: Any) -> dict[str, float]:
    """The inputs for an orientation."""
    return {f"body.orientation.{p}": float(v) for p, v in zip("wxyz", values, strict=True)}


def noisy(instance: Instance) -> dict[str, float]:
    """Noise on all signals of an FMU."""
    return {name: 0.1 for name in instance.names("parameter") if ".noise.rms." in f".{name}"}


# ---- orientation ---------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [1e-5, 0.3, 1.0, 7.0, 1e6])
@EVERY_SIGNAL
def test_an_orientation_of_any_length_from_a_millionth_on_is_normalised(
    fmu_directory: Path, signal: Signal, length: float
) -> None:
    turn = np.array(oracles.turn((1.0, -2.0, 0.5), 0.8))
    value = np.array([0.1, -0.2, 0.4])
    with signal.open(fmu_directory) as sensor:
        sensor.initialize(
            {**signal.undisturbed, **signal.drive(value), **orientation(length * turn)}
        )
        reading = signal.read(sensor)
    expected = oracles.matrix_of_turn((1.0, -2.0, 0.5), 0.8).T @ value
    assert reading == pytest.approx(expected, abs=1e-15)  # a few roundings of 0.4


@EVERY_MODEL
def test_the_place_of_a_sensor_can_be_drawn_at_random(fmu_directory: Path, model: str) -> None:
    with open_fmu(fmu_directory / f"{model}.fmu") as sensor:
        units = {
            v.unit
            for v in sensor.variables.values()
            if v.name.startswith("mount.randomization.") and v.type == "Real"
        }
    assert units == {"m", "rad"}, "limits of the translation, and of roll, pitch and yaw"


# ---- accelerations -------------------------------------------------------------------------------


def test_known_accelerations_take_the_place_of_differences(imu_fmu: Path) -> None:
    swing, place = Swing(), np.array([0.4, -0.2, 0.3])
    times = np.arange(20) * 0.05  # far too coarse for differences
    with open_fmu(imu_fmu) as imu:
        imu.initialize({"use_acceleration_inputs": True, **spread("mount.position", place)})
        readings = ride(imu, swing.states(times, accelerations=True), 0.05, ["accelerometer"])
    for time, (force,) in zip(times, readings, strict=True):
        # what the oracle's own differences leave
        assert force == pytest.approx(swing.force(time, place), abs=1e-6)


@pytest.mark.parametrize("known", [False, True])
def test_accelerations_count_where_they_are_asked_for_and_velocities_elsewhere(
    fmu_directory: Path, known: bool
) -> None:
    with open_fmu(fmu_directory / "Accelerometer.fmu") as accelerometer:
        accelerometer.initialize({"use_acceleration_inputs": known, "mount.position.x": 0.5})
        drive(
            accelerometer,
            [0.0, 0.1, 0.2, 0.3],
            lambda t: {
                "body.velocity.x": 3.0 * t,
                "body.acceleration.x": 7.0,
                "body.angular_acceleration.z": 4.0,
            },
        )
        reading = vector(accelerometer, "acceleration")
    # rounding of velocities below 1, over steps of 0.1 s
    assert reading == pytest.approx((7.0, 2.0, G) if known else (3.0, 0.0, G), abs=1e-13)


def test_accelerations_are_known_between_steps_too(fmu_directory: Path, tmp_path: Path) -> None:
    with open_fmu(fmu_directory / "Accelerometer.fmu") as accelerometer:
        accelerometer.initialize({"use_acceleration_inputs": True, "sample_rate": 4.0})
        found = []
        for k, value in enumerate([0.0, 2.0, 2.0]):
            accelerometer.set({"body.acceleration.x": value})
            accelerometer.step(0.625 * k, 0.625)
            found.append(accelerometer.get_all(["sample.time", "acceleration.x"]))
    assert found == [
        {"sample.time": 0.0, "acceleration.x": 0.0},
        {"sample.time": 0.5, "acceleration.x": 1.6},
        {"sample.time": 1.25, "acceleration.x": 2.0},
    ]


# ---- temperature ---------------------------------------------------------------------------------


@pytest.mark.parametrize("reference", [298.15, 273.15])
@EVERY_SIGNAL
def test_offset_and_scale_follow_the_temperature(
    fmu_directory: Path, signal: Signal, reference: float
) -> None:
    slopes = {
        **spread("bias", (0.5, 0.0, 0.0)),
        **spread("bias_temperature", (0.1, 0.0, -0.2)),
        **spread("scale_error", (0.0, 0.01, 0.0)),
        **spread("scale_temperature", (0.0, 1e-3, 2e-3)),
        "reference_temperature": reference,
    }
    value = np.array([1.0, -2.0, 3.0])
    with signal.open(fmu_directory) as sensor:
        sensor.initialize({**signal.undisturbed, **signal.named(slopes), **signal.drive(value)})
        for k, warmer in enumerate([0.0, 10.0, -20.0, 0.0]):
            sensor.set({"temperature": reference + warmer})
            sensor.step(0.1 * k, 0.1)
            offset = np.array([0.5 + 0.1 * warmer, 0.0, -0.2 * warmer])
            scale = 1.0 + np.array([0.0, 0.01 + 1e-3 * warmer, 2e-3 * warmer])
            # a difference of numbers near 300 leaves 6e-14
            assert signal.read(sensor) == pytest.approx((value + offset) * scale, abs=1e-13)


@pytest.mark.parametrize("signal", MOVED, ids=name_of)
def test_a_temperature_holds_from_the_state_that_it_was_set_with(
    fmu_directory: Path, signal: Signal
) -> None:
    slope = {"bias_temperature.x": 1.0, "reference_temperature": 300.0}
    with signal.open(fmu_directory) as sensor:
        start = {"temperature": 300.0, "sample_rate": 4.0}
        sensor.initialize({**signal.undisturbed, **signal.named(slope), **start})
        found = []
        for k, temperature in enumerate([300.0, 302.0, 304.0, 306.0]):
            sensor.set({"temperature": temperature})
            sensor.step(0.625 * k, 0.625)
            found.append((sensor.get("sample.time"), signal.read(sensor)[0]))
    # the sample at 0.5 s lies before the second one, set at 0.625 s, that at 1.25 s at the third
    assert found == [(0.0, 0.0), (0.5, 0.0), (1.25, 4.0), (1.75, 4.0)]


def test_the_sensors_without_temperature_slopes_do_not_feel_it(imu_fmu: Path) -> None:
    with open_fmu(imu_fmu) as imu:
        imu.initialize({"accelerometer.bias_temperature.x": 1.0, "magnetometer.field.y": 1.0})
        imu.set({"temperature": 0.0, **body_inputs(Swing().state(0.3))})
        imu.step(0.0, 0.1)
        cold = imu.outputs()
        imu.reset()
        imu.initialize({"accelerometer.bias_temperature.x": 1.0, "magnetometer.field.y": 1.0})
        imu.set(body_inputs(Swing().state(0.3)))
        imu.step(0.0, 0.1)
        warm = imu.outputs()
    assert {name for name in cold if cold[name] != warm[name]} == {"accelerometer.x"}
