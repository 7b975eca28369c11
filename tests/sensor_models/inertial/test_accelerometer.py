"""The accelerometer: acceptance rows, ways to know the acceleration, one effect at a time."""

import math

import numpy as np
import pytest

from sensor_models.core.frames import MountParameters
from sensor_models.core.quantities import ParameterError, quantities_of
from sensor_models.inertial.accelerometer import (
    Accelerometer,
    AccelerometerParameters,
    AccelerometerReading,
)
from sensor_models.inertial.unit import AccelerationInputs, Differentiation, GravityParameters
from tests import oracles
from tests.trajectories import Swing, body_state

G = 9.80665
BACKWARD = Differentiation.backward
Z = (0.0, 0.0, 1.0)


def make(position=(0.0, 0.0, 0.0), orientation=(1.0, 0.0, 0.0, 0.0), inputs=False, **parameters):
    return Accelerometer(
        AccelerometerParameters(**parameters),
        MountParameters(position, orientation),
        1,
        "accelerometer",
        inputs=AccelerationInputs(inputs),
    )


def run(accelerometer, times, bodies):
    return [
        accelerometer.sample(k, time, body).acceleration
        for k, (time, body) in enumerate(zip(times, bodies, strict=True))
    ]


@pytest.mark.acceptance("ACC-1")
def test_acc_1_at_rest_the_up_axis_reads_g():
    readings = run(make(), [0.0, 0.01, 0.02], [body_state()] * 3)
    assert readings == [(0.0, 0.0, G)] * 3


@pytest.mark.acceptance("ACC-2")
def test_acc_2_a_tilted_frame_shares_g_between_its_axes():
    reading = make(orientation=oracles.turn((0, 1, 0), math.radians(30))).sample(
        0, 0.0, body_state()
    )
    # the tolerance of the acceptance row
    assert reading.acceleration == pytest.approx((-4.903325, 0.0, 8.492808), abs=1e-6)


@pytest.mark.acceptance("ACC-3")
@pytest.mark.parametrize("differentiation", list(Differentiation))
def test_acc_3_in_free_fall_it_reads_nothing(differentiation):
    times = np.arange(5) * 0.01
    bodies = [body_state(velocity=(0.0, 0.0, -G * time)) for time in times]
    readings = run(make(differentiation=differentiation), times, bodies)[1:]
    # the tolerance of the acceptance row; speeds of 0.4 m/s over 0.01 s
    assert np.abs(readings).max() <= 1e-12


@pytest.mark.acceptance("ACC-4")
def test_acc_4_a_spinning_lever_arm_points_to_the_axis():
    spinning = body_state(angular_velocity=(0.0, 0.0, 2.0))
    readings = run(make(position=(0.5, 0.0, 0.0)), [0.0, 0.01, 0.02], [spinning] * 3)
    # the tolerance of the acceptance row
    assert readings == [pytest.approx((-2.0, 0.0, G), abs=1e-12)] * 3


def circle(step, differentiation):
    """Reading after some steps on a circle of 3 m at 2 rad/s, 0.5 m further out than the body."""
    times = np.arange(4) * step
    bodies = [
        body_state(
            position=(3.0 * math.cos(2.0 * t), 3.0 * math.sin(2.0 * t), 0.0),
            orientation=oracles.turn(Z, 2.0 * t),
            velocity=(-6.0 * math.sin(2.0 * t), 6.0 * math.cos(2.0 * t), 0.0),
            angular_velocity=(0.0, 0.0, 2.0),
        )
        for t in times
    ]
    return run(make(position=(0.5, 0.0, 0.0), differentiation=differentiation), times, bodies)[-1]


@pytest.mark.acceptance("ACC-5")
def test_acc_5_backward_differences_lag_half_a_step_on_a_circle():
    # the tolerance of the acceptance row
    expected = pytest.approx((-13.99920, 0.119996, 9.80665), abs=1e-5)
    assert circle(0.01, BACKWARD) == expected


@pytest.mark.acceptance("ACC-6")
def test_acc_6_the_error_of_backward_differences_is_of_first_order():
    exact = np.array([-14.0, 0.0, G])
    # the tolerance of the acceptance row
    assert np.linalg.norm(circle(0.001, BACKWARD) - exact) == pytest.approx(0.0120, rel=0.01)
    # second order: error of the derivative is step^2/3 of the third one, 12 * 2^2 m/s^4
    bdf2 = np.linalg.norm(circle(0.01, Differentiation.bdf2) - exact)
    assert bdf2 == pytest.approx(0.01**2 / 3 * 48, rel=0.05)


@pytest.mark.acceptance("ACC-7")
@pytest.mark.parametrize("differentiation", list(Differentiation))
def test_acc_7_a_spin_that_grows_pulls_the_lever_arm_along(differentiation):
    times = np.array([0.3, 0.4, 0.5])
    bodies = [
        body_state(orientation=oracles.turn(Z, 2.0 * t**2), angular_velocity=(0.0, 0.0, 4.0 * t))
        for t in times
    ]
    accelerometer = make(position=(0.5, 0.0, 0.0), differentiation=differentiation)
    # the tolerance of the acceptance row
    assert run(accelerometer, times, bodies)[-1] == pytest.approx((-2.0, 2.0, G), abs=1e-9)


@pytest.mark.parametrize(("differentiation", "tolerance"), [(0, 0.15), (1, 6e-4)])
def test_differences_follow_a_swinging_body_as_well_as_their_order_allows(
    differentiation, tolerance
):
    swing, place = Swing(), (0.4, -0.3, 0.2)
    times = 0.1 + np.arange(500) * 2e-3
    readings = run(make(place, differentiation=differentiation), times, swing.states(times))
    expected = [swing.force(time, place) for time in times]
    error = np.abs(np.subtract(readings, expected)).max(axis=1)
    # h/2 of the jerk, which is up to 65 m/s3 of the body and 0.54 m * 150 rad/s3 of the arm; h^2/3
    # of its derivative, up to some 450 m/s4
    assert tolerance / 10 <= error[2:].max() <= tolerance


def test_accelerations_that_are_given_are_used_as_they_are():
    swing, place = Swing(), (0.4, -0.3, 0.2)
    times = np.arange(200) * 0.05
    readings = run(make(place, inputs=True), times, swing.states(times, accelerations=True))
    expected = [swing.force(time, place) for time in times]
    # what the twin's differences leave out; the first sample is as good as any other
    assert np.array(readings) == pytest.approx(np.array(expected), abs=1e-5)


def test_accelerations_that_are_not_asked_for_do_not_matter():
    swing, times = Swing(), np.arange(20) * 0.01
    bodies = swing.states(times, accelerations=True)
    bodies[:, 13:] = math.nan
    assert run(make(), times, bodies) == run(make(), times, swing.states(times))


def test_a_constant_acceleration_is_exact_from_the_second_sample_on_whatever_the_steps():
    times = np.array([0.0, 0.1, 0.15, 0.4, 1.0, 1.001])
    bodies = [body_state(velocity=(2.0 * t, -3.0 * t, 0.5 * t)) for t in times]
    readings = run(make(), times, bodies)
    assert readings[0] == (0.0, 0.0, G)
    # speeds of 3 m/s over 1 ms, rounded
    assert readings[1:] == [pytest.approx((2.0, -3.0, 0.5 + G), abs=1e-11)] * 5


def test_gravity_can_be_another_one_or_left_out():
    moon = Accelerometer(
        AccelerometerParameters(),
        MountParameters(),
        1,
        "accelerometer",
        gravity=GravityParameters((0.0, 0.1, -1.62)),
    )
    assert moon.sample(0, 0.0, body_state()).acceleration == (0.0, -0.1, 1.62)
    compensated = make(gravity_compensation=True)
    bodies = [body_state(velocity=(0.25 * k, 0.0, 0.0)) for k in range(2)]
    assert run(compensated, [0.0, 0.5], bodies) == [(0.0, 0.0, 0.0), (0.5, 0.0, 0.0)]


def test_the_mount_places_and_turns_the_sensor():
    # on the body's left, with its x axis pointing left: away from the axis of rotation
    accelerometer = make((0.0, 0.5, 0.0), oracles.turn(Z, math.pi / 2))
    reading = accelerometer.sample(0, 0.0, body_state(angular_velocity=(0.0, 0.0, 2.0)))
    # rounding of the quarter turn
    assert reading.acceleration == pytest.approx((-2.0, 0.0, G), abs=1e-14)


def test_the_orientation_of_the_body_turns_gravity_into_the_sensor():
    on_its_side = body_state(orientation=oracles.turn((1, 0, 0), math.pi / 2))
    reading = make().sample(0, 0.0, on_its_side)
    # left is up now; rounding of g
    assert reading.acceleration == pytest.approx((0.0, G, 0.0), abs=1e-14)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"differentiation": 2}, r"differentiation = 2 is none of 0 \(backward\), 1 \(bdf2\)"),
        ({"noise_rms": (0.0, -1.0, 0.0)}, r"noise\.rms\.y = -1\.0 m/s2 is out of range"),
        ({"bias": (math.nan, 0.0, 0.0)}, r"bias\.x = nan is not a finite number"),
    ],
)
def test_a_parameter_outside_its_range_is_refused_by_name(parameters, message):
    with pytest.raises(ParameterError, match=message):
        AccelerometerParameters(**parameters)


def test_gravity_that_is_not_finite_is_refused():
    with pytest.raises(ParameterError, match=r"gravity\.z = inf"):
        GravityParameters((0.0, 0.0, math.inf))


def test_names_and_units_are_those_of_the_interface():
    own = quantities_of(AccelerometerParameters)
    assert own["differentiation"].name == "differentiation"
    assert own["bias"].unit == "m/s2"
    assert own["noise_density"].unit == "m/s2/sqrt(Hz)"
    reading = quantities_of(AccelerometerReading)
    assert [(q.name, q.components, q.unit) for q in reading.values()] == [
        ("acceleration", ("x", "y", "z"), "m/s2")
    ]
    assert [q.name for q in quantities_of(GravityParameters).values()] == ["gravity"]
    assert list(quantities_of(AccelerationInputs)) == ["use_acceleration_inputs"]
