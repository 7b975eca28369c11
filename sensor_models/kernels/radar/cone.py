"""Lines against a cone: the nearest point of a line, and of all lines of a face.

The cone has its apex at the origin, z along its axis, x to the side and y up. With a and b the
tangents of half its openings and r its length, its inside is

    x^2 / a^2 + y^2 / b^2 <= z^2,   0 <= z <= r          (CONE 3.1; |q| <= r besides, with a sphere)

A point q + t d of a line lies on the surface where A t^2 + 2 H t + C = 0 with

    A = dx^2/a^2 + dy^2/b^2 - dz^2,  H = qx dx/a^2 + qy dy/b^2 - qz dz,  C = qx^2/a^2 + ... - qz^2

(CONE 3.3 to 3.6). The source slides roots beyond the front to the front, which makes targets of
lines that miss the cone, and divides by A = 0. Here the segment of a line that lies inside is cut
out of [0, 1], and -(q . d) / (d . d) brought into it is the nearest point (CONE 3.2), because the
distance from the origin is convex in t.

Slack. All of this can be asked of the cone that holds every point within a slack e of the true
one: with L^2 = max(1/a^2, 1/b^2) + 1 the value sqrt(x^2/a^2 + y^2/b^2) - z grows by no more than
L e on a way e, so that cone has its apex at z = -L e and reaches from -e to r + e.

A face has N lines from v0 + (v3 - v0) i / (N - 1) to v1 + (v2 - v1) i / (N - 1). Of lines i to j
with m in their middle, no point is further than

    e = max(m - i, j - m) max(|v3 - v0|, |v2 - v1|) / (N - 1)

from a point of line m. So none is nearer than the nearest point of line m in the cone with slack
e, less e; nor than the least projection of the ends of lines i and j onto any direction. What
cannot be nearer than what was found is left out. The result is that of all N lines, to 1e-14.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.rotations import Triple, dot, minus, plus, times
from sensor_models.kernels.options import INLINE, PLAIN

#: What counts as 0 beside the terms that a difference is made of.
TINY = 1e-12
#: By what share a line has to be nearer than another to count as nearer.
ROUNDING = 1e-14
#: Rows of a stack of segments of lines: each is half of the one before.
STACK = 64


class Cone(NamedTuple):
    """What lines are cut by."""

    side: float  # 1 / a^2
    up: float  # 1 / b^2
    length: float  # m
    growth: float  # L
    sphere: bool


@njit(**INLINE)
def is_inside(cone: Cone, q: Triple, slack: float) -> bool:
    """Whether a point lies in the cone, or within a slack that the cone is widened by."""
    x, y, z = q
    if not -slack <= z <= cone.length + slack:
        return False
    if cone.sphere and x * x + y * y + z * z > (cone.length + slack) ** 2:
        return False
    z += cone.growth * slack
    return x * x * cone.side + y * y * cone.up <= z * z


@njit(**INLINE)
def _between_planes(cone: Cone, z: float, dz: float, slack: float) -> tuple[float, float]:
    """The segment of [0, 1] of a line between apex and front."""
    near, far = -slack, cone.length + slack
    if dz == 0.0:
        return (0.0, 1.0) if near <= z <= far else (1.0, 0.0)
    first, last = (near - z) / dz, (far - z) / dz
    if first > last:
        first, last = last, first
    return max(first, 0.0), min(last, 1.0)


@njit(**PLAIN)
def clip(cone: Cone, q: Triple, d: Triple, slack: float) -> tuple[float, float]:
    """The segment of [0, 1] of the line q + t d that is inside; its ends are swapped for none."""
    low, high = _between_planes(cone, q[2], d[2], slack)
    if low > high:
        return 1.0, 0.0
    z, scale = q[2] + cone.growth * slack, cone.side + cone.up + 1.0
    a = d[0] * d[0] * cone.side + d[1] * d[1] * cone.up - d[2] * d[2]
    h = q[0] * d[0] * cone.side + q[1] * d[1] * cone.up - z * d[2]
    c = q[0] * q[0] * cone.side + q[1] * q[1] * cone.up - z * z
    along, away = TINY * scale * dot(d, d), q[0] * q[0] + q[1] * q[1] + z * z
    if abs(a) <= along:  # parallel to a line through the apex on the surface
        if abs(h) <= math.sqrt(along * TINY * scale * away):
            return (low, high) if c <= TINY * scale * away else (1.0, 0.0)
        crossing = -0.5 * c / h
        return (low, min(high, crossing)) if h > 0.0 else (max(low, crossing), high)
    delta = h * h - a * c
    if delta < 0.0:
        if a > 0.0:
            return 1.0, 0.0
        delta = 0.0
    w = -(h + math.copysign(math.sqrt(delta), h))
    one = w / a
    two = c / w if w != 0.0 else one
    if one > two:
        one, two = two, one
    if a > 0.0:
        return max(low, one), min(high, two)
    # The line meets both halves of the double cone; z grows toward the one that counts.
    return (max(low, two), high) if d[2] > 0.0 else (low, min(high, one))


@njit(**INLINE)
def _nearest(q: Triple, d: Triple, low: float, high: float) -> Triple:
    """The point nearest to the origin of a segment of a line."""
    square = dot(d, d)
    share = low if square == 0.0 else min(max(-dot(q, d) / square, low), high)
    point: Triple = plus(q, times(share, d))
    return point


@njit(**PLAIN)
def nearest_of_line(cone: Cone, q: Triple, d: Triple, slack: float) -> tuple[float, Triple]:
    """The distance of the nearest point of a line in the cone, and that point; inf for none."""
    point = _nearest(q, d, 0.0, 1.0)
    if is_inside(cone, point, slack):
        return math.sqrt(dot(point, point)), point
    low, high = clip(cone, q, d, slack)
    if low <= high:
        point = _nearest(q, d, low, high)
        distance = math.sqrt(dot(point, point))
        if not cone.sphere or distance <= cone.length + slack:
            return distance, point
    return math.inf, point


@njit(**PLAIN)
def nearest_of_face(
    cone: Cone,
    face: tuple[Triple, Triple, Triple, Triple],
    lines: int,
    reach: float,
    stack: NDArray[np.int64],
) -> tuple[float, Triple]:
    """The distance of the nearest point of the lines of a face, and that point.

    Only what is nearer than ``reach`` is looked for; inf if there is nothing. ``stack`` is room
    for work, (``STACK``, 2).
    """
    step_0 = times(1.0 / (lines - 1), minus(face[3], face[0]))
    step_1 = times(1.0 / (lines - 1), minus(face[2], face[1]))
    spread = math.sqrt(max(dot(step_0, step_0), dot(step_1, step_1)))
    found, nearest = math.inf, (0.0, 0.0, 0.0)
    stack[0, 0], stack[0, 1], waiting = 0, lines - 1, 1
    while waiting > 0:
        waiting -= 1
        first, last = stack[waiting, 0], stack[waiting, 1]
        middle = (first + last + 1) // 2  # of two lines that are as near, the upper one
        q = plus(face[0], times(float(middle), step_0))
        d = minus(plus(face[1], times(float(middle), step_1)), q)
        distance, point = nearest_of_line(cone, q, d, 0.0)
        if distance < reach:
            reach = found = distance
            nearest = point
        if first == last:
            continue
        free = _nearest(q, d, 0.0, 1.0)  # what it would be without a cone
        way = math.sqrt(dot(free, free))
        # Of a triangle whose lines meet in its nearest corner all are as near, but for rounding.
        beyond = _least_projection(face, step_0, step_1, first, last, free)
        if beyond >= (1.0 - ROUNDING) * reach * way:
            continue
        slack = float(max(middle - first, last - middle)) * spread
        if distance > way:
            way, _ = nearest_of_line(cone, q, d, slack)
        if way - slack - TINY * (way + slack) >= reach:
            continue
        # The side that the nearest point comes nearer on is looked at first: it is put last.
        waiting = _divide(stack, waiting, first, middle, last, _falls(q, d, point, step_0, step_1))
    return found, nearest


@njit(**INLINE)
def _least_projection(
    face: tuple[Triple, Triple, Triple, Triple],
    step_0: Triple,
    step_1: Triple,
    first: int,
    last: int,
    direction: Triple,
) -> float:
    """The least product of a direction and the points between two lines."""
    one, other = dot(face[0], direction), dot(face[1], direction)
    slope, other_slope = dot(step_0, direction), dot(step_1, direction)
    ends = one + first * slope, one + last * slope
    least: float = min(*ends, other + first * other_slope, other + last * other_slope)
    return least


@njit(**INLINE)
def _falls(q: Triple, d: Triple, point: Triple, step_0: Triple, step_1: Triple) -> bool:
    """Whether the distance of a line's nearest point falls with the number of the line."""
    square = dot(d, d)
    share = 0.0 if square == 0.0 else dot(minus(point, q), d) / square
    slope: float = (1.0 - share) * dot(point, step_0) + share * dot(point, step_1)
    return slope < 0.0


@njit(**INLINE)
def _divide(
    stack: NDArray[np.int64], waiting: int, first: int, middle: int, last: int, falls: bool
) -> int:
    """Put the lines on either side of the middle on the stack; how many wait then."""
    for upper in (not falls, falls):
        start, end = (middle + 1, last) if upper else (first, middle - 1)
        if start <= end:
            stack[waiting, 0], stack[waiting, 1] = start, end
            waiting += 1
    return waiting
