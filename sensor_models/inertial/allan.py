r"""Allan deviation: which error of a sensor dominates over which averaging time.

Overlapping estimator (IEEE Std 952-1997, annex C; Riley, NIST SP 1065, section 5.2.2). With the
integral x of the readings, sampled at τ0, and τ = m τ0,

    σ²(τ) = 1 / (2 τ² (N - 2m)) Σ_{k=0}^{N-2m-1} (x_{k+2m} - 2 x_{k+m} + x_k)²

White noise of density N shows as N/√τ, a random walk of density K as K √(τ/3), flicker noise of
bias instability B as the flat 0.664 B.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Height of the flat part for a bias instability of 1: √(2 ln 2 / π).
FLOOR = float(np.sqrt(2.0 * np.log(2.0) / np.pi))


def allan_deviation(
    readings: ArrayLike, rate: float, taus: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Averaging times that the record is long enough for, and the deviation at each.

    Args:
        readings: Samples of one axis, equally spaced.
        rate: Samples per second.
        taus: Averaging times in s; each is rounded to whole samples, and given once.
    """
    samples = np.asarray(readings, np.float64)
    integral = np.concatenate(([0.0], np.cumsum(samples - samples.mean()))) / rate
    counts = np.unique(np.rint(np.asarray(taus, np.float64) * rate).astype(np.int64))
    counts = counts[(counts >= 1) & (2 * counts < len(integral) - 1)]
    deviations = [_deviation(integral, int(m), rate) for m in counts]
    return counts / rate, np.array(deviations)


def _deviation(integral: NDArray[np.float64], m: int, rate: float) -> float:
    differences = integral[2 * m :] - 2.0 * integral[m:-m] + integral[: -2 * m]
    tau = m / rate
    return float(np.sqrt(np.mean(differences**2) / 2.0) / tau)
