"""Meshes of a scene: from a manifest's table to checked triangles with materials and labels.

The material of a face is the first of these that is given: the range of ``faces`` that has the
face; ``parts`` by the name of its group or of its own material in the file; the material's name in
the file, if a material of that name is known; ``material`` of the mesh. Its label likewise:
``faces``, ``parts``, the file's label of the face, the file's label of its first vertex.

Rays are traced in single precision, which resolves 0.06 mm at 1 km and 0.5 m at the 5000 km of
national grids. So a mesh whose vertices would be rounded by more than ``LEAST_LOSS`` is moved, in
double precision, to the middle of its own extent; ``Mesh.origin`` is the place of that point in the
file, and the transforms of its instances move it back. Rounding that remains is logged if it is
more than ``TOLERABLE_LOSS``.
"""

import io
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from sensor_models.scene import primitives
from sensor_models.scene.errors import MeshFileError, SceneError
from sensor_models.scene.geotiff import read_geotiff
from sensor_models.scene.laying import textures_of
from sensor_models.scene.limits import (
    check_formula,
    check_triangles,
    check_vertices,
)
from sensor_models.scene.model import NO_LABEL, Mesh
from sensor_models.scene.primitives import Floats, Piece
from sensor_models.scene.schema import FaceRange, Heightmap, MeshTable, Part
from sensor_models.scene.source import Source

#: From y up to z up: x stays, y becomes z.
_Y_UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])

#: Beyond it single precision, in which rays are traced, is coarser than 0.1 m.
_FARTHEST = 1e6  # m, from the middle of a mesh
#: Beyond it double precision, in which poses are kept, is coarser than 0.1 um.
_FARTHEST_MIDDLE = 1e9  # m, from the origin of a file

#: Rounding of coordinates, in m, above which a mesh is moved to its middle.
LEAST_LOSS = 1e-5
#: Rounding of coordinates, in m, above which it is logged.
TOLERABLE_LOSS = 1e-3

_log = logging.getLogger(__name__)


def build_mesh(name: str, table: MeshTable, source: Source, needs_material: bool) -> Mesh:
    """The mesh of a table."""
    key = f"meshes.{name}"
    pieces = _pieces_of(table, key, source)
    count = sum(len(piece.faces) for piece in pieces)
    if count == 0:
        raise SceneError(source.manifest, key, "has no triangles")
    source.triangles += count
    check_triangles(source.triangles, source.manifest, key)
    source.vertices += sum(_vertices_of(piece) for piece in pieces)
    check_vertices(source.vertices, source.manifest, key)
    for piece in pieces:
        _check_piece(piece, key, source.manifest)
    _check_parts(table, pieces, key, source.manifest)
    corners, faces = _joined(pieces)
    placed = _placed(corners, table)
    laid = textures_of(pieces, placed, faces, table, key, source)
    vertices, origin = _single(placed, source, key)
    postures = _postures(pieces, origin, table, key, source)
    labels = np.concatenate([_labels_of(piece, table, key, source) for piece in pieces])
    materials = [_materials_of(piece, table, key, source, needs_material) for piece in pieces]
    return Mesh(
        vertices=vertices,
        faces=faces,
        face_material=np.concatenate(materials),
        face_label=labels if (labels != NO_LABEL).any() else None,
        vertex_normals=vertex_normals(vertices, faces) if table.smooth else None,
        origin=origin,
        face_texture=laid.textures,
        face_maps=laid.maps,
        texture_places=laid.places,
        postures=postures,
        clip_length=pieces[0].clip_length,
    )


def _vertices_of(piece: Piece) -> int:
    """The vertices of a piece, in all its shapes."""
    return len(piece.vertices) * (1 if piece.postures is None else len(piece.postures))


def _postures(
    pieces: list[Piece],
    origin: tuple[float, float, float],
    table: MeshTable,
    key: str,
    source: Source,
) -> NDArray[np.float32] | None:
    """The shapes of a mesh that changes, as ``_placed`` and ``_single`` put its vertices."""
    shapes = [piece.postures for piece in pieces if piece.postures is not None]
    if not shapes:
        return None
    joined = np.concatenate(shapes, axis=1)
    if not np.isfinite(joined).all() or np.abs(joined).max() > _FARTHEST:
        reason = f"has a clip with vertices farther than {_FARTHEST:g} m from the origin"
        raise SceneError(source.manifest, key, reason)
    return np.asarray(_placed(joined, table) - np.array(origin), np.float32)


def vertex_normals(vertices: NDArray[np.float32], faces: NDArray[np.uint32]) -> NDArray[np.float32]:
    """Unit normals at vertices: the mean of the faces around each, weighted by their areas.

    Files that give a vertex twice, with one normal for each side of an edge, keep that edge.
    """
    corners = vertices.astype(np.float64)[faces]
    weighted = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    sums = np.zeros((len(vertices), 3))
    for corner in range(3):
        for axis in range(3):
            sums[:, axis] += np.bincount(
                faces[:, corner], weighted[:, axis], minlength=len(vertices)
            )
    length = np.linalg.norm(sums, axis=1, keepdims=True)
    up = np.array([0.0, 0.0, 1.0])  # for vertices of no face with an area
    return np.where(length > 0.0, sums / np.where(length > 0.0, length, 1.0), up).astype(np.float32)


def is_closed(mesh: Mesh) -> bool:
    """Whether a mesh encloses a volume: at every edge as many faces go one way as the other.

    Vertices are the same if their places are, because files and primitives repeat them at edges.
    """
    _, place = np.unique(mesh.vertices, axis=0, return_inverse=True)
    corners = place.ravel()[mesh.faces].astype(np.int64)
    edges = np.vstack([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]]])
    edges = edges[edges[:, 0] != edges[:, 1]]
    count = int(corners.max()) + 1
    there, times = np.unique(edges[:, 0] * count + edges[:, 1], return_counts=True)
    back, times_back = np.unique(edges[:, 1] * count + edges[:, 0], return_counts=True)
    return np.array_equal(there, back) and np.array_equal(times, times_back)


def _pieces_of(table: MeshTable, key: str, source: Source) -> list[Piece]:
    if table.file is not None:
        return source.pieces(table, f"{key}.file")
    if table.plane is not None:
        return primitives.plane(table.plane)
    if table.box is not None:
        return primitives.box(table.box)
    if table.sphere is not None:
        return primitives.sphere(table.sphere)
    if table.cylinder is not None:
        return primitives.cylinder(table.cylinder)
    if table.capsule is not None:
        return primitives.capsule(table.capsule)
    if table.heightmap is not None:
        return _terrain(table.heightmap, f"{key}.heightmap", source)
    return []  # the schema refuses meshes without a shape


def _terrain(shape: Heightmap, key: str, source: Source) -> list[Piece]:
    if shape.is_map:
        return _terrain_of_map(shape, f"{key}.image", source)
    size = shape.size or (1.0, 1.0)  # the schema refuses those without a size
    return primitives.terrain(_heights(shape, key, source), size)


def _terrain_of_map(shape: Heightmap, key: str, source: Source) -> list[Piece]:
    name = str(shape.image)
    _, data = source.read(name, key)

    def check_pixels(width: int, height: int) -> None:
        check_triangles(2 * width * height, source.manifest, key)

    try:
        found = read_geotiff(data, check_pixels)
    except SceneError:
        raise
    except MeshFileError as error:
        raise SceneError(source.manifest, key, f"{name} {error}") from error
    except Exception as error:  # a damaged file can raise anything inside of the reader
        reason = f"{name} is no readable GeoTIFF of up to 32 bits a pixel: {error}"
        raise SceneError(source.manifest, key, reason) from error
    size = shape.size or found.size
    if size is None:
        raise SceneError(source.manifest, key, f"{name} says nothing of its size: give size")
    if min(found.heights.shape) < 2:
        raise SceneError(source.manifest, key, "needs at least two rows and two columns")
    heights = found.heights if shape.fill is None else np.nan_to_num(found.heights, nan=shape.fill)
    if np.isnan(heights).all():
        raise SceneError(source.manifest, key, f"{name} knows no height")
    (piece,) = primitives.terrain(heights, size)
    if shape.origin is not None:
        east, north = (a - b for a, b in zip(found.middle, shape.origin, strict=True))
        piece.vertices[:] += (east, north, 0.0)
    return [primitives.without_unknown(piece)]


def _heights(shape: Heightmap, key: str, source: Source) -> Floats:
    if shape.image is not None:
        heights = _heights_of_image(shape, f"{key}.image", source)
    elif shape.heights is not None:
        if len({len(row) for row in shape.heights}) > 1:
            raise SceneError(source.manifest, f"{key}.heights", "has rows of different lengths")
        heights = np.array(shape.heights, np.float64)
    else:
        check_triangles(2 * shape.cells[0] * shape.cells[1], source.manifest, f"{key}.cells")
        check_formula(str(shape.formula), shape.cells, source.manifest, key)
        try:
            heights = primitives.heights_of_formula(
                str(shape.formula), shape.size or (1.0, 1.0), shape.cells
            )
        except ValueError as error:
            raise SceneError(source.manifest, f"{key}.formula", str(error)) from error
    if heights.ndim != 2 or min(heights.shape) < 2:
        raise SceneError(source.manifest, key, "needs at least two rows and two columns")
    return heights


def _heights_of_image(shape: Heightmap, key: str, source: Source) -> Floats:
    name = str(shape.image)
    _, data = source.read(name, key)
    try:
        with Image.open(io.BytesIO(data), formats=["PNG"]) as picture:
            width, height = picture.size  # checked before anything is unpacked
            check_triangles(2 * width * height, source.manifest, key)
            full = {"L": 255.0, "I;16": 65535.0, "I;16B": 65535.0, "I": 65535.0}.get(picture.mode)
            if full is None:
                reason = f"{name} is no grey picture, its mode is {picture.mode}"
                raise SceneError(source.manifest, key, reason)
            grey = np.asarray(picture, np.float64)
    except SceneError:
        raise
    except Exception as error:  # a damaged file can raise anything inside of the reader
        raise SceneError(source.manifest, key, f"{name} is no readable PNG: {error}") from error
    low, high = shape.low or 0.0, 1.0 if shape.high is None else shape.high
    return low + (high - low) / full * grey


def _check_piece(piece: Piece, key: str, manifest: Path) -> None:
    bad = np.flatnonzero(~np.isfinite(piece.vertices).all(axis=1))
    if len(bad):
        raise SceneError(manifest, key, f"vertex {bad[0]} is not finite: {piece.vertices[bad[0]]}")
    if len(piece.faces) == 0:
        return
    if piece.faces.min() < 0 or piece.faces.max() >= len(piece.vertices):
        wrong = np.flatnonzero(
            ((piece.faces < 0) | (piece.faces >= len(piece.vertices))).any(axis=1)
        )
        reason = f"face {wrong[0]} names vertices {piece.faces[wrong[0]]}, there are"
        raise SceneError(manifest, key, f"{reason} {len(piece.vertices)}")


def _check_parts(table: MeshTable, pieces: list[Piece], key: str, manifest: Path) -> None:
    known = list(dict.fromkeys(name for piece in pieces for name in piece.names))
    for name in table.parts:
        if name not in known:
            reason = f"is no part of the mesh, which has {', '.join(known) or 'no names'}"
            raise SceneError(manifest, f"{key}.parts.{name}", reason)
    if table.faces and len(pieces) > 1:
        reason = f"is for meshes of one part, use parts: {', '.join(known)}"
        raise SceneError(manifest, f"{key}.faces", reason)
    for number, given in enumerate(table.faces):
        if given.first + given.count > len(pieces[0].faces):
            reason = f"goes beyond the last face, {len(pieces[0].faces) - 1}"
            raise SceneError(manifest, f"{key}.faces[{number}]", reason)


def _joined(pieces: list[Piece]) -> tuple[Floats, NDArray[np.uint32]]:
    if len(pieces) == 1:  # a large terrain is not copied more often than necessary
        return pieces[0].vertices, pieces[0].faces.astype(np.uint32, copy=False)
    starts = np.cumsum([0] + [len(piece.vertices) for piece in pieces])
    faces = [piece.faces + start for piece, start in zip(pieces, starts[:-1], strict=True)]
    return (
        np.concatenate([piece.vertices for piece in pieces]),
        np.concatenate(faces).astype(np.uint32),
    )


def _placed(vertices: Floats, table: MeshTable) -> Floats:
    """Vertices in metres and with z up."""
    if table.file is not None:
        file_up = "y" if table.file.lower().endswith((".glb", ".gltf")) else "z"
        if (table.up or file_up) == "y":
            vertices = vertices @ _Y_UP.T
    return vertices if table.scale == 1.0 else vertices * table.scale


def _single(
    vertices: Floats, source: Source, key: str
) -> tuple[NDArray[np.float32], tuple[float, float, float]]:
    """Vertices in single precision, and the point that they are relative to."""
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    middle = np.rint((low + high) / 2.0)  # whole metres, so that subtracting them is exact
    if not max(np.abs(low).max(), np.abs(high).max()) <= _FARTHEST_MIDDLE:
        reason = f"has vertices farther than {_FARTHEST_MIDDLE:g} m from the origin"
        raise SceneError(source.manifest, key, reason)
    if not (high - low).max() <= 2.0 * _FARTHEST:
        raise SceneError(
            source.manifest, key, f"has vertices farther than {_FARTHEST:g} m from its middle"
        )
    kept = np.ascontiguousarray(vertices, np.float32)
    loss = _largest_difference(kept, vertices)
    if loss <= LEAST_LOSS or not middle.any():
        middle = np.zeros(3)
    else:
        moved = vertices - middle
        kept = moved.astype(np.float32)
        loss = _largest_difference(kept, moved)
    if loss > TOLERABLE_LOSS:
        source.doubtful = True
        _log.warning(
            "%s: %s: single precision moves vertices by up to %.2g mm, as the mesh is %.6g m "
            "wide; smaller meshes lose less",
            source.manifest,
            key,
            1e3 * loss,
            (high - low).max(),
        )
    return kept, (float(middle[0]), float(middle[1]), float(middle[2]))


def _largest_difference(rounded: NDArray[np.float32], exact: Floats) -> float:
    return max(float(np.abs(rounded[:, axis] - exact[:, axis]).max()) for axis in range(3))


def _part_of(piece: Piece, table: MeshTable, what: str) -> tuple[str, str] | None:
    """The manifest's entry for a part: its name, and the key."""
    for name in piece.names:
        given = getattr(table.parts.get(name, Part()), what)
        if given is not None:
            return given, f"parts.{name}.{what}"
    return None


def _materials_of(
    piece: Piece, table: MeshTable, key: str, source: Source, needed: bool
) -> NDArray[np.int32]:
    """The material of every face of a piece; the first of the scene if none is needed."""
    given = _part_of(piece, table, "material")
    if given is None and source.is_material(piece.material):
        given = piece.material, "file"
    if given is None and table.material is not None:
        given = table.material, "material"
    found = np.full(len(piece.faces), -1, np.int32)
    if given is not None:
        found[:] = source.material_index(given[0], f"{key}.{given[1]}")
    _set_ranges(found, table.faces, "material", key, source.material_index)
    if (found < 0).any() and needed:
        part = f"part {piece.names[0]!r}" if len(piece.names) else "the mesh"
        own = f", and its own, {piece.material!r}, is not known" if piece.material else ""
        raise SceneError(source.manifest, f"{key}.material", f"is missing for {part}{own}")
    return np.maximum(found, 0)


def _labels_of(piece: Piece, table: MeshTable, key: str, source: Source) -> NDArray[np.int32]:
    """The label of every face of a piece."""
    found = np.full(len(piece.faces), NO_LABEL, np.int32)
    for element, name in (("vertex", table.vertex_labels), ("face", table.face_labels)):
        if name is not None:
            labels = _label_property(piece, f"{element}.{name}", f"{key}.{element}_labels", source)
            found[:] = labels[piece.faces[:, 0]] if element == "vertex" else labels
    given = _part_of(piece, table, "label")
    if given is not None:
        found[:] = source.label_number(given[0], f"{key}.{given[1]}")
    _set_ranges(found, table.faces, "label", key, source.label_number)
    return found


def _label_property(piece: Piece, name: str, key: str, source: Source) -> NDArray[np.int32]:
    """A property of a file as labels."""
    if name not in piece.properties:
        known = [other for other in piece.properties if other.partition(".")[2] not in "xyz"]
        reason = f"the file has no property {name}, it has {', '.join(known) or 'none'}"
        raise SceneError(source.manifest, key, reason)
    values: NDArray[Any] = np.asarray(piece.properties[name], np.float64).ravel()
    whole = (values == np.floor(values)) & (values >= NO_LABEL) & (values < 2**31)
    if len(values) not in (len(piece.vertices), len(piece.faces)) or not whole.all():
        raise SceneError(source.manifest, key, f"{name} holds other things than label numbers")
    return values.astype(np.int32)


def _set_ranges(
    found: NDArray[np.int32],
    ranges: tuple[FaceRange, ...],
    what: str,
    key: str,
    number_of: Callable[[str, str], int],
) -> None:
    for number, given in enumerate(ranges):
        name = getattr(given, what)
        if name is not None:
            index = number_of(name, f"{key}.faces[{number}].{what}")
            found[given.first : given.first + given.count] = index
