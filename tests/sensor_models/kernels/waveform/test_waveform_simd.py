"""SIMD operations on samples, against the loops that they stand for: the same bits."""

import numpy as np
import pytest

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.options import PLAIN
from sensor_models.kernels.waveform.simd import (
    EIGHT,
    SIXTEEN,
    add_to_eight,
    bends_among,
    fold_sixteen,
    largest_of_eights,
    tops_among,
)


@njit(**PLAIN)
def _add(sums, best, who, first, rows, rays):
    add_to_eight(sums.ctypes.data, best.ctypes.data, who.ctypes.data, first, rows.ctypes.data, rays)


@njit(**PLAIN)
def _fold(to, given, weights, place):
    fold_sixteen(to.ctypes.data, given.ctypes.data, len(given), weights[place:].ctypes.data)


@njit(**PLAIN)
def _largest(numbers, eights):
    return largest_of_eights(numbers.ctypes.data, eights)


@njit(**PLAIN)
def _tops(samples, level):
    return tops_among(samples.ctypes.data, level)


@njit(**PLAIN)
def _bends(samples, level, lone):
    return bends_among(samples.ctypes.data, level, lone)


@pytest.mark.parametrize("rays", [1, 4, 8, 16])
def test_rays_are_added_to_three_samples_each_in_their_order(rays):
    """As a loop over rays has it; samples -1, and those beside the eight, are left alone."""
    rng, first = np.random.default_rng(rays), 37
    for _ in range(50):
        sums, best = rng.uniform(0.0, 1.0, (2, EIGHT))
        rows = rng.uniform(0.0, 2.0, (5, rays))
        rows[4] = np.round(rows[4], 1)  # some are equal
        rows[0] = np.where(rng.uniform(size=rays) < 0.2, -1, rng.integers(38, 44, rays))
        wanted, most, strongest = sums.copy(), best.copy(), np.full(EIGHT, -1.0)
        for ray in range(rays):
            k = int(rows[0, ray]) - first
            if k > 0:
                wanted[k - 1] += rows[1, ray]
                wanted[k] += rows[2, ray]
                wanted[k + 1] += rows[3, ray]
                if rows[4, ray] > most[k]:
                    most[k], strongest[k] = rows[4, ray], ray
        who = np.zeros(EIGHT)
        _add(sums, best, who, float(first), rows, rays)
        np.testing.assert_array_equal(sums, wanted)
        np.testing.assert_array_equal(best, most)
        np.testing.assert_array_equal(who, strongest)


@pytest.mark.parametrize("count", [1, 2, 40])
def test_sixteen_sums_of_products(count):
    rng = np.random.default_rng(count)
    given, weights, to = rng.normal(size=count), rng.normal(size=count + 20), np.zeros(SIXTEEN)
    _fold(to, given, weights, count)
    wanted = np.zeros(SIXTEEN)
    for k in range(count):
        wanted += given[k] * weights[count - k : count - k + SIXTEEN]
    np.testing.assert_array_equal(to, wanted)


@pytest.mark.parametrize("eights", [0, 1, 5])
def test_the_largest_of_some_numbers(eights):
    numbers = np.random.default_rng(eights).uniform(0.0, 1.0, EIGHT * eights + 3)
    assert _largest(numbers, eights) == max(numbers[: EIGHT * eights], default=0.0)


def test_maxima_and_bends_are_found_where_a_loop_finds_them():
    rng, tops, bends = np.random.default_rng(4), 0, 0
    for _ in range(400):
        own, level, lone = np.round(rng.uniform(0.0, 1.0, 12), 1), 0.8, 0.9
        here = own[1:9]
        wanted = ((here > level) & (here > own[:8]) & (here >= own[2:10])).any()
        assert _tops(own, level) == wanted
        bend = own[:-2] - 2.0 * own[1:-1] + own[2:]
        middle = bend[1:9]
        least = (middle < bend[:8]) & (middle <= bend[2:10])
        found = (own[2:10] > level) & (middle < -lone * own[2:10]) & least
        assert _bends(own, level, lone) == found.any()
        tops, bends = tops + wanted, bends + found.any()
    assert 20 < tops < 380
    assert 20 < bends < 380
