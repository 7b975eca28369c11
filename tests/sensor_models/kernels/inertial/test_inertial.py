"""Ideal signals of inertial sensors and their integrals against closed forms and naive twins."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensor_models.kernels.inertial import signals as inertial
from sensor_models.kernels.inertial.magnetic_field import field_at
from tests.trajectories import Swing, body_state

GRAVITY = (0.0, 0.0, -9.80665)
PLACE = (0.4, -0.3, 0.2)
NUMBERS = st.floats(-10.0, 10.0)
STEPS = st.floats(1e-3, 1.0)


def block_of(kind=inertial.ACCELEROMETER, second_order=True, place=PLACE, turn=None):
    """The parameters of a unit with one sensor without errors, and the place of its block."""
    parameters = np.zeros(inertial.UNIT_SIZE + inertial.BLOCK_SIZE)
    block = parameters[inertial.UNIT_SIZE :]
    block[inertial.KIND] = kind
    block[inertial.SECOND_ORDER] = second_order
    block[inertial.PLACE : inertial.TURN] = place
    block[inertial.TURN : inertial.GRAVITY] = np.ravel(np.eye(3) if turn is None else turn)
    block[inertial.GRAVITY : inertial.CHAIN] = GRAVITY
    return parameters, inertial.UNIT_SIZE


def motion_after(times, velocities, rates=None):
    """What is known of a motion after some samples of velocity and angular velocity."""
    state = np.zeros(inertial.MOTION_SIZE)
    rates = np.zeros_like(velocities) if rates is None else rates
    for time, velocity, rate in zip(times, velocities, rates, strict=True):
        inertial.remember(state, body_state(velocity=velocity, angular_velocity=rate), time)
    return state


def slope(times, values, second_order):
    """The derivative of a scalar at the last instant, through one axis of the velocity."""
    vectors = [(value, 0.0, 0.0) for value in values]
    state = motion_after(times[:-1], vectors[:-1])
    step = times[-1] - times[-2] if len(times) > 1 else 0.0
    return inertial.slopes(state, 0, vectors[-1], step, second_order)[0]


@settings(deadline=None)
@given(STEPS, STEPS, NUMBERS, NUMBERS, NUMBERS)
def test_bdf2_is_exact_for_parabolas_whatever_the_steps(before, step, a, b, c):
    path = np.polynomial.Polynomial([a, b, c])
    times = [0.3, 0.3 + before, 0.3 + before + step]
    # quotients of values of up to 100 over steps of 1e-3, rounded to 1e-16, a few times
    expected = path.deriv()(times[-1])
    assert slope(times, [path(t) for t in times], True) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize(("second_order", "order"), [(False, 1), (True, 2)])
def test_the_error_of_a_difference_shrinks_with_its_order(second_order, order):
    errors = []
    for step in (0.01, 0.005):
        times = [1.0 - 2 * step, 1.0 - step, 1.0]
        errors.append(slope(times, np.sin(times), second_order) - math.cos(1.0))
    # the next term of the expansion is smaller by the step
    assert errors[0] / errors[1] == pytest.approx(2**order, rel=0.02)


def test_there_is_no_difference_at_first_and_a_plain_one_at_second():
    assert slope([1.0], [5.0], True) == 0.0
    assert slope([1.0], [5.0], False) == 0.0
    assert slope([1.0, 1.5], [5.0, 6.0], True) == 2.0


def test_both_velocities_have_their_own_history():
    state = motion_after([0.0, 0.5], [(1, 2, 3), (2, 4, 6)], [(0, 0, 1), (0, 1, 1)])
    linear = inertial.slopes(state, 0, (3.0, 6.0, 9.0), 0.5, True)
    angular = inertial.slopes(state, 3, (1.0, 1.0, 1.0), 0.5, False)
    assert linear == (2.0, 4.0, 6.0)
    assert angular == (2.0, 0.0, 0.0)


def test_the_lever_arm_adds_the_acceleration_of_a_turning_point():
    swing, time = Swing(), 0.37
    rate, acceleration = (swing.angle(time, order) * swing.direction() for order in (1, 2))
    arm = swing.rotation(time) @ PLACE
    added = inertial.lever_arm_acceleration(tuple(rate), tuple(acceleration), tuple(arm))
    # force of the whole less that of the origin; both are differences of the path
    expected = swing.rotation(time) @ (swing.force(time, PLACE) - swing.force(time, (0, 0, 0)))
    assert added == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("time", [0.0, 0.2, 1.1])
def test_specific_force_is_the_second_derivative_of_the_point_less_gravity(time):
    swing = Swing()
    turn = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    parameters, block = block_of(turn=turn)
    parameters[inertial.ACCELERATIONS_GIVEN] = 3.0  # of both motions
    state, body = np.zeros(inertial.MOTION_SIZE), swing.state(time, accelerations=True)
    force = inertial.specific_force(parameters, block, state, body, time)
    # the twin's differences
    assert force == pytest.approx(turn @ swing.force(time, PLACE), abs=1e-5)


def test_angular_rate_is_the_rate_of_the_orientation():
    swing, time, step = Swing(), 0.2, 1e-5
    parameters, block = block_of(inertial.GYROSCOPE)
    rate = inertial.angular_rate(parameters, block, swing.state(time))
    change = swing.rotation(time - step).T @ swing.rotation(time + step)
    skew = (change - change.T) / 2
    expected = np.array([skew[2, 1], skew[0, 2], skew[1, 0]]) / (2 * step)
    # what differences leave out is of third order in the step, and rounding is 1e-16 / 1e-5
    assert np.array(rate) == pytest.approx(expected, abs=1e-8)


def test_the_flux_density_is_the_field_at_the_place_of_the_sensor():
    swing, time = Swing(), 0.6
    parameters, block = block_of(inertial.MAGNETOMETER)
    uniform, dipoles = np.array([2e-5, 0.0, -4e-5]), np.array([[1.0, 2.0, 3.0, 5.0, 0.0, 1.0]])
    flux = inertial.flux_density(parameters, block, swing.state(time), uniform, dipoles)
    point = tuple(swing.point(time, PLACE).tolist())
    expected = swing.rotation(time).T @ field_at(uniform, dipoles, point)
    # rounding of 1e-5 T
    assert flux == pytest.approx(expected, abs=1e-19)


def test_an_angle_increment_is_the_rotation_between_two_orientations():
    swing, turn = Swing(), np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    parameters, block = block_of(inertial.GYROSCOPE, turn=turn)
    state = np.zeros(inertial.MOTION_SIZE)
    inertial.remember(state, swing.state(0.1), 0.1)
    increment = inertial.angle_increment(parameters, block, state, swing.state(0.3))
    turned = swing.angle(0.3) - swing.angle(0.1)
    # about a fixed axis, which is the same in the body
    assert increment == pytest.approx(turn @ (turned * swing.direction()), abs=1e-14)


def test_a_velocity_increment_is_second_order_accurate_in_the_turning_frame():
    swing, errors = Swing(), []
    parameters, block = block_of()
    for step in (0.02, 0.01):
        state = np.zeros(inertial.MOTION_SIZE)
        inertial.remember(state, swing.state(0.2), 0.2)
        increment = inertial.velocity_increment(
            parameters, block, state, swing.state(0.2 + step), step
        )
        fine = 0.2 + step * (np.arange(200) + 0.5) / 200
        expected = np.mean([swing.force(t, PLACE) for t in fine], axis=0) * step
        errors.append(np.linalg.norm(np.array(increment) - expected))
    # wrong in third order over a step, which adds up to second order; the next order is smaller
    # by the step times the frequency
    assert errors[0] / errors[1] == pytest.approx(8.0, rel=0.1)


def test_a_body_at_rest_gains_the_reaction_to_gravity():
    parameters, block = block_of()
    state = motion_after([0.0], [(0.0, 0.0, 0.0)])
    increment = inertial.velocity_increment(parameters, block, state, body_state(), 0.5)
    assert increment == (0.0, 0.0, 0.5 * 9.80665)
