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
from sensor_models.kernels.radar.tubes import Sender, towards
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.hits import (
    hit_distance,
    hit_material,
    hit_owner,
    hit_primitive,
    is_hit,
)
from sensor_models.kernels.tracing.packets import drop_ray, new_packet
from sensor_models.kernels.tracing.rays import claim, nearest_allowed, set_ray, trace_quickly
from sensor_models.kernels.tracing.scene_view import SceneView

#: Rows of the grid that a thread takes at once.
ROWS = 4
MOST_PARTS = (1 << DIVISIONS) - 1


@njit(nogil=True, cache=True)
def look(
    view: SceneView,
    claims: NDArray[np.int64],
    sender: Sender,
    reflectors: Reflectors,
    left: float,
    bottom: float,
    width: float,
    height: float,
    spacings: NDArray[np.float64],
    parts: NDArray[np.int32],
    facets: NDArray[np.int64],
) -> None:
    """Find out how finely each cell is to be divided, 0 for those that hit nothing.

    ``parts`` are (2, rows, columns), across and upward, by ``spacings``, (owners, 2).

    Those that hit what is diffuse alone have -1: they stay whole unless a neighbour has more.
    ``facets`` gets a number for the facet that each hits.
    """
    packet = new_packet()
    rows, columns = facets.shape
    least = nearest_allowed(view, sender.place)
    chunk = claim(claims)
    while chunk * ROWS < rows:
        for row in range(chunk * ROWS, min((chunk + 1) * ROWS, rows)):
            v = bottom + (row + 0.5) * height
            for first in range(0, columns, WIDTH):
                for lane in range(WIDTH):
                    if first + lane >= columns:
                        drop_ray(packet, lane)
                        continue
                    u = left + (first + lane + 0.5) * width
                    way = towards(sender, u, v)
                    set_ray(view, packet, lane, sender.place, way, least, math.inf, 0.0)
                trace_quickly(view, packet, True)
                for lane in range(min(WIDTH, columns - first)):
                    column = first + lane
                    if not is_hit(packet, lane):
                        parts[0, row, column] = parts[1, row, column] = 0
                        facets[row, column] = -1
                        continue
                    owner = np.int64(hit_owner(packet, lane))
                    facets[row, column] = (owner << 32) + hit_primitive(packet, lane)
                    if reflectors.kind[hit_material(view, packet, lane)] == DIFFUSE:
                        parts[0, row, column] = parts[1, row, column] = -1
                        continue
                    u = left + (column + 0.5) * width
                    ahead = hit_distance(packet, lane) / math.sqrt(1.0 + u * u + v * v)
                    for axis in range(2):
                        size = (width if axis == 0 else height) * ahead
                        count = math.ceil(size / spacings[owner, axis])
                        parts[axis, row, column] = min(max(count, 1), MOST_PARTS)
        chunk = claim(claims)


@njit(nogil=True, cache=True)
def spread(
    _view: SceneView,
    claims: NDArray[np.int64],
    parts: NDArray[np.int32],
    facets: NDArray[np.int64],
    wide: NDArray[np.int32],
) -> None:
    """The parts of cells: as many as those of their neighbours, and 1 amid a facet.

    ``parts`` and ``wide`` are (2, rows, columns).
    """
    rows, columns = facets.shape
    chunk = claim(claims)
    while chunk * ROWS < rows:
        for row in range(chunk * ROWS, min((chunk + 1) * ROWS, rows)):
            top, end = max(row - 1, 0), min(row + 2, rows)
            for column in range(columns):
                amid, left, right = True, max(column - 1, 0), min(column + 2, columns)
                one = other = 1 if parts[0, row, column] != 0 else 0
                for r in range(top, end):
                    for c in range(left, right):
                        one, other = max(one, parts[0, r, c]), max(other, parts[1, r, c])
                        amid = amid and facets[r, c] == facets[row, column]
                wide[0, row, column] = min(one, 1) if amid else one
                wide[1, row, column] = min(other, 1) if amid else other
        chunk = claim(claims)
