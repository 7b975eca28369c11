"""Faults that a master injects into a signal while the simulation runs.

Model: ``kernels.math.faults`` (CORR). A wave is added to the reading; a mode other than none
replaces the reading. Both happen after every other stage of the sensor. A wave starts at time 0,
and a square wave is up for half of its period.

A fault is not checked when it is made but when it is applied: a master sets its parts one by one,
and some set every part to 0 first, so only the values at a sample can be judged.
"""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.quantities import ParameterError, choice, quantities_of, real
from sensor_models.kernels.math import faults as kernel


class FaultMode(IntEnum):
    """What a signal is stuck at."""

    none = kernel.MODE_NONE
    off = kernel.MODE_OFF
    on = kernel.MODE_ON
    present = kernel.MODE_PRESENT
    set = kernel.MODE_SET
    max = kernel.MODE_MAX
    min = kernel.MODE_MIN


class FaultWave(IntEnum):
    """Which waveform is added to a signal."""

    none = kernel.WAVE_NONE
    square = kernel.WAVE_SQUARE
    triangle = kernel.WAVE_TRIANGLE
    ramp = kernel.WAVE_RAMP


@dataclass(frozen=True, slots=True)
class Fault:
    """The fault on one signal; none by default."""

    mode: FaultMode = choice(
        FaultMode.none,
        "What the signal is stuck at: nothing (none), 0 (off), its upper limit (on, max), "
        "its lower limit (min), its reading when the mode was set (present), the value (set)",
    )
    value: float = real(0.0, "1", "Reading in mode set, in the unit of the signal")
    wave: FaultWave = choice(FaultWave.none, "Waveform added to the reading")
    amplitude: float = real(0.0, "1", "Amplitude of the wave, in the unit of the signal")
    period: float = real(
        1.0, "s", "Period of the wave; 0 is accepted while there is no wave", minimum=0.0
    )
    offset: float = real(
        0.0, "1", "Added to the reading together with a wave, in the unit of the signal"
    )


NO_FAULT = Fault()

#: Read once, because faults are checked while the simulation runs.
_QUANTITIES = tuple(quantities_of(Fault).items())
_NEEDS_LIMITS = (FaultMode.on, FaultMode.max, FaultMode.min)


def check_fault(fault: Fault, signal: str, has_limits: bool) -> None:
    """Refuse a fault that cannot be applied to ``signal``, with or without limits."""
    for field, quantity in _QUANTITIES:
        refusal = quantity.refusal(f"fault.{quantity.name} of {signal}", getattr(fault, field))
        if refusal is not None:
            raise ParameterError(refusal)
    if fault.wave != FaultWave.none and fault.period == 0.0:
        raise ParameterError(
            f"fault.period of {signal} = 0 s while fault.wave is {FaultWave(fault.wave).name}, "
            "allowed is more than 0 s"
        )
    if fault.mode in _NEEDS_LIMITS and not has_limits:
        raise ParameterError(
            f"fault.mode of {signal} = {int(fault.mode)} ({FaultMode(fault.mode).name}) needs "
            "limits, which this signal has not; allowed are none, off, present and set"
        )


def pack_fault(fault: Fault) -> NDArray[np.float64]:
    """A fault as an array for kernels."""
    packed = np.empty(kernel.FAULT_SIZE)
    packed[kernel.MODE] = fault.mode
    packed[kernel.VALUE] = fault.value
    packed[kernel.WAVE] = fault.wave
    packed[kernel.AMPLITUDE] = fault.amplitude
    packed[kernel.PERIOD] = fault.period
    packed[kernel.OFFSET] = fault.offset
    return packed


class FaultPort:
    """Checks and packs the faults on one signal, only when they change.

    It holds the newest fault in two forms, and no state of the sensor.
    """

    def __init__(self, signal: str, *, has_limits: bool) -> None:
        self.signal = signal
        self.has_limits = has_limits
        self._fault = NO_FAULT
        self._packed = pack_fault(NO_FAULT)

    def packed(self, fault: Fault) -> NDArray[np.float64]:
        """``fault`` as an array for kernels; ``ParameterError`` if it cannot be applied."""
        if fault is not self._fault:
            check_fault(fault, self.signal, self.has_limits)
            self._packed = pack_fault(fault)
            self._fault = fault
        return self._packed
