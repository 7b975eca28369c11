r"""Errors of a scalar signal of encoder and odometer, by the stages of the triaxial sensors.

In signal order, u the signal:

    zero offset  u + b
    drift        + x, a random walk x <- x + K √dt n within ±B (``kernels.inertial.corruption``)
    limits       max(lo, min(u, hi)), of what is reported

Parameters and state of an error are the last of those of its sensor. The walk begins at 0. Its
draws are those of ``LANE``: the noise of a sample is lane 0 of the same stream.
"""

import math

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.inertial.corruption import TRUNCATED, bounded_step, clamp
from sensor_models.kernels.math.philox import uniform

Floats = NDArray[np.float64]

#: Layout of the parameters. LOWEST and HIGHEST are the limits to faults, too; whether the signal is
#: limited to them is LIMITED.
BIAS, WALK, BOUND, LIMITED, LOWEST, HIGHEST = range(6)
ERRORS_SIZE = 6
#: Layout of the state.
DRIFT = 0
ERROR_STATE_SIZE = 1

LANE = 1


@njit(cache=True)
def advance_errors(
    errors: Floats, state: Floats, key: NDArray[np.uint64], index: int, dt: float
) -> float:
    """Move the drift on by ``dt``, 0 at the start; what offset and drift add to the signal.

    Whoever adds it leaves out 0, so that no error keeps the bits of the signal, of -0 as well.
    """
    if dt == 0.0:
        state[DRIFT] = 0.0
    elif errors[WALK] > 0.0:
        spread = errors[WALK] * math.sqrt(dt)
        centred = uniform(key, index, LANE) - 0.5
        state[DRIFT] = bounded_step(
            TRUNCATED, state[DRIFT], spread, centred, -errors[BOUND], errors[BOUND]
        )
    return float(errors[BIAS] + state[DRIFT])


@njit(cache=True)
def limit(errors: Floats, value: float) -> float:
    """The value within the limits, if there are any."""
    if errors[LIMITED] == 0.0:
        return value
    return float(clamp(value, errors[LOWEST], errors[HIGHEST]))
