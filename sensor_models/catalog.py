"""All sensors by name.

Where the spec of each sensor is stands here; it is imported when it is asked for, so listing the
names costs nothing. A sensor that is added to ``PLACES`` has an FMU with its reference page, is
checked against its presets, and is run by the tests of all sensors.
"""

import importlib
from functools import cache

from sensor_models.core.quantities import ParameterError
from sensor_models.core.spec import SensorSpec

#: Module and name of each spec.
PLACES = {
    "Accelerometer": "sensor_models.inertial.sensors:ACCELEROMETER",
    "DepthCamera": "sensor_models.camera.sensor:DEPTH_CAMERA",
    "Encoder": "sensor_models.wheel.sensors:ENCODER",
    "Gnss": "sensor_models.gnss.sensor:GNSS",
    "Gyroscope": "sensor_models.inertial.sensors:GYROSCOPE",
    "Imu": "sensor_models.inertial.sensors:IMU",
    "Lidar": "sensor_models.lidar.sensor:LIDAR",
    "Magnetometer": "sensor_models.inertial.sensors:MAGNETOMETER",
    "Odometer": "sensor_models.wheel.sensors:ODOMETER",
}


def names() -> list[str]:
    """The names of all sensors, in order."""
    return sorted(PLACES)


@cache
def spec_of(name: str) -> SensorSpec:
    """The spec of a sensor."""
    if name not in PLACES:
        raise ParameterError(f"there is no sensor {name!r}, there are {', '.join(names())}")
    module, _, attribute = PLACES[name].partition(":")
    spec: SensorSpec = getattr(importlib.import_module(module), attribute)
    return spec
