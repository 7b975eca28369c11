"""Slow, obvious twins of what the package computes fast."""

import math
from fractions import Fraction

import numpy as np


def random_words(key, sample, lane):
    """The four words of a counter, by NumPy's generator."""
    # NumPy steps its counter before it makes the first block.
    counter = (sample + (lane << 64) - 1) % 2**256
    words = np.random.Philox(key=key, counter=counter).random_raw(4)
    return tuple(int(word) for word in words)


def uniform(key, sample, lane):
    """A uniform draw: the middle of one of 2^52 equal parts of (0, 1)."""
    return float(Fraction(2 * (random_words(key, sample, lane)[0] >> 12) + 1, 2**53))


def normal(key, sample, lane):
    """A normal draw: the real part of a number of Rayleigh length and uniform direction."""
    _, radial, angular, _ = (
        float(Fraction(2 * (word >> 12) + 1, 2**53)) for word in random_words(key, sample, lane)
    )
    return math.sqrt(-2.0 * math.log(radial)) * math.cos(2.0 * math.pi * angular)


def hermite(p0, v0, p1, v1, duration, fraction):
    """Position and velocity on the cubic through two positions with given velocities."""
    h, t = duration, fraction * duration
    # The unknowns are the coefficients a b c d of a t^3 + b t^2 + c t + d; c and d are known.
    a, b = np.linalg.solve(
        [[h**3, h**2], [3.0 * h**2, 2.0 * h]], [p1 - p0 - v0 * h, v1 - v0]
    ).tolist()
    return a * t**3 + b * t**2 + v0 * t + p0, 3.0 * a * t**2 + 2.0 * b * t + v0


def turn(axis, angle):
    """The quaternion of a rotation by an angle about an axis of any length."""
    axis = np.asarray(axis, dtype=float)
    return np.array([math.cos(angle / 2), *(math.sin(angle / 2) * axis / np.linalg.norm(axis))])


def matrix_of_turn(axis, angle):
    """The rotation matrix of a rotation about an axis, by the formula of Rodrigues."""
    x, y, z = np.asarray(axis, dtype=float) / np.linalg.norm(axis)
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + math.sin(angle) * cross + (1.0 - math.cos(angle)) * cross @ cross


def stamps(start, rate, end):
    """Index and instant of all samples from start to end, in exact arithmetic."""
    count = math.floor((Fraction(end) - Fraction(start)) * Fraction(rate)) + 1
    return [(k, start + k / rate) for k in range(count)]


def allan_deviation(signal, rate, averaging_time):
    """The overlapping Allan deviation of a rate signal, by second differences of its integral."""
    count = round(averaging_time * rate)
    # without its mean, which has no effect, the integral stays small and its differences exact
    integral = np.concatenate([[0.0], np.cumsum(signal - np.mean(signal))]) / rate
    second = integral[2 * count :] - 2.0 * integral[count:-count] + integral[: -2 * count]
    return math.sqrt(np.mean(second**2) / (2.0 * averaging_time**2))
