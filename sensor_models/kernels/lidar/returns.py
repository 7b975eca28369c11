"""The returns that a lidar makes of the echoes of a ray.

An echo counts if min_range <= range <= max_range and it is at least as strong as the detector's
threshold. Then, ray by ray,

    sort       by range
    merge      echoes within the detector's range resolution of the first of a group become one:
               the sum of the intensities at their weighted mean range; what was hit is that of
               the strongest
    threshold  once more, now for echoes of a beam that was divided into sub-rays
    detect     each is noticed with a probability
    select     strongest: the greatest intensity, the nearer where equal; first; last; dual:
               strongest and last, or the second strongest if these are one; all: the strongest
               ones. Those selected are numbered by range.

All of it works on a list of places in the table of echoes, and the echoes themselves stay where
they are. However many sub-rays a beam has, all of their echoes are there before any are merged.

Source: AGX (lidar, point assembly); the merge window, the modes but strongest, and the
probability are extensions.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.lidar.echoes import (
    INTENSITY,
    MOST_ECHOES,
    NEXT,
    NODE,
    PATH,
    RANGE,
    Echoes,
)
from sensor_models.kernels.lidar.layout import (
    ALL,
    DETECTION,
    DUAL,
    FIRST,
    LAST,
    STRONGEST,
    Detector,
)
from sensor_models.kernels.math.philox import uniform
from sensor_models.kernels.tracing.packets import ACCESS

Places = NDArray[np.int64]

#: Echoes of a ray that have draws next to one another; further ones have theirs elsewhere.
NEAR_DRAWS = 64
FAR_DRAWS = 40
#: Runs of so many places are sorted by insertion.
RUN = 8


class Lists(NamedTuple):
    """Lists of the echoes of one ray."""

    order: Places  # (MOST_ECHOES,): places in the table, sorted by range
    spare: Places  # (MOST_ECHOES,)
    chosen: Places  # (MOST_ECHOES,): of the list ``order``, which are returns


@njit(cache=True)
def new_lists() -> Lists:
    """Room for the echoes of one ray."""
    return Lists(
        np.empty(MOST_ECHOES, np.int64),
        np.empty(MOST_ECHOES, np.int64),
        np.empty(MOST_ECHOES, np.int64),
    )


@njit(**ACCESS)
def comes_before(echoes: Echoes, a: int, b: int) -> bool:
    """Whether an echo is stronger than another, or as strong and nearer."""
    one, other = echoes.numbers[a, INTENSITY], echoes.numbers[b, INTENSITY]
    if one != other:
        stronger: bool = one > other
        return stronger
    nearer: bool = echoes.numbers[a, RANGE] < echoes.numbers[b, RANGE]
    return nearer


@njit(**ACCESS)
def lies_before(echoes: Echoes, a: int, b: int) -> bool:
    """Whether an echo is nearer than another; nodes of the tree decide where they are equal."""
    one, other = echoes.numbers[a, RANGE], echoes.numbers[b, RANGE]
    if one != other:
        nearer: bool = one < other
        return nearer
    node, other_node = echoes.ids[a, NODE], echoes.ids[b, NODE]
    if node != other_node:
        first: bool = node < other_node
        return first
    stronger: bool = echoes.numbers[a, INTENSITY] > echoes.numbers[b, INTENSITY]
    return stronger


@njit(**ACCESS)
def list_echoes(echoes: Echoes, ray: int, order: Places) -> int:
    """Write the places of the echoes of a ray to ``order``, as they came; how many there are."""
    count: int = echoes.sizes[ray]
    place = echoes.first[ray]
    for k in range(count):
        order[k] = place
        place = echoes.ids[place, NEXT]
    return count


@njit(**ACCESS)
def insert(echoes: Echoes, order: Places, first: int, after: int) -> None:
    """Sort a part of the list, a short one."""
    for k in range(first + 1, after):
        place, moved = k, order[k]
        while place > first and lies_before(echoes, moved, order[place - 1]):
            order[place] = order[place - 1]
            place -= 1
        order[place] = moved


@njit(**{**ACCESS, "forceinline": False})
def sort(echoes: Echoes, lists: Lists, count: int) -> None:
    """Bring the list to the order of the ranges. Echoes that are equal stay as they were."""
    order, spare = lists.order, lists.spare
    for first in range(0, count, RUN):
        insert(echoes, order, first, min(first + RUN, count))
    run = RUN
    while run < count:
        for first in range(0, count, 2 * run):
            middle, after = min(first + run, count), min(first + 2 * run, count)
            one, other = first, middle
            for k in range(first, after):
                left = other >= after
                if one < middle and not left:
                    left = not lies_before(echoes, order[other], order[one])
                if left:
                    spare[k] = order[one]
                    one += 1
                else:
                    spare[k] = order[other]
                    other += 1
        for k in range(count):
            order[k] = spare[k]
        run *= 2


@njit(**ACCESS)
def merge(echoes: Echoes, order: Places, count: int, window: float) -> int:
    """Make one of sorted echoes that the detector cannot tell apart; how many are left.

    The strongest of a group takes over what all of them add up to.
    """
    numbers, kept, k = echoes.numbers, 0, 0
    while k < count:
        first, best = numbers[order[k], RANGE], order[k]
        total, moment, path, after = 0.0, 0.0, 0.0, k
        while after < count and (after == k or numbers[order[after], RANGE] - first < window):
            place = order[after]
            intensity = numbers[place, INTENSITY]
            total += intensity
            moment += intensity * (numbers[place, RANGE] - first)
            path += intensity * numbers[place, PATH]
            if comes_before(echoes, place, best):
                best = place
            after += 1
        if after > k + 1 and total > 0.0:
            numbers[best, RANGE] = first + moment / total
            numbers[best, PATH] = path / total
        numbers[best, INTENSITY] = total
        order[kept] = best
        kept, k = kept + 1, after
    return kept


@njit(**ACCESS)
def detect(detector: Detector, echoes: Echoes, order: Places, count: int, ray: int) -> int:
    """Drop echoes below the threshold and those that go unnoticed; how many are left."""
    kept = 0
    for k in range(count):
        if echoes.numbers[order[k], INTENSITY] < detector.least_intensity:
            continue
        if detector.detection < 1.0:
            number = ray * NEAR_DRAWS + k % NEAR_DRAWS + (k // NEAR_DRAWS << FAR_DRAWS)
            draw = uniform(detector.keys[DETECTION], detector.frame, number)
            if draw >= detector.detection:
                continue
        order[kept] = order[k]
        kept += 1
    return kept


@njit(**ACCESS)
def strongest(echoes: Echoes, order: Places, count: int, besides: int) -> int:
    """The strongest echo of the list that is not the one given, -1 for none."""
    best = -1
    for k in range(count):
        if k != besides and (best < 0 or comes_before(echoes, order[k], order[best])):
            best = k
    return best


@njit(**ACCESS)
def choose_strongest(echoes: Echoes, lists: Lists, count: int, most: int) -> int:
    """Keep the strongest echoes of the list, sorted by range; how many there are."""
    order, chosen = lists.order, lists.chosen
    kept = 0
    for k in range(count):
        if kept < most:
            chosen[kept] = k
            kept += 1
            continue
        weakest = 0
        for other in range(1, kept):
            if comes_before(echoes, order[chosen[weakest]], order[chosen[other]]):
                weakest = other
        if not comes_before(echoes, order[chosen[weakest]], order[k]):
            for other in range(weakest, kept - 1):
                chosen[other] = chosen[other + 1]
            chosen[kept - 1] = k
    return kept


@njit(**ACCESS)
def choose(detector: Detector, echoes: Echoes, lists: Lists, count: int) -> int:
    """Write which of the list are returns to ``chosen``, sorted by range; how many there are."""
    last, order, chosen = count - 1, lists.order, lists.chosen
    if last < 0:
        return 0
    if detector.mode == ALL:
        several: int = choose_strongest(echoes, lists, count, detector.returns)
        return several
    if detector.mode == STRONGEST:
        chosen[0] = strongest(echoes, order, count, -1)
    elif detector.mode == FIRST:
        chosen[0] = 0
    elif detector.mode == LAST:
        chosen[0] = last
    elif detector.mode == DUAL:
        best = strongest(echoes, order, count, -1)
        other = strongest(echoes, order, count, best) if best == last else last
        if other >= 0:
            chosen[0], chosen[1] = min(best, other), max(best, other)
            return 2
        chosen[0] = best
    return 1


@njit(**ACCESS)
def select(detector: Detector, echoes: Echoes, lists: Lists, place: int, ray: int) -> int:
    """Make returns of the echoes of a ray: how many there are, ``chosen`` says which.

    ``place`` is that of the ray in the table of echoes, ``ray`` its number in the frame. Who
    looks at them goes from ``chosen`` to ``order``, and from there to the table.
    """
    count = list_echoes(echoes, place, lists.order)
    if count > 1:
        sort(echoes, lists, count)
        if detector.merge > 0.0:
            count = merge(echoes, lists.order, count, detector.merge)
    if detector.subrays > 1 or detector.detection < 1.0:
        count = detect(detector, echoes, lists.order, count, ray)
    returns: int = choose(detector, echoes, lists, count)
    return returns
