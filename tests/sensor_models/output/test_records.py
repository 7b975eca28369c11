"""Records: what was appended is what is in the file, and nothing torn is ever seen."""

import csv
import json
import math
import struct
import threading
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

import numpy as np
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sensor_models.core.quantities import (
    ParameterError,
    boolean,
    choice,
    flattener,
    integer,
    real,
    string,
)
from sensor_models.output import records
from sensor_models.output.records import (
    Record,
    RecordFormat,
    RecordParameters,
    columns_of,
)

FORMATS = list(RecordFormat)


class Fix(IntEnum):
    none = 0
    three_d = 1


@dataclass(frozen=True)
class Reading:
    position: float = real(0.0, "rad", "Position of the joint")
    valid: bool = boolean(False, "Whether it is valid")
    edges: int = integer(0, "Edges so far")
    fix: Fix = choice(Fix.none, "Kind of fix")
    rate: tuple[float, ...] = real((0.0, 0.0), "rad/s", "Rate", components=("x", "y"))


@dataclass(frozen=True)
class Level:
    level: float = real(0.0, "m", "Level")


NAMES = ["sample", "time", "position", "valid", "edges", "fix", "rate.x", "rate.y"]

ODD_FLOATS = [0.1, -0.0, 1 / 3, 5e-324, 1.7976931348623157e308, math.pi, 1e22, 123456789.125]


def parameters(directory: Path, output_format: RecordFormat = RecordFormat.csv) -> RecordParameters:
    return RecordParameters(True, str(directory), output_format)


def level_record(directory: Path, sensor: str = "s") -> Record:
    return Record(sensor, Level, parameters(directory), {})


def levels_in(path: Path) -> list[tuple[int, float]]:
    with path.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    return [(int(row["sample"]), float(row["level"])) for row in rows]


def index_of(directory: Path) -> list[dict]:
    return [json.loads(line) for line in (directory / "index.jsonl").read_text().splitlines()]


def names_in(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def record_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "record"]


def bits(values) -> list[bytes]:
    return [struct.pack("<d", value) for value in values]


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of four rows, so that few samples take every path."""
    monkeypatch.setattr(records, "BLOCK_BYTES", 4 * 24)
    monkeypatch.setattr(records, "CHUNK_ROWS", 5)


# --- what is in the file


@pytest.mark.parametrize("output_format", FORMATS)
@pytest.mark.parametrize("count", [0, 1, 1000])
def test_what_was_appended_is_in_the_file_bit_by_bit(tmp_path, output_format, count, monkeypatch):
    monkeypatch.setattr(records, "BLOCK_BYTES", 1000)  # several blocks
    monkeypatch.setattr(records, "CHUNK_ROWS", 300)  # and several chunks
    random = np.random.default_rng(1)
    rows = [
        (odd * k, bool(k % 3), k - 2**40, Fix.three_d, *random.normal(size=2))
        for k, odd in zip(range(count), ODD_FLOATS * 125, strict=False)
    ]
    with Record("s", Reading, parameters(tmp_path, output_format), {}) as record:
        for k, row in enumerate(rows):
            record.append(k, k / 3, row)
    read = (pq.read_table if output_format == RecordFormat.parquet else pyarrow.csv.read_csv)(
        record.file
    )
    assert read.column_names == NAMES
    assert read.num_rows == count
    columns = [read[name].to_pylist() for name in NAMES]
    assert columns[0] == list(range(count))
    assert bits(columns[1]) == bits(k / 3 for k in range(count))
    for place, column in enumerate(columns[2:]):
        wanted = [row[place] for row in rows]
        if NAMES[place + 2] in ("position", "rate.x", "rate.y"):
            assert bits(column) == bits(wanted)
        else:
            assert column == wanted


def test_parquet_columns_have_types_units_and_descriptions(tmp_path):
    with Record("s", Reading, parameters(tmp_path, RecordFormat.parquet), {}) as record:
        record.append(0, 0.0, (1.0, True, 2, Fix.none, 3.0, 4.0))
    schema = pq.read_schema(record.file)
    assert [str(field.type) for field in schema] == [
        *("int64", "double", "double", "bool", "int64", "int64", "double", "double")
    ]
    units = [field.metadata[b"unit"].decode() for field in schema]
    assert units == ["1", "s", "rad", "1", "1", "1", "rad/s", "rad/s"]
    assert schema.field("position").metadata[b"description"] == b"Position of the joint"
    of_the_file = pyarrow.parquet.read_metadata(record.file).metadata
    assert json.loads(of_the_file[b"units"]) == dict(zip(schema.names, units, strict=True))


def test_values_that_are_not_finite_survive(tmp_path):
    odd = [math.nan, math.inf, -math.inf, 1.0]
    for output_format in FORMATS:
        with Record("s", Level, parameters(tmp_path, output_format), {}) as record:
            for k, level in enumerate(odd):
                record.append(k, k, (level,))
    np.testing.assert_array_equal(pq.read_table(tmp_path / "s.parquet")["level"].to_numpy(), odd)
    in_csv = np.genfromtxt(tmp_path / "s.csv", delimiter=",", names=True)["level"]
    np.testing.assert_array_equal(in_csv, odd)


def test_numpy_numbers_are_taken_as_well(tmp_path):
    with level_record(tmp_path) as record:
        record.append(np.int64(0), np.float64(0.5), np.array([0.25]))
    assert levels_in(record.file) == [(0, 0.25)]


def test_csv_begins_with_one_row_of_plain_names(tmp_path):
    with Record("s", Reading, parameters(tmp_path), {}) as record:
        record.append(0, 0.1, (1.0, True, 2, Fix.three_d, 3.0, 4.0))
    text = record.file.read_bytes().decode()
    assert text == ",".join(NAMES) + "\n0,0.1,1.0,True,2,1,3.0,4.0\n"


def test_the_index_tells_parameters_first_and_then_the_file(tmp_path):
    with Record("s", Level, parameters(tmp_path), {"noise.rms": 0.5}) as record:
        for k in range(3, 10):
            record.append(k, 0.1 * k, (1.0,))
        assert [list(line) for line in index_of(tmp_path)] == [
            ["sensor", "format_version", "parameters"]
        ]
    header, line = index_of(tmp_path)
    assert header["parameters"] == {"noise.rms": 0.5}
    assert line == {
        "sensor": "s",
        "file": "s.csv",
        "format": "csv",
        "samples": 7,
        "sample": [3, 9],
        "time": [0.1 * 3, 0.1 * 9],
        "units": {"sample": "1", "time": "s", "level": "m"},
    }


def test_two_records_share_a_directory(tmp_path):
    with level_record(tmp_path, "a/b") as one, level_record(tmp_path, "a:b") as other:
        for k in range(5):
            one.append(k, k, (1.0,))
            other.append(k, k, (2.0,))
    assert one.file != other.file
    assert {level for _, level in levels_in(one.file)} == {1.0}
    assert {level for _, level in levels_in(other.file)} == {2.0}
    files = [line["file"] for line in index_of(tmp_path) if "file" in line]
    assert sorted(files) == sorted([one.file.name, other.file.name])
    assert names_in(tmp_path) == sorted([*files, "index.jsonl"])


def test_a_repeated_run_replaces_its_file(tmp_path):
    for level in (1.0, 2.0):
        with level_record(tmp_path) as record:
            record.append(0, 0.0, (level,))
    assert levels_in(record.file) == [(0, 2.0)]


def test_without_a_directory_a_fresh_one_is_taken(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with Record("wheel", Level, RecordParameters(record=True), {}) as record:
        pass
    assert record.file.is_absolute()
    assert record.file.parent.parent == tmp_path
    assert record.file.parent.name.startswith("wheel-")
    assert record.file.name == "wheel.parquet"


# --- columns and values


def test_columns_are_the_declared_scalars_in_order():
    assert [column.name for column in columns_of(Reading)] == NAMES


@dataclass(frozen=True)
class Clash:
    time: float = real(0.0, "s", "A second time")


@dataclass(frozen=True)
class Text:
    text: str = string("", "A text")


@pytest.mark.parametrize(("reading", "message"), [(Clash, "'time'"), (Text, "string has no")])
def test_a_reading_that_makes_no_table_is_refused(reading, message):
    with pytest.raises(TypeError, match=message):
        columns_of(reading)


def test_a_reading_is_flattened_in_the_order_of_the_columns():
    assert flattener(Level)(Level(2.0)) == (2.0,)
    reading = Reading(1.0, True, 3, Fix.three_d, (4.0, 5.0))
    assert flattener(Reading)(reading) == (1.0, True, 3, 1, 4.0, 5.0)


def test_scalars_alone_are_flattened_too():
    @dataclass(frozen=True)
    class Pair:
        one: float = real(0.0, "m", "One")
        two: float = real(0.0, "m", "Two")

    assert flattener(Pair)(Pair(1.0, 2.0)) == (1.0, 2.0)


def test_a_wrong_number_of_values_is_refused_and_leaves_the_record_alone(tmp_path):
    with level_record(tmp_path) as record:
        record.append(0, 0.0, (0.0,))
        with pytest.raises(struct.error):
            record.append(20, 2.0, (1.0, 2.0))
        record.append(1, 0.1, (1.0,))
        record.append(2, 0.2, (2.0,))
        record.append(2, 0.2, (3.0,))
    assert levels_in(record.file) == [(0, 0.0), (1, 1.0), (2, 3.0)]


def test_a_negative_index_is_refused(tmp_path):
    with level_record(tmp_path) as record, pytest.raises(ValueError, match="index -1"):
        record.append(-1, 0.0, (0.0,))


def test_an_unknown_format_is_refused():
    with pytest.raises(ParameterError, match="output_format"):
        RecordParameters(output_format=7)


# --- going back in time


def test_a_sample_measured_twice_is_recorded_once(tmp_path):
    with level_record(tmp_path) as record:
        record.append(0, 0.0, (1.0,))
        record.append(0, 0.0, (2.0,))
        record.append(1, 0.1, (3.0,))
    assert levels_in(record.file) == [(0, 2.0), (1, 3.0)]


def test_a_state_further_on_can_be_taken_up_again_after_one_further_back(tmp_path, small_blocks):
    with level_record(tmp_path) as record:
        for k in range(20):
            record.append(k, k, (float(k),))
        record.rewind(3)
        assert record.next_index == 3
        record.rewind(15)
        assert record.next_index == 15
        record.append(15, 15, (-1.0,))
        assert record.next_index == 16
    assert levels_in(record.file) == [(k, float(k)) for k in range(15)] + [(15, -1.0)]


def test_a_record_closed_after_going_back_ends_there(tmp_path, small_blocks):
    with level_record(tmp_path) as record:
        for k in range(20):
            record.append(k, k, (float(k),))
        record.rewind(7)
    assert levels_in(record.file) == [(k, float(k)) for k in range(7)]


def test_a_record_restored_at_a_later_sample_starts_there(tmp_path):
    with level_record(tmp_path) as record:
        assert record.next_index == 0
        record.rewind(100)
        assert record.next_index == 100
        record.append(100, 1.0, (1.0,))
        record.append(101, 1.1, (2.0,))
    assert levels_in(record.file) == [(100, 1.0), (101, 2.0)]


moves = st.lists(
    st.tuples(
        st.sampled_from(["append", "append", "append", "jump", "rewind"]), st.integers(0, 30)
    ),
    max_size=60,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(moves)
def test_any_way_through_time_records_what_a_dictionary_would(tmp_path, small_blocks, moves):
    """The twin keeps all samples by index and drops those that were overtaken."""
    twin: dict[int, float] = {}
    position = 0
    with level_record(tmp_path) as record:
        for step, (move, target) in enumerate(moves):
            if move == "rewind":
                position = target
                record.rewind(target)
                continue
            index = target if move == "jump" else position
            twin = {k: level for k, level in twin.items() if k < min(position, index)}
            twin[index] = float(step)
            record.append(index, 0.0, (float(step),))
            position = index + 1
            assert record.next_index == position
        twin = {k: level for k, level in twin.items() if k < position}
    assert levels_in(record.file) == sorted(twin.items())


# --- the worker


def test_a_closed_record_leaves_no_thread_and_takes_no_sample(tmp_path):
    record = level_record(tmp_path)
    assert len(record_threads()) == 1
    record.append(0, 0.0, (0.0,))
    record.close()
    assert record_threads() == []
    written = record.file.stat()
    record.close()
    assert record.file.stat().st_mtime_ns == written.st_mtime_ns
    assert len(index_of(tmp_path)) == 2
    with pytest.raises(ValueError, match="closed"):
        record.append(1, 0.1, (0.0,))


def test_records_leak_no_file_descriptor(tmp_path):
    descriptors = Path("/dev/fd")
    with level_record(tmp_path):
        before = len(list(descriptors.iterdir()))
    for _ in range(3):
        level_record(tmp_path).close()
    assert len(list(descriptors.iterdir())) == before - 1
