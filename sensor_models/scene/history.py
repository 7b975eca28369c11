"""Where the movable bodies of a scene were: known states, and what lies between them.

Between two known states bodies are interpolated as a sensor's own body is
(``kernels.math.motion``). Before the first known state and after the newest one they stand still
there, and ``SeenBodies`` says so: a sensor that was stepped further than the bodies sees them
where they were known last. An instant that is a known one but for rounding has that state itself,
to the last bit, however time goes on from there.

A sensor keeps a ``Sight``: what an unfinished frame of its own needs, taken over from the scene in
each step. So a frame may last longer than the scene's own memory reaches, and a saved state of the
sensor continues with the same bits whatever the scene still knows.
"""

import math
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sensor_models.kernels.tracing.histories import AFTER, BEFORE, states_at
from sensor_models.kernels.tracing.sequence_lock import NOTHING
from sensor_models.scene.pose_memory import BODY_SIZE, INSTANT, POSE_SIZE

if TYPE_CHECKING:
    from sensor_models.scene.registry import SceneHandle

Floats = NDArray[np.float64]

#: Share of the step between known states by which the newest one may lie before an instant that
#: it counts for, as clocks of sensors have it.
QUANTISED = 1e-6


#: What is said of a frame that shows bodies where they were not known to be.
ABOUT = ("bodies_known_from", "bodies_known_until")


class MovingBodies(NamedTuple):
    """Where the movable bodies of a scene are while a frame, or a part of one, is taken.

    Poses are known at knots, which divide the whole frame into ``spans`` equal stretches; between
    two knots bodies are where a linear blend of the poses has them. A ray finds its place between
    them by its own instant.
    """

    poses: Floats  # (knots, bodies, 7), quaternions of unit length
    first: int = 0  # knot of the frame that the poses begin with
    spans: int = 0  # 0 for bodies that stand still, which have one pose each


class SeenBodies(NamedTuple):
    """States of the bodies at some instants."""

    states: Floats  # (instants, bodies, BODY_SIZE)
    known_from: float | None  # an instant lies before what is known from here on; None if none does
    known_until: float | None  # an instant lies after what is known until here; None if none does

    @property
    def about(self) -> dict[str, float]:
        """What a reader of the frame should know: where bodies stood still as they were unknown."""
        limits = zip(ABOUT, (self.known_from, self.known_until), strict=True)
        return {name: limit for name, limit in limits if limit is not None}


@dataclass(frozen=True)
class History:
    """Known states of all bodies, in the order of time."""

    times: Floats  # (n,); a first one of -inf holds for all times before the others
    states: Floats  # (n, bodies, BODY_SIZE)

    @classmethod
    def nothing(cls) -> "History":
        """No known states."""
        return cls(np.zeros(0), np.zeros((0, 0, BODY_SIZE)))

    @classmethod
    def of_records(cls, times: Floats, states: Floats) -> "History":
        """Known states as they were written down.

        Those that the scene's manifest gives, of no time, count only where there are no others.
        """
        if len(times) > 1 and times[0] == -np.inf:
            return cls(times[1:], states[1:])
        return cls(times, states)

    def at(self, instants: ArrayLike) -> SeenBodies:
        """The states at some instants, which are in order."""
        when = np.ascontiguousarray(instants, float)
        found = np.empty((len(when), *self.states.shape[1:]))
        if found.size == 0:
            return SeenBodies(found, None, None)
        sides = states_at(self.times, self.states, when, INSTANT, QUANTISED, found)
        first, newest = float(self.times[0]), float(self.times[-1])
        return SeenBodies(
            found, first if sides & BEFORE else None, newest if sides & AFTER else None
        )

    def followed_by(self, newer: "History") -> "History":
        """These states as far as the newer ones do not reach back, then those."""
        if len(newer.times) == 0 or newer.states.shape[1:] != self.states.shape[1:]:
            return newer
        own = int(np.searchsorted(self.times, newer.times[0]))
        if own and same_instant(self.times[own - 1], newer.times[0]):
            own -= 1
        times = np.concatenate([self.times[:own], newer.times])
        return History.of_records(times, np.concatenate([self.states[:own], newer.states]))

    def since(self, time: float) -> "History":
        """Without what is not needed for any instant from a time on."""
        first = max(int(np.searchsorted(self.times, time, "right")) - 1, 0)
        if first == 0:
            return self
        return History(self.times[first:], self.states[first:])

    def stands_still(self) -> bool:
        """Whether no body has another pose at any time."""
        poses = self.states[:, :, :POSE_SIZE]
        return bool((poses == poses[:1]).all())


def same_instant(time: float, other: float) -> bool:
    """Whether two times state one instant of a master's."""
    return abs(time - other) <= INSTANT * max(1.0, abs(time))


def _nobody() -> None:
    """A reference to no scene."""


class Sight:
    """What a sensor that takes frames knows of the bodies around it."""

    def __init__(self) -> None:
        self._known = History.nothing()
        self._scene = 0  # unknown, as after a saved state: handles may be others then
        # What was taken over last, and from where: a number may stand for another scene later.
        self._source: Callable[[], SceneHandle | None] = _nobody
        self._record, self._since = NOTHING, math.inf
        self._unmoved: tuple[History, MovingBodies] | None = None

    def follow(
        self, scene: "SceneHandle", since: float, before: "SceneHandle | None" = None
    ) -> None:
        """Take over what a scene knows, as far as instants from a time on need it.

        ``before`` is the scene that was seen until now, for who goes on from a saved state.
        """
        seen = before.number if before is not None and self._scene == 0 else self._scene
        if seen not in (0, scene.number):
            self._known = History.nothing()
        record = scene.record  # before what it counts, so that a newer one is taken over next time
        if scene is not self._source() or record != self._record or since < self._since:
            self._known = self._known.followed_by(scene.history(since))
        self._source = weakref.ref(scene)
        self._scene, self._record, self._since = scene.number, record, since
        self._known = self._known.since(since)

    def over(
        self, start: float, duration: float, spans: int, part: tuple[int, int] | None = None
    ) -> tuple[MovingBodies | None, dict[str, float]]:
        """The bodies at knots of a frame, and what a reader of the frame should know.

        The knots divide the duration into ``spans`` equal stretches, none for an instant; ``part``
        are the first and the last knot that are wanted. They are those of the frame, whatever
        part: so bodies do not depend on how a frame is divided into parts.
        """
        if (unmoved := self._bodies_unmoved()) is not None:
            return unmoved, {}
        first, last = (0, spans) if part is None else part
        share = np.arange(first, last + 1) / spans if spans else np.zeros(1)
        seen = self._known.at(start + duration * share)
        if seen.states.shape[1] == 0:
            return None, {}
        poses = np.ascontiguousarray(seen.states[:, :, :POSE_SIZE])
        if self._known.stands_still():
            return MovingBodies(poses[:1]), seen.about
        return MovingBodies(poses, first, spans), seen.about

    def _bodies_unmoved(self) -> MovingBodies | None:
        """The bodies where the manifest has them, as long as that is all that is known.

        They are the same object as long as that holds, so what is made of them can be kept.
        """
        known = self._known
        if len(known.times) != 1 or known.times[0] != -np.inf or known.states.shape[1] == 0:
            return None
        if self._unmoved is None or self._unmoved[0] is not known:
            poses = np.ascontiguousarray(known.states[:, :, :POSE_SIZE])
            self._unmoved = known, MovingBodies(poses)
        return self._unmoved[1]

    @property
    def state(self) -> Floats:
        """All that is known, (records, 1 + values)."""
        known = self._known
        values = known.states.reshape(len(known.times), BODY_SIZE * known.states.shape[1])
        return np.concatenate([known.times[:, np.newaxis], values], axis=1)

    @classmethod
    def of(cls, saved: Mapping[str, NDArray[Any]]) -> "Sight":
        """What ``state`` knew, saved as ``bodies``; ValueError if that is no such state."""
        table = saved["bodies"]
        fits = table.ndim == 2 and table.shape[1] > 0 and (table.shape[1] - 1) % BODY_SIZE == 0
        if fits and len(table):  # only what a manifest gives has no time
            single = len(table) == 1 and table[0, 0] == -np.inf
            fits = bool(np.isfinite(table[:, 1:]).all())
            fits = fits and (single or bool(np.isfinite(table[:, 0]).all()))
            fits = fits and bool((table[1:, 0] > table[:-1, 0]).all())
        if not fits:
            raise ValueError("the saved states of movable bodies are damaged")
        sight = cls()
        bodies = (table.shape[1] - 1) // BODY_SIZE
        states = table[:, 1:].reshape(len(table), bodies, BODY_SIZE).copy()
        sight._known = History(table[:, 0].copy(), states)
        return sight
