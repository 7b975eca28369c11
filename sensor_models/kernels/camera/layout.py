"""What a depth camera is asked for, as its kernels see it: pixels, rays, poses, images.

Pixels are numbered row by row; a tile is a block of neighbours that fills a packet of rays.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.packets import ACCESS

#: Rows and columns of a tile of neighbours, which fills a packet.
TILE = {16: (4, 4), 8: (2, 4), 4: (2, 2)}[WIDTH]
#: Binary logarithm of its columns.
TILE_SHIFT = {4: 2, 2: 1}[TILE[1]]
#: Ways to normalise.
AS_IT_IS, BY_MAX, BY_LIMITS = range(3)


class Task(NamedTuple):
    """What is to be made."""

    first: int  # number of the first camera, for noise
    cameras: int
    rows: int
    columns: int
    rays: int  # of each pixel
    separation: float  # of the targets of a pixel with several rays, m; infinite for one target
    strongest: bool  # which of them is read: the strongest, else the nearest
    frame: int  # counts the draws of noise
    depth: bool  # the image and the limits are of depth, else of range
    in_world: bool  # frame of points and normals
    normalise: int
    least: float  # limits, m
    most: float
    near: float  # what stands for values beyond them
    far: float
    pixel_metres: float  # focal length times baseline
    disparity_sigma: float  # px
    disparity_step: float  # px
    multiplier: float
    dropout: float
    edge_dropout: float
    edge_jump: float  # share of the depth
    sees_all: bool  # what lies beyond the limit, too


class Rays(NamedTuple):
    """Where rays start and go."""

    directions: NDArray[np.float64]  # (pixels x rays, 3), unit vectors in the sensor frame
    axes: NDArray[np.float64]  # (pixels, 3), through the middle of each pixel
    poses: NDArray[np.float64]  # (cameras, 1 or rows, 12), rotation to the world, then position
    times: NDArray[np.float64]  # (1 or rows,): when rows are taken, as a share of the read-out


class Images(NamedTuple):
    """The outputs, (cameras, pixels) each; those of no pixels are not wanted."""

    image: NDArray[np.float32]
    distance: NDArray[np.float32]  # along the ray, NaN where there is none within the limits
    points: NDArray[np.float32]  # (..., 3), NaN like the distance
    entity: NDArray[np.int32]
    label: NDArray[np.int32]
    face: NDArray[np.int32]
    normal: NDArray[np.float32]  # (..., 3)
    status: NDArray[np.int32]  # of zones, see ``depth``
    truth: NDArray[np.float32]  # true depth, for edges
    met: NDArray[np.float32]  # true distance along the ray, inf for nothing, for flow
    owner: NDArray[np.int32]  # of the facet there
    material: NDArray[np.int32]


@njit(**ACCESS)
def tiles_of(task: Task) -> int:
    """How many tiles cover an image."""
    down = (task.rows + TILE[0] - 1) // TILE[0]
    return down * ((task.columns + TILE[1] - 1) // TILE[1])


@njit(**ACCESS)
def corner_of(task: Task, tile: int) -> tuple[int, int]:
    """Row and column of the first pixel of a tile."""
    across = (task.columns + TILE[1] - 1) // TILE[1]
    strip = tile // across
    return strip * TILE[0], (tile - strip * across) * TILE[1]


@njit(**ACCESS)
def pixel_of(task: Task, corner: tuple[int, int], lane: int) -> int:
    """The pixel in a lane of the tile with that corner, -1 beyond the image."""
    row, column = corner[0] + (lane >> TILE_SHIFT), corner[1] + (lane & (TILE[1] - 1))
    return row * task.columns + column if (row < task.rows) & (column < task.columns) else -1


@njit(**ACCESS)
def pose_row(task: Task, rays: Rays, ray: int) -> int:
    """Which pose of a camera holds for a ray: rows may have poses of their own."""
    return ray // (task.rays * task.columns) if rays.poses.shape[1] > 1 else 0
