"""Images of the depth camera: distances, limits, points, what is seen and its normals."""

import math

import numpy as np
import pytest
import trimesh

from sensor_models.camera import (
    DepthCamera,
    DepthCameraParameters,
    NormalizeMode,
    Projection,
)
from sensor_models.camera.depth.camera import matrices_of
from sensor_models.camera.depth.parameters import ZoneTarget
from sensor_models.camera.depth.rays import project
from sensor_models.core.frames import MountParameters
from sensor_models.messages.pictures import picture_of
from sensor_models.output.images import ImageFile
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.model import Instance
from sensor_models.scene.tracing import RayScene
from tests import oracles_rays as twin
from tests.sensor_models.scene_files import ply, write_manifest

AT_ORIGIN = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
DOWN = math.sqrt(0.5)
OFF = {"segmentation": False, "normalize_range": False}
EVERYTHING = {"return_pointcloud": True, "return_faces": True, "return_normals": True}


MANIFEST = """
[meshes.face]
file = "face.ply"
up = "z"
vertex_labels = "label"
material = "concrete"

[[instances]]
mesh = "face"
"""


def capture(scene, pose=AT_ORIGIN, *, mount=None, **parameters):
    camera = DepthCamera(DepthCameraParameters(**parameters), mount=mount, distances=True)
    with RayScene(scene, threads=2) as rays:
        return camera.capture(rays, pose)


def wall(x, half=100.0):
    """A square across the optical axis, of two triangles that face the camera."""
    corners = [(x, -half, -half), (x, -half, half), (x, half, half), (x, half, -half)]
    return twin.mesh_of(corners, [[0, 1, 2], [0, 2, 3]])


def random_scene(seed=3):
    random = np.random.default_rng(seed)
    return twin.scene_of(
        *(twin.mesh_of_corners(twin.random_triangles(random, 150)) for _ in range(2))
    )


def ray_at(angle):
    """Parameters of a camera whose only pixel looks to the left by an angle."""
    return {"width": 1, "height": 1, "intrinsics": (1.0, 1.0, 0.5 + math.tan(angle), 0.5), **OFF}


@pytest.mark.acceptance("GRID-5")
@pytest.mark.parametrize(("depth", "expected"), [(False, 5.773503), (True, 5.0)])
def test_grid_5_range_is_along_the_ray_and_depth_along_the_axis(depth, expected):
    frame = capture(twin.scene_of(wall(5.0)), calculate_depth=depth, **ray_at(math.radians(30.0)))
    assert frame.image[0, 0] == pytest.approx(expected, abs=1e-6)  # the row's
    assert frame.distance[0, 0] == pytest.approx(5.773503, abs=1e-6)


@pytest.mark.acceptance("GRID-6")
@pytest.mark.parametrize(
    ("mode", "expected"), [(NormalizeMode.max, 0.4), (NormalizeMode.minmax, 0.387755)]
)
def test_grid_6_the_image_is_divided_by_its_limits(mode, expected):
    frame = capture(
        twin.scene_of(wall(4.0)), width=8, height=8, normalize_range=True, normalize_mode=mode
    )
    np.testing.assert_allclose(frame.image, expected, rtol=0, atol=1e-6)  # the row's


@pytest.mark.acceptance("GRID-7")
def test_grid_7_a_face_has_the_label_of_its_first_vertex(tmp_path):
    corners = [(4, -50, -50), (4, 50, -50), (4, 0, 50)]
    (tmp_path / "face.ply").write_bytes(ply(corners, [(0, 1, 2)], labels=[7, 8, 9]))
    manifest = write_manifest(tmp_path, MANIFEST)
    frame = capture(load_scene(manifest), width=2, height=2)
    assert (frame.label == 7).all()


@pytest.mark.parametrize("mirrored", [1.0, -1.0])
def test_grid_7_holds_in_a_glb_and_in_its_mirror_image(tmp_path, mirrored):
    face = trimesh.Trimesh([(4, -50, -50), (4, 50, -50), (4, 0, 50)], [(0, 1, 2)], process=False)
    face.vertex_attributes["_LABEL"] = np.array([7, 8, 9], np.float32)
    nodes = trimesh.Scene()
    nodes.add_geometry(face, transform=np.diag([1.0, mirrored, 1.0, 1.0]))
    (tmp_path / "face.glb").write_bytes(nodes.export(file_type="glb"))
    text = MANIFEST.replace("face.ply", "face.glb").replace('"label"', '"_LABEL"')
    frame = capture(load_scene(write_manifest(tmp_path, text)), width=2, height=2)
    assert (frame.label == 7).all()


@pytest.mark.acceptance("GRID-8")
def test_grid_8_a_sensor_above_the_ground_that_looks_down():
    ground = twin.mesh_of(
        [(-50, -50, 0), (50, -50, 0), (50, 50, 0), (-50, 50, 0)], [[0, 1, 2], [0, 2, 3]]
    )
    frame = capture(
        twin.scene_of(ground),
        (0.0, 0.0, 2.0, DOWN, 0.0, DOWN, 0.0),
        width=3,
        height=3,
        pointcloud_in_world_frame=True,
        **OFF,
        **EVERYTHING,
    )
    assert frame.distance[1, 1] == pytest.approx(2.0, abs=1e-6)  # tolerances of the row
    np.testing.assert_allclose(frame.normal, np.broadcast_to((0, 0, 1), (3, 3, 3)), atol=1e-6)
    np.testing.assert_allclose(frame.points[..., 2], 0.0, atol=1e-6)


@pytest.mark.parametrize("projection", list(Projection))
def test_images_are_those_of_rays_that_are_traced_one_by_one(projection):
    scene, pose = random_scene(), (1.0, -2.0, 0.5, 0.8, 0.2, -0.4, 0.4)
    camera = DepthCamera(
        DepthCameraParameters(
            projection=projection,
            width=47,
            height=33,
            max_range=8.0,
            **OFF | {"segmentation": True},
            **EVERYTHING,
        ),
        distances=True,
    )
    turn = matrices_of(np.array(pose[3:]))
    with RayScene(scene, threads=2) as rays:
        frame = camera.capture(rays, pose)
        hits = rays.trace(pose[:3], camera.axes @ turn.T)
    share = camera.axes[..., 0] if projection == Projection.pinhole else 1.0
    value = hits.t * share
    # A pixel at the very limit may fall to either side.
    clear = np.abs(value - 8.0) > 1e-4
    seen = clear & (value <= 8.0)
    assert 0.05 < seen.mean() < 1.0
    np.testing.assert_array_equal(frame.entity[clear], np.where(seen, hits.entity_id, -1)[clear])
    np.testing.assert_array_equal(frame.face[clear], np.where(seen, hits.primitive, -1)[clear])
    near = seen & (value < 0.2)
    far = clear & ~seen
    # The directions of both are rounded to float32, each in its way.
    np.testing.assert_allclose(frame.image[seen & ~near], value[seen & ~near], rtol=1e-5)
    assert (frame.image[far] == 8.0).all()
    assert np.isnan(frame.distance[far]).all()
    assert np.isnan(frame.points[far]).all()
    assert not frame.normal[far].any()
    toward = hits.normal * -np.sign((hits.normal * (camera.axes @ turn.T)).sum(-1))[..., None]
    np.testing.assert_allclose(frame.normal[seen], (toward @ turn)[seen], atol=1e-6)


def test_points_meet_the_image_in_the_pixels_they_came_from():
    camera = DepthCameraParameters(
        width=60,
        height=40,
        distortion=(-0.05, 0.01, 1e-3, -1e-3, 0.0),
        max_range=30.0,
        return_pointcloud=True,
    )
    with RayScene(random_scene()) as rays:
        points = DepthCamera(camera).capture(rays, AT_ORIGIN).points
    valid = np.isfinite(points[..., 0])
    assert 0.2 < valid.mean() < 1.0
    row, column = np.nonzero(valid)
    places = project(camera, points[valid])
    # A point of float32 is off by some 1e-7 of its distance, of 30 pixels a radian.
    np.testing.assert_allclose(places, np.stack([column, row], 1) + 0.5, rtol=0, atol=2e-5)


def test_points_in_the_world_are_those_of_the_sensor_moved():
    pose = np.array([5.0, 1.0, -2.0, 0.5, 0.5, -0.5, 0.5])
    frames = [
        capture(random_scene(), pose, pointcloud_in_world_frame=world, **EVERYTHING)
        for world in (False, True)
    ]
    turn = matrices_of(pose[3:])
    valid = np.isfinite(frames[0].points[..., 0])
    assert valid.any()
    moved = frames[0].points @ turn.T + pose[:3]
    np.testing.assert_allclose(frames[1].points[valid], moved[valid], atol=1e-5)  # float32, 10 m
    np.testing.assert_allclose(frames[1].normal, frames[0].normal @ turn.T, atol=1e-6)


def test_values_beyond_the_limits_are_replaced_and_then_normalised():
    scene = twin.scene_of(wall(4.0))
    plain = {"width": 2, "height": 2, "segmentation": False}
    limits = {"near": {"min_range": 5.0}, "far": {"max_range": 3.0}}
    for side, limit in limits.items():
        most = limit.get("max_range", 10.0)
        default = 0.0 if side == "near" else most
        assert (capture(scene, normalize_range=False, **plain, **limit).image == default).all()
        own = capture(scene, **{f"{side}_value": -1.0}, normalize_range=True, **plain, **limit)
        np.testing.assert_allclose(own.image, -1.0 / most, rtol=1e-7)
        clipped = capture(
            scene, **{f"{side}_value": -1.0}, normalize_range=True,
            normalize_mode=NormalizeMode.minmax, **plain, **limit,
        )  # fmt: skip
        assert (clipped.image == 0.0).all()
        assert np.isnan(own.distance).all()


@pytest.mark.parametrize("mode", list(NormalizeMode))
def test_messages_have_metres_whether_the_image_is_normalised_or_not(mode):
    """Also beyond the limits, where a normalised image clips what stands for the distance."""
    frames = []
    for normalised in (False, True):
        own = DepthCameraParameters(
            width=16, height=12, min_range=1.5, max_range=4.0, near_value=-1.0, far_value=9.0,
            normalize_range=normalised, normalize_mode=mode,
        )  # fmt: skip
        camera = DepthCamera(own, distances=True)
        with RayScene(random_scene()) as rays:
            frames.append(camera.capture(rays, AT_ORIGIN))
    plain, normal = frames
    assert DepthCameraParameters().normalize_range is False
    assert plain.metres is None
    np.testing.assert_array_equal(normal.metres, plain.image)
    shown = picture_of(ImageFile("depth", normal.image, metres=normal.metres))
    np.testing.assert_array_equal(shown.pixels, plain.image)
    assert not np.array_equal(normal.image, plain.image)


def test_a_surface_below_the_least_range_is_still_told_by_its_ids():
    frame = capture(twin.scene_of(wall(0.1)), width=2, height=2, return_faces=True)
    assert (frame.entity == 100).all()
    assert (frame.image == 0.0).all()


def test_what_is_switched_off_is_not_made():
    nothing = {"return_image": False, "segmentation": False}
    camera = DepthCamera(DepthCameraParameters(width=2, height=2, **nothing))
    with RayScene(random_scene()) as rays:
        assert all(array is None for array in camera.capture(rays, AT_ORIGIN))


def test_each_output_is_the_same_whatever_the_others():
    scene = random_scene()
    full = capture(scene, width=20, height=10, **EVERYTHING)
    single = {
        "points": {"return_pointcloud": True},
        "face": {"return_faces": True},
        "normal": {"return_normals": True},
        "entity": {"segmentation": True},
    }
    for name, switch in single.items():
        off = {"segmentation": False, "return_image": False} | switch
        alone = capture(scene, width=20, height=10, **off)
        assert getattr(alone, name).tobytes() == getattr(full, name).tobytes()
        assert alone.image is None


def test_from_inside_a_closed_mesh_its_back_is_seen_with_normals_to_the_sensor():
    frame = capture(
        twin.scene_of(twin.box((-2, -2, -2), (2, 2, 2))),
        width=9,
        height=9,
        horizontal_fov=1.0,
        return_normals=True,
        **OFF,
    )
    np.testing.assert_allclose(frame.image, 2.0, rtol=1e-6)
    np.testing.assert_allclose(frame.normal, np.broadcast_to((-1, 0, 0), (9, 9, 3)), atol=1e-6)


def test_a_zone_may_read_the_mean_over_its_rays():
    # A wall whose middle lies at 4 m along the axis, tilted so that depth varies over the zone.
    tilted = twin.mesh_of([(2, -9, 9), (6, -9, -9), (6, 9, -9), (2, 9, 9)], [[0, 1, 2], [0, 2, 3]])
    parameters = {"width": 2, "height": 2, "horizontal_fov": 0.6, **OFF}
    for side in (2, 5):
        mean_of_all = parameters | {"zone_target": ZoneTarget.mean}
        zones = capture(twin.scene_of(tilted), rays_per_side=side, **mean_of_all)
        parameters_fine = parameters | {"width": 2 * side, "height": 2 * side}
        fine = capture(twin.scene_of(tilted), **parameters_fine)
        mean = fine.image.reshape(2, side, 2, side).mean(axis=(1, 3))
        np.testing.assert_allclose(zones.image, mean, rtol=1e-6)
        ranges = fine.distance.reshape(2, side, 2, side).mean(axis=(1, 3))
        np.testing.assert_allclose(zones.distance, ranges, rtol=1e-6)


def test_a_zone_tells_the_nearest_surface_and_leaves_out_rays_that_miss():
    near = twin.box((2.0, 0.05, -9.0), (2.1, 9.0, 9.0))  # left of the axis
    scene = twin.scene_of(wall(30.0), near)
    zone = capture(
        scene,
        width=1,
        height=1,
        horizontal_fov=0.4,
        rays_per_side=6,
        **OFF | {"segmentation": True},
    )
    assert zone.entity[0, 0] == 101
    alone = capture(
        twin.scene_of(near), width=1, height=1, horizontal_fov=0.4, rays_per_side=6, **OFF
    )
    assert alone.image[0, 0] == pytest.approx(2.0, rel=1e-6)
    empty = capture(twin.scene_of(), width=1, height=1, rays_per_side=6, **OFF)
    assert empty.image[0, 0] == 10.0


def test_the_mount_carries_the_camera():
    body = (1.0, 2.0, 3.0, DOWN, 0.0, 0.0, DOWN)  # turned to the left by a quarter
    mount = MountParameters((0.5, 0.0, 0.0), (DOWN, 0.0, -DOWN, 0.0))  # looks up
    frame = capture(random_scene(), body, mount=mount, pointcloud_in_world_frame=True, **EVERYTHING)
    same = capture(
        random_scene(),
        (1.0, 2.5, 3.0, *_product((DOWN, 0, 0, DOWN), (DOWN, 0, -DOWN, 0))),
        pointcloud_in_world_frame=True,
        **EVERYTHING,
    )
    np.testing.assert_allclose(frame.points, same.points, atol=1e-5)
    valid = np.isfinite(frame.points)
    assert valid.any()
    assert (frame.points[..., 2][valid[..., 2]] > 3.0).all()


def _product(a, b):
    w, x, y, z = a
    p, q, r, s = b
    return (
        w * p - x * q - y * r - z * s,
        w * q + x * p + y * s - z * r,
        w * r - x * s + y * p + z * q,
        w * s + x * r - y * q + z * p,
    )


def test_an_instance_gives_its_label_where_faces_have_none():
    scene = twin.scene_of(wall(5.0), instances=(Instance(0, np.eye(4), entity_id=12, label=34),))
    frame = capture(scene, width=2, height=2)
    assert (frame.label == 34).all()
    assert (frame.entity == 12).all()
