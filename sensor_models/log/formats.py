"""The two formats of logs: what each kind of content becomes in it."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sensor_models.log.mcap import Part, Schema
from sensor_models.log.shared import Message
from sensor_models.messages import foxglove, ros

Pose = tuple[Sequence[float], Sequence[float]]
Floats = NDArray[np.float64]

#: Colors of lines to targets: that to the nearest one, and the others.
NEAREST, OTHERS = (1.0, 0.5, 0.0), (0.3, 0.6, 1.0)
#: Their widths in pixels, and in m where it cannot be in pixels.
THICK, THIN, WIDTH = 4.0, 1.5, 0.02


class Transform(NamedTuple):
    """Where a frame is in another one."""

    time: float
    parent: str
    child: str
    position: Sequence[float]
    orientation: Sequence[float]  # w, x, y, z


class Samples(NamedTuple):
    """A sample of a sensor without frames, its values by their names."""

    time: float
    frame: str
    values: Mapping[str, Any]
    kinds: Mapping[str, str]
    #: Variances of the noise of vectors by the names of their readings, where they are known.
    variances: Mapping[str, Sequence[float]] = MappingProxyType({})


class Format(Protocol):
    """How contents become messages; topics are given."""

    profile: str

    def cloud(
        self, topic: str, time: float, frame: str, points: NDArray[np.void], origin: Sequence[float]
    ) -> list[Message]:
        """Points relative to an origin in their frame."""

    def image(
        self, topic: str, time: float, frame: str, pixels: NDArray[Any], encoding: str
    ) -> list[Message]:
        """A picture."""

    def calibration(
        self, topic: str, time: float, frame: str, info: Mapping[str, Any]
    ) -> list[Message]:
        """The lens of a camera, as ``CameraInfo`` of ROS has it."""

    def lines(self, topic: str, time: float, frame: str, ends: Floats) -> list[Message]:
        """Lines from the origin of a frame to (n, 3) ends, in place of those before.

        The shortest looks otherwise.
        """

    def pose(self, topic: str, time: float, pose: Pose) -> list[Message]:
        """A pose in the map."""

    def transforms(self, given: Sequence[Transform], *, fixed: bool) -> list[Message]:
        """Frames in others; fixed ones are told once."""

    def sample(self, topic: str, sample: Samples) -> list[Message]:
        """A sample."""

    def scene(self, time: float, meshes: Sequence[foxglove.SceneMesh]) -> list[Message]:
        """The meshes of a scene."""


def three(values: Mapping[str, Any], name: str) -> list[float] | None:
    """The components of a vector among values, if it is there."""
    found = [values.get(f"{name}.{axis}") for axis in "xyz"]
    return None if None in found else [float(value) for value in found if value is not None]


#: The readings that are an angular velocity, a specific force and a magnetic field.
_VECTORS = (
    ("gyroscope", "angular_rate"),
    ("accelerometer", "acceleration"),
    ("magnetometer", "flux_density"),
)


class _Measured(NamedTuple):
    """A vector, if the sensor measures it, and the variances of its noise."""

    values: list[float] | None
    variances: Sequence[float]


def _measured(sample: Samples, *names: str) -> _Measured:
    """The vector of a sample that has one of these names."""
    for name in names:
        if (values := three(sample.values, name)) is not None:
            return _Measured(values, sample.variances.get(name, ros.NOT_KNOWN))
    return _Measured(None, ros.NOT_KNOWN)


def place_of(values: Mapping[str, Any]) -> tuple[float, float, float]:
    """Latitude, longitude and height of a fix."""
    return values["latitude"], values["longitude"], values["height"]


def variances_of(values: Mapping[str, Any]) -> list[float]:
    """Variances to the east, north and up: the horizontal accuracy is of both axes together."""
    level, up = values["accuracy.horizontal"], values["accuracy.vertical"]
    return [0.5 * level * level, 0.5 * level * level, up * up]


def lens_of(
    info: Mapping[str, Any],
) -> tuple[tuple[int, int], tuple[float, ...], str, list[float]]:
    """Size, focal lengths with principal point, model and terms of a lens."""
    fx, _, cx, _, fy, cy, *_ = info["k"]
    return (info["width"], info["height"]), (fx, fy, cx, cy), info["distortion_model"], info["d"]


def shortest_last(ends: Floats) -> Floats:
    """Ends of lines from the origin, of which the nearest comes last."""
    nearest = int(np.linalg.norm(ends, axis=1).argmin()) if len(ends) else 0
    return np.concatenate([ends[:nearest], ends[nearest + 1 :], ends[nearest : nearest + 1]])


def from_origin(ends: Floats) -> Floats:
    """Both ends of lines from the origin, (2 n, 3)."""
    return np.stack([np.zeros_like(ends), ends], axis=1).reshape(-1, 3)


class Foxglove:
    """Schemas of Foxglove, which Rerun reads as well."""

    profile = ""

    def _message(self, topic: str, kind: str, time: float, parts: tuple[Part, ...]) -> Message:
        name = f"foxglove.{kind}"
        schema = Schema(name, "protobuf", foxglove.descriptors(name), "protobuf")
        return Message(topic, schema, time, parts)

    def cloud(
        self, topic: str, time: float, frame: str, points: NDArray[np.void], origin: Sequence[float]
    ) -> list[Message]:
        """A PointCloud."""
        parts = foxglove.point_cloud(time, frame, points, origin)
        return [self._message(topic, "PointCloud", time, parts)]

    def image(
        self, topic: str, time: float, frame: str, pixels: NDArray[Any], encoding: str
    ) -> list[Message]:
        """A RawImage."""
        parts = foxglove.raw_image(time, frame, pixels, encoding)
        return [self._message(topic, "RawImage", time, parts)]

    def calibration(
        self, topic: str, time: float, frame: str, info: Mapping[str, Any]
    ) -> list[Message]:
        """A CameraCalibration."""
        parts = foxglove.camera_calibration(time, frame, *lens_of(info))
        return [self._message(topic, "CameraCalibration", time, parts)]

    def lines(self, topic: str, time: float, frame: str, ends: Floats) -> list[Message]:
        """A SceneUpdate."""
        ordered = shortest_last(ends)
        others = foxglove.SceneLines(from_origin(ordered[:-1]), OTHERS, THIN)
        nearest = foxglove.SceneLines(from_origin(ordered[-1:]), NEAREST, THICK)
        parts = foxglove.line_update(time, frame, topic, [others, nearest])
        return [self._message(topic, "SceneUpdate", time, parts)]

    def pose(self, topic: str, time: float, pose: Pose) -> list[Message]:
        """A PoseInFrame."""
        parts = foxglove.pose_in_frame(time, "map", *pose)
        return [self._message(topic, "PoseInFrame", time, parts)]

    def transforms(self, given: Sequence[Transform], *, fixed: bool) -> list[Message]:
        """FrameTransforms."""
        del fixed
        parts = foxglove.frame_transforms(given)
        return [self._message("/tf", "FrameTransforms", given[0].time, parts)] if given else []

    def sample(self, topic: str, sample: Samples) -> list[Message]:
        """An object of JSON with all values, and a LocationFix of what has a place."""
        data = foxglove.reading_schema(sample.kinds)
        name = ".".join(["sensor_fmus", *(part for part in topic.split("/") if part)])
        schema = Schema(name, "jsonschema", data, "json")
        parts = foxglove.reading(sample.time, sample.values)
        found = [Message(f"{topic}/reading", schema, sample.time, parts)]
        if sample.values.get("fix") and "latitude" in sample.values:
            place, spread = place_of(sample.values), variances_of(sample.values)
            fix = foxglove.location_fix(sample.time, sample.frame, place, spread)
            found.append(self._message(f"{topic}/fix", "LocationFix", sample.time, fix))
        return found

    def scene(self, time: float, meshes: Sequence[foxglove.SceneMesh]) -> list[Message]:
        """A SceneUpdate."""
        parts = foxglove.scene_update(time, meshes)
        return [self._message("/scene", "SceneUpdate", time, parts)]


class Ros:
    """Messages of ROS 2."""

    profile = "ros2"

    def _message(self, topic: str, kind: str, time: float, parts: tuple[Part, ...]) -> Message:
        schema = Schema(ros.full_name(kind), "ros2msg", ros.definition(kind), "cdr")
        known = {"offered_qos_profiles": ros.quality_of(topic)}
        return Message(topic, schema, time, parts, known)

    def cloud(
        self, topic: str, time: float, frame: str, points: NDArray[np.void], origin: Sequence[float]
    ) -> list[Message]:
        """A PointCloud2, which has no origin: far from that of the map it has 32 bits only."""
        if any(origin):
            points = points.copy()
            for axis, shift in zip("xyz", origin, strict=True):
                points[axis] += np.float32(shift)
        parts = ros.point_cloud(time, frame, points)
        return [self._message(topic, "sensor_msgs/PointCloud2", time, parts)]

    def image(
        self, topic: str, time: float, frame: str, pixels: NDArray[Any], encoding: str
    ) -> list[Message]:
        """An Image."""
        parts = ros.image(time, frame, pixels, encoding)
        return [self._message(topic, "sensor_msgs/Image", time, parts)]

    def calibration(
        self, topic: str, time: float, frame: str, info: Mapping[str, Any]
    ) -> list[Message]:
        """A CameraInfo."""
        parts = ros.camera_info(time, frame, *lens_of(info))
        name = topic.rpartition("/")[0] + "/camera_info"
        return [self._message(name, "sensor_msgs/CameraInfo", time, parts)]

    def lines(self, topic: str, time: float, frame: str, ends: Floats) -> list[Message]:
        """A Marker."""
        both = from_origin(shortest_last(ends))
        colors = np.tile(OTHERS, (len(both), 1))
        colors[-2:] = NEAREST
        parts = ros.line_marker(time, frame, topic, both, colors, WIDTH)
        return [self._message(topic, "visualization_msgs/Marker", time, parts)]

    def pose(self, topic: str, time: float, pose: Pose) -> list[Message]:
        """A PoseStamped."""
        parts = ros.pose_stamped(time, "map", *pose)
        return [self._message(topic, "geometry_msgs/PoseStamped", time, parts)]

    def transforms(self, given: Sequence[Transform], *, fixed: bool) -> list[Message]:
        """A TFMessage."""
        topic = "/tf_static" if fixed else "/tf"
        parts = ros.transforms(given)
        kind = "tf2_msgs/TFMessage"
        return [self._message(topic, kind, given[0].time, parts)] if given else []

    def sample(self, topic: str, sample: Samples) -> list[Message]:
        """What there is a message for: motion, magnetic field, place, joint."""
        time, frame, values = sample.time, sample.frame, sample.values
        found: list[tuple[str, str, tuple[Part, ...]]] = []
        rate, force, field = (_measured(sample, *names) for names in _VECTORS)
        if rate.values is not None or force.values is not None:
            found.append(("data_raw", "Imu", ros.imu(time, frame, *rate, *force)))
        if field.values is not None:
            own = ros.magnetic_field(time, frame, field.values, field.variances)
            found.append(("mag", "MagneticField", own))
        if "latitude" in values:
            place = place_of(values), variances_of(values)
            fix = ros.nav_sat_fix(time, frame, bool(values["fix"]), *place)
            found.append(("fix", "NavSatFix", fix))
        if "position" in values:
            joint = ros.joint_state(time, frame, values["position"], values.get("speed"))
            found.append(("joint_states", "JointState", joint))
        return [
            self._message(f"{topic}/{name}", f"sensor_msgs/{kind}", time, parts)
            for name, kind, parts in found
        ]

    def scene(self, time: float, meshes: Sequence[foxglove.SceneMesh]) -> list[Message]:
        """Nothing: a scene is no measurement."""
        del time, meshes
        return []
