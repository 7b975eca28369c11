"""The project installed from a wheel: its command, and FMUs that are built from it."""

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

import build_fmus
from fmus.binding.compile import host_platform
from fmus.building import project
from tests.tools import need

ROOT = Path(__file__).resolve().parents[1]
#: What a wheel is made of.
PARTS = (
    *("sensor_models", "fmus", "scenes", "examples"),
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
    subprocess.run([sys.executable, "-m", "pip", "--quiet", *making], check=True)
    (wheel,) = place.glob("*.whl")
    venv = place / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    installing = ["install", "--quiet", "--no-deps", "--no-index", str(wheel)]
    subprocess.run([str(venv / "bin/python"), "-m", "pip", *installing], check=True)
    (packages,) = venv.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return venv / "bin/sensor-fmus"


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


def test_carries_the_demo(command: Path, tmp_path: Path) -> None:
    assert "--seconds" in run(command, tmp_path, "demo", "--fmus", "none", "--help")


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
