"""A driven wheel with an encoder and an odometer, both FMUs, in an fmpy master.

    python examples/wheel.py [--fmus build/fmus] [--output build/demo]

The wheel speeds up, holds its speed, stops and rolls back. From 7 s to 8 s the encoder is stuck
at its reading: its position freezes, and so its speed falls to 0 after the time-out. Both sensors
record their samples to Parquet; the picture shows truth and readings.
"""

import argparse
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import fmpy
import matplotlib as mpl
import numpy as np
import pyarrow.parquet
from fmpy.fmi2 import FMU2Slave

mpl.use("Agg")  # a picture in a file; no screen is needed
from matplotlib import pyplot

STEP, STOP = 0.005, 12.0  # of the master
START_ANGLE = 0.02  # not on an edge between two codes
SAMPLE_RATE = 2000.0  # of the sensors: ten samples in a step, each with its own stamp
WHEEL_RADIUS, TICKS_PER_TURN = 0.3, 120
STUCK_FROM, STUCK_UNTIL = 7.0, 8.0


class Slave:
    """One FMU instance, its variables by name."""

    def __init__(self, path: Path, name: str, parameters: dict[str, Any]) -> None:
        description = fmpy.read_model_description(path)
        self._folder = Path(fmpy.extract(path))
        self._variables = {v.name: v for v in description.modelVariables}
        self._fmu = FMU2Slave(
            guid=description.guid,
            unzipDirectory=str(self._folder),
            modelIdentifier=description.coSimulation.modelIdentifier,
            instanceName=name,
        )
        self._fmu.instantiate()
        for parameter, value in parameters.items():
            self.set(parameter, value)
        self._fmu.setupExperiment(startTime=0.0, stopTime=STOP)
        self._fmu.enterInitializationMode()
        self._fmu.exitInitializationMode()

    def set(self, name: str, value: Any) -> None:
        """Set one variable; a choice goes by its name or its number."""
        variable = self._variables[name]
        kind = "Integer" if variable.type == "Enumeration" else variable.type
        if kind == "Integer" and isinstance(value, str):
            value = {item.name: int(item.value) for item in variable.declaredType.items}[value]
        getattr(self._fmu, f"set{kind}")([variable.valueReference], [value])

    def get(self, *names: str) -> list[float]:
        """The values of Real outputs."""
        return self._fmu.getReal([self._variables[name].valueReference for name in names])

    def step(self, time: float) -> None:
        """Do one communication step."""
        self._fmu.doStep(time, STEP)

    def close(self) -> None:
        """End the instance and remove its unpacked files."""
        self._fmu.terminate()
        self._fmu.freeInstance()
        shutil.rmtree(self._folder, ignore_errors=True)


@contextmanager
def slaves(fmus: Path, output: Path) -> Iterator[tuple[Slave, Slave]]:
    """The two sensors of the wheel."""
    common = {
        "inputs_at_step_end": True,
        "sample_rate": SAMPLE_RATE,
        "record": True,
        "output_directory": str(output),
    }
    tick = 2.0 * np.pi / TICKS_PER_TURN
    encoder = Slave(fmus / "Encoder.fmu", "wheel encoder", {**common, "resolution": tick})
    odometer = Slave(
        fmus / "Odometer.fmu",
        "wheel odometer",
        {**common, "wheel_radius": WHEEL_RADIUS, "resolution": 2.0 * np.pi / 48},
    )
    try:
        yield encoder, odometer
    finally:
        encoder.close()
        odometer.close()


def wheel_motion() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Time, angle and rate of the wheel."""
    time = np.arange(round(STOP / STEP) + 1) * STEP
    rate = np.interp(time, [0, 2, 6, 8.5, 9.5, 11, 12], [0, 6, 6, 0, 0, -3, -3])
    turned = np.cumsum((rate[1:] + rate[:-1]) / 2.0 * STEP)
    return time, START_ANGLE + np.concatenate(([0.0], turned)), rate


def simulate(fmus: Path, output: Path) -> tuple[Path, Path]:
    """Run the co-simulation; returns the two records."""
    time, angle, rate = wheel_motion()
    with slaves(fmus, output) as (encoder, odometer):
        for k in range(len(time) - 1):
            # The dynamics were stepped first: inputs describe the end of the step.
            encoder.set("joint.position", angle[k + 1])
            encoder.set("joint.velocity", rate[k + 1])
            odometer.set("joint.position", angle[k + 1])
            stuck = STUCK_FROM <= time[k + 1] < STUCK_UNTIL
            encoder.set("fault.mode", "present" if stuck else "none")
            encoder.step(time[k])
            odometer.step(time[k])
    return output / record_of(output, "encoder"), output / record_of(output, "odometer")


def record_of(output: Path, word: str) -> str:
    """The record whose name holds a word; instance names are made safe for file names."""
    return next(path.name for path in output.glob("*.parquet") if word in path.name)


def draw(encoder: Path, odometer: Path, picture: Path) -> None:
    """Truth and readings over time."""
    time, angle, rate = wheel_motion()
    read = pyarrow.parquet.read_table(encoder)
    rolled = pyarrow.parquet.read_table(odometer)
    figure, axes = pyplot.subplots(3, 1, sharex=True, figsize=(11, 8), layout="constrained")
    axes[0].plot(time, np.mod(angle, 2 * np.pi), color="0.7", lw=3, label="truth, wrapped")
    axes[0].step(read["time"], read["position"], where="post", lw=1, label="Encoder: position")
    axes[0].set_ylabel("angle / rad")
    axes[1].plot(time, rate, color="0.7", lw=3, label="truth")
    axes[1].step(read["time"], read["speed"], where="post", lw=1, label="Encoder: speed")
    axes[1].set_ylabel("rate / (rad/s)")
    axes[2].plot(time, WHEEL_RADIUS * angle, color="0.7", lw=3, label="truth")
    axes[2].step(rolled["time"], rolled["distance"], where="post", label="Odometer: distance")
    axes[2].set_ylabel("distance / m")
    axes[2].set_xlabel("time / s")
    for axis in axes:
        axis.axvspan(STUCK_FROM, STUCK_UNTIL, color="tab:red", alpha=0.1, label="encoder stuck")
        axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize="small")
        axis.grid(alpha=0.3)
    figure.savefig(picture, dpi=80)
    pyplot.close(figure)


def main() -> None:
    """Run the example."""
    parser = argparse.ArgumentParser(description="An encoder and an odometer on a driven wheel.")
    parser.add_argument("--fmus", type=Path, default=Path("build/fmus"))
    parser.add_argument("--output", type=Path, default=Path("build/demo"))
    options = parser.parse_args()
    output = options.output.resolve()
    output.mkdir(parents=True, exist_ok=True)
    encoder, odometer = simulate(options.fmus, output)
    picture = output / "wheel.png"
    draw(encoder, odometer, picture)
    print(f"records  {encoder}\n         {odometer}\nindex    {output / 'index.jsonl'}")
    print(f"picture  {picture}")


if __name__ == "__main__":
    main()
