"""The motion of a body as a master gives it, and rotations.

The world is right-handed with z up. A quaternion (w, x, y, z) of unit length takes vectors of
the body to the world. The compiled counterpart is ``kernels.math.motion``: there the same state is
a flat vector in the order of the fields here.
"""

import dataclasses
import math

from sensor_models.core.quantities import ParameterError, check, real
from sensor_models.kernels.math.motion import (
    interpolate_body,
    interpolate_joint,
    interpolate_linear,
    matrix_from_quaternion,
    multiply_quaternions,
    normalise_quaternion,
    rotate_vector,
)

__all__ = [
    "BodyState",
    "MountParameters",
    "interpolate_body",
    "interpolate_joint",
    "interpolate_linear",
    "matrix_from_quaternion",
    "multiply_quaternions",
    "normalise_quaternion",
    "normalised_orientation",
    "rotate_vector",
    "unit_orientation",
]

XYZ = ("x", "y", "z")
WXYZ = ("w", "x", "y", "z")

Quaternion = tuple[float, float, float, float]

IDENTITY: Quaternion = (1.0, 0.0, 0.0, 0.0)

#: A quaternion shorter than this is numerical noise and not an orientation.
SHORTEST = 1e-6


@dataclasses.dataclass(frozen=True)
class BodyState:
    """The pose and the velocities of the body that a sensor is mounted on.

    It is not checked when made, because each step makes a new one; the code that uses it checks it
    (``quantities.check``, ``normalised_orientation``).
    """

    position: tuple[float, float, float] = real(
        (0.0, 0.0, 0.0),
        "m",
        "Position of the body's origin in the world frame",
        components=XYZ,
        name="body.position",
    )
    orientation: tuple[float, float, float, float] = real(
        IDENTITY,
        "1",
        "Orientation of the body: unit quaternion, takes vectors of the body to the world frame",
        components=WXYZ,
        name="body.orientation",
    )
    velocity: tuple[float, float, float] = real(
        (0.0, 0.0, 0.0),
        "m/s",
        "Velocity of the body's origin in the world frame",
        components=XYZ,
        name="body.velocity",
    )
    angular_velocity: tuple[float, float, float] = real(
        (0.0, 0.0, 0.0),
        "rad/s",
        "Angular velocity of the body in the world frame",
        components=XYZ,
        name="body.angular_velocity",
    )


@dataclasses.dataclass(frozen=True)
class MountParameters:
    """Where a sensor sits on its body; the orientation is brought to unit length."""

    position: tuple[float, float, float] = real(
        (0.0, 0.0, 0.0),
        "m",
        "Position of the sensor in the frame of the body",
        components=XYZ,
        name="mount.position",
    )
    orientation: tuple[float, float, float, float] = real(
        IDENTITY,
        "1",
        "Orientation of the sensor: quaternion, takes vectors of the sensor to the body frame",
        components=WXYZ,
        name="mount.orientation",
    )

    def __post_init__(self) -> None:
        check(self)
        orientation = unit_orientation(*self.orientation, name="mount.orientation")
        object.__setattr__(self, "orientation", orientation)  # the dataclass is frozen


def unit_orientation(
    w: float, x: float, y: float, z: float, name: str, also_allowed: str = ""
) -> Quaternion:
    """A quaternion at unit length; one without a direction is refused."""
    length = math.hypot(w, x, y, z)
    if not SHORTEST <= length < math.inf:
        raise ParameterError(
            f"{name} = ({w}, {x}, {y}, {z}) has no direction, allowed is a quaternion w, x, y, z "
            f"of finite numbers with a length of at least {SHORTEST:g}{also_allowed}"
        )
    return w / length, x / length, y / length, z / length


def normalised_orientation(
    w: float, x: float, y: float, z: float, name: str = "body.orientation"
) -> tuple[Quaternion, bool]:
    """An orientation from a master at unit length, and whether it is connected.

    Four exact zeros mean that nothing is connected, because some masters send zeros before anything
    else: the identity is used then. Any other quaternion without direction is refused.
    """
    if w == x == y == z == 0.0:
        return IDENTITY, False
    return unit_orientation(w, x, y, z, name, ", or four zeros"), True
