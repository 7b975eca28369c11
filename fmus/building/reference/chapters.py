"""Which modules describe what an FMU computes, and their docstrings.

The models state their equations in the docstrings of their modules. A page shows those of the
modules that declare the FMU's variables, in the order of the declarations, and after each one
those that it refers to by name (``kernels.wheel.encoder``). A module of a package comes after the
package itself and what that publishes.

A module that has only a headline is not shown, because the headline says no more than the
variables. Also left out are ``LEFT_OUT``, which describe arrays, threads and the like, and modules
that all FMUs are made of.
"""

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from fmus.fmi.base import FmuBase

#: Modules that describe how something is done, not what is computed.
LEFT_OUT = re.compile(
    r"(_layout|\.kernels"
    r"|\.(frame_files|files|random|quantities|tracing|options|assembly|sinks|spec|sensors?|named)"
    r"|\.sight(\.\w+)?)$"
)


def modules_of(fmu: type[FmuBase]) -> list[str]:
    """The names of the modules whose docstrings say what an FMU computes, in reading order."""
    found: dict[str, None] = {}
    for declaring in declarations_of(fmu):
        for module in published_beside(declaring.__module__):
            follow(module, found)
    return [module for module in found if "\n" in docstring(module)]


def declarations_of(fmu: type[FmuBase]) -> list[type]:
    """The dataclasses that declare the variables of an FMU: its own parameters first."""
    return list(dict.fromkeys(group.declaring for group in fmu.groups()))


def published_beside(module: str) -> list[str]:
    """The package of a module, the modules that its names come from, and the module."""
    package = module.rpartition(".")[0] or module
    loaded = sys.modules[package]
    published = [getattr(loaded, name) for name in getattr(loaded, "__all__", ())]
    origins = [getattr(value, "__module__", package) for value in published]
    return list(dict.fromkeys([package, *origins, module]))


def follow(module: str, found: dict[str, None]) -> None:
    """Add a module and those that its docstring names."""
    if module in found or not is_shown(module):
        return
    found[module] = None
    for name in re.findall(r"``([a-z_.0-9]+)``", docstring(module)):
        named = resolve(name, module)
        if named is not None:
            follow(named, found)


def is_shown(module: str) -> bool:
    """Whether a module describes a model, and not how an FMU is made."""
    file = source(module)
    return (
        file is not None
        and file.parent != Path(__file__).parents[2] / "fmi"
        and not LEFT_OUT.search(module)
    )


def resolve(name: str, module: str) -> str | None:
    """The module that a docstring means by a name: beside it, below it, or in the library."""
    beside = module.rpartition(".")[0]
    for parent in (beside, module, "sensor_models"):
        candidate = f"{parent}.{name}"
        if source(candidate) is not None:
            return candidate
    return None


@cache
def source(module: str) -> Path | None:
    """The file of a module of the library or of an FMU, without importing it."""
    top, *parts = module.split(".")
    root = find_spec(top)
    if not parts or not all(parts) or root is None or root.origin is None:
        return None
    path = Path(root.origin).parent.joinpath(*parts)
    candidates = (path.with_suffix(".py"), path / "__init__.py")
    return next((file for file in candidates if file.is_file()), None)


@cache
def docstring(module: str) -> str:
    """The docstring of a module of the library or of an FMU."""
    file = source(module)
    if file is None:
        return ""
    return ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""


def headline(module: str) -> str:
    """The first line of a docstring."""
    return docstring(module).partition("\n")[0]


def names_of(modules: list[str]) -> Iterator[tuple[str, str]]:
    """Modules by the names that docstrings use: the last part of the full name, or more."""
    for module in modules:
        parts = module.split(".")[1:]
        for first in range(len(parts)):
            yield ".".join(parts[first:]), module
