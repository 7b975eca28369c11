"""``VehicleDynamics`` of a model of others, against MuJoCo's own simulation of the same file."""

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
from fmus.vehicle.engine import SimulationError
from fmus.vehicle.robot import Robot
from sensor_models.scene.registry import attach
from tests.fmus.host import Instance, open_fmu

ROVER = """
<mujoco>
  <option timestep="0.002" gravity="0.3 0 -9.81"/>
  <include file="parts/defaults.xml"/>
  <asset><mesh name="hull" file="hull.obj"/></asset>
  <worldbody>
    <light pos="0 0 5"/>
    <geom name="floor" type="plane" size="20 20 0.1"/>
    <body name="rover" pos="0 0 0.2">
      <freejoint/>
      <geom type="mesh" mesh="hull" mass="4"/>
      <body name="left wheel" pos="0 0.3 0">
        <joint name="left turn" axis="0 1 0"/><geom class="wheel"/>
      </body>
      <body name="right wheel" pos="0 -0.3 0">
        <joint name="right turn" axis="0 1 0"/><geom class="wheel"/>
      </body>
      <body name="mast" pos="0 0 0.1">
        <joint name="lift" type="slide" axis="0 0 1" damping="20" limited="true" range="0 0.5"/>
        <geom size="0.05 0.05 0.1" type="box"/>
        <body name="head" pos="0 0 0.3">
          <joint name="neck" type="ball" damping="0.02"/><geom size="0.05" pos="0.02 0 -0.05"/>
          <site name="eye"/>
        </body>
      </body>
      <geom name="skid" pos="0.3 0 -0.15" size="0.05" friction="0.01"/>
    </body>
    <body name="ball" pos="2 0 0.5"><freejoint/><geom size="0.1"/></body>
  </worldbody>
  <actuator>
    <velocity name="left wheel" joint="left turn" kv="3" ctrllimited="true" ctrlrange="-8 8"/>
    <velocity name="right wheel" joint="right turn" kv="3"/>
    <position joint="lift" kp="200"/>
  </actuator>
  <sensor><accelerometer site="eye"/></sensor>
  <keyframe>
    <key name="apart" qpos="1 2 0.2 1 0 0 0 0 0 0.1 1 0 0 0 3 2 0.5 1 0 0 0" ctrl="1 1 0.2"/>
  </keyframe>
</mujoco>
"""
DEFAULTS = """<mujoco><default><default class="wheel">
  <geom type="cylinder" size="0.2 0.03" euler="90 0 0" mass="0.5" friction="1.2"/>
</default></default></mujoco>"""
HULL = """v -0.3 -0.2 -0.1
v 0.3 -0.2 -0.1
v 0 0.3 -0.1
v 0 0 0.15
f 1 3 2
f 1 2 4
f 2 3 4
f 3 1 4
"""
STEP = 0.01
COMMANDS = ("left_wheel", "right_wheel", "actuator_2")


def write_rover(folder: Path) -> Path:
    (folder / "parts").mkdir(parents=True)
    (folder / "parts" / "defaults.xml").write_text(DEFAULTS)
    (folder / "hull.obj").write_text(HULL)
    (folder / "rover.xml").write_text(ROVER)
    return folder / "rover.xml"


@pytest.fixture(scope="module")
def rover(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, mujoco.MjModel]:
    """FMUs that were built for a world whose files are gone, and MuJoCo's own model."""
    folder = tmp_path_factory.mktemp("rover")
    world = write_rover(folder / "world")
    model = mujoco.MjModel.from_xml_path(str(world))
    names = ["--only", "Environment", "VehicleDynamics"]
    command = [sys.executable, str(build_fmus.ROOT / "build_fmus.py"), *names]
    options = ["--scene", str(world), "--output", str(folder), "--platforms", host_platform()]
    subprocess.run([*command, *options], check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(world.parent)
    return folder, model


@pytest.fixture
def robot(rover: tuple[Path, mujoco.MjModel]) -> Iterator[Instance]:
    with open_fmu(rover[0] / "VehicleDynamics.fmu", "rover") as opened:
        yield opened


def commands_at(time: float) -> list[float]:
    return [20.0 * np.sin(3.0 * time), 5.0, 0.3 * time]  # the first is beyond its range


def expected_of(model: mujoco.MjModel, data: mujoco.MjData) -> dict[str, float]:
    """What the outputs have to be, by MuJoCo's functions for single things."""
    values: dict[str, float] = {}
    for joint in ("left turn", "right turn", "lift"):
        name = joint.replace(" ", "_")
        values[f"{name}.position"] = data.joint(joint).qpos[0]
        values[f"{name}.velocity"] = data.joint(joint).qvel[0]
    neck = data.joint("neck")
    values.update(zip((f"neck.orientation.{p}" for p in "wxyz"), neck.qpos, strict=True))
    values.update(zip((f"neck.angular_velocity.{p}" for p in "xyz"), neck.qvel, strict=True))
    for body in ("rover", "mast", "head", "ball"):
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


def step(robot: Instance, k: int) -> None:
    given = dict(zip(COMMANDS, commands_at(k * STEP), strict=True))
    robot.set({f"control.{name}": value for name, value in given.items()})
    robot.step(k * STEP, STEP)


@pytest.mark.parametrize("keyframe", ["", "apart"])
def test_it_moves_as_mujoco_moves_the_file(
    rover: tuple[Path, mujoco.MjModel], robot: Instance, keyframe: str
) -> None:
    model, data = rover[1], mujoco.MjData(rover[1])
    if keyframe:
        mujoco.mj_resetDataKeyframe(model, data, model.key(keyframe).id)
    robot.initialize({"keyframe": keyframe, "control.right_wheel": 5.0})
    data.ctrl[:] = [0.0, 5.0, 0.0]
    mujoco.mj_forward(model, data)
    for k in range(100):
        expected = expected_of(model, data)
        assert robot.get_all(list(expected)) == pytest.approx(expected, rel=1e-9, abs=1e-9)
        data.ctrl[:] = commands_at(k * STEP)
        mujoco.mj_step(model, data, 5)  # inner steps of 2 ms, as the file says
        mujoco.mj_forward(model, data)
        step(robot, k)
    assert abs(robot.get("rover.position.x")) > 0.1
    assert robot.warnings() == []


def test_accelerations_are_the_slopes_of_velocities(robot: Instance) -> None:
    """Also of a body that turns on a ball and on what moves: by central differences."""
    vector = [f"body.velocity.{p}" for p in "xyz"] + [f"body.angular_velocity.{p}" for p in "xyz"]
    slope = [f"body.acceleration.{p}" for p in "xyz"]
    slope += [f"body.angular_acceleration.{p}" for p in "xyz"]
    robot.initialize({"body": "head", "time_step": 1e-4, "control.actuator_2": 0.3})
    rates, slopes = [], []
    for k in range(60):
        robot.step(k * 1e-3, 1e-3)
        rates.append(list(robot.get_all(vector).values()))
        slopes.append(list(robot.get_all(slope).values()))
    found = (np.array(rates)[2:] - np.array(rates)[:-2]) / 2e-3
    given = np.array(slopes)[1:-1]
    free = slice(5, 30)  # before anything touches the ground, accelerations are smooth
    assert np.abs(given[free]).max() > 1.0
    np.testing.assert_allclose(given[free], found[free], rtol=0.02, atol=0.05)


def test_a_free_body_falls(robot: Instance) -> None:
    robot.initialize({"body": "ball"})
    robot.step(0.0, 0.01)
    found = [robot.get(f"body.acceleration.{p}") for p in "xyz"]
    assert found == pytest.approx([0.3, 0.0, -9.81], abs=1e-12)


def test_states_go_on_bit_by_bit(robot: Instance) -> None:
    robot.initialize({"control.right_wheel": 5.0})
    names = robot.names("output")
    for k in range(20):
        step(robot, k)
    saved = robot.saved()
    ways = []
    for _ in range(2):
        robot.restore(saved)
        for k in range(20, 40):
            step(robot, k)
        ways.append(robot.get_all(names))
    assert ways[0] == ways[1]


def test_the_world_follows_by_equal_names(rover: tuple[Path, mujoco.MjModel]) -> None:
    """All inputs of the Environment are outputs of the dynamics, and put its bodies there."""
    with (
        open_fmu(rover[0] / "VehicleDynamics.fmu", "rover") as robot,
        open_fmu(rover[0] / "Environment.fmu", "world") as world,
    ):
        inputs = [n for n in world.names("input") if ".euler." not in n]
        assert set(inputs) <= set(robot.names("output"))
        robot.initialize({"control.right_wheel": 5.0})
        world.initialize({"inputs_at_step_end": True, **robot.get_all(inputs)})
        for k in range(50):
            step(robot, k)
            world.set(robot.get_all(inputs))
            world.step(k * STEP, STEP)
        with attach(world.get("scene_handle")) as scene:
            states = scene.bodies_at([50 * STEP]).states[0]
            for body, state in zip(scene.scene.bodies, states, strict=True):
                own = [robot.get(f"{body.name}.position.{p}") for p in "xyz"]
                own += [robot.get(f"{body.name}.orientation.{p}") for p in "wxyz"]
                assert state[:7] == pytest.approx(own, abs=1e-9)


def test_what_is_not_there_is_refused_by_name(robot: Instance) -> None:
    refused = robot.refusal(robot.initialize, {"keyframe": "nowhere"})
    assert "keyframe = 'nowhere' is none of the model's, which are ['apart']" in refused
    robot.reset()
    refused = robot.refusal(robot.initialize, {"body": "tail"})
    assert "body = 'tail' is none of rover, left_wheel" in refused
    robot.reset()
    refused = robot.refusal(robot.initialize, {"scene": "yard"})
    assert "scene = 'yard' is no world with actuators" in refused


def test_a_step_that_diverges_is_refused_and_changes_nothing(robot: Instance) -> None:
    robot.initialize({})
    step(robot, 0)
    names = robot.names("output")
    before = robot.get_all(names)
    robot.set({"control.right_wheel": 1e9})
    assert "diverges" in robot.refusal(robot.step, STEP, 1.0)
    assert robot.get_all(names) == before
    robot.set({"control.right_wheel": 5.0})
    robot.step(STEP, STEP)


def speeding(bad: float) -> tuple[Robot, dict[str, np.ndarray]]:
    """A model of one joint, and its state with another speed."""
    body = "<body><joint damping='1e9'/><geom size='1'/></body>"
    text = f"<mujoco><worldbody>{body}</worldbody></mujoco>"
    robot = Robot(mujoco.MjModel.from_xml_string(text))
    robot.start(np.zeros(0))
    robot.advance(0.1, np.zeros(0))
    crafted = {name: array.copy() for name, array in robot.state().items()}
    crafted["engine"][2] = bad  # after time and position
    return robot, crafted


def bits(robot: Robot) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in robot.state().items()}


@pytest.mark.parametrize("bad", [np.nan, np.inf, -1e11])
def test_a_state_that_no_model_can_have_is_refused_and_changes_nothing(bad: float) -> None:
    robot, crafted = speeding(bad)
    before = bits(robot)
    with pytest.raises(SimulationError):
        robot.restore(crafted)
    assert bits(robot) == before


def test_a_step_from_a_state_that_the_engine_gives_up_is_refused_each_time() -> None:
    """The engine would begin anew from a state of its own, and say so in a file of its own."""
    robot, crafted = speeding(1e9)
    robot.restore(crafted)
    before = bits(robot)
    for _ in range(2):
        with pytest.raises(SimulationError, match="diverges"):
            robot.advance(0.2, np.zeros(0))
        assert bits(robot) == before
