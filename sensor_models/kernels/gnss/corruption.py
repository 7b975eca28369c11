r"""Errors of what a receiver reports, by the stages of the other scalar sensors (CORR).

In signal order, for latitude, longitude, height, and velocity along east, north and up:

    zero offset   the position moves by b_p along east, north and up there; the velocity is v + b_v
    codes         ``kernels.inertial.corruption``
    limits        max(lo, min(x, hi))

These stages act on the reading alone, after the receiver: its filters, a height that a 2D fix
holds, pseudoranges and accuracies know nothing of them. Offsets are there whatever the mode of the
errors is, also while a reading holds for lack of a fix. Limits of codes are codes, rounded inward
when parameters are packed; a latitude or longitude never leaves its own range by rounding.

A stage that is off leaves the bits of the reading as they are.
"""

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.gnss.geodesy import (
    combine,
    ecef_of_geodetic,
    geodetic_of_ecef,
    local_axes,
)
from sensor_models.kernels.inertial.corruption import clamp, round_to_code
from sensor_models.kernels.math.rotations import plus, store, triple_at
from sensor_models.kernels.options import PLAIN

Floats = NDArray[np.float64]

#: Signals: latitude, longitude, height, velocity along east, north and up.
SIGNALS = 6
#: Layout of the parameters: whether there are offsets, and codes or limits; both offsets; the
#: rounding mode; and for each signal where codes are, and the limits, which are those of faults.
OFFSET, ROUNDED, OFFSETS, ROUNDING_MODE = 0, 1, 2, 8
STEPS, ANCHORS, LOWEST, HIGHEST = (9 + SIGNALS * k for k in range(4))
CORRUPTION_SIZE = 9 + 4 * SIGNALS


@njit(**PLAIN)
def corrupt(errors: Floats, row: Floats) -> None:
    """Put a reading, which begins with the six signals, through all stages."""
    if errors[OFFSET] != 0.0:
        place = plus(
            ecef_of_geodetic(row[0], row[1], row[2]),
            combine(local_axes(row[0], row[1]), triple_at(errors, OFFSETS)),
        )
        store(row, 0, geodetic_of_ecef(place[0], place[1], place[2]))
        store(row, 3, plus(triple_at(row, 3), triple_at(errors, OFFSETS + 3)))
    if errors[ROUNDED] == 0.0:
        return
    mode = int(errors[ROUNDING_MODE])
    for i in range(SIGNALS):
        code = round_to_code(row[i], errors[STEPS + i], errors[ANCHORS + i], mode)
        row[i] = clamp(code, errors[LOWEST + i], errors[HIGHEST + i])


@njit(cache=True)
def corrupt_rows(errors: Floats, rows: Floats) -> None:
    """As ``corrupt``, for many readings, called from outside."""
    for row in rows:
        corrupt(errors, row)
