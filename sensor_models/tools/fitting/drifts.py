"""The law of slow drifts: a random walk, or a Gauss-Markov process with one τ for several axes.

Each axis has sizes of its own, but one correlation time τ is that of all. The process stands in the
place of the walk where it makes the data more likely than chance would: twice the difference of
logarithms is beyond ``SELECTING``. Intervals of sizes allow for that of τ: the profile is over τ,
too, together with what the other axes say about it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sensor_models.tools.fitting.bartlett import stretches
from sensor_models.tools.fitting.estimates import Floats
from sensor_models.tools.fitting.likelihood import LogLikelihood, Peak, Scales
from sensor_models.tools.fitting.slow_noise import (
    Part,
    Record,
    SlowNoise,
    gauss_markov,
    scales_of,
    walk,
)

#: Correlation times that are tried in a decade, and by how much they are told apart.
TIMES_PER_DECADE, TIME_STEP = 3, 0.1
#: 99 % quantile of χ² of one degree, from which on a correlation time is seen: many are tried.
SELECTING = 6.635
#: Shares of what is visible that searches begin at, by the number of parts besides the drift.
_STARTS: Mapping[int, tuple[tuple[float, ...], ...]] = {
    1: ((1.0, 0.3), (0.3, 1.0)),
    2: ((1.0, 0.1, 0.1), (1.0, 0.3, 1e-3), (1.0, 1e-3, 0.1)),
}


@dataclass(frozen=True)
class Axis:
    """The record of one axis."""

    name: str
    record: Record
    #: The parts of its noise besides the drift: white noise, and flicker noise or not.
    always: tuple[Part, ...]
    #: Step of codes, whose rounding is noise as well.
    step: float = 0.0
    #: Records of other axes with the same sizes.
    also: tuple[Record, ...] = ()

    def noise(self, drift: Part) -> SlowNoise:
        """Its likelihood under what is always there and a drift."""
        known = self.step**2 / 12.0 / self.record.rate
        return SlowNoise(self.record, [*self.always, drift], known)

    def _noises(self, drift: Part) -> list[SlowNoise]:
        """That of its record and of those with the same sizes."""
        first = self.noise(drift)
        return [first, *(SlowNoise(r, first.parts, first.known) for r in self.also)]

    def log_likelihood(self, drift: Part) -> LogLikelihood:
        """That of its record and of those with the same sizes."""
        noises = self._noises(drift)
        return lambda sizes: sum(noise.log_likelihood(sizes) for noise in noises)

    def stretches(self, drift: Part, sizes: Floats) -> Floats:
        """By what the intervals of its sizes are longer than those of many data."""
        return stretches([noise.traces(sizes) for noise in self._noises(drift)])


@dataclass(frozen=True)
class Drift:
    """One law of drift for all axes of a sensor, and where their likelihoods are largest."""

    part: Part
    peaks: tuple[Peak, ...]
    time_constant: float = math.inf

    @property
    def value(self) -> float:
        """The logarithm of the likelihood of all axes together."""
        return float(sum(peak.value for peak in self.peaks))


def scales(axis: Axis, drift: Part) -> Scales:
    """The likelihood of the sizes of all parts of an axis, that of the drift last."""
    return Scales(axis.log_likelihood(drift), scales_of(axis.record, axis.noise(drift).parts))


def drift_of(axes: Sequence[Axis], part: Part, time_constant: float = math.inf) -> Drift:
    """The largest likelihoods of all axes under one law of drift."""
    peaks = []
    for axis in axes:
        each = scales(axis, part)
        starts = [each.visible * np.array(s) for s in _STARTS[len(axis.always)]]
        peaks.append(each.peak(starts))
    return Drift(part, tuple(peaks), time_constant)


def tried_drifts(axes: Sequence[Axis], *, may_walk: bool = True) -> list[Drift]:
    """The random walk, and where it does not suffice Gauss-Markov processes around the best."""
    walking = drift_of(axes, walk())
    shortest, longest = 20.0 / axes[0].record.rate, axes[0].record.duration
    count = max(int(TIMES_PER_DECADE * math.log10(longest / shortest)), 2)
    times = np.geomspace(shortest, longest, count)
    tried = [drift_of(axes, gauss_markov(float(t)), float(t)) for t in times]
    best = max(tried, key=lambda drift: drift.value)
    if may_walk and 2.0 * (best.value - walking.value) <= SELECTING:
        return [walking]
    step = math.log(times[1] / times[0])
    while (step := 0.5 * step) > TIME_STEP:
        for sign in (-1.0, 1.0):
            time = best.time_constant * math.exp(sign * step)
            tried.append(drift_of(axes, gauss_markov(time), time))
        best = max(tried, key=lambda drift: drift.value)
    return sorted(tried, key=lambda drift: drift.time_constant)


def correlated(axis: Axis, place: int, tried: Sequence[Drift]) -> tuple[Scales, Peak]:
    """The likelihood of the sizes and τ of an axis, where τ is that of all axes, and its peak.

    What the other axes say about τ is a line through what was tried.
    """
    from scipy.interpolate import PchipInterpolator

    logarithms = np.log([drift.time_constant for drift in tried])
    others = PchipInterpolator(
        logarithms, [drift.value - drift.peaks[place].value for drift in tried]
    )

    def log_likelihood(sizes: Floats) -> float:
        logarithm = min(max(math.log(sizes[-1]), logarithms[0]), logarithms[-1])
        own = axis.log_likelihood(gauss_markov(math.exp(logarithm)))
        beyond = (math.log(sizes[-1]) - logarithm) ** 2  # out of reach of the record
        return float(own(sizes[:-1]) + others(logarithm) - beyond)

    best = max(tried, key=lambda drift: drift.value)
    visible = np.append(scales(axis, best.part).visible, best.time_constant)
    each = Scales(log_likelihood, visible)
    return each, each.peak([np.append(best.peaks[place].parameters, best.time_constant)])
