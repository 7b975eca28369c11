"""Kernels of the depth camera: tiles, limits, edges."""

import math

import numpy as np
import pytest

from sensor_models.kernels.camera.depth import image_value, is_edge
from sensor_models.kernels.camera.layout import (
    AS_IT_IS,
    BY_LIMITS,
    BY_MAX,
    Task,
    corner_of,
    pixel_of,
    tiles_of,
)
from sensor_models.kernels.tracing.embree import WIDTH

PLAIN = Task(
    first=0,
    cameras=1,
    rows=4,
    columns=5,
    rays=1,
    separation=0.6,
    strongest=False,
    frame=0,
    depth=True,
    in_world=False,
    normalise=AS_IT_IS,
    least=1.0,
    most=5.0,
    near=-1.0,
    far=7.0,
    pixel_metres=0.0,
    disparity_sigma=0.0,
    disparity_step=0.0,
    multiplier=0.0,
    far_multiplier=0.0,
    far_from=math.inf,
    rms=0.0,
    bias=0.0,
    scale_error=0.0,
    dropout=0.0,
    edge_dropout=0.0,
    edge_jump=0.5,
    sees_all=False,
)


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1, 40), (40, 1), (8, 8), (13, 21)])
def test_tiles_hold_every_pixel_once(rows, columns):
    task = PLAIN._replace(rows=rows, columns=columns)
    corners = [corner_of(task, tile) for tile in range(tiles_of(task))]
    places = [pixel_of(task, corner, lane) for corner in corners for lane in range(WIDTH)]
    assert sorted(place for place in places if place >= 0) == list(range(rows * columns))


@pytest.mark.parametrize(
    ("value", "plain", "by_max", "by_limits"),
    [
        (0.5, -1.0, -0.2, 0.0),
        (1.0, 1.0, 0.2, 0.0),
        (3.0, 3.0, 0.6, 0.5),
        (5.0, 5.0, 1.0, 1.0),
        (5.1, 7.0, 1.4, 1.0),
        (math.inf, 7.0, 1.4, 1.0),
    ],
)
def test_limits_come_before_the_normalisation(value, plain, by_max, by_limits):
    for way, expected in ((AS_IT_IS, plain), (BY_MAX, by_max), (BY_LIMITS, by_limits)):
        found = image_value(PLAIN._replace(normalise=way), value)
        assert found == pytest.approx(expected, abs=1e-15)


def naive_edges(image, jump):
    """Pixels with a neighbour that is farther or nearer by a share of the nearer of the two."""
    rows, columns = image.shape
    edges = np.zeros(image.shape, bool)
    for row in range(rows):
        for column in range(columns):
            for r, c in (
                (row - 1, column),
                (row + 1, column),
                (row, column - 1),
                (row, column + 1),
            ):
                if 0 <= r < rows and 0 <= c < columns:
                    low, high = sorted((image[row, column], image[r, c]))
                    edges[row, column] |= low < math.inf and high > low * (1.0 + jump)
    return edges


def test_edges_are_those_of_a_naive_search():
    random = np.random.default_rng(3)
    image = random.uniform(1.0, 1.7, (4, 5)).astype(np.float32)
    image[random.uniform(size=image.shape) < 0.2] = math.inf
    truth = image.reshape(1, -1)
    found = [is_edge(PLAIN, truth, 0, pixel) for pixel in range(20)]
    expected = naive_edges(image.astype(float), PLAIN.edge_jump)
    assert 0 < expected.sum() < 20
    np.testing.assert_array_equal(np.reshape(found, (4, 5)), expected)
