"""Parameters: what is refused and when, presets, and the record that they ask for."""

import csv
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest

from tests.conftest import MODELS
from tests.fmus.driving import drive, read_record
from tests.fmus.host import Instance, open_fmu

#: One turn in codes of the preset AMT102-V: 2048 pulses with four edges each.
CODE = math.tau / 8192


def initializing(instance: Instance, values: Mapping[str, Any]) -> None:
    """Set values and stop before the end of initialization mode."""
    instance.set(values)
    instance.set_up()
    instance.enter()


# ---- refused when set ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "name", "value", "allowed"),
    [
        ("Encoder", "resolution", -0.5, "out of range, allowed is at least 0 rad"),
        ("Encoder", "noise.rms", -1e-9, "out of range, allowed is at least 0 rad"),
        ("Encoder", "noise.rms", math.nan, "not a finite number, allowed is at least 0 rad"),
        ("Encoder", "speed_timeout", 0.0, "out of range, allowed is at least 1e-09 s"),
        ("Encoder", "sample_rate", -1.0, "out of range, allowed is 0 to 1e+06 Hz"),
        ("Encoder", "sample_rate", math.inf, "not a finite number, allowed is 0 to 1e+06 Hz"),
        ("Encoder", "lower", -math.inf, "not a finite number, allowed is any finite number"),
        ("Encoder", "mode", 2, "none of 0 (incremental), 1 (absolute)"),
        ("Encoder", "mode", -1, "none of 0 (incremental), 1 (absolute)"),
        ("Encoder", "fault.mode", 7, "6 (min)"),
        ("Encoder", "fault.wave", 4, "none of 0 (none), 1 (square), 2 (triangle), 3 (ramp)"),
        ("Encoder", "fault.period", -1.0, "out of range, allowed is at least 0 s"),
        ("Encoder", "output_format", 2, "none of 0 (parquet), 1 (csv)"),
        ("Odometer", "wheel_radius", 0.0, "out of range, allowed is at least 1e-06 m"),
        ("Odometer", "wheel_radius", -0.3, "out of range, allowed is at least 1e-06 m"),
        ("Odometer", "accumulate", 9, "none of 0 (signed), 1 (absolute)"),
        ("Null", "body.position.x", math.nan, "not a finite number"),
        ("Null", "body.angular_velocity.z", math.inf, "not a finite number"),
    ],
)
def test_a_bad_value_is_refused_with_its_name_its_value_and_what_is_allowed(
    fmu_directory: Path, model: str, name: str, value: float, allowed: str
) -> None:
    with open_fmu(fmu_directory / f"{model}.fmu") as sensor:
        before = sensor.get(name)
        message = sensor.refusal(sensor.set, {name: value})
        assert f"{name} = {value}" in message
        assert allowed in message
        assert sensor.get(name) == before
        sensor.initialize()


def test_of_several_values_in_one_call_all_are_set_or_none(encoder_fmu: Path) -> None:
    values = {"lower": 1.0, "upper": 2.0, "resolution": -1.0, "noise.rms": 3.0}
    with open_fmu(encoder_fmu) as encoder:
        before = encoder.get_all(list(values))
        message = encoder.refusal(encoder.set, values)
        assert "resolution = -1.0 rad" in message
        assert encoder.get_all(list(values)) == before
        encoder.set({**values, "resolution": 0.5})
        assert encoder.get_all(list(values)) == {**values, "resolution": 0.5}


def test_an_enumeration_takes_all_its_items(fmu_directory: Path) -> None:
    for model in MODELS:
        with open_fmu(fmu_directory / f"{model}.fmu") as sensor:
            for variable in sensor.variables.values():
                if variable.type == "Enumeration":
                    for item in variable.declaredType.items:
                        sensor.set({variable.name: int(item.value)})
                        assert sensor.get(variable.name) == int(item.value)


# ---- refused together ----------------------------------------------------------------------------


@pytest.mark.parametrize(("lower", "upper"), [(1.0, 1.0), (2.0, 1.0)])
def test_limits_in_the_wrong_order_are_refused_and_can_be_corrected(
    encoder_fmu: Path, lower: float, upper: float
) -> None:
    with open_fmu(encoder_fmu) as encoder:
        initializing(encoder, {"lower": lower, "upper": upper, "joint.position": 1.5})
        for _ in range(2):
            message = encoder.refusal(encoder.exit)
            assert f"lower = {lower} rad is not below upper = {upper} rad" in message
            assert "allowed is lower < upper" in message
        encoder.set({"lower": 0.0, "upper": 2.0})
        encoder.exit()
        assert encoder.get("position") == 1.5
        encoder.step(0.0, 0.1)


def test_a_reset_also_leads_out_of_bad_parameters(encoder_fmu: Path) -> None:
    with open_fmu(encoder_fmu) as encoder:
        initializing(encoder, {"lower": 3.0, "upper": 2.0})
        encoder.refusal(encoder.exit)
        encoder.reset()
        encoder.initialize()
        encoder.step(0.0, 0.1)


@pytest.mark.parametrize("start", [math.nan, math.inf, -math.inf])
def test_a_start_time_that_is_not_finite_is_refused(encoder_fmu: Path, start: float) -> None:
    with open_fmu(encoder_fmu) as encoder:
        message = encoder.refusal(encoder.set_up, start)
        assert f"start time = {start} s is not a finite number" in message
        encoder.initialize()


# ---- presets -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "known"),
    [
        ("Encoder", "known: AMT102-V, AS5048A"),
        ("Odometer", "known: none"),
        ("Null", "known: none"),
        ("Imu", "known: ADIS16470, BMI088, MPU-9250, VN-100"),
        ("Accelerometer", "known: ADIS16470, BMI088, MPU-9250, VN-100"),
        ("Gyroscope", "known: ADIS16470, BMI088, MPU-9250, VN-100"),
        ("Magnetometer", "known: MPU-9250, VN-100"),
    ],
)
def test_an_unknown_preset_is_refused_with_the_known_ones(
    fmu_directory: Path, model: str, known: str
) -> None:
    with open_fmu(fmu_directory / f"{model}.fmu") as sensor:
        message = sensor.refusal(sensor.set, {"preset": "Wheelinator 2000"})
        assert "preset 'Wheelinator 2000' is unknown" in message
        assert known in message
        assert sensor.get("preset") == ""
        sensor.initialize()


def position_at(encoder: Instance, rotation: float) -> float:
    """What an encoder that is initialised now reports of a joint at rest."""
    initializing(encoder, {"joint.position": rotation})
    encoder.exit()
    return float(encoder.get("position"))


def test_a_preset_gives_the_parameters_of_the_product(encoder_fmu: Path) -> None:
    with open_fmu(encoder_fmu) as encoder:
        encoder.set({"preset": "AMT102-V"})
        # products of whole numbers and the resolution, which is off by one rounding each
        assert position_at(encoder, 1000.7 * CODE) == pytest.approx(1000 * CODE, rel=1e-15)


@pytest.mark.parametrize("preset_first", [False, True])
def test_a_value_of_ones_own_wins_over_the_preset_in_any_order(
    encoder_fmu: Path, tmp_path: Path, preset_first: bool
) -> None:
    settings: list[dict[str, Any]] = [
        {"preset": "as5048a"},
        {"resolution": 0.25, "upper": 2.0, "mode": 1},
    ]
    with open_fmu(encoder_fmu) as encoder:
        for values in settings if preset_first else settings[::-1]:
            encoder.set(values)
        encoder.set({"record": True, "output_directory": str(tmp_path)})
        position_at(encoder, 1.9)
    parameters = index_of(tmp_path)[0]["parameters"]
    own = {name: parameters[name] for name in ("resolution", "upper", "mode")}
    assert own == {"resolution": 0.25, "upper": 2.0, "mode": "absolute"}
    assert parameters["sample_rate"] == 11250.0, "all else is the preset's"
    assert parameters["noise.rms"] == pytest.approx(math.radians(0.06), rel=1e-15)


def test_a_start_value_set_again_leaves_the_preset_as_it_is(
    encoder_fmu: Path, tmp_path: Path
) -> None:
    with open_fmu(encoder_fmu) as encoder:
        for _ in range(2):
            encoder.set({"resolution": 0.0, "upper": math.tau, "sample_rate": 0.0})
            encoder.set({"preset": "AS5048A"})
        encoder.set({"record": True, "output_directory": str(tmp_path)})
        position_at(encoder, 1.0)
    parameters = index_of(tmp_path)[0]["parameters"]
    assert parameters["resolution"] == math.tau / 2**14
    assert parameters["sample_rate"] == 11250.0


def test_a_preset_can_be_taken_back(encoder_fmu: Path) -> None:
    with open_fmu(encoder_fmu) as encoder:
        encoder.set({"preset": "AMT102-V"})
        encoder.set({"preset": ""})
        assert position_at(encoder, 1.0001) == 1.0001


def test_values_that_do_not_go_with_a_preset_are_refused_together(encoder_fmu: Path) -> None:
    with open_fmu(encoder_fmu) as encoder:
        initializing(encoder, {"preset": "AMT102-V", "lower": 7.0})
        message = encoder.refusal(encoder.exit)
        assert "lower = 7.0 rad is not below upper = 6.28" in message
        encoder.set({"upper": 8.0})
        encoder.exit()


# ---- records -------------------------------------------------------------------------------------


def index_of(directory: Path) -> list[dict[str, Any]]:
    """The lines of the index of an output directory."""
    return [json.loads(line) for line in (directory / "index.jsonl").read_text().splitlines()]


def record_wheel(fmu: Path, directory: Path, output_format: int) -> list[dict[str, Any]]:
    """Outputs of a short run of an odometer that records."""
    parameters = {
        "wheel_radius": 0.35,
        "noise.rms": 0.1,
        "order": 1,
        "seed": 5,
        "record": True,
        "output_directory": str(directory),
        "output_format": output_format,
    }
    with open_fmu(fmu, "front/left wheel") as odometer:
        odometer.initialize(parameters)
        readings = drive(
            odometer, [k / 10 for k in range(31)], lambda t: {"joint.position": 3.0 * t}
        )
        assert list(directory.glob("*.*")) == [directory / "index.jsonl"], "no half file"
        odometer.terminate()
    return readings


def test_a_record_in_parquet_holds_the_readings_with_their_units(
    odometer_fmu: Path, tmp_path: Path
) -> None:
    readings = record_wheel(odometer_fmu, tmp_path, 0)
    record = read_record(tmp_path)
    assert record["sample"].tolist() == list(range(30))
    assert record["time"].tolist() == [reading["sample.time"] for reading in readings]
    assert record["distance"].tolist() == [reading["distance"] for reading in readings]
    (file,) = tmp_path.glob("*.parquet")
    schema = pyarrow.parquet.read_schema(file)
    assert schema.names == ["sample", "time", "distance"]
    assert [schema.field(name).metadata[b"unit"] for name in schema.names] == [b"1", b"s", b"m"]


def test_a_record_in_csv_holds_the_same_to_the_bit(odometer_fmu: Path, tmp_path: Path) -> None:
    readings = record_wheel(odometer_fmu, tmp_path, 1)
    (file,) = tmp_path.glob("*.csv")
    with file.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [int(row["sample"]) for row in rows] == list(range(30))
    assert [float(row["time"]) for row in rows] == [r["sample.time"] for r in readings]
    assert [float(row["distance"]) for row in rows] == [r["distance"] for r in readings]


@pytest.mark.parametrize(("output_format", "suffix"), [(0, "parquet"), (1, "csv")])
def test_the_index_tells_parameters_first_and_then_the_file(
    odometer_fmu: Path, tmp_path: Path, output_format: int, suffix: str
) -> None:
    record_wheel(odometer_fmu, tmp_path, output_format)
    parameters, file = index_of(tmp_path)
    assert parameters["sensor"] == file["sensor"] == "front/left wheel"
    assert parameters["parameters"] == {
        "wheel_radius": 0.35,
        "resolution": 0.0,
        "noise.rms": 0.1,
        "order": "noise_first",
        "accumulate": "signed",
        "unwrap": False,
        "bias": 0.0,
        "drift.walk": 0.0,
        "drift.bound": 0.0,
        "saturation.on": False,
        "saturation.min": -1e300,
        "saturation.max": 1e300,
        "preset": "",
        "preset_except": "",
        "sample_rate": 0.0,
        "inputs_at_step_end": False,
        "seed": 5,
        "record": True,
        "output_directory": str(tmp_path),
        "output_format": suffix,
        "log": "",
        "log_body": "base_link",
    }
    assert (tmp_path / file["file"]).is_file()
    assert file["file"].endswith(f".{suffix}")
    assert "/" not in file["file"]
    assert (file["format"], file["samples"]) == (suffix, 30)
    assert (file["sample"], file["time"]) == ([0, 29], [0.0, 2.9])


def test_a_record_of_an_encoder_has_a_column_for_each_output(
    encoder_fmu: Path, tmp_path: Path
) -> None:
    with open_fmu(encoder_fmu) as encoder:
        encoder.initialize({"resolution": 0.125, "record": True, "output_directory": str(tmp_path)})
        readings = drive(
            encoder, [k / 10 for k in range(31)], lambda t: {"joint.position": -2.0 * t}
        )
        encoder.terminate()
    record = read_record(tmp_path)
    types = {name: column.dtype for name, column in record.items()}
    assert types == {
        "sample": np.int64,
        "time": np.float64,
        "position": np.float64,
        "speed": np.float64,
        "speed_valid": np.bool_,
        "edge_count": np.int64,
        "channel_a": np.bool_,
        "channel_b": np.bool_,
    }
    for name in ("position", "speed", "speed_valid", "edge_count", "channel_a", "channel_b"):
        assert record[name].tolist() == [reading[name] for reading in readings]


def test_freeing_an_instance_completes_its_record(odometer_fmu: Path, tmp_path: Path) -> None:
    with open_fmu(odometer_fmu) as odometer:
        odometer.initialize({"record": True, "output_directory": str(tmp_path)})
        drive(odometer, [0.0, 0.1, 0.2], lambda t: {})
    assert read_record(tmp_path)["sample"].tolist() == [0, 1]


def test_a_directory_that_is_missing_is_made_with_its_parents(
    odometer_fmu: Path, tmp_path: Path
) -> None:
    deep = tmp_path / "a b" / "ü" / "c"
    with open_fmu(odometer_fmu) as odometer:
        odometer.initialize({"record": True, "output_directory": str(deep)})
        odometer.terminate()
    assert read_record(deep)["sample"].tolist() == [0]


def test_without_a_directory_a_fresh_one_is_named_after_the_instance(
    odometer_fmu: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with open_fmu(odometer_fmu, "../front: left?") as odometer:
        unpacked = set(tmp_path.iterdir())
        odometer.initialize({"record": True})
        (fresh,) = set(tmp_path.iterdir()) - unpacked
        assert "front" in fresh.name
        odometer.terminate()
        assert read_record(fresh)["sample"].tolist() == [0]


def test_nothing_is_written_without_being_asked(odometer_fmu: Path, tmp_path: Path) -> None:
    with open_fmu(odometer_fmu) as odometer:
        odometer.initialize({"output_directory": str(tmp_path / "unused")})
        drive(odometer, [0.0, 0.1, 0.2], lambda t: {})
        odometer.terminate()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("below", ["", "/deeper"])
def test_a_directory_that_cannot_be_written_is_an_error_at_initialisation(
    odometer_fmu: Path, tmp_path: Path, below: str
) -> None:
    # A file in the way stops everybody, the administrator as well.
    (tmp_path / "file").touch()
    directory = f"{tmp_path / 'file'}{below}"
    with open_fmu(odometer_fmu) as odometer:
        initializing(odometer, {"record": True, "output_directory": directory})
        message = odometer.refusal(odometer.exit)
        assert f"output directory '{directory}' cannot be used" in message
        odometer.set({"output_directory": str(tmp_path / "other")})
        odometer.exit()
        odometer.step(0.0, 0.1)
        odometer.terminate()
    assert read_record(tmp_path / "other")["sample"].tolist() == [0]


@pytest.mark.parametrize(
    ("kept", "resolution", "rate"),
    [
        ("", math.tau / 2**14, 11250.0),
        ("resolution", 0.0, 11250.0),
        (" sample_rate ,", math.tau / 2**14, 0.0),
        ("resolution, sample_rate,", 0.0, 0.0),
    ],
)
def test_a_start_value_counts_beside_a_preset_where_it_is_said_so(
    encoder_fmu: Path, tmp_path: Path, kept: str, resolution: float, rate: float
) -> None:
    with open_fmu(encoder_fmu) as encoder:
        encoder.set({"preset": "AS5048A", "preset_except": kept})
        encoder.set({"record": True, "output_directory": str(tmp_path)})
        position_at(encoder, 1.0)
    parameters = index_of(tmp_path)[0]["parameters"]
    assert (parameters["resolution"], parameters["sample_rate"]) == (resolution, rate)


def test_an_exception_from_a_preset_that_is_no_parameter_is_refused(encoder_fmu: Path) -> None:
    with open_fmu(encoder_fmu) as encoder:
        initializing(encoder, {"preset": "AS5048A", "preset_except": "resolution, resolve"})
        message = encoder.refusal(encoder.exit)
        assert "preset_except: preset 'AS5048A' sets nothing called 'resolve'" in message
        encoder.set({"preset_except": "resolution"})
        encoder.exit()
