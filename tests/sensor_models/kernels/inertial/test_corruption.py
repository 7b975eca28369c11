"""Drift within bounds, flicker noise and codes against their closed forms."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from sensor_models.kernels.inertial import corruption
from sensor_models.kernels.inertial.corruption import (
    CEIL,
    CLAMP,
    FLOOR,
    PULL,
    REFLECT,
    ROUND,
    TOWARD_ZERO,
    TRUNCATED,
    bounded_step,
    round_to_code,
)
from sensor_models.kernels.math.normal_law import distribution, quantile
from sensor_models.kernels.math.philox import centred_uniforms

MODES = (TOWARD_ZERO, FLOOR, CEIL, ROUND)
BOUND_MODES = (TRUNCATED, REFLECT, PULL, CLAMP)
CENTRED = st.floats(-0.5, 0.5, exclude_min=True, exclude_max=True).filter(
    lambda c: abs(c) <= 0.5 - 2.0**-53
)
KEY = np.array([1, 2], dtype=np.uint64)


@pytest.mark.acceptance("COR-1")
def test_cor_1_a_positive_value_becomes_a_code():
    shown = [round_to_code(0.37, 0.1, 0.0, mode) for mode in MODES]
    assert shown == pytest.approx([0.3, 0.3, 0.4, 0.4], rel=0.0, abs=1e-12)


@pytest.mark.acceptance("COR-2")
def test_cor_2_a_negative_value_becomes_a_code():
    shown = [round_to_code(-0.37, 0.1, 0.0, mode) for mode in MODES]
    assert shown == pytest.approx([-0.3, -0.4, -0.3, -0.4], rel=0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("value", "expected"), [(0.5, 1.0), (-0.5, -1.0), (1.5, 2.0), (-2.5, -3.0)]
)
def test_halves_are_rounded_away_from_zero(value, expected):
    assert round_to_code(value, 1.0, 0.0, ROUND) == expected


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("code", [-7, -3, 0, 3, 6, 29])
def test_a_code_stays_itself_whatever_rounding_made_of_it(mode, code):
    # 0.1 * 3 lies above 0.3, 0.3 / 0.1 below 3
    for value in (0.1 * code, code / 10.0, math.fsum([0.1] * code if code > 0 else [code / 10.0])):
        assert round_to_code(value, 0.1, 0.0, mode) == 0.1 * code


@pytest.mark.parametrize("mode", MODES)
@given(value=st.floats(-1e6, 1e6), step=st.floats(1e-3, 10.0), anchor=st.floats(-10.0, 10.0))
@settings(deadline=None)
def test_the_code_of_a_value_is_a_neighbour_on_the_side_of_its_mode(mode, value, step, anchor):
    shown = round_to_code(value, step, anchor, mode)
    distance = (shown - value) / step
    # the guard, and roundings of numbers up to 1e6 + 10 in units of the step
    slack = 2e-9 + 1e-9 / step
    assert abs(distance) <= (0.5 if mode == ROUND else 1.0) + slack
    downward = mode == FLOOR or (mode == TOWARD_ZERO and value > anchor)
    upward = mode == CEIL or (mode == TOWARD_ZERO and value < anchor)
    assert not (downward and distance > slack)
    assert not (upward and distance < -slack)


@given(
    bits=st.integers(1, 32),
    code=st.floats(0.0, 1.0),
    lower=st.floats(-1e3, 1e3),
    mode=st.sampled_from(MODES),
)
@settings(deadline=None)
def test_codes_of_many_bits_stay_themselves(bits, code, lower, mode):
    step = 2.0 / (2**bits - 1)
    value = lower + step * round(code * (2**bits - 1))
    # the same sum again, whatever its rounding
    assert round_to_code(value, step, lower, mode) == pytest.approx(value, abs=0.0, rel=1e-15)


def test_without_a_step_the_value_passes_bit_by_bit():
    for value in (0.1, -0.0, 1e-320, 12345.678):
        assert math.copysign(1.0, round_to_code(value, 0.0, 0.0, FLOOR)) == math.copysign(
            1.0, value
        )
        assert round_to_code(value, 0.0, 0.0, FLOOR) == value


@pytest.mark.acceptance("COR-5")
@pytest.mark.parametrize("mode", [ROUND, TOWARD_ZERO, FLOOR])
@pytest.mark.parametrize(
    ("bits", "levels"), [(1, [-1.0, 1.0]), (2, [-1.0, -1.0 / 3.0, 1.0 / 3.0, 1.0])]
)
def test_cor_5_a_sine_has_as_many_levels_as_its_bits(bits, levels, mode):
    phases = np.arange(720) * (math.pi / 360)
    step = 2.0 / (2**bits - 1)
    shown = {round_to_code(math.sin(phase), step, -1.0, mode) for phase in phases}
    # a level is one product and one sum, each rounded
    assert sorted(shown) == pytest.approx(levels, abs=2e-16)


@pytest.mark.acceptance("COR-6")
def test_cor_6_a_gauss_markov_step_has_its_share_and_spread():
    kept, spread = corruption.gauss_markov(0.1, 100.0)
    assert kept == pytest.approx(0.99900050, abs=1e-8)
    assert 0.02 * spread == pytest.approx(8.93980e-4, abs=1e-8)


@given(dt=st.floats(1e-9, 1e9), time_constant=st.floats(1e-6, 1e6))
@settings(deadline=None)
def test_gauss_markov_steps_keep_the_long_run_variance(dt, time_constant):
    kept, spread = corruption.gauss_markov(dt, time_constant)
    # a sum of two rounded squares
    assert kept**2 + spread**2 == pytest.approx(1.0, abs=1e-15)


def test_two_gauss_markov_steps_are_one_of_both_times():
    kept_1, spread_1 = corruption.gauss_markov(0.3, 2.0)
    kept_2, spread_2 = corruption.gauss_markov(0.9, 2.0)
    kept, spread = corruption.gauss_markov(1.2, 2.0)
    # a few roundings each
    assert kept == pytest.approx(kept_1 * kept_2, rel=1e-14)
    assert spread**2 == pytest.approx((kept_2 * spread_1) ** 2 + spread_2**2, rel=1e-14)


@pytest.mark.acceptance("COR-9")
def test_cor_9_a_truncated_step_at_the_bound_is_the_quantile_of_what_is_left():
    assert bounded_step(TRUNCATED, 1.0, 0.1, 0.0, -1.0, 1.0) == pytest.approx(0.932551, abs=1e-6)


@given(centred=CENTRED, mean=st.floats(-1.0, 1.0), spread=st.floats(1e-3, 10.0))
@settings(deadline=None)
def test_a_truncated_step_has_the_conditional_law(centred, mean, spread):
    shown = bounded_step(TRUNCATED, mean, spread, centred, -1.0, 1.0)
    low, high = distribution((-1.0 - mean) / spread), distribution((1.0 - mean) / spread)
    share = (distribution((shown - mean) / spread) - low) / (high - low)
    # the quantile is good to 2e-12, so its probability to that times the density's height, over
    # the probability of the interval, which is at least 0.079 here
    assert share == pytest.approx(centred + 0.5, abs=2e-11)


@given(
    mode=st.sampled_from(BOUND_MODES),
    centred=CENTRED,
    mean=st.floats(-10.0, 10.0),
    spread=st.floats(0.0, 1e3),
    lower=st.floats(-5.0, 5.0),
    width=st.floats(0.0, 5.0),
)
@settings(deadline=None, max_examples=1000)
def test_no_step_leaves_the_bounds(mode, centred, mean, spread, lower, width):
    upper = lower + width
    assert lower <= bounded_step(mode, mean, spread, centred, lower, upper) <= upper


@pytest.mark.parametrize("mode", BOUND_MODES)
@given(centred=CENTRED)
@settings(deadline=None)
def test_bounds_out_of_reach_have_no_effect(mode, centred):
    free = 0.3 + 0.1 * quantile(centred)
    assert bounded_step(mode, 0.3, 0.1, centred, -math.inf, math.inf) == free
    if mode != PULL:
        assert bounded_step(mode, 0.3, 0.1, centred, -10.0, 10.0) == free


def test_the_truncated_law_goes_over_into_the_free_one_without_a_jump():
    for reach in (8.5, 8.9999, 9.0001):
        for centred in (-0.4999, -0.1, 0.2, 0.4999):
            bounded = bounded_step(TRUNCATED, 0.0, 1.0, centred, -reach, reach)
            # the part of the law that is cut off is below 1e-16
            assert bounded == pytest.approx(quantile(centred), abs=1e-11)


@given(
    value=st.fractions(-50, 50), lower=st.fractions(-5, 5), width=st.fractions(Fraction(1, 8), 5)
)
@settings(deadline=None)
def test_folding_is_reflection_at_both_limits(value, lower, width):
    expected, upper = value, lower + width
    while not lower <= expected <= upper:
        expected = 2 * (lower if expected < lower else upper) - expected
    shown = corruption.fold(float(value), float(lower), float(upper))
    # roundings of numbers up to 100, multiplied by up to 400 turns of the smallest width
    assert shown == pytest.approx(float(expected), abs=1e-11)


def test_folding_at_one_limit_or_into_no_width():
    assert corruption.fold(3.0, -math.inf, 1.0) == -1.0
    assert corruption.fold(-3.0, -1.0, math.inf) == 1.0
    assert corruption.fold(3.0, 1.0, 1.0) == 1.0
    assert corruption.fold(3.0, 0.0, 5e-324) == 0.0


def test_pull_shrinks_outward_steps_only():
    # the formula of the specification, for a bound of 1 and a state of 0.95
    outward = 1.0 - math.exp(-(1.0 - 0.95) / 0.1)
    # one exponential and a few roundings
    assert corruption.pulled_step(0.95, 0.01, -1.0, 1.0) == pytest.approx(
        0.95 + 0.01 * outward, rel=1e-14
    )
    assert corruption.pulled_step(-0.95, -0.01, -1.0, 1.0) == pytest.approx(
        -0.95 - 0.01 * outward, rel=1e-14
    )
    assert corruption.pulled_step(0.95, -0.01, -1.0, 1.0) == 0.95 - 0.01
    assert corruption.pulled_step(0.5, 5.0, -1.0, 1.0) == 1.0
    # the middle is that of the bounds
    assert corruption.pulled_step(0.5, -0.01, 0.4, 2.4) > 0.49


@njit
def walk(mode, steps, walkers, spread):
    final = np.zeros(walkers)
    furthest = 0.0
    for walker in range(walkers):
        x = 0.0
        for step in range(steps):
            centred, _, _, _ = centred_uniforms(KEY, step, walker)
            x = bounded_step(mode, x, spread, centred, -1.0, 1.0)
            furthest = max(furthest, abs(x))
        final[walker] = x
    return final, furthest


@pytest.mark.acceptance("COR-8")
def test_cor_8_a_truncated_walk_stays_inside_and_fills_its_bounds():
    final, furthest = walk(TRUNCATED, 4000, 4000, 0.05)
    assert furthest <= 1.0
    assert np.std(final) == pytest.approx(0.56, rel=0.04)


@pytest.mark.parametrize(
    ("mode", "spread_of_law"), [(REFLECT, 1.0 / math.sqrt(3.0)), (CLAMP, 1.0 / math.sqrt(3.0))]
)
def test_a_reflected_walk_becomes_uniform_and_a_clamped_one_nearly(mode, spread_of_law):
    final, furthest = walk(mode, 2000, 4000, 0.05)
    assert furthest <= 1.0
    # the spread of 4000 draws of a uniform law scatters by 0.7 %; a clamped walk rests at its
    # limits, which widens its law by about one step of 0.05
    allowed = 0.03 if mode == REFLECT else 0.09
    assert np.std(final) == pytest.approx(spread_of_law, rel=allowed)


def allan_variance(time_constant, averaging_time):
    """Of a Gauss-Markov process of variance 1 that is averaged continuously."""
    x = averaging_time / time_constant
    if x < 1e-3:
        return 2.0 * x / 3.0
    return 2.0 / x * (1.0 - (3.0 - 4.0 * math.exp(-x) + math.exp(-2.0 * x)) / (2.0 * x))


def test_the_allan_deviation_of_flicker_noise_is_level():
    floor = math.sqrt(2.0 * math.log(2.0) / math.pi)
    assert floor == pytest.approx(0.664, abs=5e-4)
    for averaging_time in 10.0 ** np.linspace(-1.0, 3.0, 200):
        variance = sum(
            corruption.flicker_gain(0.0, tau) ** 2 * allan_variance(tau, averaging_time)
            for tau in map(corruption.flicker_time_constant, range(corruption.FLICKER_STATES))
        )
        # the ripple that the module states
        assert math.sqrt(variance) == pytest.approx(floor, rel=0.022)


def sampled_allan_variance(kept, count):
    """Of a sampled Gauss-Markov process of variance 1, averaged over ``count`` samples."""
    lags = np.arange(2 * count)
    # overlaps of a window that is 1 on its first half and -1 on its second with itself, shifted
    overlaps = np.where(lags <= count, 2 * count - 3 * lags, lags - 2 * count)
    return (overlaps[0] + 2.0 * np.sum(overlaps[1:] * kept ** lags[1:])) / (2.0 * count**2)


@pytest.mark.parametrize("rate", [50, 100, 400, 1000])
def test_flicker_noise_is_as_level_when_it_is_sampled_at_any_rate(rate):
    floor = math.sqrt(2.0 * math.log(2.0) / math.pi)
    taus = [corruption.flicker_time_constant(i) for i in range(corruption.FLICKER_STATES)]
    for averaging_time in (0.1, 0.3, 1.0, 3.0, 10.0, 100.0):
        variance = sum(
            corruption.flicker_gain(1.0 / rate, tau) ** 2
            * sampled_allan_variance(math.exp(-1.0 / rate / tau), round(averaging_time * rate))
            for tau in taus
        )
        assert math.sqrt(variance) == pytest.approx(floor, rel=0.022)


def test_flicker_noise_reaches_from_a_millisecond_to_a_day():
    first, last = (corruption.flicker_time_constant(i) for i in (0, corruption.FLICKER_STATES - 1))
    # a power is rounded a few times
    assert (first, last) == pytest.approx((1e-3, 1e5), rel=1e-12)
