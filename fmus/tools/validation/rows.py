"""Rows: published measurements, each in a TOML file of ``validation``.

::

    [row]
    title = "VN-100 at rest for 49 minutes"
    sensor = "IMU"                     # what kind of sensor it is about
    kind = "measured"                  # measured, sheet, closed_form or benchmark
    third_party = true                 # measured by somebody else than the maker
    set_up = "still on a table, 2918.7 s at 200 Hz"
    proves = "the preset against a unit"        # what it can show, and what not

    [source]
    author = "..."                     # also title, year or "not told", where (a URL or DOI)
    quoted = "..."                     # optional: where it was read, if not in the source itself

    [fmu]
    name = "Imu"
    preset = "VN-100"                  # optional
    duration = 2918.7                  # s
    step = 100.0                       # s, of the master
    parameters = { "sample_rate" = 200.0 }      # as in presets: SI, or value and unit, .xyz
    ramp = { "joint.position" = 2.0 }  # inputs that grow by so much in a second
    scene = "wall"                     # one of [scenes], or a built-in one

    [scenes]                           # what is in a manifest of a scene, without its head
    wall = '''...'''

    [files]                            # optional: meshes beside them, from the built-in scenes
    "sphere.ply" = "radar_range/sphere.ply"

    [[runs]]                           # optional: several runs, each with parameters of its own
    at = 2.0
    parameters = { "mount.position.x" = -2.0 }

    [method]
    name = "allan"                     # and its options

    [[numbers]]
    result = "accelerometer.noise"     # what the method calls it
    at = [1.0, 2.0]                    # optional: where on a curve; then published is a list, too
    published = 1.14e-3
    unit = "m/s2/sqrt(Hz)"
    relative = 0.25                    # or absolute (in this unit), or bound = "most" or "least"
    reason = "why this tolerance"

    [distribution]                     # optional
    result = "horizontal"
    unit = "mm"
    quantiles = [[0.68, 7.0], [0.9545, 17.0]]   # or samples = [...], or normal = [mean, sigma]

Keys that are not known are refused: a misspelt tolerance would let a row pass.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fmus.tools.validation.methods import METHODS
from fmus.tools.validation.results import RESULTS
from sensor_models.core.quantities import ParameterError
from sensor_models.core.toml_files import TomlError, read_toml
from sensor_models.presets.reading import read_parameters
from sensor_models.presets.units import FACTORS

#: The year of a source that has none.
NOT_TOLD = "not told"
KINDS = ("measured", "sheet", "closed_form", "benchmark")
#: The file of the folder that has the numbers of data sheets, and no row.
SHEETS = "presets.toml"
#: Units beside those of data sheets, with what they are in the unit of a method's results.
OWN_UNITS: Mapping[str, float] = {
    "1": 1.0,
    "%": 1e-2,
    "dB": 1.0,
    "dBsm": 1.0,
    "e-": 1.0,
    "LSB": 1.0,
    "m/s2/sqrt(s)": 1.0,
    "rad/s/sqrt(s)": 1.0,
    "deg/s/sqrt(s)": FACTORS["deg/s"],
}
_ABOUT = ("title", "sensor", "kind", "third_party", "set_up", "proves")
_SOURCE = ("author", "title", "year", "where")
_FMU = ("name", "preset", "duration", "step", "parameters", "ramp", "scene")
_NUMBER = ("result", "at", "published", "unit", "relative", "absolute", "bound", "reason")
_TOLERANCES = ("relative", "absolute", "bound")
_DISTRIBUTION = ("result", "unit", "samples", "quantiles", "normal")
_TABLES = ("row", "source", "fmu", "scenes", "files", "runs", "method", "numbers", "distribution")


class RowError(ValueError):
    """A row that cannot be used: file, key and reason."""


@dataclass(frozen=True)
class Source:
    """Who published it, and where."""

    author: str
    title: str
    year: str
    where: str
    quoted: str = ""

    def __str__(self) -> str:
        text = f"{self.author}, {self.title} ({self.year}), {self.where}"
        return f"{text}; {self.quoted}" if self.quoted else text


@dataclass(frozen=True)
class Number:
    """A published number, in its own unit."""

    result: str
    at: float | None
    published: float
    unit: str
    tolerance: tuple[str, float | str] | None
    """``relative``, ``absolute`` or ``bound`` with its value; None if nothing is judged."""
    reason: str

    @property
    def name(self) -> str:
        """The result, and the place on its curve."""
        return self.result if self.at is None else f"{self.result} at {self.at:g}"


@dataclass(frozen=True)
class Distribution:
    """A published distribution: samples, or what is known of them."""

    result: str
    unit: str
    samples: tuple[float, ...] = ()
    quantiles: tuple[tuple[float, float], ...] = ()
    normal: tuple[float, float] | None = None


@dataclass(frozen=True)
class RunOf:
    """One run of the FMU: where it is on the curves, and what differs in it."""

    at: float
    parameters: Mapping[str, Any]
    scene: str


@dataclass(frozen=True)
class Simulation:
    """How a measurement is simulated."""

    fmu: str
    preset: str
    duration: float
    step: float
    parameters: Mapping[str, Any]
    ramp: Mapping[str, float]
    scenes: Mapping[str, str]
    files: Mapping[str, str]
    runs: tuple[RunOf, ...]
    method: str
    options: Mapping[str, Any]


@dataclass(frozen=True)
class Row:
    """One published measurement and its simulation."""

    name: str
    title: str
    sensor: str
    kind: str
    third_party: bool
    set_up: str
    proves: str
    source: Source
    simulation: Simulation
    numbers: tuple[Number, ...]
    distribution: Distribution | None = None


def read_rows(folder: Path) -> dict[str, Row]:
    """All rows of a folder by name, in the order of their names."""
    files = sorted(p for p in folder.glob("*.toml") if p.name not in (RESULTS, SHEETS))
    if not files:
        raise RowError(f"{folder} has no rows: files *.toml, as those of the project's validation")
    return {path.stem: read_row(path) for path in files}


def read_row(path: Path) -> Row:
    """Read and check the file of one row."""
    try:
        content = read_toml(path)
        return _row(path, content)
    except TomlError as error:
        raise RowError(str(error)) from error
    except ParameterError as error:
        raise RowError(str(error).removeprefix("preset file ")) from error
    except RowError as error:
        raise RowError(f"{path}: {error}") from error


def _row(path: Path, content: Mapping[str, Any]) -> Row:
    check_keys("", content, ("row", "source", "fmu", "method", "numbers"), _TABLES)
    about = content["row"]
    check_keys("row.", about, _ABOUT, _ABOUT)
    if about["kind"] not in KINDS:
        raise RowError(f"row.kind = {about['kind']!r} is none of {', '.join(KINDS)}")
    if type(about["third_party"]) is not bool:
        raise RowError("row.third_party must be true or false")
    given = content.get("distribution")
    texts = {key: text(f"row.{key}", about[key]) for key in _ABOUT if key != "third_party"}
    return Row(
        name=path.stem,
        third_party=about["third_party"],
        source=source_of(content["source"]),
        simulation=simulation_of(path, content),
        numbers=numbers_of(content["numbers"], judged=True),
        distribution=None if given is None else _distribution(given),
        **texts,
    )


def source_of(given: Mapping[str, Any]) -> Source:
    """The source of a row; all that is needed to find it must be there."""
    check_keys("source.", given, _SOURCE, (*_SOURCE, "quoted"))
    year = given["year"]
    if year != NOT_TOLD and (type(year) is not int or not 1900 <= year <= 2100):
        raise RowError(f'source.year = {year!r} is no year, and not "{NOT_TOLD}"')
    named = {k: text(f"source.{k}", v) for k, v in given.items() if k != "year"}
    return Source(**named, year=str(year))


def simulation_of(path: Path, content: Mapping[str, Any]) -> Simulation:
    """How it is simulated: the tables ``fmu``, ``scenes``, ``runs`` and ``method``."""
    fmu, method = content["fmu"], dict(content["method"])
    check_keys("fmu.", fmu, ("name", "duration", "step"), _FMU)
    duration, step = (_positive(f"fmu.{key}", fmu[key]) for key in ("duration", "step"))
    name = text("method.name", method.pop("name", ""))
    if name not in METHODS:
        raise RowError(f"method.name = {name!r} is none of {', '.join(METHODS)}")
    check_keys("method.", method, (), tuple(METHODS[name].options))
    scenes = content.get("scenes", {})
    ramp = read_parameters(path, fmu.get("ramp", {}))
    scene = fmu.get("scene", "")
    runs = content.get("runs", [{"at": 0.0}])
    for index, run in enumerate(runs):
        check_keys(f"runs[{index}].", run, ("at",), ("at", "parameters", "scene"))
    return Simulation(
        text("fmu.name", fmu["name"]),
        fmu.get("preset", ""),
        duration,
        min(step, duration),
        read_parameters(path, fmu.get("parameters", {})),
        {key: _finite(f"fmu.ramp.{key}", value) for key, value in ramp.items()},
        {key: text(f"scenes.{key}", value) for key, value in scenes.items()},
        {key: text(f"files.{key}", value) for key, value in content.get("files", {}).items()},
        tuple(
            RunOf(
                float(run["at"]),
                read_parameters(path, run.get("parameters", {})),
                run.get("scene", scene),
            )
            for run in runs
        ),
        name,
        {**METHODS[name].options, **method},
    )


def numbers_of(given: Sequence[Mapping[str, Any]], *, judged: bool) -> tuple[Number, ...]:
    """Published numbers; a list makes one for each place on a curve."""
    found: list[Number] = []
    for index, table in enumerate(given):
        where = f"numbers[{index}]."
        needed = ("result", "published", "unit", "reason") if judged else ("result", "published")
        check_keys(where, table, needed, _NUMBER)
        tolerances = [key for key in _TOLERANCES if key in table]
        if len(tolerances) != (1 if judged else 0):
            wanted = f"one of {', '.join(_TOLERANCES)}" if judged else "no tolerance"
            raise RowError(f"{where[:-1]} must have {wanted}, has {len(tolerances)}")
        tolerance = _tolerance(where, tolerances[0], table[tolerances[0]]) if judged else None
        unit = text(f"{where}unit", table.get("unit", "1"))
        factor_of(unit)
        places = table.get("at")
        pairs = _pairs(where, places, table["published"])
        reason = table.get("reason", "")
        found += [
            Number(table["result"], at, value, unit, tolerance, reason) for at, value in pairs
        ]
    return tuple(found)


def _pairs(where: str, places: Any, published: Any) -> list[tuple[float | None, float]]:
    if not isinstance(places, list):
        at = None if places is None else float(places)
        return [(at, _finite(f"{where}published", published))]
    if not isinstance(published, list) or len(published) != len(places):
        raise RowError(f"{where}published must have as many values as {where}at")
    values = [_finite(f"{where}published", value) for value in published]
    return [(float(place), value) for place, value in zip(places, values, strict=True)]


def _tolerance(where: str, kind: str, given: Any) -> tuple[str, float | str]:
    if kind == "bound":
        if given not in ("most", "least"):
            raise RowError(f'{where}bound = {given!r} must be "most" or "least"')
        return kind, str(given)
    return kind, _positive(f"{where}{kind}", given)


def _distribution(given: Mapping[str, Any]) -> Distribution:
    check_keys("distribution.", given, ("result", "unit"), _DISTRIBUTION)
    known = [key for key in ("samples", "quantiles", "normal") if key in given]
    if len(known) != 1:
        raise RowError("distribution must have one of samples, quantiles, normal")
    factor_of(given["unit"])
    normal = given.get("normal")
    return Distribution(
        given["result"],
        given["unit"],
        tuple(float(value) for value in given.get("samples", ())),
        tuple((float(share), float(value)) for share, value in given.get("quantiles", ())),
        None if normal is None else (float(normal[0]), float(normal[1])),
    )


def factor_of(unit: str) -> float:
    """What a unit is in that of the methods' results, which are SI."""
    found = OWN_UNITS.get(unit, FACTORS.get(unit))
    if found is None:
        raise RowError(f"{unit!r} is no known unit; `python -m sensor_models.presets units`"
                       f" lists most, others are {', '.join(OWN_UNITS)}")  # fmt: skip
    return found


def check_keys(
    where: str, table: Mapping[str, Any], needed: Sequence[str], known: Sequence[str]
) -> None:
    """Refuse what is missing and what is not known."""
    if not isinstance(table, Mapping):
        raise RowError(f"{where.rstrip('.') or 'it'} must be a table")
    for key in needed:
        if key not in table:
            raise RowError(f"{where}{key} is missing")
    for key in table:
        if key not in known:
            raise RowError(f"{where}{key} is unknown, known: {', '.join(known) or 'none'}")


def text(where: str, given: Any) -> str:
    """A text that is not empty."""
    if not isinstance(given, str) or not given.strip():
        raise RowError(f"{where} must be a text that is not empty")
    return given


def _finite(where: str, given: Any) -> float:
    if isinstance(given, bool) or not isinstance(given, (int, float)):
        raise RowError(f"{where} = {given!r} must be a number")
    return float(given)


def _positive(where: str, given: Any) -> float:
    if (value := _finite(where, given)) <= 0.0:
        raise RowError(f"{where} = {value} must be above 0")
    return value
