"""The first manifest of a world of one's own: mesh files as they lie there, to be changed.

Each file becomes a mesh and an instance at the origin, with a label of its name. Materials are
guessed by the names of files and of their parts, as those of worlds are (``guesses``); comments at
the top say how large each file is and what was guessed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sensor_models.scene.errors import MeshFileError, SceneError
from sensor_models.scene.limits import read_limited
from sensor_models.scene.mesh_files import MeshFile, read_mesh
from sensor_models.scene.worlds.guesses import GUESS, Look, Rule, guessed, read_rules
from sensor_models.scene.worlds.world import free
from sensor_models.scene.worlds.writing import toml_lines

#: From this length in m on, a file is likely to be in millimetres.
LARGE = 1000.0


@dataclass(frozen=True)
class _Own:
    """A mesh file with the name that it gets."""

    name: str
    file: str  # relative to the manifest
    read: MeshFile

    @property
    def size(self) -> tuple[float, float, float]:
        """The sides of its box, as the file has its axes."""
        corners = np.concatenate([piece.vertices for piece in self.read.pieces])
        x, y, z = np.ptp(corners, axis=0).tolist()
        return x, y, z


def write_first(files: Sequence[Path], manifest: Path, *, ground: bool = True) -> list[str]:
    """Write a manifest of mesh files; returns what is worth telling.

    Args:
        files: of meshes, in the manifest's folder or below it.
        manifest: which must not be there yet.
        ground: whether a plane is added that all stand on.

    Raises:
        SceneError: if a file cannot be read or lies elsewhere, or the manifest is there.
    """
    if manifest.exists():
        raise SceneError(manifest, "", "is there already, and nothing is written over")
    taken: dict[str, Any] = {}
    owns = []
    for file in files:
        own = _Own(free(file.stem[:90] or "mesh", taken), _inside(file, manifest), _read(file))
        taken[own.name] = own
        owns.append(own)
    content, notes = _content(owns, manifest, ground)
    head = [
        "# Everything here is meant to be changed; all keys: docs/scenes.md, or",
        "# `sensor-fmus scene schema`. `sensor-fmus scene check` and `view` show what is in it.",
        *(f"# {note}" for note in notes),
    ]
    manifest.write_text("\n".join((*head, *toml_lines(content))) + "\n", encoding="utf-8")
    return notes


def _inside(file: Path, manifest: Path) -> str:
    """The path of a file as a manifest may name it."""
    try:
        return file.resolve().relative_to(manifest.parent.resolve()).as_posix()
    except ValueError:
        raise SceneError(
            file, "", f"is not in the folder of the manifest, {manifest.parent.resolve()}; copy it"
            " there, or write the manifest beside it with --output"
        ) from None  # fmt: skip


def _read(file: Path) -> MeshFile:
    try:
        read = read_mesh(
            read_limited(file, "", file),
            file,
            lambda name: read_limited(file.parent / name, "", file.parent / name),
        )
    except MeshFileError as error:
        raise SceneError(file, "", str(error)) from error
    if not any(len(piece.faces) for piece in read.pieces):
        raise SceneError(file, "", "has no faces")
    return read


def _content(
    owns: Sequence[_Own], manifest: Path, ground: bool
) -> tuple[dict[str, Any], list[str]]:
    """The manifest, and what is said at its top."""
    rules, notes = read_rules([]), []
    names = [*(["ground"] if ground else []), *(own.name for own in owns)]
    content: dict[str, Any] = {
        "format": 1,
        "name": (manifest.resolve().parent.name or "world")[:200],
        "labels": {name: number for number, name in enumerate(dict.fromkeys(names), 1)},
        "meshes": {},
        "instances": [],
    }
    for own in owns:
        content["meshes"][own.name], said = _mesh(own, rules)
        notes += said
        content["instances"].append({"mesh": own.name, "label": own.name, "position": [0, 0, 0]})
    if ground:
        plane = free("ground", content["meshes"])
        content["meshes"][plane] = {"plane": {"size": [100, 100]}, "material": "asphalt"}
        content["instances"].append({"mesh": plane, "label": "ground"})
    return content, notes


def _mesh(own: _Own, rules: list[Rule]) -> tuple[dict[str, Any], list[str]]:
    """The table of a mesh, its size, and what was guessed of it."""
    faces = sum(len(piece.faces) for piece in own.read.pieces)
    sides = " x ".join(f"{side:.4g}" for side in own.size)
    notes = [f"{own.file}: {sides} m, {faces} triangles"]
    if max(own.size) >= LARGE:
        notes[0] += "; if these are millimetres, give the mesh scale = 0.001"
    material, source = guessed(Look("", others=(own.name,)), rules)
    notes.append(f"{own.name}: {source.removeprefix(GUESS)} (guessed)")
    table: dict[str, Any] = {"file": own.file, "material": material}
    parts = {}
    for part in _parts(own.read):
        material, source = guessed(Look(part, others=(own.name,)), rules)
        parts[part] = {"material": material}
        notes.append(f"{own.name}, part {part}: {source.removeprefix(GUESS)} (guessed)")
    return {**table, "parts": parts} if parts else table, notes


def _parts(read: MeshFile) -> Iterator[str]:
    """The names by which a manifest can give materials to parts: of materials, else of groups."""
    found = (piece.material or next(iter(piece.names), "") for piece in read.pieces)
    yield from (name for name in dict.fromkeys(found) if name)
