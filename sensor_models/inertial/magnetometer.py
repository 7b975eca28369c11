"""Magnetometer: magnetic flux density at a place on a body, along three axes.

Model and deviations: ``kernels.inertial.signals`` (AGX, section 4.5); errors: ``triaxial``. Iron
that turns with the sensor is in its errors: hard iron is ``bias``, soft iron ``cross_axis``.
"""

from dataclasses import dataclass
from typing import ClassVar

from sensor_models.core.frames import MountParameters, Quaternion
from sensor_models.core.quantities import real
from sensor_models.inertial.magnetic_field import MagneticField, uniform
from sensor_models.inertial.triaxial import XYZ, TriaxialParameters
from sensor_models.inertial.unit import (
    VELOCITIES,
    Part,
    SingleSensor,
    Vector,
)
from sensor_models.kernels.inertial.signals import MAGNETOMETER


@dataclass(frozen=True)
class MagnetometerParameters(TriaxialParameters):
    """A magnetometer and the field it is in; the defaults are an ideal one and no field."""

    UNIT: ClassVar[str] = "T"

    field: tuple[float, float, float] = real(
        (0.0, 0.0, 0.0),
        "T",
        "Uniform magnetic flux density in the world frame, where no scene has one",
        components=XYZ,
    )


@dataclass(frozen=True, slots=True)
class MagnetometerReading:
    """What a magnetometer reports at one instant."""

    flux_density: tuple[float, float, float] = real(
        (0.0, 0.0, 0.0), "T", "Magnetic flux density in the sensor frame", components=XYZ
    )


def magnetometer_part(
    parameters: MagnetometerParameters,
    position: Vector,
    orientation: Quaternion,
    *,
    signal: str = "flux_density",
    prefix: str = "",
) -> Part:
    """A magnetometer as a part of a unit."""
    return Part(MAGNETOMETER, parameters, position, orientation, signal, prefix)


class Magnetometer(SingleSensor[MagnetometerReading]):
    """One magnetometer on a body, in the field given here or else in that of its parameters."""

    def __init__(
        self,
        parameters: MagnetometerParameters,
        mount: MountParameters,
        seed: int,
        sensor: str,
        rate: float = 0.0,
        field: MagneticField | None = None,
    ) -> None:
        self.parameters = parameters
        super().__init__(
            magnetometer_part(parameters, mount.position, mount.orientation),
            MagnetometerReading,
            seed=seed,
            sensor=sensor,
            rate=rate,
            inputs=VELOCITIES,
            field=field if field is not None else uniform(parameters.field),
        )
