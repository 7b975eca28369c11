"""What radars give for a sample."""

from dataclasses import fields

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.frames import MountParameters
from sensor_models.radar.cone import ConeRadar
from sensor_models.radar.obstacles import Obstacles, obstacles_of
from sensor_models.radar.ray_traced import Motion, RayTracedRadar
from sensor_models.radar.ray_traced_sensor import row_of
from sensor_models.radar.readings import Detection
from sensor_models.radar.sensor import row_of as row_of_cone
from sensor_models.radar.targets import Detector
from sensor_models.scene.tracing import RayScene
from sensor_models.tools.datasets.boxes import Eye
from sensor_models.tools.datasets.sensing import Taken

Floats = NDArray[np.float64]

#: The name of the targets of a radar, and what is known of each.
TARGETS = "targets"
TARGET = np.dtype(
    [(own.name, "<i4" if own.type in (int, "int") else "<f8") for own in fields(Detection)]
)


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
