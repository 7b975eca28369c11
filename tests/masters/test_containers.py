"""Two FMUs in a container of the FMU Manipulation Toolbox, which is one FMU again. For Linux."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.fmus.host import Instance, open_fmu

STEP, STEPS = 0.01, 40
VEHICLE = {"drive.left": 6.0, "drive.right": 4.0}
IMU = {"sample_rate": 250.0, "seed": 7, "accelerometer.noise.rms.x": 0.01, "mount.position.z": 0.5}

#: The container gives its parts names of its own, from which noise is drawn.
IMU_IN_CONTAINER = "sensor.Imu.fmu"


def container(fmu_directory: Path, folder: Path, *mode: str) -> Path:
    """A vehicle and an IMU as one FMU; what is called alike in both is connected."""
    starts = [
        f"START;{fmu}.fmu;{name};{value};"
        for fmu, values in (("VehicleDynamics", VEHICLE), ("Imu", IMU))
        for name, value in values.items()
    ]
    lines = [
        "rule;from_fmu;from_port;to_fmu;to_port",
        "FMU;VehicleDynamics.fmu;;;",
        "FMU;Imu.fmu;;;",
    ]
    (folder / "both.csv").write_text("\n".join([*lines, *starts]) + "\n")
    for fmu in ("VehicleDynamics", "Imu"):
        (folder / f"{fmu}.fmu").symlink_to(fmu_directory / f"{fmu}.fmu")
    program = "from fmu_manipulation_toolbox.cli.fmucontainer import fmucontainer; fmucontainer()"
    chosen = ["-fmu-directory", str(folder), "-container", f"both.csv:{STEP}", *mode]
    done = subprocess.run(
        [sys.executable, "-c", program, *chosen], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder / "both.fmu"


def pass_on(vehicle: Instance, imu: Instance) -> None:
    shared = [name for name in imu.names("input") if name in vehicle.names("output")]
    imu.set(vehicle.get_all(shared))


def one_by_one(fmu_directory: Path, outputs: list[str], *, at_once: bool) -> list[dict[str, float]]:
    """The readings where this loop is the master; ``at_once`` passes what was just computed."""
    with (
        open_fmu(fmu_directory / "VehicleDynamics.fmu", "vehicledynamics") as vehicle,
        open_fmu(fmu_directory / "Imu.fmu", IMU_IN_CONTAINER) as imu,
    ):
        vehicle.set(VEHICLE)
        imu.set(IMU)
        for each in (vehicle, imu):
            each.set_up()
            each.enter()
        pass_on(vehicle, imu)
        for each in (vehicle, imu):
            each.exit()
        rows = []
        for k in range(STEPS):
            if not at_once:
                pass_on(vehicle, imu)
            vehicle.step(STEP * k, STEP)
            if at_once:
                pass_on(vehicle, imu)
            imu.step(STEP * k, STEP)
            rows.append(imu.get_all(outputs))
        return rows


@pytest.mark.parametrize("mode", [(), ("-sequential",)])
def test_what_is_measured_in_a_container_is_what_is_measured_outside(
    fmu_directory: Path, tmp_path: Path, mode: tuple[str, ...]
) -> None:
    with open_fmu(container(fmu_directory, tmp_path, *mode)) as both:
        outputs = [name for name in both.names("output") if name.startswith(("acc", "gyro", "del"))]
        assert len(outputs) == 12
        both.initialize()
        found = []
        for k in range(STEPS):
            both.step(STEP * k, STEP)
            found.append(both.get_all(outputs))
        both.terminate()
    expected = one_by_one(fmu_directory, outputs, at_once=bool(mode))
    for k, (row, other) in enumerate(zip(found, expected, strict=True)):
        assert row == pytest.approx(other, rel=0, abs=1e-11), k
    assert found[5] != found[-1]
