"""Short runs of the FMUs from which states are taken."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from sensor_models.core.faults import FaultMode
from sensor_models.gnss.parameters import ErrorMode, Multipath, Solution
from sensor_models.inertial.corruption import DriftType
from sensor_models.lidar.parameters import ScanMode
from sensor_models.output.records import RecordFormat
from sensor_models.output.sinks import WriteFiles
from sensor_models.waveform.parameters import ReceiverType
from tests.conftest import SENSORS
from tests.fmus.driving import drive
from tests.fmus.host import Instance

#: Steps of 10 ms and 37 samples a second: states lie between two samples nearly always.
STEP = 0.01
BETWEEN = {"sample_rate": 37.0, "seed": 3}
SUBSENSORS = ("accelerometer", "gyroscope", "magnetometer")
ENCODER = {**BETWEEN, "noise.rms": 0.05, "resolution": 0.02, "speed_timeout": 0.04}
ODOMETER = {**BETWEEN, "noise.rms": 0.05, "accumulate": 1, "order": 1}
#: What a sensor with three axes keeps from one sample to the next, and noise.
TRIAXIAL = {
    "noise.rms.x": 0.05,
    "noise.density.y": 0.01,
    "drift.type": DriftType.random_walk,
    "drift.walk.z": 0.02,
    "instability.x": 0.01,
    "filter.cutoff": 5.0,
    "filter.order": 2,
    "delay": 0.05,
    "jitter": 0.002,
}
INERTIAL = {**BETWEEN, **TRIAXIAL}
#: A small frame of a small scene, with noise.
SEEN: dict[str, Any] = {**BETWEEN, "scene": "targets", "write_files": WriteFiles.off}
CAMERA = {**SEEN, "width": 8, "height": 6, "noise.on": True, "noise.multiplier": 0.05}
#: A small picture with all noise, of a rolling shutter that blurs: frames are under way as a rule.
PICTURE = {
    **SEEN,
    "pixels.width": 8,
    "pixels.height": 6,
    "ccd_size.width": 40e-6,  # or the few pixels were so large that they are full
    "ccd_size.height": 30e-6,
    "intrinsics.fx": 6.0,
    "sensor.model": 1,
    "sensor.prnu": 0.02,
    "sensor.dsnu": 3.0,
    "exposure_time": 5e-5,  # of the first frame
    "auto_exposure.on": True,
    "shutter": 1,
    "line_time": 1e-3,
    "motion_samples": 3,
    "light.rays": 4,
}
#: Fixes that are late, of ranges with errors and detours, in a scene; and sentences of them.
RECEIVER = {
    **BETWEEN,
    "scene": "street_canyon",
    "error.mode": ErrorMode.pseudorange,
    "multipath": Multipath.bias,
    "velocity.correlated": 0.1,
    "solution": Solution.rtk,
    "rtk.convergence_time": 0.2,
    "latency": 0.06,
    "nmea.on": True,
    "rinex.on": True,
}
LIDAR = {
    **SEEN,
    "pattern.rows": 6,
    "pattern.columns": 24,
    "scan_mode": ScanMode.rolling,
    "noise.distance_sigma_base": 0.02,
    "detection_probability": 0.9,
}
WAVEFORM = {
    **SEEN,
    "pattern.rows": 3,
    "pattern.columns": 12,
    "scan_mode": ScanMode.rolling,
    "beam.subrays": 7,
    "t_stop": 1e-7,
    "receiver.type": ReceiverType.apd,
    "peak_power": 0.2,
}
#: The cone has no noise: what is random is where it sits.
RADAR = {
    **SEEN,
    "length": 100.0,
    "mount.randomization.on": True,
    "output_format": RecordFormat.csv,  # of the detections, beside a record of another kind
}
OWN: dict[str, dict[str, Any]] = {
    "Encoder": ENCODER,
    "Odometer": ODOMETER,
    "Accelerometer": {**INERTIAL, "mount.position.x": 0.3},
    "Gyroscope": {
        **INERTIAL,
        "linear_acceleration_effect.xx": 0.01,
        "use_acceleration_inputs": True,
    },
    "Magnetometer": {**INERTIAL, "field.z": 0.5},
    "Imu": {
        **BETWEEN,
        **{f"{p}.{name}": value for p in SUBSENSORS for name, value in TRIAXIAL.items()},
        "magnetometer.field.z": 0.5,
    },
    "CcdCamera": PICTURE,
    "DepthCamera": CAMERA,
    "Gnss": RECEIVER,
    "Lidar": LIDAR,
    "WaveformLidar": WAVEFORM,
    "Radar": RADAR,
}
MODELS = SENSORS


def parameters_of(model: str) -> dict[str, Any]:
    """Parameters with which an FMU has something to remember."""
    return OWN.get(model, BETWEEN)


def motion_of(instance: Instance) -> Callable[[float], dict[str, float]]:
    """A motion of all Real inputs that move, with a fault for a while."""
    own = [n for n in instance.names("input") if n.startswith(("joint.", "body."))]
    moving = [n for n in own if not n.startswith("body.euler.")]  # where quaternions count
    faults = [n for n in instance.names("input") if re.search(r"\bfault(\.\w+)*\.mode$", n)]

    def motion(time: float) -> dict[str, float]:
        values = {name: (n + 1) * np.sin(9.0 * time + n) for n, name in enumerate(moving)}
        mode = FaultMode.present if 0.15 < time < 0.35 else FaultMode.none
        return {**values, **dict.fromkeys(faults, mode)}

    return motion


def go(instance: Instance, first: int, last: int) -> list[dict[str, Any]]:
    """The outputs of the steps from one number to another."""
    instants = [k * STEP for k in range(first, last + 1)]
    return drive(instance, instants, motion_of(instance))


def in_phase(instance: Instance, phase: str) -> None:
    """Bring a new instance into a phase of its life."""
    instance.set(ENCODER)
    instance.set_up(2.0)
    if phase != "instantiated":
        instance.enter()
    if phase in ("stepping", "terminated"):
        instance.exit()
        instance.step(2.0, 0.01)
    if phase == "terminated":
        instance.terminate()
