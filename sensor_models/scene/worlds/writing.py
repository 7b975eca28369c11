"""A world as a manifest with meshes: the same scene to the last bit, for editing.

Meshes are binary PLY with double precision.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.scene.openmaterial.writing import brdf_text
from sensor_models.scene.primitives import Piece
from sensor_models.scene.worlds.world import World

MANIFEST = "scene.toml"
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def write_world(world: World, directory: Path) -> Path:
    """Write the files of a world; returns the manifest."""
    for name, piece in world.meshes.items():
        file = directory / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(ply_of(piece))
    for name, brdfs in world.brdfs.items():
        file = directory / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(brdf_text(brdfs, file.stem, f"read from {world.path.name}"), "utf-8")
    directory.mkdir(parents=True, exist_ok=True)
    head = [f"# Read from {world.path.name}.", *(f"# {note}" for note in world.notes), ""]
    manifest = directory / MANIFEST
    text = "\n".join((*head, *toml_lines(world.content)))
    manifest.write_text(text + "\n", encoding="utf-8")
    return manifest


def ply_of(piece: Piece) -> bytes:
    """A mesh as a file."""
    faces: NDArray[Any] = np.empty(
        len(piece.faces), np.dtype([("count", "u1"), ("corners", "<u4", 3)])
    )
    faces["count"], faces["corners"] = 3, piece.faces
    header = [
        *("ply", "format binary_little_endian 1.0", f"element vertex {len(piece.vertices)}"),
        *(f"property double {axis}" for axis in "xyz"),
        *(f"element face {len(faces)}", "property list uchar uint vertex_indices", "end_header"),
    ]
    vertices = np.ascontiguousarray(piece.vertices, "<f8")
    return "\n".join(header).encode() + b"\n" + vertices.tobytes() + faces.tobytes()


def toml_lines(content: Mapping[str, Any]) -> Iterator[str]:
    """A manifest as TOML: a table for each thing that has a name, a line for each of its keys."""
    tables = {}
    for key, value in content.items():
        if isinstance(value, dict) or (isinstance(value, list) and value and _is_table(value[0])):
            tables[key] = value
        elif value != []:
            yield f"{key} = {_text(value)}"
    for key, value in tables.items():
        if isinstance(value, list):
            for item in value:
                yield from ("", f"[[{key}]]")
                yield from (f"{_key(k)} = {_text(v)}" for k, v in item.items())
        elif all(map(_is_table, value.values())):
            for name, item in value.items():
                yield from ("", f"[{key}.{_key(name)}]")
                yield from (f"{_key(k)} = {_text(v)}" for k, v in item.items())
        else:
            yield from ("", f"[{key}]")
            yield from (f"{_key(k)} = {_text(v)}" for k, v in value.items())


def _is_table(value: Any) -> bool:
    return isinstance(value, dict)


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _quoted(name)


def _text(value: Any) -> str:
    """A value; Python's shortest text of a number gives back the same number."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(k)} = {_text(v)}" for k, v in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_text, value)) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return _quoted(value) if isinstance(value, str) else repr(value)


def _quoted(text: str) -> str:
    """A text; what JSON writes is a basic string of TOML, but for one sign."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")
