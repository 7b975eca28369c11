r"""Noise, drift and temperature slope of accelerometer, gyroscope and magnetometer at rest.

Each axis: N, B and K by the largest likelihood (``slow_noise``), their intervals by its profile.
The drift of a sensor has one law for all its axes: a Gauss-Markov process, with one τ, stands in
the place of the random walk where it makes the data more likely by more than chance would (twice
the difference of logarithms beyond the 99 % quantile of χ² of one degree). τ is then the one that
is most likely for all axes together, and all intervals allow for that of τ.

N is the two-sided density, the Allan deviation that white noise has at 1 s; the one-sided density
of a spectrum is √2 N. Data sheets take for in-run bias stability the least Allan deviation, which
for flicker noise alone is 0.664 B; the summary has the least one of N, B and K together, too.

Rounding to codes adds the white noise step²/12 to each sample. It is known, so N is without it.

What lies above ``HIGHEST`` of the rate does not count: filters of chips shape it.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from sensor_models.inertial.allan import allan_deviation
from sensor_models.tools.fitting.drifts import Axis, Drift, correlated, scales, tried_drifts
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
from sensor_models.tools.fitting.slow_noise import Part, flicker, record_of, white
from sensor_models.tools.fitting.steps import step_of
from sensor_models.tools.fitting.tables import Wanted, need, read_columns

Progress = Callable[[int, int], None]

#: Highest frequency that counts, as a share of the rate.
HIGHEST = 0.1
#: Spread of temperatures from which on a slope is looked for, K.
LEAST_WARMING = 0.05
METHOD = "largest likelihood of the cosine transform, interval of its profile"
SLOPE_METHOD = "least squares with the covariance of the noise"

#: Names that others have for our columns.
_OTHERS: Mapping[str, tuple[str, ...]] = {
    "gyroscope": (
        "angular_rate.{a}", "angular_velocity.{a}", "angular_velocity_{a}", "gyro.{a}", "gyro_{a}",
        "gyr_{a}", "gyro{a}", "g{a}", "w{a}", "w_{a}", "omega_{a}", "w_rs_s_{a}",
    ),
    "accelerometer": (
        "acceleration.{a}", "linear_acceleration.{a}", "linear_acceleration_{a}", "acc.{a}",
        "accel.{a}", "accel_{a}", "acc_{a}", "acc{a}", "accel{a}", "a{a}", "a_{a}", "a_rs_s_{a}",
    ),
    "magnetometer": ("flux_density.{a}", "magnetic_field.{a}", "mag.{a}", "mag_{a}", "m{a}"),
}  # fmt: skip
_UNITS = {"gyroscope": "rad/s", "accelerometer": "m/s2", "magnetometer": "T"}
_TIME = Wanted("time", ("timestamp", "t", "stamp", "time_s", "seconds"))
_TEMPERATURE = Wanted("temperature", ("temp", "t_c", "temperature_c"), needed=False)


def wanted() -> list[Wanted]:
    """The columns of a still log."""
    axes = [
        Wanted(f"{part}.{axis}", tuple(name.format(a=axis) for name in names), needed=False)
        for part, names in _OTHERS.items()
        for axis in "xyz"
    ]
    return [_TIME, *axes, _TEMPERATURE]


def fit_imu(logs: Sequence[Path], given: Mapping[str, str], progress: Progress) -> Fit:
    """The noise of an IMU, or of one of its sensors, from one still log.

    Raises:
        FitError: if the log cannot be read, or is too short.
    """
    need("sensor-fmus fit", "scipy")
    if len(logs) != 1:
        raise FitError(f"imu takes one still log, {len(logs)} are given")
    columns = read_columns(logs[0], wanted(), given)
    axes = [name for name in columns.values if name[-2:] in (".x", ".y", ".z")]
    if not axes:
        raise FitError(
            f"{logs[0]}: there are no columns gyroscope.x or accelerometer.x or of other names for "
            "them; name yours: --column gyroscope.x=THEIRS"
        )
    names = [*axes, *(["temperature"] if "temperature" in columns else [])]
    sampled = steady(columns, names)
    still = [name for name in axes if np.ptp(sampled.values[name]) == 0.0]
    axes = [name for name in axes if name not in still]
    if not axes:
        raise FitError(f"{logs[0]}: {', '.join(still)} never change")
    parts = [part for part in _OTHERS if any(name.startswith(part) for name in axes)]
    fits = [
        fit_part(sampled, part, [a for a in axes if a.startswith(part)], progress) for part in parts
    ]
    return _together(sampled, parts, fits, still)


def _together(
    sampled: Sampled, parts: Sequence[str], fits: Sequence[Fit], still: Sequence[str]
) -> Fit:
    settings: dict[str, float | int | bool | str] = {"sample_rate": float(f"{sampled.rate:.6g}")}
    for fit in fits:
        settings.update(fit.settings)
    hours = sampled.duration / 3600.0
    return Fit(
        "imu",
        ("Imu", *(part.capitalize() for part in parts)),
        [estimate for fit in fits for estimate in fit.estimates],
        settings,
        [
            *(line for fit in fits for line in fit.unknown),
            *(f"{name}: never changes, so its noise is unknown" for name in still),
            f"drifts slower than the log of {hours:.3g} h, and what changes from one start to the "
            "next: not in these data",
            "bias, scale, misalignment, cross-axis effects, saturation, delay: a still log does "
            "not show them",
        ],
        [
            f"{sampled.duration:.6g} s at {sampled.rate:.6g} Hz",
            *sampled.notes,
            *(note for fit in fits for note in fit.notes),
            "noise.density is two-sided: the Allan deviation at 1 s of its white noise. The "
            "one-sided density of a spectrum is 1.41421 of it",
        ],
        [figure for fit in fits for figure in fit.figures],
    )


def axis_of(name: str, sampled: Sampled) -> Axis:
    """The record of one axis of a log."""
    values = sampled.values[name]
    regressors = []
    if "temperature" in sampled.values and np.ptp(sampled.values["temperature"]) > LEAST_WARMING:
        regressors = [sampled.values["temperature"]]
    record = record_of(values, sampled.rate, HIGHEST * sampled.rate, regressors)
    return Axis(name, record, (white(), flicker()), step_of(values))


def fit_part(sampled: Sampled, part: str, names: Sequence[str], progress: Progress) -> Fit:
    """All axes of one sensor."""
    axes = [axis_of(name, sampled) for name in names]
    progress(0, len(axes) + 1)
    tried = tried_drifts(axes)
    drift = max(tried, key=lambda each: each.value)
    estimates: list[Estimate] = []
    for place, axis in enumerate(axes):
        progress(place + 1, len(axes) + 1)
        estimates += _estimates(axis, place, tried, part)
    settings: dict[str, float | int | bool | str] = {f"{part}.noise.one_sided": False}
    unknown = []
    walking = len(tried) == 1
    if any(e.is_seen for e in estimates if ".drift." in e.name):
        settings[f"{part}.drift.type"] = "random_walk" if walking else "gauss_markov"
    if walking:
        unknown.append(
            f"{part}.drift.time_constant: a correlation time is not seen; a walk describes the "
            "drift as well"
        )
    else:
        each, peak = correlated(axes[0], 0, tried)
        interval = each.interval(peak, 3)
        name = f"{part}.drift.time_constant"
        tau = float(peak.parameters[3])
        estimates.append(Estimate(name, tau, *interval, "s", METHOD, may_be_absent=False))
    if any(axis.record.is_followed for axis in axes):
        warmth = float(np.mean(sampled.values["temperature"]))
        settings[f"{part}.reference_temperature"] = float(f"{warmth:.6g}")
    else:
        unknown.append(f"{part}.bias_temperature: the log has no temperature that changes")
    if any(axis.step > 0.0 for axis in axes):
        settings[f"{part}.discretization.on"] = True
        settings[f"{part}.discretization.mode"] = "round"
    notes, more = _remarks(sampled, part, axes, drift)
    figure = _figure(sampled, part, axes, drift, estimates)
    return Fit("imu", (), estimates, settings, [*unknown, *more], notes, [figure])


def _estimates(axis: Axis, index: int, tried: Sequence[Drift], part: str) -> list[Estimate]:
    """The numbers of one axis."""
    letter, unit = axis.name[-1], _UNITS[part]
    drift = max(tried, key=lambda one: one.value)
    walking = len(tried) == 1
    peak = drift.peaks[index]
    each, stretched = scales(axis, drift.part), axis.stretches(drift.part, peak.parameters)
    if not walking:
        each, peak = correlated(axis, index, tried)
    names = (
        ("noise.density", f"{unit}/sqrt(Hz)"),
        ("instability", unit),
        ("drift.walk", f"{unit}/sqrt(s)") if walking else ("drift.std", unit),
    )
    found = []
    for place, (name, of) in enumerate(names):
        low, high = each.interval(peak, place, float(stretched[place]))
        value = float(peak.parameters[place])
        found.append(Estimate(f"{part}.{name}.{letter}", value, low, high, of, METHOD))
    if axis.record.is_followed:
        slope, deviation = axis.noise(drift.part).coefficients(peak.parameters[:3])
        name = f"{part}.bias_temperature.{letter}"
        found.append(
            normal_estimate(name, float(slope[0]), float(deviation[0]), f"{unit}/K", SLOPE_METHOD)
        )
    if axis.step > 0.0:
        name = f"{part}.discretization.lsb.{letter}"
        found.append(Estimate(name, axis.step, axis.step, axis.step, unit, "step of the readings"))
    return found


def allan_of(parts: Sequence[Part], sizes: Floats, taus: Floats) -> Floats:
    """The Allan deviation of a model."""
    variances = [
        sum(s**2 * p.difference(float(tau)) for s, p in zip(sizes, parts, strict=True)) / 2.0
        for tau in taus
    ]
    return np.asarray(np.sqrt(variances))


def _remarks(
    sampled: Sampled, part: str, axes: Sequence[Axis], drift: Drift
) -> tuple[list[str], list[str]]:
    """Notes, and what is unknown, about all axes of a sensor."""
    notes, unknown = [], []
    taus = np.geomspace(10.0 / sampled.rate, 0.25 * sampled.duration, 200)
    for axis, peak in zip(axes, drift.peaks, strict=True):
        values = sampled.values[axis.name]
        curve = allan_of(axis.noise(drift.part).parts, peak.parameters, taus)
        least = int(np.argmin(curve))
        notes.append(
            f"{axis.name}: mean {values.mean():.6g}, least Allan deviation {curve[least]:.4g} "
            f"{_UNITS[part]} at {taus[least]:.3g} s (sheets: in-run bias stability)"
        )
        whole = values.std() ** 2
        white_alone = peak.parameters[0] ** 2 * sampled.rate + axis.step**2 / 12.0
        upper = float(np.mean(np.diff(values) ** 2)) / 2.0  # what moves from sample to sample
        share = upper / white_alone
        if not 0.8 < share < 1.25:
            unknown.append(
                f"{axis.name}: from sample to sample it moves by {math.sqrt(share):.2f} of what "
                f"white noise of noise.density up to {0.5 * sampled.rate:.4g} Hz would: the device "
                "filters, or has more noise at high frequencies; filter.cutoff and filter.noise "
                "are not fitted"
            )
        if axis.step > 0.0 and math.sqrt(whole) < 0.5 * axis.step:
            unknown.append(
                f"{axis.name}: the noise is less than half a step of {axis.step:.4g}, so that its "
                "rounding is not white; noise.density is not to be trusted"
            )
    if part == "gyroscope":
        notes.append("gyroscope means hold the rotation of the Earth, at most 7.29e-5 rad/s")
    return notes, unknown


def _figure(
    sampled: Sampled, part: str, axes: Sequence[Axis], drift: Drift, estimates: Sequence[Estimate]
) -> Figure:
    """Allan deviations of the log and of the fit."""
    slopes = {e.name: e.value for e in estimates if "bias_temperature" in e.name}
    taus = np.geomspace(1.0 / sampled.rate, 0.2 * sampled.duration, 40)
    curves = []
    for axis, peak in zip(axes, drift.peaks, strict=True):
        letter = axis.name[-1]
        values = sampled.values[axis.name]
        slope = slopes.get(f"{part}.bias_temperature.{letter}", 0.0)
        if slope:
            values = values - slope * sampled.values["temperature"]
        times, deviations = allan_deviation(values, sampled.rate, taus)
        curves.append(Curve(f"{letter}, log", times, deviations))
        parts = [*axis.noise(drift.part).parts, white()]
        sizes = np.append(peak.parameters, axis.step / math.sqrt(12.0 * sampled.rate))
        model = allan_of(parts, sizes, times)
        curves.append(Curve(f"{letter}, fit", times, model, is_line=True))
    return Figure(
        f"{part}: Allan deviation", "averaging time, s", _UNITS[part], curves, is_logarithmic=True
    )
