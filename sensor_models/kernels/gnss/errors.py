r"""Random errors of a receiver: lasting ones, white noise, and detours of hidden satellites.

A series of Gauss and Markov of unit variance and correlation time τ goes on by the time Δt between
two samples with

    x_{k+1} = φ x_k + √(1 - φ²) w,   φ = exp(-Δt / τ),   x_0 = w

so it has its long-run law from the first sample on, and Δt may vary. The draws w are functions of
the sample and of what they are for (``kernels.math.philox``): the lanes of a satellite's draws are
its number, and every series goes on at every sample, whether the satellite is seen or not. What
hides a satellite therefore shifts no noise.

Deviation: MATLAB's ``gpsSensor`` drives with √(2 (1 - φ)), whose spread is √(2 / (1 + φ)) of what
is asked for, √2 too large for white noise.

A hidden satellite is heard with probability p, by a detour b that is exponential with mean m and
correlated over τ. Both come from series of unit variance:

    b = m (x_1² + x_2²) / 2,   of time constant 2 τ        heard: x_3 < the quantile of p

A sum of two squares of normal variables is exponential, exactly, and its correlation is φ² of the
series, which is exp(-Δt / τ). That hearing lasts as well, with time constant τ, is our choice.

A dropout is a loss of all signals for reasons that are not in the scene: interference, a receiver
that starts again. Dropouts come and go at random and forget how long they have lasted: with m the
mean time from the end of one to the beginning of the next and d their mean length,

    P(out at t + Δt) = s + (x - s) exp(-(1 / m + 1 / d) Δt),    s = d / (m + d)

with x = 1 if it is out at t, else 0; at the first sample it is s. So what is seen of them does not
depend on the sampling rate. Dropouts are our choice: they have no source.

Source: Brown and Hwang, "Introduction to Random Signals and Applied Kalman Filtering", 5.3 (exact
sampling of the process).
"""

import math

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.gnss import layout as at
from sensor_models.kernels.gnss.orbits import NUMBER
from sensor_models.kernels.gnss.sky import DETOUR, ERROR, HIDDEN, REFLECTED, STATUS, UP, USED
from sensor_models.kernels.math.normal_law import SHORTEST_TAIL, quantile
from sensor_models.kernels.math.philox import normals, uniform
from sensor_models.kernels.math.rotations import Triple
from sensor_models.kernels.options import PLAIN

Floats = NDArray[np.float64]
Keys = NDArray[np.uint64]


@njit(**PLAIN)
def memory_and_drive(duration: float, time_constant: float) -> tuple[float, float]:
    """φ and √(1 - φ²) of a step in time."""
    exponent = -duration / time_constant
    return math.exp(exponent), math.sqrt(-math.expm1(2.0 * exponent))


@njit(**PLAIN)
def advance_three(
    key: Keys, index: int, started: bool, memory: float, drive: float, series: Floats, place: int
) -> None:
    """Take three series on to a sample."""
    a, b, c, _ = normals(key, index, 0)
    if not started:
        series[place], series[place + 1], series[place + 2] = a, b, c
        return
    series[place] = memory * series[place] + drive * a
    series[place + 1] = memory * series[place + 1] + drive * b
    series[place + 2] = memory * series[place + 2] + drive * c


@njit(**PLAIN)
def three_white(key: Keys, index: int) -> Triple:
    """Three normal draws of a sample."""
    a, b, c, _ = normals(key, index, 0)
    return a, b, c


@njit(**PLAIN)
def advance_ranges(
    parameters: Floats,
    keys: Keys,
    index: int,
    started: bool,
    duration: float,
    orbits: Floats,
    series: Floats,
) -> None:
    """Take the series of all satellites on to a sample."""
    time_constant = parameters[at.TIME_CONSTANT]
    memory, drive = memory_and_drive(duration, time_constant)
    slow, slow_drive = memory_and_drive(duration, 2.0 * time_constant)
    if not started:
        memory, drive, slow, slow_drive = 0.0, 1.0, 0.0, 1.0
    biased = parameters[at.MULTIPATH] == at.BIAS
    for row in range(len(series)):
        lane = int(orbits[row, NUMBER])
        a, _, _, _ = normals(keys[at.RANGE_TERM], index, lane)
        series[row, at.RANGE_SERIES] = memory * series[row, at.RANGE_SERIES] + drive * a
        if biased:
            a, b, c, _ = normals(keys[at.NLOS_TERM], index, lane)
            first, second = series[row, at.FIRST_BIAS], series[row, at.SECOND_BIAS]
            series[row, at.FIRST_BIAS] = slow * first + slow_drive * a
            series[row, at.SECOND_BIAS] = slow * second + slow_drive * b
            series[row, at.HEARD] = memory * series[row, at.HEARD] + drive * c


@njit(**PLAIN)
def hear_hidden(parameters: Floats, series: Floats, sky: Floats) -> None:
    """Use those hidden satellites that are heard, and set their detours."""
    probability = parameters[at.NLOS_PROBABILITY]
    limit = math.inf
    if probability < 1.0:
        centred = max(probability - 0.5, -0.5 + SHORTEST_TAIL)
        limit = quantile(centred) if probability > 0.0 else -math.inf
    for row in range(len(sky)):
        if sky[row, STATUS] == HIDDEN and series[row, at.HEARD] < limit:
            first, second = series[row, at.FIRST_BIAS], series[row, at.SECOND_BIAS]
            sky[row, STATUS] = REFLECTED
            sky[row, DETOUR] = 0.5 * parameters[at.NLOS_MEAN] * (first * first + second * second)


@njit(**PLAIN)
def set_range_errors(
    parameters: Floats,
    keys: Keys,
    index: int,
    factor: float,
    orbits: Floats,
    series: Floats,
    sky: Floats,
) -> None:
    """The errors of the ranges to the satellites in use."""
    correlated = factor * parameters[at.RANGE_CORRELATED]
    white = factor * parameters[at.RANGE_WHITE]
    for row in range(len(sky)):
        if sky[row, STATUS] >= USED:
            draw, _, _, _ = normals(keys[at.RANGE_WHITE_TERM], index, int(orbits[row, NUMBER]))
            error = correlated * series[row, at.RANGE_SERIES] + white * draw
            sky[row, ERROR] = error / sky[row, UP]
            if sky[row, STATUS] == REFLECTED:
                sky[row, ERROR] += sky[row, DETOUR]


@njit(**PLAIN)
def is_dropped(
    parameters: Floats, keys: Keys, index: int, started: bool, duration: float, state: Floats
) -> bool:
    """Whether there is a dropout at a sample, which becomes a part of the state."""
    between, length = parameters[at.DROPOUT_INTERVAL], parameters[at.DROPOUT_DURATION]
    if between == 0.0:
        return False
    share = length / (between + length)
    if started:
        left = math.exp(-duration * (1.0 / between + 1.0 / length))
        share += (state[at.DROPPED] - share) * left
    dropped: bool = uniform(keys[at.DROPOUT_TERM], index, 0) < share
    state[at.DROPPED] = 1.0 if dropped else 0.0
    return dropped
