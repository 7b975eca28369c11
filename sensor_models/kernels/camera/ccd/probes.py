"""Rays that ask what light comes from somewhere: a packet, and what each of its rays found.

Glass is no obstacle to them: they go straight on through it, with what Fresnel's law and the
colour of the glass leave, and end at the first surface that is none.

Two questions are asked. ``ask`` finds the surface where a ray ends. ``ask_open`` is for rays to the
sun and the sky: they have to meet nothing but glass, which the ray engine tells in less time, as it
need not know where they end. Only those that did meet glass, and nothing else, are asked again for
what it left of them.

What is found is written in columns, one number of all rays after the other, in loops that become
vectors; only what has to be looked up, facet by facet, is done ray by ray.

Not modelled: refraction on this way, media on it.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.camera.ccd.lights import Light
from sensor_models.kernels.compiling import njit
from sensor_models.kernels.light.boundaries import off_surface
from sensor_models.kernels.light.fresnel import reflectance
from sensor_models.kernels.light.paths import Path
from sensor_models.kernels.light.surfaces import DIELECTRIC, IOR, KIND
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.hits import hit_across, hit_material, is_hit
from sensor_models.kernels.tracing.packets import (
    ACCESS,
    ALONG,
    BEST_T,
    PLACE,
    SENT,
    T_MAX,
    T_MIN,
    VALID,
    Packet,
    drop_ray,
    new_packet,
)
from sensor_models.kernels.tracing.rays import (
    hits_found,
    set_ray,
    set_rays,
    trace_blocked,
    trace_opaque,
    trace_quickly,
)
from sensor_models.kernels.tracing.scene_view import SceneView

Floats = NDArray[np.float64]

#: Panes that a ray goes through; what is behind more of them is dark.
MOST_PANES = 8

# Rows of Probe.rows, counted in numbers: how near a ray does not look; what it lost on its way;
# where it ended, the normal there on its side, and its cosine with the ray; 1 if it ended just now.
NEAREST, LEFT, END, FACE, COSINE, FRESH = (WIDTH * k for k in (0, 1, 2, 5, 8, 9))
ROWS = 10 * WIDTH
#: What a ray found that is no material.
NOTHING, NO_RAY, ON_ITS_WAY = -1, -2, -3


class Probe(NamedTuple):
    """Rays of one packet, and what they found."""

    packet: Packet
    rows: Floats  # (ROWS,)
    found: NDArray[np.int64]  # (WIDTH,): the material, or NOTHING, or NO_RAY


@njit(cache=True)
def new_probe() -> Probe:
    """Room for the rays of a packet."""
    return Probe(new_packet(), np.ones(ROWS), np.zeros(WIDTH, np.int64))


@njit(**ACCESS)
def send_all(view: SceneView, probe: Probe) -> None:
    """Make rays of what lies in the float64 rows of the packet, where its flags say so.

    They meet nothing nearer than the row ``NEAREST`` says.
    """
    packet, rows = probe.packet, probe.rows
    set_rays(view, packet, math.inf)
    for lane in range(WIDTH):
        packet.floats[T_MIN + lane] = rows[NEAREST + lane]
        rows[LEFT + lane] = 1.0
    for lane in range(WIDTH):
        probe.found[lane] = ON_ITS_WAY if packet.words[VALID + lane] != 0 else NO_RAY


@njit(**ACCESS)
def ask(view: SceneView, path: Path, light: Light, probe: Probe, coherent: bool) -> None:
    """Find out where the rays end that were sent."""
    trace_quickly(view, probe.packet, coherent)
    for _ in range(MOST_PANES):
        note(view, probe)
        if not light.has_glass or meet_glass(path, light, probe) == 0:
            return
        for lane in range(WIDTH):
            if probe.found[lane] == ON_ITS_WAY:
                go_through(view, probe, lane)
            else:
                drop_ray(probe.packet, lane)
        trace_quickly(view, probe.packet, False)
    for lane in range(WIDTH):
        if probe.found[lane] == ON_ITS_WAY:
            probe.rows[LEFT + lane] = 0.0
            probe.found[lane] = NOTHING


@njit(**ACCESS)
def ask_open(view: SceneView, path: Path, light: Light, probe: Probe, coherent: bool) -> None:
    """Find out what is left of the rays that were sent where nothing is: 0 of others."""
    packet, rows, dimmed = probe.packet, probe.rows, 0
    if light.has_glass:
        trace_opaque(view, packet, coherent, light.is_clear)
    else:
        trace_blocked(view, packet, coherent)
    for lane in range(WIDTH):
        stopped = packet.floats[T_MAX + lane] < np.float32(0.0)
        there = packet.words[VALID + lane] != 0
        rows[LEFT + lane] = 1.0 if there & (not stopped) else 0.0
    if not light.has_glass:
        return
    for lane in range(WIDTH):
        again = (rows[LEFT + lane] > 0.0) & (hits_found(packet, lane) > 0)
        probe.found[lane] = ON_ITS_WAY if again else NO_RAY
        dimmed += 1 if again else 0
    if dimmed > 0:
        dim(view, path, light, probe)


@njit(**{**ACCESS, "forceinline": False})
def dim(view: SceneView, path: Path, light: Light, probe: Probe) -> None:
    """Find out what glass leaves of the rays that are on their way, which meet nothing else."""
    for lane in range(WIDTH):
        if probe.found[lane] == NO_RAY:
            drop_ray(probe.packet, lane)
    ask(view, path, light, probe, False)
    for lane in range(WIDTH):
        if probe.found[lane] >= 0:
            probe.rows[LEFT + lane] = 0.0


@njit(**ACCESS)
def note(view: SceneView, probe: Probe) -> None:
    """Write down what the rays met that were on their way."""
    packet, rows = probe.packet, probe.rows
    for lane in range(WIDTH):
        rows[FRESH + lane] = 0.0
        if probe.found[lane] != ON_ITS_WAY:
            continue
        probe.found[lane] = NOTHING
        if is_hit(packet, lane):
            x, y, z = hit_across(view, packet, lane)
            rows[FACE + lane], rows[FACE + WIDTH + lane], rows[FACE + 2 * WIDTH + lane] = x, y, z
            rows[FRESH + lane] = 1.0
            probe.found[lane] = hit_material(view, packet, lane)
    finish_notes(packet, rows)


@njit(**ACCESS)
def finish_notes(packet: Packet, rows: Floats) -> None:
    """Write places and normals of the rays that ended just now."""
    rays, floats = packet.doubles, packet.floats
    for lane in range(WIDTH):
        fresh = rows[FRESH + lane] > 0.0
        x, y, z = rows[FACE + lane], rows[FACE + WIDTH + lane], rows[FACE + 2 * WIDTH + lane]
        a, b, c = rays[ALONG + lane], rays[ALONG + WIDTH + lane], rays[ALONG + 2 * WIDTH + lane]
        scale = 1.0 / math.sqrt(x * x + y * y + z * z)
        facing = -(a * x + b * y + c * z)
        sign = (scale if facing >= 0.0 else -scale) if fresh else 1.0
        rows[FACE + lane], rows[FACE + WIDTH + lane] = sign * x, sign * y
        rows[FACE + 2 * WIDTH + lane] = sign * z
        rows[COSINE + lane] = abs(facing * scale)
        length = np.float64(floats[BEST_T + lane])
        p, q, r = rays[PLACE + lane], rays[PLACE + WIDTH + lane], rays[PLACE + 2 * WIDTH + lane]
        rows[END + lane] = p + length * a if fresh else rows[END + lane]
        rows[END + WIDTH + lane] = q + length * b if fresh else rows[END + WIDTH + lane]
        rows[END + 2 * WIDTH + lane] = r + length * c if fresh else rows[END + 2 * WIDTH + lane]


@njit(**ACCESS)
def meet_glass(path: Path, light: Light, probe: Probe) -> int:
    """Have rays that met glass go on with what it lets through; returns how many did."""
    left = 0
    for lane in range(WIDTH):
        clear = light.is_clear[max(probe.found[lane], 0)] != 0
        left += 1 if clear & (probe.rows[FRESH + lane] > 0.0) else 0
    if left == 0:
        return 0
    for lane in range(WIDTH):
        material = probe.found[lane]
        if probe.rows[FRESH + lane] > 0.0 and path.surfaces[material, KIND] == DIELECTRIC:
            # A straight way has the same angle outside on both sides of a pane.
            cosine = min(probe.rows[COSINE + lane], 1.0)
            whole = reflectance(1.0, path.surfaces[material, IOR], 0.0, cosine)
            probe.rows[LEFT + lane] *= (1.0 - whole) * light.clear_mean[material]
            probe.found[lane] = ON_ITS_WAY
    return left


@njit(**ACCESS)
def go_through(view: SceneView, probe: Probe, lane: int) -> None:
    """Send a ray on behind the interface that it met."""
    rows, rays = probe.rows, probe.packet.doubles
    along = (rays[ALONG + lane], rays[ALONG + WIDTH + lane], rays[ALONG + 2 * WIDTH + lane])
    place = (rows[END + lane], rows[END + WIDTH + lane], rows[END + 2 * WIDTH + lane])
    length = math.sqrt(
        (place[0] - rays[PLACE + lane]) ** 2
        + (place[1] - rays[PLACE + WIDTH + lane]) ** 2
        + (place[2] - rays[PLACE + 2 * WIDTH + lane]) ** 2
    )
    least = 4.0 * off_surface(length)
    set_ray(view, probe.packet, lane, place, along, least, math.inf, rays[SENT + lane])
