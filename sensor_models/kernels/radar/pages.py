"""Paths on pages: what a radar's tubes bring back, each page of one chunk of cells.

Threads take pages as they need them, and say which chunk each is of and which of its pages: so the
list in the order of chunks depends on no thread.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.math.memory import claim_at
from sensor_models.kernels.tracing.packets import ACCESS

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Columns of a path: amplitude without the phase of its length; length there and back, m; speed of
# closing, m/s; directions that it left in and comes from, in y and z of the sensor.
(
    PATH_RE, PATH_IM, PATH_LENGTH, PATH_SPEED, PATH_OUT_Y, PATH_OUT_Z, PATH_IN_Y, PATH_IN_Z,
) = range(8)  # fmt: skip
PATH_SIZE = 8
#: Paths on a page.
PAGE = 1024


class Pages(NamedTuple):
    """Paths on pages."""

    numbers: Floats  # (pages, PAGE, PATH_SIZE)
    entities: NDArray[np.int32]  # (pages, PAGE)
    used: Ints  # (pages, 3): chunk, count within the chunk, paths
    claims: Ints  # (1,): pages taken, which may be more than there are
    lost: Ints  # (1,): tubes that the stack had no room for

    @property
    def flat(self) -> tuple[Floats, NDArray[np.int32]]:
        """Paths and their entities, page after page."""
        return self.numbers.reshape(-1, PATH_SIZE), self.entities.reshape(-1)


@njit(**ACCESS)
def _turn_page(pages: Pages, page: Ints) -> None:
    """Take a new page for the chunk; ``page`` is number, paths, chunk, count of pages."""
    page[0], page[1] = claim_at(pages.claims.ctypes.data), 0
    if page[0] < len(pages.used):
        pages.used[page[0], 0], pages.used[page[0], 1] = page[2], page[3]
        pages.used[page[0], 2] = 0
    page[3] += 1


@njit(**ACCESS)
def note(
    pages: Pages,
    page: Ints,
    amplitude: complex,
    length: float,
    speed: float,
    out: tuple[float, float],
    back: tuple[float, float],
    entity: int,
) -> None:
    """Write a path down."""
    if page[0] < 0 or page[1] == PAGE:
        _turn_page(pages, page)
    if page[0] >= len(pages.used):
        return  # the caller makes room and begins again
    row = pages.numbers[page[0], page[1]]
    row[PATH_RE], row[PATH_IM] = amplitude.real, amplitude.imag
    row[PATH_LENGTH], row[PATH_SPEED] = length, speed
    row[PATH_OUT_Y], row[PATH_OUT_Z] = out
    row[PATH_IN_Y], row[PATH_IN_Z] = back
    pages.entities[page[0], page[1]] = entity
    page[1] += 1
    pages.used[page[0], 2] = page[1]
