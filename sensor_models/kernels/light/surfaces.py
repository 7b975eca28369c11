r"""What a surface sends where: Lambert, two-layer and retro-reflective surfaces, compiled.

With the normal n, the directions l toward the light and v toward the viewer, all of unit length,
and h = (l + v) / |l + v|, the bidirectional reflectance in 1/sr is

    f   = f_s + T f_d + f_r,          0 unless n·l > 0 and n·v > 0

    f_s = R(l·h) D V                  top layer; none on a Lambert surface
    D   = α² / π [α² (n·h)² + |n×h|²]²,   α² = 2 σ_B²               (GGX)
    V   = G / 4 (n·l)(n·v) = 1 / 2 [(n·v) g(n·l) + (n·l) g(n·v)],   g(c)² = α² + (1 - α²) c²

    f_d = C/π (A + B s/t)             base layer
    s   = l·v - (n·l)(n·v),   t = max(n·l, n·v) if s > 0, else 1
    A   = 1 - σ_O² / 2(σ_O² + 0.33) + 0.17 C σ_O² / (σ_O² + 0.13),   B = 0.45 σ_O² / (σ_O² + 0.09)

    T   = 1 - R(l·h)                  into the base ("half vector"), or
          (1 - R(n·l)) (1 - R(n·v))   in and out again ("two way")

    f_r = ρ (n·l)(n·v) exp(-|l - v|² / w²)                            retro-reflective sheeting

R is Fresnel's reflectance from the medium around (``fresnel``), σ_B the slope roughness of the
top layer as of a Beckmann surface with the same α, G the height-correlated masking of Smith,
1 / (1 + Λ(n·l) + Λ(n·v)), Λ(c) = (-1 + sqrt(1 + α² (1 - c²)/c²)) / 2, and σ_O the standard
deviation of the slopes of the base in rad, after Oren and Nayar in the form of Fujii. A Lambert
surface is a base of σ_O = 0 with T = 1, a clear interface a top without a base.

Sources. f, f_s, f_d: AGX Sensor report, eq. 4 and 7-12, with these corrections: h is of unit
length; Λ, not G1, stands in the denominator of G (eq. 10 makes 1/3 of it where nothing is
masked); f_d has no further factor n·l (eq. 11 counts the cosine twice, since the reflectance
equation has it already). V is G / 4(n·l)(n·v) of it, written without 0/0. "Half vector" is the
report's T and gains energy at grazing angles; "two way" conserves it, and is an extension.

f_r is an extension, a model of the simplest kind with two constants fitted to the minima of ASTM
D4956 for white sheeting of types I and III. The coefficient of retroreflection that the standard
states (cd/lx/m2) is f_r (n·l)(n·v); ρ is it, facing the light and with the viewer at the light.
From 0.2° to 0.5° between light and viewer it drops to 0.43 (I) and 0.38 (III); w = 0.48° makes
0.40. From 4° to 30° off the normal it drops to 0.43 (I) and 0.60 (III); cos⁴ makes 0.57. At 0.2°
a sheeting has 0.84 ρ. Not fitted, so an estimate: what it does beyond 30°. The ring of light and
the dependence on the angle of rotation that prisms show are not modelled.

Shared with the ray tree (AGX Sensor report, ray trace; corrected): the report weights a ray that
goes on in the mirror direction with f_s (n·l), which has no bound. ``specular_share`` is the share
of power that a surface throws into a cone of half-angle β about that direction,

    S = R τ² / (α² + τ²),   τ² = tan²(β/2) / (n·l)

exact at right angles and within 7 % up to 60°. A surface smoother than the cone of the detector
sends back as much as one of α = tan(β/2): ``least_slope_squared`` of ``retro`` is tan²(β/2).

Not modelled: light scattered more than once between facets, which f_s loses (up to half of it at
σ_B = 0.5), anisotropic surfaces, polarised light.
"""

import math

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.light.fresnel import reflectance, reflectance_at_normal
from sensor_models.kernels.math.rotations import Floats, Triple, cross, dot

Surface = tuple[float, float, float, float, float, float, float, float]

#: Columns of a table of surfaces: 8 numbers, which fill a line of a processor's cache.
KIND = 0
IOR = 1
EXTINCTION = 2
SLOPE_SQUARED = 3  # squared roughness of the top layer
BASE = 4  # A C/π
BASE_SLOPE = 5  # B C/π
TWO_WAY = 6
RETRO = 7  # strength of the lobe of retro-reflective sheeting, 1/sr
SURFACE_SIZE = 8

#: Kinds of surface.
LAMBERT = 0.0
TWO_LAYER = 1.0
DIELECTRIC = 2.0
TABULATED = 3.0  # ``tabulated``: nothing here knows its table, which BASE says the place of

#: Cosines count as no less in denominators: f is finite at grazing angles.
LEAST_COSINE = 1e-6

#: w², of 0.48 degrees.
RETRO_WIDTH_SQUARED = math.radians(0.48) ** 2

#: What facing sheeting of unit strength sends back in all, in sr: the integral of its lobe.
RETRO_SOLID_ANGLE = math.pi * RETRO_WIDTH_SQUARED

#: Of D and V, where light and viewer are one.
QUARTER_OF_PI_INVERSE = 0.25 / math.pi

#: Keeps 0/0 away where light and viewer are opposite, both in the plane of the surface.
TINY = 1e-300


@njit(cache=True, forceinline=True)
def surface_at(surfaces: Floats, index: int) -> Surface:
    """A row of a table of surfaces."""
    return (
        surfaces[index, KIND],
        surfaces[index, IOR],
        surfaces[index, EXTINCTION],
        surfaces[index, SLOPE_SQUARED],
        surfaces[index, BASE],
        surfaces[index, BASE_SLOPE],
        surfaces[index, TWO_WAY],
        surfaces[index, RETRO],
    )


@njit(cache=True, error_model="numpy")
def facets(slope_squared: float, sine_squared: float) -> float:
    """The density D of facets whose normal is h, by |n×h|²."""
    bracket = slope_squared * (1.0 - sine_squared) + sine_squared
    return slope_squared / (math.pi * bracket * bracket)


@njit(cache=True, error_model="numpy")
def visibility(slope_squared: float, toward_light: float, toward_viewer: float) -> float:
    """The share V of facets that light and viewer both see, over 4 times both cosines."""
    c_l, c_v = max(toward_light, LEAST_COSINE), max(toward_viewer, LEAST_COSINE)
    g_l = math.sqrt(slope_squared + (1.0 - slope_squared) * c_l * c_l)
    g_v = math.sqrt(slope_squared + (1.0 - slope_squared) * c_v * c_v)
    return 0.5 / (c_v * g_l + c_l * g_v)


@njit(cache=True, error_model="numpy")
def base_layer(surface: Surface, toward_light: float, toward_viewer: float, s: float) -> float:
    """The bidirectional reflectance f_d of the base, by its cosines and s."""
    t = max(toward_light, toward_viewer, LEAST_COSINE) if s > 0.0 else 1.0
    return float(surface[BASE] + surface[BASE_SLOPE] * s / t)


@njit(cache=True, error_model="numpy")
def into_base(
    surface: Surface,
    outside: float,
    at_facet: float,
    toward_light: float,
    toward_viewer: float,
) -> float:
    """The share T of light that takes part in the base layer; ``at_facet`` is R(l·h)."""
    if surface[TWO_WAY] == 0.0:
        return 1.0 - at_facet
    ior, extinction = surface[IOR], surface[EXTINCTION]
    inward: float = 1.0 - reflectance(outside, ior, extinction, toward_light)
    if toward_viewer == toward_light:
        return inward * inward
    return float(inward * (1.0 - reflectance(outside, ior, extinction, toward_viewer)))


@njit(cache=True, error_model="numpy")
def brdf(surface: Surface, light: Triple, viewer: Triple, normal: Triple, outside: float) -> float:
    """The bidirectional reflectance f in 1/sr.

    Args:
        surface: row of a table of surfaces.
        light: direction toward the light, of unit length.
        viewer: direction toward the viewer, of unit length.
        normal: of the surface, of unit length.
        outside: index of the medium around.
    """
    c_l, c_v, c_lv = dot(light, normal), dot(viewer, normal), dot(light, viewer)
    if not (c_l > 0.0 and c_v > 0.0):
        return 0.0
    f: float = base_layer(surface, c_l, c_v, c_lv - c_l * c_v)
    if surface[KIND] != LAMBERT:
        ior, extinction = surface[IOR], surface[EXTINCTION]
        slope_squared = surface[SLOPE_SQUARED]
        between = (light[0] + viewer[0], light[1] + viewer[1], light[2] + viewer[2])
        length_squared = max(dot(between, between), TINY)
        tilt = cross(normal, between)
        at_facet = reflectance(outside, ior, extinction, 0.5 * math.sqrt(length_squared))
        d = facets(slope_squared, min(dot(tilt, tilt) / length_squared, 1.0))
        f = at_facet * d * visibility(slope_squared, c_l, c_v) + f * into_base(
            surface, outside, at_facet, c_l, c_v
        )
    if surface[RETRO] > 0.0:
        apart = (light[0] - viewer[0], light[1] - viewer[1], light[2] - viewer[2])
        lobe = math.exp(-dot(apart, apart) / RETRO_WIDTH_SQUARED)
        f += surface[RETRO] * c_l * c_v * lobe
    return f


@njit(cache=True, error_model="numpy")
def retro(
    surface: Surface,
    cosine: float,
    sine_squared: float,
    outside: float,
    least_slope_squared: float,
) -> float:
    """The bidirectional reflectance f in 1/sr back to where the light comes from.

    Args:
        surface: row of a table of surfaces.
        cosine: of the angle between light and normal.
        sine_squared: of the same angle; take it from the product of the vectors, as next to 1
            the cosine does not tell angles apart that matter to a smooth surface.
        outside: index of the medium around.
        least_slope_squared: tan²(β/2) of a detector that accepts a cone of half-angle β; 0 for f
            itself.
    """
    if not cosine > 0.0:
        return 0.0
    c = max(cosine, LEAST_COSINE)
    if surface[KIND] == LAMBERT:
        f = float(surface[BASE] + surface[BASE_SLOPE] * sine_squared / c)
    else:
        slope_squared = max(surface[SLOPE_SQUARED], least_slope_squared)
        ior, extinction = surface[IOR], surface[EXTINCTION]
        at_facet = reflectance_at_normal(outside, ior, extinction)
        # D V, and s/t of the base, over one denominator: a division takes as long as all else.
        bracket = slope_squared * (1.0 - sine_squared) + sine_squared
        shadowed = math.sqrt(slope_squared + (1.0 - slope_squared) * c * c) * bracket * bracket
        inverse = 1.0 / (shadowed * c)
        top = QUARTER_OF_PI_INVERSE * at_facet * slope_squared * inverse
        base = surface[BASE] + surface[BASE_SLOPE] * sine_squared * shadowed * inverse
        f = top + base * into_base(surface, outside, at_facet, cosine, cosine)
    return float(f + surface[RETRO] * cosine * cosine)


@njit(cache=True, error_model="numpy")
def specular_share(
    surface: Surface, cosine: float, outside: float, least_slope_squared: float
) -> float:
    """The share S of power that goes on into a cone about the mirror direction.

    Arguments as for ``retro``; the cone is that of half-angle β.
    """
    if surface[KIND] == LAMBERT or not cosine > 0.0:
        return 0.0
    whole = reflectance(outside, surface[IOR], surface[EXTINCTION], cosine)
    rough = surface[SLOPE_SQUARED] * cosine
    return float(whole * least_slope_squared / (rough + least_slope_squared))


@njit(cache=True)
def brdf_of_each(
    surfaces: Floats,
    lights: Floats,
    viewers: Floats,
    normals: Floats,
    outside: float,
    result: Floats,
) -> None:
    """``brdf`` of the first surface for many directions, in arrays of three columns."""
    surface = surface_at(surfaces, 0)
    for i in range(len(lights)):
        result[i] = brdf(
            surface,
            (lights[i, 0], lights[i, 1], lights[i, 2]),
            (viewers[i, 0], viewers[i, 1], viewers[i, 2]),
            (normals[i, 0], normals[i, 1], normals[i, 2]),
            outside,
        )
