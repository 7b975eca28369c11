r"""Sums of Gaussians, fitted to a waveform by the method of Levenberg and Marquardt.

    sum_i a_i e^(-(t - t_i)^2 / 2 w_i^2)        a, w > 0; t and w in samples

The normal equations are damped by a share of their diagonal; a step that raises the residual is
taken back and damped ten times as much. It ends when no parameter changes by more than ``LAST`` of
its size, or after ``MOST_STEPS``.

Source: Wagner et al. (2006), "Gaussian decomposition and calibration of a novel small-footprint
full-waveform digitising airborne laser scanner"; Marquardt (1963).
"""

import math

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.tracing.packets import ACCESS
from sensor_models.kernels.waveform.layout import Floats, Found

MOST_STEPS = 20
LAST = 1e-4
#: Beyond so many standard deviations a Gaussian adds nothing that a float would show.
REACH = 7.0
APART = {**ACCESS, "forceinline": False}


@njit(**ACCESS)
def height_of(echoes: Floats, i: int, k: int, running: Floats) -> float:
    """A Gaussian of height 1 at a sample, from that at the sample before.

    Samples are asked for one after the other. ``running`` holds for each echo its last value, the
    factor that leads to the next one, and that of the factor; they are begun within ``REACH``.
    """
    z = (k - echoes[i, 1]) / echoes[i, 2]
    if abs(z) >= REACH:
        running[i, 0] = 0.0
    elif running[i, 0] == 0.0:
        step = 1.0 / echoes[i, 2]
        running[i, 0] = math.exp(-0.5 * z * z)
        running[i, 1] = math.exp(-step * (z + 0.5 * step))
        running[i, 2] = math.exp(-step * step)
    else:
        running[i, 0] *= running[i, 1]
        running[i, 1] *= running[i, 2]
    return float(running[i, 0])


@njit(**APART)
def normal_equations(
    signal: Floats,
    first: int,
    last: int,
    echoes: Floats,
    count: int,
    matrix: Floats,
    slope: Floats,
    found: Found,
) -> float:
    """Matrix (its lower half) and right side of a step; gives the sum of squares."""
    size, partial, running = 3 * count, found.partial, found.running
    for i in range(size):
        slope[i] = 0.0
        for j in range(i + 1):
            matrix[i, j] = 0.0
    for i in range(count):
        running[i, 0] = 0.0
    total = 0.0
    for k in range(first, last):
        left = signal[k]
        for i in range(count):
            height = height_of(echoes, i, k, running)
            a, w = echoes[i, 0], echoes[i, 2]
            z = (k - echoes[i, 1]) / w
            left -= a * height
            partial[3 * i] = height
            partial[3 * i + 1] = a * height * z / w
            partial[3 * i + 2] = a * height * z * z / w
        total += left * left
        for i in range(size):
            own = partial[i]
            if own == 0.0:
                continue
            slope[i] += own * left
            for j in range(i + 1):
                matrix[i, j] += own * partial[j]
    return total


@njit(**APART)
def solve(found: Found, size: int, damping: float) -> bool:
    """Solve the damped equations by Cholesky's method; whether they can be solved."""
    low, change = found.damped, found.change
    for i in range(size):
        for j in range(i + 1):
            total = found.matrix[i, j]
            if i == j:
                total += damping * total
            for k in range(j):
                total -= low[i, k] * low[j, k]
            if i == j:
                if not total > 1e-12 * found.matrix[i, i]:
                    return False
                low[i, i] = math.sqrt(total)
            else:
                low[i, j] = total / low[j, j]
    for i in range(size):
        total = found.slope[i]
        for k in range(i):
            total -= low[i, k] * change[k]
        change[i] = total / low[i, i]
    for i in range(size - 1, -1, -1):
        total = change[i]
        for k in range(i + 1, size):
            total -= low[k, i] * change[k]
        change[i] = total / low[i, i]
    return True


@njit(**ACCESS)
def step_to(echoes: Floats, trial: Floats, count: int, change: Floats) -> float:
    """Take a step, no parameter to less than a fifth of it; the largest change, of its size."""
    largest = 0.0
    for i in range(count):
        a, w = echoes[i, 0], echoes[i, 2]
        trial[i, 0] = max(a + change[3 * i], 0.2 * a)
        move = min(max(change[3 * i + 1], -2.0 * w), 2.0 * w)
        trial[i, 1] = echoes[i, 1] + move
        trial[i, 2] = min(max(w + change[3 * i + 2], 0.2 * w), 5.0 * w)
        largest = max(largest, abs(trial[i, 0] / a - 1.0), abs(move) / w)
        largest = max(largest, abs(trial[i, 2] / w - 1.0))
    return largest


@njit(**APART)
def fit(signal: Floats, first: int, last: int, echoes: Floats, count: int, found: Found) -> float:
    """Improve ``echoes`` (amplitude, place, sigma) in place; the sum of squares that is left."""
    damping, size = 1e-3, 3 * count
    matrix, slope = found.matrix, found.slope
    total: float = normal_equations(signal, first, last, echoes, count, matrix, slope, found)
    for _ in range(MOST_STEPS):
        if not solve(found, size, damping):
            damping = max(10.0 * damping, 1e-6)
            continue
        largest = step_to(echoes, found.trial, count, found.change)
        trial, matrix, slope = found.trial, found.next_matrix, found.next_slope
        reached = normal_equations(signal, first, last, trial, count, matrix, slope, found)
        if reached <= total:
            damping *= 0.05
            total = reached
            for i in range(count):
                for k in range(3):
                    echoes[i, k] = trial[i, k]
            for i in range(size):
                found.slope[i] = slope[i]
                for j in range(i + 1):
                    found.matrix[i, j] = matrix[i, j]
        else:
            damping = max(10.0 * damping, 1e-6)
        if largest < LAST:
            break
    return total
