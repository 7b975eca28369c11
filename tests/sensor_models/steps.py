"""Scalar sensors in compiled steps: small ones of each kind, and what the tests of them share."""

import math

import numpy as np
import pytest

from sensor_models.core.clock import SamplingParameters
from sensor_models.core.frames import MountParameters
from sensor_models.core.random import stream_key
from sensor_models.core.step import Step
from sensor_models.inertial.accelerometer import Accelerometer, AccelerometerParameters
from sensor_models.inertial.corruption import DriftType
from sensor_models.inertial.gyroscope import Gyroscope, GyroscopeParameters
from sensor_models.inertial.imu import Imu, ImuParameters, Subsensors
from sensor_models.inertial.magnetometer import MagnetometerParameters
from sensor_models.inertial.unit import AccelerationInputs
from sensor_models.wheel.encoder import Encoder, EncoderParameters
from sensor_models.wheel.odometer import Odometer, OdometerParameters

KEY = stream_key(5, "step", "noise")
#: Inputs describe the ends of steps.
AT_END = SamplingParameters(inputs_at_step_end=True)
HUGE = 1.7e308
NOISY = {
    "noise_rms": (0.1, 0.2, 0.3),
    "noise_density": (0.01, 0.02, 0.03),
    "drift_type": DriftType.gauss_markov,
    "drift_std": (0.1, 0.1, 0.1),
    "instability": (0.01, 0.02, 0.03),
    "delay": 0.004,
    "jitter": 0.001,
}


class Samples:
    """A sink that keeps all samples."""

    def __init__(self):
        self.rows = []

    def append(self, index, time, values):
        del self.rows[index:]  # sample 0 may come again
        assert index == len(self.rows)
        self.rows.append((index, time, tuple(values)))

    def rewind(self, next_index):
        del self.rows[next_index:]


def encoder(rate=100.0, **parameters):
    return Encoder(EncoderParameters(**parameters), KEY).plan(rate)


def odometer(rate=100.0, **parameters):
    return Odometer(OdometerParameters(**parameters), KEY).plan(rate)


def accelerometer(rate=100.0, **parameters):
    own = AccelerometerParameters(**parameters)
    return Accelerometer(own, MountParameters(), 5, "step", rate).plan()


def gyroscope(rate=100.0, inputs=None, **parameters):
    own = GyroscopeParameters(**parameters)
    inputs = inputs or AccelerationInputs()
    return Gyroscope(own, MountParameters(), 5, "step", rate, inputs=inputs).plan()


def imu_model(rate=100.0, inputs=None, **parameters):
    sensors = Subsensors(
        accelerometer=AccelerometerParameters(**parameters),
        gyroscope=GyroscopeParameters(**parameters),
        magnetometer=MagnetometerParameters(field=(2.0, 0.5, -4.0), **parameters),
    )
    mount = MountParameters(position=(0.3, -0.2, 0.1), orientation=(1.0, 0.4, 0.0, 0.0))
    inputs = inputs or AccelerationInputs()
    return Imu(ImuParameters(), sensors, mount, 5, "step", rate, inputs=inputs)


def imu(rate=100.0, **parameters):
    return imu_model(rate, **parameters).plan()


def started(plan, start=0.0, sampling=None, **others):
    step = Step(plan, sampling or SamplingParameters(), start=start, **others)
    step.observe(start)
    return step


def put(step, state):
    """Set the interpolated inputs, in their order."""
    for name, value in zip(step._plan.truth, state, strict=False):
        step.set(name, value)


def swinging(time):
    """A body on a circle that turns evenly about its vertical axis, as 13 values."""
    turn = 0.5 * time
    return np.array(
        [
            *(math.cos(time), math.sin(time), 0.3 * time),
            *(math.cos(0.5 * turn), 0.0, 0.0, math.sin(0.5 * turn)),
            *(-math.sin(time), math.cos(time), 0.3),
            *(0.0, 0.0, 0.5),
        ]
    )


def outputs(step):
    return {name: step.get(name) for name, _ in step._outputs}


def bytes_of(state):
    return {name: array.tobytes() for name, array in state.items()}


def nothing(message):
    raise AssertionError(message)


PLANS = {
    "encoder": encoder,
    "odometer": odometer,
    "accelerometer": accelerometer,
    "gyroscope": gyroscope,
    "imu": imu,
}
every = pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
