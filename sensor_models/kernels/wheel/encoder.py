r"""Encoder: one sample from the position of a joint to position, speed and edges.

Model (AGX, eq. 31-34), in signal order, u the position:

    errors       u + zero offset + drift (``errors``)
    noise        u + N(0, σ²)                                                    (31)
    binning      r ⌊u/r + 1e-9⌋; off for r = 0                                   (32)
    incremental  u - S ⌊(u - lower)/S⌋, S = upper - lower, in [lower, upper)     (33)
    absolute     max(lower, min(u, upper))                                       (34)
    limits       of the reported position (``errors``)
    fault        on the position; what follows is made of the reported value
    speed        at each change Δu / (t - time of the last change), held until the next change,
                 0 after ``speed_timeout`` without one; Δu - S ⌊Δu/S + 1/2⌋ when incremental
    fault        on the speed

The speed is valid from the second change on: the first one has no edge to measure from.
Edges: with the code c = ⌊reported/r + 1e-9⌋ + turns S/r, the count is c less c at the start,
signed, so it is free of drift. It wraps like a 32-bit counter, 2³¹ - 1 is followed by -2³¹.
Channels: code of the reported value modulo 4 is (A, B) = 00, 10, 11, 01, so A leads forward.

Deviations from (33), both for rounding only: where S is a whole number of r, codes are wrapped as
integers, so that a place has the same code in every turn and r ⌊2π/r⌋ is 0, not one rounding
below 2π; and a result outside [lower, upper) is ``lower``.
The time-out is compared with a relative guard of 1e-9, because instants k/rate are rounded.

Time that does not advance: a sample at the start instant replaces the start, later ones leave
everything as it was and report the last reading. A position or instant that is not finite gives a
NaN reading with an invalid speed and leaves the state alone.

Not modelled: the raw quadrature waveform between samples, index pulse, eccentricity.

Everything that changes is one float64 array, so that it can be copied as one.
"""

import math

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.faults import SLOT_SIZE, apply
from sensor_models.kernels.math.philox import normal
from sensor_models.kernels.wheel.errors import (
    ERROR_STATE_SIZE,
    ERRORS_SIZE,
    HIGHEST,
    LOWEST,
    advance_errors,
    limit,
)

Floats = NDArray[np.float64]
Reading = tuple[float, float, bool, int, bool, bool]

#: Layout of the parameters. TOP is the largest legal code; TURN_CODES is S/r (0 for r = 0), and
#: WHOLE_TURN says whether it is a whole number; FIRST_CODE is the number of the lowest code.
LOWER, UPPER, TOP, RESOLUTION, NOISE_RMS, TIMEOUT, INCREMENTAL = range(7)
TURN_CODES, WHOLE_TURN, FIRST_CODE = range(7, 10)
ERRORS = 10
PARAMETERS_SIZE = ERRORS + ERRORS_SIZE

#: Layout of the state. STAGE is one of the three below; POSITION and SPEED_REPORTED are the last
#: outputs, SPEED is the speed before its fault; CHANGES counts to 2 and stays there.
STAGE, TIME, POSITION, SPEED, SPEED_REPORTED, CHANGES, CHANGE_TIME, TURNS, START_CODE = range(9)
POSITION_SLOT = 9
SPEED_SLOT = POSITION_SLOT + SLOT_SIZE
ERROR_STATE = SPEED_SLOT + SLOT_SIZE
STATE_SIZE = ERROR_STATE + ERROR_STATE_SIZE
FRESH, AT_START, RUNNING = 0.0, 1.0, 2.0

#: Share of a code that a quotient may lie below it by rounding: 0.3 is code 3 of 0.1.
GUARD = 1e-9
#: From here on float64 skips whole numbers, and there is no count any more.
EXACT = 2.0**53

SAMPLE_SIGNATURE = (
    "Tuple((float64, float64, boolean, int64, boolean, boolean))"
    "(float64[::1], uint64[::1], float64[::1], float64[::1], float64[::1],"
    " int64, float64, float64)"
)
BATCH_SIGNATURE = (
    "void(float64[::1], uint64[::1], float64[::1], float64[::1], float64[::1],"
    " int64, float64[::1], float64[::1],"
    " float64[::1], float64[::1], boolean[::1], int32[::1], boolean[::1], boolean[::1])"
)


@njit(cache=True)
def code_below(value: float, resolution: float) -> float:
    """Number of the code that ``value`` falls into."""
    return float(np.floor(value / resolution + GUARD))


@njit(cache=True)
def bin_down(value: float, resolution: float) -> float:
    """``value`` rounded down to a code; unchanged for resolution 0."""
    if resolution == 0.0:
        return value
    return float(resolution * code_below(value, resolution))


@njit(cache=True)
def wrap(value: float, lower: float, upper: float) -> float:
    """``value`` less whole turns, in [lower, upper)."""
    span = upper - lower
    wrapped = value - span * np.floor((value - lower) / span)
    return wrapped if lower <= wrapped < upper else lower


@njit(cache=True)
def measure(parameters: Floats, position: float) -> float:
    """Binning and mode: the value that an encoder without fault reports."""
    lower, upper = parameters[LOWER], parameters[UPPER]
    resolution = parameters[RESOLUTION]
    if parameters[INCREMENTAL] == 0.0:
        return float(max(lower, min(bin_down(position, resolution), upper)))
    if parameters[WHOLE_TURN] == 0.0:
        return float(wrap(bin_down(position, resolution), lower, upper))
    code = code_below(position, resolution)
    turn = parameters[TURN_CODES]
    code -= turn * np.floor((code - parameters[FIRST_CODE]) / turn)
    # the lowest code may round to below the limit, and far away codes are not exact
    return float(max(lower, min(resolution * code, parameters[TOP])))


@njit(cache=True)
def unwrapped_code(parameters: Floats, value: float, turns: float) -> float:
    """Number of the code of a reported value, whole turns added; 0 for resolution 0."""
    if parameters[RESOLUTION] == 0.0:
        return 0.0
    codes = value / parameters[RESOLUTION] + turns * parameters[TURN_CODES]
    return float(np.floor(codes + GUARD))


@njit(cache=True)
def count_edges(parameters: Floats, state: Floats) -> int:
    """Signed number of codes passed since the start, as a 32-bit counter shows it."""
    count = unwrapped_code(parameters, state[POSITION], state[TURNS]) - state[START_CODE]
    if not abs(count) < EXACT:
        return 0
    return int(count - 2.0**32 * np.floor((count + 2.0**31) / 2.0**32))


@njit(cache=True)
def read_channels(parameters: Floats, state: Floats) -> tuple[bool, bool]:
    """Channels A and B at the reported value; both off for resolution 0."""
    if parameters[RESOLUTION] == 0.0 or state[STAGE] == FRESH:
        return False, False
    code = code_below(state[POSITION], parameters[RESOLUTION])
    quadrant = code - 4.0 * np.floor(code / 4.0)
    return 1.0 <= quadrant <= 2.0, quadrant >= 2.0


@njit(cache=True)
def read_state(parameters: Floats, state: Floats) -> Reading:
    """The newest reading: all outputs are functions of the state."""
    channel_a, channel_b = read_channels(parameters, state)
    return (
        state[POSITION],
        state[SPEED_REPORTED],
        state[CHANGES] >= 2.0,
        count_edges(parameters, state),
        channel_a,
        channel_b,
    )


@njit(cache=True)
def follow(parameters: Floats, state: Floats, value: float, time: float) -> None:
    """Take over a reported value that has a predecessor: speed, edges and time-out."""
    change = value - state[POSITION]
    if change != 0.0:
        if parameters[INCREMENTAL] != 0.0:
            span = parameters[UPPER] - parameters[LOWER]
            turns = np.floor(change / span + 0.5)
            change -= span * turns
            state[TURNS] -= turns
        if state[CHANGES] > 0.0:
            state[SPEED] = change / (time - state[CHANGE_TIME])
        state[CHANGES] = min(state[CHANGES] + 1.0, 2.0)
        state[CHANGE_TIME] = time
        state[POSITION] = value
    elif time - state[CHANGE_TIME] >= parameters[TIMEOUT] * (1.0 - GUARD):
        state[SPEED] = 0.0


@njit(cache=True)
def advance(
    parameters: Floats,
    key: NDArray[np.uint64],
    state: Floats,
    fault: Floats,
    speed_fault: Floats,
    index: int,
    time: float,
    position: float,
) -> None:
    """Move the state on to a finite sample at a later instant."""
    errors = parameters[ERRORS:PARAMETERS_SIZE]
    dt = 0.0 if state[STAGE] == FRESH else time - state[TIME]
    offset = advance_errors(errors, state[ERROR_STATE:STATE_SIZE], key, index, dt)
    if offset != 0.0:
        position += offset
    if parameters[NOISE_RMS] > 0.0:
        position += parameters[NOISE_RMS] * normal(key, index, 0)
    value = apply(
        fault,
        state[POSITION_SLOT:SPEED_SLOT],
        limit(errors, measure(parameters, position)),
        time,
        errors[LOWEST],
        errors[HIGHEST],
    )
    if state[STAGE] == FRESH:
        state[POSITION] = value
        state[START_CODE] = unwrapped_code(parameters, value, 0.0)
        state[STAGE] = AT_START
    else:
        follow(parameters, state, value, time)
        state[STAGE] = RUNNING
    state[TIME] = time
    # a speed has no limits; the model refuses the modes that need them
    state[SPEED_REPORTED] = apply(
        speed_fault, state[SPEED_SLOT:ERROR_STATE], state[SPEED], time, 0.0, 0.0
    )


@njit(SAMPLE_SIGNATURE, cache=True)
def sample(
    parameters: Floats,
    key: NDArray[np.uint64],
    state: Floats,
    fault: Floats,
    speed_fault: Floats,
    index: int,
    time: float,
    position: float,
) -> Reading:
    """One sample; ``state`` moves on to it."""
    if not (math.isfinite(position) and math.isfinite(time)):
        channel_a, channel_b = read_channels(parameters, state)
        return math.nan, math.nan, False, count_edges(parameters, state), channel_a, channel_b
    if state[STAGE] == AT_START and time <= state[TIME]:
        state[:] = 0.0
    if state[STAGE] == FRESH or time > state[TIME]:
        advance(parameters, key, state, fault, speed_fault, index, time, position)
    reading: Reading = read_state(parameters, state)
    return reading


@njit(BATCH_SIGNATURE, cache=True)
def sample_batch(
    parameters: Floats,
    key: NDArray[np.uint64],
    state: Floats,
    fault: Floats,
    speed_fault: Floats,
    first_index: int,
    times: Floats,
    positions: Floats,
    position_out: Floats,
    speed_out: Floats,
    speed_valid_out: NDArray[np.bool_],
    edge_count_out: NDArray[np.int32],
    channel_a_out: NDArray[np.bool_],
    channel_b_out: NDArray[np.bool_],
) -> None:
    """Samples ``first_index``, ``first_index + 1``, ... into the ``..._out`` arrays."""
    for i in range(len(times)):
        (
            position_out[i],
            speed_out[i],
            speed_valid_out[i],
            edge_count_out[i],
            channel_a_out[i],
            channel_b_out[i],
        ) = sample(
            parameters, key, state, fault, speed_fault, first_index + i, times[i], positions[i]
        )
