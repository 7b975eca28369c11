"""Constant errors, codes and limits of what a receiver reports, in the words of other sensors.

Model: ``kernels.gnss.corruption``.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.codes import (
    NO_GRID,
    Grid,
    RoundingMode,
    bits_of_codes,
    bits_without_limits,
    grid_of_bits,
    legal_limits,
    rounding_mode,
)
from sensor_models.core.quantities import (
    NO_LIMIT,
    ParameterError,
    boolean,
    check,
    real,
)
from sensor_models.gnss.parameters import EAST_NORTH_UP
from sensor_models.kernels.gnss import corruption as kernel

_ZERO = (0.0, 0.0, 0.0)
_ANGLES = ("latitude", "longitude")
_RANGE = (0.5 * math.pi, math.pi)
_NONE = (NO_LIMIT, NO_LIMIT, NO_LIMIT)


class _Signal(NamedTuple):
    """One signal: the range that it has by itself, and what is set for it."""

    name: str
    unit: str
    own: float
    lsb: float
    lower: float
    upper: float


@dataclass(frozen=True)
class ReportErrors:
    """Errors of the reading; none by default."""

    bias_position: tuple[float, float, float] = real(
        _ZERO,
        "m",
        "Constant error of the position, whatever error.mode is",
        components=EAST_NORTH_UP,
        name="bias.position",
    )
    bias_velocity: tuple[float, float, float] = real(
        _ZERO,
        "m/s",
        "Constant error of the velocity, whatever error.mode is",
        components=EAST_NORTH_UP,
        name="bias.velocity",
    )
    discretization_on: bool = boolean(
        False, "Whether position and velocity are rounded to codes", name="discretization.on"
    )
    discretization_mode: RoundingMode = rounding_mode()
    discretization_lsb_angle: tuple[float, float] = real(
        (0.0, 0.0),
        "rad",
        "Step between codes, codes lie at its multiples; 0 for none",
        minimum=0.0,
        components=_ANGLES,
        name="discretization.lsb",
    )
    discretization_lsb_height: float = real(
        0.0,
        "m",
        "Step between codes of the height; 0 for none",
        minimum=0.0,
        name="discretization.lsb.height",
    )
    discretization_lsb_velocity: tuple[float, float, float] = real(
        _ZERO,
        "m/s",
        "Step between codes of the velocity; 0 for none",
        minimum=0.0,
        components=EAST_NORTH_UP,
        name="discretization.lsb.velocity",
    )
    discretization_bits: int = bits_of_codes()
    saturation_on: bool = boolean(
        False, "Whether what is reported is limited", name="saturation.on"
    )
    saturation_min_angle: tuple[float, float] = real(
        (-_RANGE[0], -_RANGE[1]),
        "rad",
        "Lowest reported value",
        components=_ANGLES,
        name="saturation.min",
    )
    saturation_max_angle: tuple[float, float] = real(
        _RANGE, "rad", "Highest reported value", components=_ANGLES, name="saturation.max"
    )
    saturation_min_height: float = real(
        -NO_LIMIT, "m", "Lowest reported height", name="saturation.min.height"
    )
    saturation_max_height: float = real(
        NO_LIMIT, "m", "Highest reported height", name="saturation.max.height"
    )
    saturation_min_velocity: tuple[float, float, float] = real(
        (-NO_LIMIT, -NO_LIMIT, -NO_LIMIT),
        "m/s",
        "Lowest reported velocity",
        components=EAST_NORTH_UP,
        name="saturation.min.velocity",
    )
    saturation_max_velocity: tuple[float, float, float] = real(
        _NONE,
        "m/s",
        "Highest reported velocity",
        components=EAST_NORTH_UP,
        name="saturation.max.velocity",
    )

    def __post_init__(self) -> None:
        check(self)
        signals = list(self._signals())
        if self.discretization_bits > 0 and any(signal.lsb for signal in signals):
            raise ParameterError(
                f"discretization.bits = {self.discretization_bits} and a discretization.lsb above 0"
                " exclude each other, allowed is one of them, with the other at 0"
            )
        for signal in signals:
            self._check_order(signal)
            self.limits(signal)

    def _check_order(self, signal: _Signal) -> None:
        if not signal.lower <= signal.upper:
            raise ParameterError(
                f"saturation.min.{signal.name} = {signal.lower} {signal.unit} is above"
                f" saturation.max.{signal.name} = {signal.upper} {signal.unit}, allowed is at most"
                " that"
            )

    def _signals(self) -> Iterator[_Signal]:
        """What is set for each signal, in the order of the kernels."""
        names = (*_ANGLES, "height", *(f"velocity.{axis}" for axis in EAST_NORTH_UP))
        units, own = ("rad",) * 2 + ("m",) + ("m/s",) * 3, (*_RANGE, NO_LIMIT, *_NONE)
        steps = (
            *self.discretization_lsb_angle,
            self.discretization_lsb_height,
            *self.discretization_lsb_velocity,
        )
        lower = (
            *self.saturation_min_angle,
            self.saturation_min_height,
            *self.saturation_min_velocity,
        )
        upper = (
            *self.saturation_max_angle,
            self.saturation_max_height,
            *self.saturation_max_velocity,
        )
        yield from map(_Signal, names, units, own, steps, lower, upper)

    def grid(self, signal: _Signal) -> Grid:
        """The codes of a signal."""
        if not self.discretization_on:
            return NO_GRID
        if self.discretization_bits == 0:
            return Grid(signal.lsb)
        lowest, highest = max(signal.lower, -signal.own), min(signal.upper, signal.own)
        if not -NO_LIMIT < lowest <= highest < NO_LIMIT:
            raise bits_without_limits(self.discretization_bits, signal.name)
        return grid_of_bits(lowest, highest, self.discretization_bits)

    def limits(self, signal: _Signal) -> tuple[float, float]:
        """The lowest and the highest report of a signal; codes, where there are codes."""
        lowest, highest = -signal.own, signal.own
        if self.saturation_on:
            lowest, highest = max(signal.lower, lowest), min(signal.upper, highest)
        names = (f"saturation.min.{signal.name}", f"saturation.max.{signal.name}")
        return legal_limits(lowest, highest, self.grid(signal), names)

    @property
    def limited(self) -> list[bool]:
        """Which signals have limits, which faults of the modes on, max and min need."""
        limits = map(self.limits, self._signals())
        return [lowest > -NO_LIMIT and highest < NO_LIMIT for lowest, highest in limits]

    def pack(self) -> NDArray[np.float64]:
        """The errors as the kernels take them."""
        packed = np.zeros(kernel.CORRUPTION_SIZE)
        offsets = (*self.bias_position, *self.bias_velocity)
        packed[kernel.OFFSET] = any(offsets)
        packed[kernel.ROUNDED] = self.discretization_on or self.saturation_on
        packed[kernel.OFFSETS : kernel.OFFSETS + len(offsets)] = offsets
        packed[kernel.ROUNDING_MODE] = self.discretization_mode
        for place, signal in enumerate(self._signals()):
            step, anchor = self.grid(signal)
            packed[kernel.STEPS + place], packed[kernel.ANCHORS + place] = step, anchor
            lowest, highest = self.limits(signal)
            packed[kernel.LOWEST + place], packed[kernel.HIGHEST + place] = lowest, highest
        return packed
