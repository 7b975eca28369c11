"""Errors of a receiver that stands still at the origin of its world."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fmus.tools.validation.methods.outcome import Outcome, Run

#: The semi-major axis and the square of the eccentricity of the WGS 84 ellipsoid.
SEMI_MAJOR, SQUARE = 6378137.0, 6.69437999014e-3
COLUMNS = ("time", "latitude", "longitude", "height", "satellites", "carrier_solution")
SHARES = (0.5, 0.68, 0.9545, 0.9973)


def positions(runs: Sequence[Run], options: Mapping[str, Any]) -> Outcome:
    """Errors of position and velocity, after the first ``skip`` seconds.

    ``east.rms``, ``north.rms``, ``up.rms``; ``horizontal.p50``, ``.p68``, ``.p95``, ``.p99``, the
    radii that hold 50, 68, 95.45 and 99.73 % of the errors; ``velocity.rms``, of an axis;
    ``satellites``; ``rate``; ``convergence``, the time of the first fixed carrier solution. The
    distribution ``horizontal`` is that of the radius. Runs are pooled, so that errors that last
    (as those of the troposphere do) are drawn anew.
    """
    east, north, up, speeds, counts, starts = [], [], [], [], [], []
    for run in runs:
        times, latitude, longitude, height, seen, carrier = run.columns(*COLUMNS)
        velocity = run.columns(*(f"velocity.{axis}" for axis in ("east", "north", "up")))
        kept = times >= options["skip"]
        latitude0, longitude0, height0 = (
            float(run.parameters[f"origin.{name}"]) for name in ("latitude", "longitude", "height")
        )
        bend = math.sqrt(1.0 - SQUARE * math.sin(latitude0) ** 2)
        meridian = SEMI_MAJOR * (1.0 - SQUARE) / bend**3 + height0
        parallel = (SEMI_MAJOR / bend + height0) * math.cos(latitude0)
        east.append((longitude - longitude0)[kept] * parallel)
        north.append((latitude - latitude0)[kept] * meridian)
        up.append(height[kept] - height0)
        speeds.append(np.stack(velocity)[:, kept].ravel())
        counts.append(seen[kept])
        fixed = np.flatnonzero(carrier >= 2)
        starts.append(times[fixed[0]] if len(fixed) else math.inf)
    horizontal = np.hypot(np.concatenate(east), np.concatenate(north))
    names = ("p50", "p68", "p95", "p99")
    return Outcome(
        {
            **{f"horizontal.{n}": float(np.quantile(horizontal, share))
               for n, share in zip(names, SHARES, strict=True)},
            "east.rms": _rms(east),
            "north.rms": _rms(north),
            "up.rms": _rms(up),
            "velocity.rms": _rms(speeds),
            "satellites": float(np.concatenate(counts).mean()),
            "rate": (len(times) - 1) / (times[-1] - times[0]),
            "convergence": float(np.mean(starts)),
        },
        samples={"horizontal": horizontal},
    )  # fmt: skip


def _rms(parts: Sequence[Any]) -> float:
    return float(np.sqrt(np.mean(np.concatenate(parts) ** 2)))
