"""FMU ``Radar``: errors and faults on its targets, of both models, in closed form.

Sequence: zero offset, noise, drift, codes, limits, fault.
"""

import csv
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sensor_models.core.random import normal, stream_key, uniform
from sensor_models.kernels.math.normal_law import quantile
from sensor_models.scene.registry import open_scene
from tests.fmus.host import Instance, open_fmu
from tests.fmus.sensors.test_radar_fmu import CLOSING, CSV, PLATE, WIDE, plate
from tests.fmus.sensors.test_ray_traced_radar_fmu import RAY_TRACED, states
from tests.sensor_models.scene_files import write_manifest

READINGS = ("range", "azimuth", "elevation", "speed")
SCENE = plate("[4, 0.5, 0.2]", 3) + plate("[6, -1, 0]", 4)
NONE, OFF, ON, PRESENT, SET, MAX, MIN = range(7)
SQUARE = 1
STEPS = 6

Run = Callable[..., list[list[list[float]]]]


@pytest.fixture
def run(fmu_directory: Path, tmp_path: Path) -> Run:
    """Two plates before a radar that goes toward them: the readings of both of each frame."""

    def begin(
        faults: dict[int, dict[str, Any]] | None = None, steps: int = STEPS, **values: Any
    ) -> list[list[list[float]]]:
        manifest = write_manifest(tmp_path, PLATE + SCENE)
        own = {name.replace("__", "."): value for name, value in values.items()}
        seen = []
        with open_fmu(fmu_directory / "Radar.fmu", "radar") as sensor:
            sensor.initialize(
                {"scene": str(manifest), "write_files": 1, "lines_per_face": 3,
                 "speed_mode": CLOSING, "sample_rate": 10.0, "seed": 5, **WIDE, **own}
            )  # fmt: skip
            for step in range(steps):
                sensor.set({"body.position.x": 0.1 * step, **(faults or {}).get(step, {})})
                sensor.step(0.1 * step, 0.1)
                seen.append(rows_of(sensor))
        return seen

    return begin


def rows_of(sensor: Instance) -> list[list[float]]:
    """The readings of the nearest target, then of the first two of the list."""
    return [
        [sensor.get(f"{prefix}{name}") for name in READINGS]
        for prefix in ("", "target_1.", "target_2.")
    ]


@pytest.fixture
def truth(run: Run) -> np.ndarray:
    return np.array(run())


def same(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_an_offset_is_on_every_target(run: Run, truth: np.ndarray) -> None:
    offsets = [0.25, -0.02, 0.03, 0.5]
    biases = {f"bias__{name}": b for name, b in zip(READINGS, offsets, strict=True)}
    found, expected = np.array(run(**biases)), truth + offsets
    expected[0, :, 3] = 0.0  # of cone, a speed is not known in the first frame
    same(found, expected)


def test_noise_is_another_draw_for_each_reading_of_each_target(run: Run, truth: np.ndarray) -> None:
    spread = [0.1, 0.01, 0.02, 0.3]
    found = run(**{f"noise__rms__{name}": s for name, s in zip(READINGS, spread, strict=True)})
    key = stream_key(5, "Radar/radar", "targets.noise")
    for frame in range(1, STEPS):
        draws = np.array([normal(key, frame, lane) for lane in range(8)]).reshape(2, 4)
        rows = truth[frame, 1:] + spread * draws
        same(found[frame][1:], rows)
        same(found[frame][0], rows[rows[:, 0].argmin()])


@pytest.mark.parametrize("bound", [0.0, 0.05])
def test_a_walk_is_the_same_for_all_targets(run: Run, truth: np.ndarray, bound: float) -> None:
    walk = {"drift__walk__range": 0.2, "drift__walk__speed": 0.3, "drift__bound__range": bound}
    found = np.array(run(**walk)) - truth
    key = stream_key(5, "Radar/radar", "targets.drift")
    steps = [math.sqrt(0.1) * quantile(uniform(key, k, 3) - 0.5) for k in range(1, STEPS)]
    same(found[1:, :, 3], 0.3 * np.cumsum(steps)[:, np.newaxis] * np.ones(3))
    assert np.ptp(found[:, :, 0], axis=1).max() < 1e-12
    assert (found[0, :, 0] == 0.0).all()
    if bound:
        assert 0.0 < np.abs(found[:, :, 0]).max() <= bound + 1e-12
    else:
        own = [math.sqrt(0.1) * quantile(uniform(key, k, 0) - 0.5) for k in range(1, STEPS)]
        same(found[1:, 0, 0], 0.2 * np.cumsum(own))


def test_codes_and_limits(run: Run, truth: np.ndarray) -> None:
    """Limits are codes: 5.03 becomes 5.0."""
    found = np.array(
        run(
            discretization__on=True, discretization__mode=1, discretization__lsb__range=0.25,
            discretization__lsb__azimuth=0.01, saturation__on=True, saturation__max__range=5.03,
            saturation__max__speed=0.5, saturation__min__azimuth=-0.05,
        )
    )  # fmt: skip
    expected = truth.copy()
    expected[..., 0] = np.minimum(0.25 * np.floor(truth[..., 0] / 0.25), 5.0)
    expected[..., 1] = np.maximum(0.01 * np.floor(truth[..., 1] / 0.01), -0.05)
    expected[..., 3] = np.minimum(truth[..., 3], 0.5)
    same(found, expected)
    assert (found[:, 2, 0] == 5.0).any()


def test_bits_between_limits(run: Run, truth: np.ndarray) -> None:
    found = np.array(
        run(
            discretization__on=True, discretization__mode=3, discretization__bits=5,
            saturation__on=True, saturation__min__range=0.0, saturation__max__range=31.0,
        )
    )  # fmt: skip
    same(found[..., 0], np.floor(truth[..., 0] + 0.5))
    same(found[..., 1:], truth[..., 1:])


@pytest.mark.parametrize("mode", [OFF, ON, SET, MAX, MIN])
def test_a_stuck_range_is_that_of_all_targets(run: Run, truth: np.ndarray, mode: int) -> None:
    stuck = {OFF: 0.0, ON: 9.0, SET: 7.5, MAX: 9.0, MIN: 1.0}[mode]
    faults = {2: {"fault.range.mode": mode, "fault.range.value": 7.5}, 4: {"fault.range.mode": 0}}
    limits = {"saturation__min__range": 1.0, "saturation__max__range": 9.0}
    found = np.array(run(faults, saturation__on=True, **limits))
    expected = truth.copy()
    held = np.flatnonzero(found[:, 0, 0] == stuck)
    assert len(held) == 2
    assert held[0] in (1, 2, 3)
    expected[held, :, 0] = stuck
    same(found, expected)


def test_a_reading_that_is_held_is_that_of_the_nearest(run: Run, truth: np.ndarray) -> None:
    faults = {2: {"fault.range.mode": PRESENT, "fault.azimuth.mode": PRESENT}}
    found = np.array(run(faults))
    first = int(np.flatnonzero(found[:, 1, 0] == found[:, 2, 0])[0])
    assert first in (1, 2, 3)
    expected = truth.copy()
    for reading in (0, 1):
        expected[first:, :, reading] = truth[first, 0, reading]
    same(found, expected)


def test_a_wave_is_added_to_all(run: Run, truth: np.ndarray) -> None:
    """A square wave of 0.4 s from time 0: up in its first half."""
    wave = {"fault.speed.wave": SQUARE, "fault.speed.amplitude": 0.2, "fault.speed.period": 0.4}
    found = np.array(run({0: wave}))
    times = 0.1 * np.arange(STEPS) + 1e-9
    shape = np.where(np.mod(times, 0.4) < 0.2, 0.2, -0.2)
    same(found[1:, :, 3], truth[1:, :, 3] + shape[1:, np.newaxis])
    same(found[..., :3], truth[..., :3])


def test_a_limit_is_needed_to_be_stuck_at(fmu_directory: Path, tmp_path: Path) -> None:
    manifest = write_manifest(tmp_path, PLATE + SCENE)
    with open_fmu(fmu_directory / "Radar.fmu", "radar") as sensor:
        sensor.initialize({"scene": str(manifest), "write_files": 1, **WIDE})
        sensor.step(0.0, 0.1)
        before = sensor.get("range")
        sensor.set({"fault.range.mode": MAX})
        assert "limits" in sensor.refusal(lambda: sensor.step(0.1, 0.1))
        sensor.set({"fault.range.mode": NONE})
        sensor.step(0.1, 0.1)
        assert sensor.get("range") == before


def test_files_have_the_place_that_is_reported(fmu_directory: Path, tmp_path: Path) -> None:
    manifest, out = write_manifest(tmp_path, PLATE + SCENE), tmp_path / "out"
    with open_fmu(fmu_directory / "Radar.fmu", "radar") as sensor:
        sensor.initialize(
            {"scene": str(manifest), "write_files": 2, "output_directory": str(out),
             "output_format": CSV, "bias.range": 1.0, "bias.azimuth": 0.1, **WIDE}
        )  # fmt: skip
        sensor.step(0.0, 0.1)
        sensor.terminate()
        with Path(sensor.get("frame.file")).open(encoding="utf-8") as stream:
            (row, _) = csv.DictReader(stream)
        distance, azimuth = sensor.get("range"), sensor.get("azimuth")
        elevation = sensor.get("elevation")
    point = np.array([float(row[axis]) for axis in "xyz"])
    assert float(row["range"]) == pytest.approx(distance, abs=1e-12)
    assert np.linalg.norm(point) == pytest.approx(distance, abs=1e-9)
    assert math.atan2(point[1], point[0]) == pytest.approx(azimuth, abs=1e-12)
    assert math.atan2(point[2], point[0]) == pytest.approx(elevation, abs=1e-12)


def test_errors_of_a_ray_traced_radar(fmu_directory: Path) -> None:
    """A trihedral at 20 m: the same frame with errors, and one with a fault."""
    errors = {"bias.range": 0.5, "noise.rms.azimuth": 0.01, "saturation.on": True,
              "saturation.max.elevation": -0.1, "saturation.min.elevation": -0.2}  # fmt: skip
    seen = []
    for values in ({}, errors):
        with (
            open_scene("radar_range") as world,
            open_fmu(fmu_directory / "Radar.fmu", "radar") as sensor,
        ):
            sensor.initialize(
                {"model": RAY_TRACED, "write_files": 1, "scene_handle": world.number, "seed": 5,
                 "sample_rate": 20.0, **values}
            )  # fmt: skip
            for step in range(4):
                world.move(0.05 * step, states({2: [20.0, 0.0, 0.0]}, [0, 0, 0]))
                fault = SET if step == 3 else NONE
                sensor.set({"fault.speed.mode": fault, "fault.speed.value": 3.0})
                sensor.step(0.05 * step, 0.05)
                if step:
                    seen.append(rows_of(sensor)[:2])
    plain, spoilt = np.array(seen[:3]), np.array(seen[3:])
    key = stream_key(5, "Radar/radar", "targets.noise")
    noise = np.array([0.01 * normal(key, frame, 1) for frame in range(3)])
    same(spoilt[:, :, 0], plain[:, :, 0] + 0.5)
    same(spoilt[:, :, 1], plain[:, :, 1] + noise[:, np.newaxis])
    assert (spoilt[:, :, 2] == -0.1).all()
    assert (np.abs(plain[:, :, 3]) < 0.05).sum() >= 4
    assert (spoilt[:, :, 3] == 3.0).sum() == (plain[:, :, 3] == 3.0).sum()


def test_errors_are_in_a_saved_state(fmu_directory: Path, tmp_path: Path) -> None:
    """A walk and a reading that is held go on where they were."""
    manifest = write_manifest(tmp_path, PLATE + SCENE)
    with open_fmu(fmu_directory / "Radar.fmu", "radar") as sensor:
        sensor.initialize({"scene": str(manifest), "write_files": 1, "drift.walk.range": 0.2,
                           "fault.azimuth.mode": PRESENT, **WIDE})  # fmt: skip
        for step in range(3):
            sensor.set({"body.position.y": 0.1 * step})
            sensor.step(0.1 * step, 0.1)
        saved, seen = sensor.saved(), []
        for _ in range(2):
            sensor.restore(saved)
            for step in range(3, 6):
                sensor.step(0.1 * step, 0.1)
            seen.append(rows_of(sensor))
    assert seen[0] == seen[1]


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"saturation.min.range": 5.0, "saturation.max.range": 4.0}, "saturation.min.range"),
        ({"discretization.bits": 4, "discretization.lsb.range": 0.1}, "discretization.bits"),
        ({"discretization.on": True, "discretization.bits": 4}, "discretization.bits"),
        ({"saturation.on": True, "discretization.on": True, "discretization.lsb.speed": 1.0,
          "saturation.min.speed": 0.2, "saturation.max.speed": 0.4}, "saturation.min.speed"),
    ],
)  # fmt: skip
def test_errors_that_make_no_sense_are_refused(
    fmu_directory: Path, values: dict[str, Any], named: str
) -> None:
    with open_fmu(fmu_directory / "Radar.fmu") as sensor:
        sensor.set(values)
        sensor.set_up()
        sensor.enter()
        assert named in sensor.refusal(sensor.exit)
