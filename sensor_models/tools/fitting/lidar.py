r"""Noise, bias, lost points, intensities and beams of a lidar from clouds of plane targets.

A plane with the unit normal n at the distance d from the sensor returns a ray of direction u from
the range r = d/(n·u). With the error e = r_measured - r, and the derivatives of r by the azimuth α
and the elevation ε of a ray,

    var(e) = (base + slope r)² + (∂r/∂α σ_α)² + (∂r/∂ε σ_ε)² + step²/12

Base, slope and angular deviations are those with the largest likelihood over all targets. A plane
that is not given is fitted to the points of its group, by least squares of ranges; then there is no
bias (``lidar_noise``). Where a target's reflectance ρ is given, the intensity is c ρ cos θ, θ the
angle of incidence: that of a Lambertian plate that a lidar has corrected for its range.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

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
from sensor_models.tools.fitting.frames import Cloud, clouds
from sensor_models.tools.fitting.lidar_noise import noise_of
from sensor_models.tools.fitting.steps import step_of
from sensor_models.tools.fitting.tables import need
from sensor_models.tools.fitting.targets import NUMBER, Group, read_targets

Progress = Callable[[int, int], None]

KNOWN = {
    "distance": NUMBER,
    "normal": 3,
    "reflectance": NUMBER,
    "rays": NUMBER,
    "azimuth": 2,
    "elevation": 2,
}
#: Points that a target needs.
LEAST_POINTS = 50
#: Points further off than so many deviations are no points of the target.
OUTLYING = 5.0
#: Mean of the phases of ranges within a step from which on they are its multiples.
ON_GRID = 0.9
#: By how much less is as much.
SAME = 0.01


@dataclass(frozen=True)
class Plane:
    """The points of one target, all frames together."""

    place: str
    frames: int
    ranges: Floats
    errors: Floats
    by_azimuth: Floats  # its derivative
    by_elevation: Floats
    incidence: Floats  # cosine
    intensity: Floats  # empty if there is none
    outliers: int
    is_given: bool
    reflectance: float
    rays: float  # that are sent to the target in a frame


def fit_lidar(logs: Sequence[Path], given: Mapping[str, str], progress: Progress) -> Fit:
    """A lidar from clouds of planes.

    Raises:
        FitError: if clouds cannot be read, or have no target in their window.
    """
    del given
    need("sensor-fmus fit", "scipy")
    targets = read_targets(logs, {}, KNOWN)
    planes, steps = [], []
    rings: dict[int, list[Floats]] = {}
    for number, group in enumerate(targets.groups):
        progress(number, len(targets.groups))
        found = [cloud for _, cloud in clouds(group.files)]
        for cloud in found:
            _take_rings(cloud, rings)
        plane, step = plane_of(found, group)
        planes.append(plane)
        steps.append(step)
    progress(len(planes), len(planes))
    return fit_planes(planes, common_step(planes, steps), rings)


def common_step(planes: Sequence[Plane], steps: Sequence[float]) -> float:
    """The step of the ranges of all targets, 0 if they have none in common.

    Few ranges of a target that is large or noisy repeat, so that it does not show its own. Ranges
    are rounded in files, too: the step is the shortest number that they are multiples of as well.
    """
    seen = [step for step in steps if step > 0.0]
    if not seen:
        return 0.0

    def agreement(step: float) -> float:
        turns = [np.exp(2j * math.pi * plane.ranges / step).mean() for plane in planes]
        return float(min(abs(turn) for turn in turns))

    middle = float(np.median(seen))
    reached = agreement(middle)
    if reached < ON_GRID:
        return 0.0
    shorter = (float(f"{middle:.{digits}g}") for digits in range(1, 10))
    return next((step for step in shorter if agreement(step) > reached - SAME), middle)


def _take_rings(cloud: Cloud, rings: dict[int, list[Floats]]) -> None:
    if "ring" in cloud:
        distance = np.sqrt(cloud["x"] ** 2 + cloud["y"] ** 2 + cloud["z"] ** 2)
        there = distance > 0.0
        elevation = np.arcsin(cloud["z"][there] / distance[there])
        for ring in np.unique(cloud["ring"][there]):
            own = elevation[cloud["ring"][there] == ring]
            rings.setdefault(int(ring), []).append(own)


def plane_of(found: Sequence[Cloud], group: Group) -> tuple[Plane, float]:
    """The points of a target, and the step of the ranges."""
    points = np.concatenate([np.stack([c[a] for a in "xyz"], axis=1) for c in found])
    ranges = np.linalg.norm(points, axis=1)
    kept = np.isfinite(ranges) & (ranges > 0.0)
    directions = points / np.where(kept, ranges, 1.0)[:, None]
    if all("range" in cloud for cloud in found):  # not rounded to float32 three times
        ranges = np.concatenate([cloud["range"] for cloud in found])
    intensity = np.zeros(0)
    if all("intensity" in cloud for cloud in found):
        intensity = np.concatenate([cloud["intensity"] for cloud in found])
    kept &= _in_window(directions, group)
    if np.count_nonzero(kept) < LEAST_POINTS:
        raise FitError(
            f"{group.place}: {np.count_nonzero(kept)} of {len(kept)} points are in its window, "
            f"{LEAST_POINTS} are needed at least"
        )
    u, r = directions[kept], ranges[kept]
    given = "distance" in group.facts and "normal" in group.facts
    vector = _given_plane(group) if given else fitted_plane(u, r)
    errors = r - 1.0 / (u @ vector)
    middle = float(np.median(errors))
    spread = 1.4826 * float(np.median(np.abs(errors - middle)))
    inside = np.abs(errors - middle) <= max(OUTLYING * spread, 1e-9)
    if not given:
        vector = fitted_plane(u[inside], r[inside])
        errors = r - 1.0 / (u @ vector)
    u, r, errors = u[inside], r[inside], errors[inside]
    along, up = _derivatives(u, vector)
    return Plane(
        group.place,
        len(found),
        r,
        errors,
        along,
        up,
        np.abs(u @ vector) / float(np.linalg.norm(vector)),
        intensity[kept][inside] if len(intensity) else intensity,
        int(np.count_nonzero(~inside)),
        given,
        float(group.facts.get("reflectance", math.nan)),
        float(group.facts.get("rays", math.nan)),
    ), step_of(r)


def _in_window(directions: Floats, group: Group) -> Floats:
    azimuth = np.degrees(np.arctan2(directions[:, 1], directions[:, 0]))
    elevation = np.degrees(np.arcsin(np.clip(directions[:, 2], -1.0, 1.0)))
    inside = np.ones(len(directions), bool)
    for name, angle in (("azimuth", azimuth), ("elevation", elevation)):
        if name in group.facts:
            low, high = group.facts[name]
            inside &= (angle >= low) & (angle <= high)
    return inside


def _given_plane(group: Group) -> Floats:
    """The normal of a target over its distance."""
    normal = np.array(group.facts["normal"], np.float64)
    length, distance = float(np.linalg.norm(normal)), group.number("distance")
    if not length > 0.0 or not distance > 0.0:
        raise FitError(f"{group.place}: needs a distance above 0, and a normal that is not 0")
    return normal / (length * distance)


def fitted_plane(directions: Floats, ranges: Floats) -> Floats:
    """The normal over the distance of the plane with the least squares of range errors."""
    vector = np.linalg.lstsq(directions * ranges[:, None], np.ones(len(ranges)), rcond=None)[0]
    for _ in range(10):
        model = 1.0 / (directions @ vector)
        slopes = -(model**2)[:, None] * directions
        change = np.linalg.lstsq(slopes, ranges - model, rcond=None)[0]
        vector = vector + change
        if np.linalg.norm(change) <= 1e-12 * np.linalg.norm(vector):
            break
    return np.asarray(vector)


def _derivatives(u: Floats, vector: Floats) -> tuple[Floats, Floats]:
    """∂r/∂α and ∂r/∂ε of r = 1/(p·u)."""
    level = np.maximum(np.hypot(u[:, 0], u[:, 1]), 1e-12)
    along = np.stack([-u[:, 1], u[:, 0], np.zeros(len(u))], axis=1)
    up = np.stack([-u[:, 2] * u[:, 0] / level, -u[:, 2] * u[:, 1] / level, level], axis=1)
    squared = 1.0 / (u @ vector) ** 2
    return -squared * (along @ vector), -squared * (up @ vector)


def fit_planes(planes: Sequence[Plane], step: float, rings: Mapping[int, Sequence[Floats]]) -> Fit:
    """A lidar from the points of targets."""
    estimates, unknown = noise_of(planes, step)
    settings: dict[str, float | int | bool | str] = {}
    if step > 0.0:
        estimates.append(Estimate("range_step", step, step, step, "m", "step of the ranges"))
    for more in (_biases(planes), _losses(planes), _intensities(planes, settings)):
        estimates += more[0]
        unknown += more[1]
    files: dict[str, str] = {}
    if rings:
        estimates += _beams(rings, settings, files)
        unknown.append(
            "pattern.beams: azimuths and firing times of the beams, 0 stands in the table"
        )
    unknown += [
        "ranges, rays and angles beyond the targets",
    ]
    return Fit(
        "lidar",
        ("Lidar",),
        estimates,
        settings,
        unknown,
        _notes(planes),
        _figures(planes, estimates),
        files,
    )


def _biases(planes: Sequence[Plane]) -> tuple[list[Estimate], list[str]]:
    """Mean errors of targets that are known."""
    found = []
    for plane in planes:
        if plane.is_given:
            deviation = float(plane.errors.std(ddof=1)) / math.sqrt(len(plane.errors))
            name = f"bias at {plane.ranges.mean():.4g} m"
            method = "mean error of ranges; the sensor has no parameter for it"
            mean = float(plane.errors.mean())
            found.append(normal_estimate(name, mean, deviation, "m", method, is_parameter=False))
    missing = "bias of ranges: no target has distance and normal"
    return found, [] if found else [missing]


def _losses(planes: Sequence[Plane]) -> tuple[list[Estimate], list[str]]:
    """How many rays to targets with a known number of rays come back."""
    from scipy.stats import beta

    counted = [plane for plane in planes if math.isfinite(plane.rays)]
    if not counted:
        return [], ["detection_probability: no target says how many rays it gets (rays)"]
    sent = sum(round(plane.rays) * plane.frames for plane in counted)
    back = sum(len(plane.errors) + plane.outliers for plane in counted)
    if back > sent:
        raise FitError(
            f"{counted[0].place}: {back} points of {sent} rays; rays is the number in one frame"
        )
    half = 0.5 * (1.0 - CONFIDENCE)
    low = float(beta.ppf(half, back, sent - back + 1)) if back else 0.0
    high = float(beta.ppf(1.0 - half, back + 1, sent - back)) if back < sent else 1.0
    method = "share of rays, interval of Clopper and Pearson"
    return [Estimate("detection_probability", back / sent, low, high, "1", method)], []


def _intensities(
    planes: Sequence[Plane], settings: dict[str, float | int | bool | str]
) -> tuple[list[Estimate], list[str]]:
    """Intensity of a white plate at right angles."""
    known = [p for p in planes if math.isfinite(p.reflectance) and len(p.intensity)]
    if not known:
        return [], ["intensity.full_scale: no target has a reflectance, or points no intensity"]
    gains, spreads = [], []
    for plane in known:
        expected = plane.reflectance * plane.incidence
        gain = float(plane.intensity @ expected / (expected @ expected))
        left = plane.intensity - gain * expected
        gains.append(gain)
        spreads.append(math.sqrt(float(left @ left) / (len(left) - 1) / float(expected @ expected)))
    values = np.concatenate([plane.intensity for plane in known])
    counted = bool(np.all(values == np.rint(values)))
    if counted:  # without noise, all counts of a target may be rounded to the same side
        for place, plane in enumerate(known):
            if spreads[place] * math.sqrt(len(plane.intensity)) * plane.reflectance < 0.5:
                alike = 1.0 / (math.sqrt(12.0) * plane.reflectance * float(plane.incidence.mean()))
                spreads[place] = math.hypot(spreads[place], alike)
    gain_of, weights = np.array(gains), 1.0 / np.maximum(spreads, 1e-9 * max(gains)) ** 2
    gain = float(gain_of @ weights / weights.sum())
    chi = float(weights @ (gain_of - gain) ** 2) / max(len(gains) - 1, 1)
    deviation = math.sqrt(max(chi, 1.0) / float(weights.sum()))
    method = "means of targets over reflectance times cosine, their scatter counted"
    found = [
        normal_estimate(
            "intensity of reflectance 1", gain, deviation, "1", method, is_parameter=False
        )
    ]
    if counted:
        bits = 8 if values.max() < 256.0 else 16
        settings["intensity.kind"] = "reflectivity"
        settings["intensity.bits"] = bits
        full = (2.0**bits - 1.0) / gain
        found.append(
            normal_estimate("intensity.full_scale", full, full * deviation / gain, "1", method)
        )
    return found, []


def _beams(
    rings: Mapping[int, Sequence[Floats]],
    settings: dict[str, float | int | bool | str],
    files: dict[str, str],
) -> list[Estimate]:
    """The elevations of rings, as estimates and as a table of beams."""
    found = []
    lines = ["ring,elevation_deg,azimuth_deg"]
    for ring in sorted(rings):
        elevation = np.concatenate(rings[ring])
        deviation = float(elevation.std()) / math.sqrt(len(elevation))
        method = "mean of the points of the ring"
        name = f"elevation of ring {ring}"
        mean = float(elevation.mean())
        found.append(normal_estimate(name, mean, deviation, "rad", method, is_parameter=False))
        lines.append(f"{ring},{math.degrees(mean):.6f},0")
    settings["pattern.type"] = "spinning"
    settings["pattern.rows"] = len(rings)
    settings["pattern.beams"] = "beams.csv"
    files["beams.csv"] = "\n".join(lines) + "\n"
    return found


def _notes(planes: Sequence[Plane]) -> list[str]:
    """A line for each target."""
    lines = []
    for plane in planes:
        n = len(plane.errors)
        spread = float(plane.errors.std(ddof=1))
        reach = NORMAL_QUANTILE / math.sqrt(2.0 * n)
        bright = f", intensity {plane.intensity.mean():.4g}" if len(plane.intensity) else ""
        angle = math.degrees(math.acos(min(float(plane.incidence.mean()), 1.0)))
        kind = "given" if plane.is_given else "fitted"
        lines.append(
            f"{plane.place}: {plane.ranges.mean():.4g} m, incidence {angle:.3g} deg{bright}: sigma "
            f"{spread:.4g} m +-{reach:.1%}, {n} points, {plane.outliers} outliers, plane {kind}"
        )
    return lines


def _figures(planes: Sequence[Plane], estimates: Sequence[Estimate]) -> list[Figure]:
    sizes = {estimate.name: estimate.value for estimate in estimates}
    ranges = np.array([float(plane.ranges.mean()) for plane in planes])
    spreads = np.array([float(plane.errors.std(ddof=1)) for plane in planes])
    counts = np.array([len(plane.errors) for plane in planes])
    line = np.linspace(0.0, 1.05 * float(ranges.max()), 50)
    along = sizes["noise.distance_sigma_base"] + line * sizes.get("noise.distance_sigma_slope", 0.0)
    reach = NORMAL_QUANTILE * spreads / np.sqrt(2.0 * counts)
    return [
        Figure(
            "noise of ranges",
            "range, m",
            "standard deviation, m",
            [
                Curve("targets, all errors", ranges, spreads, spread=reach),
                Curve("fit, at right angles", line, along, is_line=True),
            ],
        )
    ]
