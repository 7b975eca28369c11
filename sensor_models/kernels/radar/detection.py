r"""Peaks in the cube of a radar that stand out of what is around them.

Power       |sum_c conj(s_c) x_c|^2 for the steering vector s of each direction of a grid
Threshold   along range, of N cells to both sides beyond a guard. Cell averaging: T = alpha mean.
            Ordered statistic: T = alpha z_(k); a cell x passes if at least k of the N are below
            x / alpha. At the ends of the range the cells of the other side stand in.
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
    line: Powers, place: int, kind: int, cells: int, guard: int, rank: int, alpha: float
) -> bool:
    """Whether a cell of a line stands out of the cells around it."""
    size = len(line)
    half = cells // 2
    before, after = place - guard - 1, place + guard + 1
    there = max(min(half, before + 1), 0)
    beyond = max(min(cells - there, size - after), 0)
    there = max(min(cells - beyond, before + 1), 0)
    found = there + beyond
    if found == 0:
        return False
    limit, below, total = line[place] / alpha, 0, 0.0
    for k in range(there):
        below += 1 if line[before - k] < limit else 0
        total += line[before - k]
    for k in range(beyond):
        below += 1 if line[after + k] < limit else 0
        total += line[after + k]
    if kind == CELL_AVERAGING:
        return bool(line[place] > alpha * total / found)
    return bool(below * cells >= rank * found)


@njit(nogil=True, cache=True)
def find_peaks(
    _view: SceneView,
    claims: NDArray[np.int64],
    powers: Powers,
    height: int,
    test: tuple[int, int, int, int],
    alpha: float,
    least: float,
    found: NDArray[np.bool_],
) -> None:
    """Mark the peaks that stand out; ``test`` is kind, cells, guard and rank.

    ``height`` is how many directions lie above each other. What is below ``least`` is none.
    """
    row = claim(claims)
    while row < len(powers):
        for chirp in range(powers.shape[1]):
            _find_in_line(powers, row, chirp, height, test, alpha, least, found)
        row = claim(claims)


@njit(**PLAIN)
def _find_in_line(
    powers: Powers,
    row: int,
    chirp: int,
    height: int,
    test: tuple[int, int, int, int],
    alpha: float,
    least: float,
    found: NDArray[np.bool_],
) -> None:
    """Mark the peaks of a cell of range and Doppler that stand out."""
    directions = powers.shape[2]
    width = directions // height
    before, after = max(row - 1, 0), min(row + 1, len(powers) - 1)
    here, one, other = powers[row, chirp], powers[before, chirp], powers[after, chirp]
    marks = found[row, chirp]
    # Most cells have a higher neighbour, which ones is chance: these are loops without branches.
    for place in range(directions):
        power = here[place]
        marks[place] = (power >= least) & (one[place] <= power) & (other[place] <= power)
    for z in range(height):
        for y in range(1, width - 1):
            place = z * width + y
            power = here[place]
            marks[place] &= (here[place - 1] <= power) & (here[place + 1] <= power)
    for place in range(directions):
        if not marks[place]:
            continue
        z, y = divmod(place, width)
        marks[place] = _is_peak(powers, row, chirp, y, z, height) and stands_out(
            powers[:, chirp, place], row, test[0], test[1], test[2], test[3], alpha
        )
