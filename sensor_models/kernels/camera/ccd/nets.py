r"""Draws that neighbours in a picture divide evenly among themselves.

The points of Sobol's sequence in two dimensions, scrambled: of any 2^m of them whose numbers
follow on a multiple of that, each of the 2^m boxes of equal size that halving the square gives has
one, however the halvings go. A place in the picture has the number that the bits of its row and
its column make in turns (``interleaved``), so the points of each square of 2^k x 2^k places are
such a set: what neighbours find out together is known as well as if they had planned it.

    number   its bits, lowest first, as b_0, b_1, ...
    u        sum b_k 2^-(k+1)
    v        xor of b_k d_k,  d_0 = 1/2,  d_k = d_(k-1) xor d_(k-1)/2
    both     scrambled: a bit is turned or not by what those before it are, and by a word

Source: Sobol' 1967; Owen 1995, as a hash of reversed words by Laine and Karras 2011 with the
numbers of Vegdahl 2021; Ahmed and Wonka 2020 for numbers by places.
"""

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.camera.ccd.lights import Light
from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.philox import block
from sensor_models.kernels.tracing.packets import ACCESS

WORD = np.uint64(0xFFFFFFFF)
ONE = np.uint64(1)
STEP = 2.0**-32
#: The counter of the words that draws are scrambled with.
NET_DRAWS = 1 << 58


@njit(**ACCESS)
def spread_bits(number: int) -> int:
    """A number of 16 bits with a 0 before each of its bits."""
    x = number & 0xFFFF
    x = (x | (x << 8)) & 0x00FF00FF
    x = (x | (x << 4)) & 0x0F0F0F0F
    x = (x | (x << 2)) & 0x33333333
    return (x | (x << 1)) & 0x55555555


@njit(**ACCESS)
def interleaved(row: int, column: int) -> int:
    """The number of a place."""
    place: int = spread_bits(column) | (spread_bits(row) << 1)
    return place


@njit(**ACCESS)
def turned_around(word: np.uint64) -> np.uint64:
    """A word of 32 bits, last bit first."""
    x = ((word >> np.uint64(1)) & np.uint64(0x55555555)) | (
        (word & np.uint64(0x55555555)) << np.uint64(1)
    )
    x = ((x >> np.uint64(2)) & np.uint64(0x33333333)) | (
        (x & np.uint64(0x33333333)) << np.uint64(2)
    )
    x = ((x >> np.uint64(4)) & np.uint64(0x0F0F0F0F)) | (
        (x & np.uint64(0x0F0F0F0F)) << np.uint64(4)
    )
    x = ((x >> np.uint64(8)) & np.uint64(0x00FF00FF)) | (
        (x & np.uint64(0x00FF00FF)) << np.uint64(8)
    )
    return (x >> np.uint64(16)) | ((x & np.uint64(0xFFFF)) << np.uint64(16))


@njit(**ACCESS)
def scrambled(word: np.uint64, seed: np.uint64) -> np.uint64:
    """A word of 32 bits, each turned or not by those below it."""
    x = word ^ ((word * np.uint64(0x3D20ADEA)) & WORD)
    x = (x + seed) & WORD
    x = (x * ((seed >> np.uint64(16)) | ONE)) & WORD
    x ^= (x * np.uint64(0x05526C56)) & WORD
    x ^= (x * np.uint64(0x53A22864)) & WORD
    return x


@njit(**ACCESS)
def second_of(number: np.uint64) -> np.uint64:
    """The second coordinate of a point, last bit first.

    d_k has the bits j for which k over j is odd: those whose ones k has as well (Lucas). So bit j
    is the xor of all b_k whose k has all ones of j.
    """
    x = number & WORD
    x ^= (x >> np.uint64(1)) & np.uint64(0x55555555)
    x ^= (x >> np.uint64(2)) & np.uint64(0x33333333)
    x ^= (x >> np.uint64(4)) & np.uint64(0x0F0F0F0F)
    x ^= (x >> np.uint64(8)) & np.uint64(0x00FF00FF)
    x ^= (x >> np.uint64(16)) & np.uint64(0x0000FFFF)
    return x


@njit(**ACCESS)
def point_of(number: int, one: np.uint64, other: np.uint64) -> tuple[float, float]:
    """Two draws from (0, 1) by a number, with a word of 32 bits for each."""
    word = np.uint64(number) & WORD
    u = turned_around(scrambled(word, one & WORD))
    v = turned_around(scrambled(second_of(word), other & WORD))
    return (np.float64(u) + 0.5) * STEP, (np.float64(v) + 0.5) * STEP


@njit(**ACCESS)
def choose_words(light: Light, words: NDArray[np.uint64]) -> None:
    """Draw the words that all draws of a frame are scrambled with."""
    drawn = block(light.key, light.frame, NET_DRAWS)
    for k in range(4):
        words[k] = drawn[k]
