"""FMU ``Gyroscope``: angular rate on three axes."""

from fmus.inertial import InertialFmu, MotionSensorFmu
from fmus.sensor_fmu import Group
from sensor_models.inertial.gyroscope import Gyroscope, GyroscopeParameters, GyroscopeReading


class GyroscopeFmu(MotionSensorFmu):
    """The gyroscope model behind FMI variables."""

    model_name = "Gyroscope"
    description_text = "Triaxial gyroscope with the error terms of its datasheet"
    PARAMETERS = (Group(GyroscopeParameters), *InertialFmu.BODY)
    SIGNALS = (("", GyroscopeParameters, "angular_rate"),)
    READING = GyroscopeReading
    MODEL = Gyroscope
