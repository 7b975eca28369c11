import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from sensor_models.tools.fitting.estimates import FitError
from sensor_models.tools.fitting.sampling import steady
from sensor_models.tools.fitting.steps import step_of
from sensor_models.tools.fitting.tables import Columns, Wanted, read_columns

WANTED = [Wanted("time", ("timestamp",)), Wanted("gyroscope.x", ("gyro_x", "w_rs_s_x"))]


def test_columns_have_the_units_of_their_heads(tmp_path) -> None:
    log = tmp_path / "euroc.csv"
    log.write_text(
        "#timestamp [ns],w_RS_S_x [deg/s]\n"
        "1403636579758555392,90.0\n1403636579763555584,180.0\n1403636579768555520,-90.0\n"
    )
    columns = read_columns(log, WANTED, {})
    assert columns["gyroscope.x"] == pytest.approx(np.pi * np.array([0.5, 1.0, -0.5]))
    assert columns["time"] == pytest.approx([0.0, 0.005, 0.01], abs=1e-6)


def test_the_user_names_columns_and_their_units(tmp_path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("us;rate\n0;1000\n10;2000\n")
    columns = read_columns(log, WANTED, {"time": "us[us]", "gyroscope.x": "rate[mrad/s]"})
    assert columns["gyroscope.x"].tolist() == [1.0, 2.0]
    assert columns["time"] == pytest.approx([0.0, 1e-5])


def test_parquet_has_units_in_its_metadata(tmp_path) -> None:
    table = pyarrow.table({"time": [0.0, 1.0], "gyro_x": [1.0, 2.0]})
    log = tmp_path / "log.parquet"
    parquet.write_table(table.replace_schema_metadata({"units": '{"gyro_x": "mrad/s"}'}), log)
    assert read_columns(log, WANTED, {})["gyroscope.x"].tolist() == [0.001, 0.002]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "log.csv: is empty"),
        ("1,2\n3,4\n", "first line holds numbers, '1,2'"),
        ("time,other\n0,1\n", "no column for gyroscope.x; there are time, other"),
        ("time,gyro_x\n", "has a line of names, and no rows"),
        ("time,gyro_x\n0,red\n", "columns .*red"),
        ("time [h],gyro_x\n0,1\n", "unit 'h' of time is none of s, ms, us, ns"),
        ("time,gyro_x [furlong]\n0,1\n", "unit 'furlong' of gyroscope.x is not known"),
        ("time,gyro_x\nnan,1\n", "row 1 has no time"),
        ("time,gyro_x\n0,nan\n", "column gyro_x for gyroscope.x holds no number"),
    ],
)
def test_messages_say_which_file_and_what_is_there(tmp_path, text: str, message: str) -> None:
    log = tmp_path / "log.csv"
    log.write_text(text)
    with pytest.raises(FitError, match=message):
        read_columns(log, WANTED, {})


def test_other_mistakes_are_named(tmp_path) -> None:
    with pytest.raises(FitError, match=r"none\.csv: there is no such file"):
        read_columns(tmp_path / "none.csv", WANTED, {})
    other = tmp_path / "log.xlsx"
    other.write_bytes(b"x")
    with pytest.raises(FitError, match=r"a log is \.csv, \.parquet"):
        read_columns(other, WANTED, {})
    broken = tmp_path / "log.parquet"
    broken.write_bytes(b"x")
    with pytest.raises(FitError, match="is no Parquet file"):
        read_columns(broken, WANTED, {})
    log = tmp_path / "log.csv"
    log.write_text("time,gyro_x\n0,1\n")
    with pytest.raises(FitError, match=r"no column 'gx' for gyroscope.x; there are time, gyro_x"):
        read_columns(log, WANTED, {"gyroscope.x": "gx[deg/s]"})


def columns(time, tmp_path) -> Columns:
    time = np.asarray(time, float)
    return Columns(tmp_path / "log.csv", {"time": time, "x": 2.0 * time})


def test_jitter_and_single_gaps_do_not_matter(tmp_path) -> None:
    rng = np.random.default_rng(1)
    time = np.arange(5000) * 0.01 + rng.normal(0.0, 1e-3, 5000)
    sampled = steady(columns(np.sort(time), tmp_path), ["x"])
    assert sampled.rate == pytest.approx(100.0, rel=1e-3)
    assert len(sampled.values["x"]) == 5000
    gone = np.delete(np.arange(5000) * 0.01, np.arange(1000, 1020))
    sampled = steady(columns(gone, tmp_path), ["x"])
    assert sampled.values["x"] == pytest.approx(np.arange(5000) * 0.02)
    assert sampled.notes == ("20 of 5000 samples are missing, they were filled in by lines",)


def test_logs_that_are_no_steady_record_are_refused(tmp_path) -> None:
    gone = np.delete(np.arange(5000) * 0.01, np.arange(1000, 2000))
    with pytest.raises(FitError, match=r"1000 are missing, the longest gap is 10.01 s"):
        steady(columns(gone, tmp_path), ["x"])
    with pytest.raises(FitError, match="time goes back in row 4"):
        steady(columns([0.0, 1.0, 2.0, 1.5], tmp_path), ["x"])
    with pytest.raises(FitError, match="most samples have the same time"):
        steady(columns([0.0] * 10, tmp_path), ["x"])


def test_steps_are_found_if_there_are_any() -> None:
    rng = np.random.default_rng(2)
    noise = rng.standard_normal(10_000)
    assert step_of(noise) == 0.0
    step = 9.80665 / 16384.0
    assert step_of(step * np.rint(20.0 * noise)) == pytest.approx(step, rel=1e-12)
    written = np.round(step * np.rint(20.0 * noise) + 9.80665, 5)  # as a log writes it
    assert step_of(written) == pytest.approx(step, rel=1e-3)
    assert step_of(np.ones(1000)) == 0.0
