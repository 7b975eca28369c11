"""Reading of preset files: missing or unknown keys and wrong values are errors with file and key.

Whether a parameter exists and whether its value is in range is checked by the sensor when it takes
the preset.
"""

import difflib
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sensor_models.core.quantities import ParameterError
from sensor_models.core.toml_files import TomlError, read_toml
from sensor_models.presets.units import DIVISIONS, FACTORS, converted

Value = float | int | bool | str

_NEEDED = ("name", "sensor", "description", "datasheet")
_PRESET_KEYS = (*_NEEDED, "unknown")
_DATASHEET_KEYS = ("publisher", "title", "revision")


@dataclass(frozen=True)
class Preset:
    """A checked preset, with its parameters in SI units."""

    name: str
    sensors: tuple[str, ...]
    description: str
    datasheet: dict[str, str]
    unknown: tuple[str, ...]
    parameters: dict[str, Value]
    path: Path

    def files_beside(self, sensor: str) -> dict[str, str]:
        """The parameters that name files, and the paths of these relative to the preset's file.

        Raises:
            ParameterError: for a file that does not exist, or is not in the preset's folder.
        """
        folder = self.path.absolute().parent
        found = {}
        for name, value in self.parameters_of(sensor).items():
            if not (isinstance(value, str) and Path(value).is_absolute()):
                continue
            if folder not in Path(os.path.normpath(value)).parents or not Path(value).is_file():
                raise _error(self.path, f"parameters.{name}", f"{value} is no file beside it")
            found[name] = Path(os.path.normpath(value)).relative_to(folder).as_posix()
        return found

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


def read_preset(path: Path) -> Preset:
    """Read and check one preset file."""
    try:
        content = read_toml(path)
    except TomlError as error:
        raise ParameterError(f"preset file {error}") from error
    _check_keys(path, "", content, ("preset", "parameters"))
    about = _table(path, "preset", content["preset"])
    _check_keys(path, "preset.", about, _NEEDED, _PRESET_KEYS)
    datasheet = _table(path, "preset.datasheet", about["datasheet"])
    _check_keys(path, "preset.datasheet.", datasheet, _DATASHEET_KEYS)
    parameters = read_parameters(path, _table(path, "parameters", content["parameters"]))
    return Preset(
        name=_text(path, "preset.name", about["name"]),
        sensors=_sensors(path, about["sensor"], parameters),
        description=_text(path, "preset.description", about["description"]),
        datasheet={
            key: _text(path, f"preset.datasheet.{key}", datasheet[key]) for key in datasheet
        },
        unknown=_texts(path, "preset.unknown", about.get("unknown", [])),
        parameters=parameters,
        path=path,
    )


def _group_of(sensor: str) -> str:
    """The prefix of a part's parameters in the whole device."""
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


def read_parameters(path: Path, table: Mapping[str, Any]) -> dict[str, Value]:
    """The parameters of a table as presets write them, in SI units by their full names."""
    found: dict[str, Value] = {}
    for given, value in _parameters(path, table):
        for name in _components(given):
            if name in found:
                raise _error(path, f"parameters.{name}", "is given twice")
            found[name] = _placed(path, name, value) if isinstance(value, str) else value
    return found


def _placed(path: Path, name: str, value: str) -> str:
    """A text of a preset; the path of a file is relative to the preset.

    A parameter whose name ends in ``file`` names a file. Any other text does if that file exists
    (``pattern.beams`` is the name of a table or the path of a file).
    """
    beside = path.absolute().parent / value
    names_file = value and (name.endswith("file") or (Path(value).suffix and beside.is_file()))
    return str(beside) if names_file else value


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
    if isinstance(unit, str):
        try:
            return converted(given, unit)
        except ValueError as error:
            raise _error(path, f"{key}.value", str(error)) from None
        except KeyError:
            pass
    close = difflib.get_close_matches(str(unit), [*FACTORS, *DIVISIONS], n=3)
    hint = f", close to it are {', '.join(close)}" if close else ""
    units = "`python -m sensor_models.presets units` lists those that there are"
    raise _error(path, f"{key}.unit", f"{unit!r} is no known unit{hint}; {units}")


def _check_keys(
    path: Path,
    group: str,
    table: Mapping[str, Any],
    wanted: tuple[str, ...],
    known: tuple[str, ...] = (),
) -> None:
    known = known or wanted
    for key in wanted:
        if key not in table:
            raise _error(path, f"{group}{key}", "is missing")
    for key in table:
        if key not in known:
            raise _error(path, f"{group}{key}", f"is unknown, known: {', '.join(known)}")


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
