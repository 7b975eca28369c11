r"""What the pictures on a face make of a point that waits for its light (``points``).

color       reflectance of the base of a matt or coated surface, colour of what a metal mirrors
roughness   α² of the coat, and the share m of metal. A surface of both is two points with the
            tints 1 - m and m, the one coated, the other a bare metal of the colour S: its top
            has min(1, S / R0) of Fresnel's share
normals     a normal x T + y B + z N, with N on the viewer's side, T in the face along rising u,
            B = ±N x T against rising v, as MikkTSpace and glTF have it for flat faces. On the
            back of a face x and y are turned. A normal that leans away from the viewer is bent
            back until it does not. Only shading has it: rays start at the facet and none comes
            from below it
emission    radiance in cd/m2 for red, green and blue: of white at all wavelengths alike

Where a pixel sees several normals their mean n is shorter than 1, and the coat is rougher by it:

    α'² = α² + 2 (1 - |n|) / |n|

Sources: Khronos, glTF 2.0, 3.9 and appendix B; Mikkelsen 2008 (frames); Toksvig 2005 (roughness),
with the slopes of a Beckmann surface, α² = 2 / exponent of its Phong lobe.
Deviation: frames are those of facets, as all shading here is.
"""

import math

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.camera.ccd.points import (
    ALONG_OF,
    MATERIAL_OF,
    NORMAL_OF,
    PLACE_OF,
    TIME_OF,
    Points,
    copy_colors,
    copy_point,
    triple,
)
from sensor_models.kernels.camera.ccd.textures import (
    COLORS,
    EMISSION,
    NORMALS,
    ROUGHNESS,
    Textures,
    combined,
    ellipse_of,
    pictures_of,
    reflect_as,
    texel_at,
    to_mesh,
)
from sensor_models.kernels.compiling import njit
from sensor_models.kernels.light.surfaces import KIND, SLOPE_SQUARED, SURFACE_SIZE, TABULATED
from sensor_models.kernels.math.rotations import Triple, cross, dot
from sensor_models.kernels.tracing.packets import ACCESS
from sensor_models.kernels.tracing.scene_view import SceneView

Floats = NDArray[np.float64]

#: W/m2/sr/m of a white that is 1 cd/m2 bright: 1 / (683 lm/W ∫ȳ dλ), with the ȳ of
#: ``light.spectra``.
PER_CANDELA = 1.0 / (683.0 * 1.0695e-7)
#: Spectra of colours end here: none is brighter (``light.spectra``).
BRIGHTEST = 0.999
#: The least a bent normal leans to the facet's, and to the viewer.
LEAST_UP, LEAST_FACING = 0.05, 0.01
#: α² of the smoothest coat.
SMOOTHEST = 2e-8


@njit(**ACCESS)
def dress(
    view: SceneView,
    textures: Textures,
    points: Points,
    place: int,
    owner: int,
    face: int,
    width: float,
) -> None:
    """Give a point the looks of its face; it may become two points, both of which wait."""
    numbers, material = points.numbers, points.ids[place, MATERIAL_OF]
    where, along = triple(numbers, place, PLACE_OF), triple(numbers, place, ALONG_OF)
    normal = triple(numbers, place, NORMAL_OF)
    at, first, second, third = to_mesh(view, textures, owner, numbers[place, TIME_OF], where)
    long, short = ellipse_of(along, normal, width)
    long = (dot(first, long), dot(second, long), dot(third, long))
    short = (dot(first, short), dot(second, short), dot(third, short))
    pictures, base, shown = textures.of_face[face], points.base[place], pictures_of(textures)
    if pictures[COLORS] >= 0:
        color = texel_at(shown, pictures[COLORS], face, at, long, short)
        reflect_as(textures, material, color, base)
    if not textures.is_mapped:
        return
    metal = 1.0 if textures.is_metal[material] else 0.0
    slopes, maps = points.surface[place, SLOPE_SQUARED], max(pictures[ROUGHNESS], pictures[NORMALS])
    if pictures[ROUGHNESS] >= 0:
        rough, share, told = texel_at(shown, pictures[ROUGHNESS], face, at, long, short)
        slopes = max(rough, SMOOTHEST) if told < 1.5 or told > 2.5 else slopes
        metal = min(max(share, 0.0), 1.0) if told > 1.5 else metal
    if pictures[NORMALS] >= 0:
        x, y, z = texel_at(shown, pictures[NORMALS], face, at, long, short)
        length = min(math.sqrt(x * x + y * y + z * z), 1.0)
        if length > 0.0:
            slopes += 2.0 * (1.0 - length) / length
            bend(textures, points, place, face, (first, second, third), (x, y, z))
    if pictures[EMISSION] >= 0:
        light = texel_at(shown, pictures[EMISSION], face, at, long, short)
        glow_as(textures, light, points, place)
    if maps >= 0 or (metal > 0.0 and pictures[COLORS] >= 0):
        if pictures[COLORS] < 0:
            for k in range(len(base)):
                base[k] = textures.colors[material, k]
        clad(textures, points, place, material, min(slopes, 1.0), metal)


@njit(**ACCESS)
def clad(
    textures: Textures, points: Points, place: int, material: int, slopes: float, metal: float
) -> None:
    """Make a point one of a coat, of metal, or two points of both; its base has the colour."""
    if metal < 1.0:
        if metal > 0.0:
            other = double(points, place)
            for k in range(points.tint.shape[1]):
                points.tint[place, k] *= 1.0 - metal
                points.tint[other, k] *= metal
            make_metal(textures, points, other, material, slopes)
        if points.surface[place, KIND] != TABULATED:  # whose table has its own roughness
            for k in range(SURFACE_SIZE):
                points.surface[place, k] = textures.coats[material, k]
            points.surface[place, SLOPE_SQUARED] = slopes
        for k in range(points.top.shape[1]):
            points.top[place, k] = 1.0
    else:
        make_metal(textures, points, place, material, slopes)
    points.shown[place] = False


@njit(**ACCESS)
def make_metal(
    textures: Textures, points: Points, place: int, material: int, slopes: float
) -> None:
    """Make a point one of bare metal, of the colour that its base has."""
    whole = textures.wholes[material]
    for k in range(SURFACE_SIZE):
        points.surface[place, k] = textures.metals[material, k]
    points.surface[place, SLOPE_SQUARED] = slopes
    for k in range(points.top.shape[1]):
        points.top[place, k] = min(points.base[place, k] / whole, 1.0)
        points.base[place, k] = 0.0
    points.known[place] = points.shown[place] = False


@njit(**ACCESS)
def double(points: Points, place: int) -> int:
    """Put a point among those that wait a second time; returns where."""
    other: int = points.filled[0]
    points.filled[0] = other + 1
    copy_point(points, place, points, other)
    copy_colors(points, place, points, other)
    for k in range(points.tint.shape[1]):
        points.emission[other, k] = points.emission[place, k]
        points.around[other, k] = points.around[place, k]
    points.glows[other] = points.glows[place]
    return other


@njit(**ACCESS)
def bend(
    textures: Textures,
    points: Points,
    place: int,
    face: int,
    rows: tuple[Triple, Triple, Triple],
    lean: Triple,
) -> None:
    """Turn the normal of a point as a picture says; ``rows`` turn the world to the mesh."""
    f = textures.faces[face]
    first, second, third = rows
    normal = triple(points.numbers, place, NORMAL_OF)
    along_u = combined(f[0], f[1], f[2], first, second, third)
    along_v = combined(f[4], f[5], f[6], first, second, third)
    turn = cross(along_u, along_v)
    size = math.sqrt(dot(turn, turn))
    if not size > 0.0:
        return
    tangent = cross(along_v, normal)
    scale = 1.0 / max(math.sqrt(dot(tangent, tangent)), 1e-300)
    scale = -scale if dot(tangent, along_u) < 0.0 else scale
    tangent = (scale * tangent[0], scale * tangent[1], scale * tangent[2])
    beside = cross(normal, tangent)
    sign = -1.0 if dot(beside, along_v) > 0.0 else 1.0
    outside = dot(turn, normal) * dot(first, cross(second, third)) * textures.sides[face]
    side = 1.0 if outside >= 0.0 else -1.0
    x, y = side * lean[0], sign * side * lean[1]
    z = max(lean[2], LEAST_UP)
    a = x * tangent[0] + y * beside[0] + z * normal[0]
    b = x * tangent[1] + y * beside[1] + z * normal[1]
    c = x * tangent[2] + y * beside[2] + z * normal[2]
    scale = 1.0 / math.sqrt(a * a + b * b + c * c)
    a, b, c = scale * a, scale * b, scale * c
    p, q, r = triple(points.numbers, place, ALONG_OF)
    missing = LEAST_FACING + (a * p + b * q + c * r)
    if missing > 0.0:
        a, b, c = a - missing * p, b - missing * q, c - missing * r
        scale = 1.0 / math.sqrt(a * a + b * b + c * c)
        a, b, c = scale * a, scale * b, scale * c
    for k in range(3):
        points.flat[place, k] = normal[k]
    points.numbers[place, NORMAL_OF] = a
    points.numbers[place, NORMAL_OF + 1] = b
    points.numbers[place, NORMAL_OF + 2] = c
    points.bent[place], points.known[place], points.shown[place] = True, False, False


@njit(**ACCESS)
def glow_as(textures: Textures, light: Triple, points: Points, place: int) -> None:
    """Add light of a colour in cd/m2 to what a point sends by itself."""
    most = max(light[0], light[1], light[2])
    if not most > 0.0:
        return
    emission, spectrum = points.emission[place], points.around[place]
    # ``around`` is room here: points that glow do without what neighbours share.
    color = (light[0] / most, light[1] / most, light[2] / most)
    scale = most * PER_CANDELA / BRIGHTEST
    reflect_as(textures, len(textures.most) - 1, color, spectrum)
    for k in range(len(emission)):
        before = emission[k] if points.glows[place] else 0.0
        emission[k] = before + scale * spectrum[k]
    points.glows[place], points.known[place] = True, False
