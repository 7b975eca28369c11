"""Sampling: which samples fall due when a state becomes known, and what they are made of.

A sensor samples at

    t_k = start + k / rate,     k = 0, 1, ...       (rate > 0)
    t_k = k-th known instant                        (rate = 0)

computed from k, never by adding up. The world outside is known at the instants that a master
reports. A sample falls due with the first state known at or after its instant; its values lie
between that state and the one before. None is skipped, none is extrapolated, and none depends on
how the time axis is cut, as far as the cutting does not change what is known of the motion.

Known state = sample. The instants of a master carry rounding. An instant T counts as that of a
sample, and its state is taken as it is, if they differ by no more than

    1e-6 h + n eps max(|start|, |T|),   at most 1e-3 h, at least 4 eps max(|start|, |T|)

with h the shorter of the last step and the sampling period. Reasons: n instants that were added
up are off by half a unit in the last place for each addition; those that went through decimals or
whole nanoseconds are off by some 1e-6 of a step; and the upper bound keeps what is said to
be a state's instant right to a thousandth of its step however long the run. The stamp is t_k.

One instant given twice (four roundings of the number at most): the later state replaces the
earlier, so no difference is ever formed across zero time. If nothing but the start is known,
sample 0 is taken again. That is how a state at initialisation is followed by the one of the first
step; a jump between them is no motion. Later on, what was sampled stays as it was.
"""

import dataclasses
import math
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.quantities import ParameterError, boolean, check, integer, real

Vector = NDArray[np.float64]
Interpolation = Callable[[Vector, Vector, float, float], Vector]
Sample = tuple[int, float, Vector]

#: Two statements of one instant may differ by this share of it.
ROUNDING = 4.0 * sys.float_info.epsilon
#: Share of a step by which instants differ that went through decimals or nanoseconds.
QUANTISED = 1e-6
#: Share of a step that is never exceeded.
LARGEST = 1e-3

# Places in the state of a clock.
START, LATEST, NEXT_INDEX, KNOWN_STATES = range(4)


@dataclasses.dataclass(frozen=True)
class SamplingParameters:
    """When a sensor samples, and the seed of its noise."""

    sample_rate: float = real(
        0.0,
        "Hz",
        "Sampling rate; 0 takes one sample per communication step",
        minimum=0.0,
        maximum=1e6,  # a slip of the pen must not fill the memory in one step
    )
    inputs_at_step_end: bool = boolean(
        False,
        "Inputs set before a step describe its end (masters that step the dynamics first) "
        "instead of its beginning (the FMI rule)",
    )
    seed: int = integer(0, "Seed of the noise; equal seeds repeat a run bit for bit")

    def __post_init__(self) -> None:
        check(self)


def same_instant(a: float, b: float) -> bool:
    """Whether two numbers state one instant of a master's time."""
    return a == b or abs(a - b) <= ROUNDING * max(abs(a), abs(b))


class SampleClock:
    """Counts the samples of one sensor."""

    def __init__(self, start: float, rate: float) -> None:
        if not math.isfinite(start):
            raise ParameterError(f"start time = {start} s is not a finite number")
        if not 0.0 <= rate < math.inf:
            raise ParameterError(f"sample rate = {rate} Hz is not finite and at least 0 Hz")
        self.rate = rate
        self._start = start
        self.rewind()

    def rewind(self) -> None:
        """Back to sample 0, with no state known."""
        self._latest = -math.inf
        self._next_index = 0
        self._known_states = 0
        self._tolerance = 0.0

    @property
    def latest(self) -> float:
        """The newest instant whose state is known, -inf if none is."""
        return self._latest

    @property
    def only_start_known(self) -> bool:
        """Whether one state is known, the one at the start."""
        return self._known_states == 1

    def is_latest(self, stamp: float) -> bool:
        """Whether a sample's instant counts as that of the newest known state."""
        return abs(stamp - self._latest) <= self._tolerance

    def due(self, known_time: float) -> list[tuple[int, float]]:
        """Take note of a known instant: index and stamp of all samples that fall due with it.

        Raises:
            ParameterError: as ``advance``.
        """
        return [(index, self.stamp_of(index)) for index in self.advance(known_time)]

    def stamp_of(self, index: int) -> float:
        """The instant of a sample; without a rate, of the newest."""
        return self._start + index / self.rate if self.rate > 0.0 else self._latest

    def advance(self, known_time: float) -> range:
        """Take note of a known instant: the indices of all samples that fall due with it.

        Raises:
            ParameterError: if time went backwards, is not finite, or the first instant is not
                the start. The clock then stays as it was.
        """
        latest = self._latest
        if not latest < known_time < math.inf:
            self._refuse_unless_repeated(known_time)
            self._latest = known_time
            return range(0)
        if self._known_states == 0 and not same_instant(known_time, self._start):
            raise ParameterError(
                f"the first known state belongs to {known_time} s, "
                f"but sampling starts at {self._start} s"
            )
        self._tolerance = self._tolerance_at(known_time)
        self._latest = known_time
        self._known_states += 1
        return self._take_until(known_time)

    def _refuse_unless_repeated(self, known_time: float) -> None:
        if not math.isfinite(known_time):
            raise ParameterError(f"time = {known_time} s is not a finite number")
        if not same_instant(known_time, self._latest):
            raise ParameterError(
                f"time = {known_time} s lies before the latest known state at {self._latest} s"
            )

    def _tolerance_at(self, known_time: float) -> float:
        reach = max(abs(self._start), abs(known_time))
        if self._known_states == 0:
            return ROUNDING * reach
        step = known_time - self._latest
        if self.rate > 0.0:
            step = min(step, 1.0 / self.rate)
        added_up = self._known_states * sys.float_info.epsilon * reach
        return max(ROUNDING * reach, min(QUANTISED * step + added_up, LARGEST * step))

    def _take_until(self, known_time: float) -> range:
        first = self._next_index
        if self.rate == 0.0:
            self._next_index = first + 1
            return range(first, first + 1)
        limit = known_time + self._tolerance
        after = max(first, int((limit - self._start) * self.rate))
        # The estimate may be one off; what counts is how a stamp compares with the limit.
        while after > first and self.stamp_of(after - 1) > limit:
            after -= 1
        while self.stamp_of(after) <= limit:
            after += 1
        self._next_index = after
        return range(first, after)

    @property
    def state(self) -> Vector:
        """All that changes while sampling; the rate is a parameter and stays outside."""
        return np.array([self._start, self._latest, self._next_index, self._known_states])

    @state.setter
    def state(self, saved: Vector) -> None:
        if saved.shape != (4,):
            raise ParameterError(f"the state of a clock has 4 values, not shape {saved.shape}")
        start, latest, next_index, known_states = (float(value) for value in saved)
        counts = next_index.is_integer() and known_states.is_integer()
        if not (math.isfinite(start) and latest < math.inf and counts):
            raise ParameterError(f"{saved.tolist()} is no state of a clock")
        if min(next_index, known_states) < 0 or (known_states == 0) != (latest == -math.inf):
            raise ParameterError(f"{saved.tolist()} is no state of a clock")
        self._start, self._latest = start, latest
        self._next_index, self._known_states = int(next_index), int(known_states)


class Timeline:
    """Turns known states into samples, by a clock and an interpolation between two states.

    States are vectors as the interpolation takes them (``kernels.math.motion``). They are kept and
    handed on, not copied: do not write to one after it was pushed, nor to a sample.
    """

    def __init__(self, clock: SampleClock, interpolate: Interpolation) -> None:
        self.clock = clock
        self._interpolate = interpolate
        self._values: Vector = np.empty(0)

    def push(self, time: float, values: Vector) -> list[Sample]:
        """The samples that fall due with the state at an instant: index, stamp, values.

        Raises:
            ParameterError: as ``SampleClock.due``; the timeline then stays as it was.
        """
        clock = self.clock
        before_time, before = clock.latest, self._values
        if before.shape != values.shape and before_time > -math.inf:
            raise ParameterError(
                f"a state of shape {values.shape} cannot follow one of shape {before.shape}"
            )
        if clock.only_start_known and same_instant(time, before_time):
            clock.rewind()
        due = clock.due(time)
        self._values = values
        duration = time - before_time
        samples = []
        for index, stamp in due:
            sampled = values
            if not clock.is_latest(stamp):
                sampled = self._interpolate(
                    before, values, duration, (stamp - before_time) / duration
                )
            samples.append((index, stamp, sampled))
        return samples

    @property
    def state(self) -> dict[str, Vector]:
        """Everything that is known, as copies."""
        return {"clock": self.clock.state, "values": self._values.copy()}

    @state.setter
    def state(self, saved: Mapping[str, Any]) -> None:
        values = np.array(saved["values"], dtype=np.float64)
        self.clock.state = np.asarray(saved["clock"], dtype=np.float64)
        self._values = values
