"""FMUs of FMI 3.0 in other masters than fmpy. For Linux."""

import json
import struct
import subprocess
import sys
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fmpy import extract, read_model_description, simulate_fmu
from fmpy.fmi3 import FMU3Slave

from fmus.fmi.arrays import Interface
from sensor_models.output.points import POINT
from tests.fmus.host import Instance, open_fmu
from tests.fmus.twins import build_frame_reader
from tests.tools import need

STEP, STEPS = 0.01, 40
DRIVE = {"drive.left": 6.0, "drive.right": 4.0}
IMU = {"sample_rate": 250.0, "seed": 7}
SENSORS = ("accelerometer", "gyroscope")
#: A lidar with a frame in each step, and how long that is.
FRAMES = {"scene": "targets", "sample_rate": 20.0, "pattern.rows": 4, "pattern.columns": 30}
FRAME = 0.05


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


def container(fmus: Sequence[Path], folder: Path, rules: Sequence[str], step: float) -> Path:
    """FMUs of FMI 3.0 as one; what is called alike in two of them is connected."""
    lines = ["rule;from_fmu;from_port;to_fmu;to_port", *(f"FMU;{fmu.name};;;" for fmu in fmus)]
    (folder / "both.csv").write_text("\n".join([*lines, *rules]) + "\n")
    for fmu in fmus:
        (folder / fmu.name).symlink_to(fmu)
    program = "from fmu_manipulation_toolbox.cli.fmucontainer import fmucontainer; fmucontainer()"
    chosen = ["-fmu-directory", str(folder), "-container", f"both.csv:{step}", "-fmi", "3"]
    done = subprocess.run(
        [sys.executable, "-c", program, *chosen], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder / "both.fmu"


def starts(model: str, values: Mapping[str, object]) -> list[str]:
    """The rules that give an FMU in a container its parameters."""
    return [f"START;{model}.fmu;{name};{value};" for name, value in values.items()]


def test_a_container_connects_arrays(
    fmu_directory: Path, fmu3_directory: Path, tmp_path: Path
) -> None:
    fmus = [fmu3_directory / f"{name}.fmu" for name in ("VehicleDynamics", "Imu")]
    rules = [*starts("VehicleDynamics", DRIVE), *starts("Imu", IMU)]
    found = simulate_fmu(
        str(container(fmus, tmp_path, rules, STEP)),
        validate=False,  # its description has an order of elements that the schema does not allow
        stop_time=STEPS * STEP,
        step_size=STEP,
        output_interval=STEP,
        output=list(SENSORS),
    )
    rows = [[*row["accelerometer"], *row["gyroscope"]] for row in found[1:]]
    assert rows[-1] == pytest.approx(alone(fmu_directory)[-1], rel=0, abs=1e-11)
    assert rows[5] != rows[-1]


def checksum(content: bytes) -> int:
    """The checksum that the reader of frames gives, a signed number."""
    (number,) = struct.unpack("<i", struct.pack("<I", zlib.crc32(content)))
    return int(number)


def test_a_container_connects_frames_and_messages(fmu3_directory: Path, tmp_path: Path) -> None:
    """A model behind a lidar has its points and its SensorData a step later, without a file."""
    links = {"frame.cloud": "points", "OSMPSensorDataOut": "OSMPSensorDataIn"}
    shown = ("points.count", "points.checksum", "detections.count")
    rules = [
        *(f"LINK;Lidar.fmu;{a};FrameReader.fmu;{b}" for a, b in links.items()),
        *(f"OUTPUT;FrameReader.fmu;{name};;{name}" for name in shown),
        "OUTPUT;Lidar.fmu;frame.cloud;;frame.cloud",
        *starts("Lidar", {**FRAMES, "osi.on": "true", "mount.position": "0 0 1.5"}),
    ]
    fmus = [fmu3_directory / "Lidar.fmu", build_frame_reader(tmp_path / "reader")]
    box = container(fmus, tmp_path, rules, FRAME)
    directory = extract(str(box), unzipdir=str(tmp_path / "box"))
    description = read_model_description(directory, validate=False)
    known = {v.name: v.valueReference for v in description.modelVariables}
    slave = FMU3Slave(
        guid=description.instantiationToken,
        modelIdentifier=description.coSimulation.modelIdentifier,
        unzipDirectory=directory,
        instanceName="box",
    )
    slave.instantiate()
    slave.enterInitializationMode(startTime=0.0)
    slave.exitInitializationMode()
    contents, found = [b""], []
    for k in range(6):
        slave.setFloat64([known["body.position"]], [0.3 * k, 0.0, 0.0])
        slave.doStep(k * FRAME, FRAME)
        contents.append(bytes(slave.getBinary([known["frame.cloud"]])[0]))
        found.append([slave.getInt32([known[name]])[0] for name in shown])
    slave.terminate()
    slave.freeInstance()
    points = [len(content) // POINT.itemsize for content in contents]
    assert found == [[n, checksum(c), n] for n, c in zip(points, contents, strict=True)][:-1]
    assert len(set(contents)) > 3


#: Steps the reader of frames in ecos, which is given one. Getting a Binary fails in ecos 0.7.2: it
#: looks for the sizes in a list that it has not given to the FMU.
FRAMES_IN_ECOS = """
import json, sys
from ecospy import EcosSimulation, EcosSimulationStructure
fmu, contents, size = sys.argv[1], *map(json.loads, sys.argv[2:])
with EcosSimulationStructure() as structure:
    structure.add_model("reader", fmu)
    with EcosSimulation(size, structure=structure) as simulation:
        assert simulation.init()
        rows = []
        for content in contents:
            simulation.set_binary("reader::points", bytes.fromhex(content))
            simulation.step()
            names = ("reader::points.count", "reader::points.checksum")
            rows.append([simulation.get_integer(name) for name in names])
        print("found", json.dumps(rows))
        simulation.terminate()
"""


def test_ecos_gives_frames_to_a_reader(tmp_path: Path) -> None:
    need("libtbb.so.12")
    contents = [np.arange(n, dtype=float).astype(POINT).tobytes() for n in (3, 60, 7)]
    reader = build_frame_reader(tmp_path, Interface.scalars)
    given = [str(reader), json.dumps([content.hex() for content in contents]), str(FRAME)]
    assert in_ecos(FRAMES_IN_ECOS, given) == [
        [len(c) // POINT.itemsize, checksum(c)] for c in contents
    ]


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


def in_ecos(program: str, arguments: Sequence[str]) -> list[Any]:
    """What a program says that it has found."""
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    (line,) = (row for row in done.stdout.splitlines() if row.startswith("found "))
    found: list[Any] = json.loads(line.removeprefix("found "))
    return found


def test_ecos_runs_an_fmu_without_arrays(fmu_directory: Path, scalar_directory: Path) -> None:
    need("libtbb.so.12")
    arguments = [str(scalar_directory / "Imu.fmu"), json.dumps(IMU), str(STEPS), str(STEP)]
    found = in_ecos(IN_ECOS, arguments)
    with open_fmu(fmu_directory / "Imu.fmu") as imu:
        imu.initialize(IMU)
        for k in range(STEPS):
            imu.set({"body.angular_velocity.x": 0.1 * k})
            imu.step(STEP * k, STEP)
        expected = [imu.get(f"{name}.{axis}") for name in SENSORS for axis in "xyz"]
    assert found == pytest.approx(expected, rel=0, abs=1e-11)
