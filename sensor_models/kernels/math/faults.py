r"""Faults of one scalar signal: a waveform on the reading, or a reading that is stuck.

Model, with the phase p = frac((t - t0) / T) in [0, 1):

    square    +A if p < duty, else -A
    triangle  A (4 |frac(p - 1/4) - 1/2| - 1)      0 at p = 0, rising
    ramp      A (2 p - 1)
    reading   stuck value, if a mode is on; else truth + waveform + offset

Symbols: A amplitude, T period, t0 start, duty the share of the period spent at +A.
Source: CORR (stuck modes and waveforms); the order, faults after everything
else, is that of CORR.

Deviations: the source gets a stuck reading by moving both saturation limits to it. Here the value
is replaced and the limits stay, which shows the same readings and leaves nothing to restore. The
waveform is additive; "set" is there for a replaced reading.
Not modelled: a reading that is missing instead of 0, activation by a trigger.

A fault is a float64 array of ``FAULT_SIZE`` elements (mode, value, wave, amplitude, period,
offset); what has to be remembered of it is a slot of ``SLOT_SIZE`` elements in the sensor's state.
"""

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.options import INLINE

Floats = NDArray[np.float64]

#: Modes; ``sensor_models.core.faults.FaultMode`` names them to the outside.
MODE_NONE, MODE_OFF, MODE_ON, MODE_PRESENT, MODE_SET, MODE_MAX, MODE_MIN = range(7)
#: Waveforms; ``sensor_models.core.faults.FaultWave`` names them to the outside.
WAVE_NONE, WAVE_SQUARE, WAVE_TRIANGLE, WAVE_RAMP = range(4)
#: Layout of a fault.
MODE, VALUE, WAVE, AMPLITUDE, PERIOD, OFFSET = range(6)
FAULT_SIZE = 6
#: Layout of a slot: is a reading held (0 or 1), and which.
HOLDING, HELD = range(2)
SLOT_SIZE = 2

#: Start and duty of the waveforms at the sensors, where they are no inputs.
SENSOR_START = 0.0
SENSOR_DUTY = 0.5


@njit(cache=True)
def fraction(x: float) -> float:
    """``x`` less the next integer below it, in [0, 1)."""
    part = x - np.floor(x)
    # a tiny negative x rounds up to 1, which is the start of the next period
    return part if part < 1.0 else 0.0


@njit(**INLINE)
def is_bad(fault: Floats, limited: int) -> bool:
    """Whether a fault cannot be applied, to a signal that has limits or none."""
    mode, wave = fault[MODE], fault[WAVE]
    total = 0.0
    for i in range(FAULT_SIZE):
        total += 0.0 * fault[i]
    if total != 0.0 or not (0.0 <= mode <= MODE_MIN and 0.0 <= wave <= WAVE_RAMP):
        return True
    if fault[PERIOD] < 0.0 or (wave != WAVE_NONE and fault[PERIOD] == 0.0):
        return True
    needs_limits = mode in (MODE_ON, MODE_MAX, MODE_MIN)
    return needs_limits and limited == 0


@njit(cache=True)
def waveform(
    kind: int, since_start: float, amplitude: float, period: float, duty: float, offset: float
) -> float:
    """The waveform ``since_start`` seconds after its start, offset included; 0 for no wave."""
    if kind == WAVE_NONE:
        return 0.0
    phase = fraction(since_start / period)
    if kind == WAVE_SQUARE:
        shape = 1.0 if phase < duty else -1.0
    elif kind == WAVE_TRIANGLE:
        shape = 4.0 * abs(fraction(phase - 0.25) - 0.5) - 1.0
    else:
        shape = 2.0 * phase - 1.0
    return amplitude * shape + offset


@njit(cache=True)
def apply(
    fault: Floats, slot: Floats, reading: float, time: float, lower: float, upper: float
) -> float:
    """The reading with a fault on it; ``slot`` remembers what "present" holds."""
    wave = int(fault[WAVE])
    if wave != WAVE_NONE:
        reading += waveform(
            wave, time - SENSOR_START, fault[AMPLITUDE], fault[PERIOD], SENSOR_DUTY, fault[OFFSET]
        )
    mode = int(fault[MODE])
    if mode == MODE_PRESENT:
        if slot[HOLDING] == 0.0:
            slot[HOLDING] = 1.0
            slot[HELD] = reading
        return float(slot[HELD])
    slot[HOLDING] = 0.0
    # cleared, so that equal situations have equal states whatever was held before
    slot[HELD] = 0.0
    if mode == MODE_OFF:
        return 0.0
    if mode == MODE_SET:
        return float(fault[VALUE])
    if mode in (MODE_ON, MODE_MAX):
        return upper
    if mode == MODE_MIN:
        return lower
    return reading
