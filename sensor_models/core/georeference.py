"""Where on the Earth a world is: its origin on the WGS 84 ellipsoid, and its heading.

The world of a scene is the plane that touches the Earth at the origin, with z up; without a
heading, x points east and y north. ``kernels.gnss.geodesy`` has the equations.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sensor_models.core.quantities import check, real
from sensor_models.kernels.gnss.geodesy import ecef_of_geodetic, geodetic_of_ecef, world_axes

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Georeference:
    """The place and the heading of a world."""

    latitude: float = real(
        0.0,
        "rad",
        "Geodetic latitude of the world's origin, north positive",
        minimum=-math.pi / 2,
        maximum=math.pi / 2,
        name="origin.latitude",
    )
    longitude: float = real(
        0.0,
        "rad",
        "Longitude of the world's origin, east positive",
        minimum=-math.pi,
        maximum=math.pi,
        name="origin.longitude",
    )
    height: float = real(
        0.0,
        "m",
        "Height of the world's origin over the WGS 84 ellipsoid",
        minimum=-1e5,
        maximum=1e5,
        name="origin.height",
    )
    heading: float = real(
        0.0,
        "rad",
        "Azimuth of the world's y axis, clockwise from north; at 0, x points east",
        minimum=-2.0 * math.pi,
        maximum=2.0 * math.pi,
        name="origin.heading",
    )

    def __post_init__(self) -> None:
        check(self)

    def or_else(self, scene: "Georeference | None") -> "Georeference":
        """This place, or the scene's if nothing was given here (all values are zero)."""
        return scene if scene is not None and self == Georeference() else self

    @property
    def ecef(self) -> Floats:
        """The origin in Earth-fixed coordinates."""
        return np.array(ecef_of_geodetic(self.latitude, self.longitude, self.height))

    @property
    def axes(self) -> Floats:
        """The axes x, y and z of the world as rows, in Earth-fixed coordinates."""
        return np.array(world_axes(self.latitude, self.longitude, self.heading))

    def to_geodetic(self, point: ArrayLike) -> tuple[float, float, float]:
        """Latitude, longitude (rad) and height of a point of the world."""
        x, y, z = (self.ecef + np.asarray(point, float) @ self.axes).tolist()
        latitude, longitude, height = geodetic_of_ecef(x, y, z)
        return latitude, longitude, height

    def to_world(self, latitude: float, longitude: float, height: float) -> Floats:
        """The point of the world that has this latitude, longitude (rad) and height."""
        point: Floats = self.axes @ (ecef_of_geodetic(latitude, longitude, height) - self.ecef)
        return point
