"""The words of a kernel's arguments, read from where Python keeps these: compiled.

``values.Words`` does the same in Python; for the hundred arrays of a scene that took as long as a
tenth of a sweep of a lidar. Here a program says what the arguments have to be, and one pass both
checks them and writes their words. What does not fit ends it, and Python looks closer.

An argument lies where CPython and NumPy have it on 64-bit machines: type behind the count of
references; of a tuple its size and items; of an array address, dimensions, lengths, strides,
description, flags; of a float its value; of an integer digits of 30 bits. Nothing of this is
promised, so ``kernels.compiling`` tries it with one value of each kind before it relies on it.
"""

from sensor_models.kernels.compiling import cfunc
from sensor_models.kernels.math.memory import int32_at, int64_at, put_int64

#: What may come: the end, the end of a tuple, a tuple, an array, and numbers.
END, LEAVE, TUPLE, ARRAY, FLOAT, INTEGER, TRUTH = range(7)
# Words of a program that follow: of a tuple type, size, start of the items; of an array type,
# description, dimensions, mask of flags, flags, bytes of an item; of a float two types; of an
# integer type and whether its sign is in a tag; of a truth value the addresses of both.

DIGIT_BITS = 30


@cfunc("int32(intp, intp, intp, intp)")
def unpack(place: int, program: int, words: int, stack: int) -> int:
    """Write words of the arguments whose addresses begin at ``place``; 0 if they do not fit."""
    at, depth, word = 0, 0, 0
    while True:
        kind = int64_at(program, at)
        if kind == END:
            return 1
        if kind == LEAVE:
            depth -= 1
            place = int64_at(stack, depth)
            at += 1
            continue
        value = int64_at(place, 0)
        place += 8
        found = int64_at(value, 1)
        if kind == TUPLE:
            if found != int64_at(program, at + 1) or int64_at(value, 2) != int64_at(
                program, at + 2
            ):
                return 0
            put_int64(stack, depth, place)
            depth += 1
            place = value + int64_at(program, at + 3)
            at += 4
        elif kind == ARRAY:
            dimensions = int64_at(program, at + 3)
            if (
                found != int64_at(program, at + 1)
                or int64_at(value, 7) != int64_at(program, at + 2)
                or int32_at(value, 6) != dimensions
                or (int32_at(value, 16) & int64_at(program, at + 4)) != int64_at(program, at + 5)
            ):
                return 0
            lengths, strides = int64_at(value, 4), int64_at(value, 5)
            items = 1
            for k in range(dimensions):
                items *= int64_at(lengths, k)
                put_int64(words, word + 5 + k, int64_at(lengths, k))
                put_int64(words, word + 5 + dimensions + k, int64_at(strides, k))
            put_int64(words, word, 0)
            put_int64(words, word + 1, 0)
            put_int64(words, word + 2, items)
            put_int64(words, word + 3, int64_at(program, at + 6))
            put_int64(words, word + 4, int64_at(value, 2))
            word += 5 + 2 * dimensions
            at += 7
        elif kind == FLOAT:
            if found != int64_at(program, at + 1) and found != int64_at(program, at + 2):
                return 0
            put_int64(words, word, int64_at(value, 2))
            word += 1
            at += 3
        elif kind == INTEGER:
            if found != int64_at(program, at + 1):
                return 0
            head = int64_at(value, 2)
            if int64_at(program, at + 2) != 0:
                digits, negative = head >> 3, (head & 3) == 2
            else:
                digits, negative = abs(head), head < 0
            if digits > 2:
                return 0
            number = int32_at(value, 6) if digits > 0 else 0
            if digits == 2:
                number += int32_at(value, 7) << DIGIT_BITS
            put_int64(words, word, -number if negative else number)
            word += 1
            at += 3
        else:
            if value != int64_at(program, at + 1) and value != int64_at(program, at + 2):
                return 0
            put_int64(words, word, 1 if value == int64_at(program, at + 1) else 0)
            word += 1
            at += 3
