"""Random poses of sensors on their bodies: those of all cameras of a batch at once.

A component is a + (b - a) u within its limits a and b, u a draw of (reset or frame, component of
the camera). The rotation is about the turned axes x, y, z in that order, as quaternions

    q = q_x(roll) q_y(pitch) q_z(yaw),   q_x = (cos roll / 2, sin roll / 2, 0, 0) and so on
"""

import math

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.philox import uniform
from sensor_models.kernels.math.rotations import Quaternion, multiply

Floats = NDArray[np.float64]

#: Components of a placement: x, y, z, roll, pitch, yaw.
COMPONENTS = 6


@njit(cache=True)
def turn_of_angles(roll: float, pitch: float, yaw: float) -> Quaternion:
    """The rotation about the turned axes x, y, z, in that order."""
    about_x = (math.cos(roll / 2.0), math.sin(roll / 2.0), 0.0, 0.0)
    about_y = (math.cos(pitch / 2.0), 0.0, math.sin(pitch / 2.0), 0.0)
    about_z = (math.cos(yaw / 2.0), 0.0, 0.0, math.sin(yaw / 2.0))
    both: Quaternion = multiply(multiply(about_x, about_y), about_z)
    return both


@njit(cache=True)
def draw_poses(
    key: NDArray[np.uint64], index: int, first: int, limits: Floats, poses: Floats
) -> None:
    """Poses of the cameras from a number on, (n, 7), of one reset or frame.

    ``limits`` are the least and the greatest components, (2, COMPONENTS).
    """
    drawn = np.empty(COMPONENTS)
    for camera in range(len(poses)):
        for component in range(COMPONENTS):
            low, high = limits[0, component], limits[1, component]
            draw = uniform(key, index, COMPONENTS * (first + camera) + component)
            drawn[component] = low + (high - low) * draw
        poses[camera, :3] = drawn[:3]
        w, x, y, z = turn_of_angles(drawn[3], drawn[4], drawn[5])
        poses[camera, 3], poses[camera, 4], poses[camera, 5], poses[camera, 6] = w, x, y, z
