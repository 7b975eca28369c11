r"""Normal noise around a line, of which only the codes are known that it was rounded to.

A reading says that its value is between two limits l and u. With the expected value m = X p, and
noise of the standard deviation σ,

    ℓ(p, σ) = Σ ln(Φ((u - m)/σ) - Φ((l - m)/σ))

For a given σ it is concave in p, and Newton's method finds its peak. Where limits are far apart
against σ, that is all there is to know: codes that never change tell an upper bound of σ. Where
they are close together it becomes the density, and ℓ that of least squares.
"""

from dataclasses import dataclass

import numpy as np

from sensor_models.tools.fitting.estimates import Floats
from sensor_models.tools.fitting.likelihood import Scales

#: Newton's steps, and the change of what is expected, in deviations, that is small enough.
STEPS, SMALL = 30, 1e-6
#: Least probability of a code.
LEAST = 1e-300


@dataclass(frozen=True)
class Censored:
    """Codes with what is expected of them."""

    lower: Floats
    upper: Floats
    design: Floats  # X

    def log_likelihood(self, sizes: Floats) -> float:
        """The largest over p for a standard deviation."""
        return self.solve(float(sizes[0]))[1]

    def scales(self) -> Scales:
        """The likelihood of σ."""
        middle = 0.5 * (self.lower + self.upper)
        p = np.linalg.lstsq(self.design, middle, rcond=None)[0]
        spread = float(np.std(middle - self.design @ p))
        step = float(np.mean(self.upper - self.lower))
        return Scales(self.log_likelihood, np.array([max(spread, step)]))

    def solve(self, deviation: float) -> tuple[Floats, float, Floats]:
        """p, the logarithm of the likelihood there, and the covariance of p."""
        design = self.design
        p: Floats = np.asarray(
            np.linalg.lstsq(design, 0.5 * (self.lower + self.upper), rcond=None)[0], np.float64
        )
        value, gradient, bend = self._terms(p, deviation)
        for _ in range(STEPS):
            hessian = design.T @ (bend[:, None] * design)
            step = np.linalg.lstsq(hessian, design.T @ gradient, rcond=None)[0]
            size = 1.0
            while size > 1e-4:
                tried = self._terms(p + size * step, deviation)
                if tried[0] >= value:
                    break
                size *= 0.5
            else:
                break
            p = np.asarray(p + size * step, np.float64)
            value, gradient, bend = tried
            if float(np.max(np.abs(design @ step))) < SMALL * deviation:
                break
        covariance = np.linalg.pinv(design.T @ (bend[:, None] * design))
        return p, value, np.asarray(covariance, np.float64)

    def _terms(self, p: Floats, deviation: float) -> tuple[float, Floats, Floats]:
        """The sum, and for each reading the slope in m and minus the second derivative."""
        from scipy.special import log_ndtr

        middle = self.design @ p
        low, high = (self.lower - middle) / deviation, (self.upper - middle) / deviation
        turned = low > 0.0  # the same from the other side, where tails are small numbers
        a, b = np.where(turned, -high, low), np.where(turned, -low, high)
        log_b, log_a = log_ndtr(b), log_ndtr(a)
        log_p = log_b + np.log(-np.expm1(np.minimum(log_a - log_b, -LEAST)))
        scale = -0.5 * np.log(2.0 * np.pi)
        d_low = np.exp(np.clip(-0.5 * low**2 + scale - log_p, -700.0, 700.0))
        d_high = np.exp(np.clip(-0.5 * high**2 + scale - log_p, -700.0, 700.0))
        slope = (d_low - d_high) / deviation
        bend = slope**2 + (high * d_high - low * d_low) / deviation**2
        return float(np.sum(log_p)), slope, np.maximum(bend, 1e-12 / deviation**2)
