"""Variables of FMI 3.0: arrays of the scalars that an FMU has in FMI 2.0.

Values, their places and their ranges are the same in both versions (``variables``). An array is a
name, dimensions, and the scalars that are its elements, row by row. Vectors keep the name of their
group (``body.position`` for ``body.position.x`` and so on); a matrix of axes has two dimensions.
What is numbered or lettered otherwise is one array as well: ``zone_1.range`` to ``zone_64.range``
are ``zone.range``, and ``fault.x.mode`` to ``fault.z.mode`` are ``fault.mode``. Names that a scene
or a vehicle gives (``vehicle_1``) stay as they are: each of these is connected for itself.

Besides there are the time, messages and frames as Binary, and clocks that tick when the number of
samples or frames changes. References count from 0 through all of these. With scalars as elements
(``Interface.scalars``) names are those of FMI 2.0, for importers that take no arrays; there are no
clocks then, as ecos 0.7.2 breaks down at them (a double free in its reader of descriptions).
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import TYPE_CHECKING

from fmus.fmi import osmp
from fmus.fmi.variables import Variable

if TYPE_CHECKING:
    from fmus.fmi.base import FmuBase


class Interface(Enum):
    """How an FMU shows its variables; the value is in its manifest, version first."""

    fmi2 = "2"
    arrays = "3-arrays"
    scalars = "3-scalars"


class Kind(IntEnum):
    """What an array holds; the binding knows these numbers (core.h)."""

    time = 0
    real = 1
    integer = 2
    choice = 3
    boolean = 4
    string = 5
    message = 6
    frame = 7
    clock = 8


#: The counters of samples and frames, and the clocks that tick with them.
CLOCKS: Mapping[str, str] = {"sample.count": "sample.clock", "frame.count": "frame.clock"}
CLOCK_TEXTS = {
    "sample.clock": "Ticks when a sample is complete",
    "frame.clock": "Ticks when a frame is complete",
}
TIME = "time"

_AXES = ("x", "y", "z")
_PAIRS = tuple(row + column for row in _AXES for column in _AXES)
_NUMBERED = re.compile(r"(.*[A-Za-z])_(\d+)")


@dataclass(frozen=True)
class ArrayVariable:
    """One variable of FMI 3.0."""

    name: str
    kind: Kind
    description: str
    causality: str
    reference: int
    parts: tuple[Variable, ...] = ()
    #: Empty for a scalar.
    dimensions: tuple[int, ...] = ()
    mime_type: str = ""
    #: The place of a frame among the frames.
    place: int = 0


class Layout:
    """All variables of an FMU class in FMI 3.0."""

    def __init__(self, fmu: type[FmuBase], interface: Interface) -> None:
        self.variables: list[ArrayVariable] = []
        self._add(TIME, Kind.time, "Time of the simulation", "independent")
        whole = interface == Interface.arrays
        table = fmu.table()
        shown = [v for v in table.variables if osmp.role_of(fmu.messages, v) is None]
        families = _families(shown, fmu.proper_names()) if whole else {v.name: [v] for v in shown}
        for name, parts in families.items():
            first = parts[0]
            self._add(
                name,
                Kind[first.quantity.kind],
                _text_of(parts),
                first.causality,
                parts=tuple(parts),
                dimensions=_dimensions(parts),
            )
        for name, mime_type in fmu.messages.items():
            parts = [table.by_name[f"{name}.{role}"] for role in osmp.ROLES]
            text = f"Message {name.removeprefix('OSMP')} of OSI; empty for none"
            self._add(
                name,
                Kind.message,
                text,
                parts[0].causality,
                parts=tuple(parts),
                mime_type=mime_type,
            )
        for place, frame in enumerate(fmu.frame_binaries()):
            self._add(
                frame.name, Kind.frame, frame.text, "output", mime_type=frame.mime_type, place=place
            )
        for count, clock in CLOCKS.items():
            if whole and count in table.by_name:
                parts = [table.by_name[count]]
                self._add(clock, Kind.clock, CLOCK_TEXTS[clock], "output", parts=tuple(parts))
        if len({v.name for v in self.variables}) != len(self.variables):
            raise ValueError("two variables of this FMU have the same name in FMI 3.0")
        self._pack()

    def _add(
        self,
        name: str,
        kind: Kind,
        text: str,
        causality: str,
        *,
        parts: tuple[Variable, ...] = (),
        dimensions: tuple[int, ...] = (),
        mime_type: str = "",
        place: int = 0,
    ) -> None:
        number = len(self.variables)
        self.variables.append(
            ArrayVariable(name, kind, text, causality, number, parts, dimensions, mime_type, place)
        )

    def _pack(self) -> None:
        """The arrays that the binding reads."""
        scalars = [part.reference for v in self.variables for part in v.parts]
        rows, at = [], 0
        for variable in self.variables:
            first = variable.place if variable.kind == Kind.frame else at
            rows += [int(variable.kind), first, len(variable.parts)]
            at += len(variable.parts)
        self._rows, self._scalars = array("I", rows), array("I", scalars or [0])

    def of_causality(self, causality: str) -> list[ArrayVariable]:
        """The variables with one causality."""
        return [v for v in self.variables if v.causality == causality]

    def by_scalar(self) -> dict[str, ArrayVariable]:
        """The variable that a scalar of FMI 2.0 belongs to; clocks only look at theirs."""
        return {part.name: v for v in self.variables if v.kind != Kind.clock for part in v.parts}

    def addresses(self, frames: int) -> tuple[int, ...]:
        """Number of variables, and where they, their scalars and the frames' bytes are."""
        places = (self._rows.buffer_info()[0], self._scalars.buffer_info()[0])
        return (len(self.variables), *places, frames)


def _families(variables: Iterable[Variable], proper: Sequence[str]) -> dict[str, list[Variable]]:
    """The scalars of each array, by its name."""
    found: dict[str, list[Variable]] = {}
    keys: dict[str, tuple[object, ...]] = {}
    for variable in variables:
        name = _family_of(variable, proper)
        key = (variable.causality, variable.quantity)
        if keys.setdefault(name, key) != key:
            raise ValueError(f"{variable.name} differs from the other elements of {name}")
        found.setdefault(name, []).append(variable)
    return {n if len(p) > 1 else p[0].name: p for n, p in found.items()}


def _family_of(variable: Variable, proper: Sequence[str]) -> str:
    """The name of the array that a scalar belongs to."""
    tokens = variable.name.split(".")
    if variable.quantity.components:
        tokens.pop()
    kept = [t for place, t in enumerate(tokens) if t not in _AXES or place in (0, len(tokens) - 1)]
    numbered = ((t, None if t in proper else _NUMBERED.fullmatch(t)) for t in kept)
    return ".".join(match[1] if match else token for token, match in numbered)


def _dimensions(parts: Sequence[Variable]) -> tuple[int, ...]:
    """The dimensions of an array: how many groups, then the components of each."""
    components = parts[0].quantity.components if len(parts) > 1 else ()
    inner = (3, 3) if components == _PAIRS else (len(components),) if components else ()
    groups = len(parts) // (len(components) or 1)
    if groups * (len(components) or 1) != len(parts):
        raise ValueError(f"{parts[0].name}: some elements of the array are missing")
    return ((groups,) if groups > 1 else ()) + inner


def _text_of(parts: Sequence[Variable]) -> str:
    """What an array is, with the names of the components of a vector."""
    quantity = parts[0].quantity
    if len(parts) == 1 or not quantity.components:
        return quantity.description
    return f"{quantity.description} ({', '.join(quantity.components)})"
