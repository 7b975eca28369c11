r"""Sine and cosine of angles in turns, for loops that are to become vectors.

The functions of a maths library are calls, and a loop with a call in it stays a loop. These are a
rounding to quarters of a turn and two series, of an angle of an eighth of a turn at the most:

    sin(2 pi f) = f sum_k (-1)^k (2 pi)^(2 k + 1) / (2 k + 1)! f^(2 k)
    cos(2 pi f) = sum_k (-1)^k (2 pi)^(2 k) / (2 k)! f^(2 k)

What the series leave out is below 1e-17, and turns, unlike radians, lose nothing when whole ones
are taken off. Turns of up to 2^50 are taken.
"""

import math

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.options import INLINE

#: Added to a number of less than 2^51 and taken off again, it leaves the nearest whole number.
WHOLE = 1.5 * 2.0**52
S0, S1, S2, S3, S4, S5, S6, S7 = (
    (-1) ** k * (2.0 * math.pi) ** (2 * k + 1) / math.factorial(2 * k + 1) for k in range(8)
)
C1, C2, C3, C4, C5, C6, C7, C8 = (
    (-1) ** k * (2.0 * math.pi) ** (2 * k) / math.factorial(2 * k) for k in range(1, 9)
)


@njit(**INLINE)
def rounded(x: float) -> float:
    """The nearest whole number, of two the even one."""
    whole: float = (x + WHOLE) - WHOLE
    return whole


@njit(**INLINE)
def cosine_and_sine(turns: float) -> tuple[float, float]:
    """The cosine and the sine of an angle in turns."""
    left = turns - rounded(turns)
    quarter = rounded(4.0 * left)
    f = left - 0.25 * quarter
    q = f * f
    s = f * (S0 + q * (S1 + q * (S2 + q * (S3 + q * (S4 + q * (S5 + q * (S6 + q * S7)))))))
    c = 1.0 + q * (C1 + q * (C2 + q * (C3 + q * (C4 + q * (C5 + q * (C6 + q * (C7 + q * C8)))))))
    odd = abs(quarter) == 1.0
    along, across = (s, c) if odd else (c, s)
    # A quarter on, cos -> -sin and sin -> cos; half a turn changes both signs.
    x = -along if (quarter == 1.0) | (abs(quarter) == 2.0) else along
    y = -across if (quarter == -1.0) | (abs(quarter) == 2.0) else across
    return x, y
