"""Allan deviation: closed forms, an obvious twin, and an independent implementation."""

import allantools
import numpy as np
import pytest

from sensor_models.inertial.allan import FLOOR, allan_deviation


def slow_deviation(samples: np.ndarray, m: int) -> float:
    """All overlapping pairs of neighbouring means, one by one."""
    means = [samples[k : k + m].mean() for k in range(len(samples) - m + 1)]
    squares = [(means[k + m] - means[k]) ** 2 for k in range(len(means) - m)]
    return float(np.sqrt(0.5 * np.mean(squares)))


@pytest.mark.parametrize("m", [1, 2, 7, 40])
def test_deviation_is_that_of_all_neighbouring_means(m: int) -> None:
    samples = np.random.default_rng(3).normal(size=200) + 5.0
    tau, deviation = allan_deviation(samples, 10.0, [m / 10.0])
    assert tau == [m / 10.0]
    # sums in another order: rounding of 200 numbers of size 5
    assert deviation[0] == pytest.approx(slow_deviation(samples, m), rel=1e-10)


def test_deviation_agrees_with_allantools() -> None:
    samples = np.random.default_rng(4).normal(size=20_000).cumsum()
    taus = np.array([0.01, 0.1, 1.0, 20.0])
    theirs = allantools.oadev(samples, rate=100.0, data_type="freq", taus=taus)
    ours = allan_deviation(samples, 100.0, taus)
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-12)
    np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-9)


def test_deviation_of_a_ramp_is_its_slope_times_tau_over_root_two() -> None:
    time = np.arange(1000) / 50.0
    tau, deviation = allan_deviation(0.3 * time, 50.0, [0.1, 1.0, 5.0])
    np.testing.assert_allclose(deviation, 0.3 * tau / np.sqrt(2.0), rtol=1e-9)


def test_averaging_times_too_long_for_the_record_are_left_out() -> None:
    tau, deviation = allan_deviation(np.zeros(100), 1.0, [1.0, 1.2, 49.0, 60.0])
    assert tau.tolist() == [1.0, 49.0]
    assert deviation.tolist() == [0.0, 0.0]


def test_floor_of_flicker_noise_is_the_published_one() -> None:
    assert pytest.approx(0.664, abs=5e-4) == FLOOR  # printed with three digits in IEEE Std 952
