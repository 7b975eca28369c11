r"""Variances of the noise of triaxial sensors, from their parameters.

    sigma^2 = k^2 (noise.rms^2 + noise.density^2 B) + q^2 / 12

q    the step between codes, ``discretization.lsb`` or that of ``discretization.bits``
k    the scale, ``scale`` (1 + ``scale_error``), which the noise goes through
B    the bandwidth of the noise: ``noise.bandwidth`` if that is given; else the sampling rate, and
     half of it where ``noise.one_sided``. Noise in front of a low-pass (``filter.noise``) has the
     bandwidth of that, two-sided pi f_c of the first order and pi f_c / sqrt(2) of the second, but
     at most that of the rate.

Only noise that differs from sample to sample is counted, as consumers of covariances take it: no
offsets, errors of scale, drift or bias instability. Without a sampling rate the share of a density
is not known, and nothing is said of that vector. The share of a low-pass is the one of continuous
time, which holds as long as its cutoff is well below the rate.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from sensor_models.core.spec import Group, scalars_of

AXES = "xyz"


def variances_of_noise(
    readings: Sequence[Group], values: Mapping[str, Any]
) -> dict[str, list[float]]:
    """The variances of the vectors among readings, by their names, from a sensor's parameters."""
    vectors = {
        name.rpartition(".")[0] for name, _, _ in scalars_of(readings) if name.endswith(".x")
    }
    found = {}
    for vector in vectors:
        # the parameters of a unit's sensors have their names in front, those of a sensor have none
        prefix = f"{vector}." if f"{vector}.noise.rms.x" in values else ""
        if f"{prefix}noise.rms.x" in values and (prefix or len(vectors) == 1):
            own = {n.removeprefix(prefix): v for n, v in values.items() if n.startswith(prefix)}
            variances = [_variance(own, axis, _number(values, "sample_rate")) for axis in AXES]
            if all(map(math.isfinite, variances)):
                found[vector] = variances
    return found


def _variance(own: Mapping[str, Any], axis: str, rate: float) -> float:
    """The variance of one axis; infinite if it is not known."""
    variance = _number(own, f"noise.rms.{axis}") ** 2
    if density := _number(own, f"noise.density.{axis}"):
        variance += density**2 * _bandwidth(own, rate)
    scale = float(own.get(f"scale.{axis}", 1.0)) * (1.0 + _number(own, f"scale_error.{axis}"))
    variance *= scale**2
    if own.get("discretization.on", False):
        variance += _step(own, axis) ** 2 / 12.0
    return variance


def _step(own: Mapping[str, Any], axis: str) -> float:
    """The step between codes, which may be given by their number of bits."""
    bits = int(_number(own, "discretization.bits"))
    if bits == 0:
        return _number(own, f"discretization.lsb.{axis}")
    lowest, highest = (_number(own, f"saturation.{end}.{axis}") for end in ("min", "max"))
    return (highest - lowest) / (2.0**bits - 1.0)


def _bandwidth(own: Mapping[str, Any], rate: float) -> float:
    if fixed := _number(own, "noise.bandwidth"):
        return fixed
    if rate == 0.0:
        return math.inf
    sides = 0.5 if own.get("noise.one_sided", False) else 1.0
    cutoff = _number(own, "filter.cutoff")
    if not own.get("filter.noise", False) or cutoff == 0.0:
        return sides * rate
    order = math.sqrt(2.0) if own.get("filter.order") == 2 else 1.0
    return sides * min(rate, math.pi * cutoff / order)


def _number(own: Mapping[str, Any], name: str) -> float:
    """A parameter; sensors from outside of the project may not have it."""
    return float(own.get(name, 0.0))
