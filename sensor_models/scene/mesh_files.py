"""Mesh files as pieces: GLB and glTF, OBJ, STL and PLY, read by trimesh.

How many triangles a file has is taken from its header, before anything is built of it. Of glTF
and OBJ only the geometry and the names of groups and materials are used: pictures and other
descriptions of materials are taken out before trimesh sees the file, so they are neither opened
nor needed.
"""

import io
import json
import re
import struct
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import trimesh

from sensor_models.scene.errors import SceneError
from sensor_models.scene.limits import MAX_TRIANGLES
from sensor_models.scene.primitives import Piece

#: Reads a file that a mesh file refers to, by the name given there.
ReadFile = Callable[[str], bytes]

#: Extensions that speak of looks, which are not used.
_IGNORED_EXTENSIONS = re.compile(r"KHR_materials_|KHR_texture_|EXT_texture_|KHR_lights_")


class MeshFileError(ValueError):
    """A mesh file that cannot be used; the message is the reason."""


def read_pieces(data: bytes, file: Path, read_file: ReadFile) -> list[Piece]:
    """The pieces of a mesh file, one for each group and material of it."""
    kind = file.suffix.lower().removeprefix(".")
    if kind not in _READERS:
        raise MeshFileError(f"is none of {', '.join(_READERS)}")
    try:
        return _READERS[kind](data, read_file)
    except (MeshFileError, SceneError):
        raise
    except Exception as error:  # a damaged file can raise anything inside of the reader
        raise MeshFileError(f"cannot be read as {kind}: {error}") from error


def _refuse_above_limit(triangles: int) -> None:
    if triangles > MAX_TRIANGLES:
        raise MeshFileError(f"has {triangles} triangles, a scene may have {MAX_TRIANGLES} in all")


def _read_stl(data: bytes, _: ReadFile) -> list[Piece]:
    count = struct.unpack_from("<I", data, 80)[0] if len(data) >= 84 else 0
    if len(data) != 84 + 50 * count:  # no binary file, unless it is cut off
        count = data.count(b"endfacet")
        if count == 0:
            raise MeshFileError("is neither a whole binary STL nor one in text with triangles")
    _refuse_above_limit(count)
    return list(_geometries(_load(data, "stl"), named=False))


def _read_ply(data: bytes, _: ReadFile) -> list[Piece]:
    header = data[: data.find(b"end_header")]
    elements = re.findall(rb"^element\s+(\w+)\s+(\d+)", header, re.MULTILINE)
    announced = {name: int(count) for name, count in elements}
    most = min(3 * MAX_TRIANGLES, len(data))  # an element takes a byte at the least
    for name, count in announced.items():
        if count > most:
            raise MeshFileError(f"announces {count} of {name.decode()}, a scene has less room")
    pieces = list(_geometries(_load(data, "ply"), named=False))
    faces = sum(len(piece.faces) for piece in pieces)
    if faces < announced.get(b"face", 0):  # more if some are no triangles
        raise MeshFileError(f"is cut off: {announced[b'face']} faces announced, {faces} there")
    return pieces


def _read_obj(data: bytes, _: ReadFile) -> list[Piece]:
    if len(data) > 2 * MAX_TRIANGLES:  # a triangle takes two bytes at the least
        faces = re.finditer(rb"^\s*f\s.*$", data, re.MULTILINE)
        _refuse_above_limit(sum(max(0, len(face.group().split()) - 3) for face in faces))
    # trimesh takes the names of materials from the library file alone, which need not be there.
    names = dict.fromkeys(re.findall(rb"^\s*usemtl\s+(.+?)\s*$", data, re.MULTILINE))
    library = b"".join(b"newmtl %s\nKd 1 1 1\n" % name for name in names)
    data = b"mtllib names.mtl\n" + re.sub(rb"(?m)^\s*mtllib\s.*$", b"", data)
    scene = _load(data, "obj", _Resolver(lambda _: library), split_groups=True)
    return list(_geometries(scene))


def _read_gltf(data: bytes, read_file: ReadFile) -> list[Piece]:
    tree = _plain_tree(json.loads(data))
    return list(_geometries(_load(json.dumps(tree).encode(), "gltf", _Resolver(read_file))))


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
    return list(_geometries(_load(head + content + rest, "glb", _Resolver(read_file))))


_READERS: dict[str, Callable[[bytes, ReadFile], list[Piece]]] = {
    "glb": _read_glb,
    "gltf": _read_gltf,
    "obj": _read_obj,
    "stl": _read_stl,
    "ply": _read_ply,
}


def _plain_tree(tree: Any) -> Any:
    """The JSON of a glTF without looks; refused if it needs what trimesh cannot do."""
    for needed in tree.get("extensionsRequired", []):
        if not _IGNORED_EXTENSIONS.match(needed):
            raise MeshFileError(f"needs the glTF extension {needed}, which is not supported")
    accessors = tree.get("accessors", [])
    if any(accessor["count"] > 3 * MAX_TRIANGLES for accessor in accessors):
        raise MeshFileError("has an accessor with more elements than a scene may have")
    triangles = [_triangles_of(mesh, accessors) for mesh in tree.get("meshes", [])]
    used = (node["mesh"] for node in tree.get("nodes", []) if "mesh" in node)
    _refuse_above_limit(sum(triangles[mesh] for mesh in used))
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


class _Resolver(trimesh.resolvers.Resolver):
    """Gives trimesh the files that a mesh file refers to, and no others."""

    def __init__(self, read_file: ReadFile) -> None:
        self._read_file = read_file

    def get(self, name: str) -> bytes:
        return self._read_file(unquote(name))

    def namespaced(self, _namespace: str) -> "_Resolver":
        return self

    def write(self, name: str, _data: Any) -> None:
        raise MeshFileError(f"{name} cannot be written")

    def keys(self) -> Iterable[str]:
        return ()


def _load(data: bytes, kind: str, resolver: _Resolver | None = None, **known: Any) -> Any:
    return trimesh.load_scene(
        io.BytesIO(data), file_type=kind, resolver=resolver, process=False, **known
    )


def _geometries(scene: Any, named: bool = True) -> Iterator[Piece]:
    """The pieces of a loaded file where its nodes put them, with the names that the file has."""
    for node in sorted(scene.graph.nodes_geometry):  # trimesh gives them in no fixed order
        transform, name = scene.graph[node]
        geometry = scene.geometry[name]
        if not isinstance(geometry, trimesh.Trimesh):
            continue  # points and lines, which no ray hits
        vertices = np.array(geometry.vertices, np.float64) @ transform[:3, :3].T + transform[:3, 3]
        faces = np.array(geometry.faces, np.int64)
        if np.linalg.det(transform[:3, :3]) < 0.0:
            # A mirror image turns inside out; the first vertex stays, which may give the label.
            faces = faces[:, [0, 2, 1]]
        material = str(getattr(getattr(geometry.visual, "material", None), "name", None) or "")
        group = name.removesuffix(f"_{material}")  # of OBJ, where trimesh joins both names
        names = tuple(dict.fromkeys(n for n in (group, name, str(node), material) if n))
        names = names if named else ()
        yield Piece(vertices, faces, names, _properties(geometry, len(faces)), material)


def _properties(geometry: Any, faces: int) -> dict[str, Any]:
    """Numbers that a file has for each vertex (GLB, PLY) or face (PLY)."""
    found: dict[str, Any] = {}
    for name, values in geometry.vertex_attributes.items():
        found[f"vertex.{name}"] = np.asarray(values)
    for element, wanted in (("vertex", len(geometry.vertices)), ("face", faces)):
        data = geometry.metadata.get("_ply_raw", {}).get(element, {}).get("data", {})
        for name in getattr(getattr(data, "dtype", None), "names", None) or data:
            values = np.asarray(data[name])
            if values.shape in ((wanted,), (wanted, 1)) and values.dtype.kind in "iuf":
                found[f"{element}.{name}"] = values.reshape(wanted)
    return found
