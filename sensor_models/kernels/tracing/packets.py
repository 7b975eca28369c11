"""A packet of rays in memory: where its parts lie, how it is made and filled.

One aligned block holds what Embree reads and writes (rays, hits, valid flags, arguments of the
call), and behind Embree's context, whose address filters are given, what the filters keep. It is
laid out in words of 4 bytes, ``WIDTH`` of them a row. Behind that lie the rays as they were given,
in the world and in float64: what movable bodies are traced with (``moving``).

Source: Embree 4 API reference, RTCRayHit4/8/16, RTCIntersectArguments, RTCRayQueryContext.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.memory import put_int64
from sensor_models.kernels.options import INLINE
from sensor_models.kernels.tracing.embree import HALF, INVALID_ID, WIDTH

Triple = tuple[float, float, float]

#: How functions are compiled that work on a packet and are called for every ray.
ACCESS = {**INLINE, "error_model": "numpy"}

# Rows of RTCRayHit4/8/16. The time is for meshes that change their shape: how far their clip is.
ORIGIN, T_MIN, DIRECTION, TIME, T_MAX = 0, 3 * WIDTH, 4 * WIDTH, 7 * WIDTH, 8 * WIDTH
MASK, RAY_ID = 9 * WIDTH, 10 * WIDTH
NORMAL, U, V = 12 * WIDTH, 15 * WIDTH, 16 * WIDTH
PRIMITIVE, GEOMETRY, INSTANCE, INSTANCE_PRIMITIVE = 17 * WIDTH, 18 * WIDTH, 19 * WIDTH, 20 * WIDTH
VALID = 21 * WIDTH
#: Weight of a face's first corner, as u and v are of the others.
W = 22 * WIDTH
# RTCIntersectArguments: flags and features, then the addresses of context and filter.
ARGUMENTS = 23 * WIDTH
FLAGS, FEATURES = ARGUMENTS, ARGUMENTS + 1
CONTEXT_ADDRESS, FILTER_ADDRESS = 1, 2  # in words of 8 bytes
# RTCRayQueryContext has two words; the filters' part begins a row of 16 later.
CONTEXT = ARGUMENTS + 16
KEPT = CONTEXT + 16
BEST_T, BEST_OWNER, BEST_PRIMITIVE = KEPT, KEPT + WIDTH, KEPT + 2 * WIDTH
COUNT = KEPT + WIDTH  # of hits, where all are kept or let through
TABLES_ADDRESS = KEPT + 2 * WIDTH  # of the tables of owners, for the filter that lets through
SAVED_GEOMETRY = KEPT + 3 * WIDTH
# What a filter writes to beyond that: its address (8 bytes) and size.
STORE_ADDRESS, STORE_SIZE = KEPT + 4 * WIDTH, KEPT + 4 * WIDTH + 2
# Rows of rays and valid flags that are set aside while a packet is traced into bodies.
SAVED_RAYS = STORE_SIZE + 2
SAVED_VALID = SAVED_RAYS + 7 * WIDTH
# Rows of float64, counted in words of 8 bytes: where rays start and go in the world, and when they
# are sent, as a share of the frame.
PLACE = (SAVED_VALID + WIDTH) // 2
ALONG, SENT = PLACE + 3 * WIDTH, PLACE + 6 * WIDTH
#: One over the parts of each direction, and over its length.
INVERSE, UNIT = SENT + WIDTH, SENT + 4 * WIDTH
#: How far a ray is sent after a knot of the bodies, as a share of the way to the next one.
SHARE = UNIT + WIDTH
#: Bodies that are looked at together, or blocks of them, and where it is noted which of them may
#: be met.
BLOCK = 16
MET = 2 * (SHARE + WIDTH)
MET_BLOCKS = MET + BLOCK
#: The knot that a ray is sent after.
KNOT = MET_BLOCKS + BLOCK
#: Embree reads packets with aligned vector loads of up to 64 bytes: 16 words.
ALIGNMENT = 16
#: Where ``HALF`` rays are laid out as Embree has so many, with room for their hits.
HALVES = -(-(KNOT + WIDTH) // ALIGNMENT) * ALIGNMENT
PACKET_WORDS = HALVES + 21 * HALF


class Packet(NamedTuple):
    """``WIDTH`` rays and their hits: the same memory as integers, floats and doubles."""

    words: NDArray[np.int32]
    floats: NDArray[np.float32]
    doubles: NDArray[np.float64]


@njit(cache=True)
def new_packet() -> Packet:
    """A packet without rays."""
    memory = np.zeros(PACKET_WORDS + ALIGNMENT, np.int32)
    first = (-(memory.ctypes.data // 4)) % ALIGNMENT
    words = memory[first : first + PACKET_WORDS]
    for lane in range(WIDTH):
        words[MASK + lane] = -1
        words[RAY_ID + lane] = lane  # a filter may be shown one ray of the packet
        words[INSTANCE_PRIMITIVE + lane] = INVALID_ID
    words[FEATURES] = -1  # all
    start = words.ctypes.data
    put_int64(start + 4 * ARGUMENTS, CONTEXT_ADDRESS, start + 4 * CONTEXT)
    words[CONTEXT] = INVALID_ID
    words[CONTEXT + 1] = INVALID_ID
    return Packet(words, words.view(np.float32), words.view(np.float64))


@njit(**ACCESS)
def put_origin(packet: Packet, lane: int, origin: Triple, near: Triple, t_min: float) -> None:
    """Put the start of a ray into a packet: in the world, and relative to Embree's origin.

    It stays there.
    """
    for k in range(3):
        packet.doubles[PLACE + k * WIDTH + lane] = origin[k]
        packet.floats[ORIGIN + k * WIDTH + lane] = near[k]
    packet.floats[T_MIN + lane] = t_min


@njit(**ACCESS)
def put_direction(packet: Packet, lane: int, direction: Triple, t_max: float) -> None:
    """Put the rest of a ray into a packet; ``check_ray`` makes it one that is traced."""
    for k in range(3):
        packet.doubles[ALONG + k * WIDTH + lane] = direction[k]
        packet.floats[DIRECTION + k * WIDTH + lane] = direction[k]
    packet.floats[T_MAX + lane] = t_max  # Embree writes there, too


@njit(**ACCESS)
def put_time(packet: Packet, lane: int, time: float) -> None:
    """Say when a ray is sent, as a share of the frame. It stays there."""
    packet.doubles[SENT + lane] = time


@njit(**ACCESS)
def copy_rays(packet: Packet, other: Packet) -> None:
    """Put the rays of a packet into another one."""
    for k in range(ORIGIN, T_MAX + WIDTH):
        other.words[k] = packet.words[k]
    for k in range(PLACE, SENT + WIDTH):
        other.doubles[k] = packet.doubles[k]
    for k in range(VALID, VALID + WIDTH):
        other.words[k] = packet.words[k]


@njit(**ACCESS)
def check_ray(packet: Packet, lane: int, started: bool) -> None:
    """Have a ray traced if it has a start and its direction is finite and not zero."""
    x = abs(packet.floats[DIRECTION + lane])
    y = abs(packet.floats[DIRECTION + WIDTH + lane])
    z = abs(packet.floats[DIRECTION + 2 * WIDTH + lane])
    length = x + y + z
    good = started & (length > 0.0) & (length < np.float32(np.inf))
    packet.words[VALID + lane] = -1 if good else 0


@njit(**ACCESS)
def is_valid(packet: Packet, lane: int) -> bool:
    """Whether there is a ray in a lane."""
    valid: bool = packet.words[VALID + lane] != 0
    return valid


@njit(**ACCESS)
def is_place(point: Triple) -> bool:
    """Whether a point is finite."""
    return abs(point[0]) + abs(point[1]) + abs(point[2]) < math.inf


@njit(**ACCESS)
def drop_ray(packet: Packet, lane: int) -> None:
    """Leave a lane without a ray; it hits nothing."""
    packet.words[VALID + lane] = 0
