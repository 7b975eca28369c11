"""Samples of scalar outputs, as they are and against the truth."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fmus.tools.validation.methods.outcome import Floats, Outcome, Run


def samples(runs: Sequence[Run], options: Mapping[str, Any]) -> Outcome:
    """Samples at rest.

    For each of the ``columns`` of the record, after the first ``skip`` seconds: ``.mean``,
    ``.rms`` (the standard deviation), ``.peak_to_peak``, ``.step``, the least difference of two
    values that occur (0 if they are all the same), ``.rate``, samples a second; its samples less
    their mean are a distribution of its name. Of several runs there are curves of the same names.
    """
    outcome = Outcome(axis="run")
    for column in options["columns"]:
        found: list[dict[str, float]] = []
        pooled = []
        for run in runs:
            values, rate = _after(run, column, options["skip"])
            steps = np.diff(np.unique(values))
            found.append(
                {
                    "mean": float(values.mean()),
                    "rms": float(values.std(ddof=1)),
                    "peak_to_peak": float(np.ptp(values)),
                    "step": float(steps.min()) if len(steps) else 0.0,
                    "rate": rate,
                }
            )
            pooled.append(values - values.mean())
        places = np.array([run.at for run in runs])
        for name in found[0]:
            along = np.array([each[name] for each in found])
            outcome.values[f"{column}.{name}"] = float(along.mean())
            outcome.curves[f"{column}.{name}"] = places, along
        outcome.samples[column] = np.concatenate(pooled)
    return outcome


def truth(runs: Sequence[Run], options: Mapping[str, Any]) -> Outcome:
    """Samples of one ``column`` against a truth that grows by ``slope`` in a second.

    After ``skip`` seconds: ``error.mean``, ``error.rms``, ``error.most`` (the largest in amount),
    ``step``, the least difference of two values that occur; the distribution ``error``. A reading
    that starts again after a turn is unwrapped by the whole turns that the truth has made.
    """
    errors, steps = [], []
    for run in runs:
        times, values = run.columns("time", options["column"])
        kept = times >= options["skip"]
        steps.append(np.diff(np.unique(values)).min())
        wanted = options["slope"] * times[kept]
        error = values[kept] - wanted
        span = float(run.parameters.get("upper", 0.0)) - float(run.parameters.get("lower", 0.0))
        errors.append(error - span * np.rint(error / span) if span > 0.0 else error)
    error = np.concatenate(errors)
    return Outcome(
        {
            "error.mean": float(error.mean()),
            "error.rms": float(np.sqrt(np.mean(error**2))),
            "error.most": float(np.abs(error).max()),
            "step": float(min(steps)),
        },
        samples={"error": error},
    )


def _after(run: Run, column: str, skip: float) -> tuple[Floats, float]:
    times, values = run.columns("time", column)
    rate = (len(times) - 1) / (times[-1] - times[0])
    return values[times >= skip], float(rate)
