"""Calls that FMUs refuse while the simulation runs, and zeros, which they take."""

from pathlib import Path

import pytest

from tests.conftest import MODELS, SENSORS
from tests.fmus.host import open_fmu


@pytest.mark.parametrize("name", ["sample_rate", "seed", "inputs_at_step_end", "preset", "mode"])
def test_parameters_are_refused_while_the_simulation_runs(encoder_fmu: Path, name: str) -> None:
    values = {"sample_rate": 5.0, "seed": 5, "inputs_at_step_end": True, "preset": "", "mode": 1}
    with open_fmu(encoder_fmu) as encoder:
        encoder.initialize()
        before = encoder.get(name)
        message = encoder.refusal(encoder.set, {name: values[name]})
        assert f"{name} is a parameter and cannot be set once the simulation runs" in message
        assert encoder.get(name) == before
        encoder.step(0.0, 0.1)


def test_outputs_are_never_set(encoder_fmu: Path) -> None:
    with open_fmu(encoder_fmu) as encoder:
        for values in ({"position": 1.0}, {"edge_count": 1}, {"channel_a": True}):
            message = encoder.refusal(encoder.set, values)
            assert "is an output and cannot be set" in message


@pytest.mark.parametrize("model", MODELS)
def test_all_inputs_take_0_before_and_while_the_simulation_runs(
    fmu_directory: Path, model: str
) -> None:
    # Some masters set every input, connected or not, to 0 before the first values arrive.
    with open_fmu(fmu_directory / f"{model}.fmu") as sensor:
        zeros = dict.fromkeys(sensor.names("input"), 0)
        sensor.set(zeros)
        sensor.set_up()
        sensor.enter()
        sensor.set(zeros)
        sensor.exit()
        for k in range(3):
            sensor.set(zeros)
            sensor.step(k / 10, 0.1)
        if model in SENSORS:
            assert sensor.get("sample.count") == 3
