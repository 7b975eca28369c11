"""What data contradict in a preset: its numbers that lie outside of the intervals of a fit.

Numbers are compared as the sensor takes them: a one-sided noise density of the preset is divided by
√2, one of a fixed bandwidth becomes that of the rate, and what the preset does not name has its
default.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sensor_models import catalog
from sensor_models.core.spec import scalars_of
from sensor_models.presets import Preset
from sensor_models.tools.fitting.estimates import Estimate, Fit, FitError


@dataclass(frozen=True)
class Comparison:
    """One number of the preset beside that of the fit."""

    estimate: Estimate
    preset: float

    @property
    def contradicted(self) -> bool:
        """Whether the number of the preset is outside of the interval."""
        low, high = self.estimate.low, self.estimate.high
        slack = 1e-9 * max(abs(low), abs(self.preset)) if self.estimate.is_exact else 0.0
        return not low - slack <= self.preset <= high + slack

    def shown(self) -> str:
        """A line: what the preset has, what the data say, and by how much they differ."""
        unit = "" if self.estimate.unit == "1" else f" {self.estimate.unit}"
        verdict = "agrees"
        if self.contradicted:
            verdict = "CONTRADICTED"
            if self.preset and self.estimate.value / self.preset > 0.0:
                verdict += f", data {self.estimate.value / self.preset:.3g} times as large"
            half = 0.5 * (self.estimate.high - self.estimate.low)
            if 0.0 < half < math.inf:
                away = abs(self.preset - self.estimate.value) / half
                verdict += f", off by {away:.3g} half intervals"
        return (
            f"{self.estimate.name}: preset {self.preset:.4g}{unit}, data {self.estimate.shown()}: "
            f"{verdict}"
        )


def compare(fit: Fit, preset: Preset) -> list[Comparison]:
    """All numbers that the fit and the sensor both have.

    Raises:
        FitError: if the preset is for another sensor.
    """
    sensor = next((name for name in preset.sensors if name in fit.sensors), None)
    if sensor is None:
        raise FitError(
            f"the preset {preset.name} is for {', '.join(preset.sensors)}, the data are of "
            f"{', '.join(fit.sensors)}"
        )
    whole = fit.sensors[0]
    prefix = "" if sensor == whole else f"{sensor.lower()}."
    defaults = {
        name: value
        for name, quantity, value in scalars_of(catalog.spec_of(sensor).all_parameters)
        if quantity.kind in ("real", "integer")
    }
    given = preset.parameters_of(sensor)
    return list(_compared(fit, prefix, defaults, given))


def _compared(
    fit: Fit, prefix: str, defaults: Mapping[str, object], given: Mapping[str, object]
) -> Iterator[Comparison]:
    for estimate in fit.estimates:
        if not estimate.is_parameter or not estimate.name.startswith(prefix):
            continue
        name = estimate.name.removeprefix(prefix)
        if name not in defaults:
            continue
        value = given.get(name, defaults[name])
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            yield Comparison(estimate, _as_taken(name, float(value), fit, given))


def _as_taken(name: str, value: float, fit: Fit, given: Mapping[str, object]) -> float:
    """The number of a preset in the convention of the fit."""
    group, found, _ = name.rpartition("noise.density")
    if not found:
        return value
    bandwidth = given.get(f"{group}noise.bandwidth", 0.0)
    rate = fit.settings.get("sample_rate", 0.0)
    if isinstance(bandwidth, (int, float)) and bandwidth and isinstance(rate, (int, float)):
        return value * math.sqrt(bandwidth / rate)
    return value / math.sqrt(2.0) if given.get(f"{group}noise.one_sided", False) else value
