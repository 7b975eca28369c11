"""The encoder as a sensor: acceptance rows, a naive twin, edges, noise, declarations."""

import itertools
import math

import numpy as np
import pytest

from sensor_models.core.quantities import ParameterError, quantities_of
from sensor_models.core.random import stream_key
from sensor_models.wheel.encoder import (
    Encoder,
    EncoderMode,
    EncoderParameters,
    EncoderReading,
    warnings_of,
)

ONE_DEGREE = math.tau / 360
ABSOLUTE = EncoderMode.absolute


def make(seed=1, **parameters):
    return Encoder(EncoderParameters(**parameters), stream_key(seed, "encoder", "noise"))


def run(encoder, times, positions):
    return [encoder.sample(k, t, u) for k, (t, u) in enumerate(zip(times, positions, strict=True))]


class NaiveEncoder:
    """The specification word by word, without noise and faults; remembers all it has seen."""

    def __init__(self, parameters):
        self.parameters = parameters
        self.truth = []
        self.reported = []
        self.changes = []

    def code(self, position):
        return math.floor(position / self.parameters.resolution + 1e-9)

    def measure(self, position):
        p = self.parameters
        span = p.upper - p.lower
        if p.resolution > 0:
            position = p.resolution * self.code(position)
        if p.mode == ABSOLUTE:
            return max(p.lower, min(position, p.upper))
        wrapped = position - span * math.floor((position - p.lower) / span)
        return wrapped if wrapped < p.upper else p.lower

    def sample(self, time, position):
        p = self.parameters
        span = p.upper - p.lower
        self.truth.append(position)
        self.reported.append(self.measure(position))
        if len(self.reported) > 1 and self.reported[-1] != self.reported[-2]:
            change = self.reported[-1] - self.reported[-2]
            if p.mode != ABSOLUTE:
                change -= span * math.floor(change / span + 0.5)
            self.changes.append((time, change))
        speed, steps = 0.0, 0
        if len(self.changes) > 1:
            (before, _), (last, change) = self.changes[-2:]
            speed = change / (last - before)
            if time - last >= p.speed_timeout:
                speed = 0.0
        if p.resolution > 0:
            # counted where nothing wraps: at the codes of the truth, stopped at the limits or not
            counted = self.reported if p.mode == ABSOLUTE else self.truth
            steps = self.code(counted[-1]) - self.code(counted[0])
        return self.reported[-1], speed, len(self.changes) > 1, steps


@pytest.mark.acceptance("ENC-5")
def test_enc_5_speed_is_exact_where_edges_fall_on_samples():
    encoder = make(resolution=0.1)
    times = np.arange(1000) * 0.01
    readings = run(encoder, times, times)
    valid = [reading.speed for reading in readings if reading.speed_valid]
    assert len(valid) == 1000 - 20
    # the tolerance of the acceptance row; one code and one interval are each rounded a few times
    assert valid == pytest.approx([1.0] * len(valid), abs=1e-9)


@pytest.mark.acceptance("ENC-6")
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_enc_6_speed_between_samples_is_within_the_bound_and_right_on_average(sign):
    interval = 1e-3
    times = np.arange(30_001) * interval
    encoder = make(resolution=ONE_DEGREE)
    readings = run(encoder, times, sign * times)
    counts = np.array([reading.edge_count for reading in readings])
    speeds = np.array([reading.speed for reading in readings])
    valid = np.array([reading.speed_valid for reading in readings])
    at_edges = np.flatnonzero((np.diff(counts, prepend=0) != 0) & valid)
    assert abs(counts[-1]) > 4 * 360, "the run has to wrap"

    # bound: an edge is seen up to one interval late, so a speed is off by interval / time per code
    bound = interval / ONE_DEGREE
    assert bound == pytest.approx(0.0573, abs=5e-5)
    assert np.all(np.abs(sign * speeds[at_edges] - 1.0) <= bound)

    # Mean over time: edges are 17.4533 samples apart, so 17 or 18, and never 18 twice in a row. A
    # speed is measured over one such interval and held over the next one, so the mean is that of
    # next / this: 17/18 and 18/17 with the share of 18 each, else 1, which makes 1.00148. Of a
    # run, the two speeds at its ends are cut: 2 * 0.06 / 1700 edges = 7e-5.
    share_of_18 = ONE_DEGREE / interval - 17
    expected = 1 + share_of_18 * (17 / 18 + 18 / 17 - 2)
    mean = sign * np.mean(speeds[valid])
    assert mean == pytest.approx(expected, abs=7e-5)
    # The acceptance row prints 1.0014 for a run whose length it does not give: 1.00148 is
    # 8e-5 away, this run's ends 7e-5.
    assert mean == pytest.approx(1.0014, abs=1.5e-4)


@pytest.mark.acceptance("ENC-8")
def test_enc_8_speed_is_zero_after_the_time_out():
    encoder = make(resolution=0.01, speed_timeout=0.1)
    times = np.arange(400) / 1000
    positions = np.minimum(times, 0.2)
    readings = run(encoder, times, positions)
    last_change = max(k for k in range(1, 400) if readings[k].position != readings[k - 1].position)
    for k, reading in enumerate(readings[last_change:], start=last_change):
        waited = round((times[k] - times[last_change]) * 1000)
        assert (reading.speed == 0.0) == (waited >= 100)
        assert reading.speed_valid
    assert readings[-1].speed == 0.0


@pytest.mark.parametrize("rate", [30.0, 100.0, 333.0, 1000.0])
def test_the_time_out_ends_at_its_sample_however_instants_are_rounded(rate):
    samples = 7
    encoder = make(resolution=0.5, speed_timeout=samples / rate)
    positions = [0.0, 0.5, 1.0] + [1.0] * 20
    for start in range(0, 1000, 37):
        encoder.reset()
        times = [(start + k) / rate for k in range(len(positions))]
        speeds = [reading.speed for reading in run(encoder, times, positions)]
        assert [speed > 0.0 for speed in speeds] == [2 <= k < 2 + samples for k in range(23)]


@pytest.mark.parametrize("mode", list(EncoderMode))
@pytest.mark.parametrize("resolution", [0.0, ONE_DEGREE, 0.013])
@pytest.mark.parametrize(("lower", "upper"), [(0.0, math.tau), (-math.pi, math.pi), (1.0, 2.5)])
def test_readings_equal_those_of_a_naive_encoder(mode, resolution, lower, upper):
    # a time-out between two samples, so that no rounding of instants decides on it
    parameters = EncoderParameters(mode, lower, upper, resolution, speed_timeout=0.095)
    encoder = Encoder(parameters, stream_key(1, "encoder", "noise"))
    naive = NaiveEncoder(parameters)
    rng = np.random.default_rng(11)
    # speeds that change sign and stop now and then, with no position on the border of a code
    velocity = np.repeat(rng.choice([-9.0, -1.0, 0.0, 0.2, 3.0, 20.0], 60), 50)
    positions = 0.4321 + np.cumsum(velocity) * 0.01
    for k, position in enumerate(positions):
        reading = encoder.sample(k, k * 0.01, position)
        reported, speed, valid, steps = naive.sample(k * 0.01, position)
        # positions of up to 200 rad round to 3e-14, divided by intervals of 0.01 s for the speed
        assert reading.position == pytest.approx(reported, abs=1e-12)
        assert reading.speed == pytest.approx(speed, abs=1e-10)
        assert reading.speed_valid == valid
        assert reading.edge_count == (steps if resolution else 0)


def test_with_everything_off_the_position_is_the_truth():
    encoder = make(mode=ABSOLUTE, lower=-100.0, upper=100.0)
    positions = np.random.default_rng(3).uniform(-100.0, 100.0, 200)
    readings = run(encoder, np.arange(200) * 0.01, positions)
    assert [reading.position for reading in readings] == positions.tolist()
    assert {reading.edge_count for reading in readings} == {0}
    assert not any(reading.channel_a or reading.channel_b for reading in readings)


def test_speed_without_resolution_is_the_difference_quotient():
    encoder = make(mode=ABSOLUTE, lower=-100.0, upper=100.0)
    readings = run(encoder, [0.0, 0.5, 1.0, 1.5], [0.0, 1.0, 3.0, 2.0])
    assert [reading.speed for reading in readings] == [0.0, 0.0, 4.0, -2.0]


def test_the_first_change_has_no_speed_and_the_second_one_has():
    encoder = make(resolution=1.0, upper=100.0, speed_timeout=10.0)
    readings = run(encoder, [0.0, 1.0, 2.0, 3.0, 4.0], [0.5, 0.5, 1.5, 1.5, 2.5])
    assert [reading.speed for reading in readings] == [0.0, 0.0, 0.0, 0.0, 0.5]
    assert [reading.speed_valid for reading in readings] == [False] * 4 + [True]


def test_speed_is_held_between_changes_and_several_codes_at_once_count_in_full():
    encoder = make(resolution=1.0, upper=100.0, speed_timeout=10.0)
    readings = run(encoder, [0.0, 1.0, 2.0, 3.0, 4.0], [0.0, 1.0, 6.0, 6.5, 4.0])
    assert [reading.speed for reading in readings] == [0.0, 0.0, 5.0, 5.0, -1.0]


@pytest.mark.parametrize("sign", [1, -1])
def test_edges_are_counted_over_wraps_in_both_directions(sign):
    encoder = make(resolution=ONE_DEGREE, lower=-math.pi, upper=math.pi)
    degrees = sign * np.arange(0, 3600, 7)
    readings = run(encoder, np.arange(len(degrees)) * 0.01, np.radians(degrees + 0.5))
    assert [reading.edge_count for reading in readings] == degrees.tolist()
    assert all(-math.pi <= reading.position < math.pi for reading in readings)


def test_edges_are_counted_from_the_first_sample():
    encoder = make(resolution=1.0, upper=100.0)
    readings = run(encoder, [0.0, 1.0, 2.0], [41.5, 43.5, 40.5])
    assert [reading.edge_count for reading in readings] == [0, 2, -1]


def test_an_absolute_encoder_counts_no_edges_beyond_its_limits():
    encoder = make(mode=ABSOLUTE, resolution=1.0, lower=0.0, upper=10.0)
    readings = run(encoder, range(5), [5.0, 12.0, 20.0, 9.5, -4.0])
    assert [reading.edge_count for reading in readings] == [0, 5, 5, 4, -5]
    assert [reading.position for reading in readings] == [5.0, 10.0, 10.0, 9.0, 0.0]


def test_the_encoder_counts_back_to_zero_where_it_started_however_it_got_there():
    encoder = make(resolution=0.1, upper=1.03)
    codes = [0, 3, 8, 12, 17, 21, 26, 21, 17, 12, 9, 4, -1, -5, -9, -4, 0]
    positions = 0.05 + 0.1 * np.array(codes)
    readings = run(encoder, np.arange(len(codes)) * 0.01, positions)
    assert [reading.edge_count for reading in readings] == codes


def test_channel_order_tells_the_direction():
    encoder = make(resolution=ONE_DEGREE)
    times = np.arange(1000) * 0.01
    degrees = np.concatenate([np.arange(500), np.arange(500)[::-1]]) + 0.5
    readings = run(encoder, times, np.radians(degrees))
    cycle = [(False, False), (True, False), (True, True), (False, True)]
    phases = [cycle.index((reading.channel_a, reading.channel_b)) for reading in readings]
    steps = [(after - before) % 4 for before, after in itertools.pairwise(phases)]
    assert steps == [1] * 499 + [0] + [3] * 499


def test_noise_is_added_before_binning_and_has_the_spread_that_was_asked_for():
    encoder = make(mode=ABSOLUTE, lower=-10.0, upper=10.0, noise_rms=0.05)
    count = 100_000
    readings = encoder.sample_batch(0, np.arange(count) * 1e-3, np.full(count, 1.0))
    errors = readings.position - 1.0
    # five standard errors: sigma/sqrt(n) for the mean, sigma/sqrt(2n) for the spread
    assert abs(np.mean(errors)) <= 5 * 0.05 / math.sqrt(count)
    assert abs(np.std(errors) - 0.05) <= 5 * 0.05 / math.sqrt(2 * count)

    binned = make(mode=ABSOLUTE, lower=-10.0, upper=10.0, noise_rms=0.05, resolution=0.1)
    codes = binned.sample_batch(0, np.arange(count) * 1e-3, np.full(count, 1.0)).position
    expected = 0.1 * np.floor(readings.position / 0.1 + 1e-9)
    assert codes.tolist() == expected.tolist()


def test_noise_at_the_ends_stays_within_the_limits():
    for mode in EncoderMode:
        encoder = make(mode=mode, noise_rms=0.5)
        positions = np.tile([0.0, math.tau], 2000)
        reported = encoder.sample_batch(0, np.arange(4000) * 1e-3, positions).position
        assert reported.min() >= 0.0
        assert reported.max() <= math.tau


def test_noise_depends_on_sample_index_and_stream_alone():
    times, positions = np.arange(50) * 0.01, np.zeros(50)
    settings = {"mode": ABSOLUTE, "lower": -10.0, "noise_rms": 0.1}
    first = make(**settings).sample_batch(0, times, positions).position
    again = make(**settings).sample_batch(0, times, positions).position
    late = make(**settings).sample_batch(20, times[20:], positions[20:]).position
    other = make(seed=2, **settings).sample_batch(0, times, positions).position
    assert first.tolist() == again.tolist()
    assert first[20:].tolist() == late.tolist()
    assert not np.any(first == other)


def test_whole_numbers_and_numpy_numbers_are_positions_too():
    encoder = make(mode=ABSOLUTE, upper=10.0)
    assert encoder.sample(0, 0, 3).position == 3.0
    assert encoder.sample(np.int64(1), np.float64(1.0), np.float32(2.5)).position == 2.5
    reading = encoder.sample(2, 2.0, 4.0)
    kinds = [type(getattr(reading, name)) for name in quantities_of(EncoderReading)]
    assert kinds == [float, float, bool, int, bool, bool]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"resolution": -0.1}, r"resolution = -0.1 rad is out of range, allowed is at least 0 rad"),
        ({"noise_rms": math.nan}, r"noise.rms = nan is not a finite number"),
        ({"speed_timeout": 0.0}, r"speed_timeout = 0.0 s is out of range"),
        ({"lower": 1.0, "upper": 1.0}, r"lower = 1.0 rad is not below upper = 1.0 rad"),
        ({"lower": 2.0, "upper": 1.0}, r"allowed is lower < upper"),
        ({"lower": -1.5e308, "upper": 1.5e308}, r"too far apart, allowed is a finite"),
        ({"mode": 2}, r"mode = 2 is none of 0 \(incremental\), 1 \(absolute\)"),
    ],
)
def test_a_parameter_outside_its_range_is_refused_by_name(wrong, message):
    with pytest.raises(ParameterError, match=message):
        EncoderParameters(**wrong)


def test_parameters_and_outputs_have_the_names_of_the_interface():
    names = [quantity.name for quantity in quantities_of(EncoderParameters).values()]
    assert names == ["mode", "lower", "upper", "resolution", "noise.rms", "speed_timeout"]
    names = [quantity.name for quantity in quantities_of(EncoderReading).values()]
    assert names == [
        "position", "speed", "speed_valid", "edge_count", "channel_a", "channel_b"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "warning"),
    [
        ({}, None),
        ({"resolution": ONE_DEGREE}, None),
        ({"resolution": math.tau / 2**24}, None),
        ({"resolution": 0.1}, "62.8319 times the resolution, no whole number"),
        ({"resolution": 7.0}, "no whole number"),
        ({"resolution": math.tau / 50}, "50 codes, no multiple of 4"),
        ({"resolution": 0.1, "mode": ABSOLUTE}, None),
    ],
)
def test_codes_that_do_not_fit_the_turn_are_warned_of(settings, warning):
    warnings = warnings_of(EncoderParameters(**settings))
    assert len(warnings) == (warning is not None)
    assert all(warning in text for text in warnings)
