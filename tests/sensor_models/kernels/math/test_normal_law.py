"""Quantiles and distribution function of the normal law against the standard library."""

import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensor_models.kernels.math.normal_law import SHORTEST_TAIL, distribution, quantile

LAW = NormalDist()
#: What the module states, and what is left of digits next to 8 standard deviations.
ERROR = 2e-12

TAILS = st.one_of(
    st.floats(2.0**-53, 0.5, exclude_max=True),
    st.builds(lambda octaves, part: part * 2.0**-octaves, st.integers(1, 52), st.floats(0.5, 0.99)),
)


@settings(deadline=None, max_examples=2000)
@given(TAILS)
def test_quantiles_are_those_of_the_standard_library(tail):
    # the kernel is given 1/2 - tail, so the tail that counts is what is left of it after rounding
    centred = 0.5 - tail
    assert quantile(centred) == pytest.approx(-LAW.inv_cdf(0.5 - centred), rel=0.0, abs=ERROR)


@given(st.floats(-0.4999, 0.4999))
@settings(deadline=None)
def test_quantiles_are_odd(centred):
    assert quantile(-centred) == -quantile(centred)


def test_quantiles_reach_as_far_as_53_bits():
    largest = quantile(0.5 - 2.0**-53)
    assert largest == pytest.approx(8.209536, abs=1e-6)
    assert quantile(0.5 - SHORTEST_TAIL) == pytest.approx(-LAW.inv_cdf(2.0**-54), abs=ERROR)
    assert quantile(-(0.5 - 2.0**-53)) == -largest


def test_quantiles_grow_from_part_to_part():
    edges = np.array(
        [(1.0 + part / 16) * 2.0**-octave for octave in range(2, 53) for part in range(16)]
    )
    for edge in edges:
        inside, outside = 0.5 - edge * (1.0 + 1e-9), 0.5 - edge * (1.0 - 1e-9)
        # across an edge the polynomial changes; where 1/2 - tail has no digits left both are equal
        assert quantile(outside) - quantile(inside) >= -2.0 * ERROR


@pytest.mark.parametrize("x", [-8.0, -3.0, -1.0, 0.0, 0.5, 2.0, 6.0])
def test_the_distribution_function_is_that_of_the_standard_library(x):
    # both go through the error function, which is good to a few roundings
    assert distribution(x) == pytest.approx(0.5 * math.erfc(-x / math.sqrt(2.0)), rel=1e-14)
    assert distribution(x) == pytest.approx(LAW.cdf(x), rel=1e-12, abs=1e-16)


def test_the_distribution_function_has_its_limits():
    assert distribution(-math.inf) == 0.0
    assert distribution(math.inf) == 1.0


@pytest.mark.acceptance("COR-10")
def test_cor_10_three_sigma_are_exceeded_by_27_in_10000():
    # the digits that the acceptance row gives
    assert 2.0 * distribution(-3.0) == pytest.approx(0.0026998, abs=5e-8)
