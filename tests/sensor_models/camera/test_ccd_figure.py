"""What VANE's figure 3 shows of its camera: dark corners, a curved horizon, detail in shadow."""

import math

import numpy as np
import pytest

from sensor_models.camera.ccd.camera import CcdCamera
from sensor_models.camera.ccd.parameters import (
    RAW,
    LightParameters,
    OpticsParameters,
    PictureParameters,
)
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.tracing import RayScene
from tests.sensor_models.scene_files import write_manifest

#: A plane to the horizon with a darker strip on it. A wall keeps the sun off its right half.
SCENE = """
[sky]
sun_direction = [1, 0, 1]
sun_spectrum = [[300e-9, 2.0], [1100e-9, 2.0]]
sky_spectrum = [[300e-9, 0.01], [1100e-9, 0.01]]
[materials.grey]
kind = "lambert"
source = "estimate"
surface = [{ diffuse_reflectance = 0.3 }]
[materials.dark]
kind = "lambert"
source = "estimate"
surface = [{ diffuse_reflectance = 0.15 }]
[meshes.ground]
plane = { size = [20000, 20000] }
material = "grey"
[[instances]]
mesh = "ground"
[meshes.strip]
plane = { size = [2, 16] }
material = "dark"
[[instances]]
mesh = "strip"
position = [8, 0, 0.01]
[meshes.wall]
box = { size = [1, 8, 6] }
material = "grey"
[[instances]]
mesh = "wall"
position = [12, -5, 3]
"""
#: The wall's shadow lies on x = 5.5 to 11.5, y = -9 to -1. Two places in it, and one in the sun.
STRIP, GROUND, LIT = (8.0, -4.0, 0.01), (6.3, -4.0, 0.0), (6.3, 4.0, 0.0)
#: The camera is 4 m above the origin, turned down by this; the image is 90 degrees wide.
DOWN, HEIGHT = 0.3, 4.0
COSINE, SINE = math.cos(DOWN), math.sin(DOWN)
POSE = np.array([[COSINE, 0, SINE, 0, 1, 0, -SINE, 0, COSINE, 0, 0, HEIGHT]])
SIDE = 200
HALF, HALF_WAY = SIDE / 2, SIDE // 2
#: J/m2, which ground in the sun comes close to; and which the sky does.
FULL, FULL_OF_SKY = 8e-9, 6e-10
LOSS = 150.0  # 1/m


def picture(folder, full_scale=FULL, gamma=1.0, vignetting=0.0, k1=0.0, rays=16):
    """The camera, digital numbers of 8 bits, and what was seen."""
    optics = OpticsParameters(
        width=SIDE,
        height=SIDE,
        intrinsics=(HALF, HALF, 0.0, 0.0),
        vignetting=vignetting,
        distortion=(k1, *[0.0] * 7),
    )
    own = PictureParameters(
        bands=1, bit_depth=8, gamma=gamma, full_scale=full_scale, exposure_time=1.0
    )
    camera = CcdCamera(optics, own, light=LightParameters(rays=rays), colors=RAW)
    with RayScene(load_scene(write_manifest(folder, SCENE))) as scene:
        seen = camera.expose(scene, POSE)
        return camera, camera.develop(scene.pool, seen.light, 0)[0][:, :, 0].astype(float), seen


def at(place):
    """Where a plain lens shows a place: row and column."""
    x, y, z = place[0], place[1], place[2] - HEIGHT
    forward, up = COSINE * x - SINE * z, SINE * x + COSINE * z
    return int(HALF - HALF * up / forward), int(HALF - HALF * y / forward)


@pytest.mark.acceptance("CCD-11")
def test_ccd_11_corners_are_darker(tmp_path):
    camera, numbers, _ = picture(tmp_path, full_scale=FULL_OF_SKY, vignetting=LOSS, rays=1)
    own = camera.optics
    # Above the horizon all is as bright, so that the lens alone makes a difference.
    rows, columns = np.mgrid[0:20, 0:SIDE] + 0.5 - HALF
    away = np.hypot(rows * own.ccd_size[1], columns * own.ccd_size[0]) / SIDE
    share = (1.0 - LOSS * away) * (own.focal_length / np.hypot(own.focal_length, away)) ** 4
    whole = numbers[10, SIDE // 2] / share[10, SIDE // 2]
    assert numbers[10, SIDE // 2] > 100
    np.testing.assert_allclose(numbers[:20], whole * share, atol=1.5)
    assert share[0, 0] < 0.8 * share[0, SIDE // 2]


@pytest.mark.acceptance("CCD-11")
def test_ccd_11_the_horizon_is_curved(tmp_path):
    k1, level = -0.07, math.tan(DOWN)  # where the horizon is, upward, in focal lengths
    _, _, seen = picture(tmp_path, k1=k1, rays=1)
    outward = np.linspace(-1.3, 1.3, 2001)
    bend = 1.0 + k1 * (outward**2 + level**2)
    middles = np.arange(SIDE) + 0.5
    expected = np.interp(middles, HALF + HALF * outward * bend, HALF - HALF * level * bend)
    open_sky = np.isinf(seen.distance).sum(axis=0)
    beside = slice(0, HALF_WAY)  # the wall stands before the horizon of the other half
    np.testing.assert_allclose(open_sky[beside], expected[beside], atol=0.6)
    assert open_sky[0] >= open_sky[HALF_WAY - 1] + 2


@pytest.mark.acceptance("CCD-11")
def test_ccd_11_gamma_shows_detail_in_the_shadow(tmp_path):
    _, straight, seen = picture(tmp_path)
    _, lifted, _ = picture(tmp_path, gamma=0.5)
    strip, ground = (at(place) for place in (STRIP, GROUND))
    # The shadow is as dark as its part of the sky, less than a tenth of the sun, and not black.
    assert 0.0 < seen.light[ground][0] < 0.1 * seen.light[at(LIT)][0]
    assert 128 < straight[at(LIT)] < 255
    # There the one is half as bright as the other: a few steps of 255, too few to be seen.
    assert straight[ground] - straight[strip] <= 3
    assert lifted[ground] - lifted[strip] >= 8
