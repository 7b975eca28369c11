"""What a crew is given and what it gives back."""

import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

#: Processes that may end while they are at a task before it counts as failed: it may be the cause.
ATTEMPTS = 3


class CrewError(RuntimeError):
    """A crew that cannot do anything."""


@dataclass(frozen=True)
class Resident:
    """A value that is made where it is needed, by a call, and stays there for further tasks."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]


@dataclass(frozen=True)
class Task:
    """A call of a function of a module. Residents among its arguments are made first."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()

    @property
    def homes(self) -> list[Resident]:
        """The residents it needs."""
        return [argument for argument in self.arguments if isinstance(argument, Resident)]


@dataclass(frozen=True)
class Failure:
    """What comes instead of a result."""

    message: str
    details: str = ""  # the traceback, if there is one


@dataclass(frozen=True)
class Outcome:
    """The result of a task, by its place among those that were given, or what failed."""

    index: int
    result: Any


class Crew(Protocol):
    """Whoever does tasks."""

    @property
    def size(self) -> int:
        """How many tasks are done at once."""

    def run(self, tasks: Iterable[Task]) -> Iterator[Outcome]:
        """Do tasks and give their outcomes as they come, in any order.

        Tasks are taken from the iterable as there is room for them. One whose function raises,
        or whose process ends again and again, has a ``Failure`` as its result; the others go on.
        """

    def close(self) -> None:
        """Let the residents go, and whoever works for this crew alone."""


def attempt(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """The result of a call, or the failure that came of it."""
    try:
        return function(*arguments)
    except Exception as error:
        return failure_of(error)


def failure_of(error: BaseException) -> Failure:
    """An exception as it is told to who gave the task."""
    kind = type(error).__name__
    message = f"{kind}: {error}" if str(error) else kind
    return Failure(message, "".join(traceback.format_exception(error)))
