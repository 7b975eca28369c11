"""Lines from a radar to its targets in logs, as viewers find them: where they end in the world."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from foxglove_schemas_protobuf.FrameTransforms_pb2 import FrameTransforms
from foxglove_schemas_protobuf.SceneUpdate_pb2 import SceneUpdate
from mcap.reader import make_reader
from rosbags.highlevel import AnyReader

from sensor_models.core.frames import IDENTITY, matrix_from_quaternion
from sensor_models.core.sensor import Held, Inputs, Result, Setup
from sensor_models.core.spec import Groups, scalars_of
from sensor_models.log.sink import LogSink
from sensor_models.output.detections import DetectionFile
from sensor_models.radar.ray_traced_sensor import row_of
from sensor_models.radar.readings import Detection
from sensor_models.radar.sensor import RADAR
from sensor_models.radar.targets import RadarTarget
from sensor_models.scene.registry import open_scene
from tests.sensor_models.scene_files import write_manifest

#: Cubes of 1 m: the nearest point of the first is the middle of a face, of the second a corner.
SCENE = """
[meshes.cube]
box = { size = [1, 1, 1] }
material = "concrete"

[[instances]]
mesh = "cube"
entity_id = 4
position = [4, 12, 3.5]

[[instances]]
mesh = "cube"
entity_id = 7
position = [1, 8, 1.5]
"""
MIDDLE, CORNER = (1.0, 7.5, 1.5), (3.5, 11.5, 3.0)
#: The body looks along y of the world, then away, then along y from 1 m further.
TURN = [math.cos(math.pi / 4), 0.0, 0.0, math.sin(math.pi / 4)]
AWAY = [math.cos(math.pi / 4), 0.0, 0.0, -math.sin(math.pi / 4)]
BODIES = [[1.0, 2.0, 0.0, *TURN], [1.0, 2.0, 0.0, *AWAY], [1.0, 3.0, 0.0, *TURN]]
SENSORS = [np.array([1.0, 2.5, 1.5]), np.array([1.0, 1.5, 1.5]), np.array([1.0, 3.5, 1.5])]
MOUNT = {"mount.position.x": 0.5, "mount.position.z": 1.5}
CONE = {"length": 30.0, "h_angle": 1.5, "v_angle": 1.5, "lines_per_face": 11}
DEFAULTS = {name: value for name, _, value in scalars_of(RADAR.held)}


def drive(log: Path, folder: Path) -> None:
    """A cone radar that logs a frame from each of the poses."""
    parameters = RADAR.build({"sample_rate": 10.0, "log": str(log), **MOUNT, **CONE})
    sensor = RADAR.make(Setup(RADAR, parameters, "front radar", files=True))
    sink = LogSink("front radar", RADAR, parameters)
    with open_scene(write_manifest(folder, SCENE)) as scene:
        given = Groups({group: group.build(DEFAULTS.__getitem__) for group in RADAR.held})
        held = Held(given, scene)
        states = [np.array([*body, *[0.0] * 6]) for body in BODIES]
        sensor.begin(Inputs(states[0], held, held))
        for number, state in enumerate(states):
            time = 0.1 * number
            for result in sensor.advance(Inputs(state, held, held), time - 0.1, time):
                sink.take(result, scene)
        sink.close()


def found_in(log: Path, kinds: dict[str, Any]) -> dict[str, list[Any]]:
    """Messages by topic, decoded by the classes that Foxglove publishes."""
    found: dict[str, list[Any]] = {}
    with log.open("rb") as stream:
        for schema, channel, message in make_reader(stream).iter_messages():
            if schema.name in kinds:
                decoded = kinds[schema.name].FromString(message.data)
                found.setdefault(channel.topic, []).append(decoded)
    return found


def placed(transform: Any, points: Any) -> np.ndarray:
    """Points of a frame in the one that it is in."""
    turn, place = transform.rotation, transform.translation
    axes = matrix_from_quaternion(np.array([turn.w, turn.x, turn.y, turn.z]))
    return np.asarray(points) @ axes.T + [place.x, place.y, place.z]


def seconds(stamp: Any) -> float:
    return float(stamp.seconds + 1e-9 * stamp.nanos)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    folder = tmp_path_factory.mktemp("radar")
    drive(folder / "run.mcap", folder)
    kinds = {"foxglove.SceneUpdate": SceneUpdate, "foxglove.FrameTransforms": FrameTransforms}
    return found_in(folder / "run.mcap", kinds)


def test_lines_go_from_the_sensor_to_the_nearest_points(log: dict[str, list[Any]]) -> None:
    """In the world, by the transforms of the same log at the same times."""
    steps = [t for message in log["/tf"] for t in message.transforms]
    (on_body,) = [t for t in steps if t.child_frame_id == "front_radar"]
    bodies = {seconds(t.timestamp): t for t in steps if t.child_frame_id == "base_link"}
    assert on_body.parent_frame_id == "base_link"
    updates = log["/front_radar/lines"]
    assert len(updates) == 3
    for number in (0, 2):
        (entity,) = updates[number].entities
        assert (entity.frame_id, entity.frame_locked) == ("front_radar", False)
        body = bodies[seconds(entity.timestamp)]
        assert body.parent_frame_id == "map"
        ends = []
        for lines in entity.lines:
            points = [[p.x, p.y, p.z] for p in lines.points]
            pose = lines.pose
            assert (pose.position.x, pose.orientation.w) == (0.0, 1.0)
            ends.append(placed(body, placed(on_body, points)))
        others, nearest = ends
        np.testing.assert_allclose(others, [SENSORS[number], CORNER], atol=1e-6)
        np.testing.assert_allclose(nearest, [SENSORS[number], MIDDLE], atol=1e-6)


def test_the_nearest_line_stands_out(log: dict[str, list[Any]]) -> None:
    (entity,) = log["/front_radar/lines"][0].entities
    others, nearest = entity.lines
    assert nearest.thickness > others.thickness
    assert nearest.color != others.color
    assert nearest.color.a == others.color.a == 1.0
    assert {lines.type for lines in entity.lines} == {2}  # of two ends each
    assert all(lines.scale_invariant for lines in entity.lines)


def test_each_frame_takes_the_place_of_the_one_before(log: dict[str, list[Any]]) -> None:
    """Entities of one id on one topic replace each other; what sees nothing deletes it."""
    first, blind, last = log["/front_radar/lines"]
    ids = {update.entities[0].id for update in (first, last)}
    assert not blind.entities
    (deletion,) = blind.deletions
    assert deletion.type == 0  # that of the same id
    assert ids == {deletion.id}
    assert seconds(deletion.timestamp) == pytest.approx(0.1)
    assert not first.deletions
    assert first.entities[0].lifetime.seconds == 0  # it stays until then


def test_lines_of_a_ray_traced_radar_end_at_its_angles(tmp_path: Path) -> None:
    """Its list has the strongest first; the nearest line is that of the least range."""
    polar = [(12.0, 0.3, -0.1), (5.0, -0.4, 0.2), (30.0, 0.0, 0.0)]
    rows = [
        (0, 0.2, *row_of(RadarTarget(number, *place, 1.0, 10.0, 100.0, 1e-12)))
        for number, place in enumerate(polar)
    ]
    known = {"position": (0.0, 0.0, 0.0), "orientation": IDENTITY}
    sink = LogSink("radar", RADAR, RADAR.build({"log": str(tmp_path / "run.mcap")}))
    sink.take(Result(0, 0.2, (), (DetectionFile(Detection, rows),), known), None)
    sink.close()
    found = found_in(tmp_path / "run.mcap", {"foxglove.SceneUpdate": SceneUpdate})
    (update,) = found["/radar/lines"]
    others, nearest = update.entities[0].lines
    ends = [[p.x, p.y, p.z] for lines in (nearest, others) for p in lines.points]
    np.testing.assert_array_equal(ends[::2], 0.0)
    for end, (distance, azimuth, elevation) in zip(
        ends[1::2], [polar[1], polar[0], polar[2]], strict=True
    ):
        x, y, z = end
        assert math.hypot(x, y, z) == pytest.approx(distance)
        assert math.atan2(y, x) == pytest.approx(azimuth, abs=1e-12)
        assert math.asin(z / distance) == pytest.approx(elevation, abs=1e-12)


def test_lines_in_a_bag_are_a_marker(tmp_path: Path) -> None:
    """A marker of one name and number replaces the one before; the second frame deletes it."""
    drive(tmp_path / "run", tmp_path)
    markers = []
    with AnyReader([tmp_path / "run"]) as reader:
        chosen = [c for c in reader.connections if c.topic == "/front_radar/lines"]
        for connection, _, data in reader.messages(chosen):
            markers.append(reader.deserialize(data, connection.msgtype))
    assert {type(m).__name__.rpartition("__")[2] for m in markers} == {"Marker"}
    assert [m.action for m in markers] == [0, 2, 0]
    assert len({(m.ns, m.id, m.header.frame_id) for m in markers}) == 1
    for number in (0, 2):
        marker = markers[number]
        assert (marker.type, marker.header.frame_id) == (5, "front_radar")
        assert marker.pose.orientation.w == 1.0
        assert marker.scale.x > 0.0
        # forward of the sensor is y of the world, left is against its x
        wanted = [np.array(point) - SENSORS[number] for point in (CORNER, MIDDLE)]
        ends = [[p.x, p.y, p.z] for p in marker.points]
        np.testing.assert_array_equal(ends[::2], 0.0)
        np.testing.assert_allclose(ends[1::2], [[y, -x, z] for x, y, z in wanted], atol=1e-6)
        colors = [(c.r, c.g, c.b, c.a) for c in marker.colors]
        assert colors[0] == colors[1] != colors[2] == colors[3]
        assert {c[3] for c in colors} == {1.0}
