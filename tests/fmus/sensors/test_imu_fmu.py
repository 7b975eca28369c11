"""FMU ``Imu``: increments, sensors at their own places, and the same as each sensor alone."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sensor_models.core.codes import RoundingMode
from sensor_models.core.faults import FaultMode
from sensor_models.inertial.corruption import DriftType
from sensor_models.inertial.imu import AngleMode
from tests import oracles
from tests.fmus.driving import drive
from tests.fmus.host import open_fmu
from tests.fmus.inertial import (
    ACCELEROMETER,
    GYROSCOPE,
    IMU_ACCELEROMETER,
    IMU_GYROSCOPE,
    IMU_MAGNETOMETER,
    MAGNETOMETER,
    STANDARD_GRAVITY,
    Signal,
    body_inputs,
    name_of,
    ride,
    spread,
    vector,
)
from tests.trajectories import Swing, body_state

BIAS = {"bias.x": 0.01}
ROUNDED = {**BIAS, "discretization.on": True, "discretization.lsb.x": 0.05}
LIMITED = {**ROUNDED, "saturation.on": True, "saturation.max.x": 1.23}


def pushed(imu_fmu: Path, acceleration: float, errors: dict[str, Any]) -> tuple[float, float]:
    """Reading and velocity increment along x after steps of 0.1 s of a constant push."""
    with open_fmu(imu_fmu) as imu:
        imu.initialize({"gravity.z": 0.0, **IMU_ACCELEROMETER.named(errors)})
        instants = [0.1 * k for k in range(5)]
        drive(imu, instants, lambda t: {"body.velocity.x": acceleration * t})
        return imu.get("accelerometer.x"), imu.get("delta_velocity.x")


@pytest.mark.acceptance("IMU-3")
@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        ({}, (1.234, 0.1234)),
        (BIAS, (1.244, 0.1244)),
        (ROUNDED, (1.20, 0.1200)),
        (LIMITED, (1.20, 0.1200)),
    ],
    ids=["true", "with errors", "rounded", "limited"],
)
def test_imu_3_each_stage_of_the_errors_is_integrated(
    imu_fmu: Path, errors: dict[str, Any], expected: tuple[float, float]
) -> None:
    # tolerance of the row
    assert pushed(imu_fmu, 1.234, errors) == pytest.approx(expected, abs=1e-12)


@pytest.mark.acceptance("IMU-4")
@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        ({}, (1.5, 0.15)),
        (BIAS, (1.51, 0.1510)),
        (ROUNDED, (1.50, 0.1500)),
        (LIMITED, (1.20, 0.1200)),
    ],
    ids=["true", "with errors", "rounded", "limited"],
)
def test_imu_4_saturation_is_integrated_too(
    imu_fmu: Path, errors: dict[str, Any], expected: tuple[float, float]
) -> None:
    # tolerance of the row
    assert pushed(imu_fmu, 1.5, errors) == pytest.approx(expected, abs=1e-12)


def angle_increment(imu_fmu: Path, mode: AngleMode) -> np.ndarray[Any, Any]:
    """Of a gyroscope with an offset of 0.01 rad/s on a body that turns by 0.1 rad in 0.1 s."""
    with open_fmu(imu_fmu) as imu:
        imu.initialize({"increments.angle_mode": mode, "gyroscope.bias.y": 0.01})
        states = [
            body_state(
                orientation=oracles.turn((1, 0, 0), 0.1 * k), angular_velocity=(1.0, 0.0, 0.0)
            )
            for k in range(3)
        ]
        return np.array(ride(imu, states, 0.1, ["delta_angle"])[-1][0])


@pytest.mark.acceptance("IMU-5")
def test_imu_5_composed_angles_differ_from_added_ones_in_second_order(imu_fmu: Path) -> None:
    added = angle_increment(imu_fmu, AngleMode.component)
    composed = angle_increment(imu_fmu, AngleMode.compose)
    assert added == pytest.approx([0.1, 0.001, 0.0], abs=1e-15)  # rounding of 0.1
    assert composed - added == pytest.approx([0.0, -8e-7, 5.0e-5], abs=1e-6)  # the row's


@pytest.mark.acceptance("IMU-6")
def test_imu_6_an_accelerometer_beside_the_axis_feels_the_spin(imu_fmu: Path) -> None:
    with open_fmu(imu_fmu) as imu:
        imu.initialize({"accelerometer.position.y": 0.2, "body.angular_velocity.z": 3.0})
        reading = vector(imu, "accelerometer")
    assert reading == pytest.approx((0.0, -1.8, STANDARD_GRAVITY), abs=1e-12)  # the row's


POSE = {
    "mount.position.x": 0.3,
    **{
        f"mount.orientation.{p}": v
        for p, v in zip("wxyz", oracles.turn((1, 2, 3), 0.4), strict=True)
    },
}


@pytest.mark.parametrize(
    ("alone", "part"),
    [
        (ACCELEROMETER, IMU_ACCELEROMETER),
        (GYROSCOPE, IMU_GYROSCOPE),
        (MAGNETOMETER, IMU_MAGNETOMETER),
    ],
    ids=name_of,
)
def test_a_sensor_of_an_imu_reads_what_it_reads_alone(
    fmu_directory: Path, alone: Signal, part: Signal
) -> None:
    errors = {**spread("bias", (0.1, 0.2, 0.3)), "scale.x": 1.01, "filter.cutoff": 20.0}
    states = Swing().states(np.arange(40) * 0.01)
    found = []
    for signal in (alone, part):
        field = {} if signal.driven.startswith("body.") else signal.drive((2e-5, 0.0, -4e-5))
        with signal.open(fmu_directory) as sensor:
            sensor.initialize({**POSE, **signal.named(errors), **field})
            found.append(ride(sensor, states, 0.01, [signal.output]))
    assert found[0] == found[1]


def test_increments_lead_back_to_the_motion(imu_fmu: Path) -> None:
    swing, step = Swing(), 2e-3
    times = np.arange(300) * step
    with open_fmu(imu_fmu) as imu:
        imu.initialize(body_inputs(swing.state(0.0)))
        increments = ride(imu, swing.states(times), step, ["delta_velocity", "delta_angle"])
    assert increments[0] == [(0.0, 0.0, 0.0), (0.0, 0.0, 0.0)]
    rotation, velocity = swing.rotation(0.0), swing.path(0.0, 1)
    for change, turn in np.array(increments[1:]):
        # strapdown integration: the velocity in the frame halfway, then the attitude
        angle = np.linalg.norm(turn)
        halfway = rotation @ oracles.matrix_of_turn(turn, angle / 2)
        velocity = velocity + halfway @ change + np.array([0.0, 0.0, -STANDARD_GRAVITY]) * step
        rotation = rotation @ oracles.matrix_of_turn(turn, angle)
    # rounding of 300 products of rotations, and of as many sums of numbers below 20
    assert rotation == pytest.approx(swing.rotation(times[-1]), abs=1e-12)
    assert velocity == pytest.approx(swing.path(times[-1], 1), abs=1e-11)


def test_increments_have_steps_of_their_own(imu_fmu: Path) -> None:
    states = Swing().states(np.arange(50) * 0.01)
    names = ["delta_velocity", "delta_angle"]
    rounding = {
        f"{s}.discretization.mode": RoundingMode.round for s in ("accelerometer", "gyroscope")
    }
    steps = {"increments.lsb_velocity": 1e-3, "increments.lsb_angle": 1e-4}
    runs = []
    for chosen in ({}, {"increments.discretize": True}):
        with open_fmu(imu_fmu) as imu:
            imu.initialize({**rounding, **steps, **chosen, **body_inputs(states[0])})
            runs.append(np.array(ride(imu, states, 0.01, names)))
    plain, rounded = runs
    expected = np.array([[1e-3], [1e-4]]) * np.round(plain / [[1e-3], [1e-4]])
    # one product, rounded; halves do not occur
    assert rounded == pytest.approx(expected, abs=1e-16)
    assert np.abs(rounded - plain).max() > 4e-4


def test_a_stuck_axis_integrates_what_it_is_stuck_at(imu_fmu: Path) -> None:
    stuck = {
        "accelerometer.fault.y.mode": FaultMode.set,
        "accelerometer.fault.y.value": 2.0,
        "gyroscope.fault.z.mode": FaultMode.set,
        "gyroscope.fault.z.value": -0.5,
    }
    with open_fmu(imu_fmu) as imu:
        imu.initialize(stuck)
        imu.step(0.0, 0.25)
        imu.step(0.25, 0.25)
        assert vector(imu, "delta_velocity") == (0.0, 0.5, STANDARD_GRAVITY / 4)
        assert vector(imu, "delta_angle") == (0.0, 0.0, -0.125)
        assert vector(imu, "accelerometer") == (0.0, 2.0, STANDARD_GRAVITY)
        assert vector(imu, "gyroscope") == (0.0, 0.0, -0.5)


@pytest.mark.parametrize(
    "signal", [IMU_ACCELEROMETER, IMU_GYROSCOPE, IMU_MAGNETOMETER], ids=name_of
)
def test_a_reading_does_not_claim_to_depend_on_faults_of_other_sensors(
    imu_fmu: Path, signal: Signal
) -> None:
    with open_fmu(imu_fmu) as imu:
        outputs = {u.variable.name: u.dependencies for u in imu.description.initialUnknowns}
    for axis in "xyz":
        named = [v.name for v in outputs[f"{signal.output}.{axis}"] if ".fault." in v.name]
        assert f"{signal.prefix}fault.{axis}.mode" in named
        assert [name for name in named if not name.startswith(signal.prefix)] == []


def test_sensors_of_an_imu_have_noise_of_their_own_whatever_the_others_have(imu_fmu: Path) -> None:
    signals = (IMU_ACCELEROMETER, IMU_GYROSCOPE, IMU_MAGNETOMETER)
    noisy = {
        **spread("noise.rms", (1.0, 1.0, 1.0)),
        "drift.type": DriftType.random_walk,
        **spread("drift.walk", (1.0, 1.0, 1.0)),
    }
    names = [signal.output for signal in signals]

    def run(*chosen: Signal) -> np.ndarray[Any, Any]:
        with open_fmu(imu_fmu) as imu:
            errors = {name: value for s in chosen for name, value in s.named(noisy).items()}
            imu.initialize({"gravity.z": 0.0, "seed": 3, **errors})
            return np.array(ride(imu, [body_state()] * 20, 0.01, names))

    together = run(*signals)
    for place, signal in enumerate(signals):
        alone = run(signal)
        assert np.array_equal(alone[:, place], together[:, place])
        assert not np.delete(alone, place, axis=1).any()
    assert len(set(together.ravel().tolist())) == together.size, "no draw is shared"
