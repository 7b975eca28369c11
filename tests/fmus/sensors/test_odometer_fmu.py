"""FMU ``Odometer``: acceptance rows, the model behind it, faults."""

import math
from pathlib import Path

import numpy as np
import pytest

from sensor_models.core.faults import Fault, FaultMode, FaultWave
from sensor_models.core.random import stream_key
from sensor_models.wheel.odometer import (
    Odometer,
    OdometerAccumulate,
    OdometerOrder,
    OdometerParameters,
)
from tests.fmus.driving import drive, inputs_of
from tests.fmus.host import open_fmu

WHEEL = 0.35
TICK = math.tau / 48


def distance_of(fmu: Path, rotation: float, resolution: float = 0.0) -> float:
    """What an odometer reports of a wheel that has turned by an angle."""
    parameters = {"wheel_radius": WHEEL, "resolution": resolution}
    with open_fmu(fmu) as odometer:
        odometer.initialize(parameters)
        readings = drive(odometer, [0.0, 1.0, 2.0], lambda t: {"joint.position": rotation * t})
        return float(readings[-1]["distance"])


@pytest.mark.acceptance("ODO-1")
def test_odo_1_the_distance_is_radius_times_rotation(odometer_fmu: Path) -> None:
    assert distance_of(odometer_fmu, 20.0) == pytest.approx(7.0, abs=1e-12)  # the row's


@pytest.mark.acceptance("ODO-2")
def test_odo_2_the_rotation_is_rounded_down_to_ticks(odometer_fmu: Path) -> None:
    distance = distance_of(odometer_fmu, 20.0, TICK)
    assert distance == pytest.approx(6.963864, abs=1e-6)  # tolerance of the row


@pytest.mark.acceptance("ODO-3")
def test_odo_3_turns_add_up_and_a_tick_is_a_48th_of_one(odometer_fmu: Path) -> None:
    hundred = distance_of(odometer_fmu, 100 * math.tau, TICK)
    assert hundred == pytest.approx(219.91149, abs=1e-5)  # tolerance of the row
    # the digits that the row gives
    assert distance_of(odometer_fmu, TICK, TICK) == pytest.approx(0.0458149, abs=5e-8)


@pytest.mark.acceptance("ODO-4")
@pytest.mark.parametrize(
    ("accumulate", "expected"),
    [(OdometerAccumulate.signed, 0.0), (OdometerAccumulate.absolute, 7.0)],
)
def test_odo_4_going_back_takes_away_or_adds(
    odometer_fmu: Path, accumulate: OdometerAccumulate, expected: float
) -> None:
    with open_fmu(odometer_fmu) as odometer:
        odometer.initialize({"wheel_radius": WHEEL, "accumulate": accumulate})
        instants = [k / 10 for k in range(202)]
        drive(odometer, instants, lambda t: {"joint.position": 10.0 - abs(t - 10.0)})
        assert odometer.get("sample.time") == 20.0
        # tolerance of the row
        assert odometer.get("distance") == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("order", list(OdometerOrder))
@pytest.mark.parametrize("accumulate", list(OdometerAccumulate))
@pytest.mark.parametrize("unwrap", [False, True])
def test_the_fmu_equals_the_model_called_directly(
    odometer_fmu: Path, order: OdometerOrder, accumulate: OdometerAccumulate, unwrap: bool
) -> None:
    parameters = OdometerParameters(0.41, TICK, 0.02, order, accumulate, unwrap)
    model = Odometer(parameters, stream_key(-7, "Odometer/rear", "noise"))
    rotations = np.cumsum(np.random.default_rng(6).normal(0.0, 0.4, 200))
    if unwrap:
        rotations %= math.tau
    with open_fmu(odometer_fmu, "rear") as odometer:
        odometer.initialize(
            {
                "wheel_radius": 0.41,
                "resolution": TICK,
                "noise.rms": 0.02,
                "order": order,
                "accumulate": accumulate,
                "unwrap": unwrap,
                "seed": -7,
            }
        )
        for k, rotation in enumerate(rotations.tolist()):
            fault = Fault(wave=FaultWave.triangle, amplitude=0.5) if k > 100 else Fault()
            odometer.set({"joint.position": rotation, **inputs_of(fault)})
            odometer.step(k / 50, 0.02)
            expected = model.sample(k, k / 50, rotation, fault).distance
            assert odometer.get("distance") == expected


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (FaultMode.none, 0.75),
        (FaultMode.off, 0.0),
        (FaultMode.present, 0.25),
        (FaultMode.set, -7.5),
    ],
)
def test_a_fault_mode_fixes_the_distance_until_it_is_cleared(
    odometer_fmu: Path, mode: FaultMode, expected: float
) -> None:
    with open_fmu(odometer_fmu) as odometer:
        odometer.initialize({"wheel_radius": 1.0})
        odometer.set({"joint.position": 0.25, "fault.mode": mode, "fault.value": -7.5})
        odometer.step(0.0, 0.1)
        odometer.set({"joint.position": 0.75})
        odometer.step(0.1, 0.1)
        assert odometer.get("distance") == expected
        odometer.set({"fault.mode": FaultMode.none})
        odometer.step(0.2, 0.1)
        assert odometer.get("distance") == 0.75


@pytest.mark.parametrize(
    ("wave", "expected"),
    [
        (FaultWave.none, [3.0, 3.0, 3.0, 3.0]),
        (FaultWave.square, [5.125, 5.125, 1.125, 1.125]),
        (FaultWave.triangle, [3.125, 5.125, 3.125, 1.125]),
        (FaultWave.ramp, [1.125, 2.125, 3.125, 4.125]),
    ],
)
def test_a_fault_wave_is_added_to_the_distance(
    odometer_fmu: Path, wave: FaultWave, expected: list[float]
) -> None:
    fault = Fault(wave=wave, amplitude=2.0, period=1.0, offset=0.125)
    with open_fmu(odometer_fmu) as odometer:
        odometer.initialize({"wheel_radius": 1.0, "joint.position": 3.0, **inputs_of(fault)})
        readings = drive(odometer, [0.0, 0.25, 0.5, 0.75, 1.0], lambda t: {})
    assert [reading["distance"] for reading in readings] == expected


@pytest.mark.parametrize("mode", [FaultMode.on, FaultMode.max, FaultMode.min])
def test_a_distance_has_no_limits_to_be_stuck_at_and_the_odometer_goes_on(
    odometer_fmu: Path, mode: FaultMode
) -> None:
    with open_fmu(odometer_fmu) as odometer:
        odometer.initialize({"wheel_radius": 1.0})
        odometer.set({"joint.position": 1.0})
        odometer.step(0.0, 0.1)
        before = odometer.outputs()
        odometer.set({"joint.position": 2.0, "fault.mode": mode})
        message = odometer.refusal(odometer.step, 0.1, 0.1)
        assert f"fault.mode of distance = {mode.value} ({mode.name})" in message
        assert "allowed are none, off, present and set" in message
        assert odometer.outputs() == before
        odometer.set({"fault.mode": FaultMode.none})
        odometer.step(0.1, 0.1)
        assert odometer.outputs() == {"distance": 2.0, "sample.count": 2, "sample.time": 0.1}


@pytest.mark.parametrize("mode", [FaultMode.on, FaultMode.max, FaultMode.min])
def test_such_a_fault_is_refused_at_the_start_and_can_be_taken_back(
    odometer_fmu: Path, mode: FaultMode
) -> None:
    with open_fmu(odometer_fmu) as odometer:
        odometer.set({"fault.mode": mode})
        odometer.set_up()
        odometer.enter()
        assert "fault.mode of distance" in odometer.refusal(odometer.exit)
        odometer.set({"fault.mode": FaultMode.off})
        odometer.exit()
        odometer.step(0.0, 0.1)


def test_a_wave_without_a_period_is_refused_and_the_odometer_goes_on(odometer_fmu: Path) -> None:
    with open_fmu(odometer_fmu) as odometer:
        odometer.initialize()
        odometer.set({"fault.wave": FaultWave.ramp, "fault.period": 0.0})
        message = odometer.refusal(odometer.step, 0.0, 0.1)
        assert "fault.period of distance = 0 s" in message
        assert "more than 0 s" in message
        odometer.set({"fault.period": 1.0})
        odometer.step(0.0, 0.1)
