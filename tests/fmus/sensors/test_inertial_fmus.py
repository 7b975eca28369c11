"""FMUs ``Accelerometer``, ``Gyroscope``, ``Magnetometer`` and ``Imu``: what they must report."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sensor_models.inertial.unit import Differentiation
from tests import oracles
from tests.fmus.host import open_fmu
from tests.fmus.inertial import (
    IMU_GYROSCOPE,
    IMU_MAGNETOMETER,
    MAGNETOMETER,
    SIGNALS,
    STANDARD_GRAVITY,
    Signal,
    Vector,
    body_inputs,
    matrix,
    name_of,
    ride,
    spread,
    vector,
)
from tests.trajectories import Swing, body_state

G = STANDARD_GRAVITY
DEGREE = math.pi / 180.0

#: Where each FMU has its acceleration and its angular rate.
ACCELERATIONS = [("Accelerometer", "acceleration", ""), ("Imu", "accelerometer", "accelerometer.")]
RATES = [("Gyroscope", "angular_rate", ""), ("Imu", "gyroscope", "gyroscope.")]


def at_rest(directory: Path, model: str, output: str, values: dict[str, Any]) -> Vector:
    """What an FMU reports of a body that does not move."""
    with open_fmu(directory / f"{model}.fmu") as sensor:
        sensor.initialize(values)
        sensor.step(0.0, 0.01)
        sensor.step(0.01, 0.01)
        return vector(sensor, output)


def last_of(
    directory: Path,
    model: str,
    output: str,
    parameters: dict[str, Any],
    states: list[Any],
    step: float = 0.01,
) -> Vector:
    """What an FMU reports of the last of some states."""
    with open_fmu(directory / f"{model}.fmu") as sensor:
        sensor.initialize({**parameters, **body_inputs(states[0])})
        return ride(sensor, states, step, [output])[-1][0]


# ---- all sensors with three axes -----------------------------------------------------------------


@pytest.mark.acceptance("TRI-1")
@pytest.mark.parametrize("signal", SIGNALS, ids=name_of)
def test_tri_1_range_offset_and_cross_axis_apply_in_order(
    fmu_directory: Path, signal: Signal
) -> None:
    errors = {
        **spread("bias", (0.05, -0.02, 0.1)),
        **matrix("cross_axis", [[1.0, 0.01, 0.0], [0.0, 1.0, 0.02], [0.0, 0.0, 1.0]]),
        **spread("range.lower", (-19.6133,) * 3),
        **spread("range.upper", (19.6133,) * 3),
    }
    reading = signal.measure(fmu_directory, (25.0, -3.0, 9.8), **errors)
    assert reading == pytest.approx((19.6331, -2.822, 9.9), abs=1e-9)  # tolerance of the row


def noise_of(directory: Path, signal: Signal, parameters: dict[str, Any]) -> np.ndarray[Any, Any]:
    """Readings of a signal that is 0, a row a sample."""
    with signal.open(directory) as sensor:
        sensor.initialize({**signal.undisturbed, "seed": 4, **parameters})
        readings = []
        for k in range(20):
            sensor.step(0.01 * k, 0.01)
            readings.append(signal.read(sensor))
    return np.array(readings)


def deviation_of(
    directory: Path, signal: Signal, density: float, rate: float
) -> np.ndarray[Any, Any]:
    """The standard deviation that a density makes: how much the noise is that of deviation 1."""
    unit = signal.named({**spread("noise.density", (1.0,) * 3), "noise.bandwidth": 1.0})
    given = signal.named(spread("noise.density", (density,) * 3))
    one = noise_of(directory, signal, {**unit, "sample_rate": rate})
    return noise_of(directory, signal, {**given, "sample_rate": rate}) / one


@pytest.mark.acceptance("TRI-2")
@pytest.mark.parametrize("signal", SIGNALS, ids=name_of)
def test_tri_2_a_density_in_degrees_has_its_deviation(fmu_directory: Path, signal: Signal) -> None:
    found = deviation_of(fmu_directory, signal, 0.0035 * DEGREE, 200.0)
    # tolerance of the row
    assert found == pytest.approx(np.full(found.shape, 8.63894e-4), abs=1e-8)


@pytest.mark.acceptance("TRI-3")
@pytest.mark.parametrize("signal", SIGNALS, ids=name_of)
def test_tri_3_a_density_in_g_has_its_deviation(fmu_directory: Path, signal: Signal) -> None:
    found = deviation_of(fmu_directory, signal, 0.14e-3 * G, 800.0)
    # tolerance of the row
    assert found == pytest.approx(np.full(found.shape, 0.0388324), abs=1e-6)


@pytest.mark.acceptance("TRI-4", "IMU-2")
@pytest.mark.parametrize("rate", [0.0, 100.0])
@pytest.mark.parametrize("signal", SIGNALS, ids=name_of)
def test_tri_4_imu_2_a_deviation_is_the_density_over_the_root_of_the_step(
    fmu_directory: Path, signal: Signal, rate: float
) -> None:
    # with no rate declared, the steps of 10 ms make it; sample 0 has none yet, nor noise
    found = deviation_of(fmu_directory, signal, 1e-3, rate)[1:]
    # tolerance of the row; instants are multiples of 10 ms but for 1e-16 s
    assert found == pytest.approx(np.full(found.shape, 0.01), abs=1e-12)


@pytest.mark.acceptance("TRI-5")
@pytest.mark.parametrize("signal", SIGNALS, ids=name_of)
def test_tri_5_without_errors_the_signal_comes_through_to_the_bit(
    fmu_directory: Path, signal: Signal
) -> None:
    for value in [(0.1, -1 / 3, 7e-11), (1e-17, 2.5e5, -0.7)]:
        assert signal.measure(fmu_directory, value) == value


# ---- accelerometer -------------------------------------------------------------------------------


@pytest.mark.acceptance("ACC-1")
@pytest.mark.parametrize(("model", "output"), [row[:2] for row in ACCELERATIONS])
def test_acc_1_at_rest_it_reads_gravity_upward(
    fmu_directory: Path, model: str, output: str
) -> None:
    assert at_rest(fmu_directory, model, output, {}) == (0.0, 0.0, 9.80665)


@pytest.mark.acceptance("ACC-2")
@pytest.mark.parametrize("turned", ["mount", "body"])
@pytest.mark.parametrize(("model", "output"), [row[:2] for row in ACCELERATIONS])
def test_acc_2_a_turned_one_reads_gravity_on_two_axes(
    fmu_directory: Path, model: str, output: str, turned: str
) -> None:
    turn = dict(zip("wxyz", oracles.turn((0, 1, 0), 30.0 * DEGREE), strict=True))
    values = {f"{turned}.orientation.{part}": value for part, value in turn.items()}
    expected = (-4.903325, 0.0, 8.492808)
    # tolerance of the row
    assert at_rest(fmu_directory, model, output, values) == pytest.approx(expected, abs=1e-6)


@pytest.mark.acceptance("ACC-3")
@pytest.mark.parametrize("differentiation", Differentiation)
@pytest.mark.parametrize(("model", "output", "prefix"), ACCELERATIONS)
def test_acc_3_in_free_fall_it_reads_nothing(
    fmu_directory: Path, model: str, output: str, prefix: str, differentiation: Differentiation
) -> None:
    states = [body_state(velocity=(0.0, 0.0, -G * 0.01 * k)) for k in range(10)]
    parameters = {f"{prefix}differentiation": differentiation}
    reading = last_of(fmu_directory, model, output, parameters, states)
    assert reading == pytest.approx((0.0, 0.0, 0.0), abs=1e-12)  # tolerance of the row


@pytest.mark.acceptance("ACC-4")
@pytest.mark.parametrize(
    ("model", "output", "place"),
    [
        ("Accelerometer", "acceleration", "mount.position"),
        ("Imu", "accelerometer", "mount.position"),
        ("Imu", "accelerometer", "accelerometer.position"),
    ],
)
def test_acc_4_beside_the_axis_of_a_spin_it_reads_the_pull_inward(
    fmu_directory: Path, model: str, output: str, place: str
) -> None:
    values = {f"{place}.x": 0.5, "body.angular_velocity.z": 2.0}
    reading = at_rest(fmu_directory, model, output, values)
    assert reading == pytest.approx((-2.0, 0.0, G), abs=1e-12)  # tolerance of the row


def circling(
    directory: Path, model: str, output: str, prefix: str, step: float
) -> np.ndarray[Any, Any]:
    """The reading 0.5 m outside of a body that goes round a circle of 3 m with 2 rad/s."""
    states = []
    for k in range(20):
        angle = 2.0 * step * k
        outward = np.array([math.cos(angle), math.sin(angle), 0.0])
        onward = np.array([-outward[1], outward[0], 0.0])
        turn = oracles.turn((0, 0, 1), angle)
        states.append(body_state(3.0 * outward, turn, 6.0 * onward, (0.0, 0.0, 2.0)))
    parameters = {f"{prefix}differentiation": Differentiation.backward, "mount.position.x": 0.5}
    return np.array(last_of(directory, model, output, parameters, states, step))


@pytest.mark.acceptance("ACC-5")
@pytest.mark.parametrize(("model", "output", "prefix"), ACCELERATIONS)
def test_acc_5_on_a_circle_it_reads_the_mean_over_the_step(
    fmu_directory: Path, model: str, output: str, prefix: str
) -> None:
    reading = circling(fmu_directory, model, output, prefix, 0.01)
    assert reading == pytest.approx((-13.99920, 0.119996, G), abs=1e-5)  # tolerance of the row


@pytest.mark.acceptance("ACC-6")
@pytest.mark.parametrize(("model", "output", "prefix"), ACCELERATIONS)
def test_acc_6_a_tenth_of_the_step_is_a_tenth_of_the_error(
    fmu_directory: Path, model: str, output: str, prefix: str
) -> None:
    error = circling(fmu_directory, model, output, prefix, 0.001) - (-14.0, 0.0, G)
    assert np.linalg.norm(error) == pytest.approx(0.0120, rel=0.01)  # tolerance of the row


@pytest.mark.acceptance("ACC-7")
@pytest.mark.parametrize("differentiation", Differentiation)
@pytest.mark.parametrize(("model", "output", "prefix"), ACCELERATIONS)
def test_acc_7_a_spin_that_grows_is_read_along_the_way_too(
    fmu_directory: Path, model: str, output: str, prefix: str, differentiation: Differentiation
) -> None:
    states = [body_state(angular_velocity=(0.0, 0.0, 4.0 * 0.01 * k)) for k in range(51)]
    parameters = {f"{prefix}differentiation": differentiation, "mount.position.x": 0.5}
    reading = last_of(fmu_directory, model, output, parameters, states)
    assert reading == pytest.approx((-2.0, 2.0, G), abs=1e-9)  # tolerance of the row


# ---- gyroscope -----------------------------------------------------------------------------------


@pytest.mark.acceptance("GYR-1")
@pytest.mark.parametrize(("model", "output"), [row[:2] for row in RATES])
def test_gyr_1_the_length_of_the_rate_is_that_of_the_body(
    fmu_directory: Path, model: str, output: str
) -> None:
    yawed, rolled = oracles.turn((0, 0, 1), math.pi / 2), oracles.turn((1, 0, 0), 0.7)
    values = {
        "body.angular_velocity.z": 1.0,
        **{f"body.orientation.{p}": v for p, v in zip("wxyz", yawed, strict=True)},
        **{f"mount.orientation.{p}": v for p, v in zip("wxyz", rolled, strict=True)},
    }
    reading = at_rest(fmu_directory, model, output, values)
    assert math.hypot(*reading) == pytest.approx(1.0, abs=1e-12)  # tolerance of the row
    assert abs(reading[1]) > 0.1, "the roll must show"


@pytest.mark.acceptance("GYR-2")
@pytest.mark.parametrize(("model", "output", "prefix"), RATES)
def test_gyr_2_a_gyroscope_at_rest_feels_gravity(
    fmu_directory: Path, model: str, output: str, prefix: str
) -> None:
    effect = matrix(f"{prefix}linear_acceleration_effect", 0.1 * DEGREE / G * np.eye(3))
    reading = at_rest(fmu_directory, model, output, effect)
    assert reading == pytest.approx((0.0, 0.0, 1.745329e-3), abs=1e-9)  # tolerance of the row


@pytest.mark.acceptance("GYR-3")
@pytest.mark.parametrize(("model", "output", "prefix"), RATES)
def test_gyr_3_range_offset_cross_axis_and_gravity_apply_in_order(
    fmu_directory: Path, model: str, output: str, prefix: str
) -> None:
    errors = {
        **spread("range.lower", (-250.0 * DEGREE,) * 3),
        **spread("range.upper", (250.0 * DEGREE,) * 3),
        **spread("bias", (0.01, 0.0, -0.01)),
        **matrix("cross_axis", [[1.0, 0.01, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
        **matrix("linear_acceleration_effect", 0.1 * DEGREE / G * np.eye(3)),
    }
    values = {
        **{f"{prefix}{name}": value for name, value in errors.items()},
        **spread("body.angular_velocity", (5.0, 0.5, -0.2)),
        "poses": 1,  # given: gravity stays on the third axis
    }
    reading = at_rest(fmu_directory, model, output, values)
    assert reading == pytest.approx((4.378323, 0.5, -0.208255), abs=1e-6)  # tolerance of the row


@pytest.mark.parametrize("place", ["mount.position.x", "gyroscope.position.x"])
def test_the_force_on_a_gyroscope_is_that_at_its_own_place(fmu_directory: Path, place: str) -> None:
    effect = matrix("gyroscope.linear_acceleration_effect", np.eye(3))
    values = {**effect, "body.angular_velocity.z": 2.0, place: 0.5}
    reading = at_rest(fmu_directory, "Imu", IMU_GYROSCOPE.output, values)
    assert reading == pytest.approx((-2.0, 0.0, 2.0 + G), abs=1e-14)  # rounding of 11.8


# ---- magnetometer --------------------------------------------------------------------------------

MAGNETOMETERS = [MAGNETOMETER, IMU_MAGNETOMETER]
MICRO = 1e-6


def in_field(
    directory: Path, signal: Signal, field: Vector, orientation: Any, **errors: Any
) -> Vector:
    """What a magnetometer reports on a turned body, in microtesla."""
    values = {
        **signal.named(errors),
        **signal.drive([MICRO * value for value in field]),
        **{f"body.orientation.{p}": v for p, v in zip("wxyz", orientation, strict=True)},
    }
    x, y, z = at_rest(directory, signal.model, signal.output, values)
    return x / MICRO, y / MICRO, z / MICRO


@pytest.mark.acceptance("MAG-1")
@pytest.mark.parametrize("signal", MAGNETOMETERS, ids=name_of)
def test_mag_1_the_field_is_given_in_the_frame_of_the_sensor(
    fmu_directory: Path, signal: Signal
) -> None:
    yawed = oracles.turn((0, 0, 1), math.pi / 2)
    reading = in_field(fmu_directory, signal, (20.0, 0.0, -45.0), yawed)
    assert reading == pytest.approx((0.0, -20.0, -45.0), abs=1e-12)  # tolerance of the row


@pytest.mark.acceptance("MAG-2")
@pytest.mark.parametrize("signal", MAGNETOMETERS, ids=name_of)
def test_mag_2_the_strength_of_the_field_does_not_depend_on_the_orientation(
    fmu_directory: Path, signal: Signal
) -> None:
    for k in range(5):
        turned = oracles.turn((1.0, k, 0.3), 0.9 * k)
        reading = in_field(fmu_directory, signal, (20.0, 0.0, -45.0), turned)
        assert math.hypot(*reading) == pytest.approx(math.hypot(20.0, 45.0), abs=1e-10)  # the row's
    assert math.hypot(20.0, 45.0) == pytest.approx(49.24429, abs=5e-6), "its digits in the row"


@pytest.mark.acceptance("MAG-4")
@pytest.mark.parametrize("signal", MAGNETOMETERS, ids=name_of)
def test_mag_4_the_field_ends_at_the_range(fmu_directory: Path, signal: Signal) -> None:
    limits = {"range.lower.z": -40.0 * MICRO, "range.upper.z": 40.0 * MICRO}
    reading = in_field(fmu_directory, signal, (0.0, 0.0, -45.0), (1.0, 0.0, 0.0, 0.0), **limits)
    assert reading[2] == -40.0 * MICRO / MICRO


# ---- on the move ---------------------------------------------------------------------------------


def test_mounted_aside_and_turned_all_sensors_feel_the_motion_where_they_are(
    imu_fmu: Path,
) -> None:
    swing, step, field = Swing(frequency=9.0), 1e-3, np.array([2e-5, -1e-5, -4e-5])
    place, axis, angle = np.array([0.4, -0.2, 0.3]), (1.0, -2.0, 0.5), 0.7
    to_body = oracles.matrix_of_turn(axis, angle)
    parameters = {
        **spread("mount.position", place),
        **{
            f"mount.orientation.{p}": v
            for p, v in zip("wxyz", oracles.turn(axis, angle), strict=True)
        },
        **spread("magnetometer.field", field),
    }
    times = np.arange(300) * step
    with open_fmu(imu_fmu) as imu:
        imu.initialize({**parameters, **body_inputs(swing.state(0.0))})
        readings = ride(
            imu, swing.states(times), step, ["accelerometer", "gyroscope", "magnetometer"]
        )
    largest = 0.0
    for time, (force, rate, flux) in list(zip(times, readings, strict=True))[2:]:
        rotation = swing.rotation(time) @ to_body
        expected = to_body.T @ swing.force(time, place)
        largest = max(largest, float(np.linalg.norm(expected)))
        # second-order differences: h^2/3 of what 60 m/s2 change twice, at up to 14/s
        assert force == pytest.approx(expected, abs=4e-3)
        # rounding of numbers up to 10, and of the field
        assert rate == pytest.approx(
            rotation.T @ (swing.angle(time, 1) * swing.direction()), abs=1e-13
        )
        assert flux == pytest.approx(rotation.T @ field, abs=1e-19)
    assert largest > 30.0
