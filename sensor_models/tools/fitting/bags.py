"""Messages of logs as tables: MCAP files, bags of ROS 1 and 2, and our own logs.

Of ROS, messages that hold what a fit needs become columns: ``Imu``, ``Temperature``,
``NavSatFix`` and ``JointState`` of ``sensor_msgs``. Times are those in the headers of messages:
when they were taken, and not when they were written. Logs of ours in Foxglove's format hold
readings as JSON, and all their numbers are columns.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sensor_models.log.reading import LogError, read_messages, read_summary
from sensor_models.tools.fitting.estimates import FitError, Floats
from sensor_models.tools.fitting.tables import Table, need

#: The encoding of the readings in logs of ours.
JSON = "json"


def _imu(message: Any) -> dict[str, float]:
    rate, force = message.angular_velocity, message.linear_acceleration
    return {
        "gyroscope.x": rate.x,
        "gyroscope.y": rate.y,
        "gyroscope.z": rate.z,
        "accelerometer.x": force.x,
        "accelerometer.y": force.y,
        "accelerometer.z": force.z,
    }


def _fix(message: Any) -> dict[str, float]:
    missing = message.status.status < 0
    return {
        "latitude": np.nan if missing else np.deg2rad(message.latitude),
        "longitude": np.nan if missing else np.deg2rad(message.longitude),
        "height": np.nan if missing else message.altitude,
    }


def _joint(message: Any) -> dict[str, float]:
    found = {"position": message.position[0]} if len(message.position) else {}
    return {**found, "speed": message.velocity[0]} if len(message.velocity) else found


#: What the columns of a message are, by its type.
_TYPES: Mapping[str, Callable[[Any], dict[str, float]]] = {
    "sensor_msgs/msg/Imu": _imu,
    "sensor_msgs/msg/NavSatFix": _fix,
    "sensor_msgs/msg/JointState": _joint,
}


def message_table(path: Path, topic: str) -> Table:
    """The messages of one topic as columns; those of the only one that fits, if none is named."""
    rows = _own_rows(path, topic)
    if rows is None:
        need(f"{path}: a bag", "rosbags")
        rows = _ros_rows(path, topic)
    if not rows:
        raise FitError(f"{path}: the topic {topic} has no messages")
    names = sorted({name for row in rows for name in row})
    columns = {name: np.array([row.get(name, np.nan) for row in rows]) for name in names}

    def load(wanted: Sequence[str]) -> dict[str, Floats]:
        return {name: columns[name] for name in wanted}

    return Table(path, names, load)


def _own_rows(path: Path, topic: str) -> list[dict[str, float]] | None:
    """The readings of a log of ours in Foxglove's format; None for any other file."""
    if path.suffix != ".mcap":
        return None
    try:
        with path.open("rb") as stream:
            channels = read_summary(stream).channels
    except LogError:
        return None  # compressed: not ours
    readings = [c.topic for c in channels if c.encoding == JSON and c.messages]
    if not readings:
        return None
    topic = _chosen(path, topic, readings, readings)
    with path.open("rb") as stream:
        return [_flat(json.loads(data)) for name, _, data in read_messages(stream) if name == topic]


def _flat(content: Mapping[str, Any], group: str = "") -> dict[str, float]:
    """The numbers of an object of JSON by dotted names."""
    found: dict[str, float] = {}
    for name, value in content.items():
        if name == "timestamp" and not group:
            found["time"] = value["sec"] + 1e-9 * value["nsec"]
        elif isinstance(value, dict):
            found.update(_flat(value, f"{group}{name}."))
        elif isinstance(value, (int, float)):
            found[f"{group}{name}"] = float(value)
    return found


def _chosen(path: Path, topic: str, usable: Sequence[str], there: Sequence[str]) -> str:
    if topic:
        if topic not in usable:
            raise FitError(f"{path}: there is no topic {topic}; of use are {', '.join(usable)}")
        return topic
    if not usable:
        raise FitError(f"{path}: no topic is of use; there are {', '.join(there) or 'none'}")
    if len(usable) > 1:
        raise FitError(
            f"{path}: several topics are of use, {', '.join(usable)}; choose: --column topic=ONE"
        )
    return usable[0]


def ros_messages(path: Path, types: Sequence[str], topic: str) -> Iterator[tuple[float, str, Any]]:
    """Messages of one topic that has one of these types, and of topics of temperature.

    Yields:
        The time in s since the first message, the type and the message.
    """
    from rosbags.highlevel import AnyReader, AnyReaderError

    try:
        with AnyReader([path]) as reader:
            usable = sorted({c.topic for c in reader.connections if c.msgtype in types})
            chosen = _chosen(path, topic, usable, sorted({c.topic for c in reader.connections}))
            also = [c for c in reader.connections if c.msgtype == "sensor_msgs/msg/Temperature"]
            mine = [c for c in reader.connections if c.topic == chosen]
            start: int | None = None
            for connection, _, raw in reader.messages(connections=[*mine, *also]):
                message = reader.deserialize(raw, connection.msgtype)
                stamp = message.header.stamp
                time = stamp.sec * 1_000_000_000 + stamp.nanosec
                start = time if start is None else start
                yield (time - start) * 1e-9, connection.msgtype, message
    except (AnyReaderError, OSError) as error:
        raise FitError(f"{path}: cannot be read as a bag: {error}") from None


def _ros_rows(path: Path, topic: str) -> list[dict[str, float]]:
    rows, temperatures = [], []
    for time, kind, message in ros_messages(path, list(_TYPES), topic):
        if kind in _TYPES:
            rows.append({"time": time, **_TYPES[kind](message)})
        else:
            temperatures.append((time, message.temperature + 273.15))
    if temperatures:
        at, values = np.array(temperatures).T
        for row, value in zip(
            rows, np.interp([row["time"] for row in rows], at, values), strict=True
        ):
            row["temperature"] = float(value)
    return rows
