"""FMUs of FMI 3.0 in a master in C, with the address sanitizer where gcc has it. For Linux."""

import math
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from fmus.binding.compile import SOURCE_DIR
from sensor_models.output.sinks import WriteFiles
from tests.fmus.twins import Twin, open_twin
from tests.fuzz.calls import OPTIONS, SANITIZER, has_sanitizer
from tests.masters.compiling import compile_c

SOURCE = Path(__file__).parent / "twin" / "master3.c"
LETTERS = {"Float64": "R", "Int32": "I", "Enumeration": "C", "Boolean": "B", "String": "S"}

IMU = {"sample_rate": 70.0, "accelerometer.noise.rms.x": 0.01, "mount.position.z": 0.5}
LIDAR = {
    "scene": "targets", "write_files": WriteFiles.off, "sample_rate": 7.0, "mount.position.z": 1.5,
    "pattern.rows": 4, "pattern.columns": 30, "noise.distance_sigma_base": 0.02,
}  # fmt: skip


class Case(NamedTuple):
    """What is run: an FMU, its parameters, an input, an output, a clock and a Binary."""

    model: str
    parameters: Mapping[str, Any]
    input: str
    output: str
    clock: str
    binary: str
    size: float


CASES = [
    Case("Imu", IMU, "body.angular_velocity", "gyroscope", "sample.clock", "", 0.01),
    Case("Lidar", LIDAR, "body.position", "nearest.range", "frame.clock", "frame.cloud", 0.1),
]
STEPS = 40


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The master and the binding."""
    directory = tmp_path_factory.mktemp("master3")
    flags = SANITIZER if has_sanitizer(directory) else ()
    own = ("-shared", "-fPIC", "-fvisibility=hidden", "-std=gnu11", *flags)
    library = compile_c(directory / "binding.so", sorted(SOURCE_DIR.glob("*.c")), *own)
    return compile_c(directory / "master3", [SOURCE], *flags), library


def lines_of(twin: Twin, parameters: Mapping[str, Any]) -> str:
    """What the master is to set."""
    twin.set(parameters)
    lines = []
    for name in dict.fromkeys(twin.scalars[scalar].array for scalar in parameters):
        values = twin.array(name)
        texts = [v if isinstance(v, str) else f"{float(v):.17g}" for v in values]
        variable = twin.arrays[name]
        about = [LETTERS[variable.type], str(variable.valueReference), str(len(values))]
        lines.append(" ".join([*about, *texts]))
    return "\n".join(lines) + "\n"


def in_fmpy(twin: Twin, case: Case, *, events: bool) -> list[list[float]]:
    """The rows that the master in C has to print, made by fmpy."""
    twin.initialize()
    if events:
        twin.slave.enterStepMode()
    rows, time = [], 0.0
    for _ in range(STEPS):
        size = len(twin.array(case.input))
        twin.set_array(case.input, [math.sin(3.0 * time + i) for i in range(size)])
        told = twin.step(time, case.size)
        time, tick = told.time, 0
        if told.event:
            twin.slave.enterEventMode()
            tick = int(twin.ticks(case.clock))
            twin.slave.updateDiscreteStates()
            twin.slave.enterStepMode()
        row = [time, int(told.early), tick, *twin.array(case.output)]
        if case.binary:
            content = twin.binary(case.binary)
            row += [len(content), sum(content)]
        rows.append(row)
    return rows


@pytest.mark.parametrize("events", [False, True])
@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.model)
def test_c_and_fmpy_see_the_same(
    fmu3_directory: Path,
    compiled: tuple[Path, Path],
    tmp_path: Path,
    case: Case,
    early: bool,
    events: bool,
) -> None:
    master, library = compiled
    fmu = fmu3_directory / f"{case.model}.fmu"
    with open_twin(fmu, event_mode=events, early_return=early) as twin:
        given = lines_of(twin, case.parameters)
        expected = in_fmpy(twin, case, events=events)
        names = {n: v.valueReference for n, v in twin.arrays.items()}
        token = twin.description.instantiationToken
        sizes = [str(len(twin.array(n))) for n in (case.input, case.output)]
        resources = tmp_path / "resources"
        shutil.copytree(Path(twin.slave.unzipDirectory) / "resources", resources)
    own = tmp_path / "binding.so"
    shutil.copyfile(library, own)
    command = [str(master), str(own), token, str(resources), str(int(events)), str(int(early))]
    command += [str(STEPS), str(case.size), str(names[case.input]), sizes[0]]
    command += [str(names[case.output]), sizes[1], str(names[case.clock])]
    command += [str(names[case.binary]) if case.binary else "-1"]
    environment = {**OPTIONS, "HOME": str(Path.home()), "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        command, input=given, capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr[-3000:]
    rows = [[float.fromhex(word) if "x" in word else float(word) for word in line.split()]
            for line in done.stdout.splitlines()]  # fmt: skip
    assert rows == expected
    assert any(row[1] for row in rows) == (early and case.model == "Lidar")
    assert any(row[2] for row in rows) == events
    assert len({tuple(row[3:]) for row in rows}) > 3
