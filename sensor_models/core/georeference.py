"""Where on the Earth a world lies: its origin on the WGS 84 ellipsoid, and its heading.

The world of a scene is the plane that touches the Earth at the origin, with z up; without a
heading, x points east and y north. ``kernels.gnss.geodesy`` has the equations.
"""

import math
from dataclasses import dataclass

from sensor_models.core.quantities import check, real


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
