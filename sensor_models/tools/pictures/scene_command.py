"""Scenes on the command line: ``sensor-fmus scene``, or ``python -m sensor_models.scene``."""

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sensor_models.light.surfaces import bidirectional_reflectance, pack_surface
from sensor_models.scene.errors import SceneError
from sensor_models.scene.limits import read_limited
from sensor_models.scene.manifest import digest_of, load_scene, manifest_path, read_manifest
from sensor_models.scene.materials import material_library
from sensor_models.scene.model import (
    NO_LABEL,
    Body,
    Instance,
    Material,
    Scene,
    SurfaceKind,
    SurfaceParameters,
    wavelength_text,
)
from sensor_models.scene.openmaterial.tables import UNPHYSICAL_NOTE
from sensor_models.scene.openmaterial.writing import MAPPING, write_materials
from sensor_models.scene.schema import json_schema
from sensor_models.scene.worlds.dynamics import write_dynamics
from sensor_models.scene.worlds.formats import (
    COLLISION,
    REFUSE,
    UNPHYSICAL,
    VISUAL,
    WorldOptions,
    is_world,
)
from sensor_models.scene.worlds.guesses import GUESS
from sensor_models.scene.worlds.loading import scene_of
from sensor_models.scene.worlds.reading import read_world
from sensor_models.scene.worlds.starting import write_first
from sensor_models.scene.worlds.writing import write_world
from sensor_models.tools.pictures.guesses import by_guesses, legend_of, with_legend
from sensor_models.tools.pictures.view import Camera, extents, render, save_png, whole_scene

LARGEST_PICTURE = 2**26  # pixels
PROGRAM = "python -m sensor_models.scene"
ABOUT = "First manifests of meshes, pictures and checks of scenes, worlds of others as scenes."
SCENES = (
    "A scene is the name of a built-in one, the path of a manifest, or a world in another format"
    " (docs/worlds.md)."
)
LOOKS, GUESSES = "looks", "guesses"

Floats = NDArray[np.float64]


def main(arguments: Sequence[str] | None = None, program: str = PROGRAM) -> int:
    """Run one command; 0 if it went well."""
    given = _parser(program).parse_args(_joined(sys.argv[1:] if arguments is None else arguments))
    try:
        for line in given.run(given):
            print(line)
    except (SceneError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def view(given: argparse.Namespace) -> Iterator[str]:
    """Render a picture."""
    scene = _loaded(given)
    output = given.output or Path(f"{scene.name}.png")
    shown = scene if given.show == LOOKS else by_guesses(scene)
    picture = render(shown, _camera(given, scene), *given.size)
    if given.show == GUESSES:
        picture = with_legend(picture, legend_of(scene))
    save_png(picture, output)
    yield f"{output}: {given.size[0]} x {given.size[1]} pixels, {output.stat().st_size} bytes"


def check(given: argparse.Namespace) -> Iterator[str]:
    """Say what is in a scene."""
    scene, notes = _loaded_anew(given)
    low, high = extents(scene)
    sizes = [len(mesh.faces) for mesh in scene.meshes]
    traced = sum(sizes[instance.mesh] for instance in scene.instances)
    yield f"{scene.name}: {scene.files[0]}"
    yield f"digest     {digest_of(scene)}"
    for file in scene.files[1:]:
        yield f"file       {file.name}, {file.stat().st_size} bytes"
    yield f"triangles  {sum(sizes)} in {len(sizes)} meshes, {traced} with all instances"
    for axis, a, b in zip("xyz", low, high, strict=True):
        yield f"extent     {axis} from {a:.2f} to {b:.2f} m"
    for instance in scene.instances:
        yield f"entity     {_entity_text(scene, instance, sizes[instance.mesh])}"
    for body in scene.bodies:
        yield f"body       {_body_text(scene, body)}"
    for material in scene.materials:
        yield f"material   {_material_text(material)}"
    for material in scene.materials:
        if material.source.startswith(GUESS):
            yield f"guess      {material.name}: {material.source.removeprefix(GUESS)}"
    for note in notes:
        yield note if note.startswith(UNPHYSICAL_NOTE) else f"not taken  {note}"
    for number, medium in enumerate(scene.media):
        where = [volume.instance.name for volume in scene.volumes if volume.medium == number]
        place = "the world" if number == 0 else ", ".join(where) or "nothing"
        yield f"medium     {medium.name}, extinction {medium.absorption:.3g} 1/m, fills {place}"
    yield f"gravity    {_numbers_text(scene.gravity)} m/s2"
    yield f"magnetic   {_numbers_text(scene.magnetic_field)} T"


def take_over(given: argparse.Namespace) -> Iterator[str]:
    """Write a world of others as a manifest and meshes."""
    path = manifest_path(given.scene)
    if not is_world(path):
        raise SceneError(path, "", "is a manifest already")
    if given.directory.exists() and any(given.directory.iterdir()):
        raise SceneError(given.directory, "", "is not empty, and nothing is written over")
    data = read_limited(path, "", path)
    world = read_world(path, data, _options(given))
    manifest = write_world(world, given.directory)
    write_dynamics(path, data, _options(given), given.directory)
    scene = load_scene(manifest)
    yield f"{manifest}: {len(scene.instances)} entities, {len(scene.bodies)} bodies"
    yield from (f"not taken  {note}" for note in world.notes)


def export_materials(given: argparse.Namespace) -> Iterator[str]:
    """Write the materials of the library as OpenMATERIAL 3D."""
    if given.directory.exists() and any(given.directory.iterdir()):
        raise SceneError(given.directory, "", "is not empty, and nothing is written over")
    library = material_library()
    count = write_materials(library, given.directory, _bidirectional)
    yield f"{given.directory / MAPPING}: {len(library)} materials in {count} files"


def _bidirectional(
    kind: SurfaceKind, numbers: SurfaceParameters, two_way: bool, light: Floats, viewer: Floats
) -> Floats:
    """The bidirectional reflectance of a surface whose normal is z."""
    row = pack_surface(kind, numbers, two_way)
    return bidirectional_reflectance(row, light, viewer, np.array([0.0, 0.0, 1.0]))


def new(given: argparse.Namespace) -> Iterator[str]:
    """Write a first manifest of mesh files, to be changed."""
    notes = write_first(given.meshes, given.output, ground=given.ground)
    scene = load_scene(given.output)
    yield f"{given.output}: {len(scene.instances)} entities"
    yield from notes


def _options(given: argparse.Namespace) -> WorldOptions:
    return WorldOptions(given.allow_outside, given.geometry, given.guesses, given.unphysical)


def _loaded(given: argparse.Namespace) -> Scene:
    return load_scene(
        given.scene,
        allow_outside=given.allow_outside,
        geometry=given.geometry,
        guesses=given.guesses,
        unphysical=given.unphysical,
    )


def _loaded_anew(given: argparse.Namespace) -> tuple[Scene, list[str]]:
    """A scene, and what was not taken of it, which is not kept in the cache."""
    path = manifest_path(given.scene)
    if not is_world(path):
        return _loaded(given), []
    scene, world = scene_of(path, read_limited(path, "", path), _options(given))
    return scene, world.notes


def _body_text(scene: Scene, body: Body) -> str:
    carrier = "" if body.parent < 0 else f", carried by {scene.bodies[body.parent].name}"
    joints = ", ".join(f"{joint.kind} {joint.name}" for joint in body.joints)
    on = f", on {joints}" if joints else ""
    return f"{body.name} at {_numbers_text(body.position)} m{carrier}{on}"


def schema(_: argparse.Namespace) -> Iterator[str]:
    """Give the schema of manifests."""
    yield json_schema().rstrip("\n")


def _entity_text(scene: Scene, instance: Instance, triangles: int) -> str:
    label = "" if instance.label == NO_LABEL else f", {scene.labels[instance.label]}"
    body = "" if instance.body < 0 else f", on {scene.bodies[instance.body].name}"
    return f"{instance.entity_id} {instance.name}{label}{body}, {triangles} triangles"


def _material_text(material: Material) -> str:
    known = ", ".join(
        f"{wavelength_text(low)} to {wavelength_text(high)}" for low, high in material.bands()
    )
    return f"{material.name}, {material.kind.name} from {known}; {material.source}"


def _numbers_text(numbers: Sequence[float]) -> str:
    return ", ".join(f"{number:.6g}" for number in numbers)


def _camera(given: argparse.Namespace, scene: Scene) -> Camera:
    """From the command line, else from the manifest, else one that sees all."""
    path = manifest_path(given.scene)
    table = None if is_world(path) else read_manifest(path).view
    camera = whole_scene(scene)
    if table is not None:
        angle = math.radians(table.field_of_view_deg)
        camera = Camera(table.position, table.target, angle)
    position, target = given.position or camera.position, given.target or camera.target
    if math.dist(position, target) < 1e-6:
        raise SceneError("view", "--at", "is where the view is from, so it has no direction")
    return Camera(position, target, camera.field_of_view)


def _joined(arguments: Sequence[str]) -> list[str]:
    """Arguments with points tied to their options: one that starts with - looks like an option."""
    joined: list[str] = []
    for argument in arguments:
        if joined and joined[-1] in ("--from", "--at"):
            joined[-1] += f"={argument}"
        else:
            joined.append(argument)
    return joined


def _size(text: str) -> tuple[int, int]:
    width, height = (int(part) for part in text.split("x"))
    if width < 1 or height < 1 or width * height > LARGEST_PICTURE:
        raise ValueError(text)
    return width, height


def _point(text: str) -> tuple[float, float, float]:
    x, y, z = (float(part) for part in text.split(","))
    if not all(map(math.isfinite, (x, y, z))):
        raise ValueError(text)
    return x, y, z


def _parser(program: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=program, description=ABOUT, epilog=SCENES)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    known = {}
    for run in (new, view, check, take_over, schema, export_materials):
        name = "import" if run is take_over else run.__name__.replace("_", "-")
        known[run] = commands.add_parser(name, help=run.__doc__)
        known[run].set_defaults(run=run)
    for run in (view, check, take_over):
        known[run].add_argument(
            "scene", help="name of a built-in scene, path of a manifest or of a world"
        )
        known[run].add_argument(
            "--allow-outside", action="store_true", help="let it use files outside of its folder"
        )
        known[run].add_argument(
            "--geometry", choices=(VISUAL, COLLISION), default=VISUAL, help="of a robot"
        )
        known[run].add_argument(
            "--guesses", type=Path, metavar="FILE", help="rules for materials, before all others"
        )
        known[run].add_argument(
            "--unphysical",
            choices=UNPHYSICAL,
            default=REFUSE,
            help="what is done with numbers of OpenMATERIAL that no body has",
        )
    for run in (take_over, export_materials):
        known[run].add_argument("directory", type=Path, help="new, or empty")
    known[new].add_argument(
        "meshes", type=Path, nargs="+", metavar="MESH", help="glb, obj, stl ..."
    )
    known[new].add_argument("--output", type=Path, default=Path("scene.toml"), help="the manifest")
    known[new].add_argument(
        "--no-ground", dest="ground", action="store_false", help="add no plane to stand on"
    )
    picture = known[view]
    picture.add_argument("--output", type=Path, help="PNG file; default: NAME.png")
    picture.add_argument("--size", type=_size, default=(1280, 720), help="WIDTHxHEIGHT in pixels")
    picture.add_argument(
        "--show",
        choices=(LOOKS, GUESSES),
        default=LOOKS,
        help="the looks of materials, or by false colours which of them were guessed",
    )
    picture.add_argument("--from", type=_point, dest="position", help="x,y,z of the eye in m")
    picture.add_argument("--at", type=_point, dest="target", help="x,y,z that it looks at in m")
    return parser


if __name__ == "__main__":
    sys.exit(main())
