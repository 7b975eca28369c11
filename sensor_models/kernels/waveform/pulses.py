r"""Full-waveform lidar, from the pulse to its points, in one compiled pass.

Pulse by pulse: rays are sent and their echoes become a histogram (``histogram``), a signal
(``receiver``), echoes (``extraction``) and points. A pulse is worked on by one thread and by
itself, so what comes of it depends on neither threads nor on other pulses.

    SNR   amplitude over the standard deviation of the noise at that power
    P_d   erfc((T - SNR) / sqrt 2) / 2, for a threshold T in the same unit
    I     amplitude (w / s) R^2 / (E_peak a b): what a target that fills the beam sends back, in
          1/sr, its width w over the s of a flat one where widths are fitted

Points tell of the surface that gave most light within an echo's own width.

Source: section 31 of the physics.
"""

import math

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.lidar.layout import CHUNK, Detector, Output, Scan, put_pose
from sensor_models.kernels.lidar.points import (
    draw_of,
    has_distance_noise,
    measured,
    note_nearest,
    write_point,
    write_source,
)
from sensor_models.kernels.light.paths import LIMITS, Path
from sensor_models.kernels.light.tree import new_tree
from sensor_models.kernels.tracing.packets import ACCESS
from sensor_models.kernels.tracing.rays import claim
from sensor_models.kernels.tracing.scene_view import SceneView
from sensor_models.kernels.waveform.extraction import extract
from sensor_models.kernels.waveform.histogram import SPEED_OF_LIGHT, send_pulse, spread_pulse
from sensor_models.kernels.waveform.layout import (
    ATMOSPHERIC,
    COSINE,
    ENTITY,
    GAUSSIAN,
    IDEAL,
    LABEL,
    MATERIAL,
    NODE,
    NORMAL_X,
    NORMAL_Y,
    NORMAL_Z,
    Extraction,
    Found,
    Pulse,
    Receiver,
    Records,
    Work,
    new_found,
    new_work,
)
from sensor_models.kernels.waveform.receiver import background_of, receive, sigma_of
from sensor_models.kernels.waveform.search import FWHM

#: Of the largest sample: what is below comes of cutting off the tails of Gaussians.
TAILS = 1e-6
APART = {**ACCESS, "forceinline": False}


@njit(**ACCESS)
def detection(snr: float, threshold: float) -> float:
    """The probability that noise does not hide an echo from the threshold."""
    return 0.5 * math.erfc((threshold - snr) / math.sqrt(2.0))


@njit(**ACCESS)
def source_of(work: Work, place: float, reach: float) -> int:
    """The sample that gave most light around a place; -1 if there is none."""
    best, middle = -1, int(place + 0.5)
    half = max(int(reach + 1.0), 1)
    for k in range(max(middle - half, 0), min(middle + half + 1, len(work.best))):
        if work.best[k] > 0.0 and (best < 0 or work.best[k] > work.best[best]):
            best = k
    return best


@njit(**APART)
def write_echo(
    scan: Scan,
    detector: Detector,
    output: Output,
    records: Records,
    work: Work,
    pose: NDArray[np.float64],
    ray: int,
    number: int,
    count: int,
    echo: tuple[float, float, float, float, float, float],
    at: int,
) -> float:
    """Write a point; gives its range. ``echo``: range, intensity, then what a record has of it."""
    draw = draw_of(scan, detector, ray, number) if has_distance_noise(detector) else 0.0
    distance: float = measured(detector, echo[0], draw)
    cosine, toward = 1.0, (0.0, 0.0, 0.0)
    entity = material = label = -1
    node = atmospheric = 0
    if at >= 0:
        numbers, ids = work.numbers, work.ids
        cosine = numbers[at, COSINE]
        toward = (numbers[at, NORMAL_X], numbers[at, NORMAL_Y], numbers[at, NORMAL_Z])
        entity, material, label = ids[at, ENTITY], ids[at, MATERIAL], ids[at, LABEL]
        node, atmospheric = ids[at, NODE], ids[at, ATMOSPHERIC]
    write_point(scan, output, ray, number, pose, distance, echo[1], cosine, toward)
    write_source(scan, output, ray, number, count, entity, material, label, node, atmospheric)
    place = ray * output.returns + number
    for k in range(4):
        output.floats[place, records.word + k] = np.float32(echo[2 + k])
    return distance


@njit(**APART)
def write_echoes(
    scan: Scan,
    detector: Detector,
    pulse: Pulse,
    receiver: Receiver,
    ask: Extraction,
    output: Output,
    records: Records,
    work: Work,
    found: Found,
    pose: NDArray[np.float64],
    ray: int,
    held: int,
    background: float,
    level: float,
    chunk: int,
) -> None:
    """Write the echoes of a pulse that lie in range as its points."""
    half_step, kept = 0.5 * SPEED_OF_LIGHT * pulse.step, 0
    begin = 0.5 * SPEED_OF_LIGHT * pulse.start
    echoes = found.echoes
    for i in range(held):
        distance = begin + (echoes[i, 1] + 0.5) * half_step
        if detector.least_range <= distance <= detector.most_range:
            for k in range(3):
                echoes[kept, k] = echoes[i, k]
            kept += 1
    kept = min(kept, output.returns)
    output.counts[ray] = kept
    for i in range(kept):
        amplitude, place, width = echoes[i, 0], echoes[i, 1], echoes[i, 2]
        distance = begin + (place + 0.5) * half_step
        spread = 1.0
        own = math.sqrt(max(ask.sigma**2 - ask.filter_sigma**2, 0.0))
        if ask.way == GAUSSIAN and ask.sigma > 0.0:
            spread = math.sqrt(width**2 + ask.filter_sigma**2) / ask.sigma
        intensity = amplitude * spread * distance * distance / records.tau
        sigma = sigma_of(receiver, receiver.optics * amplitude + background, pulse.step)
        snr, chance = math.inf, 1.0
        if sigma > 0.0:
            snr = amplitude / sigma
            chance = detection(snr, level / sigma)
        echo = (distance, intensity, amplitude, FWHM * width * pulse.step, snr, chance)
        at = source_of(work, place, max(own, width))
        to = write_echo(scan, detector, output, records, work, pose, ray, i, kept, echo, at)
        note_nearest(output, chunk, to, ray * output.returns + i)


@njit(**ACCESS)
def keep_samples(
    records: Records, signal: NDArray[np.float64], ray: int, first: int, last: int
) -> None:
    """Keep a part of a waveform."""
    row = ray - records.first
    records.spans[row, 0], records.spans[row, 1] = first, max(last - first, 0)
    for k in range(first, last):
        records.samples[row, k - first] = np.float32(signal[k])


@njit(**ACCESS)
def part_above(signal: NDArray[np.float64], level: float, margin: int) -> tuple[int, int]:
    """From the first to the last sample above a level, and a margin around."""
    first, last = 0, len(signal)
    while first < last and signal[first] <= level:
        first += 1
    while last > first and signal[last - 1] <= level:
        last -= 1
    if first >= last:
        return 0, 0
    return max(first - margin, 0), min(last + margin, len(signal))


@njit(**APART)
def measure(
    scan: Scan,
    detector: Detector,
    pulse: Pulse,
    receiver: Receiver,
    ask: Extraction,
    output: Output,
    records: Records,
    work: Work,
    found: Found,
    pose: NDArray[np.float64],
    ray: int,
    chunk: int,
) -> None:
    """Make points of the histogram of a pulse."""
    half, samples = len(pulse.shape) // 2, pulse.samples
    output.counts[ray] = 0
    keeps = len(records.spans) > 0
    if keeps:
        records.spans[ray - records.first, 1] = 0
    background, sigma, signal = 0.0, 0.0, work.power
    if receiver.kind == IDEAL:
        first, last = max(work.touched[0] - half - 2, 0), min(work.touched[1] + half + 2, samples)
        if work.touched[1] == 0:
            return
        spread_pulse(pulse, work, first, last)
        level = 0.0
        for k in range(first, last):
            level = max(level, TAILS * signal[k])
        level = max(level, ask.least)
    else:
        first, last, signal = 0, samples, work.signal
        spread_pulse(pulse, work, first, last)
        background = background_of(receiver, work)
        receive(receiver, work, background, pulse.step, detector.frame, ray)
        sigma = sigma_of(receiver, background, pulse.step)
        level = max(ask.threshold * sigma, ask.least)
    if receiver.kind != IDEAL:
        # Most of a gate is empty: what is below the threshold is not looked at.
        first, last = part_above(signal, level, int(4.0 * ask.sigma) + 2)
    if last <= first:
        return
    if keeps:
        keep_samples(records, signal, ray, first, last)
    held = extract(signal[first:last], 0, last - first, ask, level, sigma, found)
    for i in range(held):
        found.echoes[i, 1] += first
    write_echoes(
        scan,
        detector,
        pulse,
        receiver,
        ask,
        output,
        records,
        work,
        found,
        pose,
        ray,
        held,
        background,
        level,
        chunk,
    )


@njit(nogil=True, cache=True, error_model="numpy")
def make_pulses(
    view: SceneView,
    claims: NDArray[np.int64],
    path: Path,
    scan: Scan,
    detector: Detector,
    pulse: Pulse,
    receiver: Receiver,
    ask: Extraction,
    output: Output,
    records: Records,
) -> None:
    """The pulses of the columns ``first`` to ``last`` of a frame."""
    tree, work, found = new_tree(), new_work(pulse.samples), new_found(pulse.samples)
    pose = np.empty(12)
    begin, end = scan.first * scan.rows, scan.last * scan.rows
    chunk = own = claim(claims)
    while chunk * CHUNK < end - begin:
        output.nearest[chunk, 0] = math.inf
        for ray in range(begin + chunk * CHUNK, min(begin + (chunk + 1) * CHUNK, end)):
            put_pose(scan, ray, pose)
            send_pulse(view, path, scan, detector, pulse, receiver, tree, pose, work, ray)
            measure(
                scan, detector, pulse, receiver, ask, output, records, work, found, pose, ray, chunk
            )
        chunk = claim(claims)
    for limit in range(LIMITS):
        if own * CHUNK < end - begin:
            output.lost[own, limit] = tree.lost[limit]
