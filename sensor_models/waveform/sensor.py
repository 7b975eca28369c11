"""The full-waveform lidar as a sensor: frames are clouds of points, and waveforms."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sensor_models.core.frames import BodyState, MountParameters
from sensor_models.core.placement import PlacementParameters
from sensor_models.core.quantities import boolean, check, string
from sensor_models.core.sensor import Setup
from sensor_models.core.spec import PACKAGES, SCENE_PACKAGES, Group, SensorSpec
from sensor_models.lidar.parameters import AmbientParameters, LidarNoiseParameters
from sensor_models.lidar.patterns import PatternParameters
from sensor_models.lidar.sensor import CLOUD, LidarSensor, PointOutputs
from sensor_models.lidar.sweep import LidarFrame
from sensor_models.messages.ports import OsiPorts, Rays
from sensor_models.output.clouds import CloudFileParameters, CloudWriter
from sensor_models.output.frame_binaries import type_of_records
from sensor_models.output.points import record_of
from sensor_models.output.sinks import FrameTableParameters
from sensor_models.sight.nearest import NearestOutputs
from sensor_models.sight.scene import SceneName, SceneNumber
from sensor_models.waveform.clouds import EchoCloud, SampleFile, WaveFile
from sensor_models.waveform.named import waveform_lidar_of
from sensor_models.waveform.parameters import (
    AdcParameters,
    ReceiverParameters,
    WaveformParameters,
)

#: The points of a frame as bytes.
ECHOES = dataclasses.replace(CLOUD, mime_type=type_of_records(record_of(echoes=True)))


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
        given = setup.parameters
        keeps = setup.files and given.of(WaveformFileParameters, "waveform").on
        lidar = waveform_lidar_of(given, setup.identity, keeps=keeps)
        super().__init__(setup, lidar)
        self._warn_of_rays: Callable[[str], None] | None = setup.warn
        self._rays = len(lidar.pulse.share)

    def _warn_of_lost(self, frame: LidarFrame) -> None:
        """Say once, too, that surfaces were so tilted that the rays of a pulse are too few."""
        super()._warn_of_lost(frame)
        coarse = frame.cloud.coarse if isinstance(frame.cloud, EchoCloud) else 0
        if coarse and self._warn_of_rays is not None:
            self._warn_of_rays(
                f"{coarse} echoes of frame {frame.number} come from surfaces so tilted that the "
                f"{self._rays} rays of a pulse meet them further apart than its length, and may "
                "come out as several echoes; more rays (beam.subrays) mend it"
            )
            self._warn_of_rays = None

    def _files_of(self, frame: LidarFrame) -> tuple[Any, ...]:
        cloud = frame.cloud
        points = super()._files_of(frame)
        if not isinstance(cloud, EchoCloud) or cloud.waves is None:
            return points
        return (*points, WaveFile(cloud), SampleFile(cloud))


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
    binaries=(ECHOES,),
    step=0.1,
    packages=(*PACKAGES, *SCENE_PACKAGES),
)
