"""What the tests of FMUs share: the FMU files by name."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def encoder_fmu(fmu_directory: Path) -> Path:
    return fmu_directory / "Encoder.fmu"


@pytest.fixture(scope="session")
def odometer_fmu(fmu_directory: Path) -> Path:
    return fmu_directory / "Odometer.fmu"


@pytest.fixture(scope="session")
def null_fmu(fmu_directory: Path) -> Path:
    return fmu_directory / "Null.fmu"
