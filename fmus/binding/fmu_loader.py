"""What the binding runs inside Python to load an FMU; it is in the FMU's resources.

The FMU's own packages are loaded from its resources without changing ``sys.path``, under names of
their own (``_sensor_fmus.fmus`` and so on). So they do not hide packages that the host has under
the plain names, and are not replaced by these. Within the FMU's modules ``import fmus`` means the
FMU's package, because these modules have their own ``__import__``. If the host has imported
packages of the very same sources, the FMU uses those.

All FMUs in a process share these packages, and thereby also scenes. This is allowed only if they
were built from the same sources: otherwise the second FMU would silently run the first one's code.

Hosts unpack an FMU to a new directory each time and remove it afterwards. Shared packages are
therefore told of every new directory, so that modules that they import later are still found.

A standalone FMU carries an interpreter with all packages (``home`` in ``python.txt``), which the
binding has started if the process had none. Other standalone FMUs use the same interpreter if what
they carry has the same versions. Some imports are in functions, because they take longer than all
the rest.
"""

from __future__ import annotations

import builtins
import functools
import importlib
import importlib.machinery
import importlib.util
import logging
import os
import sys
import threading
from types import ModuleType
from typing import Any

OLDEST_PYTHON = (3, 10)
PACKAGES = ("pythonfmu", "sensor_models", "fmus")

#: The package that the FMUs' packages lie in.
HOME = "_sensor_fmus"

#: Imported only where they are used; an error is raised there if they are missing.
OPTIONAL = ("pygeomag",)

#: Versions of what a standalone FMU carries: an attribute of ``sys``, and a file in its folder.
CARRIED, VERSIONS = "_sensor_fmus_carried", "versions.txt"
#: Libraries that standalone FMUs have opened for others: an attribute of ``sys``.
OPEN = "_sensor_fmus_open"
#: The whole environment of such an interpreter: nothing is kept between runs.
ENVIRONMENT = {"SENSOR_FMUS_CACHE_DIR": "none"}

_lock = threading.RLock()

#: Requirements that were found to be met: looking for packages takes longer than a reset.
_met: set[str] = set()


class FmuLoadError(RuntimeError):
    """The FMU cannot run here; the message says why, and what helps."""


def instantiate(
    instance_name: str, resources: str, guid: str, visible: int, version: int = 2
) -> Any:
    """Make the Python object of a new FMU instance, for a host of this version of FMI."""
    if sys.version_info < OLDEST_PYTHON:
        raise FmuLoadError(
            f"this process runs Python {sys.version.split()[0]} and this FMU needs"
            f" {OLDEST_PYTHON[0]}.{OLDEST_PYTHON[1]} or newer"
        )
    resources = os.path.abspath(resources)
    with _lock, Listener() as heard:
        manifest = read_lines(os.path.join(resources, "fmu.txt"))
        interface = manifest.get("interface", "2")
        if interface[:1] != str(version):
            raise FmuLoadError(
                f"this FMU is of FMI {interface[:1]}.0 and was called by {version}.0"
            )
        prepare_python(resources)
        home = load_packages(resources, manifest)
        importlib.invalidate_caches()
        slave_class = load_class(manifest, resources, home)
    chosen = {} if version == 2 else {"interface": interface}
    slave = slave_class(
        instance_name=instance_name, resources=resources, visible=bool(visible), **chosen
    )
    if guid != slave.guid:
        raise FmuLoadError(f"the GUID '{guid}' is not that of this FMU, '{slave.guid}'")
    for text in heard.texts:
        slave.warn(text)
    return slave


class Listener(logging.Handler):
    """Collects warnings while packages are loaded: they are for the host, not for stderr."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []
        self._loggers = [logging.getLogger(name) for name in (HOME, *PACKAGES)]

    def __enter__(self) -> Listener:
        for logger in self._loggers:
            logger.addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        for logger in self._loggers:
            logger.removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the text of a record."""
        self.texts.append(record.getMessage())


def prepare_python(resources: str) -> None:
    """Make sure that this process has the packages that the FMU needs."""
    place = recorded_place(resources)
    present: dict[str, str] | None = getattr(sys, CARRIED, None)
    if "home" not in place:
        if present is not None:
            raise FmuLoadError(
                "this process runs the interpreter of a standalone FMU, which has only what such"
                " FMUs need. Build this FMU with --standalone, too, or make its first instance"
                " before those of standalone FMUs, or run it in a separate process."
            )
        check_requirements(resources)
        return
    home = os.path.join(resources, place["home"])
    if present is not None:
        join_carried(home, place, present)
    elif place["abi"] == abi():
        check_requirements(resources)
    else:
        raise FmuLoadError(
            f"this standalone FMU is made for Python {place['version']} ({place['abi']}), and this"
            f" process runs {sys.version.split()[0]} ({abi()}) already. Build the FMU without"
            " --standalone for this process, or run it in a separate one."
        )
    stand_in: Any = sys.modules.get("numpy.linalg._umath_linalg")
    if "linear_algebra" in place and hasattr(stand_in, "lend"):  # NumPy came without OpenBLAS
        stand_in.lend(os.path.join(home, place["linear_algebra"]))


def recorded_place(resources: str) -> dict[str, str]:
    """What the build recorded about an interpreter; empty if it recorded none."""
    file = os.path.join(resources, "python.txt")
    return read_lines(file) if os.path.isfile(file) else {}


def begin_carried(resources: str) -> None:
    """Isolate the interpreter that an FMU brought, without changing the host's environment.

    The binding calls this when it has started it, before another FMU can come to life in it.
    """
    place = recorded_place(resources)
    setattr(sys, CARRIED, read_lines(os.path.join(resources, place["home"], VERSIONS)))
    setattr(sys, OPEN, set(place["needed"].split(":")))
    vars(os)["environ"] = dict(ENVIRONMENT)


def join_carried(home: str, place: dict[str, str], present: dict[str, str]) -> None:
    """Let the interpreter that an FMU brought also find what this FMU carries."""
    for name, version in read_lines(os.path.join(home, VERSIONS)).items():
        if present.setdefault(name, version) != version:
            raise FmuLoadError(
                f"this standalone FMU carries {name} {version}, and this process runs"
                f" {present[name]}, which another FMU brought. Build all standalone FMUs of one"
                " simulation in one environment, or run them in separate processes."
            )
    folders = [os.path.join(home, name) for name in place["folders"].split(":")]
    sys.path[:] = [*folders, *(p for p in sys.path if p not in folders and os.path.isdir(p))]
    open_needed(home, place["needed"].split(":"))
    for folder in folders:
        for package in os.listdir(folder):
            if hasattr(sys.modules.get(package), "__path__"):
                add_place(sys.modules[package], os.path.join(folder, package))


def open_needed(home: str, names: list[str]) -> None:
    """Open libraries that others look for by name; each once, from wherever it came first.

    The loader takes a file at another place for another library.
    """
    opened: set[str] = getattr(sys, OPEN)
    import ctypes

    for name in names:
        if name and name not in opened:
            ctypes.CDLL(os.path.join(home, name))
            opened.add(name)


def load_packages(resources: str, manifest: dict[str, str]) -> str:
    """Make the packages of the FMU those of this process; returns the prefix of their names."""
    if HOME not in sys.modules and are_installed(manifest):
        prefix = ""
    else:
        prefix = f"{HOME}."
        make_home(resources)
    for name in PACKAGES:
        is_shared = prefix + name in sys.modules
        package = importlib.import_module(prefix + name)
        if is_shared:
            check_digest(package, manifest.get(name))
        add_place(package, os.path.join(resources, name))
    return prefix


def are_installed(manifest: dict[str, str]) -> bool:
    """Whether the host has already imported packages of the same sources."""
    return all(
        getattr(sys.modules.get(name), "SOURCE_DIGEST", None) == manifest[name]
        for name in PACKAGES
        if name in manifest
    )


def check_digest(package: ModuleType, digest: str | None) -> None:
    """Refuse an FMU of other sources than those that the process runs."""
    present = getattr(package, "SOURCE_DIGEST", None)
    if digest is not None and present != digest:
        name = package.__name__.removeprefix(f"{HOME}.")
        raise FmuLoadError(
            f"this FMU was built from other sources of '{name}' ({digest}) than those already in"
            f" this process ({present or 'unknown'}, from {list(package.__path__)[:1]}). Build all"
            " FMUs of one simulation with one run of build_fmus.py, or run them in separate"
            " processes."
        )


def make_home(resources: str) -> None:
    """Make the package that holds the FMUs' packages; the newest place is searched first."""
    home = sys.modules.get(HOME)
    if home is None:
        home = ModuleType(HOME)
        home.__path__ = []
        sys.modules[HOME] = home
        sys.meta_path.insert(0, HomeFinder)
    known = [path for path in home.__path__ if path != resources and os.path.isdir(path)]
    home.__path__[:] = [resources, *known]


class HomeFinder:
    """Finds modules of the FMUs' packages."""

    @staticmethod
    def find_spec(name: str, path: Any, target: Any = None) -> Any:
        """The specification of such a module, None for any other."""
        if not name.startswith(f"{HOME}."):
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = HomeLoader(name, spec.loader.path)
        elif spec is not None and isinstance(spec.loader, importlib.machinery.SourcelessFileLoader):
            spec.loader = HomeBytecodeLoader(name, spec.loader.path)
        return spec


class AtHome:
    """A mixin for loaders: in their modules, names of packages mean the FMU's packages."""

    def exec_module(self, module: ModuleType) -> None:
        """Run the module's code, with an ``__import__`` of its own."""
        vars(module)["__builtins__"] = {**vars(builtins), "__import__": import_at_home}
        super().exec_module(module)  # type: ignore[misc]  # that of the loader


class HomeLoader(AtHome, importlib.machinery.SourceFileLoader):  # type: ignore[misc]
    """Loads such modules."""


class HomeBytecodeLoader(AtHome, importlib.machinery.SourcelessFileLoader):
    """Loads such modules that were compiled when the FMU was built."""


def import_at_home(
    name: str,
    globals: Any = None,  # noqa: A002 - these are the names of ``__import__``
    locals: Any = None,  # noqa: A002
    fromlist: Any = (),
    level: int = 0,
) -> Any:
    """``__import__`` for modules of an FMU."""
    package = name.partition(".")[0]
    if level or package not in PACKAGES:
        found = builtins.__import__(name, globals, locals, fromlist, level)
        return IMPORTLIB if found is importlib else found
    found = builtins.__import__(f"{HOME}.{name}", globals, locals, fromlist)
    return found if fromlist else sys.modules[f"{HOME}.{package}"]


def import_module_at_home(name: str, package: str | None = None) -> ModuleType:
    """``importlib.import_module`` for modules of an FMU."""
    at_home = name.partition(".")[0] in PACKAGES
    return importlib.import_module(f"{HOME}.{name}" if at_home else name, package)


#: ``importlib`` as modules of an FMU see it.
IMPORTLIB = ModuleType("importlib")
vars(IMPORTLIB)["__getattr__"] = functools.partial(getattr, importlib)
vars(IMPORTLIB)["import_module"] = import_module_at_home


def add_place(package: ModuleType, folder: str) -> None:
    """Let a loaded package and its subpackages find later imports in this FMU, too."""
    root = package.__name__
    for name, module in list(sys.modules.items()):
        if (name == root or name.startswith(root + ".")) and hasattr(module, "__path__"):
            place = os.path.join(folder, *name[len(root) :].split(".")[1:])
            known = [p for p in module.__path__ if p != place and os.path.isdir(p)]
            module.__path__[:] = [place, *known]


def load_class(manifest: dict[str, str], resources: str, home: str) -> Any:
    """The class of the FMU: in a module of the package ``fmus``, or in one of its own."""
    module_name, class_name = manifest["class"].split(":")
    own_file = os.path.join(resources, module_name + ".py")
    if not os.path.isfile(own_file):
        return getattr(importlib.import_module(home + module_name), class_name)
    # The digest makes the name unique: two FMUs may have main modules of one name.
    unique_name = f"{module_name}_{manifest['main']}"
    module = sys.modules.get(unique_name) or import_file(unique_name, own_file, home)
    return getattr(module, class_name)


def import_file(name: str, path: str, home: str) -> ModuleType:
    """Import a file as a module of some name, which sees the packages of the FMU."""
    loader = HomeLoader(name, path) if home else None
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    if spec is None or spec.loader is None:
        raise FmuLoadError(f"'{path}' cannot be imported: the FMU is damaged")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def read_lines(path: str) -> dict[str, str]:
    """The lines ``key=value`` of a file, as a dictionary."""
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        pairs = [line.rstrip("\n").partition("=") for line in file if "=" in line]
    return {key: value for key, _, value in pairs}


def check_requirements(resources: str) -> None:
    """Raise an error that names each package that is missing or has the wrong version."""
    requirements = os.path.join(resources, "requirements.txt")
    with open(requirements, encoding="utf-8") as file:
        text = file.read()
    if text in _met:
        return
    lines = [line.partition(";") for line in text.splitlines() if line.strip()]
    needed = [name.strip() for name, _, marker in lines if applies(marker.strip())]
    hints: list[str] = []
    problems = find_problems(needed)
    for place in other_places(resources, hints) if problems else ():
        if use_packages(place):
            problems = find_problems(needed)
    if problems:
        raise FmuLoadError(
            f"Python {sys.version.split()[0]} at {sys.prefix} lacks what this FMU needs:"
            f" {'; '.join([*problems, *hints])}. {remedy(needed)}"
        )
    _met.add(text)


def find_problems(needed: list[str]) -> list[str]:
    """What is wrong with each requirement that is not met."""
    import importlib.metadata

    problems = []
    for requirement in needed:
        name = requirement.split("=")[0].rstrip("<>! ")
        if name in OPTIONAL:
            continue
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            problems.append(f"{name} is not installed ({requirement} is needed)")
            continue
        if not fits(version, requirement[len(name) :]):
            problems.append(f"{name} {version} is installed, {requirement} is needed")
    return problems


def applies(marker: str) -> bool:
    """Whether a requirement holds for this Python: a version, a system or a processor."""
    import platform
    import re

    if not marker:
        return True
    name, operator, value = re.split("(==|!=|<)", marker + "<<")[:3]
    have = {"sys_platform": sys.platform, "platform_machine": platform.machine()}
    found, wanted = have.get(name.strip()), value.strip(" '\"")
    if found is not None and operator != "<":
        return (found == wanted) == (operator == "==")
    if name.strip() != "python_version" or operator != "<":
        raise FmuLoadError("requirements.txt has a marker it should not have: " + marker)
    return list(sys.version_info[:2]) < release(wanted)


def fits(version: str, clauses: str) -> bool:
    """Whether a version meets clauses such as ``>=1.26,<3``."""
    have = release(version)
    for clause in clauses.split(","):
        operator = clause[:2] if clause[1:2] == "=" else clause[:1]
        wanted = release(clause[len(operator) :])
        if not {">=": have >= wanted, "<": have < wanted, "==": have == wanted}[operator]:
            return False
    return True


def release(version: str) -> list[int]:
    """The numbers of a version, ``2.4.6rc1`` as 2, 4, 6; zeros at the end do not count."""
    import re

    numbers = [int(part) for part in re.findall(r"\d+", re.split(r"[^\d.]", version.strip())[0])]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return numbers


def other_places(resources: str, hints: list[str]) -> list[dict[str, str]]:
    """Interpreters whose packages can be used: that of FMU_PYTHON, the recorded or carried one.

    A process that has a Python cannot run another one, but it can use its packages.
    """
    places = []
    recorded = recorded_place(resources)
    if "packages" in recorded:
        recorded["packages"] = os.path.join(resources, recorded["packages"])
    chosen = os.environ.get("FMU_PYTHON")
    if chosen and not hasattr(sys, "_sensor_fmus_embedded"):
        place = ask_interpreter(chosen, resources)
        places.append(place)
        if place.get("abi") != abi():
            hints.append(
                f"the environment variable FMU_PYTHON names '{chosen}', whose packages are for"
                f" {place.get('abi') or 'no Python'} and not for the {abi()} of this process"
            )
    return [*places, recorded]


def ask_interpreter(executable: str, resources: str) -> dict[str, str]:
    """Where the parts of an interpreter are; empty if it is not one."""
    import subprocess

    script = os.path.join(resources, "locate_python.py")
    try:
        answer = subprocess.run([executable, "-I", script], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return {}
    return dict(
        line.split("=", 1) for line in os.fsdecode(answer.stdout).splitlines() if "=" in line
    )


def abi() -> str:
    """The binary interface of this Python, which compiled packages must match."""
    import sysconfig

    return str(sysconfig.get_config_var("SOABI"))


def use_packages(place: dict[str, str]) -> bool:
    """Also search the packages of an interpreter, if it has the same binary interface."""
    folder = place.get("packages", "")
    if place.get("abi") != abi() or not os.path.isdir(folder) or folder in sys.path:
        return False
    sys.path.append(folder)
    importlib.invalidate_caches()
    return True


def remedy(needed: list[str]) -> str:
    """What the user can type to have the packages."""
    import sysconfig

    packages = " ".join(f'"{requirement}"' for requirement in needed)
    executable = sys.executable or ""
    managed = os.path.join(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED")
    if is_interpreter(executable) and (
        sys.prefix != sys.base_prefix or not os.path.exists(managed)
    ):
        return (
            f'Install it with: "{executable}" -m pip install {packages}'
            " or set the environment variable FMU_PYTHON to an interpreter that has it."
        )
    folder = os.path.join("~", "sensor-fmus")
    python = os.path.join(folder, "Scripts" if sys.platform == "win32" else "bin", "python")
    return (
        "Make an environment that has it, and name its interpreter in the environment variable"
        f' FMU_PYTHON:\n    "{base_interpreter()}" -m venv {folder}\n'
        f"    {python} -m pip install {packages}\n    FMU_PYTHON={python}"
    )


def is_interpreter(path: str) -> bool:
    """Whether a file is named like a Python; a host that embeds one may give its own name."""
    return os.path.basename(path).lower().startswith("python") and os.path.isfile(path)


def base_interpreter() -> str:
    """The interpreter that environments for this Python are made with."""
    name = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    candidates = [
        getattr(sys, "_base_executable", None) or "",
        os.path.join(sys.base_prefix, "bin", name),
        os.path.join(sys.base_prefix, "python.exe"),
    ]
    return next((path for path in candidates if is_interpreter(path)), name)


def refuse_bytes(slave: Any, reference: int, value: bytes) -> None:
    """Refuse a String that is not UTF-8; the message names its variable."""
    name = slave.table().by_reference[reference].name
    raise ValueError(f"{name} = {value[:200]!r} is not allowed: Strings are text in UTF-8")


def describe_exception(error: BaseException) -> tuple[str, str]:
    """An exception as a message for users, and as one for developers."""
    import traceback

    trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    explained = isinstance(error, (FmuLoadError, ValueError, OSError)) and str(error)
    message = str(error) if explained else f"{type(error).__name__}: {error}"
    return message, trace
