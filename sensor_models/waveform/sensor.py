"""The full-waveform lidar as a sensor: frames are clouds of points, and waveforms."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from sensor_models.core.frames import IDENTITY, BodyState, MountParameters
from sensor_models.core.placement import PlacementParameters
from sensor_models.core.quantities import boolean, check, string
from sensor_models.core.sensor import Setup
from sensor_models.core.spec import PACKAGES, SCENE_PACKAGES, Group, SensorSpec
from sensor_models.lidar.parameters import AmbientParameters, LidarNoiseParameters
from sensor_models.lidar.patterns import PatternParameters, ScanPattern
from sensor_models.lidar.sensor import LidarSensor, PointOutputs, load_sweeps
from sensor_models.lidar.sweep import LidarFrame
from sensor_models.messages.ports import OsiPorts, Rays
from sensor_models.output.clouds import CloudFileParameters, CloudWriter
from sensor_models.output.sinks import FrameTableParameters
from sensor_models.scene.tracing import RayScene
from sensor_models.sight.nearest import NearestOutputs
from sensor_models.sight.scene import SceneName, SceneNumber
from sensor_models.sight.smallest import moved_bodies, smallest_scene
from sensor_models.waveform.clouds import EchoCloud, SampleFile, WaveFile
from sensor_models.waveform.lidar import WaveformLidar
from sensor_models.waveform.named import waveform_lidar_of
from sensor_models.waveform.parameters import (
    AdcParameters,
    ReceiverParameters,
    ReceiverType,
    WaveformParameters,
)


@dataclass(frozen=True)
class WaveformFileParameters:
    """Whether waveforms are written."""

    on: bool = boolean(
        True, "Write the waveforms beside the points, where files are written at all"
    )

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class WaveformFileOutput:
    """The waveforms of the newest frame."""

    file: str = string("", "Path of the rows of its waveforms; samples.npy has their samples")


class WaveformSensor(LidarSensor):
    """A full-waveform lidar that takes frames while the states of its body become known."""

    def __init__(self, setup: Setup) -> None:
        _load_kernels()
        given = setup.parameters
        keeps = setup.files and given.of(WaveformFileParameters, "waveform").on
        lidar = waveform_lidar_of(given, setup.identity, keeps=keeps)
        super().__init__(setup, lidar)

    def _files_of(self, frame: LidarFrame) -> tuple[Any, ...]:
        cloud = frame.cloud
        points = super()._files_of(frame)
        if not isinstance(cloud, EchoCloud) or cloud.waves is None:
            return points
        return (*points, WaveFile(cloud), SampleFile(cloud))


@cache
def _load_kernels() -> None:
    """Compile or load what a step may need, once, and not in a step."""
    scene, body = smallest_scene(), np.array((0.0, 0.0, 0.0, *IDENTITY, *[0.0] * 6))
    lidar = WaveformLidar(
        WaveformParameters(), ScanPattern.from_arrays([0.0], [0.0]),
        ReceiverParameters(type=ReceiverType.apd), keeps=True,
    )  # fmt: skip
    cloud, poses = lidar.new_cloud(), lidar.sensor_poses(body.reshape(1, -1))
    with RayScene(scene, threads=1) as rays:
        lidar.scan(rays, poses, 0, (0.0, 0.0), (0, 1), cloud, moved_bodies(scene))
    load_sweeps(lidar, cloud, body)


def _rays_of(setup: Setup) -> Rays:
    """The rays of a frame, for messages."""
    rate = setup.sampling.sample_rate
    lidar = waveform_lidar_of(setup.parameters, setup.identity, keeps=False)
    pattern, duration = lidar.pattern, (1.0 / rate if lidar.rolls and rate > 0.0 else 0.0)
    return Rays(pattern.directions(0), pattern.offset * duration, pattern.rows, pattern.columns)


WAVEFORM_LIDAR = SensorSpec(
    name="WaveformLidar",
    text="Full-waveform lidar: pulses of many rays, receivers with noise, echoes by five ways",
    create=WaveformSensor,
    state=(Group(BodyState),),
    held=(Group(SceneNumber),),
    parameters=(
        Group(PatternParameters),
        Group(WaveformParameters),
        Group(ReceiverParameters, "receiver"),
        Group(AdcParameters, "adc"),
        Group(WaveformFileParameters, "waveform"),
        Group(LidarNoiseParameters),
        Group(AmbientParameters),
        Group(PlacementParameters),
        Group(MountParameters),
        Group(SceneName),
    ),
    readings=(Group(PointOutputs), Group(NearestOutputs, "nearest")),
    sinks=(Group(CloudFileParameters), Group(FrameTableParameters)),
    frames=CloudWriter,
    messages=OsiPorts(rays=_rays_of),
    more_files=((Group(WaveformFileOutput, "waveform"), "waveform.npy"),),
    step=0.1,
    packages=(*PACKAGES, *SCENE_PACKAGES),
)
