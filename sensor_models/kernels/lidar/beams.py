"""Beams of a lidar as they leave it: which rays a packet has, where they start and go.

Jitter: azimuth and elevation of a ray are off by normal draws; its point is written where the
sensor believes it to be, at the nominal angles. A divided beam has several rays, some small
angles off its axis.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.lidar.layout import (
    AZIMUTH,
    ELEVATION,
    TILE_SHIFT,
    Detector,
    Floats,
    Scan,
    knot_of,
    put_pose,
    ray_of,
)
from sensor_models.kernels.lidar.points import (
    block_of,
    draws_of_block,
    has_distance_noise,
    number_of_draws,
)
from sensor_models.kernels.light.paths import Path
from sensor_models.kernels.light.segments import draws_at_sensor, may_answer
from sensor_models.kernels.light.tree import Tree, farthest, set_out
from sensor_models.kernels.math.philox import normal
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.packets import (
    ACCESS,
    ALONG,
    PLACE,
    SENT,
    VALID,
    Packet,
    Triple,
)
from sensor_models.kernels.tracing.rays import set_rays
from sensor_models.kernels.tracing.scene_view import SceneView
from sensor_models.kernels.tracing.sensor_poses import position_of


class Lanes(NamedTuple):
    """The rays of a packet."""

    ray: NDArray[np.int64]  # (WIDTH,), -1 for none
    pose: Floats  # (WIDTH, 12), of the sensor
    turned: Floats  # (12 * WIDTH,): the same, a row for each number
    time: Floats  # (WIDTH,), that the pose is of, as a share of the frame; NaN for none
    draw: Floats  # (WIDTH,), of the error of a ray's first return
    air: Floats  # (WIDTH,), of the echo of the medium that the ray sets out in
    place: NDArray[np.int64]  # (WIDTH,): among those whose trees are under way


@njit(cache=True)
def new_lanes(scan: Scan) -> Lanes:
    """Room for the rays of a packet."""
    lanes = Lanes(
        np.empty(WIDTH, np.int64),
        np.empty((WIDTH, 12)),
        np.empty(12 * WIDTH),
        np.full(WIDTH, np.nan),
        np.zeros(WIDTH),
        np.ones(WIDTH),
        np.zeros(WIDTH, np.int64),
    )
    for lane in range(WIDTH):
        take_pose(scan, 0, lanes, lane)
    return lanes


@njit(**ACCESS)
def take_pose(scan: Scan, ray: int, lanes: Lanes, lane: int) -> None:
    """Set the pose of a lane to that at the time of a ray."""
    put_pose(scan, ray, lanes.pose[lane])
    for k in range(12):
        lanes.turned[k * WIDTH + lane] = lanes.pose[lane, k]


@njit(**ACCESS)
def nominal(scan: Scan, ray: int) -> Triple:
    """The direction of a ray in the sensor frame, as the sensor believes it to be."""
    return scan.directions[ray, 0], scan.directions[ray, 1], scan.directions[ray, 2]


@njit(**ACCESS)
def jittered(scan: Scan, detector: Detector, ray: int) -> Triple:
    """The direction that a ray really has in the sensor frame."""
    azimuth, elevation = float(scan.azimuth[ray]), float(scan.elevation[ray])
    keys, frame = detector.keys, detector.frame
    if scan.sigma_azimuth > 0.0:
        azimuth += scan.sigma_azimuth * normal(keys[AZIMUTH], frame, ray)
    if scan.sigma_elevation > 0.0:
        elevation += scan.sigma_elevation * normal(keys[ELEVATION], frame, ray)
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
    path: Path, scan: Scan, detector: Detector, lanes: Lanes, corner: tuple[int, int]
) -> None:
    """Say which rays a packet has, from where they are sent, and make their draws."""
    for lane in range(WIDTH):
        lanes.ray[lane] = ray_of(scan, corner, lane)
    moves = len(scan.poses) > 1
    for lane in range(WIDTH):
        ray = lanes.ray[lane]
        # The rays of a column are sent together as a rule: this one has the pose of the last.
        if ray >= 0 and scan.offset[ray] != lanes.time[lane]:
            lanes.time[lane] = scan.offset[ray]
            if moves:
                take_pose(scan, ray, lanes, lane)
    blocks = blocks_of_packet(scan, corner)
    if has_distance_noise(detector):
        for index in range(blocks):
            block = block_of_packet(scan, corner, index)
            deal(scan, corner, index, draws_of_block(detector, block, 0), lanes.draw)
    if detector.subrays == 1 and may_answer(path):  # of more rays, trees draw themselves
        for index in range(blocks):
            block = block_of_packet(scan, corner, index)
            deal(scan, corner, index, draws_at_sensor(path, block), lanes.air)


@njit(**ACCESS)
def blocks_of_packet(scan: Scan, corner: tuple[int, int]) -> int:
    """How many blocks of random words the rays of a packet share: those of four rays each."""
    if scan.rows == 1:
        return ((corner[1] & 3) + WIDTH + 3) >> 2
    return ((corner[1] & 1) + (1 << TILE_SHIFT) + 1) >> 1


@njit(**ACCESS)
def block_of_packet(scan: Scan, corner: tuple[int, int], index: int) -> int:
    """One of the blocks of random words that the rays of a packet share."""
    row, column = corner
    if scan.rows == 1:
        return (column >> 2) + index
    block: int = block_of(scan, (column & ~1) + 2 * index, row)
    return block


@njit(**ACCESS)
def deal(
    scan: Scan,
    corner: tuple[int, int],
    index: int,
    draws: tuple[float, float, float, float],
    target: Floats,
) -> None:
    """Give the draws of a block to the lanes of those rays of it that are in the packet."""
    for k in range(4):
        if scan.rows == 1:
            lane, across = 4 * index + k - (corner[1] & 3), WIDTH
            side = lane
        else:
            across = 1 << TILE_SHIFT
            side = 2 * index + (k >> 1) - (corner[1] & 1)
            lane = ((k & 1) << TILE_SHIFT) + side
        if 0 <= side < across:
            target[lane] = draws[k]


@njit(**ACCESS)
def send_beams(
    view: SceneView,
    path: Path,
    scan: Scan,
    detector: Detector,
    packet: Packet,
    lanes: Lanes,
    beam_ray: int,
) -> None:
    """Send one ray of the beam of each lane."""
    jitters = scan.sigma_azimuth > 0.0 or scan.sigma_elevation > 0.0
    rays = packet.doubles
    for lane in range(WIDTH):
        packet.words[VALID + lane] = -1 if lanes.ray[lane] >= 0 else 0
        rays[SENT + lane] = lanes.time[lane] if lanes.ray[lane] >= 0 else 0.0
        ray = max(lanes.ray[lane], 0)
        along = jittered(scan, detector, ray) if jitters else nominal(scan, ray)
        if detector.subrays > 1:
            along = off_axis(along, scan.spread[beam_ray, 0], scan.spread[beam_ray, 1])
        rays[ALONG + lane], rays[ALONG + WIDTH + lane] = along[0], along[1]
        rays[ALONG + 2 * WIDTH + lane] = along[2]
    turn_beams(packet, lanes)
    set_rays(view, packet, farthest(view, path, 0, 0.0))


@njit(**ACCESS)
def turn_beams(packet: Packet, lanes: Lanes) -> None:
    """Bring the beams of a packet from the sensor to the world; one loop, which becomes vectors."""
    rays, turned = packet.doubles, lanes.turned
    for lane in range(WIDTH):
        x, y = rays[ALONG + lane], rays[ALONG + WIDTH + lane]
        z = rays[ALONG + 2 * WIDTH + lane]
        a, b, c = turned[lane], turned[WIDTH + lane], turned[2 * WIDTH + lane]
        d, e, f = turned[3 * WIDTH + lane], turned[4 * WIDTH + lane], turned[5 * WIDTH + lane]
        g, h, i = turned[6 * WIDTH + lane], turned[7 * WIDTH + lane], turned[8 * WIDTH + lane]
        p, q, r = turned[9 * WIDTH + lane], turned[10 * WIDTH + lane], turned[11 * WIDTH + lane]
        rays[ALONG + lane] = a * x + b * y + c * z
        rays[ALONG + WIDTH + lane] = d * x + e * y + f * z
        rays[ALONG + 2 * WIDTH + lane] = g * x + h * y + i * z
        rays[PLACE + lane], rays[PLACE + WIDTH + lane] = p, q
        rays[PLACE + 2 * WIDTH + lane] = r


@njit(**ACCESS)
def sent_along(packet: Packet, lane: int) -> Triple:
    """Where a ray of the packet goes, in the world."""
    rays = packet.doubles
    return rays[ALONG + lane], rays[ALONG + WIDTH + lane], rays[ALONG + 2 * WIDTH + lane]


@njit(**ACCESS)
def begin_tree(
    path: Path, scan: Scan, detector: Detector, tree: Tree, lanes: Lanes, lane: int, beam_ray: int
) -> None:
    """Begin the tree of a ray that was sent."""
    ray = lanes.ray[lane]
    set_out(
        path,
        tree,
        lane,
        lanes.place[lane],
        number_of_draws(scan, detector, ray, beam_ray),
        position_of(lanes.pose[lane]),
        sent_along(tree.packet, lane),
        1.0,
        scan.offset[ray],
        scan.inside,
        knot_of(scan, ray),
    )
