r"""Peaks in the cube of a radar that stand out of what is around them.

Power       |sum_c conj(s_c) x_c|^2 for the steering vector s of each direction of a grid
Threshold   along range, of N cells to both sides beyond a guard, so far apart that the window
            leaves their noise independent. Cell averaging: T = alpha mean. Ordered statistic:
            T = alpha z_(k); a cell x passes if at least k of the N are below x / alpha. At the
            ends of the range the cells of the other side stand in.
Peaks       no neighbour in range, Doppler (which has no ends) and direction is higher

Source: Rohling 1983; Gandhi and Kassam 1988.
"""

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.options import INLINE, PLAIN
from sensor_models.kernels.tracing.rays import claim
from sensor_models.kernels.tracing.scene_view import SceneView

CELL_AVERAGING, ORDERED = range(2)
Powers = NDArray[np.float32]


@njit(nogil=True, cache=True)
def look_around(
    _view: SceneView,
    claims: NDArray[np.int64],
    cube: NDArray[np.complex64],
    steering: NDArray[np.complex64],
    powers: Powers,
) -> None:
    """The power of each cell in each direction: (range, Doppler, directions).

    ``steering`` is (Doppler, channels, directions), conjugate and of the sum 1.
    """
    samples, chirps, channels = cube.shape
    directions = steering.shape[2]
    real, imaginary = np.empty(directions, np.float32), np.empty(directions, np.float32)
    sr, si = steering.real.copy(), steering.imag.copy()
    row = claim(claims)
    while row < samples:
        for chirp in range(chirps):
            real[:] = 0.0
            imaginary[:] = 0.0
            for channel in range(channels):
                value = cube[row, chirp, channel]
                x, y = value.real, value.imag
                for k in range(directions):
                    real[k] += x * sr[chirp, channel, k] - y * si[chirp, channel, k]
                    imaginary[k] += x * si[chirp, channel, k] + y * sr[chirp, channel, k]
            for k in range(directions):
                powers[row, chirp, k] = real[k] * real[k] + imaginary[k] * imaginary[k]
        row = claim(claims)


@njit(**INLINE)
def _is_peak(powers: Powers, row: int, chirp: int, y: int, z: int, height: int) -> bool:
    """Whether no neighbour is higher; of equal ones the first is the peak."""
    samples, chirps, directions = powers.shape
    width = directions // height
    here, own = powers[row, chirp, z * width + y], (row, chirp, z, y)
    for r in range(max(row - 1, 0), min(row + 2, samples)):
        for step in range(-1, 2):
            c = (chirp + step) % chirps
            for b in range(max(z - 1, 0), min(z + 2, height)):
                for a in range(max(y - 1, 0), min(y + 2, width)):
                    other = powers[r, c, b * width + a]
                    if other > here or (other == here and (r, c, b, a) < own):
                        return False
    return True


@njit(cache=True)
def stands_out(
    line: Powers,
    place: int,
    kind: int,
    cells: int,
    guard: int,
    rank: int,
    alpha: float,
    apart: int,
) -> bool:
    """Whether a cell of a line stands out of cells around it, which are so far ``apart``."""
    size, half = len(line), cells // 2
    first = max(guard + 1, apart)
    before, after = place - first, place + first
    most_before = before // apart + 1 if before >= 0 else 0
    most_after = (size - 1 - after) // apart + 1 if after < size else 0
    there = min(half, most_before)
    beyond = min(cells - there, most_after)
    there = min(cells - beyond, most_before)
    found = there + beyond
    if found == 0:
        return False
    limit, below, total = line[place] / alpha, 0, 0.0
    for k in range(there):
        power = line[before - k * apart]
        below += 1 if power < limit else 0
        total += power
    for k in range(beyond):
        power = line[after + k * apart]
        below += 1 if power < limit else 0
        total += power
    if kind == CELL_AVERAGING:
        return bool(line[place] > alpha * total / found)
    return bool(below * cells >= rank * found)


@njit(nogil=True, cache=True)
def find_peaks(
    _view: SceneView,
    claims: NDArray[np.int64],
    powers: Powers,
    lines: Powers,
    height: int,
    test: tuple[int, int, int, int, int],
    alpha: float,
    least: float,
    found: NDArray[np.bool_],
) -> None:
    """Mark the peaks that stand out; ``test`` is kind, cells, guard, rank, and how far apart.

    ``lines`` are the same powers as (range, Doppler x directions), which ``found`` is, too.
    ``height`` is how many directions lie above each other. What is below ``least`` is none.
    """
    samples, _, directions = powers.shape
    row = claim(claims)
    while row < samples:
        _compare_along(lines, row, directions, least, found[row])
        for place in range(found.shape[1]):
            if found[row, place]:
                chirp, direction = divmod(place, directions)
                stands = _stands_alone(powers, row, chirp, direction, height, test, alpha)
                found[row, place] = stands
        row = claim(claims)


@njit(**PLAIN)
def _compare_along(
    lines: Powers, row: int, directions: int, least: float, marks: NDArray[np.bool_]
) -> None:
    """Mark what is no lower than its neighbours along range and Doppler.

    Most cells have a higher neighbour, and which one is chance: these are loops without branches.
    """
    here, one, other = lines[row], lines[max(row - 1, 0)], lines[min(row + 1, len(lines) - 1)]
    bound = np.float32(least)
    for place in range(len(here)):
        power = here[place]
        marks[place] = (power >= bound) & (one[place] <= power) & (other[place] <= power)
    amid, powers = marks[directions:-directions], here[directions:-directions]
    for line in (here, one, other):
        before, after = line[: -2 * directions], line[2 * directions :]
        for place in range(len(amid)):
            power = powers[place]
            beside = (before[place] <= power) & (after[place] <= power)
            amid[place] = amid[place] & beside


@njit(**PLAIN)
def _stands_alone(
    powers: Powers,
    row: int,
    chirp: int,
    direction: int,
    height: int,
    test: tuple[int, int, int, int, int],
    alpha: float,
) -> bool:
    """Whether a cell is a peak in all directions that stands out of its line."""
    z, y = divmod(direction, powers.shape[2] // height)
    if not _is_peak(powers, row, chirp, y, z, height):
        return False
    line = powers[:, chirp, direction]
    kind, cells, guard, rank, apart = test
    return bool(stands_out(line, row, kind, cells, guard, rank, alpha, apart))
