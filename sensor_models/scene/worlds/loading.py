"""The scene of a world, from the cache if it was read before from the same files."""

from pathlib import Path
from typing import TYPE_CHECKING

from sensor_models.core.toml_files import TomlError
from sensor_models.scene.errors import SceneError
from sensor_models.scene.kept_scenes import keep_scene, kept_scene
from sensor_models.scene.limits import MAX_FILE_BYTES, read_limited
from sensor_models.scene.model import Scene
from sensor_models.scene.worlds.formats import MUJOCO, USD, WorldOptions
from sensor_models.scene.worlds.xml_files import MAX_BYTES

if TYPE_CHECKING:
    from sensor_models.scene.schema import Manifest
    from sensor_models.scene.worlds.world import World


def load_world(path: Path, options: WorldOptions) -> Scene:
    """The scene of a world."""
    most = MAX_BYTES if path.suffix.lower() in MUJOCO else MAX_FILE_BYTES
    data = read_limited(path, "", path, most)
    key = _key(path, data, options)
    # what the world may name was checked when it was read, against a folder that may be wider
    scene = kept_scene(path, key, True)
    return _read_anew(path, data, key, options) if scene is None else scene


def _read_anew(path: Path, data: bytes, key: bytes, options: WorldOptions) -> Scene:
    scene, world = scene_of(path, data, options)
    keep_scene(scene, key, True, world.digests)
    return scene


def scene_of(path: Path, data: bytes, options: WorldOptions) -> "tuple[Scene, World]":
    """A world that is read, and its scene."""
    from sensor_models.scene.assembly import Assembly
    from sensor_models.scene.worlds.reading import read_world

    world = read_world(path, data, options)
    assembly = Assembly(path, manifest_of(world), options.allow_outside)
    assembly.source.made, assembly.source.made_brdfs = world.meshes, world.brdfs
    assembly.source.files += world.files
    return assembly.scene(), world


def manifest_of(world: "World") -> "Manifest":
    """The manifest that stands for a world."""
    from sensor_models.scene.schema import Manifest
    from sensor_models.scene.tables import validated

    manifest: Manifest = validated(Manifest, world.content, world.path)
    return manifest


def _key(path: Path, data: bytes, options: WorldOptions) -> bytes:
    """What decides, besides the files that a world names, what is read."""
    from importlib import metadata

    from sensor_models.scene.worlds.rules import rules_data

    try:
        rules = rules_data(path, options)
    except TomlError as error:
        raise SceneError(error.file, error.place, error.reason) from error
    try:
        reader = metadata.version("usd-core" if path.suffix.lower() in USD else "mujoco")
    except metadata.PackageNotFoundError:  # a standalone FMU, or one beside a smaller environment
        reader = ""
    choices = f"{options.allow_outside} {options.geometry} {options.unphysical}"
    about = f"{path.suffix} {path.stem} {choices} {reader}"
    return b"\0".join((about.encode(), rules, data))
