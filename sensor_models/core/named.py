"""Parameters of a sensor by their names: those of a preset, and settings that win over them.

Names are those of the FMU's parameters (``pattern.columns``, ``noise.azimuth_sigma``,
``mount.position.z``, ``sample_rate``, ``seed``). A setting is a value, or what a person types: a
number in SI units, ``true`` or ``false``, the name or the number of a choice.
"""

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from sensor_models.core.quantities import ParameterError, Quantity
from sensor_models.core.spec import Groups, SensorSpec, scalars_of

SWITCHES = {"true": True, "false": False, "1": True, "0": False}


def named_parameters(spec: SensorSpec, values: Mapping[str, Any]) -> Groups:
    """The parameters of a sensor with these values, and defaults for the others."""
    known = {name: quantity for name, quantity, _ in scalars_of(spec.all_parameters)}
    for name in values:
        if name not in known:
            raise ParameterError(_unknown(name, spec.name, known))
    return spec.build({name: _value(name, known[name], given) for name, given in values.items()})


def _unknown(name: str, sensor: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    hint = f"; did you mean {close[0]}?" if close else ""
    return f"{name} is no parameter of {sensor}{hint}"


def _value(name: str, quantity: Quantity, given: Any) -> Any:
    """A value in the quantity's own type; a text is parsed."""
    if quantity.choices is not None and given in quantity.choices.__members__:
        return quantity.choices[given]
    if not isinstance(given, str) or quantity.kind == "string":
        return quantity.typed(name, given)
    try:
        if quantity.kind == "boolean":
            return SWITCHES[given.lower()]
        return float(given) if quantity.kind == "real" else int(given)
    except (ValueError, KeyError):
        known = "a number" if quantity.choices is None else ", ".join(quantity.choices.__members__)
        needed = "true or false" if quantity.kind == "boolean" else known
        raise ParameterError(f"{name} = {given!r} cannot be read, needed is {needed}") from None


def setting(text: str) -> tuple[str, str]:
    """A setting as a person types it at a command line: ``NAME=VALUE``."""
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(text)
    return name.strip(), value.strip()


def converted(
    known: Mapping[str, Quantity], values: Mapping[str, Any], origin: str
) -> dict[str, Any]:
    """Values of a preset as a sensor takes them, each checked; choices are given by item name.

    ``origin`` is where the values are from: a message begins with it.
    """
    found = {}
    for name, value in values.items():
        if name not in known:
            raise ParameterError(f"{origin}: {name} is no parameter of this sensor")
        choices = known[name].choices
        if choices is not None and value not in choices.__members__:
            names = ", ".join(choices.__members__)
            raise ParameterError(f"{origin}: {name} = {value!r} is none of {names}")
        try:
            found[name] = known[name].typed(name, value) if choices is None else choices[value]
        except ParameterError as error:
            raise ParameterError(f"{origin}: {error}") from None
        refusal = known[name].refusal(name, found[name])
        if refusal is not None:
            raise ParameterError(f"{origin}: {refusal}")
    return found
