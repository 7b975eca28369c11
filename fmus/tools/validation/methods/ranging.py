"""Ranges of lidars and depth cameras: to a wall, in a room, through fog.

The wall of ``wall`` and ``attenuation`` is the plane x = 0 of the world, and the sensor looks at it
along x from ``at`` metres: each run has ``mount.position.x = -at``.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fmus.tools.validation.methods.outcome import Floats, Outcome, Run

POINTS = ".points.npy"


@dataclass(frozen=True)
class Seen:
    """Readings of one frame within the window."""

    places: Floats
    """Points, (n, 3)."""
    errors: Floats
    """Reading less truth, along what is read: the range, or the depth of a pixel."""
    rays: int
    """How many rays or pixels read something."""
    asked: int
    """How many there are; 0 if the frame does not say."""
    intensity: Floats


def wall(runs: Sequence[Run], options: Mapping[str, Any]) -> Outcome:
    """Readings of a wall, seen at a right angle, within ``window`` rad around the axis.

    Curves over the range: ``bias``, the mean error of what is read (the range along the ray, or the
    depth of a pixel); ``sigma``, its standard deviation; ``plane``, the rms distance of the points
    from a plane fitted to them; ``relative``, ``sigma`` by the range; ``valid``, the share of rays
    that read something (of those of the run that has the most, where the frame does not say);
    ``echoes``, readings a ray; ``scatter``, with the option ``spread``: the standard deviation of
    intensity by its mean, ray by ray over the frames. The same names are values, over all runs.
    The distribution ``error`` is that of all readings.
    """
    found: dict[str, list[float]] = {}
    errors: list[Floats] = []
    rays: list[int] = []
    any_asked = False
    for run in runs:
        frames = list(_seen(run, options["window"]))
        together = np.concatenate([np.zeros(0), *(frame.errors for frame in frames)])
        errors.append(together)
        count = sum(frame.rays for frame in frames)
        asked = sum(frame.asked for frame in frames)
        any_asked = any_asked or asked > 0
        rays.append(asked or count)
        each = _at_one_range(frames, together, run.at)
        each["valid"] = count / asked if asked else float(count)
        if options["spread"]:
            each["scatter"] = _scatter(frames)
        for name, value in each.items():
            found.setdefault(name, []).append(value)
    if not any_asked:
        found["valid"] = [value / max(rays) for value in found["valid"]]
    return _outcome(runs, found, errors)


def _at_one_range(frames: Sequence[Seen], errors: Floats, at: float) -> dict[str, float]:
    """Results of one run; where nothing was read they are no numbers."""
    names = ("bias", "sigma", "plane", "relative", "echoes")
    if not errors.size:
        return dict.fromkeys(names, math.nan)
    planes = [_plane_rms(frame.places) for frame in frames if len(frame.places) > 3]
    return {
        "bias": float(errors.mean()),
        "sigma": float(errors.std()),
        "plane": float(np.sqrt(np.mean(np.square(planes)))) if planes else 0.0,
        "relative": float(errors.std() / at),
        "echoes": len(errors) / sum(frame.rays for frame in frames),
    }


def _outcome(
    runs: Sequence[Run], found: Mapping[str, Sequence[float]], errors: Sequence[Floats]
) -> Outcome:
    places = np.array([run.at for run in runs])
    everything = np.concatenate(errors)
    if not everything.size:
        raise ValueError("nothing was read at any range")
    values = {name: float(np.nanmean(along)) for name, along in found.items()}
    values |= {"bias": float(everything.mean()), "sigma": float(everything.std())}
    values["most"] = float(np.abs(everything).max())
    curves = {name: (places, np.array(along)) for name, along in found.items()}
    return Outcome(values, curves, {"error": everything}, "range / m")


def _seen(run: Run, window: float) -> Iterator[Seen]:
    if next(run.folder.glob(f"*{POINTS}"), None) is not None:
        for points in run.frames(POINTS):
            yield _of_points(points, run.at, window)
    elif next(run.folder.glob("*.depth.npy"), None) is not None:
        for depth in run.frames(".depth.npy"):
            yield _of_depth(depth, run, window)
    else:
        for ranges in run.frames(".range.npy"):
            yield _of_zones(ranges, run, window)


def _of_points(points: NDArray[np.void], at: float, window: float) -> Seen:
    inside = (np.abs(points["azimuth"]) <= window) & (np.abs(points["elevation"]) <= window)
    points = points[inside & (points["atmospheric"] == 0)]
    cosines = np.cos(points["azimuth"].astype(float)) * np.cos(points["elevation"].astype(float))
    places = np.stack([points[axis] for axis in "xyz"], axis=1).astype(float)
    rays = int(np.count_nonzero(points["return_number"] == 1))
    errors = points["range"].astype(float) - at / cosines
    return Seen(places, errors, rays, 0, points["intensity"].astype(float))


def _of_depth(depth: NDArray[np.float32], run: Run, window: float) -> Seen:
    """Depths of a pinhole camera; columns grow to the right, rows grow downward."""
    (fx, _, cx), (_, fy, cy), _ = run.camera_matrix
    pixels: Floats = np.indices(depth.shape).astype(np.float64)
    left: Floats = (cx - pixels[1]) / fx
    up: Floats = (cy - pixels[0]) / fy
    inside = (np.abs(np.arctan(left)) <= window) & (np.abs(np.arctan(up)) <= window)
    read = inside & np.isfinite(depth) & (depth > 0.0)
    depths = depth[read].astype(float)
    places = np.stack([depths, left[read] * depths, up[read] * depths], axis=1)
    count = int(np.count_nonzero(read))
    return Seen(places, depths - run.at, count, int(np.count_nonzero(inside)), np.ones(count))


def _of_zones(ranges: NDArray[np.float32], run: Run, window: float) -> Seen:
    """Ranges along equal steps of azimuth and elevation, the first row up, columns to the right."""
    limits = [
        f"pattern.{angle}.{end}" for angle in ("azimuth", "elevation") for end in ("max", "min")
    ]
    left, right, top, bottom = (float(run.parameters[name]) for name in limits)
    azimuth = np.linspace(left, right, ranges.shape[1])[None, :]
    elevation = np.linspace(top, bottom, ranges.shape[0])[:, None]
    level = np.cos(elevation)
    parts = (level * np.cos(azimuth), level * np.sin(azimuth), np.sin(elevation) + 0.0 * azimuth)
    along: Floats = np.stack(parts, axis=-1)
    inside = (np.abs(azimuth) <= window) & (np.abs(elevation) <= window)
    read = inside & np.isfinite(ranges) & (ranges > 0.0)
    values = ranges[read].astype(float)
    ways = along[read]
    errors = values - run.at / ways[:, 0]
    asked = int(np.count_nonzero(inside))
    return Seen(values[:, None] * ways, errors, len(values), asked, values)


def _plane_rms(places: Floats) -> float:
    """The rms distance of points from the plane x = a + b y + c z that fits them best."""
    terms = np.column_stack([np.ones(len(places)), places[:, 1:]])
    parts = np.linalg.lstsq(terms, places[:, 0], rcond=None)[0]
    off = places[:, 0] - terms @ parts
    return float(np.sqrt(np.mean(off**2) / (1.0 + parts[1] ** 2 + parts[2] ** 2)))


def _scatter(frames: Sequence[Seen]) -> float:
    """The scatter of intensity over frames that have the same rays."""
    if len({len(frame.intensity) for frame in frames}) != 1:
        raise ValueError("frames have different rays, so intensity has no scatter ray by ray")
    stack = np.array([frame.intensity for frame in frames])
    return float(np.mean(stack.std(axis=0) / stack.mean(axis=0)))


def reach(runs: Sequence[Run], options: Mapping[str, Any]) -> Outcome:
    """How far a wall is seen from which the sensor backs away (``ramp`` of ``body.position.x``).

    ``reach``: the last range at which at least half of the rays return that did so at first, within
    ``window`` rad around the axis. It is told as finely as frames follow one another.
    """
    found = []
    for run in runs:
        frames = [_of_points(points, run.at, options["window"]) for points in run.frames(POINTS)]
        seen = [frame for frame in frames if 2 * frame.rays >= max(frames[0].rays, 1)]
        if not seen or len(seen) == len(frames):
            raise ValueError(f"of {len(frames)} frames {len(seen)} see the wall, so its end is not")
        found.append(float(np.median(seen[-1].places[:, 0])))
    places = np.array([run.at for run in runs])
    return Outcome({"reach": float(np.mean(found))}, {"reach": (places, np.array(found))})


def room(runs: Sequence[Run], options: Mapping[str, Any]) -> Outcome:
    """Distances of points from the walls of a cube of ``half`` m around the sensor.

    ``sigma``, their standard deviation; ``bias``, their mean, outwards; ``most``, the largest; the
    distribution ``distance``. Points within 0.3 m of an edge are left out, where it is open which
    wall was meant.
    """
    half, found = float(options["half"]), []
    for run in runs:
        for points in run.frames(POINTS):
            places = np.abs(np.stack([points[axis] for axis in "xyz"], axis=1).astype(float))
            ordered = np.sort(places, axis=1)
            found.append((ordered[:, 2] - half)[ordered[:, 1] < half - 0.3])
    distances = np.concatenate(found)
    return Outcome(
        {
            "sigma": float(distances.std()),
            "bias": float(distances.mean()),
            "most": float(np.abs(distances).max()),
        },
        samples={"distance": distances},
    )


def pattern(runs: Sequence[Run], options: Mapping[str, Any]) -> Outcome:
    """Where the rays of a sensor go, in a room that answers each of them.

    ``points_per_second``; ``frame_rate``; ``rings``; ``elevation.least`` and ``.largest``,
    ``elevation.span`` and ``azimuth.span``, rad; of a camera ``pixels``, ``fov.horizontal`` and
    ``fov.vertical`` by its camera matrix, rad.
    """
    del options
    (run,) = runs
    rate = float(run.parameters["sample_rate"])
    values = {"frame_rate": rate}
    if next(run.folder.glob(f"*{POINTS}"), None) is None:
        if run.camera_matrix:
            (fx, _, _), (_, fy, _), _ = run.camera_matrix
            width, height = run.outputs["frame.width"], run.outputs["frame.height"]
            values["fov.horizontal"] = 2.0 * math.atan(0.5 * width / fx)
            values["fov.vertical"] = 2.0 * math.atan(0.5 * height / fy)
        values["pixels"] = run.outputs["frame.width"] * run.outputs["frame.height"]
        return Outcome(values)
    frames = list(run.frames(POINTS))
    points = np.concatenate(frames)
    first = points[points["return_number"] == 1]
    elevation, azimuth = first["elevation"].astype(float), first["azimuth"].astype(float)
    values |= {
        "points_per_second": len(first) / len(frames) * rate,
        "rings": float(len(np.unique(first["ring"]))),
        "elevation.least": float(elevation.min()),
        "elevation.largest": float(elevation.max()),
        "elevation.span": float(np.ptp(elevation)),
        "azimuth.span": float(np.ptp(azimuth)),
    }
    return Outcome(values)


def attenuation(runs: Sequence[Run], options: Mapping[str, Any]) -> Outcome:
    """The visibility in fog, from the intensity of a wall with it and without.

    Runs come in pairs at one range, the first without fog. The extinction is
    ln(I_clear / I_fog) / (2 at), and the ``visibility`` ln(1 / contrast) by the extinction, with
    the ``contrast`` at which an object counts as visible. Values: ``visibility``, the mean of the
    pairs, ``echoes``, the share of fog's own echoes among all points of the runs with fog.
    """
    found, own, points = [], 0, 0
    for clear, fog in zip(runs[::2], runs[1::2], strict=True):
        means = []
        for run in (clear, fog):
            frames = np.concatenate(list(run.frames(POINTS)))
            solid = frames[frames["atmospheric"] == 0]
            if not len(solid):
                raise ValueError(f"the wall was not seen at {run.at:g} m")
            means.append(float(solid["intensity"].astype(float).mean()))
        own += len(frames) - len(solid)
        points += len(frames)
        found.append(2.0 * fog.at * math.log(1.0 / options["contrast"]))
        found[-1] /= math.log(means[0] / means[1])
    places = np.array([run.at for run in runs[::2]])
    values = {"visibility": float(np.mean(found)), "echoes": own / points}
    return Outcome(values, {"visibility": (places, np.array(found))}, axis="range / m")
