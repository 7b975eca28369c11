"""Records: the time series of one scalar sensor, as a Parquet or a CSV file.

Columns are ``sample`` (int64), ``time`` (s) and one for each declared scalar of the sensor's
reading, vectors by component (``acceleration.x``). Numbers are exact, in CSV too: a float is
written with the digits that read back as the same float. Units and descriptions are in the
metadata of Parquet's columns. Units are also in the metadata of the Parquet file, as JSON under the
key ``units``, and for both formats in the line of ``index.jsonl``, so the header of a CSV file is
one row of plain names.

How a sample gets into the file: ``append`` packs it into a block of fixed-size binary rows. Full
blocks go through a bounded queue to the record's one worker thread, which writes them to an
unnamed spool file in the output directory: a full disk is noticed while the sensor runs, and a
killed process leaves nothing behind. If the disk is slower than the sensor, ``append`` waits. At
the end the spool is converted to a temporary file, which is then renamed to the final name.

A master may set an FMU back to an earlier state. Samples in a record have rising indices, and the
newest wins: appending a sample drops all samples from its index on. ``rewind`` says where the next
state continues. It drops nothing until a sample is appended or the record is closed, because a
master may go to a later state again.

``publish`` writes the file and keeps the record open, because a master may go back to a saved state
after the end of a run; ``close`` ends it.

A block that cannot be written is lost; the next one is tried again, because a full disk may have
space again later. If several blocks in a row are lost, the next ``append`` raises an
``OutputError`` for the first of them. The file then has the other samples, its line in the index
says how many are lost, and ``publish`` or ``close`` raise an error that says so, too.
"""

import atexit
import csv
import json
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from types import TracebackType

import numpy as np
import numpy.typing as npt

from sensor_models.core.quantities import boolean, check, choice, string
from sensor_models.core.spec import Group, scalars_of
from sensor_models.output.files import (
    Index,
    OutputError,
    output_directory,
    output_errors,
    published,
    safe_file_name,
)
from sensor_models.output.parquet import Field, ParquetWriter
from sensor_models.output.spool import Spool
from sensor_models.output.text_logs import TextLog

Chunk = npt.NDArray[np.void]

BLOCK_BYTES = 1 << 16  # a block goes to the worker in one piece
CHUNK_ROWS = 1 << 16  # rows in memory while converting, and in one row group of Parquet

#: No sample has this index (it needs 65 bits), so an append that expects it takes the slow path.
NEVER = -(1 << 63) - 1

#: Type of a column by the kind of its quantity: code of ``struct``, type of NumPy and Parquet.
_TYPES = {
    "boolean": ("?", "?"),
    "integer": ("q", "<i8"),
    "choice": ("q", "<i8"),
    "real": ("d", "<f8"),
}


class RecordFormat(IntEnum):
    """File format of a record."""

    parquet = 0
    csv = 1


@dataclass(frozen=True)
class RecordParameters:
    """Whether, where and how a sensor records its samples."""

    record: bool = boolean(False, "Record all samples as a time series in a file")
    output_directory: str = string(
        "", "Directory for files; if empty, a fresh one under the system's temporary directory"
    )
    output_format: RecordFormat = choice(RecordFormat.parquet, "Format of the recorded file")

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class Column:
    """A column of a record."""

    name: str
    kind: str
    unit: str
    description: str


def columns_of(reading: type | Sequence[Group]) -> tuple[Column, ...]:
    """The columns of a record of readings of one class, or of groups, without their texts."""
    groups = (Group(reading),) if isinstance(reading, type) else reading
    name_of = reading.__name__ if isinstance(reading, type) else "the readings"
    columns = [
        Column("sample", "integer", "1", "Index of the sample"),
        Column("time", "real", "s", "Instant the sample belongs to"),
    ]
    for name, quantity, _ in scalars_of(groups):
        if quantity.kind in _TYPES:
            columns.append(Column(name, quantity.kind, quantity.unit, quantity.description))
        elif isinstance(reading, type):
            raise TypeError(f"{name_of}.{name}: a {quantity.kind} has no column")
    names = [column.name for column in columns]
    for name in names:
        if names.count(name) > 1:
            raise TypeError(f"{name_of}: two columns would have the name {name!r}")
    return tuple(columns)


class Record:
    """The samples of one sensor on their way into a file."""

    def __init__(
        self,
        sensor: str,
        reading: type | Sequence[Group],
        parameters: RecordParameters,
        effective: Mapping[str, object],
        more: Sequence[Column] = (),
    ) -> None:
        """Open a record of readings of a class; ``effective`` parameters go to the index.

        ``more`` are columns after those of the readings.
        """
        self.sensor = sensor
        self.columns = (*columns_of(reading), *more)
        self._format = parameters.output_format
        directory = output_directory(parameters.output_directory, sensor)
        self.file = directory / f"{safe_file_name(sensor)}.{self._format.name}"
        layout = struct.Struct("<" + "".join(_TYPES[column.kind][0] for column in self.columns))
        self._pack_into, self._row_bytes = layout.pack_into, layout.size
        self._block_bytes = max(1, BLOCK_BYTES // layout.size) * layout.size
        self._block, self._fill, self._block_row = bytearray(self._block_bytes), 0, 0
        self._runs: list[tuple[int, int]] = []  # (sample, row) where runs begin
        self._expected = NEVER  # the index that continues the last of these runs
        self._rewound: int | None = None
        self._closed = False
        self._told = 0  # lost samples that an error at the end has reported
        self._news = True  # a record without samples is published, too
        with output_errors(f"cannot record to {directory}"):
            self._index = Index(directory, sensor, effective)
            self._spool = Spool(directory, layout.size)
        atexit.register(self.close)

    def __enter__(self) -> "Record":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def log_beside(self, suffix: str) -> TextLog:
        """A log of texts in a file beside the record's, with the same name."""
        return TextLog(self.file.with_name(f"{safe_file_name(self.sensor)}.{suffix}"), self._index)

    def append(self, index: int, time: float, values: Sequence[float | int | bool]) -> None:
        """Record a sample: values in the order of the columns after ``time``."""
        if index != self._expected:
            self._turn_to(index)
        self._pack_into(self._block, self._fill, index, time, *values)
        self._fill += self._row_bytes
        self._expected = index + 1
        self._news = True
        if self._fill == self._block_bytes or self._spool.losses.untold is not None:
            self._hand_over()

    @property
    def next_index(self) -> int:
        """The index that continues the record."""
        if self._rewound is not None:
            return self._rewound
        return max(self._expected, 0)

    def rewind(self, next_index: int) -> None:
        """Continue at a sample, whether it is one recorded before or one further on."""
        self._rewound, self._expected, self._news = next_index, NEVER, True

    def publish(self) -> None:
        """Write the file and its line in the index, if there are new samples.

        The record stays open: it can be rewound and continued, and published again.
        """
        if self._closed or not self._spool.is_ours or not self._news:
            return
        self._settle()
        self._put_block()
        self._spool.flush()
        self._publish()
        self._news = False
        self._report_losses()

    def close(self) -> None:
        """Publish what is new and end the record; closing again does nothing."""
        # After a fork the worker and its spool belong only to the parent.
        if self._closed or not self._spool.is_ours:
            return
        atexit.unregister(self.close)
        try:
            self.publish()
        finally:
            self._closed = True
            self._expected = NEVER
            with suppress(OSError):  # everything is written, or an error has been raised
                self._spool.close()

    def _turn_to(self, index: int) -> None:
        """Make a sample the next one, if it does not simply follow the last one."""
        if self._closed:
            raise ValueError(f"the record of {self.sensor} is closed")
        if index < 0:
            raise ValueError(f"a sample cannot have the index {index}")
        self._settle()
        self._cut(index)
        rows = self._rows
        if not self._runs or self._runs[-1][0] + rows - self._runs[-1][1] != index:
            self._runs.append((index, rows))
        self._expected = index

    def _settle(self) -> None:
        """Drop the samples that ``rewind`` has marked."""
        if self._rewound is not None:
            self._cut(self._rewound)
            self._rewound = None

    @property
    def _rows(self) -> int:
        return self._block_row + self._fill // self._row_bytes

    def _cut(self, index: int) -> None:
        """Drop all samples from an index on."""
        rows = self._rows
        while self._runs and self._runs[-1][0] >= index:
            rows = self._runs.pop()[1]
        if self._runs:
            sample, row = self._runs[-1]
            rows = min(rows, row + index - sample)
        # Rows in the spool stay there until later rows overwrite them.
        self._block_row = min(self._block_row, rows)
        self._fill = (rows - self._block_row) * self._row_bytes

    def _hand_over(self) -> None:
        """Give the rows in the block to the worker; raise an error for what it could not write."""
        self._put_block()
        if (error := self._spool.losses.news()) is not None:
            raise self._error(str(getattr(error, "strerror", None) or error)) from error

    def _put_block(self) -> None:
        if self._fill:
            self._spool.put(self._block_row, memoryview(self._block)[: self._fill])
            self._block_row = self._rows
            self._block = bytearray(self._block_bytes)
        self._fill = 0

    @property
    def lost(self) -> int:
        """How many recorded samples are missing in the file; valid after ``publish``."""
        return self._rows - sum(end - row for row, end in self._spool.written(self._rows))

    def _report_losses(self) -> None:
        _, error = self._spool.losses.unaccounted()
        if (lost := self.lost) > self._told and error is not None:
            self._told = lost
            reason = getattr(error, "strerror", None) or error
            raise self._error(f"{lost} of {self._rows} samples are lost: {reason}") from error

    def _error(self, what: str) -> OutputError:
        return OutputError(f"recording {self.sensor} to {self.file.parent} failed: {what}")

    def _publish(self) -> None:
        rows = self._rows
        with output_errors(f"cannot write {self.file}"), published(self.file) as aside:
            write_table(aside, self._format, self._chunks(rows), self.columns)
        written = self._spool.written(rows)
        ends = (
            [self._read(row, 1)[0] for row in (written[0][0], written[-1][1] - 1)]
            if written
            else []
        )
        self._index.add(
            self.file.name,
            {
                "format": self._format,
                "samples": rows - self.lost,
                **({"lost": self.lost} if self.lost else {}),
                "sample": [end["sample"] for end in ends],
                "time": [end["time"] for end in ends],
                "units": {column.name: column.unit for column in self.columns},
            },
        )

    def _chunks(self, rows: int) -> Iterator[Chunk]:
        for first, end in self._spool.written(rows):
            for row in range(first, end, CHUNK_ROWS):
                yield self._read(row, min(CHUNK_ROWS, end - row))

    def _read(self, row: int, count: int) -> Chunk:
        row_type = np.dtype([(column.name, _TYPES[column.kind][1]) for column in self.columns])
        return self._spool.read(row, count, row_type)


def write_table(
    path: Path, kind: RecordFormat, chunks: Iterable[Chunk], columns: Sequence[Column]
) -> None:
    """Write rows with a field for each column."""
    (_write_parquet if kind == RecordFormat.parquet else _write_csv)(path, chunks, columns)


def row_type(columns: Sequence[Column]) -> np.dtype[np.void]:
    """The type of rows with a field for each column."""
    return np.dtype([(column.name, _TYPES[column.kind][1]) for column in columns])


def _write_parquet(path: Path, chunks: Iterable[Chunk], columns: Sequence[Column]) -> None:
    fields = [
        Field(
            column.name,
            np.dtype(_TYPES[column.kind][1]).name,
            metadata={"unit": column.unit, "description": column.description},
        )
        for column in columns
    ]
    # Also in the file's metadata, because readers without Arrow do not see those of the columns.
    units = json.dumps({column.name: column.unit for column in columns})
    with ParquetWriter(path, fields, {"units": units}) as writer:
        for chunk in chunks:
            writer.write([chunk[column.name] for column in columns])


def _write_csv(path: Path, chunks: Iterable[Chunk], columns: Sequence[Column]) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow([column.name for column in columns])
        for chunk in chunks:
            writer.writerows(chunk.tolist())  # floats by repr, which reads back exactly
