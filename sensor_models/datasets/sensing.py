"""What each kind of sensor gives for a sample, as arrays by name.

A kind of sensor is taught here by one function, which makes a ``Taker`` of its parameters. Noise
goes by the number of the sample, as that of frames by the number of the frame.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sensor_models import catalog
from sensor_models.camera.depth import DepthCamera
from sensor_models.camera.sensor import camera_of
from sensor_models.core.clock import SamplingParameters
from sensor_models.core.named import named_parameters
from sensor_models.core.quantities import ParameterError
from sensor_models.core.spec import Groups
from sensor_models.datasets.description import SensorRule
from sensor_models.lidar.lidar import Lidar
from sensor_models.lidar.sensor import lidar_of
from sensor_models.presets import load_preset
from sensor_models.scene.tracing import RayScene
from sensor_models.waveform.named import waveform_lidar_of

Floats = NDArray[np.float64]


class Taken(NamedTuple):
    """What a sensor saw."""

    arrays: dict[str, NDArray[Any]]
    entities: NDArray[np.int32] | None = None  # of an image, for boxes


class Taker(Protocol):
    """A sensor that takes samples."""

    camera: DepthCamera | None
    """Its pixels, if boxes can be drawn into its images."""

    def take(self, rays: RayScene, pose: Floats, number: int) -> Taken:
        """What it sees from a pose of its body."""


class CameraTaker:
    """A depth camera, with entities and labels."""

    def __init__(self, camera: DepthCamera) -> None:
        self.camera: DepthCamera | None = camera
        self._own = camera

    def take(self, rays: RayScene, pose: Floats, number: int) -> Taken:
        """See ``Taker``."""
        frame = self._own.capture(rays, pose, number)
        arrays = {name: array for name, array in frame._asdict().items() if array is not None}
        return Taken(arrays, frame.entity)


class LidarTaker:
    """A lidar, whose points are one structured array."""

    camera: DepthCamera | None = None

    def __init__(self, lidar: Lidar, rate: float) -> None:
        self._lidar = lidar
        self._duration = 1.0 / rate if rate > 0.0 else 0.0
        self._cloud = lidar.new_cloud(normals=False)

    def take(self, rays: RayScene, pose: Floats, number: int) -> Taken:
        """See ``Taker``."""
        cloud = self._lidar.capture(rays, pose, number, duration=self._duration, out=self._cloud)
        return Taken({"points": cloud.points()})


def _camera(rule: SensorRule, parameters: Groups) -> Taker:
    return CameraTaker(camera_of(parameters, _seed(parameters), rule.name))


def _lidar(rule: SensorRule, parameters: Groups) -> Taker:
    rate = parameters.of(SamplingParameters).sample_rate
    return LidarTaker(lidar_of(parameters, _seed(parameters), rule.name, rate), rate)


def _waveform(rule: SensorRule, parameters: Groups) -> Taker:
    rate = parameters.of(SamplingParameters).sample_rate
    return LidarTaker(waveform_lidar_of(parameters, rule.name), rate)


def _seed(parameters: Groups) -> int:
    return int(parameters.of(SamplingParameters).seed)


#: How sensors are made, by their names in the catalog.
MAKERS: Mapping[str, Callable[[SensorRule, Groups], Taker]] = {
    "DepthCamera": _camera,
    "Lidar": _lidar,
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
    plain = {"segmentation": True, "normalize_range": False}  # metres, and ids for boxes
    always = plain if rule.sensor == "DepthCamera" else {}
    values = {"seed": seed, **always, **preset, **rule.parameters}
    return MAKERS[rule.sensor](rule, named_parameters(spec, values))
