"""The parameters of a vehicle, where it starts, and the commands that it takes.

Frame of the body: origin on level ground in the middle between the wheels, x forward, y left,
z up. Wheel 1 is front left, 2 front right, 3 rear left, 4 rear right. Lengths of the chassis
follow ``track``, ``wheel_base`` and ``wheel_radius``; the arm has a fixed size. The numbers are
not those of a product: they describe a vehicle between a robot and a small skid-steered loader.
"""

import math
from dataclasses import dataclass

from sensor_models.core.frames import XYZ
from sensor_models.core.quantities import ParameterError, check, real

#: Shares of the mass; their sum is 1.
CHASSIS_SHARE, DRIVES_SHARE = 0.28, 0.42  # with batteries and motors, which lie low
WHEEL_SHARE, SUSPENSION_SHARE = 0.04, 0.01  # of each of four
BOOM_SHARE, STICK_SHARE = 0.06, 0.04
UNSPRUNG_SHARE = WHEEL_SHARE + SUSPENSION_SHARE

#: How far the method of Runge and Kutta may go in one step, in time constants of a stiff part.
#: Its limit is 2.78; one half of it keeps the motion smooth, too.
MOST_PER_STEP = 1.4


@dataclass(frozen=True)
class VehicleParameters:
    """The vehicle, where it starts, and how it is simulated."""

    start_position: tuple[float, float] = real(
        (-4.0, -4.5),
        "m",
        "Where the body's origin starts in the world frame; the ground gives its height",
        minimum=-1e5,
        maximum=1e5,
        components=("x", "y"),
        name="start.position",
    )
    start_yaw: float = real(
        0.0, "rad", "Heading at the start, from the world's x axis to its y axis", name="start.yaw"
    )
    mass: float = real(400.0, "kg", "Mass of the whole vehicle", minimum=20.0, maximum=20000.0)
    wheel_radius: float = real(0.3, "m", "Radius of the unloaded wheels", minimum=0.1, maximum=0.6)
    track: float = real(
        1.0, "m", "Distance between left and right wheels", minimum=0.5, maximum=3.0
    )
    wheel_base: float = real(
        0.9, "m", "Distance between front and rear axle", minimum=0.5, maximum=3.0
    )
    suspension_stiffness: float = real(
        22e3,
        "N/m",
        "Stiffness of the spring of one wheel",
        minimum=1e3,
        maximum=1e7,
        name="suspension.stiffness",
    )
    suspension_damping: float = real(
        2e3,
        "N.s/m",
        "Damping of the suspension of one wheel",
        minimum=0.0,
        maximum=1e6,
        name="suspension.damping",
    )
    friction: float = real(
        0.9, "1", "Coefficient of friction between wheels and ground", minimum=0.05, maximum=2.0
    )
    drive_torque: float = real(
        300.0,
        "N.m",
        "Most torque that the drive gives to one wheel; 0 lets the wheels roll freely",
        minimum=0.0,
        maximum=1e5,
        name="drive.torque",
    )
    time_step: float = real(
        1e-3,
        "s",
        "Longest inner step; as many equal ones as needed fill a communication step",
        minimum=1e-4,
        maximum=2e-3,
    )

    def __post_init__(self) -> None:
        check(self)
        unsprung = UNSPRUNG_SHARE * self.mass
        rate = math.sqrt(self.suspension_stiffness / unsprung)
        if rate * self.time_step > MOST_PER_STEP:
            most = unsprung * (MOST_PER_STEP / self.time_step) ** 2
            raise ParameterError(_too_stiff("stiffness", self.suspension_stiffness, most, "N/m"))
        most = unsprung * MOST_PER_STEP / self.time_step
        if self.suspension_damping > most:
            raise ParameterError(_too_stiff("damping", self.suspension_damping, most, "N.s/m"))


def _too_stiff(name: str, value: float, most: float, unit: str) -> str:
    return (
        f"suspension.{name} = {value:g} {unit} cannot be simulated with this mass and time_step,"
        f" allowed is at most {most:g} {unit}"
    )


@dataclass(frozen=True)
class VehicleCommands:
    """The commands of the vehicle; each holds during a step."""

    drive_left: float = real(
        0.0,
        "rad/s",
        "Commanded speed of the left wheels, forward is positive",
        minimum=-20.0,
        maximum=20.0,
        name="drive.left",
    )
    drive_right: float = real(
        0.0,
        "rad/s",
        "Commanded speed of the right wheels, forward is positive",
        minimum=-20.0,
        maximum=20.0,
        name="drive.right",
    )
    boom: float = real(
        0.0,
        "rad",
        "Commanded angle of the boom, up is positive; 0 is the pose for travel",
        minimum=-1.3,
        maximum=0.4,
        name="arm.joint_1.command",
    )
    stick: float = real(
        0.0,
        "rad",
        "Commanded angle of the stick, outward is positive; 0 is the pose for travel",
        minimum=-0.4,
        maximum=1.9,
        name="arm.joint_2.command",
    )


@dataclass(frozen=True)
class BodyAccelerations:
    """The accelerations of the body, without gravity."""

    acceleration: tuple[float, float, float] = real(
        (0.0, 0.0, 0.0),
        "m/s2",
        "Acceleration of the body's origin in the world frame",
        components=XYZ,
        name="body.acceleration",
    )
    angular_acceleration: tuple[float, float, float] = real(
        (0.0, 0.0, 0.0),
        "rad/s2",
        "Angular acceleration of the body in the world frame",
        components=XYZ,
        name="body.angular_acceleration",
    )


@dataclass(frozen=True)
class WheelState:
    """The motion of a wheel."""

    position: float = real(0.0, "rad", "Angle of the wheel, not wrapped, forward is positive")
    velocity: float = real(0.0, "rad/s", "Angular velocity of the wheel, forward is positive")


@dataclass(frozen=True)
class ArmJointState:
    """The motion of a joint of the arm."""

    position: float = real(0.0, "rad", "Angle of the joint, up and outward is positive")
    velocity: float = real(0.0, "rad/s", "Angular velocity of the joint")
