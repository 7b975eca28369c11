"""Influence of variations on metrics, against closed forms and SciPy."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from fmus.tools.campaigns.influence import influences_of


def drawn(kind, samples, sides, seed=3):
    """Points of the unit cube."""
    samplers = {"sobol": stats.qmc.Sobol, "latin_hypercube": stats.qmc.LatinHypercube}
    if kind == "random":
        return np.random.default_rng(seed).random((samples, sides))
    return samplers[kind](sides, seed=seed).random(samples)


def rows_of(points):
    return [dict(zip("abcdef", point, strict=False)) for point in points.tolist()]


def by_name(found):
    return {own.name: own for own in found.of}


@pytest.mark.parametrize("kind", ["sobol", "latin_hypercube", "random"])
def test_first_indices_are_those_of_ishigamis_function(kind):
    """f = sin a + 7 sin² b + 0.1 c⁴ sin a on (-π, π): Ishigami and Homma 1990."""
    points = np.pi * (2.0 * drawn(kind, 1024, 3) - 1.0)
    a, b, c = points.T
    metric = np.sin(a) + 7.0 * np.sin(b) ** 2 + 0.1 * c**4 * np.sin(a)
    of_a = 0.5 * (1.0 + 0.1 * np.pi**4 / 5.0) ** 2
    of_b, of_both = 49.0 / 8.0, 0.01 * np.pi**8 * 8.0 / 225.0
    total = of_a + of_b + of_both
    found = influences_of(rows_of(points), metric, is_grid=False)
    assert [own.name for own in found.of] == ["b", "a", "c"]
    truth = {"a": of_a / total, "b": of_b / total, "c": 0.0}
    error = 0.03 if kind == "sobol" else 0.06  # three deviations over seeds
    for name, own in by_name(found).items():
        assert own.index == pytest.approx(truth[name], abs=error)


def test_correlations_are_scipys():
    draw = np.random.default_rng(5)
    points = draw.integers(0, 7, (60, 3)).astype(float)  # with equal values
    metric = np.exp(points[:, 0]) - points[:, 1] + draw.normal(size=60)
    samples = rows_of(points)
    used = {tuple(row.values()): place for place, row in enumerate(samples)}
    assert len(used) < 60  # some samples are the same
    means = {key: np.mean(metric[[tuple(r.values()) == key for r in samples]]) for key in used}
    found = by_name(influences_of(samples, metric, is_grid=False))
    for column, name in enumerate("abc"):
        truth = stats.spearmanr([key[column] for key in means], list(means.values())).statistic
        assert found[name].correlation == pytest.approx(truth, abs=1e-12)


def test_shares_of_a_grid_are_those_of_the_variance_of_means():
    a, b = np.array([1.0, 2.0, 5.0]), ["x", "y"]
    samples = [{"a": i, "b": j} for i, j in itertools.product(a, b)]
    metric = [row["a"] * (3.0 if row["b"] == "y" else 1.0) for row in samples]
    found = by_name(influences_of(samples, metric, is_grid=True))
    total = np.var(metric)
    assert found["a"].index == pytest.approx(np.var(2.0 * a) / total)
    assert found["b"].index == pytest.approx(np.var([a.mean(), 3.0 * a.mean()]) / total)
    assert found["b"].correlation is None  # names have no order


def test_a_metric_that_rises_has_a_correlation_of_one_whatever_its_curve():
    points = drawn("latin_hypercube", 40, 2)
    found = influences_of(rows_of(points), np.exp(9.0 * points[:, 1]), is_grid=False)
    assert found.of[0].name == "b"
    assert found.of[0].correlation == pytest.approx(1.0)


def test_noise_of_seeds_is_no_influence():
    points = np.repeat(drawn("sobol", 64, 1), 50, axis=0)
    noise = np.random.default_rng(2).normal(size=len(points))
    metric = math.sqrt(12.0) * points[:, 0] + noise  # both of unit variance
    found = influences_of(rows_of(points), metric, is_grid=False)
    assert found.samples == 64
    assert found.noise == pytest.approx(0.5, abs=0.02)
    assert found.of[0].index > 0.95


@pytest.mark.parametrize("kind", ["random", "latin_hypercube"])
def test_without_influence_most_correlations_are_within_chance(kind):
    within = 0
    for seed in range(200):
        points = drawn(kind, 40, 1, seed)
        metric = np.random.default_rng(1000 + seed).random(40)
        found = influences_of(rows_of(points), metric, is_grid=False)
        within += abs(found.of[0].correlation) < found.chance
        assert found.of[0].index < 0.6
    assert 180 <= within <= 198  # 190 with a deviation of 3


@pytest.mark.parametrize(
    ("samples", "metric"),
    [
        ([], []),
        ([{"a": 1.0}], [2.0]),
        ([{"a": float(n)} for n in range(9)], [1.0] * 9),
        ([{"a": 2.0}] * 9, [float(n) for n in range(9)]),
        ([{"a": float(n)} for n in range(9)], [math.nan] * 9),
    ],
)
def test_what_samples_do_not_tell_is_not_told(samples, metric):
    found = influences_of(samples, metric, is_grid=False)
    assert all(own.correlation is None and own.index is None for own in found.of)


def test_few_samples_tell_a_correlation_and_no_share():
    samples = [{"a": float(n)} for n in range(20)]
    (own,) = influences_of(samples, [n**2 for n in range(20)], is_grid=False).of
    assert own.correlation == pytest.approx(1.0)
    assert own.index is None
