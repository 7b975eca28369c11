"""Rows of one size on their way through an unnamed file, which a thread of its own writes.

The file is in the output directory: a full disk shows while the sensor runs, and a killed process
leaves nothing behind. Rows that could not be written are holes in it, and ``written`` says what is
there.
"""

import tempfile
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt

from sensor_models.output.worker import Losses, Worker

Rows = npt.NDArray[np.void]

#: Blocks that wait for the disk, besides the one that is being written.
QUEUED_BLOCKS = 16


class Spool:
    """Fixed-size rows in an unnamed file, written by a thread of its own."""

    def __init__(self, directory: Path, row_bytes: int) -> None:
        self.losses = Losses()
        self._directory = directory
        self._row_bytes = row_bytes
        self._missing: list[tuple[int, int]] = []  # rows from, to: those not in the file
        self._file: IO[bytes] = tempfile.TemporaryFile(  # noqa: SIM115 - open until close()
            dir=directory, prefix=".", buffering=0
        )
        self._worker = Worker("record", QUEUED_BLOCKS)

    @property
    def is_ours(self) -> bool:
        """Whether this is the process that writes it."""
        return self._worker.is_ours

    def put(self, row: int, block: memoryview) -> None:
        """Write rows from this one on, soon; waits while too many blocks are on their way."""
        self._worker.put(partial(self._do, row, block))

    def flush(self) -> None:
        """Wait until all is written."""
        self._worker.wait()

    def written(self, rows: int) -> list[tuple[int, int]]:
        """Of the first so many rows those that are in the file: from, to; only after a flush."""
        return _without([(0, rows)], self._missing)

    def read(self, row: int, count: int, row_type: np.dtype[np.void]) -> Rows:
        """Read rows back; only once all is written."""
        self._file.seek(row * self._row_bytes)
        return np.frombuffer(self._file.read(count * self._row_bytes), row_type, count)

    def close(self) -> None:
        """End the thread and give the file back to the system."""
        self._worker.finish()
        self._file.close()

    def _do(self, row: int, block: memoryview) -> None:
        rows = (row, row + len(block) // self._row_bytes)
        self._missing = _without(self._missing, [rows])  # a row may be written once more
        try:
            self._write(row, block)
        except Exception as error:  # all of it belongs to the owner, who asks for it
            self._missing = sorted([*self._missing, rows])
            self.losses.lose(rows[0], rows[1] - 1, error)
        else:
            self.losses.recover()

    def _write(self, row: int, block: memoryview) -> None:
        self._directory.stat()  # the unnamed file would outlive its directory unnoticed
        self._file.seek(row * self._row_bytes)
        while block:
            block = block[self._file.write(block) :]


def _without(
    kept: Iterable[tuple[int, int]], taken: Iterable[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Ranges (from, to), less what lies in others."""
    left = [(a, b) for a, b in kept if a < b]
    for first, end in taken:
        pieces = [(a, min(b, first)) for a, b in left] + [(max(a, end), b) for a, b in left]
        left = sorted((a, b) for a, b in pieces if a < b)
    return left
