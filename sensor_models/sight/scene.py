"""The scene that a sensor sees: by its handle, or by its name.

An input ``scene_handle`` becomes a scene in one way, ``SceneUse``, whatever a sensor wants of it:
rays for a camera, the magnetic field for an IMU.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sensor_models.core.quantities import integer, string
from sensor_models.core.spec import SCENE, SCENE_HANDLE

if TYPE_CHECKING:
    from sensor_models.scene.registry import SceneHandle

#: A built-in scene.
DEFAULT_SCENE = "yard"


@dataclass(frozen=True)
class SceneNumber:
    """The world around."""

    scene_handle: int = integer(
        0,
        "Handle of a scene, of an Environment; 0 takes the parameter scene",
        minimum=0,
        name=SCENE_HANDLE,
    )


@dataclass(frozen=True)
class SceneName:
    """The world around where no handle is connected."""

    scene: str = string(
        DEFAULT_SCENE,
        "Path of a scene's manifest, or the name of a built-in scene, used where scene_handle is 0",
        name=SCENE,
    )


@dataclass(frozen=True)
class OptionalScene:
    """The world around where no handle is connected, if there is one."""

    scene: str = string(
        "",
        "Path of a scene's manifest, or the name of a built-in scene, used where scene_handle is "
        "0; empty for none",
        name=SCENE,
    )


class SceneUse:
    """Opens the scenes that handles stand for.

    0 stands for the scene of a name, or for none if no name is given. A scene stays open until
    it is closed, or forgotten.
    """

    def __init__(self, name: str | None = None) -> None:
        self._name = name

    @property
    def chosen(self) -> bool:
        """Whether a scene was named that is not just there until a handle is connected."""
        return self._name not in (None, DEFAULT_SCENE)

    def expect(self) -> None:
        """Refuse a name that stands for no scene, as far as can be told without loading it."""
        if self._name is not None:
            from sensor_models.scene.manifest import manifest_path

            manifest_path(self._name)

    def open(self, number: int) -> "SceneHandle | None":
        """The scene of a handle."""
        if number == 0 and self._name is None:
            return None
        # Half a second that few need of the sensors that may have a scene.
        from sensor_models.scene.registry import attach, open_scene

        return open_scene(self._name or "") if number == 0 else attach(number)
