"""Rays from points to their surroundings, one of each point at once: where they go.

``base`` rays go by the cosine law, one from each cell of a grid of equal shares; ``top`` rays are
those of a coat, from facets drawn by what the viewer sees of them (Heitz 2018). ``shading`` says
what they are for. Rays of one number go from all points of a packet together: neighbours mostly lie
on one surface, and the same cell of their grids is about the same direction. Such packets are
traced as coherent ones, but for cells along the surface, which are as wide as they are flat, and
for points whose normals differ, as on bushes and at edges. Measured in the yard with 16 rays a
point, in ns a ray, one thread:

                          coherent   in halves
    12 cells of 16           94         113
    4 cells at the edge     211         161

and not to trace points of different normals as coherent took another 3 % off a picture.
"""

import math

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.camera.ccd.lights import Light
from sensor_models.kernels.camera.ccd.points import (
    ALONG_OF,
    BASES,
    CELLS,
    COLUMN,
    COLUMNS,
    DRAW,
    DRAW_OF,
    FIRST,
    LEAST,
    NORMAL_OF,
    OTHER,
    RAYS,
    ROW,
    SECOND,
    SHARE_OF,
    START,
    THERE,
    UP,
    WEIGHT,
    WHEN,
    Points,
    across,
    triple,
    turned,
)
from sensor_models.kernels.camera.ccd.probes import NEAREST, Probe, send_all
from sensor_models.kernels.compiling import njit
from sensor_models.kernels.light.fresnel import reflectance
from sensor_models.kernels.light.paths import Path
from sensor_models.kernels.light.surfaces import (
    EXTINCTION,
    IOR,
    KIND,
    LAMBERT,
    SLOPE_SQUARED,
    TABULATED,
    Surface,
    specular_share,
    surface_at,
)
from sensor_models.kernels.light.tabulated import shape_of_table
from sensor_models.kernels.math.philox import block
from sensor_models.kernels.math.rotations import Triple, cross, dot
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.packets import ACCESS, ALONG, PLACE, SENT, VALID, Packet
from sensor_models.kernels.tracing.scene_view import SceneView

Floats = NDArray[np.float64]
Words = NDArray[np.uint64]

#: Of the rays of a coated surface, one in so many is of its top layer.
TOP_SHARE = 4
#: Byte of a random word in [0, 1), at its middle.
BYTE = np.uint64(255)
EIGHT = np.uint64(8)
ONE_BYTE = 1.0 / 256.0
#: Cells of a grid of draws whose bytes one counter fills.
CELLS_OF_BLOCK = 16
#: Rays from neighbours are much alike with so many cells, but for those with such a first draw or
#: a greater one, which go flat along the surface to all sides.
ALIKE, FLAT = 16, 0.75
#: The least cosine between normals that are about the same.
PARALLEL = 0.9


@njit(**ACCESS)
def divided(count: int) -> int:
    """The columns of a grid of so many cells, nearly a square."""
    columns = int(math.sqrt(count))
    while count % columns != 0:
        columns -= 1
    return columns


@njit(**ACCESS)
def begin_grid(own: Floats, lane: int, cells: int) -> None:
    """Begin a grid of cells for the rays of a point."""
    own[CELLS + lane], own[COLUMNS + lane] = cells, divided(cells)
    own[COLUMN + lane] = own[ROW + lane] = 0.0


@njit(**ACCESS)
def rays_of(light: Light, points: Points, lane: int) -> tuple[int, int]:
    """How many rays the base and the top of a point get.

    They need none where their light is known; all are of the other then. Where less than all is
    left of the light of a point, it sends as many rays less, one of its base and one of its top at
    least.
    """
    surface = surface_at(points.surface, lane)
    rays, top = math.ceil(min(points.numbers[lane, SHARE_OF], 1.0) * light.rays), 0
    if surface[KIND] != LAMBERT and surface[KIND] != TABULATED:
        rays = max(rays, min(light.rays, 2))
        top = max(rays // TOP_SHARE, 1)
        if surface[EXTINCTION] > 0.01 or rays == 1:
            top = rays
    base = rays - top
    if points.known[lane] and top > 0:
        top = rays
    if points.shown[lane] and base > 0:
        base = rays
    return 0 if points.known[lane] else base, 0 if points.shown[lane] else top


@njit(**ACCESS)
def plan_rays(light: Light, points: Points) -> tuple[int, bool]:
    """Decide how many rays points get; the most of one of them, and whether any has top rays."""
    own, some, most = points.spread, False, 0
    for lane in range(WIDTH):
        own[RAYS + lane] = 0.0
    for lane in range(points.filled[0]):
        base, top = rays_of(light, points, lane)
        some |= top > 0
        own[BASES + lane], own[RAYS + lane] = base, base + top
        most = max(most, base + top)
        begin_grid(own, lane, max(base if base > 0 else top, 1))
    return most, some


@njit(**ACCESS)
def draw_words(light: Light, points: Points, words: Words, index: int) -> None:
    """Draw the random words of all points, if they are used up."""
    if index % CELLS_OF_BLOCK == 0:
        for lane in range(points.filled[0]):
            counter = (points.ids[lane, DRAW_OF] << 12) + index // CELLS_OF_BLOCK
            words[0, lane], words[1, lane], words[2, lane], words[3, lane] = block(
                light.key, light.frame, counter
            )


@njit(**ACCESS)
def step_grids(points: Points, words: Words, index: int) -> None:
    """Take draws from the next cells of the grids."""
    own, within = points.spread, index % CELLS_OF_BLOCK
    drawn, shift = words[within >> 2], np.uint64(16 * (within & 3))
    for lane in range(WIDTH):
        left = np.float64((drawn[lane] >> shift) & BYTE)
        right = np.float64((drawn[lane] >> (shift + EIGHT)) & BYTE)
        columns, column, row = own[COLUMNS + lane], own[COLUMN + lane], own[ROW + lane]
        own[DRAW + lane] = (column + (left + 0.5) * ONE_BYTE) / columns
        own[OTHER + lane] = (row + (right + 0.5) * ONE_BYTE) * columns / own[CELLS + lane]
        last = column + 1.0 >= columns
        own[COLUMN + lane] = 0.0 if last else column + 1.0
        own[ROW + lane] = row + 1.0 if last else row


@njit(**ACCESS)
def look_by_cosine(own: Floats, packet: Packet, index: int) -> None:
    """Put rays of the cosine law into a packet, from all points with more, by their draws."""
    rays = packet.doubles
    for lane in range(WIDTH):
        u = own[DRAW + lane]
        cosine, sine = turned(own[OTHER + lane])
        radius, height = math.sqrt(u), math.sqrt(1.0 - u)
        a, b = radius * cosine, radius * sine
        for k in range(3):
            row = k * WIDTH + lane
            rays[ALONG + row] = (
                a * own[FIRST + row] + b * own[SECOND + row] + height * own[UP + row]
            )
            rays[PLACE + row] = own[START + row]
        rays[SENT + lane] = own[WHEN + lane]
        own[WEIGHT + lane] = own[THERE + lane] if index < own[RAYS + lane] else 0.0


@njit(**ACCESS)
def look_off_tops(points: Points, packet: Packet, index: int) -> None:
    """Put rays of the top layer in the place of those of points that have had their base rays."""
    own, rays = points.spread, packet.doubles
    for lane in range(points.filled[0]):
        bases, rays_of = int(own[BASES + lane]), int(own[RAYS + lane])
        if bases <= index < rays_of:
            x, y, z = triple(points.numbers, lane, ALONG_OF)
            surface, cone = surface_at(points.surface, lane), points.cone[lane]
            normal, axes = triple(points.numbers, lane, NORMAL_OF), across(own, lane)
            u, v = own[DRAW + lane], own[OTHER + lane]
            weight, along = of_the_top(cone, surface, (-x, -y, -z), normal, axes, u, v)
            own[WEIGHT + lane] = weight
            for k in range(3):
                rays[ALONG + k * WIDTH + lane] = along[k]
        elif index == bases - 1:
            begin_grid(own, lane, max(rays_of - bases, 1))


@njit(**ACCESS)
def look_around(
    view: SceneView,
    path: Path,
    light: Light,
    points: Points,
    words: Words,
    probe: Probe,
    index: int,
    coated: bool,
    parallel: bool,
) -> bool:
    """Send the ray of one number from each point; returns whether these are much alike.

    ``coated`` says whether any point has top rays, ``parallel`` whether the normals are alike.
    """
    own, packet = points.spread, probe.packet
    draw_words(light, points, words, index)
    step_grids(points, words, index)
    look_by_cosine(own, packet, index)
    if coated:
        look_off_tops(points, packet, index)
    if len(path.tables) > 0:
        weigh_by_tables(path, points, packet)
    if light.textures.is_mapped:
        leave_out_below(points, packet)
    for lane in range(WIDTH):
        packet.words[VALID + lane] = -1 if own[WEIGHT + lane] > 0.0 else 0
    for lane in range(WIDTH):
        probe.rows[NEAREST + lane] = own[LEAST + lane]
    send_all(view, probe)
    return parallel and light.rays >= ALIKE and not any_flat(own)


@njit(**ACCESS)
def look_by_draws(view: SceneView, points: Points, probe: Probe, index: int) -> None:
    """Send a ray from each point, by the draws that it has."""
    own = points.spread
    look_by_cosine(own, probe.packet, index)
    if own[BASES] == 0.0:
        look_off_tops(points, probe.packet, index)
    for lane in range(WIDTH):
        probe.packet.words[VALID + lane] = -1 if own[WEIGHT + lane] > 0.0 else 0
        probe.rows[NEAREST + lane] = own[LEAST + lane]
    send_all(view, probe)


@njit(**ACCESS)
def weigh_by_tables(path: Path, points: Points, packet: Packet) -> None:
    """Weigh rays of the cosine law by the shapes of tables: π g, which is 1 for a matt one."""
    own, rays = points.spread, packet.doubles
    for lane in range(points.filled[0]):
        surface = surface_at(points.surface, lane)
        if surface[KIND] == TABULATED:
            x, y, z = triple(points.numbers, lane, ALONG_OF)
            along = (
                rays[ALONG + lane],
                rays[ALONG + WIDTH + lane],
                rays[ALONG + 2 * WIDTH + lane],
            )
            normal = triple(points.numbers, lane, NORMAL_OF)
            g = shape_of_table(path.tables, surface, along, (-x, -y, -z), normal)
            own[WEIGHT + lane] *= math.pi * g


@njit(**ACCESS)
def leave_out_below(points: Points, packet: Packet) -> None:
    """Give no weight to rays that a bent normal sends below the facet: no light comes from there.

    A path tracer does the same (Mitsuba's ``normalmap``).
    """
    rays = packet.doubles
    for lane in range(points.filled[0]):
        if points.bent[lane]:
            along = (
                rays[ALONG + lane],
                rays[ALONG + WIDTH + lane],
                rays[ALONG + 2 * WIDTH + lane],
            )
            if dot(along, triple(points.flat, lane, 0)) <= 0.0:
                points.spread[WEIGHT + lane] = 0.0


@njit(**ACCESS)
def are_parallel(own: Floats) -> bool:
    """Whether the normals of all points are about the same."""
    x, y, z, bent = own[UP], own[UP + WIDTH], own[UP + 2 * WIDTH], 0
    for lane in range(WIDTH):
        cosine = x * own[UP + lane] + y * own[UP + WIDTH + lane] + z * own[UP + 2 * WIDTH + lane]
        bent += 1 if (cosine < PARALLEL) & (own[THERE + lane] > 0.0) else 0
    return bent == 0


@njit(**ACCESS)
def any_flat(own: Floats) -> bool:
    """Whether any of the rays that have just been drawn goes flat along its surface."""
    flat = 0
    for lane in range(WIDTH):
        flat += 1 if (own[DRAW + lane] >= FLAT) & (own[WEIGHT + lane] > 0.0) else 0
    return flat > 0


@njit(**ACCESS)
def of_the_top(
    cone: float,
    surface: Surface,
    viewer: Triple,
    normal: Triple,
    axes: tuple[Triple, Triple],
    u: float,
    v: float,
) -> tuple[float, Triple]:
    """A direction that a top layer mirrors to the viewer, and its weight (Heitz 2018)."""
    first, second = axes
    rough = math.sqrt(surface[SLOPE_SQUARED])
    x, y, c_v = dot(viewer, first), dot(viewer, second), max(dot(viewer, normal), 1e-6)
    a, b = rough * x, rough * y
    scale = 1.0 / math.sqrt(a * a + b * b + c_v * c_v)
    a, b, c = scale * a, scale * b, scale * c_v
    flat = math.sqrt(a * a + b * b)
    t1 = (-b / flat, a / flat, 0.0) if flat > 0.0 else (1.0, 0.0, 0.0)
    t2 = cross((a, b, c), t1)
    radius, turn = math.sqrt(u), turned(v)
    p1, p2 = radius * turn[0], radius * turn[1]
    s = 0.5 * (1.0 + c)
    p2 = (1.0 - s) * math.sqrt(max(0.0, 1.0 - p1 * p1)) + s * p2
    p3 = math.sqrt(max(0.0, 1.0 - p1 * p1 - p2 * p2))
    hx, hy = p1 * t1[0] + p2 * t2[0] + p3 * a, p1 * t1[1] + p2 * t2[1] + p3 * b
    hz = max(0.0, p1 * t1[2] + p2 * t2[2] + p3 * c)
    hx, hy = rough * hx, rough * hy
    scale = 1.0 / math.sqrt(hx * hx + hy * hy + hz * hz)
    hx, hy, hz = scale * hx, scale * hy, scale * hz
    facing = x * hx + y * hy + c_v * hz
    lx, ly, c_l = 2.0 * facing * hx - x, 2.0 * facing * hy - y, 2.0 * facing * hz - c_v
    if not c_l > 0.0:
        return 0.0, normal
    at_facet = reflectance(1.0, surface[IOR], surface[EXTINCTION], min(facing, 1.0))
    behind_l = smith(surface[SLOPE_SQUARED], c_l)
    behind_v = smith(surface[SLOPE_SQUARED], c_v)
    weight = at_facet * (1.0 + behind_v) / (1.0 + behind_v + behind_l)
    whole = reflectance(1.0, surface[IOR], surface[EXTINCTION], min(c_v, 1.0))
    if whole > 0.0:
        weight *= 1.0 - specular_share(surface, c_v, 1.0, cone) / whole
    return weight, (
        lx * first[0] + ly * second[0] + c_l * normal[0],
        lx * first[1] + ly * second[1] + c_l * normal[1],
        lx * first[2] + ly * second[2] + c_l * normal[2],
    )


@njit(**ACCESS)
def smith(slope_squared: float, cosine: float) -> float:
    """Smith's Λ of GGX."""
    return 0.5 * (math.sqrt(1.0 + slope_squared * (1.0 / (cosine * cosine) - 1.0)) - 1.0)
