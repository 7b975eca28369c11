"""Echoes: what a lidar makes of the light that comes back, and where it keeps it.

    I = W^2 rho A(2Q) / N    round trip;  W rho A(Q) / N  one way, for N sub-rays of a beam

with the weight W and the reduced path Q of an arrival, the beam factor A, and its strength rho:
f(l, l) (n.l) in 1/sr at a surface, the back-scatter strength in a medium.

The echoes of all rays whose trees are under way lie in one table, whatever branch and sub-ray
they come from, each with the place of the next one of its ray. A ray may have ``ECHOES_OF_PART``
for each sub-ray, and ``MOST_ECHOES`` in all: the strongest, those nearer first where they are
equal; what is dropped is counted. The table is as large as a packet may need. One that grows took
a fifth more time for every ray: references to an array that may be replaced are counted whenever
it is handed on.

Source: AGX (lidar, intensity), corrected: both ways are weighted.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.lidar.layout import Detector
from sensor_models.kernels.light import arrivals as column
from sensor_models.kernels.light.arrivals import FROM_MEDIUM
from sensor_models.kernels.light.beam import beam_factor, beam_of
from sensor_models.kernels.light.paths import ECHO_LIMIT
from sensor_models.kernels.light.tree import Tree
from sensor_models.kernels.tracing.embree import WIDTH
from sensor_models.kernels.tracing.packets import ACCESS

#: Echoes that a ray may have: for each sub-ray, but no more than the second number.
ECHOES_OF_PART, MOST_ECHOES = 512, 1 << 13
#: Echoes beyond which rays are finished before others are begun, so that tables stay in the cache.
MANY_ECHOES = 2048

# Columns of Echoes.numbers and Echoes.ids.
RANGE, INTENSITY, COSINE, NORMAL_X, NORMAL_Y, NORMAL_Z, PATH = range(7)
NODE, ENTITY, MATERIAL, LABEL, ATMOSPHERIC, NEXT = range(6)
NUMBERS, IDS = 7, 6


class Echoes(NamedTuple):
    """The echoes of the rays that are under way."""

    numbers: NDArray[np.float64]  # (room, NUMBERS)
    ids: NDArray[np.int64]  # (room, IDS)
    filled: NDArray[np.int64]  # (1,): how many there are
    first: NDArray[np.int64]  # (rays,): the first one of each ray
    last: NDArray[np.int64]  # (rays,)
    sizes: NDArray[np.int64]  # (rays,): how many each ray has
    most: int  # that a ray may have


@njit(cache=True)
def new_echoes(rays: int, subrays: int) -> Echoes:
    """Room for the echoes of some rays: many, and what may come before the table is emptied.

    That is all of one more packet, and of as many rays that still have branches on the stack.
    """
    most = min(ECHOES_OF_PART * subrays, MOST_ECHOES)
    room = MANY_ECHOES + 2 * WIDTH * most
    return Echoes(
        np.empty((room, NUMBERS)),
        np.empty((room, IDS), np.int64),
        np.zeros(1, np.int64),
        np.zeros(rays, np.int64),
        np.zeros(rays, np.int64),
        np.zeros(rays, np.int64),
        most,
    )


@njit(**ACCESS)
def intensity_of_echo(detector: Detector, weight: float, path: float, strength: float) -> float:
    """The raw intensity of an echo in 1/sr."""
    back = weight if detector.round_trip else 1.0
    return float(weight * back * strength * beam_factor(beam_of(detector.beam), path))


@njit(**ACCESS)
def counts(detector: Detector, distance: float, intensity: float) -> bool:
    """Whether an echo is in range and, if it is not one of several of a beam, strong enough."""
    in_range = detector.least_range <= distance <= detector.most_range
    if not (in_range and intensity > 0.0):
        return False
    return detector.subrays > 1 or intensity >= detector.least_intensity


@njit(**ACCESS)
def place_for(
    echoes: Echoes, ray: int, distance: float, intensity: float, lost: NDArray[np.int64]
) -> int:
    """Where a new echo of a ray goes, -1 if it has as many as it may have and all are stronger."""
    count = echoes.sizes[ray]
    if count >= echoes.most:
        lost[ECHO_LIMIT] += 1
        weaker: int = place_of_weaker(echoes, ray, distance, intensity)
        return weaker
    place: int = echoes.filled[0]
    echoes.filled[0] = place + 1
    if count == 0:
        echoes.first[ray] = place
    else:
        echoes.ids[echoes.last[ray], NEXT] = place
    echoes.last[ray], echoes.sizes[ray] = place, count + 1
    return place


@njit(**{**ACCESS, "forceinline": False})
def place_of_weaker(echoes: Echoes, ray: int, distance: float, intensity: float) -> int:
    """Where the weakest echo of a ray is, the farther of equal ones; -1 if it is no weaker.

    So what is kept is a matter of the echoes alone, and not of the order in which they come.
    """
    weakest = place = echoes.first[ray]
    for _ in range(echoes.sizes[ray]):
        strength, least = echoes.numbers[place, INTENSITY], echoes.numbers[weakest, INTENSITY]
        farther = echoes.numbers[place, RANGE] > echoes.numbers[weakest, RANGE]
        if strength < least or (strength == least and farther):
            weakest = place
        place = echoes.ids[place, NEXT]
    least, far = echoes.numbers[weakest, INTENSITY], echoes.numbers[weakest, RANGE]
    stronger = intensity > least or (intensity == least and distance < far)
    found: int = weakest if stronger else -1
    return found


@njit(**{**ACCESS, "forceinline": False})
def take_in(detector: Detector, tree: Tree, echoes: Echoes) -> None:
    """Make echoes of what came back."""
    arrivals = tree.arrivals
    numbers, ids = arrivals.numbers, arrivals.ids
    for row in range(arrivals.filled[0]):
        reduced = numbers[row, column.REDUCED]
        path = 2.0 * reduced if detector.round_trip else reduced
        weight, strength = numbers[row, column.WEIGHT], numbers[row, column.STRENGTH]
        intensity = intensity_of_echo(detector, weight, path, strength) / detector.subrays
        distance = numbers[row, column.OPTICAL]
        if not counts(detector, distance, intensity):
            continue
        place = place_for(echoes, ids[row, column.RAY], distance, intensity, tree.lost)
        if place < 0:
            continue
        own, own_ids = echoes.numbers, echoes.ids
        own[place, RANGE], own[place, INTENSITY], own[place, PATH] = distance, intensity, path
        own[place, COSINE] = numbers[row, column.COSINE]
        for k in range(3):
            own[place, NORMAL_X + k] = numbers[row, column.NORMAL_X + k]
        own_ids[place, NODE], own_ids[place, ENTITY] = (
            ids[row, column.NODE],
            ids[row, column.ENTITY],
        )
        own_ids[place, MATERIAL] = ids[row, column.MATERIAL]
        own_ids[place, LABEL] = ids[row, column.LABEL]
        own_ids[place, ATMOSPHERIC] = ids[row, column.KIND] == FROM_MEDIUM
    arrivals.filled[0] = 0
