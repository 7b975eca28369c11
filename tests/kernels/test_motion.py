"""Interpolation and rotations against closed forms and naive twins."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sensor_models.kernels.math import motion
from tests import oracles

INTERPOLATIONS = [
    (motion.interpolate_joint, 2),
    (motion.interpolate_linear, 2),
    (motion.interpolate_linear, 5),
    (motion.interpolate_body, 13),
    (motion.interpolate_body, 19),
]

FRACTIONS = st.floats(0.0, 1.0)
DURATIONS = st.floats(1e-4, 10.0)
NUMBERS = st.floats(-100.0, 100.0)
AXES = st.tuples(NUMBERS, NUMBERS, NUMBERS).filter(lambda axis: np.linalg.norm(axis) > 1e-3)
# Rounding of sums of a few products of numbers up to 100, times 10.
ROUNDING = 1e-12


def some_state(size, seed):
    state = np.random.default_rng(seed).normal(size=size)
    if size >= 13:
        state[3:7] /= np.linalg.norm(state[3:7])
    return state


def body(orientation=(1.0, 0.0, 0.0, 0.0), **parts):
    state = np.zeros(13)
    state[3:7] = orientation
    for name, place in (("position", 0), ("velocity", 7), ("angular_velocity", 10)):
        state[place : place + 3] = parts.get(name, 0.0)
    return state


def same_direction(a, b):
    """The same orientation: quaternions equal up to their sign."""
    return np.asarray(a) * math.copysign(1.0, np.dot(a, b))


@pytest.mark.parametrize(("interpolate", "size"), INTERPOLATIONS)
def test_the_ends_are_the_known_states_bit_for_bit(interpolate, size):
    before, after = some_state(size, 1), some_state(size, 2)
    assert interpolate(before, after, 0.1, 0.0).tobytes() == before.tobytes()
    assert interpolate(before, after, 0.1, 1.0).tobytes() == after.tobytes()


@pytest.mark.parametrize(("interpolate", "size"), INTERPOLATIONS)
@pytest.mark.parametrize("fraction", [0.0, 0.3, 1.0])
def test_known_states_are_neither_changed_nor_handed_out(interpolate, size, fraction):
    before, after = some_state(size, 1), some_state(size, 2)
    result = interpolate(before, after, 0.1, fraction)
    result[:] = math.nan
    assert np.array_equal(before, some_state(size, 1))
    assert np.array_equal(after, some_state(size, 2))


@pytest.mark.parametrize(("interpolate", "size"), INTERPOLATIONS)
@pytest.mark.parametrize("fraction", [1e-9, 0.3, 0.7])
def test_what_is_at_rest_stays_where_it_is_bit_for_bit(interpolate, size, fraction):
    state = some_state(size, 3)
    state[1 if size == 2 else slice(7, 13)] = 0.0
    assert interpolate(state, state.copy(), 0.1, fraction).tobytes() == state.tobytes()


@settings(deadline=None)
@given(NUMBERS, NUMBERS, NUMBERS, NUMBERS, DURATIONS, st.floats(0.01, 0.99))
def test_a_joint_follows_the_cubic_of_its_ends(p0, v0, p1, v1, duration, fraction):
    assume(v0 != 0.0 or v1 != 0.0)
    result = motion.interpolate_joint(np.array([p0, v0]), np.array([p1, v1]), duration, fraction)
    position, velocity = oracles.hermite(p0, v0, p1, v1, duration, fraction)
    # the twin solves a linear system, whose rounding grows with the mean speed
    size = (abs(p0) + abs(p1)) / duration + abs(v0) + abs(v1)
    assert result[0] == pytest.approx(position, abs=1e-12 * (size * duration + 1.0))
    assert result[1] == pytest.approx(velocity, abs=1e-11 * (size + 1.0))


@settings(deadline=None)
@given(st.tuples(NUMBERS, NUMBERS, NUMBERS, NUMBERS), FRACTIONS)
def test_motion_of_constant_jerk_is_reproduced(coefficients, fraction):
    path = np.polynomial.Polynomial(coefficients)
    speed = path.deriv()
    assume(speed(0.0) != 0.0 or speed(1.0) != 0.0)
    ends = [np.array([path(t), speed(t)]) for t in (0.0, 1.0)]
    result = motion.interpolate_joint(*ends, 1.0, fraction)
    assert result == pytest.approx([path(fraction), speed(fraction)], abs=ROUNDING)


def test_each_axis_of_a_body_moves_like_a_joint():
    before, after = some_state(13, 1), some_state(13, 2)
    result = motion.interpolate_body(before, after, 0.1, 0.3)
    for axis in range(3):
        pair = [axis, 7 + axis]
        joint = motion.interpolate_joint(before[pair], after[pair], 0.1, 0.3)
        assert np.array_equal(result[pair], joint)


def test_position_is_linear_when_no_velocity_is_connected():
    result = motion.interpolate_joint(np.array([1.0, 0.0]), np.array([3.0, 0.0]), 0.5, 0.25)
    assert result.tolist() == [1.5, 0.0]
    before, after = body(position=(0.0, 0.0, 0.0)), body(position=(4.0, 8.0, 0.0))
    result = motion.interpolate_body(before, after, 0.5, 0.25)
    assert result[0:3].tolist() == [1.0, 2.0, 0.0]
    assert result[7:10].tolist() == [0.0, 0.0, 0.0]


def test_one_moving_axis_shows_that_the_velocity_is_connected():
    before = body(position=(0.0, 0.0, 0.0), velocity=(0.0, 1.0, 0.0))
    after = body(position=(1.0, 1.0, 0.0), velocity=(0.0, 1.0, 0.0))
    result = motion.interpolate_body(before, after, 1.0, 0.25)
    # a smooth step along x: s^2 (3 - 2 s), and its slope 6 s (1 - s)
    assert result[[0, 7]].tolist() == [0.15625, 1.125]
    assert result[[1, 8]].tolist() == [0.25, 1.0]


@settings(deadline=None)
@given(AXES, AXES, st.floats(-7.0, 7.0), st.floats(-3.0, 3.0), FRACTIONS, st.sampled_from([1, -1]))
def test_orientation_turns_evenly_about_one_axis(axis, first_axis, first, angle, fraction, sign):
    before = oracles.turn(first_axis, first)
    step = motion.multiply_quaternions(oracles.turn(axis, angle), before)
    after = sign * step / np.linalg.norm(step)
    result = motion.interpolate_body(body(before), body(after), 0.1, fraction)[3:7]
    expected = motion.multiply_quaternions(oracles.turn(axis, fraction * angle), before)
    # rounding of the ends is magnified by how fast the axis turns away near half a turn
    assert same_direction(result, expected) == pytest.approx(expected, abs=1e-14)
    assert np.linalg.norm(result) == pytest.approx(1.0, abs=4e-16)


@pytest.mark.parametrize("angle", [10.0**-exponent for exponent in range(2, 17)])
def test_a_tiny_turn_keeps_its_relative_accuracy(angle):
    before, after = body(), body(oracles.turn((0.0, 0.0, 1.0), angle))
    result = motion.interpolate_body(before, after, 0.1, 0.25)
    # a few roundings
    assert 2.0 * math.asin(result[6]) == pytest.approx(0.25 * angle, rel=1e-14)


def test_everything_else_is_linear():
    before, after = some_state(19, 1), some_state(19, 2)
    result = motion.interpolate_body(before, after, 0.1, 0.25)[10:]
    # one rounding each of difference, product and sum
    assert result == pytest.approx(0.75 * before[10:] + 0.25 * after[10:], abs=1e-15)
    linear = motion.interpolate_linear(before, after, 0.1, 0.25)
    assert np.array_equal(linear[10:], result)


def test_a_value_that_is_not_finite_spoils_only_what_is_made_of_it():
    before, after = some_state(13, 1), some_state(13, 2)
    after[0] = math.nan
    result = motion.interpolate_body(before, after, 0.1, 0.3)
    assert np.flatnonzero(np.isnan(result)).tolist() == [0, 7]


@settings(deadline=None)
@given(AXES, st.floats(-7.0, 7.0), st.tuples(NUMBERS, NUMBERS, NUMBERS))
def test_rotations_follow_the_formula_of_rodrigues(axis, angle, vector):
    quaternion, matrix = oracles.turn(axis, angle), oracles.matrix_of_turn(axis, angle)
    turned = motion.rotate_vector(quaternion, np.array(vector))
    assert turned == pytest.approx(matrix @ vector, abs=ROUNDING)
    # entries are up to 1, so are their errors
    assert motion.matrix_from_quaternion(quaternion) == pytest.approx(matrix, abs=1e-14)


@settings(deadline=None)
@given(AXES, AXES, st.floats(-7.0, 7.0), st.floats(-7.0, 7.0))
def test_a_product_turns_by_the_right_factor_first(left_axis, right_axis, left, right):
    product = motion.multiply_quaternions(
        oracles.turn(left_axis, left), oracles.turn(right_axis, right)
    )
    expected = oracles.matrix_of_turn(left_axis, left) @ oracles.matrix_of_turn(right_axis, right)
    # entries are up to 1, so are their errors
    assert motion.matrix_from_quaternion(product) == pytest.approx(expected, abs=1e-14)


def test_a_quarter_turn_to_the_left_takes_forward_to_left():
    quarter = np.array([math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5)])
    forward = np.array([1.0, 0.0, 0.0])
    # the square of the root of 1/2 is 1/2 up to rounding
    assert motion.rotate_vector(quarter, forward) == pytest.approx([0.0, 1.0, 0.0], abs=1e-15)


def test_normalising_keeps_the_direction():
    assert motion.normalise_quaternion(np.array([0.0, 3.0, 0.0, -4.0])).tolist() == [
        0,
        0.6,
        0,
        -0.8,
    ]
    assert np.isnan(motion.normalise_quaternion(np.zeros(4))).all()
