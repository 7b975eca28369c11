r"""The gamma distribution of shape a and scale 1: density, distribution and quantiles, compiled.

    density    p(x) = x^(a-1) e^-x / Γ(a)
    shares     P = share of draws up to x, Q = 1 - P: the regularised incomplete gamma functions
    quantile   the x with P(a, x) = u

P is summed as a series where x < a + 1, and Q taken as a continued fraction elsewhere, so that the
smaller one never is a difference (Abramowitz and Stegun, 6.5.29 and 6.5.31).

Quantile: Newton's method on ln P, or on ln Q for u above 0.9, over y = ln x. The density of y,
exp(a y - e^y)/Γ(a), is log-concave for every a > 0, so ln P and ln Q are concave in y: from the
lower side of ln P = ln u (the upper side for Q) the iteration goes to the root without ever
passing it. It starts there,

    from below   ln P <= a y - ln Γ(a+1)              for all a
    from above   Q <= e^-x                            for a <= 1

or at the approximation of Wilson and Hilferty (1931) where a >= 1, if that is closer. The result
has a relative error below 1e-11 for a from 1e-3 to 1e5.
"""

import math

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.normal_law import SHORTEST_TAIL
from sensor_models.kernels.math.normal_law import quantile as normal_quantile

#: Shares above this are inverted by their complement.
UPPER_TAIL = 0.9

#: Below e^LEADING_TERM, P is its leading term but for one part in 1e17.
LEADING_TERM = -40.0

#: Newton's method squares the error: what is left after such a step is below rounding.
LAST_STEP = 1e-9
MOST_STEPS = 100

TINY = 1e-300
ROUNDING = 2.0**-53


@njit(cache=True, error_model="numpy")
def density_over_logarithm(shape: float, x: float) -> float:
    """The density of ln x, which is x p(x)."""
    return math.exp(shape * math.log(x) - x - math.lgamma(shape))


@njit(cache=True, error_model="numpy")
def density(shape: float, x: float) -> float:
    """The density p(x); infinite at 0 for a shape below 1."""
    if x > 0.0:
        return float(density_over_logarithm(shape, x) / x)
    if x < 0.0 or shape > 1.0:
        return 0.0
    return 1.0 if shape == 1.0 else math.inf


@njit(cache=True, error_model="numpy")
def _lower_sum(shape: float, x: float) -> float:
    """P / x p(x), as a series."""
    term = total = 1.0 / shape
    while term > total * ROUNDING:
        shape += 1.0
        term *= x / shape
        total += term
    return total


@njit(cache=True, error_model="numpy")
def _upper_fraction(shape: float, x: float) -> float:
    """Q / x p(x), as a continued fraction, by the method of Lentz."""
    b = x + 1.0 - shape
    d = 1.0 / b
    c, product = 1.0 / TINY, d
    i, factor = 0.0, 0.0
    while abs(factor - 1.0) > 2.0 * ROUNDING:
        i += 1.0
        a = i * (shape - i)
        b += 2.0
        d, c = a * d + b, b + a / c
        d = 1.0 / (d if abs(d) > TINY else TINY)
        c = c if abs(c) > TINY else TINY
        factor = c * d
        product *= factor
    return product


@njit(cache=True, error_model="numpy")
def shares(shape: float, x: float) -> tuple[float, float]:
    """The shares P of draws up to x and Q of those above."""
    if x <= 0.0:
        return 0.0, 1.0
    if x == math.inf:
        return 1.0, 0.0
    weight = density_over_logarithm(shape, x)
    if x < shape + 1.0:
        lower = min(weight * _lower_sum(shape, x), 1.0)
        return lower, 1.0 - lower
    upper = min(weight * _upper_fraction(shape, x), 1.0)
    return 1.0 - upper, upper


@njit(cache=True, error_model="numpy")
def _logarithm_of_share(
    shape: float, log_gamma: float, y: float, upper: bool
) -> tuple[float, float]:
    """Logarithm of Q or P at x = e^y, and the size of its slope over y.

    A tail is not formed itself: its logarithm is there where it is too small to be a number.
    """
    x = math.exp(y)
    log_weight = shape * y - x - log_gamma
    in_tail = x >= shape + 1.0
    ratio = _upper_fraction(shape, x) if in_tail else _lower_sum(shape, x)
    if in_tail == upper:
        return log_weight + math.log(ratio), 1.0 / ratio
    weight = math.exp(log_weight)
    part = 1.0 - weight * ratio
    return math.log(part), weight / part


@njit(cache=True, error_model="numpy")
def _wilson_hilferty(shape: float, share: float) -> float:
    """The logarithm of a quantile, nearly; minus infinity where the approximation has none."""
    furthest = 0.5 - SHORTEST_TAIL
    z = normal_quantile(min(max(share - 0.5, -furthest), furthest))
    root = 1.0 - 1.0 / (9.0 * shape) + z / (3.0 * math.sqrt(shape))
    return math.log(shape) + 3.0 * math.log(root) if root > 0.0 else -math.inf


@njit(cache=True, error_model="numpy")
def quantile(shape: float, share: float) -> float:
    """The x that a draw stays below with the probability ``share``; NaN outside of [0, 1]."""
    if not (0.0 <= share <= 1.0 and shape > 0.0):
        return math.nan
    if share == 0.0:
        return 0.0
    if share == 1.0:
        return math.inf
    by_complement = share > UPPER_TAIL
    log_gamma = math.lgamma(shape)
    if by_complement:
        wanted = math.log1p(-share)
        y = _wilson_hilferty(shape, share) if shape >= 1.0 else math.log(-wanted)
    else:
        wanted = math.log(share)
        y = (wanted + log_gamma + math.log(shape)) / shape
        if y < LEADING_TERM:
            return math.exp(y)
        if shape >= 1.0:
            y = max(y, _wilson_hilferty(shape, share))
    for _ in range(MOST_STEPS):
        reached, slope = _logarithm_of_share(shape, log_gamma, y, by_complement)
        step = (reached - wanted) / (slope if by_complement else -slope)
        y += step
        if abs(step) < LAST_STEP:
            break
    return math.exp(y)
