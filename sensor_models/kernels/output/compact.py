"""Point clouds without gaps: the valid points of all rays, one behind the other.

A point is a row of words of 4 bytes. The rays have room for the same number of returns, of which
the first ``counts[ray]`` are valid.
"""

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit


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
    """Move the valid points of ``words`` to its beginning; how many there are."""
    width = words.shape[1]
    place = 0
    for ray in range(counts.shape[0]):
        for number in range(counts[ray]):
            source = ray * returns + number
            if source != place:
                for word in range(width):
                    words[place, word] = words[source, word]
            place += 1
    return place
