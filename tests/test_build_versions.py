"""What the build makes for which version of FMI, and where."""

import zipfile
from pathlib import Path
from xml.etree import ElementTree

import fmpy
import pytest
import xmlschema

import build_fmus
from fmus.binding import compile as binding
from fmus.building.versions import binaries_of, outputs_of, platforms_of
from fmus.fmi.arrays import Interface
from fmus.fmi.terminals import terminals

SCHEMAS = Path(fmpy.__file__).parent / "schema" / "fmi3"
TERMINALS = xmlschema.XMLSchema(SCHEMAS / "fmi3TerminalsAndIcons.xsd")
IMU = build_fmus.fmu_sources()["Imu"].model


def outputs(*arguments: str) -> dict[Interface, str]:
    """The directories that a command line stands for."""
    found = outputs_of(build_fmus.parse(arguments))
    return {interface: path.as_posix() for interface, path in found.items()}


def test_each_version_has_a_directory_of_its_own() -> None:
    two, arrays, scalars = Interface.fmi2, Interface.arrays, Interface.scalars
    assert outputs() == {two: "build/fmus"}
    assert outputs("--fmi", "3") == {arrays: "build/fmus3"}
    assert outputs("--fmi", "3", "--scalars") == {scalars: "build/fmus3"}
    assert outputs("--fmi", "both") == {two: "build/fmus", arrays: "build/fmus3"}
    assert outputs("--output", "here") == {two: "here"}
    assert outputs("--fmi", "3", "--output", "here") == {arrays: "here"}
    assert outputs("--fmi", "both", "--output", "a/here") == {two: "a/here", arrays: "a/here3"}


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--scalars"], "--scalars is for FMI 3.0"),
        (["--fmi", "3", "--reference-results", "there"], "--reference-results are of FMI 2.0"),
    ],
)
def test_what_does_not_go_together_is_refused(
    arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert build_fmus.main(arguments) == 1
    assert reason in capsys.readouterr().err


def test_libraries_are_in_the_folders_of_the_version(tmp_path: Path) -> None:
    libraries = {}
    suffixes = {"linux64": ".so", "win64": ".dll", "darwin64": ".dylib"}
    for name, suffix in suffixes.items():
        libraries[name] = tmp_path / f"{name}{suffix}"
        libraries[name].write_bytes(name.encode())
    assert binaries_of(IMU, Interface.fmi2, libraries) == {
        "binaries/linux64/Imu.so": b"linux64",
        "binaries/win64/Imu.dll": b"win64",
        "binaries/darwin64/Imu.dylib": b"darwin64",
    }
    assert binaries_of(IMU, Interface.arrays, libraries) == {
        "binaries/x86_64-linux/Imu.so": b"linux64",
        "binaries/x86_64-windows/Imu.dll": b"win64",
        "binaries/x86_64-darwin/Imu.dylib": b"darwin64",
        "binaries/aarch64-darwin/Imu.dylib": b"darwin64",
    }
    arm = {"aarch64-linux": libraries["linux64"]}
    assert binaries_of(IMU, Interface.arrays, arm) == {"binaries/aarch64-linux/Imu.so": b"linux64"}


def test_linux_on_arm_is_a_platform_of_fmi_3_only(capsys: pytest.CaptureFixture[str]) -> None:
    every = list(binding.TARGETS)
    assert platforms_of(Interface.arrays, every) == every
    assert platforms_of(Interface.fmi2, every) == ["linux64", "win64", "darwin64"]
    assert build_fmus.main(["--only", "Imu", "--platforms", "aarch64-linux"]) == 1
    assert "FMI 2.0 has no folder for aarch64-linux" in capsys.readouterr().err


@pytest.mark.parametrize("model", build_fmus.fmu_sources())
def test_terminals_are_valid_by_the_schema_and_name_variables(model: str) -> None:
    fmu = build_fmus.fmu_sources()[model].model
    for interface in (Interface.arrays, Interface.scalars):
        root = terminals(fmu, interface)
        assert root is not None
        text = ElementTree.tostring(root, "unicode")
        TERMINALS.validate(text)
        known = {v.name: v.causality for v in fmu.layout(interface).variables}
        shown = [str(m.get("variableName")) for m in root.iter("TerminalMemberVariable")]
        assert len(shown) == len(set(shown)) > 0
        assert {known[name] for name in shown} <= {"input", "output"}


def test_a_twin_has_terminals_and_the_licence_of_the_headers(fmu3_directory: Path) -> None:
    with zipfile.ZipFile(fmu3_directory / "Imu.fmu") as archive:
        names = archive.namelist()
        assert "documentation/licenses/fmi3-headers.txt" in names
        text = archive.read("terminalsAndIcons/terminalsAndIcons.xml").decode()
    assert 'name="body"' in text
    assert 'variableName="body.angular_velocity" memberName="angular_velocity"' in text
    with zipfile.ZipFile(fmu3_directory / "Odometer.fmu") as archive:
        text = archive.read("terminalsAndIcons/terminalsAndIcons.xml").decode()
    assert 'name="joint"' in text
    assert 'name="body"' not in text


@pytest.mark.parametrize(
    ("arguments", "platforms"),
    [
        ([], list(binding.TARGETS)),
        (["--standalone"], [binding.host_platform()]),
        (["--platforms", "host"], [binding.host_platform()]),
        (["--platforms", "host", binding.host_platform()], [binding.host_platform()]),
        (["--platforms", "win64", "darwin64"], ["win64", "darwin64"]),
        (["--standalone", "--platforms", "host"], [binding.host_platform()]),
    ],
)
def test_host_is_the_platform_of_this_machine(arguments: list[str], platforms: list[str]) -> None:
    assert build_fmus.platforms_for(build_fmus.parse(arguments)) == platforms
