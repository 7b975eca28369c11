"""A body on a path through a world of one's own, with a lidar and an IMU; change any line.

``python run.py 5`` goes 5 s of the path; clouds, readings and picture.png are then in results/.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import fmpy
import matplotlib.pyplot as plt
import numpy as np
from fmpy.simulation import apply_start_values, instantiate_fmu

FMUS, RESULTS = Path("build/fmus"), Path("results").absolute()
STEP = 0.01  # s, of the master; the sensors have clocks of their own
END = float(sys.argv[1]) if len(sys.argv) > 1 else 20.0


def pose(time):
    """Where the body is: x, y, z in m, and roll, pitch, yaw in rad (world frame, z up).

    An eight on the ground. Poses of a log or of another simulation come in here as well.
    """
    phase = 2.0 * np.pi * time / 20.0
    x, y = 8.0 * np.sin(phase), 3.0 * np.sin(2.0 * phase)
    yaw = np.arctan2(6.0 * np.cos(2.0 * phase), 8.0 * np.cos(phase))  # along the path
    return [x, y, 0.5, 0.0, 0.0, yaw]


def add(model, **parameters):
    """Start an FMU; enumerations are given by the name of their item."""
    file = FMUS / f"{model}.fmu"
    if not file.exists():  # compiles kernels: a minute or two, once on a machine
        command = [
            sys.executable,
            "-m",
            "build_fmus",
            "--only",
            model,
        ]  # and for this machine only:
        subprocess.run([*command, "--levels", "host", "--platforms", "host"], check=True)
    folder = fmpy.extract(file)
    fmi = fmpy.read_model_description(folder)
    known = {variable.name: variable for variable in fmi.modelVariables}
    if unknown := parameters.keys() - known.keys():  # fmpy itself would ignore them silently
        raise SystemExit(f"{model} has no parameter {', '.join(sorted(unknown))}")
    for name in [name for name in parameters if known[name].type == "Enumeration"]:
        items = {item.name: int(item.value) for item in known[name].declaredType.items}
        parameters[name] = items[parameters[name]]
    fmu = instantiate_fmu(folder, fmi)
    apply_start_values(fmu, fmi, parameters)
    fmu.known = {name: variable.valueReference for name, variable in known.items()}
    fmu.setupExperiment()
    fmu.enterInitializationMode()
    move(fmu, 0.0)
    fmu.exitInitializationMode()
    return fmu


def move(fmu, time):
    """Tell a sensor where its body is; it derives the velocities itself."""
    names = ["position.x", "position.y", "position.z", "euler.roll", "euler.pitch", "euler.yaw"]
    fmu.setReal([fmu.known[f"body.{name}"] for name in names], pose(time))


def show(file):
    """Draw the newest cloud from above, the path, and what the IMU read."""
    points = np.sort(np.load(sorted(RESULTS.glob("Lidar-*.npy"))[-1]), order="z")
    path = np.array([pose(time) for time in np.arange(0.0, END, STEP)])
    readings = np.loadtxt(RESULTS / "Imu.csv", delimiter=",", skiprows=1)
    with (RESULTS / "Imu.csv").open() as stream:
        columns = stream.readline().strip().split(",")
    figure, (above, rates) = plt.subplots(1, 2, figsize=(12, 5), layout="constrained")
    image = above.scatter(points["x"], points["y"], 1, points["z"], cmap="viridis")
    above.plot(path[:, 0], path[:, 1], "r", label="path")
    above.set(title="newest sweep, from above", xlabel="x in m", ylabel="y in m", aspect="equal")
    above.legend()
    figure.colorbar(image, ax=above, label="z in m")
    time = readings[:, columns.index("time")]
    for name in [name for name in columns if name.startswith("accelerometer.")]:
        rates.plot(time, readings[:, columns.index(name)], lw=0.5, label=name)
    rates.set(title="IMU", xlabel="time in s", ylabel="m/s²")
    rates.legend()
    figure.savefig(file, dpi=120)


shutil.rmtree(RESULTS, ignore_errors=True)  # of the run before
always = {
    "output_directory": str(RESULTS),
    "orientation_input": "euler",
    "velocities": "from_poses",
    "inputs_at_step_end": True,  # a pose that is set belongs to the end of the step
}
sensors = [
    add("Lidar", preset="VLP-16", scene="world.toml", output_format="npy", output_frame="world",
        **{"mount.position.z": 1.2}, **always),
    add("Imu", preset="VN-100", record=True, output_format="csv", **always),
]  # fmt: skip
for k in range(round(END / STEP)):
    for sensor in sensors:
        move(sensor, (k + 1) * STEP)
        sensor.doStep(k * STEP, STEP)
for sensor in sensors:
    sensor.terminate()
    sensor.freeInstance()
show(RESULTS / "picture.png")
print(f"{len(list(RESULTS.glob('Lidar-*.npy')))} sweeps, Imu.csv and picture.png: {RESULTS}")
