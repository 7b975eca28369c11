"""Small scenes that tests write, read and break."""

import struct
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

HEAD = 'format = 1\nname = "test"\n'

#: A box that is seen once.
BOX = """
[meshes.box]
box = { size = [1, 2, 3] }
material = "brick"

[[instances]]
mesh = "box"
"""


def write_manifest(folder: Path, text: str, head: str = HEAD) -> Path:
    """A manifest in a folder."""
    path = folder / "scene.toml"
    path.write_text(head + text, encoding="utf-8")
    return path


def ply(
    vertices: ArrayLike, faces: ArrayLike, *, labels: ArrayLike = (), kinds: ArrayLike = ()
) -> bytes:
    """A PLY in text with labels of vertices and kinds of faces, where they are given."""
    points, corners = np.array(vertices, float), np.array(faces, int)
    labels, kinds = np.array(labels, int), np.array(kinds, int)
    lines = ["ply", "format ascii 1.0", f"element vertex {len(points)}"]
    lines += [f"property float {axis}" for axis in "xyz"]
    lines += ["property int label"] * bool(labels.size)
    lines += [f"element face {len(corners)}", "property list uchar int vertex_indices"]
    lines += ["property int kind"] * bool(kinds.size)
    lines += ["end_header"]
    for number, point in enumerate(points):
        own = f" {labels[number]}" if labels.size else ""
        lines.append(" ".join(map(str, point)) + own)
    for number, face in enumerate(corners):
        own = f" {kinds[number]}" if kinds.size else ""
        lines.append("3 " + " ".join(map(str, face)) + own)
    return ("\n".join(lines) + "\n").encode()


def stl(corners: NDArray[np.float64]) -> bytes:
    """A binary STL of triangles (n, 3, 3)."""
    records = b"".join(
        struct.pack("<12fH", 0, 0, 0, *triangle.astype(float).ravel(), 0) for triangle in corners
    )
    return b"\0" * 80 + struct.pack("<I", len(corners)) + records


def obj(vertices: ArrayLike, groups: dict[tuple[str, str], ArrayLike]) -> bytes:
    """An OBJ whose groups go by (name, material); no library of materials comes with it."""
    lines = ["mtllib missing.mtl"]
    lines += ["v " + " ".join(map(str, point)) for point in np.array(vertices, float)]
    for (group, material), faces in groups.items():
        lines += [f"g {group}", f"usemtl {material}"]
        lines += ["f " + " ".join(str(corner + 1) for corner in face) for face in np.array(faces)]
    return ("\n".join(lines) + "\n").encode()


#: A unit tetrahedron with its right angles at the origin, faces counter-clockwise from outside.
TETRAHEDRON = (
    np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]),
)


def volume(vertices: ArrayLike, faces: ArrayLike) -> float:
    """Signed volume of a closed mesh, by the divergence theorem; positive if faces look out."""
    corners = np.asarray(vertices, float)[np.asarray(faces, int)]
    cross = np.cross(corners[:, 1], corners[:, 2])
    return float(np.einsum("ij,ij->", corners[:, 0], cross) / 6.0)


def area(vertices: ArrayLike, faces: ArrayLike) -> float:
    """Area of a mesh."""
    corners = np.asarray(vertices, float)[np.asarray(faces, int)]
    cross = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    return float(np.linalg.norm(cross, axis=1).sum() / 2.0)
