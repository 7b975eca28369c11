"""What tests of all kinds share: the FMUs, built once a session."""

import gc
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from filelock import FileLock
from hypothesis import settings

from sensor_models._levels import host_level, this_platform, variables_of

# Kernels are compiled once, in one way for these processes and for the libraries of FMUs. Numba and
# the cache look at these variables when they are imported.
os.environ.setdefault("SENSOR_FMUS_LEVELS", "host")
if host_level() and os.environ["SENSOR_FMUS_LEVELS"] == "host":
    for name, value in variables_of(host_level()).items():
        os.environ.setdefault(name, value)
    os.environ.setdefault("SENSOR_FMUS_OBJECTS", this_platform())
# Tests run in as many processes as there are processors. The threads of OpenBLAS, one for each
# processor again, wait for one another busily, and fits took up to twelve times as long.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# A package of the tests has Numba colour its messages, of which it words many in vain.
os.environ.setdefault("NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING", "1")

import build_fmus
from fmus.binding.compile import host_platform
from fmus.fmi.arrays import Interface
from sensor_models import catalog
from tests.tools import need, summary

# The same examples on every run: what fails, fails for everybody. Compiling trips deadlines.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")

NULL_FMU = Path(__file__).parent / "fmus" / "null_fmu.py"

#: All sensors: those of the catalog, and ``Null`` from the tests.
SENSORS = [*catalog.names(), "Null"]
#: Those that take frames.
SEEING = [name for name in catalog.names() if catalog.spec_of(name).frames is not None]
#: Those that sample.
SAMPLING = [name for name in SENSORS if name not in SEEING]
#: All FMUs.
MODELS = [*build_fmus.fmu_sources(), "Null"]


#: The files that take longest, in the order in which they begin: so that at the end no process has
#: one of these left while the others have nothing more. The first needs no FMUs, whose build others
#: wait for.
LONGEST = (
    "sensor_models/tools/fitting/test_coverage.py",
    "fmus/building/test_reference_results.py",
    "sensor_models/tools/fitting/test_fitting.py",
    "fuzz/test_calls.py",
    "masters/test_presets.py",
    "fmus/building/test_carried_kernels.py",
    "fmus/sensors/test_moving_bodies.py",
    "masters/test_standalone.py",
    "masters/test_endurance.py",
    "examples/test_report.py",
    "examples/test_examples.py",
    "docs/test_blocks.py",
    "fmus/sensors/test_imu_cutting.py",
    "masters/test_systems.py",
    "fmus/building/test_exports.py",
    "fmus/sensors/test_ccd_exposure.py",
    "fmus/fmi/test_cutting.py",
    "sensor_models/tools/datasets/test_dataset_shards.py",
    "fmus/fmi/test_scene_handles.py",
    "fmus/tools/test_fit.py",
    "fmus/building/test_packages.py",
    "test_wheel.py",
)


#: What variables begin with that decide where things are found. Libraries set others of their own.
SEARCHED = ("HOME", "LD_", "PATH", "PYTHON", "SENSOR_FMUS", "TMPDIR", "XDG_")


def surroundings() -> tuple[Path, dict[str, str]]:
    """The working directory, and where things are looked for."""
    return Path.cwd(), {k: v for k, v in os.environ.items() if k.startswith(SEARCHED)}


@pytest.fixture(autouse=True)
def no_test_leaves_the_process_elsewhere() -> Iterator[None]:
    """Hold the working directory and the search path: masters in this process may change them."""
    before = surroundings()
    yield
    assert surroundings() == before


@pytest.fixture(scope="session")
def fmu_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All FMUs of the project for this machine, and ``Null`` from the tests.

    They are built once, by the first of the processes that run the tests.
    """
    need("shared library of Python")
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    directory, built = shared / "fmus", shared / "fmus.built"
    with FileLock(shared / "fmus.lock"):
        if not built.exists():
            sources = [*build_fmus.fmu_sources().values(), build_fmus.own_source(NULL_FMU)]
            build_fmus.build(sources, directory, platforms=[host_platform()])
            built.touch()
    return directory


@pytest.fixture(scope="session")
def fmu3_directory(fmu_directory: Path) -> Path:
    """The same FMUs for FMI 3.0, with arrays."""
    return _twins(fmu_directory, Interface.arrays)


@pytest.fixture(scope="session")
def scalar_directory(fmu_directory: Path) -> Path:
    """Some of the FMUs for FMI 3.0 without arrays."""
    return _twins(fmu_directory, Interface.scalars, ("Imu", "Lidar"))


def _twins(beside: Path, interface: Interface, names: Sequence[str] = MODELS) -> Path:
    """FMUs of another interface, beside those of FMI 2.0, built by the first who asks."""
    directory = beside.with_name(f"fmus {interface.value}")
    built = directory.with_suffix(".built")
    with FileLock(directory.with_suffix(".lock")):
        if not built.exists():
            sources = {**build_fmus.fmu_sources(), "Null": build_fmus.own_source(NULL_FMU)}
            wanted = [sources[name] for name in names]
            platforms = [host_platform()]
            build_fmus.build(wanted, directory, platforms=platforms, interface=interface)
            built.touch()
    return directory


def pytest_xdist_auto_num_workers() -> int:
    """One process more than processors: there are tests that wait for a browser or for a build."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Bring the files that take longest to the front, each in one piece."""
    here = Path(__file__).parent
    place = {here / file: k for k, file in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path, len(LONGEST)))


def pytest_collection_finish() -> None:
    """Keep the garbage collector from looking through ten thousand tests again and again."""
    gc.collect()
    gc.freeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    """What takes too long for each run."""
    parser.addoption(
        "--all-standalone",
        action="store_true",
        help="build every FMU standalone, not three of them, and run each where there is nothing",
    )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Close with what was not tested for lack of a program, and how to get it."""
    reasons = [
        report.longrepr[2].removeprefix("Skipped: ")
        for report in terminalreporter.stats.get("skipped", [])
        if isinstance(report.longrepr, tuple)
    ]
    for line in summary(reasons):
        terminalreporter.write_line(line, yellow=True)
