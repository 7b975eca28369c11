r"""Rays that points share with their neighbours by where the rays have ended.

Where light changes within a cell (``shared``), as where things stand on the ground, and among
leaves, whose normals go every which way, no record is true of all points around. What a ray has
found is: a place E that sends light L to whoever sees it, or light from far away. So neighbours
take each other's rays as they would have met E themselves. Of points i, each of which sends r_j
rays by the cosine law about its normal n_j, a point takes

    L_i = sum over rays of its neighbours of w L / sum of all w
    w   = f_i / sum_m r_m f_m
    f_i = max(0, n_i·d)                                      of a ray that met nothing, with d
    f_i = max(0, n_i·v) max(0, -n_E·v) / |v|⁴,  v = E - x_i   of one that ended at E, normal n_E

which is the balance heuristic: f is how likely a point sends a ray there, so rays are weighted as
if all of them had been drawn from the mean of what all points draw from. Neighbours of a point,
itself among them, are those within ``REACH`` cells. The sum of all w would be 1 if neighbours saw
the same of all that is around. Where some of them stand behind what others have before them, that
sum is off, and to divide by it is what makes light change between them as it does.

Points come in packets, whose rays are sent at once; ``POINTS`` of them share their rays. Those in
the sun send fewer (``shading.weigh_around``).

Source: Veach and Guibas 1995; Bekaert, Sbert and Halton 2002 (rays of neighbours).
Deviation: what hides E from a neighbour is not looked for.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.camera.ccd.around import look_by_draws, rays_of
from sensor_models.kernels.camera.ccd.bounces import (
    GROUND,
    MET,
    SKY,
    SUMS,
    SUN,
    Waiting,
    add_found,
    add_waiting,
    look_on,
    new_waiting,
)
from sensor_models.kernels.camera.ccd.lights import Light
from sensor_models.kernels.camera.ccd.nets import point_of
from sensor_models.kernels.camera.ccd.points import (
    BASES,
    CELL_OF,
    DRAW,
    NET_OF,
    NORMAL_OF,
    OTHER,
    PIXEL_OF,
    PLACE_OF,
    RAYS,
    SUM_OF,
    WEIGHT,
    Points,
    spread_axes,
    spread_out,
)
from sensor_models.kernels.camera.ccd.probes import END, FACE, Probe, ask
from sensor_models.kernels.compiling import njit
from sensor_models.kernels.light.paths import Path
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.packets import ACCESS, ALONG
from sensor_models.kernels.tracing.scene_view import SceneView

Floats = NDArray[np.float64]
Floats32 = NDArray[np.float32]

#: How far neighbours are apart, in cells.
REACH = 1.0
#: Rays that the points of a packet send together at least, over those of a point alone; the least
#: that one of them sends, and the most that there is room for.
SHARED, LEAST, MOST = 6.0, 1, 16
#: Packets, points and rays of a pool.
PACKETS = 4
POINTS = PACKETS * WIDTH
ROOM = POINTS * MOST
#: Rays whose light is added at once.
STEP = 8
#: The least distance of a point and the end of a ray, m: its fourth power is above 0 in float32.
CLOSEST = np.float32(1e-6)
#: What stands for a sum of f that is 0.
FAINTEST = np.float32(1e-30)


class Pool(NamedTuple):
    """Points whose rays are sent, and what these have found."""

    filled: NDArray[np.int64]  # (2,): points, and rows of rays
    origin: Floats  # (3,): what places are relative to
    places: Floats32  # (POINTS, 6): place and normal
    cells: Floats  # (POINTS,): width of a cell
    sent: Floats32  # (POINTS,): rays of each
    pixels: NDArray[np.int64]  # (POINTS,)
    colors: Floats  # (POINTS, n): what is seen of light from around
    heads: NDArray[np.int64]  # (POINTS,): the first of those that it shares rays with
    rays: Floats32  # (7, ROOM): where they ended, or 0, the normal there, or the direction; is met
    owners: NDArray[np.int64]  # (ROOM,): the point that sent it, -1 for no ray
    found: NDArray[np.int64]  # (ROOM,): the row of materials, the last for rays that met nothing
    sums: Floats  # (ROOM, 1, 2 * SUMS): what they found (``bounces``)
    ends: Floats32  # (7, ROOM): of rays that some points share the columns of ``rays``,
    light: Floats32  # (ROOM, n): the radiance,
    likely: Floats32  # (POINTS, ROOM): f, and
    total: Floats32  # (ROOM,): the sum of f over all of these points
    weights: Floats32  # (STEP,): w of one of them, and
    parts: Floats32  # (STEP,): their sums
    sunward: Waiting  # rays from where light bounces
    skyward: Waiting
    into: Floats32  # (n,): the light that comes to one of them


@njit(cache=True)
def new_pool(wavelengths: int) -> Pool:
    """Room for points and their rays."""
    return Pool(
        np.zeros(2, np.int64),
        np.zeros(3),
        np.zeros((POINTS, 6), np.float32),
        np.zeros(POINTS),
        np.zeros(POINTS, np.float32),
        np.zeros(POINTS, np.int64),
        np.zeros((POINTS, wavelengths)),
        np.zeros(POINTS, np.int64),
        np.zeros((7, ROOM), np.float32),
        np.zeros(ROOM, np.int64),
        np.zeros(ROOM, np.int64),
        np.zeros((ROOM, 1, 2 * SUMS)),
        np.zeros((7, ROOM), np.float32),
        np.zeros((ROOM, wavelengths), np.float32),
        np.zeros((POINTS, ROOM), np.float32),
        np.zeros(ROOM, np.float32),
        np.zeros(STEP, np.float32),
        np.zeros(STEP, np.float32),
        new_waiting(),
        new_waiting(),
        np.zeros(wavelengths, np.float32),
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
def deal_rays(light: Light, points: Points) -> int:
    """Give each point its rays, the fewer the more neighbours it has; returns the most of one."""
    own, filled, most = points.spread, points.filled[0], 0
    for lane in range(WIDTH):
        own[RAYS + lane] = own[BASES + lane] = 0.0
    for one in range(filled):
        count = 0
        for other in range(filled):
            count += 1 if other == one or are_near(points, one, other) else 0
        alone, _ = rays_of(light, points, one)
        rays = max(math.ceil(SHARED * alone / count), LEAST)
        rays = min(rays, max(alone, 1), MOST)
        own[RAYS + one] = own[BASES + one] = rays
        most = max(most, rays)
    return most


@njit(**ACCESS)
def draw(points: Points, words: NDArray[np.uint64], most: int, index: int) -> None:
    """Draw for the rays of one number, so that those of all neighbours go evenly to all sides."""
    own = points.spread
    for lane in range(points.filled[0]):
        number = points.ids[lane, NET_OF] * most + index
        own[DRAW + lane], own[OTHER + lane] = point_of(number, words[0], words[1])


@njit(**ACCESS)
def put_in(points: Points, pool: Pool) -> None:
    """Put the points of a packet into a pool."""
    first = pool.filled[0]
    for lane in range(points.filled[0]):
        row = first + lane
        for k in range(3):
            off = points.numbers[lane, PLACE_OF + k] - pool.origin[k]
            pool.places[row, k] = np.float32(off)
            pool.places[row, 3 + k] = np.float32(points.numbers[lane, NORMAL_OF + k])
        pool.cells[row] = points.numbers[lane, CELL_OF]
        pool.sent[row] = np.float32(points.spread[RAYS + lane])
        pool.pixels[row] = points.ids[lane, PIXEL_OF]
        for k in range(points.tint.shape[1]):
            pool.colors[row, k] = points.tint[lane, k]
    pool.filled[0] = first + points.filled[0]


@njit(**ACCESS)
def note_rays(points: Points, probe: Probe, pool: Pool, none: int) -> None:
    """Note where the rays of one number have ended."""
    rays, rows, own, first = probe.packet.doubles, probe.rows, points.spread, pool.filled[1]
    for lane in range(WIDTH):
        ray, far = first + lane, probe.found[lane] < 0
        there = (lane < points.filled[0]) & (own[WEIGHT + lane] > 0.0)
        pool.owners[ray] = pool.filled[0] + lane if there else -1
        pool.found[ray] = none if far else probe.found[lane]
        pool.rays[6, ray] = np.float32(0.0 if far else 1.0)
        for k in range(3):
            end = rows[END + k * WIDTH + lane] - pool.origin[k]
            face = rays[ALONG + k * WIDTH + lane] if far else rows[FACE + k * WIDTH + lane]
            pool.rays[k, ray] = np.float32(0.0 if far else end)
            pool.rays[3 + k, ray] = np.float32(face)
    pool.filled[1] = first + WIDTH


@njit(**{**ACCESS, "forceinline": False})
def send_rays(
    view: SceneView, path: Path, light: Light, points: Points, words: NDArray[np.uint64],
    probe: Probe, third: Probe, pool: Pool, none: int,
) -> None:  # fmt: skip
    """Send the rays of a packet of points and put both into a pool."""
    spread_out(points)
    spread_axes(points)
    most = deal_rays(light, points)
    if pool.filled[0] == 0:
        for k in range(3):
            pool.origin[k] = points.numbers[0, PLACE_OF + k]
    for index in range(most):
        draw(points, words, most, index)
        look_by_draws(view, points, probe, index)
        ask(view, path, light, probe, False)
        for lane in range(points.filled[0]):
            points.ids[lane, SUM_OF] = pool.filled[1] + lane
        look_on(
            view, path, light, points, probe, pool.sunward, pool.skyward, third, pool.sums, index
        )
        add_found(light, points, probe, pool.sums, index)
        note_rays(points, probe, pool, none)
    put_in(points, pool)
    points.filled[0] = 0


@njit(**ACCESS)
def divide(pool: Pool) -> None:
    """Divide the points among those that share rays: each is near the first of them."""
    places = pool.places
    for one in range(pool.filled[0]):
        pool.heads[one] = one
        for other in range(one):
            if pool.heads[other] != other:
                continue
            square = 0.0
            for k in range(3):
                square += np.float64(places[one, k] - places[other, k]) ** 2
            reach = REACH * min(pool.cells[one], pool.cells[other])
            if square <= reach * reach:
                pool.heads[one] = other
                break


@njit(**ACCESS)
def choose_rays(light: Light, pool: Pool, head: int) -> int:
    """Write the rays that the points of a head share, and the light of each; how many there are."""
    count = 0
    for ray in range(pool.filled[1]):
        owner = pool.owners[ray]
        if owner >= 0 and pool.heads[owner] == head:
            for k in range(7):
                pool.ends[k, count] = pool.rays[k, ray]
            find_light(light, pool.sums[ray, 0], pool.found[ray], pool.light[count])
            count += 1
    while count % STEP != 0:
        pool.ends[:, count] = 0.0  # no point would have sent it
        pool.light[count] = 0.0
        count += 1
    return count


@njit(**ACCESS)
def find_light(light: Light, sums: Floats, found: int, own: Floats32) -> None:
    """Write the radiance that a ray brings, by what it has found, and forget that."""
    sun, sky, ground = np.float32(sums[SUN]), np.float32(sums[SKY]), np.float32(sums[GROUND])
    for k in range(len(own)):
        own[k] = sky * np.float32(light.sky[k]) + ground * np.float32(light.ground[k])
    if found < len(light.bounce):
        for k in range(len(own)):
            lit = sun * np.float32(light.sunlit[found, k])
            own[k] = lit + own[k] * np.float32(light.bounce[found, k])
        if light.has_emission[found]:
            for k in range(len(own)):
                own[k] += np.float32(sums[MET] * light.lamps[found, k])
    for k in range(len(sums)):
        sums[k] = 0.0


@njit(**ACCESS)
def find_odds(pool: Pool, rays: int, one: int) -> None:
    """Write how likely a point would have sent each ray, and add that to the sum of all."""
    p, q, r = pool.places[one, 0], pool.places[one, 1], pool.places[one, 2]
    x, y, z = pool.places[one, 3], pool.places[one, 4], pool.places[one, 5]
    likely, total, ends, share = pool.likely[one], pool.total, pool.ends, pool.sent[one]
    nothing, whole = np.float32(0.0), np.float32(1.0)
    for ray in range(rays):
        e, f, g, met = ends[3, ray], ends[4, ray], ends[5, ray], ends[6, ray]
        a, b, c = ends[0, ray] - p, ends[1, ray] - q, ends[2, ray] - r
        square = max(a * a + b * b + c * c, CLOSEST * CLOSEST)
        facing = max(-(a * e + b * f + c * g), nothing) / (square * square)
        near = max(x * a + y * b + z * c, nothing) * facing
        far = max(x * e + y * f + z * g, nothing)
        odds = met * near + (whole - met) * far
        likely[ray] = odds
        total[ray] += share * odds


@njit(**ACCESS)
def take(pool: Pool, rays: int, one: int) -> None:
    """Write the light that comes to a point by the rays that it shares, a multiple of ``STEP``.

    So many at once: sums would wait for each of their terms.
    """
    weights, likely, total, into = pool.weights, pool.likely[one], pool.total, pool.into
    light, parts = pool.light, pool.parts
    for k in range(len(into)):
        into[k] = np.float32(0.0)
    for lane in range(STEP):
        parts[lane] = np.float32(0.0)
    for first in range(0, rays, STEP):
        for lane in range(STEP):
            ray = np.uint64(first) + np.uint64(lane)  # a sign would be looked at, one by one
            weight = likely[ray] / max(total[ray], FAINTEST)
            weights[lane] = weight
            parts[lane] += weight
        a, b, c, d = weights[0], weights[1], weights[2], weights[3]
        e, f, g, h = weights[4], weights[5], weights[6], weights[7]
        for k in range(len(into)):
            left = a * light[first, k] + b * light[first + 1, k]
            left += c * light[first + 2, k] + d * light[first + 3, k]
            right = e * light[first + 4, k] + f * light[first + 5, k]
            right += g * light[first + 6, k] + h * light[first + 7, k]
            into[k] += left + right
    whole = np.float32(0.0)
    for lane in range(STEP):
        whole += parts[lane]
    scale = np.float32(1.0) / whole if whole > np.float32(0.0) else np.float32(0.0)
    for k in range(len(into)):
        into[k] *= scale


@njit(**{**ACCESS, "forceinline": False})
def end_rays(view: SceneView, path: Path, light: Light, pool: Pool) -> None:
    """Find out what has been left open of the rays of a pool, and who shares them."""
    add_waiting(view, path, light, pool.sunward, pool.sums)
    add_waiting(view, path, light, pool.skyward, pool.sums)
    divide(pool)


@njit(**ACCESS)
def find_shares(light: Light, pool: Pool, head: int) -> int:
    """Work out all that the points of a head need to know of their rays; how many these are."""
    rays = choose_rays(light, pool, head)
    for ray in range(rays):
        pool.total[ray] = np.float32(0.0)
    for one in range(head, pool.filled[0]):
        if pool.heads[one] == head:
            find_odds(pool, rays, one)
    return rays
