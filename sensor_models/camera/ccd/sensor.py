"""The CCD camera as a sensor: its frames are pictures.

A frame is complete with the first state that is known at or after the end of its exposure, where
several rays a pixel blur it, or of the beginning of its last row; its stamp, and the pose in the
index, are those of the beginning of its first row. The exposure of a frame is the one that is set
at its stamp; if none is set, it is settled when the frame before is taken (``auto_exposure``).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.camera.ccd.auto_exposure import AutoExposure, AutoExposureParameters, Metered
from sensor_models.camera.ccd.camera import CcdCamera, Seen
from sensor_models.camera.ccd.parameters import (
    MOST_BANDS,
    Bayer,
    ChipParameters,
    ColorParameters,
    FilterParameters,
    LightParameters,
    OpticsParameters,
    PictureParameters,
)
from sensor_models.camera.ccd.thermal import ThermalParameters
from sensor_models.camera.flow import (
    FirstHits,
    FlowFileOutput,
    FlowParameters,
    Instants,
    flows_of,
)
from sensor_models.camera.intrinsics import intrinsics_of
from sensor_models.core.frames import (
    BodyState,
    MountParameters,
)
from sensor_models.core.placement import PlacementParameters
from sensor_models.core.quantities import boolean, check, integer, real, string
from sensor_models.core.sensor import Arrays, Held, Result, Setup
from sensor_models.core.spec import PACKAGES, SCENE_PACKAGES, Group, Groups, SensorSpec
from sensor_models.kernels.light.paths import LIMIT_NAMES
from sensor_models.messages.ports import OsiPorts
from sensor_models.output.frame_binaries import FrameBinary, type_of_arrays
from sensor_models.output.images import (
    ImageFile,
    ImageFormat,
    ImageWriter,
    PictureFile,
    PictureFileParameters,
)
from sensor_models.output.sinks import FrameTableParameters
from sensor_models.sight.mount import mount_of, pose_of, poses_of
from sensor_models.sight.scene import SceneName, SceneNumber
from sensor_models.sight.schedule import Frame, FrameSchedule
from sensor_models.sight.seeing import SeeingSensor, clock_of

#: Stretches of a frame at whose ends the camera and movable bodies are interpolated.
MOTION_SPANS = 128
#: Parts of the range of digital numbers that are counted.
BINS = 16
#: Share of a frame that may be saturated before that is told.
MUCH_SATURATED = 0.5
#: The picture of a frame as bytes, and the labels of its pixels.
BINARIES = (
    FrameBinary(
        "frame.image",
        "Picture of the newest frame: digital numbers of its channels",
        type_of_arrays("u2", "frame.height", "frame.width", "channels"),
        ("picture",),
    ),
    FrameBinary(
        "frame.labels",
        "Labels of the newest frame, if labels are taken",
        type_of_arrays("i4", "frame.height", "frame.width"),
        ("label",),
    ),
)


@dataclass(frozen=True)
class ExposureInput:
    """Inputs by which a master controls each frame."""

    exposure: float = real(
        0.0,
        "s",
        "Exposure of the frames that begin from now on, whatever the parameters say; 0 leaves it "
        "to them: exposure_time, or else auto_exposure",
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
        parameters.of(AutoExposureParameters, "auto_exposure"),
        parameters.of(ColorParameters),
        parameters.of(ThermalParameters, "thermal"),
        seed=seed,
        identity=identity,
    )


class CcdCameraSensor(SeeingSensor):
    """A CCD camera that takes frames while the states of its body become known."""

    def __init__(self, setup: Setup) -> None:
        given, sampling = setup.parameters, setup.sampling
        self._camera = ccd_camera_of(given, sampling.seed, setup.identity)
        self._mount = mount_of(setup)
        self._flow = given.of(FlowParameters, "flow")
        self._interval = self._flow.interval_at(sampling.sample_rate)
        self._plain = self._camera.plain() if self._flow.on else self._camera
        self._places = given.of(PictureFileParameters)
        self._labels = given.of(LabelParameters).segmentation
        self._auto = self._new_auto()
        self._told: set[str] = set()
        lasting, needs = self._camera.duration, self._flow.needs(self._interval)
        schedule = FrameSchedule(clock_of(setup), lasting=lasting, settle=self._settle, **needs)
        super().__init__(setup, schedule)

    def exposure_of(self, held: Held) -> float:
        """The exposure that the input sets; 0 for none."""
        groups: Groups = held.groups
        return groups.of(ExposureInput).exposure

    def _new_auto(self) -> AutoExposure | None:
        return self._camera.auto_exposure() if self._camera.follows_light else None

    def _settle(self, frame: Frame) -> float:
        """The exposure of a frame that is given none."""
        given = self._camera.picture.exposure_time
        if self._auto is None:
            return given
        found = self._auto.next(frame.time) or given
        return found or self._auto.goal(self._probe(frame))

    def _probe(self, frame: Frame) -> float:
        """The level per second at the stamp of a frame that has none before it."""
        pose = poses_of(self._mount, frame.body[None])[0]
        moving, _ = frame.bodies()
        return self._camera.probe(frame.rays, pose, frame.number, moving)

    def take(self, frame: Frame) -> Result:
        """Take a frame."""
        camera, rays = self._camera, frame.rays
        duration = camera.duration(frame.exposure)
        spans = MOTION_SPANS if duration > 0.0 else 0
        moving, unknown = frame.bodies(frame.time, duration, spans)
        instants = frame.time + np.linspace(0.0, duration, spans + 1)
        poses = poses_of(self._mount, frame.states_at(instants))
        seen = camera.expose(rays, poses, frame.number, exposure_time=frame.exposure, moving=moving)
        colors = camera.colors(seen.light, camera.day(rays))
        numbers, dark = camera.develop(rays.pool, seen.light, frame.number, frame.exposure, colors)
        if self._auto is not None:
            level = camera.level_rate(seen.light, colors) * frame.exposure
            self._auto.learn(Metered(frame.time, frame.exposure, level))
        self._tell_of_extremes(camera.scenery(rays).is_dark, camera.saturated(numbers), frame)
        values = self._values(numbers)
        if not self.files:
            return Result(frame.number, frame.time, values)
        known = {
            "frame": frame.number,
            "time": frame.time,
            **pose_of(self._mount, frame.body)._asdict(),
            "exposure": frame.exposure,
            **(colors.facts() if camera.processing.has_colors else {}),
            **camera.heat.facts(),
            **unknown,
            **({"invalid": dark} if dark else {}),
            **{f"lost_{n}": int(c) for n, c in zip(LIMIT_NAMES, seen.lost, strict=True) if c},
            **intrinsics_of(camera.optics),
        }
        files = (*self._files_of(numbers, seen), *self._flows(frame, seen))
        return Result(frame.number, frame.time, values, files, known)

    def _flows(self, frame: Frame, seen: Seen) -> tuple[Any, ...]:
        """The files of the flow of a frame, of the instants that its rows begin at."""
        if not self._flow.on:
            return ()
        plain, rows = self._plain, self._camera.optics.height
        readout = plain.duration(frame.exposure)
        delays = np.linspace(0.0, readout, rows) if readout > 0.0 else np.zeros(1)
        spans = MOTION_SPANS if readout > 0.0 else 0

        def at(later: float) -> Instants:
            moving, _ = frame.bodies(frame.time + later, readout, spans)
            states = frame.states_at(frame.time + later + delays)
            return Instants(poses_of(self._mount, states), moving)

        now = at(0.0)
        if plain is not self._camera:
            seen = plain.expose(
                frame.rays, now.poses, frame.number,
                exposure_time=frame.exposure, moving=now.bodies,
            )  # fmt: skip
        hits = FirstHits(seen.distance, seen.owner, seen.material)
        lens, axes = plain.flow_lens(), plain.axes()
        return flows_of(frame.rays, lens, axes, hits, now, at, self._flow, self._interval)

    def _tell_of_extremes(self, is_dark: bool, saturated: float, frame: Frame) -> None:
        if is_dark:
            self._tell_once("the scene has neither sky, sun nor lamps: its pictures are dark")
        if saturated > MUCH_SATURATED:
            self._tell_once(
                f"{saturated:.0%} of frame {frame.number} are saturated with an exposure of "
                f"{frame.exposure:g} s, and tell nothing of what is there: "
                f"{self._cure(frame.exposure)}",
                kind="saturated",
            )

    def _cure(self, exposure: float) -> str:
        """Advice against saturation, for a warning."""
        if self._auto is None:
            return "lower the input exposure or exposure_time, or set auto_exposure.on"
        if exposure <= self._camera.auto.minimum:
            return "lower auto_exposure.minimum, or close the lens by f_number"
        return "lower auto_exposure.time_constant or .target, or the input exposure where it is set"

    def _tell_once(self, message: str, kind: str = "dark") -> None:
        if kind not in self._told:
            self._told.add(kind)
            self.warn(message)

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

    def state(self) -> Arrays:
        """What is known of the motion, the frames that were begun, and what was metered."""
        auto = {} if self._auto is None else {"auto_exposure": self._auto.state}
        return {**super().state(), **auto}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from ``state()`` of this or an equal sensor; a ValueError changes nothing."""
        auto = self._new_auto()
        if auto is not None:
            auto.state = arrays["auto_exposure"]
        super().restore(arrays)
        self._auto = auto


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
        Group(AutoExposureParameters, "auto_exposure"),
        Group(ColorParameters),
        Group(ThermalParameters, "thermal"),
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
    binaries=BINARIES,
    step=0.1,
    packages=(*PACKAGES, *SCENE_PACKAGES),
)
