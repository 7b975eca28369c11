"""A lidar's rays, from the pattern to the points of the cloud, in one compiled pass.

Nothing of the size of a cloud is held between the steps: a packet of rays is made, traced,
followed down its tree (``ray_tree``), its returns are chosen (``returns``) and written as points
(``points``) before the next packet is made.

Most rays end at the first surface and have one echo. What comes of these is written at once,
by the same functions: going through the tables of branches and echoes would take them twice as
long. A ray takes that short way or the long one by what it meets itself, never by its neighbours.

Draws are functions of (term, frame, ray, return): the order of the rays, how many are made at a
time, threads and steps do not enter.

Source: AGX (lidar: ray manipulation, ray trace, point assembly); GYM (grid, frames).
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sensor_models.kernels.lidar.beams import (
    Lanes,
    begin_packet,
    new_lanes,
    send_beams,
    set_out,
)
from sensor_models.kernels.lidar.boundaries import (
    Bounds,
    new_bounds,
    trace_bounds,
)
from sensor_models.kernels.lidar.branches import (
    BEHIND,
    MOST_BRANCHES,
    Branches,
    new_branches,
)
from sensor_models.kernels.lidar.echoes import (
    answers,
    counts,
    mirrored_share,
)
from sensor_models.kernels.lidar.first_hits import (
    FirstHits,
    answer,
    face,
    look_up,
    new_first_hits,
)
from sensor_models.kernels.lidar.layout import (
    CHUNK,
    Cloud,
    Floats,
    Rays,
    Task,
    World,
    corner_of,
    packets_of,
)
from sensor_models.kernels.lidar.points import (
    draw_of,
    has_distance_noise,
    measured,
    note_nearest,
    reported,
    write_point,
    write_source,
)
from sensor_models.kernels.lidar.ray_tree import (
    arrive,
    take_off,
)
from sensor_models.kernels.lidar.returns import (
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
from sensor_models.kernels.light.media import (
    MEDIUM_IOR,
)
from sensor_models.kernels.light.surfaces import DIELECTRIC, KIND, surface_at
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.hits import (
    hit_entity,
    hit_label,
)
from sensor_models.kernels.tracing.packets import ACCESS, Packet, drop_ray, new_packet
from sensor_models.kernels.tracing.rays import (
    claim,
    trace_surfaces,
)
from sensor_models.kernels.tracing.scene_view import SceneView

#: Rays whose trees are walked together, so that branches fill whole packets.
MOST_WAITING = 8 * WIDTH


class Waiting(NamedTuple):
    """Rays whose trees are under way."""

    held: NDArray[np.int64]  # (1,): how many there are
    ray: NDArray[np.int64]  # (MOST_WAITING,)
    pose: Floats  # (MOST_WAITING, 12), of the sensor
    draw: Floats  # (MOST_WAITING,), of the error of a ray's first return
    chunk: NDArray[np.int64]  # (MOST_WAITING,), that the ray was claimed with


@njit(cache=True)
def new_waiting() -> Waiting:
    """Room for rays whose trees are under way."""
    return Waiting(
        np.zeros(1, np.int64),
        np.zeros(MOST_WAITING, np.int64),
        np.zeros((MOST_WAITING, 12)),
        np.zeros(MOST_WAITING),
        np.zeros(MOST_WAITING, np.int64),
    )


@njit(**ACCESS)
def trace_packet(view: SceneView, packet: Packet, bounds: Bounds, coherent: bool) -> None:
    """The nearest surface along each ray of a packet, and the boundaries on the way to it."""
    trace_surfaces(view, packet, coherent)
    if view.volumes > 0:
        trace_bounds(view, packet, bounds, coherent)


@njit(**ACCESS)
def may_end_soon(view: SceneView, task: Task) -> bool:
    """Whether rays may have but the echo of the first surface: no volumes, and each is a beam."""
    alone: bool = task.subrays == 1 and task.detection >= 1.0
    return view.volumes == 0 and alone


@njit(**ACCESS)
def end_soon(
    view: SceneView,
    packet: Packet,
    lane: int,
    task: Task,
    rays: Rays,
    world: World,
    keys: NDArray[np.uint64],
    lanes: Lanes,
    first: FirstHits,
    cloud: Cloud,
    chunk: int,
) -> bool:
    """Finish a ray at the first surface; False if it goes on from there, or air answers it."""
    ray = lanes.ray[lane]
    if answers(task, world, keys, ray):
        return False
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
def wait(lanes: Lanes, lane: int, waiting: Waiting, echoes: Echoes, chunk: int) -> None:
    """Put a ray among those whose trees are under way."""
    place = waiting.held[0]
    waiting.held[0] = place + 1
    lanes.place[lane], echoes.held[place] = place, 0
    waiting.ray[place], waiting.draw[place] = lanes.ray[lane], lanes.draw[lane]
    waiting.chunk[place] = chunk
    for k in range(12):
        waiting.pose[place, k] = lanes.pose[lane, k]


@njit(**{**ACCESS, "forceinline": False})
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
        trace_packet(view, packet, bounds, True)
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
        note_nearest(cloud, waiting.chunk[lane], distance, ray * task.returns + number)


@njit(**{**ACCESS, "forceinline": False})
def end_all(
    view: SceneView,
    packet: Packet,
    bounds: Bounds,
    task: Task,
    rays: Rays,
    world: World,
    keys: NDArray[np.uint64],
    echoes: Echoes,
    flight: Branches,
    branches: Branches,
    waiting: Waiting,
    cloud: Cloud,
) -> None:
    """Follow all branches that are left, and finish the rays that wait."""
    walk(view, packet, bounds, task, world, keys, echoes, flight, branches, waiting, 1)
    for place in range(waiting.held[0]):
        end(task, rays, world, keys, echoes, waiting, place, cloud)
    waiting.held[0] = 0


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
    packet, bounds, lanes, hits = new_packet(), new_bounds(), new_lanes(rays), new_first_hits()
    echoes, waiting = new_echoes(MOST_WAITING), new_waiting()
    flight, branches = new_branches(BEHIND + 1), new_branches(MOST_BRANCHES)
    packets, soon = packets_of(task), may_end_soon(view, task)
    # One beam's rays make room for those of the next, so none may be left.
    least = 1 if task.subrays > 1 else WIDTH
    chunk = claim(claims)
    while chunk * CHUNK < packets:
        cloud.nearest[chunk, 0] = math.inf
        for index in range(chunk * CHUNK, min((chunk + 1) * CHUNK, packets)):
            begin_packet(task, rays, keys, lanes, corner_of(task, index))
            for beam_ray in range(task.subrays):
                send_beams(view, packet, task, rays, world, keys, lanes, beam_ray)
                trace_packet(view, packet, bounds, True)
                goes_on = False
                if soon:
                    look_up(view, packet, lanes, hits)
                    face(view, packet, lanes, hits)
                    answer(task, world, lanes, hits)
                for lane in range(WIDTH):
                    if lanes.ray[lane] < 0:
                        continue
                    if soon and end_soon(
                        view, packet, lane, task, rays, world, keys, lanes, hits, cloud, chunk
                    ):
                        drop_ray(packet, lane)
                        continue
                    goes_on = True
                    if beam_ray == 0:
                        wait(lanes, lane, waiting, echoes, chunk)
                    set_out(task, rays, world, keys, flight, lanes, lane, beam_ray)
                if goes_on:
                    ray = waiting.ray
                    arrive(view, packet, bounds, task, world, keys, echoes, flight, branches, ray)
                if branches.held[0] >= least:
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
            if waiting.held[0] > MOST_WAITING - WIDTH:
                end_all(
                    view,
                    packet,
                    bounds,
                    task,
                    rays,
                    world,
                    keys,
                    echoes,
                    flight,
                    branches,
                    waiting,
                    cloud,
                )
        chunk = claim(claims)
    end_all(view, packet, bounds, task, rays, world, keys, echoes, flight, branches, waiting, cloud)
