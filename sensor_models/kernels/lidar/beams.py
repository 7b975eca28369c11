"""Beams of a lidar as they leave it: which rays a packet has, where they start and go.

Jitter: azimuth and elevation of a ray are off by normal draws; its point is written where the
sensor believes it to be, at the nominal angles. A divided beam has several rays, some small
angles off its axis.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sensor_models.kernels.lidar.branches import (
    ALONG_X,
    AROUND,
    BEAM_RAY,
    DEPTH,
    EVENTS,
    LANE,
    MEDIA,
    NESTING,
    OPTICAL,
    OWNERS,
    PLACE,
    REDUCED,
    START_X,
    TIME,
    WEIGHT,
    Branches,
)
from sensor_models.kernels.lidar.echoes import (
    draw_ahead,
)
from sensor_models.kernels.lidar.layout import (
    AZIMUTH,
    ELEVATION,
    TILE_ROWS,
    TILE_SHIFT,
    Floats,
    Rays,
    Task,
    World,
    knot_of,
    put_pose,
    ray_of,
)
from sensor_models.kernels.lidar.points import (
    block_of,
    draws_of_block,
    has_distance_noise,
)
from sensor_models.kernels.lidar.ray_tree import (
    farthest,
)
from sensor_models.kernels.math.philox import normal
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.packets import ACCESS, Packet, Triple, drop_ray
from sensor_models.kernels.tracing.rays import (
    nearest_allowed,
    set_ray,
)
from sensor_models.kernels.tracing.scene_view import SceneView
from sensor_models.kernels.tracing.sensor_poses import position_of, rotate


class Lanes(NamedTuple):
    """The rays of a packet."""

    ray: NDArray[np.int64]  # (WIDTH,), -1 for none
    pose: Floats  # (WIDTH, 12), of the sensor
    along: Floats  # (WIDTH, 3), in the world
    draw: Floats  # (WIDTH,), of the error of a ray's first return
    place: NDArray[np.int64]  # (WIDTH,): among those that wait


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
        set_ray(view, packet, lane, origin, along, t_min, reach, rays.offset[ray])


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
    numbers[lane, TIME] = rays.offset[lanes.ray[lane]]
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
