"""Files of OpenMATERIAL: JSON of others, read within bounds.

Whatever is wrong is one ``SceneError`` with file and place.
"""

import json
import math
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from sensor_models.scene.errors import SceneError

Floats = NDArray[np.float64]

#: Bytes of a file, and values in it; each value takes about a hundred bytes of memory.
MAX_BYTES, MAX_VALUES = 2**26, 2**22
#: Signs of a text that is taken over.
MAX_TEXT = 200


class Document:
    """The content of a file, or of a part of it."""

    def __init__(self, file: Path, content: Any, place: str = "") -> None:
        self.file, self.content, self.place = file, content, place

    def refuse(self, key: str, reason: str) -> NoReturn:
        """Refuse what a key has."""
        raise SceneError(self.file, f"{self.place}{key}", reason)

    def part(self, key: str) -> "Document | None":
        """The object under a key; None if there is none."""
        found = self.content.get(key)
        if found is None:
            return None
        if not isinstance(found, dict):
            self.refuse(key, f"is {_kind(found)}, allowed is an object")
        return Document(self.file, found, f"{self.place}{key}.")

    def text(self, key: str) -> str | None:
        """The text under a key."""
        found = self.content.get(key)
        if found is not None and not isinstance(found, str):
            self.refuse(key, f"is {_kind(found)}, allowed is a text")
        return found

    def texts(self, key: str) -> list[str]:
        """The list of texts under a key."""
        found = self.content.get(key) or []
        if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
            self.refuse(key, "is no list of texts")
        return found

    def number(self, key: str) -> float | None:
        """The number under a key."""
        found = self.content.get(key)
        if found is None:
            return None
        value = _number(found)
        if value is None or math.isnan(value):
            self.refuse(key, f"is {_kind(found)}, allowed is a number")
        return value

    def objects(self, key: str) -> "list[Document]":
        """The list of objects under a key."""
        found = self.content.get(key) or []
        if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
            self.refuse(key, "is no list of objects")
        return [
            Document(self.file, each, f"{self.place}{key}[{n}].") for n, each in enumerate(found)
        ]

    def pairs(self, key: str, width: int) -> list[tuple[str, ...]]:
        """The rows of texts under a key."""
        found = self.content.get(key) or []
        if not isinstance(found, list):
            self.refuse(key, f"is {_kind(found)}, allowed is a list")
        for number, row in enumerate(found):
            whole = isinstance(row, list) and len(row) == width
            if not whole or not all(isinstance(each, str) for each in row):
                self.refuse(f"{key}[{number}]", f"is no list of {width} texts")
        return [tuple(row) for row in found]

    def rows(self, key: str, width: int) -> Floats:
        """The rows of numbers under a key; null is nan."""
        found = self.content.get(key)
        if not isinstance(found, list) or not found:
            self.refuse(key, "is missing, or no list of rows")
        for number, row in enumerate(found):
            if not isinstance(row, list) or len(row) != width:
                self.refuse(f"{key}[{number}]", f"is no list of {width} numbers")
        flat = [math.nan if each is None else _number(each) for row in found for each in row]
        if None in flat:
            place = flat.index(None)
            wrong = _kind(found[place // width][place % width])
            reason = f"is {wrong}, allowed is a finite number or null"
            self.refuse(f"{key}[{place // width}][{place % width}]", reason)
        return np.array(flat, float).reshape(-1, width)


def parsed(data: bytes, file: Path) -> Document:
    """The content of a file; it has metadata of a version that is read."""
    values = sum(data.count(sign) for sign in (b",", b"[", b"{"))
    if values > MAX_VALUES:
        raise SceneError(file, "", f"has {values} values, at most {MAX_VALUES} are read")
    try:
        content = json.loads(data, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:  # errors of JSON and UTF-8 are ValueErrors
        raise SceneError(file, "", f"is no JSON: {error}") from error
    if not isinstance(content, dict):
        raise SceneError(file, "", "is no object of JSON")
    document = Document(file, content)
    metadata = document.part("metadata")
    if metadata is None:
        raise SceneError(file, "metadata", "is missing")
    version = metadata.text("openMaterial3dVersion")
    if version is not None and version.split(".")[:2] not in (["1", "0"], ["1", "1"]):
        metadata.refuse("openMaterial3dVersion", f"is {version!r}, 1.0 and 1.1 are read")
    return document


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _number(value: Any) -> float | None:
    """A finite number as a float; None for all else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _kind(value: Any) -> str:
    """A value for a message, short."""
    if isinstance(value, (dict, list)):
        return "an object" if isinstance(value, dict) else "a list"
    if isinstance(value, int) and abs(value) >= 2**64:
        return "a far larger number"
    return repr(value)[:40]
