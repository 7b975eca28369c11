"""Builds the reference FMU: the compiled peer of the sensors in the benchmark of call costs.

It takes the same 13 inputs as a body-mounted sensor, gives 20 outputs, and does next to nothing
in between (``reference_fmu.c`` says what). Masters are tested with it, too. For Linux.
"""

import uuid
import zipfile
from pathlib import Path
from xml.etree import ElementTree

from tests.masters.compiling import binaries_folder, compile_c

MODEL_IDENTIFIER = "Reference"
SOURCE = Path(__file__).resolve().with_name("reference_fmu.c")

#: The inputs by group, with unit and start values; references count up from 0.
GROUPS = (
    ("body.position", "m", {"x": "0", "y": "0", "z": "0"}),
    ("body.orientation", "1", {"w": "1", "x": "0", "y": "0", "z": "0"}),
    ("body.velocity", "m/s", {"x": "0", "y": "0", "z": "0"}),
    ("body.angular_velocity", "rad/s", {"x": "0", "y": "0", "z": "0"}),
)
UNITS: dict[str, dict[str, str]] = {
    "m": {"m": "1"},
    "1": {},
    "m/s": {"m": "1", "s": "-1"},
    "rad/s": {"rad": "1", "s": "-1"},
}
INPUTS = tuple(f"{group}.{part}" for group, _, parts in GROUPS for part in parts)
OUTPUTS = tuple(f"out_{number}" for number in range(1, 21))
#: Name, FMI type and start value of the parameters.
PARAMETERS = (
    ("integer_parameter", "Integer", "0"),
    ("boolean_parameter", "Boolean", "false"),
    ("string_parameter", "String", ""),
)


def build_reference_fmu(directory: Path) -> Path:
    """Compiles and packs the FMU into a directory, and returns the file."""
    description = _model_description()
    guid = f'-DMODEL_GUID="{description.get("guid")}"'
    flags = ("-shared", "-fPIC", "-fvisibility=hidden", guid)
    library = compile_c(directory / f"{MODEL_IDENTIFIER}.so", [SOURCE], *flags)
    fmu = directory / f"{MODEL_IDENTIFIER}.fmu"
    with zipfile.ZipFile(fmu, "w", zipfile.ZIP_DEFLATED) as archive:
        text = ElementTree.tostring(description, encoding="UTF-8", xml_declaration=True)
        archive.writestr("modelDescription.xml", text)
        archive.write(library, f"{binaries_folder()}/{library.name}")
        archive.writestr("resources/", "")
    return fmu


def _model_description() -> ElementTree.Element:
    """The model description; its GUID is a function of all the rest."""
    root = ElementTree.Element(
        "fmiModelDescription",
        fmiVersion="2.0",
        modelName=MODEL_IDENTIFIER,
        description="Copies and sums of its inputs, compiled",
        variableNamingConvention="structured",
    )
    ElementTree.SubElement(
        root,
        "CoSimulation",
        modelIdentifier=MODEL_IDENTIFIER,
        canHandleVariableCommunicationStepSize="true",
        canGetAndSetFMUstate="true",
        canSerializeFMUstate="true",
    )
    _add_units(root)
    _add_variables(ElementTree.SubElement(root, "ModelVariables"))
    _add_structure(ElementTree.SubElement(root, "ModelStructure"))
    root.set("guid", str(uuid.uuid5(uuid.NAMESPACE_OID, ElementTree.tostring(root, "unicode"))))
    return root


def _add_units(root: ElementTree.Element) -> None:
    definitions = ElementTree.SubElement(root, "UnitDefinitions")
    for name, exponents in UNITS.items():
        unit = ElementTree.SubElement(definitions, "Unit", name=name)
        ElementTree.SubElement(unit, "BaseUnit", exponents)


def _add_variables(variables: ElementTree.Element) -> None:
    for group, unit, parts in GROUPS:
        for part, start in parts.items():
            real = _add(variables, f"{group}.{part}", "Real", "input", "continuous")
            real.attrib.update(unit=unit, start=start)
    for name in OUTPUTS:
        _add(variables, name, "Real", "output", "continuous").set("unit", "1")
    for name, kind, value in PARAMETERS:
        _add(variables, name, kind, "parameter", "fixed").set("start", value)


def _add(
    variables: ElementTree.Element, name: str, kind: str, causality: str, variability: str
) -> ElementTree.Element:
    variable = ElementTree.SubElement(
        variables,
        "ScalarVariable",
        name=name,
        valueReference=str(len(variables)),
        causality=causality,
        variability=variability,
    )
    return ElementTree.SubElement(variable, kind)


def _add_structure(structure: ElementTree.Element) -> None:
    """Lists the outputs, which depend on the inputs when a step is made and at no other time."""
    for list_name in ("Outputs", "InitialUnknowns"):
        unknowns = ElementTree.SubElement(structure, list_name)
        for index in range(len(INPUTS) + 1, len(INPUTS) + len(OUTPUTS) + 1):
            ElementTree.SubElement(unknowns, "Unknown", index=str(index), dependencies="")
