r"""Where the parameters and the state of a triaxial sensor lie in their arrays.

What depends on the time since the last sample (exponentials and roots) is the *step*. It lies in
the state, and is computed when that time changes by more than the rounding of instants: at a
declared rate once. It is a function of that time alone and so carries nothing over.
"""

import math

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.inertial import sensing_element
from sensor_models.kernels.inertial.corruption import (
    FLICKER_STATES,
    flicker_gain,
    flicker_time_constant,
    gauss_markov,
)
from sensor_models.kernels.math.faults import SLOT_SIZE
from sensor_models.kernels.options import PLAIN

Floats = NDArray[np.float64]

#: Rows of the stages: the ideal signal, after stage 9, after codes, after limits, reported.
IDEAL, WITH_ERRORS, DISCRETE, SATURATED, FINAL = range(5)
STAGE_ROWS = 5
#: Rows of the keys.
NOISE_KEY, DENSITY_KEY, DRIFT_KEY, INSTABILITY_KEY, JITTER_KEY = range(5)
KEY_ROWS = 5

#: Kinds of drift that have a state of their own.
NO_DRIFT, RANDOM_WALK, GAUSS_MARKOV = range(3)

#: Bits of FLAGS: which stages are on.
MISALIGNED, FILTERED, DELAYED, RANGED, OFFSET, CROSSED, ACCELERATED = (1 << i for i in range(7))
NOISY, DENSE, DRIFTING, UNSTABLE, SCALED = (1 << i for i in range(7, 12))
ROUNDED, LIMITED, LIMITED_MEAN = (1 << i for i in range(12, 15))
#: The density noise goes through the low-pass instead of being added behind it.
NOISE_FILTERED = 1 << 15

#: Layout of the parameters: single values, then vectors, then matrices.
FLAGS, RATE, REFERENCE_TEMPERATURE, NOISE_BANDWIDTH, DRIFT_KIND, DRIFT_STATIONARY = range(6)
TIME_CONSTANT, BOUND_MODE, ROUNDING_MODE, CUTOFF, ORDER, DELAY, JITTER = range(6, 13)
RANGE_LOWER, RANGE_UPPER, BIAS, BIAS_TEMPERATURE = range(13, 25, 3)
NOISE_RMS, NOISE_DENSITY, DRIFT_SIZE, BOUND_LOWER, BOUND_UPPER = range(25, 40, 3)
INSTABILITY, SCALE, SCALE_TEMPERATURE = range(40, 49, 3)
CODE_STEP, ANCHOR, LOWER, UPPER, SELECTED = range(49, 64, 3)
MISALIGNMENT, CROSS_AXIS, LINEAR_ACCELERATION_EFFECT = range(64, 91, 9)
#: How many inputs the low-pass takes in a sampling period.
OVERSAMPLING = 91
PARAMETER_SIZE = 92

#: Layout of the state: drift, flicker noise, was there a value before and which (of each axis,
#: before limits), slots of the faults, low-pass, the step, and past signals.
DRIFT = 0
FLICKER = DRIFT + 3
MEAN_STARTED = FLICKER + 3 * FLICKER_STATES
LAST_DISCRETE = MEAN_STARTED + 1
SLOTS = LAST_DISCRETE + 3
FILTER_STATE = SLOTS + 3 * SLOT_SIZE
STEP = FILTER_STATE + sensing_element.FILTER_STATE_SIZE
#: The step: the time it belongs to, density noise of three axes, what is left of the drift and
#: the spread of what is new on three axes, low-pass, and for each state of flicker noise what is
#: left of it, the spread of what is new, and the factor that it counts with.
STEP_TIME = STEP
DENSITY_SIGMA = STEP_TIME + 1
DRIFT_KEPT = DENSITY_SIGMA + 3
DRIFT_SPREAD = DRIFT_KEPT + 1
FILTER_STEP = DRIFT_SPREAD + 3
FLICKER_KEPT = FILTER_STEP + sensing_element.FILTER_COEFFICIENTS
FLICKER_SPREAD = FLICKER_KEPT + FLICKER_STATES
FLICKER_GAIN = FLICKER_SPREAD + FLICKER_STATES
#: Last, because it is long, and only a sensor with a delay has to keep a copy of it.
RING = FLICKER_GAIN + FLICKER_STATES
STATE_SIZE = RING + sensing_element.RING_STATE_SIZE

#: Share by which two times are the same: instants k/rate are rounded.
SAME_TIME = 1e-6


@njit(**PLAIN, error_model="numpy")
def prepare_step(parameters: Floats, state: Floats, dt: float) -> None:
    """Compute all that depends on the time since the last sample, unless it is there."""
    rate = parameters[RATE]
    if rate > 0.0 and (dt == 0.0 or abs(dt * rate - 1.0) <= SAME_TIME):
        dt = 1.0 / rate
    if dt > 0.0 and abs(dt - state[STEP_TIME]) <= SAME_TIME * dt:
        return
    state[STEP_TIME] = dt
    _prepare_noise(parameters, state, dt)
    flags = int(parameters[FLAGS])
    if flags & FILTERED:
        sensing_element.filter_coefficients(
            state[FILTER_STEP:FLICKER_KEPT],
            parameters[CUTOFF],
            int(parameters[ORDER]),
            dt / parameters[OVERSAMPLING],
        )
    if flags & UNSTABLE:
        for i in range(FLICKER_STATES):
            time_constant = flicker_time_constant(i)
            state[FLICKER_KEPT + i], state[FLICKER_SPREAD + i] = gauss_markov(dt, time_constant)
            state[FLICKER_GAIN + i] = flicker_gain(dt, time_constant)


@njit(**PLAIN, error_model="numpy")
def _prepare_noise(parameters: Floats, state: Floats, dt: float) -> None:
    """Density noise and drift."""
    bandwidth = parameters[NOISE_BANDWIDTH]
    if bandwidth == 0.0 and parameters[RATE] > 0.0:
        bandwidth = parameters[RATE]
    elif bandwidth == 0.0 and dt > 0.0:
        bandwidth = 1.0 / dt
    if int(parameters[FLAGS]) & NOISE_FILTERED:
        bandwidth *= parameters[OVERSAMPLING]
    state[DRIFT_KEPT], spread = 1.0, math.sqrt(dt)
    if parameters[DRIFT_KIND] == GAUSS_MARKOV:
        state[DRIFT_KEPT], spread = gauss_markov(dt, parameters[TIME_CONSTANT])
    for axis in range(3):
        density = parameters[NOISE_DENSITY + axis]
        state[DENSITY_SIGMA + axis] = density * math.sqrt(bandwidth)
        state[DRIFT_SPREAD + axis] = parameters[DRIFT_SIZE + axis] * spread
