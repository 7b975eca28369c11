"""FMU ``Lidar``: sweeps of a ray-traced lidar, as files of point clouds."""

from dataclasses import dataclass
from typing import ClassVar

from fmus.lidar_run import LidarRun
from fmus.scene_sensor import FrameOutputs, FrameSensorFmu, NearestOutputs
from fmus.sensor_fmu import SampleOutputs
from fmus.variables import Group
from sensor_models.core.placement import PlacementParameters
from sensor_models.core.quantities import integer
from sensor_models.lidar import (
    AmbientParameters,
    LidarNoiseParameters,
    LidarParameters,
    PatternParameters,
)
from sensor_models.light.beam import BeamParameters
from sensor_models.output.clouds import CloudFileParameters


@dataclass(frozen=True)
class PointOutputs:
    """How much there is in the newest frame."""

    points: int = integer(0, "Number of points of the newest frame", name="frame.points")


class LidarFmu(FrameSensorFmu):
    """The lidar behind FMI variables."""

    model_name = "Lidar"
    description_text = "Ray-traced lidar: scan patterns and motion, materials, media, returns"
    PARAMETERS = (
        Group(PatternParameters),
        Group(LidarParameters),
        Group(BeamParameters, "beam"),
        Group(LidarNoiseParameters),
        Group(AmbientParameters),
        Group(PlacementParameters),
        *FrameSensorFmu.AROUND,
    )
    SHARED: ClassVar[tuple[Group, ...]] = (*FrameSensorFmu.SHARED, Group(CloudFileParameters))
    OUTPUTS: ClassVar[tuple[Group, ...]] = (
        Group(SampleOutputs),
        Group(FrameOutputs),
        Group(PointOutputs),
        Group(NearestOutputs, "nearest"),
    )

    def create_run(self, start: float) -> LidarRun:
        """The lidar with its clock and its files."""
        return LidarRun(self, self.parameters(), start)
