"""Single sheets of clear materials as panes: what light enters, it must be able to leave.

Thickness is the way along the normal to the other side, which lies behind the sheet. Each vertex
goes back along the mean of the normals around it, by so much more that the faces are as far apart
as they should be; the edges of the sheet are closed. A body that is closed already stays as it is.
"""

import numpy as np
from numpy.typing import NDArray

from sensor_models.scene.primitives import Piece

#: Vertices are one that are no further apart, as a share of the size of the piece.
_SAME = 1e-9
#: The longest way of a vertex, in thicknesses: at sharp folds of a sheet.
_LONGEST = 3.0


def thickened(piece: Piece, thickness: float) -> Piece:
    """A sheet with its other side and its edges; a closed body as it is."""
    vertices, faces = _joined(piece)
    edges = _open_edges(faces)
    if len(edges) == 0:
        return piece
    corners = vertices[faces]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    area = np.linalg.norm(across, axis=1, keepdims=True)
    normals = across / np.maximum(area, 1e-300)
    mean = np.zeros_like(vertices)
    for k in range(3):
        np.add.at(mean, faces[:, k], across)
    mean /= np.maximum(np.linalg.norm(mean, axis=1, keepdims=True), 1e-300)
    least = np.ones(len(vertices))  # the cosine between the mean and the normals around
    for k in range(3):
        np.minimum.at(least, faces[:, k], (normals * mean[faces[:, k]]).sum(axis=1))
    way = thickness / np.maximum(least, 1.0 / _LONGEST)
    behind = vertices - way[:, np.newaxis] * mean
    count = len(vertices)
    a, b = edges.T
    sides = np.concatenate(
        [np.stack([b, a, a + count], axis=1), np.stack([b, a + count, b + count], axis=1)]
    )
    return Piece(
        np.concatenate([vertices, behind]),
        np.concatenate([faces, faces[:, ::-1] + count, sides]),
    )


def _joined(piece: Piece) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Vertices and faces with each place once, without faces that are lines."""
    size = float(np.ptp(piece.vertices, axis=0).max(initial=0.0)) or 1.0
    keys = np.round(piece.vertices / (_SAME * size)).astype(np.int64)
    _, first, number = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    faces = np.asarray(number).reshape(-1)[piece.faces]
    whole = (faces != np.roll(faces, 1, axis=1)).all(axis=1)
    return np.asarray(piece.vertices[first], float), faces[whole].astype(np.int64)


def _open_edges(faces: NDArray[np.int64]) -> NDArray[np.int64]:
    """The edges that one face has and no other the other way round, in its direction."""
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    count = int(faces.max(initial=0)) + 1
    there, back = edges[:, 0] * count + edges[:, 1], edges[:, 1] * count + edges[:, 0]
    return np.asarray(edges[~np.isin(there, back)])
