"""The light of a CCD camera against that of Mitsuba 3, where both take the same for granted.

Matt surfaces, a sun far away, a uniform sky, direct light and one bounce: a path tracer of depth 3.
Pixels are averaged over their area by both, here with 64 rays each.
"""

from pathlib import Path

import numpy as np
import pytest

from sensor_models.camera.ccd.camera import CcdCamera
from sensor_models.camera.ccd.parameters import LightParameters, OpticsParameters, PictureParameters
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.tracing import RayScene
from tests import mitsuba_scenes as peer
from tests.sensor_models.scene_files import write_manifest

SUN, SKY = 2.0, 0.3
WIDTH, HEIGHT, ANGLE, FACTOR = 64, 48, 50.0, 8
EYE, TARGET = np.array([7.0, -6.0, 4.0]), np.array([0.5, 1.0, 0.5])

SCENE = f"""
[sky]
sun_direction = [0.4, -0.6, 0.7]
sun_spectrum = [[300e-9, {SUN}], [1100e-9, {SUN}]]
sky_spectrum = [[300e-9, {SKY}], [1100e-9, {SKY}]]
[materials.grey]
kind = "lambert"
source = "estimate"
surface = [{{ diffuse_reflectance = 0.5 }}]
[materials.dark]
kind = "lambert"
source = "estimate"
surface = [{{ diffuse_reflectance = 0.2 }}]
[materials.light]
kind = "lambert"
source = "estimate"
surface = [{{ diffuse_reflectance = 0.8 }}]
[meshes.ground]
plane = {{ size = [2000, 2000] }}
material = "grey"
[meshes.box]
box = {{ size = [2, 3, 1.5] }}
material = "light"
[meshes.ball]
sphere = {{ radius = 1.0 }}
material = "dark"
[[instances]]
mesh = "ground"
[[instances]]
mesh = "box"
position = [0, 0, 0.75]
[[instances]]
mesh = "box"
position = [-0.5, 3.4, 0.75]
roll_pitch_yaw_deg = [0, 0, 30]
[[instances]]
mesh = "ball"
position = [2.5, 1.0, 1.0]
"""


def looking(eye: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The pose of a camera at a place that looks at another."""
    ahead = (target - eye) / np.linalg.norm(target - eye)
    left = np.cross([0.0, 0.0, 1.0], ahead)
    left /= np.linalg.norm(left)
    turn = np.stack([ahead, left, np.cross(ahead, left)], axis=1)
    return np.array([[*turn.ravel(), *eye]])


def test_light_is_that_of_a_path_tracer(tmp_path: Path) -> None:
    mitsuba = pytest.importorskip("mitsuba", reason="no wheel of Mitsuba for this platform")
    mitsuba.set_variant("scalar_rgb")
    scene = load_scene(write_manifest(tmp_path, SCENE))
    focal = WIDTH / 2.0 / np.tan(np.radians(ANGLE / 2.0))
    optics = OpticsParameters(
        width=WIDTH, height=HEIGHT, intrinsics=(focal, focal, 0.0, 0.0), sample_factor=FACTOR
    )
    camera = CcdCamera(
        optics, PictureParameters(bands=1), light=LightParameters(rays=16, sky_at_bounce=True)
    )
    with RayScene(scene) as rays:
        seen = camera.expose(rays, looking(EYE, TARGET))
    ours = seen.light[:, :, 0] / camera.response.sum()
    shares = [m.at_wavelength[905e-9].diffuse_reflectance for m in scene.materials]
    parts = {
        **peer.shapes(scene, tmp_path, shares),
        **peer.lights(np.array(scene.sky.sun_direction), SUN, SKY),
        "sensor": peer.camera(EYE, TARGET, ANGLE, (WIDTH, HEIGHT), 1024),
    }
    theirs = peer.picture(parts, depth=3)
    off = np.abs(ours - theirs) / theirs
    assert np.median(off) <= 0.01
    assert np.percentile(off, 99.0) <= 0.05
    assert ours.mean() == pytest.approx(theirs.mean(), rel=2e-3)
