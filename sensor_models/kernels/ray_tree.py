r"""What becomes of the rays of a packet where they arrive: echoes, and branches that go on.

The interfaces that one emitted ray meets are the nodes of a binary heap: node 0 is the first,
2i + 1 the one that the reflection at node i leads to, 2i + 2 the one behind it. Branches that
still have to be traced lie on a stack; the newest WIDTH of them make the next packet. So the tree
is walked depth first, and the stack stays small.

With segments of geometric length l in media of index n and extinction a, a branch knows

    S = sum n l          optical path: time of flight, hence the range
    Q = sum l / n        reduced path: how wide the beam is
    W                    what is left of the light: e^(-a l) for each segment, times R or T of each
                         interface or the specular share S_f of an opaque surface

and an echo has the intensity

    I = W^2 rho A(2Q)    round trip: the light comes back the way it went
    I = W rho A(Q)       one way

over the number of sub-rays, with rho = f(l, l) (n.l) in 1/sr at a surface, b in a medium.

opaque      an echo; the share S_f goes on in the mirror direction; nothing goes through
dielectric  a glint, by the top layer as rough as the detector's cone; R and 1 - R go on
volume      no echo; the ray goes on in the other medium. Counts as an event, not as a node: the
            boundary of a fog bank does not take a place in the heap. As nothing bends there, the
            boundaries on the way to a surface are found and passed together: any number of them
            may lie in one place, or in that of a surface, as those of fog on the ground do. What
            lies at a surface is behind it: light that is reflected there has not passed it

Media nest: that of a point is the one that was entered last, and leaving takes out an entry
wherever it is. Each medium that is entered may answer once (``optics.media``). An exit from what
was never entered (an open mesh) is ignored: the ray goes on as if there were nothing.

Source: AGX (lidar, ray trace and intensity), corrected: geometric, optical and reduced path are
told apart, both ways are weighted, the specular share is bounded. Dielectrics are an extension.
Not modelled: polarisation, light that comes back another way than it went, diffuse bounces.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sensor_models.kernels.embree import WIDTH
from sensor_models.kernels.hits import (
    hit_distance,
    hit_entity,
    hit_label,
    hit_material,
    hit_normal,
    hit_owner,
    is_hit,
)
from sensor_models.kernels.lidar_layout import ECHO, Task, World
from sensor_models.kernels.optics.beam import beam_factor, beam_of
from sensor_models.kernels.optics.fresnel import split
from sensor_models.kernels.optics.media import (
    ABSORPTION,
    BACKSCATTER,
    MEDIUM_IOR,
    RETURN_PROBABILITY,
    echo_distance,
    medium_at,
    transmission,
)
from sensor_models.kernels.optics.surfaces import (
    DIELECTRIC,
    KIND,
    LAMBERT,
    SLOPE_SQUARED,
    Surface,
    retro,
    specular_share,
    surface_at,
)
from sensor_models.kernels.packets import (
    ACCESS,
    ORIGIN,
    T_MAX,
    T_MIN,
    VALID,
    Packet,
    Triple,
    drop_ray,
    is_valid,
    new_packet,
)
from sensor_models.kernels.philox import uniform
from sensor_models.kernels.returns import (
    ATMOSPHERIC,
    COSINE,
    ENTITY,
    INTENSITY,
    LABEL,
    MATERIAL,
    NODE,
    NORMAL_X,
    NORMAL_Y,
    NORMAL_Z,
    PATH,
    RANGE,
    Echoes,
    place_for,
)
from sensor_models.kernels.rotations import cross, dot
from sensor_models.kernels.scene_view import SceneView
from sensor_models.kernels.tracing import (
    hits_found,
    nearest_allowed,
    new_notes,
    set_ray,
    show_hit,
    trace_all_boundaries,
)

#: Media that may lie around one another; entries of further ones are forgotten.
NESTING = 8
#: Depth that a tree may have, and events that a branch may.
MOST_DEPTH, MOST_EVENTS = 16, 64
#: Branches on the stack. A packet replaces WIDTH of them by twice as many, each a level deeper.
MOST_BRANCHES = WIDTH * (MOST_DEPTH + 4)

# Columns of Branches.numbers: where it starts and goes, then W, S, Q, and how far ahead the echo
# of the medium is.
START_X, START_Y, START_Z, ALONG_X, ALONG_Y, ALONG_Z, WEIGHT, OPTICAL, REDUCED, AHEAD = range(10)
NUMBERS = 10
# Columns of Branches.ids: lane of its ray, number of the sub-ray, node, depth, events; then how
# many media are around, and for each who it belongs to and its row in World.media.
LANE, BEAM_RAY, PLACE, DEPTH, EVENTS, AROUND, OWNERS = 0, 1, 2, 3, 4, 5, 6
MEDIA = OWNERS + NESTING
IDS = MEDIA + NESTING

#: Bits of the counter of a random draw that nodes and events take.
NODE_SHIFT, EVENT_SHIFT = 25, 7
#: Row of the rays in flight that shows the one that is looked at behind the surface it meets.
BEHIND = WIDTH
#: Stands for the way to the echo of a medium that was not drawn yet.
TO_DRAW = -1.0
#: Grazing: below this cosine nothing comes back.
GRAZING = 1e-6


class Branches(NamedTuple):
    """Rays that still have to be traced."""

    numbers: NDArray[np.float64]
    ids: NDArray[np.int64]
    held: NDArray[np.int64]  # (1,)


class Bounds(NamedTuple):
    """The boundaries of volumes on the way of the rays of a packet."""

    packet: Packet  # the same rays
    notes: NDArray[np.int32]  # all boundaries of each, the nearest first


@njit(cache=True)
def new_bounds() -> Bounds:
    """Room for the boundaries on the way of a packet."""
    return Bounds(new_packet(), new_notes(MOST_EVENTS))


@njit(cache=True)
def new_branches(most: int) -> Branches:
    """Room for some branches."""
    return Branches(
        np.empty((most, NUMBERS)), np.zeros((most, IDS), np.int64), np.zeros(1, np.int64)
    )


@njit(**ACCESS)
def medium_of(branches: Branches, lane: int) -> int:
    """The row of the medium that a branch is in; row 0 fills the world."""
    around = branches.ids[lane, AROUND]
    return branches.ids[lane, MEDIA + around - 1] if around > 0 else 0


@njit(**ACCESS)
def enter(branches: Branches, place: int, owner: int, medium: int) -> None:
    """Take note that a branch is in a medium now."""
    around = branches.ids[place, AROUND]
    if around < NESTING:
        branches.ids[place, OWNERS + around] = owner
        branches.ids[place, MEDIA + around] = medium
        branches.ids[place, AROUND] = around + 1


@njit(**ACCESS)
def entry_of(branches: Branches, place: int, owner: int) -> int:
    """Where among the media around a branch is that of an owner, -1 if it is in none."""
    for k in range(branches.ids[place, AROUND] - 1, -1, -1):
        if branches.ids[place, OWNERS + k] == owner:
            return k
    return -1


@njit(**ACCESS)
def leave(branches: Branches, place: int, entry: int) -> None:
    """Take note that a branch is out of a medium."""
    around = branches.ids[place, AROUND] - 1
    for k in range(entry, around):
        branches.ids[place, OWNERS + k] = branches.ids[place, OWNERS + k + 1]
        branches.ids[place, MEDIA + k] = branches.ids[place, MEDIA + k + 1]
    branches.ids[place, AROUND] = around


@njit(**ACCESS)
def draw_ahead(
    task: Task, world: World, keys: NDArray[np.uint64], flight: Branches, lane: int, ray: int
) -> None:
    """Draw how far ahead the medium that was just entered answers."""
    medium = medium_at(world.media, medium_of(flight, lane))
    flight.numbers[lane, AHEAD] = math.inf
    if medium[RETURN_PROBABILITY] > 0.0:
        beam_ray = ray * task.subrays + flight.ids[lane, BEAM_RAY]
        step = (flight.ids[lane, PLACE] << EVENT_SHIFT) + flight.ids[lane, EVENTS]
        draw = uniform(keys[ECHO], task.frame, (beam_ray << NODE_SHIFT) + step)
        flight.numbers[lane, AHEAD] = echo_distance(medium, draw)


@njit(**ACCESS)
def intensity_of_echo(
    task: Task, world: World, weight: float, path: float, strength: float
) -> float:
    """The raw intensity of an echo in 1/sr."""
    back = weight if task.round_trip else 1.0
    return float(weight * back * strength * beam_factor(beam_of(world.beam), path))


@njit(**ACCESS)
def counts(task: Task, distance: float, intensity: float) -> bool:
    """Whether an echo is in range and, if it is not one of several of a beam, strong enough."""
    if not (task.least_range <= distance <= task.most_range and intensity > 0.0):
        return False
    return task.subrays > 1 or intensity >= task.least_intensity


@njit(**ACCESS)
def strength_of(
    surface: Surface, along: Triple, normal: Triple, cosine: float, index: float, cone: float
) -> float:
    """What a surface sends back, f(l, l) (n.l), in 1/sr."""
    tilt = cross(along, normal)
    f = retro(surface, cosine, min(dot(tilt, tilt), 1.0), index, cone)
    return f * cosine if cosine > GRAZING else 0.0


@njit(**ACCESS)
def mirrored_share(
    task: Task, surface: Surface, depth: int, weight: float, cosine: float, index: float
) -> float:
    """The share of light that goes on from an opaque surface, 0 if that is not worth following."""
    if depth >= task.most_depth or surface[KIND] == LAMBERT:
        return 0.0
    # The share of a perfect mirror of this roughness: cheap, and often too little.
    if weight * task.cone < task.least_weight * (surface[SLOPE_SQUARED] * cosine + task.cone):
        return 0.0
    share: float = specular_share(surface, cosine, index, task.cone)
    return share if weight * share >= task.least_weight else 0.0


@njit(**ACCESS)
def add_echo(
    task: Task,
    world: World,
    echoes: Echoes,
    ray_lane: int,
    distance: float,
    weight: float,
    reduced: float,
    strength: float,
    node: int,
) -> int:
    """Note an echo of a ray; returns its place, -1 if it does not count."""
    path = 2.0 * reduced if task.round_trip else reduced
    intensity = intensity_of_echo(task, world, weight, path, strength) / task.subrays
    if not counts(task, distance, intensity):
        return -1
    place: int = place_for(echoes, ray_lane, distance, intensity)
    if place >= 0:
        numbers, ids = echoes.numbers, echoes.ids
        numbers[ray_lane, place, RANGE] = distance
        numbers[ray_lane, place, INTENSITY] = intensity
        numbers[ray_lane, place, PATH] = path
        ids[ray_lane, place, NODE] = node
    return place


@njit(**ACCESS)
def describe_surface(
    view: SceneView,
    packet: Packet,
    lane: int,
    echoes: Echoes,
    ray_lane: int,
    place: int,
    toward: Triple,
    cosine: float,
) -> None:
    """Write what an echo comes from."""
    numbers, ids = echoes.numbers, echoes.ids
    numbers[ray_lane, place, COSINE] = cosine
    numbers[ray_lane, place, NORMAL_X] = toward[0]
    numbers[ray_lane, place, NORMAL_Y] = toward[1]
    numbers[ray_lane, place, NORMAL_Z] = toward[2]
    ids[ray_lane, place, ENTITY] = hit_entity(view, packet, lane)
    ids[ray_lane, place, MATERIAL] = hit_material(view, packet, lane)
    ids[ray_lane, place, LABEL] = hit_label(view, packet, lane)
    ids[ray_lane, place, ATMOSPHERIC] = 0


@njit(**ACCESS)
def describe_medium(echoes: Echoes, ray_lane: int, place: int) -> None:
    """Write that an echo comes from no surface."""
    numbers, ids = echoes.numbers, echoes.ids
    numbers[ray_lane, place, COSINE] = 1.0
    numbers[ray_lane, place, NORMAL_X] = 0.0
    numbers[ray_lane, place, NORMAL_Y] = 0.0
    numbers[ray_lane, place, NORMAL_Z] = 0.0
    ids[ray_lane, place, ENTITY] = -1
    ids[ray_lane, place, MATERIAL] = -1
    ids[ray_lane, place, LABEL] = -1
    ids[ray_lane, place, ATMOSPHERIC] = 1


@njit(**ACCESS)
def push(
    flight: Branches,
    lane: int,
    branches: Branches,
    along: Triple,
    off: Triple,
    share: float,
) -> int:
    """Put a branch on the stack that goes on from where one arrived; -1 if there is no room.

    ``flight`` holds the state on arrival; ``off`` leads away from the interface.
    """
    place: int = branches.held[0]
    if place >= len(branches.numbers):
        return -1
    branches.held[0] = place + 1
    for k in range(NUMBERS):
        branches.numbers[place, k] = flight.numbers[lane, k]
    for k in range(OWNERS + flight.ids[lane, AROUND]):
        branches.ids[place, k] = flight.ids[lane, k]
    for k in range(MEDIA, MEDIA + flight.ids[lane, AROUND]):
        branches.ids[place, k] = flight.ids[lane, k]
    for k in range(3):
        branches.numbers[place, START_X + k] += off[k]
        branches.numbers[place, ALONG_X + k] = along[k]
    branches.numbers[place, WEIGHT] *= share
    return place


@njit(**ACCESS)
def step_down(branches: Branches, place: int, side: int) -> None:
    """Make a branch that of a child in the heap: side 1 reflected, 2 transmitted."""
    branches.ids[place, PLACE] = 2 * branches.ids[place, PLACE] + side
    branches.ids[place, DEPTH] += 1


@njit(**ACCESS)
def scaled(vector: Triple, factor: float) -> Triple:
    """A vector times a number."""
    return factor * vector[0], factor * vector[1], factor * vector[2]


@njit(**ACCESS)
def with_index(surface: Surface, ior: float) -> Surface:
    """A surface with something else behind it."""
    return (
        surface[0],
        ior,
        surface[2],
        surface[3],
        surface[4],
        surface[5],
        surface[6],
        surface[7],
    )


@njit(**ACCESS)
def go_on(task: Task, flight: Branches, branches: Branches, away: float) -> None:
    """Send what is behind a surface straight on, as if there were no surface."""
    numbers = flight.numbers
    if flight.ids[BEHIND, EVENTS] < task.most_events:
        flight.ids[BEHIND, EVENTS] += 1
        along = (numbers[BEHIND, ALONG_X], numbers[BEHIND, ALONG_Y], numbers[BEHIND, ALONG_Z])
        push(flight, BEHIND, branches, along, scaled(along, away), 1.0)


@njit(**ACCESS)
def trace_bounds(view: SceneView, packet: Packet, bounds: Bounds, coherent: bool) -> None:
    """Find the boundaries of volumes on the way of a packet that was traced, to what it hits."""
    other = bounds.packet
    for k in range(ORIGIN, T_MAX):
        other.words[k] = packet.words[k]
    for lane in range(WIDTH):
        other.words[VALID + lane] = packet.words[VALID + lane]
        other.floats[T_MAX + lane] = packet.floats[T_MAX + lane]
        if is_hit(packet, lane):
            length = hit_distance(packet, lane)
            other.floats[T_MAX + lane] = length + as_near_as(packet, lane, length)
    trace_all_boundaries(view, other, coherent, bounds.notes)


@njit(**ACCESS)
def as_near_as(packet: Packet, lane: int, length: float) -> float:
    """What is no further than this from a surface lies at it, as far as float32 can tell."""
    return float(4.0 * max(off_surface(length), packet.floats[T_MIN + lane]))


@njit(**ACCESS)
def off_surface(length: float) -> float:
    """How far from a surface the branches start that leave it; a ray of some length hit it."""
    return 1e-6 * max(1.0, length)


@njit(**ACCESS)
def cross_boundary(
    view: SceneView,
    world: World,
    bounds: Bounds,
    lane: int,
    number: int,
    flight: Branches,
    row: int,
) -> None:
    """Take note in a row of ``flight`` that a boundary is crossed.

    Those that meet at an edge are crossed together, so who enters twice is in but once.
    """
    show_hit(bounds.packet, bounds.notes, lane, number)
    owner, numbers = hit_owner(bounds.packet, lane), flight.numbers
    entry = entry_of(flight, row, owner)
    along = (numbers[row, ALONG_X], numbers[row, ALONG_Y], numbers[row, ALONG_Z])
    outward = dot(along, hit_normal(view, bounds.packet, lane)) > 0.0
    if outward and entry >= 0:
        leave(flight, row, entry)
    elif not outward and entry < 0:
        enter(flight, row, owner, world.medium_of_volume[owner])


@njit(**ACCESS)
def pass_bounds(
    view: SceneView,
    bounds: Bounds,
    lane: int,
    task: Task,
    world: World,
    keys: NDArray[np.uint64],
    echoes: Echoes,
    flight: Branches,
    ray: int,
    end: float,
) -> tuple[float, int]:
    """Bring a ray through the boundaries on its way that lie before ``end``.

    Returns:
        How far it came, negative if it ends on the way, and how many boundaries those are.
    """
    done, number = 0.0, 0
    found = min(hits_found(bounds.packet, lane), MOST_EVENTS)
    while number < found:
        show_hit(bounds.packet, bounds.notes, lane, number)
        length = float(hit_distance(bounds.packet, lane))
        if length >= end:
            break
        if not advance(task, world, echoes, flight, lane, length - done):
            return -1.0, number
        if flight.ids[lane, EVENTS] >= task.most_events:
            return -1.0, number
        flight.ids[lane, EVENTS] += 1
        before = medium_of(flight, lane)
        cross_boundary(view, world, bounds, lane, number, flight, lane)
        if medium_of(flight, lane) != before:
            draw_ahead(task, world, keys, flight, lane, ray)
        done, number = length, number + 1
    return done, number


@njit(**ACCESS)
def look_behind(
    view: SceneView, world: World, bounds: Bounds, lane: int, flight: Branches, passed: int
) -> None:
    """Put the ray of a lane behind the boundaries at the surface it meets, in a row of its own."""
    for k in range(NUMBERS):
        flight.numbers[BEHIND, k] = flight.numbers[lane, k]
    for k in range(IDS):
        flight.ids[BEHIND, k] = flight.ids[lane, k]
    if view.volumes > 0:
        for number in range(passed, min(hits_found(bounds.packet, lane), MOST_EVENTS)):
            cross_boundary(view, world, bounds, lane, number, flight, BEHIND)
        if medium_of(flight, BEHIND) != medium_of(flight, lane):
            flight.numbers[BEHIND, AHEAD] = TO_DRAW


@njit(**ACCESS)
def meet_opaque(
    task: Task,
    flight: Branches,
    lane: int,
    branches: Branches,
    surface: Surface,
    along: Triple,
    toward: Triple,
    cosine: float,
    index: float,
    away: float,
) -> None:
    """Send the specular share on in the mirror direction."""
    weight, depth = flight.numbers[lane, WEIGHT], flight.ids[lane, DEPTH]
    share = mirrored_share(task, surface, depth, weight, cosine, index)
    if share > 0.0:
        twice = 2.0 * cosine
        mirrored = (
            along[0] + twice * toward[0],
            along[1] + twice * toward[1],
            along[2] + twice * toward[2],
        )
        place = push(flight, lane, branches, mirrored, scaled(toward, away), share)
        if place >= 0:
            step_down(branches, place, 1)


@njit(**ACCESS)
def meet_dielectric(
    task: Task,
    flight: Branches,
    lane: int,
    branches: Branches,
    along: Triple,
    toward: Triple,
    index: float,
    behind: float,
    away: float,
) -> None:
    """Split a ray at a clear interface."""
    if flight.ids[lane, DEPTH] >= task.most_depth:
        return
    weight = flight.numbers[lane, WEIGHT]
    back, mirrored, refracted = split(along, toward, index, behind)
    if back > 0.0 and weight * back >= task.least_weight:
        place = push(flight, lane, branches, mirrored, scaled(toward, away), back)
        if place >= 0:
            step_down(branches, place, 1)
    if back < 1.0 and weight * (1.0 - back) >= task.least_weight:
        place = push(flight, BEHIND, branches, refracted, scaled(toward, -away), 1.0 - back)
        if place >= 0:
            step_down(branches, place, 2)
            branches.numbers[place, AHEAD] = TO_DRAW


@njit(**ACCESS)
def answer_on_the_way(
    task: Task, world: World, echoes: Echoes, flight: Branches, lane: int, length: float
) -> None:
    """Note the echo of the medium if it comes from a stretch of some length."""
    numbers, ids = flight.numbers, flight.ids
    ahead = numbers[lane, AHEAD]
    if not ahead <= length:
        numbers[lane, AHEAD] = ahead - length
        return
    numbers[lane, AHEAD] = math.inf
    row = medium_of(flight, lane)
    index = world.media[row, MEDIUM_IOR]
    left = numbers[lane, WEIGHT] * transmission(world.media[row, ABSORPTION], ahead)
    distance, reduced = numbers[lane, OPTICAL] + index * ahead, numbers[lane, REDUCED]
    place = add_echo(
        task,
        world,
        echoes,
        ids[lane, LANE],
        distance,
        left,
        reduced + ahead / index,
        world.media[row, BACKSCATTER],
        ids[lane, PLACE],
    )
    if place >= 0:
        describe_medium(echoes, ids[lane, LANE], place)


@njit(**ACCESS)
def arrive_at_surface(
    view: SceneView,
    packet: Packet,
    bounds: Bounds,
    lane: int,
    task: Task,
    world: World,
    echoes: Echoes,
    flight: Branches,
    branches: Branches,
    length: float,
    passed: int,
) -> None:
    """Echo and branches of a ray that hits; ``flight`` has its state on arrival.

    ``passed`` is how many boundaries lie before the surface; those at it lie behind it.
    """
    numbers = flight.numbers
    along = (numbers[lane, ALONG_X], numbers[lane, ALONG_Y], numbers[lane, ALONG_Z])
    normal = hit_normal(view, packet, lane)
    facing = -dot(along, normal)
    away = off_surface(length)
    cosine = min(abs(facing), 1.0)
    toward = scaled(normal, 1.0 if facing >= 0.0 else -1.0)
    material, owner = hit_material(view, packet, lane), hit_owner(packet, lane)
    surface = surface_at(world.surfaces, material)
    index = world.media[medium_of(flight, lane), MEDIUM_IOR]
    clear, behind = surface[KIND] == DIELECTRIC, index
    if clear:
        look_behind(view, world, bounds, lane, flight, passed)
        entry = entry_of(flight, BEHIND, owner)
        if facing >= 0.0:
            inside = len(world.media) - len(world.surfaces) + material
            enter(flight, BEHIND, owner, inside)
        elif entry >= 0:
            leave(flight, BEHIND, entry)
        else:
            go_on(task, flight, branches, away)
            return
        behind = world.media[medium_of(flight, BEHIND), MEDIUM_IOR]
        surface = with_index(surface, behind)
    strength = strength_of(surface, along, normal, cosine, index, task.cone)
    at = flight.ids[lane, LANE]
    place = add_echo(
        task,
        world,
        echoes,
        at,
        numbers[lane, OPTICAL],
        numbers[lane, WEIGHT],
        numbers[lane, REDUCED],
        strength,
        flight.ids[lane, PLACE],
    )
    if place >= 0:
        describe_surface(view, packet, lane, echoes, at, place, toward, cosine)
    if clear:
        meet_dielectric(task, flight, lane, branches, along, toward, index, behind, away)
    else:
        meet_opaque(task, flight, lane, branches, surface, along, toward, cosine, index, away)


@njit(**ACCESS)
def advance(
    task: Task, world: World, echoes: Echoes, flight: Branches, lane: int, length: float
) -> bool:
    """Bring a ray some way on in its medium; False if that is out of reach."""
    numbers, row = flight.numbers, medium_of(flight, lane)
    index = world.media[row, MEDIUM_IOR]
    reach = (task.most_range - numbers[lane, OPTICAL]) / index
    if numbers[lane, AHEAD] < math.inf:
        answer_on_the_way(task, world, echoes, flight, lane, min(length, reach))
    if not (length <= reach and length < math.inf):
        return False
    numbers[lane, WEIGHT] *= transmission(world.media[row, ABSORPTION], length)
    numbers[lane, OPTICAL] += index * length
    numbers[lane, REDUCED] += length / index
    for k in range(3):
        numbers[lane, START_X + k] += length * numbers[lane, ALONG_X + k]
    return True


@njit(**{**ACCESS, "forceinline": False})
def arrive(
    view: SceneView,
    packet: Packet,
    bounds: Bounds,
    task: Task,
    world: World,
    keys: NDArray[np.uint64],
    echoes: Echoes,
    flight: Branches,
    branches: Branches,
    ray_of_lane: NDArray[np.int64],
) -> None:
    """What becomes of a packet that was traced. ``flight`` has what each lane set out with."""
    ids = flight.ids
    for lane in range(WIDTH):
        if not is_valid(packet, lane):
            continue
        length = float(hit_distance(packet, lane)) if is_hit(packet, lane) else math.inf
        done, passed = 0.0, 0
        if view.volumes > 0:
            ray = ray_of_lane[ids[lane, LANE]]
            end = length - as_near_as(packet, lane, length) if length < math.inf else length
            done, passed = pass_bounds(
                view, bounds, lane, task, world, keys, echoes, flight, ray, end
            )
        if done >= 0.0 and advance(task, world, echoes, flight, lane, length - done):
            arrive_at_surface(
                view, packet, bounds, lane, task, world, echoes, flight, branches, length, passed
            )


@njit(**ACCESS)
def take_off(
    view: SceneView,
    packet: Packet,
    task: Task,
    world: World,
    keys: NDArray[np.uint64],
    flight: Branches,
    branches: Branches,
    ray_of_lane: NDArray[np.int64],
) -> None:
    """Put the newest branches of the stack into a packet."""
    held = branches.held[0]
    count = min(held, WIDTH)
    branches.held[0] = held - count
    numbers, ids = flight.numbers, flight.ids
    for lane in range(WIDTH):
        if lane >= count:
            drop_ray(packet, lane)
            continue
        place = held - count + lane
        for k in range(NUMBERS):
            numbers[lane, k] = branches.numbers[place, k]
        for k in range(IDS):
            ids[lane, k] = branches.ids[place, k]
        if numbers[lane, AHEAD] < 0.0:
            draw_ahead(task, world, keys, flight, lane, ray_of_lane[ids[lane, LANE]])
        send(view, packet, lane, task, world, flight)


@njit(**ACCESS)
def farthest(view: SceneView, task: Task, world: World, row: int, optical: float) -> float:
    """How far to trace a ray in a medium: a little further than the limit of the range.

    In volumes it may come to a medium of a lower index than its own, but of none below 1.
    """
    index = world.media[row, MEDIUM_IOR]
    if view.volumes > 0:
        index = min(index, 1.0)
    return float(1.000001 * (task.most_range - optical) / index)


@njit(**ACCESS)
def send(
    view: SceneView, packet: Packet, lane: int, task: Task, world: World, flight: Branches
) -> None:
    """Put a ray in flight into a packet."""
    numbers = flight.numbers
    origin = (numbers[lane, START_X], numbers[lane, START_Y], numbers[lane, START_Z])
    along = (numbers[lane, ALONG_X], numbers[lane, ALONG_Y], numbers[lane, ALONG_Z])
    reach = farthest(view, task, world, medium_of(flight, lane), numbers[lane, OPTICAL])
    set_ray(view, packet, lane, origin, along, nearest_allowed(view, origin), reach)
