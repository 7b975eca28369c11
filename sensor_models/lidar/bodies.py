"""Where the movable bodies of a scene were, as far back as a frame of a lidar needs them.

They are interpolated between the states that were known when states of the lidar's own body became
known. Before the first and after the newest of them they stand still: who moves the bodies should
do so before the lidar's step, or the lidar sees them up to a step late.
"""

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.frames import interpolate_body
from sensor_models.scene.pose_memory import BODY_SIZE, POSE_SIZE
from sensor_models.scene.registry import SceneHandle

Floats = NDArray[np.float64]


class Bodies:
    """Where the movable bodies of a scene were, as far back as is needed."""

    def __init__(self) -> None:
        self._times: list[float] = []
        self._states: list[Floats] = []
        self._record = -1

    def note(self, time: float, scene: SceneHandle) -> None:
        """Take in the newest states that are known at an instant."""
        newest = scene.states()
        if self._states and self._states[-1].shape != newest.bodies.shape:
            self.forget()  # those of a saved state, which is continued in another scene
        if newest.record == self._record or not len(newest.bodies):
            return
        self._record = newest.record
        at = newest.time if np.isfinite(newest.time) else time
        while self._times and self._times[-1] >= at:
            self._times.pop()
            self._states.pop()
        self._times.append(at)
        self._states.append(newest.bodies)

    def forget(self) -> None:
        """Begin anew, in another scene."""
        self._times.clear()
        self._states.clear()
        self._record = -1

    def drop_before(self, time: float) -> None:
        """Forget what is not needed for any instant from ``time`` on."""
        while len(self._times) > 1 and self._times[1] <= time:
            self._times.pop(0)
            self._states.pop(0)

    def move_between(self, first: float, last: float) -> bool:
        """Whether any body moves between two instants."""
        poses = self.poses_at(first), self.poses_at(last)
        if poses[0] is None or poses[1] is None:
            return False
        inner = [
            state[:, :POSE_SIZE]
            for time, state in zip(self._times, self._states, strict=True)
            if first < time < last
        ]
        return any(not np.array_equal(poses[0], other) for other in (*inner, poses[1]))

    def poses_at(self, time: float) -> Floats | None:
        """Poses of all bodies, (n, 7); None if there are none."""
        if not self._times:
            return None
        after = int(np.searchsorted(self._times, time, "right"))
        if after == 0:
            return self._states[0][:, :POSE_SIZE].copy()
        before = self._states[after - 1]
        if after == len(self._times):
            return before[:, :POSE_SIZE].copy()
        duration = self._times[after] - self._times[after - 1]
        share = (time - self._times[after - 1]) / duration
        pairs = zip(before, self._states[after], strict=True)
        return np.array([interpolate_body(a, b, duration, share)[:POSE_SIZE] for a, b in pairs])

    @property
    def state(self) -> Floats:
        """All that is known, (records, 1 + values)."""
        if not self._times:
            return np.zeros((0, 1))
        rows = zip(self._times, self._states, strict=True)
        return np.array([[time, *state.ravel()] for time, state in rows])

    @classmethod
    def of(cls, saved: Floats) -> "Bodies":
        """What ``state`` knew; ValueError if that is no such state."""
        if saved.ndim != 2 or (saved.shape[1] - 1) % BODY_SIZE or not np.isfinite(saved).all():
            raise ValueError("the saved states of movable bodies are damaged")
        bodies = cls()
        bodies._times = saved[:, 0].tolist()
        bodies._states = [row[1:].reshape(-1, BODY_SIZE).copy() for row in saved]
        return bodies
