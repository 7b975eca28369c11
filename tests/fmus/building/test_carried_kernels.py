"""The kernels that FMUs carry: which, for which processors, and that nothing else is needed."""

import json
import os
import struct
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

import build_fmus
import sensor_models
from fmus.binding import fmu_loader
from fmus.binding.compile import host_platform
from fmus.building.kernel_libraries import Carrier, carried_for, try_out
from fmus.building.sources import BuildError
from fmus.fmi.arrays import Interface
from sensor_models._levels import (
    ARM_LEVEL,
    ARM_LINUX,
    LEVELS,
    host_level,
    levels_of,
    this_platform,
    variables_of,
)
from sensor_models.kernels import carried
from tests.fmus.binding.test_loading import Unpacked, check_life, life, run_host, unpack

#: Those that run here.
MINE = LEVELS[: LEVELS.index(host_level()) + 1]
HOST = host_platform()

#: Noise, faults and rounding: all that the odometer computes.
SETTINGS = {"noise.rms": 0.25, "resolution": 0.01, "sample_rate": 250.0, "seed": 5}
STEPS = 20

#: The same run of the model behind the FMU, compiled by Numba for the level that it is told.
BY_NUMBA = """
import json, sys
from build_fmus import fmu_sources
from sensor_models.kernels.carried import LIBRARIES
slave = fmu_sources()["Odometer"].model(instance_name="sensor", resources="")
values, by_name = slave.values, slave.table().by_name
settings, steps = json.loads(sys.argv[1]), int(sys.argv[2])
for name, value in settings.items():
    values.set(by_name[name], value)
slave.setup_experiment(0.0)
slave.enter_initialization_mode()
slave.exit_initialization_mode()
found = []
for k in range(steps):
    values.set(by_name["joint.position"], 0.37 * k * k)
    slave.do_step(0.1 * k, 0.1)
    found.append(values.get(by_name["distance"]))
assert LIBRARIES.level() == ""
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def odometer_fmu(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The FMU with the smallest kernel, for all levels, and for Windows."""
    platforms = sorted({HOST, "linux64", "win64"})
    source = build_fmus.fmu_sources()["Odometer"]
    folder = tmp_path_factory.mktemp("levels")
    (fmu,) = build_fmus.build([source], folder, platforms=platforms, levels=["v2", "v3", "v4"])
    return fmu


def libraries_of(fmu: Unpacked) -> Path:
    return fmu.resources / carried.FOLDER / HOST


def only(fmu: Unpacked, level: str) -> Unpacked:
    """An FMU that was built for one level."""
    for file in libraries_of(fmu).iterdir():
        if file.stem != level:
            file.unlink()
    return fmu


def run_bare(*commands: list[Any]) -> list[Any]:
    """Run a host in which neither Numba nor LLVM can be imported."""
    return run_host(["block", "numba", "llvmlite"], *commands)[1:]


def test_it_carries_a_library_for_each_level_and_platform(odometer_fmu: Path) -> None:
    with zipfile.ZipFile(odometer_fmu) as archive:
        names = {name for name in archive.namelist() if carried.FOLDER in name}
        wanted = archive.read("resources/requirements.txt").decode()
    folder = f"resources/{carried.FOLDER}"
    assert names == {
        f"{folder}/{platform}/{level}{suffix}"
        for platform, library in (("linux64", ".so"), ("win64", ".dll"))
        for level in LEVELS
        for suffix in (library, ".json")
    }
    assert "numba" not in wanted
    assert "llvmlite" not in wanted


@pytest.mark.parametrize("level", MINE)
def test_a_library_has_the_bits_of_numba_for_the_same_level(
    odometer_fmu: Path, tmp_path: Path, level: str
) -> None:
    fmu = only(unpack(odometer_fmu, tmp_path), level)
    steps = []
    for k in range(STEPS):
        steps.append(["set", fmu.key, "joint.position", 0.37 * k * k])
        steps.append(["step", fmu.key, 0.1 * k, 0.1])
        steps.append(["get", fmu.key, "distance"])
    answers = run_bare(["open", fmu.key], ["start", fmu.key, SETTINGS], *steps)
    readings = [answer.value for answer in answers[4::3]]
    environment = {**os.environ, **variables_of(level)}
    command = [sys.executable, "-c", BY_NUMBA, json.dumps(SETTINGS), str(STEPS)]
    done = subprocess.run(
        command, env=environment, cwd=build_fmus.ROOT, capture_output=True, text=True, check=True
    )
    assert len(set(readings)) == STEPS
    assert readings == json.loads(done.stdout)


def test_the_best_level_of_the_processor_is_taken(odometer_fmu: Path, tmp_path: Path) -> None:
    fmu = unpack(odometer_fmu, tmp_path)
    libraries = libraries_of(fmu)
    for level in LEVELS:
        if level not in MINE[-1:]:  # no library, but one that tells what the processor is
            index = libraries / f"{level}.json"
            index.write_text(json.dumps({**json.loads(index.read_text()), "kernels": []}))
    check_life("Odometer", run_bare(*life(fmu)))


def test_fmus_of_one_process_find_the_kernels_of_each(fmu_directory: Path, tmp_path: Path) -> None:
    encoder, odometer = (
        unpack(fmu_directory / f"{name}.fmu", tmp_path / name) for name in ("Encoder", "Odometer")
    )
    answers = run_bare(*life(encoder), ["remove", encoder.key], *life(odometer))
    check_life("Encoder", answers[:5])
    check_life("Odometer", answers[6:])


# ---- what is refused -----------------------------------------------------------------------------


def test_a_library_of_other_sources_is_refused(odometer_fmu: Path, tmp_path: Path) -> None:
    fmu = unpack(odometer_fmu, tmp_path)
    for index in libraries_of(fmu).glob("*.json"):
        index.write_text(json.dumps({**json.loads(index.read_text()), "sources": "0" * 32}))
    opened, *_ = run_bare(["open", fmu.key])
    assert opened.value is False
    (message,) = opened.messages
    assert f"was built from other sources ({'0' * 32}) than those beside it" in message
    assert sensor_models.SOURCE_DIGEST in message
    assert "build the FMU anew" in message


def test_a_kernel_that_is_not_carried_is_an_error_of_the_build(
    odometer_fmu: Path, tmp_path: Path
) -> None:
    fmu = unpack(odometer_fmu, tmp_path / "fmu")
    for index in libraries_of(fmu).glob("*.json"):
        index.write_text(json.dumps({**json.loads(index.read_text()), "kernels": []}))
    carrier = Carrier("Odometer", fmu.resources, "another")
    with pytest.raises(BuildError, match=r"odometer_step.* is carried by no FMU"):
        try_out(carrier, {}, tmp_path, lambda _: None)


@pytest.mark.parametrize("levels", [0, 1, 2])
def test_a_processor_without_the_instructions_uses_no_library(
    odometer_fmu: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    levels: int,
) -> None:
    fmu = only(unpack(odometer_fmu, tmp_path), "x86-64-v4")
    monkeypatch.setattr(sensor_models, "__path__", [str(fmu.resources / "sensor_models")])
    monkeypatch.setattr(carried, "_processor", lambda _: levels)
    assert carried.Libraries().level() == ""
    assert "are for x86-64-v4, and not for this processor" in caplog.text


def test_an_fmu_that_can_run_nowhere_here_names_what_is_wrong(
    odometer_fmu: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a lesser processor, without Numba: not the first module of Numba's that is missing."""
    fmu = only(unpack(odometer_fmu, tmp_path), "x86-64-v4")
    monkeypatch.setattr(sensor_models, "__path__", [str(fmu.resources / "sensor_models")])
    monkeypatch.setattr(carried, "_processor", lambda _: 1)
    monkeypatch.setitem(sys.modules, "numba", None)  # as where it is not installed
    with pytest.raises(ImportError, match=r"for x86-64-v4, and not for this .*without --levels"):
        carried.Libraries().level()


def test_each_library_knows_the_processor(odometer_fmu: Path, tmp_path: Path) -> None:
    fmu = unpack(odometer_fmu, tmp_path)
    (first, *others) = libraries_of(fmu).glob(f"*{carried.SUFFIXES[HOST]}")
    assert [carried._processor(library) for library in (first, *others)] == [len(MINE)] * 3


@pytest.mark.parametrize("names", [["v5"], ["v3", "x86-64-v2"]])
def test_levels_that_there_are_not_are_named(
    monkeypatch: pytest.MonkeyPatch, names: list[str]
) -> None:
    monkeypatch.setenv(build_fmus.LEVELS_VARIABLE, " ".join(names))
    with pytest.raises(BuildError, match=f"there is no level {names[-1]}"):
        build_fmus.chosen_levels(None)
    assert build_fmus.chosen_levels(["v3", "v2"]) == ["x86-64-v2", "x86-64-v3"]


# ---- what is needed ------------------------------------------------------------------------------


def test_numba_is_needed_only_where_kernels_are_not_carried(tmp_path: Path) -> None:
    model = build_fmus.fmu_sources()["Odometer"].model
    (line,) = set(build_fmus.requirements(model, ["darwin64"])) - set(
        build_fmus.requirements(model)
    )
    assert line.startswith("numba>=")
    marker = line.partition(";")[2]
    assert fmu_loader.applies(marker) is (sys.platform == "darwin")
    assert fmu_loader.applies(f'sys_platform == "{sys.platform}"')
    (plain,) = set(build_fmus.requirements(model, [""])) - set(build_fmus.requirements(model))
    assert ";" not in plain


@pytest.mark.parametrize(
    ("marker", "machine", "applies"),
    [
        ('platform_machine == "aarch64"', "aarch64", True),
        ('platform_machine == "aarch64"', "x86_64", False),
        ("platform_machine != 'aarch64'", "aarch64", False),
        ("platform_machine != 'aarch64'", "arm64", True),
        ("python_version < '3.11'", "aarch64", sys.version_info < (3, 11)),
        ("python_version < '4.0'", "aarch64", True),
    ],
)
def test_a_requirement_may_be_for_some_processors(
    monkeypatch: pytest.MonkeyPatch, marker: str, machine: str, applies: bool
) -> None:
    monkeypatch.setattr("platform.machine", lambda: machine)
    assert fmu_loader.applies(marker) is applies


@pytest.mark.parametrize("marker", ["os_name == 'nt'", "python_version == '3.11'", "nonsense"])
def test_a_marker_that_is_not_known_is_refused(marker: str) -> None:
    with pytest.raises(fmu_loader.FmuLoadError, match="has a marker it should not have"):
        fmu_loader.applies(marker)


def directories_of(dll: bytes) -> list[tuple[int, int]]:
    """Address and size of the tables of a DLL: exports, imports and so on (PE/COFF 3.4.3)."""
    start = struct.unpack_from("<I", dll, 0x3C)[0]
    assert dll[start : start + 4] == b"PE\0\0"
    optional = start + 24
    assert struct.unpack_from("<H", dll, optional) == (0x20B,)
    count = struct.unpack_from("<I", dll, optional + 108)[0]
    return list(struct.iter_unpack("<II", dll[optional + 112 : optional + 112 + 8 * count]))


@pytest.mark.parametrize("level", LEVELS)
def test_libraries_need_no_other_library(odometer_fmu: Path, level: str) -> None:
    with zipfile.ZipFile(odometer_fmu) as archive:
        folder = f"resources/{carried.FOLDER}"
        library = archive.read(f"{folder}/linux64/{level}.so")
        dll = archive.read(f"{folder}/win64/{level}.dll")
        known = json.loads(archive.read(f"{folder}/win64/{level}.json"))
    assert b"libc" not in library
    assert b"libm" not in library
    exports, imports = directories_of(dll)[:2]
    assert imports == (0, 0)
    assert exports[1] > 0
    assert known["kernels"]
    for name in ("sensor_fmus_levels", *(kernel["name"] for kernel in known["kernels"])):
        assert f"\0{name}\0".encode() in dll


def test_no_library_holds_where_it_was_built(odometer_fmu: Path) -> None:
    with zipfile.ZipFile(odometer_fmu) as archive:
        names = [name for name in archive.namelist() if carried.FOLDER in name]
        contents = [archive.read(name) for name in names]
    here = str(build_fmus.ROOT).encode()
    assert [n for n, content in zip(names, contents, strict=True) if here in content] == []


# ---- ARM -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def odometer_twin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same FMU for FMI 3.0, for this machine and for Linux on ARM."""
    source = build_fmus.fmu_sources()["Odometer"]
    folder = tmp_path_factory.mktemp("arm")
    platforms = ["linux64", ARM_LINUX]
    (fmu,) = build_fmus.build(
        [source], folder, platforms=platforms, levels=["v2"], interface=Interface.arrays
    )
    return fmu


def test_a_twin_carries_a_library_for_arm_that_needs_no_other(
    odometer_twin: Path, tmp_path: Path
) -> None:
    place = f"resources/{carried.FOLDER}/{ARM_LINUX}/{ARM_LEVEL}"
    with zipfile.ZipFile(odometer_twin) as archive:
        library, binary = archive.read(f"{place}.so"), "binaries/aarch64-linux/Odometer.so"
        known = json.loads(archive.read(f"{place}.json"))
        assert "numba" not in archive.read("resources/requirements.txt").decode()
        assert processor_of(library) == processor_of(archive.read(binary)) == AARCH64
    assert b"libc" not in library
    assert b"libm" not in library
    names = set(names_in(library))
    assert {"sensor_fmus_levels", "sensor_fmus_functions"} <= names
    assert {kernel["name"] for kernel in known["kernels"]} <= names
    assert not any("x86" in name for name in names)


#: The number of the processor in an ELF file, and what ``st_shndx`` is of a name from elsewhere.
AARCH64, ELSEWHERE = 183, 0


def processor_of(elf: bytes) -> int:
    """The processor that an ELF file is for (System V ABI, ELF header)."""
    assert elf[:4] == b"\x7fELF"
    return int(struct.unpack_from("<H", elf, 18)[0])


def names_in(elf: bytes) -> list[str]:
    """The dynamic symbols of an ELF file, which must all be its own."""
    start, size, count = (
        struct.unpack_from(form, elf, at)[0] for form, at in (("<Q", 40), ("<H", 58), ("<H", 60))
    )
    sections = [struct.unpack_from("<IIQQQQIIQQ", elf, start + k * size) for k in range(count)]
    (symbols,) = (section for section in sections if section[1] == 11)  # SHT_DYNSYM
    texts = sections[symbols[6]][4]
    found = []
    for at in range(symbols[4] + 24, symbols[4] + symbols[5], 24):  # the first stands for none
        name, _, _, section = struct.unpack_from("<IBBH", elf, at)
        assert section != ELSEWHERE
        found.append(elf[texts + name : elf.index(b"\0", texts + name)].decode())
    return found


def test_libraries_for_arm_come_with_the_lowest_level_only() -> None:
    every = ("linux64", "win64", "darwin64", ARM_LINUX)
    assert carried_for(LEVELS, every) == ["linux64", "win64", ARM_LINUX]
    assert carried_for(LEVELS[1:], every) == ["linux64", "win64"]
    assert carried_for([], every) == []
    model = build_fmus.fmu_sources()["Odometer"].model
    own = set(build_fmus.requirements(model, [ARM_LINUX])) - set(build_fmus.requirements(model))
    assert [line.partition(";")[2].strip() for line in own] == ['platform_machine == "aarch64"']


@pytest.mark.parametrize(
    ("system", "machine", "expected"),
    [
        ("linux", "aarch64", ARM_LINUX),
        ("linux", "x86_64", "linux64"),
        ("darwin", "arm64", ""),
        ("win32", "AMD64", "win64"),
    ],
)
def test_the_platform_is_known_by_system_and_processor(
    monkeypatch: pytest.MonkeyPatch, system: str, machine: str, expected: str
) -> None:
    monkeypatch.setattr("sys.platform", system)
    monkeypatch.setattr("platform.machine", lambda: machine)
    assert this_platform() == expected
    assert levels_of(ARM_LINUX) == (ARM_LEVEL,)
    assert levels_of("linux64") == LEVELS
