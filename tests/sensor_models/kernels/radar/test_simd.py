"""SIMD operations on eight float32 numbers against numpy, number by number."""

import math

import numpy as np
import pytest

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.options import PLAIN
from sensor_models.kernels.radar.simd import (
    EIGHT,
    add_eight,
    add_eight_to_both,
    copy_eight,
    mix_eight,
    multiply_eight,
    single_cosine_and_sine,
    turn_eights,
)


@njit(**PLAIN)
def add(target, source, weight):
    add_eight(target.ctypes.data, source.ctypes.data, weight)


@njit(**PLAIN)
def add_to_both(target, other, source, weight, other_weight):
    here, there, numbers = target.ctypes.data, other.ctypes.data, source.ctypes.data
    add_eight_to_both(here, there, numbers, weight, other_weight)


@njit(**PLAIN)
def copy(target, source):
    copy_eight(target.ctypes.data, source.ctypes.data)


@njit(**PLAIN)
def mix(target, one, other, share):
    mix_eight(target.ctypes.data, one.ctypes.data, other.ctypes.data, share)


@njit(**PLAIN)
def multiply(target, one, other):
    apart = 4 * target.shape[1]
    multiply_eight(target.ctypes.data, one.ctypes.data, other.ctypes.data, apart)


@njit(**PLAIN)
def transpose(target, source):
    apart, far = 4 * target.shape[1], 4 * source.shape[1]
    turn_eights(target.ctypes.data, apart, source.ctypes.data, far)


@njit(cache=True)
def of_all(turns, cosines, sines):
    for place in range(len(turns)):
        cosines[place], sines[place] = single_cosine_and_sine(turns[place])


@pytest.fixture
def numbers():
    """Rows of nine: the last one is beyond what an eight may touch."""
    return np.random.default_rng(4).normal(size=(6, EIGHT + 1)).astype(np.float32)


def test_sums_are_rounded_as_those_of_single_numbers(numbers) -> None:
    target, other, source = (row.copy() for row in numbers[:3])
    weight, more = np.float32(0.3), np.float32(-1.7)
    add(target, source, weight)
    expected = numbers[0] + weight * numbers[2]
    expected[EIGHT] = numbers[0, EIGHT]
    assert (target == expected).all()
    add_to_both(target, other, source, more, weight)
    expected[:EIGHT] += more * numbers[2, :EIGHT]
    assert (target == expected).all()
    assert (other[:EIGHT] == (numbers[1] + weight * numbers[2])[:EIGHT]).all()
    assert other[EIGHT] == numbers[1, EIGHT]


def test_mixtures_and_copies(numbers) -> None:
    target, share = numbers[0].copy(), np.float32(0.25)
    mix(target, numbers[1], numbers[2], share)
    expected = numbers[1] + share * (numbers[2] - numbers[1])
    assert (target[:EIGHT] == expected[:EIGHT]).all()
    copy(target, numbers[3])
    assert (target[:EIGHT] == numbers[3, :EIGHT]).all()
    assert target[EIGHT] == numbers[0, EIGHT]


def test_products_of_complex_numbers(numbers) -> None:
    target = np.zeros((2, EIGHT + 1), np.float32)
    multiply(target, numbers[2:4], numbers[4:6])
    a, b, c, d = numbers[2:6]
    assert (target[0] == np.where(np.arange(EIGHT + 1) < EIGHT, a * c - b * d, 0.0)).all()
    assert (target[1] == np.where(np.arange(EIGHT + 1) < EIGHT, a * d + b * c, 0.0)).all()


def test_rows_become_columns() -> None:
    source = np.arange(EIGHT * 16, dtype=np.float32).reshape(EIGHT, 16)
    target = np.full((EIGHT, 24), -1.0, np.float32)
    transpose(target, source)
    assert (target[:, :EIGHT] == source[:, :EIGHT].T).all()
    assert (target[:, EIGHT:] == -1.0).all()


def test_single_sines_and_cosines_of_turns() -> None:
    eighths = np.arange(-40, 41) / 8.0  # where quarters begin, and where they are rounded
    near = np.concatenate([np.nextafter(eighths, -9.0), np.nextafter(eighths, 9.0)])
    random = np.random.default_rng(1).uniform(-1e5, 1e5, 20_000)
    turns = np.concatenate([eighths, near, random])
    cosines, sines = np.empty_like(turns), np.empty_like(turns)
    of_all(turns, cosines, sines)
    left = 2.0 * math.pi * (turns - np.round(turns))
    assert np.abs(cosines - np.cos(left)).max() < 2.5e-7
    assert np.abs(sines - np.sin(left)).max() < 2.5e-7
