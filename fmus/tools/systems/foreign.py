"""FMUs that are not of this project, as far as a system needs to know them.

The model description of an FMU for co-simulation by FMI 2.0 is read: its variables with their
types, units and ranges. Other FMUs are refused with the reason.

Source: "Functional Mock-up Interface for Model Exchange and Co-Simulation", version 2.0.5, sections
2.2.2 (units), 2.2.7 (variables) and 4.3.1 (co-simulation).
"""

import math
import zipfile
from collections.abc import Mapping
from enum import IntEnum
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from fmus.fmi.variables import Variable
from fmus.tools.systems.units import Unit
from sensor_models.core.quantities import Quantity

#: Kinds of quantities by the elements of FMI, and the start where a description has none.
_KINDS: Mapping[str, tuple[Any, Any]] = {
    "Real": ("real", 0.0),
    "Integer": ("integer", 0),
    "Boolean": ("boolean", False),
    "String": ("string", ""),
    "Enumeration": ("choice", 0),
}
_CAUSALITIES = {"parameter": "parameter", "input": "input", "output": "output"}


class ForeignError(ValueError):
    """A file that cannot be used as an FMU of a system."""


class ForeignTable:
    """The variables of an FMU that others may set or read."""

    def __init__(self, model_name: str, variables: list[Variable], units: Mapping[str, Unit]):
        self.model_name = model_name
        self.by_name = {variable.name: variable for variable in variables}
        self._units = units

    def of_causality(self, causality: str) -> list[Variable]:
        """The variables with one causality, in the order of declaration."""
        return [v for v in self.by_name.values() if v.causality == causality]

    def unit_of(self, variable: Variable) -> Unit | None:
        """The unit of a variable; none if the description does not say it."""
        return self._units.get(variable.quantity.unit)


def read_foreign(path: Path) -> ForeignTable:
    """What a system needs to know of an FMU."""
    try:
        with zipfile.ZipFile(path) as archive:
            root = ElementTree.fromstring(archive.read("modelDescription.xml"))
    except (OSError, KeyError, zipfile.BadZipFile, ElementTree.ParseError) as error:
        raise ForeignError(f"{path} is no FMU: {error}") from error
    version, has = root.get("fmiVersion", "none"), root.find("CoSimulation") is not None
    if version != "2.0" or not has:
        raise ForeignError(
            f"{path} is for FMI {version} and has {'' if has else 'no '}CoSimulation; needed is"
            " FMI 2.0 for co-simulation"
        )
    units = {unit.name: unit for unit in map(_unit, root.iterfind("UnitDefinitions/Unit"))}
    types = {t.get("name", ""): t for t in root.iterfind("TypeDefinitions/SimpleType")}
    found = [_variable(v, types) for v in root.iterfind("ModelVariables/ScalarVariable")]
    variables = [variable for variable in found if variable is not None]
    for variable in variables:
        units.setdefault(variable.quantity.unit, Unit(variable.quantity.unit))
    units.pop("", None)
    return ForeignTable(root.get("modelName", path.stem), variables, units)


def _unit(element: Element) -> Unit:
    name, base = element.get("name", ""), element.find("BaseUnit")
    if base is None:
        return Unit(name)
    exponents = {k: int(v) for k, v in base.items() if k not in ("factor", "offset") and int(v)}
    return Unit(name, exponents, float(base.get("factor", "1")), float(base.get("offset", "0")))


def _variable(element: Element, types: Mapping[str, Element]) -> Variable | None:
    """A variable that others may set or read."""
    causality = _CAUSALITIES.get(element.get("causality", "local"))
    content = next((child for child in element if child.tag in _KINDS), None)
    if causality is None or content is None:
        return None
    kind, nothing = _KINDS[content.tag]
    declared = types.get(content.get("declaredType", ""))
    of_type = declared.find(content.tag) if declared is not None else None
    # Attributes that a variable does not have are those of its type.
    attributes = {**(dict(of_type.items()) if of_type is not None else {}), **content.attrib}
    choices = _choices(declared, of_type) if kind == "choice" else None
    if kind == "choice" and choices is None:
        kind = "integer"
    name = element.get("name", "")
    quantity = Quantity(
        kind,
        name,
        element.get("description", ""),
        nothing,
        attributes.get("unit", ""),
        float(attributes.get("min", -math.inf)),
        float(attributes.get("max", math.inf)),
        choices=choices,
    )
    return Variable(name, causality, quantity, nothing, int(element.get("valueReference", "0")))


def _choices(declared: Element | None, of_type: Element | None) -> type[IntEnum] | None:
    if declared is None or of_type is None:
        return None
    items = {item.get("name", ""): int(item.get("value", "0")) for item in of_type.iter("Item")}
    try:
        return IntEnum(declared.get("name", "Choice"), items)  # type: ignore[return-value]
    except (TypeError, ValueError):  # Python does not take the name of an item
        return None
