"""The sky above an antenna: where satellites stand, and which of them can be seen.

A satellite counts if it stands at least the elevation mask above the local horizon (the plane
that is level at the antenna), and if the ray from the antenna toward it meets no opaque surface.
The ray goes on through dielectric surfaces (glass), however many. It begins at the antenna, so
the body that carries the antenna hides satellites like everything else.

Rays start at the antenna to within a millionth of its distance from the origin of the scene, and
have no end. Not modelled: diffraction around edges, loss in what is passed (leaves block, glass
does not weaken), refraction in the atmosphere.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.gnss.geodesy import Axes
from sensor_models.kernels.gnss.orbits import satellite_position
from sensor_models.kernels.math.rotations import dot, minus, triple_at
from sensor_models.kernels.options import PLAIN
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.hits import hit_distance, hit_material, hit_normal, is_hit
from sensor_models.kernels.tracing.packets import ACCESS, T_MAX, T_MIN, Packet, drop_ray
from sensor_models.kernels.tracing.rays import (
    nearest_allowed,
    set_ray,
    trace_surfaces,
)
from sensor_models.kernels.tracing.scene_view import SceneView

Floats = NDArray[np.float64]

# Columns of a sky, a row for each satellite: its status; the unit vector toward it as east, north
# and up at the antenna, and along the axes of the world; the error of its range; the detour of a
# reflected signal.
STATUS, EAST, NORTH, UP, ALONG, ERROR, DETOUR = 0, 1, 2, 3, 4, 7, 8
SKY_SIZE = 9

# Status of a satellite. From USED on, it takes part in the fix.
BELOW, HIDDEN, USED, REFLECTED = 0.0, 1.0, 2.0, 3.0

#: Places in the description of where an antenna is: in the world and Earth-fixed; latitude,
#: longitude, height; velocity to the east, north and up; those three axes, Earth-fixed.
IN_WORLD, IN_ECEF, GEODETIC, SPEED, LOCAL_AXES = 0, 3, 6, 9, 12
PLACE_SIZE = 21

#: Surfaces that let a ray pass, before it counts as blocked.
MOST_PASSED = 1000


@njit(**PLAIN)
def axes_at(values: Floats, place: int) -> Axes:
    """Three unit vectors out of a flat array."""
    return triple_at(values, place), triple_at(values, place + 3), triple_at(values, place + 6)


@njit(**PLAIN)
def survey(
    orbits: Floats, time: float, place: Floats, world: Axes, least_sine: float, sky: Floats
) -> None:
    """Where all satellites stand at a GPS time of week; those above the mask count as used."""
    antenna = triple_at(place, IN_ECEF)
    east, north, up = axes_at(place, LOCAL_AXES)
    x_axis, y_axis, z_axis = world
    for row in range(len(orbits)):
        way = minus(satellite_position(orbits, row, time), antenna)
        scale = 1.0 / math.sqrt(dot(way, way))
        sky[row, EAST], sky[row, NORTH] = scale * dot(way, east), scale * dot(way, north)
        sky[row, UP] = scale * dot(way, up)
        sky[row, ALONG] = scale * dot(way, x_axis)
        sky[row, ALONG + 1] = scale * dot(way, y_axis)
        sky[row, ALONG + 2] = scale * dot(way, z_axis)
        sky[row, ERROR], sky[row, DETOUR] = 0.0, 0.0
        sky[row, STATUS] = USED if sky[row, UP] >= least_sine else BELOW


class Lanes(NamedTuple):
    """For each ray of a packet, its satellite or mirror and what it hit."""

    row: NDArray[np.int64]  # (WIDTH,), the satellite
    plane: NDArray[np.int64]  # (WIDTH,), the mirror
    length: Floats  # (WIDTH,), to the first opaque surface, inf for none
    normal: Floats  # (WIDTH, 3), of that surface
    detour: Floats  # (WIDTH,)


@njit(cache=True)
def new_lanes() -> Lanes:
    """Room for what belongs to the rays of a packet."""
    return Lanes(
        np.zeros(WIDTH, np.int64),
        np.zeros(WIDTH, np.int64),
        np.zeros(WIDTH),
        np.zeros((WIDTH, 3)),
        np.zeros(WIDTH),
    )


@njit(**ACCESS)
def trace_through_glass(
    view: SceneView, packet: Packet, opaque: NDArray[np.bool_], lanes: Lanes
) -> None:
    """Find the first opaque surface along each ray of a packet; the rays are used up.

    A ray that met glass starts again behind it, from the same origin, so lengths stay its own.
    """
    for lane in range(WIDTH):
        lanes.length[lane] = math.inf
    for turn in range(MOST_PASSED):
        trace_surfaces(view, packet, False)
        passed = False
        for lane in range(WIDTH):
            if not is_hit(packet, lane):
                drop_ray(packet, lane)
                continue
            t = float(hit_distance(packet, lane))
            if opaque[hit_material(view, packet, lane)] or turn == MOST_PASSED - 1:
                lanes.length[lane] = t
                x, y, z = hit_normal(view, packet, lane)
                lanes.normal[lane, 0], lanes.normal[lane, 1], lanes.normal[lane, 2] = x, y, z
                drop_ray(packet, lane)
                continue
            passed = True
            packet.floats[T_MIN + lane] = t + 1e-6 * max(1.0, t)
            packet.floats[T_MAX + lane] = math.inf
        if not passed:
            return


@njit(**ACCESS)
def hide(
    view: SceneView,
    packet: Packet,
    lanes: Lanes,
    opaque: NDArray[np.bool_],
    place: Floats,
    sky: Floats,
) -> int:
    """Mark the satellites above the mask that a surface hides, and count them."""
    antenna = triple_at(place, IN_WORLD)
    t_min = nearest_allowed(view, antenna)
    row, hidden = 0, 0
    while row < len(sky):
        filled = 0
        while row < len(sky) and filled < WIDTH:
            if sky[row, STATUS] == USED:
                along = (sky[row, ALONG], sky[row, ALONG + 1], sky[row, ALONG + 2])
                set_ray(view, packet, filled, antenna, along, t_min, math.inf, 0.0)
                lanes.row[filled] = row
                filled += 1
            row += 1
        for lane in range(filled, WIDTH):
            drop_ray(packet, lane)
        if filled > 0:
            trace_through_glass(view, packet, opaque, lanes)
        for lane in range(filled):
            if lanes.length[lane] < math.inf:
                sky[lanes.row[lane], STATUS] = HIDDEN
                hidden += 1
    return hidden
