"""The lidar as a sensor: its frames are clouds of points.

Frames are made as their rays fall due (``sweep``), in buffers of which there are ``BUFFERS``: one
is filled while others wait for the disk. If none is free a step waits, so a slow disk costs time
and not memory.

A master should step the ``Environment`` before the lidar, for the bodies of the scene to be known
as far as the lidar's own: else it sees them up to a step late.
"""

import queue
from collections.abc import Callable, Iterator, Mapping
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
from sensor_models.lidar.lidar import Lidar
from sensor_models.lidar.parameters import (
    AmbientParameters,
    LidarNoiseParameters,
    LidarParameters,
    OutputFrame,
)
from sensor_models.lidar.patterns import PatternParameters, ScanPattern
from sensor_models.lidar.sweep import InstantScan, LidarFrame, RollingScan, Scan
from sensor_models.lidar.walk import WalkParameters
from sensor_models.light.beam import BeamParameters
from sensor_models.light.surfaces import sent_back
from sensor_models.messages.ports import OsiPorts, Rays
from sensor_models.output.clouds import (
    CloudFile,
    CloudFileParameters,
    CloudFormat,
    CloudWriter,
    Viewpoint,
)
from sensor_models.output.points import CloudBuffer
from sensor_models.output.sinks import FrameTableParameters
from sensor_models.scene.model import SurfaceKind, SurfaceParameters
from sensor_models.scene.pose_memory import POSE_SIZE
from sensor_models.scene.tracing import RayScene
from sensor_models.sight.nearest import NearestOutputs
from sensor_models.sight.rounding import RoundingWatch
from sensor_models.sight.scene import SceneName, SceneNumber
from sensor_models.sight.smallest import moved_bodies, smallest_scene

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
        walk=parameters.of(WalkParameters, "walk"),
        seed=seed,
        identity=identity,
        rate=rate,
    )


class LidarSensor:
    """A lidar that takes frames while the states of its body become known."""

    def __init__(self, setup: Setup, lidar: Lidar | None = None) -> None:
        """``lidar`` is another one than parameters describe, its kernels loaded."""
        rate, self._start = setup.sampling.sample_rate, setup.start
        if lidar is None:
            _load_kernels()
            lidar = lidar_of(setup.parameters, setup.sampling.seed, setup.identity, rate)
        self._lidar = lidar
        self._file_parameters = setup.parameters.of(CloudFileParameters)
        self._warn: Callable[[str], None] | None = setup.warn  # until light was cut off once
        self._files, self._rounding = setup.files, RoundingWatch(setup.warn)
        #: Buffers that nobody uses, made when they are needed. The one that was used last is used
        #: next: it is in the caches, and the others need not be made. A queue of tokens says how
        #: many there are, as a simple queue survives a fork in any state and one of its own order
        #: does not.
        self._buffers: list[CloudBuffer | None] = [None] * BUFFERS
        self._tokens: queue.SimpleQueue[None] = queue.SimpleQueue()
        for _ in range(BUFFERS):
            self._tokens.put(None)
        kind = RollingScan if self._lidar.rolls else InstantScan
        self._scan: Scan = kind(self._lidar, setup.start, rate, self._take_buffer)

    def _take_buffer(self) -> CloudBuffer:
        """A buffer that nobody uses; waits until there is one."""
        self._tokens.get()
        cloud = self._buffers.pop()
        try:
            return cloud or self._new_cloud()
        except MemoryError:
            self._give_back(cloud)
            raise

    def _give_back(self, cloud: CloudBuffer | None) -> None:
        """Take back a buffer that is not used any more, on any thread."""
        self._buffers.append(cloud)
        self._tokens.put(None)

    def _new_cloud(self) -> CloudBuffer:
        """A buffer whose records are those of the files."""
        normals = self._lidar.parameters.output_normals
        return self._lidar.new_cloud(normals=normals, wide=self._file_parameters.wide)

    def begin(self, inputs: Inputs) -> tuple[()]:
        """Frame 0 is taken with the first step, as many masters connect inputs only then.

        A scene that is known by now is refused by now, if a material of it has no numbers for the
        wavelength.
        """
        if inputs.held.scene is not None:
            self._lidar.expect(inputs.held.scene.scene)
        self._scan.know(self._start, inputs.state)
        return ()

    def advance(self, inputs: Inputs, t0: float, t1: float) -> Iterator[Result]:
        """Send the rays that are due; the frames that are complete then."""
        self._scan.know(t1, inputs.state)
        self._rounding.look(inputs.held.scene, inputs.state[:3])
        for frame in self._scan.frames(inputs.held.scene, inputs.before.scene):
            cloud = frame.cloud
            self._warn_of_lost(frame)
            values = (cloud.number, *_nearest(cloud).values)
            done = partial(self._give_back, cloud)
            files = self._files_of(frame) if self._files else ()
            known = {
                "frame": frame.number,
                "time": frame.time,
                "duration": frame.duration,
                "position": frame.position,
                "orientation": frame.orientation,
                "cut_off": cloud.cut_off,
                **frame.about,
            }
            yield Result(frame.number, frame.time, values, files, known, done)

    def _files_of(self, frame: LidarFrame) -> tuple[Any, ...]:
        """The files of a frame, that of the points first."""
        own, cloud = self._lidar.parameters, frame.cloud
        in_world = own.output_frame == OutputFrame.world
        shift = tuple(cloud.shift.tolist())
        viewpoint = Viewpoint(in_world, frame.position, frame.orientation, shift)
        kind = CloudFormat(self._file_parameters.output_format)
        return (CloudFile(cloud, kind, viewpoint, own.normalised_full_scale),)

    def _warn_of_lost(self, frame: LidarFrame) -> None:
        """Say once in a run that limits cut off light, but for ``max_depth``.

        How deep trees are followed is a choice: behind several panes or mirrors there is always
        more. The index counts what that leaves out, too.
        """
        cut_off = {name: n for name, n in frame.cloud.cut_off.items() if n and name != "depth"}
        if cut_off and self._warn is not None:
            self._warn(
                f"limits cut off light in frame {frame.number}, how often each: {cut_off}; frames "
                "to come may lack light as well, index.jsonl counts it for each file"
            )
            self._warn = None

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
        """Wait until no thread is at work."""
        self._scan.close()


def _nearest(cloud: CloudBuffer) -> NearestOutputs:
    if not np.isfinite(cloud.nearest[0]):
        return NearestOutputs()
    point = cloud.nearest_point()[0]
    return NearestOutputs(
        range=float(point["range"]),
        azimuth=float(point["azimuth"]),
        elevation=float(point["elevation"]),
        entity_id=int(point["entity_id"]),
    )


@cache
def _load_kernels() -> None:
    """Compile or load what a step may need, once, and not in a step."""
    scene, body = smallest_scene(), np.array((0.0, 0.0, 0.0, *IDENTITY, *[0.0] * 6))
    lidar = Lidar(LidarParameters(), ScanPattern.from_arrays([0.0], [0.0]))
    bodies = moved_bodies(scene)
    cloud, poses = lidar.new_cloud(), lidar.sensor_poses(body.reshape(1, -1))
    with RayScene(scene, threads=1) as rays:
        lidar.scan(rays, poses, 0, (0.0, 0.0), (0, 1), cloud, bodies)
    load_sweeps(lidar, cloud, body)


def load_sweeps(lidar: Lidar, cloud: CloudBuffer, body: NDArray[np.float64]) -> None:
    """Compile or load what sweeps and their clouds need besides tracing."""
    cloud.points()
    cloud.pack()
    lidar.sensor_pose(body)
    for kind, rate in ((InstantScan, 3.0), (RollingScan, 3.0), (RollingScan, 0.0)):
        scan = kind(lidar, 0.0, rate)
        scan.know(0.0, body)
        scan.know(0.5, body)
    # Of scenes and their materials, which are read when they are needed.
    matrix_from_quaternion(body[3:POSE_SIZE])
    sent_back(SurfaceKind.two_layer, SurfaceParameters())


def rays_of(setup: Setup) -> Rays:
    """The rays of a frame, for messages."""
    rate = setup.sampling.sample_rate
    lidar = lidar_of(setup.parameters, setup.sampling.seed, setup.identity, rate)
    pattern, duration = lidar.pattern, (1.0 / rate if lidar.rolls and rate > 0.0 else 0.0)
    return Rays(pattern.directions(0), pattern.offset * duration, pattern.rows, pattern.columns)


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
        Group(WalkParameters, "walk"),
        Group(LidarNoiseParameters),
        Group(AmbientParameters),
        Group(PlacementParameters),
        Group(MountParameters),
        Group(SceneName),
    ),
    readings=(Group(PointOutputs), Group(NearestOutputs, "nearest")),
    sinks=(Group(CloudFileParameters), Group(FrameTableParameters)),
    frames=CloudWriter,
    messages=OsiPorts(takes_view=True, rays=rays_of),
    step=0.1,
    packages=(*PACKAGES, *SCENE_PACKAGES),
)
