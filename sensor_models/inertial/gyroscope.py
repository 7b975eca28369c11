"""Gyroscope: angular rate of a body, along three axes.

Model and deviations: ``kernels.inertial.signals`` (AGX, eq. 30); errors: ``triaxial``. The
linear-acceleration effect adds a share of the specific force at the gyroscope.
"""

from dataclasses import dataclass
from typing import ClassVar

from sensor_models.core.frames import MountParameters, Quaternion
from sensor_models.core.quantities import choice, real
from sensor_models.inertial.triaxial import MATRIX, XYZ, TriaxialParameters
from sensor_models.inertial.unit import (
    EARTH,
    VELOCITIES,
    AccelerationInputs,
    Differentiation,
    GravityParameters,
    Part,
    SingleSensor,
    Vector,
)
from sensor_models.kernels.inertial.signals import GYROSCOPE


@dataclass(frozen=True)
class GyroscopeParameters(TriaxialParameters):
    """A gyroscope; the defaults are an ideal one."""

    UNIT: ClassVar[str] = "rad/s"

    linear_acceleration_effect: tuple[float, ...] = real(
        (0.0,) * 9,
        "rad.s/m",
        "Angular rate that the first axis reports for a specific force along the second axis; "
        "1 deg/s/g is 1.779741e-3",
        components=MATRIX,
    )
    differentiation: Differentiation = choice(
        Differentiation.bdf2,
        "How accelerations are formed from velocities for the linear-acceleration effect",
    )


@dataclass(frozen=True, slots=True)
class GyroscopeReading:
    """What a gyroscope reports at one instant."""

    angular_rate: tuple[float, float, float] = real(
        (0.0, 0.0, 0.0), "rad/s", "Angular rate in the sensor frame", components=XYZ
    )


def gyroscope_part(
    parameters: GyroscopeParameters,
    position: Vector,
    orientation: Quaternion,
    gravity: GravityParameters,
    *,
    signal: str = "angular_rate",
    prefix: str = "",
) -> Part:
    """A gyroscope as a part of a unit."""
    return Part(
        GYROSCOPE,
        parameters,
        position,
        orientation,
        signal,
        prefix,
        gravity.gravity,
        parameters.differentiation,
        parameters.linear_acceleration_effect,
    )


class Gyroscope(SingleSensor[GyroscopeReading]):
    """One gyroscope on a body."""

    def __init__(
        self,
        parameters: GyroscopeParameters,
        mount: MountParameters,
        seed: int,
        sensor: str,
        rate: float = 0.0,
        gravity: GravityParameters = EARTH,
        inputs: AccelerationInputs = VELOCITIES,
    ) -> None:
        self.parameters = parameters
        part = gyroscope_part(parameters, mount.position, mount.orientation, gravity)
        super().__init__(part, GyroscopeReading, seed=seed, sensor=sensor, rate=rate, inputs=inputs)
