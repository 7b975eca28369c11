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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.clock import Sample, SampleClock, Timeline, same_instant
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


class RollingShutter:
    """Turns known states of a body into frames: the poses that the rows are seen from."""

    def __init__(self, clock: SampleClock, readout: float, rows: int) -> None:
        if readout * clock.rate > 1.0:
            raise ParameterError(
                f"rolling_shutter = {readout} s is longer than a frame, allowed with sample_rate = "
                f"{clock.rate} Hz is at most {1.0 / clock.rate} s"
            )
        self._clock = clock
        self._timeline = Timeline(clock, interpolate_body)
        self._readout = readout if rows > 1 else 0.0
        self._delays = np.linspace(0.0, self._readout, rows)
        self._begun: deque[Sample] = deque()
        #: Instants and states that the frames that were begun lie between.
        self._known: deque[tuple[float, Floats]] = deque()

    def push(self, time: float, body: Floats) -> None:
        """Take in the state of the body at an instant.

        Raises:
            ParameterError: as ``SampleClock.due``; everything then stays as it was.
        """
        due = self._timeline.push(time, body)
        if due and due[0][0] == 0:  # the start, maybe given again
            self._begun.clear()
        self._begun += due
        if self._readout == 0.0:
            return
        if self._known and same_instant(time, self._known[-1][0]):
            self._known.pop()
        self._known.append((time, body))
        oldest = self._begun[0][1] if self._begun else time
        while len(self._known) > 1 and self._known[1][0] <= oldest:
            self._known.popleft()

    def frames(self) -> Iterator[tuple[int, float, Floats]]:
        """The frames that are complete: index, stamp, and a pose of the body, or one a row.

        A frame comes again, here or the next time, until ``taken`` is called.
        """
        while self._begun and self._is_complete(self._begun[0][1]):
            index, stamp, body = self._begun[0]
            yield index, stamp, self._poses(stamp, body)

    def taken(self) -> None:
        """The frame that was given last is done with."""
        self._begun.popleft()

    @property
    def readout(self) -> float:
        """Time from the first row to the last, s; 0 for one row."""
        return self._readout

    @property
    def oldest(self) -> float:
        """The oldest instant that a row is still to be taken at."""
        return self._begun[0][1] if self._begun else self._clock.latest

    def _is_complete(self, stamp: float) -> bool:
        if self._readout == 0.0:
            return True  # the timeline gives no sample before its time
        end = stamp + self._readout
        return end <= self._clock.latest or self._clock.is_latest(end)

    def _poses(self, stamp: float, body: Floats) -> Floats:
        if self._readout == 0.0:
            return body[:POSE_SIZE]
        known = list(self._known)
        times = np.array([time for time, _ in known])
        # The clock counts instants as known that differ from it by rounding.
        instants = np.minimum(stamp + self._delays, times[-1])
        poses = np.tile(body[:POSE_SIZE], (len(instants), 1))
        places = np.searchsorted(times, instants).tolist()
        for row, (instant, place) in enumerate(zip(instants.tolist(), places, strict=True)):
            if row > 0 and place > 0:
                (before, first), (after, second) = known[place - 1], known[place]
                share = (instant - before) / (after - before)
                poses[row] = interpolate_body(first, second, after - before, share)[:POSE_SIZE]
        return poses

    @property
    def state(self) -> dict[str, Floats]:
        """Everything that is known, as copies."""
        begun = [[index, stamp, *body] for index, stamp, body in self._begun]
        known = [[time, *body] for time, body in self._known]
        return {
            **self._timeline.state,
            "begun": np.array(begun, float).reshape(-1, 2 + BODY_SIZE),
            "known": np.array(known, float).reshape(-1, 1 + BODY_SIZE),
        }

    @state.setter
    def state(self, saved: Mapping[str, Any]) -> None:
        begun, known = (np.array(saved[name], float) for name in ("begun", "known"))
        fits = begun.shape[1:] == (2 + BODY_SIZE,) and known.shape[1:] == (1 + BODY_SIZE,)
        if not (fits and np.isfinite(begun).all() and np.isfinite(known).all()):
            raise ParameterError("this is no state of a shutter")
        if (np.diff(known[:, 0]) <= 0.0).any():
            raise ParameterError("the known instants of a shutter's state are not in order")
        self._timeline.state = saved
        self._begun = deque((int(row[0]), float(row[1]), row[2:].copy()) for row in begun)
        self._known = deque((float(row[0]), row[1:].copy()) for row in known)
