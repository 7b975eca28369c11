"""System Structure and Parameterization 1.0: a system of FMUs as one file, for any master.

The package uses only what all masters that read SSP have in common: one level, no String
connectors, no connectors of the system itself (inputs without a connection are parameters), and
connectors only for inputs that are connected. Each component has an FMU file of its own, because
ecos runs components that share a file as a single instance.

Parameters are in the structure itself. Presets are there by name and also written out as numbers:
some masters ignore parameter sets in files, some ignore Strings, some ignore choices, and this way
all of them get the same sensor. All sets have the name of the system, by which some masters choose
a set. A choice is an Integer in all sets: the number of its item.

``resources/numbers.ssv`` is bound to nothing. It has the same numbers, each name with that of its
component before it, for masters that ignore the bindings and take one set, as fmpy does.

Annotations tell the step to masters of the Open Simulation Platform and to OMSimulator.
OMSimulator's executable reads an annotation for a master with a fixed step, its Python interface
reads attributes of the element around it, so both are there.

Source: "System Structure and Parameterization", version 1.0, Modelica Association, 2019.
"""

from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from fmus.tools.systems.description import Connection, Part, System

SSP = "http://ssp-standard.org/SSP1/SystemStructure"
OSP = "com.opensimulationplatform"
OMS = "org.openmodelica"
STRUCTURE = "SystemStructure.ssd"
NUMBERS = "resources/numbers.ssv"


def system_files(system: System) -> dict[str, bytes]:
    """The files of a package, except the FMUs of its parts, which go to ``fmu_place``."""
    numbers = {
        f"{part.name}.{name}": (part, name, value)
        for part in system.parts
        for name, value in part.numbers.items()
    }
    return {
        STRUCTURE: structure_text(_structure(system)),
        NUMBERS: structure_text(scalar_set(system.name, numbers)),
    }


def fmu_place(part: Part) -> str:
    """Where the FMU of a part is in the package."""
    return f"resources/{part.name}.fmu"


def structure_text(root: Element) -> bytes:
    """A file with this element."""
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, "unicode")}\n'.encode()


# ---- the structure -------------------------------------------------------------------------------


def _structure(system: System) -> Element:
    root = Element(
        "ssd:SystemStructureDescription",
        {
            "xmlns:ssd": f"{SSP}Description",
            "xmlns:ssc": f"{SSP}Common",
            "xmlns:ssv": f"{SSP}ParameterValues",
            "xmlns:osp": "http://opensimulationplatform.com/SSP/OSPAnnotations",
            "xmlns:oms": "https://raw.githubusercontent.com/OpenModelica/OMSimulator/master/schema/oms.xsd",
            "version": "1.0",
            "name": system.name,
        },
    )
    about = {"name": system.name, "description": system.description}
    element = SubElement(root, "ssd:System", about)
    elements = SubElement(element, "ssd:Elements")
    for part in system.parts:
        _add_component(elements, part, system)
    connections = SubElement(element, "ssd:Connections")
    for connection in system.connections:
        _add_connection(connections, connection)
    _add_master(element, system)
    _add_experiment(root, system)
    return root


def _add_component(elements: Element, part: Part, system: System) -> None:
    component = SubElement(
        elements,
        "ssd:Component",
        {
            "name": part.name,
            "type": "application/x-fmu-sharedlibrary",
            "source": fmu_place(part),
            "implementation": "CoSimulation",
        },
    )
    connectors = SubElement(component, "ssd:Connectors")
    for name, kind, type_name in _connectors(part, system.connections):
        connector = SubElement(connectors, "ssd:Connector", {"name": name, "kind": kind})
        SubElement(connector, f"ssc:{type_name}")
    if part.values:
        bindings = SubElement(component, "ssd:ParameterBindings")
        values = SubElement(SubElement(bindings, "ssd:ParameterBinding"), "ssd:ParameterValues")
        own = {name: (part, name, value) for name, value in part.values.items()}
        values.append(scalar_set(system.name, own))


def _connectors(part: Part, connections: tuple[Connection, ...]) -> Iterator[tuple[str, str, str]]:
    """Name, kind and type of the connectors: connected inputs, and all outputs except Strings."""
    for connection in connections:
        if connection.end == part.name:
            yield connection.input.name, "input", connection.input.type_name
    for variable in part.table.of_causality("output"):
        if variable.type_name != "String":
            yield variable.name, "output", variable.type_name


def _add_connection(connections: Element, connection: Connection) -> None:
    ends = {
        "startElement": connection.start,
        "startConnector": connection.output.name,
        "endElement": connection.end,
        "endConnector": connection.input.name,
    }
    SubElement(connections, "ssd:Connection", ends)


def _add_master(element: Element, system: System) -> None:
    """Add the step for OMSimulator."""
    annotations = SubElement(element, "ssd:Annotations")
    annotation = SubElement(annotations, "ssc:Annotation", {"type": OMS})
    step = repr(system.step)
    solver = {"name": "fixed", "method": "oms_ma", "fixedStepSize": step}
    about = SubElement(
        SubElement(annotation, "oms:Annotations"), "oms:SimulationInformation", solver
    )
    tolerances = {"absoluteTolerance": "1e-4", "relativeTolerance": "1e-4"}
    how = {"description": "oms-ma", "stepSize": step, **tolerances}
    SubElement(about, "oms:FixedStepMaster", how)


def _add_experiment(root: Element, system: System) -> None:
    """Add the duration and, for masters of the Open Simulation Platform, the step.

    Without worker threads such a master steps the components one after the other, always in the
    same order: sensors then see the bodies of a scene the same way in each run.
    """
    times = {"startTime": "0.0", "stopTime": repr(system.stop)}
    experiment = SubElement(root, "ssd:DefaultExperiment", times)
    annotations = SubElement(experiment, "ssd:Annotations")
    annotation = SubElement(annotations, "ssc:Annotation", {"type": OSP})
    algorithm = SubElement(annotation, "osp:Algorithm")
    how = {"baseStepSize": repr(system.step), "numWorkerThreads": "0"}
    SubElement(algorithm, "osp:FixedStepAlgorithm", how)


# ---- parameters ----------------------------------------------------------------------------------


def scalar_set(name: str, values: Mapping[str, tuple[Part, str, Any]]) -> Element:
    """A set of parameters: part, variable and value by name."""
    root = Element(
        "ssv:ParameterSet",
        {"xmlns:ssv": f"{SSP}ParameterValues", "version": "1.0", "name": name},
    )
    parameters = SubElement(root, "ssv:Parameters")
    for key, (part, variable, value) in values.items():
        parameter = SubElement(parameters, "ssv:Parameter", {"name": key})
        type_name = part.table.by_name[variable].type_name
        SubElement(parameter, f"ssv:{type_name}", {"value": _value_text(value)})
    return root


def _value_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value)
    return str(int(value)) if isinstance(value, IntEnum) else str(value)
