"""What a fit has found: estimates with intervals, curves to be drawn, and what stays unknown."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: The share of all intervals that hold the true value.
CONFIDENCE = 0.95
#: Standard deviations to each side of a normal law that hold this share.
NORMAL_QUANTILE = 1.959963984540054


class FitError(ValueError):
    """Data from which nothing can be estimated; the message says which, and what is there."""


@dataclass(frozen=True)
class Estimate:
    """One number, with the interval that holds the true one in 95 % of all cases."""

    name: str  # of the parameter, as the sensor has it; of something else if it is no parameter
    value: float
    low: float
    high: float
    unit: str
    method: str
    #: Whether the sensor has a parameter of this name.
    is_parameter: bool = True
    #: Whether 0 means that the effect is not there.
    may_be_absent: bool = True

    @property
    def is_seen(self) -> bool:
        """Whether the data show it: the interval is away from 0, or nothing is open."""
        return self.is_exact or not self.may_be_absent or not self.low <= 0.0 <= self.high

    @property
    def is_exact(self) -> bool:
        """Whether the data leave nothing open, as with the step of codes."""
        return self.low == self.value == self.high

    def shown(self, digits: int = 4) -> str:
        """Value and interval as a text; an upper bound where it is not seen."""
        unit = f" {self.unit}" if self.unit not in ("", "1") else ""
        if self.is_exact:
            return f"{self.value:.9g}{unit}"
        if self.low == 0.0 and self.may_be_absent:
            return f"not seen, at most {self.high:.{digits}g}{unit}"
        if math.isinf(self.high):
            return f"more than {self.low:.{digits}g}{unit}"
        if math.isinf(self.low):
            return f"less than {self.high:.{digits}g}{unit}"
        return f"{self.value:.{digits}g} [{self.low:.{digits}g}, {self.high:.{digits}g}]{unit}"


@dataclass(frozen=True)
class Curve:
    """Points, or a line, in one of the figures of a report."""

    label: str
    x: Floats
    y: Floats
    is_line: bool = False
    #: Half the length of error bars; empty for none.
    spread: Floats = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True)
class Figure:
    """Axes with curves."""

    title: str
    x_label: str
    y_label: str
    curves: Sequence[Curve]
    is_logarithmic: bool = False


@dataclass(frozen=True)
class Fit:
    """All that was found about one sensor."""

    kind: str
    sensors: tuple[str, ...]  # whole and parts, as in a preset
    estimates: Sequence[Estimate]
    #: Parameters that follow from the kind of data, with no interval: rates, choices, files.
    settings: Mapping[str, float | int | bool | str] = field(default_factory=dict)
    #: What the data cannot tell, as a preset lists it.
    unknown: Sequence[str] = ()
    #: What the reader of the summary should know besides.
    notes: Sequence[str] = ()
    figures: Sequence[Figure] = ()
    #: Files beside the preset that settings name: contents by name.
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def by_name(self) -> dict[str, Estimate]:
        """The estimates by their names."""
        return {estimate.name: estimate for estimate in self.estimates}


def normal_estimate(
    name: str,
    value: float,
    deviation: float,
    unit: str,
    method: str,
    *,
    is_parameter: bool = True,
) -> Estimate:
    """An estimate whose error has a normal law of a known standard deviation."""
    reach = NORMAL_QUANTILE * deviation
    return Estimate(name, value, value - reach, value + reach, unit, method, is_parameter)
