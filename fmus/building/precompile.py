"""Compile kernels for libraries, in a process whose Numba compiles for one level of processors.

    python precompile.py FOLDER RESOURCES...

Each line of standard input is JSON: a list of kernels, each with module, name and the kinds of its
arguments. ``FOLDER`` gets ``PLATFORM/NAME.o`` for each; standard output gets the name of each that
had to be compiled, and after each list one of JSON that describes the list's kernels in their
order. Environment variables say for which processor Numba compiles, and for which platforms objects
are made (``kernels/compiling.py``); objects in the cache are taken from there. The FMUs that
declare the kernels are unpacked in ``RESOURCES``.

This file imports nothing of the project, because the FMUs bring their own copies.
"""

import importlib
import importlib.util
import json
import sys
from pathlib import Path
from typing import Any


def load(resources: Path, loader: Any) -> str:
    """Import the class of an unpacked FMU; returns the prefix of the names of its packages."""
    manifest = loader.read_lines(str(resources / "fmu.txt"))
    home: str = loader.load_packages(str(resources), manifest)
    loader.load_class(manifest, str(resources), home)
    return home


def module_at(path: Path) -> Any:
    """A module from a file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no module")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def find_kernel(module: str, name: str, home: str, compiling: Any) -> Any:
    """A kernel of the packages by its module, or of a file that an FMU brought by its digest."""
    if module.startswith("kernels."):
        importlib.import_module(f"{home}sensor_models.{module}")
    found = [k for k in compiling.KERNELS if k.place()[:2] == (module, name)]
    if len(found) != 1:
        raise ImportError(f"{module} declares {len(found)} kernels {name}")
    return found[0]


def compile_kernel(kernel: Any, kinds: Any, folder: Path) -> dict[str, Any]:
    """Write the objects of a kernel for these kinds of arguments; returns its description."""
    before = kernel.stats.compiled
    known: dict[str, Any] = {}
    for platform, code in kernel.objects(kinds).items():
        (folder / platform).mkdir(parents=True, exist_ok=True)
        (folder / platform / f"{code.name}.o").write_bytes(code.object_file)
        known = {name: value for name, value in vars(code).items() if name != "object_file"}
    if kernel.stats.compiled > before:
        print(".".join(kernel.place()[:2]), flush=True)
    return known


def main(arguments: list[str]) -> None:
    """Compile list after list."""
    folder, *places = map(Path, arguments)
    loader = module_at(places[0] / "fmu_loader.py")
    (home,) = {load(place, loader) for place in places}  # the same sources: the same packages
    compiling = importlib.import_module(f"{home}sensor_models.kernels.compiling")
    for line in sys.stdin:
        known = []
        for module, name, kinds in json.loads(line):
            kernel = find_kernel(module, name, home, compiling)
            given = compiling.machine_code.as_tuples(kinds)
            known.append(compile_kernel(kernel, given, folder))
        print(json.dumps(known), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
