"""Which modules some modules may import, found in their code without running it.

Running an FMU shows what it imports; this module finds what a function that did not run would
import. In modules of other projects only imports at module level are followed, because most imports
in their functions are for cases that do not occur here. Names that are computed at run time are
found only by running.
"""

import ast
import importlib.util
import re
import sys
import sysconfig
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

#: What may follow the name of a module in that of its file; packages first, as in Python.
SUFFIXES = ("/__init__.py", *(f"/__init__{s}" for s in EXTENSION_SUFFIXES), *EXTENSION_SUFFIXES)

#: Conditions that are true only for type checkers, or in a module that is run as a program.
NEVER = re.compile("'(TYPE_CHECKING|__main__)'")


def search_path(own: Path) -> tuple[Path, ...]:
    """Where the modules of this interpreter are; ``own`` comes first."""
    paths = sysconfig.get_paths()
    standard = Path(paths["stdlib"])
    return own, standard, standard / "lib-dynload", Path(paths["platlib"]), Path(paths["purelib"])


def find_all(
    names: Iterable[str],
    path: Sequence[Path],
    is_wanted: Callable[[str], bool],
    own: Collection[str],
) -> dict[str, Path]:
    """The files of these modules and of all wanted ones that they may import, by name.

    For modules of the packages ``own``, imports in functions count, too.
    """
    found: dict[str, Path] = {}
    waiting = [part for name in names for part in with_parents(name)]
    while waiting:
        name = waiting.pop()
        if name in found or not is_wanted(name):
            continue
        file = find_file(name, tuple(path))
        if file is not None:
            found[name] = file
            waiting += imported_by(name, file, name.partition(".")[0] in own)
    return found


def with_parents(name: str) -> Iterator[str]:
    """``a``, ``a.b`` and ``a.b.c`` of ``a.b.c``."""
    parts = name.split(".")
    return (".".join(parts[:k]) for k in range(1, len(parts) + 1))


@cache
def find_file(name: str, path: tuple[Path, ...]) -> Path | None:
    """The file of a module; None if it has none."""
    relative = name.replace(".", "/")
    for folder in path:
        for suffix in (*SUFFIXES, ".py"):
            if (file := folder / f"{relative}{suffix}").is_file():
                return file
    return None


@cache
def imported_by(name: str, file: Path, late: bool) -> tuple[str, ...]:
    """The names that the import statements of a module may mean; not all of them are modules.

    With ``late``, statements in functions count, too.
    """
    if file.suffix != ".py":
        return ()
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    tree = ast.parse(file.read_bytes())
    return tuple(
        part
        for statement in _run(tree, late)
        for target in _meant(statement, package)
        for part in with_parents(target)
    )


def _run(node: ast.AST, late: bool) -> Iterator[ast.AST]:
    """The statements that run when a module is imported; with ``late``, those in functions, too."""
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.If) and NEVER.search(ast.dump(inner.test)):
            continue
        yield inner
        if late or not isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef, ast.expr)):
            yield from _run(inner, late)


def _meant(statement: ast.AST, package: str) -> Iterator[str]:
    """What a statement may import; the members of a package may be modules, too."""
    if isinstance(statement, ast.Import):
        yield from (alias.name for alias in statement.names)
    elif isinstance(statement, ast.ImportFrom):
        parts = package.split(".")
        above = parts[: len(parts) - statement.level + 1] if statement.level else []
        base = ".".join([*above, *filter(None, [statement.module])])
        yield base
        yield from (f"{base}.{alias.name}" for alias in statement.names)


def is_standard(name: str) -> bool:
    """Whether a module belongs to the standard library."""
    return name.partition(".")[0] in sys.stdlib_module_names


def all_in(package: str) -> list[str]:
    """All modules of an installed package but its tests."""
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        return []
    root = Path(found.origin).parent
    ends = sorted({*SUFFIXES, ".py"}, key=len, reverse=True)
    names = []
    for file in sorted(root.rglob("*")):
        relative = f"/{file.relative_to(root).as_posix()}"
        end = next((end for end in ends if relative.endswith(end)), None)
        if end is not None and "/tests/" not in relative:
            names.append(f"{package}{relative.removesuffix(end)}".replace("/", "."))
    return names
