"""Pictures of lidar frames and patterns: what lies where, and in which colour."""

import math

import numpy as np
import pytest

from sensor_models.core.quantities import ParameterError
from sensor_models.tools.pictures.clouds import (
    BAR_ONLY,
    BOTTOM,
    LEFT,
    RIGHT,
    SHADE,
    TOP,
    Shown,
    birds_eye,
    both,
    colors_of,
    pattern_picture,
    range_image,
    side_by_side,
)
from sensor_models.tools.pictures.drawing import (
    EMPTY,
    GRID,
    HEAT,
    INK,
    PALETTE,
    RAINBOW,
    Bar,
    Entries,
    Pen,
    Plot,
    blank,
    boxes_of,
    dots_of,
    log_ticks,
    paint,
    ramp_colors,
    shares,
    ticks_of,
)
from tests.sensor_models.output.cloud_points import cloud, sweep

RED = (255, 0, 0)


def color_at(picture, row, column):
    return tuple(picture[row, column].tolist())


def isclose_color(picture, row, column, color):
    return np.abs(picture[row, column].astype(int) - np.array(color)).max() <= 1  # rounding


# ---- plots -------------------------------------------------------------------------------------


def test_values_lie_where_their_share_of_the_edge_is():
    plot = Plot(left=10, top=20, width=200, height=100, across=(180.0, -180.0), up=(-5.0, 5.0))
    assert plot.columns([180.0, 0.0, -180.0]).tolist() == [10.0, 110.0, 210.0]
    assert plot.rows([5.0, 0.0, -5.0]).tolist() == [20.0, 70.0, 120.0]
    assert plot.holds([0.0, 181.0, 0.0], [0.0, 0.0, -5.1]).tolist() == [True, False, False]


def test_a_dot_of_one_pixel_is_the_pixel_of_its_point():
    plot = Plot(2, 3, 10, 10, (0.0, 10.0), (0.0, 10.0))
    picture = np.zeros((20, 20, 3), np.uint8)
    paint(picture, plot, dots_of(plot, [4.7], [1.2], [0.0], 1), np.array([RED], np.uint8))
    # 4.7 is in the fifth pixel from the left edge, 1.2 in the second from below
    assert np.argwhere(picture.any(axis=-1)).tolist() == [[3 + 8, 2 + 4]]


def test_dots_end_at_the_edge_of_their_plot():
    plot = Plot(5, 5, 10, 10, (0.0, 10.0), (0.0, 10.0))
    picture = np.zeros((20, 20, 3), np.uint8)
    corners = dots_of(plot, [0.1, 9.9], [0.1, 9.9], [0.0, 0.0], 7)
    paint(picture, plot, corners, np.array([RED, RED], np.uint8))
    inside = picture[5:15, 5:15].any(axis=-1)
    assert inside.sum() == picture.any(axis=-1).sum() == 2 * 4 * 4


def test_the_nearest_box_is_seen_whatever_the_order():
    plot = Plot(0, 0, 30, 30, (0.0, 30.0), (0.0, 30.0))
    generator = np.random.default_rng(5)
    left, top = generator.integers(0, 25, (2, 200))
    size = generator.integers(1, 6, (2, 200))
    distance = generator.permutation(200).astype(float)
    colors = generator.integers(1, 255, (200, 3)).astype(np.uint8)
    picture = np.zeros((30, 30, 3), np.uint8)
    paint(picture, plot, boxes_of(left, top, left + size[0], top + size[1], distance), colors)
    naive = np.zeros((30, 30, 3), np.uint8)
    for k in np.argsort(-distance):  # the nearest last
        naive[top[k] : top[k] + size[1][k], left[k] : left[k] + size[0][k]] = colors[k]
    np.testing.assert_array_equal(picture, naive)


def test_ticks_are_round_and_inside():
    metres = (1.0, 2.0, 5.0, 10.0)
    assert ticks_of((-7.0, 7.0), metres, 8) == [-6.0, -4.0, -2.0, 0.0, 2.0, 4.0, 6.0]
    assert ticks_of((7.0, -7.0), metres, 8) == ticks_of((-7.0, 7.0), metres, 8)  # falls
    assert ticks_of((0.0, 10.0), metres, 1) == [0.0, 10.0]
    assert log_ticks((0.9, 60.0)) == [1.0, 2.0, 5.0, 10.0, 20.0, 50.0]
    assert log_ticks((0.9e-6, 1.0)) == [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0]
    assert 3 < len(log_ticks((1e-30, 1.0))) <= 9


def test_shares_are_even_in_the_logarithm_where_the_scale_is():
    assert shares([1.0, 2.0, 3.0, 9.0], (1.0, 3.0)).tolist() == [0.0, 0.5, 1.0, 1.0]
    even = shares([0.0, 0.01, 0.1, 1.0, np.nan], (0.01, 1.0), logarithmic=True)
    np.testing.assert_allclose(even, [0.0, 0.0, 0.5, 1.0, 0.0], rtol=0, atol=1e-12)  # rounding


def test_ramps_go_through_their_colours():
    assert ramp_colors(HEAT, np.linspace(0.0, 1.0, len(HEAT))).tolist() == [list(c) for c in HEAT]
    for ramp in (HEAT, RAINBOW):  # brighter than what is empty, everywhere
        assert ramp_colors(ramp, np.linspace(0.0, 1.0, 99)).max(axis=-1).min() > 4 * max(EMPTY)


def test_a_bar_has_its_greatest_value_at_the_top():
    picture = blank((200, 300))
    pen = Pen(picture)
    pen.legend(Bar("range, m", RAINBOW, (0.0, 10.0)), 20, 40, 200)
    pen.done()
    # half a pixel from the ends of the ramp, where a pixel is 1/40 of the way between two colours
    np.testing.assert_allclose(picture[40, 25], RAINBOW[-1], rtol=0, atol=3)
    np.testing.assert_allclose(picture[239, 25], RAINBOW[0], rtol=0, atol=3)


def test_a_legend_says_how_many_it_does_not_show():
    entries = Entries("entity", [(str(k), (k, 255, 0)) for k in range(9)])
    heights = []
    for height in (66, 400):  # room for 3 lines, and for all
        picture = blank((200, 460))
        pen = Pen(picture)
        pen.legend(entries, 20, 40, height)
        pen.done()
        squares = picture[:, 25]
        heights.append(len(np.unique(squares[squares[:, 1] == 255], axis=0)))
    assert heights == [2, 9]


# ---- range images ------------------------------------------------------------------------------

WIDTH, HEIGHT = 622, 328  # a plot of 360 x 200 pixels: one for a degree of azimuth
PLOT_ROWS = HEIGHT - TOP - BOTTOM


def middle_of(azimuth, elevation, limits):
    """Where an angle is in a range image that shows all around, and elevations between limits."""
    row = TOP + (limits[1] - elevation) / (limits[1] - limits[0]) * PLOT_ROWS
    return int(row), LEFT + int(180.0 - azimuth)


def test_the_picture_of_these_tests_has_a_pixel_for_a_degree():
    assert WIDTH - LEFT - RIGHT == 360


@pytest.mark.parametrize(("azimuth", "elevation"), [(-35.0, 10.0), (95.0, -10.0), (5.0, 20.0)])
def test_a_point_is_at_its_azimuth_and_elevation(azimuth, elevation):
    points = cloud(*sweep(), 10.0)
    chosen = np.isclose(points["azimuth"], math.radians(azimuth), atol=1e-6)
    chosen &= np.isclose(points["elevation"], math.radians(elevation), atol=1e-6)
    assert chosen.sum() == 1
    points["range"][chosen] = 30.0
    picture = range_image(Shown(points, "range"), (WIDTH, HEIGHT))
    limits = -10.0 - 0.6, 20.0 + 0.6  # 2 % of the span on each side
    row, column = middle_of(azimuth, elevation, limits)
    red = RAINBOW[-1]
    assert isclose_color(picture, row, column, red)
    # a step of 10 degrees is 10 pixels wide, and as high as half the way to its neighbours
    is_red = (np.abs(picture[TOP : TOP + PLOT_ROWS, LEFT : LEFT + 360] - np.array(red)) <= 1).all(
        -1
    )
    rows, columns = np.nonzero(is_red)
    assert np.ptp(columns) + 1 == pytest.approx(10, abs=1)  # edges at whole pixels
    whole = 10.0 / 31.2 * PLOT_ROWS
    shown = whole if elevation < 20.0 else whole / 2.0 + 0.6 / 31.2 * PLOT_ROWS
    shown = whole / 2.0 + 0.6 / 31.2 * PLOT_ROWS if elevation == -10.0 else shown
    assert np.ptp(rows) + 1 == pytest.approx(shown, abs=2)


def test_left_is_left_and_up_is_up():
    points = cloud(*sweep(), 10.0)
    points["range"] = 10.0 + np.degrees(points["azimuth"]) / 20.0
    picture = range_image(Shown(points, "range"), (WIDTH, HEIGHT)).astype(int)
    row = TOP + PLOT_ROWS // 2
    assert picture[row, LEFT + 20, 0] > picture[row, LEFT + 340, 0]  # redder where farther
    points["range"] = 10.0 + np.degrees(points["elevation"]) / 20.0
    picture = range_image(Shown(points, "range"), (WIDTH, HEIGHT)).astype(int)
    assert picture[TOP + 20, LEFT + 200, 0] > picture[TOP + PLOT_ROWS - 20, LEFT + 200, 0]


def test_rays_without_a_return_leave_a_gap():
    points = cloud(*sweep(), 10.0)
    gap = np.abs(np.degrees(points["azimuth"]) - 45.0) < 1.0
    picture = range_image(Shown(points[~gap], "range"), (WIDTH, HEIGHT))
    column = LEFT + 135
    hole = picture[TOP + 5 : TOP + PLOT_ROWS - 5, column]
    assert {tuple(color) for color in hole.tolist()} <= {EMPTY, GRID}
    around = picture[TOP + 5 : TOP + PLOT_ROWS - 5, [column - 8, column + 8]]
    assert EMPTY not in {tuple(color) for color in around.reshape(-1, 3).tolist()}


def test_rows_that_are_not_evenly_spaced_meet():
    points = cloud(*sweep(rows=(2.0, 1.6, 1.3, -0.2, -0.7)), 10.0)
    picture = range_image(Shown(points, "range"), (WIDTH, HEIGHT))
    limits = -0.7 - 0.5, 2.0 + 0.5
    seen = picture[:, LEFT + 183]
    for elevation in (1.8, 1.5, -0.4):
        row, _ = middle_of(0.0, elevation, limits)
        assert color_at(seen[:, None], row, 0) not in (EMPTY, GRID)
    row, _ = middle_of(0.0, 0.6, limits)  # three times as far apart as usual: beams are missing
    assert color_at(seen[:, None], row, 0) in (EMPTY, GRID)


def test_the_nearest_of_several_returns_is_shown():
    near, far = cloud(*sweep(), 5.0), cloud(*sweep(), 20.0, return_number=2)
    for order in ((near, far), (far, near)):
        picture = range_image(Shown(np.concatenate(order), "return"), (WIDTH, HEIGHT))
        assert color_at(picture, TOP + 100, LEFT + 100) == PALETTE[1]


def test_points_of_a_rosette_are_dots():
    turn = np.linspace(0.0, 200.0, 4000)
    points = cloud(20.0 * np.cos(turn) * np.cos(1.7 * turn), 20.0 * np.sin(turn), 10.0, ring=0)
    picture = range_image(Shown(points, "range"), (WIDTH, HEIGHT))
    inside = picture[TOP : TOP + PLOT_ROWS, LEFT : LEFT + 360]
    share = ((inside != EMPTY) & (inside != GRID)).any(axis=-1).mean()
    assert 0.1 < share < 0.9


# ---- from above --------------------------------------------------------------------------------


def test_a_point_from_above_is_at_its_x_and_y():
    points = cloud([0.0, 90.0, 180.0, 270.0], 0.0, 8.0, label=[0, 1, 2, 3])
    size = 400 + LEFT + RIGHT, 400 + TOP + BOTTOM
    picture = birds_eye(Shown(points, "label"), size, area=10.0)
    metre = 400 / (20.0 * 1.06)  # pixels; the area has a margin of 3 % on each side
    for x, y, number in ((8, 0, 0), (0, 8, 1), (-8, 0, 2), (0, -8, 3)):
        column, row = LEFT + 200 + x * metre, TOP + 200 - y * metre
        assert color_at(picture, int(row), int(column)) == PALETTE[number]
    assert color_at(picture, TOP + 200, LEFT + 200) == INK  # the origin


def test_the_highest_point_is_seen_from_above():
    points = cloud([0.0, 0.0], [0.0, 0.0], 5.0, label=[6, 8])
    for z in ([0.0, 2.0], [2.0, 0.0]):
        points["z"] = z
        picture = birds_eye(Shown(points, "label"), (500, 400), area=6.0)
        colors = {
            tuple(color) for color in picture[TOP:-BOTTOM, LEFT:-RIGHT].reshape(-1, 3).tolist()
        }
        top = (6, 8)[int(np.argmax(z))]
        assert colors - {EMPTY, GRID, INK} == {PALETTE[top]}


def test_a_metre_is_as_long_up_as_across():
    points = cloud([0.0, 90.0], 0.0, 30.0, label=5)
    picture = birds_eye(Shown(points, "label"), (900, 500), area=40.0)
    rows, columns = np.nonzero((picture[:, :-RIGHT] == PALETTE[5]).all(axis=-1))
    origin = np.argwhere((picture == INK).all(axis=-1) & (np.arange(500)[:, None] > TOP))
    right, up = columns.max(), rows.min()
    middle = np.median(origin[(origin[:, 0] < 500 - BOTTOM) & (origin[:, 1] < 900 - RIGHT)], axis=0)
    assert right - middle[1] == pytest.approx(middle[0] - up, abs=3)  # dots are 5 pixels wide


def test_both_views_stand_one_above_the_other():
    points = cloud(*sweep(), 10.0, label=4)
    picture = both((Shown(points, "label"), Shown(points, "label")), (700, 900))
    seen = (picture[:, LEFT:-RIGHT] == PALETTE[4]).all(axis=-1).sum(axis=1)
    assert seen[: 900 // 4].max() > 400  # the range image is full
    assert 0 < seen[900 // 2 :].max() < 400


def test_a_reference_lies_beneath_both_clouds_in_the_same_area():
    reference = cloud([0.0, 90.0], 0.0, [10.0, 10.0])
    moved = cloud([0.0], 0.0, [10.0], label=5)
    picture = side_by_side((Shown(moved, "label"), Shown(moved, "label")), reference, (900, 500))
    yellow = np.argwhere((picture == PALETTE[5]).all(axis=-1))
    columns = np.unique(yellow[:, 1])
    assert np.flatnonzero(np.diff(columns) > 1).size == 2  # in two plots, and in the legend
    grey = np.argwhere((picture == SHADE).all(axis=-1))
    assert len(grey) == 2 * 5 * 5  # of each plot, one dot is seen and one is covered


# ---- colours -----------------------------------------------------------------------------------


def test_intensity_is_coloured_by_its_logarithm():
    points = cloud(np.zeros(201), 0.0, 5.0, intensity=np.logspace(-4, 0, 201))
    colors, legend = colors_of(Shown(points), "intensity")
    assert legend.logarithmic
    low, high = legend.limits
    middle = np.searchsorted(points["intensity"], math.sqrt(low * high))
    np.testing.assert_allclose(
        colors[middle].astype(int), ramp_colors(HEAT, 0.5).astype(int), atol=4
    )  # one step of the points is 1/100 of the scale
    assert colors[0].tolist() == list(HEAT[0])
    assert colors[-1].tolist() == list(HEAT[-1])


def test_no_intensity_at_all_has_colours_too():
    colors, legend = colors_of(Shown(cloud(np.zeros(3), 0.0, 5.0, intensity=0.0)), "intensity")
    assert (colors == HEAT[0]).all()
    assert legend.limits[0] < legend.limits[1]


def test_a_single_far_point_does_not_stretch_the_scale():
    points = cloud(np.zeros(1001), 0.0, np.append(np.linspace(1.0, 20.0, 1000), 5000.0))
    _, legend = colors_of(Shown(points), "range")
    assert legend.limits[1] < 21.0


def test_height_is_z_and_return_its_number():
    points = cloud(np.zeros(3), [-10.0, 0.0, 10.0], 5.0, return_number=[1, 2, 3])
    colors, legend = colors_of(Shown(points), "height")
    assert legend.title == "z, m"
    assert colors[[0, 2]].tolist() == [list(RAINBOW[0]), list(RAINBOW[-1])]
    colors, legend = colors_of(Shown(points), "return")
    assert colors.tolist() == [list(PALETTE[k]) for k in (1, 2, 3)]


def test_kinds_are_named_and_those_with_most_points_come_first():
    points = cloud(np.zeros(6), 0.0, 5.0, entity_id=[7, 7, 7, 300, 300, -1])
    names = {"entity": {7: "tree", 300: "van"}}
    colors, legend = colors_of(Shown(points, names=names), "entity")
    assert [name for name, _ in legend.entries] == ["tree", "van", "none"]
    assert [colors[k].tolist() for k in (0, 3, 5)] == [list(color) for _, color in legend.entries]
    assert len({tuple(color) for color in colors.tolist()}) == 3
    _, unnamed = colors_of(Shown(points), "entity")
    assert [name for name, _ in unnamed.entries] == ["7", "300", "none"]


# ---- patterns ----------------------------------------------------------------------------------


def test_rays_of_a_pattern_are_at_their_angles_in_the_colour_of_their_time():
    angles = np.radians([[-10.0, 0.0, 10.0], [-5.0, 0.0, 5.0]])
    within = (-20.0, 20.0, -10.0, 10.0)
    size = 400 + LEFT + BAR_ONLY, 200 + TOP + BOTTOM
    picture = pattern_picture(*angles, [0.0, 0.05, 0.1], "three", size, within)
    for azimuth, elevation, color in zip(
        (-10, 0, 10), (-5, 0, 5), ramp_colors(RAINBOW, [0.0, 0.5, 1.0]), strict=True
    ):
        column, row = LEFT + 200 - 10 * azimuth, TOP + 100 - 10 * elevation
        assert isclose_color(picture, row, column, color)


def test_a_pattern_without_a_size_has_square_degrees():
    picture = pattern_picture(np.radians([-30, 30]), np.radians([-40, 40]), [0, 1], "tall")
    width, height = picture.shape[1] - LEFT - BAR_ONLY, picture.shape[0] - TOP - BOTTOM
    assert width / height == pytest.approx(60.0 / 80.0, rel=0.01)  # whole pixels


def test_a_part_of_a_pattern_without_rays_is_refused():
    with pytest.raises(ParameterError, match="no ray points"):
        pattern_picture([0.0], [0.0], [0.0], "one", (400, 300), (10.0, 20.0, 10.0, 20.0))
