"""Records at a steady rate, from logs whose times jitter and whose samples are missing."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sensor_models.tools.fitting.estimates import FitError, Floats
from sensor_models.tools.fitting.tables import Columns

#: Share of the samples that may be missing: they are filled in by lines.
MISSING = 0.01


@dataclass(frozen=True)
class Sampled:
    """Readings at a steady rate."""

    rate: float
    values: dict[str, Floats]
    notes: tuple[str, ...]

    @property
    def duration(self) -> float:
        """Length of the record, s."""
        return len(next(iter(self.values.values()))) / self.rate


def steady(columns: Columns, names: Sequence[str]) -> Sampled:
    """Columns of a log at its rate, the missing samples filled in.

    Raises:
        FitError: if too many are missing, or times do not rise.
    """
    time = columns["time"]
    steps = np.diff(time)
    if len(time) < 3:
        raise FitError(f"{columns.path}: has {len(time)} samples")
    if np.any(steps < 0.0):
        row = int(np.flatnonzero(steps < 0.0)[0]) + 2
        raise FitError(f"{columns.path}: time goes back in row {row}; logs of one run are needed")
    usual = float(np.median(steps))
    if not usual > 0.0:
        raise FitError(f"{columns.path}: most samples have the same time as the one before")
    places = np.concatenate(([0], np.cumsum(np.rint(steps / usual).astype(np.int64))))
    expected = round((float(time[-1]) - float(time[0])) / usual) + 1
    missing = expected - len(time)
    if abs(missing) <= max(1, 1e-3 * len(time)) and steps.max() < 10.0 * usual:
        rate = (len(time) - 1) / float(time[-1] - time[0])
        return Sampled(rate, {name: _filled(columns, name) for name in names}, ())
    if not 0 <= missing <= MISSING * len(time) or np.any(np.diff(places) <= 0):
        raise FitError(
            f"{columns.path}: of {expected} samples at {1.0 / usual:.6g} Hz {missing} are missing, "
            f"the longest gap is {steps.max():.4g} s; allowed is {MISSING:.0%}"
        )
    whole = np.arange(places[-1] + 1)
    values = {name: np.interp(whole, places, _filled(columns, name)) for name in names}
    note = f"{missing} of {expected} samples are missing, they were filled in by lines"
    return Sampled(places[-1] / float(time[-1] - time[0]), values, (note,))


def _filled(columns: Columns, name: str) -> Floats:
    """A column whose empty cells are filled in by lines."""
    values = columns[name]
    there = np.isfinite(values)
    if there.all():
        return values
    if np.mean(~there) > MISSING:
        raise FitError(
            f"{columns.path}: {np.sum(~there)} of {len(there)} values of {name} are missing"
        )
    rows = np.arange(len(values))
    return np.interp(rows, rows[there], values[there])
