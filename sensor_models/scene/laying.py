"""Where the faces of a mesh are in their textures.

The texture of a face is the first of these that is given: ``texture`` of its part in the manifest;
that of its own material in the file; ``texture`` of the mesh. A picture of the manifest is laid
onto a face along the axis of the mesh's frame that the face's normal is nearest to, upright on
walls, with its middle at the origin; its rows run along x on what faces up.
"""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sensor_models.scene.primitives import Floats, Piece
from sensor_models.scene.schema import MeshTable, TextureTable

#: For the axes x, y, z that a normal is nearest to: the axis that u runs along.
_ALONG = np.array([1, 0, 0])
#: And whether that is turned by the normal's sign, so that no picture is seen from behind.
_TURNED = np.array([1.0, -1.0, 1.0])


class Pictures(Protocol):
    """What reads the pictures of a manifest."""

    def look(self, table: TextureTable, key: str) -> tuple[int, int, int, int]:
        """The numbers of the pictures of a texture, by ``Use``; -1 for none."""


class Laid(NamedTuple):
    """The pictures of all faces, as a mesh has them; None for none."""

    textures: NDArray[np.int32] | None = None
    maps: NDArray[np.int32] | None = None
    places: NDArray[np.float32] | None = None


def textures_of(
    pieces: list[Piece],
    vertices: Floats,
    faces: NDArray[np.uint32],
    table: MeshTable,
    key: str,
    source: Pictures,
) -> Laid:
    """The pictures of all faces and where these are in them."""
    given = [_given(piece, table, key) for piece in pieces]
    if all(own is None and not _shows(piece) for own, piece in zip(given, pieces, strict=True)):
        return Laid()
    shown = np.full((len(faces), 4), -1, np.int32)
    places = np.zeros((len(faces), 3, 2), np.float32)
    first = 0
    for piece, own in zip(pieces, given, strict=True):
        rows = slice(first, first + len(piece.faces))
        first = rows.stop
        if own is not None:
            shown[rows] = source.look(own[0], own[1])
            places[rows] = _laid(vertices, faces[rows], own[0].size)
        elif _shows(piece) and piece.texture_places is not None:
            known = np.asarray(np.isfinite(piece.texture_places).all(axis=(1, 2)))
            shown[rows] = np.where(known[:, None], [piece.texture, *piece.maps], -1)
            places[rows] = np.where(known[:, None, None], piece.texture_places, 0.0)
    textures, maps = shown[:, 0], shown[:, 1:]
    return Laid(
        np.ascontiguousarray(textures) if textures.max() >= 0 else None,
        np.ascontiguousarray(maps) if maps.max() >= 0 else None,
        places if shown.max() >= 0 else None,
    )


def _shows(piece: Piece) -> bool:
    """Whether the file has pictures for a piece."""
    return max(piece.texture, *piece.maps) >= 0


def _given(piece: Piece, table: MeshTable, key: str) -> tuple[TextureTable, str] | None:
    """The manifest's texture for a piece, and its key."""
    for name in piece.names:
        part = table.parts.get(name)
        if part is not None and part.texture is not None:
            return part.texture, f"{key}.parts.{name}.texture"
    if table.texture is not None and not _shows(piece):
        return table.texture, f"{key}.texture"
    return None


def _laid(
    vertices: Floats, faces: NDArray[np.uint32], size: tuple[float, float]
) -> NDArray[np.float32]:
    """Where the corners of faces are in a picture of some size."""
    corners = np.asarray(vertices, np.float64)[faces]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    axis = np.abs(normal).argmax(axis=1)
    rows = np.arange(len(faces))
    facing: Floats = normal[rows, axis]
    sign = np.where((axis != 2) & (facing < 0.0), -1.0, 1.0) * _TURNED[axis]
    u = 0.5 + corners[rows, :, _ALONG[axis]] * sign[:, None] / size[0]
    up = corners[rows, :, np.where(axis == 2, 1, 2)]
    v = 0.5 - up / size[1]
    whole = np.floor([u.min(axis=1), v.min(axis=1)])  # keeps small what single precision holds
    return np.stack([u - whole[0][:, None], v - whole[1][:, None]], axis=2).astype(np.float32)
