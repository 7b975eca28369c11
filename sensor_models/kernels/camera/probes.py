"""Rays that ask what light comes from somewhere: a packet, and what each of its rays found.

Glass is no obstacle to them: they go straight on through it, with what Fresnel's law and the
colour of the glass leave, and end at the first surface that is none.

Not modelled: refraction on this way, media on it.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.camera.lights import Light
from sensor_models.kernels.compiling import njit
from sensor_models.kernels.light.boundaries import off_surface
from sensor_models.kernels.light.fresnel import reflectance
from sensor_models.kernels.light.paths import Path
from sensor_models.kernels.light.surfaces import DIELECTRIC, IOR, KIND
from sensor_models.kernels.math.rotations import Triple, dot
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.hits import hit_distance, hit_material, hit_normal, is_hit
from sensor_models.kernels.tracing.packets import ACCESS, Packet, drop_ray, new_packet
from sensor_models.kernels.tracing.rays import set_ray, trace_quickly
from sensor_models.kernels.tracing.scene_view import SceneView

#: Panes that a ray goes through; what is behind more of them is dark.
MOST_PANES = 8

# Columns of Probe.numbers: where a ray starts and goes, what it lost on its way, when it is sent,
# where it ended, and the normal there on its side.
START, ALONG, LEFT, SENT, PLACE, NORMAL = 0, 3, 6, 7, 8, 11
NUMBERS = 14
#: What a ray found that is no material.
NOTHING, NO_RAY, ON_ITS_WAY = -1, -2, -3


class Probe(NamedTuple):
    """Rays of one packet, and what they found."""

    packet: Packet
    numbers: NDArray[np.float64]  # (WIDTH, NUMBERS)
    found: NDArray[np.int64]  # (WIDTH,): the material, or NOTHING, or NO_RAY


@njit(cache=True)
def new_probe() -> Probe:
    """Room for the rays of a packet."""
    return Probe(new_packet(), np.zeros((WIDTH, NUMBERS)), np.zeros(WIDTH, np.int64))


@njit(**ACCESS)
def skip(probe: Probe, lane: int) -> None:
    """Send no ray in a lane."""
    drop_ray(probe.packet, lane)
    probe.found[lane] = NO_RAY


@njit(**ACCESS)
def aim(
    view: SceneView,
    probe: Probe,
    lane: int,
    start: Triple,
    along: Triple,
    least: float,
    time: float,
) -> None:
    """Send a ray in a lane; it meets nothing nearer than ``least``."""
    numbers = probe.numbers
    for k in range(3):
        numbers[lane, START + k], numbers[lane, ALONG + k] = start[k], along[k]
    numbers[lane, LEFT], numbers[lane, SENT] = 1.0, time
    probe.found[lane] = ON_ITS_WAY
    set_ray(view, probe.packet, lane, start, along, least, math.inf, time)


@njit(**{**ACCESS, "forceinline": False})
def ask(view: SceneView, path: Path, light: Light, probe: Probe, coherent: bool) -> None:
    """Find out where the rays end that were aimed."""
    trace_quickly(view, probe.packet, coherent)
    for _ in range(MOST_PANES):
        left = 0
        for lane in range(WIDTH):
            if probe.found[lane] == ON_ITS_WAY:
                left += note(view, path, light, probe, lane)
        if left == 0:
            return
        for lane in range(WIDTH):
            if probe.found[lane] == ON_ITS_WAY:
                go_through(view, probe, lane)
            else:
                drop_ray(probe.packet, lane)
        trace_quickly(view, probe.packet, coherent)
    for lane in range(WIDTH):
        if probe.found[lane] == ON_ITS_WAY:
            probe.numbers[lane, LEFT] = 0.0
            probe.found[lane] = NOTHING


@njit(**ACCESS)
def note(view: SceneView, path: Path, light: Light, probe: Probe, lane: int) -> int:
    """Write down what a ray met; 1 if that was glass."""
    packet, numbers = probe.packet, probe.numbers
    if not is_hit(packet, lane):
        probe.found[lane] = NOTHING
        return 0
    length = float(hit_distance(packet, lane))
    along = (numbers[lane, ALONG], numbers[lane, ALONG + 1], numbers[lane, ALONG + 2])
    normal = hit_normal(view, packet, lane)
    facing = -dot(along, normal)
    sign = 1.0 if facing >= 0.0 else -1.0
    for k in range(3):
        numbers[lane, PLACE + k] = numbers[lane, START + k] + length * along[k]
        numbers[lane, NORMAL + k] = sign * normal[k]
    material = hit_material(view, packet, lane)
    if path.surfaces[material, KIND] != DIELECTRIC:
        probe.found[lane] = material
        return 0
    # A straight way has the same angle outside on both sides of a pane.
    whole = reflectance(1.0, path.surfaces[material, IOR], 0.0, min(abs(facing), 1.0))
    numbers[lane, LEFT] *= (1.0 - whole) * light.clear_mean[material]
    return 1


@njit(**ACCESS)
def go_through(view: SceneView, probe: Probe, lane: int) -> None:
    """Send a ray on behind the interface that it met."""
    numbers = probe.numbers
    along = (numbers[lane, ALONG], numbers[lane, ALONG + 1], numbers[lane, ALONG + 2])
    place = (numbers[lane, PLACE], numbers[lane, PLACE + 1], numbers[lane, PLACE + 2])
    length = math.sqrt(
        (place[0] - numbers[lane, START]) ** 2
        + (place[1] - numbers[lane, START + 1]) ** 2
        + (place[2] - numbers[lane, START + 2]) ** 2
    )
    least = 4.0 * off_surface(length)
    for k in range(3):
        numbers[lane, START + k] = place[k]
    set_ray(view, probe.packet, lane, place, along, least, math.inf, numbers[lane, SENT])
