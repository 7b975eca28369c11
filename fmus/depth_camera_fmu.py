"""FMU ``DepthCamera``: images of distance, of what is seen and its normals, as files."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from fmus.base import SCENE_PACKAGES, FmuBase
from fmus.image_run import MOST_ZONES, CameraRun
from fmus.sensor_fmu import PresetParameters, SampleOutputs
from fmus.variables import Group, Variable, declare
from sensor_models.camera import (
    DepthCamera,
    DepthCameraParameters,
    FramePlacementParameters,
    ImageNoiseParameters,
)
from sensor_models.clock import SamplingParameters
from sensor_models.frames import BodyState, MountParameters
from sensor_models.images import ImageFileParameters
from sensor_models.quantities import integer, real, string

#: A built-in scene.
DEFAULT_SCENE = "yard"


@dataclass(frozen=True)
class SceneNumber:
    """The world around."""

    scene_handle: int = integer(
        0, "Handle of a scene, of an Environment; 0 takes the parameter scene", minimum=0
    )


@dataclass(frozen=True)
class SceneName:
    """The world around where no handle is connected."""

    scene: str = string(
        DEFAULT_SCENE,
        "Path of a scene's manifest, or the name of a built-in scene, used where scene_handle is 0",
    )


@dataclass(frozen=True)
class FrameOutputs:
    """The newest frame."""

    count: int = integer(0, "Number of frames so far", name="frame.count")
    time: float = real(0.0, "s", "Instant the newest frame belongs to", name="frame.time")
    file: str = string("", "Path of the newest complete file of a frame", name="frame.file")
    width: int = integer(0, "Columns of the newest frame", name="frame.width")
    height: int = integer(0, "Rows of the newest frame", name="frame.height")


@dataclass(frozen=True)
class NearestOutputs:
    """The pixel with the least range."""

    range: float = real(0.0, "m", "Range of the nearest reading, in the sensor frame; 0 for none")
    azimuth: float = real(0.0, "rad", "Its azimuth in the sensor frame, positive to the left")
    elevation: float = real(0.0, "rad", "Its elevation in the sensor frame, positive upward")
    entity_id: int = integer(-1, "Its entity id; -1 for none or without segmentation")


@dataclass(frozen=True)
class ZoneOutput:
    """A pixel of a sensor that has few."""

    range: float = real(
        0.0,
        "m",
        "Range along the ray of a pixel, counted row by row, of sensors of at most 64 pixels; "
        "0 for no reading",
    )


class DepthCameraFmu(FmuBase):
    """The depth camera behind FMI variables."""

    model_name = "DepthCamera"
    description_text = "Depth camera: depth, range, points, segmentation and normals"
    default_step: ClassVar[float] = 0.1
    PACKAGES = (*FmuBase.PACKAGES, *SCENE_PACKAGES)
    PARAMETERS = (
        Group(DepthCameraParameters),
        Group(ImageNoiseParameters),
        Group(FramePlacementParameters),
        Group(MountParameters),
        Group(SceneName),
    )
    SHARED = (Group(PresetParameters), Group(SamplingParameters), Group(ImageFileParameters))
    OUTPUTS: ClassVar[tuple[Group, ...]] = (
        Group(SampleOutputs),
        Group(FrameOutputs),
        Group(NearestOutputs, "nearest"),
        *(Group(ZoneOutput, f"zone_{number + 1}") for number in range(MOST_ZONES)),
    )

    @classmethod
    def declared(cls) -> list[Variable]:
        """Inputs, parameters and outputs, from the declarations of the model."""
        return [
            *declare((Group(BodyState), Group(SceneNumber)), "input"),
            *declare((*cls.PARAMETERS, *cls.SHARED), "parameter"),
            *declare(cls.OUTPUTS, "output"),
        ]

    @classmethod
    def inputs_of(cls, output: str) -> Sequence[str]:
        """All inputs, but for the numbers, times and names of frames."""
        return () if output.startswith(("sample.", "frame.")) else super().inputs_of(output)

    def create_run(self, start: float) -> CameraRun:
        """The camera with its clock and its files."""
        parameters = self.parameters()
        camera = DepthCamera(
            parameters.of(DepthCameraParameters),
            parameters.of(ImageNoiseParameters),
            parameters.of(MountParameters),
            parameters.of(FramePlacementParameters),
            seed=parameters.of(SamplingParameters).seed,
            identity=f"{self.model_name}/{self.instance_name}",
            distances=True,
        )
        return CameraRun(self, camera, parameters.of(SceneName).scene, start)

    def get(self, name: str) -> Any:
        """The value of a variable."""
        return self.values.get(self.table().by_name[name])

    def put(self, name: str, value: Any) -> None:
        """Give an output a value."""
        self.values.set(self.table().by_name[name], value)
