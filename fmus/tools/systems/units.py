"""Units of variables, and whether two of them are the same."""

from collections.abc import Mapping
from dataclasses import dataclass

from fmus.fmi.model_description import base_units

#: Names of units of angles.
ANGLES = ("rad", "deg")


@dataclass(frozen=True)
class Unit:
    """A unit: a value in it is ``factor`` x value + ``offset`` in base units."""

    name: str
    exponents: Mapping[str, int] | None = None
    """Of the base units kg, m, s, A, K, mol, cd, rad; not known if this is missing."""
    factor: float = 1.0
    offset: float = 0.0

    @property
    def is_angle(self) -> bool:
        """Whether it is that of an angle, by its name if its tool does not count angles."""
        return self.exponents == {"rad": 1} or (not self.exponents and self.name in ANGLES)

    @property
    def text(self) -> str:
        """The unit for a message: its name, and what it is in base units."""
        if self.exponents is None:
            return self.name
        powers = ".".join(f"{base}{n if n != 1 else ''}" for base, n in self.exponents.items())
        shift = f" + {self.offset:g}" if self.offset else ""
        scaled = f"{self.factor:g} {powers or '1'}{shift}"
        plain = self.factor == 1.0 and not self.offset
        return self.name if plain and self.name == (powers or "1") else f"{self.name} ({scaled})"


def own_unit(name: str) -> Unit:
    """A unit of the variables of this project."""
    if "sqrt" in name:
        return Unit(name)
    return Unit(name, {base: int(exponent) for base, exponent in base_units(name).items()})


def mismatch(output: Unit | None, taken: Unit | None) -> str:
    """Why two units cannot be connected, as a sentence; empty if they can.

    A variable without a unit fits any other, and equal names of units fit. Because some tools do
    not count angles as a dimension, rad may be missing on one side; but an angle is no pure number,
    such as a part of a quaternion.
    """
    if output is None or taken is None or output == taken:
        return ""
    if output.is_angle and not taken.is_angle and taken.exponents == {}:
        return f"{output.text} is not {taken.text}"
    if output.exponents is None or taken.exponents is None:
        known = output.name == taken.name
        return "" if known else f"{output.text} may not be {taken.text}"
    if _dimension(output) == _dimension(taken) and (output.factor, output.offset) == (
        taken.factor,
        taken.offset,
    ):
        return ""
    return f"{output.text} is not {taken.text}"


def _dimension(unit: Unit) -> dict[str, int]:
    return {base: n for base, n in (unit.exponents or {}).items() if base != "rad" and n}
