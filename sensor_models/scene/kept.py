"""Scenes that were read before, kept in the user's cache directory.

Reading a scene means checking its manifest, computing its terrain and reading its mesh files. The
libraries for this take 0.3 s only to import, more than everything else that a sensor does until its
first frame. So two things are kept:

scene   a whole scene, by its manifest; used while all files that it was read from are the same
mesh    the pieces of a mesh file, by its content, for scenes whose manifest has changed

Entry    SHA-256 of the rest | length of the description, 8 bytes | description in JSON | arrays.
         A damaged entry is ignored. It contains no code, unlike a pickle.
Key      made from what is read, and from the code that reads it: the sources of ``scene`` and
         ``core`` and the version of trimesh. A changed reader does not find older entries.
Trust    as for compiled kernels (``kernels.cache``): the directory must belong to the user and
         be writable by nobody else. Without such a directory everything is read each time.
Carried  A standalone FMU has the entries of its scenes beside its packages; it keeps no others.
Size     at most ``MAX_ENTRIES`` entries and ``MAX_TOTAL`` bytes; the entries that have been unused
         for longest are removed first.
"""

import contextlib
import dataclasses
import hashlib
import json
import logging
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sensor_models.core
import sensor_models.scene
from sensor_models._digest import digest_of_package, recorded_digest
from sensor_models.kernels.cache import cache_root
from sensor_models.kernels.trust import make_private

FOLDER = "scenes"
#: The folder beside the package in a standalone FMU, with the entries of its scenes.
CARRIED = "kept-scenes"
SUFFIX = ".kept"
#: What the digest of all code that reads scenes is recorded under.
READERS = "readers"

MAX_ENTRY = 2**29
MAX_TOTAL = 2**31
MAX_ENTRIES = 500

_DIGEST = hashlib.sha256().digest_size
_LENGTH = 8
_ALIGNMENT = 64

_log = logging.getLogger(__name__)


def directory() -> Path | None:
    """Where entries are; None if there is no directory that can be trusted."""
    try:
        root = cache_root(os.environ, sys.platform)
        make_private(root)
        make_private(root / FOLDER)
    except OSError as refusal:
        _log.debug("Scenes are not kept for the next start: %s", refusal)
        return None
    return root / FOLDER


@cache
def code_digest() -> str:
    """Digest of all code that decides how a file is read."""
    recorded = recorded_digest(str(sensor_models.scene.__file__), READERS)
    if recorded is not None:
        return recorded
    from importlib import metadata

    places = [Path(package.__path__[0]) for package in (sensor_models.core, sensor_models.scene)]
    sources = [digest_of_package(str(place / "__init__.py")) for place in places]
    reader = ""
    with contextlib.suppress(metadata.PackageNotFoundError):  # not needed for scenes without files
        reader = metadata.version("trimesh")
    return "".join((*sources, reader))


def key_of(*parts: bytes | str) -> str:
    """A key for what is read, given in parts."""
    digest = hashlib.sha256(code_digest().encode())
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(b"%d:" % len(data))
        digest.update(data)
    return digest.hexdigest()


def digest_of_data(data: bytes) -> str:
    """The digest that identifies the content of a file."""
    return hashlib.sha256(data).hexdigest()


def load(kind: str, key: str) -> tuple[Any, list[NDArray[Any]]] | None:
    """The description and the arrays of an entry; None if there is none, or a damaged one."""
    name = f"{kind}-{key}{SUFFIX}"
    for folder in sensor_models.__path__:
        carried = Path(folder).parent / CARRIED / name
        if carried.is_file() and (found := _read(carried)) is not None:
            return found
    place = directory()
    if place is None:
        return None
    found = _read(place / name)
    if found is not None:
        with contextlib.suppress(OSError):
            os.utime(place / name)
    return found


def _read(file: Path) -> tuple[Any, list[NDArray[Any]]] | None:
    try:
        # Arrays of a bytearray are writable, and kernels are compiled for writable arrays.
        data = bytearray(file.read_bytes())
        rest = memoryview(data)[_DIGEST:]
        if hashlib.sha256(rest).digest() != data[:_DIGEST]:
            raise ValueError("its digest is another")
        return _unpacked(rest)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as damage:
        _log.debug("%s is of no use: %s", file, damage)
        return None


def save(kind: str, key: str, description: Any, arrays: Sequence[NDArray[Any]]) -> None:
    """Keep an entry, unless it is too large or there is no room."""
    if sum(array.nbytes for array in arrays) > MAX_ENTRY:
        return
    place = directory()
    if place is None:
        return
    data = _packed(description, arrays)
    try:
        _write(place / f"{kind}-{key}{SUFFIX}", (hashlib.sha256(data).digest(), data))
        _prune(place)
    except OSError as failure:
        _log.debug("A %s is not kept for the next start: %s", kind, failure)


def _packed(description: Any, arrays: Sequence[NDArray[Any]]) -> bytes:
    starts, end = [], 0
    for array in arrays:
        starts.append(end)
        end += array.nbytes + -array.nbytes % _ALIGNMENT
    table = [
        (array.dtype.str, array.shape, start) for array, start in zip(arrays, starts, strict=True)
    ]
    head = json.dumps({"about": description, "arrays": table}).encode()
    head += b" " * (-(_DIGEST + _LENGTH + len(head)) % _ALIGNMENT)
    data = bytearray(_LENGTH + len(head) + end)
    data[:_LENGTH] = len(head).to_bytes(_LENGTH, "little")
    data[_LENGTH : _LENGTH + len(head)] = head
    for array, start in zip(arrays, starts, strict=True):
        first = _LENGTH + len(head) + start
        data[first : first + array.nbytes] = np.ascontiguousarray(array).tobytes()
    return bytes(data)


def _unpacked(rest: memoryview) -> tuple[Any, list[NDArray[Any]]]:
    end = _LENGTH + int.from_bytes(rest[:_LENGTH], "little")
    head = json.loads(bytes(rest[_LENGTH:end]))
    arrays = []
    for dtype, shape, start in head["arrays"]:
        count = int(np.prod(shape, dtype=np.int64))
        array = np.frombuffer(rest[end:], np.dtype(dtype), count, start)
        arrays.append(array.reshape(shape))
    return head["about"], arrays


def _write(file: Path, parts: Iterable[bytes]) -> None:
    """Write a temporary file and rename it: other processes find all of it or nothing."""
    handle, aside = tempfile.mkstemp(dir=file.parent, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as stream:
            for part in parts:
                stream.write(part)
        Path(aside).replace(file)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(aside).unlink()
        raise


def _prune(place: Path) -> None:
    """Remove the entries unused for longest, until the total is within its limits."""
    entries = []
    for file in place.iterdir():
        with contextlib.suppress(OSError):  # another process may be pruning, too
            status = file.stat()
            entries.append((status.st_mtime, status.st_size, file))
    total = 0
    for number, (_, size, file) in enumerate(sorted(entries, reverse=True)):
        total += size
        if total > MAX_TOTAL or number >= MAX_ENTRIES:
            with contextlib.suppress(OSError):
                file.unlink()


def description_of(value: Any, arrays: list[NDArray[Any]]) -> Any:
    """A value as JSON, with its arrays in a separate list."""
    if isinstance(value, np.ndarray):
        arrays.append(value)
        return {"array": len(arrays) - 1}
    if isinstance(value, Enum):
        return {"class": type(value).__name__, "value": value.value}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {
            field.name: description_of(getattr(value, field.name), arrays)
            for field in dataclasses.fields(value)
        }
        return {"class": type(value).__name__, "fields": fields}
    if isinstance(value, dict):
        return {"items": [(key, description_of(each, arrays)) for key, each in value.items()]}
    if isinstance(value, tuple):
        return [description_of(each, arrays) for each in value]
    return value


def from_description(
    given: Any, arrays: Sequence[NDArray[Any]], classes: Mapping[str, Callable[..., Any]]
) -> Any:
    """The value from its description; ``classes`` are those that it may contain."""
    if isinstance(given, list):
        return tuple(from_description(each, arrays, classes) for each in given)
    if not isinstance(given, dict):
        return given
    if "array" in given:
        return arrays[given["array"]]
    if "items" in given:
        return {key: from_description(each, arrays, classes) for key, each in given["items"]}
    kind = classes[given["class"]]
    if "value" in given:
        return kind(given["value"])
    return kind(
        **{name: from_description(each, arrays, classes) for name, each in given["fields"].items()}
    )
