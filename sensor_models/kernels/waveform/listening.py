r"""The signal of an apd where it can be seen: around light, and where noise crosses the threshold.

A gate has a thousand samples and more, of which noise alone crosses a threshold of 5 sigma once in
two thousand gates. To draw and to filter it in all of them took ten times as long as all else, so
it is decided by one draw whether it does, with the very law that drawing all of it would have:

    A     samples around light, [first, last); all draws that these depend on are made
    B     all others. Given those draws, the signal of sample k is normal: mean m_k, deviation s_k,
          and p_k = P(signal k is above the threshold). P = sum of p_k over B
    u     is drawn. If u >= P, nothing in B is above the threshold, and none of it is made
    else  sample K that u points at, each with its share p_k, is drawn from its own law above the
          threshold, all other noise given that, and N samples of B then are above it. This is kept
          with the probability 1 / N; else nothing in B is above the threshold

What is proposed has the density sum_k p_k f(noise | k above) / P = N f(noise) / P, with f that of
all noise. Proposed with the probability P and kept with 1 / N, it is f itself where N > 0.

A grows until it holds what is to be shown of it, before anything is decided of the rest, which so
stays independent. Where P is above ``MOST_CHANCE``, the noise of the whole gate is drawn.

Source: the union of rare events by its largest member, as in Adler, Blanchet and Liu, "Efficient
Monte Carlo for high excursions of Gaussian random fields", Annals of Applied Probability 22 (2012).
"""

import math

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.philox import block, open_unit
from sensor_models.kernels.tracing.packets import ACCESS
from sensor_models.kernels.waveform.layout import (
    ROOT,
    SQUARES,
    Floats,
    Receiver,
    Work,
)
from sensor_models.kernels.waveform.receiver import (
    PULSE_SHIFT,
    base_of,
    draw_noise,
    fold,
    photocurrent,
    receive,
    report,
)

#: Most probability of noise elsewhere that is decided by one draw.
MOST_CHANCE = 0.25
#: Binary logarithm of the blocks of random words of a series of draws; the series of a pulse: each
#: sample's own word, proposals, decisions.
SERIES_SHIFT = 18
OWN, PROPOSED, DECIDED = range(3)
#: Samples that are looked at together.
SOME = 16
#: A threshold is lowered by so much of itself, as rounding is not to hide what lies above it.
ROUNDING = 1e-9
APART = {**ACCESS, "forceinline": False}
#: The least of some numbers, for vectors.
LEAST = {"fastmath": {"nnan", "nsz", "reassoc"}}


@njit(**ACCESS)
def lanes_of(ray: int, series: int) -> int:
    """Where the blocks of a series of a pulse begin."""
    return (ray << PULSE_SHIFT) | (series << SERIES_SHIFT)


@njit(**ACCESS)
def above(z: float) -> float:
    """The probability of a normal draw to be above a number."""
    return float(0.5 * math.erfc(z * math.sqrt(0.5)))


@njit(**ACCESS)
def all_below(signal: Floats, level: float, begin: int) -> bool:
    """Whether none of ``SOME`` samples is above a level."""
    own, above_it = signal[begin:], 0
    for k in range(SOME):
        above_it += 0 if own[k] <= level else 1
    return above_it == 0


@njit(**ACCESS)
def part_above(signal: Floats, level: float, begin: int, end: int) -> tuple[int, int]:
    """From the first to the last of some samples above a level."""
    first, last = begin, end
    while last - first >= SOME and all_below(signal, level, first):
        first += SOME
    while first < last and signal[first] <= level:
        first += 1
    while last - first >= SOME and all_below(signal, level, last - SOME):
        last -= SOME
    while last > first and signal[last - 1] <= level:
        last -= 1
    return first, last


@njit(**ACCESS)
def least_above(receiver: Receiver, level: float) -> float:
    """What a filtered level is at least above its base where the signal is above a threshold."""
    least = level * receiver.response * receiver.optics * (1.0 - ROUNDING)
    if receiver.least_bit > 0.0:  # it may be rounded up
        least -= 0.5 * receiver.least_bit / receiver.impedance * (1.0 + ROUNDING)
    return float(least)


@njit(**ACCESS)
def reach_of(part: tuple[int, int], reach: int, samples: int) -> tuple[int, int]:
    """A part of a gate and so many samples around it; nothing has nothing around it."""
    first, last = part
    if first == last:
        return first, last
    return max(first - reach, 0), min(last + reach, samples)


@njit(**ACCESS)
def part_within(part: tuple[int, int], half: int, samples: int) -> tuple[int, int]:
    """A part of the gate, with all of an end that the filter reaches to."""
    first, last = part
    return (first if first > half else 0), (last if last + half < samples else samples)


@njit(**ACCESS)
def squares_from(receiver: Receiver, weight: int) -> float:
    """The sum of the squares of the filter's weights from one on, counted from the middle."""
    half = len(receiver.filter) // 2
    sums = receiver.beyond[SQUARES]
    return float(sums[min(max(half + weight, 0), 2 * half + 1)])


@njit(**ACCESS)
def open_squares(receiver: Receiver, k: int, drawn: tuple[int, int], samples: int) -> float:
    """The sum of the squares of the weights of a sample whose noise has not been drawn."""
    right = squares_from(receiver, drawn[1] - k) - squares_from(receiver, samples - k)
    left = squares_from(receiver, k - drawn[0] + 1) - squares_from(receiver, k + 1)
    return float(max(right, 0.0) + max(left, 0.0))


@njit(**ACCESS)
def known_at(signal: Floats, k: int, around: tuple[int, int]) -> float:
    """The mean of a sample of B above the base, given the noise that was drawn."""
    return float(signal[k]) if around[0] <= k < around[1] else 0.0


@njit(**ACCESS)
def chance_at(
    receiver: Receiver,
    signal: Floats,
    noise: float,
    top: float,
    k: int,
    part: tuple[int, int],
) -> float:
    """The probability p_k of a sample of B."""
    samples, half = len(signal), len(receiver.filter) // 2
    drawn = reach_of(part, half, samples)
    spread = noise * math.sqrt(open_squares(receiver, k, drawn, samples))
    left = top - known_at(signal, k, reach_of(part, 2 * half, samples))
    if spread <= 0.0:
        return 0.0 if left >= 0.0 else 1.0
    return float(above(left / spread))


@njit(**ACCESS, **LEAST)
def screen(
    receiver: Receiver, signal: Floats, noise: float, top: float, part: tuple[int, int]
) -> float:
    """No less than the sum of p_k over the samples of B next to A: Chernoff's bound of the most."""
    samples, half = len(signal), len(receiver.filter) // 2
    before, after = reach_of(part, 2 * half, samples)
    root, least = receiver.beyond[ROOT], math.inf
    right, left = signal[part[1] : after], signal[before : part[0]]
    for k in range(len(right)):
        least = min(least, (top - right[k]) * root[2 * half - k])
    shift = 2 * half + 1 - len(left)
    for k in range(len(left)):
        least = min(least, (top - left[k]) * root[shift + k])
    count = len(left) + len(right)
    if count == 0:
        return 0.0
    if least <= 0.0:
        return math.inf
    return float(0.5 * count * math.exp(-0.5 * min((least / noise) ** 2, 1e3)))


@njit(**APART)
def chance_elsewhere(
    receiver: Receiver,
    signal: Floats,
    noise: float,
    top: float,
    part: tuple[int, int],
    even: float,
    until: float,
) -> tuple[float, int]:
    """Add up p_k over B, no further than ``until``: the sum, and the sample it is passed at or -1.

    Samples near the ends of the gate and near A have their own p_k, all others have ``even``.
    """
    samples, half = len(signal), len(receiver.filter) // 2
    before, after = reach_of(part, 2 * half, samples)
    total = 0.0
    for first, last, same in (
        (0, min(half, before), False), (min(half, before), before, True),
        (before, part[0], False), (part[1], after, False),
        (after, max(samples - half, after), True), (max(samples - half, after), samples, False),
    ):  # fmt: skip
        if same:
            more = even * (last - first)
            if total + more > until:
                return total + more, min(first + int((until - total) / even), last - 1)
            total += more
            continue
        for k in range(first, last):
            total += chance_at(receiver, signal, noise, top, k, part)
            if total > until:
                return total, k
    return total, -1


@njit(**APART)
def draw_elsewhere(
    receiver: Receiver, work: Work, noise: float, frame: int, lanes: int, drawn: tuple[int, int]
) -> None:
    """Draw the noise of the gate before the filter, but where it was drawn; ``signal`` is used."""
    levels, draws, half = work.level, work.signal, len(receiver.filter) // 2
    samples = len(draws)
    if receiver.noise:
        draw_noise(receiver.key, draws, frame, lanes, 0, samples)
    for k in range(samples):
        if k < drawn[0] or k >= drawn[1]:
            levels[half + k] = noise * draws[k] if receiver.noise else 0.0


@njit(**ACCESS)
def filter_all(receiver: Receiver, work: Work) -> None:
    """Filter the level of the gate."""
    samples = len(work.signal)
    fold(receiver.filter, work.level, work.signal, 0, samples)


@njit(**ACCESS)
def crossings(signal: Floats, top: float, part: tuple[int, int]) -> int:
    """How many samples of B are above the threshold."""
    count = 0
    for k in range(part[0]):
        count += signal[k] > top
    for k in range(part[1], len(signal)):
        count += signal[k] > top
    return count


@njit(**ACCESS)
def draw_tail(receiver: Receiver, z: float, frame: int, lanes: int) -> float:
    """A normal draw above z > 0 (Marsaglia 1964)."""
    x = z
    for attempt in range(1 << 10):
        words = block(receiver.key, frame, lanes + attempt)
        for pair in range(2):
            u, v = open_unit(words[2 * pair]), open_unit(words[2 * pair + 1])
            x = math.sqrt(z * z - 2.0 * math.log(u))
            if v * x < z:
                return x
    return x


@njit(**APART)
def put_above(
    receiver: Receiver,
    work: Work,
    noise: float,
    top: float,
    place: int,
    part: tuple[int, int],
    frame: int,
    ray: int,
) -> None:
    """Draw the level of the gate given that a sample of B is above the threshold, and filter it."""
    samples, half = len(work.signal), len(receiver.filter) // 2
    drawn, around = reach_of(part, half, samples), reach_of(part, 2 * half, samples)
    squares = open_squares(receiver, place, drawn, samples)
    spread = noise * math.sqrt(squares)
    z = (top - known_at(work.signal, place, around)) / spread
    wanted = spread * draw_tail(receiver, z, frame, lanes_of(ray, DECIDED) + 1)
    draw_elsewhere(receiver, work, noise, frame, lanes_of(ray, PROPOSED), drawn)
    first, last, found = max(place - half, 0), min(place + half + 1, samples), 0.0
    for k in range(first, last):
        if k < drawn[0] or k >= drawn[1]:
            found += receiver.filter[half + k - place] * work.level[half + k]
    share = (wanted - found) / squares
    for k in range(first, last):
        if k < drawn[0] or k >= drawn[1]:
            work.level[half + k] += share * receiver.filter[half + k - place]
    filter_all(receiver, work)


@njit(**APART)
def rises_elsewhere(
    receiver: Receiver,
    work: Work,
    noise: float,
    top: float,
    part: tuple[int, int],
    even: float,
    frame: int,
    ray: int,
) -> bool:
    """Decide whether noise rises above the threshold in B; then the signal of the gate is made."""
    words = block(receiver.key, frame, lanes_of(ray, DECIDED))
    u = open_unit(words[0])
    own = receiver, work.signal, noise, top, part, even
    if u >= even * len(work.signal) + screen(receiver, work.signal, noise, top, part):
        return False
    total, _ = chance_elsewhere(*own, math.inf)
    if total > MOST_CHANCE:
        drawn = reach_of(part, len(receiver.filter) // 2, len(work.signal))
        draw_elsewhere(receiver, work, noise, frame, lanes_of(ray, OWN), drawn)
        filter_all(receiver, work)
        return True
    _, place = chance_elsewhere(*own, u)
    if u >= total or place < 0:
        return False
    put_above(receiver, work, noise, top, place, part, frame, ray)
    return bool(open_unit(words[1]) * crossings(work.signal, top, part) < 1.0)


@njit(**APART)
def make_part(
    receiver: Receiver,
    work: Work,
    background: float,
    step: float,
    lit: tuple[int, int],
    part: tuple[int, int],
    frame: int,
    ray: int,
) -> None:
    """Make what A and the samples next to it are above the base, as far as it was drawn."""
    samples, half = len(work.signal), len(receiver.filter) // 2
    first, last = reach_of(part, half, samples)
    before, after = reach_of(part, 2 * half, samples)
    lanes = lanes_of(ray, OWN)
    photocurrent(receiver, work, background, step, frame, lanes, first, last, lit)
    # The draws of whole blocks, and what was there before, are not to be seen by the filter.
    work.level[max(before, half) : half + first] = 0.0
    work.level[half + last : min(after, samples - half) + 2 * half] = 0.0
    fold(receiver.filter, work.level, work.signal, before, after)


@njit(**ACCESS)
def part_to_show(
    signal: Floats, level: float, margin: int, begin: int, end: int
) -> tuple[int, int]:
    """From the first to the last of some samples above a level, with a margin; (0, 0) for none."""
    first, last = part_above(signal, level, begin, end)
    if first >= last:
        return 0, 0
    return max(first - margin, 0), min(last + margin, len(signal))


@njit(**ACCESS)
def make_seen(
    receiver: Receiver,
    work: Work,
    background: float,
    step: float,
    level: float,
    top: float,
    margin: int,
    lit: tuple[int, int],
    frame: int,
    ray: int,
) -> tuple[int, int]:
    """Make A: the samples that light is seen in and, where they cross, the margin around that.

    It begins with what the power will need as a rule: the filter moves crossings a little.
    """
    samples, half = len(work.signal), len(receiver.filter) // 2
    first, last = part_to_show(work.power, level, margin + (half >> 2), lit[0], lit[1])
    part = lit[0] - half, lit[1] + half
    while True:
        if first < last:
            part = min(part[0], first), max(part[1], last)
        part = part_within(part, half, samples)
        make_part(receiver, work, background, step, lit, part, frame, ray)
        first, last = part_to_show(work.signal, top, margin, part[0], part[1])
        if (first >= part[0] or first >= last) and last <= part[1]:
            return part[0], part[1]


@njit(**APART)
def whole_gate(
    receiver: Receiver,
    work: Work,
    background: float,
    step: float,
    lit: tuple[int, int],
    frame: int,
    ray: int,
) -> None:
    """Make the signal of the whole gate."""
    work.power[: lit[0]] = 0.0
    work.power[lit[1] :] = 0.0
    receive(receiver, work, background, step, frame, ray)


@njit(**APART)
def listen(
    receiver: Receiver,
    work: Work,
    background: float,
    step: float,
    level: float,
    margin: int,
    lit: tuple[int, int],
    frame: int,
    ray: int,
) -> tuple[int, int]:
    """Make the signal of an apd from the first to the last sample above a level, and a margin.

    Power is given where there is light; the part that is made is given back, (0, 0) if none is.
    """
    samples, half = len(work.signal), len(receiver.filter) // 2
    base, top, noise = base_of(receiver, background, step), least_above(receiver, level), 0.0
    even, part = 0.0 if top >= 0.0 else 1.0, (samples // 2, samples // 2)
    if receiver.noise:
        noise = math.sqrt((receiver.density * base + receiver.floor) / step)
        even = above(top / max(noise * math.sqrt(receiver.squares), 1e-300))
    all_of_it = even * samples > MOST_CHANCE or 2 * (lit[1] - lit[0] + 6 * half) > samples
    if all_of_it:
        whole_gate(receiver, work, background, step, lit, frame, ray)
    else:
        own = receiver, work, background, step
        if lit[0] < lit[1]:
            part = make_seen(*own, level, top, margin, lit, frame, ray)
        if noise > 0.0:
            all_of_it = rises_elsewhere(receiver, work, noise, top, part, even, frame, ray)
        begin, end = (0, samples) if all_of_it else part
        report(receiver, base, work.signal, begin, end)
    begin, end = (0, samples) if all_of_it else part
    shown: tuple[int, int] = part_to_show(work.signal, level, margin, begin, end)
    return shown


@njit(cache=True, error_model="numpy")
def listen_all(
    receiver: Receiver,
    work: Work,
    signals: Floats,
    background: float,
    step: float,
    level: float,
    margin: int,
    lit: tuple[int, int],
    spans: NDArray[np.int64],
) -> None:
    """Replace the powers of many pulses by what is heard of them, for who has his own waveforms."""
    for ray in range(len(signals)):
        work.power[:] = signals[ray]
        first, last = listen(receiver, work, background, step, level, margin, lit, 0, ray)
        spans[ray, 0], spans[ray, 1] = first, last
        signals[ray] = 0.0
        signals[ray, first:last] = work.signal[first:last]
