"""What encoder and odometer have in common of their errors, in the words of the triaxial sensors.

Model: ``kernels.wheel.errors``.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.quantities import NO_LIMIT, ParameterError, boolean, check, real
from sensor_models.kernels.wheel import errors as kernel


@dataclass(frozen=True)
class SignalErrors:
    """Zero offset, drift and limits of a signal whose unit is ``UNIT``; none by default."""

    UNIT: ClassVar[str] = "1"

    bias: float = real(0.0, "{u}", "Zero offset of the signal")
    drift_walk: float = real(
        0.0,
        "{u}/sqrt(s)",
        "Growth of the random walk: its standard deviation after 1 s",
        minimum=0.0,
        name="drift.walk",
    )
    drift_bound: float = real(
        0.0,
        "{u}",
        "Magnitude that the random walk does not exceed, 0 for none",
        minimum=0.0,
        name="drift.bound",
    )
    saturation_on: bool = boolean(
        False, "Whether what is reported is limited", name="saturation.on"
    )
    saturation_min: float = real(-NO_LIMIT, "{u}", "Lowest reported value", name="saturation.min")
    saturation_max: float = real(NO_LIMIT, "{u}", "Highest reported value", name="saturation.max")

    def __post_init__(self) -> None:
        check(self)
        if not self.saturation_min <= self.saturation_max:
            raise ParameterError(
                f"saturation.min = {self.saturation_min} {self.UNIT} is above saturation.max ="
                f" {self.saturation_max} {self.UNIT}, allowed is saturation.min <= saturation.max"
            )


@dataclass(frozen=True)
class AngleErrors(SignalErrors):
    """Those of an encoder; m for a linear one."""

    UNIT: ClassVar[str] = "rad"


@dataclass(frozen=True)
class DistanceErrors(SignalErrors):
    """Those of an odometer."""

    UNIT: ClassVar[str] = "m"


def pack_errors(
    errors: SignalErrors, lowest: float = -NO_LIMIT, highest: float = NO_LIMIT
) -> NDArray[np.float64]:
    """Errors as the kernels take them; the signal itself lies between two limits, if it has any."""
    packed = np.zeros(kernel.ERRORS_SIZE)
    packed[kernel.BIAS] = errors.bias
    packed[kernel.WALK] = errors.drift_walk
    packed[kernel.BOUND] = errors.drift_bound or math.inf
    packed[kernel.LIMITED] = errors.saturation_on
    packed[kernel.LOWEST], packed[kernel.HIGHEST] = lowest, highest
    if errors.saturation_on:
        for place in (kernel.LOWEST, kernel.HIGHEST):
            packed[place] = min(max(packed[place], errors.saturation_min), errors.saturation_max)
    return packed
