"""Mosaics of colours before the pixels of a chip."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.camera.ccd.parameters import Bayer

Floats = NDArray[np.float64]

#: Bands of the pixels of a cell, row by row.
CELLS = {
    Bayer.rggb: ((0, 1), (1, 2)),
    Bayer.bggr: ((2, 1), (1, 0)),
    Bayer.grbg: ((1, 0), (2, 1)),
    Bayer.gbrg: ((1, 2), (0, 1)),
}


def demosaiced(raw: NDArray[Any], bayer: Bayer) -> Floats:
    """Three colours for each pixel of a mosaic: its own, and the means of its neighbours'."""
    rows, columns = raw.shape
    cell = np.array(CELLS[bayer])
    band = cell[np.arange(rows)[:, None] & 1, np.arange(columns) & 1]
    image = np.empty((rows, columns, 3))
    for color in range(3):
        own = band == color
        total, weight = _around(np.where(own, raw, 0.0)), _around(own.astype(float))
        image[:, :, color] = np.where(own, raw, total / np.maximum(weight, 1e-9))
    return image


def _around(image: Floats) -> Floats:
    """The sum over neighbours with the weights of a bilinear filter."""
    wide = np.pad(image, 1)
    rows = 0.5 * wide[:-2] + wide[1:-1] + 0.5 * wide[2:]
    return np.asarray(0.5 * rows[:, :-2] + rows[:, 1:-1] + 0.5 * rows[:, 2:])
