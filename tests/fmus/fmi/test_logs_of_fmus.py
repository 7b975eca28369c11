"""Logs of FMUs: one file for all sensors of a run, for Foxglove and as a bag of ROS 2."""

import json
import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from foxglove_schemas_protobuf import PointCloud_pb2
from mcap.reader import NonSeekingReader, make_reader
from mcap_protobuf.decoder import DecoderFactory
from rosbags.highlevel import AnyReader
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from sensor_models import catalog
from tests.fmus.host import Instance, open_fmu

#: Small ones of all sensors.
PARAMETERS: dict[str, dict[str, Any]] = {
    "Lidar": {"pattern.rows": 8, "pattern.columns": 60, "scan_mode": 1},
    "WaveformLidar": {"pattern.rows": 2, "pattern.columns": 9},
    "DepthCamera": {"width": 24, "height": 16},
    "CcdCamera": {"pixels.width": 24, "pixels.height": 16},
    "Radar": {"length": 30.0, "h_angle": 2.0, "v_angle": 1.0},
    "Imu": {"sample_rate": 200.0},
}
#: Those that are run here; pictures in logs go the way of depth images.
NAMES = [name for name in catalog.names() if name != "CcdCamera"]
STEPS, STEP = 10, 0.1


def drive(fmu_directory: Path, log: Path, names: list[str], **others: Any) -> None:
    """All sensors on one body, which drives at 3 m/s along x."""
    with ExitStack() as stack:
        world = stack.enter_context(open_fmu(fmu_directory / "Environment.fmu", "world"))
        world.initialize({})
        sensors: list[Instance] = []
        for name in names:
            sensor = stack.enter_context(open_fmu(fmu_directory / f"{name}.fmu", f"my {name}"))
            own = {"log": str(log), "sample_rate": 10.0, **PARAMETERS.get(name, {}), **others}
            if "scene_handle" in sensor.variables:
                own["scene_handle"] = world.get("scene_handle")
            if name in ("CcdCamera", "Lidar", "WaveformLidar", "DepthCamera", "Radar"):
                own["mount.position.z"] = 1.5
            sensor.initialize(own)
            sensors.append(sensor)
        for k in range(STEPS):
            time = k * STEP
            world.set({"vehicle_1.position.x": time, "vehicle_1.velocity.x": 1.0})
            world.step(time, STEP)
            for sensor in sensors:
                if "body.velocity.x" in sensor.variables:
                    sensor.set({"body.position.x": 3.0 * time, "body.velocity.x": 3.0})
                sensor.step(time, STEP)
        for sensor in sensors:
            sensor.terminate()
            assert not any("no files" in warning for warning in sensor.warnings())


@pytest.fixture(scope="module")
def log(fmu_directory: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("log") / "run.mcap"
    drive(fmu_directory, path, NAMES)
    return path


def messages(path: Path) -> Iterator[Any]:
    with path.open("rb") as stream:
        reader = make_reader(stream, decoder_factories=[DecoderFactory()], validate_crcs=True)
        for schema, channel, message in reader.iter_messages():
            decoded = message.data
            if schema.encoding == "protobuf":
                decoded = DecoderFactory().decoder_for("protobuf", schema)(message.data)
            yield channel.topic, schema.name, message.log_time, decoded


def test_all_sensors_of_a_run_are_in_one_file_in_the_order_of_time(log: Path) -> None:
    with log.open("rb") as stream:
        summary = make_reader(stream, validate_crcs=True).get_summary()
    found = list(messages(log))
    assert summary.statistics.message_count == len(found)
    assert sum(summary.statistics.channel_message_counts.values()) == len(found)
    topics = {topic.split("/")[1] for topic, *_ in found}
    assert topics >= {f"my_{name}" for name in NAMES} | {"tf", "scene"}
    with log.open("rb") as stream:
        reader = NonSeekingReader(stream)
        times = [m.log_time for _, _, m in reader.iter_messages(log_time_order=False)]
    assert times == sorted(times)
    assert len(times) == len(found)


def test_samples_are_all_there(log: Path) -> None:
    times = [t for topic, _, t, _ in messages(log) if topic == "/my_Imu/reading"]
    assert times == [5_000_000 * k for k in range(len(times))]
    assert len(times) == 181  # to the newest state that is known, at 0.9 s


def test_frames_tell_where_the_sensor_was_and_what_it_saw(log: Path) -> None:
    clouds = [m for topic, *_, m in messages(log) if topic == "/my_Lidar/points"]
    assert [round(c.timestamp.seconds + 1e-9 * c.timestamp.nanos, 9) for c in clouds] == [
        pytest.approx(0.1 * k) for k in range(len(clouds))
    ]
    assert len(clouds) == 9  # a rolling frame is complete 0.1 s later
    kinds = {7: "<f4", 6: "<i4", 3: "<u2", 1: "u1"}
    dtype = np.dtype([(f.name, kinds[f.type]) for f in clouds[0].fields])
    points = np.frombuffer(clouds[0].data, dtype)
    assert dtype.itemsize == clouds[0].point_stride
    assert len(points) > 100
    assert (np.hypot(points["x"], points["y"]) > 0.0).all()
    assert (points["time"] >= 0.0).all()
    assert (points["time"] < 0.1).all()
    poses = [m for topic, *_, m in messages(log) if topic == "/my_DepthCamera/pose"]
    places = [p.pose.position.x for p in poses]
    assert places == pytest.approx([0.3 * k for k in range(10)], abs=1e-9)
    images = [m for topic, *_, m in messages(log) if topic == "/my_DepthCamera/depth"]
    assert {(i.width, i.height, i.encoding, len(i.data)) for i in images} == {
        (24, 16, "32FC1", 24 * 16 * 4)
    }


def test_lines_of_a_radar_end_at_its_targets(log: Path) -> None:
    clouds = [m for topic, *_, m in messages(log) if topic == "/my_Radar/targets"]
    updates = [m for topic, *_, m in messages(log) if topic == "/my_Radar/lines"]
    assert len(updates) == len(clouds) >= 9
    for cloud, update in zip(clouds, updates, strict=True):
        numbers = np.frombuffer(cloud.data, "<f4").reshape(-1, cloud.point_stride // 4)
        lines = [points for e in update.entities for own in e.lines for points in own.points]
        ends = np.array([[p.x, p.y, p.z] for p in lines[1::2]], np.float32).reshape(-1, 3)
        assert sorted(ends.tolist()) == sorted(numbers[:, :3].tolist())
        assert bool(update.deletions) == (len(ends) == 0)
    assert any(update.entities for update in updates)


def test_frames_of_bodies_and_sensors_hang_together(log: Path) -> None:
    parents: dict[str, set[str]] = {}
    cars = []
    for topic, _, time, message in messages(log):
        if topic == "/tf":
            for each in message.transforms:
                parents.setdefault(each.child_frame_id, set()).add(each.parent_frame_id)
                if each.child_frame_id == "body_vehicle_1":
                    cars.append((1e-9 * time, each.translation.x))
    assert parents["base_link"] == {"map"}
    assert parents["my_Lidar"] == parents["my_Imu"] == {"base_link"}
    assert parents["my_DepthCamera_optical"] == {"my_DepthCamera"}
    assert len(cars) > 10
    for time, x in cars:
        assert x == pytest.approx(time, abs=1e-6)
    (scene,) = [m for topic, *_, m in messages(log) if topic == "/scene"]
    frames = {entity.frame_id for entity in scene.entities}
    assert {"map", "body_vehicle_1"} <= frames
    assert frames - {"map"} <= parents.keys()


#: Topics of a bag of six sensors, and the types of their messages.
IN_BAG = {
    "/my_Lidar/points": "PointCloud2",
    "/my_Lidar/pose": "PoseStamped",
    "/my_DepthCamera/depth": "Image",
    "/my_DepthCamera/camera_info": "CameraInfo",
    "/my_DepthCamera/pose": "PoseStamped",
    "/my_Imu/data_raw": "Imu",
    "/my_Imu/mag": "MagneticField",
    "/my_Magnetometer/mag": "MagneticField",
    "/my_Gnss/fix": "NavSatFix",
    "/my_Encoder/joint_states": "JointState",
    "/tf": "TFMessage",
    "/tf_static": "TFMessage",
}


def test_a_bag_is_read_by_the_reader_of_ros(fmu_directory: Path, tmp_path: Path) -> None:
    bag = tmp_path / "bag"
    drive(fmu_directory, bag, ["Lidar", "DepthCamera", "Imu", "Gnss", "Magnetometer", "Encoder"])
    found: dict[str, list[Any]] = {}
    with AnyReader([bag]) as reader:
        assert reader.message_count == sum(c.msgcount for c in reader.connections)
        times = []
        for connection, time, data in reader.messages():
            times.append(time)
            message = reader.deserialize(data, connection.msgtype)
            found.setdefault(connection.topic, []).append(message)
    assert times == sorted(times)
    kinds = {topic: type(m[0]).__name__.rpartition("__")[2] for topic, m in found.items()}
    assert kinds == IN_BAG
    for topic, messages_here in found.items():
        stamps = [
            m.header.stamp.sec + 1e-9 * m.header.stamp.nanosec
            for m in messages_here
            if hasattr(m, "header")
        ]
        assert stamps == sorted(stamps), topic
    at_rest = found["/my_Imu/data_raw"][-1]
    assert at_rest.linear_acceleration.z == pytest.approx(9.80665, abs=1e-6)
    assert at_rest.header.frame_id == "my_Imu"
    fixed = {t.child_frame_id for m in found["/tf_static"] for t in m.transforms}
    assert fixed == {
        *(f"my_{name}" for name in ("Lidar", "DepthCamera", "Imu", "Gnss", "Magnetometer")),
        "my_DepthCamera_optical",
    }


def test_files_messages_and_log_of_one_sensor_say_the_same(
    fmu_directory: Path, tmp_path: Path
) -> None:
    """Whoever is done with a frame last gives its memory back, else the sensor stops."""
    log, files = tmp_path / "log.mcap", tmp_path / "files"
    more = {"osi.on": True, "output_directory": str(files), "record": True}
    drive(fmu_directory, log, ["Lidar"], **more)
    clouds = [m for topic, *_, m in messages(log) if topic == "/my_Lidar/points"]
    written = sorted(files.glob("*.pcd"))
    assert len(written) == len(clouds) == 9
    for cloud, path in zip(clouds, written, strict=True):
        header = path.read_bytes().split(b"DATA binary", 1)[0].decode()
        assert f"POINTS {len(cloud.data) // cloud.point_stride}\n" in header


def test_a_log_that_cannot_be_written_is_refused(fmu_directory: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for name in ("Encoder", "Radar"):
        with open_fmu(fmu_directory / f"{name}.fmu") as sensor:
            sensor.set({"log": str(tmp_path / "file" / "log.mcap")})
            sensor.set_up()
            sensor.enter()
            assert "cannot write the log" in sensor.refusal(sensor.exit)


def test_a_viewer_sees_frames_and_samples_while_the_run_goes_on(fmu_directory: Path) -> None:
    """A client of another make gets all that is measured once it has subscribed."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"ws://127.0.0.1:{free.getsockname()[1]}"
    protocol = Subprotocol("foxglove.websocket.v1")
    topics: dict[int, str] = {}
    found: dict[str, list[bytes]] = {}
    with ExitStack() as stack:
        sensors = []
        for name in ("Lidar", "Imu"):
            sensor = stack.enter_context(open_fmu(fmu_directory / f"{name}.fmu", f"my {name}"))
            own = {"scene": "yard"} if name == "Lidar" else {}
            sensor.initialize({"log": url, "sample_rate": 10.0, **PARAMETERS[name], **own})
            sensors.append(sensor)
        viewer = stack.enter_context(connect(url, subprotocols=[protocol], max_size=None))
        assert json.loads(viewer.recv(20.0))["op"] == "serverInfo"
        for k in range(40):
            for sensor in sensors:
                sensor.step(k * STEP, STEP)
            with suppress(TimeoutError):
                while True:
                    take_live(viewer, viewer.recv(0.01), topics, found)
        for sensor in sensors:
            sensor.terminate()
    clouds = [PointCloud_pb2.PointCloud.FromString(m) for m in found["/my_Lidar/points"]]
    times = [c.timestamp.seconds + 1e-9 * c.timestamp.nanos for c in clouds]
    assert len(times) > 20
    assert times == pytest.approx([times[0] + 0.1 * k for k in range(len(times))])
    assert len(clouds[-1].data) > 100 * clouds[-1].point_stride
    readings = [json.loads(message) for message in found["/my_Imu/reading"]]
    assert len(readings) > 20
    assert readings[-1]["accelerometer"]["z"] == pytest.approx(9.80665)
    assert found["/scene"]
    assert found["/tf"]


def take_live(
    viewer: ClientConnection, message: Any, topics: dict[int, str], found: dict[str, list[bytes]]
) -> None:
    """Subscribe to what appears, and keep what comes, by topics."""
    if isinstance(message, str):
        new = {one["id"]: one["topic"] for one in json.loads(message).get("channels", [])}
        topics.update(new)
        wanted = [{"id": number, "channelId": number} for number in new]
        viewer.send(json.dumps({"op": "subscribe", "subscriptions": wanted}))
    elif message[0] == 1:
        _, number, _ = struct.unpack_from("<BIQ", message)
        found.setdefault(topics[number], []).append(message[13:])
