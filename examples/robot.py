"""A robot of MuJoCo drives in its own world with a lidar and an IMU, all of it FMUs.

    python examples/robot.py [MODEL.xml --body NAME --command NAME=VALUE ...] [--seconds 8]

Without a model it is ``robot/rover.xml``, which drives a curve and lifts its mast. The first run
builds ``VehicleDynamics`` and ``Environment`` for the model (a minute); both, and the sensors, are
connected by equal names. Clouds are in world coordinates; ``world.png`` has all of them from above.
"""

import argparse
import subprocess
import sys
from pathlib import Path

import fmpy
import fmpy.fmi2
import matplotlib.pyplot as plt
import numpy as np

ROOT, STEP = Path(__file__).resolve().parent, 0.01
SETTERS = {str: "setString", bool: "setBoolean", int: "setInteger", float: "setReal"}
ROVER = ["left=8", "right=10", "lift=0.3"]


def options():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="?", type=Path, default=ROOT / "robot" / "rover.xml")
    parser.add_argument("--body", default="", help="that carries the sensors; default: the rover")
    parser.add_argument("--command", nargs="+", metavar="NAME=VALUE", help="of the actuators")
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--output", type=Path, default=Path("build/robot"))
    given = parser.parse_args()
    if given.model == ROOT / "robot" / "rover.xml":
        given.body, given.command = given.body or "rover", given.command or ROVER
    return given


def build(model, directory):
    """Build the FMUs for a model, unless they are there and newer."""
    names = ["VehicleDynamics", "Environment", "Lidar", "Imu"]
    files = [directory / f"{name}.fmu" for name in names]
    if all(f.exists() and f.stat().st_mtime > model.stat().st_mtime for f in files):
        return
    print("building the FMUs for", model, "...", flush=True)
    command = [sys.executable, "-m", "build_fmus", "--scene", str(model)]
    command += ["--levels", "host", "--platforms", "host"]
    subprocess.run([*command, "--only", *names, "--output", str(directory)], check=True)


def start(file, values, sources=None):
    """Start an FMU; its inputs follow the outputs of equal names of ``sources``."""
    folder = fmpy.extract(file)
    fmi = fmpy.read_model_description(folder)
    fmu = fmpy.fmi2.FMU2Slave(
        fmi.modelName, guid=fmi.guid, modelIdentifier=fmi.modelName, unzipDirectory=folder
    )
    fmu.instantiate()
    fmu.refs = {v.name: v.valueReference for v in fmi.modelVariables}
    for name, value in values.items():
        getattr(fmu, SETTERS[type(value)])([fmu.refs[name]], [value])
    outputs = sources.refs if sources else {}
    wires = [v.name for v in fmi.modelVariables if v.causality == "input" and v.name in outputs]
    fmu.into, fmu.out = [fmu.refs[n] for n in wires], [outputs[n] for n in wires]
    fmu.setupExperiment()
    fmu.enterInitializationMode()
    if sources:
        fmu.setReal(fmu.into, sources.getReal(fmu.out))
    fmu.exitInitializationMode()
    return fmu


def draw(directory, path):
    """All clouds from above, coloured by height, and where the robot went."""
    clouds = [np.load(file) for file in sorted(directory.glob("Lidar-*.npy"))]
    points = np.sort(np.concatenate(clouds), order="z")
    figure, axes = plt.subplots(figsize=(9, 7), layout="constrained")
    image = axes.scatter(points["x"], points["y"], 0.2, points["z"], cmap="viridis", vmax=2.0)
    axes.plot(*np.array(path).T[:2], "r", label="the robot's way")
    axes.set(xlabel="x in m", ylabel="y in m", aspect="equal", title="all sweeps, from above")
    axes.legend(loc="upper right")
    figure.colorbar(image, ax=axes, label="z in m")
    figure.savefig(directory / "world.png", dpi=100)
    return len(points)


def main():
    """Drive."""
    given = options()
    fmus, files = given.output / given.model.stem, (given.output / "files").absolute()
    build(given.model, fmus)
    commands = dict(pair.split("=") for pair in given.command or [])
    robot = start(fmus / "VehicleDynamics.fmu", {"body": given.body})
    world = start(fmus / "Environment.fmu", {"inputs_at_step_end": True}, robot)
    handle = world.getInteger([world.refs["scene_handle"]])[0]
    common = {"inputs_at_step_end": True, "scene_handle": handle, "output_directory": str(files)}
    lidar = {**common, "preset": "OS1-64", "mount.position.z": 0.6, "output_format": 4}
    parts = [
        world,
        start(fmus / "Lidar.fmu", {**lidar, "output_frame": 1}, robot),
        start(fmus / "Imu.fmu", {**common, "preset": "VN-100", "record": True}, robot),
    ]
    robot.setReal(
        [robot.refs[f"control.{name}"] for name in commands], map(float, commands.values())
    )
    path = []
    for k in range(round(given.seconds / STEP)):
        robot.doStep(k * STEP, STEP)
        path.append(robot.getReal([robot.refs[f"body.position.{axis}"] for axis in "xyz"]))
        for part in parts:
            part.setReal(part.into, robot.getReal(part.out))
            part.doStep(k * STEP, STEP)
    for part in (robot, *parts):
        part.terminate()
        part.freeInstance()
    way = np.linalg.norm(np.diff(path, axis=0), axis=1).sum()
    print(f"{way:.2f} m in {given.seconds:g} s, {draw(files, path)} points; files are in {files}")


if __name__ == "__main__":
    main()
