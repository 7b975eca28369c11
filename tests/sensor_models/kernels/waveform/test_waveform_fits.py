"""The equations of a fit of Gaussians, against the derivatives of a Gaussian."""

import numpy as np
import pytest

from sensor_models.kernels.waveform.decomposition import equations_alone

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
