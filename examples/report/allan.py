"""Allan deviation of the IMU at rest, with what its datasheet says.

An hour of a real recording takes an hour. Here the library samples the same model over arrays, as
``examples/imu.py`` does, in pieces.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from imu import make_imu
from numpy.typing import NDArray

from sensor_models.inertial.allan import FLOOR, allan_deviation
from sensor_models.presets import load_preset

Floats = NDArray[np.float64]

PRESET = "VN-100"
PIECE = 80_000  # samples at once
#: How many readings are averaged first, for averaging times from MEAN_FROM on.
MEAN_OF, MEAN_FROM = 80, 2.0


@dataclass(frozen=True)
class SensorAllan:
    """One of the sensors in an IMU."""

    tau: Floats
    deviation: dict[str, Floats]  # by axis
    density: float  # of the datasheet, as the coefficient of N/√τ
    floor: float  # of the datasheet's bias instability


@dataclass(frozen=True)
class Allan:
    """The Allan deviations of an IMU at rest."""

    preset: str
    rate: float  # Hz
    hours: float
    sensors: tuple[SensorAllan, SensorAllan]  # accelerometer, gyroscope


def at_rest(hours: float, tell: Callable[[float], None]) -> Allan:
    """Simulate hours at rest; ``tell`` is called with the share that is done."""
    preset = load_preset("Imu", PRESET)
    rate = float(preset["sample_rate"])
    model = make_imu(preset)
    count = MEAN_OF * max(2, round(3600.0 * hours * rate / MEAN_OF))
    body = np.zeros((PIECE, 13))
    body[:, 3] = 1.0
    force, turn = np.empty((count, 3)), np.empty((count, 3))
    for first in range(0, count, PIECE):
        after = min(first + PIECE, count)
        stamps = np.arange(first, after) / rate
        readings = model.sample_batch(first, stamps, body[: after - first])
        force[first:after], turn[first:after] = readings.accelerometer, readings.gyroscope
        tell(0.5 * after / count)
    own = model.subsensors
    sensors = []
    for place, (values, sensor) in enumerate(((force, own.accelerometer), (turn, own.gyroscope))):
        # A one-sided density has √2 of the coefficient of the Allan deviation.
        one_sided = sensor.noise_one_sided or sensor.noise_bandwidth > 0.0
        density = sensor.noise_density[0] / (np.sqrt(2.0) if one_sided else 1.0)
        tau, deviation = deviations(values, rate)
        sensors.append(SensorAllan(tau, deviation, density, FLOOR * sensor.instability[0]))
        tell(0.5 + 0.25 * (place + 1))
    return Allan(PRESET, rate, hours, (sensors[0], sensors[1]))


def deviations(values: Floats, rate: float) -> tuple[Floats, dict[str, Floats]]:
    """Averaging times up to a third of the record, and the deviation of each axis at them."""
    short = np.geomspace(1.0 / rate, MEAN_FROM, 16)[:-1]
    long = np.geomspace(MEAN_FROM, max(len(values) / rate / 3.0, 1.5 * MEAN_FROM), 24)
    means = values.reshape(-1, MEAN_OF, 3).mean(axis=1)
    found = {}
    for place, axis in enumerate("xyz"):
        parts = (
            allan_deviation(values[:, place], rate, short),
            allan_deviation(means[:, place], rate / MEAN_OF, long),
        )
        tau = np.concatenate([part[0] for part in parts])
        found[axis] = np.concatenate([part[1] for part in parts])
    return tau, found
