"""The kernels that Python calls in FMUs, as the tables beside the kernels declare them.

``sensor_models/kernels/FAMILY/exports.toml`` lists the kernels of a family that Python calls in an
FMU, each with the types of its arguments, and with the FMUs that carry it:

    [structs."layout.Task"]          the named tuple ``Task`` of ``layout.py``
    rows = "int64"

    [exports."depth.render"]         the kernel ``render`` of ``depth.py``
    arguments = ["tracing.scene_view.SceneView", "int64[::1]", "layout.Task"]
    carried_by = ["DepthCamera"]

Types are written as Numba writes them: ``float64[:, ::1]`` is an array in C's order,
``float64[:, :]`` one of any order, ``const`` before it one that is not written, and
``(float64, int64)`` a plain tuple. A named tuple is written by module and name, with the family
before it if that is another one.

Builds compile what is declared, and no more (``fmus.building.exports``). A sensor loads what is
declared for it before its first step (``warm``).
"""

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from sensor_models.core.toml_files import read_toml
from sensor_models.kernels.values import PLAIN, Kind

FILE = "exports.toml"
KERNELS = Path(__file__).parents[1] / "kernels"
#: Before the names of the modules of kernels, in the places of named tuples.
FAMILIES = "sensor_models.kernels."

_PACKAGE = __name__.partition(".core")[0]
_NUMBERS: dict[str, Kind] = {kind[0]: kind for kind in PLAIN.values()}


class ExportError(ValueError):
    """A table that declares what there is not."""


@dataclass(frozen=True)
class Export:
    """A kernel that Python calls in FMUs."""

    #: Within ``sensor_models``: ``kernels.camera.depth``.
    module: str
    name: str
    arguments: tuple[Kind, ...]
    carried_by: tuple[str, ...]

    @property
    def family(self) -> str:
        """The folder of its module."""
        return self.module.split(".")[1]

    @property
    def key(self) -> str:
        """Its place and arguments in a form that can be compared and written down."""
        return json.dumps([self.module, self.name, self.arguments])


class Types:
    """The types that all tables declare together."""

    def __init__(self, tables: Mapping[str, Mapping[str, Any]]) -> None:
        self._fields: dict[str, Mapping[str, str]] = {
            f"{family}.{name}": fields
            for family, table in tables.items()
            for name, fields in table.get("structs", {}).items()
        }

    def kind(self, text: str, family: str) -> Kind:
        """The kind that a text stands for in the table of a family."""
        if text.startswith("("):
            return ("tuple", "", *(self.kind(part, family) for part in _parts_of(text[1:-1])))
        if text.endswith("]"):
            return _array_kind(text)
        if text in _NUMBERS:
            return _NUMBERS[text]
        for name in (f"{family}.{text}", text):
            if name in self._fields:
                return self._struct(name)
        raise ExportError(f"{FILE} of {family}: there is no type {text!r}")

    def _struct(self, name: str) -> Kind:
        module, _, struct = name.rpartition(".")
        own = name.partition(".")[0]
        parts = (self.kind(part, own) for part in self._fields[name].values())
        return ("tuple", f"{FAMILIES}{module}:{struct}", *parts)


def _array_kind(text: str) -> Kind:
    matched = re.fullmatch(r"(const )?(\w+)\[([:1, ]+)\]", text)
    if matched is None:
        raise ExportError(f"{text!r} is no type of an array")
    axes = matched[3].split(", ")
    order = "C" if axes[-1] == "::1" else "F" if axes[0] == "::1" else "A"
    return ("array", np.dtype(matched[2]).str, len(axes), order, matched[1] is None)


def _parts_of(text: str) -> Iterator[str]:
    """The parts of a list that commas divide, except commas in brackets."""
    depth, start = 0, 0
    for place, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            yield text[start:place].strip()
            start = place + 1
    yield text[start:].strip()


def read_exports(kernels: Path = KERNELS) -> list[Export]:
    """All declared exports, in the order of families and tables."""
    files = sorted(kernels.glob(f"*/{FILE}"))
    tables = {file.parent.name: read_toml(file) for file in files}
    types = Types(tables)
    return [
        _export(family, name, entry, types)
        for family, table in tables.items()
        for name, entry in table.get("exports", {}).items()
    ]


def _export(family: str, name: str, entry: Mapping[str, Any], types: Types) -> Export:
    module, _, function = name.rpartition(".")
    kinds = tuple(types.kind(text, family) for text in entry["arguments"])
    return Export(f"kernels.{family}.{module}", function, kinds, tuple(entry["carried_by"]))


def exports_of(fmu: str, exports: Iterable[Export]) -> list[Export]:
    """Those that an FMU carries."""
    return [export for export in exports if fmu in export.carried_by]


@cache
def _all_exports() -> tuple[Export, ...]:
    return tuple(read_exports())


def warm(sensor: str) -> None:
    """Compile or load what is declared for a sensor, so that no step of it has to.

    Kernels of modules that nobody has imported are left out: a choice of the sensor needs them that
    was not made.
    """
    for export in exports_of(sensor, _all_exports()):
        module = sys.modules.get(f"{_PACKAGE}.{export.module}")
        if module is not None:
            vars(module)[export.name]._find(export.arguments)
