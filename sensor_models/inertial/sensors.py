"""Accelerometer, gyroscope, magnetometer and IMU as sensors: what they are, how they are made."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.body import BodyParameters
from sensor_models.core.clock import SamplingParameters
from sensor_models.core.faults import Fault
from sensor_models.core.frames import XYZ, BodyState, MountParameters
from sensor_models.core.placement import PlacementParameters, placed
from sensor_models.core.quantities import integer, real
from sensor_models.core.sensor import Setup
from sensor_models.core.spec import SCENE_HANDLE, Group, Groups, SensorSpec, scalars_of
from sensor_models.core.stepped import SteppedSensor
from sensor_models.inertial.accelerometer import (
    Accelerometer,
    AccelerometerParameters,
    AccelerometerReading,
)
from sensor_models.inertial.gyroscope import Gyroscope, GyroscopeParameters, GyroscopeReading
from sensor_models.inertial.imu import Imu, ImuParameters, ImuReading, SubsensorPose, Subsensors
from sensor_models.inertial.magnetic_field import EarthParameters
from sensor_models.inertial.magnetometer import (
    Magnetometer,
    MagnetometerParameters,
    MagnetometerReading,
)
from sensor_models.inertial.triaxial import TriaxialParameters
from sensor_models.inertial.unit import ROOM_TEMPERATURE, AccelerationInputs, GravityParameters
from sensor_models.output.records import RecordParameters

#: The names of the three sensors of an IMU, which stand before those of their quantities.
A, G, M = "accelerometer", "gyroscope", "magnetometer"


@dataclass(frozen=True)
class BodyAccelerations:
    """Inputs of the motion that a master may give besides velocities."""

    acceleration: tuple[float, float, float] = real(
        (0.0, 0.0, 0.0),
        "m/s2",
        "Acceleration of the body's origin in the world frame, where use_acceleration_inputs",
        components=XYZ,
        name="body.acceleration",
    )
    angular_acceleration: tuple[float, float, float] = real(
        (0.0, 0.0, 0.0),
        "rad/s2",
        "Angular acceleration of the body in the world frame, where use_acceleration_inputs",
        components=XYZ,
        name="body.angular_acceleration",
    )


@dataclass(frozen=True)
class Surroundings:
    """Inputs that act on the sensor itself."""

    temperature: float = real(
        ROOM_TEMPERATURE, "K", "Temperature of the sensor, for temperature slopes", minimum=0.0
    )


@dataclass(frozen=True)
class FieldScene:
    """The world around, of which a magnetic sensor feels the field."""

    scene_handle: int = integer(
        0,
        "Handle of a scene; 0 takes the magnetic field of the parameters",
        minimum=0,
        name=SCENE_HANDLE,
    )


@dataclass(frozen=True)
class Signal:
    """A signal with axes: what stands before its quantities, its parameters, its name."""

    prefix: str
    declaring: type[TriaxialParameters]
    name: str

    @property
    def faults(self) -> tuple[Group, ...]:
        """A fault on each axis."""
        dot = f"{self.prefix}." if self.prefix else ""
        return tuple(Group(Fault, f"{dot}fault.{axis}") for axis in XYZ)


ACCELERATION = Signal("", AccelerometerParameters, "acceleration")
ANGULAR_RATE = Signal("", GyroscopeParameters, "angular_rate")
FLUX_DENSITY = Signal("", MagnetometerParameters, "flux_density")
IMU_SIGNALS = (
    Signal(A, AccelerometerParameters, A),
    Signal(G, GyroscopeParameters, G),
    Signal(M, MagnetometerParameters, M),
)

STATE_WITH_ACCELERATIONS = (Group(BodyState), Group(BodyAccelerations))
BODY = (
    Group(MountParameters),
    Group(PlacementParameters),
    Group(GravityParameters),
    Group(AccelerationInputs),
)


def _stepped(setup: Setup, model: Any) -> SteppedSensor:
    """A model as a sensor; one with a magnetometer feels the field of a scene."""

    def field_of(scene: Any) -> NDArray[np.float64]:
        own = model.field.packed_uniform
        return own if scene is None else np.array(scene.scene.magnetic_field, np.float64)

    sees = any(name == SCENE_HANDLE for name, _, _ in scalars_of(setup.spec.held))
    return SteppedSensor(setup, model.plan(), field_of if sees else None)


def _mount(setup: Setup) -> MountParameters:
    """Where the sensor sits on its body in this run."""
    mount, placement = (
        setup.parameters.of(MountParameters),
        setup.parameters.of(PlacementParameters),
    )
    return placed(mount, placement, setup.sampling.seed, setup.identity)


def _motion_sensor(model: type[Any], signal: Signal) -> Callable[[Setup], SteppedSensor]:
    """How a sensor is made that feels the motion of its body."""

    def make(setup: Setup) -> SteppedSensor:
        setup.parameters.of(AccelerationInputs).check_with(setup.parameters.of(BodyParameters))
        made = model(
            setup.parameters.of(signal.declaring),
            _mount(setup),
            setup.sampling.seed,
            setup.identity,
            setup.sampling.sample_rate,
            setup.parameters.of(GravityParameters),
            setup.parameters.of(AccelerationInputs),
        )
        return _stepped(setup, made)

    return make


def make_magnetometer(setup: Setup) -> SteppedSensor:
    """The magnetometer with its noise streams, in the field of its parameters."""
    model = Magnetometer(
        setup.parameters.of(MagnetometerParameters),
        _mount(setup),
        setup.sampling.seed,
        setup.identity,
        setup.sampling.sample_rate,
        setup.parameters.of(EarthParameters).field(),
    )
    return _stepped(setup, model)


def imu_of(parameters: Groups, identity: str) -> Imu:
    """The IMU that parameters describe, in the magnetic field of its own."""
    of, sampling = parameters.of, parameters.of(SamplingParameters)
    subsensors = Subsensors(
        accelerometer=of(AccelerometerParameters, A),
        gyroscope=of(GyroscopeParameters, G),
        magnetometer=of(MagnetometerParameters, M),
        accelerometer_pose=of(SubsensorPose, A),
        gyroscope_pose=of(SubsensorPose, G),
        magnetometer_pose=of(SubsensorPose, M),
    )
    mount, placement = of(MountParameters), of(PlacementParameters)
    return Imu(
        of(ImuParameters),
        subsensors,
        placed(mount, placement, sampling.seed, identity),
        sampling.seed,
        identity,
        sampling.sample_rate,
        of(GravityParameters),
        of(AccelerationInputs),
        of(EarthParameters, M).field(),
    )


def make_imu(setup: Setup) -> SteppedSensor:
    """The IMU with its noise streams, in the magnetic field of its parameters."""
    setup.parameters.of(AccelerationInputs).check_with(setup.parameters.of(BodyParameters))
    return _stepped(setup, imu_of(setup.parameters, setup.identity))


#: The sensor that an increment is made of.
_INCREMENTS = {"delta_velocity": A, "delta_angle": G}


def _imu_depends(output: str, given: str) -> bool:
    """Faults of another sensor do not matter, and a scene has a magnetic field only."""
    group = output.partition(".")[0]
    sensor = _INCREMENTS.get(group, group)
    if given == SCENE_HANDLE:
        return sensor == M
    return given.partition(".")[0] not in {A, G, M} - {sensor}


ACCELEROMETER = SensorSpec(
    name="Accelerometer",
    text="Triaxial accelerometer with the error terms of its datasheet",
    create=_motion_sensor(Accelerometer, ACCELERATION),
    state=STATE_WITH_ACCELERATIONS,
    held=(Group(Surroundings), *ACCELERATION.faults),
    parameters=(Group(AccelerometerParameters), *BODY),
    readings=(Group(AccelerometerReading),),
    sinks=(Group(RecordParameters),),
    compiled=True,
    step=0.001,
)

GYROSCOPE = SensorSpec(
    name="Gyroscope",
    text="Triaxial gyroscope with the error terms of its datasheet",
    create=_motion_sensor(Gyroscope, ANGULAR_RATE),
    state=STATE_WITH_ACCELERATIONS,
    held=(Group(Surroundings), *ANGULAR_RATE.faults),
    parameters=(Group(GyroscopeParameters), *BODY),
    readings=(Group(GyroscopeReading),),
    sinks=(Group(RecordParameters),),
    compiled=True,
    step=0.001,
)

MAGNETOMETER = SensorSpec(
    name="Magnetometer",
    text="Triaxial magnetometer with the error terms of its datasheet",
    create=make_magnetometer,
    state=STATE_WITH_ACCELERATIONS,
    held=(Group(Surroundings), Group(FieldScene), *FLUX_DENSITY.faults),
    parameters=(
        Group(MagnetometerParameters),
        Group(EarthParameters),
        Group(MountParameters),
        Group(PlacementParameters),
    ),
    readings=(Group(MagnetometerReading),),
    sinks=(Group(RecordParameters),),
    compiled=True,
    step=0.001,
)

IMU = SensorSpec(
    name="Imu",
    text="Nine-axis IMU with velocity and angle increments",
    create=make_imu,
    state=STATE_WITH_ACCELERATIONS,
    held=(
        Group(Surroundings),
        Group(FieldScene),
        *(fault for signal in IMU_SIGNALS for fault in signal.faults),
    ),
    parameters=(
        Group(ImuParameters),
        *(
            Group(part, signal.prefix)
            for signal in IMU_SIGNALS
            for part in (signal.declaring, SubsensorPose)
        ),
        Group(EarthParameters, M),
        *BODY,
    ),
    readings=(Group(ImuReading),),
    sinks=(Group(RecordParameters),),
    compiled=True,
    depends=_imu_depends,
    step=0.001,
)
