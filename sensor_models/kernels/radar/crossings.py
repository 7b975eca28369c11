r"""Ways there over some mirrors and back over others: what stands between two of them.

Where an object is seen over the mirrors A and over the mirrors B (each one mirror, or two one in
the other), there are besides A-A and B-B (``mirrors``) also A-B and B-A. In the amplitudes of image
theory that is (1 + a + b)^2 rather than 1 + 2 a + 2 b + a^2 + b^2: without 2 a b, an object between
a ground and a wall is up to 1.5 dB too low.

The first pass (``cells``) notes where mirrors show the sensor to each owner: its *images*. A tube
that met an object over A is led back toward each other image of the sensor that this owner has,
from mirror to mirror, and each turns the image over; if it is the sensor itself in the end, and
that is in sight, this is a way back. It has the coefficients of the facets that it was led to, on
their own planes. The object sends as much into it as physical optics says, and by reciprocity the
way round is as strong: so of each pair of images one does both, the one that comes first.

This costs nothing where an owner has no two images. Ways back are not looked for through panes.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.rotations import Triple, cross, dot, minus, plus, times
from sensor_models.kernels.radar.compiling import CALLED
from sensor_models.kernels.radar.fields import (
    CONDUCTOR,
    DIFFUSE,
    LEAST_COSINE,
    coherent,
    mirrored,
    pane,
    polarised,
    reflection,
    side_axis,
    weights_of,
)
from sensor_models.kernels.radar.interactions import thickness_at
from sensor_models.kernels.radar.mirrors import MIRRORS
from sensor_models.kernels.radar.ray_tubes import (
    CHAIN,
    DRIFT,
    FIELD_IM,
    FIELD_RE,
    HALF_U,
    HALF_V,
    IMAGE,
    LISTEN_IM,
    LISTEN_RE,
    ROOT_GAIN,
    SOURCE,
    Sender,
    U,
    V,
    across,
    get_triple,
    root_gain,
)
from sensor_models.kernels.radar.reflectors import (
    Reflectors,
    plane_of,
    velocity_at,
    zone_room,
)
from sensor_models.kernels.radar.scattering import (
    AT,
    GAP,
    HOME,
    LENGTH,
    NORMAL,
    OWNER,
    RETURNS,
    SENT_IM,
    SENT_RE,
    VELOCITY,
    WAY,
)
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.hits import hit_material, hit_owner, hit_primitive, is_hit
from sensor_models.kernels.tracing.packets import (
    ACCESS,
    Packet,
    check_ray,
    drop_ray,
    is_place,
    is_valid,
    put_direction,
    put_origin,
    put_time,
)
from sensor_models.kernels.tracing.rays import claim, is_blocked, trace_blocked, trace_quickly
from sensor_models.kernels.tracing.scene_view import SceneView

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Mirrors, one in the other, that objects are looked for in.
LOOKS = 2
#: Images of the sensor that an owner has at the most.
MOST_IMAGES = 8
#: Images are the same that are so near to each other, m: those of what lies 5 um off a plane are.
SAME_IMAGE = 2e-3
#: Share of the power that both mirrors leave together at least. Of an object between two that leave
#: just less, each the same, all ways together are less than 1 dB too low.
LEAST_PAIR = 0.03

# What is known of the way back of a tube: where it is, which image it goes to, how far it has to go
# still, and how long the way there and back is; how many mirrors it still has to meet; to which of
# its owner's images it is to be led, as bits; then of each mirror, the one next to the sensor
# first, its normal, where its plane is along that, the two coefficients, and its speed along the
# normal.
PLACE, AIM, AHEAD, WHOLE, TO_COME, WANTED = 0, 3, 6, 7, 8, 9
FIRST_MIRROR, MIRROR = 10, 9
DEEP, S_RE, S_IM, P_RE, P_IM, MOVES = range(3, 9)
LEG_SIZE = FIRST_MIRROR + LOOKS * MIRROR
#: A way back that has met all its mirrors, and one that is none.
AT_LAST, NO_WAY = 0.0, -1.0


class Images(NamedTuple):
    """Where mirrors show the sensor to owners, relative to the sensor, m."""

    firsts: Ints  # (owners + 1,): the first image of each
    places: Floats  # (images, 3)
    mirrors: Ints  # of each: how many mirrors show it
    shares: Floats  # of each: the most of the power that these leave


class Crossing(NamedTuple):
    """What comes back on a way over other mirrors."""

    amplitude: complex
    length: float
    speed: float
    back: tuple[float, float]


@njit(nogil=True, cache=True)
def list_images(
    _view: SceneView,
    claims: Ints,
    owners: NDArray[np.int32],
    shown: NDArray[np.float32],
    counts: Ints,
    places: Floats,
    mirrors: Ints,
    shares: Floats,
) -> None:
    """List the images that cells found, for one thread: by owner, those of fewer mirrors first.

    ``owners`` are (looks, cells), -1 for none, and ``shown`` the images and the shares of the power
    that their mirrors leave, (looks, cells, 4); ``counts``, ``places``, ``mirrors`` and ``shares``
    are of each owner, with room for ``MOST_IMAGES``.
    """
    if claim(claims) > 0:
        return
    counts[:] = 0
    for look in range(owners.shape[0]):
        for cell in range(owners.shape[1]):
            owner = owners[look, cell]
            if owner < 0:
                continue
            x, y, z = shown[look, cell, 0], shown[look, cell, 1], shown[look, cell, 2]
            place = _find(places[owner], counts[owner], (x, y, z))
            if place == MOST_IMAGES:
                continue
            if place == counts[owner]:
                places[owner, place, 0], places[owner, place, 1] = x, y
                places[owner, place, 2], mirrors[owner, place] = z, look + 1
                shares[owner, place] = 0.0
                counts[owner] += 1
            shares[owner, place] = max(shares[owner, place], shown[look, cell, 3])


@njit(**ACCESS)
def _find(places: Floats, count: int, image: Triple) -> int:
    """Which of an owner's images this is; their count if it is none."""
    for k in range(count):
        aside = abs(places[k, 0] - image[0]) + abs(places[k, 1] - image[1])
        if aside + abs(places[k, 2] - image[2]) < SAME_IMAGE:
            return k
    return count


@njit(**ACCESS)
def others_of(images: Images, numbers: Floats, legs: Floats) -> int:
    """Which images the tubes of a packet are to be led back to: the bits of their ranks."""
    all_wanted = 0
    for lane in range(WIDTH):
        wanted = 0
        owner = int(numbers[OWNER + lane]) if numbers[RETURNS + lane] != 0.0 else 0
        first, end = images.firsts[owner], images.firsts[owner + 1]
        if numbers[RETURNS + lane] != 0.0 and end - first >= 2:
            at = SOURCE if numbers[CHAIN + lane] == MIRRORS else IMAGE
            image = get_triple(numbers, at + lane)
            own = _find(images.places[first:end], end - first, image)
            for rank in range(own + 1 if own < end - first else 0, end - first):
                if _is_wanted(images, first + rank, numbers, lane):
                    wanted |= 1 << rank
        legs[lane, WANTED] = float(wanted)
        all_wanted |= wanted
    return all_wanted


@njit(**ACCESS)
def _is_wanted(images: Images, number: int, numbers: Floats, lane: int) -> bool:
    """Whether an object faces an image, and its mirrors leave enough."""
    place, home = get_triple(numbers, HOME + lane), images.places[number]
    toward = minus((home[0], home[1], home[2]), place)
    if dot(get_triple(numbers, NORMAL + lane), toward) <= 0.0:
        return False
    enough: bool = _power(numbers, lane) * images.shares[number] >= LEAST_PAIR
    return enough


@njit(**ACCESS)
def _power(numbers: Floats, lane: int) -> float:
    """What its mirrors left of the power of a tube, before its first object."""
    first = numbers[CHAIN + lane] == MIRRORS
    re = get_triple(numbers, (FIELD_RE if first else LISTEN_RE) + lane)
    im = get_triple(numbers, (FIELD_IM if first else LISTEN_IM) + lane)
    left: float = dot(re, re) + dot(im, im)
    return left


@njit(**ACCESS)
def look_for_ways(
    view: SceneView, sender: Sender, reflectors: Reflectors, motions: Floats, images: Images,
    packet: Packet, numbers: Floats, legs: Floats, rank: int,
) -> bool:  # fmt: skip
    """Lead the tubes of a packet back toward one of their owners' images; whether any arrives."""
    asked = False
    for lane in range(WIDTH):
        legs[lane, TO_COME] = NO_WAY
        drop_ray(packet, lane)
        asked = _set_out(view, sender, images, packet, lane, numbers, legs[lane], rank) or asked
    for _ in range(LOOKS):
        if not asked:
            break
        trace_quickly(view, packet, True)
        asked = False
        for lane in range(WIDTH):
            if is_valid(packet, lane):
                met = is_hit(packet, lane) and _meet(
                    view, sender, reflectors, motions, packet, lane, legs[lane]
                )
                asked = asked or met
                if not met:
                    drop_ray(packet, lane)
    return _arrive(view, sender, packet, legs)


@njit(**ACCESS)
def _arrive(view: SceneView, sender: Sender, packet: Packet, legs: Floats) -> bool:
    """Find out which ways that have met their mirrors reach the sensor; whether any does."""
    arrived = False
    for lane in range(WIDTH):
        drop_ray(packet, lane)
        if legs[lane, TO_COME] == AT_LAST:
            _aim(view.offset, sender.place, packet, lane, legs[lane])
            arrived = True
    if not arrived:
        return False
    trace_blocked(view, packet, True)
    arrived = False
    for lane in range(WIDTH):
        if is_valid(packet, lane) and is_blocked(packet, lane):
            legs[lane, TO_COME] = NO_WAY
        arrived = arrived or legs[lane, TO_COME] == AT_LAST
    return arrived


@njit(**ACCESS)
def _set_out(
    view: SceneView, sender: Sender, images: Images, packet: Packet, lane: int, numbers: Floats,
    leg: Floats, rank: int,
) -> bool:  # fmt: skip
    """Send a ray from an object toward an image, if this tube is to do so."""
    if int(leg[WANTED]) >> rank & 1 == 0:
        return False
    number = images.firsts[int(numbers[OWNER + lane])] + rank
    place, home = get_triple(numbers, HOME + lane), images.places[number]
    image = (home[0], home[1], home[2])
    _put(leg, PLACE, place)
    _put(leg, AIM, image)
    back = minus(image, place)
    leg[AHEAD] = math.sqrt(dot(back, back))
    leg[WHOLE] = numbers[LENGTH + lane] + leg[AHEAD]
    leg[TO_COME] = float(images.mirrors[number])
    _aim(view.offset, sender.place, packet, lane, leg)
    return True


@njit(**ACCESS)
def _put(leg: Floats, place: int, vector: Triple) -> None:
    leg[place], leg[place + 1], leg[place + 2] = vector


@njit(**ACCESS)
def _get(leg: Floats, place: int) -> Triple:
    return leg[place], leg[place + 1], leg[place + 2]


@njit(**CALLED)
def _aim(offset: Floats, sensor: Triple, packet: Packet, lane: int, leg: Floats) -> None:
    """Send a ray on, to what it goes to; ``offset`` is that of the scene's view."""
    place = _get(leg, PLACE)
    back = minus(_get(leg, AIM), place)
    length, start = math.sqrt(dot(back, back)), plus(sensor, place)
    near = start[0] - offset[0], start[1] - offset[1], start[2] - offset[2]
    least = max(1e-4, 1e-6 * math.sqrt(dot(near, near)))
    put_origin(packet, lane, start, near, least)
    put_direction(packet, lane, times(1.0 / length, back), length * (1.0 - 1e-6))
    put_time(packet, lane, 0.0)
    check_ray(packet, lane, is_place(start))


@njit(**ACCESS)
def _meet(
    view: SceneView, sender: Sender, reflectors: Reflectors, motions: Floats, packet: Packet,
    lane: int, leg: Floats,
) -> bool:  # fmt: skip
    """Turn a way back at what it met; whether it has to meet another mirror."""
    left, owner, face = leg[TO_COME] - 1.0, hit_owner(packet, lane), hit_primitive(packet, lane)
    leg[TO_COME] = NO_WAY
    plane = plane_of(view, reflectors, owner, face, sender.place)
    normal, place, aim = plane.normal, _get(leg, PLACE), _get(leg, AIM)
    back = minus(aim, place)
    toward = dot(normal, back) / math.sqrt(dot(back, back))
    if abs(toward) < LEAST_COSINE:
        return False
    # The image lies behind the plane, and this on its way to it.
    gone = dot(normal, minus(plane.point, place)) / toward
    at = plus(place, times(gone / math.sqrt(dot(back, back)), back))
    aim = minus(aim, times(2.0 * dot(normal, minus(aim, plane.point)), normal))
    leg[AHEAD] -= gone
    whole, length = leg[WHOLE], leg[AHEAD]
    room = zone_room(reflectors, owner, face, sender.wavenumber)
    material = hit_material(view, packet, lane)
    is_mirror = room * whole > length * (whole - length) and reflectors.kind[material] != DIFFUSE
    if not is_mirror or (left == AT_LAST and dot(aim, aim) > SAME_IMAGE * SAME_IMAGE):
        return False
    own = leg[FIRST_MIRROR + int(left) * MIRROR :]
    _put(own, 0, normal)
    own[DEEP] = dot(normal, plane.point)
    own[MOVES] = dot(normal, velocity_at(view, motions, owner, at))
    thickness = thickness_at(reflectors, owner, face)
    _weaken(sender, reflectors, material, abs(toward), thickness, own)
    _put(leg, PLACE, at)
    _put(leg, AIM, aim if left != AT_LAST else (0.0, 0.0, 0.0))
    leg[TO_COME] = left
    if left == AT_LAST:
        return False
    _aim(view.offset, sender.place, packet, lane, leg)
    return True


@njit(**CALLED)
def _weaken(
    sender: Sender, reflectors: Reflectors, material: int, cosine: float, thickness: float,
    own: Floats,
) -> None:  # fmt: skip
    """Note the coefficients of a mirror."""
    cosine = min(cosine, 1.0)
    index = reflectors.indices[material]
    r_s = r_p = complex(-1.0, 0.0)
    if reflectors.kind[material] != CONDUCTOR:
        r_s, r_p = reflection(index, cosine)
        if thickness > 0.0:
            r_s, r_p, _, _ = pane(index, cosine, thickness, sender.wavenumber)
    left = coherent(reflectors.rms[material], cosine, sender.wavenumber)
    own[S_RE], own[S_IM] = left * r_s.real, left * r_s.imag
    own[P_RE], own[P_IM] = left * r_p.real, left * r_p.imag


@njit(**ACCESS)
def _turned_over(leg: Floats, mirrors: int) -> Triple:
    """Where the mirrors of a way back show the sensor, by the planes of the facets it met."""
    image = (0.0, 0.0, 0.0)
    for k in range(mirrors):
        own = leg[FIRST_MIRROR + k * MIRROR :]
        normal = _get(own, 0)
        image = minus(image, times(2.0 * (dot(normal, image) - own[DEEP]), normal))
    return image


@njit(**ACCESS)
def _mirror(own: Floats, way: Triple, re: Triple, im: Triple) -> tuple[Triple, Triple]:
    """The field that a mirror sends off."""
    normal = _get(own, 0)
    side = side_axis(way, normal)
    lifted: Triple = cross(mirrored(way, normal), side)
    upright: Triple = cross(side, way)
    s = complex(own[S_RE], own[S_IM]) * complex(dot(re, side), dot(im, side))
    p = complex(own[P_RE], own[P_IM]) * complex(dot(re, upright), dot(im, upright))
    return (
        plus(times(s.real, side), times(p.real, lifted)),
        plus(times(s.imag, side), times(p.imag, lifted)),
    )


@njit(**CALLED)
def send_over_others(
    sender: Sender, numbers: Floats, lane: int, leg: Floats, mirrors: int
) -> Crossing:
    """What an object sends back on a way that has arrived, over so many mirrors.

    The receiver listens with the field that it would send on that way.
    """
    home, at = _turned_over(leg, mirrors), get_triple(numbers, AT + lane)
    back = minus(home, at)
    distance = math.sqrt(dot(back, back))
    to = times(1.0 / distance, back)
    out = times(-1.0, to)
    for k in range(mirrors):
        out = mirrored(out, _get(leg, FIRST_MIRROR + (mirrors - 1 - k) * MIRROR))
    re = polarised(out, sender.z, sender.received[0], sender.received[1])
    im, way, drift = (0.0, 0.0, 0.0), out, 0.0
    for k in range(mirrors):
        own = leg[FIRST_MIRROR + k * MIRROR :]
        drift += 2.0 * dot(way, _get(own, 0)) * own[MOVES]
        re, im = _mirror(own, way, re, im)
        way = mirrored(way, _get(own, 0))
    ahead, left, up = dot(out, sender.x), dot(out, sender.y), dot(out, sender.z)
    u, v = numbers[U + lane], numbers[V + lane]
    scale = 1.0 / math.sqrt(1.0 + u * u + v * v)
    solid = 4.0 * numbers[HALF_U + lane] * numbers[HALF_V + lane] * scale**3
    gains = numbers[ROOT_GAIN + lane] * root_gain(sender.pattern, ahead, left, up)
    factor = sender.root_power * gains * solid * numbers[LENGTH + lane]
    factor *= _by_currents(sender, numbers, lane, home) / (4.0 * math.pi * distance)
    seen = _weight(numbers, lane, to, re, im)
    incoming = get_triple(numbers, WAY + lane)
    met = dot(get_triple(numbers, VELOCITY + lane), minus(incoming, to))
    first = plus(sender.x, plus(times(u, sender.y), times(v, sender.z)))
    leaving = dot(sender.velocity, plus(times(scale, first), out))
    speed = -0.5 * (numbers[DRIFT + lane] + drift + met - leaving)
    found = complex(factor * seen.real, -factor * seen.imag)  # the mixer conjugates
    return Crossing(found, numbers[LENGTH + lane] + distance, speed, (left, up))


@njit(**ACCESS)
def _by_currents(sender: Sender, numbers: Floats, lane: int, home: Triple) -> float:
    """The integral of the phase over a tube, on its way to an image."""
    normal = get_triple(numbers, NORMAL + lane)
    flat = across(numbers, lane, home, normal, numbers[GAP + lane], sender.wavenumber)
    return flat if sender.integrates else 1.0


@njit(**ACCESS)
def _weight(numbers: Floats, lane: int, to: Triple, re: Triple, im: Triple) -> complex:
    """What an object's currents send in a direction, by the field that is listened with."""
    normal, way = get_triple(numbers, NORMAL + lane), get_triple(numbers, WAY + lane)
    bounced = mirrored(way, normal)
    in_re, out_re = weights_of(way, bounced, normal, to, re)
    in_im, out_im = weights_of(way, bounced, normal, to, im)
    field_re, field_im = get_triple(numbers, FIELD_RE + lane), get_triple(numbers, FIELD_IM + lane)
    sent_re, sent_im = get_triple(numbers, SENT_RE + lane), get_triple(numbers, SENT_IM + lane)
    real = dot(field_re, in_re) + dot(sent_re, out_re) - dot(field_im, in_im) - dot(sent_im, out_im)
    other = dot(field_re, in_im) + dot(sent_re, out_im)
    other += dot(field_im, in_re) + dot(sent_im, out_re)
    return complex(real, other)
