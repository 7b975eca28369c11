"""Embree asked about a packet: as a whole, or in halves.

Embree follows a packet down its hierarchy as long as enough of its rays go the same way, and then
ray by ray. Rays to all sides, as those from a surface to what is around it, part soon, and 16 of
them have gone further together for nothing than 8. Such packets of 16 are handed over in halves:
the hits are the same to the bit, as what a ray hits depends on the ray and the facets alone
(``rays``). Half the rays of a packet lie side by side in each row, so a half is copied as vectors.

Measured in the yard with rays of the cosine law from 16 neighbours each, in ns a ray, one thread:

                       whole   halves   ray by ray
    nearest, 16 rays    231      180       188
    nearest, 1 ray      406      389       343
    any, 8 to 15 rays   206      164       181

Packets that are coherent stay whole: rays that stay together are traced in the least time all at
once. So do those whose nearest hits a filter is shown, which is fastest with all of a packet.
"""

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.tracing.embree import (
    HALF,
    INVALID_ID,
    RAY_QUERY_COHERENT,
    WIDTH,
    intersect_half,
    intersect_packet,
    occlude_half,
    occlude_packet,
)
from sensor_models.kernels.tracing.packets import (
    ACCESS,
    ARGUMENTS,
    FLAGS,
    GEOMETRY,
    HALVES,
    INSTANCE,
    INSTANCE_PRIMITIVE,
    NORMAL,
    T_MAX,
    VALID,
    Packet,
)

Words = NDArray[np.int32]

#: Rows of RTCRayHit8: those of the ray, then those of its hit.
RAY_ROWS, ROWS = NORMAL // WIDTH, INSTANCE_PRIMITIVE // WIDTH + 1
REACH, GEOMETRY_ROW, INSTANCE_ROW, LAST_ROW = (
    HALVES + row // WIDTH * HALF for row in (T_MAX, GEOMETRY, INSTANCE, INSTANCE_PRIMITIVE)
)


@njit(**{**ACCESS, "forceinline": False})
def intersect(packet: Packet, scene: int) -> None:
    """Find the nearest facet of one of Embree's scenes along each ray; hits begin as none."""
    words = packet.words
    if WIDTH == HALF or words[FLAGS] != 0:
        start = words.ctypes.data
        intersect_packet(start + 4 * VALID, scene, start, start + 4 * ARGUMENTS)
        return
    intersect_some(words, scene, 0)
    intersect_some(words, scene, HALF)


@njit(**{**ACCESS, "forceinline": False})
def occlude(packet: Packet, scene: int) -> None:
    """Find out which rays meet any facet of one of Embree's scenes."""
    words = packet.words
    if WIDTH == HALF or words[FLAGS] & RAY_QUERY_COHERENT:
        start = words.ctypes.data
        occlude_packet(start + 4 * VALID, scene, start, start + 4 * ARGUMENTS)
        return
    occlude_some(words, scene, 0)
    occlude_some(words, scene, HALF)


@njit(**ACCESS)
def lay_out(words: Words, first: int) -> bool:
    """Copy half of the rays of a packet, from a lane on; whether there are any."""
    some = 0
    for lane in range(HALF):
        some += 1 if words[VALID + first + lane] != 0 else 0
    if some == 0:
        return False
    for row in range(RAY_ROWS):
        for lane in range(HALF):
            words[HALVES + row * HALF + lane] = words[row * WIDTH + first + lane]
    return True


@njit(**ACCESS)
def intersect_some(words: Words, scene: int, first: int) -> None:
    """``intersect`` for half a packet, from a lane on. Only rays that hit anything are changed."""
    if not lay_out(words, first):
        return
    for lane in range(HALF):
        words[GEOMETRY_ROW + lane] = INVALID_ID
        words[INSTANCE_ROW + lane] = INVALID_ID
        words[LAST_ROW + lane] = INVALID_ID
    start = words.ctypes.data
    valid, arguments = start + 4 * (VALID + first), start + 4 * ARGUMENTS
    intersect_half(valid, scene, start + 4 * HALVES, arguments)
    for lane in range(HALF):
        hit = words[GEOMETRY_ROW + lane] != INVALID_ID
        here, place = words[REACH + lane], T_MAX + first + lane
        words[place] = here if hit else words[place]
    for row in range(RAY_ROWS, ROWS):
        for lane in range(HALF):
            hit = words[GEOMETRY_ROW + lane] != INVALID_ID
            here, place = words[HALVES + row * HALF + lane], row * WIDTH + first + lane
            words[place] = here if hit else words[place]


@njit(**ACCESS)
def occlude_some(words: Words, scene: int, first: int) -> None:
    """``occlude`` for half a packet, from a lane on."""
    if not lay_out(words, first):
        return
    start = words.ctypes.data
    valid, arguments = start + 4 * (VALID + first), start + 4 * ARGUMENTS
    occlude_half(valid, scene, start + 4 * HALVES, arguments)
    for lane in range(HALF):
        words[T_MAX + first + lane] = words[REACH + lane]
