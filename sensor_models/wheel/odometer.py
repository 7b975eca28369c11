"""Odometer: the distance that a wheel has rolled.

Model and deviations: ``kernels.wheel.odometer`` (AGX, section 6). The input is the rotation of
the wheel's joint in rad, signed and with its whole turns; input that wraps at 2π needs ``unwrap``.
"""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sensor_models.core.faults import NO_FAULT, Fault, FaultPort
from sensor_models.core.plan import FaultInputs, Plan
from sensor_models.core.quantities import boolean, check, choice, real
from sensor_models.kernels.wheel import odometer as kernel
from sensor_models.kernels.wheel import steps
from sensor_models.wheel.errors import DistanceErrors, pack_errors


class OdometerOrder(IntEnum):
    """Which of the two errors comes first."""

    binning_first = 0
    noise_first = 1


class OdometerAccumulate(IntEnum):
    """What going backward does to the reading."""

    signed = 0
    absolute = 1


@dataclass(frozen=True)
class OdometerParameters:
    """An odometer by its wheel; the defaults are an ideal one."""

    wheel_radius: float = real(0.3, "m", "Rolling radius of the wheel", minimum=1e-6)
    resolution: float = real(
        0.0, "rad", "Rotation of the wheel between two ticks, 0 for none", minimum=0.0
    )
    noise_rms: float = real(
        0.0, "m", "Standard deviation of the noise on the distance", minimum=0.0, name="noise.rms"
    )
    order: OdometerOrder = choice(
        OdometerOrder.binning_first,
        "Whether the distance is rounded down to ticks before the noise is added or after; "
        "after it, noise counts as motion where changes are summed up",
    )
    accumulate: OdometerAccumulate = choice(
        OdometerAccumulate.signed,
        "Whether going backward decreases the distance (signed) or increases it from 0 (absolute)",
    )
    unwrap: bool = boolean(
        False, "Whether the rotation comes wrapped at a full turn and is to be unwrapped"
    )

    def __post_init__(self) -> None:
        check(self)


def _pack(parameters: OdometerParameters, errors: DistanceErrors) -> NDArray[np.float64]:
    """The parameters as the kernels take them."""
    packed = np.zeros(kernel.PARAMETERS_SIZE)
    packed[kernel.WHEEL_RADIUS] = parameters.wheel_radius
    packed[kernel.RESOLUTION] = parameters.resolution
    packed[kernel.NOISE_RMS] = parameters.noise_rms
    packed[kernel.NOISE_FIRST] = parameters.order == OdometerOrder.noise_first
    packed[kernel.ABSOLUTE] = parameters.accumulate == OdometerAccumulate.absolute
    packed[kernel.UNWRAP] = parameters.unwrap
    packed[kernel.ERRORS :] = pack_errors(errors)
    return packed


@dataclass(frozen=True, slots=True)
class OdometerReading:
    """What an odometer reports at one instant."""

    distance: float = real(0.0, "m", "Distance that the wheel has rolled")


class Odometer:
    """One odometer: parameters, the key of its noise stream, and its state.

    ``key`` is ``random.stream_key(seed, sensor, "noise")``.
    """

    def __init__(
        self,
        parameters: OdometerParameters,
        key: NDArray[np.uint64],
        errors: DistanceErrors | None = None,
    ) -> None:
        self.parameters = parameters
        self._has_limits = errors is not None and errors.saturation_on
        self._packed = _pack(parameters, errors or DistanceErrors())
        self._key = np.array(key, dtype=np.uint64)
        self._state = np.zeros(kernel.STATE_SIZE)
        self._port = FaultPort("distance", has_limits=self._has_limits)

    def sample(
        self, index: int, time: float, position: float, fault: Fault = NO_FAULT
    ) -> OdometerReading:
        """Sample ``index`` at ``time``, the wheel's joint being at ``position`` (rad)."""
        return OdometerReading(
            kernel.sample(
                self._packed,
                self._key,
                self._state,
                self._port.packed(fault),
                index,
                time,
                position,
            )
        )

    def sample_batch(
        self, first_index: int, times: ArrayLike, positions: ArrayLike, fault: Fault = NO_FAULT
    ) -> NDArray[np.float64]:
        """Distances of the samples from ``first_index`` on, the same as one by one."""
        times = np.ascontiguousarray(times, dtype=np.float64)
        positions = np.ascontiguousarray(positions, dtype=np.float64)
        if times.ndim != 1 or times.shape != positions.shape:
            raise ValueError(
                f"times {times.shape} and positions {positions.shape} are no vectors of one length"
            )
        distances = np.empty(len(times))
        kernel.sample_batch(
            self._packed,
            self._key,
            self._state,
            self._port.packed(fault),
            first_index,
            times,
            positions,
            distances,
        )
        return distances

    def plan(self, rate: float = 0.0) -> Plan:
        """The compiled step of this odometer; it has its state in common with ``sample``.

        The step unwraps the rotation from one known state to the next, and its samples are not
        unwrapped once more.
        """
        parameters = self._packed.copy()
        parameters[kernel.UNWRAP] = 0.0
        return Plan(
            function=steps.odometer_step,
            reading=OdometerReading,
            truth=("joint.position",),
            parameters=parameters,
            keys=self._key,
            state=self._state,
            rate=rate,
            faults=(FaultInputs("fault", "distance", has_limits=self._has_limits),),
            own={steps.UNWRAP: int(self.parameters.unwrap)},
        )

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
