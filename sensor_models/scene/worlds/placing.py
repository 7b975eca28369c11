"""Instances of meshes by matrices: as a pose with a scale where that is possible."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.scene.errors import MeshFileError
from sensor_models.scene.primitives import Piece

Floats = NDArray[np.float64]

#: How far axes may be from right angles to count as such.
_SQUARE = 1e-9
_NEARLY_SQUARE = 1e-3


def placed(piece: Piece, matrix: Floats, still: float = 0.0) -> tuple[dict[str, Any], Piece]:
    """The entries of an instance, and its mesh.

    A matrix that turns, scales along the axes of the mesh and shifts becomes a pose with a scale
    for the mesh itself. Any other one, which shears or mirrors, goes into a mesh of its own.
    Matrices of single precision are never quite square: those count as turns that move no point of
    the mesh farther than ``still``, in m.
    """
    if not np.isfinite(matrix).all():
        raise MeshFileError("places a mesh by numbers that are not finite")
    inner = matrix[:3, :3]
    scale = np.sqrt((inner**2).sum(axis=0))
    turn = inner / np.where(scale > 0.0, scale, 1.0)
    askew = np.abs(turn.T @ turn - np.eye(3)).max()
    square = askew < _SQUARE
    if not square and askew < _NEARLY_SQUARE and still > 0.0:
        left, _, right = np.linalg.svd(turn)
        nearest = left @ right
        reach = np.abs(piece.vertices).max(axis=0, initial=0.0) @ (scale * np.ones(3))
        square = bool(np.abs(nearest - turn).max() * reach <= still)
        turn = nearest if square else turn
    if square and np.linalg.det(turn) > 0.0 and scale.max() <= 1e6 and scale.min() >= 1e-9:
        pose = {"position": matrix[:3, 3].tolist(), "orientation": quaternion_of(turn)}
        # rounding of a turn is no scale
        if np.abs(scale - 1.0).max() > 1e-12:
            pose["scale"] = scale.tolist()
        return pose, piece
    vertices = piece.vertices @ inner.T + matrix[:3, 3]
    faces = piece.faces[:, [0, 2, 1]] if np.linalg.det(inner) < 0.0 else piece.faces
    return {}, Piece(vertices + 0.0, faces)


def quaternion_of(turn: Floats) -> list[float]:
    """The unit quaternion w, x, y, z of a rotation matrix (Shepperd, 1978)."""
    trace = float(np.trace(turn))
    squares = np.array([trace, *np.diag(turn)])
    largest = int(np.argmax(squares))
    if largest == 0:
        parts = [
            1.0 + trace,
            turn[2, 1] - turn[1, 2],
            turn[0, 2] - turn[2, 0],
            turn[1, 0] - turn[0, 1],
        ]
    else:
        i = largest - 1
        j, k = (i + 1) % 3, (i + 2) % 3
        parts = [0.0] * 4
        parts[0] = turn[k, j] - turn[j, k]
        parts[1 + i] = 1.0 + turn[i, i] - turn[j, j] - turn[k, k]
        parts[1 + j] = turn[i, j] + turn[j, i]
        parts[1 + k] = turn[i, k] + turn[k, i]
    length = float(np.linalg.norm(parts))
    return [float(part) / length for part in parts]
