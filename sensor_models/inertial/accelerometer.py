"""Accelerometer: specific force on a body that moves, along three axes.

Model and deviations: ``kernels.inertial.signals`` (AGX, eq. 26-29); errors: ``triaxial``. At rest
it reads 9.80665 m/s2 on the axis that points up, in free fall 0.
"""

from dataclasses import dataclass
from typing import ClassVar

from sensor_models.core.frames import MountParameters, Quaternion
from sensor_models.core.quantities import boolean, choice, real
from sensor_models.inertial.triaxial import XYZ, TriaxialParameters
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
from sensor_models.kernels.inertial.signals import ACCELEROMETER


@dataclass(frozen=True)
class AccelerometerParameters(TriaxialParameters):
    """An accelerometer; the defaults are an ideal one."""

    UNIT: ClassVar[str] = "m/s2"

    differentiation: Differentiation = choice(
        Differentiation.bdf2,
        "How accelerations are formed from velocities: mean over the last step (backward, first "
        "order) or second order (bdf2)",
    )
    gravity_compensation: bool = boolean(
        False, "Whether gravity is left out: the reading is then the acceleration itself"
    )


@dataclass(frozen=True, slots=True)
class AccelerometerReading:
    """What an accelerometer reports at one instant."""

    acceleration: tuple[float, float, float] = real(
        (0.0, 0.0, 0.0),
        "m/s2",
        "Proper acceleration in the sensor frame: at rest 9.80665 on the axis that points up",
        components=XYZ,
    )


def accelerometer_part(
    parameters: AccelerometerParameters,
    position: Vector,
    orientation: Quaternion,
    gravity: GravityParameters,
    *,
    signal: str = "acceleration",
    prefix: str = "",
) -> Part:
    """An accelerometer as a part of a unit."""
    return Part(
        ACCELEROMETER,
        parameters,
        position,
        orientation,
        signal,
        prefix,
        (0.0, 0.0, 0.0) if parameters.gravity_compensation else gravity.gravity,
        parameters.differentiation,
    )


class Accelerometer(SingleSensor[AccelerometerReading]):
    """One accelerometer on a body."""

    def __init__(
        self,
        parameters: AccelerometerParameters,
        mount: MountParameters,
        seed: int,
        sensor: str,
        rate: float = 0.0,
        gravity: GravityParameters = EARTH,
        inputs: AccelerationInputs = VELOCITIES,
    ) -> None:
        self.parameters = parameters
        part = accelerometer_part(parameters, mount.position, mount.orientation, gravity)
        super().__init__(
            part, AccelerometerReading, seed=seed, sensor=sensor, rate=rate, inputs=inputs
        )
