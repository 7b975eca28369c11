import numpy as np
import pytest
from scipy import fft, integrate, linalg

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

N, RATE = 2048, 10.0


def averaged(variogram) -> np.ndarray:
    """Generalised covariances of means over samples, of the second integral of that in time."""
    g = variogram(np.abs(np.arange(-1, N + 1)) / RATE)
    return (g[2:] - 2.0 * g[1:-1] + g[:-2]) * RATE**2


def instants(covariance) -> np.ndarray:
    return covariance(np.arange(N) / RATE)


def flicker_squared(t: np.ndarray) -> np.ndarray:
    """-t² ln t/(2π), of which the second derivative is -ln(t)/π but for a constant."""
    return -(t**2) * np.log(np.where(t > 0.0, t, 1.0)) / (2.0 * np.pi)


PARTS = [
    (white(), np.where(np.arange(N) == 0, RATE, 0.0)),
    (flicker(), averaged(flicker_squared)),
    (walk(), instants(lambda t: -0.5 * t)),
    (gauss_markov(3.0), instants(lambda t: np.exp(-t / 3.0))),
    (gauss_markov(500.0), instants(lambda t: np.exp(-t / 500.0))),
]


@pytest.mark.parametrize(("part", "row"), PARTS, ids=["white", "flicker", "walk", "short", "long"])
def test_covariances_of_cosines_are_those_of_all_samples(part, row) -> None:
    record = record_of(np.arange(N) % 7.0, RATE, 0.5 * RATE)
    transform = fft.dct(np.eye(N), axis=0, norm="ortho")[1:129] / np.sqrt(RATE)
    whole = transform @ linalg.toeplitz(row) @ transform.T
    found = part.covariances(record)
    largest = np.abs(whole).max()
    # flicker noise and walk are in the module those of continuous time, or of instants
    np.testing.assert_allclose(found[0], whole[0::2, 0::2], atol=5e-5 * largest)
    np.testing.assert_allclose(found[1], whole[1::2, 1::2], atol=5e-5 * largest)
    np.testing.assert_allclose(whole[0::2, 1::2], 0.0, atol=1e-9 * largest)


def test_the_likelihood_is_that_of_all_samples() -> None:
    """The exact one of all cosines up to a tenth of the rate: a matrix of their number."""
    rng = np.random.default_rng(3)
    readings = make.own(N, RATE, rng, 0.1, 0.05, 0.01)
    parts = [white(), flicker(), walk()]
    noise = SlowNoise(record_of(readings, RATE, 0.1 * RATE), parts)
    basis = fft.dct(np.eye(N), axis=0, norm="ortho")[1:410]  # the mean says nothing
    apart = basis @ readings
    covariances = [basis @ linalg.toeplitz(row) @ basis.T for _, row in PARTS[:3]]

    def exact(sizes: np.ndarray) -> float:
        factor = linalg.cholesky(np.tensordot(sizes**2, covariances, 1), lower=True)
        white_noise = linalg.solve_triangular(factor, apart, lower=True)
        return -float(np.log(np.diag(factor)).sum()) - 0.5 * float(white_noise @ white_noise)

    middle = np.array([0.1, 0.05, 0.01])
    for other in (
        [1.1, 1.0, 1.0],
        [1.0, 1.5, 1.0],
        [1.0, 0.5, 1.0],
        [1.0, 1.0, 2.0],
        [1, 1.2, 0.1],
    ):
        wanted = exact(middle * other) - exact(middle)
        found = noise.log_likelihood(middle * other) - noise.log_likelihood(middle)
        assert found == pytest.approx(wanted, rel=0.03, abs=0.03)


def test_the_allan_variance_of_flicker_noise_is_level() -> None:
    for block in (0.1, 10.0, 1000.0):
        assert flicker().difference(block) / 2.0 == pytest.approx(2.0 * np.log(2.0) / np.pi)


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
def test_differences_of_means_are_the_integrals_of_densities(part, density) -> None:
    block = 1.7
    nodes, weights = np.polynomial.legendre.leggauss(8)
    edges = np.concatenate(([1e-9], np.arange(1, 4001) / 20.0)) / block
    half = np.diff(edges)[:, None] / 2.0
    f = edges[:-1, None] + half * (1.0 + nodes)
    passed = (np.sinc(f * block) * 2.0 * np.sin(np.pi * f * block)) ** 2
    wanted = float(np.sum(2.0 * density(f) * passed * weights * half))
    # the tail of white noise falls off as 1/f² from 200/block on
    assert part.difference(block) == pytest.approx(wanted, rel=2e-3)


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


def test_slopes_are_found_by_what_changes_fast_as_well() -> None:
    """What swings faster than all slow cosines: the deviation is that of white noise alone."""
    rng = np.random.default_rng(7)
    n, rate = 20_000, 10.0
    swing = np.sin(np.arange(n) * 0.5)
    record = record_of(rng.standard_normal(n) + 0.2 * swing, rate, 5.0, [swing])
    slope, deviation = SlowNoise(record, [white()]).coefficients(np.array([rate**-0.5]))
    assert deviation[0] == pytest.approx((0.5 * n) ** -0.5, rel=0.01)
    assert abs(slope[0] - 0.2) < 3.0 * deviation[0]
