"""The chain of a triaxial sensor: each stage alone, their order, and their independence."""

import math

import numpy as np
import pytest

from sensor_models.core.codes import RoundingMode
from sensor_models.core.faults import NO_FAULT, Fault, FaultMode, FaultWave
from sensor_models.core.quantities import ParameterError
from sensor_models.inertial.corruption import DriftType
from sensor_models.inertial.triaxial import TriaxialParameters
from tests import oracles
from tests.chain import Triaxial

LIMIT = (19.6133, 19.6133, 19.6133)
NEGATIVE_LIMIT = (-19.6133, -19.6133, -19.6133)


def make(rate=100.0, seed=1, sensor="imu", lae=None, **parameters):
    return Triaxial(
        TriaxialParameters(**parameters),
        seed=seed,
        sensor=sensor,
        rate=rate,
        linear_acceleration_effect=lae,
    )


def read(ideal, **settings):
    """The first reading of a new sensor."""
    inputs = {k: settings.pop(k) for k in ("temperature", "force", "faults") if k in settings}
    return make(**settings).sample(0, 0.0, ideal, **inputs).tolist()


def simulate(duration, rate, **settings):
    """The readings of a signal that is 0."""
    times = np.arange(round(duration * rate)) / rate
    return make(rate=rate, **settings).sample_batch(0, times, (0.0, 0.0, 0.0))


@pytest.mark.acceptance("TRI-1")
def test_tri_1_clamp_offset_and_cross_axis_come_in_this_order():
    shown = read(
        (25.0, -3.0, 9.8),
        cross_axis=(1.0, 0.01, 0.0, 0.0, 1.0, 0.02, 0.0, 0.0, 1.0),
        bias=(0.05, -0.02, 0.1),
        range_lower=NEGATIVE_LIMIT,
        range_upper=LIMIT,
    )
    assert shown == pytest.approx([19.6331, -2.822, 9.9], rel=0.0, abs=1e-9)


@pytest.mark.acceptance("TRI-4")
def test_tri_4_density_noise_has_its_allan_deviation_and_its_spectrum():
    readings = simulate(3600.0, 100.0, noise_density=(1e-3, 1e-3, 1e-3))
    assert np.std(readings) == pytest.approx(0.01, rel=3e-3)  # 1e6 draws scatter by 0.07 %
    deviations = [oracles.allan_deviation(axis, 100.0, 1.0) for axis in readings.T]
    assert math.sqrt(np.mean(np.square(deviations))) == pytest.approx(1e-3, rel=0.03)
    # one-sided: twice the periodogram, without the mean and the last frequency
    spectrum = 2.0 * np.abs(np.fft.rfft(readings, axis=0)[1:-1]) ** 2 / (100.0 * len(readings))
    assert math.sqrt(np.mean(spectrum)) == pytest.approx(1.414e-3, rel=0.01)


@pytest.mark.acceptance("TRI-5")
@pytest.mark.parametrize("rate", [0.0, 100.0])
def test_tri_5_with_everything_off_the_signal_passes_bit_by_bit(rate):
    values = (
        np.random.default_rng(5).normal(size=(200, 3)) * 10.0 ** np.arange(-300, 300, 3)[:, None]
    )
    values[0] = (-0.0, 5e-324, 1.7e308)
    sensor = make(rate=rate)
    for k, value in enumerate(values):
        assert sensor.sample(k, 0.01 * k, value).tobytes() == value.tobytes()
        stages = sensor.stages
        assert {stage.tobytes() for stage in stages} == {value.tobytes()}


@pytest.mark.parametrize("axis", range(3))
def test_a_misaligned_axis_is_turned_toward_another_by_its_angle(axis):
    other = (axis + 1) % 3
    angles = {(0, 1): 0, (1, 2): 3, (2, 0): 4}
    misalignment = np.zeros(6)
    misalignment[angles[axis, other]] = 0.3
    expected = np.zeros(3)
    expected[axis], expected[other] = 2.0 * math.cos(0.3) + 5.0 * math.sin(0.3), 5.0
    ideal = np.zeros(3)
    ideal[axis], ideal[other] = 2.0, 5.0
    # a few roundings of numbers below 10
    assert read(ideal, misalignment=tuple(misalignment)) == pytest.approx(expected, abs=1e-14)


def test_an_axis_that_is_misaligned_twice_still_has_length_one():
    rows = [read(e, misalignment=(0.2, -0.3, 0.0, 0.1, 0.4, 0.4)) for e in np.eye(3)]
    assert np.linalg.norm(rows, axis=0) == pytest.approx([1.0, 1.0, 1.0], abs=1e-15)


def test_offset_and_scale_follow_the_temperature():
    settings = {
        "bias": (0.1, 0.0, 0.0),
        "bias_temperature": (0.01, -0.02, 0.0),
        "reference_temperature": 300.0,
        "scale": (2.0, 1.0, 1.0),
        "scale_error": (0.1, 0.0, 0.5),
        "scale_temperature": (1e-3, 0.0, -1e-2),
    }
    at_reference = read((1.0, 1.0, 1.0), **settings)
    warmer = read((1.0, 1.0, 1.0), temperature=310.0, **settings)
    # products of a few rounded numbers
    assert at_reference == pytest.approx([1.1 * 2.2, 1.0, 1.5], rel=1e-15)
    assert warmer == pytest.approx([1.2 * 2.0 * (1.1 + 0.01), 0.8, 1.5 - 0.1], rel=1e-15)


def test_the_linear_acceleration_effect_is_added_after_the_cross_axis():
    matrix = np.arange(9).reshape(3, 3) * 0.1
    force = np.array([1.0, -2.0, 3.0])
    shown = read(
        (1.0, 2.0, 3.0), lae=matrix, force=force, cross_axis=(2.0, 0, 0, 0, 2.0, 0, 0, 0, 2.0)
    )
    # a few roundings of numbers below 10
    assert shown == pytest.approx(2.0 * np.array([1.0, 2.0, 3.0]) + matrix @ force, abs=1e-14)


def test_all_stages_without_noise_are_the_formula_of_the_specification():
    generator = np.random.default_rng(17)
    cross, lae = np.eye(3) + 0.1 * generator.normal(size=(3, 3)), generator.normal(size=(3, 3))
    bias, scale = generator.normal(size=3), generator.uniform(0.5, 2.0, size=3)
    sensor = make(
        lae=lae,
        range_lower=(-4.0, -4.0, -4.0),
        range_upper=(3.0, 3.0, 3.0),
        bias=tuple(bias),
        cross_axis=tuple(cross.ravel()),
        scale=tuple(scale),
        discretization_on=True,
        discretization_mode=RoundingMode.floor,
        discretization_lsb=(0.25, 0.5, 0.125),
        saturation_on=True,
        saturation_min=(-2.1, -3.3, -5.0),
        saturation_max=(2.1, 3.3, 5.0),
        axes="zx",
    )
    steps = np.array([0.25, 0.5, 0.125])
    for k in range(500):
        ideal, force = generator.normal(size=3) * 4.0, generator.normal(size=3)
        shown = sensor.sample(k, 0.01 * k, ideal, force=force)
        erroneous = scale * (cross @ (np.clip(ideal, -4.0, 3.0) + bias) + lae @ force)
        discrete = steps * np.floor(erroneous / steps)
        # the limits are the last codes inside of 2.1, 3.3 and 5
        saturated = np.clip(discrete, (-2.0, -3.0, -5.0), (2.0, 3.0, 5.0))
        # the order of sums of numbers below 30
        assert sensor.stages.with_errors == pytest.approx(erroneous, abs=1e-13)
        assert sensor.stages.discrete.tolist() == discrete.tolist()
        assert shown.tolist() == [saturated[2], saturated[0]]


TERMS = {
    "noise": {"noise_rms": (0.1, 0.2, 0.3)},
    "density": {"noise_density": (0.1, 0.2, 0.3)},
    "drift": {"drift_type": DriftType.random_walk, "drift_walk": (0.1, 0.2, 0.3)},
    "instability": {"instability": (0.1, 0.0, 0.3)},
}


@pytest.mark.parametrize("term", TERMS)
def test_a_term_that_is_switched_off_shifts_no_other(term):
    every = {name: value for settings in TERMS.values() for name, value in settings.items()}
    others = {name: value for name, value in every.items() if name not in TERMS[term]}
    together, without = simulate(2.0, 100.0, **every), simulate(2.0, 100.0, **others)
    alone = simulate(2.0, 100.0, **TERMS[term])
    # sums of four numbers below 5 in another order
    assert together - without == pytest.approx(alone, abs=1e-14)
    assert np.ptp(alone[:, 0]) > 0.0


def test_terms_axes_sensors_and_seeds_have_noise_of_their_own():
    columns = [
        *simulate(200.0, 100.0, noise_rms=(1.0, 1.0, 1.0)).T,
        *simulate(200.0, 100.0, noise_density=(0.1, 0.1, 0.1)).T,
        *simulate(200.0, 100.0, noise_rms=(1.0, 1.0, 1.0), seed=2).T,
        *simulate(200.0, 100.0, noise_rms=(1.0, 1.0, 1.0), sensor="other").T,
    ]
    correlations = np.corrcoef(columns) - np.eye(len(columns))
    # 20000 draws, 66 pairs: 4.5 standard deviations
    assert np.abs(correlations).max() < 4.5 / math.sqrt(20_000)


def test_noise_has_the_standard_deviation_of_its_axis():
    readings = simulate(2000.0, 100.0, noise_rms=(0.1, 2.0, 0.0))
    # 200000 draws scatter by 0.16 %
    assert np.std(readings[:, :2], axis=0) == pytest.approx([0.1, 2.0], rel=0.008)
    assert readings[:, 2].tolist() == [0.0] * len(readings)


def test_the_reading_is_as_old_as_the_delay():
    times = np.arange(300) / 100.0
    line = np.stack([times, -2.0 * times, np.ones_like(times)], axis=1)
    shown = make(delay=0.0345).sample_batch(0, times, line)
    delayed = np.maximum(times - 0.0345, 0.0)
    # roundings of instants up to 3 s
    assert shown[:, 0] == pytest.approx(delayed, abs=1e-14)
    assert shown[:, 1] == pytest.approx(-2.0 * delayed, abs=1e-14)


def test_jitter_makes_the_reading_older_by_its_root_mean_square():
    times = np.arange(100_000) / 100.0
    line = np.repeat(times[:, None], 3, axis=1)
    shown = make(delay=0.02, jitter=0.005).sample_batch(0, times, line)[100:]
    extra = times[100:] - shown[:, 0] - 0.02
    assert extra.min() > -1e-12
    # the squares of 1e5 normal draws scatter by 0.45 %, their mean by half of it
    assert math.sqrt(np.mean(extra**2)) == pytest.approx(0.005, rel=0.01)
    assert np.ptp(shown, axis=1).max() == 0.0


def test_saturation_on_the_average_lets_a_single_value_pass():
    limits = {"saturation_on": True, "saturation_min": (-1.0,) * 3, "saturation_max": (1.0,) * 3}
    signal = [0.5, 1.25, 1.25, 0.0, -1.5, -1.5]
    value = np.repeat(np.array(signal)[:, None], 3, axis=1)
    times = np.arange(6.0)
    each = make(**limits).sample_batch(0, times, value)[:, 0]
    mean = make(saturation_average=True, **limits).sample_batch(0, times, value)[:, 0]
    assert each.tolist() == [0.5, 1.0, 1.0, 0.0, -1.0, -1.0]
    # means of neighbours: 0.5, 0.875, 1.25, 0.625, -0.75, -1.5
    assert mean.tolist() == [0.5, 1.25, 1.0, 0.0, -1.5, -1.0]


def test_faults_come_last_on_their_own_axis():
    sensor = make(
        bias=(1.0, 1.0, 1.0),
        discretization_on=True,
        discretization_lsb=(1.0, 1.0, 1.0),
        saturation_on=True,
        saturation_min=(-4.5, -4.5, -4.5),
        saturation_max=(4.5, 4.5, 4.5),
    )
    faults = (
        Fault(FaultMode.max),
        NO_FAULT,
        Fault(wave=FaultWave.square, amplitude=0.25, period=1.0),
    )
    # the largest code within the limits is 4; the wave is added behind the codes
    assert sensor.sample(0, 0.0, (0.0, 2.0, 8.0), faults=faults).tolist() == [4.0, 3.0, 4.25]


def test_modes_that_need_limits_are_refused_without_them():
    sensor = make(saturation_min=(-1.0, -1.0, -1.0), saturation_max=(1.0, 1.0, 1.0))
    with pytest.raises(ParameterError, match=r"fault.mode of y = 5 \(max\) needs limits"):
        sensor.sample(0, 0.0, (0.0,) * 3, faults=(NO_FAULT, Fault(FaultMode.max), NO_FAULT))
