r"""The textures of a scene as kernels take them (``kernels.camera.ccd.textures``).

Pyramids   Each level has half the rows and columns, at least one, and means over areas, so the mean
           of all levels is that of the picture, whatever its size.
Spectra    A table of spectra (``light.spectra``) over linear red, green and blue. Between its nodes
           spectra are mixed linearly, so that colours are kept exactly; the spectra themselves
           differ from those of the colours in between by what ``table_error`` says.
Materials  A texture takes the place of the colour of lambert and coated materials. Metals and glass
           keep theirs. Where light bounces, a material has the mean over the areas of its faces.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.camera.ccd import textures as kernel
from sensor_models.light.spectra import (
    BRIGHTEST_BASE,
    coefficients_of,
    infrared_part,
    is_metal,
    linear_color,
    sigmoid,
)
from sensor_models.scene.model import Material, Mesh, Scene, SurfaceKind, Texture

Floats = NDArray[np.float64]

#: Nodes of the table of spectra along each colour.
NODES = 11
_NO_TEXEL = np.zeros((1, 3), np.float32)
#: Linear values of the colours of 8 bits.
_LINEAR = linear_color((np.arange(256) / 255.0).tolist()).astype(np.float32)


class Laid(NamedTuple):
    """Faces that have textures, mesh after mesh."""

    first: list[int]  # of each mesh, -1 for none
    places: Floats  # (faces, 8)
    textures: NDArray[np.int32]  # (faces,)


def textures_of(scene: Scene, wavelengths: Floats) -> kernel.Textures:
    """The textures of a scene for spectra at some wavelengths."""
    there = any(mesh.face_texture is not None for mesh in scene.meshes)
    levels = [pyramid(texture) for texture in scene.textures] if there else []
    flat = [level for each in levels for level in each]
    starts = np.cumsum([0, *(level.size // 3 for level in flat)])[:-1]
    firsts = np.cumsum([0, *map(len, levels)])[:-1]
    known = [
        (first, len(each), int(texture.wrap[0]), int(texture.wrap[1]))
        for first, each, texture in zip(firsts, levels, scene.textures, strict=False)
    ]
    laid = _laid(scene.meshes)
    owners, frames = _owners(scene, laid.first)
    visible, beyond, most = _joins(scene.materials, wavelengths)
    nodes = node_values() if there else np.array([0.0, 1.0])
    cube = spectra_of_nodes(wavelengths.tobytes()) if there else np.zeros((2, 2, 2, 1), np.float32)
    return kernel.Textures(
        there=there,
        texels=np.concatenate([each.reshape(-1, 3) for each in flat] or [_NO_TEXEL]),
        levels=np.array(
            [(start, *level.shape[:2]) for start, level in zip(starts, flat, strict=True)], np.int64
        ).reshape(-1, 3),
        known=np.array(known, np.int64).reshape(-1, 4),
        faces=laid.places,
        of_face=laid.textures,
        owners=owners,
        frames=frames,
        nodes=nodes,
        cube=cube,
        visible=visible,
        beyond=beyond,
        most=most,
    )


def pyramid(texture: Texture) -> list[NDArray[np.float32]]:
    """The linear colours of a texture, and these halved again and again down to one texel."""
    level = _LINEAR[texture.pixels] * np.array(texture.factor, np.float32)
    level = np.clip(level, 0.0, 1.0).astype(np.float32)
    found = [level]
    while max(level.shape[:2]) > 1:
        level = _halved(_halved(level, 0), 1)
        found.append(level)
    return found


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
    first, places, textures, count = [], [], [], 0
    for mesh in meshes:
        if mesh.face_texture is None or mesh.texture_places is None:
            first.append(-1)
            continue
        first.append(count)
        count += len(mesh.faces)
        places.append(_linear(mesh, mesh.texture_places))
        textures.append(mesh.face_texture)
    return Laid(
        first,
        np.concatenate(places or [np.zeros((1, 8))]),
        np.concatenate(textures or [np.full(1, -1)]).astype(np.int32),
    )


def _linear(mesh: Mesh, places: NDArray[np.float32]) -> Floats:
    """Numbers that x, y, z and 1 are multiplied with for u and v, (faces, 8)."""
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
    return np.ascontiguousarray(np.concatenate(rows, axis=1))


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
    visible = np.ones((len(materials), len(wavelengths)))
    beyond = np.zeros((len(materials), len(wavelengths)))
    most = np.ones(len(materials))
    for row, material in enumerate(materials):
        share, infrared = infrared_part(material, wavelengths)
        visible[row], beyond[row] = 1.0 - share, infrared
        if material.kind is SurfaceKind.two_layer:
            most[row] = BRIGHTEST_BASE
    return visible, beyond, most


def takes_textures(material: Material) -> bool:
    """Whether a texture says how a material reflects."""
    return material.kind is not SurfaceKind.dielectric and not is_metal(material)


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
    areas: dict[tuple[int, int], float] = {}
    for instance in scene.instances:
        mesh = scene.meshes[instance.mesh]
        none = np.full(len(mesh.faces), -1)
        textures = none if mesh.face_texture is None else mesh.face_texture
        corners = mesh.vertices[mesh.faces].astype(np.float64)
        area = np.linalg.norm(
            np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1
        )
        area *= abs(float(np.linalg.det(instance.transform[:3, :3]))) ** (2.0 / 3.0)
        pairs, place = np.unique(
            np.stack([mesh.face_material, textures], axis=1), axis=0, return_inverse=True
        )
        sums = np.bincount(place.ravel(), area, minlength=len(pairs))
        for (material, texture), total in zip(pairs.tolist(), sums.tolist(), strict=True):
            areas[material, texture] = areas.get((material, texture), 0.0) + total
    result = bounce.copy()
    for row, material in enumerate(scene.materials):
        own = {texture: area for (number, texture), area in areas.items() if number == row}
        total = sum(own.values())
        if not takes_textures(material) or max(own, default=-1) < 0 or total == 0.0:
            continue
        mixed = sum(
            area
            * (bounce[row] if texture < 0 else _mean_spectrum(scene, texture, row, wavelengths))
            for texture, area in own.items()
        )
        result[row] = mixed / total
    return result


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
