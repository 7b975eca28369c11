"""Pictures from parts of a scene, against those that the camera takes of the whole."""

import math

import numpy as np
import pytest

from sensor_models.camera.ccd.camera import CcdCamera
from sensor_models.camera.ccd.parameters import LightParameters, OpticsParameters, PictureParameters
from sensor_models.camera.ccd.thermal import ThermalParameters
from sensor_models.core.quantities import ParameterError
from sensor_models.light.spectra import reflectance
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.model import Sky
from sensor_models.scene.tracing import RayScene
from sensor_models.tools.caster import PartsWriter, photograph, split
from sensor_models.tools.workers.local import LocalPool
from tests.sensor_models.scene_files import write_manifest

#: A box that throws its shadow on the ground before the camera, and sideways light.
SCENE = """
[sky]
sun_direction = [0.3, 0.8, 0.5]
sun_spectrum = [[300e-9, 2.0], [1100e-9, 2.0]]
SKY
[materials.grey]
kind = "lambert"
source = "estimate"
surface = [{ diffuse_reflectance = 0.4 }]
[meshes.ground]
plane = { size = [200, 200] }
material = "grey"
[[instances]]
mesh = "ground"
BOX
"""
BOX = """
[materials.green]
kind = "lambert"
color = [0.2, 0.6, 0.1]
source = "estimate"
surface = [{ wavelength = 905e-9, diffuse_reflectance = 0.3 }]
[meshes.box]
box = { size = [2, 2, 3] }
material = "green"
[[instances]]
mesh = "box"
position = [8, 1, 1.5]
"""
BANDS = (450e-9, 500e-9, 550e-9, 600e-9, 650e-9, 700e-9)
PLACE = (0.0, 0.0, 2.0)
POSE = np.array([[1.0, 0, 0, 0, 1, 0, 0, 0, 1, *PLACE]])


@pytest.fixture(scope="module")
def pool():
    with LocalPool(2) as pool:
        yield pool


def scene_of(folder, box=BOX, sky=""):
    return load_scene(write_manifest(folder, SCENE.replace("BOX", box).replace("SKY", sky)))


def camera_of(**optics):
    shape = {"width": 96, "height": 72, "f_number": 2.0, **optics}
    return CcdCamera(
        OpticsParameters(**shape), PictureParameters(bands=3), light=LightParameters(rays=1)
    )


@pytest.mark.parametrize("optics", [{}, {"sample_factor": 2}, {"pupil_samples": 4}])
def test_a_lit_plane_is_what_the_camera_sees_of_the_whole_scene(tmp_path, pool, optics):
    """Nothing stands on it, so there is no light from surface to surface."""
    scene = scene_of(tmp_path, box="", sky="sky_spectrum = [[300e-9, 0.3], [1100e-9, 0.3]]")
    camera = camera_of(**optics)
    with RayScene(scene) as rays:
        seen = camera.expose(rays, POSE, 3)
        numbers, _ = camera.develop(rays.pool, seen.light, 3)
    parts = split(scene, tmp_path / "parts", 2, bands=BANDS)
    found = photograph(parts, camera, pool, scene.sky, position=PLACE, frame=3)
    assert np.isfinite(found.ideal.distance).mean() > 0.4
    np.testing.assert_allclose(found.light, seen.light, rtol=1e-5)
    assert np.abs(found.numbers.astype(int) - numbers).max() <= 1


def test_the_box_throws_its_shadow(tmp_path, pool):
    """Against the formula at what the whole scene's rays hit, and its rays to the sun."""
    scene, camera = scene_of(tmp_path), camera_of()
    found = photograph(
        split(scene, tmp_path / "parts", 3, bands=BANDS), camera, pool, scene.sky, position=PLACE
    )
    sun = np.array(scene.sky.sun_direction) / np.linalg.norm(scene.sky.sun_direction)
    with RayScene(scene) as rays:
        seen = rays.trace(PLACE, camera.axes())
        hit = np.isfinite(seen.t)
        places = np.array(PLACE) + seen.t[hit, None] * camera.axes()[hit] + 1e-4 * seen.normal[hit]
        shadow = np.isfinite(rays.trace(places, np.tile(sun, (len(places), 1))).t)
    cosine = np.where(shadow, 0.0, np.maximum(seen.normal[hit] @ sun, 0.0))
    share = np.array([reflectance(m, camera.wavelengths) for m in scene.materials])
    radiance = share[seen.material[hit]] / math.pi * 2.0 * cosine[:, None]
    wanted = radiance @ camera.response.T
    assert 0.05 < shadow.mean() < 0.8, "of light and shadow there is enough"
    # the box's green is linear between six bands here
    close = np.isclose(found.light[hit], wanted, rtol=0.02, atol=1e-9).all(axis=1)
    assert close.mean() > 0.995  # the rest pass an edge, or that of the shadow


def test_facets_are_lit_on_the_side_that_is_seen(tmp_path, pool):
    """A wall whose outside is away from camera and sun."""
    writer = PartsWriter(tmp_path, bands=[550e-9])
    corners = np.array([[5.0, -9, -9], [5.0, 9, -9], [5.0, 9, 9], [5.0, -9, 9]])
    writer.add(corners, [[0, 1, 2], [0, 2, 3]], [[0.5], [0.5]])
    parts, camera = writer.finish(), camera_of()
    even = ((300e-9, 2.0), (1100e-9, 2.0))
    ahead, behind = (
        photograph(parts, camera, pool, Sky(sun_direction=(x, 0.0, 0.0), sun_spectrum=even))
        for x in (-1.0, 1.0)
    )
    middle = ahead.light[36, 48]
    np.testing.assert_allclose(middle, 0.5 / math.pi * 2.0 * camera.response.sum(axis=1), rtol=1e-5)
    assert (behind.light[36, 48] == 0.0).all()


def test_parts_without_bands_are_refused(tmp_path, pool):
    parts = split(scene_of(tmp_path), tmp_path / "parts", 1)
    with pytest.raises(ParameterError, match="parts without bands have no reflectances to see"):
        photograph(parts, camera_of(), pool, Sky())


def test_a_thermal_camera_is_refused(tmp_path, pool):
    parts = split(scene_of(tmp_path), tmp_path / "parts", 1, bands=BANDS)
    camera = CcdCamera(thermal=ThermalParameters(on=True))
    with pytest.raises(ParameterError, match="pictures of parts are of sunlight alone"):
        photograph(parts, camera, pool, Sky())


def test_the_yard_has_its_colours_in_the_visible(tmp_path):
    """Its materials know numbers of lidars' bands alone."""
    yard = load_scene("yard")
    split(yard, tmp_path, 1, bands=BANDS)
    values = np.load(tmp_path / "part-00000" / "values.npy")
    materials = np.concatenate([yard.meshes[i.mesh].face_material for i in yard.instances])
    names = [material.name for material in yard.materials]
    grass = values[materials == names.index("grass")].mean(axis=0)
    assert grass[2] > 1.3 * grass[0]
    assert (values[materials == names.index("glass")] == 0.0).all()
