"""Poses of sensors as kernels take them: 12 numbers, the rotation matrix by rows, the position."""

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.motion import (
    interpolate_body,
    interpolate_body_into,
    matrix_from_quaternion,
    normalise_quaternion,
)
from sensor_models.kernels.tracing.packets import ACCESS, Triple

Floats = NDArray[np.float64]


@njit(**ACCESS)
def position_of(pose: Floats) -> Triple:
    """Where the sensor is in the world."""
    return pose[9], pose[10], pose[11]


@njit(**ACCESS)
def rotate(pose: Floats, vector: Triple) -> Triple:
    """A vector of the sensor, in the world."""
    x, y, z = vector
    return (
        pose[0] * x + pose[1] * y + pose[2] * z,
        pose[3] * x + pose[4] * y + pose[5] * z,
        pose[6] * x + pose[7] * y + pose[8] * z,
    )


@njit(**ACCESS)
def rotate_back(pose: Floats, vector: Triple) -> Triple:
    """A vector of the world, in the sensor frame."""
    x, y, z = vector
    return (
        pose[0] * x + pose[3] * y + pose[6] * z,
        pose[1] * x + pose[4] * y + pose[7] * z,
        pose[2] * x + pose[5] * y + pose[8] * z,
    )


@njit(cache=True)
def place_sensor(bodies: Floats, mount: Floats, poses: Floats) -> None:
    """Write the poses of a sensor on a body; quaternions of any length."""
    turn = matrix_from_quaternion(normalise_quaternion(mount[3:7]))
    for k in range(len(bodies)):
        body = matrix_from_quaternion(normalise_quaternion(bodies[k, 3:7]))
        for row in range(3):
            place = bodies[k, row]
            for column in range(3):
                poses[k, 3 * row + column] = (
                    body[row, 0] * turn[0, column]
                    + body[row, 1] * turn[1, column]
                    + body[row, 2] * turn[2, column]
                )
                place += body[row, column] * mount[column]
            poses[k, 9 + row] = place


@njit(nogil=True, cache=True)
def interpolate_bodies(
    before: Floats,
    after: Floats,
    duration: float,
    fractions: Floats,
    result: Floats,
) -> None:
    """Write the states of a body at some fractions of the time between two known ones."""
    for k in range(len(fractions)):
        result[k] = interpolate_body(before, after, duration, fractions[k])


@njit(nogil=True, cache=True, error_model="numpy")
def interpolate_evenly(
    before: Floats,
    after: Floats,
    known: tuple[float, float],
    wanted: tuple[float, float],
    is_known: bool,
    result: Floats,
) -> None:
    """Write the states of a body at instants that lie evenly from one to another.

    Args:
        before: the state that is known at the first of two instants.
        after: that at the second.
        known: these instants.
        wanted: the first and the last instant of the result.
        is_known: the last one counts as the second of the known ones.
        result: (instants, values).
    """
    duration, last = known[1] - known[0], len(result) - 1
    apart = (wanted[1] - wanted[0]) / last if last > 0 else 0.0
    for k in range(len(result)):
        instant = wanted[1] if k == last else k * apart + wanted[0]
        share = min(max((instant - known[0]) / duration, 0.0), 1.0)
        if k == last and is_known:
            share = 1.0
        interpolate_body_into(result[k], before, after, duration, share)
