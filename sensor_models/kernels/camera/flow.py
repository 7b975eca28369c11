r"""Optical flow and scene flow of what a camera sees, between the instants t and t'.

For the pixel (u, v) that sees the point q of a body B from the camera C

    P  = T_C(t)⁻¹ q        q' = T_B(t') T_B(t)⁻¹ q        P' = T_C(t')⁻¹ q'
    optical flow  π(P') - (u, v) in pixels,   scene flow  P' - P, or q' - q in the world

with the lens in π. Where nothing is seen q is a direction, and only the turn of the camera counts.
What stands still has T_B = 1. Rows may have instants of their own; t' is as much later for each.

Mask: 0 valid; 1 outside of the image at t'; 2 hidden then, by something nearer than q' less a
tolerance, or behind the camera; 3 nothing is there; 4 seen through glass or in a mirror, whose own
flow it is. Of several the first of 3, 1, 2, 4 holds.

Source: PHYSICS-2, 29. Exact for rigid bodies, however long t' - t is.

Speed  With a the unit ray of a pixel and d the distance along it, P = d a, and all of the above is
       one affine map of each body in each row (``ways``):

           P' / d = G a + g / d

       π does not change with the length of P', so 1/d serves points and directions alike. A block
       of pixels is worked out row by row in loops without branches or calls, over memory of its
       own, which become vectors as wide as the processor has; the few pixels on bodies that move
       come after. What may be hidden is asked of the ray engine in packets of neighbours, which
       need no hit (``trace_blocked``); of movable bodies only where a cone around all rays of a
       block meets one; and of nothing where camera and bodies stay in place: what is seen first
       then was seen first before.
"""

import math

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.camera.layout import TILE
from sensor_models.kernels.camera.ways import Lens, Track, Way, bent, body_way, project, row_way
from sensor_models.kernels.compiling import njit
from sensor_models.kernels.tracing import packets
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.moving import (
    LEVEL,
    LOOSELY,
    Cone,
    cone_about,
    greatest,
    is_near_bodies,
)
from sensor_models.kernels.tracing.packets import (
    ACCESS,
    ALONG,
    PLACE,
    SENT,
    T_MAX,
    Packet,
    is_valid,
    new_packet,
)
from sensor_models.kernels.tracing.rays import (
    claim,
    is_blocked,
    set_rays,
    trace_blocked,
    trace_blocked_at_rest,
)
from sensor_models.kernels.tracing.scene_view import SceneView
from sensor_models.kernels.tracing.sensor_poses import rotate

Floats = NDArray[np.float64]

VALID, OUTSIDE, HIDDEN, NOTHING, INDIRECT = range(5)
#: Share of the distance that something must be nearer by to hide a point.
USUAL_TOLERANCE = 1e-3
#: A block is as many rows as a tile, and so many columns; its numbers stay in the nearest cache.
ACROSS = 64
#: Blocks that a thread claims at once.
CHUNK = 4
#: Columns of a tile of most packets.
FEW = 4
# Where a row of a block has its numbers: P'/d, or the direction to q' in the world; the distance d
# or how far to look; where the point is in the image; the mask.
X, Y, Z, AWAY, U, V, STATE = (ACROSS * k for k in range(7))
ROW_NUMBERS = 7 * ACROSS


@njit(**ACCESS)
def carry_row(
    way: Way, axes: Floats, distance: NDArray[np.float32], count: int, own: Floats
) -> None:
    """Write d and P'/d of the pixels of a row that see what stands still."""
    g00, g01, g02, g10, g11, g12, g20, g21, g22, t0, t1, t2 = way
    for k in range(count):
        a, b, c = axes[3 * k], axes[3 * k + 1], axes[3 * k + 2]
        away = np.float64(distance[k])
        near = 1.0 / away
        own[AWAY + k] = away
        own[X + k] = g00 * a + g01 * b + g02 * c + t0 * near
        own[Y + k] = g10 * a + g11 * b + g12 * c + t1 * near
        own[Z + k] = g20 * a + g21 * b + g22 * c + t2 * near
    for k in range(count, ACROSS):
        own[AWAY + k] = math.inf


@njit(**ACCESS)
def project_row(lens: Lens, own: Floats) -> None:
    """Write where the points of a row are in the image."""
    fx, fy, cx, cy = lens.fx, lens.fy, lens.cx, lens.cy
    if lens.fisheye:
        for k in range(ACROSS):
            own[U + k], own[V + k] = project(lens, own[X + k], own[Y + k], own[Z + k])
    elif lens.bends:
        for k in range(ACROSS):
            inverse = 1.0 / own[X + k]
            a, b = bent(lens.terms, -own[Y + k] * inverse, -own[Z + k] * inverse)
            own[U + k] = cx + fx * a if own[X + k] > 0.0 else math.nan
            own[V + k] = cy + fy * b
    else:
        for k in range(ACROSS):
            inverse = 1.0 / own[X + k]
            own[U + k] = cx - fx * own[Y + k] * inverse if own[X + k] > 0.0 else math.nan
            own[V + k] = cy - fy * own[Z + k] * inverse


@njit(**ACCESS)
def stay(row: int, column: int, own: Floats) -> None:
    """Write that the pixels of a row stay where they are, to the last bit."""
    for k in range(ACROSS):
        own[U + k], own[V + k] = column + k + 0.5, row + 0.5


@njit(**ACCESS)
def carry_bodies(
    lens: Lens,
    track: Track,
    at: int,
    axes: Floats,
    owners: NDArray[np.int32],
    own: Floats,
    known: Floats,
) -> None:
    """Write P'/d and its place of the pixels of a row that see bodies which move.

    ``known`` holds the way of each body from when it was needed first in this row.
    """
    for k in range(len(owners)):
        if not own[AWAY + k] < math.inf:
            continue
        body = track.moving[owners[k]]
        if body < 0:
            continue
        g, near = known[body], 1.0 / own[AWAY + k]
        if g[12] != at:
            body_way(track, at, body, g)
            g[12] = at
        a, b, c = axes[3 * k], axes[3 * k + 1], axes[3 * k + 2]
        x = g[0] * a + g[1] * b + g[2] * c + g[9] * near
        y = g[3] * a + g[4] * b + g[5] * c + g[10] * near
        z = g[6] * a + g[7] * b + g[8] * c + g[11] * near
        own[X + k], own[Y + k], own[Z + k] = x, y, z
        own[U + k], own[V + k] = project(lens, x, y, z)


@njit(**ACCESS)
def store_row(
    track: Track,
    row: int,
    column: int,
    count: int,
    own: Floats,
    flow: NDArray[np.float32],
    mask: NDArray[np.uint8],
) -> int:
    """Write the flow of a row, and its mask as far as that is known; returns how many are good."""
    columns, rows, good = float(track.columns), float(track.rows), 0
    for k in range(ACROSS):
        u, v = own[U + k], own[V + k]
        inside = (u >= 0.0) & (u < columns) & (v >= 0.0) & (v < rows)
        state = 0.0 if inside else 1.0
        state = 2.0 if u != u else state
        state = state if own[AWAY + k] < math.inf else 3.0
        own[STATE + k] = state
        good += 1 if state == 0.0 else 0
    middle = column + 0.5
    for k in range(count):
        flow[2 * k] = own[U + k] - (middle + k)
        flow[2 * k + 1] = own[V + k] - (row + 0.5)
    for k in range(count):
        mask[k] = np.uint8(own[STATE + k])
    return good


@njit(**ACCESS)
def store_motion(
    track: Track,
    at: int,
    axes: Floats,
    owners: NDArray[np.int32],
    own: Floats,
    scene: NDArray[np.float32],
) -> None:
    """Write the scene flow of a row."""
    now, then = track.now[at], track.then[at]
    for k in range(len(owners)):
        away = own[AWAY + k]
        x, y, z = 0.0, 0.0, 0.0
        if away < math.inf:
            p = (away * own[X + k], away * own[Y + k], away * own[Z + k])
            q = (away * axes[3 * k], away * axes[3 * k + 1], away * axes[3 * k + 2])
            if not track.in_world:
                x, y, z = p[0] - q[0], p[1] - q[1], p[2] - q[2]
            elif track.moving[owners[k]] >= 0:
                p, q = rotate(then, p), rotate(now, q)
                x = p[0] - q[0] + (then[9] - now[9])
                y = p[1] - q[1] + (then[10] - now[10])
                z = p[2] - q[2] + (then[11] - now[11])
        scene[k, 0], scene[k, 1], scene[k, 2] = x, y, z


@njit(**ACCESS)
def turn_row(track: Track, at: int, own: Floats) -> None:
    """Make directions in the world of P'/d, and of d how far to look that way."""
    pose, slack = track.then[at], track.tolerance
    r00, r01, r02, r10, r11, r12 = pose[0], pose[1], pose[2], pose[3], pose[4], pose[5]
    r20, r21, r22 = pose[6], pose[7], pose[8]
    share = 0.0 if slack > 0.0 else USUAL_TOLERANCE
    for k in range(ACROSS):
        x, y, z = own[X + k], own[Y + k], own[Z + k]
        square = x * x + y * y + z * z
        scale = 1.0 / math.sqrt(square)
        x, y, z = scale * x, scale * y, scale * z
        own[X + k] = r00 * x + r01 * y + r02 * z
        own[Y + k] = r10 * x + r11 * y + r12 * z
        own[Z + k] = r20 * x + r21 * y + r22 * z
        reach = square * scale * own[AWAY + k]
        reach -= slack + share * reach
        own[AWAY + k] = reach
        own[STATE + k] = own[STATE + k] if reach > 0.0 else 3.0


@njit(**ACCESS)
def copy_few(target: Floats | NDArray[np.float32], to: int, source: Floats, first: int) -> None:
    """Copy the numbers of a row of a tile, as one vector: all are read before any is written."""
    if TILE[1] == FEW:
        a, b, c, d = source[first], source[first + 1], source[first + 2], source[first + 3]
        target[to], target[to + 1], target[to + 2], target[to + 3] = a, b, c, d
    else:
        for k in range(TILE[1]):
            target[to + k] = source[first + k]


@njit(**ACCESS)
def ask_for_tile(packet: Packet, own: Floats, column: int) -> int:
    """Say which rays of a tile there are; returns how many."""
    asked = 0
    for i in range(TILE[0]):
        for j in range(TILE[1]):
            good = own[i * ROW_NUMBERS + STATE + column + j] == 0.0
            packet.words[packets.VALID + i * TILE[1] + j] = -1 if good else 0
            asked += 1 if good else 0
    return asked


@njit(**ACCESS)
def put_tile(
    view: SceneView, track: Track, packet: Packet, own: Floats, ats: NDArray[np.int64], column: int
) -> None:
    """Put the rays of a tile into a packet, as far as they are asked for."""
    rays = packet.doubles
    for i in range(TILE[0]):
        pose, time, first = track.then[ats[i]], track.times[ats[i]], i * ROW_NUMBERS + column
        x, y, z, lane = pose[9], pose[10], pose[11], i * TILE[1]
        for k in range(lane, lane + TILE[1]):
            rays[PLACE + k], rays[PLACE + WIDTH + k], rays[PLACE + 2 * WIDTH + k] = x, y, z
            rays[SENT + k] = time
        copy_few(rays, ALONG + lane, own, X + first)
        copy_few(rays, ALONG + WIDTH + lane, own, Y + first)
        copy_few(rays, ALONG + 2 * WIDTH + lane, own, Z + first)
    set_rays(view, packet, math.inf)
    for i in range(TILE[0]):
        copy_few(packet.floats, T_MAX + i * TILE[1], own, i * ROW_NUMBERS + AWAY + column)


@njit(**LOOSELY)
def cone_of_block(track: Track, own: Floats, ats: NDArray[np.int64]) -> Cone:
    """A cone that holds all rays of a block; the places of its pixels in the image are lost."""
    x = y = z = 0.0
    for first in range(0, TILE[0] * ROW_NUMBERS, ROW_NUMBERS):
        for k in range(first, first + ACROSS):
            good = own[STATE + k] == 0.0
            x += own[X + k] if good else 0.0
            y += own[Y + k] if good else 0.0
            z += own[Z + k] if good else 0.0
    scale = 1.0 / max(math.sqrt(x * x + y * y + z * z), LEVEL)
    x, y, z = scale * x, scale * y, scale * z
    pose, back, reach, apart = track.then[ats[0]], -1.0, 0.0, 0.0
    a, b, c = pose[9], pose[10], pose[11]
    for i in range(TILE[0]):
        first, pose = i * ROW_NUMBERS, track.then[ats[i]]
        p, q, r = pose[9] - a, pose[10] - b, pose[11] - c
        apart = max(apart, p * p + q * q + r * r)
        for k in range(first, first + ACROSS):
            good, cosine = own[STATE + k] == 0.0, x * own[X + k] + y * own[Y + k] + z * own[Z + k]
            own[U + k] = -cosine if good else -1.0
            own[V + k] = own[AWAY + k] if good else 0.0
        back = max(back, greatest(own, first + U, ACROSS))
        reach = max(reach, greatest(own, first + V, ACROSS))
    cone: Cone = cone_about((a, b, c), math.sqrt(apart), (x, y, z), -back, reach)
    return cone


@njit(**ACCESS)
def look_back(
    view: SceneView,
    packet: Packet,
    track: Track,
    own: Floats,
    ats: NDArray[np.int64],
    row: int,
    column: int,
    mask: NDArray[np.uint8],
) -> None:
    """Mask what is hidden in a block: a ray from where the camera will be, nearly as far as it."""
    bodies, near = view.bodies, False
    if len(bodies.scenes) > 0:
        near = is_near_bodies(bodies, cone_of_block(track, own, ats), packet)
    for first in range(0, min(ACROSS, track.columns - column), TILE[1]):
        if ask_for_tile(packet, own, first) == 0:
            continue
        put_tile(view, track, packet, own, ats, first)
        if near:
            trace_blocked(view, packet, True)
        else:
            trace_blocked_at_rest(view, packet, True)
        for lane in range(WIDTH):
            if is_valid(packet, lane) and is_blocked(packet, lane):
                i, j = lane // TILE[1], lane % TILE[1]
                mask[(row + i) * track.columns + column + first + j] = HIDDEN


@njit(**ACCESS)
def mark_indirect(track: Track, material: NDArray[np.int32], mask: NDArray[np.uint8]) -> None:
    """Mask what shows something else, of what is good so far."""
    for k in range(len(mask)):
        shows = track.shows_others[material[k]] != 0  # looked up for all: branches are mispredicted
        mask[k] = INDIRECT if (mask[k] == VALID) & shows else mask[k]


@njit(**{**ACCESS, "forceinline": False})
def follow_block(
    view: SceneView,
    packet: Packet,
    lens: Lens,
    track: Track,
    distance: NDArray[np.float32],
    owner: NDArray[np.int32],
    material: NDArray[np.int32],
    flow: NDArray[np.float32],
    scene: NDArray[np.float32],
    mask: NDArray[np.uint8],
    own: Floats,
    known: Floats,
    ats: NDArray[np.int64],
    block: int,
) -> None:
    """The flow of the pixels of a block."""
    across = (track.columns + ACROSS - 1) // ACROSS
    row, column = block // across * TILE[0], block % across * ACROSS
    count, down = min(ACROSS, track.columns - column), min(TILE[0], track.rows - row)
    good = 0
    for i in range(TILE[0]):
        ats[i] = row + i if len(track.now) > 1 and i < down else 0
        own[i * ROW_NUMBERS + STATE : (i + 1) * ROW_NUMBERS] = 3.0
    for i in range(down):
        first = (row + i) * track.columns + column
        last, at, numbers = first + count, ats[i], own[i * ROW_NUMBERS : (i + 1) * ROW_NUMBERS]
        axes, owners = track.axes[3 * first : 3 * last], owner[first:last]
        way, stays = row_way(track, at)
        carry_row(way, axes, distance[first:last], count, numbers)
        if stays:
            stay(row + i, column, numbers)
        else:
            project_row(lens, numbers)
        if track.some_move:
            carry_bodies(lens, track, at, axes, owners, numbers, known)
        asked = store_row(
            track, row + i, column, count, numbers, flow[2 * first : 2 * last], mask[first:last]
        )
        if scene.size:
            store_motion(track, at, axes, owners, numbers, scene[first:last])
        if track.looks_back and asked > 0:
            turn_row(track, at, numbers)
        good += asked
    if track.looks_back and good > 0:
        look_back(view, packet, track, own, ats, row, column, mask)
    if len(track.shows_others) > 0:
        for i in range(down):
            first = (row + i) * track.columns + column
            mark_indirect(track, material[first : first + count], mask[first : first + count])


@njit(nogil=True, cache=True, error_model="numpy")
def follow(
    view: SceneView,
    claims: NDArray[np.int64],
    lens: Lens,
    track: Track,
    distance: NDArray[np.float32],
    owner: NDArray[np.int32],
    material: NDArray[np.int32],
    flow: NDArray[np.float32],
    scene: NDArray[np.float32],
    mask: NDArray[np.uint8],
) -> None:
    """The flow of all pixels; ``view`` has the bodies as they are at t'."""
    packet, own, ats = new_packet(), np.ones(TILE[0] * ROW_NUMBERS), np.zeros(TILE[0], np.int64)
    known = np.full((track.bodies_now.shape[1], 13), -1.0)
    down, across = (track.rows + TILE[0] - 1) // TILE[0], (track.columns + ACROSS - 1) // ACROSS
    first = claim(claims) * CHUNK
    while first < down * across:
        for block in range(first, min(first + CHUNK, down * across)):
            follow_block(
                view,
                packet,
                lens,
                track,
                distance,
                owner,
                material,
                flow,
                scene,
                mask,
                own,
                known,
                ats,
                block,
            )
        first = claim(claims) * CHUNK
