"""Messages of ROS 2 in CDR, with their definitions.

They are of sensor_msgs, geometry_msgs, tf2_msgs and visualization_msgs.

Units and frames are those of REP-103 (SI units, x forward, y left, z up; optical frames with z
forward, x right, y down), names of frames those of REP-105 (``map``, ``base_link``). As REP-145
demands, the covariance of a quantity that an IMU does not measure begins with -1, and an
acceleration is the specific force.

Source: ROS 2 Humble, common_interfaces; OMG, "DDS-XTypes", plain CDR, little endian.
"""

import math
import struct
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.messages.wire import Bytes

Parts = tuple[bytes | Bytes, ...]

#: Definitions by type: fields in their order; types of other packages with their package.
DEFINITIONS: Mapping[str, str] = {
    "builtin_interfaces/Time": "int32 sec\nuint32 nanosec",
    "builtin_interfaces/Duration": "int32 sec\nuint32 nanosec",
    "std_msgs/Header": "builtin_interfaces/Time stamp\nstring frame_id",
    "std_msgs/ColorRGBA": "float32 r\nfloat32 g\nfloat32 b\nfloat32 a",
    "geometry_msgs/Vector3": "float64 x\nfloat64 y\nfloat64 z",
    "geometry_msgs/Point": "float64 x\nfloat64 y\nfloat64 z",
    "geometry_msgs/Quaternion": "float64 x\nfloat64 y\nfloat64 z\nfloat64 w",
    "geometry_msgs/Pose": "geometry_msgs/Point position\ngeometry_msgs/Quaternion orientation",
    "geometry_msgs/PoseStamped": "std_msgs/Header header\ngeometry_msgs/Pose pose",
    "geometry_msgs/Transform": (
        "geometry_msgs/Vector3 translation\ngeometry_msgs/Quaternion rotation"
    ),
    "geometry_msgs/TransformStamped": (
        "std_msgs/Header header\nstring child_frame_id\ngeometry_msgs/Transform transform"
    ),
    "tf2_msgs/TFMessage": "geometry_msgs/TransformStamped[] transforms",
    "sensor_msgs/PointField": "string name\nuint32 offset\nuint8 datatype\nuint32 count",
    "sensor_msgs/PointCloud2": (
        "std_msgs/Header header\nuint32 height\nuint32 width\nsensor_msgs/PointField[] fields\n"
        "bool is_bigendian\nuint32 point_step\nuint32 row_step\nuint8[] data\nbool is_dense"
    ),
    "sensor_msgs/Imu": (
        "std_msgs/Header header\ngeometry_msgs/Quaternion orientation\n"
        "float64[9] orientation_covariance\ngeometry_msgs/Vector3 angular_velocity\n"
        "float64[9] angular_velocity_covariance\ngeometry_msgs/Vector3 linear_acceleration\n"
        "float64[9] linear_acceleration_covariance"
    ),
    "sensor_msgs/MagneticField": (
        "std_msgs/Header header\ngeometry_msgs/Vector3 magnetic_field\n"
        "float64[9] magnetic_field_covariance"
    ),
    "sensor_msgs/Image": (
        "std_msgs/Header header\nuint32 height\nuint32 width\nstring encoding\n"
        "uint8 is_bigendian\nuint32 step\nuint8[] data"
    ),
    "sensor_msgs/RegionOfInterest": (
        "uint32 x_offset\nuint32 y_offset\nuint32 height\nuint32 width\nbool do_rectify"
    ),
    "sensor_msgs/CameraInfo": (
        "std_msgs/Header header\nuint32 height\nuint32 width\nstring distortion_model\n"
        "float64[] d\nfloat64[9] k\nfloat64[9] r\nfloat64[12] p\nuint32 binning_x\n"
        "uint32 binning_y\nsensor_msgs/RegionOfInterest roi"
    ),
    "sensor_msgs/NavSatStatus": "int8 status\nuint16 service",
    "sensor_msgs/NavSatFix": (
        "std_msgs/Header header\nsensor_msgs/NavSatStatus status\nfloat64 latitude\n"
        "float64 longitude\nfloat64 altitude\nfloat64[9] position_covariance\n"
        "uint8 position_covariance_type"
    ),
    "sensor_msgs/JointState": (
        "std_msgs/Header header\nstring[] name\nfloat64[] position\nfloat64[] velocity\n"
        "float64[] effort"
    ),
    "sensor_msgs/CompressedImage": "std_msgs/Header header\nstring format\nuint8[] data",
    "visualization_msgs/UVCoordinate": "float32 u\nfloat32 v",
    "visualization_msgs/MeshFile": "string filename\nuint8[] data",
    "visualization_msgs/Marker": (
        "std_msgs/Header header\nstring ns\nint32 id\nint32 type\nint32 action\n"
        "geometry_msgs/Pose pose\ngeometry_msgs/Vector3 scale\nstd_msgs/ColorRGBA color\n"
        "builtin_interfaces/Duration lifetime\nbool frame_locked\ngeometry_msgs/Point[] points\n"
        "std_msgs/ColorRGBA[] colors\nstring texture_resource\n"
        "sensor_msgs/CompressedImage texture\nvisualization_msgs/UVCoordinate[] uv_coordinates\n"
        "string text\nstring mesh_resource\nvisualization_msgs/MeshFile mesh_file\n"
        "bool mesh_use_embedded_materials"
    ),
}

#: The number of each type of a point's field.
DATATYPES = {"i1": 1, "u1": 2, "i2": 3, "u2": 4, "i4": 5, "u4": 6, "f4": 7, "f8": 8}
#: How much of a fix's covariance is known.
DIAGONAL_KNOWN = 2
#: Of markers: lines with two ends each; to add, or take the place of an earlier one; to delete it.
LINE_LIST, ADD, DELETE = 5, 0, 2
UNKNOWN = (-1.0, *[0.0] * 8)
#: Variances of which nothing is known.
NOT_KNOWN = (0.0, 0.0, 0.0)


def quality_of(topic: str) -> str:
    """The offered quality of a topic, as in bags: for fixed frames, late subscribers get all.

    Empty if it is the usual one.
    """
    if topic != "/tf_static":
        return ""
    endless = "\n    sec: 9223372036\n    nsec: 854775807"
    return (
        "- history: 3\n  depth: 0\n  reliability: 1\n  durability: 1"
        f"\n  deadline:{endless}\n  lifespan:{endless}\n  liveliness: 1"
        f"\n  liveliness_lease_duration:{endless}\n  avoid_ros_namespace_conventions: false"
    )


def full_name(kind: str) -> str:
    """The name of a type as bags have it."""
    package, _, short = kind.partition("/")
    return f"{package}/msg/{short}"


@cache
def definition(kind: str) -> bytes:
    """The text of a type, followed by those of all types in it."""
    needed: dict[str, None] = {}

    def add(name: str) -> None:
        for line in DEFINITIONS[name].splitlines():
            part = line.split()[0].partition("[")[0]
            if "/" in part and part not in needed:
                needed[part] = None
                add(part)

    add(kind)
    line = "=" * 80
    others = (f"\n{line}\nMSG: {name}\n{DEFINITIONS[name]}" for name in needed)
    return (DEFINITIONS[kind] + "".join(others) + "\n").encode()


class Cdr:
    """The bytes of one message."""

    def __init__(self) -> None:
        self._data = bytearray()

    def put(self, code: str, *values: float) -> "Cdr":
        """Numbers of one kind, each at a multiple of its size."""
        size = struct.calcsize(f"<{code}")
        self._data += bytes(-len(self._data) % size)
        self._data += struct.pack(f"<{len(values)}{code}", *values)
        return self

    def text(self, value: str) -> "Cdr":
        """A text."""
        data = value.encode() + b"\0"
        self.put("I", len(data))
        self._data += data
        return self

    def header(self, time: float, frame: str) -> "Cdr":
        """Time stamp and frame."""
        return (
            self.put("i", *(parts := divmod(round(time * 1e9), 1_000_000_000))[:1])
            .put("I", parts[1])
            .text(frame)
        )

    def numbers(self, values: Sequence[float]) -> "Cdr":
        """A sequence of float64."""
        self.put("I", len(values))
        return self.put("d", *values) if len(values) else self

    def quaternion(self, wxyz: Sequence[float]) -> "Cdr":
        """A quaternion, w last."""
        return self.put("d", *wxyz[1:], wxyz[0])

    @property
    def head(self) -> bytes:
        """Everything so far, after the header that says the encoding."""
        return b"\0\1\0\0" + bytes(self._data)

    def around(self, data: Bytes, *tail: int) -> Parts:
        """Everything so far, then a sequence of bytes, and single bytes after it."""
        self.put("I", data.size)
        return self.head, data, bytes(tail)


def _bytes(data: NDArray[Any]) -> Bytes:
    flat: Bytes = np.frombuffer(np.ascontiguousarray(data).data, np.uint8)
    return flat


def point_cloud(time: float, frame: str, points: NDArray[np.void]) -> Parts:
    """Points as they are in memory."""
    cdr = Cdr().header(time, frame).put("I", 1, len(points))
    fields: Mapping[str, Any] = points.dtype.fields or {}
    cdr.put("I", len(fields))
    for name, (kind, at, *_) in fields.items():
        cdr.text(name).put("I", at).put("B", DATATYPES[kind.str[1:]]).put("I", 1)
    cdr.put("B", 0).put("I", points.itemsize, points.nbytes)
    return cdr.around(_bytes(points) if points.size else np.zeros(0, np.uint8), 1)


def image(time: float, frame: str, pixels: NDArray[Any], encoding: str) -> Parts:
    """A picture, rows from the top down."""
    rows, columns = pixels.shape[:2]
    cdr = Cdr().header(time, frame).put("I", rows, columns).text(encoding)
    return cdr.put("B", 0).put("I", pixels.nbytes // max(rows, 1)).around(_bytes(pixels))


def camera_info(
    time: float,
    frame: str,
    size: tuple[int, int],
    focal: tuple[float, ...],
    model: str = "plumb_bob",
    terms: Sequence[float] = (0.0,) * 5,
) -> Parts:
    """A lens: ``size`` in columns and rows; fx, fy, cx, cy in pixels whose middles are whole."""
    fx, fy, cx, cy = focal
    cdr = Cdr().header(time, frame).put("I", size[1], size[0]).text(model)
    cdr.numbers(terms).put("d", fx, 0, cx, 0, fy, cy, 0, 0, 1)
    cdr.put("d", 1, 0, 0, 0, 1, 0, 0, 0, 1).put("d", fx, 0, cx, 0, 0, fy, cy, 0, 0, 0, 1, 0)
    return (cdr.put("I", 0, 0, 0, 0, 0, 0).put("B", 0).head,)


def pose_stamped(
    time: float, frame: str, position: Sequence[float], wxyz: Sequence[float]
) -> Parts:
    """A pose in a frame."""
    return (Cdr().header(time, frame).put("d", *position).quaternion(wxyz).head,)


def transforms(
    given: Iterable[tuple[float, str, str, Sequence[float], Sequence[float]]],
) -> Parts:
    """Time, parent, child, translation and quaternion w, x, y, z of each."""
    known = list(given)
    cdr = Cdr().put("I", len(known))
    for time, parent, child, position, wxyz in known:
        cdr.header(time, parent).text(child).put("d", *position).quaternion(wxyz)
    return (cdr.head,)


def imu(
    time: float,
    frame: str,
    rate: Sequence[float] | None,
    rate_variances: Sequence[float],
    acceleration: Sequence[float] | None,
    acceleration_variances: Sequence[float],
) -> Parts:
    """Rates in rad/s and specific force in m/s2, with variances; None for what is not measured."""
    cdr = Cdr().header(time, frame).quaternion((1.0, 0.0, 0.0, 0.0)).put("d", *UNKNOWN)
    for values, variances in ((rate, rate_variances), (acceleration, acceleration_variances)):
        cdr.put("d", *(values if values is not None else (0.0, 0.0, 0.0)))
        cdr.put("d", *(UNKNOWN if values is None else _covariance(variances)))
    return (cdr.head,)


def magnetic_field(
    time: float, frame: str, field: Sequence[float], variances: Sequence[float]
) -> Parts:
    """A flux density in T, with its variances."""
    return (Cdr().header(time, frame).put("d", *field).put("d", *_covariance(variances)).head,)


def _covariance(variances: Sequence[float]) -> list[float]:
    """A covariance whose axes are independent, row by row; zeros where nothing is known."""
    values: list[float] = np.diag(np.asarray(variances, float)).ravel().tolist()
    return values


def nav_sat_fix(
    time: float,
    frame: str,
    fixed: bool,
    place: tuple[float, float, float],
    variances: Sequence[float],
) -> Parts:
    """Latitude and longitude in rad, height in m, variances to the east, north and up in m2."""
    cdr = Cdr().header(time, frame).put("b", 0 if fixed else -1).put("H", 1)
    cdr.put("d", math.degrees(place[0]), math.degrees(place[1]), place[2])
    cdr.put("d", *_covariance(variances))
    return (cdr.put("B", DIAGONAL_KNOWN if fixed and any(variances) else 0).head,)


def joint_state(time: float, name: str, position: float, velocity: float | None) -> Parts:
    """The position of a joint, and its velocity if that is measured."""
    cdr = Cdr().header(time, "").put("I", 1).text(name).numbers([position])
    return (cdr.numbers([] if velocity is None else [velocity]).numbers([]).head,)


def line_marker(
    time: float,
    frame: str,
    name: str,
    ends: NDArray[np.float64],
    colors: NDArray[np.float64],
    width: float,
) -> Parts:
    """Lines between two ends each, (2 n, 3), with a color for each end, in place of earlier ones.

    Without any, those of the same name are deleted. ``width`` is in m.
    """
    action = ADD if len(ends) else DELETE
    cdr = Cdr().header(time, frame).text(name).put("i", 0, LINE_LIST, action)
    cdr.put("d", 0, 0, 0).quaternion((1.0, 0.0, 0.0, 0.0)).put("d", width, 0, 0)
    cdr.put("f", 1, 1, 1, 1).put("i", 0).put("I", 0).put("B", 0)  # a color; for ever; not locked
    cdr.put("I", len(ends))
    if len(ends):
        cdr.put("d", *np.ravel(ends).tolist())
    cdr.put("I", len(ends))
    if len(ends):
        opaque = np.column_stack([colors, np.ones(len(ends))])
        cdr.put("f", *opaque.ravel().tolist())
    cdr.text("").header(0.0, "").text("").put("I", 0)  # textures
    cdr.put("I", 0).text("").text("").text("").put("I", 0).put("B", 0)  # texts and meshes
    return (cdr.head,)
