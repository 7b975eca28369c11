"""Compiled steps of scalar sensors: against the models called one by one, states, records, C."""

import ctypes
import dataclasses
import itertools
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensor_models.core.body import COMPLETED, NO_ORIENTATION
from sensor_models.core.clock import SampleClock, SamplingParameters, Timeline
from sensor_models.core.quantities import ParameterError
from sensor_models.core.step import RING_ROWS, Step, StepError
from sensor_models.kernels.math import stepping
from sensor_models.kernels.math.motion import interpolate_body, interpolate_joint
from sensor_models.wheel.encoder import Encoder, EncoderParameters
from tests.sensor_models.steps import (
    AT_END,
    HUGE,
    KEY,
    NOISY,
    Samples,
    bytes_of,
    encoder,
    every,
    gyroscope,
    imu,
    imu_model,
    nothing,
    odometer,
    outputs,
    put,
    started,
    swinging,
)

# ---- the same as the models called one by one ----------------------------------------------------

INSTANTS = np.cumsum([0.0, 0.01, 0.003, 0.1, 0.017, 0.25, 0.001]).tolist()


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
    assert told == [NO_ORIENTATION, COMPLETED[2]]
    step.flush()
    assert len(step._sink.rows) == step.get("sample.count") == RING_ROWS + 10


def test_a_compiled_step_is_found_again_by_the_next_process(tmp_path):
    program = (
        "from sensor_models.kernels.wheel import steps as wheel\n"
        "from sensor_models.kernels.inertial import steps as inertial\n"
        "for step in (wheel.encoder_step, wheel.odometer_step, inertial.unit_step):\n"
        "    print(step.address > 0, step.stats.from_cache)\n"
    )
    found = [
        subprocess.run(
            [sys.executable, "-c", program],
            check=True,
            capture_output=True,
            text=True,
            cwd=Path(__file__).parents[3],
        ).stdout
        for _ in range(2)
    ]
    assert found[1].split() == ["True", "1"] * 3


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
