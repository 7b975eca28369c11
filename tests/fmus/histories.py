"""Short runs of the FMUs from which states are taken."""

from collections.abc import Callable
from typing import Any

import numpy as np

import build_fmus
from sensor_models.faults import FaultMode
from tests.fmus.driving import drive
from tests.fmus.host import Instance

#: Steps of 10 ms and 37 samples a second: states lie between two samples nearly always.
STEP = 0.01
BETWEEN = {"sample_rate": 37.0, "seed": 3}
ENCODER = {**BETWEEN, "noise.rms": 0.05, "resolution": 0.02, "speed_timeout": 0.04}
ODOMETER = {**BETWEEN, "noise.rms": 0.05, "accumulate": 1, "order": 1}
PARAMETERS: dict[str, dict[str, Any]] = {"Encoder": ENCODER, "Odometer": ODOMETER, "Null": BETWEEN}
MODELS = [*build_fmus.fmu_modules(), "Null"]


def motion_of(instance: Instance) -> Callable[[float], dict[str, float]]:
    """A motion of all Real inputs that move, with a fault for a while."""
    moving = [n for n in instance.names("input") if n.startswith(("joint.", "body."))]

    def motion(time: float) -> dict[str, float]:
        values = {name: (n + 1) * np.sin(9.0 * time + n) for n, name in enumerate(moving)}
        if "fault.mode" in instance.variables:
            values["fault.mode"] = FaultMode.present if 0.15 < time < 0.35 else FaultMode.none
        return values

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
