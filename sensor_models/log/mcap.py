"""MCAP files: messages of any format in the order of time, with what is needed to read them.

A file is a header, then chunks of messages with an index behind each, then a summary: schemas,
channels, statistics and where the chunks are. Every chunk goes to the disk when it is full. So a
file whose writer was killed lacks the summary, and readers get all messages up to the last chunk by
reading from the front. Chunks are not compressed: clouds of points hardly shrink, and the writer
would be twice as slow. Schemas and channels stand before the chunks that need them.

Written here and not with the package ``mcap``, which copies each message four times.

Source: MCAP format specification, version 0; https://mcap.dev/spec.
"""

import struct
import zlib
from collections.abc import Mapping
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


class McapWriter:
    """Writes one file, front to back."""

    def __init__(self, stream: IO[bytes], profile: str) -> None:
        """``stream`` is empty and not buffered."""
        self._stream = stream
        self._at = 0
        self._schemas: dict[str, tuple[int, bytes]] = {}
        self._channels: dict[tuple[str, str], tuple[int, bytes]] = {}
        self._counts: dict[int, int] = {}
        self._records: dict[int, bytes] = {}  # of channels
        self._chunk = _Chunk()
        self._chunk_indexes: list[bytes] = []
        self._first = self._last = 0
        self._write(MAGIC, _record(HEADER, _text(profile), _text(LIBRARY)))

    @property
    def waiting(self) -> int:
        """Bytes of the chunk that is being filled."""
        return self._chunk.size

    def channel(self, topic: str, schema: Schema, metadata: Mapping[str, str]) -> int:
        """The number of a topic with messages of one kind."""
        key = topic, schema.name
        if key not in self._channels:
            kind = self._schema(schema)
            number = len(self._channels) + 1
            own = _U16.pack(number), _U16.pack(kind), _text(topic)
            record = _record(CHANNEL, *own, _text(schema.message_encoding), _map(metadata))
            self._write(record)
            self._channels[key] = number, record
            self._records[number] = record
            self._counts[number] = 0
        return self._channels[key][0]

    def _schema(self, schema: Schema) -> int:
        if schema.name not in self._schemas:
            number = len(self._schemas) + 1  # 0 stands for none
            own = _U16.pack(number), _text(schema.name), _text(schema.encoding)
            record = _record(SCHEMA, *own, _sized(schema.data))
            self._write(record)
            self._schemas[schema.name] = number, record
        return self._schemas[schema.name][0]

    def add(self, channel: int, time: int, published: int, parts: list[Part]) -> None:
        """Take a message; times in ns.

        A chunk begins with the channel of its first message once more: a reader of bags takes a
        message at the very front for none.
        """
        if not self._chunk.size:
            self._chunk.begin(self._records[channel])
        self._chunk.add(channel, self._counts[channel], time, published, parts)
        self._first = time if not any(self._counts.values()) else min(self._first, time)
        self._last = max(self._last, time)
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
        start = self._at
        times = _U64.pack(chunk.first) + _U64.pack(chunk.last)
        size = _U64.pack(chunk.size)
        head = times + size + _U32.pack(crc) + _text("") + size
        head = _RECORD.pack(CHUNK, len(head) + chunk.size) + head
        length = len(head) + chunk.size
        offsets, indexes, at = b"", b"", start + length
        for channel, entries in chunk.index.items():
            offsets += _U16.pack(channel) + _U64.pack(at + len(indexes))
            indexes += _record(MESSAGE_INDEX, _U16.pack(channel), _sized(b"".join(entries)))
        self._write(head, *chunk.parts, indexes)
        where = _U64.pack(start) + _U64.pack(length) + _sized(offsets)
        rest = _U64.pack(len(indexes)) + _text("") + size + size
        self._chunk_indexes.append(_record(CHUNK_INDEX, times, where, rest))

    def finish(self) -> None:
        """Write what is left, and the summary."""
        self.end_chunk()
        self._write(_record(DATA_END, _U32.pack(0)))
        start = self._at
        groups = {
            SCHEMA: [record for _, record in self._schemas.values()],
            CHANNEL: [record for _, record in self._channels.values()],
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
        counts = b"".join(_U16.pack(n) + _U64.pack(count) for n, count in self._counts.items())
        return _record(
            STATISTICS,
            _U64.pack(sum(self._counts.values())),
            _U16.pack(len(self._schemas)),
            _U32.pack(len(self._channels)),
            _U32.pack(0),
            _U32.pack(0),
            _U32.pack(len(self._chunk_indexes)),
            _U64.pack(self._first),
            _U64.pack(self._last),
            _sized(counts),
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
