"""File names, output directories, publication and the index."""

import json
import math
import multiprocessing
import os
import re
import stat
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import sensor_models
from sensor_models.core.quantities import ParameterError, choice, integer, real
from sensor_models.output import files
from sensor_models.output.files import (
    LONGEST_SAFE_NAME,
    Index,
    OutputError,
    check_names,
    named_values,
    output_directory,
    output_errors,
    published,
    safe_file_name,
)


def run_limited(code: str, file_size_limit: int, *arguments: object) -> str:
    """Run code in a process whose files cannot grow further, as on a full disk."""
    preamble = (
        "import resource, sys\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({file_size_limit}, {file_size_limit}))\n"
    )
    command = [sys.executable, "-B", "-c", preamble + code, *map(str, arguments)]
    root = Path(sensor_models.__file__).parents[1]
    done = subprocess.run(
        command, cwd=root, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def lines_of(directory: Path) -> list[dict]:
    text = (directory / "index.jsonl").read_text()
    assert text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


# --- names


@given(st.text())
@example("")
@example(".")
@example("..")
@example("../../etc/passwd")
@example("C:\\sensors\\imu:1")
@example("CON")
@example("nul.txt")
@example("\ud800")
@example("-rf")
@example("a" * 300)
def test_a_safe_name_is_one_portable_path_component(name):
    safe = safe_file_name(name)
    assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]*", safe)
    assert not safe.endswith(".")
    assert safe.partition(".")[0].lower() not in {"con", "nul", "aux", "prn", "com1", "lpt9"}
    assert len(safe) <= LONGEST_SAFE_NAME + len("_-01234567")


@given(st.text(alphabet="ab/:.-_ é", max_size=6), st.text(alphabet="ab/:.-_ é", max_size=6))
@example("a/b", "a:b")
@example("a" * 90, "a" * 91)
def test_different_names_have_different_safe_names(one, other):
    assert (safe_file_name(one) == safe_file_name(other)) == (one == other)


@given(st.text())
def test_a_changed_name_cannot_be_taken_by_a_sensor_that_is_called_so(name):
    safe = safe_file_name(name)
    assert safe == name or safe_file_name(safe) != safe


@pytest.mark.parametrize("name", ["imu", "front.left_encoder-2", "A"])
def test_a_portable_name_is_left_alone(name):
    assert safe_file_name(name) == name


# --- names in descriptions


@pytest.mark.parametrize("name", ["front", "a", "Front_2", "x" * LONGEST_SAFE_NAME])
def test_a_name_by_rule_is_a_file_name_as_it_is(name):
    check_names("sensors.", [name])
    assert safe_file_name(name) == name


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("../../evil", "allowed: a letter, then A-Z a-z 0-9 _"),
        ("/etc/passwd", "allowed"),
        ("..", "allowed"),
        ("", "allowed"),
        ("a/b", "allowed"),
        ("a\\b", "allowed"),
        ("a.b", "allowed"),
        ("a\n", "allowed"),
        ("é", "allowed"),
        ("-rf", "allowed"),
        ("front-left", "allowed"),
        ("x" * (LONGEST_SAFE_NAME + 1), "81 characters, allowed are at most 80"),
        ("Nul", "a device of Windows"),
        ("com1", "a device of Windows"),
    ],
)
def test_a_name_that_is_a_path_or_no_file_is_refused(name, said):
    with pytest.raises(ParameterError, match=re.escape(said)) as refusal:
        check_names("sensors.", [name])
    assert str(refusal.value).startswith(f"sensors.{name!r}")


def test_further_characters_are_those_that_are_asked_for():
    check_names("", ["front-left"], also="-")
    with pytest.raises(ParameterError, match="allowed: a letter, then A-Z a-z 0-9 _ -"):
        check_names("", ["front.left"], also="-")


def test_names_that_some_systems_take_for_one_are_refused():
    with pytest.raises(ParameterError, match="'Front' differs from 'front' only in case"):
        check_names("", ["front", "top", "Front"])


# --- directories


def test_the_default_directory_is_new_private_and_named_after_the_instance(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    one, other = output_directory("", "left/wheel"), output_directory("", "left/wheel")
    assert one != other
    for directory in (one, other):
        assert directory.parent == tmp_path
        assert directory.name.startswith(safe_file_name("left/wheel"))
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_a_requested_directory_is_made_with_its_parents_and_made_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    directory = output_directory("run/of/today", "x")
    assert directory == tmp_path / "run" / "of" / "today"
    assert list(directory.iterdir()) == []
    assert output_directory("run/of/today", "x") == directory


def test_a_directory_that_cannot_be_made_is_refused_with_name_and_reason(tmp_path):
    (tmp_path / "file").write_text("in the way")
    wanted = str(tmp_path / "file" / "below")
    with pytest.raises(OutputError, match=rf"{re.escape(wanted)}.*[Nn]ot a directory"):
        output_directory(wanted, "x")


def test_a_directory_name_with_a_zero_byte_is_refused():
    with pytest.raises(OutputError, match="zero byte"):
        output_directory("a\0b", "x")


def test_a_directory_that_takes_no_data_is_refused_at_once(tmp_path):
    code = (
        "from sensor_models.output.files import OutputError, output_directory\n"
        "try:\n    output_directory(sys.argv[1], 'x')\n"
        "except OutputError as error:\n    print(error)\n"
    )
    message = run_limited(code, 0, tmp_path)
    assert str(tmp_path) in message
    assert os.strerror(27) in message  # EFBIG, what the size limit answers


# --- publication


def test_a_file_appears_under_its_name_only_when_it_is_whole(tmp_path):
    target = tmp_path / "cloud.npy"
    with published(target) as aside:
        aside.write_bytes(b"half")
        assert not target.exists()
        assert aside.parent == tmp_path
        assert aside.name.startswith(".")
        assert aside.name.endswith(".part")
        aside.write_bytes(b"whole")
    assert [path.name for path in tmp_path.iterdir()] == ["cloud.npy"]
    assert target.read_bytes() == b"whole"


def test_a_failed_publication_leaves_the_earlier_file_and_nothing_aside(tmp_path):
    target = tmp_path / "cloud.npy"
    target.write_bytes(b"earlier")

    def publish_half() -> None:
        with published(target) as aside:
            aside.write_bytes(b"half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        publish_half()
    assert [path.name for path in tmp_path.iterdir()] == ["cloud.npy"]
    assert target.read_bytes() == b"earlier"


def test_two_writers_of_one_target_do_not_write_into_each_other(tmp_path):
    target = tmp_path / "cloud.npy"
    with published(target) as one, published(target) as other:
        one.write_bytes(b"one")
        other.write_bytes(b"other")
    assert target.read_bytes() == b"one"  # the outer one was published last
    assert [path.name for path in tmp_path.iterdir()] == ["cloud.npy"]


def test_an_error_names_what_was_being_done_and_keeps_its_cause():
    cause = FileNotFoundError(2, "No such file or directory")
    with (
        pytest.raises(OutputError, match="cannot write x: No such file") as caught,
        output_errors("cannot write x"),
    ):
        raise cause
    assert caught.value.__cause__ is cause
    assert isinstance(caught.value, OSError)


def left_behind(directory: Path) -> Path:
    """What a killed process leaves aside."""
    code = (
        "import os\nfrom pathlib import Path\nfrom sensor_models.output.files import published\n"
        "with published(Path(sys.argv[1]) / 'cloud.npy') as aside:\n"
        "    aside.write_bytes(b'half')\n    os.kill(os.getpid(), 9)\n"
    )
    command = [sys.executable, "-c", f"import sys\n{code}", str(directory)]
    root = Path(files.__file__).parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, check=False)
    assert done.returncode == -9, done.stderr
    (part,) = directory.glob(".*.part")
    return part


@pytest.mark.skipif(os.name != "posix", reason="kills a process")
def test_what_a_killed_process_leaves_aside_is_removed_by_the_next_run(tmp_path):
    part = left_behind(tmp_path)
    output_directory(str(tmp_path), "x")
    assert not part.exists()


@pytest.mark.skipif(os.name != "posix", reason="kills a process")
def test_what_processes_write_aside_now_or_elsewhere_is_left_alone(tmp_path):
    part = left_behind(tmp_path)
    owner = part.name.split(".")[-2].split("-")
    elsewhere = part.rename(part.with_name(".cloud.npy.00000000-1-00000000.part"))
    of_the_parent = tmp_path / f".cloud.npy.{owner[0]}-{os.getppid()}-{owner[2]}.part"
    of_this = tmp_path / f".cloud.npy.{owner[0]}-{os.getpid()}-{owner[2]}.part"
    foreign = tmp_path / ".download.part"
    for path in (of_the_parent, of_this, foreign):
        path.write_text("half")
    with published(tmp_path / "now") as aside:
        aside.write_text("half")
        output_directory(str(tmp_path), "x")
        assert aside.exists()
    assert elsewhere.exists()
    assert of_the_parent.exists()
    assert foreign.exists()
    assert not of_this.exists()  # this process does not write it: its number has come again
    long_ago = time.time() - 2 * files.FORGOTTEN
    for path in (elsewhere, foreign):
        os.utime(path, (long_ago, long_ago))
    output_directory(str(tmp_path), "x")
    assert not elsewhere.exists()
    assert foreign.exists()


# --- index


class Shade(IntEnum):
    dark = 0
    light = 1


@dataclass(frozen=True)
class LampParameters:
    shade: Shade = choice(Shade.light, "Shade")
    noise_rms: float = real(0.25, "m", "Noise", name="noise.rms")
    at: tuple[float, ...] = real((1.0, 2.0), "m", "Place", components=("x", "y"))
    count: int = integer(3, "Count")


def test_named_values_are_those_of_the_fmu():
    assert named_values(LampParameters(count=7)) == {
        "shade": Shade.light,
        "noise.rms": 0.25,
        "at.x": 1.0,
        "at.y": 2.0,
        "count": 7,
    }


def test_the_first_line_carries_the_parameters_and_each_file_has_a_line(tmp_path):
    index = Index(tmp_path, "lamp", named_values(LampParameters()))
    index.add("lamp.npy", {"frame": 0, "time": 0.1})
    assert lines_of(tmp_path) == [
        {
            "sensor": "lamp",
            "format_version": 1,
            "parameters": {
                "shade": "light",
                "noise.rms": 0.25,
                "at.x": 1.0,
                "at.y": 2.0,
                "count": 3,
            },
        },
        {"sensor": "lamp", "file": "lamp.npy", "frame": 0, "time": 0.1},
    ]


def test_sensors_and_runs_that_share_a_directory_keep_each_others_lines(tmp_path):
    for run in range(2):
        indices = [Index(tmp_path, sensor, {"run": run}) for sensor in ("a", "b")]
        for index in reversed(indices):
            index.add(f"{index.sensor}.npy", {})
    assert [line["sensor"] for line in lines_of(tmp_path)] == ["a", "b", "b", "a"] * 2
    assert [line["parameters"]["run"] for line in lines_of(tmp_path)[::4]] == [0, 1]


def test_an_index_line_is_plain_json_whatever_it_is_given(tmp_path):
    known = {
        "array": np.arange(3),
        "scalar": np.float32(0.5),
        "not a number": math.nan,
        "infinite": [math.inf, np.float64(-math.inf)],
        "path": tmp_path,
        "line break": "a\nb",
    }
    Index(tmp_path, "s\ud800\n", {}).add("f", known)
    line = lines_of(tmp_path)[1]
    assert line["sensor"] == "s\ud800\n"
    assert line["array"] == [0, 1, 2]
    assert line["scalar"] == 0.5
    assert line["not a number"] is None
    assert line["infinite"] == [None, None]
    assert line["path"] == str(tmp_path)
    assert line["line break"] == "a\nb"


def add_many(directory: Path, sensor: str, count: int) -> None:
    index = Index(directory, sensor, {})
    for frame in range(count):
        index.add(f"{sensor}-{frame}", {"padding": "x" * 5000})


def test_lines_of_threads_and_processes_are_not_mixed(tmp_path):
    spawn = multiprocessing.get_context("spawn")
    workers = [
        kind(target=add_many, args=(tmp_path, name, 100))
        for kind, name in [
            (threading.Thread, "a"),
            (threading.Thread, "b"),
            (spawn.Process, "c"),
            (spawn.Process, "d"),
        ]
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    lines = lines_of(tmp_path)
    for name in "abcd":
        files = [line["file"] for line in lines if line["sensor"] == name and "file" in line]
        assert files == [f"{name}-{frame}" for frame in range(100)]


def test_an_index_line_that_does_not_fit_on_the_disk_leaves_no_part_of_it(tmp_path):
    code = (
        "from pathlib import Path\n"
        "from sensor_models.output.files import Index, OutputError\n"
        "index = Index(Path(sys.argv[1]), 's', {})\n"
        "for frame in range(2):\n"  # the first does not fit in part, the second still fits
        "    try:\n        index.add('f', {'padding': 'x' * 500 * (1 - frame)})\n"
        "    except OutputError as error:\n        print(error)\n"
    )
    message = run_limited(code, 200, tmp_path)
    assert str(tmp_path / "index.jsonl") in message
    assert [line.get("file") for line in lines_of(tmp_path)] == [None, "f"]


def test_an_index_in_a_directory_that_is_gone_is_an_output_error(tmp_path):
    index = Index(output_directory(str(tmp_path / "gone"), "s"), "s", {})
    index.path.unlink()
    index.path.parent.rmdir()
    with pytest.raises(OutputError, match=re.escape(str(index.path))):
        index.add("f", {})
