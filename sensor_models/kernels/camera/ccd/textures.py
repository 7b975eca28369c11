r"""What textures say at a point: colours, and by the same law all other maps (``looks``).

The coordinates of a face in its texture are linear in the place on it, so that of a point needs no
more than the place, in the frame of its mesh. A pixel sees an ellipse of the surface: across, what
a cell of it is wide at its distance, along, that over the cosine at which the ray arrives. In the
picture this has two axes; the shorter one chooses the levels of a pyramid of halved pictures, the
longer one is followed by several looks:

    color = mean over looks of levels floor(l) and floor(l) + 1, bilinear in each, linear between

    l     = log2 of the shorter axis in texels, at least 0
    looks = longer over shorter axis, at most ``MOST_LOOKS``; beyond that the shorter one is longer.
            Where texels are larger than half a pixel, there are two lanes of at least two looks:
            the mean over the pixel.

Colours are linear light, so means of them are right. Their spectra are those of a table over
linear red, green and blue (``cube``), linear in the tetrahedra between its nodes, which keeps the
colour of each, and greys flat. R = S visible + beyond, at most what the material allows.

Source: PHYSICS-2, 36; Williams 1983 (pyramids), for several looks McCormack et al. 1999.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.rotations import Triple, dot
from sensor_models.kernels.tracing.moving import blended, knot_at
from sensor_models.kernels.tracing.packets import ACCESS
from sensor_models.kernels.tracing.scene_view import SceneView

Floats = NDArray[np.float64]

REPEAT, CLAMP, MIRROR = range(3)
#: Columns of ``Textures.levels``, of ``Textures.known`` and of ``Textures.owners``.
START, ROWS, COLUMNS = range(3)
FIRST_LEVEL, LEVELS, WRAP_U, WRAP_V = range(4)
FIRST_FACE, BODY = range(2)
MOST_LOOKS = 16
#: Columns of ``Textures.of_face``: pictures of colours, of roughness and metal, of normals, of
#: light that a surface sends by itself.
COLORS, ROUGHNESS, NORMALS, EMISSION = range(4)
MAPS = 4


class Pictures(NamedTuple):
    """What is needed of ``Textures`` to look at a picture: arguments take time, too."""

    texels: NDArray[np.float32]
    levels: NDArray[np.int64]
    known: NDArray[np.int64]
    faces: Floats


class Textures(NamedTuple):
    """The textures of a scene."""

    there: bool  # there are any
    is_mapped: bool  # there are pictures of more than colours, or on metals
    texels: NDArray[np.float32]  # (texels, 3): what ``looks`` takes, all levels of all pictures
    levels: NDArray[np.int64]  # (levels, 3): first texel, rows, columns
    known: NDArray[np.int64]  # (textures, 4): first level, how many, how it goes on beyond edges
    faces: Floats  # (faces, 8): u and v as numbers times x, y, z and 1, in the frame of the mesh
    of_face: NDArray[np.int32]  # (faces, MAPS): its textures, -1 for none
    sides: NDArray[np.int8]  # (faces,): 1 where u and v turn as corners do seen from outside, or -1
    owners: NDArray[np.int64]  # (owners, 2): first row of ``faces``, -1 for none; body
    frames: Floats  # (owners, 12): from the body, or the world, to the mesh
    nodes: Floats  # (n,): linear values that the table has spectra for
    cube: NDArray[np.float32]  # (n, n, n, wavelengths)
    visible: Floats  # (materials, wavelengths): what counts of the spectrum of a colour
    beyond: Floats  # (materials, wavelengths): what is added, by numbers for the infrared
    most: Floats  # (materials,): the greatest reflectance
    is_metal: NDArray[np.bool_]  # (materials,)
    coats: Floats  # (materials, SURFACE_SIZE): what is no metal of a material
    metals: Floats  # (materials, SURFACE_SIZE): what is
    colors: Floats  # (materials, wavelengths): reflectance of its own colour
    wholes: Floats  # (materials,): what its metal reflects at right angles


@njit(**ACCESS)
def texture_of(textures: Textures, owner: int, primitive: int) -> int:
    """The row of a textured face; -1 for others."""
    first = textures.owners[owner, FIRST_FACE]
    if first < 0:
        return -1
    pictures = textures.of_face[first + primitive]
    if max(pictures[0], pictures[1], pictures[2], pictures[3]) < 0:
        return -1
    return int(first + primitive)


@njit(**ACCESS)
def to_mesh(
    view: SceneView, textures: Textures, owner: int, time: float, place: Triple
) -> tuple[Triple, Triple, Triple, Triple]:
    """A place of the world in the frame of a mesh, and the rows of the matrix that turns there."""
    f, body = textures.frames[owner], textures.owners[owner, BODY]
    x, y, z = place
    a, b, c = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
    if body >= 0:
        bodies = view.bodies
        knot, share = knot_at(bodies, time)
        x -= blended(bodies, knot, share, body, 9)
        y -= blended(bodies, knot, share, body, 10)
        z -= blended(bodies, knot, share, body, 11)
        a = column_of(view, body, knot, share, 0)
        b = column_of(view, body, knot, share, 1)
        c = column_of(view, body, knot, share, 2)
        x, y, z = dot(a, (x, y, z)), dot(b, (x, y, z)), dot(c, (x, y, z))
    first = combined(f[0], f[1], f[2], a, b, c)
    second = combined(f[3], f[4], f[5], a, b, c)
    third = combined(f[6], f[7], f[8], a, b, c)
    at = (
        f[0] * x + f[1] * y + f[2] * z + f[9],
        f[3] * x + f[4] * y + f[5] * z + f[10],
        f[6] * x + f[7] * y + f[8] * z + f[11],
    )
    return at, first, second, third


@njit(**ACCESS)
def column_of(view: SceneView, body: int, knot: int, share: float, k: int) -> Triple:
    """A column of the rotation matrix of a body."""
    bodies = view.bodies
    return (
        blended(bodies, knot, share, body, k),
        blended(bodies, knot, share, body, k + 3),
        blended(bodies, knot, share, body, k + 6),
    )


@njit(**ACCESS)
def combined(x: float, y: float, z: float, a: Triple, b: Triple, c: Triple) -> Triple:
    """X a + y b + z c."""
    return (
        x * a[0] + y * b[0] + z * c[0],
        x * a[1] + y * b[1] + z * c[1],
        x * a[2] + y * b[2] + z * c[2],
    )


@njit(**ACCESS)
def ellipse_of(along: Triple, normal: Triple, width: float) -> tuple[Triple, Triple]:
    """The axes on a surface of what a ray of some width sees of it, each a whole axis long."""
    cosine = min(max(-dot(along, normal), 1e-3), 1.0)
    x, y, z = along
    # Along the surface and the ray's own direction on it: what is left of that beside the normal.
    p, q, r = x + cosine * normal[0], y + cosine * normal[1], z + cosine * normal[2]
    size = math.sqrt(p * p + q * q + r * r)
    if size < 1e-6:  # from straight above all directions are alike
        p, q, r = (1.0, 0.0, 0.0) if abs(normal[0]) < 0.9 else (0.0, 1.0, 0.0)
        off = p * normal[0] + q * normal[1] + r * normal[2]
        p, q, r = p - off * normal[0], q - off * normal[1], r - off * normal[2]
        size = math.sqrt(p * p + q * q + r * r)
    p, q, r = p / size, q / size, r / size
    n = normal
    s, t, u = n[1] * r - n[2] * q, n[2] * p - n[0] * r, n[0] * q - n[1] * p
    long = width / cosine
    return (long * p, long * q, long * r), (width * s, width * t, width * u)


@njit(**ACCESS)
def wrapped(place: int, count: int, how: int) -> int:
    """A row or column beyond the edge as one inside."""
    if how == CLAMP:
        return min(max(place, 0), count - 1)
    if how == MIRROR:
        folded = place % (2 * count)
        return folded if folded < count else 2 * count - 1 - folded
    if -count <= place < 2 * count:  # as a rule, and a division takes longer
        return place + count if place < 0 else (place - count if place >= count else place)
    return place % count


@njit(**ACCESS)
def pictures_of(textures: Textures) -> Pictures:
    """The part of textures that looks at pictures."""
    return Pictures(textures.texels, textures.levels, textures.known, textures.faces)


@njit(**ACCESS)
def bilinear(textures: Pictures, texture: int, level: int, u: float, v: float) -> Triple:
    """The texel at a place of a level, between the middles of texels."""
    known = textures.known[texture]
    start, rows, columns = textures.levels[known[FIRST_LEVEL] + level]
    x, y = u * columns - 0.5, v * rows - 0.5
    left, top = math.floor(x), math.floor(y)
    a, b = x - left, y - top
    first, second, upper, lower = int(left), int(left) + 1, int(top), int(top) + 1
    if (first < 0) | (second >= columns):  # hardly ever
        first = wrapped(first, columns, known[WRAP_U])
        second = wrapped(second, columns, known[WRAP_U])
    if (upper < 0) | (lower >= rows):
        upper = wrapped(upper, rows, known[WRAP_V])
        lower = wrapped(lower, rows, known[WRAP_V])
    upper, lower = start + columns * upper, start + columns * lower
    t = textures.texels
    red = green = blue = 0.0
    for texel, weight in (
        (upper + first, (1.0 - a) * (1.0 - b)),
        (upper + second, a * (1.0 - b)),
        (lower + first, (1.0 - a) * b),
        (lower + second, a * b),
    ):
        red += weight * np.float64(t[texel, 0])
        green += weight * np.float64(t[texel, 1])
        blue += weight * np.float64(t[texel, 2])
    return red, green, blue


@njit(**ACCESS)
def fraction(place: float) -> float:
    """A coordinate within many repetitions, brought near 0; even ones, for mirrored pictures."""
    return place - 2.0 * math.floor(0.5 * place)


@njit(**ACCESS)
def apart(count: int) -> float:
    """How far apart several looks lie in a pixel from -1/2 to 1/2.

    They are spread a little further than evenly, so that their variance is that of the whole pixel:
    their mean then leaves as much of fine detail as the mean over the pixel does.
    """
    return 0.0 if count == 1 else 1.0 / math.sqrt(count * count - 1.0)


@njit(**{**ACCESS, "forceinline": False})
def texel_at(
    textures: Pictures, texture: int, row: int, at: Triple, long: Triple, short: Triple
) -> Triple:
    """What a pixel sees of a texture on a face, by the axes of its ellipse."""
    f = textures.faces[row]
    known = textures.known[texture]
    _, rows, columns = textures.levels[known[FIRST_LEVEL]]
    u = f[0] * at[0] + f[1] * at[1] + f[2] * at[2] + f[3]
    v = f[4] * at[0] + f[5] * at[1] + f[6] * at[2] + f[7]
    if known[WRAP_U] != CLAMP:
        u = fraction(u)
    if known[WRAP_V] != CLAMP:
        v = fraction(v)
    along_u = f[0] * long[0] + f[1] * long[1] + f[2] * long[2]
    along_v = f[4] * long[0] + f[5] * long[1] + f[6] * long[2]
    across_u = f[0] * short[0] + f[1] * short[1] + f[2] * short[2]
    across_v = f[4] * short[0] + f[5] * short[1] + f[6] * short[2]
    one = math.sqrt((along_u * columns) ** 2 + (along_v * rows) ** 2)
    other = math.sqrt((across_u * columns) ** 2 + (across_v * rows) ** 2)
    if other > one:
        one, other = other, one
        along_u, along_v, across_u, across_v = across_u, across_v, along_u, along_v
    least = max(other, one / MOST_LOOKS, 1.0)
    lanes = 2 if least < 2.0 else 1
    looks = min(max(math.ceil(one / least), lanes), MOST_LOOKS)
    last = known[LEVELS] - 1
    depth = min(math.log2(least), float(last))
    level = min(int(depth), max(last - 1, 0))
    share = depth - level
    red = green = blue = 0.0
    step, aside = apart(looks), apart(lanes)
    for number in range(looks):
        off = (number - 0.5 * (looks - 1)) * step
        for lane in range(lanes):
            beside = (lane - 0.5 * (lanes - 1)) * aside
            p = u + off * along_u + beside * across_u
            q = v + off * along_v + beside * across_v
            r, g, b = bilinear(textures, texture, level, p, q)
            if share > 0.0:
                x, y, z = bilinear(textures, texture, level + 1, p, q)
                r, g, b = r + share * (x - r), g + share * (y - g), b + share * (z - b)
            red, green, blue = red + r, green + g, blue + b
    share = 1.0 / (looks * lanes)
    return red * share, green * share, blue * share


@njit(**ACCESS)
def cell_of(nodes: Floats, value: float) -> tuple[int, float]:
    """The node before a value, and the share of the way to the next."""
    last = len(nodes) - 2
    cell = 0
    while cell < last and nodes[cell + 1] <= value:
        cell += 1
    share = (value - nodes[cell]) / (nodes[cell + 1] - nodes[cell])
    return cell, min(max(share, 0.0), 1.0)


@njit(**ACCESS)
def corners_of(a: float, b: float, c: float) -> tuple[int, int]:
    """The second and third corner of the tetrahedron of a cube that a place is in, as bits.

    The first is that of the least colours, the last that of the greatest: what is grey lies on the
    edge between them, so it is a mixture of greys.
    """
    greatest = 1 if a >= b and a >= c else (2 if b >= c else 4)
    least = 4 if c <= a and c <= b else (2 if b <= a else 1)
    return greatest, 7 - least


@njit(**ACCESS)
def reflect_as(textures: Textures, material: int, color: Triple, result: Floats) -> None:
    """Write the reflectance of a colour on a material."""
    i, a = cell_of(textures.nodes, color[0])
    j, b = cell_of(textures.nodes, color[1])
    k, c = cell_of(textures.nodes, color[2])
    second, third = corners_of(a, b, c)
    first, last = max(a, b, c), min(a, b, c)
    cube = textures.cube
    low, high = cube[i, j, k], cube[i + 1, j + 1, k + 1]
    one = cube[i + (second & 1), j + ((second >> 1) & 1), k + (second >> 2)]
    two = cube[i + (third & 1), j + ((third >> 1) & 1), k + (third >> 2)]
    between = a + b + c - first - last
    most = textures.most[material]
    for w in range(len(result)):
        spectrum = (1.0 - first) * low[w] + (first - between) * one[w]
        spectrum += (between - last) * two[w] + last * high[w]
        seen = spectrum * textures.visible[material, w] + textures.beyond[material, w]
        result[w] = min(seen, most)
