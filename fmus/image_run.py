"""A depth camera between initialisation and termination.

A frame is complete with the first state that is known at or after the instant of its last row
(``camera.shutter``); its stamp, and the pose in the index, are those of the first row. The rest is
that of all sensors that see, ``frame_run``.
"""

import math
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fmus.fmu_state import StateError
from fmus.frame_run import Arrays, FrameRun, Vector
from fmus.scene_sensor import FrameSensorFmu, NearestOutputs
from fmus.variables import Groups
from sensor_models.camera import (
    DepthCamera,
    DepthCameraParameters,
    Frame,
    FramePlacementParameters,
    ImageNoiseParameters,
    RollingShutter,
    ShutterParameters,
)
from sensor_models.core.clock import SampleClock, SamplingParameters
from sensor_models.core.frames import IDENTITY, MountParameters
from sensor_models.kernels.math.motion import interpolate_body, matrix_from_quaternion
from sensor_models.output.frame_files import FrameFiles
from sensor_models.output.images import (
    ImageFile,
    ImageFileParameters,
    ImageFormat,
    ImageWriter,
    png_scale,
)
from sensor_models.scene.history import Sight, load_kernels
from sensor_models.scene.model import Body, Instance, Material, Mesh, Scene, SurfaceKind
from sensor_models.scene.pose_memory import BODY_SIZE
from sensor_models.scene.tracing import RayScene

MOST_ZONES = 64
#: Stretches of a read-out between whose ends bodies of the scene are interpolated.
MOTION_SPANS = 64
#: Before the names of the arrays of a shutter in a saved state.
SHUTTER = "shutter."


class CameraRun(FrameRun):
    """One run, from the parameters that are set when it begins."""

    def __init__(self, fmu: FrameSensorFmu, parameters: Groups, start: float) -> None:
        _load_kernels()
        sampling = parameters.of(SamplingParameters)
        self._camera = DepthCamera(
            parameters.of(DepthCameraParameters),
            parameters.of(ImageNoiseParameters),
            parameters.of(MountParameters),
            parameters.of(FramePlacementParameters),
            seed=sampling.seed,
            identity=fmu.identity,
            distances=True,
        )
        self._shutter = RollingShutter(
            SampleClock(start, sampling.sample_rate),
            parameters.of(ShutterParameters).rolling_shutter,
            self._camera.parameters.height,
        )
        self._sight = Sight()
        self._files = parameters.of(ImageFileParameters)
        writer = None
        if self._files.write_files:
            writer = ImageWriter(fmu.instance_name, self._files, parameters.by_name())
        super().__init__(fmu, parameters, writer)

    # ---- frames ------------------------------------------------------------------------------

    def know(self, time: float, body: Vector) -> None:
        """Take in where the body is for the rows around this instant."""
        self._shutter.push(time, body)

    def take_frames(self) -> None:
        """Take the frames whose last row is known."""
        self._sight.follow(self.scene, self._shutter.oldest)
        for index, stamp, poses in self._shutter.frames():
            self._take(index, stamp, poses)

    def _take(self, index: int, stamp: float, poses: Vector) -> None:
        """Take a frame with one pose of the body, or with one for each row."""
        rolling, readout = poses.ndim > 1, self._shutter.readout
        spans = MOTION_SPANS if rolling else 0
        moving, unknown = self._sight.over(stamp, readout, spans)
        rays = self.scene.rays(placed=False)
        frame = self._camera.capture(rays, poses, index, rolling=rolling, moving=moving)
        own = self._camera.parameters
        size = {"frame.width": own.width, "frame.height": own.height}
        self.show(index, stamp, self._nearest(frame), size)
        self._show_zones(frame)
        files = self._files_of(frame)
        if self.writer is not None and files:
            first_row = poses if poses.ndim == 1 else poses[0]
            position, orientation = self._camera.sensor_pose(first_row, index)
            about = {"position": position, "orientation": orientation, **unknown}
            self.writer.put(FrameFiles(index, files, {"frame": index, "time": stamp, **about}))
            self.newest_file = str(self.writer.path_of(index, files[0]))

    # ---- outputs -----------------------------------------------------------------------------

    def _nearest(self, frame: Frame) -> NearestOutputs:
        assert frame.distance is not None  # the camera was made to give it
        if not np.isfinite(frame.distance).any():
            return NearestOutputs()
        place = np.unravel_index(int(np.nanargmin(frame.distance)), frame.distance.shape)
        x, y, z = self._camera.axes[place].tolist()
        return NearestOutputs(
            range=float(frame.distance[place]),
            azimuth=math.atan2(y, x),
            elevation=math.atan2(z, math.hypot(x, y)),
            entity_id=-1 if frame.entity is None else int(frame.entity[place]),
        )

    def _show_zones(self, frame: Frame) -> None:
        if frame.distance is not None and frame.distance.size <= MOST_ZONES:
            reals = self.fmu.values.of_type("Real")
            place = self.fmu.table().by_name["zone_1.range"].reference
            zones = np.nan_to_num(frame.distance.ravel(), nan=0.0)
            reals[place : place + len(zones)] = zones

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

    # ---- saved states ------------------------------------------------------------------------

    def frame_state(self) -> Arrays:
        """What is known of the motion, and the frames that were begun."""
        known = {f"{SHUTTER}{name}": array for name, array in self._shutter.state.items()}
        return {**known, "bodies": self._sight.state}

    def restore_frames(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from ``frame_state()`` of this or an equal run."""
        own = {n.removeprefix(SHUTTER): a for n, a in arrays.items() if n.startswith(SHUTTER)}
        try:
            sight = Sight.of(arrays)
        except ValueError as error:
            raise StateError(f"the state does not fit this FMU: {error}") from error
        self._shutter.state = own
        self._sight = sight


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
    scene = _smallest_scene()
    with RayScene(scene, threads=1) as rays:
        camera.capture(rays, body, moving=load_kernels(scene))
    camera.sensor_pose(body)


def _smallest_scene() -> Scene:
    """A triangle that stands and one that moves."""
    corners = np.eye(3, dtype=np.float32)
    mesh = Mesh(corners, np.arange(3, dtype=np.uint32).reshape(1, 3), np.zeros(1, np.int32))
    still = Instance(0, np.eye(4), 1)
    moving = Instance(0, np.eye(4), 2, body=0)
    material = Material("none", SurfaceKind.lambert, {})
    return Scene("smallest", (mesh,), (still, moving), (material,), bodies=(Body("body"),))
