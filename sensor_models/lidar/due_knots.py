"""States of a body at the knots of rolling frames that are due, before rays are sent from them.

A step may be as long as a run, and a frame has a thousand knots. So of a long step only so many
states are made at once, and what the others are made of waits: the two known states that they lie
between (``Segment``). How many are made at once is no matter of the results.
"""

from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.clock import SampleClock
from sensor_models.kernels.tracing.sensor_poses import interpolate_evenly
from sensor_models.scene.pose_memory import BODY_SIZE

Floats = NDArray[np.float64]

#: States that are made at once: some 10 MB.
MOST_AT_ONCE = 100_000

#: No states.
NOTHING_DUE = np.zeros((0, BODY_SIZE))

#: Numbers of a segment in a saved state: two states of the body and five others.
STRETCH_SIZE = 2 * BODY_SIZE + 5


class Segment(NamedTuple):
    """Knots between two known states of the body."""

    before: Floats  # empty at the start, of which nothing else is known
    after: Floats
    since: float
    until: float
    #: Whether the last knot counts as at ``until``, which it may differ from by rounding.
    ends: bool
    first: int
    beyond: int

    @property
    def length(self) -> int:
        """How many knots there are."""
        return self.beyond - self.first

    def states(self, clock: SampleClock) -> Floats:
        """The states at all of them."""
        states = np.empty((self.length, BODY_SIZE))
        if not self.before.size:
            states[:] = self.after
            return states
        wanted = clock.stamp_of(self.first), clock.stamp_of(self.beyond - 1)
        known = self.since, self.until
        interpolate_evenly(self.before, self.after, known, wanted, self.ends, states)
        return states

    def halves(self, count: int) -> "tuple[Segment, Segment]":
        """The first knots, so many, and the others."""
        middle = self.first + count
        return self._replace(ends=False, beyond=middle), self._replace(first=middle)


class DueKnots:
    """The knots that are due: the states at the next ones, and what others are made of."""

    def __init__(self) -> None:
        self.states: Floats = NOTHING_DUE
        self.first = 0  # of the states
        self._waiting: deque[Segment] = deque()

    def clear(self) -> None:
        """Forget all."""
        self.states = NOTHING_DUE
        self._waiting.clear()

    def add(self, segment: Segment, clock: SampleClock) -> None:
        """Take in knots that are due after all others."""
        if segment.length > 0:
            self._waiting.append(segment)
        if not len(self.states):
            self.make(clock)

    def make(self, clock: SampleClock) -> bool:
        """Make the next states, in place of those that there were; False if there are none."""
        self.states = NOTHING_DUE
        if not self._waiting:
            return False
        segment = self._waiting.popleft()
        if segment.length > MOST_AT_ONCE:
            segment, others = segment.halves(MOST_AT_ONCE)
            self._waiting.appendleft(others)
        self.states, self.first = segment.states(clock), segment.first
        return True

    @property
    def beyond(self) -> int:
        """The knot after the last one that is due, if any is."""
        return self._waiting[-1].beyond if self._waiting else self.first + len(self.states)

    # ---- saved states ------------------------------------------------------------------------

    @property
    def saved(self) -> dict[str, Floats]:
        """The arrays of a saved state."""
        rows = [
            [*s.before, *s.after, s.since, s.until, s.ends, s.first, s.beyond]
            for s in self._waiting
        ]
        waiting = np.array(rows, float).reshape(-1, STRETCH_SIZE)
        return {"due": self.states.copy(), "waiting": waiting}

    @classmethod
    def of(cls, saved: Mapping[str, NDArray[Any]], first: int) -> "DueKnots":
        """The knots of a saved state, a segment from each on; ``ValueError`` if they do not fit."""
        due, waiting = saved["due"], saved["waiting"]
        fits = due.shape[1:] == (BODY_SIZE,) and waiting.shape[1:] == (STRETCH_SIZE,)
        if not fits or not (np.isfinite(due).all() and np.isfinite(waiting).all()):
            raise ValueError("the saved state of the lidar is damaged")
        found = cls()
        found.states, found.first = due.copy(), first
        for row in waiting:
            found._waiting.append(_segment(row, found.beyond))
        if len(waiting) and not len(due):
            raise ValueError("the saved state of the lidar is damaged")
        return found


def _segment(row: Floats, first: int) -> Segment:
    """A segment of a saved state, which begins with a knot."""
    before, after = row[:BODY_SIZE].copy(), row[BODY_SIZE : 2 * BODY_SIZE].copy()
    since, until, ends, begin, beyond = row[2 * BODY_SIZE :].tolist()
    are_counts = begin == first and beyond.is_integer() and first < beyond < 2.0**53
    if not are_counts or ends not in (0.0, 1.0) or not since < until:
        raise ValueError("the saved state of the lidar is damaged")
    return Segment(before, after, since, until, bool(ends), first, int(beyond))
