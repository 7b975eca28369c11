"""A frame is the same however it is made: threads, cuts, order of the rays."""

import itertools
import threading

import numpy as np
import pytest

from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.lidar.lidar import Lidar
from sensor_models.lidar.parameters import LidarNoiseParameters, LidarParameters, ScanMode
from sensor_models.lidar.patterns import PatternParameters, PatternType
from sensor_models.lidar.sweep import RollingScan
from sensor_models.light.beam import BeamParameters
from sensor_models.scene.model import Medium
from sensor_models.scene.registry import open_scene
from sensor_models.scene.tracing import RayScene
from sensor_models.sight.mount import poses_of
from tests import lidar_scenes as rig

NOISE = LidarNoiseParameters(0.01, 1e-4, 1e-3, 1e-3)
ROWS, COLUMNS = 7, 150


def busy(answers=0.5):
    """Glass, mirrors, fog and walls: rays of all kinds side by side."""
    pane = rig.turned(rig.across(6.0, of=1, thickness=0.2, half=3.0), (0, 1, 1), 0.3, (6, 0, 0))
    sheet = rig.turned(rig.across(8.0, of=2, half=2.0), (0, 0, 1), 0.7, (8, 0, 0))
    ball = rig.rays_twin.sphere(2.0, 8, (9.0, -6.0, 1.0))
    walls = rig.box((-14.3, -15.1, -6.7), (16.9, 17.2, 7.4))
    mist = Medium("mist", 0.03, 2.0, 4.0, answers)
    return rig.scene(
        walls,
        pane,
        sheet,
        ball,
        materials=(rig.lambert(), rig.glass(roughness=0.02), rig.mirror()),
        media=(Medium(), mist),
        volumes=((1, rig.across(2.0, thickness=9.0)),),
    )


def plain():
    """Walls and balls of matt and coated surfaces in clear air."""
    ball = rig.rays_twin.sphere(2.0, 8, (9.0, -6.0, 1.0))
    walls = rig.box((-14.3, -15.1, -6.7), (16.9, 17.2, 7.4), of=1)
    return rig.scene(walls, ball, materials=(rig.lambert(), rig.coated()))


def angles():
    azimuth = np.repeat(np.linspace(0.9, -0.9, COLUMNS), ROWS)
    return azimuth, np.tile(np.linspace(0.5, -0.5, ROWS), COLUMNS)


def device(azimuth, elevation, rows=ROWS, noise=NOISE, **own):
    parameters = LidarParameters(**rig.ALL, **own)
    beam = BeamParameters(divergence_half_angle=5e-3)
    return Lidar(parameters, rig.aim(azimuth, elevation, rows), beam, noise, seed=4)


def assert_same(one, other):
    """The same clouds, to the last bit."""
    np.testing.assert_array_equal(one.counts, other.counts)
    assert one.points(normals=True).tobytes() == other.points(normals=True).tobytes()
    assert one.nearest == other.nearest
    assert one.number == other.number


SCENES = pytest.mark.parametrize("make", [busy, plain])
OWN = pytest.mark.parametrize(
    "own", [{}, {"subrays": 5}, {"detection_probability": 0.7}], ids=["plain", "beam", "detect"]
)


@SCENES
@OWN
def test_threads_do_not_enter(make, own):
    lidar, clouds = device(*angles(), **own), []
    for threads in (1, 2, 2):
        with RayScene(make(), threads) as rays:
            clouds.append(lidar.capture(rays, rig.AT_ORIGIN, 3))
    assert clouds[0].number > ROWS * COLUMNS // 2
    assert_same(clouds[0], clouds[1])
    assert_same(clouds[0], clouds[2])


@SCENES
@OWN
@pytest.mark.parametrize("cuts", [[75], [1], [149], [16, 32, 64, 128], [3, 4, 7, 50, 51, 133]])
def test_a_frame_may_be_made_in_any_parts(make, own, cuts):
    lidar = device(*angles(), **own)
    poses = poses_of(lidar.mount, rig.AT_ORIGIN[None])
    with RayScene(make(), 1) as rays:
        whole = lidar.capture(rays, rig.AT_ORIGIN, 2, 1.5, duration=0.1)
        parts = lidar.new_cloud()
        edges = [0, *cuts, COLUMNS]
        for first, last in itertools.pairwise(edges):
            lidar.scan(rays, poses, 2, (1.5, 0.1), (first, last), parts)
    assert_same(whole, parts)


def test_of_points_at_the_same_range_the_first_counts_as_the_nearest():
    """Rays to both sides of a wall across: pairs of them read the same."""
    azimuth = np.linspace(0.9, -0.9, 400)
    lidar = device(azimuth, np.zeros(400), 1, LidarNoiseParameters())
    back = device(azimuth + np.pi, np.zeros(400), 1, LidarNoiseParameters())
    poses = poses_of(lidar.mount, rig.AT_ORIGIN[None])
    with RayScene(rig.scene(rig.across(5.0)), 2) as rays:
        whole, parts = lidar.capture(rays, rig.AT_ORIGIN), lidar.new_cloud()
        for first in range(0, 400, 10):
            lidar.scan(rays, poses, 0, (0.0, 0.0), (first, first + 10), parts)
        assert back.capture(rays, rig.AT_ORIGIN).nearest == (np.inf, -1)
    ranges = whole.returns["range"][:, 0]
    assert whole.nearest == parts.nearest
    assert whole.nearest[0] == pytest.approx(ranges.min(), rel=1e-6)
    assert whole.nearest[1] == 15 * int(np.argmin(ranges))


@pytest.mark.acceptance("SCAN-1")
def test_scan_1_four_slices_of_a_frame_make_the_whole_pattern(tmp_path):
    """A frame of 0.1 s in four steps: each makes the 128 columns that fall due in it, once."""
    grid = PatternParameters(type=PatternType.grid, rows=8, columns=512)
    lidar = Lidar(LidarParameters(scan_mode=ScanMode.rolling, motion_slices=4), grid, rate=10.0)
    room = 'format = 1\nname = "room"\n[meshes.room]\nmaterial = "brick"\n'
    room += 'box = { size = [31, 32, 14] }\n[[instances]]\nmesh = "room"\n'
    (tmp_path / "scene.toml").write_text(room)
    body, scan, made, frames = np.array([0.0, 0.0, 0.0, 1.0, *[0.0] * 9]), None, [], []
    with open_scene(tmp_path / "scene.toml") as world:
        scan = RollingScan(lidar, 0.0, 10.0)
        for time in (0.0, 0.025, 0.05, 0.075, 0.1):
            scan.know(time, body)
            frames += list(scan.frames(world))
            made.append(len(scan.state()["counts"]) // 8)
    assert made == [0, 128, 256, 384, 0]  # the last slice completes the frame
    (frame,) = frames
    points = frame.cloud.points()
    assert len(points) == 512 * 8
    # All directions of the grid, each once; a column is sent k/512 into the frame.
    columns = np.round(points["time"] / 0.1 * 512).astype(int)
    np.testing.assert_array_equal(columns, np.repeat(np.arange(512), 8))
    azimuth, elevation = lidar.pattern.angles(0)
    np.testing.assert_array_equal(points["azimuth"], azimuth.astype(np.float32))
    np.testing.assert_array_equal(points["elevation"], elevation.astype(np.float32))


@pytest.mark.parametrize("seen", [busy(0.0), plain()], ids=["busy", "plain"])
def test_neighbours_in_a_packet_do_not_enter(seen):
    """The same rays in another order give the same points in that order."""
    azimuth, elevation = angles()
    order = np.random.default_rng(2).permutation(len(azimuth))
    with RayScene(seen, 1) as rays:
        one = device(azimuth, elevation, noise=LidarNoiseParameters()).capture(rays, rig.AT_ORIGIN)
        other = device(azimuth[order], elevation[order], 1, LidarNoiseParameters()).capture(
            rays, rig.AT_ORIGIN
        )
    np.testing.assert_array_equal(one.counts[order], other.counts)
    returns = zip(one.returns[order], other.counts, strict=True)
    in_order = np.concatenate([points[:count] for points, count in returns])
    points = other.points(normals=True)
    for name in set(points.dtype.names) - {"ring"}:
        np.testing.assert_array_equal(in_order[name], points[name])


def test_a_detector_that_misses_hardly_anything_sees_what_a_perfect_one_sees():
    """Echoes that may be missed go another way through the kernel than those that cannot."""
    with RayScene(plain(), 1) as rays:
        clouds = [
            device(*angles(), detection_probability=p).capture(rays, rig.AT_ORIGIN)
            for p in (1.0, 1.0 - 1e-12)
        ]
    assert_same(*clouds)


@pytest.mark.parametrize("count", [1, WIDTH - 1, WIDTH, WIDTH + 1, 64 * WIDTH + 3])
def test_frames_of_any_size_are_filled(count):
    lidar = device(np.linspace(-0.5, 0.5, count), np.zeros(count), 1, LidarNoiseParameters())
    with RayScene(plain(), 2) as rays:
        cloud = lidar.capture(rays, rig.AT_ORIGIN)
    assert (cloud.counts == 1).all()
    assert cloud.number == count


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 64])
def test_grids_of_any_shape_are_filled(rows):
    rays_of_grid = rows * 37
    lidar = device(
        np.linspace(-0.5, 0.5, rays_of_grid), np.zeros(rays_of_grid), rows, LidarNoiseParameters()
    )
    with RayScene(plain(), 2) as rays:
        cloud = lidar.capture(rays, rig.AT_ORIGIN)
    assert (cloud.counts == 1).all()


def test_a_cloud_that_is_used_again_forgets_what_was_there():
    lidar = device(*angles())
    away = rig.at(0.0, 0.0, 100.0)
    with RayScene(busy(), 1) as rays:
        cloud = lidar.capture(rays, rig.AT_ORIGIN)
        again = lidar.capture(rays, away, out=cloud)
        assert again is cloud
        fresh = lidar.capture(rays, away)
    assert_same(again, fresh)


def test_lidars_may_scan_one_scene_from_several_threads():
    lidars = [device(*angles()) for _ in range(3)]
    results = [None] * 3
    with RayScene(busy(), 2) as rays:
        expected = lidars[0].capture(rays, rig.AT_ORIGIN, 1)

        def work(number):
            results[number] = lidars[number].capture(rays, rig.AT_ORIGIN, 1)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60.0)
    for cloud in results:
        assert_same(cloud, expected)


def test_a_lidar_may_look_at_one_scene_after_the_other():
    lidar = device(*angles())
    with RayScene(busy(), 1) as first, RayScene(plain(), 1) as second:
        clouds = [lidar.capture(rays, rig.AT_ORIGIN) for rays in (first, second, first)]
    assert_same(clouds[0], clouds[2])
    assert clouds[0].number != clouds[1].number
