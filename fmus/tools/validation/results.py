"""The last results, as a text file that is kept with the project: ``validation/results.toml``.

FMUs carry cards made of it, and the documents quote it, so neither needs a run. It has no times and
nothing of the machine: the same FMUs give the same file.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sensor_models.core.toml_files import TomlError, read_toml

#: Their file in the folder of rows.
RESULTS = "results.toml"
FORMAT = 1
HEAD = "# Written by `sensor-fmus validate --update` (make validate): not to be edited.\n"


class ResultsError(ValueError):
    """Results that cannot be read."""


@dataclass(frozen=True)
class KeptNumber:
    """A number of a row as it is kept."""

    name: str
    published: float
    simulated: float
    unit: str
    allowed: str
    passed: bool


@dataclass(frozen=True)
class KeptRow:
    """A row as it is kept."""

    name: str
    title: str
    sensor: str
    fmus: tuple[str, ...]
    kind: str
    third_party: bool
    proves: str
    source: str
    verdict: str
    message: str
    numbers: tuple[KeptNumber, ...]
    metric: str


def write_results(path: Path, rows: Sequence[KeptRow]) -> Path:
    """Write the results of all rows."""
    lines = [HEAD, f"format = {FORMAT}\n"]
    for row in rows:
        lines.append("\n[[rows]]\n")
        for key, value in vars(row).items():
            if key != "numbers":
                lines.append(f"{key} = {_value(value)}\n")
        lines += [_table("rows.numbers", vars(number)) for number in row.numbers]
    aside = path.with_suffix(".part")
    aside.write_text("".join(lines), encoding="utf-8")
    aside.replace(path)
    return path


def _table(name: str, values: dict[str, Any]) -> str:
    return f"\n[[{name}]]\n" + "".join(f"{key} = {_value(v)}\n" for key, v in values.items())


def _value(value: Any) -> str:
    """A value of TOML; the strings of JSON are strings of TOML, too."""
    if isinstance(value, float):
        return repr(value)
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)


def read_results(path: Path) -> list[KeptRow]:
    """The results that were kept, in their order; none if there is no such file."""
    if not path.is_file():
        return []
    try:
        content = read_toml(path)
    except TomlError as error:
        raise ResultsError(str(error)) from error
    if content.get("format") != FORMAT:
        raise ResultsError(f"{path}: format = {content.get('format')!r}, known is {FORMAT}")
    try:
        return [_row(table) for table in content.get("rows", [])]
    except TypeError as error:
        raise ResultsError(f"{path}: {error}; sensor-fmus validate --update writes it") from error


def _row(table: dict[str, Any]) -> KeptRow:
    numbers = tuple(KeptNumber(**number) for number in table.get("numbers", []))
    return KeptRow(**{**table, "fmus": tuple(table["fmus"]), "numbers": numbers})
