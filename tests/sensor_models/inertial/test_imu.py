"""The IMU: acceptance rows, sub-sensors and their poses, increments."""

import math

import numpy as np
import pytest

from sensor_models.core.codes import RoundingMode
from sensor_models.core.faults import NO_FAULT, Fault, FaultMode, FaultWave
from sensor_models.core.frames import MountParameters, multiply_quaternions
from sensor_models.core.quantities import ParameterError, quantities_of
from sensor_models.inertial.accelerometer import Accelerometer, AccelerometerParameters
from sensor_models.inertial.gyroscope import Gyroscope, GyroscopeParameters
from sensor_models.inertial.imu import (
    AngleMode,
    Imu,
    ImuParameters,
    ImuReading,
    SubsensorPose,
    Subsensors,
    pose_in_body,
)
from sensor_models.inertial.magnetic_field import dipole, uniform
from sensor_models.inertial.magnetometer import Magnetometer, MagnetometerParameters
from sensor_models.inertial.unit import GravityParameters
from tests import oracles
from tests.trajectories import Swing, body_state

G = 9.80665
NO_GRAVITY = GravityParameters((0.0, 0.0, 0.0))
MOUNT = MountParameters((0.3, -0.1, 0.2), oracles.turn((1.0, -2.0, 0.5), 0.7))
POSE = SubsensorPose((0.05, 0.02, -0.03), oracles.turn((0.2, 0.3, -1.0), 1.1))
NOISY = {"noise_rms": (0.1, 0.2, 0.3), "noise_density": (0.01, 0.01, 0.01)}


def make(parameters=None, mount=None, gravity=None, field=None, **subsensors):
    return Imu(
        parameters or ImuParameters(),
        Subsensors(**subsensors),
        mount or MountParameters(),
        1,
        "imu",
        100.0,
        gravity=gravity or GravityParameters(),
        magnetic_field=field,
    )


def run(imu, times, bodies, **more):
    return [
        imu.sample(k, time, body, **more)
        for k, (time, body) in enumerate(zip(times, bodies, strict=True))
    ]


def pushed(acceleration, **errors):
    """Reading and velocity increment along x after steps of 0.1 s of a constant push."""
    imu = make(gravity=NO_GRAVITY, accelerometer=AccelerometerParameters(**errors))
    bodies = [body_state(velocity=(0.1 * k * acceleration, 0.0, 0.0)) for k in range(4)]
    reading = run(imu, [0.0, 0.1, 0.2, 0.3], bodies)[-1]
    return reading.accelerometer[0], reading.delta_velocity[0]


BIAS = {"bias": (0.01, 0.0, 0.0)}
ROUNDED = {**BIAS, "discretization_on": True, "discretization_lsb": (0.05, 0.0, 0.0)}
LIMITED = {**ROUNDED, "saturation_on": True, "saturation_max": (1.23, 9.0, 9.0)}


@pytest.mark.acceptance("IMU-3")
@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        ({}, (1.234, 0.1234)),
        (BIAS, (1.244, 0.1244)),
        (ROUNDED, (1.20, 0.1200)),
        (LIMITED, (1.20, 0.1200)),
    ],
)
def test_imu_3_each_stage_of_the_errors_is_integrated(errors, expected):
    # the tolerance of the acceptance row
    assert pushed(1.234, **errors) == pytest.approx(expected, abs=1e-12)


@pytest.mark.acceptance("IMU-4")
@pytest.mark.parametrize(
    ("errors", "expected"),
    [({}, 0.15), (BIAS, 0.1510), (ROUNDED, 0.1500), (LIMITED, 0.1200)],
)
def test_imu_4_saturation_is_integrated_too(errors, expected):
    # the tolerance of the acceptance row
    assert pushed(1.5, **errors)[1] == pytest.approx(expected, abs=1e-12)
    assert pushed(1.5, **LIMITED)[0] == pytest.approx(1.20, abs=1e-12)


@pytest.mark.acceptance("IMU-6")
def test_imu_6_an_accelerometer_beside_the_axis_feels_the_spin():
    imu = make(accelerometer_pose=SubsensorPose((0.0, 0.2, 0.0)))
    spinning = body_state(angular_velocity=(0.0, 0.0, 3.0))
    # the tolerance of the acceptance row
    assert imu.sample(0, 0.0, spinning).accelerometer == pytest.approx((0.0, -1.8, G), abs=1e-12)


def test_the_pose_of_a_subsensor_is_body_then_imu_then_offset():
    position, orientation = pose_in_body(MOUNT, POSE)
    mount = oracles.matrix_of_turn((1.0, -2.0, 0.5), 0.7)
    # entries of up to 1, a few roundings
    expected = np.array(MOUNT.position) + mount @ POSE.position
    assert position == pytest.approx(expected.tolist(), abs=1e-15)
    both = mount @ oracles.matrix_of_turn((0.2, 0.3, -1.0), 1.1)
    angle = 2.0 * math.acos(orientation[0])
    assert oracles.matrix_of_turn(orientation[1:], angle) == pytest.approx(both, abs=1e-14)


def test_each_subsensor_reads_what_it_would_read_alone():
    swing, times = Swing(), np.arange(40) * 0.01
    bodies = swing.states(times)
    field = uniform((2e-5, 0.0, -4e-5)) + dipole((0.0, 0.0, 3.0), (0.0, 5.0, 9.0))
    poses = [
        SubsensorPose((0.1 * k, 0.2, 0.3), oracles.turn((1.0, k, 0.3), 0.4 * k)) for k in (1, 2, 3)
    ]
    imu = make(
        mount=MOUNT,
        field=field,
        accelerometer_pose=poses[0],
        gyroscope_pose=poses[1],
        magnetometer_pose=poses[2],
    )
    places = [MountParameters(*pose_in_body(MOUNT, pose)) for pose in poses]
    alone = [
        Accelerometer(AccelerometerParameters(), places[0], 1, "a", 100.0),
        Gyroscope(GyroscopeParameters(), places[1], 1, "g", 100.0),
        Magnetometer(MagnetometerParameters(), places[2], 1, "m", 100.0, field),
    ]
    batch = imu.sample_batch(0, times, bodies)
    for together, sensor in zip(batch[:3], alone, strict=True):
        assert np.array_equal(together, sensor.sample_batch(0, times, bodies))


def test_subsensors_have_noise_of_their_own_that_does_not_depend_on_the_others():
    times, bodies = np.arange(40) * 0.01, [body_state()] * 40
    noisy = {
        "accelerometer": AccelerometerParameters(**NOISY),
        "gyroscope": GyroscopeParameters(**NOISY),
        "magnetometer": MagnetometerParameters(**NOISY),
    }
    together = make(**noisy).sample_batch(0, times, bodies)
    for name, parameters in noisy.items():
        alone = make(**{name: parameters}).sample_batch(0, times, bodies)
        assert np.array_equal(getattr(alone, name), getattr(together, name))
    noise = np.array(together[:3]) - [[[0.0, 0.0, G]], [[0.0] * 3], [[0.0] * 3]]
    assert not np.any(np.isclose(noise[0], noise[1], rtol=1e-6, atol=0.0))
    assert not np.any(np.isclose(noise[1], noise[2], rtol=1e-6, atol=0.0))


def test_with_everything_off_increments_integrate_back_to_the_motion():
    swing, step, count = Swing(), 2e-3, 1000
    times = np.arange(count + 1) * step
    imu = make(mount=MOUNT, accelerometer_pose=POSE, gyroscope_pose=POSE)
    readings = imu.sample_batch(0, times, swing.states(times))
    place, _ = pose_in_body(MOUNT, POSE)
    to_body = oracles.matrix_of_turn((1.0, -2.0, 0.5), 0.7) @ oracles.matrix_of_turn(
        (0.2, 0.3, -1.0), 1.1
    )

    def velocity_of_sensor(time):
        return (swing.point(time + 1e-5, place) - swing.point(time - 1e-5, place)) / 2e-5

    rotation = swing.rotation(0.0) @ to_body
    velocity = velocity_of_sensor(0.0)
    increments = zip(readings.delta_velocity[1:], readings.delta_angle[1:], strict=True)
    for change, turn in increments:
        # strapdown integration: the velocity in the frame halfway, then the attitude
        angle = np.linalg.norm(turn)
        halfway = rotation @ oracles.matrix_of_turn(turn, angle / 2)
        velocity = velocity + halfway @ change + np.array([0.0, 0.0, -G]) * step
        rotation = rotation @ oracles.matrix_of_turn(turn, angle)
    # angles are exact, so only rounding is left of 1000 products
    assert rotation == pytest.approx(swing.rotation(times[-1]) @ to_body, abs=1e-12)
    # the twin undoes what the increments did, so only its differences are left
    assert velocity == pytest.approx(velocity_of_sensor(times[-1]), abs=1e-7)
    assert readings.delta_velocity[0].tolist() == [0.0] * 3
    assert readings.delta_angle[0].tolist() == [0.0] * 3


def test_increments_at_rest_are_the_reading_times_the_step():
    readings = run(make(), [0.0, 0.25, 0.75], [body_state()] * 3)
    assert [r.delta_velocity for r in readings] == [(0.0, 0.0, h * G) for h in (0.0, 0.25, 0.5)]
    assert [r.delta_angle for r in readings] == [(0.0, 0.0, 0.0)] * 3


def turning(mode, bias, turn=0.1, step=0.1):
    """The angle increment of a gyroscope with a bias on a body that turns about x."""
    imu = make(ImuParameters(angle_mode=mode), gyroscope=GyroscopeParameters(bias=(0.0, bias, 0.0)))
    bodies = [
        body_state(
            orientation=oracles.turn((1, 0, 0), k * turn),
            angular_velocity=(turn / step, 0.0, 0.0),
        )
        for k in range(2)
    ]
    return np.array(run(imu, [0.0, step], bodies)[1].delta_angle)


def test_angle_errors_are_added_or_composed():
    added = turning(AngleMode.component, 0.01)
    composed = turning(AngleMode.compose, 0.01)
    # rounding of angles of 0.1 rad
    assert added == pytest.approx([0.1, 0.001, 0.0], abs=1e-15)
    # the acceptance row IMU-5 has the difference, to 1e-6
    assert composed - added == pytest.approx([0.0, -8e-7, 5e-5], abs=1e-6)


def test_an_angle_increment_is_exact_when_the_axis_of_rotation_moves():
    first = oracles.turn((0.0, 0.0, 1.0), 0.3)
    rolled = multiply_quaternions(first, oracles.turn((1.0, 0.0, 0.0), 0.5))
    pitched = multiply_quaternions(rolled, oracles.turn((0.0, 1.0, 0.0), -0.7))
    bodies = [body_state(orientation=turn) for turn in (first, rolled, pitched)]
    readings = run(make(), [0.0, 0.5, 0.6], bodies)
    # rounding of products of unit quaternions
    assert readings[1].delta_angle == pytest.approx((0.5, 0.0, 0.0), abs=1e-15)
    assert readings[2].delta_angle == pytest.approx((0.0, -0.7, 0.0), abs=1e-15)


def test_a_stuck_axis_integrates_what_it_is_stuck_at():
    swing, times = Swing(), np.arange(30) * 0.01
    stuck = Fault(FaultMode.set, value=2.0)
    faults = (NO_FAULT, stuck, NO_FAULT, NO_FAULT, NO_FAULT, stuck, *[NO_FAULT] * 3)
    for mode in AngleMode:
        parameters = ImuParameters(angle_mode=mode)
        healthy = make(parameters, mount=MOUNT).sample_batch(0, times, swing.states(times))
        faulty = make(parameters, mount=MOUNT).sample_batch(
            0, times, swing.states(times), faults=faults
        )
        steps = np.diff(times)
        assert np.array_equal(faulty.delta_velocity[1:, 1], 2.0 * steps)
        assert np.array_equal(faulty.delta_angle[1:, 2], 2.0 * steps)
        assert np.array_equal(faulty.delta_velocity[:, [0, 2]], healthy.delta_velocity[:, [0, 2]])


def test_a_wave_on_an_axis_is_integrated_as_an_error():
    wave = Fault(wave=FaultWave.square, amplitude=2.0, period=100.0, offset=1.0)
    faults = (wave, *[NO_FAULT] * 8)
    reading = run(make(), [0.0, 0.5], [body_state()] * 2, faults=faults)[1]
    assert reading.accelerometer == (3.0, 0.0, G)
    assert reading.delta_velocity == (1.5, 0.0, 0.5 * G)


def test_increments_can_have_steps_of_their_own():
    swing, times = Swing(), np.arange(50) * 0.01
    errors = {"bias": (0.01, 0.02, 0.03), "discretization_mode": RoundingMode.round}
    settings = {"accelerometer": AccelerometerParameters(**errors), "mount": MOUNT}
    plain = make(**settings).sample_batch(0, times, swing.states(times))
    parameters = ImuParameters(discretise_increments=True, lsb_velocity=1e-3, lsb_angle=1e-4)
    rounded = make(parameters, **settings).sample_batch(0, times, swing.states(times))
    # one product, rounded; halves do not occur
    assert rounded.delta_velocity == pytest.approx(
        1e-3 * np.round(plain.delta_velocity / 1e-3), abs=1e-16
    )
    # the gyroscope rounds toward zero
    assert rounded.delta_angle == pytest.approx(
        1e-4 * np.trunc(plain.delta_angle / 1e-4), abs=1e-16
    )
    assert np.array_equal(rounded.accelerometer, plain.accelerometer)
    off = ImuParameters(discretise_increments=False, lsb_velocity=1e-3, lsb_angle=1e-4)
    unrounded = make(off, **settings).sample_batch(0, times, swing.states(times))
    assert np.array_equal(unrounded.delta_velocity, plain.delta_velocity)
    assert np.array_equal(unrounded.delta_angle, plain.delta_angle)


def test_an_axis_that_is_not_there_has_no_increment():
    swing, times = Swing(), np.arange(30) * 0.01
    imu = make(
        accelerometer=AccelerometerParameters(axes="xz"), gyroscope=GyroscopeParameters(axes="y")
    )
    readings = imu.sample_batch(0, times, swing.states(times))
    assert not readings.delta_velocity[:, 1].any()
    assert not readings.delta_angle[:, [0, 2]].any()
    assert readings.delta_velocity[1:, [0, 2]].all()
    assert readings.delta_angle[1:, 1].all()


def test_increments_reach_over_a_motion_that_is_not_finite():
    swing, times = Swing(), np.arange(20) * 0.01
    whole = make().sample_batch(0, times, swing.states(times))
    bodies = swing.states(times)
    bodies[10:12, 4] = math.nan
    gap = make().sample_batch(0, times, bodies)
    assert np.isnan(gap.delta_velocity[10:12]).all()
    assert np.isnan(gap.delta_angle[10:12]).all()
    # about one axis angles add up; a velocity is turned by how far the body turned meanwhile,
    # 0.2 rad, and its frame halfway is that of three steps, good to third order: 0.03^3 * 200
    assert gap.delta_angle[12] == pytest.approx(whole.delta_angle[10:13].sum(axis=0), abs=1e-14)
    assert np.linalg.norm(gap.delta_velocity[12]) == pytest.approx(
        np.linalg.norm(whole.delta_velocity[10:13].sum(axis=0)), abs=6e-3
    )
    assert np.array_equal(gap.delta_angle[13:], whole.delta_angle[13:])
    assert np.array_equal(gap.delta_velocity[14:], whole.delta_velocity[14:])


def test_a_dipole_at_the_magnetometer_spoils_the_magnetometer_only():
    imu = make(field=dipole((0.0, 0.0, 0.0), (0.0, 0.0, 1.0)))
    reading = imu.sample(0, 0.0, body_state())
    assert np.isnan(reading.magnetometer).all()
    assert reading.accelerometer == (0.0, 0.0, G)
    assert reading.delta_velocity == (0.0, 0.0, 0.0)


def test_the_field_of_the_magnetometer_serves_where_no_other_is_given():
    own = MagnetometerParameters(field=(1e-5, 2e-5, 3e-5))
    assert make(magnetometer=own).sample(0, 0.0, body_state()).magnetometer == (1e-5, 2e-5, 3e-5)
    other = make(magnetometer=own, field=uniform((0.0, 0.0, 5e-5)))
    assert other.sample(0, 0.0, body_state()).magnetometer == (0.0, 0.0, 5e-5)


@pytest.mark.parametrize(
    ("refused", "message"),
    [
        (lambda: ImuParameters(lsb_angle=-1.0), r"increments\.lsb_angle = -1\.0 rad is out of"),
        (lambda: ImuParameters(angle_mode=2), r"increments\.angle_mode = 2 is none of 0 \(comp"),
        (lambda: SubsensorPose((0.0, math.inf, 0.0)), r"position\.y = inf is not a finite"),
        (lambda: SubsensorPose(orientation=(0.0,) * 4), r"orientation = .* has no direction"),
    ],
)
def test_a_parameter_outside_its_range_is_refused_by_name(refused, message):
    with pytest.raises(ParameterError, match=message):
        refused()


def test_the_orientation_of_a_subsensor_is_brought_to_unit_length():
    assert SubsensorPose(orientation=(0.0, 3.0, 0.0, 4.0)).orientation == (0.0, 0.6, 0.0, 0.8)


def test_names_and_units_are_those_of_the_interface():
    names = [quantity.name for quantity in quantities_of(ImuParameters).values()]
    assert names == [
        "increments.discretize",
        "increments.lsb_velocity",
        "increments.lsb_angle",
        "increments.angle_mode",
    ]
    pose = quantities_of(SubsensorPose).values()
    assert [(q.name, q.components, q.unit) for q in pose] == [
        ("position", ("x", "y", "z"), "m"),
        ("orientation", ("w", "x", "y", "z"), "1"),
    ]
    assert [(q.name, q.unit) for q in quantities_of(ImuReading).values()] == [
        ("accelerometer", "m/s2"),
        ("gyroscope", "rad/s"),
        ("magnetometer", "T"),
        ("delta_velocity", "m/s"),
        ("delta_angle", "rad"),
    ]
