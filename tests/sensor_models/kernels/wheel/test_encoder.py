"""Binning, wrapping, codes and channels of the encoder against their closed forms."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensor_models.kernels.wheel import encoder


def pack(lower, upper, resolution=0.0, *, incremental=True, whole_turn=False):
    """Parameters of a noiseless encoder whose lower limit is a code."""
    packed = np.zeros(encoder.PARAMETERS_SIZE)
    packed[encoder.LOWER], packed[encoder.UPPER] = lower, upper
    packed[encoder.RESOLUTION] = resolution
    packed[encoder.TIMEOUT] = 0.1
    packed[encoder.INCREMENTAL], packed[encoder.WHOLE_TURN] = incremental, whole_turn
    packed[encoder.TOP] = upper
    if resolution > 0.0:
        codes = (upper - lower) / resolution
        packed[encoder.TURN_CODES] = round(codes) if whole_turn else codes
        packed[encoder.FIRST_CODE] = round(lower / resolution)
        packed[encoder.TOP] = upper - resolution if incremental else upper
    return packed


def state_at(position, turns=0.0, start_code=0.0):
    state = np.zeros(encoder.STATE_SIZE)
    state[encoder.STAGE] = encoder.RUNNING
    state[encoder.POSITION], state[encoder.TURNS] = position, turns
    state[encoder.START_CODE] = start_code
    return state


@pytest.mark.acceptance("ENC-1")
@pytest.mark.parametrize(
    ("value", "resolution", "expected"), [(0.3, 0.1, 0.3), (-0.05, 0.1, -0.1), (1.2345, 0.01, 1.23)]
)
def test_enc_1_binning_rounds_down_to_a_code(value, resolution, expected):
    # the tolerance of the acceptance row: a code is a product rounded once
    assert encoder.bin_down(value, resolution) == pytest.approx(expected, abs=1e-12)


@pytest.mark.acceptance("ENC-2")
@pytest.mark.parametrize(
    ("value", "expected"),
    [(-0.1, 6.183185), (7.0, 0.716815), (math.tau, 0.0), (20.0, 1.150444), (-1e-18, 0.0)],
)
def test_enc_2_a_turn_from_zero_wraps(value, expected):
    # six decimals are printed in the acceptance row
    assert encoder.wrap(value, 0.0, math.tau) == pytest.approx(expected, abs=1e-6)
    assert encoder.measure(pack(0.0, math.tau), value) == pytest.approx(expected, abs=1e-6)


@pytest.mark.acceptance("ENC-3")
@pytest.mark.parametrize(("value", "expected"), [(4.0, -2.283185), (math.pi, -math.pi)])
def test_enc_3_a_turn_about_zero_wraps(value, expected):
    # six decimals are printed in the acceptance row
    assert encoder.wrap(value, -math.pi, math.pi) == pytest.approx(expected, abs=1e-6)


@pytest.mark.acceptance("ENC-4")
@pytest.mark.parametrize(("value", "expected"), [(7.0, math.tau), (-1.0, 0.0)])
def test_enc_4_an_absolute_encoder_stops_at_its_limits(value, expected):
    assert encoder.measure(pack(0.0, math.tau, incremental=False), value) == expected


@pytest.mark.acceptance("ENC-7")
def test_enc_7_binning_error_has_the_mean_and_spread_of_a_uniform_law():
    positions = np.random.default_rng(7).uniform(0.0, 6.2, 1_000_000)
    parameters = pack(0.0, 1e3, 0.1, incremental=False)
    errors = [encoder.measure(parameters, position) - position for position in positions]
    # 1 % is the row's tolerance; the standard error of the mean is 2.9e-5, 0.06 % of 0.05, and
    # that of the spread 0.05 %, so the row holds with a margin of more than ten of them
    assert np.mean(errors) == pytest.approx(-0.0500, rel=0.01)
    assert np.std(errors) == pytest.approx(0.028868, rel=0.01)


@given(value=st.floats(-1e6, 1e6), resolution=st.floats(1e-6, 10.0))
@settings(deadline=None)
def test_binning_never_rounds_up_by_more_than_its_guard(value, resolution):
    code = encoder.code_below(value, resolution)
    quotient = value / resolution
    assert code == math.floor(code)
    # 1e-9 of a code is the guard, the rest two roundings of a quotient of up to 1e12 codes
    slack = 2e-9 + 4e-16 * abs(quotient)
    assert -slack <= quotient - code < 1.0 + slack


@given(value=st.floats(-1e9, 1e9), lower=st.floats(-100.0, 100.0), span=st.floats(1e-3, 100.0))
@settings(deadline=None)
def test_a_wrapped_value_lies_in_its_turn_and_differs_by_whole_turns(value, lower, span):
    upper = lower + span
    wrapped = encoder.wrap(value, lower, upper)
    assert lower <= wrapped < upper
    turns = (value - wrapped) / (upper - lower)
    # an ulp of the value, and of the quotient, spread over one turn
    assert abs(turns - round(turns)) <= 4e-16 * (abs(value) + 200.0) / (upper - lower) * 4 + 1e-12


def test_every_turn_has_the_same_codes_bit_by_bit():
    for steps in (7, 360, 1000, 4096):
        resolution = math.tau / steps
        parameters = pack(0.0, math.tau, resolution, whole_turn=True)
        first = [encoder.measure(parameters, (k + 0.5) * resolution) for k in range(steps)]
        assert first == [resolution * k for k in range(steps)]
        for turn in (-1000, -1, 1, 1000):
            turned = [
                encoder.measure(parameters, (k + 0.5 + turn * steps) * resolution)
                for k in range(steps)
            ]
            assert turned == first


def test_code_arithmetic_equals_the_wrapped_value_of_the_specification():
    resolution = math.tau / 360
    whole = pack(-math.pi, math.pi, resolution, whole_turn=True)
    general = pack(-math.pi, math.pi, resolution, whole_turn=False)
    positions = np.random.default_rng(1).uniform(-50.0, 50.0, 20_000)
    for position in positions:
        difference = encoder.measure(whole, position) - encoder.measure(general, position)
        # apart from rounding they may only be on the two sides of the wrap
        assert min(abs(difference), abs(abs(difference) - math.tau)) <= 1e-13


def test_no_position_however_far_leaves_the_limits():
    resolution = math.tau / 360
    parameters = pack(0.0, math.tau, resolution, whole_turn=True)
    far = 10.0 ** np.random.default_rng(6).uniform(10.0, 300.0, 2000)
    for position in (5e-324, -5e-324, *far, *-far):
        assert 0.0 <= encoder.measure(parameters, position) < math.tau


def test_channel_a_leads_channel_b_when_going_forward():
    parameters = pack(0.0, 100.0, 1.0, whole_turn=True)
    shown = [encoder.read_channels(parameters, state_at(float(code))) for code in range(5)]
    assert shown == [(False, False), (True, False), (True, True), (False, True), (False, False)]


def test_channels_of_negative_positions_continue_the_same_cycle():
    parameters = pack(-100.0, 100.0, 1.0, whole_turn=True)
    for code in range(-8, 0):
        negative = encoder.read_channels(parameters, state_at(float(code)))
        assert negative == encoder.read_channels(parameters, state_at(float(code + 8)))


def test_channels_are_off_without_resolution_and_before_the_first_sample():
    assert encoder.read_channels(pack(0.0, 1.0), state_at(0.3)) == (False, False)
    fresh = np.zeros(encoder.STATE_SIZE)
    fresh[encoder.POSITION] = 1.0
    assert encoder.read_channels(pack(0.0, 4.0, 1.0), fresh) == (False, False)


@pytest.mark.parametrize(
    ("codes", "count"),
    [
        (0, 0),
        (-1, -1),
        (2**31 - 1, 2**31 - 1),
        (2**31, -(2**31)),
        (-(2**31), -(2**31)),
        (-(2**31) - 1, 2**31 - 1),
        (2**32 + 5, 5),
    ],
)
def test_the_edge_counter_wraps_at_32_bits(codes, count):
    parameters = pack(-1e12, 1e12, 1.0, incremental=False)
    assert encoder.count_edges(parameters, state_at(float(codes))) == count


def test_the_edge_counter_is_zero_where_codes_cannot_be_counted():
    parameters = pack(0.0, 1.0, 1e-3)
    for position in (1e14, 1e308, -1e308):
        assert encoder.count_edges(parameters, state_at(position)) == 0


def test_whole_turns_count_as_their_codes_even_if_they_are_no_whole_number():
    parameters = pack(0.0, 1.03, 0.1)
    # 8 codes of 0.1 on are 0.8, or 0.8 - 1.03 + 1.03 after one turn
    assert encoder.count_edges(parameters, state_at(0.8)) == 8
    assert encoder.count_edges(parameters, state_at(1.1 - 1.03, turns=1.0)) == 11
