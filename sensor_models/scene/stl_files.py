"""STL as one piece: all triangles of all solids of a file, in its order.

    binary    a header of 80 bytes, the number of triangles, 50 bytes for each: its normal, its
              corners, 2 bytes that are not read
    text      lines ``facet``, ``outer loop``, three of ``vertex x y z``, ``endloop``, ``endfacet``
              within ``solid`` and ``endsolid``, of which there may be any number

A file is binary if its length is what its number of triangles says. The reader goes once over the
lines of a text, so its time is proportional to the size of the file. trimesh, which reads other
formats, takes time with the square of the number of solids.

Source: 3D Systems, "Stereolithography Interface Specification", 1988.
"""

import io
import struct
from array import array

import numpy as np

from sensor_models.scene.errors import MeshFileError
from sensor_models.scene.limits import refuse_above_limit
from sensor_models.scene.primitives import Floats, Piece

_HEAD, _RECORD = 84, 50
_CORNERS = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])


def read_stl(data: bytes) -> list[Piece]:
    """The triangles of a file; none if it has none."""
    count = struct.unpack_from("<I", data, 80)[0] if len(data) >= _HEAD else 0
    if len(data) == _HEAD + _RECORD * count:
        refuse_above_limit(count)
        return _piece(np.frombuffer(data, _CORNERS, count, _HEAD)["corners"].astype(np.float64))
    facets = data.lower().count(b"endfacet")
    if facets == 0:
        raise MeshFileError("is neither a whole binary STL nor one in text with triangles")
    refuse_above_limit(facets)
    return _piece(np.array(_places(data)).reshape(-1, 3, 3))


def _piece(corners: Floats) -> list[Piece]:
    vertices = corners.reshape(-1, 3)
    return [Piece(vertices, np.arange(len(vertices)).reshape(-1, 3))] if len(vertices) else []


def _places(data: bytes) -> "array[float]":
    """x, y and z of all corners of a text; refused by its line where it is none."""
    places: array[float] = array("d")
    begun = 0  # numbers that were there when the facet began
    number, is_open = 0, False
    for number, line in enumerate(io.BytesIO(data), 1):
        words = line.split(None, 4)
        head = words[0].lower() if words else b""
        if head == b"vertex":
            try:
                x, y, z = words[1:4]
                places.extend((float(x), float(y), float(z)))
            except ValueError as error:
                raise MeshFileError(f"has no vertex of three numbers in line {number}") from error
        elif head == b"facet":
            begun = len(places)
        elif head == b"endfacet" and len(places) - begun != 9:
            corners = (len(places) - begun) // 3
            raise MeshFileError(f"has a facet of {corners} corners in line {number}, wanted are 3")
        elif head in (b"solid", b"endsolid"):
            is_open = head == b"solid"
    if is_open or len(places) % 9:
        raise MeshFileError(f"is cut off: no endsolid up to its last line, {number}")
    return places
