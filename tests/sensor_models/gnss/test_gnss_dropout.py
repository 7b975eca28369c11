"""Dropouts: how often and how long they are, and what they leave of a fix."""

import dataclasses
import math

import numpy as np
import pytest
from scipy import stats

from sensor_models.core.georeference import Georeference
from sensor_models.gnss.gnss import Gnss
from sensor_models.gnss.parameters import NO_DILUTION, ErrorMode, GnssParameters, Solution
from sensor_models.kernels.gnss import layout as at
from tests.trajectories import body_state

PLACE = Georeference(math.radians(48.1), math.radians(11.6), 520.0)
BETWEEN, LENGTH = 9.0, 3.0


def readings(step, count, **given):
    parameters = GnssParameters(dropout_interval=BETWEEN, dropout_duration=LENGTH, **given)
    gnss = Gnss(parameters, None, PLACE, seed=4)
    return gnss.sample_batch(0, step * np.arange(count), np.tile(body_state(), (count, 1)))


@pytest.mark.parametrize("step", [0.1, 1.0, 20.0])
def test_dropouts_are_as_often_and_as_long_as_they_should_be_at_any_rate(step):
    count = 60_000
    out = readings(step, count)[:, at.FIX] == 0.0
    share = LENGTH / (BETWEEN + LENGTH)
    left = math.exp(-step * (1.0 / BETWEEN + 1.0 / LENGTH))
    # a chain with the correlation r has (1 - r) / (1 + r) as many independent samples
    deviation = math.sqrt(share * (1.0 - share) / count * (1.0 + left) / (1.0 - left))
    assert out.mean() == pytest.approx(share, abs=4.5 * deviation)
    was, then = out[:-1], out[1:]
    for begins, chance in ((was, share + (1.0 - share) * left), (~was, share * (1.0 - left))):
        tries = int(begins.sum())
        assert stats.binomtest(int((then & begins).sum()), tries, chance).pvalue > 1e-4


def test_the_first_sample_has_the_law_of_all():
    parameters = GnssParameters(dropout_interval=BETWEEN, dropout_duration=LENGTH)
    out = sum(
        Gnss(parameters, None, PLACE, seed=seed).sample(0, 0.0, body_state()).fix == 0
        for seed in range(400)
    )
    assert stats.binomtest(out, 400, 0.25).pvalue > 1e-4


@pytest.mark.parametrize("mode", [ErrorMode.fixed, ErrorMode.dop, ErrorMode.pseudorange])
def test_a_dropout_takes_the_fix_and_leaves_the_noise_alone(mode):
    given = {"error_mode": mode, "velocity_correlated": 0.2}
    rows = readings(0.5, 400, **given)
    plain = Gnss(GnssParameters(**given), None, PLACE, seed=4)
    undisturbed = plain.sample_batch(0, 0.5 * np.arange(400), np.tile(body_state(), (400, 1)))
    out = rows[:, at.FIX] == 0.0
    assert 50 < out.sum() < 200
    signals = slice(at.LATITUDE, at.FIX)
    assert (rows[~out, signals] == undisturbed[~out, signals]).all()
    first = int(np.argmin(out))  # before the first fix there is the origin
    for k in np.flatnonzero(out):
        before = rows[k - 1, signals] if k > first else rows[0, signals]
        assert (rows[k, signals] == before).all(), "outputs hold"
    assert (rows[out, at.SATELLITES] == 0).all()
    assert (rows[out, at.DILUTIONS : at.ACCURACY] == NO_DILUTION).all()
    assert (rows[out, at.IN_USE : at.IN_USE + at.WORDS] == 0).all()


def test_an_rtk_solution_converges_anew_after_a_dropout():
    rows = readings(0.5, 600, solution=Solution.rtk, rtk_convergence_time=2.0)
    since = math.inf  # the first fix after a dropout
    for row in rows:
        time = float(row[at.TIME])
        if row[at.FIX] == 0.0:
            since = math.inf
            assert row[at.CARRIER] == 0.0
            continue
        since = min(since, time)
        assert row[at.CARRIER] == (2.0 if time - since >= 2.0 else 1.0)
    assert {0.0, 1.0, 2.0} == set(rows[:, at.CARRIER])


def test_a_state_in_a_dropout_goes_on_bit_by_bit():
    parameters = GnssParameters(dropout_interval=1.0, dropout_duration=4.0)
    gnss, other = (Gnss(parameters, None, PLACE, seed=1) for _ in range(2))
    fixes = [gnss.sample(k, 0.2 * k, body_state()).fix for k in range(20)]
    assert fixes[-1] == 0, "the seed was chosen for this"
    other.state = gnss.state
    for k in range(20, 60):
        first, second = (g.sample(k, 0.2 * k, body_state()) for g in (gnss, other))
        assert dataclasses.astuple(first) == dataclasses.astuple(second)
