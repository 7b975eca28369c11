"""The sensors in masters that are Python programs: the same results as in C. For Linux."""

import dataclasses
import json
import math
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.masters.c_master import CMaster
from tests.masters.fmu_files import FmuFiles
from tests.masters.hosts.task import Rows, Sensor, Task
from tests.tools import need

ROOT = Path(__file__).resolve().parents[2]

#: The hosts; libcosimpy has no package for Python 3.10 (pyproject.toml says the same).
HOSTS = ("fmpy_single", "fmpy_ssp", "ecos", *(("cosim",) if sys.version_info >= (3, 11) else ()))

STEP, STEPS = 0.1, 40

#: Stamps are computed from the index of a sample, so they are equal; between two steps readings
#: are interpolated, with weights that carry the rounding of each master's clock (1e-15 s here). The
#: slope of an acceleration in a step of h with a way of x is 12 x / h^3, here up to 3600 m/s3.
ALLOWED = 1e-11

SENSORS: dict[str, dict[str, float]] = {
    "Encoder": {"resolution": math.tau / 64, "noise.rms": 0.05, "sample_rate": 30.0},
    "Odometer": {"wheel_radius": 0.25, "noise.rms": 0.01, "sample_rate": 30.0},
    "Imu": {
        "sample_rate": 30.0,
        "mount.position.x": 0.3,
        "mount.orientation.y": 0.5,
        "accelerometer.noise.density.x": 0.01,
        "accelerometer.filter.cutoff": 5.0,
        "accelerometer.delay": 0.04,
        "gyroscope.instability.y": 0.1,
        "gyroscope.linear_acceleration_effect.zz": 0.01,
        "magnetometer.field.x": 2e-5,
        "magnetometer.noise.rms.z": 1e-6,
    },
}

#: What the sensors are moved by; all that is not here stays as it starts.
MOTION: dict[str, Callable[[float], float]] = {
    "joint.position": math.sin,
    "joint.velocity": math.cos,
    "body.position.x": math.sin,
    "body.velocity.x": math.cos,
    "body.orientation.w": lambda phase: math.cos(phase / 4),
    "body.orientation.z": lambda phase: math.sin(phase / 4),
    "body.angular_velocity.z": lambda phase: 1.5 + math.sin(phase),
    "temperature": lambda phase: 300.0 + phase,
}


def sensor_of(model: str, files: FmuFiles, fmu: Path) -> Sensor:
    """A sensor with noise, on a joint that goes back and forth, or a body that also turns."""
    inputs = {
        name: [function(0.3 * k) for k in range(STEPS)]
        for name, function in MOTION.items()
        if name in files.variables
    }
    return Sensor(
        fmu=str(fmu),
        name=model.lower(),
        parameters=SENSORS.get(model, {}),
        inputs=inputs,
        real_outputs=files.names("output", "Real"),
        integer_outputs=files.names("output", "Integer"),
        references={v.name: v.reference for v in files.variables.values()},
    )


@pytest.fixture(scope="module")
def files_of(
    fmu_directory: Path,
    sensor_files: Mapping[str, FmuFiles],
    tmp_path_factory: pytest.TempPathFactory,
) -> Mapping[str, FmuFiles]:
    """The FMUs by name, unpacked."""
    others = {
        model: FmuFiles.unpack(fmu_directory / f"{model}.fmu", tmp_path_factory.mktemp(model))
        for model in SENSORS.keys() - sensor_files.keys()
    }
    return {**sensor_files, **others}


@pytest.fixture(scope="module")
def task(fmu_directory: Path, files_of: Mapping[str, FmuFiles]) -> Task:
    """All sensors, twice in one process."""
    sensors = [
        sensor_of(model, files_of[model], fmu_directory / f"{model}.fmu") for model in SENSORS
    ]
    return Task(sensors, STEP, STEPS, runs=2)


def as_the_host_does(host: str, sensor: Sensor) -> Sensor:
    """The sensor with the instance name, and the inputs at each step, that a host gives it."""
    if host == "fmpy_single":
        return dataclasses.replace(sensor, name=Path(sensor.fmu).stem)
    if host == "fmpy_ssp":
        delayed = {name: [0.0, *values[:-1]] for name, values in sensor.inputs.items()}
        return dataclasses.replace(sensor, inputs=delayed)
    if host == "ecos":
        return dataclasses.replace(sensor, name=sensor.fmu)
    return sensor


def in_the_c_master(master: CMaster, files: FmuFiles, sensor: Sensor) -> Rows:
    instance = master.load(files).instantiate(sensor.name)
    instance.set_real(sensor.parameters).expect()
    instance.initialize()
    rows = []
    for k in range(STEPS):
        instance.set_real({name: values[k] for name, values in sensor.inputs.items()}).expect()
        instance.step(k * STEP, STEP).expect()
        reals = instance.get_real(sensor.real_outputs).reals()
        rows.append([*reals, *instance.get_integer(sensor.integer_outputs).integers()])
    return rows


def in_a_host(host: str, task: Task, directory: Path) -> list[list[Rows]]:
    """The rows of each sensor in each run; the process must end well and silently."""
    if host == "ecos":
        need("libtbb.so.12")
    written, results = directory / "task.json", directory / "results.json"
    task.write(written)
    command = [sys.executable, "-X", "faulthandler", "-m", f"tests.masters.hosts.{host}"]
    run = subprocess.run(
        [*command, str(written), str(results)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (run.returncode, run.stderr) == (0, "")
    return [list(rows) for rows in json.loads(results.read_text())]


@pytest.mark.parametrize("host", HOSTS)
def test_sensors_measure_in_every_master_what_they_measure_in_c(
    master: CMaster,
    files_of: Mapping[str, FmuFiles],
    task: Task,
    tmp_path: Path,
    host: str,
) -> None:
    runs = in_a_host(host, task, tmp_path)
    assert len(runs) == 2
    for place, (model, sensor) in enumerate(zip(SENSORS, task.sensors, strict=True)):
        expected = in_the_c_master(master, files_of[model], as_the_host_does(host, sensor))
        for run in runs:
            assert len(run[place]) == STEPS
            for row, expected_row in zip(run[place], expected, strict=True):
                assert row == pytest.approx(expected_row, rel=0.0, abs=ALLOWED)


def test_the_task_is_one_in_which_differences_would_show(
    master: CMaster, files_of: Mapping[str, FmuFiles], task: Task
) -> None:
    for model, sensor in zip(SENSORS, task.sensors, strict=True):
        renamed = dataclasses.replace(sensor, name="other")
        late = as_the_host_does("fmpy_ssp", sensor)
        cases = (sensor, renamed, late)
        results = [in_the_c_master(master, files_of[model], case) for case in cases]
        readings = [[row[0] for row in rows] for rows in results]
        assert readings[0] != readings[1] != readings[2] != readings[0]
        assert len(set(readings[0])) > 10
        assert [rows[-1][-1] for rows in results] == [3 * (STEPS - 1) + 1] * 3  # samples a step


#: Readings of the first sample and of later ones that are not 0 when all inputs are: an
#: orientation of four zeros counts as none.
AT_REST = {
    ("null", "value.copy_4"): (1.0, 1.0),
    ("null", "value.copy_17"): (1.0, 1.0),
    ("imu", "accelerometer.z"): (9.80665, 9.80665),
    ("imu", "delta_velocity.z"): (0.0, 9.80665 * STEP),
}


def test_zeros_on_all_inputs_before_the_first_step_do_no_harm(
    fmu_directory: Path, files_of: Mapping[str, FmuFiles], tmp_path: Path
) -> None:
    sensors = []
    for model, files in files_of.items():
        sensor = sensor_of(model, files, fmu_directory / f"{model}.fmu")
        zeros = {name: [0.0] * STEPS for name in files.names("input")}
        sensors.append(dataclasses.replace(sensor, inputs=zeros, parameters={}))
    (results,) = in_a_host("fmpy_ssp", Task(sensors, STEP, STEPS, runs=1), tmp_path)
    for sensor, rows in zip(sensors, results, strict=True):
        for name, *values in zip(sensor.outputs, *rows, strict=True):
            if not name.startswith("sample."):
                first, later = AT_REST.get((sensor.name, name), (0.0, 0.0))
                expected = [first, *[later] * (STEPS - 1)]
                # the lengths of steps carry the rounding of the master's clock
                allowed = ALLOWED if first != later else 0.0
                assert values == pytest.approx(expected, rel=0.0, abs=allowed), name
