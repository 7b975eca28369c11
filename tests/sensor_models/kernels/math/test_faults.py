"""Waveforms and stuck readings against their closed forms."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensor_models.kernels.math import faults


def new_slot():
    return np.zeros(faults.SLOT_SIZE)


def make_fault(mode=faults.MODE_NONE, value=0.0, wave=faults.WAVE_NONE, amplitude=0.0):
    return np.array([mode, value, wave, amplitude, 1.0, 0.0])


@pytest.mark.acceptance("COR-11")
@pytest.mark.parametrize(
    ("kind", "instants", "expected"),
    [
        (faults.WAVE_SQUARE, (0.0, 0.2, 0.25), (2.0, 2.0, -2.0)),
        (faults.WAVE_TRIANGLE, (0.0, 0.25, 0.5, 0.75), (0.0, 2.0, 0.0, -2.0)),
        (faults.WAVE_RAMP, (0.0, 0.25, 0.5), (-2.0, -1.0, 0.0)),
    ],
)
def test_cor_11_waveforms_have_the_values_of_the_specification(kind, instants, expected):
    shown = [faults.waveform(kind, t, 2.0, 1.0, 0.25, 0.0) for t in instants]
    # all phases and values are exact in binary
    assert shown == list(expected)


@pytest.mark.parametrize("kind", [faults.WAVE_SQUARE, faults.WAVE_TRIANGLE, faults.WAVE_RAMP])
@given(
    time=st.floats(-1e3, 1e3),
    amplitude=st.floats(-1e3, 1e3),
    period=st.floats(1e-3, 1e3),
    duty=st.floats(0.0, 1.0),
    offset=st.floats(-1e3, 1e3),
)
@settings(deadline=None)
def test_no_waveform_leaves_the_band_of_its_amplitude(kind, time, amplitude, period, duty, offset):
    shown = faults.waveform(kind, time, amplitude, period, duty, offset)
    # one rounding of a sum of numbers up to 1e3
    assert abs(shown - offset) <= abs(amplitude) + 1e-12


@given(x=st.floats(-1e6, 1e6))
@settings(deadline=None)
def test_fraction_is_what_is_left_of_a_number_in_zero_to_one(x):
    fraction = faults.fraction(x)
    assert 0.0 <= fraction < 1.0
    # x - floor(x) is rounded once; next to 1 it may be 0 instead
    assert min(abs(fraction - x % 1.0), abs(fraction - x % 1.0 + 1.0)) <= 1e-15


def test_fraction_of_a_tiny_negative_number_is_the_start_of_a_period():
    assert faults.fraction(-1e-18) == 0.0


def test_waveforms_repeat_with_their_period_before_and_after_their_start():
    for kind in (faults.WAVE_SQUARE, faults.WAVE_TRIANGLE, faults.WAVE_RAMP):
        once = [faults.waveform(kind, t / 16, 3.0, 2.0, 0.5, 1.0) for t in range(32)]
        later = [faults.waveform(kind, t / 16 + 8.0, 3.0, 2.0, 0.5, 1.0) for t in range(32)]
        before = [faults.waveform(kind, t / 16 - 8.0, 3.0, 2.0, 0.5, 1.0) for t in range(32)]
        assert once == later == before


def test_the_mean_of_a_whole_period_is_the_offset():
    phases = (np.arange(1000) + 0.5) / 1000
    for kind in (faults.WAVE_SQUARE, faults.WAVE_TRIANGLE, faults.WAVE_RAMP):
        shown = [faults.waveform(kind, phase, 2.0, 1.0, 0.5, 0.75) for phase in phases]
        # midpoints are symmetric about the mean, only rounding is left
        assert math.fsum(shown) / 1000 == pytest.approx(0.75, abs=1e-12)


def test_duty_is_the_share_of_a_square_wave_spent_up():
    phases = np.arange(1000) / 1000
    for duty in (0.0, 0.3, 1.0):
        shown = [faults.waveform(faults.WAVE_SQUARE, p, 1.0, 1.0, duty, 0.0) for p in phases]
        assert shown.count(1.0) == round(1000 * duty)


def test_no_wave_adds_nothing_whatever_its_period():
    assert faults.waveform(faults.WAVE_NONE, 0.3, 2.0, 0.0, 0.5, 1.0) == 0.0


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (faults.MODE_NONE, 1.25),
        (faults.MODE_OFF, 0.0),
        (faults.MODE_ON, 9.0),
        (faults.MODE_PRESENT, 1.25),
        (faults.MODE_SET, 4.5),
        (faults.MODE_MAX, 9.0),
        (faults.MODE_MIN, -7.0),
    ],
)
def test_each_mode_reports_its_value(mode, expected):
    fault = make_fault(mode, value=4.5)
    assert faults.apply(fault, new_slot(), 1.25, 0.0, -7.0, 9.0) == expected


def test_a_wave_is_added_to_the_reading_and_a_stuck_mode_overrides_it():
    live = make_fault(wave=faults.WAVE_SQUARE, amplitude=2.0)
    stuck = make_fault(faults.MODE_SET, 4.5, faults.WAVE_SQUARE, 2.0)
    assert faults.apply(live, new_slot(), 1.0, 0.25, 0.0, 0.0) == 3.0
    assert faults.apply(live, new_slot(), 1.0, 0.75, 0.0, 0.0) == -1.0
    assert faults.apply(stuck, new_slot(), 1.0, 0.25, 0.0, 0.0) == 4.5


def test_a_square_wave_of_a_sensor_starts_at_time_zero_and_is_up_for_half_of_its_period():
    fault = make_fault(wave=faults.WAVE_SQUARE, amplitude=1.0)
    instants = (np.arange(-100, 100) + 0.5) / 100
    shown = [faults.apply(fault, new_slot(), 0.0, t, 0.0, 0.0) for t in instants]
    assert shown == [1.0 if t % 1.0 < 0.5 else -1.0 for t in instants]


@pytest.mark.acceptance("COR-12")
def test_cor_12_present_holds_the_reading_of_its_activation_until_it_is_cleared():
    slot = new_slot()
    instants = np.arange(0.0, 8.0, 0.5)
    shown = [
        faults.apply(
            make_fault(faults.MODE_PRESENT if 3.0 <= t < 5.0 else faults.MODE_NONE),
            slot,
            10.0 * t,
            t,
            -1.0,
            1.0,
        )
        for t in instants
    ]
    assert shown == [30.0 if 3.0 <= t < 5.0 else 10.0 * t for t in instants]
    # the limits are as they were
    assert faults.apply(make_fault(faults.MODE_MAX), slot, 80.0, 8.0, -1.0, 1.0) == 1.0
    assert faults.apply(make_fault(faults.MODE_MIN), slot, 80.0, 8.0, -1.0, 1.0) == -1.0


def test_present_holds_anew_after_another_mode_and_leaves_no_trace_when_cleared():
    slot = new_slot()
    present, off = make_fault(faults.MODE_PRESENT), make_fault(faults.MODE_OFF)
    assert faults.apply(present, slot, 1.0, 0.0, 0.0, 0.0) == 1.0
    assert faults.apply(off, slot, 2.0, 1.0, 0.0, 0.0) == 0.0
    assert faults.apply(present, slot, 3.0, 2.0, 0.0, 0.0) == 3.0
    assert faults.apply(present, slot, 4.0, 3.0, 0.0, 0.0) == 3.0
    faults.apply(make_fault(), slot, 5.0, 4.0, 0.0, 0.0)
    assert slot.tolist() == new_slot().tolist()


def test_present_holds_the_wave_as_it_was_shown():
    slot = new_slot()
    fault = make_fault(faults.MODE_PRESENT, wave=faults.WAVE_SQUARE, amplitude=2.0)
    assert faults.apply(fault, slot, 1.0, 0.0, 0.0, 0.0) == 3.0
    assert faults.apply(fault, slot, 1.0, 0.75, 0.0, 0.0) == 3.0
