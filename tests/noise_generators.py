"""Noise of still sensors, made without any code of ours.

``own``: white noise, flicker noise by its spectrum and a random walk by sums. ``gnss_ins_sim``: the
formulas that gnss-ins-sim publishes (``gnss_ins_sim/pathgen/pathgen.py``, ``gyro_gen`` and
``bias_drift``), written anew, as the package is on no index. ``basilisk``: those of Basilisk
(``src/architecture/utilities/gauss_markov.cpp``, ``computeNextState``), whose package wants other
versions of what this project has.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def flicker(n: int, rate: float, instability: float, rng: np.random.Generator) -> Floats:
    """Noise of the two-sided density B²/(2π f), cut out of a period four times as long."""
    whole = 4 * n
    frequency = np.fft.rfftfreq(whole, 1.0 / rate)
    density = np.zeros(len(frequency))
    density[1:] = instability**2 / (2.0 * np.pi * frequency[1:])
    drawn = rng.standard_normal(len(frequency)) + 1j * rng.standard_normal(len(frequency))
    spectrum = drawn * np.sqrt(0.5 * density * rate * whole)
    return np.fft.irfft(spectrum, whole)[:n]


def gauss_markov(
    n: int, rate: float, deviation: float, time_constant: float, rng: np.random.Generator
) -> Floats:
    """A Gauss-Markov process from its long-run law on."""
    from scipy.signal import lfilter

    kept = np.exp(-1.0 / (rate * time_constant))
    draws = rng.standard_normal(n)
    fresh = deviation * np.sqrt(1.0 - kept**2) * draws
    fresh[0] = deviation * draws[0]
    return np.asarray(lfilter([1.0], [1.0, -kept], fresh))


def own(
    n: int, rate: float, rng: np.random.Generator, density: float, instability: float, growth: float
) -> Floats:
    """White noise, flicker noise and a walk."""
    return (
        density * np.sqrt(rate) * rng.standard_normal(n)
        + (flicker(n, rate, instability, rng) if instability else 0.0)
        + growth / np.sqrt(rate) * np.cumsum(rng.standard_normal(n))
    )


def gnss_ins_sim(
    n: int, rate: float, rng: np.random.Generator, walk: float, drift: float, correlation: float
) -> Floats:
    """A gyroscope at rest: ``arw``, ``b_drift`` and ``b_corr`` as gnss-ins-sim takes them.

    Its process x[j] = a x[j-1] + b n with a = 1 - 1/(fs τ), b = drift/fs begins at 0. In the long
    run its standard deviation is b/√(1 - a²), which is not ``drift``.
    """
    from scipy.signal import lfilter

    a, b = 1.0 - 1.0 / (rate * correlation), drift / rate
    process = lfilter([b], [1.0, -a], rng.standard_normal(n))
    return np.asarray(process + walk * np.sqrt(rate) * rng.standard_normal(n))


def gnss_ins_sim_deviation(rate: float, drift: float, correlation: float) -> float:
    """The standard deviation that its process has in the long run."""
    a, b = 1.0 - 1.0 / (rate * correlation), drift / rate
    return float(b / np.sqrt(1.0 - a * a))


def basilisk(n: int, kept: float, size: float, rng: np.random.Generator) -> Floats:
    """A state of ``GaussMarkov`` without bounds: x[j] = propMatrix x[j-1] + noiseMatrix n."""
    from scipy.signal import lfilter

    return np.asarray(lfilter([size], [1.0, -kept], rng.standard_normal(n)))
