"""What the FMUs of sensors that see the world share: the scene, its handle, frames and outputs.

The input ``scene_handle`` becomes a scene in one way, ``SceneUse``, whatever the sensor wants of
it: rays for a camera, the magnetic field for an IMU.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from fmus.base import SCENE_PACKAGES, FmuBase
from fmus.sensor_fmu import PresetParameters
from fmus.variables import Group, Variable, declare
from sensor_models.core.clock import SamplingParameters
from sensor_models.core.frames import BodyState, MountParameters
from sensor_models.core.quantities import integer, real, string

if TYPE_CHECKING:
    from sensor_models.scene.registry import SceneHandle

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


@dataclass(frozen=True)
class NearestOutputs:
    """The reading with the least range; as it is made, none."""

    range: float = real(0.0, "m", "Range of the nearest reading, in the sensor frame; 0 for none")
    azimuth: float = real(0.0, "rad", "Its azimuth in the sensor frame, positive to the left")
    elevation: float = real(0.0, "rad", "Its elevation in the sensor frame, positive upward")
    entity_id: int = integer(-1, "Its entity id; -1 for none or without segmentation")


class SceneUse:
    """The scene that the input ``scene_handle`` stands for, in use until another one is.

    0 stands for a scene by its name, or for none if no name is given. A scene that cannot be had
    is an error and changes nothing: the next one is there before the last one is left. A use that
    is forgotten ends as if it were closed.
    """

    def __init__(self, name: str | None = None) -> None:
        self._name = name
        self._number: int | None = None
        self.scene: SceneHandle | None = None

    def expect(self, number: int) -> None:
        """Refuse what ``see`` would refuse, as far as can be told without loading a named scene."""
        if number != 0:
            self.see(number)
        elif self._name is not None:
            from sensor_models.scene.manifest import manifest_path

            manifest_path(self._name)

    def see(self, number: int) -> None:
        """Use the scene of this handle from now on."""
        if number == self._number:
            return
        scene = self._opened(number)
        self.close()
        self.scene, self._number = scene, number

    def _opened(self, number: int) -> "SceneHandle | None":
        if number == 0 and self._name is None:
            return None
        # Half a second that few need of the FMUs that may have a scene.
        from sensor_models.scene.registry import attach, open_scene

        return open_scene(self._name or "") if number == 0 else attach(number)

    def close(self) -> None:
        """Leave the scene, if there is one."""
        if self.scene is not None:
            self.scene.close()
        self.scene, self._number = None, None


class FrameSensorFmu(FmuBase):
    """A sensor on a body that sees the scene around it and gives frames (``frame_run``)."""

    default_step: ClassVar[float] = 0.1
    PACKAGES = (*FmuBase.PACKAGES, *SCENE_PACKAGES)
    INPUTS: ClassVar[tuple[Group, ...]] = (Group(BodyState), Group(SceneNumber))
    #: The last of the parameters of all of them.
    AROUND: ClassVar[tuple[Group, ...]] = (Group(MountParameters), Group(SceneName))
    SHARED: ClassVar[tuple[Group, ...]] = (Group(PresetParameters), Group(SamplingParameters))
    OUTPUTS: ClassVar[tuple[Group, ...]]

    @classmethod
    def declared(cls) -> list[Variable]:
        """Inputs, parameters and outputs, from the declarations of the model."""
        return [
            *declare(cls.INPUTS, "input"),
            *declare((*cls.PARAMETERS, *cls.SHARED), "parameter"),
            *declare(cls.OUTPUTS, "output"),
        ]

    @classmethod
    def inputs_of(cls, output: str) -> Sequence[str]:
        """All inputs, but for the numbers, times and names of frames."""
        return () if output.startswith(("sample.", "frame.")) else super().inputs_of(output)

    @property
    def identity(self) -> str:
        """Whose random numbers these are: equal ones share their noise."""
        return f"{self.model_name}/{self.instance_name}"

    def get(self, name: str) -> Any:
        """The value of a variable."""
        return self.values.get(self.table().by_name[name])

    def put(self, name: str, value: Any) -> None:
        """Give an output a value."""
        self.values.set(self.table().by_name[name], value)
