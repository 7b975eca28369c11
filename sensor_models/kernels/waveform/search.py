r"""Where a waveform has echoes, and the simple ways to say when they came.

Candidates are maxima above the threshold, two samples or more apart, of the waveform smoothed
by (1, 2, 1)/4; for a decomposition also shoulders: minima of the second difference that noise
does not explain, away from other candidates by half the width of an echo. If there are more than
may be reported, the strongest are kept. Samples at the full scale of a converter, with fewer than
``GAP`` others between them, are one candidate; no shoulder is looked for near them.

peak          the vertex of the parabola through the largest sample and its neighbours
leading edge  where the signal rises above a share f of the peak, plus s sqrt(2 ln(1/f)), which is
              how much earlier a flat target's echo does; or above the threshold, as it is: an echo
              of amplitude S shows -s sqrt(2 ln(S/T)), the range walk
cfd           where f x(t) - x(t - d) falls through 0, less d/2 + s^2 ln f / d, where that of a
              Gaussian does
centroid      the mean of times within 1.5 FWHM of the maximum, weighted with the samples

s is the width of an echo of a flat target. Crossings lie on cubics through four samples; a line
through two puts them up to 4 mm off at two samples a standard deviation.
"""

import math

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.tracing.packets import ACCESS
from sensor_models.kernels.waveform.layout import (
    CENTROID,
    CFD,
    GAUSSIAN,
    LEADING_EDGE,
    MOST_ECHOES,
    Extraction,
    Floats,
    Found,
)
from sensor_models.kernels.waveform.simd import EIGHT, bends_among, tops_among

#: Full width at half maximum over standard deviation.
FWHM = 2.0 * math.sqrt(2.0 * math.log(2.0))
#: Of the second difference of smoothed white noise, over that of the noise: (1, 0, -2, 0, 1)/4.
CURVED = math.sqrt(6.0) / 4.0
#: Second difference of a shoulder, as a share of what a lone echo of that height has.
LEAST_BEND = 0.02
#: Samples below the full scale that noise puts among those that are at it.
GAP = 3
APART = {**ACCESS, "forceinline": False}


@njit(**ACCESS)
def smooth_for_search(signal: Floats, smooth: Floats, first: int, last: int) -> None:
    """Smooth samples for the search only."""
    top = len(signal) - 1
    begin, end = max(first, 1), min(last, top)
    # Counted from 0: an index that might be negative would be looked at, sample by sample.
    before, here, after, to = (
        signal[begin - 1 :],
        signal[begin:],
        signal[begin + 1 :],
        smooth[begin:],
    )
    for k in range(end - begin):
        to[k] = 0.25 * (before[k] + 2.0 * here[k] + after[k])
    if first == 0:
        smooth[0] = 0.25 * (3.0 * signal[0] + signal[min(1, top)])
    if last == top + 1:
        smooth[top] = 0.25 * (signal[max(top - 1, 0)] + 3.0 * signal[top])


@njit(**APART)
def keep_candidate(found: Found, count: int, most: int, k: int) -> int:
    """Add a candidate to the list; if it is full, to the place of the weakest."""
    place, smooth = found.place, found.smooth
    if count < most:
        place[count] = k
        return count + 1
    weakest = 0
    for i in range(1, count):
        if smooth[place[i]] < smooth[place[weakest]]:
            weakest = i
    if smooth[k] > smooth[place[weakest]]:
        place[weakest] = k
    return count


@njit(**ACCESS)
def in_order(found: Found, count: int) -> None:
    """Sort candidates by time."""
    for i in range(1, count):
        moved, k = found.place[i], i
        while k > 0 and found.place[k - 1] > moved:
            found.place[k] = found.place[k - 1]
            k -= 1
        found.place[k] = moved


@njit(**ACCESS)
def bend_at(smooth: Floats, k: int) -> float:
    """The second difference around the sample after one."""
    return float(smooth[k] - 2.0 * smooth[k + 1] + smooth[k + 2])


@njit(**ACCESS)
def is_alone(found: Found, count: int, k: int, apart: float) -> bool:
    """Whether a sample lies so far from all candidates."""
    alone = True
    for i in range(count):
        alone = alone and abs(found.place[i] - k) >= apart
    return alone


@njit(**ACCESS)
def clipped_around(signal: Floats, first: int, last: int, k: int, clip: float) -> tuple[int, int]:
    """The run of samples at full scale around one of them: its first and its last sample."""
    begin = end = k
    i = k - 1
    while i >= first and begin - i <= GAP:
        if signal[i] >= clip:
            begin = i
        i -= 1
    i = k + 1
    while i < last and i - end <= GAP:
        if signal[i] >= clip:
            end = i
        i += 1
    return begin, end


@njit(**ACCESS)
def is_clipped(signal: Floats, first: int, last: int, k: int, near: int, clip: float) -> bool:
    """Whether a sample or one so near to it is at full scale."""
    found = False
    for i in range(max(k - near, first), min(k + near + 1, last)):
        found = found or signal[i] >= clip
    return found


@njit(**ACCESS)
def find_shoulders(
    signal: Floats,
    first: int,
    last: int,
    ask: Extraction,
    level: float,
    sigma: float,
    clip: float,
    found: Found,
    count: int,
) -> int:
    """Add the shoulders of what was smoothed to the list; how many candidates there are."""
    most, noise = min(ask.most, MOST_ECHOES), 3.0 * CURVED * sigma
    apart, lone = 0.5 * FWHM * ask.sigma, LEAST_BEND / (1.0 + ask.sigma**2)
    from_here, noisy = found.smooth[first:], found.noise[first:]
    address, i, end = from_here.ctypes.data, 0, last - first - 4
    while i < end:
        if end - i >= EIGHT and not bends_among(address + 8 * i, level, lone):
            i += EIGHT
            continue
        height, bend, own = from_here[i + 2], bend_at(from_here, i + 1), noisy[i + 2]
        bends = height > level and bend < -max(noise * own, lone * height) and height > level * own
        most_bent = bends and bend < bend_at(from_here, i) and bend <= bend_at(from_here, i + 2)
        k, near = first + 2 + i, int(apart) + 2
        i += 1
        if not most_bent:
            continue
        if clip < math.inf and is_clipped(signal, first, last, k, near, clip):
            continue
        if is_alone(found, count, k, apart):
            count = keep_candidate(found, count, most, k)
    return count


@njit(**ACCESS)
def find_candidates(
    signal: Floats,
    first: int,
    last: int,
    ask: Extraction,
    level: float,
    sigma: float,
    clip: float,
    found: Found,
) -> int:
    """List places where echoes may be; how many there are."""
    smooth, count, newest = found.smooth, 0, -2
    most = min(ask.most, MOST_ECHOES)
    smooth_for_search(signal, smooth, first, last)
    before, here, after = smooth[first:], smooth[first + 1 :], smooth[first + 2 :]
    noisy = found.noise[first + 1 :]
    if signal[first] >= clip:  # the gate begins within an echo
        begin, end = clipped_around(signal, first, last, first, clip)
        newest = end - first
        count = keep_candidate(found, count, most, (begin + end) >> 1)
    address, i, behind = before.ctypes.data, -1, last - first - 2
    while i + 1 < behind:
        i += 1
        if behind - i >= EIGHT and not tops_among(address + 8 * i, level):
            i += EIGHT - 1
            continue
        if here[i] > level and here[i] > before[i] and here[i] >= after[i] and i - newest >= 2:
            if here[i] <= level * noisy[i]:
                continue
            newest, k = i, first + 1 + i
            top = largest_near(signal, first, last, k)
            if signal[top] >= clip:
                begin, end = clipped_around(signal, first, last, top, clip)
                newest, k = end - first, (begin + end) >> 1
            count = keep_candidate(found, count, most, k)
    if ask.way == GAUSSIAN:
        count = find_shoulders(signal, first, last, ask, level, sigma, clip, found, count)
    in_order(found, count)
    return count


@njit(**ACCESS)
def crossing_before(signal: Floats, first: int, top: int, level: float) -> float:
    """Where the signal rises through a level before a sample, or the lowest place on the way."""
    k = top
    while k > first and signal[k - 1] > level:
        k -= 1
    if k == first:
        return float(first)
    low, high = signal[k - 1], signal[k]
    return float(k - (high - level) / (high - low)) if high > low else float(k)


@njit(**ACCESS)
def crossing_after(signal: Floats, top: int, last: int, level: float) -> float:
    """Where the signal falls through a level after a sample."""
    k = top
    while k < last - 1 and signal[k + 1] > level:
        k += 1
    if k == last - 1:
        return float(k)
    high, low = signal[k], signal[k + 1]
    return float(k + (high - level) / (high - low)) if high > low else float(k)


@njit(**ACCESS)
def largest_near(signal: Floats, first: int, last: int, k: int) -> int:
    """The largest sample of three."""
    best = k
    if k > first and signal[k - 1] > signal[best]:
        best = k - 1
    if k < last - 1 and signal[k + 1] > signal[best]:
        best = k + 1
    return best


@njit(**ACCESS)
def vertex(signal: Floats, first: int, last: int, k: int) -> tuple[float, float]:
    """Place and height of the parabola through a sample and its neighbours."""
    if k <= first or k >= last - 1:
        return float(k), signal[k]
    low, high = signal[k - 1], signal[k + 1]
    bend = low - 2.0 * signal[k] + high
    if bend >= 0.0:
        return float(k), signal[k]
    shift = 0.5 * (low - high) / bend
    shift = min(max(shift, -0.5), 0.5)
    return k + shift, signal[k] - 0.25 * (low - high) * shift


@njit(**ACCESS)
def value_at(signal: Floats, place: float) -> float:
    """The signal between two samples: on the cubic through four, on a line at the ends."""
    k = math.floor(place)
    if k < 0 or k >= len(signal) - 1:
        return 0.0
    p = place - k
    low, high = signal[k], signal[k + 1]
    value = (1.0 - p) * low + p * high
    if k < 1 or k >= len(signal) - 2:
        return float(value)
    # What the line misses, by the second differences at both ends (Everett).
    bend, next_bend = signal[k - 1] - 2.0 * low + high, low - 2.0 * high + signal[k + 2]
    q = 1.0 - p
    return float(value + (q * (q * q - 1.0) * bend + p * (p * p - 1.0) * next_bend) / 6.0)


@njit(**ACCESS)
def refined(signal: Floats, place: float, level: float) -> float:
    """Where the signal crosses a level, of the place by a line through two samples."""
    k = math.floor(place)
    if k < 0 or k >= len(signal) - 1 or signal[k + 1] == signal[k]:
        return place
    slope, better = signal[k + 1] - signal[k], place
    for _ in range(3):
        better += (level - value_at(signal, better)) / slope
        better = min(max(better, float(k)), k + 1.0)
    return better


@njit(**ACCESS)
def constant_fraction(signal: Floats, last: int, begin: int, ask: Extraction) -> float:
    """Where f x(t) - x(t - d) falls through 0 after a place, less what a Gaussian shows; or -1."""
    f, d = ask.cfd_fraction, ask.cfd_delay
    was = f * signal[begin] - value_at(signal, begin - d)
    for k in range(begin + 1, last):
        now = f * signal[k] - value_at(signal, k - d)
        if was > 0.0 and now <= 0.0:
            bias = 0.5 * d + ask.sigma**2 * math.log(f) / d
            place = k - 1 + was / (was - now)
            for _ in range(3):
                left = f * value_at(signal, place) - value_at(signal, place - d)
                place = min(max(place + left / (was - now), k - 1.0), float(k))
            return float(place - bias)
        was = now
    return -1.0


@njit(**ACCESS)
def mean_place(signal: Floats, first: int, last: int, top: int, reach: int) -> float:
    """The centroid of the samples around one."""
    total, moment = 0.0, 0.0
    for k in range(max(top - reach, first), min(top + reach + 1, last)):
        total += signal[k]
        moment += signal[k] * (k - top)
    return float(top + moment / total) if total > 0.0 else float(top)


@njit(**ACCESS)
def say_when(
    signal: Floats, first: int, last: int, top: int, ask: Extraction, level: float
) -> tuple[float, float]:
    """Place and height of the echo at a maximum, by any way but a decomposition; -1 for none."""
    place, height = vertex(signal, first, last, top)
    if ask.way == LEADING_EDGE:
        if ask.fraction <= 0.0:
            return refined(signal, crossing_before(signal, first, top, level), level), height
        bias, share = ask.sigma * math.sqrt(-2.0 * math.log(ask.fraction)), ask.fraction * height
        rise = refined(signal, crossing_before(signal, first, top, share), share)
        return rise + bias, height
    if ask.way == CFD:
        rising = int(crossing_before(signal, first, top, 0.5 * ask.cfd_fraction * height))
        return constant_fraction(signal, last, max(rising, first), ask), height
    if ask.way == CENTROID:
        reach = max(int(1.5 * FWHM * ask.sigma + 0.5), 1)
        return mean_place(signal, first, last, top, reach), height
    return place, height


@njit(**ACCESS)
def width_at(signal: Floats, first: int, last: int, top: int) -> float:
    """The standard deviation that a Gaussian of the same width at half height has."""
    place, height = vertex(signal, first, last, top)
    half = 0.5 * height
    left = place - crossing_before(signal, first, top, half)
    right = crossing_after(signal, top, last, half) - place
    # A neighbour may hide one side: then the other one counts.
    return float(max(2.0 * min(left, right), 0.5) / FWHM)
