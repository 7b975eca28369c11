"""Motion between two known states, and rotations, on flat float64 vectors.

Interpolation between states at t0 and t1 = t0 + h, at the fraction s = (t - t0) / h:

    position          p = p0 + s^2 (3 - 2 s) (p1 - p0) + h s (1 - s) ((1 - s) v0 - s v1)
    velocity          v = dp/dt = 6 s (1 - s) (p1 - p0) / h + (1 - s) (1 - 3 s) v0 + s (3 s - 2) v1
    orientation       q = (sin((1 - s) a) q0 + sin(s a) q1) / sin a,   cos a = q0 . q1 >= 0
    everything else   x = x0 + s (x1 - x0)

which is the cubic Hermite polynomial, its derivative, and spherical linear interpolation
(Shoemake, "Animating rotation with quaternion curves", SIGGRAPH 1985) along the shorter arc: q
and -q are the same orientation. The angle a is taken from |q1 - q0| and |q1 + q0|, as the
arc cosine has no digits left for small angles. Differences are formed first, so that a body at
rest stays where it is to the last bit.

At s = 0 and s = 1 the result is the end state itself, bit for bit.

If both velocities are exactly zero while the positions differ, the velocity is evidently not
connected. The position is then interpolated linearly, because the Hermite polynomial would
stop at each end and run at 1.5 times the true speed between. The velocity stays the zero that
was given: the end states carry it as well, and anything else would be read as acceleration.

States, given out of place and never changed:

    joint    position, velocity
    body     position x y z, orientation w x y z, velocity x y z, angular velocity x y z;
             then, if known, acceleration x y z, angular acceleration x y z
    linear   anything of any length

All interpolations share one signature, so that a caller can pick one. Orientations must be of
unit length. Quaternions are (w, x, y, z) and take vectors of the body to the world.
"""

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

Vector = NDArray[np.float64]

# Places in the state of a body.
POSITION = 0
ORIENTATION = 3
VELOCITY = 7
ANGULAR_VELOCITY = 10

# Below this angle the chord and the arc differ by less than one rounding: a^2 < 2^-53.
CHORD_ANGLE = 1e-8


@njit(cache=True, error_model="numpy")
def _move(
    result: Vector,
    before: Vector,
    after: Vector,
    duration: float,
    fraction: float,
    at: tuple[int, int],
    axes: int,
) -> None:
    """Position and velocity of some axes, starting at the two places ``at``, into ``result``."""
    connected = False
    for axis in range(axes):
        place = at[1] + axis
        connected = connected or before[place] != 0.0 or after[place] != 0.0
    s, r = fraction, 1.0 - fraction
    for axis in range(axes):
        p, v = at[0] + axis, at[1] + axis
        way, v0, v1 = after[p] - before[p], before[v], after[v]
        if connected:
            bulge = duration * s * r * (r * v0 - s * v1)
            result[p] = before[p] + s * s * (3.0 - 2.0 * s) * way + bulge
            bend = r * (1.0 - 3.0 * s) * v0 + s * (3.0 * s - 2.0) * v1
            result[v] = 6.0 * s * r * way / duration + bend
        else:
            result[p] = before[p] + s * way
            result[v] = 0.0


@njit(cache=True, error_model="numpy")
def _turn(result: Vector, before: Vector, after: Vector, fraction: float, at: int) -> None:
    """Spherical linear interpolation of the unit quaternion at place ``at``, into ``result``."""
    dot = 0.0
    for i in range(at, at + 4):
        dot += before[i] * after[i]
    sign = -1.0 if dot < 0.0 else 1.0
    difference, total = 0.0, 0.0
    for i in range(at, at + 4):
        difference += (sign * after[i] - before[i]) ** 2
        total += (sign * after[i] + before[i]) ** 2
    if difference == 0.0:
        result[at : at + 4] = before[at : at + 4]
        return
    angle = 2.0 * math.atan2(math.sqrt(difference), math.sqrt(total))
    first, second = 1.0 - fraction, fraction
    if angle > CHORD_ANGLE:
        first, second = math.sin(first * angle), math.sin(second * angle)
    for i in range(at, at + 4):
        result[i] = first * before[i] + second * sign * after[i]
    result[at : at + 4] = normalise_quaternion(result[at : at + 4])


@njit(cache=True)
def _go_straight(
    result: Vector, before: Vector, after: Vector, fraction: float, start: int
) -> None:
    """Linear interpolation from place ``start`` on, into ``result``."""
    for i in range(start, before.size):
        result[i] = before[i] + fraction * (after[i] - before[i])


@njit(cache=True)
def interpolate_linear(
    before: Vector,
    after: Vector,
    duration: float,  # noqa: ARG001 - all interpolations have one signature
    fraction: float,
) -> Vector:
    """Each value linearly between two known ones."""
    if fraction == 0.0:
        return before.copy()
    if fraction == 1.0:
        return after.copy()
    result = np.empty_like(before)
    _go_straight(result, before, after, fraction, 0)
    return result


@njit(cache=True)
def interpolate_joint(before: Vector, after: Vector, duration: float, fraction: float) -> Vector:
    """The state of a joint between two known ones: position, velocity."""
    if fraction == 0.0:
        return before.copy()
    if fraction == 1.0:
        return after.copy()
    result = np.empty_like(before)
    _move(result, before, after, duration, fraction, (0, 1), 1)
    return result


@njit(cache=True)
def interpolate_body(before: Vector, after: Vector, duration: float, fraction: float) -> Vector:
    """The state of a body between two known ones, of 13 values, or 19 with accelerations."""
    if fraction == 0.0:
        return before.copy()
    if fraction == 1.0:
        return after.copy()
    result = np.empty_like(before)
    _move(result, before, after, duration, fraction, (POSITION, VELOCITY), 3)
    _turn(result, before, after, fraction, ORIENTATION)
    _go_straight(result, before, after, fraction, ANGULAR_VELOCITY)
    return result


@njit(cache=True, error_model="numpy")
def normalise_quaternion(quaternion: Vector) -> Vector:
    """The quaternion of unit length in the same direction; NaN if it has no length."""
    return quaternion / math.sqrt(np.sum(quaternion * quaternion))


@njit(cache=True)
def multiply_quaternions(left: Vector, right: Vector) -> Vector:
    """The Hamilton product: the rotation ``right`` followed by ``left``."""
    w, x, y, z = left
    a, b, c, d = right
    return np.array(
        [
            w * a - x * b - y * c - z * d,
            w * b + x * a + y * d - z * c,
            w * c - x * d + y * a + z * b,
            w * d + x * c - y * b + z * a,
        ]
    )


@njit(cache=True)
def rotate_vector(quaternion: Vector, vector: Vector) -> Vector:
    """A vector turned by a unit quaternion: v + 2 u x (u x v + w v), with u = (x, y, z)."""
    w, x, y, z = quaternion
    a, b, c = vector
    p = y * c - z * b + w * a
    q = z * a - x * c + w * b
    r = x * b - y * a + w * c
    return np.array(
        [
            a + 2.0 * (y * r - z * q),
            b + 2.0 * (z * p - x * r),
            c + 2.0 * (x * q - y * p),
        ]
    )


@njit(cache=True)
def matrix_from_quaternion(quaternion: Vector) -> Vector:
    """The rotation matrix of a unit quaternion; its columns are the body's axes in the world."""
    w, x, y, z = quaternion
    return np.array(
        [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
            [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
            [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
        ]
    )
