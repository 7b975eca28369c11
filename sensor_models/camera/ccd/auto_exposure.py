r"""Exposure that follows the light, frame by frame.

    t_{k+1} = t_k (target / y_k)^(1 - exp(-Δt / τ)),   from minimum to maximum

y_k is the level of frame k, its light as a share of full scale before anything is clipped, Δt the
time from its stamp to that of the next frame. Because y_k is proportional to t_k, the logarithm of
the exposure approaches its goal as a first-order lag does, never beyond it: 5 % of a change are
left after three time constants, whatever the rate of frames. The target is one of digital numbers,
so the share of the black level is taken off it before.

What was exposed otherwise, by the input or for the first frame, is where the next frame goes on
from. Without a frame before it, a frame gets the exposure that its own light asks for (``goal``).

Levels (``level_of``) are means over the picture. A sun in it is 200,000 times as bright as the sky
and would darken a picture to nothing, so the brightest hundredth of the pixels counts as bright as
the darkest of them; that changes no proportion to the light.

Source: PHYSICS-2, 36.
"""

import math
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sensor_models.core.quantities import ParameterError, boolean, check, choice, real

Floats = NDArray[np.float64]

#: The share of pixels, the brightest, that count no more than the darkest of them.
BRIGHTEST = 0.01
#: Of centre-weighted metering: the standard deviation of the weight, in half sides of the picture.
CENTRE = 0.5


class Metering(IntEnum):
    """Where in the picture its level is measured."""

    mean = 0
    centre_weighted = 1


@dataclass(frozen=True)
class AutoExposureParameters:
    """How the exposure follows the light."""

    on: bool = boolean(
        False,
        "The exposure follows the light where the input exposure is 0, from exposure_time on if "
        "that is given; without this, too, where exposure_time is 0",
    )
    target: float = real(
        0.18, "1", "Mean digital number that is aimed at, over the largest one; linear in light",
        minimum=1e-3, maximum=1.0,
    )  # fmt: skip
    time_constant: float = real(
        0.3, "s", "Time in which the exposure comes nearer by 1/e, in its logarithm; 0: at once",
        minimum=0.0,
    )  # fmt: skip
    # As low as may be: pictures of few pixels, each as large as a field of real ones, need it.
    minimum: float = real(1e-9, "s", "Least exposure", minimum=1e-9, maximum=3600.0)
    maximum: float = real(
        0.0, "s", "Greatest exposure; 0: 0.1 s with sensor.model emva, 10 s with relative",
        minimum=0.0, maximum=3600.0,
    )  # fmt: skip
    metering: Metering = choice(
        Metering.mean, "Where the level is measured: evenly, or most in the middle of the picture"
    )

    def __post_init__(self) -> None:
        check(self)


class Metered(NamedTuple):
    """A frame that was taken."""

    stamp: float  # s
    exposure: float  # s
    level: float  # of its light, without the black level


class AutoExposure:
    """The exposure of one frame after the other."""

    def __init__(
        self, own: AutoExposureParameters, black: float, usual_longest: float = 0.1
    ) -> None:
        """``black`` is the level of a dark picture, ``usual_longest`` the maximum if it is 0."""
        self._longest = own.maximum or usual_longest
        if own.minimum > self._longest:
            raise ParameterError(
                f"auto_exposure.minimum = {own.minimum} s is more than auto_exposure.maximum = "
                f"{self._longest} s: allowed is at most that"
            )
        if own.target <= black:
            raise ParameterError(
                f"auto_exposure.target = {own.target} is at or below the black level, which is "
                f"{black:.3g} of the largest digital number: raise the target or bit_depth, lower "
                "sensor.black_level, or give exposure_time"
            )
        self._own, self._target = own, own.target - black
        self._last: Metered | None = None

    def goal(self, rate: float) -> float:
        """The exposure that reaches the target with light of so much level per second."""
        return self._within(self._target / rate if rate > 0.0 else math.inf)

    def next(self, stamp: float) -> float | None:
        """The exposure of a frame at an instant; None if there was none before it."""
        if self._last is None:
            return None
        _, exposure, level = self._last
        tau = self._own.time_constant
        passed = max(stamp - self._last.stamp, 0.0)
        share = -math.expm1(-passed / tau) if tau > 0.0 else 1.0
        ratio = self._target / level if level > 0.0 else math.inf
        return self._within(exposure * ratio**share)

    def learn(self, taken: Metered) -> None:
        """Go on from a frame."""
        self._last = taken

    def _within(self, exposure: float) -> float:
        return min(max(exposure, self._own.minimum), self._longest)

    @property
    def state(self) -> Floats:
        """The frame before, (1, 3), or none, (0, 3)."""
        return np.array([self._last] if self._last else [], float).reshape(-1, 3)

    @state.setter
    def state(self, saved: ArrayLike) -> None:
        rows = np.array(saved, float)
        fits = rows.shape in ((0, 3), (1, 3)) and bool(np.isfinite(rows).all())
        if not fits or (rows[:, 1:] < 0.0).any():
            raise ParameterError("this is no state of an automatic exposure")
        self._last = Metered(*rows[0].tolist()) if len(rows) else None


def level_of(light: Floats, metering: Metering) -> float:
    """The level of a picture of light, (rows, columns); 0 if no pixel has any to tell."""
    known = np.isfinite(light)
    if not known.any():
        return 0.0
    bound = np.quantile(light[known], 1.0 - BRIGHTEST, method="higher")
    weights = known * _weights(light.shape, metering)
    capped = np.where(known, np.minimum(light, bound), 0.0)
    return float((weights * capped).sum() / weights.sum())


def _weights(shape: tuple[int, ...], metering: Metering) -> Any:
    if metering == Metering.mean:
        return 1.0
    down, across = (np.linspace(-1.0, 1.0, n + 2)[1:-1] / CENTRE for n in shape)
    return np.exp(-0.5 * (np.square(down)[:, None] + np.square(across)))
