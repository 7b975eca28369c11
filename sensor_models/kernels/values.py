"""Arguments and results of compiled kernels as they lie in memory.

A kernel takes floats, integers, truth values, arrays and (named) tuples of these. A ``Kind`` tells
how such a value is compiled: two values of one kind can be given to the same machine code. It is
made of names and numbers only, so that it can be written down beside that code, and is equal in
every process.

    ("float", "d")   a number: what it is, and its code in ``struct``
    ("array", "<f8", 2, "C", True)   item, dimensions, order (C, F, A), whether it can be written
    ("tuple", "", kind, ...)   its items; the place of its class, if it is a named one
    ("none",)

Numba's convention has an array as memory information, parent, items, bytes of an item, address,
lengths and strides, and a tuple as its items, one after the other. Each of these is one word of 8
bytes here (``Words``). A result lies in memory as in a C struct, arrays as in that order.

Source: Numba Developer Manual, "Notes on stencils and arrays", ``numba.core.datamodel``; the layout
is private to Numba, whose version is bounded in pyproject.toml.
"""

import ctypes
import importlib
import re
import struct
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from sensor_models.kernels.private import count_of

Kind = tuple[Any, ...]

#: Numbers: what NumPy calls a type, its code in ``struct``, and the type of such a scalar.
_CODES = {
    "float64": "d",
    "float32": "f",
    "int64": "q",
    "int32": "i",
    "int16": "h",
    "int8": "b",
    "uint64": "Q",
    "uint32": "I",
    "uint16": "H",
    "uint8": "B",
    "bool": "?",
}
PLAIN: dict[type, Kind] = {
    float: ("float64", "d"),
    int: ("int64", "q"),
    bool: ("bool", "?"),
    type(None): ("none",),
    **{np.dtype(name).type: (name, code) for name, code in _CODES.items()},
}
_WRITABLE, _ALIGNED = 0x400, 0x100
_NONE: Kind = ("none",)

#: Bytes of a resulting array up to which it is copied: Python takes longer to note an owner.
MOST_COPIED = 4096


class UnknownKindError(TypeError):
    """A value that kernels are not called with; Numba may know it."""


def kind_of(value: Any) -> Kind:
    """The kind of an argument."""
    known = PLAIN.get(type(value))
    if known is not None:
        return known
    if isinstance(value, np.ndarray):
        return _kind_of_array(value)
    if isinstance(value, tuple):
        return ("tuple", place_of(type(value)), *map(kind_of, value))
    if isinstance(value, int):  # an item of an enumeration
        return PLAIN[int]
    raise UnknownKindError(f"kernels take no {type(value).__name__}")


def _kind_of_array(array: Any) -> Kind:
    flags = array.flags.num
    if not flags & _ALIGNED:
        raise UnknownKindError("kernels take no array that is not aligned")
    order = "C" if flags & 1 else "F" if flags & 2 else "A"
    kind = array.dtype
    item = kind.str if kind.names is None else repr(kind.descr)
    return ("array", item, array.ndim, order, bool(flags & _WRITABLE))


def place_of(kind: type) -> str:
    """Module and name of a class of tuples, as they are in every process; "" for plain tuples."""
    if kind is tuple:
        return ""
    package = __name__.partition("sensor_models")[0]  # FMUs have packages of their own names
    return f"{kind.__module__.removeprefix(package)}:{kind.__qualname__}"


def _class_at(place: str) -> Any:
    """The class of tuples at a place."""
    if not place:
        return tuple
    module, name = place.split(":")
    if module.startswith("sensor_models."):
        module = __name__.partition("sensor_models")[0] + module
    return getattr(importlib.import_module(module), name)


def class_at(place: str) -> Callable[[Any], Any]:
    """What makes a tuple of its items."""
    found = _class_at(place)
    make: Callable[[Any], Any] = tuple if found is tuple else found._make
    return make


def fits(given: Kind, wanted: Kind) -> bool:
    """Whether a value of a kind may be given where another one is declared."""
    if given[0] == "array" and wanted[0] == "array":
        same = given[1:3] == wanted[1:3] and (given[4] or not wanted[4])
        return same and wanted[3] in ("A", given[3])
    if "tuple" in (given[0], wanted[0]):
        return (
            given[0] == wanted[0]
            and len(given) == len(wanted)
            and all(map(fits, given[2:], wanted[2:]))
        )
    if given[0] == "array" or wanted[0] == "array" or _NONE in (given, wanted):
        return given == wanted
    return wanted[1] in "df" or given[1] not in "df"


def may_stand_for(given: Kind, wanted: Kind) -> bool:
    """Whether code for a wanted kind gives the same with a value of a given one.

    An array in order may be given where any order is read, and one that can be written where none
    is written; numbers are not converted.
    """
    if given[0] == wanted[0] == "array":
        return fits(given, wanted)
    if given[0] == wanted[0] == "tuple":
        same = given[1] == wanted[1] and len(given) == len(wanted)
        return same and all(map(may_stand_for, given[2:], wanted[2:]))
    return given == wanted


def differences(
    names: Sequence[str], given: Sequence[Kind], wanted: Sequence[Kind]
) -> Iterator[str]:
    """Which of some values are of other kinds than wanted, as texts; fields of tuples by name."""
    for name, kind, other in zip(names, given, wanted, strict=True):
        if may_stand_for(kind, other):
            continue
        if kind[:2] == other[:2] and kind[0] == "tuple" and len(kind) == len(other):
            fields = getattr(_class_at(kind[1]), "_fields", range(len(kind) - 2))
            parts = [f"{name}.{field}" for field in fields]
            yield from differences(parts, kind[2:], other[2:])
        else:
            yield f"{name} is {_words(kind)} and not {_words(other)}"


def _words(kind: Kind) -> str:
    """A kind for messages."""
    return kind[0] if kind[0] not in ("array", "tuple") else repr(kind)


def kinds_in(signature: str) -> list[Kind]:
    """The kinds in a signature of plain numbers, ``int32(intp, float64)``: result, arguments."""
    names = re.findall(r"\w+", signature.replace("intp", "int64"))
    return [_NONE if name == "void" else (name, _CODES[name]) for name in names]


def ctypes_of(kind: Kind) -> Any:
    """A number's type for ctypes."""
    return None if kind == _NONE else np.ctypeslib.as_ctypes_type(np.dtype(kind[0]))


class Words:
    """Makes words of arguments of given kinds."""

    def __init__(self, kinds: tuple[Kind, ...]) -> None:
        codes: list[str] = []
        self._adders = [_adder(kind, codes) for kind in kinds]
        layout = struct.Struct("<" + "".join(codes))
        self._pack, self.count = layout.pack, layout.size // 8

    def __call__(self, arguments: tuple[Any, ...]) -> bytes:
        """The words, one after the other."""
        words: list[Any] = []
        for add, argument in zip(self._adders, arguments, strict=True):
            add(words, argument)
        return self._pack(*words)


def _adder(kind: Kind, codes: list[str]) -> Callable[[list[Any], Any], None]:
    """What adds the words of an argument to others; their codes in ``struct`` go to ``codes``."""
    if kind[0] == "array":
        codes.append(f"QQqqQ{2 * kind[2]}q")
        return _add_array
    if kind[0] == "tuple":
        parts = [_adder(part, codes) for part in kind[2:]]

        def add_all(words: list[Any], value: Any) -> None:
            for add, part in zip(parts, value, strict=True):
                add(words, part)

        return add_all
    if kind == _NONE:
        return _add_nothing
    size = struct.calcsize("<" + kind[1])
    codes.append(kind[1] + ("" if size == 8 else f"{8 - size}x"))
    return list.append


def _add_nothing(words: list[Any], value: Any) -> None:
    """None has no words."""
    del words, value


def _add_array(words: list[Any], array: Any) -> None:
    start = array.__array_interface__["data"][0]
    words += (0, 0, array.size, array.itemsize, start, *array.shape, *array.strides)


class Result:
    """Reads a result of a kind out of memory."""

    def __init__(self, kind: Kind, release: Callable[[int], None]) -> None:
        """``release`` gives back the memory of an array, by the address of its information."""
        size, _, self.read = _reader(kind, 0, release)
        self.size = max(size, 8)


Reader = Callable[[Any], Any]


def _reader(kind: Kind, start: int, release: Callable[[int], None]) -> tuple[int, int, Reader]:
    """Where a result that follows others ends, its alignment, and what reads it of a buffer."""
    if kind == _NONE:
        return start, 1, lambda _: None
    if kind[0] == "array":
        start = -(-start // 8) * 8
        return start + 8 * (5 + 2 * kind[2]), 8, _array_reader(kind, start, release)
    if kind[0] == "tuple":
        return _tuple_reader(kind, start, release)
    size = struct.calcsize("<" + kind[1])
    start = -(-start // size) * size
    unpack = struct.Struct("<" + kind[1]).unpack_from
    return start + size, size, lambda buffer: unpack(buffer, start)[0]


def _alignment(kind: Kind) -> int:
    if kind[0] == "tuple":
        return max(map(_alignment, kind[2:]), default=1)
    return 8 if kind[0] == "array" else 1 if kind == _NONE else struct.calcsize("<" + kind[1])


def _tuple_reader(
    kind: Kind, start: int, release: Callable[[int], None]
) -> tuple[int, int, Reader]:
    alignment = _alignment(kind)
    end = -(-start // alignment) * alignment
    if len(kind) > 2 and all(part[0] in _CODES for part in kind[2:]):
        return _numbers_reader(kind, end)
    readers = []
    for part in kind[2:]:
        end, _, read = _reader(part, end, release)
        readers.append(read)
    make = class_at(kind[1])
    end = -(-end // alignment) * alignment
    return end, alignment, lambda buffer: make([read(buffer) for read in readers])


def _numbers_reader(kind: Kind, start: int) -> tuple[int, int, Reader]:
    """The same for a tuple of numbers alone, which are read at once."""
    alignment, end, codes = _alignment(kind), start, ["<"]
    for _, code in kind[2:]:
        size = struct.calcsize(f"<{code}")
        place = -(-end // size) * size
        codes.append(f"{place - end}x{code}")
        end = place + size
    unpack = struct.Struct("".join(codes)).unpack_from
    end = -(-end // alignment) * alignment
    if not kind[1]:
        return end, alignment, lambda buffer: unpack(buffer, start)
    make = class_at(kind[1])
    return end, alignment, lambda buffer: make(unpack(buffer, start))


def _is_only(information: int) -> bool:
    """Whether a result is the only array in its memory, which a kernel has made."""
    return bool(information) and count_of(information) == 1


def _array_reader(kind: Kind, start: int, release: Callable[[int], None]) -> Reader:
    dimensions, item, is_ordered = kind[2], np.dtype(kind[1]), kind[3] == "C"
    size = item.itemsize
    unpack = struct.Struct(f"<QQqqQ{2 * dimensions}q").unpack_from

    def read(buffer: Any) -> Any:
        information, _, items, _, address, *rest = unpack(buffer, start)
        shape, strides = rest[:dimensions], rest[dimensions:]
        if items == 0:
            array = np.empty(shape, item)
        elif is_ordered and items * size <= MOST_COPIED and _is_only(information):
            array = np.ndarray(shape, item, bytearray(ctypes.string_at(address, items * size)))
        else:
            reach = sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
            memory = (ctypes.c_char * (reach + size)).from_address(address)
            array = np.ndarray(shape, item, memory, 0, strides)
            weakref.finalize(memory, release, information)
            return array
        release(information)
        return array

    return read
