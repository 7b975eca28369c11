"""The tutorial on a sensor of one's own: its file builds, and the FMU measures what it says."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import build_fmus
from fmus.tools import command
from tests.fmus.driving import read_record
from tests.fmus.host import open_fmu

OWN = build_fmus.ROOT / "examples" / "own_sensor"
PAGE = (build_fmus.ROOT / "docs" / "own_sensor.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the page's commands were run."""
    place = tmp_path_factory.mktemp("sonar")
    for name in ("sonar.py", "hc-sr04.toml"):
        (place / name).write_bytes((OWN / name).read_bytes())
    (line,) = re.findall(r"^sensor-fmus (build .*)$", PAGE, re.MULTILINE)
    words = line.split()
    here = Path.cwd()
    os.chdir(place)
    try:
        assert command.main(words) == 0
    finally:
        os.chdir(here)
    return place


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)


def test_page_shows_the_files_of_the_example() -> None:
    assert blocks("python")[0] == (OWN / "sonar.py").read_text(encoding="utf-8")
    assert blocks("toml") == [(OWN / "hc-sr04.toml").read_text(encoding="utf-8")]
    lines = [line for line in blocks("python")[0].splitlines() if line.strip()]
    (told,) = re.findall(r"builds a sonar in (\d+) lines", PAGE)
    assert len(lines) == int(told)


def test_program_of_the_page_hears_nothing_and_says_so(built: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", blocks("python")[1]],
        cwd=built, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    numbers = re.findall(r"\d+\.\d+", done.stdout.splitlines()[-1])
    assert float(numbers[1]) == pytest.approx(3.0, abs=0.02)


def test_sonar_hears_the_ground_at_its_distance(built: Path, tmp_path: Path) -> None:
    half = np.sqrt(0.5)
    down = {"mount.orientation.w": half, "mount.orientation.y": half}
    record = {"record": True, "output_directory": str(tmp_path), "sample_rate": 100.0}
    with open_fmu(built / "Sonar.fmu") as sensor:
        sensor.initialize({"scene": "targets", "noise": 0.004, **down, **record})
        for k in range(400):
            sensor.set({"body.position.z": 2.0})
            sensor.step(0.01 * k, 0.01)
        sensor.terminate()
    heard = read_record(tmp_path)["range"][1:]  # the first is at the start, before any step
    assert np.mean(heard) == pytest.approx(2.0, abs=4.0 * 0.004 / np.sqrt(len(heard)) + 2e-4)
    assert np.std(heard) == pytest.approx(0.004, rel=4.0 / np.sqrt(2.0 * len(heard)))


@pytest.mark.parametrize(
    ("own", "heard"),
    [
        ({"speed_error": 0.25}, 2.0 / 1.25),
        ({"max_range": 1.9}, 0.0),
        ({"mount.position.z": -0.5}, 1.5),
    ],
)
def test_each_parameter_does_what_it_says(built: Path, own: dict[str, float], heard: float) -> None:
    half = np.sqrt(0.5)
    down = {"mount.orientation.w": half, "mount.orientation.y": half, "noise": 0.0}
    with open_fmu(built / "Sonar.fmu") as sensor:
        sensor.initialize({"scene": "targets", "body.position.z": 2.0, **down, **own})
        assert sensor.get("range") == pytest.approx(heard, abs=2e-4)
        assert (sensor.get("echo") == 1.0) is (heard > 0.0)


def test_its_preset_is_checked_and_used(built: Path, capsys: pytest.CaptureFixture[str]) -> None:
    preset = str(built / "hc-sr04.toml")
    module = ["--module", str(built / "sonar.py")]
    assert command.main(["presets", "check", preset, *module]) == 0
    assert "HC-SR04 for Sonar, 4 parameters" in capsys.readouterr().out
    assert command.main(["presets", "check", preset]) == 1
    assert "preset.sensor: 'Sonar' is none of" in capsys.readouterr().out
    wrong = built / "wrong.toml"
    wrong.write_text((built / "hc-sr04.toml").read_text().replace("max_range = 4.0", "max = 4.0"))
    assert command.main(["presets", "check", str(wrong), *module]) == 1
    assert "max is no parameter of this sensor" in capsys.readouterr().out
    with open_fmu(built / "Sonar.fmu") as sensor:
        sensor.initialize({"scene": "targets", "preset": preset})
        assert sensor.get("max_range") == 5.0  # a preset acts without showing as a value
        assert sensor.get("sample.count") == 1
