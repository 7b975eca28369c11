"""FMU ``Lidar``: the model behind it, presets, outputs, scenes, and what is refused."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sensor_models.lidar import Lidar, LidarNoiseParameters, LidarParameters, PatternParameters
from sensor_models.presets import list_presets, load_preset
from sensor_models.scene.registry import SceneHandleError, attach, open_scene
from tests.fmus.binding.test_loading import run_host, unpack
from tests.fmus.host import open_fmu
from tests.fmus.lidar_runs import (
    FLOAT32,
    INSTANT,
    SMALL,
    STREET,
    WAGON,
    begin,
    body_at,
    clouds_of,
    drive,
    parameters_in,
    steps_of,
)
from tests.sensor_models.scene_files import write_manifest

PRESETS = list_presets("Lidar")


@pytest.fixture
def street(tmp_path: Path) -> str:
    return str(write_manifest(tmp_path, STREET))


# ---- frames --------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [0, 1])
def test_frame_0_is_taken_when_the_first_step_begins(
    lidar_fmu: Path, street: str, tmp_path: Path, mode: int
) -> None:
    with open_fmu(lidar_fmu) as lidar:
        begin(lidar, street, tmp_path / "out", scan_mode=mode)
        assert lidar.get("frame.count") == lidar.get("sample.count") == 0
        assert lidar.get("frame.file") == ""
        assert lidar.get("nearest.entity_id") == -1
        # Where the first step begins, it is elsewhere than at initialisation.
        lidar.set({"body.position.x": 50.0})
        lidar.step(0.0, 0.06)
        assert lidar.get("frame.count") == (mode == INSTANT)
        lidar.step(0.06, 0.06)
        lidar.step(0.12, 0.06)
        lidar.terminate()
        assert lidar.get("frame.count") == (2 if mode == INSTANT else 1)
        assert Path(lidar.get("frame.file")).is_file()
    first = clouds_of(tmp_path / "out")[0]
    assert first["x"][first["entity_id"] == 3] == pytest.approx(10.0, rel=10 * FLOAT32)


def test_points_are_those_of_the_model(lidar_fmu: Path, street: str, tmp_path: Path) -> None:
    pattern = {"pattern.rows": 8, "pattern.columns": 32, "pattern.type": 0}
    noise = {"noise.distance_sigma_base": 0.02, "noise.azimuth_sigma": 1e-3}
    how = {"scan_mode": 0, "output_normals": True, "seed": 11, "pattern.endpoint": True}
    limits = {"pattern.elevation.min": -0.7, "pattern.elevation.max": 0.7}
    with open_fmu(lidar_fmu, "front") as lidar:
        begin(lidar, street, tmp_path / "out", **pattern, **noise, **how, **limits)
        for k in range(3):
            lidar.set({"body.position.x": 2.0 * k, "body.orientation.z": 0.1 * k})
            lidar.step(0.1 * k, 0.1)
        lidar.terminate()
    model = Lidar(
        LidarParameters(output_normals=True),
        PatternParameters(rows=8, columns=32, elevation=(-0.7, 0.7)),
        noise=LidarNoiseParameters(distance_sigma_base=0.02, azimuth_sigma=1e-3),
        seed=11,
        identity="Lidar/front",
    )
    clouds = clouds_of(tmp_path / "out")
    assert len(clouds) == 3
    with open_scene(street) as world:
        for k, points in enumerate(clouds):
            turn = np.array([1.0, 0.0, 0.0, 0.1 * k]) / math.hypot(1.0, 0.1 * k)
            cloud = model.capture(world.rays(), (2.0 * k, 0, 0, *turn), k, points["time"][0])
            assert points.tobytes() == cloud.points(normals=True).tobytes()


def test_outputs_tell_the_nearest_point(lidar_fmu: Path, street: str, tmp_path: Path) -> None:
    with open_fmu(lidar_fmu) as lidar:
        begin(lidar, street, tmp_path, inputs_at_step_end=True, return_mode=4)
        lidar.set({"body.position.y": 5.0})
        lidar.step(0.0, 0.1)
        found = lidar.outputs()
        lidar.terminate()
    (points,) = clouds_of(tmp_path)
    nearest = points[np.argmin(points["range"])]
    for name in ("range", "azimuth", "elevation", "entity_id"):
        assert found[f"nearest.{name}"] == nearest[name]
    assert found["nearest.entity_id"] == 1
    assert found["frame.points"] == len(points)


def test_nothing_in_sight_is_a_frame_without_points(
    lidar_fmu: Path, street: str, tmp_path: Path
) -> None:
    with open_fmu(lidar_fmu) as lidar:
        begin(lidar, street, tmp_path, max_range=5.0)
        drive(lidar, steps_of(0.1, 0.2))
        lidar.terminate()
        found = lidar.outputs()
    assert (found["frame.count"], found["frame.points"]) == (1, 0)
    assert (found["nearest.range"], found["nearest.entity_id"]) == (0.0, -1)
    (points,) = clouds_of(tmp_path)
    assert len(points) == 0


# ---- presets -------------------------------------------------------------------------------------


@pytest.mark.parametrize("preset", PRESETS)
def test_each_preset_makes_its_frames(
    lidar_fmu: Path, street: str, tmp_path: Path, preset: str
) -> None:
    given = load_preset("Lidar", preset)
    period = 1.0 / given["sample_rate"]
    with open_fmu(lidar_fmu) as lidar:
        values = {"preset": preset, "scene": street, "output_directory": str(tmp_path)}
        lidar.initialize({**values, "output_format": 4, "motion_slices": 4})
        lidar.step(0.0, period)
        lidar.step(period, period)
        lidar.terminate()
        assert lidar.get("frame.count") == 1
    parameters = parameters_in(tmp_path)
    for name, value in given.items():
        assert parameters[name] == value, name
    (points,) = clouds_of(tmp_path)
    assert len(points) > 100
    assert points["ring"].max() < parameters["pattern.rows"]
    assert points["range"].max() <= given["max_range"] + 1.0  # of the noise
    assert points["time"].max() < period
    assert len(np.unique(points["time"])) > 100


def test_a_parameter_that_was_set_wins_over_the_preset(
    lidar_fmu: Path, street: str, tmp_path: Path
) -> None:
    with open_fmu(lidar_fmu) as lidar:
        lidar.set({"pattern.columns": 20, "max_range": 7.0})
        values = {"preset": "VLP-16", "scene": street, "output_directory": str(tmp_path)}
        lidar.initialize({**values, "pattern.beams": "HDL-64E"})
    parameters = parameters_in(tmp_path)
    names = ("pattern.columns", "pattern.beams", "max_range", "min_range")
    assert [parameters[name] for name in names] == [20, "HDL-64E", 7.0, 0.5]


def test_an_unknown_preset_is_refused_with_those_that_there_are(lidar_fmu: Path) -> None:
    with open_fmu(lidar_fmu) as lidar:
        message = lidar.refusal(lidar.set, {"preset": "VLP-17"})
        assert "VLP-17" in message
        assert all(name in message for name in PRESETS)
        assert lidar.get("preset") == ""
        assert "BMI088" in lidar.refusal(lidar.set, {"preset": "BMI088"})


# ---- scenes --------------------------------------------------------------------------------------


def test_a_scene_handle_shows_where_its_scene_is_and_may_change_in_a_sweep(
    lidar_fmu: Path, street: str, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    other = write_manifest(tmp_path / "other", WAGON)
    with open_scene(street) as world, open_scene(other) as wagon, open_fmu(lidar_fmu) as lidar:
        begin(lidar, "yard", tmp_path / "out", scene_handle=world.number)
        for k in range(9):
            # A state tells of the time before it: of a half of the first and of the third sweep.
            lidar.set({"scene_handle": wagon.number if k in (2, 5) else world.number})
            lidar.step(0.05 * k, 0.05)
        lidar.terminate()
        assert lidar.get("frame.count") == 4
    clouds = clouds_of(tmp_path / "out")
    late = [points["time"] % 0.1 >= 0.05 for points in clouds]
    for frame, half in ((0, late[0]), (2, ~late[2])):
        assert 7 in clouds[frame]["entity_id"][half]
        assert 7 not in clouds[frame]["entity_id"][~half]
    for frame in (1, 3):
        assert set(clouds[frame]["entity_id"]) == {1, 2, 3}


def test_a_handle_that_is_refused_in_a_sweep_leaves_the_lidar_where_it_is(
    lidar_fmu: Path, street: str, tmp_path: Path
) -> None:
    found = []
    for refused in (False, True):
        out = tmp_path / str(refused)
        with open_fmu(lidar_fmu) as lidar:
            with open_scene(street) as world:
                number = world.number
                begin(lidar, "yard", out, scene_handle=number)
                drive(lidar, steps_of(0.05, 0.15))
            # Now the lidar alone keeps its scene open.
            if refused:
                lidar.set({"scene_handle": 5, **body_at(0.15)})
                for _ in range(2):
                    assert "scene_handle = 5 is no open scene" in lidar.refusal(
                        lidar.step, 0.15, 0.05
                    )
                lidar.set({"scene_handle": number})
            drive(lidar, [(0.15, 0.05), (0.2, 0.05), (0.25, 0.05)])
            lidar.terminate()
            found.append((lidar.get("frame.count"), clouds_of(out)[-1].tobytes()))
            attach(number).close()
        with pytest.raises(SceneHandleError):
            attach(number)
    assert found[0] == found[1]
    assert found[0][0] == 2


# ---- refused -------------------------------------------------------------------------------------


def refused_at_initialisation(fmu: Path, street: str, folder: Path, values: dict[str, Any]) -> str:
    """What is said of parameters, after which good ones must do."""
    with open_fmu(fmu) as lidar:
        before = {name: lidar.get(name) for name in values}
        lidar.set({"scene": street, "output_directory": str(folder), **values})
        lidar.set_up()
        lidar.enter()
        message = lidar.refusal(lidar.exit)
        assert lidar.refusal(lidar.exit) == message
        lidar.set({**before, **SMALL, "scene": street})
        lidar.exit()
        drive(lidar, steps_of(0.1, 0.2))
        assert lidar.get("frame.count") == 1
    return message


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"min_range": 5.0, "max_range": 5.0}, ["min_range = 5.0 m", "less than max_range = 5.0"]),
        ({"scene": "nowhere"}, ["nowhere", "is no built-in scene", "yard"]),
        ({"scene": "/nowhere/scene.toml"}, ["/nowhere/scene.toml"]),
        ({"pattern.type": 5}, ["pattern.file = ''", "CSV file"]),
        (
            {"pattern.type": 5, "pattern.file": "no.csv"},
            ["no.csv", "cannot be read", "No such file"],
        ),
        ({"pattern.type": 1, "pattern.beams": "VLP-17"}, ["pattern.beams = 'VLP-17'", "vlp-16"]),
        (
            {"pattern.rows": 2001, "pattern.columns": 2000},
            ["pattern.rows x pattern.columns = 2001 x 2000", "at most 4000000 rays"],
        ),
        (
            {"pattern.rows": 65535, "pattern.columns": 4_000_000},
            ["65535 x 4000000", "at most 4000000 rays"],
        ),
        (
            {"pattern.elevation.min": 0.5, "pattern.elevation.max": 0.5},
            ["pattern.elevation.min = 0.5 rad", "less than pattern.elevation.max = 0.5 rad"],
        ),
        (
            {"pattern.azimuth.min": -4.0, "pattern.azimuth.max": 4.0},
            ["pattern.azimuth spans 8.0 rad", "at most a turn"],
        ),
        ({"ambient.absorption": -0.5}, ["ambient.absorption = -0.5", "at least 0, or -1"]),
        ({"mount.orientation.w": 0.0}, ["mount.orientation"]),
    ],
)
def test_impossible_parameters_are_refused_with_name_value_and_what_is_allowed(
    lidar_fmu: Path, street: str, tmp_path: Path, values: dict[str, Any], words: list[str]
) -> None:
    message = refused_at_initialisation(lidar_fmu, street, tmp_path / "out", values)
    assert all(word in message for word in words), message


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("max_returns", 16, "allowed is 1 to 15"),
        ("max_depth", -1, "allowed is 0 to 16"),
        ("pattern.rows", 0, "allowed is 1 to 65535"),
        ("weight_cutoff", 1.5, "allowed is 0 to 1"),
        ("noise.distance_sigma_base", -0.01, "allowed is at least 0 m"),
        ("pattern.type", 6, "none of 0 (grid), 1 (spinning)"),
        ("return_mode", 5, "none of 0 (strongest)"),
        ("beam.divergence_half_angle", 0.2, "allowed is 0 to 0.1 rad"),
        ("max_range", math.inf, "not a finite number"),
        ("body.position.y", math.nan, "not a finite number"),
    ],
)
def test_a_bad_value_is_refused_when_it_is_set(
    lidar_fmu: Path, name: str, value: float, allowed: str
) -> None:
    with open_fmu(lidar_fmu) as lidar:
        before = lidar.get(name)
        message = lidar.refusal(lidar.set, {name: value})
        assert f"{name} = {value}" in message
        assert allowed in message
        assert lidar.get(name) == before


# ---- kernels -------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [{"scan_mode": 0}, {"scan_mode": 1}, {"scan_mode": 1, "rate": 0}])
def test_no_kernel_is_compiled_or_loaded_in_a_step(
    lidar_fmu: Path, tmp_path: Path, how: dict[str, Any]
) -> None:
    volume = """
[media.smoke]
absorption = 0.1
return_probability = 0.5

[meshes.cloud]
box = { size = [4, 4, 4] }

[[volumes]]
mesh = "cloud"
medium = "smoke"
"""
    scene = write_manifest(tmp_path, WAGON + volume)
    fmu = unpack(lidar_fmu, tmp_path / "Lidar")
    values = {**SMALL, "scan_mode": how["scan_mode"], "sample_rate": how.get("rate", 10.0)}
    noise = {"noise.distance_sigma_base": 0.1, "return_mode": 4, "beam.subrays": 3, "beam.on": 1}
    where = {"scene": str(scene), "output_directory": str(tmp_path / "out"), "pattern.endpoint": 0}
    answers = run_host(
        ["open", fmu.key],
        ["start", fmu.key, {**values, **noise, **where}],
        ["kernels"],
        *(["step", fmu.key, 0.25 * k, 0.25] for k in range(3)),
        ["kernels"],
        ["get", fmu.key, "frame.points"],
    )
    assert answers[2].value, "there are kernels"
    assert set(answers[6].value) - set(answers[2].value) == set()
    assert answers[7].value > 0.0
