"""How FMUs find their code and packages, alone and beside others. Each test has its own process."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

import build_fmus
from fmus.binding.compile import host_platform
from tests.conftest import MODELS, SENSORS
from tests.fmus import bare_host

#: Encoder with four codes of 0.5 rad: at 1.7 rad it reports 1.5. Odometer with a wheel of 2 m.
#: The inertial sensors have noise on another axis. A sensor that is not here has no settings, and
#: reports that it has made one sample.
SETTINGS = {
    "Encoder": {"resolution": 0.5, "upper": 2.0, "joint.position": 1.7},
    "Odometer": {"wheel_radius": 2.0, "joint.position": 1.5},
    "Null": {"body.position.x": 4.0},
    "Environment": {"vehicle_1.position.x": 4.0},
    "VehicleDynamics": {"drive.left": 4.0},
    "CcdCamera": {"write_files": 1, "pixels.width": 16, "pixels.height": 12},
    "DepthCamera": {"write_files": 1},
    "Lidar": {"write_files": 1, "scene": "corridor", "max_depth": 16},
    # One ray: others would start in the ground that the sensor lies on.
    "WaveformLidar": {"write_files": 1, "beam.subrays": 1},
    "Radar": {"write_files": 1},
    "Accelerometer": {"gravity.z": -4.0, "noise.rms.x": 1.0, "drift.walk.x": 1.0, "drift.type": 1},
    "Gyroscope": {"body.angular_velocity.z": 0.5, "noise.rms.x": 1.0, "instability.x": 1.0},
    "Magnetometer": {"field.z": 0.25, "noise.rms.x": 1.0},
    "Imu": {"gravity.z": -4.0, "accelerometer.noise.rms.x": 1.0, "gyroscope.instability.x": 1.0},
}
READINGS = {
    "Encoder": ("position", 1.5),
    "Odometer": ("distance", 3.0),
    "Null": ("value.copy_1", 4.0),
    "Environment": ("vehicle_1.position.x", 4.0),
    "VehicleDynamics": ("drive.left", 4.0),
    "Accelerometer": ("acceleration.z", 4.0),
    "Gyroscope": ("angular_rate.z", 0.5),
    "Magnetometer": ("flux_density.z", 0.25),
    "Imu": ("accelerometer.z", 4.0),
}
ONE_SAMPLE = ("sample.count", 1.0)


@dataclass(frozen=True)
class Unpacked:
    """An FMU in a directory of its own."""

    model: str
    directory: Path

    @property
    def key(self) -> str:
        return str(self.directory)

    @property
    def resources(self) -> Path:
        return self.directory / "resources"


def unpack(fmu: Path, directory: Path) -> Unpacked:
    with zipfile.ZipFile(fmu) as archive:
        archive.extractall(directory)
    return Unpacked(fmu.stem, directory)


@dataclass(frozen=True)
class Answer:
    """What a host has to say of one command."""

    value: Any
    messages: list[str]


def run_host(*commands: list[Any], python: str = sys.executable, **variables: str) -> list[Answer]:
    """Have a host in a process of its own carry out commands, away from this project's tree."""
    line = [python, bare_host.__file__, json.dumps(commands)]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")} | variables
    done = subprocess.run(
        line, capture_output=True, text=True, check=False, cwd="/", env=environment
    )
    assert (done.returncode, done.stderr) == (0, "")
    return [Answer(**answer) for answer in json.loads(done.stdout)]


def life(fmu: Unpacked, settings: dict[str, Any] | None = None) -> list[list[Any]]:
    """The commands for a short life; the reading is the last but one, and then it is freed."""
    return [
        ["open", fmu.key],
        ["start", fmu.key, {**SETTINGS.get(fmu.model, {}), **(settings or {})}],
        ["step", fmu.key, 0.0, 0.1],
        ["get", fmu.key, READINGS.get(fmu.model, ONE_SAMPLE)[0]],
        ["free", fmu.key],
    ]


def check_life(model: str, answers: list[Answer]) -> None:
    """Whether a life went well and ended with the right reading."""
    assert [answer.messages for answer in answers] == [[]] * 5
    reading = READINGS.get(model, ONE_SAMPLE)[1]
    assert [answer.value for answer in answers] == [True, 0, 0, reading, None]


# ---- other sources in one process ----------------------------------------------------------------


@pytest.fixture(scope="module")
def changed_directory(fmu_directory: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """FMUs that were built from a copy of the sources with one line more."""
    tree = tmp_path_factory.mktemp("changed")
    ignored = shutil.ignore_patterns("__pycache__")
    for folder in ("sensor_models", "fmus", "scenes", "build/binding"):
        shutil.copytree(build_fmus.ROOT / folder, tree / folder, ignore=ignored)
    for file in ("build_fmus.py", "pyproject.toml", "LICENSE"):
        shutil.copy(build_fmus.ROOT / file, tree / file)
    with (tree / "sensor_models" / "wheel" / "odometer.py").open("a") as source:
        source.write("\n#: Not in the other one.\nCHANGED = True\n")
    host = host_platform()
    command = [sys.executable, "build_fmus.py", "--output", "fmus_built", "--platforms", host]
    command += ["--only", "Encoder", "Odometer"]
    subprocess.run(command, cwd=tree, check=True, capture_output=True)
    return tree / "fmus_built"


@pytest.mark.parametrize("changed_first", [False, True])
def test_an_fmu_of_other_sources_in_the_same_process_is_refused(
    fmu_directory: Path, changed_directory: Path, tmp_path: Path, changed_first: bool
) -> None:
    directories = [fmu_directory, changed_directory]
    if changed_first:
        directories.reverse()
    first = unpack(directories[0] / "Encoder.fmu", tmp_path / "first")
    other = unpack(directories[1] / "Odometer.fmu", tmp_path / "other")
    *opened, refused, _, _, reading, _ = run_host(
        ["open", first.key], ["open", other.key], *life(first)[1:]
    )
    assert [answer.value for answer in opened] == [True]
    assert refused.value is False
    (message,) = refused.messages
    assert "this FMU was built from other sources of 'sensor_models'" in message
    assert "Build all FMUs of one simulation with one run of build_fmus.py" in message
    assert "or run them in separate processes" in message
    assert len(set(re.findall(r"\b[0-9a-f]{32}\b", message))) == 2, "both digests"
    assert reading.value == 1.5, "the first one goes on"


def test_fmus_of_other_sources_run_in_separate_processes(
    changed_directory: Path, tmp_path: Path
) -> None:
    odometer = unpack(changed_directory / "Odometer.fmu", tmp_path / "changed")
    check_life("Odometer", run_host(*life(odometer)))


# ---- directories that come and go ----------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
def test_an_fmu_runs_again_from_another_directory_when_the_first_one_is_gone(
    fmu_directory: Path, tmp_path: Path, model: str
) -> None:
    first = unpack(fmu_directory / f"{model}.fmu", tmp_path / "first")
    second = unpack(fmu_directory / f"{model}.fmu", tmp_path / "second")
    answers = run_host(*life(first), ["remove", first.key], *life(second))
    check_life(model, answers[:5])
    check_life(model, answers[6:])


@pytest.mark.parametrize(
    "models",
    [
        ("Encoder", "Odometer"),
        ("Odometer", "Encoder"),
        ("Null", "Encoder"),
        ("Encoder", "Null"),
        ("Encoder", "Imu"),
        ("Imu", "Encoder"),
    ],
)
def test_another_fmu_runs_when_the_directory_of_the_first_one_is_gone(
    fmu_directory: Path, tmp_path: Path, models: tuple[str, str]
) -> None:
    one, other = (unpack(fmu_directory / f"{model}.fmu", tmp_path / model) for model in models)
    # a record and a preset are read and imported late
    late: dict[str, Any] = {"record": 1, "output_directory": str(tmp_path / "record")}
    if other.model == "Encoder":
        late["preset"] = "AMT102-V"
    answers = run_host(*life(one), ["remove", one.key], *life(other, late))
    check_life(one.model, answers[:5])
    check_life(other.model, answers[6:])
    assert list((tmp_path / "record").glob("*.parquet"))


def test_an_instance_goes_on_when_its_directory_is_gone(
    fmu_directory: Path, tmp_path: Path
) -> None:
    encoder = unpack(fmu_directory / "Encoder.fmu", tmp_path / "encoder")
    opening, starting, *others = life(encoder)
    answers = run_host(opening, starting, ["remove", encoder.key], *others)
    check_life("Encoder", answers[:2] + answers[3:])


@pytest.mark.parametrize("order", [("Null", "Encoder"), ("Encoder", "Null")])
def test_an_fmu_with_a_main_module_of_its_own_runs_beside_the_others(
    fmu_directory: Path, tmp_path: Path, order: tuple[str, str]
) -> None:
    one, other = (unpack(fmu_directory / f"{model}.fmu", tmp_path / model) for model in order)
    together = [command for pair in zip(life(one), life(other), strict=True) for command in pair]
    answers = run_host(*together)
    check_life(one.model, answers[::2])
    check_life(other.model, answers[1::2])


#: What else kernels are called for: other settings of some models.
FURTHER = [
    ("Radar", {"model": 1, "cube.on": 1}),
    ("CcdCamera", {"flow.forward": 1, "segmentation": 1, "shutter": 1, "motion_samples": 2}),
    ("DepthCamera", {"flow.forward": 1, "noise.on": 1, "return_pointcloud": 1}),
    ("Lidar", {"scan_mode": 1, "return_mode": 4, "beam.subrays": 4}),
]


@pytest.mark.parametrize(
    ("model", "settings"),
    [*((model, {}) for model in (*SENSORS, "Environment")), *FURTHER],
)
def test_no_kernel_is_compiled_or_loaded_while_the_simulation_runs_and_all_are_carried(
    fmu_directory: Path, tmp_path: Path, model: str, settings: dict[str, Any]
) -> None:
    rate = {"sample_rate": 100.0} if model in SENSORS else {}
    fmu = unpack(fmu_directory / f"{model}.fmu", tmp_path / model)
    answers = run_host(
        ["block", "numba", "llvmlite"],
        ["open", fmu.key],
        ["start", fmu.key, {**SETTINGS.get(model, {}), **settings, **rate}],
        ["kernels"],
        ["step", fmu.key, 0.0, 0.125],
        ["step", fmu.key, 0.125, 0.125],
        ["kernels"],
    )
    assert [answers[k].value for k in (2, 4, 5)] == [0, 0, 0]
    assert answers[3].value, "there are kernels"
    assert answers[6].value == answers[3].value
    elsewhere = [text for text in answers[6].value if not text.endswith(", 0, 0)")]
    assert elsewhere == [], "neither the cache nor Numba made any"


# ---- packages ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An interpreter of this version that has no packages."""
    directory = tmp_path_factory.mktemp("bare")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(directory)], check=True)
    folder = "Scripts" if sys.platform == "win32" else "bin"
    return str(directory / folder / Path(sys.executable).name)


@pytest.mark.parametrize("record", ["", "abi=another\npackages=/\n", "packages=\n", None])
def test_missing_packages_are_named_with_version_and_remedy(
    fmu_directory: Path, tmp_path: Path, bare_python: str, record: str | None
) -> None:
    encoder = unpack(fmu_directory / "Encoder.fmu", tmp_path / "encoder")
    place = encoder.resources / "python.txt"
    if record is None:
        place.unlink()
    else:
        place.write_text(record)
    (answer,) = run_host(["open", encoder.key], python=bare_python)
    assert answer.value is False
    (message,) = answer.messages
    for line in (encoder.resources / "requirements.txt").read_text().splitlines():
        name = re.split("[<>=]", line)[0]
        if name == "numpy":
            assert f"{name} is not installed ({line} is needed)" in message
    assert "numpy>=" in message
    assert "numba" not in message
    assert sys.version.split()[0] in message
    assert f'Install it with: "{bare_python}" -m pip install "' in message
    for line in (encoder.resources / "requirements.txt").read_text().splitlines():
        assert (f'"{line.partition(";")[0]}"' in message) is (";" not in line)
    assert "FMU_PYTHON" in message


def test_a_package_of_the_wrong_version_is_named_with_both_versions(
    fmu_directory: Path, tmp_path: Path
) -> None:
    encoder = unpack(fmu_directory / "Encoder.fmu", tmp_path / "encoder")
    requirements = encoder.resources / "requirements.txt"
    requirements.write_text("numpy>=99.5\nnumba>=0.60\n")
    (answer,) = run_host(["open", encoder.key])
    assert answer.value is False
    (message,) = answer.messages
    assert f"numpy {version('numpy')} is installed, numpy>=99.5 is needed" in message
    assert "numba" not in message.partition("Install it with")[0]
    assert '-m pip install "numpy>=99.5" "numba>=0.60"' in message


def test_the_recorded_packages_serve_a_bare_python_of_the_same_version(
    fmu_directory: Path, tmp_path: Path, bare_python: str
) -> None:
    encoder = unpack(fmu_directory / "Encoder.fmu", tmp_path / "encoder")
    late = {"record": 1, "output_directory": str(tmp_path / "record")}
    check_life("Encoder", run_host(*life(encoder, late), python=bare_python))
    assert list((tmp_path / "record").glob("*.parquet"))


# ---- an interrupted host -------------------------------------------------------------------------


#: A host that is interrupted in one of many steps of nine million samples; says what it sees of
#: that. However fast or busy the machine is, it is at one of them when the interrupt comes.
INTERRUPTED = """
import signal
import sys
from pathlib import Path
from tests.fmus.host import open_fmu
# A shell has jobs in the background ignore it, and they hand that on.
signal.signal(signal.SIGINT, signal.default_int_handler)
with open_fmu(Path(sys.argv[1])) as encoder:
    encoder.initialize({"sample_rate": 1e5, "inputs_at_step_end": True})
    encoder.step(0.0, 0.1)
    try:
        print("stepping", flush=True)
        for k in range(1000):
            encoder.step(0.1 + 90.0 * k, 90.0)
        print("the steps ended")
    except KeyboardInterrupt:
        print("interrupted")
"""


def test_an_interrupt_during_a_step_reaches_the_host(encoder_fmu: Path) -> None:
    # For systems with POSIX signals.
    environment = {**os.environ, "PYTHONPATH": str(build_fmus.ROOT)}
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, str(encoder_fmu)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        text=True,
    ) as host:
        assert host.stdout is not None
        assert host.stdout.readline() == "stepping\n"
        time.sleep(0.3)  # into a step
        host.send_signal(signal.SIGINT)
        try:
            output, errors = host.communicate(timeout=120.0)
        finally:
            host.kill()
    assert output == "interrupted\n", errors
