"""Systems of FMUs, described in TOML: parts, their parameters, and what is connected to what.

::

    [system]
    name = "Drive"
    description = "..."
    step = 0.01                                    # s, that the system is meant for
    stop = 10.0                                    # s
    connections = [["vehicle", "imu"], ["vehicle.wheel_1", "encoder.joint"]]

    [parts.vehicle]                                # in the order in which they are stepped
    fmu = "VehicleDynamics"                        # a model name
    parameters.drive.left = 6.0                    # parameters, and inputs that nobody sets

    [parts.imu]
    fmu = "Imu"
    preset = "VN-100"                              # if it is one
    parameters.mount.position.z = 0.6              # these win over the preset

A connection leads from a part, or from a group of its variables, to another: each output of the
first end is connected to the input of the second that has the same name within its end, if there
is one. Numbers are in SI units, choices are given by the name of their item.

The description is strict: what is unknown, has the wrong type, is out of range or is connected
twice is an error that names file and key.
"""

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fmus.base import FmuBase
from fmus.variables import Variable, VariableTable, convert_preset
from sensor_models.core.quantities import ParameterError
from sensor_models.core.spec import PRESET
from sensor_models.presets import load_preset

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

#: The Python types of TOML for each kind of variable; a choice is given by the name of its item.
_TYPES: Mapping[str, tuple[type, ...]] = {
    "real": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "string": (str,),
    "choice": (str,),
}
_SYSTEM: Mapping[str, tuple[type, ...]] = {
    "name": (str,),
    "description": (str,),
    "step": (int, float),
    "stop": (int, float),
    "connections": (list,),
}
_PART = ("fmu", "preset", "parameters")


class DescriptionError(ValueError):
    """A description of a system that makes no sense."""


@dataclass(frozen=True)
class Part:
    """One FMU of a system."""

    name: str
    model_name: str
    table: VariableTable
    parameters: dict[str, Any]
    """Values of variables as they are set, the preset by its name."""

    @property
    def numbers(self) -> dict[str, Any]:
        """The same without Strings: the values of the preset in place of its name."""
        name = self.parameters.get(PRESET, "")
        found = {}
        if name:
            found = convert_preset(self.table, load_preset(self.model_name, name), name)
        found.update(self.parameters)
        kinds = self.table.by_name
        return {n: v for n, v in found.items() if kinds[n].type_name != "String"}


@dataclass(frozen=True)
class Connection:
    """From an output to an input."""

    start: str
    output: Variable
    end: str
    input: Variable


@dataclass(frozen=True)
class System:
    """Parts and connections."""

    name: str
    description: str
    step: float
    stop: float
    parts: tuple[Part, ...]
    connections: tuple[Connection, ...]


def read_system(path: Path, models: Mapping[str, type[FmuBase]]) -> System:
    """Read and check the description of a system of these FMUs."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        return _system(content, models)
    except (
        OSError,
        ValueError,
    ) as error:  # TOML, UTF-8, ParameterError and DescriptionError are such
        raise DescriptionError(f"{path}: {error}") from error


def _system(content: Mapping[str, Any], models: Mapping[str, type[FmuBase]]) -> System:
    _check_keys("", content, ("system", "parts"), ("system", "parts"))
    about = content["system"]
    _check_keys("system.", about, tuple(_SYSTEM), tuple(_SYSTEM))
    for key, kinds in _SYSTEM.items():
        if not isinstance(about[key], kinds):
            raise DescriptionError(f"system.{key} = {about[key]!r} must be a {kinds[-1].__name__}")
    step, stop = float(about["step"]), float(about["stop"])
    if not 0.0 < step <= stop:
        raise DescriptionError("system.step must be above 0 s and at most system.stop")
    _check_names([about["name"], *content["parts"]])
    parts = {name: _part(name, part, models) for name, part in content["parts"].items()}
    connections = tuple(_connections(about["connections"], parts))
    return System(
        about["name"], about["description"], step, stop, tuple(parts.values()), connections
    )


def _check_names(names: list[str]) -> None:
    for name in names:
        if not re.fullmatch("[A-Za-z][A-Za-z0-9_]*", name):
            raise DescriptionError(f"{name!r} is no name, allowed: a letter, then A-Z a-z 0-9 _")
        # fmpy gives the parameters of the longer to the shorter, too
        if longer := [other for other in names if other != name and other.startswith(name)]:
            raise DescriptionError(f"parts.{name}: the name {longer[0]!r} begins with it")


def _part(name: str, content: Mapping[str, Any], models: Mapping[str, type[FmuBase]]) -> Part:
    where = f"parts.{name}."
    _check_keys(where, content, ("fmu",), _PART)
    if content["fmu"] not in models:
        raise DescriptionError(f"{where}fmu = {content['fmu']!r} is none of {', '.join(models)}")
    model = models[content["fmu"]]
    table = model.table()
    given = dict(_flattened(content.get("parameters", {})))
    if PRESET in content:
        given = {PRESET: content[PRESET], **given}
    try:
        values = {key: _value(table, key, value) for key, value in given.items()}
        if PRESET in values:
            load_preset(model.model_name, values[PRESET])  # told now if there is none
    except ParameterError as error:
        raise DescriptionError(f"{where}parameters: {error}") from error
    return Part(name, model.model_name, table, values)


def _value(table: VariableTable, name: str, given: Any) -> Any:
    """A value as the variable holds it."""
    variable = table.by_name.get(name)
    if variable is None or variable.causality == "output":
        raise ParameterError(f"{name} is no parameter or input of this FMU")
    quantity = variable.quantity
    if type(given) not in _TYPES[quantity.kind]:
        raise ParameterError(f"{name} = {given!r} has the wrong type, it is a {quantity.kind}")
    if quantity.choices is not None:
        if given not in quantity.choices.__members__:
            names = ", ".join(quantity.choices.__members__)
            raise ParameterError(f"{name} = {given!r} is none of {names}")
        return quantity.choices[given]
    if refusal := quantity.refusal(name, given):
        raise ParameterError(refusal)
    return float(given) if quantity.kind == "real" else given


def _flattened(table: Mapping[str, Any], group: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flattened(value, f"{group}{key}.")
        else:
            yield f"{group}{key}", value


def _connections(given: list[Any], parts: Mapping[str, Part]) -> Iterator[Connection]:
    taken: set[tuple[str, str]] = set()
    for ends in given:
        if not (
            isinstance(ends, list) and len(ends) == 2 and all(isinstance(e, str) for e in ends)
        ):
            raise DescriptionError(f"system.connections: {ends!r} is no pair of names")
        found = list(_between(ends[0], ends[1], parts))
        if not found:
            raise DescriptionError(f"system.connections: {ends} connects nothing")
        for connection in found:
            sink = connection.end, connection.input.name
            if sink in taken:
                raise DescriptionError(f"system.connections: {'.'.join(sink)} is connected twice")
            taken.add(sink)
            yield connection


def _between(first: str, second: str, parts: Mapping[str, Part]) -> Iterator[Connection]:
    """All connections between two ends, in the order of the inputs."""
    start, outputs = _end(first, parts, "output")
    end, inputs = _end(second, parts, "input")
    for name, variable in inputs.items():
        output = outputs.get(name)
        if output is None:
            continue
        if output.type_name != variable.type_name:
            raise DescriptionError(
                f"system.connections: {name} has other types at {first} and {second}"
            )
        yield Connection(start, output, end, variable)


def _end(end: str, parts: Mapping[str, Part], causality: str) -> tuple[str, dict[str, Variable]]:
    """The part of an end of a connection, and its variables by what follows the end's name."""
    part, _, group = end.partition(".")
    if part not in parts:
        raise DescriptionError(
            f"system.connections: {part!r} is no part, there are {', '.join(parts)}"
        )
    variables = {
        variable.name.removeprefix(group).removeprefix("."): variable
        for variable in parts[part].table.of_causality(causality)
        if not group or variable.name == group or variable.name.startswith(f"{group}.")
    }
    return part, variables


def _check_keys(
    where: str, table: Mapping[str, Any], needed: tuple[str, ...], known: tuple[str, ...]
) -> None:
    for key in needed:
        if key not in table:
            raise DescriptionError(f"{where}{key} is missing")
    for key in table:
        if key not in known:
            raise DescriptionError(f"{where}{key} is unknown, known: {', '.join(known)}")
