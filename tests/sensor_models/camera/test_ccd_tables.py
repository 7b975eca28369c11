"""Surfaces that are tables, before the CCD camera: sun and sky against closed forms."""

import math
from pathlib import Path

import numpy as np
import pytest

from sensor_models.camera.ccd.parameters import Sharing
from sensor_models.light.surfaces import bidirectional_reflectance, pack_surface
from sensor_models.scene.brdf import albedos, table_of
from sensor_models.scene.model import SurfaceKind, SurfaceParameters
from tests.brdf_tables import coated_rows, lambert_rows
from tests.sensor_models.camera.test_ccd_light import EVEN, GROUND, matt, radiance
from tests.sensor_models.scene.openmaterial.asset_files import brdf_content, write

TABLE = """
[materials.grey]
kind = "tabulated"
source = "a table"
brdf = ["grey_brdf.xompt"]
"""
COAT = SurfaceParameters(
    diffuse_reflectance=0.3, ior=1.5, roughness_beckmann=0.2, roughness_oren_nayar=0.2
)
FINE = np.radians(np.linspace(0.0, 81.0, 28)), np.radians(np.linspace(0.0, 180.0, 25))
DARK_SKY = EVEN.replace("0.3", "0.0")
NO_SUN = EVEN.replace("2.0", "0.0")


def of_table(folder: Path, rows: np.ndarray, sky: str, **light) -> float:
    write(folder / "grey_brdf.xompt", **brdf_content(rows, 550e-9))
    return float(radiance(folder, TABLE + GROUND + sky, **light).mean())


@pytest.mark.parametrize("own", [False, True])
def test_a_matt_table_is_as_bright_as_the_closed_form(tmp_path: Path, own: bool):
    scene = matt("grey", 0.5) + GROUND + EVEN
    expected = radiance(tmp_path, scene, sky_at_bounce=own).mean()
    found = of_table(tmp_path, lambert_rows(0.5), EVEN, sky_at_bounce=own)
    assert found == pytest.approx(expected, rel=1e-3)
    assert expected == pytest.approx(0.5 * (2.0 / math.pi + 0.3), rel=1e-3)


@pytest.mark.parametrize("degrees", [0.0, 12.0, 50.0])
def test_a_table_sends_on_what_the_sun_gives_it(tmp_path: Path, degrees: float):
    """The camera looks down, so light and viewer are as far apart as the sun is from the zenith."""
    angle = math.radians(degrees)
    sun = [math.sin(angle), 0.0, math.cos(angle)]
    sky = DARK_SKY.replace("[0, 0, 1]", str(sun))
    found = of_table(tmp_path, coated_rows(COAT, *FINE), sky)
    row, up = pack_surface(SurfaceKind.two_layer, COAT), np.array([0.0, 0.0, 1.0])
    f = bidirectional_reflectance(row, np.array(sun), up, up)[0]
    # the pixels reach 5 degrees to all sides, over which the peak is round
    assert found == pytest.approx(f * math.cos(angle) * 2.0, rel=0.03)


def test_a_table_sends_on_what_the_sky_gives_it(tmp_path: Path):
    rows = coated_rows(COAT, *FINE)
    found = of_table(tmp_path, rows, NO_SUN, rays=256)
    theta, albedo = albedos(table_of(rows))
    assert theta[0] == 0.0
    assert found == pytest.approx(0.3 * albedo[0], rel=0.01)


def test_tables_do_not_take_what_neighbours_share(tmp_path: Path):
    """What the cosine law finds is not what a table makes of each of its rays."""
    write(tmp_path / "grey_brdf.xompt", **brdf_content(coated_rows(COAT, *FINE), 550e-9))
    scene = TABLE + GROUND + NO_SUN
    alone, shared = (radiance(tmp_path, scene, rays=64, sharing=sharing) for sharing in Sharing)
    np.testing.assert_array_equal(alone, shared)
