"""The example without dynamics: poses of a file carry a lidar and an IMU through a scene."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import laspy
import numpy as np
import pyarrow.parquet
import pytest

import build_fmus
from examples.walk.make import DURATION, RADIUS, SPEED, pose

EXAMPLE = build_fmus.ROOT / "examples" / "trajectory.py"
WALK = build_fmus.ROOT / "examples" / "walk" / "walk.csv"


@pytest.fixture(scope="module")
def walked(fmu_directory: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the example has written."""
    place = tmp_path_factory.mktemp("walked")
    (place / "build").mkdir()
    (place / "build" / "fmus").symlink_to(fmu_directory)
    (place / "temporary").mkdir()
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)],
        cwd=place,
        env={**os.environ, "TMPDIR": str(place / "temporary")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert list((place / "temporary").iterdir()) == []
    files = place / "build" / "walk"
    assert done.stdout == f"60 sweeps and Imu.parquet are in {files}\n"
    return files


def test_the_example_is_short() -> None:
    lines = EXAMPLE.read_text(encoding="utf-8").splitlines()
    assert len([line for line in lines if line.strip() and '"""' not in line]) <= 40


def test_the_poses_are_at_an_uneven_rate_and_those_of_the_script() -> None:
    with WALK.open(newline="") as stream:
        head, *rows = csv.reader(stream)
    assert head == ["time", "x", "y", "z", "qw", "qx", "qy", "qz"]
    times = np.array([float(row[0]) for row in rows])
    steps = np.diff(times)
    assert steps.min() < 0.035 < 0.045 < steps.max()
    assert times[-1] >= DURATION
    for row in rows[::20]:
        np.testing.assert_allclose(np.array(row[1:], float), pose(float(row[0])), atol=1e-9)


def test_the_imu_feels_the_walk(walked: Path) -> None:
    table = pyarrow.parquet.read_table(walked / "Imu.parquet")
    assert table.schema.field("accelerometer.x").metadata[b"unit"] == b"m/s2"
    found = {name: table[name].to_numpy() for name in table.column_names}
    assert len(found["time"]) == pytest.approx(800 * DURATION, rel=0.02)
    # Once round at a steady speed: the heading turns with it, and what is felt is inward (left).
    whole = (found["time"] > 1.0) & (found["time"] < 5.0)  # full steps of the gait
    assert np.mean(found["gyroscope.z"][whole]) == pytest.approx(SPEED / RADIUS, abs=0.01)
    assert np.mean(found["accelerometer.z"][whole]) == pytest.approx(9.81, abs=0.05)
    assert np.mean(found["accelerometer.y"][whole]) == pytest.approx(SPEED**2 / RADIUS, abs=0.05)


def test_the_lidar_sees_the_court_where_it_is(walked: Path) -> None:
    clouds = sorted(walked.glob("Lidar-*.las"))
    points = [laspy.read(path).xyz for path in clouds[5::20]]
    assert len(points) == 3
    lines = [json.loads(line) for line in (walked / "index.jsonl").read_text().splitlines()]
    assert {line["sensor"] for line in lines} == {"Lidar", "Imu"}
    for cloud in points:
        walls = cloud[(np.abs(cloud[:, 2] - 2.2) < 0.5) & (cloud[:, 1] > 6.0)]
        assert len(walls) > 1000
        # The wall's inner side is at 6.9 m. The sensor's range noise is some cm.
        assert np.median(walls[:, 1]) == pytest.approx(6.9, abs=0.02)
        floor = cloud[np.abs(cloud[:, 2]) < 0.3]
        assert np.median(floor[:, 2]) == pytest.approx(0.0, abs=0.02)
