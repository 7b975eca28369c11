"""Directories that one run at a time writes to."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from sensor_models.output import holding
from sensor_models.output.holding import LOCK_NAME, HeldError, Hold

ROOT = Path(__file__).resolve().parents[3]
HOLDS = """
import sys, time
from pathlib import Path
from sensor_models.output.holding import Hold
hold = Hold(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.readline()
hold.close()
"""


@pytest.fixture
def other(tmp_path):
    """Another process, which holds the directory until it gets a line."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(tmp_path)],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def test_a_second_process_is_told_who_holds_a_directory(other, tmp_path):
    with pytest.raises(HeldError) as refusal:
        Hold(tmp_path)
    said = str(refusal.value)
    assert f"{tmp_path} is in use by process {other.pid} on {socket.gethostname()}" in said
    other.communicate("\n")
    Hold(tmp_path).close()


def test_the_lock_of_a_process_that_was_killed_holds_nobody_up(other, tmp_path):
    os.kill(other.pid, signal.SIGKILL)
    other.wait()
    assert json.loads((tmp_path / LOCK_NAME).read_text())["process"] == other.pid  # left behind
    with Hold(tmp_path):
        assert json.loads((tmp_path / LOCK_NAME).read_text())["process"] == os.getpid()
    assert (tmp_path / LOCK_NAME).read_text() == ""


def test_a_process_cannot_hold_a_directory_twice(tmp_path):
    with Hold(tmp_path / "new"), pytest.raises(HeldError, match=f"process {os.getpid()} "):
        Hold(tmp_path / "new")


def no_locks(_stream):
    raise OSError(38, "Function not implemented")


@pytest.mark.parametrize(
    ("text", "is_held"),
    [
        ("", False),
        ("{", False),
        (json.dumps({"process": 2**22 + 1, "host": socket.gethostname()}), False),  # no such
        (json.dumps({"process": os.getppid(), "host": socket.gethostname()}), True),
        (json.dumps({"process": 1, "host": "elsewhere"}), True),
    ],
)
def test_without_locks_the_text_decides(tmp_path, monkeypatch, text, is_held):
    monkeypatch.setattr(holding, "_lock", no_locks)
    (tmp_path / LOCK_NAME).write_text(text)
    if not is_held:
        Hold(tmp_path).close()
        return
    with pytest.raises(HeldError, match=f"if it has ended, delete {tmp_path / LOCK_NAME}"):
        Hold(tmp_path)
