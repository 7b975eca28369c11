"""Makes the meshes of the scene ``radar_range``: ``python -m scenes.radar_range.make``."""

import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Shape = tuple[Floats, NDArray[np.int64]]

SIDE, RADIUS = 0.1, 0.1  # m
#: Parts of the edges of an icosahedron: facets are up to 0.06 mm from the sphere.
PARTS = 24


def make(folder: Path) -> None:
    """Write the meshes into a folder."""
    shapes = {
        "plate": plate(),
        "dihedral": dihedral(),
        "trihedral": trihedral(),
        "sphere": sphere(),
    }
    for name, (vertices, faces) in shapes.items():
        write_ply(folder / f"{name}.ply", vertices, faces)


def write_ply(path: Path, vertices: Floats, faces: NDArray[np.int64]) -> None:
    """A mesh as binary PLY."""
    head = ["ply", "format binary_little_endian 1.0", f"element vertex {len(vertices)}"]
    head += [f"property float {axis}" for axis in "xyz"]
    head += [f"element face {len(faces)}", "property list uchar int vertex_indices", "end_header"]
    rows = np.zeros(len(faces), np.dtype([("count", "u1"), ("corners", "<i4", 3)]))
    rows["count"], rows["corners"] = 3, faces
    text = "\n".join(head) + "\n"
    path.write_bytes(text.encode() + vertices.astype("<f4").tobytes() + rows.tobytes())


def joined(*quads: tuple[Floats, Floats]) -> Shape:
    """Parallelograms from the origin, each by two sides."""
    vertices, faces = [], []
    for number, (one, other) in enumerate(quads):
        vertices += [np.zeros(3), one, one + other, other]
        faces += [[4 * number, 4 * number + 1, 4 * number + 2]]
        faces += [[4 * number, 4 * number + 2, 4 * number + 3]]
    return np.array(vertices), np.array(faces)


def plate() -> Shape:
    """A square that faces -x."""
    vertices, faces = joined((np.array([0, 0, SIDE]), np.array([0, SIDE, 0])))
    return vertices - np.array([0.0, 0.5 * SIDE, 0.5 * SIDE]), faces


def dihedral() -> Shape:
    """Two squares that open toward -x, their seam along z through the origin."""
    s, up = SIDE / math.sqrt(2.0), np.array([0.0, 0.0, SIDE])
    vertices, faces = joined((up, np.array([-s, s, 0.0])), (np.array([-s, -s, 0.0]), up))
    return vertices - np.array([0.0, 0.0, 0.5 * SIDE]), faces


def trihedral() -> Shape:
    """Three right triangles that open toward -x, their corner in the origin."""
    third, half = math.sqrt(1.0 / 3.0), math.sqrt(0.5)
    edges = SIDE * np.array(
        [
            [-third, 0.0, math.sqrt(2.0 / 3.0)],
            [-third, half, -math.sqrt(1.0 / 6.0)],
            [-third, -half, -math.sqrt(1.0 / 6.0)],
        ]
    )
    return np.concatenate([np.zeros((1, 3)), edges]), np.array([[0, 1, 2], [0, 2, 3], [0, 3, 1]])


def sphere() -> Shape:
    """An icosahedron whose faces are divided, brought to the sphere."""
    g = 0.5 * (1.0 + math.sqrt(5.0))
    points = [(s, t * g, 0.0) for t in (1, -1) for s in (-1, 1)]
    points += [(0.0, s, t * g) for t in (1, -1) for s in (-1, 1)]
    points += [(t * g, 0.0, s) for t in (1, -1) for s in (-1, 1)]
    vertices = np.array(points) / math.hypot(1.0, g)
    apart = np.linalg.norm(vertices[:, None] - vertices[None], axis=2)
    near = apart < 1.01 * np.sort(apart[0])[1]
    faces = [
        (a, b, c) if np.linalg.det(vertices[[a, b, c]]) > 0 else (a, c, b)
        for a in range(12)
        for b in range(a + 1, 12)
        for c in range(b + 1, 12)
        if near[a, b] and near[b, c] and near[a, c]
    ]
    soup = np.concatenate([divided(vertices[list(face)]) for face in faces])
    points, places = np.unique(np.round(soup.reshape(-1, 3), 9), axis=0, return_inverse=True)
    return RADIUS * points @ turned().T, places.reshape(-1, 3)


def divided(corners: Floats) -> Floats:
    """A face as PARTS^2 ones on the sphere, (n, 3 corners, 3)."""
    a, b, c = corners
    grid = {
        (i, j): a + (b - a) * (i / PARTS) + (c - a) * (j / PARTS)
        for i in range(PARTS + 1)
        for j in range(PARTS + 1 - i)
    }
    found = []
    for i, j in grid:
        if i + j < PARTS:
            found.append([grid[i, j], grid[i + 1, j], grid[i, j + 1]])
        if i + j < PARTS - 1:
            found.append([grid[i + 1, j], grid[i + 1, j + 1], grid[i, j + 1]])
    points = np.array(found)
    sphere: Floats = points / np.linalg.norm(points, axis=2, keepdims=True)
    return sphere


def turned() -> Floats:
    """A turn that leaves no axis of symmetry toward the radar."""
    turn, _ = np.linalg.qr(np.array([[1.0, 0.3, 0.7], [0.2, 1.0, -0.4], [-0.6, 0.5, 1.0]]))
    matrix: Floats = turn * np.linalg.det(turn)
    return matrix


if __name__ == "__main__":
    make(Path(__file__).parent)
