"""Event Mode, clocks and early return of FMI 3.0."""

from pathlib import Path
from typing import Any

import pytest
from fmpy.fmi1 import FMICallException

from sensor_models.core.clock import same_instant
from tests.conftest import SENSORS
from tests.fmus.histories import LIDAR, STEP, go, motion_of, parameters_of
from tests.fmus.host import Instance, open_fmu
from tests.fmus.twins import Twin, open_twin

RATE = 37.0  # of the histories


def clocks_of(twin: Twin) -> list[str]:
    """The clocks of an FMU."""
    return [v.name for v in twin.arrays.values() if v.type == "Clock"]


def handle_event(twin: Twin) -> list[str]:
    """Go through Event Mode; the clocks that tick."""
    twin.slave.enterEventMode()
    ticking = [clock for clock in clocks_of(twin) if twin.ticks(clock)]
    more = twin.slave.updateDiscreteStates()
    assert not any(more[:5])
    assert not any(twin.ticks(clock) for clock in clocks_of(twin))
    twin.slave.enterStepMode()
    return ticking


@pytest.mark.parametrize("model", SENSORS)
def test_clocks_tick_with_samples_and_change_no_bit(fmu3_directory: Path, model: str) -> None:
    fmu = fmu3_directory / f"{model}.fmu"
    with open_twin(fmu) as plain:
        plain.initialize(parameters_of(model))
        expected = go(plain, 0, 30)
    with open_twin(fmu, event_mode=True) as twin:
        twin.initialize(parameters_of(model))
        counts = twin.get_all(["sample.count"])["sample.count"]
        ticking = [clock for clock in clocks_of(twin) if twin.ticks(clock)]
        assert bool(ticking) == bool(counts)  # it begins in Event Mode
        twin.slave.updateDiscreteStates()
        twin.slave.enterStepMode()
        motion, found = motion_of(twin), []
        for k in range(30):
            twin.set(motion(k * STEP))
            told = twin.step(k * STEP, STEP)
            found.append(twin.outputs())
            new = twin.get("sample.count") - counts
            counts += new
            assert told.event == (new > 0)
            if told.event:
                assert handle_event(twin) == clocks_of(twin)
        assert counts > 5
    assert found == expected


def test_a_state_brings_back_the_mode_and_the_ticks(fmu3_directory: Path) -> None:
    with open_twin(fmu3_directory / "Imu.fmu", event_mode=True) as imu:
        imu.initialize({"sample_rate": RATE})
        imu.slave.enterStepMode()
        time = 0.0
        while not imu.step(time, STEP).event:
            time += STEP
        between = imu.slave.getFMUState()
        imu.slave.enterEventMode()
        within = imu.slave.getFMUState()
        count = imu.get("sample.count")
        for _ in range(2):
            assert imu.ticks("sample.clock")
            imu.slave.updateDiscreteStates()
            assert not imu.ticks("sample.clock")
            imu.slave.enterStepMode()
            imu.step(time + STEP, 0.1)
            imu.step(time + STEP + 0.1, 0.1)
            assert imu.get("sample.count") > count
            imu.slave.setFMUState(within)
            assert imu.get("sample.count") == count
        imu.slave.setFMUState(between)
        assert handle_event(imu) == ["sample.clock"]  # it was in step mode, before the event
        imu.step(time + STEP, STEP)
        imu.slave.freeFMUState(within)
        imu.slave.freeFMUState(between)


def test_modes_are_kept_apart(fmu3_directory: Path) -> None:
    with open_twin(fmu3_directory / "Imu.fmu", event_mode=True) as imu:
        imu.initialize()
        with pytest.raises(FMICallException):
            imu.step(0.0, 0.01)
        assert "cannot be called in event mode" in imu.messages[-1].text
        imu.slave.enterStepMode()
        imu.step(0.0, 0.01)
        with pytest.raises(FMICallException):
            imu.slave.updateDiscreteStates()
        assert "cannot be called in step mode" in imu.messages[-1].text
    with open_twin(fmu3_directory / "Imu.fmu") as imu:
        imu.initialize()
        imu.step(0.0, 0.01)
        with pytest.raises(FMICallException):
            imu.slave.enterEventMode()
        assert "made without event mode" in imu.messages[-1].text


# ---- early return ------------------------------------------------------------------------------


def to_the_end(instance: Instance, end: float, size: float) -> list[dict[str, Any]]:
    """Step to an end; steps that return early are gone on from where they ended."""
    motion, time, found = motion_of(instance), 0.0, []
    while time < end and not same_instant(time, end):
        instance.set(motion(time))
        told: Any = instance.step(time, size)
        time = told.time if isinstance(instance, Twin) else time + size
        found.append({"time": time, **instance.outputs()})
    return found


@pytest.mark.parametrize("model", ["Lidar", "WaveformLidar", "DepthCamera", "Radar"])
def test_steps_end_at_frames_and_give_the_bits_of_steps_that_are_cut_there(
    fmu_directory: Path, fmu3_directory: Path, model: str
) -> None:
    with open_twin(fmu3_directory / f"{model}.fmu", early_return=True) as twin:
        twin.initialize(parameters_of(model))
        found = to_the_end(twin, 0.5, 0.1)
    instants = [0.0, *(row["time"] for row in found)]
    frames = [k / RATE for k in range(1, 18)]
    assert all(any(same_instant(frame, t) for t in instants) for frame in frames)
    with open_fmu(fmu_directory / f"{model}.fmu") as old:
        old.initialize(parameters_of(model))
        motion = motion_of(old)
        for row, begin, end in zip(found, instants, instants[1:], strict=False):
            old.set(motion(begin))
            old.step(begin, end - begin)
            shown = old.outputs()
            assert all(shown[name] == value for name, value in row.items() if name != "time")
    assert found[-1]["frame.count"] > 10


@pytest.mark.parametrize("chosen", [{"inputs_at_step_end": True}, {"sample_rate": 0.0}])
def test_steps_go_to_their_ends_where_nothing_is_known_before(
    fmu3_directory: Path, chosen: dict[str, Any]
) -> None:
    with open_twin(fmu3_directory / "Lidar.fmu", early_return=True) as lidar:
        lidar.initialize({**LIDAR, **chosen})
        assert len(to_the_end(lidar, 0.5, 0.1)) == 5


def test_a_sensor_that_samples_does_not_return_early(fmu3_directory: Path) -> None:
    with open_twin(fmu3_directory / "Imu.fmu", early_return=True) as imu:
        imu.initialize({"sample_rate": RATE})
        assert imu.step(0.0, 0.5) == (False, False, 0.5)
        assert imu.get("sample.count") > 0
