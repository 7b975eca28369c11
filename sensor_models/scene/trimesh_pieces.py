"""Reading of mesh files by trimesh, which only this module imports, as that takes 0.15 to 0.3 s.

Files are read without trimesh's repairs (``process=False``): every triangle of a file becomes one
of the scene, in the file's order.
"""

import io
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from urllib.parse import unquote

import numpy as np
import trimesh

from sensor_models.scene.errors import MeshFileError
from sensor_models.scene.primitives import Piece


def read_by_trimesh(
    data: bytes, kind: str, read_file: Callable[[str], bytes] | None, *, named: bool
) -> list[Piece]:
    """The pieces of a file; ``named`` if its parts are distinguished by names."""
    resolver = None if read_file is None else _Resolver(read_file)
    scene = trimesh.load_scene(io.BytesIO(data), file_type=kind, resolver=resolver, process=False)
    return list(_geometries(scene, named))


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


def _geometries(scene: Any, named: bool) -> Iterator[Piece]:
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
        material = str(getattr(getattr(geometry.visual, "material", None), "name", None) or "")
        names = tuple(dict.fromkeys(n for n in (name, str(node), material) if n))
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
