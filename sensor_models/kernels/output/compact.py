"""Point clouds without gaps: the valid points of all rays, one behind the other.

A point is a row of words of 4 bytes. The rays have room for the same number of returns, of which
the first ``counts[ray]`` are valid.
"""

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.memory import move_bytes


@njit(nogil=True, cache=True)
def compact_words(
    words: NDArray[np.uint32],
    returns: int,
    counts: NDArray[np.uint8],
    compacted: NDArray[np.uint32],
) -> None:
    """Copy the valid points of ``words`` (rays * returns, words) in the order of the rays.

    Of each point the first words are taken, as many as the target has.
    """
    wanted = compacted.shape[1]
    place = 0
    for ray in range(counts.shape[0]):
        for number in range(counts[ray]):
            for word in range(wanted):
                compacted[place, word] = words[ray * returns + number, word]
            place += 1


@njit(nogil=True, cache=True)
def pack_words(words: NDArray[np.uint32], returns: int, counts: NDArray[np.uint8]) -> int:
    """Move the valid points of ``words`` to its beginning; how many there are.

    Points that lie one behind the other are moved together, which takes a third of the time of
    moving them word by word: a column of a lidar that sees the ground is one segment.
    """
    start, size = words.ctypes.data, 4 * words.shape[1]
    place = first = count = 0  # points that are moved; the next segment, and how many it has
    for ray in range(counts.shape[0]):
        if counts[ray] == 0:
            continue
        if ray * returns != first + count:
            if first != place:
                move_bytes(start + place * size, start + first * size, count * size)
            place, first, count = place + count, ray * returns, 0
        count += counts[ray]
    if first != place:
        move_bytes(start + place * size, start + first * size, count * size)
    return place + count
