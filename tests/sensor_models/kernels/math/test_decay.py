"""Exponentials of what decays, against the standard library's."""

import math

import numpy as np
import pytest
from numba import njit

from sensor_models.kernels.math.decay import LOWEST, decayed, decayed_less_one

#: Of e^x, and of e^x - 1 also where that is small.
ACCURACY = 4e-16


@njit
def of_each(numbers):
    found = np.empty((2, len(numbers)))
    for i in range(len(numbers)):
        found[0, i], found[1, i] = decayed(numbers[i]), decayed_less_one(numbers[i])
    return found


def falling() -> list[float]:
    """Numbers from 0 to the lowest: powers of ten, all around multiples of ln 2 / 2, random."""
    small = [-(10.0**k) for k in range(-300, 3)]
    edges = [
        -k * math.log(2.0) / 2.0 * (1.0 + e) for k in range(2000) for e in (-1e-15, 0.0, 1e-15)
    ]
    spread = np.random.default_rng(5).uniform(LOWEST, 0.0, 20_000).tolist()
    return [0.0, *small, *(x for x in edges if x >= LOWEST), *spread, LOWEST]


def test_both_are_those_of_the_standard_library_to_the_last_digits():
    numbers = falling()
    whole, less = of_each(np.array(numbers))
    for x, power, difference in zip(numbers, whole.tolist(), less.tolist(), strict=True):
        assert power == pytest.approx(math.exp(x), rel=ACCURACY, abs=0.0), x
        assert difference == pytest.approx(math.expm1(x), rel=ACCURACY, abs=0.0), x


def test_nothing_has_decayed_at_0():
    assert of_each(np.zeros(1)).tolist() == [[1.0], [0.0]]
