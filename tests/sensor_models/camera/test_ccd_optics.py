"""The lens of the CCD camera: aberrations, vignetting, distortion as OpenCV has it."""

import math

import cv2
import numpy as np
import pytest

from sensor_models.camera.ccd.camera import CcdCamera
from sensor_models.camera.ccd.optics import (
    focus_of,
    lens_of,
    pupil_points,
    vignetting,
    vignetting_at,
)
from sensor_models.camera.ccd.parameters import LightParameters, OpticsParameters, PictureParameters
from sensor_models.camera.intrinsics import intrinsics_of
from sensor_models.camera.lens import Distortion
from sensor_models.core.quantities import ParameterError
from sensor_models.kernels.camera.ccd.aberrations import defocus_of, displace, slope
from sensor_models.scene.tracing import RayScene
from tests.smallest_scene import smallest_scene


def aberration(defocus, seidel, x_o, y_o, x_p, y_p):
    b, c, d, e, f = seidel
    r2, rho2, k2 = x_o**2 + y_o**2, x_p**2 + y_p**2, x_o * x_p + y_o * y_p
    return defocus * rho2 + b * rho2**2 + c * k2**2 + d * r2 * rho2 + e * r2 * k2 + f * rho2 * k2


@pytest.mark.acceptance("CCD-1")
def test_the_gradient_of_the_aberration_function():
    found = slope(1.0, (2.0, 3.0, 4.0, 5.0, 6.0), 0.3, -0.2, 0.5, 0.4)
    np.testing.assert_allclose(found, (4.639, 2.158), atol=1e-9)


@pytest.mark.acceptance("CCD-2")
def test_the_gradient_is_that_of_the_function():
    random = np.random.default_rng(1)
    step = 1e-5
    for _ in range(50):
        a, *seidel = random.normal(size=6)
        place, (x, y) = random.normal(size=2), random.normal(size=2)
        terms = tuple(seidel)
        across = aberration(a, terms, *place, x + step, y) - aberration(
            a, terms, *place, x - step, y
        )
        down = aberration(a, terms, *place, x, y + step) - aberration(a, terms, *place, x, y - step)
        found = slope(a, terms, *place, x, y)
        scale = np.abs(found).max()
        np.testing.assert_allclose(
            found, (across / (2 * step), down / (2 * step)), atol=1e-6 * scale
        )


@pytest.mark.acceptance("CCD-3", "CCD-4")
def test_defocus_is_that_of_a_thin_lens():
    optics = OpticsParameters()
    focus = focus_of(optics)
    assert 1.0 / focus == pytest.approx(5.006, rel=1e-4)
    a = defocus_of(focus, 1.0)
    assert a == pytest.approx(-0.400120, rel=1e-4)
    assert a * 1.5e-3**2 == pytest.approx(-9.0027e-7, rel=1e-4)
    assert 6.0072e-3 * 2.0 * abs(a) * 1.5e-3 == pytest.approx(7.2108e-6, rel=1e-4)
    assert defocus_of(focus, 1.0 / focus) == pytest.approx(0.0, abs=1e-12)
    assert defocus_of(focus, math.inf) == defocus_of(focus, 0.0) == pytest.approx(focus / 2.0)


@pytest.mark.acceptance("CCD-5")
def test_the_chief_ray_is_displaced_by_distortion_alone():
    x, y = slope(0.3, (5.0, 6.0, 7.0, 1e3, 8.0), 2e-3, 1e-3, 0.0, 0.0)
    np.testing.assert_allclose((-6e-3 * x, -6e-3 * y), (-0.06e-6, -0.03e-6), rtol=1e-9)


@pytest.mark.acceptance("CCD-6")
def test_vignetting():
    assert vignetting_at(6e-3, 0.0, 0.0, 0.0) == 1.0
    assert vignetting_at(6e-3, 0.0, 2.4e-3, 1.8e-3) == pytest.approx(0.64, abs=1e-9)
    assert vignetting_at(6e-3, 20.0, 2.4e-3, 1.8e-3) == pytest.approx(0.6016, abs=1e-9)
    assert vignetting_at(6e-3, 0.0, 6e-3, 0.0) == pytest.approx(0.25, abs=1e-9)
    assert vignetting_at(6e-3, 1e6, 6e-3, 0.0) == 0.0
    corners = vignetting(OpticsParameters(vignetting=20.0))
    assert corners[0, 0] == corners[-1, -1] < corners[384, 0] < corners[384, 512]


def through(optics: OpticsParameters, light: np.ndarray, distance: float) -> np.ndarray:
    """Light of ideal image points where the lens puts it, (rows, columns)."""
    away = np.full(light.size, distance, np.float32)
    flat, result = light.astype(np.float32).reshape(-1, 1), np.zeros((light.size, 1), np.float32)
    with RayScene(smallest_scene(), threads=2) as rays:
        rays.pool.run(displace, lens_of(optics, away), flat, away, result)
    return result.reshape(light.shape)


def test_a_point_that_is_out_of_focus_becomes_a_disc_of_its_blur_radius():
    optics = OpticsParameters(width=101, height=75, ccd_size=(0.1e-3, 0.0743e-3),
                              pupil_samples=1024)  # fmt: skip
    light = np.zeros((75, 101))
    light[37, 50] = 1.0
    blurred = through(optics, light, 1.0)
    # Cells of 0.99 um, a disc of 7.21 um; gaps are filled, so only its size and shape are exact.
    down, across = np.nonzero(blurred > 0.0)
    radius = np.hypot((down - 37) * 0.0743e-3 / 75, (across - 50) * 0.1e-3 / 101)
    assert radius.max() == pytest.approx(7.2108e-6, abs=1e-6)
    assert (blurred[30:45, 43:58] > 0.0).mean() > 0.7
    np.testing.assert_array_equal(through(optics, light, 5.006), light)


def test_light_that_blurs_is_neither_more_nor_less():
    optics = OpticsParameters(width=64, height=48, ccd_size=(0.1e-3, 0.075e-3), pupil_samples=32)
    np.testing.assert_allclose(through(optics, np.full((48, 64), 3.0), 1.0), 3.0, rtol=1e-6)


def test_seidel_distortion_moves_the_image_by_its_displacement():
    e = 2e6  # 1/m3: 6 um by 1 mm off the axis
    optics = OpticsParameters(seidel=(0.0, 0.0, 0.0, e, 0.0))
    light = np.zeros((768, 1024))
    light[384 - 150, 512 + 200] = 1.0  # ideal point
    x, y = (200.5 * 4.76e-3 / 1024, -149.5 * 3.57e-3 / 768)
    scale = 1.0 - 6.0072e-3 * e * (x * x + y * y)
    moved = through(optics, light, 5.0)
    down, across = np.nonzero(moved)
    assert across.mean() == pytest.approx(512 + x * scale / (4.76e-3 / 1024), abs=1.0)
    assert down.mean() == pytest.approx(384 + y * scale / (3.57e-3 / 768), abs=1.0)


def test_points_of_the_pupil_have_equal_shares_of_its_area():
    points = pupil_points(2.0, 400)
    square = (points**2).sum(axis=1)
    assert square.max() < 4.0
    assert square.mean() == pytest.approx(2.0, rel=1e-3)  # half of the radius squared
    np.testing.assert_allclose(points.mean(axis=0), 0.0, atol=0.02)


TERMS = (-0.21, 0.07, 1.2e-3, -8e-4, 0.01, 0.05, -0.02, 0.003)


@pytest.mark.parametrize("model", list(Distortion))
def test_rays_are_those_that_opencv_finds(model: Distortion):
    terms = TERMS if model == Distortion.pinhole else (0.05, -0.02, 0.0, 0.0, 0.004, -1e-3, 0, 0)
    optics = OpticsParameters(width=64, height=48, intrinsics=(50.0, 51.0, 31.0, 25.0),
                              distortion_model=model, distortion=terms)  # fmt: skip
    known = intrinsics_of(optics)["opencv"]
    matrix, found = np.array(known["camera_matrix"]), np.array(known["distortion"])
    pixels = np.stack(np.meshgrid(np.arange(64.0), np.arange(48.0)), axis=-1).reshape(-1, 1, 2)
    rays = CcdCamera(optics).axes().reshape(-1, 3)
    ideal = np.stack([-rays[:, 1] / rays[:, 0], -rays[:, 2] / rays[:, 0]], axis=-1)
    points = np.concatenate([ideal, np.ones((len(ideal), 1))], axis=1).reshape(-1, 1, 3)
    zero = np.zeros(3)
    if model == Distortion.fisheye:
        back, _ = cv2.fisheye.projectPoints(points, zero, zero, matrix, found)
    else:
        back, _ = cv2.projectPoints(points, zero, zero, matrix, found)
    np.testing.assert_allclose(back.reshape(-1, 2), pixels.reshape(-1, 2), atol=1e-6)


def test_opencv_straightens_a_picture(tmp_path):
    """The straight edge of a wall through a barrel: bent, and straight after ``undistort``."""
    from sensor_models.scene.manifest import load_scene
    from tests.sensor_models.scene_files import write_manifest

    text = """
[sky]
sky_spectrum = [[300e-9, 1.0], [1100e-9, 1.0]]
[materials.black]
kind = "lambert"
source = "estimate"
surface = [{ diffuse_reflectance = 0.0 }]
[meshes.wall]
box = { size = [0.1, 40, 3] }
material = "black"
[[instances]]
mesh = "wall"
position = [5, 0, 3]
"""
    optics = OpticsParameters(width=160, height=120, intrinsics=(100.0, 100.0, 80.0, 60.0),
                              distortion=(-0.2, 0.03, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0))  # fmt: skip
    camera = CcdCamera(optics, PictureParameters(bands=1), light=LightParameters(rays=1))
    pose = np.array([[1.0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]])
    with RayScene(load_scene(write_manifest(tmp_path, text))) as rays:
        picture = camera.expose(rays, pose).light[:, :, 0]
    known = intrinsics_of(optics)["opencv"]
    matrix, terms = np.array(known["camera_matrix"]), np.array(known["distortion"])
    straight = cv2.undistort(picture, matrix, terms)
    bright = picture.max()

    def edge(image: np.ndarray) -> np.ndarray:
        """Rows of the lower edge of the wall, in columns that the lens does not cut."""
        dark = image[:, 15:145] < 0.1 * bright  # the ground is 0.2
        return np.array([np.flatnonzero(column)[-1] for column in dark.T])

    assert np.ptp(edge(picture)) >= 3
    assert np.ptp(edge(straight)) <= 1
    assert edge(straight).mean() == pytest.approx(59.5 - 100.0 * 1.5 / 4.95, abs=1.0)


def test_a_lens_that_folds_is_refused():
    optics = OpticsParameters(width=64, height=48, intrinsics=(20.0, 20.0, 0.0, 0.0),
                              distortion=(-0.5, 0, 0, 0, 0, 0, 0, 0))  # fmt: skip
    with pytest.raises(ParameterError, match="folds the image"):
        CcdCamera(optics)
