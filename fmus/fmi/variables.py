"""FMI variables, made from the quantities that the models declare.

The variables of an FMU are in one table for the class; the values of an instance are in one array
for each type, which the C binding reads and writes directly. Value references count through the
types: first all Reals, then Integers (including choices), Booleans and Strings. A variable's place
in the array is its reference minus the first reference of its type.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.named import converted
from sensor_models.core.quantities import Quantity
from sensor_models.core.spec import Group, scalars_of

#: The four types of FMI, in the order of their value references, and the kinds they hold.
TYPES = {
    "Real": ("real",),
    "Integer": ("integer", "choice"),
    "Boolean": ("boolean",),
    "String": ("string",),
}
TYPE_OF_KIND = {kind: name for name, kinds in TYPES.items() for kind in kinds}

#: Who may set a variable; the binding knows these numbers (instance.h).
NEVER_SET, SET_BEFORE_START, SET_ALWAYS = 0, 1, 2
ACCESS = {"parameter": SET_BEFORE_START, "input": SET_ALWAYS, "output": NEVER_SET}

INT_MIN, INT_MAX = -(2**31), 2**31 - 1


@dataclass(frozen=True)
class Variable:
    """One FMI variable."""

    name: str
    causality: str
    quantity: Quantity
    start: Any
    reference: int = -1

    @property
    def type_name(self) -> str:
        """The FMI type that stores the value."""
        return TYPE_OF_KIND[self.quantity.kind]

    def refusal(self, value: Any, started: bool) -> str:
        """Why this value cannot be set now, as a sentence."""
        if self.causality == "output":
            return f"{self.name} is an output and cannot be set"
        if self.causality == "parameter" and started:
            return f"{self.name} is a parameter and cannot be set once the simulation runs"
        return self.quantity.refusal(self.name, value) or f"{self.name} = {value} was refused"


def declare(groups: Iterable[Group], causality: str) -> list[Variable]:
    """The variables of some groups, in order."""
    return [Variable(name, causality, q, start) for name, q, start in scalars_of(groups)]


class VariableTable:
    """All variables of an FMU class, in the order of declaration."""

    def __init__(self, variables: Iterable[Variable]) -> None:
        declared = list(variables)
        in_order = [v for name in TYPES for v in declared if v.type_name == name]
        references = {v.name: i for i, v in enumerate(in_order)}
        if len(references) != len(declared):
            raise ValueError("two variables of this FMU have the same name")
        self.variables = [
            Variable(v.name, v.causality, v.quantity, v.start, references[v.name]) for v in declared
        ]
        self.by_name = {v.name: v for v in self.variables}
        self.by_reference = sorted(self.variables, key=lambda v: v.reference)
        self.first = {
            name: next((i for i, v in enumerate(in_order) if v.type_name == name), len(in_order))
            for name in TYPES
        }

    def of_type(self, type_name: str) -> list[Variable]:
        """The variables of one FMI type, in the order of their references."""
        return [v for v in self.by_reference if v.type_name == type_name]

    def of_causality(self, causality: str) -> list[Variable]:
        """The variables with one causality, in the order of declaration."""
        return [v for v in self.variables if v.causality == causality]


def _real_limits(variables: list[Variable]) -> tuple[array[float], array[float]]:
    return (
        array("d", [v.quantity.minimum for v in variables]),
        array("d", [v.quantity.maximum for v in variables]),
    )


def _integer_limits(variables: list[Variable]) -> tuple[array[int], array[int]]:
    lows, highs = array("i"), array("i")
    for v in variables:
        choices = v.quantity.choices
        lows.append(min(choices) if choices else int(max(v.quantity.minimum, INT_MIN)))
        highs.append(max(choices) if choices else int(min(v.quantity.maximum, INT_MAX)))
    return lows, highs


class Values:
    """The values of one instance, in memory that the binding shares."""

    def __init__(self, table: VariableTable) -> None:
        self.table = table
        of_type = {name: table.of_type(name) for name in TYPES}
        self.reals = array("d", [v.start for v in of_type["Real"]])
        self.integers = array("i", [int(v.start) for v in of_type["Integer"]])
        self.booleans = array("i", [int(v.start) for v in of_type["Boolean"]])
        self.strings: list[str] = [v.start for v in of_type["String"]]
        self._arrays: dict[str, Any] = {
            "Real": self.reals,
            "Integer": self.integers,
            "Boolean": self.booleans,
            "String": self.strings,
        }
        self._real_limits = _real_limits(of_type["Real"])
        self._integer_limits = _integer_limits(of_type["Integer"])
        self._access = {
            name: array("B", [ACCESS[v.causality] for v in variables])
            for name, variables in of_type.items()
        }

    def addresses(self) -> tuple[int, ...]:
        """For each type: first reference, count, address of values, minima, maxima, access."""
        limits: dict[str, tuple[array[Any], ...]] = {
            "Real": (self.reals, *self._real_limits),
            "Integer": (self.integers, *self._integer_limits),
            "Boolean": (self.booleans,),
            "String": (),
        }
        found: list[int] = []
        for name, arrays in limits.items():
            places = [a.buffer_info()[0] if len(a) else 0 for a in arrays]
            access = self._access[name]
            found += [self.table.first[name], len(access), *places, *[0] * (3 - len(places))]
            found.append(access.buffer_info()[0] if len(access) else 0)
        return tuple(found)

    def of_type(self, type_name: str) -> NDArray[Any]:
        """All values of Reals, Integers or Booleans, as a view."""
        return np.frombuffer(
            self._arrays[type_name], np.float64 if type_name == "Real" else np.int32
        )

    def slot(self, variable: Variable) -> tuple[Any, int]:
        """Where a variable's value is: the array of its type, and the place in it."""
        name = variable.type_name
        return self._arrays[name], variable.reference - self.table.first[name]

    def get(self, variable: Variable) -> Any:
        """A variable's value, in the model's type (choices as items, Booleans as bool)."""
        values, i = self.slot(variable)
        value = values[i]
        if variable.quantity.choices is not None:
            return variable.quantity.choices(value)
        return bool(value) if variable.quantity.kind == "boolean" else value

    def set(self, variable: Variable, value: Any) -> None:
        """Store a value that was already found valid."""
        values, i = self.slot(variable)
        values[i] = value

    def take(self, other: Values) -> None:
        """Copy all values of another instance into this one's memory."""
        for name, values in self._arrays.items():
            values[:] = other._arrays[name]


def convert_preset(table: VariableTable, preset: Mapping[str, Any], origin: str) -> dict[str, Any]:
    """The values of a preset as the variables hold them; choices are given by item name."""
    parameters = {v.name: v.quantity for v in table.of_causality("parameter")}
    return converted(parameters, preset, origin)
