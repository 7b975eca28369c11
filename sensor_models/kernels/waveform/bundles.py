r"""The rays of some pulses at a time, in full packets, from the aperture to the histograms.

Most rays end at the first surface: what these send back is added at once (``landing``). A packet
has rays of one pulse as long as these fill it, as they meet the same facets; what is left of the
pulses under way goes into packets together. Pulses follow one another row by row in strips of
``STRIP`` columns: those that are sent side by side fall next to one another. Pulses one above the
other fall metres apart on the ground; a packet of those took a quarter longer.

Rays that go on from there (mirrors, glass), that air answers, and all of a scene with volumes are
followed afterwards, pulse by pulse, by the tree of rays; they are traced once more then.

So what is added to a histogram, and in which order, depends on its pulse alone: first the rays
that end at once, then the others with their branches, each in the order of the rays. Which pulses
are under way together does not matter.
"""

import math

import numpy as np

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.lidar.beams import Lanes, jittered, nominal
from sensor_models.kernels.lidar.layout import Detector, Scan, knot_of, put_pose
from sensor_models.kernels.light.paths import Path
from sensor_models.kernels.light.segments import (
    WORD_SHIFT,
    draws_at_sensor,
    may_answer,
)
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
from sensor_models.kernels.tracing.packets import (
    ACCESS,
    ALONG,
    DIRECTION,
    ORIGIN,
    PLACE,
    SENT,
    T_MAX,
    T_MIN,
    VALID,
    Packet,
    drop_ray,
)
from sensor_models.kernels.tracing.rays import nearest_allowed, set_rays, trace_surfaces
from sensor_models.kernels.tracing.scene_view import SceneView
from sensor_models.kernels.tracing.sensor_poses import position_of, rotate
from sensor_models.kernels.waveform.histogram import clear, take_in
from sensor_models.kernels.waveform.landing import (
    SHARE,
    TOWARD_AXIS,
    Bundle,
    add_hits,
    meet,
)
from sensor_models.kernels.waveform.layout import Histograms, Pulse, Receiver

APART = {**ACCESS, "forceinline": False}

#: Columns of a strip.
STRIP = 16


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
    begin: int,
    index: int,
    held: int,
) -> None:
    """Put rays into a packet: of all pulses under way, one after the other, from a ray on."""
    lanes, count, rays = bundle.lanes, len(pulse.share) - begin, packet.doubles
    own, words = bundle.first.numbers, packet.words
    at = index * WIDTH // count
    part = begin + index * WIDTH - at * count
    block, draws, misty = -1, (1.0, 1.0, 1.0, 1.0), may_answer(path)
    for lane in range(WIDTH):
        if part == len(pulse.share):
            at, part = at + 1, begin
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
        number = ray * len(pulse.share) + part
        if misty and number >> WORD_SHIFT != block:
            block = number >> WORD_SHIFT
            draws = draws_at_sensor(path, block)
        lanes.air[lane] = draws[number & (1 << WORD_SHIFT) - 1]
        part += 1
    set_rays(view, packet, farthest(view, path, 0, 0.0))
    keep_off(view, under, packet, lanes)


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
def fill_of_one(
    view: SceneView,
    scan: Scan,
    pulse: Pulse,
    under: Histograms,
    packet: Packet,
    bundle: Bundle,
    at: int,
    part: int,
    reach: float,
) -> None:
    """``fill`` with rays of one pulse, from one of them on, in vectors; air answers none."""
    lanes, rays, own, ray = bundle.lanes, packet.doubles, bundle.first.numbers, under.ray[at]
    pose, frame, time = under.pose[at], under.frame[at], scan.offset[ray]
    x, y, z, a, b, c = pose[9], pose[10], pose[11], frame[0], frame[1], frame[2]
    d, e, f, g, h, i = frame[3], frame[4], frame[5], frame[6], frame[7], frame[8]
    offset, slope = pulse.offset[part : part + WIDTH], pulse.slope[part : part + WIDTH]
    toward, share = pulse.toward[part : part + WIDTH], pulse.share[part : part + WIDTH]
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
    # A loop for each array that is written to: with several the compiler gives up.
    for lane in range(WIDTH):
        own[SHARE + lane], own[TOWARD_AXIS + lane] = share[lane], toward[lane]
    for lane in range(WIDTH):
        rays[SENT + lane] = time
    for lane in range(WIDTH):
        lanes.ray[lane] = ray
    for lane in range(WIDTH):
        lanes.place[lane] = at
    for lane in range(WIDTH):
        bundle.part[lane] = part + lane
    begin_rays(view, packet, (x, y, z), (a, b, c), reach)


@njit(**ACCESS)
def begin_rays(view: SceneView, packet: Packet, origin: Triple, axis: Triple, reach: float) -> None:
    """``set_rays`` for the rays of one pulse: the packet's float64 rows have all of them."""
    rays, floats, words = packet.doubles, packet.floats, packet.words
    size = abs(origin[0]) + abs(origin[1]) + abs(origin[2])
    good = size + abs(axis[0]) + abs(axis[1]) + abs(axis[2]) < math.inf
    t_min, t_max = np.float32(nearest_allowed(view, origin)), np.float32(reach)
    east, north, up, valid = view.offset[0], view.offset[1], view.offset[2], -1 if good else 0
    for lane in range(WIDTH):
        floats[ORIGIN + lane] = rays[PLACE + lane] - east
        floats[ORIGIN + WIDTH + lane] = rays[PLACE + WIDTH + lane] - north
        floats[ORIGIN + 2 * WIDTH + lane] = rays[PLACE + 2 * WIDTH + lane] - up
        floats[DIRECTION + lane] = rays[ALONG + lane]
        floats[DIRECTION + WIDTH + lane] = rays[ALONG + WIDTH + lane]
        floats[DIRECTION + 2 * WIDTH + lane] = rays[ALONG + 2 * WIDTH + lane]
    for lane in range(WIDTH):
        floats[T_MIN + lane], floats[T_MAX + lane] = t_min, t_max
    for lane in range(WIDTH):
        words[VALID + lane] = valid


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
def send_to_surfaces(
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
    """Send all rays to the first surface: full packets of each pulse, then what is left of all."""
    parts, packet, reach = len(pulse.share), tree.packet, farthest(view, path, 0, 0.0)
    full = 0 if may_answer(path) else parts // WIDTH
    left = parts - full * WIDTH
    for index in range(held * full + (held * left + WIDTH - 1) // WIDTH):
        if index < held * full:
            at = index // full
            part = WIDTH * (index - at * full)
            fill_of_one(view, scan, pulse, under, packet, bundle, at, part, reach)
        else:
            own = full * WIDTH, index - held * full, held
            fill(view, path, scan, pulse, under, packet, bundle, *own)
        trace_surfaces(view, packet, True)
        meet(view, path, packet, bundle)
        add_hits(view, path, pulse, receiver, under, packet, tree.lost, bundle)


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
        send_to_surfaces(view, path, scan, pulse, receiver, under, tree, bundle, held)
    else:
        for at in range(held):
            under.going[at] = parts
            for part in range(parts):
                under.goes_on[at, part] = part
    for at in range(held):
        if under.going[at] > 0:
            follow(view, path, scan, pulse, receiver, under, tree, at)
