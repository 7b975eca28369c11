r"""Errors of a GNSS receiver: what is new in each sample, what lasts, and the latency.

The receiver stands still, or its log has the true place beside the reported one. Errors to the
east, north and up, and of the velocity, are white noise and a Gauss-Markov process with one
correlation time for all (``slow_noise``, ``drifts``); east and north have the same sizes, and so
have the three velocities. What does not change over the log cannot be told from the place where
the receiver is, unless that is given.

A latency L shows where the receiver moves: the position lags by L v. It is what the errors follow
of the reference's velocity, by least squares with the covariance of the errors.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from sensor_models.tools.fitting.drifts import Axis, Drift, correlated, tried_drifts
from sensor_models.tools.fitting.estimates import (
    Curve,
    Estimate,
    Figure,
    Fit,
    FitError,
    Floats,
    normal_estimate,
)
from sensor_models.tools.fitting.sampling import Sampled, steady
from sensor_models.tools.fitting.slow_noise import record_of, white
from sensor_models.tools.fitting.tables import Columns, Wanted, need, read_columns

Progress = Callable[[int, int], None]

#: WGS 84.
RADIUS, ECCENTRICITY = 6378137.0, 0.00669437999014
#: Speed from which on a latency is looked for, m/s.
LEAST_SPEED = 0.1
METHOD = "largest likelihood of white noise and a Gauss-Markov process, interval of its profile"
_PLACES = ("latitude", "longitude", "height")
_SPEEDS = ("velocity.east", "velocity.north", "velocity.up")


def wanted() -> list[Wanted]:
    """The columns of a log."""
    return [
        Wanted("time", ("timestamp", "t", "stamp")),
        Wanted("latitude", ("lat",)),
        Wanted("longitude", ("lon", "lng", "long")),
        Wanted("height", ("altitude", "alt", "ellipsoidal_height", "h")),
        *(Wanted(name, (name.replace(".", "_"),), needed=False) for name in _SPEEDS),
        *(Wanted(f"reference.{name}", needed=False) for name in _PLACES),
    ]


def fit_gnss(logs: Sequence[Path], given: Mapping[str, str], progress: Progress) -> Fit:
    """A receiver from one log.

    Raises:
        FitError: if the log cannot be read, or has a part of a reference only.
    """
    need("sensor-fmus fit", "scipy")
    if len(logs) != 1:
        raise FitError(f"gnss takes one log, {len(logs)} are given")
    columns = _in_radians(read_columns(logs[0], wanted(), given))
    references = [name for name in _PLACES if f"reference.{name}" in columns]
    if references and len(references) < len(_PLACES):
        raise FitError(f"{logs[0]}: of the reference there is only {', '.join(references)}")
    names = [name for name in columns.values if name != "time"]
    return fit_places(steady(columns, names), progress)


def _in_radians(columns: Columns) -> Columns:
    """Angles of a log in rad: such beyond the poles or the date line are in degrees."""
    values = dict(columns.values)
    for prefix in ("", "reference."):
        pair = [f"{prefix}latitude", f"{prefix}longitude"]
        if all(name in values for name in pair) and (
            np.nanmax(np.abs(values[pair[0]])) > 0.5 * math.pi
            or np.nanmax(np.abs(values[pair[1]])) > math.pi
        ):
            values.update({name: np.deg2rad(values[name]) for name in pair})
    return Columns(columns.path, values)


def local(latitude: Floats, longitude: Floats, height: Floats) -> tuple[Floats, Floats, Floats]:
    """Metres to the east, north and up of the mean place."""
    middle, up = float(latitude.mean()), float(height.mean())
    bent = 1.0 - ECCENTRICITY * math.sin(middle) ** 2
    across = RADIUS / math.sqrt(bent)
    along = RADIUS * (1.0 - ECCENTRICITY) / bent**1.5
    east = (longitude - longitude.mean()) * (across + up) * math.cos(middle)
    return east, (latitude - middle) * (along + up), height - up


def fit_places(sampled: Sampled, progress: Progress) -> Fit:
    """A receiver from steady samples."""
    values, rate = sampled.values, sampled.rate
    errors = list(local(*(values[name] for name in _PLACES)))
    speeds: list[Floats] = []
    moves = "reference.latitude" in values
    if moves:
        truth = local(*(values[f"reference.{name}"] for name in _PLACES))
        errors = [measured - true for measured, true in zip(errors, truth, strict=True)]
        speeds = [np.gradient(true) * rate for true in truth]
        moves = max(float(speed.std()) for speed in speeds) > LEAST_SPEED
    records = [
        record_of(error, rate, 0.5 * rate, [speeds[i]] if moves and i < 2 else [])
        for i, error in enumerate(errors)
    ]
    axes = [
        Axis("error.{}.horizontal", records[0], (white(),), also=(records[1],)),
        Axis("error.{}.vertical", records[2], (white(),)),
    ]
    if all(name in values for name in _SPEEDS):
        own = [record_of(values[name], rate, 0.5 * rate) for name in _SPEEDS]
        if "reference.latitude" in values:
            own = [
                record_of(values[name] - speed, rate, 0.5 * rate)
                for name, speed in zip(_SPEEDS, speeds, strict=True)
            ]
        axes.append(Axis("velocity.{}", own[0], (white(),), also=tuple(own[1:])))
    progress(0, len(axes) + 1)
    tried = tried_drifts(axes, may_walk=False)
    estimates: list[Estimate] = []
    for place, axis in enumerate(axes):
        progress(place + 1, len(axes) + 1)
        estimates += _estimates(axis, place, tried, rate)
    unknown = [
        "error.mode dop and pseudorange: a log of fixes does not tell errors of ranges",
        "what lasts longer than the log, and a constant offset: not in these data",
    ]
    if moves:
        estimates.append(_latency(axes[0], tried))
    else:
        unknown.append("latency: needs a motion, and the columns reference.latitude and so on")
    settings: dict[str, float | int | bool | str] = {
        "sample_rate": float(f"{rate:.6g}"),
        "error.mode": "fixed",
    }
    notes = [f"{sampled.duration:.6g} s at {rate:.6g} Hz", *sampled.notes]
    figure = _figure(errors, rate)
    return Fit("gnss", ("Gnss",), estimates, settings, unknown, notes, [figure])


def _estimates(axis: Axis, place: int, tried: Sequence[Drift], rate: float) -> list[Estimate]:
    """White part, lasting part, and from the first axis the correlation time."""
    each, peak = correlated(axis, place, tried)
    unit = "m/s" if axis.name.startswith("velocity") else "m"
    found = []
    for number, (part, factor) in enumerate((("white", math.sqrt(rate)), ("correlated", 1.0))):
        low, high = each.interval(peak, number)
        value = factor * float(peak.parameters[number])
        name = axis.name.format(part)
        found.append(Estimate(name, value, factor * low, factor * high, unit, METHOD))
    if place == 0:
        low, high = each.interval(peak, 2)
        tau = float(peak.parameters[2])
        name = "error.time_constant"
        found.append(Estimate(name, tau, low, high, "s", METHOD, may_be_absent=False))
    return found


def _latency(axis: Axis, tried: Sequence[Drift]) -> Estimate:
    """The share of the velocity that the errors follow, of east and north together."""
    best = max(tried, key=lambda drift: drift.value)
    sizes = best.peaks[0].parameters
    total, weight = 0.0, 0.0
    for record in (axis.record, *axis.also):
        one = Axis(axis.name, record, axis.always)
        slope, deviation = one.noise(best.part).coefficients(sizes)
        total += -float(slope[0]) / float(deviation[0]) ** 2
        weight += 1.0 / float(deviation[0]) ** 2
    method = "least squares of errors over the velocity, with the covariance of the errors"
    return normal_estimate("latency", total / weight, 1.0 / math.sqrt(weight), "s", method)


def _figure(errors: Sequence[Floats], rate: float) -> Figure:
    every = max(len(errors[0]) // 2000, 1)
    times = np.arange(len(errors[0]))[::every] / rate
    names = ("east", "north", "up")
    curves = [
        Curve(name, times, (error - error.mean())[::every])
        for name, error in zip(names, errors, strict=True)
    ]
    return Figure("errors of the position about their means", "time, s", "m", curves)
