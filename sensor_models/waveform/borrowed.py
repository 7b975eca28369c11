"""Memory that the full-waveform lidars of a process borrow while they make a part of a frame.

What a part needs is many times larger than what is kept of it: there is room for all echoes that
each pulse may have, and for all samples of its gate. Nobody looks at it after the part, so that
lidars which take their frames one after the other need it once.
"""

import threading
import weakref

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint32]


class Borrowed:
    """Words of memory, each lent to one part of a frame at a time.

    What is given back is kept for the next one until the last user is gone.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a user may end while its thread holds it
        self._free: list[Words] = []
        self._users = 0

    def join(self, user: object) -> None:
        """Keep what is given back as long as this user lives."""
        with self._lock:
            self._users += 1
        weakref.finalize(user, self._leave)

    def _leave(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._free.clear()

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
