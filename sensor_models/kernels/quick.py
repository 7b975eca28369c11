"""Words of arguments (``values``) that compiled code writes (``math.unpacking``).

``QuickWords`` has the program that says what the arguments of a call have to be. Whether Python
and NumPy keep values where that code expects them is tried once, with one value of each kind.
"""

import ctypes
import functools
import sys
import sysconfig
from collections.abc import Iterator
from typing import Any

import numpy as np

from sensor_models.kernels.values import Kind, Words, class_at, kind_of

#: Where items begin in a tuple.
_ITEMS = tuple.__basicsize__
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
            yield from (to.TUPLE, id(_class_of(kind)), len(kind) - 2, _ITEMS)
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
    """Makes words of arguments, if they are of the right kinds."""

    def __init__(self, kinds: tuple[Kind, ...], given: tuple[Kind, ...]) -> None:
        """``kinds`` are those of the kernel, ``given`` those of a call."""
        from sensor_models.kernels.math import unpacking as to

        program = np.array([*_program(kinds, given), to.END], np.int64)
        self._unpack = _unpack()
        self._memory = ctypes.c_int64 * Words(kinds).count
        depth = max(map(_depth, kinds), default=0)
        self._stack = (ctypes.c_int64 * (depth + 1))()  # used with Python's lock held
        self._alive = program
        self._program = program.ctypes.data

    def of(self, arguments: tuple[Any, ...]) -> Any:
        """The words of the arguments, None if they are not what they have to be."""
        words = self._memory()
        fit = self._unpack(id(arguments) + _ITEMS, self._program, words, self._stack)
        return words if fit else None


@functools.cache
def _unpack() -> Any:
    from sensor_models.kernels.math.unpacking import unpack

    pointer = ctypes.c_void_p
    return ctypes.PYFUNCTYPE(ctypes.c_int32, ctypes.c_ssize_t, ctypes.c_ssize_t, pointer, pointer)(
        unpack.address
    )


def quick_words(kinds: tuple[Kind, ...], given: tuple[Kind, ...]) -> QuickWords | None:
    """The quick way to the words of arguments of ``given`` kinds, if there is one."""
    if not _works():
        return None
    try:
        return QuickWords(kinds, given)
    except _NotQuickError:
        return None


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
    words = QuickWords(kinds, kinds).of(arguments)
    return words is not None and bytes(words) == Words(kinds)(arguments)
