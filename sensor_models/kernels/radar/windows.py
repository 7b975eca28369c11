r"""Windows of a transform, and what a transform makes of a pure tone: the kernel.

With N samples, n' = n - (N - 1) / 2 counted from their middle, and a window of cosines

    w = a0 + a1 cos(2 pi n' / N) + a2 cos(4 pi n' / N)

a tone that lies d cells beside a cell gives there, as a share of its amplitude,

    K(d) = sum w e^(-j 2 pi n' d / N) / sum w = D(d) + sum_m a_m / (2 a0) (D(d - m) + D(d + m))
    D(d) = sin(pi d) / (N sin(pi d / N))

which is real, as the window is symmetric about the middle. K(d + N) = -K(d) for an even N.

White noise that goes through the window is, from cell to cell, the same sum over neighbours with
D(d) = 1 where d is 0 and 0 elsewhere: its power per cell grows by the noise bandwidth
e = 1 + sum_m a_m^2 / (2 a0^2).
"""

import math

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.options import INLINE

#: a1 / (2 a0) and a2 / (2 a0) of rectangular, Hann, Hamming and Blackman windows.
TAPS = np.array([[0.0, 0.0], [0.5, 0.0], [0.46 / 1.08, 0.0], [0.5 / 0.84, 0.08 / 0.84]])

#: Cells to either side of a tone that it is added to: what is left out is 47 dB down.
REACH = 4
#: The cells that this is, in whole eights.
WEIGHTS = 16
#: Steps of the table of a kernel in a cell: linear between them, that is 107 dB down.
STEPS = 256


@njit(**INLINE)
def _tone(count: int, delta: float) -> float:
    """The kernel of a rectangular window."""
    slow = math.sin(math.pi * delta / count)
    if abs(slow) < 1e-9:  # a whole number of turns: signs of both sines count
        turns = round(delta / count)
        return -1.0 if (count % 2 == 0) and (turns % 2 != 0) else 1.0
    return math.sin(math.pi * delta) / (count * slow)


@njit(cache=True)
def kernel_at(window: int, count: int, delta: float) -> float:
    """The kernel of a window, so many cells beside a tone."""
    found: float = _tone(count, delta)
    for m in range(2):
        tap = TAPS[window, m]
        if tap != 0.0:
            found += tap * (_tone(count, delta - m - 1) + _tone(count, delta + m + 1))
    return found


@njit(cache=True)
def kernel_table(window: int, count: int) -> NDArray[np.float64]:
    """The kernel at steps of 1 / STEPS cells, from -(REACH + 1) on."""
    table = np.empty(2 * (REACH + 1) * STEPS + 1)
    for step in range(len(table)):
        table[step] = kernel_at(window, count, step / STEPS - (REACH + 1))
    return table


def rows_of(table: NDArray[np.float64]) -> NDArray[np.float32]:
    """The same table, by how far a tone lies beside its nearest cell, from 1/2 below it on.

    Each row has the kernel in that cell and in REACH to either side, then zeros:
    (STEPS + 2, WEIGHTS).
    """
    steps = np.arange(STEPS + 2)[:, np.newaxis] + STEPS // 2
    rows = np.zeros((STEPS + 2, WEIGHTS), np.float32)
    rows[:, : 2 * REACH + 1] = table[steps + STEPS * np.arange(2 * REACH + 1)]
    return rows


@njit(**INLINE)
def from_table(table: NDArray[np.float64], delta: float) -> float:
    """The kernel out of its table, within REACH + 1/2 cells."""
    place = (delta + (REACH + 1)) * STEPS
    step = int(place)
    share = place - step
    value: float = table[step] + share * (table[step + 1] - table[step])
    return value


@njit(cache=True)
def window_of(window: int, count: int) -> NDArray[np.float64]:
    """The window itself, its sum being 1."""
    samples = np.empty(count)
    for n in range(count):
        turn = 2.0 * math.pi * (n - 0.5 * (count - 1)) / count
        w = 1.0 + 2.0 * TAPS[window, 0] * math.cos(turn)
        samples[n] = (w + 2.0 * TAPS[window, 1] * math.cos(2.0 * turn)) / count
    return samples
