"""Faults as they are declared, checked and handed to the kernels."""

import math

import numpy as np
import pytest

from sensor_models.core.faults import (
    NO_FAULT,
    Fault,
    FaultMode,
    FaultPort,
    FaultWave,
    check_fault,
    pack_fault,
)
from sensor_models.core.quantities import ParameterError, quantities_of
from sensor_models.kernels.math import faults as kernel


def test_choices_count_from_zero_in_the_order_of_the_interface():
    names = [mode.name for mode in FaultMode]
    assert names == ["none", "off", "on", "present", "set", "max", "min"]
    assert [wave.name for wave in FaultWave] == ["none", "square", "triangle", "ramp"]
    assert [int(mode) for mode in FaultMode] == list(range(7))
    assert [int(wave) for wave in FaultWave] == list(range(4))


def test_the_parts_of_a_fault_have_the_names_of_the_interface():
    names = [quantity.name for quantity in quantities_of(Fault).values()]
    assert names == ["mode", "value", "wave", "amplitude", "period", "offset"]


def test_a_fault_of_zeros_is_accepted_and_does_nothing():
    zeros = Fault(FaultMode(0), 0.0, FaultWave(0), 0.0, 0.0, 0.0)
    check_fault(zeros, "position", has_limits=False)
    slot = np.zeros(kernel.SLOT_SIZE)
    assert kernel.apply(pack_fault(zeros), slot, 1.25, 3.0, 0.0, 0.0) == 1.25


@pytest.mark.parametrize("wave", [wave for wave in FaultWave if wave != FaultWave.none])
def test_a_wave_of_period_zero_is_refused_by_name(wave):
    with pytest.raises(ParameterError, match=rf"fault.period of speed = 0 s .* {wave.name}, allow"):
        check_fault(Fault(wave=wave, period=0.0), "speed", has_limits=True)


@pytest.mark.parametrize("mode", [FaultMode.on, FaultMode.max, FaultMode.min])
def test_modes_that_need_limits_are_refused_where_there_are_none(mode):
    with pytest.raises(ParameterError, match=rf"fault.mode of distance = \d \({mode.name}\) needs"):
        check_fault(Fault(mode=mode), "distance", has_limits=False)
    check_fault(Fault(mode=mode), "position", has_limits=True)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (Fault(mode=9), r"fault.mode of speed = 9 is none of 0 \(none\), 1 \(off\)"),
        (Fault(wave=-1), r"fault.wave of speed = -1 is none of"),
        (Fault(value=math.nan), r"fault.value of speed = nan is not a finite number"),
        (Fault(amplitude=math.inf), r"fault.amplitude of speed = inf is not a finite number"),
        (Fault(offset=-math.inf), r"fault.offset of speed = -inf is not a finite number"),
        (Fault(period=-1.0), r"fault.period of speed = -1.0 s is out of range, .* at least 0 s"),
    ],
)
def test_a_part_outside_its_range_is_refused_by_name(fault, message):
    with pytest.raises(ParameterError, match=message):
        check_fault(fault, "speed", has_limits=True)


def test_modes_given_as_plain_numbers_work_the_same():
    assert pack_fault(Fault(mode=4, wave=2)).tolist() == (
        pack_fault(Fault(mode=FaultMode.set, wave=FaultWave.triangle)).tolist()
    )
    with pytest.raises(ParameterError, match=r"\(triangle\)|triangle"):
        check_fault(Fault(wave=2, period=0.0), "speed", has_limits=True)


def test_a_port_packs_what_it_is_given_and_follows_changes():
    port = FaultPort("position", has_limits=True)
    first, second = Fault(FaultMode.set, value=1.0), Fault(FaultMode.set, value=2.0)
    assert port.packed(NO_FAULT).tolist() == pack_fault(NO_FAULT).tolist()
    assert port.packed(first).tolist() == pack_fault(first).tolist()
    assert port.packed(second).tolist() == pack_fault(second).tolist()
    assert port.packed(first).tolist() == pack_fault(first).tolist()


def test_a_refused_fault_leaves_the_port_as_it_was_and_is_refused_again():
    port = FaultPort("speed", has_limits=False)
    good, bad = Fault(FaultMode.off), Fault(FaultMode.max)
    port.packed(good)
    for _ in range(2):
        with pytest.raises(ParameterError, match="speed"):
            port.packed(bad)
    assert port.packed(good).tolist() == pack_fault(good).tolist()
