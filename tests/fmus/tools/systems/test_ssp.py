"""Systems of FMUs: what a description may say, and the package that is made of it."""

import hashlib
import json
import math
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from fmpy import read_model_description
from fmpy.ssp.ssd import ParameterSet, read_ssd, read_ssv

import build_fmus
import sensor_models
from fmus.tools.systems import DescriptionError, System, read_system, system_files
from sensor_models.core.quantities import ParameterError
from sensor_models.presets import load_preset
from tests.fmus.host import open_fmu

MODELS = {name: source.model for name, source in build_fmus.fmu_sources().items()}

SMALL = """
[system]
name = "Small"
description = "A wheel"
step = 0.01
stop = 1
connections = [["vehicle.wheel_2", "encoder.joint"]]

[parts.vehicle]
fmu = "VehicleDynamics"
parameters.drive.left = 1

[parts.encoder]
fmu = "Encoder"
preset = "AMT102-V"
parameters.mode = "absolute"
parameters.record = true
parameters.seed = 7
"""


def described(text: str, directory: Path) -> System:
    source = directory / "system.toml"
    source.write_text(text)
    return read_system(source, MODELS)


def sets_of(ssp: Path, part: str) -> list[ParameterSet]:
    """The parameter sets that a component is bound to, as fmpy reads and validates them."""
    (component,) = (c for c in read_ssd(str(ssp)).system.elements if c.name == part)
    return [found for b in component.parameterBindings for found in b.parameterValues]


@pytest.fixture
def drive(fmu_directory: Path, tmp_path: Path) -> Path:
    """The package of the system that the project brings."""
    (tmp_path / "fmus").symlink_to(fmu_directory)
    system = build_fmus.read_ssp_source(build_fmus.SYSTEM, build_fmus.fmu_sources())
    return build_fmus.write_ssp(system, tmp_path / "fmus")


def test_package_is_beside_its_fmus_and_valid_by_the_schemas_of_ssp(drive: Path) -> None:
    assert drive.name == "Drive.ssp"
    assert drive.parent.joinpath("fmus").is_symlink()
    system = read_ssd(str(drive)).system  # raises if the schema does not hold
    assert len(system.elements) == 9
    for part in ("imu", "lidar", "camera"):
        assert [found.name for found in sets_of(drive, part)] == ["Drive"]
    assert read_ssv(str(drive), resource="resources/numbers.ssv").name == "Drive"


def test_connectors_exist_in_the_fmus_with_their_kinds(drive: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(drive) as archive:
        archive.extractall(tmp_path / "unpacked")
    for component in read_ssd(str(drive)).system.elements:
        fmu = tmp_path / "unpacked" / component.source
        found = {v.name: v for v in read_model_description(str(fmu)).modelVariables}
        for connector in component.connectors:
            assert found[connector.name].causality == connector.kind
            assert found[connector.name].type in ("Real", "Integer", "Boolean")


def test_every_input_that_has_a_connector_is_connected_once(drive: Path) -> None:
    system = read_ssd(str(drive)).system
    inputs = [
        (component.name, connector.name)
        for component in system.elements
        for connector in component.connectors
        if connector.kind == "input"
    ]
    assert sorted((c.endElement, c.endConnector) for c in system.connections) == sorted(inputs)
    handles = {c.endElement for c in system.connections if c.startConnector == "scene_handle"}
    assert handles == {"imu", "magnetometer", "lidar", "camera"}


def test_equal_fmus_give_equal_packages(drive: Path) -> None:
    before = hashlib.sha256(drive.read_bytes()).digest()
    system = build_fmus.read_ssp_source(build_fmus.SYSTEM, build_fmus.fmu_sources())
    build_fmus.write_ssp(system, drive.parent / "fmus")
    assert hashlib.sha256(drive.read_bytes()).digest() == before


def test_numbers_are_those_of_the_presets_and_no_strings(drive: Path) -> None:
    found = {p.name: p for p in read_ssv(str(drive), resource="resources/numbers.ssv").parameters}
    assert {p.type for p in found.values()} == {"Real", "Integer", "Boolean"}
    for name, value in load_preset("Imu", "VN-100").items():
        written = found[f"imu.{name}"].value
        assert written == str(value).lower() or float(written) == value
    assert found["camera.width"].value == "320"  # and not the preset's
    assert found["lidar.scan_mode"].value == "1"


def test_parameters_stand_in_the_structure_with_the_preset_by_name_and_in_numbers(
    tmp_path: Path,
) -> None:
    files = system_files(described(SMALL, tmp_path))
    assert files.keys() == {"SystemStructure.ssd", "resources/numbers.ssv"}
    with zipfile.ZipFile(tmp_path / "small.ssp", "w") as archive:
        archive.writestr("SystemStructure.ssd", files["SystemStructure.ssd"])
    (values,) = sets_of(tmp_path / "small.ssp", "encoder")
    assert values.name == "Small"
    found = {p.name: (p.type, p.value) for p in values.parameters}
    assert found == {
        "preset": ("String", "AMT102-V"),
        "lower": ("Real", "0.0"),
        "upper": ("Real", repr(math.tau)),
        "resolution": ("Real", repr(math.tau / 8192)),
        "mode": ("Integer", "1"),  # and not the preset's
        "record": ("Boolean", "true"),
        "seed": ("Integer", "7"),
    }


def test_the_step_is_told_to_omsimulator_in_both_of_its_ways(tmp_path: Path) -> None:
    structure = ElementTree.fromstring(
        system_files(described(SMALL, tmp_path))["SystemStructure.ssd"]
    )
    spaces = {
        "ssd": "http://ssp-standard.org/SSP1/SystemStructureDescription",
        "ssc": "http://ssp-standard.org/SSP1/SystemStructureCommon",
        "oms": "https://raw.githubusercontent.com/OpenModelica/OMSimulator/master/schema/oms.xsd",
    }
    place = "ssd:System/ssd:Annotations/ssc:Annotation[@type='org.openmodelica']/oms:Annotations"
    (information,) = structure.findall(f"{place}/oms:SimulationInformation", spaces)
    assert information.get("method") == "oms_ma"
    assert float(information.get("fixedStepSize", "nan")) == 0.01
    (master,) = information.findall("oms:FixedStepMaster", spaces)
    assert float(master.get("stepSize", "nan")) == 0.01


def test_what_equals_its_start_is_kept_beside_the_preset(tmp_path: Path) -> None:
    text = SMALL.replace('"Encoder"', '"Imu"').replace("AMT102-V", "VN-100")
    text = text.replace('["vehicle.wheel_2", "encoder.joint"]', '["vehicle", "encoder"]')
    off = "parameters.accelerometer.saturation.on = false\nparameters.gyroscope.bias.x = 0.0"
    (part,) = described(text.replace('parameters.mode = "absolute"', off), tmp_path).parts[1:]
    assert load_preset("Imu", "VN-100")["accelerometer.saturation.on"] is True
    assert part.values["preset_except"] == "accelerometer.saturation.on"
    assert part.numbers["accelerometer.saturation.on"] is False


def test_a_preset_may_be_a_file_beside_the_description(tmp_path: Path) -> None:
    shipped = Path(str(sensor_models.__file__)).parent / "presets" / "amt102-v.toml"
    (tmp_path / "own.toml").write_text(shipped.read_text())
    system = described(SMALL.replace('"AMT102-V"', '"own.toml"'), tmp_path)
    assert system.parts[1].parameters["preset"] == str(tmp_path / "own.toml")
    by_name = described(SMALL, tmp_path)
    assert system.parts[1].numbers == by_name.parts[1].numbers


OWN_LIDAR = """
[preset]
name = "Fan 5"
sensor = "Lidar"
description = "Five rays of our own"
datasheet = { publisher = "Us", title = "Notes", revision = "1" }

[parameters]
pattern.type = "file"
pattern.file = "rays/fan.csv"
sample_rate = 10.0
"""


@pytest.mark.parametrize("named", ["path", "name"])
def test_a_preset_of_ones_own_travels_in_the_fmu_with_the_files_that_it_names(
    fmu_directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    (tmp_path / "here" / "rays").mkdir(parents=True)
    (tmp_path / "here" / "fan.toml").write_text(OWN_LIDAR)
    rays = "".join(f"{0.001 * k},{0.02 * k},0\n" for k in range(5))
    (tmp_path / "here" / "rays" / "fan.csv").write_text(f"time,azimuth,elevation\n{rays}")
    monkeypatch.setenv("SENSOR_FMUS_PRESETS", str(tmp_path / "here") if named == "name" else "")
    text = SMALL.replace('"Encoder"', '"Lidar"').replace('mode = "absolute"', "motion_slices = 3")
    text = text.replace("AMT102-V", "Fan 5" if named == "name" else "fan.toml")
    text = text.replace('["vehicle.wheel_2", "encoder.joint"]', '["vehicle", "encoder"]')
    system = described(text, tmp_path / "here")
    (tmp_path / "fmus").symlink_to(fmu_directory)
    ssp = build_fmus.write_ssp(system, tmp_path / "fmus")
    monkeypatch.setenv("SENSOR_FMUS_PRESETS", "")
    values = {p.name: p.value for found in sets_of(ssp, "encoder") for p in found.parameters}
    assert values["preset"] == "presets/fan.toml"
    assert not [value for value in values.values() if str(tmp_path) in str(value)]
    (tmp_path / "here").rename(tmp_path / "gone")  # as on another machine
    with zipfile.ZipFile(ssp) as archive:
        archive.extract("resources/encoder.fmu", tmp_path)
    with open_fmu(tmp_path / "resources" / "encoder.fmu") as lidar:
        chosen = {"preset": values["preset"], "scene": "targets"}
        lidar.initialize({**chosen, "record": True, "output_directory": str(tmp_path / "out")})
        for k in range(4):
            lidar.step(0.1 * k, 0.1)
        lidar.terminate()
    first = json.loads((tmp_path / "out" / "index.jsonl").read_text().splitlines()[0])
    assert first["parameters"]["pattern.type"] == "file"
    assert first["parameters"]["pattern.file"].endswith("resources/presets/rays/fan.csv")


def test_a_preset_that_names_a_file_elsewhere_cannot_travel(tmp_path: Path) -> None:
    (tmp_path / "fan.toml").write_text(OWN_LIDAR.replace("rays/fan.csv", "../fan.csv"))
    text = SMALL.replace('"Encoder"', '"Lidar"').replace('mode = "absolute"', "motion_slices = 3")
    text = text.replace('["vehicle.wheel_2", "encoder.joint"]', '["vehicle", "encoder"]')
    system = described(text.replace("AMT102-V", "fan.toml"), tmp_path)
    with pytest.raises(ParameterError, match=r"pattern.file: .*fan.csv is no file beside it"):
        _ = system.parts[1].values


def test_groups_are_connected_by_the_names_within_them(tmp_path: Path) -> None:
    connections = described(SMALL, tmp_path).connections
    assert [(c.start, c.output.name, c.end, c.input.name) for c in connections] == [
        ("vehicle", "wheel_2.position", "encoder", "joint.position"),
        ("vehicle", "wheel_2.velocity", "encoder", "joint.velocity"),
    ]


BAD: dict[str, tuple[str, str, str]] = {
    "missing key": ("step = 0.01\n", "", "system.step is missing"),
    "unknown key": ("step = 0.01", "step = 0.01\ncolour = 1", "system.colour is unknown"),
    "step of no length": ("step = 0.01", "step = 0.0", "system.step must be above 0 s"),
    "type of a key": ("stop = 1", 'stop = "1"', "system.stop = '1' must be a float"),
    "unknown FMU": ('"Encoder"', '"Sextant"', "parts.encoder.fmu = 'Sextant' is none of"),
    "unknown preset": ('"AMT102-V"', '"AMT"', "preset 'AMT' is unknown for Encoder"),
    "unknown parameter": ("seed", "sed", "parts.encoder.parameters: sed is no parameter or input"),
    "an output": ("seed = 7", "sample.count = 7", "sample.count is no parameter or input"),
    "type of a value": ("seed = 7", "seed = 7.5", "seed = 7.5 has the wrong type, it is a integer"),
    "number for a switch": ("record = true", "record = 1", "record = 1 has the wrong type"),
    "switch for a number": ("left = 1", "left = true", "drive.left = True has the wrong type"),
    "out of range": ("left = 1", "left = 99", "drive.left = 99 rad/s is out of range"),
    "no choice": ('"absolute"', '"both"', "mode = 'both' is none of incremental, absolute"),
    "no part": ('"encoder.joint"', '"coder.joint"', "'coder' is no part, there are vehicle"),
    "nothing in common": ("wheel_2", "body", "['vehicle.body', 'encoder.joint'] connects nothing"),
    "no pair": ('"encoder.joint"', "3", "['vehicle.wheel_2', 3] is no pair of names"),
    "connected twice": (
        "connections = [",
        'connections = [["vehicle.wheel_1", "encoder.joint"], ',
        "encoder.joint.position is connected twice",
    ),
    "bad name": ("parts.encoder", 'parts."my encoder"', "'my encoder' is no name"),
    "name within a name": (
        "parts.vehicle]",
        'parts.en]\nfmu = "Odometer"\n[parts.vehicle]',
        "parts.en: the name 'encoder' begins with it",
    ),
    "no TOML": ("[system]", "[system", "system.toml: "),
}


@pytest.mark.parametrize("case", list(BAD))
def test_description_that_makes_no_sense_is_refused_with_the_reason(
    tmp_path: Path, case: str
) -> None:
    old, new, message = BAD[case]
    assert old in SMALL
    with pytest.raises(DescriptionError) as refusal:
        described(SMALL.replace(old, new), tmp_path)
    assert message in str(refusal.value)
    assert "system.toml" in str(refusal.value)


def test_fmu_that_was_not_built_is_named(tmp_path: Path) -> None:
    system = described(SMALL, tmp_path)
    with pytest.raises(build_fmus.BuildError, match=r"Small needs .*VehicleDynamics\.fmu"):
        build_fmus.write_ssp(system, tmp_path)
    assert list(tmp_path.glob("*.ssp")) == []


def run(*arguments: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(build_fmus.ROOT / "build_fmus.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_command_line_packs_a_system_of_ones_own(tmp_path: Path) -> None:
    source = tmp_path / "system.toml"
    source.write_text(SMALL)
    only = ["--only", "Encoder", "VehicleDynamics", "--platforms", "linux64"]
    packed = run(*only, "--output", tmp_path / "fmus", "--ssp", source)
    assert packed.returncode == 0, packed.stderr
    assert packed.stdout.splitlines()[-1] == str(tmp_path / "Small.ssp")
    source.write_text(SMALL.replace("wheel_2", "wheel_5"))
    refused = run(*only, "--output", tmp_path / "fmus", "--ssp", source)
    assert (refused.returncode, len(refused.stderr.splitlines())) == (1, 1)
