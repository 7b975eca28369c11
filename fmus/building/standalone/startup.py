"""Modules that standalone FMUs carry in another form, so that they start sooner.

Half of the time of a start is spent on things that no FMU needs: NumPy adds documentation to its
functions and makes types for annotations, and the methods of data classes are written as texts and
compiled. So the documentation is left out, a small module replaces the types, and the methods are
carried compiled. Docstrings are left out, too, except those of data classes, which keep a short
one: without a docstring, Python would compute the signature of the class for it, which takes long.
"""

import ast
import importlib.util
import marshal
from collections.abc import Iterable
from pathlib import Path

STAND_INS = Path(__file__).parent / "stand_ins"

#: Without docstrings and assertions.
OPTIMIZE = 2
#: The docstring that data classes get in place of their own.
KEPT = "left out"

#: Modules and their replacements; nothing else of a replaced package is carried.
REPLACED = {
    "numpy._core._add_newdocs": "",
    "numpy._core._add_newdocs_scalars": "",
    "numpy._typing": (STAND_INS / "numpy_typing.py").read_text(encoding="utf-8"),
}
DATA_CLASSES = "dataclasses"
TAIL = STAND_INS / "dataclasses_tail.py"


def is_left_out(module: str) -> bool:
    """Whether a module is in a package that is replaced by another module."""
    return any(module.startswith(f"{name}.") for name in REPLACED)


def replacements(methods: Iterable[str]) -> dict[str, bytes]:
    """The sources of modules that are carried in another form, by name.

    ``methods`` are the texts that methods of data classes are made from.
    """
    found = {name: text.encode() for name, text in REPLACED.items()}
    return {**found, DATA_CLASSES: _data_classes(methods)}


def _data_classes(methods: Iterable[str]) -> bytes:
    """The module ``dataclasses``, with the compiled code of these texts."""
    spec = importlib.util.find_spec(DATA_CLASSES)
    assert spec is not None
    assert spec.origin is not None
    source = Path(spec.origin).read_text(encoding="utf-8")
    made = {
        text: marshal.dumps(compile(text, "<string>", "exec", dont_inherit=True))
        for text in methods
    }
    tail = TAIL.read_text(encoding="utf-8")
    late = source.replace("\nimport inspect\n", "\n")
    return f"{late}\n{tail}\nCOMPILED.update(marshal.loads({marshal.dumps(made)!r}))\n".encode()


def bytecode(source: bytes, name: str) -> bytes:
    """A file of bytecode that is loaded without checking its source."""
    tree = ast.parse(source, name)
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and _is_data_class(node):
            _keep_docstring(node)
    code = compile(tree, name, "exec", dont_inherit=True, optimize=OPTIMIZE)
    unchecked = (1).to_bytes(4, "little") + bytes(8)
    return importlib.util.MAGIC_NUMBER + unchecked + marshal.dumps(code)


def _is_data_class(node: ast.ClassDef) -> bool:
    return any("dataclass" in ast.dump(decorator) for decorator in node.decorator_list)


def _keep_docstring(node: ast.ClassDef) -> None:
    """Give a class a docstring in a form that the compiler does not leave out."""
    if ast.get_docstring(node) is None:
        return
    kept = ast.Assign([ast.Name("__doc__", ast.Store())], ast.Constant(KEPT))
    node.body[0] = ast.fix_missing_locations(ast.copy_location(kept, node.body[0]))
