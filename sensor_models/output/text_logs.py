"""Texts of samples in one file, one after the other: logs that other programs read.

As in a record (``records``), samples have rising indices and the newest wins. ``rewind`` says where
the next state continues, and drops nothing until a text is appended or the log is published. A
thread of its own writes blocks of bytes to an unnamed file, which ``publish`` turns into the log.
"""

import atexit
from array import array
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sensor_models.output.files import Index, OutputError, output_errors, published
from sensor_models.output.spool import Spool

BLOCK_BYTES = 1 << 16  # size of a block for the thread
BYTE = np.dtype([("byte", "u1")])


@dataclass(frozen=True)
class TextFile:
    """A String among the readings that is written to a file beside a record."""

    reading: str
    on: str  # the name of the Boolean parameter that switches this on
    suffix: str


class TextLog:
    """The texts of one sensor on their way into a file."""

    def __init__(self, file: Path, index: Index) -> None:
        self.file = file
        self._index = index
        self._block, self._block_start = bytearray(), 0
        self._first = 0  # the sample of the first text
        self._ends = array("q")  # where each text ends
        self._rewound: int | None = None
        self._news, self._closed = True, False
        with output_errors(f"cannot write to {file.parent}"):
            self._spool = Spool(file.parent, 1)
        atexit.register(self.close)

    def append(self, index: int, text: str) -> None:
        """Take the text of a sample."""
        self._settle()
        self._cut(index)
        if not self._ends:
            self._first = index
        missing = index - self._first - len(self._ends)
        self._ends.extend([self._end] * missing)
        self._block += text.encode()
        self._ends.append(self._block_start + len(self._block))
        self._news = True
        if len(self._block) >= BLOCK_BYTES:
            self._put_block()

    def rewind(self, next_index: int) -> None:
        """Continue at a sample, whether it is one that was taken before or one further on."""
        self._rewound, self._news = next_index, True

    def publish(self) -> None:
        """Write the file and its line in the index, if there are new texts; the log stays open."""
        if self._closed or not self._spool.is_ours or not self._news:
            return
        self._settle()
        self._put_block()
        self._spool.flush()
        written = self._spool.written(self._end)
        with (
            output_errors(f"cannot write {self.file}"),
            published(self.file) as aside,
            aside.open("wb") as stream,
        ):
            for first, end in written:
                for start in range(first, end, BLOCK_BYTES):
                    rows = self._spool.read(start, min(BLOCK_BYTES, end - start), BYTE)
                    stream.write(rows.tobytes())
        self._index.add(self.file.name, {"samples": len(self._ends)})
        self._news = False
        lost = self._end - sum(end - first for first, end in written)
        if lost:
            _, error = self._spool.losses.unaccounted()
            raise OutputError(f"{self.file}: {lost} of {self._end} bytes are lost: {error}")

    def close(self) -> None:
        """Publish what is new and end the log; closing again does nothing."""
        if self._closed or not self._spool.is_ours:
            return
        atexit.unregister(self.close)
        try:
            self.publish()
        finally:
            self._closed = True
            with suppress(OSError):
                self._spool.close()

    @property
    def _end(self) -> int:
        """Where the newest text ends."""
        return self._ends[-1] if self._ends else 0

    def _settle(self) -> None:
        """Drop the texts that ``rewind`` has marked."""
        if self._rewound is not None:
            self._cut(self._rewound)
            self._rewound = None

    def _cut(self, index: int) -> None:
        """Drop the texts from an index on."""
        del self._ends[max(index - self._first, 0) :]
        if self._end < self._block_start:  # later bytes overwrite those in the file
            self._block, self._block_start = bytearray(), self._end
        else:
            del self._block[self._end - self._block_start :]

    def _put_block(self) -> None:
        if self._block:
            self._spool.put(self._block_start, memoryview(self._block))
            self._block_start += len(self._block)
            self._block = bytearray()
