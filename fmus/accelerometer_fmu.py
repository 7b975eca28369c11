"""FMU ``Accelerometer``: proper acceleration on three axes."""

from fmus.inertial import InertialFmu, Surroundings
from fmus.sensor_fmu import Group, Groups
from sensor_models.accelerometer import (
    Accelerometer,
    AccelerometerParameters,
    AccelerometerReading,
)
from sensor_models.clock import SamplingParameters
from sensor_models.inertial import AccelerationInputs, GravityParameters


class AccelerometerFmu(InertialFmu):
    """The accelerometer model behind FMI variables."""

    model_name = "Accelerometer"
    description_text = "Triaxial accelerometer with the error terms of its datasheet"
    PARAMETERS = (Group(AccelerometerParameters), *InertialFmu.BODY)
    HELD = (Group(Surroundings), *InertialFmu.fault_groups(""))
    SIGNALS = (("", AccelerometerParameters, "acceleration"),)
    READING = AccelerometerReading

    def create_model(self, parameters: Groups, seed: int) -> Accelerometer:
        """The accelerometer with its noise streams."""
        return Accelerometer(
            parameters.of(AccelerometerParameters),
            self.mount(parameters, seed),
            seed,
            self.identity,
            parameters.of(SamplingParameters).sample_rate,
            parameters.of(GravityParameters),
            parameters.of(AccelerationInputs),
        )
