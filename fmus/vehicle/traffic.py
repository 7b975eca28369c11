"""Bodies of a scene that follow closed paths at constant speed.

A path is an oval given by its heading as a function of the distance s along it,

    heading(s) = heading_0 + d (phi + a sin(2 phi)),   phi = 2 pi s / L,

with length L, direction d (1 to the left, -1 to the right) and -1/2 < a <= 0. It closes, since
phi and phi + pi have opposite headings. Its curvature d (2 pi / L) (1 + 2 a cos(2 phi)) is smooth,
lowest where s = 0; a = 0 is a circle. Heading, velocity and angular velocity are exact; the
position, which has no closed form, comes from Gaussian quadrature and cubic interpolation, to
better than 1e-9 m.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sensor_models.scene.model import Body

Floats = NDArray[np.float64]

#: Position, orientation, velocity and angular velocity of a body: the columns of its state.
STATE_SIZE = 13
_KNOTS = 2048
_GAUSS_NODES, _GAUSS_WEIGHTS = np.polynomial.legendre.leggauss(4)


@dataclass(frozen=True)
class Oval:
    """A closed path; see the module."""

    start: tuple[float, float]  # where s = 0, m
    heading: float  # there, rad
    length: float  # m
    shape: float = 0.0  # a
    direction: int = 1  # d

    def heading_at(self, distance: Floats) -> Floats:
        """Heading at some distances along the path, not wrapped."""
        phi = 2.0 * math.pi / self.length * distance
        return np.asarray(self.heading + self.direction * (phi + self.shape * np.sin(2.0 * phi)))

    def curvature_at(self, distance: Floats) -> Floats:
        """Change of the heading with the distance."""
        rate = 2.0 * math.pi / self.length
        bend = 1.0 + 2.0 * self.shape * np.cos(2.0 * rate * distance)
        return np.asarray(self.direction * rate * bend)

    @cached_property
    def _knots(self) -> tuple[Floats, Floats]:
        """Positions at equal distances over one round, and how they change to the next."""
        step = self.length / _KNOTS
        nodes: Floats = (np.arange(_KNOTS)[:, None] + 0.5 * (1.0 + _GAUSS_NODES)) * step
        moves = 0.5 * step * np.einsum("kgc,g->kc", _ways(self.heading_at(nodes)), _GAUSS_WEIGHTS)
        positions = np.vstack([[0.0, 0.0], np.cumsum(moves, axis=0)]) + self.start
        return positions, step * _ways(self.heading_at(np.linspace(0.0, self.length, _KNOTS + 1)))

    def position_at(self, distance: Floats) -> Floats:
        """Positions at some distances, (n, 2)."""
        positions, slopes = self._knots
        place = np.mod(distance, self.length) * (_KNOTS / self.length)
        first = np.minimum(place.astype(np.int64), _KNOTS - 1)
        u = (place - first)[:, None]
        rest = 1.0 - u
        before = (1.0 + 2.0 * u) * positions[first] + u * slopes[first]
        after = (1.0 + 2.0 * rest) * positions[first + 1] - rest * slopes[first + 1]
        return np.asarray(rest * rest * before + u * u * after)


def _ways(heading: Floats) -> Floats:
    """Unit vectors of some headings."""
    return np.stack([np.cos(heading), np.sin(heading)], axis=-1)


@dataclass(frozen=True)
class Trip:
    """How a body follows a path: where it is at time 0, and how fast it goes."""

    path: Oval
    offset: float  # m along the path at time 0
    speed: float  # m/s


#: A ring road in the yard, clear of all that stands there; three vehicles a third of it apart.
_RING = Oval(start=(2.0, -10.0), heading=0.0, length=50.0, shape=-0.45)
TRIPS: dict[str, dict[str, Trip]] = {
    "yard": {f"vehicle_{n + 1}": Trip(_RING, n * _RING.length / 3.0, 2.0) for n in range(3)}
}


class Traffic:
    """Where the bodies of a scene are; those without a trip stay where the scene puts them."""

    def __init__(self, bodies: tuple[Body, ...], trips: dict[str, Trip]) -> None:
        self._resting = np.array([at_rest(b) for b in bodies]).reshape(len(bodies), STATE_SIZE)
        on_path: dict[Oval, list[tuple[int, Trip]]] = {}
        for place, body in enumerate(bodies):
            if body.name in trips:
                trip = trips[body.name]
                on_path.setdefault(trip.path, []).append((place, trip))
        #: By paths: places among the bodies, offsets, speeds.
        self._travellers = [
            (path, [place for place, _ in found], *_starts(trip for _, trip in found))
            for path, found in on_path.items()
        ]

    def states(self, times: Floats) -> Floats:
        """The states of all bodies at some times: (times, bodies, STATE_SIZE).

        Bodies that move are upright, at the height that each has in the scene.
        """
        states = np.repeat(self._resting[None], len(times), axis=0)
        for path, places, offset, speed in self._travellers:
            distance = (offset + speed * times[:, None]).ravel()
            moving = _on_the_way(path, distance, np.tile(speed, len(times)))
            states[:, places] = moving.reshape(len(times), len(places), STATE_SIZE)
            states[:, places, 2] = self._resting[places, 2]
        return states


def _starts(trips: Iterable[Trip]) -> tuple[Floats, Floats]:
    """Where trips begin, and how fast they go."""
    offset, speed = np.array([(trip.offset, trip.speed) for trip in trips]).T.copy()
    return offset, speed


def at_rest(body: Body) -> Floats:
    """The state of a body where its scene puts it."""
    return np.array([*body.position, *body.orientation, *[0.0] * 6])


def _on_the_way(path: Oval, distance: Floats, speed: Floats) -> Floats:
    """States along the path at height 0, a row for each distance."""
    heading = path.heading_at(distance)
    states = np.zeros((len(distance), STATE_SIZE))
    states[:, :2] = path.position_at(distance)
    states[:, 3], states[:, 6] = np.cos(heading / 2.0), np.sin(heading / 2.0)
    states[:, 7:9] = speed[:, None] * _ways(heading)
    states[:, 12] = speed * path.curvature_at(distance)
    return states
