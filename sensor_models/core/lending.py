"""Memory that the sensors of a process lend to one another.

What a sensor needs only while it makes a frame, or a part of one, is many times larger than what it
keeps. Sensors that take their frames one after the other need it once.
"""

import threading
import weakref
from typing import Generic, TypeVar

T = TypeVar("T")


class Lending(Generic[T]):
    """Things that are lent to one user at a time; kept for the next one until the last is gone.

    Which of the free ones fits, and which are kept, is for those to say who inherit this.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a user may end while its thread holds it
        self._free: list[T] = []
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
