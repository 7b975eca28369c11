"""Messages for Foxglove and Rerun: the schemas of Foxglove, in Protocol Buffers.

The descriptors in a log are made from a table here (``SCHEMAS``), so that writing a log needs no
package. Readings without a schema of Foxglove are objects of JSON.

Source: Foxglove, "Schemas", https://docs.foxglove.dev/docs/visualization/message-schemas.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.messages.wire import (
    Bytes,
    Record,
    block,
    double,
    double_part,
    fixed32,
    opening,
    text,
    whole,
)

Parts = tuple[bytes | Bytes, ...]

DOUBLE, STRING, MESSAGE, BYTES, ENUM, FIXED, BOOL = 1, 9, 11, 12, 14, 7, 8
INT64, INT32 = 3, 5
OPTIONAL, REPEATED = 1, 3
STAMP, DURATION = "google.protobuf.Timestamp", "google.protobuf.Duration"


class Field(NamedTuple):
    """A field of a message."""

    name: str
    number: int
    kind: int
    of: str = ""  # full name of its message or enumeration
    label: int = OPTIONAL


_TIME = Field("timestamp", 1, MESSAGE, STAMP)
_XYZ = tuple(Field(name, i + 1, DOUBLE) for i, name in enumerate("xyz"))

#: The fields of messages by their full names.
MESSAGES: Mapping[str, tuple[Field, ...]] = {
    STAMP: (Field("seconds", 1, INT64), Field("nanos", 2, INT32)),
    DURATION: (Field("seconds", 1, INT64), Field("nanos", 2, INT32)),
    "foxglove.Vector3": _XYZ,
    "foxglove.Point3": _XYZ,
    "foxglove.Quaternion": (*_XYZ, Field("w", 4, DOUBLE)),
    "foxglove.Color": tuple(Field(name, i + 1, DOUBLE) for i, name in enumerate("rgba")),
    "foxglove.Pose": (
        Field("position", 1, MESSAGE, "foxglove.Vector3"),
        Field("orientation", 2, MESSAGE, "foxglove.Quaternion"),
    ),
    "foxglove.PackedElementField": (
        Field("name", 1, STRING),
        Field("offset", 2, FIXED),
        Field("type", 3, ENUM, "foxglove.PackedElementField.NumericType"),
    ),
    "foxglove.PointCloud": (
        _TIME,
        Field("frame_id", 2, STRING),
        Field("pose", 3, MESSAGE, "foxglove.Pose"),
        Field("point_stride", 4, FIXED),
        Field("fields", 5, MESSAGE, "foxglove.PackedElementField", REPEATED),
        Field("data", 6, BYTES),
    ),
    "foxglove.RawImage": (
        _TIME,
        Field("frame_id", 7, STRING),
        Field("width", 2, FIXED),
        Field("height", 3, FIXED),
        Field("encoding", 4, STRING),
        Field("step", 5, FIXED),
        Field("data", 6, BYTES),
    ),
    "foxglove.CameraCalibration": (
        _TIME,
        Field("frame_id", 9, STRING),
        Field("width", 2, FIXED),
        Field("height", 3, FIXED),
        Field("distortion_model", 4, STRING),
        *(Field(name, i + 5, DOUBLE, "", REPEATED) for i, name in enumerate("DKRP")),
    ),
    "foxglove.PoseInFrame": (
        _TIME,
        Field("frame_id", 2, STRING),
        Field("pose", 3, MESSAGE, "foxglove.Pose"),
    ),
    "foxglove.FrameTransform": (
        _TIME,
        Field("parent_frame_id", 2, STRING),
        Field("child_frame_id", 3, STRING),
        Field("translation", 4, MESSAGE, "foxglove.Vector3"),
        Field("rotation", 5, MESSAGE, "foxglove.Quaternion"),
    ),
    "foxglove.FrameTransforms": (
        Field("transforms", 1, MESSAGE, "foxglove.FrameTransform", REPEATED),
    ),
    "foxglove.LocationFix": (
        Field("timestamp", 6, MESSAGE, STAMP),
        Field("frame_id", 7, STRING),
        Field("latitude", 1, DOUBLE),
        Field("longitude", 2, DOUBLE),
        Field("altitude", 3, DOUBLE),
        Field("position_covariance", 4, DOUBLE, "", REPEATED),
        Field("position_covariance_type", 5, ENUM, "foxglove.LocationFix.PositionCovarianceType"),
    ),
    "foxglove.TriangleListPrimitive": (
        Field("pose", 1, MESSAGE, "foxglove.Pose"),
        Field("points", 2, MESSAGE, "foxglove.Point3", REPEATED),
        Field("color", 3, MESSAGE, "foxglove.Color"),
        Field("indices", 5, FIXED, "", REPEATED),
    ),
    "foxglove.LinePrimitive": (
        Field("type", 1, ENUM, "foxglove.LinePrimitive.Type"),
        Field("pose", 2, MESSAGE, "foxglove.Pose"),
        Field("thickness", 3, DOUBLE),
        Field("scale_invariant", 4, BOOL),
        Field("points", 5, MESSAGE, "foxglove.Point3", REPEATED),
        Field("color", 6, MESSAGE, "foxglove.Color"),
    ),
    "foxglove.SceneEntity": (
        _TIME,
        Field("frame_id", 2, STRING),
        Field("id", 3, STRING),
        Field("lifetime", 4, MESSAGE, DURATION),
        Field("frame_locked", 5, BOOL),
        Field("lines", 11, MESSAGE, "foxglove.LinePrimitive", REPEATED),
        Field("triangles", 12, MESSAGE, "foxglove.TriangleListPrimitive", REPEATED),
    ),
    "foxglove.SceneEntityDeletion": (
        _TIME,
        Field("type", 2, ENUM, "foxglove.SceneEntityDeletion.Type"),
        Field("id", 3, STRING),
    ),
    "foxglove.SceneUpdate": (
        Field("deletions", 1, MESSAGE, "foxglove.SceneEntityDeletion", REPEATED),
        Field("entities", 2, MESSAGE, "foxglove.SceneEntity", REPEATED),
    ),
}
ENUMS: Mapping[str, tuple[str, ...]] = {
    "foxglove.PackedElementField.NumericType": (
        "UNKNOWN", "UINT8", "INT8", "UINT16", "INT16", "UINT32", "INT32", "FLOAT32", "FLOAT64",
    ),
    "foxglove.LocationFix.PositionCovarianceType": (
        "UNKNOWN", "APPROXIMATED", "DIAGONAL_KNOWN", "KNOWN",
    ),
    "foxglove.LinePrimitive.Type": ("LINE_STRIP", "LINE_LOOP", "LINE_LIST"),
    "foxglove.SceneEntityDeletion.Type": ("MATCHING_ID", "ALL"),
}  # fmt: skip

#: Models of lenses that ROS calls otherwise.
LENSES = {"equidistant": "kannala_brandt"}
#: The number of each type of a packed field.
NUMERIC = {"u1": 1, "i1": 2, "u2": 3, "i2": 4, "u4": 5, "i4": 6, "f4": 7, "f8": 8}


# ---- descriptors -------------------------------------------------------------------------------


def _needed(name: str, found: dict[str, None]) -> dict[str, None]:
    for field in MESSAGES[name]:
        if field.kind == MESSAGE:
            _needed(field.of, found)
    found[name] = None
    return found


def _file_of(name: str) -> str:
    package, _, short = name.rpartition(".")
    if package == "google.protobuf":
        return f"google/protobuf/{short.lower()}.proto"
    return f"foxglove/{short}.proto"


def _field(field: Field) -> bytes:
    kind = whole(4, field.label), whole(5, field.kind)
    of = text(6, f".{field.of}") if field.of else b""
    return block(2, text(1, field.name), whole(3, field.number), *kind, of)


def _enumeration(name: str) -> bytes:
    items = (block(2, text(1, item), whole(2, i)) for i, item in enumerate(ENUMS[name]))
    return block(4, text(1, name.rpartition(".")[2]), *items)


@cache
def descriptors(name: str) -> bytes:
    """A FileDescriptorSet with a message and all messages in it."""
    files = b""
    for each in _needed(name, {}):
        package, _, short = each.rpartition(".")
        fields = MESSAGES[each]
        needed = dict.fromkeys(_file_of(f.of) for f in fields if f.kind == MESSAGE)
        enums = dict.fromkeys(f.of for f in fields if f.kind == ENUM)
        message = block(4, text(1, short), *map(_field, fields), *map(_enumeration, enums))
        head = text(1, _file_of(each)) + text(2, package)
        files += block(1, head, *(text(3, file) for file in needed), message, text(12, "proto3"))
    return files


# ---- messages ----------------------------------------------------------------------------------


def stamp(number: int, time: float) -> bytes:
    """A time as a field."""
    seconds, nanos = divmod(round(time * 1e9), 1_000_000_000)
    return block(number, whole(1, seconds), whole(2, nanos))


def _vector(number: int, values: Iterable[float]) -> bytes:
    return block(number, *(double(i + 1, float(value)) for i, value in enumerate(values)))


def _quaternion(number: int, wxyz: Sequence[float]) -> bytes:
    return _vector(number, (*wxyz[1:], wxyz[0]))


def _pose(number: int, position: Sequence[float], wxyz: Sequence[float]) -> bytes:
    return block(number, _vector(1, position), _quaternion(2, wxyz))


def _data(number: int, data: Any) -> Parts:
    array = np.frombuffer(np.ascontiguousarray(data).data, np.uint8)
    return opening(number, array.size), array


def _numbers(number: int, values: Any) -> bytes:
    return block(number, np.asarray(values, "<f8").tobytes())


def point_cloud(
    time: float, frame: str, points: NDArray[np.void], origin: Sequence[float]
) -> Parts:
    """Points as they are in memory, relative to an origin in their frame."""
    names: Mapping[str, Any] = points.dtype.fields or {}
    fields = [
        block(5, text(1, n), fixed32(2, at), whole(3, NUMERIC[kind.str[1:]]))
        for n, (kind, at, *_) in names.items()
    ]
    head = stamp(1, time) + text(2, frame) + _pose(3, origin, (1.0, 0.0, 0.0, 0.0))
    data = points.view(np.uint8) if points.size else np.zeros(0, np.uint8)
    return (head + fixed32(4, points.itemsize) + b"".join(fields), *_data(6, data))


def raw_image(time: float, frame: str, pixels: NDArray[Any], encoding: str) -> Parts:
    """A picture, rows from the top down."""
    rows, columns = pixels.shape[:2]
    size = fixed32(2, columns), fixed32(3, rows)
    head = stamp(1, time), *size, text(4, encoding), fixed32(5, pixels.nbytes // max(rows, 1))
    return (b"".join([*head, text(7, frame)]), *_data(6, pixels))


def camera_calibration(
    time: float,
    frame: str,
    size: tuple[int, int],
    focal: tuple[float, ...],
    model: str = "plumb_bob",
    terms: Sequence[float] = (),
) -> Parts:
    """A lens: ``size`` in columns and rows; fx, fy, cx, cy in pixels whose middles are whole.

    Without terms it is a pinhole, whose model is left out.
    """
    fx, fy, cx, cy = focal
    bent = text(4, LENSES.get(model, model)) + _numbers(5, terms) if any(terms) else b""
    return (
        stamp(1, time)
        + fixed32(2, size[0])
        + fixed32(3, size[1])
        + bent
        + _numbers(6, [fx, 0, cx, 0, fy, cy, 0, 0, 1])
        + _numbers(7, np.eye(3).ravel())
        + _numbers(8, [fx, 0, cx, 0, 0, fy, cy, 0, 0, 0, 1, 0])
        + text(9, frame),
    )


def pose_in_frame(
    time: float, frame: str, position: Sequence[float], wxyz: Sequence[float]
) -> Parts:
    """A pose in a frame."""
    return (stamp(1, time) + text(2, frame) + _pose(3, position, wxyz),)


def frame_transforms(
    transforms: Iterable[tuple[float, str, str, Sequence[float], Sequence[float]]],
) -> Parts:
    """Time, parent, child, translation and quaternion w, x, y, z of each."""
    return (
        b"".join(
            block(
                1,
                stamp(1, time),
                text(2, parent),
                text(3, child),
                _vector(4, position),
                _quaternion(5, wxyz),
            )
            for time, parent, child, position, wxyz in transforms
        ),
    )


def location_fix(
    time: float, frame: str, place: tuple[float, float, float], variances: Sequence[float]
) -> Parts:
    """Latitude and longitude in rad, height in m, variances to the east, north and up in m2."""
    latitude, longitude, height = place
    return (
        double(1, math.degrees(latitude))
        + double(2, math.degrees(longitude))
        + double(3, height)
        + _numbers(4, np.diag(variances).ravel())
        + whole(5, 2)
        + stamp(6, time)
        + text(7, frame),
    )


_PLACE = {"all": double_part(1, "x") + double_part(2, "y") + double_part(3, "z")}
#: Corners of triangles, and ends of lines.
_CORNER, _END = Record(2, _PLACE), Record(5, _PLACE)
LINE_LIST = 2
NO_POSE = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)


class SceneMesh(NamedTuple):
    """A mesh of a scene in one of its frames."""

    name: str
    frame: str
    vertices: NDArray[np.float64]  # (n, 3)
    faces: NDArray[np.uint32]  # (m, 3)
    color: tuple[float, float, float]


def scene_update(time: float, meshes: Iterable[SceneMesh]) -> Parts:
    """Meshes that stay until the end of the log, each in its frame."""
    parts: list[bytes | Bytes] = []
    for mesh in meshes:
        points = _CORNER.encode(len(mesh.vertices), dict(zip("xyz", mesh.vertices.T, strict=True)))
        shape = (
            _pose(1, *NO_POSE),
            points.tobytes(),
            _vector(3, (*mesh.color, 1.0)),
            block(5, mesh.faces.astype("<u4").tobytes()),
        )
        head = stamp(1, time), text(2, mesh.frame), text(3, mesh.name), whole(5, 1)
        parts.append(block(2, *head, block(12, *shape)))
    return tuple(parts)


class SceneLines(NamedTuple):
    """Lines of one look."""

    ends: NDArray[np.float64]  # (2 n, 3): where a line begins, where it ends, and the next one
    color: tuple[float, float, float]
    thickness: float  # pixels


def line_update(time: float, frame: str, name: str, lines: Iterable[SceneLines]) -> Parts:
    """Lines of a frame as it was at a time, in place of those of the same name.

    Where there are none, those of the same name are deleted.
    """
    shapes = [_lines(own) for own in lines if len(own.ends)]
    if not shapes:
        return (block(1, stamp(1, time), whole(2, 0), text(3, name)),)
    return (block(2, stamp(1, time), text(2, frame), text(3, name), *shapes),)


def _lines(own: SceneLines) -> bytes:
    """Lines as a field of an entity."""
    ends = _END.encode(len(own.ends), dict(zip("xyz", own.ends.T, strict=True)))
    look = _pose(2, *NO_POSE), double(3, own.thickness), whole(4, 1)
    color = _vector(6, (*own.color, 1.0))
    return block(11, whole(1, LINE_LIST), *look, ends.tobytes(), color)


def reading(time: float, values: Mapping[str, Any]) -> Parts:
    """Values by their names as an object of JSON, in groups where names have dots."""
    content: dict[str, Any] = {"timestamp": dict(zip(("sec", "nsec"), _stamp(time), strict=True))}
    for name, value in values.items():
        *groups, last = name.split(".")
        place = content
        for group in groups:
            place = place.setdefault(group, {})
        place[last] = value
    return (json.dumps(content).encode(),)


def _stamp(time: float) -> tuple[int, int]:
    return divmod(round(time * 1e9), 1_000_000_000)


def reading_schema(kinds: Mapping[str, str]) -> bytes:
    """The JSON schema of readings, whose types are given by name."""
    number = {"type": "integer"}
    time = {"type": "object", "title": "time", "properties": {"sec": number, "nsec": number}}
    root: dict[str, Any] = {"type": "object", "properties": {"timestamp": time}}
    types = {"real": "number", "boolean": "boolean", "string": "string"}
    for name, kind in kinds.items():
        *groups, last = name.split(".")
        place = root["properties"]
        for group in groups:
            place = place.setdefault(group, {"type": "object", "properties": {}})["properties"]
        place[last] = {"type": types.get(kind, "integer")}
    return json.dumps(root).encode()
