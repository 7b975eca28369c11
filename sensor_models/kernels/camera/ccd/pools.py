r"""Rays around that points share which lie close together, but every which way: leaves.

No record of a cell agrees with such points, as its light is that of other normals. But what comes
to them from some direction is much the same, so rays are shared by direction: of a packet of points
i, each of which sends r_j rays by the cosine law about its normal n_j, a point takes

    L_i = sum over rays d of its neighbours of L(d) c_i(d) / sum_m r_m c_m(d),   c_i = max(0, n_i·d)

which is the balance heuristic: rays are weighted as if all of them had been drawn from the mean of
all cosine laws. Neighbours of a point, itself among them, are those within ``REACH`` cells. Where
all are neighbours the sum of all L_i is what it were without sharing, so the mean stays what it is.

Source: Veach and Guibas 1995. Deviation: points do not hide each other's light alike.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.camera.ccd.around import look_by_draws, rays_of
from sensor_models.kernels.camera.ccd.bounces import SUMS, Waiting, add_found, add_waiting, look_on
from sensor_models.kernels.camera.ccd.lights import Light
from sensor_models.kernels.camera.ccd.nets import point_of
from sensor_models.kernels.camera.ccd.points import (
    BASES,
    CELL_OF,
    DRAW,
    NET_OF,
    NORMAL_OF,
    OTHER,
    PLACE_OF,
    RAYS,
    SUM_OF,
    WEIGHT,
    Points,
    spread_axes,
    spread_out,
)
from sensor_models.kernels.camera.ccd.probes import END, FACE, NOTHING, Probe, ask
from sensor_models.kernels.compiling import njit
from sensor_models.kernels.light.paths import Path
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.packets import ACCESS, ALONG
from sensor_models.kernels.tracing.scene_view import SceneView

Floats = NDArray[np.float64]

#: How far neighbours are apart, in cells.
REACH = 4.0
#: Rays that a point and its neighbours send together at least, over those of a point alone; the
#: least that one sends of them, and the most that there is room for.
SHARED, LEAST, MOST = 8.0, 4, 16
#: Binary logarithms of the places of a tile, and of ``MOST``.
PLACE_BITS, INDEX_BITS = 4, 4
NORMALISE = True


class Pool(NamedTuple):
    """The rays of a packet of points."""

    near: Floats  # (WIDTH, WIDTH): how many rays a neighbour sends, 0 of others
    cosines: Floats  # (WIDTH, WIDTH * MOST): of each normal with each ray
    under: Floats  # (WIDTH * MOST,): the sum in the weights of a point
    found: NDArray[np.int64]  # (WIDTH * MOST,): materials that rays met, -1 for no ray
    sums: Floats  # (WIDTH * MOST, 1, 2 * SUMS): what rays found (``bounces``)


@njit(cache=True)
def new_pool() -> Pool:
    """Room for the rays of a packet of points."""
    most = WIDTH * MOST
    return Pool(
        np.zeros((WIDTH, WIDTH)),
        np.zeros((WIDTH, most)),
        np.zeros(most),
        np.zeros(most, np.int64),
        np.zeros((most, 1, 2 * SUMS)),
    )


@njit(**ACCESS)
def are_near(points: Points, one: int, other: int) -> bool:
    """Whether two points are neighbours."""
    square = 0.0
    for k in range(3):
        off = points.numbers[one, PLACE_OF + k] - points.numbers[other, PLACE_OF + k]
        square += off * off
    reach = REACH * min(points.numbers[one, CELL_OF], points.numbers[other, CELL_OF])
    return bool(square <= reach * reach)


@njit(**ACCESS)
def deal_rays(light: Light, points: Points, pool: Pool) -> int:
    """Give each point its rays, the fewer the more neighbours it has; returns the most of one."""
    own, filled, most = points.spread, points.filled[0], 0
    for lane in range(WIDTH):
        own[RAYS + lane] = own[BASES + lane] = 0.0
    for one in range(filled):
        count = 0
        for other in range(filled):
            near = other == one or are_near(points, one, other)
            pool.near[one, other] = 1.0 if near else 0.0
            count += 1 if near else 0
        alone, _ = rays_of(light, points, one)
        rays = max(math.ceil(SHARED * alone / count), LEAST)
        rays = min(rays, alone, MOST)
        own[RAYS + one] = own[BASES + one] = rays
        most = max(most, rays)
    for one in range(filled):
        for other in range(filled):
            pool.near[one, other] *= own[RAYS + other]
    return most


@njit(**ACCESS)
def draw(points: Points, words: NDArray[np.uint64], index: int) -> None:
    """Draw for the rays of one number, so that those of all points of a tile go evenly."""
    own = points.spread
    for lane in range(points.filled[0]):
        net = points.ids[lane, NET_OF]
        number = (net >> PLACE_BITS) << (PLACE_BITS + INDEX_BITS)
        number += (index << PLACE_BITS) + (net & ((1 << PLACE_BITS) - 1))
        own[DRAW + lane], own[OTHER + lane] = point_of(number, words[0], words[1])


@njit(**ACCESS)
def note_rays(points: Points, probe: Probe, pool: Pool, index: int, none: int) -> None:
    """Note what the rays of one number have met, and how likely all points would have sent them."""
    rays, rows, own = probe.packet.doubles, probe.rows, points.spread
    for lane in range(WIDTH):
        ray = index * WIDTH + lane
        pool.found[ray] = -1
        if lane < points.filled[0] and own[WEIGHT + lane] > 0.0:
            pool.found[ray] = none if probe.found[lane] == NOTHING else probe.found[lane]
    for one in range(points.filled[0]):
        x = points.numbers[one, NORMAL_OF]
        y = points.numbers[one, NORMAL_OF + 1]
        z = points.numbers[one, NORMAL_OF + 2]
        p = points.numbers[one, PLACE_OF]
        q = points.numbers[one, PLACE_OF + 1]
        r = points.numbers[one, PLACE_OF + 2]
        for lane in range(WIDTH):
            cosine = x * rays[ALONG + lane] + y * rays[ALONG + WIDTH + lane]
            cosine += z * rays[ALONG + 2 * WIDTH + lane]
            a, b = rows[END + lane] - p, rows[END + WIDTH + lane] - q
            c = rows[END + 2 * WIDTH + lane] - r
            square = a * a + b * b + c * c
            facing = a * rows[FACE + lane] + b * rows[FACE + WIDTH + lane]
            facing += c * rows[FACE + 2 * WIDTH + lane]
            near = max(x * a + y * b + z * c, 0.0) * max(-facing, 0.0) / (square * square)
            met = probe.found[lane] >= 0
            pool.cosines[one, index * WIDTH + lane] = near if met else max(cosine, 0.0)


@njit(**{**ACCESS, "forceinline": False})
def ask_together(
    view: SceneView,
    path: Path,
    light: Light,
    points: Points,
    words: NDArray[np.uint64],
    probe: Probe,
    sunward: Waiting,
    skyward: Waiting,
    third: Probe,
    pool: Pool,
    sums: Floats,
) -> None:
    """Send the rays of some points, and sum what each of them takes of all."""
    spread_out(points)
    spread_axes(points)
    most = deal_rays(light, points, pool)
    for index in range(most):
        draw(points, words, index)
        look_by_draws(view, points, probe, index)
        ask(view, path, light, probe, False)
        for lane in range(points.filled[0]):
            points.ids[lane, SUM_OF] = index * WIDTH + lane
        look_on(view, path, light, points, probe, sunward, skyward, third, pool.sums, index)
        add_found(light, points, probe, pool.sums, index)
        note_rays(points, probe, pool, index, sums.shape[1] - 1)
    add_waiting(view, path, light, sunward, pool.sums)
    add_waiting(view, path, light, skyward, pool.sums)
    for one in range(points.filled[0]):
        take_all(points, pool, most * WIDTH, sums, one)
    pool.sums[: most * WIDTH] = 0.0


@njit(**ACCESS)
def take_all(points: Points, pool: Pool, rays: int, sums: Floats, one: int) -> None:
    """Sum what a point takes of the rays of all."""
    under, mine = pool.under, pool.cosines[one]
    for ray in range(rays):
        under[ray] = 0.0
    for other in range(points.filled[0]):
        share = pool.near[one, other]
        if share > 0.0:
            for ray in range(rays):
                under[ray] += share * pool.cosines[other, ray]
    whole = 0.0
    for ray in range(rays):
        found = pool.found[ray]
        if found >= 0 and mine[ray] > 0.0 and pool.near[one, ray % WIDTH] > 0.0:
            whole += mine[ray] / under[ray]
    scale = 1.0
    if NORMALISE and whole > 0.0:
        scale = 1.0 / whole
    for ray in range(rays):
        found = pool.found[ray]
        if found >= 0 and mine[ray] > 0.0 and pool.near[one, ray % WIDTH] > 0.0:
            weight = scale * mine[ray] / under[ray]
            for k in range(SUMS):
                sums[one, found, k] += weight * pool.sums[ray, 0, k]
