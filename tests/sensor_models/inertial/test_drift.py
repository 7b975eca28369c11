"""White noise and drift of a triaxial sensor over time: Allan deviation, growth, long-run law.

Estimates of an Allan deviation at the averaging time t from a run of length T scatter. Half the
width of the interval that holds 95 % of them, relative to the true value, is 1.13 √(t/T) for white
noise (0.15, 0.046 and 0.019 for T/t = 60, 600 and 3600), and about 1.39 √(t/T) for processes that
wander within t: they have T/t independent differences instead of 1.5 T/t. Three axes count as
three runs. Tests allow twice that, which chance exceeds once in 10000 estimates.
"""

import math

import numpy as np
import pytest

from sensor_models.inertial.corruption import BoundMode, DriftType
from sensor_models.inertial.triaxial import TriaxialParameters
from tests import oracles
from tests.chain import Triaxial

RATES = (50.0, 100.0, 400.0, 1000.0)
WHITE, WANDERING = 1.13, 1.39


def make(rate, seed=1, **parameters):
    return Triaxial(TriaxialParameters(**parameters), seed=seed, sensor="drift", rate=rate)


def simulate(duration, rate, **settings):
    """The readings of a signal that is 0."""
    times = np.arange(round(duration * rate)) / rate
    return make(rate, **settings).sample_batch(0, times, (0.0, 0.0, 0.0))


def estimate(readings, rate, averaging_time):
    """The Allan deviation of all axes together."""
    axes = [oracles.allan_deviation(axis, rate, averaging_time) for axis in readings.T]
    return math.sqrt(np.mean(np.square(axes)))


def allowed(band, duration, averaging_time):
    return 2.0 * band * math.sqrt(averaging_time / duration / 3.0)


def test_the_estimator_agrees_with_published_figures():
    # 1000 numbers of a linear congruential generator, and their overlapping Allan deviations:
    # Riley, Handbook of Frequency Stability Analysis, NIST SP 1065 (2008), section 12.4, table 31
    number, numbers = 1234567890, []
    for _ in range(1000):
        numbers.append(number / 2147483647)
        number = 16807 * number % 2147483647
    shown = [oracles.allan_deviation(np.array(numbers), 1.0, time) for time in (1.0, 10.0, 100.0)]
    # printed with seven digits
    assert shown == pytest.approx([2.922319e-1, 9.159953e-2, 3.241343e-2], rel=2e-7)


def compare(settings, closed_form, averaging_times, band, duration=1200.0):
    """Every estimate with the closed form, and the estimates at all rates with each other."""
    estimates = np.empty((len(RATES), len(averaging_times)))
    for row, rate in enumerate(RATES):
        readings = simulate(duration, rate, **settings)
        estimates[row] = [estimate(readings, rate, time) for time in averaging_times]
    for column, time in enumerate(averaging_times):
        tolerance = allowed(band, duration, time)
        shown = estimates[:, column] / closed_form(time)
        assert shown == pytest.approx(np.ones(len(RATES)), abs=tolerance)
        # differences of two estimates scatter by √2 as much
        assert np.ptp(shown) < math.sqrt(2.0) * tolerance


def test_density_noise_has_the_allan_deviation_of_white_noise_at_any_rate():
    settings = {"noise_density": (0.02, 0.02, 0.02)}
    compare(settings, lambda t: 0.02 / math.sqrt(t), (0.1, 1.0, 10.0), WHITE)


def test_a_random_walk_has_its_allan_deviation_at_any_rate():
    settings = {"drift_type": DriftType.random_walk, "drift_walk": (0.02, 0.02, 0.02)}
    compare(settings, lambda t: 0.02 * math.sqrt(t / 3.0), (1.0, 10.0), WANDERING)


def test_a_gauss_markov_process_has_its_allan_deviation_at_any_rate():
    def closed_form(t):
        x = t / 2.0
        bracket = 1.0 - (3.0 - 4.0 * math.exp(-x) + math.exp(-2.0 * x)) / (2.0 * x)
        return 0.3 * math.sqrt(2.0 / x * bracket)

    settings = {
        "drift_type": DriftType.gauss_markov,
        "drift_std": (0.3, 0.3, 0.3),
        "drift_time_constant": 2.0,
        "drift_stationary": True,
    }
    # below, at, and above the maximum at 1.89 time constants
    compare(settings, closed_form, (1.0, 3.8, 10.0), WANDERING)


@pytest.mark.acceptance("IMU-1")
@pytest.mark.parametrize("rate", [100.0, 1000.0])
def test_imu_1_the_spread_of_a_walk_grows_with_the_root_of_time_at_any_step(rate):
    times = np.arange(round(10.0 * rate) + 1) / rate
    walk = {"drift_type": DriftType.random_walk, "drift_walk": (1e-3, 1e-3, 1e-3)}
    ends = [
        make(rate, seed, **walk).sample_batch(0, times, (0.0, 0.0, 0.0))[-1] for seed in range(1400)
    ]
    # the spread of 4200 runs scatters by 1.1 %
    assert np.std(ends) == pytest.approx(3.1623e-3, rel=0.04)


@pytest.mark.acceptance("COR-7")
def test_cor_7_a_gauss_markov_process_has_its_spread_and_its_correlation():
    settings = {"drift_type": DriftType.gauss_markov, "drift_std": (0.02,) * 3}
    assert TriaxialParameters().drift_time_constant == 100.0
    # 3000 time constants on three axes: spread and correlation scatter by 1.3 % and 0.02
    readings = simulate(1e5, 10.0, drift_stationary=True, **settings)
    assert np.std(readings) == pytest.approx(0.02, rel=0.04)
    correlation = np.mean(readings[1000:] * readings[:-1000]) / np.mean(readings**2)
    assert correlation == pytest.approx(0.3679, abs=0.05)


@pytest.mark.acceptance("COR-10")
def test_cor_10_a_gauss_markov_process_exceeds_three_sigma_as_often_as_the_normal_law():
    settings = {
        "drift_type": DriftType.gauss_markov,
        "drift_std": (0.02,) * 3,
        "drift_time_constant": 0.001,
    }
    # ten time constants between samples: all but independent
    readings = simulate(10_000.0, 100.0, drift_stationary=True, **settings)
    exceeding = np.count_nonzero(np.abs(readings) > 0.06)
    expected = 0.0026998 * readings.size
    assert abs(exceeding - expected) < 4.0 * math.sqrt(expected)


def test_a_drift_starts_at_zero_unless_its_long_run_law_is_asked_for():
    settings = {"drift_type": DriftType.gauss_markov, "drift_std": (1.0, 1.0, 1.0)}
    assert simulate(0.01, 100.0, **settings).tolist() == [[0.0, 0.0, 0.0]]
    starts = [
        make(100.0, seed, drift_stationary=True, **settings).sample(0, 0.0, (0.0,) * 3)
        for seed in range(1000)
    ]
    # 3000 draws scatter by 1.3 %
    assert np.std(starts) == pytest.approx(1.0, rel=0.052)


@pytest.mark.parametrize("mode", BoundMode)
@pytest.mark.parametrize("kind", [DriftType.random_walk, DriftType.gauss_markov])
def test_a_drift_stays_within_the_bound_of_its_axis(mode, kind):
    readings = simulate(
        200.0,
        100.0,
        drift_type=kind,
        drift_walk=(1.0, 1.0, 1.0),
        drift_std=(2.0, 2.0, 2.0),
        drift_time_constant=1.0,
        drift_bound=(0.5, 1.0, 0.0),
        drift_bound_mode=mode,
    )
    furthest = np.abs(readings).max(axis=0)
    assert 0.45 < furthest[0] <= 0.5
    assert 0.9 < furthest[1] <= 1.0
    assert furthest[2] > 2.0


def test_a_drift_depends_on_its_instants_only_and_these_may_be_unequal():
    settings = {"drift_type": DriftType.random_walk, "drift_walk": (1.0, 1.0, 1.0)}
    sensor = make(0.0, **settings)
    times = np.cumsum(np.random.default_rng(2).uniform(1e-3, 2.0, 20_000))
    steps = np.diff(sensor.sample_batch(0, times, (0.0,) * 3), axis=0)
    normalised = steps / np.sqrt(np.diff(times))[:, None]
    # 60000 draws scatter by 0.3 %
    assert np.std(normalised) == pytest.approx(1.0, rel=0.012)
    long = np.diff(times) > 1.0
    assert np.std(normalised[long]) == pytest.approx(np.std(normalised[~long]), rel=0.024)
