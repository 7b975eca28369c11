"""What is in an MCAP file: topics, counts, times; of one without a summary, by reading all of it.

Enough to describe logs; other tools have readers for their messages.

Source: MCAP format specification, version 0.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO

from sensor_models.log.mcap import CHANNEL, CHUNK, HEADER, MAGIC, MESSAGE, SCHEMA, STATISTICS
from sensor_models.log.mcap import DATA_END as END


class LogError(ValueError):
    """A file that is no log; the message says why."""


@dataclass
class ChannelSummary:
    """A topic and its messages."""

    number: int
    topic: str
    schema: str
    encoding: str
    messages: int = 0
    bytes: int = 0
    first: int = 0  # ns
    last: int = 0


@dataclass
class Summary:
    """All of a log."""

    profile: str = ""
    library: str = ""
    channels: list[ChannelSummary] = field(default_factory=list)
    chunks: int = 0
    #: Whether the file has been finished.
    complete: bool = False

    @property
    def messages(self) -> int:
        """How many there are."""
        return sum(channel.messages for channel in self.channels)

    @property
    def first(self) -> int:
        """The earliest time, ns."""
        return min((c.first for c in self.channels if c.messages), default=0)

    @property
    def last(self) -> int:
        """The latest time, ns."""
        return max((c.last for c in self.channels if c.messages), default=0)


def read_summary(stream: IO[bytes]) -> Summary:
    """Read a log from front to back; what a killed writer left unfinished is left out.

    Raises:
        LogError: if it is no MCAP file.
    """
    if stream.read(len(MAGIC)) != MAGIC:
        raise LogError("the file is no MCAP file: it does not begin as one")
    found, schemas = Summary(), {0: ""}
    by_number: dict[int, ChannelSummary] = {}
    for opcode, content in _records(stream):
        if opcode == HEADER:
            found.profile, at = _text(content, 0)
            found.library, _ = _text(content, at)
        elif opcode == CHUNK:
            found.chunks += 1
            for kind, part in _parts(content):
                _take(kind, part, schemas, by_number)
        else:
            _take(opcode, content, schemas, by_number)
        if opcode == END:
            found.complete = True
        elif opcode == STATISTICS:
            break
    found.channels = list(by_number.values())
    return found


def _take(
    opcode: int, content: bytes, schemas: dict[int, str], channels: dict[int, ChannelSummary]
) -> None:
    """Take note of a schema, a channel or a message; other writers have them all in chunks."""
    if opcode == SCHEMA:
        schemas[struct.unpack_from("<H", content)[0]] = _text(content, 2)[0]
    elif opcode == CHANNEL:
        channel = _channel(content, schemas)
        channels.setdefault(channel.number, channel)
    elif opcode == MESSAGE:
        number, _, time = struct.unpack_from("<HIQ", content)
        channel = channels[number]
        channel.first = time if not channel.messages else min(channel.first, time)
        channel.last = max(channel.last, time)
        channel.messages += 1
        channel.bytes += len(content) - 22


def read_messages(stream: IO[bytes]) -> Iterator[tuple[str, int, bytes]]:
    """The messages of a log whose chunks are not compressed: topic, time in ns, data.

    Raises:
        LogError: if it is no MCAP file, or its chunks are compressed.
    """
    if stream.read(len(MAGIC)) != MAGIC:
        raise LogError("the file is no MCAP file: it does not begin as one")
    topics: dict[int, str] = {}
    for opcode, content in _records(stream):
        if opcode == CHANNEL:
            topics[struct.unpack_from("<H", content)[0]] = _text(content, 4)[0]
        elif opcode == CHUNK:
            for kind, part in _parts(content):
                if kind == CHANNEL:
                    topics[struct.unpack_from("<H", part)[0]] = _text(part, 4)[0]
                elif kind == MESSAGE:
                    number, _, time = struct.unpack_from("<HIQ", part)
                    yield topics[number], time, part[22:]
        elif opcode == END:
            return


def _records(stream: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    while len(head := stream.read(9)) == 9:
        opcode, length = struct.unpack("<BQ", head)
        content = stream.read(length)
        if len(content) < length:
            return
        yield opcode, content


def _text(content: bytes, at: int) -> tuple[str, int]:
    (length,) = struct.unpack_from("<I", content, at)
    end = at + 4 + length
    return content[at + 4 : end].decode(), end


def _channel(content: bytes, schemas: dict[int, str]) -> ChannelSummary:
    number, schema = struct.unpack_from("<HH", content)
    topic, at = _text(content, 4)
    return ChannelSummary(number, topic, schemas.get(schema, ""), _text(content, at)[0])


def _parts(chunk: bytes) -> Iterator[tuple[int, bytes]]:
    """The records in a chunk."""
    compression, at = _text(chunk, 28)
    if compression:
        raise LogError(f"chunks are compressed by {compression}, which is not read here")
    at += 8
    while at < len(chunk):
        opcode, length = struct.unpack_from("<BQ", chunk, at)
        yield opcode, chunk[at + 9 : at + 9 + length]
        at += 9 + length
