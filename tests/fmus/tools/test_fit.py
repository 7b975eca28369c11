"""Through the FMUs: what they record at the values of a preset is fitted to these values again."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sensor_models.presets import read_preset
from sensor_models.tools.fitting.imu import wanted
from sensor_models.tools.fitting.tables import read_columns
from sensor_models.tools.pictures.fit_command import KINDS, main
from tests.fit_coverage import fewest, holds, quiet
from tests.fmus.driving import record_run
from tests.fmus.host import open_fmu

PRESET = """
[preset]
name = "Unit 7"
sensor = ["Imu", "Accelerometer", "Gyroscope"]
description = "x"
[preset.datasheet]
publisher = "x"
title = "x"
revision = "1"
[parameters]
sample_rate = 20.0
gyroscope.noise.density.xyz = 1e-3
gyroscope.instability.xyz = 3e-4
gyroscope.drift.type = "random_walk"
gyroscope.drift.walk.xyz = 3e-5
gyroscope.noise.one_sided = false
accelerometer.noise.density.xyz = 4e-3
accelerometer.noise.one_sided = true
"""
TRUTH = {
    "gyroscope.noise.density": 1e-3,
    "gyroscope.instability": 3e-4,
    "gyroscope.drift.walk": 3e-5,
    "accelerometer.noise.density": 4e-3 / math.sqrt(2.0),
}


def fitted(kind: str, log: Path) -> Any:
    return KINDS[kind].fitter([log], {}, quiet)


def test_an_imu_at_the_values_of_a_preset_is_fitted_to_them(imu_fmu: Path, tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text(PRESET)
    end = 3600.0
    parameters = {"preset": str(own), "seed": 3}
    record_run(imu_fmu, tmp_path / "record", [0.0, end, end + 1.0], lambda t: {}, parameters)
    (log,) = (tmp_path / "record").glob("*.parquet")
    found = fitted("imu", log).by_name
    judged = [holds(found[f"{n}.{a}"], v) for n, v in TRUTH.items() for a in "xyz"]
    assert sum(judged) >= fewest(len(judged), 0.02)
    again = tmp_path / "again.toml"
    assert main(["imu", str(log), "--output", str(again)]) == 0
    values = read_preset(again).parameters_of("Imu")
    assert values["gyroscope.drift.type"] == "random_walk"
    second = record_run(
        imu_fmu, tmp_path / "second", [0.0, 500.0, 501.0], lambda t: {}, {"preset": str(again)}
    )
    steps = np.diff(second["accelerometer.y"])
    wanted_steps = math.sqrt(2.0 * 20.0) * TRUTH["accelerometer.noise.density"]
    assert steps.std() == pytest.approx(wanted_steps, rel=0.05)


@pytest.mark.parametrize("name", ["log.mcap", "bag"])
def test_our_own_logs_have_the_columns_of_the_record(
    imu_fmu: Path, tmp_path: Path, name: str
) -> None:
    parameters = {"log": str(tmp_path / name), "sample_rate": 50.0, "accelerometer.noise.rms.x": 1}
    record = record_run(imu_fmu, tmp_path / "record", [0.0, 10.0, 10.5], lambda t: {}, parameters)
    given = {} if name == "log.mcap" else {"topic": "/sensor/data_raw"}
    columns = read_columns(tmp_path / name, wanted(), given)
    for axis in ("accelerometer.x", "accelerometer.z", "gyroscope.y"):
        assert columns[axis] == pytest.approx(record[axis])
    assert np.diff(columns["time"]) == pytest.approx(np.diff(record["time"]), abs=1e-8)


def test_a_receiver_and_an_encoder_are_fitted_to_what_they_were(
    fmu_directory: Path, tmp_path: Path
) -> None:
    truth: dict[str, float] = {
        "error.white.horizontal": 0.3,
        "error.correlated.horizontal": 1.2,
        "error.white.vertical": 0.5,
        "error.correlated.vertical": 2.0,
        "error.time_constant": 30.0,
        "velocity.white": 0.05,
    }
    parameters = {**truth, "sample_rate": 1.0, "origin.latitude": 0.8}
    record_run(
        fmu_directory / "Gnss.fmu", tmp_path / "g", [0.0, 5000.0, 5001.0], lambda t: {}, parameters
    )
    (log,) = (tmp_path / "g").glob("*.parquet")
    found = fitted("gnss", log).by_name
    missed = [found[name].shown() for name, value in truth.items() if not holds(found[name], value)]
    assert len(missed) <= 2, missed  # they are of the same draws
    joint = {"resolution": math.tau / 4096, "noise.rms": 7e-4, "bias": 3e-4, "sample_rate": 1000.0}
    record_run(
        fmu_directory / "Encoder.fmu",
        tmp_path / "e",
        [0.0, 8.0, 8.5],
        lambda t: {"joint.position": 2.0 * t, "joint.velocity": 2.0},
        joint,
    )
    (log,) = (tmp_path / "e").glob("*.parquet")
    found = fitted("encoder", log).by_name
    assert holds(found["noise.rms"], 7e-4)
    assert holds(found["resolution"], math.tau / 4096)


def test_what_a_fit_writes_is_a_preset_of_the_fmu(fmu_directory: Path, tmp_path: Path) -> None:
    time = np.arange(3000) * 1e-3
    codes = np.floor(0.7003 * time / 1e-3)
    np.savetxt(tmp_path / "turn.csv", np.stack([time, 1e-3 * codes], axis=1), delimiter=",",
               header="time,position", comments="")  # fmt: skip
    output = tmp_path / "encoder.toml"
    assert main(["encoder", str(tmp_path / "turn.csv"), "--output", str(output)]) == 0
    with open_fmu(fmu_directory / "Encoder.fmu") as encoder:
        encoder.initialize({"preset": str(output), "joint.position": 0.1239})
        assert encoder.outputs()["position"] == pytest.approx(0.123)
