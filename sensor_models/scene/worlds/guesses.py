"""Materials of worlds that have looks only: rules by names and by numbers of the look.

The rules are in ``guesses.toml``, which says what they are made of. Those of a file that the user
names come first, then those of a ``guesses.toml`` beside the world, then ours. What is guessed is
said in the material's source, with the rule, so that nobody takes it for a measurement.
"""

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

from pydantic import Field

from sensor_models._places import data_files
from sensor_models.core.toml_files import TomlError, read_toml
from sensor_models.scene.errors import SceneError
from sensor_models.scene.materials import find_material, material_library
from sensor_models.scene.tables import Name, Share, Table, validated
from sensor_models.scene.worlds.rules import FILE

#: What the source of a guessed material begins with.
GUESS = "guess: "

_Array = Field(strict=False)
_Limits = Annotated[tuple[Share, Share], _Array]
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


class Rule(Table):
    """A rule; all that it has must fit."""

    names: Annotated[tuple[Name, ...], _Array] = ()
    metallic: _Limits | None = None
    roughness: _Limits | None = None
    transmission: _Limits | None = None
    luminance: _Limits | None = None
    base: Name


class _RuleFile(Table):
    guess: Annotated[tuple[Rule, ...], _Array] = ()


@dataclass(frozen=True)
class Look:
    """What a file says of a surface, for people's eyes."""

    name: str  # of its material; empty if it has none
    color: tuple[float, float, float] = (0.5, 0.5, 0.5)  # sRGB
    metallic: float = 0.0
    roughness: float = 0.5
    transmission: float = 0.0
    ior: float | None = None  # refractive index; None if it is not given
    others: tuple[str, ...] = ()  # names of the shape, the mesh and the body

    @property
    def luminance(self) -> float:
        """The luminance of the colour (ITU-R BT.709), from its linear parts."""
        red, green, blue = map(_linear, self.color)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(share: float) -> float:
    """A linear part of a colour from sRGB (IEC 61966-2-1)."""
    return share / 12.92 if share <= 0.04045 else float(((share + 0.055) / 1.055) ** 2.4)


def srgb(share: float) -> float:
    """The part of an sRGB colour from a linear one."""
    share = min(max(share, 0.0), 1.0)
    return 12.92 * share if share <= 0.0031308 else float(1.055 * share ** (1.0 / 2.4) - 0.055)


def read_rules(files: list[Path]) -> list[Rule]:
    """The rules of some files and ours, in the order in which they count."""
    rules: list[Rule] = []
    for file in (*files, *data_files("scene/worlds", FILE)):
        try:
            content = read_toml(file)
        except TomlError as error:
            raise SceneError(file, error.place, error.reason) from error
        found: _RuleFile = validated(_RuleFile, content, file)
        for number, rule in enumerate(found.guess):
            find_material(rule.base, file, f"guess[{number}].base", material_library())
        rules += found.guess
    return rules


def guessed(look: Look, rules: list[Rule]) -> tuple[str, str]:
    """The material of the library that a look is taken for, and why, as a source."""
    for rule in rules:
        reasons = _reasons(look, rule)
        if reasons is not None:
            why = " and ".join(reasons) or "nothing says otherwise"
            return rule.base, f"{GUESS}{rule.base}, as {why}"[:200]
    return "plastic_white", f"{GUESS}plastic_white, as no rule fits"


def _reasons(look: Look, rule: Rule) -> list[str] | None:
    """Why a rule fits; None if it does not."""
    reasons = []
    if rule.names:
        named = next(
            (
                (name, pattern)
                for name in (look.name, *look.others)
                for word in words(name)
                for pattern in rule.names
                if fnmatchcase(word, pattern.lower())
            ),
            None,
        )
        if named is None:
            return None
        reasons.append(f"{named[0]!r} has {named[1]!r}")
    for quantity in ("metallic", "roughness", "transmission", "luminance"):
        limits, value = getattr(rule, quantity), getattr(look, quantity)
        if limits is None:
            continue
        if not limits[0] <= value <= limits[1]:
            return None
        reasons.append(f"{quantity} is {value:.2g}")
    return reasons


def words(name: str) -> list[str]:
    """The words of a name in small letters."""
    return [word.lower() for word in _WORD.findall(name)]
