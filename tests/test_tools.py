"""What tests need beside Python packages: found, installed, or skipped with a word at the end."""

import os
import re
import stat
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests import tools
from tests.bench import __main__ as bench
from tests.conftest import LONGEST
from tests.fuzz.__main__ import main as fuzz
from tests.fuzz.__main__ import run as run_fuzzers

ROOT = Path(__file__).resolve().parents[1]


def run_with_programs(directory: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """This interpreter with a search path of one directory."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, "PATH": str(directory)},
        capture_output=True,
        text=True,
        check=False,
    )


def put_script(path: Path, *lines: str) -> None:
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def test_tests_without_their_program_are_skipped_and_the_last_lines_say_which(
    tmp_path: Path,
) -> None:
    test = "tests/masters/test_c_master.py"
    done = run_with_programs(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", test)
    assert done.returncode == 0, done.stdout
    assert " skipped in " in done.stdout
    assert "not tested: the plain C master and the libraries made for tests" in done.stdout
    assert "to test this, too: apt-get install gcc libc6-dev\n" in done.stdout


def test_what_is_missing_is_installed_by_the_package_manager(tmp_path: Path) -> None:
    """By one that only makes the programs of the packages that it is asked for."""
    (tmp_path / "env").symlink_to("/usr/bin/env")
    (tmp_path / "sh").symlink_to("/bin/sh")
    put_script(tmp_path / "sudo", 'test "$1" = -n && shift', 'exec "$@"')
    put_script(
        tmp_path / "apt-get",
        f'echo "$@" >> {tmp_path}/asked',
        'case "$*" in *valgrind*) name=valgrind;; *gcc*) name=cc;; *) exit 1;; esac',
        f"echo > {tmp_path}/$name; /bin/chmod +x {tmp_path}/$name",
    )
    done = run_with_programs(tmp_path, "-m", "tests.tools")
    asked = (tmp_path / "asked").read_text().splitlines()
    assert asked[0].endswith("update")
    assert any(line.endswith("valgrind libc6-dbg") for line in asked)
    assert any(line.endswith("gcc libc6-dev") for line in asked)
    assert done.returncode == 1
    # Which libraries there are, too, the machine decides.
    assert re.search(
        "still missing: .*Chromium; as root: apt-get install .*chromium\n", done.stdout
    )
    assert "C compiler" not in done.stdout.partition("still missing")[2]
    assert run_with_programs(tmp_path, "-m", "tests.tools", "--if-possible").returncode == 0


def test_libraries_of_benchmarks_are_installed_only_where_they_are_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a machine that has all that tests need; there is no LLVM for its system."""
    installed: list[str] = []
    seeming = {
        name: tools.Tool(
            tool.used_for,
            lambda name=name: name in tools.TOOLS or name in installed,
            tool.packages,
        )
        for name, tool in tools.ALL_TOOLS.items()
    }
    monkeypatch.setattr(tools, "ALL_TOOLS", seeming)
    monkeypatch.setattr(tools, "root_prefix", lambda ask: [])
    monkeypatch.setattr(tools.shutil, "which", lambda name: name)
    monkeypatch.setattr(tools, "install", lambda names, prefix: installed.append(names[0]))
    assert tools.main([]) == 0
    assert installed == []
    assert tools.main(["--bench"]) == 1
    assert installed == [tools.OPEN3D]
    assert "still missing: LLVM from 16 on; as root: apt-get install libllvm19" in (
        capsys.readouterr().out
    )
    assert tools.main(["--bench", "--if-possible"]) == 0


def test_the_newest_llvm_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DRJIT_LIBLLVM_PATH", raising=False)
    there = {"libLLVM-15.so.1", "libLLVM-17.so.1", "libLLVM.so.19.1"}
    monkeypatch.setattr(tools, "has_library", there.__contains__)
    assert tools.llvm() == "libLLVM.so.19.1"
    there.remove("libLLVM.so.19.1")
    assert tools.llvm() == "libLLVM-17.so.1"
    there.remove("libLLVM-17.so.1")
    assert tools.llvm() is None
    monkeypatch.setenv("DRJIT_LIBLLVM_PATH", "/own/libLLVM.so")
    assert tools.llvm() == "/own/libLLVM.so"


def test_subjects_without_the_libraries_of_their_peers_are_named_and_the_others_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    measured: list[str] = []

    def run(command: Sequence[str], **_: object) -> "subprocess.CompletedProcess[str]":
        measured.append(command[-1])
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(bench, "missing", lambda among: [n for n in among if n == tools.OPEN3D])
    monkeypatch.setattr(bench.subprocess, "run", run)
    assert bench.main([]) == 1
    assert measured == [n for n in bench.SUBJECTS if bench.PEERS.get(n) != tools.OPEN3D]
    assert {"ccd", "imu", "dataset"} <= set(measured)
    (line,) = capsys.readouterr().out.splitlines()
    assert line == (
        "not measured: depth, lidar, radar, bodies, waveform, tracing, for lack of libraries of "
        "Open3D; to measure this, too: apt-get install libusb-1.0-0 libgl1 libgomp1 libx11-6"
    )
    assert bench.main(["imu", "dataset"]) == 0
    assert capsys.readouterr().out == ""
    assert bench.main(["depth"]) == 1
    assert "not measured: depth, for lack" in capsys.readouterr().out


def test_where_nothing_can_be_installed_only_a_wish_is_uttered(tmp_path: Path) -> None:
    done = run_with_programs(tmp_path, "-m", "tests.tools", "--if-possible")
    assert (done.returncode, done.stderr) == (0, "")
    assert "apt-get install gcc libc6-dev valgrind" in done.stdout


def test_reasons_of_other_kinds_are_left_alone() -> None:
    assert tools.summary(["there is no fork", "needs luck: always"]) == []


def test_each_tool_that_lacks_is_told_once_with_its_tests() -> None:
    lines = tools.summary(["needs Chromium: x", "needs Chromium: x", "needs valgrind: y"])
    assert lines == [
        "not tested: the check of the binding's memory (1 test), for lack of valgrind",
        "not tested: the report in a browser (2 tests), for lack of Chromium",
        "to test this, too: apt-get install valgrind libc6-dbg chromium",
    ]


def test_a_fuzzer_that_finds_something_is_named_and_the_others_still_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def raises(arguments: Sequence[str]) -> None:
        raise AssertionError("found")

    ran = []
    known = {"raises": raises, "says": lambda _: 3, "finds nothing": ran.append}
    assert run_fuzzers(known) == ["raises", "says"]
    assert ran == [[]]
    assert "AssertionError: found" in capsys.readouterr().err


def test_an_unknown_fuzzer_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        fuzz(["nonsense"])
    assert "no fuzzer nonsense" in capsys.readouterr().err


def test_the_files_that_take_longest_are_there() -> None:
    assert [file for file in LONGEST if not (ROOT / "tests" / file).is_file()] == []
    assert len(set(LONGEST)) == len(LONGEST)
