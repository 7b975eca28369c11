"""Presets: named products as parameter sets, each number with its datasheet.

A preset is one TOML file::

    [preset]
    name = "AMT102-V"                     # as the maker writes it
    sensor = "Encoder"                    # the model identifier it is for
    description = "..."
    unknown = ["noise.rms: ..."]          # what the datasheet leaves open, if anything

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

The whole device has all parameters as they are written. A part has the parameters in the group of
its own name in lower case, without that prefix (``accelerometer.bias.x`` of an Imu is ``bias.x`` of
an Accelerometer), and those outside of any group (``sample_rate``). So every number is written only
once. A parameter that a preset does not name keeps its default.

Presets are found by name in the directories that the environment variable ``SENSOR_FMUS_PRESETS``
lists (separated as in ``PATH``), then in this folder; the first directory that has the name wins.
Names are compared without regard to case and to characters that are neither letters nor digits:
``amt 102v`` is AMT102-V. A name that ends in ``.toml`` or has a folder in it is the path of a
file. Files that cannot be read, or have a name that another file in the folder has, do not matter
to those who ask for another preset; if a preset is not found, the message names them.

``python -m sensor_models.presets check FILE`` checks your own file; ``docs/presets.md`` has all
keys and units.
"""

import difflib
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from sensor_models._places import data_files
from sensor_models.core.quantities import ParameterError
from sensor_models.presets.reading import Preset as Preset
from sensor_models.presets.reading import Value
from sensor_models.presets.reading import read_preset as read_preset

#: The environment variable that lists directories with the user's own presets.
DIRECTORIES = "SENSOR_FMUS_PRESETS"


def load_preset(kind: str, name: str, without: str = "") -> dict[str, Value]:
    """The parameters of a preset for a kind of sensor, by the names of the FMU's parameters.

    ``without`` lists names and groups of parameters that are left out, separated by commas. A name
    that the preset does not have is looked for in its groups: ``filter`` of an Imu stands for
    ``accelerometer.filter``, ``gyroscope.filter`` and so on.
    """
    return remaining(find_preset(kind, name), kind, without)


def remaining(preset: Preset, kind: str, without: str) -> dict[str, Value]:
    """The parameters of a preset for a kind of sensor, without some."""
    values = preset.parameters_of(kind)
    for left_out in filter(None, map(str.strip, without.split(","))):
        gone = list(_called(left_out, values))
        if not gone:
            raise ParameterError(
                f"preset_except: preset {preset.name!r} sets nothing called {left_out!r} for"
                f" {kind}, but {', '.join(values)}"
            )
        for key in gone:
            del values[key]
    return values


def _called(name: str, keys: Iterable[str]) -> list[str]:
    """The keys that a name of a parameter or group stands for."""
    whole = {key: key for key in keys}
    inner = {key: key.partition(".")[2] for key in whole}
    for names in (whole, inner):
        found = [k for k, inside in names.items() if f"{inside}.".startswith(f"{name}.")]
        if found:
            return found
    return []


def find_preset(kind: str, name: str) -> Preset:
    """The preset of a name, or of a path, for a kind of sensor."""
    if is_path(name):
        preset = read_preset(Path(name))
        if kind not in preset.sensors:
            raise ParameterError(
                f"preset file {name}: is for {', '.join(preset.sensors)} and not for {kind}"
            )
        return preset
    found = _presets_of(kind)
    preset_or_none = found.presets.get(_simplified(name))
    if preset_or_none is not None:
        return preset_or_none
    raise ParameterError(_unknown(kind, name, found))


def is_own(preset: Preset) -> bool:
    """Whether a preset comes from the user, and not with the library."""
    return preset.path not in data_files("presets", "*.toml")


def list_presets(kind: str) -> list[str]:
    """The names of all presets for a kind of sensor, sorted."""
    return sorted(preset.name for preset in _presets_of(kind).presets.values())


def is_path(name: str) -> bool:
    """Whether the name of a preset is the path of its file."""
    return name.lower().endswith(".toml") or os.sep in name or "/" in name


@dataclass
class _Found:
    """The presets for a kind of sensor by simplified names, and what is wrong with other files."""

    presets: dict[str, Preset] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def _presets_of(kind: str) -> _Found:
    found = _Found()
    for folder, files in _folders(found.problems):
        here: dict[str, Preset | None] = {}
        for path in files:
            try:
                preset = _read(path, *_version(path))
            except (OSError, ParameterError) as error:
                found.problems.append(str(error))
                continue
            if kind in preset.sensors:
                key = _simplified(preset.name)
                if key in here:
                    found.problems.append(f"{folder} has two presets called {preset.name!r}")
                here[key] = None if key in here else preset
        for key, known in here.items():
            if known is not None:
                found.presets.setdefault(key, known)
    return found


def _folders(problems: list[str]) -> Iterator[tuple[str, list[Path]]]:
    """The folders with presets in the order of the search, and their files."""
    for folder in filter(None, os.environ.get(DIRECTORIES, "").split(os.pathsep)):
        if Path(folder).is_dir():
            yield folder, sorted(Path(folder).glob("*.toml"))
        else:
            problems.append(f"{DIRECTORIES} lists {folder}, which is no directory")
    yield "the library", data_files("presets", "*.toml")


def _version(path: Path) -> tuple[int, int]:
    """A value that changes when a file changes."""
    about = path.stat()
    return about.st_mtime_ns, about.st_size


@lru_cache(maxsize=256)
def _read(path: Path, _time: int, _size: int) -> Preset:
    return read_preset(path)


def _unknown(kind: str, name: str, found: _Found) -> str:
    names = ", ".join(sorted(preset.name for preset in found.presets.values())) or "none"
    close = difflib.get_close_matches(_simplified(name), found.presets, n=1)
    problems = f"; not usable: {'; '.join(found.problems)}" if found.problems else ""
    hint = f"; did you mean {found.presets[close[0]].name!r}?" if close else ""
    return f"preset {name!r} is unknown for {kind}, known: {names}{problems}{hint}"


def _simplified(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).casefold()
