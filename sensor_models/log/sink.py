"""What the results of one sensor become in a log.

    frames    points, images, detections as points with lines to them, the pose of the sensor in
              the map, and where all frames are: map -> body -> sensor, map -> movable bodies of the
              scene; the meshes of the scene, once
    samples   their values by name, and messages of their kinds

Names of topics begin with that of the instance; frames are ``map``, the body by parameter
``log_body`` (``base_link``), sensors by their instances, ``..._optical`` for images. A path that
ends with ``.mcap`` is a file with schemas of Foxglove, an address (``ws://…``) a server of the same
messages (``live``), any other one a bag of ROS 2: a directory with a file and what describes it
(``bag``).

All is made on the thread of the log. What results hold is given back (``done``) when it is copied.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.recfunctions import repack_fields
from numpy.typing import NDArray

from sensor_models.core.frames import MountParameters, multiply_quaternions, rotate_vector
from sensor_models.core.sensor import Result
from sensor_models.core.spec import Group, Groups, LogParameters, SensorSpec, scalars_of
from sensor_models.light.spectra import shown_color
from sensor_models.log import bag
from sensor_models.log.formats import Format, Foxglove, Ros, Samples, Transform
from sensor_models.log.live import is_live
from sensor_models.log.shared import Message, leave_log, use_log
from sensor_models.log.variances import variances_of_noise
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
#: Poses of the body that come with samples are so far apart at least, in s.
POSE_INTERVAL = 0.01
#: Poses that wait for a sample at most; of more, every second one is left out.
MOST_POSES = 1 << 10


def topic_name(instance: str) -> str:
    """A name of topics and frames for an instance; several instances may have the same."""
    name = re.sub(r"[^A-Za-z0-9_]+", "_", instance).strip("_") or "sensor"
    return name if name[0].isalpha() else f"s_{name}"


class LogSink:
    """One sensor's part of a log."""

    def __init__(self, instance: str, spec: SensorSpec, parameters: Groups) -> None:
        own = parameters.of(LogParameters)
        self._body = own.log_body
        is_bag = not is_live(own.log) and Path(own.log).suffix != ".mcap"
        self._format: Format = Ros() if is_bag else Foxglove()
        self._bag = Path(own.log) if is_bag else None
        file = own.log if self._bag is None else str(bag.file_of(self._bag))
        self._kinds = {name: q.kind for name, q, _ in scalars_of(spec.readings)}
        mounts = [i for i in parameters.instances.values() if isinstance(i, MountParameters)]
        self._mount = mounts[0] if mounts else None
        self._variances = variances_of_noise(spec.readings, parameters.by_name())
        self._log = use_log(file, self._format.profile)
        self.name = self._log.name_of(instance, topic_name(instance))
        self._topic = f"/{self.name}"
        self._ticket = self._log.join(self.name)
        self._pending: list[Result] = []
        self._poses: list[Transform] = []  # of the body, that come with the samples

    @property
    def is_wanted(self) -> bool:
        """Whether there is anybody to write for."""
        return self._log.wanted

    # ---- from the run --------------------------------------------------------------------------

    def append(self, result: Result) -> None:
        """Take a sample; it is written with ``commit``, and replaces one of the same number."""
        if not self._log.wanted:
            return
        if self._pending and self._pending[-1].number >= result.number:
            self.rewind(result.number)
        if len(self._pending) >= MOST_PENDING:
            self.commit()
        self._pending.append(result)

    def place_body(self, time: float, state: NDArray[np.float64]) -> None:
        """Take the state of the body of a sensor without frames; that of an instant may come again.

        It stands in the log with the samples that are committed next.
        """
        if self._mount is None or not self._log.wanted or not state[3:7].any():
            return
        while self._poses and self._poses[-1].time >= time:
            self._poses.pop()
        if not self._poses or time - self._poses[-1].time >= POSE_INTERVAL:
            pose = state[:3].tolist(), state[3:7].tolist()
            self._poses.append(Transform(time, "map", self._body, *pose))
        if len(self._poses) > MOST_POSES:  # samples are rare
            del self._poses[1::2]

    def rewind(self, number: int) -> None:
        """Forget samples that are not committed, from a number on."""
        self._pending = [result for result in self._pending if result.number < number]

    def commit(self, *, all_of_them: bool = False) -> None:
        """Write the samples that were taken; that of the start may still come again."""
        if not all_of_them and len(self._pending) == 1 and self._pending[0].number == 0:
            return
        pending, self._pending = self._pending, []
        if pending:
            poses, self._poses = self._poses, self._poses[-1:]  # the last one bounds the next
            self._log.take(self._ticket, pending[-1].time, lambda: self._of_samples(pending, poses))
            self._log.report()

    def take(self, result: Result, scene: Any) -> None:
        """Write a frame."""
        if not self._log.wanted:
            result.done()
            return
        moving = [] if scene is None else _poses_of_bodies(scene, result.time)
        seen = None if scene is None else scene.scene
        make = _Frame(self, result, seen, moving)
        try:
            self._log.take(self._ticket, result.time, make)
        except BaseException:
            make.give_back()
            raise
        self._log.report()

    def wait(self) -> None:
        """Wait until all that was given is with the writer."""
        self._log.wait()

    def publish(self) -> None:
        """Bring all that was given to the disk, and tell what was lost."""
        self._log.publish()

    def close(self) -> None:
        """End the use of the log; the last one finishes it."""
        if not self._log.is_ours:
            return
        try:
            self.commit(all_of_them=True)
            self._log.leave(self._ticket)
        finally:
            try:
                leave_log(self._log)
            finally:  # a log that has lost something is a log
                if self._bag is not None:
                    bag.describe(self._bag)

    # ---- on the thread of the log --------------------------------------------------------------

    def _of_samples(
        self, results: Sequence[Result], poses: Sequence[Transform]
    ) -> Iterable[Message]:
        yield from self._beginning(results[0].time)
        for pose in poses:
            if self._log.first_to_place(self._body, pose.time):
                yield from self._format.transforms([pose], fixed=False)
        for result in results:
            # what a record has besides the readings comes behind them
            values = dict(zip(self._kinds, result.values, strict=False))
            sample = Samples(result.time, self.name, values, self._kinds, self._variances)
            yield from self._format.sample(self._topic, sample)

    def _once(self, what: str, make: Callable[[], list[Message]]) -> list[Message]:
        """Messages that a log has once; nothing if it has them already."""
        if not self._log.first_to_tell(what):
            return []
        return [message._replace(once=what) for message in make()]

    def _beginning(self, time: float) -> list[Message]:
        """Where the sensor is on its body, told once."""
        if self._mount is None:
            return []
        pose = self._mount.position, self._mount.orientation
        given = Transform(time, self._body, self.name, *pose)
        return self._fixed(given)

    def _fixed(self, given: Transform) -> list[Message]:
        """A frame that does not move in another one, told once."""
        what = f"frame {given._replace(time=0.0)}"
        return self._once(what, lambda: self._format.transforms([given], fixed=True))

    def frame_messages(
        self, result: Result, scene: Any, moving: Sequence[Transform]
    ) -> Iterable[Message]:
        """The messages of a frame."""
        time = result.time
        yield from self._beginning(time)
        if scene is not None:
            what = f"scene {scene.name}"
            yield from self._once(what, lambda: self._format.scene(time, meshes_of(scene)))
        pose = result.known.get("position"), result.known.get("orientation")
        if pose[0] is not None and pose[1] is not None:
            yield from self._format.pose(f"{self._topic}/pose", time, pose)  # type: ignore[arg-type]
            body = [Transform(time, "map", self._body, *self._body_pose(*map(_array, pose)))]
            self._log.first_to_place(self._body, time)
            yield from self._format.transforms([*body, *moving], fixed=False)
        for file in result.files:
            if isinstance(file, CloudFile):
                yield from self._cloud(time, file)
            elif isinstance(file, DetectionFile):
                yield from self._targets(time, file)
            elif (picture := picture_of(file)) is not None:
                yield from self._image(time, picture, result.known.get("camera_info"))

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

    def _image(self, time: float, picture: Picture, lens: Any) -> list[Message]:
        """A picture, and how its pixels look out where that is known."""
        pixels = picture.pixels
        encoding = "32FC1"
        if pixels.dtype != np.float32:
            pixels = picture.of_8_bit()
            mosaic = "mono8" if picture.mosaic == "none" else f"bayer_{picture.mosaic}8"
            encoding = "rgb8" if picture.channels == 3 else mosaic
        frame, topic = f"{self.name}_optical", f"{self._topic}/{picture.kind}"
        found = self._format.image(topic, time, frame, pixels, encoding)
        found += self._fixed(Transform(time, self.name, frame, (0.0,) * 3, OPTICAL))
        if lens is not None:
            found += self._format.calibration(f"{self._topic}/calibration", time, frame, lens)
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


def _frame_of_body(name: str) -> str:
    """The frame of a movable body; those of a manifest have names of letters, digits and _."""
    return f"body_{name}"


def _poses_of_bodies(scene: Any, time: float) -> list[Transform]:
    """Where the movable bodies of a scene are."""
    if not scene.scene.bodies:
        return []
    states = scene.bodies_at([time]).states[0].tolist()
    names = [_frame_of_body(body.name) for body in scene.scene.bodies]
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
        frame = "map" if body < 0 else _frame_of_body(scene.bodies[body].name)
        for material in np.unique(mesh.face_material).tolist():
            faces = mesh.faces[mesh.face_material == material]
            used, places = np.unique(faces, return_inverse=True)
            name = f"{number}.{material}"
            color = shown_color(scene.materials[material])
            own = places.reshape(faces.shape).astype(np.uint32)
            found.append(SceneMesh(name, frame, vertices[used], own, color))
    return found
