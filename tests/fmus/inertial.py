"""Inertial FMUs in tests: their signals, how to make one ideal, and readings as vectors."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sensor_models.core.frames import BodyState
from sensor_models.core.quantities import quantities_of
from tests.fmus.host import Instance, open_fmu

Vector = tuple[float, float, float]
Values = dict[str, Any]

STANDARD_GRAVITY = 9.80665
XYZ = ("x", "y", "z")

#: The inputs in the order of a body's state, and behind it.
STATE_INPUTS = [name for q in quantities_of(BodyState).values() for name, _ in q.parts(q.default)]
ACCELERATION_INPUTS = [
    f"body.{name}.{axis}" for name in ("acceleration", "angular_acceleration") for axis in XYZ
]


def spread(name: str, values: Iterable[float]) -> Values:
    """A vector by the names of its components."""
    return {f"{name}.{axis}": value for axis, value in zip(XYZ, values, strict=True)}


def matrix(name: str, rows: ArrayLike) -> Values:
    """A matrix by the names of its components."""
    names = [f"{name}.{row}{column}" for row in XYZ for column in XYZ]
    return dict(zip(names, np.ravel(rows).tolist(), strict=True))


def body_inputs(state: ArrayLike) -> Values:
    """The inputs that describe a state of 13 values, or 19 with accelerations."""
    values = np.asarray(state).tolist()
    return dict(zip([*STATE_INPUTS, *ACCELERATION_INPUTS], values, strict=False))


def parameters_of(instance: Any, prefix: str = "") -> Values:
    """The parameters of a dataclass of the library by the names they have at an FMU."""
    dot = f"{prefix}." if prefix else ""
    return {
        f"{dot}{name}": int(value) if isinstance(value, IntEnum) else value
        for field, quantity in quantities_of(instance).items()
        for name, value in quantity.parts(getattr(instance, field))
    }


def fault_inputs(faults: Sequence[Any], prefixes: Sequence[str] = ("",)) -> Values:
    """The inputs for a fault on each axis of each signal."""
    places = [f"{prefix}fault.{axis}" for prefix in prefixes for axis in XYZ]
    return {
        f"{place}.{name}": value
        for place, fault in zip(places, faults, strict=True)
        for name, value in dataclasses.asdict(fault).items()
    }


@dataclass(frozen=True)
class Signal:
    """A signal of three axes, and what makes its ideal value anything that is wanted."""

    model: str
    output: str
    unit: str
    driven: str
    prefix: str = ""

    def named(self, parameters: Mapping[str, Any]) -> Values:
        """Parameters of the sensor by their full names."""
        return {f"{self.prefix}{name}": value for name, value in parameters.items()}

    def drive(self, value: Iterable[float]) -> Values:
        """Inputs, or parameters of a magnetometer, for an ideal signal."""
        return spread(self.driven, value)

    @property
    def undisturbed(self) -> Values:
        """Parameters for an ideal signal that is the driving one."""
        if self.driven == "body.angular_velocity":
            return {"poses": 1}  # given: the axes stay where they are
        if self.driven != "body.acceleration":
            return {}
        return {"gravity.z": 0.0, "use_acceleration_inputs": True}

    def open(self, directory: Path) -> AbstractContextManager[Instance]:
        """An instance of its FMU."""
        return open_fmu(directory / f"{self.model}.fmu")

    def read(self, sensor: Instance) -> Vector:
        """The newest reading."""
        return vector(sensor, self.output)

    def measure(self, directory: Path, value: Iterable[float], **errors: Any) -> Vector:
        """What a sensor with some errors reports of a constant signal after two steps."""
        given = {name.replace("__", "."): error for name, error in errors.items()}
        with self.open(directory) as sensor:
            sensor.initialize({**self.undisturbed, **self.named(given), **self.drive(value)})
            sensor.step(0.0, 0.01)
            sensor.step(0.01, 0.01)
            return self.read(sensor)


def vector(sensor: Instance, name: str) -> Vector:
    """A vector among the outputs."""
    x, y, z = sensor.get_all([f"{name}.{axis}" for axis in XYZ]).values()
    return x, y, z


IMU_ACCELEROMETER = Signal("Imu", "accelerometer", "m/s2", "body.acceleration", "accelerometer.")
IMU_GYROSCOPE = Signal("Imu", "gyroscope", "rad/s", "body.angular_velocity", "gyroscope.")
IMU_MAGNETOMETER = Signal("Imu", "magnetometer", "T", "magnetometer.field", "magnetometer.")
ACCELEROMETER = Signal("Accelerometer", "acceleration", "m/s2", "body.acceleration")
GYROSCOPE = Signal("Gyroscope", "angular_rate", "rad/s", "body.angular_velocity")
MAGNETOMETER = Signal("Magnetometer", "flux_density", "T", "field")

#: The signals that inputs drive, and all.
MOVED = [ACCELEROMETER, GYROSCOPE, IMU_ACCELEROMETER, IMU_GYROSCOPE]
SIGNALS = [*MOVED, MAGNETOMETER, IMU_MAGNETOMETER]


def name_of(signal: object) -> str:
    """The signal in the name of a test."""
    return f"{signal.model}-{signal.output}" if isinstance(signal, Signal) else ""


def ride(
    sensor: Instance, states: Iterable[ArrayLike], step: float, names: Sequence[str]
) -> list[list[Vector]]:
    """The readings of some vectors at each of the states, which are a step apart."""
    readings = []
    for k, state in enumerate(states):
        sensor.set(body_inputs(state))
        sensor.step(k * step, step)
        readings.append([vector(sensor, name) for name in names])
    return readings
