"""NumPy's npz files, written while their arrays grow side by side.

An npz file is a zip archive that holds each array as an npy file. ``numpy.savez`` writes one array
after the other, so it wants all of them at once in memory. ``NpzFile`` is told the shape of an
array beforehand, leaves room for it in the file, and takes its rows when they are there. Rows of
one array come in their order; those of different arrays may take turns.

Nothing is compressed. Members carry no time, so the same arrays give the same file. Sizes from
4 GiB on are written in the way of ZIP64, which NumPy reads.

Source: PKWARE, ".ZIP File Format Specification" 6.3.10, 4.3.7 (header of a member), 4.3.12
(directory), 4.3.14 to 4.3.16 (its end), 4.5.3 (ZIP64).
"""

import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

#: What stands in the place of a number that does not fit and is in an extra field.
LARGE = 0xFFFFFFFF
#: Numbers from this one on do not fit.
LIMIT = LARGE
#: As of which version a reader must know the format: stored members, and ZIP64.
PLAIN, WIDE = 20, 45
#: Names are UTF-8.
FLAGS = 0x0800
#: The first day that the format can tell, which stands for no time.
NO_TIME, NO_DATE = 0, 0x21
#: A regular file that its owner may read and write.
RIGHTS = 0o100600 << 16


@dataclass
class _Member:
    """An array with its place in the file."""

    name: bytes
    start: int  # of its header
    head: int  # bytes of that
    size: int  # bytes of the npy file
    given: int = 0  # of them
    check: int = 0  # CRC-32 of them

    @property
    def place(self) -> int:
        """Where the next bytes go."""
        return self.start + self.head + self.given

    def header(self) -> bytes:
        """What stands before it."""
        large = self.size >= LIMIT
        extra = struct.pack("<2H2Q", 1, 16, self.size, self.size) if large else b""
        size = _fitting(self.size)
        kind = (WIDE if large else PLAIN, FLAGS, 0, NO_TIME, NO_DATE)
        about = (self.check, size, size, len(self.name), len(extra))
        return struct.pack("<4s5H3I2H", b"PK\3\4", *kind, *about) + self.name + extra

    def entry(self) -> bytes:
        """Its entry in the directory."""
        large = [number for number in (self.size, self.size, self.start) if number >= LIMIT]
        extra = struct.pack(f"<2H{len(large)}Q", 1, 8 * len(large), *large) if large else b""
        version = WIDE if large else PLAIN
        size, start = _fitting(self.size), _fitting(self.start)
        kind = (WIDE, version, FLAGS, 0, NO_TIME, NO_DATE)
        about = (self.check, size, size, len(self.name), len(extra), 0, 0, 0, RIGHTS, start)
        return struct.pack("<4s6H3I5H2I", b"PK\1\2", *kind, *about) + self.name + extra


class NpzFile:
    """An npz file that is being written to a stream, which can be sought."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._members: dict[str, _Member] = {}
        self._end = 0
        self.written = 0  # bytes of arrays

    def leave_room(self, name: str, kind: np.dtype[Any], shape: tuple[int, ...]) -> None:
        """Leave room for an array."""
        if name in self._members:
            raise ValueError(f"{name} is in the file already")
        head = BytesIO()
        about: Mapping[str, Any] = {
            "descr": np.lib.format.dtype_to_descr(kind),
            "fortran_order": False,
            "shape": shape,
        }
        np.lib.format.write_array_header_1_0(head, dict(about))
        size = head.tell() + kind.itemsize * int(np.prod(shape, dtype=np.int64))
        member = _Member(f"{name}.npy".encode(), self._end, 0, size)
        member.head = len(member.header())
        self._members[name] = member
        self._end = member.place + size
        self._add(member, memoryview(head.getvalue()))

    def add_rows(self, name: str, rows: NDArray[Any]) -> None:
        """Write the next rows of an array."""
        if rows.size:
            content = np.ascontiguousarray(rows).reshape(-1).view(np.uint8)
            self._add(self._members[name], content.data)

    def add(self, name: str, array: NDArray[Any]) -> None:
        """Write a whole array."""
        self.leave_room(name, array.dtype, array.shape)
        self.add_rows(name, array)

    def _add(self, member: _Member, content: memoryview) -> None:
        if member.given + len(content) > member.size:
            raise ValueError(f"{member.name.decode()} has no room for so many rows")
        self._stream.seek(member.place)
        self._stream.write(content)
        member.check = zlib.crc32(content, member.check)
        member.given += len(content)
        self.written += len(content)

    def finish(self) -> None:
        """Write what stands before the arrays, and the directory; all arrays must be full."""
        for member in self._members.values():
            if member.given != member.size:
                raise ValueError(f"{member.name.decode()} misses rows")
            self._stream.seek(member.start)
            self._stream.write(member.header())
        self._stream.seek(self._end)
        entries = b"".join(member.entry() for member in self._members.values())
        self._stream.write(entries + _end_of(len(self._members), len(entries), self._end))


def _fitting(number: int) -> int:
    """A number in a field of 32 bits."""
    return LARGE if number >= LIMIT else number


def _end_of(members: int, size: int, start: int) -> bytes:
    """The end of a directory of so many bytes that starts there."""
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, members, members, size, _fitting(start), 0)
    if start < LIMIT:
        return end
    about = (44, WIDE, WIDE, 0, 0, members, members, size, start)
    wide = struct.pack("<4sQ2H2I4Q", b"PK\6\6", *about)
    return wide + struct.pack("<4sIQI", b"PK\6\7", 0, start + size, 1) + end
