"""What all inertial sensors do alike: time, faults, batches, state, bad input."""

import dataclasses
import math

import numpy as np
import pytest

from sensor_models.core.faults import NO_FAULT, Fault, FaultMode, FaultWave
from sensor_models.core.frames import MountParameters
from sensor_models.core.quantities import ParameterError
from sensor_models.inertial.accelerometer import Accelerometer, AccelerometerParameters
from sensor_models.inertial.corruption import DriftType
from sensor_models.inertial.gyroscope import Gyroscope, GyroscopeParameters
from sensor_models.inertial.imu import Imu, ImuParameters, Subsensors
from sensor_models.inertial.magnetic_field import dipole, uniform
from sensor_models.inertial.magnetometer import Magnetometer, MagnetometerParameters
from sensor_models.inertial.unit import AccelerationInputs
from tests.trajectories import Swing, body_state

MOUNT = MountParameters((0.3, -0.1, 0.2), (0.9, 0.1, -0.3, 0.2))
FIELD = uniform((2e-5, 0.0, -4e-5)) + dipole((0.0, 0.0, -9.0), (0.0, 50.0, 100.0))
RATE = 100.0
TIMES = np.arange(200) / RATE
BODIES = Swing().states(TIMES)


def errors_of(size):
    """All error terms, in multiples of the size of the signal."""

    def same(value):
        return (value * size,) * 3

    return {
        "misalignment": (0.01, -0.01, 0.02, 0.0, 0.01, 0.0),
        "filter_cutoff": 30.0,
        "delay": 0.015,
        "jitter": 0.001,
        "range_lower": same(-30.0),
        "range_upper": same(30.0),
        "bias": same(0.1),
        "bias_temperature": same(1e-3),
        "cross_axis": (1.0, 0.01, 0.0, 0.02, 1.0, 0.01, 0.0, 0.0, 0.99),
        "noise_rms": same(0.05),
        "noise_density": same(0.01),
        "drift_type": DriftType.random_walk,
        "drift_walk": same(0.01),
        "instability": same(0.01),
        "scale_error": (0.01, 0.0, -0.01),
        "discretization_on": True,
        "discretization_lsb": same(0.001),
        "saturation_on": True,
        "saturation_min": same(-20.0),
        "saturation_max": same(20.0),
    }


def accelerometer(errors, inputs=False):
    parameters = AccelerometerParameters(**(errors_of(1.0) if errors else {}))
    known = AccelerationInputs(inputs)
    return Accelerometer(parameters, MOUNT, 1, "sensor", RATE, inputs=known)


def gyroscope(errors, inputs=False):
    errors = {**errors_of(0.1), "linear_acceleration_effect": (1e-3,) * 9} if errors else {}
    parameters = GyroscopeParameters(**errors)
    return Gyroscope(parameters, MOUNT, 1, "sensor", RATE, inputs=AccelerationInputs(inputs))


def magnetometer(errors, inputs=False):
    parameters = MagnetometerParameters(**(errors_of(1e-5) if errors else {}))
    return Magnetometer(parameters, MOUNT, 1, "sensor", RATE, field=FIELD)


def imu(errors, inputs=False):
    sensors = [make(errors).parameters for make in (accelerometer, gyroscope, magnetometer)]
    known = AccelerationInputs(inputs)
    return Imu(
        ImuParameters(), Subsensors(*sensors), MOUNT, 1, "sensor", RATE, inputs=known,
        magnetic_field=FIELD,
    )  # fmt: skip


ALL = pytest.mark.parametrize("make", [accelerometer, gyroscope, magnetometer, imu])


def rows_of(reading):
    """All vectors of a reading."""
    return [getattr(reading, field.name) for field in dataclasses.fields(reading)]


def run(sensor, times=TIMES, bodies=BODIES, first=0, **more):
    """Readings one by one: sample, vector, axis."""
    readings = [
        sensor.sample(first + k, time, body, **more)
        for k, (time, body) in enumerate(zip(times, bodies, strict=True))
    ]
    return np.array([rows_of(reading) for reading in readings])


def faults_of(sensor, **placed):
    """Faults of a sensor by axis, the others none."""
    count = 9 if isinstance(sensor, Imu) else 3
    return tuple(placed.get(f"axis_{i}", NO_FAULT) for i in range(count))


@ALL
@pytest.mark.parametrize("inputs", [False, True])
@pytest.mark.parametrize("errors", [False, True])
def test_a_batch_equals_single_samples_bit_by_bit(make, inputs, errors):
    stepped, batched = make(errors, inputs), make(errors, inputs)
    faults = faults_of(
        stepped,
        axis_0=Fault(wave=FaultWave.triangle, amplitude=0.1, period=0.7),
        axis_2=Fault(FaultMode.present),
    )
    bodies = Swing().states(TIMES, accelerations=True)
    bodies[70, 8] = math.nan
    temperature = np.linspace(280.0, 320.0, len(TIMES))
    expected = [
        rows_of(stepped.sample(k, time, body, warm, faults))
        for k, (time, body, warm) in enumerate(
            zip(TIMES.tolist(), bodies, temperature.tolist(), strict=True)
        )
    ]
    batches = [
        np.reshape(
            batched.sample_batch(part.start, TIMES[part], bodies[part], temperature[part], faults),
            (-1, part.stop - part.start, 3),
        )
        for part in (slice(0, 1), slice(1, 90), slice(90, 200))
    ]
    together = np.concatenate(batches, axis=1).transpose(1, 0, 2)
    assert np.ascontiguousarray(together).tobytes() == np.array(expected).tobytes()
    assert stepped.state.tobytes() == batched.state.tobytes()


@ALL
def test_a_batch_takes_what_can_be_read_only(make):
    times, bodies = TIMES[:5].copy(), BODIES[:5].copy()
    times.flags.writeable = bodies.flags.writeable = False
    expected = run(make(True), TIMES[:5], BODIES[:5])
    found = np.reshape(make(True).sample_batch(0, times, bodies), (-1, 5, 3))
    assert np.array_equal(found.transpose(1, 0, 2), expected)


@ALL
def test_a_restored_state_continues_bit_by_bit(make):
    sensor = make(True)
    run(sensor, TIMES[:80], BODIES[:80])
    saved = sensor.state
    first = run(sensor, TIMES[80:], BODIES[80:], 80)
    other = make(True)
    for continued in (sensor, other):
        continued.state = saved
        assert np.array_equal(run(continued, TIMES[80:], BODIES[80:], 80), first)


@ALL
def test_a_state_is_a_copy_and_one_of_another_size_is_refused(make):
    sensor = make(True)
    sensor.state[:] = 7.0
    assert not sensor.state.any()
    with pytest.raises(ValueError, match="state has shape"):
        sensor.state = np.zeros(len(sensor.state) + 1)


@ALL
def test_reset_replays_the_run_and_forgets_the_motion(make):
    sensor = make(True)
    first = run(sensor)
    sensor.reset()
    # somewhere else at another speed, at the instant that was the start
    sensor.sample(0, 0.0, body_state(position=(9.0, 9.0, 9.0), velocity=(99.0, 0.0, 0.0)))
    sensor.reset()
    assert np.array_equal(run(sensor), first)


@ALL
def test_a_second_sample_at_the_start_replaces_the_first_and_is_no_motion(make):
    sensor, fresh = make(True), make(True)
    sensor.sample(0, 0.0, body_state(velocity=(50.0, 0.0, 0.0), angular_velocity=(0.0, 9.0, 0.0)))
    assert np.array_equal(run(sensor), run(fresh))
    assert sensor.state.tobytes() == fresh.state.tobytes()


@ALL
def test_time_that_does_not_advance_holds_the_reading(make):
    sensor = make(True)
    last = run(sensor, TIMES[:20], BODIES[:20])[-1]
    state = sensor.state
    for time in (TIMES[19], TIMES[18], -1.0):
        held = sensor.sample(20, time, BODIES[30])
        assert np.array_equal(rows_of(held), last)
    assert sensor.state.tobytes() == state.tobytes()


@ALL
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_an_instant_that_is_not_finite_changes_nothing(make, bad):
    sensor = make(True)
    run(sensor, TIMES[:20], BODIES[:20])
    state = sensor.state
    assert np.isnan(rows_of(sensor.sample(20, bad, BODIES[20]))).all()
    assert sensor.state.tobytes() == state.tobytes()


@ALL
@pytest.mark.parametrize("place", range(13))
def test_a_motion_that_is_not_finite_is_not_remembered(make, place):
    disturbed, undisturbed = make(True), make(True)
    run(undisturbed)
    bodies = BODIES.copy()
    bodies[[0, 50, 51, 120], place] = math.nan
    readings = run(disturbed, TIMES, bodies)
    bad = np.isnan(readings).all(axis=(1, 2))
    assert np.flatnonzero(bad).tolist() == [0, 50, 51, 120]
    assert np.isfinite(readings[~bad]).all()
    # delays, differences and increments reach over the gap; nothing else is different
    assert np.isfinite(disturbed.state).all()


@pytest.mark.parametrize("make", [gyroscope, magnetometer])
def test_noise_and_drift_go_on_while_the_motion_is_not_finite(make):
    noisy = {"noise_rms": (0.1,) * 3, "drift_type": DriftType.random_walk, "drift_walk": (0.1,) * 3}
    kind, parameters = type(make(False)), type(make(False).parameters)
    disturbed, undisturbed = (kind(parameters(**noisy), MOUNT, 1, "s", RATE) for _ in range(2))
    bodies = BODIES.copy()
    bodies[[3, 90, 91], 0] = math.nan
    expected, readings = run(undisturbed), run(disturbed, TIMES, bodies)
    good = np.isfinite(bodies).all(axis=1)
    assert np.array_equal(readings[good], expected[good])
    assert np.isnan(readings[~good]).all()


def test_differences_reach_over_a_motion_that_is_not_finite():
    falling = [body_state(velocity=(0.0, 0.0, -2.0 * time)) for time in TIMES[:6]]
    falling[3][7:10] = math.nan
    readings = run(Accelerometer(AccelerometerParameters(), MountParameters(), 1, "a"),
                   TIMES[:6], falling)  # fmt: skip
    # speeds of 0.1 m/s over 0.01 s, rounded
    for k in (1, 2, 4, 5):
        assert readings[k, 0] == pytest.approx([0.0, 0.0, 9.80665 - 2.0], abs=1e-13)


@ALL
def test_the_state_of_a_body_has_13_or_19_values_and_19_where_accelerations_are_used(make):
    sensor = make(False)
    before = sensor.state
    for size in (0, 12, 14, 20):
        with pytest.raises(ValueError, match=rf"shape \({size},\), needs 13 or 19 values"):
            sensor.sample(0, 0.0, np.zeros(size))
        with pytest.raises(ValueError, match=rf"shape \({size},\), needs 13 or 19 values"):
            sensor.sample_batch(0, [0.0], np.zeros((1, size)))
    assert sensor.state.tobytes() == before.tobytes()
    with pytest.raises(ValueError, match="do not have one row a sample"):
        sensor.sample_batch(0, [0.0, 1.0], np.zeros((1, 13)))


@pytest.mark.parametrize("make", [accelerometer, gyroscope, imu])
def test_accelerations_that_are_asked_for_must_be_there(make):
    with pytest.raises(ValueError, match=r"shape \(13,\), needs 19 values"):
        make(False, True).sample(0, 0.0, body_state())


@pytest.mark.parametrize(("mode", "expected"), [
    (FaultMode.off, 0.0), (FaultMode.set, 3.5), (FaultMode.max, 20.0), (FaultMode.on, 20.0),
    (FaultMode.min, -20.0),
])  # fmt: skip
def test_a_fault_sticks_to_its_axis(mode, expected):
    sensor, healthy = accelerometer(True), accelerometer(True)
    faults = faults_of(sensor, axis_1=Fault(mode, value=3.5))
    readings, truth = run(sensor, faults=faults)[:, 0], run(healthy)[:, 0]
    assert set(readings[:, 1]) == {expected}
    assert np.array_equal(readings[:, [0, 2]], truth[:, [0, 2]])


def test_faults_change_while_the_sensor_runs():
    sensor, healthy = gyroscope(True), gyroscope(True)
    stuck = faults_of(sensor, axis_0=Fault(FaultMode.set, value=0.25))
    truth = run(healthy)[:, 0]
    readings = [
        sensor.sample(k, time, body, faults=stuck if 50 <= k < 60 else faults_of(sensor))
        for k, (time, body) in enumerate(zip(TIMES, BODIES, strict=True))
    ]
    for k, reading in enumerate(readings):
        expected = [0.25, *truth[k, 1:]] if 50 <= k < 60 else list(truth[k])
        assert list(reading.angular_rate) == expected


def test_a_fault_that_cannot_be_applied_is_refused_by_axis_and_changes_nothing():
    sensor = accelerometer(False)
    before = sensor.state
    wrong = faults_of(sensor, axis_0=Fault(FaultMode.set, value=1.0), axis_2=Fault(FaultMode.max))
    with pytest.raises(ParameterError, match=r"fault\.mode of acceleration\.z = 5 \(max\) needs"):
        sensor.sample(0, 0.0, body_state(), faults=wrong)
    assert sensor.state.tobytes() == before.tobytes()
    assert (
        sensor.sample(0, 0.0, body_state()).acceleration
        == accelerometer(False).sample(0, 0.0, body_state()).acceleration
    )
    with pytest.raises(ValueError, match="zip"):
        sensor.sample(1, 0.1, body_state(), faults=(NO_FAULT,))


def test_sensors_of_other_names_and_seeds_have_other_noise():
    noisy = AccelerometerParameters(noise_rms=(1.0, 1.0, 1.0))
    made = [("a", 1), ("a", 1), ("b", 1), ("a", 2)]
    runs = [
        run(Accelerometer(noisy, MOUNT, seed, name), TIMES[:20], BODIES[:20]) for name, seed in made
    ]
    assert np.array_equal(runs[0], runs[1])
    for other in runs[2:]:
        assert not np.any(runs[0] == other)


def test_axes_that_are_not_there_read_nothing():
    sensor = Accelerometer(AccelerometerParameters(axes="zx"), MountParameters(), 1, "a")
    assert sensor.sample(0, 0.0, body_state()).acceleration == (0.0, 0.0, 9.80665)
    tilted = body_state(orientation=(math.sqrt(0.5), math.sqrt(0.5), 0.0, 0.0))
    # the left axis points up; rounding of g
    assert sensor.sample(1, 0.1, tilted).acceleration == pytest.approx((0.0, 0.0, 0.0), abs=1e-14)
