"""Which frames are due, and what is known of the motion of body and scene for them.

Frame k has the stamp t_k of a sampling clock (``clock``). It needs the body from ``back`` before
its stamp to ``ahead`` after it, and for as long as it lasts:

    an instant     neither: it is complete with the first state at or after t_k
    an interval    back and ahead: a radar's frame, or a picture with its optical flow
    an exposure    lasts as long as its exposure says, which may be settled late
    rows           lasts from its first row to its last (``rows``)

A frame is complete with the first state that is known at or after the end of what it needs,
however many steps that takes, and the last frame of a run may never be. Its own state is that of
the sample at t_k, all others lie between known states (``track``). Nothing is extrapolated.

Only known states count, not what they were when the frame began. So neither the cutting of time
nor a saved state half way through a frame changes it.

Where each known state is a frame (rate 0), as many frames as it takes are under way at once.
"""

import math
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.clock import SampleClock, Timeline
from sensor_models.core.frames import interpolate_body
from sensor_models.core.quantities import ParameterError
from sensor_models.core.sensor import Arrays, Held
from sensor_models.scene.history import MovingBodies, Sight
from sensor_models.scene.pose_memory import BODY_SIZE
from sensor_models.sight.track import Track

if TYPE_CHECKING:  # a sensor that takes no rays does without the ray engine
    from sensor_models.scene.registry import SceneHandle
    from sensor_models.scene.tracing import RayScene

Floats = NDArray[np.float64]
T = TypeVar("T")


class Begun(NamedTuple):
    """A frame that was begun."""

    number: int
    stamp: float
    body: Floats
    exposure: float  # s; 0 as long as it is open


class Schedule(ABC):
    """Turns known states of a body into frames, which come when all they need is known."""

    @abstractmethod
    def know(
        self, time: float, body: Floats, exposure: float = 0.0, before: float | None = None
    ) -> None:
        """Take in the state of the body at an instant; the start may come twice.

        ``exposure`` is what frames are given that begin from then on, ``before`` what they were
        given until then.

        Raises:
            ParameterError: if time went backwards; then nothing has changed.
        """

    @abstractmethod
    def revise(self, body: Floats | None) -> None:
        """Take another state of the body for that at the newest known instant."""

    @abstractmethod
    def results(self, held: Held, before: Held, take: Callable[[Any], T]) -> Iterator[T]:
        """What ``take`` makes of the frames that are complete.

        Where an error ends this, the next call goes on.

        Args:
            held: the held inputs since the newest known instant, and the scene.
            before: those until then; its scene may be closed by now.
            take: gets one frame after the other.
        """

    @abstractmethod
    def complete_after(self, instant: float) -> float:
        """The next instant at which a frame can be complete; infinity if that is not known."""

    @abstractmethod
    def state(self) -> Arrays:
        """All that later frames depend on."""

    @abstractmethod
    def restore(self, saved: Mapping[str, NDArray[Any]]) -> None:
        """Continue from ``state()``; ValueError if it does not fit, and nothing has changed."""

    def close(self) -> None:  # noqa: B027 - few schedules have something under way
        """Wait until no thread is at work."""


class Frame:
    """A frame that is complete, for the code that takes it."""

    def __init__(self, begun: Begun, scene: Any, held: Held, track: Track, sight: Sight) -> None:
        self.number, self.time, self.body, self.exposure = begun
        #: The scene, and the held inputs at its stamp.
        self.scene: SceneHandle = scene
        self.held = held
        self._track, self._sight = track, sight

    @property
    def rays(self) -> "RayScene":
        """The scene to send rays into; where its bodies are is said with the rays."""
        return self.scene.rays(placed=False)

    def states_at(self, instants: Floats) -> Floats:
        """States of the body at some instants that the frame needs, in order; its own is exact."""
        if not len(self._track):
            return np.tile(self.body[:BODY_SIZE], (len(instants), 1))
        states = self._track.at(instants)
        states[instants == self.time] = self.body[:BODY_SIZE]
        return states

    def bodies(
        self, start: float | None = None, duration: float = 0.0, spans: int = 0
    ) -> tuple[MovingBodies | None, dict[str, float]]:
        """The movable bodies from an instant on, and entries for the index about them.

        The instant is its stamp if none is given. ``spans`` equal intervals divide the duration; 0
        for an instant.
        """
        return self._sight.over(self.time if start is None else start, duration, spans)


class FrameSchedule(Schedule):
    """Frames that are taken at once when all that they need is known.

    A frame needs the body from ``back`` before its stamp to ``ahead`` after it, and as long as
    ``lasting`` says of its exposure. If it is given none, ``settle`` says what it is, once all
    frames before it are taken.
    """

    def __init__(
        self,
        clock: SampleClock,
        *,
        ahead: float = 0.0,
        back: float = 0.0,
        lasting: Callable[[float], float] = lambda _: 0.0,
        settle: Callable[[Frame], float] | None = None,
    ) -> None:
        self._clock, self._sight = clock, Sight()
        self._timeline = Timeline(clock, interpolate_body)
        self._lasting, self._ahead, self._back = lasting, ahead, back
        self._settle = settle
        self._begun: deque[Begun] = deque()
        #: The states that the frames that were begun lie between.
        self._track = Track()

    def know(
        self, time: float, body: Floats, exposure: float = 0.0, before: float | None = None
    ) -> None:
        """Take in the state of the body at an instant."""
        due = self._timeline.push(time, body)
        if due and due[0][0] == 0:  # the start, which counts as given last
            self._begun.clear()
            self._track = Track()
        for index, stamp, state in due:
            new = before is None or index == 0 or self._clock.is_latest(stamp)
            self._begun.append(Begun(index, stamp, state, exposure if new else float(before or 0)))
        if self._keeps():
            self._track.know(time, body)
            self._track.forget(self._oldest)

    def revise(self, body: Floats | None) -> None:
        """Take another state for that at the newest known instant; begun frames keep theirs."""
        self._timeline.revise(body)
        if body is not None:
            self._track.revise(body)

    def results(self, held: Held, before: Held, take: Callable[[Any], T]) -> Iterator[T]:
        """What ``take`` makes of the frames that are complete; one that is refused comes again."""
        self._sight.follow(held.scene, self._oldest, before.scene)
        while self._begun:
            if self._settle is not None and self._begun[0].exposure == 0.0:
                settled = self._settle(self._frame(held, before))
                self._begun[0] = self._begun[0]._replace(exposure=settled)
            if not self._is_complete(self._begun[0]):
                return
            result = take(self._frame(held, before))
            self._begun.popleft()  # before it is handed on: who gets it may be interrupted
            yield result

    def complete_after(self, instant: float) -> float:
        """The next end of what a frame needs; infinity where that goes by its exposure."""
        needed = self._lasting(0.0)
        if self._lasting(1.0) != needed:
            return math.inf
        needed += self._ahead
        return self._clock.stamp_after(instant - needed) + needed

    def _frame(self, held: Held, before: Held) -> Frame:
        begun = self._begun[0]
        # Held inputs count from their own state on; earlier frames have the last ones.
        is_new = begun.number == 0 or self._clock.is_latest(begun.stamp)
        own = held if is_new else before
        return Frame(begun, held.scene, own, self._track, self._sight)

    @property
    def _oldest(self) -> float:
        """The oldest instant that a frame still needs."""
        oldest = self._begun[0].stamp if self._begun else self._clock.latest
        return oldest - self._back

    def _keeps(self) -> bool:
        """Whether more is needed than the states at the stamps."""
        if self._ahead > 0.0 or self._back > 0.0 or self._lasting(1.0) > 0.0:
            return True
        return any(self._lasting(begun.exposure) > 0.0 for begun in self._begun)

    def _is_complete(self, begun: Begun) -> bool:
        needed = self._lasting(begun.exposure) + self._ahead
        if needed == 0.0:
            return True  # the timeline gives no sample before its time
        end = begun.stamp + needed
        return end <= self._clock.latest or self._clock.is_latest(end)

    def state(self) -> Arrays:
        """Everything that is known, as copies."""
        begun = [[index, stamp, exposure, *body] for index, stamp, body, exposure in self._begun]
        return {
            **self._timeline.state,
            "begun": np.array(begun, float).reshape(-1, 3 + BODY_SIZE),
            "track": self._track.state,
            "bodies": self._sight.state,
        }

    def restore(self, saved: Mapping[str, NDArray[Any]]) -> None:
        """Continue from ``state()``; ValueError if it does not fit, and nothing has changed."""
        begun, values = np.array(saved["begun"], float), saved["values"]
        fits = begun.shape[1:] == (3 + BODY_SIZE,) and values.shape in ((0,), (BODY_SIZE,))
        if not fits or not (np.isfinite(begun).all() and np.isfinite(values).all()):
            raise ParameterError("this is no saved state of the frames of a sensor")
        track, sight = Track.of(saved["track"]), Sight.of(saved)
        self._timeline.state = saved
        self._track, self._sight = track, sight
        self._begun = deque(
            Begun(int(row[0]), float(row[1]), row[3:].copy(), float(row[2])) for row in begun
        )
