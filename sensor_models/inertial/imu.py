"""IMU: accelerometer, gyroscope and magnetometer on one body, with velocity and angle increments.

Model and deviations: ``kernels.inertial``, ``unit`` and ``signals`` (AGX, CORR and GYM). Each of
the three has its own errors and its own pose in the frame of the IMU; their noise streams are
those of ``accelerometer.``, ``gyroscope.`` and ``magnetometer.``, whatever else is switched on.
"""

from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sensor_models.core.faults import Fault
from sensor_models.core.frames import (
    IDENTITY,
    WXYZ,
    XYZ,
    MountParameters,
    Quaternion,
    multiply_quaternions,
    normalise_quaternion,
    rotate_vector,
    unit_orientation,
)
from sensor_models.core.plan import Plan
from sensor_models.core.quantities import boolean, check, choice, real
from sensor_models.inertial.accelerometer import AccelerometerParameters, accelerometer_part
from sensor_models.inertial.gyroscope import GyroscopeParameters, gyroscope_part
from sensor_models.inertial.magnetic_field import MagneticField, uniform
from sensor_models.inertial.magnetometer import MagnetometerParameters, magnetometer_part
from sensor_models.inertial.unit import (
    EARTH,
    NO_FAULTS,
    ROOM_TEMPERATURE,
    VELOCITIES,
    AccelerationInputs,
    GravityParameters,
    Increments,
    InertialUnit,
    Part,
    Vector,
)

Floats = NDArray[np.float64]
ZERO: Vector = (0.0, 0.0, 0.0)


class AngleMode(IntEnum):
    """How the error of an angle increment is added to it."""

    component = 0
    compose = 1


@dataclass(frozen=True)
class ImuParameters:
    """The increments of an IMU."""

    discretise_increments: bool = boolean(
        False,
        "Whether the increments are rounded to steps of their own, in the rounding mode of their "
        "sensor",
        name="increments.discretize",
    )
    lsb_velocity: float = real(
        0.0,
        "m/s",
        "Step of the velocity increment, 0 for none",
        minimum=0.0,
        name="increments.lsb_velocity",
    )
    lsb_angle: float = real(
        0.0,
        "rad",
        "Step of the angle increment, 0 for none",
        minimum=0.0,
        name="increments.lsb_angle",
    )
    angle_mode: AngleMode = choice(
        AngleMode.component,
        "Whether the error of an angle increment is added component by component, or the two "
        "rotations are composed",
        name="increments.angle_mode",
    )

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class SubsensorPose:
    """Where a sensor sits in its IMU; the orientation is brought to unit length."""

    position: tuple[float, float, float] = real(
        ZERO, "m", "Position of the sensor in the frame of the IMU", components=XYZ
    )
    orientation: tuple[float, float, float, float] = real(
        IDENTITY,
        "1",
        "Orientation of the sensor: quaternion, takes vectors of the sensor to the IMU frame",
        components=WXYZ,
    )

    def __post_init__(self) -> None:
        check(self)
        orientation = unit_orientation(*self.orientation, name="orientation")
        object.__setattr__(self, "orientation", orientation)  # frozen for everybody else


AT_ORIGIN = SubsensorPose()


@dataclass(frozen=True)
class Subsensors:
    """The three sensors of an IMU and their poses; the defaults are ideal ones at its origin."""

    accelerometer: AccelerometerParameters = field(default_factory=AccelerometerParameters)
    gyroscope: GyroscopeParameters = field(default_factory=GyroscopeParameters)
    magnetometer: MagnetometerParameters = field(default_factory=MagnetometerParameters)
    accelerometer_pose: SubsensorPose = AT_ORIGIN
    gyroscope_pose: SubsensorPose = AT_ORIGIN
    magnetometer_pose: SubsensorPose = AT_ORIGIN


@dataclass(frozen=True, slots=True)
class ImuReading:
    """What an IMU reports at one instant."""

    accelerometer: tuple[float, float, float] = real(
        ZERO,
        "m/s2",
        "Proper acceleration in the accelerometer's frame: at rest 9.80665 on the axis that "
        "points up",
        components=XYZ,
    )
    gyroscope: tuple[float, float, float] = real(
        ZERO, "rad/s", "Angular rate in the gyroscope's frame", components=XYZ
    )
    magnetometer: tuple[float, float, float] = real(
        ZERO, "T", "Magnetic flux density in the magnetometer's frame", components=XYZ
    )
    delta_velocity: tuple[float, float, float] = real(
        ZERO,
        "m/s",
        "Integral of the proper acceleration since the last sample, in the accelerometer's frame",
        components=XYZ,
    )
    delta_angle: tuple[float, float, float] = real(
        ZERO,
        "rad",
        "Rotation since the last sample as a principal rotation vector, in the gyroscope's frame",
        components=XYZ,
    )


class ImuReadings(NamedTuple):
    """Readings of a batch of samples: the fields of ``ImuReading``, a row for each sample."""

    accelerometer: Floats
    gyroscope: Floats
    magnetometer: Floats
    delta_velocity: Floats
    delta_angle: Floats


#: Faults on the axes of the accelerometer, the gyroscope and the magnetometer: none.
NO_IMU_FAULTS = NO_FAULTS + NO_FAULTS + NO_FAULTS


def pose_in_body(mount: MountParameters, pose: SubsensorPose) -> tuple[Vector, Quaternion]:
    """Position and orientation of a sensor of an IMU in the frame of the body."""
    turn = np.array(mount.orientation)
    arm = rotate_vector(turn, np.array(pose.position))
    x, y, z = (np.array(mount.position) + arm).tolist()
    orientation = multiply_quaternions(turn, np.array(pose.orientation))
    w, i, j, k = normalise_quaternion(orientation).tolist()
    return (x, y, z), (w, i, j, k)


def parts_of(
    subsensors: Subsensors, mount: MountParameters, gravity: GravityParameters
) -> list[Part]:
    """The sensors of an IMU as the parts of a unit."""
    return [
        accelerometer_part(
            subsensors.accelerometer,
            *pose_in_body(mount, subsensors.accelerometer_pose),
            gravity,
            signal="accelerometer",
            prefix="accelerometer.",
        ),
        gyroscope_part(
            subsensors.gyroscope,
            *pose_in_body(mount, subsensors.gyroscope_pose),
            gravity,
            signal="gyroscope",
            prefix="gyroscope.",
        ),
        magnetometer_part(
            subsensors.magnetometer,
            *pose_in_body(mount, subsensors.magnetometer_pose),
            signal="magnetometer",
            prefix="magnetometer.",
        ),
    ]


class Imu(InertialUnit):
    """One IMU on a body, in the magnetic field given here or else in that of its magnetometer."""

    def __init__(
        self,
        parameters: ImuParameters,
        subsensors: Subsensors,
        mount: MountParameters,
        seed: int,
        sensor: str,
        rate: float = 0.0,
        gravity: GravityParameters = EARTH,
        inputs: AccelerationInputs = VELOCITIES,
        magnetic_field: MagneticField | None = None,
    ) -> None:
        self.parameters = parameters
        self.subsensors = subsensors
        rounded = parameters.discretise_increments
        super().__init__(
            parts_of(subsensors, mount, gravity),
            seed=seed,
            sensor=sensor,
            rate=rate,
            inputs=inputs,
            field=magnetic_field or uniform(subsensors.magnetometer.field),
            increments=Increments(
                composed=parameters.angle_mode == AngleMode.compose,
                lsb_velocity=parameters.lsb_velocity if rounded else 0.0,
                lsb_angle=parameters.lsb_angle if rounded else 0.0,
            ),
        )

    def plan(self) -> Plan:
        """The compiled step of this IMU."""
        return self.plan_of(ImuReading)

    def sample(
        self,
        index: int,
        time: float,
        body: Floats,
        temperature: float = ROOM_TEMPERATURE,
        faults: tuple[Fault, ...] = NO_IMU_FAULTS,
    ) -> ImuReading:
        """Sample ``index`` at ``time``; nine faults, by sensor and axis."""
        rows = self.measure(index, time, body, temperature, faults).tolist()
        return ImuReading(*map(tuple, rows))

    def sample_batch(
        self,
        first_index: int,
        times: ArrayLike,
        bodies: ArrayLike,
        temperature: ArrayLike = ROOM_TEMPERATURE,
        faults: tuple[Fault, ...] = NO_IMU_FAULTS,
    ) -> ImuReadings:
        """Samples from ``first_index`` on, the same as one by one."""
        readings = self.measure_batch(first_index, times, bodies, temperature, faults)
        return ImuReadings(*(readings[:, row] for row in range(readings.shape[1])))
