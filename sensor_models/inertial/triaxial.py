"""Triaxial sensors: three axes through all error stages.

Model, order of the stages and deviations: ``kernels.inertial.triaxial`` (AGX, eq. 22-25). Sensors
of a kind derive their parameters from ``TriaxialParameters`` and hand ``pack`` and ``stream_keys``
to the kernel.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sensor_models.core.faults import NO_FAULT
from sensor_models.core.quantities import ParameterError
from sensor_models.core.random import stream_key
from sensor_models.inertial.corruption import DriftType
from sensor_models.inertial.triaxial_parameters import (
    HIGHEST,
    IDENTITY,
    LOWEST,
    MATRIX,
    OFF_DIAGONAL,
    XYZ,
    TriaxialParameters,
)
from sensor_models.kernels.inertial import triaxial_layout as at
from sensor_models.kernels.inertial.sensing_element import LARGEST_DRAW, RING_ROWS

__all__ = [
    "MATRIX",
    "XYZ",
    "TriaxialParameters",
    "has_limits",
    "pack",
    "stream_keys",
]

_DRIFT_KINDS = {
    DriftType.none: at.NO_DRIFT,
    DriftType.random_walk: at.RANDOM_WALK,
    DriftType.gauss_markov: at.GAUSS_MARKOV,
    # flicker noise has states of its own
    DriftType.flicker: at.NO_DRIFT,
}

#: Terms of the random streams, in the order of the kernel's keys.
TERMS = ("noise", "density", "drift", "instability", "jitter")

NO_FAULTS = (NO_FAULT, NO_FAULT, NO_FAULT)

#: Inputs of a low-pass in a period of its cutoff. Between them the input is linear, which takes
#: sinc(1/12)^2 of a signal there: 0.2 dB.
INPUTS_PER_CUTOFF = 12.0
#: Logarithm to base 2 of the most inputs in a sampling period; a low-pass that is wider than some
#: five times the sampling rate hardly acts on what is sampled.
MOST_INPUTS = 6


def stream_keys(seed: int, sensor: str, prefix: str = "") -> NDArray[np.uint64]:
    """The keys of all random terms of one triaxial sensor, as the kernel takes them."""
    return np.stack([stream_key(seed, sensor, prefix + term) for term in TERMS])


def pack(
    parameters: TriaxialParameters,
    rate: float,
    linear_acceleration_effect: ArrayLike | None = None,
    oversampling: int = 1,
) -> NDArray[np.float64]:
    """The parameters as the kernel takes them, with what can be computed once.

    Args:
        parameters: of the sensor.
        rate: declared sampling rate in Hz, 0 if samples come at any instants.
        linear_acceleration_effect: matrix of a gyroscope, by rows, in rad.s/m.
        oversampling: how many inputs the low-pass gets in a sampling period.

    Raises:
        ParameterError: if the parameters do not go together with the sampling rate.
    """
    _check_memory(parameters, rate)
    packed = np.zeros(at.PARAMETER_SIZE)
    _pack_values(packed, parameters, rate)
    _pack_vectors(packed, parameters)
    _pack_converter(packed, parameters)
    _put(packed, at.MISALIGNMENT, _sensing_axes(parameters.misalignment))
    _put(packed, at.CROSS_AXIS, parameters.cross_axis)
    if linear_acceleration_effect is not None:
        _put(packed, at.LINEAR_ACCELERATION_EFFECT, linear_acceleration_effect)
    packed[at.OVERSAMPLING] = oversampling
    packed[at.FLAGS] = _flags(parameters, packed)
    return packed


def oversampling_of(parameters: TriaxialParameters, rate: float) -> int:
    """How many inputs the low-pass needs in a sampling period: a power of two."""
    if parameters.filter_cutoff == 0.0 or rate == 0.0:
        return 1
    needed = INPUTS_PER_CUTOFF * parameters.filter_cutoff / rate
    return 1 << min(MOST_INPUTS, max(0, math.ceil(math.log2(needed))))


def _check_memory(parameters: TriaxialParameters, rate: float) -> None:
    """Refuse a delay that reaches further back than the signals in memory."""
    if parameters.delay == 0.0 and parameters.jitter == 0.0:
        return
    if not rate > 0.0:
        raise ParameterError(
            f"delay = {parameters.delay} s and jitter = {parameters.jitter} s need a sampling "
            f"rate, which is {rate} Hz; allowed is 0 s for both, or a sample_rate above 0 Hz"
        )
    longest = (RING_ROWS - 1) / rate
    reach = parameters.delay + LARGEST_DRAW * parameters.jitter
    if reach > longest:
        raise ParameterError(
            f"delay = {parameters.delay} s and jitter = {parameters.jitter} s reach {reach:g} s "
            f"back (delay + {LARGEST_DRAW} jitter), allowed is at most {longest:g} s, which is "
            f"{RING_ROWS - 1} samples at {rate:g} Hz"
        )


def _sensing_axes(misalignment: tuple[float, ...]) -> NDArray[np.float64]:
    """The directions of the sensing axes as rows: unit vectors along e_i + tan(a_ij) e_j."""
    matrix = np.eye(3)
    for name, angle in zip(OFF_DIAGONAL, misalignment, strict=True):
        matrix[XYZ.index(name[0]), XYZ.index(name[1])] = np.tan(angle)
    directions: NDArray[np.float64] = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    return directions


def _put(packed: NDArray[np.float64], place: int, values: ArrayLike) -> None:
    values = np.asarray(values, dtype=np.float64).ravel()
    packed[place : place + values.size] = values


def _pack_values(packed: NDArray[np.float64], parameters: TriaxialParameters, rate: float) -> None:
    """The single values."""
    packed[at.RATE] = rate
    packed[at.REFERENCE_TEMPERATURE] = parameters.reference_temperature
    packed[at.NOISE_BANDWIDTH] = parameters.noise_bandwidth
    packed[at.DRIFT_KIND] = _DRIFT_KINDS[parameters.drift_type]
    packed[at.DRIFT_STATIONARY] = parameters.drift_stationary
    packed[at.TIME_CONSTANT] = parameters.drift_time_constant
    packed[at.BOUND_MODE] = parameters.drift_bound_mode
    packed[at.ROUNDING_MODE] = parameters.discretization_mode
    packed[at.CUTOFF] = parameters.filter_cutoff
    packed[at.ORDER] = parameters.filter_order
    packed[at.DELAY] = parameters.delay
    packed[at.JITTER] = parameters.jitter


def _pack_vectors(packed: NDArray[np.float64], parameters: TriaxialParameters) -> None:
    """The values that differ between axes, up to the scale."""
    walking = parameters.drift_type == DriftType.random_walk
    bound = np.array(parameters.drift_bound)
    bound[bound == 0.0] = np.inf
    scale = np.array(parameters.scale)
    for place, values in (
        (at.RANGE_LOWER, parameters.range_lower),
        (at.RANGE_UPPER, parameters.range_upper),
        (at.BIAS, parameters.bias),
        (at.BIAS_TEMPERATURE, parameters.bias_temperature),
        (at.NOISE_RMS, parameters.noise_rms),
        (at.NOISE_DENSITY, _two_sided(parameters)),
        (at.DRIFT_SIZE, parameters.drift_walk if walking else parameters.drift_std),
        (at.BOUND_LOWER, -bound),
        (at.BOUND_UPPER, bound),
        (at.INSTABILITY, parameters.instability),
        (at.SCALE, scale * (1.0 + np.array(parameters.scale_error))),
        (at.SCALE_TEMPERATURE, scale * np.array(parameters.scale_temperature)),
        (at.SELECTED, [axis in parameters.axes for axis in XYZ]),
    ):
        _put(packed, place, values)


def _two_sided(parameters: TriaxialParameters) -> NDArray[np.float64]:
    """The density of which the square root of a bandwidth makes a standard deviation."""
    density = np.array(parameters.noise_density)
    return density / math.sqrt(2.0) if parameters.noise_one_sided else density


def _pack_converter(packed: NDArray[np.float64], parameters: TriaxialParameters) -> None:
    """Codes and limits."""
    for axis in range(3):
        grid = parameters.grid(axis)
        lower, upper = parameters.limits(axis)
        packed[at.CODE_STEP + axis] = grid.step
        packed[at.ANCHOR + axis] = grid.anchor
        packed[at.LOWER + axis] = lower
        packed[at.UPPER + axis] = upper


def _flags(parameters: TriaxialParameters, packed: NDArray[np.float64]) -> int:
    """Which stages do anything at all."""

    def any_at(*places: int) -> bool:
        return any(bool(packed[place : place + 3].any()) for place in places)

    limited = parameters.saturation_on
    on = {
        at.MISALIGNED: any(parameters.misalignment),
        at.FILTERED: parameters.filter_cutoff > 0.0,
        at.DELAYED: parameters.delay > 0.0 or parameters.jitter > 0.0,
        at.RANGED: tuple(parameters.range_lower) != LOWEST
        or tuple(parameters.range_upper) != HIGHEST,
        at.OFFSET: any_at(at.BIAS, at.BIAS_TEMPERATURE),
        at.CROSSED: tuple(parameters.cross_axis) != IDENTITY,
        at.ACCELERATED: bool(packed[at.LINEAR_ACCELERATION_EFFECT : at.OVERSAMPLING].any()),
        at.NOISY: any_at(at.NOISE_RMS),
        at.DENSE: any_at(at.NOISE_DENSITY),
        at.DRIFTING: packed[at.DRIFT_KIND] != at.NO_DRIFT and any_at(at.DRIFT_SIZE),
        at.UNSTABLE: any_at(at.INSTABILITY),
        at.SCALED: any_at(at.SCALE_TEMPERATURE)
        or bool((packed[at.SCALE : at.SCALE + 3] != 1.0).any()),
        at.ROUNDED: any_at(at.CODE_STEP),
        at.NOISE_FILTERED: parameters.filter_noise and parameters.filter_cutoff > 0.0,
        at.LIMITED: limited,
        at.LIMITED_MEAN: limited and parameters.saturation_average,
    }
    return sum(bit for bit, is_on in on.items() if is_on)


def has_limits(parameters: TriaxialParameters, axis: int) -> bool:
    """Whether an axis has limits, which faults of the modes on, max and min need."""
    return parameters.has_limits(axis)
