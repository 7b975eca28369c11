r"""Noise of any number of states: white or brown, with an offset.

One sample of each state, c a uniform draw on (-1/2, 1/2), n = Φ_N^-1(1/2 + c) the normal draw of
the same word (CORR):

    none          b
    normal        b + σ n                       white
    uniform       b + σ √12 c                   white
    random walk   b + x, x <- x + K √dt n       ``kernels.inertial.corruption``, within bounds
    Gauss-Markov  b + x, x <- Φ x + σ √(1 - Φ²) n

σ is the standard deviation that is delivered, whatever the law. Four states share a block of
random words, so state i draws from lane i // 4 of the sample's counter.
"""

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sensor_models.kernels.inertial.corruption import bounded_step, gauss_markov
from sensor_models.kernels.math.normal_law import quantile
from sensor_models.kernels.math.philox import centred_uniforms

Floats = NDArray[np.float64]

#: Types; ``sensor_models.inertial.noise.NoiseType`` names them to the outside.
NONE, NORMAL, UNIFORM, RANDOM_WALK, GAUSS_MARKOV = range(5)
#: Layout of the parameters of one state.
TYPE, BIAS, STD, WALK, TIME_CONSTANT, BOUND_MIN, BOUND_MAX, BOUND_MODE, STATIONARY = range(9)
PARAMETER_SIZE = 9

ROOT_TWELVE = math.sqrt(12.0)

DRAW_SIGNATURE = "void(uint64[::1], int64, float64[::1])"
ADVANCE_SIGNATURE = "void(float64[:,::1], float64[::1], float64, float64[::1], float64[::1])"


@njit(DRAW_SIGNATURE, cache=True)
def draw(key: NDArray[np.uint64], index: int, draws: Floats) -> None:
    """Fill ``draws`` with uniform draws on (-1/2, 1/2)."""
    for lane in range((draws.size + 3) // 4):
        words = centred_uniforms(key, index, lane)
        for place in range(min(4, draws.size - 4 * lane)):
            draws[4 * lane + place] = words[place]


@njit(cache=True)
def step_drift(parameters: Floats, x: float, dt: float, centred: float) -> float:
    """The drift of a state, ``dt`` after it was ``x``; at its start for dt = 0."""
    if parameters[TYPE] == RANDOM_WALK:
        mean, spread = x, parameters[WALK] * math.sqrt(dt)
    else:
        kept, new = gauss_markov(dt, parameters[TIME_CONSTANT])
        mean, spread = kept * x, new * parameters[STD]
    if dt == 0.0:
        mean, spread = 0.0, parameters[STATIONARY] * parameters[STD]
    return float(
        bounded_step(
            int(parameters[BOUND_MODE]),
            mean,
            spread,
            centred,
            parameters[BOUND_MIN],
            parameters[BOUND_MAX],
        )
    )


@njit(ADVANCE_SIGNATURE, cache=True)
def advance(parameters: Floats, state: Floats, dt: float, draws: Floats, noise: Floats) -> None:
    """One sample of each state into ``noise``; drifts move on in ``state``."""
    for i in range(state.size):
        row = parameters[i]
        kind = int(row[TYPE])
        noise[i] = row[BIAS]
        if kind == NORMAL:
            noise[i] += row[STD] * quantile(draws[i])
        elif kind == UNIFORM:
            noise[i] += row[STD] * ROOT_TWELVE * draws[i]
        elif kind != NONE:
            state[i] = step_drift(row, state[i], dt, draws[i])
            noise[i] += state[i]
