"""Parquet files of our own writer, as PyArrow reads them."""

import json
import math
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sensor_models.output import parquet
from sensor_models.output.files import published
from sensor_models.output.parquet import TEXT, Field, ParquetWriter, field_of, write_parquet

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


def bits(values: Any) -> bytes:
    return np.asarray(values).tobytes()


@pytest.mark.parametrize("kind", INTEGERS)
def test_whole_numbers_keep_type_and_value_up_to_their_limits(tmp_path: Path, kind: str) -> None:
    limits = np.iinfo(kind)
    values = np.array([limits.min, 0, 1, 100, limits.max], kind)
    write_parquet(tmp_path / "x.parquet", {"n": values})
    table = pq.read_table(tmp_path / "x.parquet")
    assert table.schema.field("n") == pa.field("n", pa.from_numpy_dtype(kind), nullable=False)
    assert table["n"].to_pylist() == values.tolist()


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_numbers_keep_all_their_bits(tmp_path: Path, kind: str) -> None:
    odd = [0.1, -0.0, 5e-324, math.inf, -math.inf, math.nan, math.pi, np.finfo(kind).max]
    values = np.array(odd * 1000, kind)
    write_parquet(tmp_path / "x.parquet", {"x": values})
    read = pq.read_table(tmp_path / "x.parquet")["x"].to_numpy()
    assert read.dtype == kind
    assert bits(read) == bits(values)


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 1000])
def test_truth_values_are_bits(tmp_path: Path, count: int) -> None:
    values = np.random.default_rng(1).random(count) < 0.5
    write_parquet(tmp_path / "x.parquet", {"b": values})
    assert pq.read_table(tmp_path / "x.parquet")["b"].to_pylist() == values.tolist()


CELLS = st.one_of(
    st.lists(st.one_of(st.none(), st.text(st.characters(exclude_categories=["Cs"])))),
    st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1))),
    st.lists(st.one_of(st.none(), st.booleans())),
    st.lists(st.one_of(st.none(), st.floats(allow_nan=False))),
)


@given(CELLS)
def test_empty_cells_are_null_and_all_others_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, values: list[Any]
) -> None:
    path = tmp_path_factory.mktemp("cells") / "x.parquet"
    write_parquet(path, {"x": values})
    assert pq.read_table(path)["x"].to_pylist() == values


def test_whole_numbers_among_others_become_numbers(tmp_path: Path) -> None:
    write_parquet(tmp_path / "x.parquet", {"x": [1, 2.5, None]})
    assert pq.read_table(tmp_path / "x.parquet")["x"].to_pylist() == [1.0, 2.5, None]


def test_values_that_no_column_holds_are_refused_with_its_name() -> None:
    with pytest.raises(TypeError, match=r"a\.b: no column holds .* int, str"):
        field_of("a.b", ["x", 1])
    with pytest.raises(TypeError, match="z: Parquet has no complex128, but bool"):
        field_of("z", np.zeros(3, np.complex128))


def test_columns_have_names_with_dots_and_of_all_letters(tmp_path: Path) -> None:
    names = ["a", "a.b", "a.b.c", "µ²", "with space", "", "x" * 300]
    path = tmp_path / "x.parquet"
    write_parquet(path, {name: np.arange(3) + k for k, name in enumerate(names)})
    table = pq.read_table(path)
    assert table.column_names == names
    assert table["a.b"].to_pylist() == [1, 2, 3]
    assert pq.read_table(path, columns=["a.b.c"]).to_pydict() == {"a.b.c": [2, 3, 4]}


def test_metadata_of_file_and_fields_are_read_back(tmp_path: Path) -> None:
    about = {"unit": "m/s²", "description": "one, 'two'\n" * 500, "": ""}
    fields = [
        Field("a.x", "float64", metadata=about),
        Field("b", "bool"),
        Field("t", TEXT, optional=True, metadata={"unit": "1"}),
        *(Field(f"c{k}", "int32", metadata={"k": str(k)}) for k in range(40)),
    ]
    path = tmp_path / "x.parquet"
    units = json.dumps({"a.x": "m/s²"})
    with ParquetWriter(path, fields, {"units": units}) as writer:
        writer.write([[1.0], [True], ["t"], *([k] for k in range(40))])
    schema = pq.read_schema(path)
    encoded = {key.encode(): value.encode() for key, value in about.items()}
    assert schema.field("a.x").metadata == encoded
    assert not schema.field("b").metadata
    assert [schema.field(f"c{k}").metadata for k in range(40)] == [
        {b"k": b"%d" % k} for k in range(40)
    ]
    assert [field.nullable for field in schema][:3] == [False, False, True]
    assert schema.metadata == {b"units": units.encode()}
    assert pq.read_metadata(path).created_by == parquet.CREATED_BY


def test_an_empty_table_has_its_columns(tmp_path: Path) -> None:
    with ParquetWriter(tmp_path / "x.parquet", [Field("a", "int64"), Field("b", TEXT)]):
        pass
    table = pq.read_table(tmp_path / "x.parquet")
    assert (table.column_names, table.num_rows) == (["a", "b"], 0)
    write_parquet(tmp_path / "y.parquet", {})
    assert pq.read_table(tmp_path / "y.parquet").shape == (0, 0)


def test_large_tables_are_written_in_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "GROUP_ROWS", 30_000)
    random = np.random.default_rng(2)
    columns = {
        "noise": random.normal(size=200_000),
        "index": np.arange(200_000),
        "fix": np.full(200_000, 3, np.int8),
        "text": [f"row {k}" if k % 7 else None for k in range(200_000)],
    }
    path = tmp_path / "x.parquet"
    write_parquet(path, columns)
    about = pq.read_metadata(path)
    rows = [about.row_group(k).num_rows for k in range(about.num_row_groups)]
    assert rows == [30_000] * 6 + [20_000]
    table = pq.read_table(path)
    assert bits(table["noise"].to_numpy()) == bits(columns["noise"])
    assert table["index"].to_pylist() == list(range(200_000))
    assert table["text"].to_pylist() == columns["text"]
    group = about.row_group(0)
    packed = [group.column(k).compression for k in range(4)]
    assert packed == ["UNCOMPRESSED", "GZIP", "GZIP", "GZIP"]
    for k in range(4):
        column = group.column(k)
        assert column.num_values == 30_000
        assert column.total_compressed_size <= column.total_uncompressed_size
    assert path.stat().st_size < 200_000 * (8 + 8 + 1)


def test_columns_of_different_lengths_are_refused(tmp_path: Path) -> None:
    with ParquetWriter(tmp_path / "x", [Field("a", "int64"), Field("b", "int64")]) as writer:
        with pytest.raises(ValueError, match="columns"):
            writer.write([[1], [1, 2]])
        with pytest.raises(ValueError, match="1 columns"):
            writer.write([[1]])


def test_equal_tables_are_equal_files(tmp_path: Path) -> None:
    for name in ("x", "y"):
        write_parquet(tmp_path / name, {"a": np.arange(1000)}, {"units": "{}"})
    assert (tmp_path / "x").read_bytes() == (tmp_path / "y").read_bytes()


def test_a_writer_that_fails_leaves_no_file_that_looks_whole(tmp_path: Path) -> None:
    def fail(path: Path) -> None:
        with ParquetWriter(path, [Field("a", "int64")]) as writer:
            writer.write([np.arange(10)])
            raise RuntimeError

    path = tmp_path / "x.parquet"
    with pytest.raises(RuntimeError), published(path) as aside:
        fail(aside)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(RuntimeError):
        fail(path)
    with pytest.raises(pa.ArrowInvalid):
        pq.read_table(path)


KILLED = """
import os, sys
from pathlib import Path
import numpy as np
from sensor_models.output.files import published
from sensor_models.output.parquet import Field, ParquetWriter
with published(Path(sys.argv[1], "x.parquet")) as aside:
    with ParquetWriter(aside, [Field("a", "int64")]) as writer:
        writer.write([np.arange(100_000)])
        os.kill(os.getpid(), 9)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="kills a process as Unix does")
def test_a_killed_writer_leaves_no_file_of_that_name(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    assert done.returncode == -9
    assert not (tmp_path / "x.parquet").exists()


BARE = """
import sys
sys.modules["pyarrow"] = None
from sensor_models.core.quantities import real
from sensor_models.output.records import Record, RecordParameters
from dataclasses import dataclass

@dataclass(frozen=True)
class Level:
    level: float = real(0.0, "m", "Level")

with Record("s", Level, RecordParameters(True, sys.argv[1]), {}) as record:
    for k in range(1000):
        record.append(k, k / 8, (float(k),))
"""


def test_records_need_no_other_package(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", BARE, str(tmp_path)], check=True)
    table = pq.read_table(tmp_path / "s.parquet")
    assert table["level"].to_pylist() == [float(k) for k in range(1000)]
    assert table.schema.field("level").metadata == {b"unit": b"m", b"description": b"Level"}


def test_a_file_begins_and_ends_as_the_format_says(tmp_path: Path) -> None:
    write_parquet(tmp_path / "x", {"a": np.array([0x1122334455667788])})
    content = (tmp_path / "x").read_bytes()
    assert content[:4] == content[-4:] == b"PAR1"
    (length,) = struct.unpack("<I", content[-8:-4])
    assert content[-8 - length : -8].startswith(b"\x15\x04")  # field 1, i32: version 2, zigzag
    assert struct.pack("<q", 0x1122334455667788) in content[4:-length]
