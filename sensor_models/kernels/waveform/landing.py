"""What the rays of a packet hit first, and what of that comes to the histograms of their pulses.

Most packets meet one owner with all their rays, and many of these one material: they are looked up
together (``look_up_alike``), and all that is worked out of them is done in vectors, step by step
for the whole packet, as ``light.facing`` says. Sums are made ray by ray; those of a packet that
falls into few samples of one pulse stay in registers meanwhile (``simd``).
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.lidar.beams import Lanes, new_lanes
from sensor_models.kernels.lidar.first_hits import MIRRORED, NUMBERS, WEIGHT, mirror, shine
from sensor_models.kernels.lidar.layout import Scan
from sensor_models.kernels.light.facing import COSINE as COSINE_THERE
from sensor_models.kernels.light.facing import (
    LENGTH,
    OUTWARD,
    STRENGTH,
    SURFACE,
    Facing,
    face,
    look_up,
    new_facing,
    number_of,
    toward_of,
)
from sensor_models.kernels.light.media import MEDIUM_IOR, RETURN_PROBABILITY
from sensor_models.kernels.light.paths import DEPTH_LIMIT, Path
from sensor_models.kernels.light.surfaces import DIELECTRIC, KIND, SURFACE_SIZE
from sensor_models.kernels.math.memory import int32_at, uint16_at
from sensor_models.kernels.tracing.embree import INVALID_ID, WIDTH
from sensor_models.kernels.tracing.hits import hit_entity, hit_label, hit_owner
from sensor_models.kernels.tracing.packets import (
    ACCESS,
    BEST_T,
    GEOMETRY,
    INSTANCE,
    NORMAL,
    PRIMITIVE,
    VALID,
    Packet,
)
from sensor_models.kernels.tracing.scene_view import (
    CORNER_ORDERS,
    FACE_MATERIAL,
    TURNED_OVER,
    SceneView,
)
from sensor_models.kernels.waveform.histogram import (
    add_energy,
    add_to_samples,
    end_haze,
    energy_of,
    place_of,
    see_light,
    touch,
)
from sensor_models.kernels.waveform.layout import (
    ATMOSPHERIC,
    COSINE,
    ENTITY,
    LABEL,
    MATERIAL,
    NODE,
    NORMAL_X,
    THREE_SAMPLES,
    Histograms,
    Pulse,
    Receiver,
)
from sensor_models.kernels.waveform.simd import EIGHT, add_to_eight

APART = {**ACCESS, "forceinline": False}

# Further rows of the numbers of what is hit first: a ray's share of the pulse and its cosine to the
# axis, and the place in the gate of what comes back; the sample of that (-1: of none), what the one
# before it, itself and the one after it get, and all of the energy (``simd.add_to_eight``); then, 1
# or 0, whether the ray met a surface, whether air answers it, whether it ends there, or goes on.
SHARE, TOWARD_AXIS, ARRIVES = (NUMBERS + k * WIDTH for k in range(3))
SAMPLE, BEFORE, WITHIN, AFTER, ENERGY = (NUMBERS + (3 + k) * WIDTH for k in range(5))
MET, AIR, ENDS, GOES_ON = (NUMBERS + (8 + k) * WIDTH for k in range(4))
NUMBERS_OF_PULSES = NUMBERS + 12 * WIDTH


class Bundle(NamedTuple):
    """A packet of rays of pulses, and what they hit first."""

    lanes: Lanes  # ``place`` is that of the pulse
    part: NDArray[np.int64]  # (WIDTH,): which ray of its pulse each is
    who: NDArray[np.float64]  # (EIGHT,): the strongest ray of each of some samples
    first: Facing


@njit(cache=True)
def new_bundle(scan: Scan) -> Bundle:
    """Room for a packet."""
    part, who = np.zeros(WIDTH, np.int64), np.zeros(EIGHT)
    return Bundle(new_lanes(scan), part, who, new_facing(NUMBERS_OF_PULSES))


@njit(**ACCESS)
def is_alike(view: SceneView, packet: Packet) -> bool:
    """Whether all rays of a packet hit one owner that does not move, with normals as they are."""
    words = packet.words
    geometry, instance, other = words[GEOMETRY], words[INSTANCE], 0
    if geometry == INVALID_ID:
        return False
    for lane in range(WIDTH):
        same = (words[GEOMETRY + lane] == geometry) & (words[INSTANCE + lane] == instance)
        other += 0 if same & (words[VALID + lane] != 0) else 1
    owner = hit_owner(packet, 0)
    return bool(other == 0 and view.in_place[owner] != 0.0 and view.body_of[owner] < 0)


@njit(**ACCESS)
def look_up_alike(
    view: SceneView, surfaces: NDArray[np.float64], packet: Packet, seen: Facing
) -> None:
    """``look_up`` for a packet whose rays are alike: the same numbers, in vectors."""
    own, words, floats = seen.numbers, packet.words, packet.floats
    owner, first, other = hit_owner(packet, 0), words[PRIMITIVE], 0
    for lane in range(WIDTH):
        other += 1 if words[PRIMITIVE + lane] != first else 0
    materials, orders = view.tables[owner, FACE_MATERIAL], view.tables[owner, CORNER_ORDERS]
    factor, one = np.float64(view.in_place[owner]), int32_at(materials, first)
    mixed = False
    if other == 0:
        sign = -factor if uint16_at(orders, first) >= TURNED_OVER else factor
        for lane in range(WIDTH):
            own[MET + lane] = sign
    else:
        for lane in range(WIDTH):
            primitive = words[PRIMITIVE + lane]
            material = int32_at(materials, primitive)
            mixed = mixed | (material != one)
            seen.material[lane] = material
            turned = uint16_at(orders, primitive) >= TURNED_OVER
            own[MET + lane] = -factor if turned else factor
    for lane in range(WIDTH):
        sign = own[MET + lane]
        own[OUTWARD + lane] = sign * np.float64(floats[NORMAL + lane])
        own[OUTWARD + WIDTH + lane] = sign * np.float64(floats[NORMAL + WIDTH + lane])
        own[OUTWARD + 2 * WIDTH + lane] = sign * np.float64(floats[NORMAL + 2 * WIDTH + lane])
        own[LENGTH + lane] = floats[BEST_T + lane]
    if mixed:
        for lane in range(WIDTH):
            for k in range(SURFACE_SIZE):
                own[SURFACE + k * WIDTH + lane] = surfaces[seen.material[lane], k]
        return
    for lane in range(WIDTH):
        seen.material[lane] = one
    for k in range(SURFACE_SIZE):
        number = surfaces[one, k]
        for lane in range(WIDTH):
            own[SURFACE + k * WIDTH + lane] = number


@njit(**ACCESS)
def meet(view: SceneView, path: Path, packet: Packet, bundle: Bundle) -> None:
    """What the rays of a packet hit first, how it lies, and what comes back from there."""
    first, lanes, own = bundle.first, bundle.lanes, bundle.first.numbers
    answering = path.media[0, RETURN_PROBABILITY]
    if answering == 0.0 and is_alike(view, packet):
        look_up_alike(view, path.surfaces, packet, first)
        for lane in range(WIDTH):
            own[MET + lane], own[AIR + lane] = 1.0, 0.0
        for lane in range(WIDTH):
            first.hit[lane] = True
    else:
        look_up(view, path.surfaces, packet, first)
        for lane in range(WIDTH):
            sent, answered = lanes.ray[lane] >= 0, lanes.air[lane] < answering
            own[MET + lane] = 1.0 if sent & first.hit[lane] & ~answered else 0.0
            own[AIR + lane] = 1.0 if sent & answered else 0.0
    face(packet, first)
    shine(path, packet, first)
    mirror(path, first)


@njit(**ACCESS)
def judge(path: Path, bundle: Bundle, lost: NDArray[np.int64]) -> int:
    """Say of each ray whether it goes on from the first surface, or ends there; how many go on.

    It goes on, too, if air answers it.
    """
    own, index = bundle.first.numbers, path.media[0, MEDIUM_IOR]
    deep, going, stopped = path.most_depth > 0, 0, 0
    for lane in range(WIDTH):
        met, answered = own[MET + lane] != 0.0, own[AIR + lane] != 0.0
        glass = own[SURFACE + KIND * WIDTH + lane] == DIELECTRIC
        mirrors = met & ~glass & (own[MIRRORED + lane] > 0.0)
        goes_on = answered | (met & glass) | (mirrors & deep)
        near = index * own[LENGTH + lane] <= path.most_range
        own[GOES_ON + lane] = 1.0 if goes_on else 0.0
        own[ENDS + lane] = 1.0 if met & near & ~goes_on else 0.0
        going += 1 if goes_on else 0
        stopped += 1 if mirrors & ~goes_on else 0
    lost[DEPTH_LIMIT] += stopped
    return going


@njit(**ACCESS)
def shine_on(pulse: Pulse, receiver: Receiver, under: Histograms, bundle: Bundle) -> None:
    """Add the light of sun and sky that the first surfaces send back."""
    first, own, sun = bundle.first, bundle.first.numbers, receiver.sun
    for lane in range(WIDTH):
        if own[ENDS + lane] == 0.0:
            continue
        strength, facing = number_of(first, STRENGTH, lane), number_of(first, COSINE_THERE, lane)
        toward = toward_of(first, lane)
        cosine = toward[0] * sun[0] + toward[1] * sun[1] + toward[2] * sun[2]
        at, part = bundle.lanes.place[lane], bundle.part[lane]
        see_light(pulse, receiver, under, at, part, strength, facing, cosine)


@njit(**ACCESS)
def note_haze(path: Path, pulse: Pulse, under: Histograms, bundle: Bundle) -> None:
    """Take note of where haze ends on the way of each ray."""
    first, lanes, index = bundle.first, bundle.lanes, path.media[0, MEDIUM_IOR]
    for lane in range(WIDTH):
        if lanes.ray[lane] < 0:
            continue
        at, part = lanes.place[lane], bundle.part[lane]
        under.ends[at, part] = math.inf
        if first.hit[lane]:
            end_haze(pulse, under, at, part, index * number_of(first, LENGTH, lane))


@njit(**ACCESS)
def remember_hit(
    view: SceneView, packet: Packet, bundle: Bundle, lane: int, under: Histograms, k: int
) -> None:
    """Take note of what the strongest arrival of a bin comes from."""
    first, at = bundle.first, bundle.lanes.place[lane]
    own, own_ids = under.numbers[at, k], under.ids[at, k]
    own[COSINE] = number_of(first, COSINE_THERE, lane)
    toward = toward_of(first, lane)
    for axis in range(3):
        own[NORMAL_X + axis] = toward[axis]
    own_ids[ENTITY], own_ids[LABEL] = hit_entity(view, packet, lane), hit_label(view, packet, lane)
    own_ids[MATERIAL], own_ids[NODE] = first.material[lane], 0
    own_ids[ATMOSPHERIC] = 0


@njit(**ACCESS)
def weigh(path: Path, pulse: Pulse, first: Facing) -> None:
    """Set the energy that comes back of the first surfaces, and when."""
    own, index = first.numbers, path.media[0, MEDIUM_IOR]
    reduced = 1.0 / index
    for lane in range(WIDTH):
        length, weight = own[LENGTH + lane], own[WEIGHT + lane]
        ray = own[SHARE + lane], own[TOWARD_AXIS + lane]
        way, strength = reduced * length, own[STRENGTH + lane]
        own[ENERGY + lane] = energy_of(pulse, *ray, way, weight, strength)
        own[ARRIVES + lane] = place_of(pulse, index * length)


@njit(**ACCESS)
def share_out(pulse: Pulse, first: Facing) -> None:
    """Set which samples the energy of the rays that end goes to, as ``add_energy`` shares it."""
    own, samples = first.numbers, float(pulse.samples)
    for lane in range(WIDTH):
        place, energy = own[ARRIVES + lane], own[ENERGY + lane]
        counts = (own[ENDS + lane] > 0.0) & (energy > 0.0) & (place >= 0.0) & (place < samples)
        whole = math.floor(place)
        ahead = place - whole
        behind = 1.0 - ahead
        own[BEFORE + lane] = 0.5 * behind * behind * energy
        own[WITHIN + lane] = (0.5 + ahead * behind) * energy
        own[AFTER + lane] = 0.5 * ahead * ahead * energy
        own[SAMPLE + lane] = whole if counts else -1.0


@njit(**ACCESS)
def span_of(bundle: Bundle, pulse: Pulse) -> tuple[float, float]:
    """The first sample that a packet's rays come to, and how many further ones they do.

    -1 for the former if these are not few, those of several pulses, or at the ends of the gate.
    """
    own, places = bundle.first.numbers, bundle.lanes.place
    low, high, at, others = math.inf, -1.0, places[0], 0
    for lane in range(WIDTH):
        sample = own[SAMPLE + lane]
        low = min(low, sample if sample >= 0.0 else math.inf)
        high = max(high, sample)
    for lane in range(WIDTH):
        others += 1 if places[lane] != at else 0
    inside = low >= 1.0 and low + EIGHT - 1 < pulse.samples
    if others == 0 and inside and high - low < EIGHT - 2:
        return low, high - low
    return -1.0, 0.0


@njit(**ACCESS)
def add_shares(
    view: SceneView, pulse: Pulse, under: Histograms, packet: Packet, bundle: Bundle
) -> None:
    """Add what ``share_out`` has set, and take note of the strongest of each sample."""
    own, places, who = bundle.first.numbers, bundle.lanes.place, bundle.who
    low, further = span_of(bundle, pulse)
    if low >= 0.0:
        at, first = places[0], int(low) - 1
        sums, best = under.energy[at, first:].ctypes.data, under.best[at, first:].ctypes.data
        rows = own[SAMPLE:].ctypes.data
        add_to_eight(sums, best, who.ctypes.data, float(first), rows, WIDTH)
        touch(under, at, first, first + 2 + int(further))
        for k in range(1, int(further) + 2):
            if who[k] >= 0.0:
                remember_hit(view, packet, bundle, int(who[k]), under, first + k)
        return
    for lane in range(WIDTH):
        if own[SAMPLE + lane] >= 0.0:
            at, k, energy = places[lane], int(own[SAMPLE + lane]), own[ENERGY + lane]
            parts = own[BEFORE + lane], own[WITHIN + lane], own[AFTER + lane]
            add_to_samples(pulse, under, at, k, parts)
            if energy > under.best[at, k]:
                under.best[at, k] = energy
                remember_hit(view, packet, bundle, lane, under, k)


@njit(**ACCESS)
def add_hits(
    view: SceneView,
    path: Path,
    pulse: Pulse,
    receiver: Receiver,
    under: Histograms,
    packet: Packet,
    lost: NDArray[np.int64],
    bundle: Bundle,
) -> None:
    """Add what the first surfaces send back; rays that go on are put on the list of their pulse."""
    lanes, own = bundle.lanes, bundle.first.numbers
    if len(pulse.haze) > 0:
        note_haze(path, pulse, under, bundle)
    if judge(path, bundle, lost) > 0:
        for lane in range(WIDTH):
            if own[GOES_ON + lane] > 0.0:
                at = lanes.place[lane]
                under.goes_on[at, under.going[at]] = bundle.part[lane]
                under.going[at] += 1
    if receiver.band_area > 0.0:
        shine_on(pulse, receiver, under, bundle)
    weigh(path, pulse, bundle.first)
    if pulse.sharing == THREE_SAMPLES:
        share_out(pulse, bundle.first)
        add_shares(view, pulse, under, packet, bundle)
        return
    for lane in range(WIDTH):
        if own[ENDS + lane] > 0.0:
            place, energy = own[ARRIVES + lane], own[ENERGY + lane]
            k = add_energy(pulse, under, lanes.place[lane], place, energy)
            if k >= 0:
                remember_hit(view, packet, bundle, lane, under, k)
