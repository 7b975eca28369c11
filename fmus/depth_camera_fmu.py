"""FMU ``DepthCamera``: images of distance, of what is seen and its normals, as files."""

from dataclasses import dataclass

from fmus.image_run import MOST_ZONES, CameraRun
from fmus.scene_sensor import FrameOutputs, FrameSensorFmu, NearestOutputs
from fmus.sensor_fmu import SampleOutputs
from fmus.variables import Group
from sensor_models.camera import (
    DepthCameraParameters,
    FramePlacementParameters,
    ImageNoiseParameters,
    ShutterParameters,
)
from sensor_models.core.quantities import integer, real
from sensor_models.output.images import ImageFileParameters


@dataclass(frozen=True)
class ImageOutputs:
    """The size of the newest frame."""

    width: int = integer(0, "Columns of the newest frame", name="frame.width")
    height: int = integer(0, "Rows of the newest frame", name="frame.height")


@dataclass(frozen=True)
class ZoneOutput:
    """A pixel of a sensor that has few."""

    range: float = real(
        0.0,
        "m",
        "Range along the ray of a pixel, counted row by row, of sensors of at most 64 pixels; "
        "0 for no reading",
    )


class DepthCameraFmu(FrameSensorFmu):
    """The depth camera behind FMI variables."""

    model_name = "DepthCamera"
    description_text = "Depth camera: depth, range, points, segmentation and normals"
    PARAMETERS = (
        Group(DepthCameraParameters),
        Group(ShutterParameters),
        Group(ImageNoiseParameters),
        Group(FramePlacementParameters),
        *FrameSensorFmu.AROUND,
    )
    SHARED = (*FrameSensorFmu.SHARED, Group(ImageFileParameters))
    OUTPUTS = (
        Group(SampleOutputs),
        Group(FrameOutputs),
        Group(ImageOutputs),
        Group(NearestOutputs, "nearest"),
        *(Group(ZoneOutput, f"zone_{number + 1}") for number in range(MOST_ZONES)),
    )

    def create_run(self, start: float) -> CameraRun:
        """The camera with its clock and its files."""
        return CameraRun(self, self.parameters(), start)
