"""Records when things go wrong: slow, full and lost disks, processes that end early."""

import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet
import pytest

import sensor_models
from sensor_models.core.quantities import real
from sensor_models.output import records
from sensor_models.output.files import OutputError
from sensor_models.output.records import Record, RecordFormat, RecordParameters
from sensor_models.output.spool import QUEUED_BLOCKS, Spool

FORMATS = list(RecordFormat)


@dataclass(frozen=True)
class Level:
    level: float = real(0.0, "m", "Level")


def level_record(directory: Path) -> Record:
    return Record("s", Level, RecordParameters(True, str(directory), RecordFormat.csv), {})


def index_of(directory: Path) -> list[dict]:
    return [json.loads(line) for line in (directory / "index.jsonl").read_text().splitlines()]


def names_in(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def record_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "record"]


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of four rows, so that few samples take every path."""
    monkeypatch.setattr(records, "BLOCK_BYTES", 4 * 24)
    monkeypatch.setattr(records, "CHUNK_ROWS", 5)


#: What the processes below begin with; arguments: directory, format, and what else they need.
OPENING = """
import os, resource, sys, threading
from dataclasses import dataclass
from sensor_models.output.files import OutputError
from sensor_models.core.quantities import real
from sensor_models.output.records import Record, RecordFormat, RecordParameters

@dataclass(frozen=True)
class Level:
    level: float = real(0.0, "m", "Level")

output_format = RecordFormat(int(sys.argv[2]))
record = Record("s", Level, RecordParameters(True, sys.argv[1], output_format), {})

def append(count):
    for k in range(count):
        record.append(k, k / 7, (k / 3,))
"""


def run(code: str, directory: Path, output_format: RecordFormat) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-B", "-c", OPENING + code, str(directory), str(output_format.value)],
        cwd=Path(sensor_models.__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


# --- slow, lost and full disks


def test_a_slow_disk_makes_the_sensor_wait_instead_of_filling_the_memory(
    tmp_path, small_blocks, monkeypatch
):
    gate = threading.Event()
    write = Spool._write

    def slow(spool, row, block):
        gate.wait()
        write(spool, row, block)

    monkeypatch.setattr(Spool, "_write", slow)
    record = level_record(tmp_path)
    done = []

    def fill():
        for k in range(4 * (QUEUED_BLOCKS + 10)):
            record.append(k, k, (float(k),))
            done.append(k)

    stepping = threading.Thread(target=fill)
    stepping.start()
    deadline = time.monotonic() + 30
    # One block is at the worker, the queue is full, and one more waits to get in.
    stuck_at = 4 * (QUEUED_BLOCKS + 2) - 1
    while len(done) < stuck_at and time.monotonic() < deadline:
        time.sleep(0.01)
    stepping.join(0.2)
    assert stepping.is_alive()
    assert len(done) == stuck_at
    gate.set()
    stepping.join()
    record.close()
    with record.file.open(newline="") as stream:
        assert len(list(csv.DictReader(stream))) == 4 * (QUEUED_BLOCKS + 10)


def test_a_directory_that_cannot_be_used_is_refused_when_opening(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OutputError, match=re.escape(str(tmp_path / "file"))):
        level_record(tmp_path / "file")
    assert record_threads() == []


def test_an_index_that_cannot_be_written_is_refused_when_opening(tmp_path):
    (tmp_path / "index.jsonl").mkdir()
    with pytest.raises(OutputError, match=r"index\.jsonl"):
        level_record(tmp_path)
    assert record_threads() == []


def append_until_it_fails(record: Record) -> OutputError:
    deadline = time.monotonic() + 30
    k = 0
    while time.monotonic() < deadline:
        try:
            record.append(k, k, (0.0,))
        except OutputError as error:
            return error
        k += 1
    raise AssertionError("no error surfaced")


def test_a_directory_removed_meanwhile_is_told_once_while_appending(tmp_path, small_blocks):
    record = level_record(tmp_path / "run")
    shutil.rmtree(tmp_path / "run")
    error = append_until_it_fails(record)
    assert str(tmp_path / "run") in str(error)
    assert "No such file or directory" in str(error)
    for k in range(100):
        record.append(k, k, (0.0,))
    with pytest.raises(OutputError, match="No such file or directory"):
        record.close()
    assert record_threads() == []
    assert list(tmp_path.iterdir()) == []


def test_a_directory_removed_meanwhile_is_told_at_the_end_if_nothing_was_appended(tmp_path):
    record = level_record(tmp_path / "run")
    shutil.rmtree(tmp_path / "run")
    with pytest.raises(OutputError, match=re.escape(str(tmp_path / "run"))):
        record.close()
    record.close()
    assert record_threads() == []


FULL_DISK = """
def fill_disk(limit):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
"""

#: The disk is full while the samples are spooled and after: some append tells it, and closing.
FULL_WHILE_SPOOLING = """
append(40_000)
record._spool.flush()
fill_disk(50_000)
told = []
for k in range(40_000, 1_000_000):
    try:
        record.append(k, k / 7, (k / 3,))
    except OutputError as error:
        told.append(str(error))
assert len(told) == 1
try:
    record.close()
except OutputError as error:
    told.append(str(error))
record.close()
print(*told)
assert len(told) == 2
"""

#: The disk is full for a while.
SPACE_AGAIN = """
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
told = []
try:
    append(100_000)
except OutputError as error:
    told.append(str(error))
next_one = record.next_index
for k in range(next_one, 100_000):
    record.append(k, k / 7, (k / 3,))
record._spool.flush()
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
for k in range(100_000, 200_000):
    record.append(k, k / 7, (k / 3,))
try:
    record.close()
except OutputError as error:
    told.append(str(error))
assert len(told) == 2, told
print(record.lost, told[1])
"""

#: The samples are spooled, then the disk is full: closing tells it, and closing again does not.
#: Whole blocks, all written, so that closing adds nothing to the spool.
FULL_WHILE_CONVERTING = """
append(8 * record._block_bytes // record._row_bytes)
record._spool.flush()
fill_disk(50_000)
try:
    record.close()
except OutputError as error:
    print(error)
record.close()
"""


@pytest.mark.parametrize("code", [FULL_WHILE_SPOOLING, FULL_WHILE_CONVERTING])
@pytest.mark.parametrize("output_format", FORMATS)
def test_a_full_disk_is_told_once_and_leaves_the_earlier_file_whole(tmp_path, output_format, code):
    earlier = tmp_path / f"s.{output_format.name}"
    earlier.write_bytes(b"earlier")
    no_thread = "assert threading.active_count() == 1\n"
    done = run(FULL_DISK + code + no_thread, tmp_path, output_format)
    assert (done.returncode, done.stderr) == (0, "")
    assert str(tmp_path) in done.stdout
    assert os.strerror(27) in done.stdout  # EFBIG, what the size limit answers
    assert earlier.read_bytes() == b"earlier"
    assert names_in(tmp_path) == ["index.jsonl", earlier.name]
    assert len(index_of(tmp_path)) == 1


@pytest.mark.parametrize("output_format", FORMATS)
def test_a_disk_with_space_again_is_written_to_and_what_was_lost_is_counted(
    tmp_path, output_format
):
    done = run(SPACE_AGAIN, tmp_path, output_format)
    assert (done.returncode, done.stderr) == (0, "")
    lost, _, message = done.stdout.partition(" ")
    line = index_of(tmp_path)[1]
    assert line["lost"] == int(lost) > 0
    assert f"{lost} of 200000 samples are lost" in message
    if output_format == RecordFormat.csv:
        with (tmp_path / "s.csv").open(newline="") as stream:
            rows = [(int(r["sample"]), float(r["level"])) for r in csv.DictReader(stream)]
    else:
        table = pyarrow.parquet.read_table(tmp_path / "s.parquet").to_pydict()
        rows = list(zip(table["sample"], table["level"], strict=True))
    assert all(level == k / 3 for k, level in rows)
    samples = [k for k, _ in rows]
    assert len(samples) == line["samples"] == 200_000 - line["lost"]
    # 8333 rows go into 200000 bytes, in whole blocks; those of a block that begins before the
    # disk has space again and ends after it are there.
    assert samples[:8000] == list(range(8000))
    assert samples[-100_000:] == list(range(100_000, 200_000))
    assert samples == sorted(samples)
    assert line["sample"] == [0, 199_999]


# --- the end of the process


@pytest.mark.parametrize("ending", ["", "sys.exit(0)", "del record"])
@pytest.mark.parametrize("output_format", FORMATS)
def test_a_forgotten_record_is_written_when_the_interpreter_ends(tmp_path, output_format, ending):
    done = run(f"append(10_000)\n{ending}", tmp_path, output_format)
    assert (done.returncode, done.stderr) == (0, "")
    line = index_of(tmp_path)[1]
    assert line["samples"] == 10_000
    assert names_in(tmp_path) == ["index.jsonl", line["file"]]


def test_a_killed_process_leaves_no_file_but_the_index(tmp_path):
    done = run("append(10_000)\nos.kill(os.getpid(), 9)", tmp_path, RecordFormat.csv)
    assert done.returncode == -signal.SIGKILL
    assert names_in(tmp_path) == ["index.jsonl"]
    assert len(index_of(tmp_path)) == 1


def test_a_forked_child_leaves_the_record_to_its_parent(tmp_path):
    code = """
import warnings
warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of any fork with threads
append(10_000)
if os.fork() == 0:
    sys.exit(0)
assert os.waitstatus_to_exitcode(os.wait()[1]) == 0
assert not record.file.exists()
record.close()
"""
    done = run(code, tmp_path, RecordFormat.csv)
    assert (done.returncode, done.stderr) == (0, "")
    with (tmp_path / "s.csv").open(newline="") as stream:
        assert len(list(csv.DictReader(stream))) == 10_000
    assert len(index_of(tmp_path)) == 2
