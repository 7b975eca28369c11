"""What FMI 3.0 costs beside FMI 2.0: rounds of calls on ``Imu`` from C, and frames as Binary."""

import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

import build_fmus
from fmus.binding.compile import host_platform
from fmus.fmi.arrays import Interface
from tests.bench.bars import Bar
from tests.fmus.host import unpacked
from tests.fmus.twins import Twin
from tests.masters.compiling import compile_c

SOURCE = Path(__file__).with_name("versions.c")
#: Five arrays that are set in a round, and five that are got.
INPUTS = ("position", "orientation", "velocity", "angular_velocity", "acceleration")
OUTPUTS = ("accelerometer", "gyroscope", "magnetometer", "delta_angle", "delta_velocity")
#: A frame of 131,072 points on the ground, and one of as many rays some of which return nothing.
RAYS = {"pattern.rows": 128, "pattern.columns": 1024, "scene": "yard", "write_files": 1}
FRAMES = {
    "all rays return": {**RAYS, "pattern.elevation.min": -0.8, "pattern.elevation.max": -0.4},
    "some rays do not": RAYS,
}


def bars() -> list[Bar]:
    """All of them, with FMUs that are built for it."""
    known, platforms = build_fmus.fmu_sources(), [host_platform()]
    sources = [known["Imu"], known["Lidar"]]
    with tempfile.TemporaryDirectory() as folder:
        two, three = Path(folder) / "fmus", Path(folder) / "fmus3"
        build_fmus.build(sources, two, platforms=platforms)
        build_fmus.build(sources, three, platforms=platforms, interface=Interface.arrays)
        return [*rounds(Path(folder), two, three), *frames(three)]


def references(directory: Path) -> dict[str, str]:
    """The value references of an unpacked FMU by name, and its GUID or token."""
    root = ElementTree.parse(directory / "modelDescription.xml").getroot()
    variables = root.iterfind("ModelVariables/*")
    found = {str(e.get("name")): str(e.get("valueReference")) for e in variables}
    return {**found, "": str(root.get("guid") or root.get("instantiationToken"))}


def groups_of(two: dict[str, str], three: dict[str, str], names: tuple[str, ...]) -> list[str]:
    """The words that tell of groups: size, the array, the scalars."""
    words = []
    for name in names:
        scalars = [two[f"{name}.{axis}"] for axis in "wxyz" if f"{name}.{axis}" in two]
        words += [str(len(scalars)), three[name], *scalars]
    return words


def rounds(directory: Path, fmus: Path, fmus3: Path) -> list[Bar]:
    """A round of calls from C: five arrays set, a step, five arrays got."""
    program = compile_c(directory / "versions", [SOURCE])
    with unpacked(fmus / "Imu.fmu") as two, unpacked(fmus3 / "Imu.fmu") as three:
        own, other = references(two), references(three)
        command = [str(program), "10000"]
        for place, known in ((two, own), (three, other)):
            (library,) = (place / "binaries").rglob("Imu.so")
            command += [str(library), known[""], str(place / "resources")]
        inputs = tuple(f"body.{name}" for name in INPUTS)
        command += [str(len(inputs)), str(len(OUTPUTS))]
        command += [*groups_of(own, other, inputs), *groups_of(own, other, OUTPUTS)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    once2, once3, each2, each3 = map(float, done.stdout.split())
    return [
        Bar(
            "Imu from C, FMI 3.0 to 2.0: all in one call",
            once3 / once2,
            1.2,
            "x",
            f"{once3:.0f} ns to {once2:.0f} ns",
        ),
        Bar(
            "Imu from C, FMI 3.0 to 2.0: a call for each of 10 arrays",
            each3 / each2,
            1.2,
            "x",
            f"{each3:.0f} ns to {each2:.0f} ns",
        ),
    ]


def frames(fmus3: Path) -> list[Bar]:
    """Frames of either kind."""
    return [frame(fmus3, text, own) for text, own in FRAMES.items()]


def frame(fmus3: Path, text: str, own: Mapping[str, Any], steps: int = 120) -> Bar:
    """How long reading ``frame.cloud`` of each second step takes; steps before and after it."""
    reads: list[float] = []
    spent: tuple[list[float], list[float]] = ([], [])
    with unpacked(fmus3 / "Lidar.fmu") as directory:
        lidar = Twin(directory, "bench")
        lidar.initialize({**own, "sample_rate": 10.0, "mount.position.z": 1.0})
        for k in range(steps):
            start = time.perf_counter()
            lidar.step(0.1 * k, 0.1)
            stepped = time.perf_counter()
            spent[k % 2].append(stepped - start)
            if k % 2:
                view = lidar.view("frame.cloud")
                reads.append(time.perf_counter() - stepped)
        points = len(view) // lidar.record_of("frame.cloud").itemsize
        lidar.slave.freeInstance()
    read, after, other = (1e3 * float(np.median(times)) for times in (reads, *spent))
    detail = f"{points} points; a step {other:.1f} ms, after a frame was read {after:.1f} ms"
    return Bar(f"frame.cloud, {text}: reading it", read, 0.3, "ms", detail)
