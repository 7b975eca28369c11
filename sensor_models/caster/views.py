"""Where rays come from: a camera's grid of pixels row by row, or any rays that there are."""

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sensor_models.camera.parameters import DepthCameraParameters
from sensor_models.camera.rays import rays_of
from sensor_models.core.frames import Quaternion, matrix_from_quaternion, unit_orientation

Floats = NDArray[np.float64]

#: Columns of a grid that holds a list.
COLUMNS = 256


class Rays(Protocol):
    """Rays in rows of neighbours, of which some can be sent elsewhere."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""

    def rays(self, first_row: int, rows: int) -> tuple[Floats, NDArray[np.float32]]:
        """The origin (3,) or origins, and the directions (rows * columns, 3), of some rows."""

    def block(self, first_row: int, rows: int) -> "tuple[Rays, int]":
        """What has to be sent for some rows, and which row of that is the first."""


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

    def block(self, first_row: int, rows: int) -> "tuple[View, int]":  # noqa: ARG002 - all is small
        """The view itself, and the row."""
        return self, first_row


@dataclass(frozen=True)
class RayGrid:
    """Rays one by one."""

    origins: Floats  # (3,), or (rows, columns, 3)
    directions: NDArray[np.float32]  # (rows, columns, 3); a direction of zeros is no ray

    @classmethod
    def of_list(cls, origins: ArrayLike, directions: ArrayLike) -> "RayGrid":
        """Rays of a list, (n, 3), as rows of a grid that is filled up with what are no rays."""
        starts, along = np.asarray(origins, float), np.asarray(directions, np.float32)
        rows = -(-len(along) // COLUMNS)
        room = np.zeros((rows * COLUMNS, 3)), np.zeros((rows * COLUMNS, 3), np.float32)
        room[0][: len(along)], room[1][: len(along)] = starts, along
        return cls(room[0].reshape(rows, COLUMNS, 3), room[1].reshape(rows, COLUMNS, 3))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        rows, columns = self.directions.shape[:2]
        return rows, columns

    def rays(self, first_row: int, rows: int) -> tuple[Floats, NDArray[np.float32]]:
        """The origin (3,) or origins, and the directions (rows * columns, 3), of some rows."""
        own = slice(first_row, first_row + rows)
        starts = self.origins if self.origins.ndim == 1 else self.origins[own].reshape(-1, 3)
        return starts, self.directions[own].reshape(-1, 3)

    def block(self, first_row: int, rows: int) -> "tuple[RayGrid, int]":
        """Some rows alone, from their first."""
        own = slice(first_row, first_row + rows)
        starts = self.origins if self.origins.ndim == 1 else self.origins[own]
        return RayGrid(starts, self.directions[own]), 0
