"""An IMU by its datasheet: Allan deviation at rest, and readings against the truth on the move.

    python examples/imu.py [--preset VN-100] [--hours 1] [--output build/demo]

The library simulates the IMU over arrays, as one does for data sets: first hours at rest for the
Allan deviation, whose straight parts must be on the datasheet's lines, then ten seconds of a body
that swings and turns.
"""

import argparse
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from sensor_models.core.frames import MountParameters
from sensor_models.core.quantities import quantities_of
from sensor_models.inertial.accelerometer import AccelerometerParameters
from sensor_models.inertial.allan import FLOOR, allan_deviation
from sensor_models.inertial.gyroscope import GyroscopeParameters
from sensor_models.inertial.imu import Imu, ImuParameters, Subsensors
from sensor_models.inertial.magnetometer import MagnetometerParameters
from sensor_models.presets import load_preset

mpl.use("Agg")  # a picture in a file; no screen is needed
from matplotlib import pyplot

EARTH_FIELD = (1.8e-5, 0.0, -4.5e-5)  # T, about that of central Europe with x to the north


def parameters_of(declaring: type, preset: dict[str, Any], group: str, **own: Any) -> Any:
    """A parameter dataclass with the values that a preset has for a group."""
    fields = dict(own)
    for field, quantity in quantities_of(declaring).items():
        named = [f"{group}.{name}" for name, _ in quantity.parts(quantity.default)]
        if any(name in preset for name in named):
            defaults = [part for _, part in quantity.parts(quantity.default)]
            values = [preset.get(n, d) for n, d in zip(named, defaults, strict=True)]
            if quantity.choices is not None:
                values = [quantity.choices[v] if isinstance(v, str) else v for v in values]
            fields[field] = tuple(values) if quantity.components else values[0]
    return declaring(**fields)


def make_imu(preset: dict[str, Any]) -> Imu:
    """The IMU of a preset."""
    sensors = Subsensors(
        accelerometer=parameters_of(AccelerometerParameters, preset, "accelerometer"),
        gyroscope=parameters_of(GyroscopeParameters, preset, "gyroscope"),
        magnetometer=parameters_of(
            MagnetometerParameters, preset, "magnetometer", field=EARTH_FIELD
        ),
    )
    rate = preset["sample_rate"]
    return Imu(ImuParameters(), sensors, MountParameters(), 1, "example", rate)


def draw_allan(imu: Imu, rate: float, hours: float, axes: Any) -> None:
    """Allan deviations at rest, with the lines of the datasheet."""
    count = round(hours * 3600.0 * rate)
    bodies = np.zeros((count, 13))
    bodies[:, 3] = 1.0
    readings = imu.sample_batch(0, np.arange(count) / rate, bodies)
    taus = np.geomspace(1.0 / rate, hours * 1200.0, 60)
    for axis, values, own, unit in (
        (axes[0], readings.accelerometer, imu.subsensors.accelerometer, "m/s²"),
        (axes[1], readings.gyroscope, imu.subsensors.gyroscope, "rad/s"),
    ):
        tau, deviation = allan_deviation(values[:, 0], rate, taus)
        axis.loglog(tau, deviation, label=f"simulated, {hours:g} h at rest")
        density, instability = own.noise_density[0], own.instability[0]
        # a one-sided density has √2 of the coefficient of the Allan deviation
        halved = own.noise_one_sided or own.noise_bandwidth > 0.0
        coefficient = density / np.sqrt(2.0) if halved else density
        if coefficient > 0.0:
            axis.loglog(tau, coefficient / np.sqrt(tau), "k--", lw=1, label="noise density")
        if instability > 0.0:
            axis.axhline(FLOOR * instability, color="k", ls=":", lw=1, label="bias instability")
        axis.set_xlabel("averaging time / s")
        axis.set_ylabel(f"Allan deviation / ({unit})")
        axis.grid(alpha=0.3, which="both")
        axis.legend(fontsize="small")
    axes[0].set_title("accelerometer, x")
    axes[1].set_title("gyroscope, x")


def draw_motion(imu: Imu, rate: float, axes: Any) -> None:
    """Readings of a body that swings sideways and turns, with the truth."""
    time = np.arange(round(10.0 * rate)) / rate
    swing, turn = 0.05 * np.sin(2.0 * np.pi * 0.5 * time), 0.3 * np.sin(2.0 * np.pi * 0.2 * time)
    bodies = np.zeros((len(time), 13))
    bodies[:, 1] = swing
    bodies[:, 3], bodies[:, 6] = np.cos(turn / 2.0), np.sin(turn / 2.0)
    bodies[:, 8] = np.gradient(swing, time)
    bodies[:, 12] = np.gradient(turn, time)
    imu.reset()
    readings = imu.sample_batch(0, time, bodies)
    sideways = np.gradient(bodies[:, 8], time) * np.cos(turn)
    for axis, values, truth, label in (
        (axes[0], readings.accelerometer[:, 1], sideways, "accelerometer y / (m/s²)"),
        (axes[1], readings.gyroscope[:, 2], bodies[:, 12], "gyroscope z / (rad/s)"),
    ):
        axis.plot(time, values, lw=0.5, label="reading")
        axis.plot(time, truth, color="k", lw=1, label="truth")
        axis.set_xlabel("time / s")
        axis.set_ylabel(label)
        axis.grid(alpha=0.3)
        axis.legend(fontsize="small", loc="upper right")


def main() -> None:
    """Run the example."""
    parser = argparse.ArgumentParser(description="Allan deviation and readings of an IMU preset.")
    parser.add_argument("--preset", default="VN-100")
    parser.add_argument("--hours", type=float, default=1.0)
    parser.add_argument("--output", type=Path, default=Path("build/demo"))
    options = parser.parse_args()
    preset = load_preset("Imu", options.preset)
    imu, rate = make_imu(preset), preset["sample_rate"]
    figure, axes = pyplot.subplots(2, 2, figsize=(11, 8), layout="constrained")
    figure.suptitle(f"{options.preset} at {rate:g} Hz")
    draw_allan(imu, rate, options.hours, axes[0])
    draw_motion(imu, rate, axes[1])
    options.output.mkdir(parents=True, exist_ok=True)
    picture = options.output.resolve() / "imu.png"
    figure.savefig(picture, dpi=80)
    print(f"picture  {picture}")


if __name__ == "__main__":
    main()
