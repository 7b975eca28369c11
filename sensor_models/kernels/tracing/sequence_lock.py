"""A record that one process writes and others read, in memory that they share, without waiting.

The memory holds a number and ``SLOTS`` copies of the record:

    write   slot[(n + 1) mod SLOTS] <- record, then n <- n + 1
    read    n0 <- n, copy slot[n0 mod SLOTS], n1 <- n; whole if n1 - n0 < SLOTS - 1

The slot of n0 is written to again as n0 + SLOTS, which begins once n is n0 + SLOTS - 1: until a
reader sees that number, its copy is of one writing. The newest whole record is always there, so
a writer that dies in the middle of one keeps nobody from reading, and a reader starts anew only
if the writer got three records ahead meanwhile. There must be one writer at a time.

This is the sequence lock of Lameter, "Effective synchronization on Linux/NUMA systems" (2005),
with several records, as Linux has it in ``seqcount_latch_t`` with two. The order of the memory
accesses is that of Boehm, "Can seqlocks get along with programming language memory models?"
(MSPC 2012): a release fence between the number and the next record, and an acquire fence between
a copy and the second look at the number. Processors of x86 keep that order anyway, ARM does not.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

#: Records that are kept: more of them give a slow reader more time.
SLOTS = 4


@intrinsic
def _fence(_context: Any) -> Any:
    """Keeps memory accesses before it from trading places with those after it."""

    def emit(target: Any, builder: Any, _signature: Any, _arguments: Any) -> Any:
        builder.fence("acq_rel")
        return target.get_dummy_value()

    return types.void(), emit


@intrinsic
def _load(_context: Any, _address: Any) -> Any:
    """A 64-bit number at an address, in one piece, before all that is read after it."""

    def emit(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        place = builder.inttoptr(arguments[0], ir.PointerType(ir.IntType(64)))
        return builder.load_atomic(place, "acquire", 8)

    return types.int64(types.intp), emit


@intrinsic
def _store(_context: Any, _address: Any, _value: Any) -> Any:
    """Store a 64-bit number at an address, in one piece, after all that was written before."""

    def emit(target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        place = builder.inttoptr(arguments[0], ir.PointerType(ir.IntType(64)))
        builder.store_atomic(arguments[1], place, "release", 8)
        return target.get_dummy_value()

    return types.void(types.intp, types.int64), emit


@njit(cache=True)
def write(
    number: NDArray[np.int64], slots: NDArray[np.float64], record: NDArray[np.float64]
) -> None:
    """Make a record the newest one; ``slots`` has ``SLOTS`` rows as long as the record."""
    following = number[0] + 1
    _fence()
    slots[following % SLOTS, :] = record
    _store(number.ctypes.data, following)


@njit(cache=True)
def read(number: NDArray[np.int64], slots: NDArray[np.float64], record: NDArray[np.float64]) -> int:
    """Copy the newest record to ``record``; returns its number."""
    while True:
        found = _load(number.ctypes.data)
        record[:] = slots[found % SLOTS, :]
        _fence()
        if _load(number.ctypes.data) - found < SLOTS - 1:
            newest: int = found
            return newest
