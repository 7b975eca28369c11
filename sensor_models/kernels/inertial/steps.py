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
from sensor_models.kernels.inertial import unit
from sensor_models.kernels.inertial.triaxial import KEY_ROWS, STAGE_ROWS, STATE_SIZE
from sensor_models.kernels.math import stepping as at
from sensor_models.kernels.math.faults import FAULT_SIZE
from sensor_models.kernels.math.memory import (
    float64_blocks_at,
    float64_rows_at,
    float64s_at,
    uint64_blocks_at,
)
from sensor_models.kernels.math.motion import follow_poses, interpolate_body_into
from sensor_models.kernels.math.sampling import KNOWN_STATES, LATEST, START, STARTS_AGAIN, stamp_of
from sensor_models.kernels.math.stepping import Due, Floats, Table

#: In the table: number of sensors and of rows in a reading; size of the parameters; address and
#: number of dipoles; address of scratch memory and of the reading; ticks in a sampling period;
#: whether velocities come from poses; whether a sensor has a delay, whose memory is long.
SENSORS, READING_ROWS, PARAMETERS_SIZE, DIPOLES, DIPOLE_COUNT, SCRATCH, READING = range(
    at.OWN, at.OWN + 7
)
OVERSAMPLING, FROM_POSES, DELAYED = range(at.OWN + 7, at.OWN + 10)

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
    sample, before, now = known[at.AT_SAMPLE], known[at.BEFORE], known[at.NOW]
    interval = due[5] - clock[LATEST]
    if table[FROM_POSES] != 0:
        interval_0 = 0.0
        if clock[KNOWN_STATES] < 1.0 or due[1] == STARTS_AGAIN:
            interval = 0.0
        elif clock[KNOWN_STATES] > 1.0:
            interval_0 = clock[LATEST] - clock[at.OLDER_TIME]
        elapsed = interval if is_known else stamp - clock[LATEST]
        follow_poses(sample, known[at.OLDER], before, now, interval_0, interval, elapsed)
        return sample
    if is_known:
        return now
    interpolate_body_into(sample, before, now, interval, (stamp - clock[LATEST]) / interval)
    return sample


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
    for tick in range(due[2], due[3]):
        if not _tick(table, due, tick, stamp_of(clock[START], rate, tick, due[5])):
            at.take_back(table, ring_fill)
            _copy(table, at.STATE, at.COPY)
            return at.BAD_READING
    return at.finish(table, due, time, duration)
