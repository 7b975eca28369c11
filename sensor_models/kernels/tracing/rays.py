"""Rays in packets: what a kernel needs to send rays into a scene and to read what they hit.

A kernel keeps ``WIDTH`` rays in a packet, which it makes once and uses again and again, so that
making rays, tracing, shading and choosing returns happen in one loop without arrays of the size
of the cloud::

    @njit(nogil=True, cache=True)
    def kernel(view, claims, ...):
        packet = new_packet()
        chunk = claim(claims)
        while chunk < chunks:
            for lane in range(WIDTH):
                set_ray(view, packet, lane, origin, direction, t_min, t_max, time)  # or drop_ray
            trace_surfaces(view, packet, coherent)
            for lane in range(WIDTH):
                if is_hit(packet, lane):               # this and what follows: kernels.tracing.hits
                    ... hit_distance(packet, lane), hit_material(view, packet, lane), ...
            chunk = claim(claims)

``RayScene.run`` calls such a kernel on all threads. A chunk is whatever a kernel makes of the
number; ``claim_some`` makes chunks that become smaller. Rays must be put into packets by their own
index, never by the thread: a ray's result then depends on nothing but the ray and the scene
(below).

A ray is o + t d with t_min < t <= t_max; t counts lengths of d. Coherent packets (neighbours of a
grid, see ``kernels.tracing.arrays`` for the best tiles) are traced faster when said to be so, with
the same result.

Distance      Float32, from a float32 origin and float32 vertices, both relative to the scene's
              ``offset`` (float64), or to the body that is hit (``moving``). Its relative error is
              about 1e-6: 0.1 mm at 100 m.
Determinism   Scenes are traced in Embree's robust mode: boxes are tested conservatively, so
              whether and where (t, u, v) a ray hits a facet is a function of the two alone, with
              the same bits for any packet, number of threads and order of the geometry. One kind
              of ray is excepted: if a part of its direction is exactly 0 and it runs exactly in a
              side of a box around facets, Embree looks into that box for some packets and not for
              others, so whether it meets an edge there depends on the rays beside it. These
              follow from the scan alone, so that each run gives the same. Of the facets at
              exactly the same t, the lowest (owner, primitive) wins: the filter
              ``keep_nearest`` sees to it. Facets with the same corners have the same t, in any
              order of the corners (``instances``). Where facets lie in one plane with
              other corners, rounding chooses between them, always in the same way.
Edges         are watertight. A ray aimed at a vertex to the last bit slips through one in a few
              hundred, and hits again when shaken by 1e-5.
Owner         What a facet belongs to: closed volumes come first, then the instances, each in the
              order of the scene. So a volume's boundary comes before a surface at the same t.
Barycentrics  (u, v) of a hit weigh the second and third vertex, 1 - u - v the first.

Source: VANE, quick caster, for the rule of ties and t_min; Embree 4 API reference for layouts.
"""

import math

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.memory import claim_at, put_int64
from sensor_models.kernels.tracing.embree import (
    INVALID_ID,
    RAY_QUERY_COHERENT,
    RAY_QUERY_FILTER,
    WIDTH,
)
from sensor_models.kernels.tracing.hit_filters import (
    HIT_ROWS,
    NOTE_WORDS,
    count_crossings,
    keep_all,
    keep_nearest,
    pass_clear,
)
from sensor_models.kernels.tracing.moving import trace_bodies
from sensor_models.kernels.tracing.packets import (
    ACCESS,
    ALONG,
    ARGUMENTS,
    BEST_T,
    COUNT,
    DIRECTION,
    FILTER_ADDRESS,
    FLAGS,
    GEOMETRY,
    INSTANCE,
    NORMAL,
    ORIGIN,
    PLACE,
    STORE_ADDRESS,
    STORE_SIZE,
    T_MAX,
    T_MIN,
    TABLES_ADDRESS,
    VALID,
    Packet,
    Triple,
    check_ray,
    is_place,
    put_direction,
    put_origin,
    put_time,
)
from sensor_models.kernels.tracing.queries import intersect, occlude
from sensor_models.kernels.tracing.scene_view import (
    COUNT_CROSSINGS,
    KEEP_ALL,
    KEEP_NEAREST,
    PASS_CLEAR,
    SURFACES,
    VOLUMES,
    SceneView,
)

INFINITY = np.float32(np.inf)


@njit(**ACCESS)
def claim(claims: NDArray[np.int64]) -> int:
    """The next chunk that no thread has taken yet."""
    taken: int = claim_at(claims.ctypes.data)
    return taken


@njit(**ACCESS)
def claim_some(claims: NDArray[np.int64], total: int, least: int) -> tuple[int, int, int]:
    """Claim some of the ``total`` things to do: how many claims came before, the first, the end.

    There is nothing left when the first is ``total`` or more. A claim is of what lies side by
    side, so that a thread has what it shares in a cache of its own; of half of a thread's share in
    what is left, so that all end at the same time; and of at least so much as pays.
    """
    number, first = claim(claims), 0
    share = 2 * claims[1]
    for _ in range(number):
        first += max((total - first) // share, least)
    after: int = min(first + max((total - first) // share, least), total)
    return number, first, after


@njit(**ACCESS)
def from_offset(view: SceneView, point: Triple) -> Triple:
    """A point of the world, relative to Embree's origin."""
    return point[0] - view.offset[0], point[1] - view.offset[1], point[2] - view.offset[2]


@njit(**ACCESS)
def nearest_allowed(view: SceneView, origin: Triple) -> float:
    """The t_min that keeps a ray of unit direction from hitting the surface it starts on."""
    x, y, z = from_offset(view, origin)
    return 1e-6 * max(1.0, math.sqrt(x * x + y * y + z * z))


@njit(**ACCESS)
def set_ray(
    view: SceneView,
    packet: Packet,
    lane: int,
    origin: Triple,
    direction: Triple,
    t_min: float,
    t_max: float,
    time: float,
) -> None:
    """Put a ray into a packet. A ray that is not finite or has no direction hits nothing.

    ``time`` is the instant it is sent at, as a share of the frame: where bodies are that move.
    """
    put_origin(packet, lane, origin, from_offset(view, origin), t_min)
    put_direction(packet, lane, direction, t_max)
    put_time(packet, lane, time)
    check_ray(packet, lane, is_place(origin))


@njit(**ACCESS)
def set_rays(view: SceneView, packet: Packet, t_max: float) -> None:
    """As ``set_ray`` for all lanes; the packet's float64 rows have their start, direction and time.

    The valid flags say which lanes have a ray. This is one loop without branches or calls, and all
    that it touches lies in the packet, so that it becomes vectors as wide as the processor has.
    """
    rays, floats, words = packet.doubles, packet.floats, packet.words
    east, north, up = view.offset[0], view.offset[1], view.offset[2]
    reach = np.float32(t_max)
    for lane in range(WIDTH):
        p, q, r = rays[PLACE + lane], rays[PLACE + WIDTH + lane], rays[PLACE + 2 * WIDTH + lane]
        u, v, w = rays[ALONG + lane], rays[ALONG + WIDTH + lane], rays[ALONG + 2 * WIDTH + lane]
        x, y, z = p - east, q - north, r - up
        floats[ORIGIN + lane] = x
        floats[ORIGIN + WIDTH + lane] = y
        floats[ORIGIN + 2 * WIDTH + lane] = z
        floats[T_MIN + lane] = 1e-6 * max(1.0, math.sqrt(x * x + y * y + z * z))
        a, b, c = np.float32(u), np.float32(v), np.float32(w)
        floats[DIRECTION + lane] = a
        floats[DIRECTION + WIDTH + lane] = b
        floats[DIRECTION + 2 * WIDTH + lane] = c
        floats[T_MAX + lane] = reach
        length, far = abs(a) + abs(b) + abs(c), abs(p) + abs(q) + abs(r)
        good = (length > np.float32(0.0)) & (length < INFINITY) & (far < math.inf)
        words[VALID + lane] = -1 if good & (words[VALID + lane] != 0) else 0


@njit(**ACCESS)
def trace_surfaces(view: SceneView, packet: Packet, coherent: bool) -> None:
    """Find the nearest surface along each ray of a packet."""
    _begin(view, packet, coherent, KEEP_NEAREST)
    _trace(view, packet, SURFACES)


@njit(**ACCESS)
def trace_quickly(view: SceneView, packet: Packet, coherent: bool) -> None:
    """As ``trace_surfaces``, but without the rule for facets at the same t: any of them is hit.

    Which one it is follows from Embree's hierarchy, so it is the same in each run. The filter
    that it goes without takes an eighth of the time, and rays that are not coherent can be
    handed over in halves (``queries``).
    """
    _begin(view, packet, coherent, KEEP_NEAREST)
    _drop_filter(packet, coherent)
    _trace(view, packet, SURFACES)
    for lane in range(WIDTH):
        hit = packet.words[GEOMETRY + lane] != INVALID_ID
        packet.floats[BEST_T + lane] = packet.floats[T_MAX + lane] if hit else INFINITY


@njit(**ACCESS)
def trace_blocked(view: SceneView, packet: Packet, coherent: bool) -> None:
    """Find out which rays of a packet meet any surface (``is_blocked``); there are no hits to read.

    What a ray meets is what ``trace_surfaces`` finds, but it is done with the first facet, and
    nobody has to know which one that is.
    """
    _drop_filter(packet, coherent)
    _block(view, packet)


@njit(**ACCESS)
def trace_blocked_at_rest(view: SceneView, packet: Packet, coherent: bool) -> None:
    """As ``trace_blocked``, for rays that are known to be near no movable body."""
    _drop_filter(packet, coherent)
    if view.handles[SURFACES] != 0:
        occlude(packet, view.handles[SURFACES])


@njit(**ACCESS)
def trace_opaque(
    view: SceneView, packet: Packet, coherent: bool, is_clear: NDArray[np.int32]
) -> None:
    """As ``trace_blocked``, but rays go on through what is of a clear material (``is_clear``).

    How many such facets a ray met that was not blocked is told by ``hits_found``.
    """
    words = packet.words
    words[FLAGS] = RAY_QUERY_FILTER | (RAY_QUERY_COHERENT if coherent else 0)
    start = words.ctypes.data
    put_int64(start + 4 * ARGUMENTS, FILTER_ADDRESS, view.handles[PASS_CLEAR])
    put_int64(start + 4 * STORE_ADDRESS, 0, is_clear.ctypes.data)
    put_int64(start + 4 * TABLES_ADDRESS, 0, view.tables.ctypes.data)
    for lane in range(WIDTH):
        words[COUNT + lane] = 0
    _block(view, packet)


@njit(**ACCESS)
def _block(view: SceneView, packet: Packet) -> None:
    if view.handles[SURFACES] != 0:
        occlude(packet, view.handles[SURFACES])
    if len(view.bodies.scenes) > 0:
        trace_bodies(view.bodies, packet, SURFACES, True)


@njit(**ACCESS)
def is_blocked(packet: Packet, lane: int) -> bool:
    """Whether a ray of a packet meets anything, after ``trace_blocked``."""
    blocked: bool = packet.floats[T_MAX + lane] < np.float32(0.0)
    return blocked


@njit(cache=True)
def new_notes(most: int) -> NDArray[np.int32]:
    """Room for the nearest ``most`` hits of each ray of a packet."""
    return np.empty(WIDTH * most * NOTE_WORDS, np.int32)


@njit(**ACCESS)
def trace_all_surfaces(
    view: SceneView, packet: Packet, coherent: bool, notes: NDArray[np.int32]
) -> None:
    """Find all surfaces along each ray; read them by ``hits_found`` and ``show_hit``."""
    _begin(view, packet, coherent, KEEP_ALL)
    _lend(packet, notes, len(notes) // (WIDTH * NOTE_WORDS))
    _trace(view, packet, SURFACES)


@njit(**ACCESS)
def trace_all_boundaries(
    view: SceneView, packet: Packet, coherent: bool, notes: NDArray[np.int32]
) -> None:
    """Find all boundaries of volumes along each ray; read as for ``trace_all_surfaces``."""
    _begin(view, packet, coherent, KEEP_ALL)
    _lend(packet, notes, len(notes) // (WIDTH * NOTE_WORDS))
    _trace(view, packet, VOLUMES)


@njit(**ACCESS)
def hits_found(packet: Packet, lane: int) -> int:
    """How many surfaces lie along a ray, which may be more than there was room for."""
    found: int = packet.words[COUNT + lane]
    return found


@njit(**ACCESS)
def show_hit(packet: Packet, notes: NDArray[np.int32], lane: int, index: int) -> None:
    """Put one of all hits of a ray, counted by distance, where the hits of a packet are read."""
    most = len(notes) // (WIDTH * NOTE_WORDS)
    start = (most * lane + index) * NOTE_WORDS
    packet.words[BEST_T + lane] = notes[start]
    for row in range(HIT_ROWS):
        packet.words[NORMAL + row * WIDTH + lane] = notes[start + 1 + row]


@njit(**ACCESS)
def trace_crossings(view: SceneView, packet: Packet, counts: NDArray[np.int32]) -> None:
    """Count how often each ray crosses the boundary of each volume.

    ``counts`` holds a pair for each volume of each ray: the number, which the caller sets to 0,
    and the bits of the least t as float32.
    """
    _begin(view, packet, False, COUNT_CROSSINGS)
    _lend(packet, counts, view.volumes)
    _trace(view, packet, VOLUMES)


@njit(**ACCESS)
def _lend(packet: Packet, memory: NDArray[np.int32], size: int) -> None:
    """Tell the filter where it may write."""
    put_int64(packet.words.ctypes.data + 4 * STORE_ADDRESS, 0, memory.ctypes.data)
    packet.words[STORE_SIZE] = size


@njit(**ACCESS)
def _begin(view: SceneView, packet: Packet, coherent: bool, filtering: int) -> None:
    words = packet.words
    words[FLAGS] = RAY_QUERY_FILTER | (RAY_QUERY_COHERENT if coherent else 0)
    put_int64(words.ctypes.data + 4 * ARGUMENTS, FILTER_ADDRESS, view.handles[filtering])
    for lane in range(WIDTH):
        words[GEOMETRY + lane] = INVALID_ID
        words[INSTANCE + lane] = INVALID_ID
        packet.floats[BEST_T + lane] = INFINITY
        words[COUNT + lane] = 0


@njit(**ACCESS)
def _drop_filter(packet: Packet, coherent: bool) -> None:
    """Have no filter called. Where Embree has the address of one, it takes a tenth longer."""
    packet.words[FLAGS] = RAY_QUERY_COHERENT if coherent else 0
    put_int64(packet.words.ctypes.data + 4 * ARGUMENTS, FILTER_ADDRESS, 0)


@njit(**ACCESS)
def _trace(view: SceneView, packet: Packet, part: int) -> None:
    """Trace a packet without hits into the world, then into the bodies that move in it."""
    if view.handles[part] != 0:
        intersect(packet, view.handles[part])
    if len(view.bodies.scenes) > 0:
        trace_bodies(view.bodies, packet, part, False)


def filter_addresses() -> tuple[int, ...]:
    """Addresses of the filters, in the order of ``SceneView.handles``."""
    return keep_nearest.address, keep_all.address, count_crossings.address, pass_clear.address
