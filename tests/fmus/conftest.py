"""What the tests of FMUs share: the FMU files by name."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fmus.host import Instance, open_fmu
from tests.rail_scene import write_rail


@pytest.fixture(scope="session")
def encoder_fmu(fmu_directory: Path) -> Path:
    return fmu_directory / "Encoder.fmu"


@pytest.fixture(scope="session")
def odometer_fmu(fmu_directory: Path) -> Path:
    return fmu_directory / "Odometer.fmu"


@pytest.fixture(scope="session")
def imu_fmu(fmu_directory: Path) -> Path:
    return fmu_directory / "Imu.fmu"


@pytest.fixture(scope="session")
def lidar_fmu(fmu_directory: Path) -> Path:
    return fmu_directory / "Lidar.fmu"


@pytest.fixture(scope="session")
def null_fmu(fmu_directory: Path) -> Path:
    return fmu_directory / "Null.fmu"


@pytest.fixture(scope="session")
def environment_fmu(fmu_directory: Path) -> Path:
    return fmu_directory / "Environment.fmu"


@pytest.fixture
def environment(environment_fmu: Path) -> Iterator[Instance]:
    with open_fmu(environment_fmu, "world") as instance:
        yield instance


@pytest.fixture
def rail(tmp_path: Path) -> Path:
    return write_rail(tmp_path / "rail")
