"""FMUs of FMI 3.0 beside those of FMI 2.0: the same bits, and states that go over.

``tests/fuzz/twins.py`` does the same for 10,000 steps.
"""

from pathlib import Path

import pytest
from fmpy import calloc, free
from fmpy.fmi2 import (
    FMU2Slave,
    fmi2CallbackAllocateMemoryTYPE,
    fmi2CallbackFreeMemoryTYPE,
    fmi2CallbackFunctions,
    fmi2CallbackLoggerTYPE,
)
from fmpy.fmi3 import FMU3Slave
from fmpy.validation import validate_fmu

from tests.conftest import MODELS, SENSORS
from tests.fmus.histories import go, parameters_of
from tests.fmus.twins import open_twin
from tests.fuzz.twins import compare
from tests.masters.fmu_files import FmuFiles

#: Steps of a comparison; together with the others of a sensor some hundred samples.
STEPS = 60


@pytest.mark.parametrize("model", MODELS)
def test_fmpy_finds_nothing_to_say_about_a_twin(fmu3_directory: Path, model: str) -> None:
    assert validate_fmu(str(fmu3_directory / f"{model}.fmu")) == []


@pytest.mark.parametrize("model", ["Imu", "Lidar"])
def test_fmpy_finds_nothing_to_say_about_scalars(scalar_directory: Path, model: str) -> None:
    assert validate_fmu(str(scalar_directory / f"{model}.fmu")) == []


@pytest.mark.parametrize("model", SENSORS)
def test_a_twin_gives_the_bits_of_its_sibling_and_takes_its_state(
    fmu_directory: Path, fmu3_directory: Path, model: str
) -> None:
    name = f"{model}.fmu"
    compare(fmu_directory / name, fmu3_directory / name, model, STEPS)


@pytest.mark.parametrize("model", ["Imu", "Lidar"])
def test_scalars_give_the_bits_of_arrays(
    fmu3_directory: Path, scalar_directory: Path, model: str
) -> None:
    runs = []
    for directory in (fmu3_directory, scalar_directory):
        with open_twin(directory / f"{model}.fmu") as twin:
            twin.initialize(parameters_of(model))
            runs.append([*go(twin, 0, STEPS), twin.saved()])
    assert runs[0] == runs[1]


def test_an_fmu_of_one_version_refuses_a_host_of_the_other(
    fmu_directory: Path, fmu3_directory: Path, tmp_path: Path
) -> None:
    for fmu, host, version in (
        (fmu_directory / "Imu.fmu", FMU3Slave, "2.0"),
        (fmu3_directory / "Imu.fmu", FMU2Slave, "3.0"),
    ):
        files = FmuFiles.unpack(fmu, tmp_path / version)
        (folder,) = (files.directory / "binaries").iterdir()
        for name in ("linux64", "x86_64-linux"):  # where a host of each version looks
            if folder.name != name:
                (files.directory / "binaries" / name).symlink_to(folder)
        slave = host(
            guid=files.guid,
            modelIdentifier="Imu",
            unzipDirectory=str(files.directory),
            instanceName="imu",
        )
        told: list[str] = []
        with pytest.raises(Exception, match="nstantiate"):
            instantiate(slave, told)
        assert any(f"this FMU is of FMI {version}" in text for text in told)


def instantiate(slave: FMU2Slave | FMU3Slave, told: list[str]) -> None:
    """Make an instance; what it says goes to a list."""
    if isinstance(slave, FMU3Slave):
        slave.instantiate(logMessage=lambda *arguments: told.append(arguments[-1].decode()))
        return
    callbacks = fmi2CallbackFunctions()
    callbacks.logger = fmi2CallbackLoggerTYPE(lambda *given: told.append(given[-1].decode()))
    callbacks.allocateMemory = fmi2CallbackAllocateMemoryTYPE(calloc)
    callbacks.freeMemory = fmi2CallbackFreeMemoryTYPE(free)
    slave.instantiate(callbacks=callbacks)
