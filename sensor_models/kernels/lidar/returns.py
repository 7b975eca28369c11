"""Echoes of the rays of a packet, and the returns that a lidar makes of them.

Every ray has a list of echoes, whatever branch of its tree they come from. A list has room for
``MOST_ECHOES``; beyond that the strongest are kept, those nearer first where they are equal. Those
of a divided beam are merged, as below, whenever half of the room is taken. An echo counts if
min_range <= range <= max_range and it is at least as strong as the detector's threshold. Then, ray
by ray,

    sort       by range
    merge      echoes within the detector's range resolution of the first of a group become one:
               the sum of the intensities at their weighted mean range; what was hit is that of
               the strongest
    threshold  once more, now for echoes of a beam that was divided into sub-rays
    detect     each is noticed with a probability
    select     strongest: the greatest intensity, the nearer where equal; first; last; dual:
               strongest and last, or the second strongest if these are one; all: the strongest
               ones. Those selected are numbered by range.

Source: AGX (lidar, point assembly); the merge window, the modes but strongest, and the
probability are extensions.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sensor_models.kernels.lidar.layout import ALL, DETECTION, DUAL, FIRST, LAST, STRONGEST, Task
from sensor_models.kernels.math.philox import uniform
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.packets import ACCESS

MOST_ECHOES = 64

# Columns of Echoes.numbers and Echoes.ids.
RANGE, INTENSITY, COSINE, NORMAL_X, NORMAL_Y, NORMAL_Z, PATH = range(7)
NODE, ENTITY, MATERIAL, LABEL, ATMOSPHERIC = range(5)
NUMBERS, IDS = 7, 5


class Echoes(NamedTuple):
    """The echoes of each lane of a packet."""

    held: NDArray[np.int64]  # (rays,): how many there are
    numbers: NDArray[np.float64]  # (rays, MOST_ECHOES, NUMBERS)
    ids: NDArray[np.int64]  # (rays, MOST_ECHOES, IDS)
    chosen: NDArray[np.int64]  # (MOST_ECHOES,): places of the returns of a ray


@njit(cache=True)
def new_echoes(rays: int = WIDTH) -> Echoes:
    """Room for the echoes of some rays."""
    return Echoes(
        np.zeros(rays, np.int64),
        np.empty((rays, MOST_ECHOES, NUMBERS)),
        np.empty((rays, MOST_ECHOES, IDS), np.int64),
        np.empty(MOST_ECHOES, np.int64),
    )


@njit(**ACCESS)
def place_for(echoes: Echoes, lane: int, distance: float, intensity: float) -> int:
    """Where a new echo of a ray goes, -1 if there is no room and all others are stronger."""
    held: int = echoes.held[lane]
    if held < MOST_ECHOES:
        echoes.held[lane] = held + 1
        return held
    weakest = 0
    for k in range(1, MOST_ECHOES):
        if comes_before(echoes, lane, weakest, k):
            weakest = k
    least, far = echoes.numbers[lane, weakest, INTENSITY], echoes.numbers[lane, weakest, RANGE]
    stronger = intensity > least or (intensity == least and distance < far)
    return weakest if stronger else -1


@njit(**ACCESS)
def comes_before(echoes: Echoes, lane: int, a: int, b: int) -> bool:
    """Whether an echo is stronger than another, or as strong and nearer."""
    one, other = echoes.numbers[lane, a, INTENSITY], echoes.numbers[lane, b, INTENSITY]
    if one != other:
        stronger: bool = one > other
        return stronger
    nearer: bool = echoes.numbers[lane, a, RANGE] < echoes.numbers[lane, b, RANGE]
    return nearer


@njit(**ACCESS)
def lies_before(echoes: Echoes, lane: int, a: int, b: int) -> bool:
    """Whether an echo is nearer than another; nodes of the tree decide where they are equal."""
    one, other = echoes.numbers[lane, a, RANGE], echoes.numbers[lane, b, RANGE]
    if one != other:
        nearer: bool = one < other
        return nearer
    node, other_node = echoes.ids[lane, a, NODE], echoes.ids[lane, b, NODE]
    if node != other_node:
        first: bool = node < other_node
        return first
    stronger: bool = echoes.numbers[lane, a, INTENSITY] > echoes.numbers[lane, b, INTENSITY]
    return stronger


@njit(**ACCESS)
def swap(echoes: Echoes, lane: int, a: int, b: int) -> None:
    """Exchange two echoes."""
    for k in range(NUMBERS):
        number = echoes.numbers[lane, a, k]
        echoes.numbers[lane, a, k] = echoes.numbers[lane, b, k]
        echoes.numbers[lane, b, k] = number
    for k in range(IDS):
        name = echoes.ids[lane, a, k]
        echoes.ids[lane, a, k] = echoes.ids[lane, b, k]
        echoes.ids[lane, b, k] = name


@njit(**ACCESS)
def copy(echoes: Echoes, lane: int, source: int, target: int) -> None:
    """Write an echo over another."""
    for k in range(NUMBERS):
        echoes.numbers[lane, target, k] = echoes.numbers[lane, source, k]
    for k in range(IDS):
        echoes.ids[lane, target, k] = echoes.ids[lane, source, k]


@njit(**ACCESS)
def sort(echoes: Echoes, lane: int) -> None:
    """Bring the echoes of a ray to the order of their range."""
    for k in range(1, echoes.held[lane]):
        place = k
        while place > 0 and lies_before(echoes, lane, place, place - 1):
            swap(echoes, lane, place, place - 1)
            place -= 1


@njit(**ACCESS)
def merge(echoes: Echoes, lane: int, window: float) -> None:
    """Make one of sorted echoes that the detector cannot tell apart."""
    held, kept, k = echoes.held[lane], 0, 0
    while k < held:
        first, best = echoes.numbers[lane, k, RANGE], k
        total, moment, path, after = 0.0, 0.0, 0.0, k
        while after < held and (after == k or echoes.numbers[lane, after, RANGE] - first < window):
            intensity = echoes.numbers[lane, after, INTENSITY]
            total += intensity
            moment += intensity * (echoes.numbers[lane, after, RANGE] - first)
            path += intensity * echoes.numbers[lane, after, PATH]
            if comes_before(echoes, lane, after, best):
                best = after
            after += 1
        copy(echoes, lane, best, kept)
        if after > k + 1 and total > 0.0:
            echoes.numbers[lane, kept, RANGE] = first + moment / total
            echoes.numbers[lane, kept, PATH] = path / total
        echoes.numbers[lane, kept, INTENSITY] = total
        kept, k = kept + 1, after
    echoes.held[lane] = kept


@njit(**ACCESS)
def make_room(task: Task, echoes: Echoes, lane: int) -> None:
    """Merge the echoes of a part of a beam where there may be no room for those of the next."""
    if 2 * echoes.held[lane] > MOST_ECHOES:
        sort(echoes, lane)
        merge(echoes, lane, task.merge)


@njit(**ACCESS)
def detect(task: Task, echoes: Echoes, keys: NDArray[np.uint64], lane: int, ray: int) -> None:
    """Drop echoes below the threshold and those that go unnoticed."""
    kept = 0
    for k in range(echoes.held[lane]):
        if echoes.numbers[lane, k, INTENSITY] < task.least_intensity:
            continue
        if task.detection < 1.0:
            draw = uniform(keys[DETECTION], task.frame, ray * MOST_ECHOES + k)
            if draw >= task.detection:
                continue
        if kept != k:
            copy(echoes, lane, k, kept)
        kept += 1
    echoes.held[lane] = kept


@njit(**ACCESS)
def strongest(echoes: Echoes, lane: int, besides: int) -> int:
    """The strongest echo of a ray that is not the one given, -1 for none."""
    best = -1
    for k in range(echoes.held[lane]):
        if k != besides and (best < 0 or comes_before(echoes, lane, k, best)):
            best = k
    return best


@njit(**ACCESS)
def choose_strongest(echoes: Echoes, lane: int, most: int) -> int:
    """Keep the strongest echoes of a ray, sorted by range; how many there are."""
    held: int = echoes.held[lane]
    for k in range(held):
        echoes.chosen[k] = k
    while held > most:  # the weakest goes, those behind it move up
        weakest = 0
        for k in range(1, held):
            if comes_before(echoes, lane, echoes.chosen[weakest], echoes.chosen[k]):
                weakest = k
        for k in range(weakest, held - 1):
            echoes.chosen[k] = echoes.chosen[k + 1]
        held -= 1
    return held


@njit(**ACCESS)
def choose(task: Task, echoes: Echoes, lane: int) -> int:
    """Write the places of a ray's returns to ``chosen``, sorted by range; how many there are."""
    last = echoes.held[lane] - 1
    if last < 0:
        return 0
    if task.mode == ALL:
        several: int = choose_strongest(echoes, lane, task.returns)
        return several
    if task.mode == STRONGEST:
        echoes.chosen[0] = strongest(echoes, lane, -1)
    elif task.mode == FIRST:
        echoes.chosen[0] = 0
    elif task.mode == LAST:
        echoes.chosen[0] = last
    elif task.mode == DUAL:
        best = strongest(echoes, lane, -1)
        other = strongest(echoes, lane, best) if best == last else last
        if other >= 0:
            echoes.chosen[0], echoes.chosen[1] = min(best, other), max(best, other)
            return 2
        echoes.chosen[0] = best
    return 1


@njit(**ACCESS)
def select(task: Task, echoes: Echoes, keys: NDArray[np.uint64], lane: int, ray: int) -> int:
    """Make returns of the echoes of a ray: how many there are, ``chosen`` tells which."""
    if echoes.held[lane] > 1:
        sort(echoes, lane)
        if task.merge > 0.0:
            merge(echoes, lane, task.merge)
    if task.subrays > 1 or task.detection < 1.0:
        detect(task, echoes, keys, lane, ray)
    returns: int = choose(task, echoes, lane)
    return returns
