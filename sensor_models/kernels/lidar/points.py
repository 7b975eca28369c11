"""Returns as points of a cloud: ranges with their errors, places, intensities as reported.

    distance   d' = max(0, d + (base + slope d) n),  then  d' <- step round(d' / step)
    point      d' times the nominal unit ray, in the frame asked for
    intensity  I, or the reflectance pi I / A that a white plate face to face would have at that
               range through clear air; as it is, or min(round(N I / full scale), N) with
               N = 2^bits - 1

The normal draw n is a function of (frame, ray, return). The rays of two rows and two columns
share a block of random words, one each, as a block takes longer than all else of a draw.

Source: AGX (lidar: distance noise, point placement). Range steps and calibrated intensities are
extensions, after what makers state.
"""

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sensor_models.kernels.lidar.layout import (
    DISTANCE,
    START,
    WORLD,
    Cloud,
    Floats,
    Rays,
    Task,
    World,
)
from sensor_models.kernels.light.beam import beam_factor, beam_of
from sensor_models.kernels.math.philox import normals
from sensor_models.kernels.tracing.packets import ACCESS, Triple
from sensor_models.kernels.tracing.sensor_poses import position_of, rotate, rotate_back

#: Binary logarithm of the returns that a ray may have, as draws are counted.
RETURN_SHIFT = 4


@njit(**ACCESS)
def has_distance_noise(task: Task) -> bool:
    """Whether ranges have errors."""
    noisy: bool = task.sigma_base > 0.0 or task.sigma_slope > 0.0
    return noisy


@njit(**ACCESS)
def block_of(task: Task, column: int, row: int) -> int:
    """The block of random words of a ray."""
    if task.rows == 1:
        return column >> 2
    return (column >> 1) * ((task.rows + 1) >> 1) + (row >> 1)


@njit(**ACCESS)
def word_of(task: Task, column: int, row: int) -> int:
    """Which word of its block is a ray's."""
    return column & 3 if task.rows == 1 else ((column & 1) << 1) | (row & 1)


@njit(**ACCESS)
def draws_of_block(
    task: Task, keys: NDArray[np.uint64], block: int, number: int
) -> tuple[float, float, float, float]:
    """The normal draws of a block of rays for one of their returns."""
    draws: tuple[float, float, float, float] = normals(
        keys[DISTANCE], task.frame, (block << RETURN_SHIFT) | number
    )
    return draws


@njit(**ACCESS)
def draw_of(task: Task, keys: NDArray[np.uint64], ray: int, number: int) -> float:
    """The normal draw of one return of a ray."""
    column = ray // task.rows
    row = ray - column * task.rows
    draws = draws_of_block(task, keys, block_of(task, column, row), number)
    return float(draws[word_of(task, column, row)])


@njit(**ACCESS)
def measured(task: Task, distance: float, draw: float) -> float:
    """A range with its errors."""
    if has_distance_noise(task):
        sigma = task.sigma_base + task.sigma_slope * distance
        distance = max(0.0, distance + sigma * draw)
    if task.range_step > 0.0:
        distance = task.range_step * np.round(distance / task.range_step)
    return distance


@njit(**ACCESS)
def reported(task: Task, world: World, intensity: float, path: float) -> float:
    """An intensity as the sensor reports it."""
    if task.calibrated:
        factor = beam_factor(beam_of(world.beam), path)
        intensity = math.pi * intensity / factor if factor > 0.0 else 0.0
    if task.counts > 0.0:
        return float(min(np.round(task.counts * intensity / task.full_scale), task.counts))
    return intensity


@njit(**ACCESS)
def place_point(task: Task, rays: Rays, pose: Floats, along: Triple, distance: float) -> Triple:
    """A point in the frame asked for."""
    point = (distance * along[0], distance * along[1], distance * along[2])
    if task.frame_of == WORLD or task.frame_of == START:
        x, y, z = rotate(pose, point)
        point = (x + pose[9], y + pose[10], z + pose[11])
    if task.frame_of == START:
        start = position_of(rays.poses[0])
        point = (point[0] - start[0], point[1] - start[1], point[2] - start[2])
        point = rotate_back(rays.poses[0], point)
    return point


@njit(**ACCESS)
def turn_normal(task: Task, rays: Rays, pose: Floats, normal_of: Triple) -> Triple:
    """A normal of the world in the frame of the points."""
    if task.frame_of == WORLD:
        return normal_of
    if task.frame_of == START:
        pose = rays.poses[0]
    turned: Triple = rotate_back(pose, normal_of)
    return turned


@njit(**ACCESS)
def write_point(
    task: Task,
    rays: Rays,
    cloud: Cloud,
    ray: int,
    number: int,
    pose: Floats,
    distance: float,
    intensity: float,
    cosine: float,
    toward: Triple,
) -> None:
    """Write where a return is; what was hit, and how many returns there are, come apart."""
    along = (rays.directions[ray, 0], rays.directions[ray, 1], rays.directions[ray, 2])
    at = place_point(task, rays, pose, along, distance)
    point = cloud.points[ray, number]
    point.x, point.y, point.z = np.float32(at[0]), np.float32(at[1]), np.float32(at[2])
    point.intensity = np.float32(intensity)
    point.range = np.float32(distance)
    point.azimuth, point.elevation = rays.azimuth[ray], rays.elevation[ray]
    point.incidence = np.float32(math.acos(min(cosine, 1.0)))
    point.time = task.start + rays.offset[ray] * task.duration
    point.ring = rays.ring[ray]
    point.return_number = np.uint8(number + 1)
    n_x, n_y, n_z = turn_normal(task, rays, pose, toward)
    point.normal_x, point.normal_y = np.float32(n_x), np.float32(n_y)
    point.normal_z = np.float32(n_z)


@njit(**ACCESS)
def write_source(
    cloud: Cloud,
    ray: int,
    number: int,
    entity: int,
    material: int,
    label: int,
    node: int,
    atmospheric: int,
) -> None:
    """Write what a return comes from."""
    point = cloud.points[ray, number]
    point.entity_id = np.int32(entity)
    point.material_id = np.int32(material)
    point.label = np.int32(label)
    point.node = np.uint16(min(node, 65535))
    point.atmospheric = np.uint16(atmospheric)


@njit(**ACCESS)
def note_nearest(cloud: Cloud, chunk: int, distance: float, place: int) -> None:
    """Take note of a return if it is the nearest of its chunk, the first of several."""
    least, first = cloud.nearest[chunk, 0], cloud.nearest[chunk, 1]
    if distance < least or (distance == least and place < first):
        cloud.nearest[chunk, 0] = distance
        cloud.nearest[chunk, 1] = place
