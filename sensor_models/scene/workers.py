"""Threads for kernels that release the global lock, and what keeps threads apart.

Numba's own threading layers each fail somewhere: one aborts the process when two host threads
use it, one does not survive a fork. Here each scene has a pool of its own. The calling thread
works as well, so a call ends even where no other thread can help: in a forked child, or when all
are busy with calls of other threads.
"""

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray


def processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Work:
    """What several threads were asked to do. Whoever waits for it takes part.

    Args:
        function: what each of them calls.
        claims: counts from 0 what of the work the calls have taken over.
        helpers: the calls of other threads; without any, all is done.
    """

    def __init__(
        self,
        function: Callable[[], None],
        claims: NDArray[np.int64],
        helpers: "list[Future[None]]",
    ) -> None:
        self._function, self._claims, self._helpers = function, claims, helpers
        self._process = os.getpid()
        #: Called once all is done.
        self.afterwards: Callable[[], None] | None = None

    @classmethod
    def done(cls) -> "Work":
        """Work of which nothing is left to do."""
        return cls(lambda: None, np.zeros(1, np.int64), [])

    @property
    def is_done(self) -> bool:
        """Whether all is done, so that nobody has to wait; errors are raised by ``end``."""
        return all(helper.done() for helper in self._helpers)

    def end(self) -> None:
        """Do what is left, wait for the others, and raise what one of them has raised."""
        helpers, self._helpers = self._helpers, []
        if helpers and self._process != os.getpid():  # threads do not survive a fork
            self._claims[:] = 0
            self._function()
        else:
            self._take_part(helpers)
        afterwards, self.afterwards = self.afterwards, None
        if afterwards is not None:
            afterwards()

    def _take_part(self, helpers: "list[Future[None]]") -> None:
        try:
            if not all(helper.done() for helper in helpers):
                self._function()
        finally:
            errors = _errors_of(helpers)
        if errors:
            raise errors[0]

    def drop(self) -> None:
        """Wait for those who are at it; what nobody has begun stays undone."""
        helpers, self._helpers, self.afterwards = self._helpers, [], None
        if self._process == os.getpid():
            _errors_of(helpers)


class Workers:
    """Runs a function on several threads at once."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0
        self._making = threading.Lock()

    def begin(self, function: Callable[[], None], claims: NDArray[np.int64], most: int = 0) -> Work:
        """Have each other thread call a function; ``Work.end`` calls it here as well, and waits.

        The calls divide the work by ``claims``, which counts from 0. ``most`` is how many threads
        there is work for, 0 for all. Where there is no other thread, all is done at once.
        """
        others = (min(most, self.threads) if most else self.threads) - 1
        if others == 0:
            function()
        helpers = [self._helpers().submit(function) for _ in range(others)]
        return Work(function, claims, helpers)

    def _helpers(self) -> ThreadPoolExecutor:
        if self._process != os.getpid():  # threads, and who holds a lock, do not survive a fork
            self._pool, self._making, self._process = None, threading.Lock(), os.getpid()
        with self._making:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self.threads - 1, thread_name_prefix="rays")
            return self._pool

    def close(self) -> None:
        """End the threads once they are idle."""
        if self._pool is not None:
            self._pool.shutdown(wait=False)
            self._pool = None


def _errors_of(helpers: "list[Future[None]]") -> list[BaseException]:
    """What helpers have raised, once those have ended that could not be called off."""
    late = [helper for helper in helpers if not helper.cancel()]
    return [error for helper in late if (error := helper.exception()) is not None]


class Users:
    """Counts who uses something that is closed once, when nobody is at it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._number = 0
        self._closed = False

    @contextmanager
    def one_more(self, closed: Callable[[], Exception]) -> Iterator[None]:
        """Use it; once it is closed, what ``closed`` makes is raised."""
        with self._changed:
            if self._closed:
                raise closed()
            self._number += 1
        try:
            yield
        finally:
            with self._changed:
                self._number -= 1
                if self._closed:
                    self._changed.notify_all()

    def close(self) -> bool:
        """Let nobody use it any more and wait for those who do; whether it was open."""
        with self._changed:
            was_open, self._closed = not self._closed, True
            self._changed.wait_for(lambda: self._number == 0)
            return was_open
