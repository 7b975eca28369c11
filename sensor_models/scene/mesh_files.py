"""Mesh files as pieces: GLB, glTF and PLY are read by trimesh, OBJ and STL by code of our own.

What a file asks for is taken from its header, or from the JSON of a glTF (``gltf_tree``), before
anything is built from it. Of glTF the geometry, the names of nodes and materials, and the pictures
of materials are used (``gltf_pictures``). Descriptions of materials are removed before trimesh
gets the file. What pictures are missing or damaged is logged, nothing else depends on them.
"""

import json
import re
import struct
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from numpy.typing import NDArray

from sensor_models.scene import kept
from sensor_models.scene.errors import MeshFileError, SceneError
from sensor_models.scene.gltf_accessors import Accessors
from sensor_models.scene.gltf_clips import pieces_of_clip
from sensor_models.scene.gltf_pictures import GltfPictures
from sensor_models.scene.gltf_tree import check_tree, parsed_tree, plain_tree
from sensor_models.scene.limits import MAX_VERTICES
from sensor_models.scene.model import Texture, Use, Wrap
from sensor_models.scene.obj_files import read_obj
from sensor_models.scene.primitives import Piece
from sensor_models.scene.stl_files import read_stl

#: Reads a file that a mesh file refers to, by the name given there.
ReadFile = Callable[[str], bytes]

#: Pieces, their textures, whether these are all, and what is not used.
_Read = tuple[list[Piece], list[Texture], bool, list[str]]


class MeshFile(NamedTuple):
    """What a file has."""

    pieces: tuple[Piece, ...]  # one for each group and material
    textures: tuple[Texture, ...] = ()  # of the pieces
    whole: bool = True  # no picture was left out that may be there next time
    notes: tuple[str, ...] = ()  # what is not used of it


def read_mesh(data: bytes, file: Path, read_file: ReadFile) -> MeshFile:
    """The content of a mesh file; kept for the next time."""
    kind = file.suffix.lower().removeprefix(".")
    if kind not in _READERS:
        raise MeshFileError(f"is none of {', '.join(_READERS)}")
    key = kept.key_of(kind, data)
    try:
        found = _kept_pieces(key, read_file)
        return _read_anew(kind, key, data, read_file) if found is None else found
    except (MeshFileError, SceneError, MemoryError):
        raise
    except Exception as error:  # a damaged file can raise anything inside of the reader
        raise MeshFileError(f"cannot be read as {kind}: {error}") from error


def read_clip(data: bytes, file: Path, read_file: ReadFile, clip: str, postures: int) -> MeshFile:
    """The content of a glTF whose clip changes its meshes, with ``postures`` shapes, or 0."""
    try:
        text, rest = _chunks(data) if file.suffix.lower() == ".glb" else (data, b"")
        tree, read_once = parsed_tree(text), cache(read_file)
        pictures = GltfPictures(tree, rest, read_once)
        buffers = [pictures.buffer(number) for number in range(len(tree.get("buffers", [])))]
        check_tree(tree, sum(map(len, buffers)))
        accessors = Accessors(tree, buffers)
        pieces = pieces_of_clip(tree, accessors, clip, postures, pictures.looks)
    except (MeshFileError, SceneError, MemoryError):
        raise
    except Exception as error:  # a damaged file can raise anything inside of the reader
        raise MeshFileError(f"cannot be read as glTF: {error!r}") from error
    notes = tuple(pictures.notes)
    return MeshFile(tuple(pieces), tuple(pictures.textures), pictures.whole, notes)


def _kept_pieces(key: str, read_file: ReadFile) -> MeshFile | None:
    """The kept pieces of a file, if the files that it refers to are also the same."""
    found = kept.load("mesh", key)
    if found is None:
        return None
    about, arrays = found
    if not all(_is_as_then(name, digest, read_file) for name, digest in about["others"]):
        return None
    classes = {"Piece": Piece, "Texture": Texture, "Use": Use, "Wrap": Wrap}
    return MeshFile(*kept.from_description(about["content"], arrays, classes))


def _is_as_then(name: str, digest: str, read_file: ReadFile) -> bool:
    """Whether a file that a mesh file refers to has the content that it had.

    One that cannot be read has not; whether the mesh file can do without it, its reader knows.
    """
    try:
        return kept.digest_of_data(read_file(name)) == digest
    except (SceneError, OSError):
        return False


def _read_anew(kind: str, key: str, data: bytes, read_file: ReadFile) -> MeshFile:
    """Read the pieces of a file, and keep them for the next time."""
    others: list[tuple[str, str]] = []

    def noted(name: str) -> bytes:
        content = read_file(name)
        others.append((name, kept.digest_of_data(content)))
        return content

    pieces, textures, whole, notes = _READERS[kind](data, noted)
    found = MeshFile(tuple(pieces), tuple(textures), whole, tuple(notes))
    if not whole:  # next time, the picture may be there; if not, that is told again
        return found
    arrays: list[NDArray[Any]] = []
    about = {"others": others, "content": kept.description_of(tuple(found), arrays)}
    kept.save("mesh", key, about, arrays)
    return found


def _read_ply(data: bytes, _: ReadFile) -> _Read:
    header = data[: data.find(b"end_header")]
    announced: dict[str, int] = {}
    for name, count in re.findall(rb"^[ \t]*element[ \t]+(\S+)[ \t]+(\S+)", header, re.MULTILINE):
        announced[name.decode("utf-8", "replace")] = _announced(name, count, len(data))
    pieces = _read(data, "ply", named=False)[0]
    faces = sum(len(piece.faces) for piece in pieces)
    if faces < announced.get("face", 0):  # too many if some are not triangles
        raise MeshFileError(f"is cut off: {announced['face']} faces announced, {faces} there")
    return pieces, [], True, []


def _announced(name: bytes, count: bytes, size: int) -> int:
    """A count of elements from the header of a PLY; each takes at least a byte."""
    most = min(MAX_VERTICES, size)
    if not count.isdigit() or len(count) > 20 or int(count) > most:
        shown = count[:40].decode("utf-8", "replace")
        what = name[:40].decode("utf-8", "replace")
        raise MeshFileError(f"announces {shown} of {what}, a scene has less room: 0 to {most}")
    return int(count)


def _read_gltf(data: bytes, read_file: ReadFile) -> _Read:
    tree, read_once = parsed_tree(data), cache(read_file)
    pictures = GltfPictures(tree, b"", read_once)
    tree = plain_tree(tree, _stored_bytes(tree, read_once), _laid_by(pictures))
    return _read(json.dumps(tree).encode(), "gltf", read_once, pictures=pictures)


def _laid_by(pictures: GltfPictures) -> dict[int, str]:
    return {number: look.coordinates for number, look in pictures.looks.items()}


def _read_glb(data: bytes, read_file: ReadFile) -> _Read:
    text, binary = _chunks(data)
    rest = data[20 + len(text) : struct.unpack_from("<I", data, 8)[0]]
    tree, read_once = parsed_tree(text), cache(read_file)
    pictures = GltfPictures(tree, binary, read_once)
    stored = len(rest) + _stored_bytes(tree, read_once)
    tree = plain_tree(tree, stored, _laid_by(pictures))
    content = json.dumps(tree).encode()
    content += b" " * (-len(content) % 4)
    head = struct.pack("<4sIII4s", b"glTF", 2, 20 + len(content) + len(rest), len(content), b"JSON")
    return _read(head + content + rest, "glb", read_once, pictures=pictures)


def _chunks(data: bytes) -> tuple[bytes, bytes]:
    """The JSON of a GLB, and its first buffer."""
    magic, version, length = struct.unpack_from("<4sII", data)
    if magic != b"glTF" or version != 2 or length > len(data):
        raise MeshFileError("is no whole GLB file of version 2")
    size, kind = struct.unpack_from("<I4s", data, 12)
    if kind != b"JSON":
        raise MeshFileError("does not start with a JSON chunk")
    return data[20 : 20 + size], data[28 + size : length]  # behind its own length and kind


def _stored_bytes(tree: Any, read_file: ReadFile) -> int:
    """The bytes of all buffers that are texts in the JSON, or files of their own."""
    names = {str(buffer["uri"]) for buffer in tree.get("buffers", []) if "uri" in buffer}
    return sum(
        len(name) if name.startswith("data:") else len(read_file(unquote(name))) for name in names
    )


_READERS: dict[str, Callable[[bytes, ReadFile], _Read]] = {
    "glb": _read_glb,
    "gltf": _read_gltf,
    "obj": read_obj,
    "stl": lambda data, _: (read_stl(data), [], True, []),
    "ply": _read_ply,
}


def _read(
    data: bytes,
    kind: str,
    read_file: ReadFile | None = None,
    *,
    named: bool = True,
    pictures: GltfPictures | None = None,
) -> _Read:
    """The pieces by trimesh, which is imported here: that takes longer than reading most files."""
    from sensor_models.scene.trimesh_pieces import read_by_trimesh

    looks = {} if pictures is None else pictures.looks
    pieces = read_by_trimesh(data, kind, read_file, named=named, looks=looks)
    if pictures is None:
        return pieces, [], True, []
    return pieces, pictures.textures, pictures.whole, pictures.notes
