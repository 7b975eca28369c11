"""What standalone FMUs carry: modules that may be imported, and libraries without symbols."""

import ctypes
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fmus.binding.compile import TARGETS, host_platform
from fmus.building import imports, interpreter
from fmus.building.sources import BuildError
from fmus.building.standalone import check_possible
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
    bare.write_bytes(interpreter.without_symbols(whole.read_bytes()))
    assert b"seven" in whole.read_bytes()
    assert b"seven" not in bare.read_bytes()
    assert bare.stat().st_size < whole.stat().st_size
    assert ctypes.CDLL(str(bare)).sum(4) == 11


def test_what_is_no_library_stays_as_it_is() -> None:
    assert interpreter.without_symbols(b"MZ and more") == b"MZ and more"


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
