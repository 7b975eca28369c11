"""The encoder as a sensor: faults, bad input, batches and state."""

import math

import numpy as np
import pytest

from sensor_models.core.faults import NO_FAULT, Fault, FaultMode, FaultWave
from sensor_models.core.quantities import ParameterError, quantities_of
from sensor_models.core.random import stream_key
from sensor_models.kernels.wheel import encoder as kernel
from sensor_models.wheel.encoder import Encoder, EncoderMode, EncoderParameters, EncoderReading

ONE_DEGREE = math.tau / 360
ABSOLUTE = EncoderMode.absolute


def make(seed=1, **parameters):
    return Encoder(EncoderParameters(**parameters), stream_key(seed, "encoder", "noise"))


def run(encoder, times, positions, **faults):
    return [
        encoder.sample(k, t, u, **faults)
        for k, (t, u) in enumerate(zip(times, positions, strict=True))
    ]


def as_bits(reading):
    """A reading in a form in which NaN equals NaN and 0 differs from -0."""
    fields = (getattr(reading, name) for name in quantities_of(EncoderReading))
    return tuple(field.hex() if isinstance(field, float) else field for field in fields)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (FaultMode.off, 0.0),
        (FaultMode.on, 9.0),
        (FaultMode.max, 9.0),
        (FaultMode.min, 2.0),
        (FaultMode.set, 4.25),
        (FaultMode.present, 5.0),
    ],
)
def test_a_stuck_incremental_encoder_reports_legal_codes_as_its_limits(mode, expected):
    encoder = make(lower=2.0, upper=10.0, resolution=1.0)
    fault = Fault(mode=mode, value=4.25)
    assert encoder.sample(0, 0.0, 5.5, fault).position == expected


def test_the_upper_limit_of_each_kind_of_encoder_is_the_largest_position_it_reports():
    stuck = Fault(mode=FaultMode.max)
    limits = {"lower": -1.0, "upper": 1.0}
    ideal = make(**limits).sample(0, 0.0, 0.0, stuck).position
    assert ideal == math.nextafter(1.0, 0.0)
    assert make(mode=ABSOLUTE, **limits).sample(0, 0.0, 0.0, stuck).position == 1.0
    # 0.25 and 0.75 are exact in binary; 0.3 is not, its third code is one product, rounded
    assert make(resolution=0.25, **limits).sample(0, 0.0, 0.0, stuck).position == 0.75
    assert make(resolution=0.3, **limits).sample(0, 0.0, 0.0, stuck).position == 0.3 * 3
    assert make(resolution=5.0, **limits).sample(0, 0.0, 0.0, stuck).position == 0.0
    # there is no code between the limits, only the lower limit
    assert make(resolution=3.0, lower=1.0, upper=2.0).sample(0, 0.0, 1.5, stuck).position == 1.0


def test_speed_and_edges_follow_the_faulty_position():
    encoder = make(resolution=0.1, upper=100.0, speed_timeout=0.1)
    times = np.arange(100) * 0.01
    before = run(encoder, times[:50], 10.0 * times[:50])
    stuck = Fault(mode=FaultMode.present)
    after = [encoder.sample(k, times[k], 10.0 * times[k], stuck) for k in range(50, 100)]
    # exact but for the rounding of instants 0.01 s apart
    assert before[-1].speed == pytest.approx(10.0, rel=1e-9)
    assert {reading.position for reading in after} == {after[0].position}
    assert {reading.edge_count for reading in after} == {50}
    assert after[-1].speed == 0.0
    cleared = encoder.sample(100, 1.0, 10.0)
    # one code of 0.1 may be missing from rounding of nothing: 10 is code 100
    assert cleared.position == 10.0
    assert cleared.edge_count == 100


def test_a_fault_on_the_speed_comes_last_and_touches_nothing_else():
    times = np.arange(60) * 0.01
    positions = 10.0 * times
    live = run(make(resolution=0.1, upper=100.0), times, positions)
    encoder = make(resolution=0.1, upper=100.0)
    faulty = run(encoder, times, positions, speed_fault=Fault(FaultMode.set, value=-3.0))
    assert {reading.speed for reading in faulty} == {-3.0}
    for healthy, reading in zip(live, faulty, strict=True):
        assert (healthy.position, healthy.edge_count) == (reading.position, reading.edge_count)
        assert healthy.speed_valid == reading.speed_valid
    assert encoder.sample(60, 0.6, 6.0).speed == pytest.approx(10.0, rel=1e-9)


def test_waves_are_added_to_position_and_to_speed():
    square = Fault(wave=FaultWave.square, amplitude=0.25, period=1.0, offset=0.5)
    encoder = make(mode=ABSOLUTE, lower=-10.0, upper=10.0, speed_timeout=10.0)
    readings = run(encoder, [0.0, 0.25, 0.5, 0.75], [1.0] * 4, fault=square, speed_fault=square)
    assert [reading.position for reading in readings] == [1.75, 1.75, 1.25, 1.25]
    # one change only, so the speed itself is 0
    assert [reading.speed for reading in readings] == [0.75, 0.75, 0.25, 0.25]


@pytest.mark.parametrize("mode", [FaultMode.on, FaultMode.max, FaultMode.min])
def test_a_speed_has_no_limits_to_be_stuck_at(mode):
    encoder = make()
    before = encoder.state
    with pytest.raises(ParameterError, match=rf"of speed = \d \({mode.name}\)"):
        encoder.sample(0, 0.0, 0.0, NO_FAULT, Fault(mode=mode))
    assert encoder.state.tolist() == before.tolist()


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_position_that_is_not_finite_spoils_its_own_sample_only(bad):
    settings = {"resolution": ONE_DEGREE, "noise_rms": 0.01}
    disturbed, undisturbed = make(**settings), make(**settings)
    present = Fault(mode=FaultMode.present)
    for k in range(200):
        fault = present if 60 <= k < 80 else NO_FAULT
        time, position = k * 0.01, 0.03 * k
        if k in (0, 40, 60, 70, 150):
            count = disturbed.sample(k, time, bad, fault)
            assert math.isnan(count.position)
            assert math.isnan(count.speed)
            assert not count.speed_valid
            continue
        expected = undisturbed.sample(k, time, position, fault)
        assert as_bits(disturbed.sample(k, time, position, fault)) == as_bits(expected)
    assert disturbed.state.tobytes() == undisturbed.state.tobytes()


def test_counter_and_channels_hold_while_the_position_is_not_finite():
    encoder = make(resolution=1.0, upper=100.0)
    before = run(encoder, [0.0, 1.0], [0.0, 3.0])[-1]
    spoilt = encoder.sample(2, 2.0, math.nan)
    assert (spoilt.edge_count, spoilt.channel_a, spoilt.channel_b) == (
        before.edge_count,
        before.channel_a,
        before.channel_b,
    )
    assert math.isnan(encoder.sample(2, math.nan, 3.0).position)


def test_a_second_sample_at_the_start_replaces_the_first_and_is_no_motion():
    encoder, fresh = make(resolution=1.0, upper=100.0), make(resolution=1.0, upper=100.0)
    stuck = Fault(mode=FaultMode.present)
    encoder.sample(0, 0.0, 50.0, stuck)
    assert as_bits(encoder.sample(0, 0.0, 7.0, stuck)) == as_bits(fresh.sample(0, 0.0, 7.0, stuck))
    assert encoder.state.tobytes() == fresh.state.tobytes()


def test_time_that_does_not_advance_holds_the_reading():
    encoder = make(resolution=1.0, upper=100.0)
    last = run(encoder, [0.0, 0.1, 0.2], [0.0, 1.0, 2.0])[-1]
    state = encoder.state
    for time in (0.2, 0.15, -1.0):
        assert as_bits(encoder.sample(3, time, 50.0)) == as_bits(last)
    assert encoder.state.tobytes() == state.tobytes()


@pytest.mark.parametrize("mode", list(EncoderMode))
@pytest.mark.parametrize("resolution", [0.0, ONE_DEGREE, 0.013])
def test_a_batch_equals_single_samples_bit_by_bit(mode, resolution):
    settings = {"mode": mode, "resolution": resolution, "noise_rms": 0.02}
    fault = Fault(wave=FaultWave.triangle, amplitude=0.1, period=0.7)
    speed_fault = Fault(wave=FaultWave.ramp, amplitude=0.5, period=0.3)
    times = np.arange(500) * 0.01
    positions = 4.0 * np.sin(times)
    positions[123] = math.nan
    stepped, batched = make(**settings), make(**settings)
    one_by_one = run(stepped, times, positions, fault=fault, speed_fault=speed_fault)
    first = batched.sample_batch(0, times[:200], positions[:200], fault, speed_fault)
    second = batched.sample_batch(200, times[200:], positions[200:], fault, speed_fault)
    for name in quantities_of(EncoderReading):
        together = np.concatenate([getattr(first, name), getattr(second, name)])
        expected = np.array([getattr(reading, name) for reading in one_by_one], together.dtype)
        assert together.tobytes() == expected.tobytes()
    assert stepped.state.tobytes() == batched.state.tobytes()


def test_a_batch_of_unequal_lengths_is_refused():
    with pytest.raises(ValueError, match="no vectors of one length"):
        make().sample_batch(0, [0.0, 1.0], [0.0])


def test_a_restored_state_continues_bit_by_bit():
    settings = {"resolution": ONE_DEGREE, "noise_rms": 0.01}
    encoder = make(**settings)
    stuck = Fault(mode=FaultMode.present)
    times = np.arange(100) * 0.01
    run(encoder, times[:40], 5.0 * times[:40], fault=stuck)
    saved = encoder.state

    def continue_run(running):
        return [
            as_bits(running.sample(k, times[k], 5.0 * times[k], stuck if k < 60 else NO_FAULT))
            for k in range(40, 100)
        ]

    first = continue_run(encoder)
    encoder.state = saved
    assert continue_run(encoder) == first
    other = make(**settings)
    other.state = saved
    assert continue_run(other) == first


def test_a_state_is_a_copy_and_one_of_another_size_is_refused():
    encoder = make()
    encoder.state[:] = 7.0
    assert encoder.state.tolist() == [0.0] * kernel.STATE_SIZE
    with pytest.raises(ValueError, match="state has shape"):
        encoder.state = np.zeros(kernel.STATE_SIZE + 1)


def test_reset_replays_the_run():
    encoder = make(resolution=ONE_DEGREE, noise_rms=0.01)
    times = np.arange(50) * 0.01
    first = [as_bits(reading) for reading in run(encoder, times, 3.0 * times)]
    encoder.reset()
    assert [as_bits(reading) for reading in run(encoder, times, 3.0 * times)] == first
