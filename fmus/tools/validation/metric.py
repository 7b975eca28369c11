r"""Double Validation Metric: how far two distributions are apart in place, and in shape.

After Rosenberger (2023) and Elster (2023), whose theses were not at hand; this is the definition
used here. With the empirical distribution functions F of samples that were simulated (s) and
measured (m), and their quantile functions Q,

    d_bias = ∫₀¹ (Q_s(p) - Q_m(p)) dp                      the difference of the means
    d_CC   = ∫₀¹ |Q_s(p) - d_bias - Q_m(p)| dp             the area between F_s, shifted, and F_m

Both are in the unit of the samples. ``d_bias`` has a sign: above 0, the simulation reads more. The
second one is the area validation metric of the two after the bias is taken away; of two normal
distributions with deviations σ_s and σ_m it is √(2/π) |σ_s - σ_m|.
"""

from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fmus.tools.validation.rows import Distribution, factor_of

#: How many samples stand for a distribution of which only some quantiles or two moments are known.
DRAWN = 4000


def double_validation_metric(simulated: ArrayLike, measured: ArrayLike) -> tuple[float, float]:
    """``(d_bias, d_CC)`` of two sets of samples."""
    one, other = np.sort(np.ravel(simulated)), np.sort(np.ravel(measured))
    if not (one.size and other.size):
        raise ValueError("a distribution has no samples")
    # between these shares both quantile functions are constant
    shares = np.union1d(np.arange(1, one.size + 1) / one.size,
                        np.arange(1, other.size + 1) / other.size)  # fmt: skip
    widths = np.diff(shares, prepend=0.0)
    middles = shares - 0.5 * widths
    gaps = _quantiles(one, middles) - _quantiles(other, middles)
    bias = float(np.dot(widths, gaps))
    return bias, float(np.dot(widths, np.abs(gaps - bias)))


def _quantiles(samples: NDArray[np.float64], shares: NDArray[np.float64]) -> NDArray[np.float64]:
    places = np.minimum((shares * samples.size).astype(np.int64), samples.size - 1)
    return np.asarray(samples[places], np.float64)


def samples_of(distribution: Distribution) -> NDArray[np.float64]:
    """Samples that stand for a published distribution, in SI units.

    Between published quantiles the distribution function is taken as straight, from (0, 0) on;
    beyond the last one there is nothing.
    """
    factor = factor_of(distribution.unit)
    if distribution.samples:
        return np.asarray(distribution.samples) * factor
    shares = (np.arange(DRAWN) + 0.5) / DRAWN
    if distribution.normal is not None:
        mean, sigma = distribution.normal
        standard = NormalDist()
        return np.array([mean + sigma * standard.inv_cdf(share) for share in shares]) * factor
    known, values = np.transpose([(0.0, 0.0), *distribution.quantiles])
    drawn: NDArray[np.float64] = np.interp(shares[shares <= known[-1]], known, values)
    return drawn * factor
