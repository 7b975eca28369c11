"""Random draws: the words against NumPy's generator, the draws against their distributions."""

import math
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from sensor_models.kernels.math import philox
from tests import oracles

KEY = np.array([0x0123456789ABCDEF, 0xFEDCBA9876543210], dtype=np.uint64)
OTHER_KEY = np.array([0x0123456789ABCDEF, 0xFEDCBA9876543211], dtype=np.uint64)
COUNT = 100_000
# Estimates of zero from N draws scatter by 1/sqrt(N) times a factor; 4 sigma, fixed seeds.
SIGMAS = 4.0

WORDS = st.integers(0, 2**64 - 1)


@njit
def uniforms(key, samples, lanes):
    draws = np.empty(samples.size)
    for i in range(samples.size):
        draws[i] = philox.uniform(key, samples[i], lanes[i])
    return draws


@njit
def normals(key, samples, lanes):
    draws = np.empty(samples.size)
    for i in range(samples.size):
        draws[i] = philox.normal(key, samples[i], lanes[i])
    return draws


@njit
def block_normals(key, samples, lanes):
    draws = np.empty((4, samples.size))
    for i in range(samples.size):
        draws[0, i], draws[1, i], draws[2, i], draws[3, i] = philox.normals(
            key, samples[i], lanes[i]
        )
    return draws


def along_samples(lane):
    return np.arange(COUNT), np.full(COUNT, lane)


def along_lanes(sample):
    return np.full(COUNT, sample), np.arange(COUNT)


def normal_distribution(x):
    return np.array([0.5 * math.erfc(-value / math.sqrt(2.0)) for value in x])


def kolmogorov_distance(draws, distribution):
    """Largest distance of the empirical from the true distribution, times sqrt(N)."""
    expected = distribution(np.sort(draws))
    steps = np.arange(draws.size + 1) / draws.size
    distance = max(np.max(steps[1:] - expected), np.max(expected - steps[:-1]))
    return distance * math.sqrt(draws.size)


@settings(deadline=None)
@given(st.tuples(WORDS, WORDS), st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1))
def test_words_are_those_of_numpys_generator(key, sample, lane):
    key = np.array(key, dtype=np.uint64)
    assert philox.block(key, sample, lane) == oracles.random_words(key, sample, lane)


@settings(deadline=None)
@given(st.tuples(WORDS, WORDS), st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1))
def test_draws_are_those_of_the_naive_twin(key, sample, lane):
    key = np.array(key, dtype=np.uint64)
    assert philox.uniform(key, sample, lane) == oracles.uniform(key, sample, lane)
    # the last bits of logarithm and cosine are left to the mathematical library
    expected = oracles.normal(key, sample, lane)
    assert philox.normal(key, sample, lane) == pytest.approx(expected, rel=1e-14, abs=1e-15)


@pytest.mark.parametrize(("word", "value"), [(0, 2.0**-53), (2**64 - 1, 1.0 - 2.0**-53)])
def test_the_ends_of_the_unit_interval_are_never_drawn(word, value):
    assert philox.open_unit(np.uint64(word)) == value


def test_a_lane_below_zero_is_a_lane_of_its_own():
    assert philox.block(KEY, 3, -1) == oracles.random_words(KEY, 3, 2**64 - 1)


@pytest.mark.parametrize("counters", [along_samples(2), along_lanes(7)])
def test_uniform_draws_are_uniform(counters):
    # exceeded by chance in 0.1 % of all seeds
    assert kolmogorov_distance(uniforms(KEY, *counters), lambda x: x) < 1.95


@pytest.mark.parametrize("counters", [along_samples(2), along_lanes(7)])
def test_normal_draws_are_normal(counters):
    # exceeded by chance in 0.1 % of all seeds
    assert kolmogorov_distance(normals(KEY, *counters), normal_distribution) < 1.95


@pytest.mark.parametrize("counters", [along_samples(0), along_lanes(0)])
@pytest.mark.parametrize(
    ("power", "moment", "variance"), [(1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)]
)
def test_normal_draws_have_the_moments_of_the_normal_distribution(
    counters, power, moment, variance
):
    # Var(x^n) = E(x^2n) - E(x^n)^2
    estimate = np.mean(normals(KEY, *counters) ** power)
    assert abs(estimate - moment) < SIGMAS * math.sqrt(variance / COUNT)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param((KEY, *along_samples(0)), (KEY, *along_samples(1)), id="neighbouring lanes"),
        pytest.param((KEY, *along_lanes(0)), (KEY, *along_lanes(1)), id="successive samples"),
        pytest.param((KEY, *along_samples(0)), (OTHER_KEY, *along_samples(0)), id="similar keys"),
        pytest.param((KEY, *along_samples(0)), (KEY, *along_lanes(0)), id="lane and sample"),
    ],
)
def test_streams_are_uncorrelated(first, second):
    # the one counter that both hold, (0, 0), is left out
    a, b = normals(*first)[1:], normals(*second)[1:]
    for x, y in ((a, b), (a**2, b**2)):
        assert abs(np.corrcoef(x, y)[0, 1]) < SIGMAS / math.sqrt(COUNT)


def test_successive_draws_of_a_stream_are_uncorrelated():
    for counters in (along_samples(5), along_lanes(5)):
        draws = normals(KEY, *counters)
        assert abs(np.corrcoef(draws[1:], draws[:-1])[0, 1]) < SIGMAS / math.sqrt(COUNT)


def test_uniform_and_normal_draw_of_one_counter_are_uncorrelated():
    u, x = uniforms(KEY, *along_samples(0)), normals(KEY, *along_samples(0))
    for y in (x, x**2):
        assert abs(np.corrcoef(u, y)[0, 1]) < SIGMAS / math.sqrt(COUNT)


def test_draws_repeat_bit_for_bit_in_any_order():
    samples, lanes = along_samples(4)
    forward = normals(KEY, samples, lanes)
    backward = normals(KEY, samples[::-1].copy(), lanes)
    assert np.array_equal(forward, backward[::-1])
    assert [philox.normal(KEY, k, 4) for k in range(100)] == forward[:100].tolist()


@settings(deadline=None)
@given(st.tuples(WORDS, WORDS), st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1))
def test_each_word_of_a_block_makes_a_uniform_and_a_normal_draw(key, sample, lane):
    key = np.array(key, dtype=np.uint64)
    words = oracles.random_words(key, sample, lane)
    uniform = [float(Fraction(2 * (word >> 12) + 1, 2**53)) for word in words]
    # both are exact: 1/2 is taken off a number with 53 bits behind the point
    assert philox.centred_uniforms(key, sample, lane) == tuple(u - 0.5 for u in uniform)
    expected = [NormalDist().inv_cdf(u) for u in uniform]
    # the error of the quantile, and next to u = 1 what its rounding by 2^-54 does to the other side
    slack = [2e-12 + 2.0**-54 / min(u, 1.0 - u) for u in uniform]
    for got, x, error in zip(philox.normals(key, sample, lane), expected, slack, strict=True):
        assert abs(got - x) <= error


@pytest.mark.parametrize("counters", [along_samples(2), along_lanes(7)])
@pytest.mark.parametrize("word", range(4))
def test_every_word_of_a_block_is_normal(counters, word):
    # exceeded by chance in 0.1 % of all seeds, in eight trials
    distance = kolmogorov_distance(block_normals(KEY, *counters)[word], normal_distribution)
    assert distance < 1.95


def test_the_words_of_a_block_are_uncorrelated_with_each_other_and_the_next():
    draws = block_normals(KEY, *along_samples(0))
    rows = np.concatenate([draws[:, :-1], draws[:, 1:], draws[:, :-1] ** 2])
    correlations = np.corrcoef(rows) - np.eye(len(rows))
    # a draw and its square are uncorrelated too
    assert np.abs(correlations).max() < (SIGMAS + 1.0) / math.sqrt(COUNT)


def test_tails_are_as_heavy_as_those_of_the_normal_law():
    samples = np.arange(2_000_000)
    draws = block_normals(OTHER_KEY, samples, np.zeros_like(samples))
    for limit in (2.0, 3.0, 4.0, 5.0):
        expected = draws.size * math.erfc(limit / math.sqrt(2.0)) / 2.0
        for tail in (draws > limit, draws < -limit):
            # counts of rare events scatter by their root
            assert abs(np.count_nonzero(tail) - expected) < SIGMAS * math.sqrt(expected)


@njit
def block_uniforms(key, samples, lanes):
    draws = np.empty((4, samples.size))
    for i in range(samples.size):
        draws[0, i], draws[1, i], draws[2, i], draws[3, i] = philox.uniforms(
            key, samples[i], lanes[i]
        )
    return draws


def test_the_words_of_a_block_are_uniform_and_know_nothing_of_each_other():
    draws = block_uniforms(KEY, *along_lanes(3))
    assert np.all(draws[0] == uniforms(KEY, *along_lanes(3)))
    for own in draws:
        assert np.mean(own) == pytest.approx(0.5, abs=SIGMAS * math.sqrt(1 / 12 / COUNT))
        assert np.var(own) == pytest.approx(1 / 12, abs=SIGMAS * math.sqrt(1 / 180 / COUNT))
    apart = np.corrcoef(draws)[np.triu_indices(4, 1)]
    assert np.all(np.abs(apart) < SIGMAS / math.sqrt(COUNT))
