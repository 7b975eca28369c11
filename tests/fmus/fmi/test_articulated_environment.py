"""An Environment of a world with joints: it needs no reader of that world, and moves all links."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import mujoco
import numpy as np
import pytest

import build_fmus
from fmus.binding.compile import host_platform
from sensor_models.scene.registry import attach
from tests.fmus.host import Instance, open_fmu
from tests.sensor_models.scene import world_files


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, mujoco.MjModel]:
    """An Environment that was built for a world whose files are gone, and MuJoCo's own model."""
    folder = tmp_path_factory.mktemp("machine")
    world = world_files.write_machine(folder / "world")
    model = mujoco.MjModel.from_xml_path(str(world))
    command = [sys.executable, str(build_fmus.ROOT / "build_fmus.py"), "--only", "Environment"]
    options = ["--scene", str(world), "--output", str(folder)]
    platform = ["--platforms", host_platform()]
    subprocess.run([*command, *options, *platform], check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(world.parent)
    return folder / "Environment.fmu", model


@pytest.fixture
def instance(machine: tuple[Path, mujoco.MjModel]) -> Iterator[Instance]:
    with open_fmu(machine[0], "machine") as opened:
        yield opened


def inputs_of(model: mujoco.MjModel, data: mujoco.MjData) -> dict[str, float]:
    """What a master sets for a state of MuJoCo."""
    values: dict[str, float] = {}
    for joint in ("lift", "swing", "hinge"):
        values[f"{joint}.position"] = data.joint(joint).qpos[0]
        values[f"{joint}.velocity"] = data.joint(joint).qvel[0]
    neck = data.joint("neck")
    values.update(zip((f"neck.orientation.{p}" for p in "wxyz"), neck.qpos, strict=True))
    values.update(zip((f"neck.angular_velocity.{p}" for p in "xyz"), neck.qvel, strict=True))
    for body in ("cart", "target"):
        number, velocity = model.body(body).id, np.zeros(6)
        mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, number, velocity, 0)
        for name, parts, numbers in (
            ("position", "xyz", data.xpos[number]),
            ("orientation", "wxyz", data.xquat[number]),
            ("velocity", "xyz", velocity[3:]),
            ("angular_velocity", "xyz", velocity[:3]),
        ):
            values.update({f"{body}.{name}.{p}": x for p, x in zip(parts, numbers, strict=True)})
    return {name: float(value) for name, value in values.items()}


def test_links_follow_their_joints_as_in_mujoco(
    instance: Instance, machine: tuple[Path, mujoco.MjModel]
) -> None:
    model, draws = machine[1], np.random.default_rng(5)
    data = mujoco.MjData(model)
    instance.initialize()
    assert instance.warnings() == []
    with attach(instance.get("scene_handle")) as world:
        names = [body.name for body in world.scene.bodies]
        for k in range(5):
            data.qpos[:] = model.qpos0 + draws.uniform(-1.0, 1.0, model.nq)
            data.qvel[:] = draws.uniform(-3.0, 3.0, model.nv)
            mujoco.mj_normalizeQuat(model, data.qpos)
            mujoco.mj_forward(model, data)
            instance.set(inputs_of(model, data))
            instance.step(0.125 * k, 0.125)
            for name, state in zip(names, world.states().bodies, strict=True):
                number, velocity = model.body(name).id, np.zeros(6)
                kind = mujoco.mjtObj.mjOBJ_XBODY
                mujoco.mj_objectVelocity(model, data, kind, number, velocity, 0)
                assert state[:3] == pytest.approx(data.xpos[number], abs=1e-9)
                assert abs(state[3:7] @ data.xquat[number]) == pytest.approx(1.0, abs=1e-12)
                assert state[7:10] == pytest.approx(velocity[3:], abs=1e-9)
                assert state[10:] == pytest.approx(velocity[:3], abs=1e-9)


def test_inputs_are_those_of_free_bodies_and_of_joints(instance: Instance) -> None:
    inputs = instance.names("input")
    assert {name.partition(".")[0] for name in inputs} == {
        *("cart", "target", "lift", "swing", "neck", "hinge")
    }
    assert float(instance.variables["lift.position"].start) == 0.2
    assert float(instance.variables["neck.orientation.w"].start) == 1.0
    assert instance.variables["swing.position"].unit == "rad"
    assert instance.variables["lift.velocity"].unit == "m/s"


def test_a_state_brings_links_back_and_a_bad_ball_moves_nothing(instance: Instance) -> None:
    instance.initialize({"swing.position": 0.7, "hinge.velocity": 2.0})
    with attach(instance.get("scene_handle")) as world:
        instance.step(0.0, 0.5)
        saved, then = instance.saved(), world.states().bodies
        instance.set({"swing.position": -0.7})
        instance.step(0.5, 0.5)
        assert not np.array_equal(world.states().bodies, then)
        instance.set({f"neck.orientation.{part}": 0.0 for part in "wxyz"})
        before = world.states()
        assert "neck.orientation = [0.0" in instance.refusal(instance.step, 1.0, 0.5)
        assert world.states().record == before.record
        instance.restore(saved)
        assert np.array_equal(world.states().bodies, then)


def test_another_scene_is_told_of_joints_that_only_one_side_has(instance: Instance) -> None:
    instance.initialize({"scene": "yard"})
    lacking, resting = instance.warnings()
    assert "scene yard lacks cart, target, lift, swing, neck, hinge" in lacking
    assert "which this FMU has no inputs for" in resting
