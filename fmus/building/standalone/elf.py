"""Reading libraries of Linux (ELF, 64 bit), as far as standalone FMUs need it."""

import struct
from collections.abc import Iterator

#: Kinds of sections: one that has no content, and the table of symbols that the loader reads.
SHT_NOBITS, SHT_DYNSYM = 8, 11
#: The mark of a section that is loaded.
SHF_ALLOC = 2

#: Of a section: kind, marks, address, place in the file, length, and the number of another one.
Section = tuple[int, int, int, int, int, int]


def is_elf(library: bytes) -> bool:
    """Whether this is such a file."""
    return library[:5] == b"\x7fELF\x02"


def sections(library: bytes) -> Iterator[Section]:
    """The table of sections."""
    (place,) = struct.unpack_from("<Q", library, 40)
    size, count = struct.unpack_from("<HH", library, 58)
    for k in range(count):
        yield struct.unpack_from("<IQQQQI", library, place + k * size + 4)


def symbols(library: bytes) -> dict[str, bool]:
    """The names that the loader links, and whether this file defines them."""
    found = {}
    tables = list(sections(library))
    for kind, _, _, place, length, strings in tables:
        for k in range(place, place + length, 24) if kind == SHT_DYNSYM else ():
            name, _, _, section = struct.unpack_from("<IBBH", library, k)
            start = tables[strings][3] + name
            text = library[start : library.index(b"\0", start)].decode()
            found[text] = section != 0
    return found


def without_symbols(library: bytes) -> bytes:
    """A file reduced to what the loader reads, without its table of sections.

    ``strip`` removes less. It also moves parts of libraries, and those that were edited by tools
    that repair wheels no longer work after that.
    """
    if not is_elf(library):
        return library
    changed = bytearray(library)
    for kind, marks, _, offset, length, _ in sections(library):
        if kind != SHT_NOBITS and not marks & SHF_ALLOC:
            changed[offset : offset + length] = bytes(length)
    (segments,) = struct.unpack_from("<Q", library, 32)
    size, count = struct.unpack_from("<HH", library, 54)
    end = segments + size * count
    for k in range(count):
        offset, _, _, length = struct.unpack_from("<QQQQ", library, segments + k * size + 8)
        end = max(end, offset + length)
    struct.pack_into("<Q", changed, 40, 0)
    struct.pack_into("<HH", changed, 60, 0, 0)
    return bytes(changed[:end])
