"""A pool of processes on this machine.

Each process has a pipe and is sent two tasks, so that the next one is there when it has finished
one. Tasks with residents go to the process that has these residents, or, if none has them, to the
process with the fewest: each process holds only its share. When a process ends for any reason,
another one takes over its place, its tasks and its residents. A process that fails before it has
taken any task is not replaced, because the next one would fail, too: the reason is then a script
without the guard that new processes need, or a program that is not a file.

Processes end when the pool is closed, and when the process that made it ends, even if that is
killed, because their pipe is closed then.
"""

import contextlib
import math
import multiprocessing
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from queue import SimpleQueue
from types import TracebackType
from typing import Any

from sensor_models.core.quantities import ParameterError
from sensor_models.tools.workers.tasks import (
    ATTEMPTS,
    Failure,
    Outcome,
    PoolError,
    Resident,
    Task,
    attempt,
)

#: How many tasks a process has at once.
AT_HAND = 2
#: How many tasks wait here, for each process, before no more are taken from the caller.
WAITING = 64
#: The most processes of a pool: more are a slip of the keyboard.
MOST_WORKERS = 1024
#: Seconds in which processes with nothing to do end by themselves, and clear up.
PATIENCE = 5.0
#: What a process sends first, in place of the index of a task.
READY = -1


def _serve(pipe: Connection, memory: float) -> None:
    """Do tasks until there are no more.

    A thread receives them. Otherwise the sender of a large task would wait for the end of the task
    before it, which may in turn wait for the sender to receive its large result.
    """
    residents, tasks = _Residents(memory), SimpleQueue[tuple[int, Task] | None]()
    threading.Thread(target=_receive, args=(pipe, tasks), daemon=True).start()
    with contextlib.suppress(OSError, KeyboardInterrupt):
        pipe.send((READY, None))
        while (entry := tasks.get()) is not None:
            index, task = entry
            result = attempt(_call, (task, residents))
            try:
                pipe.send((index, result))
            except (TypeError, AttributeError, ValueError) as error:  # cannot be pickled
                pipe.send((index, Failure(f"its result cannot be sent: {error}")))


def _receive(pipe: Connection, tasks: "SimpleQueue[tuple[int, Task] | None]") -> None:
    """Receive tasks until there are no more."""
    try:
        with contextlib.suppress(EOFError, OSError):
            while True:
                tasks.put(pipe.recv())
    finally:
        tasks.put(None)


def _call(task: Task, residents: "_Residents") -> Any:
    return task.function(*map(residents.argument, task.arguments))


class _Residents:
    """The residents of a process, within a memory limit; those used last are kept."""

    def __init__(self, memory: float) -> None:
        self._memory = memory
        self._held: dict[Resident, Any] = {}

    def argument(self, argument: Any) -> Any:
        """The argument of a call; for a ``Resident`` the value that it stands for."""
        if not isinstance(argument, Resident):
            return argument
        value = self._held.pop(argument, None)
        if value is None:
            value = argument.function(*argument.arguments)
            room = self._memory - sys.getsizeof(value)
            while self._held and sum(map(sys.getsizeof, self._held.values())) > room:
                del self._held[next(iter(self._held))]
        self._held[argument] = value
        return value


class _Worker:
    """A process with its pipe and the tasks that it was given."""

    def __init__(self, memory: float) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process: BaseProcess = context.Process(
            target=_serve, args=(theirs, memory), daemon=True
        )
        self.process.start()
        theirs.close()
        self.is_ready = False
        self.tasks: dict[int, Task] = {}
        self.homes: set[Resident] = set()

    def send(self, index: int, task: Task) -> None:
        self.tasks[index] = task
        self.homes.update(task.homes)
        with contextlib.suppress(OSError):  # it has ended, which is noticed when it is waited for
            self.pipe.send((index, task))

    def end(self) -> None:
        """End it: by itself if it has nothing to do, so that it can clear up, else at once."""
        self.pipe.close()
        if self.is_ready and not self.tasks:
            self.process.join(PATIENCE)
        self.process.terminate()
        self.process.join()


class LocalPool:
    """A pool of ``size`` processes of this machine. It can have one caller at a time.

    ``memory`` in bytes limits the residents of a process together, by the sizes that they report;
    those that have been unused for longest are removed first.
    """

    def __init__(self, size: int, memory: float = math.inf) -> None:
        if not 1 <= size <= MOST_WORKERS:
            raise ParameterError(
                f"workers = {size} is out of range, allowed is 1 to {MOST_WORKERS}"
            )
        self._workers = [_Worker(memory) for _ in range(size)]
        self._memory = memory
        self._attempts: dict[int, int] = {}

    @property
    def size(self) -> int:
        """How many processes there are."""
        return len(self._workers)

    @property
    def processes(self) -> list[int]:
        """Their numbers in the system."""
        return [worker.process.pid or 0 for worker in self._workers]

    def run(self, tasks: Iterable[Task]) -> Iterator[Outcome]:
        """Do tasks; see ``WorkerPool``."""
        source = enumerate(tasks)
        waiting: deque[tuple[int, Task]] = deque()
        self._attempts.clear()
        try:
            while True:
                for entry in source:
                    waiting.append(entry)
                    if len(waiting) >= WAITING * self.size:
                        break
                self._share_out(waiting)
                if not any(worker.tasks for worker in self._workers):
                    return
                yield from self._outcomes(waiting)
        finally:  # the caller may stop early
            for worker in self._workers:
                if worker.tasks:
                    self._replace(worker)

    def _share_out(self, waiting: deque[tuple[int, Task]]) -> None:
        """Send tasks to the processes that have room and should do them."""
        left = []
        while waiting and any(len(worker.tasks) < AT_HAND for worker in self._workers):
            index, task = waiting.popleft()
            worker = self._home_of(task)
            if len(worker.tasks) < AT_HAND:
                worker.send(index, task)
            else:
                left.append((index, task))
        waiting.extendleft(reversed(left))

    def _home_of(self, task: Task) -> _Worker:
        """The process for a task: that with its residents, else the one with least to do."""
        needed = set(task.homes)
        for worker in self._workers:
            if needed & worker.homes:
                return worker
        if needed:
            return min(self._workers, key=lambda w: (len(w.homes), len(w.tasks)))
        return min(self._workers, key=lambda w: len(w.tasks))

    def _outcomes(self, waiting: deque[tuple[int, Task]]) -> Iterator[Outcome]:
        """The outcomes that have come, after waiting for at least one message."""
        by_pipe = {worker.pipe: worker for worker in self._workers if worker.tasks}
        for pipe in wait(list(by_pipe)):
            worker = by_pipe[pipe]  # type: ignore[index]
            try:
                index, result = worker.pipe.recv()
            except (EOFError, OSError):
                yield from self._begin_again(worker, waiting)
                continue
            if index == READY:
                worker.is_ready = True
                continue
            del worker.tasks[index]
            yield Outcome(index, result)

    def _begin_again(self, worker: _Worker, waiting: deque[tuple[int, Task]]) -> Iterator[Outcome]:
        """Give the tasks of a process that has ended to another one."""
        worker.process.join()
        code = worker.process.exitcode or 0
        if not worker.is_ready and code > 0:  # below 0: killed by a signal
            raise PoolError(
                f"a process of the pool ended at its start (exit code {code}, what it said is on"
                " standard error). A script that makes a pool is a file, and does so under"
                ' `if __name__ == "__main__":`'
            )
        self._replace(worker)
        for place, (index, task) in enumerate(worker.tasks.items()):
            if place == 0:  # the one that it was doing
                self._attempts[index] = self._attempts.get(index, 0) + 1
            if self._attempts.get(index, 0) >= ATTEMPTS:
                ended = f"its process ended {ATTEMPTS} times ({worker.process.exitcode})"
                yield Outcome(index, Failure(ended))
            else:
                waiting.appendleft((index, task))

    def _replace(self, worker: _Worker) -> None:
        worker.end()
        self._workers[self._workers.index(worker)] = _Worker(self._memory)

    def close(self) -> None:
        """End the processes."""
        for worker in self._workers:  # all at once: each takes a moment
            if not worker.tasks:
                worker.pipe.close()
        for worker in self._workers:
            worker.end()

    def __enter__(self) -> "LocalPool":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
