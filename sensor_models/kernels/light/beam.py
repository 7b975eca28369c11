r"""The share of a widening beam that meets the detector, compiled.

A beam of half-angle θ from an emitter of radius E has, after a reduced path x, the radius

    w = x tan θ + E             within which is 1 - e^-2 of its power, of Gaussian profile

A detector of radius R whose centre is r_D off the axis receives of it

    exact         F(4R²/w²; 2, 4r_D²/w²), the distribution function of the non-central χ²
    closed form   (1 - e^(-2R²/w²)) e^(-2r_D²/w²)

and the beam factor A is this over 1 - e^-2, so that a detector as wide as the emitter and on its
axis has A = 1 at x = 0. A detector wider than the beam would have up to 1.157; it is clamped to 1
unless that is switched off. x is the path over the index, back and forth.

Source: AGX Sensor report, eq. 15-21. Its eq. 17 has a wrong distance to the axis; the closed form
follows only from the right one. Closed and exact form agree on the axis. Off it, the closed form is
good to 1 % for w >= 4 r_D >= 4 R and far too small in the near field.

Exact form: F is the probability that of two independent Poisson numbers the one of mean
β = 2R²/w² is greater than that of mean μ = 2r_D²/w². It is summed over the values that are not
more than ``REACH`` standard deviations from the means. Where the edge of the detector is more
than ``FAR_EDGE`` beam radii from the axis, all or nothing is received but for 1e-17. To a narrow
beam (β above ``NARROW``) the edge is nearly a straight line: with z = √2 (r_D - R)/w

    F = erfc(z)/2 - e^(-z²) w / (4 √(2π) R)         the line, and what its bend takes away; to 1e-6
"""

import math

import numpy as np

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.rotations import Floats

Beam = tuple[float, float, float, float, float, float]

#: Places in a packed beam.
SPREAD = 0  # tan θ
EMITTER = 1  # E, m
DETECTOR = 2  # R, m
OFFSET = 3  # r_D, m
EXACT = 4
CLAMP = 5
BEAM_SIZE = 6

#: 1 - e^-2.
INSIDE = -math.expm1(-2.0)
SCALE = 1.0 / INSIDE

FAR_EDGE = 4.5
REACH = 12.0
NARROW = 1e6


@njit(cache=True, forceinline=True)
def beam_of(packed: Floats) -> Beam:
    """The numbers of a packed beam."""
    return (
        packed[SPREAD],
        packed[EMITTER],
        packed[DETECTOR],
        packed[OFFSET],
        packed[EXACT],
        packed[CLAMP],
    )


@njit(cache=True, forceinline=True)
def is_on_axis(beam: Beam) -> bool:
    """Whether the detector sits on the axis of a beam that has a width, as nearly always."""
    return beam[OFFSET] == 0.0 and beam[EMITTER] > 0.0


@njit(cache=True, forceinline=True)
def most_of(beam: Beam) -> float:
    """The greatest beam factor that there may be."""
    return 1.0 if beam[CLAMP] != 0.0 else math.inf


@njit(cache=True, error_model="numpy")
def poisson(mean: float, count: float) -> float:
    """The probability of a count."""
    if count == 0.0:
        return math.exp(-mean)
    return math.exp(count * math.log(mean) - mean - math.lgamma(count + 1.0))


@njit(cache=True, error_model="numpy")
def exact_share(detector: float, offset: float, spot: float) -> float:
    """The share of a beam of radius ``spot`` that a detector off its axis receives."""
    if offset == 0.0:
        return -math.expm1(-2.0 * (detector / spot) ** 2) if spot > 0.0 else 1.0
    if abs(detector - offset) >= FAR_EDGE * spot:
        return 1.0 if detector > offset else 0.0
    inner, outer = 2.0 * (detector / spot) ** 2, 2.0 * (offset / spot) ** 2
    if inner > NARROW:
        z = math.sqrt(2.0) * (offset - detector) / spot
        bend = spot / (4.0 * math.sqrt(2.0 * math.pi) * detector)
        return 0.5 * math.erfc(z) - math.exp(-z * z) * bend
    first = np.floor(max(outer - REACH * (math.sqrt(outer) + 1.0), 0.0))
    last = inner + REACH * (math.sqrt(inner) + 1.0)
    outside = poisson(outer, first)
    inside = poisson(inner, first)
    below, share, count = outside, 0.0, first
    while count < last:
        count += 1.0
        inside *= inner / count
        outside *= outer / count
        share += inside * below
        below += outside
    return min(share, 1.0)


@njit(cache=True, error_model="numpy")
def closed_share(detector: float, offset: float, spot: float) -> float:
    """The closed form of ``exact_share``."""
    if spot <= 0.0:
        return 1.0 if offset == 0.0 else 0.0
    received = -math.expm1(-2.0 * (detector / spot) ** 2)
    if offset == 0.0:
        return received  # as nearly always, and an exponential is what this function takes
    return received * math.exp(-2.0 * (offset / spot) ** 2)


@njit(cache=True, error_model="numpy")
def beam_factor(beam: Beam, path: float) -> float:
    """The beam factor A after a reduced path; 1 for a beam that neither has nor gets a width."""
    if beam[SPREAD] == 0.0 and beam[EMITTER] == 0.0:
        return 1.0
    spot = path * beam[SPREAD] + beam[EMITTER]
    detector, offset = beam[DETECTOR], beam[OFFSET]
    if beam[EXACT] != 0.0:
        share = exact_share(detector, offset, spot)
    else:
        share = closed_share(detector, offset, spot)
    if spot <= 0.0:
        return float(share)  # a point is received or not, whatever the scale
    return float(min(share * SCALE, most_of(beam)))


@njit(cache=True)
def beam_factor_of_each(packed: Floats, paths: Floats, result: Floats) -> None:
    """``beam_factor`` after many paths."""
    beam = beam_of(packed)
    for i in range(len(paths)):
        result[i] = beam_factor(beam, paths[i])
