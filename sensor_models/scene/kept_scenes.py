"""Whole scenes that are kept for the next start, and used while all their files are the same."""

import dataclasses
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from sensor_models.scene import kept, model
from sensor_models.scene.errors import SceneError
from sensor_models.scene.limits import file_inside, read_limited
from sensor_models.scene.model import Scene, SurfaceKind, Use, Wrap


def kept_scene(path: Path, manifest: bytes, allow_outside: bool) -> Scene | None:
    """The scene of a manifest, if it was read before from the same files."""
    found = kept.load("scene", _scene_key(manifest, allow_outside))
    if found is None:
        return None
    description, arrays = found
    files = [path]
    try:
        for name, digest in description["files"]:
            file = file_inside(name, "", path, allow_outside)
            if kept.digest_of_data(read_limited(file, "", path)) != digest:
                return None
            files.append(file)
        scene: Scene = kept.from_description(description["scene"], arrays, _CLASSES)
    except (SceneError, KeyError, TypeError, ValueError, IndexError):
        return None  # reading it again will say what is wrong
    return dataclasses.replace(scene, files=tuple(files))


def keep_scene(
    scene: Scene, manifest: bytes, allow_outside: bool, digests: Mapping[Path, str]
) -> None:
    """Keep a scene that was read from files with these digests."""
    path, *others = scene.files
    try:
        names = [Path(os.path.relpath(file, path.parent)).as_posix() for file in others]
    except ValueError:  # on Windows, a file on another drive
        return
    arrays: list[NDArray[Any]] = []
    about = {
        "files": [(name, digests[file]) for name, file in zip(names, others, strict=True)],
        "scene": kept.description_of(dataclasses.replace(scene, files=()), arrays),
    }
    kept.save("scene", _scene_key(manifest, allow_outside), about, arrays)


def _scene_key(manifest: bytes, allow_outside: bool) -> str:
    return kept.key_of(manifest, str(allow_outside))


_CLASSES: dict[str, Callable[..., Any]] = {
    name: kind
    for name, kind in vars(model).items()
    if kind in (SurfaceKind, Use, Wrap)
    or (isinstance(kind, type) and dataclasses.is_dataclass(kind))
}
