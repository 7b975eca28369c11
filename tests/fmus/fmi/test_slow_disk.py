"""A disk that takes its time: who waits for the file of a frame, and who does not."""

import errno
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from sensor_models.output.clouds import CloudFile
from tests.fmus.host import Instance, open_fmu
from tests.fmus.lidar_runs import PERIOD, SMALL, STREET, begin, body_at
from tests.sensor_models.scene_files import write_manifest


@pytest.fixture
def street(tmp_path: Path) -> str:
    return str(write_manifest(tmp_path, STREET))


def whole_step(lidar: Instance, k: int) -> None:
    """A step as long as a frame."""
    lidar.set(body_at(PERIOD * k))
    lidar.step(PERIOD * k, PERIOD)


def test_a_step_does_not_wait_for_the_disk_but_whoever_reads_the_name_of_a_file_does(
    lidar_fmu: Path, street: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_write, write = threading.Event(), CloudFile.write

    def late(file: CloudFile, path: Path) -> dict[str, object]:
        assert may_write.wait(60.0)
        return write(file, path)

    monkeypatch.setattr(CloudFile, "write", late)
    with open_fmu(lidar_fmu) as lidar:
        begin(lidar, street, tmp_path, **SMALL)
        whole_step(lidar, 0)
        for k in range(3):  # the first of them completes a frame, and the disk takes nothing
            lidar.step(PERIOD + 0.01 * k, 0.01)
        assert lidar.get("frame.count") == 1
        assert not list(tmp_path.glob("*.npy"))
        later = threading.Timer(0.2, may_write.set)
        later.start()
        file = Path(lidar.get("frame.file"))
        assert may_write.is_set()
        assert file.name == "sensor-000000.points.npy"
        assert len(np.load(file)) > 0
        later.join()


def test_the_step_that_takes_a_frame_waits_for_the_file_of_the_one_before(
    lidar_fmu: Path, street: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = CloudFile.write

    def slow(file: CloudFile, path: Path) -> dict[str, object]:
        time.sleep(0.1)
        return write(file, path)

    monkeypatch.setattr(CloudFile, "write", slow)
    with open_fmu(lidar_fmu) as lidar:
        begin(lidar, street, tmp_path, **SMALL)
        for k in range(4):  # frame k - 1 is complete in step k
            whole_step(lidar, k)
            assert len(list(tmp_path.glob("*.npy"))) >= k - 1


def test_a_state_can_be_saved_although_a_frame_was_lost_and_the_next_step_tells_of_it(
    lidar_fmu: Path, street: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_file: CloudFile, path: Path) -> dict[str, object]:
        time.sleep(0.1)
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    with open_fmu(lidar_fmu) as lidar:
        begin(lidar, street, tmp_path, **SMALL)
        whole_step(lidar, 0)
        monkeypatch.setattr(CloudFile, "write", full)
        for k in range(2):  # the first completes a frame, whose file is not there after the second
            lidar.step(PERIOD + 0.01 * k, 0.01)
        saved = lidar.saved()
        assert lidar.get("frame.lost") == 1
        assert "No space left" in lidar.refusal(lambda: lidar.step(PERIOD + 0.02, 0.01))
        lidar.step(PERIOD + 0.02, 0.01)
        lidar.restore(saved)
        lidar.step(PERIOD + 0.02, 0.01)
        assert "1 of 1 frames are lost" in lidar.refusal(lidar.terminate)
