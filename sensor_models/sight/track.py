"""Where the body of a sensor was: its known states, and what lies between them.

Between two known states the body moves as ``kernels.math.motion`` says. An instant that differs
from a known one only by rounding has exactly its state. Nothing is extrapolated: before the first
known state and after the last one the body rests there.
"""

from collections import deque

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.clock import same_instant
from sensor_models.core.quantities import ParameterError
from sensor_models.kernels.math.sampling import ROUNDING
from sensor_models.kernels.tracing.histories import states_at
from sensor_models.scene.pose_memory import BODY_SIZE

Floats = NDArray[np.float64]


class Track:
    """The known states of a body, as far back as somebody needs them."""

    def __init__(self) -> None:
        self._known: deque[tuple[float, Floats]] = deque()

    def __len__(self) -> int:
        return len(self._known)

    def know(self, time: float, body: Floats) -> None:
        """Take in a state; one at the newest instant takes the place of that one."""
        if self._known and same_instant(time, self._known[-1][0]):
            self._known.pop()
        self._known.append((time, body))

    def revise(self, body: Floats) -> None:
        """Take another state for that at the newest known instant."""
        if self._known:
            self._known[-1] = self._known[-1][0], body

    def forget(self, before: float) -> None:
        """Drop the states that no instant from this one on needs."""
        while len(self._known) > 1 and self._known[1][0] <= before:
            self._known.popleft()

    def at(self, instants: Floats) -> Floats:
        """The states at some instants, which are in order, (n, BODY_SIZE)."""
        times = np.array([time for time, _ in self._known])
        states = np.array([body[:BODY_SIZE] for _, body in self._known])[:, np.newaxis]
        found = np.empty((len(instants), 1, BODY_SIZE))
        states_at(times, states, np.ascontiguousarray(instants), ROUNDING, 0.0, found)
        return found[:, 0]

    @property
    def state(self) -> Floats:
        """All known instants with their states, (n, 1 + BODY_SIZE)."""
        rows = [[time, *body[:BODY_SIZE]] for time, body in self._known]
        return np.array(rows, float).reshape(-1, 1 + BODY_SIZE)

    @classmethod
    def of(cls, saved: Floats) -> "Track":
        """A track from its ``state``; ParameterError if that is none."""
        known = np.array(saved, float)
        if known.shape[1:] != (1 + BODY_SIZE,) or not np.isfinite(known).all():
            raise ParameterError("these are no known states of a body")
        if (np.diff(known[:, 0]) <= 0.0).any():
            raise ParameterError("the known instants of a saved state are not in order")
        track = cls()
        track._known.extend((float(row[0]), row[1:].copy()) for row in known)
        return track
