"""The results of runs: a row for each, in a journal and in a table.

``journal.jsonl``  a line for each run, written when it has ended. The first line says which
                   campaign it is. Lines that are not whole, as the end of a process may leave
                   them, are skipped: their runs are done again.
``runs.parquet``   the same rows as one table, rewritten from time to time and at the end.

The journal decides which runs are done: those that have a line in it. One process at a time writes
to a directory (``sensor_models.output.holding``); anybody may read it meanwhile.
"""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from enum import IntEnum
from pathlib import Path
from typing import IO, Any

from sensor_models.output.holding import Hold
from sensor_models.output.parquet import write_parquet

JOURNAL, TABLE = "journal.jsonl", "runs.parquet"


class ResultsError(ValueError):
    """Results that belong to another campaign, or cannot be read."""


@dataclass(frozen=True)
class Row:
    """The result of a run."""

    run: int
    seed: int
    values: dict[str, Any]
    metrics: dict[str, float]
    status: str  # "ok" or "failed"
    message: str
    seconds: float
    directory: str  # relative to that of the campaign; "" if nothing was kept

    def flat(self) -> dict[str, Any]:
        """The row with a column for each parameter and metric."""
        return {
            "run": self.run,
            "seed": self.seed,
            **self.values,
            **self.metrics,
            "status": self.status,
            "message": self.message,
            "seconds": self.seconds,
            "directory": self.directory,
        }


#: What a row has besides parameters and metrics, whose names must be others.
COLUMNS = frozenset(Row(0, 0, {}, {}, "", "", 0.0, "").flat())
_FIELDS = {field.name for field in fields(Row)}


def plain(value: Any) -> Any:
    """A value for a file: a choice becomes the name of its item."""
    return value.name if isinstance(value, IntEnum) else value


def read_rows(directory: Path, identity: Mapping[str, Any]) -> dict[int, Row]:
    """The rows in the journal of a campaign, by the numbers of their runs; none without journal."""
    journal = directory / JOURNAL
    lines = list(_whole_lines(journal.read_bytes())) if journal.exists() else []
    if not lines:
        return {}
    if lines[0].get("campaign") != dict(identity):
        raise ResultsError(
            f"{directory} has results of another campaign, or of other FMUs; choose "
            "another directory with --output, or delete this one"
        )
    return {line["run"]: Row(**line) for line in lines[1:] if line.keys() == _FIELDS}


def in_order(rows: Mapping[int, Row]) -> list[Row]:
    """Rows by the numbers of their runs."""
    return [rows[number] for number in sorted(rows)]


def _whole_lines(content: bytes) -> Iterator[dict[str, Any]]:
    """The lines of a journal that can be read."""
    for line in content.splitlines():
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if isinstance(found, dict):
            yield found


class Results:
    """The results of a campaign in a directory, which nobody else writes to until they are closed.

    Raises:
        HeldError: if another process does.
    """

    def __init__(self, directory: Path, identity: Mapping[str, Any]) -> None:
        """Continue where the journal ends, or begin one."""
        self.directory = directory
        self._hold = Hold(directory)
        try:
            self.rows = read_rows(directory, identity)
            self._file: IO[str] = self._begin(directory / JOURNAL, identity)
        except BaseException:
            self._hold.close()
            raise

    def _begin(self, path: Path, identity: Mapping[str, Any]) -> IO[str]:
        """The journal, after its last line; a torn one stays a line of its own."""
        content = path.read_bytes() if path.exists() else b""
        journal = path.open("a", encoding="utf-8")
        if content and not content.endswith(b"\n"):
            journal.write("\n")
        if not any(_whole_lines(content)):
            journal.write(json.dumps({"campaign": dict(identity)}) + "\n")
        journal.flush()
        return journal

    def add(self, row: Row) -> None:
        """Note a run that has ended."""
        if row.run in self.rows:
            raise ResultsError(f"run {row.run} has ended already")
        self.rows[row.run] = row
        self._file.write(json.dumps(vars(row)) + "\n")
        self._file.flush()

    def ordered(self) -> list[Row]:
        """The rows by the numbers of their runs."""
        return in_order(self.rows)

    def write_table(self) -> Path:
        """Write all rows as Parquet."""
        path = self.directory / TABLE
        aside = path.with_suffix(".part")
        rows = [dict(_numbers(row.flat())) for row in self.ordered()]
        names = list(dict.fromkeys(name for row in rows for name in row))
        write_parquet(aside, {name: [row.get(name) for row in rows] for name in names})
        aside.replace(path)
        return path

    def close(self) -> None:
        """End the journal."""
        self._file.close()
        self._hold.close()


def _numbers(row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The columns of a row; NaN becomes an empty cell."""
    for name, value in row.items():
        yield name, None if isinstance(value, float) and math.isnan(value) else value
