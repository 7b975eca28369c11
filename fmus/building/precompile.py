"""Compile kernels for libraries, in a process whose Numba compiles for one level of processors.

    python precompile.py LIST FOLDER RESOURCES...

``LIST`` is JSON: kernels, each with its place and the kinds of arguments that it is called with, as
``exercise.py`` finds them. The FMUs that declare them are unpacked in ``RESOURCES``. ``FOLDER``
gets ``PLATFORM/NAME.o`` for each kernel, and ``kernels.json``, which describes all of them in the
order of the list. Environment variables say for which processor Numba compiles, and for which
platforms objects are made (``kernels/compiling.py``); objects in the cache are taken from there.

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


def compile_kernel(kernel: Any, kinds: Any, folder: Path) -> dict[str, Any]:
    """Write the objects of a kernel for these kinds of arguments; returns its description."""
    before = kernel.stats.compiled
    known: dict[str, Any] = {}
    for platform, code in kernel.objects(kinds).items():
        (folder / platform).mkdir(parents=True, exist_ok=True)
        (folder / platform / f"{code.name}.o").write_bytes(code.object_file)
        known = {name: value for name, value in vars(code).items() if name != "object_file"}
    if kernel.stats.compiled > before:
        print(f"compiled {'.'.join(kernel.place()[:2])}", flush=True)
    return known


def main(arguments: list[str]) -> None:
    """Compile all that is in the list."""
    wanted, folder, *places = map(Path, arguments)
    loader = module_at(places[0] / "fmu_loader.py")
    homes = {load(place, loader) for place in places}
    (home,) = homes  # FMUs of the same sources share their packages
    compiling = importlib.import_module(f"{home}sensor_models.kernels.compiling")
    known = []
    for place, all_kinds in json.loads(wanted.read_text(encoding="utf-8")):
        if place[0].startswith("kernels."):  # else it is in a file that an FMU brought
            importlib.import_module(f"{home}sensor_models.{place[0]}")
        kernel = next(k for k in compiling.KERNELS if list(k.place()) == place)
        for kinds in all_kinds:
            given = compiling.machine_code.as_tuples(kinds)
            known.append(compile_kernel(kernel, given, folder))
    (folder / "kernels.json").write_text(json.dumps(known), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
