r"""Resolution, noise and zero offset of an encoder, from a log with a reference or a steady motion.

The model is that of the sensor: the code is ⌊(u + b + n)/r⌋, n normal with the standard deviation
σ, so a reported position p says that p <= u + b + n < p + r (``censored``). The resolution r is the
step of the reported positions. With a reference, u is known and b is fitted; without one u is a
line in time, a motion at a steady speed, and its offset swallows b.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from sensor_models.tools.fitting.censored import Censored
from sensor_models.tools.fitting.estimates import (
    Curve,
    Estimate,
    Figure,
    Fit,
    FitError,
    Floats,
    normal_estimate,
)
from sensor_models.tools.fitting.steps import step_of
from sensor_models.tools.fitting.tables import Columns, Wanted, need, read_columns

Progress = Callable[[int, int], None]

WANTED = (
    Wanted("time", ("timestamp", "t", "stamp")),
    Wanted("position", ("angle", "theta")),
    Wanted("reference", ("truth", "reference.position"), needed=False),
)
#: Samples that count at most, evenly over the log, and that are needed.
MOST, LEAST = 50_000, 100
#: How far from a whole number the codes of a turn may be, for the turn to be taken as whole.
WHOLE = 0.02
METHOD = "largest likelihood of codes, interval of its profile"


def fit_encoder(logs: Sequence[Path], given: Mapping[str, str], progress: Progress) -> Fit:
    """An encoder from one log.

    Raises:
        FitError: if the log cannot be read or shows no motion.
    """
    need("sensor-fmus fit", "scipy")
    if len(logs) != 1:
        raise FitError(f"encoder takes one log, {len(logs)} are given")
    progress(0, 1)
    columns = read_columns(logs[0], WANTED, given)
    fit = fit_positions(columns)
    progress(1, 1)
    return fit


def fit_positions(columns: Columns) -> Fit:
    """An encoder from the columns of a log."""
    time, position = columns["time"], columns["position"]
    if len(position) < LEAST:
        raise FitError(f"{columns.path}: has {len(position)} rows, {LEAST} are needed at least")
    step = _whole(step_of(position, repeats=0.0))  # a code may be passed once
    unwrapped = np.unwrap(position)
    if not np.ptp(unwrapped) > 10.0 * step:
        raise FitError(
            f"{columns.path}: positions span {np.ptp(unwrapped):.4g} rad, ten steps at least are "
            "needed"
        )
    some = np.unique(np.linspace(0, len(time) - 1, min(len(time), MOST)).astype(np.int64))
    known = columns["reference"] if "reference" in columns else np.zeros_like(time)
    reading, known = unwrapped[some] - known[some], known[some]
    if "reference" in columns:
        reading = reading - math.tau * np.rint(np.median(reading) / math.tau)
        design = np.ones((len(some), 1))
    else:
        moment = (time[some] - time[some].mean()) / np.ptp(time)
        design = np.stack([np.ones(len(some)), moment], axis=1)
    noise, line, covariance = _noise(reading, design, step)
    estimates = [noise]
    if step > 0.0:
        estimates.append(Estimate("resolution", step, step, step, "rad", "step of the positions"))
    unknown = ["drift, limits, and errors within a turn: taken for noise"]
    if "reference" in columns:
        deviation = math.sqrt(float(covariance[0, 0]))
        estimates.append(normal_estimate("bias", float(line[0]), deviation, "rad", METHOD))
    else:
        unknown += [
            "bias: a steady motion does not show it, a column reference would",
            "noise.rms: holds what the motion is unsteady by",
        ]
    if step == 0.0:
        unknown.append("resolution: positions are on no grid, or pass over too many of its codes")
    rate = (len(time) - 1) / float(time[-1] - time[0])
    wraps = bool(np.any(np.abs(np.diff(position)) > math.pi))
    settings: dict[str, float | int | bool | str] = {"sample_rate": float(f"{rate:.6g}")}
    settings["mode"] = "incremental"
    if not wraps:
        unknown.append("mode, lower, upper: the log does not wrap; a turn from 0 stands here")
    codes = f", {math.tau / step:.9g} codes a turn" if step > 0.0 else ""
    figure = _figure(time[some], reading - design @ line, step)
    return Fit(
        "encoder",
        ("Encoder",),
        estimates,
        settings,
        unknown,
        [f"{len(time)} samples at {rate:.6g} Hz{codes}; {len(some)} of them count"],
        [figure],
    )


def _whole(step: float) -> float:
    """The step that divides a turn into whole codes, if that is what it is but for rounding."""
    if step == 0.0:
        return 0.0
    codes = math.tau / step
    return math.tau / round(codes) if abs(codes - round(codes)) < WHOLE else step


def _noise(reading: Floats, design: Floats, step: float) -> tuple[Estimate, Floats, Floats]:
    """Noise, the line under it and the covariance of that."""
    width = step
    if step == 0.0:  # readings themselves: codes so narrow that they do not matter
        p = np.linalg.lstsq(design, reading, rcond=None)[0]
        width = 1e-3 * float(np.std(reading - design @ p))
    codes = Censored(reading, reading + width, design)
    scales = codes.scales()
    best = scales.peak([scales.visible * share for share in (1.0, 0.1, 0.01)])
    low, high = scales.interval(best, 0)
    deviation = float(best.parameters[0])
    line, _, covariance = codes.solve(deviation)
    return Estimate("noise.rms", deviation, low, high, "rad", METHOD), line, covariance


def _figure(time: Floats, left: Floats, step: float) -> Figure:
    shown = slice(None, None, max(len(time) // 2000, 1))
    curves = [Curve("position less the line, or the reference", time[shown], left[shown])]
    if step > 0.0:
        ends = time[[0, -1]]
        curves.append(Curve("a code below", ends, np.full(2, -step), is_line=True))
    return Figure("encoder", "time, s", "rad", curves)
