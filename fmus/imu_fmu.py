"""FMU ``Imu``: accelerometer, gyroscope and magnetometer on one body, and their increments."""

from collections.abc import Sequence

from fmus.inertial import InertialFmu, SceneInput, Surroundings
from fmus.sensor_fmu import Group, Groups
from sensor_models.core.clock import SamplingParameters
from sensor_models.inertial.accelerometer import AccelerometerParameters
from sensor_models.inertial.gyroscope import GyroscopeParameters
from sensor_models.inertial.imu import Imu, ImuParameters, ImuReading, SubsensorPose, Subsensors
from sensor_models.inertial.magnetometer import MagnetometerParameters
from sensor_models.inertial.unit import AccelerationInputs, GravityParameters

ACCELEROMETER, GYROSCOPE, MAGNETOMETER = "accelerometer", "gyroscope", "magnetometer"

#: The sensor that an increment is made of.
INCREMENTS = {"delta_velocity": ACCELEROMETER, "delta_angle": GYROSCOPE}


class ImuFmu(InertialFmu):
    """The IMU model behind FMI variables."""

    model_name = "Imu"
    description_text = "Nine-axis IMU with velocity and angle increments"
    SIGNALS = (
        (ACCELEROMETER, AccelerometerParameters, ACCELEROMETER),
        (GYROSCOPE, GyroscopeParameters, GYROSCOPE),
        (MAGNETOMETER, MagnetometerParameters, MAGNETOMETER),
    )
    PARAMETERS = (
        Group(ImuParameters),
        *(Group(part, prefix) for prefix, own, _ in SIGNALS for part in (own, SubsensorPose)),
        *InertialFmu.BODY,
    )
    HELD = (
        Group(Surroundings),
        Group(SceneInput),
        *InertialFmu.fault_groups(ACCELEROMETER, GYROSCOPE, MAGNETOMETER),
    )
    READING = ImuReading

    @classmethod
    def inputs_of(cls, output: str) -> Sequence[str]:
        """Faults of another sensor do not matter, and a scene has a magnetic field only."""
        group = output.partition(".")[0]
        sensor = INCREMENTS.get(group, group)
        without = {ACCELEROMETER, GYROSCOPE, MAGNETOMETER} - {sensor}
        if sensor != MAGNETOMETER:
            without.add("scene_handle")
        return [i for i in super().inputs_of(output) if i.partition(".")[0] not in without]

    def create_model(self, parameters: Groups, seed: int) -> Imu:
        """The IMU with its noise streams, in the magnetic field of its parameters."""
        subsensors = Subsensors(
            accelerometer=parameters.of(AccelerometerParameters, ACCELEROMETER),
            gyroscope=parameters.of(GyroscopeParameters, GYROSCOPE),
            magnetometer=parameters.of(MagnetometerParameters, MAGNETOMETER),
            accelerometer_pose=parameters.of(SubsensorPose, ACCELEROMETER),
            gyroscope_pose=parameters.of(SubsensorPose, GYROSCOPE),
            magnetometer_pose=parameters.of(SubsensorPose, MAGNETOMETER),
        )
        return Imu(
            parameters.of(ImuParameters),
            subsensors,
            self.mount(parameters, seed),
            seed,
            self.identity,
            parameters.of(SamplingParameters).sample_rate,
            parameters.of(GravityParameters),
            parameters.of(AccelerationInputs),
        )
