"""Which cells of the plane ahead a radar looks at, and how finely: the first of two passes.

A coarse grid of rays finds what is there. A cell that hits something that mirrors is divided to
the spacing that this needs where it is; so is one whose neighbour does, as edges count by the share
of a cell that they let through. What is large enough to be a mirror (``mirrors``) is looked into:
its cells are divided as the objects that they show need it, at the length of the whole way. A cell
whose neighbours all hit the flat piece that it hits, of one facet or of several side by side in one
plane, and show the same object, stays whole: the integral over a tube is exact on a plane. Small
things between the rays are found by their bounds; in mirrors they have to be as large as a cell.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.memory import int32_at
from sensor_models.kernels.math.rotations import Triple, dot, plus, times
from sensor_models.kernels.radar.compiling import CALLED
from sensor_models.kernels.radar.crossings import LOOKS
from sensor_models.kernels.radar.fields import (
    CONDUCTOR,
    DIFFUSE,
    LEAST_COSINE,
    coherent,
    mirrored,
    reflectance,
)
from sensor_models.kernels.radar.interactions import thickness_at
from sensor_models.kernels.radar.mirrors import next_reach
from sensor_models.kernels.radar.ray_paths import DIVISIONS
from sensor_models.kernels.radar.ray_tubes import Sender, put_triple, towards
from sensor_models.kernels.radar.reflectors import Reflectors, plane_of, zone_room
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
    ALONG,
    PLACE,
    VALID,
    Packet,
    drop_ray,
    is_valid,
    new_packet,
)
from sensor_models.kernels.tracing.rays import (
    claim,
    nearest_allowed,
    set_ray,
    set_rays,
    trace_quickly,
)
from sensor_models.kernels.tracing.scene_view import SceneView

Ints = NDArray[np.int64]

#: Rows of the grid that a thread takes at once, and columns of them that make a packet of rays.
ROWS, COLUMNS = 4, WIDTH // 4
#: Where in a cell its ray is: beside the middle, as rays that are straight ahead get lost.
MIDDLE = 0.501
#: Cells along each side of a tile of those whose tubes follow on one another.
SIDE = 4
#: Columns of what is known of a ray: where it is, its direction, how far it came, by how much
#: wider tubes may be as mirrors have weakened them.
GONE, COARSER, LEFT = 6, 7, 8
SHOWN_SIZE = 9
#: A surface may be a mirror if it is one for anything that is so much nearer than the sensor.
LEAST_SHARE = 0.25
#: Share of the power that mirrors reflect at least, all that show a thing together: what they show
#: is 17 dB down then, or 34.
LEAST_SHINE = 0.02
#: And so much all of several mirrors, one in the other, of which there are many. Their tubes are as
#: fine as those of one: twice as wide, the level of a car beside its mirrors was 2 dB off.
LEAST_CHAIN = 0.3
#: Tubes for what mirrors show are wider by the root of the power that these mirror, and by no more
#: than this: what is weaker may be less exact.
MOST_COARSER = 2.0
#: What tells facets that are shown one by another from others.
MIXER = 1_000_003
MOST_PARTS = (1 << DIVISIONS) - 1


class LastMirror(NamedTuple):
    """The facet that a ray met last: those beside it often meet the same one at the same angle."""

    facet: Ints  # owner and face
    numbers: NDArray[np.float64]


# What of a facet counts for a mirror: the normal; how far its plane is along that from the sensor,
# m; the room that it makes for mirrors (``zone_room``), m; the share of the power that it mirrors;
# by how much wider tubes may be behind it; and how large the whole thing is, m.
MIRROR_DEPTH, MIRROR_ROOM, SHINE, WIDER, WHOLE_SIZE = range(3, 8)
MIRROR_SIZE = 8
#: What becomes of a ray: it is turned at a mirror, met an object, or a mirror that leaves too
#: little.
TURNED, OBJECT, LOST = 1, 0, -1


@njit(nogil=True, cache=True)
def look(
    view: SceneView,
    claims: Ints,
    sender: Sender,
    reflectors: Reflectors,
    left: float,
    bottom: float,
    width: float,
    height: float,
    spacings: NDArray[np.float64],
    parts: NDArray[np.int32],
    facets: Ints,
    reached: NDArray[np.float32],
    owners: NDArray[np.int32],
    images: NDArray[np.float32],
) -> None:
    """Find out how finely each cell is to be divided, 0 for those that hit nothing.

    ``parts`` are (2, rows, columns), across and upward, by ``spacings``, (owners, 2).

    Those that hit what is diffuse alone have -1: they stay whole unless a neighbour has more.
    ``facets`` gets a number for the flat piece that each hits, and ``reached`` how far away that is
    if it hides what is behind. ``owners`` and ``images``, (LOOKS, rows, columns) and (..., 4), get
    the owner that the first mirror shows there, or the second, -1 for none, where the sensor is in
    that, and the share of the power that the mirrors leave.
    """
    packet, shown = new_packet(), np.empty((WIDTH, SHOWN_SIZE))
    last = LastMirror(np.empty(2, np.int64), np.empty(MIRROR_SIZE))
    rows, columns = facets.shape
    grid = left, bottom, width, height
    chunk = claim(claims)
    while chunk * ROWS < rows:
        for first in range(0, columns, COLUMNS):
            corner = chunk * ROWS, first
            _aim(sender, packet, corner, grid, facets)
            set_rays(view, packet, math.inf)
            trace_quickly(view, packet, True)
            shown[:, GONE] = 0.0
            last.facet[0] = -1  # what a packet finds depends on no other
            mirrors = _take_first(
                view, sender, reflectors, packet, corner, grid, spacings, shown, last, parts,
                facets, reached, owners,
            )  # fmt: skip
            for number in range(min(sender.most_bounces - 1, LOOKS)):
                if mirrors == 0:
                    break
                trace_quickly(view, packet, True)
                last.facet[0] = -1
                mirrors = _take_shown(
                    view, sender, reflectors, packet, corner, grid, spacings, shown, last, parts,
                    facets, owners[number], images[number],
                )  # fmt: skip
        chunk = claim(claims)


@njit(**ACCESS)
def _take_first(
    view: SceneView,
    sender: Sender,
    reflectors: Reflectors,
    packet: Packet,
    corner: tuple[int, int],
    grid: tuple[float, float, float, float],
    spacings: NDArray[np.float64],
    shown: NDArray[np.float64],
    last: LastMirror,
    parts: NDArray[np.int32],
    facets: Ints,
    reached: NDArray[np.float32],
    owners: NDArray[np.int32],
) -> int:
    """Take note of what each cell of a packet meets first; returns how many meet mirrors."""
    left, bottom, width, height = grid
    rows, columns = facets.shape
    mirrors = 0
    for lane in range(WIDTH):
        row, column = corner[0] + lane // COLUMNS, corner[1] + lane % COLUMNS
        if row >= rows or column >= columns:
            continue
        reached[row, column] = math.inf
        owners[:, row, column] = -1
        if not is_hit(packet, lane):
            parts[0, row, column] = parts[1, row, column] = 0
            facets[row, column] = -1
            continue
        facets[row, column] = _facet(reflectors, packet, lane)
        if thickness_at(reflectors, hit_owner(packet, lane), hit_primitive(packet, lane)) == 0.0:
            reached[row, column] = hit_distance(packet, lane)
        parts[0, row, column] = parts[1, row, column] = -1
        if reflectors.kind[hit_material(view, packet, lane)] == DIFFUSE:
            continue
        u, v = left + (column + MIDDLE) * width, bottom + (row + MIDDLE) * height
        put_shown(shown, lane, towards(sender, u, v))
        _divide(packet, lane, shown[lane], (width, height), spacings, parts[:, row, column])
        turned = _turn(view, sender, reflectors, packet, lane, shown[lane], last)
        mirrors += 1 if turned == TURNED else 0
    return mirrors


@njit(**ACCESS)
def _take_shown(
    view: SceneView,
    sender: Sender,
    reflectors: Reflectors,
    packet: Packet,
    corner: tuple[int, int],
    grid: tuple[float, float, float, float],
    spacings: NDArray[np.float64],
    shown: NDArray[np.float64],
    last: LastMirror,
    parts: NDArray[np.int32],
    facets: Ints,
    owners: NDArray[np.int32],
    images: NDArray[np.float32],
) -> int:
    """Take note of what mirrors show to each cell of a packet; returns how many meet others."""
    mirrors = 0
    for lane in range(WIDTH):
        if not is_valid(packet, lane) or not is_hit(packet, lane):
            drop_ray(packet, lane)
            continue
        row, column = corner[0] + lane // COLUMNS, corner[1] + lane % COLUMNS
        if reflectors.kind[hit_material(view, packet, lane)] == DIFFUSE:
            drop_ray(packet, lane)
            continue
        facet = _facet(reflectors, packet, lane)
        before, coarser = shown[lane, GONE], shown[lane, COARSER]
        left = shown[lane, LEFT]
        turned = _turn(view, sender, reflectors, packet, lane, shown[lane], last)
        mirrors += 1 if turned == TURNED else 0
        if turned == OBJECT:  # mirrors in mirrors are exact as they are
            facets[row, column] = MIXER * facets[row, column] + facet
            owners[row, column] = hit_owner(packet, lane)
            for axis in range(3):
                ray = shown[lane, axis] - before * shown[lane, 3 + axis]
                images[row, column, axis] = ray
            images[row, column, 3] = left
            shown[lane, GONE], shown[lane, COARSER] = before, coarser
            of_cell = parts[:, row, column]
            _divide(packet, lane, shown[lane], (grid[2], grid[3]), spacings, of_cell)
    return mirrors


@njit(**ACCESS)
def _facet(reflectors: Reflectors, packet: Packet, lane: int) -> int:
    """A number for the flat piece of the facet that a ray met."""
    owner = hit_owner(packet, lane)
    flat = int32_at(reflectors.flats[owner], hit_primitive(packet, lane))
    return int((np.int64(owner) << 32) + flat)


@njit(**ACCESS)
def put_shown(shown: NDArray[np.float64], lane: int, way: Triple) -> None:
    """Begin with a ray from the sensor."""
    for axis in range(3):
        shown[lane, axis], shown[lane, 3 + axis] = 0.0, way[axis]
    shown[lane, GONE], shown[lane, COARSER], shown[lane, LEFT] = 0.0, 1.0, 1.0


@njit(**CALLED)
def _divide(
    packet: Packet,
    lane: int,
    shown: NDArray[np.float64],
    cell: tuple[float, float],
    spacings: NDArray[np.float64],
    parts: NDArray[np.int32],
) -> None:
    """Divide a cell as finely as what it met needs, if that is finer than before."""
    owner, gone = hit_owner(packet, lane), shown[GONE] + hit_distance(packet, lane)
    for axis in range(2):
        count = math.ceil(cell[axis] * gone / (spacings[owner, axis] * shown[COARSER]))
        parts[axis] = max(parts[axis], min(max(count, 1), MOST_PARTS))


@njit(**CALLED)
def _shine(reflectors: Reflectors, material: int, cosine: float, wavenumber: float) -> float:
    """The share of the power that a surface mirrors."""
    cosine = min(cosine, 1.0)
    left = coherent(reflectors.rms[material], cosine, wavenumber)
    whole = reflectors.kind[material] == CONDUCTOR
    share = 1.0 if whole else reflectance(reflectors.indices[material], cosine)
    found: float = share * left * left
    return found


@njit(**ACCESS)
def _turn(
    view: SceneView,
    sender: Sender,
    reflectors: Reflectors,
    packet: Packet,
    lane: int,
    shown: NDArray[np.float64],
    last: LastMirror,
) -> int:
    """Turn a ray at what may be a mirror; else drop it. Which of the three happened."""
    owner, face = hit_owner(packet, lane), hit_primitive(packet, lane)
    gone = hit_distance(packet, lane)
    shown[GONE] += gone
    way = (shown[3], shown[4], shown[5])
    if last.facet[0] != owner or last.facet[1] != face:
        last.facet[0], last.facet[1] = owner, face
        _meet(view, sender, reflectors, hit_material(view, packet, lane), way, last)
    numbers = last.numbers
    normal = (numbers[0], numbers[1], numbers[2])
    before, toward = (shown[0], shown[1], shown[2]), dot(normal, way)
    shown[LEFT] *= numbers[SHINE]
    first = shown[GONE] == gone
    shines = abs(toward) >= LEAST_COSINE
    shines = shines & (shown[LEFT] >= (LEAST_SHINE if first else LEAST_CHAIN))
    is_object = numbers[MIRROR_ROOM] < LEAST_SHARE * shown[GONE]
    if is_object or not shines:
        drop_ray(packet, lane)
        return OBJECT if is_object else LOST
    shown[COARSER] = min(shown[COARSER] * numbers[WIDER], MOST_COARSER)
    # In float64: a ray that starts behind its mirror would meet that again.
    place = plus(before, times((numbers[MIRROR_DEPTH] - dot(normal, before)) / toward, way))
    turned = mirrored(way, normal)
    for axis in range(3):
        shown[axis], shown[3 + axis] = place[axis], turned[axis]
    start = plus(sender.place, place)
    least = max(1e-4, nearest_allowed(view, start))
    reach = next_reach(numbers[MIRROR_ROOM], numbers[WHOLE_SIZE], shown[GONE])
    set_ray(view, packet, lane, start, turned, least, reach, 0.0)
    return TURNED


@njit(**CALLED)
def _meet(
    view: SceneView,
    sender: Sender,
    reflectors: Reflectors,
    material: int,
    way: Triple,
    last: LastMirror,
) -> None:
    """Find out what a facet is to a ray as a mirror, and to those beside it."""
    owner, face, numbers = last.facet[0], last.facet[1], last.numbers
    plane = plane_of(view, reflectors, owner, face, sender.place)
    cosine = abs(dot(plane.normal, way))
    shine = _shine(reflectors, material, cosine, sender.wavenumber)
    for axis in range(3):
        numbers[axis] = plane.normal[axis]
    numbers[MIRROR_DEPTH] = dot(plane.normal, plane.point)
    numbers[MIRROR_ROOM] = zone_room(reflectors, owner, face, sender.wavenumber)
    numbers[SHINE], numbers[WHOLE_SIZE] = shine, reflectors.sizes[owner]
    numbers[WIDER] = 1.0 / math.sqrt(max(min(shine, 1.0), LEAST_SHINE))


@njit(**ACCESS)
def _aim(
    sender: Sender,
    packet: Packet,
    begin: tuple[int, int],
    grid: tuple[float, float, float, float],
    facets: Ints,
) -> None:
    """Put rays through the middles of a tile of cells into a packet, for ``set_rays``."""
    rays, words = packet.doubles, packet.words
    for lane in range(WIDTH):
        row, column = begin[0] + lane // COLUMNS, begin[1] + lane % COLUMNS
        u, v = grid[0] + (column + MIDDLE) * grid[2], grid[1] + (row + MIDDLE) * grid[3]
        put_triple(rays, PLACE + lane, sender.place)
        put_triple(rays, ALONG + lane, towards(sender, u, v))
        inside = (row < facets.shape[0]) & (column < facets.shape[1])
        words[VALID + lane] = -1 if inside else 0


@njit(nogil=True, cache=True)
def spread(
    _view: SceneView, claims: Ints, parts: NDArray[np.int32], facets: Ints, wide: NDArray[np.int32]
) -> None:
    """The parts of cells: as many as those of their neighbours, and 1 amid a facet.

    ``parts`` and ``wide`` are (2, rows, columns).
    """
    rows, columns = facets.shape
    # Of three rows: the most parts in each column, whether their facet is the same, and that
    # facet; with a column more on either side.
    most = np.empty((2, columns + 2), np.int32)
    level, met = np.ones(columns + 2, np.bool_), np.empty(columns + 2, np.int64)
    row = claim(claims)
    while row < rows:
        _look_up_and_down(parts, facets, row, most, level, met)
        for axis in range(2):
            tall, own, out = most[axis], parts[axis, row], wide[axis, row]
            for c in range(columns):
                least = 1 if own[c] != 0 else 0
                found = max(least, tall[c], tall[c + 1], tall[c + 2])
                alike = (met[c] == met[c + 1]) & (met[c + 2] == met[c + 1])
                amid = alike & level[c] & level[c + 1] & level[c + 2]
                out[c] = min(found, 1) if amid else found
        row = claim(claims)


@njit(**ACCESS)
def _look_up_and_down(
    parts: NDArray[np.int32],
    facets: Ints,
    row: int,
    most: NDArray[np.int32],
    level: NDArray[np.bool_],
    met: Ints,
) -> None:
    """What ``spread`` needs to know of a row and those below and above."""
    rows, columns = facets.shape
    here, below, above = facets[row], facets[max(row - 1, 0)], facets[min(row + 1, rows - 1)]
    for c in range(columns):
        met[c + 1] = here[c]
        level[c + 1] = (here[c] == below[c]) & (here[c] == above[c])
    met[0], met[columns + 1] = here[0], here[columns - 1]
    for axis in range(2):
        tall, own = most[axis], parts[axis, row]
        lower, upper = parts[axis, max(row - 1, 0)], parts[axis, min(row + 1, rows - 1)]
        for c in range(columns):
            tall[c + 1] = max(own[c], lower[c], upper[c])
        tall[0] = tall[columns + 1] = -1


@njit(nogil=True, cache=True)
def list_cells(
    _view: SceneView,
    claims: Ints,
    divided: NDArray[np.int32],
    least: int,
    numbers: Ints,
    counts: NDArray[np.int32],
    chunks: Ints,
    found: Ints,
) -> None:
    """List the cells that have parts, by tiles of neighbours, for one thread.

    ``divided`` is (2, rows, columns), and ``counts`` gets the same by (2, cells). A chunk ends
    with the cell that makes it ``least`` tubes. ``found`` gets cells, chunks and tubes.
    """
    _, rows, columns = divided.shape
    cells = tubes = held = number = 0
    chunks[0] = 0
    if claim(claims) > 0:
        return
    for tile in range(-(-rows // SIDE) * -(-columns // SIDE)):
        above, beside = divmod(tile, -(-columns // SIDE))
        for row in range(above * SIDE, min((above + 1) * SIDE, rows)):
            for column in range(beside * SIDE, min((beside + 1) * SIDE, columns)):
                across, upward = divided[0, row, column], divided[1, row, column]
                if across == 0:
                    continue
                numbers[cells] = row * columns + column
                counts[0, cells], counts[1, cells] = across, upward
                cells, held = cells + 1, held + np.int64(across) * upward
                if held >= least:
                    number, tubes, held = number + 1, tubes + held, 0
                    chunks[number] = cells
    if held > 0:
        number, tubes = number + 1, tubes + held
        chunks[number] = cells
    found[0], found[1], found[2] = cells, number, tubes
