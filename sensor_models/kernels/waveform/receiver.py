r"""What a detector makes of light: currents, noise, counts.

ideal   the power itself
apd     i = M R (P + P_b) + M I_d with white noise of the density S = q M F i + i_n^2 / 2, which is
        a variance of S / t_res for each sample; then the filter
sipm    of n photons in a recovery time N (1 - e^(-p n / N)) cells fire. Over samples: of the cells
        that have not fired within the recovery time, each fires with q = 1 - e^(-p a / N) of the a
        photons of a sample. Their number is binomial; amplifier noise, then the filter
spad    the first photon of each shot is counted: of m shots without a photon yet, a binomial
        number with the probability 1 - e^(-l) has one in a sample. The waveform is what Coates'
        inverse makes of the counts, l = -ln(1 - c / m), whose variance is (e^l - 1) / m; or the
        counts themselves, over the shots
adc     floor(V / LSB + 1/2) LSB, between 0 and the full scale

Each sample has one word of a block of random ones, whether it is used or not. The signal handed
on is in W at the aperture of the receiver: less the level of background and dark current, over the
response. Here signals are those of whole gates; ``listening`` makes those of an apd where they can
be seen.

Source: section 31 of the physics; McIntyre (1966) for F, Coates (1968) for the pile-up. Draws from
laws with a mean above 30 are those of a normal law, rounded.
"""

import math

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.normal_law import quantile
from sensor_models.kernels.math.philox import block, centred_uniforms, open_unit
from sensor_models.kernels.tracing.packets import ACCESS
from sensor_models.kernels.waveform.draws import draw_uniforms
from sensor_models.kernels.waveform.layout import (
    IDEAL,
    SIPM,
    SPAD,
    Floats,
    Receiver,
    Work,
)

#: Blocks of random words that a pulse may use: four samples each.
PULSE_SHIFT = 24
#: Means up to which numbers are drawn by adding up their probabilities.
FEW = 30.0
APART = {**ACCESS, "forceinline": False}


@njit(**ACCESS)
def poisson_draw(mean: float, share: float) -> float:
    """The number below which a Poisson variable stays with a probability."""
    if mean <= 0.0:
        return 0.0
    if mean > FEW:
        return float(max(0.0, math.floor(mean + math.sqrt(mean) * quantile(share - 0.5) + 0.5)))
    count, term = 0.0, math.exp(-mean)
    below = term
    while share > below and count < 10.0 * FEW:
        count += 1.0
        term *= mean / count
        below += term
    return count


@njit(**ACCESS)
def binomial_draw(trials: float, probability: float, share: float) -> float:
    """The number below which a binomial variable stays with a probability."""
    if probability <= 0.0 or trials <= 0.0:
        return 0.0
    if probability >= 1.0:
        return trials
    if probability > 0.5:
        return float(trials - binomial_draw_low(trials, 1.0 - probability, 1.0 - share))
    return float(binomial_draw_low(trials, probability, share))


@njit(**ACCESS)
def binomial_draw_low(trials: float, probability: float, share: float) -> float:
    """``binomial_draw`` of a probability up to one half."""
    mean = trials * probability
    if mean > FEW:
        spread = math.sqrt(mean * (1.0 - probability))
        drawn = math.floor(mean + spread * quantile(share - 0.5) + 0.5)
        return float(min(max(drawn, 0.0), trials))
    term = math.exp(trials * math.log1p(-probability))
    count, below, odds = 0.0, term, probability / (1.0 - probability)
    while share > below and count < min(trials, 10.0 * FEW):
        term *= odds * (trials - count) / (count + 1.0)
        count += 1.0
        below += term
    return count


@njit(**ACCESS)
def chance_to_fire(receiver: Receiver, photons: float) -> float:
    """The probability that a cell of a silicon photomultiplier which can fire does."""
    return float(-math.expm1(-receiver.probability * photons / receiver.cells))


@njit(**ACCESS)
def steadily_fired(receiver: Receiver, photons: float) -> float:
    """How many cells fire in each sample in steady light, of so many photons a sample."""
    chance = chance_to_fire(receiver, photons)
    return float(receiver.cells * chance / (1.0 + receiver.recovery * chance))


@njit(**ACCESS)
def coates(count: float, left: float) -> float:
    """Photons of a shot in a bin in which so many of the shots that are left have their first."""
    if left <= 0.0:
        return 0.0
    return float(-math.log1p(-count / left)) if count < left else float(math.log(2.0 * left))


@njit(**ACCESS)
def variance_of(receiver: Receiver, power: float, step: float) -> float:
    """Variance of the filtered level at a power of light at the detector."""
    if receiver.kind == IDEAL or not receiver.noise:
        return 0.0
    level = receiver.dark + receiver.response * power
    if receiver.kind == SPAD:
        # Of counts over shots, all of which are left; at least that of one count.
        least = 1.0 / receiver.shots
        if receiver.piles_up:
            chance = min(level, 1.0)
            return float(max(chance * (1.0 - chance), least) / receiver.shots)
        return float(max(math.expm1(min(level, 50.0)), least) / receiver.shots)
    shot = receiver.density * level * receiver.squares
    if receiver.kind == SIPM:
        # Cells fire once: what fires in a sample does not in the others that the filter holds.
        share = max(level - receiver.dark, 0.0) * step / (receiver.charge * receiver.cells)
        shot *= max(1.0 - share / receiver.squares, 0.0)
    return float((shot + receiver.floor * receiver.squares) / step)


@njit(**ACCESS)
def sigma_of(receiver: Receiver, power: float, step: float) -> float:
    """Standard deviation of the signal in W, at a power of light at the detector."""
    scale = receiver.response * receiver.optics
    sigma = math.sqrt(variance_of(receiver, power, step)) / scale
    if receiver.least_bit > 0.0:
        bit = receiver.least_bit / (receiver.impedance * scale)
        sigma = math.sqrt(sigma * sigma + bit * bit / 12.0)
    return sigma


@njit(**APART)
def draw_noise(
    key: NDArray[np.uint64], draws: Floats, frame: int, lanes: int, first: int, last: int
) -> None:
    """Draw a normal number for each of some samples, in whole blocks; ``draws`` begins at 0."""
    samples = len(draws)
    begin = first & ~3
    blocks = max(min(last, samples - 3) - begin + 3, 0) >> 2
    draw_uniforms(key, draws[begin:], frame, lanes | (begin >> 2), blocks)
    if last > samples & ~3:
        start = samples & ~3
        words = centred_uniforms(key, frame, lanes | (start >> 2))
        for k in range(start, samples):
            draws[k] = words[k - start]
    # A loop of its own, for vectors.
    own = draws[begin:last]
    for k in range(len(own)):
        own[k] = quantile(own[k])


@njit(**APART)
def photocurrent(
    receiver: Receiver,
    work: Work,
    background: float,
    step: float,
    frame: int,
    lanes: int,
    first: int,
    last: int,
    lit: tuple[int, int],
) -> None:
    """What light and noise of some samples add to the level of an apd, before the filter.

    Sample k lies at ``half + k`` in the level, as the filter looks at what is around. Power is
    read where there is light.
    """
    begin, end = min(max(lit[0], first), last), min(max(lit[1], first), last)
    half, powers = len(receiver.filter) // 2, work.power
    levels = work.level[half : half + len(powers)]
    still, bright = receiver.dark + receiver.response * background, receiver.response
    bright *= receiver.optics
    if not receiver.noise:
        levels[first:last] = 0.0
        for k in range(begin, end):
            levels[k] = bright * powers[k]
        return
    draw_noise(receiver.key, levels, frame, lanes, first, last)
    floor, inverse = receiver.density * still + receiver.floor, 1.0 / step
    dark, density = math.sqrt(floor * inverse), receiver.density
    # Parts of arrays, counted from 0: an index that might be negative keeps loops from vectors.
    before, own, after = levels[first:begin], levels[begin:end], levels[end:last]
    light_there = powers[begin:end]
    for k in range(len(before)):
        before[k] *= dark
    for k in range(len(own)):
        light = bright * light_there[k]
        own[k] = light + math.sqrt((density * light + floor) * inverse) * own[k]
    for k in range(len(after)):
        after[k] *= dark


@njit(**APART)
def fire_cells(
    receiver: Receiver, work: Work, background: float, step: float, frame: int, ray: int
) -> None:
    """The level of a sipm before the filter, with the noise of its counts."""
    samples, photon_per_watt = len(work.power), step / receiver.photon
    half, fired = len(receiver.filter) // 2, work.signal
    still = steadily_fired(receiver, background * photon_per_watt)
    # Those that cannot fire yet; before the gate they fired in the background light.
    busy = still * receiver.recovery
    for first in range(0, samples, 4):
        draws = centred_uniforms(receiver.key, frame, (ray << PULSE_SHIFT) | (first >> 2))
        for k in range(first, min(first + 4, samples)):
            photons = (receiver.optics * work.power[k] + background) * photon_per_watt
            chance, ready = chance_to_fire(receiver, photons), max(receiver.cells - busy, 0.0)
            fired[k] = ready * chance
            if receiver.noise:
                fired[k] = binomial_draw(math.floor(ready + 0.5), chance, draws[k - first] + 0.5)
            if receiver.recovery > 0:
                old = fired[k - receiver.recovery] if k >= receiver.recovery else still
                busy = max(busy + fired[k] - old, 0.0)
            work.level[half + k] = fired[k] * receiver.charge / step + receiver.dark


@njit(**ACCESS)
def go_on_beyond(work: Work, half: int, base: float) -> None:
    """Let a level be at its base before and after the gate, for the filter."""
    work.level[:half] = base
    work.level[half + len(work.power) :] = base


@njit(**APART)
def amplify(receiver: Receiver, work: Work, step: float, frame: int, ray: int) -> None:
    """Add the noise of dark current and amplifier to the level of a sipm."""
    noise, draws, half = math.sqrt(receiver.floor / step), work.signal, len(receiver.filter) // 2
    samples, lanes = len(draws), (ray << PULSE_SHIFT) | (1 << (PULSE_SHIFT - 1))
    draw_noise(receiver.key, draws, frame, lanes, 0, samples)
    for k in range(samples):
        work.level[half + k] += noise * draws[k]


@njit(**APART)
def count_first_photons(
    receiver: Receiver, work: Work, background: float, frame: int, ray: int
) -> None:
    """The waveform of a spad: first photons of all shots, and Coates' inverse.

    ``level`` becomes the noise of each sample, over that with all shots left.
    """
    left, samples, shots = receiver.shots, len(work.power), receiver.shots
    for first in range(0, samples, 4):
        words = block(receiver.key, frame, (ray << PULSE_SHIFT) | (first >> 2))
        for k in range(first, min(first + 4, samples)):
            light = receiver.optics * work.power[k] + background
            mean = receiver.dark + receiver.response * light
            probability = -math.expm1(-mean)
            count = left * probability
            if receiver.noise:
                count = binomial_draw(left, probability, open_unit(words[k - first]))
            work.level[k] = 1.0
            if receiver.piles_up:
                work.signal[k] = count / shots
            else:
                work.signal[k] = coates(count, left)
                work.level[k] = math.sqrt(shots / left) if left > 0.0 else math.inf
            left -= count


@njit(**APART)
def fold(kernel: Floats, given: Floats, result: Floats, first: int, last: int) -> None:
    """Fold some samples with a symmetric kernel; of ``given``, sample k lies at ``half + k``.

    Two weights at a time, each for the samples on both sides: vectors do it, and what was summed up
    so far is loaded and stored half as often as there are weights.
    """
    half, count = len(kernel) // 2, last - first
    sums, middle = result[first:last], given[half + first :]
    weight = kernel[half]
    for k in range(count):
        sums[k] = weight * middle[k]
    for shift in range(1, half, 2):
        near, far = kernel[half + shift], kernel[half + shift + 1]
        later, earlier = given[half + first + shift :], given[half + first - shift :]
        last_of, first_of = given[half + first + shift + 1 :], given[half + first - shift - 1 :]
        for k in range(count):
            sums[k] += near * (later[k] + earlier[k]) + far * (last_of[k] + first_of[k])
    if half & 1 == 1:
        weight, later, earlier = kernel[2 * half], given[2 * half + first :], given[first:]
        for k in range(count):
            sums[k] += weight * (later[k] + earlier[k])


@njit(**ACCESS)
def digitise(receiver: Receiver, level: float) -> float:
    """The level that a converter reports."""
    volts = receiver.impedance * level
    count = math.floor(volts / receiver.least_bit + 0.5)
    volts = min(max(count * receiver.least_bit, 0.0), receiver.full_scale)
    return float(volts / receiver.impedance)


@njit(**ACCESS)
def report(receiver: Receiver, base: float, above: Floats, first: int, last: int) -> None:
    """Make the signal in W, in place, of what some samples of a filtered level are above a base."""
    scale, own = 1.0 / (receiver.response * receiver.optics), above[first:last]
    if receiver.least_bit > 0.0:
        for k in range(len(own)):
            own[k] = (digitise(receiver, base + own[k]) - base) * scale
    else:
        for k in range(len(own)):
            own[k] *= scale


@njit(**APART)
def receive(
    receiver: Receiver, work: Work, background: float, step: float, frame: int, ray: int
) -> None:
    """Make the signal of a whole gate of the power that arrives."""
    base, samples = base_of(receiver, background, step), len(work.power)
    signal = work.signal
    if receiver.kind == SPAD:
        count_first_photons(receiver, work, background, frame, ray)
        for k in range(samples):
            signal[k] -= base
    elif receiver.kind == SIPM:
        fire_cells(receiver, work, background, step, frame, ray)
        go_on_beyond(work, len(receiver.filter) // 2, base)
        if receiver.noise:
            amplify(receiver, work, step, frame, ray)
        fold(receiver.filter, work.level, signal, 0, samples)
        for k in range(samples):
            signal[k] -= base
    else:
        lanes = ray << PULSE_SHIFT
        photocurrent(receiver, work, background, step, frame, lanes, 0, samples, (0, samples))
        fold(receiver.filter, work.level, signal, 0, samples)
    report(receiver, base, signal, 0, samples)


@njit(**ACCESS)
def base_of(receiver: Receiver, background: float, step: float) -> float:
    """The level where no echo is."""
    if receiver.kind == SIPM:
        fired = steadily_fired(receiver, background * step / receiver.photon)
        return float(fired * receiver.charge / step + receiver.dark)
    level = receiver.dark + receiver.response * background
    if receiver.kind == SPAD and receiver.piles_up:
        return float(-math.expm1(-level))
    return float(level)


@njit(**ACCESS)
def clipped_from(receiver: Receiver, background: float, step: float) -> float:
    """The signal in W that a converter at its full scale reports, less half a step; or infinity."""
    if receiver.least_bit <= 0.0:
        return math.inf
    level = (receiver.full_scale - 0.5 * receiver.least_bit) / receiver.impedance
    above = level - base_of(receiver, background, step)
    return float(above / (receiver.response * receiver.optics))


@njit(**ACCESS)
def background_of(receiver: Receiver, light: Floats) -> float:
    """Power of background light at the detector, W."""
    if receiver.band_area <= 0.0:
        return 0.0
    sky = max(1.0 - light[0], 0.0) * receiver.skylight
    return float(receiver.band_area * (light[1] + sky))


@njit(cache=True, error_model="numpy")
def make_signals(
    receiver: Receiver, work: Work, powers: Floats, background: float, step: float, frame: int
) -> None:
    """Replace the powers of many pulses by their signals, for who has a waveform of his own."""
    for ray in range(len(powers)):
        work.power[:] = powers[ray]
        receive(receiver, work, background, step, frame, ray)
        powers[ray] = work.signal
