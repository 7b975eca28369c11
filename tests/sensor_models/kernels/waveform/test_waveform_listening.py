"""The signal of an apd that is made where it can be seen: its law is that of whole gates."""

import math
from statistics import NormalDist

import numpy as np
import pytest
from scipy import stats

from sensor_models.kernels.waveform.layout import new_work
from sensor_models.kernels.waveform.listening import listen_all
from sensor_models.kernels.waveform.receiver import make_signals, sigma_of
from sensor_models.scene.model import Sky
from sensor_models.waveform import (
    AdcParameters,
    ReceiverParameters,
    ReceiverType,
    WaveformParameters,
)
from sensor_models.waveform.receiver import pack_receiver

STEP, SAMPLES, MARGIN = 0.5e-9, 500, 10
HALF = 12  # samples that the filter of 1 ns reaches to either side
NORMAL = NormalDist()


def receiver_of(seed=1, adc=None, **own):
    """An apd as kernels take it."""
    parameters = ReceiverParameters(type=ReceiverType.apd, transmission=1.0, **own)
    pulse = WaveformParameters(t_res=STEP)
    packed = pack_receiver(parameters, adc or AdcParameters(), pulse, Sky(), (seed, "test"))
    assert len(packed.filter) == 2 * HALF + 1
    return packed


def heard(packed, power, count, level, background=0.0):
    """What is heard of many pulses of one power, 0 where nothing is; and which part that is."""
    lit = np.nonzero(power)[0]
    around = (int(lit[0]), int(lit[-1]) + 1) if len(lit) else (0, 0)
    signals, spans = np.tile(power, (count, 1)), np.zeros((count, 2), np.int64)
    work = new_work(len(power), HALF, np.ones(1))
    listen_all(packed, work, signals, background, STEP, level, MARGIN, around, spans)
    return signals, spans


def whole(packed, power, count, background=0.0):
    """The signals of whole gates with the same draws."""
    signals = np.tile(power, (count, 1))
    make_signals(packed, new_work(len(power), HALF, np.ones(1)), signals, background, STEP, 0)
    return signals


def echo(height, place=200, sigma=4.0):
    """A power with an end."""
    k = np.arange(SAMPLES)
    power = height * np.exp(-0.5 * ((k - place) / sigma) ** 2)
    power[np.abs(k - place) > 24] = 0.0
    return power


def span_above(signal, level):
    """From the first to the last sample above a level, with the margin."""
    (over,) = np.nonzero(signal > level)
    if not len(over):
        return (0, 0)
    return max(over[0] - MARGIN, 0), min(over[-1] + 1 + MARGIN, len(signal))


@pytest.mark.parametrize("ratio", [3.0, 14.0, 60.0, 1e3, 1e6])
@pytest.mark.parametrize("place", [200, 30, SAMPLES - 3])
@pytest.mark.parametrize("adc", [None, AdcParameters(bits=7, full_scale=0.1)])
def test_around_light_it_is_the_signal_of_the_whole_gate(ratio, place, adc):
    """No noise crosses 8 standard deviations, so parts are the same and so are their samples."""
    packed, background = receiver_of(adc=adc), 2e-9
    level = 8.0 * sigma_of(packed, background, STEP)
    power = echo(ratio / 8.0 * level, place)
    signals, spans = heard(packed, power, 100, level, background)
    expected = whole(packed, power, 100, background)
    assert spans.tolist() == [list(span_above(row, level)) for row in expected]
    assert (spans[:, 1] > 0).any() == (ratio > 5.0)
    for row, other, (first, last) in zip(signals, expected, spans, strict=True):
        np.testing.assert_allclose(row[first:last], other[first:last], rtol=1e-9, atol=1e-9 * level)


def test_without_noise_only_light_is_heard():
    packed, power = receiver_of(noise=False), echo(1e-6)
    signals, spans = heard(packed, power, 1, 0.0)
    (expected,) = whole(packed, power, 1)
    assert spans[0].tolist() == list(span_above(expected, 0.0))
    first, last = spans[0]
    np.testing.assert_allclose(signals[0, first:last], expected[first:last], rtol=1e-12)


def twin(packed, power, count, background, rng):
    """Signals by NumPy: white noise with the variance of each sample, the filter, light around."""
    light = packed.response * (packed.optics * power + background)
    level = packed.dark + light
    spread = np.sqrt((packed.density * level + packed.floor) / STEP)
    noisy = level + spread * rng.normal(size=(count, len(power)))
    base = packed.dark + packed.response * background
    padded = np.pad(noisy - base, ((0, 0), (HALF, HALF)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * HALF + 1, axis=1)
    return windows @ packed.filter / (packed.response * packed.optics)


COUNT, BLOCK = 40_000, 4_000
#: A threshold that noise crosses in some of the gates, but not in too many to be decided by a draw.
LOW = 3.4


@pytest.fixture(scope="module", params=[0.0, 2.0], ids=["dark", "weak light"])
def both(request):
    """Where gates are above a threshold: heard, and by the twin; 0 and the signal elsewhere."""
    packed, background = receiver_of(), 3e-8
    level = LOW * sigma_of(packed, background, STEP)
    power = echo(request.param / LOW * level)
    rng, found, expected = np.random.default_rng(3), [], []
    for first in range(0, COUNT, BLOCK):
        own = receiver_of(seed=1 + first)
        signals, _ = heard(own, power, BLOCK, level, background)
        found.append(np.where(signals > level, signals / level, 0.0).astype(np.float32))
        signals = twin(packed, power, BLOCK, background, rng)
        expected.append(np.where(signals > level, signals / level, 0.0).astype(np.float32))
    return np.concatenate(found), np.concatenate(expected), request.param > 0.0


def test_as_many_gates_cross_as_of_whole_ones(both):
    found, expected, _ = both
    for some in (slice(None), slice(0, 150), slice(250, 500), slice(150, 190), slice(210, 250)):
        a, b = ((part[:, some] > 0.0).any(axis=1).sum() for part in (found, expected))
        assert abs(a - b) < 4.5 * math.sqrt(a + b)
        assert a > 100


def test_every_sample_crosses_as_often_as_the_normal_law_says(both):
    """Away from light and from the ends of the gate; clusters make sums less certain."""
    found, _, lit = both
    chance = 1.0 - NORMAL.cdf(LOW)
    kept = np.r_[20:130, 270:480] if lit else np.r_[20:480]
    counts = (found[:, kept] > 0.0).sum(axis=0)
    mean = COUNT * chance
    assert counts.sum() == pytest.approx(len(kept) * mean, rel=0.08)
    assert np.abs(counts - mean).max() < 6.0 * math.sqrt(mean)


def test_ends_of_the_gate_have_less_noise(both):
    """Their filter has no noise beyond the gate."""
    found, expected, _ = both
    for some in (slice(0, HALF), slice(SAMPLES - HALF, SAMPLES)):
        a, b = ((part[:, some] > 0.0).sum() for part in (found, expected))
        # A sample is above the threshold with some of its neighbours.
        assert abs(a - b) < 4.5 * math.sqrt(4.0 * (a + b))


def test_crossings_have_the_heights_and_lengths_of_those_of_whole_gates(both):
    found, expected, _ = both
    for some in (slice(0, 140), slice(140, 260), slice(260, 500)):
        shown = [part[:, some][(part[:, some] > 0.0).any(axis=1)] for part in (found, expected)]
        for measure in (
            lambda rows: rows.max(axis=1),
            lambda rows: (rows > 0.0).sum(axis=1),
            lambda rows: rows.argmax(axis=1),
            lambda rows: rows.sum(axis=1),
        ):
            assert stats.ks_2samp(*(measure(rows) for rows in shown)).pvalue > 1e-3


def test_crossings_on_both_sides_of_what_was_drawn_belong_together():
    """Neighbours at the border: P(both above) is that of a normal pair with their correlation."""
    packed = receiver_of()
    level = 2.7 * sigma_of(packed, 0.0, STEP)
    power = np.zeros(SAMPLES // 5)
    power[50] = 1e-6 * level
    border, both_above, count = 50 + HALF + 1, 0, 200_000
    signals, _ = heard(packed, power, count, level)
    near, far = signals[:, border - 2] > level, signals[:, border + 1] > level
    both_above = (near & far).sum()
    kernel = packed.filter
    correlation = (kernel[3:] * kernel[:-3]).sum() / packed.squares
    cover = [[1.0, correlation], [correlation, 1.0]]
    pair = stats.multivariate_normal([0, 0], cover).cdf([-2.7, -2.7])
    assert both_above == pytest.approx(count * pair, abs=4.5 * math.sqrt(count * pair))
    assert count * pair > 50
