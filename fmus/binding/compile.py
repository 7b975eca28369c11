"""Compile the binding for every platform that FMI 2.0 has a folder for, and for Linux on ARM.

``ziglang`` (a C compiler from PyPI that brings all headers and libraries) compiles for all of them
on any of them; without it the system's ``cc`` compiles for this machine only. Compiled libraries
are kept under a key of sources and compiler, so each is compiled only once.

FMI 3.0 has other names for the folders, and one for Linux on ARM, which FMI 2.0 has none for.
"""

import hashlib
import importlib.util
import os
import platform
import shlex
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable, Iterable
from importlib.metadata import version
from pathlib import Path

SOURCE_DIR = Path(__file__).parent

#: FMI's platform -> the targets of the compiler (several become one universal file), suffix.
TARGETS: dict[str, tuple[tuple[str, ...], str]] = {
    "linux64": (("x86_64-linux-gnu.2.17",), ".so"),
    "win64": (("x86_64-windows-gnu",), ".dll"),
    "darwin64": (("x86_64-macos.11.0", "aarch64-macos.11.0"), ".dylib"),
    "aarch64-linux": (("aarch64-linux-gnu.2.17",), ".so"),
}
#: The folders that FMI 3.0 has for them; a universal file is in both of its own.
FOLDERS_OF_FMI3 = {
    "linux64": ("x86_64-linux",),
    "win64": ("x86_64-windows",),
    "darwin64": ("x86_64-darwin", "aarch64-darwin"),
    "aarch64-linux": ("aarch64-linux",),
}
#: The platforms that FMI 2.0 has folders for.
OF_FMI2 = ("linux64", "win64", "darwin64")
#: Libraries, and on macOS the name of the library itself, which would be the place that it was
#: compiled to.
LIBRARIES = {
    "linux64": ["-ldl", "-lpthread", "-lm"],
    "win64": ["-lpsapi"],
    "darwin64": ["-Wl,-install_name,@rpath/binding.dylib"],
    "aarch64-linux": ["-ldl", "-lpthread", "-lm"],
}

FLAGS = ["-std=gnu11", "-O2", "-g0", "-Wall", "-Wextra", "-fvisibility=hidden", "-shared"]


class CompileError(RuntimeError):
    """There is no compiler, or it failed; the message has its output."""


def host_platform() -> str:
    """FMI's name for this machine."""
    if platform.system() == "Linux" and platform.machine() == "aarch64":
        return "aarch64-linux"
    names = {"Linux": "linux64", "Windows": "win64", "Darwin": "darwin64"}
    return names.get(platform.system(), platform.system().lower())


def sources() -> list[Path]:
    """All C files and headers, in a fixed order."""
    headers = (
        path for pattern in ("*.h", "fmi2/*.h", "fmi3/*.h") for path in SOURCE_DIR.glob(pattern)
    )
    return sorted([*SOURCE_DIR.glob("*.c"), *headers])


def compile_binding(
    cache: Path, platforms: Iterable[str], progress: Callable[[str], None] = lambda _: None
) -> dict[str, Path]:
    """The compiled library for each platform; fewer than asked for without a cross compiler."""
    compiler, name = find_compiler()
    wanted = list(platforms) if compiler[0] == sys.executable else [host_platform()]
    digest = hashlib.sha256(repr((name, FLAGS, TARGETS, LIBRARIES)).encode())
    for path in sources():
        digest.update(path.read_bytes())
    folder = cache / digest.hexdigest()[:16]
    libraries = {}
    for platform_name in wanted:
        suffix = TARGETS[platform_name][1]
        library = folder / f"{platform_name}{suffix}"
        if not library.is_file():
            progress(f"compiling the binding for {platform_name} with {name}")
            _compile_platform(compiler, platform_name, library)
        libraries[platform_name] = library
    return libraries


def compile_or_tell(
    cache: Path, platforms: Iterable[str], progress: Callable[[str], None]
) -> dict[str, Path]:
    """As ``compile_binding``; says on the standard error which platforms are left out."""
    wanted = list(platforms)
    libraries = compile_binding(cache, wanted, progress)
    missing = [platform for platform in wanted if platform not in libraries]
    if missing:
        left_out = f"no cross compiler (pip install ziglang): left out {', '.join(missing)}"
        print(left_out, file=sys.stderr)  # not as progress: whoever reads a log must see it, too
    return libraries


def find_compiler() -> tuple[list[str], str]:
    """The compiler's command and its name with version."""
    if importlib.util.find_spec("ziglang") is not None:
        return [sys.executable, "-m", "ziglang", "cc"], f"zig {version('ziglang')}"
    command = shlex.split(os.environ.get("CC", "cc"))
    if shutil.which(command[0]) is None:
        raise CompileError(
            "no C compiler: install the package 'ziglang' (it compiles for all platforms),"
            f" or a system compiler ('{command[0]}' was not found; CC names another)"
        )
    answer = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False)
    return command, (answer.stdout.splitlines() or [command[0]])[0]


def _compile_platform(compiler: list[str], platform_name: str, library: Path) -> None:
    library.parent.mkdir(parents=True, exist_ok=True)
    targets = TARGETS[platform_name][0] if compiler[0] == sys.executable else ("",)
    slices = []
    for target in targets:
        part = library.with_name(f".{library.stem}-{target}-{os.getpid()}{library.suffix}")
        arguments = [*compiler, *FLAGS, *(f"-I{SOURCE_DIR / name}" for name in ("fmi2", "fmi3"))]
        arguments += [f"-ffile-prefix-map={SOURCE_DIR}=binding"]
        arguments += ["-target", target] if target else []
        arguments += [] if platform_name == "win64" else ["-fPIC"]
        arguments += [str(path) for path in sources() if path.suffix == ".c"]
        arguments += ["-o", str(part), *LIBRARIES[platform_name]]
        _run(arguments)
        slices.append(part)
    whole = slices[0] if len(slices) == 1 else _universal(slices)
    whole.replace(library)
    for leftover in library.parent.glob(f".{library.stem}-*-{os.getpid()}*"):
        leftover.unlink()


def _run(arguments: list[str]) -> None:
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CompileError(f"{shlex.join(arguments)}\n{done.stdout}{done.stderr}")


# A universal file of macOS is a header, big-endian, with a table of the slices, then the slices,
# each aligned to the largest page size (2^14).
_FAT_MAGIC, _ALIGNMENT = 0xCAFEBABE, 14


def _universal(slices: list[Path]) -> Path:
    contents = [path.read_bytes() for path in slices]
    header = struct.pack(">II", _FAT_MAGIC, len(contents))
    offset, body = 8 + 20 * len(contents), b""
    start = offset
    for content in contents:
        cpu_type, cpu_subtype = struct.unpack_from("<II", content, 4)
        padding = -(start + len(body)) % (1 << _ALIGNMENT)
        body += bytes(padding)
        header += struct.pack(
            ">IIIII", cpu_type, cpu_subtype, start + len(body), len(content), _ALIGNMENT
        )
        body += content
    universal = slices[0].with_name(f"{slices[0].name}-universal")
    universal.write_bytes(header + body)
    return universal
