"""Faces by the colours of an assignment texture.

A face with texels of several materials is divided into four at the middles of its edges, and these
again, down to the size of a texel or ``MOST_STEPS`` times; what is left then counts by the texel in
its middle. The parts lie in the plane of the face, so its shape stays as it is.
"""

import io

import numpy as np
from numpy.typing import NDArray

from sensor_models.scene.errors import SceneError
from sensor_models.scene.primitives import Piece
from sensor_models.scene.worlds.files import MAX_PIXELS, Place

Floats = NDArray[np.float64]
Picture = NDArray[np.uint8]

#: How often a face is divided, and how many faces may come of a piece.
MOST_STEPS, MOST_FACES = 7, 2**20
#: Places within a face where its texels are compared: corners, middles of edges, the middle.
_WITHIN = np.array(
    [
        *([0.9, 0.05, 0.05], [0.05, 0.9, 0.05], [0.05, 0.05, 0.9]),
        *([0.475, 0.475, 0.05], [0.475, 0.05, 0.475], [0.05, 0.475, 0.475]),
        [1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0],
    ]
)
#: The corners of the four parts of a face, by its corners and the middles of its edges.
_QUARTERS = np.array([[0, 3, 5], [3, 1, 4], [5, 4, 2], [3, 4, 5]])


def picture_of(data: bytes, place: Place) -> Picture:
    """An assignment texture, (rows, columns, 3)."""
    from PIL import Image

    try:
        with Image.open(io.BytesIO(data)) as picture:
            width, height = picture.size
            if width * height > MAX_PIXELS:
                raise ValueError(f"has {width * height} pixels, at most {MAX_PIXELS} are read")
            return np.asarray(picture.convert("RGB"), np.uint8)
    except Exception as error:  # a damaged file can raise anything inside of the reader
        raise SceneError(place.file, place.place, f"its picture cannot be read: {error}") from error


def nearest_colors(picture: Picture, colors: NDArray[np.uint8]) -> NDArray[np.int32]:
    """The number of the nearest of some colours for each texel, (rows, columns)."""
    shape = picture.shape[:2]
    codes = picture.astype(np.int64) @ np.array([65536, 256, 1])
    known, place = np.unique(codes.ravel(), return_inverse=True)
    parts = np.stack([known >> 16, (known >> 8) & 255, known & 255], axis=1)
    numbers = np.empty(len(parts), np.int32)
    for start in range(0, len(parts), 4096):
        apart = parts[start : start + 4096, np.newaxis] - colors.astype(np.int64)
        numbers[start : start + 4096] = (apart**2).sum(axis=2).argmin(axis=1)
    return numbers[np.asarray(place).reshape(-1)].reshape(shape)


def divided(piece: Piece, places: Floats, numbers: NDArray[np.int32]) -> list[tuple[int, Piece]]:
    """A piece by the numbers of its texels, in rising order of these.

    ``places`` are those of the vertices in the picture: (n, 2), from its upper left corner.
    """
    corners = np.asarray(piece.vertices, float)[piece.faces]
    where = places[piece.faces]
    done: list[tuple[NDArray[np.int32], Floats]] = []
    size = np.array(numbers.shape[::-1], float)
    made = len(corners)
    for step in range(MOST_STEPS + 1):
        found = _texels(numbers, np.einsum("pk,nkc->npc", _WITHIN, where))
        small = (np.ptp(where * size, axis=1) <= 1.0).all(axis=1)
        alike = (found == found[:, :1]).all(axis=1) | small
        alike |= step == MOST_STEPS or made + 3 * int((~alike).sum()) > MOST_FACES
        done.append((found[alike, -1], corners[alike]))
        corners, where = _quartered(corners[~alike]), _quartered(where[~alike])
        made += len(corners) - len(corners) // 4
    labels = np.concatenate([label for label, _ in done])
    faces = np.concatenate([part for _, part in done])
    return [(int(n), _soup(faces[labels == n])) for n in np.unique(labels)]


def _texels(numbers: NDArray[np.int32], where: Floats) -> NDArray[np.int32]:
    """The numbers at some places of a picture that is repeated."""
    rows, columns = numbers.shape
    share = where - np.floor(where)
    column = np.minimum((share[..., 0] * columns).astype(np.int64), columns - 1)
    row = np.minimum((share[..., 1] * rows).astype(np.int64), rows - 1)
    return np.asarray(numbers[row, column])


def _quartered(corners: Floats) -> Floats:
    """Four faces of each."""
    middles = 0.5 * (corners + np.roll(corners, -1, axis=1))
    points = np.concatenate([corners, middles], axis=1)
    return np.asarray(points[:, _QUARTERS].reshape(-1, 3, corners.shape[2]))


def _soup(corners: Floats) -> Piece:
    """Faces with their corners, those at the same place once."""
    points, number = np.unique(corners.reshape(-1, 3), axis=0, return_inverse=True)
    return Piece(points, np.asarray(number).reshape(-1, 3).astype(np.int64))
