r"""Photon transfer: gain, noise, full well and fixed patterns of a camera from flat fields.

Of each group of frames (the same light and exposure, two frames at least) the temporal mean μ and
variance v of a pixel, both averaged over all pixels, and the spatial variance of the mean frame
without what noise leaves in it. Noise of the light that all pixels share is taken out: the means of
frames. Shadings are taken out of mean frames by a polynomial of second order. Then, with black
level b, gain K and steps of one digital number,

    v = K² σ_r² + 1/12 + K (μ - b)          all groups that do not clip
    full well = (μ_clipped - b)/K
    DSNU = s_dark/K,  PRNU² = (s² - s_dark²)/(μ - μ_dark)²
    dark current = (dμ_dark/dt)/K,  QE = (dμ/dphotons)/K

The line is fitted with the weights of v, whose variance is (2 v² + K³ (μ - b))/n with the n degrees
of freedom of all pixels: the second term is the fourth cumulant of Poisson's law.

Source: EMVA 1288 release 4.0, sections 2, 6 and 8. Deviations: all groups below 70 % of what clips
count, dark ones as well, instead of the difference of two groups for each point.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sensor_models.tools.fitting.estimates import (
    NORMAL_QUANTILE,
    Curve,
    Estimate,
    Figure,
    Fit,
    FitError,
    Floats,
    normal_estimate,
)
from sensor_models.tools.fitting.frames import pictures
from sensor_models.tools.fitting.targets import NUMBER, SWITCH, Group, read_targets

Progress = Callable[[int, int], None]

#: Variance of rounding to whole numbers.
ROUNDING = 1.0 / 12.0
#: Share of clipped pixels from which on a group clips, and from which on all of it does.
SOME_CLIPPED, ALL_CLIPPED = 1e-4, 0.5
#: Up to which share of what clips groups count (EMVA 1288).
LINEAR = 0.7
PHOTON_TRANSFER = "photon transfer: weighted line of variances over means"


@dataclass(frozen=True)
class Flat:
    """A group of frames of the same light."""

    exposure: float
    is_dark: bool
    photons: float  # of a pixel in one exposure; NaN if not given
    frames: int
    pixels: int
    mean: float
    variance: float  # temporal
    spatial: float  # variance of the mean frame without noise
    spatial_deviation: float
    largest: float
    clipped: float  # share of pixels at the largest number

    @property
    def freedom(self) -> float:
        """Degrees of freedom of the temporal variance."""
        return float((self.frames - 1) * (self.pixels - 1))


def fit_ccd(logs: Sequence[Path], given: Mapping[str, str], progress: Progress) -> Fit:
    """A camera from flat fields and dark frames.

    Raises:
        FitError: if frames are missing, or do not go together.
    """
    del given
    known = {"exposure": NUMBER, "dark": SWITCH, "photons": NUMBER}
    targets = read_targets(logs, {}, known)
    flats, shape = [], (0, 0)
    for number, group in enumerate(targets.groups):
        progress(number, len(targets.groups))
        stack = _stack(group)
        if shape not in ((0, 0), stack.shape[1:]):
            raise FitError(
                f"{group.place}: frames of {stack.shape[1:]} pixels after such of {shape}"
            )
        shape = (stack.shape[1], stack.shape[2])
        flats.append(flat_of(stack, group))
    progress(len(flats), len(flats))
    fit = fit_flats(flats, str(targets.path))
    sizes: dict[str, float | int | bool | str] = {
        "bands": 1,
        "pixels.width": shape[1],
        "pixels.height": shape[0],
    }
    return Fit(
        fit.kind, fit.sensors, fit.estimates, {**sizes, **fit.settings}, fit.unknown, fit.notes,
        fit.figures,
    )  # fmt: skip


def _stack(group: Group) -> Floats:
    frames: list[Floats] = []
    for name, pixels in pictures(group.files):
        if frames and pixels.shape != frames[0].shape:
            raise FitError(f"{name}: has {pixels.shape} pixels, the one before {frames[0].shape}")
        frames.append(np.asarray(pixels, np.float64))
    if len(frames) < 2:
        raise FitError(f"{group.place}: has one frame, two of the same light are needed at least")
    return np.stack(frames)


def flat_of(stack: Floats, group: Group) -> Flat:
    """The moments of a group of frames."""
    count, pixels = len(stack), stack[0].size
    shared = stack.mean(axis=(1, 2), keepdims=True)
    mean = float(shared.mean())
    even = stack - shared
    variance = float(np.sum(np.var(even, axis=0, ddof=1)) / (pixels - 1))
    picture = _without_shading(even.mean(axis=0))
    whole = float(np.sum(picture**2)) / (pixels - _TERMS)
    largest = float(stack.max())
    return Flat(
        group.number("exposure"),
        bool(group.facts.get("dark", False)),
        float(group.facts.get("photons", math.nan)),
        count,
        pixels,
        mean,
        variance,
        whole - variance / count,
        whole * math.sqrt(2.0 / pixels),
        largest,
        float(np.mean(stack == largest)),
    )


#: Terms of the polynomial that shading is taken out by.
_TERMS = 6


def _without_shading(picture: Floats) -> Floats:
    rows, columns = (np.linspace(-1.0, 1.0, n) for n in picture.shape)
    v, u = np.meshgrid(rows, columns, indexing="ij")
    terms = np.stack([np.ones_like(u), u, v, u * v, u * u, v * v], axis=-1).reshape(-1, _TERMS)
    flat = picture.ravel()
    left: Floats = flat - terms @ np.linalg.lstsq(terms, flat, rcond=None)[0]
    return left


@dataclass(frozen=True)
class Line:
    """Variance over mean: v = offset + gain (μ - black)."""

    gain: float
    offset: float
    covariance: Floats  # of gain and offset
    black: float

    @property
    def gain_deviation(self) -> float:
        """Standard deviation of the gain."""
        return math.sqrt(float(self.covariance[0, 0]))


def photon_transfer(flats: Sequence[Flat], black: float) -> Line:
    """The line through groups, each with the weight of its variance."""
    x = np.array([flat.mean - black for flat in flats])
    v = np.array([flat.variance for flat in flats])
    n = np.array([flat.freedom for flat in flats])
    terms = np.stack([x, np.ones_like(x)], axis=1)
    spread = v
    gain, offset = 0.0, 0.0
    covariance = np.zeros((2, 2))
    for _ in range(20):  # the weights are those of the line itself
        shot = np.maximum(gain, 0.0) ** 3 * np.maximum(x, 0.0)
        weights = n / (2.0 * spread**2 + shot)
        covariance = np.linalg.inv(terms.T @ (weights[:, None] * terms))
        gain, offset = covariance @ (terms.T @ (weights * v))
        spread = np.maximum(offset + gain * x, 1e-3 * v)
    return Line(float(gain), float(offset), covariance, black)


def fit_flats(flats: Sequence[Flat], place: str) -> Fit:
    """A camera from the moments of groups of frames."""
    darks = sorted((f for f in flats if f.is_dark), key=lambda flat: flat.exposure)
    brights = sorted((f for f in flats if not f.is_dark), key=lambda flat: flat.mean)
    if not darks or not brights:
        raise FitError(f"{place}: dark frames (dark = true) and flat fields are needed, both")
    top = max(flat.largest for flat in flats)
    clips = [f for f in brights if f.largest == top and f.clipped > SOME_CLIPPED]
    black, drift = _dark_line(darks)
    limit = LINEAR * (top - black) + black if clips else math.inf
    linear = [f for f in brights if f not in clips and f.mean <= limit]
    if len(linear) < 2:
        raise FitError(
            f"{place}: {len(linear)} groups of flat fields lie below {LINEAR:.0%} of what clips, "
            "two are needed at least"
        )
    line = photon_transfer([*darks, *linear], black)
    if not line.gain > 0.0:
        raise FitError(
            f"{place}: the noise does not grow with the light; is it the noise of light?"
        )
    estimates = [
        normal_estimate("sensor.system_gain", line.gain, line.gain_deviation, "1", PHOTON_TRANSFER),
        _black_estimate(darks, black),
        _read_noise(line),
        _full_well(line, clips, brights, top),
        *_patterns(line, darks, linear, top),
    ]
    unknown = []
    if drift is not None:
        estimates.append(
            _per_gain("sensor.dark_current", *drift, line, "1/s", "dark means over exposures")
        )
    else:
        unknown.append("sensor.dark_current: dark frames of two exposures at least would tell it")
    responsive = [f for f in linear if math.isfinite(f.photons) and f.photons > 0.0]
    if responsive:
        estimates.append(_efficiency(line, darks, responsive))
    else:
        unknown.append(
            "sensor.qe: needs photons, the photons of a pixel in one exposure, in groups"
        )
    unknown += [
        "sensor.doubling: frames of one temperature do not show it",
        "lens, filters and the colour of the light: not in flat fields",
        "sensor.prnu, sensor.dsnu: without shading of second order, which is taken for the light",
    ]
    bits = max(8, math.ceil(math.log2(top + 1.0)))
    if not clips:
        unknown.append("sensor.full_well, bit_depth: no group clips; what was reached stands here")
    settings: dict[str, float | int | bool | str] = {
        "bit_depth": min(bits, 16),
        "sensor.model": "emva",
    }
    return Fit(
        "ccd", ("CcdCamera",), estimates, settings, unknown,
        [f"{len(darks)} dark groups and {len(brights)} flat fields, {len(clips)} of them clip"],
        [_figure(line, flats, linear, darks)],
    )  # fmt: skip


def _dark_line(darks: Sequence[Flat]) -> tuple[float, tuple[float, float] | None]:
    """Mean without exposure, and growth with it with its deviation, if there are two exposures."""
    times = np.array([flat.exposure for flat in darks])
    means = np.array([flat.mean for flat in darks])
    if np.ptp(times) == 0.0:
        return float(means.mean()), None
    spread = np.array([flat.variance / (flat.pixels * flat.frames) for flat in darks])
    terms = np.stack([times, np.ones_like(times)], axis=1) / np.sqrt(spread)[:, None]
    covariance = np.linalg.inv(terms.T @ terms)
    slope, start = covariance @ (terms.T @ (means / np.sqrt(spread)))
    return float(start), (float(slope), math.sqrt(float(covariance[0, 0])))


def _black_estimate(darks: Sequence[Flat], black: float) -> Estimate:
    first = darks[0]
    deviation = math.sqrt((first.variance / first.frames + max(first.spatial, 0.0)) / first.pixels)
    return normal_estimate("sensor.black_level", black, deviation, "1", "mean of dark frames")


def _root(name: str, square: float, deviation: float, unit: str, method: str) -> Estimate:
    """A number whose square has a normal law."""
    low, high = (square + s * NORMAL_QUANTILE * deviation for s in (-1.0, 1.0))
    value, low, high = (math.sqrt(max(each, 0.0)) for each in (square, low, high))
    return Estimate(name, value, low, high, unit, method)


def _per_gain(
    name: str, value: float, deviation: float, line: Line, unit: str, method: str
) -> Estimate:
    """Digital numbers as electrons, with what is uncertain of the gain."""
    own = deviation / line.gain
    shared = value * line.gain_deviation / line.gain**2
    return normal_estimate(name, value / line.gain, math.hypot(own, shared), unit, method)


def _read_noise(line: Line) -> Estimate:
    square = (line.offset - ROUNDING) / line.gain**2
    slopes = np.array([-2.0 * square / line.gain, 1.0 / line.gain**2])
    deviation = math.sqrt(float(slopes @ line.covariance @ slopes))
    return _root("sensor.read_noise", square, deviation, "1", PHOTON_TRANSFER)


def _full_well(line: Line, clips: Sequence[Flat], brights: Sequence[Flat], top: float) -> Estimate:
    """What clips, or what was reached without clipping."""
    if any(flat.clipped > ALL_CLIPPED for flat in clips):
        method = "the number that clips, by photon transfer"
        return _per_gain("sensor.full_well", top - line.black, 0.5, line, "1", method)
    reached = (brights[-1].mean - line.black) / line.gain
    return Estimate(
        "sensor.full_well", reached, reached, math.inf, "1", "largest mean that did not clip"
    )


def _patterns(
    line: Line, darks: Sequence[Flat], linear: Sequence[Flat], top: float
) -> list[Estimate]:
    """Fixed patterns with and without light."""
    dark = darks[0]
    gain = line.gain
    dsnu = _root(
        "sensor.dsnu", dark.spatial / gain**2, dark.spatial_deviation / gain**2, "1",
        "spatial variance of mean dark frames",
    )  # fmt: skip
    half = line.black + 0.5 * (top - line.black)
    bright = min(linear, key=lambda flat: abs(flat.mean - half))
    light = bright.mean - dark.mean
    square = (bright.spatial - dark.spatial) / light**2
    deviation = math.hypot(bright.spatial_deviation, dark.spatial_deviation) / light**2
    method = f"spatial variance of mean frames at {light:.5g} digital numbers"
    return [dsnu, _root("sensor.prnu", square, deviation, "1", method)]


def _efficiency(line: Line, darks: Sequence[Flat], flats: Sequence[Flat]) -> Estimate:
    """Electrons for each photon."""
    photons = np.array([flat.photons for flat in flats])
    light = np.array([flat.mean - darks[0].mean for flat in flats])
    response = float(photons @ light / (photons @ photons))
    spread = np.array([(f.variance / f.frames + max(f.spatial, 0.0)) / f.pixels for f in flats])
    deviation = math.sqrt(float(photons**2 @ spread)) / float(photons @ photons)
    return _per_gain("sensor.qe", response, deviation, line, "1", "means over photons")


def _figure(
    line: Line, flats: Sequence[Flat], linear: Sequence[Flat], darks: Sequence[Flat]
) -> Figure:
    x = np.array([flat.mean - line.black for flat in flats])
    y = np.array([flat.variance for flat in flats])
    ends = np.array([0.0, max(flat.mean - line.black for flat in [*linear, *darks])])
    return Figure(
        "photon transfer",
        "mean over black level, digital numbers",
        "temporal variance",
        [
            Curve("groups", x, y),
            Curve(f"line, K = {line.gain:.4g}", ends, line.offset + line.gain * ends, is_line=True),
        ],
    )
