"""The ray-traced radar as a sensor: its frames are lists of targets and cubes.

The stamp of a frame is its middle. A frame is taken with the first state that is known at or after
its end, as its motion is that from its beginning to its end: of the sensor's own body and of the
bodies of the scene, by their poses. The first frame begins with the first state.
"""

import math
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.clock import SampleClock
from sensor_models.core.frames import (
    IDENTITY,
    MountParameters,
    matrix_from_quaternion,
    multiply_quaternions,
    normalise_quaternion,
    rotate_vector,
)
from sensor_models.core.placement import PlacementParameters, placed
from sensor_models.core.sensor import Arrays, Inputs, Result, Setup
from sensor_models.core.spec import Groups
from sensor_models.output.cubes import CubeFile
from sensor_models.output.detections import DetectionFile, DetectionFileParameters
from sensor_models.radar.ray_parameters import (
    AntennaParameters,
    CfarParameters,
    ChirpParameters,
    FieldParameters,
    RayTracedParameters,
    TracingParameters,
    TubeParameters,
    WindowParameters,
)
from sensor_models.radar.ray_traced import Motion, RayTracedRadar
from sensor_models.radar.readings import Detection, TargetRow, values_of
from sensor_models.radar.targets import Detector, RadarTarget
from sensor_models.scene.history import History, Sight
from sensor_models.scene.pose_memory import BODY_SIZE, POSE_SIZE
from sensor_models.scene.registry import SceneHandle
from sensor_models.scene.tracing import RayScene
from sensor_models.sight.rounding import RoundingWatch
from sensor_models.sight.smallest import moved_bodies, smallest_scene

Floats = NDArray[np.float64]

#: Share of its time by which a known instant may lie before the end of a frame.
ROUNDING = 1e-9


class Due(NamedTuple):
    """A frame that is begun."""

    number: int
    stamp: float


def parameters_of(groups: Groups) -> RayTracedParameters:
    """The parameters of a radar by their groups."""
    return RayTracedParameters(
        groups.of(AntennaParameters),
        groups.of(ChirpParameters, "chirp"),
        groups.of(WindowParameters, "window"),
        groups.of(FieldParameters, "fov"),
        groups.of(TubeParameters, "rays"),
        groups.of(CfarParameters, "cfar"),
        groups.of(TracingParameters),
    )


class RayTracedSensor:
    """A ray-traced radar that takes frames while the states of its body become known."""

    def __init__(self, setup: Setup) -> None:
        _load_kernels()
        sampling, self._start = setup.sampling, setup.start
        own = parameters_of(setup.parameters)
        self._mount = placed(
            setup.parameters.of(MountParameters),
            setup.parameters.of(PlacementParameters),
            sampling.seed,
            setup.identity,
        )
        self._radar = RayTracedRadar(
            own, seed=sampling.seed, identity=setup.identity, warn=setup.warn
        )
        self._detector = Detector(own, self._radar.radio)
        self._half = 0.5 * self._radar.radio.duration
        self._clock = SampleClock(setup.start, sampling.sample_rate)
        self._own, self._due = History.nothing(), list[Due]()
        self._sight, self._rounding = Sight(), RoundingWatch(setup.warn)
        self._format = setup.parameters.of(DetectionFileParameters).output_format
        self._files = setup.files

    def begin(self, inputs: Inputs) -> tuple[()]:
        """Frame 0 is taken with a later step, as its end is not known."""
        self._push(self._start, inputs)
        return ()

    def advance(self, inputs: Inputs, t0: float, t1: float) -> Iterator[Result]:
        """The frames whose end is known."""
        self._push(t1, inputs)
        scene, latest = inputs.held.scene, self._clock.latest
        self._rounding.look(scene, inputs.state[:3])
        oldest = (self._due[0].stamp if self._due else latest) - self._half
        self._sight.follow(scene, oldest, inputs.before.scene)
        while self._due and self._due[0].stamp + self._half <= latest + ROUNDING * max(
            1.0, abs(latest)
        ):
            result = self._take(scene, *self._due[0])
            self._due = self._due[1:]
            yield result
        oldest = (self._due[0].stamp if self._due else latest) - self._half
        self._own = self._own.since(oldest)

    def _push(self, time: float, inputs: Inputs) -> None:
        """Take in the state of the body at an instant."""
        due = [Due(*sample) for sample in self._clock.due(time)]
        again = bool(due) and due[0].number == 0  # the start, which counts as given last
        self._due = due if again else [*self._due, *due]
        now = History(np.array([time]), inputs.state[:BODY_SIZE].reshape(1, 1, BODY_SIZE).copy())
        self._own = self._own.followed_by(now) if len(self._own.times) and not again else now

    def _take(self, scene: SceneHandle, index: int, stamp: float) -> Result:
        """Take a frame."""
        motion, about = self._motion(stamp)
        rays = scene.rays(placed=False)
        image = self._radar.image(rays, motion, index)
        targets = self._detector.targets(rays, image)
        values = values_of([_outputs(target) for target in targets])
        if not self._files:
            return Result(index, stamp, values)
        rows = [(index, stamp, *row_of(target)) for target in targets]
        files: tuple[Any, ...] = (DetectionFile(Detection, rows, self._format),)
        if self._radar.parameters.tracing.cube:
            radio = self._radar.radio
            files = (*files, CubeFile(image.cube, (radio.range_cell, radio.speed_cell)))
        pose = {
            "position": motion.position.tolist(),
            "orientation": motion.orientation.tolist(),
            "velocity": motion.velocity.tolist(),
        }
        known = {"frame": index, "time": stamp, **pose, "rays": image.tubes, **about}
        return Result(index, stamp, values, files, known)

    # ---- motion ------------------------------------------------------------------------------

    def _motion(self, stamp: float) -> tuple[Motion, dict[str, float]]:
        """Sensor and bodies at the middle of a frame, and what a reader should know of them."""
        begin, end = max(stamp - self._half, self._start), stamp + self._half
        latest = float(self._own.times[-1])
        states = self._own.at([begin, stamp, min(end, latest)]).states[:, 0]
        velocity = velocities(states[:1], states[2:], min(end, latest) - begin)[0]
        body, turn = states[1], normalise_quaternion(states[1, 3:7])
        arm = rotate_vector(turn, np.array(self._mount.position))
        own = velocity[:3] + np.cross(velocity[3:], arm)
        moving, about = self._sight.over(stamp, 0.0, 0)
        around, unknown = self._sight.over(begin, end - begin, 1)
        bodies = np.zeros((0, POSE_SIZE)) if moving is None else moving.poses[0]
        moves = np.zeros((len(bodies), 6))
        if around is not None and len(around.poses) == 2:
            first = unknown.get("bodies_known_from", begin)
            last = unknown.get("bodies_known_until", end)
            moves = velocities(around.poses[0], around.poses[1], last - first)
        motion = Motion(
            body[:3] + arm,
            multiply_quaternions(turn, np.array(self._mount.orientation)),
            own,
            bodies,
            moves,
        )
        return motion, {**unknown, **about}

    # ---- state -------------------------------------------------------------------------------

    def state(self) -> Arrays:
        """What is known of the motion, and the frames that are begun."""
        return {
            "clock": self._clock.state,
            "own_times": self._own.times.copy(),
            "own": self._own.states.reshape(-1, BODY_SIZE).copy(),
            "due": np.array([list(due) for due in self._due], float).reshape(-1, 2),
            "bodies": self._sight.state,
        }

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from ``state()`` of this or an equal sensor."""
        times, own, due = arrays["own_times"], arrays["own"], arrays["due"]
        fits = times.ndim == 1 and own.shape == (len(times), BODY_SIZE)
        fits = fits and due.ndim == 2 and due.shape[1] == 2
        if not fits or not all(np.isfinite(a).all() for a in (times, own, due)):
            raise ValueError("the saved state of the radar is damaged")
        if (np.diff(times) <= 0.0).any() or (len(due) and not len(times)):
            raise ValueError("the saved state of the radar is damaged")
        sight = Sight.of(arrays)
        self._clock.state = np.asarray(arrays["clock"], float)
        self._sight = sight
        self._own = History(times.copy(), own.reshape(-1, 1, BODY_SIZE).copy())
        self._due = [Due(int(row[0]), float(row[1])) for row in due]

    def close(self) -> None:
        """Memory is all that it holds."""


def velocities(before: Floats, after: Floats, duration: float) -> Floats:
    """Velocities and angular velocities (n, 6) between poses that are so far apart in time."""
    moves = np.zeros((len(before), 6))
    if duration <= 0.0:
        return moves
    moves[:, :3] = (after[:, :3] - before[:, :3]) / duration
    for row, (one, other) in enumerate(zip(before[:, 3:7], after[:, 3:7], strict=True)):
        back = one * np.array([1.0, -1.0, -1.0, -1.0])
        w, *axis = multiply_quaternions(other, back).tolist()
        sine = math.hypot(*axis)
        if sine > 0.0:
            angle = 2.0 * math.atan2(sine, abs(w)) * (1.0 if w >= 0.0 else -1.0)
            moves[row, 3:] = np.array(axis) * (angle / sine / duration)
    return moves


def _outputs(target: RadarTarget) -> TargetRow:
    return TargetRow(
        target.range, target.azimuth, target.elevation, target.speed,
        target.rcs, target.snr, target.entity_id,
    )  # fmt: skip


def row_of(target: RadarTarget) -> tuple[float | int, ...]:
    """A target in a file."""
    level = target.range * math.cos(target.elevation)
    place = (
        level * math.cos(target.azimuth),
        level * math.sin(target.azimuth),
        target.range * math.sin(target.elevation),
    )
    polar = target.range, target.azimuth, target.elevation, target.speed
    return (target.entity_id, *polar, *place, target.rcs, target.snr)


@cache
def _load_kernels() -> None:
    """Compile or load what a step may need, once, and not in a step."""
    matrix_from_quaternion(np.array(IDENTITY))
    scene = smallest_scene()
    own = RayTracedParameters(
        fov=FieldParameters(0.05, 0.05), chirp=ChirpParameters(samples=16, count=16)
    )
    radar = RayTracedRadar(own)
    bodies = moved_bodies(scene).poses[0]
    pose = np.array([[0.0, 0.0, 0.0, *IDENTITY]])
    velocities(pose, pose, 1.0)  # of bodies, of which the smallest scene has none
    rotate_vector(normalise_quaternion(np.array(IDENTITY)), np.zeros(3))
    History(np.zeros(1), np.zeros((1, 1, BODY_SIZE))).at([0.0])
    motion = Motion(
        np.zeros(3), np.array(IDENTITY), np.zeros(3), bodies, np.zeros((len(bodies), 6))
    )
    with RayScene(scene, threads=1) as rays:
        image = radar.image(rays, motion, 0)
        Detector(own, radar.radio).load(rays, image)
