"""Parts of the binding alone: the configuration that Python is started with, and texts. For Linux.

No FMU is needed: the parts are compiled with a program, or a library, of the test's own.
"""

import ctypes
import itertools
import json
import random
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from fmus.binding.compile import SOURCE_DIR
from fmus.building.standalone.interpreter import sums
from tests.masters.compiling import compile_c
from tests.masters.interpreters import OLDEST, candidates
from tests.tools import need

#: What the binding sets.
NUMBERS = ("isolated", "site_import", "write_bytecode", "user_site_directory")
PATHS = ("program_name", "module_search_paths_set", "module_search_paths", "executable")
MORE_PATHS = ("base_executable", "prefix", "exec_prefix", "base_exec_prefix")
FIELDS = [*NUMBERS, *PATHS, *MORE_PATHS]

#: Compares where the binding has a field with where the header of a Python has it.
PLACES = """
#include <Python.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
void *python_symbol(void *library, const char *name) { (void)library; (void)name; return NULL; }
ptrdiff_t python_config_place(const char *name, int minor, int is_free_threaded);
int main(void) {
#ifdef Py_GIL_DISABLED
    int is_free_threaded = 1;
#else
    int is_free_threaded = 0;
#endif
#define COMPARE(name) printf("%s %td %td\\n", #name, offsetof(PyConfig, name), \\
    python_config_place(#name, PY_MINOR_VERSION, is_free_threaded));
    %s
    return sizeof(PyConfig) > 4096;
}
"""

#: Starts the Python in a library, and runs a text in it, or says why it does not start.
START = """
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include "python_config.h"
void *python_symbol(void *library, const char *name) { return dlsym(library, name); }
int main(int count, char **words) {
    static PythonPlace place;
    char error[4096] = "";
    (void)count;
    strcpy(place.library, words[1]);
    strcpy(place.version, words[2]);
    strcpy(place.executable, words[3]);
    strcpy(place.home, words[4]);
    strcpy(place.folders, words[5]);
    void *library = dlopen(place.library, RTLD_NOW | RTLD_GLOBAL);
    if (library == NULL || !python_initialize(library, &place, error, sizeof error)) {
        printf("alive\\n%s", library == NULL ? dlerror() : error);
        return 0;
    }
    int (*run)(const char *);
    *(void **)&run = dlsym(library, "PyRun_SimpleString");
    return run(words[6]);
}
"""

SETTINGS = """
import json, os, sys
print(json.dumps({
    "os": os.__file__, "path": sys.path, "prefixes": [sys.prefix, sys.exec_prefix, sys.base_prefix],
    "executable": sys.executable,
    "utf8": sys.flags.utf8_mode, "environment": not sys.flags.ignore_environment,
    "site": "site" in sys.modules, "bytecode": not sys.dont_write_bytecode,
}), flush=True)
"""

QUESTION = """
import json, sys, sysconfig
library = sysconfig.get_config_var("INSTSONAME") or ""
print(json.dumps([list(sys.version_info[:2]), sysconfig.get_paths(), sys.prefix,
    sysconfig.get_config_var("LIBDIR") + "/" + library]))
"""


@dataclass(frozen=True)
class Installed:
    """An interpreter of this machine, with its parts."""

    executable: Path
    version: str
    prefix: str
    library: Path
    headers: Path
    standard: Path


def installed(executable: Path) -> Installed | None:
    """An interpreter whose struct the binding knows and whose library can be opened."""
    command = [str(executable), "-I", "-c", QUESTION]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return None
    version, paths, prefix, library = json.loads(done.stdout)
    is_known = OLDEST <= tuple(version) < (3, 14)
    if not is_known or ".so" not in library or not Path(library).is_file():
        return None
    parts = Path(library), Path(paths["include"]), Path(paths["stdlib"])
    return Installed(executable, ".".join(map(str, version)), prefix, *parts)


@pytest.fixture(scope="module")
def pythons() -> list[Installed]:
    """All such interpreters of this machine, one of each place."""
    need("shared library of Python")
    found = filter(None, map(installed, candidates()))
    return list({python.library: python for python in found}.values())


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program that starts a Python."""
    folder = tmp_path_factory.mktemp("start")
    source = folder / "start.c"
    source.write_text(START)
    sources = [source, SOURCE_DIR / "python_config.c"]
    return compile_c(folder / "start", sources, f"-I{SOURCE_DIR}")


def run(start: Path, python: Installed, home: str, folders: str, program: str = SETTINGS) -> str:
    """What a Python says, in an environment that would mislead it or end it."""
    words = [python.library, python.version, python.executable, home, folders, program]
    environment = {"PYTHONHOME": "/none", "PYTHONPATH": "/none", "PYTHONUTF8": "nonsense"}
    done = subprocess.run(
        [start, *words], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_fields_are_where_the_headers_of_each_python_have_them(
    pythons: list[Installed], tmp_path: Path
) -> None:
    source = tmp_path / "places.c"
    source.write_text(PLACES.replace("    %s", "".join(f"COMPARE({name})\n" for name in FIELDS)))
    sources = [source, SOURCE_DIR / "python_config.c"]
    for python in pythons:
        if not (python.headers / "Python.h").is_file():
            continue
        program = compile_c(tmp_path / "places", sources, f"-I{python.headers}", "-Wno-error")
        told = subprocess.run([program], capture_output=True, text=True, check=True).stdout
        places = [line.split() for line in told.splitlines()]
        same = [name for name, theirs, ours in places if theirs == ours]
        assert same == FIELDS, python


def test_a_python_of_the_machine_starts_as_usual_but_for_the_environment(
    pythons: list[Installed], start: Path
) -> None:
    for python in pythons:
        told = json.loads(run(start, python, "", ""))
        assert told["prefixes"] == [python.prefix] * 3
        assert str(python.standard) in told["path"]
        usual = {"environment": False, "site": True, "bytecode": True, "utf8": 1}
        assert {name: told[name] for name in usual} == usual, python


def test_one_that_is_carried_looks_only_where_it_is_told_whatever_its_path(
    pythons: list[Installed], start: Path, tmp_path: Path
) -> None:
    for number, python in enumerate(pythons):
        home = tmp_path / f"a:b c{number}"
        inner = Path("lib", python.standard.name)
        (home / "lib").mkdir(parents=True)
        (home / inner).symlink_to(python.standard)
        carried = replace(python, executable=home / "bin" / "python3")  # it need not exist
        told = json.loads(run(start, carried, str(home), f"{inner}:{inner}/lib-dynload:packages"))
        folders = [str(home / name) for name in (inner, inner / "lib-dynload", "packages")]
        assert told["path"] == folders, python
        assert told["prefixes"] == [str(home)] * 3, python
        assert told["executable"] == str(carried.executable), python
        assert told["os"].startswith(str(home / inner)), python
        usual = {"environment": False, "site": False, "bytecode": False, "utf8": 1}
        assert {name: told[name] for name in usual} == usual, python


def test_one_that_does_not_start_is_told_and_the_host_goes_on(
    pythons: list[Installed], start: Path, tmp_path: Path
) -> None:
    for python in pythons:
        told = run(start, python, str(tmp_path), "nowhere")
        assert told.startswith("alive\n"), python
        assert "does not start" in told, python
        assert python.library.name in told, python


# ---- texts ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The functions for texts."""
    folder = tmp_path_factory.mktemp("texts")
    library = compile_c(folder / "texts.so", [SOURCE_DIR / "text.c"], "-shared", "-fPIC")
    return ctypes.CDLL(str(library))


def is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_texts_are_taken_that_python_takes_and_no_others(texts: ctypes.CDLL) -> None:
    numbers = random.Random(1)
    edges = (0x01, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC)
    edges += (0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF)
    tried = [bytes(t) for n in (1, 2, 3) for t in itertools.product(edges, repeat=n)]
    tried += [bytes(numbers.choices(edges, k=numbers.randint(4, 9))) for _ in range(20_000)]
    tried += ["é 日本 \U0001f600".encode(), b""]
    assert [text for text in tried if bool(texts.is_utf8(text)) != is_utf8(text)] == []


def test_bytes_are_shown_in_ascii_and_cut_at_the_end(texts: ctypes.CDLL) -> None:
    shown = ctypes.create_string_buffer(64)
    texts.show_bytes(b"ab\xff\\\n", shown, len(shown))
    assert shown.value == rb"ab\xff\x5c\x0a"
    texts.show_bytes(b"\xff" * 100, shown, 12)
    assert shown.value == rb"\xff\xff"


# ---- what standalone FMUs carry ------------------------------------------------------------------


@pytest.fixture(scope="module")
def carried(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The function that compares files with the list of them."""
    folder = tmp_path_factory.mktemp("carried")
    flags = ("-shared", "-fPIC", f"-I{SOURCE_DIR}")
    return ctypes.CDLL(str(compile_c(folder / "carried.so", [SOURCE_DIR / "carried.c"], *flags)))


def problem(carried: ctypes.CDLL, home: Path) -> str:
    """What is wrong there; empty if nothing is."""
    error = ctypes.create_string_buffer(4096)
    whole = carried.is_carried_whole(str(home).encode(), error, len(error))
    assert bool(whole) == (error.value == b"")
    return error.value.decode()


CONTENTS = {
    "empty": b"",
    "short": b"abc",
    "word": bytes(range(8)),
    "long name": random.Random(2).randbytes(200_001),
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    lines = []
    for name, content in CONTENTS.items():
        (tmp_path / name).write_bytes(content)
        first, second = sums(content)
        lines.append(f"{first:x} {second:x} {len(content)} {name}\n")
    (tmp_path / "digests.txt").write_text("".join([*lines, "end\n"]))
    return tmp_path


def test_files_that_are_as_they_were_packed_are_taken(carried: ctypes.CDLL, home: Path) -> None:
    assert problem(carried, home) == ""


@pytest.mark.parametrize("place", [0, 7, 8, 65_536, 131_071, 200_000])
def test_a_bit_a_word_and_an_order_that_changed_are_noticed(
    carried: ctypes.CDLL, home: Path, place: int
) -> None:
    whole = CONTENTS["long name"]
    bit = bytearray(whole)
    bit[place] ^= 4
    word = place // 8 * 8
    turned = (
        whole[:word] + whole[word + 8 : word + 16] + whole[word : word + 8] + whole[word + 16 :]
    )
    short, long = whole[:place], whole + b"\0"
    zeros = whole[:place] + bytes(len(whole) - place)
    changed = {bytes(bit), turned, short, long, zeros} - {whole}
    assert len(changed) >= 4
    for content in changed:
        (home / "long name").write_bytes(content)
        assert "long name" in problem(carried, home)
        assert "unpack the FMU anew" in problem(carried, home)


def test_a_missing_file_and_half_a_list_are_noticed(carried: ctypes.CDLL, home: Path) -> None:
    listed = (home / "digests.txt").read_text()
    (home / "digests.txt").write_text(listed.removesuffix("end\n"))
    assert "is not complete" in problem(carried, home)
    (home / "digests.txt").write_text(listed[:20])
    assert "damaged" in problem(carried, home)
    (home / "digests.txt").write_text(listed)
    (home / "word").unlink()
    assert "word' cannot be read: No such file" in problem(carried, home)
    (home / "digests.txt").unlink()
    assert "digests.txt' cannot be read" in problem(carried, home)
