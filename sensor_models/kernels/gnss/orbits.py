r"""Orbits of satellites: where they are in the Earth-fixed frame at a GPS time of week.

An orbit is that of an almanac: semi-major axis A, eccentricity e, inclination i, longitude of the
ascending node Ω0 at the beginning of the week, its rate, argument of perigee ω and mean anomaly
M0 at the time t_a:

    n = √μ / A^(3/2),   t_k = t - t_a,   M = M0 + n t_k,   E - e sin E = M
    ν = atan2(√(1 - e²) sin E, cos E - e),   u = ν + ω,   r = A (1 - e cos E)
    Ω = Ω0 + (dΩ/dt - ω_e) t_k - ω_e t_a
    X = r (cos u cos Ω - sin u cos i sin Ω, cos u sin Ω + sin u cos i cos Ω, sin u sin i)

t_k is folded to ± half a week where the orbit has a week. Circular orbits of a Walker pattern are
the same with e = ω = dΩ/dt = t_a = 0, and never folded.

Source: IS-GPS-200, tables 20-IV and 20-VI and 20.3.3.5.2.1 (almanac). Left out: clock terms, and
the six harmonic corrections that ephemerides have and almanacs have not; the orbit of an almanac
is off by some kilometres, which is 0.1 mrad seen from the ground.
"""

import math

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.rotations import Triple
from sensor_models.kernels.options import PLAIN

Floats = NDArray[np.float64]

GRAVITATION = 3.986005e14  # μ of the GPS, m3/s2
EARTH_RATE = 7.2921151467e-5  # ω_e, rad/s
WEEK = 604800.0  # s

# Columns of the table of orbits. NUMBER tells satellites apart and keys their draws; SYSTEM counts
# from 0 and has a clock of its own.
NUMBER, SYSTEM, AXIS, ECCENTRICITY, INCLINATION, NODE, NODE_RATE = range(7)
PERIGEE, ANOMALY, REFERENCE, FOLDED, MEAN_MOTION = range(7, 12)
ORBIT_SIZE = 12

#: Newton's steps for Kepler's equation: they double the digits, so five suffice for e < 0.3.
KEPLER_STEPS = 8


@njit(**PLAIN)
def eccentric_anomaly(mean_anomaly: float, eccentricity: float) -> float:
    """The solution E of E - e sin E = M."""
    angle = mean_anomaly + eccentricity * math.sin(mean_anomaly)
    for _ in range(KEPLER_STEPS):
        excess = angle - eccentricity * math.sin(angle) - mean_anomaly
        step = excess / (1.0 - eccentricity * math.cos(angle))
        angle -= step
        if abs(step) < 1e-15:
            break
    return angle


@njit(**PLAIN)
def satellite_position(orbits: Floats, row: int, time: float) -> Triple:
    """The Earth-fixed place of a satellite at a GPS time of week in s."""
    reference = orbits[row, REFERENCE]
    since = time - reference
    if orbits[row, FOLDED] != 0.0:
        since -= WEEK * math.floor(since / WEEK + 0.5)
    along = orbits[row, ANOMALY] + orbits[row, MEAN_MOTION] * since
    radius, eccentricity = orbits[row, AXIS], orbits[row, ECCENTRICITY]
    if eccentricity != 0.0:
        angle = eccentric_anomaly(along, eccentricity)
        cosine = math.cos(angle)
        radius *= 1.0 - eccentricity * cosine
        flat = math.sqrt(1.0 - eccentricity * eccentricity)
        along = math.atan2(flat * math.sin(angle), cosine - eccentricity)
    along += orbits[row, PERIGEE]
    turned = (orbits[row, NODE_RATE] - EARTH_RATE) * since - EARTH_RATE * reference
    node = orbits[row, NODE] + turned
    sin_u, cos_u = math.sin(along), math.cos(along)
    sin_o, cos_o = math.sin(node), math.cos(node)
    inclination = orbits[row, INCLINATION]
    across = sin_u * math.cos(inclination)
    return (
        radius * (cos_u * cos_o - across * sin_o),
        radius * (cos_u * sin_o + across * cos_o),
        radius * sin_u * math.sin(inclination),
    )


@njit(cache=True)
def satellite_positions(orbits: Floats, time: float, positions: Floats) -> None:
    """The Earth-fixed places of all satellites, (n, 3), at a GPS time of week."""
    for row in range(len(orbits)):
        x, y, z = satellite_position(orbits, row, time)
        positions[row, 0], positions[row, 1], positions[row, 2] = x, y, z
