"""The rays of a depth camera's pixels, put into packets."""

import math

from sensor_models.kernels.camera.layout import Rays, Task, pixel_of, pose_row
from sensor_models.kernels.camera.noise import is_noisy
from sensor_models.kernels.compiling import njit
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.packets import (
    ACCESS,
    ALONG,
    PLACE,
    SENT,
    T_MAX,
    UNIT,
    VALID,
    Packet,
    Triple,
    drop_ray,
)
from sensor_models.kernels.tracing.rays import nearest_allowed, set_ray, set_rays
from sensor_models.kernels.tracing.scene_view import SceneView
from sensor_models.kernels.tracing.sensor_poses import rotate


@njit(**ACCESS)
def axis_share(task: Task, direction: Triple) -> float:
    """Depth over range along a ray; 1 where distances are ranges."""
    return direction[0] if task.depth else 1.0


@njit(**ACCESS)
def reach_of(task: Task, direction: Triple) -> float:
    """How far a ray has to go. Noise may bring nearer what lies beyond the limit."""
    if is_noisy(task) or task.rays > 1 or task.sees_all:
        return math.inf
    reach: float = 1.000001 * task.most / axis_share(task, direction)  # the limit itself is exact
    return reach


@njit(**ACCESS)
def origin_of(rays: Rays, camera: int, row: int) -> Triple:
    """Where the rays of a camera start."""
    return rays.poses[camera, row, 9], rays.poses[camera, row, 10], rays.poses[camera, row, 11]


@njit(**ACCESS)
def put_pixel_ray(
    view: SceneView,
    packet: Packet,
    lane: int,
    task: Task,
    rays: Rays,
    camera: int,
    ray: int,
    t_min: float,
) -> None:
    """Put a ray of a pixel into a packet; ``t_min`` holds where all rays start at one point."""
    row = pose_row(task, rays, ray)
    origin = origin_of(rays, camera, row)
    if rays.poses.shape[1] > 1:
        t_min = nearest_allowed(view, origin)
    along = (rays.directions[ray, 0], rays.directions[ray, 1], rays.directions[ray, 2])
    direction = rotate(rays.poses[camera, row], along)
    reach, time = reach_of(task, along), rays.times[row]
    set_ray(view, packet, lane, origin, direction, t_min, reach, time)


@njit(**ACCESS)
def put_rows(
    view: SceneView,
    packet: Packet,
    task: Task,
    rays: Rays,
    camera: int,
    corner: tuple[int, int],
) -> None:
    """Put the rays of a tile into a packet, where each row has a pose of its own."""
    for lane in range(WIDTH):
        pixel = pixel_of(task, corner, lane)
        if pixel < 0:
            drop_ray(packet, lane)
        else:
            put_pixel_ray(view, packet, lane, task, rays, camera, pixel, 0.0)


@njit(**ACCESS)
def put_tile(
    view: SceneView,
    packet: Packet,
    task: Task,
    rays: Rays,
    camera: int,
    corner: tuple[int, int],
) -> None:
    """Put the rays of a tile into a packet, where all of an image start from one pose.

    As ``put_pixel_ray``, but what is computed are loops without branches or calls over what lies in
    the packet, so that they become vectors.
    """
    numbers, pose, time = packet.doubles, rays.poses[camera, 0], rays.times[0]
    for lane in range(WIDTH):
        pixel = pixel_of(task, corner, lane)
        packet.words[VALID + lane] = -1 if pixel >= 0 else 0
        for k in range(3 if pixel >= 0 else 0):
            numbers[ALONG + k * WIDTH + lane] = rays.directions[pixel, k]
    p, q, r = origin_of(rays, camera, 0)
    a, b, c, d, e, f, g, h, i = (
        pose[0], pose[1], pose[2], pose[3], pose[4], pose[5], pose[6], pose[7], pose[8],
    )  # fmt: skip
    reach, in_depth = reach_of(task, (1.0, 0.0, 0.0)), task.depth
    for lane in range(WIDTH):
        x, y = numbers[ALONG + lane], numbers[ALONG + WIDTH + lane]
        z = numbers[ALONG + 2 * WIDTH + lane]
        numbers[PLACE + lane], numbers[PLACE + WIDTH + lane] = p, q
        numbers[PLACE + 2 * WIDTH + lane], numbers[SENT + lane] = r, time
        numbers[ALONG + lane] = a * x + b * y + c * z
        numbers[ALONG + WIDTH + lane] = d * x + e * y + f * z
        numbers[ALONG + 2 * WIDTH + lane] = g * x + h * y + i * z
        numbers[UNIT + lane] = reach / (x if in_depth else 1.0)  # kept until rays are set
    set_rays(view, packet, math.inf)
    for lane in range(WIDTH):
        packet.floats[T_MAX + lane] = numbers[UNIT + lane]
