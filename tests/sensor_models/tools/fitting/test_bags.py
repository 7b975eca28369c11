import numpy as np
import pytest
from rosbags.rosbag1 import Writer as Writer1
from rosbags.rosbag2 import StoragePlugin
from rosbags.rosbag2 import Writer as Writer2
from rosbags.typesys import Stores, get_typestore

from sensor_models.tools.fitting.estimates import FitError
from sensor_models.tools.fitting.imu import wanted
from sensor_models.tools.fitting.tables import Wanted, read_columns

TIMES = np.arange(20) * 0.01


def messages(store, sequence: dict):
    """Messages of an IMU, a thermometer and a receiver, with their topics and times in ns."""
    types = store.types
    time_type = types["builtin_interfaces/msg/Time"]
    vector, turn = types["geometry_msgs/msg/Vector3"], types["geometry_msgs/msg/Quaternion"]
    none = np.zeros(9)
    for n, t in enumerate(TIMES):
        ns = round(1.7e18) + round(t * 1e9)
        stamp = time_type(sec=ns // 10**9, nanosec=ns % 10**9)
        header = types["std_msgs/msg/Header"](stamp=stamp, frame_id="imu", **sequence)
        rate, force = vector(x=0.1 * n, y=0.2, z=0.3), vector(x=1.0, y=2.0, z=9.8)
        yield (
            "/imu",
            ns,
            types["sensor_msgs/msg/Imu"](
                header, turn(x=0.0, y=0.0, z=0.0, w=1.0), none, rate, none, force, none
            ),
        )
        yield "/temperature", ns, types["sensor_msgs/msg/Temperature"](header, 20.0 + n, 0.0)
        status = types["sensor_msgs/msg/NavSatStatus"](status=0, service=1)
        yield (
            "/fix",
            ns,
            types["sensor_msgs/msg/NavSatFix"](header, status, 45.0, 90.0, 12.0 + n, none, 0),
        )


def write_ros1(path) -> None:
    store = get_typestore(Stores.ROS1_NOETIC)
    with Writer1(path) as writer:
        topics = {}
        for topic, ns, message in messages(store, {"seq": 0}):
            kind = message.__msgtype__
            if topic not in topics:
                topics[topic] = writer.add_connection(topic, kind, typestore=store)
            writer.write(topics[topic], ns, store.serialize_ros1(message, kind).tobytes())


def write_ros2(path, plugin) -> None:
    store = get_typestore(Stores.ROS2_HUMBLE)
    with Writer2(path, version=9, storage_plugin=plugin) as writer:
        topics = {}
        for topic, ns, message in messages(store, {}):
            kind = message.__msgtype__
            if topic not in topics:
                topics[topic] = writer.add_connection(topic, kind, typestore=store)
            writer.write(topics[topic], ns, store.serialize_cdr(message, kind).tobytes())


@pytest.fixture(params=["ros1", "sqlite3", "mcap folder", "mcap"])
def bag(request, tmp_path):
    if request.param == "ros1":
        write_ros1(tmp_path / "log.bag")
        return tmp_path / "log.bag"
    plugin = StoragePlugin.SQLITE3 if request.param == "sqlite3" else StoragePlugin.MCAP
    write_ros2(tmp_path / "log", plugin)
    if request.param == "mcap":
        (file,) = (tmp_path / "log").glob("*.mcap")
        return file
    return tmp_path / "log"


def test_messages_of_an_imu_are_columns(bag) -> None:
    columns = read_columns(bag, wanted(), {"topic": "/imu"})
    assert columns["time"] == pytest.approx(TIMES, abs=1e-7)
    assert columns["gyroscope.x"] == pytest.approx(0.1 * np.arange(20))
    assert set(columns["accelerometer.z"]) == {9.8}
    assert columns["temperature"] == pytest.approx(293.15 + np.arange(20))


def test_messages_of_a_receiver_are_columns(bag) -> None:
    columns = read_columns(bag, [Wanted("latitude"), Wanted("height")], {"topic": "/fix"})
    assert columns["latitude"] == pytest.approx(np.full(20, np.pi / 4))
    assert columns["height"] == pytest.approx(12.0 + np.arange(20))


def test_topics_are_chosen_by_their_name(bag) -> None:
    with pytest.raises(FitError, match="several topics are of use, /fix, /imu; choose"):
        read_columns(bag, wanted(), {})
    with pytest.raises(FitError, match="there is no topic /gyro; of use are /fix, /imu"):
        read_columns(bag, wanted(), {"topic": "/gyro"})


def test_what_is_no_bag_is_refused(tmp_path) -> None:
    for name in ("log.mcap", "log.bag", "log.db3"):
        (tmp_path / name).write_bytes(b"something else, and long enough to be read")
        with pytest.raises(FitError, match=f"{name}: cannot be read as a bag"):
            read_columns(tmp_path / name, wanted(), {})
    (tmp_path / "folder").mkdir()
    with pytest.raises(FitError, match="folder"):
        read_columns(tmp_path / "folder", wanted(), {})


def test_the_missing_package_is_named(tmp_path, monkeypatch) -> None:
    (tmp_path / "log.bag").write_bytes(b"")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(FitError, match=r"needs rosbags: pip install 'sensor-fmus\[fit\]'"):
        read_columns(tmp_path / "log.bag", wanted(), {})
