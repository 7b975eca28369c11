"""Encoder: position, speed and edges of a joint, rotary or linear.

Model and deviations: ``kernels.wheel.encoder`` (AGX, eq. 31-34). The input is the position of a
joint, one sample at a time; the unit is rad, and m for a linear encoder. The speed comes from the
changes of the reported position alone, as in a real encoder, so its time resolution is that of
the samples: the relative error of a speed is at most the sample interval over the time per code.
"""

import math
import sys
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sensor_models.core.faults import NO_FAULT, Fault, FaultPort
from sensor_models.core.plan import FaultInputs, Plan
from sensor_models.core.quantities import ParameterError, boolean, check, choice, integer, real
from sensor_models.kernels.wheel import encoder as kernel
from sensor_models.kernels.wheel import steps
from sensor_models.wheel.errors import AngleErrors, pack_errors


class EncoderMode(IntEnum):
    """What happens at the ends of the range."""

    incremental = 0
    absolute = 1


@dataclass(frozen=True)
class EncoderParameters:
    """An encoder by its geometry; the defaults are an ideal one with one turn."""

    mode: EncoderMode = choice(
        EncoderMode.incremental,
        "Whether the position wraps at the limits (incremental) or stops there (absolute)",
    )
    lower: float = real(0.0, "rad", "Lowest reported position (m for a linear encoder)")
    upper: float = real(
        math.tau, "rad", "Upper end of the reported positions (m for a linear encoder)"
    )
    resolution: float = real(
        0.0, "rad", "Step between codes (m for a linear encoder), 0 for none", minimum=0.0
    )
    noise_rms: float = real(
        0.0,
        "rad",
        "Standard deviation of the noise before binning (m for a linear encoder)",
        minimum=0.0,
        name="noise.rms",
    )
    speed_timeout: float = real(
        0.1,
        "s",
        "Time without a change after which the speed is 0; set it above resolution / lowest speed",
        minimum=1e-9,
    )

    def __post_init__(self) -> None:
        check(self)
        if not self.lower < self.upper:
            raise ParameterError(
                f"lower = {self.lower} rad is not below upper = {self.upper} rad, "
                "allowed is lower < upper"
            )
        if not math.isfinite(self.upper - self.lower):
            raise ParameterError(
                f"upper = {self.upper} rad and lower = {self.lower} rad are too far apart, "
                "allowed is a finite upper - lower"
            )


def warnings_of(parameters: EncoderParameters) -> list[str]:
    """What is allowed but seldom meant, as sentences."""
    if parameters.mode != EncoderMode.incremental or parameters.resolution == 0.0:
        return []
    codes, whole = _codes_per_turn(parameters)
    if not whole:
        return [
            f"upper - lower is {codes:g} times the resolution, no whole number: "
            "codes shift at each wrap"
        ]
    if codes % 4 != 0:
        return [
            f"upper - lower is {codes:g} codes, no multiple of 4: "
            "channels A and B skip states at each wrap"
        ]
    return []


def _codes_per_turn(parameters: EncoderParameters) -> tuple[float, bool]:
    """Codes between the limits, and whether that is a whole number but for rounding."""
    codes = (parameters.upper - parameters.lower) / parameters.resolution
    if not 0.5 <= codes < kernel.EXACT:
        return codes, False
    nearest = float(round(codes))
    # the guard of the binning, and what the two roundings of the quotient can add to it
    tolerance = kernel.GUARD + 4.0 * sys.float_info.epsilon * nearest
    whole = abs(codes - nearest) <= tolerance
    return (nearest if whole else codes), whole


def _pack(parameters: EncoderParameters, errors: AngleErrors) -> NDArray[np.float64]:
    """The parameters as the kernels take them, with what can be computed once."""
    packed = np.zeros(kernel.PARAMETERS_SIZE)
    packed[kernel.LOWER] = parameters.lower
    packed[kernel.UPPER] = parameters.upper
    packed[kernel.RESOLUTION] = parameters.resolution
    packed[kernel.NOISE_RMS] = parameters.noise_rms
    packed[kernel.TIMEOUT] = parameters.speed_timeout
    packed[kernel.INCREMENTAL] = parameters.mode == EncoderMode.incremental
    if parameters.resolution > 0.0:
        codes, whole = _codes_per_turn(parameters)
        packed[kernel.TURN_CODES] = codes
        packed[kernel.WHOLE_TURN] = whole
        packed[kernel.FIRST_CODE] = np.ceil(parameters.lower / parameters.resolution - kernel.GUARD)
    packed[kernel.TOP] = top = _top(parameters)
    packed[kernel.ERRORS :] = pack_errors(errors, parameters.lower, top)
    return packed


def _top(parameters: EncoderParameters) -> float:
    """The largest position that the encoder reports: its upper limit to faults."""
    lower, upper, resolution = parameters.lower, parameters.upper, parameters.resolution
    if parameters.mode == EncoderMode.absolute:
        return upper
    if resolution == 0.0:
        return math.nextafter(upper, lower)
    codes, whole = _codes_per_turn(parameters)
    if whole:
        top_code = np.ceil(lower / resolution - kernel.GUARD) + codes - 1.0
    else:
        top_code = np.ceil(upper / resolution - kernel.GUARD) - 1.0
    return max(lower, float(resolution * top_code))


@dataclass(frozen=True, slots=True)
class EncoderReading:
    """What an encoder reports at one instant."""

    position: float = real(0.0, "rad", "Reported position (m for a linear encoder)")
    speed: float = real(0.0, "rad/s", "Speed from the last two changes (m/s for a linear encoder)")
    speed_valid: bool = boolean(
        False, "Whether there were two changes of the position since the start"
    )
    edge_count: int = integer(
        0, "Signed number of resolution steps since the start, wraps at 32 bits; 0 without steps"
    )
    channel_a: bool = boolean(False, "Channel A of the quadrature signal, leads when going forward")
    channel_b: bool = boolean(False, "Channel B of the quadrature signal")


class EncoderReadings(NamedTuple):
    """Readings of a batch of samples: the fields of ``EncoderReading`` as arrays."""

    position: NDArray[np.float64]
    speed: NDArray[np.float64]
    speed_valid: NDArray[np.bool_]
    edge_count: NDArray[np.int32]
    channel_a: NDArray[np.bool_]
    channel_b: NDArray[np.bool_]


class Encoder:
    """One encoder: parameters, the key of its noise stream, and its state.

    ``key`` is ``random.stream_key(seed, sensor, "noise")``.
    """

    def __init__(
        self,
        parameters: EncoderParameters,
        key: NDArray[np.uint64],
        errors: AngleErrors | None = None,
    ) -> None:
        self.parameters = parameters
        self._packed = _pack(parameters, errors or AngleErrors())
        self._key = np.array(key, dtype=np.uint64)
        self._state = np.zeros(kernel.STATE_SIZE)
        self._position_port = FaultPort("position", has_limits=True)
        self._speed_port = FaultPort("speed", has_limits=False)

    def sample(
        self,
        index: int,
        time: float,
        position: float,
        fault: Fault = NO_FAULT,
        speed_fault: Fault = NO_FAULT,
    ) -> EncoderReading:
        """Sample ``index`` at ``time``, the joint being at ``position``."""
        return EncoderReading(
            *kernel.sample(
                self._packed,
                self._key,
                self._state,
                self._position_port.packed(fault),
                self._speed_port.packed(speed_fault),
                index,
                time,
                position,
            )
        )

    def sample_batch(
        self,
        first_index: int,
        times: ArrayLike,
        positions: ArrayLike,
        fault: Fault = NO_FAULT,
        speed_fault: Fault = NO_FAULT,
    ) -> EncoderReadings:
        """Samples from ``first_index`` on, the same as one by one."""
        times = np.ascontiguousarray(times, dtype=np.float64)
        positions = np.ascontiguousarray(positions, dtype=np.float64)
        if times.ndim != 1 or times.shape != positions.shape:
            raise ValueError(
                f"times {times.shape} and positions {positions.shape} are no vectors of one length"
            )
        readings = _empty_readings(len(times))
        kernel.sample_batch(
            self._packed,
            self._key,
            self._state,
            self._position_port.packed(fault),
            self._speed_port.packed(speed_fault),
            first_index,
            times,
            positions,
            *readings,
        )
        return readings

    def plan(self, rate: float = 0.0) -> Plan:
        """The compiled step of this encoder; it has its state in common with ``sample``."""
        return Plan(
            function=steps.encoder_step,
            reading=EncoderReading,
            truth=("joint.position", "joint.velocity"),
            parameters=self._packed,
            keys=self._key,
            state=self._state,
            rate=rate,
            faults=(
                FaultInputs("fault", "position", has_limits=True),
                FaultInputs("fault.speed", "speed", has_limits=False),
            ),
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


def _empty_readings(count: int) -> EncoderReadings:
    return EncoderReadings(
        np.empty(count),
        np.empty(count),
        np.empty(count, dtype=np.bool_),
        np.empty(count, dtype=np.int32),
        np.empty(count, dtype=np.bool_),
        np.empty(count, dtype=np.bool_),
    )
