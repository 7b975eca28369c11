"""All sensors by name.

Where the spec of each sensor is stands here; it is imported when it is asked for, so listing the
names costs nothing. A sensor that is added to ``PLACES`` has an FMU with its reference page, is
checked against its presets, and is run by the tests of all sensors.
"""

import importlib
from functools import cache

from sensor_models.core.quantities import ParameterError
from sensor_models.core.spec import SensorSpec

#: Module and name of each spec. A leading dot stands for this package by whatever name it is
#: loaded: FMUs load it under one of their own.
PLACES = {
    "Accelerometer": ".inertial.sensors:ACCELEROMETER",
    "CcdCamera": ".camera.ccd.sensor:CCD_CAMERA",
    "DepthCamera": ".camera.depth.sensor:DEPTH_CAMERA",
    "Encoder": ".wheel.sensors:ENCODER",
    "Gnss": ".gnss.sensor:GNSS",
    "Gyroscope": ".inertial.sensors:GYROSCOPE",
    "Imu": ".inertial.sensors:IMU",
    "Lidar": ".lidar.sensor:LIDAR",
    "Magnetometer": ".inertial.sensors:MAGNETOMETER",
    "Odometer": ".wheel.sensors:ODOMETER",
    "Radar": ".radar.sensor:RADAR",
    "WaveformLidar": ".waveform.sensor:WAVEFORM_LIDAR",
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
    spec: SensorSpec = getattr(importlib.import_module(module, __package__), attribute)
    return spec
