"""Sensors that take the handle of a scene, from ``Environment`` or from another process."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sensor_models.scene.manifest import load_scene
from sensor_models.scene.registry import SceneHandleError, attach
from tests.fmus.host import Instance, open_fmu
from tests.peer import Peer
from tests.rail_scene import FIELD

YARD_FIELD = load_scene("yard").magnetic_field
STEP = 0.125

#: For each sensor in the scene's magnetic field: its output, and the parameter of its own field.
MAGNETIC = {
    "Magnetometer": ("flux_density", "field"),
    "Imu": ("magnetometer", "magnetometer.field"),
}
OWN_FIELD = (7e-6, 8e-6, 9e-6)


def field_of(sensor: Instance, model: str) -> tuple[float, ...]:
    return tuple(sensor.get(f"{MAGNETIC[model][0]}.{axis}") for axis in "xyz")


@pytest.fixture(params=MAGNETIC)
def model(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def sensor(fmu_directory: Path, model: str) -> Iterator[Instance]:
    with open_fmu(fmu_directory / f"{model}.fmu") as instance:
        prefix = MAGNETIC[model][1]
        instance.set({f"{prefix}.{a}": v for a, v in zip("xyz", OWN_FIELD, strict=True)})
        yield instance


def test_a_sensor_is_in_the_field_of_the_scene_that_it_is_given(
    environment: Instance, sensor: Instance, model: str, rail: Path
) -> None:
    environment.initialize({"scene": str(rail)})
    sensor.initialize({"scene_handle": environment.get("scene_handle")})
    assert field_of(sensor, model) == FIELD
    sensor.step(0.0, STEP)
    assert field_of(sensor, model) == FIELD


def test_a_handle_may_come_late_change_and_go(
    environment: Instance, environment_fmu: Path, sensor: Instance, model: str, rail: Path
) -> None:
    environment.initialize({"scene": str(rail)})
    sensor.initialize()
    assert field_of(sensor, model) == OWN_FIELD
    with open_fmu(environment_fmu, "yard") as yard:
        yard.initialize()
        handles = [environment.get("scene_handle"), yard.get("scene_handle"), 0]
        fields = [FIELD, YARD_FIELD, OWN_FIELD]
        for k, (handle, expected) in enumerate(zip(handles, fields, strict=True)):
            sensor.set({"scene_handle": handle})
            sensor.step(k * STEP, STEP)
            assert field_of(sensor, model) == expected


def test_an_unknown_handle_is_an_error_that_says_so_and_the_sensor_goes_on(
    environment: Instance, sensor: Instance, model: str, rail: Path
) -> None:
    environment.initialize({"scene": str(rail)})
    sensor.initialize({"scene_handle": environment.get("scene_handle")})
    sensor.step(0.0, STEP)
    sensor.set({"scene_handle": 5})
    for _ in range(2):
        said = sensor.refusal(sensor.step, STEP, STEP)
        assert "scene_handle = 5 is no open scene" in said
        assert "allowed is the scene_handle of an Environment" in said
    assert sensor.get("sample.count") == 1
    sensor.set({"scene_handle": environment.get("scene_handle")})
    sensor.step(STEP, STEP)
    assert sensor.get("sample.count") == 2
    assert field_of(sensor, model) == FIELD


def test_an_unknown_handle_at_initialisation_is_an_error_and_may_be_replaced(
    sensor: Instance, model: str
) -> None:
    sensor.set({"scene_handle": 5})
    sensor.set_up()
    sensor.enter()
    assert "scene_handle = 5 is no open scene" in sensor.refusal(sensor.exit)
    sensor.set({"scene_handle": 0})
    sensor.exit()
    assert field_of(sensor, model) == OWN_FIELD


def test_a_sensor_keeps_the_scene_as_long_as_it_is_connected(
    environment_fmu: Path, sensor: Instance, model: str, rail: Path
) -> None:
    with open_fmu(environment_fmu) as environment:
        environment.initialize({"scene": str(rail)})
        number = environment.get("scene_handle")
        sensor.initialize({"scene_handle": number})
    sensor.step(0.0, STEP)
    assert field_of(sensor, model) == FIELD
    attach(number).close()
    sensor.set({"scene_handle": 0})
    sensor.step(STEP, STEP)
    with pytest.raises(SceneHandleError):
        attach(number)


def test_a_freed_sensor_leaves_the_scene(
    environment_fmu: Path, fmu_directory: Path, model: str
) -> None:
    with open_fmu(environment_fmu) as environment:
        environment.initialize()
        number = environment.get("scene_handle")
        with open_fmu(fmu_directory / f"{model}.fmu") as sensor:
            sensor.initialize({"scene_handle": number})
            sensor.step(0.0, STEP)
    with pytest.raises(SceneHandleError):
        attach(number)


def test_a_sensor_takes_the_handle_of_another_process(
    sensor: Instance, model: str, rail: Path
) -> None:
    with Peer() as peer:
        number = peer.ask(f"(w := open_scene({str(rail)!r})).number")
        sensor.initialize({"scene_handle": number})
        assert field_of(sensor, model) == FIELD
        peer.kill()
        sensor.step(0.0, STEP)
        assert field_of(sensor, model) == FIELD


def test_states_of_both_continue_when_the_whole_simulation_begins_anew(
    environment_fmu: Path, fmu_directory: Path, model: str, rail: Path
) -> None:
    sensor_fmu = fmu_directory / f"{model}.fmu"
    with open_fmu(environment_fmu) as environment, open_fmu(sensor_fmu) as sensor:
        environment.initialize({"scene": str(rail)})
        sensor.initialize({"scene_handle": environment.get("scene_handle")})
        sensor.step(0.0, STEP)
        saved = environment.saved(), sensor.saved()
    with open_fmu(environment_fmu) as environment, open_fmu(sensor_fmu) as sensor:
        environment.restore(saved[0])
        sensor.restore(saved[1])
        assert field_of(sensor, model) == FIELD
        sensor.step(STEP, STEP)
        assert field_of(sensor, model) == FIELD
