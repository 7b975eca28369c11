"""Logs as tables of numbers: CSV, Parquet, our own records, and messages in logs and bags.

Columns are found by the names that they usually have (``Wanted.names``), or by the one that the
user gives for them with ``--column name=theirs``, with a unit in brackets where it is not SI
(``gyroscope.x=gx[deg/s]``). A column that carries its unit in its name (``w_x [rad s^-1]``) or, in
our own records, in the metadata, needs none. Names are compared without regard to case.
"""

import importlib.util
import json
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from sensor_models.presets.units import converted
from sensor_models.tools.fitting.estimates import FitError, Floats

#: What times are multiplied by, by what they are in.
_TIMES = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
#: Beyond these a time without a unit is since 1970 in ms, us or ns: in s that is after 5138.
_SINCE_1970 = ((1e17, 1e-9), (1e14, 1e-6), (1e11, 1e-3))
_UNIT = re.compile(r"^\s*#?\s*(?P<name>.*?)\s*(?:\[(?P<unit>[^\]]*)\])?\s*$")
_SHOWN = 24  # columns that a message lists


@dataclass(frozen=True)
class Wanted:
    """A column that a fit uses, and the names that it is known by."""

    name: str
    names: tuple[str, ...] = ()
    needed: bool = True


@dataclass(frozen=True)
class Table:
    """Columns of a log, which are read when they are asked for."""

    path: Path
    names: Sequence[str]
    load: Callable[[Sequence[str]], Mapping[str, Floats]]
    units: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Columns:
    """The columns of a log by the names that the fit has for them, in SI units."""

    path: Path
    values: Mapping[str, Floats]

    def __getitem__(self, name: str) -> Floats:
        return self.values[name]

    def __contains__(self, name: str) -> bool:
        return name in self.values


def need(what: str, *modules: str) -> None:
    """Refuse what needs packages that are not there, and say how to get them.

    Raises:
        FitError: if one is missing.
    """
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    if missing:
        raise FitError(f"{what} needs {', '.join(missing)}: pip install 'sensor-fmus[fit]'")


def read_columns(path: Path, wanted: Sequence[Wanted], given: Mapping[str, str]) -> Columns:
    """The columns of one log that a fit wants.

    Args:
        path: of the log: ``.csv``, ``.parquet``, ``.mcap``, ``.bag``, ``.db3``, or a bag's folder.
        wanted: columns, of which those that are needed must be there.
        given: what the user calls them, by our names.

    Raises:
        FitError: names the file, what is missing, and what is there.
    """
    table = open_table(path, given)
    places: dict[str, tuple[str, str]] = {}
    for column in wanted:
        found = _place(table, column, given)
        if found is not None:
            places[column.name] = found
        elif column.needed:
            raise FitError(
                f"{path}: there is no column for {column.name}; there are "
                f"{_listed(table.names)}. Name it: --column {column.name}=THEIRS"
            )
    columns = table.load(list({place for place, _ in places.values()}))
    return Columns(
        path,
        {
            name: _checked(path, name, place, _in_si(path, name, columns[place], unit))
            for name, (place, unit) in places.items()
        },
    )


def open_table(path: Path, given: Mapping[str, str]) -> Table:
    """What columns a log has."""
    if not path.exists():
        raise FitError(f"{path}: there is no such file")
    if path.is_dir() or path.suffix in (".mcap", ".bag", ".db3"):
        from sensor_models.tools.fitting.bags import message_table

        return message_table(path, given.get("topic", ""))
    if path.suffix.lower() in (".parquet", ".pq"):
        return _parquet(path)
    if path.suffix.lower() in (".csv", ".txt", ".tsv", ".dat"):
        return _text(path)
    raise FitError(
        f"{path}: a log is .csv, .parquet, .mcap, .bag, .db3, or the folder of a bag of ROS 2"
    )


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more if names else "none"


def _place(table: Table, column: Wanted, given: Mapping[str, str]) -> tuple[str, str] | None:
    """The name of a column in the file, and its unit, as far as it is known."""
    if (told := given.get(column.name)) is not None:
        split = _UNIT.match(told)
        name, unit = (split["name"], split["unit"]) if split else (told, None)
        for place in (told, name):
            if place in table.names:
                return place, _unit_of(table, place) if unit is None or place == told else unit
        raise FitError(
            f"{table.path}: there is no column {name!r} for {column.name}; there are "
            f"{_listed(table.names)}"
        )
    by_name = {_plain(name): name for name in reversed(table.names)}
    for name in (column.name, *column.names):
        if (place := by_name.get(name.lower())) is not None:
            return place, _unit_of(table, place)
    return None


def _plain(name: str) -> str:
    """A name without comment sign and unit, in lower case."""
    split = _UNIT.match(name)
    return (split["name"] if split else name).lower()


def _unit_of(table: Table, place: str) -> str:
    if place in table.units:
        return table.units[place]
    split = _UNIT.match(place)
    return (split["unit"] or "").strip() if split else ""


def _in_si(path: Path, name: str, values: Floats, unit: str) -> Floats:
    if name == "time":
        return _times(path, values, unit)
    unit = unit.replace("rad s^-1", "rad/s").replace("m s^-2", "m/s2")
    if unit in ("", "1"):
        return values
    if unit in ("degC", "°C", "C") and "temperature" in name:
        return values + 273.15
    try:
        return values * converted(1.0, unit)
    except KeyError:
        raise FitError(
            f"{path}: the unit {unit!r} of {name} is not known; `python -m sensor_models.presets "
            "units` lists those that there are"
        ) from None


def _times(path: Path, values: Floats, unit: str) -> Floats:
    if unit:
        if unit not in _TIMES:
            raise FitError(f"{path}: the unit {unit!r} of time is none of {', '.join(_TIMES)}")
        factor = _TIMES[unit]
    else:
        last = float(values[-1]) if len(values) else 0.0
        factor = next((f for least, f in _SINCE_1970 if last > least), 1.0)
    # differences first: a time since 1970 in ns has more digits than a float
    start = float(values[0]) if factor == 1.0 and len(values) else 0.0
    return np.asarray((values - values[:1]) * factor + start)


def _checked(path: Path, name: str, place: str, values: Floats) -> Floats:
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad) and name == "time":
        raise FitError(f"{path}: column {place}: row {bad[0] + 1} has no time")
    if len(bad) == len(values):
        raise FitError(f"{path}: column {place} for {name} holds no number")
    return values


def _parquet(path: Path) -> Table:
    need(f"{path}: Parquet", "pyarrow")
    import pyarrow
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(path)
    except (pyarrow.ArrowInvalid, OSError) as error:
        raise FitError(f"{path}: is no Parquet file: {error}") from None
    metadata = file.schema_arrow.metadata or {}
    units = json.loads(metadata.get(b"units", b"{}"))

    def load(names: Sequence[str]) -> dict[str, Floats]:
        found = {}
        read = file.read(columns=list(names))
        for name in names:
            try:
                found[name] = np.asarray(read[name].to_numpy(), np.float64)
            except (ValueError, TypeError, pyarrow.ArrowException):
                raise FitError(f"{path}: column {name} does not hold numbers") from None
        return found

    return Table(path, file.schema_arrow.names, load, units)


def _text(path: Path) -> Table:
    try:
        with path.open(encoding="utf-8-sig") as stream:
            head = stream.readline()
    except UnicodeDecodeError:
        raise FitError(f"{path}: is no text") from None
    delimiter = next((sign for sign in (",", ";", "\t") if sign in head), None)
    names = [name.strip() for name in (head.split(delimiter) if head.strip() else [])]
    if not names:
        raise FitError(f"{path}: is empty")
    if all(_is_number(name) for name in names):
        raise FitError(
            f"{path}: the first line holds numbers, {head.strip()[:60]!r}, and no names of columns"
        )

    def load(wanted: Sequence[str]) -> dict[str, Floats]:
        places = [names.index(name) for name in wanted]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of no rows, which is told below
                rows = np.loadtxt(path, delimiter=delimiter, skiprows=1, usecols=places, ndmin=2)
        except (ValueError, IndexError) as error:
            raise FitError(f"{path}: columns {', '.join(wanted)}: {error}") from None
        if not len(rows):
            raise FitError(f"{path}: has a line of names, and no rows")
        return {name: rows[:, i].copy() for i, name in enumerate(wanted)}

    return Table(path, names, load)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
