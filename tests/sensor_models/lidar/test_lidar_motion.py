"""The lidar in motion: rays at their own times, frames of the points, bodies that move."""

import math
import threading

import numpy as np
import pytest

from sensor_models.core.clock import MOST_FRAMES
from sensor_models.core.frames import MountParameters
from sensor_models.kernels.lidar import layout
from sensor_models.lidar import due_knots
from sensor_models.lidar.lidar import FEWEST_KNOTS, MOST_KNOTS, Lidar
from sensor_models.lidar.parameters import LidarParameters, OutputFrame, ReturnMode, ScanMode
from sensor_models.lidar.patterns import PatternParameters, PatternType
from sensor_models.lidar.sweep import RollingScan
from sensor_models.scene.history import MovingBodies
from sensor_models.scene.model import Body, Instance
from sensor_models.scene.registry import open_scene
from sensor_models.scene.tracing import RayScene
from sensor_models.sight.mount import pose_of, poses_of
from tests import lidar_scenes as rig
from tests import oracles_rays as triangles
from tests.trajectories import Swing

DURATION = 0.1


def rolling(pattern, mount=None, **own):
    parameters = LidarParameters(scan_mode=ScanMode.rolling, **own)
    return Lidar(parameters, pattern, mount=mount, rate=1.0 / DURATION)


def knots(lidar, body_at):
    """Poses of the sensor at the knots of a frame, of a body's pose at some time."""
    times = np.linspace(0.0, DURATION, lidar.spans + 1)
    return poses_of(lidar.mount, np.array([body_at(time) for time in times]))


def sweep(seen, lidar, body_at, bodies=None, threads=2):
    """The points of a rolling frame, with their times."""
    with RayScene(seen, threads) as rays:
        cloud = lidar.new_cloud()
        columns = 0, lidar.pattern.columns
        lidar.scan(rays, knots(lidar, body_at), 0, (0.0, DURATION), columns, cloud, bodies)
        return cloud.points(normals=True)


def straight(velocity):
    """A body that moves without turning."""
    return lambda time: [*(np.asarray(velocity, float) * time), 1.0, 0.0, 0.0, 0.0]


def turning(axis, rate, velocity=(0.0, 0.0, 0.0)):
    """A body that turns about an axis through its origin, and moves."""
    return lambda time: [
        *(np.asarray(velocity, float) * time),
        *triangles.turned_quaternion(axis, rate * time),
    ]


def places(points):
    return np.stack([points[name] for name in "xyz"], axis=1).astype(float)


def spinning(columns=2100, rows=1):
    """Rays all around, column by column; most of them are sent between two knots."""
    return PatternParameters(
        type=PatternType.spinning, rows=rows, columns=columns, elevation=(-0.1, 0.1)
    )


# ---- times of the rays ------------------------------------------------------------------------


@pytest.mark.acceptance("SCAN-3")
def test_scan_3_half_way_through_the_frame_the_sensor_is_half_way():
    count = 1000
    pattern = rig.aim(np.zeros(count), offset=np.arange(count) / count)
    lidar = rolling(pattern)
    poses = knots(lidar, straight((10.0, 0.0, 0.0)))
    pose, wall = np.empty(12), rig.scene(rig.across(30.0))
    for some in (poses, poses[::8]):  # at the knots, and between them
        with RayScene(wall, 1) as rays:
            scan = lidar._scan(rays, np.ascontiguousarray(some), 0, (0, count), None)
        for ray in (0, 1, 333, 500, 999):
            layout.put_pose(scan, ray, pose)
            np.testing.assert_allclose(pose[9:], (ray / count, 0.0, 0.0), atol=1e-12)
        layout.put_pose(scan, 500, pose)
        assert pose[9] == pytest.approx(0.5, abs=1e-12)  # the row's
    # And the points: a wall at 30 m comes nearer by as much; float32 of 30 m.
    points = sweep(wall, lidar, straight((10.0, 0.0, 0.0)))
    np.testing.assert_allclose(points["range"], 30.0 - np.arange(count) / count, rtol=1e-6)
    np.testing.assert_array_equal(points["time"], DURATION * pattern.offset)


@pytest.mark.parametrize(
    ("columns", "spans"), [(1, FEWEST_KNOTS), (1000, 1000), (9000, MOST_KNOTS)]
)
def test_knots_are_as_many_as_columns_within_bounds(columns, spans):
    lidar = rolling(rig.aim(np.zeros(columns), offset=np.arange(columns) / columns))
    assert lidar.rolls
    assert lidar.spans == spans


def test_a_frame_at_rest_is_the_same_rolling_or_not():
    lidar = rolling(spinning(rows=4))
    seen = rig.scene(rig.box((-14.3, -15.1, -6.7), (16.9, 17.2, 7.4)))
    body = [1.0, 2.0, 0.5, *triangles.turned_quaternion((1, 2, 3), 0.4)]
    points = sweep(seen, lidar, lambda time: body)
    with RayScene(seen, 1) as rays:
        still = lidar.capture(rays, np.array(body), duration=DURATION).points(normals=True)
    assert points.tobytes() == still.tobytes()


# ---- a wall that is passed --------------------------------------------------------------------

SPEED = 20.0
LONG = rig.scene(rig.box((-400.0, 5.0, -50.0), (401.0, 6.0, 52.0)))


def on_wall(points):
    """Points within 60 m, where a float32 ray is known to 0.1 mm."""
    return points[points["range"] < 60.0]


def test_a_wall_that_is_passed_is_distorted_as_it_should_be():
    """The wall y = 5 along x. Each ray leaves the sensor at x = v t, so points lie at
    (5 / tan(azimuth), 5) in the frame of their own time: moving along the wall shifts nothing."""
    points = on_wall(sweep(LONG, rolling(spinning()), straight((SPEED, 0.0, 0.0))))
    assert len(points) > 300
    azimuth = points["azimuth"].astype(float)
    np.testing.assert_allclose(points["y"], 5.0, atol=1e-4)
    np.testing.assert_allclose(points["x"], 5.0 / np.tan(azimuth), atol=1e-3)


def test_a_wall_that_is_approached_is_distorted_as_it_should_be():
    """The wall y = 5 while the sensor moves in y at 20 m/s: y = 5 - v t, in a frame 2 m of it."""
    points = on_wall(sweep(LONG, rolling(spinning()), straight((0.0, SPEED, 0.0))))
    near = 5.0 - SPEED * points["time"]
    np.testing.assert_allclose(points["y"], near, atol=1e-3)
    azimuth = points["azimuth"].astype(float)
    np.testing.assert_allclose(points["x"], near / np.tan(azimuth), atol=1e-3)
    assert np.ptp(points["y"]) > 0.7


@pytest.mark.parametrize(
    "motion",
    [
        straight((0.0, SPEED, 0.0)),
        straight((SPEED, 3.0, -1.0)),
        turning((0, 0, 1), 2.0),
        turning((1, 2, 3), -2.0, (SPEED, 5.0, 0.0)),
    ],
)
def test_with_the_motion_taken_out_the_wall_is_flat(motion):
    lidar = rolling(spinning(), motion_correction=True)
    points = on_wall(sweep(LONG, lidar, motion))
    assert len(points) > 200
    # The body starts at the origin, unturned: its frame at the start is the world's.
    np.testing.assert_allclose(points["y"], 5.0, atol=1e-3)
    normals = np.stack([points[f"normal_{name}"] for name in "xyz"], axis=1)
    np.testing.assert_allclose(normals, [[0.0, -1.0, 0.0]] * len(points), atol=1e-5)


def test_points_in_the_world_are_the_truth_whatever_the_motion():
    start = np.array([3.0, -1.0, 0.5])
    turn = triangles.turned_quaternion((0.2, 0.1, 1.0), 0.8)

    def motion(time):
        moved = start + np.array([SPEED, 4.0, -2.0]) * time
        extra = triangles.turned_quaternion((0.3, -0.2, 1.0), 2.0 * time)
        matrix = triangles.pose_matrix([0, 0, 0, *extra]) @ triangles.pose_matrix([0, 0, 0, *turn])
        return [*moved, *quaternion_of(matrix)]

    mount = MountParameters((0.4, 0.2, 1.1), tuple(triangles.turned_quaternion((1, 0, 0), 0.2)))
    lidar = rolling(spinning(rows=3), mount, output_frame=OutputFrame.world)
    walls = rig.box((-14.3, -15.1, -6.7), (16.9, 17.2, 7.4))
    points = sweep(rig.scene(walls), lidar, motion)
    assert len(points) == 6300
    lows, highs = walls.vertices.min(axis=0), walls.vertices.max(axis=0)
    found = places(points)
    off = np.minimum(np.abs(found - lows), np.abs(found - highs)).min(axis=1)
    assert off.max() < 1e-4  # on the walls
    # And each lies on the ray of its own time.
    local = lidar.pattern.directions(0)
    for ray in range(0, 6300, 97):
        body = np.array(motion(points["time"][ray]))
        position, orientation = pose_of(lidar.mount, body)
        along = triangles.pose_matrix([*position, *orientation])[:3, :3] @ local[ray]
        expected = position + points["range"][ray] * along
        np.testing.assert_allclose(found[ray], expected, atol=1e-4)


def quaternion_of(matrix):
    """Of a rotation by less than half a turn."""
    w = 0.5 * math.sqrt(1.0 + matrix[0, 0] + matrix[1, 1] + matrix[2, 2])
    x, y, z = matrix[2, 1] - matrix[1, 2], matrix[0, 2] - matrix[2, 0], matrix[1, 0] - matrix[0, 1]
    return [w, x / (4 * w), y / (4 * w), z / (4 * w)]


ROOM = """
format = 1
name = "room"
[meshes.room]
material = "brick"
box = { size = [120, 130, 110] }
[[instances]]
mesh = "room"
"""
#: Half of its extents.
WALLS = np.array([60.0, 65.0, 55.0])


@pytest.mark.parametrize("turns", [True, False], ids=["turns known", "poses only"])
def test_a_lidar_that_swings_sees_walls_where_they_are_in_steps_of_100_ms(tmp_path, turns):
    """Points in the frame of the sensor, taken to the world by its true poses."""
    swing, step = Swing(amplitude=0.4, frequency=3.0), 0.1
    lidar = rolling(spinning(columns=400, rows=5))
    (tmp_path / "scene.toml").write_text(ROOM)
    frames, scan = [], RollingScan(lidar, 0.0, 1.0 / DURATION)
    with open_scene(tmp_path / "scene.toml") as world:
        for k in range(21):
            body = swing.state(step * k)
            body[10:13] *= turns
            scan.know(step * k, body)
            frames += [frame.cloud.points() for frame in scan.frames(world)]
    assert len(frames) == 20
    points = np.concatenate(frames)
    assert len(points) == 20 * 2000
    found = np.array(
        [
            swing.point(time, place)
            for time, place in zip(points["time"], places(points), strict=True)
        ]
    )
    off = np.abs(np.abs(found) - WALLS).min(axis=1).max()
    # Between states h apart a Hermite polynomial is off by h^4/384 of the fourth derivative, and a
    # line by h^2/8 of the second; A w^n of the angle, at most 2 3^4 + 2^4 + 0.5 4^4 of the path.
    farthest, angle = points["range"].max(), swing.amplitude
    by_path = step**4 / 384.0 * 306.0
    if turns:
        off_by_angle = step**4 / 384.0 * angle * swing.frequency**4
        assert off < farthest * (off_by_angle + 1e-6) + by_path  # 1e-6: float32
    else:
        off_by_angle = step**2 / 8.0 * angle * swing.frequency**2
        assert 0.2 < off < farthest * off_by_angle + by_path


def test_in_the_world_there_is_no_motion_to_take_out():
    motion = turning((0, 0, 1), 2.0, (SPEED, 0.0, 0.0))
    own = {"output_frame": OutputFrame.world}
    both = [
        sweep(LONG, rolling(spinning(), motion_correction=on, **own), motion)
        for on in (False, True)
    ]
    assert both[0].tobytes() == both[1].tobytes()


def test_a_turning_sensor_sees_a_round_room_as_it_is():
    """At 2 rad/s about the axis of the scan: ranges as at rest, azimuths turned by w t."""
    wall = rig.turned(rig.across(10.0, half=30.0), (0, 0, 1), 0.4, (10.0, 0.0, 0.0))
    azimuth = np.linspace(-0.3, 0.3, 600)
    pattern = rig.aim(azimuth, offset=np.arange(600) / 600)
    points = sweep(rig.scene(wall), rolling(pattern), turning((0, 0, 1), 2.0))
    world = azimuth + 2.0 * points["time"]
    # The wall goes through (10, 0) with the normal (cos 0.4, sin 0.4).
    expected = 10.0 * math.cos(0.4) / np.cos(world - 0.4)
    # Knots are 0.4 ms apart: blending a rotation is off by (w h)^2 / 8 = 8e-8 rad at most.
    np.testing.assert_allclose(points["range"], expected, rtol=2e-6)


# ---- bodies that move -------------------------------------------------------------------------


def gate():
    """A plate on a body in front of a wall."""
    plate = rig.box((-0.5, -3.1, -3.2), (0.5, 3.0, 3.0))
    return rig.scene(
        rig.across(40.0),
        plate,
        instances=(Instance(0, np.eye(4), 100), Instance(1, np.eye(4), 101, body=0)),
        bodies=(Body("gate", (10.0, 0.0, 0.0)),),
    )


def pose(x, y=0.0):
    return MovingBodies(np.array([[[x, y, 0.0, 1.0, 0.0, 0.0, 0.0]]]))


def range_of(rays, lidar, bodies=None):
    cloud = lidar.new_cloud()
    poses = poses_of(lidar.mount, rig.AT_ORIGIN[None])
    lidar.scan(rays, poses, 0, (0.0, 0.0), (0, 1), cloud, bodies)
    return float(cloud.points()["range"][0])


def test_bodies_are_seen_where_they_are_said_to_be_and_nowhere_else():
    lidar = Lidar(pattern=rig.aim())
    with RayScene(gate(), 2) as rays:
        for x in (20.0, 5.0, 5.0, 30.0):
            assert range_of(rays, lidar, pose(x)) == pytest.approx(x - 0.5, rel=1e-6)
            assert range_of(rays, lidar) == pytest.approx(9.5, rel=1e-6)
            assert rays.trace((0, 0, 0), [[1.0, 0.0, 0.0]]).t[0] == pytest.approx(9.5, rel=1e-6)
        assert range_of(rays, lidar, pose(10.0, 50.0)) == pytest.approx(40.0, rel=1e-6)


def test_a_body_that_was_moved_is_seen_there_after_commit():
    lidar = Lidar(pattern=rig.aim())
    with RayScene(gate(), 1) as rays:
        rays.move(0, (15.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))
        assert range_of(rays, lidar, pose(20.0)) == pytest.approx(19.5, rel=1e-6)
        assert range_of(rays, lidar) == pytest.approx(9.5, rel=1e-6)
        rays.commit()
        assert range_of(rays, lidar) == pytest.approx(14.5, rel=1e-6)
        assert range_of(rays, lidar, pose(20.0)) == pytest.approx(19.5, rel=1e-6)
        assert range_of(rays, lidar) == pytest.approx(14.5, rel=1e-6)


def test_others_never_see_bodies_where_a_scan_has_them():
    lidar, others = Lidar(pattern=rig.aim()), [Lidar(pattern=rig.aim()) for _ in range(2)]
    seen, wrong, done = [0, 0], [], threading.Event()

    def watch(number):
        while not done.is_set():
            found = range_of(rays, others[number])
            seen[number] += 1
            if abs(found - 9.5) > 1e-4:
                wrong.append(found)

    with RayScene(gate(), 1) as rays:
        threads = [threading.Thread(target=watch, args=(number,)) for number in range(2)]
        for thread in threads:
            thread.start()
        turn = 0
        while turn < 300 or min(seen) == 0:  # however few turns the others get
            x = 12.0 + turn % 20
            turn += 1
            if range_of(rays, lidar, pose(x)) != pytest.approx(x - 0.5, rel=1e-6):
                wrong.append(x)
        done.set()
        for thread in threads:
            thread.join()
    assert wrong == []


def test_a_closed_scene_is_not_scanned():
    lidar = Lidar(pattern=rig.aim())
    rays = RayScene(gate(), 1)
    rays.close()
    for bodies in (None, pose(20.0)):
        with pytest.raises(ValueError, match="closed"):
            range_of(rays, lidar, bodies)


@pytest.mark.parametrize("parts", [1, 10])
def test_each_ray_sees_a_body_where_it_is_at_its_own_time(parts):
    """A gate that moves away at 30 m/s, while a frame is made at once or in parts."""
    count, spans, speed = 1000, 10, 30.0
    pattern = rig.aim(np.zeros(count), offset=np.arange(count) / count)
    lidar = rolling(pattern, return_mode=ReturnMode.first)
    poses = knots(lidar, lambda time: rig.AT_ORIGIN)
    way = np.zeros((spans + 1, 1, 7))
    way[:, 0, 0], way[:, 0, 3] = 10.0 + speed * np.linspace(0.0, DURATION, spans + 1), 1.0
    cloud, step = lidar.new_cloud(), spans // parts
    with RayScene(gate(), 2) as rays:
        for first in range(0, spans, step):
            columns = first * count // spans, (first + step) * count // spans
            bodies = MovingBodies(way[first : first + step + 1], first, spans)
            lidar.scan(rays, poses, 0, (0.0, DURATION), columns, cloud, bodies)
    points = cloud.points()
    truth = 9.5 + speed * points["time"]
    np.testing.assert_allclose(points["range"], truth, rtol=1e-6)


# ---- long steps -------------------------------------------------------------------------------


@pytest.fixture
def room(tmp_path):
    (tmp_path / "scene.toml").write_text(ROOM)
    with open_scene(tmp_path / "scene.toml") as world:
        yield world


def steps_of(scan, world, step, count):
    """The frames of some steps, with their times."""
    swing, found = Swing(amplitude=0.4, frequency=3.0), []
    for k in range(count + 1):
        scan.know(step * k, swing.state(step * k))
        found += [(f.number, f.time, f.cloud.points()) for f in scan.frames(world)]
    return found


def test_a_step_with_more_knots_than_samples_may_fall_due_gives_all_its_frames(room):
    lidar = rolling(spinning(columns=2100))
    count = MOST_FRAMES // lidar.spans + 3
    found = steps_of(RollingScan(lidar, 0.0, 1.0 / DURATION), room, count * DURATION, 1)
    assert [number for number, _, _ in found] == list(range(count))
    assert {len(points) for _, _, points in found} == {2100}


@pytest.mark.parametrize("most", [1, 37, 250])
def test_how_many_knots_are_made_at_once_is_no_matter_of_the_frames(room, monkeypatch, most):
    lidar = rolling(spinning(columns=400, rows=2))
    whole = steps_of(RollingScan(lidar, 0.0, 1.0 / DURATION), room, 0.53, 3)
    monkeypatch.setattr(due_knots, "MOST_AT_ONCE", most)
    parts = steps_of(RollingScan(lidar, 0.0, 1.0 / DURATION), room, 0.53, 3)
    assert [frame[:2] for frame in parts] == [frame[:2] for frame in whole]
    for (*_, one), (*_, other) in zip(parts, whole, strict=True):
        np.testing.assert_allclose(places(one), places(other), rtol=0.0, atol=2e-6)  # float32


def test_a_state_in_the_middle_of_a_long_step_has_the_rest_of_it(room, monkeypatch):
    monkeypatch.setattr(due_knots, "MOST_AT_ONCE", 50)
    lidar = rolling(spinning(columns=400, rows=2))
    scan, again = (RollingScan(lidar, 0.0, 1.0 / DURATION) for _ in range(2))
    body = Swing(amplitude=0.4, frequency=3.0).state
    scan.know(0.0, body(0.0))
    assert list(scan.frames(room)) == []
    scan.know(0.53, body(0.53))
    frames = scan.frames(room)
    assert next(frames).number == 0
    saved = scan.state()
    assert len(saved["waiting"]) == 1
    expected = [(frame.number, frame.cloud.points()) for frame in frames]
    again.restore(saved)
    found = [(frame.number, frame.cloud.points()) for frame in again.frames(room)]
    assert [number for number, _ in found] == [number for number, _ in expected] == [1, 2, 3, 4]
    for (_, one), (_, other) in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("place", [-5, -4, -3, -2, -1, 0])
def test_a_damaged_segment_of_a_state_is_refused(room, monkeypatch, place):
    monkeypatch.setattr(due_knots, "MOST_AT_ONCE", 50)
    scan = RollingScan(rolling(spinning(columns=400)), 0.0, 1.0 / DURATION)
    body = Swing(amplitude=0.4, frequency=3.0).state
    scan.know(0.0, body(0.0))
    scan.know(0.53, body(0.53))
    saved = scan.state()
    saved["waiting"][0, place] = {-5: 9.0, -4: -1.0, 0: np.inf}.get(place, 0.5)
    with pytest.raises(ValueError, match="damaged"):
        scan.restore(saved)
