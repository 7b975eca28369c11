"""Times and steps that no clock can follow are refused with the reason, and nothing has changed."""

import resource
from pathlib import Path

import pytest
from fmpy.fmi1 import FMICallException

from tests.conftest import MODELS, SENSORS
from tests.fmus.histories import go, parameters_of
from tests.fmus.host import Instance, open_fmu

#: 19 million samples and more, at the 37 Hz of the parameters; and steps of the vehicle's own.
ENDLESS = (5.2e5, 1e9, 1e300)
#: What samples may take, MB; a list of those of the shortest of these steps would take more.
MOST_MEMORY = 150.0
REASONS = ("samples", "frames", "inner steps", "is too far from 0", "is no date after")
#: Unix time in ns: doubles are 256 s apart there.
UNIX_NS = 1.7e18


@pytest.fixture
def fmu(fmu_directory: Path, model: str) -> Path:
    return fmu_directory / f"{model}.fmu"


def chosen(model: str, at_end: bool = True) -> dict[str, object]:
    if model in SENSORS:
        return {**parameters_of(model), "inputs_at_step_end": at_end}
    return {"scene": "targets"} if model == "VehicleDynamics" else {}


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def stays(sensor: Instance, time: float, step: float) -> str:
    """What is said of a step that must be refused, and must change nothing."""
    before = sensor.saved()
    said = sensor.refusal(sensor.step, time, step)
    assert sensor.saved() == before
    return said


@pytest.mark.parametrize("at_end", [True, False])
@pytest.mark.parametrize("model", [name for name in MODELS if name != "Environment"])
def test_a_step_of_more_than_can_be_done_is_refused_and_the_next_good_one_goes_on(
    fmu: Path, model: str, at_end: bool
) -> None:
    with open_fmu(fmu) as sensor, open_fmu(fmu) as undisturbed:
        for each in (sensor, undisturbed):
            each.initialize(chosen(model, at_end))
            go(each, 0, 3)
        before = peak()
        for step in ENDLESS:
            said = stays(sensor, 0.03, step)
            assert any(word in said for word in REASONS), said
        assert peak() - before < MOST_MEMORY
        assert go(sensor, 3, 6) == go(undisturbed, 3, 6)


@pytest.mark.parametrize("model", SENSORS)
def test_a_start_whose_doubles_are_coarser_than_the_samples_is_refused(
    fmu: Path, model: str
) -> None:
    with open_fmu(fmu) as sensor:
        sensor.set(chosen(model))
        sensor.set_up(UNIX_NS)
        sensor.enter()
        with pytest.raises(FMICallException):
            sensor.exit()
        said = [message.text for message in sensor.messages]
        assert any("numbers of this size are 256 s apart" in text for text in said), said
        sensor.reset()
        sensor.initialize(chosen(model), 2.0)
        sensor.step(2.0, 0.1)


@pytest.mark.parametrize("model", SENSORS)
def test_unix_seconds_are_times_like_any_other(fmu: Path, model: str) -> None:
    """Doubles are 0.24 us apart there. The steps end between the samples."""
    shown = []
    for start in (0.0, 1.7e9):
        with open_fmu(fmu) as sensor:
            sensor.initialize(chosen(model), start)
            for k in range(8):
                sensor.step(start + 0.02 * k, 0.02)
                shown.append((sensor.get("sample.count"), sensor.get("sample.time") - start))
    for (count, time), (other_count, other_time) in zip(shown[:8], shown[8:], strict=True):
        assert count == other_count
        assert count == 0 or abs(time - other_time) < 3e-7
    assert shown[7][0] > 0
