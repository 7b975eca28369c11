r"""Tubes of rays: what each carries from one surface to the next, and what it sends back.

A tube is a cell (u, v) of the plane x = 1 ahead of the sensor, of the solid angle
du dv / (1 + u^2 + v^2)^(3/2). It is five rays: one through its middle and four through the middles
of its sides, which are led from plane to plane as if each facet had no end. Which facet that is, a
sixth ray finds out, drawn anywhere in the cell: so edges count by the share of a tube that they
let through, while lengths and phases are those of the cell, and draw no noise from it.

At a hit of the tube, with its length L so far, the distance r back to the receiver, A = L^2 dO and
the weight w of physical optics (``fields``),

    a = sqrt(P G_t G_r) lambda / (4 pi)^(3/2) sqrt(sigma) / (L r) e^(-j k (L + r))
    sqrt(sigma) = sqrt(4 pi) / lambda A w sinc(psi_u / 2 pi) sinc(psi_v / 2 pi) V

psi being how far the phase of L + r goes across the tube, and V whether the receiver is in sight.
The sinc is the integral over the tube: without it the spacing would have to follow the wavelength.
A is exact for plane facets. The mixer conjugates: what is kept has e^(+j k (L + r)).

Of the power that a rough surface takes from the mirror, Lambert's law sends some back:
sqrt(sigma) = sqrt(4 rho cos A), cos on the way back, with a phase drawn for each tube and frame.
What a tube gets from a diffuse surface after a mirror comes back on two ways: straight, once
as it is and once the other way round, and by the mirrors that it came by.

A pane (``fields``) reflects and lets through; whatever comes back straight through it has passed
it twice. Not counted are bounces, but for mirrors.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.rotations import Triple, dot, plus, times
from sensor_models.kernels.options import INLINE
from sensor_models.kernels.radar.compiling import CALLED
from sensor_models.kernels.radar.fields import Field
from sensor_models.kernels.radar.reflectors import Plane

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Columns of the numbers of a tube: start and direction of the ray that looks for facets; of each
# of its five rays place, direction and length so far; the field, real and imaginary; the sum of
# v . (d - d') over what has been met; the direction that it left in, of the sensor's y and z; the
# root of the gain there; the solid angle; what comes back straight, as a share; phases to draw.
START, WAY, RAYS = 0, 3, 6
RAY_SIZE = 7
FIELD = RAYS + 5 * RAY_SIZE
DRIFT = FIELD + 6
LEFT_Y, LEFT_Z = DRIFT + 1, DRIFT + 2
ROOT_GAIN, SOLID, BACK_RE, BACK_IM = DRIFT + 3, DRIFT + 4, DRIFT + 5, DRIFT + 6
DRAW, OTHER_DRAW, IN_PANE = DRIFT + 7, DRIFT + 8, DRIFT + 9
NUMBERS = DRIFT + 10
# And of its whole numbers: hits so far but for panes that let it through, all of them, whether it
# went straight on so far, and the owner of a pane that it is in.
DEPTH, EVENTS, STRAIGHT, PANE = range(4)
IDS = 4

#: Surfaces that a tube is followed to, panes among them.
MOST_EVENTS = 24
#: What is left of the power of a tube that is not followed any further.
LEAST_POWER = 1e-5


class Sender(NamedTuple):
    """The sensor at the middle of a frame."""

    place: tuple[float, float, float]  # in the world, m
    x: tuple[float, float, float]  # its axes in the world
    y: tuple[float, float, float]
    z: tuple[float, float, float]
    velocity: tuple[float, float, float]  # m/s
    wavenumber: float  # rad/m
    root_power: float  # sqrt(P / loss), of sqrt(W)
    sent: tuple[float, float]  # polarisation, parts v and h
    received: tuple[float, float]
    most_bounces: int
    jitter: float  # share of a cell that the ray that looks for facets is drawn from
    integrates: bool  # whether there is a sinc; without it, for comparison
    frame: int
    key: NDArray[np.uint64]
    pattern: Floats  # (2, n): root of the gain by the tangents of half azimuth and elevation


class Tubes(NamedTuple):
    """Tubes of one thread."""

    numbers: Floats
    ids: Ints


@njit(cache=True)
def new_tubes(rows: int) -> Tubes:
    """Room for tubes."""
    return Tubes(np.zeros((rows, NUMBERS)), np.zeros((rows, IDS), np.int64))


@njit(**INLINE)
def _from_table(table: Floats, row: int, tangent: float) -> float:
    """A number of a table by the tangent of half an angle, from -1 to 1."""
    last = table.shape[1] - 1
    place = 0.5 * (tangent + 1.0) * last
    step = min(max(int(place), 0), last - 1)
    share = min(max(place - step, 0.0), 1.0)
    value: float = table[row, step] + share * (table[row, step + 1] - table[row, step])
    return value


@njit(**CALLED)
def root_gain(pattern: Floats, forward: float, left: float, up: float) -> float:
    """The root of the antenna's gain in a direction of the sensor; none to the rear.

    tan(a / 2) = sin a / (1 + cos a) takes less than an angle.
    """
    if forward <= 0.0:
        return 0.0
    square = forward * forward + left * left
    level, length = math.sqrt(square), math.sqrt(square + up * up)
    azimuth, elevation = left / (level + forward), up / (length + level)
    root: float = _from_table(pattern, 0, azimuth) * _from_table(pattern, 1, elevation)
    return root


@njit(**INLINE)
def in_world(sender: Sender, forward: float, left: float, up: float) -> Triple:
    """A direction of the sensor in the world."""
    found: Triple = plus(plus(times(forward, sender.x), times(left, sender.y)), times(up, sender.z))
    return found


@njit(**INLINE)
def towards(sender: Sender, u: float, v: float) -> Triple:
    """The direction of a cell's point (u, v) in the world, of unit length."""
    scale = 1.0 / math.sqrt(1.0 + u * u + v * v)
    found: Triple = in_world(sender, scale, scale * u, scale * v)
    return found


@njit(**INLINE)
def put_triple(numbers: Floats, row: int, place: int, vector: Triple) -> None:
    """Write a vector into a row."""
    numbers[row, place] = vector[0]
    numbers[row, place + 1] = vector[1]
    numbers[row, place + 2] = vector[2]


@njit(**INLINE)
def get_triple(numbers: Floats, row: int, place: int) -> Triple:
    """A vector out of a row."""
    return numbers[row, place], numbers[row, place + 1], numbers[row, place + 2]


@njit(**INLINE)
def put_field(numbers: Floats, row: int, field: Field) -> None:
    """Write a field into a row."""
    for axis in range(3):
        numbers[row, FIELD + axis] = field[axis].real
        numbers[row, FIELD + 3 + axis] = field[axis].imag


@njit(**INLINE)
def get_field(numbers: Floats, row: int) -> Field:
    """The field out of a row."""
    return (
        complex(numbers[row, FIELD], numbers[row, FIELD + 3]),
        complex(numbers[row, FIELD + 1], numbers[row, FIELD + 4]),
        complex(numbers[row, FIELD + 2], numbers[row, FIELD + 5]),
    )


@njit(**INLINE)
def ray_cosine(plane: Plane, direction: Triple, least: float) -> float:
    """The product of a ray's direction and a normal on its side, which is below zero."""
    cosine: float = min(dot(plane.normal, direction), -least)
    return cosine


@njit(**INLINE)
def lead(numbers: Floats, row: int, ray: int, plane: Plane, least: float) -> None:
    """Lead one of the five rays to a plane; its direction stays."""
    at = RAYS + RAY_SIZE * ray
    way = get_triple(numbers, row, at + 3)
    gap = (
        (plane.point[0] - numbers[row, at]) * plane.normal[0]
        + (plane.point[1] - numbers[row, at + 1]) * plane.normal[1]
        + (plane.point[2] - numbers[row, at + 2]) * plane.normal[2]
    )
    length = max(gap / ray_cosine(plane, way, least), 0.0)
    for axis in range(3):
        numbers[row, at + axis] += length * way[axis]
    numbers[row, at + 6] += length


@njit(**INLINE)
def bounce(numbers: Floats, row: int, ray: int, plane: Plane) -> None:
    """Turn one of the five rays at a plane that it has been led to."""
    at = RAYS + RAY_SIZE * ray + 3
    n = plane.normal
    product = numbers[row, at] * n[0] + numbers[row, at + 1] * n[1] + numbers[row, at + 2] * n[2]
    for axis in range(3):
        numbers[row, at + axis] -= 2.0 * product * n[axis]


@njit(**INLINE)
def there_and_back(numbers: Floats, row: int, ray: int) -> float:
    """The length of one of the five rays, and from where it is straight to the sensor."""
    at = RAYS + RAY_SIZE * ray
    x, y, z = numbers[row, at], numbers[row, at + 1], numbers[row, at + 2]
    length: float = numbers[row, at + 6] + math.sqrt(x * x + y * y + z * z)
    return length


@njit(**INLINE)
def sinc(half: float) -> float:
    """The share sin x / x."""
    share: float = 1.0 - half * half / 6.0 if abs(half) < 1e-4 else math.sin(half) / half
    return share


@njit(**INLINE)
def across(numbers: Floats, row: int, wavenumber: float) -> float:
    """The integral of the phase over a tube, by its area: the product of both sincs."""
    u = there_and_back(numbers, row, 2) - there_and_back(numbers, row, 1)
    v = there_and_back(numbers, row, 4) - there_and_back(numbers, row, 3)
    share: float = sinc(0.5 * wavenumber * u) * sinc(0.5 * wavenumber * v)
    return share
