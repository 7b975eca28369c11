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
    parameters.drive.left = 6.0                    # parameters, and inputs without a connection

    [parts.imu]
    fmu = "Imu"
    preset = "VN-100"                              # a name or a path, if it is one
    parameters.mount.position.z = 0.6              # these win over the preset

    [parts.car]
    fmu = "models/Car.fmu"                         # from elsewhere, relative to this file

A connection leads from a part, or from a group of its variables, to another: each output of the
first end is connected to the input of the second that has the same name within its end, if there
is one. If both ends are variables, these two are connected, whatever their names. Numbers are in
the units of the variables, SI units in the FMUs of this project; choices are given by the name of
their item. If both variables have a unit, the units must be equal;
``["car.v", "imu.body.velocity.x", "any unit"]`` skips this check.

A name that is unknown, a value of a wrong type or out of range, and an input that is connected
twice are errors that name file and key.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fmus.fmi.base import FmuBase
from fmus.fmi.variables import Variable, VariableTable, convert_preset
from fmus.tools.systems.foreign import ForeignError, ForeignTable, read_foreign
from fmus.tools.systems.units import Unit, mismatch, own_unit
from sensor_models.core.quantities import ParameterError
from sensor_models.core.spec import PRESET, PRESET_EXCEPT
from sensor_models.core.toml_files import TomlError, read_toml
from sensor_models.output.files import check_names
from sensor_models.presets import find_preset, is_own, is_path, load_preset

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

#: Where a user's own presets are in the resources of the FMUs of a package.
CARRIED = "presets"

#: Follows the ends of a connection whose units are not compared.
ANY_UNIT = "any unit"


class DescriptionError(ValueError):
    """An error in the description of a system."""


@dataclass(frozen=True)
class Part:
    """One FMU of a system."""

    name: str
    model_name: str
    table: VariableTable | ForeignTable
    parameters: dict[str, Any]
    """Values of variables as they are set, the preset by its name."""
    source: Path | None = None
    """The file of an FMU that is not of this project."""

    @property
    def values(self) -> dict[str, Any]:
        """The parameters, with the values of the preset beside its name.

        A package goes to other machines, so a user's own preset is packed into the FMU of the part
        (``carried``) and named by its path there. Only the preset itself says which files it names.
        """
        name = self.parameters.get(PRESET, "")
        if not name or isinstance(self.table, ForeignTable):
            return dict(self.parameters)
        preset = find_preset(self.model_name, name)
        values = convert_preset(self.table, preset.parameters_of(self.model_name), name)
        found = {PRESET: name, **values, **self.parameters}
        if is_own(preset):
            found[PRESET] = f"{CARRIED}/{preset.path.name}"
            for key in preset.files_beside(self.model_name).keys() - self.parameters.keys():
                del found[key]
        return found

    @property
    def carried(self) -> dict[str, Path]:
        """The files of a user's own preset, by their paths in the resources of the FMU."""
        name = self.parameters.get(PRESET, "")
        if not name or isinstance(self.table, ForeignTable):
            return {}
        preset = find_preset(self.model_name, name)
        if not is_own(preset):
            return {}
        beside = set(preset.files_beside(self.model_name).values())
        files = {file: preset.path.parent / file for file in (preset.path.name, *beside)}
        return {f"{CARRIED}/{place}": path for place, path in files.items()}

    @property
    def numbers(self) -> dict[str, Any]:
        """``values`` without Strings."""
        kinds = self.table.by_name
        return {n: v for n, v in self.values.items() if kinds[n].type_name != "String"}

    def unit_of(self, variable: Variable) -> Unit | None:
        """The unit of one of its variables; None if it is not known, or has no meaning."""
        if variable.type_name != "Real":
            return None
        if isinstance(self.table, ForeignTable):
            return self.table.unit_of(variable)
        return own_unit(variable.quantity.unit)


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
        content = read_toml(path)
        return _system(content, models, path.absolute().parent)
    except TomlError as error:
        raise DescriptionError(str(error)) from error
    except (OSError, ValueError) as error:  # our own are ValueErrors
        raise DescriptionError(f"{path}: {error}") from error


def _system(
    content: Mapping[str, Any], models: Mapping[str, type[FmuBase]], folder: Path
) -> System:
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
    parts = {name: _part(name, part, models, folder) for name, part in content["parts"].items()}
    connections = tuple(_connections(about["connections"], parts))
    return System(
        about["name"], about["description"], step, stop, tuple(parts.values()), connections
    )


def _check_names(names: list[str]) -> None:
    check_names("", names)  # they are files and directories of packages and campaigns
    for name in names:
        # fmpy also gives the parameters of the longer name to the shorter one
        if longer := [other for other in names if other != name and other.startswith(name)]:
            raise DescriptionError(f"parts.{name}: the name {longer[0]!r} begins with it")


def _part(
    name: str, content: Mapping[str, Any], models: Mapping[str, type[FmuBase]], folder: Path
) -> Part:
    where = f"parts.{name}."
    _check_keys(where, content, ("fmu",), _PART)
    fmu, given = content["fmu"], dict(_flattened(content.get("parameters", {})))
    try:
        if isinstance(fmu, str) and fmu.endswith(".fmu"):
            return _foreign_part(name, folder / fmu, content, given)
        if fmu not in models:
            raise DescriptionError(
                f"{where}fmu = {fmu!r} is none of {', '.join(models)}, and no path of a .fmu file"
            )
        return own_part(name, models[fmu], str(content.get(PRESET, "")), given, folder)
    except (ParameterError, ForeignError) as error:
        raise DescriptionError(f"{where}parameters: {error}") from error


def own_part(
    name: str, model: type[FmuBase], preset: str, given: Mapping[str, Any], folder: Path
) -> Part:
    """A part that is an FMU of this project."""
    table = model.table()
    values = {key: value_of(table, key, value) for key, value in given.items()}
    preset = values.pop(PRESET, preset)
    if not preset:
        return Part(name, model.model_name, table, values)
    if is_path(preset):
        preset = str(folder / preset)
    sets = convert_preset(table, load_preset(model.model_name, preset), preset)
    hidden = [
        key
        for key, value in values.items()
        if key in sets and value == table.by_name[key].start != sets[key]
    ]
    if hidden:  # else the values of the preset would win over these
        values.setdefault(PRESET_EXCEPT, ", ".join(hidden))
    return Part(name, model.model_name, table, {PRESET: preset, **values})


def _foreign_part(
    name: str, path: Path, content: Mapping[str, Any], given: Mapping[str, Any]
) -> Part:
    """A part that is an FMU from elsewhere."""
    if PRESET in content:
        raise ParameterError(f"{path} has no presets")
    table = read_foreign(path)
    values = {key: value_of(table, key, value) for key, value in given.items()}
    return Part(name, table.model_name, table, values, path)


def value_of(table: VariableTable | ForeignTable, name: str, given: Any) -> Any:
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
        checked = not (isinstance(ends, list) and len(ends) == 3 and ends[2] == ANY_UNIT)
        pair = ends if checked else ends[:2]
        if not (
            isinstance(pair, list) and len(pair) == 2 and all(isinstance(e, str) for e in pair)
        ):
            raise DescriptionError(
                f'system.connections: {ends!r} is no pair of names, nor one with "{ANY_UNIT}"'
            )
        found = list(_between(pair[0], pair[1], parts))
        if not found:
            raise DescriptionError(
                f"system.connections: {pair} connects nothing: {_why_nothing(pair, parts)}"
            )
        for connection in found:
            sink = connection.end, connection.input.name
            if sink in taken:
                raise DescriptionError(f"system.connections: {'.'.join(sink)} is connected twice")
            taken.add(sink)
            if checked:
                _check_units(connection, parts)
            yield connection


def _check_units(connection: Connection, parts: Mapping[str, Part]) -> None:
    start, end = parts[connection.start], parts[connection.end]
    reason = mismatch(start.unit_of(connection.output), end.unit_of(connection.input))
    if reason:
        raise DescriptionError(
            f"system.connections: {start.name}.{connection.output.name} does not fit"
            f" {end.name}.{connection.input.name}: {reason}{_cure(connection, parts)}"
        )


def _cure(connection: Connection, parts: Mapping[str, Part]) -> str:
    """What an angle at a part of a quaternion should be connected to instead."""
    unit = parts[connection.start].unit_of(connection.output)
    body, orientation, _ = connection.input.name.partition(".orientation.")
    if unit is None or not unit.is_angle or not orientation:
        return ""
    if f"{body}.euler.yaw" not in parts[connection.end].table.by_name:
        return ""
    return f"; angles go to {body}.euler.roll, .pitch and .yaw, with orientation_input = euler"


def _why_nothing(pair: list[str], parts: Mapping[str, Part]) -> str:
    """Why there is nothing to connect, with the names that there are."""
    reasons = []
    for end, causality in zip(pair, ("output", "input"), strict=True):
        part, variables = _end(end, parts, causality)
        if not variables:
            reasons.append(_unknown(part, end.partition(".")[2], parts[part], causality))
    if reasons:
        return ", and ".join(reasons)
    (_, outputs), (_, inputs) = _end(pair[0], parts, "output"), _end(pair[1], parts, "input")
    return (
        f"no output of {pair[0]} ({_listed(outputs)}) has the name of an input of"
        f" {pair[1]} ({_listed(inputs)})"
    )


def _unknown(part: str, group: str, of: Part, causality: str) -> str:
    """That a name is unknown, and the members of the smallest group around it that is known."""
    known = [v.name for v in of.table.of_causality(causality)]
    around = group
    while around:
        around = around.rpartition(".")[0]
        start = f"{around}." if around else ""
        members = {n.removeprefix(start).partition(".")[0] for n in known if n.startswith(start)}
        if members:
            where = f"{part}.{around}" if around else part
            there = f"{where} has {_listed(sorted(members))}"
            return f"{group} is no {causality} of {part}, {there}"
    return f"{part} has no {causality}s"


def _listed(names: Iterable[str], most: int = 12) -> str:
    found = list(names)
    return ", ".join(n or "itself" for n in found[:most]) + (", ..." if len(found) > most else "")


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
                f"system.connections: {output.name} at {first} is {output.type_name}, and"
                f" {variable.name} at {second} is {variable.type_name}"
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
