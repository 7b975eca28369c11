r"""Steps of the sensors on wheels and joints in compiled code: encoder and odometer.

``kernels.math.stepping`` says what a step is. The encoder takes the motion of a joint (Hermite
polynomial on position and velocity), the odometer the rotation of a wheel (linear).

A rotation that comes wrapped at a full turn is unwrapped from one known state to the next, before
anything is interpolated between them: between 6.2 rad and 0.1 rad lies the way over 2 pi. A wheel
must turn by less than half a turn between two known states.
"""

import math

from sensor_models.kernels.compiling import cfunc, njit
from sensor_models.kernels.math import stepping as at
from sensor_models.kernels.math.faults import FAULT_SIZE
from sensor_models.kernels.math.motion import interpolate_joint_into, interpolate_linear_into
from sensor_models.kernels.math.sampling import (
    GOES_ON,
    KNOWN_STATES,
    LATEST,
    START,
    stamp_of,
)
from sensor_models.kernels.math.stepping import Due, Floats, Table
from sensor_models.kernels.wheel import encoder, odometer

#: In the table: whether rotations come wrapped.
UNWRAP = at.OWN


@njit(**at.VIEW)
def _stamp(table: Table, index: int, due: Due) -> float:
    clock = at.floats(table, at.CLOCK, at.CLOCK_SIZE)
    rate = at.floats(table, at.SETTINGS, at.SETTINGS_SIZE)[at.RATE]
    return stamp_of(clock[START], rate, index, due[5])


@njit(**at.VIEW, error_model="numpy")
def _motion_at(table: Table, stamp: float, due: Due, is_known: bool, is_joint: bool) -> Floats:
    """The motion at a sample: the known state itself, or between the last two."""
    clock = at.floats(table, at.CLOCK, at.CLOCK_SIZE)
    known = at.rows(table, at.KNOWN, at.KNOWN_ROWS, table[at.TRUTH_SIZE])
    if is_known:
        return known[at.NOW]
    duration = due[5] - clock[LATEST]
    fraction = (stamp - clock[LATEST]) / duration
    sample, before, now = known[at.AT_SAMPLE], known[at.BEFORE], known[at.NOW]
    if is_joint:
        interpolate_joint_into(sample, before, now, duration, fraction)
    else:
        interpolate_linear_into(sample, before, now, duration, fraction)
    return sample


@njit(**at.VIEW)
def _stands_though_it_turns(table: Table, due: Due) -> bool:
    """Whether a joint was at one position in three states whose velocities say that it turns.

    In three, because a position may be late by one step in masters that form it of the velocity.
    """
    clock = at.floats(table, at.CLOCK, at.CLOCK_SIZE)
    if due[1] != GOES_ON or clock[KNOWN_STATES] < 2.0 or due[5] == clock[LATEST]:
        return False
    known = at.rows(table, at.KNOWN, at.KNOWN_ROWS, table[at.TRUTH_SIZE])
    older, before, now = known[at.OLDER], known[at.BEFORE], known[at.NOW]
    stands = now[0] == before[0] and before[0] == older[0]
    return bool(stands and now[1] * before[1] > 0.0 and before[1] * older[1] > 0.0)


@njit(**at.VIEW)
def _fault(held: Floats, number: int) -> Floats:
    return held[number * FAULT_SIZE : (number + 1) * FAULT_SIZE]


@cfunc(at.STEP_SIGNATURE, **at.STEP, error_model="numpy")
def encoder_step(context: int, time: float, duration: float) -> int:
    """One step of an encoder."""
    table = at.table_at(context)
    due = at.begin(table, time, duration)
    if due[0] != at.DONE:
        return due[0]
    if table[at.TOLD_OF_MOTION] >> at.JOINT_STANDS & 1 == 0 and _stands_though_it_turns(table, due):
        return at.warn_once(table, at.JOINT_STANDS)
    parameters = at.floats(table, at.PARAMETERS, encoder.PARAMETERS_SIZE)
    state = at.floats(table, at.STATE, encoder.STATE_SIZE)
    key, row = at.keys(table, 2), at.floats(table, at.ROW, table[at.ROW_SIZE])
    ring_fill = table[at.RING_FILL]
    at.copy_state(table)
    for index in range(due[2], due[3]):
        stamp = _stamp(table, index, due)
        is_known = at.is_known(table, stamp, due)
        held = at.held_at(table, is_known)
        position = _motion_at(table, stamp, due, is_known, True)[0]
        if index == 0:
            state[:] = 0.0
        row[0], row[1], valid, edges, a, b = encoder.sample(
            parameters, key, state, _fault(held, 0), _fault(held, 1), index, stamp, position
        )
        row[2], row[3], row[4], row[5] = valid, edges, a, b
        if not at.report(table, index, stamp):
            at.put_back(table, ring_fill)
            return at.BAD_READING
    return at.finish(table, due, time, duration)


@njit(**at.VIEW)
def _unwrap(table: Table) -> None:
    """Add whole turns to the rotation that is known now, so that it continues the one before."""
    known = at.rows(table, at.KNOWN, at.KNOWN_ROWS, table[at.TRUTH_SIZE])
    if at.floats(table, at.CLOCK, at.CLOCK_SIZE)[KNOWN_STATES] == 0.0:
        return
    turns = math.floor((known[at.NOW, 0] - known[at.BEFORE, 0]) / math.tau + 0.5)
    known[at.NOW, 0] -= math.tau * turns


@cfunc(at.STEP_SIGNATURE, **at.STEP, error_model="numpy")
def odometer_step(context: int, time: float, duration: float) -> int:
    """One step of an odometer."""
    table = at.table_at(context)
    due = at.begin(table, time, duration)
    if due[0] != at.DONE:
        return due[0]
    if table[UNWRAP] != 0:
        _unwrap(table)
    parameters = at.floats(table, at.PARAMETERS, odometer.PARAMETERS_SIZE)
    state = at.floats(table, at.STATE, odometer.STATE_SIZE)
    key, row = at.keys(table, 2), at.floats(table, at.ROW, table[at.ROW_SIZE])
    ring_fill = table[at.RING_FILL]
    at.copy_state(table)
    for index in range(due[2], due[3]):
        stamp = _stamp(table, index, due)
        is_known = at.is_known(table, stamp, due)
        held = at.held_at(table, is_known)
        rotation = _motion_at(table, stamp, due, is_known, False)[0]
        if index == 0:
            state[:] = 0.0
        row[0] = odometer.sample(parameters, key, state, _fault(held, 0), index, stamp, rotation)
        if not at.report(table, index, stamp):
            at.put_back(table, ring_fill)
            return at.BAD_READING
    return at.finish(table, due, time, duration)
