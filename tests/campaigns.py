"""Campaigns for tests and benchmarks: an IMU and an encoder, and what to do with them."""

import os
import signal
from collections.abc import Mapping
from pathlib import Path

import numpy as np

SYSTEM = """
[system]
name = "Small"
description = "An IMU that turns and an encoder"
step = 0.01
stop = {stop}
connections = []
[parts.imu]
fmu = "Imu"
preset = "VN-100"
parameters.body.angular_velocity.z = 0.5
parameters.sample_rate = 100.0
[parts.wheel]
fmu = "Encoder"
preset = "AMT102-V"
parameters.joint.velocity = 3.0
"""

CAMPAIGN = """
[campaign]
name = "small"
system = "system.toml"
fmus = "{fmus}"
seeds = {seeds}
[vary]
"imu.gyroscope.bias.z" = [0.0, 0.02]
[metrics]
rate = "np.mean(imu.gyroscope.z)"
spread = "np.std(imu.accelerometer.x)"
[keep]
series = ["imu.gyroscope.z"]
"""


def write_campaign(
    directory: Path, fmus: Path, *, seeds: int = 3, stop: float = 0.2, text: str = CAMPAIGN
) -> Path:
    """Write a campaign and its system into a directory."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "system.toml").write_text(SYSTEM.format(stop=stop))
    path = directory / "campaign.toml"
    path.write_text(text.replace("{fmus}", fmus.as_posix()).replace("{seeds}", str(seeds)))
    return path


def last_rate(outputs: Mapping[str, np.ndarray]) -> float:
    """A metric by name."""
    assert len(outputs["t"]) == len(outputs["imu.gyroscope.z"])
    return float(outputs["imu.gyroscope.z"][-1])


def ends_its_process(outputs: Mapping[str, np.ndarray]) -> float:
    """A metric that ends the process in runs with a bias."""
    if outputs["imu.gyroscope.z"].mean() > 2.0:
        os.kill(os.getpid(), signal.SIGKILL)
    return 0.0
