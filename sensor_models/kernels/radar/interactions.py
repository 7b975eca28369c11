"""What becomes of tubes at surfaces: what they meet there, and the tubes that go on from there."""

import math

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.memory import float32_at
from sensor_models.kernels.math.rotations import Triple, cross, dot
from sensor_models.kernels.radar.compiling import CALLED
from sensor_models.kernels.radar.fields import INDEXED, pane, polarised, squared
from sensor_models.kernels.radar.mirrors import go_on, is_shown, judge, send_over_mirrors
from sensor_models.kernels.radar.ray_tubes import (
    APART,
    BACK_IM,
    BACK_RE,
    DEPTH,
    EVENTS,
    FIELD_IM,
    FIELD_RE,
    IN_PANE,
    LEAST_POWER,
    MOST_EVENTS,
    NUMBERS,
    PANE,
    STACK,
    TURNED_IM,
    TURNED_RE,
    Sender,
    get_triple,
    put_triple,
)
from sensor_models.kernels.radar.reflectors import (
    Plane,
    Reflectors,
    plane_of,
    velocity_at,
    zone_room,
)
from sensor_models.kernels.radar.scattering import (
    AT,
    COSINE,
    DIFFUSELY,
    GIVEN,
    HIT,
    INDEX_IM,
    INDEX_RE,
    INSIDE,
    KIND,
    LEFT,
    NORMAL,
    OWNER,
    POINT,
    POWER,
    ROOM,
    RP_IM,
    RP_RE,
    RS_IM,
    RS_RE,
    SIDE,
    SIZE,
    THICKNESS,
    TP_IM,
    TP_RE,
    TS_IM,
    TS_RE,
    VELOCITY,
    WAY,
    find_coefficients,
    gain_back,
    reach_planes,
    reflect,
    send_back,
    tell_sight,
    thin_out,
)
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.hits import (
    hit_distance,
    hit_entity,
    hit_material,
    hit_owner,
    hit_primitive,
    is_hit,
)
from sensor_models.kernels.tracing.packets import ACCESS, VALID, Packet, is_valid
from sensor_models.kernels.tracing.scene_view import SceneView

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Share of a packet's tubes from which on they go on together, without waiting for others.
STAYING = 0.75


@njit(**ACCESS)
def thickness_at(reflectors: Reflectors, owner: int, face: int) -> float:
    """The thickness of the pane that a facet is one side of, 0 for none."""
    address = reflectors.thickness[owner]
    return 0.0 if address == 0 else float(float32_at(address, face))


@njit(**ACCESS)
def note_facets(
    view: SceneView,
    sender: Sender,
    reflectors: Reflectors,
    packet: Packet,
    numbers: Floats,
    entities: Ints,
) -> tuple[int, bool]:
    """Note what facets the tubes of a packet met: how many met one, and whether one is special.

    That is a pane's, or on a body.
    """
    last_owner, last_face, found, special = -1, -1, 0, False
    plane, material, entity = Plane((0.0, 0.0, 1.0), (0.0, 0.0, 1.0)), 0, 0
    kind = thickness = rms = given = room = 0.0
    index = 0j
    for lane in range(WIDTH):
        numbers[HIT + lane] = numbers[INSIDE + lane] = 0.0
        if not (is_valid(packet, lane) and is_hit(packet, lane)):
            continue
        found += 1
        numbers[HIT + lane] = 1.0
        owner, face = hit_owner(packet, lane), hit_primitive(packet, lane)
        if owner != last_owner or face != last_face:  # neighbours often meet the same one
            last_owner, last_face = owner, face
            plane = plane_of(view, reflectors, owner, face, sender.place)
            thickness = thickness_at(reflectors, owner, face)
            entity, material = hit_entity(view, packet, lane), hit_material(view, packet, lane)
            kind, index = float(reflectors.kind[material]), reflectors.indices[material]
            rms, given = reflectors.rms[material], reflectors.diffuse[material]
            room = zone_room(reflectors, owner, face, sender.wavenumber)
            special = special or thickness > 0.0 or view.body_of[owner] >= 0
        put_triple(numbers, NORMAL + lane, plane.normal)
        put_triple(numbers, POINT + lane, plane.point)
        numbers[KIND + lane], numbers[THICKNESS + lane] = kind, thickness
        numbers[INDEX_RE + lane], numbers[INDEX_IM + lane] = index.real, index.imag
        numbers[LEFT + lane], numbers[GIVEN + lane] = rms, given
        numbers[OWNER + lane], entities[lane] = owner, entity
        numbers[ROOM + lane], numbers[SIZE + lane] = room, reflectors.sizes[owner]
        near = hit_distance(packet, lane) <= numbers[IN_PANE + lane]
        numbers[INSIDE + lane] = 1.0 if near and numbers[PANE + lane] == owner else 0.0
    return found, special


@njit(**ACCESS)
def answer(
    view: SceneView, sender: Sender, motions: Floats, numbers: Floats, special: bool
) -> bool:
    """Have the tubes of a packet answer, as if the receiver were in sight of all.

    ``special`` is that of ``note_facets``. Returns whether anything comes back over mirrors.
    """
    reach_planes(sender, numbers)
    find_coefficients(sender, numbers)
    for k in range(3 * WIDTH):
        numbers[VELOCITY + k] = 0.0
    if special:
        _see_special(view, sender, motions, numbers)
    gain_back(sender, numbers)
    reflect(numbers)
    returns = judge(numbers)
    send_back(sender, numbers)
    if returns:
        send_over_mirrors(sender, numbers)
    thin_out(sender, numbers)
    tell_sight(numbers)
    return bool(returns)


@njit(**ACCESS)
def _see_special(view: SceneView, sender: Sender, motions: Floats, numbers: Floats) -> None:
    """Reckon with panes, and with the motion of bodies."""
    for lane in range(WIDTH):
        if numbers[HIT + lane] == 0.0:
            continue
        if numbers[THICKNESS + lane] > 0.0 and numbers[INSIDE + lane] == 0.0:
            _see_pane(sender, numbers, lane)
        owner = int(numbers[OWNER + lane])
        if view.body_of[owner] >= 0:
            place = get_triple(numbers, AT + lane)
            put_triple(numbers, VELOCITY + lane, velocity_at(view, motions, owner, place))


@njit(**CALLED)
def _see_pane(sender: Sender, numbers: Floats, lane: int) -> None:
    """Reflect at a pane, not at a face, and let through what it does."""
    index = complex(numbers[INDEX_RE + lane], numbers[INDEX_IM + lane])
    if numbers[KIND + lane] != INDEXED:
        return
    thickness, cosine = numbers[THICKNESS + lane], numbers[COSINE + lane]
    r_s, r_p, t_s, t_p = pane(index, cosine, thickness, sender.wavenumber)
    left = numbers[LEFT + lane]
    numbers[RS_RE + lane], numbers[RS_IM + lane] = left * r_s.real, left * r_s.imag
    numbers[RP_RE + lane], numbers[RP_IM + lane] = left * r_p.real, left * r_p.imag
    if math.isnan(numbers[GIVEN + lane]):
        share = 0.5 * (squared(r_s) + squared(r_p))
        numbers[DIFFUSELY + lane] = share * (1.0 - left * left)
    numbers[TS_RE + lane], numbers[TS_IM + lane] = t_s.real, t_s.imag
    numbers[TP_RE + lane], numbers[TP_IM + lane] = t_p.real, t_p.imag


@njit(**ACCESS)
def _push(waiting: Floats, filled: Ints, numbers: Floats, lane: int) -> int:
    """Have a copy of a tube wait; its row, -1 if there is no room."""
    row: int = filled[0]
    if row >= STACK:
        filled[1] += 1
        return -1
    filled[0] = row + 1
    for k in range(NUMBERS):
        waiting[k * APART + row] = numbers[k * WIDTH + lane]
    return row


@njit(**CALLED)
def follow(sender: Sender, packet: Packet, numbers: Floats, waiting: Floats, filled: Ints) -> bool:
    """Have what goes on from a packet's surfaces do so; whether that is the packet itself.

    Behind panes it waits. What mirrors send on waits as well, unless that is most of the packet:
    such a packet is traced as it is, without its tubes, of 55 numbers each, being written to where
    they wait and read again. That took as long as to trace them.
    """
    going = 0
    for lane in range(WIDTH):
        if numbers[HIT + lane] == 0.0:
            continue
        numbers[EVENTS + lane] += 1.0
        numbers[PANE + lane] = -1.0
        if numbers[EVENTS + lane] >= MOST_EVENTS:
            numbers[HIT + lane] = 0.0
        elif (
            numbers[INSIDE + lane] != 0.0
        ):  # the other side of a pane, which has been reckoned with
            _push(waiting, filled, numbers, lane)
            numbers[HIT + lane] = 0.0
        else:
            if numbers[THICKNESS + lane] > 0.0:
                _go_through(sender, numbers, lane, waiting, filled)
            numbers[DEPTH + lane] += 1.0
            most = sender.most_bounces + (1 if is_shown(numbers, lane) else 0)
            on = numbers[DEPTH + lane] < most and numbers[POWER + lane] > LEAST_POWER
            numbers[HIT + lane] = 1.0 if on else 0.0
            going += 1 if on else 0
    if going == 0:
        return False
    go_on(sender, numbers)
    stays = going >= STAYING * WIDTH
    for lane in range(WIDTH):
        on = numbers[HIT + lane] != 0.0
        packet.words[VALID + lane] = -1 if on else 0
        if on and not stays:
            _push(waiting, filled, numbers, lane)
    return bool(stays)


@njit(**ACCESS)
def _place(number: int, row: int) -> int:
    """Where a number of a tube is that waits."""
    return number // WIDTH * APART + row


@njit(**ACCESS)
def through_pane(
    sender: Sender, way: Triple, side: Triple, t_s: complex, t_p: complex, own: complex,
    other: complex,
) -> tuple[complex, complex]:  # fmt: skip
    """What a pane makes of the field that the receiver would send ``way``.

    By parts along its own polarisation and along the one across. What comes back to the receiver
    through panes is by reciprocity what this field takes of it before them.
    """
    axis = polarised(way, sender.z, sender.received[0], sender.received[1])
    across: Triple = cross(way, axis)
    upright: Triple = cross(side, way)
    s = t_s * (own * dot(axis, side) + other * dot(across, side))
    p = t_p * (own * dot(axis, upright) + other * dot(across, upright))
    return (
        s * dot(axis, side) + p * dot(axis, upright),
        s * dot(across, side) + p * dot(across, upright),
    )


@njit(**CALLED)
def _go_through(sender: Sender, numbers: Floats, lane: int, waiting: Floats, filled: Ints) -> None:
    """Have a tube go on behind a pane, if that leaves anything of it."""
    t_s = complex(numbers[TS_RE + lane], numbers[TS_IM + lane])
    t_p = complex(numbers[TP_RE + lane], numbers[TP_IM + lane])
    if t_s == 0j and t_p == 0j:
        return
    side, way = get_triple(numbers, SIDE + lane), get_triple(numbers, WAY + lane)
    upright: Triple = cross(side, way)
    re, im = get_triple(numbers, FIELD_RE + lane), get_triple(numbers, FIELD_IM + lane)
    along = complex(dot(re, side), dot(im, side))
    up = complex(dot(re, upright), dot(im, upright))
    s, p = t_s * along, t_p * up
    if squared(s) + squared(p) <= LEAST_POWER:
        return
    row = _push(waiting, filled, numbers, lane)
    if row < 0:
        return
    for axis in range(3):
        re_at, im_at = FIELD_RE + axis * WIDTH, FIELD_IM + axis * WIDTH
        waiting[_place(re_at, row)] = s.real * side[axis] + p.real * upright[axis]
        waiting[_place(im_at, row)] = s.imag * side[axis] + p.imag * upright[axis]
    back = complex(numbers[BACK_RE + lane], numbers[BACK_IM + lane])
    askew = complex(numbers[TURNED_RE + lane], numbers[TURNED_IM + lane])
    back, askew = through_pane(sender, way, side, t_s, t_p, back, askew)
    waiting[_place(BACK_RE, row)], waiting[_place(BACK_IM, row)] = back.real, back.imag
    waiting[_place(TURNED_RE, row)], waiting[_place(TURNED_IM, row)] = askew.real, askew.imag
    behind = 1.05 * numbers[THICKNESS + lane] / numbers[COSINE + lane] + 1e-4
    waiting[_place(IN_PANE, row)], waiting[_place(PANE, row)] = behind, numbers[OWNER + lane]
