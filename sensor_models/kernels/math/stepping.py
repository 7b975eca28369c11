r"""One step of a scalar sensor in compiled code: what the steps of all kinds share.

A step is a C function ``int32_t step(void *context, double time, double duration)``. It takes in
the inputs as what holds at the beginning of the step or at its end, and measures all samples that
fall due with that instant:

    inputs -> clock -> interpolation -> model -> outputs, and a ring of samples if they are recorded

It returns 0 (``DONE``), or the number of a reason why Python must be entered; then nothing has
changed. Python (``sensor_models.core.step``) warns, opens a scene, empties the ring, or refuses
with a message; in the first three cases it then calls the same function again.

Everything a step needs lies in arrays that Python made: the context is a table of 64-bit words
with their addresses, and with sizes, places and switches. Values of inputs and outputs lie in
three arrays (Reals, Integers, Booleans), at places that are listed.

An input that is not interpolated holds from the state it was set with; a sample before that state
has the value of the state before. Held inputs are one vector: faults (``kernels.math.faults``),
other inputs, and values that only Python can find, such as the field of a scene.

Compute, then commit: ``begin`` changes only what is scratch memory, ``keep`` copies the state of
the model, and whoever finds a reading that is not finite puts it back.

The kernels of the kinds (``kernels.wheel.steps``, ``kernels.inertial.steps``) have the loop over
the samples. Nothing here checks an address or a place: Python has made them.
"""

import math

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math import body_port, sampling
from sensor_models.kernels.math.body_port import (
    ALL_GIVEN,
    GIVEN,
    JUMPS,
    SEEN,
    SETTLED,
    THINGS_TO_TELL,
    complete,
    orientation_of_euler,
    remember,
    revise_first,
    to_tell,
)
from sensor_models.kernels.math.faults import FAULT_SIZE, is_bad
from sensor_models.kernels.math.lengths import length_of
from sensor_models.kernels.math.memory import (
    float64_rows_at,
    float64s_at,
    int32s_at,
    int64s_at,
    uint64s_at,
)
from sensor_models.kernels.math.motion import ORIENTATION
from sensor_models.kernels.math.rotations import quaternion_at

#: Functions that hand out views of memory must be ones that count references, and so must those
#: that call them. Nothing is counted in the end: memory by its address has no owner.
STEP = {"cache": True}
VIEW = {**STEP, "forceinline": True}

Floats = NDArray[np.float64]
Table = NDArray[np.int64]
Due = tuple[int, int, int, int, int, float, float]

STEP_SIGNATURE = "int32(intp, float64, float64)"
_DUE = "Tuple((int64, int64, int64, int64, int64, float64, float64))"

# ---- layout of the table ---------------------------------------------------------------------

#: Addresses: settings, clock, known states, held inputs, state of the model, its copy, its
#: parameters and keys, which faults have limits, one row of a reading, ring, values by type.
SETTINGS, CLOCK, KNOWN, HELD, STATE, COPY, PARAMETERS, KEYS, LIMITED, ROW, RING = range(11)
REALS, INTEGERS, BOOLEANS = range(11, 14)
#: Addresses of lists of places: interpolated inputs among the Reals; type and place of held inputs
#: and of outputs; places of watched Integers, and the values that Python has taken note of.
TRUTH_PLACES, HELD_TYPES, HELD_PLACES, OUTPUT_TYPES, OUTPUT_PLACES = range(14, 19)
WATCHED_PLACES, WATCHED_VALUES, EXTRA = range(19, 22)
#: Sizes: of the known motion, held inputs from variables, all held values, faults, state of the
#: model, a reading, the ring in rows, watched inputs, and the most samples in a step.
TRUTH_SIZE, HELD_INPUTS, HELD_SIZE, FAULTS, STATE_SIZE, ROW_SIZE, RING_ROWS = range(22, 29)
WATCHED, MOST = 29, 30
#: Switches: inputs describe the end of a step; the motion is that of a body; a first observation;
#: the step may end with samples left; and which warnings were given (of motion, a bit each).
AT_END, IS_BODY, OBSERVING, MAY_STOP = range(31, 35)
TOLD_OF_ORIENTATION, TOLD_OF_MOTION = 35, 36
#: Rows in the ring that Python has not taken yet, which input was refused, and whether the row of
#: a reading is one that is still to be published.
RING_FILL, REFUSED, IS_NEW = 37, 38, 39
#: What is done about poses and velocities that are left out (``body_port``), and what was done
#: with the newest state; address of the places of an orientation's angles, 0 for a quaternion.
POLICY, COMPLETED, EULER = 40, 41, 42
#: Whether a step goes on that had more samples than it could take at once.
CONTINUES = 43
#: Address of the places of three inputs that do not count and are 0 unless somebody connects them:
#: the angles where a quaternion counts, or the vector part of that; 0 if there are none. And the
#: number under which that is told (``sensor_models.core.step``).
IDLE, IDLE_NUMBER = 44, 45
#: The numbers of warnings behind those of ``body_port.to_tell``.
ANGLES_IDLE, QUATERNION_IDLE, JOINT_STANDS = range(THINGS_TO_TELL, THINGS_TO_TELL + 3)
#: Sizes and addresses that a kind has of its own.
OWN = 46
TABLE_SIZE = 58

#: Layout of the settings.
RATE = 0
SETTINGS_SIZE = 1

#: Layout of the clock behind that of ``sampling``: end of the last step, time of the older state;
#: that of the newest one instead, if motion begins with that (``body_port``).
END, OLDER_TIME = sampling.CLOCK_SIZE, sampling.CLOCK_SIZE + 1
CLOCK_SIZE = sampling.CLOCK_SIZE + 2

#: Rows of known states: those of ``body_port``, of which MEMORY is there for bodies only, and that
#: of a sample.
BEFORE, OLDER, MEMORY, NOW = body_port.BEFORE, body_port.OLDER, body_port.MEMORY, body_port.NOW
AT_SAMPLE, KNOWN_ROWS = 4, 5
#: Rows of held inputs: those of the newest state that was taken, and what the inputs say now.
HELD_BEFORE, HELD_NOW = range(2)

#: Types of values; what is nowhere belongs to a sample and is recorded, but is no variable.
REAL, INTEGER, BOOLEAN, NOWHERE = range(4)

#: Results of a step. Those from 6 to 10 are of a kind, those from 11 to 15 are the refusals of
#: ``sampling.due``.
DONE = 0
WARN_ORIENTATION, WARN_MOTION, WATCHED_CHANGED, RING_IS_FULL, MORE = range(1, 6)
NO_STEP, STEP_BACKWARDS, BAD_INPUT, BAD_ORIENTATION, BAD_HELD, BAD_FAULT, BAD_READING = range(
    21, 28
)
BAD_ANGLES = 28

#: A quaternion shorter than this is noise of whatever made it, and no orientation.
SHORTEST = 1e-6


@njit(**VIEW)
def floats(table: Table, which: int, size: int) -> Floats:
    """One of the arrays of float64 whose addresses are in the table."""
    return float64s_at(table[which], size)


@njit(**VIEW)
def rows(table: Table, which: int, count: int, size: int) -> Floats:
    """One of the matrices of float64."""
    return float64_rows_at(table[which], count, size)


@njit(**VIEW)
def words(table: Table, which: int, size: int) -> Table:
    """One of the arrays of int64."""
    return int64s_at(table[which], size)


@njit(**VIEW)
def keys(table: Table, size: int) -> NDArray[np.uint64]:
    """The keys of the random streams."""
    return uint64s_at(table[KEYS], size)


@njit(**VIEW)
def table_at(context: int) -> Table:
    """The table that a context is."""
    return int64s_at(context, TABLE_SIZE)


# ---- inputs ----------------------------------------------------------------------------------


@njit(**VIEW)
def value_of(table: Table, kind: int, place: int) -> float:
    """The value of a variable."""
    if kind == REAL:
        return float(float64s_at(table[REALS], place + 1)[place])
    which = INTEGERS if kind == INTEGER else BOOLEANS
    return float(int32s_at(table[which], place + 1)[place])


@njit(**VIEW, error_model="numpy")
def _normalise(table: Table, now: Floats) -> int:
    """Bring the orientation to unit length; four zeros mean that nobody connected it."""
    w, x, y, z = quaternion_at(now, ORIENTATION)
    if w == 0.0 and x == 0.0 and y == 0.0 and z == 0.0:
        now[ORIENTATION] = 1.0
        return DONE if table[TOLD_OF_ORIENTATION] != 0 else WARN_ORIENTATION
    length = length_of(w, x, y, z)
    if not SHORTEST <= length < math.inf:
        return BAD_ORIENTATION
    for i in range(4):
        now[ORIENTATION + i] /= length
    return DONE


@njit(**VIEW)
def _read_angles(table: Table, now: Floats) -> int:
    """The orientation from its three angles."""
    places = words(table, EULER, 3)
    roll, pitch, yaw = (
        value_of(table, REAL, places[0]),
        value_of(table, REAL, places[1]),
        value_of(table, REAL, places[2]),
    )
    if 0.0 * roll + 0.0 * pitch + 0.0 * yaw != 0.0:
        return BAD_ANGLES
    w, x, y, z = orientation_of_euler(roll, pitch, yaw)
    now[ORIENTATION], now[ORIENTATION + 1] = w, x
    now[ORIENTATION + 2], now[ORIENTATION + 3] = y, z
    return DONE


@njit(**VIEW)
def _has_idle(table: Table) -> bool:
    """Whether somebody sets the orientation that does not count, and was not told so."""
    if table[TOLD_OF_MOTION] >> table[IDLE_NUMBER] & 1 != 0:
        return False
    places = words(table, IDLE, 3)
    total = 0.0
    for i in range(3):
        total += abs(value_of(table, REAL, places[i]))
    return total != 0.0


@njit(**VIEW)
def warn_once(table: Table, number: int) -> int:
    """Ask Python to give one of its warnings, which it notes in the table."""
    table[REFUSED] = number
    return WARN_MOTION


@njit(**VIEW)
def _read_truth(table: Table) -> int:
    """What the inputs say of the motion, into the row NOW."""
    size = table[TRUTH_SIZE]
    places = words(table, TRUTH_PLACES, size)
    now = rows(table, KNOWN, KNOWN_ROWS, size)[NOW]
    total = 0.0
    for i in range(size):
        now[i] = value_of(table, REAL, places[i])
        total += 0.0 * now[i]
    if total != 0.0:
        for i in range(size):
            if not math.isfinite(now[i]):
                table[REFUSED] = i
        return BAD_INPUT
    if table[IS_BODY] == 0:
        return DONE
    if table[IDLE] != 0 and _has_idle(table):
        return warn_once(table, table[IDLE_NUMBER])
    return _normalise(table, now) if table[EULER] == 0 else _read_angles(table, now)


@njit(**STEP)
def _check_held(table: Table, now: Floats) -> int:
    """Refuse held inputs that cannot be applied."""
    limited = words(table, LIMITED, table[FAULTS])
    for n in range(table[FAULTS]):
        if is_bad(now[n * FAULT_SIZE : (n + 1) * FAULT_SIZE], limited[n]):
            table[REFUSED] = n
            return BAD_FAULT
    for i in range(table[FAULTS] * FAULT_SIZE, table[HELD_SIZE]):
        if not math.isfinite(now[i]):
            table[REFUSED] = i
            return BAD_HELD
    return DONE


@njit(**VIEW)
def _read_held(table: Table) -> int:
    """The held inputs into the row NOW; those of the first state are their own predecessors."""
    watched = words(table, WATCHED_PLACES, table[WATCHED])
    noted = words(table, WATCHED_VALUES, table[WATCHED])
    for i in range(table[WATCHED]):
        if value_of(table, INTEGER, watched[i]) != noted[i]:
            return WATCHED_CHANGED
    inputs, size = table[HELD_INPUTS], table[HELD_SIZE]
    types, places = words(table, HELD_TYPES, inputs), words(table, HELD_PLACES, inputs)
    held = rows(table, HELD, 2, size)
    extra = floats(table, EXTRA, size - inputs)
    same = True
    for i in range(size):
        value = value_of(table, types[i], places[i]) if i < inputs else extra[i - inputs]
        held[HELD_NOW, i] = value
        same = same and value == held[HELD_BEFORE, i]
    return DONE if same else _check_held(table, held[HELD_NOW])


@njit(**VIEW)
def _complete(table: Table, clock: Floats, found: int, known_time: float) -> int:
    """Complete what the inputs say of a body; what is new of that is told."""
    known = rows(table, KNOWN, KNOWN_ROWS, table[TRUTH_SIZE])
    states = 0.0 if found == sampling.STARTS_AGAIN else clock[sampling.KNOWN_STATES]
    policy, memory = table[POLICY], known[MEMORY]
    settled = memory[SEEN] == GIVEN and memory[SEEN + 1] == GIVEN and states > 1.0
    if policy == ALL_GIVEN or (settled and policy >> 2 * GIVEN == GIVEN):
        table[COMPLETED] = SETTLED
        return DONE
    interval = interval_0 = 0.0
    if found == sampling.GOES_ON and states > 0.0:
        interval = known_time - clock[sampling.LATEST]
        if states > 1.0:
            interval_0 = clock[sampling.LATEST] - clock[OLDER_TIME]
    table[COMPLETED] = complete(known, policy, states, interval_0, interval)
    if interval == 0.0:
        return DONE
    new = to_tell(known, table[COMPLETED]) & ~table[TOLD_OF_MOTION]
    if new == 0:
        return DONE
    table[REFUSED] = 0
    while new & 1 == 0:
        table[REFUSED] += 1
        new >>= 1
    return WARN_MOTION


@njit(**VIEW)
def is_second(clock: Floats) -> bool:
    """Whether the next state is the second one of a motion, the first of which may be revised."""
    states = clock[sampling.KNOWN_STATES]
    return bool(states == 1.0 or (states == 2.0 and clock[OLDER_TIME] == clock[sampling.LATEST]))


@njit(**VIEW)
def _revise_first(table: Table, found: int) -> None:
    """Complete the velocities of the first state, when the second one is known."""
    if found == sampling.GOES_ON and table[COMPLETED] != SETTLED:
        revise_first(rows(table, KNOWN, KNOWN_ROWS, table[TRUTH_SIZE]), table[COMPLETED])


# ---- a step ----------------------------------------------------------------------------------


@njit(**VIEW)
def _known_time(table: Table, clock: Floats, time: float, duration: float) -> tuple[int, float]:
    """The instant that the inputs describe."""
    if table[OBSERVING] != 0:
        return DONE, time
    end = time + duration
    if not (duration > 0.0 and math.isfinite(end)):
        return NO_STEP, time
    if time < clock[END] and not sampling.same_instant(time, clock[END]):
        return STEP_BACKWARDS, time
    return DONE, end if table[AT_END] != 0 else time


@njit(**VIEW)
def _check_inputs(table: Table, clock: Floats, found: int, known_time: float) -> int:
    """Read all inputs; why the step cannot be done with them, or ``DONE``."""
    code = _read_truth(table)
    if code == DONE and table[IS_BODY] != 0:
        code = _complete(table, clock, found, known_time)
    return _read_held(table) if code == DONE else code


@njit(_DUE + "(int64[::1], float64, float64)", **STEP)
def begin(table: Table, time: float, duration: float) -> Due:
    """Read the inputs and find the samples that fall due; nothing is changed yet.

    Returns:
        ``DONE`` or why not, what the clock found, the first sample, the one after the last that
        is taken now, the one after the last that is due, the known instant, and what counts as
        equal to it.
    """
    clock = floats(table, CLOCK, CLOCK_SIZE)
    code, known_time = _known_time(table, clock, time, duration)
    if code != DONE:
        return code, 0, 0, 0, 0, known_time, 0.0
    rate = floats(table, SETTINGS, SETTINGS_SIZE)[RATE]
    # an end that no later step could come from is refused now
    code = sampling.check(clock, rate, time + duration, table[MOST])
    if code != DONE:
        return code, 0, 0, 0, 0, known_time, 0.0
    found, first, after, tolerance = sampling.due(clock, rate, known_time, table[MOST])
    if found >= sampling.NOT_FINITE:
        return found, 0, 0, 0, 0, known_time, 0.0
    code = _check_inputs(table, clock, found, known_time)
    taken = after
    if code == DONE and table[IS_BODY] != 0 and is_second(clock):
        _revise_first(table, found)
    if code == DONE and table[RING_ROWS] > 0:
        room = table[RING_ROWS] - table[RING_FILL]
        if after - first > room:
            if table[MAY_STOP] == 0:
                code = RING_IS_FULL
            else:
                taken = first + room
    return code, found, first, taken, after, known_time, tolerance


@njit(**VIEW)
def copy_state(table: Table) -> None:
    """Keep the state of the model as it is before the step."""
    state, kept = floats(table, STATE, table[STATE_SIZE]), floats(table, COPY, table[STATE_SIZE])
    for i in range(state.size):
        kept[i] = state[i]


@njit(**VIEW)
def take_back(table: Table, ring_fill: int) -> None:
    """Forget the samples of a step that is refused."""
    table[RING_FILL], table[IS_NEW] = ring_fill, 0


@njit(**VIEW)
def put_back(table: Table, ring_fill: int) -> None:
    """Give the model and the ring back the state that they had before the step."""
    take_back(table, ring_fill)
    state, kept = floats(table, STATE, table[STATE_SIZE]), floats(table, COPY, table[STATE_SIZE])
    for i in range(state.size):
        state[i] = kept[i]


@njit(**VIEW)
def is_known(table: Table, stamp: float, due: Due) -> bool:
    """Whether a sample is at the known instant, and not between it and the one before."""
    clock = floats(table, CLOCK, CLOCK_SIZE)
    return abs(stamp - due[5]) <= due[6] or clock[sampling.KNOWN_STATES] == 0.0


@njit(**VIEW)
def held_at(table: Table, known: bool) -> Floats:
    """The held inputs of a sample: those of the known state, or of the state before."""
    return rows(table, HELD, 2, table[HELD_SIZE])[HELD_NOW if known else HELD_BEFORE]


@njit(**VIEW)
def report(table: Table, index: int, stamp: float) -> bool:
    """Complete the row of a reading and put it into the ring; False if it is not finite."""
    size = table[ROW_SIZE]
    row = floats(table, ROW, size)
    total = 0.0
    for i in range(size - 2):
        total += 0.0 * row[i]
    if total != 0.0:
        return False
    row[size - 2] = index + 1.0
    row[size - 1] = stamp
    if table[RING_ROWS] > 0:
        ring = rows(table, RING, table[RING_ROWS], size)
        place = table[RING_FILL]
        for i in range(size):
            ring[place, i] = row[i]
        table[RING_FILL] = place + 1
    table[IS_NEW] = 1
    return True


@njit(**VIEW)
def _publish(table: Table) -> None:
    """Write the newest reading to the outputs."""
    size = table[ROW_SIZE]
    row = floats(table, ROW, size)
    types, places = words(table, OUTPUT_TYPES, size), words(table, OUTPUT_PLACES, size)
    for i in range(size):
        place = places[i]
        if types[i] == REAL:
            float64s_at(table[REALS], place + 1)[place] = row[i]
        elif types[i] != NOWHERE:
            which = INTEGERS if types[i] == INTEGER else BOOLEANS
            # a count goes as far as the Integers of FMI do
            value = min(row[i], 2147483647.0)
            int32s_at(table[which], place + 1)[place] = int(value)


@njit(f"int32(int64[::1], {_DUE}, float64, float64)", **STEP)
def finish(table: Table, due: Due, time: float, duration: float) -> int:
    """Take over what is known now, and publish the newest sample."""
    _, found, _, taken, after, known_time, _ = due
    clock = floats(table, CLOCK, CLOCK_SIZE)
    if after > taken:
        clock[sampling.NEXT_INDEX], table[CONTINUES] = taken, 1
        return MORE
    table[CONTINUES] = 0
    if table[IS_NEW] != 0:
        table[IS_NEW] = 0
        _publish(table)
    known = rows(table, KNOWN, KNOWN_ROWS, table[TRUTH_SIZE])
    if table[IS_BODY] != 0:
        starts = found == sampling.STARTS_AGAIN or clock[sampling.KNOWN_STATES] == 0.0
        remember(known, table[COMPLETED], 0.0 if starts else 1.0)
    if found == sampling.GOES_ON and clock[sampling.KNOWN_STATES] > 0.0:
        clock[OLDER_TIME] = clock[sampling.LATEST]
        for i in range(table[TRUTH_SIZE]):
            known[OLDER, i] = known[BEFORE, i]
    sampling.take(clock, found, taken, known_time)
    if table[IS_BODY] != 0 and table[COMPLETED] >> JUMPS != 0:
        clock[OLDER_TIME] = known_time
    for i in range(table[TRUTH_SIZE]):
        known[BEFORE, i] = known[NOW, i]
    held = rows(table, HELD, 2, table[HELD_SIZE])
    for i in range(table[HELD_SIZE]):
        held[HELD_BEFORE, i] = held[HELD_NOW, i]
    clock[END] = time if table[OBSERVING] != 0 else time + duration
    return DONE
