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
