"""Sine and cosine of turns against those of a maths library, and rounding."""

import math

import numpy as np
import pytest

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.turns import cosine_and_sine, rounded


@njit(cache=True)
def of_all(turns, cosines, sines):
    for place in range(len(turns)):
        cosines[place], sines[place] = cosine_and_sine(turns[place])


def test_sines_and_cosines_of_turns() -> None:
    eighths = np.arange(-40, 41) / 8.0  # where quarters begin, and where they are rounded
    near = np.concatenate([np.nextafter(eighths, -9.0), np.nextafter(eighths, 9.0)])
    random = np.random.default_rng(1).uniform(-3.0, 3.0, 20_000)
    turns = np.concatenate([eighths, near, random])
    cosines, sines = np.empty_like(turns), np.empty_like(turns)
    of_all(turns, cosines, sines)
    left = 2.0 * math.pi * (turns - np.round(turns))
    assert np.abs(cosines - np.cos(left)).max() < 5e-16
    assert np.abs(sines - np.sin(left)).max() < 5e-16


def test_whole_turns_change_nothing() -> None:
    part = 0.3125  # exact in binary, so that nothing of it is lost in a sum
    for whole in (0.0, 7.0, -12.0, 2.0**30, -(2.0**40)):
        assert cosine_and_sine(whole + part) == cosine_and_sine(part)


@pytest.mark.parametrize(("x", "whole"), [(0.5, 0), (1.5, 2), (-0.5, 0), (-2.7, -3), (1e9, 1e9)])
def test_rounding(x: float, whole: float) -> None:
    assert rounded(x) == whole
