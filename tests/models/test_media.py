"""Presets of ambient media against what defines them."""

import math
from itertools import pairwise
from pathlib import Path

import pytest

from sensor_models.scene.manifest import load_scene
from sensor_models.scene.media import (
    extinction_of_rain,
    extinction_of_snow,
    extinction_of_visibility,
)
from sensor_models.scene.model import Medium
from tests.models.scene_files import write_manifest


def medium(folder: Path, table: str) -> Medium:
    text = f'[world]\nmedium = "m"\n[media.m]\n{table}\n'
    return load_scene(write_manifest(folder, text)).media[0]


@pytest.mark.parametrize("wavelength", [905e-9, 1550e-9])
def test_dense_fog_leaves_5_percent_at_the_visibility_at_all_wavelengths(wavelength: float) -> None:
    for visibility in (20.0, 50.0, 499.0):
        left = math.exp(-extinction_of_visibility(visibility, wavelength) * visibility)
        assert left == pytest.approx(0.05, rel=1e-12)  # rounding


def test_fog_of_50_m_has_the_published_extinction() -> None:
    assert extinction_of_visibility(50.0) == pytest.approx(0.0599, abs=5e-5)  # of four digits


def test_haze_leaves_5_percent_of_green_light_at_the_visibility() -> None:
    for visibility in (800.0, 3e3, 2e4, 1e5):
        left = math.exp(-extinction_of_visibility(visibility, 550e-9) * visibility)
        assert left == pytest.approx(0.05, rel=1e-12)  # rounding


def test_haze_lets_longer_waves_through_with_kims_exponents() -> None:
    for kilometres, exponent in ((0.8, 0.3), (3.0, 0.82), (20.0, 1.3), (100.0, 1.6)):
        visibility = 1e3 * kilometres
        ratio = extinction_of_visibility(visibility, 1100e-9) / extinction_of_visibility(
            visibility, 550e-9
        )
        assert ratio == pytest.approx(0.5**exponent, rel=1e-12)  # rounding


def test_rain_and_snow_have_the_attenuation_of_the_recommendation() -> None:
    decibel = 10.0 / math.log(10.0) * 1e3  # of one 1/m over a kilometre
    assert extinction_of_rain(1.0) * decibel == pytest.approx(1.076, rel=1e-12)
    assert extinction_of_rain(25.0) * decibel == pytest.approx(1.076 * 25**0.67, rel=1e-12)
    a = 5.42e-5 * 1550.0 + 5.4958776
    assert extinction_of_snow(2.0, 1550e-9) * decibel == pytest.approx(a * 2**1.38, rel=1e-12)


def test_no_rain_is_no_extinction(tmp_path: Path) -> None:
    dry = medium(tmp_path, 'preset = "rain"\nrate_mm_h = 0')
    assert (dry.absorption, dry.return_probability) == (0.0, 0.0)
    assert dry.return_scale > 0.0


def test_dust_goes_with_its_concentration(tmp_path: Path) -> None:
    thin = medium(tmp_path, 'preset = "dust"\nconcentration = 1e-5')
    thick = medium(tmp_path, 'preset = "dust"\nconcentration = 1e-4')
    assert thick.absorption == pytest.approx(10.0 * thin.absorption, rel=1e-12)  # rounding
    assert 0.02 < thick.absorption < 0.1  # 0.1 g/m3: visibility of 30 to 150 m


def test_clear_air_needs_no_measure_and_is_nearly_transparent(tmp_path: Path) -> None:
    air = medium(tmp_path, 'preset = "air"')
    assert 0.97 < math.exp(-2.0 * air.absorption * 200.0) < 1.0


def test_thicker_media_send_back_more_pulses_from_nearer(tmp_path: Path) -> None:
    fogs = [medium(tmp_path, f'preset = "fog"\nvisibility = {v}') for v in (20, 50, 200, 2000)]
    for thick, thin in pairwise(fogs):
        assert 0.0 < thin.return_probability < thick.return_probability < 1.0
        assert thick.return_scale <= thin.return_scale


def test_numbers_that_are_given_stand_over_those_of_the_preset(tmp_path: Path) -> None:
    table = 'preset = "fog"\nvisibility = 50\nreturn_probability = 0.9\nbackscatter = 0.01'
    fog = medium(tmp_path, table)
    assert (fog.return_probability, fog.backscatter) == (0.9, 0.01)
    assert fog.absorption == extinction_of_visibility(50.0)


def test_water_droplets_have_another_lidar_ratio_than_dust(tmp_path: Path) -> None:
    assert medium(tmp_path, 'preset = "fog"\nvisibility = 50').lidar_ratio == 18.8
    assert medium(tmp_path, 'preset = "dust"\nconcentration = 1e-5').lidar_ratio > 40.0


def test_a_medium_of_its_own_numbers_is_what_they_say(tmp_path: Path) -> None:
    own = medium(tmp_path, "absorption = 0.1\nior = 1.33\nreturn_shape = 3\nreturn_scale = 2")
    assert own == Medium("m", absorption=0.1, ior=1.33, return_shape=3.0, return_scale=2.0)
