"""What becomes of light where it meets a surface: what comes back from there, and what goes on.

opaque      sends light back; the share S_f goes on in the mirror direction; nothing goes through
dielectric  a glint, by the top layer as rough as the detector's cone; R and 1 - R go on

A dielectric that a branch leaves without having entered it (an open mesh) is not there for it.
"""

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.light.arrivals import FROM_SURFACE, Arrivals, deliver, describe_surface
from sensor_models.kernels.light.boundaries import Bounds, look_behind, off_surface
from sensor_models.kernels.light.branches import (
    AHEAD,
    ALONG_X,
    ALONG_Y,
    ALONG_Z,
    BEHIND,
    DEPTH,
    EVENTS,
    REDUCED,
    TO_DRAW,
    WEIGHT,
    Branches,
    enter,
    entry_of,
    least_followed,
    leave,
    medium_of,
    push,
    step_down,
)
from sensor_models.kernels.light.facing import (
    COSINE,
    FACING,
    INDEX,
    LENGTH,
    STRENGTH,
    SURFACE,
    Facing,
    number_of,
    strength_of,
    surface_of,
    toward_of,
)
from sensor_models.kernels.light.fresnel import split
from sensor_models.kernels.light.media import MEDIUM_IOR
from sensor_models.kernels.light.paths import (
    BRANCH_LIMIT,
    DEPTH_LIMIT,
    EVENT_LIMIT,
    NESTING_LIMIT,
    Path,
)
from sensor_models.kernels.light.surfaces import (
    DIELECTRIC,
    KIND,
    LAMBERT,
    SLOPE_SQUARED,
    TABULATED,
    TWO_WAY,
    Surface,
    specular_share,
)
from sensor_models.kernels.light.tabulated import mirrored_of_table
from sensor_models.kernels.math.rotations import Triple, times
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.hits import hit_owner
from sensor_models.kernels.tracing.packets import ACCESS, Packet
from sensor_models.kernels.tracing.scene_view import SceneView

Counts = NDArray[np.int64]


@njit(**ACCESS)
def mirrored_share(
    path: Path,
    surface: Surface,
    depth: int,
    weight: float,
    least: float,
    cosine: float,
    index: float,
    lost: Counts,
) -> float:
    """The share of light that goes on from an opaque surface, 0 if that is not worth following.

    ``least`` is the weight from which on it is.
    """
    if surface[KIND] == LAMBERT:
        return 0.0
    # The share of a perfect mirror of this roughness: cheap, and often too little.
    if weight * path.cone < least * (surface[SLOPE_SQUARED] * cosine + path.cone):
        return 0.0
    if surface[KIND] == TABULATED:
        share: float = mirrored_of_table(path.tables, surface, cosine, path.cone)
    else:
        share = specular_share(surface, cosine, index, path.cone)
    if not weight * share >= least:
        return 0.0
    if depth >= path.most_depth:
        lost[DEPTH_LIMIT] += share > 0.0
        return 0.0
    return share


@njit(**ACCESS)
def with_index(surface: Surface, ior: float) -> Surface:
    """A surface with something else behind it."""
    return (
        surface[0],
        ior,
        surface[2],
        surface[3],
        surface[4],
        surface[5],
        surface[6],
        surface[7],
    )


@njit(**ACCESS)
def send_on(
    flight: Branches,
    row: int,
    waiting: Branches,
    along: Triple,
    off: Triple,
    share: float,
    lost: Counts,
) -> int:
    """Have a branch go on in some direction; -1 if there is no room for it."""
    place: int = push(flight, row, waiting, along, off, share)
    if place < 0:
        lost[BRANCH_LIMIT] += 1
    return place


@njit(**ACCESS)
def ignore(path: Path, flight: Branches, waiting: Branches, away: float, lost: Counts) -> None:
    """Send what is behind a surface straight on, as if there were no surface."""
    numbers = flight.numbers
    if flight.ids[BEHIND, EVENTS] >= path.most_events:
        lost[EVENT_LIMIT] += 1
        return
    flight.ids[BEHIND, EVENTS] += 1
    along = (numbers[BEHIND, ALONG_X], numbers[BEHIND, ALONG_Y], numbers[BEHIND, ALONG_Z])
    send_on(flight, BEHIND, waiting, along, times(away, along), 1.0, lost)


@njit(**ACCESS)
def meet_opaque(
    path: Path,
    flight: Branches,
    lane: int,
    waiting: Branches,
    surface: Surface,
    along: Triple,
    toward: Triple,
    cosine: float,
    index: float,
    away: float,
    lost: Counts,
) -> None:
    """Send the specular share on in the mirror direction."""
    weight, depth = flight.numbers[lane, WEIGHT], flight.ids[lane, DEPTH]
    least = least_followed(path, flight.numbers[lane, REDUCED])
    share = mirrored_share(path, surface, depth, weight, least, cosine, index, lost)
    if share > 0.0:
        twice = 2.0 * cosine
        mirrored = (
            along[0] + twice * toward[0],
            along[1] + twice * toward[1],
            along[2] + twice * toward[2],
        )
        place = send_on(flight, lane, waiting, mirrored, times(away, toward), share, lost)
        if place >= 0:
            step_down(waiting, place, 1)


@njit(**ACCESS)
def meet_dielectric(
    path: Path,
    flight: Branches,
    lane: int,
    waiting: Branches,
    through: Branches,
    along: Triple,
    toward: Triple,
    index: float,
    behind: float,
    away: float,
    lost: Counts,
) -> None:
    """Split a ray at a clear interface."""
    weight = flight.numbers[lane, WEIGHT]
    least = least_followed(path, flight.numbers[lane, REDUCED])
    if flight.ids[lane, DEPTH] >= path.most_depth:
        lost[DEPTH_LIMIT] += weight >= least
        return
    back, mirrored, refracted = split(along, toward, index, behind)
    if back > 0.0 and weight * back >= least:
        place = send_on(flight, lane, waiting, mirrored, times(away, toward), back, lost)
        if place >= 0:
            step_down(waiting, place, 1)
    if back < 1.0 and weight * (1.0 - back) >= least:
        off = times(-away, toward)
        place = send_on(flight, BEHIND, through, refracted, off, 1.0 - back, lost)
        if place >= 0:
            step_down(through, place, 2)
            through.numbers[place, AHEAD] = TO_DRAW


@njit(**ACCESS)
def change_sides(
    path: Path, flight: Branches, owner: int, material: int, inward: bool, lost: Counts
) -> bool:
    """Have the row ``BEHIND`` enter or leave a dielectric; False if it was not in it."""
    if inward:
        inside = len(path.media) - len(path.surfaces) + material
        if not enter(flight, BEHIND, owner, inside):
            lost[NESTING_LIMIT] += 1
        return True
    entry: int = entry_of(flight, BEHIND, owner)
    if entry >= 0:
        leave(flight, BEHIND, entry)
    return entry >= 0


@njit(**ACCESS)
def arrive_at_surface(
    view: SceneView,
    path: Path,
    packet: Packet,
    bounds: Bounds,
    lane: int,
    arrivals: Arrivals,
    flight: Branches,
    waiting: Branches,
    through: Branches,
    seen: Facing,
    passed: int,
    lost: Counts,
) -> None:
    """What a ray that hits sends back, and its branches; ``flight`` has its state on arrival.

    What is reflected goes to ``waiting``, what goes on behind the surface to ``through``.
    ``seen`` is what the packet hits, and what opaque surfaces of it send back. ``passed`` is how
    many boundaries lie before the surface; those at it lie behind it. All of this needs the same
    numbers, so it is one function of more than 40 lines.
    """
    numbers = flight.numbers
    along = (numbers[lane, ALONG_X], numbers[lane, ALONG_Y], numbers[lane, ALONG_Z])
    away, cosine = off_surface(number_of(seen, LENGTH, lane)), number_of(seen, COSINE, lane)
    toward, material = toward_of(seen, lane), seen.material[lane]
    surface = surface_of(seen, lane, number_of(seen, SURFACE + TWO_WAY * WIDTH, lane))
    index, strength = number_of(seen, INDEX, lane), number_of(seen, STRENGTH, lane)
    clear, behind = surface[KIND] == DIELECTRIC, index
    if clear:
        look_behind(view, path, bounds, lane, flight, passed, lost)
        owner, inward = hit_owner(packet, lane), number_of(seen, FACING, lane) >= 0.0
        if not change_sides(path, flight, owner, material, inward, lost):
            ignore(path, flight, through, away, lost)
            return
        behind = path.media[medium_of(flight, BEHIND), MEDIUM_IOR]
        surface = with_index(surface, behind)
        strength = strength_of(surface, along, toward, cosine, index, path.cone)
    row = deliver(path, arrivals, FROM_SURFACE, flight, lane, strength)
    describe_surface(view, path, packet, lane, arrivals, row, toward, cosine)
    if clear:
        meet_dielectric(
            path, flight, lane, waiting, through, along, toward, index, behind, away, lost
        )
    else:
        meet_opaque(path, flight, lane, waiting, surface, along, toward, cosine, index, away, lost)
