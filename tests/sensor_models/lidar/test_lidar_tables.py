"""Tables of scan patterns: beams by name, and rays and beams from files."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sensor_models
from sensor_models.core.quantities import ParameterError
from sensor_models.lidar.patterns import PatternParameters, PatternType, make_pattern

RAYS = "time,azimuth,elevation,ring\n0.03,0.3,-0.1,7\n0.01,0.1,0.2,5\n0.02,-3.0,0.0,6\n"


def written(tmp_path, text, name="some.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def of_beams(name):
    return make_pattern(PatternParameters(type=PatternType.spinning, beams=name, columns=4), 0.1)


# --- beams that come with the library


@pytest.mark.parametrize("name", ["HDL-64E", "hdl64e", " hdl 64_E"])
def test_beam_tables_of_the_library_are_found_by_name(name):
    assert of_beams(name).rows == 64


def test_beam_tables_are_read_where_the_package_lies_now(tmp_path, monkeypatch):
    folder = tmp_path / "lidar" / "beams"
    folder.mkdir(parents=True)
    text = "[beams]\nelevation = [0.0, 0.5]\nazimuth = [0.0, 0.1]\n"
    (folder / "mine.toml").write_text(text, encoding="utf-8")
    monkeypatch.setattr(sensor_models, "__path__", [str(tmp_path)])
    assert of_beams("mine").rows == 2


def test_an_unknown_beam_table_lists_the_known_ones():
    with pytest.raises(ParameterError, match=r"'HDL-65E' is neither .* known: hdl-64e, os0-128"):
        of_beams("HDL-65E")


# --- files


def of_file(path, duration):
    return make_pattern(PatternParameters(type=PatternType.file, file=path), duration)


def test_rays_of_a_file_are_sorted_by_their_times(tmp_path):
    pattern = of_file(written(tmp_path, RAYS), 0.1)
    assert (pattern.rows, pattern.columns) == (1, 3)
    assert pattern.offset == pytest.approx((0.1, 0.2, 0.3), rel=1e-15)
    assert pattern.angles(0)[0] == pytest.approx((0.1, -3.0, 0.3))
    assert pattern.angles(0)[1] == pytest.approx((0.2, 0.0, -0.1))
    assert tuple(pattern.ring) == (5, 6, 7)


def test_an_open_duration_is_that_of_the_file(tmp_path):
    pattern = of_file(written(tmp_path, RAYS), 0.0)
    assert pattern.offset == pytest.approx((0.0, 1 / 3, 2 / 3), rel=1e-14)
    one = "time,azimuth,elevation\n0.5,0,0\n"
    assert of_file(written(tmp_path, one), 0.0).offset == [0.0]


ANGLE = st.floats(-math.pi / 2, math.pi / 2)


@given(st.lists(st.tuples(st.floats(0.0, 0.099), ANGLE, ANGLE), min_size=1, max_size=30))
def test_a_file_gives_back_what_was_written(tmp_path_factory, rays):
    lines = [",".join(map(repr, ray)) for ray in rays]
    path = written(tmp_path_factory.mktemp("rays"), "\n".join(["time,azimuth,elevation", *lines]))
    pattern = of_file(path, 0.1)
    rays.sort(key=lambda ray: ray[0])
    assert (pattern.offset == [time / 0.1 for time, _, _ in rays]).all()
    # angles are as they were to the bit, but for -0.0
    assert (np.transpose(pattern.angles(0)) == [ray[1:] for ray in rays]).all()
    by_span = of_file(path, 0.0).offset
    assert by_span[0] == 0.0
    assert (np.diff(by_span) >= 0.0).all()
    assert by_span[-1] < 1.0


@pytest.mark.parametrize(
    ("change", "to", "message"),
    [
        (RAYS, "", "has no rows"),
        ("0.02,-3.0", "0.02,-3.0,1", "line 4: has 5 values, needed are 4"),
        ("-3.0", "west", "line 4: 'west' is no number"),
        ("-3.0", "nan", "line 4: azimuth = nan is out of range"),
        ("0.2,5", "1.6,5", r"line 3: elevation = 1.6 is out of range, allowed is -pi/2 to pi/2"),
        ("0.2,5", "0.2,5.5", "line 3: ring = 5.5 is out of range, allowed is a whole number"),
        ("0.2,5", "0.2,65536", "line 3: ring = 65536.0 is out of range"),
        ("0.01", "-0.01", "line 3: time = -0.01 is out of range"),
        ("0.01", "0.1", r"line 3: time = 0.1 s does not lie within .* duration, 0.1 s"),
        ("ring", "colour", "column 'colour' is unknown, known: time, azimuth, elevation, ring"),
        ("ring", "time", "column 'time' is given twice"),
        ("elevation", "azimuth_deg", "column 'azimuth_deg' is given twice"),
        ("elevation", "time_deg", "column 'time_deg' is unknown"),
    ],
)
def test_a_bad_file_is_refused_with_file_line_and_reason(tmp_path, change, to, message):
    assert change in RAYS
    path = written(tmp_path, RAYS.replace(change, to))
    with pytest.raises(ParameterError, match=message) as caught:
        of_file(path, 0.1)
    assert path in str(caught.value)


def test_files_that_cannot_be_read_are_refused(tmp_path):
    with pytest.raises(ParameterError, match=r"none\.csv: cannot be read: No such file"):
        of_file(str(tmp_path / "none.csv"), 0.1)
    (tmp_path / "bad.csv").write_bytes(b"\xff")
    with pytest.raises(ParameterError, match=r"bad\.csv: cannot be read: .*utf-8"):
        of_file(str(tmp_path / "bad.csv"), 0.1)
    with pytest.raises(ParameterError, match="column 'elevation' is missing"):
        of_beams(written(tmp_path, "azimuth\n0.1\n"))
