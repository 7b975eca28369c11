r"""The textures of a scene as kernels take them (``kernels.camera.ccd.textures``).

Pyramids   Each level has half the rows and columns, at least one, and means over areas, so the mean
           of all levels is that of the picture, whatever its size.
Spectra    A table of spectra (``light.spectra``) over linear red, green and blue. Between its nodes
           spectra are mixed linearly, so that colours are kept exactly; the spectra themselves
           differ from those of the colours in between by what ``table_error`` says.
Materials  A texture takes the place of the colour of all materials but glass. Where light bounces,
           a material has the mean over the areas of its faces, also of what it sends by itself.
Maps       Texels of roughness are kept as α² and the share of metal, those of normals as vectors,
           of emission as cd/m2; ``kernels.camera.ccd.looks`` says what is made of them. What such a
           picture calls metal has n and k of its material, if that is one, else of aluminium; what
           it calls no metal has its material's coat, or one of index 1.5 on a metal.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.camera.ccd import textures as kernel
from sensor_models.kernels.camera.ccd.looks import BRIGHTEST, PER_CANDELA
from sensor_models.kernels.light.fresnel import reflectance_at_normal
from sensor_models.kernels.light.surfaces import SURFACE_SIZE
from sensor_models.light.spectra import (
    BRIGHTEST_BASE,
    coefficients_of,
    infrared_part,
    is_metal,
    linear_color,
    nearest_numbers,
    reflectance,
    reflectance_of_metal,
    sigmoid,
)
from sensor_models.light.surfaces import pack_surface
from sensor_models.scene.model import (
    Material,
    Mesh,
    Scene,
    SurfaceKind,
    SurfaceParameters,
    Texture,
    Use,
)

Floats = NDArray[np.float64]

#: Nodes of the table of spectra along each colour.
NODES = 11
#: What maps call metal on a material that is none: about aluminium in the visible; and what they
#: call no metal on a metal.
METAL = SurfaceParameters(diffuse_reflectance=0.0, ior=0.96, extinction=6.69)
COAT = SurfaceParameters(diffuse_reflectance=0.5, ior=1.5)
_NO_TEXEL = np.zeros((1, 3), np.float32)
#: Linear values of the colours of 8 bits.
_LINEAR = linear_color((np.arange(256) / 255.0).tolist()).astype(np.float32)


class Laid(NamedTuple):
    """Faces that have textures, mesh after mesh."""

    first: list[int]  # of each mesh, -1 for none
    places: Floats  # (faces, 8)
    sides: NDArray[np.int8]  # (faces,)
    textures: NDArray[np.int32]  # (faces, MAPS)


def textures_of(scene: Scene, wavelengths: Floats) -> kernel.Textures:
    """The textures of a scene for spectra at some wavelengths."""
    there = any(mesh.texture_places is not None for mesh in scene.meshes)
    levels = [pyramid(texture) for texture in scene.textures] if there else []
    flat = [level for each in levels for level in each]
    starts = np.cumsum([0, *(level.size // 3 for level in flat)])[:-1]
    firsts = np.cumsum([0, *map(len, levels)])[:-1]
    known = [
        (first, len(each), *map(int, texture.wrap))
        for first, each, texture in zip(firsts, levels, scene.textures, strict=False)
    ]
    laid = _laid(scene.meshes)
    owners, frames = _owners(scene, laid.first)
    visible, beyond, most = _joins(scene.materials, wavelengths)
    coats, metals, wholes = _clothes(scene.materials)
    nodes = node_values() if there else np.array([0.0, 1.0])
    cube = spectra_of_nodes(wavelengths.tobytes()) if there else np.zeros((2, 2, 2, 1), np.float32)
    return kernel.Textures(
        there=there,
        is_mapped=bool(mapped_materials(scene).any() or (laid.textures[:, 1:] >= 0).any()),
        texels=np.concatenate([each.reshape(-1, 3) for each in flat] or [_NO_TEXEL]),
        levels=np.array(
            [(start, *level.shape[:2]) for start, level in zip(starts, flat, strict=True)], np.int64
        ).reshape(-1, 3),
        known=np.array(known, np.int64).reshape(-1, 4),
        faces=laid.places,
        of_face=laid.textures,
        sides=laid.sides,
        owners=owners,
        frames=frames,
        nodes=nodes,
        cube=cube,
        visible=visible,
        beyond=beyond,
        most=most,
        is_metal=np.array([is_metal(material) for material in scene.materials], bool),
        coats=coats,
        metals=metals,
        colors=_colors(scene.materials, wavelengths),
        wholes=wholes,
    )


def pyramid(texture: Texture) -> list[NDArray[np.float32]]:
    """What the texels of a texture say, and this halved again and again down to one texel."""
    level = _numbers(texture)
    found = [level]
    while max(level.shape[:2]) > 1:
        level = _halved(_halved(level, 0), 1)
        found.append(level)
    return found


def _numbers(texture: Texture) -> NDArray[np.float32]:
    """What the texels of a texture say: linear numbers whose means have a meaning."""
    factor = np.array(texture.factor, np.float32)
    if texture.use is Use.color:
        return np.asarray(np.clip(_LINEAR[texture.pixels] * factor, 0.0, 1.0), np.float32)
    if texture.use is Use.emission:
        return np.asarray(_LINEAR[texture.pixels] * factor, np.float32)
    bytes_of = texture.pixels.astype(np.float32) / np.float32(255.0)
    if texture.use is Use.roughness:
        found = np.clip(bytes_of * factor, 0.0, 1.0)
        told = np.full_like(found[..., 0], texture.factor[0])
        return np.stack([found[..., 1] ** 4, found[..., 2], told], axis=-1)
    leaning = (2.0 * bytes_of - 1.0) * factor
    length = np.linalg.norm(leaning, axis=-1, keepdims=True)
    return np.asarray(leaning / np.where(length > 0.0, length, 1.0), np.float32)


def _halved(level: NDArray[np.float32], axis: int) -> NDArray[np.float32]:
    """Means over areas of half as many texels along an axis."""
    count = level.shape[axis]
    if count == 1:
        return level
    wide = np.moveaxis(level, axis, 0).astype(np.float64)
    sums = np.concatenate([np.zeros((1, *wide.shape[1:])), np.cumsum(wide, axis=0)])
    half = count // 2
    edges = np.arange(half + 1) * (count / half)
    before = np.minimum(edges.astype(int), count - 1)
    share = (edges - before).reshape(-1, 1, 1)
    at = sums[before] + share * (sums[before + 1] - sums[before])
    means = np.moveaxis(np.diff(at, axis=0) * (half / count), 0, axis)
    return np.ascontiguousarray(means, np.float32)


def _laid(meshes: tuple[Mesh, ...]) -> Laid:
    """Coordinates in textures as linear functions of the place, of all meshes that have some."""
    first, places, sides, textures, count = [], [], [], [], 0
    for mesh in meshes:
        if mesh.texture_places is None:
            first.append(-1)
            continue
        first.append(count)
        count += len(mesh.faces)
        row, side = _linear(mesh, mesh.texture_places)
        places.append(row)
        sides.append(side)
        textures.append(pictures_of(mesh))
    return Laid(
        first,
        np.concatenate(places or [np.zeros((1, 8))]),
        np.concatenate(sides or [np.ones(1)]).astype(np.int8),
        np.concatenate(textures or [np.full((1, kernel.MAPS), -1, np.int32)]),
    )


def pictures_of(mesh: Mesh) -> NDArray[np.int32]:
    """The pictures on all faces of a mesh, (faces, MAPS), -1 for none."""
    found = np.full((len(mesh.faces), kernel.MAPS), -1, np.int32)
    if mesh.face_texture is not None:
        found[:, kernel.COLORS] = mesh.face_texture
    if mesh.face_maps is not None:
        found[:, kernel.ROUGHNESS :] = mesh.face_maps
    return found


def _linear(mesh: Mesh, places: NDArray[np.float32]) -> tuple[Floats, Floats]:
    """Numbers that x, y, z and 1 are multiplied with for u and v, (faces, 8); how they turn."""
    corners = mesh.vertices.astype(np.float64)[mesh.faces]
    start = corners[:, 0]
    p, q = corners[:, 1] - start, corners[:, 2] - start
    normal = np.cross(p, q)
    square = (normal * normal).sum(axis=1, keepdims=True)
    square = np.where(square > 0.0, square, np.inf)
    # Vectors whose products with p and q are 1 and 0, or 0 and 1: the gradients of the weights.
    of_second, of_third = np.cross(q, normal) / square, np.cross(normal, p) / square
    rows = []
    for axis in range(2):
        a, b, c = (places[:, k, axis].astype(np.float64)[:, None] for k in range(3))
        gradient = (b - a) * of_second + (c - a) * of_third
        rows += [gradient, a - (gradient * start).sum(axis=1, keepdims=True)]
    turn = (np.cross(rows[0], rows[2]) * normal).sum(axis=1)
    return np.ascontiguousarray(np.concatenate(rows, axis=1)), np.where(turn < 0.0, -1.0, 1.0)


def _owners(scene: Scene, first: list[int]) -> tuple[NDArray[np.int64], Floats]:
    """Where the faces of each owner begin, its body, and the way into the frame of its mesh."""
    volumes = len(scene.volumes)
    owners = np.full((volumes + len(scene.instances), 2), -1, np.int64)
    frames = np.zeros((len(owners), 12))
    for number, instance in enumerate(scene.instances):
        inverse = np.linalg.inv(instance.transform)
        owners[volumes + number] = first[instance.mesh], instance.body
        frames[volumes + number] = [*inverse[:3, :3].ravel(), *inverse[:3, 3]]
    return owners, frames


def _joins(materials: tuple[Material, ...], wavelengths: Floats) -> tuple[Floats, Floats, Floats]:
    """How spectra of colours go over into the infrared, and how much may come back."""
    # The row behind those of the materials is that of light, whose colour is its spectrum.
    visible = np.ones((len(materials) + 1, len(wavelengths)))
    beyond = np.zeros((len(materials) + 1, len(wavelengths)))
    most = np.ones(len(materials) + 1)
    for row, material in enumerate(materials):
        share, infrared = infrared_part(material, wavelengths)
        visible[row], beyond[row] = 1.0 - share, infrared
        if material.kind is SurfaceKind.two_layer:
            most[row] = BRIGHTEST_BASE
    return visible, beyond, most


def _clothes(materials: tuple[Material, ...]) -> tuple[Floats, Floats, Floats]:
    """Of each material its coat and its metal, as maps have them, and R0 of that."""
    rows = []
    for material in materials:
        own = replace(nearest_numbers(material), retro_reflectance=0.0)
        coat = pack_surface(SurfaceKind.two_layer, COAT) if is_metal(material) else None
        if coat is None:
            coat = pack_surface(material.kind, own, material.two_way)
        metal = own if is_metal(material) else METAL
        whole = reflectance_at_normal(1.0, metal.ior, metal.extinction)
        rows.append((coat, pack_surface(SurfaceKind.two_layer, metal), whole))
    coats, metals = (np.array([row[k] for row in rows]).reshape(-1, SURFACE_SIZE) for k in (0, 1))
    return coats, metals, np.array([row[2] for row in rows])


def _colors(materials: tuple[Material, ...], wavelengths: Floats) -> Floats:
    """What all materials reflect where no picture says their colour, (materials, n)."""
    rows = []
    for material in materials:
        seen = reflectance(material, wavelengths)
        if is_metal(material):
            whole = reflectance_of_metal(material)
            seen = np.minimum(seen, whole) if material.color is not None else 0.0 * seen + whole
        rows.append(seen)
    return np.array(rows).reshape(-1, len(wavelengths))


def mapped_materials(scene: Scene) -> NDArray[np.bool_]:
    """Materials whose coat or metal is another one from place to place.

    What they mirror comes by rays from each point, not by branches of the tree.
    """
    found = np.zeros(len(scene.materials), bool)
    for mesh in scene.meshes:
        if mesh.texture_places is not None:
            pictures = pictures_of(mesh)
            own = pictures[:, kernel.ROUGHNESS : kernel.EMISSION].max(axis=1) >= 0
            found[mesh.face_material[own]] = True
            for row in np.unique(mesh.face_material[pictures[:, kernel.COLORS] >= 0]):
                found[row] |= is_metal(scene.materials[row])
    return found


def node_values() -> Floats:
    """The linear values of the nodes, closer where it is dark."""
    return np.asarray(linear_color(np.linspace(0.0, 1.0, NODES).tolist()))


@lru_cache(maxsize=4)
def spectra_of_nodes(wavelengths: bytes) -> NDArray[np.float32]:
    """The spectra of all nodes, (n, n, n, wavelengths)."""
    places, values = np.frombuffer(wavelengths), node_values().tolist()
    rows = [
        sigmoid(coefficients_of(red, green, blue), places)
        for red in values for green in values for blue in values
    ]  # fmt: skip
    return np.array(rows, np.float32).reshape(NODES, NODES, NODES, -1)


def mean_colors(scene: Scene, bounce: Floats, wavelengths: Floats) -> Floats:
    """What materials send back where light bounces, (materials, n): means over their faces."""

    def seen(row: int, picture: int) -> Floats:
        clear = scene.materials[row].kind is SurfaceKind.dielectric
        if picture < 0 or clear:
            return np.asarray(bounce[row])
        return _mean_spectrum(scene, picture, row, wavelengths)

    return _means(scene, kernel.COLORS, bounce, seen)


def mean_emission(scene: Scene, emission: Floats, wavelengths: Floats) -> Floats:
    """What materials send by themselves, W/m2/sr/m, (materials, n): means over their faces."""

    def sent(row: int, picture: int) -> Floats:
        if picture < 0:
            return np.asarray(emission[row])
        luminance = pyramid(scene.textures[picture])[-1][0, 0].astype(float)
        return np.asarray(emission[row] + light_of(luminance, wavelengths))

    return _means(scene, kernel.EMISSION, emission, sent)


def _means(scene: Scene, kind: int, plain: Floats, found: Callable[[int, int], Floats]) -> Floats:
    """Means of what materials are by the pictures of a kind, over the areas of their faces."""
    result, areas = plain.copy(), _areas(scene, kind)
    for row in range(len(scene.materials)):
        own = {picture: area for (number, picture), area in areas.items() if number == row}
        total = sum(own.values())
        if max(own, default=-1) < 0 or total == 0.0:
            continue
        result[row] = sum(area * found(row, picture) for picture, area in own.items()) / total
    return result


def light_of(luminance: Floats, wavelengths: Floats) -> Floats:
    """The spectrum of light, W/m2/sr/m, by its linear colour in cd/m2."""
    most = float(luminance.max(initial=0.0))
    if most <= 0.0:
        return np.zeros(len(wavelengths))
    red, green, blue = (round(float(part) / most, 9) for part in luminance)
    scale = most * PER_CANDELA / BRIGHTEST
    return np.asarray(scale * sigmoid(coefficients_of(red, green, blue), wavelengths))


def _areas(scene: Scene, kind: int) -> dict[tuple[int, int], float]:
    """Areas of faces by the number of their material and of their picture of a kind."""
    areas: dict[tuple[int, int], float] = {}
    if all(pictures_of(mesh)[:, kind].max(initial=-1) < 0 for mesh in scene.meshes):
        return areas
    choices = len(scene.textures) + 1
    for instance in scene.instances:
        mesh = scene.meshes[instance.mesh]
        pictures = pictures_of(mesh)[:, kind]
        corners = mesh.vertices[mesh.faces].astype(np.float64)
        area = np.linalg.norm(
            np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1
        )
        area *= abs(float(np.linalg.det(instance.transform[:3, :3]))) ** (2.0 / 3.0)
        # both in one number: to sort pairs took longer than all else at the start of a camera
        pair = mesh.face_material.astype(np.int64) * choices + pictures + 1
        sums = np.bincount(pair, area)
        for number in np.flatnonzero(np.bincount(pair)).tolist():
            place = number // choices, number % choices - 1
            areas[place] = areas.get(place, 0.0) + float(sums[number])
    return areas


def _mean_spectrum(scene: Scene, texture: int, row: int, wavelengths: Floats) -> Floats:
    """The reflectance of a material of the mean colour of a texture."""
    color = pyramid(scene.textures[texture])[-1][0, 0].astype(float)
    coefficients = coefficients_of(*(round(part, 9) for part in color.tolist()))
    share, infrared = infrared_part(scene.materials[row], wavelengths)
    return np.asarray(sigmoid(coefficients, wavelengths) * (1.0 - share) + infrared)


def _mixed(cube: NDArray[np.float32], nodes: Floats, color: list[float]) -> Floats:
    """The spectrum of a linear colour by the table: from corner to corner of its tetrahedron."""
    cells = np.clip(np.searchsorted(nodes, color, side="right") - 1, 0, NODES - 2)
    shares = (np.array(color) - nodes[cells]) / (nodes[cells + 1] - nodes[cells])
    place, before = cells.copy(), 1.0
    found = np.zeros(cube.shape[-1])
    for axis in np.argsort(-shares, kind="stable"):
        found += (before - shares[axis]) * cube[tuple(place)].astype(float)
        place[axis] += 1
        before = float(shares[axis])
    return np.asarray(found + before * cube[tuple(place)].astype(float))


def table_error(wavelengths: Floats, colors: Floats) -> float:
    """The largest error of a reflectance by the table, of some linear colours (for tests, docs)."""
    nodes, cube = node_values(), spectra_of_nodes(wavelengths.tobytes())
    worst = 0.0
    for color in colors.tolist():
        found = _mixed(cube, nodes, color)
        exact = sigmoid(coefficients_of(*color), wavelengths)
        worst = max(worst, float(np.abs(found - exact).max()))
    return worst
