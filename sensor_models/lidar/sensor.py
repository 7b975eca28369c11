"""The lidar as a sensor: its frames are clouds of points.

Frames are made as their rays fall due (``sweep``), in buffers of which there are ``BUFFERS``: one
is filled while others wait for the disk. If none is free a step waits, so a slow disk costs time
and not memory.

A master should step the ``Environment`` before the lidar, for the bodies of the scene to be known
as far as the lidar's own: else it sees them up to a step late.
"""

import os
import queue
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sensor_models.core.frames import BodyState, MountParameters
from sensor_models.core.placement import PlacementParameters, placed
from sensor_models.core.quantities import integer
from sensor_models.core.sensor import Inputs, Result, Setup
from sensor_models.core.spec import PACKAGES, SCENE_PACKAGES, Group, Groups, SensorSpec
from sensor_models.lidar.lidar import Lidar
from sensor_models.lidar.parameters import (
    AmbientParameters,
    LidarNoiseParameters,
    LidarParameters,
    OutputFrame,
)
from sensor_models.lidar.patterns import PatternParameters
from sensor_models.lidar.sweep import InstantScan, LidarFrame, RollingScan, Scan
from sensor_models.lidar.walk import WalkParameters
from sensor_models.light.beam import BeamParameters
from sensor_models.messages.ports import OsiPorts, Rays
from sensor_models.output.clouds import (
    CloudFile,
    CloudFileParameters,
    CloudFormat,
    CloudWriter,
    Viewpoint,
)
from sensor_models.output.frame_binaries import FrameBinary, type_of_records
from sensor_models.output.points import POINT, CloudBuffer
from sensor_models.output.sinks import FrameTableParameters
from sensor_models.sight.nearest import NearestOutputs
from sensor_models.sight.scene import SceneName, SceneNumber
from sensor_models.sight.seeing import SeeingSensor

#: Frames that may be in memory at once.
BUFFERS = 3
#: The points of a frame as bytes.
CLOUD = FrameBinary(
    "frame.cloud", "Points of the newest frame", type_of_records(POINT), ("points",)
)


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


class LidarSensor(SeeingSensor):
    """A lidar that takes frames while the states of its body become known."""

    schedule: Scan

    def __init__(self, setup: Setup, lidar: Lidar | None = None) -> None:
        """``lidar`` is another one than parameters describe."""
        rate = setup.sampling.sample_rate
        if lidar is None:
            lidar = lidar_of(setup.parameters, setup.sampling.seed, setup.identity, rate)
        self._lidar = lidar
        self._file_parameters = setup.parameters.of(CloudFileParameters)
        self._was_cut_off = False  # light, by a limit, and a warning told of it
        self._make_room()
        kind = RollingScan if lidar.rolls else InstantScan
        super().__init__(setup, kind(lidar, setup.start, rate, self._take_buffer))

    def _make_room(self) -> None:
        """Begin with buffers that nobody uses, made when they are needed.

        The one that was used last is used next: it is in the caches, and the others need not be
        made. A queue of tokens says how many there are.
        """
        self._process = os.getpid()
        self._buffers: list[CloudBuffer | None] = [None] * BUFFERS
        self._tokens: queue.SimpleQueue[None] = queue.SimpleQueue()
        for _ in range(BUFFERS):
            self._tokens.put(None)

    def _take_buffer(self) -> CloudBuffer:
        """A buffer that nobody uses; waits until there is one."""
        if self._process != os.getpid():  # in a forked child no thread gives back what it has
            self._make_room()
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
        return super().begin(inputs)

    def take(self, frame: LidarFrame) -> Result:
        """The cloud of a frame as a result."""
        cloud = frame.cloud
        self._warn_of_lost(frame)
        values = (cloud.number, *_nearest(cloud).values)
        files = self._files_of(frame) if self.files else ()
        known = {
            "frame": frame.number,
            "time": frame.time,
            "duration": frame.duration,
            "position": frame.position,
            "orientation": frame.orientation,
            "cut_off": cloud.cut_off,
            **frame.about,
        }
        done = partial(self._give_back, cloud)
        return Result(frame.number, frame.time, values, files, known, done)

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
        if cut_off and not self._was_cut_off:
            self._was_cut_off = True
            self.warn(
                f"limits cut off light in frame {frame.number}, how often each: {cut_off}; frames "
                "to come may lack light as well, index.jsonl counts it for each file"
            )


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
    binaries=(CLOUD,),
    messages=OsiPorts(takes_view=True, rays=rays_of),
    step=0.1,
    packages=(*PACKAGES, *SCENE_PACKAGES),
)
