"""What becomes of a tube at a surface: what it sends back, and the tubes that go on from there."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.memory import float32_at
from sensor_models.kernels.math.rotations import Triple, dot, minus, plus, times
from sensor_models.kernels.options import INLINE
from sensor_models.kernels.radar.compiling import CALLED
from sensor_models.kernels.radar.fields import (
    CONDUCTOR,
    DIFFUSE,
    LEAST_COSINE,
    Field,
    coherent,
    mirrored,
    pane,
    passed_field,
    polarised,
    power,
    reflected_field,
    reflection,
    seen_by,
    side_axis,
    squared,
)
from sensor_models.kernels.radar.reflectors import Plane, Reflectors, velocity_at
from sensor_models.kernels.radar.tubes import (
    BACK_IM,
    BACK_RE,
    DEPTH,
    DRIFT,
    EVENTS,
    IDS,
    IN_PANE,
    LEAST_POWER,
    LEFT_Y,
    LEFT_Z,
    MOST_EVENTS,
    NUMBERS,
    PANE,
    RAYS,
    ROOT_GAIN,
    SOLID,
    START,
    STRAIGHT,
    WAY,
    Sender,
    Tubes,
    across,
    bounce,
    get_field,
    get_triple,
    lead,
    put_field,
    put_triple,
    root_gain,
    there_and_back,
)
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.hits import (
    hit_distance,
    hit_entity,
    hit_material,
    hit_owner,
    hit_primitive,
)
from sensor_models.kernels.tracing.packets import Packet
from sensor_models.kernels.tracing.scene_view import SceneView

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Columns of what a tube sends back: amplitude without the phase of its length; length there and
# back; speed of closing; where it comes from, in y and z of the sensor; amplitude, length and
# speed of what a diffuse surface sends; what the way back lets through; the place it is at.
RE, IM, LENGTH, SPEED, IN_Y, IN_Z = range(6)
STRAY, OWN, OWN_LENGTH, OWN_SPEED, SEEN_RE, SEEN_IM, PLACE = range(6, 13)
ANSWER_SIZE = PLACE + 3
#: And of its whole numbers: entity, and whether the receiver may be in sight.
ENTITY, SIGHT = range(2)
NOTHING, IN_SIGHT, TO_BE_SEEN = range(3)


class Answers(NamedTuple):
    """What the tubes of a packet send back."""

    numbers: Floats  # (WIDTH, ANSWER_SIZE)
    ids: Ints  # (WIDTH, 2)


@njit(cache=True)
def new_answers() -> Answers:
    """Room for the answers of a packet."""
    return Answers(np.zeros((WIDTH, ANSWER_SIZE)), np.zeros((WIDTH, 2), np.int64))


@njit(**INLINE)
def thickness_at(reflectors: Reflectors, owner: int, face: int) -> float:
    """The thickness of the pane that a facet is one side of, 0 for none."""
    address = reflectors.thickness[owner]
    return 0.0 if address == 0 else float(float32_at(address, face))


@njit(**CALLED)
def coefficients(
    reflectors: Reflectors, material: int, thickness: float, cosine: float, wavenumber: float
) -> tuple[complex, complex, complex, complex, float]:
    """r_s, r_p, t_s, t_p of a surface, and its diffuse reflectance."""
    kind, given = reflectors.kind[material], reflectors.diffuse[material]
    if kind == DIFFUSE:
        return 0j, 0j, 0j, 0j, given
    r_s, r_p, t_s, t_p = -1.0 + 0j, -1.0 + 0j, 0j, 0j
    if kind != CONDUCTOR:
        index = reflectors.indices[material]
        if thickness > 0.0:
            r_s, r_p, t_s, t_p = pane(index, cosine, thickness, wavenumber)
        else:
            r_s, r_p = reflection(index, cosine)
    rms, diffuse = reflectors.rms[material], given
    left = coherent(rms, cosine, wavenumber) if rms > 0.0 else 1.0
    if math.isnan(given):
        share = 0.5 * (squared(r_s) + squared(r_p))
        diffuse = share * (1.0 - left * left)
    return left * r_s, left * r_p, t_s, t_p, diffuse


@njit(**INLINE)
def _push(waiting: Tubes, held: Ints, tubes: Tubes, lane: int) -> int:
    """Have a copy of a tube wait; its row, -1 if there is no room."""
    row: int = held[0]
    if row >= len(waiting.numbers):
        held[1] += 1
        return -1
    held[0] = row + 1
    for k in range(NUMBERS):
        waiting.numbers[row, k] = tubes.numbers[lane, k]
    for k in range(IDS):
        waiting.ids[row, k] = tubes.ids[lane, k]
    return row


@njit(**INLINE)
def _first_way(sender: Sender, numbers: Floats, lane: int) -> Triple:
    """The direction in which a tube has left the sender."""
    y, z = numbers[lane, LEFT_Y], numbers[lane, LEFT_Z]
    ahead = times(math.sqrt(max(1.0 - y**2 - z**2, 0.0)), sender.x)
    first: Triple = plus(ahead, plus(times(y, sender.y), times(z, sender.z)))
    return first


@njit(**INLINE)
def _stray_back(
    sender: Sender,
    tubes: Tubes,
    lane: int,
    plane: Plane,
    velocity: Triple,
    field: Field,
    diffuse: float,
    first: Triple,
    answers: Answers,
) -> None:
    """Work out what a rough surface sends back the way that the tube has come."""
    numbers, answer = tubes.numbers, answers.numbers
    way, length = get_triple(numbers, lane, RAYS + 3), numbers[lane, RAYS + 6]
    gain, strength = numbers[lane, ROOT_GAIN], power(field)
    cosine = max(-dot(plane.normal, way), LEAST_COSINE)
    wide = math.sqrt(4.0 * diffuse * cosine * numbers[lane, SOLID])  # of sqrt(sigma) / L
    unit = sender.root_power * _unit(sender.wavenumber)
    answer[lane, OWN] = unit * gain * gain * strength * wide / length
    answer[lane, OWN_LENGTH] = 2.0 * length
    own = 2.0 * numbers[lane, DRIFT] + 2.0 * dot(velocity, way) - 2.0 * dot(sender.velocity, first)
    answer[lane, OWN_SPEED] = -0.5 * own
    answers.ids[lane, SIGHT] = IN_SIGHT
    answer[lane, SEEN_RE] = answer[lane, SEEN_IM] = 0.0


@njit(**CALLED)
def _send_back(
    sender: Sender,
    tubes: Tubes,
    lane: int,
    plane: Plane,
    velocity: Triple,
    field: Field,
    sent: Field,
    diffuse: float,
    answers: Answers,
) -> None:
    """Work out what a surface sends to the receiver, as if that were in sight."""
    numbers, ids, answer = tubes.numbers, tubes.ids, answers.numbers
    straight = ids[lane, STRAIGHT] != 0
    place, way = get_triple(numbers, lane, RAYS), get_triple(numbers, lane, RAYS + 3)
    length, back = numbers[lane, RAYS + 6], math.sqrt(dot(place, place))
    to = times(-1.0 / back, place)
    facing = dot(plane.normal, to)
    answers.ids[lane, SIGHT] = NOTHING
    answer[lane, OWN] = answer[lane, STRAY] = answer[lane, RE] = answer[lane, IM] = 0.0
    gain, solid = numbers[lane, ROOT_GAIN], numbers[lane, SOLID]
    y, z = -dot(to, sender.y), -dot(to, sender.z)
    drift, first = numbers[lane, DRIFT], _first_way(sender, numbers, lane)
    if diffuse > 0.0 and not straight:
        _stray_back(sender, tubes, lane, plane, velocity, field, diffuse, first, answers)
    if facing <= 0.0:
        return
    arrival = gain if straight else root_gain(sender.pattern, -dot(to, sender.x), y, z)
    if arrival == 0.0:
        return
    receiver = polarised(times(-1.0, to), sender.z, sender.received[0], sender.received[1])
    weight = seen_by(field, sent, way, plane.normal, to, receiver)
    flat = across(numbers, lane, sender.wavenumber) if sender.integrates else 1.0
    scale = sender.root_power * gain * arrival * solid * length / (4.0 * math.pi * back) * flat
    answer[lane, RE], answer[lane, IM] = scale * weight.real, -scale * weight.imag
    answer[lane, LENGTH] = there_and_back(numbers, lane, 0)
    met = drift + dot(velocity, minus(way, to)) + dot(sender.velocity, minus(to, first))
    answer[lane, SPEED] = -0.5 * met
    answer[lane, IN_Y], answer[lane, IN_Z] = y, z
    if diffuse > 0.0:
        wide = math.sqrt(4.0 * diffuse * facing * solid * power(field))
        unit = sender.root_power * _unit(sender.wavenumber)
        answer[lane, STRAY] = unit * gain * arrival * wide / back
    put_triple(answer, lane, PLACE, get_triple(numbers, lane, START))
    answers.ids[lane, SIGHT] = IN_SIGHT if straight else TO_BE_SEEN
    answer[lane, SEEN_RE] = numbers[lane, BACK_RE] if straight else 1.0
    answer[lane, SEEN_IM] = -numbers[lane, BACK_IM] if straight else 0.0


@njit(**INLINE)
def _unit(wavenumber: float) -> float:
    """The wavelength / (4 pi)^(3/2)."""
    unit: float = 2.0 * math.pi / wavenumber / (4.0 * math.pi) ** 1.5
    return unit


@njit(**INLINE)
def _facing(plane: Plane, way: Triple) -> Plane:
    """A plane with its normal against a way."""
    turned = dot(plane.normal, way) > 0.0
    return Plane(times(-1.0 if turned else 1.0, plane.normal), plane.point)


@njit(**CALLED)
def meet(
    view: SceneView,
    sender: Sender,
    reflectors: Reflectors,
    motions: Floats,
    packet: Packet,
    lane: int,
    facet: Plane,
    tubes: Tubes,
    waiting: Tubes,
    held: Ints,
    answers: Answers,
) -> None:
    """Have a tube whose ray hit a facet answer, and go on."""
    numbers, ids = tubes.numbers, tubes.ids
    owner, face = hit_owner(packet, lane), hit_primitive(packet, lane)
    answers.ids[lane, SIGHT] = NOTHING
    ids[lane, EVENTS] += 1
    start, way = get_triple(numbers, lane, START), get_triple(numbers, lane, WAY)
    plane = _facing(facet, way)
    product = dot(plane.normal, way)
    if product == 0.0:
        return
    reach = dot(minus(plane.point, start), plane.normal) / product
    inside = ids[lane, PANE] == owner and hit_distance(packet, lane) <= numbers[lane, IN_PANE]
    put_triple(numbers, lane, START, plus(start, times(reach, way)))
    more = ids[lane, EVENTS] < MOST_EVENTS
    if inside:  # the other side of a pane, which has been reckoned with
        ids[lane, PANE] = -1
        if more:
            _push(waiting, held, tubes, lane)
        return
    ids[lane, PANE] = -1
    for ray in range(5):
        lead(numbers, lane, ray, plane, LEAST_COSINE)
    material, thickness = hit_material(view, packet, lane), thickness_at(reflectors, owner, face)
    straight_on = get_triple(numbers, lane, RAYS + 3)
    cosine = min(max(-dot(plane.normal, straight_on), LEAST_COSINE), 1.0)
    r_s, r_p, t_s, t_p, diffuse = coefficients(
        reflectors, material, thickness, cosine, sender.wavenumber
    )
    field, side = get_field(numbers, lane), side_axis(straight_on, plane.normal)
    sent = reflected_field(field, straight_on, plane.normal, side, r_s, r_p)
    velocity = velocity_at(view, motions, owner, get_triple(numbers, lane, RAYS))
    answers.ids[lane, ENTITY] = hit_entity(view, packet, lane)
    _send_back(sender, tubes, lane, plane, velocity, field, sent, diffuse, answers)
    if not more:
        return
    if t_s != 0j or t_p != 0j:
        beyond = passed_field(field, straight_on, side, t_s, t_p)
        if power(beyond) > LEAST_POWER:
            row = _push(waiting, held, tubes, lane)
            if row >= 0:
                _go_through(waiting, row, owner, field, beyond, thickness, cosine)
    ids[lane, DEPTH] += 1
    if ids[lane, DEPTH] < sender.most_bounces and power(sent) > LEAST_POWER:
        row = _push(waiting, held, tubes, lane)
        if row >= 0:
            _go_on(waiting, row, plane, velocity, sent)


@njit(**INLINE)
def _go_through(
    tubes: Tubes, row: int, owner: int, field: Field, beyond: Field, thickness: float, cosine: float
) -> None:
    """Have a tube go on behind a pane."""
    numbers = tubes.numbers
    put_field(numbers, row, beyond)
    before = power(field)
    through = 0j  # what the pane leaves of the field, as it will of what comes back
    for axis in range(3):
        through += beyond[axis] * field[axis].conjugate()
    through /= before
    back = complex(numbers[row, BACK_RE], numbers[row, BACK_IM]) * through
    numbers[row, BACK_RE], numbers[row, BACK_IM] = back.real, back.imag
    numbers[row, IN_PANE] = 1.05 * thickness / cosine + 1e-4
    tubes.ids[row, PANE] = owner


@njit(**INLINE)
def _go_on(tubes: Tubes, row: int, plane: Plane, velocity: Triple, sent: Field) -> None:
    """Have a tube go on from a mirror."""
    numbers = tubes.numbers
    put_field(numbers, row, sent)
    before = get_triple(numbers, row, RAYS + 3)
    for ray in range(5):
        bounce(numbers, row, ray, plane)
    numbers[row, DRIFT] += dot(velocity, minus(before, get_triple(numbers, row, RAYS + 3)))
    put_triple(numbers, row, WAY, mirrored(get_triple(numbers, row, WAY), plane.normal))
    tubes.ids[row, STRAIGHT] = 0
