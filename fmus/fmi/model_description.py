"""modelDescription.xml of an FMU class.

pythonfmu writes one too, but without units, ranges, enumerations and initial unknowns.
"""

import hashlib
import os
import re
import uuid
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from enum import IntEnum
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element, SubElement

from fmus.fmi import osmp
from fmus.fmi.arrays import Interface
from fmus.fmi.variables import INT_MAX, INT_MIN, Variable, VariableTable
from sensor_models import __version__

if TYPE_CHECKING:
    from fmus.fmi.base import FmuBase

#: The symbols that units are made of, as exponents of base units.
SYMBOLS: Mapping[str, Mapping[str, int]] = {
    "1": {},
    "m": {"m": 1},
    "s": {"s": 1},
    "rad": {"rad": 1},
    "sr": {"rad": 2},
    "K": {"K": 1},
    "kg": {"kg": 1},
    "Hz": {"s": -1},
    "N": {"kg": 1, "m": 1, "s": -2},
    "T": {"kg": 1, "s": -2, "A": -1},
    "J": {"kg": 1, "m": 2, "s": -2},
    "W": {"kg": 1, "m": 2, "s": -3},
    "A": {"A": 1},
    "V": {"kg": 1, "m": 2, "s": -3, "A": -1},
}

#: Display units of angles: name, and the factor from the unit to it.
DEGREES = 57.29577951308232
DISPLAY_UNITS = {"rad": "deg", "rad/s": "deg/s", "rad/s2": "deg/s2"}

CAPABILITIES = {
    # A tool in the sense of FMI is one that a master has to start or needs a licence for. Python
    # is not, and some masters refuse FMUs that declare a tool.
    "needsExecutionTool": "false",
    "canHandleVariableCommunicationStepSize": "true",
    "canInterpolateInputs": "false",
    "canRunAsynchronuously": "false",
    "canBeInstantiatedOnlyOncePerProcess": "false",
    "canNotUseMemoryManagementFunctions": "true",
    "canGetAndSetFMUstate": "true",
    "canSerializeFMUstate": "true",
    "providesDirectionalDerivative": "false",
}


def number(value: float) -> str:
    """A number as exact text for XML."""
    return repr(float(value)) if isinstance(value, float) else str(value)


def model_description(fmu: "type[FmuBase]") -> Element:
    """The whole description of an FMU class."""
    table = fmu.table()
    root = Element(
        "fmiModelDescription",
        {
            "fmiVersion": "2.0",
            "modelName": fmu.model_name,
            "guid": guid_of(fmu.model_name, table),
            "description": fmu.description_text,
            "version": __version__,
            "license": "MIT",
            "generationTool": f"sensor-fmus {__version__}",
            "generationDateAndTime": generation_time(),
            "variableNamingConvention": "structured",
        },
    )
    SubElement(root, "CoSimulation", {"modelIdentifier": fmu.model_name, **CAPABILITIES})
    add_units(root, table)
    add_enumerations(root, table)
    categories = SubElement(root, "LogCategories")
    for name, description in fmu.log_categories.items():
        SubElement(categories, "Category", {"name": name, "description": description})
    SubElement(
        root,
        "DefaultExperiment",
        {"startTime": "0", "stopTime": "1", "stepSize": number(fmu.default_step)},
    )
    if fmu.messages:
        osmp.add_vendor_annotation(root)
    variables = SubElement(root, "ModelVariables")
    for variable in table.variables:
        message = osmp.role_of(fmu.messages, variable)
        scalar = add_variable(variables, variable, exact=message is not None)
        if message is not None:
            osmp.add_annotation(scalar, message)
    add_structure(root, fmu, table)
    return root


def generation_time() -> str:
    """The present time, or SOURCE_DATE_EPOCH if that is set, for reproducible builds."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    now = datetime.now(timezone.utc)
    instant = datetime.fromtimestamp(int(epoch), timezone.utc) if epoch else now
    return instant.strftime("%Y-%m-%dT%H:%M:%SZ")


def guid_of(model_name: str, table: VariableTable) -> str:
    """An identifier of the interface: it changes if the variables change."""
    lines = [model_name]
    for v in table.variables:
        q = v.quantity
        lines.append(
            repr((v.name, v.reference, v.causality, q.kind, q.unit, v.start, q.minimum, q.maximum))
        )
        if q.choices is not None:
            lines.append(repr([(item.name, item.value) for item in q.choices]))
    digest = hashlib.sha256("\n".join(lines).encode()).digest()
    return f"{{{uuid.UUID(bytes=digest[:16])}}}"


def token_of(guid: str, interface: Interface) -> str:
    """The identifier of one interface of an FMU: that of FMI 2.0 is the GUID itself."""
    if interface == Interface.fmi2:
        return guid
    return f"{{{uuid.uuid5(uuid.UUID(guid), interface.value)}}}"


def base_units(unit: str) -> dict[str, str]:
    """The exponents of a unit such as ``m/s2/K`` or ``rad.s/m``."""
    exponents: dict[str, int] = {}
    for operator, symbol, power in re.findall(r"(^|[./])([A-Za-z]+|1)(\d*)", unit):
        for base, exponent in SYMBOLS[symbol].items():
            signed = (-1 if operator == "/" else 1) * int(power or 1) * exponent
            exponents[base] = exponents.get(base, 0) + signed
    return {base: str(exponent) for base, exponent in exponents.items() if exponent}


def add_units(root: Element, table: VariableTable, more: Iterable[str] = ()) -> None:
    """Every unit in use with its base units, and more of them; degrees to display angles."""
    definitions = SubElement(root, "UnitDefinitions")
    for unit in sorted({*more, *(v.quantity.unit for v in table.of_type("Real"))}):
        element = SubElement(definitions, "Unit", {"name": unit})
        if "sqrt" not in unit:  # FMI's exponents are whole numbers
            SubElement(element, "BaseUnit", base_units(unit))
        if unit in DISPLAY_UNITS:
            display = {"name": DISPLAY_UNITS[unit], "factor": number(DEGREES)}
            SubElement(element, "DisplayUnit", display)


def type_name_of(choices: type[IntEnum]) -> str:
    """The FMI type of an enumeration."""
    return choices.__name__


def add_enumerations(root: Element, table: VariableTable) -> None:
    """The enumeration types in use."""
    used = {v.quantity.choices for v in table.variables} - {None}
    if not used:
        return
    definitions = SubElement(root, "TypeDefinitions")
    for choices in sorted(used, key=lambda c: type_name_of(c) if c else ""):
        if choices is None:
            continue
        simple = SubElement(definitions, "SimpleType", {"name": type_name_of(choices)})
        enumeration = SubElement(simple, "Enumeration")
        for item in choices:
            SubElement(enumeration, "Item", {"name": item.name, "value": str(item.value)})


def variability_of(variable: Variable) -> str:
    """Parameters are fixed; Real inputs are continuous; readings change at samples only."""
    if variable.causality == "parameter":
        return "fixed"
    is_real = variable.type_name == "Real"
    return "continuous" if is_real and variable.causality == "input" else "discrete"


def add_variable(variables: Element, variable: Variable, *, exact: bool = False) -> Element:
    """Add a ScalarVariable; an ``exact`` output has its start value until the first step."""
    attributes = {
        "name": variable.name,
        "valueReference": str(variable.reference),
        "description": variable.quantity.description,
        "causality": variable.causality,
        "variability": variability_of(variable),
    }
    if variable.causality != "input":
        known = exact or variable.causality == "parameter"
        attributes["initial"] = "exact" if known else "calculated"
    scalar = SubElement(variables, "ScalarVariable", attributes)
    if variable.quantity.choices is not None:
        SubElement(scalar, "Enumeration", typed_attributes(variable))
    else:
        SubElement(scalar, variable.type_name, typed_attributes(variable, exact=exact))
    return scalar


def typed_attributes(variable: Variable, *, exact: bool = False) -> dict[str, str]:
    """Start, range, unit and type of a variable, if it has them."""
    quantity = variable.quantity
    found: dict[str, str] = {}
    if quantity.kind == "real":
        found["unit"] = quantity.unit
    if quantity.choices is not None:
        found["declaredType"] = type_name_of(quantity.choices)
    if quantity.kind in ("real", "integer"):
        if quantity.minimum > (-float("inf") if quantity.kind == "real" else INT_MIN):
            found["min"] = number(quantity.minimum)
        if quantity.maximum < (float("inf") if quantity.kind == "real" else INT_MAX):
            found["max"] = number(quantity.maximum)
    if exact or variable.causality != "output":
        found["start"] = start_text(variable.start)
    return found


def start_text(value: Any) -> str:
    """A start value as XML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    return number(int(value) if isinstance(value, IntEnum) else value)


def add_structure(root: Element, fmu: "type[FmuBase]", table: VariableTable) -> None:
    """Outputs and initial unknowns, each with what it depends on.

    Inputs count from the next step on, so while an FMU is stepped no output depends on any of them,
    and no master has to look for loops.
    """
    place = {v.name: i for i, v in enumerate(table.variables, 1)}
    structure = SubElement(root, "ModelStructure")
    outputs = SubElement(structure, "Outputs")
    unknowns = SubElement(structure, "InitialUnknowns")
    for variable in table.of_causality("output"):
        add_unknown(outputs, place, variable.name, ())
        if osmp.role_of(fmu.messages, variable) is None:
            add_unknown(unknowns, place, variable.name, fmu.known_at_start(variable.name))


def add_unknown(parent: Element, place: dict[str, int], name: str, known: Iterable[str]) -> None:
    """One Unknown with its dependencies."""
    indices = sorted(place[k] for k in known)
    SubElement(
        parent,
        "Unknown",
        {
            "index": str(place[name]),
            "dependencies": " ".join(map(str, indices)),
            "dependenciesKind": " ".join(["dependent"] * len(indices)),
        },
    )
