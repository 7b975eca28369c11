"""Sending a radar's tubes into a scene, and what comes back: a list of paths.

Tubes are the parts of cells (``cells``). A chunk is a run of cells; its first hits are traced in
packets of neighbours, and all that goes on from there waits on a stack, the newest of which make
the next packet. What comes back goes to pages of a list, each of one chunk, so that the list in
the order of chunks depends on no thread.

A path that was bent needs the receiver in sight: a ray is sent there. Panes in between let it
through by what they leave of the field, in the mean of both polarisations.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.memory import claim_at
from sensor_models.kernels.math.philox import block, open_unit
from sensor_models.kernels.math.rotations import Triple, dot, plus, times
from sensor_models.kernels.math.turns import cosine_and_sine
from sensor_models.kernels.options import INLINE
from sensor_models.kernels.radar.compiling import CALLED
from sensor_models.kernels.radar.fields import polarised
from sensor_models.kernels.radar.meeting import (
    ENTITY,
    IM,
    IN_SIGHT,
    IN_Y,
    IN_Z,
    LENGTH,
    NOTHING,
    OWN,
    OWN_LENGTH,
    OWN_SPEED,
    PLACE,
    RE,
    SEEN_IM,
    SEEN_RE,
    SIGHT,
    SPEED,
    STRAY,
    TO_BE_SEEN,
    Answers,
    coefficients,
    meet,
    new_answers,
    thickness_at,
)
from sensor_models.kernels.radar.reflectors import Plane, Reflectors, plane_of
from sensor_models.kernels.radar.tubes import (
    BACK_IM,
    BACK_RE,
    DEPTH,
    DRAW,
    DRIFT,
    EVENTS,
    IDS,
    LEFT_Y,
    LEFT_Z,
    NUMBERS,
    OTHER_DRAW,
    PANE,
    RAY_SIZE,
    RAYS,
    ROOT_GAIN,
    SOLID,
    START,
    STRAIGHT,
    WAY,
    Sender,
    Tubes,
    get_triple,
    new_tubes,
    put_field,
    put_triple,
    root_gain,
    towards,
)
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.hits import (
    hit_distance,
    hit_material,
    hit_owner,
    hit_primitive,
    is_hit,
)
from sensor_models.kernels.tracing.packets import Packet, drop_ray, is_valid, new_packet
from sensor_models.kernels.tracing.rays import (
    claim,
    is_blocked,
    nearest_allowed,
    set_ray,
    trace_blocked,
    trace_quickly,
)
from sensor_models.kernels.tracing.scene_view import SceneView

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Columns of a path: amplitude without the phase of its length; length there and back, m; speed of
# closing, m/s; directions that it left in and comes from, in y and z of the sensor.
(
    PATH_RE, PATH_IM, PATH_LENGTH, PATH_SPEED, PATH_OUT_Y, PATH_OUT_Z, PATH_IN_Y, PATH_IN_Z,
) = range(8)  # fmt: skip
PATH_SIZE = 8
#: Paths on a page, and rows of the stack.
PAGE, STACK = 1024, 2048
#: Panes that a way back may lead through.
MOST_PANES = 6
#: Tubes that a cell may be divided into along each side, as a power of two.
DIVISIONS = 12


class Cells(NamedTuple):
    """Cells of the plane ahead that are looked at, in the order of their chunks."""

    numbers: Ints  # of each: row times columns plus column
    across: NDArray[np.int32]  # of each: tubes side by side, and above each other
    upward: NDArray[np.int32]
    chunks: Ints  # (chunks + 1,): the first cell of each
    columns: int
    left: float  # v and u of the first cell's corner
    bottom: float
    width: float
    height: float


class Pages(NamedTuple):
    """Paths on pages."""

    numbers: Floats  # (pages, PAGE, PATH_SIZE)
    entities: NDArray[np.int32]  # (pages, PAGE)
    used: Ints  # (pages, 3): chunk, count within the chunk, paths
    claims: Ints  # (1,): pages taken, which may be more than there are
    lost: Ints  # (1,): tubes that the stack had no room for


@njit(**INLINE)
def _turn_page(pages: Pages, page: Ints) -> None:
    """Take a new page for the chunk; ``page`` is number, paths, chunk, count of pages."""
    page[0], page[1] = claim_at(pages.claims.ctypes.data), 0
    if page[0] < len(pages.used):
        pages.used[page[0], 0], pages.used[page[0], 1] = page[2], page[3]
        pages.used[page[0], 2] = 0
    page[3] += 1


@njit(**CALLED)
def _note(
    pages: Pages,
    page: Ints,
    amplitude: complex,
    length: float,
    speed: float,
    out: tuple[float, float],
    back: tuple[float, float],
    entity: int,
) -> None:
    """Write a path down."""
    if page[0] < 0 or page[1] == PAGE:
        _turn_page(pages, page)
    if page[0] >= len(pages.used):
        return  # the caller makes room and begins again
    row = pages.numbers[page[0], page[1]]
    row[PATH_RE], row[PATH_IM] = amplitude.real, amplitude.imag
    row[PATH_LENGTH], row[PATH_SPEED] = length, speed
    row[PATH_OUT_Y], row[PATH_OUT_Z] = out
    row[PATH_IN_Y], row[PATH_IN_Z] = back
    pages.entities[page[0], page[1]] = entity
    page[1] += 1
    pages.used[page[0], 2] = page[1]


@njit(**INLINE)
def _begin(sender: Sender, cells: Cells, cell: int, part: int, tubes: Tubes, lane: int) -> Triple:
    """Set out with a tube; the direction of the ray that looks for its facet."""
    across, number = cells.across[cell], cells.numbers[cell]
    width, height = cells.width / across, cells.height / cells.upward[cell]
    u = cells.left + (number % cells.columns) * cells.width + (part % across + 0.5) * width
    v = cells.bottom + (number // cells.columns) * cells.height + (part // across + 0.5) * height
    draws = block(sender.key, sender.frame, (number << (2 * DIVISIONS)) + part)
    numbers, ids = tubes.numbers, tubes.ids
    side = (open_unit(draws[0]) - 0.5) * sender.jitter * width
    up = (open_unit(draws[1]) - 0.5) * sender.jitter * height
    for ray in range(5):
        du = 0.5 * width * ((-1.0 if ray == 1 else 0.0) + (1.0 if ray == 2 else 0.0))
        dv = 0.5 * height * ((-1.0 if ray == 3 else 0.0) + (1.0 if ray == 4 else 0.0))
        at = RAYS + RAY_SIZE * ray
        put_triple(numbers, lane, at, (0.0, 0.0, 0.0))
        put_triple(numbers, lane, at + 3, towards(sender, u + du, v + dv))
        numbers[lane, at + 6] = 0.0
    along = get_triple(numbers, lane, RAYS + 3)
    field = polarised(along, sender.z, sender.sent[0], sender.sent[1])
    put_field(numbers, lane, (complex(field[0]), complex(field[1]), complex(field[2])))
    looking: Triple = towards(sender, u + side, v + up)
    put_triple(numbers, lane, START, (0.0, 0.0, 0.0))
    put_triple(numbers, lane, WAY, looking)
    square = 1.0 + u * u + v * v
    scale = 1.0 / math.sqrt(square)
    numbers[lane, DRIFT] = 0.0
    numbers[lane, LEFT_Y], numbers[lane, LEFT_Z] = scale * u, scale * v
    numbers[lane, ROOT_GAIN] = root_gain(sender.pattern, scale, scale * u, scale * v)
    numbers[lane, SOLID] = width * height * scale / square
    numbers[lane, BACK_RE], numbers[lane, BACK_IM] = 1.0, 0.0
    numbers[lane, DRAW], numbers[lane, OTHER_DRAW] = open_unit(draws[2]), open_unit(draws[3])
    ids[lane, DEPTH] = ids[lane, EVENTS] = 0
    ids[lane, STRAIGHT], ids[lane, PANE] = 1, -1
    return looking


@njit(**INLINE)
def _aim(view: SceneView, sender: Sender, packet: Packet, lane: int, start: Triple, way: Triple,
         least: float, most: float) -> None:  # fmt: skip
    """Put a ray into a packet, its start relative to the sensor."""
    origin = plus(sender.place, start)
    set_ray(view, packet, lane, origin, way, max(least, nearest_allowed(view, origin)), most, 0.0)


@njit(**CALLED)
def _look_back(
    view: SceneView, sender: Sender, reflectors: Reflectors, packet: Packet, answers: Answers
) -> None:
    """Find out for which tubes of a packet the receiver is in sight."""
    for lane in range(WIDTH):
        if answers.ids[lane, SIGHT] == TO_BE_SEEN:
            _aim_home(view, sender, packet, lane, answers, 1e-4)
        else:
            drop_ray(packet, lane)
    trace_blocked(view, packet, True)
    asked, rounds = False, 0
    for lane in range(WIDTH):
        if not is_valid(packet, lane):
            continue
        if is_blocked(packet, lane):  # perhaps by a pane
            _aim_home(view, sender, packet, lane, answers, 1e-4)
            asked = True
        else:
            answers.ids[lane, SIGHT] = IN_SIGHT
            drop_ray(packet, lane)
    while asked and rounds < MOST_PANES:
        rounds += 1
        asked = False
        trace_quickly(view, packet, True)
        for lane in range(WIDTH):
            if not is_valid(packet, lane):
                continue
            if not is_hit(packet, lane):
                answers.ids[lane, SIGHT] = IN_SIGHT
                drop_ray(packet, lane)
                continue
            if _pass_pane(view, sender, reflectors, packet, lane, answers):
                asked = True
            else:
                answers.numbers[lane, SEEN_RE] = answers.numbers[lane, SEEN_IM] = 0.0
                answers.ids[lane, SIGHT] = IN_SIGHT
                drop_ray(packet, lane)


@njit(**INLINE)
def _aim_home(
    view: SceneView, sender: Sender, packet: Packet, lane: int, answers: Answers, least: float
) -> None:
    """Send a ray from where a tube is to the sensor."""
    place = get_triple(answers.numbers, lane, PLACE)
    length = math.sqrt(dot(place, place))
    way = times(-1.0 / length, place)
    _aim(view, sender, packet, lane, place, way, least, length * (1.0 - 1e-6))


@njit(**CALLED)
def _pass_pane(
    view: SceneView,
    sender: Sender,
    reflectors: Reflectors,
    packet: Packet,
    lane: int,
    answers: Answers,
) -> bool:
    """Go on behind a pane on the way back; False if it is none."""
    owner, face = hit_owner(packet, lane), hit_primitive(packet, lane)
    thickness = thickness_at(reflectors, owner, face)
    place = get_triple(answers.numbers, lane, PLACE)
    length = math.sqrt(dot(place, place))
    if thickness == 0.0 or length == 0.0:
        return False
    plane = plane_of(view, reflectors, owner, face, sender.place)
    way = times(-1.0 / length, place)
    cosine = min(max(abs(dot(plane.normal, way)), 1e-3), 1.0)
    material = hit_material(view, packet, lane)
    _, _, t_s, t_p, _ = coefficients(reflectors, material, thickness, cosine, sender.wavenumber)
    seen = complex(answers.numbers[lane, SEEN_RE], answers.numbers[lane, SEEN_IM])
    seen *= (0.5 * (t_s + t_p)).conjugate()
    answers.numbers[lane, SEEN_RE], answers.numbers[lane, SEEN_IM] = seen.real, seen.imag
    gone = float(hit_distance(packet, lane)) + thickness / cosine + 1e-4
    if gone >= length:
        return False
    put_triple(answers.numbers, lane, PLACE, plus(place, times(gone, way)))
    _aim_home(view, sender, packet, lane, answers, 1e-4)
    return True


@njit(**CALLED)
def _deliver(pages: Pages, page: Ints, tubes: Tubes, answers: Answers) -> None:
    """Write down the paths of a packet."""
    numbers, answer = tubes.numbers, answers.numbers
    for lane in range(WIDTH):
        if answers.ids[lane, SIGHT] == NOTHING:
            continue
        entity = answers.ids[lane, ENTITY]
        out = (numbers[lane, LEFT_Y], numbers[lane, LEFT_Z])
        back = (answer[lane, IN_Y], answer[lane, IN_Z])
        seen = complex(answer[lane, SEEN_RE], answer[lane, SEEN_IM])
        stray = 0j
        if answer[lane, STRAY] > 0.0:
            c, s = cosine_and_sine(numbers[lane, DRAW])
            stray = seen * answer[lane, STRAY] * complex(c, s)
        bent = tubes.ids[lane, STRAIGHT] == 0
        length, speed = answer[lane, LENGTH], answer[lane, SPEED]
        if seen != 0j:
            straight = seen * complex(answer[lane, RE], answer[lane, IM])
            _note(pages, page, straight + stray, length, speed, out, back, entity)
            if bent and stray != 0j:  # the other way round
                _note(pages, page, stray, length, speed, back, out, entity)
        own = answer[lane, OWN]
        if bent and own > 0.0:
            c, s = cosine_and_sine(numbers[lane, OTHER_DRAW])
            amplitude = own * complex(c, s)
            length, speed = answer[lane, OWN_LENGTH], answer[lane, OWN_SPEED]
            _note(pages, page, amplitude, length, speed, out, out, entity)


@njit(**INLINE)
def _trace_packet(
    view: SceneView,
    sender: Sender,
    reflectors: Reflectors,
    motions: Floats,
    packet: Packet,
    looking: Packet,
    tubes: Tubes,
    waiting: Tubes,
    held: Ints,
    answers: Answers,
) -> None:
    """Trace a packet, have its tubes answer, and find out which answers are seen.

    Tubes that were bent are told to be neighbours, too: of flat surfaces they are, and the bounces
    of a whole yard took a seventh less than as rays that have nothing to do with each other.
    """
    trace_quickly(view, packet, True)
    asked = False
    last_owner, last_face, plane = -1, -1, Plane((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    for lane in range(WIDTH):
        answers.ids[lane, SIGHT] = NOTHING
        if is_valid(packet, lane) and is_hit(packet, lane):
            owner, face = hit_owner(packet, lane), hit_primitive(packet, lane)
            if owner != last_owner or face != last_face:  # neighbours often meet the same one
                plane = plane_of(view, reflectors, owner, face, sender.place)
                last_owner, last_face = owner, face
            meet(
                view, sender, reflectors, motions, packet, lane, plane, tubes, waiting, held,
                answers,
            )  # fmt: skip
            asked = asked or answers.ids[lane, SIGHT] == TO_BE_SEEN
    if asked:
        _look_back(view, sender, reflectors, looking, answers)


@njit(**INLINE)
def _fill(
    view: SceneView, sender: Sender, cells: Cells, packet: Packet, tubes: Tubes, at: Ints, last: int
) -> None:
    """Put the next tubes into a packet; ``at`` is a cell, and a part of it."""
    for lane in range(WIDTH):
        if at[0] >= last:
            drop_ray(packet, lane)
            continue
        way = _begin(sender, cells, at[0], at[1], tubes, lane)
        _aim(view, sender, packet, lane, (0.0, 0.0, 0.0), way, 0.0, math.inf)
        at[1] += 1
        if at[1] >= cells.across[at[0]] * cells.upward[at[0]]:
            at[0], at[1] = at[0] + 1, 0


@njit(**INLINE)
def _take_off(
    view: SceneView, sender: Sender, packet: Packet, tubes: Tubes, waiting: Tubes, held: Ints
) -> None:
    """Put the newest tubes of the stack into a packet."""
    count = min(held[0], WIDTH)
    held[0] -= count
    for lane in range(WIDTH):
        if lane >= count:
            drop_ray(packet, lane)
            continue
        for k in range(NUMBERS):
            tubes.numbers[lane, k] = waiting.numbers[held[0] + lane, k]
        for k in range(IDS):
            tubes.ids[lane, k] = waiting.ids[held[0] + lane, k]
        start = get_triple(tubes.numbers, lane, START)
        way = get_triple(tubes.numbers, lane, WAY)
        _aim(view, sender, packet, lane, start, way, 1e-5, math.inf)


class Room(NamedTuple):
    """What a thread works with."""

    packet: Packet
    looking: Packet
    answers: Answers
    tubes: Tubes
    waiting: Tubes
    held: Ints  # tubes on the stack, and those that it had no room for
    page: Ints  # number of the page, paths on it, chunk, count of pages of the chunk
    at: Ints  # cell and part


@njit(**CALLED)
def _shoot_chunk(
    view: SceneView,
    sender: Sender,
    reflectors: Reflectors,
    motions: Floats,
    cells: Cells,
    pages: Pages,
    room: Room,
    chunk: int,
) -> None:
    """Send the tubes of a chunk."""
    page, at, held, last = room.page, room.at, room.held, cells.chunks[chunk + 1]
    page[0], page[1], page[2], page[3] = -1, 0, chunk, 0
    at[0], at[1] = cells.chunks[chunk], 0
    while at[0] < last or held[0] > 0:
        if held[0] < WIDTH and at[0] < last:
            _fill(view, sender, cells, room.packet, room.tubes, at, last)
        else:
            _take_off(view, sender, room.packet, room.tubes, room.waiting, held)
        _trace_packet(
            view, sender, reflectors, motions, room.packet, room.looking, room.tubes,
            room.waiting, held, room.answers,
        )  # fmt: skip
        _deliver(pages, page, room.tubes, room.answers)


@njit(nogil=True, cache=True)
def shoot(
    view: SceneView,
    claims: Ints,
    sender: Sender,
    reflectors: Reflectors,
    motions: Floats,
    cells: Cells,
    pages: Pages,
) -> None:
    """Send the tubes of all cells and write down the paths of what comes back."""
    room = Room(
        new_packet(), new_packet(), new_answers(), new_tubes(WIDTH), new_tubes(STACK),
        np.zeros(2, np.int64), np.zeros(4, np.int64), np.zeros(2, np.int64),
    )  # fmt: skip
    chunk = claim(claims)
    while chunk < len(cells.chunks) - 1:
        _shoot_chunk(view, sender, reflectors, motions, cells, pages, room, chunk)
        chunk = claim(claims)
    pages.lost[0] += room.held[1]
