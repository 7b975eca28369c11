"""Where compiled kernels are kept: a Numba cache keyed by the content of their sources.

Numba keys its own cache by the path of a source file. An FMU is unpacked to a new directory at
every load, so it would be compiled anew each time. Here the key is a digest of the sources that a
kernel may be made of: those of its family, which is its folder, and of the families that this one
needs (``NEEDS``). The same sources find their compiled kernels again wherever they lie, also after
the directory that they were loaded from has gone, and an edit compiles only what it may concern.
Importing ``sensor_models.kernels`` sets this up.

Directory   environment variable ``SENSOR_FMUS_CACHE_DIR``, else ``sensor-fmus`` in the user's
            cache directory. In it, one entry for each family, digest, processor and version of
            Numba and NumPy.
Trust       Cache files are pickles: whoever can write them runs code here. A directory that
            somebody else owns or can write is refused, and so is one that somebody else can
            replace, because he can write a directory above it or owns a link on the way. On
            Windows this is left to the access rights that the directory inherits from the user's
            profile.
Damage      Each file begins with a digest of the rest, which is compared before anything is made
            of it: unpickled machine code with one bit changed ends the process.
Read only   A directory of the user or of the administrator that takes no files, as in a container,
            is read and not written.
Size        Old entries are removed, but for the last few and those used of late.

Processes may compile at once. Numba writes each file aside and renames it, but one kernel has an
index and a file for each signature, and two processes that save different signatures at the same
moment can leave an index that names the other's file. What was loaded is therefore compared with
what was asked for. A damaged file counts as a missing one, and a full disk as no cache.

Where no directory can be had, kernels compile at each start and are kept nowhere, and one warning
says so. Where Numba's private interface has changed, Numba caches them in its own way.
"""

import contextlib
import hashlib
import io
import logging
import os
import pickle
import shutil
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any, ClassVar

import numba
import numpy as np
from llvmlite import binding

from sensor_models._digest import digest_of_package
from sensor_models.kernels.trust import is_trusted, make_private

DIRECTORY_VARIABLE = "SENSOR_FMUS_CACHE_DIR"

#: Only kernels of this package are cached here.
KERNELS = __name__.rpartition(".")[0]

#: The families whose functions those of a family call, directly or not. What is no family (a
#: module beside this one) may call anything.
NEEDS: dict[str, tuple[str, ...]] = {
    "math": (),
    "output": (),
    "light": ("math", "tracing"),
    "tracing": ("math",),
    "inertial": ("math",),
    "wheel": ("math",),
    "camera": ("math", "light", "tracing"),
    "gnss": ("math", "tracing"),
    "lidar": ("math", "light", "tracing"),
    "waveform": ("math", "light", "tracing", "lidar"),
    "radar": ("math",),
    "caster": ("math", "tracing"),
}

ENTRY_PREFIX = "kernels-"

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
    # Numba overwrites what another version of it has saved, and does not look at NumPy's. A
    # home directory may serve machines that differ.
    made_by = (numba.__version__, np.__version__, *_processor())
    key = hashlib.sha256(repr((digest, *made_by)).encode()).hexdigest()[:32]
    return f"{ENTRY_PREFIX}{family or 'all'}-{key}"


def _processor() -> tuple[str, str]:
    """Name and features of the processor that Numba compiles for: this one, or the one chosen."""
    name, features = numba.config.CPU_NAME, numba.config.CPU_FEATURES
    if features is None:
        with contextlib.suppress(RuntimeError):  # not known of every platform
            features = str(binding.get_host_cpu_features().flatten())
    return name or binding.get_host_cpu_name(), features or ""


def cache_root(environment: Mapping[str, str], platform: str) -> Path:
    """The directory of all entries; ``FileNotFoundError`` if nothing says where it is."""
    chosen = environment.get(DIRECTORY_VARIABLE)
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


class ContentLocator:
    """Tells Numba where a kernel is cached; has the methods of its ``_CacheLocator``."""

    #: Directory and digest of each family.
    entries: ClassVar[Mapping[str, tuple[Path, str]]]

    def __init__(self, function: Callable[..., Any], file: str) -> None:
        self._py_file = file  # Numba names it when a kernel cannot be cached
        self._module = function.__module__
        self._directory, self._digest = self.entries[family_of(function.__module__)]
        self._line = function.__code__.co_firstlineno

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> "ContentLocator | None":
        """A locator for a kernel of this package, None for anything else."""
        # By the module's name: a path may be gone, or be spelled in several ways.
        return cls(function, file) if function.__module__.startswith(f"{KERNELS}.") else None

    def ensure_cache_path(self) -> None:
        """Called before saving: the entry may have been removed since it was chosen."""
        make_private(self._directory)

    def get_cache_path(self) -> str:
        """The directory of the kernel's files."""
        return str(self._directory)

    def get_source_stamp(self) -> str:
        """What must be equal for a cached kernel to be used."""
        return self._digest

    def get_disambiguator(self) -> str:
        """Tells apart kernels of one name; hashed, as Windows limits the length of paths."""
        return f"{hashlib.sha256(self._module.encode()).hexdigest()[:8]}-{self._line}"


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


def checked_files(file_class: Any) -> Any:
    """Numba's class for the files of one kernel, with digests that are compared before use."""

    class CheckedFiles(file_class):  # type: ignore[misc]
        """Index and data of one kernel."""

        def _load_index(self) -> Any:
            try:
                stream = io.BytesIO(read_checked(self._index_path))
            except FileNotFoundError:
                return {}
            if pickle.load(stream) != self._version:
                return {}
            stamp, overloads = pickle.load(stream)
            return overloads if stamp == self._source_stamp else {}

        def _load_data(self, name: str) -> Any:
            return pickle.loads(read_checked(self._data_path(name)))

        @contextlib.contextmanager
        def _open_for_write(self, filepath: str) -> Iterator[io.BytesIO]:
            content = io.BytesIO()
            yield content
            with super()._open_for_write(filepath) as stream:
                write_checked(stream, content.getvalue())

    return CheckedFiles


def _runs(code: CodeType) -> bool:
    """Whether a function of this code is under way in this thread, below the caller."""
    frame = sys._getframe(2).f_back
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return frame is not None


def guard(caching: Any, store: "Store") -> None:
    """Keep what is wrong with the files of our directories from reaching the caller of a kernel."""
    from numba.core.compiler import CompilerBase
    from numba.core.sigutils import normalize_signature

    compiling = CompilerBase._compile_core.__code__

    cache_class, files = caching.FunctionCache, checked_files(caching.IndexDataCacheFile)
    begin, load, save = cache_class.__init__, cache_class.load_overload, cache_class.save_overload
    directories = {str(directory) for directory, _ in store.entries.values()}

    def begin_checked(self: Any, function: Any) -> None:
        begin(self, function)
        if self.cache_path in directories:
            locator = self._impl.locator
            self._cache_file = files(
                self.cache_path, self._impl.filename_base, locator.get_source_stamp()
            )

    def load_overload(self: Any, signature: Any, target_context: Any) -> Any:
        if self.cache_path not in directories:
            return load(self, signature, target_context)
        if not store.readable:
            return None
        if _runs(compiling):
            # Numba compiles a kernel that calls this one. What comes out of the cache was optimised
            # before, and is inlined otherwise than what is compiled together: the same sources gave
            # other instructions, whose results differed in the last bit by which kernels had been
            # cached before. So what a kernel is made of is compiled with it.
            return None
        try:
            found = load(self, signature, target_context)
        except Exception as damage:  # unpickling what does not fit may raise anything
            _log.warning("The cached kernel %r cannot be read: %r", self, damage)
            with contextlib.suppress(OSError):
                self.flush()
            return None
        asked = tuple(normalize_signature(signature)[0])
        return found if found is not None and tuple(found.signature.args) == asked else None

    def save_overload(self: Any, signature: Any, compiled: Any) -> None:
        if self.cache_path in directories and not store.writable:
            return
        try:
            save(self, signature, compiled)
        except OSError as failure:
            if self.cache_path not in directories:
                raise
            _log.warning("The compiled kernel %r is not kept: %s", self, failure)

    cache_class.__init__ = begin_checked
    cache_class.load_overload, cache_class.save_overload = load_overload, save_overload


def install(store: "Store") -> bool:
    """Make Numba ask ``ContentLocator`` first; False, and nothing done, if it would not."""
    ContentLocator.entries = store.entries
    directories = {str(directory) for directory, _ in store.entries.values()}
    locators: list[Any] = []
    try:
        from numba.core import caching

        locators = caching.CacheImpl._locator_classes
        locators.insert(0, ContentLocator)
        # Any function of this package shows whether the interface is still what it was.
        trial = caching.FunctionCache(make_private)
        if trial.cache_path in directories and isinstance(
            trial._cache_file, caching.IndexDataCacheFile
        ):
            guard(caching, store)
            return True
    except Exception as change:  # a changed private interface may raise anything
        _log.debug("Numba %s has another cache interface: %r", numba.__version__, change)
    if ContentLocator in locators:
        locators.remove(ContentLocator)
    return False


@dataclass(frozen=True)
class Store:
    """Where compiled kernels are kept, if anywhere."""

    #: Directory and digest of each family.
    entries: Mapping[str, tuple[Path, str]]
    readable: bool
    writable: bool


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


def set_up(environment: Mapping[str, str], platform: str) -> Mapping[str, tuple[Path, str]] | None:
    """Choose, create and install the cache; None if kernels are not kept, or not here."""
    store = find_store(environment, platform)
    return store.entries if install(store) and store.readable else None


#: The directories that hold the compiled kernels, with the digests of their sources, by family;
#: None if there is no such directory, or Numba's own cache is used.
ENTRIES = set_up(os.environ, sys.platform)
