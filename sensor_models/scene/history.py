"""Where the movable bodies of a scene were: known states, and interpolation between them.

Between two known states bodies are interpolated like a sensor's own body (``kernels.math.motion``).
Before the first known state and after the newest one they rest there, and ``SeenBodies`` says so: a
sensor that was stepped further than the bodies sees them at their last known place. If an instant
differs from that of a known state only by rounding, it has exactly that state, whatever follows.

A sensor keeps a ``Sight``: the states that its unfinished frame needs, copied from the scene in
each step. A frame may therefore last longer than the memory of the scene, and a saved state of the
sensor continues with the same bits whatever the scene still remembers.
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

#: By this share of the step between known states, the newest one may be before an instant that it
#: counts for, as in the clocks of sensors.
QUANTISED = 1e-6


#: Keys for the index of files, about frames in which bodies were not known.
ABOUT = ("bodies_known_from", "bodies_known_until")


class MovingBodies(NamedTuple):
    """Where the movable bodies of a scene are while a frame, or a part of one, is taken.

    Poses are given at knots, which divide the whole frame into ``spans`` equal intervals, and
    blended linearly between two knots. Each ray takes the pose at its own instant.
    """

    poses: Floats  # (knots, bodies, 7), quaternions of unit length
    first: int = 0  # number of the first knot in the frame
    spans: int = 0  # 0 if all bodies rest; each has one pose then
    times: Floats | None = None  # (knots,), s: for bodies that change their shape; None for 0


class SeenBodies(NamedTuple):
    """States of the bodies at some instants."""

    states: Floats  # (instants, bodies, BODY_SIZE)
    known_from: float | None  # first known time, if an instant is before it; else None
    known_until: float | None  # last known time, if an instant is after it; else None

    @property
    def about(self) -> dict[str, float]:
        """Entries for the index: from when or until when bodies were known, if that matters."""
        limits = zip(ABOUT, (self.known_from, self.known_until), strict=True)
        return {name: limit for name, limit in limits if limit is not None}


@dataclass(frozen=True)
class History:
    """Known states of all bodies, in the order of time."""

    times: Floats  # (n,); a first time of -inf stands for all times before the others
    states: Floats  # (n, bodies, BODY_SIZE)

    @classmethod
    def nothing(cls) -> "History":
        """No known states."""
        return cls(np.zeros(0), np.zeros((0, 0, BODY_SIZE)))

    @classmethod
    def of_records(cls, times: Floats, states: Floats) -> "History":
        """Known states from records.

        The states in the scene's manifest, which have no time, count only if there are no others.
        """
        if len(times) > 1 and times[0] == -np.inf:
            return cls(times[1:], states[1:])
        return cls(times, states)

    def at(self, instants: ArrayLike) -> SeenBodies:
        """The states at these instants, which must be in order."""
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
        """These states, as far as they are before the newer ones, followed by the newer ones."""
        if len(newer.times) == 0 or newer.states.shape[1:] != self.states.shape[1:]:
            return newer
        own = int(np.searchsorted(self.times, newer.times[0]))
        if own and same_instant(self.times[own - 1], newer.times[0]):
            own -= 1
        times = np.concatenate([self.times[:own], newer.times])
        return History.of_records(times, np.concatenate([self.states[:own], newer.states]))

    def since(self, time: float) -> "History":
        """A copy without states that are not needed for instants from this time on."""
        first = max(int(np.searchsorted(self.times, time, "right")) - 1, 0)
        if first == 0:
            return self
        return History(self.times[first:], self.states[first:])

    def stands_still(self) -> bool:
        """Whether each body has the same pose at all times."""
        poses = self.states[:, :, :POSE_SIZE]
        return bool((poses == poses[:1]).all())


def same_instant(time: float, other: float) -> bool:
    """Whether two times mean the same instant of a master."""
    return abs(time - other) <= INSTANT * max(1.0, abs(time))


def _nobody() -> None:
    """A reference to nothing."""


class Sight:
    """What a sensor that takes frames knows of the bodies around it."""

    def __init__(self) -> None:
        self._known = History.nothing()
        self._scene = 0  # unknown, as after a saved state, when handles may differ
        # What was copied last, and from which scene: its handle may later be that of another one.
        self._source: Callable[[], SceneHandle | None] = _nobody
        self._record, self._since = NOTHING, math.inf
        self._unmoved: tuple[History, MovingBodies] | None = None
        self._plays = False  # whether bodies change their shape as time goes on

    def follow(
        self, scene: "SceneHandle", since: float, before: "SceneHandle | None" = None
    ) -> None:
        """Copy known states from a scene, as far as instants from this time on need them.

        ``before`` is the scene that was seen until now, for continuing from a saved state.
        """
        seen = before.number if before is not None and self._scene == 0 else self._scene
        if seen not in (0, scene.number):
            self._known = History.nothing()
        if scene.number != self._scene or self._source() is None:
            self._plays = scene.scene.plays_clips
        record = scene.record  # read before the states, so that newer ones are copied next time
        if scene is not self._source() or record != self._record or since < self._since:
            self._known = self._known.followed_by(scene.history(since))
        self._source = weakref.ref(scene)
        self._scene, self._record, self._since = scene.number, record, since
        self._known = self._known.since(since)

    def over(
        self, start: float, duration: float, spans: int, part: tuple[int, int] | None = None
    ) -> tuple[MovingBodies | None, dict[str, float]]:
        """The bodies at knots of a frame, and entries for the index about them.

        The knots divide the duration into ``spans`` equal intervals; 0 for an instant. ``part`` are
        the first and the last knot that are wanted. Knots are those of the whole frame, so bodies
        do not depend on how a frame is divided into parts.
        """
        if (unmoved := self._bodies_unmoved()) is not None:
            return unmoved, {}
        first, last = (0, spans) if part is None else part
        share = np.arange(first, last + 1) / spans if spans else np.zeros(1)
        seen = self._known.at(start + duration * share)
        if seen.states.shape[1] == 0:
            return None, {}
        poses = np.ascontiguousarray(seen.states[:, :, :POSE_SIZE])
        if self._plays:
            return MovingBodies(poses, first, spans, start + duration * share), seen.about
        if self._known.stands_still():
            return MovingBodies(poses[:1]), seen.about
        return MovingBodies(poses, first, spans), seen.about

    def _bodies_unmoved(self) -> MovingBodies | None:
        """The bodies where the manifest has them, as long as nothing else is known.

        They are the same object each time, so what is made from them can be kept.
        """
        known = self._known
        if self._plays or len(known.times) != 1 or known.times[0] != -np.inf:
            return None
        if known.states.shape[1] == 0:
            return None
        if self._unmoved is None or self._unmoved[0] is not known:
            poses = np.ascontiguousarray(known.states[:, :, :POSE_SIZE])
            self._unmoved = known, MovingBodies(poses)
        return self._unmoved[1]

    @property
    def state(self) -> Floats:
        """All known states, (records, 1 + values)."""
        known = self._known
        values = known.states.reshape(len(known.times), BODY_SIZE * known.states.shape[1])
        return np.concatenate([known.times[:, np.newaxis], values], axis=1)

    @classmethod
    def of(cls, saved: Mapping[str, NDArray[Any]]) -> "Sight":
        """A sight from a saved ``state``, named ``bodies``; ValueError if that does not fit."""
        table = saved["bodies"]
        fits = table.ndim == 2 and table.shape[1] > 0 and (table.shape[1] - 1) % BODY_SIZE == 0
        if fits and len(table):  # only states from a manifest have no time
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
