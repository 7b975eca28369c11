"""The route of the vehicle, and how it follows it.

The vehicle steers toward a target on the route a few metres ahead (pure pursuit, Coulter 1992):
with the target at the distance L and the angle alpha off the heading, the arc to it has the
curvature 2 sin(alpha) / L.
"""

import math

import numpy as np
from numpy.typing import NDArray

from report.recording import headings

Floats = NDArray[np.float64]

#: Corners of the route in the yard, m: out of the ring that the others drive on, around a tree.
CORNERS = ((-4.5, -5.6), (-1.0, -5.2), (2.8, -4.2), (5.6, -1.4), (7.0, 2.0), (7.2, 6.0),
           (7.4, 9.2), (8.8, 11.2), (11.2, 11.7), (13.2, 9.8), (13.3, 6.0), (13.0, 0.5),
           (13.4, -4.0), (13.4, -8.0))  # fmt: skip
SPACING = 0.1  # m between the points of the smooth route
ROUNDS = 4  # of cutting corners

SPEED = 2.2  # m/s, where the way is straight
SPEEDING_UP = 1.2  # m/s2
SLOWING_DOWN = 1.0  # m/s2
TURNING = 0.8  # rad/s, at most
LOOK_AHEAD = 1.6  # m
WHEEL_RADIUS = 0.3  # m
#: The track at which wheels without sideways slip would turn the vehicle alike, m: the wheels of a
#: skid-steered vehicle do slip. Measured in turns on the spot.
EFFECTIVE_TRACK = 1.85


class Driver:
    """Gives the commands that keep the vehicle on its route."""

    def __init__(self) -> None:
        self.route = smooth(np.array(CORNERS))
        self._place = 0  # of the nearest point, which only moves on

    @property
    def start(self) -> tuple[float, float, float]:
        """Position and heading at the start of the route."""
        (x, y), (dx, dy) = self.route[0], self.route[5] - self.route[0]
        return float(x), float(y), math.atan2(dy, dx)

    def commands(self, now: float, body: Floats) -> tuple[float, float]:
        """Speeds of the left and the right wheels (rad/s) for the present state of the body."""
        position, heading = body[:2], float(headings(body[None, 3:7])[0])
        ahead = self.route[self._place : self._place + 40]
        self._place += int(np.argmin(((ahead - position) ** 2).sum(axis=1)))
        target = self.route[min(self._place + round(LOOK_AHEAD / SPACING), len(self.route) - 1)]
        dx, dy = target - position
        distance = max(math.hypot(dx, dy), 0.5)
        curvature = 2.0 * math.sin(math.atan2(dy, dx) - heading) / distance
        left_over = SPACING * (len(self.route) - 1 - self._place)
        speed = min(SPEED, SPEEDING_UP * now, math.sqrt(2.0 * SLOWING_DOWN * left_over))
        speed = min(speed, TURNING / max(abs(curvature), 1e-6))
        difference = 0.5 * EFFECTIVE_TRACK * speed * curvature
        return (speed - difference) / WHEEL_RADIUS, (speed + difference) / WHEEL_RADIUS


def smooth(corners: Floats) -> Floats:
    """A polygon with its corners cut again and again (Chaikin 1974), at equal distances."""
    points = corners
    for _ in range(ROUNDS):
        near, far = points[:-1], points[1:]
        cut = np.stack([0.75 * near + 0.25 * far, 0.25 * near + 0.75 * far], axis=1)
        points = np.concatenate([points[:1], cut.reshape(-1, 2), points[-1:]])
    lengths = np.linalg.norm(np.diff(points, axis=0), axis=1)
    along = np.concatenate([[0.0], np.cumsum(lengths)])
    wanted = np.arange(0.0, along[-1], SPACING)
    return np.column_stack([np.interp(wanted, along, points[:, axis]) for axis in (0, 1)])
