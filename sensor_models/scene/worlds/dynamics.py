"""The dynamics of a world that MuJoCo simulates, beside the scene that it is seen as.

A converted MJCF with actuators has a folder ``dynamics`` beside its manifest: ``model.xml``, and
the files that this names. It is the model of the user without what is only looked at, and with all
included files in it, so that it is compiled wherever it lies.
"""

from pathlib import Path
from typing import Any

from sensor_models.scene.errors import SceneError
from sensor_models.scene.worlds.files import Files
from sensor_models.scene.worlds.formats import WorldOptions
from sensor_models.scene.worlds.mujoco_source import dynamic
from sensor_models.scene.worlds.xml_files import xml_text

FOLDER, MODEL, FILES = "dynamics", "model.xml", "files"


def write_dynamics(world: Path, data: bytes, options: WorldOptions, directory: Path) -> bool:
    """Write the dynamics of a world beside its manifest, if MuJoCo can move it."""
    if world.suffix.lower() != ".xml":
        return False
    model = dynamic(data, Files(world, options.allow_outside))
    if model is None:
        return False
    folder = directory / FOLDER / FILES
    folder.mkdir(parents=True, exist_ok=True)
    text, _ = xml_text(model.root)
    (folder.parent / MODEL).write_text(text, encoding="utf-8")
    for name, content in model.files.items():
        (folder / name).write_bytes(content)
    return True


def dynamics_of(manifest: Path) -> Path | None:
    """The model beside a manifest, if there is one."""
    model = manifest.parent / FOLDER / MODEL
    return model if model.is_file() else None


def load_dynamics(model: Path) -> Any:
    """The compiled model; ``SceneError`` if MuJoCo refuses it."""
    import mujoco  # type: ignore[import-untyped]  # it carries no types

    folder = model.parent / FILES
    files = {f.name: f.read_bytes() for f in folder.iterdir()} if folder.is_dir() else {}
    try:
        return mujoco.MjModel.from_xml_string(model.read_text(encoding="utf-8"), files)
    except ValueError as error:
        raise SceneError(model, "", f"MuJoCo says: {error}") from error
