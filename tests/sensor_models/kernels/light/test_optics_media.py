"""The gamma law against SciPy, and what media make of it."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import special, stats

from sensor_models.kernels.light import gamma_law, media

SHAPES = st.floats(-3.0, 5.0).map(lambda power: 10.0**power)
MODERATE_SHAPES = st.floats(-2.0, 3.0).map(lambda power: 10.0**power)
SHARES = st.one_of(
    st.floats(1e-16, 1.0 - 2.0**-53),
    st.floats(-300.0, -1.0).map(lambda power: 10.0**power),
    st.floats(-15.5, -1.0).map(lambda power: 1.0 - 10.0**power),
)


@settings(deadline=None, max_examples=2000)
@given(SHAPES, SHARES)
def test_quantiles_are_those_of_scipy(shape, share):
    expected = special.gammaincinv(shape, share)
    # the smallest numbers have few digits, and SciPy rounds them to 0
    assume(expected > 1e-290)
    # what is demanded; SciPy itself is good to some 1e-12
    assert gamma_law.quantile(shape, share) == pytest.approx(expected, rel=1e-10)


@settings(deadline=None, max_examples=500)
@given(MODERATE_SHAPES, st.floats(-10.0, 2.0))
def test_shares_are_those_of_scipy(shape, power):
    x = shape * 10.0**power
    lower, upper = gamma_law.shares(shape, x)
    # the exponent, of up to some 1e4, is rounded
    assert lower == pytest.approx(special.gammainc(shape, x), rel=1e-10, abs=1e-300)
    assert upper == pytest.approx(special.gammaincc(shape, x), rel=1e-10, abs=1e-15)


@settings(deadline=None, max_examples=300)
@given(MODERATE_SHAPES, st.floats(-3.0, 1.0))
def test_density_is_that_of_scipy(shape, power):
    x = shape * 10.0**power
    expected = stats.gamma.pdf(x, shape)
    # the exponent, of up to some 1e4, is rounded
    assert gamma_law.density(shape, x) == pytest.approx(expected, rel=1e-10, abs=1e-300)


@pytest.mark.parametrize("shape", [1e-3, 0.1, 1.0, 3.5, 1e4])
def test_the_ends_of_the_quantiles(shape):
    assert gamma_law.quantile(shape, 0.0) == 0.0
    assert gamma_law.quantile(shape, 1.0) == math.inf
    for bad in (-1e-9, 1.0 + 1e-9, math.nan):
        assert math.isnan(gamma_law.quantile(shape, bad))


def test_a_distribution_without_a_shape_has_no_quantiles():
    assert math.isnan(gamma_law.quantile(0.0, 0.5))
    assert math.isnan(gamma_law.quantile(math.nan, 0.5))


def test_quantiles_too_small_for_a_number_are_nothing():
    # (1/2)^1000 e^-0.58 times 1e-200 of a number's range
    assert gamma_law.quantile(1e-3, 0.1) == 0.0


@pytest.mark.parametrize("shape", [0.3, 1.0, 2.0, 50.0])
def test_quantiles_rise_with_the_share(shape):
    quantiles = [gamma_law.quantile(shape, share) for share in np.linspace(0.0, 1.0, 2001)]
    assert np.all(np.diff(quantiles) > 0.0)


def test_the_ends_of_shares_and_density():
    assert gamma_law.shares(2.0, -1.0) == (0.0, 1.0)
    assert gamma_law.shares(2.0, 0.0) == (0.0, 1.0)
    assert gamma_law.shares(2.0, math.inf) == (1.0, 0.0)
    assert gamma_law.density(0.5, 0.0) == math.inf
    assert gamma_law.density(1.0, 0.0) == 1.0
    assert gamma_law.density(2.0, 0.0) == 0.0
    assert gamma_law.density(0.5, -1.0) == 0.0


@pytest.mark.acceptance("AMB-1")
def test_amb_1_transmission_over_fifty_metres():
    # of the row; the printed numbers have six digits
    assert media.transmission(0.01, 50.0) == pytest.approx(0.606531, abs=1e-6)
    assert media.transmission(0.01, 100.0) == pytest.approx(0.367879, abs=1e-6)


@pytest.mark.acceptance("AMB-2")
def test_amb_2_transmission_through_fog():
    assert media.transmission(0.06, 30.0) == pytest.approx(0.165299, abs=1e-6)  # of the row
    assert media.transmission(0.06, 60.0) == pytest.approx(0.0273237, abs=1e-6)


def test_nothing_is_left_of_light_at_great_depth():
    assert media.transmission(1.0, 699.0) == math.exp(-699.0)
    assert media.transmission(1.0, 701.0) == 0.0
    assert media.transmission(1e300, 1e300) == 0.0
    assert media.transmission(0.1, math.inf) == 0.0


def test_a_clear_medium_takes_nothing_of_a_ray_that_meets_nothing():
    assert media.transmission(0.0, math.inf) == 1.0


@settings(deadline=None)
@given(st.floats(0.0, 10.0), st.floats(0.0, 30.0), st.floats(0.0, 30.0))
def test_two_segments_transmit_as_much_as_both_in_one(absorption, first, second):
    product = media.transmission(absorption, first) * media.transmission(absorption, second)
    # exponents of up to 600, rounded
    assert media.transmission(absorption, first + second) == pytest.approx(
        product, rel=1e-12, abs=1e-300
    )
