"""Codes of bits, and limits that are codes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensor_models.core.codes import NO_GRID, Grid, grid_of_bits, legal_limits
from sensor_models.core.quantities import NO_LIMIT, ParameterError
from sensor_models.kernels.inertial.corruption import FLOOR, round_to_code


@pytest.mark.acceptance("COR-3")
def test_cor_3_limits_are_the_last_codes_within_them():
    assert legal_limits(-0.9, 1.0, Grid(0.25), ("low", "high")) == (-0.75, 1.0)


@pytest.mark.acceptance("COR-4")
@pytest.mark.parametrize(
    ("bits", "step"), [(1, 2.0), (2, 0.666667), (3, 0.285714), (4, 0.133333), (12, 4.884005e-4)]
)
def test_cor_4_bits_divide_the_range_into_steps(bits, step):
    assert grid_of_bits(-1.0, 1.0, bits) == pytest.approx((step, -1.0), abs=1e-6)


@given(
    bits=st.integers(1, 32),
    lower=st.floats(-1e3, 1e3),
    width=st.floats(1e-3, 1e3),
    share=st.floats(0.0, 1.0),
)
@settings(deadline=None)
def test_every_code_of_bits_lies_within_the_limits(bits, lower, width, share):
    grid = grid_of_bits(lower, lower + width, bits)
    low, high = legal_limits(lower, lower + width, grid, ("low", "high"))
    code = round(share * (2**bits - 1))
    # a code is a product and a sum, rounded, of numbers below 2000
    assert low - 5e-13 <= grid.anchor + grid.step * code <= high + 5e-13
    assert (low, high) == pytest.approx((lower, lower + width), abs=5e-13)


@given(lower=st.floats(-100.0, 0.0), upper=st.floats(0.0, 100.0), step=st.floats(1e-3, 200.0))
@settings(deadline=None)
def test_limits_are_codes_and_rounding_does_not_move_them(lower, upper, step):
    # 0 is a code, so there is one between the limits
    for limit in legal_limits(lower, upper, Grid(step), ("low", "high")):
        # by the guard of a billionth of a code a limit may lie outside
        assert lower - 2e-9 * step <= limit <= upper + 2e-9 * step
        assert round_to_code(limit, step, 0.0, FLOOR) == limit


def test_limits_without_codes_or_without_a_value_stay_as_they_are():
    assert legal_limits(-0.9, 1.0, NO_GRID, ("low", "high")) == (-0.9, 1.0)
    assert legal_limits(-NO_LIMIT, NO_LIMIT, Grid(0.25), ("low", "high")) == (-NO_LIMIT, NO_LIMIT)


def test_either_order_of_codes_and_limits_gives_the_same_value():
    grid = Grid(0.25)
    low, high = legal_limits(-0.9, 1.1, grid, ("low", "high"))
    for value in np.linspace(-2.0, 2.0, 4001):
        rounded_first = min(max(round_to_code(value, 0.25, 0.0, FLOOR), low), high)
        limited_first = round_to_code(min(max(value, low), high), 0.25, 0.0, FLOOR)
        assert rounded_first == limited_first


@pytest.mark.parametrize(
    ("lower", "upper", "bits"), [(-1.0, 1.0, 0), (1.0, -1.0, 8), (-NO_LIMIT, 1.0, 8)]
)
def test_bits_without_a_range_are_refused(lower, upper, bits):
    with pytest.raises(ParameterError, match=f"{bits} bits between .* make no codes"):
        grid_of_bits(lower, upper, bits)


def test_limits_without_a_code_between_them_are_refused():
    with pytest.raises(ParameterError, match=r"low = 0.3 and high = 0.4 have no code"):
        legal_limits(0.3, 0.4, Grid(0.25), ("low", "high"))
