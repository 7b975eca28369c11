"""The depth camera as a sensor: its frames are images.

A frame is complete with the first state that is known at or after the instant of its last row
(``sight.rows``); its stamp, and the pose in the index, are those of the first row.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from sensor_models.camera.depth.camera import DepthCamera
from sensor_models.camera.depth.camera import Frame as Image
from sensor_models.camera.depth.parameters import (
    DepthCameraParameters,
    ImageNoiseParameters,
    Projection,
)
from sensor_models.camera.depth.rays import lens_of
from sensor_models.camera.flow import (
    FirstHits,
    FlowFileOutput,
    FlowParameters,
    Instants,
    flows_of,
)
from sensor_models.camera.intrinsics import intrinsics_of_lens
from sensor_models.core.frames import BodyState, MountParameters
from sensor_models.core.placement import FramePlacementParameters
from sensor_models.core.quantities import ParameterError, integer, real
from sensor_models.core.sensor import Result, Setup
from sensor_models.core.spec import PACKAGES, SCENE_PACKAGES, Group, Groups, SensorSpec
from sensor_models.kernels.camera.ways import Lens
from sensor_models.messages.ports import OsiPorts, Rays
from sensor_models.output.frame_binaries import FrameBinary, type_of_arrays
from sensor_models.output.images import (
    ImageFile,
    ImageFileParameters,
    ImageFormat,
    ImageWriter,
    png_scale,
)
from sensor_models.output.sinks import FrameTableParameters
from sensor_models.scene.pose_memory import POSE_SIZE
from sensor_models.sight.nearest import NearestOutputs
from sensor_models.sight.rows import Rows, ShutterParameters
from sensor_models.sight.scene import SceneName, SceneNumber
from sensor_models.sight.schedule import Frame
from sensor_models.sight.seeing import SeeingSensor, clock_of

MOST_ZONES = 64
#: Stretches of a read-out at whose ends movable bodies are interpolated.
MOTION_SPANS = 64
#: The image of a frame as bytes, and the labels of its pixels.
BINARIES = (
    FrameBinary(
        "frame.image",
        "Image of the newest frame: depth or range",
        type_of_arrays("f4", "frame.height", "frame.width"),
        ("depth", "range"),
    ),
    FrameBinary(
        "frame.labels",
        "Labels of the newest frame, if there is a segmentation",
        type_of_arrays("i4", "frame.height", "frame.width"),
        ("label",),
    ),
)


@dataclass(frozen=True)
class ImageOutputs:
    """The size of the newest frame."""

    width: int = integer(0, "Columns of the newest frame", name="frame.width")
    height: int = integer(0, "Rows of the newest frame", name="frame.height")


@dataclass(frozen=True)
class ZoneOutput:
    """A pixel of a sensor that has few."""

    range: float = real(
        0.0,
        "m",
        "Range along the ray of a pixel, counted row by row, of sensors of at most 64 pixels; "
        "0 for no reading",
    )
    status: int = integer(
        0,
        "What the zone has seen: 0 nothing up to max_range, 1 one target, 2 several, of which the "
        "range is that of one, 3 a target nearer than min_range",
    )


def camera_of(
    parameters: Groups,
    seed: int,
    identity: str,
    *,
    distances: bool = False,
    first_hits: bool = False,
) -> DepthCamera:
    """The camera that parameters describe."""
    return DepthCamera(
        parameters.of(DepthCameraParameters),
        parameters.of(ImageNoiseParameters),
        parameters.of(MountParameters),
        parameters.of(FramePlacementParameters),
        seed=seed,
        identity=identity,
        distances=distances,
        first_hits=first_hits,
    )


def flow_lens(own: DepthCameraParameters) -> Lens:
    """The lens of a camera whose flow is wanted."""
    if own.projection != Projection.pinhole:
        raise ParameterError("flow needs projection = 0 (pinhole), not 1 (spherical)")
    if own.rays_per_side > 1:
        raise ParameterError(
            f"flow needs rays_per_side = 1, not {own.rays_per_side}: zones see several things"
        )
    return lens_of(own)


class DepthCameraSensor(SeeingSensor):
    """A depth camera that takes frames while the states of its body become known."""

    schedule: Rows

    def __init__(self, setup: Setup) -> None:
        sampling, given = setup.sampling, setup.parameters
        self._flow = given.of(FlowParameters, "flow")
        self._camera = camera_of(
            given, sampling.seed, setup.identity, distances=True, first_hits=self._flow.on
        )
        self._lens = flow_lens(self._camera.parameters) if self._flow.on else None
        self._interval = self._flow.interval_at(sampling.sample_rate)
        self._format = ImageFormat(given.of(ImageFileParameters).output_format)
        readout = given.of(ShutterParameters).rolling_shutter
        rows, needs = self._camera.parameters.height, self._flow.needs(self._interval)
        super().__init__(setup, Rows(clock_of(setup), readout, rows, **needs))

    def take(self, frame: Frame) -> Result:
        """Take a frame with one pose of the body, or with one for each row."""
        own, now = self._camera.parameters, self._instants(frame)
        poses, rolling = now.poses, len(now.poses) > 1
        image = self._camera.capture(
            frame.rays,
            poses if rolling else poses[0],
            frame.number,
            rolling=rolling,
            moving=now.bodies,
        )
        values = (own.width, own.height, *self._nearest(image).values, *_zones(image))
        if not self.files:
            return Result(frame.number, frame.time, values)
        position, orientation = self._camera.sensor_pose(poses[0], frame.number)
        _, unknown = self._around(frame)
        about = {"position": position, "orientation": orientation, **unknown}
        if own.projection == Projection.pinhole:
            about |= intrinsics_of_lens(self._camera.lens, own.width, own.height)
        known = {"frame": frame.number, "time": frame.time, **about}
        files = (*self._files_of(image), *self._flows(frame, image, now))
        return Result(frame.number, frame.time, values, files, known)

    def _around(self, frame: Frame, later: float = 0.0) -> Any:
        """The bodies over the read-out some time after a frame."""
        readout = self.schedule.readout
        return frame.bodies(frame.time + later, readout, MOTION_SPANS if readout > 0.0 else 0)

    def _instants(self, frame: Frame, later: float = 0.0) -> Instants:
        """Poses of the body, and bodies, over the read-out some time after a frame."""
        poses = self.schedule.states_of(frame, later)[:, :POSE_SIZE]
        return Instants(poses, self._around(frame, later)[0])

    def _flows(self, frame: Frame, image: Image, now: Instants) -> tuple[Any, ...]:
        """The files of the flow of a frame; ``now`` has poses of the body."""
        if self._lens is None:
            return ()
        hits: list[Any] = [image.met, image.owner, image.material]

        def placed(instants: Instants) -> Instants:
            poses = self._camera.placed(instants.poses[np.newaxis], frame.number)
            return instants._replace(poses=poses[0])

        def at(later: float) -> Instants:
            return placed(self._instants(frame, later))

        return flows_of(
            frame.rays, self._lens, self._camera.axes, FirstHits(*hits), placed(now), at,
            self._flow, self._interval,
        )  # fmt: skip

    def _nearest(self, frame: Image) -> NearestOutputs:
        assert frame.distance is not None  # the camera was made to give it
        if not np.isfinite(frame.distance).any():
            return NearestOutputs()
        place = np.unravel_index(int(np.nanargmin(frame.distance)), frame.distance.shape)
        x, y, z = self._camera.axes[place].tolist()
        return NearestOutputs(
            range=float(frame.distance[place]),
            azimuth=math.atan2(y, x),
            elevation=math.atan2(z, math.hypot(x, y)),
            entity_id=-1 if frame.entity is None else int(frame.entity[place]),
        )

    def _files_of(self, frame: Image) -> tuple[ImageFile, ...]:
        own = self._camera.parameters
        files = []
        if frame.image is not None:
            largest = 1.0 if own.normalize_range else own.max_range
            scale = 1.0 / 65535 if own.normalize_range else png_scale(largest)
            unit = "1" if own.normalize_range else "m"
            kind = "depth" if own.takes_depth else "range"
            files.append(
                ImageFile(kind, frame.image, self._format, scale, unit, metres=frame.metres)
            )
        others = {"points": "m", "entity": "1", "label": "1", "face": "1", "normal": "1"}
        for name, unit in others.items():
            array = getattr(frame, name)
            if array is not None:
                files.append(ImageFile(name, array, unit=unit))
        return tuple(files)


def _zones(frame: Image) -> list[float | int]:
    """Range and status of all zones; 0 for those that there are not, and for no reading."""
    found: list[float | int] = [0.0, 0] * MOST_ZONES
    if frame.distance is not None and frame.distance.size <= MOST_ZONES:
        assert frame.status is not None  # made together
        count = 2 * frame.distance.size
        found[0:count:2] = np.nan_to_num(frame.distance.ravel(), nan=0.0).tolist()
        found[1:count:2] = frame.status.ravel().tolist()
    return found


def rays_of(setup: Setup) -> Rays:
    """The rays of the middles of the pixels, for messages."""
    camera = camera_of(setup.parameters, setup.sampling.seed, setup.identity)
    rows, columns = camera.axes.shape[:2]
    return Rays(camera.axes.reshape(-1, 3), np.zeros(rows * columns), rows, columns)


DEPTH_CAMERA = SensorSpec(
    name="DepthCamera",
    text="Depth camera: depth, range, points, segmentation and normals",
    create=DepthCameraSensor,
    state=(Group(BodyState),),
    held=(Group(SceneNumber),),
    parameters=(
        Group(DepthCameraParameters),
        Group(ShutterParameters),
        Group(ImageNoiseParameters),
        Group(FlowParameters, "flow"),
        Group(FramePlacementParameters),
        Group(MountParameters),
        Group(SceneName),
    ),
    readings=(
        Group(ImageOutputs),
        Group(NearestOutputs, "nearest"),
        *(Group(ZoneOutput, f"zone_{number + 1}") for number in range(MOST_ZONES)),
    ),
    sinks=(Group(ImageFileParameters), Group(FrameTableParameters)),
    frames=ImageWriter,
    messages=OsiPorts(rays=rays_of),
    more_files=((Group(FlowFileOutput, "flow"), "flow.npy"),),
    binaries=BINARIES,
    step=0.1,
    packages=(*PACKAGES, *SCENE_PACKAGES),
)
