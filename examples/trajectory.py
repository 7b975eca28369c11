"""Carries a lidar and an IMU along poses from a CSV file through your own scene (no dynamics)."""

import shutil
import sys
from pathlib import Path

import fmpy
import numpy as np
from fmpy.simulation import apply_start_values, instantiate_fmu

HERE, FMUS, FILES = Path(__file__).parent, Path("build/fmus"), Path("build/walk").absolute()
POSES, SCENE = [*sys.argv[1:], HERE / "walk/walk.csv", HERE / "walk/scene.toml"][:2]

table = np.loadtxt(POSES, delimiter=",", skiprows=1)  # time,x,y,z,qw,qx,qy,qz: s, m, z up
time, pose = table[:, 0], table[:, 1:]  # at any rate
rate = np.gradient(pose, time, axis=0, edge_order=2)  # central differences: see docs/motion.md
w, v, dw, dv = pose[:, 3:4], pose[:, 4:], rate[:, 3:4], rate[:, 4:]
turning = 2.0 * (w * dv - dw * v + np.cross(v, dv))  # angular velocity: 2 dq/dt q*
states = np.hstack([pose, rate[:, :3], turning])


def add(name, **parameters):
    """Start an FMU at the first pose; choices are given by name."""
    fmi = fmpy.read_model_description(FMUS / f"{name}.fmu")
    fmu = instantiate_fmu(fmpy.extract(FMUS / f"{name}.fmu"), fmi)
    known = {v.name: v for v in fmi.modelVariables}
    for key in [key for key in parameters if known[key].type == "Enumeration"]:
        items = {item.name: int(item.value) for item in known[key].declaredType.items}
        parameters[key] = items[parameters[key]]
    always = {"inputs_at_step_end": True, "output_directory": str(FILES)}
    apply_start_values(fmu, fmi, always | parameters)
    fmu.setupExperiment(startTime=time[0])
    fmu.enterInitializationMode()
    fmu.body = [v.valueReference for v in fmi.modelVariables if v.name.startswith("body.")][:13]
    fmu.setReal(fmu.body, states[0])  # position, orientation, velocity, angular velocity
    fmu.exitInitializationMode()
    return fmu


lidar = add("Lidar", preset="OS0-128", scene=str(SCENE), output_format="las", output_frame="world")
imu = add("Imu", preset="VN-100", record=True, output_format="parquet")
for k in range(1, len(time)):  # a step from each pose to the next
    for sensor in (imu, lidar):
        sensor.setReal(sensor.body, states[k])
        sensor.doStep(time[k - 1], time[k] - time[k - 1])
for sensor in (imu, lidar):
    sensor.terminate()
    sensor.freeInstance()
    shutil.rmtree(sensor.unzipDirectory, ignore_errors=True)
print(f"{len(list(FILES.glob('Lidar-*.las')))} sweeps and Imu.parquet are in {FILES}")
