"""The ray-traced radar as a sensor: its frames are lists of targets and cubes.

The stamp of a frame is its middle. A frame is taken with the first state that is known at or after
its end, as its motion is that from its beginning to its end: of the sensor's own body and of the
bodies of the scene, by their poses. The first frame begins with the first state.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.frames import (
    multiply_quaternions,
    normalise_quaternion,
    rotate_vector,
)
from sensor_models.core.sensor import Held, Inputs, Result, Setup
from sensor_models.core.spec import Groups
from sensor_models.output.cubes import CubeFile
from sensor_models.output.detections import DetectionFile
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
from sensor_models.radar.sensor import RadarSensor
from sensor_models.radar.targets import Detector, RadarTarget
from sensor_models.scene.pose_memory import POSE_SIZE
from sensor_models.sight.mount import mount_of, pose_of
from sensor_models.sight.schedule import Frame, FrameSchedule
from sensor_models.sight.seeing import clock_of

Floats = NDArray[np.float64]


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


def _tell_of_rates(cfar: CfarParameters, warn: Callable[[str], None]) -> None:
    """Warn of a rate that is given and not used."""
    if cfar.false_alarms_per_frame > 0.0 and cfar.false_alarm != CfarParameters.false_alarm:
        warn(
            f"cfar.false_alarm = {cfar.false_alarm} is not used, as cfar.false_alarms_per_frame = "
            f"{cfar.false_alarms_per_frame} is more than 0; set that to 0 to go by the cell"
        )


class RayTracedSensor(RadarSensor):
    """A ray-traced radar that takes frames while the states of its body become known."""

    def __init__(self, setup: Setup) -> None:
        own = parameters_of(setup.parameters)
        self._mount = mount_of(setup)
        self._radar = RayTracedRadar(
            own, seed=setup.sampling.seed, identity=setup.identity, warn=setup.warn
        )
        _tell_of_rates(own.cfar, setup.warn)
        self._detector = Detector(own, self._radar.radio)
        self._half = half = 0.5 * self._radar.radio.duration
        super().__init__(setup, FrameSchedule(clock_of(setup), ahead=half, back=half))
        self._start = setup.start
        self._until: Held | None = None  # the held inputs until the newest known instant

    def advance(self, inputs: Inputs, t0: float, t1: float) -> Iterator[Result]:
        """The frames whose end is known; faults act as they are then."""
        self._until = inputs.before
        yield from super().advance(inputs, t0, t1)

    def take(self, frame: Frame) -> Result:
        """Take a frame."""
        (motion, about), rays = self._motion(frame), frame.rays
        image = self._radar.image(rays, motion, frame.number)
        found, held = self._detector.targets(rays, image), self._until or frame.held
        targets, nearest = self.errors.act(held, found, frame.number, frame.time)
        values = values_of([_outputs(target) for target in targets], nearest)
        if not self.files:
            return Result(frame.number, frame.time, values)
        rows = [(frame.number, frame.time, *row_of(target)) for target in targets]
        files: tuple[Any, ...] = (DetectionFile(Detection, rows, self.format),)
        if self._radar.parameters.tracing.cube:
            radio = self._radar.radio
            files = (*files, CubeFile(image.cube, (radio.range_cell, radio.speed_cell)))
        pose = {
            "position": motion.position.tolist(),
            "orientation": motion.orientation.tolist(),
            "velocity": motion.velocity.tolist(),
        }
        known = {"frame": frame.number, "time": frame.time, **pose, "rays": image.tubes, **about}
        return Result(frame.number, frame.time, values, files, known)

    def _motion(self, frame: Frame) -> tuple[Motion, dict[str, float]]:
        """Sensor and bodies at the middle of a frame, and what a reader should know of them."""
        begin, end = max(frame.time - self._half, self._start), frame.time + self._half
        states = frame.states_at(np.array([begin, frame.time, end]))
        velocity = velocities(states[:1], states[2:], end - begin)[0]
        position, orientation = map(np.array, pose_of(self._mount, states[1]))
        arm = rotate_vector(normalise_quaternion(states[1, 3:7]), np.array(self._mount.position))
        own = velocity[:3] + np.cross(velocity[3:], arm)
        moving, about = frame.bodies()
        around, unknown = frame.bodies(begin, end - begin, 1)
        bodies = np.zeros((0, POSE_SIZE)) if moving is None else moving.poses[0]
        moves = np.zeros((len(bodies), 6))
        if around is not None and len(around.poses) == 2:
            first = unknown.get("bodies_known_from", begin)
            last = unknown.get("bodies_known_until", end)
            moves = velocities(around.poses[0], around.poses[1], last - first)
        return Motion(position, orientation, own, bodies, moves), {**unknown, **about}


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
