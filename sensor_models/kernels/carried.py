"""Libraries of kernels that were compiled when an FMU was built, and travel in it.

Beside the package lies a folder with one library for each level of processors (``_levels``), and
with what is known of its kernels, in JSON:

    compiled-kernels/linux64/x86-64-v3.so
    compiled-kernels/linux64/x86-64-v3.json    {"sources": digest, "functions": [name, ...],
                                                "kernels": [{"name": ..., "arguments": ...}, ...]}

The best level that the processor has is taken, one for the whole process: packets of rays are as
wide as it says. A library calls functions of the C library and of Embree through pointers, in the
order of ``functions``, that are filled in here: it depends on no other library. One that was built
from other sources than those beside it is refused, but only when all modules have been imported
(``Libraries.check``) or a kernel is wanted: of a module that is damaged, its own error says more.

FMUs of one process share the package, whose path has the places of all of them; so what the library
of the first one lacks is looked for in those of the others.
"""

import ctypes
import importlib.util
import json
import logging
import sys
import threading
from pathlib import Path

from sensor_models._levels import ARM_LINUX, levels_of, this_platform
from sensor_models.kernels import machine_code
from sensor_models.kernels.machine_code import Call, Entry
from sensor_models.kernels.values import Kind, may_stand_for

FOLDER = "compiled-kernels"
SUFFIXES = {"linux64": ".so", "win64": ".dll", ARM_LINUX: ".so"}

_PACKAGE = __name__.partition(".kernels")[0]

_log = logging.getLogger(__name__)
_lock = threading.RLock()


class StaleError(ImportError):
    """A library that was built from other sources."""


class NotCarriedError(RuntimeError):
    """A kernel for arguments of kinds that no FMU of this process carries it for."""


class Library:
    """One library of kernels."""

    def __init__(self, file: Path) -> None:
        known = json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))
        sources = sys.modules[_PACKAGE].SOURCE_DIGEST
        #: Why it must not be used, or nothing.
        self._refusal = ""
        if known["sources"] != sources:
            self._refusal = (
                f"{file} was built from other sources ({known['sources']}) than those beside it"
                f" ({sources}): build the FMU anew"
            )
        entries = [Entry(**machine_code.from_json(kernel)) for kernel in known["kernels"]]
        self._entries = {entry.name: entry for entry in entries}
        self._library = ctypes.CDLL(str(file))
        self._library.sensor_fmus_functions.restype = ctypes.c_void_p
        place = self._library.sensor_fmus_functions()
        self._functions = known["functions"]
        self._addresses = (ctypes.c_void_p * len(self._functions)).from_address(place)
        for k, name in enumerate(self._functions):
            self._addresses[k] = machine_code.address_of(name)

    def check(self) -> None:
        """Refuse a library that was built from other sources."""
        if self._refusal:
            raise StaleError(self._refusal)

    def find(self, name: str, kinds: tuple[Kind, ...]) -> Entry | None:
        """A kernel for arguments of some kinds, by the name of the machine code for just these.

        If that is not in here, code for others that they may stand for will do.
        """
        self.check()
        if name in self._entries:
            return self._entries[name]
        kernel = name.rpartition("_")[0]
        for other, entry in self._entries.items():
            is_same = other.rpartition("_")[0] == kernel and len(kinds) == len(entry.arguments)
            if is_same and all(map(may_stand_for, kinds, entry.arguments)):
                return entry
        return None

    def kinds_for(self, name: str) -> list[tuple[Kind, ...]]:
        """The kinds of arguments that a kernel is here for, by a name that ``find`` takes."""
        kernel = name.rpartition("_")[0]
        known = self._entries.items()
        return [entry.arguments for other, entry in known if other.rpartition("_")[0] == kernel]

    def call(self, entry: Entry) -> Call:
        """A kernel of this library, made callable."""
        for needed in entry.needs:  # Embree is known from when it is imported
            address = machine_code.address_of(needed)
            if address is None:
                raise ImportError(f"{entry.name} needs {needed}, which nobody has made known")
            self._addresses[self._functions.index(needed)] = address
        return Call(entry, self._address(entry.name), self._address(entry.c_name))

    def _address(self, name: str) -> int:
        if not name:
            return 0
        return ctypes.cast(getattr(self._library, name), ctypes.c_void_p).value or 0


class Libraries:
    """The libraries of all FMUs in this process."""

    def __init__(self) -> None:
        self._open: list[Library] = []
        self._looked_at: set[Path] = set()
        #: None as long as nobody has asked; "" if kernels come from elsewhere.
        self._level: str | None = None

    def level(self) -> str:
        """The level of the carried kernels, "" if there are none; what it is now it stays."""
        with _lock:
            if self._level is None:
                self._look()
            if self._level is None:
                self._level = ""
            return self._level

    def check(self) -> None:
        """Refuse libraries that were built from other sources than those beside them."""
        self.level()
        with _lock:
            for library in self._open:
                library.check()

    def call(self, name: str, kinds: tuple[Kind, ...]) -> Call | None:
        """A kernel for arguments of some kinds, if it is carried."""
        with _lock:
            for library in self._open:
                if (found := library.find(name, kinds)) is not None:
                    return library.call(found)
            return self.call(name, kinds) if self._look() else None

    def kinds_for(self, name: str) -> list[tuple[Kind, ...]]:
        """The kinds of arguments that a kernel is carried for."""
        with _lock:
            return [kinds for library in self._open for kinds in library.kinds_for(name)]

    def _look(self) -> bool:
        """Open the library of the next place that has a fitting one; False if there is none."""
        if self._level == "":
            return False
        for folder in sys.modules[_PACKAGE].__path__:
            place = Path(folder).parent / FOLDER / this_platform()
            if place not in self._looked_at:
                self._looked_at.add(place)
                if self._add(place):
                    return True
        return False

    def _add(self, place: Path) -> bool:
        suffix = SUFFIXES.get(this_platform(), "")
        known = levels_of(this_platform())
        levels = [level for level in known if (place / f"{level}{suffix}").is_file()]
        if not levels:
            return False
        mine = known[: _processor(place / f"{levels[0]}{suffix}")]
        fitting = [level for level in levels if level in mine and self._level in (None, level)]
        if not fitting:
            self._do_without(place, levels)
            return False
        self._open.append(Library(place / f"{fitting[-1]}{suffix}"))
        self._level = fitting[-1]
        return True

    def _do_without(self, place: Path, levels: list[str]) -> None:
        """Say that Numba has to compile; an FMU that has neither names what is wrong with it."""
        wrong = (
            f"The kernels in {place} are for {', '.join(levels)}, and not for"
            f" {self._level or 'this processor'}"
        )
        if not _can_compile():
            raise ImportError(
                f"{wrong}, and Numba is not there to compile them. Build the FMU for more"
                " processors: without --levels it is for all since x86-64-v2."
            )
        _log.warning("%s, so Numba has to compile them.", wrong)


def _can_compile() -> bool:
    """Whether Numba is installed."""
    try:
        return importlib.util.find_spec("numba") is not None
    except ImportError:
        return False


def _processor(library: Path) -> int:
    """How many levels the processor has; each library can tell, whatever it was made for."""
    return int(ctypes.CDLL(str(library)).sensor_fmus_levels())


LIBRARIES = Libraries()
