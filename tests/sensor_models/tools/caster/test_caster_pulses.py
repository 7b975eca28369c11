"""Echoes from parts of a scene, against those of the lidar in the whole scene."""

import numpy as np
import pytest

from sensor_models.core.quantities import ParameterError
from sensor_models.lidar.patterns import ScanPattern
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.tracing import RayScene
from sensor_models.tools.caster import echoes, split
from sensor_models.tools.workers.local import LocalPool
from sensor_models.waveform import ReceiverParameters, WaveformLidar, WaveformParameters
from tests.sensor_models.scene_files import write_manifest

#: Posts before a wall, under a sun; all of it matt.
SCENE = """
[sky]
sun_direction = [-0.5, 0.3, 0.6]
sun_spectrum = [[300e-9, 5e8], [1100e-9, 5e8]]
[materials.matt]
kind = "lambert"
source = "estimate"
surface = [{ diffuse_reflectance = 0.6 }]
[meshes.ground]
plane = { size = [80, 80] }
material = "matt"
[[instances]]
mesh = "ground"
[meshes.wall]
box = { size = [1, 60, 8] }
material = "matt"
[[instances]]
mesh = "wall"
position = [30, 0, 4]
[meshes.post]
box = { size = [0.1, 0.1, 4] }
material = "matt"
"""
POST = '[[instances]]\nmesh = "post"\nposition = [{x}, {y}, 2]\n'
PLACE = (0.0, 0.0, 1.5)
HALF_TURN = 0.2  # rad about z


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    posts = "".join(POST.format(x=15.0 + 0.3 * n, y=1.1 * n) for n in range(-8, 9))
    return load_scene(write_manifest(tmp_path_factory.mktemp("scene"), SCENE + posts))


def lidar_of(**receiver):
    azimuth, elevation = np.meshgrid(np.linspace(-0.5, 0.5, 41), np.linspace(-0.15, 0.1, 6))
    pattern = ScanPattern.from_arrays(azimuth.T.ravel(), elevation.T.ravel(), rows=6)
    own = WaveformParameters(t_stop=4e-7, divergence_full_angle=0.01, subrays=37)
    return WaveformLidar(own, pattern, ReceiverParameters(**receiver), seed=5)


@pytest.mark.parametrize("receiver", [{}, {"type": 1}])
def test_echoes_are_those_of_the_whole_scene(tmp_path, scene, receiver):
    """With the same noise and background light: draws go by pulse and frame."""
    lidar = lidar_of(**receiver)
    parts = split(scene, tmp_path, 3, bands=[550e-9, lidar.parameters.wavelength])
    turn = (np.cos(HALF_TURN / 2), 0.0, 0.0, np.sin(HALF_TURN / 2))
    told = []
    with LocalPool(2) as pool:
        found = echoes(
            parts, lidar, pool, sky=scene.sky, position=PLACE, orientation=turn, frame=2,
            progress=lambda done, total: told.append((done, total)),
        )  # fmt: skip
    with RayScene(scene) as rays:
        cloud = lidar.capture(rays, np.array([*PLACE, *turn]), 2)
    points = cloud.points()
    assert told == [(246, 246)]
    assert len(found) == len(points) > 250, "some pulses have two echoes"
    own = np.linalg.norm(np.stack([points[axis] for axis in "xyz"], axis=1), axis=1)
    # Where a pulse grazes the ground, its rays are echoes that overlap. Without noise, the fit of
    # that many Gaussians moves by centimetres if ranges move by 1e-7 m.
    _, pulses, counts = np.unique(found["pulse"], return_inverse=True, return_counts=True)
    clear = counts[pulses] <= 2
    assert clear.sum() > 0.6 * len(points)
    np.testing.assert_allclose(found["range"], own, atol=0.05)
    np.testing.assert_allclose(found["range"][clear], own[clear], atol=2e-5)
    for name in ("intensity", "amplitude", "echo_width", "snr", "detection_probability"):
        told_of, known = found[name][clear], points[name][clear]
        np.testing.assert_allclose(told_of, known, rtol=2e-4, err_msg=name)
    assert (np.diff(found["pulse"]) >= 0).all()


def test_rays_of_pulses_start_in_the_aperture():
    lidar = lidar_of()
    starts, along = lidar.rays_of(0, 246)
    axis = lidar.pattern.directions(0)
    radius = lidar.parameters_of_pulse.aperture_radius
    np.testing.assert_allclose(np.linalg.norm(along, axis=2), 1.0, atol=1e-12)
    np.testing.assert_allclose((starts * axis[:, None]).sum(axis=2), 0.0, atol=1e-15)
    assert np.linalg.norm(starts, axis=2).max() <= radius * (1.0 + 1e-12)
    np.testing.assert_allclose(along.mean(axis=1), axis, atol=1e-3)


def test_a_lidar_needs_its_band(tmp_path, scene):
    parts = split(scene, tmp_path, 1, bands=[550e-9])
    with LocalPool(1) as pool, pytest.raises(ParameterError, match="no band is near the lidar"):
        echoes(parts, lidar_of(), pool)
