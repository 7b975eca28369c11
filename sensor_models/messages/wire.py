"""The wire format of Protocol Buffers: functions that write it, and a small reader.

A message is a sequence of fields, each with its number and one of four wire types. The writers
here give the bytes of one field; the bytes of a message are those of its fields in a row.

Messages of which there are tens of thousands have records of equal length (``Record``): numbers
always have 64 bits, and whole numbers are padded with bytes that add nothing, which every decoder
accepts. So all of them are made at once, by copying a template and filling in columns. Fields that
single records do not have are cut out afterwards.

Source: Protocol Buffers, "Encoding"; https://protobuf.dev/programming-guides/encoding.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Bytes = NDArray[np.uint8]

#: Wire types.
VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5


class WireError(ValueError):
    """Bytes that are not a message; the text says why."""


# ---- single fields -----------------------------------------------------------------------------


def varint(number: int, length: int = 0) -> bytes:
    """A whole number, not negative, padded to a length if one is given."""
    found = bytearray()
    while number > 0x7F or len(found) + 1 < length:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)


def tag(number: int, wire_type: int) -> bytes:
    """The tag at the beginning of a field."""
    return varint(number << 3 | wire_type)


def whole(number: int, value: int) -> bytes:
    """A field with a whole number; negative ones take ten bytes."""
    return tag(number, VARINT) + varint(value & 0xFFFF_FFFF_FFFF_FFFF)


def double(number: int, value: float) -> bytes:
    """A field with a number of 64 bits."""
    return tag(number, FIXED64) + struct.pack("<d", value)


def fixed32(number: int, value: int) -> bytes:
    """A field with a whole number of 32 bits."""
    return tag(number, FIXED32) + struct.pack("<I", value)


def block(number: int, *parts: bytes) -> bytes:
    """A field with bytes, or with a message that is made of these parts."""
    content = b"".join(parts)
    return opening(number, len(content)) + content


def opening(number: int, length: int) -> bytes:
    """The beginning of a field with so many bytes."""
    return tag(number, LENGTH) + varint(length)


def text(number: int, value: str) -> bytes:
    """A field with a text."""
    return block(number, value.encode())


# ---- many of one kind --------------------------------------------------------------------------


@dataclass(frozen=True)
class Part:
    """Some bytes of a record, with places to be filled in: name, offset, type."""

    content: bytes
    places: tuple[tuple[str, int, str], ...] = ()

    def within(self, number: int) -> "Part":
        """This part as a message of its own in a field."""
        start = opening(number, len(self.content))
        moved = tuple((name, at + len(start), kind) for name, at, kind in self.places)
        return Part(start + self.content, moved)

    def __add__(self, other: "Part") -> "Part":
        start = len(self.content)
        moved = tuple((name, at + start, kind) for name, at, kind in other.places)
        return Part(self.content + other.content, self.places + moved)


def double_part(number: int, name: str) -> Part:
    """A number of 64 bits."""
    start = tag(number, FIXED64)
    return Part(start + bytes(8), ((name, len(start), "<f8"),))


def whole_part(number: int, name: str, length: int) -> Part:
    """A whole number, padded to 3, 5 or 10 bytes; 5 hold 35 bits."""
    start = tag(number, VARINT)
    kinds = {3: ((name, 0, "<u2"), (f"{name} high", 2, "u1"))}
    kinds[5] = ((name, 0, "<u4"), (f"{name} high", 4, "u1"))
    kinds[10] = ((name, 0, "<u8"), (f"{name} high", 8, "<u2"))
    places = tuple((n, len(start) + at, kind) for n, at, kind in kinds[length])
    return Part(start + bytes(length), places)


class _Layout(NamedTuple):
    """A record of some parts: its bytes, its columns, and the place of each part."""

    template: Bytes
    columns: np.dtype[np.void]
    spans: Mapping[str, tuple[int, int]]


class Record:
    """A message that is repeated in a field, made of parts by their names."""

    def __init__(self, number: int, parts: Mapping[str, Part]) -> None:
        self._number, self._parts = number, parts
        self._layouts: dict[tuple[str, ...], _Layout] = {}

    def layout(self, names: Sequence[str]) -> _Layout:
        """The record of some parts."""
        key = tuple(names)
        if key not in self._layouts:
            whole_record, spans, length = Part(b""), {}, 0
            for name in key:
                part = self._parts[name]
                spans[name] = length, length + len(part.content)
                whole_record, length = whole_record + part, spans[name][1]
            start = opening(self._number, length)
            framed = whole_record.within(self._number)
            columns = np.dtype(
                {
                    "names": [name for name, _, _ in framed.places],
                    "formats": [kind for _, _, kind in framed.places],
                    "offsets": [at for _, at, _ in framed.places],
                    "itemsize": len(framed.content),
                }
            )
            moved = {n: (a + len(start), b + len(start)) for n, (a, b) in spans.items()}
            template = np.frombuffer(framed.content, np.uint8)
            self._layouts[key] = _Layout(template, columns, moved)
        return self._layouts[key]

    def encode(
        self,
        count: int,
        columns: Mapping[str, ArrayLike],
        lacking: Mapping[str, NDArray[np.bool_]] | None = None,
    ) -> Bytes:
        """The fields of ``count`` messages.

        ``columns`` has the values for the places, ``lacking`` says which messages lack a part that
        others have. A part is left out of all messages if none of its places has a column.
        """
        given = [
            n for n, p in self._parts.items() if all(_base(s) in columns for s, _, _ in p.places)
        ]
        cut = {name: mask for name, mask in (lacking or {}).items() if name in given}
        given = [name for name in given if name not in cut or not cut[name].all()]
        layout = self.layout(given)
        rows = np.empty((count, layout.template.size), np.uint8)
        rows[:] = layout.template
        table = rows.view(layout.columns).reshape(count)
        filled = {_base(n) for n in layout.columns.names or ()}
        for name in filled:
            _fill(table, name, columns[name])
        cut = {name: mask for name, mask in cut.items() if name in given and mask.any()}
        return _without(rows, layout, cut) if cut else rows.reshape(-1)


def _base(name: str) -> str:
    return name.removesuffix(" high")


def _fill(table: NDArray[np.void], name: str, values: ArrayLike) -> None:
    """Put a column into its place; whole numbers as padded varints."""
    if f"{name} high" not in (table.dtype.names or ()):
        table[name] = values
        return
    number = np.asarray(values).astype(np.uint64)
    low = table.dtype[name].itemsize
    spread = np.zeros_like(number)
    for place in range(low):
        spread |= (
            (number >> np.uint64(7 * place)) & np.uint64(0x7F) | np.uint64(0x80)
        ) << np.uint64(8 * place)
    table[name] = spread
    rest = number >> np.uint64(7 * low)
    high = rest & np.uint64(0x7F)
    if table.dtype[f"{name} high"].itemsize == 2:
        high |= np.uint64(0x80) | (rest >> np.uint64(7)) << np.uint64(8)
    table[f"{name} high"] = high


def _without(rows: Bytes, layout: _Layout, cut: Mapping[str, NDArray[np.bool_]]) -> Bytes:
    """Cut parts out of some records, and shorten these."""
    kept = np.ones(rows.shape, bool)
    for name, mask in cut.items():
        first, last = layout.spans[name]
        kept[mask, first:last] = False
        rows[mask, 1] -= np.uint8(last - first)
    return rows[kept]


# ---- reading -----------------------------------------------------------------------------------


def fields(message: memoryview | bytes) -> Iterator[tuple[int, Any]]:
    """Number and value of each field: whole numbers as numbers, all others as their bytes.

    Raises:
        WireError: if the bytes are not a message.
    """
    data, at = memoryview(message), 0
    while at < len(data):
        key, at = _varint_at(data, at)
        number, wire_type = key >> 3, key & 7
        if number == 0:  # as in bytes that are all zeros
            raise WireError(f"byte {at} of {len(data)} belongs to field 0, which no message has")
        if wire_type == VARINT:
            value, at = _varint_at(data, at)
            yield number, value
            continue
        if wire_type == LENGTH:
            length, at = _varint_at(data, at)
        elif wire_type in (FIXED64, FIXED32):
            length = 8 if wire_type == FIXED64 else 4
        else:
            raise WireError(f"field {number} has wire type {wire_type}, which no field has")
        if at + length > len(data):
            raise WireError(f"field {number} of {length} bytes at byte {at} of {len(data)} is cut")
        yield number, data[at : at + length]
        at += length


def _varint_at(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise WireError(f"the number at byte {at} of {len(data)} is cut")
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def as_double(value: Any) -> float:
    """A field of 64 bits as a number."""
    if not isinstance(value, memoryview) or len(value) != 8:
        raise WireError("a number of 64 bits has another length")
    number: float = struct.unpack("<d", value)[0]
    return number


def as_message(value: Any) -> memoryview:
    """A field as a message."""
    if not isinstance(value, memoryview):
        raise WireError("a message stands as a whole number")
    return value
