"""Clouds of a running sensor: index, lazy work, buffers that come back, and failures."""

import json
import os
import queue
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import sensor_models
from sensor_models.core.quantities import ParameterError
from sensor_models.output.clouds import (
    CloudFile,
    CloudFileParameters,
    CloudFormat,
    CloudWriter,
    Viewpoint,
)
from sensor_models.output.files import OutputError
from sensor_models.output.frame_files import FrameFiles
from sensor_models.output.points import POINT, CloudBuffer

FORMATS = list(CloudFormat)
ROOT = Path(sensor_models.__file__).parents[1]


def points_of(count, ring=0):
    points = np.zeros(count, POINT)
    points["ring"] = ring
    return points


def writer_of(directory, output_format=CloudFormat.pcd):
    parameters = CloudFileParameters(output_directory=str(directory), output_format=output_format)
    return CloudWriter("lidar", parameters, {"rows": 16})


def lines_of(directory):
    return [json.loads(line) for line in (directory / "index.jsonl").read_text().splitlines()]


def names_in(directory):
    return sorted(path.name for path in directory.iterdir())


def test_formats_are_refused_that_there_are_not():
    assert CloudFileParameters().output_format == CloudFormat.pcd
    with pytest.raises(ParameterError, match=r"output_format.*pcd"):
        CloudFileParameters(output_format=9)


@pytest.mark.parametrize("output_format", FORMATS)
def test_the_index_says_format_points_and_frame(tmp_path, output_format):
    writer = writer_of(tmp_path, output_format)
    for frame, count in enumerate((3, 0)):
        cloud = CloudFile(points_of(count), output_format, Viewpoint(in_world=True))
        writer.put(FrameFiles(frame, (cloud,), {"frame": frame, "time": 0.1 * frame}))
    writer.close()
    head, *lines = lines_of(tmp_path)
    assert head["parameters"] == {"rows": 16}
    kind = output_format.name
    assert lines == [
        {
            "sensor": "lidar",
            "file": f"lidar-00000{frame}.points.{kind}",
            "frame": frame,
            "time": 0.1 * frame,
            "kind": "points",
            "format": kind,
            "points": count,
            "output_frame": "world",
        }
        for frame, count in enumerate((3, 0))
    ]
    assert names_in(tmp_path) == ["index.jsonl", *(line["file"] for line in lines)]


class Gate:
    """A file that keeps the worker busy until it is opened."""

    suffix = "gate"

    def __init__(self):
        self.opened = threading.Event()

    def write(self, path):
        assert self.opened.wait(30)
        path.touch()
        return {}


def test_buffers_are_packed_when_they_are_written_and_not_before(tmp_path):
    writer, gate = writer_of(tmp_path, CloudFormat.npy), Gate()
    cloud = CloudBuffer(2, 2, normals=False)
    writer.put(FrameFiles(0, (gate,), {}))
    writer.put(FrameFiles(1, (CloudFile(cloud, CloudFormat.npy),), {}))
    cloud.returns["ring"], cloud.counts[:] = [[1, 2], [3, 4]], [2, 1]
    gate.opened.set()
    writer.close()
    assert np.load(tmp_path / "lidar-000001.points.npy")["ring"].tolist() == [1, 2, 3]


def test_buffers_of_a_pool_are_used_again_and_no_frame_is_overwritten(tmp_path):
    pool = queue.Queue()
    for _ in range(2):
        pool.put(CloudBuffer(5, 1, normals=False))
    writer = writer_of(tmp_path, CloudFormat.npy)
    for frame in range(50):
        raw = pool.get(timeout=30)
        raw.clear()
        raw.returns["ring"], raw.counts[:] = frame, 1
        cloud = CloudFile(raw, CloudFormat.npy)
        writer.put(FrameFiles(frame, (cloud,), {}, lambda raw=raw: pool.put(raw)))
    writer.close()
    assert pool.qsize() == 2
    for frame in range(50):
        rings = np.load(tmp_path / f"lidar-{frame:06d}.points.npy")["ring"]
        assert rings.tolist() == [frame] * 5


# --- failures


@pytest.mark.parametrize(
    ("missing", "output_format"),
    [("laspy", CloudFormat.las), ("laspy", CloudFormat.laz), ("lazrs", CloudFormat.laz)],
)
def test_a_missing_package_is_told_before_anything_is_written(
    tmp_path, monkeypatch, missing, output_format
):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(OutputError, match=rf"{output_format.name} needs .*laspy\[lazrs\]"):
        writer_of(tmp_path / "out", output_format)
    assert names_in(tmp_path) == []


def test_formats_other_than_las_need_no_package_of_their_own(tmp_path):
    code = """
import sys
import numpy as np
from sensor_models.output.clouds import *
sys.modules["laspy"] = sys.modules["lazrs"] = None
for chosen in (CloudFormat.pcd, CloudFormat.ply, CloudFormat.npy):
    writer = CloudWriter("s", CloudFileParameters(True, sys.argv[1], chosen), {})
    writer.close()
"""
    command = [sys.executable, "-B", "-c", code, str(tmp_path)]
    subprocess.run(command, cwd=ROOT, timeout=120, check=True)
    assert len(lines_of(tmp_path)) == 3


#: The limit is that of each file: the index and small clouds stay below, a large one does not.
FULL_DISK = """
import resource, sys, threading
import numpy as np
from sensor_models.output.clouds import CloudFile, CloudFileParameters, CloudFormat, CloudWriter
from sensor_models.output.files import OutputError
from sensor_models.output.frame_files import FrameFiles
from sensor_models.output.points import POINT

chosen = CloudFormat(int(sys.argv[2]))
writer = CloudWriter("s", CloudFileParameters(True, sys.argv[1], chosen), {})

def put(frame, count):
    bits = np.random.default_rng(0).bytes(count * POINT.itemsize)
    points = np.frombuffer(bits, POINT).copy()
    points["x"] = points["y"] = points["z"] = 0.0
    writer.put(FrameFiles(frame, (CloudFile(points, chosen),), {}))

put(0, 10)
writer.flush()
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
put(1, 10_000)
told = 0
for ask in (writer.flush, writer.flush, writer.close):
    try:
        ask()
    except OutputError as error:
        told += 1
        print(error)
assert told == 1
assert threading.active_count() == 1
"""


@pytest.mark.parametrize("output_format", FORMATS)
def test_a_full_disk_is_told_once_and_leaves_earlier_clouds_whole(tmp_path, output_format):
    earlier = tmp_path / f"s-000001.points.{output_format.name}"
    earlier.write_bytes(b"earlier")
    command = [sys.executable, "-B", "-c", FULL_DISK, str(tmp_path), str(output_format.value)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert str(earlier) in done.stdout
    assert os.strerror(27) in done.stdout  # EFBIG, what the size limit answers
    assert earlier.read_bytes() == b"earlier"
    whole = f"s-000000.points.{output_format.name}"
    assert names_in(tmp_path) == ["index.jsonl", whole, earlier.name]
    _, line, loss = lines_of(tmp_path)
    assert line["file"] == whole
    assert (loss["lost"], loss["frames"]) == (1, [1, 1])
