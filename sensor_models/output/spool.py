"""Rows of equal size in an unnamed file, which a thread of its own writes.

The file is in the output directory: a full disk is noticed while the sensor runs, and a killed
process leaves nothing behind. Rows that could not be written are holes in it; ``written`` says
which rows are there.
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

#: How many blocks wait for the disk, besides the one that is being written.
QUEUED_BLOCKS = 16


class Spool:
    """Fixed-size rows in an unnamed file, written by a thread of its own."""

    def __init__(self, directory: Path, row_bytes: int) -> None:
        self.losses = Losses()
        self._directory = directory
        self._row_bytes = row_bytes
        self._missing: list[tuple[int, int]] = []  # (from, to): rows that are not in the file
        self._file: IO[bytes] = tempfile.TemporaryFile(  # noqa: SIM115 - open until close()
            dir=directory, prefix=".", buffering=0
        )
        self._worker = Worker("record", QUEUED_BLOCKS)

    @property
    def is_ours(self) -> bool:
        """Whether this is the process that writes it."""
        return self._worker.is_ours

    def put(self, row: int, block: memoryview) -> None:
        """Queue rows for writing, from this number on; waits while too many blocks are queued."""
        self._worker.put(partial(self._do, row, block))

    def flush(self) -> None:
        """Wait until all is written."""
        self._worker.wait()

    def written(self, rows: int) -> list[tuple[int, int]]:
        """Which of the first so many rows are in the file, as (from, to); call ``flush`` before."""
        return _without([(0, rows)], self._missing)

    def read(self, row: int, count: int, row_type: np.dtype[np.void]) -> Rows:
        """Read rows back; all must have been written."""
        self._file.seek(row * self._row_bytes)
        return np.frombuffer(self._file.read(count * self._row_bytes), row_type, count)

    def close(self) -> None:
        """End the thread and close the file."""
        self._worker.finish()
        self._file.close()

    def _do(self, row: int, block: memoryview) -> None:
        rows = (row, row + len(block) // self._row_bytes)
        self._missing = _without(self._missing, [rows])  # a row may be written again
        try:
            self._write(row, block)
        except Exception as error:  # errors are kept for the owner, who asks for them
            self._missing = sorted([*self._missing, rows])
            self.losses.lose(rows[0], rows[1] - 1, error)
        else:
            self.losses.recover()

    def _write(self, row: int, block: memoryview) -> None:
        self._directory.stat()  # the unnamed file would still exist without its directory
        self._file.seek(row * self._row_bytes)
        while block:
            block = block[self._file.write(block) :]


def _without(
    kept: Iterable[tuple[int, int]], taken: Iterable[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Ranges (from, to), without those parts that are in others."""
    left = [(a, b) for a, b in kept if a < b]
    for first, end in taken:
        pieces = [(a, min(b, first)) for a, b in left] + [(max(a, end), b) for a, b in left]
        left = sorted((a, b) for a, b in pieces if a < b)
    return left
