"""The equations of a fit of Gaussians, against the derivatives of a Gaussian."""

import numpy as np
import pytest

from sensor_models.kernels.waveform.decomposition import (
    MOST_STEPS,
    REACH,
    equations_alone,
    fit,
    normal_equations,
    solve,
)
from sensor_models.kernels.waveform.layout import CHANGE, FIT_BLOCK, FIT_ROWS, MATRIX, SLOPE

#: Samples before the first one of a fit, and those that take part.
FIRST, LAST = 7, 45


@pytest.mark.parametrize(
    ("amplitude", "place", "width"), [(2.0, 25.3, 4.0), (0.3, 18.0, 6.5), (5.0, 40.2, 9.0)]
)
def test_equations_of_one_gaussian_are_those_of_its_derivatives(amplitude, place, width):
    """J J^T and J r of r = y - a g, with J = dr/d(a, place, width) but for the sign."""
    signal = np.random.default_rng(5).normal(1.0, 0.5, 60)
    z = (np.arange(FIRST, LAST) - place) / width
    shape = np.exp(-0.5 * z**2)
    slopes = np.array([shape, amplitude * shape * z / width, amplitude * shape * z**2 / width])
    left = signal[FIRST:LAST] - amplitude * shape
    matrix = slopes @ slopes.T
    wanted = [left @ left, *(slopes @ left), *matrix[np.tril_indices(3)]]
    found = equations_alone(signal, FIRST, LAST, amplitude, place, width)
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("count", [37, 64, 71, FIT_BLOCK, FIT_BLOCK + 5])
def test_equations_of_some_gaussians_are_those_of_their_derivatives(count):
    """For windows that fill vectors and blocks, and others; the lower half is not made.

    Beyond ``REACH`` a Gaussian counts as there, or as nothing where a whole block lies there.
    """
    rng, first, most = np.random.default_rng(count), 3, 3
    signal, room = rng.normal(1.0, 0.5, count + 9), np.zeros((FIT_ROWS, FIT_BLOCK))
    room[:] = rng.normal(size=room.shape)  # what other fits have left
    echoes = np.array([[2.0, 12.3, 4.0], [0.7, 20.0, 3.1], [1.5, count - 4.2, 5.0]])
    slopes, left = [], signal[first : first + count].copy()
    for amplitude, place, width in echoes:
        z = (np.arange(first, first + count) - place) / width
        shape = np.exp(-0.5 * np.minimum(z**2, REACH**2))
        slopes += [shape, amplitude * shape * z / width, amplitude * shape * z**2 / width]
        left -= amplitude * shape
    window = first, first + count
    total = normal_equations(signal, *window, echoes, most, room, MATRIX, SLOPE, np.inf)
    matrix = room[MATRIX : MATRIX + 9, :9]
    upper = np.triu_indices(9)
    near = {"rtol": 1e-9, "atol": 1e-9 if count <= FIT_BLOCK else 1e-4}
    np.testing.assert_allclose(total, left @ left, **near)
    np.testing.assert_allclose(room[SLOPE, :9], slopes @ left, **near)
    wanted = (np.array(slopes) @ np.array(slopes).T)[upper]
    np.testing.assert_allclose(matrix[upper], wanted, **near)


@pytest.mark.parametrize("size", [3, 6, 9, 45])
def test_damped_equations_are_solved(size):
    rng, damping = np.random.default_rng(size), 0.3
    room = rng.normal(size=(FIT_ROWS, FIT_BLOCK))
    rows = rng.normal(size=(size, 2 * size))
    matrix, slope = rows @ rows.T, rng.normal(size=size)
    room[MATRIX : MATRIX + size, :size] = np.triu(matrix)
    room[SLOPE, :size] = slope
    assert solve(room, size, damping)
    wanted = np.linalg.solve(matrix + damping * np.diag(np.diag(matrix)), slope)
    np.testing.assert_allclose(room[CHANGE, :size], wanted, rtol=1e-9)
    room[MATRIX, 0] = 0.0
    assert not solve(room, size, damping)


def test_a_fit_that_cannot_come_down_far_enough_is_given_up():
    """One Gaussian for two apart leaves nearly half of the squares: no step is needed to know."""
    times = np.arange(120.0)
    signal = sum(np.exp(-0.5 * ((times - place) / 4.0) ** 2) for place in (45.0, 75.0))
    start, room = [1.0, 46.0, 4.0], np.zeros((FIT_ROWS, FIT_BLOCK))
    whole, given_up = np.array([start]), np.array([start])
    left = fit(signal, 20, 100, whole, 1, room, MOST_STEPS, np.inf)
    more = fit(signal, 20, 100, given_up, 1, room, MOST_STEPS, np.inf, 0.01 * left)
    assert 0.01 * left < left <= more
    assert not np.array_equal(whole, given_up)
    # What can be reached is reached as without a bound.
    again = np.array([start])
    assert fit(signal, 20, 100, again, 1, room, MOST_STEPS, np.inf, 2.0 * more) == left
    np.testing.assert_array_equal(again, whole)
