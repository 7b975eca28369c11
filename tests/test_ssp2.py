"""Packages of FMI 3.0 by SSP 2.0."""

import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pyssp_standard
import pytest
import xmlschema
from pyssp_standard.ssd import SSD

import build_fmus
from fmus.fmi.arrays import Interface
from fmus.tools.systems import DescriptionError, System, system_files2

SCHEMAS = Path(pyssp_standard.__file__).parent / "resources" / "ssp2"
SSD_NAME = "{http://ssp-standard.org/SSP1/SystemStructureDescription}"
SSC = "{http://ssp-standard.org/SSP1/SystemStructureCommon}"
SSV = "{http://ssp-standard.org/SSP1/SystemStructureParameterValues}"
KNOWN = build_fmus.fmu_sources()
MODELS = {name: source.model for name, source in KNOWN.items()}

#: A wheel of the vehicle to an encoder, and all of a body but one of its coordinates to an IMU.
DESCRIPTION = """
[system]
name = "Small"
description = "A vehicle with sensors"
step = 0.01
stop = 1.0
connections = {connections}

[parts.vehicle]
fmu = "VehicleDynamics"
parameters.drive.left = 6.0

[parts.wheel]
fmu = "Encoder"

[parts.imu]
fmu = "Imu"
preset = "BMI088"
parameters.mount.position.z = 0.5
"""


def described(directory: Path, connections: str) -> System:
    path = directory / "small.toml"
    path.write_text(DESCRIPTION.format(connections=connections))
    return build_fmus.read_ssp_source(path, KNOWN)


@pytest.fixture(scope="module")
def drive(fmu3_directory: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The system of the examples, packed."""
    folder = tmp_path_factory.mktemp("ssp2") / "fmus3"
    folder.symlink_to(fmu3_directory)
    system = build_fmus.read_ssp_source(build_fmus.SYSTEM, KNOWN)
    return build_fmus.write_ssp(system, folder, Interface.arrays, KNOWN)


def structure_of(ssp: Path) -> ElementTree.Element:
    with zipfile.ZipFile(ssp) as archive:
        return ElementTree.fromstring(archive.read("SystemStructure.ssd"))


def test_the_package_is_valid_by_the_published_schema_and_read_by_pyssp(
    drive: Path, tmp_path: Path
) -> None:
    with zipfile.ZipFile(drive) as archive:
        text = archive.read("SystemStructure.ssd").decode()
        archive.extract("SystemStructure.ssd", tmp_path)
    xmlschema.XMLSchema(SCHEMAS / "SystemStructureDescription.xsd").validate(
        text.partition("?>")[2]
    )
    with SSD(tmp_path / "SystemStructure.ssd") as read:
        connections = read.connections()
        assert read.name == "Drive"
        assert len(connections) == len(list(structure_of(drive).iter(f"{SSD_NAME}Connection")))
        ends = {(c.start_element, c.start_connector, c.end_element) for c in connections}
    assert ("vehicle", "body.position", "imu") in ends
    assert ("vehicle", "wheel_1.position", "encoder_left") in ends


def test_connectors_are_variables_with_their_dimensions(drive: Path) -> None:
    for component in structure_of(drive).iter(f"{SSD_NAME}Component"):
        with zipfile.ZipFile(drive) as archive:
            archive.extract(str(component.get("source")), drive.parent)
        with zipfile.ZipFile(drive.parent / str(component.get("source"))) as fmu:
            described = ElementTree.fromstring(fmu.read("modelDescription.xml"))
        variables = {e.get("name"): e for e in described.iterfind("ModelVariables/*")}
        for connector in component.iter(f"{SSD_NAME}Connector"):
            variable = variables[connector.get("name")]
            assert variable.get("causality") == connector.get("kind")
            sides = [d.get("size") for d in connector.iter(f"{SSC}Dimension")]
            assert sides == [d.get("start") for d in variable.iterfind("Dimension")]
        for parameter in component.iter(f"{SSV}Parameter"):
            variable = variables[parameter.get("name")]
            count = 1
            for side in variable.iterfind("Dimension"):
                count *= int(str(side.get("start")))
            value = parameter[0]
            if variable.tag not in ("String", "Enumeration"):
                assert len(str(value.get("value")).split()) == count


def test_arrays_are_connected_as_a_whole(tmp_path: Path) -> None:
    ends = '[["vehicle", "imu"], ["vehicle.wheel_2", "wheel.joint"]]'
    files = system_files2(described(tmp_path, ends), MODELS, Interface.arrays)
    root = ElementTree.fromstring(files["SystemStructure.ssd"])
    wires = {
        (c.get("startElement"), c.get("startConnector"), c.get("endElement"), c.get("endConnector"))
        for c in root.iter(f"{SSD_NAME}Connection")
    }
    body = ("position", "orientation", "velocity", "angular_velocity", "acceleration")
    expected = {("vehicle", f"body.{n}", "imu", f"body.{n}") for n in body}
    expected |= {("vehicle", "body.angular_acceleration", "imu", "body.angular_acceleration")}
    expected |= {
        ("vehicle", f"wheel_2.{n}", "wheel", f"joint.{n}") for n in ("position", "velocity")
    }
    assert wires == expected
    values = {p.get("name"): p[0].get("value") for p in root.iter(f"{SSV}Parameter")}
    assert values["mount.position"] == "0.0 0.0 0.5"
    assert values["preset"] == "BMI088"
    assert values["drive.left"] == "6.0"


def test_a_part_of_an_array_is_connected_only_among_scalars(tmp_path: Path) -> None:
    ends = '[["vehicle.body.position.x", "imu.body.position.x"]]'
    system = described(tmp_path, ends)
    with pytest.raises(DescriptionError, match=r"body\.position.*--scalars"):
        system_files2(system, MODELS, Interface.arrays)
    files = system_files2(system, MODELS, Interface.scalars)
    assert b'"body.position.x"' in files["SystemStructure.ssd"]
