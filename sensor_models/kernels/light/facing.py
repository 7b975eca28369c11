"""The surfaces that the rays of a packet hit: how they lie, and what they send back, in vectors.

Each step is a loop over the packet. One ray after the other, all steps of each, a processor would
mostly wait for the divisions and roots of one ray before it begins with the next. Two things make
vectors of a loop, and with them the numbers of all rays in the time of two or four of them:

    memory   The numbers lie in one array, a row of ``WIDTH`` for each. With an array for each, the
             compiler would have to prove that none of them overlaps another one, and gives up.
             A detector that works on them has rows of its own in the same array.
    no call  What has to look into tables of the scene is gathered first, ray by ray (``look_up``).

Lanes without a hit are computed as well, from what an earlier packet left there, and are not read.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.light.surfaces import SURFACE_SIZE, TWO_WAY, Surface, retro
from sensor_models.kernels.math.rotations import Triple, cross, dot, times
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.hits import hit_distance, hit_material, hit_outward, is_hit
from sensor_models.kernels.tracing.packets import ACCESS, ALONG, Packet, is_valid
from sensor_models.kernels.tracing.scene_view import SceneView

Floats = NDArray[np.float64]

# Rows of Facing.numbers, counted in numbers: the way there, the cosine of ray and normal, taken
# against the outward normal with its sign and without, the normal on the side of the ray and the
# outward one as it was looked up, the index of the medium there, what is sent back in 1/sr, and
# the surface.
LENGTH, FACING, COSINE, TOWARD, OUTWARD = 0, WIDTH, 2 * WIDTH, 3 * WIDTH, 6 * WIDTH
INDEX, STRENGTH, SURFACE = 9 * WIDTH, 10 * WIDTH, 11 * WIDTH
#: The first row that a detector may use.
FREE = SURFACE + SURFACE_SIZE * WIDTH

#: Grazing: below this cosine nothing comes back.
GRAZING = 1e-6


class Facing(NamedTuple):
    """The surfaces that the rays of a packet hit; valid for rays that hit."""

    hit: NDArray[np.bool_]  # (WIDTH,)
    material: NDArray[np.int64]  # (WIDTH,)
    numbers: Floats  # (rows * WIDTH,)


@njit(cache=True)
def new_facing(numbers: int) -> Facing:
    """Room for the hits of a packet, with so many numbers: ``FREE``, or more for a detector."""
    return Facing(np.zeros(WIDTH, np.bool_), np.full(WIDTH, -1), np.zeros(numbers))


@njit(**ACCESS)
def number_of(seen: Facing, row: int, lane: int) -> float:
    """A number of one ray."""
    number: float = seen.numbers[row + lane]
    return number


@njit(**ACCESS)
def toward_of(seen: Facing, lane: int) -> Triple:
    """The normal on the side of the ray."""
    own = seen.numbers
    return own[TOWARD + lane], own[TOWARD + WIDTH + lane], own[TOWARD + 2 * WIDTH + lane]


@njit(**ACCESS)
def surface_of(seen: Facing, lane: int, two_way: float) -> Surface:
    """The surface that a ray met, with its way into the base as it is given."""
    own = seen.numbers
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
def look_up(view: SceneView, surfaces: Floats, packet: Packet, seen: Facing) -> None:
    """What the rays of a packet hit, ray by ray: how far away, how it lies, what it is."""
    own = seen.numbers
    for lane in range(WIDTH):
        seen.hit[lane] = is_valid(packet, lane) & is_hit(packet, lane)
    for lane in range(WIDTH):
        if seen.hit[lane]:
            material = hit_material(view, packet, lane)
            seen.material[lane] = material
            own[LENGTH + lane] = hit_distance(packet, lane)
            outward = hit_outward(view, packet, lane)
            for k in range(3):
                own[OUTWARD + k * WIDTH + lane] = outward[k]
            for k in range(SURFACE_SIZE):
                own[SURFACE + k * WIDTH + lane] = surfaces[material, k]


@njit(**ACCESS)
def face(packet: Packet, seen: Facing) -> None:
    """How the surfaces lie that were hit."""
    own, rays = seen.numbers, packet.doubles
    for lane in range(WIDTH):
        x, y = own[OUTWARD + lane], own[OUTWARD + WIDTH + lane]
        z = own[OUTWARD + 2 * WIDTH + lane]
        outward = times(1.0 / math.sqrt(x * x + y * y + z * z), (x, y, z))
        along = (rays[ALONG + lane], rays[ALONG + WIDTH + lane], rays[ALONG + 2 * WIDTH + lane])
        facing = -dot(along, outward)
        own[FACING + lane], own[COSINE + lane] = facing, min(abs(facing), 1.0)
        toward = times(1.0 if facing >= 0.0 else -1.0, outward)
        own[TOWARD + lane], own[TOWARD + WIDTH + lane] = toward[0], toward[1]
        own[TOWARD + 2 * WIDTH + lane] = toward[2]


@njit(**ACCESS)
def strength_of(
    surface: Surface, along: Triple, normal: Triple, cosine: float, index: float, cone: float
) -> float:
    """The share that a surface sends back, f(l, l) (n.l), in 1/sr."""
    tilt = cross(along, normal)
    f = retro(surface, cosine, min(dot(tilt, tilt), 1.0), index, cone)
    return f * cosine if cosine > GRAZING else 0.0


@njit(**ACCESS)
def send_back(packet: Packet, seen: Facing, cone: float) -> None:
    """The share that opaque surfaces send back in the media of ``INDEX``."""
    own, some = seen.numbers, 0
    for lane in range(WIDTH):
        some += 1 if own[SURFACE + TWO_WAY * WIDTH + lane] != 0.0 else 0
    # Two reflectances more for all lanes, if one of them needs them.
    if some != 0:
        send_back_all(packet, seen, cone, True)
    else:
        send_back_all(packet, seen, cone, False)


@njit(**ACCESS)
def send_back_all(packet: Packet, seen: Facing, cone: float, two_way: bool) -> None:
    """``send_back``; without ``two_way``, none of the surfaces is of that kind."""
    own, rays = seen.numbers, packet.doubles
    for lane in range(WIDTH):
        along = (rays[ALONG + lane], rays[ALONG + WIDTH + lane], rays[ALONG + 2 * WIDTH + lane])
        both = own[SURFACE + TWO_WAY * WIDTH + lane] if two_way else 0.0
        surface, toward, cosine = (
            surface_of(seen, lane, both),
            toward_of(seen, lane),
            own[COSINE + lane],
        )
        own[STRENGTH + lane] = strength_of(surface, along, toward, cosine, own[INDEX + lane], cone)
