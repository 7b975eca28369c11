"""Compiling the C sources of tests with the system's compiler. For Linux."""

import platform
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.tools import need

BINDING = Path(__file__).resolve().parents[2] / "fmus" / "binding"
FMI_HEADERS, FMI3_HEADERS = BINDING / "fmi2", BINDING / "fmi3"
FLAGS = ("-std=c11", "-D_GNU_SOURCE", "-O2", "-g", "-Wall", "-Wextra", "-Werror")

#: Folders in an FMU for the binaries of the machines that tests are run on.
PLATFORMS = {"x86_64": "linux64", "aarch64": "aarch64-linux"}


class CompilationError(Exception):
    """The compiler did not like the sources."""


def compile_c(output: Path, sources: Sequence[Path], *flags: str) -> Path:
    """Compiles and links C sources into one file, warnings being errors."""
    need("C compiler")
    files = [*map(str, sources), "-o", str(output)]
    command = [
        str(shutil.which("cc")),
        *FLAGS,
        *(f"-I{headers}" for headers in (FMI_HEADERS, FMI3_HEADERS)),
        *flags,
        *files,
        "-pthread",
        "-ldl",
        "-lm",
    ]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise CompilationError(f"{output.name} cannot be compiled:\n{run.stderr}")
    return output


def binaries_folder() -> str:
    """The folder of an FMU that holds the binaries for this machine."""
    return f"binaries/{PLATFORMS[platform.machine()]}"
