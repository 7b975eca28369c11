"""The FMU ``VehicleDynamics``, alone and as the partner of sensors and ``Environment``."""

import gc
import math
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fmpy.fmi1 import FMICallException

from fmus.vehicle.parameters import VehicleCommands, VehicleParameters
from fmus.vehicle.simulation import VehicleSimulation
from sensor_models.scene.registry import attach
from tests.fmus import bare_host
from tests.fmus.host import Instance, open_fmu
from tests.fmus.vehicle.driving import HALT, LANE, YARD, at_rest
from tests.rail_scene import write_rail

STEP = 0.01
LANE_PARAMETERS = {
    "start.position.x": LANE["start_position"][0],
    "start.position.y": LANE["start_position"][1],
    "start.yaw": LANE["start_yaw"],
}
BODY = (
    *(f"position.{axis}" for axis in "xyz"),
    *(f"orientation.{part}" for part in "wxyz"),
    *(f"velocity.{axis}" for axis in "xyz"),
    *(f"angular_velocity.{axis}" for axis in "xyz"),
)
OWN_BODY = [f"body.{part}" for part in BODY]
TRAFFIC = [f"{body.name}.{part}" for body in YARD.bodies for part in BODY]


@pytest.fixture(scope="module")
def vehicle_fmu(fmu_directory: Path) -> Path:
    return fmu_directory / "VehicleDynamics.fmu"


@pytest.fixture
def vehicle(vehicle_fmu: Path) -> Iterator[Instance]:
    with open_fmu(vehicle_fmu, "vehicle") as instance:
        yield instance


def simulations() -> list[VehicleSimulation]:
    """Those of this process. Other objects may say what they are only as long as they live."""
    return [o for o in gc.get_objects() if type(o) is VehicleSimulation]


def drive(vehicle: Instance, start: float, duration: float, step: float = STEP) -> list[Any]:
    """The outputs after each step, with commands that change."""
    outputs = []
    for k in range(round(duration / step)):
        time = start + k * step
        vehicle.set({"drive.left": 3.0 + math.sin(time), "drive.right": 3.0 - math.sin(time)})
        vehicle.step(time, step)
        outputs.append(vehicle.outputs())
    return outputs


# ---- alone -----------------------------------------------------------------------------------


def test_it_does_what_the_simulation_does(vehicle: Instance) -> None:
    parameters = VehicleParameters(start_position=(1.0, -6.0), mass=300.0, friction=0.6)
    simulation = VehicleSimulation(parameters, YARD)
    arm = VehicleCommands(boom=0.1, stick=-0.2)
    simulation.start(arm)
    commands = {"arm.joint_1.command": 0.1, "arm.joint_2.command": -0.2}
    values = {"start.position.x": 1.0, "start.position.y": -6.0, "mass": 300.0, "friction": 0.6}
    vehicle.initialize({**values, **commands})
    end = 0.0
    for left, right in ((0.0, 0.0), (5.0, 4.0), (-2.0, 1.0)):
        expected = [*map(np.ravel, simulation.reading()), simulation.traffic().ravel()]
        assert [*vehicle.outputs().values()] == np.concatenate(expected).tolist()
        vehicle.set({"drive.left": left, "drive.right": right})
        vehicle.step(end, 0.25)
        end += 0.25
        simulation.advance(end, VehicleCommands(left, right, 0.1, -0.2))


def test_outputs_are_in_the_order_of_the_body_port(vehicle: Instance) -> None:
    accelerations = [
        f"body.{part}acceleration.{axis}" for part in ("", "angular_") for axis in "xyz"
    ]
    joints = [*(f"wheel_{n}" for n in (1, 2, 3, 4)), "arm.joint_1", "arm.joint_2"]
    moving = [f"{joint}.{part}" for joint in joints for part in ("position", "velocity")]
    assert vehicle.names("output") == [*OWN_BODY, *accelerations, *moving, *TRAFFIC]


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("drive.left", 20.5, "out of range, allowed is -20 to 20 rad/s"),
        ("drive.right", math.nan, "not a finite number, allowed is -20 to 20 rad/s"),
        ("drive.right", -math.inf, "not a finite number, allowed is -20 to 20 rad/s"),
        ("arm.joint_1.command", 0.5, "out of range, allowed is -1.3 to 0.4 rad"),
        ("arm.joint_2.command", -0.5, "out of range, allowed is -0.4 to 1.9 rad"),
    ],
)
def test_bad_commands_are_refused_by_name_and_it_drives_on(
    vehicle: Instance, name: str, value: float, allowed: str
) -> None:
    vehicle.initialize({"drive.left": 2.0, "drive.right": 2.0})
    vehicle.step(0.0, 1.0)
    before = vehicle.saved()
    said = vehicle.refusal(vehicle.set, {name: value})
    assert f"{name} = {value}" in said
    assert allowed in said
    assert vehicle.saved() == before
    vehicle.step(1.0, 1.0)
    assert vehicle.get("body.velocity.x") > 0.5


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"start.position.x": -4.0, "start.position.y": 9.0}, "vehicle would stand in building"),
        ({"start.position.x": 500.0}, "start.position = (500.0, -4.5) m is not on the ground"),
        ({"suspension.damping": 5e5}, "suspension.damping = 500000 N.s/m cannot be simulated"),
        ({"scene": "nowhere"}, "scene 'nowhere': is no built-in scene"),
    ],
)
def test_a_start_that_cannot_be_is_refused_and_another_may_be_chosen(
    vehicle: Instance, values: dict[str, Any], said: str
) -> None:
    vehicle.set(values)
    vehicle.set_up()
    vehicle.enter()
    assert said in vehicle.refusal(vehicle.exit)
    good = {"start.position.x": 0.0, "start.position.y": -5.0, "suspension.damping": 2e3}
    vehicle.set({**good, "scene": "yard"})
    vehicle.exit()
    assert vehicle.get("body.position.y") == pytest.approx(-5.0, abs=1e-3)


@pytest.mark.parametrize("step", [(1.0, 0.0), (1.0, -1.0), (0.5, 0.1)])
def test_steps_that_cannot_be_are_refused_and_it_stays(
    vehicle: Instance, step: tuple[float, float]
) -> None:
    vehicle.initialize()
    vehicle.step(0.0, 1.0)
    before = vehicle.saved()
    vehicle.refusal(vehicle.step, *step)
    assert vehicle.saved() == before
    vehicle.step(1.0, 0.1)


def test_a_simulation_that_diverges_is_an_error_and_goes_on(vehicle: Instance) -> None:
    vehicle.initialize()
    vehicle.step(0.0, 0.1)
    (simulation,) = simulations()
    before = simulation.state()
    outputs = vehicle.outputs()
    simulation.data.qvel[0] = 1e6
    assert "the simulation diverges at a speed of 1e+06" in vehicle.refusal(vehicle.step, 0.1, 0.1)
    assert vehicle.outputs() == outputs
    simulation.restore(before)
    vehicle.step(0.1, 0.1)


def test_in_another_scene_it_drives_and_warns_of_bodies_that_are_not_there(
    vehicle: Instance,
) -> None:
    vehicle.initialize({"scene": "bush_and_wall", "drive.left": 3.0, "drive.right": 3.0})
    vehicle.step(0.0, 2.0)
    assert vehicle.get("body.velocity.x") == pytest.approx(0.9, rel=0.02)
    names = "vehicle_1, vehicle_2, vehicle_3"
    assert vehicle.warnings() == [f"the scene lacks {names}: these outputs do not move"]
    found = [vehicle.get(name) for name in TRAFFIC]
    assert found == [x for b in YARD.bodies for x in (*b.position, *b.orientation, *[0.0] * 6)]


def test_a_scene_without_ground_is_refused(vehicle: Instance, tmp_path: Path) -> None:
    vehicle.set({"scene": str(write_rail(tmp_path))})
    vehicle.set_up()
    vehicle.enter()
    with pytest.raises(FMICallException):
        vehicle.exit()
    (said,) = (m.text for m in vehicle.messages if m.category == "logStatusError")
    assert "is not on the ground, allowed is where the scene" in said


def initialisation_refusal(vehicle: Instance, values: dict[str, Any]) -> str:
    vehicle.set(values)
    vehicle.set_up()
    vehicle.enter()
    return vehicle.refusal(vehicle.exit)


# ---- saved states ----------------------------------------------------------------------------


def test_a_state_continues_bit_for_bit_here_and_in_another_instance(
    vehicle: Instance, vehicle_fmu: Path
) -> None:
    vehicle.initialize({"mass": 350.0, "start.yaw": 0.4}, 5.0)
    drive(vehicle, 5.0, 0.5)
    saved = vehicle.saved()
    expected = drive(vehicle, 5.5, 1.0)
    vehicle.restore(saved)
    assert vehicle.saved() == saved
    assert drive(vehicle, 5.5, 1.0) == expected
    with open_fmu(vehicle_fmu, "other") as other:
        other.restore(saved)
        assert drive(other, 5.5, 1.0) == expected


def test_a_state_from_where_the_arm_hit_something_can_be_taken_up(vehicle_fmu: Path) -> None:
    """The pose of the arm there would be in the wall at the start."""
    place = {"start.position.x": 8.0, "start.position.y": 14.0, "start.yaw": math.pi / 2.0}
    down = {"arm.joint_1.command": -1.2, "arm.joint_2.command": 1.8}
    with open_fmu(vehicle_fmu, "one") as one, open_fmu(vehicle_fmu, "other") as other:
        one.initialize(place)
        one.set(down)
        one.step(0.0, 2.0)
        other.restore(one.saved())
        assert drive(other, 2.0, 0.1) == drive(one, 2.0, 0.1)
        one.reset()
        assert "would stand in wall_north" in initialisation_refusal(one, {**place, **down})


def test_states_of_other_fmus_and_damaged_ones_are_refused(
    vehicle: Instance, environment: Instance
) -> None:
    vehicle.initialize()
    environment.initialize()
    saved = vehicle.saved()
    foreign = environment.saved()
    said = vehicle.refusal(vehicle.restore, foreign)
    assert "the state is of Environment" in said
    said = vehicle.refusal(vehicle.restore, saved[:-40] + bytes([saved[-40] ^ 1]) + saved[-39:])
    assert "damaged" in said
    assert vehicle.saved() == saved
    vehicle.step(0.0, STEP)


def test_a_reset_starts_again(vehicle: Instance) -> None:
    vehicle.initialize()
    first = drive(vehicle, 0.0, 0.3)
    vehicle.reset()
    assert vehicle.get("body.orientation.w") == 1.0
    vehicle.initialize()
    assert drive(vehicle, 0.0, 0.3) == first


def test_what_is_freed_or_reset_leaves_no_simulation_behind(vehicle_fmu: Path) -> None:
    for _ in range(3):
        with open_fmu(vehicle_fmu) as vehicle:
            vehicle.initialize()
            vehicle.step(0.0, STEP)
            vehicle.restore(vehicle.saved())
            vehicle.reset()
            vehicle.initialize()
    gc.collect()
    assert simulations() == []


def test_instances_in_two_threads_drive_as_they_do_alone(vehicle_fmu: Path) -> None:
    def run(yaw: float) -> list[Any]:
        with open_fmu(vehicle_fmu, f"at {yaw}") as vehicle:
            vehicle.initialize({"start.yaw": yaw})
            return drive(vehicle, 0.0, 1.0)

    yaws = (0.0, 1.5)
    alone = [run(yaw) for yaw in yaws]
    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(run, yaws)) == alone
    assert alone[0] != alone[1]


# ---- with others -----------------------------------------------------------------------------


def test_environment_takes_what_the_traffic_gives(vehicle: Instance, environment: Instance) -> None:
    assert [n for n in environment.names("input") if ".euler." not in n] == TRAFFIC
    for name in TRAFFIC:
        ours, theirs = vehicle.variables[name], environment.variables[name]
        assert (ours.type, ours.unit) == (theirs.type, theirs.unit)
    vehicle.initialize()
    environment.initialize({"inputs_at_step_end": True})
    with attach(environment.get("scene_handle")) as world:
        for k in range(3):
            vehicle.step(k * STEP, STEP)
            environment.set(vehicle.get_all(TRAFFIC))
            environment.step(k * STEP, STEP)
            states = world.states()
            assert states.time == pytest.approx((k + 1) * STEP)
            expected = np.reshape([*vehicle.get_all(TRAFFIC).values()], (3, 13))
            # orientations are brought to a length of 1, to which they were rounded before
            assert states.bodies == pytest.approx(expected, abs=1e-15)


def test_at_rest_an_imu_reads_gravity_and_no_rotation(vehicle: Instance, imu_fmu: Path) -> None:
    mount = {"mount.position.x": 0.3, "mount.position.z": 0.6, "inputs_at_step_end": True}
    with open_fmu(imu_fmu, "imu") as imu:
        vehicle.initialize()
        imu.initialize({**mount, **vehicle.get_all(OWN_BODY)})
        for k in range(100):
            vehicle.step(k * STEP, STEP)
            imu.set(vehicle.get_all(OWN_BODY))
            imu.step(k * STEP, STEP)
            accelerometer = [imu.get(f"accelerometer.{axis}") for axis in "xyz"]
            gyroscope = [imu.get(f"gyroscope.{axis}") for axis in "xyz"]
            assert np.linalg.norm(accelerometer) == pytest.approx(9.80665, abs=1e-3)
            # the springs let it lean forward by a milliradian or two
            assert accelerometer == pytest.approx([0.0, 0.0, 9.80665], abs=0.03)
            assert gyroscope == pytest.approx([0.0] * 3, abs=1e-4)


@pytest.mark.parametrize("speed", [1.0, 2.0])
def test_on_straight_driving_the_odometer_is_right_to_two_percent(
    vehicle: Instance, odometer_fmu: Path, speed: float
) -> None:
    rate = speed / 0.3
    with open_fmu(odometer_fmu, "odometer") as odometer:
        vehicle.initialize({**LANE_PARAMETERS, "drive.left": rate, "drive.right": rate})
        odometer.initialize({"wheel_radius": 0.3, "inputs_at_step_end": True})
        way, last = 0.0, position_of(vehicle)
        for k in range(2000):
            vehicle.step(k * STEP, STEP)
            odometer.set({"joint.position": vehicle.get("wheel_1.position")})
            odometer.step(k * STEP, STEP)
            way += float(np.linalg.norm(position_of(vehicle) - last))
            last = position_of(vehicle)
        assert way > 19.0 * speed
        assert odometer.get("distance") == pytest.approx(way, rel=0.02)


def position_of(vehicle: Instance) -> np.ndarray:
    return np.array([vehicle.get(f"body.position.{axis}") for axis in "xyz"])


def test_another_process_drives_it_and_its_directory_stays_clean(
    vehicle_fmu: Path, tmp_path: Path
) -> None:
    """In a process where nothing but this FMU is loaded, from what it carries."""
    resources, place = tmp_path / "fmu", tmp_path / "place"
    place.mkdir()
    shutil.unpack_archive(vehicle_fmu, resources, "zip")
    code = (
        "import ctypes, sys; sys.path.insert(0, sys.argv[1]); import bare_host\n"
        "fmu = bare_host.Fmu(sys.argv[2]); fmu.start({'drive.left': 4.0, 'drive.right': 4.0})\n"
        "d = ctypes.c_double\n"
        "print(max(fmu.call('DoStep', d(k / 100), d(0.01), 1) for k in range(100)))\n"
        "print(fmu.get('body.velocity.x')); fmu.free()\n"
    )
    command = [
        sys.executable,
        "-I",
        "-c",
        code,
        str(Path(bare_host.__file__).parent),
        str(resources),
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=place, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    status, speed = map(float, done.stdout.split())
    assert status == 0
    assert 0.9 < speed < 1.3
    assert list(place.iterdir()) == []


def test_it_starts_in_the_yard_as_the_library_does(vehicle: Instance) -> None:
    vehicle.initialize()
    simulation = at_rest()
    simulation.advance(0.1, HALT)
    vehicle.step(0.0, 0.1)
    assert position_of(vehicle).tolist() == simulation.reading().position.tolist()
