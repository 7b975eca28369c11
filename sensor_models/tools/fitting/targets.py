"""What frames show: groups of files with what is known of each, in a small TOML file beside them.

::

    [[frames]]
    files = ["dark-*.png"]     # names or patterns, relative to this file
    exposure = 0.001           # what else a kind of sensor needs to know

A folder stands for the one TOML file in it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sensor_models.core.toml_files import TomlError, read_toml
from sensor_models.tools.fitting.estimates import FitError

#: The number of values of an entry: 0 for one number, -1 for a switch.
NUMBER, SWITCH = 0, -1


@dataclass(frozen=True)
class Group:
    """Files that show the same."""

    place: str  # for messages
    files: tuple[Path, ...]
    facts: Mapping[str, Any]

    def number(self, name: str) -> float:
        """A number that must be given.

        Raises:
            FitError: if it is not.
        """
        if name not in self.facts:
            raise FitError(f"{self.place}: {name} is missing")
        return float(self.facts[name])


@dataclass(frozen=True)
class Targets:
    """A whole description."""

    path: Path
    facts: Mapping[str, Any]
    groups: tuple[Group, ...]


def read_targets(
    logs: Sequence[Path], whole: Mapping[str, int], each: Mapping[str, int]
) -> Targets:
    """Read a description.

    Args:
        logs: what the user gave: the file, or its folder.
        whole: the entries at the top, and how many numbers each has.
        each: the entries of a group, besides ``files``.

    Raises:
        FitError: names the file and the entry.
    """
    if len(logs) != 1:
        raise FitError(f"one description of frames is needed, {len(logs)} files are given")
    path = _description(logs[0])
    try:
        content = read_toml(path)
    except TomlError as error:
        raise FitError(str(error)) from None
    groups = content.pop("frames", None)
    if not isinstance(groups, list) or not groups:
        raise FitError(f"{path}: has no [[frames]]")
    return Targets(
        path,
        _facts(str(path), content, whole),
        tuple(_group(path, n, group, each) for n, group in enumerate(groups)),
    )


def _description(given: Path) -> Path:
    if not given.is_dir():
        if given.suffix != ".toml":
            raise FitError(
                f"{given}: frames are described by a TOML file, or the folder that it is in; "
                "docs/fitting.md has its entries"
            )
        return given
    found = sorted(given.glob("*.toml"))
    if len(found) != 1:
        raise FitError(
            f"{given}: has {len(found)} TOML files, one that describes the frames is needed"
        )
    return found[0]


def _group(path: Path, number: int, given: Any, known: Mapping[str, int]) -> Group:
    place = f"{path}: frames[{number}]"
    if not isinstance(given, dict):
        raise FitError(f"{place}: must be a table")
    patterns = given.get("files")
    if not isinstance(patterns, list) or not all(isinstance(p, str) for p in patterns):
        raise FitError(f"{place}.files: must be a list of names or patterns")
    files: list[Path] = []
    for pattern in patterns:
        found = sorted(path.parent.glob(pattern))
        if not found:
            raise FitError(f"{place}.files: there is no file {pattern} beside {path.name}")
        files += found
    rest = {name: value for name, value in given.items() if name != "files"}
    return Group(place, tuple(files), _facts(place, rest, known))


def _facts(place: str, given: Mapping[str, Any], known: Mapping[str, int]) -> dict[str, Any]:
    for name, value in given.items():
        if name not in known:
            raise FitError(f"{place}: {name} is unknown, known: {', '.join(known)}")
        if known[name] == SWITCH:
            if not isinstance(value, bool):
                raise FitError(f"{place}.{name}: must be true or false")
        elif known[name] == NUMBER:
            if not _is_number(value):
                raise FitError(f"{place}.{name}: {value!r} is no number")
        elif (
            not isinstance(value, list)
            or len(value) != known[name]
            or not all(_is_number(part) for part in value)
        ):
            raise FitError(f"{place}.{name}: must be a list of {known[name]} numbers")
    return dict(given)


def _is_number(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, (int, float)) and math.isfinite(value)
