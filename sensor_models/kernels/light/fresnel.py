r"""Fresnel's and Snell's laws for one interface, compiled.

Light comes from a medium of real index n1 onto one of index n2 = n + ik, k >= 0 absorbing, at an
angle of cosine c and sine s. With the relative index ñ = n2/n1 and q = ñ cos θ2, that is
q² = ñ² - s², the amplitude ratios of both polarisations and the unpolarised reflectance are

    r_s = (c - q) / (c + q)           = (1 - ñ²) / (c + q)²
    r_p = (c q - s²) / (c q + s²) r_s,     R = (|r_s|² + |r_p|²) / 2,     T = 1 - R

The forms on the right keep all digits where the indices are nearly equal. q is the root with
Im q >= 0, so that the wave decays in the medium that it enters, and Re q >= 0.

    at right angles   R0 = ((n - 1)² + k²) / ((n + 1)² + k²)
    refraction        d_t = η d + (η c - c2) n,   c2 = sqrt(1 - η² s²),   η = n1/n2
    reflection        d_r = d + 2 c n

Source: AGX Sensor report, eq. 5-6. It takes its coefficients for ratios of power; they are ratios
of amplitude. Its transmittance lacks real parts, and a common factor for both polarisations
falls short for metals; T = 1 - R needs none of it. n1 is real, though the report has it complex:
in a medium that absorbs, incident and reflected power do not separate and the choice of the root
jumps. What a medium absorbs on the way to the interface is its own matter (``media``). Directions
are an extension.

Not modelled: polarised light, and interference in thin layers.
"""

import math

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.rotations import Floats, Triple, dot

#: Below this cosine nothing goes through an interface any more.
GRAZING = 1e-6


@njit(cache=True, error_model="numpy")
def reflectance_at_normal(outside: float, ior: float, extinction: float) -> float:
    """The reflectance at right angles, from a clear medium of index ``outside``."""
    absorbing = extinction * extinction
    return ((ior - outside) ** 2 + absorbing) / ((ior + outside) ** 2 + absorbing)


@njit(cache=True, error_model="numpy")
def polarised_reflectance(
    outside: float, ior: float, extinction: float, cosine: float
) -> tuple[float, float]:
    """The reflectances |r_s|² and |r_p|², from a clear medium of index ``outside``."""
    n, k = ior / outside, extinction / outside
    c = min(max(cosine, 0.0), 1.0)
    contrast = ((n - 1.0) ** 2 + k * k) * ((n + 1.0) ** 2 + k * k)
    if contrast == 0.0:
        return 0.0, 0.0
    # q² = square + i 2nk, and q = real + i imaginary; the larger part first: it cannot cancel
    square = (n - 1.0) * (n + 1.0) - k * k + c * c
    if k == 0.0:
        if square <= 0.0:
            return 1.0, 1.0  # total internal reflection
        real, imaginary = math.sqrt(square), 0.0
    else:
        modulus = math.sqrt(square * square + 4.0 * n * n * k * k)
        larger = math.sqrt(0.5 * (modulus + abs(square)))
        smaller = n * k / larger
        real, imaginary = (larger, smaller) if square >= 0.0 else (smaller, larger)
    amplitude = (c + real) ** 2 + imaginary * imaginary
    perpendicular = min(contrast / (amplitude * amplitude), 1.0)
    sine_squared = (1.0 - c) * (1.0 + c)
    crossed = (c * imaginary) ** 2
    below = (c * real + sine_squared) ** 2 + crossed
    return perpendicular, perpendicular * ((c * real - sine_squared) ** 2 + crossed) / below


@njit(cache=True, error_model="numpy")
def reflectance(outside: float, ior: float, extinction: float, cosine: float) -> float:
    """The reflectance of unpolarised light, from a clear medium of index ``outside``."""
    perpendicular, parallel = polarised_reflectance(outside, ior, extinction, cosine)
    return float(0.5 * (perpendicular + parallel))


@njit(cache=True)
def reflect(direction: Triple, normal: Triple) -> Triple:
    """The mirror direction; the normal may have either sign."""
    twice = -2.0 * dot(direction, normal)
    return (
        direction[0] + twice * normal[0],
        direction[1] + twice * normal[1],
        direction[2] + twice * normal[2],
    )


@njit(cache=True, error_model="numpy")
def refract(direction: Triple, normal: Triple, outside: float, ior: float) -> tuple[bool, Triple]:
    """Whether light goes through a clear interface, and where it then goes.

    Args:
        direction: of the light, of unit length.
        normal: of unit length, on the side that the light comes from.
        outside: index on that side.
        ior: index on the other side.

    Returns:
        False and the direction as it was, if the light is totally reflected.
    """
    cosine = -dot(direction, normal)
    ratio = outside / ior
    # 1 - η² s², without the difference of nearly equal numbers when η is near 1
    square = (1.0 - ratio) * (1.0 + ratio) + (ratio * cosine) ** 2
    if square < 0.0:
        return False, direction
    along = ratio * cosine - math.sqrt(square)
    return True, (
        ratio * direction[0] + along * normal[0],
        ratio * direction[1] + along * normal[1],
        ratio * direction[2] + along * normal[2],
    )


@njit(cache=True, error_model="numpy")
def split(
    direction: Triple, normal: Triple, outside: float, ior: float
) -> tuple[float, Triple, Triple]:
    """What a clear interface makes of a ray: reflectance, reflected and refracted direction.

    The arguments are those of ``refract``. A reflectance of 1 means that nothing goes through;
    then the refracted direction means nothing. The rest, 1 - R, goes through.
    """
    mirrored = reflect(direction, normal)
    cosine = -dot(direction, normal)
    through, refracted = refract(direction, normal, outside, ior)
    if not through or cosine < GRAZING:
        return 1.0, mirrored, refracted
    return reflectance(outside, ior, 0.0, cosine), mirrored, refracted


@njit(cache=True)
def reflectance_of_each(
    outside: float, ior: float, extinction: float, cosines: Floats, result: Floats
) -> None:
    """``reflectance`` for many angles."""
    for i in range(len(cosines)):
        result[i] = reflectance(outside, ior, extinction, cosines[i])


@njit(cache=True)
def split_each(
    directions: Floats,
    normals: Floats,
    outside: float,
    ior: float,
    shares: Floats,
    reflected: Floats,
    refracted: Floats,
) -> None:
    """``split`` for many rays; the arrays of directions have three columns."""
    for i in range(len(directions)):
        direction = (directions[i, 0], directions[i, 1], directions[i, 2])
        normal = (normals[i, 0], normals[i, 1], normals[i, 2])
        shares[i], mirrored, through = split(direction, normal, outside, ior)
        for axis in range(3):
            reflected[i, axis] = mirrored[axis]
            refracted[i, axis] = through[axis] if shares[i] < 1.0 else math.nan
