"""Rays to cast: those of a camera's grid of pixels row by row, or any list of rays."""

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sensor_models.camera.depth.parameters import DepthCameraParameters
from sensor_models.camera.depth.rays import rays_of
from sensor_models.core.frames import Quaternion, matrix_from_quaternion, unit_orientation

Floats = NDArray[np.float64]

#: The number of columns of a grid that holds a list.
COLUMNS = 256
#: How many rays are made at a time, so that intermediate results stay in the processor's cache.
AT_A_TIME = 1 << 13


class Rays(Protocol):
    """Rays in rows of neighbours; some rows can be sent to another process."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""

    def rays(self, first_row: int, rows: int) -> tuple[Floats, NDArray[np.float32]]:
        """The origin (3,) or origins, and the directions (rows * columns, 3), of some rows."""

    def block(self, first_row: int, rows: int) -> "tuple[Rays, int]":
        """What has to be sent for some rows, and the first of these rows within it."""


def turned(directions: Floats, orientation: Quaternion) -> NDArray[np.float32]:
    """Directions (..., 3) of a sensor's frame in the world, (n, 3).

    This is not a matrix product, because its bits may depend on the number of directions, and it
    is done by columns, because loops along rows of three take twice as long. All rays are made
    again for each part, so with many parts this is most of the cost of casting.
    """
    x, y, z = (np.ascontiguousarray(part) for part in np.moveaxis(directions, -1, 0))
    turn = matrix_from_quaternion(np.array(unit_orientation(*orientation, name="orientation")))
    along = np.empty((x.size, 3), np.float32)
    for axis, (ahead, left, up) in enumerate(turn):
        along[:, axis] = (ahead * x + left * y + up * z).ravel()
    return along


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
        along = np.empty((rows, len(columns), 3), np.float32)
        step = max(1, AT_A_TIME // len(columns))
        for begin in range(0, rows, step):
            part = along[begin : begin + step]
            own = rays_of(self.optics, columns, own_rows[begin : begin + step])
            part[:] = turned(own, self.orientation).reshape(part.shape)
        return np.array(self.position, float), along.reshape(-1, 3)

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
        """Rays of a list, (n, 3), as rows of a grid that is padded with directions of zeros."""
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
        """Only these rows; the first of them is row 0."""
        own = slice(first_row, first_row + rows)
        starts = self.origins if self.origins.ndim == 1 else self.origins[own]
        return RayGrid(starts, self.directions[own]), 0
