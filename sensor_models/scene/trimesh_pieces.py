"""Reading of mesh files by trimesh, which only this module imports, as that takes 0.15 to 0.3 s.

Files are read without trimesh's repairs (``process=False``): every triangle of a file becomes one
of the scene, in the file's order.
"""

import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote

import numpy as np
import trimesh
from numpy.typing import NDArray

from sensor_models.scene.errors import MeshFileError
from sensor_models.scene.gltf_pictures import Look
from sensor_models.scene.gltf_tree import is_split_of, unmarked
from sensor_models.scene.primitives import Piece


def read_by_trimesh(
    data: bytes,
    kind: str,
    read_file: Callable[[str], bytes] | None,
    *,
    named: bool,
    looks: Mapping[int, Look] = MappingProxyType({}),
) -> list[Piece]:
    """The pieces of a file; ``named`` if its parts are distinguished by names.

    ``looks`` are the pictures of its materials by their numbers.
    """
    resolver = None if read_file is None else _Resolver(read_file)
    # Not by load_scene, which there is since 4.6 only: Debian 13 has 4.5.
    scene: Any = trimesh.load(
        io.BytesIO(data), file_type=kind, resolver=resolver, force="scene", process=False
    )
    return list(_geometries(scene, named, looks))


class _Resolver(trimesh.resolvers.Resolver):
    """Gives trimesh the files that a mesh file refers to, and no others."""

    def __init__(self, read_file: Callable[[str], bytes]) -> None:
        self._read_file = read_file

    def get(self, name: str) -> bytes:
        return self._read_file(unquote(name))

    def namespaced(self, _namespace: str) -> "_Resolver":
        return self

    def write(self, name: str, _data: Any) -> None:
        raise MeshFileError(f"{name} cannot be written")

    def keys(self) -> Iterable[str]:
        return ()


def _geometries(scene: Any, named: bool, looks: Mapping[int, Look]) -> Iterator[Piece]:
    """The pieces of a loaded file where its nodes put them, with the names that the file has."""
    for node in sorted(scene.graph.nodes_geometry):  # trimesh gives them in no fixed order
        transform, name = scene.graph[node]
        geometry = scene.geometry[name]
        if not isinstance(geometry, trimesh.Trimesh):
            continue  # points and lines, which no ray hits
        vertices = np.array(geometry.vertices, np.float64) @ transform[:3, :3].T + transform[:3, 3]
        faces = np.array(geometry.faces, np.int64)
        if np.linalg.det(transform[:3, :3]) < 0.0:
            # A mirror image turns faces inside out; the first vertex stays, it may have the label.
            faces = faces[:, [0, 2, 1]]
        given = str(getattr(getattr(geometry.visual, "material", None), "name", None) or "")
        material, number = unmarked(given)
        names = tuple(dict.fromkeys(n for n in (name, _name_of(scene, node), material) if n))
        names = names if named else ()
        properties = _properties(geometry, len(faces))
        look = looks.get(number)
        places = None if look is None else _texture_places(properties, look, faces)
        texture = -1 if look is None or places is None else look.texture
        yield Piece(vertices, faces, names, properties, material, texture, places)


def _texture_places(
    properties: dict[str, Any], look: Look, faces: NDArray[np.int64]
) -> NDArray[np.float32] | None:
    """Where the corners of faces are in their texture, which is no property any more."""
    values = properties.pop(f"vertex._{look.coordinates}", None)
    if values is None or values.ndim != 2 or values.shape[1] != 2:
        return None
    scale = 1.0 / np.iinfo(values.dtype).max if values.dtype.kind == "u" else 1.0
    places = (values.astype(np.float64) * scale).astype(np.float32)
    return places[faces] if bool(np.isfinite(places).all()) else None


def _name_of(scene: Any, node: Any) -> str:
    """The name that the file has for a node; primitives of a mesh are on nodes of our own."""
    above = str(scene.graph.transforms.parents.get(node, ""))
    return above if is_split_of(str(node), above) else str(node)


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
