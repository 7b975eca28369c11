"""What the medium around a full-waveform lidar sends back, against the lidar equation."""

import math

import numpy as np
import pytest

from sensor_models.scene.model import Medium
from sensor_models.waveform import (
    AirLight,
    ReceiverParameters,
    ReceiverType,
    WaveformLidar,
    WaveformParameters,
)
from tests import lidar_scenes as rig
from tests.sensor_models.waveform.test_waveform_lidar import LIGHT_SPEED, NS, ONE, Shot

SINGLE = {"air_light": AirLight.single_scattering}
FOG = Medium("fog", absorption=0.03)


def haze_at(times, lidar, *, end=math.inf, index=1.0):
    """The lidar equation by NumPy, folded with the pulse: W at some times."""
    own = lidar.parameters_of_pulse
    step = 0.02 * NS
    fine = np.arange(-30 * NS, times[-1] + 30 * NS, step)
    way = 0.5 * LIGHT_SPEED * fine / index
    blind = math.sqrt(4.0 * own.det_length * own.det_width / math.pi) / own.divergence_full_angle
    near = np.where((way > 0.0) & (way < end), 1.0 / (way**2 + blind**2), 0.0)
    curve = np.exp(-2.0 * FOG.absorption * way) * near * FOG.absorption / FOG.lidar_ratio
    curve *= 0.5 * LIGHT_SPEED / index * own.det_length * own.det_width
    shape = np.exp(-0.5 * (np.arange(-25 * NS, 25 * NS, step) / own.pulse_sigma) ** 2)
    power = np.convolve(curve, own.peak_power * shape, "same") * step
    return np.interp(times, fine, power)


def test_haze_sends_back_what_the_lidar_equation_says():
    shot = Shot(rig.scene(rig.across(140.0, half=0.01), media=(FOG,)), peak_power=75.0, **SINGLE)
    expected = haze_at(shot.times, shot.lidar)
    shown = (shot.times > 20 * NS) & (shot.times < 300 * NS)
    assert shown.sum() > 500
    np.testing.assert_allclose(shot.samples[shown], expected[shown], rtol=5e-3)


def test_the_lidar_equation_is_the_default():
    fog = rig.scene(rig.across(140.0, half=0.01), media=(FOG,))
    alike = [Shot(fog, peak_power=75.0, **own).samples for own in ({}, SINGLE)]
    np.testing.assert_array_equal(*alike)


def test_haze_ends_at_the_first_surface_and_weakens_its_echo():
    shot = Shot(rig.scene(rig.across(20.0), media=(FOG,)), peak_power=75.0, **SINGLE)
    clear = Shot(rig.scene(rig.across(20.0)), peak_power=75.0, **SINGLE)
    wall = np.interp(shot.times, clear.times, clear.samples, left=0.0, right=0.0)
    wall *= math.exp(-2.0 * FOG.absorption * 20.0)
    expected = haze_at(shot.times, shot.lidar, end=20.0) + wall
    shown = shot.times > 20 * NS
    np.testing.assert_allclose(
        shot.samples[shown], expected[shown], rtol=0.01, atol=1e-3 * expected.max()
    )
    assert (shot.samples[shot.times > 160 * NS] < 1e-6 * expected.max()).all()
    of_wall = shot.points[shot.points["entity_id"] == 100]
    assert of_wall["range"] == pytest.approx([20.0], abs=0.01)


def test_a_pulse_that_a_part_of_passes_an_object_has_haze_behind_it():
    """Half of the beam ends at 10 m, the other half at 40 m."""
    edge = rig.box((10.0, -5.0, 0.0), (10.5, 5.0, 5.0))
    shot = Shot(
        rig.scene(edge, rig.across(40.0), media=(FOG,)), subrays=400, peak_power=75.0, **SINGLE
    )
    between = (shot.times > 100 * NS) & (shot.times < 230 * NS)
    expected = 0.5 * haze_at(shot.times, shot.lidar)[between]
    np.testing.assert_allclose(shot.samples[between], expected, rtol=0.03)


def test_air_answers_by_the_law_of_the_source_where_it_is_wanted():
    misty = Medium("mist", 0.03, return_shape=9.0, return_scale=1.0, return_probability=1.0)
    seen = rig.scene(rig.across(60.0), media=(misty,))
    own = {"pattern": rig.ahead(60), "peak_power": 75.0, **ONE}
    drawn = Shot(seen, air_light=AirLight.stochastic, **own).points
    even = Shot(seen, **SINGLE, **own).points
    scattered = drawn["range"][drawn["atmospheric"] == 1]
    assert scattered.std() > 1.0
    near = even["range"][even["atmospheric"] == 1]
    assert len(near)
    assert np.ptp(near) == 0.0, "each pulse meets the same haze"


def test_haze_that_no_noise_lets_through_is_left_out():
    thin = Medium("air", absorption=1e-5)
    apd = ReceiverParameters(type=ReceiverType.apd)
    for medium, some in ((FOG, True), (thin, False), (Medium(), False)):
        lidar = WaveformLidar(WaveformParameters(**SINGLE), rig.aim(), apd)
        assert (len(lidar.pulse_in(rig.scene(rig.across(9.0), media=(medium,))).haze) > 0) is some
