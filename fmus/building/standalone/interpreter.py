"""The interpreter that standalone FMUs carry: that of this build, as files to be packed.

Modules are carried as bytecode (``startup.py``), libraries without their symbol tables
(``elf.py``). The system's loader (``ldd``) says which other libraries they need. These are carried,
too, except the C library and those of the compiler and of C++: the machine that runs the FMU must
have these, and no older than those of the machine that builds it.
"""

import contextlib
import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from fmus.binding.fmu_loader import VERSIONS
from fmus.binding.locate_python import place as place_of_python
from fmus.building.sources import BuildError
from fmus.building.standalone import elf, startup
from fmus.building.standalone.imports import is_standard

LICENCES = Path(__file__).parent / "licences"

#: In the resources: the home of the interpreter.
HOME = "python"
#: What every file in there is like, for the binding (``carried.c``).
DIGESTS = "digests.txt"
#: The packages that lie in the resources themselves.
OWN = ("sensor_models", "fmus", "pythonfmu")

VERSION = f"{sys.version_info[0]}.{sys.version_info[1]}"
STANDARD, PACKAGES, LIBRARIES = f"lib/python{VERSION}", "packages", "libs"
if sys.platform == "win32":
    STANDARD = "Lib"

#: Libraries that the machine must have; they are not carried.
OF_THE_SYSTEM = re.compile(
    r"(ld-linux|linux-vdso|lib(c|m|dl|rt|util|pthread|gcc_s|stdc\+\+)\.so)", re.ASCII
)
#: What ``sysconfig`` tells of the carried interpreter.
SETTINGS = ("EXT_SUFFIX", "Py_DEBUG", "Py_ENABLE_SHARED", "Py_GIL_DISABLED", "SOABI", "VERSION")

Files = Iterator[tuple[str, bytes]]


@dataclass(frozen=True)
class Changes:
    """What is carried in another form than the installed one."""

    #: Sources of modules, by name.
    modules: Mapping[str, bytes]
    #: Contents of libraries, by name; they need no other libraries.
    libraries: Mapping[Path, bytes]
    #: What ``python.txt`` tells of this.
    place: Mapping[str, str]


def files(modules: Mapping[str, Path], with_embree: bool, changes: Changes) -> Files:
    """The interpreter with these modules, as it goes into the resources."""
    installed = (file for name, file in modules.items() if name not in changes.modules)
    binaries = [python_library(), *(file for file in installed if file.suffix != ".py")]
    tops = {name.partition(".")[0] for name in modules if not is_standard(name)} - {*OWN}
    if with_embree:
        tops.add("embreex")
        init = origin("embreex")
        yield f"resources/{HOME}/{PACKAGES}/embreex/__init__.pyc", bytecode(init, init.name)
        binaries.append(embree_library(init.parent))
        yield place_of_package_file(binaries[-1]), stripped(binaries[-1])
    yield f"resources/{HOME}/{python_library().name}", stripped(python_library())
    for name, file in modules.items():
        yield module_file(name, file, changes.modules.get(name))
    needed = libraries_needed_by(binaries, changes.libraries)
    for file in needed:
        yield library_place(file), changes.libraries.get(file) or stripped(file)
    own = [f"{LIBRARIES}/{file.name}" for file in needed if not is_in_packages(file)]
    versions = {"python": " ".join(sys.version.split()), **dict(distributions(tops))}
    yield f"resources/{HOME}/{VERSIONS}", _lines(versions)
    yield "resources/python.txt", _lines({**place(own), **changes.place})
    for name, version in distributions(tops):  # as pip would write it, for other interpreters
        text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        folder = f"resources/{HOME}/{PACKAGES}/{name}-{version}.dist-info"
        yield f"{folder}/METADATA", text.encode()


def place(needed: Sequence[str]) -> dict[str, str]:
    """Where the parts are, for the binding and the loader; ``home`` lies in the resources."""
    known = place_of_python()
    return {
        "version": known["version"],
        "abi": known["abi"],
        "home": HOME,
        "executable": f"{HOME}/bin/python{VERSION}",
        "library": f"{HOME}/{python_library().name}",
        "packages": f"{HOME}/{PACKAGES}",
        "folders": f"{STANDARD}:{PACKAGES}",
        "needed": ":".join(needed),
    }


def surroundings(resources: Path) -> dict[str, str]:
    """The environment in which this interpreter uses only what an FMU carries."""
    home = resources / HOME
    return {
        "PYTHONHOME": str(home),
        "PYTHONPATH": str(home / PACKAGES),
        "PYTHONNOUSERSITE": "1",
        "LD_LIBRARY_PATH": f"{python_library().parent}:{home / LIBRARIES}",
    }


def digest_list(files: Mapping[str, bytes]) -> tuple[str, bytes]:
    """What the binding compares files in the home of the interpreter with before it starts it."""
    home = f"resources/{HOME}/"
    inside = {n.removeprefix(home): files[n] for n in sorted(files) if n.startswith(home)}
    lines = [
        f"{first:x} {second:x} {len(content)} {name}\n"
        for name, content in inside.items()
        if name != VERSIONS  # tells what differs, and is no code
        for first, second in [sums(content)]
    ]
    return f"{home}{DIGESTS}", "".join([*lines, "end\n"]).encode()


def sums(content: bytes) -> tuple[int, int]:
    """The sum of a file's words of 8 bytes, and that of the sums so far; both of 64 bit."""
    words = np.frombuffer(content + bytes(-len(content) % 8), "<u8")
    so_far = np.cumsum(words, dtype=np.uint64)
    return int(words.sum(dtype=np.uint64)), int(so_far.sum(dtype=np.uint64))


def _lines(pairs: Mapping[str, str]) -> bytes:
    return "".join(f"{key}={value}\n" for key, value in pairs.items()).encode()


# ---- modules -------------------------------------------------------------------------------------


def module_file(name: str, file: Path, source: bytes | None = None) -> tuple[str, bytes]:
    """A module as it goes into the resources; ``source`` stands in for that of its file."""
    folder = f"{HOME}/{STANDARD if is_standard(name) else PACKAGES}/"
    if name.partition(".")[0] in OWN:
        folder = ""
    inner = name.replace(".", "/")
    if file.suffix != ".py" and source is None:
        return f"resources/{folder}{Path(inner).parent / file.name}", stripped(file)
    inner += "/__init__.py" if file.name == "__init__.py" else ".py"
    code = bytecode(file, inner) if source is None else startup.bytecode(source, inner)
    return f"resources/{folder}{inner}c", code


def settings_file(module: str) -> tuple[str, bytes]:
    """What ``sysconfig`` says of the interpreter's build, as far as running code may ask."""
    settings = {name: sysconfig.get_config_var(name) for name in SETTINGS}
    source = f"build_time_vars = {settings!r}\n".encode()
    content = startup.bytecode(source, f"{module}.py")
    return f"resources/{HOME}/{STANDARD}/{module}.pyc", content


@cache
def bytecode(file: Path, name: str) -> bytes:
    """A compiled module, without paths of this machine."""
    return startup.bytecode(file.read_bytes(), name)


def origin(package: str) -> Path:
    """The file of an installed package."""
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        raise BuildError(f"the package {package} is not installed")
    return Path(found.origin)


def distributions(packages: Iterable[str]) -> list[tuple[str, str]]:
    """The installed distributions that bring these packages, and their versions."""
    known = importlib.metadata.packages_distributions()
    names = {name for package in packages for name in known.get(package, ())}
    return [(name, importlib.metadata.version(name)) for name in sorted(names)]


def needed_distributions(names: Iterable[str]) -> set[str]:
    """These distributions and those that they need, as far as they are installed."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            if name not in found:
                needed = importlib.metadata.requires(name) or ()
                found.add(name)
                plain = (line for line in needed if "extra ==" not in line)
                waiting += [re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in plain]
    return found


def link_packages(names: Iterable[str], folder: Path) -> None:
    """Link these installed distributions and what they need into a folder, and no others.

    Packages also import optional packages that happen to be installed, which standalone FMUs do
    not carry.
    """
    for name in needed_distributions(names):
        for file in importlib.metadata.files(name) or ():
            top = file.parts[0]
            if top not in ("..", "__pycache__") and not (folder / top).is_symlink():
                place = Path(str(file.locate()))
                (folder / top).symlink_to([place, *place.parents][len(file.parts) - 1])


# ---- libraries -----------------------------------------------------------------------------------


@cache
def python_library() -> Path:
    """The shared library of this interpreter."""
    library = place_of_python()["library"]
    if not library:
        raise BuildError(f"{sys.executable} has no shared library, which a standalone FMU carries")
    return Path(library)


def embree_library(package: Path) -> Path:
    """The library that the package embreex brings."""
    from sensor_models.kernels.tracing.embree import library_candidates

    found = next(library_candidates(package), None)
    if found is None:
        raise BuildError(f"no library of Embree lies beside {package}")
    return found


def is_in_packages(file: Path) -> bool:
    """Whether a library came with an installed package."""
    return any(file.is_relative_to(folder) for folder in package_folders())


@cache
def package_folders() -> tuple[Path, ...]:
    """Where packages are installed."""
    paths = sysconfig.get_paths()
    return tuple({Path(paths["platlib"]).resolve(), Path(paths["purelib"]).resolve()})


def place_of_package_file(file: Path) -> str:
    """Where a file of an installed package goes: to the same place among carried packages."""
    file = file.resolve()
    folder = next(folder for folder in package_folders() if file.is_relative_to(folder))
    return f"resources/{HOME}/{PACKAGES}/{file.relative_to(folder).as_posix()}"


def library_place(file: Path) -> str:
    """Where a library goes."""
    if is_in_packages(file):
        return place_of_package_file(file)
    return f"resources/{HOME}/{LIBRARIES}/{file.name}"


def libraries_needed_by(binaries: Iterable[Path], in_place_of: Collection[Path] = ()) -> list[Path]:
    """All libraries to carry with these; libraries of the machine come before those that need them.

    Replaced libraries need no others.
    """
    found: set[Path] = set()
    for file in binaries:
        needed = needed_by(file)
        replaced = needed.intersection(in_place_of)
        found |= replaced | needed.difference(*map(needed_by, replaced))

    def order(file: Path) -> tuple[int, str]:
        return (0 if is_in_packages(file) else len(needed_by(file))), file.name

    return sorted(found, key=order)


@cache
def needed_by(file: Path) -> frozenset[Path]:
    """The libraries that a library needs, directly or not, by the names that it uses."""
    if sys.platform == "win32":  # extension modules have theirs beside them
        return frozenset()
    command = ["ldd", str(file)]
    environment = {**os.environ, "LC_ALL": "C"}
    answer = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    found = set()
    for line in answer.stdout.splitlines():
        name, _, target = (part.strip() for part in line.partition("=>"))
        if OF_THE_SYSTEM.match(Path(name).name) or not target:
            continue
        if target == "not found":
            raise BuildError(f"{file} needs {name}, which is not on this machine")
        found.add(Path(os.path.normpath(target.rpartition(" (")[0])))
    return frozenset(library for library in found if "libpython" not in library.name)


@cache
def stripped(file: Path) -> bytes:
    """A library without what only debuggers and linkers read, and without this machine's paths."""
    content = elf.without_symbols(file.read_bytes())
    # Else the loader would look for libraries where this interpreter was installed.
    installed = str(sysconfig.get_config_var("LIBDIR") or "").encode()
    anywhere = b"$ORIGIN"
    if is_in_packages(file) or len(installed) < len(anywhere):
        return content
    padded = anywhere.ljust(len(installed), b"\0")
    return content.replace(installed + b"\0", padded + b"\0")


# ---- licences ------------------------------------------------------------------------------------


def licence_files(resources: Iterable[str]) -> Files:
    """The licences of the interpreter, packages and libraries among these resources."""
    carried = [name.removeprefix(f"resources/{HOME}/") for name in resources if f"/{HOME}/" in name]
    folder = "documentation/licenses"
    if not carried:
        return
    yield f"{folder}/python.txt", python_licence()
    for name in carried:
        first, _, rest = name.partition("/")
        if first == PACKAGES and rest.endswith(".dist-info/METADATA"):
            distribution = rest.rpartition("-")[0].rpartition("-")[0]
            yield from distribution_licences(distribution, f"{folder}/{distribution}")
        elif first == LIBRARIES:
            yield f"{folder}/{rest}.txt", system_licence(rest)
        elif "libembree" in rest or "libtbb" in rest:
            yield f"{folder}/embree-and-tbb.txt", (LICENCES / "apache-2.0.txt").read_bytes()


def python_licence() -> bytes:
    """The licence of this interpreter."""
    folders = [Path(sysconfig.get_path("stdlib")), Path(sys.base_prefix)]
    for file in (folder / "LICENSE.txt" for folder in folders):
        if file.is_file():
            return file.read_bytes()
    raise BuildError(f"the licence of {sys.executable} is not in {folders}")


def distribution_licences(name: str, folder: str) -> Files:
    """The licences that an installed distribution has brought."""
    of_licence = re.compile(r"\.dist-info/.*(licen[cs]e|copying|notice)", re.IGNORECASE)
    for file in importlib.metadata.files(name) or ():
        if of_licence.search(str(file)) and (path := Path(str(file.locate()))).is_file():
            inner = str(file).partition(".dist-info/")[2].replace("/", "-")
            yield f"{folder}-{inner.removeprefix('licenses-')}", path.read_bytes()


@cache
def system_licence(library: str) -> bytes:
    """The licence of a library of this machine, as Debian and its relatives keep it."""
    dpkg = shutil.which("dpkg")
    if dpkg is not None:
        command = [dpkg, "-S", f"*/{library}"]
        found = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        package = found.partition(":")[0]
        file = Path("/usr/share/doc", package, "copyright")
        if package and file.is_file():
            return file.read_bytes()
    return (
        f"{library} comes from the machine that built this FMU; its licence lies there.\n".encode()
    )
