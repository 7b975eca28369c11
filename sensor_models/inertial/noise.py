"""Noise of any number of states: one model for offset, white and brown noise, by type.

Model: ``kernels.inertial.noise`` (CORR). One call moves the noise on and
returns it. The triaxial sensors have more terms at once (``triaxial``); this is for signals of
other sensors and for users of the library.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sensor_models.core.quantities import NO_LIMIT, ParameterError, boolean, check, choice, real
from sensor_models.inertial.corruption import BoundMode
from sensor_models.kernels.inertial import noise as kernel
from sensor_models.kernels.math.normal_law import quantile


class NoiseType(IntEnum):
    """The law of a noise."""

    none = kernel.NONE
    normal = kernel.NORMAL
    uniform = kernel.UNIFORM
    random_walk = kernel.RANDOM_WALK
    gauss_markov = kernel.GAUSS_MARKOV


@dataclass(frozen=True)
class NoiseParameters:
    """The noise of one state."""

    UNIT: ClassVar[str] = "1"

    type: NoiseType = choice(NoiseType.none, "Law of the noise", name="noise.type")
    bias: float = real(0.0, "{u}", "Offset, whatever the law", name="noise.bias")
    std: float = real(
        0.0,
        "{u}",
        "Standard deviation of normal and uniform noise, and of Gauss-Markov noise in the long run",
        minimum=0.0,
        name="noise.std",
    )
    walk: float = real(
        0.0,
        "{u}/sqrt(s)",
        "Growth of the random walk: its standard deviation after 1 s",
        minimum=0.0,
        name="noise.walk",
    )
    time_constant: float = real(
        100.0, "s", "Correlation time of Gauss-Markov noise", minimum=1e-9, name="noise.tau"
    )
    bound_min: float = real(-NO_LIMIT, "{u}", "Lowest value of a drift, without the offset")
    bound_max: float = real(NO_LIMIT, "{u}", "Highest value of a drift, without the offset")
    bound_mode: BoundMode = choice(BoundMode.truncated, "How a drift is kept within its bounds")
    stationary_start: bool = boolean(
        False, "Whether Gauss-Markov noise starts anywhere in its long-run law instead of at 0"
    )

    @property
    def _unit(self) -> str:
        """The unit behind a number, for messages."""
        return "" if self.UNIT == "1" else f" {self.UNIT}"

    def __post_init__(self) -> None:
        check(self)
        if not self.bound_min < self.bound_max:
            raise ParameterError(
                f"bound_min = {self.bound_min}{self._unit} is not below bound_max = "
                f"{self.bound_max}{self._unit}, allowed is bound_min < bound_max"
            )
        if self.bound_mode == BoundMode.pull and (-self.bound_min == NO_LIMIT) != (
            self.bound_max == NO_LIMIT
        ):
            raise ParameterError(
                f"bound_mode = pull needs both bounds or none, not bound_min = {self.bound_min} "
                f"and bound_max = {self.bound_max}"
            )
        if self.stationary_start and self.type == NoiseType.random_walk:
            raise ParameterError(
                "stationary_start = True while noise.type is random_walk, which has no long-run "
                "law; allowed is False, or another type"
            )


class Noise:
    """The noise of some states.

    Args:
        parameters: one for each state.
        key: of the random stream, ``random.stream_key(seed, sensor, term)``.
        factor: for noise of the type normal on all states, a factor L of its covariance L Lᵀ
            (its Cholesky factor, for example) instead of the standard deviations.
    """

    def __init__(
        self,
        parameters: Sequence[NoiseParameters],
        key: NDArray[np.uint64],
        factor: ArrayLike | None = None,
    ) -> None:
        self.parameters = tuple(parameters)
        self._packed = np.array([_pack(state) for state in parameters])
        self._key = np.array(key, dtype=np.uint64)
        self._state = np.zeros(len(self.parameters))
        self._factor = None if factor is None else self._check_factor(factor)

    def _check_factor(self, factor: ArrayLike) -> NDArray[np.float64]:
        matrix = np.array(factor, dtype=np.float64)
        count = len(self.parameters)
        if matrix.shape != (count, count) or not np.isfinite(matrix).all():
            raise ParameterError(
                f"factor of shape {matrix.shape} is no finite matrix of {count} x {count}"
            )
        if any(state.type != NoiseType.normal for state in self.parameters):
            raise ParameterError("a factor needs noise.type normal on all states")
        return matrix

    def sample(self, index: int, dt: float) -> NDArray[np.float64]:
        """The noise of sample ``index``, ``dt`` after the last one; dt = 0 starts anew."""
        if not 0.0 <= dt < math.inf:
            raise ParameterError(f"dt = {dt} s, allowed is a finite number of at least 0 s")
        draws = np.empty(len(self.parameters))
        kernel.draw(self._key, index, draws)
        noise = np.empty_like(draws)
        kernel.advance(self._packed, self._state, dt, draws, noise)
        if self._factor is None:
            return noise
        correlated: NDArray[np.float64] = self._packed[:, kernel.BIAS] + self._factor @ [
            quantile(draw) for draw in draws
        ]
        return correlated

    def reset(self) -> None:
        """Back to before the first sample."""
        self._state[:] = 0.0

    @property
    def state(self) -> NDArray[np.float64]:
        """A copy of everything that changes; assigned, it continues bit by bit from there."""
        return self._state.copy()

    @state.setter
    def state(self, state: NDArray[np.float64]) -> None:
        if np.shape(state) != self._state.shape:
            raise ValueError(f"state has shape {np.shape(state)}, needs {self._state.shape}")
        self._state[:] = state


def _pack(parameters: NoiseParameters) -> NDArray[np.float64]:
    """The noise of one state as the kernel takes it."""
    packed = np.empty(kernel.PARAMETER_SIZE)
    packed[kernel.TYPE] = parameters.type
    packed[kernel.BIAS] = parameters.bias
    packed[kernel.STD] = parameters.std
    packed[kernel.WALK] = parameters.walk
    packed[kernel.TIME_CONSTANT] = parameters.time_constant
    packed[kernel.BOUND_MIN] = (
        -math.inf if parameters.bound_min == -NO_LIMIT else parameters.bound_min
    )
    packed[kernel.BOUND_MAX] = (
        math.inf if parameters.bound_max == NO_LIMIT else parameters.bound_max
    )
    packed[kernel.BOUND_MODE] = parameters.bound_mode
    packed[kernel.STATIONARY] = parameters.stationary_start
    return packed
