r"""Largest likelihood, and intervals from its profile.

With ℓ(θ) the logarithm of the likelihood, and ℓ_p(x) its largest value with one of the parameters
held at x, the interval of that parameter is where

    2 (ℓ(θ̂) - ℓ_p(x)) <= 3.841

the 95 % quantile of the χ² law of one degree (Wilks). It follows the skew that estimates from few
degrees of freedom have, needs no second derivatives, and may end at 0: then the data do not show
that the effect is there, and give an upper bound alone.

Parameters that cannot be negative are scales: standard deviations or densities. The search is over
their logarithms, down to ``INVISIBLE`` of what the caller says is visible, which counts as 0.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sensor_models.tools.fitting.estimates import Floats

#: 95 % quantile of the χ² law of one degree of freedom.
THRESHOLD = 3.841458820694124
#: Share of its own scale at which a parameter has no effect.
INVISIBLE = 1e-4
#: How far above its scale a parameter is looked for.
LARGEST = 1e4
#: Steps of the search for the ends of an interval, of the logarithm: the first, and the last.
FIRST_STEP, FINEST_STEP = 0.02, 1e-4
#: How close to the threshold is close enough.
FINEST_EXCESS = 0.01

#: The logarithm of the likelihood of parameters.
LogLikelihood = Callable[[Floats], float]


@dataclass(frozen=True)
class Peak:
    """Where a likelihood is largest."""

    parameters: Floats
    value: float


@dataclass(frozen=True)
class Scales:
    """The likelihood of parameters that are scales, and where each of them becomes visible."""

    log_likelihood: LogLikelihood
    visible: Floats

    def peak(self, starts: Sequence[Floats]) -> Peak:
        """The largest value that is found from several starts."""
        found = [self._climb(start, {}) for start in starts]
        return max(found, key=lambda peak: peak.value)

    def interval(self, best: Peak, place: int, stretch: float = 1.0) -> tuple[float, float]:
        """The interval of one parameter; 0 at its lower end if it is not seen.

        Few data stretch the threshold (``bartlett``).
        """

        def excess(logarithm: float, start: list[Floats]) -> float:
            peak = self._climb(start[0], {place: logarithm})
            start[0] = peak.parameters
            return 2.0 * (best.value - peak.value) / stretch - THRESHOLD

        bottom, top = self._bounds(place)
        middle = min(max(math.log(max(best.parameters[place], 1e-300)), bottom), top)
        low = _crossing(excess, middle, bottom, best.parameters)
        high = _crossing(excess, middle, top, best.parameters)
        return (0.0 if low is None else math.exp(low)), (
            math.inf if high is None else math.exp(high)
        )

    def _bounds(self, place: int) -> tuple[float, float]:
        scale = float(self.visible[place])
        return math.log(INVISIBLE * scale), math.log(LARGEST * scale)

    def _climb(self, start: Floats, held: dict[int, float]) -> Peak:
        """The largest value near a start, with some parameters held at their logarithms."""
        from scipy.optimize import minimize

        free = [i for i in range(len(self.visible)) if i not in held]
        logarithms = np.log(np.maximum(start, INVISIBLE * self.visible))
        for place, logarithm in held.items():
            logarithms[place] = logarithm

        def parameters(values: Floats) -> Floats:
            logarithms[free] = values
            return np.exp(logarithms)

        if not free:
            whole = parameters(np.zeros(0))
            return Peak(whole, self.log_likelihood(whole))
        bounds = [self._bounds(i) for i in free]
        begin = np.clip(logarithms[free], [b[0] for b in bounds], [b[1] for b in bounds])
        found = minimize(
            lambda values: -self.log_likelihood(parameters(values)),
            begin,
            method="L-BFGS-B",
            bounds=bounds,
            options={"ftol": 1e-12, "gtol": 1e-5, "maxiter": 200},
        )
        return Peak(parameters(found.x).copy(), -float(found.fun))


def _crossing(
    excess: Callable[[float, list[Floats]], float], middle: float, end: float, start: Floats
) -> float | None:
    """Where the profile crosses the threshold between the middle and an end; None: nowhere."""
    warm = [start]
    step = FIRST_STEP if end > middle else -FIRST_STEP
    inner, below = middle, -THRESHOLD
    while (end - inner) * step > 0.0:
        outer = min(inner + step, end) if step > 0.0 else max(inner + step, end)
        above = excess(outer, warm)
        if above > 0.0:
            return _between(lambda x: excess(x, warm), (inner, below), (outer, above))
        inner, below, step = outer, above, 2.0 * step
    return None


def _between(
    excess: Callable[[float], float], inside: tuple[float, float], outside: tuple[float, float]
) -> float:
    """The crossing between a place below 0 and one above; the square root of what is is a line."""
    while abs(outside[0] - inside[0]) > FINEST_STEP:
        roots = [math.sqrt(max(value + THRESHOLD, 0.0)) for _, value in (inside, outside)]
        share = (math.sqrt(THRESHOLD) - roots[0]) / max(roots[1] - roots[0], 1e-9)
        share = min(max(share, 0.1), 0.9)
        place = inside[0] + share * (outside[0] - inside[0])
        value = excess(place)
        if abs(value) < FINEST_EXCESS:
            return place
        if value > 0.0:
            outside = place, value
        else:
            inside = place, value
    return 0.5 * (inside[0] + outside[0])
