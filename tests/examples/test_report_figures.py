"""What the report of the demo computes: odometry, what an IMU should feel, Allan deviations."""

import math
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import build_fmus

ROOT = Path(build_fmus.__file__).parent


@pytest.fixture
def report_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "examples")


def circle(radius: float, track: float) -> tuple[np.ndarray, ...]:
    """Time, heading and the distances of two wheels on a circle to the left, without slip."""
    time = np.linspace(0.0, 10.0, 1001)
    heading = 0.3 * time
    left, right = heading * (radius - 0.5 * track), heading * (radius + 0.5 * track)
    return time, heading, left, right


def test_odometry_without_slip_comes_back_to_the_truth(report_package: None) -> None:
    odometry = import_module("report.odometry")
    _, heading, left, right = circle(4.0, 1.2)
    track = odometry._effective_track(right - left, heading)
    assert track == pytest.approx(1.2, rel=1e-12)
    path = odometry._path(np.array([4.0, 0.0]), 0.5 * (left + right), heading + math.pi / 2.0)
    truth = 4.0 * np.column_stack([np.cos(heading), np.sin(heading)])
    # chords instead of arcs, each too long by turn squared / 24
    assert np.abs(path - truth).max() < 4.0 * 3.0 * (0.003**2) / 24.0 + 1e-9


def test_imu_at_rest_is_expected_to_feel_gravity_only(report_package: None) -> None:
    figures = import_module("report.figures")
    recording = import_module("report.recording")
    half = math.sqrt(0.5)
    truth = {
        name: np.zeros(2)
        for name in (
            *(f"body.{g}.{a}" for g in ("acceleration", "angular_acceleration",
                                        "angular_velocity") for a in "xyz"),
            *(f"body.orientation.{a}" for a in "wxyz"),
        )
    }  # fmt: skip
    truth["body.orientation.w"] += half
    truth["body.orientation.y"] -= half  # nose up
    still = recording.Recording(np.arange(2.0), truth, {}, Path(), [], {}, 1.0)
    force, rate = figures.imu_truth(still)
    assert force == pytest.approx(np.tile([9.80665, 0.0, 0.0], (2, 1)), abs=1e-12)
    assert np.all(rate == 0.0)


def test_imu_away_from_the_axis_is_expected_to_feel_the_turn(
    report_package: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures = import_module("report.figures")
    recording = import_module("report.recording")
    monkeypatch.setattr(figures, "IMU_PLACE", np.array([2.0, 0.0, 0.0]))
    vectors = {"acceleration": (0, 0, 0), "angular_acceleration": (0, 0, 0.7),
               "angular_velocity": (0, 0, 3.0)}  # fmt: skip
    truth = {
        f"body.{group}.{axis}": np.full(1, value)
        for group, values in vectors.items()
        for axis, value in zip("xyz", values, strict=True)
    }
    truth |= {f"body.orientation.{a}": np.full(1, float(a == "w")) for a in "wxyz"}
    turning = recording.Recording(np.zeros(1), truth, {}, Path(), [], {}, 1.0)
    force, _ = figures.imu_truth(turning)
    # toward the axis, omega squared times r; sideways, alpha times r
    assert force[0] == pytest.approx([-18.0, 1.4, 9.80665], abs=1e-12)


def test_allan_deviation_by_means_goes_on_where_that_of_samples_ends(
    report_package: None,
) -> None:
    allan = import_module("report.allan")
    noise = np.random.default_rng(5).normal(0.0, 0.1, (400_000, 3))
    tau, deviation = allan.deviations(noise, 800.0)
    assert tau[0] == pytest.approx(1.0 / 800.0)
    assert np.all(np.diff(tau) > 0.0)
    density = 0.1 / math.sqrt(800.0)
    # of n independent clusters the deviation is known to 1 / sqrt(2 n), here within 4 of these
    known = 4.0 / np.sqrt(2.0 * (500.0 / tau - 1.0))
    for axis in "xyz":
        assert np.all(np.abs(deviation[axis] * np.sqrt(tau) / density - 1.0) < known + 0.01)
