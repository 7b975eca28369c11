r"""Full-waveform lidar, from the pulse to its points, in one compiled pass.

The rays of some pulses are sent (``bundles``) and what comes back becomes a histogram for each
(``histogram``). Pulse by pulse that becomes a signal (``receiver``), echoes (``extraction``) and
points. What comes of a pulse depends on neither threads nor other pulses.

    SNR   amplitude over the standard deviation of the noise at that power
    P_d   erfc((T - SNR) / sqrt 2) / 2, for a threshold T in the same unit
    I     amplitude (w / s) R^2 / (E_peak a b): what a target that fills the beam sends back, in
          1/sr, its width w over the s of a flat one where widths are fitted

Points tell of the surface that gave most light within an echo's own width, or within the run of
samples at full scale: where the light came from, not where a discriminator says the echo is.

Source: section 31 of the physics.
"""

import math

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.lidar.layout import CHUNK, Detector, Output, Scan
from sensor_models.kernels.lidar.points import (
    draw_of,
    has_distance_noise,
    measured,
    note_nearest,
    place_point,
    write_point,
    write_source,
)
from sensor_models.kernels.light.paths import LIMITS, Path
from sensor_models.kernels.light.tree import new_tree
from sensor_models.kernels.tracing.packets import ACCESS
from sensor_models.kernels.tracing.rays import claim
from sensor_models.kernels.tracing.scene_view import SceneView
from sensor_models.kernels.waveform.bundles import (
    begin_pulse,
    pulse_at,
    send_pulses,
)
from sensor_models.kernels.waveform.extraction import extract
from sensor_models.kernels.waveform.histogram import (
    SPEED_OF_LIGHT,
    add_haze,
    haze_reach,
    spread_pulse,
)
from sensor_models.kernels.waveform.landing import new_bundle
from sensor_models.kernels.waveform.layout import (
    AMPLITUDE,
    APD,
    ATMOSPHERIC,
    COSINE,
    ENTITY,
    GAUSSIAN,
    IDEAL,
    LABEL,
    MATERIAL,
    MIDDLE,
    NODE,
    NOISE,
    NORMAL_X,
    NORMAL_Y,
    NORMAL_Z,
    PLACE,
    REACH,
    SPAD,
    WIDTH,
    Extraction,
    Found,
    Histograms,
    Pulse,
    Receiver,
    Records,
    Work,
    new_found,
    new_histograms,
    new_work,
)
from sensor_models.kernels.waveform.listening import listen, part_to_show
from sensor_models.kernels.waveform.receiver import (
    background_of,
    clipped_from,
    receive,
    sigma_of,
)
from sensor_models.kernels.waveform.search import FWHM
from sensor_models.kernels.waveform.simd import EIGHT, largest_of_eights

#: Of the largest sample: what is below comes of cutting off the tails of Gaussians.
TAILS = 1e-6
#: The source of an echo that no surface gave, where there is haze.
HAZE = -2


@njit(**ACCESS)
def detection(snr: float, threshold: float) -> float:
    """The probability that noise does not hide an echo from the threshold."""
    return 0.5 * math.erfc((threshold - snr) / math.sqrt(2.0))


@njit(**ACCESS)
def light_of(energy: NDArray[np.float64], best: NDArray[np.float64], k: int) -> float:
    """The energy of a bin with what its arrivals left to neighbours that have none."""
    light = energy[k]
    if k > 0 and best[k - 1] == 0.0:
        light += energy[k - 1]
    if k + 1 < len(best) and best[k + 1] == 0.0:
        light += energy[k + 1]
    return float(light)


@njit(**ACCESS)
def light_of_surface(under: Histograms, at: int, first: int, last: int, own: int) -> float:
    """The energy in some bins of the surface that a bin tells of."""
    best, energy, ids = under.best[at], under.energy[at], under.ids[at]
    entity, material, total = ids[own, ENTITY], ids[own, MATERIAL], 0.0
    for k in range(first, last):
        same = ids[k, ENTITY] == entity and ids[k, MATERIAL] == material
        if best[k] > 0.0 and same:
            total += light_of(energy, best, k)
    return total


@njit(**ACCESS)
def source_of(under: Histograms, at: int, place: float, reach: float) -> int:
    """The sample with most light of the surface that gave most of it around a place, or -1."""
    best, ids = under.best[at], under.ids[at]
    middle, half = int(place + 0.5), max(int(reach + 1.0), 1)
    first = max(middle - half, under.touched[at, 0])
    last = min(middle + half + 1, under.touched[at, 1])
    strongest, most, before, light = -1, 0.0, -1, 0.0
    for k in range(first, last):
        if best[k] <= 0.0:
            continue
        changed = before < 0 or ids[k, ENTITY] != ids[before, ENTITY]
        if changed or ids[k, MATERIAL] != ids[before, MATERIAL]:
            light = light_of_surface(under, at, first, last, k)
        before = k
        if light > most or (light == most and best[k] > best[strongest]):
            strongest, most = k, light
    return strongest


@njit(**ACCESS)
def scan_from(scan: Scan, ray: int) -> Scan:
    """A scan whose rays are counted from one of them, as those in the output are."""
    return Scan(
        scan.rows,
        scan.first,
        scan.last,
        scan.directions[ray:],
        scan.azimuth[ray:],
        scan.elevation[ray:],
        scan.offset[ray:],
        scan.ring[ray:],
        scan.spread,
        scan.poses,
        scan.inside,
        scan.sigma_azimuth,
        scan.sigma_elevation,
    )


@njit(**ACCESS)
def write_echo(
    scan: Scan,
    detector: Detector,
    output: Output,
    records: Records,
    under: Histograms,
    at: int,
    number: int,
    count: int,
    echo: tuple[float, float, float, float, float, float],
    source: int,
) -> float:
    """Write a point; gives its range. ``echo``: range, intensity, then what a record has of it."""
    ray, pose = under.ray[at], under.pose[at]
    draw = draw_of(scan, detector, ray, number) if has_distance_noise(detector) else 0.0
    distance: float = measured(detector, echo[0], draw)
    cosine, toward = 1.0, (0.0, 0.0, 0.0)
    entity = material = label = -1
    node, atmospheric = 0, int(source == HAZE)
    if source >= 0:
        numbers, ids = under.numbers[at, source], under.ids[at, source]
        cosine = numbers[COSINE]
        toward = (numbers[NORMAL_X], numbers[NORMAL_Y], numbers[NORMAL_Z])
        entity, material, label = int(ids[ENTITY]), int(ids[MATERIAL]), int(ids[LABEL])
        node, atmospheric = int(ids[NODE]), int(ids[ATMOSPHERIC])
    row = ray - records.first
    here = scan_from(scan, records.first)
    write_point(here, output, row, number, pose, distance, echo[1], cosine, toward)
    write_source(here, output, row, number, count, entity, material, label, node, atmospheric)
    place = row * output.returns + number
    for k in range(4):
        output.floats[place, records.word + k] = np.float32(echo[2 + k])
    return distance


@njit(**ACCESS)
def range_of(pulse: Pulse, place: float) -> float:
    """The range at a place among the samples."""
    half_way = 0.5 * SPEED_OF_LIGHT
    return float(half_way * pulse.start + (place + 0.5) * (half_way * pulse.step))


@njit(**ACCESS)
def describe_echo(
    pulse: Pulse,
    receiver: Receiver,
    ask: Extraction,
    tau: float,
    background: float,
    level: float,
    echo: NDArray[np.float64],
) -> tuple[float, float, float, float, float, float]:
    """Range, intensity, amplitude, width, signal-to-noise and probability of an echo."""
    amplitude, place, width = echo[AMPLITUDE], echo[PLACE], echo[WIDTH]
    distance = range_of(pulse, place)
    spread = 1.0
    if ask.way == GAUSSIAN and ask.sigma > 0.0:
        spread = math.sqrt(width**2 + ask.filter_sigma**2) / ask.sigma
    intensity = amplitude * spread * distance * distance / tau
    noisy = echo[NOISE]
    sigma = noisy * sigma_of(receiver, receiver.optics * amplitude + background, pulse.step)
    snr, chance = math.inf, 1.0
    if sigma > 0.0:
        snr = amplitude / sigma
        chance = detection(snr, level * noisy / sigma)
    return distance, intensity, amplitude, FWHM * width * pulse.step, snr, chance


@njit(**ACCESS)
def is_coarse(
    pulse: Pulse,
    ask: Extraction,
    gap: float,
    under: Histograms,
    at: int,
    source: int,
    distance: float,
) -> bool:
    """Whether the rays of a pulse lie so far apart on a tilted surface that each may be an echo.

    Two pulses of the same height make two maxima from 2 standard deviations on.
    """
    cosine = max(under.numbers[at, source, COSINE], 1e-6)
    tangent = math.sqrt(max(1.0 - cosine * cosine, 0.0)) / cosine
    depth = gap * (1.0 + distance / pulse.focus) * tangent
    return bool(depth > 2.0 * ask.sigma * (0.5 * SPEED_OF_LIGHT * pulse.step))


@njit(**ACCESS)
def write_echoes(
    scan: Scan,
    detector: Detector,
    pulse: Pulse,
    receiver: Receiver,
    ask: Extraction,
    output: Output,
    records: Records,
    under: Histograms,
    at: int,
    found: Found,
    echo_count: int,
    background: float,
    level: float,
    chunk: int,
) -> None:
    """Write the echoes of a pulse that lie in range as its points."""
    row = under.ray[at] - records.first
    kept = 0
    echoes = found.echoes
    for i in range(echo_count):
        distance = range_of(pulse, echoes[i, 1])
        if detector.least_range <= distance <= detector.most_range:
            for k in range(NOISE + 1):
                echoes[kept, k] = echoes[i, k]
            kept += 1
    kept = min(kept, output.returns)
    output.counts[row] = kept
    for i in range(kept):
        echo = describe_echo(pulse, receiver, ask, records.tau, background, level, echoes[i])
        own = math.sqrt(max(ask.sigma**2 - ask.filter_sigma**2, 0.0))
        reach = max(own, echoes[i, WIDTH], echoes[i, REACH])
        source = source_of(under, at, echoes[i, MIDDLE], reach)
        if source < 0 and echoes[i, MIDDLE] < len(pulse.haze):
            source = HAZE
        if source >= 0 and is_coarse(pulse, ask, records.gap, under, at, source, echo[0]):
            records.coarse[chunk] += 1
        to = write_echo(scan, detector, output, records, under, at, i, kept, echo, source)
        note_nearest(output, chunk, to, row * output.returns + i)


@njit(**ACCESS)
def keep_samples(
    scan: Scan,
    output: Output,
    records: Records,
    under: Histograms,
    at: int,
    signal: NDArray[np.float64],
    first: int,
    last: int,
    chunk: int,
) -> None:
    """Keep a part of a waveform, and where its pulse starts and goes.

    It lies right behind the one before it of the same chunk: with a row for each pulse, each would
    touch a page of memory of its own.
    """
    ray, pose = under.ray[at], under.pose[at]
    row = ray - records.first
    along = (scan.directions[ray, 0], scan.directions[ray, 1], scan.directions[ray, 2])
    start = place_point(scan, output, pose, along, 0.0)
    ahead = place_point(scan, output, pose, along, 1.0)
    for k in range(3):
        records.lines[row, k] = start[k]
        records.lines[row, 3 + k] = ahead[k] - start[k]
    place = records.filled[chunk]
    records.spans[row, 0], records.spans[row, 1] = first, last - first
    records.places[row], records.filled[chunk] = place, place + last - first
    own, kept = signal[first:last], records.samples[place : place + last - first]
    for k in range(len(own)):
        kept[k] = np.float32(own[k])


@njit(**ACCESS)
def gather_light(
    pulse: Pulse, under: Histograms, at: int, work: Work, whole: bool
) -> tuple[int, int]:
    """Make the power of a pulse; the samples that have light, or all that were made."""
    half, samples, touched = len(pulse.shape) // 2, pulse.samples, under.touched[at]
    first, last = max(touched[0] - half, 0), min(touched[1] + half, samples)
    if touched[1] == 0:
        first = last = 0
    same = hazy = 0
    if len(pulse.haze) > 0:
        same, hazy = haze_reach(pulse, under, at)
        first, last = 0, max(last, hazy)
    if whole:
        first, last = 0, samples
    spread_pulse(pulse, under, at, work, first, last)
    if hazy > 0:
        add_haze(pulse, under, at, work, same, hazy)
    return first, last


@njit(**ACCESS)
def largest(power: NDArray[np.float64]) -> float:
    """The most of some powers, which are no less than 0."""
    whole = len(power) // EIGHT
    most = largest_of_eights(power.ctypes.data, whole)
    for k in range(EIGHT * whole, len(power)):
        most = max(most, power[k])
    return float(most)


@njit(**ACCESS)
def make_signal(
    detector: Detector,
    pulse: Pulse,
    receiver: Receiver,
    ask: Extraction,
    under: Histograms,
    at: int,
    work: Work,
) -> tuple[int, int, float, float, float]:
    """Make a signal of a histogram: where to look for echoes, threshold, noise and background.

    The signal of an ideal receiver is the power. That of others may be above the threshold in the
    whole gate; all that lies before and behind is not looked at, and not made for an apd.
    """
    samples = pulse.samples
    whole = receiver.kind != IDEAL and receiver.kind != APD
    lit = gather_light(pulse, under, at, work, whole)
    if receiver.kind == IDEAL:
        if lit[1] == 0:
            return 0, 0, 0.0, 0.0, 0.0
        first, last = max(lit[0] - 2, 0), min(lit[1] + 2, samples)
        level = largest(work.power[lit[0] : lit[1]])
        work.power[first : lit[0]] = 0.0
        work.power[lit[1] : last] = 0.0
        return first, last, max(TAILS * level, ask.least), 0.0, 0.0
    background = background_of(receiver, under.light[at])
    sigma = sigma_of(receiver, background, pulse.step)
    level, margin = max(ask.threshold * sigma, ask.least), int(4.0 * ask.sigma) + 2
    frame, ray = detector.frame, under.ray[at]
    if receiver.kind == APD:
        first, last = listen(receiver, work, background, pulse.step, level, margin, lit, frame, ray)
        return first, last, level, sigma, background
    receive(receiver, work, background, pulse.step, frame, ray)
    first, last = part_to_show(work.signal, level, margin, 0, samples)
    return first, last, level, sigma, background


@njit(**ACCESS)
def find_echoes(
    receiver: Receiver,
    ask: Extraction,
    work: Work,
    part: tuple[int, int],
    levels: tuple[float, float, float],
    found: Found,
) -> int:
    """Find the echoes of a part of a gate; ``levels``: threshold, noise, full scale."""
    first, last = part
    signal = work.power if receiver.kind == IDEAL else work.signal
    if receiver.kind == SPAD:
        for k in range(last - first):
            found.noise[k] = work.level[first + k]
    level, sigma, clip = levels
    echo_count: int = extract(signal[first:last], 0, last - first, ask, level, sigma, clip, found)
    for i in range(echo_count):
        found.echoes[i, PLACE] += first
        found.echoes[i, MIDDLE] += first
    return echo_count


@njit(**ACCESS)
def measure(
    scan: Scan,
    detector: Detector,
    pulse: Pulse,
    receiver: Receiver,
    ask: Extraction,
    output: Output,
    records: Records,
    under: Histograms,
    at: int,
    work: Work,
    found: Found,
    chunk: int,
) -> None:
    """Make points of the histogram of a pulse."""
    ray, keeps = under.ray[at], len(records.spans) > 0
    output.counts[ray - records.first] = 0
    if keeps:
        records.spans[ray - records.first, 1] = 0
    made = make_signal(detector, pulse, receiver, ask, under, at, work)
    first, last, level, sigma, background = made
    if last <= first:
        return
    signal = work.power if receiver.kind == IDEAL else work.signal
    if keeps:
        keep_samples(scan, output, records, under, at, signal, first, last, chunk)
    clip = clipped_from(receiver, background, pulse.step)
    echo_count = find_echoes(receiver, ask, work, (first, last), (level, sigma, clip), found)
    own = scan, detector, pulse, receiver, ask, output, records
    write_echoes(*own, under, at, found, echo_count, background, level, chunk)


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
    tree, found = new_tree(), new_found(pulse.samples)
    work = new_work(pulse.samples, len(receiver.filter) // 2, pulse.shape)
    under, bundle = new_histograms(pulse.samples, len(pulse.share)), new_bundle(scan)
    all_pulses, at_a_time = (scan.last - scan.first) * scan.rows, len(under.ray)
    chunk = own = claim(claims)
    while chunk * CHUNK < all_pulses:
        output.nearest[chunk, 0] = math.inf
        records.filled[chunk] = chunk * CHUNK * pulse.samples
        last = min((chunk + 1) * CHUNK, all_pulses)
        for first in range(chunk * CHUNK, last, at_a_time):
            pulse_count = min(at_a_time, last - first)
            for at in range(pulse_count):
                begin_pulse(scan, detector, under, at, pulse_at(scan, first + at))
            send_pulses(view, path, scan, pulse, receiver, under, tree, bundle, pulse_count)
            for at in range(pulse_count):
                measure(
                    scan, detector, pulse, receiver, ask, output, records, under, at, work, found,
                    chunk,
                )  # fmt: skip
        chunk = claim(claims)
    for limit in range(LIMITS):
        if own * CHUNK < all_pulses:
            output.lost[own, limit] = tree.lost[limit]
