"""Where the peaks in the cube of a radar lie between the directions of its grid.

A scatterer in the direction u = sin(azimuth) cos(elevation), w = sin(elevation) makes in a channel

    e^(-2 pi j (y u + z w) + 2 pi j d t)

y and z being the place of the virtual antenna in wavelengths, d the cell of Doppler and t by how
many turns one of these goes on until the transmitter of the channel fires. Looking in a direction
is the sum over the channels, times their weights and the conjugate of that.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.turns import cosine_and_sine
from sensor_models.kernels.radar.windows import kernel_at

Floats = NDArray[np.float64]
Channels = NDArray[np.complex64]

#: Rounds of the search, each of which goes on or halves its steps.
ROUNDS = 24
#: What rounding may add to the length of a direction.
ROUNDING = 1e-12


class Array(NamedTuple):
    """The channels of a radar."""

    places: Floats  # (channels, 2): y and z in wavelengths
    weights: Floats  # of the sum 1
    turns: Floats  # for each cell of Doppler


@njit(cache=True)
def look_at(array: Array, channels: Channels, u: float, w: float, doppler: float) -> float:
    """The amplitude that is seen in a direction."""
    re = im = 0.0
    for channel in range(len(array.weights)):
        turns = array.places[channel, 0] * u + array.places[channel, 1] * w
        c, s = cosine_and_sine(turns - array.turns[channel] * doppler)
        x, y = channels[channel].real, channels[channel].imag
        re += array.weights[channel] * (x * c - y * s)
        im += array.weights[channel] * (x * s + y * c)
    return math.hypot(re, im)


@njit(cache=True)
def steer(
    array: Array,
    channels: Channels,
    start: tuple[float, float],
    steps: tuple[float, float],
    doppler: float,
) -> tuple[float, float]:
    """The direction of the highest power near one, by ever smaller steps."""
    u, w = start
    wide, high = 0.5 * steps[0], 0.5 * steps[1]
    for _ in range(ROUNDS):
        best, to_u, to_w = -1.0, u, w
        for move in range(9):
            left, up = move % 3 - 1, move // 3 - 1
            if (wide == 0.0 and left != 0) or (high == 0.0 and up != 0):
                continue  # the same direction once more
            a, b = u + left * wide, w + up * high
            if a * a + b * b > 1.0 + ROUNDING:
                continue
            found = look_at(array, channels, a, b, doppler)
            if found > best:
                best, to_u, to_w = found, a, b
        if to_u == u and to_w == w:
            wide, high = 0.5 * wide, 0.5 * high
        u, w = to_u, to_w
    return u, w


@njit(cache=True)
def side_lobes(
    array: Array,
    peaks: Floats,
    cells: tuple[float, float],
    direction: tuple[float, float],
    windows: tuple[int, int],
    counts: tuple[int, int],
) -> float:
    """The amplitude that peaks make together in a cell and a direction, at the most.

    ``peaks`` are (n, 5): cells of range and Doppler, u, w, power.
    """
    made = 0.0
    for peak in peaks:
        along = kernel_at(windows[0], counts[0], cells[0] - peak[0])
        over = kernel_at(windows[1], counts[1], cells[1] - peak[1])
        re = im = 0.0
        for channel in range(len(array.weights)):
            y, z = array.places[channel, 0], array.places[channel, 1]
            turns = y * (direction[0] - peak[2]) + z * (direction[1] - peak[3])
            c, s = cosine_and_sine(turns)
            re += array.weights[channel] * c
            im += array.weights[channel] * s
        made += math.sqrt(peak[4]) * abs(along * over) * math.hypot(re, im)
    return made
