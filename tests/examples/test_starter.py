"""What ``sensor-fmus new`` writes, as it is changed and run again."""

import subprocess
import sys
from pathlib import Path

import pytest

from fmus.building import project
from fmus.tools.command import copy_new


@pytest.fixture
def own(fmu_directory: Path, tmp_path: Path) -> Path:
    """A new project, in a place with blanks and letters of others."""
    place = tmp_path / "mein Wägelchen"
    copy_new(project.EXAMPLES / "starter", place)
    (place / "build").mkdir()
    (place / "build" / "fmus").symlink_to(fmu_directory)
    return place


def run(place: Path, seconds: float) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "run.py", str(seconds)],
        cwd=place, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_a_second_run_shows_nothing_of_the_first(own: Path) -> None:
    for seconds, sweeps in ((0.4, 4), (0.2, 2)):
        done = run(own, seconds)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(f"{sweeps} sweeps, Imu.csv and picture.png: {own}")


def test_a_name_that_no_fmu_has_is_refused(own: Path) -> None:
    script = own / "run.py"
    text = script.read_text(encoding="utf-8")
    assert text.count('preset="VN-100"') == 1
    script.write_text(text.replace('preset="VN-100"', 'prset="VN-100"'), encoding="utf-8")
    done = run(own, 0.2)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "Imu has no parameter prset\n"


def test_a_mistake_in_the_world_is_told_with_its_place(own: Path) -> None:
    world = own / "world.toml"
    text = world.read_text(encoding="utf-8")
    assert text.count('material = "brick"') == 1
    world.write_text(text.replace('material = "brick"', 'material = "brik"'), encoding="utf-8")
    done = run(own, 0.2)
    assert done.returncode != 0
    assert "world.toml: meshes.house.material" in done.stderr + done.stdout
    assert "did you mean 'brick'?" in done.stderr + done.stdout
