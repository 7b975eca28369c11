"""Scan patterns of the lidar: regular ones, beam tables and arrays of one's own."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sensor_models.core.quantities import ParameterError
from sensor_models.lidar.patterns import (
    Direction,
    PatternParameters,
    PatternType,
    ScanPattern,
    make_pattern,
)

#: The grid that the acceptance rows speak of is the default.
GRID = make_pattern(PatternParameters(), 0.1)

BEAMS = "elevation,azimuth,time\n-0.2,0.02,0.0\n0.3,-0.01,1e-5\n0.1,0.0,2e-5\n"


def written(tmp_path, text, name="some.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def by_column(pattern, values):
    return np.asarray(values).reshape(pattern.columns, pattern.rows, *np.shape(values)[1:])


def assert_in_order(pattern):
    """What holds for every pattern."""
    assert len(pattern.offset) == len(pattern.ring) == pattern.rows * pattern.columns
    assert pattern.offset.min() >= 0.0
    assert pattern.offset.max() < 1.0
    assert (np.diff(by_column(pattern, pattern.offset)[:, 0]) >= 0.0).all()
    azimuth, elevation = pattern.angles(0)
    assert azimuth.min() > -math.pi
    assert azimuth.max() <= math.pi
    lengths = np.linalg.norm(pattern.directions(0), axis=1)
    np.testing.assert_allclose(lengths, 1.0, rtol=0, atol=4e-16)  # roundings of three squares
    x, y, z = pattern.directions(0).T
    away = np.abs(np.angle(np.exp(1j * (np.arctan2(y, x) - azimuth))))
    assert away[np.hypot(x, y) > 1e-6].max(initial=0.0) < 1e-9  # roundings over 1e-6
    np.testing.assert_allclose(z, np.sin(elevation), rtol=0, atol=1e-16)


# --- grid, flash


@pytest.mark.acceptance("GRID-1")
def test_grid_1_the_first_ray_goes_back_and_up():
    expected = (-0.70710678, 0.0, 0.70710678)
    np.testing.assert_allclose(GRID.directions(0)[0], expected, rtol=0, atol=1e-7)  # the row's


@pytest.mark.acceptance("GRID-2")
def test_grid_2_a_ray_in_the_middle():
    ray = 255 * 128 + 63
    expected = (0.99996198, 0.00614777, 0.00618420)
    np.testing.assert_allclose(GRID.directions(0)[ray], expected, rtol=0, atol=1e-7)
    azimuth, elevation = np.degrees(GRID.angles(0))
    assert azimuth[ray] == pytest.approx(0.352250, abs=1e-6)  # the row's digits
    assert elevation[ray] == pytest.approx(0.354331, abs=1e-6)


@pytest.mark.acceptance("GRID-3")
def test_grid_3_steps_and_the_column_where_the_turn_closes():
    azimuth, elevation = (by_column(GRID, np.degrees(angle)) for angle in GRID.angles(0))
    np.testing.assert_allclose(-np.diff(azimuth[:-1], axis=0), 0.704501, rtol=0, atol=1e-6)
    np.testing.assert_allclose(-np.diff(elevation, axis=1), 0.708661, rtol=0, atol=1e-6)
    directions = by_column(GRID, GRID.directions(0))
    assert np.abs(directions[0, 5] - directions[511, 5]).max() <= 1e-15  # the row's


def test_columns_of_a_grid_fire_at_once_one_after_the_other():
    assert_in_order(GRID)
    offset = by_column(GRID, GRID.offset)
    assert (offset == (np.arange(512) / 512)[:, None]).all()
    assert (by_column(GRID, GRID.ring) == np.arange(128)).all()


def test_a_grid_covers_the_solid_angle_between_its_limits():
    _, elevation = GRID.angles(0)
    rows = elevation[:128]
    heights = (np.cos(rows[1:]) + np.cos(rows[:-1])) / 2.0
    band = np.sum(heights * -np.diff(rows)) * math.tau
    # the trapezoidal rule errs by the step squared over 12, 1.3e-5
    assert band == pytest.approx(4.0 * math.pi * math.sin(math.pi / 4), rel=2e-5)


def test_one_row_and_one_column_look_to_the_middle():
    one = make_pattern(
        PatternParameters(rows=1, columns=1, azimuth=(0.2, 0.6), elevation=(-0.1, 0.3)), 0.1
    )
    assert one.angles(0) == (pytest.approx([0.4], abs=1e-15), pytest.approx([0.1], abs=1e-15))


def test_without_endpoint_the_columns_of_a_turn_are_spaced_evenly():
    grid = make_pattern(PatternParameters(rows=1, columns=8, endpoint=False), 0.1)
    azimuth = np.unwrap(np.append(grid.angles(0)[0], -math.pi))
    np.testing.assert_allclose(np.diff(azimuth), -math.tau / 8, rtol=0, atol=1e-15)


def test_slices_of_columns_are_a_partition_of_the_pattern():
    azimuth, _ = GRID.angles(0)
    parts = [azimuth[first * 128 : (first + 128) * 128] for first in range(0, 512, 128)]
    assert [len(np.unique(part)) for part in parts] == [128] * 4
    assert all(np.ptp(part) < math.tau / 4 for part in parts[:3])
    # the first and the last column of the turn are the same
    assert len(np.unique(np.concatenate(parts))) == 511


def test_a_flash_is_a_grid_all_at_once():
    flash = make_pattern(PatternParameters(type=PatternType.flash, rows=3, columns=5), 0.1)
    grid = make_pattern(PatternParameters(rows=3, columns=5), 0.1)
    assert_in_order(flash)
    assert not flash.offset.any()
    assert (flash.directions(0) == grid.directions(0)).all()
    assert (flash.ring == grid.ring).all()


def test_an_active_share_leaves_a_pause_at_the_end():
    grid = make_pattern(PatternParameters(rows=2, columns=10, active_share=0.4), 0.1)
    assert grid.offset.max() == pytest.approx(0.36, rel=1e-15)


# --- spinning


def spinning(tmp_path, duration=0.1, text=BEAMS, **values):
    values = {"columns": 100, "endpoint": False, **values}
    path = written(tmp_path, text)
    return make_pattern(
        PatternParameters(type=PatternType.spinning, beams=path, **values), duration
    )


def test_rows_of_a_spinning_head_are_its_beams_from_top_to_bottom(tmp_path):
    pattern = spinning(tmp_path)
    assert_in_order(pattern)
    assert (pattern.rows, pattern.columns) == (3, 100)
    elevation = by_column(pattern, pattern.angles(0)[1])
    assert (elevation == (0.3, 0.1, -0.2)).all()
    assert (by_column(pattern, pattern.ring) == (0, 1, 2)).all()


@pytest.mark.parametrize("direction", Direction)
def test_beams_turn_on_while_they_wait_for_their_time(tmp_path, direction):
    pattern = spinning(tmp_path, direction=direction)
    way = 1.0 if direction == Direction.counterclockwise else -1.0
    azimuth = by_column(pattern, pattern.angles(0)[0])
    steps = np.diff(np.unwrap(azimuth, axis=0), axis=0)
    np.testing.assert_allclose(steps, way * math.tau / 100, rtol=0, atol=1e-14)
    rate = way * math.tau / 0.1  # rad/s
    expected = np.array([-0.01, 0.0, 0.02]) + rate * np.array([1e-5, 2e-5, 0.0])
    np.testing.assert_allclose(azimuth[50], expected, rtol=0, atol=1e-14)
    offset = by_column(pattern, pattern.offset)
    np.testing.assert_allclose(
        offset, np.arange(100)[:, None] / 100 + np.array([1e-4, 2e-4, 0.0]), rtol=0, atol=1e-15
    )


def test_times_of_beams_do_not_count_where_the_duration_is_open(tmp_path):
    pattern = spinning(tmp_path, duration=0.0)
    assert (by_column(pattern, pattern.offset) == np.arange(100)[:, None] / 100).all()
    azimuth = by_column(pattern, pattern.angles(0)[0])[50]
    np.testing.assert_allclose(azimuth, (-0.01, 0.0, 0.02), rtol=0, atol=1e-15)


def test_beams_that_take_longer_than_a_column_are_refused(tmp_path):
    with pytest.raises(ParameterError, match=r"fires for 2e-05 s, which must be less than .*1e-05"):
        spinning(tmp_path, duration=0.001)


def test_rings_are_the_maker_s_numbers_where_a_table_has_them(tmp_path):
    text = "ring, elevation_deg, azimuth_deg, time_us\n# upper\n9, -10, 1, 5\n\n4, 20, 0, 0 # x\n"
    pattern = spinning(tmp_path, text=text)
    assert (by_column(pattern, pattern.ring) == (4, 9)).all()
    elevation = by_column(pattern, pattern.angles(0)[1])[0]
    np.testing.assert_allclose(elevation, np.radians([20, -10]), rtol=1e-15)
    assert by_column(pattern, pattern.offset)[0] == pytest.approx((0.0, 5e-5), rel=1e-15)


def test_without_a_table_rows_are_spread_evenly():
    values = {"rows": 5, "columns": 7, "elevation": (-0.2, 0.6), "azimuth": (-1.0, 0.5)}
    spin = make_pattern(PatternParameters(type=PatternType.spinning, **values), 0.1)
    grid = make_pattern(PatternParameters(**values), 0.1)
    assert (spin.directions(0) == grid.directions(0)).all()
    assert (spin.offset == grid.offset).all()


# --- raster


@pytest.mark.parametrize("serpentine", [False, True])
@pytest.mark.parametrize("direction", Direction)
def test_a_raster_goes_line_by_line_each_ray_at_its_own_time(serpentine, direction):
    raster = make_pattern(
        PatternParameters(
            type=PatternType.raster,
            rows=3,
            columns=4,
            azimuth=(-0.3, 0.3),
            elevation=(-0.1, 0.1),
            serpentine=serpentine,
            direction=direction,
        ),
        0.1,
    )
    assert_in_order(raster)
    assert (raster.rows, raster.columns) == (4, 3)  # a column of the frame is a line
    np.testing.assert_allclose(raster.offset, np.arange(12) / 12, rtol=0, atol=1e-16)
    assert (raster.ring == np.repeat(np.arange(3), 4)).all()
    azimuth, elevation = (by_column(raster, angle) for angle in raster.angles(0))
    np.testing.assert_allclose(elevation, [[0.1] * 4, [0.0] * 4, [-0.1] * 4], rtol=0, atol=1e-16)
    line = np.array([0.3, 0.1, -0.1, -0.3]) * (1 if direction == Direction.clockwise else -1)
    lines = [line, line[::-1] if serpentine else line, line]
    np.testing.assert_allclose(azimuth, lines, rtol=0, atol=1e-15)


# --- patterns of one's own


def test_arrays_make_a_pattern():
    pattern = ScanPattern.from_arrays(
        [0.1, 0.2, 0.3, 0.4], [0, 0.1, 0, 0.1], [0, 0, 0.5, 0.6], rows=2
    )
    assert_in_order(pattern)
    assert (pattern.rows, pattern.columns, pattern.repeats) == (2, 2, True)
    assert tuple(pattern.ring) == (0, 1, 0, 1)


def test_a_function_gives_each_frame_its_angles():
    def aim(frame):
        return [0.01 * frame, 0.2], [0.0, 0.01 * frame]

    pattern = ScanPattern.from_function(aim, [0.0, 0.5], ring=[3, 4])
    assert not pattern.repeats
    assert pattern.angles(2) == (pytest.approx([0.02, 0.2]), pytest.approx([0.0, 0.02]))
    with pytest.raises(ParameterError, match=r"elevation of ray 1 = 2.0 rad is out of range"):
        pattern.angles(200)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"azimuth": [0.1]}, "1 azimuths and 2 elevations, needed are 1 of each"),
        ({"azimuth": [], "elevation": []}, "pattern of 0 rays cannot have rows = 1"),
        ({"rows": 3}, "pattern of 2 rays cannot have rows = 3"),
        ({"rows": 0}, "pattern of 2 rays cannot have rows = 0"),
        ({"azimuth": [0.1, math.inf]}, "azimuth of ray 1 = inf rad is out of range"),
        ({"elevation": [1.6, 0.0]}, "elevation of ray 0 = 1.6 rad is out of range"),
        ({"offset": [0.0, 1.0]}, "offset of a ray is out of range"),
        ({"offset": [0.0, math.nan]}, "offset of a ray is out of range"),
        ({"offset": [0.5, 0.1]}, "offset of a column's first ray is less than"),
        ({"offset": [0.5]}, "has 1 offsets and 2 rings"),
        ({"ring": [0, 65536]}, "ring of a ray is out of range, allowed is 0 to 65535"),
        ({"ring": [0, -1]}, "ring of a ray is out of range"),
    ],
)
def test_arrays_that_make_no_pattern_are_refused(values, message):
    good = {"azimuth": [0.1, 0.2], "elevation": [0.0, 0.1]}
    with pytest.raises(ParameterError, match=message):
        ScanPattern.from_arrays(**{**good, **values})


# --- parameters


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"rows": 0}, "pattern.rows = 0 is out of range, allowed is 1 to 65535"),
        ({"columns": 0}, "pattern.columns = 0 is out of range"),
        ({"rows": 4000, "columns": 1001}, "4000 x 1001 is out of range, .* 4000000 rays"),
        ({"azimuth": (-3.2, 3.2)}, "pattern.azimuth spans 6.4 rad, allowed is at most a turn"),
        ({"azimuth": (1.0, 1.0)}, "pattern.azimuth.min = 1.0 rad must be less than"),
        ({"azimuth": (1.0, 0.5), "columns": 1}, "pattern.azimuth.min = 1.0 rad must be at most"),
        ({"elevation": (0.5, 0.1)}, "pattern.elevation.min = 0.5 rad must be less than"),
        ({"elevation": (0.0, 2.0)}, "pattern.elevation.max = 2.0 rad is out of range"),
        ({"active_share": 0.0}, "pattern.active_share = 0.0 is out of range"),
        ({"type": PatternType.file}, "pattern.file = '' names no file"),
        ({"prism_index": 0.9}, "pattern.prism.index = 0.9 is out of range"),
        ({"prism_wedge": (0.1, 2.0)}, "pattern.prism.wedge.second = 2.0 rad is out of range"),
        ({"type": 6}, "pattern.type = 6 is none of 0 .grid., 1 .spinning."),
    ],
)
def test_impossible_parameters_are_refused_with_the_reason(values, message):
    with pytest.raises(ParameterError, match=message):
        PatternParameters(**values)


@pytest.mark.parametrize("duration", [-0.1, math.nan, math.inf])
def test_a_duration_that_is_none_is_refused(duration):
    with pytest.raises(ParameterError, match=r"duration of a frame = .* allowed is at least 0 s"):
        make_pattern(PatternParameters(), duration)


@given(
    kind=st.sampled_from([PatternType.grid, PatternType.spinning, PatternType.raster]),
    rows=st.integers(1, 9),
    columns=st.integers(1, 40),
    low=st.floats(-math.tau, 3.0),
    span=st.floats(1e-3, math.tau),
    endpoint=st.booleans(),
    direction=st.sampled_from(Direction),
    share=st.floats(0.01, 1.0),
)
def test_every_regular_pattern_is_in_order(
    kind, rows, columns, low, span, endpoint, direction, share
):
    parameters = PatternParameters(
        type=kind,
        rows=rows,
        columns=columns,
        azimuth=(low, min(low + span, math.tau)),
        endpoint=endpoint,
        direction=direction,
        active_share=share,
    )
    pattern = make_pattern(parameters, 0.1)
    assert_in_order(pattern)
    assert pattern.repeats
    assert pattern.offset.max() < share
