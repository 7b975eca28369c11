r"""The rays of some pulses at a time, in full packets, from the aperture to the histograms.

Most rays end at the first surface: packets are filled with the rays of several pulses, and what
these send back is added at once, step by step for a whole packet (as ``lidar.first_hits`` does).
Packets are filled row by row in strips of ``STRIP`` columns: pulses that are sent side by side fall
next to one another, so that the rays of two pulses in one packet meet the same facets. Pulses one
above the other fall metres apart on the ground; a packet of those took a quarter longer.

Rays that go on from there (mirrors, glass), that air answers, and all of a scene with volumes are
followed afterwards, pulse by pulse, by the tree of rays; they are traced once more then.

So what is added to a histogram, and in which order, depends on its pulse alone: first the rays
that end at once, then the others with their branches, each in the order of the rays. Which pulses
are under way together does not matter.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.lidar.beams import Lanes, jittered, new_lanes, nominal
from sensor_models.kernels.lidar.first_hits import MIRRORED, NUMBERS, WEIGHT, meet, mirror
from sensor_models.kernels.lidar.layout import Detector, Scan, knot_of, put_pose
from sensor_models.kernels.light.facing import COSINE as COSINE_THERE
from sensor_models.kernels.light.facing import (
    LENGTH,
    STRENGTH,
    SURFACE,
    Facing,
    new_facing,
    number_of,
    toward_of,
)
from sensor_models.kernels.light.media import MEDIUM_IOR, RETURN_PROBABILITY
from sensor_models.kernels.light.paths import DEPTH_LIMIT, Path
from sensor_models.kernels.light.segments import (
    WORD_SHIFT,
    draws_at_sensor,
    may_answer,
)
from sensor_models.kernels.light.surfaces import DIELECTRIC, KIND
from sensor_models.kernels.light.tree import (
    Tree,
    arrive,
    branches_left,
    farthest,
    go_on,
    send,
    set_out,
    trace,
)
from sensor_models.kernels.math.rotations import Triple
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.hits import hit_entity, hit_label
from sensor_models.kernels.tracing.packets import (
    ACCESS,
    ALONG,
    PLACE,
    SENT,
    T_MIN,
    VALID,
    Packet,
    drop_ray,
)
from sensor_models.kernels.tracing.rays import nearest_allowed, set_rays, trace_surfaces
from sensor_models.kernels.tracing.scene_view import SceneView
from sensor_models.kernels.tracing.sensor_poses import position_of, rotate
from sensor_models.kernels.waveform.histogram import (
    add_energy,
    clear,
    end_haze,
    energy_of,
    place_of,
    see_light,
    take_in,
)
from sensor_models.kernels.waveform.layout import (
    ATMOSPHERIC,
    COSINE,
    ENTITY,
    LABEL,
    MATERIAL,
    NODE,
    NORMAL_X,
    Histograms,
    Pulse,
    Receiver,
)

APART = {**ACCESS, "forceinline": False}

#: Columns of a strip.
STRIP = 16

# Further rows of the numbers of what is hit first: a ray's share of the pulse and its cosine to the
# axis, the energy that comes back and its place in the gate, and whether the ray ends there, or
# goes on: 1 or 0.
SHARE, TOWARD_AXIS, ENERGY, ARRIVES, ENDS, GOES_ON = (NUMBERS + k * WIDTH for k in range(6))
NUMBERS_OF_PULSES = NUMBERS + 6 * WIDTH


class Bundle(NamedTuple):
    """A packet of rays of pulses, and what they hit first."""

    lanes: Lanes  # ``place`` is that of the pulse
    part: NDArray[np.int64]  # (WIDTH,): which ray of its pulse each is
    first: Facing


@njit(cache=True)
def new_bundle(scan: Scan) -> Bundle:
    """Room for a packet."""
    return Bundle(new_lanes(scan), np.zeros(WIDTH, np.int64), new_facing(NUMBERS_OF_PULSES))


@njit(**ACCESS)
def pulse_at(scan: Scan, number: int) -> int:
    """The ray of a pulse of the columns of a scan, counted in the order in which they are made."""
    in_strip = STRIP * scan.rows
    strip = number // in_strip
    place, column = number - strip * in_strip, scan.first + strip * STRIP
    across = min(STRIP, scan.last - column)
    row = place // across
    return (column + place - row * across) * scan.rows + row


@njit(**ACCESS)
def to_the_left(axis: Triple) -> Triple:
    """The level direction to the left of an axis."""
    x, y, _ = axis
    level = np.sqrt(x * x + y * y)
    return (-y / level, x / level, 0.0) if level > 1e-9 else (0.0, 1.0, 0.0)


@njit(**ACCESS)
def begin_pulse(scan: Scan, detector: Detector, under: Histograms, at: int, ray: int) -> None:
    """Say where a pulse goes, at a place of those that are under way."""
    clear(under, at)
    under.ray[at] = ray
    pose, frame = under.pose[at], under.frame[at]
    put_pose(scan, ray, pose)
    jitters = scan.sigma_azimuth > 0.0 or scan.sigma_elevation > 0.0
    axis = jittered(scan, detector, ray) if jitters else nominal(scan, ray)
    left = to_the_left(axis)
    x, y, z = axis
    a, b, _ = left
    up = (-z * b, z * a, x * b - y * a)
    frame[0], frame[1], frame[2] = rotate(pose, axis)
    frame[3], frame[4], frame[5] = rotate(pose, left)
    frame[6], frame[7], frame[8] = rotate(pose, up)


@njit(**ACCESS)
def aim(pulse: Pulse, under: Histograms, at: int, part: int) -> tuple[Triple, Triple]:
    """Where a ray of a pulse starts and goes."""
    pose, frame = under.pose[at], under.frame[at]
    left, up = pulse.offset[part, 0], pulse.offset[part, 1]
    origin = (
        pose[9] + left * frame[3] + up * frame[6],
        pose[10] + left * frame[4] + up * frame[7],
        pose[11] + left * frame[5] + up * frame[8],
    )
    left, up, scale = pulse.slope[part, 0], pulse.slope[part, 1], pulse.toward[part]
    along = (
        scale * (frame[0] + left * frame[3] + up * frame[6]),
        scale * (frame[1] + left * frame[4] + up * frame[7]),
        scale * (frame[2] + left * frame[5] + up * frame[8]),
    )
    return origin, along


@njit(**ACCESS)
def fill(
    view: SceneView,
    path: Path,
    scan: Scan,
    pulse: Pulse,
    under: Histograms,
    packet: Packet,
    bundle: Bundle,
    index: int,
    held: int,
) -> None:
    """Put the rays of a packet into it: of all pulses that are under way, one after the other."""
    lanes, parts, rays = bundle.lanes, len(pulse.share), packet.doubles
    own, words = bundle.first.numbers, packet.words
    at = index * WIDTH // parts
    part = index * WIDTH - at * parts
    block, draws, misty = -1, (1.0, 1.0, 1.0, 1.0), may_answer(path)
    if part + WIDTH <= parts and not misty:
        fill_of_one(scan, pulse, under, packet, bundle, at, part)
        send_filled(view, path, under, packet, lanes)
        return
    for lane in range(WIDTH):
        if part == parts:
            at, part = at + 1, 0
        if at >= held:
            lanes.ray[lane], words[VALID + lane] = -1, 0
            continue
        ray = under.ray[at]
        lanes.ray[lane], lanes.place[lane], bundle.part[lane] = ray, at, part
        origin, along = aim(pulse, under, at, part)
        for k in range(3):
            rays[PLACE + k * WIDTH + lane], rays[ALONG + k * WIDTH + lane] = origin[k], along[k]
        rays[SENT + lane], words[VALID + lane] = scan.offset[ray], -1
        own[SHARE + lane], own[TOWARD_AXIS + lane] = pulse.share[part], pulse.toward[part]
        number = ray * parts + part
        if misty and number >> WORD_SHIFT != block:
            block = number >> WORD_SHIFT
            draws = draws_at_sensor(path, block)
        lanes.air[lane] = draws[number & (1 << WORD_SHIFT) - 1]
        part += 1
    send_filled(view, path, under, packet, lanes)


@njit(**ACCESS)
def send_filled(
    view: SceneView, path: Path, under: Histograms, packet: Packet, lanes: Lanes
) -> None:
    """Make the rays of a filled packet ready to be traced."""
    set_rays(view, packet, farthest(view, path, 0, 0.0))
    keep_off(view, under, packet, lanes)


@njit(**ACCESS)
def fill_of_one(
    scan: Scan,
    pulse: Pulse,
    under: Histograms,
    packet: Packet,
    bundle: Bundle,
    at: int,
    part: int,
) -> None:
    """``fill`` from a ray of a pulse on that has the whole packet, in vectors; air answers none."""
    lanes, rays, words, own = bundle.lanes, packet.doubles, packet.words, bundle.first.numbers
    ray, pose, frame = under.ray[at], under.pose[at], under.frame[at]
    x, y, z, a, b, c = pose[9], pose[10], pose[11], frame[0], frame[1], frame[2]
    d, e, f, g, h, i = frame[3], frame[4], frame[5], frame[6], frame[7], frame[8]
    offset, slope = pulse.offset[part : part + WIDTH], pulse.slope[part : part + WIDTH]
    toward, share = pulse.toward[part : part + WIDTH], pulse.share[part : part + WIDTH]
    time = scan.offset[ray]
    for lane in range(WIDTH):
        left, up = offset[lane, 0], offset[lane, 1]
        rays[PLACE + lane] = x + left * d + up * g
        rays[PLACE + WIDTH + lane] = y + left * e + up * h
        rays[PLACE + 2 * WIDTH + lane] = z + left * f + up * i
    for lane in range(WIDTH):
        left, up, scale = slope[lane, 0], slope[lane, 1], toward[lane]
        rays[ALONG + lane] = scale * (a + left * d + up * g)
        rays[ALONG + WIDTH + lane] = scale * (b + left * e + up * h)
        rays[ALONG + 2 * WIDTH + lane] = scale * (c + left * f + up * i)
    for lane in range(WIDTH):
        lanes.ray[lane], lanes.place[lane], lanes.air[lane] = ray, at, 1.0
        bundle.part[lane], words[VALID + lane], rays[SENT + lane] = part + lane, -1, time
        own[SHARE + lane], own[TOWARD_AXIS + lane] = share[lane], toward[lane]


@njit(**ACCESS)
def keep_off(view: SceneView, under: Histograms, packet: Packet, lanes: Lanes) -> None:
    """Have the rays of a pulse begin to hit from the same length on, by where the sensor is."""
    held, t_min = -1, 0.0
    for lane in range(WIDTH):
        at = lanes.place[lane]
        if lanes.ray[lane] >= 0 and at != held:
            held, t_min = at, nearest_allowed(view, position_of(under.pose[at]))
        packet.floats[T_MIN + lane] = t_min


@njit(**ACCESS)
def judge(path: Path, bundle: Bundle, lost: NDArray[np.int64]) -> int:
    """Say of each ray whether it goes on from the first surface, or ends there; how many go on.

    It goes on, too, if air answers it.
    """
    first, lanes, own = bundle.first, bundle.lanes, bundle.first.numbers
    index, deep = path.media[0, MEDIUM_IOR], path.most_depth > 0
    air, going, stopped = path.media[0, RETURN_PROBABILITY], 0, 0
    for lane in range(WIDTH):
        sent, answered = lanes.ray[lane] >= 0, lanes.air[lane] < air
        met = sent & first.hit[lane] & ~answered
        glass = own[SURFACE + KIND * WIDTH + lane] == DIELECTRIC
        mirrors = met & ~glass & (own[MIRRORED + lane] > 0.0)
        goes_on = (sent & answered) | (met & glass) | (mirrors & deep)
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
    for lane in range(WIDTH):
        length, weight = own[LENGTH + lane], own[WEIGHT + lane]
        ray = own[SHARE + lane], own[TOWARD_AXIS + lane]
        own[ENERGY + lane] = energy_of(pulse, *ray, length / index, weight, own[STRENGTH + lane])
        own[ARRIVES + lane] = place_of(pulse, index * length)


@njit(**ACCESS)
def add_hits(
    view: SceneView,
    path: Path,
    pulse: Pulse,
    receiver: Receiver,
    under: Histograms,
    tree: Tree,
    bundle: Bundle,
) -> None:
    """Add what the first surfaces send back; rays that go on are put on the list of their pulse."""
    lanes, own = bundle.lanes, bundle.first.numbers
    if len(pulse.haze) > 0:
        note_haze(path, pulse, under, bundle)
    if judge(path, bundle, tree.lost) > 0:
        for lane in range(WIDTH):
            if own[GOES_ON + lane] > 0.0:
                at = lanes.place[lane]
                under.goes_on[at, under.going[at]] = bundle.part[lane]
                under.going[at] += 1
    if receiver.band_area > 0.0:
        shine_on(pulse, receiver, under, bundle)
    for lane in range(WIDTH):
        if own[ENDS + lane] > 0.0:
            place, energy = own[ARRIVES + lane], own[ENERGY + lane]
            k = add_energy(pulse, under, lanes.place[lane], place, energy)
            if k >= 0:
                remember_hit(view, tree.packet, bundle, lane, under, k)


@njit(**APART)
def follow(
    view: SceneView,
    path: Path,
    scan: Scan,
    pulse: Pulse,
    receiver: Receiver,
    under: Histograms,
    tree: Tree,
    at: int,
) -> None:
    """Follow the rays of a pulse that go on, and add up what comes back."""
    ray, parts = under.ray[at], len(pulse.share)
    time, knot = scan.offset[ray], knot_of(scan, ray)
    for begin in range(0, under.going[at], WIDTH):
        for lane in range(WIDTH):
            if begin + lane >= under.going[at]:
                drop_ray(tree.packet, lane)
                continue
            part = under.goes_on[at, begin + lane]
            origin, along = aim(pulse, under, at, part)
            number = ray * parts + part
            set_out(path, tree, lane, part, number, origin, along, 1.0, time, scan.inside, knot)
            send(view, path, tree, lane)
        trace(view, tree)
        arrive(view, path, tree)
        take_in(tree, pulse, receiver, under, at)
        while branches_left(tree) > 0:
            go_on(view, path, tree)
            take_in(tree, pulse, receiver, under, at)


@njit(**ACCESS)
def send_pulses(
    view: SceneView,
    path: Path,
    scan: Scan,
    pulse: Pulse,
    receiver: Receiver,
    under: Histograms,
    tree: Tree,
    bundle: Bundle,
    held: int,
) -> None:
    """Send all rays of the first so many pulses, and add up what comes back of each."""
    parts = len(pulse.share)
    if view.volumes == 0:
        for index in range((held * parts + WIDTH - 1) // WIDTH):
            fill(view, path, scan, pulse, under, tree.packet, bundle, index, held)
            trace_surfaces(view, tree.packet, True)
            meet(view, path, tree.packet, bundle.first)
            mirror(path, bundle.first)
            weigh(path, pulse, bundle.first)
            add_hits(view, path, pulse, receiver, under, tree, bundle)
    else:
        for at in range(held):
            under.going[at] = parts
            for part in range(parts):
                under.goes_on[at, part] = part
    for at in range(held):
        if under.going[at] > 0:
            follow(view, path, scan, pulse, receiver, under, tree, at)
