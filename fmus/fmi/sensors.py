"""The FMU classes of all sensors of the catalog, by name: ``fmus.fmi.sensors.LidarFmu``.

Each class is made when it is asked for, so that an FMU imports only the code of its own sensor.
"""

from functools import cache

from fmus.fmi.sensor_fmu import SensorFmu, sensor_fmu
from sensor_models import catalog

SUFFIX = "Fmu"


@cache
def fmu_of(sensor: str) -> type[SensorFmu]:
    """The FMU class of a sensor of the catalog."""
    return sensor_fmu(catalog.spec_of(sensor))


def __getattr__(name: str) -> type[SensorFmu]:
    sensor = name.removesuffix(SUFFIX)
    if sensor == name or sensor not in catalog.PLACES:
        raise AttributeError(f"{__name__} has no {name}")
    return fmu_of(sensor)
