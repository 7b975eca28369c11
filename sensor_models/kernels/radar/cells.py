"""Which cells of the plane ahead a radar looks at, and how finely: the first of two passes.

A coarse grid of rays finds what is there. A cell that hits something that mirrors is divided to
the spacing that this needs where it is; so is one whose neighbour does, as edges count by the share
of a cell that they let through. A cell whose neighbours all hit the facet that it hits stays whole:
the integral over a tube is exact on a plane. Small things between the rays are found by their
bounds.
"""

import math

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.radar.fields import DIFFUSE
from sensor_models.kernels.radar.reflectors import Reflectors
from sensor_models.kernels.radar.shooting import DIVISIONS
from sensor_models.kernels.radar.tubes import Sender, put_triple, towards
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
    new_packet,
)
from sensor_models.kernels.tracing.rays import claim, set_rays, trace_quickly
from sensor_models.kernels.tracing.scene_view import SceneView

Ints = NDArray[np.int64]

#: Rows of the grid that a thread takes at once, and columns of them that make a packet of rays.
ROWS, COLUMNS = 4, WIDTH // 4
#: Cells along each side of a tile of those whose tubes follow on one another.
SIDE = 4
MOST_PARTS = (1 << DIVISIONS) - 1


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
) -> None:
    """Find out how finely each cell is to be divided, 0 for those that hit nothing.

    ``parts`` are (2, rows, columns), across and upward, by ``spacings``, (owners, 2).

    Those that hit what is diffuse alone have -1: they stay whole unless a neighbour has more.
    ``facets`` gets a number for the facet that each hits.
    """
    packet = new_packet()
    rows, columns = facets.shape
    chunk = claim(claims)
    while chunk * ROWS < rows:
        for first in range(0, columns, COLUMNS):
            _aim(sender, packet, (chunk * ROWS, first), (left, bottom, width, height), facets)
            set_rays(view, packet, math.inf)
            trace_quickly(view, packet, True)
            for lane in range(WIDTH):
                row, column = chunk * ROWS + lane // COLUMNS, first + lane % COLUMNS
                if row >= rows or column >= columns:
                    continue
                if not is_hit(packet, lane):
                    parts[0, row, column] = parts[1, row, column] = 0
                    facets[row, column] = -1
                    continue
                owner = np.int64(hit_owner(packet, lane))
                facets[row, column] = (owner << 32) + hit_primitive(packet, lane)
                if reflectors.kind[hit_material(view, packet, lane)] == DIFFUSE:
                    parts[0, row, column] = parts[1, row, column] = -1
                    continue
                u, v = left + (column + 0.5) * width, bottom + (row + 0.5) * height
                ahead = hit_distance(packet, lane) / math.sqrt(1.0 + u * u + v * v)
                for axis in range(2):
                    size = (width if axis == 0 else height) * ahead
                    count = math.ceil(size / spacings[owner, axis])
                    parts[axis, row, column] = min(max(count, 1), MOST_PARTS)
        chunk = claim(claims)


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
        u, v = grid[0] + (column + 0.5) * grid[2], grid[1] + (row + 0.5) * grid[3]
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
