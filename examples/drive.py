"""A vehicle drives through a yard with its sensors, co-simulated by fmpy (after build_fmus.py)."""

import shutil
from pathlib import Path

import fmpy.fmi2

FMUS, FILES, STEP = Path("build/fmus"), Path("build/drive").absolute(), 0.01
SETTERS = {str: "setString", bool: "setBoolean", int: "setInteger", float: "setReal"}
parts = []  # in the order of the steps, the vehicle first


def add(name, model, parameters, wheel=""):
    """Start an FMU; its inputs follow the vehicle's outputs of equal names, its joint a wheel."""
    folder = fmpy.extract(FMUS / f"{model}.fmu")
    fmi = fmpy.read_model_description(folder)
    fmu = fmpy.fmi2.FMU2Slave(name, guid=fmi.guid, modelIdentifier=model, unzipDirectory=folder)
    fmu.instantiate()
    fmu.refs = {variable.name: variable.valueReference for variable in fmi.modelVariables}
    for key, value in parameters.items():
        getattr(fmu, SETTERS[type(value)])([fmu.refs[key]], [value])
    inputs = [v.name for v in fmi.modelVariables if v.causality == "input"]
    outputs = parts[0].refs if parts else {}
    wires = {n: n.replace("joint", wheel) for n in inputs if n.replace("joint", wheel) in outputs}
    fmu.into, fmu.out = [fmu.refs[n] for n in wires], [outputs[n] for n in wires.values()]
    fmu.setupExperiment()
    fmu.enterInitializationMode()
    if parts:
        fmu.setReal(fmu.into, parts[0].getReal(fmu.out))
    fmu.exitInitializationMode()
    parts.append(fmu)
    return fmu


try:
    vehicle = add("vehicle", "VehicleDynamics", {})
    world = add("world", "Environment", {"inputs_at_step_end": True})  # the vehicle is ahead
    sensor = {"inputs_at_step_end": True, "output_directory": str(FILES)}
    add("encoder_left", "Encoder", {**sensor, "preset": "AMT102-V", "record": True}, "wheel_1")
    add("encoder_right", "Encoder", {**sensor, "preset": "AMT102-V", "record": True}, "wheel_2")
    add("odometer", "Odometer", {**sensor, "wheel_radius": 0.3, "record": True}, "wheel_3")
    sensor["scene_handle"] = world.getInteger([world.refs["scene_handle"]])[0]
    imu = add("imu", "Imu", {**sensor, "preset": "VN-100", "record": True})
    add("magnetometer", "Magnetometer", {**sensor, "preset": "MPU-9250", "record": True})
    roof = {**sensor, "mount.position.z": 1.0}
    lidar = add("lidar", "Lidar", {**roof, "preset": "Mid-360"})
    add("camera", "DepthCamera", {**roof, "preset": "D455", "width": 320, "height": 180})
    drive = [vehicle.refs["drive.left"], vehicle.refs["drive.right"]]
    for k in range(400):
        vehicle.setReal(drive, [6.0, 6.0 + min(k * STEP, 2.0)])  # rad/s: a curve to the left
        for part in parts:
            part.setReal(part.into, vehicle.getReal(part.out))
            part.doStep(k * STEP, STEP)
    print("turns at", imu.getReal([imu.refs["gyroscope.z"]])[0], "rad/s, files are in", FILES)
    print("nearest point", lidar.getReal([lidar.refs["nearest.range"]])[0], "m away")
finally:
    for part in parts:
        part.terminate()
        part.freeInstance()
        shutil.rmtree(part.unzipDirectory)
