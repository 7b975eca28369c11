"""Outputs in Initialization Mode: computed from what is set, as often as asked, without a trace.

The calls are those of the binding, made directly.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import build_fmus
from fmus.fmi.base import FmuBase
from sensor_models.core.faults import FaultMode
from sensor_models.scene.registry import attach
from tests.conftest import SAMPLING
from tests.fmus.histories import parameters_of

SOURCES = build_fmus.fmu_sources()
G = 9.80665


class Initializing:
    """An FMU object in Initialization Mode."""

    def __init__(self, model: str, values: Mapping[str, Any] | None = None) -> None:
        self.fmu: FmuBase = SOURCES[model].model(instance_name="one", resources="")
        self.set(values or {})
        self.fmu.setup_experiment(2.0)
        self.fmu.enter_initialization_mode()

    def set(self, values: Mapping[str, Any]) -> None:
        for name, value in values.items():
            self.fmu.values.set(self.fmu.table().by_name[name], value)

    def get(self, name: str) -> Any:
        """A value, read as a master reads it in Initialization Mode."""
        self.fmu.compute_initial()
        return self.fmu.values.get(self.fmu.table().by_name[name])

    def outputs(self) -> dict[str, Any]:
        table = self.fmu.table()
        return {v.name: self.fmu.values.get(v) for v in table.of_causality("output")}

    def starts(self) -> dict[str, Any]:
        return {v.name: v.start for v in self.fmu.table().of_causality("output")}

    def warnings(self) -> list[str]:
        return [message.msg for message in self.fmu.log_queue]


@pytest.fixture
def opened() -> Iterator[list[Initializing]]:
    """FMUs that are closed at the end."""
    found: list[Initializing] = []
    yield found
    for each in found:
        each.fmu.close()


MODELS = [name for name in SAMPLING if name != "Null"] + ["Environment", "VehicleDynamics"]


def values_of(model: str) -> dict[str, Any]:
    return parameters_of(model) if model in SAMPLING else {}


@pytest.mark.parametrize("model", MODELS)
def test_outputs_are_those_of_the_start_and_asking_changes_nothing(
    opened: list[Initializing], model: str
) -> None:
    asked, other = Initializing(model, values_of(model)), Initializing(model, values_of(model))
    opened += [asked, other]
    asked.fmu.compute_initial()
    first = asked.outputs()
    for _ in range(3):
        asked.fmu.compute_initial()
        assert asked.outputs() == first
    asked.fmu.exit_initialization_mode()
    other.fmu.exit_initialization_mode()
    assert asked.outputs() == first
    given, untouched = asked.outputs(), other.outputs()
    if model == "Environment":  # each has a scene of its own
        assert given.pop("scene_handle") != untouched.pop("scene_handle")
    assert given == untouched
    for k in range(5):
        for each in (asked, other):
            each.fmu.do_step(2.0 + 0.1 * k, 0.1)
        assert asked.fmu._get_fmu_state(4).time == other.fmu._get_fmu_state(4).time
        given, untouched = asked.outputs(), other.outputs()
        given.pop("scene_handle", None)
        untouched.pop("scene_handle", None)
        assert given == untouched


def test_an_accelerometer_at_rest_reads_gravity(opened: list[Initializing]) -> None:
    sensor = Initializing("Accelerometer")
    opened.append(sensor)
    assert sensor.get("acceleration.z") == G
    sensor.set({"body.orientation.w": 0.0, "body.orientation.x": 1.0})
    assert sensor.get("acceleration.z") == -G
    sensor.set({"gravity.z": -1.625})  # a parameter, and so another run
    assert sensor.get("acceleration.z") == -1.625
    assert sensor.get("sample.count") == 1
    assert sensor.get("sample.time") == 2.0


def test_a_vehicle_stands_where_its_parameters_and_commands_say(
    opened: list[Initializing],
) -> None:
    vehicle, fresh = Initializing("VehicleDynamics"), Initializing("VehicleDynamics")
    opened += [vehicle, fresh]
    assert vehicle.get("body.position.x") == pytest.approx(-4.0, abs=0.01)
    before = vehicle.get("arm.joint_1.position")
    for each in (vehicle, fresh):
        each.set({"arm.joint_1.command": 0.3})
    assert vehicle.get("arm.joint_1.position") != before
    # It was set down twice, and is where one is that was set down once, to the bit.
    fresh.fmu.compute_initial()
    assert vehicle.outputs() == fresh.outputs()
    vehicle.set({"start.position.x": -3.0})
    assert vehicle.get("body.position.x") == pytest.approx(-3.0, abs=0.01)


def test_a_scene_handle_stays_that_of_the_run(opened: list[Initializing]) -> None:
    environment = Initializing("Environment")
    opened.append(environment)
    number = environment.get("scene_handle")
    with attach(number) as scene:  # a master has passed it on
        environment.set({"vehicle_1.position.x": 31.0})
        assert environment.get("scene_handle") == number
        environment.fmu.exit_initialization_mode()
        assert environment.outputs()["scene_handle"] == number
        assert scene.states().bodies[0, 0] == 31.0
    environment.fmu.close()


@pytest.mark.parametrize(
    ("model", "bad", "good"),
    [
        ("Encoder", {"lower": 10.0}, {"lower": 0.0}),
        ("Odometer", {"fault.mode": FaultMode.max}, {"fault.mode": FaultMode.none}),
        ("Imu", {"scene_handle": 5}, {"scene_handle": 0}),
        ("Environment", {"scene": "nowhere"}, {"scene": "targets"}),
        ("VehicleDynamics", {"start.position.x": 1e6}, {"start.position.x": -4.0}),
    ],
)
def test_what_is_not_valid_yet_leaves_the_start_values(
    opened: list[Initializing], model: str, bad: dict[str, Any], good: dict[str, Any]
) -> None:
    fmu = Initializing(model, good)
    opened.append(fmu)
    fmu.fmu.compute_initial()
    valid = fmu.outputs()
    assert valid != fmu.starts()
    fmu.set(bad)
    fmu.fmu.compute_initial()
    assert fmu.outputs() == fmu.starts()
    with pytest.raises((ValueError, OSError)):
        fmu.fmu.exit_initialization_mode()
    fmu.set(good)
    fmu.fmu.exit_initialization_mode()
    outputs = fmu.outputs()
    assert outputs.keys() == valid.keys()
    assert outputs != fmu.starts()


def test_nothing_is_written_before_the_end_of_the_initialisation(
    opened: list[Initializing], tmp_path: Path
) -> None:
    folder = tmp_path / "records"
    sensor = Initializing("Encoder", {"record": True, "output_directory": str(folder)})
    opened.append(sensor)
    assert sensor.get("sample.count") == 1
    assert not folder.exists()
    sensor.fmu.exit_initialization_mode()
    assert (folder / "index.jsonl").is_file()


def test_what_is_wrong_is_warned_of_once(opened: list[Initializing]) -> None:
    sensor = Initializing("Accelerometer", {"body.orientation.w": 0.0})
    opened.append(sensor)
    for _ in range(3):
        assert sensor.get("acceleration.z") == G
    sensor.fmu.exit_initialization_mode()
    (warning,) = sensor.warnings()
    assert "body.orientation is all zeros" in warning


@pytest.mark.parametrize("model", ["DepthCamera", "Lidar", "Radar", "WaveformLidar"])
def test_frames_are_not_taken_before_the_first_step(opened: list[Initializing], model: str) -> None:
    camera = Initializing(model, parameters_of(model))
    opened.append(camera)
    camera.fmu.compute_initial()
    assert camera.outputs() == camera.starts()


@pytest.mark.parametrize("model", [*SOURCES])
def test_no_step_is_compiled_yet(model: str) -> None:
    fmu = SOURCES[model].model(instance_name="one", resources="")
    if model in SAMPLING:
        assert fmu.compiled_step() == (0, 0)
    else:  # the binding asks nothing of what it does not find
        assert not hasattr(fmu, "compiled_step")
