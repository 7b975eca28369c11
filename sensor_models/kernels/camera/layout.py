"""What a depth camera is asked for, as its kernels see it: pixels, rays, poses, images.

Pixels are numbered row by row; a tile is a block of neighbours that fills a packet of rays.
"""

from typing import NamedTuple, Protocol

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


class Grid(Protocol):
    """A grid of pixels, which tasks and shots of cameras are."""

    @property
    def rows(self) -> int:
        """How many rows."""

    @property
    def columns(self) -> int:
        """How many columns."""


class Task(NamedTuple):
    """Images to be made: of which size, with which limits and noise."""

    first: int  # number of the first camera, for noise
    cameras: int  # how many
    rows: int  # of pixels
    columns: int  # of pixels
    rays: int  # of each pixel
    separation: float  # of the targets of a pixel with several rays, m; infinite for one target
    strongest: bool  # which of them is read: the strongest, else the nearest
    frame: int  # counts the draws of noise
    depth: bool  # the image and the limits are of depth, else of range
    in_world: bool  # frame of points and normals
    normalise: int  # ``BY_MAX`` and so on
    least: float  # nearest distance, m
    most: float  # farthest distance, m
    near: float  # what stands for less than the nearest
    far: float  # what stands for more than the farthest
    pixel_metres: float  # focal length times baseline
    disparity_sigma: float  # standard deviation, px
    disparity_step: float  # disparities are multiples of it, px
    multiplier: float  # noise in proportion to the value, as a share
    far_multiplier: float  # the same beyond ``far_from``
    far_from: float  # m; infinite for nowhere
    rms: float  # noise whatever the value, m
    bias: float  # m
    scale_error: float  # bias in proportion to the value
    dropout: float  # probability
    edge_dropout: float  # probability at edges
    edge_jump: float  # what makes an edge, as a share of the depth
    sees_all: bool  # what lies beyond the limit, too


class Rays(NamedTuple):
    """Where rays start and go."""

    directions: NDArray[np.float64]  # (pixels x rays, 3), unit vectors in the sensor frame
    axes: NDArray[np.float64]  # (pixels, 3), through the middle of each pixel
    poses: NDArray[np.float64]  # (cameras, 1 or rows, 12), rotation to the world, then position
    times: NDArray[np.float64]  # (1 or rows,): when rows are taken, as a share of the read-out


class Images(NamedTuple):
    """The outputs, (cameras, pixels) each; those of no pixels are not wanted."""

    image: NDArray[np.float32]  # depth or range, m, or normalised
    metres: NDArray[np.float32]  # the same before it is normalised
    distance: NDArray[np.float32]  # along the ray, NaN where there is none within the limits
    points: NDArray[np.float32]  # (..., 3), NaN like the distance
    entity: NDArray[np.int32]  # -1 for none
    label: NDArray[np.int32]  # semantic label, -1 for none
    face: NDArray[np.int32]  # index of the face in its mesh
    normal: NDArray[np.float32]  # (..., 3), unit vector
    status: NDArray[np.int32]  # of zones, see ``depth``
    truth: NDArray[np.float32]  # true depth, for edges
    met: NDArray[np.float32]  # true distance along the ray, inf for nothing, for flow
    owner: NDArray[np.int32]  # of the facet there, -1 for none
    material: NDArray[np.int32]  # of the facet there


@njit(**ACCESS)
def tiles_of(task: Grid) -> int:
    """How many tiles cover an image."""
    down = (task.rows + TILE[0] - 1) // TILE[0]
    return down * ((task.columns + TILE[1] - 1) // TILE[1])


@njit(**ACCESS)
def corner_of(task: Grid, tile: int) -> tuple[int, int]:
    """Row and column of the first pixel of a tile."""
    across = (task.columns + TILE[1] - 1) // TILE[1]
    strip = tile // across
    return strip * TILE[0], (tile - strip * across) * TILE[1]


@njit(**ACCESS)
def pixel_of(task: Grid, corner: tuple[int, int], lane: int) -> int:
    """The pixel in a lane of the tile with that corner, -1 beyond the image."""
    row, column = corner[0] + (lane >> TILE_SHIFT), corner[1] + (lane & (TILE[1] - 1))
    return row * task.columns + column if (row < task.rows) & (column < task.columns) else -1


@njit(**ACCESS)
def pose_row(task: Task, rays: Rays, ray: int) -> int:
    """Which pose of a camera holds for a ray: rows may have poses of their own."""
    return ray // (task.rays * task.columns) if rays.poses.shape[1] > 1 else 0
