"""Receivers and echoes of full-waveform lidars, on waveforms that are made here."""

import dataclasses
import math

import numpy as np
import pytest

from sensor_models.kernels.waveform.extraction import extract_all
from sensor_models.kernels.waveform.layout import MOST_ECHOES, new_found, new_work
from sensor_models.kernels.waveform.pulses import detection
from sensor_models.kernels.waveform.receiver import (
    chance_to_fire,
    coates,
    make_signals,
    sigma_of,
)
from sensor_models.scene.model import Sky
from sensor_models.waveform import (
    AdcParameters,
    ExtractionWay,
    ReceiverParameters,
    ReceiverType,
    SpadCorrection,
    WaveformParameters,
)
from sensor_models.waveform.parameters import FWHM
from sensor_models.waveform.receiver import (
    excess_noise,
    false_alarm_rate,
    noise_bandwidth,
    pack_extraction,
    pack_receiver,
    photon_energy,
    responsivity,
    shot_noise,
    signal_to_noise,
    thermal_noise,
    threshold_for,
)

NS = 1e-9
WAVELENGTH = 905e-9
LIGHT_SPEED = 299_792_458.0


def found_in(signals, sigma=0.0, level=1e-9, ask_more=None, receiver=None, clip=math.inf, **own):
    """The echoes of waveforms: amplitude, time in ns of the first sample's bin start, sigma."""
    own = {"t_res": 0.5 * NS, **own}
    ask = pack_extraction(WaveformParameters(**own), receiver or ReceiverParameters())
    ask = ask._replace(**(ask_more or {}))
    signals = np.atleast_2d(np.asarray(signals, float)).copy()
    counts = np.zeros(len(signals), np.int64)
    echoes = np.zeros((len(signals), MOST_ECHOES, 3))
    extract_all(signals, ask, level, sigma, clip, new_found(signals.shape[1]), counts, echoes)
    step = own["t_res"] / NS
    echoes[..., 1:] *= step
    return [table[:count] for table, count in zip(echoes, counts, strict=True)]


def gaussians(times, *echoes):
    """A sum of Gaussians: amplitude, time, sigma."""
    return sum(a * np.exp(-0.5 * ((times - t) / w) ** 2) for a, t, w in echoes)


def signals_of(powers, kind, background=0.0, step=0.5 * NS, adc=None, pulse=None, **own):
    """Signals that a receiver makes of powers in W, and its description."""
    receiver = ReceiverParameters(type=kind, transmission=1.0, **own)
    pulse = WaveformParameters(t_res=step, **(pulse or {}))
    packed = pack_receiver(receiver, adc or AdcParameters(), pulse, Sky(), (1, "test"))
    signals = np.atleast_2d(np.array(powers, float))
    work = new_work(signals.shape[1], len(packed.filter) // 2, np.ones(1))
    make_signals(packed, work, signals, background, step, 0)
    return signals, packed


# ---- receivers -----------------------------------------------------------------------------------


@pytest.mark.acceptance("FW-1")
def test_responsivity_and_excess_noise():
    assert responsivity(WAVELENGTH, 0.8) == pytest.approx(0.5839454, rel=1e-6)
    assert excess_noise(100.0, 0.02) == pytest.approx(3.9502, rel=1e-6)
    assert excess_noise(10.0, 0.2) == pytest.approx(3.52, rel=1e-6)


@pytest.mark.acceptance("FW-2")
def test_noise_and_signal_to_noise_of_an_apd():
    own, background, bandwidth = ReceiverParameters(), 5e-9, 175e6
    assert shot_noise(own, WAVELENGTH, background, bandwidth) == pytest.approx(93.18e-9, rel=1e-4)
    assert thermal_noise(own, bandwidth) == pytest.approx(26.458e-9, rel=1e-4)
    for power, expected in ((1e-9, 0.5652), (10e-9, 3.9088), (100e-9, 15.6777)):
        found = signal_to_noise(own, WAVELENGTH, power, background, bandwidth)
        assert found == pytest.approx(expected, rel=1e-4)


def test_the_noise_of_an_apd_signal_is_what_the_formula_says():
    """Draws against the closed form, over 4e5 samples; they are correlated over 7 of them."""
    power, background = 50e-9, 5e-9
    signals, _ = signals_of(np.full((100, 4000), power), ReceiverType.apd, background)
    own, bandwidth = ReceiverParameters(), noise_bandwidth(1e-9)
    noise = math.hypot(
        shot_noise(own, WAVELENGTH, power + background, bandwidth), thermal_noise(own, bandwidth)
    )
    inner = signals[:, 50:-50]
    scale = 100.0 * responsivity(WAVELENGTH, 0.8)
    assert inner.mean() == pytest.approx(power, rel=3e-3)
    assert inner.std() == pytest.approx(noise / scale, rel=0.01)


@pytest.mark.acceptance("FW-3")
def test_cells_of_a_photomultiplier_saturate():
    _, packed = signals_of(np.zeros(10), ReceiverType.sipm)
    for photons, expected in ((100, 19.801), (1000, 181.269), (5000, 632.121)):
        assert 1000.0 * chance_to_fire(packed, photons) == pytest.approx(expected, abs=1e-3)
    # And the same if they come in ten samples of a recovery time.
    own = {"noise": False, "dark_counts": 0.0, "filter_sigma": 0.0, "recovery_time": 10 * NS}
    powers = np.zeros(60)
    powers[20:30] = 500.0 * photon_energy(WAVELENGTH) / (0.5 * NS)
    signals, packed = signals_of(powers, ReceiverType.sipm, **own)
    parts = signals[0] * packed.response * 0.5 * NS / packed.charge
    assert parts.sum() == pytest.approx(632.121, abs=1e-3)


def test_fired_cells_are_binomial():
    """Of 1000 cells 632 fire, with a variance of N p (1 - p), a third of that of Poisson's law."""
    own = {"dark_counts": 0.0, "filter_sigma": 0.0, "recovery_time": 10 * NS, "noise_current": 0.0}
    powers = np.zeros((4000, 40))
    powers[:, 10:20] = 500.0 * photon_energy(WAVELENGTH) / (0.5 * NS)
    signals, packed = signals_of(powers, ReceiverType.sipm, **own)
    fired = (signals * packed.response * 0.5 * NS / packed.charge).sum(axis=1)
    share = -math.expm1(-1.0)
    assert fired.mean() == pytest.approx(1000.0 * share, rel=2e-3)
    assert fired.var() == pytest.approx(1000.0 * share * (1.0 - share), rel=0.08)


def test_cells_in_steady_light_fire_once_in_a_recovery_time():
    """N x / (1 + x) in a recovery time of x photons a cell that would fire."""
    own = {"dark_counts": 0.0, "filter_sigma": 0.0, "recovery_time": 10 * NS, "noise": False}
    step, photons = 0.5 * NS, 20.0
    power = photons * photon_energy(WAVELENGTH) / step
    signals, packed = signals_of(np.zeros(100), ReceiverType.sipm, background=power, **own)
    np.testing.assert_allclose(signals, 0.0, atol=1e-12)
    chance = chance_to_fire(packed, photons)
    lit, _ = signals_of(np.full(400, power), ReceiverType.sipm, **own)
    fired = lit[0, -1] * packed.response * step / packed.charge
    assert fired == pytest.approx(1000.0 * chance / (1.0 + 20 * chance), rel=1e-6)


def test_a_photomultiplier_counts_the_photons_of_a_weak_pulse_and_saturates_on_a_strong_one():
    shape = gaussians(np.arange(200) * 0.5, (1.0, 40.0, 2.0))
    photons_of = photon_energy(WAVELENGTH) / (0.5 * NS * shape.sum())
    own = {"noise": False, "dark_counts": 0.0, "pde": 0.2}
    for photons, expected in ((1.0, 0.19998), (5000.0, 632.121)):
        powers = photons * photons_of * shape
        signals, packed = signals_of(powers, ReceiverType.sipm, **own)
        cells = signals.sum() * packed.response * 0.5 * NS / packed.charge
        assert cells == pytest.approx(expected, rel=1e-4)


@pytest.mark.acceptance("FW-4")
def test_first_photons_pile_up_and_coates_undoes_it():
    # 0.3 photons are detected in each bin of a shot.
    step, shots = 0.5 * NS, 10_000_000
    power = 0.3 * photon_energy(WAVELENGTH) / (0.2 * step)
    own = {"dark_counts": 0.0, "pde": 0.2, "shots": shots, "noise": False}
    signals, packed = signals_of(np.full(10, power), ReceiverType.spad, **own)
    rates = signals[0] * packed.response
    np.testing.assert_allclose(rates, 0.3, rtol=1e-9)
    left = np.exp(-0.3 * np.arange(11))
    first = left[:-1] * -np.expm1(-0.3)
    assert first[[0, 1, 5]] == pytest.approx([0.2591818, 0.1920066, 0.0578313], abs=1e-6)
    assert left[10] == pytest.approx(0.0497871, abs=1e-6)
    for k in range(10):
        assert coates(first[k] * shots, left[k] * shots) == pytest.approx(0.3, rel=1e-9)
    noisy, _ = signals_of(np.full((50, 10), power), ReceiverType.spad, **{**own, "noise": True})
    assert noisy.mean() * packed.response == pytest.approx(0.3, rel=1e-4)
    spread = math.sqrt(math.expm1(0.3) / (shots * left[9]))  # of the last bin, by its binomial
    assert (noisy[:, 9] * packed.response).std() == pytest.approx(spread, rel=0.35)


@pytest.mark.parametrize("kind", [ReceiverType.apd, ReceiverType.sipm])
def test_background_light_goes_on_beyond_the_gate(kind):
    """The mean signal of sunlight is none, from the first sample to the last."""
    signals, _ = signals_of(np.zeros(200), kind, background=1e-6, noise=False)
    np.testing.assert_allclose(signals, 0.0, atol=1e-15)
    noisy, packed = signals_of(np.zeros((2000, 60)), kind, background=1e-7)
    ends = noisy[:, [0, 1, 2, -3, -2, -1]].mean(axis=0)
    sigma = noisy.std() / math.sqrt(2000)
    assert np.abs(ends).max() < 5.0 * sigma
    assert packed.response > 0.0


SPAD_LIT = {"dark_counts": 0.0, "pde": 0.2, "shots": 2000}


def spad_power(photons):
    """Power that a spad detects so many photons a bin of 0.5 ns of."""
    return photons * photon_energy(WAVELENGTH) / (0.2 * 0.5 * NS)


def test_noise_of_a_spad_is_that_of_the_shots_that_are_left():
    """Sun of 0.02 photons a bin uses up 86 % of the shots before bin 100."""
    base, echo = 0.02, 0.2
    powers = np.zeros((3000, 120))
    powers[:, 100] = spad_power(echo)
    signals, packed = signals_of(powers, ReceiverType.spad, background=spad_power(base), **SPAD_LIT)
    work = new_work(120, 0, np.ones(1))
    for k, share in ((0, 1.0), (100, math.exp(-base * 100))):
        told = sigma_of(packed, powers[0, k] + spad_power(base), 0.5 * NS) / math.sqrt(share)
        assert signals[:, k].std() == pytest.approx(told, rel=0.06)
    make_signals(packed, work, powers[:1].copy(), spad_power(base), 0.5 * NS, 0)
    assert work.level[0] == 1.0
    assert work.level[100] == pytest.approx(math.exp(0.5 * base * 100), rel=0.1)


def test_echoes_have_to_rise_above_the_noise_at_their_own_place():
    """The same bump early and late; the noise of the shots that are left is four times as large."""
    times = np.arange(0.0, 100.0, 0.5)
    signal = gaussians(times, (1.0, 20.0, 2.0), (1.0, 80.0, 2.0))
    own = {"t_res": 0.5 * NS, **NOISY}
    ask = pack_extraction(WaveformParameters(**own), ReceiverParameters(type=ReceiverType.spad))
    for late, left in ((1.0, 2), (4.0, 1)):
        found, counts = new_found(len(times)), np.zeros(1, np.int64)
        found.noise[100:] = late
        echoes = np.zeros((1, MOST_ECHOES, 3))
        extract_all(signal[None], ask, 0.3, 0.06, math.inf, found, counts, echoes)
        assert counts[0] == left
        assert found.echoes[counts[0] - 1, 5] == (late if left == 2 else 1.0)


def test_first_photons_can_be_reported_as_they_are():
    """Counts over shots, less those of the first bin in the dark of the echo."""
    pulse = {"spad_correction": SpadCorrection.none}
    powers, own = np.full(40, spad_power(0.1)), {**SPAD_LIT, "noise": False}
    signals, packed = signals_of(powers, ReceiverType.spad, pulse=pulse, **own)
    expected = math.exp(-0.1) ** np.arange(40) * -math.expm1(-0.1)
    np.testing.assert_allclose(signals[0] * packed.response, expected, rtol=1e-9)
    noisy, packed = signals_of(
        np.tile(powers, (3000, 1)), ReceiverType.spad, pulse=pulse, **SPAD_LIT
    )
    counts = noisy * packed.response * 2000
    np.testing.assert_allclose(counts, np.rint(counts), atol=1e-6)
    assert counts[:, 0].var() == pytest.approx(2000 * expected[0] * (1 - expected[0]), rel=0.1)


@pytest.mark.acceptance("FW-5")
def test_bandwidth_and_false_alarms_of_a_filter():
    assert noise_bandwidth(2 * NS) == pytest.approx(70.5237e6, rel=1e-5)
    assert false_alarm_rate(3.0, 2 * NS) == pytest.approx(6.25101e5, rel=1e-5)
    assert false_alarm_rate(5.0, 2 * NS) == pytest.approx(209.698, rel=1e-5)
    assert threshold_for(1e-6, 1e-6, 2 * NS) == pytest.approx(5.974223, rel=1e-5)


@pytest.mark.acceptance("FW-6")
def test_noise_crosses_a_threshold_as_often_as_rice_says():
    """0.4 ms of the receiver's own noise, in gates of 4 us."""
    own = {"filter_sigma": 2 * NS, "noise": True}
    signals, _ = signals_of(np.zeros((100, 8000)), ReceiverType.apd, **own)
    inner = signals[:, 100:-100]
    above = inner > 2.0 * inner.std()
    crossings = (above[:, 1:] & ~above[:, :-1]).sum()
    assert crossings / (inner.size * 0.5 * NS) == pytest.approx(7.615e6, rel=0.08)


@pytest.mark.acceptance("FW-7")
def test_probability_of_detection():
    for snr, threshold, expected in (
        (5, 5, 0.5), (6, 5, 0.841345), (8, 5, 0.998650), (3, 5, 0.022750),
    ):  # fmt: skip
        assert detection(snr, threshold) == pytest.approx(expected, abs=1e-6)


def test_a_converter_has_steps_and_an_end():
    adc = AdcParameters(bits=8, impedance=1e4, full_scale=1.0)
    powers = np.linspace(0.0, 3e-6, 400)
    own = {"noise": False, "dark_current": 0.0, "filter_sigma": 0.0}
    signals, packed = signals_of(powers, ReceiverType.apd, adc=adc, **own)
    volts = signals[0] * packed.response * 1e4
    expected = np.clip(np.floor(powers * packed.response * 1e4 * 255 + 0.5) / 255, 0.0, 1.0)
    np.testing.assert_allclose(volts, expected, atol=1e-12)
    assert volts.max() == pytest.approx(1.0)
    assert len(np.unique(volts.round(9))) > 100


# ---- ways to extract -----------------------------------------------------------------------------


@pytest.mark.acceptance("FW-8")
def test_a_fixed_threshold_walks():
    times = np.arange(0.0, 80.0, 0.002)
    own = {"t_res": 0.002 * NS, "extraction": ExtractionWay.leading_edge}
    own["leading_edge_fraction"] = 0.0
    shown = []
    for ratio in (2.0, 10.0, 100.0):
        ((echo,),) = found_in(gaussians(times, (ratio, 40.0, 2.0)), level=1.0, **own)
        shown.append(echo[1] - 40.0)
    assert shown == pytest.approx([-2.35482, -4.29193, -6.06971], rel=1e-5)
    assert (shown[0] - shown[2]) * NS * LIGHT_SPEED / 2 == pytest.approx(0.556848, rel=1e-5)


@pytest.mark.acceptance("FW-9")
@pytest.mark.parametrize("amplitude", [1e-9, 1.0, 300.0])
def test_constant_fraction_does_not_walk(amplitude):
    times = np.arange(0.0, 80.0, 0.001)
    own = {"t_res": 0.001 * NS, "extraction": ExtractionWay.cfd, "cfd_delay": 2 * NS}
    own["pulse_duration"] = 2.0 * FWHM * NS
    signal = gaussians(times, (amplitude, 40.0, 2.0))
    ((echo,),) = found_in(signal, level=1e-3 * amplitude, **own)
    assert echo[1] == pytest.approx(40.0, abs=1e-6)
    # Told that echoes have no width, it takes off half the delay only.
    ((echo,),) = found_in(signal, level=1e-3 * amplitude, ask_more={"sigma": 0.0}, **own)
    assert echo[1] + 1.0 - 40.0 == pytest.approx(-0.386294, abs=1e-6)


@pytest.mark.parametrize("way", [ExtractionWay.leading_edge, ExtractionWay.cfd])
@pytest.mark.parametrize("amplitude", [0.2, 5.0])
def test_ways_by_shares_of_the_peak_show_a_flat_target_where_it_is(way, amplitude):
    times = np.arange(0.0, 80.0, 0.05)
    own = {"t_res": 0.05 * NS, "extraction": way, "pulse_duration": 2.0 * FWHM * NS}
    ((echo,),) = found_in(gaussians(times, (amplitude, 40.02, 2.0)), level=0.01, **own)
    assert echo[1] == pytest.approx(40.02, abs=1e-3)


NOISY = {"pulse_duration": 2.0 * FWHM * NS, "extraction": ExtractionWay.gaussian}


@pytest.mark.acceptance("FW-10")
def test_a_fit_is_as_exact_as_it_can_be():
    times, sigma, snr = np.arange(0.0, 100.0, 0.5), 2.0, 20.0
    rng = np.random.default_rng(10)
    signals = gaussians(times, (1.0, 50.1, sigma)) + rng.normal(0.0, 1 / snr, (4000, len(times)))
    found = found_in(signals, sigma=1 / snr, level=5 / snr, **NOISY)
    alone = [table for table in found if len(table) == 1]
    assert len(alone) > 0.97 * len(found)
    bound = math.sqrt(2.0 * sigma * 0.5 / math.sqrt(math.pi)) / snr
    assert bound == pytest.approx(53.11e-3, rel=1e-4)
    spread = np.std([table[0, 1] for table in alone])
    assert spread / bound == pytest.approx(0.993, rel=0.05)


@pytest.mark.acceptance("FW-12")
def test_equal_surfaces_are_told_apart_from_two_sigma_on():
    """As two maxima: by peaks of samples of 5 ps."""
    sigma = 5.0 / FWHM
    apart = 2.0 * sigma * NS * LIGHT_SPEED / 2
    assert apart == pytest.approx(0.63655, abs=1e-4)
    times = np.arange(0.0, 60.0, 0.005)
    own = {"t_res": 0.005 * NS, "extraction": ExtractionWay.peak}
    for share, count in ((0.98, 1), (1.02, 2)):
        gap = 2.0 * sigma * share
        signal = gaussians(times, (1.0, 30.0, sigma), (1.0, 30.0 + gap, sigma))
        (echoes,) = found_in(signal, level=0.01, **own)
        assert len(echoes) == count


PAIR = ((1.0, 40.0, 2.0), (0.5, 46.0, 2.0))


@pytest.mark.acceptance("FW-13")
def test_two_echoes_without_noise_are_found_exactly():
    times = np.arange(0.0, 100.0, 0.5)
    (echoes,) = found_in(gaussians(times, *PAIR), level=0.01, **NOISY)
    np.testing.assert_allclose(echoes, PAIR, rtol=1e-6)


@pytest.mark.acceptance("FW-14")
def test_two_echoes_with_noise_scatter_as_the_bound_says():
    times = np.arange(0.0, 100.0, 0.5)
    rng = np.random.default_rng(14)
    signals = gaussians(times, *PAIR) + rng.normal(0.0, 0.02, (300, len(times)))
    found = found_in(signals, sigma=0.02, level=0.1, **NOISY)
    pairs = np.array([table for table in found if len(table) == 2])
    assert len(pairs) >= 0.95 * len(found)
    bounds = [[0.0094, 0.0346, 0.0334], [0.0094, 0.0693, 0.0668]]
    np.testing.assert_allclose(pairs.std(axis=0), bounds, rtol=0.15)


@pytest.mark.acceptance("FW-15")
def test_the_width_of_an_echo_tells_of_the_tilt():
    """FWHM of the closed form; the model's own is tested with a tilted plate."""
    for tilt, spot, expected in ((45.0, 0.5, 6.132317), (60.0, 0.05, 4.758513)):
        delay = spot * math.tan(math.radians(tilt)) / LIGHT_SPEED / NS
        assert FWHM * math.hypot(2.0, delay) == pytest.approx(expected, rel=1e-5)
        times = np.arange(0.0, 100.0, 0.5)
        (echoes,) = found_in(gaussians(times, (1.0, 50.0, math.hypot(2.0, delay))), **NOISY)
        assert FWHM * echoes[0, 2] == pytest.approx(expected, rel=1e-5)


def test_a_shoulder_is_found_that_has_no_maximum():
    times = np.arange(0.0, 100.0, 0.5)
    pair = ((1.0, 40.0, 2.0), (0.5, 45.0, 2.0))  # 2.5 sigma; two maxima from 2.628 on
    (echoes,) = found_in(gaussians(times, *pair), level=0.01, **NOISY)
    np.testing.assert_allclose(echoes, pair, rtol=1e-4)


def test_noise_does_not_make_echoes_of_single_ones():
    times = np.arange(0.0, 100.0, 0.5)
    rng = np.random.default_rng(2)
    signals = gaussians(times, (1.0, 50.0, 2.0)) + rng.normal(0.0, 0.05, (1000, len(times)))
    counts = np.array([len(e) for e in found_in(signals, sigma=0.05, level=0.25, **NOISY)])
    assert (counts == 1).mean() > 0.97


def test_the_filter_is_taken_out_of_the_widths():
    times = np.arange(0.0, 100.0, 0.5)
    receiver = ReceiverParameters(type=ReceiverType.apd, filter_sigma=1.5 * NS)
    signal = gaussians(times, (1.0, 50.0, 2.5))
    (echoes,) = found_in(signal, level=0.01, receiver=receiver, **NOISY)
    assert echoes[0, 2] == pytest.approx(2.0, rel=1e-5)


def test_a_blind_channel_misses_echoes():
    """The second echo rises 40 ns after the first."""
    times = np.arange(0.0, 200.0, 0.5)
    signal = gaussians(times, (1.0, 50.0, 2.0), (1.0, 90.0, 2.0), (1.0, 150.0, 2.0))
    for dead, left in ((39.0, [50, 90, 150]), (41.0, [50, 150]), (101.0, [50])):
        receiver = ReceiverParameters(dead_time=dead * NS)
        (echoes,) = found_in(signal, level=0.01, receiver=receiver, **NOISY)
        assert echoes[:, 1].round(3).tolist() == left


def test_the_strongest_echoes_are_kept():
    times = np.arange(0.0, 400.0, 0.5)
    many = [(0.1 * (1 + k % 5), 20.0 + 30.0 * k, 2.0) for k in range(10)]
    (echoes,) = found_in(gaussians(times, *many), level=0.01, max_echoes=4, **NOISY)
    assert echoes[:, 0] == pytest.approx([0.4, 0.5, 0.4, 0.5], rel=1e-5)
    assert (np.diff(echoes[:, 1]) > 0.0).all()


def test_parameters_name_what_is_wrong():
    for wrong, told in (
        ({"t_start": 1e-6}, "t_start"),
        ({"t_res": 1e-13}, "samples"),
        ({"min_range": 5.0, "max_range": 4.0}, "min_range"),
    ):
        with pytest.raises(ValueError, match=told):
            dataclasses.replace(WaveformParameters(), **wrong)
