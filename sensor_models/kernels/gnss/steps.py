r"""Steps of the receiver in compiled code.

``kernels.math.stepping`` says what a step is, ``receiver`` what a sample is made of, ``latency``
when it comes out. Two things need Python: rays in a scene, and texts of what comes out. A step
that needs it returns ``ENTER`` before anything is changed, unless Python has called it (``ENTERED``
in the table). There, a sample in a scene stops at ``LOOK``: its antenna and its sky are in the
state, Python marks what is hidden, and calls again to go on with that sample.

Held inputs, in this order: faults by signal, the number of the scene (0 for none), the world.

A row of a result is latitude, longitude, height, velocity, fix, carrier, satellites, five dilutions
and two accuracies; then, if they are wanted (``RANGES``), the Earth-fixed place of the antenna and
the pseudorange of each satellite, 0 for one that is not in use; then number + 1 and instant.

The state is that of ``receiver`` with its satellites, the slots of the faults, and the results
under way.
"""

from sensor_models.kernels.compiling import cfunc, njit
from sensor_models.kernels.gnss import latency
from sensor_models.kernels.gnss import layout as of
from sensor_models.kernels.gnss.corruption import HIGHEST, LOWEST, SIGNALS, corrupt
from sensor_models.kernels.gnss.dilution import MOST_COLUMNS, WORK_ROWS
from sensor_models.kernels.gnss.orbits import ORBIT_SIZE
from sensor_models.kernels.gnss.receiver import begin, find_ranges, finish_sample
from sensor_models.kernels.gnss.sky import IN_ECEF
from sensor_models.kernels.math import faults
from sensor_models.kernels.math import stepping as at
from sensor_models.kernels.math.memory import (
    float64_blocks_at,
    float64_rows_at,
    float64s_at,
    uint64_blocks_at,
)
from sensor_models.kernels.math.motion import interpolate_body_into
from sensor_models.kernels.math.sampling import LATEST, START, stamp_of
from sensor_models.kernels.math.stepping import Due, Floats, Table

#: In the table: address and number of orbits; address of memory to work in; address of what is kept
#: while Python looks; whether ranges are wanted, and texts; whether Python has called; the sample
#: that Python looks for, -1 if none; the row of held inputs of that sample.
ORBITS, SATELLITES, WORK, KEPT, RANGES, TEXTS, ENTERED, LOOKING, HELD_ROW = range(
    at.OWN, at.OWN + 9
)
#: Results of a step besides those of all sensors.
ENTER, LOOK, BAD_PLACE = range(6, 9)

#: What is kept: the samples that are due, the fill of the ring of records, the sample's instant;
#: and behind these the row of a sample, before it is reported.
KEPT_DUE, KEPT_FILL, KEPT_STAMP = 0, 6, 7
KEPT_SIZE = 8
KEY_ROWS = len(of.TERMS)

#: Of a reading, without ranges.
VALUES = of.IN_USE - of.LATITUDE
#: Held inputs behind the faults, which are those of the first signals of a reading.
SCENE, WORLD = SIGNALS * faults.FAULT_SIZE, SIGNALS * faults.FAULT_SIZE + 1
#: Parameters behind those of the receiver: of when a result comes out.
LATENCY = of.PARAMETERS_SIZE
PARAMETERS_SIZE = LATENCY + 1
_WORD = 8


@njit(**at.VIEW)
def _slots_place(table: Table) -> int:
    """Where the slots of the faults begin in the state."""
    return of.STATE_SIZE + table[SATELLITES] * of.SATELLITE_SIZE


@njit(**at.VIEW)
def _ring(table: Table) -> Floats:
    """The results under way; of no size without a latency."""
    start = _slots_place(table) + SIGNALS * faults.SLOT_SIZE
    return float64s_at(table[at.STATE] + _WORD * start, table[at.STATE_SIZE] - start)


@njit(**at.VIEW)
def _fresh(table: Table) -> Floats:
    """The row of a sample that is not reported yet."""
    return float64s_at(table[KEPT] + _WORD * KEPT_SIZE, table[at.ROW_SIZE])


@njit(**at.VIEW, error_model="numpy")
def _motion_at(table: Table, stamp: float, due: Due, is_known: bool) -> Floats:
    """The motion of the body at an instant: the known state itself, or between the last two."""
    known = at.rows(table, at.KNOWN, at.KNOWN_ROWS, table[at.TRUTH_SIZE])
    if is_known:
        return known[at.NOW]
    latest = at.floats(table, at.CLOCK, at.CLOCK_SIZE)[LATEST]
    duration = due[5] - latest
    sample = known[at.AT_SAMPLE]
    fraction = (stamp - latest) / duration
    interpolate_body_into(sample, known[at.BEFORE], known[at.NOW], duration, fraction)
    return sample


@njit(**at.VIEW)
def _needs_python(table: Table, due: Due, end: float) -> bool:
    """Whether a sample needs rays, or a result that comes out has texts."""
    sampled = due[3] > due[2]
    if sampled:
        held = at.rows(table, at.HELD, 2, table[at.HELD_SIZE])
        before, now = held[at.HELD_BEFORE, WORLD:], held[at.HELD_NOW, WORLD:]
        if before[of.HAS_SCENE] != 0.0 or now[of.HAS_SCENE] != 0.0 or table[TEXTS] != 0:
            return True
    ring = _ring(table)
    if table[TEXTS] == 0 or ring.size == 0:
        return False
    late, rate = _latency(table)
    return latency.is_due(ring, table[at.ROW_SIZE], late, latency.limit_at(end, rate))


@njit(**at.VIEW)
def _latency(table: Table) -> tuple[float, float]:
    """The latency, and the sampling rate."""
    late = at.floats(table, at.PARAMETERS, PARAMETERS_SIZE)[LATENCY]
    return late, at.floats(table, at.SETTINGS, at.SETTINGS_SIZE)[at.RATE]


# ---- a sample --------------------------------------------------------------------------------


@njit(**at.STEP, error_model="numpy")
def _place_antenna(table: Table, due: Due, index: int, stamp: float) -> int:
    """Begin a sample: what ``receiver.begin`` gives."""
    is_known = at.is_known(table, stamp, due)
    table[HELD_ROW] = at.HELD_NOW if is_known else at.HELD_BEFORE
    table[at.REFUSED] = at.NOW if is_known else at.AT_SAMPLE
    count, address = table[SATELLITES], table[at.STATE]
    if index == 0:
        state = at.floats(table, at.STATE, table[at.STATE_SIZE])
        for i in range(_slots_place(table), state.size):
            state[i] = 0.0
    begun: int = begin(
        at.floats(table, at.PARAMETERS, PARAMETERS_SIZE),
        at.held_at(table, is_known)[WORLD:],
        index,
        stamp,
        _motion_at(table, stamp, due, is_known),
        float64_rows_at(table[ORBITS], count, ORBIT_SIZE),
        float64s_at(address, of.STATE_SIZE),
        float64_rows_at(address + _WORD * of.STATE_SIZE, count, of.SATELLITE_SIZE),
    )
    return begun


@njit(**at.STEP, error_model="numpy")
def _spoil(table: Table, row: Floats, held: Floats, stamp: float) -> None:
    """Put a reading through the errors of what is reported, and its faults."""
    errors = at.floats(table, at.PARAMETERS, PARAMETERS_SIZE)[of.CORRUPTION :]
    corrupt(errors, row)
    address = table[at.STATE] + _WORD * _slots_place(table)
    slots = float64_rows_at(address, SIGNALS, faults.SLOT_SIZE)
    for i in range(SIGNALS):
        fault = held[i * faults.FAULT_SIZE : (i + 1) * faults.FAULT_SIZE]
        lowest, highest = errors[LOWEST + i], errors[HIGHEST + i]
        row[i] = faults.apply(fault, slots[i], row[i], stamp, lowest, highest)


@njit(**at.STEP, error_model="numpy")
def _complete(table: Table, index: int, stamp: float, surveyed: bool) -> None:
    """The errors of a sample whose sky is known, and its row without number and instant."""
    parameters = at.floats(table, at.PARAMETERS, PARAMETERS_SIZE)
    count, address = table[SATELLITES], table[at.STATE]
    orbits = float64_rows_at(table[ORBITS], count, ORBIT_SIZE)
    state = float64s_at(address, of.STATE_SIZE)
    satellites = float64_rows_at(address + _WORD * of.STATE_SIZE, count, of.SATELLITE_SIZE)
    held = at.rows(table, at.HELD, 2, table[at.HELD_SIZE])[table[HELD_ROW]]
    keys = uint64_blocks_at(table[at.KEYS], 1, KEY_ROWS, 2)[0]
    work = float64_blocks_at(table[WORK], WORK_ROWS, MOST_COLUMNS, MOST_COLUMNS)
    finish_sample(
        parameters, held[WORLD:], keys, index, stamp, surveyed, orbits, state, satellites, work
    )
    row = _fresh(table)
    for i in range(VALUES):
        row[i] = state[of.LATITUDE + i]
    _spoil(table, row, held, stamp)
    if table[RANGES] != 0:
        for i in range(3):
            row[VALUES + i] = state[of.PLACE + IN_ECEF + i]
        find_ranges(parameters, orbits, state, satellites, row[VALUES + 3 : row.size - 2])


@njit(**at.STEP)
def _let_out(table: Table, end: float) -> None:
    """Report all results that have arrived."""
    ring, row = _ring(table), at.floats(table, at.ROW, table[at.ROW_SIZE])
    if ring.size == 0:
        return
    late, rate = _latency(table)
    limit = latency.limit_at(end, rate)
    while latency.is_due(ring, row.size, late, limit):
        latency.take(ring, row)
        at.report(table, int(row[row.size - 2]) - 1, row[row.size - 1])


@njit(**at.STEP)
def _hand_on(table: Table, index: int, stamp: float) -> bool:
    """Report a sample, or set it on its way; False if it is not finite."""
    row, fresh, ring = at.floats(table, at.ROW, table[at.ROW_SIZE]), _fresh(table), _ring(table)
    total = 0.0
    for i in range(row.size - 2):
        total += 0.0 * fresh[i]
    if ring.size == 0 or total != 0.0:
        for i in range(row.size - 2):
            row[i] = fresh[i]
        return at.report(table, index, stamp)
    fresh[row.size - 2], fresh[row.size - 1] = index + 1.0, stamp
    return latency.put(ring, fresh)


# ---- a step ----------------------------------------------------------------------------------


@njit(**at.VIEW)
def _keep(table: Table, due: Due) -> None:
    """Keep what a step needs that goes on after Python has looked."""
    kept = float64s_at(table[KEPT], KEPT_SIZE)
    kept[KEPT_DUE], kept[KEPT_DUE + 1], kept[KEPT_DUE + 2] = due[1], due[2], due[3]
    kept[KEPT_DUE + 3], kept[KEPT_DUE + 4], kept[KEPT_DUE + 5] = due[4], due[5], due[6]
    kept[KEPT_FILL] = table[at.RING_FILL]


@njit(**at.VIEW)
def _kept(table: Table) -> Due:
    """The samples that are due, as they were kept."""
    kept = float64s_at(table[KEPT], KEPT_SIZE)
    return (
        at.DONE,
        int(kept[KEPT_DUE]),
        int(kept[KEPT_DUE + 1]),
        int(kept[KEPT_DUE + 2]),
        int(kept[KEPT_DUE + 3]),
        kept[KEPT_DUE + 4],
        kept[KEPT_DUE + 5],
    )


@njit(**at.STEP)
def _put_back(table: Table) -> None:
    """Take back what a refused step has done."""
    at.put_back(table, int(float64s_at(table[KEPT], KEPT_SIZE)[KEPT_FILL]))


@njit(**at.STEP, error_model="numpy")
def _measure(table: Table, due: Due, end: float) -> int:
    """Make all samples of a step, beginning with the one that Python was asked to look for."""
    clock = at.floats(table, at.CLOCK, at.CLOCK_SIZE)
    rate = at.floats(table, at.SETTINGS, at.SETTINGS_SIZE)[at.RATE]
    looked = table[LOOKING] >= 0
    first = table[LOOKING] if looked else due[2]
    table[LOOKING] = -1
    for index in range(first, due[3]):
        stamp = stamp_of(clock[START], rate, index, due[5])
        surveyed = looked and index == first
        if not surveyed:
            begun = _place_antenna(table, due, index, stamp)
            if begun < 0:
                return BAD_PLACE
            surveyed = begun > 0
            held = at.rows(table, at.HELD, 2, table[at.HELD_SIZE])[table[HELD_ROW]]
            if held[WORLD + of.HAS_SCENE] != 0.0:
                table[LOOKING] = index
                float64s_at(table[KEPT], KEPT_SIZE)[KEPT_STAMP] = stamp
                return LOOK
        _complete(table, index, stamp, surveyed)
        _let_out(table, end)
        if not _hand_on(table, index, stamp):
            return at.BAD_READING
    return at.DONE


@cfunc(at.STEP_SIGNATURE, **at.STEP, error_model="numpy")
def receiver_step(context: int, time: float, duration: float) -> int:
    """One step of a receiver."""
    table = at.table_at(context)
    end = time + duration
    if table[LOOKING] >= 0:
        due = _kept(table)
    else:
        due = at.begin(table, time, duration)
        if due[0] != at.DONE:
            return due[0]
        if table[ENTERED] == 0 and _needs_python(table, due, end):
            return ENTER
        _keep(table, due)
        if due[3] > due[2]:
            at.copy_state(table)
    code = _measure(table, due, end)
    if code == LOOK:
        return code
    if code != at.DONE:
        _put_back(table)
        return code
    _let_out(table, end)
    return at.finish(table, due, time, duration)
