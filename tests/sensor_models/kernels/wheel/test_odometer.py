"""Unwrapping of the odometer against rotations that never were wrapped."""

import math

import numpy as np
import pytest

from sensor_models.kernels.wheel import odometer


def unwrap_all(rotations):
    state = np.zeros(odometer.STATE_SIZE)
    unwrapped = []
    for rotation in rotations:
        unwrapped.append(odometer.unwrap(state, rotation))
        state[odometer.STAGE] = odometer.RUNNING
    return unwrapped


@pytest.mark.parametrize("lower", [0.0, -math.pi, 5.0])
def test_unwrapping_undoes_wrapping_up_to_the_first_turn(lower):
    steps = np.random.default_rng(2).uniform(-3.1, 3.1, 2000)
    truth = lower + np.cumsum(np.concatenate([[0.1], steps]))
    wrapped = lower + np.mod(truth - lower, math.tau)
    # rotations of some 100 rad, rounded to 1e-14 in each of a few operations
    assert unwrap_all(wrapped) == pytest.approx(truth.tolist(), abs=1e-12)


def test_a_rotation_that_never_wrapped_is_left_alone():
    truth = np.cumsum(np.random.default_rng(3).uniform(-3.1, 3.1, 500))
    assert unwrap_all(truth) == truth.tolist()


def test_unwrapping_agrees_with_numpy():
    wrapped = np.random.default_rng(4).uniform(0.0, math.tau, 500)
    # whole turns of up to some 100 rad, rounded differently
    assert unwrap_all(wrapped) == pytest.approx(np.unwrap(wrapped).tolist(), abs=1e-11)
