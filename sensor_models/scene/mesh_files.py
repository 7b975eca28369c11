"""Mesh files as pieces: GLB and glTF, STL and PLY are read by trimesh, OBJ by ``obj_files``.

The number of triangles is taken from the header of a file, before anything is built from it. Only
the geometry of glTF and the names of its nodes and materials are used: pictures and descriptions of
materials are removed before trimesh gets the file, so they are neither opened nor needed.
"""

import json
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from sensor_models.scene import kept
from sensor_models.scene.errors import MeshFileError, SceneError
from sensor_models.scene.limits import MAX_TRIANGLES, refuse_above_limit
from sensor_models.scene.obj_files import read_obj
from sensor_models.scene.primitives import Piece

#: Reads a file that a mesh file refers to, by the name given there.
ReadFile = Callable[[str], bytes]

#: The most elements of a glTF that stand for zeros: they take no space in the file, but in memory.
MAX_ZEROS = 2**20

#: Extensions about looks, which are not used.
_IGNORED_EXTENSIONS = re.compile(r"KHR_materials_|KHR_texture_|EXT_texture_|KHR_lights_")


def read_pieces(data: bytes, file: Path, read_file: ReadFile) -> list[Piece]:
    """The pieces of a mesh file, one for each group and material of it; kept for the next time."""
    kind = file.suffix.lower().removeprefix(".")
    if kind not in _READERS:
        raise MeshFileError(f"is none of {', '.join(_READERS)}")
    key = kept.key_of(kind, data)
    try:
        found = _kept_pieces(key, read_file)
        return _read_anew(kind, key, data, read_file) if found is None else found
    except (MeshFileError, SceneError):
        raise
    except Exception as error:  # a damaged file can raise anything inside of the reader
        raise MeshFileError(f"cannot be read as {kind}: {error}") from error


def _kept_pieces(key: str, read_file: ReadFile) -> list[Piece] | None:
    """The kept pieces of a file, if the files that it refers to are also the same."""
    found = kept.load("mesh", key)
    if found is None:
        return None
    about, arrays = found
    others = ((kept.digest_of_data(read_file(name)), digest) for name, digest in about["others"])
    if any(there != kept_then for there, kept_then in others):
        return None
    return list(kept.from_description(about["pieces"], arrays, {"Piece": Piece}))


def _read_anew(kind: str, key: str, data: bytes, read_file: ReadFile) -> list[Piece]:
    """Read the pieces of a file, and keep them for the next time."""
    others: list[tuple[str, str]] = []

    def noted(name: str) -> bytes:
        content = read_file(name)
        others.append((name, kept.digest_of_data(content)))
        return content

    pieces = _READERS[kind](data, noted)
    arrays: list[NDArray[Any]] = []
    about = {"others": others, "pieces": kept.description_of(tuple(pieces), arrays)}
    kept.save("mesh", key, about, arrays)
    return pieces


def _read_stl(data: bytes, _: ReadFile) -> list[Piece]:
    count = struct.unpack_from("<I", data, 80)[0] if len(data) >= 84 else 0
    if len(data) != 84 + 50 * count:  # not a binary file, unless it is truncated
        count = data.count(b"endfacet")
        if count == 0:
            raise MeshFileError("is neither a whole binary STL nor one in text with triangles")
    refuse_above_limit(count)
    return _read(data, "stl", named=False)


def _read_ply(data: bytes, _: ReadFile) -> list[Piece]:
    header = data[: data.find(b"end_header")]
    elements = re.findall(rb"^element\s+(\w+)\s+(\d+)", header, re.MULTILINE)
    announced = {name: int(count) for name, count in elements}
    most = min(3 * MAX_TRIANGLES, len(data))  # an element takes at least a byte
    for name, count in announced.items():
        if count > most:
            raise MeshFileError(f"announces {count} of {name.decode()}, a scene has less room")
    pieces = _read(data, "ply", named=False)
    faces = sum(len(piece.faces) for piece in pieces)
    if faces < announced.get(b"face", 0):  # too many if some are not triangles
        raise MeshFileError(f"is cut off: {announced[b'face']} faces announced, {faces} there")
    return pieces


def _read_gltf(data: bytes, read_file: ReadFile) -> list[Piece]:
    tree = _plain_tree(json.loads(data))
    return _read(json.dumps(tree).encode(), "gltf", read_file)


def _read_glb(data: bytes, read_file: ReadFile) -> list[Piece]:
    magic, version, length = struct.unpack_from("<4sII", data)
    if magic != b"glTF" or version != 2 or length > len(data):
        raise MeshFileError("is no whole GLB file of version 2")
    size, kind = struct.unpack_from("<I4s", data, 12)
    if kind != b"JSON":
        raise MeshFileError("does not start with a JSON chunk")
    content = json.dumps(_plain_tree(json.loads(data[20 : 20 + size]))).encode()
    content += b" " * (-len(content) % 4)
    rest = data[20 + size : length]
    head = struct.pack("<4sIII4s", b"glTF", 2, 20 + len(content) + len(rest), len(content), b"JSON")
    return _read(head + content + rest, "glb", read_file)


_READERS: dict[str, Callable[[bytes, ReadFile], list[Piece]]] = {
    "glb": _read_glb,
    "gltf": _read_gltf,
    "obj": lambda data, _: read_obj(data),
    "stl": _read_stl,
    "ply": _read_ply,
}


def _plain_tree(tree: Any) -> Any:
    """The JSON of a glTF without looks; refused if it needs features that trimesh does not have."""
    for needed in tree.get("extensionsRequired", []):
        if not _IGNORED_EXTENSIONS.match(needed):
            raise MeshFileError(f"needs the glTF extension {needed}, which is not supported")
    accessors = tree.get("accessors", [])
    if any(accessor["count"] > 3 * MAX_TRIANGLES for accessor in accessors):
        raise MeshFileError("has an accessor with more elements than a scene may have")
    triangles = [_triangles_of(mesh, accessors) for mesh in tree.get("meshes", [])]
    used = (node["mesh"] for node in tree.get("nodes", []) if "mesh" in node)
    refuse_above_limit(sum(triangles[mesh] for mesh in used))
    zeros = sum(accessor["count"] for accessor in accessors if "bufferView" not in accessor)
    if zeros > MAX_ZEROS:
        raise MeshFileError(f"has {zeros} elements that no buffer holds, at most {MAX_ZEROS}")
    for key in ("images", "textures", "samplers", "animations", "extensionsRequired"):
        tree.pop(key, None)
    for number, material in enumerate(tree.get("materials", [])):
        tree["materials"][number] = {"name": str(material.get("name", ""))}
    return tree


def _triangles_of(mesh: Any, accessors: Any) -> int:
    count = 0
    for primitive in mesh["primitives"]:
        corners = primitive.get("indices", primitive["attributes"]["POSITION"])
        per_triangle = 3 if primitive.get("mode", 4) == 4 else 1
        count += accessors[corners]["count"] // per_triangle
    return count


def _read(
    data: bytes, kind: str, read_file: ReadFile | None = None, *, named: bool = True
) -> list[Piece]:
    """The pieces by trimesh, which is imported here: that takes longer than reading most files."""
    from sensor_models.scene.trimesh_pieces import read_by_trimesh

    return read_by_trimesh(data, kind, read_file, named=named)
