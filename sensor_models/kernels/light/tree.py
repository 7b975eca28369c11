r"""The tree of a ray: the way of light through reflections, clear bodies and media.

The interfaces that one emitted ray meets are the nodes of a binary heap: node 0 is the first,
2i + 1 the one that the reflection at node i leads to, 2i + 2 the one behind it. Branches that
still have to be traced lie on two stacks, those of reflected light and those of what goes through,
and the newest WIDTH of the fuller one make the next packet. So the tree is walked depth first, and
the stacks stay small. Two of them, because neighbours that are reflected go about the same way, and
those that go through do, but not all of them together: rays of a packet that part are traced in
more time each.

With segments of geometric length l in media of index n and extinction a, a branch knows

    S = sum n l          optical path: time of flight, hence the range
    Q = sum l / n        reduced path: how wide the beam is
    W                    what is left of the light: e^(-a l) for each segment, times R or T of each
                         interface or the specular share S_f of an opaque surface

opaque      sends light back; the share S_f goes on in the mirror direction; nothing goes through
dielectric  a glint, by the top layer as rough as the detector's cone; R and 1 - R go on
volume      sends nothing back; the ray goes on in the other medium. Counts as an event, not as a
            node: the boundary of a fog bank does not take a place in the heap. As nothing bends
            there, the boundaries on the way to a surface are found and passed together: any number
            of them may lie in one place, or in that of a surface, as those of fog on the ground do.
            What lies at a surface is behind it: light that is reflected there has not passed it

Media nest: that of a point is the one that was entered last, and leaving takes out an entry
wherever it is. Each medium that is entered may answer once (``light.media``). An exit from what
was never entered (an open mesh) is ignored: the ray goes on as if there were nothing.

The tree knows no detector. One that looks into a scene (a lidar, a radar, a camera) does this::

    tree = new_tree()
    for lane in range(WIDTH):
        set_out(path, tree, lane, ray, number, origin, along, weight, time, inside, row)
        send(view, path, tree, lane)                  # or drop_ray(tree.packet, lane)
    trace(view, tree)
    arrive(view, path, tree)
    ... take out what is in tree.arrivals[: held], and set held to 0
    while branches_left(tree) > 0:                    # or WIDTH, if other rays follow
        go_on(view, path, tree)
        ... take out again

``light.arrivals`` says what it finds there, ``Tree.lost`` counts what limits have cut off.

Source: AGX (lidar, ray trace), corrected: geometric, optical and reduced path are told apart, the
specular share is bounded. Dielectrics are an extension. Not modelled: polarisation, light that
comes back another way than it went, diffuse bounces.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.light.arrivals import (
    MISSED,
    Arrivals,
    deliver,
    describe_none,
    new_arrivals,
)
from sensor_models.kernels.light.boundaries import (
    Bounds,
    as_near_as,
    new_bounds,
    pass_bounds,
    trace_bounds,
)
from sensor_models.kernels.light.branches import (
    AHEAD,
    ALONG_X,
    ALONG_Y,
    ALONG_Z,
    AROUND,
    BEHIND,
    DEPTH,
    EVENTS,
    MEDIA,
    MOST_BRANCHES,
    NESTING,
    NODE,
    NUMBER,
    NUMBERS,
    OPTICAL,
    OWNERS,
    RAY,
    REDUCED,
    START_X,
    START_Y,
    START_Z,
    TIME,
    WEIGHT,
    Branches,
    medium_of,
    new_branches,
)
from sensor_models.kernels.light.facing import (
    COSINE,
    FREE,
    INDEX,
    LENGTH,
    STRENGTH,
    Facing,
    face,
    look_up,
    new_facing,
    number_of,
    send_back,
    strength_of,
    toward_of,
)
from sensor_models.kernels.light.interfaces import arrive_at_surface
from sensor_models.kernels.light.media import MEDIUM_IOR
from sensor_models.kernels.light.paths import LIMITS, NESTING_LIMIT, TELL_MISSES, Path
from sensor_models.kernels.light.segments import advance, draw_ahead
from sensor_models.kernels.light.surfaces import KIND, TABULATED, surface_at
from sensor_models.kernels.light.tabulated import retro_of_table, send_back_tables
from sensor_models.kernels.math.rotations import Triple
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.packets import (
    ACCESS,
    ALONG,
    PLACE,
    SENT,
    T_MAX,
    VALID,
    Packet,
    drop_ray,
    is_valid,
    new_packet,
)
from sensor_models.kernels.tracing.rays import (
    nearest_allowed,
    set_ray,
    set_rays,
    trace_surfaces,
)
from sensor_models.kernels.tracing.scene_view import SceneView


class Tree(NamedTuple):
    """The trees of rays that are under way in one thread."""

    packet: Packet  # the rays that are traced at the moment
    bounds: Bounds  # boundaries of volumes on their way
    flight: Branches  # what they are, lane by lane, and the row BEHIND
    mirrored: Branches  # the stack of reflected light
    through: Branches  # that of light behind interfaces
    arrivals: Arrivals
    seen: Facing  # what the packet hits
    lost: NDArray[np.int64]  # (LIMITS,): how often each limit has cut light off


@njit(cache=True)
def new_tree() -> Tree:
    """Room for the trees of rays."""
    return Tree(
        new_packet(),
        new_bounds(),
        new_branches(BEHIND + 1),
        new_branches(MOST_BRANCHES),
        new_branches(MOST_BRANCHES),
        new_arrivals(),
        new_facing(FREE),
        np.zeros(LIMITS, np.int64),
    )


@njit(**ACCESS)
def set_out(
    path: Path,
    tree: Tree,
    lane: int,
    ray: int,
    number: int,
    origin: Triple,
    along: Triple,
    weight: float,
    time: float,
    inside: NDArray[np.int32],
    row: int,
) -> None:
    """Begin the tree of a ray.

    Args:
        path: what the ray meets.
        tree: where its tree grows.
        lane: of the packet.
        ray: an index of the caller's own, which the arrivals of the ray carry.
        number: the draws of the ray go by it, so no other ray of the frame may have it.
        origin: in the world.
        along: direction in the world, of unit length.
        weight: what the ray is worth as it sets out.
        time: when it is sent, as a share of the frame.
        inside: volumes around points, outermost first, rows end with -1.
        row: that of the origin.
    """
    numbers, ids = tree.flight.numbers, tree.flight.ids
    for k in range(3):
        numbers[lane, START_X + k] = origin[k]
        numbers[lane, ALONG_X + k] = along[k]
    numbers[lane, WEIGHT], numbers[lane, TIME] = weight, time
    numbers[lane, OPTICAL] = numbers[lane, REDUCED] = 0.0
    ids[lane, RAY], ids[lane, NUMBER] = ray, number
    ids[lane, NODE] = ids[lane, DEPTH] = ids[lane, EVENTS] = ids[lane, AROUND] = 0
    if inside.shape[1] > 0:
        start_inside(path, tree, lane, inside, row)
    draw_ahead(path, tree.flight, lane)


@njit(**ACCESS)
def start_inside(path: Path, tree: Tree, lane: int, inside: NDArray[np.int32], row: int) -> None:
    """Take note of the volumes that a ray starts in."""
    around, ids = 0, tree.flight.ids
    while around < inside.shape[1] and inside[row, around] >= 0:
        if around == NESTING:
            tree.lost[NESTING_LIMIT] += 1
            break
        volume = inside[row, around]
        ids[lane, OWNERS + around] = volume
        ids[lane, MEDIA + around] = path.medium_of_volume[volume]
        around += 1
    ids[lane, AROUND] = around


@njit(**ACCESS)
def farthest(view: SceneView, path: Path, row: int, optical: float) -> float:
    """How far to trace a ray in a medium: a little further than the limit of the range.

    In volumes it may come to a medium of a lower index than its own, but of none below 1.
    """
    index = path.media[row, MEDIUM_IOR]
    if view.volumes > 0:
        index = min(index, 1.0)
    return float(1.000001 * (path.most_range - optical) / index)


@njit(**ACCESS)
def send(view: SceneView, path: Path, tree: Tree, lane: int) -> None:
    """Put a ray in flight into the packet."""
    numbers = tree.flight.numbers
    origin = (numbers[lane, START_X], numbers[lane, START_Y], numbers[lane, START_Z])
    along = (numbers[lane, ALONG_X], numbers[lane, ALONG_Y], numbers[lane, ALONG_Z])
    reach = farthest(view, path, medium_of(tree.flight, lane), numbers[lane, OPTICAL])
    t_min, time = nearest_allowed(view, origin), numbers[lane, TIME]
    set_ray(view, tree.packet, lane, origin, along, t_min, reach, time)


@njit(**ACCESS)
def trace(view: SceneView, tree: Tree) -> None:
    """The nearest surface along each ray of the packet, and the boundaries on the way to it."""
    trace_surfaces(view, tree.packet, True)
    if view.volumes > 0:
        trace_bounds(view, tree.packet, tree.bounds, True)


@njit(**ACCESS)
def look_back(view: SceneView, path: Path, tree: Tree) -> None:
    """Note what opaque surfaces send back that a packet meets before any boundary."""
    if view.volumes == 0:
        for lane in range(WIDTH):
            if tree.seen.hit[lane]:
                medium = medium_of(tree.flight, lane)
                tree.seen.numbers[INDEX + lane] = path.media[medium, MEDIUM_IOR]
        send_back(tree.packet, tree.seen, path.cone)
        if len(path.tables) > 0:
            send_back_tables(path.tables, tree.seen)


@njit(**ACCESS)
def look_back_from(path: Path, tree: Tree, lane: int) -> None:
    """What an opaque surface sends back to the medium that a ray is in by now."""
    seen, numbers = tree.seen, tree.flight.numbers
    index = path.media[medium_of(tree.flight, lane), MEDIUM_IOR]
    along = (numbers[lane, ALONG_X], numbers[lane, ALONG_Y], numbers[lane, ALONG_Z])
    surface = surface_at(path.surfaces, seen.material[lane])
    cosine, toward = number_of(seen, COSINE, lane), toward_of(seen, lane)
    seen.numbers[INDEX + lane] = index
    seen.numbers[STRENGTH + lane] = strength_of(surface, along, toward, cosine, index, path.cone)
    if surface[KIND] == TABULATED:
        strength = cosine * retro_of_table(path.tables, surface, cosine)
        seen.numbers[STRENGTH + lane] = strength


@njit(**{**ACCESS, "forceinline": False})
def arrive(view: SceneView, path: Path, tree: Tree) -> None:
    """What becomes of the packet that was traced: arrivals, and branches that wait."""
    packet, bounds, arrivals, flight = tree.packet, tree.bounds, tree.arrivals, tree.flight
    seen = tree.seen
    look_up(view, path.surfaces, packet, seen)
    face(packet, seen)
    look_back(view, path, tree)
    for lane in range(WIDTH):
        if not is_valid(packet, lane):
            continue
        length = number_of(seen, LENGTH, lane) if seen.hit[lane] else math.inf
        done, passed = 0.0, 0
        if view.volumes > 0:
            end = length - as_near_as(packet, lane, length) if length < math.inf else length
            done, passed = pass_bounds(view, path, bounds, lane, arrivals, flight, end, tree.lost)
        if done < 0.0:
            continue
        if advance(path, arrivals, flight, lane, length - done):
            if view.volumes > 0:
                look_back_from(path, tree, lane)
            arrive_at_surface(
                view,
                path,
                packet,
                bounds,
                lane,
                arrivals,
                flight,
                tree.mirrored,
                tree.through,
                seen,
                passed,
                tree.lost,
            )
        elif path.flags & TELL_MISSES:
            describe_none(arrivals, deliver(path, arrivals, MISSED, flight, lane, 0.0))


@njit(**ACCESS)
def take_off(view: SceneView, path: Path, tree: Tree) -> None:
    """Put the newest branches of the fuller stack into the packet."""
    if tree.mirrored.filled[0] >= tree.through.filled[0]:
        take_from(view, path, tree, tree.mirrored)
    else:
        take_from(view, path, tree, tree.through)


@njit(**{**ACCESS, "forceinline": False})
def take_from(view: SceneView, path: Path, tree: Tree, waiting: Branches) -> None:
    """Put the newest branches of a stack into the packet."""
    flight, filled = tree.flight, waiting.filled[0]
    count = min(filled, WIDTH)
    waiting.filled[0] = filled - count
    for lane in range(WIDTH):
        if lane >= count:
            drop_ray(tree.packet, lane)
            continue
        place = filled - count + lane
        for k in range(NUMBERS):
            flight.numbers[lane, k] = waiting.numbers[place, k]
        around = waiting.ids[place, AROUND]
        for k in range(OWNERS):
            flight.ids[lane, k] = waiting.ids[place, k]
        for k in range(around):  # of what there is room for, hardly ever anything
            flight.ids[lane, OWNERS + k] = waiting.ids[place, OWNERS + k]
            flight.ids[lane, MEDIA + k] = waiting.ids[place, MEDIA + k]
        if flight.numbers[lane, AHEAD] < 0.0:
            draw_ahead(path, flight, lane)
        put_branch(tree, lane)
    set_rays(view, tree.packet, math.inf)
    for lane in range(count):
        reach = farthest(view, path, medium_of(flight, lane), flight.numbers[lane, OPTICAL])
        tree.packet.floats[T_MAX + lane] = reach


@njit(**ACCESS)
def put_branch(tree: Tree, lane: int) -> None:
    """Put where a branch starts and goes into the packet, for ``set_rays``."""
    own, rays = tree.flight.numbers, tree.packet.doubles
    for k in range(3):
        rays[PLACE + k * WIDTH + lane] = own[lane, START_X + k]
        rays[ALONG + k * WIDTH + lane] = own[lane, ALONG_X + k]
    rays[SENT + lane] = own[lane, TIME]
    tree.packet.words[VALID + lane] = -1


@njit(**ACCESS)
def branches_left(tree: Tree) -> int:
    """How many branches wait to be traced together, 0 if none is left at all."""
    left: int = max(tree.mirrored.filled[0], tree.through.filled[0])
    return left


@njit(**ACCESS)
def go_on(view: SceneView, path: Path, tree: Tree) -> None:
    """Trace the newest branches that wait, and have them arrive."""
    take_off(view, path, tree)
    trace(view, tree)
    arrive(view, path, tree)
