"""FMUs of FMI 3.0 on 64-bit ARM: a master in C, Debian's Python and Embree for ARM, in qemu.

``make test-aarch64`` makes what this needs (``tests/arm64.py``) and runs it. What is compared is
the same FMU in the same master on this machine, with kernels of the same level.
"""

import math
import platform
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

import build_fmus
from fmus.binding.compile import SOURCE_DIR
from fmus.fmi.arrays import Interface
from fmus.fmi.model_description import guid_of, token_of
from tests.arm64 import PYTHON, READY, ROOT, emulator
from tests.fmus.histories import parameters_of
from tests.fuzz.calls3 import words_of
from tests.masters.compiling import compile_c

pytestmark = pytest.mark.skipif(
    not READY.is_file() or platform.machine() != "x86_64",
    reason="needs a Debian for ARM in a folder: make test-aarch64",
)

MASTER = Path(__file__).parent / "twin" / "master3.c"
TARGET = "aarch64-linux-gnu.2.36"
STEPS = 20


class Case(NamedTuple):
    """An input that moves, an output that is compared, and the frame if there is one."""

    input: str
    output: str
    frame: str = ""
    step: float = 0.01


CASES: Mapping[str, Case] = {
    "Accelerometer": Case("body.acceleration", "acceleration"),
    "Encoder": Case("joint.position", "position"),
    # It measures nothing: it has to take what is set, with a scene.
    "Environment": Case("vehicle_1.position", "vehicle_1.position"),
    "Gnss": Case("body.position", "latitude"),
    "Gyroscope": Case("body.angular_velocity", "angular_rate"),
    "Imu": Case("body.angular_velocity", "gyroscope"),
    "Magnetometer": Case("body.orientation", "flux_density"),
    "Odometer": Case("joint.position", "distance"),
    "VehicleDynamics": Case("drive.left", "body.position"),
    "CcdCamera": Case("body.position", "mean_intensity", "frame.image"),
    "DepthCamera": Case("body.position", "zone.range", "frame.image"),
    "Lidar": Case("body.position", "nearest.range", "frame.cloud"),
    "Radar": Case("body.position", "target.range", "frame.detections"),
    "WaveformLidar": Case("body.position", "nearest.range", "frame.cloud"),
}


@pytest.fixture(scope="module")
def fmus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the FMUs unpacked, for both processors."""
    folder = tmp_path_factory.mktemp("arm")
    known = build_fmus.fmu_sources()
    built = build_fmus.build(
        [known[name] for name in CASES],
        folder,
        platforms=["linux64", "aarch64-linux"],
        levels=["v2"],
        interface=Interface.arrays,
    )
    for fmu in built:
        with zipfile.ZipFile(fmu) as archive:
            archive.extractall(folder / fmu.stem)
    return folder


@pytest.fixture(scope="module")
def masters(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The master for this machine, and for ARM."""
    folder = tmp_path_factory.mktemp("masters")
    arm = folder / "master3-arm"
    command = [sys.executable, "-m", "ziglang", "cc", "-target", TARGET, "-O1", "-std=c11"]
    command += ["-D_GNU_SOURCE", f"-I{SOURCE_DIR / 'fmi3'}", str(MASTER), "-o", str(arm)]
    subprocess.run([*command, "-ldl", "-lm"], check=True)
    return compile_c(folder / "master3", [MASTER]), arm


def set_first(model: str) -> str:
    """The lines that tell the master what to set."""
    layout = build_fmus.fmu_sources()[model].model.layout(Interface.arrays)
    chosen = {"scene": "targets", **parameters_of(model)}
    lines = []
    for variable in layout.variables:
        letter, _, count, *values = words_of(variable, chosen)
        if values:
            lines.append(" ".join([letter, str(variable.reference), count, *values]))
    return "\n".join(lines) + "\n"


def rows_of(master: list[str], model: str, fmu: Path, library: str, python: str) -> list[str]:
    """What the master prints."""
    source = build_fmus.fmu_sources()[model].model
    variables = {v.name: v for v in source.layout(Interface.arrays).variables}
    case = CASES[model]
    command = [*master, str(fmu / "binaries" / library / f"{model}.so")]
    command += [token_of(guid_of(model, source.table()), Interface.arrays), str(fmu / "resources")]
    clock = variables.get("sample.clock")
    command += [str(int(clock is not None)), "0", str(STEPS), str(case.step)]
    for name in (case.input, case.output):
        command += [str(variables[name].reference), str(max(1, len(variables[name].parts)))]
    command += [str(clock.reference) if clock else "0"]
    command += [str(variables[case.frame].reference) if case.frame else "-1"]
    environment = {"HOME": str(Path.home()), "PATH": "/usr/bin:/bin", "FMU_PYTHON": python}
    done = subprocess.run(
        command,
        input=set_first(model),
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        cwd=fmu,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()


def numbers(line: str) -> list[float]:
    """A row of the master."""
    return [float.fromhex(word) if "x" in word else float(word) for word in line.split()]


@pytest.mark.parametrize("model", CASES)
def test_an_fmu_measures_on_arm_what_it_measures_here(
    fmus: Path, masters: tuple[Path, Path], model: str
) -> None:
    here, arm = masters
    fmu = fmus / model
    expected = rows_of([str(here)], model, fmu, "x86_64-linux", sys.executable)
    emulated = [str(emulator()), "-L", str(ROOT), str(arm)]
    found = rows_of(emulated, model, fmu, "aarch64-linux", str(PYTHON))
    assert len(expected) == len(found) == STEPS
    assert len({line.split(maxsplit=3)[3] for line in expected}) > 3
    for ours, theirs in zip(expected, found, strict=True):
        for one, other in zip(numbers(ours), numbers(theirs), strict=True):
            assert math.isclose(one, other, rel_tol=1e-12, abs_tol=1e-15), (ours, theirs)
