r"""Ways over mirrors: what an object shows in large smooth planes, there and back.

The currents of physical optics, summed over tubes, stand for the way from a surface to the
receiver. Over a second surface they do so as well where the field from the first one is that of
geometric optics: from a plate, in the near of a corner's other plate. From an object far over the
ground it is not: its field is wide there, and currents within the tubes alone give 1 + e for an
object that image theory sees with (1 + e)^2, e being the field over the ground by the direct one.

So a surface is a *mirror* of a path if it reaches three times as far as the first Fresnel zone that
the path has there (``zone_room``); the path is L long until there and T in all:

    extent > 3 sqrt(lambda L (T - L) / T)

All others are *objects*. By what a tube has met:

    mirrors, then objects    The last one sends back straight twice, as there is the way the other
                             way round; and once more over the same mirrors: to the image of the
                             receiver in them, e^2.
    an object, then mirrors  Nothing is sent back by the last mirror: that was the way round.
    mirrors or objects only  Once, straight: the other way round is another tube's, as in corners.

What a facet sends off is a ray of its width only near it; further on, it spreads. So tubes go on to
what is near enough for the facet to reach 1.5 times as far as the first Fresnel zone, and at least
as far as the thing is large that the facet belongs to. Beyond, what an object and another one far
from it send to each other is left out.

The rule is the same from both ends of a path, so nothing is counted twice. What is sent over
mirrors has their coefficients each time: by reciprocity, a receiver listens over mirrors with the
field that it would send that way, which is the tube's own.

Ways there over some mirrors and back over others are those of ``crossings``. Left out: ways back
over mirrors of what was met after the first object, if it is seen in them more than 3 degrees
beside that.
Crossed polarisations listen with the field that conductors leave.
"""

import math

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.rotations import Triple, cross, dot, minus, plus, times
from sensor_models.kernels.math.turns import rounded
from sensor_models.kernels.radar.compiling import CALLED
from sensor_models.kernels.radar.fields import mirrored, weights_of
from sensor_models.kernels.radar.ray_tubes import (
    CHAIN,
    DEPTH,
    DRIFT,
    FIELD_IM,
    FIELD_RE,
    HALF_U,
    HALF_V,
    IMAGE,
    IMAGE_DRIFT,
    IMAGE_WAY,
    LAST_AT,
    LAST_ROOM,
    LISTEN_IM,
    LISTEN_RE,
    NEXT,
    ROOT_GAIN,
    SOURCE,
    STRAIGHT,
    Sender,
    U,
    V,
    across,
    get_triple,
    put_triple,
    turn_over,
)
from sensor_models.kernels.radar.scattering import (
    AT,
    DISTANCE,
    GAP,
    HIT,
    INSIDE,
    LEFT_OUT,
    LENGTH,
    NORMAL,
    OBJECT,
    OVER_IM,
    OVER_RE,
    OVER_SPEED,
    OVER_TOTAL,
    RETURNS,
    ROOM,
    SENT_IM,
    SENT_RE,
    SIZE,
    TWICE,
    VELOCITY,
    WAY,
)
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.packets import ACCESS

Floats = NDArray[np.float64]

#: What a tube has met: nothing but mirrors; mirrors, then objects; an object first; mirrors, then
#: objects and mirrors.
MIRRORS, SHOWN, OBJECT_FIRST, MIXED = range(4)
#: By how much further than a mirror shows things a facet still sends rays to others: it reaches one
#: and a half times as far as their first Fresnel zone there.
STILL_RAYS = 4.0
#: The cosine of 3 degrees.
NEARLY = 0.99863


@njit(**CALLED)
def judge(numbers: Floats) -> bool:
    """Tell mirrors from objects; whether anything comes back over mirrors.

    The sum is a loop of its own: floats are added in order, which would keep all else from becoming
    vectors.
    """
    for lane in range(WIDTH):
        length, distance = numbers[LENGTH + lane], numbers[DISTANCE + lane]
        whole, chain, depth = length + distance, numbers[CHAIN + lane], numbers[DEPTH + lane]
        gone = numbers[LAST_AT + lane]
        was_mirror = numbers[LAST_ROOM + lane] * whole > gone * (whole - gone)
        begins = (chain == MIRRORS) & (depth > 0.0) & (not was_mirror)
        ends = (chain == SHOWN) & was_mirror
        chain = (1.0 * OBJECT_FIRST if depth == 1.0 else 1.0 * SHOWN) if begins else chain
        chain = 1.0 * MIXED if ends else chain
        is_object = numbers[ROOM + lane] * whole <= length * distance
        by_mirror = (depth > 0.0) & (chain != OBJECT_FIRST)
        at = get_triple(numbers, AT + lane)
        aside = minus(at, get_triple(numbers, IMAGE + lane))
        near = dot(aside, get_triple(numbers, IMAGE_WAY + lane)) > NEARLY * math.sqrt(
            dot(aside, aside)
        )
        back = (chain == MIRRORS) | ((chain == SHOWN) & near)
        met = (numbers[HIT + lane] != 0.0) & (numbers[INSIDE + lane] == 0.0)
        back = back & is_object & by_mirror & met
        numbers[CHAIN + lane] = chain
        numbers[OBJECT + lane] = 1.0 if is_object else 0.0
        numbers[TWICE + lane] = 1.0 if is_object & by_mirror else 0.0
        numbers[LEFT_OUT + lane] = 1.0 if (not is_object) & (chain != MIRRORS) else 0.0
        numbers[RETURNS + lane] = 1.0 if back else 0.0
    returns = False
    for lane in range(WIDTH):
        returns = returns | (numbers[RETURNS + lane] != 0.0)
    return bool(returns)


@njit(**ACCESS)
def is_shown(numbers: Floats, lane: int) -> bool:
    """Whether a tube, which this surface counts for already, has met an object in mirrors.

    It may meet one surface more then: a corner has its three bounces in a mirror, too.
    """
    chain = numbers[CHAIN + lane]
    newly = (chain == MIRRORS) & (numbers[DEPTH + lane] > 1.0) & (numbers[OBJECT + lane] != 0.0)
    return bool(newly | (chain == SHOWN))


@njit(**ACCESS)
def listened(crossed: float, way: Triple, depth: float, field: Triple) -> Triple:
    """The field that a receiver of the other polarisation would have sent, behind conductors."""
    odd = abs(depth - 2.0 * rounded(0.5 * depth))
    turned: Triple = times(crossed * (1.0 - 2.0 * odd), cross(way, field))
    return _either(crossed != 0.0, turned, field)


@njit(**CALLED)
def send_over_mirrors(sender: Sender, numbers: Floats) -> None:
    """What objects send to the images of the receiver in the mirrors that showed them."""
    for lane in range(WIDTH):
        first = numbers[CHAIN + lane] == MIRRORS
        way, normal = get_triple(numbers, WAY + lane), get_triple(numbers, NORMAL + lane)
        re, im = get_triple(numbers, FIELD_RE + lane), get_triple(numbers, FIELD_IM + lane)
        depth = numbers[DEPTH + lane]
        own_re = listened(sender.crossed, way, depth, re)
        own_im = listened(sender.crossed, way, depth, im)
        home = _either(first, get_triple(numbers, SOURCE + lane), get_triple(numbers, IMAGE + lane))
        ear_re = _either(first, own_re, get_triple(numbers, LISTEN_RE + lane))
        ear_im = _either(first, own_im, get_triple(numbers, LISTEN_IM + lane))
        drift, before = numbers[DRIFT + lane], numbers[IMAGE_DRIFT + lane]
        drift = drift if first else before
        back = minus(home, get_triple(numbers, AT + lane))
        distance = math.sqrt(dot(back, back))
        to = times(1.0 / distance, back)
        bounced = mirrored(way, normal)
        in_re, out_re = weights_of(way, bounced, normal, to, ear_re)
        in_im, out_im = weights_of(way, bounced, normal, to, ear_im)
        sent_re = get_triple(numbers, SENT_RE + lane)
        sent_im = get_triple(numbers, SENT_IM + lane)
        flat = across(numbers, lane, home, normal, numbers[GAP + lane], sender.wavenumber)
        flat = flat if sender.integrates else 1.0
        u, v = numbers[U + lane], numbers[V + lane]
        scale = 1.0 / math.sqrt(1.0 + u * u + v * v)
        solid = 4.0 * numbers[HALF_U + lane] * numbers[HALF_V + lane] * scale**3
        faces = (dot(normal, to) > 0.0) & (numbers[RETURNS + lane] != 0.0)
        strong = sender.root_power * numbers[ROOT_GAIN + lane] ** 2 / distance
        factor = strong * solid * numbers[LENGTH + lane] / (4.0 * math.pi) * flat
        factor = factor if faces else 0.0
        real = dot(re, in_re) + dot(sent_re, out_re) - dot(im, in_im) - dot(sent_im, out_im)
        other = dot(re, in_im) + dot(sent_re, out_im) + dot(im, in_re) + dot(sent_im, out_re)
        numbers[OVER_RE + lane], numbers[OVER_IM + lane] = factor * real, -factor * other
        numbers[OVER_TOTAL + lane] = numbers[LENGTH + lane] + distance
        velocity = get_triple(numbers, VELOCITY + lane)
        ahead = plus(sender.x, plus(times(u, sender.y), times(v, sender.z)))
        leaving = scale * dot(sender.velocity, ahead)
        met = numbers[DRIFT + lane] + drift + dot(velocity, minus(way, to))
        numbers[OVER_SPEED + lane] = -0.5 * (met - 2.0 * leaving)


@njit(**ACCESS)
def _either(first: bool, one: Triple, other: Triple) -> Triple:
    """One of two vectors."""
    return (
        one[0] if first else other[0],
        one[1] if first else other[1],
        one[2] if first else other[2],
    )


@njit(**CALLED)
def go_on(sender: Sender, numbers: Floats) -> None:
    """Turn tubes at surfaces, with the fields that these send off."""
    for lane in range(WIDTH):
        normal, way = get_triple(numbers, NORMAL + lane), get_triple(numbers, WAY + lane)
        before = numbers[CHAIN + lane] == MIRRORS
        depth = numbers[DEPTH + lane] - 1.0  # this surface is counted
        re, im = get_triple(numbers, FIELD_RE + lane), get_triple(numbers, FIELD_IM + lane)
        _keep(numbers, IMAGE + lane, before, get_triple(numbers, SOURCE + lane))
        _keep(numbers, IMAGE_WAY + lane, before, way)
        _keep(numbers, LISTEN_RE + lane, before, listened(sender.crossed, way, depth, re))
        _keep(numbers, LISTEN_IM + lane, before, listened(sender.crossed, way, depth, im))
        drift, older = numbers[DRIFT + lane], numbers[IMAGE_DRIFT + lane]
        numbers[IMAGE_DRIFT + lane] = drift if before else older
        numbers[LAST_ROOM + lane] = numbers[ROOM + lane]
        length, room = numbers[LENGTH + lane], numbers[ROOM + lane]
        numbers[LAST_AT + lane] = length
        numbers[NEXT + lane] = next_reach(room, numbers[SIZE + lane], length)
        turned = 2.0 * dot(way, normal) * dot(get_triple(numbers, VELOCITY + lane), normal)
        numbers[DRIFT + lane] = drift + turned
        turn_over(numbers, lane, normal, numbers[GAP + lane])
        put_triple(numbers, FIELD_RE + lane, get_triple(numbers, SENT_RE + lane))
        put_triple(numbers, FIELD_IM + lane, get_triple(numbers, SENT_IM + lane))
        numbers[STRAIGHT + lane] = 0.0


@njit(**ACCESS)
def next_reach(room: float, size: float, length: float) -> float:
    """How far a facet still sends rays, by its ``zone_room`` and the size of what it belongs to.

    ``length`` is how long the way to it was.
    """
    reach = STILL_RAYS * room
    far = reach * length / (length - reach) if reach < length else math.inf
    return max(far, size)


@njit(**ACCESS)
def _keep(numbers: Floats, place: int, new: bool, vector: Triple) -> None:
    """Write a vector to where a tube has it, if it is new."""
    put_triple(numbers, place, _either(new, vector, get_triple(numbers, place)))
