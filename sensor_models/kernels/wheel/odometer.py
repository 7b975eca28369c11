r"""Odometer: one sample from the rotation of a wheel to the distance travelled.

Model (AGX, section 6), in signal order, u the rotation, R the wheel radius, r the
resolution and σ the noise:

    unwrap         u + 2π turns, the smaller way round between two samples (if asked for)
    binning first  d = R r ⌊u/r + 1e-9⌋, then d + N(0, σ²)             [the source's order]
    noise first    d = R r ⌊(u + N(0, σ²)/R)/r + 1e-9⌋
    signed         the reading is d
    absolute       the reading is Σ |change of d|, 0 at the start
    errors         zero offset, drift and limits of the reading (``errors``)
    fault          on the reading

The resolution is an angle, that of the encoder in the wheel; R r is the tick in metres (the
source leaves the unit open). r = 0 leaves the rotation as it is.

With binning first, noise is added after the sum of the absolute changes, so it does not add up.
With noise first it does: each sample's noise is a change of d like any other, and a wheel at rest
gains 2σ/√π a sample on the average where there is no resolution.

Time that does not advance: a sample at the start instant replaces the start, later ones leave
everything as it was and report the last reading. A rotation or instant that is not finite gives a
NaN reading and leaves the state alone.

Not modelled: slip, tyre wear, change of the rolling radius with load and speed.

Everything that changes is one float64 array, so that it can be copied as one.
"""

import math

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.faults import SLOT_SIZE, apply
from sensor_models.kernels.math.philox import normal
from sensor_models.kernels.wheel.encoder import bin_down
from sensor_models.kernels.wheel.errors import (
    ERROR_STATE_SIZE,
    ERRORS_SIZE,
    HIGHEST,
    LOWEST,
    advance_errors,
    limit,
)

Floats = NDArray[np.float64]

#: Layout of the parameters.
WHEEL_RADIUS, RESOLUTION, NOISE_RMS, NOISE_FIRST, ABSOLUTE, UNWRAP = range(6)
ERRORS = 6
PARAMETERS_SIZE = ERRORS + ERRORS_SIZE

#: Layout of the state. STAGE is one of the three below; ROTATION is the last input, DISTANCE is d
#: of it, TRAVELLED the sum of its changes, REPORTED the last output.
STAGE, TIME, ROTATION, TURNS, DISTANCE, TRAVELLED, REPORTED = range(7)
FAULT_SLOT = 7
ERROR_STATE = FAULT_SLOT + SLOT_SIZE
STATE_SIZE = ERROR_STATE + ERROR_STATE_SIZE
FRESH, AT_START, RUNNING = 0.0, 1.0, 2.0

SAMPLE_SIGNATURE = (
    "float64(float64[::1], uint64[::1], float64[::1], float64[::1], int64, float64, float64)"
)
BATCH_SIGNATURE = (
    "void(float64[::1], uint64[::1], float64[::1], float64[::1], int64,"
    " float64[::1], float64[::1], float64[::1])"
)


@njit(cache=True)
def unwrap(state: Floats, rotation: float) -> float:
    """The rotation with its whole turns, counted from one input to the next."""
    if state[STAGE] != FRESH:
        state[TURNS] -= np.floor((rotation - state[ROTATION]) / math.tau + 0.5)
    state[ROTATION] = rotation
    return float(rotation + math.tau * state[TURNS])


@njit(cache=True)
def advance(
    parameters: Floats,
    key: NDArray[np.uint64],
    state: Floats,
    fault: Floats,
    index: int,
    time: float,
    rotation: float,
) -> None:
    """Move the state on to a finite sample at a later instant."""
    errors = parameters[ERRORS:PARAMETERS_SIZE]
    dt = 0.0 if state[STAGE] == FRESH else time - state[TIME]
    if parameters[UNWRAP] != 0.0:
        rotation = unwrap(state, rotation)
    noise = 0.0
    if parameters[NOISE_RMS] > 0.0:
        noise = parameters[NOISE_RMS] * normal(key, index, 0)
    if parameters[NOISE_FIRST] != 0.0:
        rotation += noise / parameters[WHEEL_RADIUS]
        noise = 0.0
    distance = parameters[WHEEL_RADIUS] * bin_down(rotation, parameters[RESOLUTION])

    if state[STAGE] == FRESH:
        state[STAGE] = AT_START
    else:
        state[TRAVELLED] += abs(distance - state[DISTANCE])
        state[STAGE] = RUNNING
    state[DISTANCE] = distance
    state[TIME] = time
    reading = (state[TRAVELLED] if parameters[ABSOLUTE] != 0.0 else distance) + noise
    offset = advance_errors(errors, state[ERROR_STATE:STATE_SIZE], key, index, dt)
    if offset != 0.0:
        reading += offset
    # without limits the model refuses the modes that need them
    state[REPORTED] = apply(
        fault,
        state[FAULT_SLOT:ERROR_STATE],
        limit(errors, reading),
        time,
        errors[LOWEST],
        errors[HIGHEST],
    )


@njit(SAMPLE_SIGNATURE, cache=True)
def sample(
    parameters: Floats,
    key: NDArray[np.uint64],
    state: Floats,
    fault: Floats,
    index: int,
    time: float,
    rotation: float,
) -> float:
    """One sample; ``state`` moves on to it."""
    if not (math.isfinite(rotation) and math.isfinite(time)):
        return math.nan
    if state[STAGE] == AT_START and time <= state[TIME]:
        state[:] = 0.0
    if state[STAGE] == FRESH or time > state[TIME]:
        advance(parameters, key, state, fault, index, time, rotation)
    return float(state[REPORTED])


@njit(BATCH_SIGNATURE, cache=True)
def sample_batch(
    parameters: Floats,
    key: NDArray[np.uint64],
    state: Floats,
    fault: Floats,
    first_index: int,
    times: Floats,
    rotations: Floats,
    distance_out: Floats,
) -> None:
    """Samples ``first_index``, ``first_index + 1``, ... into ``distance_out``."""
    for i in range(len(times)):
        distance_out[i] = sample(
            parameters, key, state, fault, first_index + i, times[i], rotations[i]
        )
