r"""Steps of the inertial sensors in compiled code: a unit of any number of them on one body.

``kernels.math.stepping`` says what a step is, ``unit`` what a sample is made of. The clock ticks
``OVERSAMPLING`` times in a sampling period, at instants t_k + m / (rate n), and each nth tick is a
sample; the ticks between give the low-passes their input, from the motion as it is interpolated
there. n is a power of two, so the ticks of samples are the samples' instants to the last bit.

Held inputs, in this order: faults by sensor and axis, temperature, then from Python the magnetic
field without its dipoles (3).
"""

from sensor_models.kernels.compiling import cfunc, njit
from sensor_models.kernels.inertial import triaxial_layout as chain
from sensor_models.kernels.inertial import triaxial_stages as stage
from sensor_models.kernels.inertial import unit
from sensor_models.kernels.inertial.signals import (
    ACCELERATIONS_GIVEN,
    shift_latest,
    turn_latest,
)
from sensor_models.kernels.inertial.triaxial import KEY_ROWS, STAGE_ROWS, STATE_SIZE
from sensor_models.kernels.math import stepping as at
from sensor_models.kernels.math.body_port import (
    BEFORE,
    DERIVED,
    INTEGRATED,
    JUMPS,
    NOW,
    OLDER,
    modes_of,
    slopes_of_orientations,
    slopes_of_positions,
    turn_by_rates,
)
from sensor_models.kernels.math.faults import FAULT_SIZE
from sensor_models.kernels.math.memory import (
    float64_blocks_at,
    float64_rows_at,
    float64s_at,
    uint64_blocks_at,
)
from sensor_models.kernels.math.motion import (
    ACCELERATION,
    ANGULAR_ACCELERATION,
    ANGULAR_VELOCITY,
    VELOCITY,
    follow_poses,
    interpolate_body_into,
)
from sensor_models.kernels.math.rotations import minus, store, triple_at
from sensor_models.kernels.math.sampling import (
    GOES_ON,
    KNOWN_STATES,
    LATEST,
    START,
    STARTS_AGAIN,
    stamp_of,
)
from sensor_models.kernels.math.stepping import Due, Floats, Table

#: In the table: number of sensors and of rows in a reading; size of the parameters; address and
#: number of dipoles; address of scratch memory and of the reading; ticks in a sampling period;
#: whether accelerations are inputs; whether a sensor has a delay, whose memory is long.
SENSORS, READING_ROWS, PARAMETERS_SIZE, DIPOLES, DIPOLE_COUNT, SCRATCH, READING = range(
    at.OWN, at.OWN + 7
)
OVERSAMPLING, ACCELERATIONS, DELAYED = range(at.OWN + 7, at.OWN + 10)

#: Layout of the scratch memory: ideal signal, specific force, stages of a sensor.
SCRATCH_SIZE = 6 + 3 * STAGE_ROWS
#: Held values behind the faults: temperature, field.
TEMPERATURE, FIELD, BEHIND_FAULTS = 0, 1, 4
_WORD = 8


@njit(**at.VIEW)
def _copy(table: Table, target: int, source: int) -> None:
    """Copy a state of the model; the memory of delays only if there are delays."""
    size = table[at.STATE_SIZE]
    to, of = at.floats(table, target, size), at.floats(table, source, size)
    if table[DELAYED] != 0:
        for i in range(size):
            to[i] = of[i]
        return
    start = size - table[SENSORS] * STATE_SIZE
    for i in range(start):
        to[i] = of[i]
    for first in range(start, size, STATE_SIZE):
        for i in range(first, first + chain.RING):
            to[i] = of[i]


@njit(**at.VIEW, error_model="numpy")
def _motion_at(table: Table, stamp: float, due: Due, is_known: bool) -> Floats:
    """The motion of the body at an instant: the known state itself, or between the last two."""
    clock = at.floats(table, at.CLOCK, at.CLOCK_SIZE)
    known = at.rows(table, at.KNOWN, at.KNOWN_ROWS, table[at.TRUTH_SIZE])
    sample, before, now = known[at.AT_SAMPLE], known[BEFORE], known[NOW]
    translation, rotation = modes_of(table[at.COMPLETED])
    if is_known and translation != DERIVED and rotation != DERIVED:
        return now
    interval = due[5] - clock[LATEST]
    elapsed = interval if is_known else stamp - clock[LATEST]
    interpolate_body_into(sample, before, now, interval, 1.0 if is_known else elapsed / interval)
    if rotation == INTEGRATED and not is_known:
        turn_by_rates(sample, before, now, interval, elapsed)
    if translation == DERIVED or rotation == DERIVED:
        _follow_poses(table, sample, due, elapsed)
    return sample


@njit(**at.VIEW)
def _follow_poses(table: Table, sample: Floats, due: Due, elapsed: float) -> None:
    """The part of a motion that comes from poses; accelerations that are inputs stay."""
    clock = at.floats(table, at.CLOCK, at.CLOCK_SIZE)
    known = at.rows(table, at.KNOWN, at.KNOWN_ROWS, table[at.TRUTH_SIZE])
    translation, rotation = modes_of(table[at.COMPLETED])
    interval, interval_0 = due[5] - clock[LATEST], 0.0
    if clock[KNOWN_STATES] < 1.0 or due[1] == STARTS_AGAIN:
        interval = 0.0
    elif clock[KNOWN_STATES] > 1.0:
        interval_0 = clock[LATEST] - clock[at.OLDER_TIME]
    kept = triple_at(sample, ACCELERATION), triple_at(sample, ANGULAR_ACCELERATION)
    older, before, now = known[OLDER], known[BEFORE], known[NOW]
    moves, turns = translation == DERIVED, rotation == DERIVED
    follow_poses(sample, older, before, now, interval_0, interval, elapsed, moves, turns)
    if table[ACCELERATIONS] != 0:
        store(sample, ACCELERATION, kept[0])
        store(sample, ANGULAR_ACCELERATION, kept[1])


@njit(**at.VIEW)
def _begin_anew(table: Table) -> None:
    """Make the first pose that counts that of the sample at the start (``body_port``).

    Increments then reach from there, and low-passes and delays begin with the next input.
    """
    state = at.floats(table, at.STATE, table[at.STATE_SIZE])
    before = at.rows(table, at.KNOWN, at.KNOWN_ROWS, table[at.TRUTH_SIZE])[BEFORE]
    turn_latest(state, before)
    turn_latest(state[unit.FINE : unit.STAGE], before)
    for chain_at in range(state.size - table[SENSORS] * STATE_SIZE, state.size, STATE_SIZE):
        stage.forget_inputs(state[chain_at : chain_at + STATE_SIZE])


@njit(**at.VIEW)
def _begin_interval(table: Table, due: Due) -> None:
    """Say where accelerations come from, and join the parabola of poses to the one before.

    Where velocities come from poses, each new pose makes the slope at the one before better known.
    The velocities of the latest sample change by as much, so that increments are integrals of the
    accelerations that are reported, from the first sample on.
    """
    translation, rotation = modes_of(table[at.COMPLETED])
    moves, turns = translation == DERIVED, rotation == DERIVED
    parameters = at.floats(table, at.PARAMETERS, table[PARAMETERS_SIZE])
    parameters[ACCELERATIONS_GIVEN] = (
        3 if table[ACCELERATIONS] != 0 else int(moves) + 2 * int(turns)
    )
    if due[1] != GOES_ON or table[at.CONTINUES] != 0:
        return
    if table[at.COMPLETED] >> JUMPS != 0:
        _begin_anew(table)
    if not (moves or turns):
        return
    clock = at.floats(table, at.CLOCK, at.CLOCK_SIZE)
    known = at.rows(table, at.KNOWN, at.KNOWN_ROWS, table[at.TRUTH_SIZE])
    state = at.floats(table, at.STATE, table[at.STATE_SIZE])
    states = clock[KNOWN_STATES]
    if states < 1.0:
        return
    interval, interval_0 = due[5] - clock[LATEST], 0.0
    if states > 1.0:
        interval_0 = clock[LATEST] - clock[at.OLDER_TIME]
    older, before, now = known[OLDER], known[BEFORE], known[NOW]
    knew = not at.is_second(clock)
    zero = (0.0, 0.0, 0.0)
    if moves:
        start, _ = slopes_of_positions(older, before, now, interval_0, interval)
        shift_latest(state, 0, minus(start, triple_at(before, VELOCITY) if knew else zero))
    if turns:
        start, _ = slopes_of_orientations(older, before, now, interval_0, interval)
        rate = triple_at(before, ANGULAR_VELOCITY) if knew else zero
        shift_latest(state, 3, minus(start, rate))


@njit(**at.VIEW)
def _flatten(table: Table) -> None:
    """The reading into the row of a sample."""
    row = at.floats(table, at.ROW, table[at.ROW_SIZE])
    values = float64s_at(table[READING], 3 * table[READING_ROWS])
    for i in range(values.size):
        row[i] = values[i]


@njit(**at.STEP, error_model="numpy")
def _tick(table: Table, due: Due, tick: int, stamp: float) -> bool:
    """One tick of the clock, which may be a sample; False if its reading is not finite."""
    index, lane = tick // table[OVERSAMPLING], tick % table[OVERSAMPLING]
    sensors, size = table[SENSORS], table[at.HELD_SIZE]
    parameters = at.floats(table, at.PARAMETERS, table[PARAMETERS_SIZE])
    keys = uint64_blocks_at(table[at.KEYS], sensors, KEY_ROWS, 2)
    state = at.floats(table, at.STATE, table[at.STATE_SIZE])
    dipoles = float64_rows_at(table[DIPOLES], table[DIPOLE_COUNT], 6)
    ideal, force = float64s_at(table[SCRATCH], 3), float64s_at(table[SCRATCH] + 3 * _WORD, 3)
    is_known = at.is_known(table, stamp, due)
    held = at.held_at(table, is_known)
    behind = size - BEHIND_FAULTS
    uniform = held[behind + FIELD : behind + FIELD + 3]
    body = _motion_at(table, stamp, due, is_known)
    if lane != 0:
        unit.follow(parameters, keys, state, index, lane, stamp, body, uniform, dipoles, ideal)
        return True
    if index == 0:
        state[:] = 0.0
    row = at.HELD_NOW if is_known else at.HELD_BEFORE
    faults = float64_blocks_at(table[at.HELD] + _WORD * size * row, sensors, 3, FAULT_SIZE)
    stages = float64_rows_at(table[SCRATCH] + 6 * _WORD, STAGE_ROWS, 3)
    reading = float64_rows_at(table[READING], table[READING_ROWS], 3)
    temperature = held[behind + TEMPERATURE]
    unit.sample(
        parameters,
        keys,
        state,
        faults,
        index,
        stamp,
        body,
        temperature,
        uniform,
        dipoles,
        ideal,
        force,
        stages,
        reading,
    )
    _flatten(table)
    return at.report(table, index, stamp)


@cfunc(at.STEP_SIGNATURE, **at.STEP, error_model="numpy")
def unit_step(context: int, time: float, duration: float) -> int:
    """One step of inertial sensors on one body."""
    table = at.table_at(context)
    due = at.begin(table, time, duration)
    if due[0] != at.DONE:
        return due[0]
    clock = at.floats(table, at.CLOCK, at.CLOCK_SIZE)
    rate = at.floats(table, at.SETTINGS, at.SETTINGS_SIZE)[at.RATE]
    ring_fill = table[at.RING_FILL]
    if due[3] > due[2]:
        _copy(table, at.COPY, at.STATE)
    _begin_interval(table, due)
    for tick in range(due[2], due[3]):
        if not _tick(table, due, tick, stamp_of(clock[START], rate, tick, due[5])):
            at.take_back(table, ring_fill)
            _copy(table, at.STATE, at.COPY)
            return at.BAD_READING
    return at.finish(table, due, time, duration)
