"""Memory that the full-waveform lidars of a process borrow while they make a part of a frame.

A part needs room for all echoes that each pulse may have, and for all samples of its gate. Nobody
looks at it after the part.
"""

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.lending import Lending

Words = NDArray[np.uint32]


class Borrowed(Lending[Words]):
    """Words of memory, each lent to one part of a frame at a time."""

    def take(self, count: int) -> Words:
        """At least so many words; anything may be in them."""
        with self._lock:
            fits = [place for place, words in enumerate(self._free) if len(words) >= count]
            if fits:
                return self._free.pop(min(fits, key=lambda place: len(self._free[place])))
            if self._free:  # too small for this one, and so for those that are like it
                self._free.pop()
        return np.empty(count, np.uint32)

    def give(self, words: Words) -> None:
        """Have others take it."""
        with self._lock:
            if self._users > 0:
                self._free.append(words)


#: That of this process.
MEMORY = Borrowed()
