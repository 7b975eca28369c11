r"""Exponentials of what decays: e^x and e^x - 1 for x from ``LOWEST`` to 0, compiled.

With n the whole number nearest to x / ln 2 and r = x - n ln 2,

    e^x = 2^n (1 + p),   e^x - 1 = 2^n p + (2^n - 1),   p = e^r - 1

where p is the Taylor series of e^r - 1, whose terms beyond r^13 are below 1e-17 of it for
|r| <= ln 2 / 2. ln 2 is taken off in two parts, the first with so few bits that n times it is
exact. The relative error of both results is below 4e-16.

For loops over the rays of a packet: the standard library's functions are calls, and a loop that
calls anything does not become vectors. These have no branches and look nothing up, so sixteen of
them take the time of two or four. For a single number the standard library is twice as fast.
"""

import math

import numpy as np

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.bits import number_of, word_of

#: e^-700 is close to the least number that has all of its digits.
LOWEST = -700.0

PER_OCTAVE = 1.0 / math.log(2.0)
#: ln 2 to 32 bits, and the rest of it.
LN_2_FIRST, LN_2_REST = 6.93147180369123816490e-01, 1.90821492927058770002e-10
#: Added to a number of less than 2^51, it leaves the nearest whole one in the lowest bits.
ROUNDING = 1.5 * 2.0**52
FRACTION_BITS, EXPONENT_OF_ONE = np.uint64(52), np.uint64(1023)

C_2, C_3, C_4, C_5, C_6, C_7 = (1.0 / math.factorial(n) for n in range(2, 8))
C_8, C_9, C_10, C_11, C_12, C_13 = (1.0 / math.factorial(n) for n in range(8, 14))


@njit(cache=True, forceinline=True)
def _parts(x: float) -> tuple[float, float]:
    """2^n and p."""
    shifted = x * PER_OCTAVE + ROUNDING
    n = shifted - ROUNDING
    r = (x - n * LN_2_FIRST) - n * LN_2_REST
    tail = C_8 + r * (C_9 + r * (C_10 + r * (C_11 + r * (C_12 + r * C_13))))
    p = r + r * r * (C_2 + r * (C_3 + r * (C_4 + r * (C_5 + r * (C_6 + r * (C_7 + r * tail))))))
    return number_of((word_of(shifted) + EXPONENT_OF_ONE) << FRACTION_BITS), p


@njit(cache=True, forceinline=True)
def decayed(x: float) -> float:
    """e^x for x of [``LOWEST``, 0]."""
    power, p = _parts(x)
    return float(power + power * p)


@njit(cache=True, forceinline=True)
def decayed_less_one(x: float) -> float:
    """e^x - 1 for x of [``LOWEST``, 0], to the last digits near 0, too."""
    power, p = _parts(x)
    return float(power * p + (power - 1.0))
