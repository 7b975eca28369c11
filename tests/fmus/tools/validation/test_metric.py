"""The Double Validation Metric against closed forms."""

import math
from statistics import NormalDist

import numpy as np
import pytest

from fmus.tools.validation.metric import double_validation_metric, samples_of
from fmus.tools.validation.rows import Distribution

SHARES = (np.arange(20_000) + 0.5) / 20_000
STANDARD = np.array([NormalDist().inv_cdf(share) for share in SHARES])


def test_of_two_normal_distributions_the_bias_is_the_difference_of_the_means() -> None:
    bias, shape = double_validation_metric(3.0 + 2.0 * STANDARD, 1.0 + 2.0 * STANDARD)
    assert bias == pytest.approx(2.0, abs=1e-9)
    assert shape == pytest.approx(0.0, abs=1e-9)


def test_the_shape_of_two_normal_distributions_is_that_of_their_deviations() -> None:
    bias, shape = double_validation_metric(5.0 + 3.0 * STANDARD, 1.0 * STANDARD)
    assert bias == pytest.approx(5.0, abs=1e-9)
    # the area between two centred normal distributions; 20,000 samples cut the tails off
    assert shape == pytest.approx(math.sqrt(2.0 / math.pi) * 2.0, rel=1e-3)


def test_a_shift_of_the_simulation_changes_the_bias_and_not_the_shape() -> None:
    measured = np.random.default_rng(1).exponential(2.0, 1000)
    simulated = np.random.default_rng(2).normal(0.0, 1.0, 777)
    bias, shape = double_validation_metric(simulated, measured)
    moved, same = double_validation_metric(simulated + 4.5, measured)
    assert moved - bias == pytest.approx(4.5, abs=1e-9)
    assert same == pytest.approx(shape, abs=1e-9)


def test_samples_in_another_order_and_number_say_the_same() -> None:
    """0 and 1 against four samples: by hand, from the steps of both functions."""
    bias, shape = double_validation_metric([1.0, 0.0], [0.0, 0.0, 0.0, 1.0])
    assert bias == pytest.approx(0.25)
    # shifted by the bias: -0.25 and 0.75 against 0, 0, 0, 1, a quarter of the share each
    assert shape == pytest.approx(0.25 * (0.25 + 0.25 + 0.75 + 0.25))


def test_two_equal_sets_are_not_apart() -> None:
    values = np.random.default_rng(3).normal(size=50)
    assert double_validation_metric(values, values[::-1]) == (0.0, 0.0)


def test_no_samples_are_refused() -> None:
    with pytest.raises(ValueError, match="no samples"):
        double_validation_metric([], [1.0])


def test_published_quantiles_and_moments_become_samples() -> None:
    known = Distribution("error", "mm", quantiles=((0.5, 10.0), (1.0, 20.0)))
    drawn = samples_of(known)
    assert np.quantile(drawn, 0.5) == pytest.approx(0.01, rel=1e-3)  # of mm, in m
    assert drawn.mean() == pytest.approx(0.01, rel=1e-3)  # straight pieces: evenly over 0 to 20
    normal = samples_of(Distribution("error", "mm", normal=(5.0, 2.0)))
    assert normal.mean() == pytest.approx(0.005, rel=1e-6)
    assert normal.std() == pytest.approx(0.002, rel=1e-3)
