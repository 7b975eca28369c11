"""Poses from a CSV file carry a lidar and an IMU through a scene of one's own (no dynamics)."""

import shutil
import sys
from pathlib import Path

import fmpy
import numpy as np
from fmpy.simulation import apply_start_values, instantiate_fmu

HERE, FMUS, FILES = Path(__file__).parent, Path("build/fmus"), Path("build/walk").absolute()
POSES, SCENE = [*sys.argv[1:], HERE / "walk/walk.csv", HERE / "walk/scene.toml"][:2]
GROUPS = {"position": "xyz", "orientation": "wxyz", "velocity": "xyz", "angular_velocity": "xyz"}

table = np.genfromtxt(POSES, delimiter=",", names=True)  # time x y z qw qx qy qz, at any rate
time = table["time"]
pose = np.stack([table[name] for name in ("x", "y", "z", "qw", "qx", "qy", "qz")], axis=1)
rate = np.gradient(pose, time, axis=0, edge_order=2)  # the world's frame, z up; m, rad, s
w, v, dw, dv = pose[:, 3:4], pose[:, 4:], rate[:, 3:4], rate[:, 4:]
turning = 2.0 * (w * dv - dw * v + np.cross(v, dv))  # angular velocity: 2 dq/dt q*
states = np.hstack([pose, rate[:, :3], turning])


def add(name, **parameters):
    """Start an FMU at the first pose; choices are given by name."""
    fmi = fmpy.read_model_description(FMUS / f"{name}.fmu")
    fmu = instantiate_fmu(fmpy.extract(FMUS / f"{name}.fmu"), fmi)
    types = {v.name: v.declaredType for v in fmi.modelVariables if v.type == "Enumeration"}
    for key, choice in {**parameters}.items():
        if key in types:
            parameters[key] = {i.name: int(i.value) for i in types[key].items}[choice]
    always = {"inputs_at_step_end": True, "output_directory": str(FILES)}
    assert not apply_start_values(fmu, fmi, {**always, **parameters}), "no such parameter"
    fmu.setupExperiment(startTime=time[0])
    fmu.enterInitializationMode()
    inputs = {v.name: v.valueReference for v in fmi.modelVariables}
    fmu.body = [inputs[f"body.{group}.{axis}"] for group in GROUPS for axis in GROUPS[group]]
    fmu.setReal(fmu.body, states[0])
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
