"""Threads for kernels that release the global lock, and counting of users.

Each of Numba's own threading layers fails somewhere: one aborts the process when two host threads
use it, one does not survive a fork. Here whoever needs threads has a pool of his own, as each ray
scene has. The calling thread works as well, so a call ends even if no other thread can help: in a
forked child, or when all are busy with calls of other threads.
"""

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: For how long a thread gives way to one that is to begin, s: to wake up takes some 50 us.
TO_BEGIN = 2e-4


def processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Work:
    """Work that several threads do. A thread that waits for it takes part.

    Args:
        function: the function that each thread calls.
        claims: the first counts from 0 the parts of the work that the calls have taken.
        helpers: the calls of other threads; if there are none, all work is done.
        begun: set by the first of them.
    """

    def __init__(
        self,
        function: Callable[[], None],
        claims: NDArray[np.int64],
        helpers: "list[Future[None]]",
        begun: threading.Event | None = None,
    ) -> None:
        self._function, self._claims, self._helpers = function, claims, helpers
        self._begun = begun
        self._process = os.getpid()
        #: Called when all work is done.
        self.afterwards: Callable[[], None] | None = None

    @classmethod
    def done(cls) -> "Work":
        """Work that is finished."""
        return cls(lambda: None, np.zeros(1, np.int64), [])

    @property
    def is_done(self) -> bool:
        """Whether all is done, so that nobody has to wait; errors are raised by ``end``."""
        return all(helper.done() for helper in self._helpers)

    def let_begin(self) -> None:
        """Give way until another thread has begun, or is busy elsewhere.

        For who goes on with Python: as long as the global lock is kept, no other thread begins.
        """
        if self._begun is not None and self._process == os.getpid():
            self._begun.wait(TO_BEGIN)

    def end(self) -> None:
        """Do the rest, wait for the others, and raise an error that one of them has raised."""
        helpers, self._helpers = self._helpers, []
        if helpers and self._process != os.getpid():  # threads do not survive a fork
            self._claims[0] = 0
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
        """Wait for threads that are working; parts that none has begun stay undone."""
        helpers, self._helpers, self.afterwards = self._helpers, [], None
        if self._process == os.getpid():
            _errors_of(helpers)


class Pool:
    """Runs functions on several threads at once."""

    def __init__(self, threads: int = 0) -> None:
        """``threads`` is their number, 0 for one each processor."""
        self.threads = threads or processors()
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0
        self._making = threading.Lock()

    def run(self, kernel: Callable[..., Any], *arguments: Any) -> None:
        """Call ``kernel(claims, *arguments)`` on all threads and wait for them.

        The kernel must release the global lock; it divides its work by ``claim(claims)``.
        """
        claims = self.new_claims()
        self.begin(lambda: kernel(claims, *arguments), claims).end()

    def new_claims(self, most: int = 0) -> NDArray[np.int64]:
        """For ``begin``: no part is taken, and how many threads there are to take them."""
        return np.array([0, min(most, self.threads) if most else self.threads], np.int64)

    def begin(self, function: Callable[[], None], claims: NDArray[np.int64], most: int = 0) -> Work:
        """Let each other thread call a function; ``Work.end`` also calls it here, and waits.

        The calls divide the work by ``claims`` (``new_claims``). ``most`` is the number of
        threads that there is work for; 0 for all. If there is no other thread, all is done here at
        once.
        """
        others = (min(most, self.threads) if most else self.threads) - 1
        if others == 0:
            function()
            return Work.done()
        begun = threading.Event()

        def help_out() -> None:
            begun.set()
            function()

        helpers = [self._helpers().submit(help_out) for _ in range(others)]
        return Work(function, claims, helpers, begun)

    def _helpers(self) -> ThreadPoolExecutor:
        if self._process != os.getpid():  # threads, and holders of locks, do not survive a fork
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
    """Errors of helpers, after waiting for those that could not be cancelled."""
    late = [helper for helper in helpers if not helper.cancel()]
    return [error for helper in late if (error := helper.exception()) is not None]


class Users:
    """Counts the users of something that is closed once, when it has no users."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._number = 0
        self._closed = False

    @contextmanager
    def one_more(self, closed: Callable[[], Exception]) -> Iterator[None]:
        """Count a user; if it is closed, the error that ``closed`` makes is raised."""
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
        """Admit no more users and wait for the present ones; returns whether it was open."""
        with self._changed:
            was_open, self._closed = not self._closed, True
            self._changed.wait_for(lambda: self._number == 0)
            return was_open
