"""Counter-based random numbers: Philox4x64-10, compiled.

A block of four 64-bit words is a function of a key k (2 words) and a counter c (4 words), here
c = (sample, lane, 0, 0). Ten rounds of

    (c0, c1, c2, c3) <- (high(m1 c2) ^ c1 ^ k0,  low(m1 c2),  high(m0 c0) ^ c3 ^ k1,  low(m0 c0))
    (k0, k1) <- (k0 + w0, k1 + w1)

with the constants m, w of the source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as
easy as 1, 2, 3", SC11, section 3.3 and table 2.

Word 0 becomes the uniform draw, words 1 and 2 the normal one (Box and Muller, 1958), so the two
draws of one counter are independent. Only one of the two normals of a pair is used: a draw that
depended on its neighbour would not be a function of its own counter. Where the draws of one
sample belong together (the axes of a sensor), all four words of a block become normal draws, each
by itself, as the quantile of a uniform one (``normals``), or uniform ones (``uniforms``).

A key stands for one error term of one sensor (``sensor_models.core.random``). Samples count from 0.
Lanes tell apart the draws of one sample: axes, rays, stages.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import intrinsic, njit
from sensor_models.kernels.math.normal_law import quantile

#: The two words of a key: a view of an array, or numbers.
Key = NDArray[np.uint64] | tuple[np.uint64, np.uint64]

MULTIPLIER_0 = np.uint64(0xD2E7470EE14C6C93)
MULTIPLIER_1 = np.uint64(0xCA5A826395121157)
WEYL_0 = np.uint64(0x9E3779B97F4A7C15)
WEYL_1 = np.uint64(0xBB67AE8584CAA73B)
ZERO = np.uint64(0)
ROUNDS = 10

# With 52 bits, half a step may be added without rounding, at the upper end too: 0 and 1 are
# never drawn, and the largest normal draw is sqrt(106 ln 2) = 8.57.
DROPPED_BITS = np.uint64(12)
STEP = 2.0**-52


@intrinsic
def _high_word(_context: Any, _a: Any, _b: Any) -> Any:
    """Upper 64 bits of the product of two unsigned words: one machine instruction."""
    from llvmlite import ir
    from numba import types

    def emit(_target: Any, builder: Any, _signature: Any, factors: Any) -> Any:
        wide = ir.IntType(128)
        product = builder.mul(builder.zext(factors[0], wide), builder.zext(factors[1], wide))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), emit


@njit(cache=True)
def block(key: Key, sample: int, lane: int) -> tuple[np.uint64, ...]:
    """The four random words of one counter."""
    c0, c1, c2, c3 = np.uint64(sample), np.uint64(lane), ZERO, ZERO
    k0, k1 = key[0], key[1]
    for _ in range(ROUNDS):
        high_0, low_0 = _high_word(MULTIPLIER_0, c0), MULTIPLIER_0 * c0
        high_1, low_1 = _high_word(MULTIPLIER_1, c2), MULTIPLIER_1 * c2
        c0, c1, c2, c3 = high_1 ^ c1 ^ k0, low_1, high_0 ^ c3 ^ k1, low_0
        k0, k1 = k0 + WEYL_0, k1 + WEYL_1
    return c0, c1, c2, c3


@njit(cache=True)
def open_unit(word: np.uint64) -> float:
    """A random word as a number in the open interval (0, 1)."""
    return (np.float64(word >> DROPPED_BITS) + 0.5) * STEP


@njit(cache=True)
def uniform(key: Key, sample: int, lane: int) -> float:
    """A draw from the uniform distribution on the open interval (0, 1)."""
    draw: float = open_unit(block(key, sample, lane)[0])
    return draw


@njit(cache=True)
def normal(key: Key, sample: int, lane: int) -> float:
    """A draw from the normal distribution of mean 0 and variance 1."""
    _, radial, angular, _ = block(key, sample, lane)
    radius = math.sqrt(-2.0 * math.log(open_unit(radial)))
    return radius * math.cos(2.0 * math.pi * open_unit(angular))


@njit(cache=True, forceinline=True)
def uniforms(key: Key, sample: int, lane: int) -> tuple[float, float, float, float]:
    """Four uniform draws on (0, 1), of the whole block of a counter."""
    a, b, c, d = block(key, sample, lane)
    return open_unit(a), open_unit(b), open_unit(c), open_unit(d)


@njit(cache=True, forceinline=True)
def centred_uniforms(key: Key, sample: int, lane: int) -> tuple[float, float, float, float]:
    """Four uniform draws on (-1/2, 1/2), of the whole block of a counter."""
    a, b, c, d = block(key, sample, lane)
    return open_unit(a) - 0.5, open_unit(b) - 0.5, open_unit(c) - 0.5, open_unit(d) - 0.5


@njit(cache=True, forceinline=True)
def normals(key: Key, sample: int, lane: int) -> tuple[float, float, float, float]:
    """Four normal draws, of the whole block of a counter: the quantiles of its uniform ones.

    A stream is drawn from either here or by ``uniform`` and ``normal``: they share words.
    """
    a, b, c, d = centred_uniforms(key, sample, lane)
    return quantile(a), quantile(b), quantile(c), quantile(d)
