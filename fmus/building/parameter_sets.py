"""The presets of an FMU as parameter sets (SSV), for masters that cannot set a String.

Each has the values that ``preset`` stands for, by the names of the FMU's variables: scalars in FMI
2.0, in SSV 1.0, and arrays in FMI 3.0, in SSV 2.0, row by row. Elements of an array that a preset
leaves open have their start values. Choices go by the names of their items.

Source: "System Structure and Parameterization", versions 1.0 and 2.0, parameter values.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element, SubElement

from fmus.building.reference.presets import presets_of
from fmus.fmi.arrays import ArrayVariable, Interface, Kind, Layout
from fmus.fmi.model_description import start_text, type_name_of
from fmus.fmi.variables import Variable, convert_preset
from sensor_models.output.files import safe_file_name
from sensor_models.presets import Preset

if TYPE_CHECKING:
    from fmus.fmi.base import FmuBase

SSV = "http://ssp-standard.org/SSP1/SystemStructureParameterValues"
SSC = "http://ssp-standard.org/SSP1/SystemStructureCommon"

#: The elements of values by the kind of variable, in SSV 2.0.
ELEMENTS = {
    Kind.real: "Float64",
    Kind.integer: "Int32",
    Kind.boolean: "Boolean",
    Kind.string: "String",
    Kind.choice: "Enumeration",
}


def parameter_sets(fmu: "type[FmuBase]", interface: Interface) -> dict[str, tuple[Preset, Element]]:
    """The preset and the set of each file, by the name of the file."""
    write = _of_scalars if interface == Interface.fmi2 else _of_arrays(interface)
    found = {}
    for preset in presets_of(fmu.model_name):
        given = preset.parameters_of(fmu.model_name)
        values = convert_preset(fmu.table(), given, f"preset {preset.name}")
        file = f"{safe_file_name(preset.name)}.ssv"
        found[file] = preset, write(fmu, preset.name, values)
    return found


def _root(name: str, version: str) -> Element:
    about = {"xmlns:ssv": SSV, "xmlns:ssc": SSC, "version": version, "name": name}
    return Element("ssv:ParameterSet", about)


def _of_scalars(fmu: "type[FmuBase]", name: str, values: Mapping[str, Any]) -> Element:
    root = _root(name, "1.0")
    parameters = SubElement(root, "ssv:Parameters")
    for scalar, value in values.items():
        variable = fmu.table().by_name[scalar]
        parameter = SubElement(parameters, "ssv:Parameter", {"name": scalar})
        if variable.quantity.choices is not None:
            about = {"value": value.name, "name": type_name_of(variable.quantity.choices)}
            SubElement(parameter, "ssv:Enumeration", about)
        else:
            SubElement(parameter, f"ssv:{variable.type_name}", {"value": start_text(value)})
    _add_enumerations(root, [fmu.table().by_name[scalar] for scalar in values])
    return root


def _of_arrays(interface: Interface) -> Callable[..., Element]:
    def write(fmu: "type[FmuBase]", name: str, values: Mapping[str, Any]) -> Element:
        return array_set(fmu.layout(interface), name, values)

    return write


def array_set(layout: Layout, name: str, values: Mapping[str, Any]) -> Element:
    """A set of the arrays to which some scalars with values belong: parameters and inputs."""
    root = _root(name, "2.0")
    parameters = SubElement(root, "ssv:Parameters")
    shown = [v for v in layout.variables if any(part.name in values for part in v.parts)]
    set_here = [v for v in shown if v.kind in ELEMENTS]
    for variable in set_here:
        _add_array(parameters, variable, values)
    _add_enumerations(root, [variable.parts[0] for variable in set_here])
    return root


def _add_array(parameters: Element, variable: ArrayVariable, given: Mapping[str, Any]) -> None:
    """One variable with all its elements."""
    parameter = SubElement(parameters, "ssv:Parameter", {"name": variable.name})
    values = [given.get(part.name, part.start) for part in variable.parts]
    element = SubElement(parameter, f"ssv:{ELEMENTS[variable.kind]}")
    if variable.kind == Kind.choice:
        choices = variable.parts[0].quantity.choices
        assert choices is not None  # of its kind
        element.set("name", type_name_of(choices))
        _add_texts(element, [choices(value).name for value in values])
    elif variable.kind == Kind.string:
        _add_texts(element, values)
    else:
        element.set("value", " ".join(map(start_text, values)))
    for side in variable.dimensions:
        SubElement(parameter, "ssc:Dimension", {"size": str(side)})


def _add_texts(element: Element, texts: Sequence[str]) -> None:
    if len(texts) == 1:
        element.set("value", texts[0])
        return
    for text in texts:
        SubElement(element, "ssv:Value", {"value": text})


def _add_enumerations(root: Element, variables: Sequence[Variable]) -> None:
    """The types of choices in use."""
    used: dict[str, type[IntEnum]] = {}
    for variable in variables:
        if variable.quantity.choices is not None:
            used[type_name_of(variable.quantity.choices)] = variable.quantity.choices
    if not used:
        return
    enumerations = SubElement(root, "ssv:Enumerations")
    for name in sorted(used):
        enumeration = SubElement(enumerations, "ssc:Enumeration", {"name": name})
        for item in used[name]:
            about = {"name": item.name, "value": str(item.value)}
            SubElement(enumeration, "ssc:Item", about)
