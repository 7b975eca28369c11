"""Inertial sensors on a moving body: what accelerometer, gyroscope, magnetometer and IMU share.

Model and deviations: ``kernels.inertial``, ``signals`` (ideal signals, increments) and ``unit``
(how a unit of several sensors is sampled); errors: ``triaxial``.

The state of the body is a float64 vector in the order of ``frames.BodyState``, with the
acceleration and the angular acceleration behind it (both of the body's origin, world frame) if
``use_acceleration_inputs`` is set. The orientation must be of unit length. A body that is put
somewhere else at once has had an infinite acceleration: ``reset`` the sensor.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sensor_models.core.body import BodyParameters, Velocities
from sensor_models.core.faults import NO_FAULT, Fault, FaultPort, pack_fault
from sensor_models.core.frames import BodyState, Quaternion, matrix_from_quaternion
from sensor_models.core.plan import FaultInputs, Plan
from sensor_models.core.quantities import (
    ParameterError,
    boolean,
    check,
    quantities_of,
    real,
)
from sensor_models.inertial.magnetic_field import MagneticField
from sensor_models.inertial.triaxial import (
    XYZ,
    TriaxialParameters,
    has_limits,
    oversampling_of,
    pack,
    stream_keys,
)
from sensor_models.kernels.inertial import signals as layout
from sensor_models.kernels.inertial import steps
from sensor_models.kernels.inertial import unit as kernel
from sensor_models.kernels.inertial.triaxial import STAGE_ROWS
from sensor_models.kernels.math.motion import BODY_SIZE, BODY_SIZE_WITH_ACCELERATIONS

Vector = tuple[float, float, float]
Floats = NDArray[np.float64]
Reading = TypeVar("Reading")

ROOM_TEMPERATURE = 298.15

#: The motion of a body as its steps take it, by name.
MOTION_INPUTS = (
    *(name for q in quantities_of(BodyState).values() for name, _ in q.parts(q.default)),
    *(f"body.acceleration.{axis}" for axis in XYZ),
    *(f"body.angular_acceleration.{axis}" for axis in XYZ),
)

#: Faults on the axes of one sensor: none.
NO_FAULTS = (NO_FAULT, NO_FAULT, NO_FAULT)


class Differentiation(IntEnum):
    """How velocities become accelerations."""

    backward = 0
    bdf2 = 1


@dataclass(frozen=True)
class GravityParameters:
    """Gravity at the sensor."""

    gravity: tuple[float, float, float] = real(
        (0.0, 0.0, -9.80665),
        "m/s2",
        "Acceleration of free fall in the world frame, pointing down",
        components=XYZ,
    )

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class AccelerationInputs:
    """Inputs of the motion of the body besides poses and velocities."""

    use_acceleration_inputs: bool = boolean(
        False,
        "Whether the accelerations of the body are taken from its inputs instead of being formed "
        "as differences of the velocities",
    )

    def __post_init__(self) -> None:
        check(self)

    def check_with(self, body: BodyParameters) -> None:
        """Refuse accelerations beside poses that everything is to come from."""
        if self.use_acceleration_inputs and body.velocities == Velocities.from_poses:
            raise ParameterError(
                "use_acceleration_inputs = True while velocities is from_poses, which takes "
                "accelerations from the poses, too; allowed is one of them"
            )


EARTH = GravityParameters()
VELOCITIES = AccelerationInputs()


@dataclass(frozen=True)
class Part:
    """One sensor of a unit: its errors, and its place in the frame of the body."""

    kind: int
    parameters: TriaxialParameters
    position: Vector
    orientation: Quaternion
    signal: str
    prefix: str = ""
    gravity: Vector = (0.0, 0.0, 0.0)
    differentiation: Differentiation = Differentiation.bdf2
    linear_acceleration_effect: tuple[float, ...] | None = None

    def pack(self, rate: float, oversampling: int = 1) -> Floats:
        """The sensor's block of parameters as the kernels take it."""
        block = np.empty(layout.BLOCK_SIZE)
        effect = self.linear_acceleration_effect
        block[layout.KIND] = self.kind
        block[layout.SECOND_ORDER] = self.differentiation == Differentiation.bdf2
        block[layout.FORCE_MATTERS] = self.kind == layout.ACCELEROMETER or (
            effect is not None and any(effect)
        )
        block[layout.PLACE : layout.TURN] = self.position
        rotation_bs = matrix_from_quaternion(np.array(self.orientation))
        block[layout.TURN : layout.GRAVITY] = rotation_bs.T.ravel()
        block[layout.GRAVITY : layout.CHAIN] = self.gravity
        try:
            block[layout.CHAIN :] = pack(self.parameters, rate, effect, oversampling)
        except ParameterError as error:
            raise ParameterError(f"{self.prefix}{error}") from error
        return block

    def fault_ports(self) -> list[FaultPort]:
        """Where faults come in, an axis each."""
        return [
            FaultPort(f"{self.signal}.{axis}", has_limits=has_limits(self.parameters, i))
            for i, axis in enumerate(XYZ)
        ]


@dataclass(frozen=True)
class Increments:
    """How a unit integrates its readings; steps of 0 do not round."""

    composed: bool = False
    lsb_velocity: float = 0.0
    lsb_angle: float = 0.0


class InertialUnit:
    """Sensors on one body: parameters, keys of the noise streams, and the state of all.

    ``sensor`` is the identity of the unit, see ``random``; ``rate`` its sampling rate in Hz, 0 if
    it has none.
    """

    def __init__(
        self,
        parts: Sequence[Part],
        *,
        seed: int,
        sensor: str,
        rate: float,
        inputs: AccelerationInputs,
        field: MagneticField | None = None,
        increments: Increments | None = None,
    ) -> None:
        self._parts, self._rate, self._increments = tuple(parts), rate, increments
        self._inputs = inputs
        self._packed = _pack(parts, rate, inputs, increments)
        self._keys = np.stack([stream_keys(seed, sensor, part.prefix) for part in parts])
        rows = len(parts) + (2 if increments is not None else 0)
        self._state = np.zeros(kernel.state_size(len(parts), rows))
        self._reading = np.empty((rows, 3))
        self._scratch = np.empty(3), np.empty(3), np.empty((STAGE_ROWS, 3))
        self._given = inputs.use_acceleration_inputs
        self._ports = [port for part in parts for port in part.fault_ports()]
        self._faults: tuple[Fault, ...] = (NO_FAULT,) * len(self._ports)
        self._packed_faults = np.tile(pack_fault(NO_FAULT), (len(parts), 3, 1))
        self._own_field = field if field is not None else MagneticField()
        self._field = self._own_field
        self._places = [p.position for p in parts if p.kind == layout.MAGNETOMETER]

    def measure(
        self, index: int, time: float, body: Floats, temperature: float, faults: tuple[Fault, ...]
    ) -> Floats:
        """One sample: a row for each sensor and increment, to be read before the next one."""
        if body.shape not in _SHAPES[self._given]:
            raise ValueError(self._describe_wrong(body.shape))
        if faults != self._faults:
            self._take(faults)
        kernel.sample(
            self._packed,
            self._keys,
            self._state,
            self._packed_faults,
            index,
            time,
            body,
            temperature,
            self._uniform_part(body) if self._field.functions else self._field.packed_uniform,
            self._field.packed_dipoles,
            *self._scratch,
            self._reading,
        )
        return self._reading

    def measure_batch(
        self,
        first_index: int,
        times: ArrayLike,
        bodies: ArrayLike,
        temperature: ArrayLike,
        faults: tuple[Fault, ...],
    ) -> Floats:
        """Samples from ``first_index`` on, the same as one by one: sample, row, axis."""
        # kernels take arrays that can be written to, whether they do so or not
        times = np.require(times, np.float64, ["C", "W"])
        bodies = np.require(bodies, np.float64, ["C", "W"])
        if times.ndim != 1 or bodies.shape[:1] != times.shape:
            raise ValueError(
                f"times {times.shape} and bodies {bodies.shape} do not have one row a sample"
            )
        if bodies.shape[1:] not in _SHAPES[self._given]:
            raise ValueError(self._describe_wrong(bodies.shape[1:]))
        if faults != self._faults:
            self._take(faults)
        readings = np.empty((len(times), *self._reading.shape))
        kernel.sample_batch(
            self._packed,
            self._keys,
            self._state,
            self._packed_faults,
            first_index,
            times,
            bodies,
            np.array(np.broadcast_to(temperature, times.shape), dtype=np.float64),
            self._uniform_parts(bodies),
            self._field.packed_dipoles,
            *self._scratch,
            readings,
        )
        return readings

    def plan_of(self, reading: type) -> Plan:
        """The compiled step of this unit; it has its state in common with ``measure``."""
        if self._field.functions:
            raise ValueError("a field of functions of place has no compiled step")
        oversampling = max(oversampling_of(part.parameters, self._rate) for part in self._parts)
        parameters = _pack(self._parts, self._rate, self._inputs, self._increments, oversampling)
        return Plan(
            function=steps.unit_step,
            reading=reading,
            truth=MOTION_INPUTS,
            parameters=parameters,
            keys=self._keys,
            state=self._state,
            rate=self._rate * oversampling,
            faults=tuple(
                FaultInputs(f"{part.prefix}fault.{axis}", port.signal, port.has_limits)
                for part in self._parts
                for axis, port in zip(XYZ, part.fault_ports(), strict=True)
            ),
            inputs=("temperature",),
            extra=self._field.packed_uniform,
            is_body=True,
            own=self._own_words(parameters, oversampling),
        )

    def _own_words(self, parameters: Floats, oversampling: int) -> dict[int, int | Floats]:
        """Further entries of a unit in the table of its step."""
        delayed = any(part.parameters.delay or part.parameters.jitter for part in self._parts)
        return {
            steps.SENSORS: len(self._parts),
            steps.READING_ROWS: self._reading.shape[0],
            steps.PARAMETERS_SIZE: parameters.size,
            steps.DIPOLES: self._field.packed_dipoles,
            steps.DIPOLE_COUNT: self._field.packed_dipoles.shape[0],
            steps.SCRATCH: np.empty(steps.SCRATCH_SIZE),
            steps.READING: self._reading,
            steps.OVERSAMPLING: oversampling,
            steps.ACCELERATIONS: int(self._inputs.use_acceleration_inputs),
            steps.DELAYED: int(delayed),
        }

    @property
    def field(self) -> MagneticField:
        """The magnetic field that the unit was made in."""
        return self._own_field

    def use_field(self, field: MagneticField | None) -> None:
        """Put the unit into another magnetic field from now on; None is the one it was made in."""
        self._field = self._own_field if field is None else field

    def reset(self) -> None:
        """Back to before the first sample."""
        self._state[:] = 0.0

    @property
    def state(self) -> Floats:
        """A copy of everything that changes; assigned, it continues bit by bit from there."""
        return self._state.copy()

    @state.setter
    def state(self, state: Floats) -> None:
        if np.shape(state) != self._state.shape:
            raise ValueError(f"state has shape {np.shape(state)}, needs {self._state.shape}")
        self._state[:] = state

    def _describe_wrong(self, shape: tuple[int, ...]) -> str:
        needed = " or ".join(str(allowed[0]) for allowed in _SHAPES[self._given])
        return f"the state of a body has shape {shape}, needs {needed} values"

    def _take(self, faults: tuple[Fault, ...]) -> None:
        """Check and pack the faults; nothing changes if one cannot be applied."""
        packed = [port.packed(fault) for port, fault in zip(self._ports, faults, strict=True)]
        self._packed_faults[:] = np.reshape(packed, self._packed_faults.shape)
        self._faults = tuple(faults)

    def _uniform_part(self, body: Floats) -> Floats:
        """The field without its dipoles where the magnetometer is."""
        place = self._places[0] if self._places else (0.0, 0.0, 0.0)
        return self._field.without_dipoles(np.array(layout.point_in_world(body, place)))

    def _uniform_parts(self, bodies: Floats) -> Floats:
        if not self._field.functions:
            return self._field.packed_uniform[np.newaxis]
        return np.array([self._uniform_part(body) for body in bodies]).reshape(-1, 3)


#: Shapes that the state of a body may have, by whether its accelerations are used.
_SHAPES = {
    False: ((BODY_SIZE,), (BODY_SIZE_WITH_ACCELERATIONS,)),
    True: ((BODY_SIZE_WITH_ACCELERATIONS,),),
}


def _pack(
    parts: Sequence[Part],
    rate: float,
    inputs: AccelerationInputs,
    increments: Increments | None,
    oversampling: int = 1,
) -> Floats:
    """The parameters of a unit as the kernels take them."""
    packed = np.zeros(layout.UNIT_SIZE)
    packed[layout.ACCELERATIONS_GIVEN] = 3 if inputs.use_acceleration_inputs else 0
    packed[layout.OVERSAMPLING] = oversampling
    packed[layout.SENSORS] = len(parts)
    if increments is not None:
        packed[layout.INCREMENTS] = True
        packed[layout.COMPOSED] = increments.composed
        packed[layout.LSB_VELOCITY] = increments.lsb_velocity
        packed[layout.LSB_ANGLE] = increments.lsb_angle
    return np.concatenate([packed, *(part.pack(rate, oversampling) for part in parts)])


class SingleSensor(InertialUnit, Generic[Reading]):
    """A unit of one sensor, whose readings are made of its one row by ``reading``."""

    def __init__(
        self,
        part: Part,
        reading: type[Reading],
        *,
        seed: int,
        sensor: str,
        rate: float,
        inputs: AccelerationInputs,
        field: MagneticField | None = None,
    ) -> None:
        super().__init__([part], seed=seed, sensor=sensor, rate=rate, inputs=inputs, field=field)
        self._reading_type = reading

    def plan(self) -> Plan:
        """The compiled step of this sensor."""
        return self.plan_of(self._reading_type)

    def sample(
        self,
        index: int,
        time: float,
        body: Floats,
        temperature: float = ROOM_TEMPERATURE,
        faults: tuple[Fault, ...] = NO_FAULTS,
    ) -> Reading:
        """Sample ``index`` at ``time``; three faults, by axis."""
        x, y, z = self.measure(index, time, body, temperature, faults)[0].tolist()
        make: Callable[[Vector], Reading] = self._reading_type
        return make((x, y, z))

    def sample_batch(
        self,
        first_index: int,
        times: ArrayLike,
        bodies: ArrayLike,
        temperature: ArrayLike = ROOM_TEMPERATURE,
        faults: tuple[Fault, ...] = NO_FAULTS,
    ) -> Floats:
        """Samples from ``first_index`` on, a row of x, y, z each, the same as one by one."""
        return self.measure_batch(first_index, times, bodies, temperature, faults)[:, 0]
