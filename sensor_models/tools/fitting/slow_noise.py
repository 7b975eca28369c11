r"""The likelihood of a long record of a still sensor: white noise, flicker noise and drifts.

With the two-sided power densities of the parts

    white         N²                          N: Allan deviation at 1 s
    flicker       B²/(2π f)                   B: bias instability, Allan deviation √(2 ln 2/π) B
    walk          K²/(2π f)²                  K: growth of a random walk, per √s
    Gauss-Markov  2 σ² τ/(1 + (2π f τ)²)      σ: its standard deviation, τ: its correlation time

(IEEE Std 952-1997, annex C), the sum S(f) has two likelihoods, one for each end of the spectrum.

**Slow**: the means of ``BLOCKS`` equal blocks of length T. Their differences d are stationary, also
those of a random walk, and normal with the covariances

    c(h) = a δ⁴ G(h T)/T²,   δ⁴ G(h) = G(h+2) - 4 G(h+1) + 6 G(h) - 4 G(h-1) + G(h-2)

where a G is the generalised covariance of the integral of a part: -N²/2 |t|, B²/(2π) t² ln|t|,
K²/12 |t|³, and -σ² τ² (u - 1 + e^(-u)) with u = |t|/τ. The likelihood is the exact one of a normal
law with this covariance, so that the few slow samples count for as much as they are.

**Fast**: the periodogram, above the frequency 1/(2T) where the blocks end, with the ends of the
record tapered so that the walk does not leak into it. In bins of ν ordinates with the mean Ī,

    ℓ = -Σ ν (ln S + Ī/S)

(Whittle). ν is less than the number of ordinates, as a taper correlates them: by Σ w⁴ n/(Σ w²)².

What is known to be proportional to a parameter, such as temperature times its coefficient, is
taken out of d by least squares with the same covariance; the estimate is as exact as the noise
allows, and its standard deviation is that of the law. The likelihood is then the restricted one
(Patterson and Thompson, 1971), as a slope takes a part of the slow noise with it.

Both are likelihoods of the same data, of which the slow one looks at one sample in n/BLOCKS: what
is counted twice is that share.

Source: Whittle (1953); Percival and Walden, Spectral Analysis for Physical Applications (1993),
sections 6.4 and 6.6. Deviation: flicker noise and walk are those of continuous time, as they are
sampled far faster than they move; a Gauss-Markov process is that of its samples.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from sensor_models.tools.fitting.estimates import FitError, Floats

#: Blocks that the slow likelihood is of, and the least number of samples in one.
BLOCKS = 128
SHORTEST_BLOCK = 4
#: Bins of the periodogram in an octave.
BINS = 6
#: Share of the record over which each end is tapered.
TAPERED = 0.05
#: Samples that are needed for anything.
LEAST_SAMPLES = 256


@dataclass(frozen=True)
class Record:
    """A long record in the form that likelihoods are computed from."""

    rate: float
    duration: float
    block: float  # length of a block, s
    differences: Floats  # of the means of blocks
    frequencies: Floats  # of the bins
    powers: Floats  # mean two-sided density in each bin
    weights: Floats  # degrees of freedom of each bin, halved
    #: What is taken out of the differences: a row for each block difference.
    regressors: Floats = field(default_factory=lambda: np.zeros((0, 0)))


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
    length = max(n // BLOCKS, SHORTEST_BLOCK)
    block = length / rate
    frequencies, powers, weights = _binned(readings, rate, 0.5 / block, highest)
    columns = [_differences(np.asarray(r, np.float64), length) for r in regressors]
    return Record(
        rate,
        n / rate,
        block,
        _differences(readings, length),
        frequencies,
        powers,
        weights,
        np.stack(columns, axis=1) if columns else np.zeros((0, 0)),
    )


def _differences(values: Floats, length: int) -> Floats:
    count = len(values) // length
    means = values[: count * length].reshape(count, length).mean(axis=1)
    return np.diff(means)


def _taper(n: int) -> Floats:
    """A cosine at both ends, and 1 between."""
    window = np.ones(n)
    rise = max(int(TAPERED * n), 1)
    ramp = 0.5 - 0.5 * np.cos(np.pi * (np.arange(rise) + 0.5) / rise)
    window[:rise], window[-rise:] = ramp, ramp[::-1]
    return window


def _binned(
    readings: Floats, rate: float, lowest: float, highest: float
) -> tuple[Floats, Floats, Floats]:
    """The periodogram in bins of equal ratio of frequencies."""
    n = len(readings)
    window = _taper(n)
    squares = float(np.sum(window**2))
    inflation = n * float(np.sum(window**4)) / squares**2
    spectrum = np.abs(np.fft.rfft((readings - readings.mean()) * window)) ** 2 / (squares * rate)
    frequency = np.arange(len(spectrum)) * (rate / n)
    first = max(math.ceil(lowest * n / rate), 1)
    last = min(int(highest * n / rate), (n - 1) // 2)
    if last <= first:
        return np.zeros(0), np.zeros(0), np.zeros(0)
    octaves = math.log2((last + 1) / first)
    edges = np.unique(
        np.rint(np.geomspace(first, last + 1, 2 + int(BINS * octaves))).astype(np.int64)
    )
    counts = np.diff(edges)
    powers = np.add.reduceat(spectrum[: edges[-1]], edges[:-1]) / counts
    middles = np.add.reduceat(frequency[: edges[-1]], edges[:-1]) / counts
    return middles, powers, counts / inflation


@dataclass(frozen=True)
class Part:
    """A part of the noise: its density, and the covariance of block differences, for the size 1."""

    name: str
    density: Callable[[Floats, float], Floats]
    #: G(u) of the module's text times its factor, for a time in s.
    integral: Callable[[Floats], Floats]

    def covariances(self, lags: int, block: float) -> Floats:
        """Covariances of differences of block means, ``lags`` of them from 0 on."""
        times = np.arange(-2, lags + 2) * block
        g = self.integral(np.abs(times))
        fourth = g[4:] - 4.0 * g[3:-1] + 6.0 * g[2:-2] - 4.0 * g[1:-3] + g[:-4]
        return fourth / block**2


def white() -> Part:
    """White noise of density N."""
    return Part("white", lambda f, _: np.ones_like(f), lambda t: -0.5 * t)


def flicker() -> Part:
    """Flicker noise of bias instability B."""

    def integral(t: Floats) -> Floats:
        return t**2 * np.log(np.where(t > 0.0, t, 1.0)) / math.tau

    return Part("flicker", lambda f, _: 1.0 / (math.tau * f), integral)


def walk() -> Part:
    """A random walk of growth K, sampled."""

    def density(f: Floats, rate: float) -> Floats:
        return 1.0 / (2.0 * rate * np.sin(np.pi * f / rate)) ** 2

    return Part("walk", density, lambda t: t**3 / 12.0)


def gauss_markov(time_constant: float) -> Part:
    """A Gauss-Markov process of standard deviation 1, sampled."""

    def density(f: Floats, rate: float) -> Floats:
        kept = math.exp(-1.0 / (rate * time_constant))
        fresh = -math.expm1(-2.0 / (rate * time_constant))
        apart = (1.0 - kept) ** 2 + 4.0 * kept * np.sin(np.pi * f / rate) ** 2
        return fresh / (rate * apart)

    def integral(t: Floats) -> Floats:
        u = t / time_constant
        return -(time_constant**2) * (u + np.expm1(-u))

    return Part("gauss_markov", density, integral)


@dataclass(frozen=True)
class SlowNoise:
    """The likelihood of a record under a sum of parts, by the sizes of these."""

    record: Record
    parts: Sequence[Part]
    #: White density that is known to be there besides, such as that of codes: N².
    known: float = 0.0

    def __post_init__(self) -> None:
        record = self.record
        lags = len(record.differences)
        rows = [part.covariances(lags, record.block) for part in self.parts]
        object.__setattr__(self, "_covariances", np.array(rows))
        densities = [part.density(record.frequencies, record.rate) for part in self.parts]
        object.__setattr__(self, "_densities", np.array(densities))
        own = white().covariances(lags, record.block) * self.known
        object.__setattr__(self, "_known", own)

    def log_likelihood(self, sizes: Floats) -> float:
        """The logarithm of the likelihood, up to a constant."""
        return self._slow(sizes) + self._fast(sizes)

    def density(self, sizes: Floats) -> Floats:
        """The density of the model in each bin."""
        densities: Floats = self._densities  # type: ignore[attr-defined]
        return np.asarray(sizes**2 @ densities + self.known)

    def _fast(self, sizes: Floats) -> float:
        model = self.density(sizes)
        record = self.record
        return -float(record.weights @ (np.log(model) + record.powers / model))

    def _factor(self, sizes: Floats) -> Floats:
        from scipy.linalg import cholesky, toeplitz

        covariances: Floats = self._covariances  # type: ignore[attr-defined]
        known: Floats = self._known  # type: ignore[attr-defined]
        matrix = toeplitz(sizes**2 @ covariances + known)
        return np.asarray(cholesky(matrix, lower=True, overwrite_a=True, check_finite=False))

    def _whitened(self, sizes: Floats) -> tuple[Floats, Floats, Floats]:
        """The factor of the covariance, and differences and regressors that it makes white."""
        from scipy.linalg import solve_triangular

        factor = self._factor(sizes)
        regressors = self.record.regressors
        both = self.record.differences[:, None]
        if regressors.size:
            both = np.hstack([both, regressors])
        done = solve_triangular(factor, both, lower=True, check_finite=False)
        return factor, done[:, 0], done[:, 1:]

    def _slow(self, sizes: Floats) -> float:
        factor, residual, regressors = self._whitened(sizes)
        value = -float(np.sum(np.log(np.diag(factor))))
        if regressors.size:
            normal = regressors.T @ regressors
            residual = residual - regressors @ np.linalg.solve(normal, regressors.T @ residual)
            value -= 0.5 * float(np.linalg.slogdet(normal)[1])
        return value - 0.5 * float(residual @ residual)

    def coefficients(self, sizes: Floats) -> tuple[Floats, Floats]:
        """What the regressors are multiplied by, and the standard deviations of that."""
        _, residual, regressors = self._whitened(sizes)
        inverse = np.linalg.inv(regressors.T @ regressors)
        return inverse @ (regressors.T @ residual), np.sqrt(np.diag(inverse))


def scales_of(record: Record, parts: Sequence[Part]) -> Floats:
    """The size at which each part alone would make all of the noise where it is strongest."""
    level = float(np.median(record.powers)) if len(record.powers) else 0.0
    slow = float(np.mean(record.differences**2))
    found = []
    for part in parts:
        if part.name == "white" and level > 0.0:
            found.append(math.sqrt(level))
        else:
            found.append(math.sqrt(slow / float(part.covariances(1, record.block)[0])))
    scales = np.array(found)
    if not np.all(scales > 0.0):
        raise FitError("the readings never change")
    return scales
