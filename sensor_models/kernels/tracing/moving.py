"""Rays into movable bodies, each body where it is when the ray is sent.

A body has Embree scenes of its own, in its own frame, which are never changed. With the rotation R
and the position p of the body at the instant of a ray, and Embree's origin c on the body, the ray

    o + t d    goes into that scene as    R' (o - p) - c + t R' d

in float64 until Embree is given float32; t stays what it is, so hits of all bodies and of the world
can be compared. What a ray meets is therefore exact wherever a body has gone: only its distance
from the ray's start is rounded. Nothing is placed or built, looking changes nothing that others
see, and a packet may hold rays of different instants.

A body that changes its shape has meshes of Embree's with many sets of corners, between which it
blends them; the ray's time says how far the clip of the body is. Resting meshes have no such time.

Between two knots of a frame R and p are blended linearly. A body that turns at w sees points at a
distance r from its origin off by at most r (w h)^2 / 8 with knots h apart: 0.1 mm for a car (3 m)
at 10 rad/s and 1.6 ms.

Which bodies a packet may meet is found by a cone around its rays and balls: around groups of
blocks, around blocks of 16 bodies that lie close together, around bodies. Then each ray is tried
on the body's box. All of them are a little too large, so that they never decide on a hit. Rays of a
packet that go all ways, as those from mirrors, have no cone and are tried on each body's box.

Measured against Embree's two ways, instances that are placed for each of 32 slices of a frame and
instances with motion blur (33 time steps, the ray's time, one commit): a sweep of 131,072 rays
among 20 cars, one thread, on a machine that others use, too.

                                    32 slices   motion blur   here, 32 spans
    a sweep                         16.2 ms     13.6 ms       16.0 ms
    error of 95 in 100 hits         60 mm       0.16 mm       0.15 mm
    the same, all 10 km away        60 mm       1.5 mm        0.15 mm
    the same, all 100 km away       60 mm       12 mm         0.14 mm

The errors are those of triangles within 3 m of a body that goes 8 m/s and turns by 5 rad/s, in
frames of 0.1 s, against where each triangle is at the instant of the ray.
Motion blur is faster by a sixth among so many bodies, and its bits depended on neighbours no more
than these do. But it needs hierarchies of each sensor's own, built anew for each part of a frame
and each state of the bodies, with an origin that follows the sensor if bodies are to stay exact
where they are driven; and 1000 bodies take 6.5 ms to commit. Here a run costs nothing to prepare
but the poses, and holds no lock and no memory of Embree's.
"""

import math

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.tracing.embree import INVALID_ID, WIDTH
from sensor_models.kernels.tracing.packets import (
    ACCESS,
    ALONG,
    BLOCK,
    DIRECTION,
    GEOMETRY,
    INVERSE,
    KNOT,
    MET,
    MET_BLOCKS,
    ORIGIN,
    PLACE,
    SAVED_GEOMETRY,
    SAVED_RAYS,
    SAVED_VALID,
    SENT,
    SHARE,
    T_MAX,
    T_MIN,
    TIME,
    UNIT,
    VALID,
    Packet,
    Triple,
)
from sensor_models.kernels.tracing.queries import intersect, occlude
from sensor_models.kernels.tracing.scene_view import Bodies, SceneView

#: A cone that holds some rays: a start, and how far others are from it; the axis; sine and cosine
#: of the half-angle; the farthest that a ray goes. A cosine of 0: no cone holds them; -1: no rays.
Cone = tuple[float, float, float, float, float, float, float, float, float, float]

NO_RAYS = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0, 0.0)

#: Rays that are sent further apart than this (cosine of the angle off the axis) have no cone.
WIDEST = 0.2
#: A part of a direction that is less counts as that.
LEVEL = 1e-30
#: How far the ray of a lane goes that has none.
NO_WAY = np.float32(0.0)
#: Rows of what a cone is made from: of each ray, its cosine with the axis, taken negative, how far
#: it goes, and how far off it starts, squared.
BACK, REACH, APART = INVERSE, INVERSE + WIDTH, INVERSE + 2 * WIDTH
#: By how much the squares of directions that are taken for unit vectors differ from 1, added up,
#: and the rounding of what a cone and its balls are made of.
UNEVEN, SLACK = 4e-6, 6e-6

#: Sums and extremes may be taken in any order, for vectors: what is computed with it never decides
#: on a hit. Rays that are traced have no NaN; what lanes without a ray make of theirs is not taken.
LOOSELY = {**ACCESS, "fastmath": {"reassoc", "nsz", "arcp", "contract", "nnan"}}


@njit(**ACCESS)
def knot_at(bodies: Bodies, time: float) -> tuple[int, float]:
    """The knot of a run at or before a share of the frame, and the share of the way to the next."""
    last = len(bodies.poses) - 1
    if bodies.spans == 0 or last == 0:
        return 0, 0.0
    place = time * bodies.spans
    knot = min(max(int(place) - bodies.first, 0), last - 1)
    return knot, place - (bodies.first + knot)


@njit(**ACCESS)
def blended(bodies: Bodies, knot: int, share: float, body: int, number: int) -> float:
    """One of the numbers of a pose between two knots."""
    before: float = bodies.poses[knot, body, number]
    after: float = bodies.poses[min(knot + 1, len(bodies.poses) - 1), body, number]
    return before + share * (after - before)


@njit(**ACCESS)
def turn_out(view: SceneView, body: int, time: float, vector: Triple) -> Triple:
    """A vector of a body in the world, as the body is turned at a share of the frame."""
    bodies = view.bodies
    knot, share = knot_at(bodies, time)
    x, y, z = vector
    return (
        blended(bodies, knot, share, body, 0) * x
        + blended(bodies, knot, share, body, 1) * y
        + blended(bodies, knot, share, body, 2) * z,
        blended(bodies, knot, share, body, 3) * x
        + blended(bodies, knot, share, body, 4) * y
        + blended(bodies, knot, share, body, 5) * z,
        blended(bodies, knot, share, body, 6) * x
        + blended(bodies, knot, share, body, 7) * y
        + blended(bodies, knot, share, body, 8) * z,
    )


@njit(**LOOSELY)
def greatest(numbers: NDArray[np.float64], first: int, count: int) -> float:
    """The greatest of some numbers, a power of two of them, which are lost.

    A loop that keeps the greatest one itself does not become vectors.
    """
    half = count // 2
    while half > 0:
        for k in range(first, first + half):
            numbers[k] = max(numbers[k], numbers[k + half])
        half //= 2
    most: float = numbers[first]
    return most


@njit(**ACCESS)
def cone_of(packet: Packet) -> Cone:
    """A cone that holds all rays of a packet."""
    first = first_ray(packet)
    if first < 0:
        return NO_RAYS
    x, y, z, uneven = direction_of_all(packet)
    if uneven > UNEVEN:
        x, y, z = bring_to_unit_length(packet)
        cone: Cone = cone_around(packet, first, (x, y, z), True)
    else:
        cone = cone_around(packet, first, (x, y, z), False)
    return cone


@njit(**ACCESS)
def first_ray(packet: Packet) -> int:
    """The first lane that has a ray, -1 if none has."""
    for lane in range(WIDTH):
        if packet.words[VALID + lane] != 0:
            return lane
    return -1


@njit(**LOOSELY)
def direction_of_all(packet: Packet) -> tuple[float, float, float, float]:
    """The sum of the directions of a packet's rays, and how far from 1 their squares are in all.

    Directions are unit vectors as a rule: then neither roots nor divisions are needed.
    """
    floats, words = packet.floats, packet.words
    zero, one = np.float32(0.0), np.float32(1.0)
    x = y = z = uneven = zero
    for lane in range(WIDTH):
        shown = words[VALID + lane] != 0
        # A lane without a ray may hold anything, and 0 times infinity would be in the sum.
        u = floats[DIRECTION + lane] if shown else zero
        v = floats[DIRECTION + WIDTH + lane] if shown else zero
        w = floats[DIRECTION + 2 * WIDTH + lane] if shown else one
        x, y, z = x + u, y + v, z + (w if shown else zero)
        uneven += abs(u * u + v * v + w * w - one)
    return float(x), float(y), float(z), float(uneven)


@njit(**{**LOOSELY, "forceinline": False})
def bring_to_unit_length(packet: Packet) -> Triple:
    """The sum of the directions of rays of any lengths, whose inverses are kept in ``UNIT``."""
    rays, words = packet.doubles, packet.words
    x = y = z = 0.0
    for lane in range(WIDTH):
        shown = words[VALID + lane] != 0
        u = rays[ALONG + lane] if shown else 0.0
        v = rays[ALONG + WIDTH + lane] if shown else 0.0
        w = rays[ALONG + 2 * WIDTH + lane] if shown else 0.0
        square = u * u + v * v + w * w
        scale = 1.0 / math.sqrt(square if shown else 1.0) if shown else 0.0
        rays[UNIT + lane] = scale
        x, y, z = x + scale * u, y + scale * v, z + scale * w
    return x, y, z


@njit(**LOOSELY)
def cone_around(packet: Packet, first: int, along: Triple, any_length: bool) -> Cone:
    """A cone about a direction that holds all rays of a packet."""
    rays, words, floats = packet.doubles, packet.words, packet.floats
    x, y, z = along
    length = math.sqrt(x * x + y * y + z * z)
    scale = 1.0 / length if length > 0.0 else 0.0
    x, y, z = scale * x, scale * y, scale * z
    a, b, c = rays[PLACE + first], rays[PLACE + WIDTH + first], rays[PLACE + 2 * WIDTH + first]
    for lane in range(WIDTH):  # what is chosen is only loaded: a choice of sums makes no vectors
        shown = words[VALID + lane] != 0
        u = rays[ALONG + lane] if shown else 0.0
        v = rays[ALONG + WIDTH + lane] if shown else 0.0
        w = rays[ALONG + 2 * WIDTH + lane] if shown else 0.0
        p, q = rays[PLACE + lane] if shown else a, rays[PLACE + WIDTH + lane] if shown else b
        r = rays[PLACE + 2 * WIDTH + lane] if shown else c
        t_max = floats[T_MAX + lane] if shown else NO_WAY
        p, q, r = p - a, q - b, r - c
        back, reach = -(x * u + y * v + z * w), float(t_max)
        if any_length:
            unit = rays[UNIT + lane]
            back, reach = back * unit, reach * ((u * u + v * v + w * w) * unit)
        rays[BACK + lane] = back if shown else -1.0
        rays[REACH + lane] = reach
        rays[APART + lane] = p * p + q * q + r * r
    apart = math.sqrt(greatest(rays, APART, WIDTH))
    reach = greatest(rays, REACH, WIDTH) * (1.0 + SLACK)
    cone: Cone = cone_about((a, b, c), apart, (x, y, z), -greatest(rays, BACK, WIDTH), reach)
    return cone


@njit(**ACCESS)
def cone_about(start: Triple, apart: float, axis: Triple, cosine: float, reach: float) -> Cone:
    """A cone by its axis, of unit length, and the least cosine that a ray has with it."""
    cosine = min(cosine, 1.0) - SLACK
    if cosine < WIDEST:
        cosine = 0.0
    (a, b, c), (x, y, z) = start, axis
    return a, b, c, apart, x, y, z, math.sqrt(1.0 - cosine * cosine), cosine, reach


@njit(**ACCESS)
def is_near_bodies(bodies: Bodies, cone: Cone, packet: Packet) -> bool:
    """Whether rays of a cone may meet any body; what the packet notes of bodies is lost."""
    near = False
    for block in range(len(bodies.balls)):
        near |= sift(cone, bodies.balls, block, packet.words, MET)
    return near


@njit(**LOOSELY)
def sift(
    cone: Cone, balls: NDArray[np.float64], block: int, words: NDArray[np.int32], met: int
) -> bool:
    """Note from ``met`` on which balls of a block a cone's rays may meet; whether there are any."""
    cosine, sine = cone[8], cone[7]
    some = 0
    for k in range(BLOCK):
        x, y = balls[block, 0, k] - cone[0], balls[block, 1, k] - cone[1]
        z, radius = balls[block, 2, k] - cone[2], balls[block, 3, k] + cone[3]
        square, reach = x * x + y * y + z * z, cone[9] + radius
        along = x * cone[4] + y * cone[5] + z * cone[6]
        # How far off the side of the cone: (distance from the axis) cos - (distance along it) sin.
        most = radius + along * sine
        beside = (square - along * along) * cosine * cosine > most * most
        outside = (along < -radius) | (most < 0.0) | beside
        around = square <= radius * radius
        may = (around | (cosine == 0.0) | ~outside) & (square <= reach * reach) & (radius >= 0.0)
        words[met + k] = 1 if may else 0
        some += 1 if may else 0
    return some != 0


@njit(**LOOSELY)
def choose_rays(packet: Packet, bodies: Bodies, body: int) -> bool:
    """Leave those rays in a packet that may meet a body's box; whether there are any."""
    rays, words, floats, box = packet.doubles, packet.words, packet.floats, bodies.boxes[body]
    # Taken out of memory before the loop: what it writes might be the box, as a compiler sees it,
    # and then it makes no vectors of it. Ray by ray this took as long as Embree does for a body.
    least, most = (box[0], box[1], box[2]), (box[3], box[4], box[5])
    some = 0
    for lane in range(WIDTH):
        near, far = 0.0, float(floats[T_MAX + lane])
        for k in range(3):
            place, slope = rays[PLACE + k * WIDTH + lane], rays[INVERSE + k * WIDTH + lane]
            one, other = (least[k] - place) * slope, (most[k] - place) * slope
            near, far = max(near, min(one, other)), min(far, max(one, other))
        meets = (near <= far) & (words[SAVED_VALID + lane] != 0)
        words[VALID + lane] = -1 if meets else 0
        some += 1 if meets else 0  # an "or" would keep the loop from becoming vectors
    return some != 0


@njit(**ACCESS)
def aim(packet: Packet, bodies: Bodies, body: int) -> None:
    """Bring the rays of a packet to the frame of a body."""
    rays = packet.doubles
    first, last = len(bodies.poses), 0
    for lane in range(WIDTH):
        knot, share = knot_at(bodies, rays[SENT + lane])
        rays[SHARE + lane], packet.words[KNOT + lane] = share, knot
        if packet.words[VALID + lane] != 0:
            first, last = min(first, knot), max(last, knot)
    if first == last:  # as a rule: all rays at once
        aim_some(packet, bodies, body, first, 0, WIDTH)
        return
    for lane in range(WIDTH):
        if packet.words[VALID + lane] != 0:
            aim_some(packet, bodies, body, packet.words[KNOT + lane], lane, lane + 1)


@njit(**ACCESS)
def aim_some(packet: Packet, bodies: Bodies, body: int, knot: int, begin: int, after: int) -> None:
    """``aim`` for rays in some lanes, which are sent after the same knot."""
    rays, floats = packet.doubles, packet.floats
    one, other = bodies.poses[knot, body], bodies.poses[min(knot + 1, len(bodies.poses) - 1), body]
    a0, a1, a2, b0, b1, b2 = one[0], one[1], one[2], one[3], one[4], one[5]
    c0, c1, c2, p0, p1, p2 = one[6], one[7], one[8], one[9], one[10], one[11]
    d0, d1, d2 = other[0] - a0, other[1] - a1, other[2] - a2
    e0, e1, e2 = other[3] - b0, other[4] - b1, other[5] - b2
    f0, f1, f2 = other[6] - c0, other[7] - c1, other[8] - c2
    q0, q1, q2 = other[9] - p0, other[10] - p1, other[11] - p2
    s0, s1, s2 = bodies.shapes[body, 0], bodies.shapes[body, 1], bodies.shapes[body, 2]
    for lane in range(begin, after):
        share = rays[SHARE + lane]
        x = rays[PLACE + lane] - (p0 + share * q0)
        y = rays[PLACE + WIDTH + lane] - (p1 + share * q1)
        z = rays[PLACE + 2 * WIDTH + lane] - (p2 + share * q2)
        u, v, w = rays[ALONG + lane], rays[ALONG + WIDTH + lane], rays[ALONG + 2 * WIDTH + lane]
        a, b, c = a0 + share * d0, b0 + share * e0, c0 + share * f0
        left = a * x + b * y + c * z - s0
        floats[ORIGIN + lane], floats[DIRECTION + lane] = left, a * u + b * v + c * w
        a, b, c = a1 + share * d1, b1 + share * e1, c1 + share * f1
        back = a * x + b * y + c * z - s1
        floats[ORIGIN + WIDTH + lane] = back
        floats[DIRECTION + WIDTH + lane] = a * u + b * v + c * w
        a, b, c = a2 + share * d2, b2 + share * e2, c2 + share * f2
        up = a * x + b * y + c * z - s2
        floats[ORIGIN + 2 * WIDTH + lane] = up
        floats[DIRECTION + 2 * WIDTH + lane] = a * u + b * v + c * w
        # Far from the world's origin a body is still near to what is on it.
        least = 1e-6 * max(1.0, math.sqrt(left * left + back * back + up * up))
        floats[T_MIN + lane] = min(floats[SAVED_RAYS + 3 * WIDTH + lane], least)
    if len(bodies.phases) != 0:
        put_phases(packet, bodies, body, knot, begin, after)


@njit(**ACCESS)
def put_phases(
    packet: Packet, bodies: Bodies, body: int, knot: int, begin: int, after: int
) -> None:
    """Say for rays in some lanes how far the clip of a body is when they are sent."""
    one = bodies.phases[knot, body]
    other = bodies.phases[min(knot + 1, len(bodies.phases) - 1), body]
    for lane in range(begin, after):
        phase = one + packet.doubles[SHARE + lane] * (other - one)
        packet.floats[TIME + lane] = phase - math.floor(phase)


@njit(**{**ACCESS, "forceinline": False})
def trace_bodies(bodies: Bodies, packet: Packet, part: int, any_hit: bool) -> None:
    """Trace a packet into all movable bodies; hits of others stay where they are nearer.

    Which comes first does not matter: of hits at the same distance the owner decides. With
    ``any_hit`` no hits are kept, and a ray that has met something goes no further.
    """
    words, cone = packet.words, cone_of(packet)
    if cone[8] < 0.0:
        return
    begun, blocks = False, len(bodies.balls)
    words[MET_BLOCKS] = 1  # the only block says as much of itself
    for group in range(len(bodies.groups)):
        if blocks > 1 and not sift(cone, bodies.groups, group, words, MET_BLOCKS):
            continue
        for k in range(min(BLOCK, blocks - BLOCK * group)):
            if words[MET_BLOCKS + k] != 0:
                block = BLOCK * group + k
                begun = trace_block(bodies, packet, part, cone, block, begun, any_hit)
    if begun:
        for k in range(7 * WIDTH):
            words[ORIGIN + k] = words[SAVED_RAYS + k]
        for k in range(WIDTH):
            words[VALID + k] = words[SAVED_VALID + k]


@njit(**ACCESS)
def trace_block(
    bodies: Bodies,
    packet: Packet,
    part: int,
    cone: Cone,
    block: int,
    begun: bool,
    any_hit: bool,
) -> bool:
    """Trace a packet into the bodies of a block; whether its rays are set aside by now."""
    words = packet.words
    if not sift(cone, bodies.balls, block, words, MET):
        return begun
    for k in range(BLOCK):
        body = bodies.order[BLOCK * block + k]
        if words[MET + k] == 0 or bodies.scenes[body, part] == 0:
            continue
        if not begun:
            begun = True
            set_aside(packet)
        if choose_rays(packet, bodies, body):
            aim(packet, bodies, body)
            trace_on(packet, bodies.scenes[body, part], any_hit)
    return begun


@njit(**ACCESS)
def set_aside(packet: Packet) -> None:
    """Keep the rays of a packet, and which there are, while others take their place."""
    words, rays = packet.words, packet.doubles
    for k in range(7 * WIDTH):
        words[SAVED_RAYS + k] = words[ORIGIN + k]
    for k in range(WIDTH):
        words[SAVED_VALID + k] = words[VALID + k]
    for k in range(3 * WIDTH):
        along = rays[ALONG + k]
        rays[INVERSE + k] = 1.0 / (along if abs(along) > LEVEL else LEVEL)


@njit(**ACCESS)
def trace_on(packet: Packet, scene: int, any_hit: bool) -> None:
    """Trace a packet into one more scene of Embree's; hits stay where they are nearer."""
    words = packet.words
    if any_hit:
        occlude(packet, scene)
        return
    for lane in range(WIDTH):  # Embree wants every call to begin without a hit
        words[SAVED_GEOMETRY + lane] = words[GEOMETRY + lane]
        words[GEOMETRY + lane] = INVALID_ID
    intersect(packet, scene)
    for lane in range(WIDTH):
        found, saved = words[GEOMETRY + lane], words[SAVED_GEOMETRY + lane]
        words[GEOMETRY + lane] = saved if found == INVALID_ID else found
