"""Wavefront OBJ as pieces: one for each object, group and material that faces are given in.

``v``, ``vt``, ``f``, ``o``, ``g``, ``usemtl`` and ``mtllib`` are read; of libraries of materials
the pictures are used (``mtl_files``), curves are not needed. Polygons become fans around their
first corner. Negative numbers count back from the last vertex before the face. A vertex that faces
use with several normals (``vn``) is repeated for each of them: interpolated normals then keep the
edge that the file has there.

The reader goes only once over the lines, so its time is proportional to the size of the file.
trimesh, which reads the other formats, takes time with the square of the blanks in a line, counts
negative numbers from the end of the file and does not distinguish objects.

Source: Wavefront Technologies, Object Files (.obj), Advanced Visualizer Manual, Appendix B1.
"""

import io
from array import array
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sensor_models.scene.errors import MeshFileError
from sensor_models.scene.limits import (
    refuse_above_limit,
    refuse_parts_above_limit,
    refuse_vertices_above_limit,
)
from sensor_models.scene.model import Texture, Use
from sensor_models.scene.mtl_files import looks_of
from sensor_models.scene.primitives import Piece

#: The longest line, with its continuations; a polygon of 100,000 corners takes 2 MB.
MAX_LINE = 2**22

_Key = tuple[str, str, str]
#: Of the corners of faces: vertices, normals, texture vertices; -1 for none.
_Corners = tuple["array[int]", "array[int]", "array[int]"]


#: Pieces, their textures, whether these are all, and what is not used.
_Read = tuple[list[Piece], list[Texture], bool, list[str]]


def read_obj(data: bytes, read_file: Callable[[str], bytes]) -> _Read:
    """The pieces of a file, in the order of their first faces, with their textures."""
    reader = _Reader()
    for number, line in _lines(data):
        try:
            reader.take(line)
        except MeshFileError:
            raise
        except (ValueError, OverflowError) as error:
            raise MeshFileError(f"cannot be read as obj, line {number}: {error}") from error
    return reader.pieces(read_file)


def _lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The lines with their numbers; a line that ends with a backslash continues in the next."""
    parts: list[bytes] = []
    length = 0
    for number, line in enumerate(io.BytesIO(data), 1):
        stripped = line.strip()
        length += len(stripped)
        if length > MAX_LINE:
            raise MeshFileError(f"has more than {MAX_LINE} characters in line {number}")
        if stripped.endswith(b"\\"):
            parts.append(stripped[:-1])
            continue
        yield number, b" ".join([*parts, stripped]) if parts else stripped
        parts, length = [], 0


class _Reader:
    """What was read so far."""

    def __init__(self) -> None:
        self._places = array("d")  # x, y, z of each vertex
        self._normals = 0
        self._coordinates = array("f")  # u, v of each texture vertex
        self._libraries: list[str] = []
        self._object = self._group = self._material = ""
        self._corners: dict[_Key, _Corners] = {}
        self._current: _Corners | None = None
        self._triangles = 0

    def take(self, line: bytes) -> None:
        """Read a line; ValueError or OverflowError if it cannot be."""
        words = line.partition(b"#")[0].split() if line[:1] in b"vf" else line.split(None, 1)
        if not words:
            return
        head = words[0]
        if head == b"v":
            if len(words) < 4:
                raise ValueError("a vertex needs three numbers")
            refuse_vertices_above_limit(len(self._places) // 3 + 1)
            self._places.extend((float(words[1]), float(words[2]), float(words[3])))
        elif head == b"f":
            self._face(words[1:])
        elif head == b"vn":
            self._normals += 1
        elif head == b"vt":
            refuse_vertices_above_limit(len(self._coordinates) // 2 + 1)
            u = float(words[1])
            self._coordinates.extend((u, float(words[2]) if len(words) > 2 else 0.0))
        elif head == b"mtllib":
            self._libraries += words[1].decode("utf-8", "replace").split() if words[1:] else []
        elif head in (b"o", b"g", b"usemtl"):
            name = words[1].decode("utf-8", "replace") if len(words) > 1 else ""
            attribute = {b"o": "_object", b"g": "_group"}.get(head, "_material")
            setattr(self, attribute, name)
            self._current = None

    def _face(self, words: list[bytes]) -> None:
        if len(words) < 3:
            raise ValueError("a face needs three corners")
        self._triangles += len(words) - 2
        refuse_above_limit(self._triangles)
        if self._current is None:
            key = (self._object, self._group, self._material)
            new = (array("q"), array("q"), array("q"))
            self._current = self._corners.setdefault(key, new)
            refuse_parts_above_limit(len(self._corners))
        vertices, normals, coordinates = [], [], []
        for word in words:
            vertex, _, rest = word.partition(b"/")
            laid, _, normal = rest.partition(b"/")
            coordinates.append(_coordinate(laid, len(self._coordinates) // 2))
            vertices.append(_place(vertex, len(self._places) // 3, "vertex"))
            normals.append(_place(normal, self._normals, "normal") if normal else -1)
        for places, all_of in zip((vertices, normals, coordinates), self._current, strict=True):
            for k in range(1, len(places) - 1):
                all_of.extend((places[0], places[k], places[k + 1]))

    def pieces(self, read_file: Callable[[str], bytes]) -> _Read:
        """The pieces, each with the vertices that its faces use, and their textures."""
        places = np.array(self._places, np.float64).reshape(-1, 3)
        # Files without coordinates of textures do without libraries, which are often missing.
        laid = any(max(corners[2]) >= 0 for corners in self._corners.values())
        used = {key[2] for key in self._corners if key[2]}
        library = looks_of(self._libraries if laid else [], used, read_file)
        textures: list[Texture] = []
        found = []
        for key, (vertices, normals, coordinates) in self._corners.items():
            piece = _piece(key, places, np.array(vertices, np.int64), np.array(normals, np.int64))
            laid_by = self._texture_places(np.array(coordinates, np.int64))
            known = bool(np.isfinite(laid_by).any())
            look = library.looks.get(key[2], {})
            shown = [-1, -1, -1, -1]
            for use, texture in look.items():
                # Light of one texel needs no coordinates.
                if known or texture.pixels.size == 3:
                    shown[use] = len(textures)
                    textures.append(texture)
            if max(shown) >= 0:
                laid_by = laid_by if known else np.zeros_like(laid_by)
                maps = shown[1], shown[2], shown[3]
                piece = replace(piece, texture=shown[Use.color], maps=maps, texture_places=laid_by)
            found.append(piece)
        return found, textures, library.whole, library.notes

    def _texture_places(self, corners: NDArray[np.int64]) -> NDArray[np.float32]:
        """Where corners are in their texture, NaN for faces that do not say it; v goes down."""
        known = np.array(self._coordinates, np.float32).reshape(-1, 2) * (1, -1) + (0, 1)
        padded = np.vstack([known, [[np.nan, np.nan]]]).astype(np.float32)  # -1 is the last
        return padded[corners].reshape(-1, 3, 2)


def _coordinate(word: bytes, count: int) -> int:
    """The number of a texture vertex from 0; -1 for none, also if there is no such."""
    number = int(word) if word else 0
    place = number - 1 if number > 0 else number + count
    return place if number != 0 and 0 <= place < count else -1


def _place(word: bytes, count: int, what: str) -> int:
    """The number of a vertex or normal from 0, from a number that counts from 1 or from the end."""
    number = int(word)
    place = number - 1 if number > 0 else number + count
    if not 0 <= place < count:
        raise ValueError(f"{what} {number} of {count} so far")
    return place


def _piece(
    key: _Key, places: NDArray[np.float64], vertices: NDArray[np.int64], normals: NDArray[np.int64]
) -> Piece:
    stride = int(normals.max()) + 2
    used, corners = np.unique(vertices * stride + normals + 1, return_inverse=True)
    named, group, material = key
    names = tuple(dict.fromkeys(name for name in (group, named, material) if name))
    return Piece(places[used // stride], corners.reshape(-1, 3), names, {}, material)
