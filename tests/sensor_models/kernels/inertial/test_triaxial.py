"""The compiled chain as other kernels call it: views, stages, steps of any length."""

import math
from statistics import NormalDist

import numpy as np
import pytest

from sensor_models.core.codes import RoundingMode
from sensor_models.core.faults import Fault, FaultMode, pack_fault
from sensor_models.inertial import triaxial
from sensor_models.inertial.corruption import DriftType
from sensor_models.inertial.triaxial import TriaxialParameters
from sensor_models.kernels.inertial import triaxial as kernel
from sensor_models.kernels.inertial import triaxial_layout as at
from sensor_models.kernels.math.faults import FAULT_SIZE
from tests import oracles

ALL = {
    "misalignment": (0.01, -0.02, 0.005, 0.0, 0.01, 0.02),
    "filter_cutoff": 30.0,
    "filter_order": 2,
    "delay": 0.012,
    "jitter": 1e-4,
    "range_lower": (-20.0, -20.0, -20.0),
    "range_upper": (20.0, 20.0, 20.0),
    "bias": (0.1, -0.2, 0.3),
    "bias_temperature": (1e-3, 0.0, -1e-3),
    "cross_axis": (1.0, 0.01, 0.0, 0.0, 1.0, 0.02, 0.0, 0.0, 1.0),
    "noise_rms": (0.01, 0.02, 0.03),
    "noise_density": (1e-3, 2e-3, 3e-3),
    "drift_type": DriftType.gauss_markov,
    "drift_std": (0.1, 0.2, 0.3),
    "drift_bound": (0.0, 0.1, 0.2),
    "drift_stationary": True,
    "instability": (0.01, 0.0, 0.02),
    "scale": (1.0, 2.0, 0.5),
    "scale_error": (0.01, 0.0, -0.01),
    "scale_temperature": (1e-4, 0.0, 0.0),
    "discretization_on": True,
    "discretization_lsb": (0.01, 0.0, 0.02),
    "saturation_on": True,
    "saturation_average": True,
    "saturation_min": (-5.0, -5.0, -5.0),
    "saturation_max": (5.0, 5.0, 5.0),
}
NO_FAULTS = np.zeros((3, FAULT_SIZE))


def arrays(rate=100.0, seed=1, **parameters):
    packed = triaxial.pack(TriaxialParameters(**parameters), rate, np.arange(9) * 1e-3)
    return packed, triaxial.stream_keys(seed, "sensor")


def run(packed, keys, dts, ideals, state=None, faults=NO_FAULTS):
    """All stages of all samples; the first dt is 0."""
    state = np.zeros(kernel.STATE_SIZE) if state is None else state
    stages = np.empty((len(dts), kernel.STAGE_ROWS, 3))
    force = np.array([0.1, 0.2, 9.8])
    for k, (dt, time) in enumerate(zip(dts, np.cumsum(dts), strict=True)):
        kernel.corrupt(packed, keys, state, faults, k, time, dt, 300.0, force, ideals[k], stages[k])
    return stages


def motion(count):
    return np.array([[3.0 * math.sin(0.1 * k), 0.2 * k % 7.0, -1.0] for k in range(count)])


def steps(count, dt=0.01):
    return np.concatenate([[0.0], np.full(count - 1, dt)])


def test_views_into_larger_arrays_serve_as_well():
    packed, keys = arrays(**ALL)
    alone = run(packed, keys, steps(50), motion(50))
    big_parameters, big_state = np.zeros(500), np.full(2000, 7.0)
    big_parameters[100 : 100 + packed.size] = packed
    view = big_state[300 : 300 + kernel.STATE_SIZE]
    all_keys = np.stack([keys, keys])
    inside = run(
        big_parameters[100 : 100 + packed.size], all_keys[1], steps(50), motion(50), state=view
    )
    assert inside.tobytes() == alone.tobytes()
    assert (big_state[:300] == 7.0).all()
    assert (big_state[300 + kernel.STATE_SIZE :] == 7.0).all()


def test_a_sample_without_dt_forgets_all_that_was_before():
    packed, keys = arrays(**ALL)
    fresh = run(packed, keys, steps(30), motion(30))
    state = np.zeros(kernel.STATE_SIZE)
    run(packed, keys, steps(77), motion(77) + 1.0, state=state)
    again = run(packed, keys, steps(30), motion(30), state=state)
    assert again.tobytes() == fresh.tobytes()


def test_the_stages_show_the_signal_on_its_way():
    packed, keys = arrays(
        bias=(0.26, 0.0, 0.0),
        discretization_on=True,
        discretization_mode=RoundingMode.floor,
        discretization_lsb=(0.5, 0.5, 0.5),
        saturation_on=True,
        saturation_min=(-1.0, -1.0, -1.0),
        saturation_max=(1.2, 1.2, 1.2),
        axes="xy",
    )
    faults = np.stack([pack_fault(Fault()), pack_fault(Fault(FaultMode.set, 9.0)), NO_FAULTS[2]])
    packed[at.FLAGS] = int(packed[at.FLAGS]) & ~at.ACCELERATED
    shown = run(packed, keys, [0.0], np.array([[2.0, 0.75, -3.0]]), faults=faults)[0]
    assert shown.tolist() == [
        [2.0, 0.75, -3.0],
        [2.26, 0.75, -3.0],
        [2.0, 0.5, -3.0],
        [1.0, 0.5, -1.0],
        [1.0, 9.0, 0.0],
    ]


def test_instants_of_a_rate_may_carry_rounding():
    packed, keys = arrays(rate=1000.0, **ALL | {"delay": 0.0, "jitter": 0.0})
    rough = np.diff([k / 1000.0 + 1e5 for k in range(100)], prepend=1e5)
    assert np.ptp(rough[1:]) > 0.0
    expected = run(packed, keys, steps(100, 0.001), motion(100))
    shown = run(packed, keys, rough, motion(100))
    # the low-pass takes the slope over the rounded interval, which is off by 1e-8 of it; a code
    # may then be the neighbour where a value lies next to an edge
    difference = shown[:, kernel.WITH_ERRORS] - expected[:, kernel.WITH_ERRORS]
    assert np.abs(difference).max() < 1e-6


def test_what_depends_on_dt_is_computed_for_each_new_dt():
    packed, _ = arrays(
        rate=0.0, noise_density=(1.0,) * 3, drift_type=DriftType.random_walk, drift_walk=(1.0,) * 3
    )
    state = np.zeros(kernel.STATE_SIZE)
    for dt in (0.01, 0.0101, 0.04, 0.04, 0.01, 0.01001, 1.0):
        at.prepare_step(packed, state, dt)
        # one quotient and one root, each rounded
        assert state[at.DENSITY_SIGMA] == pytest.approx(1.0 / math.sqrt(dt), rel=1e-15)
        assert state[at.DRIFT_SPREAD] == pytest.approx(math.sqrt(dt), rel=1e-15)


def noise_of(packed, keys, quiet, count):
    """What noisy parameters report of a signal of 0, less what quiet ones do."""
    signal = np.zeros((count, 3))
    noisy, still = (run(p, keys, steps(count), signal)[:, kernel.FINAL] for p in (packed, quiet))
    return noisy - still


@pytest.mark.acceptance("IMU-2")
@pytest.mark.parametrize("rate", [0.0, 100.0])
def test_imu_2_density_noise_has_the_density_over_the_root_of_the_step(rate):
    packed, keys = arrays(rate=rate, noise_density=(1e-3, 0.0, 0.0))
    count = 2000
    noise = noise_of(packed, keys, arrays(rate=rate)[0], count)[1:, 0]
    # the same draws from the generator of NumPy and the quantiles of the standard library
    key = keys[at.DENSITY_KEY]
    words = [oracles.random_words(key, k, 0)[0] for k in range(1, count)]
    draws = [NormalDist().inv_cdf(((int(word) >> 12) + 0.5) * 2.0**-52) for word in words]
    # quantiles differ by 2e-12 at most, and each draw belongs to one sample: exact, but for that
    assert noise == pytest.approx(0.01 * np.array(draws), abs=1e-13)
    assert noise.std() == pytest.approx(0.01, rel=4.0 / math.sqrt(2.0 * count))


@pytest.mark.acceptance("COR-13")
def test_cor_13_the_standard_deviation_that_is_entered_is_delivered():
    packed, keys = arrays(rate=100.0, noise_rms=(0.1, 0.1, 0.1))
    count = 30_000
    noise = noise_of(packed, keys, arrays(rate=100.0)[0], count)
    # 90000 draws scatter by 0.24 %
    assert noise.std() == pytest.approx(0.1, rel=0.01)
    assert noise.mean() == pytest.approx(0.0, abs=4.0 * 0.1 / math.sqrt(3 * count))


@pytest.mark.acceptance("TRI-2", "TRI-3", "TRI-4")
@pytest.mark.parametrize(
    ("density", "rate", "sigma", "tolerance"),
    [
        pytest.param(math.radians(0.0035), 200.0, 8.63894e-4, 1e-8, id="TRI-2"),
        pytest.param(0.14e-3 * 9.80665, 800.0, 0.0388324, 1e-6, id="TRI-3"),
        pytest.param(1e-3, 100.0, 0.01, 1e-12, id="TRI-4"),
    ],
)
def test_tri_2_tri_3_tri_4_density_noise_has_the_density_times_the_root_of_the_rate(
    density, rate, sigma, tolerance
):
    packed, keys = arrays(rate=rate, noise_density=(density, 0.0, 0.0))
    state = np.zeros(kernel.STATE_SIZE)
    run(packed, keys, steps(3, 1.0 / rate), motion(3), state=state)
    assert state[at.DENSITY_SIGMA] == pytest.approx(sigma, abs=tolerance)


def test_density_noise_needs_a_rate_or_a_time_since_the_last_sample():
    quiet = {"noise_density": (1.0, 1.0, 1.0)}
    packed, keys = arrays(rate=0.0, **quiet)
    packed[at.FLAGS] = at.DENSE
    first, second = run(packed, keys, [0.0, 0.01], np.ones((2, 3)))[:, kernel.FINAL]
    assert first.tolist() == [1.0, 1.0, 1.0]
    assert (second != 1.0).all()
    declared, _ = arrays(rate=100.0, **quiet)
    declared[at.FLAGS] = at.DENSE
    assert (run(declared, keys, [0.0], np.ones((1, 3)))[0, kernel.FINAL] != 1.0).all()


def test_a_bandwidth_takes_the_place_of_the_rate():
    for rate in (0.0, 50.0, 1000.0):
        packed, _ = arrays(rate=rate, noise_density=(0.5, 0.0, 0.0), noise_bandwidth=64.0)
        state = np.zeros(kernel.STATE_SIZE)
        for dt in (0.0, 0.01):
            at.prepare_step(packed, state, dt)
            assert state[at.DENSITY_SIGMA] == 4.0
