"""A drive through the yard with everything that this project simulates, and a report of it.

    python examples/demo.py [--seconds 20] [--lidar VLP-16] [--output build/demo] [--open]
                            [--mcap | --live]

The vehicle follows a route between the other vehicles, around a tree and along a wall. On it is a
sensor of every kind, each an FMU: an IMU, single accelerometer, gyroscope and magnetometer,
encoders and odometers at two wheels, a satellite receiver, a lidar, a depth camera, and once a
second a colour camera, a radar and a lidar that keeps its waveforms. The master is fmpy and this
file. It has two rates: the vehicle and the sensors of motion are stepped every 10 ms, the world and
the sensors that see it every 50 ms. The latter interpolate the motion in between, so each ray still
has the pose of its own instant.

Files of the sensors are in ``data`` in the output directory, the report is ``report.html``: one
file that needs neither network nor server. With ``--mcap`` all sensors also write to one log,
``drive.mcap``, for Foxglove or Rerun. With ``--live`` Foxglove shows the drive while it goes on, at
the pace of real time: open ws://127.0.0.1:8765 in it, or another address that is given.
"""

import argparse
import shutil
import subprocess
import sys
import time
import webbrowser
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from ctypes import byref
from pathlib import Path
from typing import Any

import fmpy
import numpy as np
from fmpy import calloc, free
from fmpy.fmi1 import FMICallException
from fmpy.fmi2 import (
    FMU2Slave,
    fmi2CallbackAllocateMemoryTYPE,
    fmi2CallbackFreeMemoryTYPE,
    fmi2CallbackFunctions,
    fmi2CallbackLoggerTYPE,
    fmi2Error,
)
from fmpy.logging import addLoggerProxy
from numpy.typing import NDArray
from report.page import write_report
from report.recording import Recording, Timing
from report.route import Driver

from sensor_models.tools.pictures.progress import Progress

FMUS = Path("build/fmus")
MODELS = (
    "VehicleDynamics", "Environment", "Imu", "Accelerometer", "Gyroscope", "Magnetometer",
    "Encoder", "Odometer", "Lidar", "DepthCamera", "CcdCamera", "Radar", "WaveformLidar", "Gnss",
)  # fmt: skip
STEP = 0.01  # s, of the vehicle and the sensors of motion
SEEING_STEPS = 5  # such steps in a step of the world and of the sensors that see it
PICTURES_PER_SECOND = 5.0
#: Of the sensors whose frames take long: 1/s.
SLOW = 1.0
LIVE = "ws://127.0.0.1:8765"

VECTOR, QUATERNION = ("x", "y", "z"), ("w", "x", "y", "z")
MOTION = tuple(
    f"{group}.{part}"
    for group, parts in (
        ("position", VECTOR),
        ("orientation", QUATERNION),
        ("velocity", VECTOR),
        ("angular_velocity", VECTOR),
    )
    for part in parts
)
BODY = tuple(f"body.{name}" for name in MOTION)
ACCELERATIONS = tuple(
    f"body.{group}.{part}" for group in ("acceleration", "angular_acceleration") for part in VECTOR
)
WHEELS = {"left": "wheel_1", "right": "wheel_2"}  # the front ones
WHEEL_MOTION = tuple(f"{w}.{name}" for w in WHEELS.values() for name in ("position", "velocity"))
TRAFFIC = tuple(f"vehicle_{number}.{name}" for number in (1, 2, 3) for name in MOTION)
#: Outputs of the vehicle that are kept, and that sensors are connected to.
TRUTH = (*BODY, *ACCELERATIONS, *WHEEL_MOTION, *TRAFFIC)
#: Inputs of sensors whose names differ from those of the vehicle's outputs.
JOINTS = {
    side: {"joint.position": f"{wheel}.position", "joint.velocity": f"{wheel}.velocity"}
    for side, wheel in WHEELS.items()
}
#: Outputs of the sensors that are kept; the IMU records all its samples itself.
READ = {
    "Accelerometer": tuple(f"acceleration.{part}" for part in VECTOR),
    "Gyroscope": tuple(f"angular_rate.{part}" for part in VECTOR),
    "Encoder": ("speed",),
    "Odometer": ("distance",),
    "Magnetometer": tuple(f"flux_density.{part}" for part in VECTOR),
}
#: What is set of the slower sensors of the world, and of the receiver.
COLOUR_CAMERA = {
    "sample_rate": SLOW,
    "pixels.width": 424,
    "pixels.height": 240,
    "ccd_size.width": 4.24e-3,
    "ccd_size.height": 2.4e-3,
    "image_distance": 2.8e-3,
    "light.sky_at_bounce": False,  # right in the open, and costs less
    "mount.position.x": 0.5,
    "mount.position.z": 0.9,
}
RADAR = {
    "preset": "AWR1843",
    "rays.angle": 3e-3,  # wider than the default, to be fast
    "rays.spacing": 0.03,
    "sample_rate": SLOW,
    "mount.position.x": 0.6,
    "mount.position.z": 0.6,
}
WAVEFORM_LIDAR = {
    "preset": "VLP-16 APD",
    "sample_rate": SLOW,
    "pattern.columns": 904,
    "output_format": "npy",
    "mount.position.z": 1.1,
}
RECEIVER = {
    "preset": "NEO-M9N",
    "sample_rate": PICTURES_PER_SECOND,
    "origin.latitude": np.radians(48.0),
    "origin.longitude": np.radians(11.0),
    "error.mode": "pseudorange",
    "multipath": "image",
    "record": True,
    "record_pseudoranges": True,
    "mount.position.z": 1.5,
}


class Messages:
    """What FMUs say: kept for the report, and errors told at once."""

    def __init__(self) -> None:
        self.said: list[tuple[str, str]] = []  # instance, message
        self.callbacks = fmi2CallbackFunctions()
        self.callbacks.logger = fmi2CallbackLoggerTYPE(self._take)
        self.callbacks.allocateMemory = fmi2CallbackAllocateMemoryTYPE(calloc)
        self.callbacks.freeMemory = fmi2CallbackFreeMemoryTYPE(free)
        addLoggerProxy(byref(self.callbacks))  # which puts the arguments of a message into it

    def _take(self, _: Any, instance: bytes, status: int, __: bytes, message: bytes) -> None:
        name, text = instance.decode(), message.decode(errors="replace")
        self.said.append((name, text))
        if status >= fmi2Error:
            print(f"{name}: {text}", file=sys.stderr)


class Fmu:
    """One FMU instance: variables by name, and a clock around its steps."""

    def __init__(
        self,
        fmus: Path,
        model: str,
        name: str,
        parameters: Mapping[str, Any],
        every: int,
        messages: Messages,
    ) -> None:
        self.parameters = dict(parameters)
        self.every = every
        self.timing = Timing(name, model, every * STEP)
        description = fmpy.read_model_description(fmus / f"{model}.fmu")
        self._folder = Path(fmpy.extract(fmus / f"{model}.fmu"))
        self._variables = {v.name: v for v in description.modelVariables}
        self._fmu = FMU2Slave(
            guid=description.guid,
            unzipDirectory=str(self._folder),
            modelIdentifier=description.coSimulation.modelIdentifier,
            instanceName=name,
        )
        self._linked: tuple[list[int], list[int]] = ([], [])
        self._reads = [self._variables[n].valueReference for n in READ.get(model, ())]
        self._fmu.instantiate(callbacks=messages.callbacks)
        for parameter, value in parameters.items():
            self.set(parameter, value)

    def connect(self, renamed: Mapping[str, str] | None = None) -> None:
        """Link inputs to the outputs of the vehicle with their names, or those in ``renamed``."""
        sources = {name: name for name in TRUTH} | dict(renamed or {})
        places = {name: place for place, name in enumerate(TRUTH)}
        links = [
            (variable.valueReference, places[sources[name]])
            for name, variable in self._variables.items()
            if variable.causality == "input" and name in sources
        ]
        self._linked = [reference for reference, _ in links], [place for _, place in links]

    def start(self) -> None:
        """Go through initialisation."""
        self._fmu.setupExperiment(startTime=0.0)
        self._fmu.enterInitializationMode()
        self._fmu.exitInitializationMode()

    def set(self, name: str, value: Any) -> None:
        """Set one variable; a choice goes by its name or its number."""
        variable = self._variables[name]
        kind = "Integer" if variable.type == "Enumeration" else variable.type
        if kind == "Integer" and isinstance(value, str):
            value = {item.name: int(item.value) for item in variable.declaredType.items}[value]
        getattr(self._fmu, f"set{kind}")([variable.valueReference], [value])

    def take(self, truth: Sequence[float]) -> None:
        """Set the linked inputs."""
        references, places = self._linked
        self._fmu.setReal(references, [truth[place] for place in places])

    def step(self, now: float) -> None:
        """Do one communication step, and add up what it takes."""
        began = time.perf_counter()
        self._fmu.doStep(now, self.timing.step)
        self.timing.seconds += time.perf_counter() - began
        self.timing.calls += 1

    def get(self, names: Sequence[str]) -> list[float]:
        """The values of Real outputs."""
        return list(self._fmu.getReal([self._variables[name].valueReference for name in names]))

    def get_integer(self, name: str) -> int:
        """The value of an Integer output."""
        return int(self._fmu.getInteger([self._variables[name].valueReference])[0])

    def read(self) -> list[float]:
        """The outputs that are kept."""
        return list(self._fmu.getReal(self._reads)) if self._reads else []

    def end(self) -> None:
        """End the run: files are written to their ends."""
        self._fmu.terminate()

    def close(self) -> None:
        """Free the instance and remove its unpacked files."""
        self._fmu.freeInstance()
        shutil.rmtree(self._folder, ignore_errors=True)


class Demo:
    """The FMUs of the demo, connected."""

    def __init__(self, options: argparse.Namespace, data: Path, progress: Progress) -> None:
        self._open, self._messages = ExitStack(), Messages()
        self._fmus: Path = options.fmus
        self._log = str(options.output.resolve() / "drive.mcap") if options.mcap else options.live
        self._in_real_time = bool(options.live)
        self._progress = progress
        self._data = str(data)
        self.driver = Driver()
        x, y, yaw = self.driver.start
        self.vehicle = self._load(
            "VehicleDynamics",
            "vehicle",
            {"start.position.x": x, "start.position.y": y, "start.yaw": yaw, "time_step": 2e-3},
        )
        self.vehicle.start()
        self.first = self.vehicle.get(TRUTH)
        self.environment = self._load("Environment", "yard", {}, every=SEEING_STEPS)
        self.sensors = [self.environment, *self._measuring(), *self._seeing(options.lidar)]

    def __enter__(self) -> "Demo":
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def _load(self, model: str, name: str, parameters: Mapping[str, Any], every: int = 1) -> Fmu:
        self._progress.say(f"loading {model}")
        fmu = Fmu(self._fmus, model, name, parameters, every, self._messages)
        self._open.callback(fmu.close)
        if model != "VehicleDynamics":
            # The vehicle is stepped first, so the inputs of sensors describe the end of a step.
            fmu.set("inputs_at_step_end", True)
            if model != "Environment":
                fmu.set("log", self._log)
            side = name.split()[0]
            fmu.connect(JOINTS.get(side))
            fmu.take(self.first)
            fmu.start()
        return fmu

    def _measuring(self) -> list[Fmu]:
        """Sensors of motion."""
        place = {"mount.position.z": 0.4, "use_acceleration_inputs": True}
        own = {"record": True, "output_directory": self._data}
        axes = {"preset": "BMI088", "sample_rate": 100.0, **place}
        encoder = {"resolution": 2.0 * np.pi / 4096, "sample_rate": 100.0}
        odometer = {"wheel_radius": 0.3, "resolution": 2.0 * np.pi / 512}
        magnetometer = {"preset": "VN-100", "sample_rate": 100.0}
        seen = {"scene_handle": self.environment.get_integer("scene_handle")}
        return [
            self._load("Imu", "IMU", {"preset": "VN-100", **place, **own, **seen}),
            self._load("Accelerometer", "accelerometer", axes),
            self._load("Gyroscope", "gyroscope", axes),
            self._load("Magnetometer", "magnetometer", {**magnetometer, **seen}),
            *(self._load("Encoder", f"{side} encoder", encoder) for side in WHEELS),
            *(self._load("Odometer", f"{side} odometer", odometer) for side in WHEELS),
        ]

    def _seeing(self, lidar_preset: str) -> list[Fmu]:
        """Sensors of the world; they write files."""
        common = {
            "scene_handle": self.environment.get_integer("scene_handle"),
            "output_directory": self._data,
        }
        lidar = {
            "preset": lidar_preset,
            "mount.position.z": 1.3,
            "output_frame": "world",
            "output_format": "npy",
            "motion_slices": 5,
        }
        camera = {
            "preset": "D455",
            "sample_rate": PICTURES_PER_SECOND,
            "width": 424,
            "height": 240,
            "max_range": 20.0,
            "mount.position.x": 0.5,
            "mount.position.z": 0.8,
        }
        return [
            self._load(model, name, {**own, **common}, every=SEEING_STEPS)
            for model, name, own in (
                ("Lidar", "lidar", lidar),
                ("DepthCamera", "camera", camera),
                ("CcdCamera", "colour camera", COLOUR_CAMERA),
                ("Radar", "radar", RADAR),
                ("WaveformLidar", "waveform lidar", WAVEFORM_LIDAR),
                ("Gnss", "GNSS", RECEIVER),
            )
        ]

    def drive(self, seconds: float) -> Recording:
        """Drive, and return the recording."""
        steps = SEEING_STEPS * max(1, round(seconds / (SEEING_STEPS * STEP)))
        truth = np.empty((steps + 1, len(TRUTH)))
        truth[0] = self.first
        readings = [[value for fmu in self.sensors for value in fmu.read()]]
        began = time.perf_counter()
        for k in range(steps):
            now = self._step(k, truth[k])
            truth[k + 1] = now
            readings.append([value for fmu in self.sensors for value in fmu.read()])
            if self._in_real_time:
                time.sleep(max(0.0, began + (k + 1) * STEP - time.perf_counter()))
            if k % 20 == 19 or k == steps - 1:
                self._progress.show((k + 1) / steps, f"{STEP * (k + 1):.1f} s driven")
        for fmu in (self.vehicle, *self.sensors):
            fmu.end()
        wall = time.perf_counter() - began
        return self._recording(truth, np.array(readings), wall)

    def _step(self, k: int, before: NDArray[np.float64]) -> list[float]:
        """Step everything that is due; returns the truth at the end of the step."""
        left, right = self.driver.commands(k * STEP, before[: len(BODY)])
        self.vehicle.set("drive.left", left)
        self.vehicle.set("drive.right", right)
        self.vehicle.step(k * STEP)
        now = self.vehicle.get(TRUTH)
        for fmu in self.sensors:
            if (k + 1) % fmu.every == 0:
                fmu.take(now)
                fmu.step((k + 1 - fmu.every) * STEP)
        return now

    def _recording(
        self, truth: NDArray[np.float64], readings: NDArray[np.float64], wall: float
    ) -> Recording:
        fmus = (self.vehicle, *self.sensors)
        kept = [
            f"{fmu.timing.name}.{output}"
            for fmu in self.sensors
            for output in READ.get(fmu.timing.model, ())
        ]
        return Recording(
            time=STEP * np.arange(len(truth)),
            truth={name: truth[:, place] for place, name in enumerate(TRUTH)},
            readings={name: readings[:, place] for place, name in enumerate(kept)},
            data=Path(self._data),
            timings=[fmu.timing for fmu in fmus],
            parameters={fmu.timing.name: fmu.parameters for fmu in fmus},
            messages=self._messages.said,
            wall=wall,
        )


def options_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="A drive through the yard, and a report of it.")
    parser.add_argument("--fmus", type=Path, default=FMUS, help="built FMUs")
    parser.add_argument("--output", type=Path, default=Path("build/demo"))
    parser.add_argument("--seconds", type=float, default=20.0, help="how long to drive")
    parser.add_argument("--lidar", default="VLP-16", metavar="PRESET", help="OS0-128, Mid-360, ...")
    parser.add_argument("--hours", type=float, default=1.0, help="at rest, for the Allan deviation")
    logs = parser.add_mutually_exclusive_group()
    logs.add_argument("--mcap", action="store_true", help="write a log of all sensors, too")
    logs.add_argument(
        "--live", nargs="?", const=LIVE, default="", metavar="ADDRESS",
        help=f"show the drive in Foxglove while it goes on, at {LIVE} or another address",
    )  # fmt: skip
    parser.add_argument("--open", action="store_true", help="show the report in the browser")
    parser.add_argument("--quick", action="store_true", help="3 s, and 2 minutes at rest")
    options = parser.parse_args(arguments)
    if options.quick:
        options.seconds, options.hours = 3.0, 1.0 / 30.0
    if not options.seconds > 0.0 or not options.hours > 0.0:
        parser.error("--seconds and --hours must be above 0")
    if options.live and not options.live.startswith("ws://"):
        parser.error(f"--live {options.live}: must be an address, as {LIVE}")
    return options


def fresh(data: Path) -> Path:
    """An empty directory for the files of the sensors; those of an earlier run are removed."""
    if data.exists() and not (data / "index.jsonl").exists() and any(data.iterdir()):
        raise SystemExit(f"{data} has files that are not of the demo; choose another --output")
    shutil.rmtree(data, ignore_errors=True)
    try:
        data.mkdir(parents=True)
    except OSError as error:
        raise SystemExit(f"{data}: {error.strerror}") from None
    return data


def build_missing(fmus: Path) -> None:
    """Build what is not there, for this machine; FMUs from elsewhere have to be complete."""
    missing = [model for model in MODELS if not (fmus / f"{model}.fmu").is_file()]
    if missing and fmus != FMUS:
        raise SystemExit(f"{fmus} has no {', '.join(missing)}: without --fmus they are built")
    if missing:
        here = ["--levels", "host", "--platforms", "host"]
        command = [sys.executable, "-m", "build_fmus", *here, "--only", *missing]
        if (status := subprocess.run(command, check=False).returncode) != 0:
            raise SystemExit(status)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the demo."""
    options = options_of(arguments)
    output = options.output.resolve()
    data = fresh(output / "data")
    build_missing(options.fmus)
    with Progress() as progress:
        with Demo(options, data, progress) as demo:
            if options.live:
                progress.say("")
                print(f"open {options.live} in Foxglove", flush=True)
            recording = demo.drive(options.seconds)
        report = write_report(recording, output / "report.html", options.hours, progress)
    print(
        f"{recording.seconds:g} s driven in {recording.wall:.1f} s:"
        f" {recording.factor:.1f} times real time"
    )
    print(f"files   {data}\nreport  {report}")
    if options.mcap:
        print(f"log     {output / 'drive.mcap'}")
    if options.open:
        webbrowser.open(report.as_uri())


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        raise SystemExit("\nstopped") from None
    except FMICallException as error:  # what the FMU said of it has been told already
        raise SystemExit(str(error)) from None
