r"""How noise of ranges goes with range, incidence and intensity, from errors on planes.

With the mean error of each target taken out, the errors of ``lidar`` have the variance

    (base + slope r)² (I/I₀)^(2p) + (∂r/∂α σ_α)² + (∂r/∂ε σ_ε)² + step²/12

Base, slope and angular deviations are those of the sensor, where p = 0. The exponent p says whether
bright points are better: -1/2 is the law of counted photons, -1 that of a receiver whose own noise
is all there is. I₀ is the geometric mean of all intensities. The sensor has no parameter for p, so
it is estimated beside the others, which are those of p = 0.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sensor_models.tools.fitting.estimates import Estimate, Floats
from sensor_models.tools.fitting.likelihood import THRESHOLD, Peak, Scales

if TYPE_CHECKING:
    from sensor_models.tools.fitting.lidar import Plane

#: Cells of a target by each angular derivative.
CELLS = 6
#: By how much farther the farthest cell must be to show noise that grows with the range.
APART = 1.2
#: By how much brighter the brightest cell must be to show noise that goes with the intensity.
BRIGHTER = 1.5
#: The exponents that are looked for.
EXPONENTS = (-4.0, 4.0)
EXPONENT = "exponent of noise by intensity"
METHOD = "largest likelihood of range errors on planes, interval of its profile"


@dataclass(frozen=True)
class Cells:
    """Squares of errors in cells in which their variance hardly differs."""

    counts: Floats
    squares: Floats
    ranges: Floats
    by_azimuth: Floats  # squares
    by_elevation: Floats
    brightness: Floats  # logarithms of intensities, NaN where there are none


@dataclass(frozen=True)
class Model:
    """The likelihood of cells by the sizes of their noise: base, slope if it shows, and angles."""

    cells: Cells
    step: float
    sloped: bool
    angles: tuple[Floats, ...]
    visible: Floats
    exponent: float = 0.0

    def log_likelihood(self, sizes: Floats) -> float:
        """The logarithm of the likelihood, up to a constant."""
        cells = self.cells
        along = sizes[0] + (sizes[1] * cells.ranges if self.sloped else 0.0)
        if self.exponent:
            middle = float(cells.counts @ cells.brightness) / float(cells.counts.sum())
            along = along * np.exp(self.exponent * (cells.brightness - middle))
        variance = along**2 + self.step**2 / 12.0
        for size, squares in zip(sizes[1 + self.sloped :], self.angles, strict=True):
            variance = variance + size**2 * squares
        return -0.5 * float(cells.counts @ (np.log(variance) + cells.squares / variance))

    @property
    def scales(self) -> Scales:
        """The same, to be searched."""
        return Scales(self.log_likelihood, self.visible)

    def peak(self) -> Peak:
        """Where it is largest."""
        starts = [self.visible * share for share in (0.5, 0.1)]
        for place in range(len(self.visible)):
            one = 0.03 * self.visible
            one[place] = self.visible[place]
            starts.append(one)
        return self.scales.peak(starts)


def cells_of(planes: Sequence["Plane"]) -> Cells:
    """The squares of errors about the mean of each target."""
    found: list[tuple[float, ...]] = []
    for plane in planes:
        fitted = 1.0 if plane.is_given else 3.0
        errors = plane.errors - plane.errors.mean()
        errors = errors * math.sqrt(len(errors) / (len(errors) - fitted))
        a, e = plane.by_azimuth**2, plane.by_elevation**2
        rows = np.searchsorted(np.quantile(a, np.arange(1, CELLS) / CELLS), a)
        columns = np.searchsorted(np.quantile(e, np.arange(1, CELLS) / CELLS), e)
        cell = rows * CELLS + columns
        count = np.bincount(cell)
        shown = plane.intensity if len(plane.intensity) else np.full(len(a), math.nan)
        sums = [np.bincount(cell, values) for values in (errors**2, plane.ranges, a, e, shown)]
        there = count > 0
        *means, intensity = [each[there] / count[there] for each in sums]
        bright = np.log(np.where(intensity > 0.0, intensity, math.nan))
        found += list(zip(count[there], *means, bright, strict=True))
    return Cells(*np.array(found).T)


def noise_of(planes: Sequence["Plane"], step: float) -> tuple[list[Estimate], list[str]]:
    """Deviations of ranges and angles, and what the targets do not show of them."""
    cells = cells_of(planes)
    unknown = []
    nearest, farthest = cells.ranges.min(), cells.ranges.max()
    sloped = bool(farthest > APART * nearest)
    if not sloped:
        unknown.append(
            f"noise.distance_sigma_slope: all targets are at about {farthest:.3g} m; base holds all"
        )
    names = ["noise.distance_sigma_base", "noise.distance_sigma_slope"][: 1 + sloped]
    units = ["m", "1"][: 1 + sloped]
    seen = []
    spread = math.sqrt(float(cells.counts @ cells.squares) / float(cells.counts.sum()))
    visible = [spread, spread / float(cells.ranges.mean())][: 1 + sloped]
    for angle, squares in (("azimuth", cells.by_azimuth), ("elevation", cells.by_elevation)):
        if squares.max() > 1e-4 * nearest**2:
            seen.append(squares)
            names.append(f"noise.{angle}_sigma")
            units.append("rad")
            visible.append(spread / math.sqrt(float(squares.max())))
        else:
            unknown.append(f"noise.{angle}_sigma: no target is tilted enough to show it")
    model = Model(cells, step, sloped, tuple(seen), np.array(visible))
    best = model.peak()
    estimates = [
        Estimate(name, float(best.parameters[i]), *model.scales.interval(best, i), units[i], METHOD)
        for i, name in enumerate(names)
    ]
    more, missing = _by_intensity(model, best)
    return [*estimates, *more], [*unknown, *missing]


def _by_intensity(model: Model, best: Peak) -> tuple[list[Estimate], list[str]]:
    """The exponent of noise by intensity."""
    bright = model.cells.brightness
    if not np.all(np.isfinite(bright)):
        return [], ["noise by the intensity: points have none, or intensities of 0"]
    contrast = math.exp(float(np.ptp(bright)))
    if contrast < BRIGHTER:
        missing = (
            f"noise by the intensity: the brightest part of the targets has {contrast:.2f} of the "
            f"intensity of the darkest; {BRIGHTER:g} are needed"
        )
        return [], [missing]
    last = [best.parameters]

    def profile(exponent: float) -> float:
        starts = [best.parameters, last[0], 0.3 * model.visible]
        peak = replace(model, exponent=exponent).scales.peak(starts)
        last[0] = peak.parameters
        return peak.value

    value, low, high = _interval(profile)
    found = Estimate(EXPONENT, value, low, high, "1", METHOD, is_parameter=False)
    if not found.is_seen:
        return [found], []
    return [found], [f"{EXPONENT}: {found.shown()}; the sensor has no parameter for it"]


def _interval(profile: Callable[[float], float]) -> tuple[float, float, float]:
    """Where a profile is largest, and where it has fallen by the threshold; infinite if nowhere."""
    from scipy.optimize import brentq, minimize_scalar

    peak = minimize_scalar(lambda x: -profile(x), bounds=EXPONENTS, method="bounded")
    top, middle = -float(peak.fun), float(peak.x)

    def excess(exponent: float) -> float:
        if exponent == middle:  # searches end elsewhere by a little from other starts
            return -THRESHOLD
        return 2.0 * (top - profile(exponent)) - THRESHOLD

    ends = []
    for end in EXPONENTS:
        step = math.copysign(0.05, end)
        outer = middle + step
        while abs(outer) < abs(end) and excess(outer) <= 0.0:
            step *= 2.0
            outer = middle + step
        if abs(outer) < abs(end):
            ends.append(float(brentq(excess, middle, outer, xtol=1e-4)))
        else:
            ends.append(math.copysign(math.inf, end))
    return middle, ends[0], ends[1]
