r"""Motion between known states, and rotations, on flat float64 vectors.

Interpolation between states at t0 and t1 = t0 + h, at the fraction s = (t - t0) / h:

    position          p = p0 + s^2 (3 - 2 s) (p1 - p0) + h s (1 - s) ((1 - s) v0 - s v1)
    velocity          v = dp/dt = 6 s (1 - s) (p1 - p0) / h + (1 - s) (1 - 3 s) v0 + s (3 s - 2) v1
    orientation       q = q0 exp(r),   r the same cubic between 0 and R = log(q0^-1 q1), with the
                      slopes q0^-1 w0 and J(R)^-1 q1^-1 w1
    angular velocity  w = q (J(r) dr/dt)
    everything else   x = x0 + s (x1 - x0)

Symbols: exp and log between rotation vectors and unit quaternions; w the angular velocity in the
world, q^-1 w the same in the frame of the body; J the right Jacobian of the rotation vector,

    J(r) x    = x - (1 - cos a)/a^2  r x x + (a - sin a)/a^3  r x (r x x),     a = |r|
    J(r)^-1 x = x + 1/2  r x x + (1 - (a/2) cot(a/2))/a^2  r x (r x x)

(Sola, Deray, Atchuthan, "A micro Lie theory for state estimation in robotics", 2018, eq. 143 and
144). Position and orientation are cubic Hermite polynomials, and the velocities their derivatives,
so an integral of the angular velocity is the rotation. The error is of fourth order in h, that of
spherical linear interpolation, which knows no angular velocity, of second order. q and -q are the
same orientation; of the two ways from q0 to q1 the shorter is taken, or the longer one if the
angular velocities say so: a body may turn by up to three quarters of a turn between known states.
Differences are formed first, so that a body at rest stays where it is to the last bit.

At s = 0 and s = 1 the result is the end state itself, bit for bit.

If both velocities are exactly zero while the positions differ, the velocity is evidently not
connected. The position is then interpolated linearly, because the Hermite polynomial would
stop at each end and run at 1.5 times the true speed between. The velocity stays the zero that
was given: the end states carry it as well, and anything else would be read as acceleration. The
same goes for orientations and angular velocities: r = s R.

Velocities that a master forms as differences of its poses contradict the cubic: the mean of two
such velocities is not the way that is gone between, so the velocity bends by as much within each
step, and its slope at the ends of a step is off by some 6 / h times what they differ by. That
reads as an acceleration of +-200 m/s2 where poses at 100 Hz swing with 0.4 m at 1 Hz.

Poses alone (``follow_poses``) have no such kinks. In the step from t1 to t2 all is taken from
the parabola through the poses at t0, t1 and t2:

    p = p1 + u d1 + u^2 d2,   u = t - t1,   velocity d1 + 2 u d2,   acceleration 2 d2
    d2 = ((p2 - p1)/h - (p1 - p0)/h') / (h + h'),   d1 = (p2 - p1)/h - h d2

with h = t2 - t1 and h' = t1 - t0; the same for the rotation vectors log(q1^-1 q), with the
angular velocity and acceleration that belong to them. The acceleration is that of the parabola,
not a difference of its velocities, so the small jumps of the velocity from one parabola to the
next (h^2 / 2 times the jerk) are not read as accelerations. It is late by at most h. With two poses
the motion is even, with one there is none.

States, given out of place and never changed:

    joint    position, velocity
    body     position x y z, orientation w x y z, velocity x y z, angular velocity x y z;
             then, if known, acceleration x y z, angular acceleration x y z
    linear   anything of any length

All interpolations share one signature, so that a caller can pick one; those that end in ``_into``
write to an array that they are given. Orientations must be of unit length. Quaternions are
(w, x, y, z) and take vectors of the body to the world.
"""

import math

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.rotations import (
    Quaternion,
    Triple,
    conjugate,
    cross,
    dot,
    minus,
    multiply,
    plus,
    quaternion_at,
    rotation_of_vector,
    store,
    times,
    triple_at,
    turn,
)
from sensor_models.kernels.options import INLINE, PLAIN

Vector = NDArray[np.float64]
Parabola = tuple[Triple, Triple]

INTO_SIGNATURE = "void(float64[::1], float64[::1], float64[::1], float64, float64)"

# Places in the state of a body.
POSITION = 0
ORIENTATION = 3
VELOCITY = 7
ANGULAR_VELOCITY = 10
ACCELERATION = 13
ANGULAR_ACCELERATION = 16
BODY_SIZE, BODY_SIZE_WITH_ACCELERATIONS = 13, 19

#: Below this angle (rad) the series of the Jacobian are exact to the last digit.
SMALL_ANGLE = 0.01

#: Ways to interpolate, by number.
LINEAR, JOINT, BODY = range(3)


@njit(**INLINE, error_model="numpy")
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


@njit(**INLINE, error_model="numpy")
def rotation_between(before: Quaternion, after: Quaternion) -> Triple:
    """The rotation vector from one orientation to another, the shorter way, in the first's frame.

    It is formed of the difference of the two, so that a small rotation keeps its digits.
    """
    w, x, y, z = before
    product = w * after[0] + x * after[1] + y * after[2] + z * after[3]
    sign = -1.0 if product < 0.0 else 1.0
    a, b, c, d = sign * after[0] - w, sign * after[1] - x, sign * after[2] - y, sign * after[3] - z
    i = w * b - x * a - y * d + z * c
    j = w * c - y * a - z * b + x * d
    k = w * d - z * a - x * c + y * b
    sine = math.sqrt(i * i + j * j + k * k)
    factor = 2.0 if sine == 0.0 else 2.0 * math.atan2(sine, abs(product)) / sine
    return factor * i, factor * j, factor * k


@njit(**INLINE, error_model="numpy")
def rate_of_vector(r: Triple, slope: Triple) -> Triple:
    """The angular velocity in the body's frame, of a rotation vector and its slope: J(r) dr/dt."""
    square = dot(r, r)
    if square < SMALL_ANGLE * SMALL_ANGLE:
        first = 0.5 - square * (1.0 / 24.0 - square / 720.0)
        second = 1.0 / 6.0 - square * (1.0 / 120.0 - square / 5040.0)
    else:
        angle = math.sqrt(square)
        first = (1.0 - math.cos(angle)) / square
        second = (angle - math.sin(angle)) / (square * angle)
    across = cross(r, slope)
    rate: Triple = plus(slope, minus(times(second, cross(r, across)), times(first, across)))
    return rate


@njit(**INLINE, error_model="numpy")
def slope_of_vector(r: Triple, rate: Triple) -> Triple:
    """The slope of a rotation vector, of the angular velocity in the body's frame."""
    square = dot(r, r)
    if square < SMALL_ANGLE * SMALL_ANGLE:
        factor = 1.0 / 12.0 + square * (1.0 / 720.0 + square / 30240.0)
    else:
        half = 0.5 * math.sqrt(square)
        factor = (1.0 - half / math.tan(half)) / square
    across = cross(r, rate)
    slope: Triple = plus(rate, plus(times(0.5, across), times(factor, cross(r, across))))
    return slope


@njit(**INLINE)
def _turned_by(before: Quaternion, r: Triple) -> Quaternion:
    """An orientation, turned by a rotation vector in its own frame, at unit length."""
    w, x, y, z = multiply(before, rotation_of_vector(r))
    length = math.sqrt(w * w + x * x + y * y + z * z)
    return w / length, x / length, y / length, z / length


@njit(**INLINE, error_model="numpy")
def _way_round(whole: Triple, rate_0: Triple, rate_1: Triple, duration: float) -> Triple:
    """The rotation vector between two states, the other way round if the rates speak for that.

    Beyond three quarters of a turn the slopes of a rotation vector say little of the rates.
    """
    angle = math.sqrt(dot(whole, whole))
    if angle < 0.5 * math.pi:
        return whole
    expected = 0.5 * duration * dot(plus(rate_0, rate_1), whole) / angle
    other: Triple = times((angle - 2.0 * math.pi) / angle, whole)
    return other if expected < angle - math.pi else whole


@njit(**INLINE)
def store_quaternion(result: Vector, place: int, q: Quaternion) -> None:
    """Write a quaternion to a place of an array."""
    result[place], result[place + 1], result[place + 2], result[place + 3] = q


@njit(**PLAIN, error_model="numpy")
def _turn(result: Vector, before: Vector, after: Vector, duration: float, fraction: float) -> None:
    """Orientation and angular velocity of a body, into ``result``."""
    first, last = quaternion_at(before, ORIENTATION), quaternion_at(after, ORIENTATION)
    rate_0 = triple_at(before, ANGULAR_VELOCITY)
    rate_1 = triple_at(after, ANGULAR_VELOCITY)
    whole = rotation_between(first, last)
    s, u = fraction, 1.0 - fraction
    connected = dot(rate_0, rate_0) != 0.0 or dot(rate_1, rate_1) != 0.0
    if not connected:
        moved = first
        if dot(whole, whole) != 0.0:
            moved = _turned_by(first, times(s, whole))
        store_quaternion(result, ORIENTATION, moved)
        store(result, ANGULAR_VELOCITY, (0.0, 0.0, 0.0))
        return
    slope_0, rate_b = turn(conjugate(first), rate_0), turn(conjugate(last), rate_1)
    whole = _way_round(whole, slope_0, rate_b, duration)
    slope_1 = slope_of_vector(whole, rate_b)
    bulge = minus(times(u, slope_0), times(s, slope_1))
    r = plus(times(s * s * (3.0 - 2.0 * s), whole), times(duration * s * u, bulge))
    bend = plus(times(u * (1.0 - 3.0 * s), slope_0), times(s * (3.0 * s - 2.0), slope_1))
    slope = plus(times(6.0 * s * u / duration, whole), bend)
    moved = _turned_by(first, r)
    store_quaternion(result, ORIENTATION, moved)
    store(result, ANGULAR_VELOCITY, turn(moved, rate_of_vector(r, slope)))


@njit(**INLINE)
def _go_straight(
    result: Vector, before: Vector, after: Vector, fraction: float, start: int
) -> None:
    """Linear interpolation from place ``start`` on, into ``result``."""
    for i in range(start, before.size):
        result[i] = before[i] + fraction * (after[i] - before[i])


@njit(**INLINE)
def _is_an_end(result: Vector, before: Vector, after: Vector, fraction: float) -> bool:
    """Take over an end of the interval, if that is what is asked for."""
    if fraction != 0.0 and fraction != 1.0:
        return False
    for i in range(before.size):
        result[i] = before[i] if fraction == 0.0 else after[i]
    return True


@njit(INTO_SIGNATURE, **PLAIN)
def interpolate_linear_into(
    result: Vector,
    before: Vector,
    after: Vector,
    duration: float,  # noqa: ARG001 - all interpolations have one signature
    fraction: float,
) -> None:
    """Each value linearly between two known ones."""
    if not _is_an_end(result, before, after, fraction):
        _go_straight(result, before, after, fraction, 0)


@njit(INTO_SIGNATURE, **PLAIN)
def interpolate_joint_into(
    result: Vector, before: Vector, after: Vector, duration: float, fraction: float
) -> None:
    """The state of a joint between two known ones: position, velocity."""
    if not _is_an_end(result, before, after, fraction):
        _move(result, before, after, duration, fraction, (0, 1), 1)


@njit(INTO_SIGNATURE, **PLAIN)
def interpolate_body_into(
    result: Vector, before: Vector, after: Vector, duration: float, fraction: float
) -> None:
    """The state of a body between two known ones, of 13 values, or 19 with accelerations."""
    if not _is_an_end(result, before, after, fraction):
        _move(result, before, after, duration, fraction, (POSITION, VELOCITY), 3)
        _turn(result, before, after, duration, fraction)
        _go_straight(result, before, after, fraction, ACCELERATION)


@njit(cache=True)
def interpolate_linear(before: Vector, after: Vector, duration: float, fraction: float) -> Vector:
    """Each value linearly between two known ones."""
    result = np.empty_like(before)
    interpolate_linear_into(result, before, after, duration, fraction)
    return result


@njit(cache=True)
def interpolate_joint(before: Vector, after: Vector, duration: float, fraction: float) -> Vector:
    """The state of a joint between two known ones: position, velocity."""
    result = np.empty_like(before)
    interpolate_joint_into(result, before, after, duration, fraction)
    return result


@njit(cache=True)
def interpolate_body(before: Vector, after: Vector, duration: float, fraction: float) -> Vector:
    """The state of a body between two known ones, of 13 values, or 19 with accelerations."""
    result = np.empty_like(before)
    interpolate_body_into(result, before, after, duration, fraction)
    return result


@njit(
    "void(float64[:,::1], float64[:,::1], float64[:,::1], float64, float64)",
    **PLAIN,
)
def interpolate_bodies_into(
    result: Vector, before: Vector, after: Vector, duration: float, fraction: float
) -> None:
    """The states of several bodies between two known ones of each, a row a body."""
    for i in range(result.shape[0]):
        interpolate_body_into(result[i], before[i], after[i], duration, fraction)


@njit(**INLINE, error_model="numpy")
def parabola(older: Triple, newer: Triple, interval_0: float, interval: float) -> Parabola:
    """Slope at the middle pose, and half the acceleration: ways to the other two from there."""
    ahead = times(1.0 / interval, newer)
    if not interval_0 > 0.0:
        return ahead, (0.0, 0.0, 0.0)
    behind = times(-1.0 / interval_0, older)
    half = times(1.0 / (interval + interval_0), minus(ahead, behind))
    return minus(ahead, times(interval, half)), half


@njit(**INLINE, error_model="numpy")
def _turn_by_poses(
    result: Vector,
    older: Vector,
    before: Vector,
    after: Vector,
    interval_0: float,
    interval: float,
    elapsed: float,
) -> None:
    """The rotational part of ``follow_poses``."""
    middle = quaternion_at(before, ORIENTATION)
    d1, d2 = parabola(
        rotation_between(middle, quaternion_at(older, ORIENTATION)),
        rotation_between(middle, quaternion_at(after, ORIENTATION)),
        interval_0,
        interval,
    )
    r = times(elapsed, plus(d1, times(elapsed, d2)))
    slope, bend = plus(d1, times(2.0 * elapsed, d2)), times(2.0, d2)
    orientation = quaternion_at(after, ORIENTATION)
    if elapsed != interval:
        orientation = _turned_by(middle, r)
    store_quaternion(result, ORIENTATION, orientation)
    store(result, ANGULAR_VELOCITY, turn(orientation, rate_of_vector(r, slope)))
    # dJ/dt dr/dt to third order in r; the rotation within a step is small
    across = cross(r, slope)
    change = plus(times(dot(r, slope) / 12.0, across), times(1.0 / 6.0, cross(slope, across)))
    acceleration = plus(rate_of_vector(r, bend), change)
    store(result, ANGULAR_ACCELERATION, turn(orientation, acceleration))


@njit(**INLINE, error_model="numpy")
def _move_by_poses(
    result: Vector,
    older: Vector,
    before: Vector,
    after: Vector,
    interval_0: float,
    interval: float,
    elapsed: float,
) -> None:
    """The translational part of ``follow_poses``."""
    origin = triple_at(before, POSITION)
    d1, d2 = parabola(
        minus(triple_at(older, POSITION), origin),
        minus(triple_at(after, POSITION), origin),
        interval_0,
        interval,
    )
    if elapsed != interval:
        store(result, POSITION, plus(origin, times(elapsed, plus(d1, times(elapsed, d2)))))
    else:
        store(result, POSITION, triple_at(after, POSITION))
    store(result, VELOCITY, plus(d1, times(2.0 * elapsed, d2)))
    store(result, ACCELERATION, times(2.0, d2))


@njit(
    "void(float64[::1], float64[::1], float64[::1], float64[::1], float64, float64, float64,"
    " boolean, boolean)",
    **PLAIN,
    error_model="numpy",
)
def follow_poses(
    result: Vector,
    older: Vector,
    before: Vector,
    after: Vector,
    interval_0: float,
    interval: float,
    elapsed: float,
    moves: bool,
    turns: bool,
) -> None:
    """A body with its velocities and accelerations, 19 values, from poses alone.

    Args:
        result: filled; what does not follow the poses is left as it is.
        older: the state whose pose was known before ``before``, if ``interval_0`` is above 0.
        before: the state at the start of the interval.
        after: the state at its end.
        interval_0: time from ``older`` to ``before``, 0 if there is no such state.
        interval: time from ``before`` to ``after``, 0 if ``after`` is the only state.
        elapsed: time since ``before``.
        moves: whether the position, its velocity and acceleration follow the poses.
        turns: whether the orientation does, and what belongs to it.
    """
    known = interval > 0.0
    if moves and known:
        _move_by_poses(result, older, before, after, interval_0, interval, elapsed)
    elif moves:
        store(result, POSITION, triple_at(after, POSITION))
        store(result, VELOCITY, (0.0, 0.0, 0.0))
        store(result, ACCELERATION, (0.0, 0.0, 0.0))
    if turns and known:
        _turn_by_poses(result, older, before, after, interval_0, interval, elapsed)
    elif turns:
        store_quaternion(result, ORIENTATION, quaternion_at(after, ORIENTATION))
        store(result, ANGULAR_VELOCITY, (0.0, 0.0, 0.0))
        store(result, ANGULAR_ACCELERATION, (0.0, 0.0, 0.0))


@njit(cache=True, error_model="numpy")
def normalise_quaternion(quaternion: Vector) -> Vector:
    """The quaternion of unit length in the same direction; NaN if it has no length."""
    w, x, y, z = quaternion
    length = math.sqrt(w * w + x * x + y * y + z * z)
    return np.array([w / length, x / length, y / length, z / length])


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
    rows = (
        (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)),
        (2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)),
        (2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)),
    )
    matrix = np.empty((3, 3))
    for i in range(3):
        for j in range(3):
            matrix[i, j] = rows[i][j]
    return matrix
