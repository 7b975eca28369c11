"""Shards of data sets: what is flushed when, what is left after a failure, whose memory it is."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from sensor_models.output import flushing
from sensor_models.tools.datasets import dataset, shards
from sensor_models.tools.datasets.dataset import digest_of, make_samples, make_shard
from sensor_models.tools.datasets.shards import Rows, Sample, is_complete, new_shard, read_lines

TEXT = """
[dataset]
name = "small"
scene = "yard"
samples = 6
shard = 2
format = "{form}"
[pose]
area = [-12, -8, 12, 8]
on = ["road", "ground"]
clearance = 0.8
[boxes]
labels = ["vehicle"]
kitti = {{}}
[sensors.front]
sensor = "DepthCamera"
[sensors.front.parameters]
width = 48
height = 36
horizontal_fov = 1.3
max_range = 60.0
return_pointcloud = true
[sensors.top]
sensor = "Lidar"
preset = "VLP-16"
parameters = {{ "pattern.columns" = 60 }}
"""


@pytest.fixture(params=["npz", "images"])
def path(request, tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(TEXT.format(form=request.param))
    return path


def make(path, directory, index=0):
    directory.mkdir(exist_ok=True)
    return make_shard(str(path), digest_of(path), str(directory), index)


def contents(directory):
    return {
        str(file.relative_to(directory)): file.read_bytes()
        for file in sorted(directory.rglob("*"))
        if file.is_file()
    }


def sample(number, points):
    image = np.full((3, 4), number, np.float32)
    cloud = np.zeros(points, np.dtype([("x", "<f4"), ("ring", "<u2")]))
    cloud["x"] = number + np.arange(points) / 64.0
    arrays = {"eye": {"image": image}, "top": {"points": cloud}}
    return Sample(number, [float(number)] * 7, arrays, {"word": "ä"}, {})


# ---- memory --------------------------------------------------------------------------------------


def test_samples_that_are_handed_out_last(path):
    first, *_others = handed = list(make_samples(path, range(4)))
    for name in ("image", "points"):
        one, two = (s.arrays["front"][name] for s in handed[:2])
        assert not np.shares_memory(one, two)
    assert not np.shares_memory(*(s.arrays["top"]["points"] for s in handed[:2]))
    (again,) = make_samples(path, [0])
    for sensor, arrays in first.arrays.items():
        for name, array in arrays.items():
            assert array.tobytes() == again.arrays[sensor][name].tobytes()


def test_a_worker_writes_samples_over_those_before(path):
    studio = dataset._studio(str(path), digest_of(path))
    one, two = studio.make(0), studio.make(1)
    assert np.shares_memory(one.arrays["front"]["image"], two.arrays["front"]["image"])
    assert np.shares_memory(one.arrays["top"]["points"], two.arrays["top"]["points"])


def test_arrays_may_change_when_their_sample_was_added(tmp_path):
    """The room of the lists is that of the shard before, in which there were more."""
    room = {}
    for index, lengths in enumerate([(5, 9, 2), (1, 0, 3)]):
        made = [sample(10 * index + k, n) for k, n in enumerate(lengths)]
        with new_shard(tmp_path, index, 3, "npz", room) as shard:
            for each in made:
                kept = each.kept()
                shard.add(each)
                for arrays in each.arrays.values():
                    for array in arrays.values():
                        array.view(np.uint8)[:] = 255
                made[made.index(each)] = kept
        with np.load(tmp_path / f"shard-{index:05d}.npz") as found:
            np.testing.assert_array_equal(found["samples"], [each.number for each in made])
            np.testing.assert_array_equal(found["pose"], [each.pose for each in made])
            images = [each.arrays["eye"]["image"] for each in made]
            np.testing.assert_array_equal(found["eye.image"], images)
            np.testing.assert_array_equal(found["top.first"], np.cumsum([0, *lengths]))
            points = [each.arrays["top"]["points"] for each in made]
            np.testing.assert_array_equal(found["top.points"], np.concatenate(points))
        assert [line["sample"] for line in read_lines(tmp_path, index)] == [
            each.number for each in made
        ]


def test_rows_grow_and_begin_anew_in_the_same_memory():
    kind = np.dtype([("x", "<f8"), ("ring", "u1")])

    def some(count):
        rows = np.zeros(2 * count, kind)[::2]  # not one behind the other in memory
        rows["x"], rows["ring"] = np.arange(count) / 3, count
        return rows

    rows = Rows(kind, 2)
    for count in (3, 0, 50, 7):
        rows.add(some(count))
    np.testing.assert_array_equal(rows.all, np.concatenate([some(n) for n in (3, 0, 50, 7)]))
    assert rows.ends == [0, 3, 3, 53, 60]
    before = rows.all
    rows.clear()
    assert rows.all.shape == (0,)
    rows.add(some(4))
    assert np.shares_memory(before, rows.all)
    np.testing.assert_array_equal(rows.all, some(4))
    nothing = Rows(kind, 0)
    nothing.add(some(0))
    assert (nothing.all.shape, nothing.all.dtype) == ((0,), kind)


# ---- the disk ------------------------------------------------------------------------------------


def test_all_files_are_on_the_disk_before_a_shard_counts(path, tmp_path, monkeypatch):
    """Each file is flushed with its last content, and names are before the lines have theirs."""
    directory, flushed, named = tmp_path / "out", {}, []

    def flush_file(file):
        assert not is_complete(directory, 0)
        flushed[file] = file.read_bytes()

    def flush_names(folder):
        named.append((folder, is_complete(directory, 0)))

    monkeypatch.setattr(flushing, "flush_file", flush_file)
    monkeypatch.setattr(shards, "flush_names", flush_names)
    make(path, directory)
    asides = {Path(str(file).removesuffix(".part")): data for file, data in flushed.items()}
    assert {str(file.relative_to(directory)): data for file, data in asides.items()} == contents(
        directory
    )
    before = {folder for folder, complete in named if not complete}
    assert before >= {file.parent for file in asides}
    assert len(before) == len(named)
    assert is_complete(directory, 0)


def test_large_shards_are_flushed_while_they_grow(tmp_path, monkeypatch):
    flushed = []
    monkeypatch.setattr(flushing, "flush_file", lambda file: flushed.append(file.name))
    monkeypatch.setattr(shards, "FLUSHED", 96)
    with new_shard(tmp_path, 0, 8, "npz", {}) as shard:
        for number in range(8):
            shard.add(sample(number, 3))  # 48 bytes of images each
    assert flushed.count("shard-00000.npz.part") >= 4


def test_what_the_disk_refuses_reaches_the_caller(path, tmp_path, monkeypatch):
    """Also where it does so on the thread. Nothing looks complete, and the next attempt is."""
    directory = tmp_path / "out"

    def refuse(file):
        raise OSError(errno.ENOSPC, "no space", str(file))

    with monkeypatch.context() as patched:
        patched.setattr(flushing, "flush_file", refuse)
        with pytest.raises(OSError, match="no space"):
            make(path, directory)
    assert not is_complete(directory, 0)
    assert not list(directory.glob("*.npz*"))
    make(path, directory)
    assert is_complete(directory, 0)


def test_a_shard_whose_samples_fail_leaves_nothing_that_looks_complete(tmp_path):
    def fail():
        with new_shard(tmp_path, 0, 3, "npz", {}) as shard:
            shard.add(sample(0, 2))
            raise RuntimeError("no sample")

    with pytest.raises(RuntimeError, match="no sample"):
        fail()
    assert not list(tmp_path.iterdir())


def test_flushed_files_keep_their_content(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(bytes(range(256)) * 1000)
    with flushing.Flusher() as flusher:
        for _ in range(3):
            flusher.add(file)
            flusher.wait()
    flushing.flush_names(tmp_path)
    assert file.read_bytes() == bytes(range(256)) * 1000
    with pytest.raises(FileNotFoundError), flushing.Flusher() as flusher:
        flusher.add(tmp_path / "none")


@pytest.mark.skipif(os.name != "posix", reason="kills a group of processes")
def test_a_data_set_that_was_killed_goes_on(path, tmp_path):
    """Killed with -9 when its first shard is complete, with all of its workers."""
    command = [sys.executable, "-m", "fmus.tools.command", "dataset", str(path), "--workers", "2"]
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    subprocess.run([*command, "--output", whole], check=True, capture_output=True)
    started = subprocess.Popen(
        [*command, "--output", killed], stdout=subprocess.DEVNULL, start_new_session=True
    )
    ends = time.monotonic() + 120.0
    while not list(killed.glob("*.jsonl")) and time.monotonic() < ends:
        time.sleep(0.001)
    os.killpg(started.pid, signal.SIGKILL)
    started.wait()
    (killed / "shard-00002.npz.part").write_bytes(b"of a worker that was killed")
    subprocess.run([*command, "--output", killed], check=True, capture_output=True)
    wanted, found = contents(whole), contents(killed)
    found.pop("shard-00002.npz.part", None)  # files of images have none of this name
    assert found == wanted
    assert json.loads(wanted["dataset.json"])["samples"] == 6
