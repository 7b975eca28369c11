"""Calls whose arguments compiled code takes apart (``math.unpacking``).

``QuickWords`` has the program that says what the arguments of a call have to be. Whether Python
and NumPy keep values where that code expects them is tried once, with one value of each kind.
"""

import ctypes
import functools
import sys
import sysconfig
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from sensor_models.kernels.machine_code import Call
from sensor_models.kernels.private import TUPLE_ITEMS, exception_at
from sensor_models.kernels.values import Kind, Words, class_at, kind_of

_ORDERS = {"C": 0x001, "F": 0x002, "A": 0}
_WRITABLE, _ALIGNED = 0x400, 0x100


class _NotQuickError(Exception):
    """Arguments that only Python can take apart."""


def _program(kinds: tuple[Kind, ...], given: tuple[Kind, ...]) -> Iterator[int]:
    """What the arguments have to be; ``kinds`` are those of the kernel, ``given`` of a call."""
    from sensor_models.kernels.math import unpacking as to

    for kind, own in zip(kinds, given, strict=True):
        if kind[0] != own[0]:  # it is converted
            raise _NotQuickError
        if kind[0] == "tuple":
            yield from (to.TUPLE, id(_class_of(kind)), len(kind) - 2, TUPLE_ITEMS)
            yield from _program(kind[2:], own[2:])
            yield to.LEAVE
        elif kind[0] == "array":
            yield from _array(kind, to.ARRAY)
        elif kind[0] == "float64":
            yield from (to.FLOAT, id(float), id(np.float64))
        elif kind[0] == "int64":
            yield from (to.INTEGER, id(int), int(sys.version_info >= (3, 12)))
        elif kind[0] == "bool":
            yield from (to.TRUTH, id(True), id(False))
        else:
            raise _NotQuickError


def _array(kind: Kind, what: int) -> tuple[int, ...]:
    _, item, dimensions, order, writable = kind
    if item.startswith("["):
        raise _NotQuickError
    description = np.dtype(item)
    flags = _ORDERS[order] | _ALIGNED | (_WRITABLE if writable else 0)
    size = description.itemsize
    return what, id(np.ndarray), id(description), dimensions, flags, flags, size


def _class_of(kind: Kind) -> Any:
    make: Any = class_at(kind[1])
    return make.__self__ if kind[1] else tuple


def _depth(kind: Kind) -> int:
    return 1 + max(map(_depth, kind[2:]), default=0) if kind[0] == "tuple" else 0


class QuickWords:
    """Makes words of arguments, if they are of the right kinds, and calls a kernel with them.

    A call has memory of its own: result, error, words, and the stack of tuples in tuples.
    """

    def __init__(
        self, kinds: tuple[Kind, ...], given: tuple[Kind, ...], kernel: int = 0, result: int = 0
    ) -> None:
        """Args: kinds of the kernel and of a call, address of the kernel, bytes of its result."""
        from sensor_models.kernels.math import unpacking as to

        error = -(-result // 16) * 16
        self._words, self._count = error + 8, Words(kinds).count
        stack = self._words + 8 * self._count
        header = (kernel, error, self._words, stack)
        program = np.array([*header, *_program(kinds, given), to.END], np.int64)
        self._alive = program
        self._program = program.ctypes.data
        self._error = error
        self._size = stack + 8 * (1 + max(map(_depth, kinds), default=0))

    def of(self, arguments: tuple[Any, ...]) -> bytes | None:
        """The words of the arguments, None if they are not what they have to be."""
        memory = (ctypes.c_char * self._size)()
        place = ctypes.addressof(memory)
        if _enter()(id(arguments) + TUPLE_ITEMS, self._program, place) != 0:
            return None
        return ctypes.string_at(place + self._words, 8 * self._count)

    def caller(self, call: Call) -> Callable[[tuple[Any, ...]], Any]:
        """A function that calls the kernel, and answers ``NotImplemented`` for other arguments."""
        from sensor_models.kernels.math.unpacking import NOT_FIT

        enter, program, read, error = _enter(), self._program, call.read, self._error
        memory_of_call, address_of = ctypes.c_char * self._size, ctypes.addressof
        # Memory that is not in use: another thread may call before a result has been read.
        free: list[tuple[Any, int]] = []

        def run(arguments: tuple[Any, ...]) -> Any:
            try:
                own = free.pop()
            except IndexError:
                new = memory_of_call()
                own = new, address_of(new)
            memory, place = own
            status = enter(id(arguments) + TUPLE_ITEMS, program, place)
            if status > 0:
                raise exception_at(place + error)
            result = NotImplemented if status == NOT_FIT else read(memory)
            free.append(own)
            return result

        vars(run)["alive"] = self  # the program is used by its address
        return run


@functools.cache
def _enter() -> Any:
    from sensor_models.kernels.math.unpacking import enter

    size = ctypes.c_ssize_t
    return ctypes.PYFUNCTYPE(ctypes.c_int32, size, size, size)(enter.address)


def quick_words(kinds: tuple[Kind, ...], given: tuple[Kind, ...]) -> QuickWords | None:
    """The quick way to the words of arguments of ``given`` kinds, if there is one."""
    if not _works():
        return None
    try:
        return QuickWords(kinds, given)
    except _NotQuickError:
        return None


def quick_call(call: Call, given: tuple[Kind, ...]) -> Callable[[tuple[Any, ...]], Any] | None:
    """The quick way to call a kernel with arguments of ``given`` kinds, if there is one.

    It answers ``NotImplemented`` for arguments of other kinds. What gives up Python's lock is
    called in two parts, as arguments are read with it.
    """
    words = quick_words(call.arguments, given)
    if words is None:
        return None
    if not call.nogil:
        return QuickWords(call.arguments, given, call.address, call.size).caller(call)

    def run(arguments: tuple[Any, ...]) -> Any:
        found = words.of(arguments)
        return NotImplemented if found is None else call.run(found)

    return run


@functools.cache
def _works() -> bool:
    """Whether values lie where they are expected to lie."""
    if ctypes.sizeof(ctypes.c_void_p) != 8 or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return False
    array = np.arange(24.0).reshape(4, 6)
    arguments: tuple[Any, ...] = (
        *(array, array[1:3, ::2], array.T, array[:0], np.arange(5, dtype=np.int32)),
        *(-1.5, np.float64(0.25), 7, -(2**40) - 3, 0, True, False, (1, (2.0, array[0]), -3)),
    )
    kinds = tuple(map(kind_of, arguments))
    return QuickWords(kinds, kinds).of(arguments) == Words(kinds)(arguments)
