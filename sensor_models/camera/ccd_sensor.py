"""The CCD camera as a sensor: its frames are pictures.

A frame is complete with the first state that is known at or after the end of its exposure, where
several rays a pixel blur it, or of the beginning of its last row; its stamp, and the pose in the
index, are those of the beginning of its first row. The exposure of a frame is the one that is set
at its stamp.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.camera.ccd import CcdCamera, Seen
from sensor_models.camera.ccd_parameters import (
    MOST_BANDS,
    Bayer,
    ChipParameters,
    FilterParameters,
    LightParameters,
    OpticsParameters,
    PictureParameters,
    SensorModel,
)
from sensor_models.camera.depth import matrices_of
from sensor_models.camera.flow import (
    FirstHits,
    FlowFileOutput,
    FlowParameters,
    Instants,
    flows_of,
    load_flow,
)
from sensor_models.camera.intrinsics import intrinsics_of
from sensor_models.camera.shutter import Begun, FrameShutter
from sensor_models.core.clock import SampleClock
from sensor_models.core.frames import (
    IDENTITY,
    BodyState,
    MountParameters,
    interpolate_body,
    multiply_quaternions,
    rotate_vector,
)
from sensor_models.core.placement import PlacementParameters, placed
from sensor_models.core.quantities import boolean, check, integer, real, string
from sensor_models.core.sensor import Arrays, Inputs, Result, Setup, Vector
from sensor_models.core.spec import PACKAGES, SCENE_PACKAGES, Group, Groups, SensorSpec
from sensor_models.kernels.light.fresnel import reflectance_at_normal
from sensor_models.kernels.light.paths import LIMIT_NAMES
from sensor_models.kernels.math.motion import matrix_from_quaternion
from sensor_models.messages.ports import OsiPorts
from sensor_models.output.images import (
    ImageFile,
    ImageFormat,
    ImageWriter,
    PictureFile,
    PictureFileParameters,
)
from sensor_models.output.sinks import FrameTableParameters
from sensor_models.scene.history import Sight
from sensor_models.scene.pose_memory import BODY_SIZE
from sensor_models.scene.registry import SceneHandle
from sensor_models.scene.tracing import RayScene
from sensor_models.sight.rounding import RoundingWatch
from sensor_models.sight.scene import SceneName, SceneNumber
from sensor_models.sight.smallest import moved_bodies, smallest_scene

#: Stretches of a frame at whose ends the camera and movable bodies are interpolated.
MOTION_SPANS = 128
#: Parts of the range of digital numbers that are counted.
BINS = 16
#: Before the names of the arrays of a shutter in a saved state.
SHUTTER = "shutter."


@dataclass(frozen=True)
class ExposureInput:
    """What a master may control from frame to frame."""

    exposure: float = real(
        0.0,
        "s",
        "Exposure of the frames that begin from now on; 0 takes the parameter exposure_time",
        minimum=0.0,
        maximum=3600.0,
    )


@dataclass(frozen=True)
class LabelParameters:
    """Which images of what is seen are made beside the picture."""

    segmentation: bool = boolean(
        False, "Make images of entity ids, of semantic labels and of distances in m along the ray"
    )

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class PictureOutputs:
    """The newest picture."""

    width: int = integer(0, "Columns of the newest frame", name="frame.width")
    height: int = integer(0, "Rows of the newest frame", name="frame.height")
    mean_intensity: float = real(0.0, "1", "Mean digital number over the largest one")


@dataclass(frozen=True)
class BinOutput:
    """A part of the histogram."""

    share: float = real(
        0.0, "1", "Share of the digital numbers in a sixteenth of their range, counted from dark"
    )


@dataclass(frozen=True)
class LabelFileOutput:
    """The labels of the newest picture."""

    file: str = string("", "Path of the semantic labels of its pixels; entity.npy has their ids")


def ccd_camera_of(parameters: Groups, seed: int, identity: str) -> CcdCamera:
    """The camera that parameters describe."""
    filters = (parameters.of(FilterParameters, f"sensor.filter_{n + 1}") for n in range(MOST_BANDS))
    return CcdCamera(
        parameters.of(OpticsParameters),
        parameters.of(PictureParameters),
        parameters.of(ChipParameters, "sensor"),
        tuple(filters),
        parameters.of(LightParameters, "light"),
        seed=seed,
        identity=identity,
    )


class CcdCameraSensor:
    """A CCD camera that takes frames while the states of its body become known."""

    def __init__(self, setup: Setup) -> None:
        _load_kernels()
        given, sampling = setup.parameters, setup.sampling
        self._camera = ccd_camera_of(given, sampling.seed, setup.identity)
        mount, placement = given.of(MountParameters), given.of(PlacementParameters)
        self._mount = placed(mount, placement, sampling.seed, setup.identity)
        self._flow = given.of(FlowParameters, "flow")
        self._interval = self._flow.interval_at(sampling.sample_rate)
        self._shutter = FrameShutter(
            SampleClock(setup.start, sampling.sample_rate),
            self._camera.duration,
            **self._flow.needs(self._interval),
        )
        self._plain = self._camera.plain() if self._flow.on else self._camera
        self._start, self._warn, self._files = setup.start, setup.warn, setup.files
        self._sight, self._rounding = Sight(), RoundingWatch(setup.warn)
        self._places = given.of(PictureFileParameters)
        self._labels = given.of(LabelParameters).segmentation
        self._told_of_darkness = False

    def begin(self, inputs: Inputs) -> tuple[()]:
        """Frame 0 is taken with the first step, as many masters connect inputs only then."""
        exposure = self._exposure(inputs.held.groups)
        self._shutter.push(self._start, inputs.state, exposure)
        return ()

    def advance(self, inputs: Inputs, t0: float, t1: float) -> Iterator[Result]:
        """The frames whose exposure is over."""
        now, before = (self._exposure(held.groups) for held in (inputs.held, inputs.before))
        self._shutter.push(t1, inputs.state, now, before)
        self._rounding.look(inputs.held.scene, inputs.state[:3])
        self._sight.follow(inputs.held.scene, self._shutter.oldest, inputs.before.scene)
        for begun in self._shutter.begun():
            result = self._take(inputs.held.scene, begun)
            self._shutter.taken()  # before it is handed on: who gets it may be interrupted
            yield result

    def _exposure(self, held: Groups) -> float:
        return held.of(ExposureInput).exposure or self._camera.picture.exposure_time

    def _take(self, scene: SceneHandle, begun: Begun) -> Result:
        """Take a frame."""
        camera, rays = self._camera, scene.rays(placed=False)
        duration = camera.duration(begun.exposure)
        spans = MOTION_SPANS if duration > 0.0 else 0
        moving, unknown = self._sight.over(begun.stamp, duration, spans)
        instants = begun.stamp + np.linspace(0.0, duration, spans + 1)
        poses = self._sensor_poses(self._shutter.poses_at(begun, instants))
        seen = camera.expose(rays, poses, begun.number, exposure_time=begun.exposure, moving=moving)
        numbers, dark = camera.develop(rays, seen.light, begun.number, begun.exposure)
        self._tell_of_darkness(camera.scenery(rays).is_dark)
        values = self._values(numbers)
        if not self._files:
            return Result(begun.number, begun.stamp, values)
        position, orientation = self._sensor_pose(begun.body)
        known = {
            "frame": begun.number,
            "time": begun.stamp,
            "position": position,
            "orientation": orientation,
            "exposure": begun.exposure,
            **unknown,
            **({"invalid": dark} if dark else {}),
            **{f"lost_{n}": int(c) for n, c in zip(LIMIT_NAMES, seen.lost, strict=True) if c},
            **intrinsics_of(camera.optics),
        }
        files = (*self._files_of(numbers, seen), *self._flows(rays, seen, begun))
        return Result(begun.number, begun.stamp, values, files, known)

    def _flows(self, rays: RayScene, seen: Seen, begun: Begun) -> tuple[Any, ...]:
        """The files of the flow of a frame, of the instants that its rows begin at."""
        if not self._flow.on:
            return ()
        plain, rows = self._plain, self._camera.optics.height
        readout = plain.duration(begun.exposure)
        delays = np.linspace(0.0, readout, rows) if readout > 0.0 else np.zeros(1)
        spans = MOTION_SPANS if readout > 0.0 else 0

        def at(later: float) -> Instants:
            moving, _ = self._sight.over(begun.stamp + later, readout, spans)
            instants = begun.stamp + later + delays
            return Instants(self._sensor_poses(self._shutter.poses_at(begun, instants)), moving)

        now = at(0.0)
        if plain is not self._camera:
            seen = plain.expose(
                rays, now.poses, begun.number, exposure_time=begun.exposure, moving=now.bodies
            )
        hits = FirstHits(seen.distance, seen.owner, seen.material)
        lens = plain.flow_lens()
        axes = plain.axes()
        return flows_of(rays, lens, axes, hits, now, at, self._flow, self._interval)

    def _tell_of_darkness(self, is_dark: bool) -> None:
        if is_dark and not self._told_of_darkness:
            self._told_of_darkness = True
            self._warn("the scene has neither sky, sun nor lamps: its pictures are dark")

    def _values(self, numbers: NDArray[np.uint16]) -> tuple[Any, ...]:
        """The outputs of a picture."""
        height, width, _ = numbers.shape
        levels = self._camera.largest + 1
        counts = np.bincount(numbers.ravel(), minlength=levels)
        mean = float(np.arange(levels) @ counts) / (numbers.size * (levels - 1))
        bins = np.add.reduceat(counts, np.arange(BINS) * levels // BINS) if levels >= BINS else (
            np.pad(counts, (0, BINS - levels))
        )  # fmt: skip
        return (width, height, mean, *(bins / numbers.size).tolist())

    def _files_of(self, numbers: NDArray[np.uint16], seen: Seen) -> tuple[Any, ...]:
        own, camera = self._places, self._camera
        mosaic = camera.picture.bayer if numbers.shape[2] == 1 else Bayer.none
        picture = PictureFile("picture", numbers, camera.largest, own.output_format, mosaic.name)
        if not self._labels:
            return (picture,)
        others = {"label": seen.label, "entity": seen.entity, "distance": seen.distance}
        return (
            picture,
            *(
                ImageFile(name, array, ImageFormat.npy, unit="m" if name == "distance" else "1")
                for name, array in others.items()
            ),
        )

    def _sensor_pose(self, body: Vector) -> tuple[tuple[float, ...], tuple[float, ...]]:
        turn = body[3:7] / np.linalg.norm(body[3:7])
        place = body[:3] + rotate_vector(turn, np.array(self._mount.position))
        both = multiply_quaternions(turn, np.array(self._mount.orientation))
        return tuple(place.tolist()), tuple(both.tolist())

    def _sensor_poses(self, bodies: Vector) -> Vector:
        """Poses of the camera as kernels take them, (n, 12)."""
        turns = matrices_of(bodies[:, 3:7])
        own = matrices_of(np.array([self._mount.orientation]))[0]
        poses = np.empty((len(bodies), 12))
        poses[:, :9] = (turns @ own).reshape(-1, 9)
        poses[:, 9:] = bodies[:, :3] + turns @ np.array(self._mount.position)
        return poses

    def state(self) -> Arrays:
        """What is known of the motion, and the frames that were begun."""
        known = {f"{SHUTTER}{name}": array for name, array in self._shutter.state.items()}
        return {**known, "bodies": self._sight.state}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from ``state()`` of this or an equal sensor."""
        own = {n.removeprefix(SHUTTER): a for n, a in arrays.items() if n.startswith(SHUTTER)}
        sight = Sight.of(arrays)
        self._shutter.state = own
        self._sight = sight

    def close(self) -> None:
        """Memory is all that it holds."""


@cache
def _load_kernels() -> None:
    """Compile or load what a step may need, once, and not in a step."""
    interpolate_body(np.zeros(BODY_SIZE), np.zeros(BODY_SIZE), 1.0, 0.5)
    matrix_from_quaternion(np.array(IDENTITY))  # of scenes that are read when they are needed
    reflectance_at_normal(1.0, 1.5, 0.0)  # of metals, of which the smallest scene has none
    scene = smallest_scene()
    optics = OpticsParameters(width=1, height=1, seidel=(0.0, 0.0, 0.0, 1.0, 0.0))
    camera = CcdCamera(optics, sensor=ChipParameters(model=SensorModel.emva))
    pose = np.array([[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]])
    with RayScene(scene, threads=1) as rays:
        seen = camera.expose(rays, pose, moving=moved_bodies(scene))
        camera.develop(rays, seen.light, 0)
        load_flow(rays, moved_bodies(scene))


def _depends(output: str, given: str) -> bool:
    """The size of a picture depends on nothing that moves."""
    del given
    return not output.startswith("frame.")


CCD_CAMERA = SensorSpec(
    name="CcdCamera",
    text="CCD camera: light of sun, sky and lamps through a lens to digital numbers of a chip",
    create=CcdCameraSensor,
    state=(Group(BodyState),),
    held=(Group(SceneNumber), Group(ExposureInput)),
    parameters=(
        Group(OpticsParameters),
        Group(PictureParameters),
        Group(ChipParameters, "sensor"),
        *(Group(FilterParameters, f"sensor.filter_{number + 1}") for number in range(MOST_BANDS)),
        Group(LightParameters, "light"),
        Group(LabelParameters),
        Group(FlowParameters, "flow"),
        Group(PlacementParameters),
        Group(MountParameters),
        Group(SceneName),
    ),
    readings=(
        Group(PictureOutputs),
        *(Group(BinOutput, f"histogram_{number + 1}") for number in range(BINS)),
    ),
    sinks=(Group(PictureFileParameters), Group(FrameTableParameters)),
    frames=ImageWriter,
    messages=OsiPorts(),
    more_files=(
        (Group(LabelFileOutput, "labels"), "label.npy"),
        (Group(FlowFileOutput, "flow"), "flow.npy"),
    ),
    depends=_depends,
    step=0.1,
    packages=(*PACKAGES, *SCENE_PACKAGES),
)
