"""The quick caster: ideal images of scenes that are divided by facets.

All rays are cast into each part of the scene. The nearest hit counts, and of facets at the same
distance the one with the lowest number:

    part 0 --cast--> keys --+
    part 1 --cast--> keys --+--min--> the nearest facet of each ray: range, normal, values
    part 2 --cast--> keys --+

Rays are cast in blocks of rows, so a worker needs memory for its parts and one block, and the
caller for the image. The answer of a part has only the rays that hit it. A minimum does not depend
on order (``kernels.caster.keys``): the image has the same bits for any number of parts and workers,
in any order, and also if a worker is lost midway.

Source: VANE, quick caster. Not modelled: light. An image holds properties of facets, which models
of sensors take as input.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.caster.keys import MISS, read_keys, take_nearer
from sensor_models.tools.caster.part import Hits, Part
from sensor_models.tools.caster.parts import Parts
from sensor_models.tools.caster.views import Rays
from sensor_models.tools.workers import Failure, Resident, Task, WorkerPool

#: The approximate number of rays in a block.
BLOCK = 1 << 18

Progress = Callable[[int, int], None]


class CastError(RuntimeError):
    """A part could not be cast."""


@dataclass(frozen=True)
class IdealImage:
    """What each pixel sees, (rows, columns, ...)."""

    distance: NDArray[np.float32]  # along the ray in m, inf for nothing
    facet: NDArray[np.int64]  # number in the whole scene, -1 for nothing
    weights: NDArray[np.float32]  # (..., 2): of the facet's second and third corner
    normal: NDArray[np.float32]  # (..., 3), to the outside of the surface, 0 for nothing
    values: NDArray[np.float32]  # (..., bands), NaN for nothing


def cast(
    parts: Parts, view: Rays, pool: WorkerPool, progress: Progress | None = None
) -> IdealImage:
    """Cast the rays of a view, or others, into all parts.

    ``progress`` is called with the number of finished blocks of all parts, and the number of all
    blocks. Parts stay with the workers of the pool, for the next view.
    """
    nearest = Nearest(view.shape, len(parts.bands))
    pieces = list(_pieces(view.shape, len(parts.parts), pool.size))
    for done, outcome in enumerate(pool.run(_tasks(parts, view, pieces))):
        if isinstance(outcome.result, Failure):
            raise CastError(f"{parts.directory}: {outcome.result.message}")
        nearest.take(pieces[outcome.index].first, outcome.result)
        if progress is not None:
            progress(done + 1, len(pieces))
    return nearest.image()


def _tasks(parts: Parts, view: Rays, pieces: "list[Piece]") -> Iterator[Task]:
    """The tasks for the workers."""
    for piece in pieces:
        own, first = view.block(piece.first, piece.rows)
        yield Task(Part.cast, (Resident(Part, (parts, piece.part)), own, first, piece.rows))


class Piece(NamedTuple):
    """A block of rows that is cast into a part."""

    part: int
    first: int  # row
    rows: int


def _pieces(shape: tuple[int, int], parts: int, workers: int) -> Iterator[Piece]:
    """All blocks of all parts, in an order that suits workers.

    As many parts as there are workers are finished before others are begun, so a worker whose
    memory does not hold all its parts opens each of them only once.
    """
    rows, columns = shape
    step = max(1, BLOCK // columns)
    for group in range(0, parts, workers):
        for first in range(0, rows, step):
            for part in range(group, min(group + workers, parts)):
                yield Piece(part, first, min(step, rows - first))


class Nearest:
    """The nearest hits of all answers so far."""

    def __init__(self, shape: tuple[int, int], bands: int) -> None:
        self._shape = shape
        count = shape[0] * shape[1]
        self._keys = np.full(count, MISS, np.uint64)
        self._weights = np.zeros((count, 2), np.float32)
        self._normals = np.zeros((count, 3), np.float32)
        self._values = np.full((count, bands), np.nan, np.float32)

    def take(self, first_row: int, hits: Hits) -> None:
        """Take the answer of a part for a block that begins at a row."""
        values = np.asarray(hits.values, np.float32)
        found = hits.keys, hits.weights, hits.normals, values
        rest = slice(first_row * self._shape[1], None)
        kept = self._keys[rest], self._weights[rest], self._normals[rest], self._values[rest]
        take_nearer(hits.rays, found, kept)

    def image(self) -> IdealImage:
        """The image so far."""
        distance, facet = np.empty(len(self._keys), np.float32), np.empty(len(self._keys), np.int64)
        far = int(np.float32(np.inf).view(np.uint32))
        read_keys(self._keys, distance.view(np.uint32), facet, far)
        return IdealImage(
            distance.reshape(self._shape),
            facet.reshape(self._shape),
            self._weights.reshape(*self._shape, 2),
            self._normals.reshape(*self._shape, 3),
            self._values.reshape(*self._shape, -1),
        )
