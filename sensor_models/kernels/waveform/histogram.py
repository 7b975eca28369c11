r"""Sub-rays of a beam, and what comes back of them as energy over time.

A ray leaves the aperture at (y, z) from the axis, away from the virtual focus a distance f behind
it. An arrival i after a way of R_i, with what is left of its light W_i and the strength
f(l, l) (n.l) of what sends it back, has

    E_i = E q_i W_i^2 f(l, l) (n.l) Omega_i,     Omega_i = a b cos(theta) / R_i^2,  at most 2 pi
    t_i = 2 S_i / c                              S: optical path from the aperture

Its energy goes to the two samples around t_i, by their distances (or to the bin that t_i lies in).
Arrivals outside the gate are dropped. Weighted with the irradiance, q_i falls as the beam widens,
by (w(f) / w(f + R))^2 with w(z)^2 = w_0^2 (1 + (z / z_r)^2). The received power is the histogram,
folded with the pulse's shape, over t_res.

Background light: rays that meet a surface see f(l, l) (E_sun (n.s) + pi L_sky), as if it were
diffuse and nothing cast a shadow; the others see the sky.

Source: VANE, eq. 7-11, with the corrections of section 12 of the physics.
"""

import math

import numpy as np

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.lidar.beams import jittered, nominal, off_axis
from sensor_models.kernels.lidar.layout import Detector, Floats, Scan, knot_of
from sensor_models.kernels.light import arrivals as told
from sensor_models.kernels.light.arrivals import FROM_MEDIUM, FROM_SURFACE
from sensor_models.kernels.light.paths import Path
from sensor_models.kernels.light.tree import (
    Tree,
    arrive,
    branches_left,
    go_on,
    send,
    set_out,
    trace,
)
from sensor_models.kernels.math.rotations import Triple
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.packets import ACCESS, drop_ray
from sensor_models.kernels.tracing.scene_view import SceneView
from sensor_models.kernels.tracing.sensor_poses import position_of, rotate
from sensor_models.kernels.waveform.layout import (
    ATMOSPHERIC,
    COSINE,
    ENTITY,
    LABEL,
    MATERIAL,
    NODE,
    NORMAL_X,
    Pulse,
    Receiver,
    Work,
)

SPEED_OF_LIGHT = 299_792_458.0
HALF_SPHERE = 2.0 * math.pi
APART = {**ACCESS, "forceinline": False}


@njit(**ACCESS)
def sideways(axis: Triple, left: float, up: float) -> Triple:
    """A point of the aperture, off the axis by some metres to the left and up."""
    x, y, z = axis
    level = math.sqrt(x * x + y * y)
    a, b = (-y / level, x / level) if level > 1e-9 else (0.0, 1.0)
    return left * a - up * z * b, left * b + up * z * a, up * (x * b - y * a)


@njit(**ACCESS)
def clear(work: Work) -> None:
    """Forget the last pulse."""
    for k in range(work.touched[0], work.touched[1]):
        work.energy[k] = work.best[k] = 0.0
    work.touched[0], work.touched[1] = len(work.energy), 0
    work.light[0] = work.light[1] = 0.0


@njit(**ACCESS)
def add(work: Work, k: int, energy: float) -> None:
    """Add energy to a sample."""
    work.energy[k] += energy
    work.touched[0] = min(work.touched[0], k)
    work.touched[1] = max(work.touched[1], k + 1)


@njit(**ACCESS)
def remember(tree: Tree, row: int, work: Work, k: int, energy: float) -> None:
    """Take note of what an arrival comes from if it is the strongest of its sample."""
    if energy <= work.best[k]:
        return
    numbers, ids = tree.arrivals.numbers, tree.arrivals.ids
    work.best[k] = energy
    work.numbers[k, COSINE] = numbers[row, told.COSINE]
    for part in range(3):
        work.numbers[k, NORMAL_X + part] = numbers[row, told.NORMAL_X + part]
    work.ids[k, ENTITY], work.ids[k, MATERIAL] = ids[row, told.ENTITY], ids[row, told.MATERIAL]
    work.ids[k, LABEL], work.ids[k, NODE] = ids[row, told.LABEL], ids[row, told.NODE]
    work.ids[k, ATMOSPHERIC] = ids[row, told.KIND] == FROM_MEDIUM


@njit(**ACCESS)
def see_light(tree: Tree, row: int, pulse: Pulse, receiver: Receiver, work: Work) -> None:
    """Add the light of sun and sky that the first surface of a ray sends back."""
    numbers, ids = tree.arrivals.numbers, tree.arrivals.ids
    cosine = numbers[row, told.COSINE]
    if ids[row, told.NODE] != 0 or cosine <= 0.0:
        return
    share = pulse.share[ids[row, told.RAY]]
    lit = 0.0
    for part in range(3):
        lit += numbers[row, told.NORMAL_X + part] * receiver.sun[part]
    onto = receiver.sunlight * max(lit, 0.0) + math.pi * receiver.skylight
    work.light[0] += share
    work.light[1] += share * numbers[row, told.STRENGTH] / cosine * onto


@njit(**ACCESS)
def energy_of(tree: Tree, row: int, pulse: Pulse) -> float:
    """The energy of an arrival."""
    numbers, ray = tree.arrivals.numbers, tree.arrivals.ids[row, told.RAY]
    way, weight = numbers[row, told.REDUCED], numbers[row, told.WEIGHT]
    angle = HALF_SPHERE
    if way * way * HALF_SPHERE > pulse.area * pulse.toward[ray]:
        angle = pulse.area * pulse.toward[ray] / (way * way)
    if pulse.rayleigh > 0.0:
        near = 1.0 + (pulse.focus / pulse.rayleigh) ** 2
        weight *= math.sqrt(near / (1.0 + ((pulse.focus + way) / pulse.rayleigh) ** 2))
    back = weight * weight * numbers[row, told.STRENGTH]
    return float(pulse.energy * pulse.share[ray] * back * angle)


@njit(**APART)
def take_in(tree: Tree, pulse: Pulse, receiver: Receiver, work: Work) -> None:
    """Add what came back to the histogram."""
    numbers, ids = tree.arrivals.numbers, tree.arrivals.ids
    lit = receiver.band_area > 0.0
    for row in range(tree.arrivals.held[0]):
        kind = ids[row, told.KIND]
        if kind != FROM_SURFACE and kind != FROM_MEDIUM:
            continue
        if lit and kind == FROM_SURFACE:
            see_light(tree, row, pulse, receiver, work)
        energy = energy_of(tree, row, pulse)
        time = 2.0 * numbers[row, told.OPTICAL] / SPEED_OF_LIGHT
        place = (time - pulse.start) / pulse.step
        if not (energy > 0.0 and 0.0 <= place < pulse.samples):
            continue
        k = int(place)
        remember(tree, row, work, k, energy)
        if not pulse.split:
            add(work, k, energy)
            continue
        below = math.floor(place - 0.5)
        part = place - 0.5 - below
        add(work, max(below, 0), (1.0 - part) * energy)
        if part > 0.0:
            add(work, min(below + 1, pulse.samples - 1), part * energy)
    tree.arrivals.held[0] = 0


@njit(**APART)
def send_pulse(
    view: SceneView,
    path: Path,
    scan: Scan,
    detector: Detector,
    pulse: Pulse,
    receiver: Receiver,
    tree: Tree,
    pose: Floats,
    work: Work,
    ray: int,
) -> None:
    """Send all rays of a pulse, and add up what comes back."""
    clear(work)
    jitters = scan.sigma_azimuth > 0.0 or scan.sigma_elevation > 0.0
    axis = jittered(scan, detector, ray) if jitters else nominal(scan, ray)
    middle, parts = position_of(pose), len(pulse.share)
    time, knot = scan.offset[ray], knot_of(scan, ray)
    for first in range(0, parts, WIDTH):
        for lane in range(WIDTH):
            part = first + lane
            if part >= parts:
                drop_ray(tree.packet, lane)
                continue
            along = rotate(pose, off_axis(axis, pulse.slope[part, 0], pulse.slope[part, 1]))
            side = rotate(pose, sideways(axis, pulse.offset[part, 0], pulse.offset[part, 1]))
            origin = (middle[0] + side[0], middle[1] + side[1], middle[2] + side[2])
            number = ray * parts + part
            set_out(path, tree, lane, part, number, origin, along, 1.0, time, scan.inside, knot)
            send(view, path, tree, lane)
        trace(view, tree)
        arrive(view, path, tree)
        take_in(tree, pulse, receiver, work)
        while branches_left(tree) > 0:
            go_on(view, path, tree)
            take_in(tree, pulse, receiver, work)


@njit(**APART)
def spread_pulse(pulse: Pulse, work: Work, first: int, last: int) -> None:
    """Make power of the energy of the samples: fold it with the pulse's shape."""
    half, samples = len(pulse.shape) // 2, pulse.samples
    for k in range(first, last):
        work.power[k] = 0.0
    for k in range(work.touched[0], work.touched[1]):
        power = work.energy[k] / pulse.step
        if power > 0.0:
            begin, end = max(k - half, 0), min(k + half + 1, samples)
            for to in range(begin, end):
                work.power[to] += power * pulse.shape[to - k + half]


@njit(cache=True, error_model="numpy")
def spots(rho: Floats, z: float, power: float, waist: float, rayleigh: float) -> Floats:
    """Irradiance of a Gaussian beam at distances rho from its axis, z from the waist, in W/m2."""
    squared = waist * waist * (1.0 + (z / rayleigh) ** 2)
    return 2.0 * power / (math.pi * squared) * np.exp(-2.0 * rho * rho / squared)
