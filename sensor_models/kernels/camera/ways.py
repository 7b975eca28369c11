r"""Where a camera sees points at another instant: its lens, and the ways of points to there.

A point at the distance d along the unit ray a of a pixel is on a body B with the pose (R_B, p_B).
The camera has the pose (R_C, p_C). From the camera at t' it is

    P' / d = G a + g / d
    G = R_C'ᵀ R_B' R_Bᵀ R_C        g = R_C'ᵀ (R_B' R_Bᵀ (p_C - p_B) + p_B' - p_C')

and without R_B and p_B if it stands still. Differences of places are taken first, so that nothing
is lost far from the world's origin. Between two knots poses are blended as where bodies are traced
(``tracing.moving``).
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.rotations import Triple
from sensor_models.kernels.tracing.packets import ACCESS
from sensor_models.kernels.tracing.sensor_poses import rotate, rotate_back

Floats = NDArray[np.float64]

#: G by rows, then g.
Way = tuple[
    float, float, float, float, float, float, float, float, float, float, float, float
]  # fmt: skip
Terms = tuple[float, float, float, float, float, float, float, float]


class Lens(NamedTuple):
    """From directions to pixels."""

    fx: float  # focal length along a row, px
    fy: float  # focal length along a column, px
    cx: float  # principal point, px from the left edge
    cy: float  # principal point, px from the upper edge
    fisheye: bool  # the model is fisheye, else pinhole
    bends: bool  # any term of distortion is not 0
    terms: Terms  # k1, k2, p1, p2, k3 to k6, in the order of OpenCV


class Track(NamedTuple):
    """Where the camera is at both instants, and how bodies get from one to the other."""

    rows: int  # of pixels
    columns: int  # of pixels
    axes: Floats  # (pixels * 3,), unit rays
    now: Floats  # (1 or rows, 12), poses of the camera
    then: Floats  # (1 or rows, 12), poses of the camera at the other instant
    times: Floats  # (1 or rows,): instants of the rows, as shares of the frame
    bodies_now: Floats  # (knots, bodies, 12), poses
    bodies_then: Floats  # (knots, bodies, 12), poses at the other instant
    moving: NDArray[np.int32]  # of each owner: its body if that moves, else -1
    some_move: bool  # any body moves
    looks_back: bool  # something may come between the camera and what it saw
    shows_others: NDArray[np.uint8]  # (materials + 1,): glass or a mirror; none if none is
    in_world: bool  # scene flow
    tolerance: float  # m; 0 for a share of the distance


@njit(cache=True, forceinline=True, error_model="numpy")
def bent(terms: Terms, a: float, b: float) -> tuple[float, float]:
    """Where distortion takes coordinates of the pinhole model."""
    k1, k2, p1, p2, k3, k4, k5, k6 = terms
    r2 = a * a + b * b
    radial = (1.0 + r2 * (k1 + r2 * (k2 + r2 * k3))) / (1.0 + r2 * (k4 + r2 * (k5 + r2 * k6)))
    return (
        a * radial + 2.0 * p1 * a * b + p2 * (r2 + 2.0 * a * a),
        b * radial + p1 * (r2 + 2.0 * b * b) + 2.0 * p2 * a * b,
    )


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
        out = angle * (1.0 + s * (k1 + s * (k2 + s * (k3 + s * k4)))) / flat
        return lens.cx - lens.fx * out * y, lens.cy - lens.fy * out * z
    if not x > 0.0:
        return math.nan, math.nan
    a, b = -y / x, -z / x
    if lens.bends:
        a, b = bent(lens.terms, a, b)
    return lens.cx + lens.fx * a, lens.cy + lens.fy * b


@njit(**ACCESS)
def column_of(pose: Floats, k: int) -> Triple:
    """Where an axis of a pose points in the world."""
    return pose[k], pose[3 + k], pose[6 + k]


@njit(**ACCESS)
def row_way(track: Track, at: int) -> tuple[Way, bool]:
    """The way of what stands still, for a row; and whether the camera stays where it is."""
    now, then = track.now[at], track.then[at]
    stays = True
    for k in range(12):
        stays &= now[k] == then[k]
    if stays:
        return (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0), True
    a, b, c = (
        rotate_back(then, column_of(now, 0)),
        rotate_back(then, column_of(now, 1)),
        rotate_back(then, column_of(now, 2)),
    )
    g = rotate_back(then, (now[9] - then[9], now[10] - then[10], now[11] - then[11]))
    return (a[0], b[0], c[0], a[1], b[1], c[1], a[2], b[2], c[2], g[0], g[1], g[2]), False


@njit(**ACCESS)
def blend(one: Triple, other: Triple, share: float) -> Triple:
    """The vector at a share of the way between two others."""
    return (
        one[0] + share * (other[0] - one[0]),
        one[1] + share * (other[1] - one[1]),
        one[2] + share * (other[2] - one[2]),
    )


@njit(**ACCESS)
def carry(track: Track, knot: int, share: float, body: int, vector: Triple) -> Triple:
    """A vector of the world, as a body turns it from one instant to the other."""
    after = min(knot + 1, len(track.bodies_now) - 1)
    one, other = track.bodies_now[knot, body], track.bodies_now[after, body]
    own = blend(rotate_back(one, vector), rotate_back(other, vector), share)
    one, other = track.bodies_then[knot, body], track.bodies_then[after, body]
    turned: Triple = blend(rotate(one, own), rotate(other, own), share)
    return turned


@njit(**ACCESS)
def place_of(poses: Floats, knot: int, share: float, body: int) -> Triple:
    """Where a body is between two knots."""
    one, other = poses[knot, body], poses[min(knot + 1, len(poses) - 1), body]
    place: Triple = blend((one[9], one[10], one[11]), (other[9], other[10], other[11]), share)
    return place


@njit(**{**ACCESS, "forceinline": False})
def body_way(track: Track, at: int, body: int, way: Floats) -> None:
    """Write the way of what is on a body, for a row."""
    now, then, spans = track.now[at], track.then[at], len(track.bodies_now) - 1
    place = track.times[at] * spans
    knot = min(max(int(place), 0), max(spans - 1, 0))
    share = place - knot if spans > 0 else 0.0
    for k in range(3):
        turned = rotate_back(then, carry(track, knot, share, body, column_of(now, k)))
        way[k], way[3 + k], way[6 + k] = turned
    was = place_of(track.bodies_now, knot, share, body)
    x, y, z = carry(track, knot, share, body, (now[9] - was[0], now[10] - was[1], now[11] - was[2]))
    p, q, r = place_of(track.bodies_then, knot, share, body)
    way[9], way[10], way[11] = rotate_back(
        then, (x + (p - then[9]), y + (q - then[10]), z + (r - then[11]))
    )
