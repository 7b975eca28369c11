"""Tables of bidirectional reflectance: gaps, albedos, and shapes against closed forms."""

import math

import numpy as np
import pytest

from sensor_models.light.surfaces import bidirectional_reflectance, pack_surface
from sensor_models.light.tabulated import shape
from sensor_models.scene.brdf import (
    TableError,
    albedos,
    asymmetry,
    even_reflectance,
    largest_albedo,
    monotone,
    resampled,
    table_of,
)
from sensor_models.scene.model import SurfaceKind, SurfaceParameters
from tests.brdf_tables import coated_rows, directions, lambert_rows, rows_of

COAT = SurfaceParameters(
    diffuse_reflectance=0.4, ior=1.5, roughness_beckmann=0.15, roughness_oren_nayar=0.2
)
FINE = np.radians(np.linspace(0.0, 90.0, 46)), np.radians(np.linspace(0.0, 180.0, 37))


def drawn(count, most=80.0):
    """Directions of light and viewer, all over the hemisphere."""
    draws = np.random.default_rng(4)
    theta = np.arccos(draws.uniform(math.cos(math.radians(most)), 1.0, (2, count)))
    phi = draws.uniform(0.0, 2.0 * math.pi, (2, count))
    return directions(theta[0], phi[0]), directions(theta[1], phi[1])


@pytest.mark.parametrize("reflectance", [0.1, 0.5, 0.8])
def test_a_matt_surface_keeps_its_value_everywhere(reflectance):
    table = table_of(lambert_rows(reflectance))
    assert resampled(table, 91, 37) == pytest.approx(reflectance / math.pi, rel=1e-12)
    assert albedos(table)[1] == pytest.approx(reflectance, rel=1e-9)
    assert even_reflectance(table) == pytest.approx(reflectance, rel=1e-9)
    assert asymmetry(table) == 0.0
    assert shape(table, *drawn(50)) == pytest.approx(1.0 / math.pi, rel=1e-12)


def test_a_coated_surface_is_read_back_to_one_percent_in_the_median():
    table = table_of(coated_rows(COAT, *FINE))
    light, viewer = drawn(4000)
    row = pack_surface(SurfaceKind.two_layer, COAT)
    true = bidirectional_reflectance(row, light, viewer, np.array([0.0, 0.0, 1.0]))
    found = shape(table, light, viewer) * even_reflectance(table)
    error = np.abs(found / true - 1.0)
    assert np.median(error) < 0.01
    assert np.quantile(error, 0.95) < 0.05


def test_the_albedo_of_a_coated_surface_is_that_of_a_sum_over_the_hemisphere():
    table = table_of(coated_rows(COAT, *FINE))
    row = pack_surface(SurfaceKind.two_layer, COAT)
    draws = np.random.default_rng(5)
    viewer = directions(
        np.arccos(np.sqrt(draws.uniform(size=400_000))), draws.uniform(0.0, math.tau, 400_000)
    )
    theta, albedo = albedos(table)
    for angle in np.radians([10.0, 40.0, 60.0]):
        f = bidirectional_reflectance(row, directions(angle), viewer, np.array([0.0, 0.0, 1.0]))
        expected = math.pi * f.mean()  # directions by the cosine law
        assert np.interp(angle, theta, albedo) == pytest.approx(expected, rel=0.01)


def test_a_dense_table_is_kept_to_the_last_bit():
    rows = coated_rows(COAT, np.radians(np.linspace(0, 90, 10)), np.radians(np.linspace(0, 180, 5)))
    table = table_of(rows)
    assert table.values.ravel().tolist() == rows[:, 3].tolist()
    again = table_of(np.column_stack([rows[:, :3], table.values.ravel()]))
    assert (again.values == table.values).all()


def test_the_azimuth_is_folded_and_the_order_of_rows_is_free():
    rows = coated_rows(COAT, np.radians([0, 30, 60, 90]), np.radians([0.0, 90.0, 180.0]))
    other = rows.copy()
    other[:, 2] = 2.0 * math.pi - other[:, 2]
    both = table_of(np.concatenate([rows, other])[::-1])
    assert both.values == pytest.approx(table_of(rows).values, rel=1e-12)


def test_what_is_not_given_comes_from_reciprocity_or_the_neighbours():
    def f(light, viewer):  # reciprocal, linear in both angles
        return 0.1 + 0.01 * (np.arccos(light[:, 2]) + np.arccos(viewer[:, 2]))

    theta = np.radians([0.0, 20.0, 40.0, 60.0])
    rows = rows_of(f, theta, [0.0, math.pi])
    whole = table_of(rows).values
    half = rows[rows[:, 0] >= rows[:, 1]]
    assert table_of(half).values == pytest.approx(whole, rel=1e-12)
    holes = rows[(rows[:, 0] != theta[1]) | (rows[:, 1] == theta[2])]
    assert table_of(holes).values == pytest.approx(whole, rel=1e-12)
    one = table_of(rows[rows[:, 2] == 0.0])
    assert one.values[..., 0] == pytest.approx(whole[..., 0], rel=1e-12)


def peak(light, viewer):
    """A law that depends on half and difference angle alone, with a peak of 8 degrees."""
    between = light + viewer
    half = np.arccos(between[:, 2] / np.linalg.norm(between, axis=1))
    apart = 0.5 * np.arccos(np.clip((light * viewer).sum(axis=1), -1.0, 1.0))
    return 0.05 + (0.3 + apart) * np.exp(-((half / math.radians(8.0)) ** 2))


def test_one_plane_says_all_of_a_law_of_half_and_difference_angles():
    theta = np.radians(np.linspace(0.0, 90.0, 61))
    light, viewer = drawn(4000, 60.0)
    table = table_of(rows_of(peak, theta, [0.0, math.pi]))
    found = shape(table, light, viewer) * even_reflectance(table)
    error = np.abs(found / peak(light, viewer) - 1.0)
    assert np.median(error) < 0.005
    assert np.quantile(error, 0.99) < 0.05


def test_one_plane_says_how_much_a_coated_surface_sends_back():
    """Its peak is no wider across the plane than along it, so no more light comes than there is."""
    theta = np.radians(np.linspace(0.0, 81.0, 55))
    plane = table_of(coated_rows(COAT, theta, [0.0, math.pi]))
    whole = table_of(coated_rows(COAT, theta, FINE[1]))
    at, expected = albedos(whole)
    steep = at < math.radians(60.0)
    assert albedos(plane)[1][steep] == pytest.approx(expected[steep], rel=0.03)
    light, viewer = drawn(4000, 60.0)
    row = pack_surface(SurfaceKind.two_layer, COAT)
    true = bidirectional_reflectance(row, light, viewer, np.array([0.0, 0.0, 1.0]))
    error = shape(plane, light, viewer) * even_reflectance(plane) / true - 1.0
    assert np.median(np.abs(error)) < 0.03


def test_a_table_that_gives_more_than_it_gets_is_told():
    checked = largest_albedo(table_of(lambert_rows(1.3)))
    assert checked.albedo == pytest.approx(1.3, rel=1e-6)


def test_a_table_that_is_not_reciprocal_is_told():
    rows = lambert_rows(0.4)
    rows[:, 3] *= 1.0 + 0.5 * rows[:, 0]
    assert asymmetry(table_of(rows)) > 0.1


@pytest.mark.parametrize("rows", [np.zeros((0, 4)), lambert_rows(0.5, 400)])
def test_rows_that_are_none_or_too_many_are_refused(rows):
    with pytest.raises(TableError):
        table_of(rows)


def test_cubic_pieces_do_not_swing_and_keep_straight_lines():
    x = np.array([0.0, 1.0, 2.5, 3.0, 5.0])
    at = np.linspace(0.0, 5.0, 101)
    assert monotone(x, 2.0 * x + 1.0, at) == pytest.approx(2.0 * at + 1.0, rel=1e-12)
    step = monotone(x, np.array([0.0, 0.0, 1.0, 1.0, 1.0]), at)
    assert step.min() >= 0.0
    assert step.max() <= 1.0
    assert (np.diff(step) >= -1e-15).all()
    assert monotone(x[:2], x[:2], at[:5]) == pytest.approx(at[:5])
