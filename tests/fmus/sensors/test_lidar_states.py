"""FMU ``Lidar``: saved states in the middle of a sweep, states that are refused, and reset."""

import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fmus.fmi.test_refused_states import array, filled, forged
from tests.fmus.host import Instance, open_fmu
from tests.fmus.lidar_runs import (
    INSTANT,
    NOISE,
    ROLLING,
    STREET,
    WAGON,
    begin,
    body_at,
    files_of,
    index_of,
)
from tests.sensor_models.scene_files import write_manifest

#: Steps of which three fall into a sweep, not all of one length after the other.
STEP, STEPS = 0.03, 12
#: Rays have several echoes here, so a sweep that was begun holds more than one for each.
SEEN = {**NOISE, "return_mode": 4, "max_returns": 3, "ambient.return_probability": 0.5}


@pytest.fixture
def street(tmp_path: Path) -> str:
    return str(write_manifest(tmp_path, STREET))


def one_step(lidar: Instance, k: int, at_end: bool = False) -> dict[str, Any]:
    """The outputs after one step along the street."""
    lidar.set(body_at((k + at_end) * STEP))
    lidar.step(k * STEP, STEP)
    return lidar.outputs()


def go(lidar: Instance, first: int, last: int = STEPS, at_end: bool = False) -> list[Any]:
    """The outputs of some steps, each with the state before it."""
    return [(lidar.saved(), one_step(lidar, k, at_end)) for k in range(first, last)]


@pytest.mark.parametrize("at_end", [False, True])
@pytest.mark.parametrize("rate", [0.0, 10.0])
@pytest.mark.parametrize("mode", [INSTANT, ROLLING])
def test_a_sweep_that_was_begun_continues_with_the_same_bits(
    lidar_fmu: Path, street: str, tmp_path: Path, mode: int, rate: float, at_end: bool
) -> None:
    how = {"scan_mode": mode, "sample_rate": rate, "inputs_at_step_end": at_end}
    out = tmp_path / "out"
    with open_fmu(lidar_fmu) as lidar:
        begin(lidar, street, out, **how, **SEEN, **body_at(0.0))
        whole = go(lidar, 0, at_end=at_end)
        lidar.terminate()
        before = files_of(out)
        assert len(before) >= 3
        for first in (0, 7, 3, 9, 1, 5):
            for file in out.glob("*.points.*"):
                file.unlink()
            lidar.restore(whole[first][0])
            assert go(lidar, first, at_end=at_end) == whole[first:]
            lidar.terminate()
            after = files_of(out)
            assert after.items() <= before.items()
            assert list(before)[-1] in after


@pytest.mark.parametrize("mode", [INSTANT, ROLLING])
def test_bytes_continue_in_another_instance(
    lidar_fmu: Path, street: str, tmp_path: Path, mode: int
) -> None:
    out = tmp_path / "out"
    with open_fmu(lidar_fmu) as lidar:
        begin(lidar, street, out, scan_mode=mode, **SEEN)
        whole = go(lidar, 0)
        lidar.terminate()
    before = files_of(out)
    for first in (2, 5, 6):
        for file in out.glob("*.points.*"):
            file.unlink()
        with open_fmu(lidar_fmu) as other:
            other.restore(whole[first][0])
            assert other.saved() == whole[first][0]
            assert go(other, first) == whole[first:]
            other.terminate()
        after = files_of(out)
        assert len(after) >= 1
        assert after.items() <= before.items()


def test_a_sweep_among_moving_bodies_continues_in_another_simulation(
    environment_fmu: Path, lidar_fmu: Path, tmp_path: Path
) -> None:
    scene = str(write_manifest(tmp_path, WAGON))
    ahead = {"pattern.azimuth.min": -0.1, "pattern.azimuth.max": 0.1}

    def both_steps(environment: Instance, lidar: Instance, first: int, last: int) -> None:
        for k in range(first, last):
            environment.set({"vehicle_1.position.x": 15.0 + 3.0 * (k % 3)})
            environment.step(k * STEP, STEP)
            lidar.step(k * STEP, STEP)

    at_origin = {f"vehicle_1.position.{axis}": 0.0 for axis in "yz"}
    with open_fmu(environment_fmu) as environment, open_fmu(lidar_fmu) as lidar:
        environment.initialize({"scene": scene, **at_origin})
        number = environment.get("scene_handle")
        begin(lidar, "yard", tmp_path / "out", scene_handle=number, motion_slices=5, **ahead)
        both_steps(environment, lidar, 0, 6)
        saved = environment.saved(), lidar.saved()
        both_steps(environment, lidar, 6, STEPS)
        lidar.terminate()
    before = files_of(tmp_path / "out")
    assert len(before) == 3
    for name in list(before)[1:]:
        (tmp_path / "out" / name).unlink()
    with open_fmu(environment_fmu) as environment, open_fmu(lidar_fmu) as lidar:
        environment.restore(saved[0])
        lidar.restore(saved[1])
        both_steps(environment, lidar, 6, STEPS)
        lidar.terminate()
    assert files_of(tmp_path / "out") == before


def test_a_sweep_that_was_begun_is_forgotten_as_often_as_one_likes(
    lidar_fmu: Path, street: str, tmp_path: Path
) -> None:
    # There is memory for a few sweeps only, which must not get lost on the way.
    with open_fmu(lidar_fmu) as lidar:
        begin(lidar, street, tmp_path / "out")
        before = lidar.slave.getFMUstate()
        for _ in range(10):
            first = [one_step(lidar, k) for k in range(3)]
            lidar.slave.setFMUstate(before)
        assert [one_step(lidar, k) for k in range(3)] == first
        lidar.slave.freeFMUstate(before)


def test_a_replay_after_reset_gives_the_same_files(
    lidar_fmu: Path, street: str, tmp_path: Path
) -> None:
    with open_fmu(lidar_fmu) as lidar:
        begin(lidar, street, tmp_path / "one", **SEEN)
        one = [one_step(lidar, k) for k in range(STEPS)]
        lidar.reset()
        assert lidar.get("frame.count") == 0
        assert lidar.get("frame.file") == ""
        begin(lidar, street, tmp_path / "other", **SEEN)
        other = [one_step(lidar, k) for k in range(STEPS)]
        lidar.terminate()
    for reading in (*one, *other):
        reading["frame.file"] = Path(reading["frame.file"]).name
    assert one == other
    # What was begun when it was reset is not there.
    assert files_of(tmp_path / "one") == files_of(tmp_path / "other")
    assert len(index_of(tmp_path / "one")) == 1 + len(files_of(tmp_path / "one"))


# ---- refused -------------------------------------------------------------------------------------


@pytest.fixture
def running(lidar_fmu: Path, street: str, tmp_path: Path) -> Iterator[Instance]:
    """A lidar in the middle of its second sweep."""
    with open_fmu(lidar_fmu) as lidar:
        begin(lidar, street, tmp_path / "running", **SEEN)
        for k in range(5):
            one_step(lidar, k)
        yield lidar


def refusal_of(lidar: Instance, content: bytes) -> str:
    """Why bytes are refused, which must leave the instance as it was."""
    before = lidar.saved()
    message = lidar.refusal(lidar.restore, content)
    assert lidar.saved() == before
    return message


def of_other_shape(name: str) -> Callable[[dict[str, Any], bytearray], None]:
    """Gives one array another shape with as many numbers."""

    def change(header: dict[str, Any], body: bytearray) -> None:
        for described in header["arrays"]:
            if described[0] == name:
                described[2] = [1, *described[2]]

    return change


NAN = struct.pack("<d", float("nan"))
FORGERIES = {
    "arrays of another type": array(1, "uint8"),
    "clock that is none": filled("run.clock", NAN),
    "knots that are none": filled("run.knots", NAN),
    "pose that is none": filled("run.pose", NAN),
    "body that is none": filled("run.values", NAN),
    "more slices than there are": filled("run.progress", struct.pack("<2q", 1, 10**6)),
    "negative slices": filled("run.progress", struct.pack("<2q", 1, -1)),
    "negative frame": filled("run.progress", struct.pack("<2q", -2, 1)),
    "another frame": filled("run.progress", struct.pack("<2q", 7, 1)),
    "more echoes than there is room for": filled("run.counts", b"\xff"),
    "nearest point outside": filled("run.nearest", struct.pack("<2d", 1.0, 1e9)),
    "points of no rays": of_other_shape("run.counts"),
    "knots of no poses": of_other_shape("run.knots"),
    "bodies of no scene": of_other_shape("run.bodies"),
    "file that is no text": filled("run.file", b"\xff\xff"),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_state_is_refused_and_the_sweep_goes_on(
    running: Instance, lidar_fmu: Path, street: str, tmp_path: Path, forgery: str
) -> None:
    one_step(running, 5)
    message = refusal_of(running, forged(running.saved(), FORGERIES[forgery]))
    assert len(message) > 20, "a message says what is wrong"
    with open_fmu(lidar_fmu) as undisturbed:
        begin(undisturbed, street, tmp_path / "undisturbed", **SEEN)
        for k in range(6):
            one_step(undisturbed, k)
        for k in range(6, STEPS):
            one_step(undisturbed, k)
            one_step(running, k)
        undisturbed.terminate()
        running.terminate()
    assert files_of(tmp_path / "running") == files_of(tmp_path / "undisturbed")
