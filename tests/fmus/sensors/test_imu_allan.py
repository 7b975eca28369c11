"""Allan deviations of an IMU's readings at 50, 100, 400 and 1000 Hz: within their 95 % band.

Half the width of the interval that holds 95 % of all estimates at the averaging time t from a run
of length T is, relative to the true value, 1.13 √(t/T) for white noise, and about 1.39 √(t/T) for
processes that wander within t, 1.24 √(t/T) for flicker noise: they have 1.5 T/t, T/t and 1.25 T/t
independent differences. One in twenty estimates lies outside by chance, so each process is
estimated on several axes at all rates, and so many are counted.
"""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from sensor_models.inertial.allan import FLOOR
from sensor_models.inertial.corruption import DriftType
from tests import oracles
from tests.fmus.driving import record_run
from tests.fmus.histories import SUBSENSORS
from tests.fmus.inertial import spread

RATES = (50.0, 100.0, 400.0, 1000.0)
DURATION, AVERAGING_TIME = 60.0, 1.0


class Process(NamedTuple):
    """Parameters of a process, its Allan deviation, and the band of its estimates."""

    parameters: dict[str, Any]
    deviation: Callable[[float], float]
    band: float


def gauss_markov(time: float) -> float:
    """Of the standard deviation 1 and the time constant 2 s."""
    x = time / 2.0
    bracket = 1.0 - (3.0 - 4.0 * math.exp(-x) + math.exp(-2.0 * x)) / (2.0 * x)
    return math.sqrt(2.0 / x * bracket)


ONES = (1.0, 1.0, 1.0)
PROCESSES = {
    "white noise": Process(spread("noise.density", ONES), lambda t: 1.0 / math.sqrt(t), 1.13),
    "random walk": Process(
        {"drift.type": DriftType.random_walk, **spread("drift.walk", ONES)},
        lambda t: math.sqrt(t / 3.0),
        1.39,
    ),
    "gauss-markov": Process(
        {
            "drift.type": DriftType.gauss_markov,
            "drift.time_constant": 2.0,
            "drift.stationary_start": True,
            **spread("drift.std", ONES),
        },
        gauss_markov,
        1.39,
    ),
    "flicker": Process(
        {"drift.type": DriftType.flicker, **spread("instability", ONES)}, lambda t: FLOOR, 1.24
    ),
}


@pytest.mark.parametrize("name", PROCESSES)
def test_allan_deviations_are_within_their_band_and_agree_between_rates(
    imu_fmu: Path, tmp_path: Path, name: str
) -> None:
    process = PROCESSES[name]
    errors = {f"{s}.{n}": value for s in SUBSENSORS for n, value in process.parameters.items()}
    estimates = []
    for rate in RATES:
        end = DURATION - 1.0 / rate
        record = record_run(
            imu_fmu,
            tmp_path / str(rate),
            [0.0, end, DURATION],
            lambda t: {},
            {**errors, "gravity.z": 0.0, "sample_rate": rate, "seed": 2},
        )
        axes = [record[f"{sensor}.{axis}"] for sensor in SUBSENSORS for axis in "xyz"]
        assert {len(axis) for axis in axes} == {round(DURATION * rate)}
        estimates.append([oracles.allan_deviation(a, rate, AVERAGING_TIME) for a in axes])
    relative = np.array(estimates) / process.deviation(AVERAGING_TIME) - 1.0
    band = process.band * math.sqrt(AVERAGING_TIME / DURATION)
    # of 36 with a chance of 0.05 each, more than 6 are outside once in 500 times
    assert np.count_nonzero(np.abs(relative) > band) <= 6
    # The mean of nine at each rate has a third of the band, and the difference of two rates √2 of
    # that; chance exceeds twice that once in 10000 cases.
    means = relative.mean(axis=1)
    assert np.abs(means).max() < 2.0 * band / 3.0
    assert np.ptp(means) < 2.0 * math.sqrt(2.0) * band / 3.0
