"""A scene from its manifest, a TOML file whose keys are described in ``docs/scenes.md``.

A built-in scene is a folder under ``scenes`` beside the package and is given by its name. Any other
scene is given by the path of its manifest, or of a folder with a ``scene.toml``. Files that a
manifest names are relative to its folder and must be in it, also after links are followed, unless
``allow_outside`` is set.

All errors are raised as ``SceneError``: one message with file, key and reason.

Worlds in the formats of others (``worlds``) are given by their path, and are read as scenes.

A scene that was read before is taken from the user's cache while none of its files has changed
(``kept_scenes``); otherwise the code that reads it is imported.
"""

import hashlib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import sensor_models
from sensor_models.core.toml_files import TomlError, parse_toml
from sensor_models.scene.errors import SceneError
from sensor_models.scene.kept_scenes import keep_scene, kept_scene
from sensor_models.scene.limits import MAX_MANIFEST_BYTES, read_limited
from sensor_models.scene.model import Scene
from sensor_models.scene.worlds.formats import REFUSE, VISUAL, WorldOptions, is_world

if TYPE_CHECKING:
    from sensor_models.scene.schema import Manifest

MANIFEST_NAME = "scene.toml"
INSTALLED = "sensor_fmus_project/scenes"


def scene_folder(name: str) -> Path:
    """The folder of a built-in scene: in the resources of an FMU, or beside the package.

    An installation has them in a folder with the project's name.
    """
    # The package may have moved since it was imported, see ``_places``.
    places = [Path(folder).parent for folder in sensor_models.__path__]
    roots = [place / inner for place in places for inner in ("scenes", INSTALLED)]
    for root in roots:
        if re.fullmatch(r"[A-Za-z0-9_-]+", name) and (root / name / MANIFEST_NAME).is_file():
            return root / name
    known = sorted({file.parent.name for root in roots for file in root.glob(f"*/{MANIFEST_NAME}")})
    reason = f"is no built-in scene, known: {', '.join(known) or 'none'}"
    raise SceneError(f"scene {name!r}", "", f"{reason}; a path ends in .toml or has a separator")


def manifest_path(name_or_path: str | Path) -> Path:
    """The manifest that a name or path stands for."""
    text = os.fspath(name_or_path)
    is_path = isinstance(name_or_path, Path) or any(sign in text for sign in "/\\.")
    path = Path(text) if is_path else scene_folder(text)
    try:
        path = path / MANIFEST_NAME if path.is_dir() else path
        if not path.is_file():
            raise SceneError(path, "", "is no regular file" if path.exists() else "does not exist")
        return path.resolve()
    except (OSError, ValueError, RuntimeError) as error:  # zero bytes, loops of links
        if isinstance(error, SceneError):
            raise
        raise SceneError(repr(text), "", f"is no file name: {error}") from error


def read_manifest(path: Path) -> "Manifest":
    """A checked manifest; the files that it names are not yet read."""
    if is_world(path):
        from sensor_models.scene.worlds.loading import manifest_of
        from sensor_models.scene.worlds.reading import read_world

        return manifest_of(read_world(path, read_limited(path, "", path), WorldOptions()))
    return _checked(path, read_limited(path, "", path, MAX_MANIFEST_BYTES))


def _checked(path: Path, data: bytes) -> "Manifest":
    # The schema takes longer to import than a kept scene takes to load.
    from sensor_models.scene.schema import Manifest
    from sensor_models.scene.tables import validated

    try:
        content = parse_toml(data, path)
    except TomlError as error:
        raise SceneError(path, error.place, error.reason) from error
    manifest: Manifest = validated(Manifest, content, path)
    return manifest


def load_scene(
    name_or_path: str | Path,
    *,
    allow_outside: bool = False,
    geometry: str = VISUAL,
    guesses: Path | None = None,
    unphysical: str = REFUSE,
) -> Scene:
    """The scene of that name, or in that file; ``allow_outside`` lets it use any file.

    ``geometry``, ``guesses`` and ``unphysical`` are for worlds in formats of others: ``visual`` or
    ``collision`` shapes, a file with rules for materials, and what is done with numbers of
    materials that no body has (``refuse``, ``guess``, ``take``).
    """
    path = manifest_path(name_or_path)
    try:
        if is_world(path):
            options = WorldOptions(allow_outside, geometry, guesses, unphysical)
            return _load_world(path, options)
        data = read_limited(path, "", path, MAX_MANIFEST_BYTES)
        scene = kept_scene(path, data, allow_outside)
        return _read_anew(path, data, allow_outside) if scene is None else scene
    except MemoryError as error:
        raise SceneError(path, "", "needs more memory than this process can have") from error


def _load_world(path: Path, options: WorldOptions) -> Scene:
    from sensor_models.scene.worlds.loading import load_world

    return load_world(path, options)


def _read_anew(path: Path, data: bytes, allow_outside: bool) -> Scene:
    """Read the scene of a manifest, and keep it for the next time."""
    from sensor_models.scene.assembly import Assembly

    assembly = Assembly(path, _checked(path, data), allow_outside)
    scene = assembly.scene()
    if not assembly.source.doubtful:
        keep_scene(scene, data, allow_outside, assembly.source.digests)
    return scene


def digest_of(scene: Scene) -> str:
    """Digest of the files that a scene was read from, independent of the place of its folder."""
    digest = hashlib.sha256()
    for file in scene.files:
        data = read_limited(file, "", file)
        name = Path(os.path.relpath(file, scene.files[0].parent)).as_posix().encode()
        digest.update(b"%d:%s %d:" % (len(name), name, len(data)))
        digest.update(data)
    return digest.hexdigest()
