"""The magnetometer: acceptance rows, fields that change with place."""

import math

import numpy as np
import pytest

from sensor_models.core.frames import MountParameters
from sensor_models.core.quantities import quantities_of
from sensor_models.inertial.magnetic_field import dipole, function_of_place, uniform
from sensor_models.inertial.magnetometer import (
    Magnetometer,
    MagnetometerParameters,
    MagnetometerReading,
)
from tests import oracles
from tests.trajectories import Swing, body_state

FIELD = (20e-6, 0.0, -45e-6)


def make(position=(0.0, 0.0, 0.0), orientation=(1.0, 0.0, 0.0, 0.0), field=None, **parameters):
    return Magnetometer(
        MagnetometerParameters(**parameters),
        MountParameters(position, orientation),
        1,
        "magnetometer",
        field=field,
    )


@pytest.mark.acceptance("MAG-1")
def test_mag_1_a_frame_that_is_yawed_left_sees_north_on_its_right():
    yawed = oracles.turn((0, 0, 1), math.pi / 2)
    by_mount = make(orientation=yawed, field=uniform(FIELD)).sample(0, 0.0, body_state())
    by_body = make(field=uniform(FIELD)).sample(0, 0.0, body_state(orientation=yawed))
    for reading in (by_mount, by_body):
        # the tolerance of the acceptance row, which is in uT
        expected = pytest.approx((0.0, -20e-6, -45e-6), abs=1e-18)
        assert reading.flux_density == expected


@pytest.mark.acceptance("MAG-2")
def test_mag_2_turning_keeps_the_strength():
    rng = np.random.default_rng(4)
    for turn in rng.normal(size=(50, 4)):
        body = body_state(orientation=turn / np.linalg.norm(turn))
        reading = make(field=FIELD_OF_ROW).sample(0, 0.0, body)
        # the tolerance of the acceptance row, in uT; it prints five decimals
        strength = math.hypot(*reading.flux_density) * 1e6
        assert strength == pytest.approx(math.hypot(20.0, 45.0), abs=1e-10)
        assert strength == pytest.approx(49.24429, abs=5e-6)


FIELD_OF_ROW = uniform(FIELD)


@pytest.mark.acceptance("MAG-4")
def test_mag_4_the_input_range_cuts_a_field_that_is_too_strong():
    magnetometer = make(range_lower=(-40e-6,) * 3, range_upper=(40e-6,) * 3, field=FIELD_OF_ROW)
    assert magnetometer.sample(0, 0.0, body_state()).flux_density == (20e-6, 0.0, -40e-6)


def test_the_field_of_the_parameters_serves_where_no_other_is_given():
    assert make().sample(0, 0.0, body_state()).flux_density == (0.0, 0.0, 0.0)
    assert make(field=None).parameters.field == (0.0, 0.0, 0.0)
    own = Magnetometer(MagnetometerParameters(field=FIELD), MountParameters(), 1, "m")
    assert own.sample(0, 0.0, body_state()).flux_density == FIELD
    other = Magnetometer(
        MagnetometerParameters(field=FIELD), MountParameters(), 1, "m", field=uniform((1.0, 0, 0))
    )
    assert other.sample(0, 0.0, body_state()).flux_density == (1.0, 0.0, 0.0)


def gradient(position):
    """A field that is its place, in units of 1e-6 T/m, but for its divergence."""
    x, y, z = position
    return np.array([x, y, -2.0 * z]) * 1e-6


def test_the_field_is_taken_where_the_sensor_is():
    swing, place = Swing(), (0.4, -0.3, 0.2)
    field = uniform(FIELD) + dipole((1.0, 0.5, 2.0), (0.3, -0.2, 0.9)) + function_of_place(gradient)
    magnetometer = make(place, field=field)
    for k, time in enumerate(np.arange(20) * 0.1):
        reading = magnetometer.sample(k, time, swing.state(time))
        expected = swing.rotation(time).T @ field.at(swing.point(time, place))
        # rounding of places of 1 m near a dipole and of fields of 1e-5 T
        assert np.array(reading.flux_density) == pytest.approx(expected, abs=1e-17)


def test_a_batch_in_a_field_of_functions_equals_single_samples_bit_by_bit():
    field = function_of_place(gradient) + dipole((1.0, 0.5, 2.0), (0.3, -0.2, 0.9))
    times = np.arange(50) * 0.01
    bodies = Swing().states(times)
    bodies[20, 0] = math.nan
    stepped, batched = (make((0.1, 0.2, 0.3), field=field) for _ in range(2))
    one_by_one = [
        stepped.sample(k, time, body).flux_density
        for k, (time, body) in enumerate(zip(times, bodies, strict=True))
    ]
    assert batched.sample_batch(0, times, bodies).tobytes() == np.array(one_by_one).tobytes()
    assert np.isnan(one_by_one[20]).all()
    assert np.isfinite(one_by_one[21]).all()


def test_an_empty_batch_in_a_field_of_functions_is_empty():
    batch = make(field=function_of_place(gradient)).sample_batch(0, [], np.empty((0, 13)))
    assert batch.shape == (0, 3)


def test_at_a_dipole_there_is_no_reading_and_the_next_one_is_clean():
    magnetometer = make(field=dipole((1.0, 0.0, 0.0), (0.0, 0.0, 1.0)))
    there = magnetometer.sample(0, 0.0, body_state(position=(1.0, 0.0, 0.0)))
    away = magnetometer.sample(1, 0.1, body_state(position=(2.0, 0.0, 0.0)))
    assert np.isnan(there.flux_density).all()
    assert away.flux_density == pytest.approx((0.0, 0.0, -1e-7), abs=1e-22)


def test_hard_and_soft_iron_are_bias_and_cross_axis():
    soft = np.array([[1.1, 0.02, 0.0], [0.02, 0.95, 0.01], [0.0, 0.01, 1.0]])
    hard = np.array([3e-6, -2e-6, 1e-6])
    magnetometer = make(
        field=FIELD_OF_ROW, bias=tuple(hard.tolist()), cross_axis=tuple(soft.ravel().tolist())
    )
    reading = magnetometer.sample(0, 0.0, body_state())
    # rounding of 1e-5 T
    expected = soft @ (np.array(FIELD) + hard)
    assert np.array(reading.flux_density) == pytest.approx(expected, abs=1e-19)


def test_names_and_units_are_those_of_the_interface():
    own = quantities_of(MagnetometerParameters)
    assert (own["field"].name, own["field"].components) == ("field", ("x", "y", "z"))
    assert own["bias_temperature"].unit == "T/K"
    reading = quantities_of(MagnetometerReading)
    assert [(q.name, q.unit) for q in reading.values()] == [("flux_density", "T")]
