"""A pool of a Dask cluster: ``distributed`` schedules the tasks that this module gives it.

Residents are futures that the cluster holds. A resident is assigned to the worker with the fewest
residents, and tasks go where their resident is. The scheduler itself would send some of them to
idle workers, which would make the resident again: memory would then not shrink with the number of
workers, and two workers would take longer than one. When a worker is lost, its residents and tasks
are assigned to another one here, because the scheduler would wait for the lost worker.

Tasks are given to the scheduler only as it has room for them, so a campaign of a million runs does
not burden it with a million keys.
"""

import logging
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any

from sensor_models.tools.workers.tasks import (
    ATTEMPTS,
    Failure,
    Outcome,
    Resident,
    Task,
    attempt,
    failure_of,
)

_log = logging.getLogger(__name__)

#: How many tasks the scheduler has at once, for each thread of the cluster.
AT_HAND = 4
#: If there is no outcome for so long, in s, lost workers are looked for.
PATIENCE = 1.0
#: After so long without a worker, in s, the user is told.
LONELY = 10.0
#: The failure of a task whose workers end each time.
ENDED = f"its process ended {ATTEMPTS} times"
#: In place of a result.
LOST = object()


@dataclass(frozen=True)
class _Home:
    """Where a resident is."""

    where: str  # address of a worker, "" for any
    future: Any


@dataclass(frozen=True)
class _Given:
    """A task that the scheduler has."""

    index: int
    task: Task
    where: str
    future: Any


class ClusterPool:
    """The workers of a scheduler, at an address such as ``tcp://host:8786``."""

    def __init__(self, address: str) -> None:
        try:
            from distributed import Client
        except ImportError as error:
            raise RuntimeError(
                "a scheduler needs Dask's distributed: pip install 'sensor-fmus[cluster]'"
            ) from error
        self._address = address
        self._client: Any = Client(address, set_as_default=False)
        self._last_seen = time.monotonic()  # a worker
        self._told = False
        self._homes: dict[Resident, _Home] = {}
        self._given: dict[Any, _Given] = {}
        self._attempts: Counter[int] = Counter()
        self._done = SimpleQueue[Any]()

    @property
    def client(self) -> Any:
        """Dask's own client."""
        return self._client

    @property
    def size(self) -> int:
        """How many threads the cluster has now; workers may come and go."""
        return max(1, sum(int(count) for count in self._client.nthreads().values()))

    def run(self, tasks: Iterable[Task]) -> Iterator[Outcome]:
        """Do tasks; see ``WorkerPool``."""
        source = enumerate(tasks)
        self._given, self._done, self._attempts = {}, SimpleQueue(), Counter()
        try:
            while True:
                room = AT_HAND * self.size - len(self._given)
                while room > 0 and (entry := next(source, None)) is not None:
                    self._give(*entry)
                    room -= 1
                if not self._given:
                    return
                own = self._given.get(self._next())
                if own is None or (result := self._result(own)) is LOST:
                    yield from self._give_anew()
                else:
                    del self._given[own.future.key]
                    yield Outcome(own.index, result)
        finally:  # the caller may stop early: futures that nobody holds are not computed
            self._given = {}

    def _next(self) -> Any:
        """The key of a task that is done; None if none is done for a while."""
        try:
            return self._done.get(timeout=PATIENCE)
        except Empty:
            self._look_for_workers()
            return None

    def _look_for_workers(self) -> None:
        """Tell once if there are none for long; work goes on when some come."""
        if self._workers():
            self._last_seen, self._told = time.monotonic(), False
        elif not self._told and time.monotonic() - self._last_seen > LONELY:
            self._told = True
            _log.warning(
                "the scheduler at %s has had no worker for %.0f s: start some with 'dask worker"
                " %s'; work goes on when they are there",
                self._address,
                LONELY,
                self._address,
            )

    def _give(self, index: int, task: Task) -> None:
        """Give a task to the scheduler."""
        homes = {resident: self._home(resident) for resident in task.homes}
        where = next((home.where for home in homes.values()), "")
        arguments = [homes[a].future if isinstance(a, Resident) else a for a in task.arguments]
        own = self._client.submit(
            _attempt,
            task.function,
            *arguments,
            workers=[where] if where else None,
            pure=False,
            retries=ATTEMPTS - 1,
        )
        self._given[own.key] = _Given(index, task, where, own)
        own.add_done_callback(self._tell)

    def _tell(self, future: Any) -> None:
        self._done.put(future.key)

    def _home(self, resident: Resident) -> _Home:
        if resident not in self._homes:
            held = Counter(home.where for home in self._homes.values())
            where = min(sorted(self._workers()), key=lambda worker: held[worker], default="")
            future = self._client.submit(
                resident.function,
                *resident.arguments,
                workers=[where] if where else None,
                pure=False,
            )
            self._homes[resident] = _Home(where, future)
        return self._homes[resident]

    def _workers(self) -> set[str]:
        return set(self._client.nthreads())

    def _give_anew(self) -> Iterator[Outcome]:
        """Give the tasks of lost workers to other workers."""
        there = self._workers() | {""}
        self._homes = {r: home for r, home in self._homes.items() if home.where in there}
        lost = [key for key, own in self._given.items() if own.where not in there]
        blamed = set[str]()
        for own in [self._given.pop(key) for key in lost]:
            if own.where not in blamed:  # the oldest is the one that it was doing
                blamed.add(own.where)
                self._attempts[own.index] += 1
            if self._attempts[own.index] >= ATTEMPTS:
                yield Outcome(own.index, Failure(ENDED))
            else:
                self._give(own.index, own.task)

    def _result(self, own: _Given) -> Any:
        """The result of a task that is done; ``LOST`` if it was lost with its worker."""
        from distributed import KilledWorker
        from distributed import TimeoutError as Late

        while True:
            try:
                result = own.future.result(timeout=PATIENCE)
            except Late as error:
                if own.future.status == "error":  # the task itself raised it
                    result = failure_of(error)
                elif own.where not in self._workers() | {""}:
                    return LOST
                else:
                    continue
            except KilledWorker as error:  # the scheduler may notice this before us
                result = Failure(ENDED, str(error))
            except Exception as error:  # a resident failed
                result = failure_of(error)
            own.future.release()
            return result

    def close(self) -> None:
        """Release the residents; the cluster stays."""
        self._homes.clear()
        self._client.close()

    def __enter__(self) -> "ClusterPool":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _attempt(function: Any, *arguments: Any) -> Any | Failure:
    """A call with flat arguments: Dask finds futures only at the top level of arguments."""
    return attempt(function, arguments)
