"""When FMUs sample, and what they know of the motion then."""

import math
from pathlib import Path

import numpy as np
import pytest
from fmpy import simulate_fmu

from sensor_models.core.faults import FaultMode
from tests.fmus.driving import WIDE, drive, read_record, record_run
from tests.fmus.host import open_fmu

# ---- the two rules -------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [0.01, 0.125, 1.0])
def test_by_the_fmi_rule_n_steps_sample_the_n_step_starts(odometer_fmu: Path, step: float) -> None:
    with open_fmu(odometer_fmu) as odometer:
        odometer.initialize({"wheel_radius": 1.0})
        assert (odometer.get("sample.count"), odometer.get("sample.time")) == (1, 0.0)
        instants = [k * step for k in range(8)]
        readings = drive(odometer, instants, lambda t: {"joint.position": 3.0 + t})
    expected = [
        {"sample.count": k + 1, "sample.time": t, "distance": 3.0 + t}
        for k, t in enumerate(instants[:-1])
    ]
    assert readings == expected


def test_with_inputs_at_the_step_end_n_steps_sample_n_ends_and_the_start(
    odometer_fmu: Path,
) -> None:
    with open_fmu(odometer_fmu) as odometer:
        parameters = {"wheel_radius": 1.0, "inputs_at_step_end": True}
        odometer.initialize({**parameters, "joint.position": 3.0})
        assert odometer.outputs() == {"sample.count": 1, "sample.time": 0.0, "distance": 3.0}
        instants = [k * 0.125 for k in range(8)]
        readings = drive(
            odometer, instants, lambda t: {"joint.position": 3.0 + t}, at_step_end=True
        )
    expected = [
        {"sample.count": k + 1, "sample.time": t, "distance": 3.0 + t}
        for k, t in enumerate(instants)
    ][1:]
    assert readings == expected


@pytest.mark.parametrize("at_step_end", [False, True])
def test_a_run_may_start_at_any_time(odometer_fmu: Path, at_step_end: bool) -> None:
    with open_fmu(odometer_fmu) as odometer:
        parameters = {"sample_rate": 100.0, "inputs_at_step_end": at_step_end}
        odometer.initialize(parameters, start=-2.5)
        assert odometer.get("sample.time") == -2.5
        readings = drive(odometer, [-2.5, -2.0, -1.5], lambda t: {}, at_step_end=at_step_end)
    ends = [-2.0, -1.5] if at_step_end else [-2.5, -2.0]
    assert [reading["sample.time"] for reading in readings] == ends
    counts = [1 + round((end + 2.5) * 100) for end in ends]
    assert [reading["sample.count"] for reading in readings] == counts


def test_the_master_of_fmpy_sees_the_same_samples(odometer_fmu: Path) -> None:
    ramp = np.array([(0.0, 1.0), (1.0, 3.0)], dtype=[("time", "f8"), ("joint.position", "f8")])
    result = simulate_fmu(
        str(odometer_fmu),
        stop_time=1.0,
        output_interval=0.25,
        start_values={"wheel_radius": 1.0},
        input=ramp,
        output=["distance", "sample.time", "sample.count"],
    )
    # a reading shows at the end of the step at whose start it was taken
    assert result["sample.time"].tolist() == [0.0, 0.0, 0.25, 0.5, 0.75]
    assert result["sample.count"].tolist() == [1, 1, 2, 3, 4]
    assert result["distance"].tolist() == [1.0, 1.0, 1.5, 2.0, 2.5]


# ---- samples and steps ---------------------------------------------------------------------------


def test_all_samples_of_a_step_are_taken_in_order_and_recorded(
    encoder_fmu: Path, tmp_path: Path
) -> None:
    record = record_run(
        encoder_fmu,
        tmp_path,
        [0.0, 0.5, 0.75, 1.75, 2.0],
        lambda t: {"joint.position": 4.0 * t, "joint.velocity": 4.0},
        {**WIDE, "sample_rate": 8.0},
    )
    # known until the last step begins; steps and samples are exact in binary
    assert record["sample"].tolist() == list(range(15))
    assert record["time"].tolist() == [k / 8 for k in range(15)]
    assert record["position"].tolist() == [k / 2 for k in range(15)]


def test_the_newest_sample_of_a_step_is_on_the_outputs(encoder_fmu: Path) -> None:
    with open_fmu(encoder_fmu) as encoder:
        encoder.initialize({**WIDE, "sample_rate": 8.0, "inputs_at_step_end": True})
        encoder.set({"joint.position": 4.0, "joint.velocity": 4.0})
        encoder.step(0.0, 1.0)
        assert encoder.get_all(["sample.count", "sample.time", "position"]) == {
            "sample.count": 9,
            "sample.time": 1.0,
            "position": 4.0,
        }


def test_outputs_hold_where_no_sample_falls_due(encoder_fmu: Path) -> None:
    with open_fmu(encoder_fmu) as encoder:
        encoder.initialize({**WIDE, "sample_rate": 2.0})
        instants = [k / 8 for k in range(13)]
        readings = drive(encoder, instants, lambda t: {"joint.position": t, "joint.velocity": 1.0})
    for k, reading in enumerate(readings):
        sample = k // 4
        assert reading["sample.count"] == sample + 1
        assert reading["position"] == reading["sample.time"] == sample / 2


@pytest.mark.parametrize("at_step_end", [False, True])
def test_nothing_is_sampled_beyond_what_is_known(encoder_fmu: Path, at_step_end: bool) -> None:
    instants = [0.0, 0.3, 0.34, 0.9, 1.57, 1.6, 3.0]
    with open_fmu(encoder_fmu) as encoder:
        encoder.initialize({**WIDE, "sample_rate": 10.0, "inputs_at_step_end": at_step_end})
        readings = drive(
            encoder,
            instants,
            lambda t: {"joint.position": t, "joint.velocity": 1.0},
            at_step_end=at_step_end,
        )
    known = instants[1:] if at_step_end else instants[:-1]
    for reading, until in zip(readings, known, strict=True):
        # all until then and none after it, but for the rounding of 0.3 = 3 / 10
        assert reading["sample.count"] == math.floor(until * 10 + 1e-6) + 1
        # the position is that of its stamp, to a few roundings of numbers up to 3
        assert reading["position"] == pytest.approx(reading["sample.time"], abs=4e-15)


def test_the_state_of_the_first_step_replaces_the_initial_one(odometer_fmu: Path) -> None:
    with open_fmu(odometer_fmu) as odometer:
        odometer.initialize({"wheel_radius": 1.0, "accumulate": 1, "joint.position": 500.0})
        readings = drive(odometer, [0.0, 0.1, 0.2], lambda t: {"joint.position": 2.0 + t})
    assert [reading["sample.count"] for reading in readings] == [1, 2]
    # the jump from 500 rad is no motion
    assert readings[0]["distance"] == 0.0
    assert readings[1]["distance"] == pytest.approx(0.1, abs=1e-15)  # rounding of 2.1 - 2


def test_an_initial_jump_is_no_speed(encoder_fmu: Path, tmp_path: Path) -> None:
    with open_fmu(encoder_fmu) as encoder:
        recording = {"record": True, "output_directory": str(tmp_path)}
        encoder.initialize({**WIDE, **recording, "joint.position": 500.0, "resolution": 1.0})
        assert encoder.get("position") == 500.0
        readings = drive(encoder, [0.0, 0.5, 1.0], lambda t: {"joint.position": 7.0})
        encoder.terminate()
    for reading in readings:
        assert (reading["position"], reading["speed"], reading["edge_count"]) == (7.0, 0.0, 0)
        assert not reading["speed_valid"]
    assert read_record(tmp_path)["position"].tolist() == [7.0, 7.0]


def test_a_fault_holds_from_the_state_that_it_was_set_with(
    encoder_fmu: Path, tmp_path: Path
) -> None:
    record = record_run(
        encoder_fmu,
        tmp_path,
        [0.0, 1.0, 2.0, 3.0],
        lambda t: {
            "joint.position": t,
            "joint.velocity": 1.0,
            "fault.mode": FaultMode.set if t == 1.0 else FaultMode.none,
            "fault.value": 9.0,
        },
        {**WIDE, "sample_rate": 4.0},
    )
    expected = [0.0, 0.25, 0.5, 0.75, 9.0, 9.0, 9.0, 9.0, 2.0]
    assert record["position"].tolist() == expected
