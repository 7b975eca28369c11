"""Sheets as panes, and faces by texels, against their areas and volumes."""

import numpy as np
import pytest

from sensor_models.scene.openmaterial.sheets import thickened
from sensor_models.scene.openmaterial.texels import divided, nearest_colors
from sensor_models.scene.primitives import Piece


def grid(count: int, height=lambda x, y: 0.0 * x) -> Piece:
    """A square sheet of side 1 with so many cells along each side, seen from above."""
    x, y = (each.ravel() for each in np.meshgrid(*[np.linspace(0, 1, count + 1)] * 2))
    corner = np.add.outer(np.arange(count) * (count + 1), np.arange(count)).ravel()
    n = count + 1
    faces = [[corner, corner + 1, corner + n + 1], [corner, corner + n + 1, corner + n]]
    return Piece(
        np.column_stack([x, y, height(x, y)]),
        np.concatenate([np.stack(each, axis=1) for each in faces]),
    )


def volume(piece: Piece) -> float:
    a, b, c = np.moveaxis(piece.vertices[piece.faces], 1, 0)
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0)


def is_closed(piece: Piece) -> bool:
    edges = [(f[k], f[(k + 1) % 3]) for f in piece.faces.tolist() for k in range(3)]
    return sorted(edges) == sorted((b, a) for a, b in edges) and len(set(edges)) == len(edges)


def test_a_sheet_becomes_a_pane() -> None:
    pane = thickened(grid(3), 0.02)
    assert is_closed(pane)
    assert volume(pane) == pytest.approx(0.02)
    assert pane.vertices[:, 2].min() == pytest.approx(-0.02)  # behind what faces up


def test_a_sheet_with_corners_of_its_own_for_each_face_becomes_one_pane() -> None:
    sheet = grid(2)
    soup = Piece(sheet.vertices[sheet.faces].reshape(-1, 3), np.arange(24).reshape(-1, 3))
    pane = thickened(soup, 0.01)
    assert is_closed(pane)
    assert volume(pane) == pytest.approx(0.01)


def test_a_folded_sheet_is_as_thick_on_both_sides() -> None:
    roof = grid(2, lambda x, _: np.minimum(x, 1.0 - x))
    pane = thickened(roof, 0.01)
    assert is_closed(pane)
    behind = pane.vertices[len(pane.vertices) // 2 :]
    normal = np.array([-1.0, 0.0, 1.0]) / np.sqrt(2.0)
    left = behind[behind[:, 0] <= 0.5 + 1e-9]
    ridge = left[np.abs(left[:, 0] - 0.5) < 1e-9]
    assert ridge @ normal == pytest.approx(-0.01)


def test_a_closed_body_stays_as_it_is() -> None:
    pane = thickened(grid(1), 0.5)
    assert thickened(pane, 0.1) is pane


def test_faces_are_divided_down_to_texels() -> None:
    numbers = np.zeros((16, 16), np.int32)
    numbers[:, 5:] = 1
    numbers[12:, :] = 2
    sheet = grid(1)
    places = np.column_stack([sheet.vertices[:, 0], sheet.vertices[:, 1]])
    area = {}
    for number, part in divided(sheet, places, numbers):
        corners = part.vertices[part.faces]
        across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        assert (across[:, 2] > 0.0).all()
        area[number] = 0.5 * across[:, 2].sum()
    assert sum(area.values()) == pytest.approx(1.0)
    assert area[0] == pytest.approx(12 / 16 * 5 / 16, abs=1 / 32)
    assert area[1] == pytest.approx(12 / 16 * 11 / 16, abs=1 / 32)
    assert area[2] == pytest.approx(4 / 16, abs=1 / 32)


def test_one_material_divides_nothing() -> None:
    sheet = grid(2)
    ((number, part),) = divided(sheet, sheet.vertices[:, :2], np.full((8, 8), 3, np.int32))
    assert number == 3
    assert len(part.faces) == len(sheet.faces)


def test_texels_between_colours_count_as_the_nearest() -> None:
    picture = np.array([[[250, 4, 0], [120, 0, 130], [0, 9, 255]]], np.uint8)
    colors = np.array([[255, 0, 0], [0, 11, 255]], np.uint8)
    assert nearest_colors(picture, colors).tolist() == [[0, 1, 1]]
