"""The noise of a thermal camera: normal draws by frame, pixel and band."""

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.philox import normal
from sensor_models.kernels.tracing.rays import claim


@njit(nogil=True, cache=True, error_model="numpy")
def add_noise(
    claims: NDArray[np.int64],
    light: NDArray[np.float32],
    deviation: NDArray[np.float64],
    key: NDArray[np.uint64],
    frame: int,
    columns: int,
) -> None:
    """Add noise to the light of all pixels, (pixels, bands), by the deviation of each band."""
    row, bands = claim(claims), light.shape[1]
    while row * columns < len(light):
        for pixel in range(row * columns, (row + 1) * columns):
            for band in range(bands):
                draw = normal(key, frame, pixel * bands + band)
                light[pixel, band] += deviation[band] * draw
        row = claim(claims)
