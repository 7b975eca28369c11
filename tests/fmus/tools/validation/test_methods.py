"""Methods on records and frames that are made here, whose truth is known."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from fmus.tools.validation.methods import METHODS, Outcome, Run
from fmus.tools.validation.methods.inertial import fit_terms


def run_with(
    folder: Path,
    columns: Mapping[str, Any] | None = None,
    frames: Mapping[str, Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
    at: float = 0.0,
    **line: Any,
) -> Run:
    """A run that left this record and these frames."""
    folder.mkdir(parents=True, exist_ok=True)
    if columns is not None:
        pyarrow.parquet.write_table(pa.table(dict(columns)), folder / "x.parquet")
    for name, array in (frames or {}).items():
        np.save(folder / name, array)
    lines = [{"parameters": dict(parameters or {})}, line]
    (folder / "index.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return Run(at, folder, {}, 1.0)


def outcome_of(method: str, *runs: Run, **options: Any) -> Outcome:
    known = METHODS[method]
    return known.function(runs, {**known.options, **options})


def test_the_terms_of_an_exact_curve_are_found() -> None:
    taus = np.geomspace(0.01, 2000.0, 60)
    for noise, flat, walk in ((1e-3, 3e-4, 2e-5), (1e-3, 0.0, 2e-5), (2.0, 0.5, 0.0)):
        curve = np.sqrt(noise**2 / taus + flat**2 + walk**2 * taus / 3.0)
        found = fit_terms(taus, curve, 1e4 / taus)
        np.testing.assert_allclose(found, (noise, flat, walk), rtol=1e-6, atol=1e-9)


def test_white_noise_and_a_walk_are_told_apart(tmp_path: Path) -> None:
    """An own generator: white noise of density N at a rate, and a walk of K√dt a step."""
    rate, count, noise, walk = 20.0, 400_000, 2e-3, 1e-4
    draw = np.random.default_rng(5)
    columns: dict[str, Any] = {"time": np.arange(count) / rate}
    for axis in "xyz":
        steps = draw.normal(0.0, walk / math.sqrt(rate), count)
        white = draw.normal(0.0, noise * math.sqrt(rate), count)
        columns[f"gyroscope.{axis}"] = np.cumsum(steps) + white
    outcome = outcome_of("allan", run_with(tmp_path, columns), sensors=["gyroscope"])
    assert outcome.values["gyroscope.noise"] == pytest.approx(noise, rel=0.02)
    assert outcome.values["gyroscope.walk"] == pytest.approx(walk, rel=0.08)
    # σ² is least where the two parts are equal: 2 N K / √3
    least = math.sqrt(2.0 * noise * walk / math.sqrt(3.0))
    assert outcome.values["gyroscope.floor"] == pytest.approx(least, rel=0.05)
    at_one = math.sqrt(noise**2 + walk**2 / 3.0)
    assert outcome.value("gyroscope.deviation", 1.0) == pytest.approx(at_one, rel=0.02)


def test_samples_and_their_least_step(tmp_path: Path) -> None:
    values = np.array([0.5, 0.25, 0.5, 1.0, 0.25, 0.5])
    run = run_with(tmp_path, {"time": np.arange(6) / 10.0, "position": values})
    outcome = outcome_of("samples", run, columns=["position"])
    assert outcome.values["position.mean"] == pytest.approx(0.5)
    assert outcome.values["position.rms"] == pytest.approx(values.std(ddof=1))
    assert outcome.values["position.step"] == pytest.approx(0.25)
    assert outcome.values["position.rate"] == pytest.approx(10.0)
    assert outcome.values["position.peak_to_peak"] == pytest.approx(0.75)


def test_a_reading_that_starts_again_is_unwrapped(tmp_path: Path) -> None:
    times = np.linspace(0.0, 10.0, 1001)
    turned = 3.0 * times
    columns = {"time": times, "position": np.mod(turned, math.tau) - 0.01}
    run = run_with(tmp_path, columns, parameters={"lower": 0.0, "upper": math.tau})
    outcome = outcome_of("truth", run, column="position", slope=3.0)
    assert outcome.values["error.mean"] == pytest.approx(-0.01, abs=1e-9)
    assert outcome.values["error.most"] == pytest.approx(0.01, abs=1e-9)


def test_errors_of_positions_in_metres(tmp_path: Path) -> None:
    """A metre to the east and two to the north, at 48 deg; pymap3d says where that is."""
    import pymap3d

    latitude, longitude, _ = pymap3d.enu2geodetic(1.0, 2.0, 0.0, 48.0, 11.0, 500.0)
    count = 20
    columns = {
        "time": np.arange(count, dtype=float),
        "latitude": np.full(count, math.radians(latitude)),
        "longitude": np.full(count, math.radians(longitude)),
        "height": np.full(count, 503.0),
        "satellites": np.full(count, 9),
        "carrier_solution": np.where(np.arange(count) < 4, 0, 2),
        "velocity.east": np.full(count, 0.3),
        "velocity.north": np.full(count, 0.0),
        "velocity.up": np.full(count, 0.0),
    }
    where = {"origin.latitude": math.radians(48.0), "origin.longitude": math.radians(11.0)}
    run = run_with(tmp_path, columns, parameters={**where, "origin.height": 500.0})
    values = outcome_of("positions", run).values
    assert values["east.rms"] == pytest.approx(1.0, abs=1e-5)
    assert values["north.rms"] == pytest.approx(2.0, abs=1e-5)
    assert values["horizontal.p50"] == pytest.approx(math.sqrt(5.0), abs=1e-5)
    assert values["up.rms"] == pytest.approx(3.0)
    assert values["velocity.rms"] == pytest.approx(0.3 / math.sqrt(3.0))
    assert values["convergence"] == 4.0


POINT = np.dtype(
    [(name, "<f4") for name in ("x", "y", "z", "intensity", "range", "azimuth", "elevation")]
    + [("ring", "<u2"), ("return_number", "u1"), ("atmospheric", "<u2")]
)


def wall_points(at: float, error: Any) -> Any:
    """Points of a wall across x, with errors along their rays."""
    draw = np.random.default_rng(7)
    points = np.zeros(len(error), POINT)
    azimuth, elevation = draw.uniform(-0.3, 0.3, (2, len(error)))
    ranges = at / np.cos(azimuth) / np.cos(elevation) + error
    points["range"], points["azimuth"], points["elevation"] = ranges, azimuth, elevation
    points["x"] = ranges * np.cos(elevation) * np.cos(azimuth)
    points["y"] = ranges * np.cos(elevation) * np.sin(azimuth)
    points["z"] = ranges * np.sin(elevation)
    points["return_number"], points["intensity"] = 1, 2.0
    return points


def test_a_wall_seen_with_a_bias_and_noise(tmp_path: Path) -> None:
    error = np.random.default_rng(3).normal(0.05, 0.02, 5000)
    run = run_with(tmp_path, frames={"x-0.points.npy": wall_points(5.0, error)}, at=5.0)
    outcome = outcome_of("wall", run, spread=True)
    assert outcome.value("bias", 5.0) == pytest.approx(error.mean(), abs=1e-5)
    assert outcome.value("sigma", 5.0) == pytest.approx(error.std(), rel=1e-3)
    assert outcome.value("relative", 5.0) == pytest.approx(error.std() / 5.0, rel=1e-3)
    # of rays up to 0.3 rad off the axis, errors across the wall are some per cent smaller
    assert outcome.value("plane", 5.0) == pytest.approx(0.02, rel=0.06)
    assert outcome.value("echoes", 5.0) == 1.0
    assert outcome.value("scatter", 5.0) == 0.0


def test_a_wall_that_is_not_seen_at_one_range_has_no_numbers_there(tmp_path: Path) -> None:
    near = run_with(tmp_path / "near", frames={"x-0.points.npy": np.zeros(0, POINT)}, at=1.0)
    far = run_with(
        tmp_path / "far", frames={"x-0.points.npy": wall_points(5.0, np.zeros(9))}, at=5.0
    )
    outcome = outcome_of("wall", near, far)
    assert math.isnan(outcome.value("bias", 1.0))
    assert outcome.value("valid", 1.0) == 0.0
    assert outcome.value("valid", 5.0) == 1.0


def backing(ranges: Any, rays: Any) -> dict[str, Any]:
    """A frame for each range, of so many points of a wall."""
    return {
        f"x-{k:02}.points.npy": wall_points(float(at), np.zeros(int(count)))
        for k, (at, count) in enumerate(zip(ranges, rays, strict=True))
    }


def test_the_reach_is_the_last_range_at_which_half_of_the_rays_return(tmp_path: Path) -> None:
    ranges = np.arange(30.0, 50.0)
    rays = np.where(ranges <= 38.0, 400, np.where(ranges <= 41.0, 210, 190))
    run = run_with(tmp_path / "fades", frames=backing(ranges, rays), at=0.1)
    outcome = outcome_of("reach", run, window=0.4)
    assert outcome.value("reach", 0.1) == pytest.approx(41.0)
    assert outcome.values["reach"] == pytest.approx(41.0)
    seen = run_with(tmp_path / "seen", frames=backing(ranges, [400] * len(ranges)))
    with pytest.raises(ValueError, match="of 20 frames 20 see the wall"):
        outcome_of("reach", seen, window=0.4)


def test_depths_that_are_lost_count(tmp_path: Path) -> None:
    depth = np.full((40, 60), 2.0, np.float32)
    depth[:10] = 0.0
    matrix = [[60.0, 0.0, 29.5], [0.0, 60.0, 19.5], [0.0, 0.0, 1.0]]
    run = run_with(tmp_path, frames={"x-0.depth.npy": depth}, at=2.0,
                   opencv={"camera_matrix": matrix})  # fmt: skip
    outcome = outcome_of("wall", run, window=1.0)
    assert outcome.value("valid", 2.0) == pytest.approx(0.75)
    assert outcome.value("plane", 2.0) == pytest.approx(0.0, abs=1e-9)


def test_visibility_from_the_law_of_the_loss(tmp_path: Path) -> None:
    runs = []
    for at in (10.0, 30.0):
        for name, loss in (("clear", 0.0), ("fog", math.log(20.0) / 150.0)):
            points = wall_points(at, np.zeros(50))
            points["intensity"] = 0.4 * math.exp(-2.0 * at * loss)
            folder = tmp_path / f"{name}-{at:g}"
            runs.append(run_with(folder, frames={"x-0.points.npy": points}, at=at))
    outcome = outcome_of("attenuation", *runs, contrast=0.05)
    assert outcome.values["visibility"] == pytest.approx(150.0, rel=1e-5)


def test_photon_transfer_of_pictures_that_are_drawn_here(tmp_path: Path) -> None:
    """Poisson electrons with read noise, through gain and steps, clipped at the full well."""
    gain, read, well, black = 0.2, 6.0, 15_000.0, 100.0
    draw = np.random.default_rng(11)
    runs = []
    exposures = [0.0, *np.linspace(0.05, 1.25, 61)]
    for exposure in exposures:
        frames = {}
        for number in range(2):
            electrons = np.minimum(draw.poisson(exposure * well, (200, 200)), well)
            signal = electrons + draw.normal(0.0, read, electrons.shape)
            frames[f"x-{number}.picture.npy"] = np.rint(black + gain * signal).astype(np.uint16)
        folder = tmp_path / f"{exposure:.3f}"
        runs.append(run_with(folder, frames=frames, at=float(exposure)))
    values = outcome_of("photon_transfer", *runs).values
    assert values["gain"] == pytest.approx(gain, rel=0.02)
    assert values["dark_noise"] == pytest.approx(math.hypot(read, 1.0 / gain / 12**0.5), rel=0.02)
    assert values["full_well"] == pytest.approx(well, rel=0.05)  # between two exposures
    assert values["snr"] == pytest.approx(10.0 * math.log10(well), abs=0.3)


def test_a_result_that_is_not_there_is_refused_with_those_that_are() -> None:
    outcome = Outcome({"noise": 1.0}, {"curve": (np.array([1.0, 4.0]), np.array([1.0, 2.0]))})
    assert outcome.value("curve", 2.0) == pytest.approx(math.sqrt(2.0))  # a line of logarithms
    with pytest.raises(KeyError, match="no number nois; it has noise"):
        outcome.value("nois", None)
    with pytest.raises(KeyError, match="5 is not on the curve, which goes from 1 to 4"):
        outcome.value("curve", 5.0)
