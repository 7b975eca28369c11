"""Bodies that move past the FMUs that see, in steps of all lengths and by either rule for inputs.

A wall of 6 x 6 m on ``vehicle_1`` goes away along x at 8 m/s. What is seen of it lies on its near
face at the instant of the ray or row.
"""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.fmus.host import Instance, open_fmu
from tests.fmus.lidar_runs import HALF_WAGON, WAGON
from tests.sensor_models.scene_files import write_manifest

SPEED, START, END, NEAR = 8.0, 10.0, 1.0, 1e-3
NPY = 4
#: Instants that a master steps to.
CUTS = {
    "1 ms": np.arange(401) / 1000.0,
    "10 ms": np.arange(101) / 100.0,
    "100 ms": np.arange(11) / 10.0,
    "500 ms": np.array([0.0, 0.5, 1.0]),
    "irregular": np.array([0.0, 0.013, 0.1, 0.137, 0.2, 0.31, 0.5, 0.8, 0.95, 1.0]),
}
AHEAD = {
    "pattern.rows": 3,
    "pattern.columns": 60,
    "pattern.azimuth.min": -0.05,
    "pattern.azimuth.max": 0.05,
    "pattern.elevation.min": -0.05,
    "pattern.elevation.max": 0.05,
    "output_format": NPY,
}
READOUT, ROWS = 0.06, 16
IMAGE = {
    "width": 4,
    "height": ROWS,
    "horizontal_fov": 0.05,
    "max_range": 100.0,
    "normalize_range": False,
}
#: FMU and parameters of each sensor.
SENSORS: dict[str, tuple[str, dict[str, Any]]] = {
    "instant": ("Lidar", {**AHEAD, "scan_mode": 0}),
    "rolling": ("Lidar", {**AHEAD, "scan_mode": 1}),
    "raster": ("Lidar", {**AHEAD, "scan_mode": 1, "pattern.type": 2}),
    "rosette": (
        "Lidar",
        {"scan_mode": 1, "pattern.type": 4, "pattern.rows": 1, "pattern.columns": 3000}
        | {"output_format": NPY},
    ),
    "camera": (
        "DepthCamera",
        IMAGE,
    ),
    "shutter": (
        "DepthCamera",
        {**IMAGE, "rolling_shutter": READOUT},
    ),
}


@pytest.fixture
def scene(tmp_path: Path) -> str:
    return str(write_manifest(tmp_path, WAGON))


def wagon_at(time: float) -> dict[str, float]:
    still = {f"vehicle_1.position.{axis}": 0.0 for axis in "yz"}
    turn = {f"vehicle_1.orientation.{part}": float(part == "w") for part in "wxyz"}
    way = {"vehicle_1.position.x": START + SPEED * time, "vehicle_1.velocity.x": SPEED}
    return {**still, **turn, **way}


def go(environment: Instance, sensor: Instance, cut: np.ndarray, at_end: bool) -> None:
    """Both through the instants of a cut, the bodies first."""
    for time, after in pairwise(cut.tolist()):
        environment.set(wagon_at(after if at_end else time))
        environment.step(time, after - time)
        sensor.step(time, after - time)


def go_apart(
    environment: Instance, sensor: Instance, cut: np.ndarray, own: np.ndarray, at_end: bool
) -> None:
    """Each through its own cut, the bodies as far as the sensor at the end of its steps."""
    steps, done = iter(pairwise(cut.tolist())), 0.0
    for time, after in pairwise(own.tolist()):
        while done < after:
            begin, done = next(steps)
            environment.set(wagon_at(done if at_end else begin))
            environment.step(begin, done - begin)
        sensor.step(time, after - time)


@pytest.fixture
def run(fmu_directory: Path, environment_fmu: Path, scene: str, tmp_path: Path) -> Any:
    """Runs a sensor among the moving body; gives the folder of its files."""

    def take(kind: str, cut: np.ndarray, at_end: bool, name: str = "out") -> Path:
        fmu, parameters = SENSORS[kind]
        out, rule = tmp_path / name, {"inputs_at_step_end": at_end}
        with (
            open_fmu(environment_fmu, "world") as environment,
            open_fmu(fmu_directory / f"{fmu}.fmu", "eye") as sensor,
        ):
            environment.initialize({"scene": scene, **rule, **wagon_at(0.0)})
            where = {"scene_handle": environment.get("scene_handle"), "output_directory": str(out)}
            sensor.initialize({**parameters, **where, **rule, "sample_rate": 10.0})
            go(environment, sensor, cut, at_end)
            sensor.terminate()
        return out

    return take


def index_of(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "index.jsonl").read_text().splitlines()[1:]
    return [json.loads(line) for line in lines]


def off_face(kind: str, folder: Path) -> list[np.ndarray]:
    """How far what is seen in each frame lies from the face, at its own instant."""
    found = []
    if SENSORS[kind][0] == "DepthCamera":
        readout = READOUT if kind == "shutter" else 0.0
        for frame, file in enumerate(sorted(folder.glob("*.depth.npy"))):
            instants = 0.1 * frame + np.linspace(0.0, readout, ROWS)[:, None]
            found.append(np.load(file) - (START + SPEED * instants - HALF_WAGON))
        return found
    for frame, file in enumerate(sorted(folder.glob("*.points.npy"))):
        points = np.load(file)
        middle = np.abs(points["y"]) + np.abs(points["z"]) < 2.0
        points = points[(points["entity_id"] == 7) & middle]
        time = 0.1 * frame if kind == "instant" else points["time"]
        found.append(points["x"] - (START + SPEED * time - HALF_WAGON))
    return found


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("at_end", [False, True])
@pytest.mark.parametrize("kind", SENSORS)
def test_bodies_are_seen_where_they_are_at_the_instant_of_what_is_seen(
    run: Any, kind: str, at_end: bool, cut: str
) -> None:
    folder = run(kind, CUTS[cut], at_end)
    frames = off_face(kind, folder)
    # By the FMI rule the inputs of the last step are those of its beginning.
    known = CUTS[cut][-1 if at_end else -2]
    lasts = {"instant": 0.0, "camera": 0.0, "shutter": READOUT}.get(kind, 0.1)
    assert len(frames) == int((known - lasts) * 10.0 + 1.0 + 1e-6)
    for off in frames:
        assert off.size > 20
        assert np.abs(off).max() < NEAR
    assert not any("bodies_known_until" in line for line in index_of(folder))


@pytest.mark.parametrize("at_end", [False, True])
@pytest.mark.parametrize("kind", SENSORS)
def test_bits_do_not_depend_on_the_steps_of_the_sensor(
    fmu_directory: Path, environment_fmu: Path, scene: str, tmp_path: Path, kind: str, at_end: bool
) -> None:
    fmu, parameters = SENSORS[kind]
    cut = np.unique(np.concatenate(list(CUTS.values())))
    runs = []
    for name, own in CUTS.items():
        out = tmp_path / name
        with (
            open_fmu(environment_fmu, "world") as environment,
            open_fmu(fmu_directory / f"{fmu}.fmu", "eye") as sensor,
        ):
            rule = {"inputs_at_step_end": at_end}
            environment.initialize({"scene": scene, **rule, **wagon_at(0.0)})
            where = {"scene_handle": environment.get("scene_handle"), "output_directory": str(out)}
            sensor.initialize({**parameters, **where, **rule, "sample_rate": 10.0})
            go_apart(environment, sensor, cut, own, at_end)
            sensor.terminate()
        runs.append({file.name: file.read_bytes() for file in sorted(out.glob("eye-*"))})
    # Cuts that end sooner, or with a longer step, know less of the motion and have fewer frames.
    whole = max(runs, key=len)
    assert len(whole) >= 9
    for other in runs:
        assert len(other) >= 3
        assert other == {name: whole[name] for name in other}


@pytest.mark.parametrize("at_end", [False, True])
@pytest.mark.parametrize("kind", ["instant", "camera"])
def test_frames_at_instants_that_cuts_have_in_common_have_the_same_bits(
    run: Any, kind: str, at_end: bool
) -> None:
    """Here the bodies are cut as well: what is known of them is the same at those instants only."""
    fmu, _ = SENSORS[kind]
    pattern = "*.points.npy" if fmu == "Lidar" else "*.depth.npy"
    seen = {}
    for name, cut in CUTS.items():
        folder = run(kind, cut, at_end, name)
        files = [file.read_bytes() for file in sorted(folder.glob(pattern))]
        times = 0.1 * np.arange(len(files))
        known = np.isclose(times[:, None], cut[None], atol=1e-9, rtol=0.0).any(axis=1)
        seen[name] = {k: files[k] for k in np.flatnonzero(known).tolist()}
    for name, frames in seen.items():
        common = frames.keys() & seen["10 ms"].keys()
        assert {0} < common, name
        for frame in common:
            assert frames[frame] == seen["10 ms"][frame], (name, frame)


@pytest.mark.parametrize("kind", ["rolling", "raster", "shutter"])
def test_a_camera_or_lidar_stepped_further_than_the_bodies_says_so(
    fmu_directory: Path, environment_fmu: Path, scene: str, tmp_path: Path, kind: str
) -> None:
    fmu, parameters = SENSORS[kind]
    with (
        open_fmu(environment_fmu, "world") as environment,
        open_fmu(fmu_directory / f"{fmu}.fmu", "eye") as sensor,
    ):
        environment.initialize({"scene": scene, **wagon_at(0.0)})
        where = {"scene_handle": environment.get("scene_handle"), "output_directory": str(tmp_path)}
        sensor.initialize({**parameters, **where, "sample_rate": 10.0})
        for k in range(2):
            sensor.step(0.2 * k, 0.2)
        sensor.terminate()
    lines = index_of(tmp_path)
    assert {line["frame"] for line in lines} == {0, 1}
    assert {line["bodies_known_until"] for line in lines} == {0.0}


@pytest.mark.parametrize("kind", ["instant", "rolling", "raster", "camera", "shutter"])
def test_states_of_both_continue_with_the_same_bits_in_another_simulation(
    fmu_directory: Path, environment_fmu: Path, scene: str, tmp_path: Path, kind: str
) -> None:
    fmu, parameters = SENSORS[kind]
    cut, half = np.arange(15) * 0.03, 5

    def files() -> dict[str, bytes]:
        return {file.name: file.read_bytes() for file in sorted(tmp_path.glob("eye-*"))}

    with (
        open_fmu(environment_fmu, "world") as environment,
        open_fmu(fmu_directory / f"{fmu}.fmu", "eye") as sensor,
    ):
        environment.initialize({"scene": scene, **wagon_at(0.0)})
        number = environment.get("scene_handle")
        where = {"scene_handle": number, "output_directory": str(tmp_path)}
        sensor.initialize({**parameters, **where, "sample_rate": 10.0})
        go(environment, sensor, cut[: half + 1], False)
        saved = environment.saved(), sensor.saved()
        go(environment, sensor, cut[half:], False)
        sensor.terminate()
        whole = files()
        # Back in the same simulation.
        environment.restore(saved[0])
        sensor.restore(saved[1])
        go(environment, sensor, cut[half:], False)
        sensor.terminate()
        assert files() == whole
    with (
        open_fmu(environment_fmu, "world") as environment,
        open_fmu(fmu_directory / f"{fmu}.fmu", "eye") as sensor,
    ):
        environment.restore(saved[0])
        assert environment.get("scene_handle") == number
        sensor.restore(saved[1])
        go(environment, sensor, cut[half:], False)
        sensor.terminate()
    assert files() == whole
    assert len(whole) >= 3


#: Sensors whose frames last, and what they tell of what they see.
LASTING: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "rolling": (*SENSORS["rolling"], ["frame.count", "frame.points", "nearest.range"]),
    "shutter": (*SENSORS["shutter"], ["frame.count", "nearest.range"]),
}


@pytest.mark.parametrize("kind", LASTING)
def test_a_state_goes_on_in_another_scene_as_who_was_not_disturbed(
    fmu_directory: Path, environment_fmu: Path, scene: str, kind: str
) -> None:
    """Of the bodies before the change nothing is left, though their handle was another one."""
    fmu, parameters, told = LASTING[kind]
    times = 0.01 * np.arange(46)
    with (
        open_fmu(environment_fmu, "near") as near,
        open_fmu(environment_fmu, "far") as far,
        open_fmu(fmu_directory / f"{fmu}.fmu", "eye") as sensor,
    ):
        for world, off in ((near, 0.0), (far, 20.0)):
            world.initialize({"scene": scene, **wagon_at(0.0)})
            for time, after in pairwise(times.tolist()):
                there = wagon_at(time)
                there["vehicle_1.position.x"] += off * (1.0 + time)
                world.set(there)
                world.step(time, after - time)
        handle = {"scene_handle": near.get("scene_handle")}
        sensor.initialize({**parameters, **handle, "write_files": 1, "sample_rate": 5.0})

        def go_on() -> list[dict[str, Any]]:
            sensor.set({"scene_handle": far.get("scene_handle")})
            seen = []
            for time, after in pairwise(times[25:].tolist()):
                sensor.step(time, after - time)
                seen.append(sensor.get_all(told))
            return seen

        for time, after in pairwise(times[:26].tolist()):
            sensor.step(time, after - time)
        state, before = sensor.slave.getFMUstate(), sensor.get_all(told)
        undisturbed = go_on()
        sensor.slave.setFMUstate(state)
        assert go_on() == undisturbed
        assert undisturbed[-1] != before
        sensor.slave.freeFMUstate(state)
