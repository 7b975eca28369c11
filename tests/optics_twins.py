"""Slow, obvious twins of the optics, written from the equations as they are printed."""

import cmath
import math
from fractions import Fraction

import numpy as np


def fresnel(first, second, cosine):
    """R and T by complex amplitudes; the p part of T needs the conjugate."""
    n1, n2, c1 = complex(first), complex(second), complex(cosine)
    # (n2 c2)² = n2² - n1² s², in exact arithmetic: it may be a difference of nearly equal numbers
    n, k, outside, c = (Fraction(float(x)) for x in (n2.real, n2.imag, first, cosine))
    c2 = cmath.sqrt(complex(n**2 - k**2 - outside**2 * (1 - c**2), 2 * n * k)) / n2
    r_s = (n1 * c1 - n2 * c2) / (n1 * c1 + n2 * c2)
    r_p = (n1 * c2 - n2 * c1) / (n1 * c2 + n2 * c1)
    t_s = 2.0 * n1 * c1 / (n1 * c1 + n2 * c2)
    t_p = 2.0 * n1 * c1 / (n1 * c2 + n2 * c1)
    reflectance = 0.5 * (abs(r_s) ** 2 + abs(r_p) ** 2)
    part_s = (n2 * c2).real / (n1 * c1).real * abs(t_s) ** 2
    part_p = (n2 * c2.conjugate()).real / (n1 * c1.conjugate()).real * abs(t_p) ** 2
    return reflectance, 0.5 * (part_s + part_p)


def facets(sigma, angle):
    """GGX by the tangent of the angle between normal and facet."""
    alpha_squared = 2.0 * sigma**2
    tangent_squared = math.tan(angle) ** 2
    below = math.pi * alpha_squared * math.cos(angle) ** 4
    return 1.0 / (below * (1.0 + tangent_squared / alpha_squared) ** 2)


def smith(sigma, cosine):
    """Smith's Λ."""
    return 0.5 * (-1.0 + math.sqrt(1.0 + 2.0 * sigma**2 * (1.0 - cosine**2) / cosine**2))


def masking(sigma, c_l, c_v):
    """Masking and shadowing of correlated heights."""
    return 1.0 / (1.0 + smith(sigma, c_l) + smith(sigma, c_v))


def base_layer(diffuse, sigma, light, viewer, normal):
    """Oren and Nayar's model as Fujii writes it."""
    c_l, c_v = light @ normal, viewer @ normal
    s = light @ viewer - c_l * c_v
    t = max(c_l, c_v) if s > 0.0 else 1.0
    v = sigma**2
    a = 1.0 - v / (2.0 * (v + 0.33)) + 0.17 * diffuse * v / (v + 0.13)
    b = 0.45 * v / (v + 0.09)
    return diffuse / math.pi * (a + b * s / t)


def retro_lobe(strength, light, viewer, normal):
    """Retro-reflective sheeting."""
    width = math.radians(0.48)
    apart = np.linalg.norm(light - viewer)
    return strength * (light @ normal) * (viewer @ normal) * math.exp(-((apart / width) ** 2))


def two_layer(parameters, light, viewer, normal, two_way=False, outside=1.0):
    """The whole two-layer surface, in the order that the report evaluates it in."""
    c_l, c_v = light @ normal, viewer @ normal
    if c_l <= 0.0 or c_v <= 0.0:
        return 0.0
    index = complex(parameters.ior, parameters.extinction)
    h = (light + viewer) / np.linalg.norm(light + viewer)
    angle = math.atan2(np.linalg.norm(np.cross(normal, h)), h @ normal)
    sigma = parameters.roughness_beckmann
    at_facet = fresnel(outside, index, light @ h)[0]
    top = at_facet * masking(sigma, c_l, c_v) * facets(sigma, angle) / (4.0 * c_l * c_v)
    through = 1.0 - at_facet
    if two_way:
        through = (1.0 - fresnel(outside, index, c_l)[0]) * (1.0 - fresnel(outside, index, c_v)[0])
    base = base_layer(
        parameters.diffuse_reflectance, parameters.roughness_oren_nayar, light, viewer, normal
    )
    retro = retro_lobe(parameters.retro_reflectance, light, viewer, normal)
    return top + through * base + retro
