"""Uniform draws of many blocks of random words at a time, in vectors.

Processors multiply words of 64 bits to products of 128 one at a time, and have vectors for those
of 32 bits only. Products that are put together of four of these take more steps, but eight blocks
take them at once, which is half the time. The words are those of ``math.philox``, to the bit.
"""

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.philox import (
    MULTIPLIER_0,
    MULTIPLIER_1,
    WEYL_0,
    WEYL_1,
    ZERO,
    centred_uniforms,
    open_unit,
)
from sensor_models.kernels.tracing.packets import ACCESS

Word = np.uint64
Words = tuple[np.uint64, np.uint64, np.uint64, np.uint64, np.uint64, np.uint64]

#: Blocks that are made together; those that are left are made one by one.
TOGETHER = 8
HALF_WORD, LOW = np.uint64(32), np.uint64(0xFFFFFFFF)


@njit(**ACCESS)
def product(a: Word, b: Word) -> tuple[Word, Word]:
    """The upper and the lower word of a product."""
    a_low, a_high, b_low, b_high = a & LOW, a >> HALF_WORD, b & LOW, b >> HALF_WORD
    lowest, inner = a_low * b_low, a_high * b_low
    middle = a_low * b_high + (lowest >> HALF_WORD)
    inner += middle & LOW
    high = a_high * b_high + (middle >> HALF_WORD) + (inner >> HALF_WORD)
    return high, (inner << HALF_WORD) | (lowest & LOW)


@njit(**ACCESS)
def round_of(words: Words) -> Words:
    """A round: the counter and the key after it."""
    c0, c1, c2, c3, k0, k1 = words
    high_0, low_0 = product(MULTIPLIER_0, c0)
    high_1, low_1 = product(MULTIPLIER_1, c2)
    return high_1 ^ c1 ^ k0, low_1, high_0 ^ c3 ^ k1, low_0, k0 + WEYL_0, k1 + WEYL_1


@njit(**{**ACCESS, "forceinline": False})
def draw_uniforms(
    key: NDArray[np.uint64],
    draws: NDArray[np.float64],
    sample: int,
    lane: int,
    blocks: int,
) -> None:
    """Four draws on (-1/2, 1/2) of each of some blocks, from a lane on, one behind the other."""
    k0, k1, together = key[0], key[1], blocks & -TOGETHER
    for number in range(together):
        words = round_of((Word(sample), Word(lane + number), ZERO, ZERO, k0, k1))
        # Ten of them; a loop in this one would keep it from becoming vectors.
        words = round_of(round_of(round_of(words)))
        words = round_of(round_of(round_of(words)))
        words = round_of(round_of(round_of(words)))
        draws[4 * number] = open_unit(words[0]) - 0.5
        draws[4 * number + 1] = open_unit(words[1]) - 0.5
        draws[4 * number + 2] = open_unit(words[2]) - 0.5
        draws[4 * number + 3] = open_unit(words[3]) - 0.5
    for number in range(together, blocks):
        a, b, c, d = centred_uniforms(key, sample, lane + number)
        own = draws[4 * number :]
        own[0], own[1], own[2], own[3] = a, b, c, d
