"""Random errors of a receiver: their laws."""

import math

import numpy as np
import pytest
from scipy import stats

from sensor_models.core.random import stream_key
from sensor_models.kernels.gnss import errors, sky
from sensor_models.kernels.gnss import layout as at
from sensor_models.kernels.gnss.orbits import NUMBER, ORBIT_SIZE

KEYS = np.stack([stream_key(7, "gnss", term) for term in at.TERMS])
COUNT = 40


def run(samples, step, time_constant=60.0, multipath=at.BIAS):
    """The series of many satellites, (samples, COUNT, SERIES_SIZE)."""
    parameters = np.zeros(at.PARAMETERS_SIZE)
    parameters[at.TIME_CONSTANT], parameters[at.MULTIPATH] = time_constant, multipath
    orbits = np.zeros((COUNT, ORBIT_SIZE))
    orbits[:, NUMBER] = np.arange(COUNT)
    series = np.zeros((COUNT, at.SERIES_SIZE))
    kept = np.empty((samples, COUNT, at.SERIES_SIZE))
    for index in range(samples):
        errors.advance_ranges(parameters, KEYS, index, index > 0, step, orbits, series)
        kept[index] = series
    return kept


@pytest.mark.acceptance("GNSS-18")
def test_gnss_18_memory_and_drive():
    # the tolerance of the acceptance row
    expected = pytest.approx((0.99833472, 0.05768695), abs=1e-8)
    assert errors.memory_and_drive(0.1, 60.0) == expected


@pytest.mark.parametrize("step", [0.0, 1e-9, 3.0, 1e5])
def test_memory_and_drive_keep_the_variance(step):
    memory, drive = errors.memory_and_drive(step, 60.0)
    # two roundings
    assert memory**2 + drive**2 == pytest.approx(1.0, abs=4e-16)


def test_the_first_sample_has_the_law_of_all():
    first = run(1, 1.0)[0]
    many = run(400, 600.0)[:, :, at.RANGE_SERIES].ravel()  # ten time constants apart
    assert stats.kstest(many, "norm").pvalue > 1e-3
    assert stats.kstest(first[:, at.RANGE_SERIES], "norm").pvalue > 1e-3


def detours(series, mean=10.0):
    """The detours of hidden satellites and whether they are heard, by the kernel."""
    parameters = np.zeros(at.PARAMETERS_SIZE)
    parameters[at.NLOS_MEAN], parameters[at.NLOS_PROBABILITY] = mean, 1.0
    flat = series.reshape(-1, at.SERIES_SIZE)
    table = np.zeros((len(flat), sky.SKY_SIZE))
    table[:, sky.STATUS] = sky.HIDDEN
    errors.hear_hidden(parameters, flat, table)
    return table[:, sky.DETOUR].reshape(series.shape[:2])


def test_detours_are_exponential():
    found = detours(run(500, 1200.0))  # ten time constants of their series apart
    # exp(-10) of correlation is left, which the test does not feel
    assert stats.kstest(found.ravel(), "expon", args=(0.0, 10.0)).pvalue > 1e-3


def test_detours_are_correlated_over_the_time_constant():
    found = detours(run(4000, 20.0))
    centred = found - 10.0
    correlation = (centred[3:] * centred[:-3]).mean() / 100.0
    # 160 000 values, of which every third or so is new: 1 / sqrt(5e4) = 0.005, and 4 of these
    assert correlation == pytest.approx(math.exp(-1.0), abs=0.03)


@pytest.mark.parametrize("probability", [0.0, 0.2, 0.5, 0.97, 1.0])
def test_as_many_are_heard_as_asked_for(probability):
    series = run(300, 600.0).reshape(-1, at.SERIES_SIZE)
    parameters = np.zeros(at.PARAMETERS_SIZE)
    parameters[at.NLOS_PROBABILITY] = probability
    table = np.zeros((len(series), sky.SKY_SIZE))
    table[:, sky.STATUS] = sky.HIDDEN
    errors.hear_hidden(parameters, series, table)
    heard = (table[:, sky.STATUS] == sky.REFLECTED).mean()
    # four standard errors of a share of 12 000
    spread = 4.0 * math.sqrt(probability * (1.0 - probability) / len(series))
    assert heard == pytest.approx(probability, abs=spread)


def test_satellites_that_are_seen_or_below_the_mask_are_left_alone():
    series = run(1, 1.0)[0]
    parameters = np.zeros(at.PARAMETERS_SIZE)
    parameters[at.NLOS_PROBABILITY], parameters[at.NLOS_MEAN] = 1.0, 10.0
    table = np.zeros((COUNT, sky.SKY_SIZE))
    table[0::2, sky.STATUS] = sky.USED
    before = table.copy()
    errors.hear_hidden(parameters, series, table)
    assert (table == before).all()


def test_a_switch_of_the_bias_shifts_no_other_noise():
    with_bias = run(20, 5.0)[:, :, at.RANGE_SERIES]
    without = run(20, 5.0, multipath=at.NO_MULTIPATH)[:, :, at.RANGE_SERIES]
    assert (with_bias == without).all()
