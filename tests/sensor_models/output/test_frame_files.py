"""The writer of frames: order, back-pressure, memory that comes back, and failures."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

import sensor_models
from sensor_models.output import frame_files
from sensor_models.output.files import OutputError
from sensor_models.output.frame_files import FrameFiles, FrameWriter, write_npy


@dataclass(frozen=True)
class Place:
    output_directory: str


@dataclass
class TextFile:
    """A file that tells when it is written, and may have to wait or fail."""

    text: str = "text"
    events: list = field(default_factory=list)
    gate: threading.Event | None = None
    error: Exception | None = None
    suffix: str = "text"

    def write(self, path: Path) -> dict[str, object]:
        if self.gate is not None:
            assert self.gate.wait(30)
        path.write_text(self.text)
        if self.error is not None:
            raise self.error
        self.events.append(("written", self.text))
        return {"length": len(self.text)}


def writer_of(directory: Path, sensor: str = "s") -> FrameWriter:
    return FrameWriter(sensor, Place(str(directory)), {"a": 1})


def lines_of(directory: Path) -> list[dict]:
    return [json.loads(line) for line in (directory / "index.jsonl").read_text().splitlines()]


def names_in(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def frame_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "frames"]


# --- what is written


def test_the_index_tells_the_parameters_and_then_each_file(tmp_path):
    writer = writer_of(tmp_path)
    two = (TextFile("one"), TextFile("three", suffix="b.text"))
    writer.put(FrameFiles(7, two, {"frame": 7, "time": 0.5}))
    writer.close()
    head, *lines = lines_of(tmp_path)
    assert head == {"sensor": "s", "format_version": 1, "parameters": {"a": 1}}
    shared = {"sensor": "s", "frame": 7, "time": 0.5}
    assert lines == [
        {"file": "s-000007.text", "length": 3, **shared},
        {"file": "s-000007.b.text", "length": 5, **shared},
    ]
    assert names_in(tmp_path) == ["index.jsonl", "s-000007.b.text", "s-000007.text"]
    assert writer.path_of(7, two[1]).read_text() == "three"


def test_an_array_is_written_with_the_bytes_of_numpy_itself(tmp_path):
    arrays = [
        np.arange(6.0).reshape(2, 3),
        np.arange(6.0).reshape(2, 3).T,
        np.zeros((0, 3), np.float32),
        np.zeros(4, [("a", "<f4"), ("b", "<u2")]),
        np.array([True, False]),
    ]
    for array in arrays:
        write_npy(tmp_path / "ours", array)
        np.save(tmp_path / "theirs.npy", np.ascontiguousarray(array))
        assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs.npy").read_bytes()


# --- order and memory


def test_each_frame_is_done_after_its_files_and_before_the_next_frame(tmp_path):
    events = []
    writer = writer_of(tmp_path)
    for k in range(3):
        path = writer.path_of(k, TextFile())

        def done(k=k, path=path):
            assert path.exists()
            events.append(("done", k))

        writer.put(FrameFiles(k, (TextFile(str(k), events),), {}, done))
    writer.flush()
    steps = [(("written", str(k)), ("done", k)) for k in range(3)]
    assert events == [event for pair in steps for event in pair]
    writer.close()


def test_a_slow_disk_makes_the_sensor_wait_instead_of_filling_the_memory(tmp_path):
    gate = threading.Event()
    writer = writer_of(tmp_path)
    put = []

    def run():
        for k in range(3 * frame_files.QUEUED_FRAMES):
            writer.put(FrameFiles(k, (TextFile(gate=gate),), {}))
            put.append(k)

    sensor = threading.Thread(target=run)
    sensor.start()
    deadline = time.monotonic() + 30
    stuck_at = frame_files.QUEUED_FRAMES + 1  # one is at the worker, the queue is full
    while len(put) < stuck_at and time.monotonic() < deadline:
        time.sleep(0.01)
    sensor.join(0.2)
    assert sensor.is_alive()
    assert len(put) == stuck_at
    gate.set()
    sensor.join()
    writer.close()
    assert len(lines_of(tmp_path)) == 1 + 3 * frame_files.QUEUED_FRAMES


def test_after_a_failure_the_memory_of_every_frame_still_comes_back(tmp_path):
    gate = threading.Event()
    writer = writer_of(tmp_path)
    done = []
    bad = TextFile(gate=gate, error=OSError("disk"))
    for k in range(3):
        files = (bad,) if k == 0 else (TextFile(),)
        writer.put(FrameFiles(k, files, {}, lambda k=k: done.append(k)))
    gate.set()
    with pytest.raises(OutputError, match="disk"):
        writer.flush()
    assert done == [0, 1, 2]
    writer.put(FrameFiles(3, (TextFile(),), {}, lambda: done.append(3)))
    writer.close()
    assert done == [0, 1, 2, 3]
    writer.put(FrameFiles(4, (TextFile(),), {}, lambda: done.append(4)))
    assert done == [0, 1, 2, 3, 4]
    assert names_in(tmp_path) == ["index.jsonl", *(f"s-00000{k}.text" for k in (1, 2, 3))]


def test_a_frame_whose_put_tells_of_another_one_is_written_all_the_same(tmp_path):
    writer = writer_of(tmp_path)
    failed, done = threading.Event(), threading.Event()
    writer.put(FrameFiles(0, (TextFile(error=ValueError("odd")),), {}, failed.set))
    assert failed.wait(60.0)
    with pytest.raises(OutputError, match="odd"):
        writer.put(FrameFiles(1, (TextFile(),), {}, done.set))
    assert done.wait(60.0)
    with pytest.raises(OutputError, match="1 of 2 frames are lost"):
        writer.close()
    assert names_in(tmp_path) == ["index.jsonl", "s-000001.text"]


def test_what_goes_wrong_when_memory_is_given_back_is_told_as_well(tmp_path):
    def broken():
        raise RuntimeError("the pool is gone")

    writer = writer_of(tmp_path)
    writer.put(FrameFiles(0, (TextFile(),), {}, broken))
    with pytest.raises(OutputError, match="the pool is gone"):
        writer.flush()
    writer.close()
    assert frame_threads() == []


# --- failures


def test_an_error_is_told_once_with_path_and_reason_and_later_frames_are_written(tmp_path):
    writer = writer_of(tmp_path)
    gate, full = threading.Event(), OSError(28, os.strerror(28))
    good, bad = TextFile("good"), TextFile("bad", gate=gate, error=full)
    writer.put(FrameFiles(0, (good,), {}))
    writer.put(FrameFiles(1, (bad,), {}))
    writer.flush(1)  # of the next frame nothing is known yet
    gate.set()
    with pytest.raises(OutputError) as told:
        writer.flush(2)
    assert str(writer.path_of(1, bad)) in str(told.value)
    assert os.strerror(28) in str(told.value)
    writer.put(FrameFiles(2, (bad,), {}))
    writer.put(FrameFiles(3, (good,), {}))
    writer.flush(4)
    assert writer.lost == 2
    assert writer.missing == {str(writer.path_of(k, bad)) for k in (1, 2)}
    with pytest.raises(OutputError, match=r"2 of 4 frames are lost.*No space left"):
        writer.flush()
    writer.put(FrameFiles(4, (good,), {}))
    writer.close()
    assert names_in(tmp_path) == ["index.jsonl", *(f"s-00000{k}.text" for k in (0, 3, 4))]
    lines = lines_of(tmp_path)[1:]
    assert [line.get("file") for line in lines] == [
        "s-000000.text",
        "s-000003.text",
        None,
        "s-000004.text",
    ]
    assert lines[2]["lost"] == 2
    assert lines[2]["frames"] == [1, 2]
    assert os.strerror(28) in lines[2]["reason"]


def test_two_outages_are_told_one_by_one(tmp_path):
    writer = writer_of(tmp_path)
    bad = TextFile("bad", error=OSError(28, os.strerror(28)))
    told = 0
    for k, file in enumerate((bad, bad, TextFile(), bad, TextFile(), TextFile())):
        try:
            writer.put(FrameFiles(k, (file,), {}))
            writer.flush(k + 1)
        except OutputError:
            told += 1
    assert told == 2
    with pytest.raises(OutputError, match="3 of 6 frames are lost"):
        writer.close()
    writer.close()
    lost = [line for line in lines_of(tmp_path) if "lost" in line]
    assert [(line["lost"], line["frames"]) for line in lost] == [(2, [0, 1]), (1, [3, 3])]


def test_a_frame_written_at_last_is_missing_no_more(tmp_path):
    """A master that goes back to an earlier state takes frames once more."""
    writer = writer_of(tmp_path)
    writer.put(FrameFiles(0, (TextFile(error=OSError(28, "full")),), {}))
    writer.put(FrameFiles(0, (TextFile(),), {}))
    with pytest.raises(OutputError, match="1 of 2 frames"):
        writer.close()
    assert writer.missing == set()


def test_a_file_that_gets_no_line_in_the_index_is_lost(tmp_path):
    writer = writer_of(tmp_path)
    index = tmp_path / "index.jsonl"
    index.rename(tmp_path / "away")
    index.mkdir()
    writer.put(FrameFiles(0, (TextFile(),), {}))
    with pytest.raises(OutputError, match=r"index\.jsonl"):
        writer.flush()
    assert not list(tmp_path.glob("s-*"))
    index.rmdir()
    writer.put(FrameFiles(1, (TextFile(),), {}))
    writer.close()
    lines = lines_of(tmp_path)
    assert [(line.get("file"), line.get("frames")) for line in lines] == [
        ("s-000001.text", None),
        (None, [0, 0]),
    ]


def test_a_frame_has_all_its_files_or_none(tmp_path):
    """Who reads the index finds a frame either there or lost."""
    writer = writer_of(tmp_path)
    bad = TextFile("bad", error=OSError(28, os.strerror(28)), suffix="b.text")
    writer.put(FrameFiles(0, (TextFile("one"), bad), {}))
    with pytest.raises(OutputError, match=r"s-000000\.b\.text"):
        writer.flush()
    assert names_in(tmp_path) == ["index.jsonl"]
    writer.put(FrameFiles(1, (), {}))  # one without files has no line either
    writer.close()
    assert [line["frames"] for line in lines_of(tmp_path)[1:]] == [[0, 0]]


def test_a_directory_removed_meanwhile_is_told_and_not_made_again(tmp_path):
    writer = writer_of(tmp_path / "run")
    shutil.rmtree(tmp_path / "run")
    writer.put(FrameFiles(0, (TextFile(),), {}))
    with pytest.raises(OutputError, match="No such file or directory") as told:
        writer.close()
    assert str(tmp_path / "run") in str(told.value)
    assert frame_threads() == []
    assert names_in(tmp_path) == []


def test_a_place_that_is_no_directory_is_refused_at_once(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OutputError, match=re.escape(str(tmp_path / "file"))):
        writer_of(tmp_path / "file")
    assert frame_threads() == []


def test_an_index_that_cannot_be_written_is_refused_at_once(tmp_path):
    (tmp_path / "index.jsonl").mkdir()
    with pytest.raises(OutputError, match=r"index\.jsonl"):
        writer_of(tmp_path)
    assert frame_threads() == []


# --- the end of the process

OPENING = """
import os, sys, warnings
from dataclasses import dataclass
from sensor_models.output.files import OutputError
from sensor_models.output.frame_files import FrameFiles, FrameWriter

@dataclass
class Place:
    output_directory: str

class TextFile:
    suffix = "text"
    def write(self, path):
        path.write_text("x" * 100_000)
        return {}

writer = FrameWriter("s", Place(sys.argv[1]), {})

def put(first, last):
    for k in range(first, last):
        writer.put(FrameFiles(k, (TextFile(),), {}))
"""


def run(code: str, directory: Path) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-B", "-c", OPENING + code, str(directory)],
        cwd=Path(sensor_models.__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("ending", ["", "sys.exit(0)", "del writer"])
def test_a_forgotten_writer_writes_all_when_the_interpreter_ends(tmp_path, ending):
    done = run(f"put(0, 20)\n{ending}", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(lines_of(tmp_path)) == 21
    assert all(
        (tmp_path / line["file"]).stat().st_size == 100_000 for line in lines_of(tmp_path)[1:]
    )


def test_a_killed_process_leaves_whole_files_under_their_names(tmp_path):
    done = run("put(0, 20)\nos.kill(os.getpid(), 9)", tmp_path)
    assert done.returncode == -signal.SIGKILL
    files = list(tmp_path.glob("s-*"))
    assert len(files) >= 20 - frame_files.QUEUED_FRAMES - 1
    assert {file.stat().st_size for file in files} == {100_000}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_child_leaves_the_frames_to_its_parent(tmp_path):
    code = """
warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of any fork with threads
put(0, 3)
if os.fork() == 0:
    done = []
    try:
        writer.put(FrameFiles(3, (TextFile(),), {}, lambda: done.append(3)))
    except OutputError as error:
        assert "forked child" in str(error) and done == [3]
        writer.flush()
        writer.close()
        sys.exit(0)
    sys.exit(1)
assert os.waitstatus_to_exitcode(os.wait()[1]) == 0
put(3, 5)
writer.close()
"""
    done = run(code, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(lines_of(tmp_path)) == 6
    assert len(list(tmp_path.glob("*.text"))) == 5
