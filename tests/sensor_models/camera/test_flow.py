"""Optical flow and scene flow: closed forms, masks, files."""

import math
import struct
from pathlib import Path

import cv2
import numpy as np
import pytest

from sensor_models.camera.depth.camera import matrices_of
from sensor_models.camera.flow import FirstHits, FlowFrame, FlowParameters, Instants, flow_between
from sensor_models.camera.lens import Distortion, kernel_lens
from sensor_models.core.placement import quaternion_of
from sensor_models.kernels.camera.flow import HIDDEN, NOTHING, OUTSIDE, VALID
from sensor_models.output.flows import FlowFile, FlowFormat, flo_bytes, kitti_numbers
from sensor_models.scene.history import MovingBodies
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.tracing import RayScene
from tests.sensor_models.scene_files import write_manifest

WIDTH, HEIGHT, FOCAL = 640, 480, 320.0
#: A wall that moves as a body, and one beside it that stands.
SCENE = """
[[bodies]]
name = "wall"
[meshes.wall]
box = { size = [0.1, 0.1, 0.1] }
material = "brick"
[[instances]]
mesh = "wall"
position = [1000, 0, 0]
body = "wall"
[[instances]]
mesh = "wall"
position = [-1000, 0, 0]
"""
REST = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
LENS = kernel_lens((FOCAL, FOCAL), (320.0, 240.0), Distortion.pinhole, (0.0,) * 5)
MOVING, STILL = 0, 1


@pytest.fixture(scope="module")
def rays(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scene")
    with RayScene(load_scene(write_manifest(folder, SCENE)), threads=2) as opened:
        yield opened


def axes() -> np.ndarray:
    u, v = np.meshgrid(np.arange(WIDTH) + 0.5 - 320.0, np.arange(HEIGHT) + 0.5 - 240.0)
    along = np.stack([np.full_like(u, FOCAL), -u, -v], axis=-1)
    return along / np.linalg.norm(along, axis=-1, keepdims=True)


def pose(place=(0.0, 0.0, 0.0), roll=0.0, pitch=0.0, yaw=0.0) -> tuple[float, ...]:
    return (*place, *quaternion_of(roll, pitch, yaw))


def instants(camera, body=REST) -> Instants:
    turn = matrices_of(np.array([camera[3:]]))
    poses = np.concatenate([turn.reshape(1, 9), np.array([camera[:3]])], axis=1)
    return Instants(poses, MovingBodies(np.array([[body]], float)))


def flow_at(rays, camera, body=REST, *, depth=10.0, owner=STILL, **wanted):
    """Flow, scene flow and mask of pixel (400, 100), which sees something at a depth."""
    rays_of = axes()
    distance = np.full((HEIGHT, WIDTH), np.inf)
    if depth < math.inf:
        distance = depth / rays_of[..., 0]
    owners = np.full((HEIGHT, WIDTH), owner, np.int32)
    materials = np.zeros((HEIGHT, WIDTH), np.int32)
    hits = FirstHits(distance, owners, materials)
    found = flow_between(
        rays, LENS, rays_of, hits, instants(REST), instants(camera, body),
        FlowParameters(**wanted), scene_flow=True,
    )  # fmt: skip
    return found.flow[100, 400], found.scene[100, 400], found.mask[100, 400]


def test_rays_that_are_not_those_of_the_pixels_are_refused(rays: RayScene) -> None:
    one = np.ones((1, 1), np.int32)
    hits = FirstHits(one.astype(np.float32), one, one)
    with pytest.raises(ValueError, match="rays"):  # a row of three numbers is no row of three rays
        flow_between(
            rays, LENS, np.ones((1, 3)), hits, instants(REST), instants(REST), FlowParameters()
        )


@pytest.mark.acceptance("FLOW-1", "FLOW-2", "FLOW-3")
@pytest.mark.parametrize("depth", [10.0, math.inf])
@pytest.mark.parametrize(
    ("turn", "wanted"),
    [
        ({"yaw": 2.0}, (11.987123, -1.322119)),
        ({"roll": 2.0}, (-4.917518, -2.724430)),
        ({"pitch": 2.0}, (1.294244, -13.503866)),
    ],
)
def test_turns_of_the_camera(rays, depth, turn, wanted):
    camera = pose(**{name: math.radians(angle) for name, angle in turn.items()})
    flow, scene, mask = flow_at(rays, camera, depth=depth)
    np.testing.assert_allclose(flow, wanted, atol=1e-6)
    assert mask == (VALID if depth < math.inf else NOTHING)
    assert scene.any() == (depth < math.inf)


@pytest.mark.acceptance("FLOW-4", "FLOW-5")
@pytest.mark.parametrize(
    ("place", "wanted"),
    [
        ((0.5, 0.0, 0.0), (4.236842, -7.342105)),
        ((0.0, 0.2, 0.0), (6.4, 0.0)),
        ((0.0, 0.0, 0.1), (0.0, 3.2)),
    ],
)
def test_shifts_of_the_camera(rays, place, wanted):
    flow, scene, mask = flow_at(rays, pose(place))
    np.testing.assert_allclose(flow, wanted, atol=1e-6)
    np.testing.assert_allclose(scene, -np.array(place), atol=1e-6)
    assert mask == VALID
    sky, none, mask = flow_at(rays, pose(place), depth=math.inf)
    assert (*sky, *none, mask) == (0.0, 0.0, 0.0, 0.0, 0.0, NOTHING)


@pytest.mark.acceptance("FLOW-6")
def test_a_body_that_shifts(rays):
    moved = pose((-1.0, 0.5, 0.0))
    flow, scene, _ = flow_at(rays, REST, moved, owner=MOVING)
    np.testing.assert_allclose(flow, (-8.833333, -15.5), atol=1e-6)
    np.testing.assert_allclose(scene, (-1.0, 0.5, 0.0), atol=1e-6)
    flow, scene, _ = flow_at(rays, moved, moved, owner=MOVING)
    np.testing.assert_allclose((*flow, *scene), 0.0, atol=1e-6)
    flow, scene, _ = flow_at(rays, REST, moved, owner=STILL)
    assert not flow.any()
    assert not scene.any()


@pytest.mark.acceptance("FLOW-7")
def test_a_body_that_turns(rays):
    """By 5 degrees about (10, 0, .): the body's frame starts at the origin."""
    angle = math.radians(5.0)
    turned = pose((10.0 - 10.0 * math.cos(angle), -10.0 * math.sin(angle), 0.0), yaw=angle)
    flow, scene, _ = flow_at(rays, REST, turned, owner=MOVING, frame=FlowFrame.world)
    np.testing.assert_allclose(flow, (-2.026860, 2.992933), atol=1e-6)
    np.testing.assert_allclose(scene, (0.219251, 0.009573, 0.0), atol=1e-6)


@pytest.mark.acceptance("FLOW-8")
@pytest.mark.parametrize(
    ("interval", "wanted"),
    [
        (1.0 / 30.0, (173.37443, -24.14076)),
        (1e-5, (171.41971, -21.60348)),
        (1e-8, (171.41914, -21.60273)),  # the limit
    ],
)
def test_a_camera_that_drives_and_turns(rays, interval, wanted):
    speed, rate = np.array([5.0, 1.0, 0.2]), np.array([0.1, -0.2, 0.3])
    angle = np.linalg.norm(rate) * interval
    half = rate / np.linalg.norm(rate) * math.sin(angle / 2.0)
    camera = (*(speed * interval), math.cos(angle / 2.0), *half)
    flow, _, _ = flow_at(rays, camera, depth=8.0)
    np.testing.assert_allclose(flow / interval, wanted, atol=1e-4)


@pytest.mark.acceptance("FLOW-10")
def test_masks_of_a_bar_before_a_wall(tmp_path: Path):
    """A bar of half a metre at 4 m before a wall at 10 m, the camera 0.4 m to the right."""
    text = """
[meshes.bar]
box = { size = [0.001, 0.5, 40] }
material = "brick"
[meshes.wall]
box = { size = [0.001, 100, 60] }
material = "concrete"
[[instances]]
mesh = "bar"
position = [4, 0, 0]
[[instances]]
mesh = "wall"
position = [10, 0, 0]
"""
    with RayScene(load_scene(write_manifest(tmp_path, text))) as opened:
        along = axes()
        seen = opened.trace((0.0, 0.0, 0.0), along)
        hits = FirstHits(seen.t, seen.instance, seen.material)
        found = flow_between(
            opened, LENS, along, hits, instants(REST)._replace(bodies=None),
            instants(pose((0.0, -0.4, 0.0)))._replace(bodies=None),
            FlowParameters(),
        )  # fmt: skip
    row, bar = found.mask[240], np.asarray(seen.instance[240]) == 0
    assert np.count_nonzero(bar) == pytest.approx(40, abs=1)  # 320 * 0.5 / 4
    assert np.count_nonzero((row == HIDDEN) & ~bar) == pytest.approx(19.2, abs=1)
    assert np.count_nonzero(row == OUTSIDE) == pytest.approx(12.8, abs=1)
    assert not (row[bar] == HIDDEN).any()
    np.testing.assert_allclose(found.flow[240, bar, 0], -32.0, atol=2e-2)
    np.testing.assert_allclose(found.flow[240, ~bar, 0], -12.8, atol=2e-2)


@pytest.mark.acceptance("FLOW-10")
def test_bodies_hide_what_one_ray_after_the_other_says(tmp_path: Path):
    """Twenty small bodies come before a wall, seen by a camera whose rows have places of their own.

    The twin asks for the nearest surface along each ray from where the camera will be.
    """
    text = """
[meshes.box]
box = { size = [0.3, 0.3, 0.3] }
material = "brick"
[meshes.wall]
box = { size = [0.001, 100, 60] }
material = "concrete"
[[instances]]
mesh = "wall"
position = [10, 0, 0]
"""
    for k in range(20):
        text += f'[[bodies]]\nname = "b{k}"\n[[instances]]\nmesh = "box"\nbody = "b{k}"\n'
    random, along = np.random.default_rng(3), axes()
    later = np.tile(REST, (20, 1))
    later[:, :3] = random.uniform((3.0, -4.0, -3.0), (8.0, 4.0, 3.0), (20, 3))
    away = later.copy()
    away[:, 0] -= 50.0
    poses = np.tile(np.append(np.eye(3), np.zeros(3)), (HEIGHT, 1))
    drawn = poses.copy()
    drawn[:, 10] = np.linspace(-0.2, -0.6, HEIGHT)
    with RayScene(load_scene(write_manifest(tmp_path, text))) as opened:
        opened.move_all(away)
        opened.commit()
        seen = opened.trace((0.0, 0.0, 0.0), along)
        hits = FirstHits(seen.t, seen.instance, seen.material)
        before = Instants(poses, MovingBodies(away[None]))
        after = Instants(drawn, MovingBodies(later[None]))
        found = flow_between(opened, LENS, along, hits, before, after, FlowParameters())
        opened.move_all(later)
        opened.commit()
        starts = np.broadcast_to(drawn[:, None, 9:], along.shape)
        ways = seen.t[..., None] * along - starts
        lengths = np.linalg.norm(ways, axis=-1, keepdims=True)
        nearest = opened.trace(starts, ways / lengths).t
    hidden = nearest < (1.0 - 1e-3) * lengths[..., 0]
    asked = (found.mask == VALID) | (found.mask == HIDDEN)
    assert np.count_nonzero(hidden & asked) > 3000
    assert np.count_nonzero(asked & ~hidden) > 100_000
    # A ray's last bit decides at the very edges of bodies.
    assert np.count_nonzero(((found.mask == HIDDEN) != hidden) & asked) <= 3


TURNS = [
    {"pitch": 0.25}, {"pitch": -0.2}, {"roll": 0.4}, {"roll": -1.2}, {"yaw": 0.3}, {"yaw": -0.25},
    {"roll": 0.3, "pitch": 0.15, "yaw": -0.2},
]  # fmt: skip


@pytest.fixture(scope="module")
def boxes_before_a_wall(tmp_path_factory):
    text = """
[meshes.box]
box = { size = [0.3, 0.5, 0.7] }
material = "brick"
[meshes.wall]
box = { size = [0.001, 100, 60] }
material = "concrete"
[[instances]]
mesh = "wall"
position = [10, 0, 0]
"""
    for x, y, z in np.random.default_rng(8).uniform((4, -4, -3), (8, 4, 3), (25, 3)):
        text += f'[[instances]]\nmesh = "box"\nposition = [{x}, {y}, {z}]\n'
    folder = tmp_path_factory.mktemp("boxes")
    with RayScene(load_scene(write_manifest(folder, text)), threads=2) as opened:
        yield opened


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize("turned_before", [False, True])
def test_what_a_turned_camera_no_longer_sees(boxes_before_a_wall, turn, turned_before):
    """The twin asks one ray after the other, in the world, from where the camera will be."""
    opened, along = boxes_before_a_wall, axes()
    before = instants(pose((0.1, 0.2, -0.1), pitch=-0.1, yaw=0.1) if turned_before else REST)
    after = instants(pose((0.3, -0.5, 0.4), **turn))
    before, after = before._replace(bodies=None), after._replace(bodies=None)
    (first, start), (second, later) = (
        (own.poses[0, :9].reshape(3, 3), own.poses[0, 9:]) for own in (before, after)
    )
    seen = opened.trace(start, along @ first.T)
    hits = FirstHits(seen.t, seen.instance, seen.material)
    found = flow_between(opened, LENS, along, hits, before, after, FlowParameters())
    points = start + seen.t[..., None].astype(float) * (along @ first.T)
    ways = points - later
    lengths = np.linalg.norm(ways, axis=-1)
    nearest = opened.trace(np.broadcast_to(later, ways.shape), ways / lengths[..., None]).t
    x, y, z = np.moveaxis(ways @ second, -1, 0)
    u, v = 320.0 - FOCAL * y / x, 240.0 - FOCAL * z / x
    inside = (x > 0.0) & (u >= 0.0) & (u < WIDTH) & (v >= 0.0) & (v < HEIGHT)
    wanted = np.where(inside, np.where(nearest < (1.0 - 1e-3) * lengths, HIDDEN, VALID), OUTSIDE)
    known = np.isfinite(seen.t) & (x > 0.0)
    assert np.count_nonzero(known & (wanted == HIDDEN)) > 2000
    assert np.count_nonzero(known & (wanted == VALID)) > 50_000
    # The last bits of a ray decide at the very edges of boxes and of the picture.
    assert np.count_nonzero(known & (found.mask != wanted)) <= 10


@pytest.mark.parametrize("turn", TURNS)
def test_nothing_is_hidden_from_a_camera_that_only_turns(boxes_before_a_wall, turn):
    opened, along = boxes_before_a_wall, axes()
    seen = opened.trace((0.0, 0.0, 0.0), along)
    hits = FirstHits(seen.t, seen.instance, seen.material)
    now, then = (instants(own)._replace(bodies=None) for own in (REST, pose(**turn)))
    found = flow_between(opened, LENS, along, hits, now, then, FlowParameters())
    assert not (found.mask == HIDDEN).any()
    assert (found.mask == VALID).sum() > 50_000


def test_without_motion_there_is_no_flow(rays):
    flow, scene, mask = flow_at(rays, REST)
    assert not flow.any()
    assert not scene.any()
    assert mask == VALID


def test_distortion_is_inside_of_the_projection(rays):
    terms = (-0.1, 0.02, 1e-3, 2e-3, 0.0, 0.0, 0.0, 0.0)
    bent = kernel_lens((FOCAL, FOCAL), (320.0, 240.0), Distortion.pinhole, terms)
    along = axes()  # as if undistorted: the flow then is to where OpenCV projects, off (u, v)
    hits = FirstHits(
        (10.0 / along[..., 0]).astype(np.float32),
        np.full((HEIGHT, WIDTH), STILL, np.int32), np.zeros((HEIGHT, WIDTH), np.int32),
    )  # fmt: skip
    found = flow_between(
        rays, bent, along, hits, instants(REST), instants(pose((0.5, 0.1, 0.2))), FlowParameters()
    )
    point = along[100, 400] * 10.0 / along[100, 400, 0] - (0.5, 0.1, 0.2)
    matrix = np.array([[FOCAL, 0.0, 320.0], [0.0, FOCAL, 240.0], [0.0, 0.0, 1.0]])
    ahead = np.array([[[-point[1], -point[2], point[0]]]])
    projected, _ = cv2.projectPoints(ahead, np.zeros(3), np.zeros(3), matrix, np.array(terms[:5]))
    np.testing.assert_allclose(found.flow[100, 400], projected.ravel() - (400.5, 100.5), atol=1e-4)


def test_files_are_those_of_middlebury_and_kitti(tmp_path: Path):
    random = np.random.default_rng(5)
    flow = random.uniform(-100, 100, (4, 6, 2)).astype(np.float32)
    flow[0, 0], flow[1, 1] = (600.0, 0.0), (511.98, -512.0)
    mask = np.zeros((4, 6), np.uint8)
    mask[2, 3] = HIDDEN
    data = flo_bytes(flow)
    assert data[:4] == b"PIEH"
    assert struct.unpack("<ii", data[4:12]) == (6, 4)
    np.testing.assert_array_equal(np.frombuffer(data, "<f4", -1, 12).reshape(4, 6, 2), flow)
    file = FlowFile("flow", flow, mask, FlowFormat.kitti)
    path = tmp_path / file.suffix
    file.write(path)
    blue, green, red = np.moveaxis(cv2.imread(str(path), cv2.IMREAD_UNCHANGED), 2, 0)
    valid = blue == 1
    assert (valid == (mask == 0) & (np.arange(24).reshape(4, 6) != 0)).all()
    u, v = (red.astype(float) - 2**15) / 64.0, (green.astype(float) - 2**15) / 64.0
    np.testing.assert_allclose(u[valid], flow[valid][:, 0], atol=0.5 / 64 + 1e-4)
    np.testing.assert_allclose(v[valid], flow[valid][:, 1], atol=0.5 / 64 + 1e-4)
    assert kitti_numbers(np.zeros((1, 1, 2), np.float32), np.zeros((1, 1), np.uint8)).tolist() == [
        [[32768, 32768, 1]]
    ]
