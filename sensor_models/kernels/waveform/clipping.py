r"""Echoes that a converter clips: what their flanks say.

Of a run of samples at full scale C the signal rises through C at t_1 and falls through it at t_2.
With h = (t_2 - t_1) / 2, a Gaussian through both has

    t = (t_1 + t_2) / 2,    w^2 = d / r,    a = C e^(h^2 / 2 w^2)

r is the fall of the logarithm from one sample of a flank to the next, d the distance of their
middle from t; w is no less than that of a flat target. So devices take the walk out of saturated
echoes: their width over a threshold says how strong they were. If the gate cuts a flank off, w is
that of a flat target, and t = d' -+ w^2 r, of the middle d' of two samples of the other flank.

That is where a fit starts (``decomposition``). An echo so strong that its flanks lie further out
than ``MOST_FITTED`` of its standard deviations, where pulses are no longer Gaussians, and one with
one flank keep it.

Source: section 35 of the physics, and the closed forms of a Gaussian.
"""

import math

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.tracing.packets import ACCESS
from sensor_models.kernels.waveform.layout import (
    AMPLITUDE,
    MIDDLE,
    PLACE,
    REACH,
    WIDTH,
    Extraction,
    Floats,
)
from sensor_models.kernels.waveform.search import GAP, clipped_around

#: Half width of a run over the standard deviation of its echo, up to which it is fitted.
MOST_FITTED = 4.5
#: Largest half width over standard deviation that an amplitude is worked out for.
FARTHEST = 9.0
APART = {**ACCESS, "forceinline": False}


@njit(**ACCESS)
def clipped_near(signal: Floats, first: int, last: int, k: int, clip: float) -> int:
    """A sample at full scale, at or next to a candidate; -1 if there is none."""
    if clip == math.inf:
        return -1
    for shift in range(GAP):
        if k - shift >= first and signal[k - shift] >= clip:
            return k - shift
        if k + shift < last and signal[k + shift] >= clip:
            return k + shift
    return -1


@njit(**ACCESS)
def fall_of(signal: Floats, near: int, far: int, least: float) -> float:
    """By how much the logarithm falls from a sample of a flank to the next one; 0 if unknown."""
    if far < 0 or far >= len(signal):
        return 0.0
    high, low = signal[near], signal[far]
    return float(math.log(high / low)) if high > low > least else 0.0


@njit(**ACCESS)
def over_the_edge(
    signal: Floats, near: int, fall: float, run: int, clip: float, least: float, sigma: float
) -> float:
    """How far from the first sample of a flank toward the run the signal is at full scale.

    Where the next sample says nothing, the fall is that of a flat target with a run as long.
    """
    squared = sigma * sigma
    # The logarithm is a parabola: it falls by less, the nearer to the top.
    steep = max(fall - 1.0 / squared, 0.25 * fall) if fall > 0.0 else 0.5 * (run + 1.0) / squared
    way = math.log(clip / max(signal[near], least)) / steep
    if signal[near] < least:
        way = 0.5 * (way + 1.0)
    return float(min(max(way, 0.0), 1.0))


@njit(**APART)
def begin_clipped(
    signal: Floats,
    first: int,
    last: int,
    clipped: int,
    ask: Extraction,
    level: float,
    clip: float,
    echo: Floats,
) -> bool:
    """What an echo is taken for, from the run around a clipped sample; whether a fit may follow."""
    begin, end = clipped_around(signal, first, last, clipped, clip)
    echo[MIDDLE], echo[REACH] = 0.5 * (begin + end), 0.5 * (end - begin) + 1.0
    least, sigma = 0.5 * level, max(ask.sigma, 0.3)
    rising, falling = begin - 1 >= first, end + 1 < last
    rise = fall_of(signal, begin - 1, begin - 2, least) if rising and begin - 2 >= first else 0.0
    fall = fall_of(signal, end + 1, end + 2, least) if falling and end + 2 < last else 0.0
    start, stop, run = begin - 1.0, end + 1.0, end - begin
    if rising:
        start += over_the_edge(signal, begin - 1, rise, run, clip, least, sigma)
    if falling:
        stop -= over_the_edge(signal, end + 1, fall, run, clip, least, sigma)
    if rising and falling:
        half, place = 0.5 * (stop - start), 0.5 * (start + stop)
        squared = sides = 0.0
        for slope, middle in ((rise, place - begin + 1.5), (fall, end + 1.5 - place)):
            if slope > 0.0:
                squared, sides = squared + middle / slope, sides + 1.0
        width = max(math.sqrt(squared / sides), sigma) if sides > 0.0 else sigma
    else:
        width, place = sigma, echo[MIDDLE]
        if fall > 0.0:
            place = min(end + 1.5 - sigma * sigma * fall, stop)
        elif rise > 0.0:
            place = max(begin - 1.5 + sigma * sigma * rise, start)
        half = max(stop - place if falling else place - start, 0.0)
    steep = min(half / width, FARTHEST)
    echo[AMPLITUDE] = clip * math.exp(0.5 * steep * steep)
    echo[PLACE], echo[WIDTH] = place, width
    return rise > 0.0 and fall > 0.0 and half < MOST_FITTED * width
