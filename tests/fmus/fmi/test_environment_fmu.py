"""The FMU ``Environment``, and the sensors that take its handle."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from fmpy import read_model_description

import build_fmus
from fmus.binding.compile import host_platform
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.registry import SceneHandleError, attach
from tests.fmus.host import Instance, open_fmu
from tests.rail_scene import FIELD, write_rail

YARD = load_scene("yard")
NAMES = [body.name for body in YARD.bodies]
PARTS = [
    *(f"position.{axis}" for axis in "xyz"),
    *(f"orientation.{part}" for part in "wxyz"),
    *(f"velocity.{axis}" for axis in "xyz"),
    *(f"angular_velocity.{axis}" for axis in "xyz"),
]
STEP = 0.125


def inputs_at(k: int) -> dict[str, float]:
    """Inputs of all bodies, all different and different for each k."""
    values = {}
    for body, name in enumerate(NAMES):
        turn = 0.1 * (k + body)
        numbers = [k + 100.0 * body + n for n in range(len(PARTS))]
        numbers[3:7] = [np.cos(turn), 0.0, 0.0, np.sin(turn)]
        values.update({f"{name}.{part}": v for part, v in zip(PARTS, numbers, strict=True)})
    return values


def states_of(values: dict[str, float]) -> np.ndarray:
    return np.array([[values[f"{name}.{part}"] for part in PARTS] for name in NAMES])


ANGLES = ("euler.roll", "euler.pitch", "euler.yaw")


def test_inputs_start_with_the_poses_that_the_scene_gives(environment: Instance) -> None:
    assert environment.names("input") == [f"{n}.{p}" for n in NAMES for p in (*PARTS, *ANGLES)]
    for body in YARD.bodies:
        numbers = [*body.position, *body.orientation, *[0.0] * 6]
        for part, number in zip(PARTS, numbers, strict=True):
            name = f"{body.name}.{part}"
            assert float(environment.variables[name].start) == number
            assert environment.get(name) == number


def test_there_is_a_handle_after_initialisation(environment: Instance) -> None:
    assert environment.get("scene_handle") == 0
    environment.initialize()
    number = environment.get("scene_handle")
    assert 0 < number < 2**31
    with attach(number) as world:
        assert world.scene.name == YARD.name
        states = world.states()
        assert states.time == 0.0
        assert np.array_equal(
            states.bodies, [[*b.position, *b.orientation, *[0.0] * 6] for b in YARD.bodies]
        )


@pytest.mark.parametrize("at_step_end", [False, True])
def test_bodies_are_where_the_inputs_say_at_the_instant_that_they_belong_to(
    environment: Instance, at_step_end: bool
) -> None:
    environment.initialize({"inputs_at_step_end": at_step_end, **inputs_at(0)}, 2.0)
    with attach(environment.get("scene_handle")) as world:
        assert world.states().time == 2.0
        for k in range(1, 4):
            start = 2.0 + (k - 1) * STEP
            environment.set(inputs_at(k))
            environment.step(start, STEP)
            states = world.states()
            assert states.time == (start + STEP if at_step_end else start)
            # orientations are brought to a length of 1, to which they were rounded before
            assert states.bodies == pytest.approx(states_of(inputs_at(k)), abs=1e-15)
        assert environment.get("scene_handle") == world.number


def test_an_orientation_of_zeros_counts_as_not_connected_and_is_told_once(
    environment: Instance,
) -> None:
    environment.initialize()
    for k in range(3):
        environment.set({f"vehicle_2.orientation.{part}": 0.0 for part in "wxyz"})
        environment.step(k * STEP, STEP)
    assert environment.warnings() == [
        "vehicle_2.orientation is all zeros, as if not connected: taken as 1, 0, 0, 0"
    ]
    with attach(environment.get("scene_handle")) as world:
        assert world.states().bodies[1, 3:7].tolist() == [1.0, 0.0, 0.0, 0.0]


def test_bad_inputs_are_refused_by_name_and_the_bodies_stay(environment: Instance) -> None:
    environment.initialize(inputs_at(1))
    with attach(environment.get("scene_handle")) as world:
        before = world.states()
        for number in (np.nan, np.inf):
            said = environment.refusal(environment.set, {"vehicle_1.position.y": number})
            assert f"vehicle_1.position.y = {number}" in said
        short = dict.fromkeys([f"vehicle_3.orientation.{part}" for part in "wxyz"], 1e-7)
        environment.set({"vehicle_1.position.x": 5.0, **short})
        said = environment.refusal(environment.step, 0.0, STEP)
        assert "vehicle_3.orientation = (1e-07, 1e-07, 1e-07, 1e-07) has no direction" in said
        assert "or four zeros" in said
        assert world.states().record == before.record
        environment.set(inputs_at(2))
        environment.step(0.0, STEP)
        assert world.states().bodies[0, 0] == 2.0


@pytest.mark.parametrize("step", [(1.0, 0.0), (1.0, -1.0), (0.5, 0.1)])
def test_steps_that_cannot_be_are_refused_and_the_bodies_stay(
    environment: Instance, step: tuple[float, float]
) -> None:
    environment.initialize()
    environment.step(0.0, 1.0)
    with attach(environment.get("scene_handle")) as world:
        record = world.states().record
        environment.refusal(environment.step, *step)
        assert world.states().record == record
        environment.step(1.0, 1.0)
        assert world.states().time == 1.0


# ---- scenes --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scene", "expected"),
    [
        ("backyard", "scene 'backyard': is no built-in scene, known: bush_and_wall, corridor"),
        ("", "is no built-in scene"),
        ("/nowhere/scene.toml", "/nowhere/scene.toml: does not exist"),
    ],
)
def test_a_scene_that_is_none_is_an_error_and_another_may_be_chosen(
    environment: Instance, scene: str, expected: str
) -> None:
    environment.set({"scene": scene})
    environment.set_up()
    environment.enter()
    assert expected in environment.refusal(environment.exit)
    environment.set({"scene": "corridor"})
    environment.exit()
    assert environment.get("scene_handle") > 0


def test_another_scene_keeps_its_bodies_and_warns_of_what_does_not_fit(
    environment: Instance, rail: Path
) -> None:
    environment.initialize({"scene": str(rail), **inputs_at(3)})
    lacking, resting = environment.warnings()
    assert lacking == f"scene {rail} lacks {', '.join(NAMES)}: these inputs do nothing"
    assert f"scene {rail} has wagon, lever, which this FMU has no inputs for" in resting
    environment.step(0.0, STEP)
    with attach(environment.get("scene_handle")) as world:
        assert world.states().bodies[:, :3].tolist() == [[5.0, 0.0, 0.0], [0.0, 3.0, 0.0]]


def test_every_instance_has_a_world_of_its_own(environment_fmu: Path) -> None:
    with open_fmu(environment_fmu, "one") as one, open_fmu(environment_fmu, "other") as other:
        one.initialize(inputs_at(1))
        other.initialize(inputs_at(2))
        handles = [instance.get("scene_handle") for instance in (one, other)]
        assert handles[0] != handles[1]
        with attach(handles[0]) as first, attach(handles[1]) as second:
            assert first.states().bodies[0, 0] == 1.0
            assert second.states().bodies[0, 0] == 2.0


def test_a_world_ends_with_its_last_user(environment_fmu: Path) -> None:
    with open_fmu(environment_fmu) as environment:
        environment.initialize()
        number = environment.get("scene_handle")
        environment.terminate()
        attach(number).close()
        user = attach(number)
    attach(number).close()
    user.close()
    with pytest.raises(SceneHandleError, match="is no open scene"):
        attach(number)


def test_a_reset_gives_the_world_back(environment: Instance) -> None:
    environment.initialize()
    number = environment.get("scene_handle")
    environment.reset()
    assert environment.get("scene_handle") == 0
    with pytest.raises(SceneHandleError):
        attach(number)
    environment.initialize()
    attach(environment.get("scene_handle")).close()


# ---- saved states --------------------------------------------------------------------------------


def test_a_state_brings_the_bodies_back_under_the_same_handle(environment: Instance) -> None:
    environment.initialize()
    number = environment.get("scene_handle")
    with attach(number) as world:
        environment.set(inputs_at(1))
        environment.step(0.0, STEP)
        saved, then = environment.saved(), world.states()
        environment.set(inputs_at(2))
        environment.step(STEP, STEP)
        assert world.states().bodies[0, 0] == 2.0
        environment.restore(saved)
        now = world.states()
        assert now.time == then.time
        assert np.array_equal(now.bodies, then.bodies)
        assert environment.get("scene_handle") == number
        environment.step(STEP, STEP)
        assert world.states().time == STEP
        assert world.states().bodies[0, 0] == 1.0


def test_bytes_continue_in_another_instance_which_takes_the_handle_only_if_it_is_free(
    environment_fmu: Path,
) -> None:
    with open_fmu(environment_fmu, "first") as first:
        first.initialize({"scene": "yard", **inputs_at(4)})
        number, saved = first.get("scene_handle"), first.saved()
        with open_fmu(environment_fmu, "beside") as beside:
            beside.restore(saved)
            other = beside.get("scene_handle")
            assert other != number
            with attach(other) as world:
                assert world.states().bodies[0, 0] == 4.0
    with open_fmu(environment_fmu, "after") as after:
        after.restore(saved)
        assert after.get("scene_handle") == number
        with attach(number) as world:
            assert world.states().bodies[0, 0] == 4.0


def test_a_state_before_initialisation_has_no_world(environment: Instance) -> None:
    saved = environment.saved()
    environment.initialize()
    number = environment.get("scene_handle")
    environment.restore(saved)
    assert environment.get("scene_handle") == 0
    with pytest.raises(SceneHandleError):
        attach(number)


# ---- what the file holds -------------------------------------------------------------------------


def test_built_in_scenes_travel_with_it(environment_fmu: Path, tmp_path: Path) -> None:
    shutil.unpack_archive(environment_fmu, tmp_path, "zip")
    carried = tmp_path / "resources" / "scenes"
    assert {folder.name for folder in carried.iterdir()} == set(build_fmus.built_in_scenes())
    for name in build_fmus.built_in_scenes():
        here, there = load_scene(name), load_scene(carried / name)
        assert [m.faces.shape for m in here.meshes] == [m.faces.shape for m in there.meshes]


def test_sensors_that_load_no_scene_carry_none(fmu_directory: Path, tmp_path: Path) -> None:
    shutil.unpack_archive(fmu_directory / "Magnetometer.fmu", tmp_path, "zip")
    assert not (tmp_path / "resources" / "scenes").exists()


@pytest.fixture(scope="module")
def rail_fmu(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An Environment for the scene of the tests, whose folder is removed then."""
    folder = tmp_path_factory.mktemp("build")
    manifest = write_rail(folder / "rail")
    command = [sys.executable, str(build_fmus.ROOT / "build_fmus.py"), "--only", "Environment"]
    options = ["--scene", str(manifest), "--output", str(folder)]
    platform = ["--platforms", host_platform()]
    subprocess.run([*command, *options, *platform], check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(manifest.parent)
    return folder / "Environment.fmu"


def test_an_environment_for_another_scene_has_inputs_for_its_bodies(
    rail_fmu: Path, environment_fmu: Path
) -> None:
    with open_fmu(rail_fmu, "rail") as rail, open_fmu(environment_fmu, "yard") as yard:
        bodies = ("wagon", "lever")
        assert rail.names("input") == [f"{n}.{p}" for n in bodies for p in (*PARTS, *ANGLES)]
        assert float(rail.variables["wagon.position.x"].start) == 5.0
        assert float(rail.variables["lever.orientation.z"].start) == 1.0
        assert rail.variables["scene"].start == "rail"
        yard.initialize()
        rail.initialize({"wagon.position.x": 6.5})
        assert rail.warnings() == []
        with attach(rail.get("scene_handle")) as world:
            assert world.scene.magnetic_field == FIELD
            assert world.states().bodies[:, :3].tolist() == [[6.5, 0.0, 0.0], [0.0, 3.0, 0.0]]
    guids = {read_model_description(str(fmu)).guid for fmu in (rail_fmu, environment_fmu)}
    assert len(guids) == 2


@pytest.mark.parametrize(
    ("folder", "manifest", "expected"),
    [
        ("rail", "nothing.toml", "does not exist"),
        ("yard", "scene.toml", "there is a built-in scene yard"),
        ("a rail", "scene.toml", "'a rail' is no name of a scene"),
    ],
)
def test_a_scene_that_cannot_be_built_for_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], folder: str, manifest: str, expected: str
) -> None:
    place = write_rail(tmp_path / folder).with_name(manifest)
    output = tmp_path / "out"
    arguments = ["--only", "Environment", "--scene", str(place), "--output", str(output)]
    assert build_fmus.main(arguments) == 1
    assert expected in capsys.readouterr().err
    assert not output.exists()


def test_a_host_of_another_kind_shares_the_scene_with_this_process(
    environment_fmu: Path, tmp_path: Path
) -> None:
    """The host is a process of its own, in which nothing but FMUs is loaded."""
    shutil.unpack_archive(environment_fmu, tmp_path, "zip")
    code = (
        "import sys, time; sys.path.insert(0, sys.argv[1]); import bare_host\n"
        "fmu = bare_host.Fmu(sys.argv[2]); fmu.start({'vehicle_1.position.x': 42.0})\n"
        "print(int(fmu.get('scene_handle')), flush=True); sys.stdin.read(); fmu.free()\n"
    )
    helper = str(Path(__file__).parents[1])
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    with subprocess.Popen(
        [sys.executable, "-c", code, helper, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd="/",
        env=environment,
    ) as host:
        assert host.stdout is not None
        number = int(host.stdout.readline())
        with attach(number) as world:
            assert world.states().bodies[0, 0] == 42.0
            assert world.scene.files[0].is_relative_to(tmp_path), "from the FMU's own resources"
        host.communicate()
    with pytest.raises(SceneHandleError):
        attach(number)
