"""The odometer as a sensor: acceptance rows, orders, accumulation, faults, state."""

import math

import numpy as np
import pytest

from sensor_models.core.faults import NO_FAULT, Fault, FaultMode, FaultWave
from sensor_models.core.quantities import ParameterError, quantities_of
from sensor_models.core.random import stream_key
from sensor_models.kernels.wheel import odometer as kernel
from sensor_models.wheel.odometer import (
    Odometer,
    OdometerAccumulate,
    OdometerOrder,
    OdometerParameters,
    OdometerReading,
)

TICK = math.tau / 48
NOISE_FIRST = OdometerOrder.noise_first
ABSOLUTE = OdometerAccumulate.absolute


def make(seed=1, wheel_radius=0.35, **parameters):
    key = stream_key(seed, "odometer", "noise")
    return Odometer(OdometerParameters(wheel_radius, **parameters), key)


def run(odometer, positions, fault=NO_FAULT):
    return [odometer.sample(k, k * 0.01, u, fault).distance for k, u in enumerate(positions)]


@pytest.mark.acceptance("ODO-1")
def test_odo_1_distance_is_radius_times_rotation():
    # the tolerance of the acceptance row, one product
    assert make().sample(0, 0.0, 20.0).distance == pytest.approx(7.0, abs=1e-12)


@pytest.mark.acceptance("ODO-2")
def test_odo_2_distance_is_rounded_down_to_ticks():
    # six decimals are printed in the acceptance row
    distance = make(resolution=TICK).sample(0, 0.0, 20.0).distance
    assert distance == pytest.approx(6.963864, abs=1e-6)
    assert distance == pytest.approx(0.35 * 152 * TICK, rel=1e-15)


@pytest.mark.acceptance("ODO-3")
def test_odo_3_a_hundred_revolutions_and_one_tick():
    # five decimals are printed in the acceptance row
    odometer = make(resolution=TICK)
    assert odometer.sample(0, 0.0, TICK).distance == pytest.approx(0.0458149, abs=1e-5)
    hundred = odometer.sample(1, 1.0, 100 * math.tau).distance
    assert hundred == pytest.approx(219.91149, abs=1e-5)


@pytest.mark.acceptance("ODO-4")
@pytest.mark.parametrize(("accumulate", "expected"), [(0, 0.0), (1, 7.0)])
def test_odo_4_there_and_back(accumulate, expected):
    there = np.linspace(0.0, 10.0, 101)
    distances = run(make(accumulate=OdometerAccumulate(accumulate)), [*there, *there[::-1]])
    # the tolerance of the acceptance row; 200 changes are summed, each rounded to 1e-15
    assert distances[-1] == pytest.approx(expected, abs=1e-9)


def test_with_everything_off_the_distance_is_exact():
    positions = np.random.default_rng(1).uniform(-1e3, 1e3, 200)
    assert run(make(), positions) == [0.35 * u for u in positions]


def test_going_backward_decreases_a_signed_distance():
    distances = run(make(), np.arange(0.0, -5.0, -0.1))
    assert np.all(np.diff(distances) < 0.0)
    # one product and one rounding of the position
    assert distances[-1] == pytest.approx(-0.35 * 4.9, rel=1e-14)


def test_an_absolute_distance_starts_at_zero_and_never_decreases():
    positions = 40.0 + np.cumsum(np.random.default_rng(5).uniform(-1.0, 1.0, 500))
    distances = run(make(accumulate=ABSOLUTE, resolution=TICK), positions)
    ticks = np.floor(positions / TICK + 1e-9)
    expected = 0.35 * TICK * np.concatenate([[0.0], np.cumsum(np.abs(np.diff(ticks)))])
    assert distances[0] == 0.0
    assert np.all(np.diff(distances) >= 0.0)
    # 500 changes of some 0.2 m, each rounded to 1e-15
    assert distances == pytest.approx(expected.tolist(), abs=1e-11)


@pytest.mark.parametrize("order", list(OdometerOrder))
def test_noise_has_the_spread_that_was_asked_for(order):
    count = 100_000
    odometer = make(noise_rms=0.02, order=order)
    errors = odometer.sample_batch(0, np.arange(count) * 0.01, np.full(count, 20.0)) - 7.0
    # five standard errors: sigma/sqrt(n) for the mean, sigma/sqrt(2n) for the spread
    assert abs(np.mean(errors)) <= 5 * 0.02 / math.sqrt(count)
    assert abs(np.std(errors) - 0.02) <= 5 * 0.02 / math.sqrt(2 * count)


def test_binning_first_leaves_the_noise_unrounded():
    noise = np.array(run(make(noise_rms=0.02), [20.0] * 100)) - 7.0
    distances = run(make(noise_rms=0.02, resolution=TICK), [20.0] * 100)
    # sums of some metres, rounded once each
    assert distances == pytest.approx((0.35 * 152 * TICK + noise).tolist(), abs=1e-14)


def test_noise_first_reports_ticks_only():
    noisy = np.array(run(make(noise_rms=0.02, order=NOISE_FIRST), [20.0] * 100))
    distances = run(make(noise_rms=0.02, resolution=TICK, order=NOISE_FIRST), [20.0] * 100)
    ticks = np.floor(noisy / (0.35 * TICK) + 1e-9)
    assert len(set(distances)) > 1
    # some metres, rounded twice
    assert distances == pytest.approx((ticks * 0.35 * TICK).tolist(), abs=1e-14)


def test_noise_is_not_summed_up_with_binning_first():
    distances = run(make(noise_rms=0.02, accumulate=ABSOLUTE), [20.0] * 10_000)
    # five standard errors of a mean
    assert abs(np.mean(distances)) <= 5 * 0.02 / math.sqrt(10_000)


def test_noise_is_summed_up_as_motion_with_noise_first():
    count = 10_000
    odometer = make(noise_rms=0.02, accumulate=ABSOLUTE, order=NOISE_FIRST)
    gained = run(odometer, [20.0] * count)[-1] / (count - 1)
    # The mean of |n1 - n2| is 2 sigma/sqrt(pi), 0.0226 m; the spread of one is 0.017 m, neighbours
    # are correlated by less than one half, so five standard errors are below 5 * 0.017 * sqrt(2/n).
    assert abs(gained - 2 * 0.02 / math.sqrt(math.pi)) <= 5 * 0.017 * math.sqrt(2 / count)


def test_noise_depends_on_sample_index_and_stream_alone():
    times, positions = np.arange(50) * 0.01, np.zeros(50)
    first = make(noise_rms=0.1).sample_batch(0, times, positions)
    late = make(noise_rms=0.1).sample_batch(20, times[20:], positions[20:])
    other = make(seed=2, noise_rms=0.1).sample_batch(0, times, positions)
    assert first[20:].tolist() == late.tolist()
    assert not np.any(first == other)


@pytest.mark.parametrize("accumulate", list(OdometerAccumulate))
def test_a_wrapped_rotation_gives_the_same_distance_as_the_whole_one(accumulate):
    truth = np.concatenate([np.arange(0.0, 60.0, 0.7), np.arange(60.0, -60.0, -0.7)])
    settings = {"accumulate": accumulate, "resolution": 0.2}
    # half a tick off the border, so that rounding cannot move a rotation to the next tick
    truth = np.round(truth / 0.2) * 0.2 + 0.1
    wrapped = run(make(unwrap=True, **settings), np.mod(truth, math.tau))
    # sums of 260 changes, each rounded to 1e-15
    assert wrapped == pytest.approx(run(make(**settings), truth), abs=1e-11)


def test_a_wrapped_rotation_jumps_back_unless_it_is_unwrapped():
    rotations = [6.0, 6.2, 0.2]
    assert run(make(), rotations)[-1] == 0.35 * 0.2
    # one sum and one product
    unwrapped = run(make(unwrap=True), rotations)[-1]
    assert unwrapped == pytest.approx(0.35 * (0.2 + math.tau), rel=1e-15)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_rotation_that_is_not_finite_spoils_its_own_sample_only(bad):
    settings = {"noise_rms": 0.01, "accumulate": ABSOLUTE, "unwrap": True, "resolution": TICK}
    disturbed, undisturbed = make(**settings), make(**settings)
    present = Fault(mode=FaultMode.present)
    for k in range(200):
        fault = present if 60 <= k < 80 else NO_FAULT
        if k in (0, 40, 60, 70, 150):
            assert math.isnan(disturbed.sample(k, k * 0.01, bad, fault).distance)
            continue
        position = (0.3 * k) % math.tau
        expected = undisturbed.sample(k, k * 0.01, position, fault)
        assert disturbed.sample(k, k * 0.01, position, fault) == expected
    assert disturbed.state.tobytes() == undisturbed.state.tobytes()
    assert math.isnan(disturbed.sample(200, math.nan, 1.0).distance)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [(FaultMode.off, 0.0), (FaultMode.set, 4.25), (FaultMode.present, 0.35 * 2.0)],
)
def test_a_stuck_odometer_reports_the_value_of_its_mode(mode, expected):
    odometer = make()
    odometer.sample(0, 0.0, 1.0)
    stuck = Fault(mode=mode, value=4.25)
    shown = [odometer.sample(k, k * 0.01, k + 1.0, stuck).distance for k in range(1, 5)]
    assert shown == [expected] * 4
    assert odometer.sample(5, 0.05, 6.0).distance == 0.35 * 6.0


def test_motion_during_a_fault_is_not_lost():
    odometer = make(accumulate=ABSOLUTE)
    odometer.sample(0, 0.0, 0.0)
    odometer.sample(1, 0.01, 5.0, Fault(mode=FaultMode.off))
    # two changes of 1.75 m, summed
    assert odometer.sample(2, 0.02, 0.0).distance == pytest.approx(3.5, rel=1e-15)


def test_a_wave_is_added_to_the_distance():
    square = Fault(wave=FaultWave.square, amplitude=0.25, period=0.02, offset=0.5)
    shown = run(make(wheel_radius=1.0), [1.0, 1.0, 1.0], square)
    assert shown == [1.75, 1.25, 1.75]


@pytest.mark.parametrize("mode", [FaultMode.on, FaultMode.max, FaultMode.min])
def test_a_distance_has_no_limits_to_be_stuck_at(mode):
    odometer = make()
    before = odometer.state
    with pytest.raises(ParameterError, match=rf"of distance = \d \({mode.name}\)"):
        odometer.sample(0, 0.0, 1.0, Fault(mode=mode))
    assert odometer.state.tolist() == before.tolist()


def test_a_second_sample_at_the_start_replaces_the_first_and_is_no_motion():
    settings = {"accumulate": ABSOLUTE, "unwrap": True}
    odometer, fresh = make(**settings), make(**settings)
    odometer.sample(0, 0.0, 50.0)
    assert odometer.sample(0, 0.0, 7.0).distance == fresh.sample(0, 0.0, 7.0).distance == 0.0
    assert odometer.state.tobytes() == fresh.state.tobytes()


def test_time_that_does_not_advance_holds_the_reading():
    odometer = make(noise_rms=0.1)
    last = run(odometer, [0.0, 1.0, 2.0])[-1]
    state = odometer.state
    for time in (0.02, 0.015, -1.0):
        assert odometer.sample(3, time, 50.0).distance == last
    assert odometer.state.tobytes() == state.tobytes()


@pytest.mark.parametrize("order", list(OdometerOrder))
@pytest.mark.parametrize("accumulate", list(OdometerAccumulate))
def test_a_batch_equals_single_samples_bit_by_bit(order, accumulate):
    settings = {
        "order": order,
        "accumulate": accumulate,
        "noise_rms": 0.02,
        "resolution": TICK,
        "unwrap": True,
    }
    fault = Fault(wave=FaultWave.triangle, amplitude=0.1, period=0.7)
    positions = np.mod(np.arange(500) * 0.3, math.tau)
    positions[123] = math.nan
    times = np.arange(500) * 0.01
    stepped, batched = make(**settings), make(**settings)
    one_by_one = np.array(run(stepped, positions, fault))
    first = batched.sample_batch(0, times[:200], positions[:200], fault)
    second = batched.sample_batch(200, times[200:], positions[200:], fault)
    assert np.concatenate([first, second]).tobytes() == one_by_one.tobytes()
    assert stepped.state.tobytes() == batched.state.tobytes()


def test_a_batch_of_unequal_lengths_is_refused():
    with pytest.raises(ValueError, match="no vectors of one length"):
        make().sample_batch(0, [0.0, 1.0], [0.0])


def test_a_restored_state_continues_bit_by_bit():
    settings = {"accumulate": ABSOLUTE, "noise_rms": 0.01, "unwrap": True, "order": NOISE_FIRST}
    odometer = make(**settings)
    rotations = np.mod(np.arange(100) * 0.9, math.tau)
    run(odometer, rotations[:40], Fault(mode=FaultMode.present))
    saved = odometer.state

    def continue_run(running):
        return [running.sample(k, k * 0.01, rotations[k]).distance for k in range(40, 100)]

    first = continue_run(odometer)
    odometer.state = saved
    assert continue_run(odometer) == first
    other = make(**settings)
    other.state = saved
    assert continue_run(other) == first


def test_a_state_is_a_copy_and_one_of_another_size_is_refused():
    odometer = make()
    odometer.state[:] = 7.0
    assert odometer.state.tolist() == [0.0] * kernel.STATE_SIZE
    with pytest.raises(ValueError, match="state has shape"):
        odometer.state = np.zeros(kernel.STATE_SIZE + 1)


def test_reset_replays_the_run():
    odometer = make(accumulate=ABSOLUTE, noise_rms=0.01, unwrap=True)
    rotations = np.mod(np.arange(50) * 0.9, math.tau)
    first = run(odometer, rotations)
    odometer.reset()
    assert run(odometer, rotations) == first


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"wheel_radius": 0.0}, r"wheel_radius = 0.0 m is out of range, allowed is at least 1e-06"),
        ({"wheel_radius": -0.3}, r"wheel_radius = -0.3 m is out of range"),
        ({"resolution": -0.1}, r"resolution = -0.1 rad is out of range"),
        ({"noise_rms": math.inf}, r"noise.rms = inf is not a finite number"),
        ({"order": 2}, r"order = 2 is none of 0 \(binning_first\), 1 \(noise_first\)"),
        ({"accumulate": 2}, r"accumulate = 2 is none of 0 \(signed\), 1 \(absolute\)"),
    ],
)
def test_a_parameter_outside_its_range_is_refused_by_name(wrong, message):
    with pytest.raises(ParameterError, match=message):
        OdometerParameters(**wrong)


def test_parameters_and_outputs_have_the_names_of_the_interface():
    names = [quantity.name for quantity in quantities_of(OdometerParameters).values()]
    assert names == [
        "wheel_radius", "resolution", "noise.rms", "order", "accumulate", "unwrap"
    ]  # fmt: skip
    assert [quantity.name for quantity in quantities_of(OdometerReading).values()] == ["distance"]
    assert OdometerParameters().wheel_radius == 0.3
