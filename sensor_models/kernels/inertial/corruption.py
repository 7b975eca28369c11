r"""Error stages that all sensors share: drift within bounds, flicker noise, codes and limits.

Drift (CORR), x the state, n a normal draw, dt the time since the last sample:

    random walk      x <- x + K √dt n
    Gauss-Markov     x <- Φ x + σ √(1 - Φ²) n,   Φ = exp(-dt/τ), long-run standard deviation σ
    both             x <- m + q n with the mean m = Φ x and the spread q of the step

Both are exact in law for any dt. Bounds act on a step, after its mean was moved into them:

    truncated   m + q Φ_N^-1(a + u (b - a)), a = Φ_N((lo - m)/q), b = Φ_N((hi - m)/q): the law of
                a step under the condition that it stays inside; u is the word that n comes from
    reflect     folded back at the limits, as often as it takes
    pull        a step away from the middle shrinks by 1 - exp(-d/(0.1 w)), d the distance from m
                to the bounds and w their half-width, and is then cut off
    clamp       cut off

Flicker noise (bias instability B) is a sum of ``FLICKER_STATES`` Gauss-Markov processes with time
constants τ_i from 1 ms to 1e5 s, in equal ratios r, of the variance B² ln(r)/π each. The Allan
deviation of such a sum is level at B √(2 ln 2/π) = 0.664 B, which is what data sheets call bias
instability (IEEE Std 952-1997, annex C: the power density is B²/(2π f), two-sided). Between 0.1 s
and 1000 s it is level within 2.2 %. Fewer states would not be cheaper: eight use up two blocks of
four draws each (seven ripple by 4.2 %, six by 8 %).
A state contributes with the factor √(tanh(y)/y), y = dt/(2 τ_i). Sampled as it is, a state faster
than the sampling would fold all its variance into the band; a sensor averages over an interval.
With that factor the density at low frequencies, and so the Allan deviation, is the same at any
rate. The states start in their long-run law, so that the noise has no age.

Codes (22.4), with the code c = (x - anchor)/LSB, snapped to a whole number within 1e-9 and what
rounding may have moved it by: c is rounded toward zero, down, up, or to the nearest (halves away
from zero), x = anchor + LSB c.
Limits (22.5) are max(lo, min(x, hi)).

Deviation: the pull of the source is given for a bound ±b; w and the middle stand in for b and 0.
Not modelled: truncated steps are those of one dt, so a bounded walk depends on it near a bound.
"""

import math
import sys

import numpy as np

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.normal_law import SHORTEST_TAIL, distribution, quantile

#: Bound modes; ``sensor_models.inertial.corruption.BoundMode`` names them to the outside.
TRUNCATED, REFLECT, PULL, CLAMP = range(4)
#: Rounding modes; ``sensor_models.core.codes.RoundingMode`` names them to the outside.
TOWARD_ZERO, FLOOR, CEIL, ROUND = range(4)

FLICKER_STATES = 8
FASTEST_FLICKER = 1e-3
FLICKER_RATIO = 1e8 ** (1.0 / (FLICKER_STATES - 1))
#: Standard deviation of one state for B = 1.
FLICKER_WEIGHT = math.sqrt(math.log(FLICKER_RATIO) / math.pi)

#: No draw is further from its mean (the largest is 8.21), so no bound there has any effect.
OUT_OF_REACH = 9.0
#: Share of the half-width over which an outward step is pulled back.
PULL_SHARE = 0.1
#: Share of a code that a quotient may be off by rounding: 0.3 is code 3 of 0.1.
GUARD = 1e-9
#: Share of two numbers that their difference may be off by, and what it is divided to: with many
#: bits, or an anchor that is large against the step, that is more than the guard.
ROUNDING = 4.0 * sys.float_info.epsilon


@njit(cache=True)
def gauss_markov(dt: float, time_constant: float) -> tuple[float, float]:
    """The share of a state that is left after ``dt``, and the spread of its change, for σ = 1."""
    age = dt / time_constant
    return math.exp(-age), math.sqrt(-math.expm1(-2.0 * age))


@njit(cache=True)
def flicker_time_constant(state: int) -> float:
    """The time constant of one of the states of flicker noise."""
    return float(FASTEST_FLICKER * FLICKER_RATIO**state)


@njit(cache=True)
def flicker_gain(dt: float, time_constant: float) -> float:
    """With what factor a state of flicker noise counts when sampled every ``dt``, for B = 1."""
    half_age = 0.5 * dt / time_constant
    if half_age == 0.0:
        return FLICKER_WEIGHT
    return FLICKER_WEIGHT * math.sqrt(math.tanh(half_age) / half_age)


@njit(cache=True)
def clamp(value: float, lower: float, upper: float) -> float:
    """The value, or the limit that it exceeds; NaN stays."""
    if value < lower:
        return lower
    return upper if value > upper else value


@njit(cache=True, error_model="numpy")
def fold(value: float, lower: float, upper: float) -> float:
    """The value folded back at the limits until it lies between them."""
    if lower <= value <= upper:
        return value
    width = upper - lower
    if width == math.inf:
        return 2.0 * (lower if value < lower else upper) - value
    place = (value - lower) / (2.0 * width)
    if not abs(place) < math.inf:
        return lower  # next to no width
    place = 2.0 * (place - np.floor(place))
    # rounding may lead out of the limits again
    return float(clamp(lower + width * (place if place <= 1.0 else 2.0 - place), lower, upper))


@njit(cache=True, error_model="numpy")
def truncated_step(mean: float, spread: float, centred: float, lower: float, upper: float) -> float:
    """A draw of a normal law under the condition that it lies between the limits."""
    reach = OUT_OF_REACH * spread
    if mean - lower >= reach and upper - mean >= reach:
        return float(mean + spread * quantile(centred))
    below = distribution((lower - mean) / spread)
    up_to = distribution((upper - mean) / spread)
    share = below + (centred + 0.5) * (up_to - below) - 0.5
    # next to 1 the sum may be rounded to 1, whose quantile is infinite
    furthest = 0.5 - SHORTEST_TAIL
    step = spread * quantile(clamp(share, -furthest, furthest))
    return float(clamp(mean + step, lower, upper))


@njit(cache=True, error_model="numpy")
def pulled_step(mean: float, step: float, lower: float, upper: float) -> float:
    """A step that shrinks if it leads away from the middle, the more the nearer the limit."""
    half_width = 0.5 * (upper - lower)
    reach = PULL_SHARE * half_width
    if reach == 0.0:
        return lower
    from_middle = mean - (lower + half_width)
    if step * from_middle > 0.0:
        distance = half_width - abs(from_middle)
        step *= -math.expm1(-distance / reach)
    return float(clamp(mean + step, lower, upper))


@njit(cache=True)
def bounded_step(
    mode: int, mean: float, spread: float, centred: float, lower: float, upper: float
) -> float:
    """A step of a drift within its bounds; infinite bounds have no effect.

    Args:
        mode: one of the bound modes.
        mean: where the step leads on average.
        spread: standard deviation of the step.
        centred: uniform draw on (-1/2, 1/2).
        lower: lower bound.
        upper: upper bound, at least ``lower``.
    """
    mean = clamp(mean, lower, upper)
    if spread == 0.0:
        return float(mean)
    if mode == TRUNCATED:
        return float(truncated_step(mean, spread, centred, lower, upper))
    step = spread * quantile(centred)
    if mode == REFLECT:
        return float(fold(mean + step, lower, upper))
    if mode == PULL and upper - lower < math.inf:
        return float(pulled_step(mean, step, lower, upper))
    return float(clamp(mean + step, lower, upper))


@njit(cache=True, error_model="numpy")
def round_to_code(value: float, step: float, anchor: float, mode: int) -> float:
    """The value of the code that ``value`` becomes; unchanged if ``step`` is 0."""
    if step <= 0.0:
        return value
    code = (value - anchor) / step
    nearest = np.rint(code)
    if abs(code - nearest) <= GUARD + ROUNDING * (abs(value) + abs(anchor)) / step:
        code = nearest
    elif mode == TOWARD_ZERO:
        code = np.trunc(code)
    elif mode == FLOOR:
        code = np.floor(code)
    elif mode == CEIL:
        code = np.ceil(code)
    else:
        code = math.copysign(np.floor(abs(code) + 0.5), code)
    return float(anchor + step * code)
