"""FMU ``Magnetometer``: magnetic flux density on three axes."""

from fmus.inertial import InertialFmu, SceneInput, Surroundings
from fmus.sensor_fmu import Group, Groups
from sensor_models.core.clock import SamplingParameters
from sensor_models.core.frames import MountParameters
from sensor_models.core.placement import PlacementParameters
from sensor_models.inertial.magnetometer import (
    Magnetometer,
    MagnetometerParameters,
    MagnetometerReading,
)


class MagnetometerFmu(InertialFmu):
    """The magnetometer model behind FMI variables."""

    model_name = "Magnetometer"
    description_text = "Triaxial magnetometer with the error terms of its datasheet"
    PARAMETERS = (
        Group(MagnetometerParameters),
        Group(MountParameters),
        Group(PlacementParameters),
    )
    HELD = (Group(Surroundings), Group(SceneInput), *InertialFmu.fault_groups(""))
    SIGNALS = (("", MagnetometerParameters, "flux_density"),)
    READING = MagnetometerReading

    def create_model(self, parameters: Groups, seed: int) -> Magnetometer:
        """The magnetometer with its noise streams, in the field of its parameters."""
        return Magnetometer(
            parameters.of(MagnetometerParameters),
            self.mount(parameters, seed),
            seed,
            self.identity,
            parameters.of(SamplingParameters).sample_rate,
        )
