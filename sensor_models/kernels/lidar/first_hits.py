"""What the rays of a packet hit first, and the echoes of it, step by step for the whole packet.

Each step is a loop over the packet. One ray after the other, all steps of each, a processor would
mostly wait for the divisions and roots of one ray before it begins with the next. Two things make
vectors of a loop, and with them the numbers of all rays in the time of two or four of them:

    memory   The numbers lie in one array, a row of ``WIDTH`` for each. With an array for each, the
             compiler would have to prove that none of them overlaps another one, and gives up.
    no call  What has to look into tables of the scene is gathered first, ray by ray; what calls
             the standard library (an exponential) has a loop of its own, ray by ray.

Lanes without a hit are computed as well, from what an earlier packet left there, and are not read.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.lidar.beams import Lanes
from sensor_models.kernels.lidar.layout import Detector, Floats
from sensor_models.kernels.lidar.points import angle_of
from sensor_models.kernels.light.beam import beam_factor, beam_of
from sensor_models.kernels.light.interfaces import strength_of
from sensor_models.kernels.light.media import (
    ABSORPTION,
    MEDIUM_IOR,
    transmission,
)
from sensor_models.kernels.light.paths import Path
from sensor_models.kernels.light.surfaces import (
    KIND,
    LAMBERT,
    SLOPE_SQUARED,
    SURFACE_SIZE,
    TWO_WAY,
    Surface,
    specular_share,
)
from sensor_models.kernels.math.rotations import Triple, dot, times
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.hits import (
    hit_distance,
    hit_material,
    hit_outward,
    is_hit,
)
from sensor_models.kernels.tracing.packets import ACCESS, ALONG, Packet
from sensor_models.kernels.tracing.scene_view import SceneView

# Rows of FirstHits.numbers, counted in numbers: the way there, cosine and normal on the side of
# the sensor, what is left of the light that arrives, the factor of the widening beam, the strength
# of the echo, the share that goes on in the mirror direction, the normal as it was looked up, the
# angle of incidence, and the surface.
LENGTH, COSINE, TOWARD, WEIGHT, FACTOR = 0, WIDTH, 2 * WIDTH, 5 * WIDTH, 6 * WIDTH
INTENSITY, MIRRORED, OUTWARD, INCIDENCE = 7 * WIDTH, 8 * WIDTH, 9 * WIDTH, 12 * WIDTH
SURFACE = 13 * WIDTH
NUMBERS = SURFACE + SURFACE_SIZE * WIDTH


class FirstHits(NamedTuple):
    """What the rays of a packet hit first, and the echoes of it; for rays that hit."""

    hit: NDArray[np.bool_]  # (WIDTH,)
    material: NDArray[np.int64]  # (WIDTH,)
    numbers: Floats  # (NUMBERS,)


@njit(cache=True)
def new_first_hits() -> FirstHits:
    """Room for the hits of a packet."""
    return FirstHits(np.zeros(WIDTH, np.bool_), np.zeros(WIDTH, np.int64), np.zeros(NUMBERS))


@njit(**ACCESS)
def number_of(first: FirstHits, row: int, lane: int) -> float:
    """A number of one ray."""
    number: float = first.numbers[row + lane]
    return number


@njit(**ACCESS)
def toward_of(first: FirstHits, lane: int) -> Triple:
    """The normal on the side of the sensor."""
    own = first.numbers
    return own[TOWARD + lane], own[TOWARD + WIDTH + lane], own[TOWARD + 2 * WIDTH + lane]


@njit(**ACCESS)
def surface_of(first: FirstHits, lane: int, two_way: float) -> Surface:
    """The surface that a ray met, with its way into the base as it is given."""
    own = first.numbers
    return (
        own[SURFACE + lane],
        own[SURFACE + WIDTH + lane],
        own[SURFACE + 2 * WIDTH + lane],
        own[SURFACE + 3 * WIDTH + lane],
        own[SURFACE + 4 * WIDTH + lane],
        own[SURFACE + 5 * WIDTH + lane],
        two_way,
        own[SURFACE + 7 * WIDTH + lane],
    )


@njit(**ACCESS)
def look_up(view: SceneView, path: Path, packet: Packet, lanes: Lanes, first: FirstHits) -> None:
    """What the rays of a packet hit first, ray by ray: how far away, how it lies, what it is."""
    own, surfaces = first.numbers, path.surfaces
    for lane in range(WIDTH):
        first.hit[lane] = (lanes.ray[lane] >= 0) & is_hit(packet, lane)
    for lane in range(WIDTH):
        if first.hit[lane]:
            material = hit_material(view, packet, lane)
            first.material[lane] = material
            own[LENGTH + lane] = hit_distance(packet, lane)
            outward = hit_outward(view, packet, lane)
            for k in range(3):
                own[OUTWARD + k * WIDTH + lane] = outward[k]
            for k in range(SURFACE_SIZE):
                own[SURFACE + k * WIDTH + lane] = surfaces[material, k]


@njit(**ACCESS)
def face(packet: Packet, first: FirstHits) -> None:
    """How the surfaces lie that were hit."""
    own, rays = first.numbers, packet.doubles
    for lane in range(WIDTH):
        x, y = own[OUTWARD + lane], own[OUTWARD + WIDTH + lane]
        z = own[OUTWARD + 2 * WIDTH + lane]
        outward = times(1.0 / math.sqrt(x * x + y * y + z * z), (x, y, z))
        along = (rays[ALONG + lane], rays[ALONG + WIDTH + lane], rays[ALONG + 2 * WIDTH + lane])
        facing = -dot(along, outward)
        own[COSINE + lane] = min(abs(facing), 1.0)
        toward = times(1.0 if facing >= 0.0 else -1.0, outward)
        own[TOWARD + lane], own[TOWARD + WIDTH + lane] = toward[0], toward[1]
        own[TOWARD + 2 * WIDTH + lane] = toward[2]
        own[INCIDENCE + lane] = angle_of(own[COSINE + lane])


@njit(**ACCESS)
def shine(path: Path, packet: Packet, first: FirstHits) -> None:
    """What is left of the light at the surfaces, and what these send back of it."""
    own, absorption = first.numbers, path.media[0, ABSORPTION]
    some = 0
    for lane in range(WIDTH):
        own[WEIGHT + lane] = 1.0
        some += 1 if own[SURFACE + TWO_WAY * WIDTH + lane] != 0.0 else 0
    if absorption > 0.0:
        for lane in range(WIDTH):
            own[WEIGHT + lane] = transmission(absorption, own[LENGTH + lane])
    # Two reflectances more for all lanes, if one of them needs them.
    if some != 0:
        send_back(path, packet, first, True)
    else:
        send_back(path, packet, first, False)


@njit(**ACCESS)
def answer(path: Path, detector: Detector, packet: Packet, first: FirstHits) -> None:
    """How strong the echoes of opaque surfaces are."""
    shine(path, packet, first)
    own, beam = first.numbers, beam_of(detector.beam)
    ways = (2.0 if detector.round_trip else 1.0) / path.media[0, MEDIUM_IOR]
    for lane in range(WIDTH):
        if first.hit[lane]:
            # As ``intensity_of_echo``, but the factor is kept for what is reported.
            factor = beam_factor(beam, ways * own[LENGTH + lane])
            back = own[WEIGHT + lane] if detector.round_trip else 1.0
            own[FACTOR + lane] = factor
            own[INTENSITY + lane] = own[WEIGHT + lane] * back * own[INTENSITY + lane] * factor


@njit(**ACCESS)
def send_back(path: Path, packet: Packet, first: FirstHits, two_way: bool) -> None:
    """What the surfaces send back; without ``two_way``, none of them is of that kind."""
    own, rays = first.numbers, packet.doubles
    index, cone = path.media[0, MEDIUM_IOR], path.cone
    for lane in range(WIDTH):
        along = (rays[ALONG + lane], rays[ALONG + WIDTH + lane], rays[ALONG + 2 * WIDTH + lane])
        both = own[SURFACE + TWO_WAY * WIDTH + lane] if two_way else 0.0
        surface, toward = surface_of(first, lane, both), toward_of(first, lane)
        strength = strength_of(surface, along, toward, own[COSINE + lane], index, cone)
        own[INTENSITY + lane] = strength


@njit(**ACCESS)
def mirror(path: Path, first: FirstHits) -> None:
    """The shares of light that go on, as ``mirrored_share`` has them but for the limit of depth."""
    own, cone, least = first.numbers, path.cone, path.least_weight
    index, some = path.media[0, MEDIUM_IOR], 0
    for lane in range(WIDTH):
        own[MIRRORED + lane] = 0.0
        weight, cosine = own[WEIGHT + lane], own[COSINE + lane]
        slope_squared = own[SURFACE + SLOPE_SQUARED * WIDTH + lane]
        enough = ~(weight * cone < least * (slope_squared * cosine + cone))
        some += 1 if enough & (own[SURFACE + KIND * WIDTH + lane] != LAMBERT) else 0
    if some == 0:  # as a rule: then no reflectance has to be worked out
        return
    for lane in range(WIDTH):
        weight, cosine = own[WEIGHT + lane], own[COSINE + lane]
        slope_squared = own[SURFACE + SLOPE_SQUARED * WIDTH + lane]
        share = specular_share(surface_of(first, lane, 0.0), cosine, index, cone)
        enough = ~(weight * cone < least * (slope_squared * cosine + cone))
        own[MIRRORED + lane] = share if enough & (weight * share >= least) else 0.0
