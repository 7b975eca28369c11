"""Samples of compiled sensors come to a log soon, whoever steps them, and each of them once."""

import ctypes
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcap.reader import make_reader

from fmus.fmi.scalar_run import LOG_ROWS, LOG_ROWS_OF_STEPS, rows_for_log
from fmus.fmi.sensors import fmu_of
from sensor_models import catalog

COMPILED = [name for name in catalog.names() if catalog.spec_of(name).compiled]
STEP = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_double, ctypes.c_double)


@contextmanager
def running(name: str, **values: Any) -> Iterator[Any]:
    """An instance in this process, without the binding."""
    instance = fmu_of(name)(instance_name="one")
    for variable, value in values.items():
        instance.values.set(instance.table().by_name[variable], value)
    instance.setup_experiment(0.0)
    instance.exit_initialization_mode()
    yield instance
    instance.close()


def step_as_the_binding_does(instance: Any, time: float, duration: float) -> None:
    address, context = instance.compiled_step()
    if STEP(address)(context, time, duration) != 0:
        instance.do_step(time, duration)


def logged(path: Path) -> list[float]:
    """The times of all readings, in the order of the file."""
    with path.open("rb") as stream:
        found = list(make_reader(stream).iter_messages(["/one/reading"], log_time_order=False))
    stamps = [json.loads(message.data)["timestamp"] for _, _, message in found]
    return [stamp["sec"] + 1e-9 * stamp["nsec"] for stamp in stamps]


@pytest.mark.parametrize("rate", [1.0, 10.0, 100.0, 1000.0])
def test_a_log_waits_no_longer_for_a_slow_sensor_than_for_a_quick_one(
    tmp_path: Path, rate: float
) -> None:
    """64 samples are a minute at 1 Hz, in which nothing of all sensors came to the disk."""
    with running("Odometer", sample_rate=rate, log=str(tmp_path / "log.mcap")) as sensor:
        run = sensor._run
        for k in range(500):
            step_as_the_binding_does(sensor, 0.01 * k, 0.01)
            run._recorder.log.wait()
            passed = max(run._recorder.log._ticket.passed, 0.0)
            newest = sensor.values.get(sensor.table().by_name["sample.time"])
            # one more than wait, as they are handed on when the next one has no room
            assert passed >= newest - 0.1 - 1.0 / rate - 1e-9


@pytest.mark.parametrize("step", [0.1, 0.37, 2.0])
@pytest.mark.parametrize("name", COMPILED)
def test_each_sample_is_logged_once(tmp_path: Path, name: str, step: float) -> None:
    """Also where a step makes more samples than wait at once."""
    path = tmp_path / "log.mcap"
    with running(name, sample_rate=10.0, log=str(path)) as sensor:
        for k in range(7):
            step_as_the_binding_does(sensor, step * k, step)
        count = sensor.values.get(sensor.table().by_name["sample.count"])
    assert count > 6 * step * 10.0 - 1.0
    assert logged(path) == pytest.approx([0.1 * k for k in range(count)], abs=1e-9)


def test_samples_wait_for_a_tenth_of_a_second_at_most() -> None:
    assert [rows_for_log(rate) for rate in (0.5, 10.0, 100.0, 640.0)] == [1, 1, 10, 64]
    assert rows_for_log(1e6) == LOG_ROWS
    assert rows_for_log(0.0) == LOG_ROWS_OF_STEPS
