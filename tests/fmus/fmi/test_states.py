"""Saved states: continuation, serialisation, phases, reset."""

import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import build_fmus
from tests.fmus.driving import bits, read_record
from tests.fmus.histories import ENCODER, MODELS, STEP, go, in_phase, motion_of, parameters_of
from tests.fmus.host import Instance, open_fmu


@pytest.mark.parametrize("at_step_end", [False, True])
@pytest.mark.parametrize("model", MODELS)
def test_a_state_continues_bit_by_bit(fmu_directory: Path, model: str, at_step_end: bool) -> None:
    with open_fmu(fmu_directory / f"{model}.fmu") as sensor:
        sensor.initialize({**parameters_of(model), "inputs_at_step_end": at_step_end})
        for number in range(10):  # another part of the sampling interval each time
            first = 7 * number
            go(sensor, first, first + 3)
            state = sensor.slave.getFMUstate()
            undisturbed = go(sensor, first + 3, first + 20)
            sensor.slave.setFMUstate(state)
            assert go(sensor, first + 3, first + 20) == undisturbed
            sensor.slave.setFMUstate(state)
            go(sensor, first + 3, first + 7)
            sensor.slave.freeFMUstate(state)


def test_a_state_may_be_taken_at_every_instant_and_set_in_any_order(encoder_fmu: Path) -> None:
    with open_fmu(encoder_fmu) as encoder:
        encoder.initialize(ENCODER)
        states, undisturbed = [], []
        for k in range(40):
            states.append(encoder.slave.getFMUstate())
            undisturbed += go(encoder, k, k + 1)
        for k in [20, 5, 39, 5, 38, 0]:
            encoder.slave.setFMUstate(states[k])
            assert go(encoder, k, 40) == undisturbed[k:]


def test_a_state_brings_back_inputs_and_outputs(encoder_fmu: Path) -> None:
    with open_fmu(encoder_fmu) as encoder:
        encoder.initialize(ENCODER)
        go(encoder, 0, 20)
        names = list(encoder.variables)
        before, content = encoder.get_all(names), encoder.saved()
        go(encoder, 20, 50)
        encoder.set({"joint.velocity": 77.0, "fault.value": 5.0})
        assert encoder.get_all(names) != before
        encoder.restore(content)
        assert encoder.get_all(names) == before


@pytest.mark.parametrize("model", MODELS)
def test_bytes_continue_in_another_instance(fmu_directory: Path, model: str) -> None:
    fmu = fmu_directory / f"{model}.fmu"
    with open_fmu(fmu) as sensor:
        sensor.initialize(parameters_of(model))
        go(sensor, 0, 31)
        content = sensor.saved()
        undisturbed = go(sensor, 31, 60)
    with open_fmu(fmu) as other:
        other.restore(content)
        assert other.saved() == content
        assert go(other, 31, 60) == undisturbed


#: Continues from bytes, with nothing of this project but the FMU itself in the process:
#: arguments are the FMU, the file with the bytes, and the inputs of each step.
CONTINUE = """
import json, sys
from pathlib import Path
from tests.fmus.host import open_fmu
with open_fmu(Path(sys.argv[1])) as sensor:
    sensor.restore(Path(sys.argv[2]).read_bytes())
    outputs = []
    for start, step, inputs in json.loads(sys.argv[3]):
        sensor.set(inputs)
        sensor.step(start, step)
        outputs.append(sensor.outputs())
    print(json.dumps(outputs))
"""


@pytest.mark.parametrize(
    "model", ["Odometer", "Imu", "DepthCamera", "Lidar", "Radar", "WaveformLidar"]
)
def test_bytes_continue_in_another_process(
    fmu_directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    fmu, file = fmu_directory / f"{model}.fmu", tmp_path / "state"
    with open_fmu(fmu) as sensor:
        sensor.initialize(parameters_of(model))
        go(sensor, 0, 31)
        file.write_bytes(sensor.saved())
        undisturbed = go(sensor, 31, 60)
        motion = motion_of(sensor)
    instants = [k * STEP for k in range(31, 61)]
    steps = [(t, end - t, motion(t)) for t, end in itertools.pairwise(instants)]
    monkeypatch.setenv("PYTHONPATH", str(build_fmus.ROOT))
    command = [sys.executable, "-c", CONTINUE, str(fmu), str(file), json.dumps(steps)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == undisturbed


# ---- records ------------------------------------------------------------------------------------


def recording(directory: Path) -> dict[str, Any]:
    return {**ENCODER, "record": True, "output_directory": str(directory)}


@pytest.fixture
def whole_record(encoder_fmu: Path, tmp_path: Path) -> dict[str, bytes]:
    """The record of 60 steps without interruption."""
    with open_fmu(encoder_fmu) as encoder:
        encoder.initialize(recording(tmp_path / "whole"))
        go(encoder, 0, 60)
        encoder.terminate()
    columns = read_record(tmp_path / "whole")
    assert columns["sample"].tolist() == list(range(22))
    return bits(columns)


def test_a_record_holds_the_samples_that_counted_in_the_end(
    encoder_fmu: Path, tmp_path: Path, whole_record: dict[str, bytes]
) -> None:
    with open_fmu(encoder_fmu) as encoder:
        encoder.initialize(recording(tmp_path / "again"))
        go(encoder, 0, 25)
        content = encoder.saved()
        go(encoder, 30, 50)  # a jump in time: other samples than those that will count
        encoder.restore(content)
        go(encoder, 25, 60)
        encoder.terminate()
    assert bits(read_record(tmp_path / "again")) == whole_record


def test_a_record_goes_on_where_the_end_of_the_run_is_taken_back(
    encoder_fmu: Path, tmp_path: Path, whole_record: dict[str, bytes]
) -> None:
    with open_fmu(encoder_fmu) as encoder:
        encoder.initialize(recording(tmp_path / "again"))
        go(encoder, 0, 25)
        content = encoder.saved()
        go(encoder, 25, 40)
        encoder.terminate()
        encoder.restore(content)
        go(encoder, 25, 60)
        encoder.terminate()
    assert bits(read_record(tmp_path / "again")) == whole_record


def test_a_record_in_another_instance_begins_where_the_state_continues(
    encoder_fmu: Path, tmp_path: Path, whole_record: dict[str, bytes]
) -> None:
    with open_fmu(encoder_fmu) as encoder:
        encoder.initialize(recording(tmp_path / "first"))
        go(encoder, 0, 25)
        content = encoder.saved()
    (file,) = (tmp_path / "first").glob("*.parquet")
    file.unlink()
    with open_fmu(encoder_fmu) as other:
        other.restore(content)
        go(other, 25, 60)
        other.terminate()
    columns = read_record(tmp_path / "first")
    first = int(columns["sample"][0])
    assert columns["sample"].tolist() == list(range(first, 22))
    # at the last step start, 0.24 s, sample 8 of 8 / 37 s was the newest one
    assert first == 9
    for name, whole in whole_record.items():
        assert whole.endswith(columns[name].tobytes())


# ---- phases -------------------------------------------------------------------------------------


PHASES = ["instantiated", "initializing", "stepping", "terminated"]


def check_phase(instance: Instance, phase: str) -> None:
    """Whether an instance does what can be done in a phase, and refuses the rest."""
    if phase == "terminated":
        assert "after termination" in instance.refusal(instance.step, 2.01, 0.01)
        assert instance.get("sample.time") == 2.0
        return
    if phase == "instantiated":
        assert "after instantiation" in instance.refusal(instance.exit)
        instance.enter()
    if phase != "stepping":
        assert "in initialization mode" in instance.refusal(instance.step, 2.0, 0.01)
        instance.exit()
        instance.step(2.0, 0.01)
    instance.step(2.01, 0.01)
    assert "between steps" in instance.refusal(instance.enter)


@pytest.mark.parametrize("later", PHASES)
@pytest.mark.parametrize("phase", PHASES)
def test_a_state_returns_to_the_phase_it_was_taken_in(
    encoder_fmu: Path, phase: str, later: str
) -> None:
    with open_fmu(encoder_fmu) as first, open_fmu(encoder_fmu) as other:
        in_phase(first, phase)
        content = first.saved()
        in_phase(other, later)
        other.restore(content)
        assert other.saved() == content
        check_phase(other, phase)


@pytest.mark.parametrize("phase", PHASES)
def test_one_instance_goes_through_its_life_again(encoder_fmu: Path, phase: str) -> None:
    with open_fmu(encoder_fmu) as encoder:
        in_phase(encoder, phase)
        state = encoder.slave.getFMUstate()
        for _ in range(2):
            check_phase(encoder, phase)
            encoder.slave.setFMUstate(state)


# ---- reset --------------------------------------------------------------------------------------


@pytest.mark.parametrize("phase", PHASES)
def test_reset_returns_to_the_state_after_instantiation(encoder_fmu: Path, phase: str) -> None:
    with open_fmu(encoder_fmu) as encoder:
        names = list(encoder.variables)
        fresh, values = encoder.saved(), encoder.get_all(names)
        in_phase(encoder, phase)
        encoder.reset()
        assert encoder.saved() == fresh
        assert encoder.get_all(names) == values
        encoder.set_up(2.0)
        check_phase(encoder, "instantiated")


@pytest.mark.parametrize("model", MODELS)
def test_a_replay_after_reset_gives_the_same_bits(fmu_directory: Path, model: str) -> None:
    with open_fmu(fmu_directory / f"{model}.fmu") as sensor:
        sensor.initialize(parameters_of(model))
        first = go(sensor, 0, 60)
        sensor.reset()
        sensor.initialize(parameters_of(model))
        assert go(sensor, 0, 60) == first


def test_states_outlive_a_reset(encoder_fmu: Path) -> None:
    with open_fmu(encoder_fmu) as encoder:
        encoder.initialize(ENCODER)
        go(encoder, 0, 31)
        state = encoder.slave.getFMUstate()
        undisturbed = go(encoder, 31, 60)
        encoder.reset()
        encoder.slave.setFMUstate(state)
        assert go(encoder, 31, 60) == undisturbed
