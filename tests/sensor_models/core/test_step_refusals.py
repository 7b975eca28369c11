"""Compiled steps of scalar sensors: bounds, and steps that are refused."""

import math
import tracemalloc

import pytest

from sensor_models.core.clock import SampleClock, SamplingParameters
from sensor_models.core.faults import FaultMode
from sensor_models.core.quantities import ParameterError
from sensor_models.core.step import Step
from sensor_models.kernels.math import stepping
from tests.sensor_models.steps import (
    AT_END,
    HUGE,
    accelerometer,
    bytes_of,
    encoder,
    every,
    gyroscope,
    imu,
    nothing,
    odometer,
    outputs,
    put,
    started,
)

# ---- bounds --------------------------------------------------------------------------------------


@every
def test_times_coarser_than_the_sampling_period_are_refused(plan):
    # nanoseconds since 1970, taken for seconds
    step = Step(plan(), SamplingParameters(), start=1.7e18)
    before = bytes_of(step.state())
    with pytest.raises(ParameterError, match=r"numbers of this size are 256 s apart, .* 0\.01 s"):
        step.observe(1.7e18)
    assert bytes_of(step.state()) == before


@every
def test_unix_seconds_at_a_megahertz_have_one_sample_at_the_start(plan):
    start = 1_700_000_000.0
    step = started(plan(1e6), start)
    assert step.get("sample.count") == 1
    step.advance(start, 1e-3)
    step.advance(start + 1e-3, 1e-3)
    # the known instant is rounded to a quarter of a sampling period
    assert step.get("sample.count") == 1001


@every
@pytest.mark.parametrize("duration", [1e9, 1e300])
def test_a_step_of_too_many_samples_is_refused_and_changes_nothing(plan, duration):
    step = started(plan(), sampling=AT_END)
    step.advance(0.0, 0.05)
    before, shown = bytes_of(step.state()), outputs(step)
    with pytest.raises(ParameterError, match=r"more than 10000000 samples|apart"):
        step.advance(0.05, duration)
    assert (bytes_of(step.state()), outputs(step)) == (before, shown)
    step.advance(0.05, 0.05)
    assert step.get("sample.count") == 11


def test_a_clock_of_frames_has_a_bound_too():
    clock = SampleClock(0.0, 100.0)
    clock.due(0.0)
    for time, message in [(1e9, "more than 100000 samples"), (1e300, "apart")]:
        with pytest.raises(ParameterError, match=message):
            clock.due(time)
    assert clock.due(0.01) == [(1, 0.01)]


def test_many_samples_in_a_step_need_no_memory_when_nothing_is_recorded():
    step = started(encoder(1e6), sampling=AT_END)
    put(step, (1.0, 1.0))
    tracemalloc.start()
    try:
        step.advance(0.0, 1.0)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert step.get("sample.count") == 1_000_001
    assert most < 100_000  # bytes; a number for each sample would be 8 million


class Last:
    """A record that keeps the newest sample alone."""

    def __init__(self):
        self.index, self.count = -1, 0

    def append(self, index, time, values):
        assert index == self.index + 1
        self.index, self.count = index, self.count + 1

    def rewind(self, next_index):
        raise AssertionError(f"taken back to {next_index}")


def test_a_step_hands_its_samples_on_without_keeping_them():
    sink = Last()
    step = Step(encoder(1e4), AT_END, sink=sink)
    put(step, (0.0, 1.0))
    step.observe(0.0)
    put(step, (2.0, 1.0))
    tracemalloc.start()
    try:
        step.advance(0.0, 2.0)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    step.flush()
    assert sink.count == step.get("sample.count") == 20_001
    # A ring of 1024 samples as lists; all of them would be more than 6 million bytes.
    assert most < 1_000_000


# ---- steps that are refused ----------------------------------------------------------------------

REFUSED = {
    "accelerometer": (accelerometer, {"body.velocity.x": HUGE}, "is not finite"),
    "imu": (imu, {"body.velocity.x": HUGE}, "is not finite"),
    "odometer": (
        lambda: odometer(wheel_radius=100.0),
        {"joint.position": HUGE},
        "is not finite",
    ),
    "nan": (imu, {"body.angular_velocity.y": math.nan}, "angular_velocity.y = nan is not"),
    "inf": (encoder, {"joint.velocity": math.inf}, "joint.velocity = inf is not a finite"),
    "turn": (gyroscope, {"body.orientation.w": 1e-7}, "has no direction"),
    "fault": (gyroscope, {"fault.x.mode": FaultMode.max}, "fault.mode of angular_rate.x .* limits"),
    "wave": (encoder, {"fault.wave": 1, "fault.period": 0.0}, "fault.period of position = 0 s"),
    "number": (encoder, {"fault.mode": 9}, "fault.mode = 9"),
    "warmth": (imu, {"temperature": math.nan}, "temperature = nan is not a finite"),
}


@pytest.mark.parametrize(("plan", "bad", "message"), REFUSED.values(), ids=REFUSED)
def test_a_refused_step_keeps_the_state_and_the_next_good_one_goes_on(plan, bad, message):
    step, twin = (started(plan(), warn=nothing) for _ in range(2))
    names = [*step._plan.truth, *(name for name, _ in step._plan.held())]
    kinds = dict(step._plan.held())
    for number in range(3):
        step.advance(number * 0.02, 0.02)
        twin.advance(number * 0.02, 0.02)
    good = {
        n: step._storage.arrays[kinds.get(n, stepping.REAL)][step._storage.places[n]] for n in names
    }
    before, shown = bytes_of(step.state()), outputs(step)
    for name, value in bad.items():
        step.set(name, value)
    with pytest.raises(ParameterError, match=message):
        step.advance(0.06, 0.02)
    assert (bytes_of(step.state()), outputs(step)) == (before, shown)
    for name in bad:
        step.set(name, good[name])
    for number in range(3, 6):
        step.advance(number * 0.02, 0.02)
        twin.advance(number * 0.02, 0.02)
        assert bytes_of(step.state()) == bytes_of(twin.state())
        assert outputs(step) == outputs(twin)


@pytest.mark.parametrize(
    ("time", "duration"),
    [(0.1, 0.0), (0.1, -1.0), (0.1, math.nan), (math.nan, 0.1), (0.1, math.inf), (0.05, 0.1)],
)
def test_a_step_that_is_none_is_refused(time, duration):
    step = started(imu())
    step.advance(0.0, 0.1)
    before = bytes_of(step.state())
    with pytest.raises(ParameterError, match=r"is not allowed|lies before the end"):
        step.advance(time, duration)
    assert bytes_of(step.state()) == before
    step.advance(0.1, 0.1)
    assert step.time == pytest.approx(0.2)
