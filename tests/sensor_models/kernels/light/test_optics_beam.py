"""The exact share of a beam against SciPy's non-central χ² and against an integral."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special, stats

from sensor_models.kernels.light import beam

RADII = st.floats(-4.0, -1.0).map(lambda power: 10.0**power)


def integral(detector, offset, spot):
    """Power on rings about the centre of the detector, the Bessel function without its growth."""

    def ring(r):
        near = math.exp(-2.0 * ((r - offset) / spot) ** 2)
        return 4.0 * r / spot**2 * near * special.ive(0, 4.0 * r * offset / spot**2)

    beam_at = [offset] if offset < detector else None
    return integrate.quad(ring, 0.0, detector, points=beam_at, epsabs=0.0, epsrel=1e-11)[0]


@settings(deadline=None, max_examples=300)
@given(RADII, st.floats(0.0, 0.1), RADII)
def test_the_exact_share_is_the_non_central_chi_squared_distribution(detector, offset, spot):
    reach, shift = 4.0 * (detector / spot) ** 2, 4.0 * (offset / spot) ** 2
    # where it is not shifted in float64, SciPy's non-central law is off by 4e-6, the central not
    expected = stats.ncx2.cdf(reach, 2, shift) if shift > 1e-14 else stats.chi2.cdf(reach, 2)
    # SciPy's own sum is good to 1e-10; the edge of a bent line to 1e-6
    narrow = 2.0 * (detector / spot) ** 2 > beam.NARROW
    assert beam.exact_share(detector, offset, spot) == pytest.approx(
        expected, rel=1e-8, abs=1e-6 if narrow else 1e-10
    )


@pytest.mark.parametrize("spot", [3e-3, 5.75e-3, 0.02, 0.3])
@pytest.mark.parametrize("offset", [1e-3, 9e-3, 0.011, 0.02])
def test_the_exact_share_is_the_integral_over_the_detector(offset, spot):
    expected = integral(0.01, offset, spot)
    # the quadrature's own
    assert beam.exact_share(0.01, offset, spot) == pytest.approx(expected, rel=1e-9)


@settings(deadline=None, max_examples=300)
@given(RADII, st.floats(0.0, 1.0), st.floats(-9.0, 3.0).map(lambda power: 10.0**power))
def test_a_share_is_between_nothing_and_all(detector, offset, spot):
    assert 0.0 <= beam.exact_share(detector, offset, spot) <= 1.0
    assert 0.0 <= beam.closed_share(detector, offset, spot) <= 1.0


def test_the_share_of_a_thin_beam_does_not_jump_where_its_formula_changes():
    widest = 0.01 * math.sqrt(2.0 / beam.NARROW)
    for aside in (-2.0, -0.3, 0.0, 0.3, 2.0):
        spots = (widest * 0.9999, widest * 1.0001)
        sides = [beam.exact_share(0.01, 0.01 + aside * spot, spot) for spot in spots]
        # what the bent line is good to
        assert sides[0] == pytest.approx(sides[1], abs=1e-6)


@pytest.mark.parametrize(("offset", "share"), [(0.0, 1.0), (0.009, 1.0), (0.01, 0.0), (0.02, 0.0)])
def test_a_beam_without_width_is_received_or_not(offset, share):
    assert beam.exact_share(0.01, offset, 0.0) == share


def test_many_means_of_the_sum_agree_on_the_axis():
    # an offset that is next to nothing, against the closed form of none
    for spot in np.geomspace(1e-3, 1.0, 20):
        # roundings
        assert beam.exact_share(0.01, 1e-12, spot) == pytest.approx(
            beam.exact_share(0.01, 0.0, spot), rel=1e-12
        )
