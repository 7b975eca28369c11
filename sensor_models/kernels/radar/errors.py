r"""Errors of what a radar reports of its targets, by the stages of the triaxial sensors.

In the order of the signal, u a reading (range, azimuth, elevation or speed) of a target:

    zero offset  u + b
    noise        + s n, a draw for each reading of each target
    drift        + x, a random walk x <- x + K √dt n within ±B, the same for all targets
    codes        rounded to multiples of a step
    limits       max(lo, min(u, hi)), which are codes themselves
    fault        a wave on top, or one reading in the place of all (``math.faults``)

Stages and their source: ``inertial.corruption`` (CORR). A fault acts on the targets that there are;
a mode that holds what was there holds the reading of the nearest target. Which is the nearest is
decided by what is reported without faults.
"""

import math

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.inertial.corruption import (
    TRUNCATED,
    bounded_step,
    clamp,
    round_to_code,
)
from sensor_models.kernels.math import faults as faulty
from sensor_models.kernels.math.philox import normal, uniform

Floats = NDArray[np.float64]

#: Readings of a target: range, azimuth, elevation, speed.
READINGS = 4
#: Layout of the errors of a reading; limits that nothing is limited to are infinite.
BIAS, NOISE, WALK, BOUND, CODE_STEP, ANCHOR, ROUNDING, LOWEST, HIGHEST = range(9)
ERRORS_SIZE = 9
#: Layout of the state: the drift of each reading, then what a fault holds of each.
DRIFTS, SLOTS = 0, READINGS
#: And the instant of the frame before.
BEFORE = READINGS * (1 + faulty.SLOT_SIZE)
STATE_SIZE = BEFORE + 1


@njit(cache=True)
def advance_drifts(
    errors: Floats, state: Floats, key: NDArray[np.uint64], frame: int, dt: float
) -> None:
    """Move the drifts on by ``dt``; they are 0 in frame 0."""
    for reading in range(READINGS):
        own = errors[reading]
        if frame == 0:
            state[DRIFTS + reading] = 0.0
        elif own[WALK] > 0.0:
            spread, centred = own[WALK] * math.sqrt(dt), uniform(key, frame, reading) - 0.5
            state[DRIFTS + reading] = bounded_step(
                TRUNCATED, state[DRIFTS + reading], spread, centred, -own[BOUND], own[BOUND]
            )


@njit(cache=True)
def _spoil(
    errors: Floats, state: Floats, key: NDArray[np.uint64], frame: int, readings: Floats
) -> int:
    """Put all errors but faults on readings; the row of the nearest target, -1 for none."""
    nearest = -1
    for row in range(len(readings)):
        for reading in range(READINGS):
            own, value = errors[reading], readings[row, reading]
            offset = own[BIAS] + state[DRIFTS + reading]
            if own[NOISE] > 0.0:
                offset += own[NOISE] * normal(key, frame, READINGS * row + reading)
            if offset != 0.0:  # no error keeps the bits, of -0 as well
                value += offset
            value = round_to_code(value, own[CODE_STEP], own[ANCHOR], int(own[ROUNDING]))
            readings[row, reading] = clamp(value, own[LOWEST], own[HIGHEST])
        if nearest < 0 or readings[row, 0] < readings[nearest, 0]:
            nearest = row
    return nearest


@njit(cache=True)
def _stick(
    errors: Floats, state: Floats, faults: Floats, time: float, nearest: int, readings: Floats
) -> None:
    """Put faults on readings."""
    for reading in range(READINGS):
        own, place = errors[reading], SLOTS + faulty.SLOT_SIZE * reading
        fault, held = faults[reading], state[place : place + faulty.SLOT_SIZE]
        if nearest < 0 and fault[faulty.MODE] != faulty.MODE_PRESENT:
            held[:] = 0.0
        for k in range(-1, len(readings)):  # the nearest first, whose reading may be held
            row = nearest if k < 0 else k
            if row >= 0 and k != nearest:
                value = readings[row, reading]
                readings[row, reading] = faulty.apply(
                    fault, held, value, time, own[LOWEST], own[HIGHEST]
                )


@njit(cache=True)
def corrupt(
    errors: Floats,
    state: Floats,
    keys: NDArray[np.uint64],
    faults: Floats,
    frame: int,
    time: float,
    readings: Floats,
) -> int:
    """Put errors and faults on the readings of a frame's targets; the nearest one's row, or -1.

    Args:
        errors: of each reading, (READINGS, ERRORS_SIZE).
        state: what is remembered between frames, of STATE_SIZE.
        keys: of the noise and of the drift.
        faults: on each reading, (READINGS, faults.FAULT_SIZE).
        frame: number of the frame.
        time: instant of the frame.
        readings: of each target, (targets, READINGS), changed in place.
    """
    advance_drifts(errors, state, keys[1], frame, max(time - state[BEFORE], 0.0))
    state[BEFORE] = time
    nearest = _spoil(errors, state, keys[0], frame, readings)
    _stick(errors, state, faults, time, nearest, readings)
    return nearest
