"""A lidar from the names of its parameters: those of a preset, and settings on top of them.

Names are those of the FMU's parameters (``pattern.columns``, ``beam.on``, ``noise.azimuth_sigma``,
``mount.position.z``, ``sample_rate``, ``seed``). A setting is a value, or what a person types: a
number in SI units, ``true`` or ``false``, the name or the number of a choice.
"""

import difflib
from collections.abc import Mapping
from typing import Any, TypeVar

from sensor_models.core.clock import SamplingParameters
from sensor_models.core.frames import MountParameters
from sensor_models.core.quantities import ParameterError, Quantity, quantities_of
from sensor_models.lidar.lidar import Lidar
from sensor_models.lidar.parameters import AmbientParameters, LidarNoiseParameters, LidarParameters
from sensor_models.lidar.patterns import PatternParameters
from sensor_models.light.beam import BeamParameters
from sensor_models.presets import load_preset

#: What a lidar is made of, and what stands before the names of its parameters.
PARTS: dict[type, str] = {
    PatternParameters: "",
    LidarParameters: "",
    BeamParameters: "beam.",
    LidarNoiseParameters: "",
    AmbientParameters: "",
    MountParameters: "",
    SamplingParameters: "",
}

SWITCHES = {"true": True, "false": False, "1": True, "0": False}

T = TypeVar("T")


def named_lidar(
    preset: str = "", settings: Mapping[str, Any] | None = None, identity: str = "Lidar"
) -> tuple[Lidar, float]:
    """A lidar and the rate of its frames in Hz, of a preset (``""`` for none) and settings."""
    values = {**(load_preset("Lidar", preset) if preset else {}), **(settings or {})}
    known = {name: quantity for part in PARTS for name, quantity in _names_of(part).items()}
    for name in values:
        if name not in known:
            raise ParameterError(_unknown(name, list(known)))
    taken = {name: _value(name, known[name], given) for name, given in values.items()}
    sampling = _build(SamplingParameters, taken)
    lidar = Lidar(
        _build(LidarParameters, taken),
        _build(PatternParameters, taken),
        _build(BeamParameters, taken),
        _build(LidarNoiseParameters, taken),
        _build(AmbientParameters, taken),
        _build(MountParameters, taken),
        seed=sampling.seed,
        identity=identity,
        rate=sampling.sample_rate,
    )
    return lidar, sampling.sample_rate


def _names_of(part: type) -> dict[str, Quantity]:
    """The scalar parameters of a part, by their full names."""
    return {
        f"{PARTS[part]}{name}": quantity
        for quantity in quantities_of(part).values()
        for name, _ in quantity.parts(quantity.default)
    }


def _build(part: type[T], taken: Mapping[str, Any]) -> T:
    prefix = PARTS[part]
    fields: dict[str, Any] = {}
    for field, quantity in quantities_of(part).items():
        parts = [taken.get(f"{prefix}{n}", v) for n, v in quantity.parts(quantity.default)]
        fields[field] = tuple(parts) if quantity.components else parts[0]
    try:
        return part(**fields)
    except ParameterError as error:
        raise ParameterError(f"{prefix}{error}") from error


def _unknown(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"; did you mean {close[0]}?" if close else ""
    return f"{name} is no parameter of a lidar{hint}"


def _value(name: str, quantity: Quantity, given: Any) -> Any:
    """A value of the quantity's own type; a text is read."""
    if quantity.choices is not None and given in quantity.choices.__members__:
        return quantity.choices[given]
    if not isinstance(given, str) or quantity.kind == "string":
        return given
    try:
        if quantity.kind == "boolean":
            return SWITCHES[given.lower()]
        return float(given) if quantity.kind == "real" else int(given)
    except (ValueError, KeyError):
        known = "a number" if quantity.choices is None else ", ".join(quantity.choices.__members__)
        needed = "true or false" if quantity.kind == "boolean" else known
        raise ParameterError(f"{name} = {given!r} cannot be read, needed is {needed}") from None
