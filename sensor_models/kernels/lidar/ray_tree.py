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
wherever it is. Each medium that is entered may answer once (``light.media``). An exit from what
was never entered (an open mesh) is ignored: the ray goes on as if there were nothing.

Source: AGX (lidar, ray trace and intensity), corrected: geometric, optical and reduced path are
told apart, both ways are weighted, the specular share is bounded. Dielectrics are an extension.
Not modelled: polarisation, light that comes back another way than it went, diffuse bounces.
"""

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sensor_models.kernels.lidar.boundaries import (
    Bounds,
    as_near_as,
    look_behind,
    off_surface,
    pass_bounds,
)
from sensor_models.kernels.lidar.branches import (
    AHEAD,
    ALONG_X,
    ALONG_Y,
    ALONG_Z,
    BEHIND,
    DEPTH,
    EVENTS,
    IDS,
    LANE,
    NUMBERS,
    OPTICAL,
    PLACE,
    REDUCED,
    START_X,
    START_Y,
    START_Z,
    TIME,
    TO_DRAW,
    WEIGHT,
    Branches,
    enter,
    entry_of,
    leave,
    medium_of,
    push,
    step_down,
)
from sensor_models.kernels.lidar.echoes import (
    add_echo,
    advance,
    describe_surface,
    draw_ahead,
    mirrored_share,
    strength_of,
)
from sensor_models.kernels.lidar.layout import Task, World
from sensor_models.kernels.lidar.returns import (
    Echoes,
)
from sensor_models.kernels.light.fresnel import split
from sensor_models.kernels.light.media import (
    MEDIUM_IOR,
)
from sensor_models.kernels.light.surfaces import (
    DIELECTRIC,
    KIND,
    Surface,
    surface_at,
)
from sensor_models.kernels.math.rotations import dot, times
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.hits import (
    hit_distance,
    hit_material,
    hit_normal,
    hit_owner,
    is_hit,
)
from sensor_models.kernels.tracing.packets import (
    ACCESS,
    Packet,
    Triple,
    drop_ray,
    is_valid,
)
from sensor_models.kernels.tracing.rays import (
    nearest_allowed,
    set_ray,
)
from sensor_models.kernels.tracing.scene_view import SceneView


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
        push(flight, BEHIND, branches, along, times(away, along), 1.0)


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
        place = push(flight, lane, branches, mirrored, times(away, toward), share)
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
        place = push(flight, lane, branches, mirrored, times(away, toward), back)
        if place >= 0:
            step_down(branches, place, 1)
    if back < 1.0 and weight * (1.0 - back) >= task.least_weight:
        place = push(flight, BEHIND, branches, refracted, times(-away, toward), 1.0 - back)
        if place >= 0:
            step_down(branches, place, 2)
            branches.numbers[place, AHEAD] = TO_DRAW


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
    toward = times(1.0 if facing >= 0.0 else -1.0, normal)
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
    set_ray(
        view, packet, lane, origin, along, nearest_allowed(view, origin), reach, numbers[lane, TIME]
    )
