r"""Surfaces whose bidirectional reflectance is a table: isotropic, at one wavelength.

All tables of a scene lie one after the other in ``Path.tables``; the column ``BASE`` of a surface
says where its own begins. It consists of

    retro    f(θ, θ, 0), what goes back to where light comes from, at CURVE angles from 0 to π/2
    mirror   f(θ, θ, π), what goes on in the mirror direction, likewise
    shape    g(θ_l, θ_v, φ), at THETAS x THETAS x PHIS angles; only cameras have it

φ is the azimuth between light and viewer: 0 where the viewer is at the light, π in the mirror
direction. Both curves are linear between their nodes, which lie as close as 1/8 degree.

g is f over the reflectance under an even sky, so that cameras put the colour of a picture in its
place. Between the nodes of both θ it is linear in triangles whose long sides run along θ_l = θ_v:
peaks of mirrors and reflectors lie there, and would be cut into pieces by any other mixture.

The share of power that a table throws into a cone of half-angle β about the mirror direction is

    S = x / (1 + x),   x = π f(θ, θ, π) (n·l) (2 tan(β/2))²

f times the cone where that is little, and never more than there is: what a table says of a peak
narrower than its steps is only how strong it is.

An extension. Sheeting has its lobe besides (``surfaces``).
"""

import math

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.light.facing import COSINE, STRENGTH, SURFACE, Facing, surface_of
from sensor_models.kernels.light.surfaces import (
    BASE,
    KIND,
    RETRO,
    TABULATED,
    Surface,
    surface_at,
)
from sensor_models.kernels.math.rotations import Floats, Triple, cross, dot
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.packets import ACCESS

#: Nodes of a curve, and of a shape along each angle.
CURVE, THETAS, PHIS = 721, 91, 37
#: The first number of a shape, and how many numbers a table has with and without one.
SHAPE = 2 * CURVE
WITH_SHAPE = SHAPE + THETAS * THETAS * PHIS

_CURVE_STEPS = (CURVE - 1) / (0.5 * math.pi)
_THETA_STEPS = (THETAS - 1) / (0.5 * math.pi)
_PHI_STEPS = (PHIS - 1) / math.pi


@njit(**ACCESS)
def on_curve(tables: Floats, first: int, cosine: float) -> float:
    """The value of a curve at an angle to the normal, by its cosine."""
    place = math.acos(min(max(cosine, 0.0), 1.0)) * _CURVE_STEPS
    node = min(int(place), CURVE - 2)
    low = tables[first + node]
    return float(low + (place - node) * (tables[first + node + 1] - low))


@njit(**ACCESS)
def retro_of_table(tables: Floats, surface: Surface, cosine: float) -> float:
    """The bidirectional reflectance in 1/sr back to where the light comes from."""
    if not cosine > 0.0:
        return 0.0
    f = on_curve(tables, int(surface[BASE]), cosine)
    return float(f + surface[RETRO] * cosine * cosine)


@njit(**ACCESS)
def mirrored_of_table(tables: Floats, surface: Surface, cosine: float, cone: float) -> float:
    """The share S of power in a cone about the mirror direction; ``cone`` is tan²(β/2)."""
    if not cosine > 0.0:
        return 0.0
    f = on_curve(tables, int(surface[BASE]) + CURVE, cosine)
    x = 4.0 * math.pi * f * cosine * cone
    return float(x / (1.0 + x))


@njit(**ACCESS)
def send_back_tables(tables: Floats, seen: Facing) -> None:
    """Set what those surfaces of a packet send back that are tables."""
    own = seen.numbers
    for lane in range(WIDTH):
        if seen.hit[lane] and own[SURFACE + KIND * WIDTH + lane] == TABULATED:
            cosine = own[COSINE + lane]
            f = retro_of_table(tables, surface_of(seen, lane, 0.0), cosine)
            own[STRENGTH + lane] = f * cosine


@njit(**ACCESS)
def angle_to(normal: Triple, along: Triple) -> float:
    """The angle between two vectors of unit length, as exact next to 0 as elsewhere."""
    across = cross(normal, along)
    return math.atan2(math.sqrt(dot(across, across)), dot(normal, along))


@njit(**ACCESS)
def azimuth_between(light: Triple, viewer: Triple, normal: Triple) -> float:
    """The azimuth between two directions, 0 to π; 0 if one of them is the normal."""
    first, second = cross(normal, light), cross(normal, viewer)
    least = dot(first, first) * dot(second, second)
    if not least > 1e-24:
        return 0.0
    return math.acos(min(max(dot(first, second) / math.sqrt(least), -1.0), 1.0))


@njit(**ACCESS)
def layer_of_shape(tables: Floats, first: int, light: float, viewer: float) -> float:
    """The shape at places between the nodes of both angles to the normal, of one azimuth.

    ``first`` is the number of the azimuth at the first nodes of both.
    """
    i, j = min(int(light), THETAS - 2), min(int(viewer), THETAS - 2)
    s, t = light - i, viewer - j
    step = THETAS * PHIS
    corner = first + i * step + j * PHIS
    low, high = tables[corner], tables[corner + step + PHIS]
    if s > t:
        return float(low * (1.0 - s) + tables[corner + step] * (s - t) + high * t)
    return float(low * (1.0 - t) + tables[corner + PHIS] * (t - s) + high * s)


@njit(**ACCESS)
def shape_of_table(
    tables: Floats, surface: Surface, light: Triple, viewer: Triple, normal: Triple
) -> float:
    """The shape g in 1/sr; 0 unless light and viewer are both before the surface."""
    if not (dot(light, normal) > 0.0 and dot(viewer, normal) > 0.0):
        return 0.0
    first = int(surface[BASE]) + SHAPE
    a = min(angle_to(normal, light) * _THETA_STEPS, THETAS - 1.0)
    b = min(angle_to(normal, viewer) * _THETA_STEPS, THETAS - 1.0)
    turn = azimuth_between(light, viewer, normal) * _PHI_STEPS
    k = min(int(turn), PHIS - 2)
    low = layer_of_shape(tables, first + k, a, b)
    high = layer_of_shape(tables, first + k + 1, a, b)
    return float(low + (turn - k) * (high - low))


@njit(cache=True)
def shape_of_each(
    tables: Floats, surfaces: Floats, lights: Floats, viewers: Floats, result: Floats
) -> None:
    """``shape_of_table`` of the first surface for many directions, in arrays of three columns.

    The normal is z.
    """
    surface = surface_at(surfaces, 0)
    for i in range(len(lights)):
        result[i] = shape_of_table(
            tables,
            surface,
            (lights[i, 0], lights[i, 1], lights[i, 2]),
            (viewers[i, 0], viewers[i, 1], viewers[i, 2]),
            (0.0, 0.0, 1.0),
        )
