"""Noise of a receiver in the cells of a radar's cube.

White complex noise that goes through windows and transforms is, in the cells, white noise of one
draw for each cell, summed over neighbours with the weights of the windows (``windows``): so it is
drawn there. Beyond the ends the draws go on as the kernel does: with the other sign if there is an
even number of cells.
"""

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.philox import normals
from sensor_models.kernels.radar.windows import TAPS
from sensor_models.kernels.tracing.rays import claim
from sensor_models.kernels.tracing.scene_view import SceneView

#: Rows that a thread makes at once, and how far the weights reach.
ROWS, TAP_REACH = 16, 2


@njit(cache=True)
def _weights(window: int) -> NDArray[np.float64]:
    """The weights of the neighbours of a cell."""
    a, b = TAPS[window, 0], TAPS[window, 1]
    return np.array([b, a, 1.0, a, b])


@njit(nogil=True, cache=True)
def add_noise(
    _view: SceneView,
    claims: NDArray[np.int64],
    key: NDArray[np.uint64],
    frame: int,
    sigma: float,
    windows: tuple[int, int],
    cube: NDArray[np.complex128],
    out: NDArray[np.complex64],
) -> None:
    """Write a cube (range, Doppler, channel) with noise added.

    ``sigma`` is the standard deviation of real and imaginary part of a draw.
    """
    samples, chirps, channels = cube.shape
    along, over, size = _weights(windows[0]), _weights(windows[1]), chirps * channels
    drawn = np.empty((ROWS + 2 * TAP_REACH, size + 1), np.complex128)
    mixed, sums = np.empty(size, np.complex128), np.empty(channels, np.complex128)
    chunk = claim(claims)
    while chunk * ROWS < samples:
        first = chunk * ROWS
        count = min(ROWS, samples - first)
        for row in range(count + 2 * TAP_REACH):
            cell = first + row - TAP_REACH
            inside = cell % samples
            sign = -sigma if (cell != inside and samples % 2 == 0) else sigma
            for pair in range((size + 1) // 2):
                a, b, c, d = normals(key, frame, inside * size + pair)
                drawn[row, 2 * pair] = complex(sign * a, sign * b)
                drawn[row, 2 * pair + 1] = complex(sign * c, sign * d)
        for row in range(count):
            mixed[:] = 0.0
            for step in range(5):
                if along[step] != 0.0:
                    for k in range(size):
                        mixed[k] += along[step] * drawn[row + step, k]
            for chirp in range(chirps):
                sums[:] = cube[first + row, chirp]
                for step in range(5):
                    if over[step] != 0.0:
                        other = chirp + step - TAP_REACH
                        inside = other % chirps
                        outside = other != inside and chirps % 2 == 0
                        factor = -over[step] if outside else over[step]
                        for channel in range(channels):
                            sums[channel] += factor * mixed[inside * channels + channel]
                for channel in range(channels):
                    out[first + row, chirp, channel] = sums[channel]
        chunk = claim(claims)
