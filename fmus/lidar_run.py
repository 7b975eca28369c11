"""A lidar between initialisation and termination.

Frames are made as their rays fall due (``sensor_models.lidar.sweep``), in buffers of which there
are ``BUFFERS``: one is filled while others wait for the disk. If none is free a step waits, so a
slow disk costs time and not memory. The rest is that of all sensors that see, ``frame_run``.

A master should step the ``Environment`` before the lidar, for the bodies of the scene to be known
as far as the lidar's own: else it sees them up to a step late.
"""

import queue
from collections.abc import Mapping
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fmus.fmu_state import StateError
from fmus.frame_run import FrameRun, Vector
from fmus.scene_sensor import FrameSensorFmu, NearestOutputs
from fmus.variables import Groups
from sensor_models.core.clock import SamplingParameters
from sensor_models.core.frames import IDENTITY, MountParameters
from sensor_models.core.placement import PlacementParameters, placed
from sensor_models.kernels.math.motion import matrix_from_quaternion
from sensor_models.lidar import (
    AmbientParameters,
    CloudBuffer,
    InstantScan,
    Lidar,
    LidarFrame,
    LidarNoiseParameters,
    LidarParameters,
    OutputFrame,
    PatternParameters,
    RollingScan,
    Scan,
    ScanPattern,
)
from sensor_models.light.beam import BeamParameters
from sensor_models.output.clouds import (
    CloudFile,
    CloudFileParameters,
    CloudFormat,
    CloudWriter,
    Viewpoint,
)
from sensor_models.output.frame_files import FrameFiles
from sensor_models.scene.history import load_kernels
from sensor_models.scene.model import (
    Body,
    Instance,
    Material,
    Medium,
    MediumVolume,
    Mesh,
    Scene,
    SurfaceKind,
    SurfaceParameters,
)
from sensor_models.scene.pose_memory import POSE_SIZE
from sensor_models.scene.tracing import RayScene

#: Frames that may be in memory at once.
BUFFERS = 3
#: Before the names of the arrays of a scan in a saved state.
SCAN = "scan."


class LidarRun(FrameRun):
    """One run, from the parameters that are set when it begins."""

    writer: CloudWriter | None

    def __init__(self, fmu: FrameSensorFmu, parameters: Groups, start: float) -> None:
        _load_kernels()
        sampling = parameters.of(SamplingParameters)
        self._lidar = _lidar(fmu, parameters)
        self._buffers: queue.SimpleQueue[CloudBuffer | None] = queue.SimpleQueue()
        for _ in range(BUFFERS):
            self._buffers.put(None)  # made when it is needed
        kind = RollingScan if self._lidar.rolls else InstantScan
        self._scan: Scan = kind(self._lidar, start, sampling.sample_rate, self._take_buffer)
        self._files = parameters.of(CloudFileParameters)
        writer = None
        if self._files.write_files:
            writer = CloudWriter(fmu.instance_name, self._files, parameters.by_name())
        super().__init__(fmu, parameters, writer)

    def _take_buffer(self) -> CloudBuffer:
        """A buffer that nobody uses; waits until there is one."""
        cloud = self._buffers.get()
        try:
            return cloud or self._lidar.new_cloud()
        except MemoryError:
            self._buffers.put(cloud)
            raise

    # ---- frames ------------------------------------------------------------------------------

    def know(self, time: float, body: Vector) -> None:
        """Take in where the body is for the rays around this instant."""
        self._scan.know(time, body)

    def take_frames(self) -> None:
        """Send the rays that are due, and hand on the frames that are complete."""
        for frame in self._scan.frames(self.scene):
            self.show(frame.number, frame.time, self._nearest(frame.cloud), self._size(frame))
            if self.writer is None:
                self._buffers.put(frame.cloud)
            else:
                self._write(self.writer, frame)

    def _write(self, writer: CloudWriter, frame: LidarFrame) -> None:
        own, cloud = self._lidar.parameters, frame.cloud
        in_world = own.output_frame == OutputFrame.world
        file = CloudFile(
            cloud.returns,
            CloudFormat(self._files.output_format),
            Viewpoint(in_world, frame.position, frame.orientation),
            cloud.counts,
            own.output_normals,
        )
        known = {
            "frame": frame.number,
            "time": frame.time,
            "duration": frame.duration,
            "position": frame.position,
            "orientation": frame.orientation,
            **frame.about,
        }
        done = partial(self._buffers.put, cloud)
        writer.put(FrameFiles(frame.number, (file,), known, done))
        self.newest_file = str(writer.path_of(frame.number, file))

    # ---- outputs -----------------------------------------------------------------------------

    def _size(self, frame: LidarFrame) -> dict[str, int]:
        return {"frame.points": frame.cloud.number}

    def _nearest(self, cloud: CloudBuffer) -> NearestOutputs:
        if not np.isfinite(cloud.nearest[0]):
            return NearestOutputs()
        point = cloud.returns.reshape(-1)[cloud.nearest[1]]
        return NearestOutputs(
            range=float(point["range"]),
            azimuth=float(point["azimuth"]),
            elevation=float(point["elevation"]),
            entity_id=int(point["entity_id"]),
        )

    # ---- saved states ------------------------------------------------------------------------

    def frame_state(self) -> dict[str, NDArray[Any]]:
        """What is known of the motion, and the frame that was begun."""
        return {f"{SCAN}{name}": array for name, array in self._scan.state().items()}

    def restore_frames(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from ``frame_state()`` of this or an equal run."""
        own = {n.removeprefix(SCAN): a for n, a in arrays.items() if n.startswith(SCAN)}
        try:
            self._scan.restore(own)
        except (ValueError, IndexError) as error:
            raise StateError(f"the state does not fit this FMU: {error}") from error


def _lidar(fmu: FrameSensorFmu, parameters: Groups) -> Lidar:
    sampling = parameters.of(SamplingParameters)
    mount = parameters.of(MountParameters)
    placement = parameters.of(PlacementParameters)
    return Lidar(
        parameters.of(LidarParameters),
        parameters.of(PatternParameters),
        parameters.of(BeamParameters, "beam"),
        parameters.of(LidarNoiseParameters),
        parameters.of(AmbientParameters),
        placed(mount, placement, sampling.seed, fmu.identity),
        seed=sampling.seed,
        identity=fmu.identity,
        rate=sampling.sample_rate,
    )


@cache
def _load_kernels() -> None:
    """Compile or load what a step may need, once, and not in a step."""
    scene, body = _smallest_scene(), np.array((0.0, 0.0, 0.0, *IDENTITY, *[0.0] * 6))
    lidar = Lidar(LidarParameters(), ScanPattern.from_arrays([0.0], [0.0]))
    cloud, poses = lidar.new_cloud(), lidar.sensor_poses(body.reshape(1, -1))
    with RayScene(scene, threads=1) as rays:
        lidar.scan(rays, poses, 0, (0.0, 0.0), (0, 1), cloud, load_kernels(scene))
    cloud.points()
    lidar.sensor_pose(body)
    for kind in (InstantScan, RollingScan):
        scan = kind(lidar, 0.0, 3.0)
        scan.know(0.0, body)
        scan.know(0.5, body)
    matrix_from_quaternion(body[3:POSE_SIZE])  # of scenes that are read when they are needed


def _smallest_scene() -> Scene:
    """A triangle that stands and bounds a volume, and one that moves."""
    corners = np.eye(3, dtype=np.float32)
    mesh = Mesh(corners, np.arange(3, dtype=np.uint32).reshape(1, 3), np.zeros(1, np.int32))
    still, moving = Instance(0, np.eye(4), 1), Instance(0, np.eye(4), 2, body=0)
    material = Material("none", SurfaceKind.lambert, {905e-9: SurfaceParameters()})
    return Scene(
        "smallest",
        (mesh,),
        (still, moving),
        (material,),
        media=(Medium(),),
        volumes=(MediumVolume(0, Instance(0, np.eye(4), -1)),),
        bodies=(Body("body"),),
    )
