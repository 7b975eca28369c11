"""The radar as a sensor: its frames are lists of targets.

A frame is taken with the first state that is known at or after its instant, from where the body
and the bodies of the scene were then. A master should step the ``Environment`` before the radar,
for the bodies of the scene to be known as far as the radar's own.

``model`` cone (``cone`` has its equations) takes no rays: it finds the nearest point of each
obstacle in a cone. ``ray_traced`` is another sensor (``ray_traced_sensor``) behind the same
variables.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.frames import BodyState, MountParameters
from sensor_models.core.placement import PlacementParameters
from sensor_models.core.sensor import Arrays, Inputs, Result, Sensor, Setup
from sensor_models.core.spec import PACKAGES, Group, SensorSpec
from sensor_models.messages.ports import OsiPorts
from sensor_models.output.detections import (
    DetectionFile,
    DetectionFileParameters,
    detection_writer,
)
from sensor_models.output.frame_binaries import FrameBinary, type_of_records
from sensor_models.output.records import columns_of, row_type
from sensor_models.output.sinks import FrameTableParameters
from sensor_models.radar.cone import ConeRadar, Target
from sensor_models.radar.errors import FAULTS, ErrorChain, TargetErrors
from sensor_models.radar.obstacles import Obstacles, obstacles_of, unknown_names
from sensor_models.radar.parameters import ConeParameters, RadarModel
from sensor_models.radar.ray_parameters import (
    AntennaParameters,
    CfarParameters,
    ChirpParameters,
    FieldParameters,
    TracingParameters,
    TubeParameters,
    WindowParameters,
)
from sensor_models.radar.readings import (
    MOST_TARGETS,
    CubeOutputs,
    Detection,
    NearestTargetOutputs,
    TargetOutput,
    TargetRow,
    values_of,
)
from sensor_models.scene.model import Scene
from sensor_models.scene.pose_memory import POSE_SIZE
from sensor_models.sight.mount import mount_of, pose_of
from sensor_models.sight.scene import SceneName, SceneNumber
from sensor_models.sight.schedule import Frame, Schedule
from sensor_models.sight.seeing import SeeingSensor

#: The detections of a frame as bytes.
DETECTIONS = FrameBinary(
    "frame.detections",
    "Detections of the newest frame",
    type_of_records(row_type(columns_of(Detection))),
    ("detections",),
)


class RadarSensor(SeeingSensor):
    """What the radars of all models share: errors of their targets, and the files of these."""

    def __init__(self, setup: Setup, schedule: Schedule | None = None) -> None:
        super().__init__(setup, schedule)
        errors = setup.parameters.of(TargetErrors)
        self.errors = ErrorChain(errors, setup.sampling.seed, setup.identity)
        self.format = setup.parameters.of(DetectionFileParameters).output_format

    def begin(self, inputs: Inputs) -> tuple[()]:
        """Frame 0 is taken with the first step, as many masters connect inputs only then."""
        self.errors.faults(inputs.held)  # refused before anything changes
        return super().begin(inputs)

    def advance(self, inputs: Inputs, t0: float, t1: float) -> Iterator[Result]:
        """The frames that are complete."""
        self.errors.faults(inputs.held)  # refused before anything changes
        yield from super().advance(inputs, t0, t1)

    def state(self) -> Arrays:
        """What is known of the motion, the frames that were begun, and the drift of errors."""
        return {**super().state(), "errors": self.errors.state}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from ``state()`` of this or an equal sensor; a ValueError changes nothing."""
        self.errors.check(arrays["errors"])
        super().restore(arrays)
        self.errors.state = arrays["errors"]


class ConeSensor(RadarSensor):
    """A cone radar that takes frames while the states of its body become known."""

    casts_rays = False

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._radar = ConeRadar(setup.parameters.of(ConeParameters), mount_of(setup))
        self._known: tuple[Scene, Obstacles] | None = None

    def take(self, frame: Frame) -> Result:
        """Take a frame."""
        obstacles, (moving, unknown) = self._obstacles(frame.scene.scene), frame.bodies()
        bodies = np.zeros((0, POSE_SIZE)) if moving is None else moving.poses[0]
        found = self._radar.detect(obstacles, frame.body, bodies, frame.time)
        targets, nearest = self.errors.act(frame.held, found.targets, frame.number, frame.time)
        values = values_of([_outputs(target) for target in targets], nearest)
        if not self.files:
            return Result(frame.number, frame.time, values)
        pose = pose_of(self._radar.mount, frame.body)
        known = {"frame": frame.number, "time": frame.time, **pose._asdict(), **unknown}
        if obstacles.bad_faces:
            known["bad_lines"] = obstacles.bad_faces * self._radar.parameters.lines_per_face
        placed = map(self._radar.placed, found.targets, targets)
        rows = [(frame.number, frame.time, *row_of(target)) for target in placed]
        files = (DetectionFile(Detection, rows, self.format),)
        return Result(frame.number, frame.time, values, files, known)

    def _obstacles(self, scene: Scene) -> Obstacles:
        """The obstacles of a scene, made once."""
        if self._known is None or self._known[0] is not scene:
            own = self._radar.parameters
            if unknown := unknown_names(scene, own.ignored):
                self.warn(f"ignore: no instance and no label of {scene.name} is named {unknown}")
            self._known = scene, obstacles_of(scene, own.obstacles, own.ignored)
        return self._known[1]

    def state(self) -> Arrays:
        """What is known of the motion, the frames that are due, and the targets before."""
        return {**super().state(), **self._radar.state}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from ``state()`` of this or an equal sensor; a ValueError changes nothing."""
        before = self._radar.state
        self._radar.state = {name: arrays[name] for name in before}
        try:
            super().restore(arrays)
        except ValueError:
            self._radar.state = before
            raise


def _known(speed: float) -> float:
    """A speed as an output, which is never NaN."""
    return 0.0 if math.isnan(speed) else speed


def _outputs(target: Target) -> TargetRow:
    entity_id, distance, azimuth, elevation, speed, _ = target
    return TargetRow(distance, azimuth, elevation, _known(speed), 0.0, 0.0, entity_id)


def row_of(target: Target) -> tuple[float | int, ...]:
    """A target in a file."""
    return (*target[:-1], *target.point, math.nan, math.nan)


def make_radar(setup: Setup) -> Sensor:
    """The sensor of a model."""
    if setup.parameters.of(ConeParameters).model == RadarModel.cone:
        return ConeSensor(setup)
    # Rays need the ray engine, and twenty kernels more.
    from sensor_models.radar.ray_traced_sensor import RayTracedSensor

    return RayTracedSensor(setup)


RADAR = SensorSpec(
    name="Radar",
    text="Radar: targets with range, angles and speed, by a cone or by ray-traced chirps",
    create=make_radar,
    state=(Group(BodyState),),
    held=(Group(SceneNumber), *FAULTS),
    parameters=(
        Group(ConeParameters),
        Group(AntennaParameters),
        Group(ChirpParameters, "chirp"),
        Group(WindowParameters, "window"),
        Group(FieldParameters, "fov"),
        Group(TubeParameters, "rays"),
        Group(CfarParameters, "cfar"),
        Group(TracingParameters),
        Group(TargetErrors),
        Group(PlacementParameters),
        Group(MountParameters),
        Group(SceneName),
    ),
    readings=(
        Group(NearestTargetOutputs),
        *(Group(TargetOutput, f"target_{number + 1}") for number in range(MOST_TARGETS)),
    ),
    sinks=(Group(DetectionFileParameters), Group(FrameTableParameters)),
    frames=detection_writer,
    more_files=((Group(CubeOutputs), "cube.npy"),),
    binaries=(DETECTIONS,),
    messages=OsiPorts(takes_view=True),
    step=0.1,
    packages=PACKAGES,  # those that read scenes are imported when a scene is new
)
