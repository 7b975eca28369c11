"""Rotations as tuples against matrices and against the kernels that work on arrays."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sensor_models.kernels.math import motion, rotations
from tests import oracles

NUMBERS = st.floats(-100.0, 100.0)
VECTORS = st.tuples(NUMBERS, NUMBERS, NUMBERS)
AXES = VECTORS.filter(lambda axis: np.linalg.norm(axis) > 1e-3)
ANGLES = st.floats(-7.0, 7.0)
# Rounding of sums of a few products of numbers up to 100, times 10.
ROUNDING = 1e-12
# Entries of matrices and quaternions are up to 1, and so are sums of a few of their products.
UNIT_ROUNDING = 1e-14


def turn(axis, angle):
    return tuple(oracles.turn(axis, angle).tolist())


@settings(deadline=None)
@given(AXES, ANGLES, VECTORS)
def test_a_vector_is_turned_as_by_the_formula_of_rodrigues(axis, angle, vector):
    expected = oracles.matrix_of_turn(axis, angle) @ vector
    assert rotations.turn(turn(axis, angle), vector) == pytest.approx(expected, abs=ROUNDING)


def test_the_identity_leaves_every_bit_of_a_vector():
    vector = (0.1, -2.3e-7, 4.5e8)
    assert rotations.turn((1.0, 0.0, 0.0, 0.0), vector) == vector


@settings(deadline=None)
@given(AXES, AXES, ANGLES, ANGLES)
def test_products_are_those_of_the_kernel_on_arrays(left_axis, right_axis, left, right):
    p, q = turn(left_axis, left), turn(right_axis, right)
    expected = motion.multiply_quaternions(np.array(p), np.array(q)).tolist()
    assert rotations.multiply(p, q) == pytest.approx(expected, abs=UNIT_ROUNDING)


@settings(deadline=None)
@given(AXES, ANGLES, VECTORS)
def test_the_conjugate_turns_back(axis, angle, vector):
    q = turn(axis, angle)
    there = rotations.turn(q, vector)
    back = rotations.turn(rotations.conjugate(q), there)
    assert back == pytest.approx(vector, abs=ROUNDING)


@settings(deadline=None)
@given(AXES, AXES, ANGLES, st.floats(-3.1, 3.1), st.sampled_from([1.0, -1.0]))
def test_the_middle_is_half_of_the_shorter_way(first_axis, axis, first, angle, sign):
    p = oracles.turn(first_axis, first)
    q = sign * motion.multiply_quaternions(oracles.turn(axis, angle), p)
    expected = motion.multiply_quaternions(oracles.turn(axis, angle / 2), p)
    middle = np.array(rotations.middle(tuple(p.tolist()), tuple(q.tolist())))
    # q and -q are the same orientation
    middle *= math.copysign(1.0, middle @ expected)
    assert middle == pytest.approx(expected, abs=UNIT_ROUNDING)


@settings(deadline=None)
@given(AXES, st.floats(0.0, math.pi), st.sampled_from([1.0, -1.0]))
def test_a_rotation_vector_is_axis_times_angle(axis, angle, sign):
    assume(angle < math.pi - 1e-6)
    q = tuple((sign * oracles.turn(axis, angle)).tolist())
    expected = angle * np.array(axis) / np.linalg.norm(axis)
    assert rotations.vector_of_rotation(q) == pytest.approx(expected, abs=1e-13)
    again = np.array(rotations.rotation_of_vector(tuple(expected.tolist())))
    assert sign * again == pytest.approx(q, abs=UNIT_ROUNDING)


@pytest.mark.parametrize("angle", [0.0, 1e-300, 1e-170, 1e-20, 1e-9])
def test_tiny_rotations_keep_their_relative_accuracy(angle):
    vector = rotations.vector_of_rotation(rotations.rotation_of_vector((0.0, angle, 0.0)))
    # two roundings, one of them of a half
    assert vector == pytest.approx((0.0, angle, 0.0), rel=1e-15, abs=0.0)


@settings(deadline=None)
@given(AXES, AXES, st.floats(0.0, 1.5), st.floats(0.0, 1.5))
def test_composing_is_the_product_of_the_matrices(first_axis, second_axis, first, second):
    vectors = [
        tuple((angle * np.array(axis) / np.linalg.norm(axis)).tolist())
        for axis, angle in ((first_axis, first), (second_axis, second))
    ]
    composed = np.array(rotations.compose(*vectors))
    angle = float(np.linalg.norm(composed))
    assume(angle > 1e-3)
    expected = oracles.matrix_of_turn(first_axis, first) @ oracles.matrix_of_turn(
        second_axis, second
    )
    # the direction of a vector of 1e-3 is known to 1e-16 / 1e-3
    assert oracles.matrix_of_turn(composed, angle) == pytest.approx(expected, abs=1e-12)


@pytest.mark.acceptance("IMU-5")
def test_imu_5_composing_differs_from_adding_by_half_the_cross_product():
    added = np.array([0.1, 0.001, 0.0])
    composed = np.array(rotations.compose((0.1, 0.0, 0.0), (0.0, 0.001, 0.0)))
    # the tolerance of the acceptance row
    assert composed - added == pytest.approx([0.0, -8e-7, 5.0e-5], abs=1e-6)
    # (a x b)/2 + a x (a x b)/12 + b x (b x a)/12 by Baker, Campbell and Hausdorff; the next
    # terms are of fifth order, some 1e-10
    assert composed - added == pytest.approx([-1e-7 / 12, -1e-5 / 12, 5.0e-5], abs=1e-9)
