"""Tables of numbers that make a pattern: beams of a spinning head, and patterns as files.

A CSV file has one line of column names, then one line a beam or ray; empty lines and what follows
``#`` do not count. Angles are in rad, times in s; a name with a suffix is in that unit
(``elevation_deg``, ``time_us``).

Beam tables that come with the library are TOML files in ``beams/``, one list a column, with the
source of their numbers. A name is found whatever its case, and without regard to anything that
is no letter or digit.

Beam: elevation, upward; azimuth, counterclockwise from where the head points; time from the start
of the column's firing; ring, the maker's number of the beam.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sensor_models._places import data_files
from sensor_models.core.quantities import ParameterError
from sensor_models.core.toml_files import TomlError, read_regular, read_toml

Floats = NDArray[np.float64]

#: Of a file of rays or beams: some million rows.
MAX_TABLE_BYTES = 2**28

#: Names of columns in other units: the column that is meant, and what its numbers are divided by,
#: as a product would round 5 us differently from 0.000005 s.
_OTHER_UNITS = {
    "elevation_deg": ("elevation", 180.0 / math.pi),
    "azimuth_deg": ("azimuth", 180.0 / math.pi),
    "time_us": ("time", 1e6),
}

#: Smallest and greatest values of columns, and whether they are whole numbers.
_RANGES = {
    "elevation": (-math.pi / 2.0, math.pi / 2.0, "-pi/2 to pi/2 rad"),
    "azimuth": (-math.tau, math.tau, "-2 pi to 2 pi rad"),
    "time": (0.0, 1e9, "0 to 1e9 s"),
    "ring": (0.0, 65535.0, "a whole number, 0 to 65535"),
}
#: Degrees become rad with a rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Table:
    """Columns by their names, in rad and s, and where their rows stand."""

    place: str
    columns: Mapping[str, Floats]
    #: of each row, for messages: ``line 7`` or ``entry 7``
    rows: Sequence[str]

    def __len__(self) -> int:
        return len(self.rows)


def read_rays(name: str) -> Table:
    """A pattern file, in the order of the file."""
    return _read_csv(Path(name), ("time", "azimuth", "elevation"), ("ring",))


def read_beams(name: str) -> Table:
    """A beam table by its name or its path, in its own order."""
    known = {_simplified(path.stem): path for path in data_files("lidar/beams", "*.toml")}
    shipped = known.get(_simplified(name))
    if shipped is not None:
        return _read_shipped(shipped)
    path = Path(name)
    if not path.suffix and not path.exists():
        names = ", ".join(sorted(path.stem for path in known.values()))
        raise ParameterError(
            f"pattern.beams = {name!r} is neither a known table nor a file, known: {names}"
        )
    return _read_csv(path, ("elevation", "azimuth"), ("time", "ring"))


def _simplified(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).casefold()


def _read_shipped(path: Path) -> Table:
    content = read_toml(path)["beams"]
    names, columns = list(content), list(content.values())
    rows = [f"entry {n}" for n in range(len(columns[0]))]
    numbers = np.array(columns, dtype=np.float64).T
    return _checked(str(path), names, numbers, rows, ("elevation", "azimuth"), ("time", "ring"))


def _read_csv(path: Path, needed: tuple[str, ...], known: tuple[str, ...]) -> Table:
    try:
        text = read_regular(path, MAX_TABLE_BYTES).decode("utf-8-sig")
    except TomlError as error:
        raise ParameterError(str(error)) from error
    except ValueError as error:  # that of UTF-8
        raise ParameterError(f"{path}: cannot be read: {error}") from error
    lines = [(n, line.partition("#")[0].strip()) for n, line in enumerate(text.splitlines(), 1)]
    lines = [(n, line) for n, line in lines if line]
    if len(lines) < 2:
        raise ParameterError(f"{path}: has no rows, needed is a line of names and one a row")
    names = [name.strip() for name in lines[0][1].split(",")]
    numbers = _numbers(path, lines[1:], len(names))
    rows = [f"line {n}" for n, _ in lines[1:]]
    return _checked(str(path), names, numbers, rows, needed, known)


def _numbers(path: Path, lines: list[tuple[int, str]], width: int) -> Floats:
    try:
        numbers = np.loadtxt([line for _, line in lines], delimiter=",", ndmin=2)
        if numbers.shape[1] == width:
            return numbers
    except ValueError:
        pass  # what is wrong is found again below, where its line is known
    for n, line in lines:
        parts = line.split(",")
        if len(parts) != width:
            raise ParameterError(f"{path}, line {n}: has {len(parts)} values, needed are {width}")
        for part in parts:
            try:
                float(part)
            except ValueError:
                raise ParameterError(f"{path}, line {n}: {part.strip()!r} is no number") from None
    return np.array([[float(part) for part in line.split(",")] for _, line in lines])


def _checked(
    place: str,
    names: Sequence[str],
    numbers: Floats,
    rows: Sequence[str],
    needed: tuple[str, ...],
    known: tuple[str, ...],
) -> Table:
    columns: dict[str, Floats] = {}
    for name, values in zip(names, numbers.T, strict=True):
        base, scale = _OTHER_UNITS.get(name, (name, 1.0))
        if base not in needed + known:
            listed = ", ".join(needed + known)
            raise ParameterError(f"{place}: column {name!r} is unknown, known: {listed}")
        if base in columns:
            raise ParameterError(f"{place}: column {name!r} is given twice")
        columns[base] = _within(place, base, values / scale, rows)
    for base in needed:
        if base not in columns:
            raise ParameterError(f"{place}: column {base!r} is missing")
    return Table(place, columns, rows)


def _within(place: str, name: str, values: Floats, rows: Sequence[str]) -> Floats:
    low, high, allowed = _RANGES[name]
    good = (values >= low - _ROUNDING) & (values <= high + _ROUNDING)  # false for NaN
    if name == "ring":
        good &= np.floor(values) == values
    if not good.all():
        row = int(np.argmin(good))
        raise ParameterError(
            f"{place}, {rows[row]}: {name} = {values[row]} is out of range, allowed is {allowed}"
        )
    return values
