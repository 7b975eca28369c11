"""FMU ``Accelerometer``: proper acceleration on three axes."""

from fmus.inertial import InertialFmu, MotionSensorFmu
from fmus.sensor_fmu import Group
from sensor_models.inertial.accelerometer import (
    Accelerometer,
    AccelerometerParameters,
    AccelerometerReading,
)


class AccelerometerFmu(MotionSensorFmu):
    """The accelerometer model behind FMI variables."""

    model_name = "Accelerometer"
    description_text = "Triaxial accelerometer with the error terms of its datasheet"
    PARAMETERS = (Group(AccelerometerParameters), *InertialFmu.BODY)
    SIGNALS = (("", AccelerometerParameters, "acceleration"),)
    READING = AccelerometerReading
    MODEL = Accelerometer
