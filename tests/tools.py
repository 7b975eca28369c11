"""Programs and libraries that tests and benchmarks need and that are no Python packages.

``python -m tests.tools`` installs what is missing, on Debian and its relatives, as root or through
sudo; ``--bench`` does so with what the benchmarks need besides, and ``--if-possible`` makes no fuss
where that cannot be. A test that needs one of them calls
``need``, which skips it where the tool is missing, and ``summary`` is what pytest says of that at
the end. For the standard library alone: it runs before there is an environment.
"""

import argparse
import ctypes
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
VERSION = f"{sys.version_info[0]}.{sys.version_info[1]}"
LOCATE = Path(__file__).resolve().parents[1] / "fmus" / "binding" / "locate_python.py"


def browser() -> str | None:
    """The path of a Chromium."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def has_library(name: str) -> bool:
    """Whether the system's loader finds a library."""
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True


def has_shared_python() -> bool:
    """Whether programs can load this interpreter, as FMUs do."""
    answer = subprocess.run(
        [sys.executable, "-I", str(LOCATE)], capture_output=True, text=True, check=False
    )
    return re.search("^library=.", answer.stdout, re.MULTILINE) is not None


def has_ensurepip() -> bool:
    """Whether this interpreter can make an environment with pip."""
    try:
        import ensurepip  # noqa: F401 - Debian keeps it in a package of its own
    except ImportError:
        return False
    return True


@dataclass(frozen=True)
class Tool:
    """Something that tests or benchmarks need."""

    used_for: str
    is_there: Callable[[], bool]
    packages: tuple[str, ...]
    """Those of Debian that bring it."""


TOOLS: Mapping[str, Tool] = {
    "C compiler": Tool(
        "the plain C master and the libraries made for tests",
        lambda: shutil.which("cc") is not None,
        ("gcc", "libc6-dev"),
    ),
    "valgrind": Tool(
        "the check of the binding's memory",
        lambda: shutil.which("valgrind") is not None,
        ("valgrind", "libc6-dbg"),
    ),
    "protoc": Tool(
        "messages read by the compiler of Protocol Buffers",
        lambda: shutil.which("protoc") is not None,
        ("protobuf-compiler",),
    ),
    "git": Tool("what a release is made of", lambda: shutil.which("git") is not None, ("git",)),
    "GnuPG": Tool("signatures of releases", lambda: shutil.which("gpg") is not None, ("gnupg",)),
    "RTKLIB": Tool(
        "RINEX files judged by RTKLIB", lambda: shutil.which("rnx2rtkp") is not None, ("rtklib",)
    ),
    "libtbb.so.12": Tool("the master ecos", lambda: has_library("libtbb.so.12"), ("libtbb12",)),
    "Chromium": Tool("the report in a browser", lambda: browser() is not None, ("chromium",)),
    "shared library of Python": Tool(
        "FMUs in programs that are no Python", has_shared_python, (f"libpython{VERSION}",)
    ),
    "ensurepip": Tool("the environment", has_ensurepip, (f"python{VERSION}-venv",)),
}


OPEN3D, LLVM = "libraries of Open3D", "LLVM from 16 on"
#: What Open3D loads and does not bring.
OPEN3D_LIBRARIES = ("libusb-1.0.so.0", "libGL.so.1", "libgomp.so.1", "libX11.so.6")


def llvm() -> str | None:
    """What the loader finds LLVM under, the newest there is from 16 on, or where the user has it.

    Older ones cannot compile the half-precision numbers of some processors.
    """
    if named := os.environ.get("DRJIT_LIBLLVM_PATH"):
        return named
    names = (
        name.format(version)
        for version in range(25, 15, -1)
        for name in ("libLLVM.so.{}.1", "libLLVM-{}.so.1", "libLLVM-{}.so")
    )
    return next(filter(has_library, names), None)


#: What the benchmarks need besides: their peers are Python packages that lack these.
BENCH_TOOLS: Mapping[str, Tool] = {
    OPEN3D: Tool(
        "Open3D, a peer of rays and images",
        lambda: all(map(has_library, OPEN3D_LIBRARIES)),
        ("libusb-1.0-0", "libgl1", "libgomp1", "libx11-6"),
    ),
    LLVM: Tool("Mitsuba, the peer of pictures", lambda: llvm() is not None, ("libllvm19",)),
}
ALL_TOOLS: Mapping[str, Tool] = {**TOOLS, **BENCH_TOOLS}


def need(name: str) -> None:
    """Skip the test that calls this, if a tool is not there."""
    import pytest

    if not TOOLS[name].is_there():
        pytest.skip(f"needs {name}: {TOOLS[name].used_for}")


def missing(among: Iterable[str] = TOOLS) -> list[str]:
    """The tools that are not there, by name."""
    return [name for name in among if not ALL_TOOLS[name].is_there()]


def install_line(names: Iterable[str]) -> str:
    """The line that installs some tools on Debian."""
    packages = " ".join(package for name in names for package in ALL_TOOLS[name].packages)
    return f"apt-get install {packages}"


def summary(reasons: Sequence[str]) -> list[str]:
    """What to say of the tests that were skipped for these reasons; nothing if no tool lacked."""
    lacking = {
        name: count
        for name in TOOLS
        if (count := sum(reason.startswith(f"needs {name}: ") for reason in reasons))
    }
    lines = [
        f"not tested: {TOOLS[name].used_for} ({count} test{'s' * (count > 1)}), for lack of {name}"
        for name, count in lacking.items()
    ]
    return [*lines, f"to test this, too: {install_line(lacking)}"] if lacking else []


def root_prefix(ask: bool) -> list[str] | None:
    """What makes a command run as root; none if nothing does without asking for a password."""
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") is None:
        return None
    if ask and sys.stdin.isatty():
        return ["sudo"]
    test = subprocess.run(["sudo", "-n", "true"], capture_output=True, check=False)
    return ["sudo", "-n"] if test.returncode == 0 else None


def install(names: Sequence[str], prefix: Sequence[str]) -> None:
    """Install tools, one after the other: a system that lacks one may well have the others."""
    apt = [*prefix, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq"]
    subprocess.run([*apt, "update"], stdout=subprocess.DEVNULL, check=False)
    for name in names:
        command = [*apt, "install", "-y", "--no-install-recommends", *ALL_TOOLS[name].packages]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=False)


def main(arguments: Sequence[str] | None = None) -> int:
    """Install what is missing and say what still is; 1 if anything is and that matters."""
    parser = argparse.ArgumentParser(prog="python -m tests.tools", description=__doc__)
    parser.add_argument("--if-possible", action="store_true", help="what cannot be is no error")
    parser.add_argument("--bench", action="store_true", help="with what benchmarks need besides")
    options = parser.parse_args(arguments)
    wanted = ALL_TOOLS if options.bench else TOOLS
    if not (lacking := missing(wanted)):
        return 0
    prefix = root_prefix(ask=not options.if_possible)
    if prefix is not None and shutil.which("apt-get") is not None:
        print(f"installing {', '.join(lacking)} ...", flush=True)
        install(lacking, prefix)
        lacking = missing(wanted)
    if lacking:
        print(f"still missing: {', '.join(lacking)}; as root: {install_line(lacking)}")
    return 1 if lacking and not options.if_possible else 0


if __name__ == "__main__":
    sys.exit(main())
