"""What standalone FMUs carry: modules that may be imported, and libraries without symbols."""

import ctypes
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from fmus.binding.compile import TARGETS, host_platform
from fmus.building.sources import BuildError
from fmus.building.standalone import elf, imports, interpreter, startup
from fmus.building.standalone.resources import check_possible
from tests.masters.compiling import compile_c
from tests.tools import need

SOURCES = {
    "own/__init__.py": "from . import at_once",
    "own/at_once.py": "import other\ndef late():\n    from .inner import deep",
    "own/inner/__init__.py": "",
    "own/inner/deep.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import checked",
    "own/unused.py": "",
    "other.py": "try:\n    import tried\nfinally:\n    pass\ndef late():\n    import rare",
    "tried.py": "if __name__ == '__main__':\n    import rare",
    "rare.py": "",
    "checked.py": "",
}


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    for name, source in SOURCES.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source)
    return tmp_path


def test_late_imports_are_found_in_own_packages_alone(packages: Path) -> None:
    found = imports.find_all(["own"], [packages], lambda _: True, ("own",))
    names = {"own", "own.at_once", "own.inner", "own.inner.deep", "other", "tried"}
    assert set(found) == names
    assert found["own.inner"] == packages / "own/inner/__init__.py"


def test_what_is_not_wanted_is_not_followed(packages: Path) -> None:
    found = imports.find_all(["own"], [packages], lambda name: name != "other", ("own",))
    assert not {"other", "tried"} & set(found)


def test_a_library_without_symbols_does_the_same_in_less_room(tmp_path: Path) -> None:
    source = tmp_path / "library.c"
    source.write_text(
        "static int seven(void) { return 7; }\nint sum(int a) { return a + seven(); }"
    )
    whole = compile_c(tmp_path / "whole.so", [source], "-shared", "-fPIC")
    bare = tmp_path / "bare.so"
    bare.write_bytes(elf.without_symbols(whole.read_bytes()))
    assert b"seven" in whole.read_bytes()
    assert b"seven" not in bare.read_bytes()
    assert bare.stat().st_size < whole.stat().st_size
    assert ctypes.CDLL(str(bare)).sum(4) == 11


DATA_CLASSES = '''
import dataclasses
from dataclasses import dataclass

@dataclass(frozen=True, order=True)
class Point:
    """Where it is."""
    x: float
    y: float = 2.0

class Other:
    """No data class."""
'''


def test_data_classes_are_the_same_with_methods_that_were_compiled_before(tmp_path: Path) -> None:
    """In a process whose ``dataclasses`` is the one that is carried, and compiles nothing."""
    whole = run_with(tmp_path / "first", [], DATA_CLASSES + HEARD)
    texts = whole.pop("compiled")
    assert any("__init__" in text for text in texts)
    again = run_with(tmp_path / "second", texts, DATA_CLASSES + HEARD)
    assert again.pop("compiled") == []
    assert again == whole
    assert whole["documentation"] == [startup.KEPT, None]  # the rest is left out
    assert "inspect" not in whole["modules"]  # which would make a signature of it


#: What a process tells of its data classes, and what it has compiled for them.
HEARD = """
import json, sys
try:
    Point(1.0).x = 2.0
except dataclasses.FrozenInstanceError as error:
    refusal = str(error)
values = [repr(Point(1.0)), Point(1.0) == Point(1.0, 2.0), Point(1.0) < Point(1.0, 1.0), refusal]
modules = [name for name in sys.modules if name in ("inspect", "dataclasses")]
documentation = [Point.__doc__, Other.__doc__]
told = {"values": values, "modules": modules, "documentation": documentation, "compiled": heard}
print(json.dumps(told))
"""

#: Listens to what is compiled from texts.
LISTEN = """
import builtins
heard, run = [], builtins.exec
def hear(text, *spaces):
    if isinstance(text, str):
        heard.append(text)
    return run(text, *spaces)
builtins.exec = hear
"""


def run_with(folder: Path, methods: Sequence[str], program: str) -> dict[str, Any]:
    """What a program says that runs with data classes as they are carried; it is carried, too."""
    folder.mkdir()
    source = startup.replacements(methods)[startup.DATA_CLASSES]
    (folder / "dataclasses.pyc").write_bytes(startup.bytecode(source, "dataclasses.py"))
    (folder / "program.pyc").write_bytes(
        startup.bytecode((LISTEN + program).encode(), "program.py")
    )
    command = [sys.executable, "-S", "-c", "import program"]
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_what_is_no_library_stays_as_it_is() -> None:
    assert elf.without_symbols(b"MZ and more") == b"MZ and more"


def test_libraries_are_found_as_the_systems_loader_finds_them(tmp_path: Path) -> None:
    """An inner library of one's own is carried, the C library is not."""
    need("C compiler")
    inner, outer = tmp_path / "inner.c", tmp_path / "outer.c"
    inner.write_text("int inner(void) { return 1; }")
    outer.write_text("int inner(void); int outer(void) { return inner(); }")
    library = compile_c(tmp_path / "libinner.so", [inner], "-shared", "-fPIC")
    flags = ("-shared", "-fPIC", f"-L{tmp_path}", f"-Wl,-rpath,{tmp_path},--no-as-needed")
    compiler = [str(shutil.which("cc")), str(outer), "-o", str(tmp_path / "libouter.so"), *flags]
    subprocess.run([*compiler, "-linner"], check=True)
    assert interpreter.needed_by(tmp_path / "libouter.so") == {library}
    library.unlink()
    interpreter.needed_by.cache_clear()
    with pytest.raises(BuildError, match=r"libinner\.so, which is not on this machine"):
        interpreter.needed_by(tmp_path / "libouter.so")


def test_says_which_machine_other_platforms_are_built_on() -> None:
    others = [platform for platform in TARGETS if platform != host_platform()]
    with pytest.raises(BuildError, match=f"makes FMUs for {host_platform()}"):
        check_possible(sys.executable, others, host_platform())
    with pytest.raises(BuildError, match="no other --python"):
        check_possible("/bin/sh", [host_platform()], host_platform())
