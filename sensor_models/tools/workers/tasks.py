"""The tasks of a pool, and their outcomes."""

import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

#: How many processes may end during a task before it counts as failed: it may be the cause.
ATTEMPTS = 3


class PoolError(RuntimeError):
    """A pool that cannot work."""


@dataclass(frozen=True)
class Resident:
    """A value that a process makes by a call when it needs it, and keeps for further tasks."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]


@dataclass(frozen=True)
class Task:
    """A call of a function of a module. Residents among its arguments are made first."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()

    @property
    def homes(self) -> list[Resident]:
        """The residents that it needs."""
        return [argument for argument in self.arguments if isinstance(argument, Resident)]


@dataclass(frozen=True)
class Failure:
    """What comes instead of a result."""

    message: str
    details: str = ""  # the traceback, if there is one


@dataclass(frozen=True)
class Outcome:
    """The result of a task or its failure, with the task's place among those given."""

    index: int
    result: Any


class WorkerPool(Protocol):
    """Processes that do tasks."""

    @property
    def size(self) -> int:
        """How many tasks are done at once."""

    def run(self, tasks: Iterable[Task]) -> Iterator[Outcome]:
        """Do tasks; returns their outcomes as they come, in any order.

        Tasks are taken from the iterable as there is room for them. A task whose function raises an
        error, or whose process ends each time, has a ``Failure`` as its result; the others go on.
        """

    def close(self) -> None:
        """Release the residents, and the processes that belong to this pool."""


def attempt(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """The result of a call, or its failure."""
    try:
        return function(*arguments)
    except Exception as error:
        return failure_of(error)


def failure_of(error: BaseException) -> Failure:
    """An exception in the form that the caller gets."""
    kind = type(error).__name__
    message = f"{kind}: {error}" if str(error) else kind
    return Failure(message, "".join(traceback.format_exception(error)))
