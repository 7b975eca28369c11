"""What compiled steps make of motion: poses alone, the low-pass between samples, its noise."""

import math

import numpy as np
import pytest

from sensor_models.core.body import COMPLETED, BodyParameters, Velocities
from sensor_models.core.frames import MountParameters
from sensor_models.core.quantities import ParameterError
from sensor_models.core.step import Step
from sensor_models.inertial.gyroscope import GyroscopeParameters
from sensor_models.inertial.imu import Imu, ImuParameters, Subsensors
from sensor_models.inertial.magnetometer import Magnetometer, MagnetometerParameters
from sensor_models.inertial.unit import AccelerationInputs
from tests.sensor_models.core.test_step import walk
from tests.sensor_models.steps import AT_END, Samples, gyroscope, nothing, put, started

FROM_POSES = BodyParameters(velocities=Velocities.from_poses)


# ---- motion without velocities -------------------------------------------------------------------


def test_a_body_that_moves_without_velocities_is_told_of_once():
    told = []
    step = started(gyroscope(), warn=told.append)
    for number in range(5):
        step.set("body.position.x", 0.1 * number)
        step.advance(number * 0.1, 0.1)
    assert told == [COMPLETED[2]]


@pytest.mark.parametrize(
    "plan",
    [
        gyroscope,
        lambda: Magnetometer(MagnetometerParameters(), MountParameters(), 1, "m", 100.0).plan(),
    ],
)
@pytest.mark.parametrize("velocities", [Velocities.given, Velocities.from_poses])
def test_nobody_is_told_who_says_what_is_meant(plan, velocities):
    step = started(plan(), warn=nothing, body=BodyParameters(velocities=velocities))
    for number in range(5):
        step.set("body.position.x", 0.1 * number)
        step.advance(number * 0.1, 0.1)


def test_a_body_at_rest_or_with_one_velocity_is_nothing_to_tell_of():
    step = started(gyroscope(), warn=nothing)
    for number in range(5):
        sign = (-1.0) ** number  # the same orientation
        step.set("body.orientation.w", sign * 0.6)
        step.set("body.orientation.z", sign * 0.8)
        step.advance(number * 0.1, 0.1)
    step.set("body.velocity.y", 1e-9)
    step.set("body.position.y", 5.0)
    step.advance(0.5, 0.1)


# A swing of 0.4 m at 1 Hz that turns with 0.3 rad at 1 Hz, as the trial had it.
OMEGA, REACH, ANGLE = math.tau, 0.4, 0.3


def swing(time):
    """Position, velocity and acceleration along x, angle, rate and its slope about z."""
    sine, cosine = math.sin(OMEGA * time), math.cos(OMEGA * time)
    return [
        size * part
        for size in (REACH, ANGLE)
        for part in (sine, OMEGA * cosine, -OMEGA * OMEGA * sine)
    ]


def upsampled(body, velocities, rate=1000.0, step_rate=100.0):
    """Readings of an ideal IMU at 1 kHz, of states at 100 Hz: stamps and rows."""
    sink = Samples()
    plan = Imu(ImuParameters(), Subsensors(), MountParameters(), 1, "swing", rate).plan()
    step = Step(plan, AT_END, sink=sink, warn=nothing, body=body)
    previous = None
    for number in range(200):
        time = number / step_rate
        x, _, _, angle, _, _ = swing(time)
        state = np.zeros(13)
        state[[0, 3, 6]] = x, math.cos(0.5 * angle), math.sin(0.5 * angle)
        if velocities == "differences" and previous is not None:
            state[7] = (x - previous[0]) * step_rate
            state[12] = (angle - previous[1]) * step_rate
        previous = x, angle
        put(step, state)
        if number == 0:
            step.observe(0.0)
        else:
            step.advance((number - 1) / step_rate, 1.0 / step_rate)
    step.flush()
    stamps = np.array([row[1] for row in sink.rows])
    return stamps, np.array([row[2] for row in sink.rows])


def errors_of(stamps, rows):
    """Errors of acceleration (world frame, along x) and angular rate, after the first poses."""
    keep = stamps > 0.1
    truth = np.array([swing(t) for t in stamps[keep]])
    angle = truth[:, 3]
    force = rows[keep]
    along = force[:, 0] * np.cos(angle) - force[:, 1] * np.sin(angle)
    return np.abs(along - truth[:, 2]).max(), np.abs(force[:, 5] - truth[:, 4]).max()


def test_poses_alone_give_velocities_and_accelerations_without_kinks():
    stamps, rows = upsampled(FROM_POSES, "none")
    acceleration, rate = errors_of(stamps, rows)
    jerk, bend = REACH * OMEGA**3, ANGLE * OMEGA**3
    # the parabola's acceleration is late by at most the step h, its velocity off by h^2/3 jerk
    assert acceleration < 1.05 * jerk * 0.01
    assert rate < 1.05 * bend * 0.01**2 / 3.0


def test_differences_of_poses_as_velocities_have_kinks():
    stamps, rows = upsampled(BodyParameters(), "differences")
    acceleration, _ = errors_of(stamps, rows)
    # 6/h times half of what two differences differ by, h times the acceleration of 15.8 m/s2
    assert acceleration > 40.0


def test_angle_increments_of_poses_are_the_integral_of_the_rate():
    _, rows = upsampled(FROM_POSES, "none")
    turned, rates = rows[200:, 14].sum(), 0.5 * (rows[199:-1, 5] + rows[200:, 5]).sum() * 1e-3
    # the rate jumps by h^2/2 times its second slope at each pose, over half a sample
    assert rates == pytest.approx(turned, abs=2e-4)


def test_accelerations_cannot_be_given_beside_poses():
    with pytest.raises(ParameterError, match="use_acceleration_inputs = True while velocities"):
        AccelerationInputs(use_acceleration_inputs=True).check_with(FROM_POSES)


# ---- the low-pass --------------------------------------------------------------------------------


def response(cutoff, order, frequency, rate, step_rate):
    """Gain of a gyroscope's low-pass for a body that swings about x."""
    plan = gyroscope(rate, filter_cutoff=cutoff, filter_order=order)
    sink = Samples()
    step = Step(plan, AT_END, sink=sink)
    omega = math.tau * frequency
    for number in range(int(2.0 * step_rate)):
        time = number / step_rate
        angle = -math.cos(omega * time) / omega
        state = np.zeros(13)
        state[[3, 4, 10]] = math.cos(0.5 * angle), math.sin(0.5 * angle), math.sin(omega * time)
        put(step, state)
        if number == 0:
            step.observe(0.0)
        else:
            step.advance((number - 1) / step_rate, 1.0 / step_rate)
    step.flush()
    stamps = np.array([row[1] for row in sink.rows])
    values = np.array([row[2][0] for row in sink.rows])
    late = stamps > 1.0
    waves = np.column_stack([np.sin(omega * stamps[late]), np.cos(omega * stamps[late])])
    found, *_ = np.linalg.lstsq(waves, values[late], rcond=None)
    return 20.0 * math.log10(math.hypot(*found))


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(
    ("cutoff", "rate", "step_rate"),
    [(80.0, 200.0, 1000.0), (80.0, 200.0, 2000.0), (44.8, 100.0, 1000.0), (260.0, 800.0, 4000.0)],
)
def test_the_low_pass_has_lost_3_db_at_its_cutoff(cutoff, order, rate, step_rate):
    # just beside it, as samples at 200 Hz of 80 Hz meet few phases
    found = response(cutoff, order, cutoff * 1.001, rate, step_rate)
    # between its inputs the signal is linear: sinc(f / rate of inputs)^2, of 12 inputs a period
    assert -3.01 - 0.25 < found < -3.01 + 0.05


def test_noise_in_front_of_the_low_pass_has_the_power_that_passes():
    rate, cutoff, density, inputs = 200.0, 20.0, 0.1, 400.0
    plan = gyroscope(rate, filter_cutoff=cutoff, filter_noise=True, noise_density=(density,) * 3)
    rows = walk(plan, lambda time: np.eye(19)[3], [0.0, 500.0])
    values = np.array([row[2] for row in rows])[100:]
    # out <- a out + b0 new + b1 old, for an input that is linear between draws of density N^2
    x = math.tau * cutoff / inputs
    a = math.exp(-x)
    b0, b1 = 1.0 - (1.0 - a) / x, (1.0 - a) / x - a
    power = density**2 * inputs * (b0 * b0 + b1 * b1 + 2.0 * a * b0 * b1) / (1.0 - a * a)
    # 1e5 samples are worth 1e5 (1 - a^4) / (1 + a^4) independent ones: 5 sigma of a deviation
    worth = 1e5 * (1.0 - a**4) / (1.0 + a**4)
    expected = np.full(3, math.sqrt(power))
    assert values.std(axis=0) == pytest.approx(expected, rel=5.0 / math.sqrt(2.0 * worth))
    # nearly all of N^2 pi fc, which is what noise without an end would give
    assert 0.85 < power / (density**2 * math.pi * cutoff) < 1.0


def test_noise_is_behind_the_low_pass_and_white_unless_told_otherwise():
    rate, samples = 200.0, 100_000
    plan = gyroscope(rate, filter_cutoff=20.0, noise_density=(0.1,) * 3)
    rows = walk(plan, lambda time: np.eye(19)[3], [0.0, samples / rate])
    values = np.array([row[2] for row in rows])
    # 5 sigma of a deviation, and of a correlation, of independent draws
    expected = np.full(3, 0.1 * math.sqrt(rate))
    assert values.std(axis=0) == pytest.approx(expected, rel=5.0 / math.sqrt(2.0 * samples))
    neighbours = (values[1:] * values[:-1]).mean(axis=0) / values.var(axis=0)
    assert np.abs(neighbours).max() < 5.0 / math.sqrt(samples)


def test_noise_in_front_of_the_low_pass_keeps_its_density():
    plan = gyroscope(100.0, filter_cutoff=20.0, filter_noise=True, noise_density=(0.1, 0.2, 0.3))
    rows = walk(plan, lambda time: np.eye(19)[3], [0.0, 2000.0])
    seconds = np.array([row[2] for row in rows])[:200_000].reshape(2000, 100, 3).mean(axis=1)
    deviation = np.sqrt(0.5 * np.mean(np.diff(seconds, axis=0) ** 2, axis=0))
    # 5 sigma of differences of neighbours, and 1 / (2 pi fc) of each second leaks to the next
    tolerance = 5.0 * math.sqrt(0.75 / 2000) + 0.02
    assert deviation / (0.1, 0.2, 0.3) == pytest.approx(np.ones(3), abs=tolerance)


@pytest.mark.parametrize("name", ["noise_one_sided", "filter_noise"])
def test_a_fixed_bandwidth_goes_with_neither(name):
    with pytest.raises(ParameterError, match=r"noise.bandwidth = 50.0 Hz while"):
        GyroscopeParameters(**{name: True}, noise_bandwidth=50.0)
