"""What the binding runs inside Python to load an FMU; it travels in the FMU's resources.

The FMU's own packages are loaded from its resources without touching ``sys.path``. All FMUs in a
process share them, which is what makes them share scenes too, but only if they were built from
the same sources: otherwise the second FMU would silently run the first one's code.

Hosts unpack an FMU to a new directory each time and remove it afterwards. Shared packages are
therefore told about every new place, so that what they import late is still found.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import os
import sys
import sysconfig
import threading
import traceback
from types import ModuleType
from typing import Any

OLDEST_PYTHON = (3, 10)
PACKAGES = ("pythonfmu", "sensor_models", "fmus")

#: Imported only where they are used, which says so if they are missing.
OPTIONAL = ("pyarrow", "pygeomag")

_lock = threading.RLock()


class FmuLoadError(RuntimeError):
    """An FMU that cannot run here; the message says why and what helps."""


def instantiate(instance_name: str, resources: str, guid: str, visible: int) -> Any:
    """Make the Python object of a new FMU instance."""
    if sys.version_info < OLDEST_PYTHON:
        raise FmuLoadError(
            f"this process runs Python {sys.version.split()[0]} and this FMU needs"
            f" {OLDEST_PYTHON[0]}.{OLDEST_PYTHON[1]} or newer"
        )
    resources = os.path.abspath(resources)
    with _lock:
        manifest = read_lines(os.path.join(resources, "fmu.txt"))
        check_requirements(resources)
        for package in PACKAGES:
            load_package(package, resources, manifest.get(package))
        importlib.invalidate_caches()
        slave_class = load_class(manifest, resources)
    slave = slave_class(instance_name=instance_name, resources=resources, visible=bool(visible))
    if guid != slave.guid:
        raise FmuLoadError(f"the GUID '{guid}' is not that of this FMU, '{slave.guid}'")
    return slave


def load_class(manifest: dict[str, str], resources: str) -> Any:
    """The class of the FMU: in a module of the package ``fmus``, or in one of its own."""
    module_name, class_name = manifest["class"].split(":")
    own_file = os.path.join(resources, module_name + ".py")
    if not os.path.isfile(own_file):
        return getattr(importlib.import_module(module_name), class_name)
    # The digest makes the name unique: two FMUs may have main modules of one name.
    unique_name = f"{module_name}_{manifest['main']}"
    module = sys.modules.get(unique_name) or import_file(unique_name, own_file)
    return getattr(module, class_name)


def import_file(name: str, path: str, folder: str | None = None) -> ModuleType:
    """Import a file as a module of some name, or as a package if it has a folder."""
    folders = None if folder is None else [folder]
    spec = importlib.util.spec_from_file_location(name, path, submodule_search_locations=folders)
    if spec is None or spec.loader is None or not os.path.isfile(path):
        raise FmuLoadError(f"'{path}' is missing: the FMU is damaged")
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


def load_package(name: str, resources: str, digest: str | None) -> None:
    """Load a package from the FMU, or share the one in the process if it is the same."""
    folder = os.path.join(resources, name)
    loaded = sys.modules.get(name)
    if loaded is None:
        import_file(name, os.path.join(folder, "__init__.py"), folder)
        return
    present = getattr(loaded, "SOURCE_DIGEST", None)
    if digest is not None and present != digest:
        raise FmuLoadError(
            f"this FMU was built from other sources of '{name}' ({digest}) than those already in"
            f" this process ({present or 'unknown'}, from {list(loaded.__path__)[:1]}). Build all"
            " FMUs of one simulation with one run of build_fmus.py, or run them in separate"
            " processes."
        )
    add_place(loaded, folder)


def add_place(package: ModuleType, folder: str) -> None:
    """Let a loaded package, and those in it, find what they import late in this FMU too."""
    root = package.__name__
    for name, module in list(sys.modules.items()):
        if (name == root or name.startswith(root + ".")) and hasattr(module, "__path__"):
            place = os.path.join(folder, *name.split(".")[1:])
            known = [p for p in module.__path__ if p != place and os.path.isdir(p)]
            module.__path__[:] = [place, *known]


def check_requirements(resources: str) -> None:
    """Raise an error that names each package that is missing or has the wrong version."""
    requirements = os.path.join(resources, "requirements.txt")
    with open(requirements, encoding="utf-8") as file:
        needed = [line.strip() for line in file if line.strip() and not line.startswith("#")]
    problems = find_problems(needed)
    if problems and use_recorded_packages(resources):
        problems = find_problems(needed)
    if problems:
        raise FmuLoadError(
            f"Python {sys.version.split()[0]} at {sys.prefix} lacks what this FMU needs:"
            f" {'; '.join(problems)}. Install it with:"
            f' "{sys.executable or "python3"}" -m pip install -r "{requirements}"'
            " or, if the host is not itself Python, set the environment variable FMU_PYTHON to an"
            " interpreter that has it."
        )


def find_problems(needed: list[str]) -> list[str]:
    """What is wrong with each requirement that is not met."""
    problems = []
    for line in needed:
        requirement, _, marker = (part.strip() for part in line.partition(";"))
        name = requirement.split("=")[0].rstrip("<>! ")
        if name in OPTIONAL or not applies(marker):
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
    """Whether a requirement holds for this Python; the one marker in use is a lowest version."""
    if not marker:
        return True
    name, _, version = marker.partition("<")
    if name.strip() != "python_version":
        raise FmuLoadError("requirements.txt has a marker it should not have: " + marker)
    return list(sys.version_info[:2]) < release(version.strip(" '\""))


def fits(version: str, clauses: str) -> bool:
    """Whether a version meets clauses such as ``>=1.26,<3``."""
    have = release(version)
    for clause in clauses.split(","):
        operator = clause[:2] if clause[1:2] == "=" else clause[:1]
        wanted = release(clause[len(operator) :])
        met = {">=": have >= wanted, "<": have < wanted, "==": have == wanted}
        if not met[operator]:
            return False
    return True


def release(version: str) -> list[int]:
    """The numbers of a version, ``2.4.6rc1`` as (2, 4, 6)."""
    numbers = []
    for part in version.strip().split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        numbers.append(int(digits))
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return numbers


def use_recorded_packages(resources: str) -> bool:
    """Search the packages of the recorded interpreter too, if this is the same kind of Python."""
    try:
        recorded = read_lines(os.path.join(resources, "python.txt"))
    except OSError:
        return False
    same = recorded.get("abi") == str(sysconfig.get_config_var("SOABI"))
    folder = recorded.get("packages", "")
    if not same or not os.path.isdir(folder) or folder in sys.path:
        return False
    sys.path.append(folder)
    importlib.invalidate_caches()
    return True


def refuse_bytes(slave: Any, reference: int, value: bytes) -> None:
    """Refuse a String that is no text, by its variable's name."""
    name = slave.table().by_reference[reference].name
    raise ValueError(f"{name} = {value[:200]!r} is not allowed: Strings are text in UTF-8")


def describe_exception(error: BaseException) -> tuple[str, str]:
    """What a user needs to know of an exception, and what a developer does."""
    trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    explained = isinstance(error, (FmuLoadError, ValueError, OSError)) and str(error)
    message = str(error) if explained else f"{type(error).__name__}: {error}"
    return message, trace
