"""Magnetic fields in the world: uniform, dipoles, functions of place, the Earth, and their sum.

    field = uniform((2e-5, 0.0, -4.5e-5)) + dipole((1.0, 0.0, 0.0), (0.0, 0.0, 2.0))
    field.at((0.0, 0.0, 1.0))                           flux density in T

Model of the dipole: ``kernels.inertial.magnetic_field`` (AGX, section 4.5). Fields do not change
with time.

The Earth's field is that of ``core.earth_magnetism``. For it the world frame is east-north-up: x
points east, y north and z up, and the field is uniform, as it changes by some 1e-11 T over a metre.
A scene with an origin may have a heading, too (``core.earth_magnetism.field_of_world``).
"""

import datetime
import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sensor_models.core.earth_magnetism import VALID_HEIGHTS, VALID_YEARS, flux_density
from sensor_models.core.quantities import ParameterError, boolean, check, real
from sensor_models.kernels.inertial.magnetic_field import DIPOLE_SIZE, field_at

Vector = tuple[float, float, float]
Floats = NDArray[np.float64]
FieldFunction = Callable[[Floats], ArrayLike]


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

    As ``core.earth_magnetism.flux_density``.
    """
    return uniform(flux_density(latitude, longitude, height, date))


def _vector(values: ArrayLike, name: str, unit: str) -> Floats:
    vector = np.array(values, dtype=np.float64)
    if vector.shape != (3,) or not np.isfinite(vector).all():
        raise ParameterError(f"{name} = {values!r} {unit} is no vector of three finite numbers")
    return vector
