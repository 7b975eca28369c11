"""The thread that writes: one class for frames and records, with a bounded queue.

Tasks are done in the order in which they were put. If the disk is slower than the sensor, ``put``
waits, so memory does not grow. A task catches its own errors and notes what was not written in
``Losses``; the next task is tried again, because a disk that is full now may have space later.

In ``Losses`` an outage begins with the first item that is lost and ends with the next one that is
written.

The thread is a daemon and does not keep the process alive, so the owner of a worker must finish it
at exit. A forked child has no such thread: there ``is_ours`` is false, and the worker must not be
used.
"""

import os
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass


class Worker:
    """A thread that does tasks in order."""

    def __init__(self, name: str, waiting: int) -> None:
        """At most ``waiting`` tasks wait, besides the one that is being done."""
        self._queue: queue.Queue[Callable[[], None] | None] = queue.Queue(waiting)
        self._progress = threading.Condition()
        self._put = self._done = 0
        self._process = os.getpid()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    @property
    def is_ours(self) -> bool:
        """Whether this is the process that the thread is in."""
        return self._process == os.getpid()

    @property
    def taken(self) -> int:
        """How many tasks were put so far."""
        return self._put

    def put(self, task: Callable[[], None]) -> None:
        """Queue a task; waits while too many are queued."""
        self._queue.put(task)
        self._put += 1

    def is_done(self, tasks: int) -> bool:
        """Whether the first so many tasks are done."""
        return self._done >= tasks

    def wait(self, tasks: int | None = None) -> None:
        """Wait until all tasks are done, or the first so many."""
        wanted = self._put if tasks is None else tasks
        with self._progress:
            self._progress.wait_for(lambda: self._done >= wanted)

    def finish(self) -> None:
        """Wait until all is done and end the thread; finishing again does nothing."""
        if self._thread.is_alive():
            self._queue.put(None)
            self._thread.join()

    def _work(self) -> None:
        while (task := self._queue.get()) is not None:
            try:
                task()
            finally:  # callers that wait must not wait for ever
                with self._progress:
                    self._done += 1
                    self._progress.notify_all()


@dataclass
class Outage:
    """A run of lost items."""

    first: int
    last: int
    count: int
    error: Exception

    @property
    def reason(self) -> str:
        """Why, as the system says it."""
        return str(getattr(self.error, "strerror", None) or self.error)


class Losses:
    """What could not be written; items are known by their numbers."""

    def __init__(self) -> None:
        self.count = 0
        #: The error with which the newest outage began, until it is reported.
        self.untold: Exception | None = None
        self._current: Outage | None = None
        self._over: list[Outage] = []
        self._unaccounted = 0
        self._first_error: Exception | None = None
        self._lock = threading.Lock()

    def lose(self, first: int, last: int, error: Exception) -> None:
        """Note that these were not written."""
        count = last - first + 1
        with self._lock:
            self.count += count
            self._unaccounted += count
            self._first_error = self._first_error or error
            if self._current is None:
                self._current = Outage(first, last, count, error)
                self.untold = error
            else:
                self._current.last = last
                self._current.count += count

    def recover(self) -> None:
        """Note that something was written again."""
        with self._lock:
            if self._current is not None:
                self._over.append(self._current)
                self._current = None

    def over(self) -> Outage | None:
        """The oldest outage that has ended and is not yet noted in the index."""
        with self._lock:
            return self._over[0] if self._over else None

    def noted(self) -> None:
        """Mark the oldest outage as noted in the index."""
        with self._lock:
            del self._over[0]

    def news(self) -> Exception | None:
        """The error with which an outage began, if it was not reported yet."""
        with self._lock:
            error, self.untold = self.untold, None
            return error

    def unaccounted(self) -> tuple[int, Exception | None]:
        """How many items were lost since the last call, and why the first one was."""
        with self._lock:
            found = self._unaccounted, self._first_error
            self._unaccounted, self._first_error, self.untold = 0, None, None
            return found
