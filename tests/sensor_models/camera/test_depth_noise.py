"""Noise and random placement of the depth camera: the acceptance rows, and each term alone."""

import dataclasses
import math

import numpy as np
import pytest

from sensor_models.camera import (
    DepthCamera,
    DepthCameraParameters,
    FramePlacementParameters,
    ImageNoiseParameters,
    Projection,
)
from sensor_models.camera.depth.camera import matrices_of
from sensor_models.core.frames import MountParameters
from sensor_models.core.placement import draw_placement, draw_placements, quaternion_of
from sensor_models.core.quantities import ParameterError
from sensor_models.core.random import stream_key
from sensor_models.scene.model import Material, SurfaceKind, SurfaceParameters
from sensor_models.scene.tracing import RayScene
from tests import oracles_rays as twin
from tests.sensor_models.camera.test_depth_camera import AT_ORIGIN, wall

SAMPLES = 1000 * 1000
PLAIN = {"segmentation": False, "normalize_range": False, "horizontal_fov": 0.5}
FLAT = DepthCameraParameters(width=1000, height=1000, **PLAIN)
NONE = {"on": True, "dropout": 0.0, "multiplier": 0.0}


def images(noise, x=4.0, parameters=FLAT, frame=0, seed=7):
    """The image of a wall across the axis with noise."""
    camera = DepthCamera(parameters, ImageNoiseParameters(**noise), seed=seed)
    with RayScene(twin.scene_of(wall(x)), threads=2) as rays:
        return camera.capture(rays, AT_ORIGIN, frame).image.astype(float)


@pytest.mark.acceptance("NOISE-1")
def test_noise_1_the_error_is_a_share_of_the_distance():
    image = images(NONE | {"multiplier": 0.01})
    assert image.std() == pytest.approx(0.04, rel=0.005)  # the row's
    assert image.mean() == pytest.approx(4.0, abs=4 * 0.04 / 1000)  # 4 sigma


@pytest.mark.acceptance("NOISE-2")
def test_noise_2_failed_pixels_read_zero():
    image = images(NONE | {"dropout": 0.01, "multiplier": 0.01})
    # the row's three numbers, each to 4 sigma: of a share of all pixels, ...
    share = 4.0 * math.sqrt(0.01 * 0.99 / SAMPLES)
    assert (image == 0.0).mean() == pytest.approx(0.0100, abs=share)
    # ... of a mean of values that deviate by 0.4, ...
    assert image.mean() == pytest.approx(3.960, abs=4.0 * 0.39998 / math.sqrt(SAMPLES))
    # ... and of a deviation s, which scatters by sqrt(m4 - s^4) / (2 s sqrt(N)); the fourth moment
    # is that of the zeros, 0.01 times 3.96^4
    scatter = math.sqrt(0.01 * 3.96**4 - 0.39998**4) / (2.0 * 0.39998 * math.sqrt(SAMPLES))
    assert image.std() == pytest.approx(0.39998, abs=4.0 * scatter)
    # pixels that have not failed know nothing of those that have
    alive = image[image > 0.0]
    assert alive.std() == pytest.approx(0.04, abs=4.0 * 0.04 / math.sqrt(2.0 * alive.size))


@pytest.mark.acceptance("NOISE-3")
def test_noise_3_switched_off_nothing_changes():
    everything = {
        "on": False,
        "dropout": 0.5,
        "multiplier": 0.5,
        "baseline": 0.1,
        "disparity_sigma": 1.0,
        "disparity_step": 1.0,
        "edge_dropout": 1.0,
    }
    small = DepthCameraParameters(width=40, height=30, **PLAIN)
    clean = DepthCamera(small)
    noisy = DepthCamera(small, ImageNoiseParameters(**everything))
    random = np.random.default_rng(1)
    scene = twin.scene_of(twin.mesh_of_corners(twin.random_triangles(random, 200)))
    with RayScene(scene) as rays:
        first, second = clean.capture(rays, AT_ORIGIN), noisy.capture(rays, AT_ORIGIN)
    assert first.image.tobytes() == second.image.tobytes()


def test_negative_distances_read_zero():
    image = images(NONE | {"multiplier": 2.0})
    # The normal law is below -1/2 for 0.30854 of its draws; 4 sigma of the share.
    assert (image == 0.0).mean() > 0.3085 - 4 * math.sqrt(0.3085 * 0.6915 / SAMPLES)


def test_misses_are_not_perturbed():
    noise = ImageNoiseParameters(on=True, dropout=1.0, multiplier=0.5)
    camera = DepthCamera(DepthCameraParameters(width=20, height=20, **PLAIN), noise)
    with RayScene(twin.scene_of()) as rays:
        assert (camera.capture(rays, AT_ORIGIN).image == 10.0).all()


@pytest.mark.parametrize("z", [2.0, 4.0, 8.0])
def test_stereo_noise_grows_with_the_square_of_the_depth(z):
    far = DepthCameraParameters(width=500, height=500, max_range=100.0, **PLAIN)
    noise = NONE | {"baseline": 0.095, "disparity_sigma": 0.1}
    image = images(noise, z, far)
    f, _ = far.focal_lengths
    expected = z * z * 0.1 / (f * 0.095)
    # Second order of D -> f b / D: a share of 3/2 (sigma/D)^2... and 4 sigma of a deviation.
    second = 4.0 * (expected / z) ** 2
    assert image.std() == pytest.approx(expected, rel=second + 4.0 / math.sqrt(2 * image.size))


def test_disparities_come_in_steps():
    ramp = twin.mesh_of([(2, -9, 9), (8, -9, -9), (8, 9, -9), (2, 9, 9)], [[0, 1, 2], [0, 2, 3]])
    parameters = DepthCameraParameters(width=64, height=64, **PLAIN)
    noise = ImageNoiseParameters(**NONE, baseline=0.05, disparity_step=0.0625)
    with RayScene(twin.scene_of(ramp)) as rays:
        stepped = DepthCamera(parameters, noise).capture(rays, AT_ORIGIN).image.astype(float)
        true = DepthCamera(parameters).capture(rays, AT_ORIGIN).image.astype(float)
    metres = 0.05 * parameters.focal_lengths[0]
    steps = metres / stepped / 0.0625
    np.testing.assert_allclose(steps, np.round(steps), atol=1e-4)  # float32 of some 30 steps
    assert len(np.unique(np.round(steps))) > 3
    assert np.abs(metres / stepped - metres / true).max() <= 0.0625 / 2 + 1e-4


def test_pixels_beside_a_jump_of_depth_fail():
    box = twin.box((3.0, -0.3, -0.3), (3.2, 0.3, 0.3))
    parameters = DepthCameraParameters(width=60, height=60, **PLAIN)
    noise = ImageNoiseParameters(**NONE, edge_dropout=1.0)
    with RayScene(twin.scene_of(wall(6.0), box)) as rays:
        dropped = DepthCamera(parameters, noise).capture(rays, AT_ORIGIN).image
        true = DepthCamera(parameters).capture(rays, AT_ORIGIN).image
    near = np.abs(true - 3.0) < 0.1
    beside = np.zeros_like(near)
    for axis in (0, 1):
        change = np.diff(near.astype(int), axis=axis) != 0
        beside |= np.insert(change, 0, False, axis=axis)  # the later one of two neighbours
        beside |= np.insert(change, change.shape[axis], False, axis=axis)
    assert beside.any()
    np.testing.assert_array_equal(dropped == 0.0, beside)
    np.testing.assert_array_equal(dropped[~beside], true[~beside])


def test_a_share_of_the_pixels_at_edges_fails():
    box = twin.box((3.0, -0.3, -0.3), (3.2, 0.3, 0.3))
    parameters = DepthCameraParameters(width=600, height=600, **PLAIN)
    counts = []
    with RayScene(twin.scene_of(wall(6.0), box)) as rays:
        for share in (1.0, 0.3):
            noise = ImageNoiseParameters(**NONE, edge_dropout=share)
            image = DepthCamera(parameters, noise).capture(rays, AT_ORIGIN).image
            counts.append(np.count_nonzero(image == 0.0))
    deviation = math.sqrt(counts[0] * 0.3 * 0.7)
    assert abs(counts[1] - 0.3 * counts[0]) < 4.0 * deviation


def test_points_lie_on_their_rays_with_noise():
    noise = ImageNoiseParameters(on=True, dropout=0.1, multiplier=0.05)
    parameters = DepthCameraParameters(width=30, height=20, return_pointcloud=True, **PLAIN)
    camera = DepthCamera(parameters, noise, distances=True)
    with RayScene(twin.scene_of(wall(4.0))) as rays:
        frame = camera.capture(rays, AT_ORIGIN)
    valid = np.isfinite(frame.distance)
    assert 0.8 < valid.mean() < 1.0
    np.testing.assert_allclose(
        frame.points[valid], (frame.distance[..., None] * camera.axes)[valid], rtol=1e-6, atol=1e-7
    )
    np.testing.assert_allclose(frame.image[valid], frame.points[..., 0][valid], rtol=1e-6)
    assert (frame.image[~valid] == 0.0).all()


def test_draws_depend_on_seed_and_frame_and_on_nothing_else():
    small = DepthCameraParameters(width=30, height=20, **PLAIN)
    noise = {"on": True, "dropout": 0.1, "multiplier": 0.05}
    first = images(noise, parameters=small)
    np.testing.assert_array_equal(first, images(noise, parameters=small))
    assert (first != images(noise, parameters=small, frame=1)).any()
    assert (first != images(noise, parameters=small, seed=8)).any()
    # Without one term, the other is not shifted.
    kept = first != 0.0
    alone = images(noise | {"dropout": 0.0}, parameters=small)
    np.testing.assert_array_equal(first[kept], alone[kept])


def test_stereo_without_a_baseline_or_a_pinhole_is_refused():
    with pytest.raises(ParameterError, match=r"noise.baseline = 0.0 m is out of range"):
        ImageNoiseParameters(disparity_sigma=0.1)
    stereo = ImageNoiseParameters(on=True, baseline=0.1, disparity_sigma=0.1)
    with pytest.raises(ParameterError, match="needs a pinhole"):
        DepthCamera(DepthCameraParameters(projection=Projection.spherical), stereo)


@pytest.mark.acceptance("PLACE-1")
def test_place_1_translations_are_uniform_within_their_limits():
    key = stream_key(3, "camera", "placement")
    drawn = draw_placements(FramePlacementParameters(on=True), key, 0, 1_000_000)[:, :3]
    # The row's bounds; the least of them, of the mean of y, is 2.9 of its deviations.
    np.testing.assert_allclose(drawn.mean(axis=0), (0.095, -0.015, 0.025), rtol=0.005)
    np.testing.assert_allclose(drawn.std(axis=0), (0.014434, 0.025981, 0.008660), rtol=0.005)
    assert (drawn >= (0.07, -0.06, 0.01)).all()
    assert (drawn <= (0.12, 0.03, 0.04)).all()


def test_angles_of_a_placement_are_uniform_within_their_limits():
    key = stream_key(3, "camera", "placement")
    only_yaw = FramePlacementParameters(
        on=True, min_rotation=(0.0, 0.0, -0.3), max_rotation=(0.0, 0.0, 0.1)
    )
    drawn = draw_placements(only_yaw, key, 0, 100_000)[:, 3:]
    assert (drawn[:, 1:3] == 0.0).all()
    yaw = 2.0 * np.arctan2(drawn[:, 3], drawn[:, 0])
    std = 0.4 / math.sqrt(12.0)
    assert yaw.mean() == pytest.approx(-0.1, abs=4.0 * std / math.sqrt(1e5))
    # The deviation of a uniform law's deviation is std / sqrt(5 n).
    assert yaw.std() == pytest.approx(std, rel=4.0 / math.sqrt(5e5))
    assert -0.3 <= yaw.min() < yaw.max() <= 0.1


def test_each_camera_of_a_batch_has_the_placement_that_it_has_alone():
    key, placement = stream_key(3, "camera", "placement"), FramePlacementParameters(on=True)
    for place, pose in enumerate(draw_placements(placement, key, 4, 5, first=2)):
        alone = draw_placement(placement, key, 4, 2 + place)
        assert tuple(pose[:3].tolist()) == alone.position
        # Brought to unit length again, which is of a rounding.
        np.testing.assert_allclose(pose[3:], alone.orientation, rtol=0, atol=1e-15)


@pytest.mark.acceptance("PLACE-2")
def test_place_2_equal_limits_give_exactly_that_pose():
    same = FramePlacementParameters(
        on=True,
        min_translation=(0.1, -0.2, 0.3),
        max_translation=(0.1, -0.2, 0.3),
        min_rotation=(0.1, 0.2, 0.3),
        max_rotation=(0.1, 0.2, 0.3),
    )
    camera = DepthCamera(placement=same)
    expected = MountParameters((0.1, -0.2, 0.3), quaternion_of(0.1, 0.2, 0.3))
    for _ in range(3):
        assert camera.mount_at(0) == expected
        camera.reset()


def test_rotations_are_about_the_turned_axes_x_y_z():
    roll, pitch, yaw = 0.1, -0.4, 0.7

    def turn(axis, angle):
        c, s = math.cos(angle), math.sin(angle)
        matrix = np.eye(3)
        first, second = [(1, 2), (2, 0), (0, 1)][axis]
        matrix[first, first] = matrix[second, second] = c
        matrix[first, second], matrix[second, first] = -s, s
        return matrix

    expected = turn(0, roll) @ turn(1, pitch) @ turn(2, yaw)
    found = matrices_of(np.array(quaternion_of(roll, pitch, yaw)))
    np.testing.assert_allclose(found, expected, atol=1e-15)


def test_a_placement_is_drawn_at_each_reset_or_each_frame():
    once = DepthCamera(placement=FramePlacementParameters(on=True), seed=5)
    assert once.mount_at(0) == once.mount_at(1)
    before = once.mount_at(0)
    once.reset()
    assert once.mount_at(0) != before
    again = DepthCamera(placement=FramePlacementParameters(on=True), seed=5)
    assert again.mount_at(0) == before
    each = DepthCamera(placement=FramePlacementParameters(on=True, every_frame=True), seed=5)
    assert each.mount_at(0) != each.mount_at(1)
    fixed = MountParameters((1.0, 2.0, 3.0))
    assert DepthCamera(mount=fixed).mount_at(4) is fixed


def test_limits_in_the_wrong_order_are_refused():
    with pytest.raises(ParameterError, match="min_translation"):
        FramePlacementParameters(min_translation=(0.2, 0.0, 0.0), max_translation=(0.1, 0.0, 0.1))


def test_an_absolute_error_is_the_same_at_any_distance():
    for x in (0.5, 4.0):
        image = images(NONE | {"rms": 0.02, "bias": 0.05}, x)
        # 4 sigma of a mean and of a deviation of a million draws
        assert image.mean() - x == pytest.approx(0.05, abs=4.0 * 0.02 / 1000.0)
        assert image.std() == pytest.approx(0.02, rel=4.0 / math.sqrt(2.0 * SAMPLES))


def test_an_absolute_error_moves_no_distance_below_zero():
    image = images(NONE | {"rms": 1.0}, 0.5)
    assert image.min() == 0.0
    # the normal law is below -1/2 for 0.30854 of its draws, and the least distance is 0.2 m
    below = 0.5 * math.erfc((0.5 - 0.2) / math.sqrt(2.0))
    share = 4.0 * math.sqrt(below * (1.0 - below) / SAMPLES)
    assert (image == 0.0).mean() == pytest.approx(below, abs=share)


def test_the_bias_is_linear_in_the_range():
    for x in (1.0, 2.0, 4.0):
        image = images(NONE | {"bias": -0.02, "scale_error": 0.03}, x)
        np.testing.assert_allclose(image, 1.03 * x - 0.02, rtol=1e-6)  # float32


@pytest.mark.parametrize(("x", "share"), [(1.0, 0.01), (1.99, 0.01), (2.01, 0.05), (4.0, 0.05)])
def test_the_relative_error_is_another_one_far_away(x, share):
    noise = {"multiplier": 0.01, "far_multiplier": 0.05, "far_from": 2.0}
    image = images(NONE | noise, x)
    assert image.std() == pytest.approx(share * x, rel=4.0 / math.sqrt(2.0 * SAMPLES))


MATT = SurfaceParameters(ior=1.0)
#: Materials and by how much noise that is given for a reflectance of 0.5 grows on them.
MATERIALS = [
    ({"diffuse_reflectance": 0.5}, 1.0),
    ({"diffuse_reflectance": 0.125}, 2.0),
    ({"diffuse_reflectance": 0.02}, 5.0),
    ({"diffuse_reflectance": 0.001}, math.sqrt(50.0)),  # as one of 0.01
    ({"diffuse_reflectance": 0.0, "extinction": 5.0}, 1.0),  # a metal
]


@pytest.mark.parametrize("side", [1, 4])
@pytest.mark.parametrize(("numbers", "growth"), MATERIALS)
def test_noise_grows_on_dark_targets_as_photons_are_fewer(numbers, growth, side):
    surface = dataclasses.replace(MATT, **numbers)
    material = Material("wall", SurfaceKind.two_layer, {905e-9: surface})
    scene = dataclasses.replace(twin.scene_of(wall(4.0)), materials=[material])
    pixels = 1000 // side
    parameters = DepthCameraParameters(width=pixels, height=pixels, rays_per_side=side, **PLAIN)
    noise = {"multiplier": 0.002, "rms": 0.006, "reflectance": 0.5}
    camera = DepthCamera(parameters, ImageNoiseParameters(**NONE | noise), seed=3)
    with RayScene(scene, threads=2) as rays:
        image = camera.capture(rays, AT_ORIGIN).image.astype(float)
    expected = growth * math.hypot(0.002 * 4.0, 0.006)
    assert image.std() == pytest.approx(expected, rel=4.0 / math.sqrt(2.0) / pixels)
