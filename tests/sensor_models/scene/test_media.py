"""Presets of ambient media against what defines them."""

import math
from itertools import pairwise
from pathlib import Path

import pytest

from sensor_models.scene.manifest import load_scene
from sensor_models.scene.media import LIGHT
from sensor_models.scene.meshes import is_closed
from sensor_models.scene.model import Medium, Mesh
from sensor_models.scene.weather import absorption_by_visibility
from tests.sensor_models.scene_files import write_manifest


def medium(folder: Path, table: str) -> Medium:
    text = f'[world]\nmedium = "m"\n[media.m]\n{table}\n'
    return load_scene(write_manifest(folder, text)).media[0]


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
    assert fog.absorption == absorption_by_visibility(50.0)  # dense fog: at any wavelength


def test_water_droplets_have_another_lidar_ratio_than_dust(tmp_path: Path) -> None:
    assert medium(tmp_path, 'preset = "fog"\nvisibility = 50').lidar_ratio == 18.8
    assert medium(tmp_path, 'preset = "dust"\nconcentration = 1e-5').lidar_ratio > 40.0


def test_a_medium_of_its_own_numbers_is_what_they_say(tmp_path: Path) -> None:
    own = medium(tmp_path, "absorption = 0.1\nior = 1.33\nreturn_shape = 3\nreturn_scale = 2")
    numbers = {"absorption": 0.1, "ior": 1.33, "return_shape": 3.0, "return_scale": 2.0}
    assert own == Medium("m", band=LIGHT, **numbers)


def test_many_volumes_of_a_mesh_see_once_whether_it_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def counted(mesh: Mesh) -> bool:
        asked.append(len(mesh.faces))
        return is_closed(mesh)

    monkeypatch.setattr("sensor_models.scene.assembly.is_closed", counted)
    monkeypatch.setenv("SENSOR_FMUS_CACHE_DIR", str(tmp_path / "cache"))  # read, and not recalled
    text = "media = { mist = { absorption = 0.1 } }\n[meshes.a]\nsphere = { radius = 1 }\n"
    text += "[[volumes]]\nmesh = 'a'\nmedium = 'mist'\n" * 50
    assert len(load_scene(write_manifest(tmp_path, text)).volumes) == 50
    assert len(asked) == 1
