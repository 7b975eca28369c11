"""Steps of the receiver that C makes by address: which need Python, and that all agree."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest

from fmus.fmi.sensor_fmu import SensorFmu
from sensor_models.core.quantities import ParameterError
from sensor_models.gnss.parameters import ErrorMode, Multipath, Solution
from sensor_models.scene.registry import open_scene
from tests.fmus.driving import bits, drive, read_record
from tests.fmus.fmi.test_all_sensors import erratic_motion
from tests.fmus.fmi.test_compiled_steps import C_STEP, begun, put, saved, shown
from tests.fmus.fmi.test_cutting import COMMON, END, STEPS, times
from tests.fmus.histories import parameters_of
from tests.fmus.host import open_fmu

ORIGIN = {"origin.latitude": 0.84, "origin.longitude": 0.2, "origin.height": 520.0}
CANYON: dict[str, Any] = {"scene": "street_canyon", "body.position.y": -3.0}
OPEN: dict[str, dict[str, Any]] = {
    "fixed": {},
    "dop": {"error.mode": ErrorMode.dop, "constellation": 2},
    "pseudorange": {"error.mode": ErrorMode.pseudorange, "dropout.interval": 0.5},
    "rtk": {"solution": Solution.rtk, "rtk.convergence_time": 0.3},
    "late": {"latency": 0.17},
}
WITH_PYTHON: dict[str, dict[str, Any]] = {
    "scene": {**CANYON, "error.mode": ErrorMode.pseudorange, "multipath": Multipath.image},
    "texts": {"nmea.on": True, "rinex.on": True},
    "late texts": {"nmea.on": True, "latency": 0.17},
    "late scene": {**CANYON, "latency": 0.17},
}


def step_of(instance: SensorFmu) -> tuple[Any, int]:
    address, context = instance.compiled_step()
    return C_STEP(address), context


def drive_both(one: SensorFmu, other: SensorFmu, count: int) -> list[bool]:
    """Steps of 10 ms from C, which hands over to Python, and in Python; which were handed over."""
    call, context = step_of(one)
    handed = []
    for number in range(count):
        time = 0.5 + 0.01 * number
        fault = 3 if number % 50 > 40 else 0
        for each in (one, other):
            put(each, {"body.position.x": 60.0 + 0.08 * number, "body.velocity.x": 8.0})
            put(each, {"fault.height.mode": fault})
        handed.append(call(context, time, 0.01) != 0)
        if handed[-1]:
            one.do_step(time, 0.01)
        other.do_step(time, 0.01)
        assert shown(one) == shown(other)
        assert one.time == other.time
    assert saved(one) == saved(other)
    return handed


@pytest.mark.parametrize("kind", OPEN)
def test_steps_under_an_open_sky_need_no_python(kind: str) -> None:
    given = {**ORIGIN, **OPEN[kind], "sample_rate": 10.0, "seed": 3}
    one, other = begun("Gnss", **given), begun("Gnss", **given)
    assert not any(drive_both(one, other, 100))
    assert shown(one)["sample.count"] >= 8
    for each in (one, other):
        each.close()


@pytest.mark.parametrize("kind", WITH_PYTHON)
def test_rays_and_texts_need_python_at_fixes_alone(kind: str) -> None:
    given = {**ORIGIN, **WITH_PYTHON[kind], "sample_rate": 10.0, "seed": 3}
    one, other = begun("Gnss", **given), begun("Gnss", **given)
    handed = drive_both(one, other, 100)
    # ten fixes; what comes out late with texts needs Python once more
    assert 9 <= sum(handed) <= (20 if kind == "late texts" else 11)
    for each in (one, other):
        each.close()


def test_a_step_that_is_refused_between_two_looks_changes_nothing(tmp_path: Path) -> None:
    given = {**CANYON, "sample_rate": 1000.0, "latency": 0.003, "nmea.on": True}
    folders = [tmp_path / name for name in ("one", "other")]
    one, other = (
        begun("Gnss", **given, record=True, output_directory=str(folder)) for folder in folders
    )
    for each in (one, other):
        each.do_step(0.5, 0.02)
    before = saved(one), shown(one)
    put(one, {"body.position.x": 1e300})  # the first samples are not as far away as that
    with pytest.raises(ParameterError, match="no place on the Earth"):
        one.do_step(0.52, 0.02)
    put(one, {"body.position.x": 0.0})
    assert (saved(one), shown(one)) == before
    for each in (one, other):
        while each.time < 0.6 - 1e-9:
            each.do_step(each.time, 0.02)
    assert saved(one) == saved(other)
    for each in (one, other):
        each.terminate()
        each.close()
    assert bits(read_record(folders[0])) == bits(read_record(folders[1]))


def test_an_interruption_while_python_looks_changes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = {**CANYON, "sample_rate": 100.0, "error.mode": ErrorMode.pseudorange}
    one, other = begun("Gnss", **given), begun("Gnss", **given)
    sensor = one._run._sensor
    looks: list[Any] = []

    def interrupted(*about: Any) -> None:
        looks.append(about)
        if len(looks) == 5:
            raise KeyboardInterrupt
        type(sensor).look(sensor, *about)

    monkeypatch.setattr(sensor, "look", interrupted)
    one.do_step(0.5, 0.1)
    other.do_step(0.5, 0.1)
    before = saved(one), shown(one)
    with pytest.raises(KeyboardInterrupt):
        one.do_step(0.6, 0.1)
    monkeypatch.undo()
    assert len(looks) == 5, "sample 0 again, then the fourth of ten"
    assert (saved(one), shown(one)) == before
    for each in (one, other):
        each.do_step(0.6, 0.1)
    assert saved(one) == saved(other) != before[0]


def test_late_results_are_all_recorded_whatever_waits_for_python(tmp_path: Path) -> None:
    # More come out of a step than are measured in it, and more than the ring has room for.
    given = {**ORIGIN, "sample_rate": 1000.0, "latency": 1.0, "error.mode": ErrorMode.dop}
    instance = begun("Gnss", **given, record=True, output_directory=str(tmp_path))
    call, context = step_of(instance)
    durations = [0.9, 0.1, 0.001, 0.95, 0.06, *[0.001] * 30, 3.0, 0.5]
    time = 0.5
    for duration in durations:
        if call(context, time, duration) != 0:
            instance.do_step(time, duration)
        time += duration
    instance.close()
    found = read_record(tmp_path)
    assert found["sample"].tolist() == list(range(len(found["sample"])))
    assert found["time"].tolist() == [0.5 + k / 1000 for k in range(len(found["time"]))]
    assert found["time"][-1] == pytest.approx(time - 1.0, abs=0.0011)


def test_the_scene_of_a_sample_is_that_of_its_instant() -> None:
    given = {**ORIGIN, "sample_rate": 100.0, "body.position.x": 60.0, "body.position.y": -3.0}
    with open_scene("street_canyon") as canyon:
        instance = begun("Gnss", **given)
        call, context = step_of(instance)
        assert call(context, 0.5, 0.1) == 0
        free = shown(instance)["satellites"]
        put(instance, {"scene_handle": canyon.number})
        assert call(context, 0.6, 0.1) != 0
        instance.do_step(0.6, 0.1)
        assert shown(instance)["satellites"] < free
        put(instance, {"scene_handle": 0})
        instance.do_step(0.7, 0.1)
        assert shown(instance)["satellites"] == free
        assert call(context, 0.8, 0.1) == 0, "no scene, no rays"
        instance.close()


# ---- latency and cutting -------------------------------------------------------------------------


@pytest.mark.parametrize("latency", [0.004, 0.06, 0.0745])
@pytest.mark.parametrize("at_end", [False, True])
def test_late_results_are_the_same_bits_however_time_is_cut(
    fmu_directory: Path, tmp_path: Path, at_end: bool, latency: float
) -> None:
    own = {**parameters_of("Gnss"), "latency": latency, "sample_rate": 1000 / COMMON}
    parameters = {**own, "inputs_at_step_end": at_end}
    runs, logs = [], []
    for step in STEPS:
        where = {"record": True, "output_directory": str(tmp_path / str(step))}
        with open_fmu(fmu_directory / "Gnss.fmu") as instance:
            motion = erratic_motion(instance)
            instance.initialize({**parameters, **motion(0.0), **where})
            for outputs in drive(instance, times(step), motion, at_step_end=at_end):
                assert outputs["sample.count"] == 0 or "GPGGA" in outputs["nmea.sentences"]
            instance.terminate()
        found = read_record(tmp_path / str(step))
        # those that are out in every master
        kept = found["time"] + latency <= END / 1000 + 1e-9
        runs.append({name: column[kept] for name, column in found.items()})
        text = (tmp_path / str(step) / "sensor.nmea").read_text()
        logs.append([line for line in text.splitlines() if "GGA" in line][: int(kept.sum())])
    count = math.floor((END / 1000 - latency) * 1000 / COMMON + 1e-9) + 1
    assert runs[0]["time"].tolist() == [k / (1000 / COMMON) for k in range(count)]
    for run, log in zip(runs[1:], logs[1:], strict=True):
        assert bits(run) == bits(runs[0])
        assert log == logs[0]


# ---- pseudoranges --------------------------------------------------------------------------------


def ranges_of(rinex: str) -> list[dict[str, float]]:
    """The observations of the epochs of a file."""
    _, _, body = rinex.partition("END OF HEADER")
    epochs: list[dict[str, float]] = []
    for line in body.splitlines():
        if line.startswith(">"):
            epochs.append({})
        elif line[:1] in "GER" and line.strip():
            epochs[-1][line[:3]] = float(line[3:17])
    return epochs


@pytest.mark.parametrize("constellation", [0, 1])
def test_a_record_has_the_pseudoranges_of_the_satellites_in_use(
    fmu_directory: Path, tmp_path: Path, constellation: int
) -> None:
    own = {"record_pseudoranges": True, "rinex.on": True, "error.mode": ErrorMode.pseudorange}
    where = {"record": True, "output_directory": str(tmp_path), "constellation": constellation}
    with open_fmu(fmu_directory / "Gnss.fmu") as gnss:
        gnss.initialize({**CANYON, **own, **where, "sample_rate": 5.0, "body.velocity.x": 8.0})
        for k in range(20):
            gnss.set({"body.position.x": 1.6 * k})
            gnss.step(0.2 * k, 0.2)
        gnss.terminate()
    found = read_record(tmp_path)
    names = [name for name in found if name.startswith("pseudorange.")]
    assert len(names) == (24, 48)[constellation]
    table = np.column_stack([found[name] for name in names])
    assert np.isfinite(table).sum(axis=1).tolist() == found["satellites"].tolist()
    epochs = ranges_of((tmp_path / "sensor.rnx").read_text())
    assert len(epochs) == len(table) == 20
    for epoch, row in zip(epochs, table, strict=True):
        used = {n.removeprefix("pseudorange."): r for n, r in zip(names, row, strict=True)}
        used = {name: value for name, value in used.items() if math.isfinite(value)}
        # the file has three decimals
        assert epoch == pytest.approx(used, abs=5.1e-4)
    (file,) = tmp_path.glob("*.parquet")
    field = pyarrow.parquet.read_schema(file).field(names[0])
    assert field.metadata[b"unit"] == b"m"


def test_a_log_takes_samples_whose_record_has_ranges(tmp_path: Path) -> None:
    where = {"output_directory": str(tmp_path), "log": str(tmp_path / "drive.mcap")}
    own = {"record": True, "record_pseudoranges": True, "nmea.on": True, "sample_rate": 10.0}
    instance = begun("Gnss", **ORIGIN, **own, **where)
    for k in range(20):
        instance.do_step(0.5 + 0.1 * k, 0.1)
    instance.close()
    assert len(read_record(tmp_path)["pseudorange.G01"]) == 20
    assert (tmp_path / "drive.mcap").stat().st_size > 10_000
    assert instance.log.messages == []


def test_there_are_no_columns_of_ranges_unless_they_are_asked_for(
    fmu_directory: Path, tmp_path: Path
) -> None:
    where = {"record": True, "output_directory": str(tmp_path), "output_format": 1}
    for wanted, count in ((False, 0), (True, 24)):
        with open_fmu(fmu_directory / "Gnss.fmu") as gnss:
            gnss.initialize({**ORIGIN, **where, "record_pseudoranges": wanted})
            gnss.step(0.0, 0.1)
            gnss.terminate()
        header, row = (tmp_path / "sensor.csv").read_text().splitlines()
        assert header.count("pseudorange.") == count
        assert row.count("nan") == (count and 24 - int(row.split(",")[10]))
