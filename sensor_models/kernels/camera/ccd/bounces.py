"""Light with one bounce: what comes to where rays around have ended, and what rays have found.

A ray that ends at a surface brings what sun and sky send there. All that differs between rays of
one point to one material are four numbers, so these are summed, and spectra are worked out once
for each point and material (``shading``) instead of for each ray.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.camera.ccd.lights import Light, sky_share
from sensor_models.kernels.camera.ccd.points import (
    BASES,
    DRAW_OF,
    START,
    SUM_OF,
    WEIGHT,
    WHEN,
    Points,
    axes_of,
    turned,
)
from sensor_models.kernels.camera.ccd.probes import (
    COSINE,
    END,
    FACE,
    LEFT,
    NEAREST,
    NOTHING,
    Probe,
    ask_open,
    new_probe,
    send_all,
)
from sensor_models.kernels.compiling import njit
from sensor_models.kernels.light.paths import Path
from sensor_models.kernels.math.philox import block
from sensor_models.kernels.math.rotations import Triple
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.packets import ACCESS, ALONG, PLACE, SENT, VALID, Packet
from sensor_models.kernels.tracing.scene_view import SceneView

Floats = NDArray[np.float64]

#: Draws of the rays at bounces count on from here.
BOUNCE_DRAWS = 1 << 60

# What is summed for each point and material: weights of rays, and times what comes to where they
# ended from sun, sky and ground. The row behind the materials is that of rays that met nothing.
# Sums of top rays come after those of base rays. Where there is but one row, all is summed there.
MET, SUN, SKY, GROUND = range(4)
SUMS = 4
TOP = SUMS


class Waiting(NamedTuple):
    """Rays from where light bounces, which wait until they fill a packet.

    Of the rays around less than half end where the sun may shine.
    """

    probe: Probe
    filled: NDArray[np.int64]  # (1,)
    ids: NDArray[np.int64]  # (WIDTH, 4): row and material of the sums, columns of open and blocked
    shares: Floats  # (WIDTH, 2): what is added if nothing is in the way, and else


@njit(cache=True)
def new_waiting() -> Waiting:
    """Room for the rays of a packet."""
    return Waiting(
        new_probe(), np.zeros(1, np.int64), np.zeros((WIDTH, 4), np.int64), np.zeros((WIDTH, 2))
    )


@njit(**ACCESS)
def stand_at_bounces(points: Points, probe: Probe, packet: Packet, nearest: Floats) -> None:
    """Write where rays start from where others have ended, as all of them had."""
    own, rows, rays = points.spread, probe.rows, packet.doubles
    for lane in range(WIDTH):
        x, y, z = rows[END + lane], rows[END + WIDTH + lane], rows[END + 2 * WIDTH + lane]
        a, b, c = (
            x - own[START + lane],
            y - own[START + WIDTH + lane],
            z - own[START + 2 * WIDTH + lane],
        )
        length = math.sqrt(a * a + b * b + c * c)
        off = 2e-6 * max(1.0, length)
        rays[PLACE + lane] = x + off * rows[FACE + lane]
        rays[PLACE + WIDTH + lane] = y + off * rows[FACE + WIDTH + lane]
        rays[PLACE + 2 * WIDTH + lane] = z + off * rows[FACE + 2 * WIDTH + lane]
        rays[SENT + lane] = own[WHEN + lane]
        nearest[NEAREST + lane] = 0.5 * off


@njit(**ACCESS)
def look_on(
    view: SceneView,
    path: Path,
    light: Light,
    points: Points,
    probe: Probe,
    sunward: Waiting,
    skyward: Waiting,
    third: Probe,
    sums: Floats,
    index: int,
) -> None:
    """Have rays wait from where light bounces: to the sun, and to the sky where that is wanted.

    They go as soon as they fill a packet. ``third`` is room to work out where they start.
    """
    if not (light.is_sunny or light.looks_up):
        return
    own, rows = points.spread, probe.rows
    x, y, z = light.toward_sun[0], light.toward_sun[1], light.toward_sun[2]
    stand_at_bounces(points, probe, third.packet, third.rows)
    for lane in range(WIDTH):
        facing = rows[FACE + lane] * x + rows[FACE + WIDTH + lane] * y
        third.rows[COSINE + lane] = facing + rows[FACE + 2 * WIDTH + lane] * z
    for lane in range(points.filled[0]):
        weight = own[WEIGHT + lane] * rows[LEFT + lane]
        if not (probe.found[lane] >= 0 and weight > 0.0):
            continue
        row, found = points.ids[lane, SUM_OF], min(probe.found[lane], sums.shape[1] - 1)
        first, facing = 0 if index < own[BASES + lane] else TOP, third.rows[COSINE + lane]
        if light.is_sunny and facing > 0.0:
            place = put_waiting(sunward, third, lane, (x, y, z), row, found)
            sunward.ids[place, 2] = sunward.ids[place, 3] = first + SUN
            sunward.shares[place, 0], sunward.shares[place, 1] = weight * facing, 0.0
            if place + 1 == WIDTH:
                add_waiting(view, path, light, sunward, sums)
        if light.looks_up:
            along = toward_sky(light, probe, lane, points.ids[lane, DRAW_OF], index)
            place = put_waiting(skyward, third, lane, along, row, found)
            up = along[2] >= 0.0
            skyward.ids[place, 2] = first + (SKY if up else GROUND)
            skyward.ids[place, 3] = first + GROUND
            skyward.shares[place, 0] = weight * sky_share(light, along[2]) if up else weight
            skyward.shares[place, 1] = weight * light.closed
            if place + 1 == WIDTH:
                add_waiting(view, path, light, skyward, sums)


@njit(**ACCESS)
def put_waiting(
    waiting: Waiting, start: Probe, lane: int, along: Triple, row: int, material: int
) -> int:
    """Have a ray wait that starts where that of a lane would; returns where."""
    place: int = waiting.filled[0]
    waiting.filled[0] = place + 1
    rays, others = waiting.probe.packet.doubles, start.packet.doubles
    for k in range(3):
        rays[PLACE + k * WIDTH + place] = others[PLACE + k * WIDTH + lane]
        rays[ALONG + k * WIDTH + place] = along[k]
    rays[SENT + place] = others[SENT + lane]
    waiting.probe.rows[NEAREST + place] = start.rows[NEAREST + lane]
    waiting.ids[place, 0], waiting.ids[place, 1] = row, material
    return place


@njit(**{**ACCESS, "forceinline": False})
def add_waiting(view: SceneView, path: Path, light: Light, waiting: Waiting, sums: Floats) -> None:
    """Add what waiting rays find to the sums of their points, and forget them."""
    probe, filled = waiting.probe, waiting.filled[0]
    if filled == 0:
        return
    for place in range(WIDTH):
        probe.packet.words[VALID + place] = -1 if place < filled else 0
    send_all(view, probe)
    ask_open(view, path, light, probe, False)
    for place in range(filled):
        row, material, column, other = waiting.ids[place]
        left = probe.rows[LEFT + place]
        sums[row, material, column] += waiting.shares[place, 0] * left
        sums[row, material, other] += waiting.shares[place, 1] * (1.0 - left)
    waiting.filled[0] = 0


@njit(**ACCESS)
def toward_sky(light: Light, probe: Probe, lane: int, number: int, index: int) -> Triple:
    """A direction of the cosine law from where a ray has ended."""
    rows = probe.rows
    u, v = draws_at_bounce(light, number, index)
    radius, turn = math.sqrt(u), turned(v)
    normal = (rows[FACE + lane], rows[FACE + WIDTH + lane], rows[FACE + 2 * WIDTH + lane])
    first, second = axes_of(normal)
    a, b, c = radius * turn[0], radius * turn[1], math.sqrt(1.0 - u)
    return (
        a * first[0] + b * second[0] + c * normal[0],
        a * first[1] + b * second[1] + c * normal[1],
        a * first[2] + b * second[2] + c * normal[2],
    )


@njit(**ACCESS)
def draws_at_bounce(light: Light, number: int, index: int) -> tuple[float, float]:
    """Two draws for the ray to the sky at a bounce."""
    a, b, _, _ = block(light.key, light.frame, BOUNCE_DRAWS + (number << 12) + index)
    scale = 2.0**-53
    return np.float64(a >> np.uint64(11)) * scale, np.float64(b >> np.uint64(11)) * scale


@njit(**ACCESS)
def add_found(
    light: Light,
    points: Points,
    probe: Probe,
    sums: Floats,
    index: int,
) -> None:
    """Add what the rays around have found to the sums of their points."""
    own, rows, none = points.spread, probe.rows, sums.shape[1] - 1
    for lane in range(points.filled[0]):
        weight = own[WEIGHT + lane] * rows[LEFT + lane]
        if not weight > 0.0:
            continue
        first, found = 0 if index < own[BASES + lane] else TOP, probe.found[lane]
        row = points.ids[lane, SUM_OF]
        if found == NOTHING:
            height = probe.packet.doubles[ALONG + 2 * WIDTH + lane]
            sums[row, none, first + MET] += weight
            if height >= 0.0:
                sums[row, none, first + SKY] += weight * sky_share(light, height)
            else:
                sums[row, none, first + GROUND] += weight
            continue
        found = min(found, none)
        sums[row, found, first + MET] += weight
        if not light.looks_up:
            up = rows[FACE + 2 * WIDTH + lane]
            sums[row, found, first + SKY] += 0.5 * weight * (1.0 + up) * light.mean_share
            sums[row, found, first + GROUND] += 0.5 * weight * (1.0 - up) * light.closed
