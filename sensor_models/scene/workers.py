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
from typing import Any


def processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Workers:
    """Runs a function on several threads at once."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0
        self._making = threading.Lock()

    def run(self, function: Callable[..., Any], *arguments: Any, most: int = 0) -> None:
        """Call a function once in each thread, the calling one too, and wait for all.

        ``most`` is how many threads there is work for, 0 for all.
        """
        others = (min(most, self.threads) if most else self.threads) - 1
        helpers = [self._helpers().submit(function, *arguments) for _ in range(others)]
        try:
            function(*arguments)
        finally:
            late = [helper for helper in helpers if not helper.cancel()]
            errors = [error for helper in late if (error := _error_of(helper)) is not None]
        if errors:
            raise errors[0]

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


def _error_of(helper: "Future[Any]") -> BaseException | None:
    return helper.exception()


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
