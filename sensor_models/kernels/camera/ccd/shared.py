r"""Light from around that neighbours share.

What sky and surroundings bring to a surface changes little from a point to the next one, while the
rays that find it out are few, and so differ. A cell of ``SIDE`` x ``SIDE`` rays of the camera
therefore keeps records of it (``survey``), one for each surface that it sees, ``GROUPS`` at the
most: a place, a normal, the mean radiance L of rays of the cosine law, and D, how far these came,
1/sqrt(mean 1/d²). Records are then averaged with those of cells around in passes some cells apart
(``smooth``), and a point takes what those around its pixel say (``look_up``), with weights

    w = (1 - d/s) (1 - p/(F f)) (1 - (1 - c)/(1 - C)),    none of the factors below 0

    d, p   the distance to a record, and what of it is off the plane of either of both
    c      the cosine between the normals
    s      S times the lesser D, at least ``LEAST_CELLS`` cells: near other surfaces light changes
           on shorter ways, in proportion to their distance (Ward et al. 1988)
    f      d and the size of a cell, at most s: a step is no slope

So nothing is shared over edges, between surfaces at different depth, or across a corner. Weights
follow from places alone, but for D, which is that of a neighbourhood: they know nothing of the
light of the records, so means stay means. A point that agrees with no record, or with one of light
that changes within less than ``CHANGES`` cells (S D over the size of a cell), shares rays with its
neighbours in another way (``pools``). In the sun light may change as much faster as less of all
light of a point comes from around (``lights.of_around``).

What a coat mirrors of its surroundings is shared as well (``TOPS``): the mean of what rays of the
coat bring times their weights, D of these, and only between points of one material, with the slope
m of its coat. There S is 2 m, as the picture of what lies at a distance D is blurred by 2 m D, and
1 - C is (m/2)²/2: a facet that is tilted by a part of its lobe mirrors something else.

Source: PHYSICS-2, 36; Ward, Rubinstein and Clear 1988; Dammertz et al. 2010 (passes with gaps).
Deviation: light is smoothed over s in each pass, so shadows of the sky and pictures in coats that
are narrower than that are softened.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.rotations import Triple
from sensor_models.kernels.tracing.packets import ACCESS
from sensor_models.kernels.tracing.rays import claim

Floats = NDArray[np.float64]
Light32 = NDArray[np.float32]

#: Rays of the camera across and down a cell.
SIDE = 4
#: Surfaces that a cell keeps records of.
GROUPS = 3
# Columns of Records.spots: place, normal, size of the part of the cell on that surface; of a coat
# the number of its material from 1 on, else 0, and its slope; then of rays by the cosine law how
# many, the sum of their inverse squared lengths, D, and the same of rays of the coat.
PLACE_AT, NORMAL_AT, SIZE, COAT, LOBE, SENT_RAYS, NEARNESS, REACH = 0, 3, 6, 7, 8, 9, 10, 11
#: How much further the columns of rays of the coat are.
OF_TOPS = 3
#: Last, the greatest share that light from around has of that of its points (``lights``).
OF_LIGHT = REACH + OF_TOPS + 1
SPOT = OF_LIGHT + 1
#: S, F and C of the weights, and the least s in sizes of a cell.
SHARE_OF_REACH, FLATNESS, LEAST_COSINE, LEAST_CELLS = 0.4, 0.1, 0.9, 1.0
#: Of coats: S over the slope of the coat, and the angle between normals over that.
SHARE_OF_LOBE, TILT_OF_LOBE = 2.0, 0.5
#: Rays that a point sends itself that no record agrees with, over ``Light.rays``; those that a
#: point takes the light of others from are as many at least.
OWN_SHARE = 0.5
#: How many cells light changes within at least where it is shared: of matt and coated surfaces.
CHANGES = (0.5, 1.0)
#: Light from all around, and what a coat mirrors of it.
BASES, TOPS = 0, 1
#: What stands for D where rays met nothing.
FAR = 1e9
#: Weights of a pass by the number of coordinates in which a record is another cell's.
OF_PASS = (4.0, 2.0, 1.0)


class Records(NamedTuple):
    """What the cells of a picture know of the light around."""

    down: int  # cells
    across: int  # cells; 0 if nothing is shared
    spots: Floats  # (GROUPS, cells, SPOT)
    counts: Floats  # (2, GROUPS, cells): how much a record counts, 0 for none
    light: Light32  # (2, GROUPS, cells, wavelengths): mean radiance, and that of coats
    masks: NDArray[np.uint8]  # (2, cells): a bit for each record that counts, the first the lowest


class Taken(NamedTuple):
    """The records that a point takes light from, a multiple of 4 of them."""

    weights: Floats
    groups: NDArray[np.int64]
    cells: NDArray[np.int64]


@njit(cache=True)
def new_taken() -> Taken:
    """Room for the records around a point: those of four cells."""
    most = 4 * GROUPS + 3
    return Taken(np.zeros(most), np.zeros(most, np.int64), np.zeros(most, np.int64))


@njit(**ACCESS)
def mix(
    records: Records, side: int, taken: Taken, filled: int, scale: float, result: Floats
) -> None:
    """Write the sum of the light of records times their weights, four of them at once."""
    w, g, c = taken.weights, taken.groups, taken.cells
    for i in range(filled, filled + 3):
        w[i], g[i], c[i] = 0.0, g[0], c[0]
    for i in range(0, filled, 4):
        one, two = records.light[side, g[i], c[i]], records.light[side, g[i + 1], c[i + 1]]
        three = records.light[side, g[i + 2], c[i + 2]]
        four = records.light[side, g[i + 3], c[i + 3]]
        p, q = np.float32(scale * w[i]), np.float32(scale * w[i + 1])
        r, s = np.float32(scale * w[i + 2]), np.float32(scale * w[i + 3])
        if i == 0:
            for k in range(len(result)):
                result[k] = (p * one[k] + q * two[k]) + (r * three[k] + s * four[k])
        else:
            for k in range(len(result)):
                result[k] += (p * one[k] + q * two[k]) + (r * three[k] + s * four[k])


@njit(**ACCESS)
def agreement(one: Floats, other: Floats, side: int) -> float:
    """How far two spots may share their light, from 0 to 1."""
    a, b, c = one[NORMAL_AT], one[NORMAL_AT + 1], one[NORMAL_AT + 2]
    e, f, g = other[NORMAL_AT], other[NORMAL_AT + 1], other[NORMAL_AT + 2]
    turned, size = max(1.0 - (a * e + b * f + c * g), 0.0), max(one[SIZE], other[SIZE])
    part, apart = SHARE_OF_REACH, 1.0 - LEAST_COSINE
    if side == TOPS:
        if one[COAT] != other[COAT]:
            return 0.0
        part = SHARE_OF_LOBE * one[LOBE]
        apart = 0.5 * min(TILT_OF_LOBE * one[LOBE], 0.4) ** 2
    if turned >= apart:
        return 0.0
    reach = min(one[REACH + OF_TOPS * side], other[REACH + OF_TOPS * side])
    x, y, z = other[0] - one[0], other[1] - one[1], other[2] - one[2]
    square, span = x * x + y * y + z * z, max(part * reach, LEAST_CELLS * size)
    if square >= span * span:
        return 0.0
    distance = math.sqrt(square)
    off = max(abs(x * a + y * b + z * c), abs(x * e + y * f + z * g))
    flat = FLATNESS * min(span, distance + size)
    if off >= flat:
        return 0.0
    # One division for all: each takes as long as most of the rest.
    return float((span - distance) * (flat - off) * (apart - turned) / (span * flat * apart))


@njit(**ACCESS)
def mask_of(records: Records, side: int, cell: int) -> int:
    """The mask of a cell."""
    mask = 0
    for group in range(GROUPS):
        if records.counts[side, group, cell] > 0.0:
            mask |= 1 << group
    return mask


@njit(**ACCESS)
def is_beside(one: Floats, other: Floats) -> bool:
    """Whether two spots lie on about the same plane."""
    cosine = x = y = 0.0
    for k in range(3):
        cosine += one[NORMAL_AT + k] * other[NORMAL_AT + k]
        x += one[NORMAL_AT + k] * (other[PLACE_AT + k] - one[PLACE_AT + k])
        y += other[NORMAL_AT + k] * (other[PLACE_AT + k] - one[PLACE_AT + k])
    most = FLATNESS * LEAST_CELLS * max(one[SIZE], other[SIZE])
    return bool((cosine > LEAST_COSINE) & (max(abs(x), abs(y)) < most))


@njit(nogil=True, cache=True, error_model="numpy")
def measure(claims: NDArray[np.int64], records: Records) -> None:
    """Find out D of all records, with the rays of the eight cells around as far as they agree.

    Their masks are written as well.
    """
    spots, across = records.spots, records.across
    row = claim(claims)
    while row < records.down:
        for cell in range(row * across, (row + 1) * across):
            for side in (BASES, TOPS):
                mask = records.masks[side, cell] = mask_of(records, side, cell)
                for group in range(GROUPS):
                    if mask >> group & 1:
                        reach = reach_of(records, row, cell - row * across, group, side)
                        spots[group, cell, REACH + OF_TOPS * side] = reach
        row = claim(claims)


@njit(**ACCESS)
def reach_of(records: Records, row: int, column: int, group: int, side: int) -> float:
    """How far the rays of a neighbourhood came."""
    spots, own = records.spots, records.spots[group, row * records.across + column]
    rays = nearness = 0.0
    for i in range(max(row - 1, 0), min(row + 2, records.down)):
        for j in range(max(column - 1, 0), min(column + 2, records.across)):
            cell = i * records.across + j
            for other in range(GROUPS):
                counts = records.counts[side, other, cell] > 0.0
                if counts and is_beside(own, spots[other, cell]):
                    rays += spots[other, cell, SENT_RAYS + OF_TOPS * side]
                    nearness += spots[other, cell, NEARNESS + OF_TOPS * side]
    return min(math.sqrt(rays / nearness), FAR) if nearness > 0.0 else FAR


@njit(nogil=True, cache=True, error_model="numpy")
def smooth(claims: NDArray[np.int64], records: Records, gap: int, result: Records) -> None:
    """Average the light of all records with that of the eight cells so far away."""
    total = np.zeros(records.light.shape[3], np.float32)
    row = claim(claims)
    while row < records.down:
        for column in range(records.across):
            for side in (BASES, TOPS):
                mask = records.masks[side, row * records.across + column]
                for group in range(GROUPS):
                    if mask >> group & 1:
                        average(records, row, column, group, side, gap, total, result)
        row = claim(claims)


@njit(**ACCESS)
def average(
    records: Records,
    row: int,
    column: int,
    group: int,
    side: int,
    gap: int,
    total: Light32,
    result: Records,
) -> None:
    """Write the mean light of a record and those that agree with it."""
    spots, here = records.spots, row * records.across + column
    counts, light = records.counts[side], records.light[side]
    total[:] = np.float32(0.0)
    count = 0.0
    for i in range(row - gap, row + gap + 1, gap):
        for j in range(column - gap, column + gap + 1, gap):
            if (i < 0) | (j < 0) | (i >= records.down) | (j >= records.across):
                continue
            cell = i * records.across + j
            of_pass = OF_PASS[(1 if i != row else 0) + (1 if j != column else 0)]
            mask = records.masks[side, cell]
            for other in range(GROUPS):
                if mask >> other & 1 == 0:
                    continue
                weight = of_pass * counts[other, cell]
                if cell != here or other != group:
                    weight *= agreement(spots[group, here], spots[other, cell], side)
                    if weight == 0.0:
                        continue
                count += weight
                share = np.float32(weight)
                for k in range(len(total)):
                    total[k] += share * light[other, cell, k]
    scale = np.float32(1.0 / count)
    for k in range(len(total)):
        result.light[side, group, here, k] = scale * total[k]
    result.counts[side, group, here] = count / OF_PASS[0]


@njit(**ACCESS)
def put_spot(
    spot: Floats, place: Triple, normal: Triple, size: float, coat: int, lobe: float
) -> None:
    """Write where a point is that looks for light, in a cell of some size, and its coat."""
    for k in range(3):
        spot[PLACE_AT + k], spot[NORMAL_AT + k] = place[k], normal[k]
    spot[SIZE], spot[COAT], spot[LOBE] = size, coat, lobe
    spot[REACH] = spot[REACH + OF_TOPS] = FAR


@njit(**ACCESS)
def look_up(
    records: Records,
    row: int,
    column: int,
    side: int,
    least: float,
    spot: Floats,
    taken: Taken,
    result: Floats,
) -> float:
    """Write the light around a point that a ray of a row and column found.

    Returns within how many cells light changes there, or -1 if too few know of it: ``least`` is
    what records have to count for that. ``spot`` is the point (``put_spot``).
    """
    y, x = (row + 0.5) / SIDE - 0.5, (column + 0.5) / SIDE - 0.5
    top, left = math.floor(y), math.floor(x)
    whole = count = 0.0
    reach, size, filled = FAR, 1.0, 0
    for i in range(2):
        for j in range(2):
            at, beside = int(top) + i, int(left) + j
            if (at < 0) | (beside < 0) | (at >= records.down) | (beside >= records.across):
                continue
            cell = at * records.across + beside
            of_cell = (1.0 - abs(y - at)) * (1.0 - abs(x - beside))
            mask, group = np.int64(records.masks[side, cell]), -1
            while mask != 0:  # as a rule there is one record
                group += 1
                counts, mask = mask & 1, mask >> 1
                if counts == 0:
                    continue
                there = records.spots[group, cell]
                weight = of_cell * agreement(spot, there, side)
                if weight > 0.0:
                    wide = max(there[SIZE], spot[SIZE])
                    if there[REACH] * size < reach * wide:
                        reach, size = there[REACH], wide
                    whole += weight
                    count += weight * records.counts[side, group, cell]
                    taken.weights[filled] = weight
                    taken.groups[filled], taken.cells[filled] = group, cell
                    filled += 1
    if whole <= 0.0 or count < least * whole:
        return -1.0
    mix(records, side, taken, filled, 1.0 / whole, result)
    return float(SHARE_OF_REACH * reach / size)
