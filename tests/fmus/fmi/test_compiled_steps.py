"""Compiled steps of FMUs, as the binding calls them: by address, on the values of an instance."""

import csv
import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fmus.fmi.sensor_fmu import SensorFmu
from fmus.fmi.sensors import fmu_of
from sensor_models import catalog
from sensor_models.core.quantities import ParameterError

C_STEP = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_double, ctypes.c_double)
COMPILED = [name for name in catalog.names() if catalog.spec_of(name).compiled]
every = pytest.mark.parametrize("name", COMPILED)

STEP = 0.013


class Quiet:
    """What takes the messages of an instance."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    def __call__(self, message: str, *about: Any) -> None:
        self.messages.append(message)


def made(name: str, **values: Any) -> SensorFmu:
    """An instance with these values, before its initialisation; its messages are collected."""
    instance = fmu_of(name)(instance_name="under test")
    instance.log = Quiet()
    put(instance, values)
    instance.setup_experiment(0.5)
    return instance


def begun(name: str, **values: Any) -> SensorFmu:
    instance = made(name, **values)
    instance.exit_initialization_mode()
    return instance


def put(instance: SensorFmu, values: dict[str, Any]) -> None:
    by_name = instance.table().by_name
    for key, value in values.items():
        instance.values.set(by_name[key], value)


def shown(instance: SensorFmu) -> dict[str, Any]:
    """All outputs."""
    return {v.name: instance.values.get(v) for v in instance.table().of_causality("output")}


def move(instance: SensorFmu, number: int) -> None:
    """Some motion, and now and then a fault."""
    real = [v.name for v in instance.table().of_causality("input") if v.type_name == "Real"]
    names = [name for name in real if ".euler." not in name]  # which do not count here
    noise = np.random.default_rng(number).normal(size=len(names))
    motion = {
        key: value
        for key, value in zip(names, noise, strict=True)
        if key.startswith(("body.", "joint."))
    }
    put(instance, motion)
    fault = next(key for key in instance.table().by_name if key.endswith("fault.x.mode"[-4:]))
    put(instance, {fault: 3 if number % 5 == 4 else 0})


def saved(instance: SensorFmu) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in instance._get_fmu_state().arrays.items()}


@every
@pytest.mark.parametrize("rate", [0.0, 100.0])
@pytest.mark.parametrize("at_end", [False, True])
def test_steps_from_c_are_those_of_python(name: str, rate: float, at_end: bool) -> None:
    values = {"sample_rate": rate, "inputs_at_step_end": at_end, "seed": 3}
    one, other = begun(name, **values), begun(name, **values)
    assert one.compiled_step()[0] == other.compiled_step()[0]
    call, context = C_STEP(one.compiled_step()[0]), one.compiled_step()[1]
    for number in range(40):
        time = 0.5 + number * STEP
        for each in (one, other):
            move(each, number)
        assert call(context, time, STEP) == 0
        other.do_step(time, STEP)
        assert shown(one) == shown(other)
        assert one.time == other.time == time + STEP
    assert saved(one) == saved(other)
    assert shown(one)["sample.count"] > 30
    assert one.log.messages == []
    for each in (one, other):
        each.close()
        assert each.compiled_step() == (0, 0)


@every
def test_a_step_that_python_must_refuse_changes_nothing_from_c(name: str) -> None:
    instance = begun(name, sample_rate=100.0)
    call, context = C_STEP(instance.compiled_step()[0]), instance.compiled_step()[1]
    for number in range(3):
        move(instance, number)
        assert call(context, 0.5 + number * STEP, STEP) == 0
    before = saved(instance), shown(instance)
    for time, duration in [(0.1, STEP), (0.6, 0.0), (0.6, -1.0), (float("nan"), STEP), (0.6, 1e9)]:
        assert call(context, time, duration) != 0
        with pytest.raises(ParameterError):
            instance.do_step(time, duration)
    assert (saved(instance), shown(instance)) == before


@every
def test_outputs_in_initialization_mode_are_those_of_the_start(name: str) -> None:
    instance = made(name, sample_rate=100.0)
    assert instance.compiled_step() == (0, 0)
    for number in (2, 1, 0):
        move(instance, number)
        instance.compute_initial()
        first = shown(instance)
    assert first["sample.count"] == 1
    instance.exit_initialization_mode()
    assert shown(instance) == first
    other = made(name, sample_rate=100.0)
    move(other, 0)
    other.exit_initialization_mode()
    assert (shown(other), saved(other)) == (first, saved(instance))


@every
def test_samples_of_steps_from_c_are_all_recorded(name: str, tmp_path: Path) -> None:
    values = {"sample_rate": 0.0, "record": True, "output_format": 1}
    values["output_directory"] = str(tmp_path)
    instance = made(name, **values)
    instance.compute_initial()
    assert list(tmp_path.iterdir()) == []
    instance.exit_initialization_mode()
    call, context = C_STEP(instance.compiled_step()[0]), instance.compiled_step()[1]
    by_python, count = 0, 2500
    for number in range(count):
        time = 0.5 + number * STEP
        if call(context, time, STEP) != 0:
            by_python += 1
            instance.do_step(time, STEP)
    instance.close()
    assert 0 < by_python < 10  # only when a thousand samples wait
    (file,) = tmp_path.glob("*.csv")
    with file.open(newline="") as stream:
        rows = list(csv.reader(stream))[1:]
    assert [int(row[0]) for row in rows] == list(range(count))
    assert [float(row[1]) for row in rows] == [0.5 + number * STEP for number in range(count)]


@pytest.mark.parametrize("name", ["Gnss", "Imu", "Magnetometer"])
def test_another_scene_is_looked_for_by_python(name: str) -> None:
    instance = begun(name)
    call, context = C_STEP(instance.compiled_step()[0]), instance.compiled_step()[1]
    assert call(context, 0.5, STEP) == 0
    before = saved(instance)
    put(instance, {"scene_handle": 77})
    for _ in range(2):
        assert call(context, 0.6, STEP) != 0
        with pytest.raises(Exception, match="scene_handle = 77 is no open scene"):
            instance.do_step(0.6, STEP)
    put(instance, {"scene_handle": 0})
    assert saved(instance) == before
    assert call(context, 0.6, STEP) == 0
