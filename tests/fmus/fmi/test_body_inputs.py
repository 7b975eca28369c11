"""Bodies as masters know them: angles, velocities alone, poses alone; through the FMUs."""

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sensor_models.scene.registry import attach
from tests.conftest import SEEING
from tests.fmus.histories import parameters_of
from tests.fmus.host import Instance, open_fmu

G = 9.80665
BODIED = ["Accelerometer", "Gnss", "Gyroscope", "Imu", "Magnetometer", *SEEING]
EULER = {"orientation_input": 1}

Inputs = Callable[[float], Mapping[str, float]]


def run(
    instance: Instance,
    parameters: Mapping[str, Any],
    inputs: Inputs,
    names: list[str],
    *,
    steps: int = 30,
    step: float = 0.01,
) -> np.ndarray[Any, Any]:
    """Outputs after each step of a master that sets inputs for the beginning of the step."""
    instance.initialize({**parameters, **inputs(0.0)})
    rows = []
    for k in range(steps):
        instance.set(inputs(k * step))
        instance.step(k * step, step)
        rows.append(list(instance.get_all(names).values()))
    return np.array(rows)


def real_outputs(instance: Instance) -> list[str]:
    return [n for n in instance.names("output") if instance.variables[n].type == "Real"]


def about(instance: Instance, words: str) -> list[str]:
    return [w for w in instance.warnings() if words in w]


def test_a_gyroscope_on_a_rate_table_reads_its_rate(fmu_directory: Path) -> None:
    with open_fmu(fmu_directory / "Gyroscope.fmu") as gyroscope:
        rows = run(
            gyroscope,
            {"sample_rate": 1000.0},
            lambda time: {"body.angular_velocity.z": 1.0},
            ["angular_rate.x", "angular_rate.y", "angular_rate.z"],
        )
        assert rows == pytest.approx(np.tile([0.0, 0.0, 1.0], (30, 1)), abs=1e-12)
        (told,) = gyroscope.warnings()
    assert told.startswith("the orientation of the body never changes while body.angular_velocity")
    assert "connect body.orientation" in told
    assert "set poses to from_velocities" in told


def test_an_accelerometer_reads_the_slope_of_its_velocity(fmu_directory: Path) -> None:
    with open_fmu(fmu_directory / "Accelerometer.fmu") as accelerometer:
        rows = run(
            accelerometer,
            {"sample_rate": 1000.0},
            lambda time: {"body.velocity.x": 2.0 * time},
            ["acceleration.x", "acceleration.z"],
        )
        # inputs describe the beginning of a step, so the first step has no difference yet
        assert rows[1:] == pytest.approx(np.tile([2.0, G], (29, 1)), abs=1e-11)
        (told,) = accelerometer.warnings()
    assert told.startswith("body.position never changes while body.velocity is not 0")


def test_increments_of_a_moving_start_agree_with_the_readings(imu_fmu: Path) -> None:
    names = ["accelerometer.x", "delta_velocity.x", "accelerometer.z", "delta_velocity.z"]
    with open_fmu(imu_fmu) as imu:
        rows = run(
            imu,
            {"velocities": 2, "sample_rate": 100.0},
            lambda time: {"body.position.x": 1.2 * time + time * time},
            names,
        )
        assert imu.warnings() == []
    assert rows[1:, 1] == pytest.approx(0.01 * rows[1:, 0], abs=1e-10)
    assert rows[1:, 3] == pytest.approx(0.01 * rows[1:, 2], abs=1e-10)
    assert rows[-1, 0] == pytest.approx(2.0, abs=1e-8)


@pytest.mark.parametrize("model", ["Gnss", "Radar"])
def test_sensors_that_report_velocities_find_them_in_poses(fmu_directory: Path, model: str) -> None:
    output = {"Gnss": "velocity.north", "Radar": "speed"}[model]
    with open_fmu(fmu_directory / f"{model}.fmu") as sensor:
        given = {} if model == "Gnss" else {**parameters_of(model), "speed_mode": 1}

        def moving(known: bool) -> Inputs:
            def inputs(time: float) -> dict[str, float]:
                place = {
                    "body.position.y" if model == "Gnss" else "body.position.x": 0.2 + 0.5 * time
                }
                axis = "y" if model == "Gnss" else "x"
                return {**place, **({f"body.velocity.{axis}": 0.5} if known else {})}

            return inputs

        truth = run(sensor, given, moving(True), [output], steps=5, step=0.1)
        sensor.reset()
        found = run(sensor, given, moving(False), [output], steps=5, step=0.1)
        told = about(sensor, "the velocity is derived from the positions")
    assert truth[-1] != 0.0
    assert found[1:] == pytest.approx(truth[1:], abs=1e-6)
    assert len(told) == 1


@pytest.mark.parametrize("model", BODIED)
def test_velocities_alone_move_every_sensor(fmu_directory: Path, model: str) -> None:
    """A sensor that is told only of velocities reports what one reports that knows the poses."""
    parameters = {**parameters_of(model), "sample_rate": 10.0}
    rate = 0.2

    def inputs(known: bool) -> Inputs:
        def at(time: float) -> dict[str, float]:
            half = 0.5 * rate * time
            pose = {
                "body.position.x": 0.3 * time,
                "body.orientation.w": math.cos(half),
                "body.orientation.z": math.sin(half),
            }
            velocities = {"body.velocity.x": 0.3, "body.angular_velocity.z": rate}
            return {**velocities, **(pose if known else {})}

        return at

    with open_fmu(fmu_directory / f"{model}.fmu") as sensor:
        names = real_outputs(sensor)
        truth = run(sensor, parameters, inputs(True), names, steps=4, step=0.07)
        sensor.reset()
        found = run(sensor, parameters, inputs(False), names, steps=4, step=0.07)
        assert about(sensor, "body.position never changes")
        assert about(sensor, "orientation of the body never changes")
    assert found == pytest.approx(truth, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("turns", [0.0, 2.0 * math.pi])
@pytest.mark.parametrize("model", BODIED)
def test_angles_are_the_orientation_that_the_quaternion_is(
    fmu_directory: Path, model: str, turns: float
) -> None:
    roll, pitch, yaw = 0.1, -0.2, 0.3
    a, b, c = 0.5 * roll, 0.5 * pitch, 0.5 * yaw
    quaternion = (
        math.cos(a) * math.cos(b) * math.cos(c) + math.sin(a) * math.sin(b) * math.sin(c),
        math.sin(a) * math.cos(b) * math.cos(c) - math.cos(a) * math.sin(b) * math.sin(c),
        math.cos(a) * math.sin(b) * math.cos(c) + math.sin(a) * math.cos(b) * math.sin(c),
        math.cos(a) * math.cos(b) * math.sin(c) - math.sin(a) * math.sin(b) * math.cos(c),
    )
    by_parts = {f"body.orientation.{p}": v for p, v in zip("wxyz", quaternion, strict=True)}
    by_angles = {"body.euler.roll": roll, "body.euler.pitch": pitch, "body.euler.yaw": yaw + turns}
    with open_fmu(fmu_directory / f"{model}.fmu") as sensor:
        names = real_outputs(sensor)
        own = parameters_of(model)
        truth = run(sensor, own, lambda time: by_parts, names, steps=3, step=0.1)
        sensor.reset()
        found = run(sensor, {**own, **EULER}, lambda time: by_angles, names, steps=3, step=0.1)
        assert found == pytest.approx(truth, rel=1e-6, abs=1e-6)
        refused = sensor.refusal(sensor.set, {"body.euler.pitch": math.nan})
    assert "body.euler.pitch = nan" in refused


@pytest.mark.parametrize("model", BODIED)
def test_a_pose_that_comes_after_zeros_is_no_motion_for_any_sensor(
    fmu_directory: Path, model: str
) -> None:
    """A master sets zeros first; what is measured later is what a body at rest is measured as."""
    pose = {"body.position.x": 0.5, "body.position.y": -0.3, "body.position.z": 1.2}
    pose |= {"body.orientation.w": 0.8, "body.orientation.z": 0.6}
    with open_fmu(fmu_directory / f"{model}.fmu") as sensor:
        names, own = real_outputs(sensor), parameters_of(model)
        truth = run(sensor, own, lambda time: pose, names, steps=8, step=0.1)
        sensor.reset()
        passed_on = [pose, dict.fromkeys(pose, 0.0)]
        found = run(sensor, own, lambda time: passed_on[time == 0.0], names, steps=8, step=0.1)
        assert not about(sensor, "as if it was not connected")
    assert found[-1] == pytest.approx(truth[-1], rel=1e-6, abs=1e-6)


def test_a_turning_body_is_known_by_its_angles_alone(fmu_directory: Path) -> None:
    """Yaw that is wrapped at half a turn: the rate is that of the shorter way."""

    def inputs(time: float) -> dict[str, float]:
        return {"body.euler.yaw": math.remainder(3.0 + 2.0 * time, 2.0 * math.pi)}

    with open_fmu(fmu_directory / "Gyroscope.fmu") as gyroscope:
        rows = run(gyroscope, EULER, inputs, ["angular_rate.z"])
        (told,) = gyroscope.warnings()
    assert rows[1:] == pytest.approx(np.full((29, 1), 2.0), abs=1e-10)
    assert "the angular velocity is derived from the orientations" in told


def test_environment_takes_the_angles_of_its_bodies(environment_fmu: Path) -> None:
    with open_fmu(environment_fmu) as environment:
        names = [n for n in environment.names("input") if n.endswith(".euler.yaw")]
        body = names[0].partition(".")[0]
        environment.initialize({**EULER, f"{body}.euler.yaw": 0.5})
        with attach(environment.get("scene_handle")) as scene:
            pose = scene.states().bodies[0]
            half = 0.5 * 0.5
            assert abs(float(pose[3:7] @ (math.cos(half), 0.0, 0.0, math.sin(half)))) == (
                pytest.approx(1.0, abs=1e-12)
            )
            environment.set({f"{body}.euler.pitch": 0.5 * math.pi})
            environment.step(0.0, 0.1)
            assert np.linalg.norm(scene.states().bodies[0, 3:7]) == pytest.approx(1.0, abs=1e-12)
        refused = environment.refusal(environment.set, {f"{body}.euler.roll": math.inf})
        assert f"{body}.euler.roll = inf" in refused


@pytest.mark.parametrize("model", BODIED)
def test_the_orientation_that_does_not_count_is_told_once(fmu_directory: Path, model: str) -> None:
    angles, turned = {"body.euler.yaw": 0.3}, {"body.orientation.z": 1.0, "body.orientation.w": 0.0}
    with open_fmu(fmu_directory / f"{model}.fmu") as sensor:
        own = parameters_of(model)
        run(sensor, own, lambda time: angles, [], steps=3, step=0.1)
        (told,) = about(sensor, "body.euler")
        assert told.startswith("body.euler is set, but orientation_input is quaternion")
        sensor.reset()
        before = len(sensor.warnings())
        run(sensor, {**own, **EULER}, lambda time: {**angles, **turned}, [], steps=3, step=0.1)
        (told,) = sensor.warnings()[before:]
        assert told.startswith("body.orientation is set, but orientation_input is euler")
        sensor.reset()
        before = len(sensor.warnings())
        run(sensor, {**own, **EULER}, lambda time: angles, [], steps=3, step=0.1)
        run_again = sensor.warnings()[before:]
    assert run_again == []


def test_an_environment_tells_of_the_orientation_of_a_body_that_does_not_count(
    fmu_directory: Path,
) -> None:
    with open_fmu(fmu_directory / "Environment.fmu") as world:
        body = next(n for n in world.names("input") if n.endswith(".euler.yaw"))
        name = body.removesuffix(".euler.yaw")
        world.initialize()
        world.step(0.0, 0.1)
        assert about(world, "orientation_input") == []  # where bodies stand at first is in both
        world.set({body: 0.3})
        world.step(0.1, 0.1)
        world.step(0.2, 0.1)
        (told,) = about(world, "orientation_input")
        assert told.startswith(f"{name}.euler is set, but orientation_input is quaternion")
