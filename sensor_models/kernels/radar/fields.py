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

which is 1 for a mirror that faces it. That is linear in E and E', so vectors here are real: both
parts of a field are multiplied with the same. With g = e x n and h = (e x q) x n,

    w = (E . (g x d + h) + E' . (g x r + h)) / (2 |n . d|)

None of these functions branches or calls, so that loops over tubes become vectors.

Source: Ling, Chou, Lee 1989 (shooting and bouncing rays); Knott, *Radar Cross Section*.
"""

import math

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.rotations import Triple, cross, dot, minus, plus, times
from sensor_models.kernels.math.turns import cosine_and_sine
from sensor_models.kernels.radar.compiling import CALLED
from sensor_models.kernels.tracing.packets import ACCESS

#: Kinds of surfaces: perfect conductors, those with an index, and those that only scatter.
CONDUCTOR, INDEXED, DIFFUSE = range(3)
#: A cosine at a surface counts as at least this.
LEAST_COSINE = 1e-3


@njit(**ACCESS)
def squared(z: complex) -> float:
    """The square of the absolute value."""
    return z.real * z.real + z.imag * z.imag


@njit(**ACCESS)
def quotient(a: complex, b: complex) -> complex:
    """The quotient a / b, without the care for numbers near 1e300."""
    scale = 1.0 / squared(b)
    re, im = scale * b.real, -scale * b.imag
    return complex(a.real * re - a.imag * im, a.real * im + a.imag * re)


@njit(**ACCESS)
def refracted_cosine(index: complex, cosine: float) -> complex:
    """The cosine of the angle behind a surface: a root, without the care for numbers near 1e300."""
    z = 1.0 - quotient(complex(1.0 - cosine * cosine, 0.0), index * index)
    length = math.sqrt(squared(z))
    more = math.sqrt(0.5 * (length + abs(z.real)))
    less = 0.5 * abs(z.imag) / more if more > 0.0 else 0.0
    re = more if z.real >= 0.0 else less
    im = less if z.real >= 0.0 else more
    return complex(re, im if z.imag >= 0.0 else -im)


@njit(**ACCESS)
def reflection(index: complex, cosine: float) -> tuple[complex, complex]:
    """The coefficients r_s and r_p of a face, from air."""
    behind = refracted_cosine(index, cosine)
    dense, inside = index * cosine, index * behind
    r_s = quotient(cosine - inside, cosine + inside)
    r_p = quotient(behind - dense, behind + dense)
    return r_s, r_p


@njit(**CALLED)
def pane(index: complex, cosine: float, thickness: float, wavenumber: float) -> tuple[complex, ...]:
    """The coefficients r_s, r_p, t_s and t_p of a pane, t without the way through air."""
    r_s, r_p = reflection(index, cosine)
    delay = wavenumber * thickness * index * refracted_cosine(index, cosine)
    c, s = cosine_and_sine(delay.real / (2.0 * math.pi))
    shrunk = math.exp(delay.imag)  # e^(-j delay); an index n - j k makes this less than 1
    once = complex(shrunk * c, -shrunk * s)
    twice = once * once
    c, s = cosine_and_sine(wavenumber * thickness * cosine / (2.0 * math.pi))
    through = once * complex(c, s)
    under_s = quotient(complex(1.0, 0.0), 1.0 - r_s * r_s * twice)
    under_p = quotient(complex(1.0, 0.0), 1.0 - r_p * r_p * twice)
    return (
        r_s * (1.0 - twice) * under_s,
        r_p * (1.0 - twice) * under_p,
        (1.0 - r_s * r_s) * through * under_s,
        (1.0 - r_p * r_p) * through * under_p,
    )


@njit(**ACCESS)
def roughness(rms: float, cosine: float, wavenumber: float) -> float:
    """The logarithm of what a rough surface leaves of an amplitude."""
    phase = 2.0 * wavenumber * rms * cosine
    return -0.5 * phase * phase


@njit(**ACCESS)
def coherent(rms: float, cosine: float, wavenumber: float) -> float:
    """What a rough surface leaves of an amplitude."""
    return math.exp(roughness(rms, cosine, wavenumber))


@njit(**ACCESS)
def side_axis(direction: Triple, normal: Triple) -> Triple:
    """The axis s, across the plane of incidence; any one across the ray where that is no plane."""
    s: Triple = cross(direction, normal)
    lies = dot(s, s) >= 1e-18
    flat = 1.0 if abs(direction[2]) < 0.9 else 0.0
    any_one: Triple = cross(direction, (1.0 - flat, 0.0, flat))
    s = (
        s[0] if lies else any_one[0],
        s[1] if lies else any_one[1],
        s[2] if lies else any_one[2],
    )
    unit: Triple = times(1.0 / math.sqrt(dot(s, s)), s)
    return unit


@njit(**ACCESS)
def mirrored(direction: Triple, normal: Triple) -> Triple:
    """The direction of a reflected ray."""
    bounced: Triple = minus(direction, times(2.0 * dot(direction, normal), normal))
    return bounced


@njit(**ACCESS)
def weights_of(
    direction: Triple, bounced: Triple, normal: Triple, to: Triple, receiver: Triple
) -> tuple[Triple, Triple]:
    """What the incoming and the reflected field are multiplied with for the weight w."""
    side: Triple = cross(receiver, normal)
    through: Triple = cross(cross(receiver, to), normal)
    scale = 0.5 / max(-dot(normal, direction), LEAST_COSINE)
    incoming: Triple = times(scale, plus(cross(side, direction), through))
    reflected: Triple = times(scale, plus(cross(side, bounced), through))
    return incoming, reflected


@njit(**ACCESS)
def polarised(direction: Triple, up: Triple, vertical: float, horizontal: float) -> Triple:
    """The axis of a field: v across the direction, in its plane with up; h = d x v."""
    v: Triple = minus(up, times(dot(up, direction), direction))
    square = dot(v, v)
    scale = 1.0 / math.sqrt(square) if square > 1e-18 else 0.0
    v = times(scale, v)
    v = v[0] if square > 1e-18 else 1.0, v[1], v[2]
    h: Triple = cross(direction, v)
    axis: Triple = plus(times(vertical, v), times(horizontal, h))
    return axis


@njit(**CALLED)
def reflectance(index: complex, cosine: float) -> float:
    """The share of the power that a smooth face reflects, both polarisations alike."""
    r_s, r_p = reflection(index, cosine)
    found: float = 0.5 * (squared(r_s) + squared(r_p))
    return found
