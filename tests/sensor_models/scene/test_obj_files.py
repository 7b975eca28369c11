"""OBJ files: parts, corners and normals as the format says, and what cannot be read."""

import numpy as np
import pytest

from sensor_models.scene.errors import MeshFileError
from sensor_models.scene.obj_files import read_obj
from sensor_models.scene.primitives import Piece
from tests.sensor_models.scene_files import TETRAHEDRON, obj

SQUARE = b"v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\n"


def no_file(name: str) -> bytes:
    raise MeshFileError(f"{name} is not needed")


def pieces_of(data: bytes) -> list[Piece]:
    """The pieces of a file without textures."""
    pieces, textures, whole, notes = read_obj(data, no_file)
    assert textures == notes == []
    assert whole
    return pieces


def corners(piece: Piece) -> list[list[tuple[float, ...]]]:
    """The corners of each face by their coordinates."""
    return [[tuple(v) for v in piece.vertices[face].tolist()] for face in piece.faces]


def test_vertices_and_faces_are_those_of_the_file() -> None:
    vertices, faces = TETRAHEDRON
    (piece,) = pieces_of(obj(vertices, {("g", "wood"): faces}))
    np.testing.assert_array_equal(piece.vertices[piece.faces], vertices[faces])
    assert (piece.names, piece.material) == (("g", "wood"), "wood")


def test_objects_groups_and_materials_are_parts() -> None:
    text = (
        b"o car\nusemtl paint\nf 1 2 3\no van\nf 1 3 4\ng door left\nusemtl glass\nf 2 3 4\n"
        b"o car\ng\nusemtl paint\nf 2 3 4\n"
    )
    pieces = pieces_of(SQUARE + text)
    assert [piece.names for piece in pieces] == [
        ("car", "paint"),
        ("van", "paint"),
        ("door left", "van", "glass"),
    ]
    assert [len(piece.faces) for piece in pieces] == [2, 1, 1]


def test_polygons_are_fans_and_numbers_may_count_back() -> None:
    (piece,) = pieces_of(SQUARE + b"f 1 2 3 4\nf -4 -2 -1\nv 9 9 9\nf -5 -3 -2\n")
    a, b, c, d = ((0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0))
    assert corners(piece) == [[a, b, c], [a, c, d], [a, c, d], [a, c, d]]


def test_a_vertex_with_two_normals_is_two_vertices() -> None:
    text = b"vn 0 0 1\nvn 0 0 -1\nvt 0 0\nvt 1 1\nf 1/1/1 2/2/1 3/1/1\nf 1//2 3//2 4//-1\n"
    (piece,) = pieces_of(SQUARE + text)
    assert len(piece.vertices) == 6
    assert not set(piece.faces[0]) & set(piece.faces[1])
    # Texture coordinates alone tear no surface.
    (piece,) = pieces_of(SQUARE + b"vt 0 0\nvt 1 1\nf 1/1 2/1 3/1\nf 1/2 3/2 4/2\n")
    assert len(piece.vertices) == 4


def test_comments_continued_lines_and_blanks_are_read_past() -> None:
    text = b"# f 1 2 3\r\n\r\n  f  1 \\\r\n\t2  3   # a face\r\nfoo 1\r\nvp 3\r\n"
    (piece,) = pieces_of(SQUARE + text)
    assert len(piece.faces) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"v 1 2", "line 5: a vertex needs three numbers"),
        (b"v 1 2 x", "line 5: could not convert"),
        (b"f 1 2", "line 5: a face needs three corners"),
        (b"f 1 2 0", "line 5: vertex 0 of 4 so far"),
        (b"f 1 2 -5", "line 5: vertex -5 of 4 so far"),
        (b"f 1 2 5", "line 5: vertex 5 of 4 so far"),
        (b"f 1//1 2//1 3//1", "line 5: normal 1 of 0 so far"),
        (b"f 1 2 %d" % 10**30, "so far"),
        (b"f / / /", "line 5: invalid literal"),
        (b"f 1 2 " + b"3 " * 2_100_000, "has more than 4194304 characters in line 5"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(text: bytes, message: str) -> None:
    with pytest.raises(MeshFileError, match=message):
        pieces_of(SQUARE + text)
