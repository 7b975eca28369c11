"""Declared quantities: the fields of parameter, input and reading dataclasses.

A quantity is declared once, where the model uses it, with its unit, its range and what it
means::

    @dataclass(frozen=True)
    class OdometerParameters:
        wheel_radius: float = real(0.3, "m", "Rolling radius of the wheel", minimum=1e-6)

        def __post_init__(self) -> None:
            check(self)

The FMU's variables, their units and their ranges are made from the same declaration. ``name`` is
the name at the FMU if it differs from that of the field (``noise_rms`` is ``noise.rms`` there).
Ranges are closed. A vector is a tuple with one suffix for each component (``bias`` ->
``bias.x``...).

Sensors of one kind share a declaration: ``{u}`` in a unit stands for the class's own ``UNIT``.
FMI has no infinity, so ``NO_LIMIT`` stands for a limit that does not exist.
"""

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from numbers import Real
from operator import attrgetter, itemgetter
from typing import Any, Literal

import numpy as np

#: Stands for "no limit" where a default must be a finite number.
NO_LIMIT = 1e300

Kind = Literal["real", "integer", "boolean", "string", "choice"]


class ParameterError(ValueError):
    """A value that a model cannot use; the message names field, value and range."""


@dataclasses.dataclass(frozen=True)
class Quantity:
    """The declaration of one field."""

    kind: Kind
    name: str
    description: str
    default: Any
    unit: str = "1"
    minimum: float = -math.inf
    maximum: float = math.inf
    components: tuple[str, ...] = ()
    choices: type[IntEnum] | None = None

    def parts(self, value: Any) -> Iterator[tuple[str, Any]]:
        """The scalar parts of a value as (dotted name, value); one, unless it is a vector."""
        if not self.components:
            yield self.name, value
            return
        if len(value) != len(self.components):
            raise ParameterError(
                f"{self.name} has {len(value)} components, needs {len(self.components)}"
            )
        for component, part in zip(self.components, value, strict=True):
            yield f"{self.name}.{component}", part

    def typed(self, name: str, given: Any) -> Any:
        """A scalar as this kind of quantity has it: a whole number given for a real is a float.

        Files tell 3 from 3.0, and compiled code is made for one of them, so values that come from
        outside must have the type of what they are for.

        Raises:
            ParameterError: for a value of another kind. A Boolean is no number.
        """
        if self.kind == "choice":
            return given  # which items there are is said by ``refusal``
        is_number = isinstance(given, Real) and not isinstance(given, bool)
        try:
            if self.kind == "real" and is_number:
                return float(given)
            if self.kind == "integer" and is_number and given == int(given):
                return int(given)
        except (OverflowError, ValueError):
            pass  # infinite, or not a number, or more than a float can hold
        if self.kind == "boolean" and isinstance(given, (bool, np.bool_)):
            return bool(given)
        if self.kind == "string" and isinstance(given, str):
            return given
        raise ParameterError(f"{name} = {_shown(given)} must be {_NEEDED[self.kind]}")

    def refusal(self, name: str, value: Any) -> str | None:
        """Why a scalar value is not allowed, as a sentence; None if it is."""
        if self.choices is not None:
            if value in set(self.choices):
                return None
            return f"{name} = {value!r} is none of {describe_choices(self.choices)}"
        if self.kind not in ("real", "integer"):
            return None
        unit = "" if self.unit == "1" else f" {self.unit}"
        if self.kind == "real" and not math.isfinite(value):
            return f"{name} = {value} is not a finite number, allowed is {self.range_text()}"
        if not self.minimum <= value <= self.maximum:
            return f"{name} = {value}{unit} is out of range, allowed is {self.range_text()}"
        return None

    def range_text(self) -> str:
        """The allowed range, for messages: ``at least 0 m``, ``0 to 1``, ``any number``."""
        unit = "" if self.unit == "1" else f" {self.unit}"
        low, high = self.minimum > -math.inf, self.maximum < math.inf
        if low and high:
            return f"{_short(self.minimum)} to {_short(self.maximum)}{unit}"
        if low:
            return f"at least {_short(self.minimum)}{unit}"
        if high:
            return f"at most {_short(self.maximum)}{unit}"
        return "any finite number"


#: What a value must be, for messages, by the kind of its quantity.
_NEEDED = {
    "real": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "string": "a text",
}


def _shown(given: Any) -> str:
    """A value of any kind, for messages."""
    try:
        text = repr(given)
    except ValueError:  # Python does not write numbers of thousands of digits
        return f"a number of {given.bit_length()} bits"
    return text if len(text) <= 100 else f"{text[:100]}..."


def _short(number: float) -> str:
    """A limit for messages, with all digits that it needs and no more."""
    return f"{number:g}" if float(f"{number:g}") == number else f"{number!r}"


def describe_choices(choices: type[IntEnum]) -> str:
    """``0 (none), 1 (off)``: the items of an enumeration, for messages."""
    return ", ".join(f"{item.value} ({item.name})" for item in choices)


def _declare(kind: Kind, default: Any, description: str, **known: Any) -> Any:
    declared = {"kind": kind, "description": description, "default": default, **known}
    return dataclasses.field(default=default, metadata={"declared": declared})


def real(
    default: float | tuple[float, ...],
    unit: str,
    description: str,
    *,
    minimum: float = -math.inf,
    maximum: float = math.inf,
    components: tuple[str, ...] = (),
    name: str = "",
) -> Any:
    """Declare a real number, or a vector of them if ``components`` names its parts."""
    return _declare(
        "real",
        default,
        description,
        unit=unit,
        minimum=minimum,
        maximum=maximum,
        components=components,
        name=name,
    )


def integer(
    default: int,
    description: str,
    *,
    minimum: int = -(2**31),
    maximum: int = 2**31 - 1,
    name: str = "",
) -> Any:
    """Declare a whole number."""
    return _declare("integer", default, description, minimum=minimum, maximum=maximum, name=name)


def boolean(default: bool, description: str, *, name: str = "") -> Any:
    """Declare a switch."""
    return _declare("boolean", default, description, name=name)


def string(default: str, description: str, *, name: str = "") -> Any:
    """Declare a text."""
    return _declare("string", default, description, name=name)


def choice(default: IntEnum, description: str, *, name: str = "") -> Any:
    """Declare a choice of one item of an enumeration, whose items count from 0."""
    return _declare("choice", default, description, choices=type(default), name=name)


def quantities_of(declaring: Any) -> dict[str, Quantity]:
    """The declared quantities of a dataclass or of an instance of one, by field name."""
    found = {}
    for field in dataclasses.fields(declaring):
        if "declared" in field.metadata:
            declared = dict(field.metadata["declared"])
            declared["name"] = declared.get("name") or field.name
            if "{u}" in declared.get("unit", ""):
                declared["unit"] = declared["unit"].replace("{u}", declaring.UNIT)
            found[field.name] = Quantity(**declared)
    return found


def check(instance: Any) -> None:
    """Refuse an instance with a value outside its declared range."""
    for field, quantity in quantities_of(instance).items():
        for name, value in quantity.parts(getattr(instance, field)):
            refusal = quantity.refusal(name, value)
            if refusal is not None:
                raise ParameterError(refusal)


def picker(places: Sequence[int]) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """A function that picks the items at these places."""
    first = places[0] if places else 0
    in_a_row = range(first, first + len(places))
    if list(places) == list(in_a_row):
        return itemgetter(slice(in_a_row.start, in_a_row.stop))
    return itemgetter(*places)


def flattener(reading: type) -> Callable[[Any], tuple[Any, ...]]:
    """A function that gives the scalar values of a reading of this class, vectors by component."""
    declared = quantities_of(reading)
    has_parts = [bool(quantity.components) for quantity in declared.values()]
    if len(declared) > 1 and not any(has_parts):
        return attrgetter(*declared)  # gives a tuple, at a quarter of the cost of the loop
    if len(declared) == 1 and has_parts[0]:
        (field,) = declared
        return lambda instance: tuple(getattr(instance, field))

    def flatten(instance: Any) -> tuple[Any, ...]:
        values: list[Any] = []
        for field, parts in zip(declared, has_parts, strict=True):
            value = getattr(instance, field)
            values += value if parts else (value,)
        return tuple(values)

    return flatten
