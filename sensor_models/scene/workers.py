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


class ReadersLock:
    """Many may read at once, one may write; a writer that waits goes before new readers."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._readers = 0
        self._writers = 0  # waiting or writing
        self._writing = False

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Hold off writers."""
        with self._changed:
            self._changed.wait_for(lambda: self._writers == 0)
            self._readers += 1
        try:
            yield
        finally:
            with self._changed:
                self._readers -= 1
                self._changed.notify_all()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Wait for readers and hold them off."""
        with self._changed:
            self._writers += 1
            self._changed.wait_for(lambda: self._readers == 0 and not self._writing)
            self._writing = True
        try:
            yield
        finally:
            with self._changed:
                self._writing = False
                self._writers -= 1
                self._changed.notify_all()
