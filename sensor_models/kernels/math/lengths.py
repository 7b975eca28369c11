"""The length of a quaternion, rounded as if all before was exact.

Squares and their sum are kept in two parts each (Dekker), so that equal orientations of other
lengths become equal to the last bit.
"""

import math

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.options import INLINE, PLAIN

#: Above this, squares are formed of numbers that are 2^-600 times as large.
HUGE = 1e150


@njit(**INLINE, error_model="numpy")
def split(value: float) -> tuple[float, float]:
    """The upper half of the digits of a number, and the rest (Dekker)."""
    spread = 134217729.0 * value
    upper = spread - (spread - value)
    return upper, value - upper


@njit(**INLINE, error_model="numpy")
def add_square(total: float, rest: float, value: float) -> tuple[float, float]:
    """A sum in two parts, with the square of a number added."""
    square = value * value
    upper, lower = split(value)
    error = ((upper * upper - square) + 2.0 * upper * lower) + lower * lower
    new = total + square
    back = new - total
    return new, rest + error + ((total - (new - back)) + (square - back))


@njit("float64(float64, float64, float64, float64)", **PLAIN, error_model="numpy")
def length_of(w: float, x: float, y: float, z: float) -> float:
    """The length of a quaternion, rounded as if all was exact but for rare cases; or inf, NaN."""
    scale = 1.0
    if max(abs(w), abs(x), abs(y), abs(z)) > HUGE:
        scale = 2.0**-600
        w, x, y, z = scale * w, scale * x, scale * y, scale * z
    total, rest = add_square(w * w * 0.0, 0.0, w)
    total, rest = add_square(total, rest, x)
    total, rest = add_square(total, rest, y)
    total, rest = add_square(total, rest, z)
    if not total > 0.0 or not math.isfinite(total):
        return math.sqrt(total)
    length = math.sqrt(total)
    upper, lower = split(length)
    square = length * length
    error = ((upper * upper - square) + 2.0 * upper * lower) + lower * lower
    length += ((total - square) - error + rest) / (2.0 * length)
    return float(length / scale)
