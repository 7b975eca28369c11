"""The depth camera as a sensor: its frames are images.

A frame is complete with the first state that is known at or after the instant of its last row
(``shutter``); its stamp, and the pose in the index, are those of the first row.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.camera.depth import DepthCamera, Frame
from sensor_models.camera.flow import (
    FirstHits,
    FlowFileOutput,
    FlowParameters,
    Instants,
    flows_of,
    load_flow,
)
from sensor_models.camera.lens import Distortion, kernel_lens
from sensor_models.camera.parameters import (
    DepthCameraParameters,
    ImageNoiseParameters,
    Projection,
)
from sensor_models.camera.shutter import Begun, RollingShutter, ShutterParameters
from sensor_models.core.clock import SampleClock
from sensor_models.core.frames import IDENTITY, BodyState, MountParameters, interpolate_body
from sensor_models.core.placement import FramePlacementParameters
from sensor_models.core.quantities import ParameterError, integer, real
from sensor_models.core.sensor import Arrays, Inputs, Result, Setup
from sensor_models.core.spec import PACKAGES, SCENE_PACKAGES, Group, Groups, SensorSpec
from sensor_models.kernels.camera.ways import Lens
from sensor_models.kernels.math.motion import matrix_from_quaternion
from sensor_models.messages.ports import OsiPorts, Rays
from sensor_models.output.images import (
    ImageFile,
    ImageFileParameters,
    ImageFormat,
    ImageWriter,
    png_scale,
)
from sensor_models.output.sinks import FrameTableParameters
from sensor_models.scene.history import Sight
from sensor_models.scene.pose_memory import BODY_SIZE
from sensor_models.scene.registry import SceneHandle
from sensor_models.scene.tracing import RayScene
from sensor_models.sight.nearest import NearestOutputs
from sensor_models.sight.rounding import RoundingWatch
from sensor_models.sight.scene import SceneName, SceneNumber
from sensor_models.sight.smallest import moved_bodies, smallest_scene

MOST_ZONES = 64
#: Stretches of a read-out at whose ends movable bodies are interpolated.
MOTION_SPANS = 64
#: Before the names of the arrays of a shutter in a saved state.
SHUTTER = "shutter."


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
    return kernel_lens(own.focal_lengths, own.principal_point, Distortion.pinhole, own.distortion)


class DepthCameraSensor:
    """A depth camera that takes frames while the states of its body become known."""

    def __init__(self, setup: Setup) -> None:
        _load_kernels()
        sampling, self._start = setup.sampling, setup.start
        seed, identity = sampling.seed, setup.identity
        self._flow = setup.parameters.of(FlowParameters, "flow")
        self._camera = camera_of(
            setup.parameters, seed, identity, distances=True, first_hits=self._flow.on
        )
        self._lens = flow_lens(self._camera.parameters) if self._flow.on else None
        self._interval = self._flow.interval_at(sampling.sample_rate)
        self._shutter = RollingShutter(
            SampleClock(setup.start, sampling.sample_rate),
            setup.parameters.of(ShutterParameters).rolling_shutter,
            self._camera.parameters.height,
            **self._flow.needs(self._interval),
        )
        self._sight, self._rounding = Sight(), RoundingWatch(setup.warn)
        self._format = ImageFormat(setup.parameters.of(ImageFileParameters).output_format)
        self._files = setup.files

    def begin(self, inputs: Inputs) -> tuple[()]:
        """Frame 0 is taken with the first step, as many masters connect inputs only then."""
        self._shutter.push(self._start, inputs.state)
        return ()

    def advance(self, inputs: Inputs, t0: float, t1: float) -> Iterator[Result]:
        """The frames whose last row is known."""
        self._shutter.push(t1, inputs.state)
        self._rounding.look(inputs.held.scene, inputs.state[:3])
        self._sight.follow(inputs.held.scene, self._shutter.oldest, inputs.before.scene)
        for begun in self._shutter.begun():
            result = self._take(inputs.held.scene, begun)
            self._shutter.taken()  # before it is handed on: who gets it may be interrupted
            yield result

    def _take(self, scene: SceneHandle, begun: Begun) -> Result:
        """Take a frame with one pose of the body, or with one for each row."""
        index, stamp, poses = begun.number, begun.stamp, self._shutter.row_poses(begun)
        own, rolling = self._camera.parameters, poses.ndim > 1
        spans = MOTION_SPANS if rolling else 0
        moving, unknown = self._sight.over(stamp, self._shutter.readout, spans)
        rays = scene.rays(placed=False)
        frame = self._camera.capture(rays, poses, index, rolling=rolling, moving=moving)
        values = (own.width, own.height, *self._nearest(frame).values, *_zones(frame))
        if not self._files:
            return Result(index, stamp, values)
        flows = self._flows(rays, frame, begun, Instants(poses, moving))
        first_row = poses[0] if rolling else poses
        position, orientation = self._camera.sensor_pose(first_row, index)
        about = {"position": position, "orientation": orientation, **unknown}
        known = {"frame": index, "time": stamp, **about}
        return Result(index, stamp, values, (*self._files_of(frame), *flows), known)

    def _flows(self, rays: RayScene, frame: Frame, begun: Begun, now: Instants) -> tuple[Any, ...]:
        """The files of the flow of a frame; ``now`` has poses of the body."""
        if self._lens is None:
            return ()
        hits: list[Any] = [frame.met, frame.owner, frame.material]
        rolling = now.poses.ndim > 1

        def placed(instants: Instants) -> Instants:
            poses = instants.poses.reshape(1, -1, instants.poses.shape[-1])
            return instants._replace(poses=self._camera.placed(poses, begun.number)[0])

        def at(later: float) -> Instants:
            spans = MOTION_SPANS if rolling else 0
            moving, _ = self._sight.over(begun.stamp + later, self._shutter.readout, spans)
            return placed(Instants(self._shutter.row_poses(begun, later), moving))

        return flows_of(
            rays, self._lens, self._camera.axes, FirstHits(*hits), placed(now), at,
            self._flow, self._interval,
        )  # fmt: skip

    def _nearest(self, frame: Frame) -> NearestOutputs:
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

    def _files_of(self, frame: Frame) -> tuple[ImageFile, ...]:
        own = self._camera.parameters
        files = []
        if frame.image is not None:
            largest = 1.0 if own.normalize_range else own.max_range
            scale = 1.0 / 65535 if own.normalize_range else png_scale(largest)
            unit = "1" if own.normalize_range else "m"
            kind = "depth" if own.takes_depth else "range"
            files.append(ImageFile(kind, frame.image, self._format, scale, unit))
        others = {"points": "m", "entity": "1", "label": "1", "face": "1", "normal": "1"}
        for name, unit in others.items():
            array = getattr(frame, name)
            if array is not None:
                files.append(ImageFile(name, array, unit=unit))
        return tuple(files)

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


def _zones(frame: Frame) -> list[float | int]:
    """Range and status of all zones; 0 for those that there are not, and for no reading."""
    found: list[float | int] = [0.0, 0] * MOST_ZONES
    if frame.distance is not None and frame.distance.size <= MOST_ZONES:
        assert frame.status is not None  # made together
        count = 2 * frame.distance.size
        found[0:count:2] = np.nan_to_num(frame.distance.ravel(), nan=0.0).tolist()
        found[1:count:2] = frame.status.ravel().tolist()
    return found


@cache
def _load_kernels() -> None:
    """Compile or load what a step may need, once, and not in a step."""
    interpolate_body(np.zeros(BODY_SIZE), np.zeros(BODY_SIZE), 1.0, 0.5)
    matrix_from_quaternion(np.array(IDENTITY))  # of scenes that are read when they are needed
    body = (0.0, 0.0, 0.0, *IDENTITY)
    edges = ImageNoiseParameters(on=True, edge_dropout=1.0)
    camera = DepthCamera(
        DepthCameraParameters(width=1, height=1), edges, placement=FramePlacementParameters(on=True)
    )
    scene = smallest_scene()
    with RayScene(scene, threads=1) as rays:
        camera.capture(rays, body, moving=moved_bodies(scene))
        load_flow(rays, moved_bodies(scene))
    camera.sensor_pose(body)


def _depends(output: str, given: str) -> bool:
    """The size of an image depends on nothing that moves."""
    del given
    return not output.startswith("frame.")


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
    depends=_depends,
    step=0.1,
    packages=(*PACKAGES, *SCENE_PACKAGES),
)
