"""What each kind of sensor gives for a sample, as arrays by name.

A kind of sensor is taught here by one function, which makes a ``Taker`` of its parameters. Noise
goes by the number of the sample, as that of frames by the number of the frame.

A taker writes what it can over what it took before, so its arrays last until it takes the next.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sensor_models import catalog
from sensor_models.camera.ccd.camera import CcdCamera
from sensor_models.camera.ccd.sensor import ccd_camera_of
from sensor_models.camera.depth.camera import DepthCamera, Frame
from sensor_models.camera.depth.sensor import camera_of
from sensor_models.core.clock import SamplingParameters
from sensor_models.core.frames import (
    MountParameters,
    matrix_from_quaternion,
)
from sensor_models.core.named import named_parameters
from sensor_models.core.placement import PlacementParameters, placed
from sensor_models.core.quantities import ParameterError
from sensor_models.core.spec import Groups
from sensor_models.kernels.camera.ways import Lens
from sensor_models.lidar.lidar import Lidar
from sensor_models.lidar.sensor import lidar_of
from sensor_models.presets import load_preset
from sensor_models.radar.cone import ConeRadar
from sensor_models.radar.obstacles import Obstacles, obstacles_of
from sensor_models.radar.parameters import ConeParameters, RadarModel
from sensor_models.radar.ray_traced import Motion, RayTracedRadar
from sensor_models.radar.ray_traced_sensor import parameters_of, row_of
from sensor_models.radar.readings import Detection
from sensor_models.radar.sensor import row_of as row_of_cone
from sensor_models.radar.targets import Detector
from sensor_models.scene.tracing import RayScene
from sensor_models.sight.mount import Pose, pose_of
from sensor_models.tools.datasets.boxes import Eye
from sensor_models.tools.datasets.description import SensorRule
from sensor_models.waveform.named import waveform_lidar_of

Floats = NDArray[np.float64]

#: The name of the targets of a radar, and what is known of each.
TARGETS = "targets"
TARGET = np.dtype(
    [(own.name, "<i4" if own.type in (int, "int") else "<f8") for own in fields(Detection)]
)
#: How far a camera that sees light looks for what is alone, m.
FAR = 1e6


class Taken(NamedTuple):
    """What a sensor saw, until it looks again."""

    arrays: dict[str, NDArray[Any]]
    entities: NDArray[np.int32] | None = None  # of an image, for boxes


class Taker(Protocol):
    """A sensor that takes samples."""

    camera: Eye | None
    """Its pixels, if boxes can be drawn into its images."""

    largest: int
    """The largest digital number of its images; 0 if they have none."""

    def take(self, rays: RayScene, pose: Floats, bodies: Floats, number: int) -> Taken:
        """What it sees from a pose of its body, with the scene's bodies at theirs."""


class CameraTaker:
    """A depth camera, with entities and labels."""

    largest = 0

    def __init__(self, camera: DepthCamera) -> None:
        self.camera: Eye | None = camera
        self._own = camera
        self._frame: Frame | None = None

    def take(self, rays: RayScene, pose: Floats, _bodies: Floats, number: int) -> Taken:
        """See ``Taker``."""
        frame = self._frame = self._own.capture(rays, pose, number, out=self._frame)
        arrays = {name: array for name, array in frame._asdict().items() if array is not None}
        return Taken(arrays, frame.entity)


class LidarTaker:
    """A lidar, whose points are one structured array."""

    camera: Eye | None = None
    largest = 0

    def __init__(self, lidar: Lidar, rate: float) -> None:
        self._lidar = lidar
        self._duration = 1.0 / rate if rate > 0.0 else 0.0
        self._cloud = lidar.new_cloud(normals=False)

    def take(self, rays: RayScene, pose: Floats, _bodies: Floats, number: int) -> Taken:
        """See ``Taker``."""
        cloud = self._lidar.capture(rays, pose, number, duration=self._duration, out=self._cloud)
        return Taken({"points": cloud.pack()})


@dataclass(frozen=True)
class PictureEye:
    """The pixels of a camera that sees light, by the rays through their middles."""

    axes: Floats
    lens: Lens
    mount: MountParameters
    reach: float = FAR

    def sensor_pose(self, body: Floats) -> Pose:
        """See ``boxes.Eye``."""
        return pose_of(self.mount, body)


class PictureTaker:
    """A camera that sees light, with entities, labels and distances."""

    def __init__(self, own: CcdCamera, mount: MountParameters) -> None:
        self._own, self.largest = own, own.largest
        self._eye = PictureEye(own.axes(), own.flow_lens(), mount)
        self.camera: Eye | None = self._eye

    def take(self, rays: RayScene, pose: Floats, _bodies: Floats, number: int) -> Taken:
        """See ``Taker``."""
        place, turn = self._eye.sensor_pose(pose)
        matrix = matrix_from_quaternion(np.array(turn))
        seen = self._own.expose(rays, np.concatenate([matrix.ravel(), place])[None], number)
        colors = self._own.colors(seen.light, self._own.day(rays))
        numbers, _ = self._own.develop(rays.pool, seen.light, number, colors=colors)
        image = numbers.astype(np.uint8) if self._own.largest <= 255 else numbers
        ids = {"entity": seen.entity, "label": seen.label, "distance": seen.distance}
        return Taken({"image": image, **ids}, seen.entity)


class ConeTaker:
    """A cone radar. A sample has no frame before it, so no target has a speed."""

    camera: Eye | None = None
    largest = 0

    def __init__(self, radar: ConeRadar) -> None:
        self._radar = radar
        self._obstacles: Obstacles | None = None

    def take(self, rays: RayScene, pose: Floats, bodies: Floats, _number: int) -> Taken:
        """See ``Taker``."""
        own = self._radar.parameters
        if self._obstacles is None:  # looks change, surfaces do not
            self._obstacles = obstacles_of(rays.scene, own.obstacles, own.ignored)
        self._radar.reset()
        found = self._radar.detect(self._obstacles, pose, bodies, 0.0)
        rows = [row_of_cone(target) for target in found.targets]
        return Taken({TARGETS: np.array(rows, TARGET)})


class RadarTaker:
    """A ray-traced radar, at rest as all else is."""

    camera: Eye | None = None
    largest = 0

    def __init__(self, radar: RayTracedRadar, mount: MountParameters) -> None:
        self._radar, self._mount = radar, ConeRadar(mount=mount)
        self._detector = Detector(radar.parameters, radar.radio)

    def take(self, rays: RayScene, pose: Floats, bodies: Floats, number: int) -> Taken:
        """See ``Taker``."""
        place = self._mount.sensor_pose(pose)
        still = np.zeros((len(bodies), 6))
        motion = Motion(place[:3], place[3:], np.zeros(3), bodies, still)
        image = self._radar.image(rays, motion, number)
        rows = [row_of(target) for target in self._detector.targets(rays, image)]
        return Taken({TARGETS: np.array(rows, TARGET)})


def _camera(rule: SensorRule, parameters: Groups) -> Taker:
    return CameraTaker(camera_of(parameters, _seed(parameters), rule.name))


def _lidar(rule: SensorRule, parameters: Groups) -> Taker:
    rate = parameters.of(SamplingParameters).sample_rate
    return LidarTaker(lidar_of(parameters, _seed(parameters), rule.name, rate), rate)


def _waveform(rule: SensorRule, parameters: Groups) -> Taker:
    rate = parameters.of(SamplingParameters).sample_rate
    return LidarTaker(waveform_lidar_of(parameters, rule.name), rate)


def _picture(rule: SensorRule, parameters: Groups) -> Taker:
    own = ccd_camera_of(parameters, _seed(parameters), rule.name)
    return PictureTaker(own, _mount(rule, parameters))


def _radar(rule: SensorRule, parameters: Groups) -> Taker:
    mount = _mount(rule, parameters)
    if parameters.of(ConeParameters).model == RadarModel.cone:
        return ConeTaker(ConeRadar(parameters.of(ConeParameters), mount))
    traced = RayTracedRadar(parameters_of(parameters), seed=_seed(parameters), identity=rule.name)
    return RadarTaker(traced, mount)


def _mount(rule: SensorRule, parameters: Groups) -> MountParameters:
    own, how = parameters.of(MountParameters), parameters.of(PlacementParameters)
    return placed(own, how, _seed(parameters), rule.name)


def _seed(parameters: Groups) -> int:
    return int(parameters.of(SamplingParameters).seed)


#: How sensors are made, by their names in the catalog.
MAKERS: Mapping[str, Callable[[SensorRule, Groups], Taker]] = {
    "CcdCamera": _picture,
    "DepthCamera": _camera,
    "Lidar": _lidar,
    "Radar": _radar,
    "WaveformLidar": _waveform,
}


def taker_of(rule: SensorRule, seed: int) -> Taker:
    """The sensor of a rule."""
    if rule.sensor not in MAKERS:
        raise ParameterError(
            f"sensors.{rule.name}: data sets cannot have {rule.sensor} yet, but {', '.join(MAKERS)}"
        )
    spec = catalog.spec_of(rule.sensor)
    preset = load_preset(spec.name, rule.preset) if rule.preset else {}
    plain = {"segmentation": True}  # ids for boxes
    always = plain if rule.sensor == "DepthCamera" else {}
    values = {"seed": seed, **always, **preset, **rule.parameters}
    return MAKERS[rule.sensor](rule, named_parameters(spec, values))
