"""OSI 3.8 by OSMP 1.6: messages that sensors that see give to other models, and take from them.

With ``osi.on`` each frame becomes a SensorData at ``OSMPSensorDataOut``: the detections
of a lidar or a radar, the pixels of a depth camera as detections, the picture of a camera. With
``osi.sensor_view`` it also becomes a SensorView at ``OSMPSensorViewOut``: a reflection for each
ray, or a picture. A step without a frame repeats the address; if a step has several frames, the
newest counts.

A SensorView at ``OSMPSensorViewIn`` moves the bodies of the sensor's own scene, by a table of ids
(``ground_truth``). An ``Environment`` moves its scene itself.

Frames. The origin of a host vehicle is the middle of its rear axle; mounting positions are relative
to it, with angles in the order z, y', x''. Time stamps are whole nanoseconds (``timestamp``). The
velocity of a detection is that of the surface that was hit relative to the sensor, along the ray,
both taken in the middle of the frame.

``wire`` writes the format, ``detections`` the entries, and ``osmp`` passes messages on.

Source: ASAM OSI 3.8.0; OSI Sensor Model Packaging 1.6.0.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.frames import (
    MountParameters,
    interpolate_body,
    multiply_quaternions,
    rotate_vector,
)
from sensor_models.core.sensor import Arrays, Result, Setup
from sensor_models.core.spec import Group
from sensor_models.messages import osmp
from sensor_models.messages.detections import (
    SPEED_OF_LIGHT,
    Optics,
    directions,
    lidar_detections,
    radar_detections,
    ray_reflections,
)
from sensor_models.messages.ground_truth import (
    BodyMover,
    ObjectWatch,
    angles_of,
    host_state,
    objects_of_entities,
    read_view,
)
from sensor_models.messages.pictures import Picture, picture_of
from sensor_models.messages.ports import OsiInputParameters, OsiParameters, OsiPorts, Rays, pairs_of
from sensor_models.messages.wire import Bytes, block, double, opening, tag, varint, whole
from sensor_models.output.clouds import CloudFile
from sensor_models.output.detections import DetectionFile
from sensor_models.output.points import POINT, CloudBuffer, Points
from sensor_models.scene.pose_memory import BODY_SIZE

Floats = NDArray[np.float64]
Parts = tuple[bytes | Bytes, ...]

#: Items of enumerations of OSI.
AVAILABLE = 2
OTHER_FORMAT, MONO_U8, MONO_F32, RGB_U8, BAYER_BGGR_U8, BAYER_RGGB_U8 = 1, 2, 5, 6, 10, 14
#: The choice of ``speed_mode`` whose speeds have a sign.
CLOSING = 1
#: How many states of the body are kept for frames that are not yet complete.
MOST_STATES = 4096


# ---- small messages ----------------------------------------------------------------------------


def stamp_parts(time: float) -> tuple[int, int]:
    """Seconds and nanoseconds of a time."""
    return divmod(round(time * 1e9), 1_000_000_000)


def timestamp(number: int, time: float) -> bytes:
    """A time as a field."""
    seconds, nanos = stamp_parts(time)
    return block(number, whole(1, seconds), whole(2, nanos))


def vector(number: int, values: Any) -> bytes:
    """Three numbers as a field."""
    return block(number, *(double(i + 1, float(value)) for i, value in enumerate(values)))


def identifier(number: int, value: int) -> bytes:
    """An id as a field."""
    return block(number, whole(1, value))


VERSION = block(1, *(whole(i + 1, part) for i, part in enumerate(osmp.OSI_VERSION)))


def _length(parts: Parts) -> int:
    return sum(len(part) for part in parts)


def _block(number: int, parts: Parts) -> Parts:
    """A message as a field, its parts not copied."""
    return (opening(number, _length(parts)), *parts)


# ---- motion ------------------------------------------------------------------------------------


class Motion:
    """The known states of the sensor's body, as far back as frames still need them."""

    def __init__(self) -> None:
        self._known: list[tuple[float, Floats]] = []

    def know(self, time: float, state: Floats) -> None:
        """Add a state; a state at the same instant replaces the earlier one."""
        while self._known and self._known[-1][0] >= time:
            self._known.pop()
        self._known.append((time, state.copy()))
        del self._known[:-MOST_STATES]

    def at(self, time: float) -> Floats:
        """The state at an instant; before the first and after the last known state, that state."""
        after = next((i for i, (t, _) in enumerate(self._known) if t >= time), len(self._known))
        if after == 0 or after == len(self._known):
            return self._known[min(after, len(self._known) - 1)][1]
        (t0, before), (t1, later) = self._known[after - 1], self._known[after]
        found: Floats = interpolate_body(before, later, t1 - t0, (time - t0) / (t1 - t0))
        return found

    def forget(self, time: float) -> None:
        """Forget states that are not needed for instants from this time on."""
        while len(self._known) > 1 and self._known[1][0] <= time:
            del self._known[0]

    @property
    def table(self) -> Floats:
        """All known states, (n, 1 + BODY_SIZE)."""
        rows = [[time, *state] for time, state in self._known]
        return np.array(rows, float).reshape(-1, 1 + BODY_SIZE)

    @table.setter
    def table(self, table: Floats) -> None:
        if table.ndim != 2 or table.shape[1] != 1 + BODY_SIZE or not np.isfinite(table).all():
            raise ValueError("the saved motion of the body is damaged")
        self._known = [(float(row[0]), row[1:].copy()) for row in table]


# ---- messages of frames ------------------------------------------------------------------------


@dataclass
class _Shot:
    """Facts about one frame, besides its content."""

    number: int
    time: float
    available: float
    mounting: tuple[Any, Any]  # position, angles
    #: Velocity of the sensor in its own frame, and of bodies by entity in the world.
    velocity: Floats
    moving: Mapping[int, Floats] = field(default_factory=dict)
    position: Floats = field(default_factory=lambda: np.zeros(3))
    orientation: Floats = field(default_factory=lambda: np.array([1.0, 0.0, 0.0, 0.0]))
    #: Ids of moving objects by the entities that follow them.
    objects: Mapping[int, int] = field(default_factory=dict)


class OsiMessages:
    """The messages of one sensor between its setup and its end."""

    def __init__(self, setup: Setup, ports: OsiPorts) -> None:
        self._setup = setup
        self._own = setup.parameters.of(OsiParameters)
        values = setup.parameters.by_name()
        self._optics = Optics.of(values)
        self._mount = setup.parameters.of(MountParameters)
        self._drawn = bool(values.get("mount.randomization.on"))
        self._rays: Rays | None = None
        self._input = None
        self._pairs: Mapping[str, int] = {}
        if ports.takes_view:
            self._input = setup.parameters.of(OsiInputParameters)
            self._pairs = pairs_of(self._input.bodies)
        self._mover: BodyMover | None = None
        self._watch = ObjectWatch(self._pairs, setup.warn)
        self.motion = Motion()
        self.buffers = {name: osmp.Buffers() for name in (osmp.DATA_OUT, osmp.VIEW_OUT)}
        # A ray-traced radar always gives closing speeds.
        self._has_sign = bool(values.get("model")) or values.get("speed_mode", 1) == CLOSING
        if ports.rays is not None and (self._own.sensor_view or "normalize_range" in values):
            self._rays = ports.rays(setup)

    # ---- what the sensor is told ---------------------------------------------------------------

    def read(self, name: str, low: int, high: int, size: int) -> bytes | None:
        """The bytes of an input, in a copy; None where there are none."""
        return osmp.read_input(name, low, high, size)

    def take_view(self, message: bytes | None, time: float, state: Floats, scene: Any) -> Floats:
        """Move the scene as a SensorView says; returns the resulting state of the sensor's body.

        Without a message everything stays as it is.
        """
        truth = None if message is None else read_view(osmp.VIEW_IN, message)
        if truth is None or self._input is None:
            return state
        if self._input.host_body:
            state = host_state(truth, np.array(self._own.rear_axle))
        if scene is not None and self._pairs:
            if self._mover is None or self._mover.scene is not scene.scene:
                self._mover = BodyMover(scene.scene, self._pairs)
                self._watch.look_at_scene(scene.scene)
            scene.move(time, self._mover.states(truth, scene.states().bodies))
        self._watch.look(truth)
        return state

    # ---- what the sensor tells -----------------------------------------------------------------

    def take(self, result: Result, scene: Any, available: float) -> None:
        """Make the messages of a frame, which is known at the instant ``available``."""
        shot = self._shot(result, scene, available)
        data, view = self._contents(result, shot)
        self.buffers[osmp.DATA_OUT].put(self._sensor_data(shot, data), available)
        if self._own.sensor_view:
            self.buffers[osmp.VIEW_OUT].put(self._sensor_view(shot, view), available)

    def _shot(self, result: Result, scene: Any, available: float) -> _Shot:
        middle = result.time + 0.5 * float(result.known.get("duration", 0.0))  # type: ignore[arg-type]
        body = self.motion.at(middle)
        self.motion.forget(result.time)
        position = np.array(result.known.get("position", body[:3]), float)
        orientation = np.array(result.known.get("orientation", body[3:7]), float)
        turn, rate = body[3:7], body[10:13]
        mount = np.array(self._mount.position), np.array(self._mount.orientation)
        if self._drawn:
            start = self.motion.at(result.time)
            back = start[3:7] * (1.0, -1.0, -1.0, -1.0)
            mount = (
                rotate_vector(back, position - start[:3]),
                multiply_quaternions(back, orientation),
            )
        arm = rotate_vector(turn, mount[0])
        own = body[7:10] + np.cross(rate, arm)
        facing = multiply_quaternions(turn, mount[1])
        back = facing * (1.0, -1.0, -1.0, -1.0)
        place = body[:3] + arm
        return _Shot(
            result.number,
            result.time,
            available,
            (mount[0] - np.array(self._own.rear_axle), angles_of(*mount[1].tolist())),
            rotate_vector(back, own),
            _moving_entities(scene, middle),
            place,
            facing,
            {} if scene is None else objects_of_entities(scene.scene, self._pairs),
        )

    def _contents(self, result: Result, shot: _Shot) -> tuple[Parts, Parts]:
        """The contents of a frame for a SensorData, and for a SensorView."""
        header = self._header(shot)
        for file in result.files:
            if isinstance(file, CloudFile):
                return self._of_cloud(file.cloud, shot, header)
            if isinstance(file, DetectionFile):
                return self._of_targets(file, shot, header)
            if (picture := picture_of(file)) is not None:
                return self._of_picture(result, picture, shot, header)
        return (), ()

    def _of_cloud(
        self, cloud: Points | CloudBuffer, shot: _Shot, header: bytes
    ) -> tuple[Parts, Parts]:
        points = cloud.pack() if isinstance(cloud, CloudBuffer) else cloud
        velocity = closing_speed(points, shot)
        entries = lidar_detections(points, velocity, self._optics, shot.objects)
        data = _block(26, (VERSION, *_block(3, (self._counted(header, len(points)), entries))))
        view: Parts = ()
        if self._own.sensor_view and isinstance(cloud, CloudBuffer) and self._rays is not None:
            first = np.cumsum(cloud.counts, dtype=np.int64) - cloud.counts
            (rays,) = np.nonzero(cloud.counts)
            nearest = first[rays]
            own = points[nearest], rays, len(cloud.counts), velocity[nearest], self._optics
            found = ray_reflections(*own, shot.objects)
            view = _block(1002, (*_block(1, self._lidar_configuration(shot)), found))
        return data, view

    def _lidar_configuration(self, shot: _Shot) -> Parts:
        assert self._rays is not None
        rays = self._rays
        micro = np.round(rays.offsets * 1e6).astype(np.int64).tolist()
        timings = b"".join(tag(12, 0) + varint(number) for number in micro)
        return (
            identifier(1, self._own.sensor_id),
            self._mounting(2, shot),
            whole(6, rays.columns),
            whole(7, rays.rows),
            double(9, SPEED_OF_LIGHT / self._optics.wavelength),
            whole(10, len(rays.offsets)),
            directions(rays.directions),
            timings,
        )

    def _of_targets(self, file: DetectionFile, shot: _Shot, header: bytes) -> tuple[Parts, Parts]:
        """The detections of a radar; radial velocities are given only if speeds have a sign."""
        names = ["number", "time", *(name for name, _, _ in Group(file.reading).scalars())]
        table = np.array(list(file.detections), float).reshape(-1, len(names))
        columns = dict(zip(names, table.T, strict=True))
        columns["entity_id"] = columns["entity_id"].astype(np.int64)
        speed = columns["speed"] if self._has_sign else np.full(len(table), np.nan)
        detections = radar_detections({**columns, "radial_velocity": speed}, shot.objects)
        data = self._counted(header, len(table)), detections
        return _block(26, (VERSION, *_block(2, data))), ()

    def _of_picture(
        self, result: Result, shown: Picture, shot: _Shot, header: bytes
    ) -> tuple[Parts, Parts]:
        """A picture, and for a depth image a detection for each pixel."""
        pixels = shown.pixels
        kind = channel_format(shown)
        about = (
            identifier(1, self._own.sensor_id),
            self._mounting(2, shot),
            whole(6, pixels.shape[1]),
            whole(7, pixels.shape[0]),
            whole(8, kind),
        )
        image = np.frombuffer(pixels.data, np.uint8)
        picture = _block(1003, (*_block(1, about), *_block(2, (image,))))
        if self._rays is None:
            return _block(8, (VERSION, timestamp(2, result.time), *picture)), picture
        entities = next((f.array for f in result.files if getattr(f, "kind", "") == "entity"), None)
        points = points_of_pixels(shown, self._rays.directions, entities)
        found = lidar_detections(points, closing_speed(points, shot), None)
        data = self._counted(header, len(points)), found
        return _block(26, (VERSION, *_block(3, data))), picture

    def _header(self, shot: _Shot) -> bytes:
        """The header of detections, without their number."""
        return b"".join(
            [
                timestamp(1, shot.time),
                whole(2, shot.number + 1),
                self._mounting(3, shot),
                whole(5, AVAILABLE),
            ]
        )

    def _counted(self, header: bytes, count: int) -> bytes:
        """The header as a field, with the number of detections."""
        return block(1, header, whole(6, count), identifier(7, self._own.sensor_id))

    def _mounting(self, number: int, shot: _Shot) -> bytes:
        position, angles = shot.mounting
        return block(number, vector(1, position), vector(2, angles))

    def _sensor_data(self, shot: _Shot, content: Parts) -> Parts:
        return (
            VERSION,
            timestamp(2, shot.available),
            identifier(5, self._own.sensor_id),
            self._mounting(6, shot),
            timestamp(9, shot.time),
            *content,
        )

    def _sensor_view(self, shot: _Shot, content: Parts) -> Parts:
        sensor = identifier(3, self._own.sensor_id)
        return (VERSION, timestamp(2, shot.time), sensor, self._mounting(4, shot), *content)

    # ---- saved states --------------------------------------------------------------------------

    def state(self) -> Arrays:
        """The bytes of the newest messages, and the motion that frames still need."""
        arrays: Arrays = {name: buffer.newest for name, buffer in self.buffers.items()}
        return {**arrays, "motion": self.motion.table}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from ``state()``."""
        if any(arrays[name].dtype != np.uint8 for name in self.buffers):
            raise ValueError("the saved messages are damaged")
        self.motion.table = arrays["motion"]
        for name, buffer in self.buffers.items():
            buffer.put((arrays[name].reshape(-1),))


def channel_format(shown: Picture) -> int:
    """OSI's name for the format of the pixels; in all of its formats they are linear."""
    if shown.pixels.dtype == np.float32:
        return MONO_F32
    first = {"rggb": BAYER_RGGB_U8, "bggr": BAYER_BGGR_U8}.get(shown.mosaic, MONO_U8)
    if shown.mosaic not in ("none", "rggb", "bggr"):
        return OTHER_FORMAT
    if shown.channels == 3:
        first = RGB_U8
    return first + (shown.pixels.dtype != np.uint8)


def closing_speed(points: Points, shot: _Shot) -> NDArray[np.float64]:
    """Minus the rate of the range of each point, m/s, from the velocities along its ray."""
    azimuth, elevation = points["azimuth"], points["elevation"]
    level = np.cos(elevation)
    ray = level * np.cos(azimuth), level * np.sin(azimuth), np.sin(elevation)
    speed = sum(float(v) * u for v, u in zip(shot.velocity, ray, strict=True))
    found = np.asarray(speed, np.float64)
    for entity, state in shot.moving.items():
        (hit,) = np.nonzero(points["entity_id"] == entity)
        if hit.size == 0 or not state[7:13].any():
            continue
        unit = _turned(shot.orientation, np.stack([u[hit] for u in ray], axis=1).astype(float))
        place = shot.position + unit * points["range"][hit, np.newaxis]
        velocity = state[7:10] + np.cross(state[10:13], place - state[:3])
        found[hit] -= (velocity * unit).sum(axis=1)
    return found


def points_of_pixels(
    image: Picture, directions: Floats, entities: NDArray[np.integer[Any]] | None
) -> Points:
    """The points that the pixels of a depth image show; pixels without a reading are left out.

    ``directions`` are unit vectors.
    """
    reading = np.asarray(image.pixels, np.float64).ravel()
    # A depth is measured along the axis, a range along the ray.
    lengths = reading if image.kind == "range" else reading / directions[:, 0]
    (seen,) = np.nonzero(np.isfinite(lengths) & (lengths > 0.0))
    points = np.zeros(len(seen), POINT)
    x, y, z = directions[seen].T
    points["range"] = lengths[seen]
    points["azimuth"], points["elevation"] = np.arctan2(y, x), np.arcsin(np.clip(z, -1.0, 1.0))
    points["entity_id"] = -1 if entities is None else entities.ravel()[seen]
    return points


def _turned(quaternion: Floats, vectors: Floats) -> Floats:
    w, axis = quaternion[0], quaternion[1:]
    cross = 2.0 * np.cross(axis, vectors)
    turned: Floats = vectors + w * cross + np.cross(axis, cross)
    return turned


def _moving_entities(scene: Any, time: float) -> dict[int, Floats]:
    """The states at an instant of the bodies of a scene, by the entities on them."""
    if scene is None or not scene.scene.bodies:
        return {}
    states = scene.bodies_at([time]).states[0]
    return {i.entity_id: states[i.body] for i in scene.scene.instances if i.body >= 0}
