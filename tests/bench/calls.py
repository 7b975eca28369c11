"""What a call costs: through all layers from C and from fmpy, and from nothing to a first step."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import fmpy
from fmpy.fmi2 import FMU2Slave

from sensor_models.output.sinks import WriteFiles
from tests.bench.bars import Bar, best_in_turns
from tests.masters.c_master import CMaster
from tests.masters.fmu_files import FmuFiles

STEP = 0.001
BODY_INPUTS = [
    *(f"body.position.{axis}" for axis in "xyz"),
    *(f"body.orientation.{axis}" for axis in "wxyz"),
    *(f"body.velocity.{axis}" for axis in "xyz"),
    *(f"body.angular_velocity.{axis}" for axis in "xyz"),
]


def start_values() -> dict[str, float]:
    """A body at rest."""
    return {name: float(name == "body.orientation.w") for name in BODY_INPUTS}


def real_outputs(files: FmuFiles) -> list[str]:
    """The Real outputs of an FMU."""
    description = fmpy.read_model_description(files.directory)
    return [
        v.name for v in description.modelVariables if v.causality == "output" and v.type == "Real"
    ]


def c_round(executable: Path, files: FmuFiles) -> float:
    """Microseconds for set 13 Reals, doStep, get 20 Reals in the C master."""
    with CMaster(executable) as master:
        instance = master.load(files).instantiate()
        instance.initialize()
        inputs = {name: (value, 0.0) for name, value in start_values().items()}
        cost = instance.bench(inputs, real_outputs(files), STEP, 100_000)
        instance.free()
    return cost.best


def call_in_c(executable: Path, null: FmuFiles, reference: FmuFiles) -> list[Bar]:
    """What our binding and base class cost for a model that costs nothing."""
    ours = min(c_round(executable, null) for _ in range(3))
    compiled = min(c_round(executable, reference) for _ in range(3))
    detail = f"compiled reference {compiled:.2f} us"
    return [Bar("C master: set 13 + doStep + get 20 Reals", ours, 12.0, "us", detail)]


class FmpySlave:
    """An initialised instance in fmpy, with what a round of calls needs."""

    def __init__(self, files: FmuFiles) -> None:
        description = fmpy.read_model_description(files.directory)
        self.fmu = FMU2Slave(
            guid=description.guid,
            unzipDirectory=str(files.directory),
            modelIdentifier=description.coSimulation.modelIdentifier,
            instanceName="bench",
        )
        self.fmu.instantiate()
        self.fmu.setupExperiment(startTime=0.0)
        self.fmu.enterInitializationMode()
        self.fmu.exitInitializationMode()
        by_name = {v.name: v for v in description.modelVariables}
        self.inputs = [by_name[name].valueReference for name in BODY_INPUTS]
        self.outputs = [
            v.valueReference
            for v in description.modelVariables
            if v.causality == "output" and v.type == "Real"
        ]
        self.time = 0.0

    def rounds(self, count: int) -> float:
        """Microseconds of this thread for one round, averaged over some.

        Of the processor: what else the machine does counts little.
        """
        fmu, inputs, outputs = self.fmu, self.inputs, self.outputs
        values = list(start_values().values())
        start = time.thread_time()
        for _ in range(count):
            fmu.setReal(inputs, values)
            fmu.doStep(self.time, STEP)
            fmu.getReal(outputs)
            self.time += STEP
        return (time.thread_time() - start) / count * 1e6

    def close(self) -> None:
        """End the instance."""
        self.fmu.terminate()
        self.fmu.freeInstance()


def call_in_fmpy(null: FmuFiles, reference: FmuFiles) -> list[Bar]:
    """The same round in a Python master, against a compiled FMU with the same variables."""
    slaves = {"ours": FmpySlave(null), "compiled": FmpySlave(reference)}
    best = best_in_turns({name: lambda s=s: s.rounds(2_000) for name, s in slaves.items()}, 20)
    for slave in slaves.values():
        slave.close()
    detail = f"{best['ours']:.1f} us, compiled reference {best['compiled']:.1f} us"
    ratio = best["ours"] / best["compiled"]
    return [Bar("fmpy: the same round, ours to compiled", ratio, 2.0, "x", detail)]


def timed(command: Sequence[str], **options: object) -> float:
    """Seconds that a command takes."""
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, **options)  # type: ignore[call-overload]  # options pass through
    return time.perf_counter() - start


def load_and_step(
    executable: Path,
    files: FmuFiles,
    scene: str = "",
    environment: Mapping[str, str] | None = None,
) -> float:
    """Seconds from the start of a C host to the end of the first step of an FMU with kernels.

    One that sees takes its first frame in that step, in ``scene``.
    """
    start = time.perf_counter()
    with CMaster(executable, environment) as master:
        instance = master.load(files).instantiate()
        if scene:
            instance.set_string({"scene": scene}).expect()
            instance.set_integer({"write_files": WriteFiles.off}).expect()
        instance.initialize()
        instance.step(0.0, STEP).expect()
        duration = time.perf_counter() - start
        instance.free()
    return duration


def load(executable: Path, encoder: FmuFiles, lidar: FmuFiles) -> list[Bar]:
    """Loading FMUs, their kernels kept, to the first step or frame, against importing Numba alone.

    The scene of the lidar is of GLB files.
    """
    loads = {
        "Encoder": lambda: load_and_step(executable, encoder),
        "Lidar": lambda: load_and_step(executable, lidar, "yard"),
    }
    for work in loads.values():
        work()  # fills the caches
    peer = {"numba": lambda: timed([sys.executable, "-c", "import numba"])}
    best = best_in_turns(loads | peer, 7)
    detail = f"import numba {best['numba']:.2f} s"
    return [
        bar
        for name in loads
        for bar in (
            Bar(f"load of {name} to its first step", best[name], 0.45, "s", detail),
            Bar("the same, to `import numba`", best[name] / best["numba"], 3.0, "x", ""),
        )
    ]


FIRST_FRAME = """
import numpy as np
from sensor_models.lidar.named import named_lidar
from sensor_models.scene.manifest import load_scene
from sensor_models.scene.tracing import RayScene
from sensor_models.sight.mount import poses_of

lidar, _ = named_lidar("", {})
with RayScene(load_scene("yard")) as rays:
    poses = poses_of(lidar.mount, np.array([[0.0, 0.0, 1.8, 1.0, 0.0, 0.0, 0.0]]))
    lidar.scan(rays, poses, 0, (0.0, 0.0), (0, lidar.pattern.columns), lidar.new_cloud())
"""


def first_frame() -> list[Bar]:
    """From the start of Python to a lidar's first frame, its scene of GLB files, caches warm."""
    ours = [sys.executable, "-c", FIRST_FRAME]
    # Installed packages have their bytecode; a checkout has it once it may be written.
    usual = {key: v for key, v in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    timed(ours, env=usual)  # fills the caches
    best = best_in_turns(
        {
            "ours": lambda: timed(ours, env=usual),
            "numba": lambda: timed([sys.executable, "-c", "import numba"], env=usual),
        },
        7,
    )
    detail = f"import numba {best['numba']:.2f} s"
    ratio = best["ours"] / best["numba"]
    return [
        Bar("start to a lidar's first frame", best["ours"], 0.45, "s", detail),
        Bar("start to a lidar's first frame, to `import numba`", ratio, 3.0, "x", detail),
    ]
