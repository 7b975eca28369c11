"""Range images: rays, trace, noise, limits and all outputs of a pixel, in one compiled pass.

Work is divided into packets of rays. With one ray a pixel, a packet is a tile of neighbours;
with several, all rays of one pixel (a zone of a time-of-flight sensor) go in packets of their
own and give one reading. Nothing of the size of an image is held between the steps, and an
output of size 0 is not made.

For a pixel with the true distance r along its unit ray and the depth z = r (ray . axis):

    zone       r, z <- mean over the rays of one target; ids and normal are those of its nearest
    noise      as ``noise`` says
    edges      d' = 0 with probability p_e where a neighbour's depth differs by a share of it
    limits     d < min -> near, d > max or a miss -> far
    normalise  d / max, or (d - min) / (max - min) within [0, 1]

d is z or r. Both are scaled by the same factor, so a point stays on its ray. Misses are not
perturbed.

Rays of a zone that hit nothing up to the greatest distance count for nothing. The others are
sorted by d; a target has all rays from its first, at d0, to d0 + separation, and the next target
begins behind. Read is the nearest target, or the strongest: that with the largest sum of
|n . ray| / r^2, as if all surfaces were equally bright (the camera knows no materials). This rule
is our own; makers of such sensors publish none.

Source: GYM for rays, limits and normalisation. Ids do not depend on noise: they are those of the
surface whose true distance is within the limit.
"""

import math

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.camera.depth_rays import (
    origin_of,
    put_pixel_ray,
    put_rows,
    put_tile,
)
from sensor_models.kernels.camera.layout import (
    BY_LIMITS,
    BY_MAX,
    Images,
    Rays,
    Task,
    corner_of,
    pixel_of,
    pose_row,
    tiles_of,
)
from sensor_models.kernels.camera.noise import EDGE, noise_factor
from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.philox import uniform
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.hits import (
    hit_distance,
    hit_entity,
    hit_label,
    hit_material,
    hit_normal,
    hit_owner,
    hit_primitive,
    is_hit,
)
from sensor_models.kernels.tracing.packets import ACCESS, Packet, drop_ray, new_packet
from sensor_models.kernels.tracing.rays import claim, nearest_allowed, trace_surfaces
from sensor_models.kernels.tracing.scene_view import SceneView
from sensor_models.kernels.tracing.sensor_poses import rotate, rotate_back

#: Packets, or zones, that a thread claims at once.
CHUNK = 64
#: What a pixel reads: nothing within the greatest distance; its only target; one of several; one
#: that is nearer than the least distance.
NOTHING, ONE, SEVERAL, TOO_NEAR = range(4)


@njit(**ACCESS)
def store_nothing_seen(images: Images, camera: int, pixel: int) -> None:
    """Write that a pixel sees no surface."""
    if images.entity.size:
        images.entity[camera, pixel] = -1
        images.label[camera, pixel] = -1
    if images.face.size:
        images.face[camera, pixel] = -1
    if images.normal.size:
        for k in range(3):
            images.normal[camera, pixel, k] = 0.0


@njit(**ACCESS)
def store_surface(
    view: SceneView,
    packet: Packet,
    lane: int,
    task: Task,
    rays: Rays,
    images: Images,
    camera: int,
    ray: int,
) -> None:
    """Write which surface a ray of a pixel sees."""
    pixel = ray // task.rays
    if images.entity.size:
        images.entity[camera, pixel] = hit_entity(view, packet, lane)
        images.label[camera, pixel] = hit_label(view, packet, lane)
    if images.face.size:
        images.face[camera, pixel] = hit_primitive(packet, lane)
    if images.normal.size:
        pose = rays.poses[camera, pose_row(task, rays, pixel * task.rays)]
        x, y, z = hit_normal(view, packet, lane)
        a, b, c = rotate_back(pose, (x, y, z))
        d = rays.directions
        sign = 1.0 if a * d[ray, 0] + b * d[ray, 1] + c * d[ray, 2] <= 0.0 else -1.0
        if not task.in_world:
            x, y, z = a, b, c
        images.normal[camera, pixel, 0] = sign * x
        images.normal[camera, pixel, 1] = sign * y
        images.normal[camera, pixel, 2] = sign * z


@njit(**ACCESS)
def store_met(
    view: SceneView, packet: Packet, lane: int, images: Images, camera: int, pixel: int
) -> None:
    """Write what a ray meets first, however far."""
    images.met[camera, pixel] = math.inf
    images.owner[camera, pixel] = images.material[camera, pixel] = -1
    if is_hit(packet, lane):
        images.met[camera, pixel] = hit_distance(packet, lane)
        images.owner[camera, pixel] = hit_owner(packet, lane)
        images.material[camera, pixel] = hit_material(view, packet, lane)


@njit(**ACCESS)
def limited(task: Task, value: float) -> float:
    """A distance after limits, m."""
    if value < task.least:
        return task.near
    return task.far if value > task.most else value


@njit(**ACCESS)
def image_value(task: Task, value: float) -> float:
    """A distance after limits and normalisation."""
    value = limited(task, value)
    if task.normalise == BY_MAX:
        return value / task.most
    if task.normalise == BY_LIMITS:
        return min(1.0, max(0.0, (value - task.least) / (task.most - task.least)))
    return value


@njit(**ACCESS)
def store_distance(
    task: Task, rays: Rays, images: Images, camera: int, pixel: int, distance: float, value: float
) -> None:
    """Write what a pixel measures: the distance along its ray, and the value of its image."""
    if images.image.size:
        images.image[camera, pixel] = image_value(task, value)
    if images.metres.size:
        images.metres[camera, pixel] = limited(task, value)
    valid = task.least <= value <= task.most and value > 0.0
    measured = distance if valid else math.nan
    if images.distance.size:
        images.distance[camera, pixel] = measured
    if images.status.size and not valid:
        near = 0.0 < value < task.least  # 0 is a failed one
        images.status[camera, pixel] = TOO_NEAR if near else NOTHING
    if images.points.size:
        axes = rays.axes
        x, y, z = measured * axes[pixel, 0], measured * axes[pixel, 1], measured * axes[pixel, 2]
        if task.in_world:
            pose = rays.poses[camera, pose_row(task, rays, pixel * task.rays)]
            x, y, z = rotate(pose, (x, y, z))
            x, y, z = x + pose[9], y + pose[10], z + pose[11]
        images.points[camera, pixel, 0] = x
        images.points[camera, pixel, 1] = y
        images.points[camera, pixel, 2] = z


@njit(**ACCESS)
def finish_pixel(
    task: Task,
    rays: Rays,
    keys: NDArray[np.uint64],
    images: Images,
    camera: int,
    pixel: int,
    distance: float,
    value: float,
    growth: float,
) -> None:
    """Noise on a true distance, and what it is written to; ``growth`` is that of its target."""
    if images.truth.size:
        images.truth[camera, pixel] = value
    if distance < math.inf:
        factor = noise_factor(task, keys, camera, pixel, value, growth)
        distance, value = factor * distance, factor * value
    store_distance(task, rays, images, camera, pixel, distance, value)


@njit(**ACCESS)
def render_tile(
    view: SceneView,
    packet: Packet,
    task: Task,
    rays: Rays,
    keys: NDArray[np.uint64],
    images: Images,
    camera: int,
    tile: int,
    growths: NDArray[np.float64],
) -> None:
    """The pixels of a tile, one ray each."""
    corner = corner_of(task, tile)
    if rays.poses.shape[1] > 1:
        put_rows(view, packet, task, rays, camera, corner)
    else:
        put_tile(view, packet, task, rays, camera, corner)
    trace_surfaces(view, packet, True)
    for lane in range(WIDTH):
        pixel = pixel_of(task, corner, lane)
        if pixel < 0:
            continue
        distance, value, growth = math.inf, math.inf, 1.0
        if is_hit(packet, lane):
            distance = hit_distance(packet, lane)
            value = distance * (rays.directions[pixel, 0] if task.depth else 1.0)
            if growths.size:
                growth = growths[hit_material(view, packet, lane)]
        if images.met.size:
            store_met(view, packet, lane, images, camera, pixel)
        if value <= task.most:
            store_surface(view, packet, lane, task, rays, images, camera, pixel)
        else:
            store_nothing_seen(images, camera, pixel)
        if images.status.size:
            images.status[camera, pixel] = ONE
        finish_pixel(task, rays, keys, images, camera, pixel, distance, value, growth)


@njit(**ACCESS)
def strength_of(
    view: SceneView, packet: Packet, lane: int, rays: Rays, pose: NDArray[np.float64], ray: int
) -> float:
    """How much a ray of a zone brings back, for surfaces that are equally bright."""
    d = rays.directions
    x, y, z = rotate_back(pose, hit_normal(view, packet, lane))
    slant: float = abs(x * d[ray, 0] + y * d[ray, 1] + z * d[ray, 2])
    return slant / float(hit_distance(packet, lane)) ** 2


@njit(**ACCESS)
def choose_target(
    task: Task, found: NDArray[np.float64], count: int
) -> tuple[float, float, int, int]:
    """Distance, value and nearest ray of the target that a zone reads, and its status.

    The rows of ``found`` are value, distance, strength and number of each of its rays, and the
    material there.
    """
    best, distance, value, nearest, targets = -1.0, math.inf, math.inf, -1, 0
    last = -math.inf
    while True:
        first, start = -1, math.inf
        for k in range(count):
            if last < found[0, k] < start:
                first, start = k, found[0, k]
        if first < 0:
            break
        last, size, strength, distances, values = start + task.separation, 0, 0.0, 0.0, 0.0
        for k in range(count):
            if start <= found[0, k] <= last:
                values += found[0, k]
                distances += found[1, k]
                strength += found[2, k]
                size += 1
        targets += 1
        if targets == 1 or (task.strongest and strength > best):
            best, nearest = strength, int(found[3, first])
            distance, value = distances / size, values / size
    return distance, value, nearest, min(targets, SEVERAL)


@njit(**ACCESS)
def trace_zone(
    view: SceneView,
    packet: Packet,
    task: Task,
    rays: Rays,
    camera: int,
    pixel: int,
    found: NDArray[np.float64],
) -> int:
    """Trace the rays of a zone; writes what they have found, and returns how many have."""
    count, t_min = 0, nearest_allowed(view, origin_of(rays, camera, 0))
    pose = rays.poses[camera, pose_row(task, rays, pixel * task.rays)]
    for first in range(0, task.rays, WIDTH):
        for lane in range(WIDTH):
            if first + lane < task.rays:
                ray = pixel * task.rays + first + lane
                put_pixel_ray(view, packet, lane, task, rays, camera, ray, t_min)
            else:
                drop_ray(packet, lane)
        trace_surfaces(view, packet, True)
        for lane in range(min(WIDTH, task.rays - first)):
            if not is_hit(packet, lane):
                continue
            ray = pixel * task.rays + first + lane
            distance = float(hit_distance(packet, lane))
            value = distance * (rays.directions[ray, 0] if task.depth else 1.0)
            if value > task.most:
                continue
            found[0, count], found[1, count], found[3, count] = value, distance, float(ray)
            found[2, count], found[4, count] = 0.0, float(hit_material(view, packet, lane))
            if task.strongest:
                found[2, count] = strength_of(view, packet, lane, rays, pose, ray)
            count += 1
    return count


@njit(**ACCESS)
def render_zone(
    view: SceneView,
    packet: Packet,
    task: Task,
    rays: Rays,
    keys: NDArray[np.uint64],
    images: Images,
    camera: int,
    pixel: int,
    found: NDArray[np.float64],
    growths: NDArray[np.float64],
) -> None:
    """One pixel of several rays; ``found`` is room for what they find, (5, rays)."""
    count = trace_zone(view, packet, task, rays, camera, pixel, found)
    distance, value, ray, status = choose_target(task, found, count)
    if ray < 0:
        store_nothing_seen(images, camera, pixel)
    elif images.entity.size or images.face.size or images.normal.size:
        # Once more, as what the rays hit was not kept.
        t_min = nearest_allowed(view, origin_of(rays, camera, 0))
        for lane in range(1, WIDTH):
            drop_ray(packet, lane)
        put_pixel_ray(view, packet, 0, task, rays, camera, ray, t_min)
        trace_surfaces(view, packet, True)
        store_surface(view, packet, 0, task, rays, images, camera, ray)
    if images.status.size:
        images.status[camera, pixel] = status
    growth = 1.0
    for k in range(count if growths.size else 0):
        if found[3, k] == float(ray):
            growth = growths[int(found[4, k])]
    finish_pixel(task, rays, keys, images, camera, pixel, distance, value, growth)


@njit(nogil=True, cache=True, error_model="numpy")
def render(
    view: SceneView,
    claims: NDArray[np.int64],
    task: Task,
    rays: Rays,
    keys: NDArray[np.uint64],
    images: Images,
    growths: NDArray[np.float64],
) -> None:
    """Render all pixels of all cameras; ``growths`` are those of noise by material, or empty."""
    packet, found = new_packet(), np.empty((5, task.rays))
    of_camera = task.rows * task.columns if task.rays > 1 else tiles_of(task)
    total = task.cameras * of_camera
    first = claim(claims) * CHUNK
    while first < total:
        for index in range(first, min(first + CHUNK, total)):
            camera = index // of_camera
            part = index - camera * of_camera
            if task.rays > 1:
                render_zone(view, packet, task, rays, keys, images, camera, part, found, growths)
            else:
                render_tile(view, packet, task, rays, keys, images, camera, part, growths)
        first = claim(claims) * CHUNK


@njit(**ACCESS)
def is_edge(task: Task, truth: NDArray[np.float32], camera: int, pixel: int) -> bool:
    """Whether a neighbour's true depth differs by more than a share of the lesser one."""
    row, column = pixel // task.columns, pixel % task.columns
    here = truth[camera, pixel]
    edge = False
    for down, right in ((-1, 0), (1, 0), (0, -1), (0, 1)):
        if 0 <= row + down < task.rows and 0 <= column + right < task.columns:
            there = truth[camera, pixel + down * task.columns + right]
            least = min(here, there)
            # A miss is infinitely far: an edge beside a hit, none beside another miss.
            edge |= least < math.inf and max(here, there) > least * (1.0 + task.edge_jump)
    return edge


@njit(nogil=True, cache=True, error_model="numpy")
def drop_edges(
    claims: NDArray[np.int64],
    task: Task,
    rays: Rays,
    keys: NDArray[np.uint64],
    images: Images,
) -> None:
    """Let pixels beside a jump of depth fail; after ``render``, as it looks at neighbours."""
    pixels = task.rows * task.columns
    row = claim(claims)
    while row < task.cameras * task.rows:
        camera = row // task.rows
        for column in range(task.columns):
            pixel = row % task.rows * task.columns + column
            if images.truth[camera, pixel] == math.inf or not is_edge(
                task, images.truth, camera, pixel
            ):
                continue
            lane = (task.first + camera) * pixels + pixel
            if uniform(keys[EDGE], task.frame, lane) < task.edge_dropout:
                store_distance(task, rays, images, camera, pixel, 0.0, 0.0)
        row = claim(claims)
