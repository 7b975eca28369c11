"""Four sensors from outside the project, as a user would add them: CONTRIBUTING's recipe."""

#: A scalar sensor: the temperature of a heater that follows the joint's position.
SCALAR = '''"""Thermometer: the joint's position, scaled, with an offset."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.frames import interpolate_joint
from sensor_models.core.quantities import check, real
from sensor_models.core.sensor import Held, SampledSensor, Setup
from sensor_models.core.spec import PACKAGES, Group, SensorSpec
from sensor_models.output.records import RecordParameters
from sensor_models.wheel.sensors import JointState


@dataclass(frozen=True)
class ThermometerParameters:
    """What it adds."""

    gain: float = real(2.0, "K", "Temperature of one radian", minimum=0.0)

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class ThermometerReading:
    """What it reports."""

    temperature: float = real(0.0, "K", "Temperature of the heater")


class Thermometer:
    """The highest temperature so far."""

    def __init__(self, parameters: ThermometerParameters) -> None:
        self.gain = parameters.gain
        self.state = np.zeros(1)

    def reset(self) -> None:
        self.state = np.zeros(1)

    def sample(self, position: float) -> ThermometerReading:
        highest = max(self.state[0], self.gain * position)
        self.state = np.array([highest])
        return ThermometerReading(float(highest))


def make(setup: Setup) -> SampledSensor:
    model = Thermometer(setup.parameters.of(ThermometerParameters))

    def measure(
        index: int, time: float, joint: NDArray[np.float64], held: Held
    ) -> ThermometerReading:
        return model.sample(joint[0])

    return SampledSensor(setup, model, measure, interpolate_joint)


SPEC = SensorSpec(
    name="Thermometer",
    text="Thermometer on a heater",
    create=make,
    state=(Group(JointState),),
    parameters=(Group(ThermometerParameters),),
    readings=(Group(ThermometerReading),),
    sinks=(Group(RecordParameters),),
    packages=(*PACKAGES, "scipy", "hypothesis>=6"),
)
'''

#: A scalar sensor that sees the scene: how far it is along a ray.
ALTIMETER = '''"""Altimeter: the distance straight down."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.frames import BodyState, interpolate_body
from sensor_models.core.quantities import real
from sensor_models.core.sensor import Held, SampledSensor, Setup
from sensor_models.core.spec import PACKAGES, SCENE_PACKAGES, Group, SensorSpec
from sensor_models.output.records import RecordParameters
from sensor_models.sight.scene import SceneName, SceneNumber


@dataclass(frozen=True)
class AltimeterReading:
    """What it reports."""

    height: float = real(0.0, "m", "Height above what is below; 0 for nothing")


class NoMemory:
    """A model that keeps nothing."""

    def __init__(self) -> None:
        self.state = np.zeros(1)

    def reset(self) -> None:
        """There is nothing to reset."""


def make(setup: Setup) -> SampledSensor:
    def measure(
        index: int, time: float, body: NDArray[np.float64], held: Held
    ) -> AltimeterReading:
        down = np.array([[0.0, 0.0, -1.0]])
        hit = held.scene.rays().trace(body[None, :3], down, 1000.0)
        distance = float(hit.t[0])
        return AltimeterReading(distance if np.isfinite(distance) else 0.0)

    return SampledSensor(setup, NoMemory(), measure, interpolate_body)


SPEC = SensorSpec(
    name="Altimeter",
    text="Height above the ground",
    create=make,
    state=(Group(BodyState),),
    held=(Group(SceneNumber),),
    parameters=(Group(SceneName),),
    readings=(Group(AltimeterReading),),
    sinks=(Group(RecordParameters),),
    packages=(*PACKAGES, *SCENE_PACKAGES),
)
'''

#: A sensor that sees and takes frames: its model, and what stands around the model.
PROFILER_MODEL = '''"""Profiler: the distances of a row of rays, straight down."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sensor_models.output.frame_files import write_npy


def profile(rays: object, position: NDArray[np.float64], count: int) -> NDArray[np.float32]:
    """Distances of rays that start side by side along y."""
    origins = np.tile(position, (count, 1))
    origins[:, 1] += 0.1 * np.arange(count)
    down = np.tile([0.0, 0.0, -1.0], (count, 1))
    return np.asarray(rays.trace(origins, down, 1000.0).t, np.float32)


@dataclass(frozen=True)
class ProfileFile:
    """A profile as a file."""

    distances: NDArray[np.float32]
    suffix: str = "profile.npy"

    def write(self, path: Path) -> dict[str, object]:
        write_npy(path, self.distances)
        return {"kind": "profile", "rays": len(self.distances)}
'''

PROFILER = """
# ---- around the model ---------------------------------------------------------------------------
from sensor_models.core.clock import SampleClock, Timeline
from sensor_models.core.frames import BodyState, interpolate_body
from sensor_models.core.quantities import integer, real, string
from sensor_models.core.sensor import Result
from sensor_models.core.spec import PACKAGES, SCENE_PACKAGES, Group, SensorSpec
from sensor_models.output.frame_files import FrameWriter
from sensor_models.output.sinks import FrameTableParameters, WriteFiles, write_files
from sensor_models.sight.scene import SceneName, SceneNumber


@dataclass(frozen=True)
class ProfilerParameters:
    rays: int = integer(4, "Number of rays", minimum=1)


@dataclass(frozen=True)
class ProfilerFiles:
    write_files: WriteFiles = write_files("Write each profile to a file")
    output_directory: str = string("", "Directory for files")


@dataclass(frozen=True)
class ProfilerReading:
    lowest: float = real(0.0, "m", "The longest distance")


class Profiler:
    def __init__(self, setup):
        self.rays, self.files = setup.parameters.of(ProfilerParameters).rays, setup.files
        clock = SampleClock(setup.start, setup.sampling.sample_rate)
        self.start, self.timeline, self.due = setup.start, Timeline(clock, interpolate_body), []

    def begin(self, inputs):
        self.due = self.timeline.push(self.start, inputs.state)
        return ()

    def advance(self, inputs, t0, t1):
        due = self.timeline.push(t1, inputs.state)
        self.due = due if due and due[0][0] == 0 else [*self.due, *due]
        while self.due:
            (number, stamp, body), *self.due = self.due
            found = profile(inputs.held.scene.rays(), body[:3], self.rays)
            files = (ProfileFile(found),) if self.files else ()
            yield Result(number, stamp, (float(found.max()),), files, {"frame": number})

    def state(self):
        waiting = np.array([[n, t, *body] for n, t, body in self.due]).reshape(-1, 15)
        return {**self.timeline.state, "due": waiting}

    def restore(self, arrays):
        self.timeline.state = arrays
        self.due = [(int(row[0]), float(row[1]), row[2:].copy()) for row in arrays["due"]]

    def close(self): ...


SPEC = SensorSpec(
    name="Profiler",
    text="Profile of the ground",
    create=Profiler,
    state=(Group(BodyState),),
    held=(Group(SceneNumber),),
    parameters=(Group(ProfilerParameters), Group(SceneName)),
    readings=(Group(ProfilerReading),),
    sinks=(Group(ProfilerFiles), Group(FrameTableParameters)),
    frames=FrameWriter,
    packages=(*PACKAGES, *SCENE_PACKAGES),
)
"""

#: A sensor that sees, with rows that are taken one after the other.
RANGE_CAMERA = '''"""Range camera: distances by two rays a pixel, one row after the other."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sensor_models.core.frames import BodyState, MountParameters
from sensor_models.core.placement import PlacementParameters
from sensor_models.core.quantities import integer, real, string
from sensor_models.core.sensor import Result
from sensor_models.core.spec import PACKAGES, SCENE_PACKAGES, Group, SensorSpec
from sensor_models.output.frame_files import FrameWriter, write_npy
from sensor_models.output.sinks import FrameTableParameters, WriteFiles, write_files
from sensor_models.sight.mount import mount_of, poses_of
from sensor_models.sight.rows import Rows, ShutterParameters
from sensor_models.sight.scene import SceneName, SceneNumber
from sensor_models.sight.seeing import SeeingSensor, clock_of


@dataclass(frozen=True)
class Pixels:
    rows: int = integer(6, "Rows of a picture", minimum=2, maximum=1000)
    columns: int = integer(8, "Columns of a picture", minimum=1, maximum=1000)


@dataclass(frozen=True)
class Files:
    write_files: WriteFiles = write_files("Write each picture to a file")
    output_directory: str = string("", "Directory for files")


@dataclass(frozen=True)
class Nearest:
    nearest: float = real(0.0, "m", "The least distance of a pixel; 0 for none")


@dataclass(frozen=True)
class Picture:
    distances: np.ndarray
    suffix: str = "distance.npy"

    def write(self, path: Path) -> dict[str, object]:
        write_npy(path, self.distances)
        return {"kind": "distance", "rows": len(self.distances)}


class RangeCamera(SeeingSensor):
    def __init__(self, setup):
        own, self.mount = setup.parameters.of(Pixels), mount_of(setup)
        up, left = np.mgrid[0.4 : -0.4 : own.rows * 1j, 0.5 : -0.5 : own.columns * 2j]
        self.along = np.stack([np.ones_like(up), left, up], axis=-1)  # (rows, 2 columns, 3)
        self.along /= np.linalg.norm(self.along, axis=-1, keepdims=True)
        readout = setup.parameters.of(ShutterParameters).rolling_shutter
        super().__init__(setup, Rows(clock_of(setup), readout, own.rows))

    def take(self, frame):
        rows, poses = [], poses_of(self.mount, self.schedule.states_of(frame))
        for row, along in enumerate(self.along):
            turn, place = np.split(poses[row % len(poses)], [9])
            bodies, _ = frame.bodies(frame.time + self.schedule.delays[row % len(poses)])
            hits = frame.rays.trace(place, along @ turn.reshape(3, 3).T, 100.0, bodies=bodies)
            rows.append(np.where(np.isfinite(hits.t), hits.t, 0.0).reshape(-1, 2).mean(axis=1))
        seen = np.array(rows, np.float32)
        files = (Picture(seen),) if self.files else ()
        nearest = float(seen[seen > 0.0].min(initial=100.0))
        return Result(frame.number, frame.time, (nearest,), files, {"frame": frame.number})


SPEC = SensorSpec(
    name="RangeCamera", text="Pictures of distance", create=RangeCamera, frames=FrameWriter,
    state=(Group(BodyState),), held=(Group(SceneNumber),), readings=(Group(Nearest),),
    parameters=(*map(Group, (Pixels, ShutterParameters, PlacementParameters, MountParameters)),
                Group(SceneName)),
    sinks=(Group(Files), Group(FrameTableParameters)), packages=(*PACKAGES, *SCENE_PACKAGES),
)
'''
