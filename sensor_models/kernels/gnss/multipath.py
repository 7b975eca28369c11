r"""Signals that arrive by a detour: hidden satellites seen in a mirror.

A plane facet with unit normal n, at the distance d in front of which the antenna is, shows a
satellite in the direction s where it would stand behind it. The signal arrives along

    s' = s - 2 (s . n) n        and has come a way that is longer by      Δ = 2 d (n . s)

The ray along s' must meet that facet before any other opaque surface, and the way from there
toward s must be free. Of several mirrors, the one with the least detour holds. Only planes within
``REACH`` count. The receiver cannot tell the detour from distance: Δ is the error of the range.

Deviation: satellites that are seen directly are used without their reflections. A receiver tracks
the sum of both, whose error is a fraction of Δ that depends on correlator, antenna and surface,
which no data sheet gives. Not modelled: several reflections, loss at the mirror, glass as a
mirror, mirrors that move, curved ones.

Source: image method, as in Misra and Enge, 10.4.
"""

import math

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.gnss.sky import (
    ALONG,
    DETOUR,
    HIDDEN,
    IN_WORLD,
    REFLECTED,
    STATUS,
    Lanes,
    hide,
    new_lanes,
    trace_through_glass,
)
from sensor_models.kernels.math.rotations import Triple, dot, minus, plus, times, triple_at
from sensor_models.kernels.options import PLAIN
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.packets import ACCESS, Packet, drop_ray, new_packet
from sensor_models.kernels.tracing.rays import claim, nearest_allowed, set_ray
from sensor_models.kernels.tracing.scene_view import SceneView

Floats = NDArray[np.float64]

#: Columns of the table of mirrors: unit normal n, n . x of its points, centre and radius.
NORMAL, LEVEL, CENTRE, RADIUS = 0, 3, 4, 7
MIRROR_SIZE = 8

#: Mirrors farther away than this are left out, m.
REACH = 50.0
#: A ray meets the mirror that it was sent to if it ends this near to its plane, m, at this cosine.
SAME_PLANE, SAME_NORMAL = 0.01, 0.9999
#: The way on starts this far in front of the mirror, m, as rounding may leave it behind.
CLEARANCE = 1e-3


@njit(**PLAIN)
def detour(normal: Triple, level: float, antenna: Triple, along: Triple) -> float:
    """The detour by a mirror, NaN if satellite or antenna are behind it or it is out of reach."""
    facing = dot(normal, along)
    distance = dot(normal, antenna) - level
    if facing <= 0.0 or distance <= 0.0 or distance > REACH:
        return math.nan
    extra: float = 2.0 * distance * facing
    return extra


@njit(**PLAIN)
def mirrored(normal: Triple, along: Triple) -> Triple:
    """The direction that a signal arrives from by a mirror."""
    arriving: Triple = minus(along, times(2.0 * dot(normal, along), normal))
    return arriving


@njit(**PLAIN)
def is_candidate(mirrors: Floats, plane: int, antenna: Triple, along: Triple) -> bool:
    """Whether the point of reflection is where the facets of a mirror may be."""
    row = mirrors[plane]
    normal = triple_at(row, NORMAL)
    extra = detour(normal, row[LEVEL], antenna, along)
    if math.isnan(extra):
        return False
    facing = dot(normal, along)
    length = extra / (2.0 * facing * facing)
    point = plus(antenna, times(length, mirrored(normal, along)))
    off = minus(point, triple_at(row, CENTRE))
    inside: bool = dot(off, off) <= row[RADIUS] * row[RADIUS]
    return inside


@njit(**ACCESS)
def _check(
    view: SceneView,
    packet: Packet,
    lanes: Lanes,
    opaque: NDArray[np.bool_],
    place: Floats,
    mirrors: Floats,
    sky: Floats,
    filled: int,
) -> None:
    """Trace the candidates of a packet to their mirrors and on, and take those that arrive."""
    antenna = triple_at(place, IN_WORLD)
    for lane in range(filled, WIDTH):
        drop_ray(packet, lane)
    trace_through_glass(view, packet, opaque, lanes)
    for lane in range(filled):
        row = mirrors[lanes.plane[lane]]
        normal = triple_at(row, NORMAL)
        along = triple_at(sky[lanes.row[lane]], ALONG)
        length = lanes.length[lane]
        met = triple_at(lanes.normal[lane], 0)
        point = plus(antenna, times(length, mirrored(normal, along)))
        there = length < math.inf and abs(dot(point, normal) - row[LEVEL]) < SAME_PLANE
        if there and abs(dot(met, normal)) > SAME_NORMAL:
            start = plus(point, times(CLEARANCE, normal))
            t_min = nearest_allowed(view, start)
            set_ray(view, packet, lane, start, along, t_min, math.inf, 0.0)
        else:
            lanes.row[lane] = -1
    trace_through_glass(view, packet, opaque, lanes)
    for lane in range(filled):
        row_of = lanes.row[lane]
        if row_of < 0 or lanes.length[lane] < math.inf:
            continue
        if sky[row_of, STATUS] != REFLECTED or lanes.detour[lane] < sky[row_of, DETOUR]:
            sky[row_of, STATUS], sky[row_of, DETOUR] = REFLECTED, lanes.detour[lane]


@njit(**ACCESS)
def reflect(
    view: SceneView,
    packet: Packet,
    lanes: Lanes,
    opaque: NDArray[np.bool_],
    place: Floats,
    mirrors: Floats,
    sky: Floats,
) -> None:
    """Find the hidden satellites that a mirror shows, with the least detour of each."""
    antenna = triple_at(place, IN_WORLD)
    t_min = nearest_allowed(view, antenna)
    filled = 0
    for satellite in range(len(sky)):
        if sky[satellite, STATUS] != HIDDEN:
            continue
        along = triple_at(sky[satellite], ALONG)
        for plane in range(len(mirrors)):
            if not is_candidate(mirrors, plane, antenna, along):
                continue
            normal = triple_at(mirrors[plane], NORMAL)
            arriving = mirrored(normal, along)
            set_ray(view, packet, filled, antenna, arriving, t_min, math.inf, 0.0)
            lanes.row[filled], lanes.plane[filled] = satellite, plane
            lanes.detour[filled] = detour(normal, mirrors[plane, LEVEL], antenna, along)
            filled += 1
            if filled == WIDTH:
                _check(view, packet, lanes, opaque, place, mirrors, sky, filled)
                filled = 0
    if filled > 0:
        _check(view, packet, lanes, opaque, place, mirrors, sky, filled)


@njit(nogil=True, cache=True)
def look(
    view: SceneView,
    claims: NDArray[np.int64],
    opaque: NDArray[np.bool_],
    place: Floats,
    mirrors: Floats,
    sky: Floats,
) -> None:
    """What can be seen from an antenna, directly or, if there are mirrors, by them.

    For a scene's ``run``; all of it is one chunk of work.
    """
    if claim(claims) != 0:
        return
    packet, lanes = new_packet(), new_lanes()
    if hide(view, packet, lanes, opaque, place, sky) > 0 and len(mirrors) > 0:
        reflect(view, packet, lanes, opaque, place, mirrors, sky)
