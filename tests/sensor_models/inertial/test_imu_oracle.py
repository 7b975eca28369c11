"""Inertial sensors against MuJoCo, a rigid-body engine with analytic sensors of its own.

The engine integrates by the method of Runge and Kutta at 1 ms; its sensors are evaluated at the
present state. Ours get position, orientation and velocities of the body only, as from any master.
Bars: accelerometer 5e-3 m/s2 (second-order differences), gyroscope 1e-3 rad/s, magnetometer 1e-12 T
in a field of 5e-5 T.
"""

from typing import NamedTuple

import mujoco
import numpy as np
import pytest

from sensor_models.core.frames import MountParameters, unit_orientation
from sensor_models.inertial.imu import Imu, ImuParameters, SubsensorPose, Subsensors, pose_in_body
from sensor_models.inertial.magnetic_field import uniform
from sensor_models.inertial.unit import AccelerationInputs

STEP = 1e-3
FIELD = (2.1e-5, -0.4e-5, -4.5e-5)
MOUNT = MountParameters((0.15, -0.08, 0.21), (0.8, 0.1, -0.4, 0.3))
POSE = SubsensorPose((0.02, 0.05, -0.01), (0.5, 0.6, 0.1, -0.4))

SENSORS = """
  <sensor>
    <accelerometer site="sensor"/>
    <gyro site="sensor"/>
    <magnetometer site="sensor"/>
  </sensor>
"""

#: Two links in free swing, started fast.
ARM = """
    <body pos="0 0 2">
      <joint name="shoulder" type="hinge" axis="0.2 1 0.1" damping="0.02"/>
      <geom type="capsule" fromto="0 0 0 0.5 0 0" size="0.03" mass="1.5"/>
      <body name="body" pos="0.5 0 0" euler="20 -30 10">
        <joint name="elbow" type="hinge" axis="0.1 0.3 1" damping="0.02"/>
        <geom type="capsule" fromto="0 0 0 0.3 0.1 0" size="0.03" mass="0.7"/>
        {site}
      </body>
    </body>
"""

#: A brick that was thrown, tumbling about no axis of its own.
BRICK = """
    <body name="body" pos="0 0 5" euler="10 20 30">
      <freejoint/>
      <geom type="box" size="0.3 0.2 0.1" pos="0.1 0.05 -0.07" mass="2"/>
      {site}
    </body>
"""


#: Its velocity in the world and its spin in its own frame at the start.
THROWN = [1.0, -2.0, 3.0, 6.0, -8.0, 5.0]


class Recording(NamedTuple):
    """States of the body and what the engine's sensors say, a row for each instant."""

    times: np.ndarray
    bodies: np.ndarray
    accelerometer: np.ndarray
    gyroscope: np.ndarray
    magnetometer: np.ndarray


def numbers(values):
    return " ".join(repr(float(value)) for value in values)


def model_of(body, step=STEP):
    position, orientation = pose_in_body(MOUNT, POSE)
    site = f'<site name="sensor" pos="{numbers(position)}" quat="{numbers(orientation)}"/>'
    return mujoco.MjModel.from_xml_string(
        f"""
        <mujoco>
          <option timestep="{step}" integrator="RK4" gravity="0 0 -9.80665"
                  magnetic="{numbers(FIELD)}"/>
          <worldbody>{body.format(site=site)}</worldbody>
          {SENSORS}
        </mujoco>
        """
    )


def record(body, velocities, duration, step=STEP):
    """Simulate and note down state and sensors of all instants."""
    model, count = model_of(body, step), round(duration / step)
    data = mujoco.MjData(model)
    data.qvel[:] = velocities
    place = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, "body")
    bodies, sensors = np.empty((count, 13)), np.empty((count, 9))
    twist = np.empty(6)
    for k in range(count):
        # after a step, the sensors still belong to the state before it
        mujoco.mj_forward(model, data)
        mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, place, twist, 0)
        bodies[k, 0:3], bodies[k, 3:7] = data.xpos[place], unit(data.xquat[place])
        bodies[k, 7:10], bodies[k, 10:13] = twist[3:], twist[:3]
        sensors[k] = data.sensordata
        mujoco.mj_step(model, data)
    return Recording(np.arange(count) * step, bodies, *np.split(sensors, 3, axis=1))


def unit(quaternion):
    return unit_orientation(*quaternion.tolist(), name="orientation of the engine")


def imu_at_site(inputs=False):
    return Imu(
        ImuParameters(),
        Subsensors(accelerometer_pose=POSE, gyroscope_pose=POSE, magnetometer_pose=POSE),
        MOUNT,
        1,
        "imu",
        inputs=AccelerationInputs(inputs),
        magnetic_field=uniform(FIELD),
    )


def record_arm(step=STEP):
    return record(ARM, [5.0, -3.0], 2.0, step)


@pytest.fixture(scope="module", params=["arm", "brick"])
def recording(request):
    return record_arm() if request.param == "arm" else record(BRICK, THROWN, 1.0)


@pytest.fixture(scope="module")
def readings(recording):
    return imu_at_site().sample_batch(0, recording.times, recording.bodies)


def test_the_motion_is_fast_enough_to_tell(recording):
    assert np.linalg.norm(recording.accelerometer, axis=1).max() >= 20.0
    assert np.linalg.norm(recording.gyroscope, axis=1).max() >= 5.0


def accelerometer_error(recording, readings):
    """The largest error after the first two samples, which have no second-order difference."""
    error = np.linalg.norm(readings.accelerometer - recording.accelerometer, axis=1)
    return error[2:].max()


def test_the_accelerometer_agrees_with_the_engine(recording, readings):
    # h^2/3 of the second derivative of the acceleration, which is some 1e4 m/s4: 3.2e-3 m/s2
    assert accelerometer_error(recording, readings) < 5e-3


def test_the_error_of_the_accelerometer_is_that_of_second_order_differences():
    errors = []
    for step in (STEP, STEP / 2):
        recording = record_arm(step)
        readings = imu_at_site().sample_batch(0, recording.times, recording.bodies)
        errors.append(accelerometer_error(recording, readings))
    # the next order is smaller by the step times some 20/s
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.02)


def test_the_gyroscope_agrees_with_the_engine(recording, readings):
    # no differences are formed: rounding of some 10 rad/s, far below the 1e-3 rad/s asked for
    assert np.abs(readings.gyroscope - recording.gyroscope).max() < 1e-12


def test_the_magnetometer_agrees_with_the_engine(recording, readings):
    # rounding of 5e-5 T, far below the 1e-12 T asked for
    assert np.abs(readings.magnetometer - recording.magnetometer).max() < 1e-18


def test_increments_are_the_integrals_of_the_engines_sensors(recording, readings):
    # the rule of the trapezium leaves h^3/12 of the second derivative: 1e4 m/s4, 1e3 rad/s3
    velocity = (recording.accelerometer[1:] + recording.accelerometer[:-1]) * STEP / 2
    assert np.abs(readings.delta_velocity[1:] - velocity).max() < 1e-6
    angle = (recording.gyroscope[1:] + recording.gyroscope[:-1]) * STEP / 2
    assert np.abs(readings.delta_angle[1:] - angle).max() < 1e-6


def test_known_accelerations_leave_no_error_of_differences():
    recording = record(BRICK, THROWN, 0.2)
    model = model_of(BRICK)
    data = mujoco.MjData(model)
    data.qvel[:] = THROWN
    place = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, "body")
    accelerations = np.empty((len(recording.times), 6))
    for known in accelerations:
        mujoco.mj_forward(model, data)
        # those of a free joint: of the origin in the world, of the spin in the body
        rotation = data.xmat[place].reshape(3, 3)
        known[:3], known[3:] = data.qacc[:3], rotation @ data.qacc[3:]
        mujoco.mj_step(model, data)
    bodies = np.hstack([recording.bodies, accelerations])
    readings = imu_at_site(inputs=True).sample_batch(0, recording.times, bodies)
    # rounding of some 40 m/s2; the first sample is as good as any other
    assert np.abs(readings.accelerometer - recording.accelerometer).max() < 1e-11
