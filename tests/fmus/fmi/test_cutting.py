"""Results do not depend on how a master cuts the time axis into steps."""

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sensor_models.core.faults import FaultMode
from tests.fmus.driving import WIDE, Columns, Motion, bits, record_run

#: Communication steps, in ms; the first common multiple is 30 ms.
STEPS = (1, 3, 5, 10)
COMMON = 30
END = 300


def times(step: int, *, added_up: bool = False) -> list[float]:
    """The instants of a master with a step in ms that last begins a step at ``END``."""
    if not added_up:
        return [k * step / 1000 for k in range(END // step + 2)]
    return list(itertools.accumulate([step / 1000] * (END // step + 1), initial=0.0))


def at_milliseconds(values: Mapping[str, np.ndarray[Any, Any]]) -> Motion:
    """A motion that is known at every millisecond, the same to the bit in every master."""

    def motion(time: float) -> dict[str, float]:
        return {name: series[round(time * 1000)].item() for name, series in values.items()}

    return motion


def cubic_motion() -> Motion:
    """A joint on a cubic, which the interpolation reproduces but for rounding."""
    t = np.arange(END + 20) / 1000
    position = 0.5 + 40.0 * t - 300.0 * t**2 + 500.0 * t**3
    velocity = 40.0 - 600.0 * t + 1500.0 * t**2
    return at_milliseconds({"joint.position": position, "joint.velocity": velocity})


def up_to_end(columns: Columns) -> Columns:
    """The samples that are due in every master: those until ``END``."""
    kept = columns["time"] <= END / 1000
    return {name: column[kept] for name, column in columns.items()}


@pytest.mark.parametrize("at_step_end", [False, True], ids=["fmi", "step end"])
def test_interpolated_samples_agree_to_rounding_and_common_ones_to_the_bit(
    encoder_fmu: Path, tmp_path: Path, at_step_end: bool
) -> None:
    # The position of an instant that a master knows is taken as it is, one between is
    # interpolated: the same bits can be asked for at the instants that all masters know, and
    # equality but for rounding elsewhere, as the motion is a cubic.
    parameters = {
        **WIDE,
        "sample_rate": 1000.0,
        "noise.rms": 0.3,
        "inputs_at_step_end": at_step_end,
    }
    runs = [
        up_to_end(
            record_run(encoder_fmu, tmp_path / str(step), times(step), cubic_motion(), parameters)
        )
        for step in STEPS
    ]
    first = runs[0]
    assert len(first["time"]) == END + 1
    for run in runs[1:]:
        for exact in ("sample", "time", "channel_a", "channel_b", "edge_count"):
            assert run[exact].tobytes() == first[exact].tobytes()
        common = run["position"][::COMMON]
        assert common.tobytes() == first["position"][::COMMON].tobytes()
        # positions below 4 rad and slopes below 40 rad/s in steps of 10 ms, a few roundings
        np.testing.assert_allclose(run["position"], first["position"], rtol=0, atol=1e-14)


def test_a_fault_begins_with_its_sample_after_many_steps_that_were_added_up(
    encoder_fmu: Path, tmp_path: Path
) -> None:
    instants = list(itertools.accumulate([0.01] * 9010, initial=0.0))
    assert instants[9000] != 90.0, "the sum carries rounding"
    record = record_run(
        encoder_fmu,
        tmp_path,
        instants,
        lambda t: {
            "joint.position": t,
            "fault.mode": FaultMode.off if t > 89.995 else FaultMode.none,
        },
        {**WIDE, "sample_rate": 100.0},
    )
    assert record["time"].tolist() == [k / 100 for k in range(9010)]
    # the state of 90 s is the first one with the fault, and sample 9000 is taken of it
    assert record["position"][:9000].tolist() == [instants[k] for k in range(9000)]
    assert record["position"][9000:].tolist() == [0.0] * 10


#: A resolution whose codes' borders the cubic motion does not touch at any millisecond.
RESOLUTION = 0.0370001


def test_the_cubic_motion_keeps_away_from_the_borders_of_codes() -> None:
    motion = cubic_motion()
    codes = np.array([motion(n / 1000)["joint.position"] / RESOLUTION for n in range(END + 1)])
    # far more than interpolation can be off, 1e-14 / RESOLUTION, and the guard of 1e-9
    assert np.min(np.abs(codes - np.round(codes))) > 1e-6
    assert len(set(np.floor(codes))) > 20


@pytest.fixture(scope="module")
def quantised_reference(
    encoder_fmu: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[bool, Columns]:
    """A run in steps of 1 ms, by whether inputs belong to the step's end."""
    return {
        at_step_end: quantised_run(
            encoder_fmu, tmp_path_factory.mktemp("reference"), times(1), at_step_end
        )
        for at_step_end in (False, True)
    }


def quantised_run(fmu: Path, directory: Path, instants: list[float], at_step_end: bool) -> Columns:
    # As no position is near the border of a code, the reported codes are the same to the bit
    # although interpolated positions are so only to rounding; speed and edges follow from them.
    parameters = {
        **WIDE,
        "sample_rate": 1000.0,
        "resolution": RESOLUTION,
        "speed_timeout": 0.0115,
        "inputs_at_step_end": at_step_end,
    }
    return up_to_end(record_run(fmu, directory, instants, cubic_motion(), parameters))


@pytest.mark.parametrize("added_up", [False, True], ids=["multiplied", "added up"])
@pytest.mark.parametrize("at_step_end", [False, True], ids=["fmi", "step end"])
@pytest.mark.parametrize("step", STEPS[1:])
def test_quantised_readings_between_steps_are_the_same_bits(
    encoder_fmu: Path,
    tmp_path: Path,
    quantised_reference: dict[bool, Columns],
    step: int,
    at_step_end: bool,
    added_up: bool,
) -> None:
    run = quantised_run(encoder_fmu, tmp_path, times(step, added_up=added_up), at_step_end)
    assert len(run["time"]) == END + 1
    assert bits(run) == bits(quantised_reference[at_step_end])


@settings(
    deadline=None,
    max_examples=15,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(cuts=st.sets(st.integers(1, END - 1), max_size=40), at_step_end=st.booleans())
def test_quantised_readings_are_the_same_bits_for_any_steps(
    encoder_fmu: Path,
    tmp_path_factory: pytest.TempPathFactory,
    quantised_reference: dict[bool, Columns],
    cuts: set[int],
    at_step_end: bool,
) -> None:
    instants = [n / 1000 for n in sorted({0, END, END + 10} | cuts)]
    run = quantised_run(encoder_fmu, tmp_path_factory.mktemp("cut"), instants, at_step_end)
    assert bits(run) == bits(quantised_reference[at_step_end])
