"""The words and replies of the C master's line protocol (described in ``master.c``)."""

import enum
import signal
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from urllib.parse import quote, unquote

#: The word for a null pointer: a string, a buffer to be filled, an instance, a state.
NULL = "@null"
#: A state handle's address that is a null pointer.
NOWHERE = "@nowhere"
#: Pointers that no FMU has handed out: to unmapped memory, and to memory of the master's own.
WILD = "@wild"
FOREIGN = "@foreign"

Value = float | int | bool | str


class Status(enum.IntEnum):
    """``fmi2Status``."""

    OK = 0
    WARNING = 1
    DISCARD = 2
    ERROR = 3
    FATAL = 4
    PENDING = 5


@dataclass(frozen=True)
class Message:
    """One call of the log callback."""

    receiver: str
    """Handle of the instance whose callbacks were used."""
    instance: str | None
    """Name of the instance as the FMU gave it."""
    status: Status
    category: str | None
    text: str | None


@dataclass(frozen=True)
class Reply:
    """What one command brought about."""

    command: str
    status: Status | None
    """None for calls without a status."""
    words: tuple[str, ...] = ()
    """The values that were asked for, as they were sent."""
    messages: tuple[Message, ...] = ()
    dropped: int = 0
    """Messages beyond the room that the master has for them."""

    def expect(self, *allowed: Status) -> "Reply":
        """This reply, if its status is allowed (when nothing is said: OK)."""
        if self.status is not None and self.status not in (allowed or (Status.OK,)):
            raise CallFailedError(self)
        return self

    def reals(self) -> list[float]:
        """The values as reals, exact to the bit."""
        return [float.fromhex(word) for word in self.words]

    def integers(self) -> list[int]:
        """The values as integers."""
        return [int(word) for word in self.words]

    def booleans(self) -> list[bool]:
        """The values as booleans; anything but 0 and 1 is an error."""
        return [{"0": False, "1": True}[word] for word in self.words]

    def strings(self) -> list[str | None]:
        """The values as strings; None for a null pointer."""
        return [decode(word) for word in self.words]

    def texts(self) -> list[str]:
        """The texts of the messages."""
        return [message.text or "" for message in self.messages]


class MasterError(Exception):
    """Something went wrong at the master, or between it and the test."""


class CallFailedError(MasterError):
    """A call returned another status than was expected."""

    def __init__(self, reply: Reply) -> None:
        self.reply = reply
        status = "nothing" if reply.status is None else reply.status.name
        super().__init__("\n".join([f"{reply.command} gave {status}", *reply.texts()]))


class CommandRefusedError(MasterError):
    """The master did not carry out a command; no function of an FMU was called."""


class MasterDiedError(MasterError):
    """The master's process ended where it should not have, or did not end well."""

    def __init__(self, command: str, exit_code: int, stderr: str) -> None:
        self.exit_code = exit_code
        """As ``subprocess`` has it: negative for the number of the signal that ended it."""
        self.stderr = stderr
        how = signal.Signals(-exit_code).name if exit_code < 0 else f"exit code {exit_code}"
        super().__init__(f"the master ended with {how} at: {command}\n{stderr}")


class MasterHungError(MasterDiedError):
    """The master was killed because a command took too long."""


def encode(text: str | bytes | None) -> str:
    """The word for a string, percent-encoded; bytes need not be valid UTF-8."""
    if text is None:
        return NULL
    raw = text.encode(errors="surrogateescape") if isinstance(text, str) else text
    return quote(raw, safe="")


def decode(word: str) -> str | None:
    """The string behind a word; bytes that are not UTF-8 become lone surrogates."""
    return None if word == NULL else unquote(word, errors="surrogateescape")


def array(values: Iterable[Value | bytes | None]) -> str:
    """The word for an array: reals exact to the bit, strings percent-encoded."""
    elements = [_element(value) for value in values]
    return ",".join(elements) if elements else "@empty"


def null_array(count: int) -> str:
    """The word for a null pointer where an array of this length is announced."""
    return f"{NULL}:{count}"


def _element(value: Value | bytes | None) -> str:
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, int):
        return str(int(value))
    return encode(value)


def read_reply(command: str, read_line: Callable[[], str]) -> Reply:
    """The reply whose lines come from ``read_line``."""
    words: tuple[str, ...] = ()
    messages: list[Message] = []
    dropped = 0
    while True:
        kind, *rest = read_line().rstrip("\n").split(" ")
        if kind == "message":
            messages.append(_message(rest))
        elif kind == "dropped":
            dropped = int(rest[0])
        elif kind == "values":
            words = tuple(rest)
        elif kind == "refused":
            raise CommandRefusedError(f"{command}: {decode(rest[0])}")
        elif kind == "done":
            status = None if rest[0] == "-" else Status(int(rest[0]))
            return Reply(command, status, words, tuple(messages), dropped)
        else:
            raise MasterError(f"{command}: not a line of a reply: {kind!r}")


def _message(words: list[str]) -> Message:
    receiver, instance, status, category, text = words
    return Message(receiver, decode(instance), Status(int(status)), decode(category), decode(text))
