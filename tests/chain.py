"""The chain of errors of a triaxial sensor alone, for a signal that a test knows."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from sensor_models.core.faults import NO_FAULT, Fault, FaultPort
from sensor_models.inertial.triaxial import pack, stream_keys
from sensor_models.inertial.triaxial_parameters import XYZ, ZERO, TriaxialParameters
from sensor_models.kernels.inertial.triaxial import FINAL, STAGE_ROWS, STATE_SIZE, corrupt

Floats = NDArray[np.float64]
Keys = NDArray[np.uint64]

NO_FAULTS = (NO_FAULT, NO_FAULT, NO_FAULT)

#: Layout of the state of a sensor of its own: that of the stages, how far it has come, the time
#: of the last sample, and the stages of that sample, row by row.
PHASE = STATE_SIZE
TIME = PHASE + 1
LAST = TIME + 1
SENSOR_STATE_SIZE = LAST + 3 * STAGE_ROWS
FRESH, AT_START, RUNNING = 0.0, 1.0, 2.0


@njit
def sample(
    parameters: Floats,
    keys: Keys,
    state: Floats,
    faults: Floats,
    index: int,
    time: float,
    temperature: float,
    force: Floats,
    ideal: Floats,
    stages: Floats,
) -> None:
    """One sample of a sensor that knows its last instant; arguments as for ``corrupt``.

    A sample at the start instant replaces the start, later ones at a time that does not advance
    leave everything as it was and report the last sample again. A time that is not finite makes
    all stages NaN and leaves the state alone.
    """
    dt = 0.0
    if state[PHASE] != FRESH:
        dt = max(time - state[TIME], 0.0)
    if not math.isfinite(time) or (dt == 0.0 and state[PHASE] == RUNNING):
        for place in range(3 * STAGE_ROWS):
            held = state[LAST + place] if math.isfinite(time) else math.nan
            stages[place // 3, place % 3] = held
        return
    corrupt(
        parameters, keys, state[:PHASE], faults, index, time, dt, temperature, force, ideal, stages
    )
    state[PHASE] = AT_START if dt == 0.0 else RUNNING
    state[TIME] = time
    for place in range(3 * STAGE_ROWS):
        state[LAST + place] = stages[place // 3, place % 3]


@njit
def sample_batch(
    parameters: Floats,
    keys: Keys,
    state: Floats,
    faults: Floats,
    first_index: int,
    times: Floats,
    temperatures: Floats,
    forces: Floats,
    ideals: Floats,
    stages: Floats,
    reported: Floats,
) -> None:
    """Samples ``first_index``, ``first_index + 1``, ...; a row of ``reported`` for each."""
    for i in range(len(times)):
        sample(
            parameters,
            keys,
            state,
            faults,
            first_index + i,
            times[i],
            temperatures[i],
            forces[i],
            ideals[i],
            stages,
        )
        for axis in range(3):
            reported[i, axis] = stages[FINAL, axis]


class Stages(NamedTuple):
    """One sample after each group of stages, three axes each."""

    ideal: NDArray[np.float64]
    with_errors: NDArray[np.float64]
    discrete: NDArray[np.float64]
    saturated: NDArray[np.float64]
    reported: NDArray[np.float64]


class Triaxial:
    """One triaxial sensor for a signal in its own frame.

    Args:
        parameters: its errors.
        seed: the run's seed.
        sensor: identity of the sensor, sensors that share it share their noise.
        rate: sampling rate in Hz, 0 if samples come at any instants.
        linear_acceleration_effect: matrix by rows, for gyroscopes.
    """

    def __init__(
        self,
        parameters: TriaxialParameters,
        *,
        seed: int = 0,
        sensor: str = "triaxial",
        rate: float = 0.0,
        linear_acceleration_effect: ArrayLike | None = None,
    ) -> None:
        self.parameters = parameters
        self._packed = pack(parameters, rate, linear_acceleration_effect)
        self._keys = stream_keys(seed, sensor)
        self._state = np.zeros(SENSOR_STATE_SIZE)
        self._stages = np.zeros((STAGE_ROWS, 3))
        self._ports = [
            FaultPort(axis, has_limits=parameters.has_limits(place))
            for place, axis in enumerate(XYZ)
        ]
        self._order = [XYZ.index(axis) for axis in parameters.axes]

    def sample(
        self,
        index: int,
        time: float,
        ideal: ArrayLike,
        *,
        temperature: float | None = None,
        force: ArrayLike = ZERO,
        faults: Sequence[Fault] = NO_FAULTS,
    ) -> NDArray[np.float64]:
        """Sample ``index`` at ``time``: what the axes report, in the order of ``axes``.

        Args:
            index: number of the sample.
            time: its instant.
            ideal: the true signal on x, y and z.
            temperature: of the sensor in K, the reference temperature if None.
            force: specific force on x, y and z, for the linear-acceleration effect.
            faults: one for each of x, y and z.
        """
        sample(
            self._packed,
            self._keys,
            self._state,
            self._pack_faults(faults),
            index,
            time,
            self.parameters.reference_temperature if temperature is None else temperature,
            _vectors(force, (3,), "force"),
            _vectors(ideal, (3,), "ideal"),
            self._stages,
        )
        reported: NDArray[np.float64] = self._stages[FINAL, self._order]
        return reported

    def sample_batch(
        self,
        first_index: int,
        times: ArrayLike,
        ideals: ArrayLike,
        *,
        temperatures: ArrayLike | None = None,
        forces: ArrayLike = ZERO,
        faults: Sequence[Fault] = NO_FAULTS,
    ) -> NDArray[np.float64]:
        """Samples from ``first_index`` on, a row for each, the same as one by one."""
        times = np.ascontiguousarray(times, dtype=np.float64)
        if times.ndim != 1:
            raise ValueError(f"times have shape {times.shape}, need one dimension")
        shape = (times.size, 3)
        if temperatures is None:
            temperatures = self.parameters.reference_temperature
        reported = np.empty(shape)
        sample_batch(
            self._packed,
            self._keys,
            self._state,
            self._pack_faults(faults),
            first_index,
            times,
            _vectors(temperatures, times.shape, "temperatures"),
            _vectors(forces, shape, "forces"),
            _vectors(ideals, shape, "ideals"),
            self._stages,
            reported,
        )
        ordered: NDArray[np.float64] = reported[:, self._order]
        return ordered

    @property
    def stages(self) -> Stages:
        """The newest sample after each group of stages, as copies."""
        return Stages(*self._stages.copy())

    def reset(self) -> None:
        """Back to before the first sample."""
        self._state[:] = 0.0
        self._stages[:] = 0.0

    @property
    def state(self) -> NDArray[np.float64]:
        """A copy of everything that changes; assigned, it continues bit by bit from there."""
        return self._state.copy()

    @state.setter
    def state(self, state: NDArray[np.float64]) -> None:
        if np.shape(state) != self._state.shape:
            raise ValueError(f"state has shape {np.shape(state)}, needs {self._state.shape}")
        self._state[:] = state
        self._stages[:] = self._state[LAST:].reshape(self._stages.shape)

    def _pack_faults(self, faults: Sequence[Fault]) -> NDArray[np.float64]:
        pairs = zip(self._ports, faults, strict=True)
        return np.stack([port.packed(fault) for port, fault in pairs])


def _vectors(values: ArrayLike, shape: tuple[int, ...], what: str) -> NDArray[np.float64]:
    """Values as the kernel takes them; one vector or number may stand for all samples."""
    given = np.asarray(values, dtype=np.float64)
    try:
        return np.array(np.broadcast_to(given, shape), order="C")
    except ValueError:
        raise ValueError(f"{what} have shape {given.shape}, need {shape}") from None
