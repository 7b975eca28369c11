"""The build: its command line, its compilers, and what it refuses."""

import ctypes
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import build_fmus
from fmus.binding import compile as binding
from sensor_models.tools.pictures.progress import MARK
from tests.tools import need

ROOT = Path(build_fmus.__file__).parent
FUNCTIONS = ("fmi2Instantiate", "fmi2DoStep", "fmi2GetFMUstate", "fmi2NewDiscreteStates")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "build_fmus.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_list_names_every_fmu_and_builds_nothing(tmp_path: Path) -> None:
    listed = run("--list", "--output", str(tmp_path))
    assert listed.returncode == 0
    assert {"Encoder", "Odometer"} <= {line.split()[0] for line in listed.stdout.splitlines()}
    assert list(tmp_path.iterdir()) == []


def test_only_builds_what_it_names(tmp_path: Path) -> None:
    built = run("--only", "Odometer", "--output", str(tmp_path / "out"))
    assert built.returncode == 0, built.stderr
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["Odometer.fmu"]


def test_an_option_given_twice_counts_twice() -> None:
    names = ["--only", "Odometer", "--only", "Imu", "Encoder", "--levels", "v2", "--levels", "v3"]
    chosen = build_fmus.parse(names)
    assert chosen.only == ["Odometer", "Imu", "Encoder"]
    assert chosen.levels == ["v2", "v3"]
    assert chosen.module == []


def test_unknown_fmu_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    refused = run("--only", "Sextant", "--output", str(tmp_path))
    assert refused.returncode == 2
    assert "Sextant" in refused.stderr
    assert "Encoder" in refused.stderr


def test_interpreter_that_is_none_is_refused(tmp_path: Path) -> None:
    refused = run("--python", str(tmp_path / "nothing"), "--output", str(tmp_path))
    assert refused.returncode == 1
    assert "is no Python interpreter" in refused.stderr


def test_interpreter_without_a_shared_library_is_refused_with_a_remedy(tmp_path: Path) -> None:
    static = tmp_path / "python"
    static.write_text("#!/bin/sh\necho executable=/opt/python\necho library=\necho version=3.11\n")
    static.chmod(0o755)
    with pytest.raises(build_fmus.BuildError, match=r"no shared library.*libpython"):
        build_fmus.python_place(str(static))


def test_every_platform_is_in_the_fmu(tmp_path: Path) -> None:
    (fmu,) = build_fmus.build([build_fmus.fmu_sources()["Odometer"]], tmp_path)
    with zipfile.ZipFile(fmu) as archive:
        magic = {
            name.split("/")[1]: archive.read(name)[:4]
            for name in archive.namelist()
            if name.startswith("binaries/")
        }
    assert magic["linux64"] == b"\x7fELF"
    assert magic["win64"][:2] == b"MZ"
    assert magic["darwin64"] == b"\xca\xfe\xba\xbe"
    assert list(magic) == ["darwin64", "linux64", "win64"]  # FMI 2.0 has no folder for others


def test_universal_library_holds_both_processors_where_its_table_says(tmp_path: Path) -> None:
    library = binding.compile_binding(build_fmus.BINDING_CACHE, ["darwin64"])["darwin64"]
    content = library.read_bytes()
    count = struct.unpack_from(">I", content, 4)[0]
    processors = set()
    for n in range(count):
        processor, _, offset, size, alignment = struct.unpack_from(">IIIII", content, 8 + 20 * n)
        magic, own_processor = struct.unpack_from("<II", content, offset)
        assert magic == 0xFEEDFACF  # a 64-bit Mach-O file
        assert own_processor == processor
        assert offset % (1 << alignment) == 0
        assert offset + size <= len(content)
        processors.add(processor)
    assert processors == {0x01000007, 0x0100000C}  # x86_64 and arm64, from Apple's mach/machine.h


def test_libraries_do_not_tell_where_they_were_compiled(tmp_path: Path) -> None:
    for platform, library in binding.compile_binding(tmp_path, binding.TARGETS).items():
        content = library.read_bytes()
        for place in (tmp_path, binding.SOURCE_DIR):
            assert str(place).encode() not in content, platform


def test_without_zig_the_system_compiler_builds_for_the_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("C compiler")
    monkeypatch.setattr(binding.importlib.util, "find_spec", lambda name: None)
    libraries = binding.compile_binding(tmp_path, binding.TARGETS)
    assert list(libraries) == [binding.host_platform()]
    opened = ctypes.CDLL(str(libraries[binding.host_platform()]))
    assert all(hasattr(opened, name) for name in FUNCTIONS)


def test_without_any_compiler_the_message_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binding.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv("CC", str(tmp_path / "no-compiler"))
    with pytest.raises(binding.CompileError, match="ziglang"):
        binding.compile_binding(tmp_path, binding.TARGETS)


def test_compiled_libraries_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need("C compiler")
    monkeypatch.setattr(binding.importlib.util, "find_spec", lambda name: None)
    first = binding.compile_binding(tmp_path, ["linux64"])["linux64"].stat().st_mtime_ns
    said: list[str] = []
    again = binding.compile_binding(tmp_path, ["linux64"], said.append)["linux64"]
    assert again.stat().st_mtime_ns == first
    assert said == []


def test_build_says_in_a_pipe_what_it_is_at_and_nothing_else(tmp_path: Path) -> None:
    done = run("--only", "Odometer", "--output", str(tmp_path))
    assert (done.returncode, done.stdout) == (0, "")
    assert [line for line in done.stderr.splitlines() if not line.startswith(MARK)] == []
    assert (tmp_path / "Odometer.fmu").is_file()
