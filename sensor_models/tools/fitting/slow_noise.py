r"""The likelihood of a long record of a still sensor: white noise, flicker noise and drifts.

With the two-sided power densities of the parts

    white         N²                          N: Allan deviation at 1 s
    flicker       B²/(2π f)                   B: bias instability, Allan deviation √(2 ln 2/π) B
    walk          K²/(2π f)²                  K: growth of a random walk, per √s
    Gauss-Markov  2 σ² τ/(1 + (2π f τ)²)      σ: its standard deviation, τ: its correlation time

(IEEE Std 952-1997, annex C) and their sum S(f), a record of n samples x over the time D is looked
at through its cosine transform

    y_k = √(2/n)/√rate Σ_i x_i cos(π k (i + 1/2)/n),   f_k = k/(2 D),   k = 1, 2, ..

The y_k of white noise and of a random walk have the variances S(f_k) and are independent: no
window is needed, nothing leaks, and the mean of the record, the only thing that k = 0 holds, drops
out. The two other parts have in addition, for the same reason that a record has ends, covariances
between y_j and y_k where j + k is even. With a = π j, b = π k, λ = D/τ:

    flicker       -4 B² D/π (ln(b/a) + Ci a - Ci b)/(b² - a²)
                  -2 B² D/π ((1 - (-1)^k)/a² - (Si a - π/2)/a)       for j = k
    Gauss-Markov  -4 σ² D λ² (1 - (-1)^k e^(-λ))/((λ² + a²)(λ² + b²))

**Slow**: the first ``SLOWEST`` of them. The likelihood is the exact one of a normal law with this
covariance, which falls apart into that of the even and that of the odd ones.

**Fast**: all others up to the frequency up to which the model holds. There covariances are as
small as 1/k of the variances and do not count, and in a bin of ν of them with the mean square P

    ℓ = -ν/2 (ln S + P/S)

Each y_k counts once, in one of the two.

What is known to be proportional to a parameter, such as temperature times its coefficient, is
taken out by generalised least squares with the same covariances. Its estimate is as exact as the
noise allows, with the standard deviation of that law. The likelihood is then the restricted one
(Patterson and Thompson, 1971), as a slope takes a part of the slow noise with it.

Source: Strang, The Discrete Cosine Transform (1999), for the walk: its differences are white, and
the cosines are the eigenvectors of second differences with free ends. The covariances of the other
two are the double integrals of e^(-|s-t|/τ) over two cosines, and of that over λ for flicker noise,
-ln|t| = ∫ (e^(-λ|t|) - e^(-λ)) dλ/λ. Deviation: flicker noise is that of continuous time, as it is
sampled far faster than it moves; a walk and a Gauss-Markov process are those of their samples.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sensor_models.tools.fitting.bartlett import Traces, traces_of
from sensor_models.tools.fitting.estimates import FitError, Floats

#: Cosines whose covariances count: an even number.
SLOWEST = 128
#: Bins of the others in an octave.
BINS = 12
#: Samples that are needed for anything.
LEAST_SAMPLES = 256


@dataclass(frozen=True)
class Record:
    """A long record in the form that likelihoods are computed from.

    Readings are the first column, what they follow besides the further ones.
    """

    rate: float
    duration: float
    slow: Floats  # a row for each of the slowest cosines, from k = 1 on
    frequencies: Floats  # of the bins of the others
    products: Floats  # of the columns with one another, mean of each bin
    counts: Floats  # how many cosines are in each bin

    @property
    def is_followed(self) -> bool:
        """Whether the readings follow something that is known."""
        return bool(self.slow.shape[1] > 1)


def record_of(
    readings: Floats, rate: float, highest: float, regressors: Sequence[Floats] = ()
) -> Record:
    """Reduce equally spaced readings.

    Args:
        readings: of one axis.
        rate: samples a second.
        highest: frequency up to which the noise is that of the model, Hz.
        regressors: what the readings follow besides, sample by sample.
    """
    n = len(readings)
    if n < LEAST_SAMPLES:
        raise FitError(f"{n} samples are too few, at least {LEAST_SAMPLES} are needed")
    last = min(int(2.0 * highest * n / rate), n - 1)
    columns = np.stack([_cosines(np.asarray(c), last) for c in (readings, *regressors)], axis=1)
    columns /= math.sqrt(rate)
    slowest = min(SLOWEST, last - last % 2)
    return Record(rate, n / rate, columns[:slowest], *_binned(columns, slowest, 0.5 * rate / n))


def _cosines(values: Floats, last: int) -> Floats:
    """The cosine transform of unit length without its mean."""
    from scipy.fft import dct

    return np.asarray(dct(values - values.mean(), norm="ortho")[1 : last + 1], np.float64)


def _binned(columns: Floats, first: int, spacing: float) -> tuple[Floats, Floats, Floats]:
    """Frequencies, products and counts of cosines in bins of equal ratio of frequencies."""
    width = columns.shape[1]
    last = len(columns)
    if last <= first:
        return np.zeros(0), np.zeros((0, width, width)), np.zeros(0)
    bins = 2 + int(BINS * math.log2((last + 1) / (first + 1)))
    edges = np.unique(np.rint(np.geomspace(first, last, bins)).astype(np.int64))
    counts = np.diff(edges).astype(np.float64)
    products = columns[:, :, None] * columns[:, None, :]
    sums = np.add.reduceat(products, edges[:-1], axis=0)
    middles = np.add.reduceat(spacing * np.arange(1.0, last + 1.0), edges[:-1])
    return middles / counts, sums / counts[:, None, None], counts


@dataclass(frozen=True)
class Part:
    """A part of the noise, for the size 1."""

    name: str
    density: Callable[[Floats, float], Floats]
    #: Variance of the difference of two neighbouring means over a time in s.
    difference: Callable[[float], float]
    #: Covariances between cosines beyond the variances that the density gives them, by two arrays
    #: of k with j + k even and the duration of the record; None for none.
    ends: Callable[[Floats, Floats, float], Floats] | None = None

    def covariances(self, record: Record) -> Floats:
        """Covariances of the slowest cosines: of those with odd k, and of those with even k."""
        k = np.arange(1.0, len(record.slow) + 1.0).reshape(-1, 2).T
        variances = self.density(k / (2.0 * record.duration), record.rate)
        found = variances[:, :, None] * np.eye(k.shape[1])
        if self.ends is not None:
            found += self.ends(k[:, :, None], k[:, None, :], record.duration)
        return np.asarray(found)


def white() -> Part:
    """White noise of density N."""
    return Part("white", lambda f, _: np.ones_like(f), lambda t: 2.0 / t)


def _flicker_ends(j: Floats, k: Floats, duration: float) -> Floats:
    from scipy.special import sici

    a, b = np.pi * j, np.pi * k
    same = j == k
    apart = np.where(same, 1.0, b * b - a * a)
    beside = (np.log(b / a) + sici(a)[1] - sici(b)[1]) / apart
    itself = (k % 2.0) / (a * a) - (sici(a)[0] - 0.5 * np.pi) / (2.0 * a)
    return np.asarray(-4.0 * duration / np.pi * np.where(same, itself, beside))


def flicker() -> Part:
    """Flicker noise of bias instability B."""
    level = 4.0 * math.log(2.0) / math.pi
    return Part("flicker", lambda f, _: 1.0 / (math.tau * f), lambda _: level, _flicker_ends)


def walk() -> Part:
    """A random walk of growth K, sampled."""

    def density(f: Floats, rate: float) -> Floats:
        return 1.0 / (2.0 * rate * np.sin(np.pi * f / rate)) ** 2

    return Part("walk", density, lambda t: 2.0 * t / 3.0)


def gauss_markov(time_constant: float) -> Part:
    """A Gauss-Markov process of standard deviation 1, sampled."""

    def density(f: Floats, rate: float) -> Floats:
        kept = math.exp(-1.0 / (rate * time_constant))
        fresh = -math.expm1(-2.0 / (rate * time_constant))
        apart = (1.0 - kept) ** 2 + 4.0 * kept * np.sin(np.pi * f / rate) ** 2
        return fresh / (rate * apart)

    def difference(t: float) -> float:
        u = t / time_constant
        g = [-(v + math.expm1(-v)) for v in (0.0, u, 2.0 * u)]
        return (2.0 * g[2] - 8.0 * g[1] + 6.0 * g[0]) / u**2

    def ends(j: Floats, k: Floats, duration: float) -> Floats:
        u = duration / time_constant
        both = (u * u + (np.pi * j) ** 2) * (u * u + (np.pi * k) ** 2)
        returned = 1.0 - (1.0 - 2.0 * (k % 2.0)) * math.exp(-u)
        return np.asarray(-4.0 * duration * u * u * returned / both)

    return Part("gauss_markov", density, difference, ends)


@dataclass(frozen=True)
class SlowNoise:
    """The likelihood of a record under a sum of parts, by the sizes of these."""

    record: Record
    parts: Sequence[Part]
    #: White density that is known to be there besides, such as that of codes: N².
    known: float = 0.0

    def __post_init__(self) -> None:
        record = self.record
        rows = np.array([part.covariances(record) for part in self.parts])
        object.__setattr__(self, "_covariances", rows)
        densities = [part.density(record.frequencies, record.rate) for part in self.parts]
        object.__setattr__(self, "_densities", np.array(densities))

    def density(self, sizes: Floats) -> Floats:
        """The density of the model in each bin."""
        densities: Floats = self._densities  # type: ignore[attr-defined]
        return np.asarray(sizes**2 @ densities + self.known)

    def _factors(self, sizes: Floats) -> Floats:
        """The factors of the covariances of the slowest cosines, of odd ones and of even ones."""
        covariances: Floats = self._covariances  # type: ignore[attr-defined]
        matrices = np.tensordot(sizes**2, covariances, 1)
        matrices += self.known * np.eye(matrices.shape[-1])
        return np.asarray(np.linalg.cholesky(matrices))

    def _whitened(self, sizes: Floats) -> tuple[float, Floats]:
        """The determinant, as a logarithm, and products of all columns after the inverse."""
        from scipy.linalg import solve_triangular

        factors = self._factors(sizes)
        logarithm = 2.0 * float(np.sum(np.log(np.diagonal(factors, axis1=1, axis2=2))))
        record = self.record
        products = np.zeros((record.slow.shape[1],) * 2)
        for odd, factor in enumerate(factors):
            one = solve_triangular(factor, record.slow[odd::2], lower=True, check_finite=False)
            products += one.T @ one
        model = self.density(sizes)
        logarithm += float(record.counts @ np.log(model))
        products += np.tensordot(record.counts / model, record.products, 1)
        return logarithm, products

    def log_likelihood(self, sizes: Floats) -> float:
        """The logarithm of the likelihood, up to a constant."""
        logarithm, products = self._whitened(sizes)
        left = float(products[0, 0])
        if self.record.is_followed:
            normal, along = products[1:, 1:], products[1:, 0]
            left -= float(along @ np.linalg.solve(normal, along))
            logarithm += float(np.linalg.slogdet(normal)[1])
        return -0.5 * (logarithm + left)

    def traces(self, sizes: Floats) -> Traces:
        """What the stretch of intervals follows from; regressors count for nothing in it."""
        inverses = np.linalg.inv(self._factors(sizes))
        whitened = inverses @ self._covariances @ inverses.swapaxes(-1, -2)  # type: ignore[attr-defined]
        ratios = self._densities / self.density(sizes)  # type: ignore[attr-defined]
        return traces_of(whitened, ratios, self.record.counts)

    def coefficients(self, sizes: Floats) -> tuple[Floats, Floats]:
        """What the regressors are multiplied by, and the standard deviations of that."""
        _, products = self._whitened(sizes)
        inverse = np.linalg.inv(products[1:, 1:])
        return inverse @ products[1:, 0], np.sqrt(np.diag(inverse))


def scales_of(record: Record, parts: Sequence[Part]) -> Floats:
    """The size at which each part alone would make all of the noise where it is strongest."""
    slow = float(np.sum(record.slow[:, 0] ** 2))
    level = float(np.median(record.products[:, 0, 0])) if len(record.counts) else 0.0
    found = []
    for part in parts:
        if part.name == "white" and level > 0.0:
            found.append(math.sqrt(level))
        else:
            whole = np.trace(part.covariances(record), axis1=1, axis2=2).sum()
            found.append(math.sqrt(slow / float(whole)))
    scales = np.array(found)
    if not np.all(scales > 0.0):
        raise FitError("the readings never change")
    return scales
