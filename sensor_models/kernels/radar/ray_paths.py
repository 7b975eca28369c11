"""Sending a radar's tubes into a scene, and what comes back: a list of paths.

Tubes are the parts of cells (``cells``). A chunk is a run of cells; its first hits are traced in
packets of neighbours. A packet of which most go on is traced as it is; else what goes on waits on a
stack, the newest of which make the next packet. What comes back goes to pages of a list, each of
one chunk, so that the list in the order of chunks depends on no thread.

A path that was bent needs the receiver in sight: a ray is sent there. Panes in between let through
what they leave of the field that the receiver would send that way.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.philox import DROPPED_BITS, block, open_unit
from sensor_models.kernels.math.rotations import dot, plus, times
from sensor_models.kernels.radar.compiling import CALLED
from sensor_models.kernels.radar.crossings import (
    AT_LAST,
    LEG_SIZE,
    MOST_IMAGES,
    TO_COME,
    Images,
    look_for_ways,
    others_of,
    send_over_others,
)
from sensor_models.kernels.radar.fields import LEAST_COSINE, pane, side_axis, squared
from sensor_models.kernels.radar.interactions import (
    answer,
    follow,
    note_facets,
    thickness_at,
    through_pane,
)
from sensor_models.kernels.radar.pages import Pages, note
from sensor_models.kernels.radar.ray_tubes import (
    APART,
    DRAW,
    HALF_U,
    HALF_V,
    NEXT,
    NUMBERS,
    OTHER_DRAW,
    SHIFT_U,
    SHIFT_V,
    STRAIGHT,
    Sender,
    U,
    V,
    get_triple,
    launch,
    look_ahead,
    put_triple,
)
from sensor_models.kernels.radar.reflectors import Reflectors, plane_of
from sensor_models.kernels.radar.scattering import (
    ASKEW_IM,
    ASKEW_RE,
    COLUMNS,
    HOME,
    IM,
    IN_SIGHT,
    IN_Y,
    IN_Z,
    LENGTH,
    NOTHING,
    OUT_Y,
    OUT_Z,
    OVER_IM,
    OVER_RE,
    OVER_SPEED,
    OVER_TOTAL,
    OWN_IM,
    OWN_RE,
    OWN_SPEED,
    OWNER,
    RE,
    RETURNS,
    SEEN_IM,
    SEEN_RE,
    SIGHT,
    SPEED,
    STRAY_IM,
    STRAY_RE,
    TO_BE_SEEN,
    TOTAL,
    TWICE,
    send_askew,
)
from sensor_models.kernels.radar.simd import BYTES, copy_eight
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.hits import (
    hit_distance,
    hit_material,
    hit_owner,
    hit_primitive,
    is_hit,
)
from sensor_models.kernels.tracing.packets import (
    ACCESS,
    T_MAX,
    T_MIN,
    VALID,
    Packet,
    drop_ray,
    is_valid,
    new_packet,
)
from sensor_models.kernels.tracing.rays import (
    claim,
    hits_found,
    is_blocked,
    nearest_allowed,
    set_ray,
    set_rays,
    trace_opaque,
    trace_quickly,
)
from sensor_models.kernels.tracing.scene_view import SceneView

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: How far from its mirror the nearest thing is that a bent tube meets, m.
NEAREST = np.float32(1e-5)
#: Panes that a way back may lead through.
MOST_PANES = 6
#: Power beside that of what is thinned out (``Sender.faint``) which is rounding, 200 dB below the
#: noise: what mirrors nothing sends its own way back the difference of two equal numbers.
ROUNDING = 1e-19
#: Tubes that a cell may be divided into along each side, as a power of two.
DIVISIONS = 12
#: The last bits of a random word, and how many numbers they make.
LAST_BITS, BITS = (np.uint64(1) << DROPPED_BITS) - np.uint64(1), 4096.0


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


class Room(NamedTuple):
    """What a thread works with."""

    packet: Packet
    looking: Packet
    tubes: Floats  # of the packet, column by column (``scattering``)
    entities: Ints  # that they met
    legs: Floats  # their ways back over other mirrors (``crossings``)
    waiting: Floats  # tubes that go on: number by number, ``APART`` each
    filled: Ints  # tubes on the stack, and those that it had no room for
    page: Ints  # number of the page, paths on it, chunk, count of pages of the chunk
    at: Ints  # cell and part, the row and the column of both, and the words of the next part


@njit(**ACCESS)
def _begin(sender: Sender, cells: Cells, at: Ints, numbers: Floats, lane: int) -> None:
    """Put a tube's part of the plane ahead and its draws where ``launch`` finds them."""
    cell, part = at[0], at[1]
    width, height = cells.width / cells.across[cell], cells.height / cells.upward[cell]
    number = cells.numbers[cell]
    if part == 0:
        at[2], at[3] = divmod(number, cells.columns)
        at[4] = at[5] = 0
    u = cells.left + at[3] * cells.width + (at[5] + 0.5) * width
    v = cells.bottom + at[2] * cells.height + (at[4] + 0.5) * height
    one, other = _draw(sender, at, number, part)
    numbers[U + lane], numbers[V + lane] = u, v
    numbers[HALF_U + lane], numbers[HALF_V + lane] = 0.5 * width, 0.5 * height
    numbers[SHIFT_U + lane] = _last_bits(one) * sender.jitter * width
    numbers[SHIFT_V + lane] = _last_bits(other) * sender.jitter * height
    numbers[DRAW + lane], numbers[OTHER_DRAW + lane] = open_unit(one), open_unit(other)


@njit(**ACCESS)
def _draw(sender: Sender, at: Ints, number: int, part: int) -> tuple[np.uint64, np.uint64]:
    """Two random words of a tube: two tubes of a cell, one after the other, share a block."""
    if part % 2 == 1:
        return np.uint64(at[6]), np.uint64(at[7])
    draws = block(sender.key, sender.frame, (number << (2 * DIVISIONS)) + part)
    at[6], at[7] = np.int64(draws[2]), np.int64(draws[3])
    return draws[0], draws[1]


@njit(**ACCESS)
def _last_bits(word: np.uint64) -> float:
    """The bits of a word that ``open_unit`` drops, as a number about 0, from -1/2 to 1/2."""
    return (np.float64(word & LAST_BITS) + 0.5) / BITS - 0.5


@njit(**ACCESS)
def _go_to_next(cells: Cells, at: Ints) -> None:
    """Go to the next part of a cell, or to the next cell."""
    at[1] += 1
    at[5] += 1
    if at[5] == cells.across[at[0]]:
        at[4], at[5] = at[4] + 1, 0
        if at[4] == cells.upward[at[0]]:
            at[0], at[1] = at[0] + 1, 0


@njit(**ACCESS)
def _fill(sender: Sender, cells: Cells, room: Room, last: int) -> None:
    """Put the next tubes into a packet."""
    at, words = room.at, room.packet.words
    for lane in range(WIDTH):
        words[VALID + lane] = -1 if at[0] < last else 0
        if at[0] < last:
            _begin(sender, cells, at, room.tubes, lane)
            _go_to_next(cells, at)
    launch(sender, room.tubes)


@njit(**ACCESS)
def _take_off(room: Room) -> None:
    """Put the newest tubes of the stack into a packet; what lies there besides is not taken."""
    filled, words = room.filled, room.packet.words
    count = min(filled[0], WIDTH)
    filled[0] -= count
    for lane in range(WIDTH):
        words[VALID + lane] = -1 if lane < count else 0
    target, source = room.tubes.ctypes.data, room.waiting.ctypes.data + 8 * filled[0]
    for k in range(NUMBERS):
        for part in range(0, 8 * WIDTH, BYTES):
            copy_eight(target + 8 * WIDTH * k + part, source + 8 * APART * k + part)


@njit(**ACCESS)
def _look_back(
    view: SceneView, sender: Sender, reflectors: Reflectors, packet: Packet, numbers: Floats
) -> None:
    """Find out for which tubes of a packet the receiver is in sight."""
    for lane in range(WIDTH):
        if numbers[SIGHT + lane] == TO_BE_SEEN:
            _aim_home(view, sender, packet, lane, numbers)
        else:
            drop_ray(packet, lane)
    trace_opaque(view, packet, True, reflectors.clear)
    asked, rounds = False, 0
    for lane in range(WIDTH):
        if not is_valid(packet, lane):
            continue
        numbers[SIGHT + lane] = IN_SIGHT
        if not is_blocked(packet, lane) and hits_found(packet, lane) > 0:  # perhaps panes
            _aim_home(view, sender, packet, lane, numbers)
            asked = True
            continue
        if is_blocked(packet, lane):
            _hide(numbers, lane)
        drop_ray(packet, lane)
    while asked and rounds < MOST_PANES:
        rounds += 1
        asked = False
        trace_quickly(view, packet, True)
        for lane in range(WIDTH):
            if not is_valid(packet, lane):
                continue
            if is_hit(packet, lane):
                if _pass_pane(view, sender, reflectors, packet, lane, numbers):
                    asked = True
                    continue
                _hide(numbers, lane)
            drop_ray(packet, lane)


@njit(**ACCESS)
def _hide(numbers: Floats, lane: int) -> None:
    """Have nothing of a tube come straight back."""
    numbers[SEEN_RE + lane] = numbers[SEEN_IM + lane] = 0.0
    numbers[ASKEW_RE + lane] = numbers[ASKEW_IM + lane] = 0.0


@njit(**ACCESS)
def _aim_home(view: SceneView, sender: Sender, packet: Packet, lane: int, numbers: Floats) -> None:
    """Send a ray from where a tube is to the sensor."""
    place = get_triple(numbers, HOME + lane)
    length = math.sqrt(dot(place, place))
    way, start = times(-1.0 / length, place), plus(sender.place, place)
    least = max(1e-4, nearest_allowed(view, start))
    set_ray(view, packet, lane, start, way, least, length * (1.0 - 1e-6), 0.0)


@njit(**CALLED)
def _pass_pane(
    view: SceneView,
    sender: Sender,
    reflectors: Reflectors,
    packet: Packet,
    lane: int,
    numbers: Floats,
) -> bool:
    """Go on behind a pane on the way back; False if it is none."""
    owner, face = hit_owner(packet, lane), hit_primitive(packet, lane)
    thickness, material = thickness_at(reflectors, owner, face), hit_material(view, packet, lane)
    place = get_triple(numbers, HOME + lane)
    length = math.sqrt(dot(place, place))
    if thickness == 0.0 or length == 0.0:
        return False
    plane = plane_of(view, reflectors, owner, face, sender.place)
    way = times(-1.0 / length, place)
    cosine = min(max(abs(dot(plane.normal, way)), LEAST_COSINE), 1.0)
    _, _, t_s, t_p = pane(reflectors.indices[material], cosine, thickness, sender.wavenumber)
    # The mixer conjugates.
    own = complex(numbers[SEEN_RE + lane], numbers[SEEN_IM + lane])
    other = complex(numbers[ASKEW_RE + lane], numbers[ASKEW_IM + lane])
    into, t_s, t_p = times(-1.0, way), t_s.conjugate(), t_p.conjugate()
    side = side_axis(into, plane.normal)
    own, other = through_pane(sender, into, side, t_s, t_p, own, other)
    numbers[SEEN_RE + lane], numbers[SEEN_IM + lane] = own.real, own.imag
    numbers[ASKEW_RE + lane], numbers[ASKEW_IM + lane] = other.real, other.imag
    gone = float(hit_distance(packet, lane)) + thickness / cosine + 1e-4
    if gone >= length:
        return False
    put_triple(numbers, HOME + lane, plus(place, times(gone, way)))
    _aim_home(view, sender, packet, lane, numbers)
    return True


@njit(**ACCESS)
def _deliver(sender: Sender, pages: Pages, page: Ints, numbers: Floats, entities: Ints) -> None:
    """Write down the paths of a packet, but for those that are the rounding of nothing."""
    least = ROUNDING * sender.faint
    for lane in range(WIDTH):
        if numbers[SIGHT + lane] == NOTHING:
            continue
        entity = entities[lane]
        out = (numbers[OUT_Y + lane], numbers[OUT_Z + lane])
        back = (numbers[IN_Y + lane], numbers[IN_Z + lane])
        seen = complex(numbers[SEEN_RE + lane], numbers[SEEN_IM + lane])
        bent = numbers[STRAIGHT + lane] == 0.0
        askew = complex(numbers[ASKEW_RE + lane], numbers[ASKEW_IM + lane])
        if seen != 0j or askew != 0j:
            stray = seen * complex(numbers[STRAY_RE + lane], numbers[STRAY_IM + lane])
            straight = seen * complex(numbers[RE + lane], numbers[IM + lane])
            if askew != 0j:
                straight += askew * send_askew(sender, numbers, lane)
            length, speed = numbers[TOTAL + lane], numbers[SPEED + lane]
            if squared(straight) > least or stray != 0j:
                note(pages, page, straight + stray, length, speed, out, back, entity)
            if bent:  # the other way round
                other = stray + straight if numbers[TWICE + lane] != 0.0 else stray
                if squared(other) > least:
                    note(pages, page, other, length, speed, back, out, entity)
        if numbers[RETURNS + lane] != 0.0:
            over = complex(numbers[OVER_RE + lane], numbers[OVER_IM + lane])
            length, speed = numbers[OVER_TOTAL + lane], numbers[OVER_SPEED + lane]
            if squared(over) > least:
                note(pages, page, over, length, speed, out, out, entity)
        own = complex(numbers[OWN_RE + lane], numbers[OWN_IM + lane])
        if bent and squared(own) > least:
            length, speed = 2.0 * numbers[LENGTH + lane], numbers[OWN_SPEED + lane]
            note(pages, page, own, length, speed, out, out, entity)


@njit(**ACCESS)
def _cross_mirrors(
    view: SceneView, sender: Sender, reflectors: Reflectors, motions: Floats, images: Images,
    pages: Pages, room: Room,
) -> None:  # fmt: skip
    """Write down the ways of a packet that come back over other mirrors, and those ways round."""
    numbers, legs = room.tubes, room.legs
    wanted = others_of(images, numbers, legs)
    for rank in range(MOST_IMAGES):
        if wanted >> rank & 1 == 0 or not look_for_ways(
            view, sender, reflectors, motions, images, room.looking, numbers, legs, rank
        ):
            continue
        for lane in range(WIDTH):
            if legs[lane, TO_COME] != AT_LAST:
                continue
            mirrors = images.mirrors[images.firsts[int(numbers[OWNER + lane])] + rank]
            found = send_over_others(sender, numbers, lane, legs[lane], mirrors)
            out, back = (numbers[OUT_Y + lane], numbers[OUT_Z + lane]), found.back
            entity = room.entities[lane]
            if found.amplitude != 0j:
                for one, other in ((out, back), (back, out)):
                    note(
                        pages, room.page, found.amplitude, found.length, found.speed, one, other,
                        entity,
                    )  # fmt: skip


@njit(**ACCESS)
def _trace_packet(
    view: SceneView, sender: Sender, reflectors: Reflectors, motions: Floats, images: Images,
    pages: Pages, room: Room,
) -> bool:  # fmt: skip
    """Trace a packet, have its tubes answer, find out which answers are seen, and follow on.

    Returns whether the packet itself goes on.

    Tubes that were bent are told to be neighbours, too: of flat surfaces they are, and the bounces
    of a whole yard took a seventh less than as rays that have nothing to do with each other.
    """
    trace_quickly(view, room.packet, True)
    found, special = note_facets(
        view, sender, reflectors, room.packet, room.tubes, room.entities
    )  # fmt: skip
    if found == 0:
        return False
    returns = answer(view, sender, motions, room.tubes, special)
    asked = False
    for lane in range(WIDTH):
        asked = asked or room.tubes[SIGHT + lane] == TO_BE_SEEN
    if asked:
        _look_back(view, sender, reflectors, room.looking, room.tubes)
    _deliver(sender, pages, room.page, room.tubes, room.entities)
    if returns:
        _cross_mirrors(view, sender, reflectors, motions, images, pages, room)
    stays: bool = follow(sender, room.packet, room.tubes, room.waiting, room.filled)
    return stays


@njit(**ACCESS)
def _shoot_chunk(
    view: SceneView, sender: Sender, reflectors: Reflectors, motions: Floats, images: Images,
    cells: Cells, pages: Pages, room: Room, chunk: int,
) -> None:  # fmt: skip
    """Send the tubes of a chunk."""
    page, at, filled, last = room.page, room.at, room.filled, cells.chunks[chunk + 1]
    page[0], page[1], page[2], page[3] = -1, 0, chunk, 0
    at[0], at[1] = cells.chunks[chunk], 0
    stays = False
    while stays or at[0] < last or filled[0] > 0:
        bent = stays or filled[0] >= WIDTH or at[0] >= last
        if not bent:
            _fill(sender, cells, room, last)
        elif not stays:
            _take_off(room)
        look_ahead(sender, room.tubes, room.packet)
        set_rays(view, room.packet, math.inf)
        if bent:
            for lane in range(WIDTH):
                least = room.packet.floats[T_MIN + lane]
                room.packet.floats[T_MIN + lane] = max(least, NEAREST)
                room.packet.floats[T_MAX + lane] = np.float32(room.tubes[NEXT + lane])
        stays = _trace_packet(view, sender, reflectors, motions, images, pages, room)


@njit(nogil=True, cache=True)
def shoot(
    view: SceneView,
    claims: Ints,
    sender: Sender,
    reflectors: Reflectors,
    motions: Floats,
    images: Images,
    cells: Cells,
    pages: Pages,
) -> None:
    """Send the tubes of all cells and write down the paths of what comes back."""
    room = Room(
        new_packet(), new_packet(), np.zeros(COLUMNS), np.zeros(WIDTH, np.int64),
        np.zeros((WIDTH, LEG_SIZE)),
        np.zeros(NUMBERS * APART),
        np.zeros(2, np.int64), np.zeros(4, np.int64), np.zeros(8, np.int64),
    )  # fmt: skip
    chunk = claim(claims)
    while chunk < len(cells.chunks) - 1:
        _shoot_chunk(view, sender, reflectors, motions, images, cells, pages, room, chunk)
        chunk = claim(claims)
    pages.lost[0] += room.filled[1]
