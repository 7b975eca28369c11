"""Draws that neighbours in a picture divide evenly among themselves."""

import numpy as np
import pytest

from sensor_models.kernels.camera.ccd import nets
from sensor_models.kernels.compiling import njit

WORDS = (0x9E3779B9, 0x7F4A7C15)


@njit(nogil=True, cache=True, error_model="numpy")
def points_from(first: int, one: np.uint64, other: np.uint64, found: np.ndarray) -> None:
    """The points of numbers that follow on one another."""
    for k in range(len(found)):
        found[k, 0], found[k, 1] = nets.point_of(first + k, one, other)


@njit(nogil=True, cache=True, error_model="numpy")
def places_of(side: int, found: np.ndarray) -> None:
    """The numbers of the places of a square."""
    for row in range(side):
        for column in range(side):
            found[row, column] = nets.interleaved(row, column)


def drawn(first: int, count: int, words: tuple[int, int] = WORDS) -> np.ndarray:
    found = np.zeros((count, 2))
    points_from(first, np.uint64(words[0]), np.uint64(words[1]), found)
    return found


@pytest.mark.parametrize("words", [WORDS, (0, 0), (2**32 - 1, 1)])
@pytest.mark.parametrize(("power", "start"), [(4, 0), (4, 5), (6, 3), (10, 1)])
def test_each_box_has_one_point(power: int, start: int, words: tuple[int, int]) -> None:
    """The definition of a (0, m, 2)-net in base 2, for every shape of boxes."""
    count = 2**power
    points = drawn(start * count, count, words)
    assert points.min() > 0.0
    assert points.max() < 1.0
    for across in range(power + 1):
        columns, rows = 2**across, 2 ** (power - across)
        boxes = np.floor(points[:, 0] * columns) * rows + np.floor(points[:, 1] * rows)
        assert len(np.unique(boxes)) == count


def test_words_make_other_points() -> None:
    first, second = drawn(0, 64), drawn(0, 64, (WORDS[1], WORDS[0]))
    assert np.abs(first - second).max(axis=0).min() > 0.1


def test_squares_of_places_follow_on_one_another() -> None:
    found = np.zeros((64, 64), np.int64)
    places_of(64, found)
    assert sorted(found.ravel()) == list(range(64 * 64))
    for size in (2, 8, 32):
        squares = found.reshape(64 // size, size, 64 // size, size).swapaxes(1, 2)
        squares = squares.reshape(-1, size * size)
        assert (np.ptp(squares, axis=1) == size * size - 1).all()
        assert (squares.min(axis=1) % (size * size) == 0).all()


def test_means_come_near_faster_than_by_chance() -> None:
    """Of a smooth function and of a corner, with 1,024 points of many words."""
    draw = np.random.default_rng(5)
    off = []
    for _ in range(32):
        u, v = drawn(0, 1024, tuple(draw.integers(0, 2**32, 2))).T
        off.append([(u * v).mean() - 0.25, ((u < 0.3) & (v > 0.6)).mean() - 0.12])
    rms = np.sqrt(np.mean(np.square(off), axis=0))
    # By chance: sqrt(7/144/1024) = 6.9e-3, and sqrt(0.12 0.88/1024) = 1.0e-2.
    assert rms[0] < 7e-4
    assert rms[1] < 3e-3
    assert np.abs(np.mean(off, axis=0)).max() < 1e-3
