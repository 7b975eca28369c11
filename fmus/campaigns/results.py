"""The results of runs: a row for each, in a journal and in a table.

``journal.jsonl``  a line for each run, written when it has ended. The first line says which
                   campaign it is. A line that was not finished when the process was killed is cut
                   off when the campaign goes on.
``runs.parquet``   the same rows as one table, rewritten from time to time and at the end.

The journal decides which runs are done: those that have a line in it.
"""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import IO, Any

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


def plain(value: Any) -> Any:
    """A value for a file: a choice becomes the name of its item."""
    return value.name if isinstance(value, IntEnum) else value


class Results:
    """The results of a campaign in a directory."""

    def __init__(self, directory: Path, identity: Mapping[str, Any]) -> None:
        """Continue where the journal ends, or begin one."""
        self.directory = directory
        self.rows: dict[int, Row] = {}
        directory.mkdir(parents=True, exist_ok=True)
        journal = directory / JOURNAL
        if journal.exists() and self._go_on(journal, identity):
            self._file: IO[str] = journal.open("a", encoding="utf-8")
            return
        self._file = journal.open("w", encoding="utf-8")
        self._write({"campaign": dict(identity)})

    def _go_on(self, journal: Path, identity: Mapping[str, Any]) -> bool:
        """Read the runs that are done; returns whether the journal has a first line."""
        content = journal.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if not whole:
            return False
        if len(whole) < len(content):
            with journal.open("r+b") as file:
                file.truncate(len(whole))
        first, *lines = (json.loads(line) for line in whole.splitlines())
        if first.get("campaign") != dict(identity):
            raise ResultsError(
                f"{self.directory} has results of another campaign, or of other FMUs; choose "
                "another directory with --output, or delete this one"
            )
        for line in lines:
            self.rows[line["run"]] = Row(**line)
        return True

    def add(self, row: Row) -> None:
        """Note a run that has ended."""
        if row.run in self.rows:
            raise ResultsError(f"run {row.run} has ended already")
        self.rows[row.run] = row
        self._write(vars(row))

    def _write(self, line: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()

    def ordered(self) -> list[Row]:
        """The rows by the numbers of their runs."""
        return [self.rows[number] for number in sorted(self.rows)]

    def write_table(self) -> Path:
        """Write all rows as Parquet."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = self.directory / TABLE
        aside = path.with_suffix(".part")
        rows = [dict(_numbers(row.flat())) for row in self.ordered()]
        names = list(dict.fromkeys(name for row in rows for name in row))
        table = pa.table({name: [row.get(name) for row in rows] for name in names})
        pq.write_table(table, aside)
        aside.replace(path)
        return path

    def close(self) -> None:
        """End the journal."""
        self._file.close()


def _numbers(row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The columns of a row; NaN becomes an empty cell."""
    for name, value in row.items():
        yield name, None if isinstance(value, float) and math.isnan(value) else value
