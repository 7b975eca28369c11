"""Scenes on the command line.

``python -m sensor_models.scene view NAME``    renders a picture of a scene
``python -m sensor_models.scene check FILE``   checks a manifest and prints what is in the scene
``python -m sensor_models.scene schema``       prints the JSON Schema of manifests

NAME and FILE are the name of a built-in scene or the path of a manifest.
"""

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from sensor_models.pictures.view import Camera, extents, render, save_png, whole_scene
from sensor_models.scene.errors import SceneError
from sensor_models.scene.manifest import digest_of, load_scene, manifest_path, read_manifest
from sensor_models.scene.model import (
    NO_LABEL,
    Instance,
    Material,
    Scene,
    wavelength_text,
)
from sensor_models.scene.schema import json_schema

LARGEST_PICTURE = 2**26  # pixels


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0 if it went well."""
    given = _parser().parse_args(_joined(sys.argv[1:] if arguments is None else arguments))
    try:
        for line in given.run(given):
            print(line)
    except (SceneError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def view(given: argparse.Namespace) -> Iterator[str]:
    """Render a picture."""
    scene = load_scene(given.scene, allow_outside=given.allow_outside)
    output = given.output or Path(f"{scene.name}.png")
    picture = render(scene, _camera(given, scene), *given.size)
    save_png(picture, output)
    yield f"{output}: {given.size[0]} x {given.size[1]} pixels, {output.stat().st_size} bytes"


def check(given: argparse.Namespace) -> Iterator[str]:
    """Say what is in a scene."""
    scene = load_scene(given.scene, allow_outside=given.allow_outside)
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
        yield f"body       {body.name} at {_numbers_text(body.position)} m"
    for material in scene.materials:
        yield f"material   {_material_text(material)}"
    for number, medium in enumerate(scene.media):
        where = [volume.instance.name for volume in scene.volumes if volume.medium == number]
        place = "the world" if number == 0 else ", ".join(where) or "nothing"
        yield f"medium     {medium.name}, extinction {medium.absorption:.3g} 1/m, fills {place}"
    yield f"gravity    {_numbers_text(scene.gravity)} m/s2"
    yield f"magnetic   {_numbers_text(scene.magnetic_field)} T"


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
    table = read_manifest(manifest_path(given.scene)).view
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


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m sensor_models.scene", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    known = {}
    for run in (view, check, schema):
        known[run] = commands.add_parser(run.__name__, help=run.__doc__)
        known[run].set_defaults(run=run)
    for run in (view, check):
        known[run].add_argument("scene", help="name of a built-in scene, or path of a manifest")
        known[run].add_argument(
            "--allow-outside", action="store_true", help="let it use files outside of its folder"
        )
    picture = known[view]
    picture.add_argument("--output", type=Path, help="PNG file; default: NAME.png")
    picture.add_argument("--size", type=_size, default=(1280, 720), help="WIDTHxHEIGHT in pixels")
    picture.add_argument("--from", type=_point, dest="position", help="x,y,z of the eye in m")
    picture.add_argument("--at", type=_point, dest="target", help="x,y,z that it looks at in m")
    return parser


if __name__ == "__main__":
    sys.exit(main())
