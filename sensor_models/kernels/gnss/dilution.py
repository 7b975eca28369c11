r"""Dilution of precision, and the shift of a fix by errors of ranges.

A satellite in the direction s = (east, north, up) of unit length has the row

    (-s_E, -s_N, -s_U, 1)

in the matrix G, with one clock column for each system in use, which holds 1 for its own
satellites. Of (GᵀG)⁻¹ = Q the diagonal holds the variances of E, N, U and the clocks for ranges of
variance 1:

    HDOP² = Q_EE + Q_NN,  VDOP² = Q_UU,  PDOP² = HDOP² + VDOP²,  TDOP² = Q of the first clock in use
    GDOP² = trace Q

There is no fix with fewer rows than columns, or where the condition number of G is above 1e6. If
exactly one satellite is missing, the height is held: the column of U is left out, VDOP is unknown
(99.99), and PDOP is HDOP.

Range errors ε move the fix by (Gᵀ W G)⁻¹ Gᵀ W ε with the weights W = diag(sin² elevation). Errors
that all satellites share go to the clock.

GᵀG = M has at most six rows. Its inverse comes from Cholesky's factors (Golub and Van Loan, "Matrix
Computations", 4.2) where these prove that the condition is good, because

    cond² = λ_max / λ_min <= tr M · tr M⁻¹

Where they do not, eigenvalues and vectors come from Jacobi's rotations (8.5): cond² = λ_max / λ_min
and Q = V λ⁻¹ Vᵀ. They take five times as long.

Source: Misra and Enge, "Global Positioning System", 6.1. The weights are our choice: the errors of
the model grow with 1 / sin elevation.
"""

import math

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.gnss.orbits import SYSTEM
from sensor_models.kernels.gnss.sky import EAST, ERROR, NORTH, STATUS, UP, USED
from sensor_models.kernels.options import PLAIN

Floats = NDArray[np.float64]

MOST_SYSTEMS = 3
MOST_COLUMNS = 3 + MOST_SYSTEMS
LARGEST_CONDITION = 1e6
UNKNOWN = 99.99

# Rows of the memory to work in, (WORK_ROWS, MOST_COLUMNS, MOST_COLUMNS): the matrix, which Jacobi
# makes diagonal; its eigenvectors or Cholesky's factor; the inverse of GᵀG, that of GᵀWG; vectors.
MATRIX, VECTORS, PLAIN_INVERSE, WEIGHTED_INVERSE, SHIFTS = range(5)
WORK_ROWS = 5
# Vectors in the row SHIFTS: a row of G, the right-hand side, the solution, the clock columns.
ROW, RIGHT, SOLUTION, CLOCKS = range(4)

#: Sweeps of Jacobi's rotations; six suffice for matrices of this size.
SWEEPS = 20


@njit(**PLAIN)
def count_used(orbits: Floats, sky: Floats, work: Floats) -> tuple[int, int]:
    """How many satellites and how many systems are in use; numbers the clocks of the systems."""
    for system in range(MOST_SYSTEMS):
        work[SHIFTS, CLOCKS, system] = -1.0
    satellites = 0
    for row in range(len(sky)):
        if sky[row, STATUS] >= USED:
            satellites += 1
            work[SHIFTS, CLOCKS, int(orbits[row, SYSTEM])] = 0.0
    systems = 0
    for system in range(MOST_SYSTEMS):
        if work[SHIFTS, CLOCKS, system] == 0.0:
            work[SHIFTS, CLOCKS, system] = float(systems)
            systems += 1
    return satellites, systems


@njit(**PLAIN)
def _fill_row(orbits: Floats, sky: Floats, satellite: int, axes: int, row: Floats) -> None:
    """The row of G of a satellite; ``axes`` is 2 if the height is held, else 3.

    ``row`` is the vector memory: the result is its vector ROW.
    """
    for column in range(MOST_COLUMNS):
        row[ROW, column] = 0.0
    row[ROW, 0] = -sky[satellite, EAST]
    row[ROW, 1] = -sky[satellite, NORTH]
    if axes == 3:
        row[ROW, 2] = -sky[satellite, UP]
    clock = int(row[CLOCKS, int(orbits[satellite, SYSTEM])])
    row[ROW, axes + clock] = 1.0


@njit(**PLAIN)
def fill_matrix(
    orbits: Floats, sky: Floats, axes: int, size: int, weighted: bool, work: Floats
) -> None:
    """GᵀG of the satellites in use, or GᵀWG, into MATRIX."""
    matrix, vectors = work[MATRIX], work[SHIFTS]
    for i in range(size):
        for j in range(size):
            matrix[i, j] = 0.0
    for satellite in range(len(sky)):
        if sky[satellite, STATUS] >= USED:
            _fill_row(orbits, sky, satellite, axes, vectors)
            weight = sky[satellite, UP] * sky[satellite, UP] if weighted else 1.0
            for i in range(size):
                for j in range(size):
                    matrix[i, j] += weight * vectors[ROW, i] * vectors[ROW, j]


@njit(**PLAIN)
def diagonalise(matrix: Floats, vectors: Floats, size: int) -> None:
    """Turn a symmetric matrix into the diagonal one of its eigenvalues; columns of ``vectors``."""
    for i in range(size):
        for j in range(size):
            vectors[i, j] = 1.0 if i == j else 0.0
    for _ in range(SWEEPS):
        off, diagonal = 0.0, 0.0
        for i in range(size):
            diagonal += matrix[i, i] * matrix[i, i]
            for j in range(i):
                off += matrix[i, j] * matrix[i, j]
        if off <= 1e-36 * diagonal:
            return
        for p in range(size - 1):
            for q in range(p + 1, size):
                _rotate(matrix, vectors, size, p, q)


@njit(**PLAIN)
def _rotate(matrix: Floats, vectors: Floats, size: int, p: int, q: int) -> None:
    """Make one element off the diagonal zero."""
    if matrix[p, q] == 0.0:
        return
    slope = (matrix[q, q] - matrix[p, p]) / (2.0 * matrix[p, q])
    tangent = math.copysign(1.0, slope) / (abs(slope) + math.sqrt(slope * slope + 1.0))
    cosine = 1.0 / math.sqrt(tangent * tangent + 1.0)
    sine = tangent * cosine
    for k in range(size):
        first, second = matrix[k, p], matrix[k, q]
        matrix[k, p] = cosine * first - sine * second
        matrix[k, q] = sine * first + cosine * second
    for k in range(size):
        first, second = matrix[p, k], matrix[q, k]
        matrix[p, k] = cosine * first - sine * second
        matrix[q, k] = sine * first + cosine * second
    for k in range(size):
        first, second = vectors[k, p], vectors[k, q]
        vectors[k, p] = cosine * first - sine * second
        vectors[k, q] = sine * first + cosine * second


@njit(**PLAIN)
def invert_by_factors(matrix: Floats, factor: Floats, size: int, inverse: Floats) -> float:
    """Invert M = L Lᵀ; gives √(tr M · tr M⁻¹), or infinity if M is not positive to rounding.

    ``factor`` takes L and then L⁻¹, whose diagonal is that of the reciprocals.
    """
    trace = 0.0
    for i in range(size):
        trace += matrix[i, i]
        for j in range(i + 1):
            total = matrix[i, j]
            for k in range(j):
                total -= factor[i, k] * factor[j, k]
            if j < i:
                factor[i, j] = total * factor[j, j]
            elif total > 1e-13 * matrix[i, i]:
                factor[i, i] = 1.0 / math.sqrt(total)
            else:
                return math.inf
    for j in range(size):
        for i in range(j + 1, size):
            total = 0.0
            for k in range(j, i):
                total -= factor[i, k] * factor[k, j]
            factor[i, j] = total * factor[i, i]
    inverse_trace = 0.0
    for i in range(size):
        for j in range(i + 1):
            total = 0.0
            for k in range(i, size):
                total += factor[k, i] * factor[k, j]
            inverse[i, j], inverse[j, i] = total, total
        inverse_trace += inverse[i, i]
    return math.sqrt(trace * inverse_trace)


@njit(**PLAIN)
def invert(work: Floats, size: int, into: int) -> float:
    """Invert MATRIX into a row of the memory; gives the square root of its condition number.

    An upper bound of that is given where it is within ``LARGEST_CONDITION``. Infinity, and
    nothing of use written, if the matrix is singular to working precision.
    """
    matrix, vectors = work[MATRIX], work[VECTORS]
    bound: float = invert_by_factors(matrix, vectors, size, work[into])
    if bound <= LARGEST_CONDITION:
        return bound
    diagonalise(matrix, vectors, size)
    least, most = math.inf, 0.0
    for k in range(size):
        least, most = min(least, matrix[k, k]), max(most, matrix[k, k])
    if not least > 1e-15 * most:
        return math.inf
    for i in range(size):
        for j in range(size):
            total = 0.0
            for k in range(size):
                total += vectors[i, k] * vectors[j, k] / matrix[k, k]
            work[into, i, j] = total
    return math.sqrt(most / least)


@njit(**PLAIN)
def solve_geometry(orbits: Floats, sky: Floats, work: Floats) -> tuple[int, int, int]:
    """Satellites in use, axes that a fix has (0 for no fix, 2, 3), and columns of G.

    The inverse of GᵀG is in PLAIN_INVERSE then.
    """
    satellites, systems = count_used(orbits, sky, work)
    missing = 3 + systems - satellites
    if systems == 0 or missing > 1:
        return satellites, 0, 0
    axes = 3 if missing <= 0 else 2
    size = axes + systems
    fill_matrix(orbits, sky, axes, size, False, work)
    if invert(work, size, PLAIN_INVERSE) > LARGEST_CONDITION:
        return satellites, 0, 0
    return satellites, axes, size


@njit(**PLAIN)
def dilutions(work: Floats, axes: int, size: int) -> tuple[float, float, float, float, float]:
    """Dilution of geometry, position, horizontally, vertically and of time."""
    if axes == 0:
        return UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN
    inverse = work[PLAIN_INVERSE]
    horizontal = inverse[0, 0] + inverse[1, 1]
    vertical = inverse[2, 2] if axes == 3 else 0.0
    trace = 0.0
    for k in range(size):
        trace += inverse[k, k]
    return (
        math.sqrt(trace),
        math.sqrt(horizontal + vertical),
        math.sqrt(horizontal),
        math.sqrt(vertical) if axes == 3 else UNKNOWN,
        math.sqrt(inverse[axes, axes]),
    )


@njit(**PLAIN)
def shift_of_fix(
    orbits: Floats, sky: Floats, axes: int, size: int, height_error: float, work: Floats
) -> tuple[float, float, float]:
    """How far the range errors in ``sky`` move the fix to the east, north and up.

    With the height held, ``height_error`` is by how much it is held too high: ranges that do not
    fit that height move the fix sideways.
    """
    fill_matrix(orbits, sky, axes, size, True, work)
    invert(work, size, WEIGHTED_INVERSE)
    vectors = work[SHIFTS]
    for i in range(size):
        vectors[RIGHT, i] = 0.0
    for satellite in range(len(sky)):
        if sky[satellite, STATUS] >= USED:
            _fill_row(orbits, sky, satellite, axes, vectors)
            up = sky[satellite, UP]
            error = sky[satellite, ERROR]
            if axes == 2:
                error += up * height_error
            for i in range(size):
                vectors[RIGHT, i] += up * up * vectors[ROW, i] * error
    for i in range(axes):
        vectors[SOLUTION, i] = 0.0
        for j in range(size):
            vectors[SOLUTION, i] += work[WEIGHTED_INVERSE, i, j] * vectors[RIGHT, j]
    if axes == 2:
        return vectors[SOLUTION, 0], vectors[SOLUTION, 1], height_error
    return vectors[SOLUTION, 0], vectors[SOLUTION, 1], vectors[SOLUTION, 2]
