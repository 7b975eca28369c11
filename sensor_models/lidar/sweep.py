"""Frames of a lidar while the states of its body become known, in whatever steps.

``InstantScan`` takes each frame from the pose at its instant. ``RollingScan`` sends each ray at
its own time: it keeps the poses of the sensor at knots, evenly over a frame, and makes a part of
the frame once all knots around its rays are known. Either way results depend on the motion
alone, not on how time is cut into steps, as far as cutting does not change what is known of it.

    frame k    begins at start + k / rate; a rolling one ends with its last ray, before the next
               begins. Without a rate, frame k fills step k.
    knot c     of a frame: its start + c / spans of its duration
    slice s    the columns that begin in [s, s + 1) / slices of a frame, which are made together.
               The ends of the slices are knots of the movable bodies of the scene
               (``scene.history``): each ray sees them between the knots around its own time,
               whatever the slice it is made in.
under way      Slices are made by other threads while the master goes on. A step waits for them
               only if it completes the frame; while it waits, it takes part.
gathered       Steps may be shorter than a quarter of a frame. Slices wait then until there is a
               quarter of one to make and those before them are made, or until the frame ends:
               each time that slices are begun and ended takes threads that wake up and wait for
               the last of them, and trees that end in packets which are not full.

Source: AGX (slices of a pattern) and GYM (instant frames); motion within a frame is an extension.
"""

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.clock import NEXT_INDEX, SampleClock, Timeline, same_instant
from sensor_models.core.frames import interpolate_body
from sensor_models.kernels.light.paths import LIMITS
from sensor_models.kernels.tracing.sensor_poses import interpolate_bodies, interpolate_evenly
from sensor_models.lidar.lidar import Lidar
from sensor_models.output.points import CloudBuffer
from sensor_models.scene.history import ABOUT, Sight
from sensor_models.scene.pose_memory import BODY_SIZE
from sensor_models.scene.registry import SceneHandle
from sensor_models.scene.workers import Work

Floats = NDArray[np.float64]
Arrays = dict[str, NDArray[Any]]

#: What the saved state of a frame holds that has no points yet.
NO_CLOUD: Arrays = {
    "counts": np.zeros(0, np.uint8),
    "points": np.zeros(0, np.uint8),
    "nearest": np.zeros(2),
    "shift": np.zeros(3),
    "lost": np.zeros(LIMITS, np.int64),
}


#: Parts that a rolling frame is made in, at most, but where its scene changes.
PARTS = 4

#: No knots of a rolling frame.
NOTHING_DUE = np.zeros((0, BODY_SIZE))


class LidarFrame(NamedTuple):
    """A complete frame."""

    number: int
    time: float  # of its start, s
    duration: float  # s
    cloud: CloudBuffer
    position: tuple[float, ...]  # of the sensor in the world, at the start
    orientation: tuple[float, ...]
    #: What else a reader should know: where movable bodies are shown that were not known then.
    about: Mapping[str, float] = MappingProxyType({})


class UnderWay(NamedTuple):
    """Slices that other threads make."""

    first: int
    work: Work


class Scan(ABC):
    """Makes frames of known states."""

    def __init__(self, lidar: Lidar, new_cloud: Callable[[], CloudBuffer] | None = None) -> None:
        self._lidar = lidar
        self._new_cloud = new_cloud or lidar.new_cloud
        self._sight = Sight()
        self._cloud: CloudBuffer | None = None  # of the frame that was begun, or to begin one

    @abstractmethod
    def know(self, time: float, body: Floats) -> None:
        """Take in the state of the body at an instant; the start may come twice.

        Raises:
            ParameterError: if time went backwards; then nothing has changed.
        """

    def frames(self, scene: SceneHandle, before: SceneHandle | None = None) -> Iterator[LidarFrame]:
        """Send the rays that are due; the frames that are complete then.

        Where an error ends this, the next call goes on.

        Args:
            scene: what is seen since the last call.
            before: what was seen until then, if it is still open: rays that were due by then and
                were not sent are sent there.
        """
        if before is not None and before.number != scene.number:
            self._leave(before)
        self._sight.follow(scene, self._oldest, before)
        yield from self._frames(scene)

    @property
    @abstractmethod
    def _oldest(self) -> float:
        """The oldest instant that a ray is still to be sent at."""

    def _leave(self, scene: SceneHandle) -> None:  # noqa: B027 - not every scan keeps rays back
        """Send the rays that were kept back into a scene, before another takes its place."""

    def close(self) -> None:  # noqa: B027 - not every scan has rays under way
        """Wait until no thread is at work."""

    def _room(self) -> CloudBuffer:
        """Room for the frame that is being made."""
        self._cloud = self._cloud or self._new_cloud()
        return self._cloud

    def _complete(self) -> CloudBuffer:
        """The frame that has been made; the next one is made elsewhere."""
        cloud, self._cloud = self._room(), None
        return cloud

    @abstractmethod
    def _frames(self, scene: SceneHandle) -> Iterator[LidarFrame]:
        """As ``frames``, now that the bodies are known."""

    @abstractmethod
    def state(self) -> Arrays:
        """All that later frames depend on."""

    @abstractmethod
    def restore(self, saved: Mapping[str, NDArray[Any]]) -> None:
        """Continue from ``state()``; ValueError if it does not fit."""


class InstantScan(Scan):
    """Frames that are taken from one pose each."""

    def __init__(
        self,
        lidar: Lidar,
        start: float,
        rate: float,
        new_cloud: Callable[[], CloudBuffer] | None = None,
    ) -> None:
        super().__init__(lidar, new_cloud)
        self._timeline = Timeline(SampleClock(start, rate), interpolate_body)
        self._due: list[tuple[int, float, Floats]] = []

    def know(self, time: float, body: Floats) -> None:
        """Take in the state of the body at an instant."""
        due = self._timeline.push(time, body)
        again = bool(due) and due[0][0] == 0  # the start, which counts as given last
        self._due = due if again else [*self._due, *due]

    @property
    def _oldest(self) -> float:
        return self._due[0][1] if self._due else self._timeline.clock.latest

    def _frames(self, scene: SceneHandle) -> Iterator[LidarFrame]:
        columns = 0, self._lidar.pattern.columns
        while self._due:
            index, stamp, body = self._due[0]
            cloud, (bodies, about) = self._room(), self._sight.over(stamp, 0.0, 0)
            cloud.clear()
            poses = self._lidar.sensor_poses(body.reshape(1, -1))
            rays = scene.rays(placed=False)
            self._lidar.begin(rays, poses, index, (stamp, 0.0), columns, cloud, bodies).end()
            self._due = self._due[1:]
            pose = self._lidar.sensor_pose(body)
            yield LidarFrame(index, stamp, 0.0, self._complete(), *pose, about)

    def state(self) -> Arrays:
        """All that later frames depend on."""
        due = [[index, stamp, *body] for index, stamp, body in self._due]
        return {
            **{f"timeline.{name}": array for name, array in self._timeline.state.items()},
            "due": np.array(due, float).reshape(-1, 2 + BODY_SIZE),
            "bodies": self._sight.state,
        }

    def restore(self, saved: Mapping[str, NDArray[Any]]) -> None:
        """Continue from ``state()``; ValueError if it does not fit."""
        due, values = saved["due"], saved["timeline.values"]
        fits = due.ndim == 2 and due.shape[1] == 2 + BODY_SIZE and _is_state(values)
        if not fits or not np.isfinite(due).all():
            raise ValueError("the saved state of the lidar is damaged")
        sight = Sight.of(saved)
        self._timeline.state = {"clock": saved["timeline.clock"], "values": values}
        self._sight = sight
        self._due = [(int(row[0]), float(row[1]), row[2:].copy()) for row in due]


class RollingScan(Scan):
    """Frames whose rays are sent one after the other while the body moves."""

    def __init__(
        self,
        lidar: Lidar,
        start: float,
        rate: float,
        new_cloud: Callable[[], CloudBuffer] | None = None,
    ) -> None:
        super().__init__(lidar, new_cloud)
        self._rate = rate
        self._spans = lidar.spans
        # Without a rate a frame is a step, and the clock counts steps.
        self._clock = SampleClock(start, rate * self._spans)
        self._slices = slices_of(lidar)
        self._fewest = -(-lidar.parameters.motion_slices // PARTS)  # that are made at once
        self._values: Floats = np.empty(0)
        self._due = NOTHING_DUE  # states of the body at knots that have not been taken in
        self._first_due = 0
        self._begun = start  # of the present frame where there is no rate
        self._lasts = 1.0 / rate if rate > 0.0 else 0.0
        self._knots = np.zeros((self._spans + 1, 12))
        self._known = 0  # knots of the present frame
        self._frame = 0
        self._next_slice = 0
        self._pose: tuple[tuple[float, ...], tuple[float, ...]] = ((), ())
        self._about: dict[str, float] = {}
        self._under_way: UnderWay | None = None

    @property
    def _oldest(self) -> float:
        knots = self._slices.first
        first = self._next_slice if self._under_way is None else self._under_way.first
        return self._start + self._lasts * int(knots[first]) / (len(knots) - 1)

    @property
    def _start(self) -> float:
        """Start of the present frame, s."""
        return self._clock.stamp_of(self._frame * self._spans) if self._rate else self._begun

    def know(self, time: float, body: Floats) -> None:
        """Take in the state of the body at an instant."""
        before_time, before = self._clock.latest, self._values
        if self._clock.only_start_known and same_instant(time, before_time):
            self._clock.rewind()
            self._due, before, self._known = NOTHING_DUE, np.empty(0), 0
        due = self._clock.advance(time)
        self._values = body
        if not len(due):
            return
        if self._rate > 0.0:
            states = self._states_at(before, body, before_time, time, due)
            if not len(self._due):
                self._first_due = due[0]
            self._due = np.concatenate([self._due, states])
        elif due[0] > 0:
            self._frame, self._known, self._next_slice = due[0] - 1, 0, 0
            self._begun, self._lasts = before_time, time - before_time
            self._first_due = self._frame * self._spans
            self._due = np.empty((self._spans + 1, BODY_SIZE))
            fractions = np.linspace(0.0, 1.0, self._spans + 1)
            interpolate_bodies(before, body, self._lasts, fractions, self._due)

    def _states_at(
        self, before: Floats, after: Floats, before_time: float, time: float, due: range
    ) -> Floats:
        """States of the body at knots between two known ones."""
        states = np.empty((len(due), BODY_SIZE))
        if not before.size:
            states[:] = after  # the start, of which nothing else is known
            return states
        first, last = self._clock.stamp_of(due[0]), self._clock.stamp_of(due[-1])
        is_known = self._clock.is_latest(last)
        known, wanted = (before_time, time), (first, last)
        interpolate_evenly(before, after, known, wanted, is_known, states)
        return states

    def _frames(self, scene: SceneHandle) -> Iterator[LidarFrame]:
        """Take in the knots that are due, and make what can be made with them."""
        states = self._due
        poses = self._lidar.sensor_poses(states)
        while True:
            yield from self._trace(scene, self._fewest)
            place = self._frame * self._spans - self._first_due  # of the first knot in the states
            if self._known > self._spans:
                # The last knot of this frame is the first one of the next.
                self._knots[0], self._known = self._knots[self._spans], 1
                self._frame, self._next_slice = self._frame + 1, 0
                self._pose = self._lidar.sensor_pose(states[place + self._spans])
                continue
            count = min(len(states) - place, self._spans + 1) - self._known
            if count <= 0:
                break
            if self._known == 0:
                self._pose = self._lidar.sensor_pose(states[place])
            taken = slice(self._known, self._known + count)
            self._knots[taken] = poses[place + taken.start : place + taken.stop]
            self._known += count
        self._due = NOTHING_DUE

    def _leave(self, scene: SceneHandle) -> None:
        """Send the rays that were kept back; they complete no frame."""
        self._wait()
        next(self._trace(scene, 1), None)
        self._wait()

    def _wait(self) -> None:
        """Wait for the slices that are under way; after an error they are still to be made."""
        own, self._under_way = self._under_way, None
        if own is None:
            return
        try:
            own.work.end()
        except BaseException:
            self._next_slice = own.first
            raise

    def close(self) -> None:
        """Wait until no thread is at work."""
        own, self._under_way = self._under_way, None
        if own is not None:
            own.work.drop()

    def _trace(self, scene: SceneHandle, fewest: int) -> Iterator[LidarFrame]:
        """Make the slices whose knots are all known; the frame, if it is complete then.

        Unless they complete the frame, they wait for more to come where there are fewer than
        ``fewest``, and for those that are under way.
        """
        slices = len(self._slices.needed)
        first = after = self._next_slice
        while after < slices and self._slices.needed[after] < self._known:
            after += 1
        if after - first < (fewest if after < slices else 1):
            return
        if after < slices and self._under_way is not None and not self._under_way.work.is_done:
            return
        self._wait()
        if first == 0:
            self._room().clear()
            self._about = {}
        knots = int(self._slices.first[first]), int(self._slices.last[first:after].max())
        bodies, about = self._sight.over(self._start, self._lasts, slices, knots)
        self._about = {**about, **self._about}
        columns = int(self._slices.columns[first]), int(self._slices.columns[after])
        if columns[0] < columns[1]:
            times = self._start, self._lasts
            rays, cloud = scene.rays(placed=False), self._room()
            made = self._lidar.begin(rays, self._knots, self._frame, times, columns, cloud, bodies)
            self._under_way = UnderWay(first, made)
        self._next_slice = after
        if after == slices:
            self._wait()
            done = self._complete()
            yield LidarFrame(self._frame, self._start, self._lasts, done, *self._pose, self._about)

    def _begun_rays(self, next_slice: int) -> int:
        """Rays that have been made of a frame that was begun; 0 where none was."""
        begun = next_slice < len(self._slices.needed)
        return int(self._slices.columns[next_slice]) * self._lidar.pattern.rows if begun else 0

    def state(self) -> Arrays:
        """All that later frames depend on."""
        self._wait()
        rays = self._begun_rays(self._next_slice)
        return {
            "clock": self._clock.state,
            "values": self._values.copy(),
            "due": self._due.copy(),
            "knots": self._knots[: self._known].copy(),
            "progress": np.array([self._frame, self._next_slice, self._first_due], np.int64),
            "pose": np.array([number for part in self._pose for number in part], float),
            "bodies": self._sight.state,
            "step": np.array([self._begun, self._lasts]),
            "about": np.array([self._about.get(name, np.nan) for name in ABOUT]),
            **(self._room().saved(rays) if rays else {**NO_CLOUD, **self._lidar.nothing_saved}),
        }

    def restore(self, saved: Mapping[str, NDArray[Any]]) -> None:
        """Continue from ``state()``; ValueError if it does not fit."""
        clock, sight = SampleClock(0.0, self._clock.rate), Sight.of(saved)
        clock.state = saved["clock"]
        if not self._fits(saved):
            raise ValueError("the saved state of the lidar is damaged")
        self._wait()
        frame, next_slice, first_due = (int(number) for number in saved["progress"])
        if rays := self._begun_rays(next_slice):
            self._room().load(saved, rays)
        self._sight, self._clock = sight, clock
        about = zip(ABOUT, saved["about"].tolist(), strict=True)
        self._about = {name: limit for name, limit in about if not np.isnan(limit)}
        self._values = saved["values"].copy()
        self._due, self._first_due = saved["due"].copy(), first_due
        self._known = len(saved["knots"])
        self._knots[: self._known] = saved["knots"]
        self._frame, self._next_slice = frame, next_slice
        self._begun, self._lasts = saved["step"].tolist()
        numbers = tuple(saved["pose"].tolist())
        self._pose = numbers[:3], numbers[3:]

    def _fits(self, saved: Mapping[str, NDArray[Any]]) -> bool:
        """Whether the numbers of a saved state go together."""
        knots, due, progress = saved["knots"], saved["due"], saved["progress"]
        shapes = knots.shape[1:] == (12,) and due.shape[1:] == (BODY_SIZE,)
        shapes = shapes and saved["pose"].shape in ((0,), (7,)) and saved["step"].shape == (2,)
        shapes = shapes and saved["about"].shape == (len(ABOUT),)
        if not shapes or progress.shape != (3,) or not _is_state(saved["values"]):
            return False
        if not all(np.isfinite(saved[name]).all() for name in ("knots", "due", "pose", "step")):
            return False
        room = self._lidar.rays * self._lidar.parameters.returns
        if saved["nearest"].shape != (2,) or not -1 <= saved["nearest"][1] < room:
            return False
        frame, next_slice, first_due = progress.tolist()
        known, slices = len(knots), len(self._slices.needed)
        if frame < 0 or not 0 <= next_slice <= slices or known > self._spans + bool(len(due)):
            return False
        taken = frame * self._spans + known
        given = first_due + len(due) if len(due) else taken
        if self._rate > 0.0 and given != saved["clock"][NEXT_INDEX]:
            return False
        made = next_slice == 0 or self._slices.needed[next_slice - 1] < known
        return bool(made) and first_due <= taken <= given


def _is_state(values: NDArray[Any]) -> bool:
    """Whether this is the state of a body, or none."""
    return values.shape in ((0,), (BODY_SIZE,)) and bool(np.isfinite(values).all())


class Slices(NamedTuple):
    """The parts that a frame is made in."""

    columns: NDArray[np.int64]  # (slices + 1,): the first column of each, and the end
    needed: NDArray[np.int64]  # (slices,): the last knot of the sensor that it needs
    #: The knots of the bodies that rays of a slice lie between; the first ones are also no later
    #: than those of any slice that follows.
    first: NDArray[np.int64]  # (slices + 1,)
    last: NDArray[np.int64]  # (slices,)


def slices_of(lidar: Lidar) -> Slices:
    """The parts that a lidar makes its frames in."""
    pattern, count = lidar.pattern, lidar.parameters.motion_slices
    times = pattern.offset.reshape(pattern.columns, pattern.rows)
    columns = np.searchsorted(times[:, 0], np.arange(count + 1) / count).astype(np.int64)
    columns[-1] = pattern.columns
    # A ray lies between two knots of the sensor and two of the bodies: it waits for the later ones.
    earliest, latest, spans = times.min(axis=1), times.max(axis=1), lidar.spans
    begins = np.minimum((earliest * count).astype(np.int64), count - 1)
    ends = np.minimum((latest * count).astype(np.int64), count - 1) + 1
    own = np.minimum((latest * spans).astype(np.int64), spans - 1) + 1
    knots = np.maximum(own, -(-ends * spans // count))
    needed, first, last = np.zeros(count, np.int64), np.arange(count + 1), np.arange(count)
    for part, (begin, after) in enumerate(itertools.pairwise(columns)):
        if begin < after:
            needed[part] = knots[begin:after].max()
            first[part], last[part] = begins[begin:after].min(), ends[begin:after].max()
    # A slice waits for those before it.
    needed, first = np.maximum.accumulate(needed), np.minimum.accumulate(first[::-1])[::-1]
    return Slices(columns, needed, first, last)
