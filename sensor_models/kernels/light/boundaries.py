"""Boundaries of volumes on the way of a ray.

Nothing bends there, so the boundaries on the way to a surface are found and passed together: any
number of them may lie in one place, or in that of a surface, as those of fog on the ground do.
What lies at a surface is behind it: light that is reflected there has not passed it. An exit from
what was never entered (an open mesh) is ignored.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.light.arrivals import Arrivals
from sensor_models.kernels.light.branches import (
    AHEAD,
    ALONG_X,
    ALONG_Y,
    ALONG_Z,
    BEHIND,
    EVENTS,
    IDS,
    MOST_EVENTS,
    NUMBERS,
    TO_DRAW,
    Branches,
    enter,
    entry_of,
    leave,
    medium_of,
)
from sensor_models.kernels.light.paths import EVENT_LIMIT, NESTING_LIMIT, Path
from sensor_models.kernels.light.segments import advance, draw_ahead
from sensor_models.kernels.math.rotations import dot
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.hits import (
    hit_distance,
    hit_normal,
    hit_owner,
    is_hit,
)
from sensor_models.kernels.tracing.packets import (
    ACCESS,
    T_MAX,
    T_MIN,
    Packet,
    copy_rays,
    new_packet,
)
from sensor_models.kernels.tracing.rays import (
    hits_found,
    new_notes,
    show_hit,
    trace_all_boundaries,
)
from sensor_models.kernels.tracing.scene_view import SceneView


class Bounds(NamedTuple):
    """The boundaries of volumes on the way of the rays of a packet."""

    packet: Packet  # the same rays
    notes: NDArray[np.int32]  # all boundaries of each, the nearest first


@njit(cache=True)
def new_bounds() -> Bounds:
    """Room for the boundaries on the way of a packet."""
    return Bounds(new_packet(), new_notes(MOST_EVENTS))


@njit(**ACCESS)
def trace_bounds(view: SceneView, packet: Packet, bounds: Bounds, coherent: bool) -> None:
    """Find the boundaries of volumes on the way of a packet that was traced, to what it hits."""
    other = bounds.packet
    copy_rays(packet, other)
    for lane in range(WIDTH):
        if is_hit(packet, lane):
            length = hit_distance(packet, lane)
            other.floats[T_MAX + lane] = length + as_near_as(packet, lane, length)
    trace_all_boundaries(view, other, coherent, bounds.notes)


@njit(**ACCESS)
def as_near_as(packet: Packet, lane: int, length: float) -> float:
    """The distance in m within which float32 cannot tell a point from the surface that was hit."""
    return float(4.0 * max(off_surface(length), packet.floats[T_MIN + lane]))


@njit(**ACCESS)
def off_surface(length: float) -> float:
    """The distance in m from a surface at which branches start that leave it.

    It grows with the length of the ray that hit the surface, as its rounding does.
    """
    return 1e-6 * max(1.0, length)


@njit(**ACCESS)
def cross_boundary(
    view: SceneView,
    path: Path,
    bounds: Bounds,
    lane: int,
    number: int,
    flight: Branches,
    row: int,
    lost: NDArray[np.int64],
) -> None:
    """Take note in a row of ``flight`` that a boundary is crossed.

    A branch that meets two faces of a volume at their common edge has entered it once.
    """
    show_hit(bounds.packet, bounds.notes, lane, number)
    owner, numbers = hit_owner(bounds.packet, lane), flight.numbers
    entry = entry_of(flight, row, owner)
    along = (numbers[row, ALONG_X], numbers[row, ALONG_Y], numbers[row, ALONG_Z])
    outward = dot(along, hit_normal(view, bounds.packet, lane)) > 0.0
    if outward and entry >= 0:
        leave(flight, row, entry)
    elif not outward and entry < 0 and not enter(flight, row, owner, path.medium_of_volume[owner]):
        lost[NESTING_LIMIT] += 1


@njit(**ACCESS)
def pass_bounds(
    view: SceneView,
    path: Path,
    bounds: Bounds,
    lane: int,
    arrivals: Arrivals,
    flight: Branches,
    end: float,
    lost: NDArray[np.int64],
) -> tuple[float, int]:
    """Bring a ray through the boundaries on its way that lie before ``end``.

    Returns:
        How far it came, negative if it ends on the way, and how many boundaries those are.
    """
    done, number = 0.0, 0
    found = min(hits_found(bounds.packet, lane), MOST_EVENTS)
    while number < found:
        show_hit(bounds.packet, bounds.notes, lane, number)
        length = float(hit_distance(bounds.packet, lane))
        if length >= end:
            break
        if not advance(path, arrivals, flight, lane, length - done):
            return -1.0, number
        if flight.ids[lane, EVENTS] >= path.most_events:
            lost[EVENT_LIMIT] += 1
            return -1.0, number
        flight.ids[lane, EVENTS] += 1
        before = medium_of(flight, lane)
        cross_boundary(view, path, bounds, lane, number, flight, lane, lost)
        if medium_of(flight, lane) != before:
            draw_ahead(path, flight, lane)
        done, number = length, number + 1
    return done, number


@njit(**ACCESS)
def look_behind(
    view: SceneView,
    path: Path,
    bounds: Bounds,
    lane: int,
    flight: Branches,
    passed: int,
    lost: NDArray[np.int64],
) -> None:
    """Put the ray of a lane behind the boundaries at the surface it meets, in a row of its own."""
    for k in range(NUMBERS):
        flight.numbers[BEHIND, k] = flight.numbers[lane, k]
    for k in range(IDS):
        flight.ids[BEHIND, k] = flight.ids[lane, k]
    if view.volumes > 0:
        for number in range(passed, min(hits_found(bounds.packet, lane), MOST_EVENTS)):
            cross_boundary(view, path, bounds, lane, number, flight, BEHIND, lost)
        if medium_of(flight, BEHIND) != medium_of(flight, lane):
            flight.numbers[BEHIND, AHEAD] = TO_DRAW
