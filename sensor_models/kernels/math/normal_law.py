r"""The normal law of mean 0 and variance 1: distribution function and quantiles, compiled.

    distribution  Φ(x) = erfc(-x/√2) / 2
    quantile      the x with Φ(x) = 1/2 + c, for c in (-1/2, 1/2)

Normal draws are quantiles of uniform ones: one word makes one draw, and a draw conditioned on an
interval is the quantile of a share of that interval, of the same word.

Quantile: with the tail t = 1/2 - |c| = 2^e (1 + m), m in [0, 1), each octave e is cut into 16
parts, and on each -Φ^-1(t) is a polynomial of degree 5, through the values of the standard
library (Wichura, algorithm AS 241, Applied Statistics 37, 1988) at the Chebyshev nodes. The
error is below 2e-12, absolutely, between the tails of 2^-54, which are 8.3 standard deviations
away; that is as far as 53 random bits reach. t is exact: c is given from the centre.

Why not a rational function or the method of Box and Muller: exponent and leading bits of t are
the number of the part, so there is no branch to be guessed wrong, no logarithm, no root and no
division. That is 2 ns a draw instead of 10 to 15. Parts of the outer octaves are hardly ever
used, and those of the inner ones (4 kB) stay in the fastest cache.
"""

import math

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.carried import LIBRARIES
from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.bits import number_of, word_of

#: Tails from 2^-54 on; no word of 52 bits makes a shorter one.
OCTAVES = 54
PART_BITS = 4
DEGREE = 5
LONGEST_TAIL_OCTAVE = -2  # [1/4, 1/2); the octave above holds 1/2 alone, whose quantile is 0

#: Layout of a float64: bits of the fraction, and the exponent of 1.
FRACTION_BITS = 52
EXPONENT_OF_ONE = 1023

PART_SHIFT = np.uint64(FRACTION_BITS - PART_BITS)
FIRST_PART = np.uint64((EXPONENT_OF_ONE - OCTAVES) << PART_BITS)
WITHIN_PART = np.uint64((1 << (FRACTION_BITS - PART_BITS)) - 1)
ONE_AS_WORD = np.uint64(EXPONENT_OF_ONE << FRACTION_BITS)
ROW = np.uint64(DEGREE + 1)
PART_STRETCH = 2.0 ** (PART_BITS + 1)

SHORTEST_TAIL = 2.0**-OCTAVES
ROOT_HALF = math.sqrt(0.5)


def _fit_parts() -> NDArray[np.float64]:
    """Coefficients of all parts in a row, lowest power first, of a variable in [-1, 1)."""
    from statistics import NormalDist

    inverse = NormalDist().inv_cdf
    nodes = np.cos(np.pi * (np.arange(DEGREE + 1) + 0.5) / (DEGREE + 1))
    to_powers = np.linalg.inv(np.vander(nodes, increasing=True))
    parts = 1 << PART_BITS
    table = np.zeros((OCTAVES, parts, DEGREE + 1))
    for row, octave in enumerate(range(-OCTAVES, LONGEST_TAIL_OCTAVE + 1)):
        for part in range(parts):
            tails = np.ldexp(1.0 + (part + 0.5 * (nodes + 1.0)) / parts, octave)
            table[row, part] = to_powers @ [-inverse(tail) for tail in tails]
    return table.ravel()


if not LIBRARIES.level():  # kernels that an FMU carries have the table in them
    PARTS = _fit_parts()


@njit(cache=True, forceinline=True)
def quantile(centred: float) -> float:
    """The number that a normal draw stays below with the probability 1/2 + ``centred``.

    Args:
        centred: in (-1/2, 1/2), at least ``SHORTEST_TAIL`` away from both.
    """
    word = word_of(0.5 - abs(centred))
    at = ((word >> PART_SHIFT) - FIRST_PART) * ROW
    within = number_of((word & WITHIN_PART) | ONE_AS_WORD) - 1.0
    x = within * PART_STRETCH - 1.0
    size = PARTS[at + np.uint64(DEGREE)]
    for power in range(DEGREE - 1, -1, -1):
        size = size * x + PARTS[at + np.uint64(power)]
    return math.copysign(size, centred)


@njit(cache=True, forceinline=True)
def distribution(x: float) -> float:
    """The probability that a normal draw is at most ``x``."""
    return 0.5 * math.erfc(-x * ROOT_HALF)
