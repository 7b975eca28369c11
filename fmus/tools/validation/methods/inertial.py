r"""Allan deviation of sensors at rest, and what is read from it.

With the readings of all runs, the variances of which are averaged,

    σ²(τ) = N²/τ + F² + K² τ/3

is fitted, N, F, K ≥ 0, each averaging time weighted by the number of independent clusters in the
record. That is the form that the sheets of makers and the tools of others use (IEEE Std 952-1997,
annex C), F being the height of the flat part. Where a low-pass filters the noise, it is fitted from
an averaging time on at which the filter is over (``fitted_from``, in s).
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from fmus.tools.validation.methods.outcome import Floats, Outcome, Run
from sensor_models.inertial.allan import allan_deviation

AXES = "xyz"
POINTS_PER_DECADE = 12
#: The longest averaging time is this part of the record: beyond it there are too few clusters.
LONGEST = 0.2
#: The least value is looked for up to this part: the least of uncertain values is too small.
FLOOR_WITHIN = 0.05


def allan(runs: Sequence[Run], options: Mapping[str, Any]) -> Outcome:
    """Allan deviation at rest.

    For each of the ``sensors``, and for each of its axes (``gyroscope.x``), there are:
    ``.deviation``, the curve over the averaging time; ``.noise``, N; ``.flat``, F; ``.walk``, K;
    ``.floor``, the least value of the curve
    up to a twentieth of a record; ``.rms``, the deviation of single samples. Without an
    axis it is the root of the mean square of three axes.
    """
    outcome = Outcome(axis="averaging time / s")
    begin = float(options["fitted_from"])
    for sensor in options["sensors"]:
        prefix = f"{sensor}." if sensor else ""
        curves, squares = [], []
        for axis in AXES:
            taus, deviation, rms, span = _one_axis(runs, f"{prefix}{axis}")
            curves.append(deviation**2)
            squares.append(rms**2)
            _results(outcome, f"{prefix}{axis}", taus, deviation, rms, span, begin)
        together = np.sqrt(np.mean(curves, axis=0))
        name = sensor or "all"
        _results(outcome, name, taus, together, float(np.sqrt(np.mean(squares))), span, begin)
    return outcome


def _one_axis(runs: Sequence[Run], column: str) -> tuple[Floats, Floats, float, float]:
    """Averaging times, deviation, rms and the length of all records together."""
    variances, squares, span = [], [], 0.0
    for run in runs:
        times, readings = run.columns("time", column)
        rate = (len(times) - 1) / (times[-1] - times[0])
        length = len(times) / rate
        count = round(POINTS_PER_DECADE * np.log10(LONGEST * length * rate))
        taus = np.geomspace(1.0 / rate, LONGEST * length, count)
        taus, deviation = allan_deviation(readings, rate, taus)
        variances.append(deviation**2)
        squares.append(np.var(readings))
        span += length
    return taus, np.sqrt(np.mean(variances, axis=0)), float(np.sqrt(np.mean(squares))), span


def _results(
    outcome: Outcome,
    name: str,
    taus: Floats,
    deviation: Floats,
    rms: float,
    span: float,
    begin: float,
) -> None:
    fitted = taus >= begin
    noise, flat, walk = fit_terms(taus[fitted], deviation[fitted], span / taus[fitted])
    length = taus[-1] / LONGEST
    outcome.curves[f"{name}.deviation"] = taus, deviation
    outcome.values |= {
        f"{name}.noise": noise,
        f"{name}.flat": flat,
        f"{name}.walk": walk,
        f"{name}.floor": float(deviation[taus <= FLOOR_WITHIN * length].min()),
        f"{name}.rms": rms,
    }


def fit_terms(taus: Floats, deviation: Floats, clusters: Floats) -> tuple[float, float, float]:
    """N, F and K, none of them below 0, that fit a curve best relative to its uncertainty."""
    variances = deviation**2
    if not np.all(variances > 0.0):
        return 0.0, 0.0, 0.0
    weights = np.sqrt(clusters)[:, None] / variances[:, None]
    terms = np.stack([1.0 / taus, np.ones_like(taus), taus / 3.0], axis=1) * weights
    wanted = weights[:, 0] * variances
    best, found = np.inf, np.zeros(3)
    for size in (1, 2, 3):
        for chosen in combinations(range(3), size):
            scales = np.linalg.norm(terms[:, chosen], axis=0)
            parts = np.linalg.lstsq(terms[:, chosen] / scales, wanted, rcond=None)[0] / scales
            error = float(np.sum((terms[:, chosen] @ parts - wanted) ** 2))
            if np.all(parts >= 0.0) and error < best:
                best, found = error, np.zeros(3)
                found[list(chosen)] = parts
    noise, flat, walk = np.sqrt(found)
    return float(noise), float(flat), float(walk)
