r"""Optical flow and scene flow of what a camera sees, between the instants t and t'.

For the pixel (u, v) that sees the point q of a body B from the camera C

    P  = T_C(t)⁻¹ q        q' = T_B(t') T_B(t)⁻¹ q        P' = T_C(t')⁻¹ q'
    optical flow  π(P') - (u, v) in pixels,   scene flow  P' - P, or q' - q in the world

with the lens in π. Where nothing is seen q is a direction, and only the turn of the camera counts.
What stands still has T_B = 1. Rows may have instants of their own; t' is as much later for each.

Mask: 0 valid; 1 outside of the image at t'; 2 hidden then, by something nearer than q' less a
tolerance, or behind the camera; 3 nothing is there; 4 seen through glass or in a mirror, whose own
flow it is. Of several the first of 3, 1, 2, 4 holds.

Source: PHYSICS-2, 29. Exact for rigid bodies, however long t' - t is.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.camera.layout import corner_of, pixel_of, tiles_of
from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.rotations import Triple
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.hits import is_hit
from sensor_models.kernels.tracing.packets import ACCESS, Packet, drop_ray, new_packet
from sensor_models.kernels.tracing.rays import claim, nearest_allowed, set_ray, trace_quickly
from sensor_models.kernels.tracing.scene_view import SceneView
from sensor_models.kernels.tracing.sensor_poses import rotate, rotate_back

Floats = NDArray[np.float64]

VALID, OUTSIDE, HIDDEN, NOTHING, INDIRECT = range(5)
CHUNK = 32
#: Share of the distance that something must be nearer by to hide a point.
USUAL_TOLERANCE = 1e-3


class Lens(NamedTuple):
    """From directions to pixels."""

    fx: float
    fy: float
    cx: float
    cy: float
    fisheye: bool
    bends: bool
    terms: tuple[float, float, float, float, float, float, float, float]


class Track(NamedTuple):
    """Where the camera is at both instants, and how bodies get from one to the other."""

    rows: int
    columns: int
    axes: Floats  # (pixels, 3), unit rays
    now: Floats  # (1 or rows, 12), poses of the camera
    then: Floats  # likewise
    times: Floats  # (1 or rows,): instants of the rows, as shares of the frame
    bodies_now: Floats  # (knots, bodies, 12)
    bodies_then: Floats
    in_world: bool  # scene flow
    tolerance: float  # m; 0 for a share of the distance
    is_still: bool  # nothing moves


@njit(cache=True, forceinline=True, error_model="numpy")
def project(lens: Lens, x: float, y: float, z: float) -> tuple[float, float]:
    """Where a direction is in the image; NaN for one that is not in front of the camera."""
    if lens.fisheye:
        flat = math.sqrt(y * y + z * z)
        if flat == 0.0:
            return (lens.cx, lens.cy) if x > 0.0 else (math.nan, math.nan)
        angle = math.atan2(flat, x)
        k1, k2, k3, k4 = lens.terms[0], lens.terms[1], lens.terms[4], lens.terms[5]
        s = angle * angle
        bent = angle * (1.0 + s * (k1 + s * (k2 + s * (k3 + s * k4)))) / flat
        return lens.cx - lens.fx * bent * y, lens.cy - lens.fy * bent * z
    if not x > 0.0:
        return math.nan, math.nan
    a, b = -y / x, -z / x
    if lens.bends:
        k1, k2, p1, p2, k3, k4, k5, k6 = lens.terms
        r2 = a * a + b * b
        radial = (1.0 + r2 * (k1 + r2 * (k2 + r2 * k3))) / (1.0 + r2 * (k4 + r2 * (k5 + r2 * k6)))
        a, b = (
            a * radial + 2.0 * p1 * a * b + p2 * (r2 + 2.0 * a * a),
            b * radial + p1 * (r2 + 2.0 * b * b) + 2.0 * p2 * a * b,
        )
    return lens.cx + lens.fx * a, lens.cy + lens.fy * b


@njit(**ACCESS)
def carried(track: Track, body: int, time: float, place: Triple) -> Triple:
    """Where a point of a body gets to."""
    spans = len(track.bodies_now) - 1
    knot = min(max(int(time * spans), 0), max(spans - 1, 0))
    after, share = min(knot + 1, spans), time * spans - knot if spans > 0 else 0.0
    one, other = track.bodies_now[knot, body], track.bodies_now[after, body]
    x = place[0] - (one[9] + share * (other[9] - one[9]))
    y = place[1] - (one[10] + share * (other[10] - one[10]))
    z = place[2] - (one[11] + share * (other[11] - one[11]))
    a, b, c = rotate_back(one, (x, y, z))
    if share > 0.0:
        d, e, f = rotate_back(other, (x, y, z))
        a, b, c = a + share * (d - a), b + share * (e - b), c + share * (f - c)
    one, other = track.bodies_then[knot, body], track.bodies_then[after, body]
    x, y, z = rotate(one, (a, b, c))
    if share > 0.0:
        d, e, f = rotate(other, (a, b, c))
        x, y, z = x + share * (d - x), y + share * (e - y), z + share * (f - z)
    return (
        x + one[9] + share * (other[9] - one[9]),
        y + one[10] + share * (other[10] - one[10]),
        z + one[11] + share * (other[11] - one[11]),
    )


@njit(**ACCESS)
def flow_of(
    lens: Lens,
    track: Track,
    pixel: int,
    distance: float,
    body: int,
    flow: NDArray[np.float32],
    scene: NDArray[np.float32],
) -> tuple[int, Triple]:
    """Write the flow of a pixel; its mask as far as that is known, and where its point gets to."""
    row, column = pixel // track.columns, pixel % track.columns
    at = row if len(track.now) > 1 else 0
    now, then, time = track.now[at], track.then[at], track.times[at]
    own = (track.axes[pixel, 0], track.axes[pixel, 1], track.axes[pixel, 2])
    place, seen = rotate(now, own), distance < math.inf
    later = place
    if seen:
        own = (distance * own[0], distance * own[1], distance * own[2])
        x, y, z = rotate(now, own)
        place = (x + now[9], y + now[10], z + now[11])
        later = carried(track, body, time, place) if body >= 0 else place
        p = rotate_back(then, (later[0] - then[9], later[1] - then[10], later[2] - then[11]))
    else:
        p = rotate_back(then, place)
    u, v = project(lens, p[0], p[1], p[2])
    flow[pixel, 0], flow[pixel, 1] = u - (column + 0.5), v - (row + 0.5)
    if scene.size:
        for k in range(3):
            moved = later[k] - place[k] if track.in_world else p[k] - own[k]
            scene[pixel, k] = moved if seen else 0.0
    if not seen:
        return NOTHING, later
    if math.isnan(u):
        return HIDDEN, later
    if not (0.0 <= u < track.columns and 0.0 <= v < track.rows):
        return OUTSIDE, later
    return VALID, later


@njit(**ACCESS)
def look_back(
    view: SceneView, packet: Packet, track: Track, lane: int, pixel: int, to: Triple
) -> None:
    """Send a ray from where the camera will be toward a point, nearly as far as it."""
    at = pixel // track.columns if len(track.now) > 1 else 0
    then = track.then[at]
    origin = (then[9], then[10], then[11])
    along = (to[0] - origin[0], to[1] - origin[1], to[2] - origin[2])
    length = math.sqrt(along[0] ** 2 + along[1] ** 2 + along[2] ** 2)
    if not length > 0.0:
        drop_ray(packet, lane)
        return
    along = (along[0] / length, along[1] / length, along[2] / length)
    slack = track.tolerance if track.tolerance > 0.0 else USUAL_TOLERANCE * length
    reach = length - slack
    if reach > 0.0:
        set_ray(view, packet, lane, origin, along, nearest_allowed(view, origin), reach,
                track.times[at])  # fmt: skip
    else:
        drop_ray(packet, lane)


@njit(nogil=True, cache=True, error_model="numpy")
def follow(
    view: SceneView,
    claims: NDArray[np.int64],
    lens: Lens,
    track: Track,
    distance: NDArray[np.float32],
    body: NDArray[np.int32],
    indirect: NDArray[np.uint8],
    flow: NDArray[np.float32],
    scene: NDArray[np.float32],
    mask: NDArray[np.uint8],
) -> None:
    """The flow of all pixels; ``view`` has the bodies as they are at t'."""
    packet, total = new_packet(), tiles_of(track)
    first = claim(claims) * CHUNK
    while first < total:
        for tile in range(first, min(first + CHUNK, total)):
            corner, asked = corner_of(track, tile), False
            for lane in range(WIDTH):
                pixel = pixel_of(track, corner, lane)
                drop_ray(packet, lane)
                if pixel < 0:
                    continue
                state, later = flow_of(
                    lens, track, pixel, float(distance[pixel]), body[pixel], flow, scene
                )
                mask[pixel] = state
                if state == VALID and not track.is_still:
                    look_back(view, packet, track, lane, pixel, later)
                    asked = True
            if asked:
                trace_quickly(view, packet, True)
            for lane in range(WIDTH):
                pixel = pixel_of(track, corner, lane)
                if pixel >= 0 and mask[pixel] == VALID:
                    if asked and is_hit(packet, lane):
                        mask[pixel] = HIDDEN
                    elif indirect[pixel] != 0:
                        mask[pixel] = INDIRECT
        first = claim(claims) * CHUNK
