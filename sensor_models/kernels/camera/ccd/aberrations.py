r"""Where a lens with aberrations puts the light of ideal image points.

With the ideal image point (x_o, y_o) and a point of the pupil (x_p, y_p), all in m,

    W  = A ρ² + B ρ⁴ + C κ⁴ + D r² ρ² + E r² κ² + F ρ² κ²
    Δx = -d ∂W/∂x_p,  ∂W/∂x_p = 2A x_p + 4B ρ² x_p + 2C κ² x_o + 2D r² x_p + E r² x_o
                                + F (2 x_p κ² + ρ² x_o),  likewise y
    A  = (1/s - 1/r_o) / 2

with r² = x_o² + y_o², ρ² = x_p² + y_p², κ² = x_o x_p + y_o y_p, the distance d from the pupil to
the chip, the object distance s that is in focus and the distance r_o of what is seen.

For each point of the pupil the displaced image points go to the nearest cell of the chip's grid;
those beyond the chip are lost, several in one cell count by their mean, and a cell that got none
takes the nearest that got some. The image is the mean over the pupil. The image is upside down on
a chip; here it is turned upright, so x grows to the right and y down.

Source: VANE, eq. 1-5, as corrected in PHYSICS 15.2-15.4.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.tracing.packets import ACCESS
from sensor_models.kernels.tracing.rays import claim

Floats = NDArray[np.float64]

#: Cells around an empty one that are looked at for light.
WIDEST_GAP = 32
#: Rows of cells that a thread claims at once.
STRIP = 64


class Lens(NamedTuple):
    """A lens that displaces the light of each point."""

    rows: int  # of cells
    columns: int  # of cells
    cell_width: float  # m
    cell_height: float  # m
    middle_x: float  # principal point, in cells from the corner
    middle_y: float  # in cells from the corner
    distance: float  # d
    in_focus: float  # 1/s
    seidel: tuple[float, float, float, float, float]  # B, C, D, E, F
    pupil: Floats  # (points, 2)
    margin: int  # rows that light may be displaced by, at most


@njit(cache=True, forceinline=True, error_model="numpy")
def slope(
    defocus: float,
    seidel: tuple[float, float, float, float, float],
    x_o: float,
    y_o: float,
    x_p: float,
    y_p: float,
) -> tuple[float, float]:
    """The gradient of the aberration function over the pupil."""
    b, c, d, e, f = seidel
    r2, rho2, k2 = x_o * x_o + y_o * y_o, x_p * x_p + y_p * y_p, x_o * x_p + y_o * y_p
    of_pupil = 2.0 * defocus + 4.0 * b * rho2 + 2.0 * d * r2 + 2.0 * f * k2
    of_image = 2.0 * c * k2 + e * r2 + f * rho2
    return of_pupil * x_p + of_image * x_o, of_pupil * y_p + of_image * y_o


@njit(cache=True, forceinline=True, error_model="numpy")
def defocus_of(in_focus: float, distance: float) -> float:
    """The coefficient A of what is at some distance; not above 0 counts as infinitely far."""
    return 0.5 * (in_focus - (1.0 / distance if distance > 0.0 else 0.0))


@njit(**ACCESS)
def fill_gaps(counts: NDArray[np.int32], sums: Floats, columns: int, first: int, last: int) -> None:
    """Give cells of some rows that got no light the mean of the nearest that got some."""
    rows = len(counts) // columns
    for row in range(first, last):
        for column in range(columns):
            cell = row * columns + column
            if counts[cell] != 0:
                continue
            best, found = (WIDEST_GAP + 1) ** 2, -1
            ring = 1
            while ring * ring < best and ring <= WIDEST_GAP:
                for down in range(-ring, ring + 1):
                    step = 1 if abs(down) == ring else 2 * ring
                    for right in range(-ring, ring + 1, step):
                        r, c = row + down, column + right
                        if 0 <= r < rows and 0 <= c < columns and counts[r * columns + c] > 0:
                            square = down * down + right * right
                            if square < best:
                                best, found = square, r * columns + c
                ring += 1
            if found >= 0:
                counts[cell] = -1
                for band in range(sums.shape[1]):
                    sums[cell, band] = sums[found, band] / counts[found]


@njit(nogil=True, cache=True, error_model="numpy")
def displace(
    claims: NDArray[np.int64],
    lens: Lens,
    light: NDArray[np.float32],
    distance: NDArray[np.float32],
    result: NDArray[np.float32],
) -> None:
    """The light of ideal image points, (cells, bands), on the cells of the chip.

    Each strip of rows is worked out with all light that may come to it, so that it depends on no
    thread.
    """
    columns, bands = lens.columns, light.shape[1]
    around = WIDEST_GAP + 1
    most = min(STRIP + 2 * around, lens.rows) * columns
    counts, sums = np.zeros(most, np.int32), np.zeros((most, bands))
    strip = claim(claims)
    while strip * STRIP < lens.rows:
        first, last = strip * STRIP, min((strip + 1) * STRIP, lens.rows)
        low, high = max(first - around, 0), min(last + around, lens.rows)
        size = (high - low) * columns
        for point in range(len(lens.pupil)):
            counts[:size], sums[:size] = 0, 0.0
            splat(lens, light, distance, point, low, high, counts, sums)
            fill_gaps(counts[:size], sums[:size], columns, first - low, last - low)
            for cell in range(first * columns, last * columns):
                count = max(abs(counts[cell - low * columns]), 1)
                for band in range(bands):
                    share = sums[cell - low * columns, band] / (count * len(lens.pupil))
                    result[cell, band] += share
        strip = claim(claims)


@njit(**ACCESS)
def splat(
    lens: Lens,
    light: NDArray[np.float32],
    distance: NDArray[np.float32],
    point: int,
    low: int,
    high: int,
    counts: NDArray[np.int32],
    sums: Floats,
) -> None:
    """Add the light that one point of the pupil sends to some rows of cells."""
    x_p, y_p, columns = lens.pupil[point, 0], lens.pupil[point, 1], lens.columns
    for row in range(max(low - lens.margin, 0), min(high + lens.margin, lens.rows)):
        y_o = (row + 0.5 - lens.middle_y) * lens.cell_height
        for column in range(columns):
            x_o = (column + 0.5 - lens.middle_x) * lens.cell_width
            source = row * columns + column
            defocus = defocus_of(lens.in_focus, float(distance[source]))
            a, b = slope(defocus, lens.seidel, x_o, y_o, x_p, y_p)
            x, y = x_o - lens.distance * a, y_o - lens.distance * b
            right = int(np.floor(x / lens.cell_width + lens.middle_x))
            down = int(np.floor(y / lens.cell_height + lens.middle_y))
            if low <= down < high and 0 <= right < columns:
                cell = (down - low) * columns + right
                counts[cell] += 1
                for band in range(light.shape[1]):
                    sums[cell, band] += light[source, band]
