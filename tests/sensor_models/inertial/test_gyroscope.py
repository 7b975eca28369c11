"""The gyroscope: acceptance rows, linear-acceleration effect, bad input."""

import math

import numpy as np
import pytest

from sensor_models.core.frames import MountParameters
from sensor_models.core.quantities import quantities_of
from sensor_models.inertial.corruption import DriftType
from sensor_models.inertial.gyroscope import Gyroscope, GyroscopeParameters, GyroscopeReading
from sensor_models.inertial.unit import AccelerationInputs, Differentiation
from tests import oracles
from tests.trajectories import Swing, body_state

G = 9.80665
#: 0.1 deg/s/g on the diagonal.
EFFECT = tuple((math.radians(0.1) / G * np.eye(3)).ravel().tolist())


def make(position=(0.0, 0.0, 0.0), orientation=(1.0, 0.0, 0.0, 0.0), inputs=False, **parameters):
    return Gyroscope(
        GyroscopeParameters(**parameters),
        MountParameters(position, orientation),
        1,
        "gyroscope",
        100.0,
        inputs=AccelerationInputs(inputs),
    )


@pytest.mark.acceptance("GYR-1")
def test_gyr_1_a_turned_frame_keeps_the_length_of_the_rate():
    # the product of a quarter turn about z and one about the x axis of the yawed frame
    yawed_then_rolled = (0.5, 0.5, 0.5, 0.5)
    reading = make(orientation=yawed_then_rolled).sample(
        0, 0.0, body_state(angular_velocity=(0.0, 0.0, 1.0))
    )
    # the tolerance of the acceptance row
    assert math.hypot(*reading.angular_rate) == pytest.approx(1.0, abs=1e-12)
    # the up axis of the world is the left axis of the frame
    assert reading.angular_rate == pytest.approx((0.0, 1.0, 0.0), abs=1e-12)


@pytest.mark.acceptance("GYR-2")
def test_gyr_2_gravity_alone_shows_through_the_linear_acceleration_effect():
    reading = make(linear_acceleration_effect=EFFECT).sample(0, 0.0, body_state())
    # the tolerance of the acceptance row
    assert reading.angular_rate == pytest.approx((0.0, 0.0, 1.745329e-3), abs=1e-9)


@pytest.mark.acceptance("GYR-3")
def test_gyr_3_range_bias_cross_axis_and_effect_follow_in_this_order():
    limit = math.radians(250.0)
    gyroscope = make(
        range_lower=(-limit,) * 3,
        range_upper=(limit,) * 3,
        bias=(0.01, 0.0, -0.01),
        cross_axis=(1.0, 0.01, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0),
        linear_acceleration_effect=EFFECT,
    )
    reading = gyroscope.sample(0, 0.0, body_state(angular_velocity=(5.0, 0.5, -0.2)))
    # the tolerance of the acceptance row
    assert reading.angular_rate == pytest.approx((4.378323, 0.5, -0.208255), abs=1e-6)


@pytest.mark.acceptance("GYR-4")
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_gyr_4_a_rate_that_is_not_finite_spoils_its_own_sample_only(bad):
    noise = {
        "noise_rms": (0.01,) * 3,
        "noise_density": (1e-3,) * 3,
        "drift_type": DriftType.random_walk,
        "drift_walk": (1e-3,) * 3,
        "instability": (1e-3,) * 3,
    }
    disturbed, undisturbed = make(**noise), make(**noise)
    for k in range(50):
        body = body_state(angular_velocity=(0.1 * k, 0.0, 1.0))
        expected = undisturbed.sample(k, 0.01 * k, body)
        if k in (0, 20, 21, 37):
            body[10] = bad
            reading = disturbed.sample(k, 0.01 * k, body)
            assert np.isnan(reading.angular_rate).all()
        else:
            assert disturbed.sample(k, 0.01 * k, body) == expected
    assert disturbed.state.tobytes() == undisturbed.state.tobytes()


def test_with_everything_off_the_reading_is_the_rate_bit_for_bit():
    rates = np.random.default_rng(5).normal(size=(50, 3))
    gyroscope = make()
    for k, rate in enumerate(rates):
        reading = gyroscope.sample(k, 0.01 * k, body_state(angular_velocity=rate))
        assert reading.angular_rate == tuple(rate.tolist())


def test_the_effect_takes_the_force_at_the_place_and_in_the_frame_of_the_gyroscope():
    swing, place = Swing(), (0.4, -0.3, 0.2)
    turn = oracles.turn((1.0, 2.0, 3.0), 0.8)
    effect = np.arange(1.0, 10.0).reshape(3, 3) * 1e-3
    gyroscope = make(
        place, turn, inputs=True, linear_acceleration_effect=tuple(effect.ravel().tolist())
    )
    to_sensor = oracles.matrix_of_turn((1.0, 2.0, 3.0), 0.8).T
    rate_w = swing.angle(0.3, 1) * swing.direction()
    reading = gyroscope.sample(0, 0.3, swing.state(0.3, accelerations=True))
    expected = to_sensor @ swing.rotation(0.3).T @ rate_w
    expected += effect @ to_sensor @ swing.force(0.3, place)
    # what the twin's differences leave out, 1e-5 m/s2, times the effect
    assert np.array(reading.angular_rate) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize(
    ("differentiation", "expected"), [(Differentiation.backward, 3.0), (Differentiation.bdf2, 4.0)]
)
def test_the_effect_has_a_differentiation_of_its_own(differentiation, expected):
    gyroscope = make(
        differentiation=differentiation,
        linear_acceleration_effect=(1.0, 0.0, 0.0) + (0.0,) * 6,
    )
    for k in range(3):
        # the derivative of t^2 at 2 is 4, the mean over the last second 3
        reading = gyroscope.sample(k, float(k), body_state(velocity=(float(k**2), 0.0, 0.0)))
    assert reading.angular_rate[0] == pytest.approx(expected, abs=1e-12)


def test_names_and_units_are_those_of_the_interface():
    own = quantities_of(GyroscopeParameters)
    effect = own["linear_acceleration_effect"]
    assert effect.name == "linear_acceleration_effect"
    assert effect.components == ("xx", "xy", "xz", "yx", "yy", "yz", "zx", "zy", "zz")
    assert effect.unit == "rad.s/m"
    assert own["bias"].unit == "rad/s"
    reading = quantities_of(GyroscopeReading)
    assert [(q.name, q.unit) for q in reading.values()] == [("angular_rate", "rad/s")]
