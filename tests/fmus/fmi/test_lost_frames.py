"""A full disk under sensors that see: what is lost is told, and files go on with space again."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from fmpy.fmi1 import FMICallException

from sensor_models.output.sinks import WriteFiles
from tests.conftest import SEEING
from tests.fmus.histories import parameters_of
from tests.fmus.host import Instance, open_fmu


@contextlib.contextmanager
def full_disk() -> Iterator[None]:
    """No file of this process can grow beyond 100 bytes: no frame, and no line of an index."""
    resource = pytest.importorskip("resource", reason="limits of files are for POSIX systems")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def frames(sensor: Instance, first: int, last: int) -> list[str]:
    """Steps of one frame each; what errors say of them. A frame is taken in a step that fails."""
    said = []
    for k in range(first, last):
        sensor.messages.clear()
        try:
            sensor.step(0.1 * k, 0.1)
        except FMICallException:
            said += [message.text for message in sensor.messages]
            with contextlib.suppress(FMICallException):
                sensor.step(0.1 * k, 0.1)
    return said


@pytest.mark.parametrize("model", SEEING)
def test_lost_frames_are_counted_on_an_output_in_the_index_and_at_the_end(
    fmu_directory: Path, tmp_path: Path, model: str
) -> None:
    chosen = {"sample_rate": 10.0, "write_files": WriteFiles.on, "output_directory": str(tmp_path)}
    with open_fmu(fmu_directory / f"{model}.fmu") as sensor:
        sensor.initialize({**parameters_of(model), **chosen})
        assert frames(sensor, 0, 3) == []
        assert sensor.get("frame.lost") == 0
        with full_disk():
            said = frames(sensor, 3, 6)
            # The third of these steps has waited for the frames of the two before it.
            assert sensor.get("frame.lost") >= 2
        assert any("File too large" in text for text in said)
        frames(sensor, 6, 9)
        lost = sensor.get("frame.lost")
        end = sensor.refusal(sensor.terminate)
        assert sensor.get("frame.lost") == lost
        taken, newest = sensor.get("frame.count"), Path(sensor.get("frame.file"))
        assert f"{lost} of {taken} frames are lost" in end
    lines = [json.loads(line) for line in (tmp_path / "index.jsonl").read_text().splitlines()]
    assert sum(line.get("lost", 0) for line in lines) == lost
    (loss,) = [line for line in lines if "lost" in line]
    first, last = loss["frames"]
    assert last - first + 1 == lost
    written = {line["frame"] for line in lines if "frame" in line}
    assert written == set(range(taken)) - set(range(first, last + 1))
    # Frames go on: those of the last steps are there, and the newest of them is named.
    assert last < taken - 1
    assert newest.is_file()
    assert str(taken - 1) in newest.name
