"""MCAP files: messages of any format in the order of time, with what is needed to read them.

A file is a header, then chunks of messages with an index behind each, then a summary: schemas,
channels, statistics and where the chunks are. Every chunk goes to the disk when it is full. So a
file whose writer was killed lacks the summary, and readers get all messages up to the last chunk by
reading from the front. Chunks are not compressed: clouds of points hardly shrink, and the writer
would be twice as slow. Schemas and channels go to the disk with the first chunk that needs them, so
those of a chunk that a full disk does not take come again with a later one.

Written here and not with the package ``mcap``, which copies each message four times.

Source: MCAP format specification, version 0; https://mcap.dev/spec.
"""

import struct
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import IO, NamedTuple

from sensor_models.messages.wire import Bytes

Part = bytes | Bytes

MAGIC = b"\x89MCAP0\r\n"
LIBRARY = "sensor-fmus"

HEADER, FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK, MESSAGE_INDEX, CHUNK_INDEX = range(1, 9)
STATISTICS, SUMMARY_OFFSET, DATA_END = 0x0B, 0x0E, 0x0F

_U16, _U32, _U64 = struct.Struct("<H"), struct.Struct("<I"), struct.Struct("<Q")
_RECORD = struct.Struct("<BQ")
_MESSAGE = struct.Struct("<HIQQ")
_ENTRY = struct.Struct("<QQ")


class Schema(NamedTuple):
    """What messages of one kind look like."""

    name: str
    encoding: str  # of the data here
    data: bytes
    message_encoding: str  # of the messages


def _view(part: Part) -> memoryview:
    return memoryview(part) if isinstance(part, bytes) else part.data


def _text(value: str) -> bytes:
    data = value.encode()
    return _U32.pack(len(data)) + data


def _sized(data: bytes) -> bytes:
    return _U32.pack(len(data)) + data


def _map(values: Mapping[str, str]) -> bytes:
    return _sized(b"".join(_text(key) + _text(value) for key, value in values.items()))


def _record(opcode: int, *parts: bytes) -> bytes:
    content = b"".join(parts)
    return _RECORD.pack(opcode, len(content)) + content


@dataclass
class _Chunk:
    """Messages that go to the disk together."""

    parts: list[Part] = field(default_factory=list)
    size: int = 0
    first: int = 0
    last: int = 0
    index: dict[int, list[bytes]] = field(default_factory=dict)

    def begin(self, record: bytes) -> None:
        """Begin with a record that is no message."""
        self.parts.append(record)
        self.size += len(record)

    def add(
        self, channel: int, sequence: int, time: int, published: int, parts: list[Part]
    ) -> None:
        """Take a message."""
        if not self.index:
            self.first = self.last = time
        self.first, self.last = min(self.first, time), max(self.last, time)
        self.index.setdefault(channel, []).append(_ENTRY.pack(time, self.size))
        length = _MESSAGE.size + sum(len(part) for part in parts)
        head = _RECORD.pack(MESSAGE, length) + _MESSAGE.pack(channel, sequence, time, published)
        self.parts += [head, *parts]
        self.size += _RECORD.size + length


class _Channel(NamedTuple):
    """A topic with messages of one kind: numbers and records of it and its schema."""

    number: int
    record: bytes
    schema: int
    of_schema: bytes


class McapWriter:
    """Writes one file, front to back."""

    #: A file is always written for somebody.
    wanted = True

    def __init__(self, stream: IO[bytes], profile: str) -> None:
        """``stream`` is empty and not buffered."""
        self._stream = stream
        self._at = 0
        self._schemas: dict[str, tuple[int, bytes]] = {}
        self._channels: dict[tuple[str, str], _Channel] = {}
        self._by_number: dict[int, _Channel] = {}
        self._written: list[dict[int, bytes]] = [{}, {}]  # records of schemas and channels
        self._counts: dict[int, int] = {}
        self._chunk = _Chunk()
        self._chunk_indexes: list[bytes] = []
        self._times: tuple[int, int] | None = None  # of all messages that were written
        self._write(MAGIC, _record(HEADER, _text(profile), _text(LIBRARY)))

    @property
    def waiting(self) -> int:
        """Bytes of the chunk that is being filled."""
        return self._chunk.size

    @property
    def messages(self) -> int:
        """Messages of the chunk that is being filled."""
        return sum(map(len, self._chunk.index.values()))

    def newcomers(self) -> bool:
        """Whoever reads a file has all of it."""
        return False

    def close(self) -> None:
        """Close the file."""
        self._stream.close()

    def abandon(self) -> None:
        """The stream stays open, as its lock belongs to both processes."""

    def channel(self, topic: str, schema: Schema, metadata: Mapping[str, str]) -> int:
        """The number of a topic with messages of one kind."""
        key = topic, schema.name
        if key not in self._channels:
            kind, of_kind = self._schema(schema)
            number = len(self._channels) + 1
            own = _U16.pack(number), _U16.pack(kind), _text(topic)
            record = _record(CHANNEL, *own, _text(schema.message_encoding), _map(metadata))
            self._by_number[number] = _Channel(number, record, kind, of_kind)
            self._channels[key] = self._by_number[number]
            self._counts[number] = 0
        return self._channels[key].number

    def _schema(self, schema: Schema) -> tuple[int, bytes]:
        """The number and the record of a schema."""
        if schema.name not in self._schemas:
            number = len(self._schemas) + 1  # 0 stands for none
            own = _U16.pack(number), _text(schema.name), _text(schema.encoding)
            self._schemas[schema.name] = number, _record(SCHEMA, *own, _sized(schema.data))
        return self._schemas[schema.name]

    def add(self, channel: int, time: int, published: int, parts: list[Part]) -> None:
        """Take a message; times in ns.

        A chunk begins with the channel of its first message once more: a reader of bags takes a
        message at the very front for none.
        """
        if not self._chunk.size:
            self._chunk.begin(self._by_number[channel].record)
        self._chunk.add(channel, self._counts[channel], time, published, parts)
        self._counts[channel] += 1

    def end_chunk(self) -> None:
        """Write the messages that are waiting; where that fails, they are lost."""
        chunk, self._chunk = self._chunk, _Chunk()
        if not chunk.size:
            return
        try:
            self._write_chunk(chunk)
        except OSError:
            for channel, entries in chunk.index.items():
                self._counts[channel] -= len(entries)
            raise

    def _write_chunk(self, chunk: _Chunk) -> None:
        """Write a chunk and the index of its messages, at once: all of it is there or nothing."""
        crc = 0
        for part in chunk.parts:
            crc = zlib.crc32(_view(part), crc)
        schemas, channels = self._not_yet_written(chunk.index)
        front = b"".join([*schemas.values(), *channels.values()])
        start = self._at + len(front)
        times = _U64.pack(chunk.first) + _U64.pack(chunk.last)
        size = _U64.pack(chunk.size)
        head = times + size + _U32.pack(crc) + _text("") + size
        head = _RECORD.pack(CHUNK, len(head) + chunk.size) + head
        length = len(head) + chunk.size
        offsets, indexes, at = b"", b"", start + length
        for channel, entries in chunk.index.items():
            offsets += _U16.pack(channel) + _U64.pack(at + len(indexes))
            indexes += _record(MESSAGE_INDEX, _U16.pack(channel), _sized(b"".join(entries)))
        self._write(front, head, *chunk.parts, indexes)
        for written, new in zip(self._written, (schemas, channels), strict=True):
            written.update(new)
        first, last = self._times or (chunk.first, chunk.last)
        self._times = min(first, chunk.first), max(last, chunk.last)
        where = _U64.pack(start) + _U64.pack(length) + _sized(offsets)
        rest = _U64.pack(len(indexes)) + _text("") + size + size
        self._chunk_indexes.append(_record(CHUNK_INDEX, times, where, rest))

    def _not_yet_written(self, numbers: Iterable[int]) -> tuple[dict[int, bytes], dict[int, bytes]]:
        """The records of schemas and channels that messages of these channels still need."""
        channels = [self._by_number[number] for number in numbers]
        return (
            {c.schema: c.of_schema for c in channels if c.schema not in self._written[0]},
            {c.number: c.record for c in channels if c.number not in self._written[1]},
        )

    def finish(self) -> None:
        """Write what is left, and the summary."""
        self.end_chunk()
        self._write(_record(DATA_END, _U32.pack(0)))
        start = self._at
        groups: dict[int, Iterable[bytes]] = {
            SCHEMA: self._written[0].values(),
            CHANNEL: self._written[1].values(),
            STATISTICS: [self._statistics()],
            CHUNK_INDEX: self._chunk_indexes,
        }
        summary, offsets = b"", b""
        for opcode, records in groups.items():
            content = b"".join(records)
            if content:
                place = _U64.pack(start + len(summary)) + _U64.pack(len(content))
                offsets += _record(SUMMARY_OFFSET, bytes([opcode]), place)
            summary += content
        places = _U64.pack(start) + _U64.pack(start + len(summary))
        footer = _RECORD.pack(FOOTER, len(places) + 4) + places
        crc = zlib.crc32(summary + offsets + footer)
        self._write(summary, offsets, footer, _U32.pack(crc), MAGIC)

    def _statistics(self) -> bytes:
        counts = [_U16.pack(n) + _U64.pack(self._counts[n]) for n in self._written[1]]
        first, last = self._times or (0, 0)
        return _record(
            STATISTICS,
            _U64.pack(sum(self._counts.values())),
            _U16.pack(len(self._written[0])),
            _U32.pack(len(self._written[1])),
            _U32.pack(0),
            _U32.pack(0),
            _U32.pack(len(self._chunk_indexes)),
            _U64.pack(first),
            _U64.pack(last),
            _sized(b"".join(counts)),
        )

    def _write(self, *parts: Part) -> None:
        """Write all of it, or leave the file as it was."""
        start = self._at
        try:
            for part in parts:
                left = _view(part)
                while left:
                    written = self._stream.write(left)
                    left, self._at = left[written:], self._at + written
        except OSError:
            self._at = start
            self._stream.seek(start)
            self._stream.truncate()
            raise
