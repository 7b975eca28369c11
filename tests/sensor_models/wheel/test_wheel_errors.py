"""Zero offset, drift and limits of encoder and odometer, each alone and against its closed form."""

import math

import numpy as np
import pytest

from sensor_models.core.faults import Fault, FaultMode
from sensor_models.core.quantities import ParameterError
from sensor_models.core.random import stream_key
from sensor_models.wheel.encoder import Encoder, EncoderMode, EncoderParameters
from sensor_models.wheel.errors import AngleErrors, DistanceErrors
from sensor_models.wheel.odometer import (
    Odometer,
    OdometerAccumulate,
    OdometerOrder,
    OdometerParameters,
)

#: An encoder that shows any position as it is.
WIDE = EncoderParameters(mode=EncoderMode.absolute, lower=-1e6, upper=1e6)
UNIT_WHEEL = OdometerParameters(wheel_radius=1.0)
TIMES = np.arange(400) * 0.25


def key(seed=1):
    return stream_key(seed, "wheel", "noise")


def encoder_shows(positions, own=WIDE, seed=1, times=TIMES, **errors):
    times = times[: len(positions)]
    return Encoder(own, key(seed), AngleErrors(**errors)).sample_batch(0, times, positions).position


def odometer_shows(positions, own=UNIT_WHEEL, seed=1, times=TIMES, **errors):
    times = times[: len(positions)]
    return Odometer(own, key(seed), DistanceErrors(**errors)).sample_batch(0, times, positions)


SHOWN = pytest.mark.parametrize("shown", [encoder_shows, odometer_shows])
POSITIONS = 3.0 * np.sin(TIMES)


@SHOWN
def test_no_error_leaves_the_bits_of_the_signal(shown):
    signal = np.array([0.0, 0.1, -0.1, 1e-300, 12345.678])
    assert shown(signal).tobytes() == signal.tobytes()
    wide = shown(signal, saturation_on=True)
    assert wide.tobytes() == signal.tobytes()
    assert math.copysign(1.0, encoder_shows(np.array([-0.0]))[0]) == -1.0


@SHOWN
def test_a_bias_is_added(shown):
    np.testing.assert_array_equal(shown(POSITIONS, bias=0.125), POSITIONS + 0.125)


def test_the_bias_of_an_encoder_comes_before_its_codes_and_wraps():
    own = EncoderParameters(resolution=0.25, lower=0.0, upper=1.0)
    found = encoder_shows(np.array([0.0, 0.2, 0.9]), own, bias=0.1)
    assert found.tolist() == [0.0, 0.25, 0.0]


def test_the_bias_of_an_odometer_is_no_motion():
    own = OdometerParameters(wheel_radius=1.0, accumulate=OdometerAccumulate.absolute)
    assert odometer_shows(np.array([0.0, 2.0, 1.0]), own, bias=0.5).tolist() == [0.5, 2.5, 3.5]


@SHOWN
def test_a_walk_begins_at_0_and_its_variance_grows_with_time(shown):
    walk, still = 0.3, np.zeros(len(TIMES))
    runs = np.array([shown(still, seed=seed, drift_walk=walk) for seed in range(400)])
    assert (runs[:, 0] == 0.0).all()
    for place in (4, 40, 399):
        spread = runs[:, place].std()
        # the standard deviation of 400 draws is known to 1/sqrt(800), 3.5 %; four of these
        assert spread == pytest.approx(walk * math.sqrt(TIMES[place]), rel=0.15)
    steps = np.diff(runs, axis=1)
    assert steps.std() == pytest.approx(walk * math.sqrt(0.25), rel=0.01)
    assert abs(np.corrcoef(steps[:, 0], steps[:, 1])[0, 1]) < 0.2


@SHOWN
def test_the_law_of_a_walk_is_that_of_any_cutting_of_time(shown):
    coarse = [
        shown(np.zeros(2), seed=s, times=np.array([0.0, 9.0]), drift_walk=0.5)[1]
        for s in range(2000)
    ]
    assert np.std(coarse) == pytest.approx(1.5, rel=0.07)


@SHOWN
def test_a_bounded_walk_stays_within_its_bound(shown):
    found = shown(np.zeros(400), drift_walk=0.5, drift_bound=0.75)
    assert np.abs(found).max() <= 0.75
    assert np.abs(found).max() > 0.7
    assert len(set(found)) == 400


def test_the_walk_does_not_disturb_the_noise():
    own = EncoderParameters(mode=EncoderMode.absolute, lower=-9.0, upper=9.0, noise_rms=0.1)
    noise = encoder_shows(np.zeros(400), own)
    walk = encoder_shows(np.zeros(400), drift_walk=0.2)
    both = encoder_shows(np.zeros(400), own, drift_walk=0.2)
    np.testing.assert_allclose(both, noise + walk, rtol=0.0, atol=1e-14)
    assert abs(np.corrcoef(noise[1:], np.diff(walk))[0, 1]) < 0.2


@SHOWN
def test_what_is_reported_is_limited(shown):
    found = shown(POSITIONS, saturation_on=True, saturation_min=-1.0, saturation_max=2.0)
    np.testing.assert_array_equal(found, np.clip(POSITIONS, -1.0, 2.0))
    off = shown(POSITIONS, saturation_min=-1.0, saturation_max=2.0)
    np.testing.assert_array_equal(off, POSITIONS)


def test_limits_come_after_noise():
    own = OdometerParameters(wheel_radius=1.0, noise_rms=1.0, order=OdometerOrder.binning_first)
    found = odometer_shows(np.zeros(400), own, saturation_on=True, saturation_max=0.5)
    assert found.max() == 0.5
    assert found.min() < -1.0


LIMITS = {"saturation_on": True, "saturation_min": -1.5, "saturation_max": 2.5}


@pytest.mark.parametrize(
    ("mode", "shown"), [(FaultMode.on, 2.5), (FaultMode.max, 2.5), (FaultMode.min, -1.5)]
)
def test_faults_are_stuck_at_the_limits(mode, shown):
    fault = Fault(mode=mode)
    encoder = Encoder(WIDE, key(), AngleErrors(**LIMITS))
    assert encoder.sample(0, 0.0, 0.7, fault).position == shown
    odometer = Odometer(UNIT_WHEEL, key(), DistanceErrors(**LIMITS))
    assert odometer.sample(0, 0.0, 0.7, fault).distance == shown
    with pytest.raises(ParameterError, match="needs limits"):
        Odometer(UNIT_WHEEL, key()).sample(0, 0.0, 0.7, fault)


def test_the_limits_of_an_encoder_are_the_narrower_ones():
    own = EncoderParameters(mode=EncoderMode.absolute, lower=0.0, upper=2.0)
    limits = AngleErrors(saturation_on=True, saturation_min=-5.0, saturation_max=1.5)
    encoder = Encoder(own, key(), limits)
    assert encoder.sample(0, 0.0, 1.0, Fault(mode=FaultMode.min)).position == 0.0
    assert encoder.sample(1, 1.0, 1.0, Fault(mode=FaultMode.max)).position == 1.5


def test_limits_out_of_order_are_refused():
    with pytest.raises(ParameterError, match=r"saturation\.min = 2\.0 rad is above"):
        AngleErrors(saturation_min=2.0, saturation_max=1.0)


@pytest.mark.parametrize("kind", ["encoder", "odometer"])
def test_a_state_goes_on_with_its_drift(kind):
    def new():
        if kind == "encoder":
            return Encoder(WIDE, key(), AngleErrors(drift_walk=0.3))
        return Odometer(UNIT_WHEEL, key(), DistanceErrors(drift_walk=0.3))

    first, second = new(), new()
    for k in range(5):
        first.sample(k, 0.1 * k, 1.0)
    second.state = first.state
    assert second.sample(5, 0.5, 1.0) == first.sample(5, 0.5, 1.0)
    first.reset()
    assert first.sample(0, 0.0, 1.0) == new().sample(0, 0.0, 1.0)
