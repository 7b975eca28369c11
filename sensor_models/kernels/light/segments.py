"""The way through a medium: what is left of the light, and whether the medium answers.

    W <- W e^(-a l),   S <- S + n l,   Q <- Q + l / n

after a segment of length l in a medium of index n and extinction a, with weight, optical and
reduced path. Each medium that a branch enters may answer once (``light.media``).

Draws    Whether the medium around the sensor answers is drawn for every ray, and a block of four
         random words takes longer than the rest of a short ray's way. Four rays whose numbers
         follow on one another therefore share a block there, a word each. All other entries have
         a block of their own.
"""

import math

from sensor_models.kernels.compiling import njit
from sensor_models.kernels.light import arrivals as column
from sensor_models.kernels.light.arrivals import (
    FROM_MEDIUM,
    STRETCH,
    Arrivals,
    deliver,
    describe_none,
)
from sensor_models.kernels.light.branches import (
    AHEAD,
    ALONG_X,
    EVENTS,
    NODE,
    NUMBER,
    OPTICAL,
    REDUCED,
    START_X,
    WEIGHT,
    Branches,
    medium_of,
)
from sensor_models.kernels.light.media import (
    ABSORPTION,
    BACKSCATTER,
    MEDIUM_IOR,
    RETURN_PROBABILITY,
    echo_distance,
    medium_at,
    transmission,
)
from sensor_models.kernels.light.paths import TELL_PLACES, TELL_SEGMENTS, Path
from sensor_models.kernels.math.philox import uniform, uniforms
from sensor_models.kernels.tracing.packets import ACCESS

#: Bits of the counter of a random draw that nodes and events take.
NODE_SHIFT, EVENT_SHIFT = 25, 7
#: Binary logarithm of the rays that share a block of random words as they leave the sensor.
WORD_SHIFT = 2


@njit(**ACCESS)
def draw_ahead(path: Path, flight: Branches, lane: int) -> None:
    """Draw how far ahead the medium that was just entered answers."""
    medium = medium_at(path.media, medium_of(flight, lane))
    flight.numbers[lane, AHEAD] = math.inf
    if medium[RETURN_PROBABILITY] > 0.0:
        step = (flight.ids[lane, NODE] << EVENT_SHIFT) + flight.ids[lane, EVENTS]
        draw = draw_of_entry(path, flight.ids[lane, NUMBER], step)
        flight.numbers[lane, AHEAD] = echo_distance(medium, draw)


@njit(**ACCESS)
def draw_of_entry(path: Path, number: int, step: int) -> float:
    """The draw that says whether a medium answers a ray that enters it, and from where.

    ``step`` counts the places of the tree and the events on the way to them, 0 at the sensor.
    """
    if step == 0:
        shared: float = draws_at_sensor(path, number >> WORD_SHIFT)[number & (1 << WORD_SHIFT) - 1]
        return shared
    draw: float = uniform(path.key, path.frame, (number << NODE_SHIFT) + step)
    return draw


@njit(**ACCESS)
def draws_at_sensor(path: Path, block: int) -> tuple[float, float, float, float]:
    """The draws of four rays for the medium that they set out in."""
    # No other entry has this counter: those have a step in the bits that are 0 here.
    draws: tuple[float, float, float, float] = uniforms(path.key, path.frame, block << NODE_SHIFT)
    return draws


@njit(**ACCESS)
def may_answer(path: Path) -> bool:
    """Whether the medium that fills the world answers any ray, so that draws are needed."""
    may: bool = path.media[0, RETURN_PROBABILITY] > 0.0
    return may


@njit(**ACCESS)
def answers(path: Path, draw: float) -> bool:
    """Whether the medium that fills the world answers a ray as it leaves the sensor."""
    answered: bool = draw < path.media[0, RETURN_PROBABILITY]
    return answered


@njit(**ACCESS)
def answer_on_the_way(
    path: Path, arrivals: Arrivals, flight: Branches, lane: int, length: float
) -> None:
    """Note the echo of the medium if it comes from a segment of some length."""
    ahead = flight.numbers[lane, AHEAD]
    if not ahead <= length:
        flight.numbers[lane, AHEAD] = ahead - length
        return
    flight.numbers[lane, AHEAD] = math.inf
    medium = medium_of(flight, lane)
    index = path.media[medium, MEDIUM_IOR]
    row = deliver(path, arrivals, FROM_MEDIUM, flight, lane, path.media[medium, BACKSCATTER])
    describe_none(arrivals, row)
    numbers = arrivals.numbers
    numbers[row, column.WEIGHT] *= transmission(path.media[medium, ABSORPTION], ahead)
    numbers[row, column.OPTICAL] += index * ahead
    numbers[row, column.REDUCED] += ahead / index
    if path.flags & TELL_PLACES:
        for k in range(3):
            numbers[row, column.PLACE_X + k] += ahead * numbers[row, column.ALONG_X + k]


@njit(**ACCESS)
def advance(path: Path, arrivals: Arrivals, flight: Branches, lane: int, length: float) -> bool:
    """Bring a ray some way on in its medium; False if that is out of reach."""
    numbers, row = flight.numbers, medium_of(flight, lane)
    index = path.media[row, MEDIUM_IOR]
    reach = (path.most_range - numbers[lane, OPTICAL]) / index
    if numbers[lane, AHEAD] < math.inf:
        answer_on_the_way(path, arrivals, flight, lane, min(length, reach))
    if not (length <= reach and length < math.inf):
        return False
    if path.flags & TELL_SEGMENTS:
        describe_none(arrivals, deliver(path, arrivals, STRETCH, flight, lane, length))
    numbers[lane, WEIGHT] *= transmission(path.media[row, ABSORPTION], length)
    numbers[lane, OPTICAL] += index * length
    numbers[lane, REDUCED] += length / index
    for k in range(3):
        numbers[lane, START_X + k] += length * numbers[lane, ALONG_X + k]
    return True
