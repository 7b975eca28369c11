"""Bias instability: flicker noise whose Allan deviation is level, at any rate."""

import math

import numpy as np
import pytest

from sensor_models.inertial.corruption import DriftType
from sensor_models.inertial.triaxial import TriaxialParameters
from sensor_models.kernels.inertial import triaxial_layout as at
from sensor_models.kernels.inertial.corruption import FLICKER_STATES, FLICKER_WEIGHT
from tests.chain import Triaxial
from tests.sensor_models.inertial.test_drift import RATES, allowed, estimate, make, simulate

FLOOR = math.sqrt(2.0 * math.log(2.0) / math.pi)
#: As in ``test_drift``, for differences that are 1.25 T/t independent ones.
FLICKER_BAND = 1.24
#: What is stated of the sum of Gauss-Markov processes.
RIPPLE = 0.022


def test_the_allan_deviation_is_level_at_its_floor_and_agrees_between_rates():
    duration, times = 1200.0, (0.1, 0.3, 1.0, 3.0, 10.0)
    estimates = np.empty((len(RATES), len(times)))
    for row, rate in enumerate(RATES):
        readings = simulate(duration, rate, instability=(0.02, 0.02, 0.02))
        estimates[row] = [estimate(readings, rate, time) / (0.02 * FLOOR) for time in times]
    for column, time in enumerate(times):
        tolerance = allowed(FLICKER_BAND, duration, time) + RIPPLE
        assert estimates[:, column] == pytest.approx(np.ones(len(RATES)), abs=tolerance)
        assert np.ptp(estimates[:, column]) < math.sqrt(2.0) * tolerance


def test_the_allan_deviation_is_level_over_long_times_as_well():
    duration, rate = 200_000.0, 5.0
    readings = simulate(duration, rate, instability=(0.5, 0.5, 0.5))
    for time in (10.0, 100.0, 1000.0):
        tolerance = allowed(FLICKER_BAND, duration, time) + RIPPLE
        assert estimate(readings, rate, time) == pytest.approx(0.5 * FLOOR, rel=tolerance)


def test_the_floor_is_the_same_while_a_rate_is_not_declared():
    duration, rate = 2000.0, 100.0
    times = np.arange(round(duration * rate)) / rate
    readings = make(0.0, instability=(1.0, 1.0, 1.0)).sample_batch(0, times, (0.0,) * 3)
    tolerance = allowed(FLICKER_BAND, duration, 1.0) + RIPPLE
    assert estimate(readings, rate, 1.0) == pytest.approx(FLOOR, rel=tolerance)


def test_the_noise_has_no_age_its_spread_is_the_same_from_the_start():
    parameters = TriaxialParameters(instability=(1.0, 1.0, 1.0))
    times = np.arange(1001) / 100.0
    first, last = [], []
    for seed in range(1000):
        sensor = Triaxial(parameters, seed=seed, rate=100.0)
        readings = sensor.sample_batch(0, times, (0.0, 0.0, 0.0))
        first.append(readings[0])
        last.append(readings[-1])
    # 8 states of equal variance, the fastest of which count less when sampled at 100 Hz
    slow = math.sqrt((FLICKER_STATES - 2) * FLICKER_WEIGHT**2)
    full = math.sqrt(FLICKER_STATES * FLICKER_WEIGHT**2)
    # 3000 draws scatter by 1.3 %
    assert slow * 0.95 < np.std(first) < full * 1.05
    assert np.std(last) == pytest.approx(np.std(first), rel=0.08)


def test_every_state_keeps_the_variance_one():
    parameters = TriaxialParameters(instability=(1.0, 1.0, 1.0))
    times = np.cumsum(np.random.default_rng(8).uniform(1e-3, 50.0, 30))
    states = []
    for seed in range(1000):
        sensor = Triaxial(parameters, seed=seed)
        sensor.sample_batch(0, times, (0.0, 0.0, 0.0))
        states.append(sensor.state[at.FLICKER : at.FLICKER + 3 * FLICKER_STATES])
    # the variance of 1000 draws scatters by 4.5 %, 24 trials
    assert np.mean(np.square(states), axis=0) == pytest.approx(np.ones(24), abs=4.0 * 0.045)
    correlations = np.corrcoef(np.array(states).T) - np.eye(24)
    # 276 pairs of 1000 draws
    assert np.abs(correlations).max() < 4.5 / math.sqrt(1000)


def test_an_axis_without_instability_costs_the_others_nothing():
    every = simulate(2.0, 100.0, instability=(1.0, 1.0, 1.0))
    some = simulate(2.0, 100.0, instability=(0.0, 1.0, 0.0))
    assert some[:, 1].tobytes() == every[:, 1].tobytes()
    assert not some[:, ::2].any()


def test_the_type_flicker_is_instability_alone():
    settings = {"instability": (0.1, 0.2, 0.3), "drift_walk": (9.0, 9.0, 9.0)}
    alone = simulate(1.0, 100.0, instability=(0.1, 0.2, 0.3))
    assert (
        simulate(1.0, 100.0, drift_type=DriftType.flicker, **settings).tobytes() == alone.tobytes()
    )


def test_instability_adds_to_any_other_drift():
    markov = {"drift_type": DriftType.gauss_markov, "drift_std": (0.5, 0.5, 0.5)}
    flicker = {"instability": (0.1, 0.2, 0.3)}
    together = simulate(1.0, 100.0, **markov, **flicker)
    # one rounding of numbers below 4
    assert together == pytest.approx(
        simulate(1.0, 100.0, **markov) + simulate(1.0, 100.0, **flicker), abs=1e-15
    )
