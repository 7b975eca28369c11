"""What ``make`` shows while it installs: a line of its own, with a dot now and then."""

import os
import re
import subprocess
from pathlib import Path

import pytest

import build_fmus

ROOT = Path(build_fmus.__file__).parent
TARGETS = {
    "demo-installed": "installing what the demo needs into {} ...",
    "installed": "installing what the tests need into {} ...",
    "bench-installed": "installing the peers of the benchmarks into {} ...",
}


def make(place: Path, target: str, pip: str) -> "subprocess.CompletedProcess[str]":
    """Make a target with a program in place of pip, where all that it needs is there."""
    program = place / "pip"
    program.write_text(f'#!/bin/sh\ncase "$*" in *--editable*) {pip};; esac\n')
    program.chmod(0o755)
    venv = place / "venv"
    (venv / "bin").mkdir(parents=True)
    later = (ROOT / "pyproject.toml").stat().st_mtime + 10.0
    for other in TARGETS:
        if other != target:
            (venv / other).touch()
            os.utime(venv / other, (later, later))
    words = [f"VENV={venv}", f"PIP={program}", "PAUSE=0.1", f"{venv}/{target}"]
    return subprocess.run(
        ["make", "--no-print-directory", *words],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("target", TARGETS)
def test_installing_shows_that_it_goes_on(target: str, tmp_path: Path) -> None:
    done = make(tmp_path, target, "sleep 1")
    assert (done.returncode, done.stderr) == (0, "")
    said = re.escape(TARGETS[target].format(tmp_path / "venv"))
    assert re.fullmatch(rf"{said}\.+\n", done.stdout)
    assert (tmp_path / "venv" / target).exists()


def test_what_cannot_be_installed_is_an_error(tmp_path: Path) -> None:
    done = make(tmp_path, "demo-installed", "echo no such package >&2; exit 3")
    assert done.returncode != 0
    assert "no such package" in done.stderr
    assert not (tmp_path / "venv" / "demo-installed").exists()
