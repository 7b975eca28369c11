"""Logs that several sensors of a process write to, in the order of time.

Results come as sensors are stepped, one sensor after the other, and a rolling frame when it is
complete although it began before. Messages are therefore held back until every sensor has come as
far (``passed``), and written in the order of their times. Where one is so far behind that more
than ``MOST_HELD`` bytes wait, the oldest go first; the index of the file then still tells readers
the order.

What a full disk does not take is lost: a chunk, and with it what was told once in it (the meshes of
a scene, fixed frames), which is therefore told again. The messages that are lost are counted; an
outage is an error when it begins (``report``), and how many messages it took when the run ends
(``publish``, ``finish``).

A log whose path is an address (``live``) has no file: messages go to viewers that are connected.

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
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import IO, NamedTuple, Protocol

from sensor_models.log.live import Address, LiveServer, address_of, is_live
from sensor_models.log.mcap import McapWriter, Part, Schema
from sensor_models.output.files import OutputError, output_errors
from sensor_models.output.worker import Losses, Worker

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
    #: What it tells once in a log (``SharedLog.first_to_tell``); empty for what comes each time.
    once: str = ""


class Ticket:
    """One sensor's use of a log."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.passed = -math.inf


class Writer(Protocol):
    """Where the messages of a log go."""

    @property
    def waiting(self) -> int:
        """Bytes that are held back."""

    @property
    def messages(self) -> int:
        """Messages that are held back."""

    @property
    def wanted(self) -> bool:
        """Whether there is anybody to write for."""

    def newcomers(self) -> bool:
        """Whether somebody has come, since this was asked, who missed what was told once."""

    def channel(self, topic: str, schema: Schema, metadata: Mapping[str, str]) -> int:
        """The number of a topic with messages of one kind."""

    def add(self, channel: int, time: int, published: int, parts: list[Part]) -> None:
        """Take a message."""

    def end_chunk(self) -> None:
        """Write what is held back."""

    def finish(self) -> None:
        """Write all, with what belongs at the end."""

    def close(self) -> None:
        """Close what is open."""

    def abandon(self) -> None:
        """Leave what is open to the process that this one is a copy of."""


def _open(where: Path | Address, profile: str) -> Writer:
    """Begin a file, or listen at an address."""
    if isinstance(where, Address):
        return LiveServer(where)
    where.parent.mkdir(parents=True, exist_ok=True)
    return McapWriter(_begin(where), profile)


class SharedLog:
    """One file or server, and its thread."""

    def __init__(self, path: Path | Address, profile: str) -> None:
        self.path, self.profile = path, profile
        self.users = 0
        self._tickets: list[Ticket] = []
        self._held: list[tuple[int, int, int, Message]] = []
        self._held_bytes = 0
        self._order = itertools.count()
        self._names: dict[str, str] = {}  # of instances, by their names in topics
        self._naming = threading.Lock()
        self._placed: dict[str, float] = {}  # until when bodies have poses
        self._told: set[str] = set()
        self._told_in_chunk: set[str] = set()
        self._given = 0  # messages that the writer got
        self._losses = Losses()
        self._error: Exception | None = None
        with output_errors(f"cannot write the log {path}"):
            self._writer = _open(path, profile)
        self._chunk_begun = clock.monotonic()
        self._worker = Worker("log", QUEUED)

    @property
    def is_ours(self) -> bool:
        """Whether this is the process that writes it; a forked child leaves it to its parent."""
        return self._worker.is_ours

    @property
    def wanted(self) -> bool:
        """Whether there is anybody to write for; what is taken else is for nobody."""
        return self._writer.wanted

    # ---- from the sensors' threads ------------------------------------------------------------

    def name_of(self, instance: str, name: str) -> str:
        """A name in topics that no other instance has: with a number if it is taken."""
        with self._naming:
            numbered = (f"{name}_{number}" for number in itertools.count(2))
            for free in itertools.chain([name], numbered):
                if self._names.setdefault(free, instance) == instance:
                    return free
        raise AssertionError  # there is always a next number

    def join(self, name: str) -> Ticket:
        """Begin to use it."""
        ticket = Ticket(name)
        self._put(partial(self._tickets.append, ticket))
        return ticket

    def take(self, ticket: Ticket, passed: float, make: Callable[[], Iterable[Message]]) -> None:
        """Write messages soon, which are made on the thread of the log.

        ``passed`` is the instant before which this sensor has no more to tell.

        Raises:
            OutputError: in a forked child; they are not taken then.
        """
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

    def first_to_place(self, body: str, time: float) -> bool:
        """Whether a body has no pose at this time or later; asked on the thread of the log."""
        news = time > self._placed.get(body, -math.inf)
        self._placed[body] = max(time, self._placed.get(body, -math.inf))
        return news

    def report(self) -> None:
        """Tell once of each outage that messages are being lost, and of other errors.

        Raises:
            OutputError: with the reason.
        """
        if (error := self._losses.news()) is not None:
            raise self._failure("", error) from error
        self._report_other()

    def wait(self) -> None:
        """Wait until all that was given is with the writer, as far as it is not held back."""
        if self.is_ours:
            self._worker.wait()
            self.report()

    def publish(self) -> None:
        """Bring to the disk what is not held back, and tell how many messages were lost."""
        if self.is_ours:
            self._put(self._end_chunk)
            self._worker.wait()
            self._report_all()

    def finish(self) -> None:
        """Write all, and the summary, and tell how many messages were lost."""
        if not self.is_ours:
            return
        self._worker.put(self._finish)
        self._worker.finish()
        self._writer.close()
        self._report_all()

    def _put(self, task: Callable[[], None]) -> None:
        if not self._worker.is_ours:
            raise OutputError(f"the log {self.path} cannot be written by a forked child")
        self._worker.put(partial(self._guarded, task))

    def _report_all(self) -> None:
        self._recover()
        count, error = self._losses.unaccounted()
        if error is not None:
            lost = f"{count} of {self._given} messages are lost, the first of them for this reason:"
            raise self._failure(f"{lost} ", error) from error
        self._report_other()

    def _report_other(self) -> None:
        error, self._error = self._error, None
        if error is not None:
            raise self._failure("", error) from error

    def _failure(self, lost: str, error: Exception) -> OutputError:
        reason = getattr(error, "strerror", None) or error
        return OutputError(f"cannot write the log {self.path}: {lost}{reason}")

    # ---- on the thread of the log --------------------------------------------------------------

    def _guarded(self, task: Callable[[], None]) -> None:
        try:
            task()
        except Exception as error:  # all of it belongs to the owner, who asks for it
            self._error = self._error or error

    def abandon(self) -> None:
        """Leave it to the process that this one is a copy of."""
        self._writer.abandon()

    def _do(self, ticket: Ticket, passed: float, make: Callable[[], Iterable[Message]]) -> None:
        if self._writer.newcomers():
            self._told.clear()
            self._placed.clear()
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
            self._given += 1
            if message.once:
                self._told_in_chunk.add(message.once)
            if self._writer.waiting >= CHUNK_BYTES:
                self._end_chunk()
        if clock.monotonic() - self._chunk_begun > CHUNK_SECONDS:
            self._end_chunk()

    def _end_chunk(self) -> None:
        """Bring the chunk to the disk, or lose it and tell again what it told once."""
        count, told = self._writer.messages, self._told_in_chunk
        self._chunk_begun, self._told_in_chunk = clock.monotonic(), set()
        try:
            self._writer.end_chunk()
        except OSError as error:
            self._told -= told
            self._losses.lose(self._given - count, self._given - 1, error)
        else:
            if count:
                self._recover()

    def _recover(self) -> None:
        """End an outage; no index tells of it."""
        self._losses.recover()
        while self._losses.over() is not None:
            self._losses.noted()

    def _finish(self) -> None:
        self._guarded(partial(self._release, math.inf))
        self._end_chunk()
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
        """Start empty."""
        self.lock = threading.RLock()
        self.open: dict[Path | Address, SharedLog] = {}

    def abandon(self) -> None:
        """Forget the logs of the process that this one is a copy of."""
        for log in self.open.values():
            log.abandon()
        self.forget()

    def use(self, path: Path | Address, profile: str) -> SharedLog:
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
            with ExitStack() as stack:  # finish all, even if one of them has lost something
                for log in self.open.values():
                    stack.callback(log.finish)
            self.open.clear()


_logs = _Logs()
atexit.register(_logs.finish_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_logs.abandon)


def use_log(path: str, profile: str = "") -> SharedLog:
    """The log of a path or address, which all who name it share; ``leave_log`` ends this use."""
    where = address_of(path) if is_live(path) else Path(path).absolute()
    return _logs.use(where, profile)


def leave_log(log: SharedLog) -> None:
    """End a use; the last one finishes the file."""
    _logs.leave(log)
