"""Where compiled kernels are kept: by the content of their sources.

An FMU is unpacked to a new directory at every load, so the place of a source file says nothing.
Here the key is a digest of the sources that a kernel may be made of: those of its family, which is
its folder, and of the families that this one needs (``NEEDS``). The same sources find their
compiled kernels again wherever they lie, also after the directory that they were loaded from has
gone, and an edit compiles only what it may concern.

Directory   environment variable ``SENSOR_FMUS_CACHE_DIR`` (``none``: nothing is kept), else
            ``sensor-fmus`` in the user's cache directory. In it, one entry for each family,
            digest, processor and version of Numba and NumPy; in that, one file for each kernel
            and kinds of its arguments.
Trust       Whoever can write these files runs code here. A directory that somebody else owns or
            can write is refused, and so is one that somebody else can replace, because he can write
            a directory above it or owns a link on the way. On Windows this is left to the access
            rights that the directory inherits from the user's profile.
Damage      Each file begins with a digest of the rest, which is compared before anything is made
            of it: machine code with one bit changed ends the process. It names its kernel, too.
Read only   A directory of the user or of the administrator that takes no files, as in a container,
            is read and not written.
Size        Old entries are removed, but for the last few and those used of late.

Processes may compile at once: each file is written aside and renamed. A damaged file counts as a
missing one, and a full disk as no cache. Where no directory can be had, kernels compile at each
start and are kept nowhere, and one warning says so.
"""

import contextlib
import functools
import hashlib
import json
import logging
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sensor_models._digest import digest_of_package
from sensor_models.kernels import machine_code
from sensor_models.kernels.machine_code import MachineCode
from sensor_models.kernels.trust import is_trusted, make_private

DIRECTORY_VARIABLE = "SENSOR_FMUS_CACHE_DIR"
NOWHERE = "none"

#: Only kernels of this package are cached here.
KERNELS = __name__.rpartition(".")[0]

#: The families whose functions those of a family call, directly or not. What is no family (a
#: module beside this one) may call anything.
NEEDS: dict[str, tuple[str, ...]] = {
    "math": (),
    "output": ("math",),
    "light": ("math", "tracing"),
    "tracing": ("math",),
    "inertial": ("math",),
    "wheel": ("math", "inertial"),
    "bodies": ("math",),
    "camera": ("math", "light", "tracing"),
    "gnss": ("math", "tracing", "inertial"),
    "lidar": ("math", "light", "tracing"),
    "waveform": ("math", "light", "tracing", "lidar"),
    "radar": ("math", "tracing", "inertial"),
    "caster": ("math", "tracing"),
}

ENTRY_PREFIX = "kernels-"
SUFFIX = ".kernel"

DIGEST_SIZE = hashlib.sha256().digest_size

#: Old entries that stay whatever their age: a few versions used in turn do not compile anew.
KEPT_ENTRIES = 64
#: Seconds after its last start in which an entry counts as in use: a long run may save to it.
IN_USE = 7 * 24 * 3600.0

_log = logging.getLogger(__name__)


def family_of(module: str) -> str:
    """The family that a module of kernels belongs to; "" if it stands beside the families."""
    family = module[len(KERNELS) + 1 :].partition(".")[0]
    return family if family in NEEDS else ""


def digests(init_file: str) -> dict[str, str]:
    """The digest of all that a kernel may be made of, for each family and for "", all together."""
    infrastructure = digest_of_package(init_file, "*.py")
    own = {family: digest_of_package(init_file, f"{family}/**/*") for family in NEEDS}
    wanted = {"": tuple(NEEDS), **{family: (family, *needs) for family, needs in NEEDS.items()}}
    return {
        family: hashlib.sha256(
            "".join((infrastructure, *(own[part] for part in parts))).encode()
        ).hexdigest()
        for family, parts in wanted.items()
    }


def entry_name(family: str, digest: str) -> str:
    """Name of the entry that holds the kernels of these sources, made by these tools."""
    import importlib.metadata

    # A home directory may serve machines that differ.
    made_by = (importlib.metadata.version("numba"), np.__version__, *_processor())
    key = hashlib.sha256(repr((digest, *made_by)).encode()).hexdigest()[:32]
    return f"{ENTRY_PREFIX}{family or 'all'}-{key}"


def _processor() -> tuple[str, str]:
    """Name and features of the processor that Numba compiles for: this one, or the one chosen."""
    from llvmlite import binding

    name, features = (os.environ.get(f"NUMBA_CPU_{what}") for what in ("NAME", "FEATURES"))
    if features is None:
        with contextlib.suppress(RuntimeError):  # not known of every platform
            features = str(binding.get_host_cpu_features().flatten())
    return name or binding.get_host_cpu_name(), features or ""


def cache_root(environment: Mapping[str, str], platform: str) -> Path:
    """The directory of all entries; ``FileNotFoundError`` if nothing says where it is."""
    chosen = environment.get(DIRECTORY_VARIABLE)
    if chosen == NOWHERE:
        raise FileNotFoundError(f"{DIRECTORY_VARIABLE} is {NOWHERE}")
    if chosen:
        return Path(chosen).absolute()  # the working directory may change later
    if platform == "win32":
        return _windows_local_data(environment) / "sensor-fmus" / "Cache"
    if platform == "darwin":
        return _home(environment) / "Library" / "Caches" / "sensor-fmus"
    named = Path(environment.get("XDG_CACHE_HOME", ""))
    # The XDG specification has relative paths ignored.
    user_cache = named if named.is_absolute() else _home(environment) / ".cache"
    return user_cache / "sensor-fmus"


def _windows_local_data(environment: Mapping[str, str]) -> Path:
    if environment.get("LOCALAPPDATA"):
        return Path(environment["LOCALAPPDATA"])
    if environment.get("USERPROFILE"):
        return Path(environment["USERPROFILE"]) / "AppData" / "Local"
    raise FileNotFoundError("neither LOCALAPPDATA nor USERPROFILE is set")


def _home(environment: Mapping[str, str]) -> Path:
    """The user's home, by the user database where the environment does not name it."""
    named = Path(environment.get("HOME", ""))
    if named.is_absolute():
        return named
    if sys.platform != "win32":
        import pwd

        with contextlib.suppress(KeyError):
            return Path(pwd.getpwuid(os.geteuid()).pw_dir)
    raise FileNotFoundError("the user has no home directory")


def prune(root: Path, current: Collection[Path], now: float) -> None:
    """Remove the entries that are neither current, nor among the last few, nor in use."""
    used = []
    for entry in root.glob(f"{ENTRY_PREFIX}*"):
        with contextlib.suppress(OSError):  # another process may be pruning, too
            used.append((entry.stat().st_mtime, entry))
    for last_use, entry in sorted(used, reverse=True)[KEPT_ENTRIES:]:
        if entry not in current and now - last_use > IN_USE:
            shutil.rmtree(entry, ignore_errors=True)


def write_checked(stream: Any, content: bytes) -> None:
    """Write content behind its digest."""
    stream.write(hashlib.sha256(content).digest())
    stream.write(content)


def read_checked(path: str) -> bytes:
    """The content of a file if it fits the digest before it, else ``ValueError``."""
    whole = Path(path).read_bytes()
    digest, content = whole[:DIGEST_SIZE], whole[DIGEST_SIZE:]
    if hashlib.sha256(content).digest() != digest:
        raise ValueError(f"{path} is damaged: its digest does not fit its content")
    return content


@dataclass(frozen=True)
class Store:
    """Where compiled kernels are kept, if anywhere."""

    #: Directory and digest of each family.
    entries: Mapping[str, tuple[Path, str]]
    readable: bool
    writable: bool

    def _file(self, module: str, name: str, platform: str) -> Path:
        ending = f".{platform}{SUFFIX}" if platform else SUFFIX
        return self.entries[family_of(module)][0] / f"{name}{ending}"

    def has(self, module: str, name: str, platform: str) -> bool:
        """Whether the machine code of a kernel in a module is kept."""
        return self.readable and self._file(module, name, platform).is_file()

    def load(self, module: str, name: str, platform: str = "") -> MachineCode | None:
        """The machine code of a kernel in a module, if it is kept.

        For a platform it is an object for a library, else one for this process.
        """
        if not self.readable:
            return None
        file = self._file(module, name, platform)
        try:
            code = from_bytes(read_checked(str(file)))
            if code.name != name:
                raise ValueError(f"{file} holds {code.name}")
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError) as damage:
            _log.warning("The cached kernel %s cannot be read: %s", name, damage)
            return None
        return code

    def save(self, module: str, code: MachineCode, platform: str = "") -> None:
        """Keep the machine code of a kernel in a module."""
        if not self.writable:
            return
        file = self._file(module, code.name, platform)
        try:
            # The entry may have been removed since it was chosen.
            make_private(file.parent)
            with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as stream:
                try:
                    write_checked(stream, to_bytes(code))
                    stream.close()
                    Path(stream.name).replace(file)
                except BaseException:
                    Path(stream.name).unlink(missing_ok=True)
                    raise
        except OSError as failure:
            _log.warning("The compiled kernel %s is not kept: %s", code.name, failure)


def to_bytes(code: MachineCode) -> bytes:
    """Machine code as it is kept: a line of JSON, with what is known of it, and the object."""
    return json.dumps(machine_code.to_json(code)).encode() + b"\n" + code.object_file


def from_bytes(content: bytes) -> MachineCode:
    """Machine code that was kept; ``ValueError`` or another error if it is none."""
    line, _, object_file = content.partition(b"\n")
    return MachineCode(**machine_code.from_json(json.loads(line)), object_file=object_file)


def find_store(environment: Mapping[str, str], platform: str) -> Store:
    """Choose the directories and create them; those that cannot be written are read at least."""
    families = digests(__file__)
    try:
        root = cache_root(environment, platform)
        entries = {f: (root / entry_name(f, digest), digest) for f, digest in families.items()}
    except OSError as refusal:
        _warn(f"are compiled at each start: {refusal}")
        nowhere = Path(os.devnull)  # what is in no directory is not found
        return Store({f: (nowhere / f, digest) for f, digest in families.items()}, False, False)
    directories = [directory for directory, _ in entries.values()]
    try:
        make_private(root)
        for directory in directories:
            make_private(directory)
            os.utime(directory)
        prune(root, directories, time.time())
    except OSError as refusal:
        there = [directory for directory in directories if os.path.lexists(directory)]
        readable = all(is_trusted(directory) for directory in (root, *there))
        if not readable or len(there) < len(directories):
            _warn(f"are not kept for the next start: {refusal}")
        return Store(entries, readable, False)
    return Store(entries, True, True)


def _warn(problem: str) -> None:
    _log.warning(
        "Compiled kernels %s. Environment variable %s can name another directory.",
        problem,
        DIRECTORY_VARIABLE,
    )


@functools.cache
def store() -> Store:
    """Where the compiled kernels of this process are kept."""
    return find_store(os.environ, sys.platform)
