"""A depth camera between initialisation and termination: frames, files and outputs.

Unlike other sensors, it takes frame 0 when the first step begins and not at initialisation, as
many masters connect its inputs only then. A frame is due with the first state that is known at or
after its instant (``clock``); the pose of the body is that of the instant, while the movable
bodies of the scene are where they are known to be newest.

Files are written by a thread of their own while the master goes on. A step first waits for those
of the steps before, which are there by then as a rule, and ``frame.file`` names the newest of
them: so it depends on the frames alone and not on the speed of the disk. When the run is
published it names the newest of all.
"""

import math
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fmus.fmu_state import StateError
from sensor_models.camera import (
    DepthCamera,
    DepthCameraParameters,
    Frame,
    FramePlacementParameters,
    ImageNoiseParameters,
)
from sensor_models.clock import SampleClock, SamplingParameters, Timeline
from sensor_models.files import named_values
from sensor_models.frames import IDENTITY, normalised_orientation
from sensor_models.images import (
    FrameFiles,
    ImageFile,
    ImageFileParameters,
    ImageFormat,
    ImageWriter,
    png_scale,
)
from sensor_models.kernels.motion import (
    ORIENTATION,
    interpolate_body,
    matrix_from_quaternion,
)
from sensor_models.scene.manifest import manifest_path
from sensor_models.scene.model import Body, Instance, Material, Mesh, Scene, SurfaceKind
from sensor_models.scene.registry import SceneHandle, attach, open_scene
from sensor_models.scene.tracing import RayScene

if TYPE_CHECKING:
    from fmus.depth_camera_fmu import DepthCameraFmu

Vector = NDArray[np.float64]

BODY_SIZE = 13
POSE_SIZE = 7
MOST_ZONES = 64


class CameraRun:
    """One run, from the parameters that are set when it begins."""

    def __init__(
        self, fmu: "DepthCameraFmu", camera: DepthCamera, scene_name: str, start: float
    ) -> None:
        _load_kernels()
        self._fmu = fmu
        self._camera = camera
        self._scene_name = scene_name
        parameters = fmu.parameters()
        sampling = parameters.of(SamplingParameters)
        self._files = parameters.of(ImageFileParameters)
        self.inputs_at_step_end = sampling.inputs_at_step_end
        self._timeline = Timeline(SampleClock(start, sampling.sample_rate), interpolate_body)
        first = fmu.table().first["Real"]
        place = fmu.table().by_name["body.position.x"].reference - first
        self._inputs = fmu.values.of_type("Real")[place : place + BODY_SIZE]
        self._begun = False
        self._pending: list[tuple[int, float, Vector]] = []
        self._told_of_orientation = False
        self._scene: SceneHandle | None = None
        self._scene_number = -1
        self._newest_file = ""
        self._writer: ImageWriter | None = None
        if self._files.write_files:
            effective = {
                group.name(name): value
                for group, instance in parameters.instances.items()
                for name, value in named_values(instance).items()
            }
            self._writer = ImageWriter(fmu.instance_name, self._files, effective)

    # ---- stepping ----------------------------------------------------------------------------

    def observe(self, time: float) -> None:
        """Take in the inputs as the state at ``time`` and take the frames that fall due."""
        truth = self._truth()
        self._use_scene(int(self._fmu.get("scene_handle")))
        due = self._timeline.push(time, truth)
        if not self._begun:
            self._begun, self._pending = True, due
            return
        self.publish()
        # The state at the start may be given twice: the later one counts.
        repeated = bool(due) and due[0][0] == 0
        samples = due if repeated else [*self._pending, *due]
        self._pending = []
        for index, stamp, body in samples:
            self._take(index, stamp, body)

    def _truth(self) -> Vector:
        truth = self._inputs.copy()
        place = slice(ORIENTATION, ORIENTATION + 4)
        truth[place], connected = normalised_orientation(*truth[place].tolist())
        if not connected and not self._told_of_orientation:
            self._told_of_orientation = True
            self._fmu.warn(
                "body.orientation is all zeros, as if not connected: taken as 1, 0, 0, 0"
            )
        return truth

    def _use_scene(self, number: int) -> None:
        if number == self._scene_number:
            return
        if number == 0 and not self._begun:
            manifest_path(self._scene_name)  # refuses what is not there; loaded when it is needed
            return
        scene = attach(number) if number else open_scene(self._scene_name)
        self._leave_scene()
        self._scene, self._scene_number = scene, number

    def _leave_scene(self) -> None:
        if self._scene is not None:
            self._scene.close()
            self._scene, self._scene_number = None, -1

    def _take(self, index: int, stamp: float, body: Vector) -> None:
        assert self._scene is not None  # every step after initialisation has one
        frame = self._camera.capture(self._scene.rays(), body[:POSE_SIZE], index)
        self._publish_outputs(index, stamp, frame)
        if self._writer is not None:
            position, orientation = self._camera.sensor_pose(body[:POSE_SIZE], index)
            known = {
                "frame": index,
                "time": stamp,
                "position": position,
                "orientation": orientation,
            }
            files = self._files_of(frame)
            if files:
                self._writer.put(FrameFiles(index, files, known))
                self._newest_file = str(self._writer.path_of(index, files[0]))

    # ---- outputs -----------------------------------------------------------------------------

    def _publish_outputs(self, index: int, stamp: float, frame: Frame) -> None:
        own = self._camera.parameters
        outputs = {
            "sample.count": index + 1,
            "sample.time": stamp,
            "frame.count": index + 1,
            "frame.time": stamp,
            "frame.width": own.width,
            "frame.height": own.height,
            **self._nearest(frame),
        }
        for name, value in outputs.items():
            self._fmu.put(name, value)
        if own.width * own.height <= MOST_ZONES and frame.distance is not None:
            reals = self._fmu.values.of_type("Real")
            place = self._fmu.table().by_name["zone_1.range"].reference
            zones = np.nan_to_num(frame.distance.ravel(), nan=0.0)
            reals[place : place + len(zones)] = zones

    def _nearest(self, frame: Frame) -> dict[str, float | int]:
        nothing = {"range": 0.0, "azimuth": 0.0, "elevation": 0.0, "entity_id": -1}
        found: dict[str, float | int] = dict(nothing)
        assert frame.distance is not None  # the camera was made to give it
        if np.isfinite(frame.distance).any():
            place = np.unravel_index(int(np.nanargmin(frame.distance)), frame.distance.shape)
            x, y, z = self._camera.axes[place].tolist()
            found["range"] = float(frame.distance[place])
            found["azimuth"] = math.atan2(y, x)
            found["elevation"] = math.atan2(z, math.hypot(x, y))
            found["entity_id"] = -1 if frame.entity is None else int(frame.entity[place])
        return {f"nearest.{name}": value for name, value in found.items()}

    def _files_of(self, frame: Frame) -> tuple[ImageFile, ...]:
        own = self._camera.parameters
        files = []
        if frame.image is not None:
            largest = 1.0 if own.normalize_range else own.max_range
            scale = 1.0 / 65535 if own.normalize_range else png_scale(largest)
            unit = "1" if own.normalize_range else "m"
            kind = "depth" if own.takes_depth else "range"
            chosen = ImageFormat(self._files.output_format)
            files.append(ImageFile(kind, frame.image, chosen, scale, unit))
        others = {"points": "m", "entity": "1", "label": "1", "face": "1", "normal": "1"}
        for name, unit in others.items():
            array = getattr(frame, name)
            if array is not None:
                files.append(ImageFile(name, array, unit=unit))
        return tuple(files)

    # ---- life cycle --------------------------------------------------------------------------

    def publish(self) -> None:
        """Wait until all files are there, and name the newest."""
        if self._writer is not None:
            self._writer.flush()
            self._fmu.put("frame.file", self._newest_file)

    def close(self) -> None:
        """Finish the files and leave the scene."""
        try:
            if self._writer is not None:
                self._writer.close()
        finally:
            self._leave_scene()

    def state(self) -> dict[str, NDArray[Any]]:
        """All that later frames depend on, as arrays."""
        pending = [[index, stamp, *body] for index, stamp, body in self._pending]
        return {
            **{f"timeline.{name}": a for name, a in self._timeline.state.items()},
            "begun": np.array([self._begun], np.uint8),
            "pending": np.array(pending, float).reshape(-1, 2 + BODY_SIZE),
            "file": np.frombuffer(self._newest_file.encode(), np.uint8).copy(),
        }

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from ``state()`` of this or an equal run."""
        own = self.state()
        if arrays.keys() != own.keys():
            raise StateError("the state's arrays are not those of this FMU")
        pending, begun = arrays["pending"], arrays["begun"]
        fits = pending.ndim == 2 and pending.shape[1] == 2 + BODY_SIZE and begun.shape == (1,)
        if not (fits and np.isfinite(pending).all()):
            raise StateError("the state of the camera does not fit this FMU")
        self._timeline.state = {
            name.removeprefix("timeline."): a
            for name, a in arrays.items()
            if name.startswith("timeline.")
        }
        self._begun = bool(begun[0])
        self._pending = [(int(row[0]), float(row[1]), row[2:].copy()) for row in pending]
        self._newest_file = arrays["file"].tobytes().decode()


@cache
def _load_kernels() -> None:
    """Compile or load what a step may need, once, and not in a step."""
    interpolate_body(np.zeros(BODY_SIZE), np.zeros(BODY_SIZE), 1.0, 0.5)
    matrix_from_quaternion(np.array(IDENTITY))  # of scenes that are read when they are needed
    body = (0.0, 0.0, 0.0, *IDENTITY)
    edges = ImageNoiseParameters(on=True, edge_dropout=1.0)
    camera = DepthCamera(
        DepthCameraParameters(width=1, height=1), edges, placement=FramePlacementParameters(on=True)
    )
    with RayScene(_smallest_scene(), threads=1) as rays:
        camera.capture(rays, body)
    camera.sensor_pose(body)


def _smallest_scene() -> Scene:
    """A triangle that stands and one that moves."""
    corners = np.eye(3, dtype=np.float32)
    mesh = Mesh(corners, np.arange(3, dtype=np.uint32).reshape(1, 3), np.zeros(1, np.int32))
    still = Instance(0, np.eye(4), 1)
    moving = Instance(0, np.eye(4), 2, body=0)
    material = Material("none", SurfaceKind.lambert, {})
    return Scene("smallest", (mesh,), (still, moving), (material,), bodies=(Body("body"),))
