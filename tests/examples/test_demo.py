"""What the demo does before it drives: words that are wrong, and FMUs that are not there."""

import importlib
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

import build_fmus

ROOT = Path(build_fmus.__file__).parent


def demo_module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, imported as Python runs it: beside its folder ``report``."""
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    return importlib.import_module("demo")


def test_the_demo_builds_what_it_misses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = demo_module(monkeypatch)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "build" / "fmus").mkdir(parents=True)
    (tmp_path / "build" / "fmus" / "Imu.fmu").touch()
    built: list[list[str]] = []
    answer = subprocess.CompletedProcess([], 3)
    monkeypatch.setattr(subprocess, "run", lambda words, **_: built.append(words) or answer)
    with pytest.raises(SystemExit) as ended:
        script.main([])
    assert ended.value.code == 3
    here = ["--levels", "host", "--platforms", "host"]
    assert built[0][1:8] == ["-m", "build_fmus", *here, "--only"]
    assert set(built[0][8:]) == set(build_fmus.fmu_sources()) - {"Imu"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--fmus", "mine"], "mine has no VehicleDynamics, Environment, Accelerometer, "),
        (["--seconds", "0"], ""),
        (["--sekonds", "3"], ""),
        (["--live", "0.0.0.0"], ""),
        (["--output", "mine/Imu.fmu"], "Imu.fmu/data: Not a directory"),
    ],
)
def test_the_demo_builds_nothing_for_words_that_are_wrong(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = demo_module(monkeypatch)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "Imu.fmu").touch()
    monkeypatch.setattr(subprocess, "run", lambda words, **_: pytest.fail(str(words)))
    with pytest.raises(SystemExit) as ended:
        script.main(words)
    assert said in str(ended.value.code)
