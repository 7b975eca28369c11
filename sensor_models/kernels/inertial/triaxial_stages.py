r"""The stages of a triaxial sensor, one function each; ``triaxial`` puts them in order.

Vectors are tuples of three numbers, so that they stay in registers where a stage is inlined.
"""

import math

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.inertial import sensing_element
from sensor_models.kernels.inertial import triaxial_layout as at
from sensor_models.kernels.inertial.corruption import (
    FLICKER_STATES,
    bounded_step,
    clamp,
    round_to_code,
)
from sensor_models.kernels.math.faults import (
    HOLDING,
    MODE,
    MODE_NONE,
    SLOT_SIZE,
    WAVE,
    WAVE_NONE,
    apply,
)
from sensor_models.kernels.math.philox import Key, centred_uniforms, normals
from sensor_models.kernels.options import INLINE, PLAIN

Floats = NDArray[np.float64]
Keys = NDArray[np.uint64]
Vector = tuple[float, float, float]


@njit(**INLINE)
def key_of(keys: Keys, term: int) -> Key:
    """The key of a term, as two numbers: a view of the array costs more than the draws."""
    return keys[term, 0], keys[term, 1]


@njit(**PLAIN)
def forget(state: Floats) -> None:
    """Clear the state."""
    for place in range(at.STATE_SIZE):
        state[place] = 0.0


@njit(**PLAIN)
def forget_inputs(state: Floats) -> None:
    """Have low-pass and delay begin with the next input."""
    state[at.FILTER_STATE + sensing_element.FILTER_STARTED] = 0.0
    state[at.RING + sensing_element.WRITTEN] = 0.0


@njit(**PLAIN)
def advance_drift(
    parameters: Floats, keys: Keys, state: Floats, index: int, starting: bool
) -> None:
    """Move random walk or Gauss-Markov process on to this sample."""
    mode = int(parameters[at.BOUND_MODE])
    draws = centred_uniforms(key_of(keys, at.DRIFT_KEY), index, 0)
    for axis in range(3):
        mean = state[at.DRIFT_KEPT] * state[at.DRIFT + axis]
        spread = state[at.DRIFT_SPREAD + axis]
        if starting:
            # the long-run law is that of a step from anywhere after any long time
            mean, spread = 0.0, parameters[at.DRIFT_STATIONARY] * parameters[at.DRIFT_SIZE + axis]
        state[at.DRIFT + axis] = bounded_step(
            mode,
            mean,
            spread,
            draws[axis],
            parameters[at.BOUND_LOWER + axis],
            parameters[at.BOUND_UPPER + axis],
        )


@njit(**PLAIN)
def advance_flicker(
    parameters: Floats, keys: Keys, state: Floats, index: int, starting: bool
) -> None:
    """Move the states of flicker noise on to this sample; they have the variance 1."""
    key = key_of(keys, at.INSTABILITY_KEY)
    for axis in range(3):
        if parameters[at.INSTABILITY + axis] == 0.0:
            continue
        for half in range(2):
            draws = normals(key, index, 2 * axis + half)
            for place in range(4):
                i = 4 * half + place
                where = at.FLICKER + axis * FLICKER_STATES + i
                if starting:
                    state[where] = draws[place]
                else:
                    kept = state[at.FLICKER_KEPT + i] * state[where]
                    state[where] = kept + state[at.FLICKER_SPREAD + i] * draws[place]


@njit(**INLINE)
def flicker(parameters: Floats, state: Floats, axis: int) -> float:
    """The flicker noise of an axis."""
    first = at.FLICKER + axis * FLICKER_STATES
    total = 0.0
    for i in range(FLICKER_STATES):
        total += state[at.FLICKER_GAIN + i] * state[first + i]
    return float(parameters[at.INSTABILITY + axis] * total)


@njit(**INLINE)
def vector_at(values: Floats, place: int) -> Vector:
    """The three values from a place on."""
    return values[place], values[place + 1], values[place + 2]


@njit(**INLINE)
def dot(values: Floats, place: int, vector: Vector) -> float:
    """The product of the three values from a place on and a vector."""
    x, y, z = vector
    return float(values[place] * x + values[place + 1] * y + values[place + 2] * z)


@njit(**INLINE)
def multiply(matrix: Floats, place: int, vector: Vector) -> Vector:
    """The product of the 3 x 3 matrix from a place on and a vector."""
    return (
        dot(matrix, place, vector),
        dot(matrix, place + 3, vector),
        dot(matrix, place + 6, vector),
    )


@njit(**INLINE)
def add(left: Vector, right: Vector) -> Vector:
    """The sum of two vectors."""
    return left[0] + right[0], left[1] + right[1], left[2] + right[2]


@njit(**INLINE)
def is_finite(ideal: Vector, force: Vector, temperature: float) -> bool:
    """Whether all input is finite: 0 times anything else is NaN."""
    a, b, c = ideal
    d, e, f = force
    return 0.0 * a + 0.0 * b + 0.0 * c + 0.0 * d + 0.0 * e + 0.0 * f + 0.0 * temperature == 0.0


@njit(**INLINE)
def white(key: Key, index: int, lane: int, sigmas: Vector) -> Vector:
    """White noise of three axes."""
    x, y, z, _ = normals(key, index, lane)
    return sigmas[0] * x, sigmas[1] * y, sigmas[2] * z


@njit(**PLAIN)
def low_pass(
    parameters: Floats, keys: Keys, state: Floats, index: int, lane: int, dt: float, signal: Vector
) -> Vector:
    """The low-pass, with the noise in front of it if it is there.

    Its input is that of sample ``index`` in lane 0, and in further lanes those after that sample.
    It starts in equilibrium with a signal without noise.
    """
    filtering = state[at.FILTER_STATE : at.STEP]
    flags = int(parameters[at.FLAGS])
    if flags & at.NOISE_FILTERED and filtering[sensing_element.FILTER_STARTED] != 0.0:
        sigmas = vector_at(state, at.DENSITY_SIGMA)
        signal = add(signal, white(key_of(keys, at.DENSITY_KEY), index, lane, sigmas))
    coefficients = state[at.FILTER_STEP : at.FLICKER_KEPT]
    passed: Vector = sensing_element.low_pass(coefficients, filtering, signal, dt)
    return passed


@njit(**PLAIN)
def sense(
    parameters: Floats,
    keys: Keys,
    state: Floats,
    index: int,
    time: float,
    dt: float,
    signal: Vector,
) -> Vector:
    """Low-pass and delay."""
    flags = int(parameters[at.FLAGS])
    if flags & at.FILTERED:
        part = dt / parameters[at.OVERSAMPLING]
        signal = low_pass(parameters, keys, state, index, 0, part, signal)
    if flags & at.DELAYED:
        draw, _, _, _ = normals(key_of(keys, at.JITTER_KEY), index, 0)
        instant = time - parameters[at.DELAY] - parameters[at.JITTER] * abs(draw)
        sensing_element.remember(state[at.RING : at.STATE_SIZE], signal, time)
        signal = sensing_element.recall(state[at.RING : at.STATE_SIZE], instant)
    return signal


@njit(**INLINE)
def distort(parameters: Floats, flags: int, warmer: float, force: Vector, signal: Vector) -> Vector:
    """Stages 2 to 5: what is wrong with the signal before any noise."""
    if flags & at.RANGED:
        x, y, z = signal
        signal = (
            clamp(x, parameters[at.RANGE_LOWER], parameters[at.RANGE_UPPER]),
            clamp(y, parameters[at.RANGE_LOWER + 1], parameters[at.RANGE_UPPER + 1]),
            clamp(z, parameters[at.RANGE_LOWER + 2], parameters[at.RANGE_UPPER + 2]),
        )
    if flags & at.OFFSET:
        a, b, c = vector_at(parameters, at.BIAS_TEMPERATURE)
        signal = add(
            signal, add(vector_at(parameters, at.BIAS), (warmer * a, warmer * b, warmer * c))
        )
    if flags & at.CROSSED:
        signal = multiply(parameters, at.CROSS_AXIS, signal)
    if flags & at.ACCELERATED:
        signal = add(signal, multiply(parameters, at.LINEAR_ACCELERATION_EFFECT, force))
    return signal


@njit(**INLINE)
def add_noise(
    parameters: Floats, flags: int, keys: Keys, state: Floats, index: int, signal: Vector
) -> Vector:
    """Stages 6 to 8; drift and flicker noise were moved on to this sample before."""
    if flags & at.NOISY:
        sigmas = vector_at(parameters, at.NOISE_RMS)
        signal = add(signal, white(key_of(keys, at.NOISE_KEY), index, 0, sigmas))
    if flags & at.DENSE and not flags & at.NOISE_FILTERED:
        sigmas = vector_at(state, at.DENSITY_SIGMA)
        signal = add(signal, white(key_of(keys, at.DENSITY_KEY), index, 0, sigmas))
    if flags & at.DRIFTING:
        signal = add(signal, vector_at(state, at.DRIFT))
    if flags & at.UNSTABLE:
        noise = (
            flicker(parameters, state, 0),
            flicker(parameters, state, 1),
            flicker(parameters, state, 2),
        )
        signal = add(signal, noise)
    return signal


@njit(**INLINE)
def multiply_scale(parameters: Floats, warmer: float, signal: Vector) -> Vector:
    """Stage 9."""
    a, b, c = vector_at(parameters, at.SCALE)
    d, e, f = vector_at(parameters, at.SCALE_TEMPERATURE)
    x, y, z = signal
    return x * (a + warmer * d), y * (b + warmer * e), z * (c + warmer * f)


@njit(**INLINE)
def limit(parameters: Floats, state: Floats, flags: int, axis: int, value: float) -> float:
    """The value within the limits of its axis, or its mean with the last one compared."""
    lower, upper = parameters[at.LOWER + axis], parameters[at.UPPER + axis]
    if not flags & at.LIMITED_MEAN:
        return float(clamp(value, lower, upper))
    mean = value
    if state[at.MEAN_STARTED] != 0.0:
        mean = 0.5 * (value + state[at.LAST_DISCRETE + axis])
    state[at.LAST_DISCRETE + axis] = value
    within = clamp(mean, lower, upper)
    return value if within == mean else float(within)


@njit(**INLINE)
def convert(parameters: Floats, flags: int, state: Floats, stages: Floats) -> None:
    """Stage 10: codes, then limits."""
    mode = int(parameters[at.ROUNDING_MODE])
    for axis in range(3):
        value = stages[at.WITH_ERRORS, axis]
        if flags & at.ROUNDED:
            step, anchor = parameters[at.CODE_STEP + axis], parameters[at.ANCHOR + axis]
            value = round_to_code(value, step, anchor, mode)
        stages[at.DISCRETE, axis] = value
        if flags & at.LIMITED:
            value = limit(parameters, state, flags, axis, value)
        stages[at.SATURATED, axis] = value
    if flags & at.LIMITED_MEAN:
        state[at.MEAN_STARTED] = 1.0


@njit(**PLAIN)
def inject(
    parameters: Floats, state: Floats, faults: Floats, time: float, axis: int, value: float
) -> float:
    """The value of an axis with the fault on it."""
    slot = at.SLOTS + axis * SLOT_SIZE
    lower, upper = parameters[at.LOWER + axis], parameters[at.UPPER + axis]
    return float(apply(faults[axis], state[slot : slot + SLOT_SIZE], value, time, lower, upper))


@njit(**INLINE)
def report(parameters: Floats, state: Floats, faults: Floats, time: float, stages: Floats) -> None:
    """Stage 11: faults, and 0 for axes that the sensor has not."""
    for axis in range(3):
        value = stages[at.SATURATED, axis]
        quiet = faults[axis, MODE] == MODE_NONE and faults[axis, WAVE] == WAVE_NONE
        if not quiet or state[at.SLOTS + axis * SLOT_SIZE + HOLDING] != 0.0:
            value = inject(parameters, state, faults, time, axis, value)
        stages[at.FINAL, axis] = value if parameters[at.SELECTED + axis] != 0.0 else 0.0


@njit(**PLAIN)
def spoil(parameters: Floats, state: Floats, dt: float, stages: Floats) -> None:
    """A sample without input: NaN in all stages but the ideal one, 0 for axes that are not there.

    To the low-pass the input stays what it was.
    """
    filtering = state[at.FILTER_STATE : at.STEP]
    if filtering[sensing_element.FILTER_STARTED] != 0.0:
        last_input = vector_at(filtering, sensing_element.INPUT)
        coefficients = state[at.FILTER_STEP : at.FLICKER_KEPT]
        sensing_element.low_pass(
            coefficients, filtering, last_input, dt / parameters[at.OVERSAMPLING]
        )
    for axis in range(3):
        for row in range(at.WITH_ERRORS, at.STAGE_ROWS):
            stages[row, axis] = math.nan
        if parameters[at.SELECTED + axis] == 0.0:
            stages[at.FINAL, axis] = 0.0
