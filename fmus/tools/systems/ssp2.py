"""System Structure and Parameterization 2.0: a system of FMUs of FMI 3.0 as one file.

The system is the same that ``ssp`` packs for FMI 2.0. Where an array of one FMU is connected to an
array of another, element by element, the package has one connection; a connection of some elements
of an array is refused, because SSP connects whole connectors. Parameters are in the structure
itself, as arrays: presets by name and also written out. FMUs of other projects keep their scalars.

Source: "System Structure and Parameterization", version 2.0, Modelica Association, 2025.
"""

from collections.abc import Iterator, Mapping
from typing import Any
from xml.etree.ElementTree import Element, SubElement

from fmus.building.parameter_sets import ELEMENTS, array_set
from fmus.fmi.arrays import ArrayVariable, Interface, Kind, Layout
from fmus.fmi.base import FmuBase
from fmus.tools.systems.description import Connection, DescriptionError, Part, System
from fmus.tools.systems.ssp import (
    SSP,
    STRUCTURE,
    fmu_place,
    scalar_set,
    structure_text,
    system_files,
)

#: A connection between two variables: element and connector, twice.
Wire = tuple[str, str, str, str]


class Packer:
    """Makes the structure of a package."""

    def __init__(
        self, system: System, models: Mapping[str, type[FmuBase]], interface: Interface
    ) -> None:
        self._system = system
        self._layouts: dict[str, Layout] = {
            part.name: models[part.model_name].layout(interface)
            for part in system.parts
            if part.source is None
        }
        self._variables = {
            name: {
                part.name: (variable, place)
                for variable in layout.variables
                if variable.kind in ELEMENTS
                for place, part in enumerate(variable.parts)
            }
            for name, layout in self._layouts.items()
        }
        self.wires = tuple(self._wires())

    def files(self) -> dict[str, bytes]:
        """The files of the package, except FMUs."""
        return {STRUCTURE: structure_text(self._structure())}

    # ---- connections -------------------------------------------------------------------------

    def _wires(self) -> Iterator[Wire]:
        """The connections of whole variables, each once."""
        found: dict[Wire, list[tuple[int, int]]] = {}
        for connection in self._system.connections:
            output, first = self._place(connection.start, connection.output.name)
            target, second = self._place(connection.end, connection.input.name)
            wire = connection.start, output, connection.end, target
            found.setdefault(wire, []).append((first, second))
        for wire, places in found.items():
            sizes = self._size(*wire[:2]), self._size(*wire[2:])
            if len(set(sizes)) > 1 or sorted(places) != [(k, k) for k in range(sizes[0])]:
                raise DescriptionError(
                    f"{'.'.join(wire[:2])} and {'.'.join(wire[2:])} are arrays of which only some"
                    " elements are connected: SSP connects whole arrays. Build with --scalars."
                )
            yield wire

    def _place(self, part: str, scalar: str) -> tuple[str, int]:
        """The variable that a scalar belongs to, and its place there."""
        if part not in self._variables:
            return scalar, 0
        variable, place = self._variables[part][scalar]
        return variable.name, place

    def _size(self, part: str, name: str) -> int:
        """The number of elements of a variable."""
        return len(self._variable(part, name).parts) if part in self._layouts else 1

    def _variable(self, part: str, name: str) -> ArrayVariable:
        return next(v for v in self._layouts[part].variables if v.name == name)

    # ---- the structure -----------------------------------------------------------------------

    def _structure(self) -> Element:
        system = self._system
        root = Element(
            "ssd:SystemStructureDescription",
            {
                "xmlns:ssd": f"{SSP}Description",
                "xmlns:ssc": f"{SSP}Common",
                "xmlns:ssv": f"{SSP}ParameterValues",
                "version": "2.0",
                "name": system.name,
            },
        )
        about = {"name": system.name, "description": system.description}
        element = SubElement(root, "ssd:System", about)
        elements = SubElement(element, "ssd:Elements")
        for part in system.parts:
            self._add_component(elements, part)
        connections = SubElement(element, "ssd:Connections")
        ends = ("startElement", "startConnector", "endElement", "endConnector")
        for wire in self.wires:
            SubElement(connections, "ssd:Connection", dict(zip(ends, wire, strict=True)))
        times = {"startTime": "0.0", "stopTime": repr(system.stop)}
        SubElement(root, "ssd:DefaultExperiment", times)
        return root

    def _add_component(self, elements: Element, part: Part) -> None:
        about = {
            "name": part.name,
            "type": "application/x-fmu-sharedlibrary",
            "source": fmu_place(part),
            "implementation": "CoSimulation",
        }
        component = SubElement(elements, "ssd:Component", about)
        connectors = SubElement(component, "ssd:Connectors")
        if part.name in self._layouts:
            for variable in self._shown(part):
                _add_connector(connectors, variable)
        else:
            _add_scalars(connectors, part, self._system.connections)
        if part.values:
            bindings = SubElement(component, "ssd:ParameterBindings")
            values = SubElement(SubElement(bindings, "ssd:ParameterBinding"), "ssd:ParameterValues")
            values.append(self._parameters(part))

    def _shown(self, part: Part) -> Iterator[ArrayVariable]:
        """Connected inputs, and all outputs that can be connected."""
        inputs = {(end, name) for _, _, end, name in self.wires}
        for variable in self._layouts[part.name].variables:
            is_input = (part.name, variable.name) in inputs
            if is_input or (variable.causality == "output" and variable.kind != Kind.clock):
                yield variable

    def _parameters(self, part: Part) -> Element:
        values: Mapping[str, Any] = part.values
        if part.name in self._layouts:
            return array_set(self._layouts[part.name], self._system.name, values)
        return scalar_set(self._system.name, {name: (part, name, v) for name, v in values.items()})


def _add_connector(connectors: Element, variable: ArrayVariable) -> None:
    """A connector; the type of a choice is that of the variable, which nobody has to repeat."""
    about = {"name": variable.name, "kind": variable.causality}
    connector = SubElement(connectors, "ssd:Connector", about)
    if variable.mime_type:
        SubElement(connector, "ssc:Binary", {"mime-type": variable.mime_type})
    elif variable.kind != Kind.choice:
        SubElement(connector, f"ssc:{ELEMENTS[variable.kind]}")
    for side in variable.dimensions:
        SubElement(connector, "ssc:Dimension", {"size": str(side)})


def _add_scalars(connectors: Element, part: Part, connections: tuple[Connection, ...]) -> None:
    """The connectors of an FMU of another project."""
    shown = [(c.input, "input") for c in connections if c.end == part.name]
    shown += [(v, "output") for v in part.table.of_causality("output")]
    for variable, kind in shown:
        connector = SubElement(connectors, "ssd:Connector", {"name": variable.name, "kind": kind})
        SubElement(connector, f"ssc:{variable.type_name}")


def package(
    system: System, models: Mapping[str, type[FmuBase]], interface: Interface
) -> tuple[str, dict[str, bytes]]:
    """The name of a package and its files, except FMUs: by SSP 2.0 for FMI 3.0, else by SSP 1.0."""
    if interface == Interface.fmi2:
        return system.name, system_files(system)
    return f"{system.name}3", system_files2(system, models, interface)


def system_files2(
    system: System, models: Mapping[str, type[FmuBase]], interface: Interface
) -> dict[str, bytes]:
    """The files of a package of FMI 3.0, except the FMUs of its parts."""
    return Packer(system, models, interface).files()
