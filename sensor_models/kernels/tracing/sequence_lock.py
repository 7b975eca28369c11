"""A ring of timed records that one process writes and others read, without waiting.

The memory holds a number and a ring of slots, as many as there is room for, of at least 4:

    write   slot[(n + 1) mod slots] <- record, then n <- n + 1
    read    n0 <- n, copy slot[k mod slots] for k <= n0, n1 <- n; whole if n1 - k < slots - 1

The slot of record k is written to again as k + slots, which begins once n is k + slots - 1: until
a reader sees that number, its copy is of one writing. The newest whole record is always there, so
a writer that dies in the middle of one keeps nobody from reading. There must be one writer at a
time.

A record begins with the number of the one that comes before it in time, -1 for none, and with its
time. Nothing that was written is changed: a state that replaces another one, or that lies before
it because time went back, names as its predecessor the newest record before its own time. What
readers see of the past is the chain from the newest record, as far as the ring still holds it.

This is the sequence lock of Lameter, "Effective synchronization on Linux/NUMA systems" (2005),
with several records, as Linux has it in ``seqcount_latch_t`` with two. The order of the memory
accesses is that of Boehm, "Can seqlocks get along with programming language memory models?"
(MSPC 2012): a release fence between the number and the next record, and an acquire fence between
a copy and the second look at the number. Processors of x86 keep that order anyway, ARM does not.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import intrinsic, njit

#: Places in a record; the states follow.
BEFORE, TIME, STATES = 0, 1, 2
#: Stands for no record before the first one.
NOTHING = -1


@intrinsic
def _fence(_context: Any) -> Any:
    """Keeps memory accesses before it from trading places with those after it."""
    from numba import types

    def emit(target: Any, builder: Any, _signature: Any, _arguments: Any) -> Any:
        builder.fence("acq_rel")
        return target.get_dummy_value()

    return types.void(), emit


@intrinsic
def _load(_context: Any, _address: Any) -> Any:
    """A 64-bit number at an address, in one piece, before all that is read after it."""
    from llvmlite import ir
    from numba import types

    def emit(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        place = builder.inttoptr(arguments[0], ir.PointerType(ir.IntType(64)))
        return builder.load_atomic(place, "acquire", 8)

    return types.int64(types.intp), emit


@intrinsic
def _store(_context: Any, _address: Any, _value: Any) -> Any:
    """Store a 64-bit number at an address, in one piece, after all that was written before."""
    from llvmlite import ir
    from numba import types

    def emit(target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        place = builder.inttoptr(arguments[0], ir.PointerType(ir.IntType(64)))
        builder.store_atomic(arguments[1], place, "release", 8)
        return target.get_dummy_value()

    return types.void(types.intp, types.int64), emit


@njit(cache=True)
def newest_before(number: NDArray[np.int64], slots: NDArray[np.float64], time: float) -> int:
    """The newest record before a time, for who writes the next one; ``NOTHING`` if there is none.

    Records that the next one overwrites count as gone.
    """
    newest = number[0]
    found = newest
    while found >= 0 and newest + 1 - found < len(slots):
        if slots[found % len(slots), TIME] < time:
            return int(found)
        found = np.int64(slots[found % len(slots), BEFORE])
    return NOTHING


@njit(cache=True)
def append(
    number: NDArray[np.int64],
    slots: NDArray[np.float64],
    time: float,
    early: float,
    states: NDArray[np.float64],
) -> None:
    """Write a record and make it the newest one.

    Args:
        number: of the newest record.
        slots: (slots, length of a record).
        time: of the record.
        early: records at this time or later are no part of the past any more.
        states: (bodies, values), what the record holds.
    """
    following, before = number[0] + 1, newest_before(number, slots, early)
    _fence()
    slot, place = slots[following % len(slots)], STATES
    slot[BEFORE], slot[TIME] = before, time
    for body in range(len(states)):
        for k in range(states.shape[1]):
            slot[place] = states[body, k]
            place += 1
    _store(number.ctypes.data, following)


@njit(cache=True)
def read(number: NDArray[np.int64], slots: NDArray[np.float64], record: NDArray[np.float64]) -> int:
    """Copy the newest record to ``record``; returns its number."""
    while True:
        found = _load(number.ctypes.data)
        record[:] = slots[found % len(slots), :]
        _fence()
        if _load(number.ctypes.data) - found < len(slots) - 1:
            newest: int = found
            return newest


@njit(cache=True)
def read_since(
    number: NDArray[np.int64],
    slots: NDArray[np.float64],
    since: float,
    records: NDArray[np.float64],
) -> tuple[int, int]:
    """Copy the records from the newest one before or at ``since`` on to ``records``, newest first.

    Returns:
        How many there are, and the number of the newest. If there is no room for all, there are
        more than ``records`` has rows.
    """
    newest = _load(number.ctypes.data)
    found, count = newest, 0
    while found >= 0 and count < len(records):
        records[count, :] = slots[found % len(slots), :]
        _fence()
        if _load(number.ctypes.data) - found >= len(slots) - 1:
            if count > 0:
                return count, newest  # the ring holds no more of the past
            newest = found = _load(number.ctypes.data)  # the writer got ahead: begin anew
            continue
        count += 1
        if records[count - 1, TIME] <= since:
            return count, newest
        found = np.int64(records[count - 1, BEFORE])
    return count + (found >= 0), newest
