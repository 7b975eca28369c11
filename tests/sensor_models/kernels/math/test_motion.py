"""Interpolation and rotations against closed forms and naive twins."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sensor_models.kernels.math import motion
from tests import oracles

# A body whose axis of rotation turns itself, in closed form: yaw, pitch and roll that swing.
YAW, PITCH, ROLL = (0.9, 2.0, 0.3), (0.5, 3.1, 1.0), (0.7, 2.6, -0.4)


def angle_of(swing, time):
    """An angle, its rate and its slope."""
    size, omega, phase = swing
    sine, cosine = math.sin(omega * time + phase), math.cos(omega * time + phase)
    return size * sine, size * omega * cosine, -size * omega**2 * sine


def tumbling(time):
    """The state of a body that tumbles, 19 values; by yaw, pitch, roll about z, y, x in turn."""
    turns = [((0.0, 0.0, 1.0), YAW), ((0.0, 1.0, 0.0), PITCH), ((1.0, 0.0, 0.0), ROLL)]
    q, rate, slope = np.array([1.0, 0.0, 0.0, 0.0]), np.zeros(3), np.zeros(3)
    for axis, swing in turns:
        angle, speed, bend = angle_of(swing, time)
        axis_w = motion.rotate_vector(q, np.array(axis))
        # the axis itself is carried along by the rotations before
        slope = slope + bend * axis_w + np.cross(rate, speed * axis_w)
        rate = rate + speed * axis_w
        q = motion.multiply_quaternions(q, oracles.turn(axis, angle))
    state = np.zeros(19)
    state[3:7], state[10:13], state[16:19] = q / np.linalg.norm(q), rate, slope
    return state


def angle_between(a, b):
    """The angle between two orientations."""
    b = same_direction(b, a)
    return 4.0 * math.atan2(np.linalg.norm(a - b), np.linalg.norm(a + b))


def worst_of_tumbling(step, interpolate):
    """Greatest errors of orientation and angular velocity halfway between states."""
    angle = rate = 0.0
    for number in range(40):
        start = 0.07 * number
        middle = interpolate(tumbling(start), tumbling(start + step), step)
        truth = tumbling(start + 0.5 * step)
        angle = max(angle, angle_between(middle[3:7], truth[3:7]))
        rate = max(rate, np.abs(middle[10:13] - truth[10:13]).max())
    return angle, rate


def halfway(before, after, step):
    return motion.interpolate_body(before, after, step, 0.5)


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
    result = motion.interpolate_body(before, after, 0.1, 0.25)[13:]
    # one rounding each of difference, product and sum
    assert result == pytest.approx(0.75 * before[13:] + 0.25 * after[13:], abs=1e-15)
    linear = motion.interpolate_linear(before, after, 0.1, 0.25)
    assert np.array_equal(linear[13:], result)


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


def test_orientation_between_states_follows_the_angular_velocity():
    def slerp(before, after, step):
        rates = slice(10, 13)
        still = before.copy(), after.copy()
        still[0][rates] = still[1][rates] = 0.0
        return halfway(*still, step)

    known, _ = worst_of_tumbling(0.1, halfway)
    unknown, _ = worst_of_tumbling(0.1, slerp)
    assert known < 1e-4
    assert unknown > 50.0 * known


def test_the_error_of_the_orientation_is_of_fourth_order_that_of_its_rate_of_third_or_better():
    errors = [worst_of_tumbling(step, halfway) for step in (0.2, 0.1, 0.05)]
    for coarse, fine in itertools.pairwise(errors):
        assert coarse[0] / fine[0] > 2.0**3.6
        assert coarse[1] / fine[1] > 2.0**2.6


def test_the_angular_velocity_is_the_derivative_of_the_orientation():
    before, after, step, delta = tumbling(0.3), tumbling(0.5), 0.2, 1e-5
    for fraction in (0.1, 0.5, 0.8):
        there = motion.interpolate_body(before, after, step, fraction)
        ends = [
            motion.interpolate_body(before, after, step, fraction + side * delta)[3:7]
            for side in (-1, 1)
        ]
        slope = (ends[1] - same_direction(ends[0], ends[1])) / (2.0 * delta * step)
        # dq/dt = w q / 2, so w = 2 dq/dt q*
        backward = there[3:7] * (1.0, -1.0, -1.0, -1.0)
        rate = 2.0 * motion.multiply_quaternions(slope, backward)[1:]
        sign = math.copysign(1.0, np.dot(ends[1], there[3:7]))
        # a central difference errs by delta^2 times the third derivative, rounding by eps / delta
        assert there[10:13] == pytest.approx(sign * rate, abs=1e-8)


@pytest.mark.parametrize("angle", [-4.7, -4.0, -3.2, -3.1, 1.0, 3.1, math.pi, 3.2, 4.0, 4.7])
def test_a_turn_may_be_more_than_half_a_turn_if_the_angular_velocity_says_so(angle):
    axis, duration = np.array([0.48, -0.6, 0.64]), 0.1
    rate = angle / duration * axis
    before = body(angular_velocity=rate)
    after = body(oracles.turn(axis, angle), angular_velocity=rate)
    for fraction in (0.2, 0.5, 0.9):
        result = motion.interpolate_body(before, after, duration, fraction)
        expected = oracles.turn(axis, fraction * angle)
        assert angle_between(result[3:7], expected) < 1e-14
        assert result[10:13] == pytest.approx(rate, rel=1e-13)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-3, 0.00999, 0.01001, 1.0, 3.1])
def test_rate_and_slope_of_a_rotation_vector_undo_each_other(angle):
    r = (0.48 * angle, -0.6 * angle, 0.64 * angle)
    rate = (0.3, 1.1, -0.7)
    back = motion.rate_of_vector(r, motion.slope_of_vector(r, rate))
    # the closed forms lose some digits just above the series
    assert back == pytest.approx(rate, abs=1e-11)


@pytest.mark.parametrize("seed", range(3))
def test_bodies_in_rows_are_interpolated_like_one(seed):
    before, after = (
        np.array([some_state(13, 10 * seed + k + n) for n in range(4)]) for k in (0, 5)
    )
    result = np.empty_like(before)
    motion.interpolate_bodies_into(result, before, after, 0.2, 0.3)
    for row, first, last in zip(result, before, after, strict=True):
        assert row.tobytes() == motion.interpolate_body(first, last, 0.2, 0.3).tobytes()


# ---- poses alone ---------------------------------------------------------------------------------


def poses(times, elapsed):
    """What is made of the poses of the tumbling body, which also flies on a parabola."""

    def state(time):
        known = tumbling(time)
        known[:3] = 1.0 + 2.0 * time - 3.0 * time**2, -time, 4.0
        known[7:] = math.nan  # nobody may look at it
        return known

    result = np.empty(19)
    older, before, after = map(state, times)
    steps = times[1] - times[0], times[2] - times[1]
    motion.follow_poses(result, older, before, after, *steps, elapsed, True, True)
    return result


@pytest.mark.parametrize("elapsed", [0.0, 0.01, 0.03])
def test_a_parabola_is_found_from_three_poses(elapsed):
    time = 0.52 + elapsed
    result = poses((0.5, 0.52, 0.55), elapsed)
    assert result[:3] == pytest.approx([1.0 + 2.0 * time - 3.0 * time**2, -time, 4.0], abs=1e-14)
    assert result[7:10] == pytest.approx([2.0 - 6.0 * time, -1.0, 0.0], abs=1e-12)
    assert result[13:16] == pytest.approx([-6.0, 0.0, 0.0], abs=1e-10)


@pytest.mark.parametrize("elapsed", [0.0, 0.5, 1.0])
def test_the_rotation_of_poses_converges_to_the_true_one(elapsed):
    errors = []
    for step in (0.02, 0.01):
        result = poses((1.0, 1.0 + step, 1.0 + 2.0 * step), elapsed * step)
        truth = tumbling(1.0 + step + elapsed * step)
        errors.append(
            [
                angle_between(result[3:7], truth[3:7]),
                np.abs(result[10:13] - truth[10:13]).max(),
                np.abs(result[16:19] - truth[16:19]).max(),
            ]
        )
    coarse, fine = np.array(errors)
    # orders 3, 2 and 1; at a pose itself the orientation is exact, and in the middle of the three
    # the acceleration is better than that
    assert (coarse[1:] / fine[1:] > (2.0**1.7, 2.0**0.8)).all()
    assert coarse[0] > 2.0**2.6 * fine[0] or fine[0] < 1e-15


def test_two_poses_make_an_even_motion_and_one_makes_none():
    before, after = body(), body(oracles.turn((0.0, 0.0, 1.0), 0.2), position=(0.4, 0.0, 0.0))
    result = np.empty(19)
    motion.follow_poses(result, after, before, after, 0.0, 0.1, 0.05, True, True)
    assert result[:3] == pytest.approx([0.2, 0.0, 0.0], abs=1e-15)
    assert result[7:13] == pytest.approx([4.0, 0.0, 0.0, 0.0, 0.0, 2.0], abs=1e-14)
    assert result[13:] == pytest.approx(np.zeros(6), abs=1e-13)
    motion.follow_poses(result, after, before, after, 0.0, 0.0, 0.0, True, True)
    assert result.tolist() == [*after[:7], *np.zeros(12)]


@pytest.mark.parametrize("turns", [False, True])
def test_the_part_that_does_not_follow_the_poses_is_left_alone(turns):
    before, after = body(), body(oracles.turn((0.0, 0.0, 1.0), 0.2), position=(0.4, 0.0, 0.0))
    result, both = np.full(19, 7.0), np.empty(19)
    motion.follow_poses(both, after, before, after, 0.0, 0.1, 0.05, True, True)
    motion.follow_poses(result, after, before, after, 0.0, 0.1, 0.05, not turns, turns)
    rotation = np.isin(np.arange(19), [*range(3, 7), *range(10, 13), *range(16, 19)])
    followed = rotation if turns else ~rotation
    assert result[followed].tolist() == both[followed].tolist()
    assert (result[~followed] == 7.0).all()
