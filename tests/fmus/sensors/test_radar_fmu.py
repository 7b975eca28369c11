"""FMU ``Radar``, model cone: the tables of its source, its targets, files and states."""

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest

from sensor_models.scene.registry import open_scene
from tests.fmus.host import Instance, open_fmu
from tests.sensor_models.scene_files import write_manifest

#: The front of a plate of 1 m x 1 m is 1e-5 m before its middle, as in the source.
PLATE = """
[meshes.plate]
box = { size = [2e-5, 1, 1] }
material = "concrete"

"""
WIDE = {"h_angle": 2.0, "v_angle": 2.0}
CSV, CLOSING, TRUE = 1, 1, 1

Radar = Callable[..., Instance]


def plate(place: str, entity_id: int = 1, more: str = "") -> str:
    return f'[[instances]]\nmesh = "plate"\nentity_id = {entity_id}\nposition = {place}\n{more}\n'


@pytest.fixture
def radar(fmu_directory: Path, tmp_path: Path) -> Iterator[Radar]:
    """Begins a radar in a scene of plates."""
    opened = []

    def begin(scene: str, **parameters: Any) -> Instance:
        folder = tmp_path / str(len(opened))
        folder.mkdir()
        context = open_fmu(fmu_directory / "Radar.fmu", "radar")
        sensor = context.__enter__()
        opened.append(context)
        manifest = write_manifest(folder, PLATE + scene)
        sensor.initialize({"scene": str(manifest), "write_files": 1, **WIDE, **parameters})
        return sensor

    yield begin
    for context in opened:
        context.__exit__(None, None, None)


@pytest.mark.parametrize(
    ("lines", "distance", "elevation", "tangent", "tolerance"),
    [
        pytest.param(2, 1.118025, 26.56528, 0.5, 1e-6, marks=pytest.mark.acceptance("CONE-1")),
        pytest.param(
            10, 1.001532, 3.179862, 0.055556, 1e-6, marks=pytest.mark.acceptance("CONE-2")
        ),
        pytest.param(
            100, 1.000003, 0.2893734, 0.0050505, 1e-6, marks=pytest.mark.acceptance("CONE-3")
        ),
        pytest.param(
            1000, 0.99999, 0.02867683, 0.000500505, 1e-5, marks=pytest.mark.acceptance("CONE-4")
        ),
        pytest.param(3, 0.99999, 0.0, 0.0, 1e-6, marks=pytest.mark.acceptance("CONE-5")),
    ],
)
def test_the_error_of_a_plate_ahead_falls_with_the_number_of_lines(
    radar: Radar, lines: int, distance: float, elevation: float, tangent: float, tolerance: float
) -> None:
    sensor = radar(plate("[1, 0, 0]"), lines_per_face=lines)
    sensor.step(0.0, 0.1)
    assert sensor.get("detected") is True
    assert sensor.get("range") == pytest.approx(distance, abs=tolerance)
    angle = sensor.get("elevation")
    assert math.degrees(angle) == pytest.approx(elevation, abs=1e-4)
    assert math.tan(angle) == pytest.approx(tangent, abs=1e-7 if lines == 1000 else 1e-5)
    assert sensor.get("azimuth") == pytest.approx(0.0, abs=1e-6)


@pytest.mark.acceptance("CONE-7")
def test_an_oblique_plate(radar: Radar) -> None:
    sensor = radar(
        plate("[7, 5, 0]", more="roll_pitch_yaw_deg = [0, 0, 35.5377]"), lines_per_face=1000
    )
    sensor.step(0.0, 0.1)
    assert sensor.get("range") == pytest.approx(8.602315, abs=2e-5)
    assert math.degrees(sensor.get("azimuth")) == pytest.approx(35.53768, abs=5e-5)
    assert math.degrees(sensor.get("elevation")) == pytest.approx(0.0040967, abs=2e-6)


@pytest.mark.acceptance("CONE-8")
@pytest.mark.parametrize("speed", [0.25, 1.0, 2.0])
@pytest.mark.parametrize(("mode", "sign"), [(0, 1.0), (CLOSING, -1.0)])
def test_speeds_are_exact(radar: Radar, speed: float, mode: int, sign: float) -> None:
    """The sensor goes back from the plate, so the range grows."""
    sensor = radar(plate("[5, 0, 0]"), lines_per_face=101, speed_mode=mode, sample_rate=20.0)
    for step in range(21):
        time = 0.05 * step
        sensor.set({"body.position.x": -speed * time, "body.velocity.x": -speed})
        sensor.step(time, 0.05)
        if step > 1:
            assert sensor.get("speed") == pytest.approx(sign * speed, abs=1e-9)
            assert sensor.get("target_1.speed") == sensor.get("speed")
        elif step == 0:
            assert sensor.get("speed") == 0.0


def test_targets_are_sorted_and_hide_nothing(radar: Radar) -> None:
    scene = "".join(plate(f"[{9 - n}, 0, 0]", 10 + n) for n in range(3))
    scene += plate("[-3, 0, 0]", 50) + plate("[30, 0, 0]", 51)
    sensor = radar(scene, lines_per_face=3)
    sensor.step(0.0, 0.1)
    assert sensor.get("target_count") == 3
    assert [sensor.get(f"target_{n}.entity_id") for n in range(1, 5)] == [12, 11, 10, -1]
    ranges = [sensor.get(f"target_{n}.range") for n in range(1, 5)]
    np.testing.assert_allclose(ranges, [6.99999, 7.99999, 8.99999, 0.0], atol=1e-9)
    assert sensor.get("entity_id") == 12


def test_another_nearest_has_the_speed_that_it_had_before(radar: Radar) -> None:
    """Both plates stay where they are; the sensor goes from one to the other."""
    sensor = radar(plate("[4, 0, 0]", 1) + plate("[3.8, 1.9, 0]", 2), lines_per_face=101)
    seen = []
    for step in range(4):
        sensor.set({"body.position.y": 0.4 * step})
        sensor.step(0.1 * step, 0.1)
        seen.append((sensor.get("entity_id"), sensor.get("speed"), sensor.get("target_1.speed")))
    changed = [k for k in range(1, 4) if seen[k][0] != seen[k - 1][0]]
    assert changed
    for _, speed, first in seen[1:]:
        assert speed == first
        assert speed > 0.0


def test_an_obstacle_that_is_new_has_no_speed(radar: Radar) -> None:
    sensor = radar(plate("[3, 0, 0]", 1) + plate("[-4, 0, 0]", 2), lines_per_face=3)
    speeds = []
    for step, turned in enumerate([0, 0, 1, 1]):
        half_turn = {"body.orientation.w": 1.0 - turned, "body.orientation.z": float(turned)}
        sensor.set({**half_turn, "body.position.x": 0.1 * step})
        sensor.step(0.1 * step, 0.1)
        speeds.append((sensor.get("entity_id"), sensor.get("speed")))
    assert speeds[0] == (1, 0.0)
    assert speeds[1] == (1, pytest.approx(1.0))
    assert speeds[2] == (2, 0.0)
    assert speeds[3] == (2, pytest.approx(1.0))


def test_the_true_elevation_is_that_above_the_level_plane(radar: Radar) -> None:
    scene = plate("[2, 2, 1]")
    points = {}
    for mode in (0, TRUE):
        sensor = radar(scene, obstacles=2, elevation_mode=mode)
        sensor.step(0.0, 0.1)
        points[mode] = sensor.get("elevation")
    assert points[0] == pytest.approx(math.atan2(1.0, 2.0), abs=1e-12)
    assert points[TRUE] == pytest.approx(math.atan2(1.0, math.hypot(2.0, 2.0)), abs=1e-12)


def test_proxies_stand_for_obstacles(radar: Radar) -> None:
    ranges = []
    for shape in (0, 1, 2):
        sensor = radar(plate("[1, 0, 0]"), lines_per_face=3, obstacles=shape)
        sensor.step(0.0, 0.1)
        ranges.append(sensor.get("range"))
    np.testing.assert_allclose(ranges, [0.99999, 0.99999, 1.0], rtol=0, atol=1e-9)


def test_what_is_ignored_is_no_target(radar: Radar) -> None:
    scene = plate("[3, 0, 0]", 1, 'name = "near"') + plate("[4, 0, 0]", 2)
    sensor = radar(scene, ignore="near, nothing")
    sensor.step(0.0, 0.1)
    assert sensor.get("target_count") == 1
    assert sensor.get("entity_id") == 2
    assert any("['nothing']" in message.text for message in sensor.messages)


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_detections_are_written(radar: Radar, tmp_path: Path, kind: str) -> None:
    out = tmp_path / "out"
    scene = plate("[3, 0, 0]", 7) + plate("[5, 0.2, 0]", 8)
    files = {"write_files": 2, "output_directory": str(out), "output_format": int(kind == "csv")}
    sensor = radar(scene, lines_per_face=3, **files)
    for step in range(3):
        sensor.step(0.1 * step, 0.1)
    sensor.terminate()
    newest = Path(sensor.get("frame.file"))
    assert newest.name == f"radar-000002.detections.{kind}"
    if kind == "csv":
        names, *rows = (line.split(",") for line in newest.read_text().splitlines())
        table = {name: [float(row[n]) for row in rows] for n, name in enumerate(names)}
    else:
        table = pyarrow.parquet.read_table(newest).to_pydict()
    assert table["entity_id"] == [7, 8]
    assert table["sample"] == [2, 2]
    np.testing.assert_allclose(table["x"], [2.99999, 4.99999], rtol=0, atol=1e-9)
    assert table["speed"] == [0.0, 0.0]
    _, *lines = (json.loads(line) for line in (out / "index.jsonl").read_text().splitlines())
    assert [line["detections"] for line in lines] == [2, 2, 2]


def test_bodies_are_seen_where_they_are(fmu_directory: Path, tmp_path: Path) -> None:
    """A plate on a body comes at 2 m/s; the sensor takes it by the handle of its scene."""
    body = '[[bodies]]\nname = "car"\nposition = [9, 0, 0]\n\n'
    manifest = write_manifest(tmp_path, PLATE + body + plate("[0, 0, 0]", 5, 'body = "car"'))
    with open_scene(str(manifest)) as world, open_fmu(fmu_directory / "Radar.fmu") as sensor:
        values = {"lines_per_face": 3, "speed_mode": CLOSING, "sample_rate": 20.0, **WIDE}
        sensor.initialize({"write_files": 1, "scene_handle": world.number, **values})
        for step in range(11):
            time = 0.1 * step
            car = [9.0 - 2.0 * time, 0, 0, 1, 0, 0, 0, -2.0, 0, 0, 0, 0, 0]
            world.move(time, [car])
            sensor.step(time, 0.1)
            # The frame at an instant between the last two known states is the newest.
            instant = sensor.get("frame.time")
            assert sensor.get("range") == pytest.approx(9.0 - 2.0 * instant - 1e-5, abs=1e-9)
            if step:
                assert sensor.get("speed") == pytest.approx(2.0, abs=1e-7)


@pytest.mark.parametrize("name", ["h_angle", "v_angle", "length"])
def test_no_cone_is_refused(fmu_directory: Path, name: str) -> None:
    with open_fmu(fmu_directory / "Radar.fmu") as sensor:
        sensor.set({name: 0.0})
        sensor.set_up()
        sensor.enter()
        assert name in sensor.refusal(sensor.exit)
