"""Motions of a body in closed form, as vectors in the order that the sensors take."""

import math
from dataclasses import dataclass

import numpy as np

from tests import oracles


def body_state(
    position=(0.0, 0.0, 0.0),
    orientation=(1.0, 0.0, 0.0, 0.0),
    velocity=(0.0, 0.0, 0.0),
    angular_velocity=(0.0, 0.0, 0.0),
    accelerations=None,
):
    """13 values, or 19 with the accelerations (linear, then angular)."""
    parts = [position, orientation, velocity, angular_velocity]
    if accelerations is not None:
        parts += accelerations
    return np.concatenate([np.asarray(part, dtype=float) for part in parts])


@dataclass(frozen=True)
class Swing:
    """A body that flies along a curve and swings about a fixed axis of the world."""

    axis: tuple[float, float, float] = (0.3, -0.5, 0.8)
    amplitude: float = 1.2
    frequency: float = 5.0

    def direction(self):
        return np.array(self.axis) / np.linalg.norm(self.axis)

    def angle(self, time, order=0):
        """The angle about the axis and its derivatives: A sin(w t)."""
        phase = self.frequency * time + order * math.pi / 2
        return self.amplitude * self.frequency**order * math.sin(phase)

    def path(self, time, order=0):
        """The position and its derivatives."""
        rates = np.array([3.0, 2.0, 4.0])
        phases = np.array([0.0, 1.0, 2.0]) + order * math.pi / 2
        return np.array([2.0, 1.0, 0.5]) * rates**order * np.sin(rates * time + phases)

    def orientation(self, time):
        return oracles.turn(self.axis, self.angle(time))

    def rotation(self, time):
        """From body to world."""
        return oracles.matrix_of_turn(self.axis, self.angle(time))

    def state(self, time, accelerations=False):
        known = [self.path(time, 2), self.angle(time, 2) * self.direction()]
        return body_state(
            self.path(time),
            self.orientation(time),
            self.path(time, 1),
            self.angle(time, 1) * self.direction(),
            known if accelerations else None,
        )

    def states(self, times, accelerations=False):
        return np.array([self.state(time, accelerations) for time in times])

    def point(self, time, place):
        """Where a point of the body is in the world."""
        return self.path(time) + self.rotation(time) @ place

    def force(self, time, place, gravity=(0.0, 0.0, -9.80665), step=1e-4):
        """Specific force at a point in the body frame: its path differentiated twice.

        Fourth-order differences; at this step their error and rounding are some 1e-7 m/s2.
        """
        weights = {-2: -1 / 12, -1: 4 / 3, 0: -5 / 2, 1: 4 / 3, 2: -1 / 12}
        acceleration = sum(w * self.point(time + k * step, place) for k, w in weights.items())
        return self.rotation(time).T @ (acceleration / step**2 - np.array(gravity))
