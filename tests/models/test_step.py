"""Compiled steps of scalar sensors: against the models called one by one, bounds, refusals."""

import ctypes
import dataclasses
import itertools
import math
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensor_models.core.clock import SampleClock, SamplingParameters, Timeline
from sensor_models.core.faults import FaultMode
from sensor_models.core.frames import MountParameters
from sensor_models.core.quantities import ParameterError
from sensor_models.core.random import stream_key
from sensor_models.core.step import NO_MOTION, NO_ORIENTATION, RING_ROWS, Step, StepError
from sensor_models.inertial.accelerometer import Accelerometer, AccelerometerParameters
from sensor_models.inertial.corruption import DriftType
from sensor_models.inertial.gyroscope import Gyroscope, GyroscopeParameters
from sensor_models.inertial.imu import Imu, ImuParameters, Subsensors
from sensor_models.inertial.magnetometer import MagnetometerParameters
from sensor_models.inertial.unit import AccelerationInputs
from sensor_models.kernels.math import stepping
from sensor_models.kernels.math.motion import interpolate_body, interpolate_joint
from sensor_models.wheel.encoder import Encoder, EncoderParameters
from sensor_models.wheel.odometer import Odometer, OdometerParameters

KEY = stream_key(5, "step", "noise")
NOISY = {
    "noise_rms": (0.1, 0.2, 0.3),
    "noise_density": (0.01, 0.02, 0.03),
    "drift_type": DriftType.gauss_markov,
    "drift_std": (0.1, 0.1, 0.1),
    "instability": (0.01, 0.02, 0.03),
    "delay": 0.004,
    "jitter": 0.001,
}


class Samples:
    """A sink that keeps all samples."""

    def __init__(self):
        self.rows = []

    def append(self, index, time, values):
        del self.rows[index:]  # sample 0 may come again
        assert index == len(self.rows)
        self.rows.append((index, time, tuple(values)))

    def rewind(self, next_index):
        del self.rows[next_index:]


def encoder(rate=100.0, **parameters):
    return Encoder(EncoderParameters(**parameters), KEY).plan(rate)


def odometer(rate=100.0, **parameters):
    return Odometer(OdometerParameters(**parameters), KEY).plan(rate)


def accelerometer(rate=100.0, **parameters):
    own = AccelerometerParameters(**parameters)
    return Accelerometer(own, MountParameters(), 5, "step", rate).plan()


def gyroscope(rate=100.0, inputs=None, **parameters):
    own = GyroscopeParameters(**parameters)
    inputs = inputs or AccelerationInputs()
    return Gyroscope(own, MountParameters(), 5, "step", rate, inputs=inputs).plan()


def imu_model(rate=100.0, inputs=None, **parameters):
    sensors = Subsensors(
        accelerometer=AccelerometerParameters(**parameters),
        gyroscope=GyroscopeParameters(**parameters),
        magnetometer=MagnetometerParameters(field=(2.0, 0.5, -4.0), **parameters),
    )
    mount = MountParameters(position=(0.3, -0.2, 0.1), orientation=(1.0, 0.4, 0.0, 0.0))
    inputs = inputs or AccelerationInputs()
    return Imu(ImuParameters(), sensors, mount, 5, "step", rate, inputs=inputs)


def imu(rate=100.0, **parameters):
    return imu_model(rate, **parameters).plan()


def started(plan, start=0.0, sampling=None, **others):
    step = Step(plan, sampling or SamplingParameters(), start=start, **others)
    step.observe(start)
    return step


def put(step, state):
    """Set the interpolated inputs, in their order."""
    for name, value in zip(step._plan.truth, state, strict=False):
        step.set(name, value)


def swinging(time):
    """A body on a circle that turns evenly about its vertical axis, as 13 values."""
    turn = 0.5 * time
    return np.array(
        [
            *(math.cos(time), math.sin(time), 0.3 * time),
            *(math.cos(0.5 * turn), 0.0, 0.0, math.sin(0.5 * turn)),
            *(-math.sin(time), math.cos(time), 0.3),
            *(0.0, 0.0, 0.5),
        ]
    )


def outputs(step):
    return {name: step.get(name) for name, _ in step._outputs}


def bytes_of(state):
    return {name: array.tobytes() for name, array in state.items()}


def nothing(message):
    raise AssertionError(message)


# ---- the same as the models called one by one ----------------------------------------------------

INSTANTS = np.cumsum([0.0, 0.01, 0.003, 0.1, 0.017, 0.25, 0.001]).tolist()
AT_END = SamplingParameters(inputs_at_step_end=True)


def walk(plan, motion, instants=INSTANTS, **held):
    """All samples of a run whose inputs describe the ends of its steps."""
    sink = Samples()
    step = Step(plan, AT_END, sink=sink)
    for name, value in held.items():
        step.set(name, value)
    put(step, motion(0.0))
    step.observe(0.0)
    for before, time in itertools.pairwise(instants):
        put(step, motion(time))
        step.advance(before, time - before)
    step.flush()
    return sink.rows


def one_by_one(model, rate, interpolate, motion, sample):
    """The same from the clock of the sensors that see, and the model's own method."""
    timeline = Timeline(SampleClock(0.0, rate), interpolate)
    rows = []
    for time in INSTANTS:
        for index, stamp, state in timeline.push(time, motion(time)):
            rows.append((index, stamp, sample(model, index, stamp, state)))
    return rows


@pytest.mark.parametrize("rate", [0.0, 40.0, 333.0])
def test_an_imu_in_steps_is_the_model_called_sample_by_sample(rate):
    errors = NOISY if rate else {}

    def sample(model, index, stamp, state):
        reading = model.sample(index, stamp, state)
        return tuple(itertools.chain.from_iterable(dataclasses.astuple(reading)))

    def motion(time):
        state = np.zeros(19)
        state[:13] = swinging(time)
        state[3:7] /= math.hypot(*state[3:7])
        return state

    expected = one_by_one(imu_model(rate, **errors), rate, interpolate_body, motion, sample)
    assert walk(imu(rate, **errors), motion, temperature=298.15) == expected


@pytest.mark.parametrize("rate", [0.0, 40.0, 333.0])
def test_an_encoder_in_steps_is_the_model_called_sample_by_sample(rate):
    own = EncoderParameters(resolution=0.01, noise_rms=0.02)

    def motion(time):
        return np.array([3.0 * time**2, 6.0 * time])

    def sample(model, index, stamp, state):
        return dataclasses.astuple(model.sample(index, stamp, state[0]))

    expected = one_by_one(Encoder(own, KEY), rate, interpolate_joint, motion, sample)
    assert walk(Encoder(own, KEY).plan(rate), motion) == expected


@settings(deadline=None)
@given(st.tuples(*[st.floats(-1e3, 1e3)] * 4).filter(lambda q: math.hypot(*q) > 1e-6))
def test_orientations_are_brought_to_unit_length_as_python_does_it(quaternion):
    assert stepping.length_of(*quaternion) == pytest.approx(math.hypot(*quaternion), rel=2.3e-16)


@pytest.mark.parametrize("size", [1e-6, 1e-5, 1.0, 1e100, 1e200, 1.7e308])
def test_the_length_of_a_quaternion_of_any_size_is_found(size):
    assert stepping.length_of(0.0, 0.6 * size, 0.0, 0.8 * size) == pytest.approx(size, rel=4e-16)


# ---- an odometer whose input wraps ---------------------------------------------------------------


@pytest.mark.parametrize("duration", [0.01, 0.1, 0.3])
@pytest.mark.parametrize("speed", [10.0, -10.0])
def test_a_wrapped_rotation_is_unwrapped_before_it_is_interpolated(duration, speed):
    step = started(odometer(1000.0, unwrap=True, wheel_radius=1.05))
    for number in range(round(1.2 / duration) + 1):
        step.set("joint.position", math.fmod(speed * number * duration, math.tau))
        step.advance(number * duration, duration)
    assert step.get("distance") == pytest.approx(1.05 * speed * step.get("sample.time"), abs=1e-9)
    assert abs(step.get("distance")) > 11.0  # more than a turn


def test_a_rotation_that_is_not_wrapped_may_turn_by_more_than_half_a_turn_between_samples():
    step = started(odometer(10.0, unwrap=True, wheel_radius=1.0))
    for number in range(101):
        step.set("joint.position", math.fmod(1.0 * number, math.tau))
        step.advance(number * 0.01, 0.01)
    assert step.get("distance") == pytest.approx(100.0, abs=1e-9)


def test_an_encoder_takes_whole_turns_and_needs_no_unwrapping():
    step = started(encoder(1000.0, resolution=math.tau / 4096))
    for number in range(101):
        put(step, (0.1 * number, 10.0))
        step.advance(number * 0.01, 0.01)
    assert step.get("edge_count") == math.floor(10.0 / (math.tau / 4096))
    assert step.get("speed") == pytest.approx(10.0, rel=0.2)  # one code in a sample of 6.5 codes


# ---- bounds --------------------------------------------------------------------------------------

PLANS = {
    "encoder": encoder,
    "odometer": odometer,
    "accelerometer": accelerometer,
    "gyroscope": gyroscope,
    "imu": imu,
}
every = pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)


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


# ---- steps that are refused ----------------------------------------------------------------------

HUGE = 1.7e308
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


# ---- samples that are recorded -------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, RING_ROWS - 1, RING_ROWS, RING_ROWS + 1, 5 * RING_ROWS])
def test_all_samples_of_a_step_are_recorded_in_order(count):
    recorded = walk(encoder(1000.0, noise_rms=0.1), lambda time: (time, 1.0), [0.0, count / 1e3])
    assert [row[:2] for row in recorded] == [(k, k / 1000.0) for k in range(count + 1)]
    pieces = [k / 1e3 for k in range(count + 1)]
    # positions are interpolated, which rounds
    cut = walk(encoder(1000.0, noise_rms=0.1), lambda time: (time, 1.0), pieces)
    assert np.array([r[2][0] for r in recorded]) == pytest.approx(
        np.array([r[2][0] for r in cut]), abs=1e-12
    )


def test_a_step_that_is_refused_half_way_is_taken_back_from_the_record():
    sink = Samples()
    step = started(odometer(1000.0, wheel_radius=100.0), sampling=AT_END, sink=sink)
    step.advance(0.0, 0.01)
    step.flush()
    before, shown, rows = bytes_of(step.state()), outputs(step), list(sink.rows)
    step.set("joint.position", HUGE)
    with pytest.raises(ParameterError, match="not finite"):
        step.advance(0.01, 10.0)
    assert (bytes_of(step.state()), outputs(step), sink.rows) == (before, shown, rows)
    step.set("joint.position", 1.0)
    step.advance(0.01, 0.01)
    step.flush()
    assert len(sink.rows) == 21


# ---- from C --------------------------------------------------------------------------------------

C_STEP = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_double, ctypes.c_double)


@every
def test_c_can_call_a_step_by_its_address(plan):
    one, other = started(plan()), started(plan())
    call = C_STEP(one.address)
    for number in range(50):
        assert call(one.context, number * 0.02, 0.02) == stepping.DONE
        other.advance(number * 0.02, 0.02)
    assert bytes_of(one.state()) == bytes_of(other.state())
    assert outputs(one) == outputs(other)
    assert one.time == other.time == pytest.approx(1.0)


def test_c_is_told_to_enter_python_and_nothing_has_changed():
    told = []
    step = Step(imu(), SamplingParameters(), sink=Samples(), warn=told.append)
    step.observe(0.0)
    call = C_STEP(step.address)

    def refused(time=0.0, duration=0.01, **inputs):
        before = bytes_of(step.state()), outputs(step)
        code = call(step.context, time, duration)
        assert (bytes_of(step.state()), outputs(step)) == before
        return code

    assert refused(duration=-1.0) == stepping.NO_STEP
    assert refused(time=-1.0) == stepping.STEP_BACKWARDS
    step.set("body.orientation.w", 0.0)
    assert refused() == stepping.WARN_ORIENTATION
    step.advance(0.0, 0.01)
    assert told == [NO_ORIENTATION]
    assert call(step.context, 0.01, 0.01) == stepping.DONE
    step.set("body.position.x", 1.0)
    assert refused(0.02) == stepping.WARN_MOTION
    for number in range(2, RING_ROWS + 10):
        code = call(step.context, number * 0.01, 0.01)
        if code != stepping.DONE:
            step.advance(number * 0.01, 0.01)
    assert told == [NO_ORIENTATION, NO_MOTION]
    step.flush()
    assert len(step._sink.rows) == step.get("sample.count") == RING_ROWS + 10


def test_a_compiled_step_is_found_again_by_the_next_process(tmp_path):
    program = (
        "from sensor_models.kernels.wheel import steps as wheel\n"
        "from sensor_models.kernels.inertial import steps as inertial\n"
        "for step in (wheel.encoder_step, wheel.odometer_step, inertial.unit_step):\n"
        "    print(step.cache_hits, step.address > 0)\n"
    )
    found = [
        subprocess.run(
            [sys.executable, "-c", program],
            check=True,
            capture_output=True,
            text=True,
            cwd=Path(__file__).parents[2],
        ).stdout
        for _ in range(2)
    ]
    assert found[1].split() == ["1", "True"] * 3


# ---- saved states --------------------------------------------------------------------------------


@every
def test_a_restored_state_goes_on_bit_for_bit(plan):
    step = started(plan(), warn=nothing)
    for number in range(7):
        step.advance(number * 0.013, 0.013)
    saved = step.state()
    values = [array.copy() for array in step._storage.arrays]

    def go_on(run):
        for number in range(7, 20):
            run.advance(number * 0.013, 0.013)
        return bytes_of(run.state()), outputs(run)

    expected = go_on(step)
    other = Step(plan(), SamplingParameters(), start=9.0)
    for target, kept in zip(other._storage.arrays, values, strict=True):
        target[:] = kept
    other.restore(saved)
    assert other.time == pytest.approx(0.091)
    assert go_on(other) == expected


@pytest.mark.parametrize(
    "change",
    [
        lambda state: state.pop("held"),
        lambda state: state.update(model=state["model"][:-1]),
        lambda state: state.update(clock=state["clock"].astype(np.float32)),
        lambda state: state["clock"].__setitem__(0, math.nan),
        lambda state: state["clock"].__setitem__(2, 0.5),
        lambda state: state["clock"].__setitem__(2, 1e300),
        lambda state: state["clock"].__setitem__(4, math.inf),
        lambda state: state["held"].__setitem__(0, 77.0),
        lambda state: state["held"].__setitem__(1, math.nan),
    ],
)
def test_what_is_no_state_of_a_sensor_is_refused_and_changes_nothing(change):
    step = started(gyroscope())
    step.advance(0.0, 0.1)
    before, saved = bytes_of(step.state()), step.state()
    change(saved)
    with pytest.raises((StepError, ParameterError)):
        step.restore(saved)
    assert bytes_of(step.state()) == before
