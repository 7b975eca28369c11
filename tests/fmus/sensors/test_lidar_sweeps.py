"""FMU ``Lidar``: sweeps and the steps in which they become known, alone in a scene that stands."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sensor_models.threads import pool
from tests.fmus.host import open_fmu
from tests.fmus.lidar_runs import (
    INSTANT,
    NOISE,
    PERIOD,
    ROLLING,
    STREET,
    begin,
    body_at,
    check_ranges,
    clouds_of,
    drive,
    files_of,
    index_of,
    steps_of,
)
from tests.sensor_models.scene_files import write_manifest

#: 0.5 s: a step much shorter than a slice of a sweep, ..., one that is five sweeps.
CUTS = {
    "0.3 ms": 0.0003,
    "1 ms": 0.001,
    "7 ms": 0.007,
    "100 ms": 0.1,
    "500 ms": 0.5,
}
END = 0.5


@pytest.fixture
def street(tmp_path: Path) -> str:
    return str(write_manifest(tmp_path, STREET))


def run(
    fmu: Path,
    street: str,
    folder: Path,
    steps: Iterable[tuple[float, float]],
    *,
    at_end: bool = True,
    **parameters: Any,
) -> dict[str, Any]:
    """The outputs at the end of a drive along the street."""
    with open_fmu(fmu) as lidar:
        begin(lidar, street, folder, inputs_at_step_end=at_end, **parameters, **body_at(0.0))
        drive(lidar, steps, at_end=at_end)
        lidar.terminate()
        return lidar.outputs()


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("mode", [INSTANT, ROLLING])
def test_frames_are_complete_however_time_is_cut(
    lidar_fmu: Path, street: str, tmp_path: Path, cut: str, mode: int
) -> None:
    found = run(lidar_fmu, street, tmp_path / "out", steps_of(CUTS[cut], END), scan_mode=mode)
    frames = 5 if mode == ROLLING else 6  # the instant at 0.5 s is known; a sweep from there is not
    assert found["frame.count"] == found["sample.count"] == frames
    assert found["frame.time"] == found["sample.time"] == pytest.approx((frames - 1) * PERIOD)
    _, *lines = index_of(tmp_path / "out")
    assert [line["frame"] for line in lines] == list(range(frames))
    clouds = clouds_of(tmp_path / "out")
    assert [line["points"] for line in lines] == [len(points) for points in clouds]
    assert found["frame.points"] == len(clouds[-1])
    for frame, points in enumerate(clouds):
        if mode == ROLLING:
            assert (points["time"] >= frame / 10.0).all()
            assert (points["time"] < (frame + 1) / 10.0).all()
            assert (np.diff(points["time"]) >= 0.0).all()
        else:
            assert (points["time"] == lines[frame]["time"]).all()
        check_ranges(points, points["time"])


@pytest.mark.parametrize("mode", [INSTANT, ROLLING])
def test_files_are_the_same_to_the_bit_however_time_is_cut(
    lidar_fmu: Path, street: str, tmp_path: Path, mode: int
) -> None:
    found = {}
    for cut, length in CUTS.items():
        folder = tmp_path / cut
        run(lidar_fmu, street, folder, steps_of(length, END), scan_mode=mode, seed=5, **NOISE)
        found[cut] = files_of(folder)
    assert len(found["1 ms"]) == 5 + (mode == INSTANT)
    assert all(files == found["1 ms"] for files in found.values())


def test_files_are_the_same_to_the_bit_with_any_number_of_threads(
    lidar_fmu: Path, street: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def threads_of(number: int) -> int:
        asked.append(number)
        return number

    found = []
    for number in (1, 2, 5):
        monkeypatch.setattr(pool, "processors", lambda number=number: threads_of(number))
        for length in (0.001, 0.1):
            folder = tmp_path / f"{number} {length}"
            run(lidar_fmu, street, folder, steps_of(length, 0.2), **NOISE, **{"pattern.rows": 40})
            found.append(files_of(folder))
    assert set(asked) == {1, 2, 5}
    assert len(found[0]) == 2
    assert all(files == found[0] for files in found)


def test_seeds_and_names_have_their_own_noise(lidar_fmu: Path, street: str, tmp_path: Path) -> None:
    cases = [("left", 1), ("left", 1), ("left", 2), ("right", 1)]
    ranges = []
    for place, (name, seed) in enumerate(cases):
        folder = tmp_path / str(place)
        with open_fmu(lidar_fmu, name) as lidar:
            begin(lidar, street, folder, seed=seed, **{"noise.distance_sigma_base": 0.02})
            lidar.step(0.0, PERIOD)
            lidar.step(PERIOD, PERIOD)
            lidar.terminate()
        ranges.append(clouds_of(folder)[0]["range"])
    assert np.array_equal(ranges[0], ranges[1])
    for other in ranges[2:]:
        assert (ranges[0] != other).mean() > 0.99


@pytest.mark.parametrize("at_end", [False, True])
@pytest.mark.parametrize("mode", [INSTANT, ROLLING])
def test_inputs_describe_the_start_or_the_end_of_a_step(
    lidar_fmu: Path, street: str, tmp_path: Path, mode: int, at_end: bool
) -> None:
    # With the FMI rule, the last step only tells where the body was when it began.
    steps = steps_of(0.025, 0.3 if at_end else 0.325)
    run(lidar_fmu, street, tmp_path / "out", steps, at_end=at_end, scan_mode=mode)
    run(lidar_fmu, street, tmp_path / "other", steps_of(0.3, 0.3), scan_mode=mode)
    files = files_of(tmp_path / "out")
    assert len(files) == (3 if mode == ROLLING else 4)
    assert files == files_of(tmp_path / "other")


@pytest.mark.parametrize("at_end", [False, True])
def test_without_a_rate_each_step_has_an_instant_frame(
    lidar_fmu: Path, street: str, tmp_path: Path, at_end: bool
) -> None:
    steps = [(0.0, 0.05), (0.05, 0.2), (0.25, 0.01)]
    found = run(
        lidar_fmu, street, tmp_path, steps, at_end=at_end, scan_mode=INSTANT, sample_rate=0.0
    )
    stamps = [0.0, 0.05, 0.25, *([0.26] if at_end else [])]
    assert found["frame.count"] == len(stamps)
    np.testing.assert_allclose([line["time"] for line in index_of(tmp_path)[1:]], stamps)
    for stamp, points in zip(stamps, clouds_of(tmp_path), strict=True):
        check_ranges(points, stamp)


@pytest.mark.parametrize("at_end", [False, True])
def test_without_a_rate_a_sweep_fills_each_step(
    lidar_fmu: Path, street: str, tmp_path: Path, at_end: bool
) -> None:
    steps = [(0.0, 0.05), (0.05, 0.2), (0.25, 0.01)]
    found = run(lidar_fmu, street, tmp_path, steps, at_end=at_end, sample_rate=0.0)
    # With the FMI rule, the end of a step is known with the next one.
    complete = steps if at_end else steps[:-1]
    assert found["frame.count"] == len(complete)
    for (start, length), points, line in zip(
        complete, clouds_of(tmp_path), index_of(tmp_path)[1:], strict=True
    ):
        assert (line["time"], line["duration"]) == pytest.approx((start, length), rel=1e-12)
        share = (points["time"] - start) / length
        assert share.min() < 2.5 / 90.0  # the first columns look out at the open end
        assert share.max() == pytest.approx(1.0 - 1.0 / 90.0, abs=1e-9)  # of the last column
        check_ranges(points, points["time"])


def test_a_sweep_that_is_not_complete_is_not_written(
    lidar_fmu: Path, street: str, tmp_path: Path
) -> None:
    found = run(lidar_fmu, street, tmp_path, steps_of(0.01, 0.19))
    assert found["frame.count"] == 1
    assert list(files_of(tmp_path)) == ["sensor-000000.points.npy"]
    assert len(index_of(tmp_path)) == 2
