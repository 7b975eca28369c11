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
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.clock import Sample, SampleClock, Timeline
from sensor_models.core.frames import IDENTITY, BodyState, MountParameters, interpolate_body
from sensor_models.core.placement import PlacementParameters, placed
from sensor_models.core.sensor import Arrays, Inputs, Result, Sensor, Setup
from sensor_models.core.spec import PACKAGES, Group, SensorSpec
from sensor_models.kernels.math.motion import matrix_from_quaternion
from sensor_models.messages.ports import OsiPorts
from sensor_models.output.detections import (
    DetectionFile,
    DetectionFileParameters,
    detection_writer,
)
from sensor_models.output.sinks import FrameTableParameters
from sensor_models.radar.cone import ConeRadar, Detections, Target
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
from sensor_models.scene.history import Sight
from sensor_models.scene.model import Scene
from sensor_models.scene.pose_memory import BODY_SIZE, POSE_SIZE
from sensor_models.sight.scene import SceneName, SceneNumber
from sensor_models.sight.smallest import moved_bodies, smallest_scene

#: Before the names of the arrays of the timeline in a saved state.
TIMELINE = "timeline."


class ConeSensor:
    """A cone radar that takes frames while the states of its body become known."""

    def __init__(self, setup: Setup) -> None:
        _load_kernels()
        sampling, self._start = setup.sampling, setup.start
        mount = placed(
            setup.parameters.of(MountParameters),
            setup.parameters.of(PlacementParameters),
            sampling.seed,
            setup.identity,
        )
        self._radar = ConeRadar(setup.parameters.of(ConeParameters), mount)
        clock = SampleClock(setup.start, sampling.sample_rate)
        self._timeline = Timeline(clock, interpolate_body)
        self._due: list[Sample] = []
        self._sight = Sight()
        self._known: tuple[Scene, Obstacles] | None = None
        self._format = setup.parameters.of(DetectionFileParameters).output_format
        self._files, self._warn = setup.files, setup.warn

    def begin(self, inputs: Inputs) -> tuple[()]:
        """Frame 0 is taken with the first step, as many masters connect inputs only then."""
        self._push(self._start, inputs)
        return ()

    def advance(self, inputs: Inputs, t0: float, t1: float) -> Iterator[Result]:
        """The frames whose instant is known."""
        self._push(t1, inputs)
        scene, latest = inputs.held.scene, self._timeline.clock.latest
        self._sight.follow(scene, self._due[0][1] if self._due else latest, inputs.before.scene)
        obstacles = self._obstacles(scene.scene)
        while self._due:
            index, stamp, body = self._due[0]
            moving, unknown = self._sight.over(stamp, 0.0, 0)
            bodies = np.zeros((0, POSE_SIZE)) if moving is None else moving.poses[0]
            found = self._radar.detect(obstacles, body, bodies, stamp)
            self._due = self._due[1:]
            values = self._values(found)
            if not self._files:
                yield Result(index, stamp, values)
                continue
            pose = self._radar.sensor_pose(body).tolist()
            about = {"position": pose[:3], "orientation": pose[3:], **unknown}
            if obstacles.bad_faces:
                about["bad_lines"] = obstacles.bad_faces * self._radar.parameters.lines_per_face
            rows = [(index, stamp, *row_of(target)) for target in found.targets]
            files = (DetectionFile(Detection, rows, self._format),)
            known = {"frame": index, "time": stamp, **about}
            yield Result(index, stamp, values, files, known)

    def _push(self, time: float, inputs: Inputs) -> None:
        """Take in the state of the body at an instant."""
        due = self._timeline.push(time, inputs.state)
        again = bool(due) and due[0][0] == 0  # the start, which counts as given last
        self._due = due if again else [*self._due, *due]

    def _obstacles(self, scene: Scene) -> Obstacles:
        """The obstacles of a scene, made once."""
        if self._known is None or self._known[0] is not scene:
            own = self._radar.parameters
            if unknown := unknown_names(scene, own.ignored):
                self._warn(f"ignore: no instance and no label of {scene.name} is named {unknown}")
            self._known = scene, obstacles_of(scene, own.obstacles, own.ignored)
        return self._known[1]

    def _values(self, found: Detections) -> tuple[Any, ...]:
        """The readings of a frame, scalar by scalar."""
        return values_of([_outputs(target) for target in found.targets], _known(found.speed))

    def state(self) -> Arrays:
        """What is known of the motion, the frames that are due, and the targets before."""
        due = [[index, stamp, *body] for index, stamp, body in self._due]
        return {
            **{f"{TIMELINE}{name}": array for name, array in self._timeline.state.items()},
            **self._radar.state,
            "due": np.array(due, float).reshape(-1, 2 + BODY_SIZE),
            "bodies": self._sight.state,
        }

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from ``state()`` of this or an equal sensor."""
        due, values = arrays["due"], arrays[f"{TIMELINE}values"]
        fits = due.ndim == 2 and due.shape[1] == 2 + BODY_SIZE and np.isfinite(due).all()
        if not fits or values.shape not in ((0,), (BODY_SIZE,)) or not np.isfinite(values).all():
            raise ValueError("the saved state of the radar is damaged")
        sight, before = Sight.of(arrays), self._radar.state
        self._radar.state = {name: arrays[name] for name in before}
        try:
            self._timeline.state = {"clock": arrays[f"{TIMELINE}clock"], "values": values}
        except ValueError:
            self._radar.state = before
            raise
        self._sight = sight
        self._due = [(int(row[0]), float(row[1]), row[2:].copy()) for row in due]

    def close(self) -> None:
        """Memory is all that it holds."""


def _known(speed: float) -> float:
    """A speed as an output, which is never NaN."""
    return 0.0 if math.isnan(speed) else speed


def _outputs(target: Target) -> TargetRow:
    entity_id, distance, azimuth, elevation, speed, _ = target
    return TargetRow(distance, azimuth, elevation, _known(speed), 0.0, 0.0, entity_id)


def row_of(target: Target) -> tuple[float | int, ...]:
    """A target in a file."""
    return (*target[:-1], *target.point, math.nan, math.nan)


@cache
def _load_kernels() -> None:
    """Compile or load what a step may need, once, and not in a step."""
    interpolate_body(np.zeros(BODY_SIZE), np.zeros(BODY_SIZE), 1.0, 0.5)
    matrix_from_quaternion(np.array(IDENTITY))  # of scenes that are read when they are needed
    scene, body = smallest_scene(), (0.0, 0.0, 0.0, *IDENTITY)
    ConeRadar().detect(obstacles_of(scene), body, moved_bodies(scene).poses[0], 0.0)


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
    held=(Group(SceneNumber),),
    parameters=(
        Group(ConeParameters),
        Group(AntennaParameters),
        Group(ChirpParameters, "chirp"),
        Group(WindowParameters, "window"),
        Group(FieldParameters, "fov"),
        Group(TubeParameters, "rays"),
        Group(CfarParameters, "cfar"),
        Group(TracingParameters),
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
    messages=OsiPorts(takes_view=True),
    step=0.1,
    packages=PACKAGES,  # those that read scenes are imported when a scene is new
)
