"""The project installed from a wheel: its command, and FMUs that are built from it."""

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import PIL.Image
import pytest

import build_fmus
import sensor_models
from fmus.binding.compile import host_platform
from fmus.building import project
from fmus.tools.command import EXTRAS
from tests.tools import need

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
#: What a wheel is made of.
PARTS = (
    *("sensor_models", "fmus", "scenes", "examples", "validation"),
    *("build_fmus.py", "setup.py", "pyproject.toml", "README.md", "LICENSE"),
)


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command of an environment that has the wheel, and its dependencies from here."""
    need("ensurepip")
    place = tmp_path_factory.mktemp("wheel")
    source = place / "source"
    source.mkdir()
    for part in PARTS:
        copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
        copy(ROOT / part, source / part)
    making = ["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(place), str(source)]
    log = pip("--verbose", *making)
    assert "absent from the `packages` configuration" not in log  # 42 lines for each folder
    (wheel,) = place.glob("*.whl")
    venv = place / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    installing = ["install", "--quiet", "--no-deps", "--no-index", str(wheel)]
    subprocess.run([str(venv / "bin/python"), "-m", "pip", *installing], check=True)
    (packages,) = venv.glob("lib/python*/site-packages")
    here = [place for place in sys.path if Path(place).name == "site-packages"]
    (packages / "dependencies.pth").write_text("\n".join(here) + "\n")
    return venv / "bin/sensor-fmus"


def pip(*words: str) -> str:
    """What pip says while it does something."""
    done = subprocess.run(
        [sys.executable, "-m", "pip", *words],
        check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    return done.stdout


def run(command: Path, directory: Path, *words: str) -> str:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    return subprocess.run(
        [str(command), *words],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def files_below(place: Path, folders: Sequence[str]) -> set[str]:
    return {
        file.relative_to(place).as_posix()
        for folder in folders
        for file in (place / folder).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }


def test_holds_all_files_of_the_packages(command: Path) -> None:
    (packages,) = command.parents[1].glob("lib/python*/site-packages")
    for place, folders in {".": PARTS[:2], "sensor_fmus_project": PARTS[2:5]}.items():
        assert files_below(packages / place, folders) == files_below(ROOT, folders)


def test_lists_all_fmus(command: Path, tmp_path: Path) -> None:
    listed = [line.split()[0] for line in run(command, tmp_path, "list").splitlines()]
    assert listed == list(build_fmus.fmu_sources())


def test_builds_the_fmu_that_a_checkout_builds(
    command: Path, fmu_directory: Path, tmp_path: Path
) -> None:
    run(command, tmp_path, "build", "--only", "Environment", "--platforms", host_platform())
    with (
        zipfile.ZipFile(tmp_path / "build/fmus/Environment.fmu") as built,
        zipfile.ZipFile(fmu_directory / "Environment.fmu") as expected,
    ):
        assert built.namelist() == expected.namelist()
        differing = [n for n in built.namelist() if built.read(n) != expected.read(n)]
    assert set(differing) <= {"resources/python.txt", "modelDescription.xml"}


#: A Python that has what the package needs and nothing of its extras.
BARE = """
import sys

EXTRAS = {"distributed", "fmpy", "matplotlib", "plotly", "scipy", "ziglang"}

class Without:
    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in EXTRAS:
            return None
        return self.finder.find_spec(name, path, target)

    def __getattr__(self, name):
        return getattr(self.finder, name)

sys.meta_path[:] = map(Without, sys.meta_path)
from fmus.tools.command import main
sys.exit(main(sys.argv[1:]))
"""


def bare(directory: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", BARE, *words],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["--help"], "many runs of a system of FMUs"),
        (["--version"], f"sensor-fmus {sensor_models.__version__}\n"),
        (["list"], "Imu "),
        (["build", "--help"], "--standalone"),
        (["campaign", "--help"], "report"),
        (["campaign", "run", "--help"], "--trust"),
        (["dataset", "--help"], "--scheduler"),
        (["validate", "--help"], "--report"),
    ],
)
def test_what_needs_no_extra_works_without(tmp_path: Path, words: list[str], shown: str) -> None:
    done = bare(tmp_path, *words)
    assert done.returncode == 0, done.stderr
    assert shown in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["demo"],
            "sensor-fmus demo needs fmpy, matplotlib, plotly: pip install 'sensor-fmus[demo]'",
        ),
        (["demo", "--help"], "pip install 'sensor-fmus[demo]'"),
        (
            ["campaign", "run", "c.toml"],
            "sensor-fmus campaign needs fmpy, scipy, plotly: pip install 'sensor-fmus[campaigns]'",
        ),
        (["campaign", "report", "c.toml"], "pip install 'sensor-fmus[campaigns]'"),
        (
            ["dataset", "d.toml", "--scheduler", "tcp://127.0.0.1:1"],
            "a scheduler needs Dask's distributed: pip install 'sensor-fmus[cluster]'",
        ),
        (["build", "--reference-results", "there"], "pip install 'sensor-fmus[demo]'"),
        (["validate"], "sensor-fmus validate needs fmpy, matplotlib, plotly: pip install"),
    ],
)
def test_a_command_says_in_a_line_which_extra_it_needs(
    tmp_path: Path, words: list[str], said: str
) -> None:
    done = bare(tmp_path, *words)
    assert done.returncode == 1
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_extras_bring_what_commands_import() -> None:
    """The names of the packages are those that the extras of the project list."""
    requirements = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = requirements["optional-dependencies"]
    for extra, names in EXTRAS.items():
        listed = " ".join([*extras[extra], *extras["demo"]])
        assert all(name in listed for name in names), extra


def test_help_of_the_demo_builds_nothing(command: Path, tmp_path: Path) -> None:
    assert "--seconds" in run(command, tmp_path, "demo", "--help")
    assert list(tmp_path.iterdir()) == []


def test_carries_the_demo(command: Path, tmp_path: Path) -> None:
    assert "--seconds" in run(command, tmp_path, "demo", "--fmus", "none", "--help")


def test_a_new_project_runs_to_its_picture(
    command: Path, fmu_directory: Path, tmp_path: Path
) -> None:
    """``sensor-fmus new x``, then ``python run.py`` in x, with nothing but what is installed."""
    python = command.with_name("python")
    assert run(command, tmp_path, "new", "x") == f"now: cd x && {python} run.py\n"
    (tmp_path / "x" / "build").mkdir()
    (tmp_path / "x" / "build" / "fmus").symlink_to(fmu_directory)
    said = run(python, tmp_path / "x", "run.py", "1.0")
    results = tmp_path / "x" / "results"
    assert said == f"10 sweeps, Imu.csv and picture.png: {results}\n"
    with PIL.Image.open(results / "picture.png") as picture:
        colours = np.unique(np.asarray(picture.convert("RGB")).reshape(-1, 3), axis=0)
    assert len(colours) > 200  # points coloured by height
    points = np.load(results / "Lidar-000000.points.npy")
    ground = points[np.hypot(points["x"], points["y"]) < 8.0]
    assert np.median(np.abs(ground["z"])) < 0.05  # seen from 1.7 m, noise of 3 cm along the ray


def test_a_new_project_takes_no_place_that_is_in_use(command: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    failed = subprocess.run(
        [str(command), "new", "."], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert failed.returncode == 1
    assert failed.stderr == ". is there already; name a directory that is new or empty\n"
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_examples_are_found_and_copied(command: Path, tmp_path: Path) -> None:
    listed = run(command, tmp_path, "examples").splitlines()
    assert {path.name for path in (ROOT / "examples").glob("*.py")} <= {
        line.split()[0] for line in listed
    }
    run(command, tmp_path, "examples", "mine")
    copied = {"examples": "mine", "scenes": "mine/scenes"}
    assert files_below(tmp_path, ["mine"]) == {
        name.replace(folder, copied[folder], 1)
        for folder in copied
        for name in files_below(ROOT, [folder])
    }


def test_dependencies_are_those_of_the_project() -> None:
    """What the metadata of an installation says reads as ``pyproject.toml``."""
    assert project.IS_CHECKOUT
    for requirement in project.dependencies():
        name, _, versions = requirement.partition(">=")
        swapped = versions.split(",")
        if len(swapped) == 2 and ";" not in requirement:
            assert project._in_order(f"{name}{swapped[1]},>={swapped[0]}") == requirement
        assert project._in_order(requirement) == requirement
        assert project._in_order(requirement.replace("'", '"')) == requirement
