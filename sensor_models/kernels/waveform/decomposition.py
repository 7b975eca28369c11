r"""Sums of Gaussians, fitted to a waveform by the method of Levenberg and Marquardt.

    sum_i a_i e^(-(t - t_i)^2 / 2 w_i^2)        a, w > 0; t and w in samples

The normal equations are damped by a share of their diagonal; a step that raises the residual is
taken back and damped ten times as much. It ends when no parameter changes by more than ``LAST`` of
its size, or after ``MOST_STEPS``.

Source: Wagner et al. (2006), "Gaussian decomposition and calibration of a novel small-footprint
full-waveform digitising airborne laser scanner"; Marquardt (1963).
"""

import math

from numba import njit

from sensor_models.kernels.tracing.packets import ACCESS
from sensor_models.kernels.waveform.layout import Floats, Found

MOST_STEPS = 20
LAST = 1e-5
#: Beyond so many standard deviations a Gaussian adds nothing that a float would show.
REACH = 7.0
APART = {**ACCESS, "forceinline": False}


@njit(**APART)
def residual(signal: Floats, first: int, last: int, echoes: Floats, count: int) -> float:
    """Sum of the squares of what a sum of Gaussians leaves of the samples."""
    total = 0.0
    for k in range(first, last):
        left = signal[k]
        for i in range(count):
            z = (k - echoes[i, 1]) / echoes[i, 2]
            if abs(z) < REACH:
                left -= echoes[i, 0] * math.exp(-0.5 * z * z)
        total += left * left
    return total


@njit(**APART)
def normal_equations(
    signal: Floats, first: int, last: int, echoes: Floats, count: int, found: Found
) -> float:
    """Matrix (its lower half) and right side of a step; gives the sum of squares."""
    size, partial = 3 * count, found.partial
    for i in range(size):
        found.slope[i] = 0.0
        for j in range(i + 1):
            found.matrix[i, j] = 0.0
    total = 0.0
    for k in range(first, last):
        left = signal[k]
        for i in range(count):
            a, w = echoes[i, 0], echoes[i, 2]
            z = (k - echoes[i, 1]) / w
            height = math.exp(-0.5 * z * z) if abs(z) < REACH else 0.0
            left -= a * height
            partial[3 * i] = height
            partial[3 * i + 1] = a * height * z / w
            partial[3 * i + 2] = a * height * z * z / w
        total += left * left
        for i in range(size):
            own = partial[i]
            found.slope[i] += own * left
            for j in range(i + 1):
                found.matrix[i, j] += own * partial[j]
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
    damping, total = 1e-3, 0.0
    fresh = True
    for _ in range(MOST_STEPS):
        if fresh:
            total = normal_equations(signal, first, last, echoes, count, found)
        if not solve(found, 3 * count, damping):
            damping, fresh = max(10.0 * damping, 1e-6), False
            continue
        largest = step_to(echoes, found.trial, count, found.change)
        reached = residual(signal, first, last, found.trial, count)
        fresh = reached <= total
        if fresh:
            damping *= 0.05
            total = reached
            for i in range(count):
                for k in range(3):
                    echoes[i, k] = found.trial[i, k]
        else:
            damping = max(10.0 * damping, 1e-6)
        if largest < LAST:
            break
    return total
