"""SIMD operations on eight float32 numbers at once, for loops too short for LLVM's vectors.

LLVM makes a vector loop only of what it expects to be long. Two dozen numbers, the real and
imaginary parts of a dozen channels, are fewer than one turn of such a loop takes, so they went one
by one. Here eight numbers are one operation; a processor without such registers takes two or more.

Nothing is checked: addresses are those of eight numbers in memory that something keeps alive.
"""

import math
from typing import Any

import numpy as np

from sensor_models.kernels.compiling import intrinsic, njit
from sensor_models.kernels.math.turns import rounded
from sensor_models.kernels.options import INLINE

EIGHT = 8
#: Bytes of eight numbers.
BYTES = 4 * EIGHT

_S0, _S1, _S2, _S3, _S4 = (
    np.float32((-1) ** k * (2.0 * math.pi) ** (2 * k + 1) / math.factorial(2 * k + 1))
    for k in range(5)
)
_C1, _C2, _C3, _C4, _C5 = (
    np.float32((-1) ** k * (2.0 * math.pi) ** (2 * k) / math.factorial(2 * k)) for k in range(1, 6)
)
_QUARTER, _ONE, _TWO, _FOUR = (np.float32(number) for number in (0.25, 1.0, 2.0, 4.0))
#: Added to a small number and taken off again, it leaves the nearest whole number.
_WHOLE = np.float32(1.5 * 2.0**23)


def _vector() -> Any:
    """The type of eight numbers."""
    from llvmlite import ir

    return ir.VectorType(ir.FloatType(), EIGHT)


def _at(builder: Any, address: Any) -> Any:
    """A pointer to eight numbers."""
    return builder.inttoptr(address, _vector().as_pointer())


def _all(builder: Any, number: Any) -> Any:
    """Eight times the same number."""
    from llvmlite import ir

    word = ir.IntType(32)
    one = builder.insert_element(ir.Constant(_vector(), ir.Undefined), number, ir.Constant(word, 0))
    return builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(word, EIGHT), None))


@intrinsic
def add_eight(_context: Any, _target: Any, _source: Any, _weight: Any) -> Any:
    """Add a weight times eight numbers to eight others, by their addresses."""
    from numba import types

    def emit(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        target, source = _at(builder, arguments[0]), _at(builder, arguments[1])
        share = builder.fmul(_all(builder, arguments[2]), builder.load(source, align=4))
        builder.store(builder.fadd(builder.load(target, align=4), share), target, align=4)
        return context.get_dummy_value()

    return types.void(types.intp, types.intp, types.float32), emit


@intrinsic
def add_eight_to_both(
    _context: Any, _target: Any, _other: Any, _source: Any, _weight: Any, _other_weight: Any
) -> Any:
    """As ``add_eight`` to two, each with a weight of its own; they do not lap over."""
    from numba import types

    def emit(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        target, other, source = (_at(builder, address) for address in arguments[:3])
        numbers = builder.load(source, align=4)
        sums = [
            builder.fadd(builder.load(place, align=4), builder.fmul(_all(builder, weight), numbers))
            for place, weight in zip((target, other), arguments[3:], strict=True)
        ]
        for place, total in zip((target, other), sums, strict=True):
            builder.store(total, place, align=4)
        return context.get_dummy_value()

    return types.void(types.intp, types.intp, types.intp, types.float32, types.float32), emit


@intrinsic
def copy_eight(_context: Any, _target: Any, _source: Any) -> Any:
    """Write as much memory as eight numbers take to another address."""
    from numba import types

    def emit(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        target, source = (_at(builder, address) for address in arguments)
        builder.store(builder.load(source, align=4), target, align=4)
        return context.get_dummy_value()

    return types.void(types.intp, types.intp), emit


@intrinsic
def mix_eight(_context: Any, _target: Any, _one: Any, _other: Any, _share: Any) -> Any:
    """Write eight numbers between those at two addresses, at a share of the way."""
    from numba import types

    def emit(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        target, one, other = (_at(builder, address) for address in arguments[:3])
        first = builder.load(one, align=4)
        way = builder.fsub(builder.load(other, align=4), first)
        way = builder.fmul(_all(builder, arguments[3]), way)
        builder.store(builder.fadd(first, way), target, align=4)
        return context.get_dummy_value()

    return types.void(types.intp, types.intp, types.intp, types.float32), emit


@intrinsic
def multiply_eight(_context: Any, _target: Any, _one: Any, _other: Any, _apart: Any) -> Any:
    """Write the products of eight complex numbers by the addresses of their real parts.

    The imaginary parts are so many bytes further on.
    """
    from numba import types

    def emit(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        *places, apart = arguments
        real, a, c = (_at(builder, place) for place in places)
        imaginary, b, d = (_at(builder, builder.add(place, apart)) for place in places)
        a, b, c, d = (builder.load(place, align=4) for place in (a, b, c, d))
        along = builder.fsub(builder.fmul(a, c), builder.fmul(b, d))
        across = builder.fadd(builder.fmul(a, d), builder.fmul(b, c))
        builder.store(along, real, align=4)
        builder.store(across, imaginary, align=4)
        return context.get_dummy_value()

    return types.void(types.intp, types.intp, types.intp, types.intp), emit


@intrinsic
def turn_eights(_context: Any, _target: Any, _apart: Any, _source: Any, _far: Any) -> Any:
    """Write eight rows of eight numbers as columns.

    Rows are so many bytes ``_apart`` where they go, and ``_far`` where they come from.
    """
    from llvmlite import ir
    from numba import types

    half, word = EIGHT // 2, ir.IntType(32)
    halves = [
        ir.Constant(
            ir.VectorType(word, EIGHT),
            [first + k // 2 + EIGHT * (k % 2) for k in range(EIGHT)],
        )
        for first in (0, half)
    ]

    def emit(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        target, apart, source, far = arguments
        rows = []
        for _ in range(EIGHT):
            rows.append(builder.load(_at(builder, source), align=4))
            source = builder.add(source, far)
        for _ in range(3):  # each time, rows four apart are put into each other
            pairs = list(zip(rows[:half], rows[half:], strict=True))
            rows = [builder.shuffle_vector(*pair, mask) for pair in pairs for mask in halves]
        for row in rows:
            builder.store(row, _at(builder, target), align=4)
            target = builder.add(target, apart)
        return context.get_dummy_value()

    return types.void(types.intp, types.intp, types.intp, types.intp), emit


@intrinsic
def fetch(_context: Any, _address: Any) -> Any:
    """Have memory brought into the cache that is read soon."""
    from llvmlite import ir
    from numba import types

    def emit(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        word, pointer = ir.IntType(32), ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [pointer, word, word, word])
        function = builder.module.globals.get("llvm.prefetch.p0i8") or ir.Function(
            builder.module, kind, "llvm.prefetch.p0i8"
        )
        numbers = [ir.Constant(word, number) for number in (0, 3, 1)]  # read, keep, data
        builder.call(function, [builder.inttoptr(arguments[0], pointer), *numbers])
        return context.get_dummy_value()

    return types.void(types.intp), emit


@njit(**INLINE)
def single_cosine_and_sine(turns: float) -> tuple[np.float32, np.float32]:
    """The cosine and the sine of an angle in turns, as float32: to 1e-7 (``math.turns``)."""
    left = np.float32(turns - rounded(turns))
    quarter = (_FOUR * left + _WHOLE) - _WHOLE
    f = left - _QUARTER * quarter
    q = f * f
    s = f * (_S0 + q * (_S1 + q * (_S2 + q * (_S3 + q * _S4))))
    c = _ONE + q * (_C1 + q * (_C2 + q * (_C3 + q * (_C4 + q * _C5))))
    odd, half = abs(quarter) == _ONE, abs(quarter) == _TWO
    along, across = (s, c) if odd else (c, s)
    # A quarter on, cos -> -sin and sin -> cos; half a turn changes both signs.
    x = -along if (quarter == _ONE) | half else along
    y = -across if (quarter == -_ONE) | half else across
    return x, y
