r"""Factors of thresholds: what a mean or an ordered cell of noise is multiplied with.

For a rate p of false alarms in N independent cells of exponential power (Rohling 1983; Gandhi and
Kassam 1988), with a = alpha / N:

    cell averaging      p = (1 + a)^-N
    ordered statistic   p = prod_(i = 0)^(k - 1) (N - i) / (N - i + alpha)

A window makes neighbours share their noise: with Hann, cells side by side have a correlation of 2/3
in amplitude, and three to seven times as many false alarms come out of their thresholds. So cells
of a threshold are taken ``apart``: every other one, every third one with a Blackman window. What
correlation is left between two of them, of power r^2, enters to its first order: the joint law of
two exponential powers x and y is e^(-x - y) (1 + r^2 (1 - x) (1 - y) + ...), which makes

    cell averaging      p = (1 + a)^-N e^(c (a / (1 + a))^2),   c = sum of r^2 over all pairs
    ordered statistic   p = integral of f_k(t) e^(-alpha t) e^(c m(t)) dt

f_k is the law of the ordered cell, and m(t) the mean of (1 - x) (1 - y) over pairs of cells while
that one is t. Correlation with the cell that is tested is none from three cells on (Hann, Hamming).

A false alarm of a frame is a peak of noise. As all directions of the grid are tested, the rate of a
cell is the number of false alarms per frame divided by the number of cells and directions. Peaks
are as many as cells that pass, or fewer.
"""

import math
from typing import NamedTuple

import numpy as np

from sensor_models.kernels.radar.windows import TAPS
from sensor_models.radar.ray_parameters import CfarParameters, CfarType, Window

#: Cells of a threshold share no more than this of their power.
INDEPENDENT = 0.05
#: Steps of the integral over the ordered cell.
STEPS = 4000


class Test(NamedTuple):
    """What a cell is compared with."""

    kind: CfarType
    cells: int  # that the threshold is made of
    guard: int
    rank: int
    apart: int  # from one of these cells to the next
    alpha: float


def shared_power(window: Window, lag: int) -> float:
    """The share of its power that noise has in common with that of a cell so far away."""
    a, b = TAPS[int(window)].tolist()
    taps = np.array([b, a, 1.0, a, b])
    whole = float((taps**2).sum())
    found = float((taps[lag:] * taps[: 5 - lag]).sum()) if lag < 5 else 0.0
    return (found / whole) ** 2


def cells_apart(window: Window) -> int:
    """How far cells lie apart whose noise is as good as independent."""
    return next(lag for lag in range(1, 6) if shared_power(window, lag) < INDEPENDENT)


def test_of(cfar: CfarParameters, window: Window, samples: int, tested: int) -> Test:
    """The test of a cell on lines of so many samples, of ``tested`` cells in a frame."""
    apart = cells_apart(window)
    room = max(samples - 1 - 2 * max(cfar.guard, apart - 1), 0)
    cells = max(min(cfar.window, room // apart), 1)
    rank = max(math.ceil(cfar.rank * cells / cfar.window), 1)
    rate = cfar.false_alarm
    if cfar.false_alarms_per_frame > 0.0:
        rate = min(cfar.false_alarms_per_frame / tested, 0.5)
    shared = max(cells - 2, 0) * shared_power(window, apart)
    alpha = threshold_factor(CfarType(cfar.type), cells, rank, rate, shared)
    return Test(CfarType(cfar.type), cells, cfar.guard, rank, apart, alpha)


def threshold_factor(
    kind: CfarType, window: int, rank: int, false_alarm: float, shared: float = 0.0
) -> float:
    """What the mean or the ordered cell is multiplied with.

    ``shared`` is the sum over all pairs of cells of the power that their noise has in common.
    """
    low, high = 0.0, 1.0
    while false_alarm_rate(kind, window, rank, high, shared) > false_alarm:
        low, high = high, 2.0 * high
    for _ in range(60):
        middle = 0.5 * (low + high)
        rate = false_alarm_rate(kind, window, rank, middle, shared)
        low, high = (middle, high) if rate > false_alarm else (low, middle)
    return 0.5 * (low + high)


def false_alarm_rate(kind: CfarType, window: int, rank: int, alpha: float, shared: float) -> float:
    """The share of cells of noise that stand out."""
    if kind == CfarType.ca:
        a = alpha / window
        return (1.0 + a) ** -window * math.exp(shared * (a / (1.0 + a)) ** 2)
    independent = math.prod((window - i) / (window - i + alpha) for i in range(rank))
    return independent * (_ordered_correction(window, rank, alpha, shared) if shared else 1.0)


def _ordered_correction(window: int, rank: int, alpha: float, shared: float) -> float:
    """By what correlation changes the rate of the ordered statistic: a mean over its law."""
    u = (np.arange(STEPS) + 0.5) / STEPS  # e^-t, by which the law is a beta distribution
    t = -np.log(u)
    law = (rank - 1) * np.log1p(-u) + (window - rank + alpha) * np.log(u)
    weights = np.exp(law - law.max())
    below, above = t / np.expm1(t), -t
    few, many = rank - 1, window - rank
    total = few * below + many * above + (1.0 - t)
    squares = few * below**2 + many * above**2 + (1.0 - t) ** 2
    pairs = (total**2 - squares) / max(window * (window - 1), 1)
    return float((weights * np.exp(shared * pairs)).sum() / weights.sum())
