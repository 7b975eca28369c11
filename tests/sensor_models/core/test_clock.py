"""Sampling instants, and samples between known states."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensor_models.core.clock import SampleClock, SamplingParameters, Timeline, same_instant
from sensor_models.core.frames import interpolate_joint, interpolate_linear
from sensor_models.core.quantities import ParameterError
from tests import oracles

RATES = st.floats(0.1, 1000.0)
STARTS = st.sampled_from([0.0, 1.0, -3.7, 1234.5, 1.7e9])


def no_interpolation(before, after, duration, fraction):
    raise AssertionError(f"interpolated at {fraction} of {duration} s")


def state(*values):
    return np.array(values, dtype=float)


def run(timeline, instants, motion):
    """Push the motion at all instants; everything that was sampled."""
    return [sample for time in instants for sample in timeline.push(time, motion(time))]


def plain(samples):
    """Samples as plain numbers, which compare bit for bit."""
    return [(index, stamp, values.tolist()) for index, stamp, values in samples]


def circle(time):
    return state(math.sin(time), math.cos(time))


@settings(deadline=None)
@given(
    start=STARTS,
    rate=RATES,
    count=st.integers(0, 30),
    cuts=st.lists(st.floats(0.001, 1.0), max_size=40),
)
def test_samples_do_not_depend_on_how_the_time_is_cut(start, rate, count, cuts):
    end = start + (count + 0.5) / rate
    instants = sorted({start, end, *(start + cut * (end - start) for cut in cuts)})
    clock = SampleClock(start, rate)
    due = [sample for instant in instants for sample in clock.due(instant)]
    assert due == oracles.stamps(start, rate, end)


@settings(deadline=None)
@given(start=st.sampled_from([0.0, 1.0, -3.7, 1234.5]), rate=RATES, parts=st.integers(1, 6))
def test_values_at_coinciding_instants_are_the_same_bits_however_time_is_cut(start, rate, parts):
    # The master adds its steps up; motion is a function of the number of the instant.
    step = 1.0 / (rate * parts)
    instants = itertools.accumulate([step] * (20 * parts), initial=start)
    timeline = Timeline(SampleClock(start, rate), no_interpolation)
    samples = []
    for number, instant in enumerate(instants):
        samples += timeline.push(instant, circle(number / parts))
    assert plain(samples) == [(k, start + k / rate, circle(k).tolist()) for k in range(21)]


@settings(deadline=None)
@given(rate=RATES, steps=st.lists(st.floats(1e-3, 1.0), min_size=1, max_size=20))
def test_samples_lie_on_a_motion_that_the_interpolation_can_follow(rate, steps):
    instants = list(itertools.accumulate(steps, initial=0.0))
    timeline = Timeline(SampleClock(0.0, rate), interpolate_linear)
    for _, stamp, values in run(timeline, instants, lambda time: state(2.0 * time, 3.0 - time)):
        # rounding of numbers up to 40, and 1e-3 of a step where instants coincide by rounding
        assert values == pytest.approx([2.0 * stamp, 3.0 - stamp], abs=1e-9)


def test_all_samples_of_a_step_come_in_order_and_none_is_extrapolated():
    clock = SampleClock(2.0, 10.0)
    assert clock.due(2.0) == [(0, 2.0)]
    assert clock.due(2.05) == []
    assert clock.due(2.35) == [(1, 2.1), (2, 2.2), (3, 2.0 + 3 / 10.0)]
    assert clock.due(2.39) == []


def test_a_sample_between_two_states_is_interpolated_at_its_instant():
    timeline = Timeline(SampleClock(0.0, 4.0), interpolate_joint)
    timeline.push(0.0, circle(0.0))
    (first, second) = timeline.push(0.6, circle(0.6))
    assert (first[:2], second[:2]) == ((1, 0.25), (2, 0.5))
    expected = interpolate_joint(circle(0.0), circle(0.6), 0.6, 0.5 / 0.6)
    assert second[2].tolist() == expected.tolist()


def test_steps_that_are_added_up_meet_their_samples_in_a_long_run():
    # Such a sum is a microsecond off in the end, more than what is allowed to any single step.
    timeline = Timeline(SampleClock(0.0, 10.0), no_interpolation)
    values = state(0.0)
    instants = itertools.accumulate(itertools.repeat(0.1, 1_000_000), initial=0.0)
    assert all(len(timeline.push(instant, values)) == 1 for instant in instants)


def test_steps_in_whole_nanoseconds_meet_their_samples():
    timeline = Timeline(SampleClock(0.0, 30.0), no_interpolation)
    instants = [k * 33_333_333 * 1e-9 for k in range(60)]
    samples = run(timeline, instants, circle)
    assert [stamp for _, stamp, _ in samples] == [k / 30.0 for k in range(60)]


def test_steps_meet_their_samples_when_time_counts_from_an_epoch():
    # Such a number of seconds is rounded to a quarter of a microsecond.
    start = 1.7e9
    timeline = Timeline(SampleClock(start, 1e5), no_interpolation)
    instants = [math.nextafter(start + k * 1e-5, 0.0) for k in range(1000)]
    assert all(len(timeline.push(instant, state(0.0))) == 1 for instant in instants)


def test_a_state_a_hundredth_of_a_step_away_is_not_taken_for_that_of_the_sample():
    timeline = Timeline(SampleClock(0.0, 10.0), interpolate_linear)
    timeline.push(0.0, state(0.0))
    assert timeline.push(0.099, state(0.099)) == []
    ((_, stamp, values),) = timeline.push(0.2, state(0.2))[:1]
    # one rounding of each operation
    assert (stamp, values[0]) == (0.1, pytest.approx(0.1, abs=1e-15))


def test_not_even_after_any_number_of_steps():
    clock = SampleClock(0.0, 10.0)
    clock.state = np.array([0.0, 100.0, 1001.0, 1e12])
    assert clock.due(100.099) == []
    assert clock.due(100.1) == [(1001, 100.1)]


def test_nor_is_one_taken_that_lies_after_the_end_of_a_step_of_many_samples():
    clock = SampleClock(0.0, 1e4)
    clock.due(0.0)
    # a twentieth of a period, but less than a millionth of the step, before the last sample
    assert clock.due(9.999995)[-1] == (99_999, 9.9999)


def test_fmi_rule_gives_one_sample_for_each_step():
    timeline = Timeline(SampleClock(0.0, 0.0), no_interpolation)
    timeline.push(0.0, circle(0.0))  # initialisation
    samples = run(timeline, [0.1 * n for n in range(5)], circle)
    assert plain(samples) == [(n, 0.1 * n, circle(0.1 * n).tolist()) for n in range(5)]


def test_inputs_at_step_end_give_one_sample_more_than_steps():
    timeline = Timeline(SampleClock(0.0, 0.0), no_interpolation)
    samples = run(timeline, [0.1 * n for n in range(6)], circle)
    assert plain(samples) == [(n, 0.1 * n, circle(0.1 * n).tolist()) for n in range(6)]


def test_with_one_sample_per_state_the_state_itself_is_handed_on():
    timeline = Timeline(SampleClock(0.0, 0.0), no_interpolation)
    for time in (0.0, 1e-9, 0.5):
        values = state(time)
        ((_, stamp, sampled),) = timeline.push(time, values)
        assert stamp == time
        assert sampled is values


@pytest.mark.parametrize("rate", [0.0, 2.0])
@pytest.mark.parametrize("start", [0.0, 0.1])
def test_a_second_state_at_the_start_replaces_the_first(rate, start):
    timeline = Timeline(SampleClock(start, rate), interpolate_linear)
    first, second, third = state(5.0), state(7.0), state(9.0)
    for values in (first, second, third):
        ((index, stamp, sampled),) = timeline.push(start, values)
        assert (index, stamp) == (0, start)
        assert sampled is values


def test_a_jump_at_the_start_is_no_motion():
    timeline = Timeline(SampleClock(0.0, 2.0), interpolate_linear)
    timeline.push(0.0, state(100.0))
    timeline.push(0.0, state(1.0))
    assert plain(timeline.push(1.0, state(3.0))) == [(1, 0.5, [2.0]), (2, 1.0, [3.0])]


@pytest.mark.parametrize("rate", [0.0, 2.0])
def test_a_second_state_later_on_replaces_what_is_known_but_no_sample(rate):
    timeline = Timeline(SampleClock(0.0, rate), interpolate_linear)
    timeline.push(0.0, state(0.0))
    assert len(timeline.push(0.5, state(1.0))) == 1
    assert timeline.push(0.5, state(10.0)) == []
    assert timeline.state["values"].tolist() == [10.0]
    assert [index for index, _, _ in timeline.push(1.0, state(12.0))] == [2]


def test_an_instant_a_rounding_earlier_is_the_same_instant():
    clock = SampleClock(0.0, 0.0)
    later = math.nextafter(0.3, 1.0)
    assert same_instant(0.3, later)
    assert not same_instant(0.0, 5e-324)
    assert not same_instant(0.3, 0.3 + 1e-9)
    clock.due(0.0)
    clock.due(later)
    assert clock.due(0.3) == []


def test_rewinding_goes_back_to_sample_zero():
    clock = SampleClock(1.0, 10.0)
    assert clock.due(1.0) + clock.due(1.1) == [(0, 1.0), (1, 1.1)]
    clock.rewind()
    assert clock.due(1.0) == [(0, 1.0)]


@pytest.mark.parametrize(
    ("time", "message"),
    [
        (0.25, r"time = 0\.25 s lies before the latest known state at 0\.5 s"),
        (math.nan, "time = nan s is not a finite number"),
        (math.inf, "time = inf s is not a finite number"),
        (-math.inf, "time = -inf s is not a finite number"),
    ],
)
def test_time_that_does_not_go_on_is_refused_and_changes_nothing(time, message):
    timeline = Timeline(SampleClock(0.0, 3.0), interpolate_linear)
    run(timeline, [0.0, 0.5], circle)
    before = timeline.state
    with pytest.raises(ParameterError, match=message):
        timeline.push(time, circle(time if math.isfinite(time) else 0.0))
    after = timeline.state
    assert before.keys() == after.keys()
    assert all(np.array_equal(before[name], after[name]) for name in before)
    assert [index for index, _, _ in timeline.push(0.7, circle(0.7))] == [2]


@pytest.mark.parametrize("time", [-1.0, 0.5])
def test_sampling_cannot_begin_with_a_state_other_than_that_of_the_start(time):
    clock = SampleClock(0.0, 10.0)
    with pytest.raises(ParameterError, match=rf"{time} s, but sampling starts at 0\.0 s"):
        clock.due(time)
    assert clock.due(0.0) == [(0, 0.0)]


@pytest.mark.parametrize("rate", [1e-2, 1.0, 100.0])
def test_instants_coarser_than_the_sampling_period_are_refused_and_nothing_is_sampled(rate):
    start = 1.7e18 if rate >= 1.0 else 1.7e20  # 256 s and 16384 s apart
    timeline = Timeline(SampleClock(start, rate), no_interpolation)
    before = timeline.state
    with pytest.raises(ParameterError, match=r"too far from 0 for .* Hz: numbers of this size are"):
        timeline.push(start, state(1.0))
    assert {n: a.tolist() for n, a in timeline.state.items()} == {
        n: a.tolist() for n, a in before.items()
    }


class HastyClock(SampleClock):
    """Says at the start that a later sample is due as well, as one did by rounding."""

    def advance(self, known_time):
        return [*super().advance(known_time), 1]


def test_nothing_is_interpolated_before_two_states_are_known():
    timeline = Timeline(HastyClock(0.0, 1.0), no_interpolation)
    assert plain(timeline.push(0.0, state(3.0))) == [(0, 0.0, [3.0]), (1, 1.0, [3.0])]


@pytest.mark.parametrize("rate", [1e5, 1e6])
def test_unix_seconds_have_one_sample_at_the_start_and_all_later_ones_in_order(rate):
    start = 1.7e9
    timeline = Timeline(SampleClock(start, rate), interpolate_linear)
    assert [index for index, _, _ in timeline.push(start, state(0.0))] == [0]
    samples = timeline.push(start + 1000.4 / rate, state(1000.4))
    assert [index for index, _, _ in samples] == list(range(1, 1001))
    for index, _, values in samples:
        # stamps are rounded to 2.4e-7 s
        assert values[0] == pytest.approx(index, abs=2.5e-7 * rate)


def test_a_step_of_too_many_frames_is_refused():
    timeline = Timeline(SampleClock(0.0, 100.0), interpolate_linear)
    timeline.push(0.0, state(0.0))
    with pytest.raises(ParameterError, match=r"more than 100000 .* allowed is at most 1000 s in a"):
        timeline.push(1e9, state(1.0))
    assert [index for index, _, _ in timeline.push(0.01, state(1.0))] == [1]


def test_states_of_different_length_cannot_follow_one_another():
    timeline = Timeline(SampleClock(0.0, 10.0), interpolate_linear)
    timeline.push(0.0, state(1.0, 2.0))
    with pytest.raises(ParameterError, match=r"shape \(3,\) cannot follow one of shape \(2,\)"):
        timeline.push(0.1, state(1.0, 2.0, 3.0))


@settings(deadline=None)
@given(
    rate=st.sampled_from([0.0, 7.0]),
    steps=st.lists(st.floats(0.01, 1.0), min_size=1, max_size=10),
    data=st.data(),
)
def test_a_restored_timeline_goes_on_bit_for_bit(rate, steps, data):
    instants = [0.0, *itertools.accumulate(steps, initial=0.0)]
    saved_after = data.draw(st.integers(0, len(instants)))
    timeline = Timeline(SampleClock(0.0, rate), interpolate_joint)
    run(timeline, instants[:saved_after], circle)
    saved = timeline.state
    expected = run(timeline, instants[saved_after:], circle)
    restored = Timeline(SampleClock(99.0, rate), interpolate_joint)
    restored.state = saved
    assert plain(run(restored, instants[saved_after:], circle)) == plain(expected)
    timeline.state = saved
    assert plain(run(timeline, instants[saved_after:], circle)) == plain(expected)


def test_a_saved_state_is_float64_and_shares_nothing():
    timeline = Timeline(SampleClock(0.0, 0.0), no_interpolation)
    values = state(1.0, 2.0)
    timeline.push(0.0, values)
    saved = timeline.state
    assert {array.dtype for array in saved.values()} == {np.dtype(np.float64)}
    assert not np.shares_memory(saved["values"], values)
    saved["clock"][:] = math.nan
    assert timeline.push(1.0, values)[0][0] == 1


@pytest.mark.parametrize(
    "saved",
    [
        [0.0, 1.0, 2.0],
        [math.nan, 1.0, 2.0, 2.0],
        [0.0, math.nan, 2.0, 2.0],
        [0.0, math.inf, 2.0, 2.0],
        [0.0, 1.0, 2.5, 2.0],
        [0.0, 1.0, math.inf, 2.0],
        [0.0, 1.0, -1.0, 2.0],
        [0.0, 1.0, 0.0, 0.0],
        [0.0, -math.inf, 1.0, 1.0],
    ],
)
def test_what_is_no_state_of_a_clock_is_refused(saved):
    clock = SampleClock(0.0, 10.0)
    clock.due(0.0)
    with pytest.raises(ParameterError, match="state of a clock"):
        clock.state = np.array(saved)
    assert clock.state.tolist() == [0.0, 0.0, 1.0, 1.0]


def test_sampling_parameters_are_checked():
    assert SamplingParameters() == SamplingParameters(0.0, False, 0)
    for rate in (-1.0, 1.1e6, math.nan, math.inf):
        with pytest.raises(ParameterError, match=r"sample_rate = .* 0 to 1e\+06 Hz"):
            SamplingParameters(sample_rate=rate)


@pytest.mark.parametrize(("start", "rate"), [(math.nan, 1.0), (0.0, -1.0), (0.0, math.nan)])
def test_a_clock_needs_a_finite_start_and_rate(start, rate):
    with pytest.raises(ParameterError, match="finite"):
        SampleClock(start, rate)
