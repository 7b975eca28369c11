"""When the rows of an image are taken, and where the body of the camera is then.

Frame k has the stamp t_k of a sampling clock (``clock``), and its row i of H, from the top, sees

    t_k + i R / (H - 1)

with the read-out R from the first row to the last one: all rows at t_k if R is 0, or if there is
one row. Row 0 has the pose of the sample itself, every other one the pose that lies between the
two known states around its instant. Nothing is extrapolated: a frame is complete with the first
state that is known at or after t_k + R, however many steps that takes, and the last frame of a run
may never be.

Between t_k and t_k + R only known states count, not what they were when the frame began. So
neither the cutting of time nor a saved state half way through a read-out changes a frame.

With a sampling rate, the read-out of a frame has to end before the next one begins, as in a real
sensor, which has one converter for each column. Where each known state is a frame (rate 0), as
many frames as it takes are read out at once: a frame still belongs to each communication step.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.clock import SampleClock, Timeline, same_instant
from sensor_models.core.quantities import ParameterError, check, real
from sensor_models.kernels.math.motion import interpolate_body
from sensor_models.scene.pose_memory import BODY_SIZE, POSE_SIZE

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ShutterParameters:
    """When the rows of an image are taken."""

    rolling_shutter: float = real(
        0.0,
        "s",
        "Time from the first row to the last, which are taken one after the other, each from where "
        "the camera is then; 0 takes all rows at one instant",
        minimum=0.0,
        maximum=10.0,  # the states of the body are kept as long
    )

    def __post_init__(self) -> None:
        check(self)


class Begun(NamedTuple):
    """A frame that was begun."""

    number: int
    stamp: float
    body: Floats
    exposure: float  # s


class FrameShutter:
    """Turns known states of a body into frames, which are complete when all they need is known.

    A frame needs the body from ``back`` before its stamp to ``ahead`` after it and what ``lasting``
    says of its exposure.
    """

    def __init__(
        self,
        clock: SampleClock,
        lasting: Callable[[float], float],
        *,
        ahead: float = 0.0,
        back: float = 0.0,
    ) -> None:
        self._clock = clock
        self._timeline = Timeline(clock, interpolate_body)
        same_instant(0.0, 0.0)  # is loaded now, and not in a step
        self._lasting, self._ahead, self._back = lasting, ahead, back
        self._begun: deque[Begun] = deque()
        #: Instants and states that the frames that were begun lie between.
        self._known: deque[tuple[float, Floats]] = deque()

    def push(
        self, time: float, body: Floats, exposure: float = 0.0, before: float | None = None
    ) -> None:
        """Take in the state of the body at an instant.

        ``exposure`` holds from then on, ``before`` until then.

        Raises:
            ParameterError: as ``SampleClock.due``; everything then stays as it was.
        """
        due = self._timeline.push(time, body)
        if due and due[0][0] == 0:  # the start, maybe given again
            self._begun.clear()
        for index, stamp, state in due:
            new = before is None or index == 0 or self._clock.is_latest(stamp)
            self._begun.append(Begun(index, stamp, state, exposure if new else float(before or 0)))
        if not self._keeps():
            return
        if self._known and same_instant(time, self._known[-1][0]):
            self._known.pop()
        self._known.append((time, body))
        oldest = self.oldest
        while len(self._known) > 1 and self._known[1][0] <= oldest:
            self._known.popleft()

    def begun(self) -> Iterator[Begun]:
        """The frames that are complete.

        A frame comes again until it is ``taken``.
        """
        while self._begun and self._is_complete(self._begun[0]):
            yield self._begun[0]

    def taken(self) -> None:
        """The frame that was given last is done with."""
        self._begun.popleft()

    def poses_at(self, begun: Begun, instants: Floats) -> Floats:
        """Poses of the body at some instants that a frame needs, (n, 7); its stamp is exact."""
        poses = np.tile(begun.body[:POSE_SIZE], (len(instants), 1))
        known = list(self._known)
        if not known:
            return poses
        times = np.array([time for time, _ in known])
        # The clock counts instants as known that differ from it by rounding.
        within = np.clip(instants, times[0], times[-1])
        places = np.searchsorted(times, within).tolist()
        for row, (instant, place) in enumerate(zip(within.tolist(), places, strict=True)):
            if instants[row] == begun.stamp:
                continue
            if place == 0:
                poses[row] = known[0][1][:POSE_SIZE]
                continue
            (before, first), (after, second) = known[place - 1], known[place]
            share = (instant - before) / (after - before)
            poses[row] = interpolate_body(first, second, after - before, share)[:POSE_SIZE]
        return poses

    @property
    def oldest(self) -> float:
        """The oldest instant that a frame still needs."""
        oldest = self._begun[0].stamp if self._begun else self._clock.latest
        return oldest - self._back

    def _keeps(self) -> bool:
        """Whether more is needed than the states at the stamps."""
        if self._ahead > 0.0 or self._back > 0.0:
            return True
        return any(self._lasting(begun.exposure) > 0.0 for begun in self._begun) or (
            self._lasting(1.0) > 0.0
        )

    def _is_complete(self, begun: Begun) -> bool:
        needed = self._lasting(begun.exposure) + self._ahead
        if needed == 0.0:
            return True  # the timeline gives no sample before its time
        end = begun.stamp + needed
        return end <= self._clock.latest or self._clock.is_latest(end)

    @property
    def state(self) -> dict[str, Floats]:
        """Everything that is known, as copies."""
        begun = [[index, stamp, exposure, *body] for index, stamp, body, exposure in self._begun]
        known = [[time, *body] for time, body in self._known]
        return {
            **self._timeline.state,
            "begun": np.array(begun, float).reshape(-1, 3 + BODY_SIZE),
            "known": np.array(known, float).reshape(-1, 1 + BODY_SIZE),
        }

    @state.setter
    def state(self, saved: Mapping[str, Any]) -> None:
        begun, known = (np.array(saved[name], float) for name in ("begun", "known"))
        fits = begun.shape[1:] == (3 + BODY_SIZE,) and known.shape[1:] == (1 + BODY_SIZE,)
        if not (fits and np.isfinite(begun).all() and np.isfinite(known).all()):
            raise ParameterError("this is no state of a shutter")
        if (np.diff(known[:, 0]) <= 0.0).any():
            raise ParameterError("the known instants of a shutter's state are not in order")
        self._timeline.state = saved
        self._begun = deque(
            Begun(int(row[0]), float(row[1]), row[3:].copy(), float(row[2])) for row in begun
        )
        self._known = deque((float(row[0]), row[1:].copy()) for row in known)


class RollingShutter(FrameShutter):
    """The shutter of a sensor whose rows are taken one after the other, each at an instant."""

    def __init__(
        self,
        clock: SampleClock,
        readout: float,
        rows: int,
        *,
        ahead: float = 0.0,
        back: float = 0.0,
    ) -> None:
        if readout * clock.rate > 1.0:
            raise ParameterError(
                f"rolling_shutter = {readout} s is longer than a frame, allowed with sample_rate = "
                f"{clock.rate} Hz is at most {1.0 / clock.rate} s"
            )
        self._readout = readout if rows > 1 else 0.0
        self._delays = np.linspace(0.0, self._readout, rows)
        super().__init__(clock, lambda _: self._readout, ahead=ahead, back=back)

    def frames(self) -> Iterator[tuple[int, float, Floats]]:
        """The frames that are complete: index, stamp, and a pose of the body, or one a row."""
        for begun in self.begun():
            yield begun.number, begun.stamp, self.row_poses(begun)

    def row_poses(self, begun: Begun, later: float = 0.0) -> Floats:
        """A pose of the body, or one for each row, some time after a frame."""
        if self._readout == 0.0:
            at = begun.stamp + later
            one = self.poses_at(begun, np.array([at])) if later else begun.body[None, :POSE_SIZE]
            return np.asarray(one[0])
        return self.poses_at(begun, begun.stamp + later + self._delays)

    @property
    def readout(self) -> float:
        """Time from the first row to the last, s; 0 for one row."""
        return self._readout
