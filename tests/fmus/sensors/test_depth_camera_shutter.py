"""FMU ``DepthCamera`` with a rolling shutter: rows, steps, states and what is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.fmus.host import Instance, open_fmu
from tests.fmus.sensors.test_depth_camera_fmu import SCENE, begin, depths, index_of, move
from tests.sensor_models.scene_files import write_manifest

READOUT, SPEED, ROWS = 0.06, 0.8, 8
SHUTTER = {"rolling_shutter": READOUT, "sample_rate": 10.0}
#: Steps of half a second: much shorter and longer than the read-out, and across it.
CUTS = [[0.5], [0.02] * 25, [0.1] * 5, [0.13, 0.04, 0.2, 0.13]]


@pytest.fixture(scope="session")
def depth_camera_fmu(fmu_directory: Path) -> Path:
    return fmu_directory / "DepthCamera.fmu"


@pytest.fixture
def scene(tmp_path: Path) -> str:
    return str(write_manifest(tmp_path, SCENE))


def drive(camera: Instance, steps: list[float], at_end: bool) -> None:
    """Forward at a constant speed."""
    time = 0.0
    for step in steps:
        move(camera, SPEED * (time + step * at_end), SPEED)
        camera.step(time, step)
        time += step


def wall_of_rows(image: NDArray[np.float32]) -> NDArray[np.float32]:
    """The depth of the wall in each row: the box before it is in some columns only."""
    rows: NDArray[np.float32] = image.max(axis=1)
    return rows


@pytest.mark.parametrize("steps", CUTS)
@pytest.mark.parametrize("at_end", [False, True])
def test_rows_are_seen_from_where_the_camera_is_at_their_instants(
    depth_camera_fmu: Path, scene: str, tmp_path: Path, steps: list[float], at_end: bool
) -> None:
    with open_fmu(depth_camera_fmu) as camera:
        start = {"body.velocity.x": SPEED}
        begin(camera, scene, tmp_path / "out", inputs_at_step_end=at_end, **SHUTTER, **start)
        drive(camera, steps if at_end else [*steps, 0.1], at_end)  # 0.5 s known either way
        # Frame 5, at 0.5 s, would need what comes later.
        assert camera.get("frame.count") == camera.get("sample.count") == 5
        assert camera.get("frame.time") == pytest.approx(0.4, abs=1e-12)
        camera.terminate()
    stamps = np.arange(5) / 10.0
    instants = stamps[:, None] + np.linspace(0.0, READOUT, ROWS)
    found = np.array([wall_of_rows(image) for image in depths(tmp_path / "out")])
    np.testing.assert_allclose(found, 4.0 - SPEED * instants, rtol=1e-6)  # of float32
    lines = [line for line in index_of(tmp_path / "out")[1:] if line["kind"] == "depth"]
    np.testing.assert_allclose([line["time"] for line in lines], stamps, atol=1e-12)
    # The pose in the index is that of the first row.
    np.testing.assert_allclose([line["position"][0] for line in lines], SPEED * stamps, atol=1e-12)


def test_a_camera_that_stands_gives_the_same_files_with_and_without(
    depth_camera_fmu: Path, scene: str, tmp_path: Path
) -> None:
    noise = {"noise.on": True, "noise.multiplier": 0.05, "return_pointcloud": True}
    for name, readout in (("plain", 0.0), ("rolling", READOUT)):
        with open_fmu(depth_camera_fmu) as camera:
            sampling = {"sample_rate": 10.0, "rolling_shutter": readout}
            begin(camera, scene, tmp_path / name, **sampling, **noise)
            for k in range(8):
                camera.set({"body.position.y": 0.3, "body.orientation.z": 0.1})
                camera.step(0.07 * k, 0.07)
            camera.terminate()
    files = {file.name: file for file in (tmp_path / "rolling").glob("*.npy")}
    assert len(files) == 5 * 4  # 0.49 s are known: frames 0 to 4 of image, points and ids
    for name, file in files.items():
        assert file.read_bytes() == (tmp_path / "plain" / name).read_bytes()


def test_without_a_rate_the_frame_of_a_step_is_complete_with_a_later_one(
    depth_camera_fmu: Path, scene: str, tmp_path: Path
) -> None:
    with open_fmu(depth_camera_fmu) as camera:
        begin(camera, scene, tmp_path / "out", rolling_shutter=READOUT)
        counts = []
        for k in range(6):
            move(camera, SPEED * 0.04 * k, SPEED)
            camera.step(0.04 * k, 0.04)
            counts.append(camera.get("frame.count"))
        camera.terminate()
        assert camera.get("frame.time") == pytest.approx(0.12, abs=1e-12)
    assert counts == [0, 0, 1, 2, 3, 4]
    instants = 0.04 * np.arange(4)[:, None] + np.linspace(0.0, READOUT, ROWS)
    found = np.array([wall_of_rows(image) for image in depths(tmp_path / "out")])
    np.testing.assert_allclose(found, 4.0 - SPEED * instants, rtol=1e-6)


def test_the_first_frame_begins_where_the_first_step_does(
    depth_camera_fmu: Path, scene: str, tmp_path: Path
) -> None:
    with open_fmu(depth_camera_fmu) as camera:
        begin(camera, scene, tmp_path / "out", **SHUTTER)
        for k in range(3):  # far from where it is at initialisation, which is no motion
            move(camera, 2.0 + SPEED * 0.04 * k, SPEED)
            camera.step(0.04 * k, 0.04)
            assert camera.get("frame.file") == ""
        camera.terminate()
    (image,) = depths(tmp_path / "out")
    expected = 2.0 - SPEED * np.linspace(0.0, READOUT, ROWS)
    np.testing.assert_allclose(wall_of_rows(image), expected, rtol=1e-6)


@pytest.mark.parametrize("at_end", [False, True])
@pytest.mark.parametrize("rate", [0.0, 10.0])
def test_a_state_half_way_through_a_read_out_continues_with_the_same_bits(
    depth_camera_fmu: Path, scene: str, tmp_path: Path, at_end: bool, rate: float
) -> None:
    steps = 12
    with open_fmu(depth_camera_fmu) as camera:
        sampling = {"rolling_shutter": READOUT, "sample_rate": rate}
        begin(camera, scene, tmp_path / "out", inputs_at_step_end=at_end, **sampling)

        def go(first: int) -> list[tuple[bytes, dict[str, Any]]]:
            found = []
            for k in range(first, steps):
                saved = camera.saved()
                x = 0.02 * (k + at_end)
                camera.set({"body.position.x": np.sin(3.0 * x), "body.orientation.z": x})
                camera.step(0.02 * k, 0.02)
                found.append((saved, camera.outputs()))
            return found

        whole = go(0)
        camera.terminate()
        before = [image.tobytes() for image in depths(tmp_path / "out")]
        assert len(before) >= 2
        for first in range(steps):
            camera.restore(whole[first][0])
            assert go(first) == whole[first:]
        camera.terminate()
        assert [image.tobytes() for image in depths(tmp_path / "out")] == before


def test_a_read_out_that_is_longer_than_a_frame_is_refused_at_initialisation(
    depth_camera_fmu: Path,
) -> None:
    with open_fmu(depth_camera_fmu) as camera:
        camera.set_up()
        camera.set({"rolling_shutter": 0.2, "sample_rate": 10.0})
        camera.enter()
        assert "at most 0.1 s" in camera.refusal(camera.exit)
