"""Spectra of sun and sky by formula."""

import math
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from sensor_models.scene.manifest import load_scene
from sensor_models.scene.model import Sky
from sensor_models.scene.sky import air_mass, sunlight_above_air, transmission
from tests.sensor_models.scene_files import write_manifest


def sky(folder: Path, table: str) -> Sky:
    return load_scene(write_manifest(folder, f"[sky]\n{table}\n")).sky


def integral(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """By trapezoids."""
    return float(np.sum(0.5 * (y[1:] + y[:-1]) * np.diff(x)))


def total(spectrum: tuple[tuple[float, float], ...]) -> float:
    return integral(*np.array(spectrum).T)


def test_sunlight_above_the_air_adds_up_to_the_solar_constant() -> None:
    wavelengths = np.geomspace(1e-7, 1e-4, 4001)
    light = np.array([sunlight_above_air(wavelength) for wavelength in wavelengths])
    # 1361 W/m2; 0.1 % for the rounding of temperature and solid angle and the ends left out.
    assert integral(wavelengths, light) == pytest.approx(1361.0, rel=1e-3)


def test_air_mass_is_one_upward_and_38_at_the_horizon() -> None:
    assert air_mass(1.0) == pytest.approx(1.0, abs=1e-3)
    assert air_mass(0.5) == pytest.approx(2.0, abs=0.01)  # flat layers, but for refraction
    assert air_mass(0.0) == pytest.approx(38.0, abs=0.2)


def test_blue_light_is_scattered_more_than_red() -> None:
    assert transmission(450e-9, 0.7) < transmission(650e-9, 0.7) < transmission(905e-9, 0.7) < 1.0


def test_a_clear_day_has_the_light_of_a_clear_day(tmp_path: Path) -> None:
    clear = sky(tmp_path, 'preset = "clear"\nsun_direction = [0, 0, 1]')
    # From 380 to 1700 nm the measured standard spectrum for 1.5 air masses has 780 W/m2, more
    # under a sun overhead and without water vapour.
    assert 780.0 < total(clear.sun_spectrum) < 1080.0
    diffuse = math.pi * total(clear.sky_spectrum)
    assert 0.03 < diffuse / total(clear.sun_spectrum) < 0.2


def test_a_low_sun_is_weaker_and_redder(tmp_path: Path) -> None:
    high, low = (
        sky(tmp_path, f'preset = "clear"\nsun_direction = [1, 0, {height}]').sun_spectrum
        for height in (2.0, 0.1)
    )
    assert total(low) < 0.7 * total(high)
    assert low[0][1] / low[-1][1] < high[0][1] / high[-1][1]


def test_an_overcast_day_has_sky_and_no_sun(tmp_path: Path) -> None:
    overcast = sky(tmp_path, 'preset = "overcast"')
    assert overcast.sun_spectrum == ()
    assert total(overcast.sky_spectrum) > 0.0


@pytest.mark.parametrize(
    "table", ["", 'preset = "night"', 'preset = "clear"\nsun_direction = [1, 0, -0.1]']
)
def test_without_sun_there_is_no_light(tmp_path: Path, table: str) -> None:
    dark = sky(tmp_path, table)
    assert (dark.sun_spectrum, dark.sky_spectrum) == ((), ())


def test_spectra_that_are_given_stand_over_the_preset(tmp_path: Path) -> None:
    given = sky(tmp_path, 'preset = "clear"\nsun_spectrum = [[4e-7, 1e9], [7e-7, 2e9]]')
    assert given.sun_spectrum == ((4e-7, 1e9), (7e-7, 2e9))
    assert len(given.sky_spectrum) > 10


def test_direction_of_the_sun_is_of_unit_length(tmp_path: Path) -> None:
    assert sky(tmp_path, "sun_direction = [0, 3, 4]").sun_direction == (0.0, 0.6, 0.8)
