"""The examples run as they are shown, and leave nothing behind but their results."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest

import build_fmus
from sensor_models.lidar.readers import read_cloud
from sensor_models.tools.pictures.progress import MARK

DRIVE = build_fmus.ROOT / "examples" / "drive.py"
MASTERS = (build_fmus.ROOT / "docs" / "masters.md").read_text(encoding="utf-8")
STEP, STEPS = 0.01, 400


@pytest.fixture(scope="module")
def driven(fmu_directory: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Where examples/drive.py ran, and what it said."""
    place = tmp_path_factory.mktemp("driven")
    for name in ("build", "temporary", "shared"):
        (place / name).mkdir(mode=0o700)
    (place / "build" / "fmus").symlink_to(fmu_directory)
    own = {"TMPDIR": str(place / "temporary"), "SENSOR_FMUS_SHARED_DIR": str(place / "shared")}
    command = [sys.executable, "-X", "faulthandler", str(DRIVE)]
    done = subprocess.run(
        command, cwd=place, env={**os.environ, **own}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return place, done.stdout


def records(place: Path) -> Mapping[str, Mapping[str, np.ndarray]]:
    """The records of the sensors by name."""
    found = {}
    for path in (place / "build" / "drive").glob("*.parquet"):
        table = pyarrow.parquet.read_table(path)
        found[path.stem] = {name: table[name].to_numpy() for name in table.column_names}
    return found


def test_drive_is_short_and_needs_nothing_of_the_project() -> None:
    lines = DRIVE.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 60
    imports = [line for line in lines if re.match(r"\s*(import|from)\s", line)]
    assert imports == ["import shutil", "from pathlib import Path", "import fmpy.fmi2"]


def test_drive_says_what_it_read_and_where_its_files_are(driven: tuple[Path, str]) -> None:
    place, said = driven
    turning, nearest = said.splitlines()
    assert str(place / "build" / "drive") in turning
    assert 0.1 < float(turning.split()[2]) < 2.0  # rad/s, with 2 rad/s between the wheels
    assert 0.1 < float(nearest.split()[2]) < 70.0  # m, what a Mid-360 can see


def test_drive_records_every_sample_of_a_plausible_drive(driven: tuple[Path, str]) -> None:
    found = records(driven[0])
    assert found.keys() == {"encoder_left", "encoder_right", "odometer", "imu", "magnetometer"}
    assert [len(found[n]["time"]) for n in ("imu", "magnetometer")] == [3201, 401]
    for name in ("encoder_left", "encoder_right", "odometer"):
        np.testing.assert_allclose(found[name]["time"], np.arange(STEPS + 1) * STEP, atol=1e-9)
    imu = found["imu"]
    # The vehicle stands at first; the noise of the preset is 1.4e-3 m/s2/sqrt(Hz) over 260 Hz.
    assert np.mean(imu["accelerometer.z"]) == pytest.approx(9.81, abs=0.05)
    assert np.mean(imu["gyroscope.z"][-800:]) > 0.1
    # A wheel that is told to turn at 6 rad/s does so within a tenth, once it has sped up.
    speeds = found["encoder_left"]["speed"][100:], found["encoder_right"]["speed"][300:]
    assert np.mean(speeds[0]) == pytest.approx(6.0, abs=0.3)
    assert np.mean(speeds[1]) == pytest.approx(8.0, abs=0.4)
    assert found["odometer"]["distance"][-1] == pytest.approx(0.3 * 6.0 * STEP * STEPS, abs=0.5)


def test_drive_writes_every_frame(driven: tuple[Path, str]) -> None:
    place = driven[0] / "build" / "drive"
    clouds = sorted(place.glob("lidar-*.pcd"))
    assert len(clouds) == 40
    assert all(len(read_cloud(path)) > 1000 for path in clouds[::10])
    assert len(list(place.glob("camera-*.depth.npy"))) == 121
    assert np.load(place / "camera-000060.depth.npy").shape == (180, 320)


def test_drive_leaves_nothing_behind(driven: tuple[Path, str]) -> None:
    place = driven[0]
    assert list((place / "temporary").iterdir()) == []
    assert list((place / "shared").iterdir()) == []
    assert list(place.rglob("*.part")) == []


#: Those that are not marked below. libcosimpy has no package for Python 3.10 (pyproject.toml says
#: the same).
PROGRAMS = [
    program
    for program in re.findall(r"```python\n(.*?)```\n(?!\n\*Not run)", MASTERS, re.DOTALL)
    if "libcosimpy" not in program or sys.version_info >= (3, 11)
]


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_programs_of_the_document_on_masters_run(
    fmu_directory: Path, tmp_path: Path, number: int
) -> None:
    (tmp_path / "fmus").symlink_to(fmu_directory)
    system = build_fmus.read_ssp_source(build_fmus.SYSTEM, build_fmus.fmu_sources())
    (tmp_path / "build").mkdir()
    (tmp_path / "shared").mkdir(mode=0o700)
    build_fmus.write_ssp(system, tmp_path / "fmus").rename(tmp_path / "build" / "Drive.ssp")
    command = [sys.executable, "-c", PROGRAMS[number]]
    own = {"TMPDIR": str(tmp_path), "SENSOR_FMUS_SHARED_DIR": str(tmp_path / "shared")}
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, **own},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rate = float(re.findall(r"-?\d+\.\d+", done.stdout.splitlines()[-1])[0])
    assert 0.0 < rate < 1.0  # rad/s: it has begun to turn to the left


def test_every_master_of_the_table_has_its_section() -> None:
    linked = set(re.findall(r"\]\(#([a-z-]+)\)", MASTERS))
    sections = re.findall(r"^## (.+)$", MASTERS, re.MULTILINE)
    names = {re.sub(r"[^a-z -]", "", title.lower()).replace(" ", "-") for title in sections}
    assert linked - names == set()
    assert {"fmpy", "libcosim", "ecos", "simulink", "dymola"} <= linked


def test_a_robot_drives_in_its_own_world(tmp_path: Path) -> None:
    script = build_fmus.ROOT / "examples" / "robot.py"
    options = ["--seconds", "1", "--output", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, str(script), *options], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stderr.splitlines() if not line.startswith(MARK)] == []
    found = re.search(r"^([\d.]+) m in 1 s, (\d+) points; files are in", done.stdout, re.MULTILINE)
    assert found is not None
    # wheels of 0.15 m radius at 8 and 10 rad/s, from rest
    assert 0.8 < float(found[1]) < 0.15 * 9.0
    assert int(found[2]) > 9 * 30_000
    assert (tmp_path / "files" / "world.png").read_bytes().startswith(b"\x89PNG")
