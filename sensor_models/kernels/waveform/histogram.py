r"""What comes back of the rays of a pulse, as energy over time.

A ray leaves the aperture at (y, z) from the axis, away from the virtual focus a distance f behind
it. An arrival i after a way of R_i, with what is left of its light W_i and the strength
f(l, l) (n.l) of what sends it back, has

    E_i = E q_i W_i^2 f(l, l) (n.l) Omega_i,     Omega_i = a b cos(theta) / R_i^2,  at most 2 pi
    t_i = 2 S_i / c                              S: optical path from the aperture

Its energy goes to three samples by a quadratic spline: its time is kept, and it is widened by the
variance 1/4 of a sample wherever it lies, which the pulse's shape is narrower by. Where the pulse
is too short for that, it goes to the two samples around t_i, by their distances (or to the bin that
t_i lies in). Arrivals outside the gate are dropped. Weighted with the irradiance, q_i falls as the
beam widens, by (w(f) / w(f + R))^2 with w(z)^2 = w_0^2 (1 + (z / z_r)^2). The received power is the
histogram, folded with the pulse's shape, over t_res.

Haze: of each metre of the medium around, as far as a ray goes to its first surface, comes

    P(R) = E (c/2) beta O(R) a b e^(-2 alpha R) / R^2,     O(R) = R^2 / (R^2 + (D / phi)^2)

the single-scattering lidar equation: beta back-scatter in 1/(m sr), alpha extinction. O is the
share of light from R that a receiver of the diameter D, focused far away, has within its field of
view phi. The curve of a whole pulse, folded with its shape, is known (``Pulse.haze``); of a pulse
whose rays end at different places it is the curve times the share of the pulse still under way.
What mirrors and windows show of the haze behind them is left out.

Background light: rays that meet a surface see f(l, l) (E_sun (n.s) + pi L_sky), as if it were
diffuse and nothing cast a shadow; the others see the sky.

Arrivals of a pulse are added in an order that depends on the pulse alone (``bundles``), so its
histogram does, to the last bit.

Source: VANE, eq. 7-11, with the corrections of section 12 of the physics.
"""

import math

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.lidar.layout import Floats
from sensor_models.kernels.light import arrivals as column
from sensor_models.kernels.light.arrivals import FROM_MEDIUM, FROM_SURFACE
from sensor_models.kernels.light.tree import Tree
from sensor_models.kernels.tracing.packets import ACCESS
from sensor_models.kernels.waveform.layout import (
    ATMOSPHERIC,
    COSINE,
    ENTITY,
    LABEL,
    MATERIAL,
    NODE,
    NORMAL_X,
    THREE_SAMPLES,
    TWO_SAMPLES,
    Histograms,
    Pulse,
    Receiver,
    Work,
)
from sensor_models.kernels.waveform.simd import SIXTEEN, fold_sixteen

SPEED_OF_LIGHT = 299_792_458.0
HALF_SPHERE = 2.0 * math.pi
APART = {**ACCESS, "forceinline": False}


@njit(**ACCESS)
def clear(under: Histograms, at: int) -> None:
    """Forget the pulse at a place."""
    energy, best, touched = under.energy[at], under.best[at], under.touched[at]
    energy[touched[0] : touched[1]] = 0.0
    best[touched[0] : touched[1]] = 0.0
    touched[0], touched[1] = len(energy), 0
    under.light[at, 0] = under.light[at, 1] = 0.0
    under.going[at] = 0


@njit(**ACCESS)
def energy_of(
    pulse: Pulse, share: float, toward: float, way: float, weight: float, strength: float
) -> float:
    """The energy of an arrival after a reduced path, of what is left of its weight.

    ``share`` and ``toward`` are those of its ray.
    """
    onto = pulse.area * toward
    angle = min(onto / max(way * way, 1e-300), HALF_SPHERE)
    if pulse.rayleigh > 0.0:
        near = 1.0 + (pulse.focus / pulse.rayleigh) ** 2
        weight *= math.sqrt(near / (1.0 + ((pulse.focus + way) / pulse.rayleigh) ** 2))
    return float(pulse.energy * share * weight * weight * strength * angle)


@njit(**ACCESS)
def place_of(pulse: Pulse, way: float) -> float:
    """The place in the gate, in samples, of an arrival after an optical path."""
    # Quotients of what a loop does not change: it has no division left.
    return float(way * (2.0 / (SPEED_OF_LIGHT * pulse.step)) - pulse.start / pulse.step)


@njit(**ACCESS)
def touch(under: Histograms, at: int, low: int, high: int) -> None:
    """Take note that the samples from one to another have energy."""
    touched = under.touched[at]
    touched[0] = min(touched[0], low)
    touched[1] = max(touched[1], high + 1)


@njit(**ACCESS)
def add_to_samples(
    pulse: Pulse, under: Histograms, at: int, k: int, parts: tuple[float, float, float]
) -> None:
    """Add what a sample and those before and after it get; the first and the last keep their own.

    What else would go to beyond the gate.
    """
    low, high, energy = max(k - 1, 0), min(k + 1, pulse.samples - 1), under.energy[at]
    energy[low] += parts[0]
    energy[k] += parts[1]
    energy[high] += parts[2]
    touch(under, at, low, high)


@njit(**ACCESS)
def add_energy(pulse: Pulse, under: Histograms, at: int, place: float, energy: float) -> int:
    """Add an arrival at a place in the gate; its bin if it is the strongest of it, else -1."""
    if not (energy > 0.0 and 0.0 <= place < pulse.samples):
        return -1
    k = int(place)
    if pulse.sharing == THREE_SAMPLES:
        ahead = place - k
        behind = 1.0 - ahead
        before, after = 0.5 * behind * behind * energy, 0.5 * ahead * ahead * energy
        add_to_samples(pulse, under, at, k, (before, (0.5 + ahead * behind) * energy, after))
    elif pulse.sharing == TWO_SAMPLES:
        below = math.floor(place - 0.5)
        part = place - 0.5 - below
        low, high = max(int(below), 0), min(int(below) + 1, pulse.samples - 1)
        under.energy[at, low] += (1.0 - part) * energy
        under.energy[at, high] += part * energy
        touch(under, at, low, high)
    else:
        under.energy[at, k] += energy
        touch(under, at, k, k)
    if energy <= under.best[at, k]:
        return -1
    under.best[at, k] = energy
    return k


@njit(**ACCESS)
def see_light(
    pulse: Pulse,
    receiver: Receiver,
    under: Histograms,
    at: int,
    part: int,
    strength: float,
    cosine: float,
    lit: float,
) -> None:
    """Add the light of sun and sky that the first surface of a ray sends back.

    ``lit`` is the cosine between its normal and the sun.
    """
    if cosine > 0.0:
        onto = receiver.sunlight * max(lit, 0.0) + math.pi * receiver.skylight
        under.light[at, 0] += pulse.share[part]
        under.light[at, 1] += pulse.share[part] * strength / cosine * onto


@njit(**ACCESS)
def remember(tree: Tree, row: int, under: Histograms, at: int, k: int) -> None:
    """Take note of what the strongest arrival of a bin comes from."""
    numbers, ids = tree.arrivals.numbers, tree.arrivals.ids
    own, own_ids = under.numbers[at, k], under.ids[at, k]
    own[COSINE] = numbers[row, column.COSINE]
    for part in range(3):
        own[NORMAL_X + part] = numbers[row, column.NORMAL_X + part]
    own_ids[ENTITY], own_ids[MATERIAL] = ids[row, column.ENTITY], ids[row, column.MATERIAL]
    own_ids[LABEL], own_ids[NODE] = ids[row, column.LABEL], min(ids[row, column.NODE], 65535)
    own_ids[ATMOSPHERIC] = ids[row, column.KIND] == FROM_MEDIUM


@njit(**APART)
def take_in(tree: Tree, pulse: Pulse, receiver: Receiver, under: Histograms, at: int) -> None:
    """Add what came back to the histogram of a pulse."""
    numbers, ids = tree.arrivals.numbers, tree.arrivals.ids
    for row in range(tree.arrivals.filled[0]):
        kind, part = ids[row, column.KIND], ids[row, column.RAY]
        if kind != FROM_SURFACE and kind != FROM_MEDIUM:
            continue
        strength, cosine = numbers[row, column.STRENGTH], numbers[row, column.COSINE]
        if receiver.band_area > 0.0 and kind == FROM_SURFACE and ids[row, column.NODE] == 0:
            lit = 0.0
            for axis in range(3):
                lit += numbers[row, column.NORMAL_X + axis] * receiver.sun[axis]
            see_light(pulse, receiver, under, at, part, strength, cosine, lit)
        weight, way = numbers[row, column.WEIGHT], numbers[row, column.REDUCED]
        share, toward = pulse.share[part], pulse.toward[part]
        energy = energy_of(pulse, share, toward, way, weight, strength)
        place = place_of(pulse, numbers[row, column.OPTICAL])
        k = add_energy(pulse, under, at, place, energy)
        if k >= 0:
            remember(tree, row, under, at, k)
    tree.arrivals.filled[0] = 0


@njit(**ACCESS)
def spread_pulse(
    pulse: Pulse, under: Histograms, at: int, work: Work, first: int, last: int
) -> None:
    """Make power of the energy of the samples: fold it with the pulse's shape.

    Sixteen samples at a time; those behind the last one are no power, and nobody reads them.
    """
    half, energy, watts = len(pulse.shape) // 2, under.energy[at], work.signal
    begin, end = under.touched[at, 0], under.touched[at, 1]
    given, kept = energy[begin:end], watts[begin:end]
    for k in range(len(given)):
        kept[k] = given[k] / pulse.step
    to, numbers, weights = work.power.ctypes.data, watts.ctypes.data, work.weights.ctypes.data
    for place in range(first, last, SIXTEEN):
        earliest, latest = max(begin, place - half), min(end, place + SIXTEEN + half)
        if earliest < latest:
            own = weights + 8 * (SIXTEEN - 1 + half + place - earliest)
            fold_sixteen(to + 8 * place, numbers + 8 * earliest, latest - earliest, own)
        else:
            work.power[place : place + SIXTEEN] = 0.0


@njit(**ACCESS)
def end_haze(pulse: Pulse, under: Histograms, at: int, part: int, way: float) -> None:
    """Take note of the optical path after which a ray meets no more haze."""
    under.ends[at, part] = place_of(pulse, way)


@njit(**ACCESS)
def haze_reach(pulse: Pulse, under: Histograms, at: int) -> tuple[int, int]:
    """To which sample all rays of a pulse are in the haze, and to which any of them is."""
    filled, half = len(pulse.haze), len(pulse.shape) // 2
    nearest, farthest, ends = math.inf, 0.0, under.ends[at]
    for part in range(len(ends)):
        nearest, farthest = min(nearest, ends[part]), max(farthest, ends[part])
    whole = max(int(min(nearest, float(filled + half))) - half, 0)
    return min(whole, filled), min(int(min(farthest, float(filled))) + half + 1, filled)


@njit(**APART)
def add_haze(pulse: Pulse, under: Histograms, at: int, work: Work, whole: int, last: int) -> None:
    """Add what haze sends back to power; ``signal`` is used for the shares under way."""
    power, haze, half = work.power, pulse.haze, len(pulse.shape) // 2
    for k in range(whole):
        power[k] += haze[k]
    under_way, ends = work.signal, under.ends[at]
    under_way[whole:last] = 0.0
    for part in range(len(ends)):
        share, end = pulse.share[part], int(min(ends[part], float(last + half + 1)))
        for k in range(whole, min(end - half, last)):
            under_way[k] += share
        begin = max(end - half, whole)
        for k in range(begin, min(end + half + 1, last)):
            under_way[k] += share * pulse.passed[half + end - k]
    for k in range(whole, last):
        power[k] += haze[k] * under_way[k]


@njit(cache=True, nogil=True)
def pack_samples(
    samples: NDArray[np.float32],
    spans: NDArray[np.int32],
    places: NDArray[np.int64],
    packed: NDArray[np.float32],
) -> None:
    """Bring the kept samples of all pulses together, in the order of the pulses."""
    filled = 0
    for row in range(len(spans)):
        count = spans[row, 1]
        own, to = samples[places[row] :], packed[filled : filled + count]
        for k in range(count):
            to[k] = own[k]
        filled += count


@njit(cache=True, error_model="numpy")
def spots(rho: Floats, z: float, power: float, waist: float, rayleigh: float) -> Floats:
    """Irradiance of a Gaussian beam at distances rho from its axis, z from the waist, in W/m2."""
    squared = waist * waist * (1.0 + (z / rayleigh) ** 2)
    return 2.0 * power / (math.pi * squared) * np.exp(-2.0 * rho * rho / squared)
