r"""Positions on the Earth: WGS 84, and the tangent plane that is the world of a scene.

    X = ((N + h) cos φ cos λ, (N + h) cos φ sin λ, (N (1 - e²) + h) sin φ)
    N = a / √(1 - e² sin² φ)

φ, λ, h are latitude, longitude and height over the ellipsoid, X is Earth-centred and Earth-fixed
(ECEF). The axes east, north and up at a place are, in ECEF,

    e = (-sin λ, cos λ, 0),   n = (-sin φ cos λ, -sin φ sin λ, cos φ),
    u = (cos φ cos λ, cos φ sin λ, sin φ)

The world of a scene is the tangent plane at its origin, with +y at the azimuth ψ from north:

    E = x cos ψ + y sin ψ,   N = -x sin ψ + y cos ψ,   U = z

so the ground of a scene leaves the ellipsoid by 2 m at 5 km, as a plane does.

Inverse: two iterations of Bowring from his own first guess, and a height that is regular at the
poles. Against 50 digits, the error from -10 km to 30 000 km is at most 1.4e-9 m along the meridian
and 7.5e-9 m in height. The longitude on the axis is 0. Nothing is defined within 1 km of the
centre of the Earth, where the result is NaN.

Sources: NGA.STND.0036 (WGS 84); EPSG Guidance Note 7-2, 4.1.1 and 4.1.2; B. R. Bowring, "The
accuracy of geodetic latitude and height equations", Survey Review 28 (1985).
"""

import math

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.rotations import Triple, plus, times
from sensor_models.kernels.options import PLAIN

SEMI_MAJOR = 6378137.0  # a, m
FLATTENING = 1.0 / 298.257223563  # f
SEMI_MINOR = SEMI_MAJOR * (1.0 - FLATTENING)  # b, m
ECCENTRICITY_2 = FLATTENING * (2.0 - FLATTENING)  # e²
SECOND_ECCENTRICITY_2 = ECCENTRICITY_2 / (1.0 - ECCENTRICITY_2)  # e'²

#: Nearer to the centre of the Earth than this there is no latitude, m.
LEAST_RADIUS = 1000.0

#: East, north and up as unit vectors.
Axes = tuple[Triple, Triple, Triple]


@njit(**PLAIN)
def ecef_of_geodetic(latitude: float, longitude: float, height: float) -> Triple:
    """The Earth-fixed place of a latitude, longitude (rad) and height over the ellipsoid."""
    sine, cosine = math.sin(latitude), math.cos(latitude)
    normal = SEMI_MAJOR / math.sqrt(1.0 - ECCENTRICITY_2 * sine * sine)
    around = (normal + height) * cosine
    return (
        around * math.cos(longitude),
        around * math.sin(longitude),
        (normal * (1.0 - ECCENTRICITY_2) + height) * sine,
    )


@njit(**PLAIN)
def geodetic_of_ecef(x: float, y: float, z: float) -> Triple:
    """Latitude, longitude (rad) and height of an Earth-fixed place; NaN near the centre."""
    p = math.sqrt(x * x + y * y)
    r = math.sqrt(p * p + z * z)
    if not LEAST_RADIUS <= r < math.inf:
        return math.nan, math.nan, math.nan
    # The reduced latitude β as its sine and cosine: no tangent that has no value at the poles.
    sine = SEMI_MINOR * z * (1.0 + SECOND_ECCENTRICITY_2 * SEMI_MINOR / r)
    cosine = SEMI_MAJOR * p
    up, out = z, p
    for _ in range(2):
        length = math.sqrt(sine * sine + cosine * cosine)
        s, c = sine / length, cosine / length
        up = z + SECOND_ECCENTRICITY_2 * SEMI_MINOR * s * s * s
        out = p - ECCENTRICITY_2 * SEMI_MAJOR * c * c * c
        sine, cosine = (1.0 - FLATTENING) * up, out
    length = math.sqrt(up * up + out * out)
    s, c = up / length, out / length
    height = p * c + z * s - SEMI_MAJOR * math.sqrt(1.0 - ECCENTRICITY_2 * s * s)
    longitude = math.atan2(y, x) if p > 0.0 else 0.0
    return math.atan2(up, out), longitude, height


@njit(**PLAIN)
def local_axes(latitude: float, longitude: float) -> Axes:
    """East, north and up at a place, as Earth-fixed unit vectors."""
    sin_lat, cos_lat = math.sin(latitude), math.cos(latitude)
    sin_lon, cos_lon = math.sin(longitude), math.cos(longitude)
    return (
        (-sin_lon, cos_lon, 0.0),
        (-sin_lat * cos_lon, -sin_lat * sin_lon, cos_lat),
        (cos_lat * cos_lon, cos_lat * sin_lon, sin_lat),
    )


@njit(**PLAIN)
def world_axes(latitude: float, longitude: float, heading: float) -> Axes:
    """The axes x, y and z of a world in ECEF, of the place of its origin and its heading."""
    east, north, up = local_axes(latitude, longitude)
    sine, cosine = math.sin(heading), math.cos(heading)
    x = plus(times(cosine, east), times(-sine, north))
    y = plus(times(sine, east), times(cosine, north))
    return x, y, up


@njit(**PLAIN)
def combine(axes: Axes, vector: Triple) -> Triple:
    """A vector with its parts along three axes, in the frame that the axes are given in."""
    x, y, z = axes
    total: Triple = plus(plus(times(vector[0], x), times(vector[1], y)), times(vector[2], z))
    return total
