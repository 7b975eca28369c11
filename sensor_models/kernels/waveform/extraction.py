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
from sensor_models.kernels.waveform.decomposition import FEW_STEPS, MOST_STEPS, fit
from sensor_models.kernels.waveform.layout import GAUSSIAN, SPARE, Extraction, Floats, Found
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
    for k in range(3):
        to[other, k] = echoes[place, k]


@njit(**ACCESS)
def remove(echoes: Floats, held: int, gone: int) -> int:
    """Take an echo out of a list; how many are left."""
    for i in range(gone, held - 1):
        copy_echo(echoes, i + 1, echoes, i)
    return held - 1


@njit(**ACCESS)
def weakest_of(echoes: Floats, held: int) -> int:
    """The echo with the least energy."""
    weakest = 0
    for i in range(1, held):
        if echoes[i, 0] * echoes[i, 2] < echoes[weakest, 0] * echoes[weakest, 2]:
            weakest = i
    return weakest


@njit(**ACCESS)
def prove(
    signal: Floats,
    begin: int,
    end: int,
    group: Floats,
    held: int,
    gain: float,
    total: float,
    found: Found,
) -> int:
    """Drop the weakest echoes of a group as long as the fit is as good without them."""
    spare = found.room[SPARE:]
    while held > 1:
        for i in range(held):
            copy_echo(group, i, spare, i)
        left = remove(spare, held, weakest_of(group, held))
        without = fit(signal, begin, end, spare, left, found.room, FEW_STEPS)
        if without - total > gain:
            break
        held, total = left, without
        for i in range(held):
            copy_echo(spare, i, group, i)
    return held


@njit(**ACCESS)
def needed_gain(signal: Floats, begin: int, end: int, ask: Extraction, sigma: float) -> float:
    """By how much the sum of squares has to fall for one more echo."""
    repeats = max(1.0, 2.0 * math.sqrt(math.pi) * ask.filter_sigma)
    squares = 0.0
    for k in range(begin, end):
        squares += signal[k] * signal[k]
    return max(PROOF * repeats * sigma * sigma, EXACT * squares)


@njit(**ACCESS)
def keep_strong(group: Floats, held: int, gain: float) -> int:
    """Drop candidates that are too small to prove: the sum of their squares is less than that."""
    i = 0
    while i < held and held > 1:
        if math.sqrt(math.pi) * group[i, 0] ** 2 * group[i, 2] < gain:
            held = remove(group, held, i)
        else:
            i += 1
    return held


@njit(**ACCESS)
def fit_group(
    signal: Floats,
    first: int,
    last: int,
    ask: Extraction,
    level: float,
    sigma: float,
    place: int,
    held: int,
    found: Found,
) -> int:
    """Fit echoes that overlap; how many of them there are."""
    group = found.echoes[place:]
    begin = max(int(group[0, 1] - 3.5 * group[0, 2] - 1.0), first)
    end = min(int(group[held - 1, 1] + 3.5 * group[held - 1, 2] + 2.0), last)
    started = held
    if held == 1:
        fit(signal, begin, end, group, held, found.room, MOST_STEPS)
    else:
        gain = needed_gain(signal, begin, end, ask, sigma)
        held = started = keep_strong(group, held, gain)
        total = fit(signal, begin, end, group, held, found.room, MOST_STEPS)
        held = prove(signal, begin, end, group, held, gain, total, found)
    dropped, i = held < started, 0
    while i < held:
        inside = begin - 1.0 < group[i, 1] < end
        if inside and group[i, 0] > level and group[i, 2] >= ask.least_width * ask.sigma:
            i += 1
            continue
        held, dropped = remove(group, held, i), True
    if dropped and held > 0:
        fit(signal, begin, end, group, held, found.room, MOST_STEPS)
    return held


@njit(**ACCESS)
def begin_echo(
    signal: Floats, first: int, last: int, top: int, level: float, sigma: float, echo: Floats
) -> None:
    """What a candidate is taken for at first.

    Without noise that is the Gaussian through its largest sample and the neighbours, if it is about
    as wide at half its height: most fits are a step shorter then.
    """
    place, height = vertex(signal, first, last, top)
    width = width_at(signal, first, last, top)
    echo[0], echo[1], echo[2] = max(height, level), place, width
    if sigma > 0.0 or top <= first or top >= last - 1:
        return
    low, middle, high = signal[top - 1], signal[top], signal[top + 1]
    if not (low > 0.0 and high > 0.0 and middle > low and middle > high):
        return
    before, after = math.log(low / middle), math.log(high / middle)
    bend = before + after
    own = math.sqrt(-1.0 / bend)
    if 0.7 * width < own < 1.4 * width:
        shift = 0.5 * (before - after) / bend
        echo[0] = middle * math.exp(-0.25 * (before - after) * shift)
        echo[1], echo[2] = top + shift, own


@njit(**ACCESS)
def decompose(
    signal: Floats,
    first: int,
    last: int,
    ask: Extraction,
    level: float,
    sigma: float,
    candidates: int,
    found: Found,
) -> int:
    """Make echoes of candidates by fitting Gaussians; how many there are."""
    echoes = found.echoes
    for i in range(candidates):
        begin_echo(signal, first, last, found.place[i], level, sigma, echoes[i])
    kept, begin = 0, 0
    while begin < candidates:
        end = begin + 1
        while end < candidates:
            gap = echoes[end, 1] - echoes[end - 1, 1]
            if gap > 3.5 * (echoes[end, 2] + echoes[end - 1, 2]):
                break
            end += 1
        if kept < begin:
            for i in range(begin, end):
                copy_echo(echoes, i, echoes, kept + i - begin)
        kept += fit_group(signal, first, last, ask, level, sigma, kept, end - begin, found)
        begin = end
    return kept


@njit(**ACCESS)
def sort_echoes(echoes: Floats, held: int) -> None:
    """Bring echoes to the order of time."""
    for i in range(1, held):
        k = i
        while k > 0 and echoes[k - 1, 1] > echoes[k, 1]:
            for part in range(3):
                moved = echoes[k, part]
                echoes[k, part] = echoes[k - 1, part]
                echoes[k - 1, part] = moved
            k -= 1


@njit(**ACCESS)
def go_blind(
    signal: Floats, first: int, last: int, echoes: Floats, held: int, level: float, dead: float
) -> int:
    """Drop echoes that rise while the channel is blind; how many are left."""
    kept, until, floor = 0, -math.inf, first
    for i in range(held):
        top = min(max(int(echoes[i, 1] + 0.5), floor), last - 1)
        rise, floor = crossing_before(signal, floor, top, level), top
        if rise < until:
            continue
        until = rise + dead
        copy_echo(echoes, i, echoes, kept)
        kept += 1
    return kept


@njit(**ACCESS)
def extract(
    signal: Floats, first: int, last: int, ask: Extraction, level: float, sigma: float, found: Found
) -> int:
    """Find the echoes of samples: amplitude in W, place and sigma in samples; how many there are.

    ``level`` is the threshold and ``sigma`` the noise, both in W.
    """
    held: int = find_candidates(signal, first, last, ask, level, sigma, found)
    if ask.way == GAUSSIAN:
        held = decompose(signal, first, last, ask, level, sigma, held, found)
        sort_echoes(found.echoes, held)
        for i in range(held):
            own = found.echoes[i, 2] ** 2 - ask.filter_sigma**2
            found.echoes[i, 2] = math.sqrt(max(own, 0.0))
    else:
        kept = 0
        for i in range(held):
            top = largest_near(signal, first, last, found.place[i])
            place, height = say_when(signal, first, last, top, ask, level)
            if place < 0.0:
                continue
            found.echoes[kept, 0], found.echoes[kept, 1] = height, place
            width = width_at(signal, first, last, top)
            found.echoes[kept, 2] = math.sqrt(max(width**2 - ask.filter_sigma**2, 0.0))
            kept += 1
        held = kept
    if ask.dead > 0.0:
        held = go_blind(signal, first, last, found.echoes, held, level, ask.dead)
    return held


@njit(cache=True, error_model="numpy")
def extract_all(
    signals: Floats,
    ask: Extraction,
    level: float,
    sigma: float,
    found: Found,
    counts: NDArray[np.int64],
    echoes: Floats,
) -> None:
    """The echoes of many waveforms, (waveforms, MOST_ECHOES, 3), and how many each has."""
    for row in range(len(signals)):
        signal = signals[row]
        held = extract(signal, 0, len(signal), ask, level, sigma, found)
        counts[row] = held
        for i in range(held):
            for k in range(3):
                echoes[row, i, k] = found.echoes[i, k]
