"""FMU ``Radar``, model ray_traced: cross sections, speeds and angles in its list, files, states."""

import json
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from sensor_models.scene.registry import SceneHandle, open_scene
from tests.fmus.host import Instance, open_fmu

WAVELENGTH = 299792458.0 / 77e9
SIDE = 0.1
RAY_TRACED = 1
UNIT = 4.0 * math.pi * SIDE**4 / WAVELENGTH**2
#: Closed forms of the targets, m2, by their entity ids.
CLOSED = {1: UNIT, 2: 2.0 * UNIT, 3: UNIT / 3.0, 4: math.pi * 0.1**2}
AWAY = [-500.0, 0.0, 0.0]


def near_field(distance: float) -> float:
    """What a plate loses of its cross section as its edges are further away than its middle."""
    across = np.linspace(-0.5 * SIDE, 0.5 * SIDE, 2001)
    phases = np.exp(2j * np.pi / WAVELENGTH * across**2 / distance)
    return float(np.abs(phases.mean()) ** 4)


@pytest.fixture
def world() -> Iterator[SceneHandle]:
    with open_scene("radar_range") as handle:
        yield handle


@pytest.fixture
def radar(fmu_directory: Path) -> Iterator[Instance]:
    with open_fmu(fmu_directory / "Radar.fmu", "radar") as instance:
        yield instance


def states(places: dict[int, list[float]], velocity: list[float]) -> np.ndarray:
    """States of the four bodies: those that are not placed are far behind."""
    rows = np.zeros((4, 13))
    rows[:, 3] = 1.0
    for body in range(4):
        rows[body, :3] = places.get(body, AWAY)
        if body in places:
            rows[body, 7:10] = velocity
    return rows


def drive(radar: Instance, world: SceneHandle, time: float, places: dict[int, list[float]],
          velocity: list[float] | None = None) -> None:  # fmt: skip
    """Tell where bodies are at an instant, then step from it."""
    world.move(time, states(places, velocity or [0.0, 0.0, 0.0]))
    radar.step(time, 0.05)


@pytest.mark.parametrize("entity", [1, 2, 3, 4])
def test_cross_sections_in_the_list_of_targets(
    radar: Instance, world: SceneHandle, entity: int
) -> None:
    """By all defaults, noise included, within 1 dB of the closed form from 10 to 50 m.

    The sphere needs 20 dB more power: at 12 dBm it is as strong as peaks of the noise from 35 m on.
    """
    more = {"transmit_power": 1.58} if entity == 4 else {}
    radar.initialize(
        {
            "model": RAY_TRACED,
            "write_files": 1,
            "scene_handle": world.number,
            "sample_rate": 20.0,
            **more,
        }
    )
    distances = [10.0, 20.0, 35.0, 47.0]
    for step in range(len(distances) + 1):
        distance = distances[min(step, len(distances) - 1)]
        # Bodies that jump have no speed here: each place is told twice.
        time = 0.05 * step
        world.move(max(time - 0.02, 0.0), states({entity - 1: [distance, 0.0, 0.0]}, [0, 0, 0]))
        drive(radar, world, time, {entity - 1: [distance, 0.0, 0.0]})
        if step == 0:
            assert radar.get("frame.count") == 0  # the end of its first frame is not known
            world.move(time + 0.02, states({entity - 1: [distance, 0.0, 0.0]}, [0, 0, 0]))
            continue
        seen = distances[step - 1]
        world.move(time + 0.02, states({entity - 1: [distance, 0.0, 0.0]}, [0, 0, 0]))
        assert radar.get("sample.time") == pytest.approx(0.05 * (step - 1))
        assert radar.get("target_1.entity_id") == entity
        assert radar.get("entity_id") == entity  # the nearest is no noise
        front = seen - (0.1 if entity == 4 else 0.0)
        assert radar.get("target_1.range") == pytest.approx(front, abs=0.06)
        assert radar.get("target_1.azimuth") == pytest.approx(0.0, abs=0.01)
        assert radar.get("target_1.speed") == pytest.approx(0.0, abs=0.03)
        closed = CLOSED[entity] * (near_field(seen) if entity == 1 else 1.0)
        off = 10.0 * math.log10(radar.get("target_1.rcs") / closed)
        assert abs(off) < 1.0, (seen, off)


@pytest.mark.acceptance("RAD-18")
def test_the_signal_to_noise_ratio_of_a_trihedral(radar: Instance, world: SceneHandle) -> None:
    """At 50 m 39.685 dB; here at 40 m."""
    radar.initialize(
        {"model": RAY_TRACED, "write_files": 1, "scene_handle": world.number,
         "transmit_power": 0.015849, "noise_figure": 25.11886, "pattern": "isotropic"}
    )  # fmt: skip
    for step in range(2):
        drive(radar, world, 0.05 * step, {2: [40.0, 0.0, 0.0]})
    expected = 39.685 + 40.0 * math.log10(50.0 / 40.0)
    assert 10.0 * math.log10(radar.get("target_1.snr")) == pytest.approx(expected, abs=0.7)


def test_speed_range_and_angle_of_what_moves(radar: Instance, world: SceneHandle) -> None:
    """The trihedral closes with 4 m/s from 20 deg to the left, while the radar goes 1 m/s."""
    radar.initialize({"model": RAY_TRACED, "write_files": 1, "scene_handle": world.number})
    angle, start = math.radians(20.0), np.array([18.0, 0.0, 0.0])
    axis = np.array([math.cos(angle), math.sin(angle), 0.0])
    for step in range(4):
        time = 0.05 * step
        place = (start[0] - 4.0 * time) * axis
        rows = states({2: place.tolist()}, (-4.0 * axis).tolist())
        rows[2, 3:7] = [math.cos(0.5 * angle), 0.0, 0.0, math.sin(0.5 * angle)]
        world.move(time, rows)
        radar.set({"body.position.x": 1.0 * time, "body.velocity.x": 1.0})
        radar.step(time, 0.05)
    time = radar.get("sample.time")
    seen = (18.0 - 4.0 * time) * axis - np.array([time, 0.0, 0.0])
    distance = float(np.linalg.norm(seen))
    speed = 4.0 + seen[0] / distance
    shift = 77e9 / 30e12 * speed  # a closing target reads short
    assert radar.get("target_1.range") == pytest.approx(distance - shift, abs=0.03)
    assert radar.get("target_1.speed") == pytest.approx(speed, abs=0.03)
    assert radar.get("target_1.azimuth") == pytest.approx(math.atan2(seen[1], seen[0]), abs=0.006)
    assert radar.get("target_1.entity_id") == 3
    off = 10.0 * math.log10(radar.get("target_1.rcs") / CLOSED[3])
    assert abs(off) < 1.0


@pytest.mark.parametrize("speed", [-30.0, -17.0, -11.0, 11.0, 20.0, 30.0])
def test_a_target_on_the_road_has_its_speed_and_direction(
    radar: Instance, world: SceneHandle, speed: float
) -> None:
    """The trihedral comes or goes at up to 2.8 times the unambiguous speed, 17 degrees aside."""
    radar.initialize(
        {"model": RAY_TRACED, "write_files": 1, "scene_handle": world.number, "speed_extended": 1}
    )
    axis = np.array([math.cos(0.3), math.sin(0.3), 0.0])
    for step in range(3):
        rows = states({2: ((22.0 - speed * 0.05 * step) * axis).tolist()}, (-speed * axis).tolist())
        rows[2, 3:7] = [math.cos(0.15), 0.0, 0.0, math.sin(0.15)]
        world.move(0.05 * step, rows)
        radar.step(0.05 * step, 0.05)
    assert radar.get("target_count") == 1
    assert radar.get("speed") == pytest.approx(speed, abs=0.05)
    assert radar.get("azimuth") == pytest.approx(0.3, abs=math.radians(0.5))
    assert radar.get("entity_id") == 3


def test_a_rate_that_is_not_used_is_told(radar: Instance) -> None:
    radar.initialize({"model": RAY_TRACED, "write_files": 1, "cfar.false_alarm": 1e-6})
    assert any("cfar.false_alarms_per_frame" in message.text for message in radar.messages)


def test_files_of_targets_and_cubes(radar: Instance, world: SceneHandle, tmp_path: Path) -> None:
    more = {"write_files": 2, "output_directory": str(tmp_path), "output_format": 1}
    radar.initialize({"model": RAY_TRACED, "scene_handle": world.number, **more})
    for step in range(3):
        drive(radar, world, 0.05 * step, {0: [20.0, 0.0, 0.0]})
    radar.slave.terminate()
    lines = [json.loads(line) for line in (tmp_path / "index.jsonl").read_text().splitlines()]
    kinds = [line["kind"] for line in lines if "kind" in line]
    assert kinds.count("detections") == kinds.count("cube") == 2
    assert Path(radar.get("cube.file")).exists()
    cube = np.load(sorted(tmp_path.glob("*.cube.npy"))[0])
    assert cube.shape == (256, 128, 12)
    assert cube.dtype == np.complex64
    row, chirp, _ = np.unravel_index(int(np.abs(cube).argmax()), cube.shape)
    assert (row, chirp) == (round(20.0 / lines[-1]["range_cell"]), 0)
    table = sorted(tmp_path.glob("*.detections.csv"))[0].read_text().splitlines()
    assert table[0].split(",")[-2:] == ["rcs", "snr"]


def test_states_go_on_with_the_same_bits(radar: Instance, world: SceneHandle) -> None:
    radar.initialize({"model": RAY_TRACED, "write_files": 1, "scene_handle": world.number})

    def rest() -> list[float]:
        found = []
        for step in range(2, 4):
            drive(radar, world, 0.05 * step, {0: [20.0 + step, 0.5, 0.0]})
            found += [radar.get(f"target_1.{name}") for name in ("range", "azimuth", "rcs", "snr")]
        return found

    for step in range(2):
        drive(radar, world, 0.05 * step, {0: [20.0 + step, 0.5, 0.0]})
    saved = radar.slave.getFMUState()
    first = rest()
    radar.slave.setFMUState(saved)
    assert rest() == first
    radar.slave.freeFMUState(saved)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"transmitters": "0 0 0"}, "transmitters"),
        ({"pattern": "/nowhere/gain.csv"}, "pattern"),
        ({"chirp.interval": 1e-6}, "chirp.interval"),
        ({"cfar.rank": 17}, "cfar.rank"),
    ],
)
def test_bad_parameters_are_refused_by_name(
    radar: Instance, values: dict[str, object], words: str
) -> None:
    with pytest.raises(Exception, match=r"."):
        radar.initialize({"model": RAY_TRACED, "write_files": 1, **values})
    assert any(words in message.text for message in radar.messages)
