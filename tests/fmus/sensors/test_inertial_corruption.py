"""Codes, limits, axes and faults of the inertial FMUs, which are those of all their signals."""

import math
from pathlib import Path

import numpy as np
import pytest

from sensor_models.core.codes import RoundingMode
from sensor_models.core.faults import Fault, FaultMode, FaultWave
from tests.fmus.driving import inputs_of
from tests.fmus.inertial import (
    IMU_ACCELEROMETER,
    MOVED,
    SIGNALS,
    Signal,
    Vector,
    name_of,
    spread,
)

EVERY_SIGNAL = pytest.mark.parametrize("signal", SIGNALS, ids=name_of)
MOVED_SIGNAL = pytest.mark.parametrize("signal", MOVED, ids=name_of)

IDEAL = (0.37, -0.37, 0.25)


def limits(lower: float, upper: float) -> dict[str, object]:
    """Parameters for the same limits on all axes."""
    return {
        "saturation.on": True,
        **spread("saturation.min", (lower,) * 3),
        **spread("saturation.max", (upper,) * 3),
    }


# ---- codes and limits ----------------------------------------------------------------------------


@pytest.mark.acceptance("COR-1", "COR-2")
@pytest.mark.parametrize(
    ("mode", "positive", "negative"),
    [
        (RoundingMode.toward_zero, 0.3, -0.3),
        (RoundingMode.floor, 0.3, -0.4),
        (RoundingMode.ceil, 0.4, -0.3),
        (RoundingMode.round, 0.4, -0.4),
    ],
)
@EVERY_SIGNAL
def test_cor_1_cor_2_readings_are_rounded_to_codes(
    fmu_directory: Path, signal: Signal, mode: RoundingMode, positive: float, negative: float
) -> None:
    codes = {"discretization.on": True, "discretization.mode": mode}
    steps = spread("discretization.lsb", (0.1, 0.1, 0.0))
    reading = signal.measure(fmu_directory, IDEAL, **codes, **steps)
    # tolerance of the rows; an axis without a step keeps its value
    assert reading == pytest.approx((positive, negative, 0.25), abs=1e-12)


@pytest.mark.acceptance("COR-3")
@EVERY_SIGNAL
def test_cor_3_limits_are_moved_to_codes(fmu_directory: Path, signal: Signal) -> None:
    errors = {
        **limits(-0.9, 1.0),
        "discretization.on": True,
        **spread("discretization.lsb", (0.25,) * 3),
    }
    reading = signal.measure(fmu_directory, (7.0, -7.0, 0.3), **errors)
    assert reading == (1.0, -0.75, 0.25)


@pytest.mark.acceptance("COR-4")
@pytest.mark.parametrize(
    ("bits", "step"), [(1, 2.0), (2, 0.666667), (3, 0.285714), (4, 0.133333), (12, 4.884005e-4)]
)
@EVERY_SIGNAL
def test_cor_4_bits_share_the_span_between_the_limits(
    fmu_directory: Path, signal: Signal, bits: int, step: float
) -> None:
    errors = {
        **limits(-1.0, 1.0),
        "discretization.on": True,
        "discretization.bits": bits,
        "discretization.mode": RoundingMode.round,
    }
    reading = signal.measure(fmu_directory, (-1.0, -1.0 + 0.9 * step, 3.0), **errors)
    assert reading == pytest.approx((-1.0, -1.0 + step, 1.0), abs=1e-6)  # tolerance of the row


@pytest.mark.acceptance("COR-5")
@pytest.mark.parametrize(
    ("bits", "levels"), [(1, {-1.0, 1.0}), (2, {-1.0, -1.0 + 2 / 3, -1.0 + 2 * 2 / 3, 1.0})]
)
@MOVED_SIGNAL
def test_cor_5_a_sine_becomes_as_many_levels_as_the_bits_tell_apart(
    fmu_directory: Path, signal: Signal, bits: int, levels: set[float]
) -> None:
    codes = {"discretization.on": True, "discretization.bits": bits, "discretization.mode": 3}
    found = set()
    with signal.open(fmu_directory) as sensor:
        sensor.initialize({**signal.undisturbed, **signal.named({**limits(-1.0, 1.0), **codes})})
        for k in range(60):
            sensor.set(signal.drive((1.2 * math.sin(0.1 * k),) * 3))
            sensor.step(0.01 * k, 0.01)
            found.update(signal.read(sensor))
    # the second is a third but for the rounding of 2/3
    assert found == levels
    assert sorted(levels) == pytest.approx([-1.0, -1 / 3, 1 / 3, 1.0][:: 5 - 2 * bits], abs=1e-15)


@EVERY_SIGNAL
def test_limits_and_codes_that_are_off_do_nothing(fmu_directory: Path, signal: Signal) -> None:
    errors = {**limits(-0.1, 0.1), **spread("discretization.lsb", (0.1,) * 3)}
    reading = signal.measure(fmu_directory, IDEAL, **{**errors, "saturation.on": False})
    assert reading == IDEAL


@pytest.mark.parametrize(("averaged", "expected"), [(False, 1.0), (True, 1.5)])
def test_limits_apply_to_the_mean_over_the_step_where_that_is_asked_for(
    fmu_directory: Path, averaged: bool, expected: float
) -> None:
    signal = IMU_ACCELEROMETER
    errors = signal.named({**limits(-1.0, 1.0), "saturation.average": averaged})
    with signal.open(fmu_directory) as sensor:
        sensor.initialize({**signal.undisturbed, **errors})
        for k, value in enumerate([0.0, 1.5]):
            sensor.set(signal.drive((value, 0.0, 0.0)))
            sensor.step(0.1 * k, 0.1)
        # the mean of 0 and 1.5 lies within the limits
        assert signal.read(sensor) == (expected, 0.0, 0.0)


# ---- axes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("axes", ["x", "y", "z", "zx", "yz", "zyx"])
@EVERY_SIGNAL
def test_an_axis_that_a_sensor_has_not_reads_0(
    fmu_directory: Path, signal: Signal, axes: str
) -> None:
    errors = {"axes": axes, **spread("bias", (1.0, 1.0, 1.0))}
    expected = [v + 1.0 if axis in axes else 0.0 for axis, v in zip("xyz", IDEAL, strict=True)]
    assert list(signal.measure(fmu_directory, IDEAL, **errors)) == expected


@EVERY_SIGNAL
def test_noise_of_an_axis_does_not_depend_on_the_others(
    fmu_directory: Path, signal: Signal
) -> None:
    noise = spread("noise.rms", (1.0, 1.0, 1.0))
    whole = signal.measure(fmu_directory, IDEAL, **noise)
    assert signal.measure(fmu_directory, IDEAL, axes="y", **noise) == (0.0, whole[1], 0.0)


# ---- faults --------------------------------------------------------------------------------------


def fault_on(signal: Signal, axis: str, fault: Fault) -> dict[str, float]:
    """The inputs that put a fault on an axis of a signal."""
    return inputs_of(fault, f"{signal.prefix}fault.{axis}")


@pytest.mark.acceptance("COR-12")
@pytest.mark.parametrize("place", [0, 1, 2], ids="xyz")
@MOVED_SIGNAL
def test_cor_12_an_axis_stuck_at_its_present_value_is_live_again_when_cleared(
    fmu_directory: Path, signal: Signal, place: int
) -> None:
    stuck = fault_on(signal, "xyz"[place], Fault(FaultMode.present))
    live = fault_on(signal, "xyz"[place], Fault())
    with signal.open(fmu_directory) as sensor:
        sensor.initialize({**signal.undisturbed, **signal.named(limits(-7.0, 7.0))})
        for k in range(9):
            value = np.array([1.0, -1.0, 0.5]) * k
            sensor.set({**signal.drive(value), **(stuck if 3 <= k < 6 else live)})
            sensor.step(float(k), 1.0)
            expected = np.clip(value, -7.0, 7.0)
            if 3 <= k < 6:
                expected[place] = [3.0, -3.0, 1.5][place]
            assert list(signal.read(sensor)) == expected.tolist()


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (FaultMode.off, 0.0),
        (FaultMode.on, 2.0),
        (FaultMode.set, -7.5),
        (FaultMode.max, 2.0),
        (FaultMode.min, -1.0),
    ],
)
@EVERY_SIGNAL
def test_a_fault_mode_fixes_its_axis_and_leaves_the_others_alone(
    fmu_directory: Path, signal: Signal, mode: FaultMode, expected: float
) -> None:
    with signal.open(fmu_directory) as sensor:
        sensor.initialize(
            {**signal.undisturbed, **signal.named(limits(-1.0, 2.0)), **signal.drive(IDEAL)}
        )
        for place, axis in enumerate("xyz"):
            sensor.set(fault_on(signal, axis, Fault(mode, value=-7.5)))
            sensor.step(0.1 * place, 0.1)
            stuck = [*IDEAL]
            stuck[place] = expected
            assert list(signal.read(sensor)) == stuck
            sensor.set(fault_on(signal, axis, Fault()))
        sensor.step(0.3, 0.1)
        assert signal.read(sensor) == IDEAL


@pytest.mark.acceptance("COR-11")
@pytest.mark.parametrize(
    ("wave", "expected"),
    [
        (FaultWave.none, [0.0, 0.0, 0.0, 0.0]),
        (FaultWave.square, [2.125, 2.125, -1.875, -1.875]),
        (FaultWave.triangle, [0.125, 2.125, 0.125, -1.875]),
        (FaultWave.ramp, [-1.875, -0.875, 0.125, 1.125]),
    ],
)
@pytest.mark.parametrize("axis", ["x", "y", "z"])
@EVERY_SIGNAL
def test_cor_11_a_wave_is_added_to_its_axis(
    fmu_directory: Path, signal: Signal, axis: str, wave: FaultWave, expected: list[float]
) -> None:
    fault = Fault(wave=wave, amplitude=2.0, period=1.0, offset=0.125)
    ideal = (0.5, -0.25, 4.0)
    with signal.open(fmu_directory) as sensor:
        sensor.initialize({**signal.undisturbed, **signal.drive(ideal)})
        sensor.set(fault_on(signal, axis, fault))
        for k, added in enumerate(expected):
            sensor.step(0.25 * k, 0.25)
            reading = list(ideal)
            reading["xyz".index(axis)] += added
            assert list(signal.read(sensor)) == reading  # all are exact in binary


@pytest.mark.parametrize("mode", [FaultMode.on, FaultMode.max, FaultMode.min])
@EVERY_SIGNAL
def test_an_axis_without_limits_cannot_be_stuck_at_one_and_the_sensor_goes_on(
    fmu_directory: Path, signal: Signal, mode: FaultMode
) -> None:
    one_limited = {
        "saturation.on": True,
        "saturation.min.x": -1.0,
        "saturation.max.x": 1.0,
        "saturation.max.y": 1.0,
    }
    with signal.open(fmu_directory) as sensor:
        sensor.initialize({**signal.undisturbed, **signal.named(one_limited)})
        sensor.set(fault_on(signal, "x", Fault(mode)))
        sensor.step(0.0, 0.1)
        before = sensor.outputs()
        sensor.set(fault_on(signal, "y", Fault(mode)))
        message = sensor.refusal(sensor.step, 0.1, 0.1)
        assert f"fault.mode of {signal.output}.y = {mode.value} ({mode.name}) needs" in message
        assert "allowed are none, off, present and set" in message
        assert sensor.outputs() == before
        sensor.set(fault_on(signal, "y", Fault()))
        sensor.step(0.1, 0.1)
        assert sensor.get("sample.count") == 2


def test_faults_on_several_axes_and_sensors_do_not_mix(fmu_directory: Path) -> None:
    prefixes = ("accelerometer", "gyroscope", "magnetometer")
    faults = {
        f"{prefix}.fault.{axis}.{name}": value
        for row, prefix in enumerate(prefixes)
        for place, axis in enumerate("xyz")
        for name, value in (("mode", FaultMode.set), ("value", 10.0 * row + place))
    }
    with IMU_ACCELEROMETER.open(fmu_directory) as imu:
        imu.initialize(faults)
        readings: list[Vector] = [
            tuple(imu.get_all([f"{prefix}.{axis}" for axis in "xyz"]).values())
            for prefix in prefixes
        ]
    assert readings == [(0.0, 1.0, 2.0), (10.0, 11.0, 12.0), (20.0, 21.0, 22.0)]
