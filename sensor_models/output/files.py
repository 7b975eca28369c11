"""What all writers of files share: names, directories, publication and the index.

Names        An instance name may hold anything; ``safe_file_name`` makes a portable file name
             of it that no other instance name gets. Names that a user writes into a description
             (sensors of a data set, parts of a system) become files as they are, and are refused
             by ``check_names`` if they cannot.
Directories  ``output_directory`` makes the directory and tries at once whether it takes files.
Publication  ``published`` writes to a temporary name in the same directory, and renames the file
             when all is written: under its own name a file is complete or not there. The file
             is not forced onto the disk (fsync): it survives the end of the process, but not a
             power failure. Temporary files of a killed process are removed when a directory is
             next used for output.
Index        ``Index`` appends to ``index.jsonl``. Sensors may share a directory, and runs may
             repeat in it, so every line names its sensor. A sensor that starts adds a line with
             its effective parameters, then one line for each file. If a sensor has two lines for
             one file, the later one counts. A line is appended with one write, which POSIX
             systems do not mix with the writes of other processes.

All errors with files are raised as ``OutputError``, which names the place and the reason.
"""

import hashlib
import json
import math
import os
import re
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

from sensor_models.core.quantities import ParameterError, quantities_of

#: Version of the lines of ``index.jsonl`` and of the files that they name.
FORMAT_VERSION = 1

INDEX_NAME = "index.jsonl"

#: Leaves room for frame numbers and suffixes in the 255 bytes that file systems allow.
LONGEST_SAFE_NAME = 80

#: Devices of Windows: files there must not have such names, whatever their suffix.
RESERVED_STEMS = frozenset(
    ["con", "prn", "aux", "nul"] + [f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10)]
)

#: Temporary names: the file's name, where the process numbers are valid (``_here``), the process,
#: and a number that is new each time.
ASIDE = re.compile(r"\..+\.(?:([0-9a-f]{8})-(\d+)-)?[0-9a-f]{8}\.part")
#: Temporary files of other machines count as left behind if they were not changed for this long.
FORGOTTEN = 24 * 3600.0  # s

#: POSIX appends whole lines by itself; on Windows threads would mix their lines without this.
_index_lock = threading.Lock()
#: The temporary files that this process is writing.
_asides: set[str] = set()


def _forget_parent() -> None:
    """Reset a forked child: locks that threads of its parent held do not count there."""
    global _index_lock  # noqa: PLW0603 - a lock cannot be opened from outside
    _index_lock = threading.Lock()
    _asides.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_parent)


class OutputError(OSError):
    """A file or directory that cannot be written; the message names it and the reason."""


@contextmanager
def output_errors(doing: str) -> Iterator[None]:
    """Raise errors of the block as ``OutputError``, with a text that says what was being done."""
    try:
        yield
    except OutputError:
        raise
    except OSError as error:
        raise OutputError(f"{doing}: {error.strerror or error}") from error


def safe_file_name(name: str) -> str:
    """A portable, readable file name for an instance name, different for different names.

    Characters other than ASCII letters, digits, ``.``, ``_`` and ``-`` are replaced. A name that
    had to be changed gets a digest of the original, and so does a name that looks as if it had
    one already, so that equal results mean equal names. Names that differ only in case are
    different files only if the file system distinguishes case.
    """
    safe = re.sub(r"[^A-Za-z0-9._-]", "_", name)[:LONGEST_SAFE_NAME]
    safe = re.sub(r"^[.-]|\.$", "_", safe) or "unnamed"
    if safe.partition(".")[0].lower() in RESERVED_STEMS:
        safe = f"_{safe}"
    if safe == name and not re.search(r"-[0-9a-f]{8}$", name):
        return safe
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{safe}-{digest[:8]}"


def check_names(where: str, names: Iterable[str], also: str = "") -> None:
    """Refuse names that cannot be files of one directory on every system, with what is allowed.

    A name is a letter, then letters, digits, ``_`` and the characters of ``also``. So it is no path
    and no device of Windows. Two names that differ only in case would be one file on some systems.
    """
    known: dict[str, str] = {}
    for name in names:
        if not re.fullmatch(f"[A-Za-z][A-Za-z0-9_{re.escape(also)}]*", name):
            allowed = " ".join(["A-Z a-z 0-9 _", *also])
            raise ParameterError(f"{where}{name!r} is no name, allowed: a letter, then {allowed}")
        if len(name) > LONGEST_SAFE_NAME:
            raise ParameterError(
                f"{where}{name!r} has {len(name)} characters, allowed are at most"
                f" {LONGEST_SAFE_NAME}"
            )
        if name.lower() in RESERVED_STEMS:
            raise ParameterError(f"{where}{name!r} is a device of Windows, choose another name")
        other = known.setdefault(name.lower(), name)
        if other != name:
            raise ParameterError(f"{where}{name!r} differs from {other!r} only in case")


def output_directory(requested: str, instance_name: str) -> Path:
    """The directory to write to, as an absolute path; it exists and is writable.

    The requested directory is made if it is missing, with its parents. Without a request it is a
    fresh one in the system's temporary directory, which only the user can read.
    """
    if not requested:
        prefix = f"{safe_file_name(instance_name)}-"
        with output_errors("cannot make an output directory under the temporary directory"):
            directory = Path(tempfile.mkdtemp(prefix=prefix)).absolute()
            _try_writing(directory)
        return directory
    with output_errors(f"output directory {requested!r} cannot be used"):
        if "\0" in requested:
            raise OutputError(f"output directory {requested!r} cannot be used: it has a zero byte")
        directory = Path(requested).absolute()
        directory.mkdir(parents=True, exist_ok=True)
        _remove_left_behind(directory)
        _try_writing(directory)
    return directory


def _try_writing(directory: Path) -> None:
    with tempfile.TemporaryFile(dir=directory, buffering=0) as probe:
        probe.write(b"\0")


@cache
def _here() -> str:
    """Where process numbers are valid: this start of this machine or container."""
    import socket  # imported here, so that FMUs that write nothing do not wait for it

    parts = [socket.gethostname()]
    for source in (Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/pid")):
        with suppress(OSError):
            is_link = source.is_symlink()
            parts.append(str(source.readlink()) if is_link else source.read_text().strip())
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:8]


def _remove_left_behind(directory: Path) -> None:
    """Remove temporary files of processes that have ended from a directory."""
    for path in directory.glob(".*.part"):
        with suppress(OSError):  # another process removes it, or it belongs to another user
            if (parts := ASIDE.fullmatch(path.name)) and _is_left_behind(path, *parts.groups()):
                path.unlink()


def _is_left_behind(path: Path, where: str | None, process: str | None) -> bool:
    if where == _here() and process is not None and os.name == "posix":
        if int(process) == os.getpid():
            return str(path) not in _asides  # process numbers are reused
        return not is_running(int(process))
    return time.time() - path.stat().st_mtime > FORGOTTEN


def is_running(process: int) -> bool:
    """Whether this machine has a process of a number, ours or another user's."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it exists, and belongs to another user
        return True
    return True


@contextmanager
def published(target: Path) -> Iterator[Path]:
    """Give a temporary path to write to; at the end, the file written there becomes ``target``.

    If anything fails, ``target`` stays as it was and the temporary file is removed. The temporary
    name is hidden and new each time, so two writers of one target do not disturb each other.
    """
    owner = f"{_here()}-{os.getpid()}"
    aside = target.with_name(f".{target.name}.{owner}-{os.urandom(4).hex()}.part")
    _asides.add(str(aside))
    try:
        yield aside
        aside.replace(target)
    except BaseException:
        with suppress(OSError):
            aside.unlink(missing_ok=True)
        raise
    finally:
        _asides.discard(str(aside))


class Index:
    """The lines of one sensor in the ``index.jsonl`` of its output directory."""

    def __init__(self, directory: Path, sensor: str, parameters: Mapping[str, object]) -> None:
        self.path = directory / INDEX_NAME
        self.sensor = sensor
        self._append({"format_version": FORMAT_VERSION, "parameters": parameters})

    def add(self, file_name: str, known: Mapping[str, object]) -> None:
        """Add the line of one complete file, with these facts about it."""
        self._append({"file": file_name, **known})

    def add_all(self, files: Mapping[str, Mapping[str, object]]) -> None:
        """Add the lines of files that belong together, given by name: all of them, or none."""
        self._append(*({"file": name, **known} for name, known in files.items()))

    def note(self, content: Mapping[str, object]) -> None:
        """Add a line that does not describe a file."""
        self._append(content)

    def _append(self, *contents: Mapping[str, object]) -> None:
        lines = (_plain({"sensor": self.sensor, **content}) for content in contents)
        text = "\n".join(json.dumps(line, allow_nan=False) for line in lines)
        with (
            output_errors(f"cannot write {self.path}"),
            _index_lock,
            self.path.open("ab", buffering=0) as stream,
        ):
            _write_whole(stream, f"{text}\n".encode())


def _write_whole(stream: Any, line: bytes) -> None:
    """Append a whole line or nothing: a full disk may take a part before it refuses."""
    written = stream.write(line)
    if written == len(line):
        return
    end = stream.tell()
    if os.fstat(stream.fileno()).st_size == end:
        stream.truncate(end - written)
    raise OutputError(f"cannot write {stream.name}: the disk took only a part of the line")


def named_values(instance: Any) -> dict[str, Any]:
    """The values of a parameter or reading dataclass, by their dotted names at the FMU."""
    return {
        name: part
        for field, quantity in quantities_of(instance).items()
        for name, part in quantity.parts(getattr(instance, field))
    }


def _plain(value: Any) -> Any:
    """A value for JSON: items by name, arrays as lists, NaN and infinity as null."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "tolist"):  # NumPy's arrays and scalars
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
