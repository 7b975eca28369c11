"""A file as a world, by the reader of its kind."""

from pathlib import Path

from sensor_models.core.toml_files import read_regular
from sensor_models.scene.errors import SceneError
from sensor_models.scene.kept import digest_of_data
from sensor_models.scene.worlds.files import Files
from sensor_models.scene.worlds.formats import GLTF, OPENMATERIAL, USD, WorldOptions
from sensor_models.scene.worlds.gltf import fill_world as fill_from_gltf
from sensor_models.scene.worlds.guesses import read_rules
from sensor_models.scene.worlds.rules import rule_files
from sensor_models.scene.worlds.usd import fill_world as fill_from_usd
from sensor_models.scene.worlds.world import World


def read_world(path: Path, data: bytes, options: WorldOptions) -> World:
    """The world in a file, whose content is given."""
    own = rule_files(path, options)
    world = World(path, path.stem, read_rules(own))
    for file in own:
        if file.parent == path.parent:  # another one is not part of the world
            world.files.append(file)
            world.digests[file] = digest_of_data(read_regular(file))
    try:
        files = Files(path, options.allow_outside)
        if path.suffix.lower() in OPENMATERIAL:
            _read_asset(world, data, files, options)
        else:
            _fill(world, data, files, options)
        world.files += files.paths
        world.digests |= files.digests
    except (SceneError, MemoryError):
        raise
    except Exception as error:  # a damaged file can raise anything inside of a reader
        kind = path.suffix.lower().removeprefix(".")
        raise SceneError(path, "", f"cannot be read as {kind}: {error!r}") from error
    return world


def _fill(world: World, data: bytes, files: Files, options: WorldOptions) -> None:
    """Put the content of a mesh file or a robot into a world, by the reader of its kind."""
    kind = world.path.suffix.lower()
    if kind in GLTF:
        fill_from_gltf(world, data, files)
    elif kind in USD:
        fill_from_usd(world, data, files, options.geometry)
    else:
        _read_mujoco(world, data, files, options)


def _read_asset(world: World, data: bytes, files: Files, options: WorldOptions) -> None:
    """Read an asset of OpenMATERIAL, and the mesh beside it with what the asset knows."""
    from sensor_models.scene.openmaterial.asset import Asset

    asset = Asset(world, data, files, options)
    world.known, path = asset, world.path
    world.path, mesh = asset.mesh()  # which messages name, and files are found from
    try:
        _fill(world, mesh, files, options)
    finally:
        world.path = path
    asset.note_the_rest()


def _read_mujoco(world: World, data: bytes, files: Files, options: WorldOptions) -> None:
    from sensor_models.scene.worlds.mujoco_compiler import compiled
    from sensor_models.scene.worlds.mujoco_model import Model, fill_world
    from sensor_models.scene.worlds.mujoco_source import prepared

    source = prepared(data, files, options)
    arrays = compiled(source.root, source.files)
    model = Model(arrays, is_urdf=source.is_urdf, colors=source.colors)
    world.notes += source.notes
    fill_world(world, model, options.geometry)
