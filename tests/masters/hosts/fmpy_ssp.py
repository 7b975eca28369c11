"""fmpy's master for systems: all sensors in one SSP, connected to inputs of the system.

Each connection delays its signal by a step, and all inputs are set to 0 before the first one.
"""

import tempfile
import zipfile
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, tostring

import numpy as np
from fmpy.ssp.simulation import simulate_ssp
from fmpy.ssp.ssd import Parameter, ParameterSet

from tests.masters.hosts.task import Rows, Sensor, Task, main

NAMESPACE = "http://ssp-standard.org/SSP1/SystemStructure"


def system_input(sensor: Sensor, name: str) -> str:
    """The system's name for an input, which must be none of the components' own."""
    return f"to.{sensor.name}.{name}"


def connector(parent: Element, name: str, kind: str, kind_of_value: str = "Real") -> None:
    element = SubElement(parent, "ssd:Connector", {"name": name, "kind": kind})
    SubElement(element, f"ssc:{kind_of_value}")


def add_component(elements: Element, sensor: Sensor) -> None:
    attributes = {"name": sensor.name, "type": "application/x-fmu-sharedlibrary"}
    source = f"resources/{Path(sensor.fmu).name}"
    component = SubElement(elements, "ssd:Component", {**attributes, "source": source})
    connectors = SubElement(component, "ssd:Connectors")
    for name in sensor.inputs:
        connector(connectors, name, "input")
    for name in sensor.real_outputs:
        connector(connectors, name, "output")
    for name in sensor.integer_outputs:
        connector(connectors, name, "output", "Integer")


def system_structure(task: Task) -> bytes:
    """SystemStructure.ssd, with an input of the system for each input of a sensor."""
    root = Element(
        "ssd:SystemStructureDescription",
        {
            "xmlns:ssd": f"{NAMESPACE}Description",
            "xmlns:ssc": f"{NAMESPACE}Common",
            "version": "1.0",
            "name": "sensors",
        },
    )
    system = SubElement(root, "ssd:System", {"name": "system"})
    connectors = SubElement(system, "ssd:Connectors")
    elements = SubElement(system, "ssd:Elements")
    connections = SubElement(system, "ssd:Connections")
    for sensor in task.sensors:
        add_component(elements, sensor)
        for name in sensor.inputs:
            connector(connectors, system_input(sensor, name), "input")
            ends = {"endElement": sensor.name, "endConnector": name}
            start = {"startConnector": system_input(sensor, name)}
            SubElement(connections, "ssd:Connection", {**start, **ends})
    text: bytes = tostring(root, "utf-8", xml_declaration=True)
    return text


def write_ssp(task: Task, path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("SystemStructure.ssd", system_structure(task))
        for sensor in task.sensors:
            archive.write(sensor.fmu, f"resources/{Path(sensor.fmu).name}")


def simulate(task: Task) -> list[Rows]:
    parameters = [
        Parameter(name=f"{sensor.name}.{name}", value=value)
        for sensor in task.sensors
        for name, value in {**sensor.parameters, **sensor.choices}.items()
    ]
    signals = {
        system_input(sensor, name): lambda time, values=values: values[round(time / task.step)]
        for sensor in task.sensors
        for name, values in sensor.inputs.items()
    }
    with tempfile.TemporaryDirectory() as directory:
        ssp = Path(directory) / "sensors.ssp"
        write_ssp(task, ssp)
        rows = simulate_ssp(
            str(ssp),
            stop_time=task.step * (task.steps - 0.5),
            step_size=task.step,
            parameter_set=ParameterSet(parameters=parameters),
            input=signals,
        )
    return [
        np.column_stack([rows[f"{sensor.name}.{name}"] for name in sensor.outputs]).tolist()
        for sensor in task.sensors
    ]


if __name__ == "__main__":
    main(simulate)
