r"""Parquet files of flat tables, written without other packages.

A file is a magic word, groups of rows, the description of them all, and where that begins:

    PAR1  group  group  ...  description  its length  PAR1

A group has a chunk of each column, which is one page: a header, then the values one after the other
(encoding PLAIN; Booleans as bits, texts with their lengths before them). A column that may have
empty cells has bits before its values that tell which are there. A chunk is compressed (gzip) if
its beginning becomes smaller by that: numbers with noise in them hardly do. Headers and description
are structs of Thrift's compact protocol.

Units and descriptions of columns are metadata of fields in Arrow's schema, which is a
``FlatBuffers`` message in the metadata of the file; readers without Arrow pass over it.

Sources: Apache Parquet format 2.10 (parquet.thrift, Encodings.md), Thrift compact protocol
(thrift-compact-protocol.md), Arrow columnar format 1.4 (Schema.fbs, Message.fbs), FlatBuffers
internals.

Not written: statistics, dictionaries, nested columns.
"""

import base64
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: The type of a column of texts; all others are NumPy's.
TEXT = "text"

MAGIC = b"PAR1"
CREATED_BY = "sensor-fmus"

#: Rows of a group if more are given at once.
GROUP_ROWS = 1 << 20

#: The first bytes of a page are compressed to see whether it pays, and must shrink to this share.
TRIAL_BYTES, WORTHWHILE = 1 << 14, 0.9

#: Codes of the format.
_BOOLEAN, _INT32, _INT64, _FLOAT, _DOUBLE, _BYTES = 0, 1, 2, 4, 5, 6
_REQUIRED, _OPTIONAL = 0, 1
_PLAIN, _RLE = 0, 3
_UNCOMPRESSED, _GZIP = 0, 2
_DATA_PAGE = 0

#: By NumPy's type: the physical type, what it is converted from, and the type it is stored in.
_TYPES: Mapping[str, tuple[int, int | None, str]] = {
    "bool": (_BOOLEAN, None, "?"),
    "int8": (_INT32, 15, "<i4"),
    "int16": (_INT32, 16, "<i4"),
    "int32": (_INT32, None, "<i4"),
    "int64": (_INT64, None, "<i8"),
    "uint8": (_INT32, 11, "<i4"),
    "uint16": (_INT32, 12, "<i4"),
    "uint32": (_INT32, 13, "<u4"),
    "uint64": (_INT64, 14, "<u8"),
    "float32": (_FLOAT, None, "<f4"),
    "float64": (_DOUBLE, None, "<f8"),
    TEXT: (_BYTES, 0, ""),
}


@dataclass(frozen=True)
class Field:
    """A column: its name, the name of NumPy's type or ``TEXT``, and what is known of it."""

    name: str
    type: str
    #: Whether cells may be empty: None.
    optional: bool = False
    metadata: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.type not in _TYPES:
            raise TypeError(f"{self.name}: Parquet has no {self.type}, but {', '.join(_TYPES)}")


class ParquetWriter:
    """A file that grows by groups of rows; it is whole only after ``close``."""

    def __init__(
        self, path: Path, fields: Sequence[Field], metadata: Mapping[str, str] | None = None
    ) -> None:
        self._fields = tuple(fields)
        known = dict(metadata or {})
        self._metadata = {**known, "ARROW:schema": _arrow_schema(self._fields, known)}
        self._groups: list[_Struct] = []
        self._rows = 0
        self._stream = path.open("wb")
        self._place = 0
        self._put(MAGIC)

    def __enter__(self) -> "ParquetWriter":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with self._stream:
            if error is None:
                self._describe()

    def write(self, columns: Sequence[Any]) -> None:
        """Append rows: for each field an array, or a list of texts or of values with None."""
        counts = {len(column) for column in columns}
        if len(columns) != len(self._fields) or len(counts) > 1:
            raise ValueError(f"{len(columns)} columns of {counts} rows for {len(self._fields)}")
        count = counts.pop() if counts else 0
        for first in range(0, count, GROUP_ROWS):
            self._write_group([column[first : first + GROUP_ROWS] for column in columns])

    def _write_group(self, columns: Sequence[Any]) -> None:
        count = len(columns[0])
        first = self._place
        chunks = [self._write_chunk(f, c) for f, c in zip(self._fields, columns, strict=True)]
        self._groups.append(_Struct({1: chunks, 2: _Long(self._place - first), 3: _Long(count)}))
        self._rows += count

    def _write_chunk(self, about: Field, values: Any) -> "_Struct":
        """Write a column of a group as one page, and describe it."""
        place, count = self._place, len(values)
        page = _page(about, values)
        packed, codec = _compressed(page)
        levels = {1: count, 2: _PLAIN, 3: _RLE, 4: _RLE}
        header = _Struct({1: _DATA_PAGE, 2: len(page), 3: len(packed), 5: _Struct(levels)}).bytes()
        self._put(header)
        self._put(packed)
        known = {
            1: _TYPES[about.type][0],
            2: [_PLAIN, _RLE],
            3: [about.name],
            4: codec,
            5: _Long(count),
            6: _Long(len(header) + len(page)),
            7: _Long(len(header) + len(packed)),
            9: _Long(place),
        }
        return _Struct({2: _Long(place), 3: _Struct(known)})

    def _describe(self) -> None:
        """Write the description of all, and the end."""
        root = _Struct({4: "schema", 5: len(self._fields)})
        pairs = [_Struct({1: key, 2: value}) for key, value in self._metadata.items()]
        whole = {
            1: 2,
            2: [root, *map(_schema_element, self._fields)],
            3: _Long(self._rows),
            4: self._groups,
            5: pairs,
            6: CREATED_BY,
        }
        description = _Struct(whole).bytes()
        self._put(description)
        self._put(struct.pack("<I", len(description)))
        self._put(MAGIC)

    def _put(self, data: bytes) -> None:
        self._stream.write(data)
        self._place += len(data)


def write_parquet(
    path: Path, columns: Mapping[str, Any], metadata: Mapping[str, str] | None = None
) -> None:
    """Write a table from its columns: arrays, or lists of texts or numbers with None among them."""
    fields = [field_of(name, values) for name, values in columns.items()]
    with ParquetWriter(path, fields, metadata) as writer:
        writer.write(list(columns.values()))


def field_of(name: str, values: Any) -> Field:
    """The field that fits all values of a column; that of a column of empty cells is of texts."""
    if isinstance(values, np.ndarray):
        return Field(name, values.dtype.name)
    known = {type(value) for value in values if value is not None}
    if known <= {str}:
        return Field(name, TEXT, optional=True)
    if known == {bool}:
        return Field(name, "bool", optional=True)
    if not known <= {int, float}:
        kinds = ", ".join(sorted(kind.__name__ for kind in known))
        raise TypeError(f"{name}: no column holds values of these types together: {kinds}")
    return Field(name, "int64" if known == {int} else "float64", optional=True)


# ---- pages ---------------------------------------------------------------------------------------


def _page(about: Field, values: Any) -> bytes:
    """The values of a column as they are stored, behind the bits that tell which are there."""
    if not about.optional:
        return _plain(about, values)
    there = [value is not None for value in values]
    bits = np.packbits(there, bitorder="little").tobytes()
    levels = _varint(len(bits) << 1 | 1) + bits
    present = [value for value in values if value is not None]
    return struct.pack("<I", len(levels)) + levels + _plain(about, present)


def _plain(about: Field, values: Any) -> bytes:
    if about.type == TEXT:
        texts = [value.encode("utf-8", "replace") for value in values]
        return b"".join(struct.pack("<I", len(text)) + text for text in texts)
    array: NDArray[Any] = np.asarray(values, about.type)
    if about.type == "bool":
        return np.packbits(array, bitorder="little").tobytes()
    return array.astype(_TYPES[about.type][2], copy=False).tobytes()


def _compressed(page: bytes) -> tuple[bytes, int]:
    """The page as it is written, and its codec."""
    trial = page[:TRIAL_BYTES]
    if len(zlib.compress(trial, 1)) > WORTHWHILE * len(trial):
        return page, _UNCOMPRESSED
    packing = zlib.compressobj(1, zlib.DEFLATED, 16 + zlib.MAX_WBITS)  # as gzip, without a time
    return packing.compress(page) + packing.flush(), _GZIP


def _schema_element(about: Field) -> "_Struct":
    physical, converted, _ = _TYPES[about.type]
    repetition = _OPTIONAL if about.optional else _REQUIRED
    fields: dict[int, Any] = {1: physical, 3: repetition, 4: about.name}
    return _Struct(fields if converted is None else {**fields, 6: converted})


# ---- Thrift --------------------------------------------------------------------------------------


class _Long(int):
    """A number of 64 bits; others have 32."""


class _Struct:
    """A struct of Thrift: values by the numbers of its fields, in rising order."""

    def __init__(self, fields: Mapping[int, Any]) -> None:
        self._fields = fields

    def bytes(self) -> bytes:
        """The struct in the compact protocol."""
        parts, last = [], 0
        for number, value in self._fields.items():
            parts.append(bytes([(number - last) << 4 | _thrift_type(value)]))
            parts.append(_thrift(value))
            last = number
        return b"".join(parts) + b"\0"


def _thrift_type(value: Any) -> int:
    if isinstance(value, int):
        return 6 if isinstance(value, _Long) else 5
    return 8 if isinstance(value, str) else 9 if isinstance(value, list) else 12


def _thrift(value: Any) -> bytes:
    if isinstance(value, int):
        return _varint((value << 1) ^ (value >> 63))
    if isinstance(value, str):
        text = value.encode("utf-8", "replace")
        return _varint(len(text)) + text
    if isinstance(value, _Struct):
        return value.bytes()
    kind = _thrift_type(value[0]) if value else 12
    count = len(value)
    head = bytes([count << 4 | kind]) if count < 15 else bytes([0xF0 | kind]) + _varint(count)
    return head + b"".join(map(_thrift, value))


def _varint(number: int) -> bytes:
    """A number that is not negative, seven bits a byte."""
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)


# ---- Arrow's schema ------------------------------------------------------------------------------

#: Codes of Arrow's types.
_ARROW_INT, _ARROW_FLOAT, _ARROW_TEXT, _ARROW_BOOL = 2, 3, 5, 6
_VERSION_5, _SCHEMA_MESSAGE = 4, 1


class _Table:
    """A table of FlatBuffers: values by their slots, each a number, text, table or list."""

    def __init__(self, *slots: Any) -> None:
        self.slots = slots


def _arrow_schema(fields: Iterable[Field], metadata: Mapping[str, str]) -> str:
    """The schema with its metadata and that of its fields, as Arrow keeps it in Parquet files."""
    schema = _Table(None, [_arrow_field(about) for about in fields], _pairs(metadata))
    message = _flat(_Table(_VERSION_5, _SCHEMA_MESSAGE, schema))
    return base64.b64encode(struct.pack("<Ii", 0xFFFFFFFF, len(message)) + message).decode()


def _arrow_field(about: Field) -> _Table:
    kind, table = _arrow_type(about.type)
    return _Table(about.name, int(about.optional), kind, table, None, [], _pairs(about.metadata))


def _pairs(metadata: Mapping[str, str]) -> list[_Table]:
    return [_Table(key, value) for key, value in metadata.items()]


def _arrow_type(name: str) -> tuple[int, _Table]:
    if name == TEXT:
        return _ARROW_TEXT, _Table()
    if name == "bool":
        return _ARROW_BOOL, _Table()
    size = np.dtype(name).itemsize
    if name.startswith("float"):
        return _ARROW_FLOAT, _Table(size // 4)
    return _ARROW_INT, _Table(8 * size, int(not name.startswith("u")))


def _flat(root: _Table) -> bytes:
    """A buffer that begins with the place of a table, of whole words of 8 bytes."""
    out = bytearray(4)
    _refer(out, 0, root)
    return bytes(out.ljust(-(-len(out) // 8) * 8, b"\0"))


def _refer(out: bytearray, place: int, value: Any) -> None:
    """Append a value, and note at a place how far from there it begins."""
    out.extend(bytes(-len(out) % 4))
    if isinstance(value, _Table):
        begin = _append_table(out, value)
    elif isinstance(value, str):
        begin, text = len(out), value.encode("utf-8", "replace")
        out.extend(struct.pack("<I", len(text)) + text + b"\0")
    else:
        begin = len(out)
        out.extend(struct.pack("<I", len(value)) + bytes(4 * len(value)))
        for k, item in enumerate(value):
            _refer(out, begin + 4 + 4 * k, item)
    struct.pack_into("<I", out, place, begin - place)


def _append_table(out: bytearray, table: _Table) -> int:
    """Append the places of a table's slots, the table and what it refers to; where it begins."""
    slots = table.slots
    places = list(_places(slots))
    layout = struct.pack(f"<{2 + len(slots)}H", 4 + 2 * len(slots), 4 + 4 * _count(slots), *places)
    out.extend(layout.ljust(-(-len(layout) // 4) * 4, b"\0"))
    begin = len(out)
    distance = -(-len(layout) // 4) * 4
    out.extend(struct.pack("<i", distance) + bytes(4 * _count(slots)))
    for offset, value in zip(places, slots, strict=True):
        if isinstance(value, int):
            struct.pack_into("<i", out, begin + offset, value)
    for offset, value in zip(places, slots, strict=True):
        if value is not None and not isinstance(value, int):
            _refer(out, begin + offset, value)
    return begin


def _count(slots: Iterable[Any]) -> int:
    return sum(value is not None for value in slots)


def _places(slots: Iterable[Any]) -> Iterator[int]:
    """Where each slot is in its table, in cells of 4 bytes; 0 for those that are not there."""
    place = 4
    for value in slots:
        yield 0 if value is None else place
        place += 0 if value is None else 4
