"""FMUs unpacked once in a process, and the kernels that they carry.

FMUs of the sources that this process runs share its packages (``fmus.binding.fmu_loader``). Where
kernels come from is settled when the first module that has some is imported, for the whole process.
So the places of the FMUs' kernels are made known before that: this module imports nothing of the
models, and what does is imported later. Otherwise each worker would have Numba compile what its
FMUs carry.
"""

import atexit
import shutil
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import sensor_models

#: Imported with the first module that has kernels.
_SETTLES = "sensor_models.kernels.carried"


def unpacked(part: str, file: Path) -> Path:
    """The directory with the contents of the FMU of a part; it stays as long as the process."""
    about = file.stat()
    return _unpacked(part, file, about.st_mtime_ns, about.st_size)


@cache
def _unpacked(_part: str, file: Path, _changed: int, _size: int) -> Path:
    import fmpy

    folder = tempfile.mkdtemp(dir=_place())
    fmpy.extract(str(file), folder)
    return Path(folder)


def use_kernels_of(fmus: Mapping[str, Path]) -> None:
    """Let kernels that the FMUs of parts carry be used here, if nobody has settled that yet."""
    if _SETTLES in sys.modules:
        return
    for part, file in fmus.items():
        resources = unpacked(part, file) / "resources"
        if _is_of_these_sources(resources):
            sensor_models.__path__.append(str(resources / "sensor_models"))


def _is_of_these_sources(resources: Path) -> bool:
    """Whether an FMU has the models that this process runs; others bring their own."""
    manifest = resources / "fmu.txt"
    if not manifest.is_file():
        return False
    lines = manifest.read_text(encoding="utf-8").splitlines()
    return f"sensor_models={sensor_models.SOURCE_DIGEST}" in lines


@cache
def _place() -> Path:
    place = Path(tempfile.mkdtemp(prefix="campaign-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return place
