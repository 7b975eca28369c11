r"""Waves at a plane: what is reflected, what goes through a pane, what a receiver sees of it.

Fields are complex vectors in the world, of waves e^(j (w t - k . x)). Indices are n - j k, so the
coefficients are the conjugates of those that optics has for e^(-j w t):

    r_s = (c1 - N c2) / (c1 + N c2),   r_p = (c2 - N c1) / (c2 + N c1),   c2 = sqrt(1 - sin^2 / N^2)

A perfect conductor has r_s = r_p = -1. A pane of thickness h with the coefficient r of one face:

    r' = r (1 - e^(-2 j d)) / (1 - r^2 e^(-2 j d)),   t' = (1 - r^2) e^(-j d) / (1 - r^2 e^(-2 j d))

d = 2 pi N h c2 / lambda; t' leads from one face to the other. A ray that goes straight on counts
its own length through the pane, so t' is handed on without the phase k h c1 of that way.

A rough surface (heights of rms s) takes e^(-(4 pi s c1 / lambda)^2 / 2) off the amplitude.

With the direction d of the wave, the normal n on its side, s = d x n / |d x n|, p = s x d, and
r = d - 2 (d . n) n, p' = r x s, the reflected field is r_s (E . s) s + r_p (E . p) p'. A receiver
in the direction q sees, of the currents J = n x (d x E + r x E') and M = (E + E') x n,

    w = e . (J + M x q) / (2 |n . d|)

which is 1 for a mirror that faces it.

Source: Ling, Chou, Lee 1989 (shooting and bouncing rays); Knott, *Radar Cross Section*.
"""

import cmath
import math

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.rotations import Triple, cross, dot, minus, plus, times
from sensor_models.kernels.options import INLINE
from sensor_models.kernels.radar.compiling import CALLED

#: A field: three complex numbers.
Field = tuple[complex, complex, complex]

#: Kinds of surfaces: perfect conductors, those with an index, and those that only scatter.
CONDUCTOR, INDEXED, DIFFUSE = range(3)
#: A cosine at a surface counts as at least this.
LEAST_COSINE = 1e-3


@njit(**INLINE)
def along(field: Field, axis: Triple) -> complex:
    """The component of a field along an axis."""
    return field[0] * axis[0] + field[1] * axis[1] + field[2] * axis[2]


@njit(**INLINE)
def scaled(factor: complex, axis: Triple) -> Field:
    """A field along an axis."""
    return factor * axis[0], factor * axis[1], factor * axis[2]


@njit(**INLINE)
def together(one: Field, other: Field) -> Field:
    """The sum of two fields."""
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]


@njit(**INLINE)
def crossed(axis: Triple, field: Field) -> Field:
    """The product axis x field."""
    return (
        axis[1] * field[2] - axis[2] * field[1],
        axis[2] * field[0] - axis[0] * field[2],
        axis[0] * field[1] - axis[1] * field[0],
    )


@njit(**INLINE)
def power(field: Field) -> float:
    """The square of a field's length."""
    found = 0.0
    for part in field:
        found += part.real * part.real + part.imag * part.imag
    return found


@njit(**INLINE)
def squared(z: complex) -> float:
    """The square of the absolute value."""
    return z.real * z.real + z.imag * z.imag


@njit(**INLINE)
def refracted_cosine(index: complex, cosine: float) -> complex:
    """The cosine of the angle behind a surface: a root, without the care for numbers near 1e300."""
    z = 1.0 - (1.0 - cosine * cosine) / (index * index)
    length = math.sqrt(squared(z))
    more = math.sqrt(0.5 * (length + abs(z.real)))
    if more == 0.0:
        return 0j
    less = 0.5 * abs(z.imag) / more
    re, im = (more, less) if z.real >= 0.0 else (less, more)
    return complex(re, im if z.imag >= 0.0 else -im)


@njit(**CALLED)
def reflection(index: complex, cosine: float) -> tuple[complex, complex]:
    """The coefficients r_s and r_p of a face, from air."""
    behind = refracted_cosine(index, cosine)
    r_s = (cosine - index * behind) / (cosine + index * behind)
    r_p = (behind - index * cosine) / (behind + index * cosine)
    return r_s, r_p


@njit(**CALLED)
def pane(index: complex, cosine: float, thickness: float, wavenumber: float) -> tuple[complex, ...]:
    """The coefficients r_s, r_p, t_s and t_p of a pane, t without the way through air."""
    r_s, r_p = reflection(index, cosine)
    delay = wavenumber * thickness * index * refracted_cosine(index, cosine)
    once, twice = cmath.exp(-1j * delay), cmath.exp(-2j * delay)
    free = cmath.exp(1j * (wavenumber * thickness * cosine))
    under_s, under_p = 1.0 / (1.0 - r_s * r_s * twice), 1.0 / (1.0 - r_p * r_p * twice)
    return (
        r_s * (1.0 - twice) * under_s,
        r_p * (1.0 - twice) * under_p,
        (1.0 - r_s * r_s) * once * under_s * free,
        (1.0 - r_p * r_p) * once * under_p * free,
    )


@njit(**INLINE)
def coherent(rms: float, cosine: float, wavenumber: float) -> float:
    """What a rough surface leaves of an amplitude."""
    phase = 2.0 * wavenumber * rms * cosine
    return math.exp(-0.5 * phase * phase)


@njit(**INLINE)
def side_axis(direction: Triple, normal: Triple) -> Triple:
    """The axis s, across the plane of incidence; any one across the ray where that is no plane."""
    s: Triple = cross(direction, normal)
    square = dot(s, s)
    if square < 1e-18:
        flat = abs(direction[2]) < 0.9
        s = cross(direction, (0.0, 0.0, 1.0) if flat else (1.0, 0.0, 0.0))
        square = dot(s, s)
    unit: Triple = times(1.0 / math.sqrt(square), s)
    return unit


@njit(**INLINE)
def mirrored(direction: Triple, normal: Triple) -> Triple:
    """The direction of a reflected ray."""
    bounced: Triple = minus(direction, times(2.0 * dot(direction, normal), normal))
    return bounced


@njit(**INLINE)
def reflected_field(
    field: Field, direction: Triple, normal: Triple, side: Triple, r_s: complex, r_p: complex
) -> Field:
    """The field that a face sends off."""
    upright: Triple = cross(side, direction)
    lifted: Triple = cross(mirrored(direction, normal), side)
    sent: Field = together(
        scaled(r_s * along(field, side), side), scaled(r_p * along(field, upright), lifted)
    )
    return sent


@njit(**INLINE)
def passed_field(
    field: Field, direction: Triple, side: Triple, t_s: complex, t_p: complex
) -> Field:
    """The field behind a pane."""
    upright: Triple = cross(side, direction)
    sent: Field = together(
        scaled(t_s * along(field, side), side), scaled(t_p * along(field, upright), upright)
    )
    return sent


@njit(**INLINE)
def seen_by(
    field: Field, sent: Field, direction: Triple, normal: Triple, to: Triple, receiver: Triple
) -> complex:
    """The weight w of physical optics for a receiver, of the incoming and the reflected field."""
    bounced = mirrored(direction, normal)
    electric = crossed(normal, together(crossed(direction, field), crossed(bounced, sent)))
    whole = together(field, sent)
    # M x q = ((E + E') x n) x q
    magnetic = crossed(normal, whole)  # n x (E + E'), the opposite
    turned = crossed(to, magnetic)  # q x (n x (E + E')) = M x q
    cosine = max(-dot(normal, direction), LEAST_COSINE)
    weight: complex = (along(electric, receiver) + along(turned, receiver)) / (2.0 * cosine)
    return weight


@njit(**INLINE)
def polarised(direction: Triple, up: Triple, vertical: float, horizontal: float) -> Triple:
    """The axis of a field: v across the direction, in its plane with up; h = d x v."""
    v: Triple = minus(up, times(dot(up, direction), direction))
    square = dot(v, v)
    v = times(1.0 / math.sqrt(square), v) if square > 1e-18 else (1.0, 0.0, 0.0)
    h: Triple = cross(direction, v)
    axis: Triple = plus(times(vertical, v), times(horizontal, h))
    return axis


@njit(**CALLED)
def reflectance(index: complex, cosine: float) -> float:
    """The share of the power that a smooth face reflects, both polarisations alike."""
    r_s, r_p = reflection(index, cosine)
    found: float = 0.5 * (squared(r_s) + squared(r_p))
    return found
