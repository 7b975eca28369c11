r"""What happens to light on its way through a medium, compiled.

    transmission   e^(-α x), α the extinction, x the length of the way
    echo           with probability s, once for each entry of a ray into a medium, at a distance
                   from the entry of density p(x) = x^(k-1) e^(-x/θ) / Γ(k) θ^k

One uniform number u decides both: there is an echo if u < s, and then u/s is uniform and the
distance its quantile. An echo further than the ray goes in the medium does not happen, so in a
way of length L there is one with probability s P(k, L/θ). Its intensity is that of a surface of
reflectance b, the back-scatter strength in 1/sr.

α lumps absorption and scattering. x is the geometric length: the report (AGX Sensor report,
eq. 13-14) speaks of the optical one, which would count the index of water twice, as α is measured
along a metre of it. b is an extension, see ``sensor_models.light.media``.

Not modelled: light that is scattered more than once, pulses that a medium stretches.
"""

import math

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.light import gamma_law
from sensor_models.kernels.math.rotations import Floats

Medium = tuple[float, float, float, float, float, float]

#: Columns of a table of media.
ABSORPTION = 0  # extinction, 1/m
RETURN_SHAPE = 1
RETURN_SCALE = 2  # m
RETURN_PROBABILITY = 3
MEDIUM_IOR = 4
BACKSCATTER = 5  # 1/sr
MEDIUM_SIZE = 6

#: Optical depth beyond which nothing is left: e^-700 is the end of what a number holds.
OPAQUE = 700.0


@njit(cache=True, forceinline=True)
def medium_at(media: Floats, index: int) -> Medium:
    """A row of a table of media."""
    return (
        media[index, ABSORPTION],
        media[index, RETURN_SHAPE],
        media[index, RETURN_SCALE],
        media[index, RETURN_PROBABILITY],
        media[index, MEDIUM_IOR],
        media[index, BACKSCATTER],
    )


@njit(cache=True)
def transmission(absorption: float, length: float) -> float:
    """The share of light that is left after a way of some length, which may be infinite."""
    if absorption == 0.0:
        return 1.0
    depth = absorption * length
    return 0.0 if depth > OPAQUE else math.exp(-depth)


@njit(cache=True, error_model="numpy")
def echo_distance(medium: Medium, draw: float) -> float:
    """Distance from the entry into a medium to its echo, infinite if there is none.

    Args:
        medium: row of a table of media.
        draw: a uniform random number of (0, 1), one for each entry.
    """
    probability = medium[RETURN_PROBABILITY]
    if not draw < probability:
        return math.inf
    share = draw / probability
    return float(medium[RETURN_SCALE] * gamma_law.quantile(medium[RETURN_SHAPE], share))


@njit(cache=True, error_model="numpy")
def echo_probability(medium: Medium, length: float) -> float:
    """The probability of an echo within a way of some length."""
    lower, _ = gamma_law.shares(medium[RETURN_SHAPE], length / medium[RETURN_SCALE])
    return float(medium[RETURN_PROBABILITY] * lower)


@njit(cache=True, error_model="numpy")
def echo_density(medium: Medium, distance: float) -> float:
    """The density p of the distances of echoes, in 1/m."""
    scale = medium[RETURN_SCALE]
    return float(gamma_law.density(medium[RETURN_SHAPE], distance / scale) / scale)


@njit(cache=True)
def echo_distance_of_each(media: Floats, draws: Floats, result: Floats) -> None:
    """``echo_distance`` in the first medium for many draws."""
    medium = medium_at(media, 0)
    for i in range(len(draws)):
        result[i] = echo_distance(medium, draws[i])


@njit(cache=True)
def echo_probability_of_each(media: Floats, lengths: Floats, result: Floats) -> None:
    """``echo_probability`` in the first medium for many lengths."""
    medium = medium_at(media, 0)
    for i in range(len(lengths)):
        result[i] = echo_probability(medium, lengths[i])


@njit(cache=True)
def echo_density_of_each(media: Floats, distances: Floats, result: Floats) -> None:
    """``echo_density`` in the first medium for many distances."""
    medium = medium_at(media, 0)
    for i in range(len(distances)):
        result[i] = echo_density(medium, distances[i])
