"""Logs that several sensors of a process write to, in the order of time.

Results come as sensors are stepped, one sensor after the other, and a rolling frame when it is
complete although it began before. Messages are therefore held back until every sensor has come as
far (``passed``), and written in the order of their times. Where one is so far behind that more
than ``MOST_HELD`` bytes wait, the oldest go first; the index of the file then still tells readers
the order.

A file goes to its path at once and is not put there when it is complete, unlike all others: it has
to be readable after a process was killed. Who opens a path that nobody has open begins it anew.
Two processes cannot write to one file.
"""

import atexit
import heapq
import itertools
import math
import os
import threading
import time as clock
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import IO, NamedTuple

from sensor_models.log.mcap import McapWriter, Part, Schema
from sensor_models.output.files import OutputError, output_errors
from sensor_models.output.worker import Worker

#: A chunk is written when it has so many bytes, or is so old.
CHUNK_BYTES, CHUNK_SECONDS = 1 << 20, 1.0
#: Bytes that are held back at most.
MOST_HELD = 1 << 26
#: Tasks that wait for the thread, besides the one that is being done.
QUEUED = 16


class Message(NamedTuple):
    """One message of a log."""

    topic: str
    schema: Schema
    time: float  # s, of what it is about
    parts: tuple[Part, ...]
    #: What a reader should know of the topic.
    metadata: Mapping[str, str] = MappingProxyType({})


class Ticket:
    """One sensor's use of a log."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.passed = -math.inf


class SharedLog:
    """One file and its thread."""

    def __init__(self, path: Path, profile: str) -> None:
        self.path, self.profile = path, profile
        self.users = 0
        self._tickets: list[Ticket] = []
        self._held: list[tuple[int, int, int, Message]] = []
        self._held_bytes = 0
        self._order = itertools.count()
        self._told: set[str] = set()
        self._error: Exception | None = None
        with output_errors(f"cannot write the log {path}"):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._stream = _begin(path)
            self._writer = McapWriter(self._stream, profile)
        self._chunk_begun = clock.monotonic()
        self._worker = Worker("log", QUEUED)

    @property
    def is_ours(self) -> bool:
        """Whether this is the process that writes it; a forked child leaves it to its parent."""
        return self._worker.is_ours

    # ---- from the sensors' threads ------------------------------------------------------------

    def join(self, name: str) -> Ticket:
        """Begin to use it."""
        ticket = Ticket(name)
        self._put(partial(self._tickets.append, ticket))
        return ticket

    def take(self, ticket: Ticket, passed: float, make: Callable[[], Iterable[Message]]) -> None:
        """Write messages soon, which are made on the thread of the log.

        ``passed`` is the instant before which this sensor has no more to tell.

        Raises:
            OutputError: if what was given before could not be written; this is not taken then.
        """
        self._raise()
        self._put(partial(self._do, ticket, passed, make))

    def leave(self, ticket: Ticket) -> None:
        """End the use; waits until all that was given is with the writer."""
        if self.is_ours:
            self._put(partial(self._part, ticket))
            self._worker.wait()

    def first_to_tell(self, what: str) -> bool:
        """Whether nobody has told this before; asked on the thread of the log."""
        news = what not in self._told
        self._told.add(what)
        return news

    def wait(self) -> None:
        """Wait until all that was given is written, as far as it is not held back."""
        if self._worker.is_ours:
            self._worker.wait()
            self._raise()

    def finish(self) -> None:
        """Write all, and the summary."""
        if not self._worker.is_ours:
            return
        self._worker.put(self._finish)
        self._worker.finish()
        self._stream.close()
        self._raise()

    def _put(self, task: Callable[[], None]) -> None:
        if not self._worker.is_ours:
            raise OutputError(f"the log {self.path} cannot be written by a forked child")
        self._worker.put(partial(self._guarded, task))

    def _raise(self) -> None:
        error, self._error = self._error, None
        if error is not None:
            reason = getattr(error, "strerror", None) or error
            raise OutputError(f"cannot write the log {self.path}: {reason}") from error

    # ---- on the thread of the log --------------------------------------------------------------

    def _guarded(self, task: Callable[[], None]) -> None:
        try:
            task()
        except Exception as error:  # all of it belongs to the owner, who asks for it
            self._error = self._error or error

    def _do(self, ticket: Ticket, passed: float, make: Callable[[], Iterable[Message]]) -> None:
        for message in make():
            size = sum(len(part) for part in message.parts)
            entry = nanoseconds(message.time), next(self._order), size, message
            heapq.heappush(self._held, entry)
            self._held_bytes += size
        ticket.passed = passed
        self._release()

    def _part(self, ticket: Ticket) -> None:
        self._tickets.remove(ticket)
        self._release()

    def _release(self, limit: float | None = None) -> None:
        if limit is None:
            limit = min((ticket.passed for ticket in self._tickets), default=math.inf)
        while self._held and (
            self._held[0][3].time < limit or limit == math.inf or self._held_bytes > MOST_HELD
        ):
            time, _, size, message = heapq.heappop(self._held)
            self._held_bytes -= size
            channel = self._writer.channel(message.topic, message.schema, message.metadata)
            self._writer.add(channel, time, time, list(message.parts))
            if self._writer.waiting >= CHUNK_BYTES:
                self._end_chunk()
        if clock.monotonic() - self._chunk_begun > CHUNK_SECONDS:
            self._end_chunk()

    def _end_chunk(self) -> None:
        self._writer.end_chunk()
        self._chunk_begun = clock.monotonic()

    def _finish(self) -> None:
        self._guarded(partial(self._release, math.inf))
        self._guarded(self._writer.finish)


def nanoseconds(time: float) -> int:
    """A time as logs have it: whole nanoseconds, none before 0."""
    return max(round(time * 1e9), 0)


def _begin(path: Path) -> IO[bytes]:
    """An empty file that is ours alone."""
    stream = open(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), "r+b", buffering=0)  # noqa: PTH123, SIM115
    try:
        _lock(stream, path)
        stream.truncate(0)
    except BaseException:
        stream.close()
        raise
    return stream


def _lock(stream: IO[bytes], path: Path) -> None:
    try:
        import fcntl
    except ImportError:  # Windows: who opens a file there may keep others out, we do not
        return
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise OutputError(f"cannot write the log {path}: another process writes it") from error


class _Logs:
    """The open logs of this process."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Start empty; called in a forked child, too."""
        self.lock = threading.RLock()
        self.open: dict[Path, SharedLog] = {}

    def use(self, path: Path, profile: str) -> SharedLog:
        with self.lock:
            log = self.open.get(path)
            if log is None:
                log = self.open[path] = SharedLog(path, profile)
            log.users += 1
            return log

    def leave(self, log: SharedLog) -> None:
        with self.lock:
            log.users -= 1
            if log.users == 0 and self.open.get(log.path) is log:
                del self.open[log.path]
                log.finish()

    def finish_all(self) -> None:
        with self.lock:
            for log in list(self.open.values()):
                log.finish()
            self.open.clear()


_logs = _Logs()
atexit.register(_logs.finish_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_logs.forget)


def use_log(path: str, profile: str = "") -> SharedLog:
    """The log of a path, which all who name it share; ``leave_log`` ends this use."""
    return _logs.use(Path(path).absolute(), profile)


def leave_log(log: SharedLog) -> None:
    """End a use; the last one finishes the file."""
    _logs.leave(log)
