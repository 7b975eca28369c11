"""The magnetic field of the Earth by place and date.

The field is that of the World Magnetic Model WMM2025 (NOAA/NCEI and British Geological Survey;
degree 12, valid from 2025.0 to 2030.0), evaluated by the package ``pygeomag``. In the world of a
georeference with the heading psi it is

    x = E cos(psi) - N sin(psi),    y = E sin(psi) + N cos(psi),    z = U

Not modelled: crust, daily variation, magnetic storms.
"""

import datetime
import math
from functools import cache
from typing import Any

from sensor_models.core.georeference import Georeference
from sensor_models.core.quantities import ParameterError

Vector = tuple[float, float, float]

TESLA_PER_NANOTESLA = 1e-9

#: The range of WMM2025: decimal years, and heights in m over the WGS84 ellipsoid.
VALID_YEARS = (2025.0, 2030.0)
VALID_HEIGHTS = (-1000.0, 850_000.0)


def flux_density(
    latitude: float, longitude: float, height: float, date: datetime.date | float
) -> Vector:
    """The field to the east, north and up in T.

    Args:
        latitude: geodetic latitude in rad, north is positive.
        longitude: longitude in rad, east is positive.
        height: height over the WGS84 ellipsoid in m.
        date: a date, or a year with its fraction.
    """
    year = date if isinstance(date, float | int) else decimal_year(date)
    _check_range("latitude", latitude, (-0.5 * math.pi, 0.5 * math.pi), "rad")
    _check_range("longitude", longitude, (-math.tau, math.tau), "rad")
    _check_range("height", height, VALID_HEIGHTS, "m")
    _check_range("date", year, VALID_YEARS, "(year)")
    found = _world_magnetic_model().calculate(
        math.degrees(latitude), math.degrees(longitude), height / 1000.0, year
    )
    # the model's components point north, east and down
    return (
        TESLA_PER_NANOTESLA * found.y,
        TESLA_PER_NANOTESLA * found.x,
        -TESLA_PER_NANOTESLA * found.z,
    )


def field_of_world(place: Georeference, date: datetime.date | float) -> Vector:
    """The field at the origin of a world, along its axes, in T."""
    east, north, up = flux_density(place.latitude, place.longitude, place.height, date)
    c, s = math.cos(place.heading), math.sin(place.heading)
    return east * c - north * s, east * s + north * c, up


def decimal_year(date: datetime.date) -> float:
    """A date as a year with its fraction, at the start of the day."""
    start = datetime.date(date.year, 1, 1)
    end = datetime.date(date.year + 1, 1, 1)
    day = datetime.date(date.year, date.month, date.day)
    return date.year + (day - start).days / (end - start).days


@cache
def _world_magnetic_model() -> Any:
    """WMM2025 by name, because the package's default is the newest model that it has."""
    # Imported here, because most magnetic fields are given as numbers.
    import pygeomag
    from pygeomag.wmm.wmm_2025 import WMM_2025

    return pygeomag.GeoMag(coefficients_data=WMM_2025)


def _check_range(name: str, value: float, allowed: tuple[float, float], unit: str) -> None:
    if not allowed[0] <= value <= allowed[1]:
        raise ParameterError(
            f"{name} = {value} {unit} is out of range, "
            f"allowed is {allowed[0]:g} to {allowed[1]:g} {unit}"
        )
