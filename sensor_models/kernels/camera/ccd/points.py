"""Points of opaque surfaces that wait for their light, as many as a packet has rays.

They come one after the other, each a row of numbers (``Points``). What is done to all of them at
once reads them from columns (``Spread``): a number of all points lies together there, and in one
array, so that loops over the points become vectors as wide as the processor has.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.light.boundaries import off_surface
from sensor_models.kernels.light.surfaces import SURFACE_SIZE
from sensor_models.kernels.math.rotations import Triple
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.packets import ACCESS

Floats = NDArray[np.float64]

# Columns of Points.numbers: where a point is, its normal on the viewer's side, the direction of
# the ray that found it, when that was sent, how long it was, what is left of its light on the way,
# how wide a cell is there of those that share light, 0 where none is shared, within how many cells
# light from around changes over how many it has to where it is shared, and about which share of
# its light that is (``lights.of_around``).
PLACE_OF, NORMAL_OF, ALONG_OF, TIME_OF, LENGTH_OF, SHARE_OF, CELL_OF = 0, 3, 6, 9, 10, 11, 12
STEADY_OF, AROUND_OF = 13, 14
NUMBERS = 15
# Columns of Points.ids: the ray of the caller's that it belongs to, its material, the number that
# its draws go by, the row of sums that what its rays find is added to, the pixel that sees it, and
# the number of its place in the picture (``nets``).
RAY_OF, MATERIAL_OF, DRAW_OF, SUM_OF, PIXEL_OF, NET_OF = range(6)
IDS = 6

# Rows of Points.spread, counted in numbers: 1 where there is a point, else 0; where rays from it
# start and how near they do not look; when they are sent; its normal and two unit vectors at right
# angles to that.
THERE, START, LEAST, WHEN, UP, FIRST, SECOND = (
    WIDTH * k for k in (0, 1, 4, 5, 6, 9, 12)
)  # fmt: skip
# Then what is drawn for it: cells of its grid and their columns, the next cell, two draws.
CELLS, COLUMNS, COLUMN, ROW, DRAW, OTHER = (WIDTH * k for k in range(15, 21))
# The rays from it: how many are of its base, and of all; what the one under way counts.
BASES, RAYS, WEIGHT = 21 * WIDTH, 22 * WIDTH, 23 * WIDTH
SPREAD = 24 * WIDTH


class Points(NamedTuple):
    """Points of opaque surfaces that wait for their light, a lane each."""

    filled: NDArray[np.int64]  # (1,)
    numbers: Floats  # (WIDTH, NUMBERS)
    ids: NDArray[np.int64]  # (WIDTH, IDS)
    tint: Floats  # (WIDTH, n): what is left of their light on the way to the viewer
    base: Floats  # (WIDTH, n): reflectance of their base
    top: Floats  # (WIDTH, n): colour of what their coat mirrors
    surface: Floats  # (WIDTH, SURFACE_SIZE): a row of ``surfaces`` for each
    cone: Floats  # (WIDTH,): tan² of the half cone whose mirrored light is a branch of the tree
    glows: NDArray[np.bool_]  # (WIDTH,): ``emission`` is not 0
    emission: Floats  # (WIDTH, n), W/m2/sr/m
    bent: NDArray[np.bool_]  # (WIDTH,): the normal is not that of the facet, which is ``flat``
    flat: Floats  # (WIDTH, 3)
    known: NDArray[np.bool_]  # (WIDTH,): ``around`` is what neighbours share
    around: Floats  # (WIDTH, n): mean radiance from around
    shown: NDArray[np.bool_]  # (WIDTH,): ``onto`` is what neighbours share
    onto: Floats  # (WIDTH, n): mean of what the coat mirrors
    spread: Floats  # (SPREAD,)


@njit(cache=True)
def new_points(wavelengths: int) -> Points:
    """Room for the points of one packet."""
    return Points(
        np.zeros(1, np.int64),
        np.zeros((WIDTH, NUMBERS)),
        np.zeros((WIDTH, IDS), np.int64),
        np.zeros((WIDTH, wavelengths)),
        np.zeros((WIDTH, wavelengths)),
        np.zeros((WIDTH, wavelengths)),
        np.zeros((WIDTH, SURFACE_SIZE)),
        np.zeros(WIDTH),
        np.zeros(WIDTH, np.bool_),
        np.zeros((WIDTH, wavelengths)),
        np.zeros(WIDTH, np.bool_),
        np.zeros((WIDTH, 3)),
        np.zeros(WIDTH, np.bool_),
        np.zeros((WIDTH, wavelengths)),
        np.zeros(WIDTH, np.bool_),
        np.zeros((WIDTH, wavelengths)),
        np.ones(SPREAD),
    )


@njit(**ACCESS)
def triple(numbers: Floats, row: int, first: int) -> Triple:
    """Three columns of a row."""
    return numbers[row, first], numbers[row, first + 1], numbers[row, first + 2]


@njit(**ACCESS)
def spread_out(points: Points) -> None:
    """Write the columns of the points.

    Rays start off a surface by what its place is uncertain by.
    """
    own, numbers, filled = points.spread, points.numbers, points.filled[0]
    for lane in range(WIDTH):
        own[THERE + lane] = 1.0 if lane < filled else 0.0
        length = numbers[lane, LENGTH_OF]
        off = 2.0 * off_surface(length)
        for k in range(3):
            normal = numbers[lane, NORMAL_OF + k]
            own[UP + k * WIDTH + lane] = normal
            if points.bent[lane]:
                normal = points.flat[lane, k]
            own[START + k * WIDTH + lane] = numbers[lane, PLACE_OF + k] + off * normal
        own[LEAST + lane] = 1e-6 * max(1.0, length)
        own[WHEN + lane] = numbers[lane, TIME_OF]


@njit(**ACCESS)
def spread_axes(points: Points) -> None:
    """Write the columns that rays to all sides need, after those of ``spread_out``."""
    own = points.spread
    for lane in range(WIDTH):
        x, y, z = own[UP + lane], own[UP + WIDTH + lane], own[UP + 2 * WIDTH + lane]
        first, second = axes_of((x, y, z))
        for k in range(3):
            own[FIRST + k * WIDTH + lane] = first[k]
            own[SECOND + k * WIDTH + lane] = second[k]


@njit(**ACCESS)
def copy_point(points: Points, place: int, others: Points, other: int) -> None:
    """Copy what there is to know of a point that sends rays, but for where they are summed."""
    for k in range(NUMBERS):
        others.numbers[other, k] = points.numbers[place, k]
    for k in range(IDS):
        others.ids[other, k] = points.ids[place, k]
    for k in range(SURFACE_SIZE):
        others.surface[other, k] = points.surface[place, k]
    for k in range(3):
        others.flat[other, k] = points.flat[place, k]
    others.cone[other], others.bent[other] = points.cone[place], points.bent[place]
    others.known[other], others.shown[other] = points.known[place], points.shown[place]
    others.ids[other, SUM_OF] = other


@njit(**ACCESS)
def copy_colors(points: Points, place: int, others: Points, other: int) -> None:
    """Copy what a point makes of light."""
    for k in range(points.tint.shape[1]):
        others.tint[other, k] = points.tint[place, k]
        others.base[other, k] = points.base[place, k]
        others.top[other, k] = points.top[place, k]


@njit(**ACCESS)
def axes_of(normal: Triple) -> tuple[Triple, Triple]:
    """Two unit vectors at right angles to a third and to one another (Duff et al. 2017)."""
    x, y, z = normal
    sign = 1.0 if z >= 0.0 else -1.0
    a = -1.0 / (sign + z)
    b = x * y * a
    return (1.0 + sign * x * x * a, sign * b, -sign * x), (b, sign + y * y * a, -y)


@njit(**ACCESS)
def across(own: Floats, lane: int) -> tuple[Triple, Triple]:
    """The two vectors at right angles to the normal of a point."""
    return (
        (own[FIRST + lane], own[FIRST + WIDTH + lane], own[FIRST + 2 * WIDTH + lane]),
        (own[SECOND + lane], own[SECOND + WIDTH + lane], own[SECOND + 2 * WIDTH + lane]),
    )


@njit(**ACCESS)
def sine(x: float) -> float:
    """sin(2πx) for |x| <= 1/4, to 1e-13; as a series, which becomes vectors.

    Multiplied by the inverses, as divisions took a fortieth of the time of a whole picture.
    """
    y = (2.0 * math.pi * x) ** 2
    s = 1.0 - y * (1.0 / 272.0)
    s = 1.0 - y * s * (1.0 / 210.0)
    s = 1.0 - y * s * (1.0 / 156.0)
    s = 1.0 - y * s * (1.0 / 110.0)
    s = 1.0 - y * s * (1.0 / 72.0)
    s = 1.0 - y * s * (1.0 / 42.0)
    s = 1.0 - y * s * (1.0 / 20.0)
    s = 1.0 - y * s * (1.0 / 6.0)
    return 2.0 * math.pi * x * s


@njit(**ACCESS)
def turned(share: float) -> tuple[float, float]:
    """Cosine and sine of a share of a turn, from 0 to 1."""
    back = share - 0.5
    size = abs(back)
    up = sine(min(size, 0.5 - size))
    return -sine(0.25 - size), (-up if back > 0.0 else up)
