"""TOML files from elsewhere, read within bounds.

A preset, a scene or the description of a system is often a file that somebody else made. Of a few
kilobytes Python's reader of TOML can make gigabytes, a pipe never ends, and a number of ten
thousand digits cannot be written into a message. What no useful file needs is refused with the file
and the place in it, before it costs anything.
"""

import os
import re
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MAX_BYTES = 2**23
#: The most dots in one key, more than the deepest keys have. The memory of TOML's readers grows
#: with the square of this number: 6 GB for 80 kB.
MAX_DOTS = 8
#: Keys with several dots; each makes tables of some kilobytes out of a few bytes.
MAX_DOTTED_KEYS = 2**16
#: The most lists and tables in one another; the reader calls itself for each.
MAX_DEPTH = 32
#: The most digits of a number; TOML's whole numbers have 19.
MAX_DIGITS = 400

#: A part of TOML without a key, or the end of a key, a dot, a bracket, or a word. A string
#: that is not closed counts up to where it could end, so that the search goes only once over any
#: text.
_PART = re.compile(
    r'"""(?:[^\\]|\\.)*?(?:"""|\Z)'
    r"|'''.*?(?:'''|\Z)"
    r'|"(?:[^"\\\n]|\\.)*"?'
    r"|'[^'\n]*'?"
    r"|#[^\n]*"
    r"|[=,\[\]{}\n]"
    r"|\w+"
    r"|\.",
    re.DOTALL,
)


class TomlError(ValueError):
    """A file that cannot be used, as one message with file, place and reason."""

    def __init__(self, file: Path, place: str, reason: str) -> None:
        self.file, self.place, self.reason = file, place, reason
        super().__init__(": ".join(part for part in (str(file), place, reason) if part))


def read_toml(path: Path) -> dict[str, Any]:
    """The content of a TOML file.

    Raises:
        TomlError: for a file that is missing, too large, no regular file or no TOML, or has more
            in it than is read.
    """
    return parse_toml(read_regular(path), path)


def read_regular(path: Path, most: int = MAX_BYTES) -> bytes:
    """The content of a regular file; nothing else is waited for, such as a pipe or a device."""
    # a pipe is opened at once with this flag, which regular files do not know
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        with open(path, "rb", opener=lambda name, _: os.open(name, flags)) as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise TomlError(path, "", "is no regular file")
            data = stream.read(most + 1)
    except OSError as error:
        reason = "is no regular file" if path.is_dir() else error.strerror or error
        raise TomlError(path, "", f"cannot be read: {reason}") from error
    except ValueError as error:
        if isinstance(error, TomlError):
            raise
        raise TomlError(path, "", f"is no file name: {error}") from error
    if len(data) > most:
        raise TomlError(path, "", f"is larger than {most} bytes, which are read at most")
    return data


def parse_toml(data: bytes, path: Path) -> dict[str, Any]:
    """The content of a TOML file that was read, whose path messages name."""
    if sys.version_info >= (3, 11):  # imported here, because most FMUs start without such a file
        import tomllib
    else:
        import tomli as tomllib
    try:
        text = data.decode("utf-8")
        check_parts(text, path)
        content = tomllib.loads(text)
    except TomlError:
        raise
    except (ValueError, RecursionError) as error:  # errors of TOML and UTF-8 are ValueErrors
        raise TomlError(path, "", f"is no TOML: {error}") from error
    for key, number in _numbers(content):
        if not -(2**63) <= number < 2**63:
            size = f"a whole number of {number.bit_length()} bits"
            raise TomlError(path, key, f"is {size}, allowed are 64 with the sign")
    return content


def check_parts(text: str, path: Path) -> None:
    """Refuse a text with more in it than the reader of TOML has memory for."""
    dots, dotted_keys, depth = 0, 0, 0
    for part in _PART.finditer(text):
        sign = part.group()
        if sign == ".":
            dots += 1
            dotted_keys += dots == 2
            if dots > MAX_DOTS:
                raise _too_much(text, part, path, f"has a key of more than {MAX_DOTS} dots")
            if dotted_keys > MAX_DOTTED_KEYS:
                few = f"a key of more than one dot after {MAX_DOTTED_KEYS} such keys"
                raise _too_much(text, part, path, f"has {few}")
        elif sign in "=,[]{}\n":
            dots = 0
            depth = max(0, depth + (sign in "[{") - (sign in "]}"))
            if depth > MAX_DEPTH:
                lists = f"more than {MAX_DEPTH} lists or tables in one another"
                raise _too_much(text, part, path, f"has {lists}")
        elif len(sign) >= MAX_DIGITS and sign[0].isdigit():
            raise _too_much(text, part, path, f"has a number of {MAX_DIGITS} digits or more")


def _too_much(text: str, part: re.Match[str], path: Path, reason: str) -> TomlError:
    """The error for a part of a text, with its line and the key there, if there is one."""
    line = text.count("\n", 0, part.start()) + 1
    begin = text.rfind("\n", 0, part.start()) + 1
    key, equals, _ = text[begin : part.start()].partition("=")
    named = equals and 0 < len(key.strip()) <= 80
    return TomlError(path, f"line {line}{f', {key.strip()}' if named else ''}", reason)


def _numbers(content: Any, key: str = "") -> Iterator[tuple[str, int]]:
    """All whole numbers, with their keys."""
    if isinstance(content, dict):
        for name, value in content.items():
            yield from _numbers(value, f"{key}.{name}" if key else name)
    elif isinstance(content, list):
        for n, value in enumerate(content):
            yield from _numbers(value, f"{key}[{n}]")
    elif isinstance(content, int):
        yield key, content
