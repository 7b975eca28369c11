"""What the tests in masters share: the C master, built once, and the reference FMU."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.bench.reference_fmu import build_reference_fmu
from tests.masters.c_instance import Instance
from tests.masters.c_master import CMaster, Library, build_master
from tests.masters.fmu_files import FmuFiles
from tests.masters.sensors import MODELS
from tests.masters.standalone_fmus import build_standalone


@pytest.fixture(scope="session")
def master_executable(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_master(tmp_path_factory.mktemp("c_master"))


@pytest.fixture
def master(master_executable: Path) -> Iterator[CMaster]:
    """A master with an empty environment, which must end well."""
    with CMaster(master_executable) as running:
        yield running


@pytest.fixture(scope="session")
def standalone_directory(
    tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config
) -> Path:
    """FMUs, standalone."""
    return build_standalone(tmp_path_factory.getbasetemp(), pytestconfig)


@pytest.fixture(scope="session")
def reference_fmu(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_reference_fmu(tmp_path_factory.mktemp("reference"))


@pytest.fixture(scope="session")
def reference_files(reference_fmu: Path) -> FmuFiles:
    return FmuFiles.unpack(reference_fmu, reference_fmu.with_suffix(""))


@pytest.fixture
def library(master: CMaster, reference_files: FmuFiles) -> Library:
    """The reference FMU's library; modules that test other FMUs have their own."""
    return master.load(reference_files)


@pytest.fixture
def instance(library: Library) -> Instance:
    """An initialised instance of the library."""
    created = library.instantiate("sensor 1")
    created.initialize()
    return created


@pytest.fixture(scope="session")
def sensor_files(
    fmu_directory: Path, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, FmuFiles]:
    """The sensors' FMUs by name, unpacked; they are shared, so copy what is to be changed."""
    unpacked = tmp_path_factory.mktemp("unpacked")
    return {
        name: FmuFiles.unpack(fmu_directory / f"{name}.fmu", unpacked / name) for name in MODELS
    }


@pytest.fixture(scope="module")
def shared_master(master_executable: Path) -> Iterator[CMaster]:
    """One master for all tests of a module, which must survive them and end well."""
    with CMaster(master_executable) as running:
        yield running


@pytest.fixture(scope="module")
def sensors(shared_master: CMaster, sensor_files: Mapping[str, FmuFiles]) -> Mapping[str, Library]:
    """The sensors' libraries in that one master, by name."""
    return {name: shared_master.load(files) for name, files in sensor_files.items()}
