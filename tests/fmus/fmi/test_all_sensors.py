"""What holds for every sensor of the catalog, whatever it measures.

Each one is driven along the same kind of motion and compared with itself: cut in other steps,
beside other instances, in threads, under bad input. What the readings have to be is in the tests
of each sensor.
"""

import itertools
import math
import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sensor_models.core.faults import FaultWave
from sensor_models.lidar.parameters import ScanMode
from sensor_models.output.sinks import WriteFiles
from tests.conftest import SAMPLING, SEEING, SENSORS
from tests.fmus.driving import Columns, Motion, bits, drive, read_record
from tests.fmus.fmi.test_cutting import COMMON, END, STEPS, at_milliseconds, times, up_to_end
from tests.fmus.histories import go, parameters_of
from tests.fmus.host import Instance, open_fmu

every_sensor = pytest.mark.parametrize("model", SENSORS)
#: Those whose signals can be at fault.
FAULTY = [name for name in SAMPLING if name != "Null"]
every_rule = pytest.mark.parametrize("at_step_end", [False, True], ids=["fmi", "step end"])


@pytest.fixture
def fmu(fmu_directory: Path, model: str) -> Path:
    return fmu_directory / f"{model}.fmu"


def is_motion(name: str) -> bool:
    return name.startswith(("joint.", "body."))


def erratic_motion(instance: Instance) -> Motion:
    """A motion that nothing interpolates, with faults and warmth from 120 ms to 210 ms."""
    generator = np.random.default_rng(8)
    n = np.arange(END + 20)
    faulty = (n >= 120) & (n < 210)
    found: dict[str, np.ndarray[Any, Any]] = {}
    for name in instance.names("input"):
        if is_motion(name):
            found[name] = generator.normal(0.0, 2.0, len(n))
        elif re.search(r"\bfault\.(\w+\.)*wave$", name):
            found[name] = np.where(faulty, FaultWave.square, FaultWave.none)
        elif re.search(r"\bfault\.(\w+\.)*amplitude$", name):
            found[name] = np.full(len(n), 1e6)
        elif name == "temperature":
            found[name] = np.where(faulty, 320.0, 290.0)
    return at_milliseconds(found)


def readings_of(
    fmu: Path, folder: Path, instants: list[float], parameters: Mapping[str, Any]
) -> tuple[Columns, dict[str, bytes]]:
    """The record of a run, and its frames' files."""
    with open_fmu(fmu) as instance:
        motion = erratic_motion(instance)
        where = {"record": True, "output_directory": str(folder)}
        if "write_files" in parameters:
            where["write_files"] = WriteFiles.on
        instance.initialize({**parameters, **motion(instants[0]), **where}, instants[0])
        drive(instance, instants, motion, at_step_end=parameters["inputs_at_step_end"])
        instance.terminate()
    files = {f.name: f.read_bytes() for f in folder.glob("*-0*.*")}
    return up_to_end(read_record(folder)), files


# ---- cutting -------------------------------------------------------------------------------------


@every_rule
@every_sensor
def test_results_at_instants_that_all_masters_know_are_the_same_bits(
    fmu: Path, tmp_path: Path, model: str, at_step_end: bool
) -> None:
    # Every instant that is sampled is one that all these masters know, so nothing is
    # interpolated and all must agree, whatever the body does between.
    how = {"sample_rate": 1000 / COMMON, "inputs_at_step_end": at_step_end}
    parameters = {**parameters_of(model), **how}
    if "scan_mode" in parameters:  # the rays of a sweep lie between those instants
        parameters["scan_mode"] = ScanMode.instant
    if "motion_samples" in parameters:  # and those of a rolling shutter, and of blur
        parameters |= {"motion_samples": 1, "shutter": 0}
    if "rolling_shutter" in parameters:
        parameters["rolling_shutter"] = 0.0
    if "latency" in parameters:  # the last samples would be on their way: test_gnss_steps has it
        parameters["latency"] = 0.0
    # A low-pass this slow takes its input with the samples alone, a faster one between them too.
    parameters |= {name: 2.5 for name in parameters if name.endswith("filter.cutoff")}
    cuts = [*((step, False) for step in STEPS), (STEPS[0], True)]
    runs = [
        readings_of(fmu, tmp_path / f"{step} {added}", times(step, added_up=added), parameters)
        for step, added in cuts
    ]
    first, files = runs[0]
    assert first["time"].tolist() == [k / (1000 / COMMON) for k in range(END // COMMON + 1)]
    changing = [name for name, column in first.items() if len(set(column.tolist())) > 2]
    assert set(changing) > {"sample", "time"}, "there is something to compare"
    if model in FAULTY:
        stuck = [np.flatnonzero(np.abs(column) > 5e5).tolist() for column in first.values()]
        assert [4, 5, 6] in stuck, "the fault holds from 120 ms to 210 ms"
    assert bool(files) == (model in SEEING)
    for other, other_files in runs[1:]:
        assert bits(other) == bits(first)
        kept = {name: other_files[name] for name in files if name in other_files}
        assert kept == {name: files[name] for name in kept}
        assert len(kept) >= len(files) - 4 * (model in SEEING), "but for what comes after the end"


# ---- instances -----------------------------------------------------------------------------------


def story(fmu: Path, model: str, name: str) -> list[dict[str, Any]]:
    """The outputs of a run."""
    with open_fmu(fmu, name) as instance:
        instance.initialize(parameters_of(model))
        return go(instance, 0, 30)


@every_sensor
def test_instances_take_turns_in_any_order_and_report_what_they_report_alone(
    fmu: Path, model: str
) -> None:
    alone = {name: story(fmu, model, name) for name in ("left", "right")}
    for order in (("left", "right"), ("right", "left")):
        with open_fmu(fmu, order[0]) as first, open_fmu(fmu, order[1]) as second:
            both = dict(zip(order, (first, second), strict=True))
            together: dict[str, list[dict[str, Any]]] = {name: [] for name in order}
            for instance in both.values():
                instance.initialize(parameters_of(model))
            for k in range(30):
                for name, instance in both.items():
                    together[name] += go(instance, k, k + 1)
        assert together == alone


@every_sensor
def test_instances_in_threads_report_what_they_report_alone(fmu: Path, model: str) -> None:
    names = ("left", "right", "rear")
    alone = [story(fmu, model, name) for name in names]
    with ThreadPoolExecutor(len(names)) as threads:
        assert list(threads.map(lambda name: story(fmu, model, name), names)) == alone


@pytest.mark.parametrize("model", [*FAULTY, *SEEING])
def test_readings_differ_with_name_and_with_seed_and_repeat_with_both(
    fmu: Path, model: str
) -> None:
    def run(name: str, seed: int) -> list[dict[str, Any]]:
        with open_fmu(fmu, name) as instance:
            instance.initialize({**parameters_of(model), "seed": seed})
            return go(instance, 0, 20)

    runs = [run(name, seed) for name in ("left", "right") for seed in (1, 2)]
    for one, other in itertools.combinations(runs, 2):
        assert one != other
    assert run("left", 1) == runs[0]


# ---- bad input -----------------------------------------------------------------------------------


def ahead(instance: Instance, model: str) -> None:
    instance.initialize(parameters_of(model))
    go(instance, 0, 5)


#: Steps that are no steps: time, length and what a refusal says.
BAD_STEPS = [
    (0.05, 0.0, "communication step = 0.0 s"),
    (0.05, -0.1, "communication step = -0.1 s"),
    (0.05, math.nan, "communication step = nan s"),
    (0.05, math.inf, "communication step = inf s"),
    (math.nan, 0.01, "nan"),
    (0.04, 0.01, "time = 0.04 s lies before the end of the last step"),
    (-1.0, 0.01, "time = -1.0 s lies before the end of the last step"),
]
NO_LENGTH = [(0.0, 1e-7, 0.0, 0.0), (5e-7, 5e-7, 5e-7, -4e-7), (5e-324, 0.0, 0.0, 0.0)]


@every_sensor
def test_a_bad_step_is_refused_and_the_sensor_goes_on(fmu: Path, model: str) -> None:
    with open_fmu(fmu) as sensor, open_fmu(fmu) as undisturbed:
        for each in (sensor, undisturbed):
            ahead(each, model)
        before = sensor.saved()
        for time, step, words in BAD_STEPS:
            assert words in sensor.refusal(sensor.step, time, step)
            assert sensor.saved() == before
        assert go(sensor, 5, 12) == go(undisturbed, 5, 12)


@every_sensor
def test_a_motion_that_is_not_finite_is_refused_and_the_sensor_goes_on(
    fmu: Path, model: str
) -> None:
    with open_fmu(fmu) as sensor, open_fmu(fmu) as undisturbed:
        for each in (sensor, undisturbed):
            ahead(each, model)
        before = sensor.saved()
        for name in filter(is_motion, sensor.names("input")):
            for value in (math.nan, math.inf, -math.inf):
                message = sensor.refusal(sensor.set, {name: value})
                assert f"{name} = {value} is not a finite number" in message
        assert sensor.saved() == before
        assert go(sensor, 5, 12) == go(undisturbed, 5, 12)


BODIED = [name for name in SENSORS if name not in ("Encoder", "Odometer")]


def orientation(values: tuple[float, ...]) -> dict[str, float]:
    """The inputs for an orientation."""
    return {f"body.orientation.{p}": v for p, v in zip("wxyz", values, strict=True)}


@pytest.mark.parametrize("model", BODIED)
def test_an_orientation_of_no_length_is_refused_and_the_sensor_goes_on(
    fmu: Path, model: str
) -> None:
    with open_fmu(fmu) as sensor, open_fmu(fmu) as undisturbed:
        for each in (sensor, undisturbed):
            ahead(each, model)
        before = sensor.outputs()
        for values in NO_LENGTH:
            sensor.set(orientation(values))
            message = sensor.refusal(sensor.step, 0.05, 0.01)
            assert "body.orientation = (" in message
            assert str(values[1]) in message
            assert "a length of at least 1e-06, or four zeros" in message
            assert sensor.outputs() == before
        assert go(sensor, 5, 12) == go(undisturbed, 5, 12)


@pytest.mark.parametrize("model", BODIED)
def test_an_orientation_of_four_zeros_counts_as_none_with_one_warning(
    fmu: Path, model: str
) -> None:
    found = []
    for values in ((1.0, 0.0, 0.0, 0.0), (0.0,) * 4):
        with open_fmu(fmu) as sensor:
            # poses are given: nothing else is to be told
            still = {**orientation(values), "body.angular_velocity.y": 2.0, "poses": 1}
            sensor.initialize({**parameters_of(model), **still})
            readings = []
            for k in range(6):
                sensor.set(orientation(values))
                sensor.step(0.02 * k, 0.02)
                readings.append(sensor.outputs())
            said = sensor.warnings()
        for reading in readings:  # a copy of the input is what it is told
            for number in (4, 17):
                reading.pop(f"value.copy_{number}", None)
        found.append((readings, said))
    (connected, told), (zeros, told_more) = found
    assert connected == zeros
    assert not any("body." in text for text in told)  # of what is seen, there may be some
    (warning,) = [text for text in told_more if text not in told]
    assert "body.orientation is all zeros" in warning
    assert "1, 0, 0, 0" in warning


@pytest.mark.parametrize("model", ["Accelerometer", "Gyroscope", "Imu", "Odometer"])
def test_a_step_with_inputs_too_large_to_compute_with_is_refused_and_nothing_is_lost(
    fmu: Path, tmp_path: Path, model: str
) -> None:
    # Each number by itself is allowed, what comes of them is not finite.
    parameters = {**parameters_of(model), "sample_rate": 100.0}
    if model == "Odometer":
        parameters["wheel_radius"] = 1e10
    with open_fmu(fmu) as sensor, open_fmu(fmu) as undisturbed:
        for each in (sensor, undisturbed):
            folder = tmp_path / ("sensor" if each is sensor else "undisturbed")
            where = {"record": True, "output_directory": str(folder)}
            each.initialize({**parameters, **where})
            go(each, 0, 5)
        before = sensor.saved()
        good = sensor.get_all([*filter(is_motion, sensor.names("input"))])
        turns = ("body.orientation.", "body.euler.")  # of which one does not count
        sensor.set({name: 1.7e308 for name in good if not name.startswith(turns)})
        refusals = sensor.refusal(sensor.step, 0.05, 0.01)
        assert "not finite" in refusals
        sensor.set(good)
        assert sensor.saved() == before
        assert go(sensor, 5, 12) == go(undisturbed, 5, 12)
        sensor.terminate()
        undisturbed.terminate()
    assert bits(read_record(tmp_path / "sensor")) == bits(read_record(tmp_path / "undisturbed"))


@pytest.mark.parametrize("model", ["Gnss", "Imu", "Magnetometer", *SEEING])
def test_a_handle_of_no_scene_is_refused_and_the_sensor_goes_on(fmu: Path, model: str) -> None:
    with open_fmu(fmu) as sensor, open_fmu(fmu) as undisturbed:
        for each in (sensor, undisturbed):
            ahead(each, model)
        before = sensor.outputs()
        sensor.set({"scene_handle": 5})
        for _ in range(2):
            message = sensor.refusal(sensor.step, 0.05, 0.01)
            assert "scene_handle = 5 is no open scene" in message
        assert sensor.outputs() == before
        sensor.set({"scene_handle": 0})
        assert go(sensor, 5, 12) == go(undisturbed, 5, 12)


# ---- records -------------------------------------------------------------------------------------


@every_sensor
def test_a_record_has_a_row_for_each_result_with_what_was_on_the_outputs(
    fmu: Path, tmp_path: Path, model: str
) -> None:
    where = {"record": True, "output_directory": str(tmp_path)}
    with open_fmu(fmu) as sensor:
        sensor.initialize({**parameters_of(model), **where})
        shown = {r["sample.count"]: r for r in go(sensor, 0, 30)}
        sensor.terminate()
    record = read_record(tmp_path)
    assert record["sample"].tolist() == list(range(max(shown)))
    for count, outputs in shown.items():
        if count == 0:
            continue
        assert record["time"][count - 1] == outputs["sample.time"]
        for name in record.keys() - {"sample", "time"}:
            assert record[name][count - 1] == outputs[name], name


@pytest.mark.parametrize("model", SEEING)
def test_frames_go_nowhere_without_a_directory_which_is_said_once(
    fmu: Path, tmp_path: Path, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for chosen, files, words in (
        (WriteFiles.auto, 0, ["no files are written"]),
        (WriteFiles.off, 0, []),
        (WriteFiles.on, 1, []),
    ):
        with open_fmu(fmu) as sensor:
            sensor.initialize({**parameters_of(model), "write_files": chosen})
            go(sensor, 0, 10)
            sensor.terminate()
            said = sensor.warnings()
            assert bool(sensor.get("frame.file")) == files
        assert [word in text for word, text in zip(words, said, strict=True)] == [True] * len(words)
        assert len([*tmp_path.glob("*/index.jsonl")]) == files
    unused = tmp_path / "unused"
    with open_fmu(fmu) as sensor:
        where = {"output_directory": str(unused), "write_files": WriteFiles.off}
        sensor.initialize({**parameters_of(model), **where})
        go(sensor, 0, 10)
        sensor.terminate()
        assert (sensor.get("frame.count") > 0, sensor.get("frame.file")) == (True, "")
    assert not unused.exists()
