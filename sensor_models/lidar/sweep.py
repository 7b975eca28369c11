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
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.clock import MOST_FRAMES, NEXT_INDEX, SampleClock, same_instant
from sensor_models.core.sensor import Held
from sensor_models.core.spec import Groups
from sensor_models.kernels.light.paths import LIMITS
from sensor_models.kernels.tracing.sensor_poses import interpolate_bodies
from sensor_models.lidar.due_knots import DueKnots, Segment
from sensor_models.lidar.lidar import Lidar
from sensor_models.output.points import CloudBuffer
from sensor_models.scene.history import ABOUT, Sight
from sensor_models.scene.pose_memory import BODY_SIZE
from sensor_models.scene.registry import SceneHandle
from sensor_models.sight.mount import Pose, pose_of, poses_of
from sensor_models.sight.schedule import Frame, FrameSchedule, Schedule
from sensor_models.threads.pool import Work

Floats = NDArray[np.float64]
Arrays = dict[str, NDArray[Any]]
T = TypeVar("T")

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


class Scan(Schedule):
    """A schedule whose frames are clouds of points."""

    def __init__(self, lidar: Lidar, new_cloud: Callable[[], CloudBuffer] | None) -> None:
        self._lidar = lidar
        self._new_cloud = new_cloud or lidar.new_cloud
        self._cloud: CloudBuffer | None = None  # of the frame that was begun, or to begin one

    @abstractmethod
    def frames(self, scene: SceneHandle, before: SceneHandle | None = None) -> Iterator[LidarFrame]:
        """Send the rays that are due; the frames that are complete then.

        Rays that were due by the change of a scene and were not sent are sent into ``before``.
        """

    def results(self, held: Held, before: Held, take: Callable[[Any], T]) -> Iterator[T]:
        """What ``take`` makes of the frames that are complete."""
        return map(take, self.frames(held.scene, before.scene))

    def _room(self) -> CloudBuffer:
        """Room for the frame that is being made."""
        self._cloud = self._cloud or self._new_cloud()
        return self._cloud

    def _complete(self) -> CloudBuffer:
        """The frame that has been made; the next one is made elsewhere."""
        cloud, self._cloud = self._room(), None
        return cloud


class InstantScan(Scan, FrameSchedule):
    """Frames that are taken from one pose each."""

    def __init__(
        self,
        lidar: Lidar,
        start: float,
        rate: float,
        new_cloud: Callable[[], CloudBuffer] | None = None,
    ) -> None:
        Scan.__init__(self, lidar, new_cloud)
        FrameSchedule.__init__(self, SampleClock(start, rate))

    def frames(self, scene: SceneHandle, before: SceneHandle | None = None) -> Iterator[LidarFrame]:
        """Send the rays that are due; the frames that are complete then."""
        nothing = Groups({})
        now, until = (Held(nothing, seen) for seen in (scene, before))
        return FrameSchedule.results(self, now, until, self._make)

    def _make(self, frame: Frame) -> LidarFrame:
        columns = 0, self._lidar.pattern.columns
        cloud, (bodies, about) = self._room(), frame.bodies()
        cloud.clear()
        mount, times = self._lidar.mount, (frame.time, 0.0)
        poses = poses_of(mount, frame.body.reshape(1, -1))
        self._lidar.begin(frame.rays, poses, frame.number, times, columns, cloud, bodies).end()
        pose = pose_of(mount, frame.body)
        return LidarFrame(frame.number, frame.time, 0.0, self._complete(), *pose, about)


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
        self._sight = Sight()
        self._rate = rate
        self._spans = lidar.spans
        # Without a rate a frame is a step, and the clock counts steps.
        self._clock = self._clock_at(start)
        self._frames = SampleClock(start, rate)
        self._slices = slices_of(lidar)
        self._fewest = -(-lidar.parameters.motion_slices // PARTS)  # that are made at once
        self._values: Floats = np.empty(0)
        self._due = DueKnots()
        self._begun = start  # of the present frame where there is no rate
        self._lasts = 1.0 / rate if rate > 0.0 else 0.0
        self._knots = np.zeros((self._spans + 1, 12))
        self._known = 0  # knots of the present frame
        self._frame = 0
        self._next_slice = 0
        self._pose = Pose((), ())
        self._about: dict[str, float] = {}
        self._under_way: UnderWay | None = None
        self._made: LidarFrame | None = None  # complete, and nobody has it yet

    def _clock_at(self, start: float) -> SampleClock:
        return SampleClock(start, self._rate * self._spans, MOST_FRAMES * self._spans)

    def complete_after(self, instant: float) -> float:
        """The next instant at which a sweep ends."""
        return self._frames.stamp_after(instant)

    @property
    def _oldest(self) -> float:
        knots = self._slices.first
        first = self._next_slice if self._under_way is None else self._under_way.first
        return self._start + self._lasts * int(knots[first]) / (len(knots) - 1)

    @property
    def _start(self) -> float:
        """Start of the present frame, s."""
        return self._clock.stamp_of(self._frame * self._spans) if self._rate else self._begun

    def know(
        self, time: float, body: Floats, exposure: float = 0.0, before: float | None = None
    ) -> None:
        """Take in the state of the body at an instant."""
        del exposure, before
        before_time, known = self._clock.latest, self._values
        if self._clock.only_start_known and same_instant(time, before_time):
            self._clock.rewind()
            self._due.clear()
            known, self._known = np.empty(0), 0
        due = self._clock.advance(time)
        self._values = body
        if not len(due):
            return
        if self._rate > 0.0:
            ends = self._clock.is_latest(self._clock.stamp_of(due[-1]))
            segment = Segment(known, body, before_time, time, ends, due.start, due.stop)
            self._due.add(segment, self._clock)
        elif due[0] > 0:
            self._frame, self._known, self._next_slice = due[0] - 1, 0, 0
            self._begun, self._lasts = before_time, time - before_time
            self._due.first = self._frame * self._spans
            self._due.states = np.empty((self._spans + 1, BODY_SIZE))
            fractions = np.linspace(0.0, 1.0, self._spans + 1)
            interpolate_bodies(known, body, self._lasts, fractions, self._due.states)

    def revise(self, body: Floats | None) -> None:
        """Take another state of the body for that at the newest known instant."""
        if body is not None:
            self._values = body

    def frames(self, scene: SceneHandle, before: SceneHandle | None = None) -> Iterator[LidarFrame]:
        """Take in the knots that are due, and make what can be made with them."""
        if before is not None and before.number != scene.number:
            self._leave(before)
        self._sight.follow(scene, self._oldest, before)
        yield from self._frames_of_some(scene)
        while self._due.make(self._clock):
            yield from self._frames_of_some(scene)

    def _frames_of_some(self, scene: SceneHandle) -> Iterator[LidarFrame]:
        """Take in the knots whose states are made."""
        states = self._due.states
        poses = poses_of(self._lidar.mount, states)
        while True:
            yield from self._trace(scene, self._fewest)
            place = self._frame * self._spans - self._due.first  # of the first knot in the states
            if self._known > self._spans:
                # The last knot of this frame is the first one of the next.
                self._knots[0], self._known = self._knots[self._spans], 1
                self._frame, self._next_slice = self._frame + 1, 0
                self._pose = pose_of(self._lidar.mount, states[place + self._spans])
                continue
            count = min(len(states) - place, self._spans + 1) - self._known
            if count <= 0:
                yield from self._hand_over()
                return
            if self._known == 0:
                self._pose = pose_of(self._lidar.mount, states[place])
            taken = slice(self._known, self._known + count)
            self._knots[taken] = poses[place + taken.start : place + taken.stop]
            self._known += count

    def _leave(self, scene: SceneHandle) -> None:
        """Send the rays that were kept back into a scene, before another takes its place."""
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

    def _hand_over(self) -> Iterator[LidarFrame]:
        """The frame that is complete, if nobody has it yet."""
        made, self._made = self._made, None
        if made is not None:
            yield made

    def _trace(self, scene: SceneHandle, fewest: int) -> Iterator[LidarFrame]:
        """Make the slices whose knots are all known; frames that are complete.

        Unless they complete the frame, they wait for more to come where there are fewer than
        ``fewest``, and for those that are under way. A frame that is complete is handed over when
        the threads have begun with the next one: else they would wait while it is passed on.
        """
        slices = len(self._slices.needed)
        first = after = self._next_slice
        while after < slices and self._slices.needed[after] < self._known:
            after += 1
        if after - first < (fewest if after < slices else 1):
            return
        if after < slices and self._under_way is not None and not self._under_way.work.is_done:
            return
        if after == slices:
            yield from self._hand_over()
        self._wait()
        self._begin(scene, first, after)
        self._next_slice = after
        if after < slices:
            yield from self._hand_over()
            return
        self._wait()
        done = self._complete()
        frame, start = self._frame, self._start
        self._made = LidarFrame(frame, start, self._lasts, done, *self._pose, self._about)

    def _begin(self, scene: SceneHandle, first: int, after: int) -> None:
        """Have other threads make some slices."""
        if first == 0:
            self._room().clear()
            self._about = {}
        slices = self._slices
        knots = int(slices.first[first]), int(slices.last[first:after].max())
        bodies, about = self._sight.over(self._start, self._lasts, len(slices.needed), knots)
        self._about = {**about, **self._about}
        columns = int(slices.columns[first]), int(slices.columns[after])
        if columns[0] < columns[1]:
            times = self._start, self._lasts
            rays, cloud = scene.rays(placed=False), self._room()
            made = self._lidar.begin(rays, self._knots, self._frame, times, columns, cloud, bodies)
            self._under_way = UnderWay(first, made)
            if self._made is not None:
                made.let_begin()

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
            **self._due.saved,
            "knots": self._knots[: self._known].copy(),
            "progress": np.array([self._frame, self._next_slice, self._due.first], np.int64),
            "pose": np.array([number for part in self._pose for number in part], float),
            "bodies": self._sight.state,
            "step": np.array([self._begun, self._lasts]),
            "about": np.array([self._about.get(name, np.nan) for name in ABOUT]),
            **(self._room().saved(rays) if rays else {**NO_CLOUD, **self._lidar.nothing_saved}),
        }

    def restore(self, saved: Mapping[str, NDArray[Any]]) -> None:
        """Continue from ``state()``; ValueError if it does not fit."""
        clock, sight = self._clock_at(0.0), Sight.of(saved)
        clock.state = saved["clock"]
        progress = saved["progress"]
        if progress.shape != (3,):
            raise ValueError("the saved state of the lidar is damaged")
        due = DueKnots.of(saved, int(progress[2]))
        if not self._fits(saved, due):
            raise ValueError("the saved state of the lidar is damaged")
        self._wait()
        self._made = None
        frame, next_slice = (int(number) for number in progress[:2])
        if rays := self._begun_rays(next_slice):
            self._room().load(saved, rays)
        self._sight, self._clock = sight, clock
        about = zip(ABOUT, saved["about"].tolist(), strict=True)
        self._about = {name: limit for name, limit in about if not np.isnan(limit)}
        self._values = saved["values"].copy()
        self._due = due
        self._known = len(saved["knots"])
        self._knots[: self._known] = saved["knots"]
        self._frame, self._next_slice = frame, next_slice
        self._begun, self._lasts = saved["step"].tolist()
        numbers = tuple(saved["pose"].tolist())
        self._pose = Pose(numbers[:3], numbers[3:])

    def _fits(self, saved: Mapping[str, NDArray[Any]], due: DueKnots) -> bool:
        """Whether the numbers of a saved state go together."""
        knots, progress = saved["knots"], saved["progress"]
        shapes = (
            knots.shape[1:] == (12,)
            and saved["pose"].shape in ((0,), (7,))
            and saved["step"].shape == (2,)
        )
        shapes = shapes and saved["about"].shape == (len(ABOUT),)
        if not shapes or not _is_state(saved["values"]):
            return False
        if not all(np.isfinite(saved[name]).all() for name in ("knots", "pose", "step")):
            return False
        room = self._lidar.rays * self._lidar.parameters.returns
        if saved["nearest"].shape != (2,) or not -1 <= saved["nearest"][1] < room:
            return False
        frame, next_slice, first_due = progress.tolist()
        known, slices = len(knots), len(self._slices.needed)
        if (
            frame < 0
            or not 0 <= next_slice <= slices
            or known > self._spans + bool(len(due.states))
        ):
            return False
        taken = frame * self._spans + known
        given = due.beyond if len(due.states) else taken
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
