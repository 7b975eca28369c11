import numpy as np
import pytest
from scipy import integrate

from sensor_models.tools.fitting.estimates import FitError
from sensor_models.tools.fitting.likelihood import Scales
from sensor_models.tools.fitting.slow_noise import (
    SlowNoise,
    flicker,
    gauss_markov,
    record_of,
    scales_of,
    walk,
    white,
)
from tests import noise_generators as make


def covariance_of_density(density, lag: int, block: float) -> float:
    """Of block mean differences by the integral over the spectrum: 2 S |H|² cos."""

    nodes, weights = np.polynomial.legendre.leggauss(8)
    edges = np.concatenate(([1e-9], np.arange(1, 4001) / 20.0)) / block
    half = np.diff(edges)[:, None] / 2.0
    f = edges[:-1, None] + half * (1.0 + nodes)
    x = np.pi * f * block
    values = density(f) * (np.sinc(f * block) * 2.0 * np.sin(x)) ** 2 * np.cos(2.0 * x * lag)
    return float(np.sum(2.0 * values * weights * half))


@pytest.mark.parametrize(
    ("part", "density"),
    [
        (white(), np.ones_like),
        (flicker(), lambda f: 1.0 / (2.0 * np.pi * f)),
        (walk(), lambda f: 1.0 / (2.0 * np.pi * f) ** 2),
        (gauss_markov(3.0), lambda f: 6.0 / (1.0 + (2.0 * np.pi * f * 3.0) ** 2)),
    ],
    ids=["white", "flicker", "walk", "gauss_markov"],
)
def test_covariances_are_the_integrals_of_densities(part, density) -> None:
    block = 1.7
    found = part.covariances(4, block)
    wanted = [covariance_of_density(density, lag, block) for lag in range(4)]
    # the tail of white noise falls off as 1/f² from 200/block on
    assert found == pytest.approx(wanted, abs=2e-3 * wanted[0])


def test_the_allan_variance_of_flicker_noise_is_level() -> None:
    for block in (0.1, 10.0, 1000.0):
        half = flicker().covariances(1, block)[0] / 2.0
        assert half == pytest.approx(2.0 * np.log(2.0) / np.pi, rel=1e-9)


def test_sampled_densities_hold_the_variance_of_the_samples() -> None:
    rate = 5.0
    total = integrate.quad(
        lambda f: float(gauss_markov(2.0).density(np.array([f]), rate)[0]), 0, 2.5
    )
    assert 2.0 * total[0] == pytest.approx(1.0, rel=1e-6)


def test_white_noise_alone_shows_no_drift() -> None:
    rng = np.random.default_rng(5)
    record = record_of(rng.standard_normal(50_000), 10.0, 5.0)
    noise = SlowNoise(record, [white(), flicker(), walk()])
    scales = Scales(noise.log_likelihood, scales_of(record, noise.parts))
    best = scales.peak([scales.visible * np.array([1.0, 0.1, 0.1])])
    assert scales.interval(best, 0) == pytest.approx((10**-0.5, 10**-0.5), rel=0.015)
    for place in (1, 2):
        low, high = scales.interval(best, place)
        assert low == 0.0
        assert 0.0 < high < 0.05


def test_too_short_or_constant_records_are_refused() -> None:
    with pytest.raises(FitError, match="100 samples are too few, at least 256"):
        record_of(np.zeros(100), 10.0, 5.0)
    record = record_of(np.ones(1000), 10.0, 5.0)
    with pytest.raises(FitError, match="never change"):
        scales_of(record, [white(), walk()])


def test_slopes_are_found_beneath_the_noise() -> None:
    rng = np.random.default_rng(6)
    n, rate = 40_000, 10.0
    warmth = np.sin(np.arange(n) / 2000.0)
    values = make.own(n, rate, rng, 1e-3, 0.0, 1e-5) + 3e-3 * warmth
    record = record_of(values, rate, 1.0, [warmth])
    noise = SlowNoise(record, [white(), flicker(), walk()])
    slope, deviation = noise.coefficients(np.array([1e-3, 1e-9, 1e-5]))
    assert abs(slope[0] - 3e-3) < 3.0 * deviation[0]
    assert deviation[0] < 3e-4
