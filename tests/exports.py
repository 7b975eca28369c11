"""Which kernels the FMUs call, found by running each of them in many ways.

``python -m tests.exports`` (``make exports``) writes what it finds into the tables of exports
beside the kernels; run it when kernels that Python calls, or their arguments, have changed. With
names of FMUs, it runs only those.
"""

import json
import os
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import build_fmus
from fmus.binding.compile import host_platform
from fmus.building.exports import exports_in, tables_of
from fmus.building.kernel_libraries import environment_of, run_script, write_files
from sensor_models._levels import host_level
from sensor_models.core.exports import FILE, KERNELS, Export, exports_of, read_exports


def run_in_many_ways(resources: Path, answer: Path, *options: str) -> dict[str, Any]:
    """What ``exercise.py`` tells of an unpacked FMU."""
    environment = environment_of(host_level(), [host_platform()])
    run_script("exercise.py", os.environ if options else environment, resources, answer, *options)
    known: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
    return known


def called_by_all(folder: Path, names: Sequence[str]) -> list[Export]:
    """The kernels that FMUs call, with Numba to compile them; of others what is declared."""
    sources = build_fmus.fmu_sources()
    scenes, place = build_fmus.built_in_scenes(), build_fmus.python_place(sys.executable)

    def called_by(name: str) -> list[Any]:
        if name not in names:
            declared = exports_of(name, read_exports())
            return [([e.module, e.name, 0], [e.arguments]) for e in declared]
        files = dict(build_fmus.resource_files(sources[name], place, scenes, [""]))
        write_files(folder / name, files)
        answer = folder / f"{name}.json"
        calls: list[Any] = run_in_many_ways(folder / name / "resources", answer)["kernels"]
        print(f"{name} calls {len(calls)} kernels", flush=True)
        return calls

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return exports_in(dict(zip(sources, pool.map(called_by, sources), strict=True)))


def write_tables(exports: Sequence[Export]) -> None:
    """Write the table of each family, and remove those of families without exports."""
    tables = tables_of(exports)
    for file in KERNELS.glob(f"*/{FILE}"):
        if file.parent.name not in tables:
            file.unlink()
    for family, text in tables.items():
        (KERNELS / family / FILE).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        write_tables(called_by_all(Path(folder), sys.argv[1:] or list(build_fmus.fmu_sources())))
