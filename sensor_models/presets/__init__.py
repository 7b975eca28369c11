"""Presets: named products as parameter sets, each number with its datasheet.

A preset is one TOML file in this folder::

    [preset]
    name = "AMT102-V"                     # as the maker writes it
    sensor = "Encoder"                    # the model identifier it is for
    description = "..."
    unknown = ["noise.rms: ..."]          # what the datasheet leaves open

    [preset.datasheet]
    publisher = "CUI Devices"
    title = "..."
    revision = "..."

    [parameters]                          # by the names of the FMU's parameters
    mode = "incremental"                  # a choice by the name of its item
    upper = 6.283                         # a plain number is in SI units
    resolution = { value = 8192, unit = "cpr" }     # any other unit is named and converted
    bias.xyz = 0.1                        # one value for bias.x, bias.y and bias.z

A device that holds several sensors is one file: ``sensor`` is then a list, first the whole, then
those of its parts that also exist as sensors of their own::

    sensor = ["Imu", "Accelerometer", "Gyroscope"]

The whole has all parameters as they stand. A part has the group of its own name in lower case
without that prefix (``accelerometer.bias.x`` of an Imu is ``bias.x`` of an Accelerometer), and
what stands outside of any group (``sample_rate``). So every number is written once.

A name is found whatever its case, and without regard to anything that is no letter or digit:
``amt 102v`` is AMT102-V. What a preset does not name keeps its default. The files are strict:
a missing or unknown key is an error that names file and key. Whether a parameter exists and
its value is in range is known to the sensor, which checks both when it takes the preset.
"""

import difflib
import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sensor_models._places import data_files
from sensor_models.core.quantities import ParameterError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Value = float | int | bool | str

STANDARD_GRAVITY = 9.80665  # m/s2

#: What one of a unit is in SI units (rad, m, s, Hz, T, m/s2, K).
FACTORS: dict[str, float] = {
    "deg": math.pi / 180.0,
    "turn": math.tau,
    "deg/s": math.pi / 180.0,
    "deg/h": math.pi / 180.0 / 3600.0,
    "rpm": math.tau / 60.0,
    "deg/s/K": math.pi / 180.0,
    "deg/s/sqrt(Hz)": math.pi / 180.0,
    "deg/sqrt(h)": math.pi / 180.0 / 60.0,
    "deg/s/g": math.pi / 180.0 / STANDARD_GRAVITY,
    "g": STANDARD_GRAVITY,
    "mg": STANDARD_GRAVITY * 1e-3,
    "ug": STANDARD_GRAVITY * 1e-6,
    "mg/K": STANDARD_GRAVITY * 1e-3,
    "mg/sqrt(Hz)": STANDARD_GRAVITY * 1e-3,
    "ug/sqrt(Hz)": STANDARD_GRAVITY * 1e-6,
    "m/s/sqrt(h)": 1.0 / 60.0,
    "mT": 1e-3,
    "uT": 1e-6,
    "nT": 1e-9,
    "nT/sqrt(Hz)": 1e-9,
    "gauss": 1e-4,
    "mgauss": 1e-7,
    "ugauss/sqrt(Hz)": 1e-10,
    "cm": 1e-2,
    "mm": 1e-3,
    "um": 1e-6,
    "nm": 1e-9,
    "ms": 1e-3,
    "us": 1e-6,
    "ns": 1e-9,
    "kHz": 1e3,
    "MHz": 1e6,
    "%": 1e-2,
    "%/K": 1e-2,
    "ppm/K": 1e-6,
}

#: Units that count how finely something is divided, and so go inversely with the size of a step.
DIVISIONS: dict[str, Callable[[float], float]] = {
    "cpr": lambda counts: math.tau / counts,
    "bits per turn": lambda bits: math.tau / 2.0**bits,
    "LSB/(deg/s)": lambda counts: FACTORS["deg/s"] / counts,
    "LSB/g": lambda counts: FACTORS["g"] / counts,
    "LSB/uT": lambda counts: FACTORS["uT"] / counts,
    "LSB/gauss": lambda counts: FACTORS["gauss"] / counts,
}

_PRESET_KEYS = ("name", "sensor", "description", "datasheet", "unknown")
_DATASHEET_KEYS = ("publisher", "title", "revision")


@dataclass(frozen=True)
class Preset:
    """A preset as its file gives it, checked, with its parameters in SI units."""

    name: str
    sensors: tuple[str, ...]
    description: str
    datasheet: dict[str, str]
    unknown: tuple[str, ...]
    parameters: dict[str, Value]

    def parameters_of(self, sensor: str) -> dict[str, Value]:
        """The parameters by the names that they have in one of the sensors."""
        if sensor == self.sensors[0]:
            return dict(self.parameters)
        group = _group_of(sensor)
        return {
            name.removeprefix(group): value
            for name, value in self.parameters.items()
            if name.startswith(group) or "." not in name
        }


def load_preset(kind: str, name: str) -> dict[str, Value]:
    """The parameters of a preset for a kind of sensor, by the names of the FMU's parameters."""
    known = _presets_of(kind)
    found = known.get(_simplified(name))
    if found is not None:
        return found.parameters_of(kind)
    names = ", ".join(preset.name for preset in known.values()) or "none"
    close = difflib.get_close_matches(_simplified(name), known, n=1)
    hint = f"; did you mean {known[close[0]].name!r}?" if close else ""
    raise ParameterError(f"preset {name!r} is unknown for {kind}, known: {names}{hint}")


def list_presets(kind: str) -> list[str]:
    """The names of all presets for a kind of sensor, sorted."""
    return sorted(preset.name for preset in _presets_of(kind).values())


def read_preset(path: Path) -> Preset:
    """Read and check one preset file."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:  # the errors of TOML and of UTF-8 are ValueErrors
        raise ParameterError(f"preset file {path}: {error}") from error
    _check_keys(path, "", content, ("preset", "parameters"))
    about = _table(path, "preset", content["preset"])
    _check_keys(path, "preset.", about, _PRESET_KEYS)
    datasheet = _table(path, "preset.datasheet", about["datasheet"])
    _check_keys(path, "preset.datasheet.", datasheet, _DATASHEET_KEYS)
    parameters = _all_parameters(path, _table(path, "parameters", content["parameters"]))
    return Preset(
        name=_text(path, "preset.name", about["name"]),
        sensors=_sensors(path, about["sensor"], parameters),
        description=_text(path, "preset.description", about["description"]),
        datasheet={
            key: _text(path, f"preset.datasheet.{key}", datasheet[key]) for key in datasheet
        },
        unknown=_texts(path, "preset.unknown", about["unknown"]),
        parameters=parameters,
    )


def _presets_of(kind: str) -> dict[str, Preset]:
    """All presets for a kind of sensor, by their simplified names."""
    found: dict[str, Preset] = {}
    for path in data_files("presets", "*.toml"):
        preset = read_preset(path)
        if kind in preset.sensors:
            key = _simplified(preset.name)
            if key in found:
                raise _error(path, "preset.name", f"{preset.name!r} is the name of another file")
            found[key] = preset
    return found


def _simplified(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).casefold()


def _group_of(sensor: str) -> str:
    """What the names of a part's parameters begin with in the whole."""
    return f"{sensor.lower()}."


def _sensors(path: Path, given: Any, parameters: Mapping[str, Value]) -> tuple[str, ...]:
    if not isinstance(given, list):
        return (_text(path, "preset.sensor", given),)
    sensors = _texts(path, "preset.sensor", given)
    if len(sensors) < 2 or len(set(sensors)) < len(sensors):
        raise _error(path, "preset.sensor", "must be a text, or a list of two or more that differ")
    for part in sensors[1:]:
        if not any(name.startswith(_group_of(part)) for name in parameters):
            raise _error(path, "preset.sensor", f"{part!r} has no parameters {_group_of(part)}...")
    return sensors


def _all_parameters(path: Path, table: Mapping[str, Any]) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for given, value in _parameters(path, table):
        for name in _components(given):
            if name in found:
                raise _error(path, f"parameters.{name}", "is given twice")
            found[name] = value
    return found


def _components(name: str) -> list[str]:
    """The names that a name stands for: ``bias.xyz`` for ``bias.x``, ``bias.y``, ``bias.z``."""
    vector, dot, component = name.rpartition(".")
    return [f"{vector}.{axis}" for axis in "xyz"] if dot and component == "xyz" else [name]


def _parameters(path: Path, table: Mapping[str, Any], group: str = "") -> Iterator[tuple[str, Any]]:
    """The parameters of a table and its groups: (dotted name, value in SI units)."""
    for key, given in table.items():
        name = f"{group}{key}"
        if not isinstance(given, dict):
            yield name, _scalar(path, name, given)
        elif "value" in given or "unit" in given:
            _check_keys(path, f"parameters.{name}.", given, ("value", "unit"))
            yield name, _converted(path, name, given["value"], given["unit"])
        else:
            yield from _parameters(path, given, f"{name}.")


def _scalar(path: Path, name: str, given: Any) -> Value:
    if not isinstance(given, (bool, int, float, str)):
        raise _error(path, f"parameters.{name}", "must be a number, a switch or a text")
    if isinstance(given, float) and not math.isfinite(given):
        raise _error(path, f"parameters.{name}", f"{given} is not a finite number")
    return given


def _converted(path: Path, name: str, given: Any, unit: Any) -> float:
    key = f"parameters.{name}"
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not math.isfinite(given):
        raise _error(path, f"{key}.value", f"{given!r} is not a finite number")
    if isinstance(unit, str) and unit in FACTORS:
        return given * FACTORS[unit]
    if isinstance(unit, str) and unit in DIVISIONS:
        if given <= 0:
            raise _error(path, f"{key}.value", f"{given} {unit} must be above 0")
        return DIVISIONS[unit](given)
    known = ", ".join([*FACTORS, *DIVISIONS])
    raise _error(path, f"{key}.unit", f"{unit!r} is none of {known} (SI values stand alone)")


def _check_keys(path: Path, group: str, table: Mapping[str, Any], wanted: tuple[str, ...]) -> None:
    for key in wanted:
        if key not in table:
            raise _error(path, f"{group}{key}", "is missing")
    for key in table:
        if key not in wanted:
            raise _error(path, f"{group}{key}", f"is unknown, known: {', '.join(wanted)}")


def _table(path: Path, key: str, given: Any) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise _error(path, key, "must be a table")
    return given


def _text(path: Path, key: str, given: Any) -> str:
    if not isinstance(given, str) or not given.strip():
        raise _error(path, key, "must be a text that is not empty")
    return given


def _texts(path: Path, key: str, given: Any) -> tuple[str, ...]:
    if not isinstance(given, list):
        raise _error(path, key, "must be a list of texts")
    return tuple(_text(path, f"{key}[{n}]", item) for n, item in enumerate(given))


def _error(path: Path, key: str, reason: str) -> ParameterError:
    return ParameterError(f"preset file {path}: {key}: {reason}")
