"""Calls of kernels: their arguments read from where Python keeps these, compiled.

``values.Words`` does the same in Python; for the hundred arrays of a scene that took as long as a
tenth of a sweep of a lidar. Here a program says what the arguments have to be, and one pass both
checks them and writes their words. What does not fit ends it, and Python looks closer. If all fit,
the kernel is called at once, so that a call from Python is one foreign call.

An argument lies where CPython and NumPy have it (``kernels.private``). Nothing of that is promised,
so ``kernels.quick`` tries it with one value of each kind before it relies on it.
"""

from sensor_models.kernels.compiling import cfunc, njit
from sensor_models.kernels.math.memory import call_kernel_at, int32_at, int64_at, put_int64
from sensor_models.kernels.options import INLINE, PLAIN
from sensor_models.kernels.private import (
    ARRAY_DATA,
    ARRAY_DIMENSIONS,
    ARRAY_FLAGS,
    ARRAY_LENGTHS,
    ARRAY_STRIDES,
    ARRAY_TYPE,
    DIGIT_BITS,
    FLOAT_VALUE,
    INTEGER_DIGITS,
    INTEGER_HEAD,
    TUPLE_SIZE,
    TYPE,
)

#: What may come: the end, the end of a tuple, a tuple, an array, and numbers.
END, LEAVE, TUPLE, ARRAY, FLOAT, INTEGER, TRUTH = range(7)
# Words of a program that follow: of a tuple type, size, start of the items; of an array type,
# description, dimensions, mask of flags, flags, bytes of an item; of a float two types; of an
# integer type and whether its sign is in a tag; of a truth value the addresses of both.

#: How a program begins: address of the kernel (0: it is not called), and where in the memory of a
#: call error, words and the stack of tuples are, in bytes; the result is at its start.
KERNEL, ERROR, WORDS, STACK, HEADER = range(5)

#: What ``enter`` answers if an argument does not fit: no kernel gives this back.
NOT_FIT = -1000


@njit(**INLINE)
def array_fits(program: int, at: int, value: int, found: int) -> bool:
    """Whether an array has the type, item type, dimensions and flags that the program says."""
    fits: bool = (
        found == int64_at(program, at + 1)
        and int64_at(value, ARRAY_TYPE) == int64_at(program, at + 2)
        and int32_at(value, ARRAY_DIMENSIONS) == int64_at(program, at + 3)
        and (int32_at(value, ARRAY_FLAGS) & int64_at(program, at + 4)) == int64_at(program, at + 5)
    )
    return fits


@njit(**INLINE)
def put_array(program: int, at: int, value: int, words: int, word: int) -> int:
    """Write the words of an array; the place of the next word."""
    dimensions = int64_at(program, at + 3)
    lengths, strides = int64_at(value, ARRAY_LENGTHS), int64_at(value, ARRAY_STRIDES)
    items = 1
    for k in range(dimensions):
        items *= int64_at(lengths, k)
        put_int64(words, word + 5 + k, int64_at(lengths, k))
        put_int64(words, word + 5 + dimensions + k, int64_at(strides, k))
    put_int64(words, word, 0)
    put_int64(words, word + 1, 0)
    put_int64(words, word + 2, items)
    put_int64(words, word + 3, int64_at(program, at + 6))
    put_int64(words, word + 4, int64_at(value, ARRAY_DATA))
    behind: int = word + 5 + 2 * dimensions
    return behind


@njit(**INLINE)
def put_integer(program: int, at: int, value: int, words: int, word: int) -> bool:
    """Write the word of an integer; False if it has more digits than fit."""
    head = int64_at(value, INTEGER_HEAD)
    if int64_at(program, at + 2) != 0:
        digits, negative = head >> 3, (head & 3) == 2
    else:
        digits, negative = abs(head), head < 0
    if digits > 2:
        return False
    number = int32_at(value, INTEGER_DIGITS) if digits > 0 else 0
    if digits == 2:
        number += int32_at(value, INTEGER_DIGITS + 1) << DIGIT_BITS
    put_int64(words, word, -number if negative else number)
    return True


@njit(**PLAIN)
def unpack(place: int, program: int, words: int, stack: int) -> bool:
    """Write words of the arguments whose addresses begin at ``place``; False if they do not fit."""
    at, depth, word = HEADER, 0, 0
    while True:
        kind = int64_at(program, at)
        if kind == END:
            return True
        if kind == LEAVE:
            depth -= 1
            place = int64_at(stack, depth)
            at += 1
            continue
        value = int64_at(place, 0)
        place += 8
        found = int64_at(value, TYPE)
        one, other = int64_at(program, at + 1), int64_at(program, at + 2)
        if kind == TUPLE:
            if found != one or int64_at(value, TUPLE_SIZE) != other:
                return False
            put_int64(stack, depth, place)
            depth += 1
            place = value + int64_at(program, at + 3)
            at += 4
        elif kind == ARRAY:
            if not array_fits(program, at, value, found):
                return False
            word = put_array(program, at, value, words, word)
            at += 7
        elif kind == FLOAT:
            if found not in (one, other):
                return False
            put_int64(words, word, int64_at(value, FLOAT_VALUE))
            word, at = word + 1, at + 3
        elif kind == INTEGER:
            if found != one or not put_integer(program, at, value, words, word):
                return False
            word, at = word + 1, at + 3
        else:
            if value not in (one, other):
                return False
            put_int64(words, word, 1 if value == one else 0)
            word, at = word + 1, at + 3


@cfunc("int32(intp, intp, intp)")
def enter(place: int, program: int, memory: int) -> int:
    """Call a kernel with the arguments whose addresses begin at ``place``; its status."""
    words, stack = memory + int64_at(program, WORDS), memory + int64_at(program, STACK)
    if not unpack(place, program, words, stack):
        return NOT_FIT
    kernel = int64_at(program, KERNEL)
    if kernel == 0:
        return 0
    status: int = call_kernel_at(kernel, memory, memory + int64_at(program, ERROR), words)
    return status
