"""Sampling: which samples are due when a state becomes known, and how they are interpolated.

A sensor samples at

    t_k = start + k / rate,     k = 0, 1, ...       (rate > 0)
    t_k = k-th known instant                        (rate = 0)

computed from k, never by adding up steps. The state of the world is known at the instants that a
master reports. A sample is due when the first state at or after its instant becomes known; its
values are interpolated between that state and the one before. No sample is skipped or
extrapolated. Other communication steps change a sample only in so far as they give other states to
interpolate between.

Equal instants. The instants of a master are rounded. A known instant T counts as the instant of a
sample, and the sample takes its state unchanged, if the two differ by no more than

    1e-6 h + n eps max(|start|, |T|),   at most 1e-3 h, at least 4 eps max(|start|, |T|),
    but never more than a quarter of the sampling period

where h is the shorter of the last step and the sampling period. Reasons: each addition of n steps
makes an error of half a unit in the last place; instants that went through decimals or whole
nanoseconds are wrong by about 1e-6 of a step; and with the upper bound the instant of a state is
right to a thousandth of its step, however long the run is. The stamp of the sample is t_k.

If one instant is given twice (to within four roundings of the number), the later state replaces
the earlier one, so differences are never formed over zero time. If only the start is known so far,
sample 0 is taken again: the state at initialisation is followed by the state of the first step at
the same instant, and a jump between the two is not a motion. Later on, samples that were taken stay
as they are.

Bounds. An instant is refused if float64 cannot distinguish it from that of the next sample, because
the spacing of numbers of its size is more than the sampling period (Unix time in ns). A step is
refused if more than a given number of samples would be due in it.

The rule is compiled (``kernels.math.sampling``) for the steps of scalar sensors. The classes here
use it for sensors that see, which have no compiled step.
"""

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from sensor_models.core.quantities import ParameterError, boolean, check, integer, real
from sensor_models.kernels.math import sampling
from sensor_models.kernels.math.sampling import (
    KNOWN_STATES,
    LATEST,
    NEXT_INDEX,
    START,
    same_instant,
)

__all__ = [
    "KNOWN_STATES",
    "LATEST",
    "NEXT_INDEX",
    "START",
    "SampleClock",
    "SamplingParameters",
    "Timeline",
    "check_step",
    "same_instant",
]

Vector = NDArray[np.float64]
Interpolation = Callable[[Vector, Vector, float, float], Vector]
Sample = tuple[int, float, Vector]

#: A step of a sensor that sees is refused if it has more frames than this.
MOST_FRAMES = 100_000


@dataclasses.dataclass(frozen=True)
class SamplingParameters:
    """When a sensor samples, and the seed of its noise."""

    sample_rate: float = real(
        0.0,
        "Hz",
        "Sampling rate; 0 takes one sample per communication step",
        minimum=0.0,
        maximum=1e6,  # a typing error must not fill the memory in one step
    )
    inputs_at_step_end: bool = boolean(
        False,
        "Inputs set before a step describe its end (masters that step the dynamics first) "
        "instead of its beginning (the FMI rule)",
    )
    seed: int = integer(0, "Seed of the noise; equal seeds repeat a run bit for bit")

    def __post_init__(self) -> None:
        check(self)


class SampleClock:
    """Counts the samples of a sensor without a compiled step; the rule itself is compiled."""

    def __init__(self, start: float, rate: float, most: int = MOST_FRAMES) -> None:
        """A step of more than ``most`` samples is refused."""
        check_clock(start, rate)
        self.rate, self._most = rate, most
        self._clock = new_clock(start)
        self._tolerance = 0.0
        #: The newest instant whose state is known, -inf if none is: also in the array, from which
        #: Python takes five times as long to read it.
        self.latest = -math.inf

    def rewind(self) -> None:
        """Back to sample 0, with no state known."""
        self._clock[:] = new_clock(self._clock[sampling.START])
        self._tolerance, self.latest = 0.0, -math.inf

    @property
    def only_start_known(self) -> bool:
        """Whether the state at the start is the only one known."""
        return bool(self._clock[sampling.KNOWN_STATES] == 1.0)

    def is_latest(self, stamp: float) -> bool:
        """Whether a sample's instant counts as that of the newest known state."""
        return abs(stamp - self.latest) <= self._tolerance

    def due(self, known_time: float) -> list[tuple[int, float]]:
        """Note a known instant; returns index and stamp of all samples that are due with it.

        Raises:
            ParameterError: as ``advance``.
        """
        return [(index, self.stamp_of(index)) for index in self.advance(known_time)]

    def stamp_after(self, instant: float) -> float:
        """The next instant of a sample after another one; infinity if there is no rate."""
        if not self.rate > 0.0:
            return math.inf
        index = math.floor((instant - float(self._clock[sampling.START])) * self.rate)
        stamps = (self.stamp_of(later) for later in range(max(index, 0), index + 3))
        return next((s for s in stamps if s > instant and not same_instant(s, instant)), math.inf)

    def stamp_of(self, index: int) -> float:
        """The instant of a sample; without a rate, of the newest."""
        if not self.rate > 0.0:
            return self.latest
        return float(self._clock[sampling.START]) + index / self.rate

    @property
    def mark(self) -> tuple[Vector, float]:
        """What ``go_back`` needs."""
        return self._clock.copy(), self._tolerance

    def go_back(self, mark: tuple[Vector, float]) -> None:
        """Take back all that was noted since a mark was made."""
        self._clock, self._tolerance = mark
        self.latest = float(self._clock[sampling.LATEST])

    def advance(self, known_time: float) -> range:
        """Note a known instant; returns the indices of all samples that are due with it.

        The start may be given twice: sample 0 is then due again.

        Raises:
            ParameterError: if time went backwards, is not finite, or the first instant is not
                the start, if float64 cannot distinguish samples, or if there would be too many of
                them. The clock then stays as it was.
        """
        known_time = float(known_time)
        found, first, after, tolerance = sampling.note(
            self._clock, self.rate, known_time, self._most
        )
        if found >= sampling.NOT_FINITE:
            refuse_instant(found, self._clock, self.rate, known_time, self._most)
        if found != sampling.REPEATS:
            self._tolerance = tolerance
        self.latest = known_time
        return range(first, after)

    @property
    def state(self) -> Vector:
        """All that changes while sampling; the rate is a parameter and stays outside."""
        return self._clock.copy()

    @state.setter
    def state(self, saved: Vector) -> None:
        if saved.shape != (sampling.CLOCK_SIZE,):
            raise ParameterError(f"the state of a clock has 4 values, not shape {saved.shape}")
        check_clock_state(saved)
        self._clock[:] = saved
        self.latest = float(saved[sampling.LATEST])


def check_clock(start: float, rate: float) -> None:
    """Refuse a start or a rate that a clock cannot have."""
    if not math.isfinite(start):
        raise ParameterError(f"start time = {start} s is not a finite number")
    if not 0.0 <= rate < math.inf:
        raise ParameterError(f"sample rate = {rate} Hz is not finite and at least 0 Hz")


def new_clock(start: float) -> Vector:
    """A clock without a known instant, as an array for kernels."""
    return np.array([start, -math.inf, 0.0, 0.0])


def check_step(start: float, rate: float, time: float, end: float) -> None:
    """Refuse a step from ``time`` with more samples than can be taken when its end is known.

    Raises:
        ParameterError: as ``SampleClock.advance`` of the step's end.
    """
    if not rate > 0.0:
        return
    first = math.floor((time - start) * rate) + 1.0  # that is due after ``time``
    clock = np.array([start, time, max(first, 0.0), 1.0])
    if refusal := sampling.check(clock, rate, end, MOST_FRAMES):
        refuse_instant(refusal, clock, rate, end, MOST_FRAMES)


def check_clock_state(saved: Vector) -> None:
    """Refuse four values that cannot be the state of a clock."""
    start, latest, next_index, known_states = (float(value) for value in saved)
    counts = next_index.is_integer() and known_states.is_integer()
    if not (math.isfinite(start) and latest < math.inf and counts):
        raise ParameterError(f"{saved.tolist()} is no state of a clock")
    if not 0.0 <= next_index < 2.0**53 or known_states < 0.0:
        raise ParameterError(f"{saved.tolist()} is no state of a clock")
    if (known_states == 0.0) != (latest == -math.inf):
        raise ParameterError(f"{saved.tolist()} is no state of a clock")


def refuse_instant(
    reason: int, clock: Vector, rate: float, known_time: float, most: int
) -> NoReturn:
    """Raise an error for a refused instant; reasons are numbers of ``kernels.math.sampling``."""
    start, latest = clock[sampling.START], clock[sampling.LATEST]
    if reason == sampling.NOT_FINITE:
        raise ParameterError(f"time = {known_time} s is not a finite number")
    if reason == sampling.NOT_THE_START:
        raise ParameterError(
            f"the first known state belongs to {known_time} s, but sampling starts at {start} s"
        )
    if reason == sampling.TOO_COARSE:
        reach = max(abs(start), abs(known_time))
        raise ParameterError(
            f"time = {known_time} s is too far from 0 for {rate:g} Hz: numbers of this size are "
            f"{np.spacing(reach):g} s apart, allowed is at most the sampling period of "
            f"{1.0 / rate:g} s"
        )
    if reason == sampling.TOO_MANY:
        raise ParameterError(
            f"time = {known_time} s lies too far behind {max(start, latest)} s: more than {most} "
            f"samples would fall due at {rate:g} Hz, allowed is at most {most / rate:g} s in a step"
        )
    raise ParameterError(f"time = {known_time} s lies before the latest known state at {latest} s")


class Timeline:
    """Turns known states into samples, by a clock and an interpolation between two states.

    States are vectors in the form of the interpolation (``kernels.math.motion``). They are kept and
    passed on without copying: do not change one after it was pushed, and do not change a sample.
    """

    def __init__(self, clock: SampleClock, interpolate: Interpolation) -> None:
        self.clock = clock
        self._interpolate = interpolate
        self._values: Vector = np.empty(0)

    def push(self, time: float, values: Vector) -> list[Sample]:
        """The samples that are due with the state at an instant: index, stamp, values.

        Samples at that very instant have the given array, and others one of their own.

        Raises:
            ParameterError: as ``SampleClock.due``; the timeline then stays as it was.
        """
        clock = self.clock
        before_time, before = clock.latest, self._values
        if before.shape != values.shape and before_time > -math.inf:
            raise ParameterError(
                f"a state of shape {values.shape} cannot follow one of shape {before.shape}"
            )
        due = clock.advance(time)
        self._values = values
        duration = time - before_time
        samples = []
        for index in due:
            sampled, stamp = values, clock.stamp_of(index)
            if not clock.is_latest(stamp) and before.shape == values.shape:
                sampled = self._interpolate(
                    before, values, duration, (stamp - before_time) / duration
                )
            samples.append((index, stamp, sampled))
        return samples

    def revise(self, values: Vector | None) -> None:
        """Take another state for that at the newest known instant; samples stay as they are."""
        if values is not None:
            self._values = values

    @property
    def mark(self) -> tuple[Any, Vector]:
        """What ``go_back`` needs; made at a tenth of the cost of ``state``."""
        return self.clock.mark, self._values

    def go_back(self, mark: tuple[Any, Vector]) -> None:
        """Forget what was pushed since a mark was made."""
        known, self._values = mark
        self.clock.go_back(known)

    @property
    def state(self) -> dict[str, Vector]:
        """Everything that is known, as copies."""
        return {"clock": self.clock.state, "values": self._values.copy()}

    @state.setter
    def state(self, saved: Mapping[str, Any]) -> None:
        values = np.array(saved["values"], dtype=np.float64)
        self.clock.state = np.asarray(saved["clock"], dtype=np.float64)
        self._values = values
