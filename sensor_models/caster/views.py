"""Where rays come from: a camera's or a scanner's grid of pixels, row by row."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sensor_models.camera.parameters import DepthCameraParameters
from sensor_models.camera.rays import rays_of
from sensor_models.core.frames import Quaternion, matrix_from_quaternion, unit_orientation

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class View:
    """The optics of a depth camera at a place in the world; x is where it looks."""

    optics: DepthCameraParameters = field(
        default_factory=lambda: DepthCameraParameters(width=2000, height=2000)
    )
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    orientation: Quaternion = (1.0, 0.0, 0.0, 0.0)  # w, x, y, z

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.optics.height, self.optics.width

    def rays(self, first_row: int, rows: int) -> tuple[Floats, NDArray[np.float32]]:
        """The origin (3,) and the directions (rows * columns, 3) of some rows."""
        columns = np.arange(self.optics.width, dtype=float) + 0.5
        own_rows = np.arange(first_row, first_row + rows, dtype=float) + 0.5
        own = rays_of(self.optics, columns, own_rows)
        turn = matrix_from_quaternion(
            np.array(unit_orientation(*self.orientation, name="orientation"))
        )
        x, y, z = np.moveaxis(own.reshape(-1, 3), -1, 0)[..., None]
        # Not by a matrix product, whose bits may depend on how many rows it has.
        along = turn[:, 0] * x + turn[:, 1] * y + turn[:, 2] * z
        return np.array(self.position, float), along.astype(np.float32)
