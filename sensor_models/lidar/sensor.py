"""The lidar as a sensor: its frames are clouds of points.

Frames are made as their rays fall due (``sweep``), in buffers of which there are ``BUFFERS``: one
is filled while others wait for the disk. If none is free a step waits, so a slow disk costs time
and not memory.

A master should step the ``Environment`` before the lidar, for the bodies of the scene to be known
as far as the lidar's own: else it sees them up to a step late.
"""

import queue
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.frames import IDENTITY, BodyState, MountParameters
from sensor_models.core.placement import PlacementParameters, placed
from sensor_models.core.quantities import integer
from sensor_models.core.sensor import Arrays, Inputs, Result, Setup
from sensor_models.core.spec import PACKAGES, SCENE_PACKAGES, Group, Groups, SensorSpec
from sensor_models.kernels.math.motion import matrix_from_quaternion
from sensor_models.lidar.lidar import CloudBuffer, Lidar
from sensor_models.lidar.parameters import (
    AmbientParameters,
    LidarNoiseParameters,
    LidarParameters,
    OutputFrame,
)
from sensor_models.lidar.patterns import PatternParameters, ScanPattern
from sensor_models.lidar.sweep import InstantScan, LidarFrame, RollingScan, Scan
from sensor_models.light.beam import BeamParameters
from sensor_models.output.clouds import (
    CloudFile,
    CloudFileParameters,
    CloudFormat,
    CloudWriter,
    Viewpoint,
)
from sensor_models.output.sinks import FrameTableParameters
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
from sensor_models.scene.pose_memory import POSE_SIZE, PoseMemory, new_content, read_description
from sensor_models.scene.tracing import RayScene
from sensor_models.sight.nearest import NearestOutputs
from sensor_models.sight.scene import SceneName, SceneNumber

#: Frames that may be in memory at once.
BUFFERS = 3
#: Before the names of the arrays of a scan in a saved state.
SCAN = "scan."


@dataclass(frozen=True)
class PointOutputs:
    """How much there is in the newest frame."""

    points: int = integer(0, "Number of points of the newest frame", name="frame.points")


def lidar_of(parameters: Groups, seed: int, identity: str, rate: float) -> Lidar:
    """The lidar that parameters describe."""
    mount, placement = parameters.of(MountParameters), parameters.of(PlacementParameters)
    return Lidar(
        parameters.of(LidarParameters),
        parameters.of(PatternParameters),
        parameters.of(BeamParameters, "beam"),
        parameters.of(LidarNoiseParameters),
        parameters.of(AmbientParameters),
        placed(mount, placement, seed, identity),
        seed=seed,
        identity=identity,
        rate=rate,
    )


class LidarSensor:
    """A lidar that takes frames while the states of its body become known."""

    def __init__(self, setup: Setup) -> None:
        _load_kernels()
        rate, self._start = setup.sampling.sample_rate, setup.start
        self._lidar = lidar_of(setup.parameters, setup.sampling.seed, setup.identity, rate)
        self._format = CloudFormat(setup.parameters.of(CloudFileParameters).output_format)
        self._files = setup.files
        self._buffers: queue.SimpleQueue[CloudBuffer | None] = queue.SimpleQueue()
        for _ in range(BUFFERS):
            self._buffers.put(None)  # made when it is needed
        kind = RollingScan if self._lidar.rolls else InstantScan
        self._scan: Scan = kind(self._lidar, setup.start, rate, self._take_buffer)

    def _take_buffer(self) -> CloudBuffer:
        """A buffer that nobody uses; waits until there is one."""
        cloud = self._buffers.get()
        try:
            return cloud or self._lidar.new_cloud()
        except MemoryError:
            self._buffers.put(cloud)
            raise

    def begin(self, inputs: Inputs) -> tuple[()]:
        """Frame 0 is taken with the first step, as many masters connect inputs only then."""
        self._scan.know(self._start, inputs.state)
        return ()

    def advance(self, inputs: Inputs, t0: float, t1: float) -> Iterator[Result]:
        """Send the rays that are due; the frames that are complete then."""
        self._scan.know(t1, inputs.state)
        for frame in self._scan.frames(inputs.held.scene):
            cloud = frame.cloud
            values = (cloud.number, *_nearest(cloud).values)
            done = partial(self._buffers.put, cloud)
            files = (self._file(frame),) if self._files else ()
            known = {
                "frame": frame.number,
                "time": frame.time,
                "duration": frame.duration,
                "position": frame.position,
                "orientation": frame.orientation,
            }
            yield Result(frame.number, frame.time, values, files, known, done)

    def _file(self, frame: LidarFrame) -> CloudFile:
        own, cloud = self._lidar.parameters, frame.cloud
        in_world = own.output_frame == OutputFrame.world
        viewpoint = Viewpoint(in_world, frame.position, frame.orientation)
        return CloudFile(cloud.returns, self._format, viewpoint, cloud.counts, own.output_normals)

    def state(self) -> Arrays:
        """What is known of the motion, and the frame that was begun."""
        return {f"{SCAN}{name}": array for name, array in self._scan.state().items()}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from ``state()`` of this or an equal sensor."""
        own = {n.removeprefix(SCAN): a for n, a in arrays.items() if n.startswith(SCAN)}
        try:
            self._scan.restore(own)
        except IndexError as error:
            raise ValueError(f"the state does not fit this sensor: {error}") from error

    def close(self) -> None:
        """Memory is all that it holds."""


def _nearest(cloud: CloudBuffer) -> NearestOutputs:
    if not np.isfinite(cloud.nearest[0]):
        return NearestOutputs()
    point = cloud.returns.reshape(-1)[cloud.nearest[1]]
    return NearestOutputs(
        range=float(point["range"]),
        azimuth=float(point["azimuth"]),
        elevation=float(point["elevation"]),
        entity_id=int(point["entity_id"]),
    )


@cache
def _load_kernels() -> None:
    """Compile or load what a step may need, once, and not in a step."""
    scene, body = _smallest_scene(), np.array((0.0, 0.0, 0.0, *IDENTITY, *[0.0] * 6))
    lidar = Lidar(LidarParameters(), ScanPattern.from_arrays([0.0], [0.0]))
    memory = bytearray(new_content(scene))
    bodies = PoseMemory(memory, read_description(memory).place, 1).read().bodies[:, :POSE_SIZE]
    bodies[0, 0] += 1.0
    cloud, poses = lidar.new_cloud(), lidar.sensor_poses(body.reshape(1, -1))
    with RayScene(scene, threads=1) as rays:
        lidar.scan(rays, poses, 0, (0.0, 0.0), (0, 1), cloud, bodies)
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


LIDAR = SensorSpec(
    name="Lidar",
    text="Ray-traced lidar: scan patterns and motion, materials, media, returns",
    create=LidarSensor,
    state=(Group(BodyState),),
    held=(Group(SceneNumber),),
    parameters=(
        Group(PatternParameters),
        Group(LidarParameters),
        Group(BeamParameters, "beam"),
        Group(LidarNoiseParameters),
        Group(AmbientParameters),
        Group(PlacementParameters),
        Group(MountParameters),
        Group(SceneName),
    ),
    readings=(Group(PointOutputs), Group(NearestOutputs, "nearest")),
    sinks=(Group(CloudFileParameters), Group(FrameTableParameters)),
    frames=CloudWriter,
    step=0.1,
    packages=(*PACKAGES, *SCENE_PACKAGES),
)
