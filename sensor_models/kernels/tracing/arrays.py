"""Arrays of rays in, arrays of hits out: the bare trace, without a sensor.

A list of rays goes into packets in its own order. A grid of rays (rows x columns of neighbours)
goes in tiles, whose rays stay close together in the scene. Tiles are wider than high, as columns
count to the side in lidars and cameras alike: on the ground, which is seen at a grazing angle,
rays of neighbouring rows are further apart. And tiles follow one another down a strip of columns:
what a strip sees stays in the processor's cache, while a row sees half the scene. Both together
are worth a factor of 1.7 in speed against 4 x 4 tiles along the rows.

A packet's rays follow from their indices alone; chunks of packets are claimed by threads, large
ones first: strips that lie side by side see the same things, which one thread then reads alone.

Directions and results of a frame are more than the caches near a processor hold, and a tile has
parts of two rows of each, which the processor does not foresee: the bare trace has those of a later
packet brought there while this one is traced.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.caches import prefetch, prefetch_to_write
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.hits import (
    hit_barycentrics,
    hit_distance,
    hit_entity,
    hit_instance,
    hit_label,
    hit_material,
    hit_normal,
    hit_primitive,
    hit_smooth_normal,
    is_hit,
)
from sensor_models.kernels.tracing.packets import (
    ACCESS,
    Packet,
    Triple,
    check_ray,
    drop_ray,
    is_place,
    is_valid,
    new_packet,
    put_direction,
    put_origin,
    put_time,
)
from sensor_models.kernels.tracing.rays import (
    claim,
    claim_some,
    from_offset,
    hits_found,
    nearest_allowed,
    new_notes,
    set_ray,
    show_hit,
    trace_all_surfaces,
    trace_crossings,
    trace_quickly,
    trace_surfaces,
)
from sensor_models.kernels.tracing.scene_view import SceneView

#: Packets that a thread claims at least: some 50 microseconds of work.
CHUNK = 128
#: Rows of a tile, and the binary logarithms of its columns and of the width of a packet.
TILE_ROWS = 2
TILE_SHIFT = {16: 3, 8: 2, 4: 1}[WIDTH]
LIST_SHIFT = {16: 4, 8: 3, 4: 2}[WIDTH]
#: Columns of a strip: results of 4 bytes fill lines of the cache, and tiles that lie in it.
STRIP = 16
TILES_ACROSS = STRIP >> TILE_SHIFT
#: How many packets before it is traced the memory of a packet is brought into the caches.
AHEAD = 4

#: Directions of the rays that find out whether a point is inside; along no symmetry of a mesh.
PROBES = ((0.3271, 0.5413, 0.7745), (-0.6131, 0.2872, -0.7360), (0.4823, -0.8309, 0.2777))


class Hits(NamedTuple):
    """What rays hit, an entry for each ray.

    A ray that hits nothing has t = inf, one that is no ray (not finite, or without direction)
    has t = NaN; both have ids of -1 and zeros elsewhere.
    """

    t: NDArray[np.float32]  # distance, in lengths of the direction: m if that is a unit vector
    instance: NDArray[np.int32]  # index into Scene.instances
    primitive: NDArray[np.int32]  # index of the face in its mesh
    entity_id: NDArray[np.int32]
    material: NDArray[np.int32]  # index into Scene.materials
    label: NDArray[np.int32]  # semantic label, -1 for none
    u: NDArray[np.float32]  # weight of the face's second vertex
    v: NDArray[np.float32]  # weight of its third vertex
    normal: NDArray[np.float32]  # (..., 3), unit vector to the outside of the surface


class BareHits(NamedTuple):
    """The least that tells what rays hit; as in ``Hits``."""

    t: NDArray[np.float32]
    instance: NDArray[np.int32]
    primitive: NDArray[np.int32]
    u: NDArray[np.float32]
    v: NDArray[np.float32]


class Rays(NamedTuple):
    """Rays of a list, or of a grid row by row; a list has one row."""

    rows: int  # of the grid
    columns: int  # of the grid, or rays of the list
    origins: NDArray[np.float64]  # (n, 3), or (1, 3) for all
    directions: NDArray[np.float32]  # (n, 3)
    t_max: float  # in lengths of the directions
    coherent: bool  # neighbours go about the same way


class Tile(NamedTuple):
    """The first ray of a packet in a grid, and the binary logarithm of its columns."""

    row: int
    column: int
    shift: int


@njit(**ACCESS)
def packets_of(rays: Rays) -> int:
    """How many packets rays take."""
    if rays.rows == 1:
        return (rays.columns + WIDTH - 1) // WIDTH
    across = (rays.columns + STRIP - 1) // STRIP
    return across * TILES_ACROSS * ((rays.rows + TILE_ROWS - 1) // TILE_ROWS)


@njit(**ACCESS)
def tile_of(rays: Rays, packet_index: int) -> Tile:
    """The rays of a packet. Tiles fill strips from left to right and from top to bottom."""
    if rays.rows == 1:
        return Tile(0, packet_index * WIDTH, LIST_SHIFT)
    in_strip = TILES_ACROSS * ((rays.rows + TILE_ROWS - 1) // TILE_ROWS)
    strip = packet_index // in_strip
    place = packet_index - strip * in_strip
    row, side = place // TILES_ACROSS, place % TILES_ACROSS
    return Tile(row * TILE_ROWS, strip * STRIP + (side << TILE_SHIFT), TILE_SHIFT)


@njit(**ACCESS)
def ray_of(rays: Rays, tile: Tile, lane: int) -> int:
    """The ray in a lane of a packet, -1 for none."""
    row = tile.row + (lane >> tile.shift)
    column = tile.column + (lane & ((1 << tile.shift) - 1))
    inside = (row < rays.rows) & (column < rays.columns)
    return row * rays.columns + column if inside else -1


@njit(**ACCESS)
def origin_of(rays: Rays, ray: int) -> Triple:
    """Where a ray starts."""
    start = ray if len(rays.origins) > 1 else 0
    return rays.origins[start, 0], rays.origins[start, 1], rays.origins[start, 2]


@njit(**ACCESS)
def direction_of(rays: Rays, ray: int) -> Triple:
    """Where a ray goes."""
    return rays.directions[ray, 0], rays.directions[ray, 1], rays.directions[ray, 2]


@njit(**ACCESS)
def start_packet(view: SceneView, packet: Packet, rays: Rays) -> None:
    """Put the start of all rays into a packet, if they have one in common."""
    origin = origin_of(rays, 0)
    for lane in range(WIDTH):
        near = from_offset(view, origin)
        put_origin(packet, lane, origin, near, nearest_allowed(view, origin))
        put_time(packet, lane, 0.0)


@njit(**ACCESS)
def fill_packet(view: SceneView, packet: Packet, rays: Rays, tile: Tile) -> None:
    """Put the rays of a packet into it."""
    if len(rays.origins) == 1:
        started = is_place(origin_of(rays, 0))
        for lane in range(WIDTH):
            ray = ray_of(rays, tile, lane)
            put_direction(packet, lane, direction_of(rays, max(ray, 0)), rays.t_max)
        for lane in range(WIDTH):
            check_ray(packet, lane, started & (ray_of(rays, tile, lane) >= 0))
        return
    for lane in range(WIDTH):
        ray = ray_of(rays, tile, lane)
        if ray < 0:
            drop_ray(packet, lane)
            continue
        origin = origin_of(rays, ray)
        t_min = nearest_allowed(view, origin)
        set_ray(view, packet, lane, origin, direction_of(rays, ray), t_min, rays.t_max, 0.0)


@njit(**ACCESS)
def t_of_miss(packet: Packet, lane: int) -> float:
    """The t of a ray that hit nothing: NaN if it was no ray."""
    return math.inf if is_valid(packet, lane) else math.nan


@njit(**ACCESS)
def store_miss(hits: Hits, at: int, t: float) -> None:
    """Write that a ray hit nothing."""
    hits.t[at] = t
    hits.instance[at] = hits.primitive[at] = hits.entity_id[at] = -1
    hits.material[at] = hits.label[at] = -1
    hits.u[at] = hits.v[at] = 0.0
    hits.normal[at, 0] = hits.normal[at, 1] = hits.normal[at, 2] = 0.0


@njit(**ACCESS)
def store_hit(
    view: SceneView, packet: Packet, lane: int, smooth: bool, hits: Hits, at: int
) -> None:
    """Write what a ray hit."""
    hits.t[at] = hit_distance(packet, lane)
    hits.instance[at] = hit_instance(view, packet, lane)
    hits.primitive[at] = hit_primitive(packet, lane)
    hits.entity_id[at] = hit_entity(view, packet, lane)
    hits.material[at] = hit_material(view, packet, lane)
    hits.label[at] = hit_label(view, packet, lane)
    hits.u[at], hits.v[at] = hit_barycentrics(view, packet, lane)
    normal = hit_smooth_normal(view, packet, lane) if smooth else hit_normal(view, packet, lane)
    hits.normal[at, 0], hits.normal[at, 1], hits.normal[at, 2] = normal


@njit(nogil=True, cache=True)
def trace_nearest(
    view: SceneView, claims: NDArray[np.int64], rays: Rays, smooth: bool, hits: Hits
) -> None:
    """The nearest surface along each ray."""
    packet = new_packet()
    start_packet(view, packet, rays)
    packets = packets_of(rays)
    _, first, after = claim_some(claims, packets, CHUNK)
    while first < packets:
        for index in range(first, after):
            tile = tile_of(rays, index)
            fill_packet(view, packet, rays, tile)
            trace_surfaces(view, packet, rays.coherent)
            for lane in range(WIDTH):
                ray = ray_of(rays, tile, lane)
                if ray >= 0 and is_hit(packet, lane):
                    store_hit(view, packet, lane, smooth, hits, ray)
                elif ray >= 0:
                    store_miss(hits, ray, t_of_miss(packet, lane))
        _, first, after = claim_some(claims, packets, CHUNK)


@njit(**ACCESS)
def bring(rays: Rays, hits: BareHits, index: int) -> None:
    """Have the directions and results of a packet brought into the caches."""
    tile, across = tile_of(rays, index), WIDTH if rays.rows == 1 else WIDTH // TILE_ROWS
    for part in range(WIDTH // across):
        first = (tile.row + part) * rays.columns + tile.column
        directions = rays.directions.ctypes.data + 12 * first
        prefetch(directions)
        prefetch(directions + 12 * across - 4)
        prefetch_to_write(hits.t.ctypes.data + 4 * first)
        prefetch_to_write(hits.instance.ctypes.data + 4 * first)
        prefetch_to_write(hits.primitive.ctypes.data + 4 * first)
        prefetch_to_write(hits.u.ctypes.data + 4 * first)
        prefetch_to_write(hits.v.ctypes.data + 4 * first)


@njit(nogil=True, cache=True)
def trace_bare(view: SceneView, claims: NDArray[np.int64], rays: Rays, hits: BareHits) -> None:
    """The nearest surface along each ray, in the shortest time (``trace_quickly``)."""
    packet = new_packet()
    start_packet(view, packet, rays)
    packets = packets_of(rays)
    zero = np.float32(0.0)
    _, first, after = claim_some(claims, packets, CHUNK)
    while first < packets:
        for index in range(first, after):
            tile = tile_of(rays, index)
            bring(rays, hits, min(index + AHEAD, packets - 1))
            fill_packet(view, packet, rays, tile)
            trace_quickly(view, packet, rays.coherent)
            for lane in range(WIDTH):
                ray = ray_of(rays, tile, lane)
                if ray < 0:
                    continue
                hit = is_hit(packet, lane)
                hits.t[ray] = hit_distance(packet, lane) if hit else t_of_miss(packet, lane)
                hits.instance[ray] = hit_instance(view, packet, lane) if hit else -1
                hits.primitive[ray] = hit_primitive(packet, lane) if hit else -1
                u, v = hit_barycentrics(view, packet, lane) if hit else (zero, zero)
                hits.u[ray], hits.v[ray] = u, v
        _, first, after = claim_some(claims, packets, CHUNK)


@njit(nogil=True, cache=True)
def trace_all(
    view: SceneView,
    claims: NDArray[np.int64],
    rays: Rays,
    most: int,
    smooth: bool,
    counts: NDArray[np.int32],
    hits: Hits,
) -> None:
    """All surfaces along each ray, sorted; ``hits`` has ``most`` entries a ray."""
    packet, notes = new_packet(), new_notes(most)
    start_packet(view, packet, rays)
    packets = packets_of(rays)
    _, first, after = claim_some(claims, packets, CHUNK)
    while first < packets:
        for index in range(first, after):
            tile = tile_of(rays, index)
            fill_packet(view, packet, rays, tile)
            trace_all_surfaces(view, packet, rays.coherent, notes)
            for lane in range(WIDTH):
                ray = ray_of(rays, tile, lane)
                if ray < 0:
                    continue
                counts[ray] = hits_found(packet, lane)
                for place in range(most):
                    if place < counts[ray]:
                        show_hit(packet, notes, lane, place)
                        store_hit(view, packet, lane, smooth, hits, most * ray + place)
                    else:
                        store_miss(hits, most * ray + place, t_of_miss(packet, lane))
        _, first, after = claim_some(claims, packets, CHUNK)


@njit(cache=True)
def sort_volumes(
    votes: NDArray[np.int32], nearest: NDArray[np.float32], inside: NDArray[np.int32]
) -> None:
    """Write the volumes with most votes, that which is left last first."""
    inside[:] = -1
    held = 0
    for volume in range(len(votes)):
        if 2 * votes[volume] < len(PROBES):
            continue
        place = held
        while place > 0 and nearest[inside[place - 1]] < nearest[volume]:
            inside[place] = inside[place - 1]
            place -= 1
        inside[place] = volume
        held += 1


@njit(nogil=True, cache=True)
def find_volumes(
    view: SceneView,
    claims: NDArray[np.int64],
    points: NDArray[np.float64],
    times: NDArray[np.float64],
    inside: NDArray[np.int32],
) -> None:
    """The volumes that hold each point at its time, outermost first; the rest of a row is -1.

    A point is inside if rays from it leave the volume an odd number of times. A ray along an
    edge meets two facets at one crossing, so the majority of three directions counts. The
    volumes hold one another, so the sooner a ray leaves one, the further in that is.
    """
    packet, volumes = new_packet(), view.volumes
    counts = np.empty(2 * WIDTH * volumes, np.int32)
    distances = counts.view(np.float32)
    votes = np.empty((WIDTH, volumes), np.int32)
    nearest = np.empty((WIDTH, volumes), np.float32)
    first = claim(claims) * WIDTH
    while first < len(points):
        held = min(WIDTH, len(points) - first)
        votes[:] = 0
        for turn in range(len(PROBES)):
            counts[:] = 0
            for lane in range(WIDTH):
                if lane < held:
                    x, y, z = points[first + lane]
                    time = times[first + lane]
                    set_ray(view, packet, lane, (x, y, z), PROBES[turn], 0.0, math.inf, time)
                else:
                    drop_ray(packet, lane)
            trace_crossings(view, packet, counts)
            for lane in range(held):
                for volume in range(volumes):
                    place = 2 * (volumes * lane + volume)
                    votes[lane, volume] += counts[place] % 2
                    if turn == 0:
                        nearest[lane, volume] = distances[place + 1]
        for lane in range(held):
            sort_volumes(votes[lane], nearest[lane], inside[first + lane])
        first = claim(claims) * WIDTH
