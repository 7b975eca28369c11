import numpy as np
import pytest

from sensor_models.tools.fitting.bartlett import stretches, traces_of
from sensor_models.tools.fitting.slow_noise import SlowNoise, record_of, walk, white

NONE = np.zeros((1, 1, 0, 0))


def of_one(counts: list[float]) -> float:
    """The stretch of one size that all values have."""
    one = np.ones((1, len(counts)))
    return float(stretches([traces_of(NONE, one, np.array(counts))])[0])


@pytest.mark.parametrize("n", [5, 40])
def test_of_one_variance_it_is_one_third_of_the_values(n: int) -> None:
    assert of_one([n]) == pytest.approx(1.0 + 1.0 / (3.0 * n))
    assert of_one([1.0] * n) == pytest.approx(of_one([n]))


def test_dense_and_diagonal_covariances_are_the_same() -> None:
    rng = np.random.default_rng(1)
    apart = rng.uniform(0.1, 1.0, (3, 1, 6))
    turn = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    dense = np.einsum("ij,ahj,kj->ahik", turn, apart, turn)
    of_dense = traces_of(dense, np.zeros((3, 0)), np.zeros(0))
    of_diagonal = traces_of(np.zeros((3, 1, 0, 0)), apart[:, 0], np.ones(6))
    for name in ("two", "three", "four"):
        np.testing.assert_allclose(getattr(of_dense, name), getattr(of_diagonal, name))


def test_data_that_are_independent_add_up() -> None:
    part = traces_of(NONE, np.ones((1, 1)), np.array([7.0]))
    assert stretches([part, part]) == pytest.approx([of_one([14.0])])


def test_mean_ratios_of_likelihoods_are_stretched_by_as_much() -> None:
    """Of two sizes with 12 values that show both: the ratio for one, the other one free."""
    rng = np.random.default_rng(2)
    levels = np.stack([np.ones(12), 4.0 / np.arange(1.0, 13.0) ** 2])
    truth = levels.sum(axis=0)
    predicted = stretches([traces_of(np.zeros((2, 1, 0, 0)), levels / truth, np.ones(12))])
    squares = truth * rng.standard_normal((4000, 12)) ** 2
    ratios = twice_the_logarithms(levels, squares)
    # a normal law of the mean of 4000 ratios
    assert ratios.mean() == pytest.approx(predicted[0], abs=3.0 * ratios.std() / 4000**0.5)
    assert predicted[0] > 1.08


def twice_the_logarithms(levels: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """Of the ratio of likelihoods where the first size is 1 and where it is free, on a grid."""
    first = np.concatenate(([1.0], np.geomspace(0.02, 12.0, 120)))
    second = np.concatenate(([0.0], np.geomspace(1e-3, 60.0, 120)))
    best = np.full((len(first), len(squares)), -np.inf)
    for place, a in enumerate(first):
        for b in second:
            variance = a * levels[0] + b * levels[1]
            value = -0.5 * (np.log(variance).sum() + squares @ (1.0 / variance))
            np.maximum(best[place], value, out=best[place])
    return 2.0 * (best.max(axis=0) - best[0])


def test_long_records_of_white_noise_need_none() -> None:
    record = record_of(np.random.default_rng(3).standard_normal(20_000), 10.0, 5.0)
    noise = SlowNoise(record, [white(), walk()])
    assert stretches([noise.traces(np.array([1.0, 1e-3]))])[0] == pytest.approx(1.0, abs=1e-3)
