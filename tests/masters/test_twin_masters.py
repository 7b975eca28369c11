"""FMUs of FMI 3.0 in other masters than fmpy. For Linux."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from fmpy import simulate_fmu

from tests.fmus.host import Instance, open_fmu
from tests.tools import need

STEP, STEPS = 0.01, 40
DRIVE = {"drive.left": 6.0, "drive.right": 4.0}
IMU = {"sample_rate": 250.0, "seed": 7}
SENSORS = ("accelerometer", "gyroscope")


def alone(directory: Path) -> list[list[float]]:
    """The readings of an IMU behind a vehicle, which gets what the vehicle gave a step before."""
    with (
        open_fmu(directory / "VehicleDynamics.fmu") as vehicle,
        open_fmu(directory / "Imu.fmu") as imu,
    ):
        vehicle.set(DRIVE)
        imu.set(IMU)
        for each in (vehicle, imu):
            each.set_up()
            each.enter()
        pass_on(vehicle, imu)
        for each in (vehicle, imu):
            each.exit()
        rows = []
        for k in range(STEPS):
            pass_on(vehicle, imu)
            vehicle.step(STEP * k, STEP)
            imu.step(STEP * k, STEP)
            rows.append([imu.get(f"{name}.{axis}") for name in SENSORS for axis in "xyz"])
        return rows


def pass_on(vehicle: Instance, imu: Instance) -> None:
    """Give the sensor what the vehicle has."""
    shared = [name for name in imu.names("input") if name in vehicle.names("output")]
    imu.set(vehicle.get_all(shared))


def container(directory: Path, folder: Path) -> Path:
    """A vehicle and an IMU as one FMU of FMI 3.0; what is called alike in both is connected."""
    starts: Mapping[str, Mapping[str, float]] = {"VehicleDynamics": DRIVE, "Imu": IMU}
    lines = ["rule;from_fmu;from_port;to_fmu;to_port", *(f"FMU;{fmu}.fmu;;;" for fmu in starts)]
    lines += [f"START;{f}.fmu;{n};{v};" for f, values in starts.items() for n, v in values.items()]
    (folder / "both.csv").write_text("\n".join(lines) + "\n")
    for fmu in starts:
        (folder / f"{fmu}.fmu").symlink_to(directory / f"{fmu}.fmu")
    program = "from fmu_manipulation_toolbox.cli.fmucontainer import fmucontainer; fmucontainer()"
    chosen = ["-fmu-directory", str(folder), "-container", f"both.csv:{STEP}", "-fmi", "3"]
    done = subprocess.run(
        [sys.executable, "-c", program, *chosen], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder / "both.fmu"


def test_a_container_connects_arrays(
    fmu_directory: Path, fmu3_directory: Path, tmp_path: Path
) -> None:
    found = simulate_fmu(
        str(container(fmu3_directory, tmp_path)),
        validate=False,  # its description has an order of elements that the schema does not allow
        stop_time=STEPS * STEP,
        step_size=STEP,
        output_interval=STEP,
        output=list(SENSORS),
    )
    rows = [[*row["accelerometer"], *row["gyroscope"]] for row in found[1:]]
    assert rows[-1] == pytest.approx(alone(fmu_directory)[-1], rel=0, abs=1e-11)
    assert rows[5] != rows[-1]


#: Steps an IMU in ecos, and prints what it measured.
IN_ECOS = """
import json, sys
from ecospy import EcosSimulation, EcosSimulationStructure
fmu, parameters, steps, size = sys.argv[1], *map(json.loads, sys.argv[2:])
with EcosSimulationStructure() as structure:
    structure.add_model("imu", fmu)
    structure.add_parameter_set("chosen", {f"imu::{n}": v for n, v in parameters.items()})
    with EcosSimulation(size, structure=structure) as simulation:
        assert simulation.init(parameter_set="chosen")
        for k in range(steps):
            simulation.set_real("imu::body.angular_velocity.x", 0.1 * k)
            simulation.step()
        names = [f"{sensor}.{axis}" for sensor in ("accelerometer", "gyroscope") for axis in "xyz"]
        print("found", json.dumps([simulation.get_real(f"imu::{name}") for name in names]))
        simulation.terminate()
"""


def test_ecos_runs_an_fmu_without_arrays(fmu_directory: Path, scalar_directory: Path) -> None:
    need("libtbb.so.12")
    arguments = [str(scalar_directory / "Imu.fmu"), json.dumps(IMU), str(STEPS), str(STEP)]
    done = subprocess.run(
        [sys.executable, "-c", IN_ECOS, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    (line,) = (row for row in done.stdout.splitlines() if row.startswith("found "))
    with open_fmu(fmu_directory / "Imu.fmu") as imu:
        imu.initialize(IMU)
        for k in range(STEPS):
            imu.set({"body.angular_velocity.x": 0.1 * k})
            imu.step(STEP * k, STEP)
        expected = [imu.get(f"{name}.{axis}") for name in SENSORS for axis in "xyz"]
    assert json.loads(line.removeprefix("found ")) == pytest.approx(expected, rel=0, abs=1e-11)
