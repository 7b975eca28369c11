"""STL in text and binary: the triangles of a file, and the lines that cannot be read."""

import numpy as np
import pytest

from sensor_models.scene.errors import MeshFileError
from sensor_models.scene.stl_files import read_stl
from tests.sensor_models.scene_files import stl


def facet(x: float) -> str:
    """A triangle in the plane of an x."""
    corners = f"vertex {x} 0 0\n  vertex {x} 1 0\n  VERTEX {x} 0 1e0\n"
    return f"facet normal 1 0 0\n outer loop\n{corners} endloop\nendfacet\n"


def solid(name: str, *places: float) -> str:
    """A solid with triangles at these x."""
    return f"solid {name}\n" + "".join(map(facet, places)) + f"endsolid {name}\n"


def places_of(text: str) -> list[float]:
    """The x of all triangles."""
    (piece,) = read_stl(text.encode())
    corners = piece.vertices[piece.faces]
    assert (corners[:, 1, 1] == 1.0).all()
    assert (corners[:, 2, 2] == 1.0).all()
    found: list[float] = corners[:, 0, 0].tolist()
    return found


def test_all_solids_are_read_in_the_order_of_the_file() -> None:
    assert places_of(solid("z", 1.5, 2.0) + solid("a", 3.0) + solid("") + solid("z", 4.0)) == [
        *(1.5, 2.0),
        *(3.0, 4.0),
    ]


def test_thousands_of_solids_take_no_longer_than_their_triangles() -> None:
    """2 MB of them took 48 s where each was looked for from the start."""
    count = 17_000
    assert places_of("".join(solid(f"s{n}", n) for n in range(count))) == list(range(count))


def test_a_name_may_look_like_a_vertex() -> None:
    assert places_of(solid("vertex 1 2 3 endfacet", 5.0)) == [5.0]


def test_lines_may_end_as_anywhere() -> None:
    assert places_of(solid("a", 7.0).replace("\n", "\r\n")) == [7.0]


def test_a_binary_file_may_begin_like_a_text() -> None:
    corners = np.arange(18.0).reshape(2, 3, 3)
    (piece,) = read_stl(b"solid" + stl(corners)[5:])
    assert np.array_equal(piece.vertices[piece.faces], corners)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (solid("a", 1.0).replace("0 1e0", "0"), "no vertex of three numbers in line 6"),
        (solid("a", 1.0).replace("1e0", "up"), "no vertex of three numbers in line 6"),
        (solid("a", 1.0).replace("VERTEX 1.0 0 1e0", ""), "a facet of 2 corners in line 8"),
        (solid("a", 1.0, 2.0).partition("endsolid")[0], "no endsolid up to its last line, 15"),
        ("solid a\nendsolid a\n", "is neither a whole binary STL nor one in text"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(MeshFileError, match=message):
        read_stl(text.encode())
