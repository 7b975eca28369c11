"""Intervals of 95 % hold the truth, of data by generators that are not ours.

``python -m tests.fit_coverage KIND`` does so 200 times; here the fewest are demanded that chance
allows once in a thousand times.
"""

import pytest

from tests.fit_coverage import TRIALS, coverage, fewest

#: How many trials of each are affordable.
AFFORDABLE = {"imu": 4, "imu_gauss_markov": 3, "imu_basilisk": 4, "receiver": 3}
USUAL = 15


@pytest.mark.parametrize(
    "trial", [trial for trials in TRIALS.values() for trial in trials], ids=lambda t: t.__name__
)
def test_intervals_hold_the_truth(trial) -> None:
    trials = AFFORDABLE.get(trial.__name__, USUAL)
    for name, (held, there) in coverage(trial, trials).items():
        assert there >= 0.9 * trials - 1, name
        assert held >= fewest(there), name


def test_the_bound_is_that_of_chance() -> None:
    assert fewest(200) == 179
    assert fewest(40) == 33
    assert fewest(1) == 0
