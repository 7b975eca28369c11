"""What each kind of sensor gives for a sample, as arrays by name.

A kind of sensor is taught here by one function, which makes a ``Taker`` of its parameters. Noise
goes by the number of the sample, as that of frames by the number of the frame.

A worker imports what its sensors need and no more: all of them together take as long as a hundred
samples of one.

A taker writes what it can over what it took before, so its arrays last until it takes the next.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sensor_models import catalog
from sensor_models.camera.depth.camera import DepthCamera, Frame
from sensor_models.camera.depth.sensor import camera_of
from sensor_models.core.clock import SamplingParameters
from sensor_models.core.frames import MountParameters
from sensor_models.core.named import named_parameters
from sensor_models.core.placement import PlacementParameters, placed
from sensor_models.core.quantities import ParameterError
from sensor_models.core.spec import Groups
from sensor_models.lidar.lidar import Lidar
from sensor_models.lidar.sensor import lidar_of
from sensor_models.presets import load_preset
from sensor_models.scene.tracing import RayScene
from sensor_models.tools.datasets.boxes import Eye
from sensor_models.tools.datasets.description import SensorRule

Floats = NDArray[np.float64]


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


def _camera(rule: SensorRule, parameters: Groups) -> Taker:
    return CameraTaker(camera_of(parameters, _seed(parameters), rule.name))


def _lidar(rule: SensorRule, parameters: Groups) -> Taker:
    rate = parameters.of(SamplingParameters).sample_rate
    return LidarTaker(lidar_of(parameters, _seed(parameters), rule.name, rate), rate)


def _waveform(rule: SensorRule, parameters: Groups) -> Taker:
    from sensor_models.waveform.named import waveform_lidar_of

    rate = parameters.of(SamplingParameters).sample_rate
    return LidarTaker(waveform_lidar_of(parameters, rule.name), rate)


def _picture(rule: SensorRule, parameters: Groups) -> Taker:
    from sensor_models.camera.ccd.sensor import ccd_camera_of
    from sensor_models.tools.datasets.pictures import PictureTaker

    own = ccd_camera_of(parameters, _seed(parameters), rule.name)
    return PictureTaker(own, _mount(rule, parameters))


def _radar(rule: SensorRule, parameters: Groups) -> Taker:
    from sensor_models.radar.cone import ConeRadar
    from sensor_models.radar.parameters import ConeParameters, RadarModel
    from sensor_models.radar.ray_traced import RayTracedRadar
    from sensor_models.radar.ray_traced_sensor import parameters_of
    from sensor_models.tools.datasets.radars import ConeTaker, RadarTaker

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
