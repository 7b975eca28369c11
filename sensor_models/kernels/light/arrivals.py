"""What comes back from the tree of rays: one row for each place that sends light back.

A detector gives each ray that it sends an index (``RAY``) and a number (``NUMBER``) of its own,
and finds both in the rows of all branches of that ray. It takes the rows out after each packet;
there is room for all that one packet can make. What a row is of:

FROM_SURFACE  A surface was met. ``STRENGTH`` is what it sends straight back, f(l, l) (n.l) in 1/sr.
FROM_MEDIUM   A medium answered on the way. ``STRENGTH`` is its back-scatter in 1/sr.
MISSED        The branch met nothing within reach (only if ``Path.flags`` asks for it). The numbers
              are those at the beginning of its last segment.
STRETCH       A branch came some way through a medium (only if asked for). The numbers are those at
              the beginning of the segment, and ``STRENGTH`` is its length in m.

Places, directions and times, and which facet of which body it was, are there only if
``Path.flags`` asks for them: they take longer than all else.

``WEIGHT`` is what is left of the weight that the ray set out with: transmission of the media and
shares of the interfaces on the way there. The arrivals of one ray are a tree by ``NODE``: that of
node i > 0 descends from the surface at node (i - 1) // 2, which has arrived before.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.light import branches
from sensor_models.kernels.light.branches import MOST_EVENTS, Branches, medium_of
from sensor_models.kernels.light.paths import TELL_PLACES, Path
from sensor_models.kernels.math.rotations import Triple
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.hits import (
    hit_entity,
    hit_label,
    hit_material,
    hit_owner,
    hit_primitive,
)
from sensor_models.kernels.tracing.packets import ACCESS, Packet
from sensor_models.kernels.tracing.scene_view import SceneView

# Columns of Arrivals.numbers: what is left of the light, optical and reduced path in m, what is
# sent back, the cosine between ray and normal, the normal on the side of the ray, the direction
# of the ray, the place in the world, and when the ray was sent.
WEIGHT, OPTICAL, REDUCED, STRENGTH, COSINE, NORMAL_X, NORMAL_Y, NORMAL_Z = range(8)
ALONG_X, ALONG_Y, ALONG_Z, PLACE_X, PLACE_Y, PLACE_Z, TIME = range(8, 15)
NUMBERS = 15
# Columns of Arrivals.ids; ids of what is no surface are -1. MEDIUM is the row of the medium
# through which the light came; OWNER and PRIMITIVE name the facet.
KIND, RAY, NUMBER, NODE, DEPTH, MEDIUM, ENTITY, MATERIAL, LABEL, OWNER, PRIMITIVE = range(11)
IDS = 11

FROM_SURFACE, FROM_MEDIUM, MISSED, STRETCH = range(4)

#: Rows that the rays of one packet can make: a segment and an answer for each medium on the way,
#: and what is at the end.
ROOM = WIDTH * (2 * (MOST_EVENTS + 1) + 1)


class Arrivals(NamedTuple):
    """Light that came back since a detector last took it out, a row each."""

    filled: NDArray[np.int64]  # (1,): how many rows there are
    numbers: NDArray[np.float64]  # (ROOM, NUMBERS)
    ids: NDArray[np.int64]  # (ROOM, IDS)


@njit(cache=True)
def new_arrivals() -> Arrivals:
    """Room for what comes back from a packet."""
    return Arrivals(
        np.zeros(1, np.int64), np.empty((ROOM, NUMBERS)), np.empty((ROOM, IDS), np.int64)
    )


@njit(**ACCESS)
def deliver(
    path: Path, arrivals: Arrivals, kind: int, flight: Branches, lane: int, strength: float
) -> int:
    """Note what comes back from where a branch is; returns the row.

    Who calls this says what it is that sends it back, and where, if it lies ahead.
    """
    row: int = arrivals.filled[0]
    arrivals.filled[0] = row + 1
    numbers, ids = arrivals.numbers, arrivals.ids
    own, own_ids = flight.numbers, flight.ids
    numbers[row, WEIGHT] = own[lane, branches.WEIGHT]
    numbers[row, OPTICAL] = own[lane, branches.OPTICAL]
    numbers[row, REDUCED] = own[lane, branches.REDUCED]
    numbers[row, STRENGTH] = strength
    ids[row, KIND] = kind
    ids[row, RAY], ids[row, NUMBER] = own_ids[lane, branches.RAY], own_ids[lane, branches.NUMBER]
    ids[row, NODE], ids[row, DEPTH] = own_ids[lane, branches.NODE], own_ids[lane, branches.DEPTH]
    ids[row, MEDIUM] = medium_of(flight, lane)
    if path.flags & TELL_PLACES:
        for k in range(3):
            numbers[row, ALONG_X + k] = own[lane, branches.ALONG_X + k]
            numbers[row, PLACE_X + k] = own[lane, branches.START_X + k]
        numbers[row, TIME] = own[lane, branches.TIME]
        ids[row, OWNER] = ids[row, PRIMITIVE] = -1
    return row


@njit(**ACCESS)
def describe_none(arrivals: Arrivals, row: int) -> None:
    """Write that an arrival comes from no surface."""
    numbers, ids = arrivals.numbers, arrivals.ids
    numbers[row, COSINE] = 1.0
    numbers[row, NORMAL_X] = numbers[row, NORMAL_Y] = numbers[row, NORMAL_Z] = 0.0
    ids[row, ENTITY] = ids[row, MATERIAL] = ids[row, LABEL] = -1


@njit(**ACCESS)
def describe_surface(
    view: SceneView,
    path: Path,
    packet: Packet,
    lane: int,
    arrivals: Arrivals,
    row: int,
    toward: Triple,
    cosine: float,
) -> None:
    """Write which surface an arrival comes from."""
    numbers, ids = arrivals.numbers, arrivals.ids
    numbers[row, COSINE] = cosine
    for k in range(3):
        numbers[row, NORMAL_X + k] = toward[k]
    ids[row, ENTITY] = hit_entity(view, packet, lane)
    ids[row, MATERIAL] = hit_material(view, packet, lane)
    ids[row, LABEL] = hit_label(view, packet, lane)
    if path.flags & TELL_PLACES:
        ids[row, OWNER] = hit_owner(packet, lane)
        ids[row, PRIMITIVE] = hit_primitive(packet, lane)
