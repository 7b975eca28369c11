"""modelDescription.xml of an FMU class for FMI 3.0.

Variables are those of ``arrays``. What is not of the version, such as units, is made by
``model_description``.
"""

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement

from fmus.fmi import osmp
from fmus.fmi.arrays import ArrayVariable, Interface, Kind, Layout
from fmus.fmi.model_description import (
    add_units,
    generation_time,
    guid_of,
    number,
    start_text,
    token_of,
    type_name_of,
    typed_attributes,
    variability_of,
)
from sensor_models import __version__

if TYPE_CHECKING:
    from fmus.fmi.base import FmuBase

CAPABILITIES = {
    "needsExecutionTool": "false",  # as for FMI 2.0: Python is no such tool
    "canBeInstantiatedOnlyOncePerProcess": "false",
    "canGetAndSetFMUState": "true",
    "canSerializeFMUState": "true",
    "canHandleVariableCommunicationStepSize": "true",
}

#: The elements of variables.
ELEMENTS = {
    Kind.time: "Float64",
    Kind.real: "Float64",
    Kind.integer: "Int32",
    Kind.choice: "Enumeration",
    Kind.boolean: "Boolean",
    Kind.string: "String",
    Kind.message: "Binary",
    Kind.frame: "Binary",
    Kind.clock: "Clock",
}
#: What starts with nothing, and has no value to be calculated in Initialization Mode.
EMPTY = (Kind.message, Kind.frame)


def model_description3(fmu: "type[FmuBase]", interface: Interface) -> Element:
    """The whole description of an FMU class."""
    table, layout = fmu.table(), fmu.layout(interface)
    root = Element(
        "fmiModelDescription",
        {
            "fmiVersion": "3.0",
            "modelName": fmu.model_name,
            "instantiationToken": token_of(guid_of(fmu.model_name, table), interface),
            "description": fmu.description_text,
            "version": __version__,
            "license": "MIT",
            "generationTool": f"sensor-fmus {__version__}",
            "generationDateAndTime": generation_time(),
            "variableNamingConvention": "structured",
        },
    )
    about = {"modelIdentifier": fmu.model_name, **CAPABILITIES}
    about |= {"hasEventMode": "true"} if any(v.kind == Kind.clock for v in layout.variables) else {}
    about |= {"mightReturnEarlyFromDoStep": "true"} if fmu.frame_binaries() else {}
    SubElement(root, "CoSimulation", about)
    add_units(root, table, ("s",))  # of the time
    _add_types(root, layout)
    categories = SubElement(root, "LogCategories")
    for name, description in fmu.log_categories.items():
        SubElement(categories, "Category", {"name": name, "description": description})
    step = number(fmu.default_step)
    SubElement(root, "DefaultExperiment", {"startTime": "0", "stopTime": "1", "stepSize": step})
    variables = SubElement(root, "ModelVariables")
    for variable in layout.variables:
        _add_variable(variables, variable)
    _add_structure(root, fmu, layout)
    if any(kind.startswith(osmp.OSI) for kind in fmu.messages.values()):
        osmp.add_annotation3(root)
    return root


def _add_types(root: Element, layout: Layout) -> None:
    """The enumeration types in use."""
    used = {p.quantity.choices for v in layout.variables for p in v.parts} - {None}
    if not used:
        return
    definitions = SubElement(root, "TypeDefinitions")
    for choices in sorted((c for c in used if c is not None), key=type_name_of):
        enumeration = SubElement(definitions, "EnumerationType", {"name": type_name_of(choices)})
        for item in choices:
            SubElement(enumeration, "Item", {"name": item.name, "value": str(item.value)})


def _add_variable(variables: Element, variable: ArrayVariable) -> None:
    """One variable with its dimensions."""
    attributes = {
        "name": variable.name,
        "valueReference": str(variable.reference),
        "description": variable.description,
        "causality": variable.causality,
        "variability": _variability(variable),
    }
    element = SubElement(variables, ELEMENTS[variable.kind], attributes)
    if variable.kind == Kind.time:
        element.set("unit", "s")
        return
    if variable.kind == Kind.clock:
        element.set("intervalVariability", "triggered")
        return
    is_given = variable.kind in EMPTY or variable.causality != "output"
    if variable.causality != "input":
        element.set("initial", "exact" if is_given else "calculated")
    if variable.kind in EMPTY:
        element.set("mimeType", variable.mime_type)
        if variable.mime_type.startswith(osmp.OSI):
            osmp.add_message_annotation3(element, variable.name, variable.mime_type)
        SubElement(element, "Start", {"value": ""})
        return
    typed = typed_attributes(variable.parts[0])
    typed.pop("start", None)
    for name, value in typed.items():
        element.set(name, value)
    for length in variable.dimensions:
        SubElement(element, "Dimension", {"start": str(length)})
    if is_given:
        _add_start(element, variable)


def _variability(variable: ArrayVariable) -> str:
    if variable.kind == Kind.time:
        return "continuous"
    return variability_of(variable.parts[0]) if variable.parts else "discrete"


def _add_start(element: Element, variable: ArrayVariable) -> None:
    """The start values of all elements, row by row."""
    starts = [part.start for part in variable.parts]
    if variable.kind == Kind.string:
        for start in starts:
            SubElement(element, "Start", {"value": start})
    else:
        texts = (start_text(int(s) if isinstance(s, IntEnum) else s) for s in starts)
        element.set("start", " ".join(texts))


def _add_structure(root: Element, fmu: "type[FmuBase]", layout: Layout) -> None:
    """Outputs and initial unknowns, as in FMI 2.0."""
    structure = SubElement(root, "ModelStructure")
    outputs = layout.of_causality("output")
    for variable in outputs:
        _add_unknown(structure, "Output", variable, ())
    by_scalar = layout.by_scalar()
    for variable in outputs:
        if variable.kind in EMPTY:
            continue
        scalars = () if variable.kind == Kind.clock else variable.parts
        known = {
            by_scalar[name].reference for part in scalars for name in fmu.known_at_start(part.name)
        }
        _add_unknown(structure, "InitialUnknown", variable, sorted(known))


def _add_unknown(
    structure: Element, name: str, variable: ArrayVariable, known: Iterable[int]
) -> None:
    references: Sequence[str] = [str(reference) for reference in known]
    attributes = {
        "valueReference": str(variable.reference),
        "dependencies": " ".join(references),
        "dependenciesKind": " ".join(["dependent"] * len(references)),
    }
    SubElement(structure, name, attributes)
