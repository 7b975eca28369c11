"""The scene that a sensor sees: by its handle, or by its name.

``SceneUse`` opens the scene of an input ``scene_handle`` for all sensors, whatever they use it for:
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
    """The handle of the scene."""

    scene_handle: int = integer(
        0,
        "Handle of a scene, of an Environment; 0 takes the parameter scene",
        minimum=0,
        name=SCENE_HANDLE,
    )


@dataclass(frozen=True)
class SceneName:
    """The name of the scene that is used if no handle is connected."""

    scene: str = string(
        DEFAULT_SCENE,
        "Path of a scene's manifest, or the name of a built-in scene, used where scene_handle is 0",
        name=SCENE,
    )


@dataclass(frozen=True)
class OptionalScene:
    """The name of the scene that is used if no handle is connected; may be empty."""

    scene: str = string(
        "",
        "Path of a scene's manifest, or the name of a built-in scene, used where scene_handle is "
        "0; empty for none",
        name=SCENE,
    )


class SceneUse:
    """Opens the scenes that handles stand for.

    The handle 0 stands for the named scene, or for none if no name is given; all sensors of a
    process that name the same one share it, but for those that move its bodies (``moves``). A scene
    stays open until it is closed or no longer referred to.
    """

    def __init__(self, name: str | None = None, *, moves: bool = False) -> None:
        self._name, self._moves = name, moves

    @property
    def chosen(self) -> bool:
        """Whether a scene was named by the user, not only by default."""
        return self._name not in (None, DEFAULT_SCENE)

    def expect(self) -> None:
        """Refuse a name without a scene, as far as this is known without loading it."""
        if self._name is not None:
            from sensor_models.scene.manifest import manifest_path

            manifest_path(self._name)

    def open(self, number: int) -> "SceneHandle | None":
        """The scene of a handle."""
        if number == 0 and self._name is None:
            return None
        # Importing this takes half a second, and few of the sensors that may have a scene need it.
        from sensor_models.scene.registry import attach, open_scene, share_scene

        if number != 0:
            return attach(number)
        return open_scene(self._name or "") if self._moves else share_scene(self._name or "")
