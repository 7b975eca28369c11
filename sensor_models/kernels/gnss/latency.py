r"""Results that come out some time after they were measured, compiled.

    shown in the first step that ends at or after      t_k + latency

A result is a row: values, then number + 1 and instant, as ``kernels.math.stepping`` has them.
Results under way are a ring of rows in the state of the sensor: which row is the first, how many
there are, and the rows. A step may end early by a millionth of the sampling period, because
masters' instants are rounded.
"""

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.options import PLAIN

Floats = NDArray[np.float64]

#: Layout of the ring: the first row, the number of rows, and the rows.
FIRST, COUNT, ROWS = range(3)
#: What a step may end early by, as a share of the sampling period.
QUANTISED = 1e-6
_EPSILON = 2.0**-52


@njit(**PLAIN)
def limit_at(end: float, rate: float) -> float:
    """The latest instant + latency of a result that comes out in a step ending at ``end``."""
    rounding = (QUANTISED / rate if rate > 0.0 else 0.0) + 4.0 * _EPSILON * abs(end)
    return end + rounding


@njit(**PLAIN)
def put(ring: Floats, row: Floats) -> bool:
    """Set a result on its way; False if there is no room for it."""
    size = row.size
    most = (ring.size - ROWS) // size
    count = int(ring[COUNT])
    if count >= most:
        return False
    start = ROWS + (int(ring[FIRST]) + count) % most * size
    for i in range(size):
        ring[start + i] = row[i]
    ring[COUNT] += 1.0
    return True


@njit(**PLAIN)
def is_due(ring: Floats, size: int, latency: float, limit: float) -> bool:
    """Whether the first result on its way has arrived."""
    if ring[COUNT] == 0.0:
        return False
    instant = ring[ROWS + int(ring[FIRST]) * size + size - 1]
    due: bool = instant + latency <= limit
    return due


@njit(**PLAIN)
def take(ring: Floats, row: Floats) -> None:
    """Move the first result on its way into a row."""
    size = row.size
    start = ROWS + int(ring[FIRST]) * size
    for i in range(size):
        row[i] = ring[start + i]
    ring[FIRST] = float((int(ring[FIRST]) + 1) % ((ring.size - ROWS) // size))
    ring[COUNT] -= 1.0
