"""Points of the lidar: with all errors off they are the truth; modes, intensities, frames."""

import math

import numpy as np
import pytest

from sensor_models.core.frames import MountParameters
from sensor_models.kernels.tracing.sensor_poses import position_of, rotate, rotate_back
from sensor_models.lidar.lidar import Lidar
from sensor_models.lidar.parameters import (
    AmbientParameters,
    IntensityKind,
    LidarParameters,
    OutputFrame,
    PathConvention,
    ReturnMode,
)
from sensor_models.light.beam import BeamParameters
from sensor_models.scene.model import Instance, Medium
from sensor_models.scene.tracing import RayScene
from sensor_models.sight.mount import pose_of, poses_of
from tests import lidar_scenes as rig
from tests import oracles_rays as triangles

#: Rays and points are float32.
FLOAT32 = 1e-5


def grid(rows=24, columns=40):
    """Rays all over the sphere, but for its poles."""
    elevation = np.linspace(1.2, -1.2, rows)
    azimuth = np.linspace(3.1, -3.1, columns)
    offset = np.repeat(np.arange(columns) / columns, rows)
    return rig.aim(
        np.repeat(azimuth, rows), np.tile(elevation, columns), rows, offset=offset,
        ring=np.tile(np.arange(rows)[::-1], columns),
    )  # fmt: skip


def room():
    """Triangles in a box around the origin, with labels of faces and of instances."""
    random = np.random.default_rng(5)
    walls = rig.box((-12.3, -11.1, -6.7), (13.9, 12.2, 7.4), of=1)
    clutter = triangles.mesh_of_corners(triangles.random_triangles(random, 300, 5.0))
    labelled = triangles.mesh_of(
        clutter.vertices, clutter.faces, face_label=np.arange(300, dtype=np.int32)
    )
    instances = (
        Instance(0, np.eye(4), 41, "walls", label=7),
        Instance(1, np.eye(4), 42, "clutter"),
    )
    return rig.scene(
        walls, labelled, materials=(rig.lambert(0.5), rig.lambert(0.3)), instances=instances
    )


def test_without_errors_points_are_the_truth():
    pattern, seen = grid(), room()
    axis, body = (0.3, -0.2, 0.9), np.array([0.4, -0.3, 0.2, 0, 0, 0, 0])
    body[3:] = triangles.turned_quaternion(axis, 0.7)
    device = Lidar(LidarParameters(), pattern)
    with RayScene(seen, 2) as rays:
        cloud = device.capture(rays, body, time=3.0, duration=0.5)
    points = cloud.points(normals=True)
    matrix = triangles.pose_matrix(body)[:3, :3]
    local = pattern.directions(0)
    soup = triangles.soup_of(seen)
    found = triangles.crossings(soup, body[:3], local @ matrix.T)
    face = triangles.nearest(found)
    clear = ~triangles.grazes(found, 1e-4)
    assert (face >= 0).all()  # in a closed room
    assert (cloud.counts == 1).all()
    assert clear.mean() > 0.9
    points, local, face, rows = points[clear], local[clear], face[clear], np.flatnonzero(clear)
    truth = found.t[rows, face]
    np.testing.assert_allclose(points["range"], truth, rtol=FLOAT32)
    places = np.stack([points[name] for name in "xyz"], axis=1)
    np.testing.assert_allclose(places, truth[:, None] * local, atol=1e-4)
    azimuth, elevation = pattern.angles(0)
    np.testing.assert_array_equal(points["azimuth"], azimuth[clear].astype(np.float32))
    np.testing.assert_array_equal(points["elevation"], elevation[clear].astype(np.float32))
    np.testing.assert_array_equal(points["ring"], pattern.ring[clear])
    np.testing.assert_array_equal(points["time"], 3.0 + 0.5 * pattern.offset[clear])
    for name, value in (("return_number", 1), ("return_count", 1), ("node", 0), ("atmospheric", 0)):
        assert (points[name] == value).all()
    check_surfaces(points, soup, face, local, matrix)


def check_surfaces(points, soup, face, local, matrix):
    """What points tell of the surfaces that the rays met."""
    instance, primitive = soup.instance[face], soup.primitive[face]
    np.testing.assert_array_equal(points["entity_id"], 41 + instance)
    np.testing.assert_array_equal(points["material_id"], 1 - instance)
    np.testing.assert_array_equal(points["label"], np.where(instance == 0, 7, primitive))
    a, b, c = soup.corners[face].transpose(1, 0, 2)
    normal = np.cross(b - a, c - a)
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    facing = -((local @ matrix.T) * normal).sum(axis=1)
    toward = (normal * np.sign(facing)[:, None]) @ matrix  # in the sensor frame
    normals = np.stack([points[f"normal_{name}"] for name in "xyz"], axis=1)
    # Edges of slivers are float32, too.
    np.testing.assert_allclose(normals, toward, atol=1e-3)
    assert ((normals * local).sum(axis=1) <= 0.0).all()
    np.testing.assert_allclose(np.cos(points["incidence"]), np.abs(facing), atol=1e-3)
    reflectance = np.array([0.3, 0.5])[instance]
    expected = reflectance / np.pi * np.abs(facing)
    np.testing.assert_allclose(points["intensity"], expected, atol=1e-3 / np.pi)


def test_the_mount_is_where_the_sensor_sits_on_its_body():
    turn = tuple(triangles.turned_quaternion((0, 0, 1), math.pi / 2).tolist())
    mount = MountParameters((1.0, 2.0, 3.0), turn)
    body = np.array([10.0, 20.0, 30.0, 0, 0, 0, 0])
    body[3:] = triangles.turned_quaternion((0, 0, 1), math.pi / 2)
    device = Lidar(mount=mount, pattern=rig.aim())
    position, orientation = pose_of(device.mount, body)
    # The body is turned left by a quarter, the sensor on it again: it looks back.
    np.testing.assert_allclose(position, (8.0, 21.0, 33.0), atol=1e-12)
    np.testing.assert_allclose(
        triangles.pose_matrix([*position, *orientation])[:3, 0], (-1, 0, 0), atol=1e-12
    )
    wall = rig.box((-5.0, -80.0, -80.0), (-4.0, 81.0, 82.0))
    (point,) = rig.capture(rig.scene(wall), body=body, lidar=device)
    assert point["range"] == pytest.approx(12.0, rel=FLOAT32)


def test_quaternions_of_any_length_are_orientations():
    body = rig.AT_ORIGIN * 1.0
    body[3:] = 3.0 * triangles.turned_quaternion((0, 0, 1), 0.3)
    seen = rig.scene(rig.across(5.0))
    (point,) = rig.capture(seen, rig.aim(-0.3), body)
    assert point["range"] == pytest.approx(5.0, rel=FLOAT32)


def test_what_is_missed_has_no_point():
    assert len(rig.capture(rig.scene(rig.across(5.0)), rig.aim([0.0, math.pi]))) == 1


# ---- which echoes are reported ----------------------------------------------------------------

PANES = rig.scene(
    rig.across(20.0),
    rig.across(5.0, of=1, thickness=0.01),
    rig.across(9.0, of=1, thickness=0.01),
    materials=(rig.lambert(0.9), rig.glass(1.5, roughness=0.2)),
)


def every_echo():
    return rig.capture(PANES, own=rig.ALL)


@pytest.mark.parametrize("mode", ReturnMode)
def test_modes_pick_from_all_echoes(mode):
    every = every_echo()
    strength, order = every["intensity"], np.argsort(-every["intensity"], kind="stable")
    last, best = len(every) - 1, int(order[0])
    expected = {
        ReturnMode.strongest: [best],
        ReturnMode.first: [0],
        ReturnMode.last: [last],
        ReturnMode.dual: sorted({best, last}) if best != last else sorted(order[:2].tolist()),
        ReturnMode.all: sorted(order[:4].tolist()),
    }[mode]
    points = rig.capture(PANES, own={"return_mode": mode, "max_returns": 4})
    assert len(every) > 6
    np.testing.assert_array_equal(points["range"], every["range"][expected])
    np.testing.assert_array_equal(points["intensity"], strength[expected])
    assert points["return_number"].tolist() == list(range(1, len(expected) + 1))
    assert (points["return_count"] == len(expected)).all()


def test_limits_of_range_leave_out_what_lies_beyond():
    every = every_echo()
    points = rig.capture(PANES, own=rig.ALL | {"min_range": 5.004, "max_range": 15.0})
    kept = every[(every["range"] >= 5.004) & (every["range"] <= 15.0)]
    assert 0 < len(kept) < len(every)
    for name in ("range", "intensity", "node"):
        np.testing.assert_array_equal(points[name], kept[name])


def test_limits_of_range_are_as_sharp_as_rays():
    seen = rig.scene(rig.across(8.0))
    # A float32 ray knows the wall to 1e-6.
    for name, sense in (("max_range", 1.0), ("min_range", -1.0)):
        assert len(rig.capture(seen, own={name: 8.0 * (1.0 + 1e-6 * sense)})) == 1
        assert len(rig.capture(seen, own={name: 8.0 * (1.0 - 1e-6 * sense)})) == 0


def test_weak_echoes_are_not_detected():
    every = every_echo()
    middle = float(np.median(every["intensity"]))
    points = rig.capture(PANES, own=rig.ALL | {"min_intensity": middle * 1.0001})
    assert len(points) == np.count_nonzero(every["intensity"] > middle)


def test_echoes_within_the_resolution_become_one():
    every = every_echo()
    (wall,) = np.flatnonzero(every["material_id"] == 0)[:1]
    pane = every[every["range"] < 5.1]
    (point,) = rig.capture(
        PANES, own={"return_mode": ReturnMode.first, "range_resolution": 0.2, "max_range": 7.0}
    )
    # Some echoes of the pane lie beyond the 15 that are listed; they are weak.
    weights = pane["intensity"].astype(float)
    assert point["intensity"] == pytest.approx(weights.sum(), rel=1e-3)
    mean = (pane["range"] * weights).sum() / weights.sum()
    assert point["range"] == pytest.approx(mean, rel=FLOAT32)
    assert point["node"] == pane["node"][np.argmax(weights)]
    assert every["range"][wall] > 19.9


def test_ranges_come_in_steps():
    pattern = rig.aim(np.linspace(-0.6, 0.6, 50))
    seen = rig.scene(rig.across(5.0))
    points = rig.capture(seen, pattern, own={"range_step": 0.25})
    true = rig.capture(seen, pattern)
    np.testing.assert_array_equal(points["range"], np.round(true["range"] / 0.25) * 0.25)
    assert len(np.unique(points["range"])) > 3
    places = np.stack([points[name] for name in "xyz"], axis=1)
    lengths = np.linalg.norm(places.astype(float), axis=1)
    np.testing.assert_allclose(lengths, points["range"], rtol=1e-6)


# ---- intensities ------------------------------------------------------------------------------

REFLECTIVITY = {"intensity_kind": IntensityKind.reflectivity, "beam_on": True}


@pytest.mark.parametrize("x", [0.5, 7.0, 60.0, 300.0])
@pytest.mark.parametrize("reflectance", [0.05, 0.8])
def test_a_calibrated_plate_reads_its_reflectance_at_any_range(x, reflectance):
    seen = rig.scene(rig.across(x, half=400.0), materials=(rig.lambert(reflectance),))
    for convention in PathConvention:
        own = REFLECTIVITY | {"path_convention": convention}
        (point,) = rig.capture(seen, own=own, beam=BeamParameters(emitter_radius=0.005))
        assert point["intensity"] == pytest.approx(reflectance, rel=FLOAT32)


def test_a_calibrated_plate_reads_less_when_slanted():
    plate = rig.turned(rig.across(20.0), (0, 0, 1), math.radians(60.0), (20.0, 0.0, 0.0))
    (point,) = rig.capture(rig.scene(plate), own=REFLECTIVITY)
    assert point["intensity"] == pytest.approx(0.8 * 0.5, rel=FLOAT32)


def test_a_calibrated_plate_reads_less_in_fog():
    seen = rig.scene(rig.across(20.0), media=(Medium("fog", 0.02),))
    (point,) = rig.capture(seen, own=REFLECTIVITY)
    assert point["intensity"] == pytest.approx(0.8 * math.exp(-0.8), rel=FLOAT32)


@pytest.mark.parametrize(
    ("reflectance", "own", "expected"),
    [
        (0.8, REFLECTIVITY | {"intensity_bits": 8}, 80),
        (0.123, REFLECTIVITY | {"intensity_bits": 8}, 12),
        (0.8, {"intensity_bits": 16}, 52428),  # 0.8 of 65535
        (0.8, {"intensity_bits": 16, "intensity_full_scale": 0.1}, 65535),
        (0.8, {"intensity_bits": 1}, 1),
        (0.3, {"intensity_bits": 1}, 0),
        (0.5, {"intensity_bits": 10, "intensity_full_scale": 1.0}, round(1023 * 0.5 / math.pi)),
    ],
)
def test_counts_are_shares_of_the_full_scale(reflectance, own, expected):
    seen = rig.scene(rig.across(12.0), materials=(rig.lambert(reflectance),))
    (point,) = rig.capture(seen, own=own)
    assert point["intensity"] == expected


def test_retro_reflectors_saturate():
    sign = rig.material(rig.SurfaceKind.lambert, retro_reflectance=1000.0, diffuse_reflectance=0.1)
    seen = rig.scene(rig.across(12.0), materials=(sign,))
    for own, most in (({"intensity_bits": 16}, 65535), (REFLECTIVITY | {"intensity_bits": 8}, 255)):
        (point,) = rig.capture(seen, own=own)
        assert point["intensity"] == most


# ---- frames of the points ---------------------------------------------------------------------


@pytest.mark.acceptance("SCAN-2")
def test_scan_2_points_in_the_world_are_those_in_the_sensor_frame_moved():
    body = np.array([3.0, -2.0, 1.0, 0, 0, 0, 0])
    body[3:] = triangles.turned_quaternion((1.0, 2.0, -0.5), 1.1)
    pattern, seen = grid(), room()
    found = [rig.capture(seen, pattern, body, own={"output_frame": frame}) for frame in OutputFrame]
    sensor, world = (np.stack([p[name] for name in "xyz"], axis=1).astype(float) for p in found)
    matrix = triangles.pose_matrix(body)
    moved = sensor @ matrix[:3, :3].T + body[:3]
    # Points are written as float32; the row's 1e-12 is that of the transforms beneath.
    (pose,) = poses_of(Lidar().mount, body[None])
    for point in sensor[:5]:
        there = np.array(rotate(pose, tuple(point))) + position_of(pose)
        back = rotate_back(pose, tuple(there - position_of(pose)))
        np.testing.assert_allclose(back, point, atol=1e-12)
    np.testing.assert_allclose(world, moved, atol=1e-5)
    np.testing.assert_allclose((world - body[:3]) @ matrix[:3, :3], sensor, atol=1e-5)
    normals = [np.stack([p[f"normal_{n}"] for n in "xyz"], axis=1).astype(float) for p in found]
    np.testing.assert_allclose(normals[0] @ matrix[:3, :3].T, normals[1], atol=1e-6)
    for name in ("range", "azimuth", "elevation", "incidence", "intensity"):
        np.testing.assert_array_equal(found[0][name], found[1][name])


# ---- the medium around ------------------------------------------------------------------------


def test_the_medium_around_may_be_another_than_the_scenes():
    seen = rig.scene(rig.across(20.0), media=(Medium("fog", 0.05),))
    clear = AmbientParameters(absorption=0.0)
    (point,) = rig.capture(seen, ambient=clear)
    assert point["intensity"] == pytest.approx(0.8 / math.pi, rel=FLOAT32)
    (point,) = rig.capture(seen, ambient=AmbientParameters(absorption=0.01))
    assert point["intensity"] == pytest.approx(0.8 / math.pi * math.exp(-0.4), rel=FLOAT32)
