"""A sensor that sees: its schedule says which frames are due, ``take`` makes a result of each.

    class Photometer(SeeingSensor):
        def __init__(self, setup):
            super().__init__(setup)            a frame at each sample, of an instant

        def take(self, frame):
            ...
            return Result(frame.number, frame.time, values, files, known)

All else is here: kernels are loaded before they are needed, known states, revised ones, the start
that may be given twice, the scene and the states of its bodies, saved states.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

from numpy.typing import NDArray

from sensor_models.core.clock import SampleClock
from sensor_models.core.exports import warm
from sensor_models.core.sensor import Arrays, Held, Inputs, Result, Setup
from sensor_models.sight.rounding import RoundingWatch
from sensor_models.sight.schedule import FrameSchedule, Schedule


def clock_of(setup: Setup) -> SampleClock:
    """The clock of a sensor's frames."""
    return SampleClock(setup.start, setup.sampling.sample_rate)


class SeeingSensor(ABC):
    """A sensor that takes frames of a scene while the states of its body become known."""

    #: Whether it sends rays; without, the ray engine is not loaded.
    casts_rays = True

    def __init__(self, setup: Setup, schedule: Schedule | None = None) -> None:
        """``schedule`` is another one than that of frames which are taken at an instant."""
        warm(setup.spec.name)
        self.schedule = schedule or FrameSchedule(clock_of(setup))
        #: Whether frames are wanted, as files or in memory.
        self.files, self.warn = setup.files or setup.in_memory, setup.warn
        self._start, self._rounding = setup.start, RoundingWatch(setup.warn)

    @abstractmethod
    def take(self, frame: Any) -> Result:
        """Take a frame that is complete; its type is that of the schedule."""

    def exposure_of(self, held: Held) -> float:
        """The exposure of frames that begin while these inputs hold, s; 0 for none."""
        del held
        return 0.0

    def begin(self, inputs: Inputs) -> tuple[()]:
        """Frame 0 is taken with the first step, as many masters connect inputs only then."""
        self.schedule.know(self._start, inputs.state, self.exposure_of(inputs.held))
        return ()

    def advance(self, inputs: Inputs, t0: float, t1: float) -> Iterator[Result]:
        """The frames that are complete."""
        del t0
        now, before = self.exposure_of(inputs.held), self.exposure_of(inputs.before)
        self.schedule.revise(inputs.revised)
        self.schedule.know(t1, inputs.state, now, before)
        if self.casts_rays:
            self._rounding.look(inputs.held.scene, inputs.state[:3])
        yield from self.schedule.results(inputs.held, inputs.before, self.take)

    def complete_after(self, instant: float) -> float:
        """The next instant at which a frame can be complete; infinity if that is not known."""
        return self.schedule.complete_after(instant)

    def state(self) -> Arrays:
        """What is known of the motion, and the frames that were begun."""
        return self.schedule.state()

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from ``state()`` of this or an equal sensor; a ValueError changes nothing."""
        try:
            self.schedule.restore(arrays)
        except IndexError as error:
            raise ValueError(f"the state does not fit this sensor: {error}") from error

    def close(self) -> None:
        """Wait until no thread is at work."""
        self.schedule.close()
