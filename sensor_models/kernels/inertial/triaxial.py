r"""Triaxial sensors: from the ideal signal to what is reported, through all error stages.

Stages of one sample, in signal order, u the ideal signal in the sensor's frame (2 to 9: AGX,
eq. 22-25, and GYM; 10 and 11: CORR; stages without a number are extensions of this library):

        misalignment    M u, row i of M the unit vector of sensing axis i
        low-pass, delay ``kernels.inertial.sensing_element``
    2   input range     max(lo, min(u, hi)), each axis
    3   zero offset     + b + (T - T_ref) b'
    4   cross-axis      A u
    5   acceleration    + A_LAE f, f the specific force (gyroscopes)
    6   total noise     + N(0, σ²)
    7   spectral noise  + N(0, N² ν), ν the sampling rate, or N(0, D² B) for a bandwidth B
    8   drift           + x + flicker noise (``kernels.inertial.corruption``)
    9   scale           k (1 + e + (T - T_ref) e')
    10  codes, limits   ``kernels.inertial.corruption``
    11  faults          ``kernels.math.faults``, then 0 for axes that the sensor has not

A stage that is off leaves the bits of the signal as they are.

Spectral noise: N is the two-sided density, the random walk coefficient of the integrated signal;
its Allan deviation is N/√τ at any rate, and its one-sided density √2 N. Data sheets that measure
spectra give a one-sided density D (``noise_one_sided``): N = D/√2, and σ = D √(ν/2). With a fixed
bandwidth B (``noise_bandwidth``) σ = D √B at any rate, white: that is the density D if ν = 2 B, and
more or less if the sensor is sampled slower or faster. With no rate declared σ is N/√dt, and 0
for the first sample, which has no dt. With ``filter_noise`` the noise is added in front of the
low-pass (``kernels.inertial.sensing_element``).

Random numbers: the terms (noise, density, drift, instability, jitter) are streams, samples their
counters. The four words of a block are the draws of the axes x y z (one is left over), so a term
costs one block; the eight states of flicker noise take two blocks an axis, lanes 2 i and 2 i + 1.
Every sample has its own counters, whichever stages are on and whatever the input is.

Average saturation (CORR) compares the mean over the step with the limits, taken as the
mean of this value before saturation and the last one; the value itself then passes unless the mean
does not. The limits of codes are codes, rounded inward when the parameters are packed.

Input that is not finite makes all but the ideal stage NaN for this sample. Drift and flicker noise
go on as if nothing had been; to the low-pass the input stays what it was; delay, mean and faults do
not see the sample.

Speed: what is off is skipped by one bit of ``FLAGS``. The signal goes from stage to stage as three
numbers, not as an array: they stay in registers if the stages are inlined, which is forced, and
nothing has to be loaded again after each store that might have changed it. All that depends on dt
is kept until dt changes (``kernels.inertial.triaxial_layout``).
"""

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.inertial import triaxial_layout as at
from sensor_models.kernels.inertial import triaxial_stages as stage
from sensor_models.kernels.inertial.triaxial_layout import (
    DISCRETE,
    FINAL,
    IDEAL,
    KEY_ROWS,
    PARAMETER_SIZE,
    ROUNDING_MODE,
    SATURATED,
    SELECTED,
    STAGE_ROWS,
    STATE_SIZE,
    WITH_ERRORS,
)
from sensor_models.kernels.options import PLAIN

__all__ = [
    "DISCRETE",
    "FINAL",
    "IDEAL",
    "KEY_ROWS",
    "PARAMETER_SIZE",
    "ROUNDING_MODE",
    "SATURATED",
    "SELECTED",
    "STAGE_ROWS",
    "STATE_SIZE",
    "WITH_ERRORS",
    "corrupt",
    "follow",
]

Floats = NDArray[np.float64]
Keys = NDArray[np.uint64]

CORRUPT_SIGNATURE = (
    "void(float64[::1], uint64[:,::1], float64[::1], float64[:,::1],"
    " int64, float64, float64, float64, float64[::1], float64[::1], float64[:,::1])"
)
FOLLOW_SIGNATURE = (
    "void(float64[::1], uint64[:,::1], float64[::1], int64, int64, float64, float64[::1])"
)


@njit(CORRUPT_SIGNATURE, **PLAIN)
def corrupt(
    parameters: Floats,
    keys: Keys,
    state: Floats,
    faults: Floats,
    index: int,
    time: float,
    dt: float,
    temperature: float,
    force: Floats,
    ideal: Floats,
    stages: Floats,
) -> None:
    """One sample through all stages; ``state`` moves on to it, ``stages`` gets a row for each.

    Args:
        parameters: as packed by ``sensor_models.inertial.triaxial``.
        keys: a row for each random term.
        state: anything before the first sample.
        faults: packed faults, a row for each axis.
        index: number of the sample.
        time: its instant.
        dt: time since the last sample; 0 for the first one, which forgets all that was before.
        temperature: of the sensor, in K.
        force: specific force in the sensor's frame, zeros if it has no effect.
        ideal: ideal signal in the sensor's frame.
        stages: filled.
    """
    flags = int(parameters[at.FLAGS])
    starting = dt == 0.0
    if starting:
        stage.forget(state)
    at.prepare_step(parameters, state, dt)
    if flags & at.DRIFTING:
        stage.advance_drift(parameters, keys, state, index, starting)
    if flags & at.UNSTABLE:
        stage.advance_flicker(parameters, keys, state, index, starting)
    signal, acting = stage.vector_at(ideal, 0), stage.vector_at(force, 0)
    stages[IDEAL, 0], stages[IDEAL, 1], stages[IDEAL, 2] = signal
    if not stage.is_finite(signal, acting, temperature):
        stage.spoil(parameters, state, dt, stages)
        return
    warmer = temperature - parameters[at.REFERENCE_TEMPERATURE]
    if flags & at.MISALIGNED:
        signal = stage.multiply(parameters, at.MISALIGNMENT, signal)
    if flags & (at.FILTERED | at.DELAYED):
        signal = stage.sense(parameters, keys, state, index, time, dt, signal)
    signal = stage.distort(parameters, flags, warmer, acting, signal)
    signal = stage.add_noise(parameters, flags, keys, state, index, signal)
    if flags & at.SCALED:
        signal = stage.multiply_scale(parameters, warmer, signal)
    stages[WITH_ERRORS, 0], stages[WITH_ERRORS, 1], stages[WITH_ERRORS, 2] = signal
    stage.convert(parameters, flags, state, stages)
    stage.report(parameters, state, faults, time, stages)


@njit(FOLLOW_SIGNATURE, **PLAIN)
def follow(
    parameters: Floats,
    keys: Keys,
    state: Floats,
    index: int,
    lane: int,
    dt: float,
    ideal: Floats,
) -> None:
    """Move the low-pass on to an instant between two samples.

    Args:
        parameters: as for ``corrupt``.
        keys: as for ``corrupt``.
        state: after a sample.
        index: number of that sample.
        lane: number of the instant since then, from 1 on.
        dt: time since the last instant.
        ideal: ideal signal in the sensor's frame.
    """
    signal = stage.vector_at(ideal, 0)
    if not stage.is_finite(signal, signal, 0.0):
        return
    if int(parameters[at.FLAGS]) & at.MISALIGNED:
        signal = stage.multiply(parameters, at.MISALIGNMENT, signal)
    stage.low_pass(parameters, keys, state, index, lane, dt, signal)
