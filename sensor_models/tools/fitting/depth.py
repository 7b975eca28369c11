r"""Noise, steps and holes of a depth camera, from frames of a plane.

The inverse depth of a plane is linear in the pixels (u, v) of a pinhole, and so is the disparity
D = f b/z of a stereo camera with the focal length f in pixels and the baseline b. With the plane
D = p₀ + p₁ u + p₂ v of each group of frames taken out, what is left of D has the variance

    rms² + (multiplier D)²

Depths whose disparities are multiples of a step were rounded to it: rms is then that of the
largest likelihood of the codes (``censored``). Without f and b the errors are relative ones.
Pixels without a depth (0, NaN, infinite) are holes.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.tools.fitting.censored import Censored
from sensor_models.tools.fitting.estimates import (
    CONFIDENCE,
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
from sensor_models.tools.fitting.likelihood import Scales
from sensor_models.tools.fitting.steps import step_of
from sensor_models.tools.fitting.tables import need
from sensor_models.tools.fitting.targets import NUMBER, Group, read_targets

Progress = Callable[[int, int], None]

WHOLE = {"focal_length": NUMBER, "baseline": NUMBER, "scale": NUMBER}
EACH = {"distance": NUMBER, "region": 4}
#: Pixels of a group that count at most, and that are needed.
MOST, LEAST = 40_000, 100
#: Depths of pictures of whole numbers, m.
MILLIMETRE = 1e-3
METHOD = "largest likelihood of inverse depths about planes, interval of its profile"


@dataclass(frozen=True)
class Wall:
    """The pixels of a group of frames of one plane."""

    place: str
    disparity: Floats
    design: Floats  # 1, u, v
    holes: int
    pixels: int
    distance: float
    rounding: float  # variance of the disparity from the rounding of depths

    @property
    def line(self) -> Floats:
        """The plane by least squares."""
        return np.asarray(np.linalg.lstsq(self.design, self.disparity, rcond=None)[0])

    @property
    def left(self) -> Floats:
        """What is left of the disparity, with the variance of the noise."""
        free = len(self.disparity) / (len(self.disparity) - 3.0)
        return np.asarray((self.disparity - self.design @ self.line) * math.sqrt(free))


def fit_depth(logs: Sequence[Path], given: Mapping[str, str], progress: Progress) -> Fit:
    """A depth camera from frames of planes.

    Raises:
        FitError: if frames cannot be read, or show too little.
    """
    del given
    need("sensor-fmus fit", "scipy")
    targets = read_targets(logs, WHOLE, EACH)
    stereo = {"focal_length", "baseline"} & set(targets.facts)
    if len(stereo) == 1:
        raise FitError(f"{targets.path}: focal_length and baseline are needed both, or none")
    factor = targets.facts["focal_length"] * targets.facts["baseline"] if stereo else 1.0
    walls, shape = [], (0, 0)
    for number, group in enumerate(targets.groups):
        progress(number, len(targets.groups))
        frames = [pixels for _, pixels in pictures(group.files)]
        shape = (frames[0].shape[0], frames[0].shape[1])
        walls.append(wall_of(frames, group, factor, targets.facts.get("scale", 0.0)))
    progress(len(walls), len(walls))
    settings: dict[str, float | int | bool | str] = {"width": shape[1], "height": shape[0]}
    settings["noise.on"] = True
    if stereo:
        settings["noise.baseline"] = targets.facts["baseline"]
        settings["intrinsics.fx"] = targets.facts["focal_length"]
    return fit_walls(walls, bool(stereo), factor, settings)


def wall_of(frames: Sequence[NDArray[Any]], group: Group, factor: float, scale: float) -> Wall:
    """The pixels of a group: disparities, or inverse depths for a factor of 1."""
    low_u, low_v, high_u, high_v = group.facts.get("region", (0, 0, math.inf, math.inf))
    disparities, designs, holes, pixels = [], [], 0, 0
    rounding = 0.0
    for frame in frames:
        v, u = np.meshgrid(*(np.arange(n) for n in frame.shape), indexing="ij")
        inside = (u >= low_u) & (u < high_u) & (v >= low_v) & (v < high_v)
        counted = np.issubdtype(frame.dtype, np.integer)
        each = scale or (MILLIMETRE if counted else 1.0)
        z = each * frame[inside].astype(np.float64)
        seen = np.isfinite(z) & (z > 0.0)
        holes += int(np.count_nonzero(~seen))
        pixels += len(z)
        disparities.append(factor / z[seen])
        one = np.ones(int(np.count_nonzero(seen)))
        middle = 0.5 * max(frame.shape)
        designs.append(np.stack([one, u[inside][seen] / middle, v[inside][seen] / middle], axis=1))
        if counted and seen.any():
            rounding = (each * float(np.mean(factor / z[seen] ** 2))) ** 2 / 12.0
    disparity, design = np.concatenate(disparities), np.concatenate(designs)
    if len(disparity) < LEAST:
        raise FitError(
            f"{group.place}: {len(disparity)} of {pixels} pixels in its region have a depth, "
            f"{LEAST} are needed at least"
        )
    some = np.unique(np.linspace(0, len(disparity) - 1, min(len(disparity), MOST)).astype(np.int64))
    distance = float(group.facts.get("distance", math.nan))
    return Wall(group.place, disparity[some], design[some], holes, pixels, distance, rounding)


def fit_walls(
    walls: Sequence[Wall],
    stereo: bool,
    factor: float,
    settings: Mapping[str, float | int | bool | str],
) -> Fit:
    """A depth camera from planes."""
    step = 0.0
    if stereo:
        steps = [step_of(wall.disparity) for wall in walls]
        step = float(np.median(steps)) if min(steps) > 0.0 else 0.0
    told = dict(settings)
    estimates, unknown = _coded(walls, step) if step > 0.0 else _plain(walls, stereo)
    names = {estimate.name for estimate in estimates}
    if "noise.multiplier" not in names:
        told["noise.multiplier"] = 0.0
    estimates += [_holes(walls), *_biases(walls, factor)]
    unknown += [
        "noise.edge: planes have no edges",
        "min_range, max_range, field of view: not in these data",
    ]
    if not any(math.isfinite(wall.distance) for wall in walls):
        unknown.append("bias of depths: no group has a distance")
    notes = [
        f"{wall.place}: {factor / wall.disparity.mean():.4g} m, sigma "
        f"{wall.left.std() * factor / wall.disparity.mean() ** 2:.4g} m, "
        f"{wall.holes / wall.pixels:.3%} holes of {wall.pixels} pixels"
        for wall in walls
    ]
    figure = _figure(walls, estimates, stereo, factor, step)
    return Fit("depth", ("DepthCamera",), estimates, told, unknown, notes, [figure])


def _coded(walls: Sequence[Wall], step: float) -> tuple[list[Estimate], list[str]]:
    """Noise beneath steps, and the steps."""
    codes = [Censored(w.disparity - 0.5 * step, w.disparity + 0.5 * step, w.design) for w in walls]
    each = Scales(lambda sizes: sum(c.log_likelihood(sizes) for c in codes), np.array([step]))
    best = each.peak([np.array([share * step]) for share in (1.0, 0.2, 0.02)])
    low, high = each.interval(best, 0)
    name = "noise.disparity.rms"
    found = [
        Estimate(name, float(best.parameters[0]), low, high, "1", "largest likelihood of codes"),
        Estimate("noise.disparity.step", step, step, step, "1", "step of the disparities"),
    ]
    return found, ["noise.multiplier: not told from the noise of disparities in steps"]


def _plain(walls: Sequence[Wall], stereo: bool) -> tuple[list[Estimate], list[str]]:
    """Noise of disparities, and relative noise."""
    counts = np.array([float(len(wall.disparity)) for wall in walls])
    squares = np.array([float(np.mean(wall.left**2)) for wall in walls])
    levels = np.array([float(np.mean(wall.disparity**2)) for wall in walls])
    known = np.array([wall.rounding for wall in walls])
    names, unknown = [], []
    if stereo:
        names.append("noise.disparity.rms")
    if not stereo or levels.max() > 1.5 * levels.min():
        names.append("noise.multiplier")
    else:
        unknown.append("noise.multiplier: needs planes at several distances; rms holds all noise")
    if stereo:
        unknown.append("noise.disparity.step: disparities are on no grid")
    terms = [np.ones_like(levels) if n == "noise.disparity.rms" else levels for n in names]

    def log_likelihood(sizes: Floats) -> float:
        variance = known + sum(s**2 * term for s, term in zip(sizes, terms, strict=True))
        return -0.5 * float(counts @ (np.log(variance) + squares / variance))

    visible = np.sqrt([float(np.mean(squares / term)) for term in terms])
    each = Scales(log_likelihood, visible)
    starts = [visible * 0.7, *(np.where(np.arange(len(names)) == i, visible, 0.03 * visible)
              for i in range(len(names)))]  # fmt: skip
    best = each.peak(starts)
    return [
        Estimate(name, float(best.parameters[i]), *each.interval(best, i), "1", METHOD)
        for i, name in enumerate(names)
    ], unknown


def _holes(walls: Sequence[Wall]) -> Estimate:
    from scipy.stats import beta

    pixels, holes = sum(w.pixels for w in walls), sum(w.holes for w in walls)
    half = 0.5 * (1.0 - CONFIDENCE)
    low = float(beta.ppf(half, holes, pixels - holes + 1)) if holes else 0.0
    high = float(beta.ppf(1.0 - half, holes + 1, pixels - holes)) if holes < pixels else 1.0
    method = "share of pixels without a depth, interval of Clopper and Pearson"
    return Estimate("noise.dropout", holes / pixels, low, high, "1", method)


def _biases(walls: Sequence[Wall], factor: float) -> list[Estimate]:
    """Means of planes across the axis at known distances."""
    found = []
    for wall in walls:
        if math.isfinite(wall.distance):
            mean = float(wall.disparity.mean())
            deviation = float(wall.left.std()) / math.sqrt(len(wall.disparity))
            found.append(
                normal_estimate(
                    f"bias at {wall.distance:.4g} m",
                    factor / mean - wall.distance,
                    factor / mean**2 * deviation,
                    "m",
                    "mean inverse depth; the sensor has no parameter for it",
                    is_parameter=False,
                )
            )
    return found


def _figure(
    walls: Sequence[Wall], estimates: Sequence[Estimate], stereo: bool, factor: float, step: float
) -> Figure:
    sizes = {estimate.name: estimate.value for estimate in estimates}
    depths = np.array([factor / float(wall.disparity.mean()) for wall in walls])
    spreads = np.array([float(wall.left.std()) for wall in walls]) * depths**2 / factor
    counts = np.array([len(wall.disparity) for wall in walls])
    line = np.linspace(0.02, 1.1, 60) * float(depths.max())
    rms = math.hypot(sizes.get("noise.disparity.rms", 0.0), step / math.sqrt(12.0))
    model = np.hypot(rms * line**2 / factor, sizes.get("noise.multiplier", 0.0) * line)
    reach = NORMAL_QUANTILE * spreads / np.sqrt(2.0 * counts)
    label = "fit: grows with the square" if stereo else "fit"
    return Figure(
        "noise of depths",
        "depth, m",
        "standard deviation, m",
        [Curve("planes", depths, spreads, spread=reach), Curve(label, line, model, is_line=True)],
    )
