"""What the results of one sensor become in a log.

    frames    points, images, detections as points with lines to them, the pose of the sensor in
              the map, and where all frames are: map -> body -> sensor, map -> movable bodies of the
              scene; the meshes of the scene, once
    samples   their values by name, and messages of their kinds

Names of topics begin with that of the instance; frames are ``map``, the body by parameter
``log_body`` (``base_link``), sensors by their instances, ``..._optical`` for images. A path that
ends with ``.mcap`` is a file with schemas of Foxglove, any other one a bag of ROS 2: a directory
with a file and what describes it (``bag``).

All is made on the thread of the log. What results hold is given back (``done``) when it is copied.
"""

import math
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.recfunctions import repack_fields
from numpy.typing import NDArray

from sensor_models.core.frames import MountParameters, multiply_quaternions, rotate_vector
from sensor_models.core.sensor import Result
from sensor_models.core.spec import Group, Groups, LogParameters, SensorSpec, scalars_of
from sensor_models.log import bag
from sensor_models.log.formats import Format, Foxglove, Ros, Samples, Transform
from sensor_models.log.shared import Message, leave_log, use_log
from sensor_models.messages.foxglove import SceneMesh
from sensor_models.messages.pictures import Picture, picture_of
from sensor_models.output.clouds import CloudFile
from sensor_models.output.detections import DetectionFile
from sensor_models.output.points import CloudBuffer

#: The fields of a point in a log: 28 bytes instead of 60. ``time`` counts from the frame's start.
LOGGED = np.dtype(
    [
        ("x", "<f4"),
        ("y", "<f4"),
        ("z", "<f4"),
        ("intensity", "<f4"),
        ("time", "<f4"),
        ("entity_id", "<i4"),
        ("ring", "<u2"),
        ("return_number", "u1"),
        ("atmospheric", "u1"),
    ]
)
#: Samples that can be taken back. A step that is refused after more of them leaves the first ones.
MOST_PENDING = 1 << 16
#: The turn from an optical frame (z forward, x right) to that of the sensor.
OPTICAL = (0.5, -0.5, 0.5, -0.5)


def topic_name(instance: str) -> str:
    """A name of topics and frames for an instance."""
    name = re.sub(r"[^A-Za-z0-9_]+", "_", instance).strip("_") or "sensor"
    return name if name[0].isalpha() else f"s_{name}"


class LogSink:
    """One sensor's part of a log."""

    def __init__(self, instance: str, spec: SensorSpec, parameters: Groups) -> None:
        own = parameters.of(LogParameters)
        self.name, self._body = topic_name(instance), own.log_body
        self._topic = f"/{self.name}"
        path = Path(own.log)
        self._format: Format = Foxglove() if path.suffix == ".mcap" else Ros()
        file = path if path.suffix == ".mcap" else bag.file_of(path)
        self._bag = None if path.suffix == ".mcap" else path
        self._kinds = {name: q.kind for name, q, _ in scalars_of(spec.readings)}
        mounts = [i for i in parameters.instances.values() if isinstance(i, MountParameters)]
        self._mount = mounts[0] if mounts else None
        self._values = parameters.by_name()
        self._log = use_log(str(file), self._format.profile)
        self._ticket = self._log.join(self.name)
        self._began = False
        self._pending: list[Result] = []

    # ---- from the run --------------------------------------------------------------------------

    def append(self, result: Result) -> None:
        """Take a sample; it is written with ``commit``, and replaces one of the same number."""
        if self._pending and self._pending[-1].number >= result.number:
            self.rewind(result.number)
        if len(self._pending) >= MOST_PENDING:
            self.commit()
        self._pending.append(result)

    def rewind(self, number: int) -> None:
        """Forget samples that are not committed, from a number on."""
        self._pending = [result for result in self._pending if result.number < number]

    def commit(self, *, all_of_them: bool = False) -> None:
        """Write the samples that were taken; that of the start may still come again."""
        if not all_of_them and len(self._pending) == 1 and self._pending[0].number == 0:
            return
        pending, self._pending = self._pending, []
        if pending:
            self._log.take(self._ticket, pending[-1].time, lambda: self._of_samples(pending))

    def take(self, result: Result, scene: Any) -> None:
        """Write a frame."""
        moving = [] if scene is None else _poses_of_bodies(scene, result.time)
        seen = None if scene is None else scene.scene
        make = _Frame(self, result, seen, moving)
        try:
            self._log.take(self._ticket, result.time, make)
        except BaseException:
            make.give_back()
            raise

    def wait(self) -> None:
        """Wait until all that was given is with the writer."""
        self._log.wait()

    def close(self) -> None:
        """End the use of the log; the last one finishes it."""
        if not self._log.is_ours:
            return
        try:
            self.commit(all_of_them=True)
            self._log.leave(self._ticket)
        finally:
            leave_log(self._log)
            if self._bag is not None:
                bag.describe(self._bag)

    # ---- on the thread of the log --------------------------------------------------------------

    def _of_samples(self, results: Sequence[Result]) -> Iterable[Message]:
        yield from self._beginning(results[0].time)
        for result in results:
            # what a record has besides the readings comes behind them
            values = dict(zip(self._kinds, result.values, strict=False))
            sample = Samples(result.time, self.name, values, self._kinds)
            yield from self._format.sample(self._topic, sample)

    def _beginning(self, time: float) -> list[Message]:
        """Where the sensor is on its body, told once."""
        if self._began or self._mount is None:
            return []
        self._began = True
        pose = self._mount.position, self._mount.orientation
        given = Transform(time, self._body, self.name, *pose)
        return self._format.transforms([given], fixed=True)

    def frame_messages(
        self, result: Result, scene: Any, moving: Sequence[Transform]
    ) -> Iterable[Message]:
        """The messages of a frame."""
        time = result.time
        yield from self._beginning(time)
        if scene is not None and self._log.first_to_tell(f"scene {scene.name}"):
            yield from self._format.scene(time, meshes_of(scene))
        pose = result.known.get("position"), result.known.get("orientation")
        if pose[0] is not None and pose[1] is not None:
            yield from self._format.pose(f"{self._topic}/pose", time, pose)  # type: ignore[arg-type]
            body = [Transform(time, "map", self._body, *self._body_pose(*map(_array, pose)))]
            yield from self._format.transforms([*body, *moving], fixed=False)
        for file in result.files:
            if isinstance(file, CloudFile):
                yield from self._cloud(time, file)
            elif isinstance(file, DetectionFile):
                yield from self._targets(time, file)
            elif (picture := picture_of(file)) is not None:
                yield from self._image(time, picture)

    def _body_pose(
        self, position: NDArray[np.float64], orientation: NDArray[np.float64]
    ) -> tuple[list[float], list[float]]:
        """The pose of the body, of that of the sensor."""
        assert self._mount is not None  # sensors with frames have one
        back = np.array(self._mount.orientation) * (1.0, -1.0, -1.0, -1.0)
        turn = multiply_quaternions(orientation, back)
        place = position - rotate_vector(turn, np.array(self._mount.position))
        return place.tolist(), turn.tolist()

    def _cloud(self, time: float, file: CloudFile) -> list[Message]:
        points = file.cloud.pack() if isinstance(file.cloud, CloudBuffer) else file.cloud
        logged = np.empty(len(points), LOGGED)
        for name in LOGGED.names or ():
            logged[name] = points[name] - time if name == "time" else points[name]
        view = file.viewpoint
        frame = "map" if view.in_world else self.name
        return self._format.cloud(f"{self._topic}/points", time, frame, logged, view.shift)

    def _targets(self, time: float, file: DetectionFile) -> list[Message]:
        """Detections as points, with their numbers as fields, and lines to them."""
        scalars = list(Group(file.reading).scalars())
        kinds = [(n, "<i4" if q.kind == "integer" else "<f4") for n, q, _ in scalars]
        rows = [row[2:] for row in file.detections]
        table = np.array([tuple(row) for row in rows], kinds)
        if "x" not in (table.dtype.names or ()):
            return []
        points = repack_fields(table[["x", "y", "z", *(n for n, _ in kinds if n not in "xyz")]])
        axes = [2 + place for place, (name, _) in enumerate(kinds) if name in ("x", "y", "z")]
        ends = np.array([[row[axis] for axis in axes] for row in file.detections], float)
        return [
            *self._format.cloud(f"{self._topic}/targets", time, self.name, points, (0.0,) * 3),
            *self._format.lines(f"{self._topic}/lines", time, self.name, ends.reshape(-1, 3)),
        ]

    def _image(self, time: float, picture: Picture) -> list[Message]:
        """A picture, and how its pixels look out where that is known."""
        pixels = picture.pixels
        encoding = "32FC1"
        if pixels.dtype != np.float32:
            pixels = picture.of_8_bit()
            mosaic = "mono8" if picture.mosaic == "none" else f"bayer_{picture.mosaic}8"
            encoding = "rgb8" if picture.channels == 3 else mosaic
        frame, topic = f"{self.name}_optical", f"{self._topic}/{picture.kind}"
        found = self._format.image(topic, time, frame, pixels, encoding)
        size = pixels.shape[1], pixels.shape[0]
        focal = focal_lengths(self._values, size)
        if self._log.first_to_tell(frame):
            given = Transform(time, self.name, frame, (0.0,) * 3, OPTICAL)
            found += self._format.transforms([given], fixed=True)
        if focal is not None:
            found += self._format.calibration(
                f"{self._topic}/calibration", time, frame, size, focal
            )
        return found


class _Frame:
    """Makes the messages of a frame, and gives its memory back once."""

    def __init__(
        self, sink: LogSink, result: Result, scene: Any, moving: Sequence[Transform]
    ) -> None:
        self._sink, self._scene, self._moving = sink, scene, moving
        self._result: Result | None = result

    def __call__(self) -> list[Message]:
        assert self._result is not None  # called once
        try:
            return list(self._sink.frame_messages(self._result, self._scene, self._moving))
        finally:
            self.give_back()

    def give_back(self) -> None:
        """Give the memory of the frame back."""
        result, self._result = self._result, None
        if result is not None:
            result.done()


def _array(values: Any) -> NDArray[np.float64]:
    return np.array(values, float)


def _poses_of_bodies(scene: Any, time: float) -> list[Transform]:
    """Where the movable bodies of a scene are."""
    if not scene.scene.bodies:
        return []
    states = scene.bodies_at([time]).states[0].tolist()
    names = [f"body_{topic_name(body.name)}" for body in scene.scene.bodies]
    return [
        Transform(time, "map", name, state[:3], state[3:7])
        for name, state in zip(names, states, strict=True)
    ]


def meshes_of(scene: Any) -> list[SceneMesh]:
    """The meshes of a scene: one for each instance and colour, in the frame of its body."""
    found = []
    for number, instance in enumerate(scene.instances):
        mesh = scene.meshes[instance.mesh]
        vertices = mesh.vertices.astype(float) @ instance.transform[:3, :3].T
        vertices += instance.transform[:3, 3]
        body = instance.body
        frame = "map" if body < 0 else f"body_{topic_name(scene.bodies[body].name)}"
        for material in np.unique(mesh.face_material).tolist():
            faces = mesh.faces[mesh.face_material == material]
            used, places = np.unique(faces, return_inverse=True)
            name = f"{number}.{material}"
            color = scene.materials[material].color
            own = places.reshape(faces.shape).astype(np.uint32)
            found.append(SceneMesh(name, frame, vertices[used], own, color))
    return found


def focal_lengths(values: Any, size: tuple[int, int]) -> tuple[float, float, float, float] | None:
    """fx, fy, cx, cy of a pinhole, from the parameters of a camera; none of what is no pinhole."""
    if "horizontal_fov" not in values or int(values.get("projection", 0)) != 0:
        return None
    fx = values.get("intrinsics.fx") or 0.5 * size[0] / math.tan(0.5 * values["horizontal_fov"])
    fy = values.get("intrinsics.fy") or fx
    cx, cy = values.get("intrinsics.cx"), values.get("intrinsics.cy")
    return fx, fy, cx or 0.5 * size[0], cy or 0.5 * size[1]
