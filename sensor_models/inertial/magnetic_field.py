"""Magnetic fields in the world: uniform, dipoles, functions of place, the Earth, and their sum.

    field = uniform((2e-5, 0.0, -4.5e-5)) + dipole((1.0, 0.0, 0.0), (0.0, 0.0, 2.0))
    field.at((0.0, 0.0, 1.0))                           flux density in T

Model of the dipole: ``kernels.inertial.magnetic_field`` (AGX, section 4.5). Fields do not change
with time.

The Earth's field is that of the World Magnetic Model WMM2025 (NOAA/NCEI and British Geological
Survey; degree 12, valid from 2025.0 to 2030.0), evaluated by the package ``pygeomag``. For it the
world frame is east-north-up: x points east, y north and z up, and the field is uniform, as it
changes by some 1e-11 T over a metre. Not modelled: crust, daily variation, magnetic storms.
"""

import datetime
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sensor_models.core.quantities import ParameterError, boolean, check, real
from sensor_models.kernels.inertial.magnetic_field import DIPOLE_SIZE, field_at

Vector = tuple[float, float, float]
Floats = NDArray[np.float64]
FieldFunction = Callable[[Floats], ArrayLike]

TESLA_PER_NANOTESLA = 1e-9

#: What WMM2025 is made for: decimal years, and heights in m over the WGS84 ellipsoid.
VALID_YEARS = (2025.0, 2030.0)
VALID_HEIGHTS = (-1000.0, 850_000.0)


@dataclass(frozen=True)
class MagneticField:
    """A uniform field, dipoles as (position, moment), and functions of the position; all add up."""

    uniform: Vector = (0.0, 0.0, 0.0)
    dipoles: tuple[tuple[Vector, Vector], ...] = ()
    functions: tuple[FieldFunction, ...] = ()
    #: The same as the kernels take it.
    packed_uniform: Floats = field(init=False, repr=False, compare=False)
    packed_dipoles: Floats = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        packed_uniform = _vector(self.uniform, "uniform field", "T")
        packed_dipoles = np.empty((len(self.dipoles), DIPOLE_SIZE))
        for row, (position, moment) in zip(packed_dipoles, self.dipoles, strict=True):
            row[:3] = _vector(position, "position of a dipole", "m")
            row[3:] = _vector(moment, "moment of a dipole", "A m2")
        # frozen for everybody else
        object.__setattr__(self, "packed_uniform", packed_uniform)
        object.__setattr__(self, "packed_dipoles", packed_dipoles)

    def __add__(self, other: "MagneticField") -> "MagneticField":
        return MagneticField(
            tuple((self.packed_uniform + other.packed_uniform).tolist()),
            self.dipoles + other.dipoles,
            self.functions + other.functions,
        )

    def without_dipoles(self, position: Floats) -> Floats:
        """Flux density of all but the dipoles at a point of the world."""
        flux_density = self.packed_uniform
        if self.functions and not np.isfinite(position).all():
            return np.full(3, math.nan)
        for function in self.functions:
            part = np.asarray(function(position), dtype=np.float64)
            if part.shape != (3,):
                raise ValueError(f"a field function gave shape {part.shape}, needs 3 values in T")
            flux_density = flux_density + part
        return flux_density

    def at(self, position: ArrayLike) -> Floats:
        """Flux density at a point of the world.

        Raises:
            ParameterError: where there is none: at the place of a dipole.
        """
        point = _vector(position, "position", "m")
        flux_density = field_at(
            self.without_dipoles(point), self.packed_dipoles, tuple(point.tolist())
        )
        if not all(map(math.isfinite, flux_density)):
            raise ParameterError(
                f"the magnetic field at {point.tolist()} m is not finite, "
                "allowed is a position away from the dipoles"
            )
        return np.array(flux_density)


@dataclass(frozen=True)
class EarthParameters:
    """The Earth's field instead of one that is given, by place and date."""

    on: bool = boolean(
        False,
        "Whether the field is the Earth's (World Magnetic Model 2025) where no scene has one, "
        "instead of the parameter field; the world frame is then east, north, up",
        name="earth.on",
    )
    latitude: float = real(
        0.0,
        "rad",
        "Geodetic latitude, north is positive",
        minimum=-0.5 * math.pi,
        maximum=0.5 * math.pi,
        name="earth.latitude",
    )
    longitude: float = real(
        0.0,
        "rad",
        "Longitude, east is positive",
        minimum=-math.tau,
        maximum=math.tau,
        name="earth.longitude",
    )
    height: float = real(
        0.0,
        "m",
        "Height over the WGS84 ellipsoid",
        minimum=VALID_HEIGHTS[0],
        maximum=VALID_HEIGHTS[1],
        name="earth.height",
    )
    year: float = real(
        2026.0,
        "1",
        "Date as a year with its fraction",
        minimum=VALID_YEARS[0],
        maximum=VALID_YEARS[1],
        name="earth.year",
    )

    def __post_init__(self) -> None:
        check(self)

    def field(self) -> "MagneticField | None":
        """The Earth's field there and then, or None if it is off."""
        if not self.on:
            return None
        return earth_field(self.latitude, self.longitude, self.height, self.year)


def uniform(flux_density: Vector) -> MagneticField:
    """A field that is the same everywhere (T)."""
    return MagneticField(uniform=flux_density)


def dipole(position: Vector, moment: Vector) -> MagneticField:
    """The field of a magnet that is small against its distance; the moment in A m2."""
    return MagneticField(dipoles=((position, moment),))


def function_of_place(function: FieldFunction) -> MagneticField:
    """A field given by a function, which takes a position (m) and gives a flux density (T)."""
    return MagneticField(functions=(function,))


def earth_field(
    latitude: float, longitude: float, height: float, date: datetime.date | float
) -> MagneticField:
    """The Earth's field at a place and date, in a world frame of east, north and up.

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
    east, north, up = found.y, found.x, -found.z
    return uniform(
        (TESLA_PER_NANOTESLA * east, TESLA_PER_NANOTESLA * north, TESLA_PER_NANOTESLA * up)
    )


def decimal_year(date: datetime.date) -> float:
    """A date as a year with its fraction, at the start of the day."""
    start = datetime.date(date.year, 1, 1)
    end = datetime.date(date.year + 1, 1, 1)
    day = datetime.date(date.year, date.month, date.day)
    return date.year + (day - start).days / (end - start).days


@cache
def _world_magnetic_model() -> Any:
    """WMM2025 by name: the package's own default is whatever model is the newest."""
    # Late, because most magnetometers are given their field.
    import pygeomag
    from pygeomag.wmm.wmm_2025 import WMM_2025

    return pygeomag.GeoMag(coefficients_data=WMM_2025)


def _check_range(name: str, value: float, allowed: tuple[float, float], unit: str) -> None:
    if not allowed[0] <= value <= allowed[1]:
        raise ParameterError(
            f"{name} = {value} {unit} is out of range, "
            f"allowed is {allowed[0]:g} to {allowed[1]:g} {unit}"
        )


def _vector(values: ArrayLike, name: str, unit: str) -> Floats:
    vector = np.array(values, dtype=np.float64)
    if vector.shape != (3,) or not np.isfinite(vector).all():
        raise ParameterError(f"{name} = {values!r} {unit} is no vector of three finite numbers")
    return vector
