r"""The echoes of a waveform.

A decomposition goes through these steps for echoes that overlap, group by group:

    start    candidates (``search``) with their heights, and their widths at half height
    strong   candidates whose squares sum up to less than has to be gained (``prove``) go
    fit      all of them together (``decomposition``)
    prove    the weakest goes if the sum of squares without it is not larger by more than noise
             gives: c sigma^2 (3 + 3 sqrt(6)), mean and three standard deviations of chi squared
             with 3 degrees, where c = 2 sqrt(pi) s_f is the number of samples that filtered noise
             repeats itself over. Without noise, by 1e-4 of the sum of squares of the samples
    drop     what is below the threshold or narrower than the least width goes; fit once more
    unfold   w^2 - s_f^2: the filter is taken out of the widths

A run of samples at the full scale of a converter is one echo, whatever way echoes are found: it is
what its flanks say (``clipping``), and is fitted with them. At a fixed threshold it walks as all.

Each echo knows where the light came from: its place where it was fitted, else its largest sample or
the middle of its run. What a fixed threshold reports lies before that.

After an echo the channel is blind for the dead time: echoes whose rise above the threshold falls
into it are lost.

Source: section 31 of the physics. The proof is an extension: on white noise it leaves fewer single
echoes that come out as two.
"""

import math

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.tracing.packets import ACCESS
from sensor_models.kernels.waveform.clipping import begin_clipped, clipped_near
from sensor_models.kernels.waveform.decomposition import FEW_STEPS, MOST_STEPS, fit
from sensor_models.kernels.waveform.layout import (
    AMPLITUDE,
    GAUSSIAN,
    LEADING_EDGE,
    MIDDLE,
    NOISE,
    PLACE,
    REACH,
    SPARE,
    WIDTH,
    Extraction,
    Floats,
    Found,
)
from sensor_models.kernels.waveform.search import (
    crossing_before,
    find_candidates,
    largest_near,
    say_when,
    vertex,
    width_at,
)

#: Mean and three standard deviations of chi squared with 3 degrees of freedom.
PROOF = 3.0 + 3.0 * math.sqrt(6.0)
#: The same where there is no noise, of the sum of squares of the samples.
EXACT = 1e-4


@njit(**ACCESS)
def copy_echo(echoes: Floats, place: int, to: Floats, other: int) -> None:
    """Copy an echo to a place of a list."""
    for k in range(NOISE + 1):
        to[other, k] = echoes[place, k]


@njit(**ACCESS)
def remove(echoes: Floats, echo_count: int, gone: int) -> int:
    """Take an echo out of a list; how many are left."""
    for i in range(gone, echo_count - 1):
        copy_echo(echoes, i + 1, echoes, i)
    return echo_count - 1


@njit(**ACCESS)
def weakest_of(echoes: Floats, echo_count: int) -> int:
    """The echo with the least energy."""
    weakest = 0
    for i in range(1, echo_count):
        if echoes[i, 0] * echoes[i, 2] < echoes[weakest, 0] * echoes[weakest, 2]:
            weakest = i
    return weakest


@njit(**ACCESS)
def prove(
    signal: Floats,
    begin: int,
    end: int,
    group: Floats,
    echo_count: int,
    gain: float,
    total: float,
    clip: float,
    found: Found,
) -> int:
    """Drop the weakest echoes of a group as long as the fit is as good without them."""
    spare = found.room[SPARE:]
    while echo_count > 1:
        for i in range(echo_count):
            copy_echo(group, i, spare, i)
        left = remove(spare, echo_count, weakest_of(group, echo_count))
        own = spare, left, found.room, FEW_STEPS, clip, total + gain
        without = fit(signal, begin, end, *own)
        if without - total > gain:
            break
        echo_count, total = left, without
        for i in range(echo_count):
            copy_echo(spare, i, group, i)
    return echo_count


@njit(**ACCESS)
def needed_gain(signal: Floats, begin: int, end: int, ask: Extraction, sigma: float) -> float:
    """By how much the sum of squares has to fall for one more echo."""
    repeats = max(1.0, 2.0 * math.sqrt(math.pi) * ask.filter_sigma)
    squares = 0.0
    for k in range(begin, end):
        squares += signal[k] * signal[k]
    return max(PROOF * repeats * sigma * sigma, EXACT * squares)


@njit(**ACCESS)
def keep_strong(group: Floats, echo_count: int, gain: float) -> int:
    """Drop candidates that are too small to prove: the sum of their squares is less than that."""
    i = 0
    while i < echo_count and echo_count > 1:
        if math.sqrt(math.pi) * group[i, 0] ** 2 * group[i, 2] < gain:
            echo_count = remove(group, echo_count, i)
        else:
            i += 1
    return echo_count


@njit(**ACCESS)
def reach_of_echo(echo: Floats) -> float:
    """How far from its place an echo is to be fitted."""
    return float(3.5 * echo[WIDTH] + abs(echo[REACH]))


@njit(**ACCESS)
def drop_weak(
    group: Floats,
    echo_count: int,
    begin: int,
    end: int,
    ask: Extraction,
    level: float,
    found: Found,
) -> int:
    """Drop echoes of a group that are below the threshold, too narrow or elsewhere."""
    i = 0
    while i < echo_count:
        noisy = found.noise[min(max(int(group[i, PLACE] + 0.5), begin), end - 1)]
        inside = begin - 1.0 < group[i, PLACE] < end
        strong = group[i, AMPLITUDE] > level * noisy
        if inside and strong and group[i, WIDTH] >= ask.least_width * ask.sigma:
            i += 1
        else:
            echo_count = remove(group, echo_count, i)
    return echo_count


@njit(**ACCESS)
def fit_group(
    signal: Floats,
    first: int,
    last: int,
    ask: Extraction,
    level: float,
    sigma: float,
    clip: float,
    place: int,
    echo_count: int,
    found: Found,
) -> int:
    """Fit echoes that overlap; how many of them there are. ``clip``: infinity if none is clipped.

    Of a group with a clipped echo that cannot be fitted, all stay as they began.
    """
    group = found.echoes[place:]
    reach, end_reach = reach_of_echo(group[0]), reach_of_echo(group[echo_count - 1])
    begin = max(int(group[0, PLACE] - reach - 1.0), first)
    end = min(int(group[echo_count - 1, PLACE] + end_reach + 2.0), last)
    for i in range(echo_count):
        if group[i, REACH] < 0.0:
            return echo_count
    started = echo_count
    if echo_count == 1:
        fit(signal, begin, end, group, echo_count, found.room, MOST_STEPS, clip)
    else:
        noisy = sigma * found.noise[min(max(int(group[0, PLACE]), first), last - 1)]
        gain = needed_gain(signal, begin, end, ask, noisy)
        echo_count = started = keep_strong(group, echo_count, gain)
        total = fit(signal, begin, end, group, echo_count, found.room, MOST_STEPS, clip)
        echo_count = prove(signal, begin, end, group, echo_count, gain, total, clip, found)
    echo_count = drop_weak(group, echo_count, begin, end, ask, level, found)
    if 0 < echo_count < started:
        fit(signal, begin, end, group, echo_count, found.room, MOST_STEPS, clip)
    return echo_count


@njit(**ACCESS)
def begin_echo(
    signal: Floats,
    first: int,
    last: int,
    top: int,
    ask: Extraction,
    level: float,
    sigma: float,
    clip: float,
    echo: Floats,
) -> bool:
    """What a candidate is taken for at first; whether it is clipped.

    A clipped echo that is not to be fitted has a reach below zero.

    Without noise that is the Gaussian through its largest sample and the neighbours, if it is about
    as wide at half its height: most fits are a step shorter then.
    """
    clipped = clipped_near(signal, first, last, top, clip)
    if clipped >= 0:
        if not begin_clipped(signal, first, last, clipped, ask, level, clip, echo):
            echo[REACH] = -echo[REACH]
        return True
    place, height = vertex(signal, first, last, top)
    width = width_at(signal, first, last, top)
    echo[AMPLITUDE], echo[PLACE], echo[WIDTH] = max(height, level), place, width
    echo[MIDDLE], echo[REACH] = float(top), 0.0
    if sigma > 0.0 or top <= first or top >= last - 1:
        return False
    low, middle, high = signal[top - 1], signal[top], signal[top + 1]
    if not (low > 0.0 and high > 0.0 and middle > low and middle > high):
        return False
    before, after = math.log(low / middle), math.log(high / middle)
    bend = before + after
    own = math.sqrt(-1.0 / bend)
    if 0.7 * width < own < 1.4 * width:
        shift = 0.5 * (before - after) / bend
        echo[0] = middle * math.exp(-0.25 * (before - after) * shift)
        echo[1], echo[2] = top + shift, own
    return False


@njit(**ACCESS)
def decompose(
    signal: Floats,
    first: int,
    last: int,
    ask: Extraction,
    level: float,
    sigma: float,
    clip: float,
    candidates: int,
    found: Found,
) -> int:
    """Make echoes of candidates by fitting Gaussians; how many there are."""
    echoes, clipped = found.echoes, False
    for i in range(candidates):
        own = signal, first, last, found.place[i], ask, level, sigma, clip, echoes[i]
        clipped = begin_echo(*own) or clipped
    held_at = clip if clipped else math.inf
    kept, begin = 0, 0
    while begin < candidates:
        end = begin + 1
        while end < candidates:
            gap = echoes[end, 1] - echoes[end - 1, 1]
            if gap > reach_of_echo(echoes[end]) + reach_of_echo(echoes[end - 1]):
                break
            end += 1
        if kept < begin:
            for i in range(begin, end):
                copy_echo(echoes, i, echoes, kept + i - begin)
        own_group = kept, end - begin, found
        kept += fit_group(signal, first, last, ask, level, sigma, held_at, *own_group)
        begin = end
    for i in range(kept):
        if echoes[i, REACH] == 0.0:
            echoes[i, MIDDLE] = echoes[i, PLACE]
        echoes[i, REACH] = abs(echoes[i, REACH])
    return kept


@njit(**ACCESS)
def sort_echoes(echoes: Floats, echo_count: int) -> None:
    """Bring echoes to the order of time."""
    for i in range(1, echo_count):
        k = i
        while k > 0 and echoes[k - 1, 1] > echoes[k, 1]:
            for part in range(NOISE + 1):
                moved = echoes[k, part]
                echoes[k, part] = echoes[k - 1, part]
                echoes[k - 1, part] = moved
            k -= 1


@njit(**ACCESS)
def go_blind(
    signal: Floats,
    first: int,
    last: int,
    echoes: Floats,
    echo_count: int,
    level: float,
    dead: float,
) -> int:
    """Drop echoes that rise while the channel is blind; how many are left."""
    kept, until, floor = 0, -math.inf, first
    for i in range(echo_count):
        top = min(max(int(echoes[i, 1] + 0.5), floor), last - 1)
        rise, floor = crossing_before(signal, floor, top, level), top
        if rise < until:
            continue
        until = rise + dead
        copy_echo(echoes, i, echoes, kept)
        kept += 1
    return kept


@njit(**ACCESS)
def one_by_one(
    signal: Floats,
    first: int,
    last: int,
    ask: Extraction,
    level: float,
    clip: float,
    candidates: int,
    found: Found,
) -> int:
    """Make echoes of candidates by any way but a decomposition; how many there are."""
    echoes, kept = found.echoes, 0
    for i in range(candidates):
        own, top = echoes[kept], largest_near(signal, first, last, found.place[i])
        clipped = clipped_near(signal, first, last, found.place[i], clip)
        if clipped >= 0:
            if begin_clipped(signal, first, last, clipped, ask, level, clip, own):
                begin = max(int(own[PLACE] - reach_of_echo(own)), first)
                end = min(int(own[PLACE] + reach_of_echo(own)) + 2, last)
                fit(signal, begin, end, echoes[kept:], 1, found.room, MOST_STEPS, clip)
            if ask.way == LEADING_EDGE and ask.fraction <= 0.0:
                own[PLACE], _ = say_when(signal, first, last, clipped, ask, level)
        else:
            place, height = say_when(signal, first, last, top, ask, level)
            if place < 0.0:
                continue
            own[AMPLITUDE], own[PLACE] = height, place
            own[WIDTH] = width_at(signal, first, last, top)
            own[MIDDLE], own[REACH] = float(top), 0.0
        kept += 1
    return kept


@njit(**ACCESS)
def extract(
    signal: Floats,
    first: int,
    last: int,
    ask: Extraction,
    level: float,
    sigma: float,
    clip: float,
    found: Found,
) -> int:
    """Find the echoes of samples, to the columns of ``Found.echoes``; how many there are.

    ``level`` is the threshold, ``sigma`` the noise, and ``clip`` where samples are at full scale,
    all in W.
    """
    echo_count: int = find_candidates(signal, first, last, ask, level, sigma, clip, found)
    if ask.way == GAUSSIAN:
        echo_count = decompose(signal, first, last, ask, level, sigma, clip, echo_count, found)
        sort_echoes(found.echoes, echo_count)
    else:
        echo_count = one_by_one(signal, first, last, ask, level, clip, echo_count, found)
    for i in range(echo_count):
        echo = found.echoes[i]
        echo[WIDTH] = math.sqrt(max(echo[WIDTH] ** 2 - ask.filter_sigma**2, 0.0))
        echo[NOISE] = found.noise[min(max(int(echo[MIDDLE] + 0.5), first), last - 1)]
    if ask.dead > 0.0:
        echo_count = go_blind(signal, first, last, found.echoes, echo_count, level, ask.dead)
    return echo_count


@njit(cache=True, error_model="numpy")
def extract_all(
    signals: Floats,
    ask: Extraction,
    level: float,
    sigma: float,
    clip: float,
    found: Found,
    counts: NDArray[np.int64],
    echoes: Floats,
) -> None:
    """The echoes of many waveforms, (waveforms, MOST_ECHOES, 3), and how many each has."""
    for row in range(len(signals)):
        signal = signals[row]
        echo_count = extract(signal, 0, len(signal), ask, level, sigma, clip, found)
        counts[row] = echo_count
        for i in range(echo_count):
            for k in range(3):
                echoes[row, i, k] = found.echoes[i, k]
