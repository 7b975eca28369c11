"""FMU ``Gyroscope``: angular rate on three axes."""

from fmus.inertial import InertialFmu, Surroundings
from fmus.sensor_fmu import Group, Groups
from sensor_models.clock import SamplingParameters
from sensor_models.gyroscope import Gyroscope, GyroscopeParameters, GyroscopeReading
from sensor_models.inertial import AccelerationInputs, GravityParameters


class GyroscopeFmu(InertialFmu):
    """The gyroscope model behind FMI variables."""

    model_name = "Gyroscope"
    description_text = "Triaxial gyroscope with the error terms of its datasheet"
    PARAMETERS = (Group(GyroscopeParameters), *InertialFmu.BODY)
    HELD = (Group(Surroundings), *InertialFmu.fault_groups(""))
    SIGNALS = (("", GyroscopeParameters, "angular_rate"),)
    READING = GyroscopeReading

    def create_model(self, parameters: Groups, seed: int) -> Gyroscope:
        """The gyroscope with its noise streams."""
        return Gyroscope(
            parameters.of(GyroscopeParameters),
            self.mount(parameters, seed),
            seed,
            self.identity,
            parameters.of(SamplingParameters).sample_rate,
            parameters.of(GravityParameters),
            parameters.of(AccelerationInputs),
        )
