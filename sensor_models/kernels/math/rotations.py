"""Vectors and rotations as tuples, for kernels that make many of them in a sample.

The functions of ``kernels.math.motion`` take and return arrays, each of which is allocated; these
compile to plain arithmetic. Quaternions are (w, x, y, z), of unit length where they rotate.

    turned         v + 2 u x (u x v + w v),   q = (w, u)
    vector of q    2 atan2(|u|, w) u / |u|,   w >= 0: the shorter way round
    q of vector a  (cos |a|/2, sin(|a|/2) a / |a|)
"""

import math

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.options import INLINE

Floats = NDArray[np.float64]
Triple = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]


@njit(**INLINE)
def triple_at(values: Floats, place: int) -> Triple:
    """The vector at a place of an array."""
    return values[place], values[place + 1], values[place + 2]


@njit(**INLINE)
def quaternion_at(values: Floats, place: int) -> Quaternion:
    """The quaternion at a place of an array."""
    return values[place], values[place + 1], values[place + 2], values[place + 3]


@njit(**INLINE)
def store(values: Floats, place: int, vector: Triple) -> None:
    """Write a vector to a place of an array."""
    values[place], values[place + 1], values[place + 2] = vector


@njit(**INLINE)
def plus(a: Triple, b: Triple) -> Triple:
    """The sum a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@njit(**INLINE)
def minus(a: Triple, b: Triple) -> Triple:
    """The difference a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@njit(**INLINE)
def times(factor: float, a: Triple) -> Triple:
    """A vector, scaled."""
    return factor * a[0], factor * a[1], factor * a[2]


@njit(**INLINE)
def cross(a: Triple, b: Triple) -> Triple:
    """The product a x b."""
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


@njit(**INLINE)
def dot(a: Triple, b: Triple) -> float:
    """The product a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@njit(**INLINE)
def conjugate(q: Quaternion) -> Quaternion:
    """The opposite rotation."""
    return q[0], -q[1], -q[2], -q[3]


@njit(**INLINE)
def multiply(p: Quaternion, q: Quaternion) -> Quaternion:
    """The rotation that turns by q first and by p after it."""
    return (
        p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3],
        p[0] * q[1] + p[1] * q[0] + p[2] * q[3] - p[3] * q[2],
        p[0] * q[2] - p[1] * q[3] + p[2] * q[0] + p[3] * q[1],
        p[0] * q[3] + p[1] * q[2] - p[2] * q[1] + p[3] * q[0],
    )


@njit(**INLINE)
def turn(q: Quaternion, vector: Triple) -> Triple:
    """A vector turned by a rotation."""
    u = (q[1], q[2], q[3])
    half_the_way = cross(u, plus(cross(u, vector), times(q[0], vector)))
    turned: Triple = plus(vector, times(2.0, half_the_way))
    return turned


@njit(**INLINE)
def middle(p: Quaternion, q: Quaternion) -> Quaternion:
    """The rotation halfway from p to q, the shorter way round."""
    sign = -1.0 if p[0] * q[0] + p[1] * q[1] + p[2] * q[2] + p[3] * q[3] < 0.0 else 1.0
    w, x, y, z = q[0] + sign * p[0], q[1] + sign * p[1], q[2] + sign * p[2], q[3] + sign * p[3]
    # at least sqrt(2): the shorter way is half a turn at the most
    length = math.sqrt(w * w + x * x + y * y + z * z)
    return w / length, x / length, y / length, z / length


@njit(**INLINE)
def vector_of_rotation(q: Quaternion) -> Triple:
    """The principal rotation vector: axis times angle, at most half a turn."""
    sign = -1.0 if q[0] < 0.0 else 1.0
    sine = math.sqrt(q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    factor = 2.0 if sine == 0.0 else 2.0 * math.atan2(sine, sign * q[0]) / sine
    vector: Triple = times(sign * factor, (q[1], q[2], q[3]))
    return vector


@njit(**INLINE)
def rotation_of_vector(vector: Triple) -> Quaternion:
    """The rotation of a principal rotation vector."""
    angle = math.sqrt(dot(vector, vector))
    factor = 0.5 if angle == 0.0 else math.sin(0.5 * angle) / angle
    x, y, z = times(factor, vector)
    return math.cos(0.5 * angle), x, y, z


@njit(**INLINE)
def compose(first: Triple, second: Triple) -> Triple:
    """The vector of two rotations of a body, one after the other, each about its own axes."""
    together = multiply(rotation_of_vector(first), rotation_of_vector(second))
    vector: Triple = vector_of_rotation(together)
    return vector
