"""A lidar's rays, from the pattern to the points of the cloud, in one compiled pass.

Nothing of the size of a cloud is held between the steps: a packet of rays is made, traced,
followed down its tree (``ray_tree``), its returns are chosen (``returns``) and written as points
(``points``) before the next packet is made.

Most rays end at the first surface and have one echo. What comes of these is written at once,
by the same functions: going through the tables of branches and echoes would take them twice as
long. A ray takes that short way or the long one by what it meets itself, never by its neighbours.
Each step of the short way is a loop over the packet: one ray after the other, all steps of each,
a processor would mostly wait for divisions and roots of one ray before it begins with the next.

Jitter: azimuth and elevation of a ray are off by normal draws; its point is written where the
sensor believes it to be, at the nominal angles. Draws are functions of (term, frame, ray,
return): the order of the rays, how many are made at a time, threads and steps do not enter.

Source: AGX (lidar: ray manipulation, ray trace, point assembly); GYM (grid, frames).
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
    is_hit,
)
from sensor_models.kernels.lidar_layout import (
    AZIMUTH,
    CHUNK,
    ELEVATION,
    TILE_ROWS,
    TILE_SHIFT,
    Cloud,
    Floats,
    Rays,
    Task,
    World,
    corner_of,
    knot_of,
    packets_of,
    put_pose,
    ray_of,
)
from sensor_models.kernels.optics.media import (
    ABSORPTION,
    MEDIUM_IOR,
    RETURN_PROBABILITY,
    transmission,
)
from sensor_models.kernels.optics.surfaces import DIELECTRIC, KIND, surface_at
from sensor_models.kernels.packets import ACCESS, Packet, Triple, drop_ray, new_packet
from sensor_models.kernels.philox import normal
from sensor_models.kernels.points import (
    block_of,
    draw_of,
    draws_of_block,
    has_distance_noise,
    measured,
    note_nearest,
    reported,
    write_point,
    write_source,
)
from sensor_models.kernels.poses import position_of, rotate
from sensor_models.kernels.ray_tree import (
    ALONG_X,
    AROUND,
    BEAM_RAY,
    BEHIND,
    DEPTH,
    EVENTS,
    LANE,
    MEDIA,
    MOST_BRANCHES,
    NESTING,
    OPTICAL,
    OWNERS,
    PLACE,
    REDUCED,
    START_X,
    WEIGHT,
    Bounds,
    Branches,
    arrive,
    counts,
    draw_ahead,
    farthest,
    intensity_of_echo,
    mirrored_share,
    new_bounds,
    new_branches,
    scaled,
    strength_of,
    take_off,
    trace_bounds,
)
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
    make_room,
    new_echoes,
    select,
)
from sensor_models.kernels.rotations import dot
from sensor_models.kernels.scene_view import SceneView
from sensor_models.kernels.tracing import (
    claim,
    nearest_allowed,
    set_ray,
    trace_surfaces,
)

#: Rays whose trees are walked together, so that branches fill whole packets.
MOST_WAITING = 8 * WIDTH


class Lanes(NamedTuple):
    """The rays of a packet."""

    ray: NDArray[np.int64]  # (WIDTH,), -1 for none
    pose: Floats  # (WIDTH, 12), of the sensor
    along: Floats  # (WIDTH, 3), in the world
    draw: Floats  # (WIDTH,), of the error of a ray's first return
    place: NDArray[np.int64]  # (WIDTH,): among those that wait


class Waiting(NamedTuple):
    """Rays whose trees are under way."""

    held: NDArray[np.int64]  # (1,): how many there are
    ray: NDArray[np.int64]  # (MOST_WAITING,)
    pose: Floats  # (MOST_WAITING, 12), of the sensor
    draw: Floats  # (MOST_WAITING,), of the error of a ray's first return


@njit(cache=True)
def new_waiting() -> Waiting:
    """Room for rays whose trees are under way."""
    return Waiting(
        np.zeros(1, np.int64),
        np.zeros(MOST_WAITING, np.int64),
        np.zeros((MOST_WAITING, 12)),
        np.zeros(MOST_WAITING),
    )


class FirstHits(NamedTuple):
    """What the rays of a packet hit first, and the echoes of it; for rays that hit."""

    hit: NDArray[np.bool_]  # (WIDTH,), like all others
    material: NDArray[np.int64]
    length: Floats
    cosine: Floats
    toward: Floats  # (WIDTH, 3), the normal on the side of the sensor
    weight: Floats  # of the light that arrives
    path: Floats  # that the beam has widened over when it is back
    intensity: Floats


@njit(cache=True)
def new_first_hits() -> FirstHits:
    """Room for the hits of a packet."""
    return FirstHits(
        np.zeros(WIDTH, np.bool_),
        np.zeros(WIDTH, np.int64),
        np.zeros(WIDTH),
        np.zeros(WIDTH),
        np.zeros((WIDTH, 3)),
        np.zeros(WIDTH),
        np.zeros(WIDTH),
        np.zeros(WIDTH),
    )


@njit(cache=True)
def new_lanes(rays: Rays) -> Lanes:
    """Room for the rays of a packet."""
    lanes = Lanes(
        np.empty(WIDTH, np.int64),
        np.empty((WIDTH, 12)),
        np.empty((WIDTH, 3)),
        np.zeros(WIDTH),
        np.zeros(WIDTH, np.int64),
    )
    for lane in range(WIDTH):
        put_pose(rays, 0, lanes.pose[lane])
    return lanes


@njit(**ACCESS)
def trace_packet(view: SceneView, packet: Packet, bounds: Bounds, coherent: bool) -> None:
    """The nearest surface along each ray of a packet, and the boundaries on the way to it."""
    trace_surfaces(view, packet, coherent)
    if view.volumes > 0:
        trace_bounds(view, packet, bounds, coherent)


@njit(**ACCESS)
def nominal(rays: Rays, ray: int) -> Triple:
    """The direction of a ray in the sensor frame, as the sensor believes it to be."""
    return rays.directions[ray, 0], rays.directions[ray, 1], rays.directions[ray, 2]


@njit(**ACCESS)
def jittered(task: Task, rays: Rays, keys: NDArray[np.uint64], ray: int) -> Triple:
    """The direction that a ray really has in the sensor frame."""
    azimuth, elevation = float(rays.azimuth[ray]), float(rays.elevation[ray])
    if task.sigma_azimuth > 0.0:
        azimuth += task.sigma_azimuth * normal(keys[AZIMUTH], task.frame, ray)
    if task.sigma_elevation > 0.0:
        elevation += task.sigma_elevation * normal(keys[ELEVATION], task.frame, ray)
    level = math.cos(elevation)
    return level * math.cos(azimuth), level * math.sin(azimuth), math.sin(elevation)


@njit(**ACCESS)
def off_axis(middle: Triple, left: float, up: float) -> Triple:
    """The direction that lies some small angles off another one."""
    x, y, z = middle
    level = math.sqrt(x * x + y * y)
    a, b = (-y / level, x / level) if level > 1e-9 else (0.0, 1.0)
    # up = middle x left
    along = (
        x + left * a - up * z * b,
        y + left * b + up * z * a,
        z + up * (x * b - y * a),
    )
    scale = 1.0 / math.sqrt(1.0 + left * left + up * up)
    return scale * along[0], scale * along[1], scale * along[2]


@njit(**ACCESS)
def begin_packet(
    task: Task, rays: Rays, keys: NDArray[np.uint64], lanes: Lanes, corner: tuple[int, int]
) -> None:
    """Say which rays a packet has, from where they are sent, and draw their errors."""
    for lane in range(WIDTH):
        lanes.ray[lane] = ray_of(task, corner, lane)
    if len(rays.poses) > 1:
        for lane in range(WIDTH):
            if lanes.ray[lane] >= 0:
                put_pose(rays, lanes.ray[lane], lanes.pose[lane])
    if has_distance_noise(task):
        draw_errors(task, keys, lanes, corner)


@njit(**ACCESS)
def draw_errors(
    task: Task, keys: NDArray[np.uint64], lanes: Lanes, corner: tuple[int, int]
) -> None:
    """Draw the errors of the first returns of all rays of a packet, block by block."""
    row, column = corner
    if task.rows == 1:
        for first in range(column & ~3, column + WIDTH, 4):
            draws = draws_of_block(task, keys, first >> 2, 0)
            for k in range(4):
                if 0 <= first + k - column < WIDTH:
                    lanes.draw[first + k - column] = draws[k]
        return
    across = 1 << TILE_SHIFT
    for first in range(column & ~1, column + across, 2):
        for down in range(0, TILE_ROWS, 2):
            draws = draws_of_block(task, keys, block_of(task, first, row + down), 0)
            for k in range(4):
                side = first + (k >> 1) - column
                if 0 <= side < across:
                    lanes.draw[((down + (k & 1)) << TILE_SHIFT) + side] = draws[k]


@njit(**ACCESS)
def send_beams(
    view: SceneView,
    packet: Packet,
    task: Task,
    rays: Rays,
    world: World,
    keys: NDArray[np.uint64],
    lanes: Lanes,
    beam_ray: int,
) -> None:
    """Send one ray of the beam of each lane."""
    jitters = task.sigma_azimuth > 0.0 or task.sigma_elevation > 0.0
    reach = farthest(view, task, world, 0, 0.0)
    moves = len(rays.poses) > 1
    t_min = nearest_allowed(view, position_of(lanes.pose[0]))
    for lane in range(WIDTH):
        ray = lanes.ray[lane]
        if ray < 0:
            drop_ray(packet, lane)
            continue
        along = jittered(task, rays, keys, ray) if jitters else nominal(rays, ray)
        if task.subrays > 1:
            along = off_axis(along, rays.spread[beam_ray, 0], rays.spread[beam_ray, 1])
        pose = lanes.pose[lane]
        along = rotate(pose, along)
        for k in range(3):
            lanes.along[lane, k] = along[k]
        origin = position_of(pose)
        if moves:
            t_min = nearest_allowed(view, origin)
        set_ray(view, packet, lane, origin, along, t_min, reach)


@njit(**ACCESS)
def set_out(
    task: Task,
    rays: Rays,
    world: World,
    keys: NDArray[np.uint64],
    flight: Branches,
    lanes: Lanes,
    lane: int,
    beam_ray: int,
) -> None:
    """Begin the tree of a ray that was sent."""
    numbers, ids = flight.numbers, flight.ids
    for k in range(3):
        numbers[lane, START_X + k] = lanes.pose[lane, 9 + k]
        numbers[lane, ALONG_X + k] = lanes.along[lane, k]
    numbers[lane, WEIGHT] = 1.0
    numbers[lane, OPTICAL] = numbers[lane, REDUCED] = 0.0
    ids[lane, LANE], ids[lane, BEAM_RAY] = lanes.place[lane], beam_ray
    ids[lane, PLACE] = ids[lane, DEPTH] = ids[lane, EVENTS] = ids[lane, AROUND] = 0
    if rays.inside.shape[1] > 0:
        start_inside(rays, world, flight, lane, knot_of(rays, lanes.ray[lane]))
    draw_ahead(task, world, keys, flight, lane, lanes.ray[lane])


@njit(**ACCESS)
def start_inside(rays: Rays, world: World, flight: Branches, lane: int, knot: int) -> None:
    """Take note of the volumes that a ray starts in."""
    around = 0
    while around < min(rays.inside.shape[1], NESTING) and rays.inside[knot, around] >= 0:
        volume = rays.inside[knot, around]
        flight.ids[lane, OWNERS + around] = volume
        flight.ids[lane, MEDIA + around] = world.medium_of_volume[volume]
        around += 1
    flight.ids[lane, AROUND] = around


@njit(**ACCESS)
def may_end_soon(view: SceneView, task: Task, world: World) -> bool:
    """Whether rays may have but the echo of the first surface: no media answer, none are apart."""
    alone = task.subrays == 1 and task.detection >= 1.0
    return view.volumes == 0 and alone and world.media[0, RETURN_PROBABILITY] == 0.0


@njit(**ACCESS)
def look_up(view: SceneView, packet: Packet, lanes: Lanes, first: FirstHits) -> None:
    """What the rays of a packet hit first, and how far away."""
    for lane in range(WIDTH):
        first.hit[lane] = (lanes.ray[lane] >= 0) & is_hit(packet, lane)
    for lane in range(WIDTH):
        if first.hit[lane]:
            first.material[lane] = hit_material(view, packet, lane)
            first.length[lane] = hit_distance(packet, lane)


@njit(**ACCESS)
def face(view: SceneView, packet: Packet, lanes: Lanes, first: FirstHits) -> None:
    """How the surfaces lie that were hit."""
    for lane in range(WIDTH):
        if first.hit[lane]:
            along = (lanes.along[lane, 0], lanes.along[lane, 1], lanes.along[lane, 2])
            outward = hit_normal(view, packet, lane)
            facing = -dot(along, outward)
            first.cosine[lane] = min(abs(facing), 1.0)
            toward = scaled(outward, 1.0 if facing >= 0.0 else -1.0)
            for k in range(3):
                first.toward[lane, k] = toward[k]


@njit(**ACCESS)
def answer(task: Task, world: World, lanes: Lanes, first: FirstHits) -> None:
    """How strong the echoes of opaque surfaces are."""
    index, absorption = world.media[0, MEDIUM_IOR], world.media[0, ABSORPTION]
    ways = (2.0 if task.round_trip else 1.0) / index
    for lane in range(WIDTH):
        if first.hit[lane]:
            first.weight[lane] = transmission(absorption, first.length[lane])
    for lane in range(WIDTH):
        if first.hit[lane]:
            along = (lanes.along[lane, 0], lanes.along[lane, 1], lanes.along[lane, 2])
            toward = (first.toward[lane, 0], first.toward[lane, 1], first.toward[lane, 2])
            surface = surface_at(world.surfaces, first.material[lane])
            cosine = first.cosine[lane]
            first.intensity[lane] = strength_of(surface, along, toward, cosine, index, task.cone)
    for lane in range(WIDTH):
        if first.hit[lane]:
            path, strength = ways * first.length[lane], first.intensity[lane]
            weight = first.weight[lane]
            first.path[lane] = path
            first.intensity[lane] = intensity_of_echo(task, world, weight, path, strength)


@njit(**ACCESS)
def end_soon(
    view: SceneView,
    packet: Packet,
    lane: int,
    task: Task,
    rays: Rays,
    world: World,
    lanes: Lanes,
    first: FirstHits,
    cloud: Cloud,
    chunk: int,
) -> bool:
    """Finish a ray at the first surface; False if it goes on from there."""
    ray = lanes.ray[lane]
    if not first.hit[lane]:
        cloud.counts[ray] = 0
        return True
    material, cosine = first.material[lane], first.cosine[lane]
    surface, index = surface_at(world.surfaces, material), world.media[0, MEDIUM_IOR]
    if surface[KIND] == DIELECTRIC:
        return False
    if mirrored_share(task, surface, 0, first.weight[lane], cosine, index) > 0.0:
        return False
    distance, intensity = index * first.length[lane], first.intensity[lane]
    if not counts(task, distance, intensity):
        cloud.counts[ray] = 0
        return True
    cloud.counts[ray] = 1
    distance = measured(task, distance, lanes.draw[lane])
    intensity = reported(task, world, intensity, first.path[lane])
    toward = (first.toward[lane, 0], first.toward[lane, 1], first.toward[lane, 2])
    pose = lanes.pose[lane]
    write_point(task, rays, cloud, ray, 0, pose, distance, intensity, cosine, toward)
    entity, label = hit_entity(view, packet, lane), hit_label(view, packet, lane)
    write_source(cloud, ray, 0, entity, material, label, 0, 0)
    cloud.points[ray, 0].return_count = np.uint8(1)
    note_nearest(cloud, chunk, distance, ray * task.returns)
    return True


@njit(**ACCESS)
def wait(lanes: Lanes, lane: int, waiting: Waiting, echoes: Echoes) -> None:
    """Put a ray among those whose trees are under way."""
    place = waiting.held[0]
    waiting.held[0] = place + 1
    lanes.place[lane], echoes.held[place] = place, 0
    waiting.ray[place], waiting.draw[place] = lanes.ray[lane], lanes.draw[lane]
    for k in range(12):
        waiting.pose[place, k] = lanes.pose[lane, k]


@njit(**ACCESS)
def walk(
    view: SceneView,
    packet: Packet,
    bounds: Bounds,
    task: Task,
    world: World,
    keys: NDArray[np.uint64],
    echoes: Echoes,
    flight: Branches,
    branches: Branches,
    waiting: Waiting,
    least: int,
) -> None:
    """Follow branches until less than some are left."""
    while branches.held[0] >= least:
        take_off(view, packet, task, world, keys, flight, branches, waiting.ray)
        trace_packet(view, packet, bounds, False)
        arrive(view, packet, bounds, task, world, keys, echoes, flight, branches, waiting.ray)


@njit(**ACCESS)
def end(
    task: Task,
    rays: Rays,
    world: World,
    keys: NDArray[np.uint64],
    echoes: Echoes,
    waiting: Waiting,
    lane: int,
    cloud: Cloud,
    chunk: int,
) -> None:
    """Choose and write the returns of a ray."""
    ray, pose = waiting.ray[lane], waiting.pose[lane]
    numbers, ids = echoes.numbers, echoes.ids
    count = select(task, echoes, keys, lane, ray)
    cloud.counts[ray] = count
    for number in range(count):
        echo = echoes.chosen[number]
        draw = waiting.draw[lane]
        if number > 0 and has_distance_noise(task):
            draw = draw_of(task, keys, ray, number)
        distance = measured(task, numbers[lane, echo, RANGE], draw)
        path = numbers[lane, echo, PATH]
        intensity = reported(task, world, numbers[lane, echo, INTENSITY], path)
        toward = (
            numbers[lane, echo, NORMAL_X],
            numbers[lane, echo, NORMAL_Y],
            numbers[lane, echo, NORMAL_Z],
        )
        cosine = numbers[lane, echo, COSINE]
        write_point(task, rays, cloud, ray, number, pose, distance, intensity, cosine, toward)
        write_source(
            cloud,
            ray,
            number,
            ids[lane, echo, ENTITY],
            ids[lane, echo, MATERIAL],
            ids[lane, echo, LABEL],
            ids[lane, echo, NODE],
            ids[lane, echo, ATMOSPHERIC],
        )
        cloud.points[ray, number].return_count = np.uint8(count)
        note_nearest(cloud, chunk, distance, ray * task.returns + number)


@njit(nogil=True, cache=True, error_model="numpy")
def scan(
    view: SceneView,
    claims: NDArray[np.int64],
    task: Task,
    rays: Rays,
    world: World,
    keys: NDArray[np.uint64],
    cloud: Cloud,
) -> None:
    """The columns ``first`` to ``last`` of a frame."""
    packet, bounds, lanes, first = new_packet(), new_bounds(), new_lanes(rays), new_first_hits()
    echoes, waiting = new_echoes(MOST_WAITING), new_waiting()
    flight, branches = new_branches(BEHIND + 1), new_branches(MOST_BRANCHES)
    packets, soon = packets_of(task), may_end_soon(view, task, world)
    chunk = claim(claims)
    while chunk * CHUNK < packets:
        cloud.nearest[chunk, 0] = math.inf
        last = min((chunk + 1) * CHUNK, packets) - 1
        for index in range(chunk * CHUNK, last + 1):
            begin_packet(task, rays, keys, lanes, corner_of(task, index))
            for beam_ray in range(task.subrays):
                send_beams(view, packet, task, rays, world, keys, lanes, beam_ray)
                trace_packet(view, packet, bounds, True)
                goes_on = False
                if soon:
                    look_up(view, packet, lanes, first)
                    face(view, packet, lanes, first)
                    answer(task, world, lanes, first)
                for lane in range(WIDTH):
                    if lanes.ray[lane] < 0:
                        continue
                    if soon and end_soon(
                        view, packet, lane, task, rays, world, lanes, first, cloud, chunk
                    ):
                        drop_ray(packet, lane)
                        continue
                    goes_on = True
                    if beam_ray == 0:
                        wait(lanes, lane, waiting, echoes)
                    set_out(task, rays, world, keys, flight, lanes, lane, beam_ray)
                if goes_on:
                    arrive(
                        view,
                        packet,
                        bounds,
                        task,
                        world,
                        keys,
                        echoes,
                        flight,
                        branches,
                        waiting.ray,
                    )
                # One beam's rays make room for those of the next, so none may be left.
                least = 1 if task.subrays > 1 else WIDTH
                walk(
                    view,
                    packet,
                    bounds,
                    task,
                    world,
                    keys,
                    echoes,
                    flight,
                    branches,
                    waiting,
                    least,
                )
                if task.subrays > 1:
                    for lane in range(WIDTH):
                        if lanes.ray[lane] >= 0:
                            make_room(task, echoes, lanes.place[lane])
            if index == last or waiting.held[0] > MOST_WAITING - WIDTH:
                walk(view, packet, bounds, task, world, keys, echoes, flight, branches, waiting, 1)
                for place in range(waiting.held[0]):
                    end(task, rays, world, keys, echoes, waiting, place, cloud, chunk)
                waiting.held[0] = 0
        chunk = claim(claims)
