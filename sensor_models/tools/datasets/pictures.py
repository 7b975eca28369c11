"""What a camera that sees light gives for a sample."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sensor_models.camera.ccd.camera import CcdCamera
from sensor_models.core.frames import MountParameters, matrix_from_quaternion
from sensor_models.kernels.camera.ways import Lens
from sensor_models.scene.tracing import RayScene
from sensor_models.sight.mount import Pose, pose_of
from sensor_models.tools.datasets.boxes import Eye
from sensor_models.tools.datasets.sensing import Taken

Floats = NDArray[np.float64]

#: How far a camera that sees light looks for what is alone, m.
FAR = 1e6


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
