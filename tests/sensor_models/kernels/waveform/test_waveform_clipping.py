"""Echoes that a converter clips: one each, where the target is."""

import math

import numpy as np
import pytest

from sensor_models.waveform import ExtractionWay, ReceiverParameters, ReceiverType
from tests.sensor_models.kernels.waveform.test_waveform import NS, found_in, gaussians

TIMES = np.arange(0.0, 160.0, 1.0)
SIGMA = math.hypot(4.0 / (2.0 * math.sqrt(2.0 * math.log(2.0))), 1.0)
APD = ReceiverParameters(type=ReceiverType.apd)
BIT = 1.0 / 1023


def echoes_of(signal, way=ExtractionWay.gaussian, **own):
    """The echoes of a signal behind a converter of 10 bits that is full at 1."""
    read = np.minimum(np.floor(signal / BIT + 0.5) * BIT, 1.0)
    own = {"t_res": NS, "pulse_duration": 4 * NS, "extraction": way, **own}
    found = found_in(read, sigma=0.003, level=0.015, clip=1.0 - 0.5 * BIT, receiver=APD, **own)
    return found[0]


@pytest.mark.parametrize("way", list(ExtractionWay))
@pytest.mark.parametrize("height", [1.05, 1.5, 5.0, 50.0, 2000.0, 1e6])
def test_a_clipped_echo_is_one_where_it_is(way, height):
    for place in (60.0, 60.3, 60.77):
        (echo,) = echoes_of(gaussians(TIMES, (height, place, SIGMA)), way)
        assert echo[1] == pytest.approx(place, abs=0.03), "samples; 5 mm"
        assert echo[0] == pytest.approx(height, rel=0.2)
        assert math.hypot(echo[2], 1.0) == pytest.approx(SIGMA, rel=0.02)


def test_noise_at_full_scale_makes_no_second_echo():
    rng = np.random.default_rng(3)
    for way in ExtractionWay:
        for height in (1.0, 1.02, 30.0):
            noisy = gaussians(TIMES, (height, 70.4, SIGMA)) + rng.normal(0.0, 0.003, (60, 160))
            found = [echoes_of(row, way) for row in noisy]
            assert {len(echoes) for echoes in found} == {1}
            errors = np.array([echoes[0, 1] for echoes in found]) - 70.4
            assert abs(errors.mean()) < 0.02
            assert errors.std() < 0.1


def test_a_fixed_threshold_walks_over_a_clipped_echo_too():
    own = {"leading_edge_fraction": 0.0}
    signal = gaussians(TIMES, (50.0, 70.0, SIGMA))
    (echo,) = echoes_of(signal, ExtractionWay.leading_edge, **own)
    walk = -SIGMA * math.sqrt(2.0 * math.log(50.0 / 0.015))
    assert echo[1] - 70.0 == pytest.approx(walk, abs=0.15)


def test_what_follows_a_clipped_echo_is_found():
    signal = gaussians(TIMES, (30.0, 60.0, SIGMA), (0.4, 80.0, SIGMA), (5.0, 110.0, SIGMA))
    echoes = echoes_of(signal)
    assert echoes[:, 1] == pytest.approx([60.0, 80.0, 110.0], abs=0.05)
    assert echoes[1, 0] == pytest.approx(0.4, rel=0.02)


def test_a_tilted_target_that_clips_has_its_own_width():
    (echo,) = echoes_of(gaussians(TIMES, (20.0, 70.3, 3.5)))
    assert echo[1] == pytest.approx(70.3, abs=0.02)
    assert math.hypot(echo[2], 1.0) == pytest.approx(3.5, rel=0.02)


def test_an_echo_whose_rise_the_gate_cuts_off_is_where_its_fall_says():
    """The target is a sample away; light was on its way before the gate began."""
    for place in (1.0, 3.4):
        (echo,) = echoes_of(gaussians(TIMES, (200.0, place, SIGMA)), ExtractionWay.leading_edge)
        assert echo[1] == pytest.approx(place, abs=0.05)
