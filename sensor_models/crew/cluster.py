"""A crew of a Dask cluster: ``distributed`` schedules, this hands tasks over.

Residents are futures that the cluster holds. Its scheduler brings tasks to them, since they say
that they are large, and makes them anew on another worker when theirs is lost. What is done twice
for that is the work of the lost worker, and gives the same result.

Tasks are handed over as there is room for them, so a campaign of a million runs does not burden
the scheduler with a million keys.
"""

from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any

from sensor_models.crew.tasks import ATTEMPTS, Failure, Outcome, Resident, Task, attempt, failure_of

#: Tasks that the scheduler has at once, for each thread of the cluster.
AT_HAND = 4


class ClusterCrew:
    """The workers of a scheduler, at an address such as ``tcp://host:8786``."""

    def __init__(self, address: str) -> None:
        try:
            from distributed import Client
        except ImportError as error:
            raise RuntimeError(
                "a scheduler needs Dask's distributed: pip install 'sensor-fmus[cluster]'"
            ) from error
        self._client: Any = Client(address, set_as_default=False)
        self._residents: dict[Resident, Any] = {}

    @property
    def client(self) -> Any:
        """Dask's own client."""
        return self._client

    @property
    def size(self) -> int:
        """How many threads the cluster has now; workers may come and go."""
        return max(1, sum(int(count) for count in self._client.nthreads().values()))

    def run(self, tasks: Iterable[Task]) -> Iterator[Outcome]:
        """Do tasks; see ``Crew``."""
        from distributed import as_completed

        source = enumerate(tasks)
        numbers: dict[Any, int] = {}
        under_way = as_completed(loop=self._client.loop)
        most = AT_HAND * self.size
        try:
            while True:
                while len(numbers) < most and (entry := next(source, None)) is not None:
                    future = self._submit(entry[1])
                    numbers[future.key] = entry[0]
                    under_way.add(future)
                if not numbers:
                    return
                future = next(under_way)
                index = numbers.pop(future.key)
                yield Outcome(index, self._result(future))
                most = AT_HAND * self.size
        finally:
            under_way.clear()

    def _submit(self, task: Task) -> Any:
        arguments = tuple(
            self._home(argument) if isinstance(argument, Resident) else argument
            for argument in task.arguments
        )
        return self._client.submit(
            _attempt, task.function, *arguments, pure=False, retries=ATTEMPTS - 1
        )

    def _home(self, resident: Resident) -> Any:
        if resident not in self._residents:
            # In turn: a scheduler that hears of one after the other gives the first worker most.
            workers = sorted(self._client.nthreads())
            where = [workers[len(self._residents) % len(workers)]] if workers else None
            self._residents[resident] = self._client.submit(
                resident.function,
                *resident.arguments,
                workers=where,
                allow_other_workers=where is not None,
                pure=False,
            )
        return self._residents[resident]

    @staticmethod
    def _result(future: Any) -> Any:
        try:
            return future.result()
        except Exception as error:  # its worker ended again and again, or a resident failed
            return failure_of(error)
        finally:
            future.release()

    def close(self) -> None:
        """Let the residents go; the cluster stays."""
        self._residents.clear()
        self._client.close()

    def __enter__(self) -> "ClusterCrew":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _attempt(function: Any, *arguments: Any) -> Any | Failure:
    """Dask tells arguments that are futures from others only at the top level of a call."""
    return attempt(function, arguments)
