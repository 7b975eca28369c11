"""What sensors that see take of memory: one, and ten on the same scene.

Figures are private pages (``Private_Clean`` and ``Private_Dirty`` of ``/proc/PID/smaps_rollup``) of
a process in plain C that opens the FMU: what would be free again if it ended. What an interpreter
takes that has imported NumPy, and nothing else, is taken off. Each kind has a process of its own.
"Idle" is initialised by all defaults, in the yard, which each names itself; frames are of one step,
without files.

``python -m tests.bench.memory`` prints the table of docs/measured.md.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import build_fmus
from fmus.binding.compile import host_platform
from sensor_models.output.sinks import WriteFiles
from tests.bench.bars import Bar
from tests.masters.c_instance import Instance
from tests.masters.c_master import CMaster, Library, build_master
from tests.masters.fmu_files import FmuFiles

#: The kinds, and what is not left as it is.
KINDS: dict[str, dict[str, int]] = {
    "CcdCamera": {},
    "DepthCamera": {},
    "Lidar": {},
    "Radar": {"model": 1},  # ray traced
    "WaveformLidar": {},
}
INSTANCES, STEP = 10, 0.25
MEGABYTE = 1024.0  # of the kB of smaps_rollup
#: Megabytes that an idle sensor may take over Python and NumPy, and each further lidar.
IDLE, FURTHER = 60.0, 9.0


@dataclass(frozen=True)
class Taken:
    """Megabytes over Python and NumPy."""

    idle: float
    one: float  # after its first frame
    ten: float  # after the first frame of each

    @property
    def further(self) -> float:
        """What each further one takes."""
        return (self.ten - self.one) / (INSTANCES - 1)


def private(pid: int) -> float:
    """The private pages of a process, MB."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    pages = re.findall(r"^Private_(?:Clean|Dirty):\s+(\d+) kB", text, re.MULTILINE)
    return sum(map(int, pages)) / MEGABYTE


def of_python() -> float:
    """The private pages of an interpreter with NumPy, MB."""
    code = "import numpy, sys; print(flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        return private(process.pid)  # leaving closes its input, which ends it


def begun(library: Library, number: int, values: dict[str, int]) -> Instance:
    """An initialised instance."""
    instance = library.instantiate(f"instance{number}")
    instance.set_integer({"write_files": WriteFiles.off, **values}).expect()
    instance.initialize()
    return instance


def taken(master: Path, files: FmuFiles, kind: str) -> Taken:
    """What one sensor of a kind takes, and ten."""
    bare, environment = of_python(), {"HOME": os.environ.get("HOME", "")}
    with CMaster(master, environment) as process:
        library = process.load(files)
        first = begun(library, 0, KINDS[kind])
        idle = private(process.pid)
        first.step(0.0, STEP).expect()
        one = private(process.pid)
        others = [begun(library, number, KINDS[kind]) for number in range(1, INSTANCES)]
        for instance in others:
            instance.step(0.0, STEP).expect()
        ten = private(process.pid)
        for instance in (first, *others):
            instance.free()
    return Taken(idle - bare, one - bare, ten - bare)


def bars(master: Path, fmu: Callable[[str], FmuFiles]) -> list[Bar]:
    """The bars of memory."""
    found = {kind: taken(master, fmu(kind), kind) for kind in KINDS}
    idle = [
        Bar(f"idle {kind}, over Python and NumPy", one.idle, IDLE, "MB",
            f"{one.one:.0f} after a frame, ten {one.ten:.0f}")
        for kind, one in found.items()
    ]  # fmt: skip
    lidar = found["Lidar"]
    return [*idle, Bar("each further Lidar on a scene", lidar.further, FURTHER, "MB", "its frames")]


def main() -> None:
    """Print the table."""
    print("| FMU | idle, MB | after a frame, MB | each further one, MB |")
    print("| --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as name:
        folder, sources = Path(name), build_fmus.fmu_sources()
        used = [sources[kind] for kind in KINDS]
        build_fmus.build(used, folder, platforms=[host_platform()], levels=["host"])
        master = build_master(folder)
        for kind in KINDS:
            files = FmuFiles.unpack(folder / f"{kind}.fmu", folder / kind)
            one = taken(master, files, kind)
            print(f"| `{kind}` | {one.idle:.0f} | {one.one:.0f} | {one.further:.1f} |", flush=True)


if __name__ == "__main__":
    main()
